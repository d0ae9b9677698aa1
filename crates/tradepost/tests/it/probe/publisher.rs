//! The prober against our own publisher, of whose code it knows nothing.

use super::*;
use crate::support::publisher;

#[test]
fn our_own_publisher_has_grade_a_over_mcp_with_two_tenants_and_writing() {
    let seller = publisher::start();
    let token = |who| publisher::token(who);
    let asked = with(options(), |it| {
        it.profile = Some(check::Profile::Adcp);
        it.token = token("acme");
        it.token_b = token("nova");
        it.allow_writes = true;
    });
    let report = run(&format!("http://{}/mcp", seller.address), asked);
    assert_a(&report);
    let passed = report.findings.iter().filter(|it| it.verdict == check::Verdict::Pass).count();
    assert!(passed >= 75, "only {passed} checks passed");
    for measured in &report.measured {
        assert_eq!((measured.same_error, measured.same_body), (16, 16), "{measured}");
        assert_eq!((measured.same_status, measured.same_headers), (16, 16), "{measured}");
    }
}
