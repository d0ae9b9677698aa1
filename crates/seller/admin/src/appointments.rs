//! Calendar operations of the dealer's staff: changes of appointments, and blocked times. In one
//! transaction the calendar is read, checked and changed, with the audit entry and the event that is
//! delivered.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::appointment::change::{
    AppointmentChange, CalendarRefusal, ChangeKind, DepartmentCalendar, WantedBlock, block_period,
    booked_at, check, check_block, period_around, released, wanted_start,
};
use tradepost_dealer::calendar::{BlockedTime, Department, Visit};
use tradepost_dealer::record::{AppointmentRecord, AppointmentState};
use tradepost_dealer::settings::{DealerSettings, RooftopSettings};
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_store::{StoreTransaction, TransactionError};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Refusal of an operation, with the time zone for its text.
#[derive(Debug, Clone)]
pub struct AppointmentRefusal {
    /// Reason for the refusal.
    pub refusal: CalendarRefusal,
    /// Zone of the rooftop; UTC when it is unknown.
    pub zone: TimeZone,
}

impl AppointmentRefusal {
    /// Creates a refusal without a rooftop.
    const fn from_refusal(refusal: CalendarRefusal) -> Self {
        Self { refusal, zone: TimeZone::UTC }
    }
}

impl From<AppointmentRefusal> for AdminError<AppointmentRefusal> {
    fn from(refusal: AppointmentRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of an operation on the calendar.
pub type AppointmentResult<T> = Result<T, AdminError<AppointmentRefusal>>;

/// Change of an appointment.
#[derive(Debug, Clone)]
pub struct ChangeAppointment {
    /// Id of the appointment.
    pub appointment_id: String,
    /// Version that the person has seen; any when `None`.
    pub seen_version: Option<i64>,
    /// Change to apply.
    pub change: AppointmentChange,
}

/// Changes an appointment. Returns the changed appointment.
///
/// # Errors
/// Fails when the actor lacks the permission, the change is refused, or the store fails.
pub fn change_appointment(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ChangeAppointment,
) -> AppointmentResult<Visit> {
    let kind = input.change.kind();
    context.permit(actor, AdminOperation::from_change(kind))?;
    let not_found = || AppointmentRefusal::from_refusal(CalendarRefusal::NotFound);
    let seen = context.store.visit(&input.appointment_id)?;
    let seen = seen.filter(|visit| actor.sees_dealer(&visit.lead.dealer_id));
    let seen = seen.ok_or_else(not_found)?;
    let dealers = context.dealers.iter().map(|dealer| dealer.settings);
    let rooftop = rooftop_of(dealers, &seen).cloned();
    let zone = rooftop.as_ref().map_or_else(|| seen.lead.zone(), |known| known.time_zone.clone());
    let now = context.now;
    let entry = context.entry(actor, &seen.lead.dealer_id, kind.action(), Some(&seen.lead.lead_id));
    // What was read above may have changed since: everything is decided in the transaction.
    let outcome = context.store.decide(move |tx| -> CalendarDecision<Visit> {
        let visit = tx.visit(&input.appointment_id)?;
        let visit = visit.ok_or(TransactionError::Refused(CalendarRefusal::NotFound))?;
        let changed = decide(tx, &visit, rooftop.as_ref(), &input, now)?;
        tx.change_appointment(visit.lead.clone(), changed.clone(), kind.event(), now)?;
        let detail = Some(change_detail(&visit.appointment, &changed));
        tx.record(&NewAuditEntry { detail, ..entry.clone() })?;
        Ok(Visit { appointment: changed, ..visit })
    });
    outcome.map_err(|error| in_zone(error, zone))
}

/// Result of a transaction about a calendar, which may be refused.
type CalendarDecision<T> = Result<T, TransactionError<CalendarRefusal>>;

/// Returns the error of a transaction about a calendar, with the time zone of the refusal.
fn in_zone(
    error: TransactionError<CalendarRefusal>,
    zone: TimeZone,
) -> AdminError<AppointmentRefusal> {
    match error {
        TransactionError::Refused(refusal) => AppointmentRefusal { refusal, zone }.into(),
        TransactionError::Broken(fault) => fault.into(),
    }
}

/// Returns the appointment with the change applied.
fn decide(
    tx: &StoreTransaction<'_>,
    visit: &Visit,
    rooftop: Option<&RooftopSettings>,
    input: &ChangeAppointment,
    now: Timestamp,
) -> CalendarDecision<AppointmentRecord> {
    let change = &input.change;
    let appointment = &visit.appointment;
    check(change, visit, input.seen_version, now).map_err(TransactionError::Refused)?;
    match change.kind() {
        ChangeKind::Cancel => return Ok(released(appointment, AppointmentState::Cancelled)),
        ChangeKind::NoShow => return Ok(released(appointment, AppointmentState::NoShow)),
        ChangeKind::Confirm | ChangeKind::Move => {}
    }
    let rooftop = rooftop.ok_or(TransactionError::Refused(CalendarRefusal::UnknownRooftop))?;
    let start = wanted_start(change, appointment, &rooftop.time_zone);
    let start = start.map_err(TransactionError::Refused)?;
    let start = start.ok_or(TransactionError::Refused(CalendarRefusal::NoTimeNamed))?;
    let lead = &visit.lead;
    let occupied = tx.occupied_times(
        &lead.dealer_id,
        &rooftop.profile.name,
        &visit.department,
        period_around(start),
        Some(&lead.lead_id),
    )?;
    let calendar = DepartmentCalendar { rooftop, occupied: &occupied };
    booked_at(change, visit, start, &calendar, now).map_err(TransactionError::Refused)
}

/// Describes a change without personal data of the customer: `appt_1: 2026-05-01T18:00:00Z ->
/// 2026-05-01T21:00:00Z`.
fn change_detail(before: &AppointmentRecord, after: &AppointmentRecord) -> String {
    let shown = |appointment: &AppointmentRecord| match appointment.starts_at {
        Some(at) if appointment.state.occupies() => rfc3339(at),
        Some(_) | None => appointment.state.name().to_owned(),
    };
    format!("{}: {} -> {}", before.appointment_id, shown(before), shown(after))
}

/// Block to create.
#[derive(Debug, Clone)]
pub struct BlockTime {
    /// Id of the dealer.
    pub dealer_id: String,
    /// Name of the rooftop, in any case.
    pub rooftop: String,
    /// Department of the rooftop.
    pub department: Department,
    /// Period, places and reason.
    pub wanted: WantedBlock,
}

/// Blocks a time, so that it cannot be booked. Returns the block.
///
/// # Errors
/// Fails when the actor lacks the permission, the block is refused, or the store fails.
pub fn block_time(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: BlockTime,
) -> AppointmentResult<BlockedTime> {
    context.permit(actor, AdminOperation::BlockTime)?;
    let dealers = context.dealers.iter().map(|dealer| dealer.settings);
    let found = find_rooftop(dealers, &input.dealer_id, &input.rooftop);
    let found = found.filter(|_| actor.sees_dealer(&input.dealer_id)).cloned();
    let unknown = || AppointmentRefusal::from_refusal(CalendarRefusal::UnknownRooftop);
    let rooftop = found.ok_or_else(unknown)?;
    let zone = rooftop.time_zone.clone();
    let period = match block_period(&input.wanted, &rooftop, context.now) {
        Ok(period) => period,
        Err(refusal) => return Err(AppointmentRefusal { refusal, zone }.into()),
    };
    let block = BlockedTime {
        block_id: format!("block_{}", uuid::Uuid::now_v7().simple()),
        dealer_id: input.dealer_id,
        rooftop: rooftop.profile.name.clone(),
        department: input.department,
        starts_at: period.start,
        ends_at: period.end,
        places: input.wanted.places,
        time_zone: rooftop.profile.timezone.clone(),
        reason: input.wanted.reason.trim().to_owned(),
        created_at: context.now,
        created_by: actor.name().to_owned(),
    };
    let action = AuditAction::TimeBlocked;
    let mut entry = context.entry(actor, &block.dealer_id, action, Some(&block.block_id));
    entry.detail = Some(block_detail(&block));
    let outcome = context.store.decide(move |tx| -> CalendarDecision<BlockedTime> {
        let department = block.department.name();
        let dealer_id = &block.dealer_id;
        let occupied = tx.occupied_times(dealer_id, &block.rooftop, department, period, None)?;
        let calendar = DepartmentCalendar { rooftop: &rooftop, occupied: &occupied };
        check_block(period, block.places, &calendar).map_err(TransactionError::Refused)?;
        tx.add_block(&block)?;
        tx.record(&entry)?;
        Ok(block.clone())
    });
    outcome.map_err(|error| in_zone(error, zone))
}

/// Block to remove.
#[derive(Debug, Clone)]
pub struct UnblockTime {
    /// Id of the block.
    pub block_id: String,
}

/// Removes a block. Returns the removed block.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such block, or the store fails.
pub fn unblock_time(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: UnblockTime,
) -> AppointmentResult<BlockedTime> {
    context.permit(actor, AdminOperation::UnblockTime)?;
    let UnblockTime { block_id } = input;
    let entry = context.entry(actor, "", AuditAction::TimeUnblocked, Some(&block_id));
    let actor = actor.clone();
    let outcome = context.store.decide(move |tx| -> CalendarDecision<BlockedTime> {
        let found = tx.block(&block_id)?.filter(|block| actor.sees_dealer(&block.dealer_id));
        let block = found.ok_or(TransactionError::Refused(CalendarRefusal::NotFound))?;
        tx.remove_block(&block_id)?;
        // The dealer is known only here.
        let chain = block.dealer_id.clone();
        let detail = Some(block_detail(&block));
        tx.record(&NewAuditEntry { chain, detail, ..entry.clone() })?;
        Ok(block)
    });
    // Nothing of this refusal depends on a time zone.
    outcome.map_err(|error| in_zone(error, TimeZone::UTC))
}

/// Describes a block without its reason, in which staff may have named a customer.
fn block_detail(block: &BlockedTime) -> String {
    let from = rfc3339(block.starts_at);
    let until = rfc3339(block.ends_at);
    format!("{}, {}: {from} to {until}", block.rooftop, block.department)
}

/// Finds a rooftop of a dealer by its name, in any case.
pub(crate) fn find_rooftop<'a>(
    dealers: impl IntoIterator<Item = &'a DealerSettings>,
    dealer_id: &str,
    name: &str,
) -> Option<&'a RooftopSettings> {
    let dealer = dealers.into_iter().find(|dealer| dealer.id == dealer_id)?;
    dealer.rooftops.iter().find(|rooftop| rooftop.is_named(name))
}

/// Returns the rooftop of an appointment, if it is one of these dealers'; `None` when the
/// configuration no longer has it.
pub fn rooftop_of<'a>(
    dealers: impl IntoIterator<Item = &'a DealerSettings>,
    visit: &Visit,
) -> Option<&'a RooftopSettings> {
    find_rooftop(dealers, &visit.lead.dealer_id, visit.rooftop.as_deref()?)
}
