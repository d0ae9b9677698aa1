//! What an account's subscribers must be beyond their schema. Whether their addresses want what is sent
//! there is for [`proof`](super::proof).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tradepost_wire::adcp::error::{Code, Error};

use crate::announce::EVENTS;
use crate::forms::accounts::NotificationConfig;
use crate::publisher::Publisher;
use crate::refuse;

/// The events of a media buy, which are announced to the address that the buy names.
const OF_BUYS: [&str; 5] = ["scheduled", "final", "delayed", "adjusted", "impairment"];

/// Everything that is wrong with `notification_configs` of a row; paths begin at the row.
pub(super) fn problems(publisher: &Publisher, configs: &[NotificationConfig]) -> Vec<Error> {
    let mut problems = Vec::new();
    for (index, config) in configs.iter().enumerate() {
        let at = |member: &str| format!("notification_configs[{index}].{member}");
        let mut before = configs.iter().take(index);
        if before.any(|other| other.subscriber_id == config.subscriber_id) {
            let message = "this subscriber stands in the list before; name each once";
            problems.push(refuse::invalid(&at("subscriber_id"), message));
        }
        for (place, event) in config.event_types.iter().enumerate() {
            if OF_BUYS.contains(&event.as_str()) {
                let message = "this event belongs to a media buy; ask for it in the media buy's \
                               push_notification_config or reporting_webhook";
                problems.push(refuse::invalid(&at(&format!("event_types[{place}]")), message));
            } else if config.is_active() && !EVENTS.contains(&event.as_str()) {
                let message = "this seller does not announce changes of its feeds; ask for them with \
                               if_wholesale_feed_version, or send the subscriber with active: false";
                let field = at(&format!("event_types[{place}]"));
                problems.push(refuse::at(Code::UnsupportedFeature, &field, message));
            }
        }
        if !is_public(&config.url) && !publisher.world.is_own_machine(&config.url) {
            let message = "the address must be https with a public host name, and without a user";
            problems.push(refuse::invalid(&at("url"), message));
        }
    }
    problems
}

/// Whether an address is https and its host no address of a private network. A host name is looked
/// up when it is called; this is only what can be seen in the name.
fn is_public(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') || authority.contains('\\') {
        return false;
    }
    let host = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => authority.split(':').next().unwrap_or_default(),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => is_public_v4(address),
        Ok(IpAddr::V6(address)) => is_public_v6(address),
        // Numbers in other forms are addresses too, and nobody writes them honestly.
        Err(_) => {
            let last = host.rsplit('.').next().unwrap_or_default();
            let named = last.chars().any(|character| character.is_ascii_alphabetic());
            let reserved = matches!(last, "localhost" | "local" | "internal" | "onion");
            host.contains('.') && named && !last.starts_with("0x") && !reserved
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let shared = first == 100 && (64..128).contains(&second);
    let benchmark = first == 198 && (second == 18 || second == 19);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || first == 0
        || first >= 224
        || shared
        || benchmark)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // Not `to_ipv4_mapped`, which knows one of the two ways to write an address inside the other.
    if let Some(mapped) = address.to_ipv4() {
        return is_public_v4(mapped) && !address.is_loopback();
    }
    let [first, second, ..] = address.segments();
    !(address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || (first == 0x2001 && second == 0x0db8))
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
