//! What a caller may do: the codes of "Authorization (RBAC)" (`R-*`, `G-2`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use expect_test::expect;
use tradepost_document::json::json;
use tradepost_publisher::account::{Account, AccountGrant};
use tradepost_publisher::agent::{AccountRights, BuyerAgent};
use tradepost_publisher::store::Query;

use super::buys::{ACCOUNT, KEYS, buy, order};
use super::check;
use super::usual;
use crate::support::publisher::{Binding, RequestCase, start_with};
use crate::support::{NOW, at};

/// The names of things.
fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// At a publisher that has onboarded `acme` with this scope.
fn at_scope(scope: AccountRights, case: RequestCase) -> RequestCase {
    case.at(move |config| {
        let agents = &mut config.publishers[0].profile.agents;
        let scope = Some(scope.clone());
        agents[0] = Arc::new(BuyerAgent { scope, ..BuyerAgent::clone(&agents[0]) });
    })
}

fn scoped(scope: AccountRights) -> RequestCase {
    at_scope(scope, usual())
}

fn reader() -> AccountRights {
    AccountRights { read_only: true, ..AccountRights::default() }
}

#[test]
fn permission_denied_for_a_credential_that_is_mapped_to_nobody() {
    let case = usual().by("stranger").at(|config| {
        config.publishers[0].profile.onboarding.strangers = false;
    });
    check(
        &case,
        "get_products",
        json!({"buying_mode": "wholesale"}),
        "PERMISSION_DENIED",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"the seller does not permit this; a person has to settle it with the seller",
              "adcp_error":{"code":"PERMISSION_DENIED","message":"the seller does not permit this; a person has to settle it with the seller",
                "recovery":"correctable","suggestion":"have a person settle it with the seller"},
              "errors":[
                {"code":"PERMISSION_DENIED","message":"the seller does not permit this; a person has to settle it with the seller","recovery":"correctable",
                  "suggestion":"have a person settle it with the seller"}],"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn scope_insufficient() {
    let tasks = set(&["get_products", "sync_accounts"]);
    let scope = AccountRights { allowed_tasks: Some(tasks), ..AccountRights::default() };
    let row = json!({"brand": {"domain": "spark.example"}, "operator": "op.example",
        "billing": "operator"});
    let opened = json!({"idempotency_key": KEYS[0], "accounts": [row]});
    check(
        &scoped(scope).after("acme", "sync_accounts", opened),
        "list_creatives",
        json!({"account": {"account_id": "$0/accounts/0/account_id"}}),
        "SCOPE_INSUFFICIENT",
        expect![[r#"
            200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
            {"status":"failed","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call",
              "adcp_error":{"code":"SCOPE_INSUFFICIENT",
                "message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","recovery":"correctable",
                "suggestion":"have a broader scope granted, or use a task that is permitted",
                "details":{"introspection_hint":{"task":"list_accounts","account":{"account_id":"acc_<id>"}}}},
              "errors":[
                {"code":"SCOPE_INSUFFICIENT","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call",
                  "recovery":"correctable","suggestion":"have a broader scope granted, or use a task that is permitted",
                  "details":{"introspection_hint":{"task":"list_accounts","account":{"account_id":"acc_<id>"}}}}],"adcp_version":"3.1"}
        "#]],
    );
}

#[test]
fn scope_insufficient_comes_before_what_the_seller_has_not() {
    let scope = AccountRights { allowed_tasks: Some(set(&[])), ..AccountRights::default() };
    let update = json!({"account": ACCOUNT(), "media_buy_id": "mb_unknown", "paused": true,
        "idempotency_key": KEYS[0]});
    check(
        &scoped(scope),
        "update_media_buy",
        update,
        "SCOPE_INSUFFICIENT",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call",
          "adcp_error":{"code":"SCOPE_INSUFFICIENT",
            "message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","recovery":"correctable",
            "suggestion":"have a broader scope granted, or use a task that is permitted","details":{"introspection_hint":{"task":"list_accounts"}}},
          "errors":[
            {"code":"SCOPE_INSUFFICIENT","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call",
              "recovery":"correctable","suggestion":"have a broader scope granted, or use a task that is permitted",
              "details":{"introspection_hint":{"task":"list_accounts"}}}],"adcp_version":"3.1"}
    "#]],
    );
}

/// `build_creative` is a task of AdCP that this seller does not have.
#[test]
fn an_absent_task_is_a_matter_of_scope_first() {
    let none =
        AccountRights { allowed_tasks: Some(set(&["get_products"])), ..AccountRights::default() };
    let granted =
        AccountRights { allowed_tasks: Some(set(&["build_creative"])), ..AccountRights::default() };
    for (scope, code) in [(none, "SCOPE_INSUFFICIENT"), (granted, "UNSUPPORTED_FEATURE")] {
        let publisher = start_with(&|config| {
            let agents = &mut config.publishers[0].profile.agents;
            let scope = Some(scope.clone());
            agents[0] = Arc::new(BuyerAgent { scope, ..BuyerAgent::clone(&agents[0]) });
        });
        for binding in [Binding::Mcp, Binding::A2a, Binding::Older] {
            let sent = json!({"message": "a banner"});
            let answer =
                publisher.call(binding, "acme", "build_creative", &sent).json().to_string();
            assert!(answer.contains(&format!(r#""code":"{code}""#)), "{answer}");
        }
    }
}

#[test]
fn read_only_scope() {
    check(
        &scoped(reader()),
        "create_media_buy",
        order(&[]),
        "READ_ONLY_SCOPE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the caller may read this account and change nothing",
          "adcp_error":{"code":"READ_ONLY_SCOPE","message":"the caller may read this account and change nothing","recovery":"correctable",
            "suggestion":"have write access granted, or use a task that only reads"},
          "errors":[
            {"code":"READ_ONLY_SCOPE","message":"the caller may read this account and change nothing","recovery":"correctable",
              "suggestion":"have write access granted, or use a task that only reads"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn read_only_scope_of_an_account_that_another_has_granted() {
    let case = buy().by("nova").with_store_change(|tx| {
        for account in tx.all::<Account>(&Query::default())? {
            let grant = AccountGrant { account_id: account.record.id, authorization: reader() };
            grant.put(tx, "agent:nova", at(NOW))?;
        }
        Ok(())
    });
    let update = json!({"account": {"account_id": "$2/account/account_id"},
        "media_buy_id": "$2/media_buy_id", "paused": true, "idempotency_key": KEYS[5]});
    check(
        &case,
        "update_media_buy",
        update,
        "READ_ONLY_SCOPE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the caller may read this account and change nothing",
          "adcp_error":{"code":"READ_ONLY_SCOPE","message":"the caller may read this account and change nothing","recovery":"correctable",
            "suggestion":"have write access granted, or use a task that only reads"},
          "errors":[
            {"code":"READ_ONLY_SCOPE","message":"the caller may read this account and change nothing","recovery":"correctable",
              "suggestion":"have write access granted, or use a task that only reads"}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn field_not_permitted() {
    let fields = BTreeMap::from([("update_media_buy".to_owned(), set(&["end_time"]))]);
    let scope = AccountRights { field_scopes: fields, ..AccountRights::default() };
    let package = json!({"package_id": "$2/packages/0/package_id", "budget": 9000});
    let update = json!({"account": ACCOUNT(), "media_buy_id": "$2/media_buy_id", "paused": true,
        "packages": [package], "idempotency_key": KEYS[5]});
    check(
        &at_scope(scope, buy()),
        "update_media_buy",
        update,
        "FIELD_NOT_PERMITTED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the caller may not set this field for this account; leave it out",
          "adcp_error":{"code":"FIELD_NOT_PERMITTED","message":"the caller may not set this field for this account; leave it out","recovery":"correctable",
            "field":"paused","suggestion":"leave the field out and send again","details":{"task":"update_media_buy","permitted_fields":["end_time"]}},
          "errors":[
            {"code":"FIELD_NOT_PERMITTED","message":"the caller may not set this field for this account; leave it out","recovery":"correctable",
              "field":"paused","suggestion":"leave the field out and send again","details":{"task":"update_media_buy","permitted_fields":["end_time"]}},
            {"code":"FIELD_NOT_PERMITTED","message":"the caller may not set this field for this account; leave it out","recovery":"correctable",
              "field":"packages[0].budget","suggestion":"leave the field out and send again",
              "details":{"task":"update_media_buy","permitted_fields":["end_time"]}}],"adcp_version":"3.1"}
    "#]],
    );
}
