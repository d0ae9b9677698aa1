//! Warnings about a configuration: settings that are permitted but risky.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

use tradepost_ad_server::AdServer;
use tradepost_dealer::settings::RooftopSettings;
use tradepost_document::http::own_page::is_loopback_host;
use tradepost_publisher::catalogue::{AdServerTerms, Product};
use tradepost_publisher::profile::PublisherProfile;
use tradepost_runtime::adcp::ad_server;
use tradepost_runtime::adcp::product_findings::{ProductFinding, without_proposals};
use tradepost_runtime::config::{
    Config, ConsoleConfig, DealerConfig, PublisherConfig, ServerConfig,
};

/// Warning about a setting that is permitted but risky.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigWarning {
    /// JSON Pointer of the setting.
    pub(crate) pointer: String,
    /// Problem and advice: a fragment that names the setting.
    pub(crate) message: String,
}

impl ConfigWarning {
    fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// Returns every warning about a configuration.
pub(crate) fn warnings(config: &Config) -> Vec<ConfigWarning> {
    let mut all = Vec::new();
    all.extend(warn_of_operator_listener(&config.server));
    all.extend(warn_of_clear_text(config));
    if let Some(console) = &config.server.console {
        all.extend(warn_of_console_address(console));
        all.extend(warn_of_console_listener(console, &config.server));
    }
    for (index, dealer) in config.dealers.iter().enumerate() {
        for (number, rooftop) in dealer.terms.rooftops.iter().enumerate() {
            let pointer = format!("/dealers/{index}/rooftops/{number}");
            all.extend(warn_of_rooftop(&pointer, dealer, rooftop));
        }
        all.extend(warn_of_answer_time(index, dealer, config));
    }
    for (index, publisher) in config.publishers.iter().enumerate() {
        let pointer = format!("/publishers/{index}/catalogue");
        all.extend(warn_of_products_without_proposals(&pointer, &publisher.profile));
        let pointer = format!("/publishers/{index}/approvals");
        all.extend(warn_of_currencies_without_limit(&pointer, &publisher.profile));
        all.extend(warn_of_products_at_ad_server(index, publisher));
    }
    all.extend(warn_of_key_file(config));
    all
}

/// Warns of products that no proposal can contain, although the catalogue describes proposals.
fn warn_of_products_without_proposals(
    pointer: &str,
    profile: &PublisherProfile,
) -> Vec<ConfigWarning> {
    let warning = |finding: ProductFinding| {
        let product = finding.product_id.unwrap_or_default();
        let message = format!("publisher {}: product {product} {}", profile.id, finding.message);
        ConfigWarning::new(pointer, message)
    };
    without_proposals(&profile.catalogue).into_iter().map(warning).collect()
}

/// Warns of currencies in which one person may approve any amount, although others have a limit.
fn warn_of_currencies_without_limit(
    pointer: &str,
    profile: &PublisherProfile,
) -> Vec<ConfigWarning> {
    if profile.four_eyes.is_empty() {
        return Vec::new();
    }
    let prices = profile.catalogue.products.iter().flat_map(|product| product.prices());
    let currencies: BTreeSet<&str> = prices.map(|price| price.currency()).collect();
    let is_limited =
        |currency: &&str| profile.four_eyes.iter().any(|limit| limit.currency == **currency);
    let unlimited = currencies.into_iter().filter(|currency| !is_limited(currency));
    let warning = |currency: &str| {
        let message = format!(
            "publisher {}: approvals.four_eyes_above has no amount in {currency}, in which the \
             catalogue has prices: one person approves every media buy in {currency}",
            profile.id
        );
        ConfigWarning::new(pointer, message)
    };
    unlimited.map(warning).collect()
}

/// Warns of what a publisher's catalogue lists and its ad server does not do.
fn warn_of_products_at_ad_server(index: usize, publisher: &PublisherConfig) -> Vec<ConfigWarning> {
    let connected = publisher.ad_server.as_ref().map(ad_server::connect);
    let Ok(connected) = connected.transpose() else {
        // Settings that do not fit are mistakes, and are reported as such.
        return Vec::new();
    };
    let ad_server = connected.as_deref();
    let profile = &publisher.profile;
    let pointer = format!("/publishers/{index}/ad_server");
    let targeting = ad_server.and_then(|ad_server| warn_of_targeting(&pointer, profile, ad_server));
    let pointer = format!("/publishers/{index}/catalogue");
    let deals = warn_of_products_without_deals(&pointer, profile, ad_server);
    targeting.into_iter().chain(deals).collect()
}

/// Warns of targeting that the catalogue lists and the ad server does not apply: it is not offered.
fn warn_of_targeting(
    pointer: &str,
    profile: &PublisherProfile,
    ad_server: &dyn AdServer,
) -> Option<ConfigWarning> {
    let beyond = profile.catalogue.targeting.beyond(ad_server.capabilities());
    if beyond.is_empty() {
        return None;
    }
    let message = format!(
        "publisher {}: the ad server does not apply all targeting that the catalogue lists, so that \
         buyers cannot have it: {}",
        profile.id,
        beyond.join(", ")
    );
    Some(ConfigWarning::new(pointer, message))
}

/// Warns of products that nobody can buy, because the ad server makes no line items, or no deals, and of deals
/// on which every seat may bid.
fn warn_of_products_without_deals(
    pointer: &str,
    profile: &PublisherProfile,
    ad_server: Option<&dyn AdServer>,
) -> Vec<ConfigWarning> {
    let id = &profile.id;
    let warning = |product: &Product| {
        let terms = product.terms.ad_server.as_ref()?;
        let message = lack_of(terms, ad_server)?;
        let message = format!("publisher {id}: product {} {message}", product.id());
        Some(ConfigWarning::new(pointer, message))
    };
    profile.catalogue.products.iter().filter_map(warning).collect()
}

/// Returns what a product lacks for an ad server, or for deals.
fn lack_of(terms: &AdServerTerms, ad_server: Option<&dyn AdServer>) -> Option<String> {
    let Some(deal) = &terms.deal else {
        let ad_server = ad_server.filter(|ad_server| !ad_server.capabilities().line_items)?;
        return Some(format!(
            "cannot be bought: the adapter {} makes deals only; add terms.ad_server.deal, or leave out \
             terms.ad_server and set its buys up by hand",
            ad_server.name()
        ));
    };
    let Some(ad_server) = ad_server else {
        let message = "is sold as a deal, and nothing makes deals: set ad_server with the adapter deals, or \
                       make them by hand under the ids that buyers read";
        return Some(message.to_owned());
    };
    if !ad_server.capabilities().deals {
        let adapter = ad_server.name();
        return Some(format!(
            "cannot be bought: the adapter {adapter} makes no deals; leave out terms.ad_server.deal"
        ));
    }
    let message = "is sold as a deal without terms.ad_server.deal.seats: every seat may bid for the \
                   buyer's domain";
    deal.seats.is_empty().then(|| message.to_owned())
}

/// Warns of a time for answers of which nobody is told when it has passed.
fn warn_of_answer_time(
    index: usize,
    dealer: &DealerConfig,
    config: &Config,
) -> Option<ConfigWarning> {
    dealer.terms.leads.answer_within?;
    if config.alerts.is_some() {
        return None;
    }
    let message = format!(
        "dealer {} has leads.answer_within, and nobody is told of leads that wait longer: name \
         somebody in [[alerts.destinations]]",
        dealer.terms.id
    );
    Some(ConfigWarning::new(format!("/dealers/{index}/leads/answer_within"), message))
}

/// Warns of an operators' listener in clear text that shows metrics to everyone who can reach it.
fn warn_of_operator_listener(server: &ServerConfig) -> Option<ConfigWarning> {
    let listen = server.operator_listen.filter(|listen| listen.ip().is_unspecified())?;
    let message = format!(
        "server.operator_listen {listen} is on all interfaces, in clear text: everyone who can \
         connect can read the metrics and try administrator keys; listen on 127.0.0.1 or on an \
         address of a private network"
    );
    Some(ConfigWarning::new("/server/operator_listen", message))
}

/// Warns of a clear text listener that more than a local proxy can reach, while sellers promise
/// https.
fn warn_of_clear_text(config: &Config) -> Option<ConfigWarning> {
    let server = &config.server;
    let is_behind_proxy = server.listen.ip().is_loopback() && server.trust_forwarded_for;
    if server.tls.is_some() || is_behind_proxy {
        return None;
    }
    let of_dealers = config.dealers.iter().map(|dealer| &dealer.public_url).enumerate();
    let of_dealers = of_dealers.map(|(index, url)| (format!("/dealers/{index}/public_url"), url));
    let publishers = config.publishers.iter().map(|publisher| &publisher.public_url).enumerate();
    let of_publishers =
        publishers.map(|(index, url)| (format!("/publishers/{index}/public_url"), url));
    let mut public_urls = of_dealers.chain(of_publishers);
    let (pointer, _) = public_urls.find(|(_, url)| url.as_deref().is_some_and(is_https))?;
    let listen = server.listen;
    let message = format!(
        "public_url is https, but server.listen {listen} answers in clear text: set server.tls, or \
         permit connections only from a TLS proxy on this machine, with listen on 127.0.0.1 and \
         trust_forwarded_for = true"
    );
    Some(ConfigWarning::new(pointer, message))
}

/// Warns of a console without TLS, whose passwords and sessions can be intercepted.
fn warn_of_console_address(console: &ConsoleConfig) -> Option<ConfigWarning> {
    let url = console.public_url.as_deref().filter(|url| !is_https(url))?;
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    if is_loopback_host(authority) {
        return None;
    }
    let message = "server.console.public_url is http: passwords, sessions and customer data can be \
                   read in transit; set up TLS on the proxy and write https, or set server.tls";
    Some(ConfigWarning::new("/server/console/public_url", message))
}

/// Warns of a console listener that can be reached without going through the TLS proxy.
fn warn_of_console_listener(
    console: &ConsoleConfig,
    server: &ServerConfig,
) -> Option<ConfigWarning> {
    let is_promised = console.public_url.as_deref().is_some_and(is_https);
    if !is_promised || server.tls.is_some() || console.listen.ip().is_loopback() {
        return None;
    }
    let message = format!(
        "server.console.public_url is https, but server.console.listen {} answers in clear text to \
         everyone who can connect; listen on 127.0.0.1, where the proxy runs, or set server.tls",
        console.listen
    );
    Some(ConfigWarning::new("/server/console/listen", message))
}

fn is_https(url: &str) -> bool {
    url.starts_with("https://")
}

/// Warns of data that buyers and customers need and a rooftop lacks.
fn warn_of_rooftop(
    pointer: &str,
    dealer: &DealerConfig,
    rooftop: &RooftopSettings,
) -> Vec<ConfigWarning> {
    let profile = &rooftop.profile;
    let missing = [
        (
            profile.phones.is_empty(),
            "phones: customers who are late or have a question cannot call",
        ),
        (profile.timezone.is_none(), "timezone: times are shown in UTC, and nobody can book"),
        (
            rooftop.appointments.types.is_empty(),
            "appointments.types: the server confirms no test drives and visits, and staff must \
             arrange each",
        ),
        (profile.address.is_none(), "address: customers do not learn where to come"),
    ];
    let dealer = &dealer.terms.id;
    let name = &profile.name;
    let mut found = Vec::new();
    for (is_missing, what) in missing {
        if is_missing {
            let message = format!("dealer {dealer}, rooftop {name} has no {what}");
            found.push(ConfigWarning::new(pointer, message));
        }
    }
    found
}

/// Warns of a key of personal data that other users of the machine can read.
fn warn_of_key_file(config: &Config) -> Option<ConfigWarning> {
    let file = config.privacy.key_file.as_ref()?;
    let mode = std::fs::metadata(file).ok()?.permissions().mode();
    let message = "privacy.key_file can be read by other users of this machine";
    (mode & 0o077 != 0).then(|| ConfigWarning::new("/privacy/key_file", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tradepost_runtime::config::TEMPLATE;
    use tradepost_runtime::config::read;

    /// Returns the settings with warnings about a server and a console, with a seller of this
    /// address.
    fn pointers(server: &str, seller: &str) -> Vec<String> {
        let text = format!(
            "[server]\n{server}\n[[publishers]]\nid = \"a\"\nname = \"A\"\n\
             domain = \"a.example\"\n{seller}\n"
        );
        let config = read::read(&text, &[]).unwrap();
        warnings(&config).into_iter().map(|warning| warning.pointer).collect()
    }

    #[test]
    fn listeners_in_clear_text_are_warned_of() {
        let https = "public_url = \"https://a.example\"";
        let of_seller = "/publishers/0/public_url";
        let of_console = "/server/console/listen";
        for (server, seller, expected) in [
            ("operator_listen = \"0.0.0.0:9080\"", "", vec!["/server/operator_listen"]),
            ("operator_listen = \"[::]:9080\"", "", vec!["/server/operator_listen"]),
            ("operator_listen = \"127.0.0.1:9080\"", "", vec![]),
            ("operator_listen = \"10.0.0.7:9080\"", "", vec![]),
            ("listen = \"0.0.0.0:80\"", "", vec![]),
            ("listen = \"0.0.0.0:80\"", "public_url = \"http://a.example\"", vec![]),
            ("listen = \"0.0.0.0:80\"", https, vec![of_seller]),
            ("listen = \"0.0.0.0:80\"\ntrust_forwarded_for = true", https, vec![of_seller]),
            ("listen = \"127.0.0.1:80\"", https, vec![of_seller]),
            ("listen = \"127.0.0.1:80\"\ntrust_forwarded_for = true", https, vec![]),
            ("listen = \"0.0.0.0:80\"\ntls = { certificate = \"c\", key = \"k\" }", https, vec![]),
            (
                "console = { listen = \"127.0.0.1:1\", public_url = \"http://d.example\" }",
                "",
                vec!["/server/console/public_url"],
            ),
            (
                "console = { listen = \"127.0.0.1:1\", public_url = \"http://localhost:1\" }",
                "",
                vec![],
            ),
            ("console = { listen = \"127.0.0.1:1\", public_url = \"http://[::1]:1\" }", "", vec![]),
            (
                "console = { listen = \"127.0.0.1:1\", public_url = \"http://localhost.example.com\" }",
                "",
                vec!["/server/console/public_url"],
            ),
            (
                "console = { listen = \"127.0.0.1:1\", public_url = \"http://127.0.0.1.example.com:1\" }",
                "",
                vec!["/server/console/public_url"],
            ),
            (
                "console = { listen = \"127.0.0.1:1\", public_url = \"https://d.example\" }",
                "",
                vec![],
            ),
            (
                "console = { listen = \"0.0.0.0:1\", public_url = \"https://d.example\" }",
                "",
                vec![of_console],
            ),
        ] {
            assert_eq!(pointers(server, seller), expected, "{server}; {seller}");
        }
    }

    #[test]
    fn products_without_proposals_are_named_with_the_reason() {
        let mut config =
            read::read("[[publishers]]\nid = \"a\"\nname = \"A\"\ndomain = \"a.example\"\n", &[])
                .unwrap();
        config.publishers[0].profile.catalogue = tradepost_demo::publisher::catalogue();
        let messages: Vec<String> =
            warnings(&config).into_iter().map(|warning| warning.message).collect();
        let approved = "publisher a: product front_page_day is in no proposal, because a person \
                        approves each purchase of it";
        assert!(messages.iter().any(|message| message == approved), "{messages:?}");
        assert!(messages.iter().any(|message| message.ends_with("it has no fixed price")));
        assert!(!messages.iter().any(|message| message.contains("morning_letter")));
    }

    #[test]
    fn what_a_dealer_will_regret_is_warned_of() {
        let config = read::read(TEMPLATE, &[]).unwrap();
        let messages: Vec<String> =
            warnings(&config).into_iter().map(|warning| warning.message).collect();
        assert_eq!(
            messages,
            [
                "dealer my-dealership, rooftop My Dealership has no phones: customers who are late \
                 or have a question cannot call",
                "dealer my-dealership, rooftop My Dealership has no timezone: times are shown in \
                 UTC, and nobody can book",
                "dealer my-dealership, rooftop My Dealership has no appointments.types: the \
                 server confirms no test drives and visits, and staff must arrange each",
                "dealer my-dealership, rooftop My Dealership has no address: customers do not \
                 learn where to come",
            ]
        );
    }
}
