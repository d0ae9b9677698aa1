//! Creatives that are not taken, and those that cannot be assigned. What is wrong with one of them
//! stands in its own row, and the task is completed all the same.

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, from_value, json, to_value};
use tradepost_publisher::creative::policy::Provenance;

use super::buys::{ACCOUNT, KEYS, order, sold};
use super::check;
use super::shop::shop;
use crate::support::publisher::RequestCase;
use crate::support::with;

fn banner(members: &[(&str, Value)]) -> Value {
    let banner = json!({
        "creative_id": "banner", "name": "Banner",
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {"image": {"asset_type": "image", "url": "https://cdn.acme.example/a.png",
            "width": 300, "height": 250}},
    });
    with(banner, members)
}

#[track_caller]
fn sent(case: &RequestCase, members: &[(&str, Value)], code: &str, expected: Expect) {
    let sync = json!({"account": ACCOUNT(), "idempotency_key": KEYS[0], "validation_mode": "lenient",
        "creatives": [banner(members)]});
    check(case, "sync_creatives", sync, code, expected);
}

#[test]
fn creative_rejected_by_policy() {
    let betting = json!(["gambling"]);
    sent(
        &shop(),
        &[("/tags", betting)],
        "CREATIVE_REJECTED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"CREATIVE_REJECTED","message":"the creative goes against an advertising policy of the seller; see details","recovery":"correctable",
                  "field":"creatives[0].tags[0]","suggestion":"revise the creative according to the seller's advertising policies",
                  "details":{"policy_id":"gambling","policy_url":"https://gazette.example/advertising/policy#gambling",
                    "reasons":["Betting and casinos are not advertised."]}}]}],"sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn creative_rejected_when_it_is_to_be_bought_for() {
    let rejected = json!({"scenario": "seed_creative", "account": ACCOUNT(), "params": {
        "creative_id": "ugly", "fixture": {"status": "rejected", "rejection_reason": "It is blurred."}}});
    let assigned = order(&[("/packages/0/creative_assignments", json!([{"creative_id": "ugly"}]))]);
    let case = sold().after("acme", "comply_test_controller", rejected);
    check(
        &case,
        "create_media_buy",
        assigned,
        "CREATIVE_REJECTED",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the creative was rejected; details.reasons says why; send another one",
          "adcp_error":{"code":"CREATIVE_REJECTED","message":"the creative was rejected; details.reasons says why; send another one","recovery":"correctable",
            "field":"packages[0].creative_assignments[0].creative_id","suggestion":"revise the creative according to the seller's advertising policies",
            "details":{"reasons":["It is blurred."]}},
          "errors":[
            {"code":"CREATIVE_REJECTED","message":"the creative was rejected; details.reasons says why; send another one","recovery":"correctable",
              "field":"packages[0].creative_assignments[0].creative_id","suggestion":"revise the creative according to the seller's advertising policies",
              "details":{"reasons":["It is blurred."]}}],"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn invalid_state_of_a_creative_that_was_put_away() {
    let archived = json!({"scenario": "seed_creative", "account": ACCOUNT(), "params": {
        "creative_id": "old", "fixture": {"status": "archived"}}});
    let assigned = order(&[("/packages/0/creative_assignments", json!([{"creative_id": "old"}]))]);
    let case = sold().after("acme", "comply_test_controller", archived);
    check(
        &case,
        "create_media_buy",
        assigned,
        "INVALID_STATE",
        expect![[r#"
        200 isError true | 200 TASK_STATE_FAILED error-result | 200 failed error-result
        {"status":"failed","message":"the creative was put away; bring it back with sync_creatives",
          "adcp_error":{"code":"INVALID_STATE","message":"the creative was put away; bring it back with sync_creatives","recovery":"correctable",
            "field":"packages[0].creative_assignments[0].creative_id","suggestion":"read the current state and choose an operation that it permits"},
          "errors":[
            {"code":"INVALID_STATE","message":"the creative was put away; bring it back with sync_creatives","recovery":"correctable",
              "field":"packages[0].creative_assignments[0].creative_id","suggestion":"read the current state and choose an operation that it permits"}],
          "adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn format_not_supported() {
    let unknown = json!({"agent_url": "https://ads.gazette.example", "id": "hologram"});
    sent(
        &shop(),
        &[("/format_id", unknown)],
        "FORMAT_NOT_SUPPORTED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"FORMAT_NOT_SUPPORTED","message":"this seller does not take that format; list_creative_formats shows those it takes",
                  "recovery":"correctable","field":"creatives[0].format_id","suggestion":"choose a format that list_creative_formats shows"}]}],"sandbox":true,
          "replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn compliance_unsatisfied() {
    let place = json!({"country": "DE", "regulation": "eu_ai_act_article_50",
        "render_guidance": {"positions": ["audio"]}});
    let made = json!({"disclosure": {"required": true, "jurisdictions": [place]}});
    sent(
        &shop(),
        &[("/provenance", made)],
        "COMPLIANCE_UNSATISFIED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"COMPLIANCE_UNSATISFIED","message":"a disclosure that this creative requires cannot be shown by its format","recovery":"correctable",
                  "field":"creatives[0].provenance.disclosure.jurisdictions[0].render_guidance","suggestion":"choose a format that supports the disclosure"}]}],
          "sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn creative_value_not_allowed() {
    let case = shop().at(|config| {
        let mut catalogue = super::shop::catalogue();
        let listed = json!({"asset_id": "label", "asset_type": "text", "item_type": "individual",
            "required": false, "requirements": {"allowed_values": ["Buy now", "Read on"]}});
        let mut format = to_value(&catalogue.formats[0]).unwrap();
        format["assets"].as_array_mut().unwrap().push(listed);
        catalogue.formats[0] = from_value(format).unwrap();
        config.publishers[0].profile.catalogue = catalogue;
    });
    let label = json!({"asset_type": "text", "content": "Hurry"});
    sent(
        &case,
        &[("/assets/label", label)],
        "CREATIVE_VALUE_NOT_ALLOWED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"CREATIVE_VALUE_NOT_ALLOWED","message":"the format lists the values that this asset can have; see details","recovery":"correctable",
                  "field":"creatives[0].assets.label.content","suggestion":"pick a value that the format lists",
                  "details":{"allowed_values":["Buy now","Read on"]}}]}],"sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

/// A publisher that demands to know how creatives are made.
fn requiring_provenance() -> RequestCase {
    shop().at(|config| {
        let mut catalogue = super::shop::catalogue();
        catalogue.creatives.provenance = Provenance {
            required: true,
            digital_source_type: true,
            disclosure: true,
            embedded: true,
            verifiers: Some(vec!["https://verify.example/agent".to_owned()]),
        };
        config.publishers[0].profile.catalogue = catalogue;
    })
}

/// How something was made, and nothing left open.
fn made(verifier: &str) -> Value {
    json!({"digital_source_type": "digital_creation", "disclosure": {"required": false},
        "embedded_provenance": [{"method": "manifest_wrapper", "provider": "Encypher",
            "verify_agent": {"agent_url": verifier}}]})
}

#[track_caller]
fn unknown(without: Option<&str>, code: &str, expected: Expect) {
    let mut made = made("https://verify.example/agent");
    if let Some(name) = without {
        made.as_object_mut().unwrap().swap_remove(name);
    }
    sent(&requiring_provenance(), &[("/provenance", made)], code, expected);
}

#[test]
fn provenance_required() {
    sent(
        &requiring_provenance(),
        &[],
        "PROVENANCE_REQUIRED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"PROVENANCE_REQUIRED","message":"this seller takes no creative without a provenance object","recovery":"correctable",
                  "field":"creatives[0]","suggestion":"add a provenance object"}]}],"sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn provenance_digital_source_type_missing() {
    unknown(
        Some("digital_source_type"),
        "PROVENANCE_DIGITAL_SOURCE_TYPE_MISSING",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"PROVENANCE_DIGITAL_SOURCE_TYPE_MISSING","message":"the provenance does not say by what kind of source the content was made",
                  "recovery":"correctable","field":"creatives[0].provenance.digital_source_type","suggestion":"set provenance.digital_source_type"}]}],
          "sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn provenance_disclosure_missing() {
    unknown(
        Some("disclosure"),
        "PROVENANCE_DISCLOSURE_MISSING",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"PROVENANCE_DISCLOSURE_MISSING","message":"the provenance does not say whether a disclosure is required, and where",
                  "recovery":"correctable","field":"creatives[0].provenance.disclosure","suggestion":"set provenance.disclosure, with its jurisdictions"}]}],
          "sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn provenance_embedded_missing() {
    unknown(
        Some("embedded_provenance"),
        "PROVENANCE_EMBEDDED_MISSING",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"PROVENANCE_EMBEDDED_MISSING","message":"the provenance has to be embedded in the content as well","recovery":"correctable",
                  "field":"creatives[0].provenance.embedded_provenance","suggestion":"embed the provenance with a provider that the seller accepts"}]}],
          "sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn provenance_verifier_not_accepted() {
    let foreign = made("https://somebody.example/agent");
    sent(
        &requiring_provenance(),
        &[("/provenance", foreign)],
        "PROVENANCE_VERIFIER_NOT_ACCEPTED",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result",
          "creatives":[
            {"creative_id":"banner","action":"failed",
              "errors":[
                {"code":"PROVENANCE_VERIFIER_NOT_ACCEPTED",
                  "message":"the seller does not ask this verifier; name one of creative_policy.accepted_verifiers, or none","recovery":"correctable",
                  "field":"creatives[0].provenance.embedded_provenance[0].verify_agent.agent_url",
                  "suggestion":"use a verifier of the seller's accepted_verifiers"}]}],"sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}

#[test]
fn a_creative_of_which_enough_is_known_is_taken() {
    unknown(
        None,
        "",
        expect![[r#"
        200 isError false | 200 TASK_STATE_COMPLETED adcp-result | 200 completed adcp-result
        {"status":"completed","message":"each creative has its own result","creatives":[{"creative_id":"banner","action":"created","status":"approved"}],
          "sandbox":true,"replayed":false,"adcp_version":"3.1"}
    "#]],
    );
}
