//! `get_signals` and `activate_signal`.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::products::{fitting, gazette};
use crate::support::{Harness, compare};

const AGENT: &str = "https://ads.gazette.example";

fn find(harness: &Harness, arguments: Value) -> Value {
    fitting(harness, AdcpTool::GetSignals, arguments)
}

fn handles(document: &Value) -> String {
    let signals = document["signals"].as_array().cloned().unwrap_or_default();
    let handle = |signal: &Value| signal["signal_agent_segment_id"].as_str().unwrap().to_owned();
    signals.iter().map(handle).collect::<Vec<_>>().join(" ")
}

fn reference(id: &str) -> Value {
    json!({"scope": "signal_source", "signal_source_url": AGENT, "signal_id": id})
}

fn activation(handle: &str, key: &str) -> Value {
    json!({
        "signal_agent_segment_id": handle,
        "destinations": [{"type": "agent", "agent_url": AGENT}],
        "pricing_option_id": "signal_cpm",
        "idempotency_key": key,
    })
}

#[test]
fn a_description_finds_the_signals_that_share_words_with_it() {
    let asked = json!({"signal_spec": "people who read about hiking"});
    compare(
        &gazette().ask(AdcpTool::GetSignals, asked.clone()),
        &expect![[r#"
            {
              "status": "completed",
              "message": "1 signal fits",
              "signals": [
                {
                  "signal_agent_segment_id": "gz_outdoor_readers",
                  "name": "Outdoor readers",
                  "description": "Readers of at least three outdoor or travel stories in 30 days.",
                  "value_type": "binary",
                  "signal_type": "owned",
                  "data_provider": "The Gazette",
                  "coverage_percentage": 18,
                  "pricing_options": [
                    {
                      "pricing_option_id": "signal_cpm",
                      "model": "cpm",
                      "cpm": 1.2,
                      "currency": "USD"
                    }
                  ],
                  "methodology": "observed",
                  "data_sources": [
                    "web_usage"
                  ],
                  "signal_id": {
                    "source": "agent",
                    "agent_url": "https://ads.gazette.example",
                    "id": "gz_outdoor_readers"
                  },
                  "signal_ref": {
                    "scope": "signal_source",
                    "signal_source_url": "https://ads.gazette.example",
                    "signal_id": "gz_outdoor_readers"
                  },
                  "deployments": [
                    {
                      "type": "agent",
                      "agent_url": "https://ads.gazette.example",
                      "is_live": false,
                      "estimated_activation_duration_minutes": 0
                    }
                  ]
                }
              ],
              "pagination": {
                "has_more": false,
                "total_count": 1
              },
              "cache_scope": "public",
              "wholesale_feed_version": "36c1ff673c1064cf",
              "adcp_version": "3.1"
            }"#]],
    );
    find(&gazette(), asked);
}

#[test]
fn signals_are_found_by_reference_by_description_and_with_filters() {
    let harness = gazette();
    let all = "gz_outdoor_readers gz_sports_fans gz_subscribers gz_section gz_car_intenders";
    let table = [
        (json!({"discovery_mode": "wholesale"}), all),
        (json!({"signal_spec": "quantum flapdoodle"}), all),
        (json!({"signal_spec": "sports"}), "gz_sports_fans"),
        (json!({"signal_refs": [reference("gz_section")]}), "gz_section"),
        (
            json!({"signal_refs": [reference("gz_section")], "signal_spec": "sports"}),
            "gz_section gz_sports_fans",
        ),
        (
            json!({"signal_ids": [{"source": "agent", "agent_url": AGENT, "id": "gz_section"}]}),
            "gz_section",
        ),
        (
            json!({"discovery_mode": "wholesale", "countries": ["DE"]}),
            "gz_outdoor_readers gz_sports_fans gz_section",
        ),
        (
            json!({"discovery_mode": "wholesale", "filters": {"max_cpm": 1.5}}),
            "gz_outdoor_readers gz_sports_fans gz_section gz_car_intenders",
        ),
        (
            json!({"discovery_mode": "wholesale", "filters": {"max_percent": 10}}),
            "gz_outdoor_readers gz_sports_fans gz_subscribers gz_section",
        ),
        (
            json!({"discovery_mode": "wholesale", "filters": {"min_coverage_percentage": 20}}),
            "gz_sports_fans gz_section",
        ),
        (json!({"discovery_mode": "wholesale", "filters": {"catalog_types": ["marketplace"]}}), ""),
        (
            json!({"discovery_mode": "wholesale", "filters": {"data_providers": ["The Gazette"]}}),
            all,
        ),
        (
            json!({"discovery_mode": "wholesale",
                "destinations": [{"type": "platform", "platform": "some-dsp"}]}),
            "",
        ),
        (json!({"signal_spec": "sports hiking", "max_results": 1}), "gz_outdoor_readers"),
    ];
    for (arguments, expected) in table {
        assert_eq!(handles(&find(&harness, arguments.clone())), expected, "{arguments}");
    }
}

#[test]
fn an_unknown_reference_alone_is_an_error_otherwise_a_warning() {
    let asked = json!({"signal_refs": [reference("no_such_signal")]});
    compare(
        &gazette().ask(AdcpTool::GetSignals, asked),
        &expect![[r#"
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "SIGNAL_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "field": "signal_refs",
            "suggestion": "check the signal with get_signals"
          },
          "errors": [
            {
              "code": "SIGNAL_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "signal_refs",
              "suggestion": "check the signal with get_signals"
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
    let both = json!({"signal_refs": [reference("no_such_signal"), reference("gz_section")]});
    let document = find(&gazette(), both);
    assert_eq!(handles(&document), "gz_section");
    let warning = &document["errors"][0];
    assert_eq!(
        (&warning["code"], &warning["severity"]),
        (&json!("SIGNAL_NOT_FOUND"), &json!("warning"))
    );
    assert!(document.get("adcp_error").is_none());
}

#[test]
fn signals_come_by_page_and_not_again_when_unchanged() {
    let harness = gazette();
    let page = |cursor: Value| {
        let mut asked = json!({"discovery_mode": "wholesale", "pagination": {"max_results": 3}});
        if !cursor.is_null() {
            asked["pagination"]["cursor"] = cursor;
        }
        find(&harness, asked)
    };
    let first = page(Value::Null);
    let second = page(first["pagination"]["cursor"].clone());
    assert_eq!(handles(&second), "gz_section gz_car_intenders");
    let version = &first["wholesale_feed_version"];
    let again = json!({"discovery_mode": "wholesale", "if_wholesale_feed_version": version});
    assert_eq!(find(&harness, again)["unchanged"], true);
}

#[test]
fn a_signal_is_live_for_whoever_activated_it_until_deactivated() {
    let harness = gazette();
    let key = "11111111-1111-4111-8111-111111111111";
    let activated = harness.ask(AdcpTool::ActivateSignal, activation("gz_sports_fans", key));
    compare(
        &activated,
        &expect![[r#"
        {
          "status": "completed",
          "message": "the signal can be used",
          "deployments": [
            {
              "type": "agent",
              "agent_url": "https://ads.gazette.example",
              "is_live": true,
              "activation_key": {
                "type": "key_value",
                "key": "gz_seg",
                "value": "sports"
              },
              "deployed_at": "2026-06-01T12:00:00Z"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }"#]],
    );
    // The same key has the same effect; another key finds it live and changes nothing.
    fitting(&harness, AdcpTool::ActivateSignal, activation("gz_sports_fans", key));
    let other = "22222222-2222-4222-8222-222222222222";
    let again = fitting(&harness, AdcpTool::ActivateSignal, activation("gz_sports_fans", other));
    assert_eq!(again["deployments"], activated.document()["deployments"]);
    let live = |principal: &str| {
        let asked = json!({"signal_refs": [reference("gz_sports_fans")]});
        let answer =
            harness.ask_as(&harness.caller(principal), AdcpTool::GetSignals, asked).document();
        answer["signals"][0]["deployments"][0]["is_live"].clone()
    };
    assert_eq!((live("acme"), live("nova")), (json!(true), json!(false)));
    let mut over = activation("gz_sports_fans", "33333333-3333-4333-8333-333333333333");
    over["action"] = "deactivate".into();
    let over = fitting(&harness, AdcpTool::ActivateSignal, over);
    assert_eq!(over["deployments"][0]["is_live"], false);
    assert!(over["deployments"][0].get("activation_key").is_none());
    assert_eq!(live("acme"), json!(false));
}

#[test]
fn an_unknown_signal_is_not_activated_and_nothing_is_told() {
    let asked = activation("no-such-signal", "44444444-4444-4444-8444-444444444444");
    compare(
        &gazette().ask(AdcpTool::ActivateSignal, asked),
        &expect![[r#"
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "REFERENCE_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "suggestion": "check the identifier with the task that lists such entities"
          },
          "errors": [
            {
              "code": "REFERENCE_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "suggestion": "check the identifier with the task that lists such entities"
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
}

#[test]
fn every_problem_of_an_activation_is_said_at_once() {
    let mut asked = activation("gz_sports_fans", "55555555-5555-4555-8555-555555555555");
    asked["pricing_option_id"] = "cheaper".into();
    asked["destinations"] = json!([
        {"type": "agent", "agent_url": "https://elsewhere.example"},
        {"type": "agent", "agent_url": AGENT},
        {"type": "platform", "platform": "some-dsp"},
    ]);
    let document = fitting(&gazette(), AdcpTool::ActivateSignal, asked);
    let errors = document["errors"].as_array().unwrap();
    let line = |error: &Value| {
        format!("{} {}", error["code"].as_str().unwrap(), error["field"].as_str().unwrap())
    };
    assert_eq!(
        errors.iter().map(line).collect::<Vec<_>>(),
        [
            "UNSUPPORTED_FEATURE destinations[0]",
            "UNSUPPORTED_FEATURE destinations[2]",
            "INVALID_REQUEST pricing_option_id",
        ],
    );
}
