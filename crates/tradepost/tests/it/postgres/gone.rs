//! A database that goes away and comes back.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tradepost_document::json::{Value, json};
use tradepost_runtime::config::AuthSettings;
use tradepost_store::{DatabaseUrl, Store};

use super::{customer, lead_id};
use crate::auth::{bearer, issue};
use crate::process::{DEALER, Process};
use crate::support::postgres::{SERVER, Scratch};
use crate::support::publisher::{self, Binding};
use crate::support::{TestServer, client, dealer, start_on};

/// Proxy in front of a database, whose connections can be cut.
struct BreakableProxy {
    address: SocketAddr,
    /// Both ends of what goes through it; `None` while nothing does.
    passing: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl BreakableProxy {
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

    /// A store in a database at its end.
    fn store(&self, scratch: &Scratch) -> Store {
        let url = format!("postgres://postgres@{}/{}", self.address, scratch.name);
        Store::connect(&url.parse::<DatabaseUrl>().unwrap()).unwrap()
    }

    fn cut(&self) {
        for stream in self.passing.lock().unwrap().take().into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn restore(&self) {
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
fn without_its_database_a_server_reads_refuses_and_heals() {
    let Some(scratch) = Scratch::new() else { return };
    let proxy = BreakableProxy::open();
    let store = proxy.store(&scratch);
    dealer::stock(&store, &dealer::config());
    let server = start_on(store, dealer::config());
    assert!(lead_id(&server.call(&customer("before")).json()).is_some());
    assert_eq!(readiness(&server), 200);

    proxy.cut();
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

    proxy.restore();
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

#[test]
fn without_the_database_known_callers_go_on_others_retry() {
    let Some(scratch) = Scratch::new() else { return };
    let proxy = BreakableProxy::open();
    let config = {
        let mut config = dealer::config();
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
        config
    };
    let store = proxy.store(&scratch);
    dealer::stock(&store, &config);
    let server = start_on(store, config);
    let known = issue(&server, "acme", |_| ());
    let unknown = issue(&server, "nova", |_| ());
    let search = json!({"type": "inventory.search.request"});
    let ask = |key: &str| bearer(&server, key, &search);
    assert_eq!(ask(&known).status, 200);

    proxy.cut();
    let is_served = |key: &str| {
        let found = ask(key).json();
        let vehicles = found.pointer("/result/message/parts/0/data/data/vehicles");
        vehicles.and_then(Value::as_array).is_some_and(|vehicles| vehicles.len() == 4)
    };
    assert!(is_served(&known));
    let refused = ask(&unknown);
    let error = &refused.json()["error"]["data"];
    assert_eq!((&error["code"], &error["retryable"]), (&json!("INTERNAL_ERROR"), &json!(true)));
    server.advance(jiff::SignedDuration::from_mins(6));
    assert_eq!(ask(&known).json()["error"]["data"]["retryable"], true, "it was too long ago");

    proxy.restore();
    // While nobody could be told, it was revoked elsewhere.
    let id = known.split('_').nth(1).unwrap();
    scratch.say(&format!("UPDATE api_keys SET revoked_at = 1 WHERE id = '{id}'"));
    until("the database answers again", || {
        server.advance(jiff::SignedDuration::from_secs(10));
        is_served(&unknown)
    });
    assert_eq!(ask(&known).status, 401);
}

#[test]
fn a_database_without_sessions_counts_against_no_keyholder() {
    let Some(scratch) = Scratch::new() else { return };
    let config = {
        let mut config = dealer::config();
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
        config
    };
    let store = scratch.store_of_a_role();
    dealer::stock(&store, &config);
    let server = start_on(store, config);
    let key = issue(&server, "acme", |_| ());
    let ask = || bearer(&server, &key, &json!({"type": "inventory.search.request"}));

    scratch.refuse_sessions(true);
    for _ in 0..30 {
        let refused = ask().json();
        let error = &refused["error"]["data"];
        let found = (&error["code"], &error["retryable"]);
        assert_eq!(found, (&json!("INTERNAL_ERROR"), &json!(true)), "{refused}");
    }
    scratch.refuse_sessions(false);
    until("the key is good again", || {
        let answer = ask().json();
        assert_ne!(answer["error"]["data"]["code"], "RATE_LIMITED", "{answer}");
        answer.get("result").is_some()
    });
    // Somebody who shows a wrong key afterwards has all attempts that there are.
    let wrong = format!("tp_{}_{}", "0".repeat(16), "0".repeat(64));
    let wrong = bearer(&server, &wrong, &json!({"type": "inventory.search.request"}));
    assert_eq!(wrong.status, 401, "{}", wrong.json());
}

#[test]
fn numbers_are_told_while_the_database_does_not_answer() {
    let Some(scratch) = Scratch::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = format!(
        "[server]\ndatabase = \"{}\"\noperator_listen = \"127.0.0.1:0\"",
        scratch.address()
    );
    let config = DEALER.replace("[server]", &server).replace("trace", "info");
    let process = Process::configured(folder.path(), &config);
    let operators = process.operators();
    let numbers = || {
        let answer = client::request(operators, "GET", "/metrics", &[], b"");
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    let kept = "tradepost_deliveries_pending";
    assert!(numbers().1.contains(kept));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let other = runtime.block_on(async {
        let (client, connection) =
            tokio_postgres::connect(&scratch.address(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute("BEGIN; LOCK TABLE tasks, lead_deliveries").await.unwrap();
        client
    });
    for _ in 0..3 {
        let (status, text) = numbers();
        assert_eq!(status, 200, "{text}");
        assert!(text.contains("tradepost_requests_in_flight") && !text.contains(kept), "{text}");
    }
    runtime.block_on(other.batch_execute("ROLLBACK")).unwrap();
    until("they are counted again", || numbers().1.contains(kept));
}

#[test]
fn without_the_database_product_searches_say_their_age() {
    let Some(scratch) = Scratch::new() else { return };
    let proxy = BreakableProxy::open();
    let publisher = publisher::start_sharing(proxy.store(&scratch));
    let all = json!({"buying_mode": "wholesale"});
    let brief = json!({"buying_mode": "brief", "brief": "display beside hiking stories"});
    let ask = |tool: &str, arguments: &Value| {
        let answer = publisher.call(Binding::Mcp, "acme", tool, arguments).json();
        answer["result"]["structuredContent"].clone()
    };
    let before = ask("get_products", &all);
    assert!(before.get("errors").is_none() && before["products"].as_array().is_some(), "{before}");
    ask("get_products", &brief);
    let proposed = ask("get_products", &brief);
    assert!(
        proposed["proposals"].as_array().is_some_and(|proposals| !proposals.is_empty()),
        "{proposed}"
    );

    proxy.cut();
    publisher.hand.advance(jiff::SignedDuration::from_secs(90));
    for (arguments, before) in [(&all, &before), (&brief, &proposed)] {
        let mut meanwhile = ask("get_products", arguments);
        let warning = meanwhile["errors"][0].clone();
        assert_eq!(warning["code"], "STALE_RESPONSE", "{meanwhile}");
        assert_eq!(warning["details"]["served_from_cache"], true);
        assert_eq!(warning["details"]["cache_age_seconds"], 90);
        meanwhile.as_object_mut().unwrap().shift_remove("errors");
        assert_eq!(&meanwhile, before);
    }
    let mut buys = vec![ask("get_media_buys", &json!({}))];
    // It would keep what nobody has proposed yet.
    buys.push(ask(
        "get_products",
        &json!({"buying_mode": "brief", "brief": "Display advertising"}),
    ));
    for refused in buys {
        let error = &refused["adcp_error"];
        assert_eq!(error["code"], "SERVICE_UNAVAILABLE", "{refused}");
        assert_eq!(error["recovery"], "transient");
    }
    publisher.hand.advance(jiff::SignedDuration::from_mins(5));
    assert_eq!(ask("get_products", &all)["adcp_error"]["code"], "SERVICE_UNAVAILABLE");

    proxy.restore();
    until("it answers from what there is", || {
        publisher.hand.advance(jiff::SignedDuration::from_secs(1));
        ask("get_products", &all) == before
    });
}

#[test]
fn a_database_whose_locks_keep_nobody_out_is_refused() {
    let Some(scratch) = Scratch::new() else { return };
    drop(scratch.store());
    scratch.say(&format!(
        "CREATE SCHEMA like_others;
         CREATE FUNCTION like_others.pg_try_advisory_lock(BIGINT) RETURNS BOOLEAN
             LANGUAGE SQL AS 'SELECT TRUE';
         ALTER DATABASE {} SET search_path = like_others, public, pg_catalog",
        scratch.name
    ));
    for opened in [Store::connect(&scratch.url()), Store::join(&scratch.url())] {
        let fault = opened.unwrap_err().chain();
        assert!(fault.contains("locks keep nobody out"), "{fault}");
    }
}
