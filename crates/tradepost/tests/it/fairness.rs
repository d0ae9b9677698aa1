//! Crowds: whoever has many connections, or many requests that never end, takes nothing from the
//! others.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use bytes::Bytes;
use expect_test::expect;
use futures_util::{StreamExt as _, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::SignedDuration;
use tradepost_document::json::json;
use tradepost_runtime::config::Config;

use crate::process::{DEALER, Process};
use crate::support::client::{self, Response};
use crate::support::{TestServer, compare, envelope, lead, start_with};

/// Connects from another of this machine's addresses.
fn connect_from(from: [u8; 4], to: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((IpAddr::from(from), 0).into()).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

const BUSY_ADDRESS: [u8; 4] = [127, 0, 0, 2];
const OTHER_ADDRESS: [u8; 4] = [127, 0, 0, 3];

/// A dealer whose connections end for no other reason than that their place is needed.
fn start(change: impl FnOnce(&mut Config)) -> TestServer {
    start_with(|config| {
        config.server.read_timeout = SignedDuration::from_mins(5);
        change(config);
    })
}

/// Asks on a connection that stays.
fn ask(stream: &mut TcpStream) -> bool {
    let mut answer = Vec::new();
    if stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").is_err() {
        return false;
    }
    while !answer.ends_with(b"\"live\"}") {
        let mut piece = [0; 1024];
        match stream.read(&mut piece) {
            Ok(read @ 1..) => answer.extend_from_slice(&piece[..read]),
            Ok(0) | Err(_) => return false,
        }
    }
    true
}

/// Whether the server has ended a connection on which it had nothing to say.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Begins a request whose body does not come, and waits until the server is waiting for it.
fn begin(stream: &mut TcpStream, length: usize) {
    let head = format!(
        "POST /a2a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
}

#[test]
fn an_address_over_its_share_loses_the_longest_idle() {
    let server = start(|config| config.server.connections_per_address = 4);
    let mut other_caller = connect_from(OTHER_ADDRESS, server.address);
    assert!(ask(&mut other_caller));
    let mut busy_connections: Vec<_> =
        (0..12).map(|_| connect_from(BUSY_ADDRESS, server.address)).collect();
    for (index, stream) in busy_connections.iter_mut().enumerate() {
        assert_eq!(if index < 8 { is_closed(stream) } else { !ask(stream) }, index < 8, "{index}");
    }
    assert!(ask(&mut other_caller), "others keep theirs");
}

#[test]
fn when_full_the_longest_idle_connection_makes_room() {
    let server = start(|config| config.server.max_connections = 4);
    let mut busy_connections: Vec<_> =
        (0..4).map(|_| connect_from(BUSY_ADDRESS, server.address)).collect();
    // All of them are in before the first asks again.
    assert!(busy_connections.iter_mut().all(ask));
    assert!(
        ask(&mut busy_connections[0]),
        "and so it is the second that has been silent for longest"
    );
    assert!(ask(&mut connect_from(OTHER_ADDRESS, server.address)));
    assert!(is_closed(&mut busy_connections[1]));
    assert!(
        ask(&mut busy_connections[0])
            && ask(&mut busy_connections[2])
            && ask(&mut busy_connections[3])
    );
}

#[test]
fn an_address_busy_on_its_share_gets_no_more() {
    let server = start(|config| {
        config.server.connections_per_address = 2;
        config.server.request_timeout = SignedDuration::from_mins(5);
    });
    // Requests that are at work for as long as somebody else holds the database.
    let database = server.directory.path().join("tradepost.sqlite");
    let other = rusqlite::Connection::open(database).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut busy: Vec<_> = (0..2).map(|_| connect_from(BUSY_ADDRESS, server.address)).collect();
    for stream in &mut busy {
        let body = envelope(&lead()).to_string();
        begin(stream, body.len());
        stream.write_all(body.as_bytes()).unwrap();
    }
    let third = connect_from(BUSY_ADDRESS, server.address);
    let refused = client::exchange(third, b"").unwrap();
    compare(
        "crowds",
        &refused,
        &expect![[r#"
        503
        {"error":{"code":503,"status":"RESOURCE_EXHAUSTED","message":"your address has all the connections that one may have; use those"}}
    "#]],
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(ask(&mut connect_from(OTHER_ADDRESS, server.address)));
    other.execute_batch("ROLLBACK").unwrap();
    busy.clear();
}

#[test]
fn a_connection_whose_body_does_not_come_makes_room() {
    let server = start(|config| config.server.connections_per_address = 2);
    let mut stalled: Vec<_> = (0..2).map(|_| connect_from(BUSY_ADDRESS, server.address)).collect();
    stalled.iter_mut().for_each(|stream| begin(stream, 100));
    let began = tokio::time::Instant::now();
    while !ask(&mut connect_from(BUSY_ADDRESS, server.address)) {
        assert!(began.elapsed().as_secs() < 60, "neither of them counts as idle");
    }
    // One has gone without an answer; the other has its time until it is ended.
    let answers: Vec<_> = stalled
        .iter_mut()
        .map(|stream| {
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            client::parse(&answer).map(|answer| answer.status)
        })
        .collect();
    assert!(answers == [None, Some(408)] || answers == [Some(408), None], "{answers:?}");
}

/// Whether a connection is open and nothing was said on it.
fn is_silent(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    peeked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn a_body_that_never_comes_is_ended_whatever_the_patience() {
    let server = start(|_| {});
    let mut stream = connect_from(BUSY_ADDRESS, server.address);
    begin(&mut stream, 100);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    compare(
        "crowds",
        &client::parse(&answer).unwrap(),
        &expect![[r#"
        408
        {"jsonrpc":"2.0","id":null,
          "error":{"code":-32600,"message":"the body came at less than 240 bytes a second; send it without pauses",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org",
                "metadata":{"minBytesPerSecond":"240"}}]}}
    "#]],
    );
}

#[test]
fn slow_forms_of_one_address_leave_the_console_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let config = DEALER.replace("trace", "info") + "[server.console]\nlisten = \"127.0.0.1:0\"\n";
    let process = Process::configured(folder.path(), &config);
    let console = process.said("listening for the console address=");
    let console: SocketAddr = console.trim().parse().unwrap();
    let form =
        b"POST /console/sign-in HTTP/1.1\r\nHost: x\r\nCookie: a=b\r\nExpect: 100-continue\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\n";
    let mut busy_connections: Vec<_> =
        (0..64).map(|_| connect_from(BUSY_ADDRESS, console)).collect();
    for stream in &mut busy_connections {
        stream.write_all(form).unwrap();
        let mut answer = [0; 25];
        stream.read_exact(&mut answer).unwrap();
    }
    let page = client::bytes("x", "GET", "/console/sign-in", &[], b"");
    let page = client::exchange(connect_from(OTHER_ADDRESS, console), &page).unwrap();
    assert_eq!(page.status, 200);
    assert!(
        busy_connections.iter().any(is_silent),
        "and nobody had to wait until the crowd was gone"
    );
}

#[test]
fn behind_a_proxy_addresses_have_no_share() {
    let server = start(|config| {
        config.server.connections_per_address = 1;
        config.server.trust_forwarded_for = true;
    });
    let mut all: Vec<_> = (0..4).map(|_| connect_from(BUSY_ADDRESS, server.address)).collect();
    assert!(all.iter_mut().all(ask));
}

#[test]
fn endless_bodies_take_only_a_share_of_the_memory() {
    let server = start(|config| config.server.max_pending_bytes = 1024 * 1024);
    let body = envelope(&json!({"type": "dealer.information.request"})).to_string();
    let body = format!("{}{body}", " ".repeat(200 * 1024 - body.len()));
    let (begun, rest) = body.split_at(190 * 1024);
    let (sender, answers) = channel();
    let mut streams: Vec<_> = (0..2)
        .map(|index| {
            let mut stream = connect_from(BUSY_ADDRESS, server.address);
            begin(&mut stream, body.len());
            // Where the other was first this is refused before it is read.
            let _ = stream.write_all(begun.as_bytes());
            let mut reader = stream.try_clone().unwrap();
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut answer = Vec::new();
                let _ = reader.read_to_end(&mut answer);
                let _ = sender.send((index, answer));
            });
            stream
        })
        .collect();
    let (index, refused): (usize, Vec<u8>) = answers.recv().unwrap();
    let refused = client::parse(&refused).unwrap();
    compare(
        "crowds",
        &refused,
        &expect![[r#"
            503
            {"jsonrpc":"2.0","id":null,
              "error":{"code":-32000,"message":"too many bodies are under way; send it again in a moment",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RESOURCE_EXHAUSTED","domain":"a2a-protocol.org",
                    "metadata":{"retryAfterSeconds":"2"}},
                  {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}]}}
        "#]],
    );
    assert_eq!(refused.header("retry-after"), Some("2"));
    let headers = [("Content-Type", "application/json")];
    let request = client::bytes("x", "POST", "/a2a", &headers, body.as_bytes());
    let accepted = client::exchange(connect_from(OTHER_ADDRESS, server.address), &request).unwrap();
    assert_eq!(accepted.status, 200, "others have room");
    streams[1 - index].write_all(rest.as_bytes()).unwrap();
    let answered = client::parse(&answers.recv().unwrap().1).unwrap();
    assert_eq!(answered.status, 200, "what had room is read to its end");
}

/// So much of the attack is refused at once.
const REFUSED: usize = 2_300;

/// Opens 25 connections of HTTP/2 with a hundred requests on each, whose bodies stop before their
/// end, and waits until most are refused.
async fn attack(address: SocketAddr) -> Vec<http2::SendRequest<impl hyper::body::Body>> {
    let piece = Bytes::from(vec![b' '; 200 * 1024]);
    let (sender, mut refused) = tokio::sync::mpsc::unbounded_channel();
    let mut connections = Vec::new();
    for _ in 0..25 {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (connection, run) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(run);
        for _ in 0..100 {
            let first = stream::iter([Ok::<_, std::io::Error>(Frame::data(piece.clone()))]);
            let body = StreamBody::new(first.chain(stream::pending()));
            let request = hyper::Request::post(format!("http://{address}/a2a"))
                .header("content-type", "application/json")
                .header("expect", "100-continue")
                .body(body)
                .unwrap();
            let mut connection = connection.clone();
            let sender = sender.clone();
            tokio::spawn(async move {
                connection.ready().await.unwrap();
                if let Ok(answer) = connection.send_request(request).await {
                    let _ = sender.send(answer.status().as_u16());
                }
            });
        }
        connections.push(connection);
    }
    for _ in 0..REFUSED {
        // On a machine that is busy otherwise some have waited for too long before they were refused.
        assert!(matches!(refused.recv().await, Some(503 | 408)));
    }
    connections
}

#[test]
fn twenty_five_connections_hold_no_more_than_their_share() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tradepost.toml");
    std::fs::write(&config, DEALER.replace("\"trace\"", "\"off\"")).unwrap();
    let process = Process::start(folder.path(), &["--config", config.to_str().unwrap()]);
    let before = process.memory("VmRSS");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let connections = runtime.block_on(attack(process.address));
    let most = process.memory("VmHWM");
    assert!(most < before + 100 * 1024, "{before} KiB became {most}");
    // That it is given back is the allocator's of what is shipped: `faults/run` looks for it (`crowd.py`).
    drop(connections);
    runtime.shutdown_background();
}

#[test]
fn operators_have_a_place_that_no_crowd_can_take() {
    let folder = tempfile::tempdir().unwrap();
    let server = "[server]\nmax_connections = 2\noperator_listen = \"127.0.0.1:0\"";
    let config = folder.path().join("tradepost.toml");
    std::fs::write(&config, DEALER.replace("[server]", server)).unwrap();
    let process = Process::start(folder.path(), &["--config", config.to_str().unwrap()]);
    let operators = process.operators();
    let mut busy_connections: Vec<_> =
        (0..2).map(|_| connect_from(BUSY_ADDRESS, process.address)).collect();
    busy_connections.iter_mut().for_each(|stream| begin(stream, 100));
    let get = |path: &str| -> Response { client::request(operators, "GET", path, &[], b"") };
    assert_eq!((get("/healthz").status, get("/readyz").status), (200, 200));
    assert_eq!(get("/.well-known/agent-card.json").status, 404, "nothing else is there");
    busy_connections.clear();
}
