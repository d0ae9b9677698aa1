//! A database that goes away and comes back.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tradepost_store::{DatabaseUrl, Store};
use tradepost_wire::json::json;

use super::{customer, lead_id};
use crate::support::postgres::{SERVER, Scratch};
use crate::support::{TestServer, client, dealer, start_on};

/// The way to a database, which can be cut.
struct Way {
    address: SocketAddr,
    /// Both ends of what goes through it; `None` while nothing does.
    passing: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Way {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let passing = Arc::new(Mutex::new(Some(Vec::new())));
        let known = Arc::clone(&passing);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let mut known = known.lock().unwrap();
                // Whoever comes while it is cut is turned away.
                let Some(known) = known.as_mut() else { continue };
                let far = TcpStream::connect(SERVER).unwrap();
                known.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (from, to) in
                    [(near.try_clone().unwrap(), far.try_clone().unwrap()), (far, near)]
                {
                    std::thread::spawn(move || carry(from, to));
                }
            }
        });
        Self { address, passing }
    }

    fn cut(&self) {
        for stream in self.passing.lock().unwrap().take().into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        *self.passing.lock().unwrap() = Some(Vec::new());
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count) = from.read(&mut buffer)
        && count > 0
        && to.write_all(&buffer[..count]).is_ok()
    {}
    let _ = to.shutdown(Shutdown::Both);
}

fn readiness(server: &TestServer) -> u16 {
    client::request(server.address, "GET", "/readyz", &[], b"").status
}

/// Asks until it is so; what is asked for takes a second at most to be found out.
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = tokio::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed().as_secs() < 20, "not within 20 seconds: {what}");
    }
}

#[test]
fn a_server_without_its_database_reads_refuses_writes_says_so_and_heals() {
    let Some(scratch) = Scratch::new() else { return };
    let way = Way::open();
    let url: DatabaseUrl =
        format!("postgres://postgres@{}/{}", way.address, scratch.name).parse().unwrap();
    let store = Store::connect(&url).unwrap();
    dealer::stock(&store, &dealer::config());
    let server = start_on(store, dealer::config());
    assert!(lead_id(&server.call(&customer("before")).json()).is_some());
    assert_eq!(readiness(&server), 200);

    way.cut();
    let answer = server.call(&customer("meanwhile"));
    let error = &answer.json()["error"]["data"];
    assert_eq!(error["code"], "INTERNAL_ERROR", "{error}");
    assert_eq!(error["retryable"], true, "{error}");
    let waits = answer.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    assert!(waits || error.to_string().contains("retry_after"), "{error} {:?}", answer.headers);
    for internal in ["postgres", "127.0.0.1", "connection", "SELECT", "customer"] {
        assert!(!answer.json().to_string().contains(internal), "{error}");
    }
    let found = server.payload(&json!({"type": "inventory.search.request"}));
    assert_eq!(found["data"]["vehicles"].as_array().map(Vec::len), Some(4), "{found}");
    until("it says that it is not ready", || readiness(&server) == 503);

    way.mend();
    until("it is ready again", || readiness(&server) == 200);
    let id = lead_id(&server.call(&customer("meanwhile")).json()).unwrap();
    let leads = server.store.leads(None).unwrap();
    assert_eq!(leads.len(), 2);
    assert_eq!(leads.iter().filter(|lead| lead.lead_id == id).count(), 1);
}

#[test]
fn whoever_starts_without_a_database_hears_so_without_its_password() {
    // Nobody listens on port 1.
    let url: DatabaseUrl = "postgres://u:s3cret@127.0.0.1:1/shop".parse().unwrap();
    let fault = Store::connect(&url).unwrap_err();
    assert!(fault.is_transient());
    assert!(!fault.chain().contains("s3cret"), "{}", fault.chain());
}
