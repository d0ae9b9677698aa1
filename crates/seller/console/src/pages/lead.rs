//! Page of a lead: customer, request, consent and history.

use askama::Template;
use jiff::Timestamp;
use tradepost_admin::appointments::rooftop_of;
use tradepost_admin::leads::{ShowLead, show_lead};
use tradepost_dealer::adf::view::{LeadView, VehicleView};
use tradepost_dealer::consent::hex;
use tradepost_dealer::delivery::{DeliveryRecord, DeliveryState};
use tradepost_dealer::record::{
    AppointmentRecord, LeadEventKind, LeadHistory, LeadRecord, LeadState, SubmissionRecord,
};
use tradepost_dealer::staff::{LeadNote, NextStep, NextStepKind, StaffProgress, StaffStage};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_server::fault::InternalError;

use super::super::actions::refused;
use super::change_forms::ChangeForms;
use super::lead_query::NOBODY;
use super::leads::{Choice, ShownStep, reasons, shown_step};
use super::{
    Answer, Console, ConsoleReply, Local, PageFrame, ShownMoment, StaffPermission, StateLabel,
    Visitor, counted, duration_text, headed, inbox, known, leads, plain, stage_name, thousands,
};

mod answers;

use answers::{AnswerWay, answers};

#[derive(Debug, Template)]
#[template(path = "lead.html")]
struct LeadPage {
    frame: PageFrame,
    id: String,
    name: String,
    about: String,
    received: ShownMoment,
    state: StateLabel,
    held_for: Option<&'static str>,
    stages: Vec<StageChoice>,
    reasons: Vec<Choice>,
    lost_because: Option<String>,
    owner: Option<String>,
    /// Owner as the form sends it back, so that a colleague's change in the meantime is noticed.
    seen_owner: String,
    owners: Vec<OwnerChoice>,
    step: Option<ShownStep>,
    step_kinds: Vec<Choice>,
    step_at: String,
    zone: String,
    handled_by: Option<String>,
    answers: Vec<AnswerWay>,
    reach: Vec<ContactWay>,
    facts: Vec<(&'static str, String)>,
    message: Option<String>,
    car: Option<LeadCar>,
    trade_in: Option<LeadCar>,
    visits: Vec<ShownVisit>,
    consents: Vec<ConsentView>,
    clock: Vec<(&'static str, String)>,
    deliveries: Vec<DeliveryView>,
    moments: Vec<LeadMoment>,
    notes: Vec<ShownNote>,
    same_person: Vec<(String, String)>,
    may: May,
}

/// A stage for selection.
#[derive(Debug)]
struct StageChoice {
    value: &'static str,
    label: &'static str,
    is_here: bool,
}

/// A member who can own the lead.
#[derive(Debug)]
struct OwnerChoice {
    name: String,
    is_here: bool,
}

/// Contact data of the customer, with its permitted use.
#[derive(Debug)]
struct ContactWay {
    label: &'static str,
    value: String,
    href: Option<String>,
    permits: String,
}

#[derive(Debug)]
struct LeadCar {
    title: String,
    photo: Option<String>,
    page: Option<String>,
    facts: Vec<(&'static str, String)>,
    is_listed: bool,
}

/// An appointment, with its forms.
#[derive(Debug)]
struct ShownVisit {
    label: &'static str,
    what: String,
    state: &'static str,
    class: &'static str,
    when: Option<ShownMoment>,
    proposed: Vec<String>,
    zone: String,
    is_withdrawn: bool,
    forms: Option<ChangeForms>,
}

/// A consent in its full text.
#[derive(Debug)]
struct ConsentView {
    text: Option<String>,
    facts: Vec<(&'static str, String)>,
    is_latest: bool,
}

#[derive(Debug)]
struct DeliveryView {
    destination: String,
    state: &'static str,
    class: &'static str,
    detail: String,
    when: ShownMoment,
}

#[derive(Debug)]
struct LeadMoment {
    at: Timestamp,
    when: ShownMoment,
    text: String,
}

/// A note of staff.
#[derive(Debug)]
struct ShownNote {
    author: String,
    when: ShownMoment,
    text: String,
}

/// Actions that the visitor may take.
#[derive(Debug)]
struct May {
    work: bool,
    resend: bool,
    release: bool,
    revoke: bool,
    prove: bool,
    erase: bool,
}

/// The page that asks for confirmation before a lead is erased.
#[derive(Debug, Template)]
#[template(path = "erase.html")]
struct ErasureQuestion {
    frame: PageFrame,
    id: String,
    name: String,
}

impl Console {
    pub(crate) fn lead(&self, visitor: &Visitor<'_>) -> Answer {
        let input = ShowLead { lead_id: visitor.id.to_owned() };
        let history = show_lead(&self.admin(&[]), &visitor.actor(), input).map_err(refused)?;
        let lead = &history.lead;
        let (progress, notes) = self.store.lead_work(visitor.id)?;
        let sent = self.store.deliveries(None, Some(visitor.id), None)?;
        let view = LeadView::new(lead);
        let here = Local { zone: lead.zone(), now: self.clock.now() };
        let car = view.vehicle().map(|vehicle| car(vehicle, lead.submission.listing.as_ref()));
        let photo = car.as_ref().and_then(|car| car.photo.clone());
        let frame = self.frame(visitor, "Lead")?;
        let owners = self.owners(Some(&lead.dealer_id))?.into_iter().map(|name| {
            let is_here = progress.owner.as_ref() == Some(&name);
            OwnerChoice { name, is_here }
        });
        let sellers = self.sellers.all();
        let dealer = sellers.iter().find(|seller| seller.dealer.terms.id == lead.dealer_id);
        let dealer = dealer.map_or("", |seller| seller.dealer.terms.name.as_str());
        let step = progress.next_step.as_ref();
        let local = |at: Timestamp| at.to_zoned(here.zone.clone()).strftime("%Y-%m-%dT%H:%M");
        let page = LeadPage {
            frame,
            reasons: reasons(progress.lost_reason),
            lost_because: progress.lost_reason.map(|reason| plain(reason.name())),
            owner: progress.owner.clone(),
            seen_owner: progress.owner.clone().unwrap_or_else(|| NOBODY.to_owned()),
            owners: owners.collect(),
            step: step.map(|step| shown_step(step, &here)),
            step_kinds: step_kinds(step),
            step_at: step.map(|step| local(step.at).to_string()).unwrap_or_default(),
            zone: here.zone.iana_name().unwrap_or("UTC").to_owned(),
            handled_by: progress.handled_by.clone(),
            answers: answers(&view, &visitor.member.name, dealer, here.now),
            id: lead.lead_id.clone(),
            name: named(&view),
            about: inbox::about(lead),
            received: here.when(lead.received_at),
            state: leads::shown(lead.state, progress.stage),
            held_for: lead.held_for.filter(|_| lead.state == LeadState::Held).map(inbox::why_held),
            stages: StaffStage::ALL.iter().map(|stage| choice(*stage, progress.stage)).collect(),
            reach: reach(&view),
            facts: facts(&view),
            message: view.text("/message").map(str::to_owned),
            car,
            trade_in: view.trade_in().map(|vehicle| self::car(vehicle, None)),
            visits: self.visits(lead, &here)?,
            consents: consents(&history, &here),
            clock: clock(&history, &progress),
            deliveries: sent.iter().map(|sent| delivery(sent, &here)).collect(),
            moments: moments(&history, &progress, &here),
            notes: notes.into_iter().map(|note| shown_note(note, &here)).collect(),
            same_person: history.same_person.iter().map(|id| named_short(id)).collect(),
            may: may(visitor, lead),
        };
        Ok(ConsoleReply::page(&page).with_photos(photo.as_deref()))
    }

    /// Returns the appointments of a lead: the current one with its forms, and the one that was requested
    /// in addition.
    fn visits(&self, lead: &LeadRecord, here: &Local) -> Result<Vec<ShownVisit>, InternalError> {
        let mut shown = Vec::new();
        if let Some(current) = &lead.appointment {
            let stored = self.store.visit(&current.appointment_id)?;
            let sellers = self.sellers.all();
            let dealers = sellers.iter().map(|seller| &seller.dealer.terms);
            let forms = stored.and_then(|stored| {
                ChangeForms::new(&stored, rooftop_of(dealers, &stored), here.now)
            });
            shown.push(visit("Appointment", current, lead, here, forms));
        }
        if let Some(asked) = lead.asked_besides() {
            shown.push(visit("Additional request", asked, lead, here, None));
        }
        Ok(shown)
    }

    pub(crate) fn erase_question(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        let page = ErasureQuestion {
            frame: self.frame(visitor, "Erase a lead")?,
            id: history.lead.lead_id.clone(),
            name: named(&LeadView::new(&history.lead)),
        };
        Ok(ConsoleReply::page(&page))
    }
}

fn may(visitor: &Visitor<'_>, lead: &LeadRecord) -> May {
    let decides = StaffPermission::Decide.is_of(visitor.member.role);
    let (is_received, is_held, is_erased) = match lead.state {
        LeadState::Received => (true, false, false),
        LeadState::Held => (false, true, false),
        LeadState::Revoked => (false, false, false),
        LeadState::Erased => (false, false, true),
    };
    let is_open = is_received || is_held;
    May {
        work: is_open,
        // A lead that is held back is delivered by its release.
        resend: is_received,
        release: decides && is_held,
        revoke: decides && is_open,
        prove: decides,
        erase: decides && !is_erased,
    }
}

fn step_kinds(step: Option<&NextStep>) -> Vec<Choice> {
    let choice = |kind: &NextStepKind| Choice {
        value: kind.name(),
        label: headed(kind.name()),
        is_here: step.is_some_and(|step| step.kind == *kind),
    };
    NextStepKind::ALL.iter().map(choice).collect()
}

/// Returns the contact values that a permitted channel can use.
pub(super) fn permitted_contacts(view: &LeadView<'_>) -> Vec<String> {
    let reach = view.reach();
    let email = reach.email.filter(|_| reach.may_email);
    let phone = reach.phone.filter(|_| reach.may_call || reach.may_text);
    email.into_iter().chain(phone).map(str::to_owned).collect()
}

fn named(view: &LeadView<'_>) -> String {
    match (view.record().state, view.customer_name()) {
        (LeadState::Erased, _) => "Erased customer".to_owned(),
        (_, name) if name.is_empty() => "Customer without a name".to_owned(),
        (_, name) => name,
    }
}

/// Returns a lead's id, and the part of it that differs.
fn named_short(id: &str) -> (String, String) {
    (id.to_owned(), inbox::short_id(id).to_owned())
}

fn choice(stage: StaffStage, current: StaffStage) -> StageChoice {
    StageChoice { value: stage.name(), label: stage_name(stage), is_here: stage == current }
}

/// Returns the contact data of the customer. Data that no permitted channel can use are not shown
/// (AAP 1.1 `lead.submit`, `R-LD-03`).
fn reach(view: &LeadView<'_>) -> Vec<ContactWay> {
    let reach = view.reach();
    let way = |label, value: &str, href: Option<String>, uses: &[(bool, &str)]| {
        let permits: Vec<_> = uses.iter().filter_map(|(may, word)| may.then_some(*word)).collect();
        let is_hidden = permits.is_empty();
        let value =
            if is_hidden { "Provided, but the consent does not permit its use" } else { value };
        let href = href.filter(|_| !is_hidden);
        ContactWay { label, value: value.to_owned(), href, permits: permits.join(", ") }
    };
    let email = reach.email.map(|email| {
        let uses = [(reach.may_email, "e-mail permitted")];
        way("E-mail", email, to_program("mailto:", email), &uses)
    });
    let phone = reach.phone.map(|phone| {
        let uses = [(reach.may_call, "calls permitted"), (reach.may_text, "texts permitted")];
        let href = to_program("tel:", phone).filter(|_| reach.may_call);
        way("Phone", phone, href, &uses)
    });
    email.into_iter().chain(phone).collect()
}

/// Returns a link that opens another program, if the value needs no escaping.
fn to_program(scheme: &str, value: &str) -> Option<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"+-._@".contains(&b);
    value.bytes().all(plain).then(|| format!("{scheme}{value}"))
}

fn facts(view: &LeadView<'_>) -> Vec<(&'static str, String)> {
    let preferred = view.text("/customer/preferred_contact").map(plain);
    let address: Vec<_> = ["address_line_1", "address_line_2", "city", "state", "zip", "country"]
        .iter()
        .filter_map(|part| view.text(&format!("/customer/address/{part}")))
        .collect();
    let sent = &view.record().submission;
    let credential = if sent.principal == "anonymous" {
        "no credential: the name is not verified".to_owned()
    } else {
        format!("authenticated as {}", sent.principal)
    };
    known([
        ("Unreadable", sent.unreadable.clone()),
        ("Preferred contact", preferred),
        ("Address", Some(address.join(", ")).filter(|text| !text.is_empty())),
        ("Rooftop", sent.rooftop.clone()),
        ("Submitted by", view.agent().map(str::to_owned)),
        ("Agent", Some(credential)),
    ])
}

fn car(vehicle: VehicleView<'_>, listing: Option<&Value>) -> LeadCar {
    let photo = listing.and_then(leads::photo);
    let page = listing.and_then(|listing| listing.get("vdp_url")?.as_str());
    // Other schemes could start programs.
    let page = page.filter(|page| page.starts_with("https://")).map(str::to_owned);
    let amount = |name: &str| {
        let number: Option<u64> = vehicle.get(name)?.parse().ok();
        number.map(|number| format!("${}", thousands(number)))
    };
    let miles = vehicle.get("mileage").and_then(|miles| miles.parse().ok());
    let facts = known([
        ("Out-the-door price", amount("price")),
        ("List price", amount("list_price")),
        ("Stock", vehicle.get("stock")),
        ("VIN", vehicle.get("vin")),
        ("Condition", vehicle.get("condition").map(|word| plain(&word))),
        ("Mileage", miles.map(|miles| format!("{} mi", thousands(miles)))),
        ("Colour", vehicle.get("exterior_color")),
        ("Rooftop", vehicle.get("rooftop")),
    ]);
    LeadCar { title: vehicle.title(), photo, page, facts, is_listed: listing.is_some() }
}

fn visit(
    label: &'static str,
    appointment: &AppointmentRecord,
    lead: &LeadRecord,
    here: &Local,
    forms: Option<ChangeForms>,
) -> ShownVisit {
    use tradepost_dealer::record::AppointmentState as State;
    let (state, class) = match appointment.state {
        State::Requested => ("no agreed time yet", "soon"),
        State::Proposed => ("other times proposed", "soon"),
        State::Confirmed => ("confirmed", "good"),
        State::Rejected => ("rejected", "quiet"),
        State::Superseded => ("replaced by another", "quiet"),
        State::Cancelled => ("cancelled", "quiet"),
        State::NoShow => ("no-show", "bad"),
    };
    ShownVisit {
        label,
        what: headed(appointment.kind.name()),
        state,
        class,
        when: appointment.starts_at.or(appointment.requested_at).map(|at| here.when(at)),
        proposed: appointment.proposed.iter().map(|at| here.spoken(*at)).collect(),
        zone: lead.time_zone.clone().unwrap_or_else(|| "UTC".to_owned()),
        is_withdrawn: lead.state == LeadState::Revoked,
        forms,
    }
}

/// Returns the consent of each submission, the latest first.
fn consents(history: &LeadHistory, here: &Local) -> Vec<ConsentView> {
    let grants: Vec<_> =
        history.consents.iter().filter(|stored| stored.record.consent.is_some()).collect();
    let count = history.submissions.len();
    let one = |(number, sent): (usize, &SubmissionRecord)| {
        let text = |name: &str| sent.payload.pointer(&format!("/consent/{name}"))?.as_str();
        let list = |name: &str| {
            let all = sent.payload.pointer(&format!("/consent/{name}"))?.as_array()?;
            let words: Vec<_> = all.iter().filter_map(Value::as_str).map(plain).collect();
            Some(words.join(", ")).filter(|words| !words.is_empty())
        };
        let local = |name: &str| {
            let at = tradepost_document::format::timestamp(text(name)?)?;
            Some(here.spoken(at))
        };
        // A submission and its record are written in one transaction, so both lists have the same order.
        let proof = grants.get(number).map(|grant| {
            format!("record {} of the hash chain, {}", grant.record.seq, hex(&grant.hash))
        });
        let facts = known([
            ("Granted", local("granted_at")),
            ("Expires", local("expires_at")),
            ("Channels", list("allowed_channels")),
            ("Scope", list("scope")),
            ("Proof", proof),
        ]);
        let text = text("consent_text").map(str::to_owned);
        ConsentView { text, facts, is_latest: number + 1 == count }
    };
    history.submissions.iter().enumerate().map(one).rev().collect()
}

/// Returns the time that each step took since the lead was received.
fn clock(history: &LeadHistory, progress: &StaffProgress) -> Vec<(&'static str, String)> {
    let took = |at: Timestamp| at.duration_since(history.lead.received_at);
    let since = |at: Option<Timestamp>| match at.map(took) {
        None => "not yet".to_owned(),
        Some(took) if took.as_mins() == 0 => "within a minute".to_owned(),
        Some(took) => format!("after {}", duration_text(took)),
    };
    vec![
        ("Delivered", since(history.delivered_at)),
        ("Seen", since(progress.seen_at)),
        ("Answered", since(progress.answered_at)),
    ]
}

fn delivery(sent: &DeliveryRecord, here: &Local) -> DeliveryView {
    let (state, class) = match sent.state {
        DeliveryState::Due => ("waiting", "soon"),
        DeliveryState::Sending => ("being sent", "soon"),
        DeliveryState::Delivered => ("delivered", "good"),
        DeliveryState::Dead => ("given up", "bad"),
        DeliveryState::Ended => ("ended", "quiet"),
    };
    let attempts = counted(sent.attempts as usize, "attempt", "attempts");
    let answer = sent.answer.as_ref().map(|answer| format!(" · {answer}")).unwrap_or_default();
    DeliveryView {
        destination: sent.destination.clone(),
        state,
        class,
        detail: format!("{attempts}{answer}"),
        when: here.when(sent.ended_at.unwrap_or(sent.created_at)),
    }
}

fn moments(history: &LeadHistory, progress: &StaffProgress, here: &Local) -> Vec<LeadMoment> {
    let moment = |at: Timestamp, text: String| LeadMoment { at, when: here.when(at), text };
    let events = history.events.iter().map(|event| {
        let text = match event.kind {
            LeadEventKind::Received => "The lead was received",
            LeadEventKind::Resubmitted => "The same caller sent the lead again",
            LeadEventKind::Released => "The lead was released",
            LeadEventKind::ConsentRevoked => "The customer withdrew the consent",
            LeadEventKind::Erased => "The customer's data was erased",
            LeadEventKind::AppointmentConfirmed => "The appointment was confirmed",
            LeadEventKind::AppointmentMoved => "The appointment was moved",
            LeadEventKind::AppointmentCancelled => "The appointment was cancelled",
            LeadEventKind::AppointmentNoShow => "The appointment was marked as a no-show",
        };
        moment(event.at, text.to_owned())
    });
    let delivered = history.delivered_at.map(|at| moment(at, "First delivered".to_owned()));
    let seen = progress.seen_at.map(|at| moment(at, "First seen in the console".to_owned()));
    let because = progress.lost_reason.map(|reason| format!(" ({})", plain(reason.name())));
    let because = because.unwrap_or_default();
    let stage = |by: &String| format!("{}{because} by {by}", stage_name(progress.stage));
    let stage = progress.changed.as_ref().map(|(at, by)| moment(*at, stage(by)));
    let mut all: Vec<_> = events.chain(delivered).chain(seen).chain(stage).collect();
    all.sort_by_key(|moment| moment.at);
    all
}

fn shown_note(note: LeadNote, here: &Local) -> ShownNote {
    let text = note.text.unwrap_or_else(|| "This note can no longer be read.".to_owned());
    ShownNote { author: note.author, when: here.when(note.at), text }
}
