//! What the publisher's own people decide: accounts, creatives, buys that wait, and rights.

use std::sync::mpsc;

use expect_test::{Expect, expect};
use tradepost_adcp::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::{Account, AccountStatus as Standing};
use tradepost_publisher::agent::{AccountRights, Billing};
use tradepost_publisher::creative::{Creative, CreativeStatus as Review, GivenCreative};
use tradepost_publisher::staff::{
    self, DecisionError, DecisionStep, DecisionSubject, RightsChange, StaffDecision, StateChange,
};
use tradepost_publisher::store::{EntityKind, New, Query, own_id};
use tradepost_publisher::task::SubmittedTask;
use tradepost_publisher::task::finish::{TaskFinisher, record_id};

use crate::support::Harness;
use crate::support::shop::{ACCOUNT, Shop, errors, package};

/// Does something as the publisher's people, and says what came of it.
fn act<T: Send + 'static>(
    harness: &Harness,
    job: impl FnOnce(TaskFinisher<'_>) -> Result<T, DecisionError> + Send + 'static,
) -> Result<T, DecisionError> {
    let publisher = harness.publisher.clone();
    let now = harness.now;
    let (sender, receiver) = mpsc::channel();
    harness.put(move |tx| {
        sender.send(job(TaskFinisher { publisher: &publisher, tx, now })).unwrap();
        Ok(())
    });
    receiver.recv().unwrap()
}

pub(crate) fn decision(matter: DecisionSubject, id: &str, step: DecisionStep) -> StaffDecision {
    let reason = (matter != DecisionSubject::Account && step == DecisionStep::Decline)
        .then(|| "the logo is another's".to_owned());
    StaffDecision {
        matter,
        id: id.to_owned(),
        account: None,
        step,
        reason,
        by: None,
        why: None,
        person: None,
        code: None,
        seen: None,
    }
}

pub(crate) fn decide(
    harness: &Harness,
    decision: &StaffDecision,
) -> Result<StateChange, DecisionError> {
    let decision = decision.clone();
    act(harness, move |finisher| staff::decide(finisher, &decision))
}

/// In short.
fn outline(done: &Result<StateChange, DecisionError>) -> String {
    match done {
        Ok(StateChange { before, after, .. }) if before == after => "as it was".to_owned(),
        Ok(StateChange { before, after, .. }) => format!("{before} -> {after}"),
        Err(DecisionError::Absent) => "absent".to_owned(),
        Err(DecisionError::Ambiguous(accounts)) => format!("one of {}", accounts.join(", ")),
        Err(DecisionError::Impossible { from, possible, .. }) => {
            let possible: Vec<_> = possible.iter().map(|step| step.name()).collect();
            format!("{from}: only {}", possible.join(", "))
        }
        Err(DecisionError::Objections(errors)) => {
            let codes: Vec<_> = errors.iter().map(|error| error.code.name()).collect();
            format!("objections: {}", codes.join(", "))
        }
        Err(DecisionError::Changed { from, .. }) => format!("changed: {from}"),
        Err(DecisionError::SamePerson(first)) => format!("approved by {} already", first.by),
        Err(DecisionError::Invalid(wrong)) => wrong.join("; "),
        Err(DecisionError::Broken(broken)) => panic!("{}", broken.chain()),
    }
}

fn put_account(harness: &Harness, id: &str, status: Standing) {
    let brand = json!({"domain": "acmeoutdoor.example"});
    let mut account = Account::new(id, brand, "pinnacle.example", Billing::Operator);
    account.status = status;
    account.setup = Some(json!({"message": "sign the contract"}));
    let id = id.to_owned();
    let now = harness.now;
    harness.put(move |tx| {
        let new = New { id: &id, owner: "agent:acme", account: Some(&id), state: "", now };
        tx.add(new, &account)
    });
}

fn put_creative(harness: &Harness, account: &str, id: &str, status: Review) {
    let creative = Creative {
        asked: Vec::new(),
        decision: None,
        creative_id: id.to_owned(),
        status,
        rejection_reason: None,
        offline: None,
        review_ends_at: None,
        given: GivenCreative::default(),
        assigned: Default::default(),
        observations: Vec::new(),
    };
    let account = account.to_owned();
    let now = harness.now;
    harness.put(move |tx| {
        let owner = "agent:acme";
        let record = own_id(owner, &account, &creative.creative_id);
        let new = New { id: &record, owner, account: Some(&account), state: "", now };
        tx.add(new, &creative)
    });
}

fn put_task(harness: &Harness, id: &str, status: &str, draft: bool) {
    let waiting = json!({
        "media_buy_id": format!("mb_of_{id}"), "status": "pending_creatives", "currency": "USD",
        "total_budget": 1000.0, "start_time": "2026-07-01T00:00:00Z",
        "end_time": "2026-08-01T00:00:00Z", "confirmed_at": null, "packages": [], "shown": {},
    });
    let mut task = json!({"task_id": id, "task_type": "create_media_buy", "status": status});
    if draft {
        task["draft"] = waiting;
    }
    let task: SubmittedTask = tradepost_document::json::from_value(task).unwrap();
    let state = status.to_owned();
    let now = harness.now;
    harness.put(move |tx| {
        let owner = "agent:acme";
        let record = record_id(owner, &task.task_id);
        tx.add(New { id: &record, owner, account: None, state: &state, now }, &task)
    });
}

/// Every step, for everything in every state.
#[test]
fn people_decide_along_the_published_ways_and_no_others() {
    let harness = Harness::new();
    let mut lines = String::new();
    let mut row = |matter: DecisionSubject, state: &str, put: &dyn Fn(&str)| {
        let cells = DecisionStep::ALL.iter().copied().map(|step| {
            let id = format!("{}-{state}-{}", matter.name(), step.name());
            put(&id);
            match decide(&harness, &decision(matter, &id, step)) {
                Ok(StateChange { before, after, .. }) if before == after => "=".to_owned(),
                Ok(StateChange { before, after, .. }) => {
                    assert_eq!(before, state);
                    after
                }
                Err(DecisionError::Impossible { from, .. }) => {
                    assert_eq!(from, state);
                    "-".to_owned()
                }
                other => panic!("{other:?}"),
            }
        });
        let cells = cells.collect::<Vec<_>>().join(" ");
        lines.push_str(&format!("{} {state}: {cells}\n", matter.name()));
    };
    for status in Standing::ALL.iter().copied() {
        row(DecisionSubject::Account, status.name(), &|id| put_account(&harness, id, status));
    }
    for status in Review::ALL.iter().copied() {
        row(DecisionSubject::Creative, status.name(), &|id| {
            put_creative(&harness, "acc_1", id, status)
        });
    }
    for status in
        ["submitted", "working", "input-required", "completed", "failed", "rejected", "canceled"]
    {
        row(DecisionSubject::Task, status, &|id| put_task(&harness, id, status, true));
    }
    expect![[r#"
        account pending_approval: active rejected - - - - - - -
        account active: = - suspended = closed payment_required = - -
        account payment_required: - - - - - = active - -
        account suspended: - - = active closed - - - -
        account rejected: - = - - - - - - -
        account closed: - - - - = - - - -
        creative processing: - rejected - - - - - - -
        creative pending_review: approved rejected - - - - - - -
        creative approved: = rejected suspended = - - - - -
        creative suspended: - rejected = approved - - - - -
        creative rejected: - = - - - - - - -
        creative archived: - - - - - - - - -
        task submitted: completed failed - - - - - - -
        task working: - failed - - - - - - -
        task input-required: - failed - - - - - - -
        task completed: = - - - - - - - -
        task failed: - = - - - - - - -
        task rejected: - - - - - - - - -
        task canceled: - - - - - - - - -
    "#]]
    .assert_eq(&lines);
}

#[test]
fn what_cannot_be_decided_changes_nothing_and_says_why() {
    let harness = Harness::new();
    put_account(&harness, "acc_1", Standing::Suspended);
    put_account(&harness, "acc_2", Standing::Closed);
    put_creative(&harness, "acc_1", "banner", Review::PendingReview);
    put_creative(&harness, "acc_2", "banner", Review::PendingReview);
    put_task(&harness, "empty", "submitted", false);
    let everything = || {
        let all = |kind| harness.store.look(|reader| reader.list(kind, &Query::default()));
        EntityKind::ALL.iter().map(|kind| all(*kind)).collect::<Result<Vec<_>, _>>().unwrap()
    };
    let before = everything();
    let mut lines = String::new();
    let mut check = |decision: StaffDecision| {
        lines.push_str(&format!("{}\n", outline(&decide(&harness, &decision))));
    };
    let of = decision;
    check(of(DecisionSubject::Account, "nobody", DecisionStep::Close));
    check(of(DecisionSubject::Task, "nothing", DecisionStep::Approve));
    check(of(DecisionSubject::Task, "empty", DecisionStep::Approve));
    check(of(DecisionSubject::Account, "acc_1", DecisionStep::Approve));
    check(of(DecisionSubject::Account, "acc_2", DecisionStep::Resume));
    check(of(DecisionSubject::Creative, "banner", DecisionStep::Approve));
    let on = |account: &str| Some(account.to_owned());
    check(StaffDecision {
        account: on("acc_3"),
        ..of(DecisionSubject::Creative, "banner", DecisionStep::Approve)
    });
    let banner = |step| StaffDecision {
        account: on("acc_1"),
        ..of(DecisionSubject::Creative, "banner", step)
    };
    check(banner(DecisionStep::Close));
    check(StaffDecision { reason: None, ..banner(DecisionStep::Decline) });
    check(StaffDecision { reason: Some(" ".to_owned()), ..banner(DecisionStep::Decline) });
    let reason = Some(format!("{}\n", "long".repeat(200)));
    check(StaffDecision { reason, ..banner(DecisionStep::Approve) });
    let reason = Some("late".to_owned());
    check(StaffDecision { reason, ..of(DecisionSubject::Account, "acc_1", DecisionStep::Close) });
    expect![[r#"
        absent
        absent
        objections: INVALID_STATE
        suspended: only resume, close
        closed: only 
        one of acc_1, acc_2
        absent
        pending_review: only approve, decline
        a creative is declined with a reason, which its buyer reads
        a reason has 1 to 500 characters
        a reason belongs to what is declined; a reason has 1 to 500 characters; a reason is one line of text
        buyers are told no reason with an account; leave it out
    "#]].assert_eq(&lines);
    assert_eq!(everything(), before);
}

/// `ACCOUNT_SETUP_REQUIRED` has a way out, and `ACCOUNT_SUSPENDED` and `ACCOUNT_PAYMENT_REQUIRED`
/// have ways in.
#[test]
fn a_decision_about_an_account_holds_at_the_next_request() {
    let shop = Shop::with(|account| {
        account.status = Standing::PendingApproval;
        account.setup = Some(json!({"message": "sign the contract"}));
    });
    let mut lines = String::new();
    let mut try_buy = |after: &str| {
        lines.push_str(&format!("{after}: {}", errors(&shop.create(json!({})))));
    };
    try_buy("at first");
    let steps = [
        DecisionStep::Approve,
        DecisionStep::Suspend,
        DecisionStep::Resume,
        DecisionStep::PaymentDue,
        DecisionStep::PaymentSettled,
        DecisionStep::Close,
    ];
    for step in steps {
        decide(&shop.harness, &decision(DecisionSubject::Account, ACCOUNT, step)).unwrap();
        try_buy(step.name());
    }
    expect![[r#"
        at first: {"code":"ACCOUNT_SETUP_REQUIRED","message":"the account has to be set up before it can be used; see details","recovery":"correctable","suggestion":"have a person complete the setup that details describe","details":{"setup_steps":["sign the contract"]}}
        approve: "completed"
        suspend: {"code":"ACCOUNT_SUSPENDED","message":"the account is suspended; a person has to settle it with the seller","recovery":"terminal","suggestion":"ask the seller to lift the suspension"}
        resume: "completed"
        payment-due: {"code":"ACCOUNT_PAYMENT_REQUIRED","message":"the account has an outstanding balance; the buyer has to settle it","recovery":"terminal","suggestion":"have the outstanding balance paid"}
        payment-settled: "completed"
        close: {"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account","suggestion":"check it with list_accounts, or ask the seller"}
    "#]].assert_eq(&lines);
    let listed = shop.ask(AdcpTool::ListAccounts, json!({}));
    expect![[r#"[{"account_id":"acc_acme","name":"acmeoutdoor.example c/o pinnacle.example","status":"closed","brand":{"domain":"acmeoutdoor.example"},"operator":"pinnacle.example","billing":"operator","account_scope":"operator_brand","sandbox":false,"authorization":{"allowed_tasks":["get_adcp_capabilities","get_products","list_creative_formats","create_media_buy","update_media_buy","get_media_buys","get_media_buy_delivery","sync_creatives","list_creatives","sync_audiences","sync_event_sources","log_event","sync_accounts","list_accounts","sync_governance","sync_plans","check_governance","report_plan_outcome","get_plan_audit_logs","get_signals","activate_signal","si_get_offering","si_initiate_session","si_send_message","si_terminate_session","create_property_list","get_property_list","list_property_lists","update_property_list","delete_property_list","validate_property_delivery","get_task_status","list_tasks","comply_test_controller"]}}]"#]].assert_eq(&listed["accounts"].to_string());
}

#[test]
fn a_person_approves_or_declines_a_creative_with_a_reason() {
    let shop = Shop::new();
    let stored = |shop: &Shop| {
        let creatives = shop.stored(EntityKind::Creative);
        creatives.iter().find(|row| row["creative_id"] == "banner-2").unwrap().to_string()
    };
    let mut lines = format!("{}\n", stored(&shop));
    for step in
        [DecisionStep::Approve, DecisionStep::Suspend, DecisionStep::Resume, DecisionStep::Decline]
    {
        lines.push_str(&outline(&decide(
            &shop.harness,
            &decision(DecisionSubject::Creative, "banner-2", step),
        )));
        lines.push('\n');
    }
    lines.push_str(&stored(&shop));
    expect![[r#"
        {"creative_id":"banner-2","status":"pending_review","given":{}}
        pending_review -> approved
        approved -> suspended
        suspended -> approved
        approved -> rejected
        {"creative_id":"banner-2","status":"rejected","rejection_reason":"the logo is another's","offline":{"since":"2026-06-01T12:00:00Z","reason":"content_rejected"},"given":{},"decision":{"at":"2026-06-01T12:00:00Z","by":"unknown","step":"decline"}}"#]].assert_eq(&lines);
}

fn waiting(shop: &Shop) -> String {
    let answer = shop.create(json!({
        "packages": [package(json!({"product_id": "person"}))],
        "push_notification_config": {"url": "https://buyer.example/hooks"},
    }));
    answer["task_id"].as_str().unwrap().to_owned()
}

fn notices(shop: &Shop) -> Vec<Value> {
    let bodies = shop.stored(EntityKind::Notice).into_iter();
    bodies
        .map(|notice| tradepost_document::json::from_str(notice["body"].as_str().unwrap()).unwrap())
        .collect()
}

fn status(shop: &Shop, id: &str) -> Value {
    shop.ask(AdcpTool::GetTaskStatus, json!({"task_id": id, "include_result": true}))
}

#[test]
fn a_buy_that_a_person_approves_is_booked_and_announced() {
    let mut shop = Shop::funded(5000, 0);
    let id = waiting(&shop);
    shop.wait(24);
    assert_eq!((shop.tick(), notices(&shop).len()), (0, 0));
    let approve = decision(DecisionSubject::Task, &id, DecisionStep::Approve);
    assert_eq!(outline(&decide(&shop.harness, &approve)), "submitted -> completed");
    assert_eq!(outline(&decide(&shop.harness, &approve)), "as it was");
    let result = status(&shop, &id)["result"].take();
    let buy = shop.buy(result["media_buy_id"].as_str().unwrap());
    assert_eq!(buy.thing.confirmed_at, Some(shop.harness.now));
    let outline = notices(&shop);
    assert_eq!((outline.len(), &outline[0]["result"]), (1, &result));
    expect![[r#"{"status":"completed","message":"how the task stands","task_id":"task_3","task_type":"create_media_buy","created_at":"2026-06-01T12:00:00Z","updated_at":"2026-06-02T12:00:00Z","completed_at":"2026-06-02T12:00:00Z","has_webhook":true,"protocol":"media-buy","result":{"media_buy_id":"mb_1","media_buy_status":"pending_start","revision":1,"currency":"USD","total_budget":1000,"valid_actions":["pause","cancel","extend_flight","shorten_flight","update_flight_dates","increase_budget","decrease_budget","reallocate_budget","update_targeting","update_pacing","update_frequency_caps","update_creative_assignments","remove_creative","add_packages","remove_packages","sync_creatives"],"available_actions":[{"action":"pause","mode":"self_serve"},{"action":"cancel","mode":"self_serve"},{"action":"extend_flight","mode":"self_serve"},{"action":"shorten_flight","mode":"self_serve"},{"action":"update_flight_dates","mode":"self_serve"},{"action":"increase_budget","mode":"self_serve"},{"action":"decrease_budget","mode":"self_serve"},{"action":"reallocate_budget","mode":"self_serve"},{"action":"update_targeting","mode":"self_serve"},{"action":"update_pacing","mode":"self_serve"},{"action":"update_frequency_caps","mode":"self_serve"},{"action":"update_creative_assignments","mode":"self_serve"},{"action":"remove_creative","mode":"self_serve"},{"action":"add_packages","mode":"self_serve"},{"action":"remove_packages","mode":"self_serve"},{"action":"sync_creatives","mode":"self_serve"}],"confirmed_at":"2026-06-02T12:00:00Z","packages":[{"package_id":"pkg_2","product_id":"person","pricing_option_id":"cpm","budget":1000,"start_time":"2026-07-01T00:00:00Z","end_time":"2026-08-01T00:00:00Z","paused":false,"creative_assignments":[{"creative_id":"banner"}]}],"account":{"account_id":"acc_acme","name":"acmeoutdoor.example c/o pinnacle.example","status":"active","brand":{"domain":"acmeoutdoor.example"},"operator":"pinnacle.example","billing":"operator","account_scope":"operator_brand","sandbox":false},"status":"completed"},"adcp_version":"3.1"}"#]].assert_eq(&status(&shop, &id).to_string());
}

#[test]
fn declined_buys_come_to_nothing_and_their_buyers_read_why() {
    let shop = Shop::funded(5000, 0);
    let id = waiting(&shop);
    assert_eq!(shop.stored(EntityKind::Account)[0]["funds"]["committed"], 1000.0);
    let decline = decision(DecisionSubject::Task, &id, DecisionStep::Decline);
    assert_eq!(outline(&decide(&shop.harness, &decline)), "submitted -> failed");
    assert_eq!(shop.stored(EntityKind::Account)[0]["funds"]["committed"], 0.0);
    assert_eq!(shop.stored(EntityKind::MediaBuy), Vec::<Value>::new());
    assert_eq!(notices(&shop)[0]["status"], "failed");
    expect![[r#"{"status":"failed","message":"how the task stands","task_id":"task_3","task_type":"create_media_buy","created_at":"2026-06-01T12:00:00Z","updated_at":"2026-06-01T12:00:00Z","completed_at":"2026-06-01T12:00:00Z","has_webhook":true,"protocol":"media-buy","error":{"code":"POLICY_VIOLATION","message":"the seller has declined the buy: the logo is another's"},"result":{"status":"failed","adcp_error":{"code":"POLICY_VIOLATION","message":"the seller has declined the buy: the logo is another's","recovery":"correctable","suggestion":"read the policy in details and change the request"},"errors":[{"code":"POLICY_VIOLATION","message":"the seller has declined the buy: the logo is another's","recovery":"correctable","suggestion":"read the policy in details and change the request"}]},"adcp_version":"3.1"}"#]].assert_eq(&status(&shop, &id).to_string());
    let again = waiting(&shop);
    let plain = StaffDecision {
        reason: None,
        ..decision(DecisionSubject::Task, &again, DecisionStep::Decline)
    };
    decide(&shop.harness, &plain).unwrap();
    expect![[r#"{"code":"POLICY_VIOLATION","message":"the seller has declined the buy; choose another product or ask the seller"}"#]].assert_eq(&status(&shop, &again)["error"].to_string());
}

/// Neither a person nor time books a buy that would be refused now.
#[test]
fn buys_of_accounts_that_may_not_spend_are_not_approved() {
    let mut shop = Shop::new();
    let by_person = waiting(&shop);
    let by_time = shop.create(json!({"packages": [package(json!({"product_id": "soon"}))]}));
    decide(&shop.harness, &decision(DecisionSubject::Account, ACCOUNT, DecisionStep::Suspend))
        .unwrap();
    let approve = decision(DecisionSubject::Task, &by_person, DecisionStep::Approve);
    assert_eq!(outline(&decide(&shop.harness, &approve)), "objections: ACCOUNT_SUSPENDED");
    assert_eq!(status(&shop, &by_person)["status"], "submitted", "it waits as before");
    shop.wait(1);
    assert_eq!(shop.tick(), 1);
    let ended = status(&shop, by_time["task_id"].as_str().unwrap());
    expect![[r#"{"status":"failed","message":"how the task stands","task_id":"task_6","task_type":"create_media_buy","created_at":"2026-06-01T12:00:00Z","updated_at":"2026-06-01T13:00:00Z","completed_at":"2026-06-01T13:00:00Z","has_webhook":false,"protocol":"media-buy","error":{"code":"ACCOUNT_SUSPENDED","message":"the account is suspended; a person has to settle it with the seller"},"result":{"status":"failed","adcp_error":{"code":"ACCOUNT_SUSPENDED","message":"the account is suspended; a person has to settle it with the seller","recovery":"terminal","suggestion":"ask the seller to lift the suspension"},"errors":[{"code":"ACCOUNT_SUSPENDED","message":"the account is suspended; a person has to settle it with the seller","recovery":"terminal","suggestion":"ask the seller to lift the suspension"}]},"adcp_version":"3.1"}"#]].assert_eq(&ended.to_string());
    decide(&shop.harness, &decision(DecisionSubject::Account, ACCOUNT, DecisionStep::Resume))
        .unwrap();
    assert_eq!(outline(&decide(&shop.harness, &approve)), "submitted -> completed");
    // A flight that is over cannot be approved either.
    let late = waiting(&shop);
    shop.wait(24 * 90);
    let approve = decision(DecisionSubject::Task, &late, DecisionStep::Approve);
    assert_eq!(outline(&decide(&shop.harness, &approve)), "objections: INVALID_REQUEST");
}

fn rights(tasks: &[&str], fields: &[(&str, &[&str])], read_only: bool) -> AccountRights {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    AccountRights {
        allowed_tasks: (!tasks.is_empty()).then(|| own(tasks)),
        field_scopes: fields.iter().map(|(task, names)| ((*task).to_owned(), own(names))).collect(),
        scope_name: None,
        read_only,
    }
}

fn grant(
    harness: &Harness,
    account: &str,
    agent: &str,
    rights: Option<AccountRights>,
) -> Result<bool, DecisionError> {
    let change = RightsChange {
        account: account.to_owned(),
        agent: agent.to_owned(),
        rights,
        by: None,
        why: None,
    };
    act(harness, move |finisher| staff::grant(finisher, &change))
}

/// R-1, R-2, R-4: what an agent is refused with, and an account that is lent.
#[test]
fn rights_hold_at_the_next_request_until_taken_back() {
    let shop = Shop::new();
    let mut lines = String::new();
    let looked = |who: &str| {
        let asked = json!({"account": {"account_id": ACCOUNT}});
        errors(&shop.ask_as(who, AdcpTool::GetMediaBuys, asked))
    };
    let booked = |who: &str| {
        let mut order = Shop::order(json!({}));
        order["account"] = json!({"account_id": ACCOUNT});
        errors(&shop.ask_as(who, AdcpTool::CreateMediaBuy, order))
    };
    let mut say = |what: &str| {
        for who in ["acme", "nova"] {
            lines.push_str(&format!("{what}, {who} looks: {}", looked(who)));
            lines.push_str(&format!("{what}, {who} books: {}", booked(who)));
        }
    };
    say("nothing");
    let lent = rights(&["get_media_buys"], &[], false);
    assert!(!grant(&shop.harness, ACCOUNT, "nova", Some(lent)).unwrap());
    say("tasks");
    assert!(grant(&shop.harness, ACCOUNT, "nova", Some(rights(&[], &[], true))).unwrap());
    let narrow = rights(&[], &[("create_media_buy", &["brand", "start_time", "end_time"])], false);
    assert!(!grant(&shop.harness, ACCOUNT, "acme", Some(narrow)).unwrap());
    say("read only and fields");
    assert!(grant(&shop.harness, ACCOUNT, "nova", None).unwrap());
    assert!(grant(&shop.harness, ACCOUNT, "acme", None).unwrap());
    assert!(!grant(&shop.harness, ACCOUNT, "acme", None).unwrap(), "it was taken back");
    say("nothing again");
    expect![[r#"
        nothing, acme looks: "completed"
        nothing, acme books: "completed"
        nothing, nova looks: {"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account","suggestion":"check it with list_accounts, or ask the seller"}
        nothing, nova books: {"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account","suggestion":"check it with list_accounts, or ask the seller"}
        tasks, acme looks: "completed"
        tasks, acme books: "completed"
        tasks, nova looks: "completed"
        tasks, nova books: {"code":"SCOPE_INSUFFICIENT","message":"the caller may not call this task for this account; authorization in list_accounts says what it may call","recovery":"correctable","suggestion":"have a broader scope granted, or use a task that is permitted","details":{"introspection_hint":{"task":"list_accounts","account":{"account_id":"acc_acme"}}}}
        read only and fields, acme looks: "completed"
        read only and fields, acme books: {"code":"FIELD_NOT_PERMITTED","message":"the caller may not set this field for this account; leave it out","recovery":"correctable","field":"packages[0].budget","suggestion":"leave the field out and send again","details":{"task":"create_media_buy","permitted_fields":["brand","end_time","start_time"]}}
        {"code":"FIELD_NOT_PERMITTED","message":"the caller may not set this field for this account; leave it out","recovery":"correctable","field":"packages[0].creative_assignments","suggestion":"leave the field out and send again","details":{"task":"create_media_buy","permitted_fields":["brand","end_time","start_time"]}}
        read only and fields, nova looks: "completed"
        read only and fields, nova books: {"code":"READ_ONLY_SCOPE","message":"the caller may read this account and change nothing","recovery":"correctable","suggestion":"have write access granted, or use a task that only reads"}
        nothing again, acme looks: "completed"
        nothing again, acme books: "completed"
        nothing again, nova looks: {"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account","suggestion":"check it with list_accounts, or ask the seller"}
        nothing again, nova books: {"code":"ACCOUNT_NOT_FOUND","message":"an identifier in the request does not resolve to anything of yours","recovery":"terminal","field":"account","suggestion":"check it with list_accounts, or ask the seller"}
    "#]].assert_eq(&lines);
}

#[test]
fn impossible_rights_are_refused_with_everything_that_is_wrong() {
    let harness = Harness::new();
    put_account(&harness, "acc_1", Standing::Active);
    put_account(&harness, "acc_over", Standing::Closed);
    let check = |account: &str, agent: &str, given: AccountRights, expected: Expect| {
        let done = grant(&harness, account, agent, Some(given)).map(|_| unreachable!());
        expected.assert_eq(&outline(&done));
    };
    let any = || rights(&[], &[], false);
    check("acc_none", "nova", any(), expect!["absent"]);
    check("acc_over", "nova", any(), expect!["closed: only "]);
    let wrong = rights(
        &["get_media_buys", "sell_everything"],
        &[("update_media_buy", &["budget", "packages[0]"]), ("buy", &["x"])],
        false,
    );
    check(
        "acc_1",
        "stranger",
        wrong,
        expect![[
            r#"the configuration has no agent of this id; the publisher has no task "sell_everything"; the publisher has no task "buy"; update_media_buy has fields and is none of the tasks; "packages[0]" is no field of a request"#
        ]],
    );
    let none = AccountRights { allowed_tasks: Some([].into()), ..any() };
    check("acc_1", "nova", none, expect!["no task is left to call"]);
    // What an agent that is no more could do can be taken back.
    assert!(!grant(&harness, "acc_1", "stranger", None).unwrap());
}
