//! Complete issue lists of typical mistakes.

use expect_test::{Expect, expect};
use tradepost_adcp::rules::{self, Internals};
use tradepost_adcp::tool::AdcpTool;
use tradepost_document::json::{Value, json};

/// Formats all issues, each followed by its place in the schemas.
fn issue_lines(tool: AdcpTool, request: &Value) -> String {
    let Err(issues) = rules::check(tool, request, Internals::On) else {
        return "nothing\n".to_owned();
    };
    let mut out = String::new();
    for issue in issues.listed() {
        let pointer = if issue.pointer.is_empty() { "(root)" } else { &issue.pointer };
        out += &format!("{pointer} {}: {}\n", issue.keyword, issue.message);
        if let Some(id) = &issue.schema_id
            && let Some(place) = &issue.schema_path
        {
            out += &format!("    {id}{place}\n");
        }
        for (name, value) in &issue.discriminator {
            out += &format!("    {name} = {value}\n");
        }
    }
    if issues.unlisted() > 0 {
        out += &format!("and {} more\n", issues.unlisted());
    }
    out
}

#[track_caller]
fn check(tool: AdcpTool, request: &Value, expected: Expect) {
    expected.assert_eq(&issue_lines(tool, request));
}

/// A media buy that is right, with changes by JSON Pointer.
fn media_buy(changes: &[(&str, Value)]) -> Value {
    let mut request = json!({
        "idempotency_key": "key-0123456789abcdef",
        "account": {"account_id": "acc_1"},
        "brand": {"domain": "example.com"},
        "start_time": "asap",
        "end_time": "2026-12-01T00:00:00Z",
        "packages": [{"product_id": "p", "budget": 100, "pricing_option_id": "o"}],
    });
    for (pointer, value) in changes {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = request.pointer_mut(parent).unwrap();
        if *value == json!("<absent>") {
            parent.as_object_mut().unwrap().shift_remove(name);
        } else {
            parent[name] = value.clone();
        }
    }
    request
}

#[test]
fn a_right_request_has_no_issue() {
    check(
        AdcpTool::CreateMediaBuy,
        &media_buy(&[]),
        expect![[r#"
        nothing
    "#]],
    );
}

#[test]
fn what_is_missing_is_named_where_it_should_be() {
    check(
        AdcpTool::CreateMediaBuy,
        &json!({}),
        expect![[r#"
        /idempotency_key required: "idempotency_key" is required
            /schemas/3.1.19/media-buy/create-media-buy-request.json#/required
        /account required: "account" is required
            /schemas/3.1.19/media-buy/create-media-buy-request.json#/required
        /brand required: "brand" is required
            /schemas/3.1.19/media-buy/create-media-buy-request.json#/required
        /start_time required: "start_time" is required
            /schemas/3.1.19/media-buy/create-media-buy-request.json#/required
        /end_time required: "end_time" is required
            /schemas/3.1.19/media-buy/create-media-buy-request.json#/required
    "#]],
    );
    check(
        AdcpTool::GetProducts,
        &json!({"brief": "x", "catalog": {"type": "offering"}}),
        expect![[r#"
            /buying_mode required: "buying_mode" is required
                /schemas/3.1.19/media-buy/get-products-request.json#/required
            /brand dependencies: "brand" has to be sent together with "catalog"
                /schemas/3.1.19/media-buy/get-products-request.json#/dependencies
        "#]],
    );
    check(
        AdcpTool::SyncAccounts,
        &json!({"accounts": [{}]}),
        expect![[r#"
        /idempotency_key required: "idempotency_key" is required
            /schemas/3.1.19/account/sync-accounts-request.json#/required
        /accounts/0 oneOf: must have "brand", "operator" and "billing"; or "account"
            /schemas/3.1.19/account/sync-accounts-request.json#/properties/accounts/items/oneOf
    "#]],
    );
}

#[test]
fn values_of_another_type_or_size_say_what_is_accepted() {
    let request = media_buy(&[
        ("/packages/0/budget", json!(-1)),
        ("/packages/0/product_id", json!(5)),
        ("/start_time", json!("tomorrow")),
        ("/end_time", json!("2026-12-01")),
        ("/idempotency_key", json!("short")),
    ]);
    check(
        AdcpTool::CreateMediaBuy,
        &request,
        expect![[r#"
            /idempotency_key minLength: must have at least 16 characters
                /schemas/3.1.19/media-buy/create-media-buy-request.json#/properties/idempotency_key/minLength
            /idempotency_key pattern: must match the pattern ^[A-Za-z0-9_.:-]{16,255}$
                /schemas/3.1.19/media-buy/create-media-buy-request.json#/properties/idempotency_key/pattern
            /start_time oneOf: must be "asap", or a date and time of RFC 3339 with an offset, such as 2026-05-01T12:00:00Z
                /schemas/3.1.19/core/start-timing.json#/oneOf
            /end_time format: must be a date and time of RFC 3339 with an offset, such as 2026-05-01T12:00:00Z
                /schemas/3.1.19/media-buy/create-media-buy-request.json#/properties/end_time/format
            /packages/0/product_id type: must be a string
                /schemas/3.1.19/media-buy/package-request.json#/properties/product_id/type
            /packages/0/budget minimum: must be at least 0
                /schemas/3.1.19/media-buy/package-request.json#/properties/budget/minimum
        "#]],
    );
    let enormous = tradepost_document::json::from_str("1e400").unwrap();
    let request =
        media_buy(&[("/packages/0/budget", enormous), ("/packages/0/pacing", json!("evn"))]);
    check(
        AdcpTool::CreateMediaBuy,
        &request,
        expect![[r#"
        /packages/0/pacing enum: must be one of even, asap, front_loaded; did you mean "even"?
            /schemas/3.1.19/enums/pacing.json#/enum
    "#]],
    );
    let request = json!({"buying_mode": "breif", "fields": ["product_id", "nam"]});
    check(
        AdcpTool::GetProducts,
        &request,
        expect![[r#"
        /buying_mode enum: must be one of brief, wholesale, refine; did you mean "brief"?
            /schemas/3.1.19/media-buy/get-products-request.json#/properties/buying_mode/enum
        /fields/1 enum: must be one of product_id, name, description, publisher_properties, channels, video_placement_types, audio_distribution_types, sponsored_placement_types, social_placement_surfaces, format_ids, format_options, placements or 27 others; did you mean "name"?
            /schemas/3.1.19/media-buy/get-products-request.json#/properties/fields/items/enum
    "#]],
    );
    check(
        AdcpTool::GetProducts,
        &json!("text"),
        expect![[r#"
            (root) type: must be an object
                /schemas/3.1.19/media-buy/get-products-request.json#/type
        "#]],
    );
}

#[test]
fn an_account_is_named_in_one_of_two_ways() {
    let with = |account: Value| media_buy(&[("/account", account)]);
    check(
        AdcpTool::CreateMediaBuy,
        &with(json!({})),
        expect![[r#"
        /account oneOf: must have "account_id"; or "brand" and "operator"
            /schemas/3.1.19/core/account-ref.json#/oneOf
    "#]],
    );
    check(
        AdcpTool::CreateMediaBuy,
        &with(json!({"operator": "example.com"})),
        expect![[r#"
        /account/brand required: "brand" is required
            /schemas/3.1.19/core/account-ref.json#/oneOf/1/required
    "#]],
    );
    let both =
        json!({"account_id": "a", "brand": {"domain": "example.com"}, "operator": "example.com"});
    check(
        AdcpTool::CreateMediaBuy,
        &with(both),
        expect![[r#"
        /account oneOf: fits several alternatives; send the members of one only: "account_id"; or "brand" and "operator"
            /schemas/3.1.19/core/account-ref.json#/oneOf
    "#]],
    );
    check(
        AdcpTool::CreateMediaBuy,
        &with(json!({"account_id": 5, "acount": 1})),
        expect![[r#"
        /account/account_id type: must be a string
            /schemas/3.1.19/core/account-ref.json#/oneOf/0/properties/account_id/type
        /account/acount additionalProperties: "acount" is not accepted here; leave it out
            /schemas/3.1.19/core/account-ref.json#/oneOf/0/additionalProperties
    "#]],
    );
    check(
        AdcpTool::CreateMediaBuy,
        &with(json!("acc_1")),
        expect![[r#"
        /account type: must be an object
            /schemas/3.1.19/core/account-ref.json#/type
    "#]],
    );
}

/// I-3: the table of unions that are decided by constants.
#[test]
fn constants_decide_by_which_branch_a_union_is_judged() {
    let signals = |destination: Value| json!({"signal_spec": "x", "destinations": [destination]});
    check(
        AdcpTool::GetSignals,
        &signals(json!({"type": "platform"})),
        expect![[r#"
        /destinations/0/platform required: "platform" is required
            /schemas/3.1.19/core/destination.json#/oneOf/0/required
            type = "platform"
    "#]],
    );
    check(
        AdcpTool::GetSignals,
        &signals(json!({"type": "plane"})),
        expect![[r#"
        /destinations/0/type const: must be one of platform, agent
            /schemas/3.1.19/core/destination.json#/oneOf
    "#]],
    );
    check(
        AdcpTool::GetSignals,
        &signals(json!({"platform": "x"})),
        expect![[r#"
        /destinations/0/type required: "type" is required
            /schemas/3.1.19/core/destination.json#/oneOf
    "#]],
    );
    check(
        AdcpTool::GetSignals,
        &signals(json!({"type": {"a": 1}})),
        expect![[r#"
        /destinations/0/type const: must be one of platform, agent
            /schemas/3.1.19/core/destination.json#/oneOf
    "#]],
    );
    let plan = |selector: Value| {
        json!({"idempotency_key": "key-0123456789abcdef", "plans": [{
            "plan_id": "p", "brand": {"domain": "example.com"}, "objectives": "o",
            "budget": {"total": 1, "currency": "USD", "reallocation_threshold": 0},
            "flight": {"start": "2026-05-01T00:00:00Z", "end": "2026-06-01T00:00:00Z"},
            "audience": {"include": [selector]},
        }]})
    };
    let compound = json!({"type": "signal", "value_type": "categorical", "values": []});
    check(
        AdcpTool::SyncPlans,
        &plan(compound),
        expect![[r#"
        /plans/0/audience/include/0 anyOf: must have "signal_ref"; or "signal_id"
            /schemas/3.1.19/core/audience-selector.json#/oneOf/1/anyOf
            type = "signal"
            value_type = "categorical"
        /plans/0/audience/include/0/values minItems: must have at least 1 item
            /schemas/3.1.19/core/audience-selector.json#/oneOf/1/properties/values/minItems
            type = "signal"
            value_type = "categorical"
    "#]],
    );
    check(
        AdcpTool::SyncPlans,
        &plan(json!({"type": "signal", "value_type": "x"})),
        expect![[r#"
        /plans/0/audience/include/0/value_type const: must be one of binary, categorical, numeric
            /schemas/3.1.19/core/audience-selector.json#/oneOf
    "#]],
    );
    check(
        AdcpTool::SyncPlans,
        &plan(json!({"type": "signal"})),
        expect![[r#"
        /plans/0/audience/include/0/value_type required: "value_type" is required
            /schemas/3.1.19/core/audience-selector.json#/oneOf
    "#]],
    );
}

/// What is sent under the name of a constant of another branch is not repeated.
#[test]
fn only_values_that_a_constant_vouches_for_are_repeated() {
    let selector = json!({"type": "description", "value_type": "a secret"});
    let request = json!({"plans": [{"audience": {"include": [selector]}}]});
    let issue_lines = issue_lines(AdcpTool::SyncPlans, &request);
    assert!(
        issue_lines.contains("type = \"description\"") && !issue_lines.contains("secret"),
        "{issue_lines}"
    );
}

#[test]
fn conditions_say_when_they_hold() {
    check(
        AdcpTool::ComplyTestController,
        &json!({"scenario": "force_creative_status"}),
        expect![[r#"
        /account required: "account" is required
            /schemas/3.1.19/compliance/comply-test-controller-request.json#/required
        /params required: "params" is required when "scenario" is "force_creative_status"
            /schemas/3.1.19/compliance/comply-test-controller-request.json#/allOf/1/then/required
    "#]],
    );
    check(
        AdcpTool::ComplyTestController,
        &json!({"scenario": "force_creative_status", "params": {"creative_id": 1}}),
        expect![[r#"
            /account required: "account" is required
                /schemas/3.1.19/compliance/comply-test-controller-request.json#/required
            /params/status required: "status" is required when "scenario" is "force_creative_status"
                /schemas/3.1.19/compliance/comply-test-controller-request.json#/allOf/1/then/properties/params/required
            /params/creative_id type: must be a string
                /schemas/3.1.19/compliance/comply-test-controller-request.json#/properties/params/properties/creative_id/type
        "#]],
    );
    check(
        AdcpTool::GetProducts,
        &json!({"buying_mode": "brief", "if_pricing_version": "1"}),
        expect![[r#"
            /if_wholesale_feed_version dependencies: "if_wholesale_feed_version" has to be sent together with "if_pricing_version"
                /schemas/3.1.19/media-buy/get-products-request.json#/dependencies
            /buying_mode const: must be "wholesale" when "if_wholesale_feed_version" or "if_pricing_version" is sent
                /schemas/3.1.19/media-buy/get-products-request.json#/allOf/1/then/properties/buying_mode/const
        "#]],
    );
}

#[test]
fn issues_are_in_the_order_of_the_request_and_few() {
    let packages: Vec<_> = (0..30).map(|n| json!({"budget": -n, "zz": "x".repeat(500)})).collect();
    let request = media_buy(&[("/packages", json!(packages))]);
    check(
        AdcpTool::CreateMediaBuy,
        &request,
        expect![[r#"
        /packages/0/product_id required: "product_id" is required
            /schemas/3.1.19/media-buy/package-request.json#/required
        /packages/0/pricing_option_id required: "pricing_option_id" is required
            /schemas/3.1.19/media-buy/package-request.json#/required
        /packages/1/product_id required: "product_id" is required
            /schemas/3.1.19/media-buy/package-request.json#/required
        /packages/1/pricing_option_id required: "pricing_option_id" is required
            /schemas/3.1.19/media-buy/package-request.json#/required
        /packages/1/budget minimum: must be at least 0
            /schemas/3.1.19/media-buy/package-request.json#/properties/budget/minimum
        /packages/2/product_id required: "product_id" is required
            /schemas/3.1.19/media-buy/package-request.json#/required
        /packages/2/pricing_option_id required: "pricing_option_id" is required
            /schemas/3.1.19/media-buy/package-request.json#/required
        /packages/2/budget minimum: must be at least 0
            /schemas/3.1.19/media-buy/package-request.json#/properties/budget/minimum
        /packages/3/product_id required: "product_id" is required
            /schemas/3.1.19/media-buy/package-request.json#/required
        /packages/3/pricing_option_id required: "pricing_option_id" is required
            /schemas/3.1.19/media-buy/package-request.json#/required
        /packages/3/budget minimum: must be at least 0
            /schemas/3.1.19/media-buy/package-request.json#/properties/budget/minimum
        /packages/4/product_id required: "product_id" is required
        /packages/4/pricing_option_id required: "pricing_option_id" is required
        /packages/4/budget minimum: must be at least 0
        /packages/5/product_id required: "product_id" is required
        /packages/5/pricing_option_id required: "pricing_option_id" is required
        /packages/5/budget minimum: must be at least 0
        /packages/6/product_id required: "product_id" is required
        /packages/6/pricing_option_id required: "pricing_option_id" is required
        /packages/6/budget minimum: must be at least 0
        and 69 more
    "#]],
    );
}

#[test]
fn names_that_callers_make_up_do_not_fill_the_answer() {
    let long = "n~/".repeat(5000);
    let request = media_buy(&[("/account", json!({"account_id": "a", long.as_str(): 1}))]);
    check(
        AdcpTool::CreateMediaBuy,
        &request,
        expect![[r#"
        /account/n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n~0~1n additionalProperties: "n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n~/n" is not accepted here; leave it out
            /schemas/3.1.19/core/account-ref.json#/oneOf/0/additionalProperties
    "#]],
    );
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({ "a": deep });
    }
    check(
        AdcpTool::CreateMediaBuy,
        &media_buy(&[("/ext", deep.clone())]),
        expect![[r#"
        nothing
    "#]],
    );
    check(
        AdcpTool::CreateMediaBuy,
        &media_buy(&[
            ("/packages/0/targeting_overlay", deep.clone()),
            ("/packages/0/context", json!([deep])),
        ]),
        expect![[r#"
            /packages/0/context type: must be an object
                /schemas/3.1.19/core/context.json#/type
        "#]],
    );
}
