//! Proposals that cannot be committed to or bought as they are, and conversations that are over.

use expect_test::expect;
use tradepost_document::json::{Value, json};

use super::buys::{ACCOUNT, KEYS};
use super::check;
use super::shop::shop;
use crate::support::publisher::RequestCase;

/// A publisher that has been asked for proposals.
fn proposed() -> RequestCase {
    let brief =
        "Premium video and display across outdoor lifestyle and sports. Q2 flight, $50K budget.";
    let asked = json!({"buying_mode": "brief", "brief": brief, "account": ACCOUNT()});
    shop().after("acme", "get_products", asked)
}

fn finalize(ids: &[&str]) -> Value {
    let entry = |id: &&str| json!({"scope": "proposal", "proposal_id": id, "action": "finalize"});
    json!({"buying_mode": "refine", "account": ACCOUNT(),
        "refine": ids.iter().map(entry).collect::<Vec<_>>()})
}

const FIRST: &str = "$0/proposals/0/proposal_id";

fn of_proposal(amount: u32) -> Value {
    json!({"account": ACCOUNT(), "brand": {"domain": "test.example"}, "proposal_id": FIRST,
        "total_budget": {"amount": amount, "currency": "USD"}, "idempotency_key": KEYS[2],
        "start_time": "2026-06-01T00:00:00Z", "end_time": "2026-07-01T00:00:00Z"})
}

#[test]
fn proposal_not_committed() {
    check(
        &proposed(),
        "create_media_buy",
        of_proposal(50_000),
        "PROPOSAL_NOT_COMMITTED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the proposal is a draft; finalize it with get_products before buying",
          "adcp_error":{"code":"PROPOSAL_NOT_COMMITTED","message":"the proposal is a draft; finalize it with get_products before buying",
            "recovery":"correctable","field":"proposal_id","suggestion":"finalize it with get_products first"},
          "errors":[
            {"code":"PROPOSAL_NOT_COMMITTED","message":"the proposal is a draft; finalize it with get_products before buying","recovery":"correctable",
              "field":"proposal_id","suggestion":"finalize it with get_products first"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn proposal_expired() {
    let case = proposed().later(8 * 24 * 3600);
    check(
        &case,
        "get_products",
        finalize(&[FIRST]),
        "PROPOSAL_EXPIRED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the proposal was good until a moment that has passed; ask for another",
          "adcp_error":{"code":"PROPOSAL_EXPIRED","message":"the proposal was good until a moment that has passed; ask for another","recovery":"correctable",
            "field":"refine[0].proposal_id","suggestion":"get a fresh proposal with get_products"},
          "errors":[
            {"code":"PROPOSAL_EXPIRED","message":"the proposal was good until a moment that has passed; ask for another","recovery":"correctable",
              "field":"refine[0].proposal_id","suggestion":"get a fresh proposal with get_products"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn multi_finalize_unsupported() {
    let both = finalize(&[FIRST, "$0/proposals/1/proposal_id"]);
    check(
        &proposed(),
        "get_products",
        both,
        "MULTI_FINALIZE_UNSUPPORTED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"these proposals hold the same guaranteed inventory, which cannot be promised in one request; finalize one at a time",
          "adcp_error":{"code":"MULTI_FINALIZE_UNSUPPORTED",
            "message":"these proposals hold the same guaranteed inventory, which cannot be promised in one request; finalize one at a time",
            "recovery":"correctable","field":"refine","suggestion":"finalize one proposal in each get_products call"},
          "errors":[
            {"code":"MULTI_FINALIZE_UNSUPPORTED",
              "message":"these proposals hold the same guaranteed inventory, which cannot be promised in one request; finalize one at a time",
              "recovery":"correctable","field":"refine","suggestion":"finalize one proposal in each get_products call"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn requote_required() {
    let case = proposed().after("acme", "get_products", finalize(&[FIRST]));
    check(
        &case,
        "create_media_buy",
        of_proposal(90_000),
        "REQUOTE_REQUIRED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed",
          "message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal",
          "adcp_error":{"code":"REQUOTE_REQUIRED",
            "message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal",
            "recovery":"correctable","field":"total_budget","suggestion":"stay within the quote, or get a new one with get_products",
            "details":{"envelope_field":["total_budget"]}},
          "errors":[
            {"code":"REQUOTE_REQUIRED",
              "message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal",
              "recovery":"correctable","field":"total_budget","suggestion":"stay within the quote, or get a new one with get_products",
              "details":{"envelope_field":["total_budget"]}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn requote_required_for_an_update_beyond_the_quote() {
    let case = proposed().after("acme", "get_products", finalize(&[FIRST])).after(
        "acme",
        "create_media_buy",
        of_proposal(50_000),
    );
    let longer = json!({"account": ACCOUNT(), "media_buy_id": "$2/media_buy_id",
        "idempotency_key": KEYS[5], "end_time": "2026-12-31T00:00:00Z"});
    check(
        &case,
        "update_media_buy",
        longer,
        "REQUOTE_REQUIRED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed",
          "message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal",
          "adcp_error":{"code":"REQUOTE_REQUIRED",
            "message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal",
            "recovery":"correctable","field":"end_time","suggestion":"stay within the quote, or get a new one with get_products",
            "details":{"envelope_field":["end_time"]}},
          "errors":[
            {"code":"REQUOTE_REQUIRED",
              "message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal",
              "recovery":"correctable","field":"end_time","suggestion":"stay within the quote, or get a new one with get_products",
              "details":{"envelope_field":["end_time"]}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn session_terminated() {
    let begun = json!({"idempotency_key": KEYS[0], "intent": "a subscription",
        "identity": {"consent_granted": false}});
    let ended = json!({"idempotency_key": KEYS[1], "session_id": "$0/session_id",
        "reason": "user_exit"});
    let case = shop().after("acme", "si_initiate_session", begun).after(
        "acme",
        "si_terminate_session",
        ended,
    );
    let more =
        json!({"session_id": "$0/session_id", "message": "hello?", "idempotency_key": KEYS[2]});
    check(
        &case,
        "si_send_message",
        more,
        "SESSION_TERMINATED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the conversation has ended; open another with si_initiate_session",
          "adcp_error":{"code":"SESSION_TERMINATED","message":"the conversation has ended; open another with si_initiate_session","recovery":"correctable",
            "field":"session_id","suggestion":"begin a session with si_initiate_session"},
          "errors":[
            {"code":"SESSION_TERMINATED","message":"the conversation has ended; open another with si_initiate_session","recovery":"correctable",
              "field":"session_id","suggestion":"begin a session with si_initiate_session"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn session_not_found_when_it_has_run_out() {
    let begun = json!({"idempotency_key": KEYS[0], "intent": "a subscription",
        "identity": {"consent_granted": false}});
    let case = shop().after("acme", "si_initiate_session", begun).later(3600);
    let more =
        json!({"session_id": "$0/session_id", "message": "hello?", "idempotency_key": KEYS[2]});
    check(
        &case,
        "si_send_message",
        more,
        "SESSION_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"SESSION_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"session_id","suggestion":"begin a session with si_initiate_session"},
          "errors":[
            {"code":"SESSION_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "field":"session_id","suggestion":"begin a session with si_initiate_session"}],"adcp_version":"3.1"}
    "#]],
    );
}
