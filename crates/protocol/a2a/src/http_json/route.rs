//! Paths of the HTTP+JSON binding (A2A 1.0 §11.3). A router of segments cannot distinguish
//! `tasks/{id}:cancel` from `tasks/{id}`, so paths are parsed here, relative to the address of the
//! interface.
//!
//! Each path also exists below a tenant, `/{tenant}/…`, which then equals a member of the body. A
//! segment that another program could read as a different path is no tenant: dots, an encoded
//! slash, control characters.
// Every route accepts a tenant (`a2a.proto`, S-04).

use crate::Operation;

/// A path of the binding.
#[derive(Debug)]
struct Route {
    /// Path template; parameters have the names of their members.
    template: &'static str,
    methods: &'static [(&'static str, Operation)],
}

const ROUTES: &[Route] = &[
    Route { template: "/message:send", methods: &[("POST", Operation::SendMessage)] },
    Route { template: "/message:stream", methods: &[("POST", Operation::SendStreamingMessage)] },
    Route { template: "/tasks", methods: &[("GET", Operation::ListTasks)] },
    Route { template: "/tasks/{id}", methods: &[("GET", Operation::GetTask)] },
    Route { template: "/tasks/{id}:cancel", methods: &[("POST", Operation::CancelTask)] },
    Route {
        // The specification has POST in §11.3 and GET in its protobuf file; both are accepted.
        template: "/tasks/{id}:subscribe",
        methods: &[("GET", Operation::SubscribeToTask), ("POST", Operation::SubscribeToTask)],
    },
    Route {
        template: "/tasks/{taskId}/pushNotificationConfigs",
        methods: &[
            ("GET", Operation::ListTaskPushNotificationConfigs),
            ("POST", Operation::CreateTaskPushNotificationConfig),
        ],
    },
    Route {
        template: "/tasks/{taskId}/pushNotificationConfigs/{id}",
        methods: &[
            ("GET", Operation::GetTaskPushNotificationConfig),
            ("DELETE", Operation::DeleteTaskPushNotificationConfig),
        ],
    },
    Route { template: "/extendedAgentCard", methods: &[("GET", Operation::GetExtendedAgentCard)] },
];

/// A matched path.
#[derive(Debug)]
pub struct MatchedRoute {
    route: &'static Route,
    /// Members from the path, decoded.
    pub members: Vec<(&'static str, String)>,
}

impl MatchedRoute {
    /// Returns the operation of a method.
    #[must_use]
    pub fn operation(&self, method: &str) -> Option<Operation> {
        let known = self.route.methods.iter().find(|(name, _)| *name == method);
        known.map(|(_, operation)| *operation)
    }

    /// Returns the supported methods, in the format of `Allow`.
    #[must_use]
    pub fn allowed(&self) -> String {
        let names: Vec<_> = self.route.methods.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// Returns the path without values of the caller: `/tasks/{id}:cancel`.
    #[must_use]
    pub fn template(&self) -> &'static str {
        self.route.template
    }
}

/// Matches a path, with or without a tenant. A match without a tenant wins.
#[must_use]
pub fn find(path: &str) -> Option<MatchedRoute> {
    let path = path.strip_prefix('/')?;
    let segments: Vec<&str> = path.split('/').collect();
    let find = |segments: &[&str]| ROUTES.iter().find_map(|route| matches(route, segments));
    find(&segments).or_else(|| {
        let (first, rest) = segments.split_first()?;
        let mut target = find(rest)?;
        target.members.push(("tenant", tenant(first)?));
        Some(target)
    })
}

fn matches(route: &'static Route, segments: &[&str]) -> Option<MatchedRoute> {
    let wanted: Vec<&'static str> = route.template.split('/').skip(1).collect();
    if wanted.len() != segments.len() {
        return None;
    }
    let mut members = Vec::new();
    for (index, (wanted, segment)) in wanted.iter().zip(segments).enumerate() {
        let Some((name, verb)) = wanted.strip_prefix('{').and_then(|rest| rest.split_once('}'))
        else {
            if wanted != segment {
                return None;
            }
            continue;
        };
        // A colon begins a verb, except in the id of a webhook, which callers choose; in a task's
        // id the character is encoded.
        let is_webhook = index == WEBHOOK;
        let text = segment.strip_suffix(verb)?;
        if text.contains(':') && !is_webhook {
            return None;
        }
        members.push((name, decode(text)?));
    }
    Some(MatchedRoute { route, members })
}

/// Index of a webhook's id in its path.
const WEBHOOK: usize = 3;

/// Decodes a path parameter, which is never empty.
fn decode(segment: &str) -> Option<String> {
    let text = percent_encoding::percent_decode_str(segment).decode_utf8().ok()?;
    (!text.is_empty()).then(|| text.into_owned())
}

fn tenant(segment: &str) -> Option<String> {
    decode(segment).filter(|tenant| {
        tenant != "."
            && tenant != ".."
            && !tenant.contains(['/', '\\'])
            && !tenant.contains(char::is_control)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> String {
        find(path).map_or_else(
            || "nothing".to_owned(),
            |MatchedRoute { route, members }| {
                members.iter().fold(route.template.to_owned(), |text, (name, value)| {
                    format!("{text} {name}={value}")
                })
            },
        )
    }

    #[test]
    fn paths_are_found_with_their_parameters_and_with_a_tenant() {
        for (path, expected) in [
            ("/message:send", "/message:send"),
            ("/acme/message:stream", "/message:stream tenant=acme"),
            ("/tasks", "/tasks"),
            ("/tasks/t-1", "/tasks/{id} id=t-1"),
            ("/tasks/a%2Fb%3Ac", "/tasks/{id} id=a/b:c"),
            ("/tasks/t-1:cancel", "/tasks/{id}:cancel id=t-1"),
            ("/acme/tasks/t-1:subscribe", "/tasks/{id}:subscribe id=t-1 tenant=acme"),
            ("/tasks/tasks", "/tasks/{id} id=tasks"),
            ("/tasks/message:send", "/message:send tenant=tasks"),
            (
                "/acme/tasks/t/pushNotificationConfigs",
                "/tasks/{taskId}/pushNotificationConfigs taskId=t tenant=acme",
            ),
            (
                "/tasks/t/pushNotificationConfigs/a:b",
                "/tasks/{taskId}/pushNotificationConfigs/{id} taskId=t id=a:b",
            ),
            ("/extendedAgentCard", "/extendedAgentCard"),
        ] {
            assert_eq!(found(path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_not_quite_a_path_of_ours_is_none() {
        for path in [
            "",
            "/",
            "//tasks",
            "/tasks/",
            "/tasks/:cancel",
            "/tasks/t:frobnicate",
            "/tasks/%ff",
            "/../tasks",
            "/%2e%2e/tasks",
            "/a%2fb/tasks",
            "/a/b/tasks",
            "tasks",
            "/message",
            "/MESSAGE:send",
        ] {
            assert_eq!(found(path), "nothing", "{path}");
        }
    }
}
