//! What stands behind a publisher: the governance agents of its buyers, its ad server, its store;
//! each of them really asked, and really at fault.

use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::{Account, AccountGovernance};
use tradepost_publisher::store::Query;

use super::buys::{ACCOUNT, KEYS, order, sold};
use super::{check, usual};
use crate::support::at;
use crate::support::proxy::Passing;
use crate::support::publisher::{Hold, RequestCase};
use crate::support::{NOW, with};

/// A server on a loopback address that answers like this; the request's body is given, and how many
/// came before it. It ends with the process.
fn serve(answer: impl Fn(&Value, usize) -> (u16, Value) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = AtomicUsize::new(0);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let Some(mut asked) = Passing::read(&mut reader) else { continue };
            asked.read_body(&mut reader);
            let body = tradepost_document::json::from_slice(&asked.body).unwrap_or_default();
            let (status, reply) = answer(&body, count.fetch_add(1, Ordering::Relaxed));
            let reply = if reply.is_null() { String::new() } else { reply.to_string() };
            let _ = write!(
                stream,
                "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{reply}",
                reply.len()
            );
        }
    });
    format!("http://{address}")
}

/// A governance agent over MCP that decides like this.
fn decides(decision: Value) -> String {
    decides_after(decision, || ())
}

/// A governance agent over MCP that decides like this when it has done this.
fn decides_after(decision: Value, first: impl Fn() + Send + Sync + 'static) -> String {
    let agent = serve(move |message, _| {
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "Governance", "version": "1"}}),
            "tools/call" => {
                assert_eq!(message["params"]["name"], "check_governance");
                first();
                let content = json!([{"type": "text", "text": decision.to_string()}]);
                json!({"content": content, "structuredContent": decision,
                    "isError": decision.get("adcp_error").is_some()})
            }
            _ => return (202, Value::Null),
        };
        (200, json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    });
    format!("{agent}/mcp")
}

fn decision(verdict: &str) -> Value {
    json!({"status": "completed", "check_id": "check_1", "verdict": verdict, "plan_id": "plan_7",
        "explanation": "Jane Doe decided", "findings": [
            {"category_id": "budget_authority", "severity": "critical", "explanation": "Jane Doe"}]})
}

fn refusal(code: &str) -> Value {
    let error = json!({"code": code, "message": "of our own plan 7", "recovery": "correctable"});
    json!({"status": "failed", "adcp_error": error, "errors": [error]})
}

/// A publisher at which the account of `acme` has this governance agent. Over the wire only agents
/// with TLS can be named, so that its operator has named this one.
fn governed(url: String) -> RequestCase {
    let row = json!({"brand": {"domain": "test.example"}, "operator": "test.example",
        "billing": "operator", "sandbox": true});
    let opened = json!({"idempotency_key": KEYS[1], "accounts": [row]});
    sold().after("acme", "sync_accounts", opened).with_store_change(move |tx| {
        for mut account in tx.all::<Account>(&Query::default())? {
            account.thing.governance =
                Some(AccountGovernance { url: url.clone(), credential: None });
            tx.change(&mut account, at(NOW))?;
        }
        Ok(())
    })
}

fn planned() -> Value {
    order(&[("/plan_id", json!("plan_7")), ("/governance_context", json!("token-of-the-plan"))])
}

#[track_caller]
fn decided(url: String, code: &str, expected: Expect) {
    check(&governed(url), "create_media_buy", planned(), code, expected);
}

#[test]
fn governance_denied() {
    decided(
        decides(decision("denied")),
        "GOVERNANCE_DENIED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the account's governance agent denied this; details.findings says on what grounds",
          "adcp_error":{"code":"GOVERNANCE_DENIED","message":"the account's governance agent denied this; details.findings says on what grounds",
            "recovery":"correctable","suggestion":"restructure the buy, or ask a person who may approve it",
            "details":{"findings":[{"category_id":"budget_authority","severity":"critical"}]}},
          "errors":[
            {"code":"GOVERNANCE_DENIED","message":"the account's governance agent denied this; details.findings says on what grounds","recovery":"correctable",
              "suggestion":"restructure the buy, or ask a person who may approve it",
              "details":{"findings":[{"category_id":"budget_authority","severity":"critical"}]}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn governance_unavailable_when_the_agent_does_not_decide() {
    let broken = serve(|_, _| (500, json!({"trace": "at Jane.decide(plan.rs:7)"})));
    decided(
        broken,
        "GOVERNANCE_UNAVAILABLE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the account's governance agent gave no decision; nothing has been done",
          "adcp_error":{"code":"GOVERNANCE_UNAVAILABLE","message":"the account's governance agent gave no decision; nothing has been done",
            "recovery":"transient","suggestion":"try again later; ask the plan's operator if it persists"},
          "errors":[
            {"code":"GOVERNANCE_UNAVAILABLE","message":"the account's governance agent gave no decision; nothing has been done","recovery":"transient",
              "suggestion":"try again later; ask the plan's operator if it persists"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn permission_denied_when_governance_does_not_take_the_token() {
    decided(
        decides(refusal("PERMISSION_DENIED")),
        "PERMISSION_DENIED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the governance agent does not accept the token of the request",
          "adcp_error":{"code":"PERMISSION_DENIED","message":"the governance agent does not accept the token of the request","recovery":"correctable",
            "field":"governance_context","suggestion":"get a token with check_governance, or ask the seller"},
          "errors":[
            {"code":"PERMISSION_DENIED","message":"the governance agent does not accept the token of the request","recovery":"correctable",
              "field":"governance_context","suggestion":"get a token with check_governance, or ask the seller"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn plan_not_found_when_governance_has_no_such_plan() {
    decided(
        decides(refusal("PLAN_NOT_FOUND")),
        "PLAN_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"PLAN_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"plan_id","suggestion":"register the plan with sync_plans first"},
          "errors":[
            {"code":"PLAN_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"plan_id",
              "suggestion":"register the plan with sync_plans first"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn campaign_suspended() {
    decided(
        decides(refusal("CAMPAIGN_SUSPENDED")),
        "CAMPAIGN_SUSPENDED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the plan waits for a person to look at it; try again later",
          "adcp_error":{"code":"CAMPAIGN_SUSPENDED","message":"the plan waits for a person to look at it; try again later","recovery":"transient",
            "suggestion":"try again later; ask the plan's operator if it persists"},
          "errors":[
            {"code":"CAMPAIGN_SUSPENDED","message":"the plan waits for a person to look at it; try again later","recovery":"transient",
              "suggestion":"try again later; ask the plan's operator if it persists"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn permission_denied_without_the_token_of_the_plan() {
    let tokenless = order(&[("/plan_id", json!("plan_7"))]);
    let case = governed("http://127.0.0.1:1/never-asked".to_owned());
    check(
        &case,
        "create_media_buy",
        tokenless,
        "PERMISSION_DENIED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the account's governance agent has to be asked with its token; send the governance_context of its approval",
          "adcp_error":{"code":"PERMISSION_DENIED",
            "message":"the account's governance agent has to be asked with its token; send the governance_context of its approval","recovery":"correctable",
            "field":"governance_context","suggestion":"get a token with check_governance, or ask the seller"},
          "errors":[
            {"code":"PERMISSION_DENIED","message":"the account's governance agent has to be asked with its token; send the governance_context of its approval",
              "recovery":"correctable","field":"governance_context","suggestion":"get a token with check_governance, or ask the seller"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn a_buy_comes_about_when_the_governance_agent_agrees() {
    let approved = with(decision("approved"), &[("/governance_context", json!("next-token"))]);
    check(
        &governed(decides(approved)),
        "create_media_buy",
        planned(),
        "",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"the media buy has been created","media_buy_id":"mb_<id>","media_buy_status":"pending_creatives","revision":1,
          "currency":"USD","total_budget":5000,
          "valid_actions":[
            "pause",
            "cancel",
            "extend_flight",
            "shorten_flight",
            "update_flight_dates",
            "increase_budget",
            "decrease_budget",
            "reallocate_budget",
            "update_targeting",
            "update_pacing",
            "update_frequency_caps",
            "update_creative_assignments",
            "remove_creative",
            "add_packages",
            "remove_packages",
            "sync_creatives"],
          "available_actions":[
            {"action":"pause","mode":"self_serve"},
            {"action":"cancel","mode":"self_serve"},
            {"action":"extend_flight","mode":"self_serve"},
            {"action":"shorten_flight","mode":"self_serve"},
            {"action":"update_flight_dates","mode":"self_serve"},
            {"action":"increase_budget","mode":"self_serve"},
            {"action":"decrease_budget","mode":"self_serve"},
            {"action":"reallocate_budget","mode":"self_serve"},
            {"action":"update_targeting","mode":"self_serve"},
            {"action":"update_pacing","mode":"self_serve"},
            {"action":"update_frequency_caps","mode":"self_serve"},
            {"action":"update_creative_assignments","mode":"self_serve"},
            {"action":"remove_creative","mode":"self_serve"},
            {"action":"add_packages","mode":"self_serve"},
            {"action":"remove_packages","mode":"self_serve"},
            {"action":"sync_creatives","mode":"self_serve"}],"confirmed_at":"2026-04-30T12:00:00Z",
          "packages":[
            {"package_id":"pkg_<id>","product_id":"prod_test","pricing_option_id":"cpm_test","budget":5000,"start_time":"2026-06-01T00:00:00Z",
              "end_time":"2026-07-01T00:00:00Z","paused":false}],
          "account":{"account_id":"acc_<id>","name":"test.example","status":"active","brand":{"domain":"test.example"},"operator":"test.example",
            "billing":"operator","payment_terms":"net_30","account_scope":"brand","governance_agents":[{"url":"http://127.0.0.1:<port>/mcp"}],"sandbox":true},
          "sandbox":true,"governance_context":"next-token","replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn idempotency_in_flight_while_the_governance_agent_is_deciding() {
    let (come, waits) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let come = Mutex::new(come);
    let released = Mutex::new(released);
    let agent = decides_after(decision("approved"), move || {
        come.lock().unwrap().send(()).unwrap();
        released.lock().unwrap().recv().unwrap();
    });
    let hold = Hold { waits: Mutex::new(waits), release: Mutex::new(release) };
    let case = governed(agent).during("acme", "create_media_buy", planned(), hold);
    check(
        &case,
        "create_media_buy",
        planned(),
        "IDEMPOTENCY_IN_FLIGHT",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the request with this key is being worked on; send it again shortly",
          "adcp_error":{"code":"IDEMPOTENCY_IN_FLIGHT","message":"the request with this key is being worked on; send it again shortly","recovery":"transient",
            "suggestion":"wait and send the same request with the same key, never a fresh one","retry_after":1},
          "errors":[
            {"code":"IDEMPOTENCY_IN_FLIGHT","message":"the request with this key is being worked on; send it again shortly","recovery":"transient",
              "suggestion":"wait and send the same request with the same key, never a fresh one","retry_after":1}],"adcp_version":"3.1"}
    "#]],
    );
}

/// A publisher with this ad server.
fn behind(url: String) -> RequestCase {
    sold().at(move |config| {
        config.publishers[0].upstream = Some(tradepost_runtime::config::UpstreamConfig {
            url: url.clone(),
            timeout: jiff::SignedDuration::from_secs(5),
            freshness: jiff::SignedDuration::from_secs(60),
            keep: jiff::SignedDuration::from_secs(600),
        });
    })
}

fn everything() -> Value {
    json!({"buying_mode": "wholesale", "account": ACCOUNT(), "fields": ["product_id"]})
}

#[test]
fn service_unavailable_when_the_ad_server_does_not_answer() {
    let broken = serve(|_, _| (500, json!({"trace": "SELECT * FROM line_items"})));
    check(
        &behind(broken),
        "create_media_buy",
        order(&[]),
        "SERVICE_UNAVAILABLE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the seller cannot ask its ad server for the moment; send the same again",
          "adcp_error":{"code":"SERVICE_UNAVAILABLE","message":"the seller cannot ask its ad server for the moment; send the same again",
            "recovery":"transient","suggestion":"retry the same request later, with backoff","retry_after":1},
          "errors":[
            {"code":"SERVICE_UNAVAILABLE","message":"the seller cannot ask its ad server for the moment; send the same again","recovery":"transient",
              "suggestion":"retry the same request later, with backoff","retry_after":1}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn configuration_error_when_the_ad_server_refuses_the_publisher() {
    let closed = serve(|_, _| (401, json!({"error": "the key sk-4711 is unknown"})));
    check(
        &behind(closed),
        "create_media_buy",
        order(&[]),
        "CONFIGURATION_ERROR",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the seller's ad server is not set up; the seller's operator has to set it up",
          "adcp_error":{"code":"CONFIGURATION_ERROR","message":"the seller's ad server is not set up; the seller's operator has to set it up",
            "recovery":"terminal","suggestion":"tell the people who run the seller"},
          "errors":[
            {"code":"CONFIGURATION_ERROR","message":"the seller's ad server is not set up; the seller's operator has to set it up","recovery":"terminal",
              "suggestion":"tell the people who run the seller"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn stale_response_when_the_ad_server_has_stopped_answering() {
    // Every binding asks twice: once when it answers, and once when it does not.
    let failing = serve(|_, before| match before % 2 {
        0 => (200, json!({"sold_out": []})),
        _ => (503, Value::Null),
    });
    let case = behind(failing).after("acme", "get_products", everything()).later(100);
    check(
        &case,
        "get_products",
        everything(),
        "STALE_RESPONSE",
        expect![[r#"
            200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
            {"status":"completed","message":"1 product fits",
              "products":[
                {"product_id":"prod_test","name":"Prod test","description":"Prod test, for tests.",
                  "publisher_properties":[{"publisher_domain":"gazette.example","selection_type":"all"}],"delivery_type":"non_guaranteed",
                  "pricing_options":[{"pricing_option_id":"cpm_test","pricing_model":"cpm","currency":"USD","fixed_price":10,"min_spend_per_package":500}],
                  "reporting_capabilities":{"available_reporting_frequencies":["daily"],"expected_delay_minutes":60,"timezone":"UTC","supports_webhooks":false,
                    "available_metrics":["impressions","spend","clicks"],"date_range_support":"date_range"},
                  "format_ids":[{"id":"display_300x250","agent_url":"http://127.0.0.1:8080"}]}],"pagination":{"has_more":false,"total_count":1},
              "cache_scope":"public","wholesale_feed_version":"138c6b080df8b999","sandbox":true,
              "errors":[
                {"code":"STALE_RESPONSE","message":"availability is from an earlier answer, because what knows it cannot be asked","recovery":"transient",
                  "suggestion":"use the answer, or ask again later for a fresh one",
                  "details":{"served_from_cache":true,"cache_age_seconds":100,"freshness_target_seconds":60,"upstream":{"name":"ad-server"}},"severity":"warning"}],
              "adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn product_unavailable_when_the_ad_server_says_so() {
    let empty = serve(|_, _| (200, json!({"sold_out": ["prod_test"]})));
    check(
        &behind(empty),
        "create_media_buy",
        order(&[]),
        "PRODUCT_UNAVAILABLE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the product is sold out; choose another one",
          "adcp_error":{"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable",
            "field":"packages[0].product_id","suggestion":"choose another product"},
          "errors":[
            {"code":"PRODUCT_UNAVAILABLE","message":"the product is sold out; choose another one","recovery":"correctable","field":"packages[0].product_id",
              "suggestion":"choose another product"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn service_unavailable_when_the_store_is_broken() {
    let case = usual().damaged("DROP TABLE publisher_things");
    let list = json!({"context": {"n": 1}});
    check(
        &case,
        "list_creatives",
        list,
        "SERVICE_UNAVAILABLE",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"the seller cannot serve this request for the moment",
              "adcp_error":{"code":"SERVICE_UNAVAILABLE","message":"the seller cannot serve this request for the moment","recovery":"transient",
                "suggestion":"retry the same request later, with backoff","retry_after":5,"details":{"error_id":"err_<id>"}},
              "errors":[
                {"code":"SERVICE_UNAVAILABLE","message":"the seller cannot serve this request for the moment","recovery":"transient",
                  "suggestion":"retry the same request later, with backoff","retry_after":5,"details":{"error_id":"err_<id>"}}],"context":{"n":1},
              "adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn service_unavailable_when_it_cannot_be_found_out_who_calls() {
    // In the form of the keys that the store knows.
    let key =
        "tp_0000000000000000_0000000000000000000000000000000000000000000000000000000000000000";
    let case = usual().by(key).damaged("DROP TABLE api_keys");
    let list = json!({"context": {"n": 1}});
    check(
        &case,
        "list_creatives",
        list,
        "SERVICE_UNAVAILABLE",
        expect![[r#"
            503 error -32027 | 503 error -32027 | 503 error -32027
            {"adcp_error":{"code":"SERVICE_UNAVAILABLE","message":"the seller cannot serve this request for the moment","recovery":"transient",
                "suggestion":"retry the same request later, with backoff","retry_after":5,"details":{"error_id":"err_<id>"}},"context":{"n":1}}
        "#]],
    );
}
