//! Hides the secrets of a dealer's document where it is shown, and puts them back where the hidden form
//! is sent again.
//!
//! Secrets are the values of some members, and what an address may hold: user information, the values
//! of its query, and its fragment. Of an address every value is hidden, because no list of names such
//! as `token`, `key` or `sig` can be complete.

use tradepost_document::json::Value;

/// Mark in the place of a hidden secret.
pub(super) const KEPT: &str = "(kept)";

/// Members whose values are secrets.
const SECRET_MEMBERS: [&str; 3] = ["bearer", "hmac_key", "password"];

/// Members that say where a secret is sent. A secret is only put back when all of them are unchanged:
/// otherwise a person who may change a dealer could have its secrets sent to an address of their own.
const DESTINATION_MEMBERS: [&str; 7] = ["by", "url", "host", "port", "user", "tls", "allow_plain"];

/// An address, cut into the parts that may hold secrets and those that do not.
struct AddressParts<'a> {
    scheme: &'a str,
    user_info: Option<&'a str>,
    host: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

impl<'a> AddressParts<'a> {
    /// Parses an address; `None` for other texts.
    fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let is_scheme =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
            return None;
        }
        let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at_checked(end)?;
        let (user_info, host) = match authority.rsplit_once('@') {
            Some((user_info, host)) => (Some(user_info), host),
            None => (None, authority),
        };
        let (tail, fragment) = match tail.split_once('#') {
            Some((tail, fragment)) => (tail, Some(fragment)),
            None => (tail, None),
        };
        let (path, query) = match tail.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (tail, None),
        };
        Some(Self { scheme, user_info, host, path, query, fragment })
    }

    /// Writes the address with a mark in the place of each possible secret.
    fn hidden(&self) -> String {
        let mark = |text: &str| if text.is_empty() { "" } else { KEPT };
        let mut shown = format!("{}://", self.scheme);
        if let Some(user_info) = self.user_info {
            shown.push_str(mark(user_info));
            shown.push('@');
        }
        shown.push_str(self.host);
        shown.push_str(self.path);
        if let Some(query) = self.query {
            let pairs = query.split('&').map(|pair| match pair.split_once('=') {
                Some((name, value)) => format!("{name}={}", mark(value)),
                None => mark(pair).to_owned(),
            });
            shown.push('?');
            shown.push_str(&pairs.collect::<Vec<_>>().join("&"));
        }
        if let Some(fragment) = self.fragment {
            shown.push('#');
            shown.push_str(mark(fragment));
        }
        shown
    }

    /// Returns true when a mark stands in place of a secret.
    fn has_mark(&self) -> bool {
        let in_query = self
            .query
            .into_iter()
            .flat_map(|query| query.split('&'))
            .any(|pair| pair.split_once('=').map_or(pair, |(_, value)| value) == KEPT);
        in_query || self.user_info == Some(KEPT) || self.fragment == Some(KEPT)
    }
}

/// Hides the possible secrets of an address; other texts are unchanged.
fn hidden_text(text: &str) -> String {
    AddressParts::parse(text).map_or_else(|| text.to_owned(), |address| address.hidden())
}

/// Returns true when the whole value of a member is a secret. The URL of a chat webhook is one, because
/// it needs no other credential.
fn is_secret(name: &str, is_chat: bool) -> bool {
    SECRET_MEMBERS.contains(&name) || is_chat && name == "url"
}

fn is_chat(object: &Value) -> bool {
    object.get("by").and_then(Value::as_str) == Some("chat")
}

/// Hides every secret of a document.
pub(super) fn hide(document: &mut Value) {
    let is_chat = is_chat(document);
    match document {
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                if is_secret(name, is_chat) {
                    *value = KEPT.into();
                } else {
                    hide(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::String(text) => *document = hidden_text(text).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns true when the value of a member has the mark of a hidden secret.
pub(super) fn has_mark(name: &str, value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    let is_marked_secret = text == KEPT && (is_secret(name, true));
    is_marked_secret || AddressParts::parse(text).is_some_and(|address| address.has_mark())
}

/// Puts the secrets of `before` back where `sent` has their marks. A mark without a secret stays.
pub(super) fn restore(sent: &mut Value, before: &Value) {
    match sent {
        Value::Object(_) => restore_object(sent, before),
        Value::Array(items) => {
            let known = before.as_array().map(Vec::as_slice).unwrap_or_default();
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(before) = counterpart(item, index, known) {
                    restore(item, before);
                }
            }
        }
        Value::String(text) => {
            let before = before.as_str().unwrap_or_default();
            if hidden_text(before) == *text {
                *sent = before.into();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Finds the earlier form of an item of a list: the item with the same name, with the same hidden form,
/// or at the same index.
fn counterpart<'b>(item: &Value, index: usize, known: &'b [Value]) -> Option<&'b Value> {
    if let Some(name) = item.get("name") {
        return known.iter().find(|known| known.get("name") == Some(name));
    }
    if let Some(text) = item.as_str() {
        let is_meant =
            |known: &&Value| known.as_str().is_some_and(|plain| hidden_text(plain) == text);
        return known.iter().find(is_meant);
    }
    known.get(index)
}

/// Restores the secrets of an object. A changed destination does not get the secrets of the old one.
fn restore_object(sent: &mut Value, before: &Value) {
    let is_chat = is_chat(sent);
    if let Some(members) = sent.as_object_mut() {
        for (name, value) in members.iter_mut() {
            if let Some(before) = before.get(name).filter(|_| !is_secret(name, is_chat)) {
                restore(value, before);
            }
        }
    }
    let is_own_url = |name: &str| is_chat && name == "url";
    let is_same_destination = DESTINATION_MEMBERS
        .iter()
        .all(|name| is_own_url(name) || sent.get(name) == before.get(name));
    if !is_same_destination {
        return;
    }
    if let Some(members) = sent.as_object_mut() {
        for (name, value) in members.iter_mut() {
            let secret = before.get(name).filter(|_| is_secret(name, is_chat));
            if let Some(secret) = secret.filter(|_| value.as_str() == Some(KEPT)) {
                *value = secret.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn an_address_is_shown_without_what_may_be_secret() {
        for (address, shown) in [
            ("https://a.example/feed.csv", "https://a.example/feed.csv"),
            ("https://a.example/f?token=s3cret&v=2", "https://a.example/f?token=(kept)&v=(kept)"),
            ("https://a.example?s3cret", "https://a.example?(kept)"),
            ("https://a.example/?sig=a%3Db=c;key=s3cret", "https://a.example/?sig=(kept)"),
            ("https://a.example/?key=", "https://a.example/?key="),
            ("https://ada:s3cret@a.example/x", "https://(kept)@a.example/x"),
            ("sftp://ada@a.example/x", "sftp://(kept)@a.example/x"),
            ("postgres://u:s@3cret@h/db?password=s3cret", "postgres://(kept)@h/db?password=(kept)"),
            ("https://a.example/x#s3cret", "https://a.example/x#(kept)"),
            ("HTTPS://a.example/x?Token=s3cret", "HTTPS://a.example/x?Token=(kept)"),
            ("Ask us? By mail: a@b.example", "Ask us? By mail: a@b.example"),
        ] {
            assert_eq!(hidden_text(address), shown);
            assert_eq!(hidden_text(shown), shown, "what is hidden stays hidden");
        }
    }

    #[test]
    fn the_hidden_form_sent_back_is_the_document_again() {
        let document = json!({
            "id": "a", "description": "See https://x.example/?a=b for more",
            "feeds": [
                {"name": "f", "from": "pull", "url": "https://u:p@f.example/x?token=s3cret",
                 "password": "s3cret", "user": "u"},
            ],
            "deliveries": [
                {"name": "c", "by": "chat", "url": "https://hooks.example/T/s3cret"},
                {"name": "w", "by": "webhook", "url": "https://w.example/?sig=1", "hmac_key": "s3cret"},
            ],
        });
        let mut shown = document.clone();
        hide(&mut shown);
        assert!(!shown.to_string().contains("s3cret"), "{shown}");
        let mut back = shown.clone();
        restore(&mut back, &document);
        assert_eq!(back, document);
        // In another order, and with something else changed.
        let mut other = shown;
        let deliveries = other.get_mut("deliveries").and_then(Value::as_array_mut).unwrap();
        deliveries.reverse();
        deliveries[0].as_object_mut().unwrap().insert("attempts".into(), 3.into());
        restore(&mut other, &document);
        assert_eq!(other["deliveries"][0]["hmac_key"], "s3cret");
        assert_eq!(other["deliveries"][1]["url"], "https://hooks.example/T/s3cret");
    }

    #[test]
    fn a_secret_is_not_put_back_for_another_destination() {
        let before = json!({"deliveries": [
            {"name": "w", "by": "webhook", "url": "https://w.example/x?key=s3cret", "bearer": "s3cret"},
            {"name": "m", "by": "smtp", "host": "mail.example", "password": "s3cret"},
            {"name": "c", "by": "chat", "url": "https://hooks.example/s3cret"},
        ]});
        for sent in [
            json!([{"name": "w", "by": "webhook", "url": "https://evil.example/x?key=(kept)", "bearer": "(kept)"}]),
            json!([{"name": "w", "by": "webhook", "url": "https://evil.example/", "bearer": "(kept)"}]),
            json!([{"name": "m", "by": "smtp", "host": "evil.example", "password": "(kept)"}]),
            json!([{"name": "m", "by": "smtp", "host": "mail.example", "port": 26, "password": "(kept)"}]),
            json!([{"name": "n", "by": "chat", "url": "(kept)"}]),
        ] {
            let mut document = json!({"deliveries": sent});
            restore(&mut document, &before);
            assert!(!document.to_string().contains("s3cret"), "{document}");
        }
    }
}
