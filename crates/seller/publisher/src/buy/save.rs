//! Storing of a changed media buy. `exclusive` depends on `buy`, so that `buy.rs` must not depend on `exclusive`.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::MediaBuy;
use crate::exclusive;
use crate::store::{StoreTx, Stored};

/// Stores a changed buy, and releases its exclusive days when it has ended.
pub(crate) fn save_buy(
    tx: &dyn StoreTx,
    stored: &mut Stored<MediaBuy>,
    now: Timestamp,
) -> Result<(), InternalError> {
    if exclusive::is_over(&stored.thing) {
        exclusive::release_buy(tx, &stored.thing, now)?;
    }
    tx.change(stored, now)
}
