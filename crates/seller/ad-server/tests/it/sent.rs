//! What the adapters send: deals, which no other test drives, and requests of the contract with their details.

use expect_test::{Expect, expect};
use tradepost_ad_server::AdServerKind;
use tradepost_document::json::{Value, from_str, json};
use tradepost_publisher::ad_server::{DealSpec, RemoteId, RemoteState};
use tradepost_publisher::money::MoneyAmount;

use crate::server::{PreparedAnswer, PreparedServer, adapter};
use crate::specs;

fn check(seen: &[String], expected: &Expect) {
    expected.assert_eq(&(seen.join("\n") + "\n"));
}

#[tokio::test]
async fn a_deal_is_sent_whole_and_closed_by_its_id() {
    let answer = r#"{"version": "1.0", "id": "mb_1/pk_1", "buyerstatus": [{"buyerseatid": "seat-7", "status": 3}]}"#;
    let server = PreparedServer::start(PreparedAnswer::new(200, answer)).await;
    let deals = adapter(AdServerKind::Deals, &format!("{}/deals", server.url));
    let made = deals.put_deal(&specs::deal()).await.unwrap();
    assert_eq!(made.id, RemoteId("mb_1/pk_1".to_owned()));
    assert_eq!(made.state, Some(RemoteState::Ready));
    deals.close_deal(&made.id).await.unwrap();
    check(
        &server.seen(),
        &expect![[r#"
        POST /deals {"id":"mb_1/pk_1","name":"Spring","sellerstatus":0,"origin":"net.example","wseat":["seat-7"],"terms":{"startdate":"2026-12-01T00:00:00Z","enddate":"2026-12-31T00:00:00Z","dealfloor":12,"cur":"EUR","guar":0,"pricetype":3},"ext":{"openrtb":{"id":"mb_1/pk_1","bidfloor":12,"bidfloorcur":"EUR","at":3,"wseat":["seat-7"],"wadomain":["acme.example"]}}}
        POST /deals {"id":"mb_1/pk_1","sellerstatus":4,"origin":"net.example","terms":{}}
    "#]],
    );
}

#[tokio::test]
async fn a_deal_is_rejected_only_by_all_of_its_seats() {
    let table = [
        ([2, 2], Some(RemoteState::Rejected)),
        ([2, 0], Some(RemoteState::PendingApproval)),
        ([1, 2], Some(RemoteState::Ready)),
        ([0, 4], Some(RemoteState::Delivering)),
        ([2, 9], None),
    ];
    for ([one, other], expected) in table {
        let answer = format!(
            r#"{{"id": "mb_1/pk_1", "buyerstatus": [{{"status": {one}}}, {{"status": {other}}}]}}"#
        );
        let server = PreparedServer::start(PreparedAnswer::new(200, answer)).await;
        let deals = adapter(AdServerKind::Deals, &server.url);
        let made = deals.put_deal(&specs::deal()).await.unwrap();
        assert_eq!(made.state, expected, "{one} {other}");
    }
}

#[test]
fn a_paused_deal_says_so_and_keeps_its_terms() {
    let running = tradepost_ad_server::deals::deal_object(&specs::deal(), "ssp.example");
    let paused = DealSpec { is_paused: true, ..specs::deal() };
    let paused = tradepost_ad_server::deals::deal_object(&paused, "ssp.example");
    assert_eq!(paused["sellerstatus"], 1);
    assert_eq!(paused["terms"], running["terms"]);
}

/// The members of `Deal` and `Terms` that the published document (IABTechLab/deal-api, deal1.0.md) has.
#[test]
fn a_deal_has_members_of_the_published_document_only() {
    const DEAL: &[&str] = &[
        "id",
        "name",
        "created",
        "sellerstatus",
        "origin",
        "seller",
        "desc",
        "wseat",
        "bseat",
        "adtypes",
        "auxdata",
        "pubcount",
        "dinventory",
        "terms",
        "inventory",
        "curation",
        "ext",
    ];
    const TERMS: &[&str] = &[
        "startdate",
        "enddate",
        "countries",
        "dealfloor",
        "cur",
        "guar",
        "pricetype",
        "units",
        "totalcost",
        "ext",
    ];
    const OPENRTB: &[&str] = &["id", "bidfloor", "bidfloorcur", "at", "wseat", "wadomain", "ext"];
    let deal = tradepost_ad_server::deals::deal_object(&specs::deal(), "ssp.example");
    let names = |document: &Value| -> Vec<String> {
        document.as_object().unwrap().keys().cloned().collect()
    };
    for (document, known) in
        [(&deal, DEAL), (&deal["terms"], TERMS), (&deal["ext"]["openrtb"], OPENRTB)]
    {
        for name in names(document) {
            assert!(known.contains(&name.as_str()), "{name}");
        }
    }
    for required in ["id", "origin", "terms"] {
        assert!(deal.get(required).is_some(), "{required}");
    }
}

#[tokio::test]
async fn a_status_of_another_deal_is_not_believed() {
    let answer = r#"{"version": "1.0", "id": "mb_2", "buyerstatus": []}"#;
    let server = PreparedServer::start(PreparedAnswer::new(200, answer)).await;
    let deals = adapter(AdServerKind::Deals, &server.url);
    let error = deals.put_deal(&specs::deal()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the ad server's answer could not be read: it is about another deal"
    );
}

#[tokio::test]
async fn a_receiver_of_deals_takes_nothing_else() {
    let server = PreparedServer::start(PreparedAnswer::new(405, "")).await;
    let deals = adapter(AdServerKind::Deals, &server.url);
    let problems = deals.validate(&specs::order(), &[specs::line_item("site/1")]).await.unwrap();
    let problems: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(problems, ["The ad server takes deals only."]);
    deals.create_order(&specs::order()).await.unwrap_err();
    assert_eq!(server.seen(), Vec::<String>::new());
    deals.check().await.unwrap();
}

#[tokio::test]
async fn amounts_keep_their_digits_and_times_their_zone() {
    let answer =
        r#"{"order_id": "o/1", "line_item_id": "l?1", "creative_id": "c#1", "status": "draft"}"#;
    let server = PreparedServer::start(PreparedAnswer::new(200, answer)).await;
    let ad_server = adapter(AdServerKind::Http, &server.url);
    let mut order = specs::order();
    order.budget = from_str::<MoneyAmount>("12345678901234567890.25").unwrap();
    order.start_time = "2026-12-01T00:00:00-05:00".parse().unwrap();
    let made = ad_server.create_order(&order).await.unwrap();
    let mut item = specs::line_item("product/display");
    item.rate = from_str::<MoneyAmount>("0.1").unwrap();
    item.targeting =
        json!({"geo_countries": ["US"], "ext": {"note": 1.10}}).as_object().unwrap().clone();
    let item = ad_server.create_line_item(&made.id, &item).await;
    // The status of a line item is never `draft`.
    item.unwrap_err();
    ad_server.create_creative(&specs::creative()).await.unwrap();
    ad_server.order_state(&made.id).await.unwrap();
    check(
        &server.seen(),
        &expect![[r#"
            POST /v1/orders {"client_request_id":"mb_1","name":"Acme, spring [mb_1]","advertiser_id":"3","trafficker_id":"5","currency":"USD","budget":12345678901234567890.25,"start_time":"2026-12-01T05:00:00Z","end_time":"2026-12-31T05:00:00Z"}
            POST /v1/orders/o%2F1/lineitems {"client_request_id":"mb_1/pk_1","name":"Acme, spring, display [mb_1/pk_1]","product_id":"display","ad_unit_targeting":[],"delivery_type":"guaranteed","pricing":{"model":"cpm","rate":0.1,"currency":"USD"},"budget":17500,"goal":{"unit":"impressions","amount":500000},"start_time":"2026-12-01T05:00:00Z","end_time":"2026-12-31T05:00:00Z","targeting":{"geo_countries":["US"],"ext":{"note":1.1}},"sizes":[{"width":300,"height":250}],"paused":false}
            POST /v1/creatives {"client_request_id":"cr_1@1","name":"Shoe [cr_1@1]","format_id":"display_300x250","advertiser_id":"3","kind":"image","asset_url":"https://assets.example/shoe.png","click_url":"https://acme.example/shoes","width":300,"height":250}
            GET /v1/orders/o%2F1
        "#]],
    );
}
