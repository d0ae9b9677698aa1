//! Buys that wait for approval: the task, its end, the notification, `get_task_status` and `list_tasks`.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpRelease;
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::ProductTerms;
use tradepost_publisher::store::EntityKind;
use tradepost_publisher::task::finish::{TaskFinisher, record_id};
use tradepost_publisher::test_controller::forced_answer::{Arm, PreparedAnswer};

use crate::support::schemas;
use crate::support::shop::{Shop, errors, fixed, package, product};

fn order(product: &str) -> Value {
    json!({
        "context": {"trace": "t-1"},
        "packages": [package(json!({"product_id": product}))],
        "push_notification_config": {
            "url": "https://buyer.example/hooks", "operation_id": "op-1",
            "token": "token-of-the-buyer-1",
            "authentication": {"schemes": ["Bearer"], "credentials": "01234567890123456789012345678901"},
        },
    })
}

fn status(shop: &Shop, id: &Value) -> Value {
    let asked = json!({"task_id": id, "include_result": true, "include_history": true});
    shop.ask(AdcpTool::GetTaskStatus, asked)
}

/// The notifications that wait, with their bodies read and judged.
fn notices(shop: &Shop) -> Vec<Value> {
    let mut notices = shop.stored(EntityKind::Notice);
    for notice in &mut notices {
        let body: Value =
            tradepost_document::json::from_str(notice["body"].as_str().unwrap()).unwrap();
        let found = schemas::against(AdcpRelease::V3_1, "core/mcp-webhook-payload.json", &body);
        assert!(found.is_empty(), "{found:?}");
        notice["body"] = body;
    }
    notices
}

#[test]
fn a_buy_waits_for_approval_and_comes_about_with_it() {
    let mut shop = Shop::funded(5000, 0);
    let answer = shop.create(order("soon"));
    expect![[r#"{"status":"submitted","message":"the media buy waits for the seller's approval","task_id":"task_3","context":{"trace":"t-1"},"replayed":false,"adcp_version":"3.1"}"#]].assert_eq(&answer.to_string());
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
    assert_eq!(shop.stored(EntityKind::Account)[0]["funds"]["committed"], 1000.0);
    let id = &answer["task_id"];
    expect![[r#"{"status":"submitted","message":"how the task stands","task_id":"task_3","task_type":"create_media_buy","created_at":"2026-06-01T12:00:00Z","updated_at":"2026-06-01T12:00:00Z","has_webhook":true,"protocol":"media-buy","history":[{"timestamp":"2026-06-01T12:00:00Z","type":"request","data":{"brand":{"domain":"acmeoutdoor.example"},"start_time":"2026-07-01T00:00:00Z","end_time":"2026-08-01T00:00:00Z","packages":[{"product_id":"soon","pricing_option_id":"cpm","budget":1000,"creative_assignments":[{"creative_id":"banner"}]}],"context":{"trace":"t-1"},"account":{"account_id":"acc_acme"},"idempotency_key":"shop-key-00000001"}},{"timestamp":"2026-06-01T12:00:00Z","type":"response","data":{"status":"submitted","task_id":"task_3"}}],"adcp_version":"3.1"}"#]].assert_eq(&status(&shop, id).to_string());
    // It is not decided before its time, nor twice.
    assert_eq!((shop.tick(), notices(&shop).len()), (0, 0));
    shop.wait(1);
    assert_eq!(shop.tick(), 1);
    assert_eq!(shop.tick(), 0);
    let mut ended = status(&shop, id);
    let result = ended["result"].take();
    expect![[r#"{"status":"completed","message":"how the task stands","task_id":"task_3","task_type":"create_media_buy","created_at":"2026-06-01T12:00:00Z","updated_at":"2026-06-01T13:00:00Z","completed_at":"2026-06-01T13:00:00Z","has_webhook":true,"protocol":"media-buy","result":null,"history":[{"timestamp":"2026-06-01T12:00:00Z","type":"request","data":{"brand":{"domain":"acmeoutdoor.example"},"start_time":"2026-07-01T00:00:00Z","end_time":"2026-08-01T00:00:00Z","packages":[{"product_id":"soon","pricing_option_id":"cpm","budget":1000,"creative_assignments":[{"creative_id":"banner"}]}],"context":{"trace":"t-1"},"account":{"account_id":"acc_acme"},"idempotency_key":"shop-key-00000001"}},{"timestamp":"2026-06-01T12:00:00Z","type":"response","data":{"status":"submitted","task_id":"task_3"}},{"timestamp":"2026-06-01T13:00:00Z","type":"response","data":{"media_buy_id":"mb_1","media_buy_status":"pending_start","revision":1,"currency":"USD","total_budget":1000,"valid_actions":["pause","cancel","extend_flight","shorten_flight","update_flight_dates","increase_budget","decrease_budget","reallocate_budget","update_targeting","update_pacing","update_frequency_caps","update_creative_assignments","remove_creative","add_packages","remove_packages","sync_creatives"],"available_actions":[{"action":"pause","mode":"self_serve"},{"action":"cancel","mode":"self_serve"},{"action":"extend_flight","mode":"self_serve"},{"action":"shorten_flight","mode":"self_serve"},{"action":"update_flight_dates","mode":"self_serve"},{"action":"increase_budget","mode":"self_serve"},{"action":"decrease_budget","mode":"self_serve"},{"action":"reallocate_budget","mode":"self_serve"},{"action":"update_targeting","mode":"self_serve"},{"action":"update_pacing","mode":"self_serve"},{"action":"update_frequency_caps","mode":"self_serve"},{"action":"update_creative_assignments","mode":"self_serve"},{"action":"remove_creative","mode":"self_serve"},{"action":"add_packages","mode":"self_serve"},{"action":"remove_packages","mode":"self_serve"},{"action":"sync_creatives","mode":"self_serve"}],"confirmed_at":"2026-06-01T13:00:00Z","packages":[{"package_id":"pkg_2","product_id":"soon","pricing_option_id":"cpm","budget":1000,"start_time":"2026-07-01T00:00:00Z","end_time":"2026-08-01T00:00:00Z","paused":false,"creative_assignments":[{"creative_id":"banner"}]}],"account":{"account_id":"acc_acme","name":"acmeoutdoor.example c/o pinnacle.example","status":"active","brand":{"domain":"acmeoutdoor.example"},"operator":"pinnacle.example","billing":"operator","account_scope":"operator_brand","sandbox":false},"status":"completed"}}],"adcp_version":"3.1"}"#]].assert_eq(&ended.to_string());
    assert_eq!(
        schemas::against(AdcpRelease::V3_1, "media-buy/create-media-buy-response.json", &result),
        Vec::<String>::new()
    );
    let stored = shop.buy(result["media_buy_id"].as_str().unwrap());
    assert_eq!(stored.thing.confirmed_at, Some(shop.harness.now));
    let mut notices = notices(&shop);
    assert_eq!(notices.len(), 1);
    let mut announced = notices[0]["body"]["result"].take();
    // X-2: the caller's context goes with the result.
    assert_eq!(
        announced.as_object_mut().unwrap().shift_remove("context"),
        Some(json!({"trace": "t-1"}))
    );
    assert_eq!(announced, result);
    expect![[r#"{"url":"https://buyer.example/hooks","authentication":{"schemes":["Bearer"],"credentials":"01234567890123456789012345678901"},"body":{"idempotency_key":"webhook-delivery_4","operation_id":"op-1","task_id":"task_3","task_type":"create_media_buy","protocol":"media-buy","status":"completed","timestamp":"2026-06-01T13:00:00Z","message":"the task is completed","token":"token-of-the-buyer-1","context":{"trace":"t-1"},"result":null},"attempts":0,"due_at":"2026-06-01T13:00:00Z"}"#]].assert_eq(&notices[0].to_string());
}

#[test]
fn what_the_seller_declines_gives_the_funds_back() {
    let mut shop = Shop::funded(5000, 0);
    let answer = shop.create(order("never"));
    shop.wait(1);
    assert_eq!(shop.tick(), 1);
    let mut ended = status(&shop, &answer["task_id"]);
    ended["history"].take();
    expect![[r#"{"status":"failed","message":"how the task stands","task_id":"task_3","task_type":"create_media_buy","created_at":"2026-06-01T12:00:00Z","updated_at":"2026-06-01T13:00:00Z","completed_at":"2026-06-01T13:00:00Z","has_webhook":true,"protocol":"media-buy","error":{"code":"POLICY_VIOLATION","message":"the seller has declined the buy; choose another product or ask the seller"},"result":{"status":"failed","adcp_error":{"code":"POLICY_VIOLATION","message":"the seller has declined the buy; choose another product or ask the seller","recovery":"correctable","suggestion":"read the policy in details and change the request"},"errors":[{"code":"POLICY_VIOLATION","message":"the seller has declined the buy; choose another product or ask the seller","recovery":"correctable","suggestion":"read the policy in details and change the request"}]},"history":null,"adcp_version":"3.1"}"#]].assert_eq(&ended.to_string());
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
    assert_eq!(shop.stored(EntityKind::Account)[0]["funds"]["committed"], 0.0);
    let notices = notices(&shop);
    assert_eq!(notices[0]["body"]["status"], "failed");
    assert_eq!(notices[0]["body"]["result"]["errors"], ended["result"]["errors"]);
}

#[test]
fn a_task_that_waits_for_a_person_ends_when_told() {
    let mut shop = Shop::new();
    let answer = shop.create(order("person"));
    shop.wait(24);
    assert_eq!(shop.tick(), 0);
    let id = answer["task_id"].as_str().unwrap().to_owned();
    let result = json!({"media_buy_id": "mb_forced_1", "packages": [], "status": "completed"});
    let force = |shop: &Shop, result: &Value, done: Option<bool>| {
        let publisher = shop.harness.publisher.clone();
        let now = shop.harness.now;
        let record = record_id("agent:acme", &id);
        let result = result.clone();
        shop.harness.put(move |tx| {
            let finisher = TaskFinisher { publisher: &publisher, tx, now };
            assert_eq!(finisher.force(&record, result.as_object().unwrap())?, done);
            Ok(())
        });
    };
    force(&shop, &result, Some(true));
    // The same again is the same; another end is too late.
    force(&shop, &result, Some(true));
    force(&shop, &json!({"media_buy_id": "mb_other"}), Some(false));
    assert_eq!(status(&shop, &answer["task_id"])["result"], result);
    assert_eq!(shop.buy("mb_forced_1").thing.packages.len(), 1);
    assert_eq!(notices(&shop).len(), 1);
}

#[test]
fn a_buy_failing_under_a_forced_id_returns_the_funds() {
    let shop = Shop::funded(5000, 0);
    let there = shop.create(json!({}))["media_buy_id"].clone();
    let waits = shop.create(order("person"))["task_id"].as_str().unwrap().to_owned();
    assert_eq!(shop.stored(EntityKind::Account)[0]["funds"]["committed"], 2000.0);
    let publisher = shop.harness.publisher.clone();
    let now = shop.harness.now;
    let record = record_id("agent:acme", &waits);
    let result = json!({"media_buy_id": there});
    shop.harness.put(move |tx| {
        let finisher = TaskFinisher { publisher: &publisher, tx, now };
        assert_eq!(finisher.force(&record, result.as_object().unwrap())?, Some(true));
        Ok(())
    });
    assert_eq!(shop.stored(EntityKind::MediaBuy).len(), 1);
    assert_eq!(shop.stored(EntityKind::Account)[0]["funds"]["committed"], 1000.0);
}

#[test]
fn a_sandbox_can_force_the_next_buy_to_wait() {
    let shop = Shop::new();
    let now = shop.harness.now;
    let arm = |arm| Arm {
        arm,
        task_id: Some("task-of-a-test".to_owned()),
        message: Some("please wait".to_owned()),
    };
    let mut transcript = String::new();
    for arm in [PreparedAnswer::Submitted, PreparedAnswer::InputRequired].map(arm) {
        shop.harness.put(move |tx| arm.set(tx, "agent:acme", AdcpTool::CreateMediaBuy, now));
        let answer = shop.create(json!({}));
        transcript.push_str(&format!("{answer}\n"));
    }
    let answer = shop.create(json!({}));
    transcript.push_str(&answer["media_buy_status"].to_string());
    expect![[r#"
        {"status":"submitted","message":"please wait","task_id":"task-of-a-test","replayed":false,"adcp_version":"3.1"}
        {"status":"input-required","message":"please wait","reason":"APPROVAL_REQUIRED","replayed":false,"adcp_version":"3.1"}
        "pending_start""#]].assert_eq(&transcript);
    assert_eq!(status(&shop, &json!("task-of-a-test"))["status"], "submitted");
}

#[test]
fn another_tenants_task_is_no_task() {
    let shop = Shop::new();
    let id = shop.create(order("person"))["task_id"].clone();
    let ask = |id: Value| shop.ask_as("nova", AdcpTool::GetTaskStatus, json!({"task_id": id}));
    let absent = ask(json!("task_none"));
    assert_eq!(ask(id), absent);
    expect![[r#"
        {"code":"REFERENCE_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","suggestion":"check the identifier with the task that lists such entities"}
    "#]].assert_eq(&errors(&absent));
    let listed = shop.ask_as("nova", AdcpTool::ListTasks, json!({}));
    assert_eq!(listed["tasks"], json!([]));
}

#[test]
fn tasks_are_listed_as_asked_for() {
    let mut shop = Shop::new();
    for product in ["person", "soon", "never"] {
        shop.create(order(product));
        shop.wait(1);
    }
    shop.tick();
    let mut transcript = String::new();
    for filter in [
        json!({}),
        json!({"filters": {"status": "failed"}}),
        json!({"filters": {"statuses": ["completed", "submitted"], "has_webhook": true}}),
        json!({"filters": {"created_after": "2026-06-01T12:30:00Z", "task_types": ["create_media_buy"]}}),
        json!({"filters": {"task_ids": ["task_none"]}}),
        json!({"sort": {"field": "status", "direction": "asc"}, "pagination": {"max_results": 2}}),
    ] {
        let answer = shop.ask(AdcpTool::ListTasks, filter.clone());
        let rows = answer["tasks"].as_array().unwrap().iter();
        let rows: Vec<_> =
            rows.map(|row| format!("{}:{}", row["task_id"], row["status"])).collect();
        transcript.push_str(&format!(
            "{filter}\n  {} {}\n",
            rows.join(" "),
            answer["query_summary"]
        ));
    }
    expect![[r#"
        {}
          "task_9":"failed" "task_6":"completed" "task_3":"submitted" {"total_matching":3,"returned":3,"domain_breakdown":{"media-buy":3},"status_breakdown":{"completed":1,"failed":1,"submitted":1},"filters_applied":[],"sort_applied":{"field":"created_at","direction":"desc"}}
        {"filters":{"status":"failed"}}
          "task_9":"failed" {"total_matching":1,"returned":1,"domain_breakdown":{"media-buy":1},"status_breakdown":{"failed":1},"filters_applied":["status"],"sort_applied":{"field":"created_at","direction":"desc"}}
        {"filters":{"statuses":["completed","submitted"],"has_webhook":true}}
          "task_6":"completed" "task_3":"submitted" {"total_matching":2,"returned":2,"domain_breakdown":{"media-buy":2},"status_breakdown":{"completed":1,"submitted":1},"filters_applied":["statuses","has_webhook"],"sort_applied":{"field":"created_at","direction":"desc"}}
        {"filters":{"created_after":"2026-06-01T12:30:00Z","task_types":["create_media_buy"]}}
          "task_9":"failed" "task_6":"completed" {"total_matching":2,"returned":2,"domain_breakdown":{"media-buy":2},"status_breakdown":{"completed":1,"failed":1},"filters_applied":["created_after","task_types"],"sort_applied":{"field":"created_at","direction":"desc"}}
        {"filters":{"task_ids":["task_none"]}}
           {"total_matching":0,"returned":0,"domain_breakdown":{},"status_breakdown":{},"filters_applied":["task_ids"],"sort_applied":{"field":"created_at","direction":"desc"}}
        {"sort":{"field":"status","direction":"asc"},"pagination":{"max_results":2}}
          "task_6":"completed" "task_9":"failed" {"total_matching":3,"returned":2,"domain_breakdown":{"media-buy":3},"status_breakdown":{"completed":1,"failed":1,"submitted":1},"filters_applied":[],"sort_applied":{"field":"status","direction":"asc"}}
    "#]].assert_eq(&transcript);
}

#[test]
fn tasks_of_one_second_are_listed_in_their_order() {
    let mut shop = Shop::new();
    let later = shop.harness.now + SignedDuration::from_millis(500);
    // The clocks of two machines differ, so that what was noted later may be older.
    for moment in [later, shop.harness.now] {
        shop.harness.now = moment;
        shop.create(order("person"));
    }
    let newest = shop.ask(AdcpTool::ListTasks, json!({}));
    let moments: Vec<_> =
        newest["tasks"].as_array().unwrap().iter().map(|row| &row["created_at"]).collect();
    assert_eq!(moments, ["2026-06-01T12:00:00.5Z", "2026-06-01T12:00:00Z"]);
}

#[test]
fn a_cursor_holds_only_for_its_own_list() {
    let shop = Shop::new();
    for _ in 0..3 {
        shop.create(order("person"));
        shop.create(json!({"start_time": "asap"}));
    }
    let lists = [
        (AdcpTool::ListTasks, json!({}), json!({"filters": {"status": "submitted"}})),
        (AdcpTool::ListTasks, json!({}), json!({"sort": {"field": "status"}})),
        (AdcpTool::GetMediaBuys, json!({}), json!({"status_filter": ["active", "paused"]})),
    ];
    for (tool, list, other) in lists {
        let page = |list: &Value, cursor: Option<&Value>| {
            let mut asked = list.clone();
            asked["pagination"] = json!({"max_results": 1});
            if let Some(cursor) = cursor {
                asked["pagination"]["cursor"] = cursor.clone();
            }
            shop.ask(tool, asked)
        };
        let first = page(&list, None);
        let cursor = Some(&first["pagination"]["cursor"]);
        assert_eq!(page(&list, cursor)["status"], "completed");
        let refused = page(&other, cursor);
        assert_eq!(refused["adcp_error"]["field"], "pagination.cursor", "{other} {refused}");
    }
}

#[test]
fn a_product_that_is_gone_by_then_is_not_approved() {
    let mut shop = Shop::new();
    let id = shop.create(order("soon"))["task_id"].clone();
    let sold_out = product(
        "soon",
        fixed(8.0, "USD"),
        json!({}),
        ProductTerms { sold_out: true, ..ProductTerms::default() },
    );
    let now = shop.harness.now;
    shop.harness.put(move |tx| {
        use tradepost_publisher::store::New;
        tx.add(New { id: "soon", owner: "", account: None, state: "", now }, &sold_out)
    });
    shop.wait(1);
    shop.tick();
    let ended = status(&shop, &id);
    expect![[r#"{"code":"PRODUCT_UNAVAILABLE","message":"the product was no longer to be had when the seller decided"}"#]].assert_eq(&ended["error"].to_string());
}
