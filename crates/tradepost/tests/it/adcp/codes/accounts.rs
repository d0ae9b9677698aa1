//! Accounts, how they stand, who is billed, and keys that are sent twice.

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};

use super::buys::{ACCOUNT, KEYS, order, sold};
use super::{check, usual};
use crate::support::publisher::RequestCase;

fn opening(billing: &str) -> Value {
    json!({"idempotency_key": KEYS[0], "accounts": [
        {"brand": {"domain": "spark.example"}, "operator": "op.example", "billing": billing}]})
}

/// A buyer whose account has come to stand like this.
fn forced(status: &str) -> RequestCase {
    let forced = json!({"scenario": "force_account_status", "account": ACCOUNT(),
        "params": {"account_id": "$2/accounts/0/account_id", "status": status}});
    let row = json!({"brand": {"domain": "test.example"}, "operator": "test.example",
        "billing": "operator", "sandbox": true});
    sold()
        .after("acme", "sync_accounts", json!({"idempotency_key": KEYS[1], "accounts": [row]}))
        .after("acme", "comply_test_controller", forced)
}

#[track_caller]
fn refused(status: &str, code: &str, expected: Expect) {
    check(&forced(status), "create_media_buy", order(&[]), code, expected);
}

#[test]
fn account_suspended() {
    refused(
        "suspended",
        "ACCOUNT_SUSPENDED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the account is suspended; a person has to settle it with the seller",
          "adcp_error":{"code":"ACCOUNT_SUSPENDED","message":"the account is suspended; a person has to settle it with the seller","recovery":"terminal",
            "suggestion":"ask the seller to lift the suspension"},
          "errors":[
            {"code":"ACCOUNT_SUSPENDED","message":"the account is suspended; a person has to settle it with the seller","recovery":"terminal",
              "suggestion":"ask the seller to lift the suspension"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn account_payment_required() {
    refused(
        "payment_required",
        "ACCOUNT_PAYMENT_REQUIRED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the account has an outstanding balance; the buyer has to settle it",
          "adcp_error":{"code":"ACCOUNT_PAYMENT_REQUIRED","message":"the account has an outstanding balance; the buyer has to settle it","recovery":"terminal",
            "suggestion":"have the outstanding balance paid"},
          "errors":[
            {"code":"ACCOUNT_PAYMENT_REQUIRED","message":"the account has an outstanding balance; the buyer has to settle it","recovery":"terminal",
              "suggestion":"have the outstanding balance paid"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn account_setup_required() {
    let reviewing = |config: &mut tradepost_runtime::config::Config| {
        let review = tradepost_publisher::profile::AccountReview {
            url: Some("https://gazette.example/setup".to_owned()),
            message: "Sign the terms.".to_owned(),
        };
        config.publishers[0].profile.onboarding.review = Some(review);
    };
    let account = json!({"account_id": "$2/accounts/0/account_id"});
    let case = sold().at(reviewing).after("acme", "sync_accounts", opening("operator"));
    let asked = order(&[("/account", account)]);
    check(
        &case,
        "create_media_buy",
        asked,
        "ACCOUNT_SETUP_REQUIRED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the account has to be set up before it can be used; see details",
          "adcp_error":{"code":"ACCOUNT_SETUP_REQUIRED","message":"the account has to be set up before it can be used; see details","recovery":"correctable",
            "suggestion":"have a person complete the setup that details describe",
            "details":{"setup_url":"https://gazette.example/setup","setup_steps":["Sign the terms."]}},
          "errors":[
            {"code":"ACCOUNT_SETUP_REQUIRED","message":"the account has to be set up before it can be used; see details","recovery":"correctable",
              "suggestion":"have a person complete the setup that details describe",
              "details":{"setup_url":"https://gazette.example/setup","setup_steps":["Sign the terms."]}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn billing_not_supported() {
    check(
        &usual(),
        "sync_accounts",
        opening("advertiser"),
        "BILLING_NOT_SUPPORTED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"1 failed",
          "accounts":[
            {"brand":{"domain":"spark.example"},"operator":"op.example","action":"failed","status":"rejected",
              "errors":[
                {"code":"BILLING_NOT_SUPPORTED","message":"the seller does not bill that party; ask for another one in billing","recovery":"correctable",
                  "field":"billing","suggestion":"choose a value of supported_billing, or leave billing out",
                  "details":{"scope":"capability","supported_billing":["operator","agent"]}}]}],"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn billing_not_permitted_for_agent() {
    let narrow = |config: &mut tradepost_runtime::config::Config| {
        let agents = &mut config.publishers[0].profile.agents;
        let mut agent = tradepost_publisher::agent::BuyerAgent::clone(&agents[0]);
        agent.billing = Some([tradepost_publisher::agent::Billing::Operator].into());
        agents[0] = std::sync::Arc::new(agent);
    };
    let case = usual().at(narrow);
    check(
        &case,
        "sync_accounts",
        opening("agent"),
        "BILLING_NOT_PERMITTED_FOR_AGENT",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"1 failed",
          "accounts":[
            {"brand":{"domain":"spark.example"},"operator":"op.example","action":"failed","status":"rejected",
              "errors":[
                {"code":"BILLING_NOT_PERMITTED_FOR_AGENT","message":"the seller does not bill that party for what this buyer agent buys",
                  "recovery":"correctable","field":"billing","suggestion":"use details.suggested_billing once; without it a person has to arrange it",
                  "details":{"rejected_billing":"agent","suggested_billing":"operator"}}]}],"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn permission_denied_for_an_agent_of_sandboxes() {
    let buys = json!({"account": {"brand": {"domain": "a.example"}, "operator": "op.example"}});
    check(
        &usual().by("tester"),
        "get_media_buys",
        buys,
        "PERMISSION_DENIED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"this buyer agent is provisioned for sandbox accounts alone",
          "adcp_error":{"code":"PERMISSION_DENIED","message":"this buyer agent is provisioned for sandbox accounts alone","recovery":"correctable",
            "suggestion":"have a person settle it with the seller","details":{"scope":"agent","reason":"sandbox_only"}},
          "errors":[
            {"code":"PERMISSION_DENIED","message":"this buyer agent is provisioned for sandbox accounts alone","recovery":"correctable",
              "suggestion":"have a person settle it with the seller","details":{"scope":"agent","reason":"sandbox_only"}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn idempotency_conflict() {
    let case = usual().after("acme", "sync_accounts", opening("operator"));
    check(
        &case,
        "sync_accounts",
        opening("agent"),
        "IDEMPOTENCY_CONFLICT",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"this key has been used for another request; use a fresh key",
          "adcp_error":{"code":"IDEMPOTENCY_CONFLICT","message":"this key has been used for another request; use a fresh key","recovery":"correctable"},
          "errors":[{"code":"IDEMPOTENCY_CONFLICT","message":"this key has been used for another request; use a fresh key","recovery":"correctable"}],
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn a_key_that_is_sent_again_brings_the_same_answer() {
    let case = usual().after("acme", "sync_accounts", opening("operator"));
    check(
        &case,
        "sync_accounts",
        opening("operator"),
        "",
        expect![[r#"
            200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
            {"status":"completed","message":"1 created",
              "accounts":[
                {"account_id":"acc_<id>","name":"spark.example c/o op.example","status":"active","brand":{"domain":"spark.example"},"operator":"op.example",
                  "billing":"operator","payment_terms":"net_30","account_scope":"operator_brand","sandbox":false,
                  "authorization":{"allowed_tasks":[
                      "get_adcp_capabilities",
                      "get_products",
                      "list_creative_formats",
                      "create_media_buy",
                      "update_media_buy",
                      "get_media_buys",
                      "get_media_buy_delivery",
                      "sync_creatives",
                      "list_creatives",
                      "sync_audiences",
                      "sync_event_sources",
                      "log_event",
                      "sync_accounts",
                      "list_accounts",
                      "sync_governance",
                      "sync_plans",
                      "check_governance",
                      "report_plan_outcome",
                      "get_plan_audit_logs",
                      "get_signals",
                      "activate_signal",
                      "si_get_offering",
                      "si_initiate_session",
                      "si_send_message",
                      "si_terminate_session",
                      "create_property_list",
                      "get_property_list",
                      "list_property_lists",
                      "update_property_list",
                      "delete_property_list",
                      "validate_property_delivery",
                      "get_task_status",
                      "list_tasks",
                      "comply_test_controller"]},"action":"created"}],"replayed":true,"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn a_key_that_is_missing() {
    let mut keyless = opening("operator");
    keyless.as_object_mut().unwrap().swap_remove("idempotency_key");
    check(
        &usual(),
        "sync_accounts",
        keyless,
        "VALIDATION_ERROR",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"The arguments have 1 problem; correct it and send the request again.",
          "adcp_error":{"code":"VALIDATION_ERROR","message":"The arguments have 1 problem; correct it and send the request again.","recovery":"correctable",
            "field":"idempotency_key","suggestion":"correct every entry of issues and send again",
            "issues":[{"pointer":"/idempotency_key","message":"\"idempotency_key\" is required","keyword":"required"}]},
          "errors":[
            {"code":"VALIDATION_ERROR","message":"The arguments have 1 problem; correct it and send the request again.","recovery":"correctable",
              "field":"idempotency_key","suggestion":"correct every entry of issues and send again",
              "issues":[{"pointer":"/idempotency_key","message":"\"idempotency_key\" is required","keyword":"required"}]}],"adcp_version":"3.1"}
    "#]],
    );
}

/// An account of a house of several brands.
fn brand_account(key: &str, brand_id: Option<&str>) -> Value {
    let mut brand = json!({"domain": "spark.example"});
    if let Some(id) = brand_id {
        brand["brand_id"] = json!(id);
    }
    json!({"idempotency_key": key, "accounts": [
        {"brand": brand, "operator": "op.example", "billing": "operator"}]})
}

/// A publisher that knows that several brands live there.
fn multi_brand_publisher() -> RequestCase {
    usual().at(|config| {
        config.publishers[0].profile.onboarding.houses = ["spark.example".to_owned()].into();
    })
}

#[test]
fn brand_required() {
    check(
        &multi_brand_publisher(),
        "sync_accounts",
        brand_account(KEYS[0], None),
        "BRAND_REQUIRED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"1 failed",
          "accounts":[
            {"brand":{"domain":"spark.example"},"operator":"op.example","action":"failed","status":"rejected",
              "errors":[
                {"code":"BRAND_REQUIRED","message":"this domain houses several brands; name one in brand.brand_id","recovery":"correctable",
                  "field":"brand.brand_id","suggestion":"add brand with its domain"}]}],"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn account_ambiguous() {
    let case = multi_brand_publisher()
        .after("acme", "sync_accounts", brand_account(KEYS[0], Some("one")))
        .after("acme", "sync_accounts", brand_account(KEYS[1], Some("two")));
    let account = json!({"brand": {"domain": "spark.example"}, "operator": "op.example"});
    let asked = json!({"account": account});
    check(
        &case,
        "list_creatives",
        asked,
        "ACCOUNT_AMBIGUOUS",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"several accounts fit; name one by its account_id",
          "adcp_error":{"code":"ACCOUNT_AMBIGUOUS","message":"several accounts fit; name one by its account_id","recovery":"correctable","field":"account",
            "suggestion":"name one by account_id"},
          "errors":[
            {"code":"ACCOUNT_AMBIGUOUS","message":"several accounts fit; name one by its account_id","recovery":"correctable","field":"account",
              "suggestion":"name one by account_id"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn payment_terms_not_supported() {
    let asked = crate::support::with(
        opening("operator"),
        &[("/accounts/0/payment_terms", json!("net_90"))],
    );
    check(
        &usual(),
        "sync_accounts",
        asked,
        "PAYMENT_TERMS_NOT_SUPPORTED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"1 failed",
          "accounts":[
            {"brand":{"domain":"spark.example"},"operator":"op.example","action":"failed","status":"rejected",
              "errors":[
                {"code":"PAYMENT_TERMS_NOT_SUPPORTED","message":"the seller does not accept these payment terms; leave them out to be offered the usual ones",
                  "recovery":"correctable","field":"payment_terms","suggestion":"leave payment_terms out, or choose others"}]}],"replayed":false,
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn unsupported_provisioning() {
    let account = json!({"brand": {"domain": "nobody.example"}, "operator": "op.example"});
    let asked = json!({"idempotency_key": KEYS[0], "accounts": [
        {"account": account, "payment_terms": "net_30"}]});
    check(
        &usual(),
        "sync_accounts",
        asked,
        "UNSUPPORTED_PROVISIONING",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"1 failed",
          "accounts":[
            {"brand":{"domain":"nobody.example"},"operator":"op.example","action":"failed","status":"rejected",
              "errors":[
                {"code":"UNSUPPORTED_PROVISIONING",
                  "message":"no account of yours fits, and a row with account opens none; open it with brand, operator and billing","recovery":"correctable",
                  "field":"account","suggestion":"send the entry in the form that the seller supports"}]}],"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn billing_not_supported_by_the_relationship() {
    let case = usual().at(|config| {
        config.publishers[0].profile.onboarding.operators =
            Some(["other.example".to_owned()].into());
    });
    let asked = opening("operator");
    check(
        &case,
        "sync_accounts",
        asked,
        "BILLING_NOT_SUPPORTED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"1 failed",
          "accounts":[
            {"brand":{"domain":"spark.example"},"operator":"op.example","action":"failed","status":"rejected",
              "errors":[
                {"code":"BILLING_NOT_SUPPORTED","message":"the seller does not bill that party; ask for another one in billing","recovery":"correctable",
                  "field":"billing","suggestion":"choose a value of supported_billing, or leave billing out","details":{"scope":"account"}}]}],
          "replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn idempotency_expired() {
    let case = usual().after("acme", "sync_accounts", opening("operator")).later(8 * 24 * 3600);
    check(
        &case,
        "sync_accounts",
        opening("operator"),
        "IDEMPOTENCY_EXPIRED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"this key is older than the seller remembers; look for the effect of its request before sending it with a fresh key",
          "adcp_error":{"code":"IDEMPOTENCY_EXPIRED",
            "message":"this key is older than the seller remembers; look for the effect of its request before sending it with a fresh key",
            "recovery":"correctable","suggestion":"find out whether the first request succeeded before using a fresh key"},
          "errors":[
            {"code":"IDEMPOTENCY_EXPIRED",
              "message":"this key is older than the seller remembers; look for the effect of its request before sending it with a fresh key",
              "recovery":"correctable","suggestion":"find out whether the first request succeeded before using a fresh key"}],"adcp_version":"3.1"}
    "#]],
    );
}
