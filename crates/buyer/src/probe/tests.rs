//! Grades and reports, without an agent.

use expect_test::expect;

use super::check::Level;
use super::exchange::{Answered, Exchange, Sent};
use super::grade::{self, Grade};
use super::*;

fn finding(level: Level, verdict: Verdict) -> Finding {
    let check = checks().find(|check| check.level == level).unwrap();
    Finding { check, on: "JSONRPC".to_owned(), verdict, waived: None, exchanges: Vec::new() }
}

fn graded(musts: usize, broken: usize, shoulds_broken: usize, skipped: usize) -> Grade {
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
        (99, 0, 0, 101, Grade::B),
        (99, 1, 0, 0, Grade::C),
        (99, 5, 50, 0, Grade::C),
        (99, 6, 0, 0, Grade::D),
        (99, 15, 0, 0, Grade::D),
        (99, 16, 0, 0, Grade::E),
        (99, 30, 0, 0, Grade::E),
        (99, 31, 0, 0, Grade::F),
    ] {
        let grade = graded(musts, broken, shoulds, skipped);
        assert_eq!(grade, expected, "{broken} of {musts}, {shoulds}, {skipped}");
        assert_eq!(grade.breaks_a_must(), broken > 0);
    }
    assert_eq!(grade::of(&[], false), Grade::F);
}

#[test]
fn the_reports_for_machines_escape_what_an_agent_wrote() {
    let mut failed = finding(Level::Must, Verdict::Fail("<b>\u{1b}[31m & \"x\"".to_owned()));
    failed.exchanges.push(Exchange {
        request: Sent {
            method: "GET".to_owned(),
            url: "https://a.example/?<x>".to_owned(),
            headers: Vec::new(),
            body: String::new(),
        },
        answer: Some(Answered { status: 200, headers: Vec::new(), body: "</pre>".to_owned() }),
        failure: None,
    });
    let report = Report {
        address: "https://a.example".to_owned(),
        card_url: "https://a.example/.well-known/agent-card.json".to_owned(),
        agent: "A & B".to_owned(),
        agent_version: String::new(),
        probed_at: Timestamp::UNIX_EPOCH,
        grade: Grade::C,
        requests: 1,
        left_out: Vec::new(),
        measured: Vec::new(),
        findings: vec![failed, finding(Level::May, Verdict::Skipped("not <allowed>".to_owned()))],
    };
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="tradepost probe https://a.example: grade C" tests="2" failures="1">
          <testsuite name="JSONRPC" tests="2" failures="1" skipped="1">
            <testcase classname="MUST JSONRPC" name="a2a.card.served: The agent card is at its well-known address"><failure type="MUST" message="&lt;b&gt;?[31m &amp; &quot;x&quot;">A2A §8.2 (D-01). answer GET /.well-known/agent-card.json with 200 and an AgentCard as JSON</failure></testcase>
            <testcase classname="MAY JSONRPC" name="a2a.card.last-modified: The card says when it was changed"><skipped message="skipped: not &lt;allowed&gt;"/></testcase>
          </testsuite>
        </testsuites>
    "#]].assert_eq(&junit::write(&report));
    let page = html::write(&report);
    assert!(page.contains("<pre>HTTP 200\n\n&lt;/pre&gt;</pre>"), "{page}");
    assert!(page.contains("&lt;b&gt;\\u001b[31m &amp; &quot;x&quot;"), "{page}");
}
