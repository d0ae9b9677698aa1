//! Ways to answer a customer: only channels that the consent permits, each with a prepared text.

use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::record::LeadState;

/// A way to answer, which opens a program of the person's computer or telephone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AnswerWay {
    pub(super) label: &'static str,
    pub(super) href: String,
}

/// Returns the ways to answer a lead now. There are none after the consent has ended.
pub(super) fn answers(
    view: &LeadView<'_>,
    author: &str,
    dealer: &str,
    now: Timestamp,
) -> Vec<AnswerWay> {
    let is_open = match view.record().state {
        LeadState::Received | LeadState::Held => true,
        LeadState::Revoked | LeadState::Erased => false,
    };
    let end = view.moment("/consent/expires_at");
    if !is_open || end.is_some_and(|end| end <= now) {
        return Vec::new();
    }
    let reach = view.reach();
    let text = text(view, author, dealer);
    let mut links = Vec::new();
    if let Some(address) = reach.email.filter(|_| reach.may_email).and_then(plain) {
        let subject = escaped(&subject(view));
        let body = escaped(&text);
        let href = format!("mailto:{address}?subject={subject}&body={body}");
        links.push(AnswerWay { label: "Answer by e-mail", href });
    }
    let phone = reach.phone.and_then(plain);
    if let Some(phone) = phone.filter(|_| reach.may_text) {
        let href = format!("sms:{phone}?body={}", escaped(&text));
        links.push(AnswerWay { label: "Answer by text message", href });
    }
    if let Some(phone) = phone.filter(|_| reach.may_call) {
        links.push(AnswerWay { label: "Call", href: format!("tel:{phone}") });
    }
    links
}

/// Returns an address or number if it needs no escaping.
fn plain(value: &str) -> Option<&str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"+-._@".contains(&b);
    value.bytes().all(is_plain).then_some(value)
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

fn subject(view: &LeadView<'_>) -> String {
    match vehicle(view) {
        Some(vehicle) => format!("Your request about the {vehicle}"),
        None => "Your request".to_owned(),
    }
}

fn vehicle(view: &LeadView<'_>) -> Option<String> {
    view.vehicle().map(|vehicle| vehicle.title()).filter(|title| !title.is_empty())
}

/// Prepares the text of an answer.
fn text(view: &LeadView<'_>, author: &str, dealer: &str) -> String {
    let name = view.text("/customer/first_name").map(str::trim).filter(|name| !name.is_empty());
    let hello = name.map_or("Hello".to_owned(), |name| format!("Hello {name}"));
    let about = vehicle(view).map(|vehicle| format!(" about the {vehicle}")).unwrap_or_default();
    format!(
        "{hello},\r\n\r\nthank you for your request{about}.\r\n\r\n\r\n{author}\r\n{dealer}\r\n"
    )
}
