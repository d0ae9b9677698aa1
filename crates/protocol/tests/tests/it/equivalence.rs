//! We accept and reject what the published schemas accept and reject, with the same set of
//! problems, and choose the code by the rules of precedence.

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use tradepost_aap::{AapCode, AapRefusal, Skill, Version};
use tradepost_document::json::Value;
use tradepost_document::problem::{Keyword, MAX_LISTED, Problem, ProblemDetail};

use crate::mutate::{apply, mutations};
use crate::oracle::{self, Unit};
use crate::seeds::{self, Seed};

/// A rule of ours that no schema states: why a request that every schema accepts is refused.
struct Policy {
    reason: &'static str,
    code: AapCode,
    /// `details.reason`.
    stamp: &'static str,
    holds: fn(&Value) -> bool,
}

/// All such rules, in the order in which they apply.
const POLICIES: &[Policy] = &[
    Policy {
        reason: "E-070: a consent text of white space records nothing that the user saw",
        code: AapCode::InvalidConsent,
        stamp: "blank_consent_text",
        holds: |lead| {
            let text = lead["consent"]["consent_text"].as_str();
            text.is_some_and(|text| text.chars().all(char::is_whitespace))
        },
    },
    Policy {
        reason: "E-071: a grant cannot lie in the future, beyond five minutes of clock skew",
        code: AapCode::InvalidConsent,
        stamp: "granted_in_future",
        holds: |lead| {
            let latest = oracle::terms().now + jiff::SignedDuration::from_mins(5);
            oracle::moment(lead["consent"].get("granted_at")).is_some_and(|at| at > latest)
        },
    },
    Policy {
        reason: "E-072, R-LD-07: a grant has run out, by its own date or by the dealer's default",
        code: AapCode::InvalidConsent,
        stamp: "expired",
        holds: |lead| {
            let granted = oracle::moment(lead["consent"].get("granted_at"));
            let default = || {
                let lifetime = oracle::terms().consent_lifetime?;
                granted?.checked_add(lifetime).ok()
            };
            let expires = oracle::moment(lead["consent"].get("expires_at")).or_else(default);
            expires.is_some_and(|at| at <= oracle::terms().now)
        },
    },
    Policy {
        reason: "E-072: a grant that ends before it begins permits nothing",
        code: AapCode::InvalidConsent,
        stamp: "expires_before_grant",
        holds: |lead| {
            let granted = oracle::moment(lead["consent"].get("granted_at"));
            let expires = oracle::moment(lead["consent"].get("expires_at"));
            granted.zip(expires).is_some_and(|(granted, expires)| expires <= granted)
        },
    },
    Policy {
        reason: "C-05: the dealer must be able to answer on a channel that the consent permits",
        code: AapCode::ContactConsentRequired,
        stamp: "channel_not_permitted",
        holds: |lead| {
            let allowed: Vec<_> = lead["consent"]["allowed_channels"]
                .as_array()
                .map(|channels| channels.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            match lead["customer"]["preferred_contact"].as_str() {
                Some(wanted) if wanted != "any" && !allowed.contains(&wanted) => true,
                _ => !allowed.iter().any(|channel| {
                    let needs = if *channel == "email" { "email" } else { "phone" };
                    lead["customer"].get(needs).is_some()
                }),
            }
        },
    },
];

/// The code that the schema's units deserve (docs/requirements/aap.md, "Which code wins", 5 and 6).
fn code_of_units(skill: Skill, data: &Value, units: &[Unit]) -> Option<AapCode> {
    let absent = |(_, keyword, _): &Unit| matches!(keyword.as_str(), "required" | "anyOf");
    let other_vocabulary = |(at, keyword, _): &Unit| {
        let other: &[&str] = match at.as_str() {
            "/vehicle_of_interest/condition" => &["excellent", "good", "fair", "poor"],
            "/trade_in/condition" => &["new", "used", "cpo"],
            _ => &[],
        };
        let value = data.pointer(at).and_then(Value::as_str);
        keyword == "enum" && value.is_some_and(|value| other.contains(&value))
    };
    let of_consent = |(at, _, _): &Unit| at == "/consent" || at.starts_with("/consent/");
    if units.is_empty() {
        None
    } else if skill == Skill::LeadSubmit && data.is_object() && data.get("consent").is_none() {
        Some(AapCode::ContactConsentRequired)
    } else if skill == Skill::LeadSubmit && units.iter().any(of_consent) {
        Some(AapCode::InvalidConsent)
    } else if units.iter().all(absent) {
        Some(AapCode::MissingRequiredField)
    } else if units.iter().all(other_vocabulary) {
        Some(AapCode::InvalidCondition)
    } else {
        Some(AapCode::SchemaValidationFailed)
    }
}

/// Compares our verdict with the schemas'.
fn compare(version: Version, skill: Skill, data: &Value) -> Result<(), String> {
    let Some(oracle) = oracle::oracle() else {
        return Ok(());
    };
    let published = oracle.units(version, skill, data);
    let verdict = oracle::parse(version, skill, data);
    let by_policy = || {
        let rules = POLICIES.iter().filter(|_| skill == Skill::LeadSubmit);
        rules.into_iter().find(|rule| (rule.holds)(data))
    };
    let refusal = match verdict {
        Ok(()) if !published.is_empty() => return Err(format!("accepted, but {published:?}")),
        Ok(()) => {
            return match by_policy() {
                Some(rule) => Err(format!("accepted in spite of the rule: {}", rule.reason)),
                None => Ok(()),
            };
        }
        Err(refusal) => refusal,
    };
    if published.is_empty() && by_policy().is_none() && is_of_size(&refusal, data) {
        return Ok(());
    }
    let units: Vec<_> = published.iter().cloned().collect();
    let by_schema = code_of_units(skill, data, &units);
    // A grant that is well formed and not usable outranks the units of other members.
    let consent_rule = || by_policy().filter(|rule| rule.code == AapCode::InvalidConsent);
    let rule = match by_schema {
        None => by_policy(),
        Some(AapCode::ContactConsentRequired | AapCode::InvalidConsent) => None,
        Some(_) if data.is_object() => consent_rule(),
        Some(_) => None,
    };
    let expected = rule.map(|rule| rule.code).or(by_schema);
    if expected != Some(refusal.code) {
        return Err(format!("{} instead of {expected:?} for {published:?}", refusal.code));
    }
    if rule.is_some_and(|rule| stamp(&refusal) != Some(rule.stamp)) {
        return Err(format!("the details do not name the rule: {:?}", refusal.details));
    }
    same_units(&refusal, &published)
}

/// What the details say about a rule of ours.
fn stamp(refusal: &AapRefusal) -> Option<&str> {
    refusal.details.get("reason").and_then(Value::as_str)
}

/// Whether a refusal is about what the schema permits and is too large to be kept (C-51).
pub(crate) fn is_of_size(refusal: &AapRefusal, data: &Value) -> bool {
    let exceeds = |problem: &Problem| {
        let ProblemDetail::Limit(limit) = problem.extra else {
            return false;
        };
        let size = match (problem.keyword, data.pointer(&problem.pointer)) {
            (Keyword::MaxLength, Some(Value::String(text))) => text.chars().count(),
            (Keyword::MaxLength, Some(Value::Number(number))) => number.to_string().len(),
            (Keyword::MaxItems, Some(Value::Array(items))) => items.len(),
            (Keyword::MaxItems, Some(Value::Object(members))) => members.len(),
            _ => 0,
        };
        i64::try_from(size).unwrap() > limit
    };
    let listed = refusal.problems.listed();
    !listed.is_empty() && listed.iter().all(exceeds)
}

pub(crate) fn same_units(
    refusal: &AapRefusal,
    published: &std::collections::BTreeSet<Unit>,
) -> Result<(), String> {
    let listed = oracle::listed(refusal);
    if refusal.problems.total() != published.len() {
        return Err(format!("{} problems, not {}", refusal.problems.total(), published.len()));
    }
    let capped = published.len() > MAX_LISTED;
    let same = if capped {
        listed.len() == MAX_LISTED && listed.is_subset(published)
    } else {
        listed == *published
    };
    if !same {
        let ours: Vec<_> = listed.difference(published).collect();
        let theirs: Vec<_> = published.difference(&listed).collect();
        return Err(format!("only we say {ours:?}, only the schema says {theirs:?}"));
    }
    let consents: Vec<_> = refusal
        .problems
        .listed()
        .iter()
        .map(|problem| problem.pointer != "/consent" && !problem.pointer.starts_with("/consent/"))
        .collect();
    if refusal.code == AapCode::InvalidConsent && !consents.is_sorted() {
        return Err("the problems of the consent do not come first".into());
    }
    Ok(())
}

/// So many cases from a fixed seed; `PROPTEST_CASES` asks for more, `PROPTEST_RNG_SEED` for others.
#[expect(clippy::disallowed_methods, reason = "the person at the keyboard chooses")]
pub(crate) fn config(cases: u32) -> Config {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    Config {
        cases: number("PROPTEST_CASES").and_then(|n| u32::try_from(n).ok()).unwrap_or(cases),
        rng_seed: RngSeed::Fixed(number("PROPTEST_RNG_SEED").unwrap_or(20_260_501)),
        failure_persistence: None,
        ..Config::default()
    }
}

#[test]
fn every_seed_is_accepted_by_us_and_by_the_schemas() {
    for Seed { name, version, skill, data } in seeds::all() {
        assert_eq!(compare(version, skill, &data), Ok(()), "{name} {version}");
        let refusal = oracle::parse(version, skill, &data).err();
        assert_eq!(refusal, None, "{name} {version}");
    }
}

#[test]
fn damaged_requests_have_the_problems_that_the_schemas_find() {
    let seeds = seeds::all();
    let mut runner = TestRunner::new(config(4_000));
    let strategy = (0..seeds.len(), mutations());
    let result = runner.run(&strategy, |(index, mutations)| {
        let Seed { version, skill, mut data, .. } = seeds[index].clone();
        mutations.iter().for_each(|mutation| apply(&mut data, mutation));
        compare(version, skill, &data)
            .map_err(|reason| TestCaseError::fail(format!("{reason}\n{version} {data}")))
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

/// What random damage has found once is tried every time.
#[test]
fn what_was_found_once_stays_mended() {
    let number = |text: &str| tradepost_document::json::from_str::<Value>(text).unwrap();
    let found: &[(Version, Skill, &str, Value)] = &[
        (Version::V1_0, Skill::LeadSubmit, "/source_agent", "".into()),
        (Version::V1_0, Skill::InventoryVehicle, "/zip", 5.into()),
        (Version::V1_1, Skill::InventorySearch, "/filters/year_min", number("0.1")),
        (Version::V1_1, Skill::InventorySearch, "/filters/year_max", number("2100.00001")),
        (Version::V1_1, Skill::InventorySearch, "/sort/order", 5.into()),
        (Version::V1_1, Skill::LeadSubmit, "/trade_in/condition", Value::Null),
        (Version::V1_1, Skill::LeadSubmit, "/trade_in/electric_range_mi", number("-1e400")),
        (Version::V1_1, Skill::LeadSubmit, "/consent/allowed_channels/1", 5.into()),
    ];
    for (version, skill, pointer, value) in found {
        let is_it = |seed: &Seed| (seed.version, seed.skill) == (*version, *skill);
        let mut data = seeds::rich().into_iter().find(is_it).unwrap().data;
        *data.pointer_mut(pointer).unwrap() = value.clone();
        assert!(oracle::parse(*version, *skill, &data).is_err(), "{pointer} {value}");
        assert_eq!(compare(*version, *skill, &data), Ok(()), "{pointer} {value}");
    }
}

#[test]
fn every_rule_beyond_the_schemas_is_exercised() {
    let lead = seeds::rich().pop().unwrap();
    let changes: &[(&str, Value, &str)] = &[
        ("/consent/consent_text", " \u{a0}".into(), "blank_consent_text"),
        ("/consent/granted_at", "2026-05-01T12:05:01Z".into(), "granted_in_future"),
        ("/consent/expires_at", "2026-05-01T12:03:00Z".into(), "expires_before_grant"),
        ("/consent/expires_at", "2026-05-01T12:00:00Z".into(), "expired"),
        ("/consent/allowed_channels", tradepost_document::json::json!(["fax"]), "malformed"),
        ("/customer/preferred_contact", "sms".into(), "channel_not_permitted"),
    ];
    for (pointer, value, expected) in changes {
        let mut data = lead.data.clone();
        data["consent"]["allowed_channels"] = tradepost_document::json::json!(["email"]);
        if *expected == "expires_before_grant" {
            // Only within the clock skew can a grant that is yet to begin be about to end.
            data["consent"]["granted_at"] = "2026-05-01T12:04:00Z".into();
        }
        *data.pointer_mut(pointer).unwrap() = value.clone();
        let refusal = oracle::parse(lead.version, lead.skill, &data).unwrap_err();
        assert_eq!(stamp(&refusal), Some(*expected), "{pointer}");
        assert_eq!(compare(lead.version, lead.skill, &data), Ok(()), "{pointer}");
    }
}

#[test]
fn an_answer_lists_fifty_problems_and_counts_the_rest() {
    let Seed { version, skill, mut data, .. } = seeds::rich().remove(0);
    for n in 0..70 {
        data["filters"][format!("extra{n}")] = n.into();
    }
    let refusal = oracle::parse(version, skill, &data).unwrap_err();
    assert_eq!((refusal.problems.listed().len(), refusal.problems.total()), (50, 70));
    let body =
        tradepost_document::json::to_value(refusal.stamp(version, "e".into(), oracle::terms().now))
            .unwrap();
    assert_eq!(body["details"]["truncated"], true);
    assert_eq!(body["details"]["total"], 70);
}
