//! Every code of AdCP's error page, by a request that really comes to it: the whole document, the
//! same on MCP, on A2A 1.0 and on A2A 0.3, and what each binding says around it.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::support::publisher::Scene;

#[track_caller]
fn check(scene: &Scene, tool: &str, arguments: Value, expected: Expect) {
    scene.check(tool, &arguments, &expected);
}

fn usual() -> Scene {
    Scene::default()
}

#[test]
fn auth_missing() {
    check(&usual().by("nobody"), "list_creatives", json!({"context": {"n": 1}}), expect![[]]);
}

#[test]
fn auth_required_for_a_caller_that_is_pinned_to_3_0() {
    let pinned = json!({"adcp_version": "3.0"});
    check(&usual().by("nobody"), "list_creatives", pinned, expect![[]]);
}

#[test]
fn auth_invalid() {
    check(&usual().by("a-token-of-nobody"), "get_products", json!({}), expect![[]]);
}

#[test]
fn version_unsupported() {
    let asked = json!({"adcp_version": "9.0", "context": {"n": 1}});
    check(&usual(), "get_adcp_capabilities", asked, expect![[]]);
}

#[test]
fn credential_in_args() {
    let leaked = json!({"buying_mode": "wholesale", "ext": {"deep": [{"api_key": "sk-hidden"}]}});
    check(&usual(), "get_products", leaked, expect![[]]);
}

#[test]
fn validation_error() {
    let wrong = json!({"buying_mode": "barter", "context": {"n": 1}});
    check(&usual(), "get_products", wrong, expect![[]]);
}

#[test]
fn rate_limited() {
    let strict = |config: &mut tradepost::config::Config| {
        config.publishers[0].rates.read.requests = 1;
    };
    let scene = usual().at(strict).after("acme", "get_adcp_capabilities", json!({}));
    check(&scene, "get_adcp_capabilities", json!({"context": {"n": 1}}), expect![[]]);
}

#[test]
fn account_not_found() {
    let unknown = json!({"buying_mode": "wholesale", "account": {"account_id": "acc_unknown"}});
    check(&usual(), "get_products", unknown, expect![[]]);
}

#[test]
fn agent_suspended() {
    check(&usual().by("paused"), "get_products", json!({"buying_mode": "wholesale"}), expect![[]]);
}

#[test]
fn agent_blocked() {
    check(&usual().by("banned"), "get_products", json!({"buying_mode": "wholesale"}), expect![[]]);
}
