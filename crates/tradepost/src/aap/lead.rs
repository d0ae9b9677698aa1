//! `lead.submit`: what happens to a valid lead. One transaction looks for its idempotency key and
//! for an equivalent lead, books the appointment and stores everything, so that two requests can
//! never both win (`E-104` to `E-106`, C-16 to C-20).

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_wire::aap::lead::{
    AppointmentReceipt, AppointmentRequest, AppointmentType, Customer, DealerContact,
};
use tradepost_wire::aap::{
    LeadReceipt, LeadSubmit, Refusal, Reply, ReplyData, Skill, Vehicle, VehicleQuery,
};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::format::rfc3339;

use super::appointment::{self, Decision};
use super::inventory::{Found, Inventory, Lookup};
use super::skills;
use crate::config::{Dealer, Rooftop};
use crate::fault::Fault;
use crate::store::{AppointmentRecord, ClaimedReply, LeadRecord, NewLead, Transaction};

/// A lead on its way into the store.
#[derive(Debug)]
pub struct Submission<'a> {
    /// Whose lead it is.
    pub dealer: &'a Dealer,
    /// What is on offer.
    pub inventory: &'a Inventory,
    /// Who sent it.
    pub principal: &'a str,
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
    listing: Option<Found>,
    /// The unit's id, also when it is no longer on offer.
    unit: Option<String>,
    remark: Option<&'static str>,
}

impl Submission<'_> {
    /// Takes the lead in.
    ///
    /// # Errors
    /// The outer error is the store's, and then nothing has changed. The inner one is the refusal.
    pub fn submit(&self, tx: &Transaction<'_>) -> Result<Result<Reply, Refusal>, Fault> {
        let hash = Sha256::digest(self.lead.canonical_payload()).to_vec();
        if let Some(answer) = self.replay(tx, &hash)? {
            return Ok(answer);
        }
        // A replay comes before these: a retry of an accepted lead must not fail because the
        // vehicle was sold meanwhile (§2.1).
        if self.drives_nothing() {
            return Ok(Err(Refusal::test_drive_without_vehicle()));
        }
        let subject = match self.look_up_vehicle() {
            Ok(subject) => subject,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let contacts = contacts(&self.lead.customer);
        let topic = self.topic(subject.unit.as_deref());
        let since = before(self.now, self.dealer.leads.duplicate_window);
        let earlier = tx.equivalent_lead(&self.dealer.id, &contacts, &topic, since)?;
        let rooftop = self.rooftop(subject.listing.as_ref());
        let appointment = match &self.lead.appointment {
            Some(request) => Some(self.appointment(tx, rooftop, request, earlier.as_deref())?),
            None => None,
        };
        if let Some(lead_id) = &earlier
            && appointment.as_ref().is_some_and(|appointment| appointment.starts_at.is_some())
        {
            tx.supersede_appointments(lead_id)?;
        }
        let record = LeadRecord {
            lead_id: earlier.clone().unwrap_or_else(|| self.id("lead")),
            dealer_id: self.dealer.id.clone(),
            received_at: self.now,
            duplicate: earlier.is_some(),
            version: self.lead.version,
            principal: self.principal.to_owned(),
            payload: self.lead.payload.clone(),
            rooftop: Some(rooftop.profile.name.clone()),
            listing: subject
                .listing
                .as_ref()
                .and_then(|found| serde_json::from_str(found.json.as_json()).ok()),
            appointment,
        };
        let department = self.lead.appointment.as_ref().map(|a| appointment::department(a.kind));
        tx.put_lead(&NewLead {
            record: &record,
            department: department.unwrap_or_default(),
            contacts: &contacts,
            subject: &topic,
        })?;
        if let Some(refusal) = self.strict_refusal(&record) {
            return Ok(Err(refusal));
        }
        let receipt = self.receipt(&record, rooftop);
        let message = message(&record, rooftop, subject.remark);
        self.remember(tx, hash, &receipt, &message)?;
        Ok(Ok(reply(receipt, message)))
    }

    fn id(&self, kind: &str) -> String {
        format!("{kind}_{}", (self.fresh_id)().simple())
    }

    /// The answer to an earlier request with the same key.
    fn replay(
        &self,
        tx: &Transaction<'_>,
        hash: &[u8],
    ) -> Result<Option<Result<Reply, Refusal>>, Fault> {
        let Some(key) = &self.lead.idempotency_key else {
            return Ok(None);
        };
        let since = before(self.now, self.dealer.leads.idempotency_lifetime);
        let Some(claimed) = tx.claimed_reply(&self.dealer.id, self.principal, key, since)? else {
            return Ok(None);
        };
        if claimed.payload_hash != hash {
            return Ok(Some(Err(Refusal::idempotency_conflict(key, claimed.first_seen_at))));
        }
        let (receipt, message) =
            serde_json::from_str(&claimed.reply).map_err(Fault::on("reading a stored answer"))?;
        Ok(Some(Ok(reply(receipt, message))))
    }

    fn remember(
        &self,
        tx: &Transaction<'_>,
        payload_hash: Vec<u8>,
        receipt: &LeadReceipt,
        message: &str,
    ) -> Result<(), Fault> {
        let Some(key) = &self.lead.idempotency_key else {
            return Ok(());
        };
        let reply = serde_json::to_string(&(receipt, message))
            .map_err(Fault::on("writing an answer for its key"))?;
        let claimed = ClaimedReply { payload_hash, reply, first_seen_at: self.now };
        let since = before(self.now, self.dealer.leads.idempotency_lifetime);
        tx.claim(&self.dealer.id, self.principal, key, &claimed, since)
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
    fn look_up_vehicle(&self) -> Result<Subject, Refusal> {
        let Some(vehicle) = &self.lead.vehicle_of_interest else {
            return Ok(Subject::default());
        };
        let query = VehicleQuery {
            vin: vehicle.vin.clone(),
            stock: vehicle.stock.clone(),
            vehicle_id: vehicle.vehicle_id.clone(),
        };
        if query == VehicleQuery::default() {
            return Ok(Subject::default());
        }
        let oldest = skills::oldest_remembered(self.dealer, self.now);
        let found = self.inventory.find(&query, oldest);
        let unit = match &found {
            Lookup::Listed(found) => Some(found.vehicle_id.clone()),
            Lookup::Gone(tombstone) => Some(tombstone.vehicle_id.clone()),
            Lookup::Unknown => None,
        };
        let drives = self.is_test_drive();
        let remark = match found {
            Lookup::Listed(found) => {
                return Ok(Subject { listing: Some(found), unit, remark: None });
            }
            Lookup::Gone(tombstone) => {
                if drives {
                    return Err(skills::unavailable(self.inventory, tombstone));
                }
                "The vehicle is no longer on offer; an advisor will suggest alternatives."
            }
            Lookup::Unknown => {
                if drives {
                    return Err(skills::not_found(self.dealer, &query));
                }
                "The vehicle was not found in our inventory; an advisor will look into it."
            }
        };
        Ok(Subject { listing: None, unit, remark: Some(remark) })
    }

    /// What equivalent leads have in common besides the customer: who sent them, the vehicle and
    /// what the appointment is for, but not when (C-19). A unit that was sold in between is still
    /// the same. The caller counts, because a duplicate's answer names the lead and may move its
    /// booking: nobody may learn of another caller's lead that way, nor touch it.
    fn topic(&self, unit: Option<&str>) -> String {
        let vehicle = match (unit, &self.lead.vehicle_of_interest) {
            (Some(unit), _) => format!("unit:{unit}"),
            (None, Some(vehicle)) => vehicle_identity(vehicle),
            (None, None) => String::new(),
        };
        let appointment = self.lead.appointment.as_ref().map_or("", |a| a.kind.name());
        format!("{}\n{vehicle}\n{appointment}", self.principal)
    }

    /// The rooftop that takes care of the lead: the listing's, the one that the buyer names, one
    /// that offers the appointment, or the first.
    fn rooftop(&self, listing: Option<&Found>) -> &Rooftop {
        let named = |name: &str| self.dealer.rooftops.iter().find(|r| r.profile.name == name);
        let wanted = self.lead.vehicle_of_interest.as_ref().and_then(|v| v.rooftop.as_deref());
        let kind = self.lead.appointment.as_ref().map(|appointment| appointment.kind);
        listing
            .and_then(|found| named(found.rooftop.as_deref()?))
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
        tx: &Transaction<'_>,
        rooftop: &Rooftop,
        request: &AppointmentRequest,
        earlier: Option<&str>,
    ) -> Result<AppointmentRecord, Fault> {
        let period = appointment::horizon(rooftop, self.now);
        let department = appointment::department(request.kind);
        let name = &rooftop.profile.name;
        // What the same lead booked before makes room for what it asks for now.
        let booked = tx.booked(&self.dealer.id, name, department, period, earlier)?;
        let proposals = self.dealer.leads.proposed_times;
        let decision = appointment::decide(rooftop, request, self.now, &booked, proposals);
        let (status, period, proposed) = match decision {
            Decision::Confirmed(period) => ("confirmed", Some(period), Vec::new()),
            Decision::Proposed(times) => ("proposed", None, times),
            Decision::Requested => ("requested", None, Vec::new()),
            Decision::Rejected => ("rejected", None, Vec::new()),
        };
        Ok(AppointmentRecord {
            appointment_id: self.id("appt"),
            kind: request.kind.name().to_owned(),
            status: status.to_owned(),
            requested_at: request.at,
            starts_at: period.map(|period| period.0),
            ends_at: period.map(|period| period.1),
            proposed,
        })
    }

    /// In strict mode an appointment that leads nowhere is an error, though the lead is kept.
    fn strict_refusal(&self, record: &LeadRecord) -> Option<Refusal> {
        let appointment = record.appointment.as_ref()?;
        let asked_for_a_time = appointment.requested_at.is_some();
        let nowhere = matches!(appointment.status.as_str(), "requested" | "rejected");
        (self.dealer.leads.strict_appointments && asked_for_a_time && nowhere).then(|| {
            Refusal::appointment_time_unavailable(&record.lead_id, appointment.requested_at)
        })
    }

    /// Whom the buyer can call (`R-LD-26`): the rooftop, or else another one of the group.
    fn phone(&self, rooftop: &Rooftop) -> Option<String> {
        let all = std::iter::once(rooftop).chain(&self.dealer.rooftops);
        all.flat_map(|rooftop| &rooftop.profile.phones).next().map(|phone| phone.value.clone())
    }

    fn receipt(&self, record: &LeadRecord, rooftop: &Rooftop) -> LeadReceipt {
        let status = if record.duplicate { "duplicate" } else { "received" };
        LeadReceipt {
            lead_id: record.lead_id.clone(),
            status: status.to_owned(),
            appointment: record.appointment.as_ref().map(|appointment| AppointmentReceipt {
                appointment_id: appointment.appointment_id.clone(),
                status: appointment.status.clone(),
                confirmed_at: appointment.starts_at.map(rfc3339),
                proposed_times: (!appointment.proposed.is_empty())
                    .then(|| appointment.proposed.iter().copied().map(rfc3339).collect()),
            }),
            dealer: Some(DealerContact {
                name: Some(rooftop.profile.name.clone()),
                phone: self.phone(rooftop),
            }),
        }
    }
}

fn reply(receipt: LeadReceipt, message: String) -> Reply {
    Reply { skill: Skill::LeadSubmit, data: ReplyData::Lead(receipt), message: Some(message) }
}

/// The next step, in words (`R-LD-18`).
fn message(record: &LeadRecord, rooftop: &Rooftop, remark: Option<&str>) -> String {
    let name = &rooftop.profile.name;
    let received = if record.duplicate {
        format!("{name} already has this lead and will follow up on it.")
    } else {
        format!("{name} received the lead and will follow up on a permitted channel.")
    };
    let appointment = record.appointment.as_ref().and_then(|appointment| {
        let local = |at: Timestamp| {
            at.to_zoned(rooftop.time_zone.clone()).strftime("%A %B %-d, %-I:%M %p %Z").to_string()
        };
        Some(match appointment.status.as_str() {
            "confirmed" => {
                format!("The appointment is booked for {}.", local(appointment.starts_at?))
            }
            "proposed" => {
                let times: Vec<_> = appointment.proposed.iter().copied().map(local).collect();
                format!(
                    "That time is not available. Choose one of these and submit the lead again \
                     with it: {}.",
                    times.join("; ")
                )
            }
            "requested" => "No time is booked yet; an advisor will arrange one.".to_owned(),
            _ => "This rooftop does not offer that kind of appointment.".to_owned(),
        })
    });
    [Some(received), appointment, remark.map(str::to_owned)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The customer's addresses in the form in which they are compared.
fn contacts(customer: &Customer) -> Vec<String> {
    let email = customer.email.as_ref().map(|email| format!("email:{}", email.to_lowercase()));
    let phone = customer.phone.as_ref().map(|phone| format!("phone:{phone}"));
    email.into_iter().chain(phone).collect()
}

/// What identifies a vehicle that is not in the inventory.
fn vehicle_identity(vehicle: &Vehicle) -> String {
    let fold = |text: &str| text.trim().to_lowercase();
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
