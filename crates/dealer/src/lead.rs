//! `lead.submit`: what happens to a valid lead. One transaction looks for its idempotency key and
//! for an equivalent lead, books the appointment and stores everything, so that two requests can
//! never both win (`E-104` to `E-106`, C-16 to C-20).

use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_wire::aap::lead::{
    AppointmentReceipt, AppointmentRequest, AppointmentStatus, AppointmentType, DealerContact,
    LeadStatus,
};
use tradepost_wire::aap::{
    LeadReceipt, LeadSubmit, Refusal, Reply, ReplyData, Skill, Vehicle, VehicleQuery,
};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::format::rfc3339;
use tradepost_wire::json::Value;

use crate::appointment::{self, Decision};
use crate::consent::Evidence;
use crate::inventory::{Inventory, Lookup};
use crate::lot::{Claim, ClaimedReply, Grant, KnownLead, Lot, TakenLead};
use crate::record::{
    AppointmentRecord, AppointmentState, HeldFor, LeadEventKind, LeadRecord, LeadState,
    SubmissionRecord,
};
use crate::settings::{Dealer, Rooftop};
use crate::skills;

mod again;
mod policy;
mod proof;
mod words;

use again::is_settled;
use policy::Policy;
use proof::Sender;

/// Who sends a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The name of the credential, or what callers without one are called.
    pub name: String,
    /// Of a caller without credentials: the network that it comes from, by which it is counted.
    pub network: Option<String>,
}

impl Caller {
    fn is_anonymous(&self) -> bool {
        self.network.is_some()
    }
}

/// The conversation that a message belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Its id.
    pub id: String,
    /// Whether the id is one that the dealer has given: nobody can guess it, so whoever names it
    /// is whoever got it.
    pub is_ours: bool,
}

/// A lead on its way into the store.
#[derive(Debug)]
pub struct Submission<'a> {
    /// Whose lead it is.
    pub dealer: &'a Dealer,
    /// What is on offer.
    pub inventory: &'a Inventory,
    /// Who sent it.
    pub caller: &'a Caller,
    /// In which conversation.
    pub conversation: &'a Conversation,
    /// How it came.
    pub evidence: &'a Evidence,
    /// When it arrived.
    pub now: Timestamp,
    /// The lead.
    pub lead: &'a LeadSubmit,
    /// Ids to give out, unique.
    pub fresh_id: fn() -> uuid::Uuid,
}

/// What the submission refers to.
#[derive(Default)]
struct Subject {
    listing: Option<Value>,
    /// The unit's id, also when it is no longer on offer.
    unit: Option<String>,
    remark: Option<&'static str>,
}

/// What became of a submission, for the answer.
struct Taken<'a> {
    lead: LeadRecord,
    /// Whether its caller had sent it before.
    again: bool,
    rooftop: &'a Rooftop,
    remark: Option<&'static str>,
    /// The current appointment, where the lead asks again for what the dealer's people have settled
    /// meanwhile. Nothing new is decided then.
    settled: Option<AppointmentRecord>,
}

impl Taken<'_> {
    /// The appointment that the answer is about: the one that was asked for, or how it was settled.
    fn answered_appointment(&self) -> Option<&AppointmentRecord> {
        self.lead.submission.appointment.as_ref().or(self.settled.as_ref())
    }

    /// Why nobody follows up before somebody has looked at it, if that is so.
    fn held_for(&self) -> Option<HeldFor> {
        self.lead.held_for.filter(|_| self.lead.state == LeadState::Held)
    }
}

impl Submission<'_> {
    /// Takes the lead in.
    ///
    /// # Errors
    /// The outer error is the store's, and then nothing has changed. The inner one is the refusal.
    pub fn submit(&self, lot: &dyn Lot) -> Result<Result<Reply, Refusal>, Fault> {
        // In canonical form: a retry that was written anew, with
        // other spaces, is the same request.
        let hash = Sha256::digest(self.lead.canonical_payload()).to_vec();
        let sender = Sender::of(self.caller, self.conversation, self.lead);
        let claim = self.lead.idempotency_key.as_deref().map(|key| Claim {
            dealer_id: &self.dealer.id,
            scopes: &sender.key_scopes,
            key,
            since: before(self.now, self.dealer.leads.idempotency_lifetime),
        });
        if let Some(claim) = &claim
            && let Some(answer) = self.replay(lot, claim, &hash)?
        {
            return Ok(answer);
        }
        // A replay comes before these: a retry of an accepted lead must not fail because the
        // vehicle was sold meanwhile (§2.1).
        if self.drives_nothing() {
            return Ok(Err(Refusal::test_drive_without_vehicle()));
        }
        let subject = match self.look_up_vehicle()? {
            Ok(subject) => subject,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(refusal) = self.too_much(lot)? {
            return Ok(Err(refusal));
        }
        let taken = self.take(lot, &sender, subject)?;
        // No key is claimed, so that the buyer can send another time under the same one.
        if let Some(refusal) = self.strict_refusal(&taken) {
            return Ok(Err(refusal));
        }
        let receipt = self.receipt(&taken);
        let message = words::message(&taken, self.now);
        if let Some(claim) = &claim {
            // With the words: a retry hears the same, also when the clock
            // or the settings have moved on.
            let reply = tradepost_wire::json::to_string(&(&receipt, &message))
                .map_err(Fault::on("writing an answer for its key"))?;
            let reply = ClaimedReply { payload_hash: hash, reply, first_seen_at: self.now };
            lot.claim(claim, &reply)?;
        }
        Ok(Ok(reply(receipt, message)))
    }

    /// Decides what becomes of the lead, and stores it.
    fn take(&self, lot: &dyn Lot, sender: &Sender, subject: Subject) -> Result<Taken<'_>, Fault> {
        let rules = &self.dealer.leads;
        let vehicle = self.vehicle(subject.unit.as_deref());
        let contacts = &sender.contacts;
        let of = (rules, self.dealer.id.as_str());
        let policy = Policy::new(of, self.caller, self.lead, contacts, &vehicle, self.now);
        let kind = self.lead.appointment.as_ref().map(|appointment| appointment.kind);
        let topic = format!("{vehicle}\n{}", kind.map_or("", AppointmentType::name));
        let known = KnownLead {
            dealer_id: &self.dealer.id,
            proofs: &sender.proofs,
            contacts,
            subject: &topic,
            since: before(self.now, rules.duplicate_window),
        };
        let held_for = policy.held_for(lot)?;
        // What is held back touches nothing that is there.
        let earlier = if held_for.is_none() { lot.known_lead(&known)? } else { None };
        let held_before = earlier.as_ref().filter(|lead| lead.state == LeadState::Held);
        // What is added to a lead that is held back waits with it.
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
            Some(request) if is_denied(held_for) => {
                Some(self.unsettled(request, AppointmentState::Rejected))
            }
            Some(request) if held_for.is_some() => {
                Some(self.unsettled(request, AppointmentState::Requested))
            }
            Some(request) => {
                let lead_id = earlier.as_ref().map(|lead| lead.lead_id.as_str());
                Some(self.appointment(lot, &policy, rooftop, request, lead_id)?)
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
        let again = earlier.is_some();
        let is_booked = lead.submission.appointment.as_ref().is_some_and(is_booked);
        let number = lot.take_lead(&TakenLead {
            lead: &lead,
            kind: if again { LeadEventKind::Resubmitted } else { LeadEventKind::Received },
            known,
            department: kind.map(appointment::department).unwrap_or_default(),
            tallies: &policy.tallies(is_booked),
            tallied_since: before(self.now, policy::DAY),
        })?;
        lot.keep_consent(&Grant {
            dealer_id: &self.dealer.id,
            lead_id: &lead.lead_id,
            submission: number,
            at: self.now,
            payload: &self.lead.payload,
            evidence: self.evidence,
            network: self.caller.network.as_deref(),
        })?;
        Ok(Taken { lead, again, rooftop, remark: subject.remark, settled })
    }

    /// Refuses what would make the leads of one network more than the dealer keeps in a day: a
    /// caller within its other limits must not fill the disk.
    fn too_much(&self, lot: &dyn Lot) -> Result<Option<Refusal>, Fault> {
        let Some(network) = &self.caller.network else {
            return Ok(None);
        };
        let most = self.dealer.leads.daily_bytes_per_address;
        let since = before(self.now, policy::DAY);
        let (kept, first) = lot.kept_of(&self.dealer.id, network, since)?;
        if kept.saturating_add(self.evidence.body.len() as u64) <= most {
            return Ok(None);
        }
        // When the first of them is a day old, there is room again.
        let wait = first.map_or(policy::DAY, |first| first.duration_since(since));
        let millis =
            |time: jiff::SignedDuration| u64::try_from(time.as_millis()).unwrap_or_default();
        let wait = Duration::from_millis(millis(wait).max(1));
        let day = Duration::from_millis(millis(policy::DAY));
        Ok(Some(Refusal::too_much_to_keep(wait, most, day)))
    }

    fn id(&self, kind: &str) -> String {
        format!("{kind}_{}", (self.fresh_id)().simple())
    }

    fn is_test_drive(&self) -> bool {
        let appointment = self.lead.appointment.as_ref();
        appointment.is_some_and(|appointment| appointment.kind == AppointmentType::TestDrive)
    }

    /// A test drive needs a vehicle to drive, where the dealer says so (`E-097`).
    fn drives_nothing(&self) -> bool {
        self.dealer.leads.test_drive_needs_vehicle
            && self.is_test_drive()
            && self.lead.vehicle_of_interest.is_none()
    }

    /// The listing that is meant. Only a test drive needs it to be there (C-22).
    fn look_up_vehicle(&self) -> Result<Result<Subject, Refusal>, Fault> {
        const WHAT: &str = "looking up the vehicle of a lead";
        let Some(vehicle) = &self.lead.vehicle_of_interest else {
            return Ok(Ok(Subject::default()));
        };
        let query = VehicleQuery {
            vin: vehicle.vin.clone(),
            stock: vehicle.stock.clone(),
            vehicle_id: vehicle.vehicle_id.clone(),
        };
        if query == VehicleQuery::default() {
            return Ok(Ok(Subject::default()));
        }
        let oldest = skills::oldest_remembered(self.dealer, self.now);
        let found = self.inventory.find(&query, oldest).map_err(Fault::on(WHAT))?;
        let drives = self.is_test_drive();
        let (unit, remark) = match found {
            Lookup::Listed(found) => {
                let listing = tradepost_wire::json::from_str(found.json.as_json());
                let listing = Some(listing.map_err(Fault::on(WHAT))?);
                return Ok(Ok(Subject { listing, unit: Some(found.vehicle_id), remark: None }));
            }
            Lookup::Gone(tombstone) if drives => {
                return Ok(Err(skills::unavailable(self.inventory, tombstone)));
            }
            Lookup::Unknown if drives => return Ok(Err(skills::not_found(self.dealer, &query))),
            Lookup::Gone(tombstone) => (
                Some(tombstone.vehicle_id.clone()),
                "The vehicle is no longer on offer; an advisor will suggest alternatives.",
            ),
            Lookup::Unknown => {
                (None, "The vehicle was not found in our inventory; an advisor will look into it.")
            }
        };
        Ok(Ok(Subject { listing: None, unit, remark: Some(remark) }))
    }

    /// What equivalent leads have in common besides the customer, the caller and what the
    /// appointment is for, but not when (C-19). A unit that was sold in between is still the same.
    fn vehicle(&self, unit: Option<&str>) -> String {
        match (unit, &self.lead.vehicle_of_interest) {
            (Some(unit), _) => format!("unit:{unit}"),
            (None, Some(vehicle)) => vehicle_identity(vehicle),
            (None, None) => String::new(),
        }
    }

    /// The rooftop that takes care of the lead: the listing's, the one that the buyer names, one
    /// that offers the appointment, or the first.
    fn rooftop(&self, listing: Option<&Value>) -> &Rooftop {
        let named = |name: &str| self.dealer.rooftops.iter().find(|r| r.profile.name == name);
        let wanted = self.lead.vehicle_of_interest.as_ref().and_then(|v| v.rooftop.as_deref());
        let kind = self.lead.appointment.as_ref().map(|appointment| appointment.kind);
        // Where the vehicle stands counts more than what the buyer names.
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

    fn appointment(
        &self,
        lot: &dyn Lot,
        policy: &Policy<'_>,
        rooftop: &Rooftop,
        request: &AppointmentRequest,
        earlier: Option<&str>,
    ) -> Result<AppointmentRecord, Fault> {
        let period = appointment::horizon(rooftop, self.now);
        let department = appointment::department(request.kind);
        let name = &rooftop.profile.name;
        // What the same lead booked before makes room for what it asks for now.
        let occupied = lot.occupied(&self.dealer.id, name, department, period, earlier)?;
        let proposals = self.dealer.leads.proposed_times;
        let decision = appointment::decide(rooftop, request, self.now, &occupied, proposals);
        let unsettled = self.unsettled(request, AppointmentState::Requested);
        Ok(match decision {
            Decision::Confirmed(_) if !policy.may_confirm(lot, earlier)? => unsettled,
            Decision::Confirmed((starts_at, ends_at)) => AppointmentRecord {
                state: AppointmentState::Confirmed,
                starts_at: Some(starts_at),
                ends_at: Some(ends_at),
                ..unsettled
            },
            Decision::Proposed(proposed) => {
                AppointmentRecord { state: AppointmentState::Proposed, proposed, ..unsettled }
            }
            Decision::Requested => unsettled,
            Decision::Rejected => {
                AppointmentRecord { state: AppointmentState::Rejected, ..unsettled }
            }
        })
    }

    fn unsettled(
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

    /// In strict mode an appointment that leads nowhere is an error, though the lead is kept.
    fn strict_refusal(&self, taken: &Taken<'_>) -> Option<Refusal> {
        let appointment = taken.lead.submission.appointment.as_ref()?;
        let nowhere = match appointment.state {
            AppointmentState::Requested | AppointmentState::Rejected => true,
            AppointmentState::Proposed
            | AppointmentState::Confirmed
            | AppointmentState::Superseded
            | AppointmentState::Cancelled
            | AppointmentState::NoShow => false,
        };
        // Who named no time has not asked for one that is unavailable.
        let asked_for_a_time = appointment.requested_at.is_some();
        let is_strict = self.dealer.leads.strict_appointments && !is_denied(taken.held_for());
        (is_strict && asked_for_a_time && nowhere).then(|| {
            let (lead_id, requested_at) = (&taken.lead.lead_id, appointment.requested_at);
            Refusal::appointment_time_unavailable(lead_id, requested_at)
        })
    }

    /// Whom the buyer can call (`R-LD-26`): the rooftop, or else another one of the group.
    fn phone(&self, rooftop: &Rooftop) -> Option<String> {
        let all = std::iter::once(rooftop).chain(&self.dealer.rooftops);
        all.flat_map(|rooftop| &rooftop.profile.phones).next().map(|phone| phone.value.clone())
    }

    /// Who is denied hears so. Every other lead that is held back is received, which is not yet to
    /// say that anybody follows up; the message says that.
    fn receipt(&self, taken: &Taken<'_>) -> LeadReceipt {
        let status = match (is_denied(taken.held_for()), taken.again) {
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

/// What a buyer hears of an appointment; nothing of one whose place another has taken.
fn appointment_receipt(appointment: &AppointmentRecord) -> Option<AppointmentReceipt> {
    let status = status_of(appointment.state)?;
    let proposed = appointment.proposed.iter().copied().map(rfc3339).collect();
    Some(AppointmentReceipt {
        appointment_id: appointment.appointment_id.clone(),
        status,
        // R-LD-23: each of the two exactly with its status.
        confirmed_at: appointment
            .starts_at
            .filter(|_| status == AppointmentStatus::Confirmed)
            .map(rfc3339),
        proposed_times: (status == AppointmentStatus::Proposed).then_some(proposed),
    })
}

/// The appointment that a lead has from now on: what is booked stands until something else is.
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

fn is_denied(held_for: Option<HeldFor>) -> bool {
    match held_for {
        Some(HeldFor::DeniedAgent) => true,
        Some(HeldFor::UnlistedAgent | HeldFor::Velocity | HeldFor::Quota) | None => false,
    }
}

/// What a buyer hears of an appointment; nothing of one whose place another has taken.
fn status_of(state: AppointmentState) -> Option<AppointmentStatus> {
    match state {
        AppointmentState::Requested => Some(AppointmentStatus::Requested),
        AppointmentState::Proposed => Some(AppointmentStatus::Proposed),
        AppointmentState::Confirmed => Some(AppointmentStatus::Confirmed),
        // AAP has no words for the last two; that nobody is expected is what counts.
        AppointmentState::Rejected | AppointmentState::Cancelled | AppointmentState::NoShow => {
            Some(AppointmentStatus::Rejected)
        }
        AppointmentState::Superseded => None,
    }
}

fn reply(receipt: LeadReceipt, message: String) -> Reply {
    Reply { skill: Skill::LeadSubmit, data: ReplyData::Lead(receipt), message: Some(message) }
}

/// What identifies a vehicle that is not in the inventory.
fn vehicle_identity(vehicle: &Vehicle) -> String {
    let fold = |text: &str| text.trim().to_lowercase();
    // The surest first: a VIN, then the dealer's own numbers, then what many cars have in common.
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
