//! The customer element of a prospect: contact values, consent, and the customer's message.

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;

use super::view::LeadView;
use super::xml::{Comments, Xml, one_line};
use super::{
    AdfOptions, ContactValues, LeadNetwork, LeadProvider, NameForm, ProspectSeller, Timeframe,
    UNKNOWN_CONTACT,
};
use crate::record::{AppointmentRecord, LeadState};

/// Writes the `customer` element.
pub(super) fn customer(
    xml: &mut Xml,
    seller: &ProspectSeller<'_>,
    lead: LeadView<'_>,
    same_person: &[String],
    how: &AdfOptions,
) {
    let appointment = appointment(seller, lead);
    xml.within("customer", &[], |xml| {
        xml.within("contact", &[], |xml| {
            names(xml, lead, how.names);
            channels(xml, lead, how.contacts);
            let names = ["address_line_1", "address_line_2", "city", "state", "zip", "country"];
            let lines = names.map(|name| lead.text(&format!("/customer/address/{name}")));
            address(xml, "home", lines);
        });
        timeframe(xml, seller, lead, appointment.as_deref(), how.timeframe);
        let mut comments = comments(seller, lead, appointment.as_deref(), how);
        if !same_person.is_empty() {
            comments.add("PROBABLY THE SAME PERSON AS IN", &same_person.join(", "));
        }
        xml.comments(&comments);
    });
}

fn names(xml: &mut Xml, lead: LeadView<'_>, parts: NameForm) {
    let individual = ("type", "individual");
    let full = one_line(&lead.customer_name());
    if full.is_empty() {
        // A lead without a name is accepted (C-42).
        return xml.leaf("name", &[("part", "full"), individual], "Unknown");
    }
    match parts {
        NameForm::Full => xml.leaf("name", &[("part", "full"), individual], &full),
        NameForm::Parts => {
            for (part, pointer) in
                [("first", "/customer/first_name"), ("last", "/customer/last_name")]
            {
                let name = one_line(lead.text(pointer).unwrap_or_default());
                if !name.is_empty() {
                    xml.leaf("name", &[("part", part), individual], &name);
                }
            }
        }
    }
}

fn channels(xml: &mut Xml, lead: LeadView<'_>, which: ContactValues) {
    let reach = lead.reach();
    let all = which == ContactValues::All;
    let flag = |preferred: bool| if preferred { "1" } else { "0" };
    let preferred = lead.text("/customer/preferred_contact");
    let email = reach.email.filter(|_| reach.may_email || all);
    let phone = reach.phone.filter(|_| reach.may_call || reach.may_text || all);
    if let Some(email) = email {
        let wanted = flag(preferred == Some("email"));
        xml.leaf("email", &[("preferredcontact", wanted)], email);
    }
    if let Some(phone) = phone {
        // A number that may be texted and not called is marked as one to text.
        let kind = if reach.may_text && !reach.may_call { "cellphone" } else { "voice" };
        let wanted = flag(matches!(preferred, Some("phone" | "sms")));
        xml.leaf("phone", &[("type", kind), ("preferredcontact", wanted)], phone);
    }
    if email.is_none() && phone.is_none() {
        xml.leaf("phone", &[], UNKNOWN_CONTACT);
    }
}

/// Writes an address, unless every line is blank: two lines, city, region, postal code and country.
/// The DTD requires a street, so an unknown one is written empty.
pub(super) fn address(xml: &mut Xml, kind: &str, lines: [Option<&str>; 6]) {
    let known = |text: Option<&str>| text.is_some_and(|text| !one_line(text).is_empty());
    if !lines.iter().any(|text| known(*text)) {
        return;
    }
    let [street, apartment, city, region, postal_code, country] = lines;
    xml.within("address", &[("type", kind)], |xml| {
        xml.leaf("street", &[("line", "1")], street.unwrap_or_default());
        xml.some("apartment", apartment);
        xml.some("city", city);
        xml.some("regioncode", region);
        xml.some("postalcode", postal_code);
        // An address without a country is in the US (AAP 1.1 `dealer.information`, R-DI-05).
        xml.some("country", country.filter(|text| known(Some(*text))).or(Some("US")));
    });
}

/// Describes the requested appointment and its outcome, in one line.
fn appointment(seller: &ProspectSeller<'_>, lead: LeadView<'_>) -> Option<String> {
    let current = lead.record().appointment.as_ref();
    let minutes = lead.scalar("/appointment/duration_minutes");
    match current {
        Some(current) => {
            // The requested length is that of the latest submission, which may ask for another
            // appointment.
            let minutes = minutes.filter(|_| lead.record().asked_besides().is_none());
            let settled = settled(seller, current);
            Some(format!(
                "{}; {settled}",
                asked(seller, current.kind.name(), current.requested_at, minutes)
            ))
        }
        None => {
            let kind = lead.text("/appointment/appointment_type")?;
            Some(asked(seller, kind, lead.moment("/appointment/appointment_at"), minutes))
        }
    }
}

fn timeframe(
    xml: &mut Xml,
    seller: &ProspectSeller<'_>,
    lead: LeadView<'_>,
    words: Option<&str>,
    how: Timeframe,
) {
    let current = lead.record().appointment.as_ref();
    let earliest = current.and_then(|current| current.starts_at.or(current.requested_at));
    match (how, words, earliest) {
        (Timeframe::Dates, Some(words), Some(earliest)) => xml.within("timeframe", &[], |xml| {
            let latest = current.and_then(|current| current.ends_at).unwrap_or(earliest);
            xml.leaf("description", &[], words);
            xml.leaf("earliestdate", &[], &seller.moment(earliest));
            xml.leaf("latestdate", &[], &seller.moment(latest));
        }),
        (Timeframe::Text | Timeframe::Dates, words, _) => xml.some("timeframe", words),
    }
}

fn asked(
    seller: &ProspectSeller<'_>,
    kind: &str,
    requested_at: Option<Timestamp>,
    minutes: Option<String>,
) -> String {
    let mut text = kind.replace('_', " ");
    match requested_at {
        Some(moment) => text.push_str(&format!(", requested for {}", seller.moment(moment))),
        None => text.push_str(", no time requested"),
    }
    if let Some(minutes) = minutes {
        text.push_str(&format!(", {minutes} minutes"));
    }
    text
}

fn settled(seller: &ProspectSeller<'_>, appointment: &AppointmentRecord) -> String {
    let mut text = format!("status {}", appointment.state);
    if let Some(start) = appointment.starts_at {
        text.push_str(&format!(", from {}", seller.moment(start)));
    }
    if let Some(end) = appointment.ends_at {
        text.push_str(&format!(" to {}", seller.moment(end)));
    }
    let proposed: Vec<_> =
        appointment.proposed.iter().map(|moment| seller.moment(*moment)).collect();
    if !proposed.is_empty() {
        text.push_str(&format!(", proposed {}", proposed.join(", ")));
    }
    text
}

fn comments(
    seller: &ProspectSeller<'_>,
    lead: LeadView<'_>,
    appointment: Option<&str>,
    how: &AdfOptions,
) -> Comments {
    let mut comments = Comments::default();
    consent(&mut comments, seller, lead, how.contacts);
    let record = lead.record();
    if record.state == LeadState::Held {
        comments.some("HELD BACK FOR", record.held_for.map(|why| why.name()));
    }
    comments.some("APPOINTMENT", appointment);
    if let Some(other) = record.asked_besides() {
        let text = asked(seller, other.kind.name(), other.requested_at, None);
        comments.add("ALSO ASKED FOR", &format!("{text}; {}", settled(seller, other)));
    }
    comments.some("APPOINTMENT NOTES", lead.text("/appointment/notes"));
    let preferred = lead.text("/customer/preferred_contact");
    comments.some("PREFERRED CONTACT", preferred);
    comments.some("SOURCE AGENT", lead.agent());
    if let LeadProvider::Network(LeadNetwork { url: Some(_), .. }) = &how.provider {
        // With a network as provider, its page replaces the agent's, so the agent's page is a
        // comment.
        comments.some("AGENT PAGE", lead.text("/source_agent/url"));
    }
    comments.some("AGENT CARD", lead.text("/source_agent/agent_card_url"));
    comments.some("MESSAGE", lead.text("/message"));
    comments
}

/// Adds the consent. It is never dropped (AAP `adf-mapping`, `R-ADF-02`) and always the first
/// comment.
fn consent(
    comments: &mut Comments,
    seller: &ProspectSeller<'_>,
    lead: LeadView<'_>,
    which: ContactValues,
) {
    let channels = lead.channels();
    let permitted = match channels.as_slice() {
        [] => "none on record; do not contact".to_owned(),
        [only] => format!("{only} only"),
        several => several.join(", "),
    };
    comments.add("CONSENT", &permitted);
    comments.some("CONSENT TEXT", lead.text("/consent/consent_text"));
    for (label, pointer) in
        [("CONSENT GRANTED", "/consent/granted_at"), ("CONSENT EXPIRES", "/consent/expires_at")]
    {
        let moment = lead.moment(pointer).map(|moment| seller.moment(moment));
        comments.some(label, moment.as_deref());
    }
    let reach = lead.reach();
    let email = reach.email.is_some() && !reach.may_email;
    let phone = reach.phone.is_some() && !reach.may_call && !reach.may_text;
    let names = match (email, phone) {
        (false, false) => return,
        (true, false) => "e-mail address",
        (false, true) => "telephone number",
        (true, true) => "e-mail address and telephone number",
    };
    match which {
        ContactValues::Consented => {
            let what = format!("the customer's {names}, for want of consent");
            comments.add("WITHHELD", &what);
        }
        ContactValues::All => comments.add("DO NOT USE", &format!("the customer's {names}")),
    }
}
