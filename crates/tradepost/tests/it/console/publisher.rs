//! The people of a publisher, who share the console with those of dealers.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_store::refusals::{RefusalCount, RefusalRecord};
use tradepost_store::staff_events::NewStaffDelivery;

use super::account::set_up;
use super::hostile::{FIELDS, asked};
use super::*;

#[test]
fn a_publishers_people_see_theirs_and_nothing_of_dealers() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let roles =
        [("vera", StaffRole::Viewer), ("sam", StaffRole::Seller), ("amy", StaffRole::Approver)];
    let people = roles.map(|(name, role)| {
        fixture.add(name, role, Some("gazette"));
        fixture.enter(name)
    });
    let mut table = String::from("                   viewer seller approver\n");
    for (method, path) in asked(&lead) {
        let answers = people.each_ref().map(|browser| match method {
            "GET" => browser.get(&path),
            _ => browser.post(&path, &FIELDS),
        });
        for answer in &answers {
            let text = text(answer);
            assert!(!text.contains("Ada") && !text.contains(&lead), "{path}: {text}");
        }
        let statuses = answers.map(|answer| answer.status.to_string());
        let short = path.replace(&lead, "ID").replace("/console", "");
        table += &format!("{method:4} {short:16} {}\n", statuses.join("  "));
    }
    expect![[r#"
                           viewer seller approver
        GET                   200  200  200
        GET  /leads           403  403  403
        GET  /leads/ID        403  403  403
        POST /leads/ID/notes  403  403  403
        POST /leads/ID/stage  403  403  403
        POST /leads/ID/owner  403  403  403
        POST /leads/ID/step   403  403  403
        POST /leads/ID/step-end 403  403  403
        POST /leads/stage     403  403  403
        POST /leads/assign    403  403  403
        POST /leads/export    403  403  403
        POST /leads/ID/resend 403  403  403
        POST /leads/ID/release 403  403  403
        POST /leads/ID/revoke 403  403  403
        POST /leads/ID/evidence 403  403  403
        GET  /leads/ID/erase  403  403  403
        POST /leads/ID/erase  403  403  403
        GET  /appointments    403  403  403
        POST /appointments/0123/confirm 403  403  403
        POST /appointments/0123/move 403  403  403
        POST /appointments/0123/cancel 403  403  403
        POST /appointments/0123/no-show 403  403  403
        POST /blocked-times   403  403  403
        POST /blocked-times/0123/remove 403  403  403
        POST /calendar-feeds  403  403  403
        POST /calendar-feeds/revoke 403  403  403
        GET  /help            200  200  200
        GET  /inventory       403  403  403
        GET  /inventory/ask   403  403  403
        GET  /inventory/vehicle 403  403  403
        GET  /week            403  403  403
        GET  /feeds           403  403  403
        GET  /feeds/runs      403  403  403
        GET  /buyers          403  403  403
        GET  /refusals        200  200  200
        GET  /card            403  403  403
        GET  /checklist       403  403  403
        POST /checklist/test  403  403  403
        GET  /probe           403  403  403
        POST /probe           403  403  403
        GET  /probe/report    403  403  403
        GET  /buys            404  404  404
        GET  /buys/show       404  404  404
        GET  /buys/waiting    404  404  404
        POST /buys/approve    403  403  404
        POST /buys/decline    403  403  404
        POST /buys/pause      403  404  404
        POST /buys/resume     403  404  404
        POST /buys/cancel     403  403  422
        POST /buys/retry      403  404  404
        GET  /delivery        403  404  404
        GET  /delivery/template 403  404  404
        POST /delivery        403  404  404
        GET  /creatives       404  404  404
        GET  /creatives/show  404  404  404
        GET  /creatives/preview 404  404  404
        POST /creatives/approve 403  403  404
        POST /creatives/decline 403  403  404
        POST /creatives/suspend 403  404  404
        POST /creatives/resume 403  404  404
        GET  /ad-accounts     404  404  404
        GET  /ad-accounts/show 404  404  404
        POST /ad-accounts/approve 403  403  404
        POST /ad-accounts/decline 403  403  404
        POST /ad-accounts/suspend 403  404  404
        POST /ad-accounts/resume 403  404  404
        POST /ad-accounts/close 403  403  422
        POST /ad-accounts/payment-due 403  404  404
        POST /ad-accounts/payment-settled 403  404  404
        GET  /ad-agents       404  404  404
        POST /ad-agents/keys  403  403  404
        POST /ad-agents/keys/revoke 403  403  404
        GET  /products        404  404  404
        GET  /set-up          404  404  404
        POST /set-up/test     403  404  404
        GET  /account         200  200  200
        POST /account/password 422  422  422
        GET  /account/factor  200  200  200
        POST /account/factor  303  303  303
        POST /account/factor/confirm 422  422  422
        POST /account/factor/off 422  422  422
        POST /account/codes   422  422  422
        GET  /people          200  200  200
        POST /members/0123/factor/reset 403  403  403
        POST /sessions/0123/end 404  404  404
        GET  /audit           403  403  200
    "#]]
    .assert_eq(&table);
}

#[test]
fn people_of_a_publisher_read_its_record_and_its_refusals() {
    let fixture = Fixture::new();
    fixture.add("amy", StaffRole::Approver, Some("gazette"));
    let entry = |chain: &str, subject: &str| NewAuditEntry {
        chain: chain.to_owned(),
        at: at(NOW),
        actor: "sam by cli:root".to_owned(),
        action: AuditAction::Suspended,
        subject: Some(subject.to_owned()),
        detail: Some("creative: approved -> suspended; why: complaint 17".to_owned()),
    };
    let entries = vec![entry("gazette", "banner-1"), entry(ONE, "banner-2")];
    fixture.server.store.record_all(entries).unwrap();
    let refusal = |agent: &str, number: u32| RefusalRecord {
        error_id: format!("err_{number}"),
        agent_id: agent.to_owned(),
        at: at(NOW),
        code: "BUDGET_TOO_LOW".to_owned(),
        operation: Some("create_media_buy".to_owned()),
        caller: "key".to_owned(),
        misfits: Vec::new(),
    };
    let refusals = [refusal("gazette", 1), refusal(ONE, 2)];
    let count = |agent: &str| RefusalCount {
        agent_id: agent.to_owned(),
        hour: at(NOW),
        code: "BUDGET_TOO_LOW".to_owned(),
        refused: 1,
    };
    let counts = [count("gazette"), count(ONE)];
    fixture.server.store.write_blocking(move |tx| tx.keep_refusals(&refusals, &counts)).unwrap();
    let amy = fixture.enter("amy");
    let audit = text(&amy.get("/console/audit"));
    assert!(audit.contains("<span>gazette</span>"), "{audit}");
    assert!(audit.contains("banner-1") && audit.contains("complaint 17"), "{audit}");
    assert!(!audit.contains("banner-2"), "{audit}");
    let refused = text(&amy.get("/console/refusals"));
    assert!(refused.contains("err_1") && !refused.contains("err_2"), "{refused}");
    let shown = text(&amy.get("/console/refusals?error_id=err_1"));
    assert!(shown.contains("BUDGET_TOO_LOW"), "{shown}");
}

/// Gives up a message to the people of a publisher, about this.
fn give_up_message(fixture: &Fixture, subject: &str) {
    let planned =
        NewStaffDelivery { subject: subject.to_owned(), destination: "desk".to_owned(), place: 1 };
    let give_up = move |tx: &tradepost_store::StoreTransaction<'_>| {
        tx.place_staff_events("gazette")?;
        assert!(tx.plan_staff_events("gazette", 1, std::slice::from_ref(&planned), at(NOW))?);
        assert!(tx.begin_delivery(1, at(NOW), at(NOW))?.is_some());
        tx.delivery_failed(1, "410 Gone", false, Err(at(NOW)))
    };
    fixture.server.store.write_blocking(give_up).unwrap();
}

#[test]
fn whoever_manages_all_dealers_manages_no_publisher() {
    let fixture = Fixture::new();
    fixture.add("amy", StaffRole::Approver, Some("gazette"));
    let mut amy = fixture.enter("amy");
    set_up(&mut amy, SignedDuration::ZERO);
    let mut dora = fixture.enter("dora");
    set_up(&mut dora, SignedDuration::ZERO);
    let group = fixture.enter("group");
    let people = text(&group.get("/console/people"));
    assert!(people.contains("Reset the second factor of dora"), "{people}");
    assert!(!people.contains("Reset the second factor of amy"), "{people}");
    let reset =
        |name: &str| group.post(&format!("/console/members/{name}/factor/reset"), &[]).status;
    assert_eq!((reset("amy"), reset("dora")), (404, 303));
    let sessions = fixture.server.store.sessions(None, at(NOW)).unwrap();
    let session = sessions.into_iter().find(|(session, _)| session.name == "amy").unwrap().0.id;
    let end = format!("/console/sessions/{session}/end");
    assert_eq!(group.post(&end, &[]).status, 404);
    assert_eq!(amy.get("/console").status, 200, "she is still there");
    assert_eq!(group.get("/console/audit?of=gazette").status, 404);
}

#[test]
fn whoever_sees_all_dealers_sees_no_message_to_a_publisher() {
    let fixture = Fixture::new();
    fixture.add("amy", StaffRole::Approver, Some("gazette"));
    give_up_message(&fixture, "mb_1");
    let warning = "The message about mb_1 was not delivered";
    assert!(text(&fixture.enter("amy").get("/console")).contains(warning));
    for name in ["group", "maria"] {
        let inbox = text(&fixture.enter(name).get("/console"));
        assert!(!inbox.contains(warning) && !inbox.contains("mb_1"), "{name}: {inbox}");
    }
}
