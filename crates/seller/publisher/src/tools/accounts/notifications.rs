//! Checks of an account's subscribers beyond their schema. [`proof`](super::proof) checks that their
//! addresses accept notifications.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::http::web_address::{HostReach, WebAddress};

use crate::forms::accounts::NotificationConfig;
use crate::notifications::EVENTS;
use crate::publisher::Publisher;
use crate::refusals;

/// Events of media buys, which are sent to the address that the media buy names.
const OF_BUYS: [&str; 5] = ["scheduled", "final", "delayed", "adjusted", "impairment"];

/// Returns all problems of a row's `notification_configs`; paths begin at the row.
pub(super) fn problems(publisher: &Publisher, configs: &[NotificationConfig]) -> Vec<AdcpError> {
    let mut problems = Vec::new();
    for (index, config) in configs.iter().enumerate() {
        let at = |member: &str| format!("notification_configs[{index}].{member}");
        let mut before = configs.iter().take(index);
        if before.any(|other| other.subscriber_id == config.subscriber_id) {
            let message = "this subscriber stands in the list before; name each once";
            problems.push(refusals::invalid(&at("subscriber_id"), message));
        }
        for (place, event) in config.event_types.iter().enumerate() {
            if OF_BUYS.contains(&event.as_str()) {
                let message = "this event belongs to a media buy; ask for it in the media buy's \
                               push_notification_config or reporting_webhook";
                problems.push(refusals::invalid(&at(&format!("event_types[{place}]")), message));
            } else if config.is_active() && !EVENTS.contains(&event.as_str()) {
                let message = "this seller does not announce changes of its feeds; ask for them with \
                               if_wholesale_feed_version, or send the subscriber with active: false";
                let field = at(&format!("event_types[{place}]"));
                problems.push(refusals::at(AdcpCode::UnsupportedFeature, &field, message));
            }
        }
        if !is_public(&config.url) && !publisher.services.is_own_machine(&config.url) {
            let message = "the address must be https with a public host name, and without a user";
            problems.push(refusals::invalid(&at("url"), message));
        }
    }
    problems
}

/// Returns true for an https address whose host is public by its name. The name is resolved only
/// when the address is called.
fn is_public(url: &str) -> bool {
    WebAddress::read(url)
        .is_ok_and(|address| address.is_https && address.reach == HostReach::Public)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_private_networks_are_no_addresses_of_subscribers() {
        let public = ["https://b.example/x?y", "https://b.example:9443", "https://8.8.8.8/a"];
        for url in public {
            assert!(is_public(url), "{url}");
        }
        let private = [
            "http://b.example",
            "https://localhost",
            "https://a.localhost/",
            "https://intern",
            "https://127.0.0.1",
            "https://10.1.2.3:8443/x",
            "https://169.254.169.254/latest",
            "https://100.64.0.1",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fd00::1]:1/",
            "https://user@b.example",
            "https://2130706433/",
            "https://0x7f.0.0.0x1/",
            "https://b.example\\@evil.example",
            "https://",
        ];
        for url in private {
            assert!(!is_public(url), "{url}");
        }
    }
}
