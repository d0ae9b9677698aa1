//! An ad server that is asked before a sale: it answers, refuses, or does not answer at all.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_ad_server::{
    AdServerError, AdServerKind, AdServerSettings, Availability, PackageProblem, RefusalReason,
};
use tradepost_document::json::{Value, json};
use tradepost_publisher::ad_server::{
    ExternalId, GoalUnit, LineItemGoal, LineItemPricing, LineItemSpec, OrderSpec, RemoteId,
    TargetingKind,
};
use tradepost_publisher::catalogue::{AdServerTerms, ProductTerms};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::services::OrderQuestion;
use tradepost_runtime::adcp::order_check::OrderChecker;
use tradepost_runtime::config::AdServerConfig;
use tradepost_runtime::config::delivery::ConfigSecret;
use tradepost_server::clock::{Clock, ManualClock};

use crate::support::ad_server::{ScriptedAdServer, refused};
use crate::support::publisher::{self, Binding};
use crate::support::webhook::{Webhook, answer};
use crate::support::{NOW, at};

/// Time for a whole answer, of which the ad server has a quarter.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(80);

struct CheckFixture {
    ad_server: ScriptedAdServer,
    checker: OrderChecker,
    hand: ManualClock,
    runtime: tokio::runtime::Runtime,
}

impl CheckFixture {
    fn new(timeout: Duration) -> Self {
        let (clock, hand) = Clock::manual(at(NOW));
        let ad_server = ScriptedAdServer::default();
        let checker = OrderChecker::new("gazette", Arc::new(ad_server.clone()), &clock, timeout);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { ad_server, checker, hand, runtime }
    }

    /// Asks about one package, and says what came of it and what the ad server was asked.
    fn ask(&self, forecasts: bool) -> String {
        let question = question(forecasts);
        let answer = self.runtime.block_on(self.checker.ask(&question));
        let calls = self.ad_server.with(|made| std::mem::take(&mut made.calls));
        match answer {
            Ok(answer) => {
                let problems = answer.problems.iter().map(|one| format!(" {}", one.field));
                let known = answer.availability.values();
                let known = known.map(|known| format!(" {}", known.available));
                let said: String = problems.chain(known).collect();
                format!("{}: yes{said}", calls.join(" "))
            }
            Err(why) => format!("{}: {why:?}", calls.join(" ")),
        }
    }

    fn forecast(&self, forecast: Result<Availability, AdServerError>) {
        self.ad_server.with(|made| made.forecast = Some(forecast));
    }
}

fn question(forecasts: bool) -> OrderQuestion {
    let start_time = at("2031-07-01T00:00:00Z");
    let end_time = at("2031-08-01T00:00:00Z");
    let line_item = LineItemSpec {
        external_id: ExternalId("new/new-0".to_owned()),
        name: "news".to_owned(),
        package_id: "new-0".to_owned(),
        inventory: vec!["unit-1".to_owned()],
        is_guaranteed: true,
        pricing: LineItemPricing::Cpm,
        rate: MoneyAmount::whole(8),
        currency: "USD".to_owned(),
        budget: MoneyAmount::whole(1_000),
        goal: Some(LineItemGoal { unit: GoalUnit::Impressions, amount: 125_000 }),
        start_time,
        end_time,
        targeting: Default::default(),
        sizes: Vec::new(),
        is_paused: false,
    };
    OrderQuestion {
        order: OrderSpec {
            external_id: ExternalId("new".to_owned()),
            name: "new".to_owned(),
            advertiser: None,
            advertiser_name: "Acme".to_owned(),
            budget: MoneyAmount::whole(1_000),
            currency: "USD".to_owned(),
            start_time,
            end_time,
        },
        forecast: forecasts.then(|| line_item.package_id.clone()).into_iter().collect(),
        line_items: vec![line_item],
    }
}

#[test]
fn each_answer_of_the_ad_server_means_what_its_row_says() {
    let rows = [
        Ok(Availability { matched: 9, available: 7 }),
        Err(AdServerError::Unsent),
        Err(AdServerError::Unanswered),
        Err(AdServerError::Garbled { detail: "cut off".to_owned() }),
        Err(AdServerError::NotYet { retry_after: None }),
        Err(AdServerError::NotYet { retry_after: Some(Duration::from_secs(90)) }),
        Err(refused(RefusalReason::Credential)),
        Err(refused(RefusalReason::Permission)),
        Err(refused(RefusalReason::Missing)),
        Err(refused(RefusalReason::Conflict)),
        Err(refused(RefusalReason::NoInventory)),
        Err(refused(RefusalReason::Invalid)),
        Err(refused(RefusalReason::Unsupported)),
    ];
    let rows = rows.into_iter().map(|row| {
        let fixture = CheckFixture::new(Duration::from_secs(60));
        fixture.forecast(row.clone());
        format!("{row:?}\n    {}\n", fixture.ask(true))
    });
    expect![[r#"
        Ok(Availability { matched: 9, available: 7 })
            validate availability: yes 7
        Err(Unsent)
            validate availability: Down { retry_after: Some(5s) }
        Err(Unanswered)
            validate availability: Down { retry_after: Some(5s) }
        Err(Garbled { detail: "cut off" })
            validate availability: Down { retry_after: Some(5s) }
        Err(NotYet { retry_after: None })
            validate availability: Down { retry_after: Some(5s) }
        Err(NotYet { retry_after: Some(90s) })
            validate availability: Down { retry_after: Some(90s) }
        Err(Refused { reason: Credential, detail: "Credential says the ad server" })
            validate availability: Misconfigured { setting: "publishers.ad_server" }
        Err(Refused { reason: Permission, detail: "Permission says the ad server" })
            validate availability: Misconfigured { setting: "publishers.ad_server" }
        Err(Refused { reason: Missing, detail: "Missing says the ad server" })
            validate availability: yes product_id
        Err(Refused { reason: Conflict, detail: "Conflict says the ad server" })
            validate availability: yes product_id
        Err(Refused { reason: NoInventory, detail: "NoInventory says the ad server" })
            validate availability: yes 0
        Err(Refused { reason: Invalid, detail: "Invalid says the ad server" })
            validate availability: yes product_id
        Err(Refused { reason: Unsupported, detail: "Unsupported says the ad server" })
            validate availability: yes
    "#]]
    .assert_eq(&rows.collect::<String>());
}

#[test]
fn objections_do_not_hide_what_is_left() {
    let fixture = CheckFixture::new(Duration::from_secs(60));
    fixture.forecast(Ok(Availability { matched: 9, available: 7 }));
    let problem = PackageProblem {
        package_id: "new-0".to_owned(),
        field: "budget".to_owned(),
        message: "The budget buys nothing.".to_owned(),
    };
    fixture.ad_server.with(|made| made.objections = Some(vec![problem]));
    assert_eq!(fixture.ask(true), "validate availability: yes budget 7");
}

#[test]
fn a_forecast_that_is_not_ready_stops_no_other_sale() {
    let fixture = CheckFixture::new(Duration::from_secs(60));
    fixture.forecast(Err(AdServerError::NotYet { retry_after: None }));
    assert_eq!(fixture.ask(true), "validate availability: Down { retry_after: Some(5s) }");
    fixture.forecast(Ok(Availability { matched: 9, available: 7 }));
    assert_eq!(fixture.ask(true), "validate availability: yes 7");
    fixture.forecast(Err(AdServerError::NotYet { retry_after: Some(Duration::from_secs(90)) }));
    assert_eq!(fixture.ask(true), "validate availability: Down { retry_after: Some(90s) }");
    assert_eq!(fixture.ask(true), "validate: Down { retry_after: Some(5s) }");
}

#[test]
fn an_unresponsive_ad_server_is_not_asked_for_a_while() {
    let fixture = CheckFixture::new(ANSWER_TIMEOUT);
    fixture.ad_server.with(|made| made.objections = None);
    assert_eq!(fixture.ask(false), "validate: Down { retry_after: Some(5s) }");
    fixture.hand.advance(SignedDuration::from_secs(2));
    assert_eq!(fixture.ask(false), ": Down { retry_after: Some(3s) }");
    fixture.hand.advance(SignedDuration::from_secs(3));
    fixture.ad_server.with(|made| made.objections = Some(Vec::new()));
    assert_eq!(fixture.ask(false), "validate: yes");
}

#[test]
fn failed_forecasts_keep_nobody_from_what_needs_none() {
    let fixture = CheckFixture::new(Duration::from_secs(60));
    fixture.forecast(Err(AdServerError::Unanswered));
    assert_eq!(fixture.ask(true), "validate availability: Down { retry_after: Some(5s) }");
    assert_eq!(fixture.ask(true), "validate: Down { retry_after: Some(5s) }");
    assert_eq!(fixture.ask(false), "validate: yes");
    fixture.hand.advance(SignedDuration::from_secs(5));
    fixture.forecast(Ok(Availability { matched: 9, available: 7 }));
    assert_eq!(fixture.ask(true), "validate availability: yes 7");
}

/// An answer of the contract with a body.
fn document(body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn left(impressions: u64) -> String {
    document(&json!({"items": [{
        "forecast": {"points": [{"metrics": {"impressions": {"mid": 1_000_000}}}]},
        "remaining_after_prior_items": impressions,
    }]}))
}

#[test]
fn a_sale_over_the_network_depends_on_the_ad_server() {
    let mut there = Webhook::answering(|number| match number {
        0 => left(100),
        1 => answer("503 Service Unavailable"),
        _ => left(1_000_000),
    });
    let url = format!("http://{}", there.address);
    let publisher = publisher::start_with(&|config| {
        let publisher = &mut config.publishers[0];
        publisher.profile.catalogue = tradepost_demo::publisher::catalogue();
        publisher.profile.catalogue.targeting.geo_regions = true;
        for product in &mut publisher.profile.catalogue.products {
            let ad_server =
                Some(AdServerTerms { inventory: vec!["product/7".to_owned()], deal: None });
            product.terms =
                Arc::new(ProductTerms { ad_server, ..ProductTerms::clone(&product.terms) });
        }
        publisher.ad_server = Some(AdServerConfig {
            settings: AdServerSettings {
                network: Some("gazette".to_owned()),
                advertiser: Some(RemoteId("42".to_owned())),
                targeting: [TargetingKind::Countries].into(),
                ..AdServerSettings::new(AdServerKind::Http, url.as_str(), "")
            },
            credential: ConfigSecret::Text("a-secret-of-the-ad-server".to_owned()),
            report_every: SignedDuration::from_hours(1),
            test_accounts: true,
        });
    });
    let call = |tool: &str, arguments: &Value| {
        let response = publisher.call(Binding::Mcp, "acme", tool, arguments);
        response.json()["result"]["structuredContent"].clone()
    };
    let capabilities = call("get_adcp_capabilities", &json!({}));
    let targeting = &capabilities["media_buy"]["execution"]["targeting"];
    assert_eq!(*targeting, json!({"geo_countries": true}));
    let buy = |overlay: Value| {
        let made = call(
            "create_media_buy",
            &json!({
                "account": {"brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example"},
                "idempotency_key": "buy-what-the-ad-server-has-1",
                "brand": {"domain": "acmeoutdoor.example"},
                "start_time": "2031-07-01T00:00:00Z", "end_time": "2031-08-01T00:00:00Z",
                "packages": [{
                    "product_id": "sports_display_guaranteed", "pricing_option_id": "cpm_fixed",
                    "budget": 10_000, "targeting_overlay": overlay,
                }],
            }),
        );
        let error = &made["errors"][0];
        match error["code"].as_str() {
            Some(code) => format!("{code} {} {}", error["field"], error["details"]),
            None => made["status"].to_string(),
        }
    };
    let us = || json!({"geo_countries": ["US"]});
    assert_eq!(
        buy(json!({"geo_countries": ["US"], "geo_regions": ["US-CA"]})),
        r#"UNSUPPORTED_FEATURE "packages[0].targeting_overlay.geo_regions" null"#
    );
    assert_eq!(
        buy(us()),
        "PRODUCT_UNAVAILABLE \"packages[0].product_id\" {\"product_id\":\"sports_display_guaranteed\",\
         \"unit\":\"impressions\",\"requested\":833333,\"available\":100}"
    );
    assert_eq!(buy(us()), "SERVICE_UNAVAILABLE null null");
    // It is left alone, and then it is the same purchase.
    assert_eq!(buy(us()), "SERVICE_UNAVAILABLE null null");
    publisher.hand.advance(SignedDuration::from_secs(5));
    assert_eq!(buy(us()), r#""completed""#);
    assert_eq!(buy(us()), r#""completed""#, "a repetition asks nobody");
    let asked = there.quiet();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].line, "POST /v1/availability HTTP/1.1");
    assert_eq!(asked[0].header("authorization"), Some("Bearer a-secret-of-the-ad-server"));
    assert_eq!(asked[0].json()["items"][0]["targeting"], us());
}
