//! Checks from the point of view of agents: host names, their certificates, and the agent card at each
//! address. The card is requested twice, at its public address and where the server listens, and must be
//! the same.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use jiff::{SignedDuration, Timestamp};
use reqwest::{Client, Url, redirect};
use tradepost_client::discover::is_this_machine;
use tradepost_client::transport::innermost;
use tradepost_document::http::date;
use tradepost_document::json::{self, Value};
use tradepost_runtime::acme;
use tradepost_runtime::config::acme::Acme;
use tradepost_server::tls::peer::PeerError;
use tradepost_server::tls::{self, peer};

use super::{
    Area, CheckOutcome, DoctorFinding, Examiner, FindingSubject, RunningChecks, judge_end,
};

/// Path of an agent card (A2A §8.2).
const CARD_PATH: &str = "/.well-known/agent-card.json";

/// Maximum size of a card in bytes.
const MAX_CARD_BYTES: usize = 1024 * 1024;

/// An address at which agents reach a dealer or publisher.
#[derive(Debug, Clone)]
struct AgentAddress {
    seller: String,
    base: Url,
}

impl Examiner {
    pub(super) fn check_reachability(&self, checks: &mut RunningChecks) {
        self.check_certificate(checks);
        let mut hosts: Vec<String> = Vec::new();
        for agent_address in self.agent_addresses(checks) {
            let host = agent_address.base.host_str().unwrap_or_default().to_owned();
            if host.parse::<IpAddr>().is_err() && !host.starts_with('[') && !hosts.contains(&host) {
                let about = FindingSubject::new(Area::Dns, &host);
                checks.begin(about.clone(), async move { name(&about).await.into() });
                hosts.push(host);
            }
            let about = FindingSubject::new(
                Area::Card,
                format!("{} at {}", agent_address.seller, agent_address.base),
            );
            let examiner = self.clone();
            checks.begin(about.clone(), async move { examiner.card(&about, &agent_address).await });
        }
    }

    /// Returns the addresses of the dealers and publishers; one without an address is reported.
    fn agent_addresses(&self, checks: &mut RunningChecks) -> Vec<AgentAddress> {
        let server = &self.config.server;
        let origin = server.origin(self.inside());
        let port = if server.tls.is_some() { server.listen.port() } else { 443 };
        let dealers = self.config.dealers.iter();
        let dealers = dealers.map(|dealer| (&dealer.terms.id, &dealer.public_url, &dealer.hosts));
        let publishers = self.config.publishers.iter();
        let publishers = publishers.map(|publisher| {
            (&publisher.profile.id, &publisher.public_url, &publisher.front.hosts)
        });
        let mut agent_addresses: Vec<AgentAddress> = Vec::new();
        for (id, public_url, hosts) in dealers.chain(publishers) {
            let at_host = |host: &String| match port {
                443 => format!("https://{host}"),
                port => format!("https://{host}:{port}"),
            };
            // The public address covers its own host.
            let is_public = |host: &&String| {
                let public = public_url.as_deref().and_then(|url| Url::parse(url).ok());
                public.is_some_and(|url| url.host_str() == Some(host.as_str()))
            };
            let mut addresses: Vec<String> = public_url.iter().cloned().collect();
            addresses.extend(hosts.iter().filter(|host| !is_public(host)).map(at_host));
            if addresses.is_empty() {
                let about = FindingSubject::new(Area::Card, id);
                let says = "neither public_url nor hosts is set, so agents outside cannot find it";
                let hint = "set public_url to its public address";
                let finding = about.warning(says, hint);
                checks.begin(about, async move { finding.into() });
                addresses.push(origin.to_string());
            }
            let agent_address = |base: &String| {
                Some(AgentAddress { seller: id.clone(), base: Url::parse(base).ok()? })
            };
            agent_addresses.extend(addresses.iter().filter_map(agent_address));
        }
        agent_addresses
    }

    /// Returns the address of the server on this machine.
    fn inside(&self) -> SocketAddr {
        on_this_machine(self.config.server.listen)
    }

    /// Checks our own certificate from its files.
    fn check_certificate(&self, checks: &mut RunningChecks) {
        let Some(files) = self.config.server.tls.clone() else { return };
        let acme = self.config.server.acme.clone();
        let key = if acme.is_some() { "server.tls.acme" } else { "server.tls.certificate" };
        let about = FindingSubject::new(Area::Tls, key);
        let now = self.now();
        let config = self.config.clone();
        checks.begin_blocking(about.clone(), move || {
            let failed = acme.as_ref().and_then(|acme| failed_order(&about, acme));
            let is_ordered = acme.as_ref().is_some_and(|acme| !acme.file().exists());
            if is_ordered {
                let hint = "start the server: it orders one";
                let none = || about.bad("no certificate has been issued yet", hint);
                return vec![failed.unwrap_or_else(none)].into();
            }
            let loaded = match tls::load(&files) {
                Ok(loaded) => loaded,
                Err(mistakes) => {
                    let hint =
                        "the files have to be PEM; paths are relative to the working directory";
                    let bad =
                        |mistake: &tls::TlsFileError| about.bad(mistake.message.clone(), hint);
                    return mistakes.iter().map(bad).collect::<Vec<_>>().into();
                }
            };
            let mut findings = vec![judge_end(&about, loaded.expires_at, now)];
            findings.extend(failed);
            let dealers = config.dealers.iter().flat_map(|dealer| &dealer.hosts);
            let hosts = config.publishers.iter().flat_map(|publisher| &publisher.front.hosts);
            for host in dealers.chain(hosts) {
                let covers =
                    loaded.certificate.as_ref().is_some_and(|leaf| peer::is_for(leaf, host));
                if !covers {
                    let hint = match acme.is_some() {
                        true => "add every name of `hosts` to server.tls.acme.domains",
                        false => "have the certificate issued for every name of `hosts`",
                    };
                    findings.push(about.bad(format!("is not for {host}"), hint));
                }
            }
            findings.into()
        });
    }

    async fn card(&self, about: &FindingSubject, agent_address: &AgentAddress) -> CheckOutcome {
        let mut seen = CheckOutcome::default();
        let host = agent_address.base.host_str().unwrap_or_default().to_owned();
        if agent_address.base.scheme() == "https" {
            let tls = FindingSubject::new(Area::Tls, &host);
            let port = agent_address.base.port_or_known_default().unwrap_or(443);
            match peer::look(&host, port, true).await {
                Ok(shown) => {
                    let end = shown.and_then(|shown| shown.expires_at);
                    seen.findings.push(judge_end(&tls, end, self.now()));
                }
                Err(PeerError::Untrusted(why)) => {
                    let hint = "install a certificate that agents trust, for this name, with the whole \
                                chain";
                    seen.findings.push(tls.bad(format!("not trusted: {why}"), hint));
                }
                // The request for the card reports it.
                Err(PeerError::Unreachable(_)) => {}
            }
        } else if !is_this_machine(&host) {
            let tls = FindingSubject::new(Area::Tls, &host);
            let hint = "set up TLS, with [server.tls] or a proxy, and use https in public_url";
            seen.findings.push(tls.warning("its address does not use TLS", hint));
        }
        let outside = fetch(&agent_address.base, None, self).await;
        let outside = match outside {
            Ok(outside) => outside,
            Err(why) => {
                let hint = if is_this_machine(&host)
                    && agent_address.base.port() == Some(self.inside().port())
                {
                    "check that the server runs: `tradepost serve`"
                } else {
                    "check that the name resolves to this server or its proxy, and that the proxy forwards the \
                     Host header"
                };
                seen.findings.push(about.bad(why, hint));
                return seen;
            }
        };
        if let Some(ahead) = outside.ahead
            && !is_this_machine(&host)
        {
            seen.clocks.push((host.clone(), ahead));
        }
        // With the same host name, by which the server chooses the agent.
        let mut address = agent_address.base.clone();
        let is_secure = self.config.server.tls.is_some();
        let scheme = if is_secure { "https" } else { "http" };
        let changed = address.set_scheme(scheme).is_ok()
            && address.set_port(Some(self.inside().port())).is_ok();
        address.set_path("");
        let inside = match changed {
            true => fetch(&address, Some(self.inside()), self).await,
            false => Err("the server has no address on this machine".to_owned()),
        };
        seen.findings.push(compare(about, &outside, inside, self.inside()));
        seen
    }
}

/// Returns the address at which a server that listens so is reached on its own machine.
pub(crate) fn on_this_machine(listen: SocketAddr) -> SocketAddr {
    let here: IpAddr = match listen.ip() {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    let ip = if listen.ip().is_unspecified() { here } else { listen.ip() };
    SocketAddr::new(ip, listen.port())
}

/// Returns a finding when the last order of a certificate failed.
fn failed_order(about: &FindingSubject, acme: &Acme) -> Option<DoctorFinding> {
    let history = acme::history(acme);
    let code = history.code.filter(|_| history.failures > 0)?;
    let times = history.failures;
    let says = format!(
        "{times} orders have failed, the last one with {code}: {}",
        history.says.join("; ")
    );
    Some(about.bad(says, code.hint()))
}

fn compare(
    about: &FindingSubject,
    outside: &Fetched,
    inside: Result<Fetched, String>,
    listen: SocketAddr,
) -> DoctorFinding {
    let name = |card: &Value| {
        card.get("name").and_then(Value::as_str).unwrap_or("without a name").to_owned()
    };
    match inside {
        Ok(inside) if unsigned(&inside.card) == unsigned(&outside.card) => {
            about.ok("reached, and it is the card of this server")
        }
        Ok(inside) => about.bad(
            format!(
                "another card is at this address ({}) than this server has ({})",
                name(&outside.card),
                name(&inside.card)
            ),
            "check what the name resolves to, and the proxies before the server; a cache may have an older card",
        ),
        Err(why) => about.warning(
            format!(
                "a card is at this address ({}), but no server on {listen} to compare it with: {why}",
                name(&outside.card)
            ),
            "run this on the machine of the server, while the server runs",
        ),
    }
}

/// Removes the signatures of a card, which differ between replicas.
fn unsigned(card: &Value) -> Value {
    let mut card = card.clone();
    if let Some(members) = card.as_object_mut() {
        members.shift_remove("signatures");
    }
    card
}

/// A card, and the time by which the answering clock is ahead.
struct Fetched {
    card: Value,
    ahead: Option<SignedDuration>,
}

/// Requests a card, at the address `instead` if given and otherwise where the name leads.
async fn fetch(
    base: &Url,
    instead: Option<SocketAddr>,
    examiner: &Examiner,
) -> Result<Fetched, String> {
    let tls = tradepost_tls::client_config(&[]).map_err(|error| error.to_string())?;
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("tradepost-doctor/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .http1_only()
        .timeout(examiner.check_timeout);
    let host = base.host_str().unwrap_or_default();
    let is_name = host.parse::<IpAddr>().is_err() && !host.starts_with('[');
    let mut url = base.clone();
    if let Some(address) = instead {
        builder = builder.resolve(host, address);
        if !is_name {
            let moved = url.set_ip_host(address.ip()).is_ok();
            if !moved {
                return Err("the server has no address on this machine".to_owned());
            }
        }
    }
    let client = builder.build().map_err(|error| innermost(&error))?;
    let path = format!("{}{CARD_PATH}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    let asked = examiner.now();
    let mut response = client.get(url).send().await.map_err(|error| innermost(&error))?;
    let status = response.status();
    let stated = response.headers().get(reqwest::header::DATE);
    let stated = stated.and_then(|value| date::read(value.to_str().ok()?));
    // The date of a cached answer is too old.
    let is_fresh = response.headers().get(reqwest::header::AGE).is_none();
    let ahead = stated.filter(|_| is_fresh).map(|stated| ahead(stated, asked, examiner.now()));
    if !status.is_success() {
        return Err(format!("the answer has the status {}", status.as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| innermost(&error))? {
        if body.len() + chunk.len() > MAX_CARD_BYTES {
            return Err("the answer is too large for a card".to_owned());
        }
        body.extend_from_slice(&chunk);
    }
    let card = json::from_slice::<Value>(&body);
    let card = card.ok().filter(|card| card.get("name").is_some());
    let card = card.ok_or_else(|| "the answer is not an agent card".to_owned())?;
    Ok(Fetched { card, ahead })
}

/// Returns the time by which a clock is ahead that showed `stated` at some moment between two of ours.
/// `stated` has no fractions of a second.
fn ahead(stated: Timestamp, asked: Timestamp, answered: Timestamp) -> SignedDuration {
    let next = stated.saturating_add(SignedDuration::from_secs(1)).unwrap_or(stated);
    if next < asked {
        next.duration_since(asked)
    } else if stated > answered {
        stated.duration_since(answered)
    } else {
        SignedDuration::ZERO
    }
}

/// Resolves a host name.
async fn name(about: &FindingSubject) -> DoctorFinding {
    let hint =
        "set the DNS records of the name to this server or its proxy; changes take time to spread";
    let host = about.subject.as_str();
    match tokio::net::lookup_host((host, 443)).await {
        Err(error) => about.bad(format!("does not resolve: {error}"), hint),
        Ok(addresses) => {
            let mut addresses: Vec<IpAddr> = addresses.map(|address| address.ip()).collect();
            addresses.sort_unstable();
            addresses.dedup();
            let listed: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let says = format!("resolves to {}", listed.join(", "));
            let is_inside = |ip: &IpAddr| match ip {
                IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
                IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local(),
            };
            if addresses.is_empty() {
                about.bad("does not resolve", hint)
            } else if host != "localhost" && addresses.iter().all(is_inside) {
                about.warning(format!("{says}: not reachable from outside"), hint)
            } else {
                about.ok(says)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_without_fractions_names_its_whole_second() {
        let at = |text: &str| -> Timestamp { format!("2026-04-30T12:00:{text}Z").parse().unwrap() };
        for (stated, asked, answered, seconds) in [
            ("10", "10.9", "10.95", 0),
            ("10", "09.9", "10.2", 0),
            ("10", "13.0", "13.1", -2),
            ("20", "10.0", "12.0", 8),
        ] {
            assert_eq!(
                ahead(at(stated), at(asked), at(answered)).as_secs(),
                seconds,
                "{stated} {asked}"
            );
        }
    }
}
