//! The AdCP catalog and error object against what is published.

use tradepost_adcp as adcp;
use tradepost_adcp::error::{AdcpCode, AdcpError, AdcpRelease, Issue, Recovery, RecoveryRule};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json};

use crate::published;

fn codes_of(release: AdcpRelease) -> Vec<&'static str> {
    let rows = AdcpCode::ALL.iter().filter(|code| code.since() == release);
    rows.map(|code| code.name()).collect()
}

#[test]
fn adcp_codes_and_their_recovery_are_as_published() {
    let Some(published) = published::json("spec/adcp/3.1/enums/error-code.json") else {
        return;
    };
    let names: Vec<_> = published["enum"].as_array().unwrap().iter().map(|v| v.as_str()).collect();
    let ours: Vec<_> =
        AdcpCode::ALL.iter().filter(|code| code.since() <= AdcpRelease::V3_1).collect();
    assert_eq!(names, ours.iter().map(|code| Some(code.name())).collect::<Vec<_>>());
    for code in ours {
        let metadata = &published["enumMetadata"][code.name()];
        assert_eq!(metadata["recovery"], code.recovery().name(), "{code}");
        let description = published["enumDescriptions"][code.name()].as_str().unwrap();
        assert_eq!(description.contains("**Deprecated**"), code.retired().is_some(), "{code}");
    }
}

/// The recovery class by the letter of the requirements.
fn of_letter(letter: &str) -> Option<Recovery> {
    match letter {
        "T" => Some(Recovery::Transient),
        "C" => Some(Recovery::Correctable),
        "X" => Some(Recovery::Terminal),
        _ => None,
    }
}

#[test]
fn adcp_codes_come_from_the_releases_that_the_requirements_name() {
    let Some(requirements) = published::text("requirements/adcp.md") else {
        return;
    };
    let rows = published::rows(&requirements, |cell| {
        AdcpCode::from_name(cell).is_some_and(|code| code.since() <= AdcpRelease::V3_1)
    });
    assert_eq!(rows.len(), 92);
    for row in rows {
        let code = AdcpCode::from_name(&row[0]).unwrap();
        assert_eq!(of_letter(&row[1]), Some(code.recovery()), "{code}");
        assert_eq!(row[2] == "y", code.since() == AdcpRelease::V3_0, "{code}: {}", row[2]);
    }
    let (_, added) = requirements.split_once("**3.2 adds (28):**").unwrap();
    let added = added.lines().next().unwrap();
    let listed: Vec<_> = added.split(['(', ')']).collect();
    let mut found = Vec::new();
    for pair in listed.windows(2) {
        let name = pair[0].rsplit([' ', ':', ',']).next().unwrap();
        if let Some(code) = AdcpCode::from_name(name)
            && let Some(recovery) = of_letter(pair[1])
        {
            assert_eq!(code.recovery(), recovery, "{code}");
            found.push(code.name());
        }
    }
    assert_eq!(found, codes_of(AdcpRelease::V3_2));
    let counts = AdcpRelease::ALL.iter().map(|release| codes_of(*release).len());
    assert_eq!(counts.collect::<Vec<_>>(), [45, 47, 28]);
}

#[test]
fn adcp_words_are_those_of_the_error_schema() {
    let Some(schema) = published::json("spec/adcp/3.1/core/error.json") else {
        return;
    };
    let words = |name: &str| schema["properties"][name]["enum"].clone();
    assert_eq!(words("recovery"), json!(Recovery::NAMES));
    assert_eq!(words("source"), json!(adcp::error::ErrorSource::NAMES));
    let delay = &schema["properties"]["retry_after"];
    assert_eq!(delay["minimum"], json!(adcp::error::RETRY_AFTER.start()));
    assert_eq!(delay["maximum"], json!(adcp::error::RETRY_AFTER.end()));
    assert_eq!(schema["properties"]["code"]["maxLength"], json!(adcp::error::MAX_CODE));
}

#[test]
fn adcp_statuses_and_decisions_are_those_of_the_published_enums() {
    let names = |path: &str| Some(published::json(path)?["enum"].clone());
    let Some(standing) = names("spec/adcp/3.1/enums/task-status.json") else {
        return;
    };
    assert_eq!(standing, json!(adcp::AdcpTaskStatus::NAMES));
    let decisions = names("spec/adcp/3.1/enums/governance-decision.json").unwrap();
    assert_eq!(decisions, json!(adcp::GovernanceDecision::NAMES));
}

#[test]
fn an_error_of_every_code_satisfies_the_error_schema() {
    let Some(schema) = published::json("spec/adcp/3.1/core/error.json") else {
        return;
    };
    let validator = jsonschema::validator_for(&(&schema).into()).unwrap();
    let check = |error: &AdcpError| {
        let written = tradepost_document::json::to_value(error).unwrap();
        let foreign = (&written).into();
        let problems: Vec<_> = validator.iter_errors(&foreign).map(|e| e.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new(), "{written}");
        assert_eq!(AdcpError::read(&written).as_ref(), Ok(error));
    };
    for code in AdcpCode::ALL.iter().copied() {
        check(&AdcpError::new(code, "no"));
    }
    let issue = Issue {
        pointer: "/packages/0/budget".into(),
        message: "must be a number".into(),
        keyword: "type".into(),
        schema_id: Some("/schemas/3.1.19/core/error.json".into()),
        schema_path: Some("#/type".into()),
        discriminator: vec![("type".into(), Value::from("x"))],
    };
    check(&AdcpError {
        field: Some("packages[0].budget".into()),
        suggestion: Some("send a number".into()),
        retry_after: Some(30),
        issues: vec![issue],
        details: json!({"accepted_values": [1]}).as_object().cloned().unwrap(),
        ..AdcpError::new(AdcpCode::ValidationError, "1 problem")
    });
}

#[test]
fn the_reserved_numbers_are_those_of_the_requirements() {
    let numbers: Vec<_> =
        AdcpCode::ALL.iter().filter_map(|code| Some((code.jsonrpc()?, code.name()))).collect();
    assert_eq!(
        numbers,
        [(-32028, "AUTH_MISSING"), (-32029, "RATE_LIMITED"), (-32027, "SERVICE_UNAVAILABLE")]
    );
}

#[test]
fn no_rule_contradicts_its_class_and_every_rule_is_used() {
    for rule in RecoveryRule::ALL.iter().copied() {
        let rows: Vec<_> = AdcpCode::ALL.iter().filter(|code| code.rule() == rule).collect();
        assert!(!rows.is_empty(), "{rule}");
        let expected = match rule {
            RecoveryRule::Class => continue,
            RecoveryRule::Throttled | RecoveryRule::Reread | RecoveryRule::InFlight => {
                Recovery::Transient
            }
            RecoveryRule::Renewal
            | RecoveryRule::Gate
            | RecoveryRule::Misconfigured
            | RecoveryRule::Leak
            | RecoveryRule::Never
            | RecoveryRule::Final => Recovery::Terminal,
            RecoveryRule::Advisory
            | RecoveryRule::Credentials
            | RecoveryRule::Context
            | RecoveryRule::NewKey
            | RecoveryRule::Reconcile
            | RecoveryRule::Scope
            | RecoveryRule::Strip
            | RecoveryRule::Permission
            | RecoveryRule::Billing
            | RecoveryRule::AgentBilling
            | RecoveryRule::Setup
            | RecoveryRule::Person
            | RecoveryRule::Action
            | RecoveryRule::Moved
            | RecoveryRule::Seller => Recovery::Correctable,
        };
        for code in rows {
            assert_eq!(code.recovery(), expected, "{code}");
        }
    }
}
