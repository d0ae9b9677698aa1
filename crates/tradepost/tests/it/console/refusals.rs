//! What was refused, as people see it and look for it.

use tradepost_store::refusals::{RefusalCount, RefusalRecord};

use super::*;

fn refusal(id: &str, dealer: &str, code: &str) -> RefusalRecord {
    RefusalRecord {
        error_id: id.to_owned(),
        agent_id: dealer.to_owned(),
        at: at(NOW),
        code: code.to_owned(),
        operation: Some("lead.submit".to_owned()),
        caller: "anonymous".to_owned(),
        misfits: vec![("/consent/allowed_channels".to_owned(), "required".to_owned())],
    }
}

fn count(dealer: &str, days_ago: i64, code: &str, refused: i64) -> RefusalCount {
    let hour = at(NOW) - SignedDuration::from_hours(24 * days_ago);
    RefusalCount { agent_id: dealer.to_owned(), hour, code: code.to_owned(), refused }
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let refusals = [
        refusal("err_one", ONE, "MISSING_REQUIRED_FIELD"),
        refusal("err_two", ONE, "VEHICLE_NOT_FOUND"),
        refusal("err_theirs", TWO, "INVALID_CONSENT"),
    ];
    let counts = [
        count(ONE, 0, "MISSING_REQUIRED_FIELD", 3),
        count(ONE, 0, "VEHICLE_NOT_FOUND", 1_200),
        count(ONE, 2, "VEHICLE_NOT_FOUND", 1),
        count(ONE, 40, "VEHICLE_NOT_FOUND", 77),
        count(TWO, 0, "INVALID_CONSENT", 5),
    ];
    let kept = fixture.server.store.write_blocking(move |tx| tx.keep_refusals(&refusals, &counts));
    kept.unwrap();
    fixture
}

#[test]
fn refusals_are_counted_by_code_and_day() {
    let fixture = fixture();
    let shown = text(&fixture.enter("egon").get("/console/refusals"));
    for part in [
        "1,204 refusals in 30 days",
        "<title>Apr 30: 1,203 refusals (1200 VEHICLE_NOT_FOUND, 3 MISSING_REQUIRED_FIELD)</title>",
        "<title>Apr 28: 1 refusal (1 VEHICLE_NOT_FOUND)</title>",
        "<title>Apr 29: none</title>",
        "A required property is absent",
        "err_two",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("INVALID_CONSENT") && !shown.contains("err_theirs"), "{shown}");
    let only = text(&fixture.enter("egon").get("/console/refusals?code=VEHICLE_NOT_FOUND"));
    assert!(only.contains("err_two") && !only.contains("err_one"), "{only}");
    let all = text(&fixture.enter("group").get("/console/refusals"));
    assert!(all.contains("err_theirs") && all.contains("err_one"), "{all}");
}

#[test]
fn the_id_a_buyer_reads_out_leads_to_the_fault() {
    let fixture = fixture();
    let maria = fixture.enter("maria");
    let find = |id: &str| text(&maria.get(&format!("/console/refusals?error_id={id}")));
    let shown = find("%20err_one%20");
    for part in [
        "<h2 id=\"found\">MISSING_REQUIRED_FIELD</h2>",
        "<dd>lead.submit</dd>",
        "<dd>without a credential</dd>",
        "<code>/consent/allowed_channels</code> <span class=\"chip warning\">required</span>",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // What is another's is not there.
    let theirs = find("err_theirs");
    let nothing = find("err_nobodys");
    assert!(nothing.contains("No refusal has this id"), "{nothing}");
    assert_eq!(theirs, nothing.replace("err_nobodys", "err_theirs"));
    let evil = find("%3Cscript%3E%22");
    assert!(!evil.contains("<script>\"") && evil.contains("&#60;script&#62;&#34;"), "{evil}");
}
