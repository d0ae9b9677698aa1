//! Deliveries on the command line: of leads to destinations, and of messages to a publisher's
//! staff.

use std::time::Duration;

use jiff::Timestamp;
use tokio::runtime::Builder;
use tradepost_dealer::delivery::DeliveryRecord;
use tradepost_document::json::Value;
use tradepost_runtime::config::delivery::DeliveryConfig;
use tradepost_runtime::delivery::channel::{self, OutgoingMessage, TestRefused};
use tradepost_server::clock::Clock;

use super::Context;
use super::context::runtime;
use super::output::CommandFailure;
use super::output::table::Cells;
use super::output::table::TableColumn::Text;

/// Texts of a list of deliveries.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliveryWords {
    /// Heading of the subject's column.
    pub(super) subject: &'static str,
    /// Heading of the owner's column.
    pub(super) owner: &'static str,
    /// Sentence for people when there is none.
    pub(super) none: &'static str,
}

/// Prints deliveries as a table for people, and each as its document for programs.
pub(super) fn print(
    records: &[DeliveryRecord],
    words: DeliveryWords,
    document: fn(&DeliveryRecord) -> Value,
    context: &Context,
) {
    let moment = |at: Option<Timestamp>| at.map(|at| format!("{at:.0}")).unwrap_or_default();
    let columns: [Cells<'_, DeliveryRecord>; 7] = [
        (Text(words.subject), &|record| record.lead_id.clone()),
        (Text(words.owner), &|record| record.dealer_id.clone()),
        (Text("destination"), &|record| record.destination.clone()),
        (Text("state"), &|record| record.state.to_string()),
        (Text("attempts"), &|record| record.attempts.to_string()),
        (Text("last answer"), &|record| record.answer.clone().unwrap_or_default()),
        (Text("since or next"), &|record| moment(record.ended_at.or(record.due_at))),
    ];
    context.output.list(records, document, words.none, &columns);
}

/// Sends a test to a destination directly from this process, and returns the answer. `outgoing`
/// creates the message from an id and the time.
///
/// # Errors
/// Fails when the destination cannot be used, or does not accept the test.
pub(super) fn send_test(
    delivery: &DeliveryConfig,
    outgoing: impl FnOnce(String, Timestamp) -> OutgoingMessage,
) -> Result<String, CommandFailure> {
    let clock = Clock::system();
    let runtime = runtime(Builder::new_current_thread())?;
    let sent = runtime.block_on(channel::send_test(delivery, &clock, outgoing));
    // An abandoned DNS lookup must not delay the end of the command.
    runtime.shutdown_timeout(Duration::ZERO);
    sent.map_err(|refused| match refused {
        TestRefused::Unusable(reason) => CommandFailure::usage(reason),
        TestRefused::NotAccepted(answer) => {
            CommandFailure::new(1, format!("the test was not accepted: {answer}"))
                .hint("correct the destination, or its settings in the configuration")
        }
    })
}
