use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use tradepost_document::http::address::is_public;

use super::*;

fn egress(loopback: bool, addresses: &'static [&'static str]) -> Egress {
    let resolver = Resolver::new(move |_| {
        Box::pin(async move { Ok(addresses.iter().map(|text| text.parse().unwrap()).collect()) })
    });
    Egress::new(resolver, loopback)
}

fn judge(loopback: bool, text: &str) -> Result<String, AddressRefusal> {
    egress(loopback, &[]).read(text).map(|destination| destination.host)
}

#[test]
fn p_04_every_address_that_is_not_public_is_known() {
    for text in [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.31.196.1",
        "192.52.193.1",
        "192.88.99.1",
        "192.168.0.1",
        "192.168.255.255",
        "192.175.48.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:0:7f00:1::",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:808:808::1",
        "2620:4f:8000::1",
        "3fff::1",
        "3fff:fff::1",
        "4000::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fdff::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
    ] {
        assert!(!is_public(text.parse().unwrap()), "{text}");
    }
    for text in [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.0.3.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2001:200::1",
        "2001:4860:4860::8888",
        "2003::1",
        "2606:4700:4700::1111",
        "2620:4f:8001::1",
        "2a00:1450::1",
        "3ffe::1",
    ] {
        assert!(is_public(text.parse().unwrap()), "{text}");
    }
}

#[test]
fn p_04_what_may_be_called_and_what_not() {
    for (text, host) in [
        ("https://buyer.example.com/hook", "buyer.example.com"),
        ("HTTPS://Buyer.Example.COM:8443/hook?a=b@c#d", "buyer.example.com"),
        ("https://8.8.8.8/", "8.8.8.8"),
        ("https://8.8.8.8:443", "8.8.8.8"),
        ("https://[2606:4700:4700::1111]:8443/x", "[2606:4700:4700::1111]"),
        ("https://[2606:4700:4700:0:0:0:0:1111]/", "[2606:4700:4700::1111]"),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://a_b.example.com", "a_b.example.com"),
    ] {
        assert_eq!(judge(false, text).as_deref(), Ok(host), "{text}");
        assert_eq!(judge(true, text).as_deref(), Ok(host), "{text}");
    }
    for (text, refusal) in [
        ("", SHAPE),
        ("/hook", SHAPE),
        ("buyer.example.com", SHAPE),
        ("https:buyer.example.com", SHAPE),
        ("https:/buyer.example.com", SHAPE),
        ("https:\\\\buyer.example.com", SHAPE),
        ("https://buyer.example.com\\@10.0.0.1/", SHAPE),
        ("https://buyer.example.com/a b", SHAPE),
        ("https://buyer.example.com/\n", SHAPE),
        (" https://buyer.example.com/", SHAPE),
        ("https://b\u{fc}cher.example/", SHAPE),
        ("https://\u{ff11}27.0.0.1/", SHAPE),
        ("http://buyer.example.com/", SCHEME),
        ("http://8.8.8.8/", SCHEME),
        ("ftp://buyer.example.com/", SCHEME),
        ("file:///etc/passwd", SCHEME),
        ("gopher://buyer.example.com/", SCHEME),
        ("ws://buyer.example.com/", SCHEME),
        ("https://user@buyer.example.com/", USER),
        ("https://user:secret@buyer.example.com/", USER),
        ("https://@buyer.example.com/", USER),
        ("https://buyer.example.com@10.0.0.1/", USER),
        ("https://", HOST),
        ("https:///hook", HOST),
        ("https:////buyer.example.com", HOST),
        ("https://.", HOST),
        ("https://buyer", HOST),
        ("https://buyer.example.com./", HOST),
        ("https://buyer..example.com/", HOST),
        ("https://-buyer.example.com/", HOST),
        ("https://buyer%2eexample.com/", HOST),
        ("https://buyer.example.com%00/", HOST),
        ("https://b*r.example.com/", HOST),
        ("https://buyer.example.com:0/", PORT),
        ("https://buyer.example.com:/", PORT),
        ("https://buyer.example.com:65536/", PORT),
        ("https://buyer.example.com:+80/", PORT),
        ("https://buyer.example.com:80:80/", PORT),
        ("https://10.0.0.1/", LITERAL),
        ("https://169.254.169.254/latest/meta-data/", LITERAL),
        ("https://0.0.0.0/", LITERAL),
        ("https://168.63.129.16/", LITERAL),
        ("https://[::]/", LITERAL),
        ("https://[::ffff:169.254.169.254]/", LITERAL),
        ("https://[::ffff:a9fe:a9fe]/", LITERAL),
        ("https://[64:ff9b::a9fe:a9fe]/", LITERAL),
        ("https://[2002:a9fe:a9fe::1]/", LITERAL),
        ("https://[fd00:ec2::254]/", LITERAL),
        ("https://[fe80::1]/", LITERAL),
        ("https://[fe80::1%25eth0]/", HOST),
        ("https://metadata.google.internal/", LITERAL),
        ("https://printer.local/", LITERAL),
        ("https://router.home.arpa/", LITERAL),
        ("https://a.localhost/", LITERAL),
        // Unusual spellings, of loopback and of public addresses.
        ("https://2130706433/", HOST),
        ("https://0x7f000001/", HOST),
        ("https://0x7f.0.0.1/", HOST),
        ("https://0177.0.0.1/", HOST),
        ("https://127.1/", HOST),
        ("https://127.0.1/", HOST),
        ("https://0/", HOST),
        ("https://%31%32%37.0.0.1/", HOST),
        ("https://134744072/", HOST),
        ("https://010.8.8.8/", HOST),
        ("https://8.8.8.8./", HOST),
        ("https://8.8.2056/", HOST),
        ("https://8.8.8.256/", HOST),
        ("https://8.8.8.8.8/", HOST),
    ] {
        assert_eq!(judge(false, text), Err(refusal), "{text}");
        assert_eq!(judge(true, text), Err(refusal), "with the switch: {text}");
    }
    let long = format!("https://buyer.example.com/{}", "a".repeat(LONGEST));
    assert_eq!(judge(false, &long), Err(SHAPE));
}

#[test]
fn p_04_the_development_switch_opens_this_machine_alone() {
    for text in [
        "http://127.0.0.1:4000/hook",
        "https://127.0.0.1/hook",
        "http://127.9.9.9:4000/",
        "http://localhost:4000/hook",
        "http://LOCALHOST/hook",
        "http://[::1]:4000/hook",
    ] {
        assert_eq!(judge(false, text), Err(LITERAL), "{text}");
        assert!(judge(true, text).is_ok(), "{text}");
    }
    for (text, refusal) in [
        ("http://localhost./", LITERAL),
        ("http://a.localhost/", LITERAL),
        ("http://0.0.0.0:4000/", LITERAL),
        ("http://10.0.0.1/", LITERAL),
        ("http://169.254.169.254/", LITERAL),
        ("http://[::ffff:127.0.0.1]/", LITERAL),
        ("http://127.1/", HOST),
        ("http://2130706433/", HOST),
        ("http://buyer.example.com/", SCHEME),
    ] {
        assert_eq!(judge(true, text), Err(refusal), "{text}");
    }
}

#[tokio::test]
async fn p_04_a_name_with_any_forbidden_address_is_refused() {
    let admit = async |loopback: bool, text: &str, addresses: &'static [&'static str]| {
        let egress = egress(loopback, addresses);
        egress.admit(&egress.read(text).unwrap()).await
    };
    let name = "https://buyer.example.com/";
    assert_eq!(admit(false, name, &["8.8.8.8", "2606:4700:4700::1111"]).await, Ok(()));
    assert_eq!(admit(false, name, &["8.8.8.8", "10.0.0.1"]).await, Err(NAME));
    assert_eq!(admit(false, name, &["127.0.0.1"]).await, Err(NAME));
    assert_eq!(admit(false, name, &["::ffff:8.8.8.8"]).await, Err(NAME));
    assert_eq!(admit(false, name, &[]).await, Err(NAME), "the same for a name that leads nowhere");
    assert_eq!(admit(false, "https://8.8.8.8/", &[]).await, Ok(()), "there is no name");
    // The switch permits names of this machine, not names that resolve to it.
    assert_eq!(admit(true, name, &["127.0.0.1"]).await, Err(NAME));
    assert_eq!(admit(true, "http://localhost:1/", &["127.0.0.1", "::1"]).await, Ok(()));
    assert_eq!(admit(true, "http://localhost:1/", &["10.0.0.1"]).await, Err(NAME));
    assert_eq!(admit(true, name, &[]).await, Ok(()), "a machine without the Internet");
}

#[tokio::test]
async fn names_slow_to_resolve_hold_up_no_deliveries() {
    let resolver = Resolver::new(|host| {
        Box::pin(async move {
            if host == "slow.example.com" {
                std::future::pending::<()>().await;
            }
            Ok(vec!["8.8.8.8".parse().unwrap()])
        })
    });
    let creating = Egress::new(resolver, false);
    let delivering = creating.apart();
    for _ in 0..LOOKUPS {
        let egress = creating.clone();
        tokio::spawn(async move { egress.resolve("slow.example.com").await });
    }
    while creating.room.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(delivering.resolve("quick.example.com").await.is_ok());
}

/// Every host that the client would connect to is public, or a name that is resolved and checked
/// later.
fn check(text: &str) {
    let Ok(read) = egress(false, &[]).read(text) else { return };
    let url = Url::parse(text).expect("what is read is an address");
    assert_eq!(url, read.url);
    assert_eq!(url.scheme(), "https");
    assert!(url.username().is_empty() && url.password().is_none());
    let host = url.host_str().expect("a host");
    assert!(text.to_ascii_lowercase().contains(host) || host.starts_with('['), "{text}");
    match web_address::literal(host) {
        Some(address) => assert!(is_public(address), "{text}"),
        None => {
            let address = WebAddress::read(text).expect("the guard has read it");
            assert_eq!((address.host.as_str(), address.reach), (host, HostReach::Public), "{text}");
        }
    }
}

proptest! {
    #[test]
    fn p_04_only_the_usual_spelling_of_ipv4_addresses_passes(bits: u32, form in 0..7_usize) {
        let address = Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = address.octets();
        let low = u32::from(c) << 8 | u32::from(d);
        let spelling = match form {
            0 => bits.to_string(),
            1 => format!("0x{bits:x}"),
            2 => format!("{a}.{b}.{low}"),
            3 => format!("0{a:o}.{b}.{c}.{d}"),
            4 => format!("{a}.0x{b:x}.{c}.{d}"),
            5 => format!("{address}."),
            _ => format!("%3{}{address}", a % 10),
        };
        let url = |host: String| format!("https://{host}/");
        prop_assert!(judge(true, &url(spelling)).is_err());
        prop_assert_eq!(judge(false, &url(address.to_string())).is_ok(), is_public(address.into()));
        for mapped in [
            address.to_ipv6_mapped(),
            address.to_ipv6_compatible(),
            Ipv6Addr::from_bits(0x64_ff9b << 96 | u128::from(bits)),
            Ipv6Addr::from_bits(0x2002 << 112 | u128::from(bits) << 80 | 1),
        ] {
            let url = url(format!("[{mapped}]"));
            prop_assert!(judge(true, &url).is_err() || mapped.is_loopback());
        }
    }

    #[test]
    fn p_04_what_is_read_is_what_the_client_reads(
        text in "(?i)https?:[/\\\\]{0,3}([a-z0-9._~%@:\\[\\]\\-]|local|127|0x7f|\\PC){0,24}[/?#]?\\PC{0,6}",
    ) {
        check(&text);
    }
}
