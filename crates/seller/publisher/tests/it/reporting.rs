//! Reports of delivery by webhook: each window once, corrections again, and the last one at the end.

use expect_test::expect;
use jiff::Timestamp;
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpRelease;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, from_str, json, to_string_pretty};
use tradepost_publisher::ad_server::{RemoteDelivery, RemoteId};
use tradepost_publisher::buy::days::{DeliveryDays, PackageDay};
use tradepost_publisher::buy::report::BuyDelivery;
use tradepost_publisher::catalogue::{Catalogue, ProductTerms};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::remote_order::RemoteOrder;
use tradepost_publisher::store::{New, Query};
use tradepost_publisher::task::QueuedNotification;

use crate::support::profile;
use crate::support::schemas::against;
use crate::support::shop::{ACCOUNT, Shop, errors, fixed, package, product};

/// Products with webhooks, except `quiet`; `person` waits for a person, `hourly` has no day.
fn catalogue() -> Catalogue {
    let reported = |frequencies: Value, supports_webhooks: bool, delay: u32| {
        json!({"reporting_capabilities": {
            "available_reporting_frequencies": frequencies, "expected_delay_minutes": delay,
            "timezone": "UTC", "supports_webhooks": supports_webhooks,
            "available_metrics": ["impressions", "spend", "clicks"], "date_range_support": "date_range",
        }})
    };
    let both = || json!(["daily", "monthly"]);
    let usd = || fixed(8.0, "USD");
    let none = ProductTerms::default;
    let waits = ProductTerms { approval: true, approval_seconds: Some(60), ..none() };
    let products = vec![
        product("display", usd(), reported(both(), true, 60), none()),
        product("slow", usd(), reported(both(), true, 240), none()),
        product("quiet", usd(), reported(both(), false, 60), none()),
        product("hourly", usd(), reported(json!(["hourly"]), true, 60), none()),
        product("person", usd(), reported(both(), true, 60), waits),
    ];
    Catalogue { products, ..Catalogue::default() }
}

fn shop() -> Shop {
    Shop::selling(PublisherProfile { catalogue: catalogue(), ..profile() }, |_| {})
}

const SECRET: &str = "a secret of at least thirty-two characters";

fn webhook(changes: Value) -> Value {
    let mut webhook = json!({
        "url": "https://buyer.example/reports", "token": "token-of-the-buyer-1",
        "authentication": {"schemes": ["HMAC-SHA256"], "credentials": SECRET},
        "reporting_frequency": "daily",
    });
    webhook.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    webhook
}

/// A report that was queued.
struct Report(QueuedNotification);

impl Report {
    fn body(&self) -> Value {
        from_str(&self.0.body).unwrap()
    }

    /// What it says, in a line.
    fn line(&self) -> String {
        let body = self.body();
        let result = &body["result"];
        let row = &result["media_buy_deliveries"][0];
        format!(
            "#{} {} {} to {}: {} impressions, {} spent, {}, adjusted {}, next {}",
            result["sequence_number"],
            result["notification_type"].as_str().unwrap(),
            result["reporting_period"]["start"].as_str().unwrap(),
            result["reporting_period"]["end"].as_str().unwrap(),
            row["totals"]["impressions"],
            row["totals"]["spend"],
            row["status"].as_str().unwrap(),
            row["is_adjusted"],
            result["next_expected_at"],
        )
    }
}

/// A media buy with reports.
struct Story {
    shop: Shop,
    buy: String,
    package: String,
    seen: usize,
}

impl Story {
    /// Two days of July with this webhook.
    fn new(changes: Value, webhook: Value) -> Self {
        let shop = shop();
        let mut order = json!({
            "end_time": "2026-07-03T00:00:00Z", "reporting_webhook": webhook, "context": {"trace": 7},
        });
        order.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let made = shop.create(order);
        let buy = made["media_buy_id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        let package = made["packages"][0]["package_id"].as_str().unwrap().to_owned();
        Self { shop, buy, package, seen: 0 }
    }

    /// Lets the publisher work at a moment. Returns the reports that are new.
    fn at(&mut self, moment: &str) -> Vec<Report> {
        self.shop.harness.now = moment.parse().unwrap();
        self.shop.tick();
        // Whoever looks again at the same moment finds nothing to do.
        self.shop.tick();
        let all = self.shop.harness.store.look(|reader| {
            reader.all::<QueuedNotification>(&Query::with_state(QueuedNotification::DUE))
        });
        let all: Result<Vec<_>, InternalError> = all;
        let all: Vec<Report> =
            all.unwrap().into_iter().map(|stored| Report(stored.thing)).collect();
        let new = all.into_iter().skip(self.seen).collect::<Vec<_>>();
        self.seen += new.len();
        for report in &new {
            let body = report.body();
            let envelope = "core/mcp-webhook-payload.json";
            let result = "media-buy/media-buy-delivery-webhook-result.json";
            assert_eq!(against(AdcpRelease::V3_1, envelope, &body), Vec::<String>::new());
            assert_eq!(against(AdcpRelease::V3_1, result, &body["result"]), Vec::<String>::new());
        }
        new
    }

    /// The same as lines.
    fn lines(&mut self, moment: &str) -> String {
        self.at(moment).iter().map(|report| format!("{}\n", report.line())).collect()
    }

    /// Stores what was delivered on a day.
    fn deliver(&self, day: &str, impressions: u64) {
        let row = RemoteDelivery {
            line_item: RemoteId("l1".to_owned()),
            day: day.parse().unwrap(),
            impressions,
            clicks: 3,
            completed_views: None,
            spend: MoneyAmount::whole(1),
            is_final: false,
        };
        let id = self.buy.clone();
        let package = self.package.clone();
        let now = self.shop.harness.now;
        self.shop.harness.put(move |tx| {
            let found = tx.find::<BuyDelivery>(&id)?;
            let known = found.as_ref().map(|known| known.thing.clone()).unwrap_or_default();
            let mut days = DeliveryDays::new(known);
            days.report(&PackageDay::from_remote(&package, &row), now);
            let delivery = BuyDelivery { media_buy_id: id.clone(), ..days.into_delivery() };
            let Some(mut known) = found else {
                let new =
                    New { id: &id, owner: "agent:acme", account: Some(ACCOUNT), state: "", now };
                return tx.add(new, &delivery);
            };
            known.thing = delivery;
            tx.change(&mut known, now)
        });
    }
}

#[test]
fn each_day_is_reported_once_and_corrections_replace_it() {
    let mut story = Story::new(json!({}), webhook(json!({})));
    story.shop.harness.now = "2026-07-01T18:00:00Z".parse().unwrap();
    story.deliver("2026-07-01", 100);
    expect![[r#""#]].assert_eq(&story.lines("2026-07-02T00:59:59Z"));
    // An hour after the day, as the product promises.
    let first = story.at("2026-07-02T01:00:00Z");
    let [first] = first.as_slice() else { panic!("one report") };
    assert_eq!(first.0.url, "https://buyer.example/reports");
    assert_eq!(first.0.authentication.as_ref().unwrap()["credentials"], SECRET);
    let shown = to_string_pretty(&first.body()).unwrap();
    let shown = shown.replace(&story.buy, "BUY").replace(&story.package, "PACKAGE");
    expect![[r#"
        {
          "idempotency_key": "webhook-delivery_3",
          "operation_id": "BUY",
          "task_id": "BUY",
          "task_type": "media_buy_delivery",
          "protocol": "media-buy",
          "status": "completed",
          "timestamp": "2026-07-02T01:00:00Z",
          "message": "what was delivered, as far as it has been reported",
          "token": "token-of-the-buyer-1",
          "context": {
            "trace": 7
          },
          "result": {
            "notification_type": "scheduled",
            "sequence_number": 1,
            "next_expected_at": "2026-07-03T01:00:00Z",
            "reporting_period": {
              "start": "2026-07-01T00:00:00Z",
              "end": "2026-07-02T00:00:00Z"
            },
            "currency": "USD",
            "media_buy_deliveries": [
              {
                "media_buy_id": "BUY",
                "status": "active",
                "totals": {
                  "impressions": 100,
                  "spend": 1,
                  "clicks": 3,
                  "ctr": 0.03,
                  "cpm": 10,
                  "cost_per_click": 0.333333
                },
                "by_package": [
                  {
                    "package_id": "PACKAGE",
                    "pricing_model": "cpm",
                    "rate": 8,
                    "currency": "USD",
                    "paused": false,
                    "impressions": 100,
                    "spend": 1,
                    "clicks": 3,
                    "ctr": 0.03,
                    "cpm": 10,
                    "cost_per_click": 0.333333
                  }
                ]
              }
            ]
          }
        }"#]]
    .assert_eq(&shown);
    story.deliver("2026-07-01", 90);
    expect![[r##"
        #2 adjusted 2026-07-01T00:00:00Z to 2026-07-02T00:00:00Z: 90 impressions, 1 spent, active, adjusted true, next "2026-07-03T01:00:00Z"
    "##]].assert_eq(&story.lines("2026-07-02T05:00:00Z"));
    story.deliver("2026-07-01", 90);
    expect![[r#""#]].assert_eq(&story.lines("2026-07-02T06:00:00Z"));
    // Nothing is known of the second day yet; the last report waits for it.
    expect![[r##"
        #3 delayed 2026-07-02T00:00:00Z to 2026-07-03T00:00:00Z: 0 impressions, 0 spent, reporting_delayed, adjusted null, next null
    "##]].assert_eq(&story.lines("2026-07-03T01:00:00Z"));
    expect![[r#""#]].assert_eq(&story.lines("2026-07-03T03:00:00Z"));
    story.deliver("2026-07-02", 50);
    expect![[r##"
        #4 adjusted 2026-07-02T00:00:00Z to 2026-07-03T00:00:00Z: 50 impressions, 1 spent, completed, adjusted true, next null
        #5 final 2026-07-01T00:00:00Z to 2026-07-03T00:00:00Z: 140 impressions, 2 spent, completed, adjusted null, next null
    "##]].assert_eq(&story.lines("2026-07-03T04:00:00Z"));
    // Also after the last report.
    story.deliver("2026-07-02", 49);
    expect![[r##"
        #6 adjusted 2026-07-02T00:00:00Z to 2026-07-03T00:00:00Z: 49 impressions, 1 spent, completed, adjusted true, next null
    "##]].assert_eq(&story.lines("2026-07-04T00:00:00Z"));
    expect![[r#""#]].assert_eq(&story.lines("2026-07-05T00:00:00Z"));
}

#[test]
fn the_last_report_waits_a_week_for_unknown_days() {
    let mut story = Story::new(json!({}), webhook(json!({})));
    expect![[r##"
        #1 delayed 2026-07-01T00:00:00Z to 2026-07-02T00:00:00Z: 0 impressions, 0 spent, reporting_delayed, adjusted null, next null
        #2 delayed 2026-07-02T00:00:00Z to 2026-07-03T00:00:00Z: 0 impressions, 0 spent, reporting_delayed, adjusted null, next null
    "##]].assert_eq(&story.lines("2026-07-09T23:00:00Z"));
    expect![[r#"
        #3 final 2026-07-01T00:00:00Z to 2026-07-03T00:00:00Z: 0 impressions, 0 spent, completed, adjusted null, next null
    "#]].assert_eq(&story.lines("2026-07-10T01:00:00Z"));
}

#[test]
fn a_canceled_buy_has_a_last_report_of_its_own() {
    let mut story = Story::new(json!({}), webhook(json!({})));
    story.shop.harness.now = "2026-07-01T06:00:00Z".parse().unwrap();
    story.deliver("2026-07-01", 10);
    let canceled = story.shop.update(&story.buy, json!({"canceled": true}));
    assert_eq!(canceled["status"], "completed", "{canceled}");
    expect![[r##"
        #1 scheduled 2026-07-01T00:00:00Z to 2026-07-02T00:00:00Z: 10 impressions, 1 spent, canceled, adjusted null, next null
        #2 final 2026-07-01T00:00:00Z to 2026-07-01T06:00:00Z: 10 impressions, 1 spent, canceled, adjusted null, next null
    "##]].assert_eq(&story.lines("2026-07-02T01:00:00Z"));
}

#[test]
fn changed_terms_repeat_no_report_of_the_past() {
    let mut story = Story::new(json!({"end_time": "2026-07-05T00:00:00Z"}), webhook(json!({})));
    story.deliver("2026-07-01", 10);
    assert_eq!(story.at("2026-07-02T01:00:00Z").len(), 1);
    let package = json!({"package_id": story.package, "paused": true, "budget": 900});
    let changes = json!({
        "packages": [package], "new_packages": [crate::support::shop::package(json!({}))],
        "reporting_webhook": webhook(json!({"requested_metrics": ["clicks"]})),
    });
    let changed = story.shop.update(&story.buy, changes);
    assert_eq!(changed["status"], "completed", "{changed}");
    expect![[r#""#]].assert_eq(&story.lines("2026-07-02T02:00:00Z"));
    story.deliver("2026-07-01", 11);
    assert_eq!(story.at("2026-07-02T03:00:00Z").len(), 1, "other figures are reported");
}

#[test]
fn a_canceled_remote_order_delays_the_last_report_a_week() {
    let mut story = Story::new(json!({"end_time": "2027-07-01T00:00:00Z"}), webhook(json!({})));
    let order: RemoteOrder = from_str(
        &json!({
            "media_buy_id": story.buy, "phase": "settled", "marks": 1, "generation": 1,
            "ends_at": "2027-07-01T00:00:00Z", "report_due_at": "2026-07-01T09:00:00Z",
        })
        .to_string(),
    )
    .unwrap();
    let id = story.buy.clone();
    let now = story.shop.harness.now;
    story.shop.harness.put(move |tx| {
        tx.add(
            New { id: &id, owner: "agent:acme", account: Some(ACCOUNT), state: "settled", now },
            &order,
        )
    });
    story.shop.harness.now = "2026-07-01T06:00:00Z".parse().unwrap();
    let canceled = story.shop.update(&story.buy, json!({"canceled": true}));
    assert_eq!(canceled["status"], "completed", "{canceled}");
    let kinds = |reports: &[Report]| -> Vec<Value> {
        reports.iter().map(|report| report.body()["result"]["notification_type"].clone()).collect()
    };
    assert_eq!(kinds(&story.at("2026-07-08T05:00:00Z")), ["delayed"]);
    assert_eq!(kinds(&story.at("2026-07-08T08:00:00Z")), ["final"]);
}

#[test]
fn months_are_reported_with_the_metrics_that_were_asked_for() {
    let wanted = webhook(json!({"reporting_frequency": "monthly", "requested_metrics": []}));
    let packages = json!([package(json!({})), package(json!({"product_id": "slow"}))]);
    let changes = json!({"end_time": "2026-08-10T00:00:00Z", "packages": packages});
    let mut story = Story::new(changes, wanted);
    story.shop.harness.now = "2026-08-01T00:00:00Z".parse().unwrap();
    story.deliver("2026-07-05", 40);
    story.deliver("2026-07-31", 2);
    // The slowest product decides.
    expect![[r#""#]].assert_eq(&story.lines("2026-08-01T03:59:59Z"));
    let reports = story.at("2026-08-01T04:00:00Z");
    assert_eq!(reports.len(), 1);
    let totals = &reports[0].body()["result"]["media_buy_deliveries"][0]["totals"];
    assert_eq!(*totals, json!({"impressions": 42, "spend": 2}));
}

#[test]
fn what_products_do_not_report_is_refused() {
    let shop = shop();
    let ask = |product: &str, changes: Value| {
        let answer = shop.create(json!({
            "packages": [package(json!({"product_id": product}))],
            "reporting_webhook": webhook(changes),
        }));
        errors(&answer)
    };
    let table = [
        ("display", json!({"reporting_frequency": "hourly"})),
        ("hourly", json!({"reporting_frequency": "hourly"})),
        ("quiet", json!({})),
        ("display", json!({"requested_metrics": ["impressions", "reach", "clicks"]})),
        ("display", json!({"url": "http://buyer.example/reports"})),
    ];
    let rows = table.into_iter().map(|(product, changes)| {
        format!("{product} {changes}\n    {}", ask(product, changes.clone()))
    });
    expect![[r#"
        display {"reporting_frequency":"hourly"}
            {"code":"UNSUPPORTED_FEATURE","message":"not every product of the media buy is reported to webhooks at this frequency; details.product_ids names those that are not; choose another frequency, or leave reporting_webhook out and ask get_media_buy_delivery","recovery":"correctable","field":"reporting_webhook.reporting_frequency","suggestion":"read get_adcp_capabilities and leave out what is not supported","details":{"product_ids":["display"]}}
        hourly {"reporting_frequency":"hourly"}
            {"code":"UNSUPPORTED_FEATURE","message":"not every product of the media buy is reported to webhooks at this frequency; details.product_ids names those that are not; choose another frequency, or leave reporting_webhook out and ask get_media_buy_delivery","recovery":"correctable","field":"reporting_webhook.reporting_frequency","suggestion":"read get_adcp_capabilities and leave out what is not supported","details":{"product_ids":["hourly"]}}
        quiet {}
            {"code":"UNSUPPORTED_FEATURE","message":"not every product of the media buy is reported to webhooks at this frequency; details.product_ids names those that are not; choose another frequency, or leave reporting_webhook out and ask get_media_buy_delivery","recovery":"correctable","field":"reporting_webhook.reporting_frequency","suggestion":"read get_adcp_capabilities and leave out what is not supported","details":{"product_ids":["quiet"]}}
        display {"requested_metrics":["impressions","reach","clicks"]}
            {"code":"UNSUPPORTED_FEATURE","message":"not every product of the media buy reports this metric; leave it out","recovery":"correctable","field":"reporting_webhook.requested_metrics[1]","suggestion":"read get_adcp_capabilities and leave out what is not supported"}
        display {"url":"http://buyer.example/reports"}
            {"code":"INVALID_REQUEST","message":"the address of reports must begin with https://","recovery":"correctable","field":"reporting_webhook.url","suggestion":"correct what field and issues name and send again"}
    "#]].assert_eq(&rows.collect::<String>());
}

#[test]
fn webhooks_are_claimed_where_a_product_has_them() {
    let methods = |shop: &Shop| {
        let answer = shop.ask(AdcpTool::GetAdcpCapabilities, json!({}));
        answer["media_buy"]["reporting_delivery_methods"].clone()
    };
    assert_eq!(methods(&shop()), json!(["webhook"]));
    let mut catalogue = catalogue();
    catalogue.products.retain(|product| matches!(product.id(), "quiet" | "hourly"));
    let without = PublisherProfile { catalogue, ..profile() };
    assert_eq!(methods(&Shop::selling(without, |_| {})), Value::Null);
}

#[test]
fn an_update_sets_reports_and_begins_where_it_is() {
    let shop = shop();
    let made = shop.create(json!({"end_time": "2026-07-04T00:00:00Z"}));
    let buy = made["media_buy_id"].as_str().unwrap().to_owned();
    let package_id = made["packages"][0]["package_id"].as_str().unwrap().to_owned();
    let mut story = Story { shop, buy, package: package_id, seen: 0 };
    expect![[r#""#]].assert_eq(&story.lines("2026-07-02T12:00:00Z"));
    let set = |story: &Story, webhook: Value| {
        story.shop.update(&story.buy, json!({"reporting_webhook": webhook}))
    };
    assert_eq!(set(&story, webhook(json!({})))["revision"], 2);
    assert_eq!(set(&story, webhook(json!({})))["revision"], 2, "the same again is no change");
    story.deliver("2026-07-02", 5);
    expect![[r##"
        #1 scheduled 2026-07-02T00:00:00Z to 2026-07-03T00:00:00Z: 5 impressions, 1 spent, active, adjusted null, next "2026-07-04T01:00:00Z"
    "##]].assert_eq(&story.lines("2026-07-03T01:00:00Z"));
    let quiet = package(json!({"product_id": "quiet"}));
    let refused = story.shop.update(&story.buy, json!({"new_packages": [quiet]}));
    expect![[r#"
        {"code":"UNSUPPORTED_FEATURE","message":"not every product of the media buy is reported to webhooks at this frequency; details.product_ids names those that are not; choose another frequency, or leave reporting_webhook out and ask get_media_buy_delivery","recovery":"correctable","field":"new_packages","suggestion":"read get_adcp_capabilities and leave out what is not supported","details":{"product_ids":["quiet"]}}
    "#]].assert_eq(&errors(&refused));
    // In months it begins anew.
    let monthly = webhook(json!({"reporting_frequency": "monthly"}));
    assert_eq!(set(&story, monthly)["revision"], 3);
    story.deliver("2026-07-03", 6);
    expect![[r##"
        #2 scheduled 2026-07-01T00:00:00Z to 2026-08-01T00:00:00Z: 11 impressions, 2 spent, completed, adjusted null, next null
        #3 final 2026-07-01T00:00:00Z to 2026-07-04T00:00:00Z: 11 impressions, 2 spent, completed, adjusted null, next null
    "##]].assert_eq(&story.lines("2026-08-01T01:00:00Z"));
}

#[test]
fn an_approved_buy_is_reported_and_shows_no_secret() {
    let shop = shop();
    let made = shop.create(json!({
        "packages": [package(json!({"product_id": "person"}))], "end_time": "2026-07-02T00:00:00Z",
        "reporting_webhook": webhook(json!({})),
    }));
    let task_id = made["task_id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    let mut story = Story { shop, buy: String::new(), package: String::new(), seen: 0 };
    expect![[r#""#]].assert_eq(&story.lines("2026-06-01T13:00:00Z"));
    let asked = json!({"task_id": task_id, "include_history": true, "include_result": true});
    let task = story.shop.ask(AdcpTool::GetTaskStatus, asked);
    let buys = story.shop.ask(AdcpTool::GetMediaBuys, json!({"include_history": 10}));
    for shown in [task, buys] {
        let text = shown.to_string();
        assert!(!text.contains(SECRET) && !text.contains("token-of-the-buyer"), "{text}");
    }
    let moment: Timestamp = "2026-07-02T01:00:00Z".parse().unwrap();
    expect![[r##"
        #1 delayed 2026-07-01T00:00:00Z to 2026-07-02T00:00:00Z: 0 impressions, 0 spent, reporting_delayed, adjusted null, next null
    "##]].assert_eq(&story.lines(&moment.to_string()));
}

#[test]
fn credentials_of_the_webhook_may_differ_on_a_retry() {
    let shop = shop();
    let order = |letter: &str| {
        let authentication = json!({"schemes": ["Bearer"], "credentials": letter.repeat(32)});
        let reporting_webhook = webhook(json!({"authentication": authentication}));
        json!({"idempotency_key": "report-to-me-again-1", "reporting_webhook": reporting_webhook})
    };
    assert_eq!(shop.create(order("a"))["status"], "completed");
    assert_eq!(shop.create(order("b"))["replayed"], true);
}
