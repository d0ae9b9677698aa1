//! `sync_creatives` and `list_creatives`.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::creative::policy::{CreativePolicy, CreativeReview, Provenance};

use crate::support::script::Script;

mod addresses;
mod kinds;
mod later;
mod provenance;

pub(crate) fn banner(id: &str) -> Value {
    json!({
        "creative_id": id,
        "name": format!("Banner {id}"),
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://cdn.acmeoutdoor.example/a.png", "width": 300,
            "height": 250,
        }},
    })
}

/// A banner that differs in some members.
fn but(id: &str, members: Value) -> Value {
    let mut creative = banner(id);
    for (name, value) in members.as_object().unwrap() {
        creative[name.as_str()] = value.clone();
    }
    creative
}

fn demanding(policy: CreativePolicy) -> Catalogue {
    Catalogue { creatives: policy, ..demo::catalogue() }
}

#[test]
fn a_creative_is_made_kept_changed_and_put_away() {
    let mut script = Script::new();
    let sync = AdcpTool::SyncCreatives;
    script.note("new", sync, json!({"creatives": [banner("one"), banner("two")]}));
    script.note("the same again", sync, json!({"creatives": [banner("one")]}));
    let renamed = json!({"creatives": [but("one", json!({"name": "Another name"}))]});
    script.note("rehearsed", sync, {
        let mut dry_run = renamed.clone();
        dry_run["dry_run"] = json!(true);
        dry_run
    });
    script.note("changed", sync, renamed);
    script.note(
        "only one of them",
        sync,
        json!({
            "creatives": [but("one", json!({"name": "Third"})), banner("three")],
            "creative_ids": ["three"],
        }),
    );
    script.note(
        "the others away",
        sync,
        json!({
            "creatives": [banner("three")], "delete_missing": true,
        }),
    );
    script.note("back again", sync, json!({"creatives": [banner("two")]}));
    script.note(
        "what is there",
        AdcpTool::ListCreatives,
        json!({
            "sort": {"field": "name", "direction": "asc"},
        }),
    );
    script.check(&expect![[r##"
        # new
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "one",
              "action": "created",
              "status": "approved"
            },
            {
              "creative_id": "two",
              "action": "created",
              "status": "approved"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # the same again
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "one",
              "action": "unchanged",
              "status": "approved"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # rehearsed
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "one",
              "action": "updated",
              "status": "approved",
              "changes": [
                "name"
              ]
            }
          ],
          "dry_run": true,
          "replayed": false,
          "adcp_version": "3.1"
        }
        # changed
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "one",
              "action": "updated",
              "status": "approved",
              "changes": [
                "name"
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # only one of them
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "three",
              "action": "created",
              "status": "approved"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # the others away
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "three",
              "action": "unchanged",
              "status": "approved"
            },
            {
              "creative_id": "one",
              "action": "deleted"
            },
            {
              "creative_id": "two",
              "action": "deleted"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # back again
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "two",
              "action": "updated",
              "status": "approved",
              "changes": [
                "status"
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # what is there
        {
          "status": "completed",
          "message": "the creatives that fit",
          "query_summary": {
            "total_matching": 2,
            "returned": 2,
            "filters_applied": [],
            "sort_applied": {
              "field": "name",
              "direction": "asc"
            }
          },
          "pagination": {
            "has_more": false,
            "total_count": 2
          },
          "creatives": [
            {
              "creative_id": "three",
              "name": "Banner three",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "display_300x250"
              },
              "status": "approved",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z",
              "account": {
                "account_id": "acc_1",
                "name": "acmeoutdoor.example c/o pinnacle.example",
                "status": "active",
                "brand": {
                  "domain": "acmeoutdoor.example"
                },
                "operator": "pinnacle.example",
                "billing": "operator",
                "payment_terms": "net_30",
                "account_scope": "operator_brand",
                "sandbox": false
              },
              "assets": {
                "image": {
                  "asset_type": "image",
                  "url": "https://cdn.acmeoutdoor.example/a.png",
                  "width": 300,
                  "height": 250
                }
              },
              "assignments": {
                "assignment_count": 0,
                "assigned_packages": []
              }
            },
            {
              "creative_id": "two",
              "name": "Banner two",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "display_300x250"
              },
              "status": "approved",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z",
              "account": {
                "account_id": "acc_1",
                "name": "acmeoutdoor.example c/o pinnacle.example",
                "status": "active",
                "brand": {
                  "domain": "acmeoutdoor.example"
                },
                "operator": "pinnacle.example",
                "billing": "operator",
                "payment_terms": "net_30",
                "account_scope": "operator_brand",
                "sandbox": false
              },
              "assets": {
                "image": {
                  "asset_type": "image",
                  "url": "https://cdn.acmeoutdoor.example/a.png",
                  "width": 300,
                  "height": 250
                }
              },
              "assignments": {
                "assignment_count": 0,
                "assigned_packages": []
              }
            }
          ],
          "status_summary": {
            "approved": 2
          },
          "format_summary": {
            "display_300x250": 2
          },
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn each_creative_that_cannot_be_taken_is_told_why() {
    // Lenient, so that each row stands for itself; what is good is taken.
    let mut script = Script::new();
    let url = |url: &str| json!({"asset_type": "url", "url": url});
    let image = banner("x")["assets"]["image"].clone();
    script.note("a row for each reason", AdcpTool::SyncCreatives, json!({
        "validation_mode": "lenient",
        "creatives": [
            banner("good"),
            but("unknown-format", json!({"format_id": {"agent_url": "https://ads.gazette.example", "id": "hologram"}})),
            but("no-image", json!({"assets": {"click_url": url("https://acmeoutdoor.example")}})),
            but("wrong-type", json!({"assets": {"image": url("https://acmeoutdoor.example")}})),
            but("too-large", json!({"assets": {"image": {
                "asset_type": "image", "url": "https://cdn.example/a.png", "width": 970, "height": 250,
            }}})),
            but("forbidden-words", json!({"name": "Vape like it is 1999"})),
            but("forbidden-category", json!({"tags": ["summer", "Gambling"]})),
            but("forbidden-landing", json!({"assets": {
                "image": image, "click_url": url("https://win.casino.example/now"),
            }})),
            but("unshown-label", json!({"provenance": {"disclosure": {"required": true, "jurisdictions": [{
                "country": "DE", "regulation": "eu_ai_act_article_50",
                "render_guidance": {"positions": ["audio"]},
            }]}}})),
            banner("good"),
        ],
    }));
    script.check(&expect![[r##"
        # a row for each reason
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "good",
              "action": "created",
              "status": "approved"
            },
            {
              "creative_id": "unknown-format",
              "action": "failed",
              "errors": [
                {
                  "code": "FORMAT_NOT_SUPPORTED",
                  "message": "this seller does not take that format; list_creative_formats shows those it takes",
                  "recovery": "correctable",
                  "field": "creatives[1].format_id",
                  "suggestion": "choose a format that list_creative_formats shows"
                }
              ]
            },
            {
              "creative_id": "no-image",
              "action": "failed",
              "errors": [
                {
                  "code": "VALIDATION_ERROR",
                  "message": "the format requires this asset",
                  "recovery": "correctable",
                  "field": "creatives[2].assets.image",
                  "suggestion": "correct the asset by what list_creative_formats shows"
                }
              ]
            },
            {
              "creative_id": "wrong-type",
              "action": "failed",
              "errors": [
                {
                  "code": "VALIDATION_ERROR",
                  "message": "the format takes another type of asset here",
                  "recovery": "correctable",
                  "field": "creatives[3].assets.image",
                  "suggestion": "correct the asset by what list_creative_formats shows",
                  "details": {
                    "accepted_values": [
                      "image"
                    ]
                  }
                }
              ]
            },
            {
              "creative_id": "too-large",
              "action": "failed",
              "errors": [
                {
                  "code": "VALIDATION_ERROR",
                  "message": "the format takes no asset of this size",
                  "recovery": "correctable",
                  "field": "creatives[4].assets.image.width",
                  "suggestion": "correct the asset by what list_creative_formats shows"
                }
              ]
            },
            {
              "creative_id": "forbidden-words",
              "action": "failed",
              "errors": [
                {
                  "code": "CREATIVE_REJECTED",
                  "message": "the creative goes against an advertising policy of the seller; see details",
                  "recovery": "correctable",
                  "field": "creatives[5].name",
                  "suggestion": "revise the creative according to the seller's advertising policies",
                  "details": {
                    "policy_id": "tobacco",
                    "policy_url": "https://gazette.example/advertising/policy#tobacco",
                    "reasons": [
                      "Tobacco, cigarettes and vaping are not advertised."
                    ]
                  }
                }
              ]
            },
            {
              "creative_id": "forbidden-category",
              "action": "failed",
              "errors": [
                {
                  "code": "CREATIVE_REJECTED",
                  "message": "the creative goes against an advertising policy of the seller; see details",
                  "recovery": "correctable",
                  "field": "creatives[6].tags[1]",
                  "suggestion": "revise the creative according to the seller's advertising policies",
                  "details": {
                    "policy_id": "gambling",
                    "policy_url": "https://gazette.example/advertising/policy#gambling",
                    "reasons": [
                      "Betting and casinos are not advertised."
                    ]
                  }
                }
              ]
            },
            {
              "creative_id": "forbidden-landing",
              "action": "failed",
              "errors": [
                {
                  "code": "CREATIVE_REJECTED",
                  "message": "the creative goes against an advertising policy of the seller; see details",
                  "recovery": "correctable",
                  "field": "creatives[7].assets.click_url.url",
                  "suggestion": "revise the creative according to the seller's advertising policies",
                  "details": {
                    "policy_id": "gambling",
                    "policy_url": "https://gazette.example/advertising/policy#gambling",
                    "reasons": [
                      "Betting and casinos are not advertised."
                    ]
                  }
                }
              ]
            },
            {
              "creative_id": "unshown-label",
              "action": "failed",
              "errors": [
                {
                  "code": "COMPLIANCE_UNSATISFIED",
                  "message": "a disclosure that this creative requires cannot be shown by its format",
                  "recovery": "correctable",
                  "field": "creatives[8].provenance.disclosure.jurisdictions[0].render_guidance",
                  "suggestion": "choose a format that supports the disclosure"
                }
              ]
            },
            {
              "creative_id": "good",
              "action": "failed",
              "errors": [
                {
                  "code": "INVALID_REQUEST",
                  "message": "the same creative stands in the request twice",
                  "recovery": "correctable",
                  "field": "creatives[9].creative_id",
                  "suggestion": "correct what field and issues name and send again"
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn where_provenance_is_demanded_each_gap_has_its_code() {
    let provenance = Provenance {
        required: true,
        digital_source_type: true,
        disclosure: true,
        embedded: true,
        verifiers: Some(vec!["https://verify.example/agent".to_owned()]),
    };
    let mut script = Script::from_catalogue(demanding(CreativePolicy {
        provenance,
        ..demo::catalogue().creatives
    }));
    let layer = |url: &str| {
        json!([{
            "method": "manifest_wrapper", "provider": "Encypher", "verify_agent": {"agent_url": url},
        }])
    };
    let made = |made: Value| json!({"provenance": made});
    script.note(
        "a row for each gap",
        AdcpTool::SyncCreatives,
        json!({
            "validation_mode": "lenient",
            "creatives": [
                banner("nothing"),
                but("empty", made(json!({}))),
                but("unsaid-where", made(json!({
                    "digital_source_type": "digital_creation",
                    "disclosure": {"required": true},
                    "embedded_provenance": layer("https://VERIFY.example:443/agent/"),
                }))),
                but("foreign-verifier", made(json!({
                    "digital_source_type": "digital_creation",
                    "disclosure": {"required": false},
                    "embedded_provenance": layer("https://somebody.example/agent"),
                }))),
                but("good", made(json!({
                    "digital_source_type": "digital_creation",
                    "disclosure": {"required": false},
                    "embedded_provenance": layer("https://verify.example/agent"),
                }))),
            ],
        }),
    );
    script.check(&expect![[r##"
        # a row for each gap
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "nothing",
              "action": "failed",
              "errors": [
                {
                  "code": "PROVENANCE_REQUIRED",
                  "message": "this seller takes no creative without a provenance object",
                  "recovery": "correctable",
                  "field": "creatives[0]",
                  "suggestion": "add a provenance object"
                }
              ]
            },
            {
              "creative_id": "empty",
              "action": "failed",
              "errors": [
                {
                  "code": "PROVENANCE_DIGITAL_SOURCE_TYPE_MISSING",
                  "message": "the provenance does not say by what kind of source the content was made",
                  "recovery": "correctable",
                  "field": "creatives[1].provenance.digital_source_type",
                  "suggestion": "set provenance.digital_source_type"
                },
                {
                  "code": "PROVENANCE_DISCLOSURE_MISSING",
                  "message": "the provenance does not say whether a disclosure is required, and where",
                  "recovery": "correctable",
                  "field": "creatives[1].provenance.disclosure",
                  "suggestion": "set provenance.disclosure, with its jurisdictions"
                },
                {
                  "code": "PROVENANCE_EMBEDDED_MISSING",
                  "message": "the provenance has to be embedded in the content as well",
                  "recovery": "correctable",
                  "field": "creatives[1].provenance.embedded_provenance",
                  "suggestion": "embed the provenance with a provider that the seller accepts"
                }
              ]
            },
            {
              "creative_id": "unsaid-where",
              "action": "failed",
              "errors": [
                {
                  "code": "PROVENANCE_DISCLOSURE_MISSING",
                  "message": "the provenance does not say whether a disclosure is required, and where",
                  "recovery": "correctable",
                  "field": "creatives[2].provenance.disclosure",
                  "suggestion": "set provenance.disclosure, with its jurisdictions"
                }
              ]
            },
            {
              "creative_id": "foreign-verifier",
              "action": "failed",
              "errors": [
                {
                  "code": "PROVENANCE_VERIFIER_NOT_ACCEPTED",
                  "message": "the seller does not ask this verifier; name one of creative_policy.accepted_verifiers, or none",
                  "recovery": "correctable",
                  "field": "creatives[3].provenance.embedded_provenance[0].verify_agent.agent_url",
                  "suggestion": "use a verifier of the seller's accepted_verifiers"
                }
              ]
            },
            {
              "creative_id": "good",
              "action": "created",
              "status": "approved"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn a_strict_sync_does_all_or_nothing() {
    let mut script = Script::new();
    let bad = but("bad", json!({"name": "Casino night"}));
    script.note("one is bad", AdcpTool::SyncCreatives, json!({"creatives": [banner("good"), bad]}));
    script.note("nothing is there", AdcpTool::ListCreatives, json!({}));
    script.note(
        "contradictory",
        AdcpTool::SyncCreatives,
        json!({
            "creatives": [banner("good")], "creative_ids": ["good"], "delete_missing": true,
        }),
    );
    script.check(&expect![[r##"
        # one is bad
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "good",
              "action": "failed",
              "errors": [
                {
                  "code": "VALIDATION_ERROR",
                  "message": "nothing of this sync was done, because other creatives in it failed; correct them, or send validation_mode lenient",
                  "recovery": "correctable",
                  "suggestion": "correct the creatives that failed for other reasons"
                }
              ]
            },
            {
              "creative_id": "bad",
              "action": "failed",
              "errors": [
                {
                  "code": "CREATIVE_REJECTED",
                  "message": "the creative goes against an advertising policy of the seller; see details",
                  "recovery": "correctable",
                  "field": "creatives[1].name",
                  "suggestion": "revise the creative according to the seller's advertising policies",
                  "details": {
                    "policy_id": "gambling",
                    "policy_url": "https://gazette.example/advertising/policy#gambling",
                    "reasons": [
                      "Betting and casinos are not advertised."
                    ]
                  }
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # nothing is there
        {
          "status": "completed",
          "message": "the creatives that fit",
          "query_summary": {
            "total_matching": 0,
            "returned": 0,
            "filters_applied": [],
            "sort_applied": {
              "field": "created_date",
              "direction": "desc"
            }
          },
          "pagination": {
            "has_more": false,
            "total_count": 0
          },
          "creatives": [],
          "status_summary": {},
          "format_summary": {},
          "adcp_version": "3.1"
        }
        # contradictory
        {
          "status": "failed",
          "message": "delete_missing is about the whole library; leave creative_ids out",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "delete_missing is about the whole library; leave creative_ids out",
            "recovery": "correctable",
            "field": "delete_missing",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "delete_missing is about the whole library; leave creative_ids out",
              "recovery": "correctable",
              "field": "delete_missing",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

/// Puts a media buy of `acme` there: the package `running` is delivered now, `held` is paused, and
/// `late` is paused and takes no more creatives.
fn buy(script: &mut Script) {
    script.ask(AdcpTool::SyncCreatives, json!({"creatives": [banner("first")]}));
    let fixture = json!({
        "status": "active", "currency": "USD",
        "start_time": "2026-05-01T00:00:00Z", "end_time": "2026-07-01T00:00:00Z",
        "packages": [
            {"package_id": "running", "product_id": "news_display", "budget": 100.0},
            {"package_id": "held", "product_id": "news_display", "budget": 100.0, "paused": true},
            {
                "package_id": "late", "product_id": "news_display", "budget": 100.0, "paused": true,
                "creative_deadline": "2026-05-30T00:00:00Z",
            },
        ],
    });
    let seeded = script.ask(
        AdcpTool::ComplyTestController,
        json!({
            "scenario": "seed_media_buy", "params": {"media_buy_id": "mb", "fixture": fixture},
        "account": {"brand": {"domain": "test.example"}, "operator": "test.example", "sandbox": true},
        }),
    );
    assert_eq!(seeded["success"], true, "{seeded}");
}

#[test]
fn creatives_are_assigned_to_packages_of_the_caller_alone() {
    let mut script = Script::new();
    buy(&mut script);
    let assign = |creative: &str, package: &str| {
        json!({
            "creatives": [banner("new")], "validation_mode": "lenient",
            "assignments": [{"creative_id": creative, "package_id": package, "weight": 60}],
        })
    };
    let sync = AdcpTool::SyncCreatives;
    script.note("a new one", sync, assign("new", "held"));
    script.note("one of the library", sync, assign("first", "running"));
    script.note("a package that is not there", sync, assign("new", "nowhere"));
    script.note("a creative that is not there", sync, assign("never", "held"));
    let mut strict = assign("new", "nowhere");
    strict["validation_mode"] = json!("strict");
    let own_answer = script.note("strictly", sync, strict.clone());
    strict["assignments"][0]["package_id"] = json!("running");
    // What is another's and what is nobody's are the same (`U-1`).
    let other_answer = script.ask_as("nova", sync, strict);
    assert_eq!(own_answer, other_answer);
    script.note(
        "in delivery",
        sync,
        json!({"creatives": [but("first", json!({"name": "New name"}))]}),
    );
    script.note("listed", AdcpTool::ListCreatives, json!({
        "filters": {"assigned_to_packages": ["running", "held"]}, "fields": ["creative_id", "assignments"],
        "sort": {"direction": "asc"},
    }));
    script.check(&expect![[r##"
        # a new one
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "new",
              "action": "created",
              "status": "approved",
              "assigned_to": [
                "held"
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # one of the library
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "new",
              "action": "unchanged",
              "status": "approved"
            },
            {
              "creative_id": "first",
              "action": "unchanged",
              "status": "approved",
              "assigned_to": [
                "running"
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # a package that is not there
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "new",
              "action": "unchanged",
              "status": "approved",
              "assignment_errors": {
                "nowhere": "an identifier in the request does not resolve to anything of yours"
              }
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # a creative that is not there
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "new",
              "action": "unchanged",
              "status": "approved"
            },
            {
              "creative_id": "never",
              "action": "failed",
              "errors": [
                {
                  "code": "CREATIVE_NOT_FOUND",
                  "message": "an identifier in the request does not resolve to anything of yours",
                  "recovery": "correctable",
                  "field": "assignments",
                  "suggestion": "check creative_id with list_creatives, or register it with sync_creatives"
                }
              ],
              "assignment_errors": {
                "held": "the creative was not taken, so that it is assigned to nothing"
              }
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # strictly
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "PACKAGE_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "field": "assignments",
            "suggestion": "check package_id with get_media_buys"
          },
          "errors": [
            {
              "code": "PACKAGE_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "assignments",
              "suggestion": "check package_id with get_media_buys"
            }
          ],
          "adcp_version": "3.1"
        }
        # in delivery
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "first",
              "action": "failed",
              "errors": [
                {
                  "code": "INVALID_STATE",
                  "message": "the creative is in delivery; pause its packages first, or send a new creative",
                  "recovery": "correctable",
                  "field": "creatives[0]",
                  "suggestion": "read the current state and choose an operation that it permits"
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # listed
        {
          "status": "completed",
          "message": "the creatives that fit",
          "query_summary": {
            "total_matching": 2,
            "returned": 2,
            "filters_applied": [
              "assigned_to_packages"
            ],
            "sort_applied": {
              "field": "created_date",
              "direction": "asc"
            }
          },
          "pagination": {
            "has_more": false,
            "total_count": 2
          },
          "creatives": [
            {
              "creative_id": "first",
              "name": "Banner first",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "display_300x250"
              },
              "status": "approved",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z",
              "assignments": {
                "assignment_count": 1,
                "assigned_packages": [
                  {
                    "package_id": "running",
                    "assigned_date": "2026-06-01T12:00:00Z"
                  }
                ]
              }
            },
            {
              "creative_id": "new",
              "name": "Banner new",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "display_300x250"
              },
              "status": "approved",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z",
              "assignments": {
                "assignment_count": 1,
                "assigned_packages": [
                  {
                    "package_id": "held",
                    "assigned_date": "2026-06-01T12:00:00Z"
                  }
                ]
              }
            }
          ],
          "status_summary": {
            "approved": 2
          },
          "format_summary": {
            "display_300x250": 2
          },
          "adcp_version": "3.1"
        }
    "##]]);
}
