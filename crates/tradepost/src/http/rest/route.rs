//! Which operation a path and a method mean (A2A §11.3). A router of segments cannot tell
//! `tasks/{id}:cancel` from `tasks/{id}`, so the paths are read here.
//!
//! Each path also exists below a tenant, `/rest/{tenant}/…` (S-04). The agents here have no
//! tenants; whatever one is named it is the same agent, as it is when a body names one. Only what
//! another program on the way could read as a different path is no tenant: dots, an encoded
//! slash, control characters.

use axum::http::Method;
use tradepost_wire::a2a::Operation;

use crate::aap::card::HTTP_JSON_PATH;

/// A path of ours.
struct Route {
    /// As the log names it. A parameter has the name of the member that it stands for.
    template: &'static str,
    methods: &'static [(&'static str, Operation)],
}

const ROUTES: &[Route] = &[
    Route { template: "/rest/message:send", methods: &[("POST", Operation::SendMessage)] },
    Route {
        template: "/rest/message:stream",
        methods: &[("POST", Operation::SendStreamingMessage)],
    },
    Route { template: "/rest/tasks", methods: &[("GET", Operation::ListTasks)] },
    Route { template: "/rest/tasks/{id}", methods: &[("GET", Operation::GetTask)] },
    Route { template: "/rest/tasks/{id}:cancel", methods: &[("POST", Operation::CancelTask)] },
    Route {
        // The specification says POST in §11.3 and GET in its protobuf file (§1.5 row 2).
        template: "/rest/tasks/{id}:subscribe",
        methods: &[("GET", Operation::SubscribeToTask), ("POST", Operation::SubscribeToTask)],
    },
    Route {
        template: "/rest/tasks/{taskId}/pushNotificationConfigs",
        methods: &[
            ("GET", Operation::ListTaskPushNotificationConfigs),
            ("POST", Operation::CreateTaskPushNotificationConfig),
        ],
    },
    Route {
        template: "/rest/tasks/{taskId}/pushNotificationConfigs/{id}",
        methods: &[
            ("GET", Operation::GetTaskPushNotificationConfig),
            ("DELETE", Operation::DeleteTaskPushNotificationConfig),
        ],
    },
    Route {
        template: "/rest/extendedAgentCard",
        methods: &[("GET", Operation::GetExtendedAgentCard)],
    },
];

/// What a path means.
pub(super) struct Target {
    route: &'static Route,
    /// The members that the path gives, decoded.
    pub members: Vec<(&'static str, String)>,
}

impl Target {
    /// What the method does there.
    pub(super) fn operation(&self, method: &Method) -> Option<Operation> {
        let known = self.route.methods.iter().find(|(name, _)| *name == method.as_str());
        known.map(|(_, operation)| *operation)
    }

    /// The methods that do something, as `Allow` lists them.
    pub(super) fn allowed(&self) -> String {
        let names: Vec<_> = self.route.methods.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

/// What a path means, with or without a tenant. A path without one is meant where it can be.
pub(super) fn find(path: &str) -> Option<Target> {
    let path = path.strip_prefix(HTTP_JSON_PATH)?.strip_prefix('/')?;
    let segments: Vec<&str> = path.split('/').collect();
    let find = |segments: &[&str]| ROUTES.iter().find_map(|route| matches(route, segments));
    find(&segments).or_else(|| {
        let (tenant, rest) = segments.split_first()?;
        if is_tenant(tenant) { find(rest) } else { None }
    })
}

/// The template of a path, for the log.
pub(in crate::http) fn template(path: &str) -> Option<&'static str> {
    find(path).map(|target| target.route.template)
}

fn matches(route: &'static Route, segments: &[&str]) -> Option<Target> {
    let wanted: Vec<&'static str> =
        route.template.strip_prefix(HTTP_JSON_PATH)?.split('/').skip(1).collect();
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
        // A colon begins a verb, save in the id of a webhook, which callers choose; whoever
        // means the character in a task's id encodes it.
        let is_webhook = index == WEBHOOK;
        let text = segment.strip_suffix(verb)?;
        if text.contains(':') && !is_webhook {
            return None;
        }
        members.push((name, decode(text)?));
    }
    Some(Target { route, members })
}

/// Where a webhook's id stands in its path.
const WEBHOOK: usize = 3;

/// A parameter of a path, which is never empty.
fn decode(segment: &str) -> Option<String> {
    let text = percent_encoding::percent_decode_str(segment).decode_utf8().ok()?;
    (!text.is_empty()).then(|| text.into_owned())
}

fn is_tenant(segment: &str) -> bool {
    decode(segment).is_some_and(|tenant| {
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
            |Target { route, members }| {
                members.iter().fold(route.template.to_owned(), |text, (name, value)| {
                    format!("{text} {name}={value}")
                })
            },
        )
    }

    #[test]
    fn paths_are_found_with_their_parameters_and_with_a_tenant() {
        for (path, expected) in [
            ("/rest/message:send", "/rest/message:send"),
            ("/rest/acme/message:stream", "/rest/message:stream"),
            ("/rest/tasks", "/rest/tasks"),
            ("/rest/tasks/t-1", "/rest/tasks/{id} id=t-1"),
            ("/rest/tasks/a%2Fb%3Ac", "/rest/tasks/{id} id=a/b:c"),
            ("/rest/tasks/t-1:cancel", "/rest/tasks/{id}:cancel id=t-1"),
            ("/rest/acme/tasks/t-1:subscribe", "/rest/tasks/{id}:subscribe id=t-1"),
            ("/rest/tasks/tasks", "/rest/tasks/{id} id=tasks"),
            ("/rest/tasks/message:send", "/rest/message:send"),
            (
                "/rest/acme/tasks/t/pushNotificationConfigs",
                "/rest/tasks/{taskId}/pushNotificationConfigs taskId=t",
            ),
            (
                "/rest/tasks/t/pushNotificationConfigs/a:b",
                "/rest/tasks/{taskId}/pushNotificationConfigs/{id} taskId=t id=a:b",
            ),
            ("/rest/extendedAgentCard", "/rest/extendedAgentCard"),
        ] {
            assert_eq!(found(path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_not_quite_a_path_of_ours_is_none() {
        for path in [
            "/rest",
            "/rest/",
            "/rest//tasks",
            "/rest/tasks/",
            "/rest/tasks/:cancel",
            "/rest/tasks/t:frobnicate",
            "/rest/tasks/%ff",
            "/rest/../tasks",
            "/rest/%2e%2e/tasks",
            "/rest/a%2fb/tasks",
            "/rest/a/b/tasks",
            "/restful/tasks",
            "/rest/message",
            "/rest/MESSAGE:send",
        ] {
            assert_eq!(found(path), "nothing", "{path}");
        }
    }
}
