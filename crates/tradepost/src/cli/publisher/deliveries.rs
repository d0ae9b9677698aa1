//! `tradepost publisher deliveries`, `resend` and `test-delivery`: shows and tests the messages to
//! a publisher's staff about sales and pending decisions.

use tradepost_admin::staff_messages::{
    ResendStaffMessages, StaffMessageRefusal, resend_staff_messages,
};
use tradepost_dealer::delivery::{DeliveryRecord, DeliveryState};
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};
use tradepost_publisher::staff_event::StaffEvent;
use tradepost_runtime::config::delivery::PublisherDestination;
use tradepost_runtime::delivery::channel::OutgoingMessage;
use tradepost_runtime::delivery::staff::StaffMessage;

use super::PublisherOptions;
use super::decider::Decider;
use crate::cli::deliveries::{self, DeliveryWords};
use crate::cli::operator::{admin, failure};
use crate::cli::output::CommandFailure;
use crate::cli::{Context, Outcome};

/// Filter of the list.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Listing {
    /// Only messages about this media buy, task, creative or account.
    #[arg(value_name = "ID")]
    subject: Option<String>,
    /// Only messages whose delivery was given up.
    #[arg(long)]
    dead: bool,
    #[command(flatten)]
    place: PublisherOptions,
}

/// Arguments of `tradepost publisher resend`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Resend {
    /// Only messages about this media buy, task, creative or account; the default is all messages
    /// whose delivery was given up.
    #[arg(value_name = "ID")]
    subject: Option<String>,
    #[command(flatten)]
    decider: Decider,
    #[command(flatten)]
    place: PublisherOptions,
}

/// Arguments of `tradepost publisher test-delivery`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Test {
    /// Name of the destination.
    #[arg(value_name = "DESTINATION")]
    destination: String,
    #[command(flatten)]
    place: PublisherOptions,
}

/// Lists the messages to the publisher's staff, the latest first.
pub(super) fn list(listing: &Listing, context: &Context) -> Outcome {
    let Listing { subject, dead, place } = listing;
    let state = dead.then_some(DeliveryState::Dead);
    let mut found = Vec::new();
    for (publisher_store, publisher) in place.publishers(context)? {
        let id = publisher.profile.id.as_str();
        found.extend(publisher_store.store().publisher_deliveries(
            Some(id),
            subject.as_deref(),
            state,
        )?);
    }
    let words =
        DeliveryWords { subject: "about", owner: "publisher", none: "no messages to staff" };
    deliveries::print(&found, words, document, context);
    Ok(())
}

fn document(record: &DeliveryRecord) -> Value {
    json!({
        "id": record.id(),
        "about": record.lead_id,
        "publisher": record.dealer_id,
        "destination": record.destination,
        "state": record.state,
        "attempts": record.attempts,
        "may_have_arrived": record.may_have_arrived || record.state == DeliveryState::Delivered,
        "last_answer": record.answer,
        "created_at": rfc3339(record.created_at),
        "next_attempt_at": record.due_at.map(rfc3339),
        "ended_at": record.ended_at.map(rfc3339),
    })
}

/// Queues a message that was given up, for a running server or the next one.
pub(super) fn resend(arguments: &Resend, context: &Context) -> Outcome {
    let Resend { subject, decider, place } = arguments;
    let (publisher_store, publisher) = place.only(context)?;
    let publisher_id = publisher.profile.id.as_str();
    let actor = decider.actor(publisher_store.store(), publisher_id, context)?;
    let input = ResendStaffMessages { publisher: &publisher, subject: subject.clone() };
    let resent = resend_staff_messages(&admin(publisher_store.store(), &[]), &actor, input);
    let count = resent.map_err(|error| {
        failure(error, |refusal| match refusal {
            StaffMessageRefusal::Stranger => decider.unknown_member(publisher_id),
        })
    })?;
    let messages = if count == 1 { "message is" } else { "messages are" };
    context.output.note(&json!({"resent": count}), format!("{count} {messages} sent again"));
    Ok(())
}

/// Sends a test message directly from this process.
pub(super) fn test(arguments: &Test, context: &Context) -> Outcome {
    let config = arguments.place.config(context)?;
    let named = arguments.place.publisher.as_deref();
    let publishers = config.publishers.iter();
    let publishers =
        publishers.filter(|publisher| named.is_none_or(|id| publisher.profile.id == id));
    let found: Vec<_> = publishers
        .flat_map(|publisher| publisher.deliveries.iter().map(move |wanted| (publisher, wanted)))
        .filter(|(_, wanted)| wanted.delivery.destination.name == arguments.destination)
        .collect();
    let [(publisher, wanted)] = found.as_slice() else {
        return Err(match found.len() {
            0 => CommandFailure::usage("there is no such destination")
                .hint("configure destinations in [[publishers.deliveries]]"),
            _ => super::several(),
        });
    };
    let answer = try_out(&publisher.profile.id, wanted)?;
    let name = &arguments.destination;
    let document = json!({"destination": name, "answer": answer});
    context.output.answer(&document, format!("{name}: {answer}"));
    Ok(())
}

fn try_out(publisher: &str, wanted: &PublisherDestination) -> Result<String, CommandFailure> {
    let event = StaffEvent::sample();
    deliveries::send_test(&wanted.delivery, |id, at| {
        let message =
            StaffMessage { publisher, event: &event, at, id: &id, attempt: 1, is_resent: false };
        let written = message.write(&wanted.delivery.destination.form);
        OutgoingMessage { id, attempt: 1, written }
    })
}
