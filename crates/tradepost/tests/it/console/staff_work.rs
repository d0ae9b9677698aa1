//! A day at the desk: what people do, what becomes of it, and what is recorded.

use expect_test::expect;
use tradepost_dealer::delivery::{DeliveryState, LeadDestination, MessageFormat};
use tradepost_dealer::record::LeadState;
use tradepost_dealer::staff::{StaffProgress, StaffStage, readable_detail};
use tradepost_runtime::config::delivery::{ConfigSecret, DeliveryConfig, DeliveryMethod, Http};

use tradepost_store::staff::{LeadFilter, WaitingFor};

use super::*;
use crate::support::postgres::Scratch;

/// What a day leaves behind, on whichever store.
fn a_day(fixture: &Fixture) {
    let id = fixture.lead("one.example", &customer("Ada"));
    let of = |rest: &str| format!("/console/leads/{id}{rest}");
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    let store = &fixture.server.store;
    assert!(text(&dora.get("/console")).contains("Ada Lovelace"));

    fixture.hand.advance(SignedDuration::from_mins(7));
    assert_eq!(dora.get(&of("")).status, 200);
    fixture.hand.advance(SignedDuration::from_mins(5));
    assert_eq!(dora.do_it(&of("/stage"), &[("stage", "working")]), "stage");
    assert_eq!(dora.do_it(&of("/stage"), &[("stage", "working")]), "nothing");
    assert!(!text(&dora.get("/console")).contains("Ada Lovelace"), "nobody waits");
    assert_eq!(dora.do_it(&of("/notes"), &[("text", "Called.\r\nComes on Friday.")]), "note");
    assert_eq!(maria.do_it(&of("/stage"), &[("stage", "sold")]), "stage");
    let notes_as_recorded = store.check_notes().unwrap();
    assert_eq!((notes_as_recorded.verified, notes_as_recorded.faults), (1, vec![]));
    let minutes = |count| at(NOW) + SignedDuration::from_mins(count);
    let (progress, notes) = store.lead_work(&id).unwrap();
    let changed = Some((minutes(12), "maria".to_owned()));
    let seen_at = Some(minutes(7));
    let answered_at = Some(minutes(12));
    let stage = StaffStage::Sold;
    let expected =
        StaffProgress { stage, changed, seen_at, answered_at, ..StaffProgress::default() };
    assert_eq!(progress, expected);
    assert_eq!(notes[0].text.as_deref(), Some("Called.\nComes on Friday."));
    let shown = text(&maria.get(&of("")));
    for part in ["after 7 min", "after 12 min", "Sold by maria", "Comes on Friday.", "dora, <time"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(text(&maria.get("/console/leads?q=LOVE&view=sold")).contains("Ada Lovelace"));
    assert!(text(&maria.get("/console/leads?q=love_ace")).contains("No leads found"));
    assert!(text(&maria.get("/console/buyers")).contains("1 lead in 30 days"));

    assert_eq!(maria.do_it(&of("/revoke"), &[]), "revoked");
    assert_eq!(maria.do_it(&of("/revoke"), &[]), "nothing");
    // What is erased is gone: the password of twelve minutes ago is not enough.
    assert_eq!(maria.post(&of("/erase"), &[("sure", "yes")]).status, 401);
    let maria = fixture.enter("maria");
    assert_eq!(maria.post(&of("/erase"), &[]).status, 422, "nobody has said that they are sure");
    assert_eq!(maria.do_it(&of("/erase"), &[("sure", "yes")]), "erased");
    let history = store.lead_history(&id).unwrap().unwrap();
    assert_eq!(history.lead.state, LeadState::Erased);
    assert!(store.lead_work(&id).unwrap().1.is_empty(), "notes are about a customer, too");
    assert_eq!(dora.do_it(&of("/notes"), &[("text", "Ada again")]), "nothing");
    assert!(!text(&maria.get(&of(""))).contains("Ada"));

    let record: Vec<_> = fixture
        .record(ONE)
        .into_iter()
        .map(|(who, what, detail)| {
            let detail = detail.as_deref().and_then(readable_detail);
            format!("{who} {what} {}", detail.unwrap_or_default())
        })
        .collect();
    expect![[r#"
        dora signed_in 
        maria signed_in 
        dora lead_seen 
        dora stage_changed working
        dora note_added 
        maria stage_changed sold
        maria lead_seen 
        maria leads_listed 1
        maria consent_revoked 
        maria signed_in 
        maria lead_erased 
        maria lead_seen "#]]
    .assert_eq(&record.join("\n"));
    let checks = store.check_records().unwrap();
    assert_eq!((checks.len(), checks[0].entries), (1, 12));
    assert!(checks[0].faults.is_empty());
}

#[test]
fn a_day_at_the_desk() {
    a_day(&Fixture::new());
}

#[test]
fn a_day_at_the_desk_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    a_day(&Fixture::on(scratch.store()));
}

#[test]
fn a_day_at_the_desk_where_customers_are_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let store = tradepost_store::Store::open(folder.path()).unwrap();
    let keys = tradepost_store::privacy::OperatorKeys::read(&"5".repeat(64)).unwrap();
    assert!(store.unlock(&keys, true, at(NOW)).unwrap());
    a_day(&Fixture::on(store));
}

#[test]
fn a_manager_takes_the_evidence_of_a_consent_away() {
    let fixture = Fixture::new();
    let id = fixture.lead("one.example", &customer("Ada"));
    let maria = fixture.enter("maria");
    let answer = maria.post(&format!("/console/leads/{id}/evidence"), &[]);
    let kept_as = answer.header("content-disposition").unwrap();
    assert_eq!(kept_as, format!("attachment; filename=\"evidence-{id}.html\""));
    let checked = tradepost_runtime::evidence::check(&text(&answer)).unwrap();
    assert_eq!((checked.lead_id.as_str(), checked.faults.as_slice()), (id.as_str(), [].as_slice()));
    let digest = tradepost_dealer::consent::hex(&checked.digest);
    assert!(fixture.record(ONE).contains(&("maria".into(), "evidence_taken".into(), Some(digest))));
    assert!(text(&maria.get(&format!("/console/leads/{id}"))).contains("Evidence of consent"));
}

#[test]
fn held_leads_wait_for_a_manager() {
    let fixture = Fixture::with(|config| {
        config.dealers[0].terms.leads.agents.deny = vec!["test-agent".to_owned()];
    });
    let id = fixture.lead("one.example", &customer("Ada"));
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    let shown = text(&dora.get("/console"));
    assert!(shown.contains("Held back") && shown.contains("agent is denied"), "{shown}");
    let path = format!("/console/leads/{id}");
    assert_eq!(dora.post(&format!("{path}/release"), &[]).status, 403);
    assert_eq!(maria.post(&format!("{path}/resend"), &[]).status, 422, "it is held back");
    assert_eq!(maria.do_it(&format!("{path}/release"), &[]), "released");
    assert_eq!(maria.do_it(&format!("{path}/release"), &[]), "nothing");
    let history = fixture.server.store.lead_history(&id).unwrap().unwrap();
    assert_eq!(history.lead.state, LeadState::Received);
}

#[test]
fn a_lead_is_delivered_again_to_those_who_want_it() {
    let fixture = Fixture::with(|config| {
        let destination = |name: &str, rooftops: &[&str]| DeliveryConfig {
            destination: LeadDestination {
                name: name.to_owned(),
                rooftops: rooftops.iter().map(|rooftop| (*rooftop).to_owned()).collect(),
                kinds: Vec::new(),
                form: MessageFormat::Event,
                handles_leads: false,
            },
            by: DeliveryMethod::Http(Http {
                url: "http://127.0.0.1:9/".to_owned(),
                media_type: "application/json",
                bearer: None,
                hmac_key: Some(ConfigSecret::Text("0123456789abcdef0123456789abcdef".into())),
            }),
            attempts: 1,
            give_up_after: SignedDuration::from_hours(1),
            timeout: std::time::Duration::from_secs(5),
        };
        config.dealers[0].deliveries =
            vec![destination("crm", &[]), destination("elsewhere", &["Nowhere"])];
    });
    let id = fixture.lead("one.example", &customer("Ada"));
    let dora = fixture.enter("dora");
    assert_eq!(dora.do_it(&format!("/console/leads/{id}/resend"), &[]), "resent");
    let kept = fixture.server.store.deliveries(None, Some(&id), None).unwrap();
    let kept: Vec<_> =
        kept.iter().map(|delivery| (delivery.destination.as_str(), delivery.state)).collect();
    assert_eq!(kept, [("crm", DeliveryState::Due)]);
    let detail = |entry: &(String, String, Option<String>)| entry.2.clone();
    assert_eq!(fixture.record(ONE).last().and_then(detail).as_deref(), Some("crm"));
    // The second dealer names no destination.
    let theirs = fixture.lead("two.example", &customer("Grace"));
    let other = fixture.enter("other");
    assert_eq!(other.do_it(&format!("/console/leads/{theirs}/resend"), &[]), "nowhere");
}

#[test]
fn contact_values_are_shown_where_the_consent_covers_them() {
    let fixture = Fixture::new();
    let both = with(
        customer("Ada"),
        &[
            ("/customer/phone", json!("+14155550111")),
            ("/consent/allowed_channels", json!(["email", "sms"])),
        ],
    );
    let id = fixture.lead("one.example", &both);
    let maria = fixture.enter("maria");
    let shown = text(&maria.get(&format!("/console/leads/{id}")));
    for part in ["mailto:ada@example.com", "+14155550111", "texts permitted", "You may answer me"] {
        assert!(shown.contains(part), "{part}");
    }
    assert!(!shown.contains("tel:") && !shown.contains("calls permitted"));
    let path = format!("/console/leads/{id}");
    maria.do_it(&format!("{path}/revoke"), &[]);
    let shown = text(&maria.get(&path));
    assert!(!shown.contains("ada@example.com") && !shown.contains("4155550111"), "R-LD-03");
}

#[test]
fn appointments_stand_in_their_day_and_take_their_room() {
    let fixture = Fixture::new();
    let asked = json!({"appointment_type": "sales", "appointment_at": "2026-05-01T18:00:00Z"});
    fixture.lead("one.example", &with(customer("Ada"), &[("/appointment", asked)]));
    let shown = text(&fixture.enter("dora").get("/console/appointments"));
    let day = shown.split("<section").find(|day| day.contains("Friday, May 1")).unwrap();
    assert!(day.contains("11:00 AM") && day.contains("Ada Lovelace"), "{day}");
    assert!(day.contains("places taken"), "{day}");
    let other = shown.split("<section").find(|day| day.contains("Saturday, May 2")).unwrap();
    assert!(!other.contains("Ada"), "{other}");
}

#[test]
fn leads_beyond_those_that_are_shown_are_counted() {
    const LEADS: u32 = 130;
    let fixture = Fixture::with(|config| {
        let velocity = &mut config.dealers[0].terms.leads.velocity;
        (velocity.per_address, velocity.per_contact, velocity.all) = (1_000, 1_000, 1_000);
    });
    for number in 0..LEADS {
        fixture.lead("one.example", &customer(&format!("Ada{number}")));
    }
    let waiting = Some(WaitingFor::Answer);
    let new = LeadFilter { dealer_id: Some(ONE), waiting, ..LeadFilter::default() };
    assert_eq!(fixture.server.store.count_leads(&new).unwrap(), LEADS, "none is held back");
    let inbox = text(&fixture.enter("maria").get("/console"));
    assert!(inbox.contains(&format!("<dd>{LEADS}</dd>")), "{inbox}");
    assert_eq!(inbox.matches("<span class=\"chip lead\">").count(), 50);
    assert!(inbox.contains(">Later</a>"), "{inbox}");
}

#[test]
fn an_unreadable_lead_is_shown_as_such_on_every_page() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let keys = tradepost_store::privacy::OperatorKeys::read(&"1".repeat(64)).unwrap();
    assert!(store.unlock(&keys, true, at(NOW)).unwrap());
    let fixture = Fixture::on(store);
    let visit = json!({"appointment_type": "sales", "appointment_at": "2026-05-01T18:00:00Z"});
    let lost = with(customer("Ada"), &[("/appointment", visit)]);
    let lost = fixture.lead("one.example", &lost);
    fixture.lead("one.example", &customer("Grace"));
    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    let cut = "UPDATE lead_submissions SET payload = substr(payload, 1, 40) WHERE lead_id = ?";
    assert_eq!(database.execute(cut, [&lost]).unwrap(), 1);

    let maria = fixture.enter("maria");
    let page = |path: &str| {
        let answer = maria.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", text(&answer));
        text(&answer)
    };
    for path in ["/console", "/console/leads"] {
        let shown = page(path);
        assert!(shown.contains("(unreadable)") && shown.contains("Grace"), "{path}: {shown}");
    }
    assert!(page("/console/leads?q=grace").contains("Grace"));
    assert!(page("/console/appointments?from=2026-05-01").contains("(unreadable)"));
    assert!(page("/console/buyers").contains("2 leads in 30 days"));
    let of = format!("/console/leads/{lost}");
    assert!(page(&of).contains("it was changed, or moved here from another row"));
    assert_eq!(maria.post(&format!("{of}/evidence"), &[]).status, 200);
    assert_eq!(maria.do_it(&format!("{of}/erase"), &[("sure", "yes")]), "erased");
    assert!(page(&of).contains("Erased customer"));
    assert!(!page("/console").contains("(unreadable)"));
}

#[test]
fn how_long_leads_took_is_told_in_sum() {
    let fixture = Fixture::new();
    let seen = fixture.lead("one.example", &customer("Ada"));
    fixture.lead("one.example", &customer("Grace"));
    let dora = fixture.enter("dora");
    fixture.hand.advance(SignedDuration::from_mins(7));
    assert_eq!(dora.get(&format!("/console/leads/{seen}")).status, 200);
    fixture.hand.advance(SignedDuration::from_mins(5));
    let stage = format!("/console/leads/{seen}/stage");
    assert_eq!(dora.do_it(&stage, &[("stage", "working")]), "stage");

    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(["--json", "leads", "times", "--dealer", ONE, "--data"]);
    let output = command.arg(fixture.server.directory.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let steps: Value = tradepost_document::json::from_slice(&output.stdout).unwrap();
    let step = |name: &str, leads: u32, seconds: Option<u32>| {
        json!({
            "step": name, "leads": leads, "waiting": 2 - leads, "median_seconds": seconds,
            "of_90_percent_seconds": seconds, "longest_seconds": seconds,
        })
    };
    let expected =
        [step("delivered", 0, None), step("seen", 1, Some(420)), step("answered", 1, Some(720))];
    assert_eq!(steps, json!(expected));
}
