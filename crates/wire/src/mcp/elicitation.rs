//! Asking the person behind a client: a form that the client shows, outside of what its model can read
//! or answer. Releases that say hello are asked by a request of the server's own (`elicitation/create`);
//! the later one gets the form as the result of its call, and calls again with what the person said.

use super::release::{self, Release};
use crate::json::{Map, Value, json};

/// The method by which a server asks.
const ASK: &str = "elicitation/create";

/// The notification that a request is not waited for any longer.
pub const CANCELLED: &str = "notifications/cancelled";

/// By which the only form of a result is known.
const FORM: &str = "person";

/// Where a request of a later release says what the client can do.
const CAPABILITIES_META: &str = "io.modelcontextprotocol/clientCapabilities";

/// A form with one box to tick: without it, nothing is agreed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// What the person reads.
    pub message: String,
    /// What stands beside the box.
    pub title: &'static str,
}

/// The name of the box.
const BOX: &str = "agree";

/// What the person did with a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elicited {
    /// Sent it with the box ticked.
    Agreed,
    /// Sent it with the box empty, or said no.
    Declined,
    /// Closed it.
    Cancelled,
}

impl Form {
    fn params(&self) -> Value {
        // Without `mode`, which is newer than forms: what has none is a form.
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

    /// The request of a server: JSON.
    #[must_use]
    pub fn request(&self, id: &str) -> String {
        json!({"jsonrpc": "2.0", "id": id, "method": ASK, "params": self.params()}).to_string()
    }

    /// The result of a call that goes on when the person has answered: JSON. What stands in `state`
    /// comes back with the answer.
    #[must_use]
    pub fn result(&self, state: &str) -> String {
        let form = json!({"method": ASK, "params": self.params()});
        json!({"resultType": "input_required", "inputRequests": {FORM: form}, "requestState": state})
            .to_string()
    }

    /// What a client says that the person did; `None` when it does not fit the form.
    #[must_use]
    pub fn read(&self, answer: &Value) -> Option<Elicited> {
        match answer.get("action").and_then(Value::as_str)? {
            "accept" => {
                let ticked = answer.get("content")?.get(BOX)?.as_bool()?;
                Some(if ticked { Elicited::Agreed } else { Elicited::Declined })
            }
            "decline" => Some(Elicited::Declined),
            "cancel" => Some(Elicited::Cancelled),
            _ => None,
        }
    }
}

/// What a call of a later release brings back: the state, and what the person answered.
#[must_use]
pub fn asked_within(params: &Map) -> (Option<&str>, Option<&Value>) {
    let state = params.get("requestState").and_then(Value::as_str);
    (state, params.get("inputResponses").and_then(|responses| responses.get(FORM)))
}

/// Whether a client can show the person a form: by what it says when it says hello, or of a later
/// release with every request.
#[must_use]
pub fn can_be_asked(release: Release, params: &Map) -> bool {
    let capabilities = match release {
        Release::Plain => {
            let asked = params.get("protocolVersion").and_then(Value::as_str);
            if !asked.is_some_and(|asked| release::asks(release::negotiated(asked))) {
                return false;
            }
            params.get("capabilities")
        }
        Release::Later => params.get("_meta").and_then(|meta| meta.get(CAPABILITIES_META)),
    };
    let asking = capabilities.and_then(|capabilities| capabilities.get("elicitation"));
    // Who names only addresses (`url`) shows no forms; who names nothing shows them.
    asking
        .and_then(Value::as_object)
        .is_some_and(|modes| modes.contains_key("form") || !modes.contains_key("url"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Form = Form { message: String::new(), title: "I agree" };

    #[test]
    fn only_a_ticked_box_that_was_sent_is_an_agreement() {
        for (answer, expected) in [
            (json!({"action": "accept", "content": {"agree": true}}), Some(Elicited::Agreed)),
            (json!({"action": "accept", "content": {"agree": false}}), Some(Elicited::Declined)),
            (json!({"action": "decline"}), Some(Elicited::Declined)),
            (json!({"action": "cancel", "content": {"agree": true}}), Some(Elicited::Cancelled)),
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
    fn who_can_be_asked_says_so_in_the_way_of_its_release() {
        let hello = |version: &str, capabilities: Value| {
            let params = json!({"protocolVersion": version, "capabilities": capabilities});
            can_be_asked(Release::Plain, params.as_object().unwrap())
        };
        assert!(hello("2025-06-18", json!({"elicitation": {}})));
        assert!(hello("2025-11-25", json!({"elicitation": {"form": {}, "url": {}}})));
        // What is unknown gets the newest release that says hello.
        assert!(hello("2027-01-01", json!({"elicitation": {}})));
        for (version, capabilities) in [
            ("2025-03-26", json!({"elicitation": {}})),
            ("2025-11-25", json!({"elicitation": {"url": {}}})),
            ("2025-11-25", json!({"elicitation": true})),
            ("2025-11-25", json!({"sampling": {}})),
        ] {
            assert!(!hello(version, capabilities.clone()), "{version} {capabilities}");
        }
        let later =
            |meta: Value| can_be_asked(Release::Later, json!({"_meta": meta}).as_object().unwrap());
        assert!(later(json!({CAPABILITIES_META: {"elicitation": {"form": {}}}})));
        assert!(!later(json!({CAPABILITIES_META: {}})));
        assert!(!later(json!({"capabilities": {"elicitation": {}}})));
    }
}
