//! TLS of the server's own.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use jiff::SignedDuration;
use rustls::ProtocolVersion;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;
use tradepost_document::json::json;
use tradepost_runtime::config::Config;

use crate::support::tls::{self, Authority, NAME, connect, request};
use crate::support::{TestServer, client, envelope, h2, start_with};

mod acme;
mod clients;
mod files;

const CARD: &str = "/.well-known/agent-card.json";

const JSON: [(&str, &str); 1] = [("Content-Type", "application/json")];

/// The usual dealer over TLS, with who vouches for it.
pub fn secure(change: impl FnOnce(&mut Config)) -> (TestServer, Authority) {
    let authority = Authority::new("the server's authority");
    let folder = tempfile::tempdir().unwrap();
    let tls = authority.server().write(folder.path());
    let server = start_with(|config| {
        config.server.tls = Some(tls);
        change(config);
    });
    (server, authority)
}

#[test]
fn answers_are_those_of_clear_text_and_come_with_hsts() {
    let (server, authority) = secure(|_| {});
    let config = tls::config(&authority, None, &[]);
    let card = request(server.address, &config, "GET", CARD, &[], b"").unwrap();
    assert_eq!(card.status, 200);
    assert_eq!(card.json()["supportedInterfaces"][0]["protocolBinding"], "JSONRPC");
    let clear = start_with(|_| {});
    for (payload, status) in [
        (json!({"type": "dealer.information.request"}), 200),
        (json!({"type": "inventory.vehicle.request"}), 200),
    ] {
        let body = envelope(&payload).to_string();
        let answer =
            request(server.address, &config, "POST", "/a2a", &JSON, body.as_bytes()).unwrap();
        assert_eq!(answer.status, status);
        assert_eq!(answer.snapshot(), clear.post(body).snapshot());
    }
    for (target, status) in [("/healthz", 200), ("/nothing", 404)] {
        let answer = request(server.address, &config, "GET", target, &[], b"").unwrap();
        assert_eq!(answer.status, status);
        let hsts = answer.header("strict-transport-security");
        assert_eq!(hsts, Some("max-age=31536000"), "RFC 6797 §7.1");
    }
}

#[test]
fn behind_a_proxy_a_public_address_decides_about_hsts() {
    for (public_url, expected) in [
        (Some("https://demo-toyota.example.com"), Some("max-age=31536000")),
        (Some("http://demo-toyota.example.com"), None),
        (None, None),
    ] {
        let clear = start_with(|config| {
            config.dealers[0].public_url = public_url.map(str::to_owned);
            config.dealers[0].hosts.clear();
        });
        for path in ["/healthz", "/.well-known/agent-card.json", "/nothing"] {
            let answer = client::request(clear.address, "GET", path, &[], b"");
            let hsts = answer.header("strict-transport-security");
            assert_eq!(hsts, expected, "{public_url:?} {path}");
        }
    }
}

#[test]
fn the_protocol_is_agreed_on_in_the_handshake() {
    let (server, authority) = secure(|_| {});
    for (offered, agreed) in
        [(&["h2", "http/1.1"][..], Some("h2")), (&["http/1.1"], Some("http/1.1")), (&[], None)]
    {
        let mut stream = connect(server.address, &tls::config(&authority, None, offered));
        stream.flush().unwrap();
        let protocol = stream.conn.alpn_protocol().map(|name| std::str::from_utf8(name).unwrap());
        assert_eq!(protocol, agreed);
        assert_eq!(stream.conn.protocol_version(), Some(ProtocolVersion::TLSv1_3), "A-09");
    }
    // Somebody who speaks neither is told so, and not answered in a language it does not know.
    let config = tls::config(&authority, None, &["spdy/3"]);
    let refused = request(server.address, &config, "GET", CARD, &[], b"").unwrap_err();
    assert!(refused.to_string().contains("NoApplicationProtocol"), "{refused}");

    let address = server.address;
    let connector = TlsConnector::from(tls::config(&authority, None, &["h2"]));
    let connection = h2::Connection::over(NAME.to_owned(), async move {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        connector.connect(ServerName::try_from(NAME).unwrap(), stream).await.unwrap()
    });
    let body = envelope(&json!({"type": "dealer.information.request"})).to_string();
    let answer = connection.request("POST", "/a2a", &[("content-type", "application/json")], body);
    assert_eq!(answer.json()["result"]["message"]["role"], "ROLE_AGENT");
    assert!(answer.header("strict-transport-security").is_some());
}

/// Sends bytes and reads what comes until the connection is closed.
fn until_closed(server: &TestServer, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// The beginning of a handshake: a ClientHello that offers no version above this one.
fn hello(version: [u8; 2]) -> Vec<u8> {
    // ECDHE with ECDSA, P-256 and SHA-256.
    let suites = [0, 2, 0xc0, 0x2b];
    let groups = [0, 10, 0, 4, 0, 2, 0, 23];
    let signatures = [0, 13, 0, 4, 0, 2, 4, 3];
    let extensions = [&[0, 16][..], &groups, &signatures].concat();
    let body = [&version[..], &[7; 32], &[0], &suites, &[1, 0], &extensions].concat();
    let message = [&[1, 0, 0, body.len() as u8], body.as_slice()].concat();
    [&[22, 3, 1, 0, message.len() as u8], message.as_slice()].concat()
}

#[test]
fn versions_before_1_2_are_refused() {
    let (server, _) = secure(|config| {
        config.server.read_timeout = SignedDuration::from_millis(200);
    });
    for version in [[3, 0], [3, 1], [3, 2]] {
        let answer = until_closed(&server, &hello(version));
        // An alert: fatal, protocol_version (RFC 8446 §6).
        assert_eq!(answer[..1], [21], "{answer:?}");
        assert_eq!(answer[5..], [2, 70], "{answer:?}");
    }
    // What is refused is the version: the same in 1.2 is answered with a ServerHello.
    let answer = until_closed(&server, &hello([3, 3]));
    assert_eq!((answer[0], answer[5]), (22, 2), "{answer:?}");
}

#[test]
fn clear_text_is_told_that_this_port_speaks_tls() {
    let (server, authority) = secure(|_| {});
    for request in [
        &b"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST /a2a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"a\": \"b\"",
    ] {
        let answer = client::raw(server.address, request).unwrap();
        assert_eq!(
            answer.snapshot(),
            "400\n{\"error\":{\"code\":400,\"status\":\"INVALID_ARGUMENT\",\
             \"message\":\"this port speaks TLS; use https\"}}\n"
        );
        assert_eq!(answer.header("strict-transport-security"), None);
    }
    let config = tls::config(&authority, None, &[]);
    assert_eq!(request(server.address, &config, "GET", CARD, &[], b"").unwrap().status, 200);
}

#[test]
fn nonsense_and_half_handshakes_hinder_nobody() {
    let (server, authority) = secure(|config| {
        config.server.max_connections = 1;
        // Far longer than the test: if a handshake took room, the others would wait for this.
        config.server.read_timeout = SignedDuration::from_mins(5);
    });
    let half = hello([3, 3]);
    let held: Vec<_> = [&b""[..], &b"\x16"[..], &half[..20]]
        .into_iter()
        .map(|bytes| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(bytes).unwrap();
            stream
        })
        .collect();
    let mut seed = fastrand::Rng::with_seed(9);
    for _ in 0..50 {
        let mut garbage: Vec<u8> = std::iter::repeat_with(|| seed.u8(..)).take(200).collect();
        garbage[0] = 22;
        // A record that is shorter than what follows, so that it is looked into.
        garbage[1..5].copy_from_slice(&[3, 1, 0, 100]);
        until_closed(&server, &garbage);
    }
    let config = tls::config(&authority, None, &[]);
    for _ in 0..3 {
        assert_eq!(request(server.address, &config, "GET", CARD, &[], b"").unwrap().status, 200);
    }
    drop(held);
}

#[test]
fn a_handshake_that_stalls_is_ended() {
    let (server, _) = secure(|config| {
        config.server.read_timeout = SignedDuration::from_millis(200);
    });
    let whole = hello([3, 3]);
    for begun in [&b""[..], &whole[..1], &whole[..30]] {
        assert_eq!(until_closed(&server, begun), b"");
    }
    // And so is a connection on which nothing is asked after it.
    let (server, authority) = secure(|config| {
        config.server.max_connections = 1;
        config.server.read_timeout = SignedDuration::from_millis(200);
    });
    let config = tls::config(&authority, None, &[]);
    let mut silent = connect(server.address, &config);
    silent.flush().unwrap();
    assert_eq!(request(server.address, &config, "GET", CARD, &[], b"").unwrap().status, 200);
    // However it ends: a reset comes when the end of the handshake had not been read yet.
    let ended = silent.read(&mut [0]).map_err(|error| error.kind());
    assert!(
        matches!(ended, Ok(0) | Err(ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset)),
        "{ended:?}"
    );
}

#[test]
fn a_client_that_trusts_another_authority_gets_no_connection() {
    let (server, authority) = secure(|_| {});
    let config = tls::config(&Authority::new("another authority"), None, &[]);
    let refused = request(server.address, &config, "GET", CARD, &[], b"").unwrap_err();
    assert!(refused.to_string().contains("UnknownIssuer"), "{refused}");
    let config = tls::config(&authority, None, &[]);
    assert_eq!(request(server.address, &config, "GET", CARD, &[], b"").unwrap().status, 200);
}

#[test]
fn the_card_names_an_address_with_https() {
    let url_with = |public_url: Option<&str>, hosts: &[&str]| {
        let (server, authority) = secure(|config| {
            let dealer = &mut config.dealers[0];
            dealer.public_url = public_url.map(str::to_owned);
            dealer.hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        });
        let config = tls::config(&authority, None, &[]);
        let host = hosts.first().copied().unwrap_or(NAME);
        let card = request(server.address, &config, "GET", CARD, &[("Host", host)], b"").unwrap();
        card.json()["supportedInterfaces"][0]["url"].clone()
    };
    assert_eq!(url_with(None, &[]), "https://127.0.0.1:8080/a2a");
    assert_eq!(url_with(None, &["cars.example"]), "https://cars.example:8080/a2a");
    assert_eq!(url_with(Some("https://a.example"), &["b.example"]), "https://a.example/a2a");
}
