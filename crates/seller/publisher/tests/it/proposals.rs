//! Proposals: drafts for a brief, refining them, and committing to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::profile::{Onboarding, PublisherProfile};
use tradepost_publisher::services::{BoxFuture, Supply};
use tradepost_publisher::store::memory::MemoryPublisherStore;
use tradepost_publisher::store::{EntityKind, Job, PublisherStore, Query, ReadExtent, StoreRead};

use crate::products::{fitting, gazette};
use crate::support::script::Script;
use crate::support::{Harness, profile};

const BRIEF: &str = "Premium video and display across outdoor lifestyle and sports. Q2 flight, \
                     $50K budget. Adults 25-54, US and Canada.";

/// Has the publisher do what has come due.
fn tick(harness: &Harness) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(harness.publisher.tick(harness.now));
}

fn kept_proposals(harness: &Harness) -> usize {
    let listed = harness.store.look(|reader| reader.list(EntityKind::Proposal, &Query::default()));
    let records: Result<Vec<_>, InternalError> = listed;
    records.unwrap().len()
}

fn propose(harness: &Harness) -> Value {
    fitting(harness, AdcpTool::GetProducts, json!({"buying_mode": "brief", "brief": BRIEF}))
}

fn refine(harness: &Harness, entries: Value) -> Value {
    fitting(harness, AdcpTool::GetProducts, json!({"buying_mode": "refine", "refine": entries}))
}

fn id(document: &Value, index: usize) -> String {
    document["proposals"][index]["proposal_id"].as_str().unwrap().to_owned()
}

/// `product percent` for each allocation.
fn shares(proposal: &Value) -> String {
    let line = |part: &Value| {
        format!("{} {}", part["product_id"].as_str().unwrap(), part["allocation_percentage"])
    };
    proposal["allocations"].as_array().unwrap().iter().map(line).collect::<Vec<_>>().join(", ")
}

fn problems(document: &Value) -> String {
    let errors = document["errors"].as_array().cloned().unwrap_or_default();
    let line = |error: &Value| {
        let of = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        format!("{} {}", of("code"), of("field"))
    };
    errors.iter().map(line).collect::<Vec<_>>().join(", ")
}

#[test]
fn shares_of_proposals_for_a_brief_sum_to_a_hundred() {
    let document = propose(&gazette());
    expect![[r#"
        [
          {
            "proposal_id": "prop_1",
            "name": "Balanced plan",
            "description": "The budget over what fits the brief, weighed by how well it fits.",
            "allocations": [
              {
                "product_id": "sports_display_guaranteed",
                "allocation_percentage": 38,
                "pricing_option_id": "cpm_fixed",
                "rationale": "It shares with the brief: display, outdoor, lifestyle, sports.",
                "sequence": 1
              },
              {
                "product_id": "premium_video",
                "allocation_percentage": 31,
                "pricing_option_id": "cpm_fixed",
                "rationale": "It shares with the brief: premium, video, lifestyle.",
                "sequence": 2
              },
              {
                "product_id": "gazette_tv",
                "allocation_percentage": 19,
                "pricing_option_id": "cpm_fixed",
                "rationale": "It shares with the brief: premium, video.",
                "sequence": 3
              },
              {
                "product_id": "native_articles",
                "allocation_percentage": 12,
                "pricing_option_id": "cpc_fixed",
                "rationale": "It shares with the brief: display.",
                "sequence": 4
              }
            ],
            "proposal_status": "draft",
            "expires_at": "2026-06-08T12:00:00Z",
            "total_budget_guidance": {
              "currency": "USD",
              "min": 26316,
              "recommended": 50000,
              "max": 60000
            }
          },
          {
            "proposal_id": "prop_2",
            "name": "Focused plan",
            "description": "The budget on the two products that fit the brief best.",
            "allocations": [
              {
                "product_id": "sports_display_guaranteed",
                "allocation_percentage": 60,
                "pricing_option_id": "cpm_fixed",
                "rationale": "It shares with the brief: display, outdoor, lifestyle, sports.",
                "sequence": 1
              },
              {
                "product_id": "premium_video",
                "allocation_percentage": 40,
                "pricing_option_id": "cpm_fixed",
                "rationale": "It shares with the brief: premium, video, lifestyle.",
                "sequence": 2
              }
            ],
            "proposal_status": "draft",
            "expires_at": "2026-06-08T12:00:00Z",
            "total_budget_guidance": {
              "currency": "USD",
              "min": 6250,
              "recommended": 50000,
              "max": 60000
            }
          }
        ]"#]]
    .assert_eq(&format!("{:#}", document["proposals"]));
    for proposal in document["proposals"].as_array().unwrap() {
        let parts = proposal["allocations"].as_array().unwrap();
        let sum: u64 =
            parts.iter().map(|part| part["allocation_percentage"].as_u64().unwrap()).sum();
        assert_eq!(sum, 100);
    }
}

#[test]
fn the_same_brief_is_answered_with_the_same_proposals() {
    let harness = gazette();
    assert_eq!(propose(&harness)["proposals"], propose(&harness)["proposals"]);
}

#[test]
fn a_small_budget_is_not_divided_below_a_products_minimum() {
    let asked = json!({"buying_mode": "brief", "brief": "Premium video on sports, $3,000"});
    let document = fitting(&gazette(), AdcpTool::GetProducts, asked);
    let proposal = &document["proposals"][0];
    assert!(proposal["total_budget_guidance"]["min"].as_f64().unwrap() <= 3000.0, "{proposal:#}");
    let tiny = json!({"buying_mode": "brief", "brief": "Premium video, $20"});
    let document = fitting(&gazette(), AdcpTool::GetProducts, tiny);
    assert!(document.get("proposals").is_none(), "{document:#}");
}

#[test]
fn a_budget_is_divided_anew_as_asked() {
    let table = [
        ("Shift 60% of budget to CTV. Drop the display product.", "applied"),
        ("Without display", "applied"),
        ("More ctv", "applied"),
        ("100% podcast", "applied"),
        ("Less video and no telepathy", "partial"),
        ("Make it pop", "unable"),
        ("250% video", "unable"),
    ];
    let mut seen = String::new();
    for (ask, status) in table {
        let harness = gazette();
        let first = propose(&harness);
        let entry = json!([{"scope": "proposal", "proposal_id": id(&first, 0), "ask": ask}]);
        let document = refine(&harness, entry);
        assert_eq!(document["refinement_applied"][0]["status"], status, "{ask}");
        assert_eq!(id(&document, 0), id(&first, 0), "it is the same proposal");
        seen += &format!("{ask}\n    {}\n", shares(&document["proposals"][0]));
    }
    expect![[r#"
        Shift 60% of budget to CTV. Drop the display product.
            premium_video 40, gazette_tv 60
        Without display
            premium_video 62, gazette_tv 38
        More ctv
            sports_display_guaranteed 29, premium_video 23, gazette_tv 39, native_articles 9
        100% podcast
            daily_podcast 100
        Less video and no telepathy
            sports_display_guaranteed 53, premium_video 19, gazette_tv 11, native_articles 17
        Make it pop
            sports_display_guaranteed 38, premium_video 31, gazette_tv 19, native_articles 12
        250% video
            sports_display_guaranteed 38, premium_video 31, gazette_tv 19, native_articles 12
    "#]]
    .assert_eq(&seen);
}

#[test]
fn each_entry_is_answered_at_its_place() {
    let harness = gazette();
    let proposed = propose(&harness);
    let document = refine(
        &harness,
        json!([
            {"scope": "request", "ask": "All products must support frequency capping at 3 per day."},
            {"scope": "proposal", "proposal_id": id(&proposed, 0), "ask": "Drop the display product"},
            {"scope": "proposal", "proposal_id": id(&proposed, 1), "action": "omit"},
            {"scope": "product", "product_id": "daily_podcast", "action": "more_like_this"},
            {"scope": "product", "product_id": "outdoor_display", "action": "more_like_this"},
            {"scope": "product", "product_id": "news_display", "action": "omit"},
            {"scope": "product", "product_id": "cup_final_stream"},
            {"scope": "product", "product_id": "outdoor_video", "ask": "add a 16:9 format"},
        ]),
    );
    expect![[r#"
        [
          {
            "scope": "request",
            "status": "unable",
            "notes": "this seller understands shares in percent, more, less and without, each with the name of a channel"
          },
          {
            "scope": "proposal",
            "proposal_id": "prop_1",
            "status": "applied",
            "notes": "the budget is divided as asked"
          },
          {
            "scope": "proposal",
            "proposal_id": "prop_2",
            "status": "applied",
            "notes": "the proposal is left out"
          },
          {
            "scope": "product",
            "product_id": "daily_podcast",
            "status": "partial",
            "notes": "no other product is sold on the same channels"
          },
          {
            "scope": "product",
            "product_id": "outdoor_display",
            "status": "applied",
            "notes": "products on the same channels follow it"
          },
          {
            "scope": "product",
            "product_id": "news_display",
            "status": "applied",
            "notes": "the product is left out"
          },
          {
            "scope": "product",
            "product_id": "cup_final_stream",
            "status": "unable",
            "notes": "the product is sold out, or a filter of this request leaves it out"
          },
          {
            "scope": "product",
            "product_id": "outdoor_video",
            "status": "partial",
            "notes": "the product is included as it is sold; it is not changed by asking"
          }
        ]"#]].assert_eq(&format!("{:#}", document["refinement_applied"]));
    let products = document["products"].as_array().unwrap();
    let ids: Vec<_> =
        products.iter().map(|product| product["product_id"].as_str().unwrap()).collect();
    assert!(!ids.contains(&"news_display") && !ids.contains(&"cup_final_stream"), "{ids:?}");
    assert_eq!(document["proposals"].as_array().unwrap().len(), 1);
}

#[test]
fn a_finalized_proposal_is_committed_until_its_hold_ends() {
    let harness = gazette();
    let proposed = propose(&harness);
    let finalize = || {
        json!([
            {"scope": "proposal", "proposal_id": id(&proposed, 0), "action": "finalize"},
        ])
    };
    let document = refine(&harness, finalize());
    let committed = &document["proposals"][0];
    assert_eq!(committed["proposal_status"], "committed");
    assert_eq!(committed["expires_at"], "2026-06-03T12:00:00Z");
    assert!(committed["insertion_order"]["io_id"].is_string());
    assert_eq!(shares(committed), shares(&proposed["proposals"][0]));
    // Once more is no second hold.
    let again = refine(&harness, finalize());
    assert_eq!(again["proposals"], document["proposals"]);
    assert_eq!(again["refinement_applied"][0]["status"], "applied");
}

#[test]
fn a_committed_proposal_stays_when_another_is_made_of_it() {
    let harness = gazette();
    let proposed = propose(&harness);
    let entry = |action: &str| {
        json!([
            {"scope": "proposal", "proposal_id": id(&proposed, 0), "action": action, "ask": "more ctv"},
        ])
    };
    let committed = refine(&harness, entry("finalize"));
    let next = refine(&harness, entry("include"));
    assert_ne!(id(&next, 0), id(&committed, 0));
    assert_eq!(next["proposals"][0]["proposal_status"], "draft");
    assert_eq!(refine(&harness, entry("finalize"))["proposals"], committed["proposals"]);
}

#[test]
fn finalizing_stands_alone() {
    let harness = gazette();
    let proposed = propose(&harness);
    let first = id(&proposed, 0);
    let second = id(&proposed, 1);
    let finalize = |id: &str| json!({"scope": "proposal", "proposal_id": id, "action": "finalize"});
    let table = [
        (
            json!([finalize(&first), {"scope": "request", "ask": "Also more CTV"}]),
            "INVALID_REQUEST refine[1]",
        ),
        (
            json!([{"scope": "proposal", "proposal_id": first}, finalize(&second)]),
            "INVALID_REQUEST refine[0]",
        ),
        (
            json!([{"scope": "product", "product_id": "news_display", "action": "finalize"}]),
            "INVALID_REQUEST refine[0]",
        ),
        (json!([finalize(&first), finalize(&first)]), "INVALID_REQUEST refine[1].proposal_id"),
        (json!([finalize(&first), finalize(&second)]), "MULTI_FINALIZE_UNSUPPORTED refine"),
        (
            json!([finalize(&first), finalize("prop_unknown")]),
            "PROPOSAL_NOT_FOUND refine[1].proposal_id",
        ),
    ];
    for (entries, expected) in table {
        assert_eq!(problems(&refine(&harness, entries.clone())), expected, "{entries}");
    }
    // Nothing was committed by any of them.
    assert_eq!(propose(&harness)["proposals"], proposed["proposals"]);
}

#[test]
fn proposals_without_guaranteed_inventory_in_common_are_finalized_together() {
    let harness = gazette();
    let ask = |brief: &str| {
        fitting(&harness, AdcpTool::GetProducts, json!({"buying_mode": "brief", "brief": brief}))
    };
    let one = ask("podcast audio");
    let other = ask("newsletter subscribers");
    let document = refine(
        &harness,
        json!([
            {"scope": "proposal", "proposal_id": id(&one, 0), "action": "finalize"},
            {"scope": "proposal", "proposal_id": id(&other, 0), "action": "finalize"},
        ]),
    );
    assert_eq!(document["proposals"][0]["proposal_status"], "committed");
    assert_eq!(document["proposals"][1]["proposal_status"], "committed");
}

#[test]
fn every_reference_that_does_not_resolve_is_named() {
    let harness = gazette();
    let document = refine(
        &harness,
        json!([
            {"scope": "proposal", "proposal_id": "prop_unknown", "ask": "more video"},
            {"scope": "product", "product_id": "no_such_product"},
            {"scope": "product", "product_id": "election_night"},
        ]),
    );
    assert_eq!(
        problems(&document),
        "PROPOSAL_NOT_FOUND refine[0].proposal_id, PRODUCT_NOT_FOUND refine[1].product_id, \
         PRODUCT_EXPIRED refine[2].product_id",
    );
}

#[test]
fn another_buyers_proposal_and_none_are_the_same() {
    let harness = gazette();
    let proposed = propose(&harness);
    let asked = |id: &str| {
        json!({"buying_mode": "refine", "refine": [
            {"scope": "proposal", "proposal_id": id, "action": "finalize"},
        ]})
    };
    let probe =
        |id: &str| harness.ask_as(&harness.caller("nova"), AdcpTool::GetProducts, asked(id));
    let foreign = probe(&id(&proposed, 0));
    let absent = probe("prop_999");
    assert_eq!(foreign.document(), absent.document());
    harness.check_as(
        "nova",
        AdcpTool::GetProducts,
        asked("prop_999"),
        &expect![[r#"
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "PROPOSAL_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "field": "refine[0].proposal_id",
            "suggestion": "finalize again with get_products for a current proposal_id"
          },
          "errors": [
            {
              "code": "PROPOSAL_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "refine[0].proposal_id",
              "suggestion": "finalize again with get_products for a current proposal_id"
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
}

#[test]
fn a_proposal_expires() {
    let mut harness = gazette();
    let proposed = propose(&harness);
    harness.now = "2026-06-08T12:00:00Z".parse().unwrap();
    let entry =
        json!([{"scope": "proposal", "proposal_id": id(&proposed, 0), "action": "finalize"}]);
    assert_eq!(
        problems(&refine(&harness, entry.clone())),
        "PROPOSAL_EXPIRED refine[0].proposal_id"
    );
    // After another week it is forgotten, and somebody who asks gets a new one.
    harness.now = "2026-06-16T12:00:00Z".parse().unwrap();
    tick(&harness);
    propose(&harness);
    assert_eq!(problems(&refine(&harness, entry)), "PROPOSAL_NOT_FOUND refine[0].proposal_id");
}

#[test]
fn forgotten_drafts_are_removed_though_nobody_asks_again() {
    let mut harness = gazette();
    propose(&harness);
    harness.now = "2026-06-08T12:00:00Z".parse().unwrap();
    tick(&harness);
    assert!(kept_proposals(&harness) > 0, "expired ones are known for a week");
    harness.now = "2026-06-16T12:00:00Z".parse().unwrap();
    tick(&harness);
    assert_eq!(kept_proposals(&harness), 0);
}

#[test]
fn what_has_been_sold_out_since_cannot_be_promised() {
    let harness = gazette();
    let proposed = propose(&harness);
    let product = proposed["proposals"][0]["allocations"][0]["product_id"].as_str().unwrap();
    let supply = Supply { sold_out: vec![product.to_owned()], age_seconds: 0, stale: None };
    *harness.services.supply.lock().unwrap() = Some(Ok(supply));
    let entry =
        json!([{"scope": "proposal", "proposal_id": id(&proposed, 0), "action": "finalize"}]);
    assert_eq!(problems(&refine(&harness, entry)), "PRODUCT_UNAVAILABLE refine[0].proposal_id");
    // Refined, it leaves out what is gone.
    let entry = json!([{"scope": "proposal", "proposal_id": id(&proposed, 0)}]);
    let document = refine(&harness, entry);
    assert_eq!(document["refinement_applied"][0]["status"], "partial");
    assert!(!shares(&document["proposals"][0]).contains(product));
}

/// A store in memory that counts transactions.
#[derive(Debug, Default)]
struct Counted {
    store: MemoryPublisherStore,
    transactions: AtomicUsize,
}

impl PublisherStore for Counted {
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        self.store.read(extent, job)
    }

    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.store.write(job)
    }
}

#[test]
fn a_brief_with_known_proposals_takes_no_transaction() {
    let counted = Arc::new(Counted::default());
    let onboarding = Onboarding { implicit: true, ..Onboarding::default() };
    let profile = PublisherProfile { catalogue: demo::catalogue(), onboarding, ..profile() };
    let mut script = Script::at(Harness::on(profile, counted.clone()));
    let brief = |text: &str| json!({"buying_mode": "brief", "brief": text});
    let mut search = |text: &str| {
        let answer = script.ask(AdcpTool::GetProducts, brief(text));
        (answer, counted.transactions.load(Ordering::Relaxed))
    };
    let (first, opened) = search("display beside hiking stories");
    assert_eq!(opened, 1, "the account is opened and the drafts are kept: {first}");
    let (again, stored) = search("display beside hiking stories");
    assert_eq!((&again, stored), (&first, 1));
    let (other, stored) = search("podcasts and newsletters");
    assert_ne!(other["proposals"], first["proposals"]);
    assert_eq!(stored, 2, "other drafts are kept");
}

#[test]
fn a_publisher_outside_of_the_dollar_makes_proposals() {
    let catalogue = |currency: &str| {
        let price = crate::support::shop::fixed(10.0, currency);
        let terms = tradepost_publisher::catalogue::ProductTerms::default();
        let product = crate::support::shop::product("banner", price, json!({}), terms);
        tradepost_publisher::catalogue::Catalogue { products: vec![product], ..demo::catalogue() }
    };
    for (currency, brief, expected) in [
        ("EUR", "a product for display", Some(json!({"currency": "EUR", "min": 500}))),
        (
            "SEK",
            "a product for display, 90 000 is too much, 20,000 SEK",
            Some(json!({"currency": "SEK", "min": 500, "recommended": 20_000, "max": 24_000})),
        ),
        (
            "CAD",
            "display, $5,000",
            Some(json!({"currency": "CAD", "min": 500, "recommended": 5000, "max": 6000})),
        ),
        ("EUR", "display, US$5,000", None),
    ] {
        let mut script = Script::from_catalogue(catalogue(currency));
        let request = json!({"buying_mode": "brief", "brief": brief});
        let answer = script.ask(AdcpTool::GetProducts, request);
        let guidance = answer["proposals"].as_array().and_then(|all| all.first()).cloned();
        let guidance = guidance.map(|proposal| proposal["total_budget_guidance"].clone());
        assert_eq!(guidance, expected, "{currency}: {brief}");
    }
}

#[test]
fn proposals_are_claimed_where_one_can_be_made() {
    use tradepost_publisher::catalogue::{Catalogue, ProductTerms};
    let product = |approval: bool| {
        let terms = ProductTerms { approval, ..ProductTerms::default() };
        let price = crate::support::shop::fixed(10.0, "EUR");
        crate::support::shop::product("banner", price, json!({}), terms)
    };
    for (approval, is_claimed) in [(false, true), (true, false)] {
        let catalogue = Catalogue { products: vec![product(approval)], ..demo::catalogue() };
        let answer =
            Script::from_catalogue(catalogue).ask(AdcpTool::GetAdcpCapabilities, json!({}));
        assert_eq!(answer["media_buy"]["supports_proposals"], is_claimed);
        let specialisms = answer["specialisms"].as_array().unwrap();
        assert_eq!(specialisms.contains(&json!("sales-proposal-mode")), is_claimed);
    }
}
