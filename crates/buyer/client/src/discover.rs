//! Discovery of an agent: finds its card, reads it, and checks that the address it names may be used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;
use tradepost_a2a::card::WELL_KNOWN_PATH;

use crate::card::{SellerCard, SellerInterface};
use crate::failure::{BadAddress, CallFailure, Defect, Unsent};
use crate::text::decoded;
use crate::transport::{HttpTransport, Response};

/// Card and where it came from.
#[derive(Debug, Clone)]
pub struct Discovered {
    /// Address of the card.
    pub url: Url,
    /// Entity tag of the card, as sent.
    pub etag: Option<String>,
    /// Card.
    pub card: SellerCard,
    /// True when a trusted key has signed the card ([`Self::with_verdicts`]). A token may then be sent to
    /// every host that the card names.
    pub is_signed: bool,
}

/// Fetches the card of the agent at `address`: a base address, or that of the card itself when it ends in
/// `.json`. With an earlier result, the server is asked whether that still holds.
///
/// # Errors
/// The failure to get a card. Whether the agent supports AAP is checked by [`SellerCard::choose`].
// D-06
pub async fn discover(
    transport: &HttpTransport,
    address: &str,
    before: Option<&Discovered>,
) -> Result<Discovered, CallFailure> {
    let url = card_url(address)?;
    let before = before.filter(|before| before.url == url);
    let etag = before.and_then(|before| before.etag.as_deref());
    let response = transport.get(&url, etag).await?;
    if response.status == 304
        && let Some(before) = before
    {
        // Keys may have been withdrawn since the signatures were verified.
        return Ok(Discovered { is_signed: false, ..before.clone() });
    }
    read(url, response)
}

/// Fetches the card of the agent at `address` past all caches on the way.
///
/// # Errors
/// As [`discover`].
pub async fn discover_anew(
    transport: &HttpTransport,
    address: &str,
) -> Result<Discovered, CallFailure> {
    let url = card_url(address)?;
    let response = transport.get_anew(&url).await?;
    read(url, response)
}

/// Reads the card in an answer.
pub(crate) fn read(url: Url, response: Response) -> Result<Discovered, CallFailure> {
    if !response.is_success() {
        return Err(response.refused());
    }
    let defect = match decoded(&response.body) {
        None => Defect::NotUtf8,
        Some(text) if text.trim_ascii().is_empty() => Defect::Empty,
        Some(text) => match SellerCard::read(text) {
            Ok(card) => {
                let etag = response.etag;
                return Ok(Discovered { url, etag, card, is_signed: false });
            }
            Err(Some(why)) => Defect::NotACard(why),
            Err(None) => Defect::NotJson,
        },
    };
    Err(CallFailure::garbled(defect, response.kept()))
}

/// Returns the address of the card of the agent at `address`. Without a scheme it is `https`, or `http` for
/// this machine or its network.
///
/// # Errors
/// When the address cannot be used.
pub fn card_url(address: &str) -> Result<Url, CallFailure> {
    let mut url = based(address)?;
    if !url.path().ends_with(".json") {
        let path = format!("{}{WELL_KNOWN_PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url.set_query(None);
    }
    Ok(url)
}

/// Reads an address as people write it, with or without a scheme.
pub(crate) fn based(address: &str) -> Result<Url, CallFailure> {
    let address = address.trim();
    let text = if address.contains("://") {
        address.to_owned()
    } else {
        let secure = format!("https://{address}");
        match Url::parse(&secure) {
            Ok(url) if is_local(&url) => format!("http://{address}"),
            Ok(_) | Err(_) => secure,
        }
    };
    usable(&text).map_err(|why| CallFailure::address(&without_credentials(&text), why))
}

/// Returns the address of an interface if it may be used: a card may lead neither from `https` to `http` nor
/// from a public host into a private network.
///
/// # Errors
/// When the address cannot be used.
pub fn endpoint(card: &Url, interface: &SellerInterface) -> Result<Url, CallFailure> {
    let checked = check_link(card, &interface.url).map_err(|unsafe_link| match unsafe_link {
        UnsafeLink::Unusable(why) => why,
        UnsafeLink::Plain => "is not https although the card is",
        UnsafeLink::Private => "is in a private network although the card is not",
    });
    checked.map_err(|why| {
        CallFailure::Unsent(Unsent::Address(BadAddress {
            url: without_credentials(&interface.url),
            from_card: true,
            why,
        }))
    })
}

/// Reason why an address in a document may not be followed.
pub(crate) enum UnsafeLink {
    /// The address cannot be used.
    Unusable(&'static str),
    /// The address leads from TLS to clear text.
    Plain,
    /// The address leads into a private network.
    Private,
}

/// Checks an address that the document at `from` names.
pub(crate) fn check_link(from: &Url, to: &str) -> Result<Url, UnsafeLink> {
    let url = usable(to).map_err(UnsafeLink::Unusable)?;
    if from.scheme() == "https" && url.scheme() != "https" {
        Err(UnsafeLink::Plain)
    } else if is_local(&url) && !is_local(from) {
        Err(UnsafeLink::Private)
    } else {
        Ok(url)
    }
}

pub(crate) fn usable(text: &str) -> Result<Url, &'static str> {
    let mut url = Url::parse(text).map_err(|_| "is not a valid address")?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("is neither http nor https");
    }
    if !url.has_host() {
        return Err("has no host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("contains credentials; give a token instead");
    }
    // A fragment is never sent, and would make two addresses of one.
    url.set_fragment(None);
    Ok(url)
}

/// Returns the address without credentials, for display.
pub(crate) fn without_credentials(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else {
        // Text that cannot be parsed may hold a password before an `@`.
        return if text.contains('@') { "given".to_owned() } else { text.to_owned() };
    };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// Returns true when a host, as written in addresses, is this machine, so that traffic to it cannot be intercepted.
#[must_use]
pub fn is_this_machine(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Returns true when the host is this machine or in a private network, as far as its spelling tells.
#[must_use]
pub fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => is_local_v4(ip),
        Ok(IpAddr::V6(ip)) => match ip.to_ipv4_mapped() {
            Some(ip) => is_local_v4(ip),
            None => ip == Ipv6Addr::LOCALHOST || ip.is_unspecified() || is_local_v6(ip),
        },
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn is_local_v4(ip: Ipv4Addr) -> bool {
    let [first, second, ..] = ip.octets();
    ip.is_loopback()
        || ip.is_private()
        || ip.is_link_local()
        || first == 0
        // RFC 6598, shared address space.
        || (first == 100 && (64..128).contains(&second))
}

fn is_local_v6(ip: Ipv6Addr) -> bool {
    ip.is_unique_local() || ip.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{CannedReply, Fake, MAX_BODY, transport};

    #[test]
    fn the_card_is_found_by_base_address_or_its_own() {
        for (address, expected) in [
            ("https://a.example", "https://a.example/.well-known/agent-card.json"),
            ("a.example/", "https://a.example/.well-known/agent-card.json"),
            (
                "https://a.example/d/acme/?x=1#y",
                "https://a.example/d/acme/.well-known/agent-card.json",
            ),
            ("https://a.example/my.json?x=1", "https://a.example/my.json?x=1"),
            ("localhost:8080", "http://localhost:8080/.well-known/agent-card.json"),
            ("127.0.0.1:8080/d/x", "http://127.0.0.1:8080/d/x/.well-known/agent-card.json"),
        ] {
            assert_eq!(card_url(address).unwrap().as_str(), expected, "{address}");
        }
    }

    #[test]
    fn addresses_that_cannot_be_used_are_refused_without_showing_credentials() {
        for address in ["", "ftp://a.example", "https://", "https://u:secret@a.example", "a b"] {
            let failure = card_url(address).unwrap_err();
            assert!(matches!(failure, CallFailure::Unsent(_)), "{address}");
            assert!(!failure.to_string().contains("secret"), "{failure}");
        }
    }

    #[test]
    fn no_card_leads_out_of_tls_or_into_private_networks() {
        let check = |card: &str, url: &str| {
            let interface = SellerInterface {
                url: url.to_owned(),
                binding: "JSONRPC".to_owned(),
                protocol_version: "1.0".to_owned(),
                tenant: None,
            };
            endpoint(&Url::parse(card).unwrap(), &interface).is_ok()
        };
        assert!(check("https://a.example", "https://b.example/a2a"));
        assert!(check("http://localhost:1", "http://127.0.0.1:2/a2a"));
        assert!(check("http://10.0.0.1", "http://10.0.0.2/a2a"));
        assert!(!check("https://a.example", "http://a.example/a2a"));
        for host in [
            "127.1",
            "10.0.0.1",
            "169.254.169.254",
            "[::1]",
            "[::ffff:10.0.0.1]",
            "localhost",
            "x.localhost.",
            "[fd00::1]",
            "100.64.0.1",
            "0.0.0.0",
        ] {
            assert!(!check("https://a.example", &format!("https://{host}/a2a")), "{host}");
        }
    }

    #[test]
    fn a_card_that_has_not_changed_is_kept() {
        let body = r#"{"name": "A", "skills": []}"#;
        let fake = Fake::start(vec![
            CannedReply::http(200, &[("etag", "\"v1\"")], body),
            CannedReply::http(304, &[], ""),
        ]);
        fake.run(async {
            let transport = transport();
            let first = discover(&transport, &fake.url, None).await.unwrap();
            assert_eq!(first.etag.as_deref(), Some("\"v1\""));
            let second = discover(&transport, &fake.url, Some(&first)).await.unwrap();
            assert_eq!(second.card.raw.get(), body);
        });
        let requests = fake.requests();
        assert!(requests[0].starts_with("GET /.well-known/agent-card.json HTTP/1.1\r\n"));
        assert!(!requests[0].contains("if-none-match"));
        assert!(requests[1].contains("if-none-match: \"v1\"\r\n"));
    }

    #[test]
    fn answers_that_are_no_card_are_told_apart() {
        let long = " ".repeat(MAX_BODY + 1);
        let deep = "[".repeat(60_000);
        for (reply, expected) in [
            (CannedReply::http(200, &[], ""), "the answer is empty"),
            (CannedReply::http(200, &[], "<html></html>"), "the answer is not valid JSON"),
            (CannedReply::http(200, &[], &deep), "the answer is not valid JSON"),
            (
                CannedReply::http(200, &[], "[]"),
                "the answer is no agent card: it is not a JSON object",
            ),
            (CannedReply::http(200, &[], &long), "the answer is larger than 65536 bytes"),
            (CannedReply::http(404, &[], "<html>"), "the server answers with HTTP 404"),
            (CannedReply::http(304, &[], ""), "the server answers with HTTP 304"),
            (
                CannedReply::http(302, &[("location", "https://b.example/\u{202e}x")], ""),
                "the answer is a redirect, which is not followed: https://b.example/x",
            ),
        ] {
            let fake = Fake::start(vec![reply]);
            let failure = fake.run(discover(&transport(), &fake.url, None)).unwrap_err();
            assert_eq!(failure.to_string(), expected);
        }
    }

    #[test]
    fn nobody_there_means_that_nothing_was_sent() {
        let url = Fake::start(vec![]).url.clone();
        let fake = Fake::start(vec![]);
        let failure = fake.run(discover(&transport(), &url, None)).unwrap_err();
        assert!(matches!(failure, CallFailure::Unsent(Unsent::Unreachable(_))), "{failure:?}");
    }
}
