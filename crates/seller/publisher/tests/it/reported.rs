//! Delivery that the publisher's people or programs report: rows that count and rows that are refused, what buyers see
//! of it, and the same sums in whatever order the rows come.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpRelease;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, from_str, json, to_value};
use tradepost_publisher::ad_server::{RemoteDelivery, RemoteId};
use tradepost_publisher::catalogue::{Catalogue, ProductCapacity, ProductTerms};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::remote_order::RemoteOrder;
use tradepost_publisher::remote_order::delivery::store_rows;
use tradepost_publisher::staff::StaffView;
use tradepost_publisher::staff::inventory::{self, InventoryFilter};
use tradepost_publisher::staff::reported::{
    MAX_ROWS, ReportRefused, ReportedBuy, ReportedDay, RowProblem, report_days,
};
use tradepost_publisher::store::{New, Query, StoreTx};
use tradepost_publisher::task::QueuedNotification;

use crate::support::profile;
use crate::support::schemas::against;
use crate::support::shop::{ACCOUNT, Shop, fixed, package, product};

/// A row: what `changes` has wins.
fn row(number: usize, changes: Value) -> ReportedDay {
    let text = |name: &str| changes[name].as_str().map(str::to_owned);
    let money = |name: &str| {
        changes[name]
            .as_number()
            .and_then(MoneyAmount::from_number)
            .unwrap_or(MoneyAmount::whole(1))
    };
    ReportedDay {
        row: number,
        media_buy_id: text("buy"),
        package_id: text("package"),
        line_item_id: text("line_item"),
        day: changes["day"].as_str().unwrap_or("2026-07-01").parse().unwrap(),
        impressions: changes["impressions"].as_u64().unwrap_or(100),
        clicks: changes["clicks"].as_u64(),
        completed_views: None,
        spend: money("spend"),
        currency: text("currency"),
        is_final: changes["final"] == true,
        is_correction: changes["correction"] == true,
    }
}

pub(crate) fn rows(listed: &[Value]) -> Vec<ReportedDay> {
    listed.iter().enumerate().map(|(place, changes)| row(place + 1, changes.clone())).collect()
}

/// Reports rows in one transaction.
pub(crate) fn report(
    shop: &Shop,
    rows: &[ReportedDay],
) -> Result<Vec<ReportedBuy>, Vec<RowProblem>> {
    report_beside(shop, rows, &[])
}

fn report_beside(
    shop: &Shop,
    rows: &[ReportedDay],
    earlier: &[RowProblem],
) -> Result<Vec<ReportedBuy>, Vec<RowProblem>> {
    let publisher = shop.harness.publisher.clone();
    let now = shop.harness.now;
    let rows = rows.to_vec();
    let earlier = earlier.to_vec();
    let job = move |tx: &dyn StoreTx| report_days(&publisher, tx, &rows, &earlier, now);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(shop.harness.store.act(job)).map_err(|refused| match refused {
        ReportRefused::Problems(problems) => problems,
        ReportRefused::Broken(fault) => panic!("{}", fault.chain()),
    })
}

/// What became of rows, as a document.
fn outcome(shop: &Shop, listed: &[Value]) -> String {
    match report(shop, &rows(listed)) {
        Ok(reported) => format!("{}\n", to_value(&reported).unwrap()),
        Err(problems) => lines(&problems),
    }
}

fn lines(problems: &[RowProblem]) -> String {
    let line = |problem: &RowProblem| {
        let RowProblem { row, field, message, hint } = problem;
        let field = field.map(|field| format!(" {field}")).unwrap_or_default();
        format!("{row}{field}: {message}; {hint}\n")
    };
    problems.iter().map(line).collect()
}

fn check(shop: &Shop, listed: &[Value], expected: &Expect) {
    expected.assert_eq(&outcome(shop, listed));
}

/// A shop at the 10th of July with a buy of two packages for that month.
fn july() -> Shop {
    let mut shop = Shop::new();
    let packages = [package(json!({})), package(json!({"budget": 2000}))];
    let made = shop.create(json!({"packages": packages}));
    assert_eq!(made["media_buy_id"], "mb_1", "{made}");
    shop.harness.now = "2026-07-10T12:00:00Z".parse().unwrap();
    shop
}

fn asked(shop: &Shop, changes: Value) -> Value {
    let mut asked = json!({"media_buy_ids": ["mb_1"]});
    asked.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    shop.ask(AdcpTool::GetMediaBuyDelivery, asked)
}

/// Impressions and spend in all, and of each day.
fn totals(shop: &Shop) -> String {
    let answer = asked(shop, json!({}));
    let shown = &answer["media_buy_deliveries"][0];
    format!("{} {}", shown["totals"], shown["daily_breakdown"])
}

#[test]
fn rows_are_stored_by_package_and_day_and_later_ones_replace() {
    let shop = july();
    let first = [
        json!({"buy": "mb_1", "package": "pkg_2", "impressions": 1000, "clicks": 7, "spend": 8}),
        json!({"package": "pkg_3", "impressions": 500, "spend": 4.5}),
        json!({"buy": "mb_1", "package": "pkg_2", "day": "2026-07-02", "impressions": 300, "spend": 2}),
    ];
    check(
        &shop,
        &first,
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":3,"changed":3,"added":3,"finalized":0,"corrected":0,"impressions":1800,"spend":14.5,"currency":"USD"}]
        "#]],
    );
    let before = totals(&shop);
    check(
        &shop,
        &first,
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":3,"changed":0,"added":0,"finalized":0,"corrected":0,"impressions":1800,"spend":14.5,"currency":"USD"}]
        "#]],
    );
    assert_eq!(totals(&shop), before, "a repetition changes nothing");
    // Less than before; clicks that are left out stay.
    let lower = [json!({"package": "pkg_2", "impressions": 900, "spend": 7.2})];
    check(
        &shop,
        &lower,
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":0,"finalized":0,"corrected":0,"impressions":1200,"spend":9.2,"currency":"USD"}]
        "#]],
    );
    expect![[r#"{"impressions":1700,"spend":13.7,"clicks":7,"ctr":0.004118,"cpm":8.058824,"cost_per_click":1.957143} [{"date":"2026-07-01","impressions":1400,"spend":11.7},{"date":"2026-07-02","impressions":300,"spend":2}]"#]]
        .assert_eq(&totals(&shop));
}

#[test]
fn all_problems_of_all_rows_are_listed_and_nothing_is_stored() {
    let shop = july();
    let bad = [
        json!({"buy": "mb_1", "package": "pkg_2"}),
        json!({}),
        json!({"buy": "mb_9", "package": "pkg_2"}),
        json!({"package": "pkg_9"}),
        json!({"line_item": "4711"}),
        json!({"buy": "mb_1", "package": "pkg_9"}),
        json!({"buy": "mb_1"}),
        json!({"package": "pkg_2", "day": "2026-06-30"}),
        json!({"package": "pkg_2", "day": "2026-08-08"}),
        json!({"package": "pkg_2", "day": "2026-07-11"}),
        json!({"package": "pkg_2", "day": "2026-07-10", "final": true}),
        json!({"package": "pkg_2", "day": "2026-07-02", "spend": -3, "currency": "EUR"}),
        json!({"package": "pkg_2", "day": "2026-07-03", "impressions": 1_000_000_000_001_u64}),
        json!({"package": "pkg_2", "impressions": 5}),
        json!({"package": "pkg_3", "day": "2026-07-04", "spend": 12}),
        json!({"package": "pkg_3", "day": "2026-07-05", "spend": 4000}),
    ];
    let unread = RowProblem::from_row(3, "cannot be read", "write it again");
    let problems = report_beside(&shop, &rows(&bad), &[unread]).unwrap_err();
    expect![[r#"
        2: names neither a media buy nor a line item; give media_buy_id and package_id, or line_item_id
        3: cannot be read; write it again
        3 media_buy_id: there is no such media buy; `tradepost publisher buys list` lists them
        4 package_id: there is no such package; `tradepost publisher packages list` lists them
        5 line_item_id: no media buy has such a line item; give media_buy_id and package_id: line items that people have set up, or an earlier version has made, are not found by their ids
        6 package_id: the media buy has no such package; `tradepost publisher packages list` lists them
        7 package_id: the media buy has several packages; give the package of each row
        8 date: the flight begins on 2026-07-01; check the date, or the media buy
        9 date: the flight ends on 2026-07-31, and delivery is taken for 7 days more; check the date, or extend the flight of the media buy
        10 date: is in the future; report days that have begun
        11 final: the day is not over; declare it final from the next day on
        12 currency: the media buy is in USD; write the spend in the currency of the media buy
        12 spend: is below zero; write what the day has cost now, and not the difference
        13 impressions: is more than 1000000000000; check the number
        14: the package and day are those of row 1; add the rows up, so that each package and day has one
        16 spend: with it the package has spent more than 2 times its budget of 2000 USD; check the unit: the spend is in the currency, and not in cents or millionths
    "#]]
    .assert_eq(&lines(&problems));
    expect![[r#"{"impressions":0,"spend":0} []"#]].assert_eq(&totals(&shop));
    check(
        &shop,
        &[],
        &expect![[r#"
        1: there are no rows; send at least one day
    "#]],
    );
    let many = vec![row(1, json!({"package": "pkg_2"})); MAX_ROWS + 1];
    expect![[r#"
        10001: there are 10001 rows, and at most 10000 are taken; send them in several parts
    "#]]
    .assert_eq(&lines(&report(&shop, &many).unwrap_err()));
}

#[test]
fn spend_that_was_too_high_can_be_lowered() {
    let shop = july();
    check(
        &shop,
        &[json!({"package": "pkg_2", "spend": 1999})],
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":1,"finalized":0,"corrected":0,"impressions":100,"spend":1999,"currency":"USD"}]
        "#]],
    );
    let smaller = json!({"packages": [{"package_id": "pkg_2", "budget": 600}]});
    assert_eq!(shop.update("mb_1", smaller)["status"], "completed");
    let next = json!({"package": "pkg_2", "day": "2026-07-02", "spend": 1});
    check(
        &shop,
        &[next],
        &expect![[r#"
        1 spend: with it the package has spent more than 2 times its budget of 600 USD; check the unit: the spend is in the currency, and not in cents or millionths
    "#]],
    );
    check(
        &shop,
        &[json!({"package": "pkg_2", "spend": 1500})],
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":0,"finalized":0,"corrected":0,"impressions":100,"spend":1500,"currency":"USD"}]
        "#]],
    );
}

#[test]
fn final_days_change_by_corrections_alone() {
    let mut shop = july();
    let day = |changes: Value| {
        let mut day = json!({"package": "pkg_2", "impressions": 1000, "spend": 8});
        day.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        [day]
    };
    check(
        &shop,
        &day(json!({"final": true})),
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":1,"finalized":1,"corrected":0,"impressions":1000,"spend":8,"currency":"USD"}]
        "#]],
    );
    let package = |shop: &Shop| {
        let range = json!({"start_date": "2026-07-01", "end_date": "2026-07-02"});
        let shown = asked(shop, range)["media_buy_deliveries"][0].clone();
        let package = &shown["by_package"][0];
        let other = &shown["by_package"][1];
        format!(
            "{} {} {}; other {}; row {}",
            package["impressions"],
            package["is_final"],
            package["finalized_at"],
            other["is_final"],
            shown["is_final"],
        )
    };
    expect![[r#"1000 true "2026-07-10T12:00:00Z"; other false; row false"#]]
        .assert_eq(&package(&shop));
    shop.wait(1);
    // The same again is no change, whatever it says of itself.
    check(
        &shop,
        &day(json!({})),
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":0,"added":0,"finalized":0,"corrected":0,"impressions":1000,"spend":8,"currency":"USD"}]
        "#]],
    );
    check(
        &shop,
        &day(json!({"impressions": 990})),
        &expect![[r#"
            1 correction: other figures of this package and day are final; leave the row out, or mark it as a correction
            1 final: other figures of this package and day are final; declare the row final, or leave it out
        "#]],
    );
    check(
        &shop,
        &day(json!({"impressions": 990, "final": true})),
        &expect![[r#"
            1 correction: other figures of this package and day are final; leave the row out, or mark it as a correction
        "#]],
    );
    // What corrects them has to be final, too.
    check(
        &shop,
        &day(json!({"impressions": 990, "correction": true})),
        &expect![[r#"
        1 final: other figures of this package and day are final; declare the row final, or leave it out
    "#]],
    );
    check(
        &shop,
        &day(json!({"impressions": 990, "correction": true, "final": true})),
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":0,"finalized":0,"corrected":1,"impressions":990,"spend":8,"currency":"USD"}]
        "#]],
    );
    expect![[r#"990 true "2026-07-10T13:00:00Z"; other false; row false"#]]
        .assert_eq(&package(&shop));
    let other = json!({"package": "pkg_3", "impressions": 0, "spend": 0, "final": true});
    check(
        &shop,
        &[other],
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":1,"finalized":1,"corrected":0,"impressions":0,"spend":0,"currency":"USD"}]
        "#]],
    );
    expect![[r#"990 true "2026-07-10T13:00:00Z"; other true; row true"#]]
        .assert_eq(&package(&shop));
    let whole = asked(&shop, json!({}));
    assert_eq!(whole["media_buy_deliveries"][0]["is_final"], false, "the flight goes on: {whole}");
    let lists =
        against(AdcpRelease::V3_1, "media-buy/get-media-buy-delivery-response.json", &whole);
    assert_eq!(lists, Vec::<String>::new());
}

#[test]
fn a_whole_flight_is_final_when_every_day_of_it_is() {
    let mut shop = july();
    shop.harness.now = "2026-08-02T00:00:00Z".parse().unwrap();
    let first: Date = "2026-07-01".parse().unwrap();
    let days = |package: &str| {
        let package = package.to_owned();
        first.series(jiff::Span::new().days(1)).take(31).map(move |day| {
            json!({"package": package, "day": day.to_string(), "spend": 1, "final": true})
        })
    };
    let mut all: Vec<Value> = days("pkg_2").chain(days("pkg_3")).collect();
    let last = all.pop().unwrap();
    report(&shop, &rows(&all)).unwrap();
    let is_final = |shop: &Shop| {
        let answer = asked(shop, json!({}));
        let shown = &answer["media_buy_deliveries"][0];
        let packages: Vec<_> =
            (0..2).map(|place| shown["by_package"][place]["is_final"].clone()).collect();
        json!([packages, shown["is_final"], shown["finalized_at"]])
    };
    assert_eq!(is_final(&shop), json!([[true, false], false, null]));
    shop.wait(1);
    report(&shop, &rows(&[last])).unwrap();
    assert_eq!(is_final(&shop), json!([[true, true], true, "2026-08-02T01:00:00Z"]));
    // Nothing opens it again but a correction, which is final, too.
    shop.harness.now = "2026-08-09T00:00:00Z".parse().unwrap();
    let late = |changes: Value| {
        let mut row = json!({"package": "pkg_2", "day": "2026-08-03", "impressions": 5});
        row.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        [row]
    };
    check(
        &shop,
        &late(json!({})),
        &expect![[r#"
            1 correction: all days of the package's flight are final; leave the row out, or mark it as a correction
            1 final: all days of the package's flight are final; declare the row final, or leave it out
        "#]],
    );
    check(
        &shop,
        &late(json!({"final": true})),
        &expect![[r#"
            1 correction: all days of the package's flight are final; leave the row out, or mark it as a correction
        "#]],
    );
    check(
        &shop,
        &late(json!({"correction": true})),
        &expect![[r#"
            1 final: all days of the package's flight are final; declare the row final, or leave it out
        "#]],
    );
    assert_eq!(is_final(&shop), json!([[true, true], true, "2026-08-02T01:00:00Z"]));
    check(
        &shop,
        &late(json!({"correction": true, "final": true})),
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":1,"finalized":1,"corrected":0,"impressions":3105,"spend":32,"currency":"USD"}]
        "#]],
    );
    assert_eq!(is_final(&shop), json!([[true, true], true, "2026-08-09T00:00:00Z"]));
}

/// An order at the ad server with a line item for the first package.
fn carry(shop: &Shop, is_reported: bool) {
    let order: RemoteOrder = from_str(
        &json!({
            "media_buy_id": "mb_1", "phase": "settled", "marks": 1, "generation": 1,
            "ends_at": "2026-08-01T00:00:00Z",
            "report_due_at": is_reported.then_some("2026-07-10T13:00:00Z"),
            "line_items": {"pkg_2": {
                "id": "li-77", "approved": true,
                "sent": {
                    "external_id": "pkg_2", "name": "x", "package_id": "pkg_2", "inventory": [],
                    "is_guaranteed": false, "pricing": "cpm", "rate": 8, "currency": "USD",
                    "budget": 1000, "goal": null, "start_time": "2026-07-01T00:00:00Z",
                    "end_time": "2026-08-01T00:00:00Z", "targeting": {}, "sizes": [],
                    "is_paused": false,
                },
            }},
        })
        .to_string(),
    )
    .unwrap();
    let now = shop.harness.now;
    shop.harness.put(move |tx| {
        let new = New { id: "mb_1", owner: "agent:acme", account: Some(ACCOUNT), state: "", now };
        tx.add(new, &order)
    });
}

/// What the ad server reports of the line item on the first day.
fn pull(shop: &Shop, impressions: u64) {
    pull_day(shop, "2026-07-01", impressions, false);
}

fn pull_day(shop: &Shop, day: &str, impressions: u64, is_final: bool) {
    let row = RemoteDelivery {
        line_item: RemoteId("li-77".to_owned()),
        day: day.parse().unwrap(),
        impressions,
        clicks: 0,
        completed_views: None,
        spend: MoneyAmount::whole(1),
        is_final,
    };
    let now = shop.harness.now;
    shop.harness.put(move |tx| {
        let order = tx.find::<RemoteOrder>("mb_1")?.unwrap();
        store_rows(tx, &order, std::slice::from_ref(&row), &TimeZone::UTC, now)
    });
}

#[test]
fn late_reports_of_the_ad_server_reopen_nothing_final() {
    for is_known_before in [false, true] {
        let mut shop = july();
        shop.harness.now = "2026-08-02T00:00:00Z".parse().unwrap();
        carry(&shop, true);
        if is_known_before {
            pull_day(&shop, "2026-08-01", 7, false);
        }
        let first: Date = "2026-07-01".parse().unwrap();
        let days = first.series(jiff::Span::new().days(1)).take(31);
        let days: Vec<Value> = days
            .flat_map(|day| ["pkg_2", "pkg_3"].map(|package| (day, package)))
            .map(
                |(day, package)| json!({"package": package, "day": day.to_string(), "final": true}),
            )
            .collect();
        report(&shop, &rows(&days)).unwrap();
        let state = |shop: &Shop| {
            let shown = asked(shop, json!({}))["media_buy_deliveries"][0].clone();
            (shown["is_final"].clone(), shown["totals"]["impressions"].clone())
        };
        // A day after the flight that was known to be provisional keeps it open, until it is final, too.
        let expected = if is_known_before { (json!(false), 6_207) } else { (json!(true), 6_200) };
        assert_eq!(state(&shop), (expected.0, json!(expected.1)));
        for day in ["2026-07-31", "2026-08-02"] {
            pull_day(&shop, day, 9, false);
        }
        pull_day(&shop, "2026-08-01", 8, true);
        if is_known_before {
            assert_eq!(state(&shop), (json!(false), json!(6_217)), "nothing was closed yet");
            pull_day(&shop, "2026-08-02", 9, true);
            assert_eq!(state(&shop), (json!(true), json!(6_217)));
        } else {
            assert_eq!(state(&shop), (json!(true), json!(6_200)));
            let late = json!({
                "package": "pkg_2", "day": "2026-08-01", "impressions": 8, "final": true,
                "correction": true,
            });
            report(&shop, &rows(&[late])).unwrap();
            assert_eq!(state(&shop), (json!(true), json!(6_208)));
        }
    }
}

#[test]
fn a_package_that_the_ad_server_reports_takes_final_rows_alone() {
    let shop = july();
    carry(&shop, true);
    pull(&shop, 1000);
    let pushed = |changes: Value| {
        let mut row = json!({"line_item": "li-77", "impressions": 950});
        row.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        [row]
    };
    check(
        &shop,
        &pushed(json!({})),
        &expect![[r#"
        1 final: the ad server reports this package by itself, so that only final figures are taken; declare the row final, or leave it out
    "#]],
    );
    check(
        &shop,
        &pushed(json!({"final": true})),
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":0,"finalized":1,"corrected":0,"impressions":950,"spend":1,"currency":"USD"}]
        "#]],
    );
    // The ad server goes on saying what it said.
    pull(&shop, 1000);
    expect![[r#"{"impressions":950,"spend":1,"clicks":0,"ctr":0,"cpm":1.052632} [{"date":"2026-07-01","impressions":950,"spend":1}]"#]]
        .assert_eq(&totals(&shop));
    // What a row leaves out is not known to be zero.
    let fuller = json!({"final": true, "correction": true, "clicks": 9});
    assert!(report(&shop, &rows(&pushed(fuller))).is_ok());
    check(
        &shop,
        &pushed(json!({"final": true})),
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":0,"added":0,"finalized":0,"corrected":0,"impressions":950,"spend":1,"currency":"USD"}]
        "#]],
    );
    let corrected = json!({"final": true, "correction": true, "impressions": 940});
    assert!(report(&shop, &rows(&pushed(corrected))).is_ok());
    let shown = asked(&shop, json!({}));
    let totals = &shown["media_buy_deliveries"][0]["totals"];
    assert_eq!((&totals["impressions"], &totals["clicks"]), (&json!(940), &json!(9)), "{totals}");
    // One that has not been asked for days is asked no more.
    let mut shop = shop;
    shop.wait(4 * 24);
    let second = [json!({"line_item": "li-77", "day": "2026-07-02", "impressions": 3})];
    check(
        &shop,
        &second,
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":1,"finalized":0,"corrected":0,"impressions":943,"spend":2,"currency":"USD"}]
        "#]],
    );
    // The other package is set up by hand.
    check(
        &shop,
        &[json!({"buy": "mb_1", "package": "pkg_3"})],
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":1,"finalized":0,"corrected":0,"impressions":100,"spend":1,"currency":"USD"}]
        "#]],
    );
}

#[test]
fn an_ad_server_without_reports_is_named_by_its_line_item() {
    let shop = july();
    carry(&shop, false);
    check(
        &shop,
        &[json!({"line_item": "li-77"}), json!({"buy": "mb_1", "line_item": "li-78"})],
        &expect![[r#"
            2 line_item_id: the media buy has no such line item; check it, or leave it out for a line item that people have set up
        "#]],
    );
    // Names that do not mean one package.
    let other =
        shop.create(json!({"idempotency_key": "another-buy-of-one-package", "start_time": "asap"}));
    let other = other["media_buy_id"].as_str().unwrap_or_else(|| panic!("{other}"));
    check(
        &shop,
        &[
            json!({"package": "pkg_3", "line_item": "li-77"}),
            json!({"package": "pkg_3", "line_item": "li-78", "day": "2026-07-02"}),
            json!({"buy": other, "line_item": "li-77"}),
            json!({"package": "pkg_2", "line_item": "li-77", "day": "2026-07-03"}),
        ],
        &expect![[r#"
            1 line_item_id: belongs to another package; check the ids: they have to name one package
            2 line_item_id: the media buy has no such line item; check it, or leave it out for a line item that people have set up
            3 line_item_id: belongs to another media buy; check the ids: they have to name one package
        "#]],
    );
    check(
        &shop,
        &[json!({"line_item": "li-77"})],
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":1,"finalized":0,"corrected":0,"impressions":100,"spend":1,"currency":"USD"}]
        "#]],
    );
}

#[test]
fn days_are_those_of_the_publishers_time_zone() {
    let inventory = from_str(r#"{"time_zone": "America/Los_Angeles"}"#).unwrap();
    let products = vec![product("display", fixed(8.0, "USD"), json!({}), ProductTerms::default())];
    let catalogue = Catalogue { products, inventory, ..Catalogue::default() };
    let profile = PublisherProfile { catalogue, ..profile() };
    let mut shop = Shop::selling(profile, |_| {});
    let made = shop.create(json!({
        "start_time": "2026-07-01T07:00:00Z", "end_time": "2026-07-03T07:00:00Z",
        "packages": [package(json!({"creative_assignments": null}))],
    }));
    assert_eq!(made["media_buy_id"], "mb_1", "{made}");
    // It is still the first of July there.
    shop.harness.now = "2026-07-02T06:00:00Z".parse().unwrap();
    check(
        &shop,
        &[
            json!({"buy": "mb_1"}),
            json!({"buy": "mb_1", "day": "2026-07-02"}),
            json!({"buy": "mb_1", "day": "2026-06-30"}),
        ],
        &expect![[r#"
        2 date: is in the future; report days that have begun
        3 date: the flight begins on 2026-07-01; check the date, or the media buy
    "#]],
    );
    check(
        &shop,
        &[json!({"buy": "mb_1"})],
        &expect![[r#"
            [{"media_buy_id":"mb_1","rows":1,"changed":1,"added":1,"finalized":0,"corrected":0,"impressions":100,"spend":1,"currency":"USD"}]
        "#]],
    );
}

#[test]
fn a_lifetime_is_final_only_after_its_last_local_day() {
    let inventory = from_str(r#"{"time_zone": "Asia/Tokyo"}"#).unwrap();
    let products = vec![product("display", fixed(8.0, "USD"), json!({}), ProductTerms::default())];
    let catalogue = Catalogue { products, inventory, ..Catalogue::default() };
    let mut shop = Shop::selling(PublisherProfile { catalogue, ..profile() }, |_| {});
    let made = shop.create(json!({
        "start_time": "2026-06-30T15:00:00Z", "end_time": "2026-07-02T15:00:00Z",
        "packages": [package(json!({"creative_assignments": null}))],
    }));
    assert_eq!(made["media_buy_id"], "mb_1", "{made}");
    // It is the second of July there.
    shop.harness.now = "2026-07-01T20:00:00Z".parse().unwrap();
    let days = [json!({"buy": "mb_1", "final": true}), json!({"buy": "mb_1", "day": "2026-07-02"})];
    report(&shop, &rows(&days)).unwrap();
    let is_final = |shop: &Shop, range: Value| {
        let shown = asked(shop, range);
        let row = &shown["media_buy_deliveries"][0];
        json!([row["totals"]["impressions"], row["is_final"]])
    };
    assert_eq!(is_final(&shop, json!({})), json!([200, false]));
    let range = |start: &str, end: &str| json!({"start_date": start, "end_date": end});
    assert_eq!(is_final(&shop, range("2026-07-01", "2026-07-02")), json!([100, true]));
    assert_eq!(is_final(&shop, range("2026-07-01", "2026-07-03")), json!([200, false]));
    shop.harness.now = "2026-07-02T20:00:00Z".parse().unwrap();
    report(&shop, &rows(&[json!({"buy": "mb_1", "day": "2026-07-02", "final": true})])).unwrap();
    assert_eq!(is_final(&shop, json!({})), json!([200, true]));
}

/// A shop with a product of which a webhook hears and whose units are counted.
fn counted() -> Shop {
    let reported = json!({"reporting_capabilities": {
        "available_reporting_frequencies": ["daily"], "expected_delay_minutes": 60, "timezone": "UTC",
        "supports_webhooks": true, "available_metrics": ["impressions", "spend", "clicks"],
        "date_range_support": "date_range",
    }});
    let capacity: ProductCapacity = from_str(r#"{"per_day": 200000}"#).unwrap();
    let terms = ProductTerms { capacity: Some(capacity), ..ProductTerms::default() };
    let products = vec![product("display", fixed(8.0, "USD"), reported, terms)];
    let catalogue = Catalogue { products, ..Catalogue::default() };
    let mut shop = Shop::selling(PublisherProfile { catalogue, ..profile() }, |_| {});
    let webhook = json!({
        "url": "https://buyer.example/reports", "reporting_frequency": "daily",
        "authentication": {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"},
    });
    let made =
        shop.create(json!({"end_time": "2026-07-03T00:00:00Z", "reporting_webhook": webhook}));
    assert_eq!(made["media_buy_id"], "mb_1", "{made}");
    shop.harness.now = "2026-07-02T00:30:00Z".parse().unwrap();
    shop
}

/// Reports to the webhook that are new since `seen`, a line each.
fn new_reports(shop: &mut Shop, moment: &str, seen: &mut usize) -> String {
    shop.harness.now = moment.parse().unwrap();
    shop.tick();
    shop.tick();
    let read = shop.harness.store.look(|reader| {
        reader.all::<QueuedNotification>(&Query::with_state(QueuedNotification::DUE))
    });
    let all: Result<Vec<_>, InternalError> = read;
    let all = all.unwrap();
    let mut lines = String::new();
    for stored in all.iter().skip(*seen) {
        let body: Value = from_str(&stored.thing.body).unwrap();
        let result = &body["result"];
        let schema = "media-buy/media-buy-delivery-webhook-result.json";
        assert_eq!(against(AdcpRelease::V3_1, schema, result), Vec::<String>::new());
        let row = &result["media_buy_deliveries"][0];
        lines.push_str(&format!(
            "{} {}: {} impressions, adjusted {}, final {} {}\n",
            result["notification_type"],
            result["reporting_period"]["start"],
            row["totals"]["impressions"],
            row["is_adjusted"],
            row["is_final"],
            row["by_package"][0]["is_final"],
        ));
    }
    *seen = all.len();
    lines
}

#[test]
fn a_reported_day_that_changes_is_adjusted_once() {
    let mut shop = counted();
    let day = |shop: &Shop, changes: Value| {
        let mut row = json!({"buy": "mb_1"});
        row.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        report(shop, &rows(&[row])).unwrap();
    };
    let mut seen = 0;
    day(&shop, json!({"impressions": 1000}));
    expect![[r#"
        "scheduled" "2026-07-01T00:00:00Z": 1000 impressions, adjusted null, final null null
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-02T01:00:00Z", &mut seen));
    day(&shop, json!({"impressions": 900}));
    expect![[r#"
        "adjusted" "2026-07-01T00:00:00Z": 900 impressions, adjusted true, final null null
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-02T02:00:00Z", &mut seen));
    // The same again, and then the same as final: no other figure, so nothing is told again.
    day(&shop, json!({"impressions": 900}));
    day(&shop, json!({"impressions": 900, "final": true}));
    expect![[""]].assert_eq(&new_reports(&mut shop, "2026-07-02T03:00:00Z", &mut seen));
    day(&shop, json!({"impressions": 850, "correction": true, "final": true}));
    day(&shop, json!({"day": "2026-07-02", "impressions": 10}));
    expect![[r#"
        "adjusted" "2026-07-01T00:00:00Z": 850 impressions, adjusted true, final true true
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-02T04:00:00Z", &mut seen));
    // After the flight the last report waits until everything is final.
    expect![[r#"
        "scheduled" "2026-07-02T00:00:00Z": 10 impressions, adjusted null, final false false
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-03T01:00:00Z", &mut seen));
    expect![[""]].assert_eq(&new_reports(&mut shop, "2026-07-04T12:00:00Z", &mut seen));
    day(&shop, json!({"day": "2026-07-02", "impressions": 12, "final": true}));
    expect![[r#"
        "adjusted" "2026-07-02T00:00:00Z": 12 impressions, adjusted true, final true true
        "final" "2026-07-01T00:00:00Z": 862 impressions, adjusted null, final true true
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-04T13:00:00Z", &mut seen));
    // A correction after the last report, weeks later.
    expect![[""]].assert_eq(&new_reports(&mut shop, "2026-07-25T00:00:00Z", &mut seen));
    day(&shop, json!({"day": "2026-07-02", "impressions": 11, "correction": true, "final": true}));
    expect![[r#"
        "adjusted" "2026-07-02T00:00:00Z": 11 impressions, adjusted true, final true true
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-25T01:00:00Z", &mut seen));
    // A day after the flight is in no window.
    day(&shop, json!({"day": "2026-07-05", "impressions": 1, "final": true, "correction": true}));
    expect![[""]].assert_eq(&new_reports(&mut shop, "2026-07-25T02:00:00Z", &mut seen));
    assert_eq!(asked(&shop, json!({}))["media_buy_deliveries"][0]["totals"]["impressions"], 862);
}

#[test]
fn a_day_that_is_reported_after_the_last_report_is_adjusted() {
    let mut shop = counted();
    let mut seen = 0;
    report(&shop, &rows(&[json!({"buy": "mb_1", "impressions": 1000})])).unwrap();
    expect![[r#"
        "scheduled" "2026-07-01T00:00:00Z": 1000 impressions, adjusted null, final null null
        "delayed" "2026-07-02T00:00:00Z": 0 impressions, adjusted null, final null null
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-03T01:00:00Z", &mut seen));
    expect![[r#"
        "final" "2026-07-01T00:00:00Z": 1000 impressions, adjusted null, final null null
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-10T01:00:00Z", &mut seen));
    let late = json!({"buy": "mb_1", "day": "2026-07-02", "impressions": 30, "final": true});
    report(&shop, &rows(&[late])).unwrap();
    expect![[r#"
        "adjusted" "2026-07-02T00:00:00Z": 30 impressions, adjusted true, final true true
    "#]]
    .assert_eq(&new_reports(&mut shop, "2026-07-20T00:00:00Z", &mut seen));
}

/// Units that the books of counted inventory have as delivered, by day.
fn delivered(shop: &Shop) -> String {
    let filter = InventoryFilter {
        from: Some("2026-07-01".parse().unwrap()),
        until: Some("2026-07-03".parse().unwrap()),
        ..InventoryFilter::default()
    };
    let publisher = &shop.harness.publisher;
    let now = shop.harness.now;
    let listed = shop
        .harness
        .store
        .look(|reader| inventory::list(StaffView { publisher, reader, now }, &filter));
    let listed = listed.unwrap();
    listed.iter().map(|row| format!("{} ", row["delivered"])).collect()
}

#[test]
fn counted_units_follow_reported_days() {
    let shop = counted();
    let two = [
        json!({"buy": "mb_1", "impressions": 1000}),
        json!({"buy": "mb_1", "day": "2026-07-02", "impressions": 30}),
    ];
    report(&shop, &rows(&two)).unwrap();
    assert_eq!(delivered(&shop), "1000 30 ");
    report(&shop, &rows(&[json!({"buy": "mb_1", "impressions": 400})])).unwrap();
    report(&shop, &rows(&two[1..])).unwrap();
    assert_eq!(delivered(&shop), "400 30 ");
}

#[test]
fn a_buy_of_ten_thousand_rows_is_stored() {
    let mut shop = Shop::new();
    let packages: Vec<_> = (0..28).map(|_| package(json!({"budget": 100_000}))).collect();
    let made = shop.create(json!({"packages": packages, "end_time": "2027-06-28T00:00:00Z"}));
    shop.harness.now = "2027-06-28T00:00:00Z".parse().unwrap();
    let first: Date = "2026-07-01".parse().unwrap();
    let packages = made["packages"].as_array().unwrap();
    let mut listed = Vec::new();
    for package in packages {
        for day in first.series(jiff::Span::new().days(1)).take(357) {
            listed.push(json!({"package": package["package_id"], "day": day.to_string()}));
        }
    }
    let rows = rows(&listed);
    assert_eq!(rows.len(), 9_996);
    let reported = report(&shop, &rows).unwrap();
    assert_eq!(reported[0].impressions, MoneyAmount::from_count(999_600));
    assert_eq!(report(&shop, &rows).unwrap()[0].changed, 0);
}

/// A step of the property: rows of days 1 to 4 of two packages.
#[derive(Debug, Clone)]
struct Push(Vec<PushedDay>);

#[derive(Debug, Clone)]
struct PushedDay {
    package: usize,
    day: usize,
    impressions: u64,
    cents: u32,
    is_final: bool,
    is_correction: bool,
}

fn pushes() -> impl Strategy<Value = Vec<Push>> {
    let day = (0..2_usize, 0..4_usize, 0..5_000_u64, 0..9_000_u32, any::<u8>());
    let day = day.prop_map(|(package, day, impressions, cents, flags)| PushedDay {
        package,
        day,
        impressions,
        cents,
        is_final: flags % 5 == 0,
        is_correction: flags % 3 == 0,
    });
    prop::collection::vec(prop::collection::vec(day, 1..6).prop_map(Push), 1..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The days of the answer add up to its totals, and to the last accepted report of each package and day.
    #[test]
    fn days_add_up_to_the_totals_in_any_order(pushes in pushes()) {
        let shop = july();
        let mut known: BTreeMap<(usize, usize), (u64, u32, bool)> = BTreeMap::new();
        for Push(days) in pushes {
            let listed: Vec<Value> = days.iter().map(|day| json!({
                "package": ["pkg_2", "pkg_3"][day.package], "day": format!("2026-07-0{}", day.day + 1),
                "impressions": day.impressions, "spend": f64::from(day.cents) / 100.0,
                "final": day.is_final, "correction": day.is_correction,
            })).collect();
            let places: BTreeSet<_> =
                days.iter().map(|day| (day.package, day.day)).collect();
            let is_closed = |day: &PushedDay| {
                known.get(&(day.package, day.day)).is_some_and(|(impressions, cents, is_final)| {
                    *is_final && !(day.is_correction && day.is_final)
                        && (*impressions, *cents) != (day.impressions, day.cents)
                })
            };
            let is_refused = places.len() < days.len() || days.iter().any(is_closed);
            let reported = report(&shop, &rows(&listed));
            prop_assert_eq!(reported.is_err(), is_refused, "{:?}", reported);
            if is_refused {
                continue;
            }
            for day in days {
                let place = (day.package, day.day);
                let was_final = known.get(&place).is_some_and(|(_, _, is_final)| *is_final);
                known.insert(place, (day.impressions, day.cents, day.is_final || was_final));
            }
        }
        let answer = asked(&shop, json!({"include_package_daily_breakdown": true}));
        let shown = &answer["media_buy_deliveries"][0];
        let impressions: u64 = known.values().map(|(impressions, _, _)| *impressions).sum();
        let cents: u32 = known.values().map(|(_, cents, _)| *cents).sum();
        let sum = |rows: &Value, name: &str| -> f64 {
            rows.as_array().unwrap().iter().map(|row| row[name].as_f64().unwrap()).sum()
        };
        let expected = [
            ("impressions", f64::from(u32::try_from(impressions).unwrap())),
            ("spend", f64::from(cents) / 100.0),
        ];
        for (name, expected) in expected {
            for total in [
                shown["totals"][name].as_f64().unwrap(),
                sum(&shown["by_package"], name),
                sum(&shown["daily_breakdown"], name),
            ] {
                prop_assert!((total - expected).abs() < 0.000_1, "{total} and {expected}: {shown}");
            }
        }
    }
}
