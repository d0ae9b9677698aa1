//! What products demand to know of how creatives were made, and what verifiers say of it.

use std::sync::Arc;

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Map, Value, from_value, json};
use tradepost_publisher::catalogue::{Catalogue, Product, ProductTerms};
use tradepost_publisher::creative::policy::Forbidden;
use tradepost_publisher::profile::{Onboarding, PublisherProfile};
use tradepost_publisher::services::CallError;
use tradepost_publisher::store::{EntityKind, Query, StoreTx, TxEnd};

use super::{banner, but};
use crate::support::script::Script;
use crate::support::{Harness, OnceCallback, profile};

const VERIFIER: &str = "https://verify.example/agent";

/// The demo's catalogue with one more product, of which this policy is published.
fn selling(policy: Value) -> Catalogue {
    let mut catalogue = demo::catalogue();
    let published: Map = from_value(json!({
        "product_id": "disclosed", "name": "Disclosed", "description": "Banners.",
        "delivery_type": "non_guaranteed", "channels": ["display"],
        "format_ids": [{"agent_url": "https://ads.gazette.example", "id": "display_300x250"}],
        "publisher_properties": [{"publisher_domain": "gazette.example", "selection_type": "all"}],
        "pricing_options": [{
            "pricing_option_id": "cpm", "pricing_model": "cpm", "currency": "USD", "fixed_price": 5,
        }],
        "creative_policy": policy,
    }))
    .unwrap();
    catalogue.products.push(Product::new(published, ProductTerms::default()));
    catalogue
}

fn policy() -> Value {
    json!({
        "co_branding": "optional", "landing_page": "any", "templates_available": false,
        "provenance_required": true,
        "accepted_verifiers": [{"agent_url": VERIFIER, "feature_id": "ai_generated"}],
    })
}

/// A banner that claims to be a photograph, at an address.
fn photograph(id: &str, url: &str) -> Value {
    but(
        id,
        json!({
            "assets": {"image": {"asset_type": "image", "url": url, "width": 300, "height": 250}},
            "provenance": {"digital_source_type": "digital_capture"},
        }),
    )
}

/// A publisher in earnest, whose world answers.
fn live(policy: Value) -> Script {
    let catalogue = selling(policy);
    let onboarding = Onboarding { implicit: true, ..Onboarding::default() };
    let harness = Harness::from_profile(PublisherProfile {
        catalogue,
        onboarding,
        sandbox: false,
        ..profile()
    });
    let opened = harness.ask(
        AdcpTool::SyncAccounts,
        json!({"idempotency_key": "the-account-of-acme", "accounts": [{
            "brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example",
            "billing": "operator",
        }]}),
    );
    assert_eq!(opened.document()["accounts"][0]["status"], "active", "{:?}", opened.document());
    Script::at(harness)
}

fn says(script: &Script, answer: Value) {
    let answer = answer.as_object().unwrap().clone();
    script.harness.services.verifiers.lock().unwrap().push(Ok(answer));
}

/// Action, status and code of the first row.
fn row(answer: &Value) -> (&str, &str, &str) {
    let row = &answer["creatives"][0];
    let code = row["errors"][0]["code"].as_str();
    (
        row["action"].as_str().unwrap_or_default(),
        row["status"].as_str().unwrap_or_default(),
        code.unwrap_or_default(),
    )
}

#[test]
fn an_unassigned_creative_is_judged_by_all_products_taking_it() {
    let mut script = live(json!({"provenance_required": true}));
    let sent = |creative: Value| json!({"creatives": [creative]});
    let answer = script.ask(AdcpTool::SyncCreatives, sent(banner("unsaid")));
    assert_eq!(row(&answer), ("failed", "", "PROVENANCE_REQUIRED"), "{answer}");
    let leaderboard = json!({
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_728x90"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://cdn.acmeoutdoor.example/a.png", "width": 728,
            "height": 90,
        }},
    });
    let answer = script.ask(AdcpTool::SyncCreatives, sent(but("another-format", leaderboard)));
    assert_eq!(row(&answer), ("created", "approved", ""), "{answer}");
    let claim = json!({"provenance": {"digital_source_type": "digital_capture"}});
    let answer = script.ask(AdcpTool::SyncCreatives, sent(but("said", claim)));
    assert_eq!(row(&answer), ("created", "approved", ""), "{answer}");
    assert!(script.harness.services.asked.lock().unwrap().is_empty(), "there is no verifier");
}

#[test]
fn a_contradicted_creative_is_refused_in_the_sellers_own_words() {
    let mut script = live(policy());
    says(
        &script,
        json!({
            "results": [{
                "feature_id": "ai_generated", "value": true, "confidence": 0.97,
                "details": {"customer": "somebody-else"},
            }],
            "detail_url": "https://verify.example/reports/7",
            "audit_observations": [{"code": "NOTED", "message": "somebody-else did this"}],
        }),
    );
    script.note(
        "contradicted",
        AdcpTool::SyncCreatives,
        json!({"creatives": [photograph("sunset", "https://cdn.acmeoutdoor.example/sunset.jpg")]}),
    );
    script.check(&expect![[r##"
        # contradicted
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "sunset",
              "action": "failed",
              "errors": [
                {
                  "code": "PROVENANCE_CLAIM_CONTRADICTED",
                  "message": "a verifier that this seller trusts says otherwise about how the content was made; details says what it was asked and what it found",
                  "recovery": "correctable",
                  "field": "creatives[0].provenance.digital_source_type",
                  "suggestion": "correct the claim or replace the creative",
                  "details": {
                    "agent_url": "https://verify.example/agent",
                    "feature_id": "ai_generated",
                    "claimed_value": "digital_capture",
                    "observed_value": true,
                    "confidence": 0.97
                  }
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
    "##]]);
    let asked = script.harness.services.asked.lock().unwrap().clone();
    assert_eq!(
        Value::from(asked.into_iter().map(Value::Object).collect::<Vec<_>>()),
        json!([{
            "creative_manifest": {
                "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
                "assets": {"image": {
                    "asset_type": "image", "url": "https://cdn.acmeoutdoor.example/sunset.jpg",
                    "width": 300, "height": 250,
                }},
                "provenance": {"digital_source_type": "digital_capture"},
            },
            "feature_ids": ["ai_generated"],
        }])
    );
}

#[test]
fn a_verifiers_answer_counts_only_if_sure_and_asked_for() {
    let outcome = |feature: &str, value: Value, confidence: Value| {
        json!({"results": [
            {"feature_id": feature, "value": value, "confidence": confidence},
        ]})
    };
    let approved = ("created", "approved", "");
    let waits = ("created", "pending_review", "");
    let refused = ("failed", "", "PROVENANCE_CLAIM_CONTRADICTED");
    let yes = json!(true);
    for (answer, expected) in [
        (outcome("ai_generated", yes.clone(), json!(0.9)), refused),
        (outcome("ai_generated", yes.clone(), json!(0.89)), approved),
        (outcome("ai_generated", yes.clone(), json!(90)), approved),
        (outcome("ai_generated", yes.clone(), json!("0.95")), approved),
        (outcome("ai_generated", json!("true"), json!(0.95)), approved),
        (outcome("ai_generated", json!(false), json!(0.95)), approved),
        (outcome("another", yes, json!(0.95)), waits),
        (json!({"results": []}), waits),
        (json!({"results": "none"}), waits),
        (json!({"errors": [{"code": "RATE_LIMITED", "message": "later"}]}), waits),
        (json!({}), waits),
    ] {
        let mut script = live(policy());
        let shown = answer.to_string();
        says(&script, answer);
        let photograph = photograph("sunset", "https://cdn.acmeoutdoor.example/sunset.jpg");
        let answer = script.ask(AdcpTool::SyncCreatives, json!({"creatives": [photograph]}));
        assert_eq!(row(&answer), expected, "{shown}: {answer}");
    }
}

#[test]
fn a_silent_verifier_is_not_asked_again_and_people_decide() {
    let mut script = live(policy());
    script.harness.services.verifiers.lock().unwrap().push(Err(CallError::NoAnswer));
    let photograph = photograph("sunset", "https://cdn.acmeoutdoor.example/sunset.jpg");
    let sent = json!({"creatives": [photograph]});
    let answer = script.ask(AdcpTool::SyncCreatives, sent.clone());
    assert_eq!(row(&answer), ("created", "pending_review", ""), "{answer}");
    let answer = script.ask(AdcpTool::SyncCreatives, sent);
    assert_eq!(row(&answer), ("unchanged", "pending_review", ""), "{answer}");
    assert_eq!(script.harness.services.asked.lock().unwrap().len(), 1);
}

#[test]
fn only_verifiers_that_the_publisher_names_are_asked() {
    let mut script = live(policy());
    let named = json!({"provenance": {
        "digital_source_type": "digital_capture",
        "embedded_provenance": [{
            "method": "provenance_markers", "provider": "Somebody",
            "verify_agent": {"agent_url": "https://somebody.example/agent"},
        }],
    }});
    let answer = script.ask(AdcpTool::SyncCreatives, json!({"creatives": [but("own", named)]}));
    assert_eq!(row(&answer), ("failed", "", "PROVENANCE_VERIFIER_NOT_ACCEPTED"), "{answer}");
}

#[test]
fn a_sandbox_asks_nobody_and_tells_tests_what_was_noted() {
    let mut script = Script::from_catalogue(selling(policy()));
    let directed = |id: &str| {
        let url = "https://cdn.acmeoutdoor.example/ai-generated-true.jpg";
        let mut creative = photograph(id, url);
        creative["provenance"] = json!({
            "digital_source_type": "composite_with_trained_algorithmic_media",
            "human_oversight": "directed", "disclosure": {"required": false},
        });
        creative
    };
    script.note(
        "one is contradicted",
        AdcpTool::SyncCreatives,
        json!({"validation_mode": "lenient", "creatives": [
            photograph("made", "https://cdn.acmeoutdoor.example/ai-generated-true.jpg"),
            photograph("taken", "https://cdn.acmeoutdoor.example/ai-generated-false.jpg"),
            directed("directed"),
        ]}),
    );
    let noted = |id: &str| {
        json!({
            "scenario": "query_provenance_audit_observations", "params": {"creative_id": id},
        })
    };
    script.note("noted", AdcpTool::ComplyTestController, noted("directed"));
    script.note("nothing noted", AdcpTool::ComplyTestController, noted("taken"));
    script.note("not there", AdcpTool::ComplyTestController, noted("made"));
    script.note_as("nova", "another's", AdcpTool::ComplyTestController, noted("directed"));
    script.note(
        "what a buyer sees",
        AdcpTool::ListCreatives,
        json!({
            "filters": {"creative_ids": ["directed"]}, "fields": ["creative_id", "status"],
        }),
    );
    script.check(&expect![[r##"
        # one is contradicted
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "made",
              "action": "failed",
              "errors": [
                {
                  "code": "PROVENANCE_CLAIM_CONTRADICTED",
                  "message": "a verifier that this seller trusts says otherwise about how the content was made; details says what it was asked and what it found",
                  "recovery": "correctable",
                  "field": "creatives[0].provenance.digital_source_type",
                  "suggestion": "correct the claim or replace the creative",
                  "details": {
                    "agent_url": "https://verify.example/agent",
                    "feature_id": "ai_generated",
                    "claimed_value": "digital_capture",
                    "observed_value": true,
                    "confidence": 0.95
                  }
                }
              ]
            },
            {
              "creative_id": "taken",
              "action": "created",
              "status": "approved"
            },
            {
              "creative_id": "directed",
              "action": "created",
              "status": "approved"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # noted
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "creative_id": "directed",
          "audit_observations": [
            {
              "code": "OVERSIGHT_DISCLOSURE_CARVEOUT_CLAIMED",
              "severity": "audit-worthy",
              "recovery": "informational",
              "field": "creative_manifest.provenance.disclosure.required",
              "message": "a person is said to have directed or edited it, and no disclosure to be required; keep the claim for an audit",
              "details": {
                "agent_url": "https://verify.example/agent",
                "feature_id": "ai_generated",
                "claimed_value": {
                  "human_oversight": "directed",
                  "disclosure_required": false
                },
                "observed_value": true,
                "confidence": 0.95
              }
            }
          ],
          "adcp_version": "3.1"
        }
        # nothing noted
        {
          "status": "completed",
          "message": "the sandbox did it",
          "success": true,
          "creative_id": "taken",
          "audit_observations": [],
          "adcp_version": "3.1"
        }
        # not there
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "NOT_FOUND",
          "error_detail": "an identifier in params does not resolve to anything of yours",
          "adcp_version": "3.1"
        }
        # another's
        {
          "status": "completed",
          "message": "the sandbox did nothing",
          "success": false,
          "error": "NOT_FOUND",
          "error_detail": "an identifier in params does not resolve to anything of yours",
          "adcp_version": "3.1"
        }
        # what a buyer sees
        {
          "status": "completed",
          "message": "the creatives that fit",
          "query_summary": {
            "total_matching": 1,
            "returned": 1,
            "filters_applied": [
              "creative_ids"
            ],
            "sort_applied": {
              "field": "created_date",
              "direction": "desc"
            }
          },
          "pagination": {
            "has_more": false,
            "total_count": 1
          },
          "creatives": [
            {
              "creative_id": "directed",
              "name": "Banner directed",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "display_300x250"
              },
              "status": "approved",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z"
            }
          ],
          "status_summary": {
            "approved": 1
          },
          "format_summary": {
            "display_300x250": 1
          },
          "adcp_version": "3.1"
        }
    "##]]);
    assert!(script.harness.services.asked.lock().unwrap().is_empty());
}

/// The verifier's word for something that a machine made.
fn by_machine() -> Value {
    json!({"results": [{"feature_id": "ai_generated", "value": true, "confidence": 0.97}]})
}

#[test]
fn answers_about_a_second_row_say_nothing_of_the_first() {
    let mut script = live(policy());
    says(&script, by_machine());
    let first = photograph("sunset", "https://cdn.acmeoutdoor.example/sunset.jpg");
    let honest = json!({"provenance": {"digital_source_type": "trained_algorithmic_media"}});
    let sent = json!({"creatives": [first, but("sunset", honest)], "validation_mode": "lenient"});
    let answer = script.ask(AdcpTool::SyncCreatives, sent);
    assert_eq!(row(&answer), ("failed", "", "PROVENANCE_CLAIM_CONTRADICTED"), "{answer}");
    assert_eq!(script.harness.services.asked.lock().unwrap().len(), 1);
}

#[test]
fn machine_made_content_with_different_claims_goes_to_a_person() {
    let mut script = live(policy());
    says(&script, by_machine());
    let mut mixed = photograph("sunset", "https://cdn.acmeoutdoor.example/sunset.jpg");
    mixed["assets"]["image"]["provenance"] =
        json!({"digital_source_type": "trained_algorithmic_media"});
    let answer = script.ask(AdcpTool::SyncCreatives, json!({"creatives": [mixed]}));
    assert_eq!(row(&answer), ("created", "pending_review", ""), "{answer}");
}

/// A banner of a format that the product of [`selling`] does not take, of whose making nothing is known.
fn leaderboard(id: &str) -> Value {
    let size = json!({
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_728x90"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://cdn.acmeoutdoor.example/a.png", "width": 728,
            "height": 90,
        }},
    });
    but(id, size)
}

/// The same, of which everything is known.
fn declared(id: &str) -> Value {
    let mut known = leaderboard(id);
    known["provenance"] =
        json!({"digital_source_type": "digital_capture", "disclosure": {"required": false}});
    known
}

/// A buy of the product of [`selling`] that shows these creatives.
fn order(creatives: &[&str]) -> Value {
    let assigned: Vec<_> = creatives.iter().map(|id| json!({"creative_id": id})).collect();
    json!({
        "brand": {"domain": "acmeoutdoor.example"},
        "start_time": "2026-07-01T00:00:00Z", "end_time": "2026-08-01T00:00:00Z",
        "packages": [{
            "product_id": "disclosed", "pricing_option_id": "cpm", "budget": 1000,
            "creative_assignments": assigned,
        }],
    })
}

/// The codes of a refusal with their fields, and where in the creative each is about.
fn reasons(answer: &Value) -> Vec<String> {
    let errors = answer["errors"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reason = |error: &Value| {
        let parts = [&error["code"], &error["field"], &error["details"]["creative_field"]];
        parts.map(word).join(" ").trim_end().to_owned()
    };
    errors.map(reason).collect()
}

#[test]
fn a_creative_is_judged_again_when_assigned_to_something_else() {
    let mut script = live(json!({
        "provenance_required": true,
        "provenance_requirements": {
            "require_digital_source_type": true, "require_disclosure_metadata": true,
        },
    }));
    let mut half = leaderboard("half");
    half["provenance"] = json!({"human_oversight": "edited"});
    let sent = json!({"creatives": [leaderboard("unsaid"), half, declared("whole")]});
    let answer = script.ask(AdcpTool::SyncCreatives, sent);
    assert_eq!(row(&answer), ("created", "approved", ""), "{answer}");

    let at = |index: usize| format!("packages[0].creative_assignments[{index}].creative_id");
    let against_half = |field: &str| {
        [
            format!(
                "PROVENANCE_DIGITAL_SOURCE_TYPE_MISSING {field} \
                 creative.provenance.digital_source_type"
            ),
            format!("PROVENANCE_DISCLOSURE_MISSING {field} creative.provenance.disclosure"),
        ]
    };
    let refused = script.ask(AdcpTool::CreateMediaBuy, order(&["unsaid", "half", "whole"]));
    let mut expected = vec![format!("PROVENANCE_REQUIRED {} creative", at(0))];
    expected.extend(against_half(&at(1)));
    assert_eq!(reasons(&refused), expected, "{refused}");

    let bought = script.ask(AdcpTool::CreateMediaBuy, order(&["whole"]));
    let id = bought["media_buy_id"].as_str().unwrap();
    let package = bought["packages"][0]["package_id"].as_str().unwrap();
    let assign = |creatives: Value| {
        let changed = json!({"package_id": package, "creative_assignments": creatives});
        json!({"media_buy_id": id, "packages": [changed]})
    };
    let both = json!([{"creative_id": "whole"}, {"creative_id": "half"}]);
    let refused = script.ask(AdcpTool::UpdateMediaBuy, assign(both));
    assert_eq!(reasons(&refused), against_half(&at(1)), "{refused}");

    let again = json!({
        "creatives": [declared("whole")],
        "assignments": [
            {"creative_id": "unsaid", "package_id": package},
            {"creative_id": "whole", "package_id": package},
        ],
    });
    let refused = script.ask(AdcpTool::SyncCreatives, again.clone());
    assert_eq!(reasons(&refused), ["PROVENANCE_REQUIRED assignments creative"], "{refused}");
    let mut lenient = again;
    lenient["validation_mode"] = json!("lenient");
    let answer = script.ask(AdcpTool::SyncCreatives, lenient);
    assert_eq!(answer["creatives"][0]["assigned_to"], json!([package]), "{answer}");
    let why = answer["creatives"][1]["assignment_errors"][package].as_str().unwrap();
    assert_eq!(why, "this seller takes no creative without a provenance object");
}

#[test]
fn new_assignments_meet_todays_policies_and_earlier_ones_stay() {
    let mut script = live(json!({}));
    let other = but("other", json!({"tags": ["banners"]}));
    let answer =
        script.ask(AdcpTool::SyncCreatives, json!({"creatives": [banner("shown"), other]}));
    assert_eq!(row(&answer), ("created", "approved", ""), "{answer}");
    let bought = script.ask(AdcpTool::CreateMediaBuy, order(&["shown"]));
    let id = &bought["media_buy_id"];
    let package = &bought["packages"][0]["package_id"];

    let mut catalogue = selling(json!({"provenance_required": true}));
    catalogue.creatives.forbidden.push(Forbidden {
        policy_id: "no_banners".to_owned(),
        reason: "banners of this kind are not shown here".to_owned(),
        categories: vec!["banners".to_owned()],
        ..Forbidden::default()
    });
    script.harness.publisher = script.harness.publisher.selling(catalogue);
    let assign = |creatives: Value| {
        let changed = json!({"package_id": package, "creative_assignments": creatives});
        json!({"media_buy_id": id, "packages": [changed]})
    };
    let heavier = json!([{"creative_id": "shown", "weight": 60}]);
    let answer = script.ask(AdcpTool::UpdateMediaBuy, assign(heavier));
    assert_eq!(answer["status"], "completed", "{answer}");
    let both = json!([{"creative_id": "shown"}, {"creative_id": "other"}]);
    let refused = script.ask(AdcpTool::UpdateMediaBuy, assign(both));
    let field = "packages[0].creative_assignments[1].creative_id";
    let expected = [
        format!("PROVENANCE_REQUIRED {field} creative"),
        format!("CREATIVE_REJECTED {field} creative.tags[0]"),
    ];
    assert_eq!(reasons(&refused), expected, "{refused}");
}

#[test]
fn a_verdict_about_what_has_changed_since_is_not_used() {
    let mut script = live(policy());
    says(&script, json!({"results": [{"feature_id": "ai_generated", "value": false}]}));
    let first = photograph("sunset", "https://cdn.acmeoutdoor.example/sunset.jpg");
    let answer = script.ask(AdcpTool::SyncCreatives, json!({"creatives": [first]}));
    assert_eq!(row(&answer), ("created", "approved", ""), "{answer}");

    // Somebody else says meanwhile of the same creative that a machine made it.
    let store = Arc::clone(&script.harness.store);
    let edit = move || {
        let edit = |tx: &dyn StoreTx| {
            for mut record in tx.list(EntityKind::Creative, &Query::default()).unwrap() {
                let provenance = json!({"digital_source_type": "trained_algorithmic_media"});
                record.body["given"]["provenance"] = provenance;
                tx.put(record).unwrap();
            }
            TxEnd::Keep
        };
        // A store in memory runs a job at once.
        drop(store.write(Box::new(edit)));
    };
    *script.harness.services.during_verification.lock().unwrap() =
        Some(OnceCallback(Box::new(edit)));
    says(&script, json!({"results": [{"feature_id": "ai_generated", "value": false}]}));
    let moved = json!({"creatives": [{
        "creative_id": "sunset", "name": "Sunset",
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://cdn.acmeoutdoor.example/moved.jpg",
            "width": 300, "height": 250,
        }},
    }]});
    let answer = script.ask(AdcpTool::SyncCreatives, moved);
    assert_eq!(row(&answer), ("failed", "", "CONFLICT"), "{answer}");
}

/// The code, field and details of the only error of an answer.
fn only(answer: &Value) -> (&str, &str, &Value) {
    let [error] = answer["errors"].as_array().unwrap().as_slice() else { panic!("{answer}") };
    (error["code"].as_str().unwrap(), error["field"].as_str().unwrap(), &error["details"])
}

fn found(value: bool) -> Value {
    json!({"results": [{"feature_id": "ai_generated", "value": value, "confidence": 0.97}]})
}

/// A publisher with a creative that was sent before its product named a verifier, and a buy that shows it.
fn sent_before_anybody_looked() -> (Script, Value) {
    let mut script = live(json!({}));
    let photographs = ["sunset", "harbour"]
        .map(|id| photograph(id, &format!("https://cdn.acmeoutdoor.example/{id}.jpg")));
    let answer = script.ask(AdcpTool::SyncCreatives, json!({"creatives": photographs}));
    assert_eq!(row(&answer), ("created", "approved", ""), "{answer}");
    let bought = script.ask(AdcpTool::CreateMediaBuy, order(&["harbour"]));
    script.harness.publisher = script.harness.publisher.selling(selling(policy()));
    (script, bought)
}

#[test]
fn a_verifier_is_asked_anew_whenever_a_creative_is_assigned() {
    let denied = json!({
        "agent_url": VERIFIER, "feature_id": "ai_generated", "claimed_value": "digital_capture",
        "observed_value": true, "confidence": 0.97,
    });
    let (mut script, bought) = sent_before_anybody_looked();
    let id = &bought["media_buy_id"];
    let package = &bought["packages"][0]["package_id"];
    let update = |creatives: Value| {
        let changed = json!({"package_id": package, "creative_assignments": creatives});
        json!({"media_buy_id": id, "packages": [changed]})
    };
    let both = update(json!([{"creative_id": "harbour"}, {"creative_id": "sunset"}]));
    let sync = json!({"creatives": [photograph("sunset", "https://cdn.acmeoutdoor.example/sunset.jpg")],
        "assignments": [{"creative_id": "sunset", "package_id": package}]});
    let asked = |script: &Script| script.harness.services.asked.lock().unwrap().len();
    for (tool, request, field) in [
        (
            AdcpTool::CreateMediaBuy,
            order(&["sunset"]),
            "packages[0].creative_assignments[0].creative_id",
        ),
        (AdcpTool::UpdateMediaBuy, both.clone(), "packages[0].creative_assignments[1].creative_id"),
        (AdcpTool::SyncCreatives, sync.clone(), "assignments"),
    ] {
        let before = asked(&script);
        says(&script, found(true));
        let answer = script.ask(tool, request);
        assert_eq!(only(&answer), ("PROVENANCE_CLAIM_CONTRADICTED", field, &denied), "{answer}");
        assert_eq!(asked(&script), before + 1, "one question about one creative");
    }
    // What is shown already stays as it was judged, and nobody is asked about it.
    let before = asked(&script);
    let answer = script
        .ask(AdcpTool::UpdateMediaBuy, update(json!([{"creative_id": "harbour", "weight": 60}])));
    assert_eq!(
        (answer["status"].as_str(), asked(&script)),
        (Some("completed"), before),
        "{answer}"
    );

    says(&script, found(false));
    let answer = script.ask(AdcpTool::SyncCreatives, sync);
    assert_eq!(answer["creatives"][0]["assigned_to"], json!([package]), "{answer}");
    // In another buy it is asked about again: a verifier may have learned something.
    says(&script, found(true));
    let answer = script.ask(AdcpTool::CreateMediaBuy, order(&["sunset"]));
    assert_eq!(only(&answer).0, "PROVENANCE_CLAIM_CONTRADICTED", "{answer}");
    says(&script, found(false));
    let answer = script.ask(AdcpTool::CreateMediaBuy, order(&["sunset"]));
    assert_eq!(answer["status"], "completed", "{answer}");
}

#[test]
fn a_silent_verifier_permits_assigning_only_what_goes_to_people() {
    let (mut script, _) = sent_before_anybody_looked();
    let silent = |script: &Script| {
        script.harness.services.verifiers.lock().unwrap().push(Err(CallError::NoAnswer));
    };
    silent(&script);
    let answer = script.ask(AdcpTool::CreateMediaBuy, order(&["sunset"]));
    let field = "packages[0].creative_assignments[0].creative_id";
    assert_eq!((only(&answer).0, only(&answer).1), ("INVALID_STATE", field), "{answer}");
    // Sent under an id of its own it is asked about, and goes to a person where nothing is said.
    silent(&script);
    let again = photograph("again", "https://cdn.acmeoutdoor.example/again.jpg");
    let answer = script.ask(AdcpTool::SyncCreatives, json!({"creatives": [again]}));
    assert_eq!(row(&answer), ("created", "pending_review", ""), "{answer}");
    silent(&script);
    let answer = script.ask(AdcpTool::CreateMediaBuy, order(&["again"]));
    assert_eq!(answer["status"], "completed", "{answer}");
}
