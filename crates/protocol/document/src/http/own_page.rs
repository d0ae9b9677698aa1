//! Distinguishes pages of a server on the same machine from other pages, by the headers `Origin` and `Host`.

/// Host names that always lead to the same machine, as `Host` writes them.
pub const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Returns true when a request comes from a page that the server has served on its own machine: its origin is the
/// called host and port, and that host is a loopback address. A page of another host whose name resolves to this
/// machine (DNS rebinding) names that host in both headers.
#[must_use]
pub fn is_own_loopback_page(origin: &[u8], host: &str) -> bool {
    let Ok(origin) = std::str::from_utf8(origin) else { return false };
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let is_web = ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme));
    is_web && authority.eq_ignore_ascii_case(host) && is_loopback_host(host)
}

/// Returns true when the value of `Host` is a name of the loopback address, with or without a port.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let name = host_name(host);
    LOOPBACK_HOSTS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns the value of `Host` without its port.
#[must_use]
pub fn host_name(host: &str) -> &str {
    match host.rsplit_once(':') {
        // An IPv6 address has colons of its own.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_loopback_origin_equal_to_the_host_is_ours() {
        for (origin, host, expected) in [
            ("http://localhost:8090", "localhost:8090", true),
            ("http://LOCALHOST:8090", "localhost:8090", true),
            ("https://127.0.0.1:8090", "127.0.0.1:8090", true),
            ("http://[::1]:8090", "[::1]:8090", true),
            ("http://localhost", "localhost", true),
            ("http://localhost:3000", "localhost:8090", false),
            ("http://localhost:8090", "127.0.0.1:8090", false),
            ("http://evil.example:8090", "evil.example:8090", false),
            ("http://localhost.evil.example", "localhost.evil.example", false),
            ("http://localhost:8090.evil.example", "localhost:8090.evil.example", false),
            ("http://evil.example:80@localhost:8090", "localhost:8090", false),
            ("ftp://localhost:8090", "localhost:8090", false),
            ("null", "localhost:8090", false),
            ("localhost:8090", "localhost:8090", false),
            ("", "", false),
        ] {
            let found = is_own_loopback_page(origin.as_bytes(), host);
            assert_eq!(found, expected, "{origin} at {host}");
        }
        assert!(!is_own_loopback_page(b"http://localhost\xff", "localhost"));
    }
}
