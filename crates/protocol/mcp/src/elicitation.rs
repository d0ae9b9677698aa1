//! Forms that ask the person behind a client, and that the client's model can neither read nor
//! answer. In versions with a handshake the server sends a request (`elicitation/create`); in
//! stateless versions the form is the result of the call, and the client calls again with the
//! person's answer.

use super::version::{Lifecycle, Version};
use tradepost_document::json::{Map, Value, json};

/// The method with which a server asks.
const ASK: &str = "elicitation/create";

/// The notification that the server no longer waits for a request.
pub const CANCELLED: &str = "notifications/cancelled";

/// The key of the only form in a result.
const FORM: &str = "person";

/// The member in which a request of a stateless version states the client's capabilities.
pub(super) const CAPABILITIES_META: &str = "io.modelcontextprotocol/clientCapabilities";

/// A form with one box to tick; without the tick, there is no agreement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreementForm {
    /// The text that the person reads.
    pub message: String,
    /// The label of the box.
    pub title: &'static str,
}

/// The name of the box.
const BOX: &str = "agree";

/// The person's answer to a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormAnswer {
    /// The person sent the form with the box ticked.
    Agreed,
    /// The person declined, or sent the form with the box empty.
    Declined,
    /// The person closed the form.
    Cancelled,
}

impl AgreementForm {
    fn params(&self) -> Value {
        // `mode` is left out because it is newer than forms; without it, the request is for a form.
        json!({
            "message": self.message,
            "requestedSchema": {
                "type": "object",
                "properties": {BOX: {
                    "type": "boolean", "title": self.title,
                    "description": "Without this nothing is sent.", "default": false,
                }},
                "required": [BOX],
            },
        })
    }

    /// Writes the server's request as JSON.
    #[must_use]
    pub fn request(&self, id: &str) -> String {
        json!({"jsonrpc": "2.0", "id": id, "method": ASK, "params": self.params()}).to_string()
    }

    /// Writes the result of a call that continues after the person's answer, as JSON. The client
    /// returns `state` with the answer.
    #[must_use]
    pub fn result(&self, state: &str) -> String {
        let form = json!({"method": ASK, "params": self.params()});
        json!({"resultType": "input_required", "inputRequests": {FORM: form}, "requestState": state})
            .to_string()
    }

    /// Reads the client's answer; `None` if it does not fit the form.
    #[must_use]
    pub fn read(&self, answer: &Value) -> Option<FormAnswer> {
        match answer.get("action").and_then(Value::as_str)? {
            "accept" => {
                let ticked = answer.get("content")?.get(BOX)?.as_bool()?;
                Some(if ticked { FormAnswer::Agreed } else { FormAnswer::Declined })
            }
            "decline" => Some(FormAnswer::Declined),
            "cancel" => Some(FormAnswer::Cancelled),
            _ => None,
        }
    }
}

/// Returns the state and the person's answer from a repeated call of a stateless version.
#[must_use]
pub fn state_and_answer(params: &Map) -> (Option<&str>, Option<&Value>) {
    let state = params.get("requestState").and_then(Value::as_str);
    (state, params.get("inputResponses").and_then(|responses| responses.get(FORM)))
}

/// Returns true when a client reports any action of the person.
#[must_use]
pub fn is_answer(answer: &Value) -> bool {
    let action = answer.get("action").and_then(Value::as_str);
    matches!(action, Some("accept" | "decline" | "cancel"))
}

/// Returns true if a client can show forms, by the capabilities in its handshake or, in a stateless
/// version, in the request.
#[must_use]
pub fn can_be_asked(lifecycle: Lifecycle, params: &Map) -> bool {
    let capabilities = match lifecycle {
        Lifecycle::Handshake => {
            let asked = params.get("protocolVersion").and_then(Value::as_str);
            if !asked.is_some_and(|asked| Version::negotiate(asked).has_elicitation()) {
                return false;
            }
            params.get("capabilities")
        }
        Lifecycle::Stateless => params.get("_meta").and_then(|meta| meta.get(CAPABILITIES_META)),
    };
    let asking = capabilities.and_then(|capabilities| capabilities.get("elicitation"));
    // A client that names only addresses (`url`) shows no forms; one that names nothing shows them.
    asking
        .and_then(Value::as_object)
        .is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: AgreementForm = AgreementForm { message: String::new(), title: "I agree" };

    #[test]
    fn only_a_ticked_box_that_was_sent_is_an_agreement() {
        for (answer, expected) in [
            (json!({"action": "accept", "content": {"agree": true}}), Some(FormAnswer::Agreed)),
            (json!({"action": "accept", "content": {"agree": false}}), Some(FormAnswer::Declined)),
            (json!({"action": "decline"}), Some(FormAnswer::Declined)),
            (json!({"action": "cancel", "content": {"agree": true}}), Some(FormAnswer::Cancelled)),
            (json!({"action": "accept"}), None),
            (json!({"action": "accept", "content": {}}), None),
            (json!({"action": "accept", "content": {"agree": "true"}}), None),
            (json!({"action": "accept", "content": {"agree": 1}}), None),
            (json!({"action": "accept", "content": [true]}), None),
            (json!({"action": "Accept", "content": {"agree": true}}), None),
            (json!({"content": {"agree": true}}), None),
            (json!(true), None),
        ] {
            assert_eq!(TICK.read(&answer), expected, "{answer}");
        }
    }

    #[test]
    fn who_can_be_asked_says_so_as_its_version_does() {
        let hello = |version: &str, capabilities: Value| {
            let params = json!({"protocolVersion": version, "capabilities": capabilities});
            can_be_asked(Lifecycle::Handshake, params.as_object().unwrap())
        };
        assert!(hello("2025-06-18", json!({"elicitation": {}})));
        assert!(hello("2025-11-25", json!({"elicitation": {"form": {}, "url": {}}})));
        // An unknown version gets the newest one with a handshake.
        assert!(hello("2027-01-01", json!({"elicitation": {}})));
        for (version, capabilities) in [
            ("2025-03-26", json!({"elicitation": {}})),
            ("2025-11-25", json!({"elicitation": {"url": {}}})),
            ("2025-11-25", json!({"elicitation": true})),
            ("2025-11-25", json!({"sampling": {}})),
        ] {
            assert!(!hello(version, capabilities.clone()), "{version} {capabilities}");
        }
        let later = |meta: Value| {
            can_be_asked(Lifecycle::Stateless, json!({"_meta": meta}).as_object().unwrap())
        };
        assert!(later(json!({CAPABILITIES_META: {"elicitation": {"form": {}}}})));
        assert!(!later(json!({CAPABILITIES_META: {}})));
        assert!(!later(json!({"capabilities": {"elicitation": {}}})));
    }
}
