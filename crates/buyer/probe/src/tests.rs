//! Tests of grades and reports, without an agent.

use expect_test::expect;
use jiff::Timestamp;

use super::check::RequirementLevel;
use super::exchange::{RecordedExchange, RecordedRequest, RecordedResponse};
use super::grade::{self, Grade, Ungraded};
use super::*;

fn finding(level: RequirementLevel, verdict: CheckVerdict) -> CheckFinding {
    let check = checks().find(|check| check.level == level).unwrap();
    CheckFinding { check, on: "JSONRPC".to_owned(), verdict, waived: None, exchanges: Vec::new() }
}

/// Numbers of findings of MUSTs, in addition to one warning of a MUST and one failed MAY.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    kept: usize,
    broken: usize,
    shoulds_broken: usize,
    /// MUSTs that the operator skipped.
    skipped: usize,
    /// MUSTs that could not be checked because of the agent's answers.
    not_looked_at: usize,
}

fn graded(seen: Seen) -> Option<Grade> {
    let text = || "x".to_owned();
    let mut findings = vec![
        finding(RequirementLevel::May, CheckVerdict::Fail(text())),
        finding(RequirementLevel::Must, CheckVerdict::Warn(text())),
    ];
    for (count, level, verdict) in [
        (seen.kept, RequirementLevel::Must, CheckVerdict::Pass),
        (seen.broken, RequirementLevel::Must, CheckVerdict::Fail(text())),
        (seen.shoulds_broken, RequirementLevel::Should, CheckVerdict::Fail(text())),
        (seen.skipped, RequirementLevel::Must, CheckVerdict::Skipped(text())),
        (seen.not_looked_at, RequirementLevel::Must, CheckVerdict::NotLookedAt(text())),
    ] {
        findings.extend((0..count).map(|_| finding(level, verdict.clone())));
    }
    grade::compute(&findings)
}

#[test]
fn musts_decide_and_shoulds_cost_one_grade_at_most() {
    for (broken, shoulds_broken, skipped, expected) in [
        (0, 0, 0, Grade::A),
        (0, 1, 0, Grade::B),
        (0, 50, 0, Grade::B),
        (0, 0, 100, Grade::A),
        (1, 0, 0, Grade::C),
        (5, 50, 0, Grade::C),
        (6, 0, 0, Grade::D),
        (15, 0, 0, Grade::D),
        (16, 0, 0, Grade::E),
        (30, 0, 0, Grade::E),
        (31, 0, 0, Grade::F),
    ] {
        let seen = Seen { kept: 99 - broken, broken, shoulds_broken, skipped, not_looked_at: 0 };
        assert_eq!(graded(seen), Some(expected), "{seen:?}");
        assert_eq!(expected.breaks_a_must(), broken > 0);
    }
}

#[test]
fn unchecked_requirements_cost_the_a_and_then_the_grade() {
    // Including the warning, 90 MUSTs were checked.
    for (not_looked_at, skipped, broken, expected) in [
        (10, 0, 0, Some(Grade::A)),
        (11, 0, 0, Some(Grade::B)),
        (90, 0, 0, Some(Grade::B)),
        (91, 0, 0, None),
        // Skipped checks are reported, and cost the grade only when they are more than half.
        (10, 80, 0, Some(Grade::A)),
        (11, 79, 0, Some(Grade::B)),
        (11, 80, 0, None),
        (0, 91, 0, None),
        // A violated MUST is not hidden by others that could not be checked.
        (11, 0, 1, Some(Grade::C)),
    ] {
        let kept = 89 - broken;
        let seen = Seen { kept, broken, shoulds_broken: 0, skipped, not_looked_at };
        assert_eq!(graded(seen), expected, "{seen:?}");
    }
    assert_eq!(grade::compute(&[]), None, "there is nothing to go by");
}

#[test]
fn the_meaning_of_a_b_says_what_was_unchecked() {
    let left =
        || finding(RequirementLevel::Must, CheckVerdict::NotLookedAt("it refuses".to_owned()));
    let mut thin = report();
    thin.findings = vec![
        finding(RequirementLevel::Must, CheckVerdict::Pass),
        finding(RequirementLevel::Must, CheckVerdict::Pass),
        left(),
        finding(RequirementLevel::Must, CheckVerdict::Skipped("no token".to_owned())),
    ];
    thin.grade = grade::compute(&thin.findings);
    assert_eq!(thin.verdict(), "grade B");
    assert_eq!(
        thin.meaning(),
        "keeps every MUST and every SHOULD that was looked at; 1 of 3 MUSTs could not be looked at, \
         too many for an A"
    );
    let unjudged = thin.unjudged();
    let reasons: Vec<_> =
        unjudged.iter().map(|group| (group.reason, group.by_agent, group.checks)).collect();
    assert_eq!(reasons, [("it refuses", true, 1), ("no token", false, 1)]);
    thin.findings.extend([left(), left()]);
    thin.grade = grade::compute(&thin.findings);
    assert_eq!(thin.ungraded(), Some(Ungraded::NotLookedAt));
    let meaning = "only 2 of 6 MUSTs were looked at, and a grade needs half of them";
    assert_eq!(thin.meaning(), meaning);
}

fn failed(level: RequirementLevel, text: &str) -> CheckFinding {
    finding(level, CheckVerdict::Fail(text.to_owned()))
}

/// Returns a report with a failure of each level, a satisfied check, and one that could not be checked.
fn report() -> AgentReport {
    let mut broken = failed(RequirementLevel::Must, "<b>\u{1b}[31m & \"x\"");
    broken.exchanges.push(RecordedExchange {
        request: RecordedRequest {
            method: "GET".to_owned(),
            url: "https://a.example/?<x>".to_owned(),
            headers: Vec::new(),
            body: String::new(),
        },
        answer: Some(RecordedResponse {
            status: 200,
            headers: Vec::new(),
            body: "</pre>".to_owned(),
        }),
        failure: None,
    });
    AgentReport {
        address: "https://a.example".to_owned(),
        card_url: "https://a.example/.well-known/agent-card.json".to_owned(),
        agent: "A & B".to_owned(),
        agent_version: String::new(),
        probed_at: Timestamp::UNIX_EPOCH,
        grade: Some(Grade::C),
        no_agent: None,
        stopped: None,
        requests: 1,
        left_out: Vec::new(),
        measured: Vec::new(),
        findings: vec![
            failed(RequirementLevel::May, "no date"),
            failed(RequirementLevel::Should, "100%\n::error::not yours, @you | `x`"),
            broken,
            finding(RequirementLevel::Must, CheckVerdict::Pass),
            finding(RequirementLevel::May, CheckVerdict::Skipped("not <allowed>".to_owned())),
            finding(RequirementLevel::Must, CheckVerdict::NotLookedAt("it <refuses>".to_owned())),
        ],
    }
}

#[test]
fn junit_fails_only_broken_musts_and_has_every_level() {
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="tradepost probe https://a.example: grade C" tests="6" failures="1" errors="0">
          <testsuite name="JSONRPC" tests="6" failures="1" errors="0" skipped="4">
            <testcase classname="MAY JSONRPC" name="a2a.card.last-modified: The card says when it was changed"><properties><property name="level" value="MAY"/></properties><skipped message="MAY not done: no date"/><system-out>A2A §8.6.1 (D-05). send Last-Modified</system-out></testcase>
            <testcase classname="SHOULD JSONRPC" name="a2a.card.content-type: The card is served as JSON"><properties><property name="level" value="SHOULD"/></properties><skipped message="SHOULD not kept: 100% ::error::not yours, @you | `x`"/><system-out>A2A §8.2 (D-01, CT-01). send Content-Type: application/json</system-out></testcase>
            <testcase classname="MUST JSONRPC" name="a2a.card.served: The agent card is at its well-known address"><properties><property name="level" value="MUST"/></properties><failure type="MUST" message="&lt;b&gt;?[31m &amp; &quot;x&quot;">A2A §8.2 (D-01). answer GET /.well-known/agent-card.json with 200 and an AgentCard as JSON</failure></testcase>
            <testcase classname="MUST JSONRPC" name="a2a.card.served: The agent card is at its well-known address"><properties><property name="level" value="MUST"/></properties></testcase>
            <testcase classname="MAY JSONRPC" name="a2a.card.last-modified: The card says when it was changed"><properties><property name="level" value="MAY"/></properties><skipped message="skipped: not &lt;allowed&gt;"/></testcase>
            <testcase classname="MUST JSONRPC" name="a2a.card.served: The agent card is at its well-known address"><properties><property name="level" value="MUST"/></properties><skipped message="not looked at: it &lt;refuses&gt;"/></testcase>
          </testsuite>
        </testsuites>
    "#]].assert_eq(&junit::write(&report()));
}

#[test]
fn without_a_grade_junit_has_an_error() {
    let mut thin = report();
    thin.grade = None;
    thin.findings = vec![finding(RequirementLevel::Must, CheckVerdict::Skipped("x".to_owned()))];
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="tradepost probe https://a.example: no grade" tests="2" failures="0" errors="1">
          <testsuite name="grade" tests="1" failures="0" errors="1" skipped="0">
            <testcase classname="grade" name="enough could be looked at for a grade"><error type="no grade" message="only 0 of 1 MUSTs were looked at, and a grade needs half of them"/></testcase>
          </testsuite>
          <testsuite name="JSONRPC" tests="1" failures="0" errors="0" skipped="1">
            <testcase classname="MUST JSONRPC" name="a2a.card.served: The agent card is at its well-known address"><properties><property name="level" value="MUST"/></properties><skipped message="skipped: x"/></testcase>
          </testsuite>
        </testsuites>
    "#]].assert_eq(&junit::write(&thin));
}

#[test]
fn annotations_have_the_requirements_level_in_one_command_each() {
    expect![[r#"
        ::error title=MUST is broken%3A a2a.card.served on JSONRPC::The agent card is at its well-known address (A2A §8.2)%0Afound: <b>[31m & "x"%0Afix: answer GET /.well-known/agent-card.json with 200 and an AgentCard as JSON
        ::warning title=SHOULD is not kept%3A a2a.card.content-type on JSONRPC::The card is served as JSON (A2A §8.2)%0Afound: 100%25%0A::error::not yours, @you | `x`%0Afix: send Content-Type: application/json
        ::notice title=MAY is not done%3A a2a.card.last-modified on JSONRPC::The card says when it was changed (A2A §8.6.1)%0Afound: no date%0Afix: send Last-Modified
        ::error title=tradepost probe::https://a.example: grade C: breaks a few MUSTs
    "#]].assert_eq(&github::write(&report()));
}

#[test]
fn a_summary_in_markdown_begins_with_what_to_fix() {
    expect![[r###"
        ## A &amp; B: grade C

        https&#58;//a.example breaks a few MUSTs.

        ### What to fix

        | | check | found | fix |
        |---|---|---|---|
        | **MUST** | The agent card is at its well-known address `a2a.card.served` on JSONRPC (A2A §8.2) | &lt;b&gt;\\u001b\[31m &amp; "x" | answer GET /.well-known/agent-card.json with 200 and an AgentCard as JSON |
        | **SHOULD** | The card is served as JSON `a2a.card.content-type` on JSONRPC (A2A §8.2) | 100% ::error::not yours, &#64;you \| \`x\` | send Content-Type: application/json |
        | **MAY** | The card says when it was changed `a2a.card.last-modified` on JSONRPC (A2A §8.6.1) | no date | send Last-Modified |

        ### Counts

        | | kept | with a warning | not kept | waived | not looked at | skipped | does not apply |
        |---|---|---|---|---|---|---|---|
        | MUST | 1 | 0 | 1 | 0 | 1 | 0 | 0 |
        | SHOULD | 0 | 0 | 1 | 0 | 0 | 0 | 0 |
        | MAY | 0 | 0 | 1 | 0 | 0 | 1 | 0 |

        ### Not looked at

        - 1 check: it &lt;refuses&gt;
        - 1 check skipped: not &lt;allowed&gt;

        1 requests.
    "###]].assert_eq(&markdown::write(&report()));
}

#[test]
fn the_page_begins_with_what_to_fix_and_explains_verdicts() {
    let page = html::write(&report());
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in {page}"));
    let must = place("<b class=\"word fail\">MUST broken</b>");
    let should = place("<b class=\"word should\">SHOULD not kept</b>");
    let may = place("<b class=\"word may\">MAY not done</b>");
    let counts = place("<section class=\"levels\">");
    assert!(place("What to fix") < must && must < should && should < may && may < counts);
    for row in [
        "<span class=\"word fail\">broken</span>",
        "<span class=\"word may\">not done</span>",
        "<span class=\"word pass\">kept</span>",
        "<span class=\"word skipped\">skipped</span>",
        "<span class=\"word not_looked_at\">not looked at</span>",
        "data-filter=\"may\" aria-pressed=\"true\" class=\"may\">MAY not done <b>1</b>",
    ] {
        place(row);
    }
    // Text of the agent stays text.
    place("<pre>HTTP 200\n\n&lt;/pre&gt;</pre>");
    place("&lt;b&gt;\\u001b[31m &amp; &quot;x&quot;");
}

/// Returns the mistakes of a document by the rules of SARIF 2.1.0 (§3.13 and on) for what this format uses.
fn sarif_mistakes(log: &Value) -> Vec<String> {
    let mut mistakes = Vec::new();
    let mut require = |is_kept: bool, rule: &str| {
        if !is_kept {
            mistakes.push(rule.to_owned());
        }
    };
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    require(text(log.get("version")).as_deref() == Some("2.1.0"), "§3.13.2 version is 2.1.0");
    let runs = list(log.get("runs"));
    require(!runs.is_empty(), "§3.13.4 runs");
    for run in &runs {
        let driver = run.pointer("/tool/driver");
        let name = text(driver.and_then(|driver| driver.get("name")));
        require(name.is_some_and(|name| !name.is_empty()), "§3.19.8 the driver has a name");
        let rules = list(driver.and_then(|driver| driver.get("rules")));
        let ids: Vec<_> = rules.iter().map(|rule| text(rule.get("id"))).collect();
        let once = |id| ids.iter().filter(|other| *other == id).count() == 1;
        require(ids.iter().all(|id| id.is_some() && once(id)), "§3.49.3 ids of rules are unique");
        for rule in &rules {
            for member in ["shortDescription", "fullDescription", "help"] {
                let said = text(rule.pointer(&format!("/{member}/text")));
                require(said.is_some_and(|said| !said.is_empty()), "§3.12.3 messages have a text");
            }
        }
        for invocation in list(run.get("invocations")) {
            let done = invocation.get("executionSuccessful").and_then(Value::as_bool);
            require(done.is_some(), "§3.20.14 executionSuccessful is a boolean");
            let end = text(invocation.get("endTimeUtc")).unwrap_or_default();
            require(
                end.ends_with('Z') && end.parse::<Timestamp>().is_ok(),
                "§3.9 times are in UTC",
            );
        }
        require(run.get("results").is_some_and(Value::is_array), "§3.14.23 results");
        for result in list(run.get("results")) {
            let said = text(result.pointer("/message/text"));
            require(said.is_some_and(|said| !said.is_empty()), "§3.27.11 results have a message");
            let rule = result
                .get("ruleIndex")
                .and_then(Value::as_u64)
                .and_then(|index| ids.get(usize::try_from(index).unwrap()).cloned().flatten());
            require(rule.is_some() && rule == text(result.get("ruleId")), "§3.27.6 ruleIndex");
            let level = text(result.get("level")).unwrap_or_default();
            require(["none", "note", "warning", "error"].contains(&&*level), "§3.27.10 level");
            for location in list(result.get("locations")) {
                let place = location.pointer("/physicalLocation/artifactLocation");
                let uri = text(place.and_then(|place| place.get("uri"))).unwrap_or_default();
                let is_uri = !uri.is_empty() && uri.bytes().all(|byte| byte.is_ascii_graphic());
                require(is_uri && !uri.contains(['<', '>', '"', '\\']), "§3.4.3 uri");
                let based = place.is_some_and(|place| place.get("uriBaseId").is_some());
                require(!(based && uri.contains("://")), "§3.4.4 a base is for relative URIs");
            }
            for suppression in list(result.get("suppressions")) {
                let kind = text(suppression.get("kind")).unwrap_or_default();
                require(["inSource", "external"].contains(&&*kind), "§3.35.2 kind");
            }
        }
    }
    mistakes
}

#[test]
fn sarif_has_rules_for_checks_and_results_for_failures() {
    let mut report = report();
    report.findings[1].waived = Some("ours".to_owned());
    report.stopped = Some("the deadline passed".to_owned());
    for file in [None, Some("agents/a <b>.toml")] {
        let log: Value = tradepost_document::json::from_str(&sarif::write(&report, file)).unwrap();
        assert_eq!(sarif_mistakes(&log), Vec::<String>::new(), "{log:#?}");
    }
    let log: Value = tradepost_document::json::from_str(&sarif::write(&report, None)).unwrap();
    let results = log.pointer("/runs/0/results").and_then(Value::as_array).unwrap();
    let facts: Vec<_> = results
        .iter()
        .map(|result| {
            let text =
                |member: &str| result.get(member).and_then(Value::as_str).unwrap().to_owned();
            (text("ruleId"), text("level"), result.get("suppressions").is_some())
        })
        .collect();
    assert_eq!(
        facts,
        [
            ("a2a.card.last-modified".to_owned(), "note".to_owned(), false),
            ("a2a.card.content-type".to_owned(), "warning".to_owned(), true),
            ("a2a.card.served".to_owned(), "error".to_owned(), false),
        ]
    );
    // A text of the agent cannot become a link.
    report.findings = vec![failed(RequirementLevel::Must, "[x](https://evil.example)")];
    assert!(sarif::write(&report, None).contains(r"\\[x\\](https://evil.example)"));
    let rules = log.pointer("/runs/0/tool/driver/rules").and_then(Value::as_array).unwrap();
    assert_eq!(rules.len(), 3, "two checks were run twice");
}

#[test]
fn the_rules_of_sarif_find_what_breaks_them() {
    let sound = sarif::write(&report(), None);
    for (from, to) in [
        ("\"version\": \"2.1.0\"", "\"version\": \"2.0\""),
        ("\"level\": \"error\"", "\"level\": \"fatal\""),
        ("\"ruleIndex\": 0", "\"ruleIndex\": 2"),
        ("\"executionSuccessful\": true", "\"executionSuccessful\": \"yes\""),
        ("\"uri\": \"https://a.example\"", "\"uri\": \"a b\""),
        ("\"id\": \"a2a.card.served\"", "\"id\": \"a2a.card.content-type\""),
    ] {
        let damaged = sound.replace(from, to);
        assert_ne!(damaged, sound, "{from}");
        let log: Value = tradepost_document::json::from_str(&damaged).unwrap();
        assert!(!sarif_mistakes(&log).is_empty(), "{to}");
    }
}

#[test]
fn a_badge_has_the_grade_in_both_forms() {
    let mut report = report();
    expect![[r##"
        {
          "schemaVersion": 1,
          "label": "agent conformance",
          "message": "grade C",
          "color": "8a6d00"
        }
    "##]]
    .assert_eq(&badge::endpoint(&report));
    let svg = badge::svg(&report);
    assert!(svg.contains("aria-label=\"agent conformance: grade C\"") && svg.contains("#8a6d00"));
    assert!(html::write(&report).contains(svg.trim_end()), "the page has the badge");
    report.grade = None;
    let svg = badge::svg(&report);
    assert!(svg.contains(">no grade</text>") && !svg.contains("#8a6d00"), "{svg}");
}
