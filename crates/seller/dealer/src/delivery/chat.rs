//! Chat messages about a lead: one sentence and links. Customer name and contact values are left out unless the dealer
//! wants them, because all members of the channel can read them indefinitely.

use tradepost_document::json::{Value, json};

use super::{ChatStyle, DeliveryContent, headline};
use crate::adf::one_line;
use crate::adf::view::LeadView;
use crate::local_time::short;

/// Writes a chat message.
pub(super) fn write(style: ChatStyle, contact: bool, content: &DeliveryContent<'_>) -> Value {
    let sentence = sentence(content);
    let fields = fields(contact, content);
    match style {
        ChatStyle::Slack => slack(&sentence, &fields),
        ChatStyle::Teams => teams(&sentence, &fields),
    }
}

/// Writes a chat message that is not about a lead: a sentence and lines of details.
#[must_use]
pub fn message(style: ChatStyle, sentence: &str, lines: &[(&'static str, String)]) -> Value {
    let field = |(label, text): &(&'static str, String)| ChatField::Text(label, text.clone());
    let fields: Vec<_> = lines.iter().map(field).collect();
    match style {
        ChatStyle::Slack => slack(sentence, &fields),
        ChatStyle::Teams => teams(sentence, &fields),
    }
}

/// A line below the sentence.
enum ChatField {
    Text(&'static str, String),
    Link(&'static str, String),
}

fn sentence(content: &DeliveryContent<'_>) -> String {
    let appointment = content.lead.appointment.as_ref();
    let appointment = appointment.map(|current| {
        let at = current.starts_at.or(current.requested_at);
        let at = at.map(|at| format!(" for {}", short(at, &content.lead.zone(), content.now)));
        format!("; appointment {}{}", current.state, at.unwrap_or_default())
    });
    format!("{}{}.", headline(content), appointment.unwrap_or_default())
}

fn fields(contact: bool, content: &DeliveryContent<'_>) -> Vec<ChatField> {
    let view = LeadView::new(content.lead);
    let mut fields = vec![ChatField::Text("Lead", content.lead.lead_id.clone())];
    let page = view.listed().and_then(|vehicle| vehicle.get("vdp_url"));
    let page = page.filter(|url| is_link(url));
    fields.extend(page.map(|url| ChatField::Link("Vehicle", url)));
    let channels = view.channels();
    let permitted = if channels.is_empty() { "nothing".to_owned() } else { channels.join(", ") };
    fields.push(ChatField::Text("Permitted", permitted));
    if contact {
        let reach = view.reach();
        let email = reach.email.filter(|_| reach.may_email);
        let phone = reach.phone.filter(|_| reach.may_call || reach.may_text);
        let name = view.customer_name();
        let name = Some(name.as_str()).filter(|name| !name.is_empty());
        for (label, text) in [("Name", name), ("E-mail", email), ("Telephone", phone)] {
            fields.extend(text.map(|text| ChatField::Text(label, one_line(text))));
        }
    }
    fields
}

/// Returns true when an address can stand in a link without ending it.
fn is_link(url: &str) -> bool {
    (url.starts_with("https://") || url.starts_with("http://"))
        && url.bytes().all(|b| b.is_ascii_graphic() && !b"<>|()[]\\\"".contains(&b))
}

/// Writes `{"text": …}`. The three control characters of Slack are escaped, so no text can mention
/// a channel or imitate a link (Slack, "Escaping text").
fn slack(sentence: &str, fields: &[ChatField]) -> Value {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let line = |field: &ChatField| match field {
        ChatField::Text(label, text) => format!("\n{label}: {}", escaped(text)),
        ChatField::Link(label, url) => format!("\n{label}: <{}>", escaped(url)),
    };
    let fields: String = fields.iter().map(line).collect();
    json!({"text": format!("{}{fields}", escaped(sentence))})
}

/// Writes an Adaptive Card for Teams workflows. Text blocks and facts are Markdown, so Markdown
/// characters are escaped.
fn teams(sentence: &str, fields: &[ChatField]) -> Value {
    let facts: Vec<_> = fields
        .iter()
        .map(|field| match field {
            ChatField::Text(label, text) => json!({"title": label, "value": plain(text)}),
            // `is_link` has excluded characters that could end the brackets.
            ChatField::Link(label, url) => {
                json!({"title": label, "value": format!("[{url}]({url})")})
            }
        })
        .collect();
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": [
                    {"type": "TextBlock", "text": plain(sentence), "wrap": true, "weight": "Bolder"},
                    {"type": "FactSet", "facts": facts},
                ],
            },
        }],
    })
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_[]()#~<>|!".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
