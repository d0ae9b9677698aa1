//! `tradepost appointments`: shows the calendar of a dealer's appointments, and changes it.

use clap::{Subcommand, ValueEnum};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tradepost_admin::DealerScope;
use tradepost_admin::appointments::{
    AppointmentRefusal, AppointmentResult, BlockTime, ChangeAppointment, UnblockTime, block_time,
    change_appointment, unblock_time,
};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::appointment::change::{
    AppointmentChange, CalendarRefusal, WantedBlock, WantedTime,
};
use tradepost_dealer::calendar::{BlockedTime, Department, Visit};
use tradepost_dealer::local_time::short;
use tradepost_dealer::record::{LeadRecord, LeadState};
use tradepost_dealer::settings::DealerSettings;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json, object};
use tradepost_runtime::config::{Config, DealerConfig};
use tradepost_server::clock::Clock;
use tradepost_store::Store;

use super::leads::consent::despite;
use super::leads::{export_recorded, list_recorded, since, unreadable};
use super::operator::{admin, failure, operator};
use super::output::table::Cells;
use super::output::table::TableColumn::{Number, Text};
use super::output::{CommandFailure, one_of};
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers, nearest};

mod feed;
mod ics;

/// Subcommands of `tradepost appointments`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List booked appointments, blocked times, and appointments that wait for a time.
    List(AppointmentFilter),
    /// Confirm a time for an appointment that waits for a time or was cancelled.
    Confirm(Confirm),
    /// Move a booked appointment to another time.
    Move(Move),
    /// Cancel an appointment and free its time.
    Cancel(NamedAppointment),
    /// Record that the customer did not come.
    NoShow(NamedAppointment),
    /// Block a time of a department, so that it cannot be booked.
    Block(BlockOptions),
    /// Remove a blocked time.
    Unblock(Unblock),
    /// Create, list and revoke calendar feeds: secret addresses for calendar programs.
    #[command(subcommand)]
    Feed(feed::Command),
}

/// Filter of the list.
#[derive(Debug, clap::Args)]
pub(super) struct AppointmentFilter {
    /// Only entries of this dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Only entries of this rooftop.
    #[arg(long, value_name = "NAME")]
    rooftop: Option<String>,
    /// Only entries that end after this date (UTC) or time; the default is one day ago.
    #[arg(long, value_name = "DATE", value_parser = since)]
    from: Option<Timestamp>,
    /// Only entries that begin before this date (UTC) or time.
    #[arg(long, value_name = "DATE", value_parser = since)]
    until: Option<Timestamp>,
    /// Also list cancelled, missed, not offered and past entries.
    #[arg(long)]
    all: bool,
    /// Output format; --json is the same as --format json.
    #[arg(long, value_enum, default_value_t = ListFormat::Table)]
    format: ListFormat,
    #[command(flatten)]
    place: StoreOptions,
}

/// Output format of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ListFormat {
    /// Table for people.
    Table,
    /// JSON array for programs.
    Json,
    /// iCalendar (RFC 5545), for calendar programs.
    Ics,
}

/// Appointment and its expected version.
#[derive(Debug, clap::Args)]
pub(super) struct AppointmentVersion {
    /// Appointment id.
    #[arg(value_name = "APPOINTMENT")]
    id: String,
    /// Version that `appointments list` shows. The command fails if the appointment has changed
    /// since.
    #[arg(long, value_name = "NUMBER")]
    version: Option<i64>,
}

/// Appointment whose time does not change.
#[derive(Debug, clap::Args)]
pub(super) struct NamedAppointment {
    #[command(flatten)]
    which: AppointmentVersion,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost appointments confirm`.
#[derive(Debug, clap::Args)]
pub(super) struct Confirm {
    #[command(flatten)]
    which: AppointmentVersion,
    /// Start: local time of the rooftop (2026-05-01T11:00), or a time with an offset. The default
    /// is the requested time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<WantedTime>,
    /// Duration in minutes; the default is the requested duration.
    #[arg(long, value_name = "NUMBER")]
    minutes: Option<u32>,
    /// Permit a time outside of the opening hours or between two slots. The time still needs a free
    /// place.
    #[arg(long)]
    outside_hours: bool,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost appointments move`.
#[derive(Debug, clap::Args)]
pub(super) struct Move {
    /// Appointment id.
    #[arg(value_name = "APPOINTMENT")]
    id: String,
    /// Version that `appointments list` shows. The command fails if the appointment has changed
    /// since.
    #[arg(long, value_name = "NUMBER")]
    version: i64,
    /// Start: local time of the rooftop (2026-05-01T11:00), or a time with an offset.
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: WantedTime,
    /// Permit a time outside of the opening hours or between two slots. The time still needs a free
    /// place.
    #[arg(long)]
    outside_hours: bool,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost appointments block`.
#[derive(Debug, clap::Args)]
pub(super) struct BlockOptions {
    /// Dealer id; not needed if the configuration has one dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Name of the rooftop.
    #[arg(long, value_name = "NAME")]
    rooftop: String,
    /// Department of the rooftop.
    #[arg(long, value_parser = one_of::<Department>())]
    department: Department,
    /// Start: local time of the rooftop (2026-05-01T11:00), or a time with an offset.
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: WantedTime,
    /// End, in the same format.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: WantedTime,
    /// Number of places to block; the default is all places.
    #[arg(long, value_name = "NUMBER")]
    places: Option<u32>,
    /// Reason, in one line. Do not name a customer: the reason is not erased with the customer's
    /// data.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost appointments unblock`.
#[derive(Debug, clap::Args)]
pub(super) struct Unblock {
    /// Id of the blocked time.
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
        Command::Feed(command) => feed::run(command, context),
        Command::Unblock(Unblock { id, place }) => {
            let store = place.open(None, context)?;
            let admin = admin(&store, &[]);
            let input = UnblockTime { block_id: id };
            let block = done(unblock_time(&admin, &operator(context), input), admin.now)?;
            let line = format!("unblocked {}", block.block_id);
            context.output.answer(&json!({"unblocked": block_document(&block)}), line);
            Ok(())
        }
    }
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
    let dealers: Vec<_> = config.dealers.iter().map(DealerConfig::scope).collect();
    changed(store, &dealers, which, wanted, context)
}

fn changed(
    store: &Store,
    dealers: &[DealerScope<'_>],
    which: AppointmentVersion,
    wanted: AppointmentChange,
    context: &Context,
) -> Outcome {
    let admin = admin(store, dealers);
    let AppointmentVersion { id: appointment_id, version: seen_version } = which;
    let input = ChangeAppointment { appointment_id, seen_version, change: wanted };
    let visit = done(change_appointment(&admin, &operator(context), input), admin.now)?;
    let id = &visit.appointment.appointment_id;
    let summary = when_and_state(&visit, admin.now);
    context.output.answer(&visit_document(&visit), format!("{id}: {summary}"));
    Ok(())
}

fn do_block(arguments: BlockOptions, context: &Context) -> Outcome {
    let BlockOptions { dealer, rooftop, department, from, until, places, reason, source, place } =
        arguments;
    let config = source.load_with_hosted(&place, context)?;
    dealers::check_configured(dealer.as_deref(), &config)?;
    let store = place.open(Some(&config), context)?;
    let dealers: Vec<_> = config.dealers.iter().map(DealerConfig::scope).collect();
    let dealer_id = match (dealer, dealers.as_slice()) {
        (Some(id), _) => id,
        (None, [only]) => only.settings.id.clone(),
        (None, _) => {
            let ids: Vec<_> = dealers.iter().map(|dealer| dealer.settings.id.as_str()).collect();
            return Err(CommandFailure::usage("the dealer is missing; name it with --dealer")
                .hint(format!("the dealers are {}", ids.join(", "))));
        }
    };
    let wanted = WantedBlock { from, until, places, reason };
    let settings =
        dealers.iter().map(|dealer| dealer.settings).find(|settings| settings.id == dealer_id);
    let hint = rooftop_hint(&rooftop, settings);
    let input = BlockTime { dealer_id, rooftop, department, wanted };
    let admin = admin(&store, &dealers);
    let not_done = |refused: AppointmentRefusal| {
        let failure = refusal_failure(&refused, admin.now);
        if refused.refusal == CalendarRefusal::UnknownRooftop {
            failure.hint(hint)
        } else {
            failure
        }
    };
    let block =
        block_time(&admin, &operator(context), input).map_err(|error| failure(error, not_done))?;
    let line = format!("blocked {}", block.block_id);
    context.output.answer(&json!({"blocked": block_document(&block)}), line);
    Ok(())
}

/// Returns the hint for a name that no rooftop of the dealer has.
fn rooftop_hint(wanted: &str, dealer: Option<&DealerSettings>) -> String {
    let rooftops = dealer.map(|dealer| dealer.rooftops.as_slice()).unwrap_or_default();
    let names: Vec<_> = rooftops.iter().map(|rooftop| rooftop.profile.name.as_str()).collect();
    let listed = format!("the rooftops are {}", names.join(", "));
    nearest::hint(wanted, names, listed)
}

/// Returns the result of an operation, or the failure with the reason of its refusal.
fn done<T>(outcome: AppointmentResult<T>, now: Timestamp) -> Result<T, CommandFailure> {
    outcome.map_err(|error| failure(error, |refused| refusal_failure(&refused, now)))
}

/// Returns the failure of an operation that the calendar refuses.
fn refusal_failure(refused: &AppointmentRefusal, now: Timestamp) -> CommandFailure {
    let AppointmentRefusal { refusal, zone } = refused;
    let message = refusal.message(zone, now);
    let free: Vec<_> = refusal.free().iter().copied().map(rfc3339).collect();
    let mut current = None;
    if let CalendarRefusal::ChangedMeanwhile { state, starts_at, version } = refusal {
        let starts_at = starts_at.map(rfc3339);
        current = Some(json!({"status": state, "starts_at": starts_at, "version": version}));
    }
    CommandFailure::usage(message.trim_end_matches('.'))
        .hint("`tradepost appointments list` shows the current calendar")
        .data(object!({"code": refusal.code().name(), "free_times": free, "current"?: current}))
}

fn time(text: &str) -> Result<WantedTime, String> {
    WantedTime::parse(text).ok_or_else(|| {
        "write a local time of the rooftop such as 2026-05-03T11:00, or a time with an offset such \
         as 2026-05-03T11:00:00-07:00"
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
            list_recorded(&store, leads, context)?;
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
            export_recorded(&store, leads, "json", context)?;
            let documents: Vec<_> = rows.iter().map(CalendarRow::document).collect();
            context.output.document(&documents);
        }
        ListFormat::Ics => {
            export_recorded(&store, leads, "ics", context)?;
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
            Self::Appointment(visit) => visit.remark().unwrap_or_default().to_owned(),
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
