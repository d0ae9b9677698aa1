//! Suggestions for unknown methods.

use super::Operation;
use tradepost_document::catalog::Vocabulary as _;

/// Maximum length of a method for a suggestion, in bytes.
const LONGEST_METHOD: usize = 64;

/// Methods of earlier releases and of other bindings that the catalog of operations does not have.
const OTHER_METHODS: [(&str, Operation); 9] = [
    ("tasks/list", Operation::ListTasks),
    // A2A 0.2
    ("tasks/send", Operation::SendMessage),
    ("tasks/sendSubscribe", Operation::SendStreamingMessage),
    ("tasks/pushNotification/set", Operation::CreateTaskPushNotificationConfig),
    ("tasks/pushNotification/get", Operation::GetTaskPushNotificationConfig),
    ("agent/authenticatedExtendedCard", Operation::GetExtendedAgentCard),
    // gRPC of A2A 0.3
    ("TaskSubscription", Operation::SubscribeToTask),
    ("GetAgentCard", Operation::GetExtendedAgentCard),
    ("ListTaskPushNotificationConfig", Operation::ListTaskPushNotificationConfigs),
];

impl Operation {
    /// Returns the operation whose method, in any release, is most similar to this one. Case and
    /// punctuation are ignored, and at most one letter in three may differ. `None` without a
    /// similar method.
    #[must_use]
    pub fn from_similar_method(method: &str) -> Option<Self> {
        if method.len() > LONGEST_METHOD {
            return None;
        }
        let sent_letters = letters(method);
        let current = Self::ALL.iter().map(|operation| (operation.name(), *operation));
        let older = Self::ALL.iter().filter_map(|operation| Some((operation.older()?, *operation)));
        let known = current.chain(older).chain(OTHER_METHODS);
        let differing = known.map(|(name, operation)| {
            let name = letters(name);
            let longer = name.len().max(sent_letters.len());
            let slips = strsim::damerau_levenshtein(&name, &sent_letters);
            Comparison { slips, longer, operation }
        });
        let nearest = differing.min_by_key(|comparison| comparison.slips)?;
        (nearest.slips * 3 <= nearest.longer).then_some(nearest.operation)
    }
}

/// Difference between a method and a known one.
struct Comparison {
    /// Number of letters to change.
    slips: usize,
    /// Number of letters of the longer one.
    longer: usize,
    /// The operation of the known method.
    operation: Operation,
}

/// Returns the letters and digits of a method in lower case.
fn letters(method: &str) -> String {
    let counted = method.chars().filter(|letter| letter.is_ascii_alphanumeric());
    counted.map(|letter| letter.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_methods_suggest_the_operation_they_resemble() {
        for (method, expected) in [
            ("getTask", "GetTask"),
            ("get_task", "GetTask"),
            ("GETTASK", "GetTask"),
            ("GetTaks", "GetTask"),
            ("tasks/get", "GetTask"),
            ("listTasks", "ListTasks"),
            ("ListTask", "ListTasks"),
            ("tasks/list", "ListTasks"),
            ("message/send", "SendMessage"),
            ("sendMesage", "SendMessage"),
            ("tasks/send", "SendMessage"),
            ("message/stream", "SendStreamingMessage"),
            ("SendStreamMessage", "SendStreamingMessage"),
            ("tasks/sendSubscribe", "SendStreamingMessage"),
            ("tasks/cancel", "CancelTask"),
            ("cancelTask", "CancelTask"),
            ("tasks/resubscribe", "SubscribeToTask"),
            ("TaskSubscription", "SubscribeToTask"),
            ("tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig"),
            ("tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig"),
            ("tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs"),
            ("tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig"),
            ("agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"),
            ("agent/authenticatedExtendedCard", "GetExtendedAgentCard"),
        ] {
            let suggested = Operation::from_similar_method(method).map(Operation::name);
            assert_eq!(suggested, Some(expected), "{method}");
        }
        let long = "getTask".repeat(1_000);
        for method in ["", "/", "foo", "tools/call", "DeleteTask", "ping", long.as_str()] {
            assert_eq!(Operation::from_similar_method(method), None, "{method}");
        }
    }
}
