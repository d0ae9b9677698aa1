//! `tradepost leads deliveries`, `resend` and `test-delivery`: shows and tests the delivery of
//! leads.

use tradepost_admin::leads::{LeadRefusal, ResendLead, resend_lead};
use tradepost_dealer::delivery::{DeliveryRecord, DeliveryState};
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::delivery::DeliveryConfig;
use tradepost_runtime::config::{Config, DealerConfig};
use tradepost_runtime::delivery::channel::OutgoingMessage;

use super::{StoreOptions, refused};
use crate::cli::deliveries::{self, DeliveryWords};
use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::CommandFailure;
use crate::cli::{Context, Outcome, dealers};

/// Filter of the list.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct DeliveryListing {
    /// Only deliveries of this lead.
    #[arg(value_name = "LEAD")]
    lead: Option<String>,
    /// Only leads of this dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Only deliveries that were given up.
    #[arg(long)]
    dead: bool,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost leads resend`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Resend {
    /// Lead id.
    #[arg(value_name = "LEAD")]
    lead: String,
    /// Destination, even if it does not select the lead; the default is every destination that
    /// selects the lead.
    #[arg(long, value_name = "DESTINATION")]
    to: Option<String>,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost leads test-delivery`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Test {
    /// Name of the destination.
    #[arg(value_name = "DESTINATION")]
    destination: String,
    /// Dealer of the destination, if several dealers have one with this name.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Lists deliveries, the latest first.
pub(super) fn list(listing: &DeliveryListing, context: &Context) -> Outcome {
    let store = listing.place.open(None, context)?;
    dealers::check_known(listing.dealer.as_deref(), &store, &listing.place, context)?;
    let state = listing.dead.then_some(DeliveryState::Dead);
    let found = store.deliveries(listing.dealer.as_deref(), listing.lead.as_deref(), state)?;
    let words = DeliveryWords { subject: "lead", owner: "dealer", none: "no deliveries" };
    deliveries::print(&found, words, document, context);
    Ok(())
}

fn document(record: &DeliveryRecord) -> Value {
    json!({
        "id": record.id(),
        "lead_id": record.lead_id,
        "dealer_id": record.dealer_id,
        "destination": record.destination,
        "event": record.event,
        "state": record.state,
        "attempts": record.attempts,
        "may_have_arrived": record.may_have_arrived || record.state == DeliveryState::Delivered,
        "last_answer": record.answer,
        "created_at": rfc3339(record.created_at),
        "next_attempt_at": record.due_at.map(rfc3339),
        "ended_at": record.ended_at.map(rfc3339),
    })
}

/// Queues a lead for another delivery by a running server, or by the next one.
pub(super) fn resend(arguments: &Resend, context: &Context) -> Outcome {
    let config = arguments.source.load_with_hosted(&arguments.place, context)?;
    let store = arguments.place.open(None, context)?;
    let dealers: Vec<_> = config.dealers.iter().map(DealerConfig::scope).collect();
    let input = ResendLead { lead_id: arguments.lead.clone(), destination: arguments.to.clone() };
    let names = resend_lead(&admin(&store, &dealers), &operator(context), input);
    let names = names.map_err(|error| failure(error, |refusal| not_resent(refusal, &config)))?;
    let lead_id = &arguments.lead;
    let document = json!({"lead_id": lead_id, "to": names});
    context
        .output
        .answer(&document, format!("{lead_id} will be delivered to {}", names.join(", ")));
    Ok(())
}

/// Returns the failure of a lead that is not resent, with the destinations that there are.
fn not_resent(refusal: LeadRefusal, config: &Config) -> CommandFailure {
    let dealer_id = match &refusal {
        LeadRefusal::NoDestination(dealer_id) | LeadRefusal::UnknownDestination(dealer_id) => {
            dealer_id.clone()
        }
        LeadRefusal::NotFound(_)
        | LeadRefusal::EmptyNote
        | LeadRefusal::LongNote
        | LeadRefusal::NotDeliverable(_)
        | LeadRefusal::UnknownDealer(_)
        | LeadRefusal::NoLostReason
        | LeadRefusal::ReasonWithoutLost
        | LeadRefusal::NotOpen(_)
        | LeadRefusal::OwnedBy(_)
        | LeadRefusal::UnknownOwner(_)
        | LeadRefusal::PastStep
        | LeadRefusal::TooManyLeads => return refused(refusal),
    };
    let dealers = config.dealers.iter().filter(|dealer| dealer.terms.id == dealer_id);
    refused(refusal).hint(known(dealers))
}

/// Returns the names of the configured destinations.
fn known<'a>(dealers: impl IntoIterator<Item = &'a DealerConfig>) -> String {
    let names: Vec<_> = dealers
        .into_iter()
        .flat_map(|dealer| &dealer.deliveries)
        .map(|delivery| delivery.destination.name.as_str())
        .collect();
    if names.is_empty() {
        return "configure destinations in [[dealers.deliveries]]".to_owned();
    }
    format!("the destinations are {}", names.join(", "))
}

/// Sends a test delivery directly from this process.
pub(super) fn test(arguments: &Test, context: &Context) -> Outcome {
    let config = arguments.source.load_with_hosted(&arguments.place, context)?;
    let named = arguments.dealer.as_deref();
    dealers::check_configured(named, &config)?;
    let dealers =
        config.dealers.iter().filter(|dealer| named.is_none_or(|id| dealer.terms.id == id));
    let found: Vec<_> = dealers
        .flat_map(|dealer| dealer.deliveries.iter().map(move |delivery| (dealer, delivery)))
        .filter(|(_, delivery)| delivery.destination.name == arguments.destination)
        .collect();
    let [(dealer, delivery)] = found.as_slice() else {
        return Err(match found.len() {
            0 => CommandFailure::usage("there is no such destination").hint(known(&config.dealers)),
            _ => CommandFailure::usage("several dealers have a destination of this name")
                .hint("name the dealer with --dealer"),
        });
    };
    let answer = try_out(dealer, delivery)?;
    let name = &arguments.destination;
    let document = json!({"destination": name, "answer": answer});
    context.output.answer(&document, format!("{name}: {answer}"));
    Ok(())
}

fn try_out(dealer: &DealerConfig, delivery: &DeliveryConfig) -> Result<String, CommandFailure> {
    let form = &delivery.destination.form;
    deliveries::send_test(delivery, |id, now| {
        OutgoingMessage::sample(&id, form, &dealer.terms, now)
    })
}
