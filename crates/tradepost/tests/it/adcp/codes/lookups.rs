//! What is not there, and what is another's: by typed parameters a code of their own, by others
//! `REFERENCE_NOT_FOUND` (`N-1` to `N-3`).

use expect_test::expect;
use tradepost_document::json::{Value, json};

use super::buys::{ACCOUNT, KEYS, buy, order, sold};
use super::{check, usual};

fn list(id: &str) -> Value {
    json!({"list_id": id})
}

#[test]
fn media_buy_not_found() {
    let update = json!({"account": ACCOUNT(), "media_buy_id": "mb_unknown", "paused": true,
        "idempotency_key": KEYS[0], "context": {"n": 1}});
    check(
        &usual(),
        "update_media_buy",
        update,
        "MEDIA_BUY_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"MEDIA_BUY_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"media_buy_id","suggestion":"check media_buy_id with get_media_buys"},
          "errors":[
            {"code":"MEDIA_BUY_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "field":"media_buy_id","suggestion":"check media_buy_id with get_media_buys"}],"context":{"n":1},"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn package_not_found() {
    let update = json!({"account": ACCOUNT(), "media_buy_id": "$2/media_buy_id",
        "packages": [{"package_id": "pkg_unknown", "budget": 9000}], "idempotency_key": KEYS[5]});
    check(
        &buy(),
        "update_media_buy",
        update,
        "PACKAGE_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"PACKAGE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"packages[0].package_id","suggestion":"check package_id with get_media_buys"},
          "errors":[
            {"code":"PACKAGE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "field":"packages[0].package_id","suggestion":"check package_id with get_media_buys"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn product_not_found() {
    let unknown = order(&[("/packages/0/product_id", json!("prod_unknown"))]);
    check(
        &sold(),
        "create_media_buy",
        unknown,
        "PRODUCT_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"PRODUCT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"packages[0].product_id","suggestion":"remove the unknown ids, or discover again with get_products"},
          "errors":[
            {"code":"PRODUCT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "field":"packages[0].product_id","suggestion":"remove the unknown ids, or discover again with get_products"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn creative_not_found() {
    let assigned = json!([{"creative_id": "cr_unknown"}]);
    let unknown = order(&[("/packages/0/creative_assignments", assigned)]);
    check(
        &sold(),
        "create_media_buy",
        unknown,
        "CREATIVE_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"CREATIVE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"packages[0].creative_assignments[0].creative_id","suggestion":"check creative_id with list_creatives, or register it with sync_creatives"},
          "errors":[
            {"code":"CREATIVE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "field":"packages[0].creative_assignments[0].creative_id",
              "suggestion":"check creative_id with list_creatives, or register it with sync_creatives"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn proposal_not_found() {
    let refine = json!({"buying_mode": "refine", "account": ACCOUNT(), "refine": [
        {"scope": "proposal", "proposal_id": "prop_unknown", "action": "include", "ask": "more video"}]});
    check(
        &usual(),
        "get_products",
        refine,
        "PROPOSAL_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"PROPOSAL_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"refine[0].proposal_id","suggestion":"finalize again with get_products for a current proposal_id"},
          "errors":[
            {"code":"PROPOSAL_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "field":"refine[0].proposal_id","suggestion":"finalize again with get_products for a current proposal_id"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn an_absent_proposal_for_a_caller_pinned_to_3_0() {
    let refine = json!({"buying_mode": "refine", "adcp_version": "3.0", "refine": [
        {"scope": "proposal", "proposal_id": "prop_unknown", "action": "include", "ask": "more video"}]});
    check(
        &usual(),
        "get_products",
        refine,
        "REFERENCE_NOT_FOUND",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
              "adcp_error":{"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
                "field":"refine[0].proposal_id","suggestion":"finalize again with get_products for a current proposal_id"},
              "errors":[
                {"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
                  "field":"refine[0].proposal_id","suggestion":"finalize again with get_products for a current proposal_id"}],"adcp_version":"3.0"}
        "#]],
    );
}

#[test]
fn signal_not_found() {
    let unknown = json!({"signal_refs": [
        {"scope": "signal_source", "signal_source_url": "https://ads.gazette.example", "signal_id": "seg_unknown"}]});
    check(
        &usual(),
        "get_signals",
        unknown,
        "SIGNAL_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"SIGNAL_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "field":"signal_refs","suggestion":"check the signal with get_signals"},
          "errors":[
            {"code":"SIGNAL_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "field":"signal_refs","suggestion":"check the signal with get_signals"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn session_not_found() {
    let unknown =
        json!({"session_id": "sis_unknown", "message": "hello?", "idempotency_key": KEYS[0]});
    check(
        &usual(),
        "si_send_message",
        unknown,
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

#[test]
fn plan_not_found() {
    let unknown = json!({"plan_id": "plan_unknown", "caller": "https://buyer.example/agent",
        "tool": "create_media_buy", "payload": {}});
    check(
        &usual(),
        "check_governance",
        unknown,
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
fn reference_not_found() {
    check(
        &usual(),
        "get_property_list",
        list("pl_unknown"),
        "REFERENCE_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "suggestion":"check the identifier with the task that lists such entities"},
          "errors":[
            {"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "suggestion":"check the identifier with the task that lists such entities"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn another_callers_list_is_one_that_is_not_there() {
    let made = json!({"name": "Mine", "idempotency_key": KEYS[0]});
    let case = usual().by("nova").after("acme", "create_property_list", made);
    check(
        &case,
        "get_property_list",
        list("$0/list/list_id"),
        "REFERENCE_NOT_FOUND",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
              "adcp_error":{"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
                "suggestion":"check the identifier with the task that lists such entities"},
              "errors":[
                {"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
                  "suggestion":"check the identifier with the task that lists such entities"}],"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn a_task_that_is_not_there() {
    let unknown = json!({"task_id": "task_unknown"});
    check(
        &usual(),
        "get_task_status",
        unknown,
        "REFERENCE_NOT_FOUND",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"an identifier in the request does not resolve to anything of yours",
          "adcp_error":{"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
            "suggestion":"check the identifier with the task that lists such entities"},
          "errors":[
            {"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable",
              "suggestion":"check the identifier with the task that lists such entities"}],"adcp_version":"3.1"}
    "#]],
    );
}
