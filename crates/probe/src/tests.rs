//! Grades and reports, without an agent.

use expect_test::expect;
use jiff::Timestamp;

use super::check::Level;
use super::exchange::{Answered, Exchange, Sent};
use super::grade::{self, Grade};
use super::*;

fn finding(level: Level, verdict: Verdict) -> Finding {
    let check = checks().find(|check| check.level == level).unwrap();
    Finding { check, on: "JSONRPC".to_owned(), verdict, waived: None, exchanges: Vec::new() }
}

fn graded(musts: usize, broken: usize, shoulds_broken: usize, skipped: usize) -> Option<Grade> {
    let wrong = || Verdict::Fail("x".to_owned());
    let mut findings = Vec::new();
    findings.extend((0..musts - broken).map(|_| finding(Level::Must, Verdict::Pass)));
    findings.extend((0..broken).map(|_| finding(Level::Must, wrong())));
    findings.extend((0..shoulds_broken).map(|_| finding(Level::Should, wrong())));
    findings.push(finding(Level::May, wrong()));
    findings.push(finding(Level::Must, Verdict::Warn("x".to_owned())));
    let left = || Verdict::Skipped("x".to_owned());
    findings.extend((0..skipped).map(|_| finding(Level::Must, left())));
    grade::of(&findings, true)
}

#[test]
fn musts_decide_and_shoulds_cost_one_grade_at_most() {
    for (musts, broken, shoulds, skipped, expected) in [
        (99, 0, 0, 0, Grade::A),
        (99, 0, 1, 0, Grade::B),
        (99, 0, 50, 0, Grade::B),
        (99, 0, 0, 100, Grade::A),
        (99, 1, 0, 0, Grade::C),
        (99, 5, 50, 0, Grade::C),
        (99, 6, 0, 0, Grade::D),
        (99, 15, 0, 0, Grade::D),
        (99, 16, 0, 0, Grade::E),
        (99, 30, 0, 0, Grade::E),
        (99, 31, 0, 0, Grade::F),
    ] {
        let grade = graded(musts, broken, shoulds, skipped);
        assert_eq!(grade, Some(expected), "{broken} of {musts}, {shoulds}, {skipped}");
        assert_eq!(expected.breaks_a_must(), broken > 0);
    }
    assert_eq!(grade::of(&[], false), Some(Grade::F));
}

#[test]
fn who_could_look_at_fewer_than_half_of_the_musts_gives_no_grade() {
    // One of the MUSTs that were looked at is a warning.
    for (musts, broken, skipped, expected) in [
        (99, 0, 101, None),
        (9, 0, 10, Some(Grade::A)),
        (9, 0, 11, None),
        (9, 9, 11, None),
        (0, 0, 2, None),
    ] {
        assert_eq!(graded(musts, broken, 0, skipped), expected, "{musts} and {skipped} skipped");
    }
    assert_eq!(grade::of(&[], true), None, "there is nothing to go by");
}

fn failed(level: Level, text: &str) -> Finding {
    finding(level, Verdict::Fail(text.to_owned()))
}

/// A report with a failure of each level, a check that was kept, and one that was not looked at.
fn report() -> Report {
    let mut broken = failed(Level::Must, "<b>\u{1b}[31m & \"x\"");
    broken.exchanges.push(Exchange {
        request: Sent {
            method: "GET".to_owned(),
            url: "https://a.example/?<x>".to_owned(),
            headers: Vec::new(),
            body: String::new(),
        },
        answer: Some(Answered { status: 200, headers: Vec::new(), body: "</pre>".to_owned() }),
        failure: None,
    });
    Report {
        address: "https://a.example".to_owned(),
        card_url: "https://a.example/.well-known/agent-card.json".to_owned(),
        agent: "A & B".to_owned(),
        agent_version: String::new(),
        probed_at: Timestamp::UNIX_EPOCH,
        grade: Some(Grade::C),
        stopped: None,
        requests: 1,
        left_out: Vec::new(),
        measured: Vec::new(),
        findings: vec![
            failed(Level::May, "no date"),
            failed(Level::Should, "100%\n::error::not yours, @you | `x`"),
            broken,
            finding(Level::Must, Verdict::Pass),
            finding(Level::May, Verdict::Skipped("not <allowed>".to_owned())),
        ],
    }
}

#[test]
fn in_junit_only_a_broken_must_is_a_failure_and_every_test_has_its_level() {
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="tradepost probe https://a.example: grade C" tests="5" failures="1" errors="0">
          <testsuite name="JSONRPC" tests="5" failures="1" errors="0" skipped="3">
            <testcase classname="MAY JSONRPC" name="a2a.card.last-modified: The card says when it was changed"><properties><property name="level" value="MAY"/></properties><skipped message="MAY not done: no date"/><system-out>A2A §8.6.1 (D-05). send Last-Modified</system-out></testcase>
            <testcase classname="SHOULD JSONRPC" name="a2a.card.content-type: The card is served as JSON"><properties><property name="level" value="SHOULD"/></properties><skipped message="SHOULD not kept: 100% ::error::not yours, @you | `x`"/><system-out>A2A §8.2 (D-01, CT-01). send Content-Type: application/json</system-out></testcase>
            <testcase classname="MUST JSONRPC" name="a2a.card.served: The agent card is at its well-known address"><properties><property name="level" value="MUST"/></properties><failure type="MUST" message="&lt;b&gt;?[31m &amp; &quot;x&quot;">A2A §8.2 (D-01). answer GET /.well-known/agent-card.json with 200 and an AgentCard as JSON</failure></testcase>
            <testcase classname="MUST JSONRPC" name="a2a.card.served: The agent card is at its well-known address"><properties><property name="level" value="MUST"/></properties></testcase>
            <testcase classname="MAY JSONRPC" name="a2a.card.last-modified: The card says when it was changed"><properties><property name="level" value="MAY"/></properties><skipped message="not looked at: not &lt;allowed&gt;"/></testcase>
          </testsuite>
        </testsuites>
    "#]].assert_eq(&junit::write(&report()));
}

#[test]
fn without_a_grade_junit_has_an_error() {
    let mut thin = report();
    (thin.grade, thin.findings) =
        (None, vec![finding(Level::Must, Verdict::Skipped("x".to_owned()))]);
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="tradepost probe https://a.example: no grade" tests="2" failures="0" errors="1">
          <testsuite name="grade" tests="1" failures="0" errors="1" skipped="0">
            <testcase classname="grade" name="enough could be looked at for a grade"><error type="no grade" message="only 0 of 1 MUSTs could be looked at"/></testcase>
          </testsuite>
          <testsuite name="JSONRPC" tests="1" failures="0" errors="0" skipped="1">
            <testcase classname="MUST JSONRPC" name="a2a.card.served: The agent card is at its well-known address"><properties><property name="level" value="MUST"/></properties><skipped message="not looked at: x"/></testcase>
          </testsuite>
        </testsuites>
    "#]].assert_eq(&junit::write(&thin));
}

#[test]
fn annotations_have_the_level_of_the_requirement_and_stay_one_command_each() {
    expect![[r#"
        ::error title=MUST is broken%3A a2a.card.served on JSONRPC::The agent card is at its well-known address (A2A §8.2)%0Afound: <b>[31m & "x"%0Amend: answer GET /.well-known/agent-card.json with 200 and an AgentCard as JSON
        ::warning title=SHOULD is not kept%3A a2a.card.content-type on JSONRPC::The card is served as JSON (A2A §8.2)%0Afound: 100%25%0A::error::not yours, @you | `x`%0Amend: send Content-Type: application/json
        ::notice title=MAY is not done%3A a2a.card.last-modified on JSONRPC::The card says when it was changed (A2A §8.6.1)%0Afound: no date%0Amend: send Last-Modified
        ::error title=tradepost probe::https://a.example: grade C: breaks a few MUSTs
    "#]].assert_eq(&github::write(&report()));
}

#[test]
fn a_summary_in_markdown_begins_with_what_to_mend() {
    expect![[r###"
        ## A &amp; B: grade C

        https&#58;//a.example breaks a few MUSTs.

        ### What to mend

        | | check | found | mend |
        |---|---|---|---|
        | **MUST** | The agent card is at its well-known address `a2a.card.served` on JSONRPC (A2A §8.2) | &lt;b&gt;\\u001b\[31m &amp; "x" | answer GET /.well-known/agent-card.json with 200 and an AgentCard as JSON |
        | **SHOULD** | The card is served as JSON `a2a.card.content-type` on JSONRPC (A2A §8.2) | 100% ::error::not yours, &#64;you \| \`x\` | send Content-Type: application/json |
        | **MAY** | The card says when it was changed `a2a.card.last-modified` on JSONRPC (A2A §8.6.1) | no date | send Last-Modified |

        ### Counts

        | | kept | with a warning | not kept | waived | not looked at | does not apply |
        |---|---|---|---|---|---|---|
        | MUST | 1 | 0 | 1 | 0 | 0 | 0 |
        | SHOULD | 0 | 0 | 1 | 0 | 0 | 0 |
        | MAY | 0 | 0 | 1 | 0 | 1 | 0 |

        ### Not looked at

        - 1 check: not &lt;allowed&gt;

        1 requests.
    "###]].assert_eq(&markdown::write(&report()));
}

#[test]
fn the_page_begins_with_what_to_mend_has_words_for_verdicts_and_tells_must_from_may() {
    let page = html::write(&report());
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not in {page}"));
    let must = place("<b class=\"word fail\">MUST broken</b>");
    let should = place("<b class=\"word should\">SHOULD not kept</b>");
    let may = place("<b class=\"word may\">MAY not done</b>");
    let counts = place("<section class=\"levels\">");
    assert!(place("What to mend") < must && must < should && should < may && may < counts);
    for row in [
        "<span class=\"word fail\">broken</span>",
        "<span class=\"word may\">not done</span>",
        "<span class=\"word pass\">kept</span>",
        "<span class=\"word skipped\">not looked at</span>",
        "data-filter=\"may\" aria-pressed=\"true\" class=\"may\">MAY not done <b>1</b>",
    ] {
        place(row);
    }
    // What the agent wrote stays text.
    place("<pre>HTTP 200\n\n&lt;/pre&gt;</pre>");
    place("&lt;b&gt;\\u001b[31m &amp; &quot;x&quot;");
}
