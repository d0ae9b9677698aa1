//! The prober against our own publisher, of whose code it knows nothing.

use super::*;
use crate::support::{publisher, stateless};

#[test]
fn our_publisher_has_grade_a_by_what_its_card_says() {
    let seller = publisher::start();
    let token = |who| publisher::token(who);
    let asked = with(options(), |options| {
        options.profile = None;
        options.token = token("acme");
    });
    // The publisher's time passes with the run: else the wrong credentials of both bindings would come at once,
    // and be refused for coming too often.
    let mut step = || seller.hand.advance(jiff::SignedDuration::from_secs(1));
    let report = run_while(&in_front_of(seller.address), asked, &mut step);
    assert_a(&report);
    let verdict = |id: &str| {
        let found = report.findings.iter().find(|finding| finding.check.id == id);
        found.map(|finding| finding.verdict.clone())
    };
    assert_eq!(verdict("a2a.input.media-type"), Some(check::CheckVerdict::Pass));
}

#[test]
fn our_publisher_has_grade_a_over_mcp_with_writing() {
    let seller = publisher::start();
    let token = |who| publisher::token(who);
    let asked = with(options(), |options| {
        options.profile = Some(check::CheckProfile::Adcp);
        options.token = token("acme");
        options.token_b = token("nova");
        options.allow_writes = true;
    });
    let report = run(&format!("http://{}/mcp", seller.address), asked);
    assert_a(&report);
    let passed = report
        .findings
        .iter()
        .filter(|finding| finding.verdict == check::CheckVerdict::Pass)
        .count();
    assert!(passed >= 75, "only {passed} checks passed");
    for measured in &report.measured {
        assert_eq!((measured.same_error, measured.same_body), (16, 16), "{measured}");
        assert_eq!((measured.same_status, measured.same_headers), (16, 16), "{measured}");
    }
}

#[test]
fn a_seller_of_the_newest_mcp_alone_has_grade_a() {
    let seller = publisher::start();
    let asked = with(options(), |options| {
        options.profile = Some(check::CheckProfile::Adcp);
        options.token = publisher::token("acme");
        options.token_b = publisher::token("nova");
    });
    let report = run(&format!("{}/mcp", stateless::start(seller.address)), asked);
    assert_a(&report);
    let passed = |id: &str| {
        let mut findings = report.findings.iter().filter(|finding| finding.check.id == id);
        findings.any(|finding| finding.verdict == check::CheckVerdict::Pass)
    };
    for id in ["adcp.served", "adcp.mcp.initialize", "adcp.mcp.tools", "adcp.tools.identical"] {
        assert!(passed(id), "{id}");
    }
}
