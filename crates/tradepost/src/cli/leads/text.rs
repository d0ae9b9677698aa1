//! Leads for people at a terminal. Texts of customers and agents are shown without control
//! characters, so that no lead can repaint the screen.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::consent::hex;
use tradepost_dealer::local_time::short;
use tradepost_dealer::record::{
    AppointmentRecord, LeadHistory, LeadRecord, LeadState, StoredConsent, SubmissionRecord,
};
use tradepost_dealer::staff::lead_work::stage_detail;
use tradepost_dealer::staff::{StaffProgress, StaffStage};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::Value;
use tradepost_runtime::evidence::is_direction;
use tradepost_store::staff::ListedLead;

use crate::cli::output::table::TableColumn::Text;
use crate::cli::output::table::{self, Cells, TableWidth};

/// Formats a table of leads, newest first, with a column for the first delivery if any lead has
/// one. Times are in the zones of the rooftops.
#[must_use]
pub fn table(
    fit: TableWidth,
    listed: &[ListedLead],
    delivered: &BTreeMap<String, Timestamp>,
    now: Timestamp,
) -> String {
    let mut listed: Vec<_> = listed.iter().collect();
    listed.sort_by_key(|one| std::cmp::Reverse(one.lead.received_at));
    let leads: Vec<&LeadRecord> = listed.iter().map(|one| &one.lead).collect();
    let has = |of: fn(&StaffProgress) -> bool| listed.iter().any(|one| of(&one.progress));
    let has_stage = has(|progress| progress.stage != StaffStage::New);
    let has_owner = has(|progress| progress.owner.is_some());
    let has_step = has(|progress| progress.next_step.is_some());
    let several = leads.windows(2).any(|pair| match pair {
        [a, b] => a.dealer_id != b.dealer_id,
        _ => false,
    });
    let mut persons = BTreeMap::<_, usize>::new();
    for lead in &leads {
        *persons.entry(lead.person.as_str()).or_default() += 1;
    }
    let is_shared = |lead: &LeadRecord| {
        lead.person != lead.lead_id || persons.get(lead.person.as_str()).is_some_and(|n| *n > 1)
    };
    let linked = leads.iter().any(|lead| is_shared(lead));
    let timed = leads.iter().any(|lead| delivered.contains_key(&lead.lead_id));
    let delivered_at =
        |lead: &LeadRecord| Some(short(*delivered.get(&lead.lead_id)?, &lead.zone(), now));
    let contact =
        |lead: &LeadRecord, name| LeadView::new(lead).text(name).unwrap_or_default().to_owned();
    let vehicle = |lead: &LeadRecord| Some(LeadView::new(lead).vehicle()?.title());
    let booked = |lead: &LeadRecord| Some(summary(lead.appointment.as_ref()?, &lead.zone(), now));
    let person =
        |lead: &LeadRecord| if is_shared(lead) { lead.person.clone() } else { String::new() };
    let step = |one: &ListedLead| {
        let step = one.progress.next_step?;
        Some(format!("{} {}", step.kind, short(step.at, &one.lead.zone(), now)))
    };
    let columns: [(bool, Cells<'_, &ListedLead>); 15] = [
        (true, (Text("received"), &|one| short(one.lead.received_at, &one.lead.zone(), now))),
        (true, (Text("id"), &|one| one.lead.lead_id.clone())),
        (timed, (Text("delivered"), &|one| delivered_at(&one.lead).unwrap_or_default())),
        (several, (Text("dealer"), &|one| one.lead.dealer_id.clone())),
        (true, (Text("state"), &|one| state(&one.lead))),
        (has_stage, (Text("stage"), &|one| stage(&one.progress))),
        (has_owner, (Text("owner"), &|one| one.progress.owner.clone().unwrap_or_default())),
        (has_step, (Text("next step"), &|one| step(one).unwrap_or_default())),
        (true, (Text("name"), &|one| LeadView::new(&one.lead).customer_name())),
        (true, (Text("telephone"), &|one| contact(&one.lead, "/customer/phone"))),
        (true, (Text("e-mail"), &|one| contact(&one.lead, "/customer/email"))),
        (true, (Text("vehicle"), &|one| vehicle(&one.lead).unwrap_or_default())),
        (true, (Text("appointment"), &|one| booked(&one.lead).unwrap_or_default())),
        (true, (Text("permitted"), &|one| LeadView::new(&one.lead).channels().join(", "))),
        (linked, (Text("same person"), &|one| person(&one.lead))),
    ];
    let columns = columns.into_iter().filter_map(|(is_shown, column)| is_shown.then_some(column));
    table::items(fit, &listed, &columns.collect::<Vec<_>>())
}

fn state(lead: &LeadRecord) -> String {
    match (lead.state, lead.held_for) {
        (LeadState::Held, Some(why)) => format!("held: {why}"),
        (state, _) => state.to_string(),
    }
}

/// Formats a stage with its reason: `lost: price`.
fn stage(progress: &StaffProgress) -> String {
    stage_detail(progress.stage, progress.lost_reason)
}

/// Formats an appointment: `test_drive confirmed May 3, 11:00 AM PDT`.
fn summary(appointment: &AppointmentRecord, zone: &TimeZone, now: Timestamp) -> String {
    let at = appointment.starts_at.or(appointment.requested_at);
    let at = at.map(|at| format!(" {}", short(at, zone, now))).unwrap_or_default();
    format!("{} {}{at}", appointment.kind, appointment.state)
}

/// Formats all details of a lead. Times are in the zone of the rooftop.
#[must_use]
pub fn details(history: &LeadHistory, now: Timestamp) -> String {
    let lead = &history.lead;
    let zone = lead.zone();
    let local = |at: Timestamp| short(at, &zone, now);
    let mut out = String::new();
    let _ = writeln!(out, "lead {}", one_line(&lead.lead_id));
    field(&mut out, "state", &state(lead));
    field(&mut out, "received", &local(lead.received_at));
    field(&mut out, "changed", &local(lead.changed_at));
    if let Some(at) = history.delivered_at {
        field(&mut out, "first delivered", &local(at));
    }
    field(&mut out, "dealer", &lead.dealer_id);
    field(&mut out, "rooftop", lead.submission.rooftop.as_deref().unwrap_or("-"));
    let progress = &history.progress;
    field(&mut out, "stage", &stage(progress));
    if let Some(owner) = &progress.owner {
        field(&mut out, "owner", owner);
    }
    if let Some(step) = &progress.next_step {
        field(&mut out, "next step", &format!("{} {}", step.kind, local(step.at)));
    }
    if let Some(destination) = &progress.handled_by {
        field(&mut out, "handled by", destination);
    }
    if !history.same_person.is_empty() {
        field(&mut out, "probably the same person as in", &history.same_person.join(", "));
    }
    if let Some(current) = &lead.appointment {
        appointment(&mut out, "appointment", current, &local);
    }
    out.push_str("history\n");
    for event in &history.events {
        let current = event.appointment.as_ref();
        let booked = current.map(|appointment| format!("; {}", summary(appointment, &zone, now)));
        let booked = booked.unwrap_or_default();
        let _ = writeln!(out, "  {}: {}{booked}", local(event.at), event.kind);
    }
    for StoredConsent { record, hash, user_agent } in &history.consents {
        let label = format!("consent record {}", record.seq);
        field(&mut out, &label, &format!("{} {}", record.kind, local(record.at)));
        if let Some(user_agent) = user_agent {
            field(&mut out, "  user agent", user_agent);
        }
        if let Some(body) = &record.body {
            field(&mut out, "  hash of the bytes as sent", &hex(body));
        }
        field(&mut out, "  hash in the chain", &hex(hash));
    }
    for (number, sent) in history.submissions.iter().enumerate() {
        let _ = writeln!(out, "\nsubmission {}", number + 1);
        submission(&mut out, lead, sent, &local);
    }
    out
}

fn submission(
    out: &mut String,
    lead: &LeadRecord,
    sent: &SubmissionRecord,
    local: &impl Fn(Timestamp) -> String,
) {
    field(out, "received", &local(sent.received_at));
    field(out, "sent by", &sent.principal);
    field(out, "from", sent.address.as_deref().unwrap_or("-"));
    field(out, "version", sent.version.name());
    if let Some(asked) = &sent.appointment {
        appointment(out, "asked for", asked, local);
    }
    if let Some(listing) = &sent.listing {
        let as_sent = LeadRecord { submission: sent.clone(), ..lead.clone() };
        let title = LeadView::new(&as_sent).vehicle().map(|v| v.title()).unwrap_or_default();
        field(out, "listing", &title);
        tree(out, "  ", listing);
    }
    if let Some(why) = &sent.unreadable {
        field(out, "unreadable", why);
        return;
    }
    // The payload includes the consent with its text.
    out.push_str("payload\n");
    tree(out, "  ", &sent.payload);
}

fn appointment(
    out: &mut String,
    label: &str,
    appointment: &AppointmentRecord,
    local: &impl Fn(Timestamp) -> String,
) {
    field(out, label, &appointment.appointment_id);
    field(out, "  for", appointment.kind.name());
    field(out, "  status", appointment.state.name());
    for (label, moment) in [
        ("  requested", appointment.requested_at),
        ("  starts", appointment.starts_at),
        ("  ends", appointment.ends_at),
    ] {
        if let Some(moment) = moment {
            field(out, label, &local(moment));
        }
    }
    for moment in &appointment.proposed {
        field(out, "  proposed", &local(*moment));
    }
}

fn field(out: &mut String, label: &str, text: &str) {
    let _ = writeln!(out, "{label}: {}", one_line(text));
}

/// Writes a JSON value as an outline.
fn tree(out: &mut String, indent: &str, value: &Value) {
    let deeper = format!("{indent}  ");
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(k, v)| (one_line(k), v)).collect(),
        Value::Array(items) => items.iter().map(|item| ("-".to_owned(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            vec![(String::new(), value)]
        }
    };
    for (label, value) in entries {
        match value {
            Value::Object(_) | Value::Array(_) => {
                let _ = writeln!(out, "{indent}{label}");
                tree(out, &deeper, value);
            }
            Value::String(text) => {
                // Line breaks are the customer's own; each further line stays inside the outline.
                let mut lines = text.lines().map(visible);
                let first = lines.next().unwrap_or_default();
                let _ = writeln!(out, "{indent}{label}: {first}");
                for line in lines {
                    let _ = writeln!(out, "{deeper}{line}");
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                let _ = writeln!(out, "{indent}{label}: {value}");
            }
        }
    }
}

fn one_line(text: &str) -> String {
    visible(&text.replace(['\n', '\r', '\t'], " "))
}

/// Returns text without control characters and without those that change the text direction.
pub(super) fn visible(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !is_direction(*c)).collect()
}
