//! `get_products`: briefs, wholesale and filters.

use std::time::Duration;

use expect_test::{Expect, expect};
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpRelease;
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Map, Value, json};
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::services::{Stale, Supply, Unavailable};
use tradepost_publisher::task::finish::TaskFinisher;

use crate::support::{Harness, compare, profile, schemas};

/// A harness for The Gazette.
pub(crate) fn gazette() -> Harness {
    Harness::from_profile(PublisherProfile { catalogue: demo::catalogue(), ..profile() })
}

/// The answer's document, which fits the published schema.
pub(crate) fn fitting(harness: &Harness, tool: AdcpTool, arguments: Value) -> Value {
    let document = harness.ask(tool, arguments).document();
    let found = schemas::violations(AdcpRelease::V3_1, tool, &document);
    assert_eq!(found, Vec::<String>::new(), "{document:#}");
    document
}

fn products(harness: &Harness, arguments: Value) -> Value {
    fitting(harness, AdcpTool::GetProducts, arguments)
}

/// The ids of the products, in order, with why each is there.
fn found(document: &Value) -> String {
    let products = document["products"].as_array().cloned().unwrap_or_default();
    let line = |product: &Value| {
        let relevance = product["brief_relevance"].as_str().unwrap_or_default();
        format!("{}: {relevance}\n", product["product_id"].as_str().unwrap())
    };
    products.iter().map(line).collect()
}

fn ids(document: &Value) -> Vec<String> {
    let products = document["products"].as_array().cloned().unwrap_or_default();
    products.iter().map(|product| product["product_id"].as_str().unwrap().to_owned()).collect()
}

fn code(document: &Value) -> (String, String) {
    let of = |name: &str| document["adcp_error"][name].as_str().unwrap_or_default().to_owned();
    (of("code"), of("field"))
}

#[test]
fn a_brief_finds_what_shares_most_words_with_it() {
    let brief = json!({
        "buying_mode": "brief",
        "brief": "Premium video inventory with measurement guarantees. Q3 flight, $50K.",
    });
    expect![[r#"
        premium_video: It shares with the brief: premium, video, measurement, guarantees.
        gazette_tv: It shares with the brief: premium, video.
        outdoor_video: It shares with the brief: video.
        news_display: It shares no word with the brief; it is shown because it is on offer.
        outdoor_display: It shares no word with the brief; it is shown because it is on offer.
        sports_display_guaranteed: It shares no word with the brief; it is shown because it is on offer.
        daily_podcast: It shares no word with the brief; it is shown because it is on offer.
        native_articles: It shares no word with the brief; it is shown because it is on offer.
        morning_letter: It shares no word with the brief; it is shown because it is on offer.
        front_page_day: It shares no word with the brief; it is shown because it is on offer.
    "#]].assert_eq(&found(&products(&gazette(), brief)));
}

#[test]
fn a_product_is_shown_whole_but_without_the_publishers_terms() {
    let brief = json!({
        "buying_mode": "brief",
        "brief": "podcast",
        "filters": {"channels": ["podcast"], "pricing_currencies": ["EUR"]},
    });
    check(
        &gazette(),
        brief,
        &expect![[r#"
            {
              "status": "completed",
              "message": "1 product fits",
              "products": [
                {
                  "product_id": "daily_podcast",
                  "name": "The Daily Gazette podcast",
                  "description": "A spoken spot at the beginning of the daily news podcast.",
                  "publisher_properties": [
                    {
                      "publisher_domain": "gazette.example",
                      "selection_type": "by_tag",
                      "property_tags": [
                        "podcast"
                      ]
                    }
                  ],
                  "channels": [
                    "podcast"
                  ],
                  "delivery_type": "guaranteed",
                  "format_ids": [
                    {
                      "id": "audio_30s",
                      "agent_url": "https://ads.gazette.example"
                    }
                  ],
                  "pricing_options": [
                    {
                      "pricing_option_id": "cpm_fixed_eur",
                      "pricing_model": "cpm",
                      "currency": "EUR",
                      "fixed_price": 20
                    }
                  ],
                  "reporting_capabilities": {
                    "available_reporting_frequencies": [
                      "daily"
                    ],
                    "expected_delay_minutes": 240,
                    "timezone": "UTC",
                    "supports_webhooks": false,
                    "available_metrics": [
                      "impressions",
                      "spend",
                      "completed_views",
                      "completion_rate"
                    ],
                    "date_range_support": "date_range"
                  },
                  "forecast": {
                    "method": "modeled",
                    "currency": "USD",
                    "forecast_range_unit": "availability",
                    "points": [
                      {
                        "metrics": {
                          "impressions": {
                            "low": 320000,
                            "mid": 400000,
                            "high": 480000
                          }
                        }
                      }
                    ]
                  },
                  "brief_relevance": "It shares with the brief: podcast."
                }
              ],
              "filter_diagnostics": {
                "semantics": "any",
                "total_candidates": 10,
                "excluded_by": {
                  "channels": {
                    "count": 9
                  },
                  "pricing_currencies": {
                    "count": 9
                  }
                }
              },
              "pagination": {
                "has_more": false,
                "total_count": 1
              },
              "cache_scope": "public",
              "wholesale_feed_version": "5faa58763ecea150",
              "adcp_version": "3.1"
            }"#]],
    );
}

/// Compares the whole answer.
fn check(harness: &Harness, arguments: Value, expected: &Expect) {
    products(harness, arguments.clone());
    compare(&harness.ask(AdcpTool::GetProducts, arguments), expected);
}

#[test]
fn filters_leave_out_what_does_not_fit() {
    let harness = gazette();
    let table = [
        (
            json!({"delivery_type": "non_guaranteed", "is_fixed_price": false}),
            "news_display outdoor_display outdoor_video",
        ),
        (json!({"channels": ["ctv", "email"]}), "gazette_tv morning_letter"),
        (json!({"exclusivity": "exclusive"}), "morning_letter front_page_day"),
        (json!({"pricing_currencies": ["EUR"]}), "daily_podcast"),
        (json!({"pricing_currencies": ["EUR"], "is_fixed_price": false}), ""),
        (
            json!({"budget_range": {"max": 900, "currency": "USD"}, "is_fixed_price": true}),
            "daily_podcast native_articles morning_letter",
        ),
        (
            json!({"format_ids": [{"agent_url": "https://ads.gazette.example/", "id": "audio_30s"}]}),
            "daily_podcast",
        ),
        (json!({"format_ids": [{"agent_url": "https://other.example", "id": "audio_30s"}]}), ""),
        (json!({"countries": ["DE"], "channels": ["ctv", "podcast"]}), "daily_podcast"),
        (json!({"video_placement_types": ["instream"]}), "outdoor_video premium_video"),
        (
            json!({"required_metrics": ["completed_views", "clicks"]}),
            "outdoor_video premium_video gazette_tv",
        ),
        (
            json!({"required_performance_standards": [{"metric": "viewability", "threshold": 0.75,
            "standard": "mrc", "vendor": {"domain": "measure.example"}}]}),
            "premium_video",
        ),
        (
            json!({"required_performance_standards": [{"metric": "viewability", "threshold": 0.75,
            "standard": "mrc", "vendor": {"domain": "other.example"}}]}),
            "",
        ),
        (
            json!({"min_exposures": 3_000_000}),
            "news_display outdoor_display sports_display_guaranteed",
        ),
        (json!({"required_features": {"catalog_management": true}}), ""),
        (
            json!({"required_features": {"catalog_management": false}, "channels": ["email"]}),
            "morning_letter",
        ),
    ];
    for (filters, expected) in table {
        let document = products(&harness, json!({"buying_mode": "wholesale", "filters": filters}));
        assert_eq!(ids(&document).join(" "), expected, "{filters}");
    }
}

#[test]
fn what_the_filters_left_out_is_counted() {
    let filters = json!({"channels": ["email"], "delivery_type": "guaranteed"});
    let document = products(&gazette(), json!({"buying_mode": "wholesale", "filters": filters}));
    expect![[r#"
        {
          "semantics": "any",
          "total_candidates": 10,
          "excluded_by": {
            "channels": {
              "count": 9
            },
            "delivery_type": {
              "count": 4
            }
          }
        }"#]]
    .assert_eq(&format!("{:#}", document["filter_diagnostics"]));
}

#[test]
fn sold_out_and_expired_products_are_not_offered() {
    let harness = gazette();
    let all = ids(&products(&harness, json!({"buying_mode": "wholesale"})));
    assert!(!all.iter().any(|id| id == "cup_final_stream" || id == "election_night"), "{all:?}");
    assert_eq!(all.len(), 10);
    // And neither is what the ad server has nothing left of.
    let sold_out = vec!["gazette_tv".to_owned()];
    *harness.services.supply.lock().unwrap() =
        Some(Ok(Supply { sold_out, age_seconds: 0, stale: None }));
    let left = ids(&products(&harness, json!({"buying_mode": "wholesale"})));
    assert_eq!(left.len(), 9);
}

#[test]
fn wholesale_has_pages_and_refuses_cursors_of_other_lists() {
    let harness = gazette();
    let page = |cursor: Option<&str>, filters: Value| {
        let mut pagination = json!({"max_results": 4});
        if let Some(cursor) = cursor {
            pagination["cursor"] = cursor.into();
        }
        let asked =
            json!({"buying_mode": "wholesale", "pagination": pagination, "filters": filters});
        products(&harness, asked)
    };
    let first = page(None, json!({}));
    assert_eq!((ids(&first).len(), &first["pagination"]["total_count"]), (4, &json!(10)));
    let cursor = first["pagination"]["cursor"].as_str().unwrap();
    let second = page(Some(cursor), json!({}));
    let third = page(second["pagination"]["cursor"].as_str(), json!({}));
    assert_eq!((ids(&second).len(), ids(&third).len()), (4, 2));
    assert_eq!(third["pagination"], json!({"has_more": false, "total_count": 10}));
    assert_eq!(first["wholesale_feed_version"], third["wholesale_feed_version"]);
    for (cursor, filters) in
        [(cursor, json!({"channels": ["display"]})), ("nonsense", json!({})), ("0.0", json!({}))]
    {
        let refused = code(&page(Some(cursor), filters));
        assert_eq!(refused, ("INVALID_REQUEST".to_owned(), "pagination.cursor".to_owned()));
    }
}

#[test]
fn a_feed_that_has_not_changed_is_not_sent_again() {
    let harness = gazette();
    let first = products(&harness, json!({"buying_mode": "wholesale"}));
    let version = &first["wholesale_feed_version"];
    let again = json!({"buying_mode": "wholesale", "if_wholesale_feed_version": version});
    check(
        &harness,
        again,
        &expect![[r#"
            {
              "status": "completed",
              "message": "nothing has changed since that version",
              "unchanged": true,
              "wholesale_feed_version": "c2a164e232217346",
              "cache_scope": "public",
              "adcp_version": "3.1"
            }"#]],
    );
    let filtered = json!({"buying_mode": "wholesale", "if_wholesale_feed_version": version,
        "filters": {"channels": ["email"]}});
    assert_eq!(ids(&products(&harness, filtered)), ["morning_letter"]);
}

#[test]
fn only_requested_fields_come_besides_the_required_ones() {
    let asked = json!({"buying_mode": "wholesale", "fields": ["channels"],
        "filters": {"channels": ["ctv"]}});
    let document = products(&gazette(), asked);
    let members: Vec<_> = document["products"][0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        members.join(" "),
        "product_id name description publisher_properties channels delivery_type format_ids \
         pricing_options reporting_capabilities",
    );
}

#[test]
fn what_a_mode_needs_and_forbids_is_said_at_once() {
    let harness = gazette();
    let table = [
        (json!({"buying_mode": "brief"}), "INVALID_REQUEST brief"),
        (json!({"buying_mode": "brief", "brief": "  "}), "INVALID_REQUEST brief"),
        (json!({"buying_mode": "wholesale", "brief": "display"}), "INVALID_REQUEST brief"),
        (json!({"buying_mode": "refine"}), "INVALID_REQUEST refine"),
        (
            json!({"buying_mode": "brief", "brief": "display",
            "refine": [{"scope": "request", "ask": "more"}]}),
            "INVALID_REQUEST refine",
        ),
        (
            json!({"buying_mode": "wholesale", "brief": "x",
            "refine": [{"scope": "request", "ask": "more"}]}),
            "INVALID_REQUEST refine",
        ),
        (
            json!({"buying_mode": "wholesale", "filters": {
            "start_date": "2026-08-01", "end_date": "2026-07-01",
            "budget_range": {"min": 5, "max": 4, "currency": "USD"},
            "keywords": [{"keyword": "shoes"}], "trusted_match": {}}}),
            "UNSUPPORTED_FEATURE filters.keywords, UNSUPPORTED_FEATURE filters.trusted_match, \
          INVALID_REQUEST filters.end_date, INVALID_REQUEST filters.budget_range.max",
        ),
    ];
    for (arguments, expected) in table {
        let document = products(&harness, arguments.clone());
        let errors = document["errors"].as_array().cloned().unwrap_or_default();
        let line = |error: &Value| {
            format!("{} {}", error["code"].as_str().unwrap(), error["field"].as_str().unwrap())
        };
        let errors: Vec<_> = errors.iter().map(line).collect();
        assert_eq!(errors.join(", "), expected, "{arguments}");
    }
}

#[test]
fn a_brief_against_the_policy_is_refused_with_violated_rules() {
    let brief = json!({"buying_mode": "brief", "brief": "Cigars, and a CASINO beside them"});
    check(
        &gazette(),
        brief,
        &expect![[r#"
        {
          "status": "failed",
          "message": "what is to be advertised is against the seller's advertising policy; see details",
          "adcp_error": {
            "code": "POLICY_VIOLATION",
            "message": "what is to be advertised is against the seller's advertising policy; see details",
            "recovery": "correctable",
            "field": "brief",
            "suggestion": "read the policy in details and change the request",
            "details": {
              "policy_id": "tobacco",
              "policy_url": "https://gazette.example/advertising/policy#tobacco",
              "violated_rules": [
                "Tobacco, cigarettes and vaping are not advertised."
              ]
            }
          },
          "errors": [
            {
              "code": "POLICY_VIOLATION",
              "message": "what is to be advertised is against the seller's advertising policy; see details",
              "recovery": "correctable",
              "field": "brief",
              "suggestion": "read the policy in details and change the request",
              "details": {
                "policy_id": "tobacco",
                "policy_url": "https://gazette.example/advertising/policy#tobacco",
                "violated_rules": [
                  "Tobacco, cigarettes and vaping are not advertised."
                ]
              }
            },
            {
              "code": "POLICY_VIOLATION",
              "message": "what is to be advertised is against the seller's advertising policy; see details",
              "recovery": "correctable",
              "field": "brief",
              "suggestion": "read the policy in details and change the request",
              "details": {
                "policy_id": "gambling",
                "policy_url": "https://gazette.example/advertising/policy#gambling",
                "violated_rules": [
                  "Betting and casinos are not advertised."
                ]
              }
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
    // A word within another word violates nothing.
    let fine = json!({"buying_mode": "brief", "brief": "cigarillo-brown hiking boots"});
    assert_eq!(products(&gazette(), fine)["status"], "completed");
}

#[test]
fn an_earlier_answer_of_the_ad_server_is_marked() {
    let harness = gazette();
    let stale = Stale { upstream: "inventory".to_owned(), freshness_target_seconds: 60 };
    let supply = Supply { sold_out: Vec::new(), age_seconds: 240, stale: Some(stale) };
    *harness.services.supply.lock().unwrap() = Some(Ok(supply));
    let document = products(&harness, json!({"buying_mode": "brief", "brief": "display"}));
    assert!(document.get("adcp_error").is_none());
    assert_eq!(document["status"], "completed");
    assert!(!ids(&document).is_empty());
    expect![[r#"
        [
          {
            "code": "STALE_RESPONSE",
            "message": "availability is from an earlier answer, because what knows it cannot be asked",
            "recovery": "transient",
            "suggestion": "use the answer, or ask again later for a fresh one",
            "details": {
              "served_from_cache": true,
              "cache_age_seconds": 240,
              "freshness_target_seconds": 60,
              "upstream": {
                "name": "inventory"
              }
            },
            "severity": "warning"
          }
        ]"#]].assert_eq(&format!("{:#}", document["errors"]));
}

#[test]
fn a_silent_ad_server_is_a_failure_without_its_words() {
    let harness = gazette();
    let brief = || json!({"buying_mode": "brief", "brief": "display"});
    *harness.services.supply.lock().unwrap() =
        Some(Err(Unavailable::Down { retry_after: Some(Duration::from_secs(30)) }));
    check(
        &harness,
        brief(),
        &expect![[r#"
        {
          "status": "failed",
          "message": "the seller cannot ask its ad server for the moment; send the same again",
          "adcp_error": {
            "code": "SERVICE_UNAVAILABLE",
            "message": "the seller cannot ask its ad server for the moment; send the same again",
            "recovery": "transient",
            "suggestion": "retry the same request later, with backoff",
            "retry_after": 30
          },
          "errors": [
            {
              "code": "SERVICE_UNAVAILABLE",
              "message": "the seller cannot ask its ad server for the moment; send the same again",
              "recovery": "transient",
              "suggestion": "retry the same request later, with backoff",
              "retry_after": 30
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
    let setting = "publisher.gazette.upstream.url";
    *harness.services.supply.lock().unwrap() = Some(Err(Unavailable::Misconfigured { setting }));
    check(
        &harness,
        brief(),
        &expect![[r#"
        {
          "status": "failed",
          "message": "the seller's ad server is not set up; the seller's operator has to set it up",
          "adcp_error": {
            "code": "CONFIGURATION_ERROR",
            "message": "the seller's ad server is not set up; the seller's operator has to set it up",
            "recovery": "terminal",
            "suggestion": "tell the people who run the seller"
          },
          "errors": [
            {
              "code": "CONFIGURATION_ERROR",
              "message": "the seller's ad server is not set up; the seller's operator has to set it up",
              "recovery": "terminal",
              "suggestion": "tell the people who run the seller"
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
}

#[test]
fn a_seeded_product_is_completed_and_offered_once_priced() {
    let harness = gazette();
    let partial = json!({"delivery_type": "non_guaranteed", "channels": ["video", "hologram"],
        "format_ids": [{"id": "video_30s"}, {"id": "video_60s"}]});
    let partial: Map = partial.as_object().unwrap().clone();
    let price = json!({"pricing_model": "cpm", "currency": "USD", "floor_price": 15});
    let price = price.as_object().unwrap().clone();
    let only = || {
        json!({"buying_mode": "brief", "brief": "auction",
        "filters": {"channels": ["olv"], "delivery_type": "non_guaranteed"}})
    };
    let publisher = harness.publisher.clone();
    harness.put(move |tx| {
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        TaskFinisher { publisher: &publisher, tx, now }
            .seed_product("seeded_video_auction", &partial)
    });
    assert_eq!(ids(&products(&harness, only())), ["outdoor_video"]);
    let publisher = harness.publisher.clone();
    harness.put(move |tx| {
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        let finisher = TaskFinisher { publisher: &publisher, tx, now };
        assert!(finisher.seed_price("seeded_video_auction", "cpm_auction", &price)?);
        assert!(!finisher.seed_price("no_such_product", "cpm_auction", &price)?);
        Ok(())
    });
    let document = products(&harness, only());
    assert_eq!(ids(&document), ["seeded_video_auction", "outdoor_video"]);
    expect![[r#"
        {
          "product_id": "seeded_video_auction",
          "name": "Seeded video auction",
          "description": "Seeded video auction, for tests.",
          "publisher_properties": [
            {
              "publisher_domain": "gazette.example",
              "selection_type": "all"
            }
          ],
          "delivery_type": "non_guaranteed",
          "pricing_options": [
            {
              "pricing_option_id": "cpm_auction",
              "pricing_model": "cpm",
              "currency": "USD",
              "floor_price": 15,
              "price_guidance": {
                "p25": 15,
                "p50": 18,
                "p75": 22.5
              }
            }
          ],
          "reporting_capabilities": {
            "available_reporting_frequencies": [
              "daily"
            ],
            "expected_delay_minutes": 60,
            "timezone": "UTC",
            "supports_webhooks": false,
            "available_metrics": [
              "impressions",
              "spend",
              "clicks"
            ],
            "date_range_support": "date_range"
          },
          "channels": [
            "olv"
          ],
          "format_ids": [
            {
              "id": "video_30s",
              "agent_url": "https://ads.gazette.example"
            },
            {
              "id": "video_60s",
              "agent_url": "https://ads.gazette.example"
            }
          ],
          "brief_relevance": "It shares with the brief: auction."
        }"#]]
    .assert_eq(&format!("{:#}", document["products"][0]));
    // A format that nobody knew is known now.
    let format = json!({"agent_url": "https://ads.gazette.example", "id": "video_60s"});
    let formats = fitting(&harness, AdcpTool::ListCreativeFormats, json!({"format_ids": [format]}));
    assert_eq!(formats["formats"][0]["format_id"]["id"], "video_60s");
}

#[test]
fn a_list_of_properties_leaves_out_what_runs_elsewhere() {
    let harness = gazette();
    let made = |domain: &str, key: &str| {
        let asked = json!({
            "name": "where it may run",
            "base_properties": [{"selection_type": "identifiers",
                "identifiers": [{"type": "domain", "value": domain}]}],
            "idempotency_key": key,
        });
        let answer = harness.ask(AdcpTool::CreatePropertyList, asked).document();
        answer["list"]["list_id"].as_str().unwrap().to_owned()
    };
    let browse = |id: &str| {
        let list = json!({"agent_url": "https://ads.gazette.example", "list_id": id});
        products(&harness, json!({"buying_mode": "wholesale", "property_list": list}))
    };
    let here = made("gazette.example", "11111111-1111-4111-8111-111111111111");
    let elsewhere = made("other.example", "22222222-2222-4222-8222-222222222222");
    let document = browse(&here);
    assert_eq!((ids(&document).len(), &document["property_list_applied"]), (10, &json!(true)));
    assert_eq!(ids(&browse(&elsewhere)).len(), 0);
    assert_eq!(code(&browse("pl_unknown")), ("REFERENCE_NOT_FOUND".to_owned(), String::new()));
}

#[test]
fn only_an_account_with_its_own_prices_sees_them() {
    let harness = gazette();
    let asked = |operator: &str| {
        let account = json!({"brand": {"domain": "acmeoutdoor.example"}, "operator": operator,
            "billing": "operator"});
        harness.ask(
            AdcpTool::SyncAccounts,
            json!({"accounts": [account],
            "idempotency_key": format!("sync-accounts-{operator}")}),
        );
        let account = json!({"brand": {"domain": "acmeoutdoor.example"}, "operator": operator});
        let document = products(
            &harness,
            json!({"buying_mode": "wholesale", "account": account,
            "filters": {"channels": ["display"], "is_fixed_price": false}}),
        );
        let product = document["products"].as_array().unwrap().iter();
        let mut product = product.filter(|product| product["product_id"] == "outdoor_display");
        let floor = product.next().unwrap()["pricing_options"][0]["floor_price"].clone();
        (floor, document["cache_scope"].clone())
    };
    assert_eq!(asked("northwind-media.example"), (json!(3), json!("account")));
    assert_eq!(asked("pinnacle-agency.example"), (json!(4), json!("public")));
}
