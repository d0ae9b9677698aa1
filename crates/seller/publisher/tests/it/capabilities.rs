//! `get_adcp_capabilities`, and what holds for every tool.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::json::json;
use tradepost_publisher::profile::{PublisherProfile, RequestSigning, Signing};

use crate::support::{Harness, profile};

#[test]
fn the_context_comes_back_with_every_answer() {
    let harness = Harness::new();
    harness.check(
        AdcpTool::GetAdcpCapabilities,
        json!({"context": {"trace": 1}}),
        &expect![[r#"
            {
              "status": "completed",
              "message": "what this seller can do",
              "adcp": {
                "major_versions": [
                  3
                ],
                "supported_versions": [
                  "3.1",
                  "3.2",
                  "3.0"
                ],
                "idempotency": {
                  "supported": true,
                  "replay_ttl_seconds": 86400
                }
              },
              "supported_protocols": [
                "media_buy",
                "governance"
              ],
              "account": {
                "supported_billing": [
                  "operator",
                  "agent"
                ],
                "require_operator_auth": false,
                "required_for_products": false,
                "account_financials": false,
                "sandbox": true
              },
              "media_buy": {
                "buying_modes": [
                  "brief",
                  "wholesale",
                  "refine"
                ],
                "supports_proposals": false,
                "governance_aware": true,
                "creative_approval_mode": "auto_approve",
                "features": {
                  "inline_creative_management": false,
                  "property_list_filtering": false,
                  "catalog_management": false,
                  "committed_metrics_supported": false
                },
                "execution": {
                  "targeting": {
                    "geo_countries": true
                  }
                },
                "portfolio": {
                  "publisher_domains": [
                    "gazette.example"
                  ]
                }
              },
              "governance": {
                "aggregation_window_days": 30
              },
              "specialisms": [
                "governance-aware-seller",
                "property-lists",
                "governance-spend-authority",
                "governance-delivery-monitor"
              ],
              "experimental_features": [
                "governance.campaign"
              ],
              "compliance_testing": {
                "scenarios": [
                  "force_account_status",
                  "force_creative_status",
                  "force_media_buy_status",
                  "force_session_status",
                  "force_create_media_buy_arm",
                  "force_get_products_arm",
                  "force_get_signals_arm",
                  "force_task_completion",
                  "force_upstream_unavailable",
                  "simulate_delivery",
                  "simulate_budget_spend",
                  "query_provenance_audit_observations",
                  "seed_account",
                  "seed_product",
                  "seed_pricing_option",
                  "seed_creative",
                  "seed_creative_format",
                  "seed_media_buy",
                  "seed_plan"
                ]
              },
              "wholesale_feed_versioning": {
                "supported": true,
                "pricing_version_separate": false,
                "cache_scope_account": false
              },
              "context": {
                "trace": 1
              },
              "adcp_version": "3.1"
            }"#]],
    );
    let unknown = json!({"context": {"trace": 2}, "adcp_version": "9.0"});
    harness.check(AdcpTool::GetAdcpCapabilities, unknown, &expect![[r#"
        {
          "status": "failed",
          "message": "this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version",
          "adcp_error": {
            "code": "VERSION_UNSUPPORTED",
            "message": "this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version",
            "recovery": "correctable",
            "suggestion": "pin one of details.supported_versions",
            "details": {
              "supported_versions": [
                "3.1",
                "3.2",
                "3.0"
              ],
              "supported_majors": [
                3
              ]
            }
          },
          "errors": [
            {
              "code": "VERSION_UNSUPPORTED",
              "message": "this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version",
              "recovery": "correctable",
              "suggestion": "pin one of details.supported_versions",
              "details": {
                "supported_versions": [
                  "3.1",
                  "3.2",
                  "3.0"
                ],
                "supported_majors": [
                  3
                ]
              }
            }
          ],
          "context": {
            "trace": 2
          },
          "adcp_version": "3.1"
        }"#]]);
}

#[test]
fn credentials_in_arguments_are_named_by_place_and_never_repeated() {
    let smuggled = json!({"ext": {"deep": [{"api_key": "sk-hidden"}]}});
    Harness::new().check(AdcpTool::GetAdcpCapabilities, smuggled, &expect![[r#"
        {
          "status": "failed",
          "message": "a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
          "adcp_error": {
            "code": "CREDENTIAL_IN_ARGS",
            "message": "a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
            "recovery": "terminal",
            "field": "ext.deep[0].api_key",
            "suggestion": "send it on the transport instead, and replace it: it may have been logged",
            "issues": [
              {
                "pointer": "/ext/deep/0/api_key",
                "message": "a member of this name holds a credential",
                "keyword": "not"
              }
            ]
          },
          "errors": [
            {
              "code": "CREDENTIAL_IN_ARGS",
              "message": "a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
              "recovery": "terminal",
              "field": "ext.deep[0].api_key",
              "suggestion": "send it on the transport instead, and replace it: it may have been logged",
              "issues": [
                {
                  "pointer": "/ext/deep/0/api_key",
                  "message": "a member of this name holds a credential",
                  "keyword": "not"
                }
              ]
            }
          ],
          "adcp_version": "3.1"
        }"#]]);
}

#[test]
fn whoever_comes_too_often_is_told_when_to_come_back() {
    use tradepost_publisher::services::RateClass;
    let harness = Harness::new();
    *harness.services.full.lock().unwrap() = Some(RateClass::Read);
    harness.check(
        AdcpTool::GetAdcpCapabilities,
        json!({}),
        &expect![[r#"
        {
          "status": "failed",
          "message": "too many requests; wait and send the same again",
          "adcp_error": {
            "code": "RATE_LIMITED",
            "message": "too many requests; wait and send the same again",
            "recovery": "transient",
            "suggestion": "wait for retry_after seconds and send the same request again",
            "retry_after": 7,
            "details": {
              "limit": 60,
              "remaining": 0,
              "window_seconds": 60,
              "scope": "account"
            }
          },
          "errors": [
            {
              "code": "RATE_LIMITED",
              "message": "too many requests; wait and send the same again",
              "recovery": "transient",
              "suggestion": "wait for retry_after seconds and send the same request again",
              "retry_after": 7,
              "details": {
                "limit": 60,
                "remaining": 0,
                "window_seconds": 60,
                "scope": "account"
              }
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
}

#[test]
fn a_publisher_with_products_says_what_it_can_do() {
    let harness = crate::products::gazette();
    let document = crate::products::fitting(&harness, AdcpTool::GetAdcpCapabilities, json!({}));
    let own = |name: &&&str| document.get(**name).is_some();
    let sections = [
        "supported_protocols",
        "account",
        "media_buy",
        "signals",
        "creative",
        "governance",
        "sponsored_intelligence",
        "specialisms",
        "experimental_features",
        "compliance_testing",
        "wholesale_feed_versioning",
    ];
    let shown: tradepost_document::json::Map = sections
        .iter()
        .filter(|name| own(name))
        .map(|name| ((*name).to_owned(), document[*name].clone()))
        .collect();
    expect![[r#"
        {
          "supported_protocols": [
            "media_buy",
            "signals",
            "creative",
            "governance",
            "sponsored_intelligence"
          ],
          "account": {
            "supported_billing": [
              "operator",
              "agent"
            ],
            "require_operator_auth": false,
            "required_for_products": false,
            "account_financials": false,
            "sandbox": true
          },
          "media_buy": {
            "supported_pricing_models": [
              "cpc",
              "cpm",
              "flat_rate"
            ],
            "buying_modes": [
              "brief",
              "wholesale",
              "refine"
            ],
            "supports_proposals": true,
            "governance_aware": true,
            "creative_approval_mode": "auto_approve",
            "features": {
              "inline_creative_management": false,
              "property_list_filtering": false,
              "catalog_management": false,
              "committed_metrics_supported": false
            },
            "execution": {
              "targeting": {
                "geo_countries": true
              }
            },
            "portfolio": {
              "publisher_domains": [
                "gazette.example"
              ],
              "primary_channels": [
                "ctv",
                "display",
                "email",
                "olv",
                "podcast"
              ],
              "primary_countries": [
                "US",
                "CA",
                "GB"
              ],
              "description": "The Gazette is a newspaper of general interest with a television channel, podcasts and newsletters.",
              "advertising_policies": "The Gazette does not carry advertising for tobacco, weapons, gambling or payday loans."
            }
          },
          "signals": {
            "discovery_modes": [
              "brief",
              "wholesale"
            ]
          },
          "creative": {
            "has_creative_library": true,
            "supports_generation": false,
            "supports_transformation": false,
            "supports_evaluator": false,
            "bills_through_adcp": false
          },
          "governance": {
            "aggregation_window_days": 30
          },
          "sponsored_intelligence": {
            "endpoint": {
              "transports": [
                {
                  "type": "mcp",
                  "url": "https://gazette.example/mcp"
                }
              ],
              "preferred": "mcp"
            },
            "capabilities": {
              "modalities": {
                "conversational": true
              },
              "components": {
                "standard": [
                  "text",
                  "link"
                ]
              }
            }
          },
          "specialisms": [
            "sales-non-guaranteed",
            "sales-guaranteed",
            "sales-proposal-mode",
            "governance-aware-seller",
            "signal-owned",
            "property-lists",
            "governance-spend-authority",
            "governance-delivery-monitor",
            "sponsored-intelligence"
          ],
          "experimental_features": [
            "governance.campaign",
            "sponsored_intelligence.core"
          ],
          "compliance_testing": {
            "scenarios": [
              "force_account_status",
              "force_creative_status",
              "force_media_buy_status",
              "force_session_status",
              "force_create_media_buy_arm",
              "force_get_products_arm",
              "force_get_signals_arm",
              "force_task_completion",
              "force_upstream_unavailable",
              "simulate_delivery",
              "simulate_budget_spend",
              "query_provenance_audit_observations",
              "seed_account",
              "seed_product",
              "seed_pricing_option",
              "seed_creative",
              "seed_creative_format",
              "seed_media_buy",
              "seed_plan"
            ]
          },
          "wholesale_feed_versioning": {
            "supported": true,
            "pricing_version_separate": false,
            "cache_scope_account": true
          }
        }"#]].assert_eq(&format!("{:#}", tradepost_document::json::Value::Object(shown)));
}

#[test]
fn protocols_that_are_not_asked_about_are_left_out() {
    let harness = crate::products::gazette();
    let asked = json!({"protocols": ["signals"]});
    let document = crate::products::fitting(&harness, AdcpTool::GetAdcpCapabilities, asked);
    let spoken = ["media_buy", "signals", "creative", "governance", "sponsored_intelligence"];
    assert_eq!(document["supported_protocols"], json!(spoken));
    let mut left_out = spoken.iter().filter(|name| **name != "signals");
    assert!(left_out.all(|name| document.get(name).is_none()));
    assert!(document["signals"].is_object() && document["account"].is_object());
}

#[test]
fn who_demands_signatures_says_so() {
    let requests = Some(RequestSigning::default());
    let signing = Signing { requests, ..Signing::default() };
    let harness = Harness::from_profile(PublisherProfile { signing, ..profile() });
    let document = crate::products::fitting(&harness, AdcpTool::GetAdcpCapabilities, json!({}));
    let specialisms = document["specialisms"].as_array().unwrap();
    assert!(specialisms.contains(&json!("signed-requests")), "{specialisms:?}");
    assert_eq!(document["request_signing"]["supported"], true);
}

/// A claim makes buyers call, so that each follows from what is there to be called for.
#[test]
fn a_protocol_is_claimed_where_it_is_spoken() {
    let claims = |change: &dyn Fn(&mut PublisherProfile)| {
        let mut profile = PublisherProfile { catalogue: demo::catalogue(), ..profile() };
        change(&mut profile);
        let document =
            Harness::from_profile(profile).ask(AdcpTool::GetAdcpCapabilities, json!({})).document();
        let list = |name: &str| {
            let list = document[name].as_array().cloned().unwrap_or_default();
            list.iter().filter_map(|name| name.as_str()).map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        (list("supported_protocols"), list("specialisms"), list("experimental_features"))
    };
    let has = |list: &[String], name: &str| list.iter().any(|known| known == name);
    let (protocols, specialisms, experimental) = claims(&|_| ());
    assert!(has(&protocols, "governance") && has(&protocols, "sponsored_intelligence"));
    for name in ["sales-guaranteed", "sales-proposal-mode", "signal-owned", "property-lists"] {
        assert!(has(&specialisms, name), "{name}");
    }
    assert_eq!(experimental, ["governance.campaign", "sponsored_intelligence.core"]);
    let (protocols, specialisms, experimental) =
        claims(&|profile| profile.catalogue.offerings.clear());
    assert!(!has(&protocols, "sponsored_intelligence"));
    assert!(!has(&specialisms, "sponsored-intelligence"));
    assert_eq!(experimental, ["governance.campaign"]);
    let (protocols, ..) = claims(&|profile| profile.endpoints.clear());
    assert!(!has(&protocols, "sponsored_intelligence"));
    let (_, specialisms, _) = claims(&|profile| {
        profile.catalogue.proposals = None;
        profile.catalogue.signals.clear();
        profile.catalogue.products.retain(|product| !product.is_guaranteed());
    });
    for name in ["sales-guaranteed", "sales-proposal-mode", "signal-owned"] {
        assert!(!has(&specialisms, name), "{name}");
    }
}
