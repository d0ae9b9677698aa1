//! `tradepost appointments`: shows the calendar of a dealer's appointments, and changes it.

use clap::{Subcommand, ValueEnum};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::appointment::change::{AppointmentChange, WantedBlock, WantedTime};
use tradepost_dealer::calendar::{BlockedTime, Department, Visit};
use tradepost_dealer::local_time::short;
use tradepost_dealer::record::{LeadRecord, LeadState};
use tradepost_dealer::settings::DealerSettings;
use tradepost_dealer::staff::{AuditAction, StaffStage};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};
use tradepost_server::clock::Clock;
use tradepost_store::Store;

use super::leads::consent::despite;
use super::leads::{record, record_list, since, unreadable};
use super::output::table::Cells;
use super::output::table::TableColumn::{Number, Text};
use super::output::{CommandFailure, one_of};
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers};
use crate::appointments::{
    BlockRequest, CalendarActor, CalendarResult, ChangeRequest, NotDone, block, change, unblock,
};
use crate::config::Config;

mod ics;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List what is booked, blocked, and waits for a time.
    List(AppointmentFilter),
    /// Confirm a time for an appointment that waits for one or was cancelled.
    Confirm(Confirm),
    /// Move a booked appointment to another time.
    Move(Move),
    /// Cancel an appointment, so that its time is free again.
    Cancel(NamedAppointment),
    /// Note that the customer did not come.
    NoShow(NamedAppointment),
    /// Block a time of a department, so that nobody can book it.
    Block(BlockOptions),
    /// Take a blocked time back.
    Unblock(Unblock),
}

/// Which are listed.
#[derive(Debug, clap::Args)]
pub(super) struct AppointmentFilter {
    /// Only those of this dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Only those at this rooftop.
    #[arg(long, value_name = "NAME")]
    rooftop: Option<String>,
    /// Only what ends after this date (UTC) or moment; a day ago when none is named.
    #[arg(long, value_name = "DATE", value_parser = since)]
    from: Option<Timestamp>,
    /// Only what begins before this date (UTC) or moment.
    #[arg(long, value_name = "DATE", value_parser = since)]
    until: Option<Timestamp>,
    /// Also what was cancelled, missed or is not offered, and what is over.
    #[arg(long)]
    all: bool,
    /// The format; --json stands for json.
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
    #[command(flatten)]
    place: StoreOptions,
}

/// Form in which the calendar is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ListFormat {
    /// A table for people.
    Table,
    /// An array for programs.
    Json,
    /// iCalendar (RFC 5545), for calendar programs.
    Ics,
}

/// An appointment, and the version of it that was seen.
#[derive(Debug, clap::Args)]
pub(super) struct AppointmentVersion {
    /// The appointment.
    #[arg(value_name = "APPOINTMENT")]
    id: String,
    /// The version that `appointments list` shows. The command is refused when it has changed since.
    #[arg(long, value_name = "NUMBER")]
    version: Option<i64>,
}

/// An appointment that is changed without another time.
#[derive(Debug, clap::Args)]
pub(super) struct NamedAppointment {
    #[command(flatten)]
    which: AppointmentVersion,
    #[command(flatten)]
    place: StoreOptions,
}

/// An appointment for which a time was agreed on.
#[derive(Debug, clap::Args)]
pub(super) struct Confirm {
    #[command(flatten)]
    which: AppointmentVersion,
    /// The time: as the rooftop's clocks show it (2026-05-01T11:00), or with an offset. Without it, the
    /// one that was asked for.
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<WantedTime>,
    /// Length in minutes; as long as was asked for when not named.
    #[arg(long, value_name = "NUMBER")]
    minutes: Option<u32>,
    /// Also outside of the opening hours, or between two slots; never where every place is taken.
    #[arg(long)]
    outside_hours: bool,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// An appointment that moves.
#[derive(Debug, clap::Args)]
pub(super) struct Move {
    /// The appointment.
    #[arg(value_name = "APPOINTMENT")]
    id: String,
    /// The version that `appointments list` shows. The command is refused when it has changed since.
    #[arg(long, value_name = "NUMBER")]
    version: i64,
    /// The time: as the rooftop's clocks show it (2026-05-01T11:00), or with an offset.
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: WantedTime,
    /// Also outside of the opening hours, or between two slots; never where every place is taken.
    #[arg(long)]
    outside_hours: bool,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// A time that is blocked.
#[derive(Debug, clap::Args)]
pub(super) struct BlockOptions {
    /// The dealer; the only one of the configuration when not named.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// The rooftop.
    #[arg(long, value_name = "NAME")]
    rooftop: String,
    /// The department.
    #[arg(long, value_parser = one_of::<Department>())]
    department: Department,
    /// Beginning, as the rooftop's clocks show it (2026-05-01T11:00), or with an offset.
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: WantedTime,
    /// End.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: WantedTime,
    /// Number of places it takes; all of them when not named.
    #[arg(long, value_name = "NUMBER")]
    places: Option<u32>,
    /// Reason, in one line. Name no customer: it is not erased with them.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// A blocked time that is taken back.
#[derive(Debug, clap::Args)]
pub(super) struct Unblock {
    /// The blocked time.
    #[arg(value_name = "BLOCK")]
    id: String,
    #[command(flatten)]
    place: StoreOptions,
}

/// Row of the calendar.
enum CalendarRow {
    Appointment(Box<Visit>),
    Blocked(BlockedTime),
}

/// Runs the command.
///
/// # Errors
/// Fails when the store or the configuration cannot be read, or the change is refused.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::List(listing) => list(&listing, context),
        Command::Confirm(arguments) => {
            let Confirm { which, at, minutes, outside_hours, source, place } = arguments;
            let config = source.load_with_hosted(&place, context)?;
            let store = place.open(Some(&config), context)?;
            let change = AppointmentChange::Confirm { at, minutes, outside_hours };
            do_change(&store, &config, which, change, context)
        }
        Command::Move(arguments) => {
            let Move { id, version, to, outside_hours, source, place } = arguments;
            let config = source.load_with_hosted(&place, context)?;
            let store = place.open(Some(&config), context)?;
            let which = AppointmentVersion { id, version: Some(version) };
            let change = AppointmentChange::Move { to, outside_hours };
            do_change(&store, &config, which, change, context)
        }
        Command::Cancel(NamedAppointment { which, place }) => {
            release(which, &place, AppointmentChange::Cancel, context)
        }
        Command::NoShow(NamedAppointment { which, place }) => {
            release(which, &place, AppointmentChange::NoShow, context)
        }
        Command::Block(arguments) => do_block(arguments, context),
        Command::Unblock(Unblock { id, place }) => {
            let store = place.open(None, context)?;
            let actor = actor(context);
            let block = done(unblock(&store, &actor, id), &actor)?;
            let line = format!("unblocked {}", block.block_id);
            context.output.answer(&json!({"unblocked": block_document(&block)}), line);
            Ok(())
        }
    }
}

fn actor(context: &Context) -> CalendarActor {
    CalendarActor { name: context.actor(), dealer_id: None, now: Clock::system().now() }
}

/// Makes a change for which opening hours do not matter, so that it needs no configuration.
fn release(
    which: AppointmentVersion,
    place: &StoreOptions,
    wanted: AppointmentChange,
    context: &Context,
) -> Outcome {
    let store = place.open(None, context)?;
    changed(&store, &[], which, wanted, context)
}

fn do_change(
    store: &Store,
    config: &Config,
    which: AppointmentVersion,
    wanted: AppointmentChange,
    context: &Context,
) -> Outcome {
    let dealers: Vec<&DealerSettings> = config.dealers.iter().map(|dealer| &dealer.terms).collect();
    changed(store, &dealers, which, wanted, context)
}

fn changed(
    store: &Store,
    dealers: &[&DealerSettings],
    which: AppointmentVersion,
    wanted: AppointmentChange,
    context: &Context,
) -> Outcome {
    let actor = actor(context);
    let AppointmentVersion { id: appointment_id, version: seen_version } = which;
    let request = ChangeRequest { appointment_id, seen_version, change: wanted };
    let visit = done(change(store, dealers, &actor, request), &actor)?;
    let id = &visit.appointment.appointment_id;
    let summary = when_and_state(&visit, actor.now);
    context.output.answer(&visit_document(&visit), format!("{id}: {summary}"));
    Ok(())
}

fn do_block(arguments: BlockOptions, context: &Context) -> Outcome {
    let BlockOptions { dealer, rooftop, department, from, until, places, reason, source, place } =
        arguments;
    let config = source.load_with_hosted(&place, context)?;
    dealers::check_configured(dealer.as_deref(), &config)?;
    let store = place.open(Some(&config), context)?;
    let dealers: Vec<&DealerSettings> = config.dealers.iter().map(|dealer| &dealer.terms).collect();
    let dealer_id = match (dealer, dealers.as_slice()) {
        (Some(id), _) => id,
        (None, [only]) => only.id.clone(),
        (None, _) => {
            let ids: Vec<_> = dealers.iter().map(|dealer| dealer.id.as_str()).collect();
            return Err(CommandFailure::usage("say whose calendar is meant with --dealer")
                .hint(format!("the dealers are {}", ids.join(", "))));
        }
    };
    let wanted = WantedBlock { from, until, places, reason };
    let request = BlockRequest { dealer_id, rooftop, department, wanted };
    let actor = actor(context);
    let block = done(block(&store, &dealers, &actor, request), &actor)?;
    let line = format!("blocked {}", block.block_id);
    context.output.answer(&json!({"blocked": block_document(&block)}), line);
    Ok(())
}

/// Returns the result of an operation, or the failure with the reason of its refusal.
fn done<T>(outcome: CalendarResult<T>, actor: &CalendarActor) -> Result<T, CommandFailure> {
    outcome?.map_err(|NotDone { refusal, zone }| {
        let message = refusal.message(&zone, actor.now);
        let free: Vec<_> = refusal.free().iter().copied().map(rfc3339).collect();
        CommandFailure::usage(message.trim_end_matches('.'))
            .hint("`tradepost appointments list` shows the calendar as it is")
            .data(json!({"code": refusal.code().name(), "free_times": free}))
    })
}

fn time(text: &str) -> Result<WantedTime, String> {
    WantedTime::parse(text).ok_or_else(|| {
        "write a time of the rooftop such as 2026-05-03T11:00, or a moment such as \
         2026-05-03T11:00:00-07:00"
            .to_owned()
    })
}

fn list(listing: &AppointmentFilter, context: &Context) -> Outcome {
    let store = listing.place.open(None, context)?;
    dealers::check_known(listing.dealer.as_deref(), &store, &listing.place, context)?;
    let now = Clock::system().now();
    let rows = rows(&store, listing, now)?;
    let leads: Vec<&LeadRecord> = rows.iter().filter_map(CalendarRow::lead).collect();
    let unreadable = unreadable(leads.iter().copied());
    let format = if context.output.is_json() { ListFormat::Json } else { listing.format };
    match format {
        ListFormat::Table => {
            let owned: Vec<LeadRecord> = leads.into_iter().cloned().collect();
            record_list(&store, &owned, context)?;
            let columns: [Cells<'_, CalendarRow>; 9] = [
                (Text("when"), &|row| row.when(now)),
                (Text("state"), &|row| row.state()),
                (Text("for"), &|row| row.kind()),
                (Text("name"), &|row| row.name()),
                (Text("rooftop"), &|row| row.rooftop()),
                (Text("department"), &|row| row.department()),
                (Text("id"), &|row| row.id().to_owned()),
                (Number("version"), &|row| row.version()),
                (Text("remark"), &|row| row.remark()),
            ];
            context.output.list(&rows, CalendarRow::document, "no appointments", &columns);
        }
        ListFormat::Json => {
            record(&store, leads, AuditAction::LeadExported, Some("json"), context)?;
            let documents: Vec<_> = rows.iter().map(CalendarRow::document).collect();
            context.output.document(&documents);
        }
        ListFormat::Ics => {
            record(&store, leads, AuditAction::LeadExported, Some("ics"), context)?;
            context.output.hand_over(ics::write(&rows, now).as_bytes())?;
        }
    }
    despite(unreadable, context)
}

fn rows(
    store: &Store,
    listing: &AppointmentFilter,
    now: Timestamp,
) -> Result<Vec<CalendarRow>, CommandFailure> {
    let dealer_id = listing.dealer.as_deref();
    let yesterday = now.saturating_sub(SignedDuration::from_hours(24)).unwrap_or(now);
    let first = if listing.all { Timestamp::MIN } else { yesterday };
    let from = listing.from.unwrap_or(first);
    let until = listing.until.unwrap_or(Timestamp::MAX);
    let calendar = store.calendar(dealer_id, from, until)?;
    let mut visits = calendar.visits;
    visits.extend(store.waiting_visits(dealer_id)?);
    if listing.all {
        visits.extend(store.settled_visits(dealer_id)?);
    }
    let visits = visits.into_iter().map(|visit| CalendarRow::Appointment(Box::new(visit)));
    let mut rows: Vec<_> =
        visits.chain(calendar.blocks.into_iter().map(CalendarRow::Blocked)).collect();
    if let Some(name) = &listing.rooftop {
        let name = name.to_lowercase();
        rows.retain(|row| row.rooftop().to_lowercase() == name);
    }
    rows.sort_by_key(|row| (row.starts_at().is_none(), row.starts_at()));
    Ok(rows)
}

impl CalendarRow {
    fn lead(&self) -> Option<&LeadRecord> {
        match self {
            Self::Appointment(visit) => Some(&visit.lead),
            Self::Blocked(_) => None,
        }
    }

    fn id(&self) -> &str {
        match self {
            Self::Appointment(visit) => &visit.appointment.appointment_id,
            Self::Blocked(block) => &block.block_id,
        }
    }

    /// Returns the beginning, or the requested time.
    fn starts_at(&self) -> Option<Timestamp> {
        match self {
            Self::Appointment(visit) => {
                visit.appointment.starts_at.or(visit.appointment.requested_at)
            }
            Self::Blocked(block) => Some(block.starts_at),
        }
    }

    fn zone(&self) -> TimeZone {
        match self {
            Self::Appointment(visit) => visit.lead.zone(),
            Self::Blocked(block) => {
                let named = block.time_zone.as_deref().and_then(|name| TimeZone::get(name).ok());
                named.unwrap_or(TimeZone::UTC)
            }
        }
    }

    fn when(&self, now: Timestamp) -> String {
        let local = |at: Timestamp| short(at, &self.zone(), now);
        let start = self.starts_at().map(local).unwrap_or_else(|| "no time".to_owned());
        match self {
            Self::Appointment(_) => start,
            Self::Blocked(block) => format!("{start} until {}", local(block.ends_at)),
        }
    }

    fn state(&self) -> String {
        match self {
            Self::Appointment(visit) => visit.appointment.state.to_string(),
            Self::Blocked(_) => "blocked".to_owned(),
        }
    }

    fn kind(&self) -> String {
        match self {
            Self::Appointment(visit) => visit.appointment.kind.to_string(),
            Self::Blocked(block) => match block.places {
                Some(places) => format!("{places} places"),
                None => "all places".to_owned(),
            },
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Appointment(visit) => LeadView::new(&visit.lead).customer_name(),
            Self::Blocked(_) => String::new(),
        }
    }

    fn rooftop(&self) -> String {
        match self {
            Self::Appointment(visit) => visit.rooftop.clone().unwrap_or_default(),
            Self::Blocked(block) => block.rooftop.clone(),
        }
    }

    fn department(&self) -> String {
        match self {
            Self::Appointment(visit) => visit.department.clone(),
            Self::Blocked(block) => block.department.to_string(),
        }
    }

    fn version(&self) -> String {
        match self {
            Self::Appointment(visit) => visit.appointment.version.to_string(),
            Self::Blocked(_) => String::new(),
        }
    }

    fn remark(&self) -> String {
        match self {
            Self::Appointment(visit) => remark(visit).unwrap_or_default().to_owned(),
            Self::Blocked(block) => block.reason.clone(),
        }
    }

    fn document(&self) -> Value {
        match self {
            Self::Appointment(visit) => visit_document(visit),
            Self::Blocked(block) => block_document(block),
        }
    }
}

/// Returns a remark on the lead of an appointment, if it is important for people.
fn remark(visit: &Visit) -> Option<&'static str> {
    match (visit.lead.state, visit.progress.stage) {
        (LeadState::Revoked, _) => Some("consent withdrawn"),
        (LeadState::Erased, _) => Some("customer erased"),
        (LeadState::Held, _) => Some("lead held back"),
        (LeadState::Received, StaffStage::Lost) => Some("lead lost"),
        (LeadState::Received, StaffStage::New | StaffStage::Working | StaffStage::Sold) => None,
    }
}

/// Formats `confirmed May 3, 11:00 AM PDT`.
fn when_and_state(visit: &Visit, now: Timestamp) -> String {
    let at = visit.appointment.starts_at.or(visit.appointment.requested_at);
    let at = at.map(|at| format!(" {}", short(at, &visit.lead.zone(), now))).unwrap_or_default();
    format!("{}{at} (version {})", visit.appointment.state, visit.appointment.version)
}

fn visit_document(visit: &Visit) -> Value {
    let appointment = &visit.appointment;
    json!({
        "appointment_id": appointment.appointment_id,
        "version": appointment.version,
        "status": appointment.state,
        "type": appointment.kind,
        "occupies": appointment.state.occupies(),
        "dealer_id": visit.lead.dealer_id,
        "rooftop": visit.rooftop,
        "department": visit.department,
        "time_zone": visit.lead.time_zone,
        "requested_at": appointment.requested_at.map(rfc3339),
        "starts_at": appointment.starts_at.map(rfc3339),
        "ends_at": appointment.ends_at.map(rfc3339),
        "proposed": appointment.proposed.iter().copied().map(rfc3339).collect::<Vec<_>>(),
        "lead_id": visit.lead.lead_id,
        "lead_state": visit.lead.state,
        "lead_stage": visit.progress.stage,
        "consent_withdrawn": visit.lead.state == LeadState::Revoked,
        "customer": LeadView::new(&visit.lead).customer_name(),
    })
}

fn block_document(block: &BlockedTime) -> Value {
    json!({
        "block_id": block.block_id,
        "status": "blocked",
        "dealer_id": block.dealer_id,
        "rooftop": block.rooftop,
        "department": block.department.name(),
        "time_zone": block.time_zone,
        "starts_at": rfc3339(block.starts_at),
        "ends_at": rfc3339(block.ends_at),
        "places": block.places,
        "reason": block.reason,
        "created_at": rfc3339(block.created_at),
        "created_by": block.created_by,
    })
}
