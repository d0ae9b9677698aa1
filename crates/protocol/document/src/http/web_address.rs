//! Reads web addresses from untrusted sources: every reader of such an address must see the same
//! host, and that host must be on the public Internet. Names are not resolved here.

use std::net::{IpAddr, Ipv6Addr};

use percent_encoding::percent_decode_str;

use super::address;

/// An absolute address with the scheme `https` or `http`, whose host is in the usual form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebAddress<'a> {
    /// True when the scheme is `https`.
    pub is_https: bool,
    /// The host in lower case, without port; an IPv6 address is in brackets.
    pub host: String,
    /// The host, if it is an IP address and not a name.
    pub ip: Option<IpAddr>,
    /// The network of the host, as far as its name or address tells.
    pub reach: HostReach,
    /// The path with its first slash, without query and fragment; empty if there is none.
    pub path: &'a str,
}

/// The network of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostReach {
    /// The public Internet, unless the name resolves to something else.
    Public,
    /// This machine: `localhost`, or a loopback address.
    ThisMachine,
    /// A private or reserved network.
    Private,
}

/// The reason why a text is not a [`WebAddress`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressProblem {
    /// Not absolute, or with characters that readers treat differently.
    Form,
    /// Scheme other than `https` and `http`.
    Scheme,
    /// User name or password present.
    UserInfo,
    /// Host not in the usual form.
    Host,
    /// Port not a number from 1 to 65535.
    Port,
}

impl<'a> WebAddress<'a> {
    /// Reads an address. A text that two readers could understand as two different hosts is
    /// rejected.
    ///
    /// # Errors
    ///
    /// The first problem, in the order form, scheme, user, port, host.
    pub fn read(text: &'a str) -> Result<Self, AddressProblem> {
        // Some parsers drop tabs and line breaks and read a backslash as a slash; others do not.
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(AddressProblem::Form);
        }
        let (scheme, rest) = text.split_once("://").ok_or(AddressProblem::Form)?;
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return Err(AddressProblem::Scheme);
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, after) = rest.split_at(end);
        // Reject an empty user name too: some readers take the part before `@` for the host.
        if authority.contains('@') {
            return Err(AddressProblem::UserInfo);
        }
        let written_host = host_without_port(authority)?;
        let path = after.split(['?', '#']).next().unwrap_or_default();
        let host = written_host.to_ascii_lowercase();
        if let Some(ip) = literal(&host) {
            if !is_usual_form(&host, ip) {
                return Err(AddressProblem::Host);
            }
            return Ok(Self { is_https, host, ip: Some(ip), reach: reach_of_ip(ip), path });
        }
        let reach = reach_of_name(&host).ok_or(AddressProblem::Host)?;
        Ok(Self { is_https, host, ip: None, reach, path })
    }
}

impl WebAddress<'_> {
    /// The file extension of the path in lower case, percent-decoded.
    #[must_use]
    pub fn extension(&self) -> Option<String> {
        let path = percent_decode_str(self.path).decode_utf8_lossy();
        let file = path.rsplit('/').next()?;
        let (_, extension) = file.rsplit_once('.')?;
        Some(extension.to_ascii_lowercase())
    }
}

/// Returns the host of an authority, and checks the port after it.
fn host_without_port(authority: &str) -> Result<&str, AddressProblem> {
    // Colons before the bracket belong to an IPv6 address.
    let end = authority.rfind(']').unwrap_or_default();
    let Some(colon) = authority.get(end..).and_then(|rest| rest.find(':')) else {
        return Ok(authority);
    };
    let (host, port) = authority.split_at(end + colon);
    let digits = port.strip_prefix(':').unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressProblem::Port);
    }
    match digits.parse::<u16>() {
        Ok(0) | Err(_) => Err(AddressProblem::Port),
        Ok(_) => Ok(host),
    }
}

/// Reads a host as an IP address, with IPv6 in brackets. `None` if it is a name.
#[must_use]
pub fn literal(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok(),
    }
}

/// Returns true if an IP address is in its usual form: IPv4 as four decimal numbers. IPv6 is not
/// ambiguous.
fn is_usual_form(host: &str, ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => host == ip.to_string(),
        IpAddr::V6(_) => true,
    }
}

fn reach_of_ip(ip: IpAddr) -> HostReach {
    if address::is_public(ip) {
        HostReach::Public
    } else if ip.is_loopback() {
        HostReach::ThisMachine
    } else {
        HostReach::Private
    }
}

/// Returns the network of a host name, as far as the name tells; `None` if it is not a full name.
fn reach_of_name(host: &str) -> Option<HostReach> {
    if host == "localhost" {
        return Some(HostReach::ThisMachine);
    }
    let without_dot = host.trim_end_matches('.');
    if without_dot == "localhost" || without_dot.ends_with(".localhost") {
        return Some(HostReach::Private);
    }
    if !is_full_name(host) {
        return None;
    }
    // Name endings of private networks (RFC 6762, RFC 7686, RFC 8375, ICANN 2024).
    let private = [".local", ".internal", ".home.arpa", ".onion"];
    let is_private = private.iter().any(|ending| host.ends_with(ending));
    Some(if is_private { HostReach::Private } else { HostReach::Public })
}

/// Returns true if a name has at least two labels, so that no resolver completes it from its search
/// list.
fn is_full_name(host: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    // No top-level domain starts with a digit, and address parsers read a host that ends in a
    // number as an IPv4 address, whatever its form.
    let last = host.rsplit('.').next().unwrap_or_default();
    host.len() <= 253
        && host.contains('.')
        && host.split('.').all(is_label)
        && last.starts_with(|first: char| first.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_as_every_reader_reads_them() {
        for (text, host, reach) in [
            ("https://Shop.Example/a?b#c", "shop.example", HostReach::Public),
            ("http://shop.example:8080", "shop.example", HostReach::Public),
            ("https://8.8.8.8/", "8.8.8.8", HostReach::Public),
            ("https://[2606:4700::1]/x", "[2606:4700::1]", HostReach::Public),
            ("https://localhost", "localhost", HostReach::ThisMachine),
            ("https://127.0.0.1:1/", "127.0.0.1", HostReach::ThisMachine),
            ("https://[::1]/", "[::1]", HostReach::ThisMachine),
            ("https://169.254.169.254/latest", "169.254.169.254", HostReach::Private),
            ("https://a.localhost/", "a.localhost", HostReach::Private),
            ("https://printer.local", "printer.local", HostReach::Private),
        ] {
            let address = WebAddress::read(text).unwrap();
            assert_eq!((address.host.as_str(), address.reach), (host, reach), "{text}");
        }
    }

    #[test]
    fn ambiguous_addresses_are_refused() {
        for (text, problem) in [
            ("shop.example", AddressProblem::Form),
            ("javascript:alert(1)", AddressProblem::Form),
            ("https://shop.example\\@evil.example", AddressProblem::Form),
            ("https://shop.example/a b", AddressProblem::Form),
            ("https://müller.example", AddressProblem::Form),
            ("javascript://shop.example/%0aalert(1)", AddressProblem::Scheme),
            ("file:///etc/passwd", AddressProblem::Scheme),
            ("ftp://shop.example", AddressProblem::Scheme),
            ("https://user@shop.example", AddressProblem::UserInfo),
            ("https://@shop.example", AddressProblem::UserInfo),
            ("https://shop.example:0", AddressProblem::Port),
            ("https://shop.example:65536", AddressProblem::Port),
            ("https://shop.example:", AddressProblem::Port),
            ("https://", AddressProblem::Host),
            ("https://intern", AddressProblem::Host),
            ("https://shop.example./", AddressProblem::Host),
            ("https://2130706433/", AddressProblem::Host),
            ("https://0x7f.0.0.0x1/", AddressProblem::Host),
            ("https://127.0.0.01/", AddressProblem::Host),
            ("https://{HOST}/x", AddressProblem::Host),
        ] {
            assert_eq!(WebAddress::read(text), Err(problem), "{text}");
        }
    }

    #[test]
    fn paths_end_before_query_and_fragment() {
        for (text, path) in [
            ("https://a.example", ""),
            ("https://a.example?x=/y", ""),
            ("https://a.example/b/c.png?d=/e#f", "/b/c.png"),
        ] {
            assert_eq!(WebAddress::read(text).unwrap().path, path, "{text}");
        }
    }

    #[test]
    fn extensions_are_read_without_percent_encoding() {
        for (text, extension) in [
            ("https://a.example/b/c.PNG?d=e.gif", Some("png")),
            ("https://a.example/c.%65xe", Some("exe")),
            ("https://a.example/c.png%2Fd.exe", Some("exe")),
            ("https://a.example/image", None),
            ("https://a.example", None),
        ] {
            let found = WebAddress::read(text).unwrap().extension();
            assert_eq!(found.as_deref(), extension, "{text}");
        }
    }
}
