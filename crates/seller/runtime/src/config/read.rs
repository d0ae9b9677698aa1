//! Reads a configuration file and reports every mistake at once.
//!
//! [`toml`] parses the file; the readers of the sections (`sections`, `rooftop` and others)
//! interpret it.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use tradepost_document::json::Value;
use tradepost_document::parse::read_object;
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_document::toml::{self, TomlMistake, Variables};

use super::{Config, DealerConfig};
use values::{items, list};

mod acme;
mod alerts;
mod auth;
mod delivery;
mod feeds;
mod leads;
mod oidc;
mod publisher;
mod rooftop;
mod sections;
mod traces;
mod values;

/// Reads a configuration file's text, with `TRADEPOST_…` overrides from the environment.
///
/// `TRADEPOST_SERVER__LISTEN=0.0.0.0:80` sets `server.listen`, and
/// `TRADEPOST_DEALERS__0__NAME=…` the name of the first dealer: two underscores go one level down.
/// Variables without two underscores belong to other programs and are ignored.
///
/// # Errors
/// Returns every mistake, in the order of the file; those of the environment come last.
pub fn read(text: &str, environment: &[(String, String)]) -> Result<Config, Vec<TomlMistake>> {
    toml::read(text, variables(environment), config)
}

/// Returns the variables of the environment that set what the file says otherwise.
#[must_use]
pub fn variables(environment: &[(String, String)]) -> Variables<'_> {
    Variables { prefix: "TRADEPOST_", all: environment }
}

/// Reads a single dealer from JSON with the keys of a `[[dealers]]` section. It needs hosts,
/// because the process has other dealers too.
///
/// # Errors
/// Returns every mistake, each with its pointer.
pub fn dealer(value: &Value, process: ForAll) -> Result<DealerConfig, Problems> {
    let mut problems = Problems::new();
    let mut dealer = sections::dealer(value, &DocumentPlace::Root, &mut problems);
    if let Some(dealer) = &mut dealer {
        process.complete(dealer, value);
    }
    let at = DocumentPlace::Root.key("hosts");
    let named = items(value, "hosts");
    if named.is_empty() {
        values::reject(&at, &mut problems, "is missing; a dealer among others needs host names");
    }
    check_hosts(named, &at, &mut BTreeSet::new(), &mut problems);
    if !process.asks_for_certificates {
        check_certificates(value, &DocumentPlace::Root, &mut problems);
    }
    problems.into_result(dealer)
}

/// Returns the configuration of the fictional dealer group of `serve --demo`.
#[must_use]
pub fn demo() -> Config {
    read(DEMO, &[]).unwrap_or_else(|_| unreachable!("the demo configuration is tested"))
}

/// Returns the configuration of the fictional publisher of `serve --demo-publisher`.
#[must_use]
pub fn demo_publisher() -> Config {
    read(DEMO_PUBLISHER, &[]).unwrap_or_else(|_| unreachable!("the demo configuration is tested"))
}

const DEMO: &str = include_str!("demo.toml");

const DEMO_PUBLISHER: &str = include_str!("demo-publisher.toml");

fn config(value: &Value, problems: &mut Problems) -> Option<Config> {
    read_object!(value, &DocumentPlace::Root, problems, closed {
        optional "server" => server: sections::server,
        optional "dealers" => dealers: list(1, None, sections::dealer),
        optional "publishers" => publishers: list(1, None, publisher::publisher),
        optional "privacy" => privacy: leads::privacy,
        optional "alerts" => alerts: alerts::alerts,
        optional "traces" => traces: traces::traces,
    });
    let named = |key| value.get(key).is_some();
    let hosting = server.as_ref().is_some_and(|server| server.hosting);
    if !named("dealers") && !named("publishers") && !hosting {
        let at = DocumentPlace::Root.key("dealers");
        values::reject(&at, problems, "is missing; there has to be a dealer or a publisher");
    }
    let mut dealers = dealers.unwrap_or_default();
    let publishers = publishers.unwrap_or_default();
    let privacy = privacy.unwrap_or_default();
    let asks_for_certificates = value.pointer("/server/tls/client_ca").is_some();
    let process = ForAll { asks_for_certificates, retention: privacy.retention };
    let listed = items(value, "dealers");
    // An invalid dealer shortens the list, but then the whole configuration is rejected anyway.
    for (dealer, said) in dealers.iter_mut().zip(listed) {
        process.complete(dealer, said);
    }
    check_sellers(value, hosting, problems);
    for (index, dealer) in listed.iter().enumerate().filter(|_| !asks_for_certificates) {
        check_certificates(dealer, &DocumentPlace::Root.key("dealers").index(index), problems);
    }
    let server = server.unwrap_or_default();
    Some(Config { server, dealers, publishers, privacy, alerts, traces })
}

/// Settings of the process that apply to all dealers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ForAll {
    /// True when clients are asked for certificates (`server.tls.client_ca`).
    pub asks_for_certificates: bool,
    /// Time that leads are kept unless the dealer sets another (`privacy.retention`).
    pub retention: Option<SignedDuration>,
}

impl ForAll {
    fn complete(self, dealer: &mut DealerConfig, said: &Value) {
        if said.pointer("/leads/retention").is_none() {
            dealer.terms.leads.retention = self.retention;
        }
    }
}

/// Rejects certificates of callers when clients are not asked for any.
fn check_certificates(dealer: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) {
    if dealer.pointer("/auth/certificates").is_some() {
        let message = "needs server.tls.client_ca";
        values::reject(&at.key("auth").key("certificates"), problems, message);
    }
}

/// Rejects a host that leads to more than one seller.
fn check_hosts(
    named: &[Value],
    at_hosts: &DocumentPlace<'_>,
    hosts: &mut BTreeSet<String>,
    problems: &mut Problems,
) {
    for (index, host) in named.iter().enumerate() {
        let host = host.as_str().map(str::to_ascii_lowercase);
        if host.is_some_and(|host| !hosts.insert(host)) {
            values::reject(&at_hosts.index(index), problems, "this host name is used already");
        }
    }
}

/// Checks that ids are unique, and that several sellers have hosts that distinguish them.
fn check_sellers(value: &Value, hosting: bool, problems: &mut Problems) {
    // Checks the document and not the parsed sellers: another mistake in a seller must not hide
    // that its host is already taken.
    let dealers = items(value, "dealers");
    let publishers = items(value, "publishers");
    let mut ids = BTreeSet::new();
    let mut hosts = BTreeSet::new();
    let directory = value.get("server").map(|server| items(server, "directory_hosts"));
    let directory = directory.unwrap_or_default();
    let at = &DocumentPlace::Root.key("server");
    check_hosts(directory, &at.key("directory_hosts"), &mut hosts, problems);
    let several = hosting || !directory.is_empty() || dealers.len() + publishers.len() > 1;
    for (key, sellers) in [("dealers", dealers), ("publishers", publishers)] {
        for (index, seller) in sellers.iter().enumerate() {
            let list = DocumentPlace::Root.key(key);
            let at = list.index(index);
            let id = seller.get("id").and_then(Value::as_str);
            if id.is_some_and(|id| !ids.insert(id)) {
                values::reject(&at.key("id"), problems, "another seller has this id already");
            }
            let named = items(seller, "hosts");
            if several && named.is_empty() {
                let message = "is missing; with several sellers each needs its own host names";
                values::reject(&at.key("hosts"), problems, message);
            }
            check_hosts(named, &at.key("hosts"), &mut hosts, problems);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tradepost_dealer::import::Preset;
    use tradepost_document::catalog::Vocabulary as _;
    use tradepost_document::problem::{Keyword, ProblemDetail};

    use super::*;
    use crate::config::TEMPLATE;

    /// Returns the keys of every table: an unknown key that is planted in each table of `text`
    /// makes its reader list the keys that it knows.
    fn known_keys(text: &str) -> Vec<&'static str> {
        let keys = RefCell::new(Vec::new());
        let _ = toml::read(text, Variables::default(), |value, problems| {
            let read = config(value, problems);
            for problem in problems.listed() {
                if problem.keyword == Keyword::AdditionalProperties
                    && let ProblemDetail::Allowed(known) = &problem.extra
                {
                    keys.borrow_mut().extend(*known);
                }
            }
            read
        });
        keys.into_inner()
    }

    /// Returns the keys that a line of the template sets: `key = …`, commented out or not, or the
    /// tables of a header.
    fn keys_of(line: &str) -> Vec<&str> {
        let line = line.strip_prefix("# e.g. ").unwrap_or(line);
        let line = line.strip_prefix('#').unwrap_or(line);
        if let Some(header) = line.strip_prefix('[') {
            return header.trim_matches(['[', ']']).split('.').collect();
        }
        // Inline tables hold keys, too.
        let parts = line.split(['=', '{', ',']).map(str::trim);
        parts
            .filter(|part| {
                part.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
            })
            .collect()
    }

    #[test]
    fn with_hosting_sellers_are_optional_and_each_needs_its_own_hosts() {
        let whole = read("[server]\nhosting = true\n", &[]).unwrap();
        assert!(whole.server.hosting && whole.dealers.is_empty());
        let dealer = "[[dealers]]\nid = \"a\"\nname = \"A\"\n[[dealers.rooftops]]\nname = \"B\"\n";
        let mistakes = |server: &str, more: &str| {
            let text = format!("[server]\n{server}\n{}", dealer.replace("name = \"A\"", more));
            let mistakes = read(&text, &[]).unwrap_err();
            mistakes.iter().map(|mistake| mistake.key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(mistakes("hosting = true", "name = \"A\""), ["dealers[0].hosts"]);
        let directory = "directory_hosts = [\"all.example\"]";
        let taken = mistakes(directory, "name = \"A\"\nhosts = [\"ALL.example\"]");
        assert_eq!(taken, ["dealers[0].hosts[0]"]);
        assert!(read(&format!("[server]\n{dealer}"), &[]).is_ok());
    }

    #[test]
    fn every_key_that_is_known_occurs_in_the_template() {
        let planted = r#"
zz = 0
[server]
zz = 0
tls = { zz = 0, acme = { zz = 0 } }
console = { zz = 0, oidc = { zz = 0, roles = [{ zz = 0 }] } }
[[dealers]]
zz = 0
provider = { zz = 0 }
search = { zz = 0 }
leads = { zz = 0, confirmations = { zz = 0 }, velocity = { zz = 0 }, agents = { zz = 0 } }
rate_limit = { zz = 0 }
auth = { zz = 0, jwt = { zz = 0 }, certificates = [{ zz = 0 }] }
card_signing = { zz = 0 }
deliveries = [{ zz = 0, adf = { zz = 0 } }]
feeds = [{ zz = 0 }]
[[dealers.rooftops]]
zz = 0
geo = { zz = 0 }
emails = [{ zz = 0 }]
address = { zz = 0 }
schedules = { zz = 0, sales = { zz = 0 } }
fees = [{ zz = 0 }]
appointments = { zz = 0 }
[traces]
zz = 0
[alerts]
zz = 0
destinations = [{ zz = 0 }]
[[publishers]]
zz = 0
auth = { zz = 0 }
rates = { zz = 0 }
onboarding = { zz = 0, review = { zz = 0 } }
[[publishers.agents]]
zz = 0
scope = { zz = 0 }
"#;
        let known = known_keys(planted);
        // Every planted table must have answered; a new key whose value is a table has to be
        // planted too.
        assert_eq!(planted.matches("zz").count(), 40);
        assert!(known.len() > 70, "{}", known.len());
        let documented: BTreeSet<_> = TEMPLATE.lines().flat_map(keys_of).collect();
        let missing: Vec<_> = known.iter().filter(|key| !documented.contains(*key)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn the_template_names_every_preset_of_feeds() {
        let words: BTreeSet<_> = TEMPLATE
            .split(|outgoing: char| outgoing != '-' && !outgoing.is_alphanumeric())
            .collect();
        let missing: Vec<_> = Preset::NAMES.iter().filter(|name| !words.contains(*name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
