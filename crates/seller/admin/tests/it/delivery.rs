//! Delivery that people report: who may, what stands in the record, and that one bad row stores nothing.

use jiff::civil::date;
use tradepost_admin::delivery::{DeliveryRefusal, ReportDelivery, report_delivery};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_dealer::staff::StaffRole;
use tradepost_document::json::{Map, json};
use tradepost_publisher::buy::report::BuyDelivery;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::staff::reported::{ReportedBuy, ReportedDay, RowProblem};
use tradepost_publisher::store::{StoreRead, StoreTx};
use tradepost_publisher::test_controller::forced_buy;

use crate::publisher::{GAZETTE, gazette};
use crate::{TestEnv, member, now};

/// A row of the only package, on a day of April.
fn row(day: i8, impressions: u64) -> ReportedDay {
    ReportedDay {
        row: 1,
        media_buy_id: Some("mb_1".to_owned()),
        package_id: None,
        line_item_id: None,
        day: date(2026, 4, day),
        impressions,
        clicks: None,
        completed_views: None,
        spend: MoneyAmount::whole(1),
        currency: None,
        is_final: false,
        is_correction: false,
    }
}

/// Sells something for April.
fn sell(env: &TestEnv) {
    let members = |document: tradepost_document::json::Value| -> Map {
        document.as_object().cloned().unwrap()
    };
    let fixture = members(json!({
        "start_time": "2026-04-01T00:00:00Z", "end_time": "2026-05-01T00:00:00Z",
        "packages": [{"package_id": "pkg_1", "budget": 500}],
    }));
    let sold = env.store.write_for_publisher(GAZETTE, move |tx: &dyn StoreTx| {
        forced_buy::seed(tx, "agent:acme", "acc_1", "mb_1", &fixture, now())
    });
    assert!(sold.is_ok());
}

fn report(
    context: &AdminContext<'_>,
    actor: &Actor,
    days: Vec<ReportedDay>,
) -> Result<Vec<ReportedBuy>, AdminError<DeliveryRefusal>> {
    let publisher = gazette();
    report_delivery(
        context,
        actor,
        ReportDelivery { publisher: &publisher, days, problems: Vec::new() },
    )
}

/// Impressions that are stored in all.
fn stored(env: &TestEnv) -> MoneyAmount {
    let mut found = None;
    let mut read = |reader: &dyn StoreRead| found = reader.find::<BuyDelivery>("mb_1").unwrap();
    env.store.read_for_publisher(GAZETTE, &mut read).unwrap();
    let delivery = found.map(|kept| kept.thing).unwrap_or_default();
    delivery.reports.iter().filter_map(|report| report.figures.get("impressions").copied()).sum()
}

#[test]
fn people_report_within_their_role_and_each_change_is_recorded() {
    let env = TestEnv::new();
    let context = env.context();
    sell(&env);
    let of = |name: &str, role| Actor::from_member(&member(name, role, Some(GAZETTE)));
    let sam = of("sam", StaffRole::Seller);
    let amy = of("amy", StaffRole::Approver);
    let viewer = of("vic", StaffRole::Viewer);
    let refused = report(&context, &viewer, vec![row(1, 10)]);
    assert!(matches!(refused, Err(AdminError::Forbidden(_))), "{refused:?}");
    let done =
        report(&context, &sam, vec![row(1, 10), ReportedDay { is_final: true, ..row(2, 20) }]);
    assert_eq!(done.unwrap().first().map(|buy| (buy.changed, buy.finalized)), Some((2, 1)));
    // The same again changes nothing, and is no entry.
    report(&context, &sam, vec![row(1, 10)]).unwrap();
    let correction = || ReportedDay { is_correction: true, is_final: true, ..row(2, 18) };
    let forbidden = report(&context, &sam, vec![correction()]);
    assert!(matches!(forbidden, Err(AdminError::Forbidden(_))), "{forbidden:?}");
    report(&context, &amy, vec![correction()]).unwrap();
    assert_eq!(stored(&env), MoneyAmount::whole(28));
    assert_eq!(
        env.record(GAZETTE),
        [
            "vic access_refused - report-delivery needs another role than viewer",
            "sam delivery_reported mb_1 2 days changed, 1 made final, 0 final ones corrected",
            "sam access_refused - correct-delivery needs another role than seller",
            "amy delivery_reported mb_1 1 days changed, 0 made final, 1 final ones corrected",
        ]
    );
}

#[test]
fn one_bad_row_stores_and_records_nothing() {
    let env = TestEnv::new();
    let context = env.context();
    sell(&env);
    let bad = ReportedDay { row: 2, day: date(2026, 3, 31), ..row(1, 7) };
    let refused = report(&context, &Actor::operator("cli:egon"), vec![row(1, 7), bad]);
    let Err(AdminError::Refused(DeliveryRefusal::Problems(problems))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(problems.iter().map(|problem| problem.row).collect::<Vec<_>>(), [2]);
    let publisher = gazette();
    let unread = RowProblem::from_row(9, "cannot be read", "write it again");
    let input =
        ReportDelivery { publisher: &publisher, days: vec![row(1, 7)], problems: vec![unread] };
    assert!(report_delivery(&context, &Actor::operator("cli:egon"), input).is_err());
    assert_eq!(stored(&env), MoneyAmount::ZERO);
    assert_eq!(env.record(GAZETTE), Vec::<String>::new());
}
