//! `lead.submit`: handling of a valid lead. One transaction looks for its idempotency key and for
//! an equivalent lead, books the appointment and stores everything, so that of two requests at the
//! same time only one creates a lead (AAP 1.1 `lead.submit`; `E-104` to `E-106`, C-16 to C-20).

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_aap::lead::{
    AppointmentReceipt, AppointmentRequest, AppointmentStatus, AppointmentType, DealerContact,
    LeadStatus,
};
use tradepost_aap::{
    AapRefusal, AapReply, LeadReceipt, LeadSubmit, ReplyData, Skill, Vehicle, VehicleQuery,
};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::format::rfc3339;
use tradepost_document::json::Value;

use crate::appointment::{self, AppointmentDecision};
use crate::consent::ConsentEvidence;
use crate::inventory::{Inventory, VehicleLookup};
use crate::lead_store::{LeadStore, NewConsent, NewLead, RepeatCriteria, ScopedKey, StoredReply};
use crate::record::{
    AppointmentRecord, AppointmentState, HeldFor, LeadEventKind, LeadRecord, LeadState,
    SubmissionRecord,
};
use crate::settings::{DealerSettings, RooftopSettings};
use crate::skills::{self, SkillError};

mod agreement;
mod messages;
mod policy;
mod proof;
mod repeated;

pub use agreement::PersonAgreement;
use policy::SubmissionLimits;
use proof::SenderIdentity;
use repeated::is_settled;

/// Sender of a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadCaller {
    /// Name of the credential, or a fixed name for callers without one.
    pub name: String,
    /// Network of a caller without credentials, for counting its leads.
    pub network: Option<String>,
}

impl LeadCaller {
    fn is_anonymous(&self) -> bool {
        self.network.is_some()
    }
}

/// Conversation that a message belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Id of the conversation.
    pub id: String,
    /// True when the dealer generated the id: it cannot be guessed, so a caller that names it is
    /// the one that received it.
    pub is_ours: bool,
}

/// A lead to be stored.
#[derive(Debug)]
pub struct LeadSubmission<'a> {
    /// The dealer.
    pub dealer: &'a DealerSettings,
    /// Vehicles on offer.
    pub inventory: &'a Inventory,
    /// Sender.
    pub caller: &'a LeadCaller,
    /// Conversation.
    pub conversation: &'a Conversation,
    /// Evidence of consent.
    pub evidence: &'a ConsentEvidence,
    /// Time of arrival.
    pub now: Timestamp,
    /// The lead.
    pub lead: &'a LeadSubmit,
    /// What the person agreed to, where the dealer itself has asked.
    pub agreed: Option<&'a PersonAgreement>,
    /// Generator of unique ids.
    pub fresh_id: fn() -> uuid::Uuid,
}

/// Vehicle that the submission refers to.
#[derive(Default)]
struct SubmittedVehicle {
    listing: Option<Value>,
    /// Id of the unit, also when it is no longer on offer.
    unit: Option<String>,
    remark: Option<&'static str>,
}

/// Outcome of a submission, from which the answer is written.
struct SubmitOutcome<'a> {
    lead: LeadRecord,
    /// True when the same caller had sent it before.
    is_resubmitted: bool,
    rooftop: &'a RooftopSettings,
    remark: Option<&'static str>,
    /// Current appointment, when the lead asks again for one that staff have changed since. Nothing
    /// new is decided then.
    settled: Option<AppointmentRecord>,
}

impl SubmitOutcome<'_> {
    /// Returns the appointment of the answer: the requested one, or the one that staff have
    /// changed.
    fn answered_appointment(&self) -> Option<&AppointmentRecord> {
        self.lead.submission.appointment.as_ref().or(self.settled.as_ref())
    }

    /// Returns the reason why the lead is held, if it is.
    fn held_for(&self) -> Option<HeldFor> {
        self.lead.held_for.filter(|_| self.lead.state == LeadState::Held)
    }
}

/// Answer to a lead. What was stored stays with both: a refused appointment leaves the lead.
#[derive(Debug)]
pub enum LeadAnswer {
    /// The lead was taken.
    Taken(AapReply),
    /// The request is refused.
    Refused(AapRefusal),
}

impl LeadSubmission<'_> {
    /// Stores the lead.
    ///
    /// # Errors
    /// When the store fails; then nothing has changed.
    pub fn submit(&self, store: &dyn LeadStore) -> Result<LeadAnswer, InternalError> {
        // The hash is of the canonical form, so a retry with other white space is the same request.
        let hash = Sha256::digest(self.request_text()).to_vec();
        let sender = SenderIdentity::new(self.caller, self.conversation, self.lead);
        let claim = self.lead.idempotency_key.as_deref().map(|key| ScopedKey {
            dealer_id: &self.dealer.id,
            scopes: &sender.key_scopes,
            key,
            since: before(self.now, self.dealer.leads.idempotency_lifetime),
        });
        if let Some(claim) = &claim
            && let Some(answer) = self.replay(store, claim, &hash)?
        {
            return Ok(answer);
        }
        if let Some(refusal) = self.check_agreement(store)? {
            return Ok(LeadAnswer::Refused(refusal));
        }
        // A repeated key is answered before these checks: a retry of an accepted lead must not fail
        // because the vehicle was sold meanwhile (docs/requirements/aap.md, "Which code wins").
        if self.is_test_drive_without_vehicle() {
            return Ok(LeadAnswer::Refused(AapRefusal::test_drive_without_vehicle()));
        }
        let subject = match self.find_vehicle() {
            Ok(subject) => subject,
            Err(SkillError::Refused(refusal)) => return Ok(LeadAnswer::Refused(refusal)),
            Err(SkillError::Broken(error)) => return Err(error),
        };
        if let Some(refusal) = self.check_daily_quota(store)? {
            return Ok(LeadAnswer::Refused(refusal));
        }
        let taken = self.store_submission(store, &sender, subject)?;
        // The key stays unused, so that the buyer can send another time under it.
        if let Some(refusal) = self.strict_refusal(&taken) {
            return Ok(LeadAnswer::Refused(refusal));
        }
        let receipt = self.receipt(&taken);
        let message = messages::message(&taken, self.now);
        if let Some(claim) = &claim {
            // The message is stored too, so a retry gets the same one after the clock or the
            // settings have changed.
            let reply = tradepost_document::json::to_string(&(&receipt, &message))
                .map_err(InternalError::on("writing an answer for its key"))?;
            let reply = StoredReply { payload_hash: hash, reply, first_seen_at: self.now };
            store.store_reply(claim, &reply)?;
        }
        Ok(LeadAnswer::Taken(reply(receipt, message)))
    }

    /// Decides on the lead and stores it.
    fn store_submission(
        &self,
        store: &dyn LeadStore,
        sender: &SenderIdentity,
        subject: SubmittedVehicle,
    ) -> Result<SubmitOutcome<'_>, InternalError> {
        let rules = &self.dealer.leads;
        let vehicle = self.vehicle_key(subject.unit.as_deref());
        let contacts = &sender.contacts;
        let dealer = self.dealer;
        let policy =
            SubmissionLimits::new(dealer, self.caller, self.lead, contacts, &vehicle, self.now);
        let kind = self.lead.appointment.as_ref().map(|appointment| appointment.kind);
        let topic = format!("{vehicle}\n{}", kind.map_or("", AppointmentType::name));
        let known = RepeatCriteria {
            dealer_id: &self.dealer.id,
            proofs: &sender.proofs,
            contacts,
            subject: &topic,
            since: before(self.now, rules.duplicate_window),
        };
        let held_for = policy.held_for(store)?;
        // A held lead changes nothing that exists.
        let earlier = if held_for.is_none() { store.known_lead(&known)? } else { None };
        let held_before = earlier.as_ref().filter(|lead| lead.state == LeadState::Held);
        // An addition to a held lead is held too.
        let held_for = held_for.or_else(|| held_before?.held_for);
        let rooftop = self.rooftop(subject.listing.as_ref());
        let settled = match (&self.lead.appointment, &earlier) {
            (Some(request), Some(earlier)) if held_for.is_none() => {
                earlier.appointment.clone().filter(|current| is_settled(current, request))
            }
            (Some(_) | None, Some(_) | None) => None,
        };
        let asked = match &self.lead.appointment {
            Some(_) if settled.is_some() => None,
            Some(request) if is_refused(held_for) => {
                Some(self.new_appointment(request, AppointmentState::Rejected))
            }
            Some(request) if held_for.is_some() => {
                Some(self.new_appointment(request, AppointmentState::Requested))
            }
            Some(request) => {
                let lead_id = earlier.as_ref().map(|lead| lead.lead_id.as_str());
                Some(self.appointment(store, &policy, rooftop, request, lead_id)?)
            }
            None => None,
        };
        let submission = SubmissionRecord {
            received_at: self.now,
            version: self.lead.version,
            principal: self.caller.name.clone(),
            address: Some(self.evidence.address.clone()),
            payload: self.lead.payload.clone(),
            unreadable: None,
            rooftop: Some(rooftop.profile.name.clone()),
            listing: subject.listing.clone(),
            appointment: asked.clone(),
        };
        let time_zone = rooftop.profile.timezone.clone();
        let lead = match &earlier {
            Some(earlier) => LeadRecord {
                changed_at: self.now,
                time_zone,
                appointment: current(earlier.appointment.clone(), asked),
                submission,
                ..earlier.clone()
            },
            None => {
                let lead_id = self.id("lead");
                LeadRecord {
                    person: lead_id.clone(),
                    lead_id,
                    dealer_id: self.dealer.id.clone(),
                    received_at: self.now,
                    changed_at: self.now,
                    state: if held_for.is_some() { LeadState::Held } else { LeadState::Received },
                    held_for,
                    time_zone,
                    appointment: asked,
                    submission,
                }
            }
        };
        let is_resubmitted = earlier.is_some();
        let is_booked = lead.submission.appointment.as_ref().is_some_and(is_booked);
        let number = store.store_lead(&NewLead {
            lead: &lead,
            kind: if is_resubmitted { LeadEventKind::Resubmitted } else { LeadEventKind::Received },
            known,
            department: kind.map(appointment::department).unwrap_or_default(),
            tallies: &policy.tallies(is_booked),
            tallied_since: before(self.now, policy::DAY),
            assignment: self.dealer.leads.assignment,
        })?;
        store.store_consent(&NewConsent {
            dealer_id: &self.dealer.id,
            lead_id: &lead.lead_id,
            submission: number,
            at: self.now,
            payload: &self.lead.payload,
            evidence: self.evidence,
            network: self.caller.network.as_deref(),
        })?;
        Ok(SubmitOutcome { lead, is_resubmitted, rooftop, remark: subject.remark, settled })
    }

    /// Refuses a lead that would exceed the daily limit of bytes per network, because a caller
    /// within its other limits must not fill the disk.
    fn check_daily_quota(
        &self,
        store: &dyn LeadStore,
    ) -> Result<Option<AapRefusal>, InternalError> {
        let Some(network) = &self.caller.network else {
            return Ok(None);
        };
        let most = self.dealer.leads.daily_bytes_per_address;
        let since = before(self.now, policy::DAY);
        let (kept, first) = store.stored_bytes(&self.dealer.id, network, since)?;
        if kept.saturating_add(self.evidence.body.len() as u64) <= most {
            return Ok(None);
        }
        // When the first of them is a day old, there is room again.
        let wait = first.map_or(policy::DAY, |first| first.duration_since(since));
        let millis =
            |time: jiff::SignedDuration| u64::try_from(time.as_millis()).unwrap_or_default();
        let wait = Duration::from_millis(millis(wait).max(1));
        let day = Duration::from_millis(millis(policy::DAY));
        Ok(Some(AapRefusal::storage_quota_exceeded(wait, most, day)))
    }

    fn id(&self, kind: &str) -> String {
        format!("{kind}_{}", (self.fresh_id)().simple())
    }

    fn is_test_drive(&self) -> bool {
        let appointment = self.lead.appointment.as_ref();
        appointment.is_some_and(|appointment| appointment.kind == AppointmentType::TestDrive)
    }

    /// Returns true for a test drive without a vehicle, where the dealer requires one: the lead is
    /// refused with `MISSING_REQUIRED_FIELD` (AAP 1.1 `lead.submit`, `E-097`). Any `vehicle_of_interest`
    /// counts, also one that names no unit.
    fn is_test_drive_without_vehicle(&self) -> bool {
        self.dealer.leads.test_drive_needs_vehicle
            && self.is_test_drive()
            && self.lead.vehicle_of_interest.is_none()
    }

    /// Finds the listing of the vehicle of interest. Only a test drive that names a vin, stock number or
    /// vehicle id requires that it is on offer (C-22).
    fn find_vehicle(&self) -> Result<SubmittedVehicle, SkillError> {
        const WHAT: &str = "looking up the vehicle of a lead";
        let Some(vehicle) = &self.lead.vehicle_of_interest else {
            return Ok(SubmittedVehicle::default());
        };
        let query = VehicleQuery {
            vin: vehicle.vin.clone(),
            stock: vehicle.stock.clone(),
            vehicle_id: vehicle.vehicle_id.clone(),
        };
        if query == VehicleQuery::default() {
            return Ok(SubmittedVehicle::default());
        }
        let oldest = skills::tombstone_horizon(self.dealer, self.now);
        let found = self.inventory.find(&query, oldest).map_err(InternalError::on(WHAT))?;
        let drives = self.is_test_drive();
        let (unit, remark) = match found {
            VehicleLookup::Listed(found) => {
                let listing = tradepost_document::json::from_str(found.json.as_json());
                let listing = Some(listing.map_err(InternalError::on(WHAT))?);
                return Ok(SubmittedVehicle {
                    listing,
                    unit: Some(found.vehicle_id),
                    remark: None,
                });
            }
            VehicleLookup::Gone(tombstone) if drives => {
                return Err(skills::unavailable(self.inventory, tombstone).into());
            }
            VehicleLookup::Unknown if drives => {
                return Err(skills::not_found(self.dealer, &query).into());
            }
            VehicleLookup::Gone(tombstone) => (
                Some(tombstone.vehicle_id.clone()),
                "The vehicle is no longer on offer; an advisor will suggest alternatives.",
            ),
            VehicleLookup::Unknown => {
                (None, "The vehicle was not found in our inventory; an advisor will look into it.")
            }
        };
        Ok(SubmittedVehicle { listing: None, unit, remark: Some(remark) })
    }

    /// Returns the vehicle part of what makes leads equivalent, beside the customer, the caller and
    /// the type of appointment; its time does not matter (C-19). A unit that was sold meanwhile is
    /// still the same.
    fn vehicle_key(&self, unit: Option<&str>) -> String {
        match (unit, &self.lead.vehicle_of_interest) {
            (Some(unit), _) => format!("unit:{unit}"),
            (None, Some(vehicle)) => vehicle_identity(vehicle),
            (None, None) => String::new(),
        }
    }

    /// Selects the rooftop of the lead: the listing's, the one that the buyer names, one that
    /// offers the appointment, or the first.
    fn rooftop(&self, listing: Option<&Value>) -> &RooftopSettings {
        let named = |name: &str| self.dealer.rooftops.iter().find(|r| r.profile.name == name);
        let wanted = self.lead.vehicle_of_interest.as_ref().and_then(|v| v.rooftop.as_deref());
        let kind = self.lead.appointment.as_ref().map(|appointment| appointment.kind);
        // The vehicle's location wins over the rooftop that the buyer names.
        listing
            .and_then(|listing| named(listing.get("rooftop")?.as_str()?))
            .or_else(|| named(wanted?))
            .or_else(|| {
                let kind = kind?;
                self.dealer.rooftops.iter().find(|r| r.appointments.types.contains(&kind))
            })
            .or_else(|| self.dealer.rooftops.first())
            .unwrap_or_else(|| unreachable!("a configured dealer has a rooftop"))
    }

    /// Decides on a requested appointment, and returns the record to be stored.
    fn appointment(
        &self,
        store: &dyn LeadStore,
        policy: &SubmissionLimits<'_>,
        rooftop: &RooftopSettings,
        request: &AppointmentRequest,
        earlier: Option<&str>,
    ) -> Result<AppointmentRecord, InternalError> {
        let period = appointment::horizon(rooftop, self.now);
        let department = appointment::department(request.kind);
        let name = &rooftop.profile.name;
        // An earlier booking of the same lead does not count, because the new one replaces it.
        let occupied = store.occupied(&self.dealer.id, name, department, period, earlier)?;
        let proposals = self.dealer.leads.proposed_times;
        let decision = appointment::decide(rooftop, request, self.now, &occupied, proposals);
        let new_appointment = self.new_appointment(request, AppointmentState::Requested);
        Ok(match decision {
            AppointmentDecision::Confirmed(_) if !policy.may_confirm(store, earlier)? => {
                new_appointment
            }
            AppointmentDecision::Confirmed(booked) => AppointmentRecord {
                state: AppointmentState::Confirmed,
                starts_at: Some(booked.start),
                ends_at: Some(booked.end),
                ..new_appointment
            },
            AppointmentDecision::Proposed(proposed) => {
                AppointmentRecord { state: AppointmentState::Proposed, proposed, ..new_appointment }
            }
            AppointmentDecision::Requested => new_appointment,
            AppointmentDecision::Rejected => {
                AppointmentRecord { state: AppointmentState::Rejected, ..new_appointment }
            }
        })
    }

    /// Creates the first version of an appointment, without a time.
    fn new_appointment(
        &self,
        request: &AppointmentRequest,
        state: AppointmentState,
    ) -> AppointmentRecord {
        AppointmentRecord {
            appointment_id: self.id("appt"),
            kind: request.kind,
            state,
            requested_at: request.at,
            starts_at: None,
            ends_at: None,
            proposed: Vec::new(),
            version: 1,
        }
    }

    /// Refuses an appointment that is neither confirmed nor proposed, in strict mode. The lead is
    /// stored all the same.
    fn strict_refusal(&self, taken: &SubmitOutcome<'_>) -> Option<AapRefusal> {
        let appointment = taken.lead.submission.appointment.as_ref()?;
        let has_no_time_offered = match appointment.state {
            AppointmentState::Requested | AppointmentState::Rejected => true,
            AppointmentState::Proposed
            | AppointmentState::Confirmed
            | AppointmentState::Superseded
            | AppointmentState::Cancelled
            | AppointmentState::NoShow => false,
        };
        // Without a requested time, no time can be unavailable.
        let asked_for_a_time = appointment.requested_at.is_some();
        let is_strict = self.dealer.leads.strict_appointments && !is_refused(taken.held_for());
        (is_strict && asked_for_a_time && has_no_time_offered).then(|| {
            let lead_id = &taken.lead.lead_id;
            let requested_at = appointment.requested_at;
            AapRefusal::appointment_time_unavailable(lead_id, requested_at)
        })
    }

    /// Returns a telephone number for the buyer (AAP 1.1 `lead.submit`, `R-LD-26`): of the rooftop,
    /// or else of another one of the group.
    fn phone(&self, rooftop: &RooftopSettings) -> Option<String> {
        let all = std::iter::once(rooftop).chain(&self.dealer.rooftops);
        all.flat_map(|rooftop| &rooftop.profile.phones).next().map(|phone| phone.value.clone())
    }

    /// Writes the receipt. A denied agent gets `rejected`. Every other held lead is `received`; the
    /// message says that it is held.
    fn receipt(&self, taken: &SubmitOutcome<'_>) -> LeadReceipt {
        let status = match (is_refused(taken.held_for()), taken.is_resubmitted) {
            (true, _) => LeadStatus::Rejected,
            (false, true) => LeadStatus::Duplicate,
            (false, false) => LeadStatus::Received,
        };
        LeadReceipt {
            lead_id: taken.lead.lead_id.clone(),
            status,
            appointment: taken.answered_appointment().and_then(appointment_receipt),
            dealer: Some(DealerContact {
                name: Some(taken.rooftop.profile.name.clone()),
                phone: self.phone(taken.rooftop),
            }),
        }
    }
}

/// Writes the receipt of an appointment; `None` for a superseded one.
fn appointment_receipt(appointment: &AppointmentRecord) -> Option<AppointmentReceipt> {
    let status = status_of(appointment.state)?;
    let proposed = appointment.proposed.iter().copied().map(rfc3339).collect();
    Some(AppointmentReceipt {
        appointment_id: appointment.appointment_id.clone(),
        status,
        // Both members occur only with their status (AAP 1.1 `lead.submit`, R-LD-23).
        confirmed_at: appointment
            .starts_at
            .filter(|_| status == AppointmentStatus::Confirmed)
            .map(rfc3339),
        proposed_times: (status == AppointmentStatus::Proposed).then_some(proposed),
    })
}

/// Returns the lead's appointment from now on: a booked one remains until another is booked.
fn current(
    earlier: Option<AppointmentRecord>,
    asked: Option<AppointmentRecord>,
) -> Option<AppointmentRecord> {
    match (earlier, asked) {
        (Some(earlier), Some(asked)) if is_booked(&earlier) && !is_booked(&asked) => Some(earlier),
        (earlier, asked) => asked.or(earlier),
    }
}

fn is_booked(appointment: &AppointmentRecord) -> bool {
    appointment.state == AppointmentState::Confirmed
}

fn is_refused(held_for: Option<HeldFor>) -> bool {
    match held_for {
        Some(HeldFor::DeniedAgent) => true,
        Some(HeldFor::UnlistedAgent | HeldFor::Velocity | HeldFor::Quota) | None => false,
    }
}

/// Returns AAP's status of a state; `None` for a superseded appointment.
fn status_of(state: AppointmentState) -> Option<AppointmentStatus> {
    match state {
        AppointmentState::Requested => Some(AppointmentStatus::Requested),
        AppointmentState::Proposed => Some(AppointmentStatus::Proposed),
        AppointmentState::Confirmed => Some(AppointmentStatus::Confirmed),
        // AAP has no status for cancelled and no-show; `rejected` says that the customer is not expected.
        AppointmentState::Rejected | AppointmentState::Cancelled | AppointmentState::NoShow => {
            Some(AppointmentStatus::Rejected)
        }
        AppointmentState::Superseded => None,
    }
}

fn reply(receipt: LeadReceipt, message: String) -> AapReply {
    AapReply {
        skill: Skill::LeadSubmit,
        data: ReplyData::Lead(receipt),
        message: Some(message),
        reading: None,
        nothing_found: None,
        summary: None,
    }
}

/// Returns a text that identifies a vehicle that is not in the inventory.
fn vehicle_identity(vehicle: &Vehicle) -> String {
    let fold = |text: &str| text.trim().to_lowercase();
    // Most reliable first: the VIN, then the dealer's own numbers, then make, model and year.
    if let Some(vin) = &vehicle.vin {
        return format!("vin:{vin}");
    }
    if let Some(stock) = &vehicle.stock {
        return format!("stock:{}", fold(stock));
    }
    if let Some(id) = &vehicle.vehicle_id {
        return format!("id:{}", fold(id));
    }
    let year = vehicle.year.map(|year| year.to_string()).unwrap_or_default();
    let make = vehicle.make.as_deref().map(fold).unwrap_or_default();
    let model = vehicle.model.as_deref().map(fold).unwrap_or_default();
    format!("car:{year}|{make}|{model}")
}

fn before(now: Timestamp, duration: jiff::SignedDuration) -> Timestamp {
    now.saturating_sub(duration).unwrap_or(Timestamp::MIN)
}
