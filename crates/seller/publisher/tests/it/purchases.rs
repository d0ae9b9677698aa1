//! Media buys of proposals: what comes about of one, and what may become of it without another quote.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::proposal::{
    Proposal, ProposalAllocation, ProposalEnvelope, ProposalStatus,
};
use tradepost_publisher::store::{EntityKind, New};

use crate::support::shop::{Shop, errors, package};

/// A shop with proposals of `acme`: committed, a draft, one that has expired and one of products that
/// are no longer sold.
fn shop() -> Shop {
    let shop = Shop::new();
    let now = shop.harness.now;
    let part = |product: &str, percentage| ProposalAllocation {
        product_id: product.to_owned(),
        pricing_option_id: if product == "auction" { "auction" } else { "cpm" }.to_owned(),
        percentage,
        rationale: "it fits".to_owned(),
    };
    let proposal = |id: &str, status, hours, allocations| Proposal {
        proposal_id: id.to_owned(),
        name: "a plan".to_owned(),
        description: "a plan".to_owned(),
        status,
        expires_at: now + SignedDuration::from_hours(hours),
        allocations,
        envelope: ProposalEnvelope {
            currency: "USD".to_owned(),
            budget: Some(MoneyAmount::whole(10_000)),
            minimum: Some(MoneyAmount::whole(2000)),
            end_date: Some("2026-08-31".to_owned()),
            ..ProposalEnvelope::default()
        },
        io_id: Some("io_7".to_owned()),
        bought_as: None,
    };
    let both = || vec![part("display", 70), part("auction", 30)];
    let proposals = [
        proposal("prop_firm", ProposalStatus::Committed, 24, both()),
        proposal("prop_draft", ProposalStatus::Draft, 24, both()),
        proposal("prop_past", ProposalStatus::Committed, -1, both()),
        proposal("prop_gone", ProposalStatus::Committed, 24, vec![part("no-longer-sold", 100)]),
    ];
    shop.harness.put(move |tx| {
        for proposal in &proposals {
            let id = proposal.proposal_id.as_str();
            tx.add(New { id, owner: "agent:acme", account: None, state: "", now }, proposal)?;
        }
        Ok(())
    });
    shop
}

/// The request to buy a proposal for 5000 dollars in July; what `changes` has wins.
fn order(id: &str, changes: Value) -> Value {
    let mut order = json!({
        "packages": null, "proposal_id": id, "total_budget": {"amount": 5000, "currency": "USD"},
    });
    order.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    order
}

#[test]
fn a_committed_proposal_becomes_a_buy_of_its_shares() {
    let shop = shop();
    let accepted = json!({
        "io_acceptance": {"io_id": "io_7", "accepted_at": "2026-06-01T00:00:00Z", "signatory": "ops"},
    });
    let mut answer = shop.create(order("prop_firm", accepted));
    for known in ["valid_actions", "available_actions", "account"] {
        answer.as_object_mut().unwrap().shift_remove(known);
    }
    expect![[r#"
        {
          "status": "completed",
          "message": "the media buy has been created",
          "media_buy_id": "mb_1",
          "media_buy_status": "pending_creatives",
          "revision": 1,
          "currency": "USD",
          "total_budget": 5000,
          "confirmed_at": "2026-06-01T12:00:00Z",
          "packages": [
            {
              "package_id": "pkg_2",
              "product_id": "display",
              "pricing_option_id": "cpm",
              "budget": 3500,
              "start_time": "2026-07-01T00:00:00Z",
              "end_time": "2026-08-01T00:00:00Z",
              "paused": false
            },
            {
              "package_id": "pkg_3",
              "product_id": "auction",
              "pricing_option_id": "auction",
              "budget": 1500,
              "start_time": "2026-07-01T00:00:00Z",
              "end_time": "2026-08-01T00:00:00Z",
              "paused": false
            }
          ],
          "proposal_id": "prop_firm",
          "replayed": false,
          "adcp_version": "3.1"
        }"#]]
    .assert_eq(&tradepost_document::json::to_string_pretty(&answer).unwrap());
}

#[test]
fn what_cannot_be_bought_of_a_proposal_is_said() {
    let shop = shop();
    let budget = |amount: f64, currency: &str| json!({"total_budget": {"amount": amount, "currency": currency}});
    let accepted = |io: &str| {
        json!({
            "io_acceptance": {"io_id": io, "accepted_at": "2026-06-01T00:00:00Z", "signatory": "ops"},
        })
    };
    let mut transcript = String::new();
    for (title, order) in [
        ("a draft", order("prop_draft", json!({}))),
        ("expired", order("prop_past", json!({}))),
        ("unknown", order("prop_none", json!({}))),
        ("no longer sold", order("prop_gone", json!({}))),
        ("too dear", order("prop_firm", budget(12000.01, "USD"))),
        ("another currency", order("prop_firm", budget(5000.0, "EUR"))),
        ("too late", order("prop_firm", json!({"end_time": "2026-09-15T00:00:00Z"}))),
        ("another order", order("prop_firm", accepted("io_8"))),
        ("with packages", order("prop_firm", json!({"packages": [package(json!({}))]}))),
        ("reversed as well", order("prop_draft", json!({"end_time": "2026-06-15T00:00:00Z"}))),
    ] {
        transcript.push_str(&format!("# {title}\n{}", errors(&shop.create(order))));
    }
    expect![[r##"
        # a draft
        {"code":"PROPOSAL_NOT_COMMITTED","message":"the proposal is a draft; finalize it with get_products before buying","recovery":"correctable","field":"proposal_id","suggestion":"finalize it with get_products first"}
        # expired
        {"code":"PROPOSAL_EXPIRED","message":"the proposal was good until a moment that has passed; ask for another","recovery":"correctable","field":"proposal_id","suggestion":"get a fresh proposal with get_products"}
        # unknown
        {"code":"PROPOSAL_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"correctable","field":"proposal_id","suggestion":"finalize again with get_products for a current proposal_id"}
        # no longer sold
        {"code":"PRODUCT_UNAVAILABLE","message":"a product of the proposal is no longer to be had; ask for another proposal","recovery":"correctable","field":"proposal_id","suggestion":"choose another product"}
        # too dear
        {"code":"REQUOTE_REQUIRED","message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal","recovery":"correctable","field":"total_budget","suggestion":"stay within the quote, or get a new one with get_products","details":{"envelope_field":["total_budget"]}}
        # another currency
        {"code":"REQUOTE_REQUIRED","message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal","recovery":"correctable","field":"total_budget","suggestion":"stay within the quote, or get a new one with get_products","details":{"envelope_field":["total_budget"]}}
        # too late
        {"code":"REQUOTE_REQUIRED","message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal","recovery":"correctable","field":"end_time","suggestion":"stay within the quote, or get a new one with get_products","details":{"envelope_field":["end_time"]}}
        # another order
        {"code":"INVALID_REQUEST","message":"this is not the insertion order of the proposal","recovery":"correctable","field":"io_acceptance.io_id","suggestion":"correct what field and issues name and send again"}
        # with packages
        {"code":"INVALID_REQUEST","message":"a proposal has its packages; leave them out, or leave proposal_id out","recovery":"correctable","field":"packages","suggestion":"correct what field and issues name and send again"}
        # reversed as well
        {"code":"INVALID_REQUEST","message":"the end is not after the beginning","recovery":"correctable","field":"end_time","suggestion":"correct what field and issues name and send again"}
        {"code":"PROPOSAL_NOT_COMMITTED","message":"the proposal is a draft; finalize it with get_products before buying","recovery":"correctable","field":"proposal_id","suggestion":"finalize it with get_products first"}
    "##]].assert_eq(&transcript);
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
    // U-1: another tenant's and nobody's are one answer.
    let ask = |id: &str| {
        shop.ask_as(
            "nova",
            AdcpTool::CreateMediaBuy,
            Shop::order(order(
                id,
                json!({
                    "idempotency_key": "one-key-for-both-1",
                }),
            )),
        )
    };
    assert_eq!(ask("prop_firm"), ask("prop_none"));
}

#[test]
fn what_goes_beyond_the_quote_needs_another_one() {
    let shop = shop();
    let answer = shop.create(order("prop_firm", json!({})));
    let id = answer["media_buy_id"].as_str().unwrap();
    let part = |place: usize| answer["packages"][place]["package_id"].clone();
    let more = |place: usize, budget: f64| json!({"package_id": part(place), "budget": budget});
    let before = shop.stored(EntityKind::MediaBuy);
    let mut transcript = String::new();
    for (title, changes) in [
        ("dearer", json!({"packages": [more(0, 9000.0)]})),
        ("longer", json!({"end_time": "2026-08-02T00:00:00Z"})),
        (
            "aimed elsewhere",
            json!({"packages": [
                {"package_id": part(1), "targeting_overlay": {"geo_countries": ["US"]}},
            ]}),
        ),
        ("more packages", json!({"new_packages": [package(json!({"budget": 6000}))]})),
        (
            "all of it",
            json!({
                "end_time": "2026-08-02T00:00:00Z", "packages": [more(0, 9000.0), more(1, 9000.0)],
            }),
        ),
    ] {
        transcript.push_str(&format!("# {title}\n{}", errors(&shop.update(id, changes))));
    }
    expect![[r##"
        # dearer
        {"code":"REQUOTE_REQUIRED","message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal","recovery":"correctable","field":"packages[0].budget","suggestion":"stay within the quote, or get a new one with get_products","details":{"envelope_field":["packages[0].budget"]}}
        # longer
        {"code":"REQUOTE_REQUIRED","message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal","recovery":"correctable","field":"end_time","suggestion":"stay within the quote, or get a new one with get_products","details":{"envelope_field":["end_time"]}}
        # aimed elsewhere
        {"code":"REQUOTE_REQUIRED","message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal","recovery":"correctable","field":"packages[0].targeting_overlay","suggestion":"stay within the quote, or get a new one with get_products","details":{"envelope_field":["packages[0].targeting_overlay"]}}
        # more packages
        {"code":"REQUOTE_REQUIRED","message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal","recovery":"correctable","field":"new_packages","suggestion":"stay within the quote, or get a new one with get_products","details":{"envelope_field":["new_packages"]}}
        # all of it
        {"code":"REQUOTE_REQUIRED","message":"this goes beyond what the price was quoted for; details.envelope_field names what does; stay within it, or ask for another proposal","recovery":"correctable","field":"end_time","suggestion":"stay within the quote, or get a new one with get_products","details":{"envelope_field":["end_time","packages[0].budget","packages[1].budget"]}}
    "##]].assert_eq(&transcript);
    assert_eq!(before, shop.stored(EntityKind::MediaBuy));
    // Within it nothing is asked.
    let answer =
        shop.update(id, json!({"end_time": "2026-07-20T00:00:00Z", "packages": [more(0, 8000.0)]}));
    assert_eq!((&answer["total_budget"], &answer["revision"]), (&json!(9500), &json!(2)));
}

#[test]
fn an_audience_has_to_be_large_enough_for_targeting() {
    let shop = Shop::new();
    let audience = |size: usize| {
        let members: Vec<_> = (0..size).map(|number| format!("digest-{number}")).collect();
        json!({
            "audience_id": "loyal", "given": {}, "members": members, "uploaded": size, "minimum_size": 3,
            "ready_at": "2026-06-01T00:00:00Z", "synced_at": "2026-06-01T00:00:00Z",
        })
    };
    let keep = |size: usize| {
        let now = shop.harness.now;
        let body = audience(size);
        shop.harness.put(move |tx| {
            let audience: tradepost_publisher::audience::StoredAudience =
                tradepost_document::json::from_value(body).unwrap();
            let id = tradepost_publisher::store::own_id("agent:acme", "acc_acme", "loyal");
            tx.add(
                New { id: &id, owner: "agent:acme", account: Some("acc_acme"), state: "", now },
                &audience,
            )
        });
    };
    let aimed = |how: &str| {
        let overlay = json!({how: ["loyal"]});
        shop.create(json!({"packages": [package(json!({"targeting_overlay": overlay}))]}))
    };
    keep(2);
    expect![[r#"
        {"code":"AUDIENCE_TOO_SMALL","message":"the audience is smaller than what can be aimed at; add to it","recovery":"correctable","field":"packages[0].targeting_overlay.audience_include[0]","suggestion":"broaden the targeting or add members","details":{"minimum_size":3,"current_size":2}}
    "#]].assert_eq(&errors(&aimed("audience_include")));
    assert_eq!(aimed("audience_exclude")["status"], "completed");
    keep(3);
    assert_eq!(aimed("audience_include")["status"], "completed");
}

#[test]
fn the_last_day_of_a_proposal_ends_at_midnight() {
    let shop = shop();
    let until = |end: &str| {
        let answer = shop.create(order("prop_firm", json!({"end_time": end})));
        answer["adcp_error"]["details"]["envelope_field"].clone()
    };
    assert_eq!(until("2026-09-01T00:00:01Z"), json!(["end_time"]));
    assert_eq!(until("2026-09-01T00:00:00Z"), Value::Null);
}
