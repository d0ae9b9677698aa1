//! What the publisher's own people decide: accounts, creatives, buys that wait, and rights.

use std::sync::mpsc;

use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use tradepost_publisher::account::{Account, Status as Standing};
use tradepost_publisher::creative::{Creative, Status as Review};
use tradepost_publisher::profile::{Authorization, Billing};
use tradepost_publisher::shelf::{Kind, New, Query, own_id};
use tradepost_publisher::staff::{self, Decision, Denied, Matter, Moved, Step};
use tradepost_publisher::task::Task;
use tradepost_publisher::task::end::{Office, record_id};
use tradepost_wire::adcp::Tool;

use crate::support::Desk;
use crate::support::shop::{ACCOUNT, Shop, errors, package};

/// Does something as the publisher's people, and says what came of it.
fn act<T: Send + 'static>(
    desk: &Desk,
    job: impl FnOnce(Office<'_>) -> Result<T, Denied> + Send + 'static,
) -> Result<T, Denied> {
    let (publisher, now) = (desk.publisher.clone(), desk.now);
    let (sender, receiver) = mpsc::channel();
    desk.put(move |shelf| {
        sender.send(job(Office { publisher: &publisher, shelf, now })).unwrap();
        Ok(())
    });
    receiver.recv().unwrap()
}

fn decision(matter: Matter, id: &str, step: Step) -> Decision {
    let reason = (matter != Matter::Account && step == Step::Decline)
        .then(|| "the logo is another's".to_owned());
    Decision { matter, id: id.to_owned(), account: None, step, reason }
}

fn decide(desk: &Desk, decision: &Decision) -> Result<Moved, Denied> {
    let decision = decision.clone();
    act(desk, move |office| staff::decide(office, &decision))
}

/// In short.
fn told(done: &Result<Moved, Denied>) -> String {
    match done {
        Ok(Moved { before, after }) if before == after => "as it was".to_owned(),
        Ok(Moved { before, after }) => format!("{before} -> {after}"),
        Err(Denied::Absent) => "absent".to_owned(),
        Err(Denied::Ambiguous(accounts)) => format!("one of {}", accounts.join(", ")),
        Err(Denied::Impossible { from, possible }) => {
            let possible: Vec<_> = possible.iter().map(|step| step.name()).collect();
            format!("{from}: only {}", possible.join(", "))
        }
        Err(Denied::Objections(errors)) => {
            let codes: Vec<_> = errors.iter().map(|error| error.code.name()).collect();
            format!("objections: {}", codes.join(", "))
        }
        Err(Denied::Invalid(wrong)) => wrong.join("; "),
        Err(Denied::Broken(broken)) => panic!("{broken}: {}", broken.source),
    }
}

fn put_account(desk: &Desk, id: &str, status: Standing) {
    let brand = json!({"domain": "acmeoutdoor.example"});
    let mut account = Account::new(id, brand, "pinnacle.example", Billing::Operator);
    account.status = status;
    account.setup = Some(json!({"message": "sign the contract"}));
    let (id, now) = (id.to_owned(), desk.now);
    desk.put(move |shelf| {
        let new = New { id: &id, owner: "agent:acme", account: Some(&id), state: "", now };
        shelf.add(new, &account)
    });
}

fn put_creative(desk: &Desk, account: &str, id: &str, status: Review) {
    let creative = Creative {
        creative_id: id.to_owned(),
        status,
        rejection_reason: None,
        review_ends_at: None,
        given: Map::new(),
        assigned: Default::default(),
    };
    let (account, now) = (account.to_owned(), desk.now);
    desk.put(move |shelf| {
        let owner = "agent:acme";
        let record = own_id(owner, &account, &creative.creative_id);
        let new = New { id: &record, owner, account: Some(&account), state: "", now };
        shelf.add(new, &creative)
    });
}

fn put_task(desk: &Desk, id: &str, status: &str, draft: bool) {
    let waiting = json!({
        "media_buy_id": format!("mb_of_{id}"), "status": "pending_creatives", "currency": "USD",
        "total_budget": 1000.0, "start_time": "2026-07-01T00:00:00Z",
        "end_time": "2026-08-01T00:00:00Z", "confirmed_at": null, "packages": [], "shown": {},
    });
    let mut task = json!({"task_id": id, "task_type": "create_media_buy", "status": status});
    if draft {
        task["draft"] = waiting;
    }
    let task: Task = serde_json::from_value(task).unwrap();
    let (state, now) = (status.to_owned(), desk.now);
    desk.put(move |shelf| {
        let owner = "agent:acme";
        let record = record_id(owner, &task.task_id);
        shelf.add(New { id: &record, owner, account: None, state: &state, now }, &task)
    });
}

/// Every step, for everything in every state.
#[test]
fn people_decide_along_the_published_ways_and_no_others() {
    let desk = Desk::new();
    let mut lines = String::new();
    let mut row = |matter: Matter, state: &str, put: &dyn Fn(&str)| {
        let cells = Step::ALL.map(|step| {
            let id = format!("{}-{state}-{}", matter.name(), step.name());
            put(&id);
            match decide(&desk, &decision(matter, &id, step)) {
                Ok(Moved { before, after }) if before == after => "=".to_owned(),
                Ok(Moved { before, after }) => {
                    assert_eq!(before, state);
                    after
                }
                Err(Denied::Impossible { from, .. }) => {
                    assert_eq!(from, state);
                    "-".to_owned()
                }
                other => panic!("{other:?}"),
            }
        });
        lines.push_str(&format!("{} {state}: {}\n", matter.name(), cells.join(" ")));
    };
    for status in Standing::ALL {
        row(Matter::Account, status.name(), &|id| put_account(&desk, id, status));
    }
    for status in Review::ALL {
        row(Matter::Creative, status.name(), &|id| put_creative(&desk, "acc_1", id, status));
    }
    for status in
        ["submitted", "working", "input-required", "completed", "failed", "rejected", "canceled"]
    {
        row(Matter::Task, status, &|id| put_task(&desk, id, status, true));
    }
    expect![[""]].assert_eq(&lines);
}

#[test]
fn what_cannot_be_decided_changes_nothing_and_says_why() {
    let desk = Desk::new();
    put_account(&desk, "acc_1", Standing::Suspended);
    put_account(&desk, "acc_2", Standing::Closed);
    put_creative(&desk, "acc_1", "banner", Review::PendingReview);
    put_creative(&desk, "acc_2", "banner", Review::PendingReview);
    put_task(&desk, "empty", "submitted", false);
    let everything = || {
        let all = |kind| desk.vault.look(|shelf| shelf.list(kind, &Query::default()));
        Kind::ALL.iter().map(|kind| all(*kind)).collect::<Result<Vec<_>, _>>().unwrap()
    };
    let before = everything();
    let mut lines = String::new();
    let mut check = |it: Decision| lines.push_str(&format!("{}\n", told(&decide(&desk, &it))));
    let of = decision;
    check(of(Matter::Account, "nobody", Step::Close));
    check(of(Matter::Task, "nothing", Step::Approve));
    check(of(Matter::Task, "empty", Step::Approve));
    check(of(Matter::Account, "acc_1", Step::Approve));
    check(of(Matter::Account, "acc_2", Step::Resume));
    check(of(Matter::Creative, "banner", Step::Approve));
    let on = |account: &str| Some(account.to_owned());
    check(Decision { account: on("acc_3"), ..of(Matter::Creative, "banner", Step::Approve) });
    let banner = |step| Decision { account: on("acc_1"), ..of(Matter::Creative, "banner", step) };
    check(banner(Step::Close));
    check(Decision { reason: None, ..banner(Step::Decline) });
    check(Decision { reason: Some(" ".to_owned()), ..banner(Step::Decline) });
    let reason = Some(format!("{}\n", "long".repeat(200)));
    check(Decision { reason, ..banner(Step::Approve) });
    let reason = Some("late".to_owned());
    check(Decision { reason, ..of(Matter::Account, "acc_1", Step::Close) });
    expect![[""]].assert_eq(&lines);
    assert_eq!(everything(), before);
}

/// `ACCOUNT_SETUP_REQUIRED` has a way out, and `ACCOUNT_SUSPENDED` and `ACCOUNT_PAYMENT_REQUIRED`
/// have ways in.
#[test]
fn what_is_decided_about_an_account_holds_at_the_next_request() {
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
        Step::Approve,
        Step::Suspend,
        Step::Resume,
        Step::PaymentDue,
        Step::PaymentSettled,
        Step::Close,
    ];
    for step in steps {
        decide(&shop.desk, &decision(Matter::Account, ACCOUNT, step)).unwrap();
        try_buy(step.name());
    }
    expect![[""]].assert_eq(&lines);
    let listed = shop.ask(Tool::ListAccounts, json!({}));
    expect![[""]].assert_eq(&listed["accounts"].to_string());
}

#[test]
fn a_creative_that_a_person_looks_at_is_approved_or_declined_with_a_reason() {
    let shop = Shop::new();
    let list = |shop: &Shop| {
        let asked = json!({"fields": ["creative_id", "status"], "filters": {"statuses": ["approved", "pending_review", "rejected"]}});
        let mut answer = shop.ask(Tool::ListCreatives, asked);
        answer["creatives"].take().to_string()
    };
    let mut lines = format!("{}\n", list(&shop));
    for step in [Step::Approve, Step::Suspend, Step::Resume, Step::Decline] {
        lines.push_str(&told(&decide(&shop.desk, &decision(Matter::Creative, "banner-2", step))));
        lines.push('\n');
    }
    lines.push_str(&list(&shop));
    expect![[""]].assert_eq(&lines);
}

fn waiting(shop: &Shop) -> String {
    let answer = shop.create(json!({
        "packages": [package(json!({"product_id": "person"}))],
        "push_notification_config": {"url": "https://buyer.example/hooks"},
    }));
    answer["task_id"].as_str().unwrap().to_owned()
}

fn notices(shop: &Shop) -> Vec<Value> {
    let bodies = shop.kept(Kind::Notice).into_iter();
    bodies.map(|notice| serde_json::from_str(notice["body"].as_str().unwrap()).unwrap()).collect()
}

fn status(shop: &Shop, id: &str) -> Value {
    shop.ask(Tool::GetTaskStatus, json!({"task_id": id, "include_result": true}))
}

#[test]
fn a_buy_that_a_person_approves_is_booked_and_announced() {
    let mut shop = Shop::funded(5000.0, 0.0);
    let id = waiting(&shop);
    shop.wait(24);
    assert_eq!((shop.tick(), notices(&shop).len()), (0, 0));
    let approve = decision(Matter::Task, &id, Step::Approve);
    assert_eq!(told(&decide(&shop.desk, &approve)), "submitted -> completed");
    assert_eq!(told(&decide(&shop.desk, &approve)), "as it was");
    let result = status(&shop, &id)["result"].take();
    let buy = shop.buy(result["media_buy_id"].as_str().unwrap());
    assert_eq!(buy.thing.confirmed_at, Some(shop.desk.now));
    let told = notices(&shop);
    assert_eq!((told.len(), &told[0]["result"]), (1, &result));
    expect![[""]].assert_eq(&status(&shop, &id).to_string());
}

#[test]
fn a_buy_that_a_person_declines_comes_to_nothing_and_its_buyer_reads_why() {
    let shop = Shop::funded(5000.0, 0.0);
    let id = waiting(&shop);
    assert_eq!(shop.kept(Kind::Account)[0]["funds"]["committed"], 1000.0);
    let decline = decision(Matter::Task, &id, Step::Decline);
    assert_eq!(told(&decide(&shop.desk, &decline)), "submitted -> failed");
    assert_eq!(shop.kept(Kind::Account)[0]["funds"]["committed"], 0.0);
    assert_eq!(shop.kept(Kind::MediaBuy), Vec::<Value>::new());
    assert_eq!(notices(&shop)[0]["status"], "failed");
    expect![[""]].assert_eq(&status(&shop, &id).to_string());
    let again = waiting(&shop);
    let plain = Decision { reason: None, ..decision(Matter::Task, &again, Step::Decline) };
    decide(&shop.desk, &plain).unwrap();
    expect![[""]].assert_eq(&status(&shop, &again)["error"].to_string());
}

/// Neither a person nor time books a buy that would be refused now.
#[test]
fn a_buy_of_an_account_that_may_not_spend_is_not_approved() {
    let mut shop = Shop::new();
    let by_person = waiting(&shop);
    let by_time = shop.create(json!({"packages": [package(json!({"product_id": "soon"}))]}));
    decide(&shop.desk, &decision(Matter::Account, ACCOUNT, Step::Suspend)).unwrap();
    let approve = decision(Matter::Task, &by_person, Step::Approve);
    assert_eq!(told(&decide(&shop.desk, &approve)), "objections: ACCOUNT_SUSPENDED");
    assert_eq!(status(&shop, &by_person)["status"], "submitted", "it waits as before");
    shop.wait(1);
    assert_eq!(shop.tick(), 1);
    let ended = status(&shop, by_time["task_id"].as_str().unwrap());
    expect![[""]].assert_eq(&ended.to_string());
    decide(&shop.desk, &decision(Matter::Account, ACCOUNT, Step::Resume)).unwrap();
    assert_eq!(told(&decide(&shop.desk, &approve)), "submitted -> completed");
    // A flight that is over cannot be approved either.
    let late = waiting(&shop);
    shop.wait(24 * 90);
    let approve = decision(Matter::Task, &late, Step::Approve);
    assert_eq!(told(&decide(&shop.desk, &approve)), "objections: VALIDATION_ERROR");
}

fn rights(tasks: &[&str], fields: &[(&str, &[&str])], read_only: bool) -> Authorization {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Authorization {
        allowed_tasks: (!tasks.is_empty()).then(|| own(tasks)),
        field_scopes: fields.iter().map(|(task, names)| ((*task).to_owned(), own(names))).collect(),
        scope_name: None,
        read_only,
    }
}

fn grant(
    desk: &Desk,
    account: &str,
    agent: &str,
    rights: Option<Authorization>,
) -> Result<bool, Denied> {
    let (account, agent) = (account.to_owned(), agent.to_owned());
    act(desk, move |office| staff::grant(office, &account, &agent, rights))
}

/// what an agent is refused with, and an account that is lent.
#[test]
fn rights_hold_at_the_next_request_until_they_are_taken_back() {
    let shop = Shop::new();
    let mut lines = String::new();
    let looked = |who: &str| {
        let asked = json!({"account": {"account_id": ACCOUNT}});
        errors(&shop.ask_as(who, Tool::GetMediaBuys, asked))
    };
    let booked = |who: &str| {
        let mut order = Shop::order(json!({}));
        order["account"] = json!({"account_id": ACCOUNT});
        errors(&shop.ask_as(who, Tool::CreateMediaBuy, order))
    };
    let mut say = |what: &str| {
        for who in ["acme", "nova"] {
            lines.push_str(&format!("{what}, {who} looks: {}", looked(who)));
            lines.push_str(&format!("{what}, {who} books: {}", booked(who)));
        }
    };
    say("nothing");
    let lent = rights(&["get_media_buys"], &[], false);
    assert!(!grant(&shop.desk, ACCOUNT, "nova", Some(lent)).unwrap());
    say("tasks");
    assert!(grant(&shop.desk, ACCOUNT, "nova", Some(rights(&[], &[], true))).unwrap());
    let narrow = rights(&[], &[("create_media_buy", &["brand", "start_time", "end_time"])], false);
    assert!(!grant(&shop.desk, ACCOUNT, "acme", Some(narrow)).unwrap());
    say("read only and fields");
    assert!(grant(&shop.desk, ACCOUNT, "nova", None).unwrap());
    assert!(grant(&shop.desk, ACCOUNT, "acme", None).unwrap());
    assert!(!grant(&shop.desk, ACCOUNT, "acme", None).unwrap(), "it was taken back");
    say("nothing again");
    expect![[""]].assert_eq(&lines);
}

#[test]
fn rights_that_cannot_be_are_refused_with_everything_that_is_wrong() {
    let desk = Desk::new();
    put_account(&desk, "acc_1", Standing::Active);
    put_account(&desk, "acc_over", Standing::Closed);
    let check = |account: &str, agent: &str, given: Authorization, expected: Expect| {
        let done = grant(&desk, account, agent, Some(given)).map(|_| unreachable!());
        expected.assert_eq(&told(&done));
    };
    let any = || rights(&[], &[], false);
    check("acc_none", "nova", any(), expect![[""]]);
    check("acc_over", "nova", any(), expect![[""]]);
    let wrong = rights(
        &["get_media_buys", "sell_everything"],
        &[("update_media_buy", &["budget", "packages[0]"]), ("buy", &["x"])],
        false,
    );
    check("acc_1", "stranger", wrong, expect![[""]]);
    let none = Authorization { allowed_tasks: Some([].into()), ..any() };
    check("acc_1", "nova", none, expect![[""]]);
    // What an agent that is no more could do can be taken back.
    assert!(!grant(&desk, "acc_1", "stranger", None).unwrap());
}
