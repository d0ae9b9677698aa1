//! HTTP/2 on the port of HTTP/1.1, in clear text by prior knowledge.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::conformance::Profile;
use bytes::Bytes;
use jiff::SignedDuration;
use tradepost_document::json::json;

use crate::support::h2::{self, Connection};
use crate::support::{client, envelope, start, start_conformance, start_with};

const CARD: &str = "/.well-known/agent-card.json";

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

#[test]
fn the_card_and_the_answers_are_those_of_http_1() {
    let server = start();
    let connection = Connection::open(server.address);
    let card = connection.request("GET", CARD, &[], "");
    assert_eq!((card.status, &card.body), (200, &server.card().body));
    let etag = card.header("etag").unwrap();
    assert_eq!(connection.request("GET", CARD, &[("if-none-match", etag)], "").status, 304);
    for payload in [
        json!({"type": "dealer.information.request"}),
        json!({"type": "inventory.vehicle.request"}),
        json!({"type": "inventory.search.request", "filters": {"make": ["Honda"]}}),
    ] {
        let body = envelope(&payload).to_string();
        let answer = connection.request("POST", "/a2a", &JSON, body.clone());
        assert_eq!(answer.snapshot(), server.post(body).snapshot());
    }
    let put = connection.request("PUT", "/a2a", &JSON, "{}");
    assert_eq!((put.status, put.header("allow")), (405, Some("POST")));
}

#[test]
fn a_stream_is_read_as_it_comes() {
    let server = start_conformance(Profile::Streaming);
    let connection = Connection::open(server.address);
    let message = json!({"messageId": "tck-stream-001", "role": "ROLE_USER",
        "parts": [{"text": "go"}]});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage",
        "params": {"message": message}});
    let headers = [JSON[0], ("a2a-version", "1.0")];
    let answer = connection.request("POST", "/a2a", &headers, body.to_string());
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let text = String::from_utf8(answer.body).unwrap();
    assert_eq!(text.matches("\"id\":7").count(), 4, "{text}");
    assert!(text.contains("TASK_STATE_COMPLETED"), "{text}");
}

#[test]
fn the_authority_stands_for_the_host() {
    let server = start_with(|config| config.dealers[0].hosts = vec!["cars.example".to_owned()]);
    let connection = Connection::open(server.address);
    let status = |target: &str, headers: &[(&str, &str)]| {
        connection.send("GET", &format!("http://{target}{CARD}"), headers, Bytes::new()).unwrap()
    };
    for (authority, headers, expected) in [
        ("cars.example", vec![], 200),
        ("CARS.example:8080", vec![], 200),
        ("cars.example.", vec![], 200),
        ("other.example", vec![], 404),
        ("cars.example", vec![("host", "Cars.Example")], 200),
        // Programs on the way could take either for the one that counts.
        ("cars.example", vec![("host", "other.example")], 400),
        ("other.example", vec![("host", "cars.example")], 400),
        ("cars.example", vec![("host", "cars.example"), ("host", "cars.example")], 400),
        ("other.example@cars.example", vec![], 400),
    ] {
        let answer = status(authority, &headers);
        assert_eq!(answer.status, expected, "{authority} {headers:?}");
    }
    // Nobody is connected through us to somebody else.
    let tunnel = connection.send("CONNECT", "cars.example:443", &[], Bytes::new()).unwrap();
    assert_eq!(tunnel.status, 404);
    let refused = status("cars.example", &[("host", "other.example")]).json();
    assert_eq!(refused["error"]["message"], "name one host, in :authority");
}

#[test]
fn many_requests_share_a_connection() {
    let server = start();
    let connection = Connection::open(server.address);
    let target = format!("http://{}/a2a", server.address);
    let requests = (0..300).map(|id| {
        let mut body = envelope(&json!({"type": "dealer.information.request"}));
        body["id"] = json!(id);
        h2::request("POST", &target, &JSON, body.to_string().into())
    });
    let answers = connection.send_all(requests.collect());
    for (id, answer) in answers.iter().enumerate() {
        assert_eq!((answer.status, &answer.json()["id"]), (200, &json!(id)));
    }
}

#[test]
fn the_limits_are_those_of_http_1() {
    let server = start();
    let connection = Connection::open(server.address);
    let long = "y".repeat(40_000);
    assert_eq!(connection.request("GET", CARD, &[("x", &long)], "").status, 431);
    let large = connection.request("POST", "/a2a", &JSON, vec![b' '; 300 * 1024]);
    assert_eq!(large.status, 413);
    assert_eq!(large.json()["error"]["code"], -32600);
    assert_eq!(connection.request("POST", "/a2a", &[], "{}").status, 415);
    // The connection is as good as before.
    assert_eq!(connection.request("GET", "/healthz", &[], "").status, 200);
}

/// Sends bytes, and reads until the server ends the connection.
fn until_closed(address: std::net::SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        // What was not read when it was closed is answered with a reset.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
    }
    answer
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The error code of the frame by which the server says goodbye (RFC 9113 §6.8).
fn goodbye(mut bytes: &[u8]) -> Option<u32> {
    while let Some((head, rest)) = bytes.split_first_chunk::<9>() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (payload, rest) = rest.split_at_checked(length)?;
        if head[3] == 7 {
            return Some(u32::from_be_bytes(payload[4..8].try_into().unwrap()));
        }
        bytes = rest;
    }
    None
}

#[test]
fn connections_on_which_nothing_is_asked_make_room() {
    let server = start_with(|config| {
        config.server.max_connections = 1;
        config.server.read_timeout = SignedDuration::from_millis(200);
    });
    let settings = [PREFACE, &frame(4, 0, 0, &[])].concat();
    // The beginning of a head, of which the rest does not come.
    let half_a_head = frame(1, 1, 1, &[0x82]);
    for silence in [
        &b""[..],
        &PREFACE[..10],
        PREFACE,
        &settings,
        &[settings.as_slice(), &half_a_head].concat(),
        &b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"[..],
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
    ] {
        until_closed(server.address, silence);
        let answer = client::request(server.address, "GET", "/healthz", &[], b"");
        assert_eq!(answer.status, 200, "{silence:?}");
    }
}

#[test]
fn a_flood_of_resets_ends_the_connection_and_nothing_else() {
    let server = start();
    let head = [&[0x82, 0x86, 0x84, 0x41, 1][..], b"x"].concat();
    let mut flood = [PREFACE, &frame(4, 0, 0, &[])].concat();
    for stream in (1..4_001).step_by(2) {
        flood.extend(frame(1, 5, stream, &head));
        flood.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
    }
    let enhance_your_calm = Some(11);
    assert_eq!(goodbye(&until_closed(server.address, &flood)), enhance_your_calm);
    assert_eq!(client::request(server.address, "GET", "/readyz", &[], b"").status, 200);
}

#[test]
fn nonsense_after_the_preface_ends_the_connection_and_nothing_else() {
    let server = start();
    let settings = frame(4, 0, 0, &[]);
    for (nonsense, code) in [
        // The first frame is a frame of settings.
        ([PREFACE, &frame(0, 0, 1, b"x")].concat(), 1),
        // A frame of headers that claims 16 MiB.
        ([PREFACE, &settings, &[0xff, 0xff, 0xff, 1, 4, 0, 0, 0, 1]].concat(), 6),
        // An index that no table has. (h2 calls it a protocol error; RFC 9113 §4.3 a compression one.)
        ([PREFACE, &settings, &frame(1, 5, 1, &[0xff, 0xff, 0x7f])].concat(), 1),
    ] {
        assert_eq!(goodbye(&until_closed(server.address, &nonsense)), Some(code));
    }
    assert_eq!(client::request(server.address, "GET", "/readyz", &[], b"").status, 200);
}
