//! Evidence of a lead's consent as one file: the wording that the customer agreed to, the bytes as
//! they were sent, the records of the audit chains with the hashes before them, the deliveries and
//! the people who saw it. It is an HTML page that contains its own data, so that it can be checked
//! without us: the hashes are computed again, and the page is generated again and compared.

use std::fmt::Write as _;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_dealer::consent::{
    ConsentEvidence, ConsentKind, ConsentRecord, Sha256Hash, consent_hash, from_hex, hex,
};
use tradepost_dealer::delivery::DeliveryRecord;
use tradepost_dealer::record::LeadHistory;
use tradepost_dealer::staff::{AuditAction, AuditEntry, NewAuditEntry};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::{base64, rfc3339};
use tradepost_document::json::{Value, json, object};
use tradepost_server::fault::InternalError;
use tradepost_store::{Proof, Store};

use ::base64::Engine as _;

/// First value of the data: format name and version.
const FORMAT: &str = "tradepost evidence 1";

/// Text before and after the data in the page.
const DATA_TAGS: (&str, &str) = ("<script type=\"application/json\" id=\"data\">", "</script>");

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#1b1f24;background:#fff}h1{font-size:1.5rem}h2{font-size:1.15rem;border-bottom:1px solid #ccd;\
padding-bottom:.2rem;margin-top:2rem}dl{margin:.3rem 0}dl>div{display:grid;grid-template-columns:12rem 1fr;\
gap:1rem;padding:.1rem 0}dl>div.wide{display:block}div.wide>dd{padding-left:1rem}dt{color:#555}dd{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}\
ol{padding-left:1.4rem}li{border-left:3px solid #dde;padding-left:.8rem;margin:.6rem 0}\
code{font-size:.85em;overflow-wrap:anywhere}blockquote{margin:.3rem 0;padding:.6rem 1rem;background:#f4f6f8;\
white-space:pre-wrap}@media(max-width:40rem){dl>div{grid-template-columns:1fr;gap:0}}\
@media print{body{margin:0;max-width:none;font-size:11px}h2{break-after:avoid}li{break-inside:avoid}}";

/// Sections of the page in order: the member, and its heading.
const SECTIONS: [(&str, &str); 10] = [
    ("customer", "Who it is about"),
    ("lead", "The lead"),
    ("leads", "Leads"),
    ("consents", "Consents, word for word, with their records"),
    ("chain", "The dealer's chain of consents"),
    ("submissions", "What was sent"),
    ("deliveries", "Where it was delivered"),
    ("timeline", "What happened"),
    ("record", "Who saw it, and what they did"),
    ("made", "This file"),
];

/// Collects the evidence of a lead; `None` when there is no such lead.
///
/// # Errors
/// Fails when the store fails.
pub fn gather(
    store: &Store,
    lead_id: &str,
    actor: &str,
    now: Timestamp,
) -> Result<Option<Value>, InternalError> {
    let Some(history) = store.lead_history(lead_id)? else {
        return Ok(None);
    };
    let lead = &history.lead;
    let proofs = store.proofs_of(lead_id)?;
    let deliveries = store.deliveries(None, Some(lead_id), None)?;
    let entries = store.entries_about(lead_id)?;
    let (seq, head) = store.consent_head(&lead.dealer_id)?;
    Ok(Some(json!({
        "format": FORMAT,
        "lead": of_lead(&history),
        "consents": proofs.iter().map(consent).collect::<Vec<_>>(),
        "chain": {"dealer": lead.dealer_id, "records": seq, "head": hex(&head)},
        "deliveries": deliveries.iter().map(delivery).collect::<Vec<_>>(),
        "timeline": timeline(&history),
        "record": entries.iter().map(|(entry, before)| entry_with(entry, Some(before))).collect::<Vec<_>>(),
        "made": {"at": rfc3339(now), "by": actor, "with": format!("tradepost {}", env!("CARGO_PKG_VERSION"))},
    })))
}

/// Returns the hash of the data.
#[must_use]
pub fn digest(document: &Value) -> Sha256Hash {
    Sha256::digest(canonical::to_string(document).as_bytes()).into()
}

fn of_lead(history: &LeadHistory) -> Value {
    let lead = &history.lead;
    json!({
        "lead_id": lead.lead_id,
        "dealer": lead.dealer_id,
        "rooftop": lead.submission.rooftop,
        "state": lead.state,
        "held_for": lead.held_for,
        "received_at": rfc3339(lead.received_at),
        "changed_at": rfc3339(lead.changed_at),
        "first_delivered_at": history.delivered_at.map(rfc3339),
        "submissions": history.submissions.len(),
    })
}

fn consent(proof: &Proof) -> Value {
    let record = &proof.record;
    let kept = proof.kept.as_ref();
    let sent = kept.map(|kept| {
        // As it came; in base64 when it is not text.
        let text = std::str::from_utf8(&kept.body).ok();
        let encoded = || ::base64::engine::general_purpose::STANDARD.encode(&kept.body);
        json!({
            "consent": proof.payload.as_ref().and_then(|payload| payload.get("consent")),
            "sent_by": kept.principal,
            "address": kept.address,
            "user_agent": kept.user_agent,
            "body": text,
            "body_base64": text.is_none().then(encoded),
            "salt": tradepost_document::format::hex(&kept.salt),
        })
    });
    json!({
        "record": record.seq,
        "event": record.kind,
        "at": rfc3339(record.at),
        "at_ms": record.at.as_millisecond(),
        "sent": sent,
        "consent_sha256": record.consent.as_ref().map(hex),
        "body_sha256": record.body.as_ref().map(hex),
        "caller_sha256": record.caller.as_ref().map(hex),
        "previous_hash": hex(&proof.previous),
        "hash": hex(&proof.hash),
    })
}

/// Returns a delivery as JSON, without personal data of the customer.
#[must_use]
pub fn delivery(record: &DeliveryRecord) -> Value {
    json!({
        "destination": record.destination,
        "state": record.state,
        "attempts": record.attempts,
        "created_at": rfc3339(record.created_at),
        "ended_at": record.ended_at.map(rfc3339),
        "last_answer": record.answer,
    })
}

/// Returns the events of a lead from first to last, with the appointment that was answered.
#[must_use]
pub fn timeline(history: &LeadHistory) -> Value {
    let event = |event: &tradepost_dealer::record::LeadEvent| {
        let booked = event.appointment.as_ref().map(|appointment| {
            json!({
                "appointment_id": appointment.appointment_id,
                "for": appointment.kind,
                "status": appointment.state,
                "starts_at": appointment.starts_at.map(rfc3339),
            })
        });
        json!({"at": rfc3339(event.at), "event": event.kind, "state": event.state, "appointment": booked})
    };
    history.events.iter().map(event).collect::<Vec<_>>().into()
}

/// Returns an audit entry as JSON.
#[must_use]
pub fn entry(entry: &AuditEntry) -> Value {
    entry_with(entry, None)
}

fn entry_with(entry: &AuditEntry, before: Option<&Sha256Hash>) -> Value {
    let said = &entry.said;
    object!({
        "of": said.chain,
        "entry": entry.seq,
        "at": rfc3339(said.at),
        "at_ms": said.at.as_millisecond(),
        "actor": said.actor,
        "action": said.action,
        "subject": said.subject,
        "detail": said.detail,
        "hash": hex(&entry.hash),
        "previous_hash"?: before.map(hex),
    })
}

/// Reads an entry that [`entry`] wrote; `None` when it is not one.
#[must_use]
pub fn read_entry(value: &Value) -> Option<AuditEntry> {
    let text = |name| value.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let said = NewAuditEntry {
        chain: text("of")?,
        at: moment(value)?,
        actor: text("actor")?,
        action: AuditAction::from_name(&text("action")?)?,
        subject: text("subject"),
        detail: text("detail"),
    };
    Some(AuditEntry { seq: number(value, "entry")?, said, hash: hash(value, "hash")? })
}

fn number(value: &Value, name: &str) -> Option<i64> {
    value.get(name).and_then(Value::as_i64)
}

fn moment(value: &Value) -> Option<Timestamp> {
    Timestamp::from_millisecond(number(value, "at_ms")?).ok()
}

fn hash(value: &Value, name: &str) -> Option<Sha256Hash> {
    from_hex(value.get(name)?.as_str()?)
}

/// Renders the page of a document, with the document as its data.
#[must_use]
pub fn page(title: &str, document: &Value) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escape(title)
    );
    for (member, heading) in SECTIONS {
        let Some(value) = document.get(member) else { continue };
        let _ = write!(out, "<section>\n<h2>{heading}</h2>\n");
        show(&mut out, member, value);
        out.push_str("\n</section>\n");
    }
    let _ = writeln!(
        out,
        "<p>SHA-256 of the data: <code>{}</code></p>\n{}{}{}\n</body>\n</html>",
        hex(&digest(document)),
        DATA_TAGS.0,
        // In the order of its members: a check renders the page again and compares every byte.
        inert(&document.to_string()),
        DATA_TAGS.1,
    );
    out
}

/// Renders the page of a lead's evidence.
#[must_use]
pub fn write(document: &Value) -> String {
    let lead = document.pointer("/lead/lead_id").and_then(Value::as_str).unwrap_or_default();
    page(&format!("Evidence of consent: {lead}"), document)
}

fn show(out: &mut String, name: &str, value: &Value) {
    match value {
        Value::Null => out.push('–'),
        Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::String(text) if name == "consent_text" => {
            let _ = write!(out, "<blockquote>{}</blockquote>", escape(text));
        }
        Value::String(text) if is_for_machines(name) => {
            let _ = write!(out, "<code>{}</code>", escape(text));
        }
        Value::String(text) => out.push_str(&escape(text)),
        Value::Array(items) if items.is_empty() => out.push_str("none"),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: Vec<_> = items.iter().filter_map(Value::as_str).map(escape).collect();
            out.push_str(&words.join(", "));
        }
        Value::Array(items) => {
            out.push_str("<ol>");
            for item in items {
                out.push_str("<li>");
                show(out, name, item);
                out.push_str("</li>");
            }
            out.push_str("</ol>");
        }
        Value::Object(members) => {
            out.push_str("<dl>");
            for (name, value) in members {
                let label = escape(&name.replace('_', " "));
                let is_wide = value.is_object()
                    || value.as_array().is_some_and(|items| items.iter().any(Value::is_object));
                let class = if is_wide { " class=\"wide\"" } else { "" };
                let _ = write!(out, "<div{class}><dt>{label}</dt><dd>");
                show(out, name, value);
                out.push_str("</dd></div>");
            }
            out.push_str("</dl>");
        }
    }
}

fn is_for_machines(name: &str) -> bool {
    ["hash", "head", "salt", "body"].contains(&name)
        || ["_sha256", "_hash", "_base64", "_id"].iter().any(|end| name.ends_with(end))
}

/// Escapes JSON so that it can neither end its HTML element nor change the text direction.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '<' | '>' | '&') || is_direction(c) || c.is_control() {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// Escapes text for HTML. Characters that change the text direction are shown by number.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if is_direction(c) => {
                let _ = write!(out, "[U+{:04X}]", u32::from(c));
            }
            c if c.is_control() && c != '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Result of checking a file of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Id of the lead.
    pub lead_id: String,
    /// Dealer of the lead.
    pub dealer_id: String,
    /// Hash of the data.
    pub digest: Sha256Hash,
    /// Numbers of consent records and of audit entries.
    pub counts: (usize, usize),
    /// Mismatches.
    pub faults: Vec<String>,
}

/// Checks a file of evidence.
///
/// # Errors
/// Fails when the text is not a file of evidence.
pub fn check(text: &str) -> Result<Checked, &'static str> {
    const NONE: &str = "is no file of evidence";
    let (_, behind) = text.split_once(DATA_TAGS.0).ok_or(NONE)?;
    let (data, _) = behind.split_once(DATA_TAGS.1).ok_or(NONE)?;
    let document: Value = tradepost_document::json::from_str(data).map_err(|_| NONE)?;
    if document.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return Err("is of another version of tradepost, or no file of evidence");
    }
    let text_at = |pointer: &str| {
        let text = document.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let lead_id = text_at("/lead/lead_id");
    let dealer_id = text_at("/lead/dealer");
    let list = |name: &str| {
        let list = document.get(name).and_then(Value::as_array);
        list.map(Vec::as_slice).unwrap_or_default()
    };
    let consents = list("consents");
    let entries = list("record");
    let mut faults = Vec::new();
    if write(&document) != text {
        faults.push("what the page shows is not what its data says".to_owned());
    }
    let mut before: Option<(i64, Sha256Hash)> = None;
    for value in consents {
        let seq = number(value, "record").unwrap_or_default();
        let mut fault = |what: &str| faults.push(format!("record {seq} of the consents: {what}"));
        check_consent(value, &dealer_id, &lead_id, seq, &mut fault);
        let previous = hash(value, "previous_hash");
        // Records of other leads are between them, and only in the files of those.
        if before.is_some_and(|(last, hash)| last + 1 == seq && Some(hash) != previous) {
            fault("it does not follow the one before it");
        }
        before = hash(value, "hash").map(|hash| (seq, hash));
    }
    if let Some((seq, last)) = before
        && number(document.get("chain").unwrap_or(&Value::Null), "records") == Some(seq)
        && document.pointer("/chain/head").and_then(Value::as_str) != Some(hex(&last).as_str())
    {
        faults.push("the head of the chain is not the hash of its last record".to_owned());
    }
    for value in entries {
        let seq = number(value, "entry").unwrap_or_default();
        let previous = hash(value, "previous_hash");
        let fits = read_entry(value).zip(previous).is_some_and(|(entry, previous)| {
            entry.said.hash(entry.seq, &previous) == entry.hash
                && entry.said.subject.as_deref() == Some(&lead_id)
        });
        if !fits {
            faults.push(format!("entry {seq} of the record: its hash does not fit"));
        }
    }
    let counts = (consents.len(), entries.len());
    Ok(Checked { lead_id, dealer_id, digest: digest(&document), counts, faults })
}

/// Computes the hashes of a consent record again.
fn check_consent(
    value: &Value,
    dealer_id: &str,
    lead_id: &str,
    seq: i64,
    fault: &mut impl FnMut(&str),
) {
    let kind = value.get("event").and_then(Value::as_str).and_then(ConsentKind::from_name);
    let Some(kind) = kind else { return fault("it cannot be read") };
    let Some(at) = moment(value) else { return fault("it cannot be read") };
    let record = ConsentRecord {
        dealer_id: dealer_id.to_owned(),
        seq,
        lead_id: lead_id.to_owned(),
        kind,
        at,
        consent: hash(value, "consent_sha256"),
        body: hash(value, "body_sha256"),
        caller: hash(value, "caller_sha256"),
    };
    let previous = hash(value, "previous_hash");
    if previous.map(|previous| record.hash(&previous)) != hash(value, "hash") {
        fault("its hash does not fit");
    }
    // Erased by now, or of an event that no request caused; the hashes of the chain remain.
    let Some(sent) = value.get("sent").filter(|sent| !sent.is_null()) else {
        return;
    };
    let text = |name| sent.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kept = ConsentEvidence {
        principal: text("sent_by"),
        address: text("address"),
        user_agent: sent.get("user_agent").and_then(Value::as_str).map(ToOwned::to_owned),
        salt: bytes_of_hex(&text("salt")).unwrap_or_default(),
        body: match sent.get("body").and_then(Value::as_str) {
            Some(body) => body.as_bytes().to_vec(),
            None => base64(&text("body_base64")).unwrap_or_default(),
        },
    };
    if record.body != Some(kept.body_hash()) {
        fault("the bytes as sent are not those of its hash");
    }
    if record.caller != Some(kept.caller_hash()) {
        fault("who sent it is not who its hash is of");
    }
    // In the form of the request, from which `consent_hash` takes it.
    let consent = json!({"consent": sent.get("consent")});
    if record.consent != Some(consent_hash(&consent)) {
        fault("the consent is not that of its hash");
    }
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Returns true when a character changes the direction of text, which can make one text look like
/// another.
pub fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
