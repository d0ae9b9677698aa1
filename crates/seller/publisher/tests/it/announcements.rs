//! What buyers hear of without asking: subscribers of accounts, which prove that they want to, changes
//! of creatives' status, and the end of the wait for an account.

use expect_test::{Expect, expect};
use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpRelease;
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Value, json};
use tradepost_publisher::creative::policy::{CreativePolicy, CreativeReview};
use tradepost_publisher::profile::{Onboarding, PublisherProfile};
use tradepost_publisher::services::Services as _;
use tradepost_publisher::staff::{DecisionStep, DecisionSubject};
use tradepost_publisher::store::{EntityKind, Query};
use tradepost_publisher::{catalogue::Catalogue, profile};

use crate::creatives::banner;
use crate::staff::{decide, decision};
use crate::support::script::Script;
use crate::support::{Harness, profile, schemas};

/// A subscriber of an account; what `changes` has wins.
fn subscriber(changes: Value) -> Value {
    let mut config = json!({
        "subscriber_id": "main", "url": "https://hooks.example/creatives?key=s3cret",
        "event_types": ["creative.status_changed", "creative.purged"],
    });
    for (name, value) in changes.as_object().unwrap() {
        config[name] = value.clone();
    }
    config
}

/// The row of an account with these subscribers after `sync_accounts`.
fn subscribe(script: &Script, configs: Value) -> Value {
    let row = json!({
        "brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example",
        "billing": "operator", "notification_configs": configs,
    });
    // The world counts what it is asked for: no two keys are the same.
    let key = script.harness.services.fresh_id("subscribe-the-key");
    let request = json!({"idempotency_key": key, "accounts": [row]});
    let mut answer = script.harness.ask(AdcpTool::SyncAccounts, request).document();
    answer["accounts"][0].take()
}

/// How a row of `sync_accounts` ended.
fn ended(row: &Value) -> String {
    let errors = row["errors"].as_array().into_iter().flatten();
    let errors: Vec<_> =
        errors.map(|error| format!("{} at {}", error["code"], error["field"])).collect();
    format!("{} {}", row["action"], errors.join(", "))
}

/// What addresses were asked since the last time; each question fits its published schema.
fn challenged(harness: &Harness) -> Vec<Value> {
    let asked = std::mem::take(&mut *harness.services.challenged.lock().unwrap());
    let read = |challenge: &tradepost_publisher::services::SubscriberChallenge| {
        let body: Value = tradepost_document::json::from_str(&challenge.body).unwrap();
        for release in [AdcpRelease::V3_1, AdcpRelease::V3_2] {
            let found = schemas::against(release, "core/webhook-challenge.json", &body);
            assert_eq!(found, Vec::<String>::new());
        }
        body
    };
    asked.iter().map(read).collect()
}

/// What is queued, oldest first; notifications about creatives fit their published schema.
fn announced(harness: &Harness) -> Vec<Value> {
    let notices =
        harness.store.look(|reader| reader.list(EntityKind::Notice, &Query::default())).unwrap();
    let read = |record: tradepost_publisher::store::EntityRecord| {
        let body: Value =
            tradepost_document::json::from_str(record.body["body"].as_str().unwrap()).unwrap();
        let name = if body["notification_type"].is_null() {
            "core/mcp-webhook-payload.json"
        } else {
            "creative/creative-status-changed-webhook.json"
        };
        for release in [AdcpRelease::V3_1, AdcpRelease::V3_2] {
            assert_eq!(schemas::against(release, name, &body), Vec::<String>::new(), "{body}");
        }
        json!({"url": record.body["url"], "authentication": record.body["authentication"], "body": body})
    };
    notices.into_iter().map(read).collect()
}

fn check(found: &str, expected: &Expect) {
    expected.assert_eq(found);
}

#[test]
fn a_subscriber_is_active_once_its_address_answered_the_challenge() {
    let mut script = Script::new();
    let first = subscribe(&script, json!([subscriber(json!({}))]));
    check(&ended(&first), &expect![[r#""created" "#]]);
    let asked = challenged(&script.harness);
    check(
        &asked[0].to_string(),
        &expect![[
            r#"{"type":"webhook.challenge","challenge":"challenge_00000000000000000000000000000003","account_id":"acc_2","subscriber_id":"main","seller_agent_url":"https://gazette.example/mcp","delivery_auth":{"mode":"rfc9421"},"event_types":["creative.purged","creative.status_changed"]}"#
        ]],
    );
    assert_eq!((asked.len(), &asked[0]["account_id"]), (1, &first["account_id"]));
    // What has been proven holds as long as nothing of it changes.
    let again = subscribe(&script, json!([subscriber(json!({}))]));
    check(&ended(&again), &expect![[r#""unchanged" "#]]);
    assert_eq!(challenged(&script.harness), Vec::<Value>::new());
    let secret = json!({"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"});
    let other = subscriber(json!({"authentication": secret}));
    check(&ended(&subscribe(&script, json!([other]))), &expect![[r#""updated" "#]]);
    let asked = challenged(&script.harness);
    check(
        &asked[0]["delivery_auth"].to_string(),
        &expect![[
            r#"{"mode":"Bearer","credential_fingerprint":"3eb1bd439947eb762998e566ccc2e099c791118b2f40579cc4f7da2b5061b7f9"}"#
        ]],
    );
    // One that says nothing back is refused, and those before it stay.
    let with_silent_one = json!([
        subscriber(json!({"event_types": ["creative.purged"]})),
        subscriber(json!({"subscriber_id": "mute", "url": "https://mute.example/hooks"})),
    ]);
    check(
        &ended(&subscribe(&script, with_silent_one)),
        &expect![[r#""failed" "VALIDATION_ERROR" at "notification_configs[1].url""#]],
    );
    assert_eq!(challenged(&script.harness).len(), 2);
    let listed = script.ask(AdcpTool::ListAccounts, json!({}));
    check(
        &listed["accounts"][0]["notification_configs"].to_string(),
        &expect![[
            r#"[{"subscriber_id":"main","url":"https://hooks.example/creatives?key=s3cret","event_types":["creative.status_changed","creative.purged"],"authentication":{"schemes":["Bearer"]}}]"#
        ]],
    );
    // Paused ones are not asked, nor is anybody for a trial.
    let paused = json!([subscriber(json!({"url": "https://mute.example/hooks", "active": false}))]);
    check(&ended(&subscribe(&script, paused)), &expect![[r#""updated" "#]]);
    assert_eq!(challenged(&script.harness), Vec::<Value>::new());
    // Events of feeds are not announced here.
    let feeds = json!([subscriber(json!({"event_types": ["creative.purged", "product.created"]}))]);
    check(
        &ended(&subscribe(&script, feeds)),
        &expect![[r#""failed" "UNSUPPORTED_FEATURE" at "notification_configs[0].event_types[1]""#]],
    );
}

#[test]
fn an_answer_says_the_word_back_and_nothing_else() {
    let challenge = tradepost_publisher::services::SubscriberChallenge {
        url: String::new(),
        word: "word".to_owned(),
        body: String::new(),
    };
    for body in [r#"{"challenge": "word"}"#, r#"{"token": "word"}"#] {
        assert!(challenge.is_answered_by(body.as_bytes()), "{body}");
    }
    for body in [
        "",
        "word",
        r#""word""#,
        "{}",
        r#"{"challenge": "other"}"#,
        r#"{"challenge": "word", "token": "word"}"#,
        r#"{"challenge": "word", "more": 1}"#,
        r#"{"word": "word"}"#,
    ] {
        assert!(!challenge.is_answered_by(body.as_bytes()), "{body}");
    }
}

#[test]
fn subscribers_hear_of_creatives_that_others_than_the_buyer_change() {
    let creatives =
        CreativePolicy { review: CreativeReview::After(60), ..demo::catalogue().creatives };
    let mut script = Script::from_catalogue(Catalogue { creatives, ..demo::catalogue() });
    let both = json!([
        subscriber(json!({})),
        subscriber(json!({"subscriber_id": "purged", "event_types": ["creative.purged"]})),
        subscriber(json!({"subscriber_id": "later", "active": false})),
    ]);
    subscribe(&script, both);
    script.ask(AdcpTool::SyncCreatives, json!({"creatives": [banner("one")]}));
    assert_eq!(announced(&script.harness), Vec::<Value>::new());
    // The review ends by itself.
    script.harness.now += SignedDuration::from_secs(61);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for _ in 0..2 {
        runtime.block_on(script.harness.publisher.tick(script.harness.now));
    }
    check(
        &announced(&script.harness)[0].to_string(),
        &expect![[
            r#"{"url":"https://hooks.example/creatives?key=s3cret","authentication":null,"body":{"idempotency_key":"webhook-delivery_6","notification_id":"creative-change_5","notification_type":"creative.status_changed","fired_at":"2026-06-01T12:01:01Z","subscriber_id":"main","account_id":"acc_2","creative_id":"one","transition":{"from":"pending_review","to":"approved","observed_at":"2026-06-01T12:01:01Z"},"reason_code":"review_passed","initiator":"system"}}"#
        ]],
    );
    // A person declines it.
    let declined = decision(DecisionSubject::Creative, "one", DecisionStep::Decline);
    decide(&script.harness, &declined).unwrap();
    let second = announced(&script.harness);
    let transition = &second[1]["body"];
    check(
        &format!(
            "{} {} {}",
            transition["transition"], transition["reason_code"], transition["reason_detail"]
        ),
        &expect![[
            r#"{"from":"approved","to":"rejected","observed_at":"2026-06-01T12:01:01Z"} "policy_revocation" "the logo is another's""#
        ]],
    );
    // The buyer itself brings it back, and puts it away.
    script.ask(AdcpTool::SyncCreatives, json!({"creatives": [banner("one")]}));
    assert_eq!(announced(&script.harness).len(), 2);
    let asked = json!({"include_webhook_activity": true, "webhook_activity_limit": 1});
    let listed = script.ask(AdcpTool::ListCreatives, asked);
    check(
        &listed["creatives"][0]["webhook_activity"].to_string(),
        &expect![[
            r#"[{"idempotency_key":"webhook-delivery_9","subscriber_id":"main","fired_at":"2026-06-01T12:01:01Z","notification_type":"creative.status_changed","attempt":1,"url":"https://hooks.example/creatives","payload_size_bytes":403,"status":"pending","http_status_code":null}]"#
        ]],
    );
}

#[test]
fn whoever_waits_for_an_account_hears_once_how_it_stands() {
    let review = profile::AccountReview { message: "Sign.".to_owned(), url: None };
    let onboarding = Onboarding { review: Some(review), ..Onboarding::default() };
    let harness = Harness::from_profile(PublisherProfile { onboarding, ..profile() });
    let row =
        json!({"brand": {"domain": "a.example"}, "operator": "a.example", "billing": "operator"});
    let request = json!({
        "idempotency_key": "4f1c7e52-0000-4000-8000-000000000001", "accounts": [row],
        "push_notification_config": {"url": "https://buyer.example/hooks", "operation_id": "op-1"},
    });
    let opened = harness.ask(AdcpTool::SyncAccounts, request).document();
    assert_eq!(opened["accounts"][0]["status"], "pending_approval");
    let id = opened["accounts"][0]["account_id"].as_str().unwrap();
    assert_eq!(announced(&harness), Vec::<Value>::new());
    for step in [DecisionStep::Approve, DecisionStep::Suspend] {
        decide(&harness, &decision(DecisionSubject::Account, id, step)).unwrap();
    }
    let notifications = announced(&harness);
    assert_eq!(notifications.len(), 1);
    check(
        &notifications[0].to_string(),
        &expect![[
            r#"{"url":"https://buyer.example/hooks","authentication":null,"body":{"idempotency_key":"webhook-delivery_2","operation_id":"op-1","task_id":"acc_1","task_type":"sync_accounts","status":"completed","timestamp":"2026-06-01T12:00:00Z","message":"how the account stands has changed","result":{"status":"completed","accounts":[{"account_id":"acc_1","name":"a.example","status":"active","brand":{"domain":"a.example"},"operator":"a.example","billing":"operator","payment_terms":"net_30","account_scope":"brand","sandbox":false,"action":"updated"}]}}}"#
        ]],
    );
}
