//! `tradepost leads`: reads, shows and exports the leads received.

use std::collections::BTreeSet;

use clap::Subcommand;
use consent::despite;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use tradepost_admin::leads::{
    ExportLeads, LeadChanged, LeadRefusal, LeadResult, ListLeads, ReleaseLead, RevokeConsent,
    ShowLead, record_export, record_list, release_lead, revoke_consent, show_lead,
};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_dealer::adf;
use tradepost_dealer::consent::Sha256Hash;
use tradepost_dealer::record::{LeadHistory, LeadRecord};
use tradepost_dealer::settings::DealerSettings;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format;
use tradepost_document::json::json;
use tradepost_document::words;
use tradepost_runtime::config::read;
use tradepost_runtime::lead_export as export;
use tradepost_runtime::lead_export::ExportedLead;
use tradepost_server::clock::Clock;
use tradepost_store::Store;

use self::selection::{LeadStateOption, SelectedLeads, Selection, select};
use super::operator::{admin, failure, operator};
use super::output::table::TableWidth;
use super::output::{CommandFailure, explained};
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers as known_dealers};

pub(in crate::cli) mod consent;
mod deliveries;
mod evidence;
mod selection;
#[cfg(test)]
mod tests;
pub mod text;
mod times;
mod work;

/// Subcommands of `tradepost leads`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the leads, newest first.
    List {
        #[command(flatten)]
        place: StoreOptions,
        #[command(flatten)]
        selection: Box<Selection>,
    },
    /// Show all stored data of a lead, including its consent.
    Show {
        /// Lead id.
        id: String,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Write leads to standard output for other programs.
    Export(Box<Export>),
    /// Write the evidence of a lead's consent: a page that can be printed, and verified without a
    /// database.
    Evidence(evidence::Arguments),
    /// Release leads that are held back. They are then leads like all others.
    Release(NamedLeads),
    /// Record that the customer has withdrawn the consent. Nobody may contact the customer any
    /// more.
    Revoke(NamedLeads),
    /// Erase all data of a customer, except the hashes of the consent.
    Erase(consent::Erase),
    /// Show the times from the receipt of leads until they were delivered, seen and answered.
    Times(times::Arguments),
    /// List the deliveries of leads to the configured destinations.
    Deliveries(deliveries::DeliveryListing),
    /// Give leads to a member of the staff, or to nobody.
    Assign(Box<work::Assign>),
    /// Set the stage of leads; a lost lead needs a reason.
    Stage(Box<work::Stage>),
    /// Set the next step with a lead, or record that it is done.
    Next(work::Next),
    /// Deliver a lead again, starting now, also if its delivery was given up.
    Resend(deliveries::Resend),
    /// Send a delivery that is clearly marked as a test to a destination.
    TestDelivery(deliveries::Test),
    /// Verify the hash chain of the consents, and compare the stored consents with it.
    Verify {
        /// Only the chain of this dealer.
        #[arg(long, value_name = "ID")]
        dealer: Option<String>,
        /// Hash that was noted earlier and must be in the chain.
        #[arg(long, value_name = "HASH", value_parser = consent::head)]
        head: Option<Sha256Hash>,
        #[command(flatten)]
        place: StoreOptions,
    },
}

/// Leads by their ids.
#[derive(Debug, clap::Args)]
pub(super) struct NamedLeads {
    /// Lead ids.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    place: StoreOptions,
}

#[derive(Debug, clap::Args)]
pub(super) struct Export {
    /// Lead ids; the default is all leads that the options select.
    #[arg(value_name = "ID", conflicts_with_all = [
        "dealer", "rooftop", "state", "at_stage", "since", "older_than", "agent", "vehicle", "owner",
        "unassigned", "due", "waiting",
    ])]
    ids: Vec<String>,
    #[command(flatten)]
    place: StoreOptions,
    #[command(flatten)]
    selection: Selection,
    /// Output format.
    #[arg(long, value_parser = explained::<LeadOutputFormat>(), default_value = "json")]
    format: LeadOutputFormat,
    /// Write one record for each change of a lead, with the state of the lead after it. Changes are
    /// repeated submissions, each with its own consent, moved appointments, and releases.
    #[arg(long)]
    changes: bool,
    /// adf: take the description of the dealer from the demo. Otherwise the configuration describes
    /// the dealers; without one, a dealer is named by its id and has no contact.
    #[arg(long, conflicts_with = "config")]
    demo: bool,
    /// adf: form of the prolog.
    #[arg(long, value_parser = explained::<adf::Prolog>(), default_value = "xml")]
    adf_prolog: adf::Prolog,
    /// adf: form of the customer's name.
    #[arg(long, value_parser = explained::<adf::NameForm>(), default_value = "full")]
    adf_names: adf::NameForm,
    /// adf: replacement for a vehicle of interest that the lead does not name.
    #[arg(long, value_parser = explained::<adf::NoVehicle>(), default_value = "unknown")]
    adf_no_vehicle: adf::NoVehicle,
    /// adf: form of the time of an appointment.
    #[arg(long, value_parser = explained::<adf::Timeframe>(), default_value = "text")]
    adf_timeframe: adf::Timeframe,
    /// adf: name this network as the provider, and the agent as a service of it.
    #[arg(long, value_name = "NAME")]
    adf_network: Option<String>,
    /// adf: URL of the network.
    #[arg(long, value_name = "URL", requires = "adf_network")]
    adf_network_url: Option<String>,
    /// adf: also write contact values that no consented channel can use. The recipient must comply
    /// with the CONSENT line.
    #[arg(long)]
    adf_all_contacts: bool,
}

words! {
    /// Format of leads.
    enum LeadOutputFormat {
        /// JSON array of the stored records.
        Json = "json",
        /// RFC 4180, with a header; safe to open in a spreadsheet.
        Csv = "csv",
        /// ADF 1.0, for CRM systems.
        Adf = "adf",
    }
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be read, or there is no such lead.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::List { place, selection } => {
            let store = place.open(None, context)?;
            selection.check_dealer(&store, &place, context)?;
            list(&store, &selection, context)
        }
        Command::Show { id, place } => {
            let store = place.open(None, context)?;
            let admin = admin(&store, &[]);
            let history = show_lead(&admin, &operator(context), ShowLead { lead_id: id });
            let history = history.map_err(|error| failure(error, refused))?;
            let unreadable = unreadable([&history.lead]);
            if context.output.is_json() {
                context
                    .output
                    .raw(export::json(&[ExportedLead::from_history(history, None)]).as_bytes());
            } else {
                context.output.line(text::details(&history, admin.now).trim_end());
            }
            despite(unreadable, context)
        }
        Command::Export(arguments) => write(&arguments, context),
        Command::Evidence(arguments) => evidence::run(&arguments, context),
        Command::Release(leads) => {
            let of = LeadActionText { word: "released", not: "not_held", state: "held" };
            each(leads, &of, context, |admin, actor, lead_id| {
                release_lead(admin, actor, ReleaseLead { lead_id })
            })
        }
        Command::Revoke(leads) => {
            let of = LeadActionText { word: "revoked", not: "not_in_force", state: "received" };
            each(leads, &of, context, |admin, actor, lead_id| {
                revoke_consent(admin, actor, RevokeConsent { lead_id })
            })
        }
        Command::Erase(arguments) => consent::erase(&arguments, context),
        Command::Times(arguments) => times::run(&arguments, context),
        Command::Deliveries(arguments) => deliveries::list(&arguments, context),
        Command::Assign(arguments) => work::assign(*arguments, context),
        Command::Stage(arguments) => work::stage(*arguments, context),
        Command::Next(arguments) => work::next(arguments, context),
        Command::Resend(arguments) => deliveries::resend(&arguments, context),
        Command::TestDelivery(arguments) => deliveries::test(&arguments, context),
        Command::Verify { place, dealer, head } => {
            let store = place.open(None, context)?;
            known_dealers::check_known(dealer.as_deref(), &store, &place, context)?;
            consent::verify(&store, dealer.as_deref(), head, context)
        }
    }
}

/// Records in the audit log that leads are exported, before they are.
pub(in crate::cli) fn export_recorded<'l>(
    store: &Store,
    leads: impl IntoIterator<Item = &'l LeadRecord>,
    format: &str,
    context: &Context,
) -> Outcome {
    let input = ExportLeads { leads: leads.into_iter().collect(), format };
    let recorded = record_export(&admin(store, &[]), &operator(context), input);
    recorded.map_err(|error| failure(error, refused))
}

/// Records in the audit log that a list is shown, before it is.
pub(in crate::cli) fn list_recorded<'l>(
    store: &Store,
    leads: impl IntoIterator<Item = &'l LeadRecord>,
    context: &Context,
) -> Outcome {
    let input = ListLeads { leads: leads.into_iter().collect() };
    let recorded = record_list(&admin(store, &[]), &operator(context), input);
    recorded.map_err(|error| failure(error, refused))
}

/// Changes the lead with this id.
type LeadOperation = fn(&AdminContext<'_>, &Actor, String) -> LeadResult<LeadChanged>;

/// Returns the failure for a refused operation on a lead.
fn refused(refusal: LeadRefusal) -> CommandFailure {
    match refusal {
        LeadRefusal::NotFound(_) => absent(),
        LeadRefusal::EmptyNote => CommandFailure::usage("a note needs a text"),
        LeadRefusal::LongNote => CommandFailure::usage("a note can have 4000 characters"),
        LeadRefusal::NotDeliverable(state) => {
            CommandFailure::usage(format!("the lead is {state} and is not delivered"))
                .hint("`tradepost leads release` releases a lead that is held back")
        }
        LeadRefusal::UnknownDealer(dealer_id) => {
            CommandFailure::usage(format!("the configuration has no dealer {dealer_id}"))
                .hint("name the configuration of the server with --config")
        }
        LeadRefusal::NoDestination(_) => CommandFailure::usage("no destination selects the lead"),
        LeadRefusal::UnknownDestination(_) => CommandFailure::usage("there is no such destination"),
        LeadRefusal::NoLostReason => CommandFailure::usage("a lost lead needs a reason")
            .hint("add --reason, such as --reason price"),
        LeadRefusal::ReasonWithoutLost => {
            CommandFailure::usage("only a lost lead has a reason").hint("leave out --reason")
        }
        LeadRefusal::NotOpen(state) => CommandFailure::usage(format!(
            "the lead is {state}, and its customer may not be contacted"
        )),
        LeadRefusal::OwnedBy(Some(owner)) => {
            CommandFailure::usage(format!("{owner} has the lead now"))
                .hint("ask, or assign it without --if-owner and --if-unassigned")
        }
        LeadRefusal::OwnedBy(None) => {
            CommandFailure::usage("nobody has the lead now").hint("assign it without --if-owner")
        }
        LeadRefusal::UnknownOwner(name) => CommandFailure::usage(format!(
            "no member of the dealer's desk or management has the name {name}"
        ))
        .hint("`tradepost console user list` lists the members"),
        LeadRefusal::PastStep => CommandFailure::usage("the time of the next step has passed")
            .hint("name a time to come with --at"),
        LeadRefusal::TooManyLeads => {
            CommandFailure::usage("one command changes at most 10000 leads")
        }
    }
}

fn list(store: &Store, selection: &Selection, context: &Context) -> Outcome {
    let now = Clock::system().now();
    let SelectedLeads { leads: listed, held } = select(store, selection, now)?;
    let leads: Vec<&LeadRecord> = listed.iter().map(|one| &one.lead).collect();
    if context.output.is_json() {
        // The documents are complete and easily copied, so they count as an export.
        export_recorded(store, leads.iter().copied(), "json", context)?;
        context.output.raw(export::json(&entries(store, &leads, selection.since)?).as_bytes());
    } else if leads.is_empty() {
        context.output.talk("no leads");
    } else {
        list_recorded(store, leads.iter().copied(), context)?;
        let delivered = store.first_deliveries(selection.dealer.as_deref())?;
        context.output.line(text::table(TableWidth::Terminal, &listed, &delivered, now));
    }
    if held > 0 && selection.state == LeadStateOption::Received {
        let (noun, verb) = if held == 1 { ("lead", "is") } else { ("leads", "are") };
        context.output.talk(format!("{held} more {noun} {verb} held back: add --state held"));
    }
    despite(unreadable(leads), context)
}

/// Returns the ids of those leads that cannot be read.
pub(in crate::cli) fn unreadable<'l>(
    leads: impl IntoIterator<Item = &'l LeadRecord>,
) -> BTreeSet<String> {
    let leads = leads.into_iter().filter(|lead| lead.submission.unreadable.is_some());
    leads.map(|lead| lead.lead_id.clone()).collect()
}

/// Texts for a change of several leads.
struct LeadActionText {
    word: &'static str,
    /// Member for programs: the leads that were not changed.
    not: &'static str,
    /// State that the leads must have.
    state: &'static str,
}

/// Applies a change to each of some leads, of which some may not permit it.
fn each(
    leads: NamedLeads,
    of: &LeadActionText,
    context: &Context,
    operation: LeadOperation,
) -> Outcome {
    let store = leads.place.open(None, context)?;
    let actor = operator(context);
    let mut missing = Vec::new();
    let mut done = Vec::new();
    for id in leads.ids {
        match operation(&admin(&store, &[]), &actor, id.clone()) {
            Ok(LeadChanged { is_changed: true, .. }) => done.push(id),
            Ok(LeadChanged { is_changed: false, .. })
            | Err(AdminError::Refused(LeadRefusal::NotFound(_))) => missing.push(id),
            Err(error) => return Err(failure(error, refused)),
        }
    }
    let document = json!({of.word: done, of.not: missing});
    if context.output.is_json() && missing.is_empty() {
        context.output.document(&json!({of.word: done}));
    } else {
        done.iter().for_each(|id| context.output.line(format!("{} {id}", of.word)));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let state = of.state;
    Err(CommandFailure::usage(format!("not all of these leads are {state}"))
        .hint(format!("`tradepost leads list --state {state}` lists those that are"))
        .data(document)
        .lines(missing))
}

/// Exports leads.
fn write(arguments: &Export, context: &Context) -> Outcome {
    // The configuration first: its mistakes are reported before the store is opened.
    let dealers = dealers(arguments, context)?;
    let store = arguments.place.open(None, context)?;
    arguments.selection.check_dealer(&store, &arguments.place, context)?;
    let since = arguments.selection.since;
    let mut entries = if arguments.ids.is_empty() {
        let selected = select(&store, &arguments.selection, Clock::system().now())?;
        let leads: Vec<&LeadRecord> = selected.leads.iter().map(|one| &one.lead).collect();
        entries(&store, &leads, since)?
    } else {
        let of = |id: &String| Ok(ExportedLead::from_history(history(&store, id)?, None));
        arguments.ids.iter().map(of).collect::<Result<Vec<_>, CommandFailure>>()?
    };
    if arguments.changes {
        entries = entries.into_iter().flat_map(|entry| entry.changes(since)).collect();
    }
    let mut taken: Vec<&LeadRecord> = entries.iter().map(ExportedLead::lead).collect();
    // The changes of a lead are adjacent, and one audit entry covers all of them.
    taken.dedup_by(|one, other| one.lead_id == other.lead_id);
    let unreadable = unreadable(taken.iter().copied());
    let format = arguments.format.name();
    export_recorded(&store, taken, format, context)?;
    match arguments.format {
        LeadOutputFormat::Json => context.output.hand_over(export::json(&entries).as_bytes()),
        LeadOutputFormat::Csv => {
            let csv = export::csv(&entries).map_err(CommandFailure::fault)?;
            context.output.hand_over(&csv)
        }
        LeadOutputFormat::Adf => {
            // A CRM would create a lead without a customer from an unreadable one.
            let readable = entries.iter().filter(|entry| entry.is_readable());
            let prospects: Vec<_> = readable.map(ExportedLead::prospect).collect();
            match adf::write(&prospects, &dealers, &arguments.options()) {
                Some(document) => context.output.hand_over(document.as_bytes()),
                None => {
                    context.output.talk("no leads, and ADF has no empty document");
                    Ok(())
                }
            }
        }
    }?;
    despite(unreadable, context)
}

impl Export {
    fn options(&self) -> adf::AdfOptions {
        adf::AdfOptions {
            prolog: self.adf_prolog,
            names: self.adf_names,
            no_vehicle: self.adf_no_vehicle,
            contacts: match self.adf_all_contacts {
                true => adf::ContactValues::All,
                false => adf::ContactValues::Consented,
            },
            timeframe: self.adf_timeframe,
            provider: self.adf_network.clone().map_or(adf::LeadProvider::Direct, |name| {
                let url = self.adf_network_url.clone();
                adf::LeadProvider::Network(adf::LeadNetwork { name, url })
            }),
        }
    }
}

fn dealers(arguments: &Export, context: &Context) -> Result<Vec<DealerSettings>, CommandFailure> {
    let dealers = match arguments.demo {
        true => read::demo().dealers,
        false => {
            let config = arguments.place.load_config_if_there(context)?;
            config.map(|config| config.dealers).unwrap_or_default()
        }
    };
    Ok(dealers.into_iter().map(|dealer| dealer.terms).collect())
}

fn history(store: &Store, id: &str) -> Result<LeadHistory, CommandFailure> {
    store.lead_history(id)?.ok_or_else(absent)
}

/// Returns the failure for an unknown lead.
fn absent() -> CommandFailure {
    CommandFailure::usage("there is no such lead").hint("`tradepost leads list` lists the leads")
}

fn entries(
    store: &Store,
    leads: &[&LeadRecord],
    since: Option<Timestamp>,
) -> Result<Vec<ExportedLead>, CommandFailure> {
    leads
        .iter()
        .map(|lead| Ok(ExportedLead::from_history(history(store, &lead.lead_id)?, since)))
        .collect()
}

/// Reads a date, and returns its beginning on the clocks of the rooftop or of UTC, as the caller decides.
fn beginning_of_date(text: &str) -> Option<civil::DateTime> {
    let date: civil::Date = text.parse().ok().filter(|_| format::is_date(text))?;
    Some(date.to_datetime(civil::Time::midnight()))
}

/// Reads a timestamp, or a date, which means its beginning in UTC.
pub(in crate::cli) fn since(text: &str) -> Result<Timestamp, String> {
    let midnight = || Some(beginning_of_date(text)?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    format::timestamp(text).or_else(midnight).ok_or_else(|| {
        "write a date such as 2026-05-03 or a time such as 2026-05-03T11:00:00-07:00".to_owned()
    })
}
