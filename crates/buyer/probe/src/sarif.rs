//! Report in SARIF 2.1.0 (OASIS), the format in which code scanning takes findings: a rule for each check that was run,
//! and a result for each failure. Checks that passed, warnings and checks that could not be made are no results.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};

use super::check::{Check, CheckVerdict, RequirementLevel};
use super::report::{AgentReport, CheckFinding};

/// Schema of the format.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Renders the report. `file` is the file to which code scanning attaches the results, as a path from the root of the
/// repository; without one they are at the address of the agent.
#[must_use]
pub fn write(report: &AgentReport, file: Option<&str>) -> String {
    let mut rules: Vec<&'static Check> = Vec::new();
    for finding in &report.findings {
        if !rules.iter().any(|known| known.id == finding.check.id) {
            rules.push(finding.check);
        }
    }
    let failures =
        report.findings.iter().filter(|one| matches!(one.verdict, CheckVerdict::Fail(_)));
    let results: Vec<Value> =
        failures.filter_map(|finding| result(finding, &rules, report, file)).collect();
    let listed: Vec<Value> = rules.iter().map(|check| rule(check)).collect();
    let stopped = report.stopped.as_ref().map(
        |why| json!([{"level": "warning", "message": {"text": format!("ended early: {why}")}}]),
    );
    let invocation = object!({
        // A failed check is a result; the run itself has failed when it could not judge the agent.
        "executionSuccessful": report.grade.is_some(),
        "endTimeUtc": report.probed_at.to_string(),
        "toolExecutionNotifications"?: stopped,
    });
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "tradepost probe",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": listed,
            }},
            "invocations": [invocation],
            "results": results,
            "properties": {
                "address": report.address, "grade": report.verdict(), "meaning": report.meaning(),
            },
        }],
    });
    tradepost_document::json::to_string_pretty(&document)
        .expect("a document of texts and numbers can be written")
}

fn rule(check: &Check) -> Value {
    json!({
        "id": check.id,
        "shortDescription": {"text": check.title},
        "fullDescription": {"text": format!("{} ({})", check.why, check.section)},
        "help": {"text": check.fix},
        "defaultConfiguration": {"level": level(check.level)},
        "properties": {
            "tags": [check.profile().name()],
            "requirement": check.level.name(), "section": check.section, "ids": check.requirements,
        },
    })
}

fn result(
    finding: &CheckFinding,
    rules: &[&Check],
    report: &AgentReport,
    file: Option<&str>,
) -> Option<Value> {
    let check = finding.check;
    let index = rules.iter().position(|rule| rule.id == check.id)?;
    let found = finding.verdict.text();
    let message = format!("{} on {}: {found}. Fix: {}", check.title, finding.on, check.fix);
    let waived = finding
        .waived
        .as_ref()
        .map(|reason| json!([{"kind": "external", "status": "accepted", "justification": reason}]));
    // The file is not what is wrong, so that no line of it is better than the first.
    let place = match file {
        Some(path) => json!({
            "artifactLocation": {"uri": uri(path), "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 1},
        }),
        None => json!({"artifactLocation": {"uri": uri(&report.address)}}),
    };
    Some(object!({
        "ruleId": check.id,
        "ruleIndex": index,
        "level": level(check.level),
        "message": {"text": plain(&message)},
        "locations": [{
            "physicalLocation": place,
            "logicalLocations": [{"name": finding.on, "kind": "resource"}],
        }],
        // Code scanning knows a finding again by this, however its text changes.
        "partialFingerprints": {"check/v1": format!("{} {}", check.id, finding.on)},
        "suppressions"?: waived,
    }))
}

fn level(level: RequirementLevel) -> &'static str {
    match level {
        RequirementLevel::Must => "error",
        RequirementLevel::Should => "warning",
        RequirementLevel::May => "note",
    }
}

/// Escapes the characters with which a message has links (SARIF §3.11.6).
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '[' | ']') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Returns a text as a URI reference: characters that URIs do not have are percent-encoded.
fn uri(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
