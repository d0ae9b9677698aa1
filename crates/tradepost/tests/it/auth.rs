//! Who is let in, what the others hear, and that nobody hears more (row E-110).

use expect_test::expect;
use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::record::AppointmentState;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::{AuthSettings, Config, RateLimitConfig};
use tradepost_runtime::gate::KeyScope;
use tradepost_server::auth::key::NewApiKey;
use tradepost_store::ApiKey;

use crate::support::schemas::check;
use crate::support::{NOW, with};
use crate::support::{
    Response, TestServer, at, compare, dealer, envelope, lead, start, start_with,
};

mod commands;
mod tokens;

/// What everybody may read.
fn question() -> Value {
    json!({"type": "dealer.information.request"})
}

/// A dealer that accepts keys.
pub fn keys(required: bool) -> impl FnOnce(&mut Config) {
    move |config| {
        config.dealers[0].auth =
            AuthSettings { required, api_keys: true, ..AuthSettings::default() }
    }
}

/// Gives a caller a key.
pub fn issue(server: &TestServer, name: &str, change: impl FnOnce(&mut ApiKey)) -> String {
    let fresh = NewApiKey::generate().unwrap();
    let mut key = ApiKey {
        id: fresh.id,
        agent_id: dealer::ID.to_owned(),
        name: name.to_owned(),
        hash: fresh.hash,
        scopes: None,
        created_at: at(NOW),
        expires_at: None,
        revoked_at: None,
        last_used_on: None,
    };
    change(&mut key);
    assert!(server.store.add_api_key(key, false).unwrap());
    fresh.text
}

/// Sends a payload with this `Authorization`.
fn ask(server: &TestServer, authorization: &str, payload: &Value) -> Response {
    let headers = [("Content-Type", "application/json"), ("Authorization", authorization)];
    server.post_with(&headers, envelope(payload).to_string())
}

pub fn bearer(server: &TestServer, credential: &str, payload: &Value) -> Response {
    ask(server, &format!("Bearer {credential}"), payload)
}

fn receipt(response: &Response) -> Value {
    let answer = response.json();
    answer
        .pointer("/result/message/parts/0/data/data")
        .cloned()
        .unwrap_or_else(|| panic!("{answer}"))
}

/// Everything that a caller can compare: status, headers and body, except the time.
fn whole(response: &Response) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
    (response.status, headers, response.body.clone())
}

#[test]
fn without_a_credential_the_caller_hears_which_one_is_wanted() {
    let server = start_with(keys(true));
    let missing = server.call(&question());
    compare(
        "E-110",
        &missing,
        &expect![[r#"
            401
            {"jsonrpc":"2.0","id":null,
              "error":{"code":-32000,"message":"this agent requires a credential; send one of a scheme that its card declares, in the header Authorization",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                    "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"demo-auto-group\""}}]}}
        "#]],
    );
    assert_eq!(
        missing.header("www-authenticate"),
        Some(r#"Bearer realm="demo-auto-group""#),
        "who sent nothing made no error (RFC 6750 §3.1)"
    );
    let key = issue(&server, "acme", |_| {});
    assert_eq!(bearer(&server, &key, &question()).status, 200);
    assert_eq!(receipt(&bearer(&server, &key, &question()))["name"], "Demo Auto Group");
}

#[test]
fn unknown_revoked_malformed_and_wrong_keys_get_the_same_bytes() {
    let server = start_with(keys(true));
    let good = issue(&server, "acme", |_| {});
    let (id, secret) = good[3..].split_once('_').unwrap();
    let revoked = issue(&server, "former", |_| {});
    let former = revoked[3..].split_once('_').unwrap().0;
    assert!(server.store.revoke_api_key(former, at(NOW)).unwrap().is_some());
    // Wherever it ended, too.
    let elsewhere = issue(&server, "elsewhere", |key| key.agent_id = "another".to_owned());
    let unknown = NewApiKey::generate().unwrap().text;
    let zeros = "0".repeat(64);
    let refused: Vec<_> = [
        format!("Bearer {unknown}"),
        format!("Bearer {revoked}"),
        format!("Bearer {elsewhere}"),
        format!("Bearer tp_{id}_{zeros}"),
        format!("Bearer tp_{id}"),
        format!("Bearer {secret}"),
        format!("Bearer {}", good.to_uppercase()),
        format!("Basic {good}"),
    ]
    .iter()
    .map(|authorization| ask(&server, authorization, &question()))
    .collect();
    compare(
        "E-110",
        &refused[0],
        &expect![[r#"
            401
            {"jsonrpc":"2.0","id":null,
              "error":{"code":-32000,"message":"the credential is not valid",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                    "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"demo-auto-group\", error=\"invalid_token\""}}]}}
        "#]],
    );
    assert_eq!(
        refused[0].header("www-authenticate"),
        Some(r#"Bearer realm="demo-auto-group", error="invalid_token""#)
    );
    for other in &refused {
        assert_eq!(whole(other), whole(&refused[0]));
        assert!(!String::from_utf8_lossy(&other.body).contains(secret));
    }
}

#[test]
fn an_expired_key_says_so_only_to_its_holder() {
    let server = start_with(keys(true));
    let key = issue(&server, "acme", |key| key.expires_at = Some(at("2026-04-30T13:00:00Z")));
    server.advance(SignedDuration::from_secs(3_599));
    assert_eq!(bearer(&server, &key, &question()).status, 200);
    server.advance(SignedDuration::from_secs(1));
    let expired = bearer(&server, &key, &question());
    compare(
        "E-110",
        &expired,
        &expect![[r#"
            401
            {"jsonrpc":"2.0","id":null,
              "error":{"code":-32000,"message":"the credential has expired; get a new one",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                    "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"demo-auto-group\", error=\"invalid_token\""}}]}}
        "#]],
    );
    let challenge = expired.header("www-authenticate").unwrap();
    assert!(challenge.ends_with(r#"error="invalid_token""#), "{challenge}");
    let wrong = format!("{}{}", &key[..20], "0".repeat(64));
    let unknown = bearer(&server, &NewApiKey::generate().unwrap().text, &question());
    assert_eq!(whole(&bearer(&server, &wrong, &question())), whole(&unknown));
}

#[test]
fn a_missing_scope_is_named_and_nothing_is_done() {
    let server = start_with(keys(true));
    let key = issue(&server, "reader", |key| {
        key.scopes = Some([KeyScope::DealerRead.into(), KeyScope::InventoryRead.into()].into());
    });
    assert_eq!(bearer(&server, &key, &question()).status, 200);
    let search = json!({"type": "inventory.search.request"});
    assert_eq!(bearer(&server, &key, &search).status, 200);
    let denied = bearer(&server, &key, &lead());
    compare(
        "E-110",
        &denied,
        &expect![[r#"
            403
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,"message":"the credential lacks the scope lead:write",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED","domain":"a2a-protocol.org",
                    "metadata":{"scope":"lead:write","challenge":"Bearer realm=\"demo-auto-group\", error=\"insufficient_scope\", scope=\"lead:write\""}}]}}
        "#]],
    );
    assert_eq!(
        denied.header("www-authenticate"),
        Some(r#"Bearer realm="demo-auto-group", error="insufficient_scope", scope="lead:write""#)
    );
    assert!(server.store.leads(None).unwrap().is_empty());
    // The permission comes before the payload is judged, so that it says nothing about it.
    let broken = with(lead(), &[("/consent", Value::Null)]);
    assert_eq!(whole(&bearer(&server, &key, &broken)), whole(&denied));
}

#[test]
fn every_scope_opens_its_own_skills_only() {
    let server = start_with(keys(true));
    let requests = [
        (KeyScope::DealerRead, question()),
        (KeyScope::InventoryRead, json!({"type": "inventory.facets.request"})),
        (KeyScope::InventoryRead, json!({"type": "inventory.search.request"})),
        (KeyScope::InventoryRead, json!({"type": "inventory.vehicle.request", "stock": "DT-2611"})),
        (KeyScope::LeadWrite, lead()),
    ];
    for held in KeyScope::ALL {
        let name = held.name().replace(':', "-");
        let key = issue(&server, &name, |key| key.scopes = Some([(*held).into()].into()));
        for (wanted, request) in &requests {
            let status = bearer(&server, &key, request).status;
            assert_eq!(status, if held == wanted { 200 } else { 403 }, "{held} {request}");
        }
    }
}

#[test]
fn size_and_type_precede_the_credential_and_the_body_follows() {
    let server = start_with(keys(true));
    let json = ("Content-Type", "application/json");
    assert_eq!(server.post_with(&[json], vec![b' '; 256 * 1024 + 1]).status, 413);
    assert_eq!(server.post_with(&[("Content-Type", "text/plain")], "{}").status, 415);
    let missing = server.call(&question());
    for body in ["", "{", "[]", r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#] {
        assert_eq!(whole(&server.post(body)), whole(&missing), "{body}");
    }
    assert_eq!(server.card().status, 200, "the card is public, since it says what is wanted");
}

#[test]
fn idempotency_keys_and_limits_belong_to_the_caller() {
    let server = start_with(|config| {
        keys(true)(config);
        let window = SignedDuration::from_mins(1);
        config.dealers[0].rate_limit = RateLimitConfig { requests: 3, window, http_429: false };
    });
    let one = issue(&server, "one", |_| {});
    let two = issue(&server, "two", |_| {});
    let first = with(lead(), &[("/idempotency_key", json!("order-17"))]);
    let other = with(
        first.clone(),
        &[("/customer/email", json!("grace@example.com")), ("/message", json!("Another."))],
    );
    let original = receipt(&bearer(&server, &one, &first));
    assert_eq!(original["status"], "received");
    let own = receipt(&bearer(&server, &two, &other));
    assert_eq!(own["status"], "received", "another caller's key neither conflicts nor replays");
    assert_ne!(own["lead_id"], original["lead_id"]);
    let replayed = receipt(&bearer(&server, &one, &first));
    assert_eq!(replayed["lead_id"], original["lead_id"]);
    let conflict = bearer(&server, &one, &other).json();
    assert_eq!(conflict["error"]["data"]["code"], "IDEMPOTENCY_CONFLICT");
    let mut senders: Vec<_> = server
        .store
        .leads(None)
        .unwrap()
        .into_iter()
        .map(|lead| lead.submission.principal)
        .collect();
    senders.sort();
    assert_eq!(senders, ["one", "two"]);
    // Both call from one address.
    assert_eq!(bearer(&server, &one, &question()).json()["error"]["data"]["code"], "RATE_LIMITED");
    assert_eq!(receipt(&bearer(&server, &two, &question()))["name"], "Demo Auto Group");
}

#[test]
fn another_callers_lead_is_neither_named_nor_moved() {
    let server = start_with(keys(true));
    let one = issue(&server, "one", |_| {});
    let two = issue(&server, "two", |_| {});
    let at = |time: &str| {
        let vehicle = json!({"vin": dealer::LISTED_VIN});
        let appointment = json!({"appointment_type": "test_drive", "appointment_at": time});
        with(lead(), &[("/vehicle_of_interest", vehicle), ("/appointment", appointment)])
    };
    let first = receipt(&bearer(&server, &one, &at("2026-05-01T18:00:00Z")));
    let second = receipt(&bearer(&server, &two, &at("2026-05-02T18:00:00Z")));
    assert_eq!((&first["status"], &second["status"]), (&json!("received"), &json!("received")));
    assert_ne!(first["lead_id"], second["lead_id"], "A-04");
    let kept = server.history(&first["lead_id"]).lead.appointment.unwrap();
    assert_eq!(kept.state, AppointmentState::Confirmed);
    // The same caller's is a duplicate still (C-19).
    let again = receipt(&bearer(&server, &one, &at("2026-05-03T18:00:00Z")));
    assert_eq!((&again["status"], &again["lead_id"]), (&json!("duplicate"), &first["lead_id"]));
}

#[test]
fn two_keys_are_one_caller_only_if_that_is_meant() {
    let server = start_with(keys(true));
    let old = issue(&server, "acme", |_| {});
    let fresh = NewApiKey::generate().unwrap();
    let known = server.store.api_keys(Some(dealer::ID)).unwrap().remove(0);
    server.store.revoke_api_key(&known.id, at(NOW)).unwrap();
    let key = ApiKey { id: fresh.id, hash: fresh.hash, ..known };
    assert!(!server.store.add_api_key(key.clone(), false).unwrap(), "the name stays taken");
    let keyed = with(lead(), &[("/idempotency_key", json!("order-17"))]);
    assert_eq!(bearer(&server, &old, &keyed).status, 401);
    assert!(server.store.add_api_key(key, true).unwrap());
    let first = receipt(&bearer(&server, &fresh.text, &keyed));
    assert_eq!(
        (&first["status"], server.store.leads(None).unwrap()[0].submission.principal.as_str()),
        (&json!("received"), "acme")
    );
}

#[test]
fn who_fails_too_often_waits_and_locks_nobody_out() {
    let server = start_with(keys(true));
    let key = issue(&server, "acme", |_| {});
    let wrong = NewApiKey::generate().unwrap().text;
    for _ in 0..10 {
        assert_eq!(bearer(&server, &wrong, &question()).status, 401);
    }
    let limited = bearer(&server, &wrong, &question());
    compare(
        "E-110",
        &limited,
        &expect![[r#"
        429
        {"jsonrpc":"2.0","id":null,
          "error":{"code":-32002,"message":"RATE_LIMITED: the request rate is above the dealer's limit",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"RATE_LIMITED","message":"the request rate is above the dealer's limit","retryable":true,
              "details":{"retry_after_ms":6000,"retry_after_seconds":6,"limit":10,"window_ms":60000},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    assert_eq!(limited.header("retry-after"), Some("6"));
    assert_eq!(bearer(&server, &key, &question()).status, 200, "a neighbour still gets in");
    server.advance(SignedDuration::from_secs(6));
    assert_eq!(bearer(&server, &wrong, &question()).status, 401);
}

#[test]
fn where_keys_are_offered_anonymous_passes_and_wrong_fails() {
    let server = start_with(keys(false));
    let key = issue(&server, "acme", |_| {});
    assert_eq!(server.call(&question()).status, 200, "C-36");
    assert_eq!(bearer(&server, &key, &question()).status, 200);
    let wrong = NewApiKey::generate().unwrap().text;
    assert_eq!(bearer(&server, &wrong, &question()).status, 401, "never anonymous by mistake");
    assert_eq!(receipt(&server.call(&lead()))["status"], "received");
    assert_eq!(server.store.leads(None).unwrap()[0].submission.principal, "anonymous");
}

#[test]
fn a_dealer_that_asks_nobody_ignores_credentials() {
    let server = start();
    assert_eq!(ask(&server, "Basic Zm9vOmJhcg==", &question()).status, 200, "C-36");
    let card = server.card().json();
    assert!(card.get("securitySchemes").is_none() && card.get("securityRequirements").is_none());
}

#[test]
fn a_broken_store_lets_nobody_in_and_says_nothing() {
    let server = start_with(keys(true));
    let key = issue(&server, "acme", |_| {});
    let path = server.directory.path().join("tradepost.sqlite");
    let database = rusqlite::Connection::open(path).unwrap();
    database.execute_batch("ALTER TABLE api_keys RENAME TO mislaid").unwrap();
    let answer = bearer(&server, &key, &question()).json();
    assert_eq!(answer["error"]["data"]["code"], "INTERNAL_ERROR");
    assert!(!answer.to_string().contains("mislaid") && !answer.to_string().contains("api_keys"));
    database.execute_batch("ALTER TABLE mislaid RENAME TO api_keys").unwrap();
    assert_eq!(bearer(&server, &key, &question()).status, 200);
}

#[test]
fn the_day_of_the_last_use_is_noted() {
    let server = start_with(keys(true));
    let key = issue(&server, "acme", |_| {});
    let last = || server.store.api_keys(None).unwrap()[0].last_used_on.map(|day| day.to_string());
    let eventually = |day: &str| {
        // It is written when there is time; a write that waits for its turn has come after it.
        let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
        executor.block_on(server.store.write(|_| Ok(()))).unwrap();
        assert_eq!(last().as_deref(), Some(day));
    };
    assert_eq!(last(), None);
    bearer(&server, &key, &question());
    eventually("2026-04-30");
    server.advance(SignedDuration::from_hours(24));
    bearer(&server, &key, &question());
    eventually("2026-05-01");
}

#[test]
fn the_card_declares_what_is_accepted_and_what_is_required() {
    let offered = start_with(keys(false)).card().json();
    assert!(offered.get("securityRequirements").is_none());
    let required = start_with(keys(true)).card().json();
    for card in [&offered, &required] {
        check("1.1", "card", card);
        check("1.0", "card", card);
    }
    assert_eq!(offered["securitySchemes"], required["securitySchemes"]);
    let declared =
        format!("{}\n{}\n", required["securitySchemes"], required["securityRequirements"]);
    expect![[r#"
        {"apiKey":{"httpAuthSecurityScheme":{"description":"A key that the seller has issued, as a bearer token.","scheme":"Bearer"}}}
        [{"schemes":{"apiKey":{"list":[]}}}]
    "#]]
    .assert_eq(&declared);
}

/// A moment as seconds since 1970.
fn seconds(moment: &str) -> i64 {
    moment.parse::<Timestamp>().unwrap().as_second()
}
