//! Requests the matches of a dealer, page by page.

use std::sync::Arc;

use tokio::time::Instant;
use tradepost_aap::Skill;
use tradepost_dealer_tools::arguments::SearchArguments;
use tradepost_dealer_tools::search::{DealerMatches, DealerPage};

use super::dealers::DealerAddress;
use super::failures::BridgeError;

/// Requests the first matches of one dealer, until `end`.
pub(super) async fn gather(
    dealer: Arc<DealerAddress>,
    arguments: &SearchArguments,
    end: Instant,
) -> Result<DealerMatches, BridgeError> {
    let mut found = DealerMatches::new(arguments);
    while let Some(payload) = found.next_request() {
        let answer = dealer.call(Skill::InventorySearch, payload.into(), end).await?;
        let reading = answer.query_reading.as_ref();
        found.add(DealerPage { data: answer.data(), message: answer.message(), reading });
    }
    Ok(found)
}
