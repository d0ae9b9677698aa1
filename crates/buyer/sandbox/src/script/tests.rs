use super::*;

fn mistakes(text: &str) -> Vec<String> {
    let mistakes = read(text).unwrap_err();
    mistakes.iter().map(|m| format!("{}: {m}", m.line.unwrap_or_default())).collect()
}

#[test]
fn built_in_scripts_can_be_read_and_have_different_names() {
    let scripts = Script::built_in();
    assert_eq!(scripts.len(), BUILT_IN.len() + 1);
    for (index, script) in scripts.iter().enumerate() {
        assert!(!script.description.is_empty(), "{}", script.name);
        assert!(scripts.iter().skip(index + 1).all(|other| other.name != script.name));
    }
}

#[test]
fn every_mistake_of_a_script_is_reported_at_once() {
    let text = r#"
title = "x"
[budget]
attempts = 0
elapsed = "soon"
[[rules]]
on = "lead.send"
every = 0
[[rules]]
refuse = "NO_SUCH_CODE"
drop = "later"
[[rules]]
http = 302
body = "xml"
[[rules]]
drop = "after"
retry_after = 5
truncate = false
[[rules]]
garbage = "html"
details = { a = 1 }
[[rules]]
refuse = "RATE_LIMITED"
retry_after = "a\nb"
"#;
    expect_test::expect![[r#"
        [
            "2: title: unknown key; the keys here are name, description, seller, budget, rules",
            "4: budget.attempts: must be >= 1",
            "5: budget.elapsed: must be a duration such as \"250ms\", \"10s\" or \"15m\"",
            "6: rules[0]: at least one of refuse, protocol, http, drop, truncate, garbage, inject, sell, redirect, latency is required",
            "7: rules[0].on: must be card, dealer.information, inventory.facets, inventory.search, inventory.vehicle or lead.submit; with seller = \"agent\" card or an operation of A2A; with seller = \"publisher\" a tool of AdCP",
            "8: rules[0].every: must be >= 1",
            "9: rules[1]: does 2 things; one rule does one of refuse, protocol, http, drop, truncate, garbage, inject, sell, redirect",
            "10: rules[1].refuse: must be one of UNSUPPORTED_SKILL, SCHEMA_VALIDATION_FAILED, MISSING_REQUIRED_FIELD, INVALID_CONDITION, VEHICLE_NOT_FOUND, VEHICLE_UNAVAILABLE, CONTACT_CONSENT_REQUIRED, INVALID_CONSENT, APPOINTMENT_TIME_UNAVAILABLE, IDEMPOTENCY_CONFLICT, RATE_LIMITED, INTERNAL_ERROR",
            "11: rules[1].drop: must be one of before, after",
            "13: rules[2].http: must be >= 400",
            "14: rules[2].body: must be one of empty, html, json",
            "15: rules[3]: does 2 things; one rule does one of refuse, protocol, http, drop, truncate, garbage, inject, sell, redirect",
            "18: rules[3].truncate: must be true; leave it out otherwise",
            "21: rules[4].details: only goes with refuse",
            "24: rules[5].retry_after: must have no characters but those that a header may have",
            "0: name: is missing; it has no default",
        ]
    "#]]
    .assert_debug_eq(&mistakes(text));
}

#[test]
fn what_the_seller_does_not_have_is_a_mistake() {
    let agent = "name = \"x\"\nseller = \"agent\"\n[[rules]]\n";
    expect_test::expect![[r#"
        [
            "4: rules[0].on: names what an agent does not have: it has a card and operations, such as SendMessage",
            "5: rules[0].refuse: is for dealers; an agent says no by protocol or http",
            "7: rules[1].garbage: is for dealers; an agent says no by protocol or http",
        ]
    "#]].assert_debug_eq(&mistakes(&format!(
        "{agent}on = \"lead.submit\"\nrefuse = \"RATE_LIMITED\"\n[[rules]]\ngarbage = \"other_skill\"\n"
    )));
    expect_test::expect![[r#"
        [
            "3: rules[0].on: names what a dealer does not have: it has a card and skills",
        ]
    "#]]
    .assert_debug_eq(&mistakes("name = \"x\"\n[[rules]]\non = \"GetTask\"\ndrop = \"after\"\n"));
    let script = read(&format!("{agent}on = [\"card\", \"GetTask\"]\ndrop = \"after\"\n")).unwrap();
    assert_eq!(script.seller, SellerKind::Agent);
    let publisher = "name = \"x\"\nseller = \"publisher\"\n[[rules]]\n";
    expect_test::expect![[r#"
        [
            "4: rules[0].on: names what a publisher does not have: it has tools, such as create_media_buy",
            "5: rules[0].protocol: is not for publishers, who say no by refuse or http",
            "9: rules[1].retryable: is for dealers; a publisher's code says how to recover",
        ]
    "#]].assert_debug_eq(&mistakes(&format!(
        "{publisher}on = \"card\"\nprotocol = \"INTERNAL_ERROR\"\n[[rules]]\non = \"get_products\"\n\
         refuse = \"BUDGET_TOO_LOW\"\nretryable = true\n"
    )));
}

#[test]
fn a_rule_counts_what_concerns_it_and_needs_every_condition() {
    let rule = |text: &str| {
        let script = read(&format!("name = \"x\"\n[[rules]]\nlatency = \"1ms\"\n{text}")).unwrap();
        script.rules.into_iter().next().unwrap().when
    };
    let fitting = |when: &RuleCondition| -> Vec<u64> {
        (1..=7).filter(|count| when.fits(*count, SignedDuration::from_secs(5))).collect()
    };
    for (text, expected) in [
        ("", &[1, 2, 3, 4, 5, 6, 7][..]),
        ("nth = 2", &[2]),
        ("nth = [2, 5]", &[2, 5]),
        ("every = 3", &[3, 6]),
        ("first = 2", &[1, 2]),
        ("first = 4\nevery = 2", &[2, 4]),
        ("after = \"5s\"\nfirst = 1", &[1]),
        ("after = \"6s\"", &[]),
        ("until = \"5s\"", &[]),
        ("until = \"6s\"\nfirst = 1", &[1]),
    ] {
        assert_eq!(fitting(&rule(text)), expected, "{text}");
    }
    let search = Some(AskedFor::Skill(Skill::InventorySearch));
    let lead = Some(AskedFor::Skill(Skill::LeadSubmit));
    for (text, expected) in [
        ("", [true, true, false, true]),
        ("on = \"inventory.search\"", [true, false, false, false]),
        ("on = [\"card\", \"lead.submit\"]", [false, true, true, false]),
    ] {
        let when = rule(text);
        let concerned =
            [search, lead, Some(AskedFor::Card), None].map(|target| when.concerns(target));
        assert_eq!(concerned, expected, "{text}");
    }
}

#[test]
fn whether_the_dealer_acts_follows_from_the_rule_unless_said() {
    for (act, acted) in [
        ("latency = \"1s\"", true),
        ("drop = \"before\"", false),
        ("drop = \"after\"", true),
        ("truncate = true", true),
        ("garbage = \"html\"", true),
        ("refuse = \"INTERNAL_ERROR\"", false),
        ("refuse = \"INTERNAL_ERROR\"\nacted = true", true),
        ("http = 503", false),
        ("http = 504\nacted = true", true),
    ] {
        let script = read(&format!("name = \"x\"\n[[rules]]\n{act}")).unwrap();
        assert_eq!(script.rules[0].acted, acted, "{act}");
    }
}
