//! Owners, reasons, next steps and lists of leads: what people do with one lead and with many.

use std::collections::BTreeSet;

use tradepost_admin::leads::LeadRefusal;
use tradepost_admin::leads::work::{
    AssignLead, LeadSelection, SetLeadStages, assign_lead, set_lead_stages,
};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_dealer::staff::lead_work::{ExpectedOwner, LeadAssignment};
use tradepost_dealer::staff::{LostReason, NextStepKind, StaffProgress, StaffStage};
use tradepost_store::staff::{LeadFilter, OwnerFilter};

use super::*;
use crate::support::postgres::Scratch;

/// Two dealers, one of which takes any number of leads.
fn busy() -> Fixture {
    Fixture::with(take_any)
}

/// The same on this store.
fn busy_on(store: Store) -> Fixture {
    let config = configured(take_any);
    dealer::stock(&store, &config);
    Fixture::from_server(support::start_on(store, config))
}

fn take_any(config: &mut Config) {
    let velocity = &mut config.dealers[0].terms.leads.velocity;
    velocity.per_address = 100_000;
    velocity.all = 100_000;
    config.dealers[0].terms.leads.daily_bytes_per_address = 1 << 40;
}

fn progress(fixture: &Fixture, id: &str) -> StaffProgress {
    fixture.server.store.lead_work(id).unwrap().0
}

/// Sends this many leads of different customers. Returns their ids.
fn send(fixture: &Fixture, number: usize) -> Vec<String> {
    let one = |number| fixture.lead("one.example", &customer(&format!("Ada{number}")));
    (0..number).map(one).collect()
}

#[test]
fn a_lead_is_given_to_a_member_of_a_provider() {
    let fixture = Fixture::new();
    fixture.add("oidc:Ada", StaffRole::Desk, Some(ONE));
    let id = fixture.lead("one.example", &customer("Bob"));
    let dora = fixture.enter("dora");
    let owner = format!("/console/leads/{id}/owner");
    assert_eq!(dora.do_it(&owner, &[("to", "oidc:Ada"), ("seen", "-")]), "assigned");
    assert_eq!(progress(&fixture, &id).owner.as_deref(), Some("oidc:Ada"));
}

/// What people do with a lead, on whichever store.
fn an_afternoon(fixture: &Fixture) {
    let id = fixture.lead("one.example", &customer("Ada"));
    let of = |rest: &str| format!("/console/leads/{id}{rest}");
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    assert_eq!(dora.do_it(&of("/owner"), &[("to", "dora"), ("seen", "-")]), "assigned");
    // Maria's page still says that nobody has it.
    let late = maria.post(&of("/owner"), &[("to", "maria"), ("seen", "-")]);
    assert_eq!(late.status, 409);
    assert!(text(&late).contains("dora has this lead now"), "{}", text(&late));
    assert_eq!(progress(fixture, &id).owner.as_deref(), Some("dora"));
    assert_eq!(maria.do_it(&of("/owner"), &[("to", "maria"), ("seen", "dora")]), "assigned");
    assert_eq!(maria.do_it(&of("/owner"), &[("to", "maria"), ("seen", "dora")]), "nothing");
    for not_staff in ["egon", "other", "nobody-at-all"] {
        let answer = maria.post(&of("/owner"), &[("to", not_staff)]);
        assert_eq!(answer.status, 422, "{not_staff}");
    }
    assert!(text(&maria.get("/console?of=mine")).contains("Ada Lovelace"));
    assert!(!text(&dora.get("/console?of=mine")).contains("Ada Lovelace"));
    assert!(!text(&dora.get("/console?of=unassigned")).contains("Ada Lovelace"));

    assert_eq!(dora.post(&of("/stage"), &[("stage", "lost")]).status, 422, "without a reason");
    assert_eq!(dora.do_it(&of("/stage"), &[("stage", "lost"), ("reason", "price")]), "stage");
    assert_eq!(progress(fixture, &id).lost_reason, Some(LostReason::Price));
    assert!(text(&dora.get(&of(""))).contains("Lost: price"));
    assert_eq!(dora.do_it(&of("/stage"), &[("stage", "working"), ("reason", "price")]), "stage");
    assert_eq!(progress(fixture, &id).lost_reason, None);

    let past = dora.post(&of("/step"), &[("kind", "call"), ("at", "2020-05-03T11:00")]);
    assert_eq!(past.status, 422);
    assert_eq!(dora.post(&of("/step"), &[("kind", "call"), ("at", "soon")]).status, 422);
    let call = [("kind", "call"), ("at", "2100-05-03T11:00")];
    assert_eq!(dora.do_it(&of("/step"), &call), "step");
    assert_eq!(dora.do_it(&of("/step"), &call), "nothing");
    let step = progress(fixture, &id).next_step.unwrap();
    assert_eq!((step.kind, step.at), (NextStepKind::Call, at("2100-05-03T18:00:00Z")));
    assert_eq!(dora.do_it(&of("/step-end"), &[("how", "done")]), "step_done");
    assert_eq!(dora.do_it(&of("/step-end"), &[("how", "done")]), "nothing");
    assert_eq!(dora.do_it(&of("/step"), &call), "step");

    // Nothing is left to do with a customer who may not be contacted.
    assert_eq!(maria.do_it(&of("/revoke"), &[]), "revoked");
    let left = progress(fixture, &id);
    assert_eq!((left.next_step, left.owner.as_deref()), (None, Some("maria")));
    assert_eq!(dora.post(&of("/step"), &call).status, 422);
    assert_eq!(dora.post(&of("/owner"), &[("to", "dora")]).status, 422);

    let record: Vec<_> = fixture
        .record(ONE)
        .into_iter()
        .filter(|(_, what, _)| what != "signed_in" && what != "lead_seen")
        .map(|(who, what, detail)| format!("{who} {what} {}", detail.unwrap_or_default()))
        .collect();
    assert_eq!(
        record,
        [
            "dora lead_assigned from nobody to dora",
            "maria lead_assigned from dora to maria",
            "dora stage_changed lost: price",
            "dora stage_changed working",
            "dora next_step_set call at 2100-05-03T18:00:00Z",
            "dora next_step_done ",
            "dora next_step_set call at 2100-05-03T18:00:00Z",
            "maria consent_revoked ",
        ]
    );
}

#[test]
fn a_lead_has_an_owner_a_reason_and_a_step() {
    an_afternoon(&Fixture::new());
}

#[test]
fn a_lead_has_an_owner_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    an_afternoon(&Fixture::on(scratch.store()));
}

/// Has several people take a lead at the same time.
fn all_take_one(fixture: &Fixture) {
    let id = fixture.lead("one.example", &customer("Ada"));
    let store = &fixture.server.store;
    let take = |name: &str| {
        let context = AdminContext { store, dealers: &[], now: at(NOW) };
        let actor = Actor::from_member(&store.member(name).unwrap().unwrap());
        let owner = Some(name.to_owned());
        let expected = ExpectedOwner::Nobody;
        assign_lead(&context, &actor, AssignLead { lead_id: id.clone(), owner, expected })
    };
    let names = ["dora", "maria", "group"];
    let results: Vec<_> = std::thread::scope(|scope| {
        let takers = names.map(|name| scope.spawn(move || (name, take(name))));
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    let owner = progress(fixture, &id).owner;
    for (name, result) in results {
        match result {
            Ok(done) => assert_eq!((done.is_changed, owner.as_deref()), (true, Some(name))),
            Err(AdminError::Refused(LeadRefusal::OwnedBy(current_owner))) => {
                assert_eq!(current_owner, owner)
            }
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn of_several_who_take_a_lead_one_has_it() {
    all_take_one(&Fixture::new());
}

#[test]
fn of_several_on_postgresql_one_has_the_lead() {
    let Some(scratch) = Scratch::new() else { return };
    all_take_one(&Fixture::on(scratch.store()));
}

/// Sends leads to a dealer whose staff gets them in turn, before and after a restart.
fn by_turns(open: impl Fn() -> Store) {
    let config = configured(|config| {
        take_any(config);
        config.dealers[0].terms.leads.assignment = LeadAssignment::RoundRobin;
    });
    let store = open();
    dealer::stock(&store, &config);
    let first = Fixture::from_server(support::start_on(store, config.clone()));
    let before = send(&first, 3);
    let owner = |fixture: &Fixture, id: &String| progress(fixture, id).owner.unwrap();
    let owners: Vec<_> = before.iter().map(|id| owner(&first, id)).collect();
    assert_eq!(owners, ["dora", "maria", "dora"], "an engineer and other dealers get none");
    // The other dealer's leads are assigned by hand.
    let other = first.lead("two.example", &customer("Bob"));
    assert_eq!(progress(&first, &other).owner, None);
    drop(first);
    let second = Fixture::serve(support::start_on(open(), config));
    let cyril = with(customer("Cyril"), &[("/idempotency_key", json!("key-of-cyril"))]);
    let one = second.lead("one.example", &cyril);
    let again = second.lead("one.example", &cyril);
    assert_eq!(one, again, "a lead that is sent again takes nobody's turn");
    let other = second.lead("one.example", &customer("Dan"));
    assert_eq!([owner(&second, &one), owner(&second, &other)], ["maria", "dora"]);
    let recorded = second.record(ONE);
    let assigned =
        recorded.iter().filter(|(who, what, _)| who == "round-robin" && what == "lead_assigned");
    assert_eq!(assigned.count(), 5);
}

#[test]
fn leads_go_to_members_in_turn_across_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    by_turns(|| Store::open(folder.path()).unwrap());
}

#[test]
fn leads_go_to_members_in_turn_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    by_turns(|| scratch.store());
}

/// Changes many leads, is interrupted, and does it again.
fn many_twice(fixture: &Fixture) {
    let ids = send(fixture, 230);
    let store = &fixture.server.store;
    let context = AdminContext { store, dealers: &[], now: at(NOW) };
    let dora = Actor::from_member(&store.member("dora").unwrap().unwrap());
    let lose = |leads: LeadSelection<'_>| {
        let lost_reason = Some(LostReason::Other);
        let input = SetLeadStages { leads, stage: StaffStage::Lost, lost_reason };
        set_lead_stages(&context, &dora, input).unwrap()
    };
    // As far as an interrupted change came.
    let begun = lose(LeadSelection::Ids(ids[..200].to_vec()));
    assert_eq!((begun.changed.len(), begun.unchanged.len()), (200, 0));
    let again = lose(LeadSelection::Ids(ids.clone()));
    assert_eq!((again.changed.len(), again.unchanged.len()), (30, 200));
    let all = lose(LeadSelection::Filter(LeadFilter::default()));
    assert_eq!((all.changed.len(), all.unchanged.len(), all.is_cut), (0, 230, false));
    let recorded = fixture.record(ONE);
    let recorded = recorded.iter().filter(|(_, what, _)| what == "stage_changed").count();
    assert_eq!(recorded, 230, "one entry for each lead");
    let input = SetLeadStages {
        leads: LeadSelection::Filter(LeadFilter { dealer_id: Some(TWO), ..LeadFilter::default() }),
        stage: StaffStage::Sold,
        lost_reason: None,
    };
    let refused = set_lead_stages(&context, &dora, input).unwrap_err();
    assert!(matches!(refused, AdminError::Refused(LeadRefusal::UnknownDealer(_))));
}

#[test]
fn a_change_of_many_leads_is_repeated_without_harm() {
    many_twice(&busy());
}

#[test]
fn a_change_of_many_leads_is_repeated_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    many_twice(&busy_on(scratch.store()));
}

#[test]
fn pages_of_a_list_reach_the_newest_and_the_oldest_lead() {
    let fixture = busy();
    let ids: BTreeSet<String> = send(&fixture, 112).into_iter().collect();
    let dora = fixture.enter("dora");
    let shown = |page: &str| -> BTreeSet<String> {
        let rows = page.split("name=\"lead\" value=\"").skip(1);
        rows.map(|row| row.split('"').next().unwrap().to_owned()).collect()
    };
    let link = |page: &str, label: &str| -> Option<String> {
        let (before, _) = page.split_once(&format!(">{label}</a>"))?;
        let (_, href) = before.rsplit_once("href=\"")?;
        Some(href.split('"').next().unwrap().replace("&amp;", "&").replace("&#38;", "&"))
    };
    for (from, step) in [("/console/leads", "Earlier"), ("/console/leads?end=yes", "Later")] {
        let mut seen = BTreeSet::new();
        let mut path = from.to_owned();
        let mut pages = 0;
        loop {
            let page = text(&dora.get(&path));
            let rows = shown(&page);
            assert!(rows.iter().all(|id| seen.insert(id.clone())), "no lead twice");
            pages += 1;
            let Some(next) = link(&page, step) else { break };
            path = next;
        }
        assert_eq!((pages, &seen), (3, &ids), "{from}");
    }
    assert_eq!(dora.get("/console/leads?after=x").status, 404);

    // The inbox hides none either.
    let mut path = "/console".to_owned();
    let mut seen = 0;
    loop {
        let page = text(&dora.get(&path));
        seen += page.matches("class=\"chip lead\"").count();
        let Some(next) = link(&page, "Later") else { break };
        path = next;
    }
    assert_eq!(seen, 112);
}

#[test]
fn leads_are_filtered_by_agent_owner_vehicle_and_age() {
    filtered(&busy());
}

#[test]
fn leads_are_filtered_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    filtered(&busy_on(scratch.store()));
}

#[test]
fn leads_are_filtered_where_customers_are_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let keys = tradepost_store::privacy::OperatorKeys::read(&"5".repeat(64)).unwrap();
    assert!(store.unlock(&keys, true, at(NOW)).unwrap());
    filtered(&busy_on(store));
    let file = std::fs::read(folder.path().join("tradepost.sqlite")).unwrap();
    let is_there = |text: &[u8]| file.windows(text.len()).any(|part| part == text);
    assert!(!is_there(b"agent:other agent"), "the agent's name is hashed");
}

/// What the filters find, on whichever store.
fn filtered(fixture: &Fixture) {
    let store = &fixture.server.store;
    let vehicle = json!({"vin": dealer::LISTED_VIN});
    let ada = with(customer("Ada"), &[("/vehicle_of_interest", vehicle)]);
    let ada = fixture.lead("one.example", &ada);
    let agent = json!({"name": "Other Agent"});
    let bob = fixture.lead("one.example", &with(customer("Bob"), &[("/source_agent", agent)]));
    let lead = store.lead_history(&ada).unwrap().unwrap().lead;
    let rooftop = lead.submission.rooftop.clone().unwrap();
    let listing = lead.submission.listing.clone();
    let vehicle = listing.as_ref().and_then(|listing| listing["vehicle_id"].as_str());
    assert!(vehicle.is_some(), "{listing:?}");
    let ids = |filter: LeadFilter<'_>| {
        let filter = LeadFilter { limit: 9, ..filter };
        let ids = store.lead_ids(&filter).unwrap();
        assert_eq!(store.count_leads(&filter).unwrap() as usize, ids.len());
        ids
    };
    let any = LeadFilter::default();
    let both = [bob.clone(), ada.clone()];
    assert_eq!(ids(LeadFilter { agent: Some("OTHER agent"), ..any }), [bob.as_str()]);
    assert_eq!(ids(LeadFilter { agent: Some("nobody"), ..any }), [""; 0]);
    assert_eq!(ids(LeadFilter { rooftop: Some(&rooftop.to_uppercase()), ..any }), both);
    assert_eq!(ids(LeadFilter { vehicle_id: vehicle, ..any }), [ada.as_str()]);
    assert_eq!(ids(LeadFilter { vehicle_id: Some("none"), ..any }), [""; 0]);
    let dora = fixture.enter("dora");
    let owner = format!("/console/leads/{ada}/owner");
    assert_eq!(dora.do_it(&owner, &[("to", "dora")]), "assigned");
    let of = |owner| LeadFilter { owner: Some(owner), ..any };
    assert_eq!(ids(of(OwnerFilter::Member("dora"))), [ada.as_str()]);
    assert_eq!(ids(of(OwnerFilter::Nobody)), [bob.as_str()]);
    let received = lead.received_at;
    assert_eq!(ids(LeadFilter { received_before: Some(received), ..any }), [""; 0]);
    assert_eq!(ids(LeadFilter { received_since: Some(received), ..any }), both);
    let shown = text(&dora.get("/console/leads?agent=other+agent&owner=-"));
    assert!(shown.contains("Bob") && !shown.contains("Ada Lovelace"), "{shown}");
    assert_eq!(dora.get("/console/leads?older=forever").status, 404);
    let long = format!("/console/leads?agent={}", "x".repeat(201));
    assert_eq!(dora.get(&long).status, 422);
}

#[test]
fn selected_leads_are_changed_together() {
    let fixture = busy();
    let ids = send(&fixture, 3);
    let dora = fixture.enter("dora");
    let maria = fixture.enter("maria");
    let seen: Vec<String> = ids.iter().map(|id| format!("seen-{id}")).collect();
    let seen: Vec<_> = seen.iter().map(|name| (name.as_str(), "-")).collect();
    let lead = |number: usize| ("lead", ids[number].as_str());
    let chosen = [lead(0), lead(1), seen[0], seen[1], seen[2], ("to", "dora"), ("view", "new")];
    let answer = dora.do_it("/console/leads/assign", &chosen);
    assert_eq!(answer, "/console/leads?view=new&changed=2&unchanged=0");
    assert!(text(&dora.get(&answer)).contains("2 leads are changed."));
    // Maria's list still says that nobody has them.
    let chosen = [lead(1), lead(2), seen[0], seen[1], seen[2], ("to", "maria")];
    let page = maria.post("/console/leads/assign", &chosen);
    assert_eq!(page.status, 200);
    assert!(text(&page).contains("1 lead is changed."), "{}", text(&page));
    assert!(text(&page).contains("dora has this lead now"), "{}", text(&page));
    let owners = ids.iter().map(|id| progress(&fixture, id).owner.unwrap());
    assert_eq!(owners.collect::<Vec<_>>(), ["dora", "dora", "maria"]);

    let lost = [("stage", "lost"), ("all", "yes"), ("owner", "dora")];
    assert_eq!(dora.post("/console/leads/stage", &lost).status, 422, "without a reason");
    let lost = [("stage", "lost"), ("all", "yes"), ("owner", "dora"), ("reason", "no_answer")];
    let answer = dora.do_it("/console/leads/stage", &lost);
    assert_eq!(answer, "/console/leads?owner=dora&changed=2&unchanged=0");
    let stages = ids.iter().map(|id| progress(&fixture, id).stage);
    let [lost, new] = [StaffStage::Lost, StaffStage::New];
    assert_eq!(stages.collect::<Vec<_>>(), [lost, lost, new]);
    assert_eq!(dora.post("/console/leads/stage", &[("stage", "sold")]).status, 422, "none chosen");
    let other = fixture.enter("other");
    let page = other.post("/console/leads/stage", &[("stage", "sold"), lead(2)]);
    assert!(text(&page).contains("it belongs to another dealer"), "{}", text(&page));
    assert_eq!(progress(&fixture, &ids[2]).stage, StaffStage::New);
}

#[test]
fn a_manager_exports_the_list_that_is_shown() {
    let fixture = busy();
    send(&fixture, 2);
    let agent = json!({"name": "=HYPERLINK(\"x\")"});
    fixture.lead("one.example", &with(customer("Bob"), &[("/source_agent", agent)]));
    let dora = fixture.enter("dora");
    assert_eq!(dora.post("/console/leads/export", &[]).status, 403);
    let maria = fixture.enter("maria");
    let csv = maria.post("/console/leads/export", &[("agent", "=hyperlink(\"x\")")]);
    assert_eq!(csv.status, 200);
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let lines: Vec<_> = text(&csv).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[1].contains("Bob") && lines[1].contains("'=HYPERLINK"), "{lines:?}");
    let all = text(&maria.post("/console/leads/export", &[]));
    assert_eq!(all.lines().count(), 4);
    let exported = fixture.record(ONE).into_iter().filter(|(_, what, _)| what == "lead_exported");
    assert_eq!(exported.count(), 4);
}

#[test]
fn an_answer_is_prepared_for_permitted_channels_alone() {
    let fixture = busy();
    let permitted = |channels: Value| {
        let phone = json!("+14155550142");
        let changes = [("/consent/allowed_channels", channels), ("/customer/phone", phone)];
        let lead = with(customer("Ada"), &changes);
        let id = fixture.lead("one.example", &lead);
        text(&fixture.enter("dora").get(&format!("/console/leads/{id}")))
    };
    let page = permitted(json!(["email"]));
    assert!(page.contains("mailto:") && page.contains("Hello%20Ada"), "{page}");
    assert!(!page.contains("sms:") && !page.contains("tel:"), "{page}");
    let page = permitted(json!(["sms"]));
    assert!(page.contains("sms:") && !page.contains("mailto:") && !page.contains("tel:"), "{page}");
}

#[test]
fn markup_in_a_lead_is_text_in_lists() {
    const MARKUP: &str = "<script>alert(1)</script>";
    let fixture = busy();
    let agent = json!({"name": MARKUP});
    let lead = with(
        customer("Ada"),
        &[
            ("/customer/first_name", json!(MARKUP)),
            ("/message", json!(MARKUP)),
            ("/source_agent", agent),
        ],
    );
    let id = fixture.lead("one.example", &lead);
    let dora = fixture.enter("dora");
    for path in [
        "/console".to_owned(),
        "/console/leads".to_owned(),
        format!("/console/leads/{id}"),
        "/console/leads?agent=%3Cscript%3Ealert(1)%3C/script%3E&vehicle=%22%3E%3Cscript%3E&q=%3Cscript%3E"
            .to_owned(),
    ] {
        let page = text(&dora.get(&path));
        assert!(!page.contains("<script>alert"), "{path}: {page}");
        assert!(!page.contains("\"><script>"), "{path}: {page}");
    }
}
