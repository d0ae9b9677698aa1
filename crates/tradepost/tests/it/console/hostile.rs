//! What roles, other dealers, other sites and buyers try.

use expect_test::expect;
use tradepost_console::route::{ConsoleRoute, TABLE};
use tradepost_dealer::staff::StaffStage;

use super::*;

/// Every page and every form that there is, but for those of whoever is not in, with a lead where one is
/// meant.
pub(super) fn asked(lead: &str) -> Vec<(&'static str, String)> {
    let of = |row: &'static ConsoleRoute| {
        let id = if row.path.starts_with("leads/") { lead } else { "0123" };
        let path = format!("/console/{}", row.path.replace("{id}", id));
        (row.method.as_str(), path.trim_end_matches('/').to_owned())
    };
    let inside = TABLE.iter().filter(|row| row.permission.is_some());
    // It ends the session of whoever tries, and stands by itself.
    inside.filter(|row| row.path != "sign-out").map(of).collect()
}

/// Every page of [`asked`].
fn pages(lead: &str) -> impl Iterator<Item = String> {
    asked(lead).into_iter().filter(|(method, _)| *method == "GET").map(|(_, path)| path)
}

pub(super) const FIELDS: [(&str, &str); 6] = [
    ("text", "Called."),
    ("stage", "new"),
    ("sure", "no"),
    ("to", "-"),
    ("kind", "call"),
    ("at", "2100-05-03T11:00"),
];

#[test]
fn every_page_and_form_is_for_its_role_and_dealer() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let people = ["dora", "maria", "egon", "other", "group"].map(|name| fixture.enter(name));
    let mut table = String::from("                   nobody desk manager engineer other group\n");
    for (method, path) in asked(&lead) {
        let answer = |browser: &Browser<'_>| match method {
            "GET" => browser.get(&path),
            _ => browser.post(&path, &FIELDS),
        };
        let anonymous = match method {
            "GET" => fixture.get(&path),
            _ => fixture.send(&path, "", &[], &[]),
        };
        assert!(
            anonymous
                .header("location")
                .is_some_and(|location| location.starts_with("/console/sign-in"))
        );
        let statuses = people.each_ref().map(|browser| answer(browser).status.to_string());
        let short = path.replace(&lead, "ID").replace("/console", "");
        table += &format!("{method:4} {short:16} {}  {}\n", anonymous.status, statuses.join("  "));
    }
    expect![[r#"
                           nobody desk manager engineer other group
        GET                   303  200  200  200  200  200
        GET  /leads           303  200  200  403  200  200
        GET  /leads/ID        303  200  200  403  404  200
        POST /leads/ID/notes  303  303  303  403  404  303
        POST /leads/ID/stage  303  303  303  403  404  303
        POST /leads/ID/owner  303  303  303  403  404  303
        POST /leads/ID/step   303  303  303  403  404  303
        POST /leads/ID/step-end 303  303  303  403  404  303
        POST /leads/stage     303  422  422  403  422  422
        POST /leads/assign    303  422  422  403  422  422
        POST /leads/export    303  403  200  403  200  200
        POST /leads/ID/resend 303  303  303  403  404  303
        POST /leads/ID/release 303  403  303  403  404  303
        POST /leads/ID/revoke 303  403  303  403  404  303
        POST /leads/ID/evidence 303  403  200  403  404  200
        GET  /leads/ID/erase  303  403  200  403  404  200
        POST /leads/ID/erase  303  403  422  403  404  422
        GET  /appointments    303  200  200  403  200  200
        POST /appointments/0123/confirm 303  422  422  403  422  422
        POST /appointments/0123/move 303  422  422  403  422  422
        POST /appointments/0123/cancel 303  422  422  403  422  422
        POST /appointments/0123/no-show 303  422  422  403  422  422
        POST /blocked-times   303  403  422  403  422  422
        POST /blocked-times/0123/remove 303  403  404  403  404  404
        POST /calendar-feeds  303  403  422  403  422  422
        POST /calendar-feeds/revoke 303  403  422  403  422  422
        GET  /help            303  200  200  200  200  200
        GET  /inventory       303  200  200  200  200  200
        GET  /inventory/ask   303  200  200  200  200  200
        GET  /inventory/vehicle 303  404  404  404  404  404
        GET  /week            303  200  200  200  200  200
        GET  /feeds           303  403  200  200  200  200
        GET  /feeds/runs      303  403  404  404  404  404
        GET  /buyers          303  403  200  200  200  200
        GET  /refusals        303  403  200  200  200  200
        GET  /card            303  403  200  200  200  200
        GET  /checklist       303  403  200  200  200  200
        POST /checklist/test  303  403  404  404  404  404
        GET  /probe           303  403  200  200  200  200
        POST /probe           303  403  404  404  404  404
        GET  /probe/report    303  403  404  404  404  404
        GET  /buys            303  403  403  403  403  403
        GET  /buys/show       303  403  403  403  403  403
        GET  /buys/waiting    303  403  403  403  403  403
        POST /buys/approve    303  403  403  403  403  403
        POST /buys/decline    303  403  403  403  403  403
        POST /buys/pause      303  403  403  403  403  403
        POST /buys/resume     303  403  403  403  403  403
        POST /buys/cancel     303  403  403  403  403  403
        POST /buys/retry      303  403  403  403  403  403
        GET  /delivery        303  403  403  403  403  403
        GET  /delivery/template 303  403  403  403  403  403
        POST /delivery        303  403  403  403  403  403
        GET  /creatives       303  403  403  403  403  403
        GET  /creatives/show  303  403  403  403  403  403
        GET  /creatives/preview 303  403  403  403  403  403
        POST /creatives/approve 303  403  403  403  403  403
        POST /creatives/decline 303  403  403  403  403  403
        POST /creatives/suspend 303  403  403  403  403  403
        POST /creatives/resume 303  403  403  403  403  403
        GET  /ad-accounts     303  403  403  403  403  403
        GET  /ad-accounts/show 303  403  403  403  403  403
        POST /ad-accounts/approve 303  403  403  403  403  403
        POST /ad-accounts/decline 303  403  403  403  403  403
        POST /ad-accounts/suspend 303  403  403  403  403  403
        POST /ad-accounts/resume 303  403  403  403  403  403
        POST /ad-accounts/close 303  403  403  403  403  403
        POST /ad-accounts/payment-due 303  403  403  403  403  403
        POST /ad-accounts/payment-settled 303  403  403  403  403  403
        GET  /ad-agents       303  403  403  403  403  403
        POST /ad-agents/keys  303  403  403  403  403  403
        POST /ad-agents/keys/revoke 303  403  403  403  403  403
        GET  /products        303  403  403  403  403  403
        GET  /set-up          303  403  403  403  403  403
        POST /set-up/test     303  403  403  403  403  403
        GET  /account         303  200  200  200  200  200
        POST /account/password 303  422  422  422  422  422
        GET  /account/factor  303  200  200  200  200  200
        POST /account/factor  303  303  303  303  303  303
        POST /account/factor/confirm 303  422  422  422  422  422
        POST /account/factor/off 303  422  422  422  422  422
        POST /account/codes   303  422  422  422  422  422
        GET  /people          303  200  200  200  200  200
        POST /members/0123/factor/reset 303  403  404  403  404  404
        POST /sessions/0123/end 303  404  404  404  404  404
        GET  /audit           303  403  200  403  200  200
    "#]]
    .assert_eq(&table);
}

#[test]
fn what_is_another_dealers_looks_as_if_absent() {
    let fixture = Fixture::new();
    let ours = fixture.lead("one.example", &customer("Ada"));
    let other = fixture.enter("other");
    for rest in ["", "/erase"] {
        let answer = |id: &str| other.get(&format!("/console/leads/{id}{rest}"));
        let theirs = answer(&ours);
        let nothing = answer("lead_0");
        assert_eq!((theirs.status, &theirs.body), (404, &nothing.body));
    }
    for page in pages(&ours).chain(["/console/leads?q=ada".to_owned()]) {
        let shown = text(&other.get(&page));
        for theirs in [ours.as_str(), "Ada", "dora", "maria", "test-agent"] {
            assert!(!shown.contains(theirs), "{page} shows {theirs}");
        }
    }
    for of in [
        "audit?of=demo-auto-group",
        "audit?of=*",
        "inventory?dealer=demo-auto-group",
        "inventory/ask?dealer=demo-auto-group&question=suv",
        "inventory/vehicle?dealer=demo-auto-group&vehicle_id=veh_dt_2451",
        "week?dealer=demo-auto-group",
    ] {
        assert_eq!(other.get(&format!("/console/{of}")).status, 404, "{of}");
    }
    assert_eq!(fixture.enter("group").get("/console/audit?of=*").status, 200);
}

#[test]
fn an_engineer_learns_nothing_of_customers() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let egon = fixture.enter("egon");
    for path in pages(&lead) {
        let shown = text(&egon.get(&path));
        for personal in ["Ada", "Lovelace", "ada@example.com", &lead] {
            assert!(!shown.contains(personal), "{path} shows {personal}");
        }
    }
}

#[test]
fn a_form_that_is_not_ours_changes_nothing() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let maria = fixture.enter("maria");
    let dora = fixture.enter("dora");
    let before = fixture.record(ONE).len();
    let fields = |proof: &str| {
        let mut all: Vec<_> = FIELDS.map(|(name, value)| (name, value.to_owned())).into();
        all.retain(|(name, _)| *name != "sure" && *name != "stage");
        all.extend([("sure", "yes".to_owned()), ("stage", "sold".to_owned())]);
        all.extend((!proof.is_empty()).then(|| ("proof", proof.to_owned())));
        all
    };
    let mut posts = asked(&lead);
    // Forms of publishers are not for her, whatever their proof.
    let is_hers = |path: &str| {
        let of_publishers = ["/buys/", "/creatives/", "/delivery", "/ad-", "/set-up/"];
        !of_publishers.iter().any(|start| path.starts_with(&format!("/console{start}")))
    };
    posts.retain(|(method, path)| *method == "POST" && is_hers(path));
    posts.push(("POST", "/console/sign-out".to_owned()));
    for (_, path) in posts {
        for (proof, headers) in [
            ("", [("Sec-Fetch-Site", "same-origin")]),
            ("0123", [("Sec-Fetch-Site", "same-origin")]),
            (dora.proof.as_str(), [("Sec-Fetch-Site", "same-origin")]),
            (maria.proof.as_str(), [("Sec-Fetch-Site", "cross-site")]),
        ] {
            let answer = fixture.send(&path, &maria.cookie, &headers, &fields(proof));
            assert_eq!(answer.status, 403, "{path} {proof}");
        }
    }
    assert_eq!(fixture.record(ONE).len(), before);
    let (progress, notes) = fixture.server.store.lead_work(&lead).unwrap();
    assert_eq!((progress.stage, notes.len()), (StaffStage::New, 0));
    // Nor does anybody get signed in by another's page.
    let fields = [("name", "dora".to_owned()), ("password", PASSWORD.to_owned())];
    let answer = fixture.send("/console/sign-in", "", &[], &fields);
    assert_eq!(answer.status, 401);
    assert!(cookie(&answer, "tradepost-console").is_none());
}

#[test]
fn what_buyers_and_colleagues_write_stays_text() {
    let fixture = Fixture::new();
    let evil = r#"<img src=x onerror=alert(1)>"'</title><script>alert(2)</script>{{7*7}}"#;
    let short = r#"<b onclick=alert(3)>"'"#;
    let payload = with(
        lead(),
        &[
            ("/customer/first_name", json!(short)),
            ("/customer/last_name", json!("<i>L</i>")),
            ("/customer/phone", json!("+14155550111")),
            (
                "/customer/address",
                json!({"city": evil, "state": evil, "zip": "94542", "country": evil}),
            ),
            ("/consent/consent_text", json!(evil)),
            ("/source_agent/name", json!(short)),
            ("/message", json!(evil)),
            (
                "/vehicle_of_interest",
                json!({"make": evil, "model": evil, "trim": evil, "stock": evil, "exterior_color": evil}),
            ),
            ("/trade_in", json!({"year": 2019, "make": evil, "model": evil, "condition": "good"})),
            (
                "/appointment",
                json!({"appointment_type": "sales", "appointment_at": "2026-05-01T18:00:00Z", "notes": evil}),
            ),
        ],
    );
    let id = fixture.lead("one.example", &payload);
    let maria = fixture.enter("maria");
    maria.do_it(&format!("/console/leads/{id}/notes"), &[("text", evil)]);
    let search = format!(
        "/leads?q={}",
        form_urlencoded::byte_serialize(evil.as_bytes()).collect::<String>()
    );
    let lead = format!("/leads/{id}");
    for path in pages(&id).chain([format!("/console{search}")]) {
        let shown = text(&maria.get(&path));
        for markup in ["<img src=x", "<b onclick", "<i>L", "<script>alert", "</title><script", "49"]
        {
            let is_there = shown.contains(markup) && (markup != "49" || shown.contains("{{49"));
            assert!(!is_there, "{path} has {markup}: {shown}");
        }
    }
    let shown = text(&maria.get(&format!("/console{lead}")));
    assert!(shown.matches("&#60;script&#62;alert(2)").count() >= 6, "{shown}");
    assert!(shown.contains("{{7*7}}"));
}

#[test]
fn odd_requests_get_an_answer() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    for (path, status) in [
        ("/console/", 200),
        ("/console//", 404),
        ("/console/leads/", 404),
        ("/console/leads?view=nothing", 404),
        ("/console/leads?skip=-1", 200),
        ("/console/leads?skip=4294967295", 200),
        ("/console/leads?q=%25_!%00", 200),
        ("/console/leads/..%2f..%2fetc", 404),
        ("/console/appointments?from=9999-12-31", 200),
        ("/console/appointments?from=-9999-01-01", 200),
        ("/console/appointments?from=yesterday", 200),
        ("/console/inventory?skip=4294967295&q=%3Cb%3E", 200),
        ("/console/inventory/ask?question=%00%3Cb%3E%27", 200),
        ("/console/inventory/vehicle?vehicle_id=%00..%2f", 404),
        ("/console/week?week=nonsense", 200),
        ("/console/week?week=1970-W01", 200),
        ("/console/week?week=9000-W52", 200),
        ("/console/week?week=-9999-W01", 200),
        ("/console/week?dealer=nobody", 404),
        ("/console/audit?before=-9223372036854775808", 200),
    ] {
        assert_eq!(maria.get(path).status, status, "{path}");
    }
    let of = |method: &str| {
        let headers = [("Cookie", maria.cookie.as_str())];
        client::request(fixture.address, method, "/console/leads", &headers, b"").status
    };
    assert_eq!(["PUT", "DELETE", "OPTIONS"].map(of), [404; 3]);
    let large = maria.post("/console/leads/lead_1/notes", &[("text", &"x".repeat(70_000))]);
    assert_eq!(large.status, 413);
}
