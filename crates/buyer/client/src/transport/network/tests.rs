use super::*;

fn network(variables: &[(&'static str, &'static str)]) -> Result<Network, BadProxy> {
    Network::default().with_proxies(|wanted| {
        let found = variables.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, value)| *value)
    })
}

#[test]
fn proxies_are_chosen_by_scheme_and_host() {
    const SECURE: (&str, &str) = ("HTTPS_PROXY", "http://secure.example:3128");
    const PLAIN: (&str, &str) = ("HTTP_PROXY", "plain.example:8080");
    let secure = Some("secure.example:3128");
    let plain = Some("plain.example:8080");
    for (variables, address, expected) in [
        (&[][..], "https://a.example", None),
        (&[SECURE], "https://a.example/x", secure),
        (&[SECURE], "http://a.example", None),
        (&[SECURE, PLAIN], "http://a.example", plain),
        (&[("all_proxy", "all.example")], "https://a.example", Some("all.example:80")),
        (&[("ALL_PROXY", "https://all.example")], "http://a.example", Some("all.example:443")),
        // Lower-case names come first, and an empty value counts as not set.
        (
            &[SECURE, ("https_proxy", "http://small.example")],
            "https://a.example",
            Some("small.example:80"),
        ),
        (&[SECURE, ("https_proxy", " ")], "https://a.example", secure),
        // Credentials are not shown.
        (
            &[("https_proxy", "http://u:s3cret@p.example:1")],
            "https://a.example",
            Some("p.example:1"),
        ),
        (&[SECURE, ("NO_PROXY", "b.example, a.example")], "https://a.example", None),
        (&[SECURE, ("no_proxy", ".a.example")], "https://x.a.example", None),
        (&[SECURE, ("no_proxy", "a.example")], "https://nota.example", secure),
        (&[SECURE, ("NO_PROXY", "203.0.113.0/24")], "https://203.0.113.7", None),
        (&[SECURE, ("NO_PROXY", "*")], "https://a.example", None),
        // Addresses of this machine and its network never go through a proxy.
        (&[SECURE, PLAIN], "http://localhost:1", None),
        (&[SECURE, PLAIN], "http://127.0.0.1:1", None),
        (&[SECURE, PLAIN], "https://[::1]", None),
        (&[SECURE, PLAIN], "https://10.0.0.1", None),
        (&[SECURE, PLAIN], "https://[::ffff:10.0.0.1]", None),
        (&[SECURE, PLAIN], "https://169.254.169.254", None),
        (&[SECURE, PLAIN], "https://x.localhost.", None),
        (&[SECURE, PLAIN], "https://[2001:db8::1]", secure),
        // For CGI programs the variable is a header of an unknown sender.
        (&[PLAIN, ("REQUEST_METHOD", "GET")], "http://a.example", None),
        (&[SECURE, ("REQUEST_METHOD", "GET")], "https://a.example", secure),
    ] {
        let url = Url::parse(address).unwrap();
        let found = network(variables).unwrap().proxy_of(&url);
        assert_eq!(found.as_deref(), expected, "{variables:?} {address}");
    }
}

#[test]
fn bad_proxy_variables_are_named_without_their_value() {
    for (value, why) in [
        ("socks5://u:s3cret@p.example", "is neither http nor https"),
        ("http://u:s3cret@", "is no address of a proxy"),
        ("u:s3cret@p x", "is no address of a proxy"),
    ] {
        let bad = network(&[("HTTPS_PROXY", value)]).unwrap_err();
        assert_eq!(bad.to_string(), format!("HTTPS_PROXY {why}"), "{value}");
    }
    let network = network(&[("HTTPS_PROXY", "http://u:s3cret@p.example")]).unwrap();
    assert!(!format!("{network:?}").contains("s3cret"));
}

#[test]
fn authorities_have_to_be_certificates() {
    let with = |pem: &str| Network::default().with_authorities(pem.as_bytes()).map(|_| ());
    assert_eq!(with(""), Err(BadAuthorities::None));
    assert_eq!(with("hello"), Err(BadAuthorities::None));
    let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert_eq!(with(key), Err(BadAuthorities::None));
    let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    assert_eq!(with(damaged), Err(BadAuthorities::Damaged));
}
