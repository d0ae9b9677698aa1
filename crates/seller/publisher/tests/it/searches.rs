//! What a sandbox shows of what tests put there, and how searches are answered that take longer.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::support::script::Script;

/// Puts something there.
fn everything(more: Value) -> Value {
    let mut request = json!({"buying_mode": "wholesale"});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

/// The ids of the products in an answer.
fn ids(answer: &Value) -> String {
    let ids = answer["products"].as_array().unwrap().iter();
    ids.map(|product| product["product_id"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_a_fixture_leaves_open_is_filled_at_every_depth() {
    let mut script = Script::new();
    let fixture = json!({
        "publisher_properties": [
            {"publisher_domain": "outdoor.example"},
            {"property_tags": ["news"]},
            {"property_ids": ["front"]},
        ],
        "reporting_capabilities": {"available_metrics": ["impressions"], "timezone": "UTC"},
        "format_ids": [{"agent_url": "https://formats.example", "id": "banner"}],
    });
    script.seed_product("sparse", fixture);
    let answer =
        script.ask(AdcpTool::GetProducts, everything(json!({"pagination": {"max_results": 1}})));
    let shown = &answer["products"][0];
    let shown = json!([shown["publisher_properties"], shown["reporting_capabilities"]]);
    expect![[r#"[[{"publisher_domain":"outdoor.example","selection_type":"all"},{"property_tags":["news"],"publisher_domain":"gazette.example","selection_type":"by_tag"},{"property_ids":["front"],"publisher_domain":"gazette.example","selection_type":"by_id"}],{"available_metrics":["impressions"],"timezone":"UTC","available_reporting_frequencies":["daily"],"expected_delay_minutes":60,"supports_webhooks":false,"date_range_support":"date_range"}]"#]].assert_eq(&shown.to_string());
    let format = json!({"format_ids": [{"agent_url": "https://formats.example", "id": "banner"}]});
    let answer = script.ask(AdcpTool::ListCreativeFormats, format);
    assert_eq!(answer["formats"].as_array().unwrap().len(), 1, "{answer}");
}

#[test]
fn what_a_test_put_there_last_comes_first() {
    let mut script = Script::new();
    script.seed_product("first", json!({}));
    script.seed_product("second", json!({}));
    let answer = script.ask(AdcpTool::GetProducts, everything(json!({})));
    assert!(ids(&answer).starts_with("second first news_display"), "{}", ids(&answer));
}

#[test]
fn a_brief_where_none_belongs_decides_nothing_and_is_remarked() {
    let mut script = Script::new();
    let plain = script.ask(AdcpTool::GetProducts, everything(json!({})));
    let warned = script.ask(AdcpTool::GetProducts, everything(json!({"brief": "cats"})));
    assert_eq!(plain["products"], warned["products"]);
    expect![[r#"[{"code":"INVALID_REQUEST","message":"a brief goes with buying_mode brief alone, and was not looked at","recovery":"correctable","field":"brief","suggestion":"correct what field and issues name and send again","severity":"warning"}]"#]].assert_eq(&warned["errors"].to_string());
}

#[test]
fn a_version_of_prices_says_nothing_alone() {
    let mut script = Script::new();
    let lone = everything(json!({"if_pricing_version": "p-1"}));
    script.note("products", AdcpTool::GetProducts, lone);
    let lone = json!({"discovery_mode": "wholesale", "if_pricing_version": "p-1"});
    script.note("signals", AdcpTool::GetSignals, lone);
    script.check(&expect![[r##"
        # products
        {
          "status": "failed",
          "message": "a version of prices goes with the version of what they are for; send if_wholesale_feed_version too",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "a version of prices goes with the version of what they are for; send if_wholesale_feed_version too",
            "recovery": "correctable",
            "field": "if_pricing_version",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "a version of prices goes with the version of what they are for; send if_wholesale_feed_version too",
              "recovery": "correctable",
              "field": "if_pricing_version",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
        # signals
        {
          "status": "failed",
          "message": "a version of prices goes with the version of what they are for; send if_wholesale_feed_version too",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "a version of prices goes with the version of what they are for; send if_wholesale_feed_version too",
            "recovery": "correctable",
            "field": "if_pricing_version",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "a version of prices goes with the version of what they are for; send if_wholesale_feed_version too",
              "recovery": "correctable",
              "field": "if_pricing_version",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn products_are_found_by_the_metrics_of_vendors() {
    let mut script = Script::new();
    let metrics = json!([
        {"vendor": {"domain": "eyes.example"}, "metric_id": "attention"},
        {"vendor": {"domain": "air.example"}, "metric_id": "carbon"},
    ]);
    script.seed_product("seen", json!({"reporting_capabilities": {"vendor_metrics": metrics}}));
    script.seed_product("blind", json!({}));
    let mut found = |wanted: Value| {
        let request = everything(json!({"filters": {"required_vendor_metrics": wanted}}));
        ids(&script.ask(AdcpTool::GetProducts, request))
    };
    let vendor = json!({"domain": "eyes.example"});
    assert_eq!(found(json!([{"vendor": vendor}])), "seen");
    assert_eq!(found(json!([{"metric_id": "carbon"}, {"vendor": vendor}])), "seen");
    assert_eq!(found(json!([{"vendor": vendor, "metric_id": "carbon"}])), "");
    assert_eq!(found(json!([{"vendor": vendor}, {"metric_id": "smell"}])), "");
}

#[test]
fn what_comes_with_a_product_has_the_wanted_currency_too() {
    let mut script = Script::new();
    let signals = |mode: &str, currency: &str| {
        json!({
            "signal_targeting_allowed": true,
            "signal_targeting_rules": {"selection_mode": mode},
            "signal_targeting_options": [{
                "signal_ref": {"scope": "product", "signal_id": "s"}, "name": "S",
                "value_type": "binary", "default_selected": true,
                "pricing_options": [{"pricing_option_id": "s", "model": "cpm", "cpm": 1, "currency": currency}],
            }],
        })
    };
    script.seed_product("fixed-eur", signals("fixed", "EUR"));
    script.seed_product("fixed-usd", signals("fixed", "USD"));
    script.seed_product("free-eur", signals("optional", "EUR"));
    let request = everything(json!({"filters": {"pricing_currencies": ["USD"]}}));
    let found = ids(&script.ask(AdcpTool::GetProducts, request));
    assert!(found.starts_with("free-eur fixed-usd news_display"), "{found}");
}

#[test]
fn a_product_that_names_two_formats_is_remarked() {
    let mut script = Script::new();
    let format = |id: &str| json!({"agent_url": "https://formats.example/", "id": id});
    let both = |older: &str, newer: &str| {
        json!({
            "format_ids": [format(older)],
            "format_options": [{"format_kind": "image", "v1_format_ref": [format(newer)], "params": {}}],
        })
    };
    script.seed_product("agreed", both("a", "a"));
    script.seed_product("divergent", both("a", "b"));
    let answer = script.ask(AdcpTool::GetProducts, everything(json!({})));
    expect![[r#"[{"code":"FORMAT_DECLARATION_DIVERGENT","message":"format_ids and v1_format_ref of format_options name different formats; trust format_options, and tell the seller","recovery":"correctable","field":"products[0].format_options","suggestion":"prefer format_options and tell the seller","source":"producer","severity":"warning"}]"#]].assert_eq(&answer["errors"].to_string());
}

/// The sandbox answers the next search with a task.
fn script_forced_answer(script: &mut Script, scenario: &str, task: &str) {
    let params = json!({"arm": "submitted", "task_id": task, "message": "somebody looks into it"});
    script.control(scenario, params);
}

#[test]
fn a_search_may_take_longer() {
    let mut script = Script::new();
    script_forced_answer(&mut script, "force_get_products_arm", "look-1");
    script_forced_answer(&mut script, "force_get_signals_arm", "look-2");
    let whole = script.ask(AdcpTool::GetProducts, everything(json!({})));
    assert_eq!(whole["status"], "completed", "everything is known at once");
    let brief = json!({"buying_mode": "brief", "brief": "trails"});
    script.note("products", AdcpTool::GetProducts, brief.clone());
    script.note("signals", AdcpTool::GetSignals, json!({"signal_spec": "hikers"}));
    let again = script.ask(AdcpTool::GetProducts, brief);
    assert_eq!(again["status"], "completed", "it holds once");
    script.note(
        "both",
        AdcpTool::ListTasks,
        json!({"sort": {"field": "protocol", "direction": "asc"}}),
    );
    let result = json!({"products": [], "cache_scope": "public"});
    script.control("force_task_completion", json!({"task_id": "look-1", "result": result}));
    script.note(
        "ended",
        AdcpTool::GetTaskStatus,
        json!({"task_id": "look-1", "include_result": true}),
    );
    let other = json!({
        "task_id": "look-1",
        "account": {"brand": {"domain": "other.example"}, "operator": "other.example"},
    });
    script.note("another account", AdcpTool::GetTaskStatus, other);
    script.check(&expect![[r##"
        # products
        {
          "status": "submitted",
          "message": "somebody looks into it",
          "task_id": "look-1",
          "adcp_version": "3.1"
        }
        # signals
        {
          "status": "submitted",
          "message": "somebody looks into it",
          "task_id": "look-2",
          "adcp_version": "3.1"
        }
        # both
        {
          "status": "completed",
          "message": "tasks",
          "query_summary": {
            "total_matching": 2,
            "returned": 2,
            "domain_breakdown": {
              "media-buy": 1,
              "signals": 1
            },
            "status_breakdown": {
              "submitted": 2
            },
            "filters_applied": [],
            "sort_applied": {
              "field": "protocol",
              "direction": "asc"
            }
          },
          "tasks": [
            {
              "task_id": "look-1",
              "task_type": "get_products",
              "status": "submitted",
              "created_at": "2026-06-01T12:00:00Z",
              "updated_at": "2026-06-01T12:00:00Z",
              "has_webhook": false,
              "domain": "media-buy"
            },
            {
              "task_id": "look-2",
              "task_type": "get_signals",
              "status": "submitted",
              "created_at": "2026-06-01T12:00:00Z",
              "updated_at": "2026-06-01T12:00:00Z",
              "has_webhook": false,
              "domain": "signals"
            }
          ],
          "pagination": {
            "has_more": false,
            "total_count": 2
          },
          "adcp_version": "3.1"
        }
        # ended
        {
          "status": "completed",
          "message": "how the task stands",
          "task_id": "look-1",
          "task_type": "get_products",
          "created_at": "2026-06-01T12:00:00Z",
          "updated_at": "2026-06-01T12:00:00Z",
          "completed_at": "2026-06-01T12:00:00Z",
          "has_webhook": false,
          "protocol": "media-buy",
          "result": {
            "products": [],
            "cache_scope": "public"
          },
          "adcp_version": "3.1"
        }
        # another account
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
        }
    "##]]);
}
