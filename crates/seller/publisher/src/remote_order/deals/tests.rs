//! Decision tables of deals: the steps, what follows from their outcome, and the differences.

use std::time::Duration;

use jiff::Timestamp;
use tradepost_document::json::{from_value, json};

use super::super::progress::{RemoteStepResult, StepError};
use super::super::reconcile::differences;
use super::super::steps::next_steps;
use super::super::wanted::{OrderTerms, Untranslatable, WantedOrder, WantedState};
use super::super::{
    DealState, ProblemKind, RemoteOrder, RemoteOrderObject, RemotePhase, RemoteStep,
};
use super::WantedDeal;
use crate::ad_server::{DealSpec, ExternalId, OrderSpec, RemoteId, RemoteObject, RemoteState};
use crate::money::MoneyAmount;
use crate::remote_order::seen::SeenOrder;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-06-01T00:00:00Z")
}

fn end() -> Timestamp {
    at("2026-08-01T00:00:00Z")
}

fn deal(package_id: &str) -> WantedDeal {
    WantedDeal {
        package_id: package_id.to_owned(),
        spec: DealSpec {
            external_id: ExternalId::from_unnamed_deal("mb", package_id),
            name: package_id.to_owned(),
            inventory: Vec::new(),
            price: MoneyAmount::whole(12),
            currency: "EUR".to_owned(),
            auction_type: 3,
            seats: vec!["seat-7".to_owned()],
            advertiser_domains: vec!["acme.example".to_owned()],
            start_time: at("2026-07-01T00:00:00Z"),
            end_time: end(),
            is_paused: false,
        },
        is_open: true,
        is_canceled: false,
    }
}

/// Two packages, both of which are sold as deals.
fn wanted() -> WantedOrder {
    WantedOrder {
        state: WantedState::Live,
        needs_order: false,
        order: OrderSpec {
            external_id: ExternalId::from_order("mb"),
            name: "order".to_owned(),
            advertiser: None,
            advertiser_name: "acme".to_owned(),
            budget: MoneyAmount::ZERO,
            currency: "EUR".to_owned(),
            start_time: at("2026-07-01T00:00:00Z"),
            end_time: end(),
        },
        line_items: Vec::new(),
        deals: vec![deal("p1"), deal("p2")],
        creatives: std::collections::BTreeMap::new(),
        unusable: Vec::new(),
        untranslatable: None,
    }
}

fn fresh() -> RemoteOrder {
    let stored = json!({
        "media_buy_id": "mb", "phase": "due", "marks": 0, "due_at": now(), "ends_at": end(),
        "generation": 1,
    });
    from_value(stored).unwrap()
}

fn result(step: &RemoteStep, state: Option<RemoteState>) -> RemoteStepResult {
    let RemoteStep::PutDeal { deal, .. } = step else { return RemoteStepResult::Done };
    let id = RemoteId(deal.external_id.0.clone());
    RemoteStepResult::Object(RemoteObject { id, external_id: None, state })
}

/// Does every step, and returns their names.
fn done(
    wanted: &WantedOrder,
    remote: &mut RemoteOrder,
    state: Option<RemoteState>,
    now: Timestamp,
) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(step) = next_steps(wanted, remote).into_iter().next() {
        assert!(names.len() < 20, "{names:?}");
        assert!(remote.begin(&step, now));
        assert!(remote.next_at().is_some(), "a process that takes over finds it: {names:?}");
        remote.finish(&step, result(&step, state), now);
        names.push(step.describe());
    }
    assert!(remote.rest(remote.marks, Some(wanted), now));
    names
}

fn state(remote: &RemoteOrder, package_id: &str) -> DealState {
    remote.deals[package_id].shown_state()
}

#[test]
fn each_package_is_one_deal_and_needs_no_order() {
    let mut remote = fresh();
    let names = done(&wanted(), &mut remote, None, now());
    assert_eq!(names, ["put_deal p1", "put_deal p2"]);
    assert_eq!(remote.phase, RemotePhase::Settled);
    assert_eq!(remote.deals["p1"].id.0, "mb-p1");
    assert_eq!(state(&remote, "p1"), DealState::Sent);
    assert_eq!(remote.report_due_at, None, "nobody reports on deals");
    assert_eq!(remote.next_at(), Some(end()), "the end of its flight");
}

#[test]
fn each_change_of_a_buy_resends_or_closes_its_deal() {
    type Change = fn(&mut WantedOrder);
    let table: [(Change, &[&str], DealState); 5] = [
        (
            |wanted| wanted.deals[1].spec.end_time = at("2026-07-15T00:00:00Z"),
            &["put_deal p2"],
            DealState::Sent,
        ),
        (|wanted| wanted.deals[1].spec.is_paused = true, &["put_deal p2"], DealState::Paused),
        (
            |wanted| {
                wanted.deals[1].is_open = false;
                wanted.deals[1].is_canceled = true;
            },
            &["close_deal p2"],
            DealState::Closed,
        ),
        (
            |wanted| {
                wanted.state = WantedState::Canceled;
                wanted.deals.iter_mut().for_each(|deal| deal.is_open = false);
            },
            &["close_deal p1", "close_deal p2"],
            DealState::Closed,
        ),
        (
            |wanted| {
                wanted.state = WantedState::Over;
                wanted.deals.iter_mut().for_each(|deal| deal.is_open = false);
            },
            &["close_deal p1", "close_deal p2"],
            DealState::Closed,
        ),
    ];
    for (change, expected, after) in table {
        let mut remote = fresh();
        let mut wanted = wanted();
        done(&wanted, &mut remote, None, now());
        change(&mut wanted);
        assert_eq!(done(&wanted, &mut remote, None, now()), expected);
        assert_eq!(remote.phase, RemotePhase::Settled);
        assert_eq!(state(&remote, "p2"), after);
        assert_eq!(differences(&wanted, &remote, &nothing_seen()), []);
    }
}

fn nothing_seen() -> SeenOrder {
    SeenOrder {
        order: None,
        state: None,
        line_items: Vec::new(),
        missing_creatives: std::collections::BTreeSet::new(),
    }
}

#[test]
fn a_flight_that_is_over_is_due_by_itself() {
    let mut remote = fresh();
    let mut wanted = wanted();
    wanted.deals[1].spec.end_time = at("2026-07-10T00:00:00Z");
    done(&wanted, &mut remote, None, now());
    assert!(!remote.has_steps(at("2026-07-09T00:00:00Z")));
    let over = at("2026-07-10T00:00:00Z");
    assert!(remote.has_steps(over));
    wanted.deals[1].is_open = false;
    assert_eq!(done(&wanted, &mut remote, None, over), ["close_deal p2"]);
    assert_eq!(remote.next_at(), Some(end()));
}

#[test]
fn a_deal_in_doubt_is_resent_or_closed() {
    let mut remote = fresh();
    let mut wanted = wanted();
    let step = next_steps(&wanted, &remote).remove(0);
    assert!(remote.begin(&step, now()));
    remote.fail(&step, StepError::InDoubt, |_| Duration::from_secs(1), now());
    assert!(remote.begun.is_some(), "nothing else is begun");
    remote.resolve(&step, None, now());
    assert_eq!(next_steps(&wanted, &remote)[0], step);
    // The buy was canceled meanwhile: the receiver may have the deal.
    wanted.state = WantedState::Canceled;
    wanted.deals.iter_mut().for_each(|deal| {
        deal.is_open = false;
        deal.is_canceled = true;
    });
    assert_eq!(done(&wanted, &mut remote, None, now()), ["close_deal p1"]);
    assert_eq!(remote.phase, RemotePhase::Settled);
}

#[test]
fn a_refused_deal_holds_up_no_other_and_waits_for_people() {
    let mut remote = fresh();
    let wanted = wanted();
    let step = next_steps(&wanted, &remote).remove(0);
    assert!(remote.begin(&step, now()));
    let refused = StepError::Refused { kind: ProblemKind::Refused, detail: "no seat".to_owned() };
    remote.fail(&step, refused, |_| Duration::from_secs(1), now());
    assert_eq!(done(&wanted, &mut remote, None, now()), ["put_deal p2"]);
    assert_eq!(remote.phase, RemotePhase::Stopped);
    assert_eq!(state(&remote, "p1"), DealState::Refused);
    assert_eq!(remote.problem.as_ref().unwrap().detail, "no seat");
    // A person has mended it: everything is sent again.
    remote.retry(now());
    assert_eq!(remote.generation, 1, "the deal keeps its id");
    assert_eq!(done(&wanted, &mut remote, None, now()), ["put_deal p1", "put_deal p2"]);
    assert_eq!(remote.phase, RemotePhase::Settled);
    assert_eq!(remote.problem, None);
}

#[test]
fn a_refused_credential_stops_all_and_is_tried_at_the_end() {
    let mut remote = fresh();
    let mut wanted = wanted();
    let first = next_steps(&wanted, &remote).remove(0);
    assert!(remote.begin(&first, now()));
    remote.finish(&first, result(&first, None), now());
    let refused = || {
        let detail = "who are you".to_owned();
        StepError::Refused { kind: ProblemKind::Credential, detail }
    };
    let second = next_steps(&wanted, &remote).remove(0);
    assert!(remote.begin(&second, now()));
    remote.fail(&second, refused(), |_| Duration::from_secs(1), now());
    assert_eq!(remote.phase, RemotePhase::Stopped);
    assert!(!remote.has_steps(now()));
    // What the receiver has is closed at its end, and only once tried by itself.
    assert!(remote.has_steps(end()));
    wanted.state = WantedState::Over;
    wanted.deals.iter_mut().for_each(|deal| deal.is_open = false);
    let close = next_steps(&wanted, &remote).remove(0);
    assert_eq!(close.describe(), "close_deal p1");
    assert!(remote.begin(&close, end()));
    remote.fail(&close, refused(), |_| Duration::from_secs(1), end());
    assert_eq!(remote.phase, RemotePhase::Stopped);
    assert!(!remote.has_steps(at("2026-09-01T00:00:00Z")));
}

#[test]
fn a_deal_that_awaits_approval_is_asked_about_again() {
    let mut remote = fresh();
    let wanted = wanted();
    let pending = Some(RemoteState::PendingApproval);
    assert_eq!(done(&wanted, &mut remote, pending, now()), ["put_deal p1", "put_deal p2"]);
    assert_eq!(remote.phase, RemotePhase::Waits);
    assert_eq!(state(&remote, "p1"), DealState::PendingApproval);
    let later = remote.due_at.unwrap();
    assert_eq!(later, at("2026-06-01T00:05:00Z"));
    let approved = Some(RemoteState::Ready);
    assert_eq!(done(&wanted, &mut remote, approved, later), ["put_deal p1", "put_deal p2"]);
    assert_eq!(remote.phase, RemotePhase::Settled);
    assert_eq!(state(&remote, "p1"), DealState::Ready);
    // Another one is declined.
    let mut remote = fresh();
    done(&wanted, &mut remote, Some(RemoteState::Rejected), now());
    assert_eq!(remote.phase, RemotePhase::Stopped);
    assert_eq!(remote.problem.as_ref().unwrap().kind, ProblemKind::Declined);
}

#[test]
fn what_was_not_made_in_time_or_closed_waits_for_people() {
    let mut remote = fresh();
    let mut wanted = wanted();
    wanted.deals[0].is_open = false;
    assert_eq!(done(&wanted, &mut remote, None, now()), ["put_deal p2"]);
    assert_eq!(remote.phase, RemotePhase::Stopped);
    assert_eq!(remote.problem.as_ref().unwrap().kind, ProblemKind::TooLate);
    let mut remote = fresh();
    let mut wanted = self::wanted();
    wanted.deals[0].is_open = false;
    let step = next_steps(&self::wanted(), &remote).remove(0);
    remote.finish(&step, result(&step, None), now());
    done(&wanted, &mut remote, None, now());
    assert_eq!(state(&remote, "p1"), DealState::Closed);
    // Its flight is made longer after its end: archived is for good.
    wanted.deals[0].is_open = true;
    assert_eq!(done(&wanted, &mut remote, None, now()), [""; 0]);
    assert_eq!(remote.phase, RemotePhase::Stopped);
    let problem = remote.problem.unwrap();
    assert_eq!(problem.detail, "the deal of package p1 was closed, and cannot be opened again");
}

#[test]
fn a_deal_that_is_gone_or_closed_already_needs_no_close() {
    let missing = StepError::Missing { detail: "no such deal".to_owned() };
    let archived = StepError::Conflict { detail: "archived is for good".to_owned() };
    for error in [missing, archived] {
        let mut remote = fresh();
        let mut wanted = wanted();
        done(&wanted, &mut remote, None, now());
        wanted.deals[0].is_open = false;
        let step = next_steps(&wanted, &remote).remove(0);
        fail(&mut remote, &step, error, now());
        assert_eq!(state(&remote, "p1"), DealState::Closed);
        assert_eq!(remote.problem, None);
    }
}

/// Begins a step, and has it fail.
fn fail(remote: &mut RemoteOrder, step: &RemoteStep, error: StepError, now: Timestamp) {
    assert!(remote.begin(step, now));
    remote.fail(step, error, |_| Duration::from_secs(1), now);
}

fn refused(kind: ProblemKind) -> StepError {
    StepError::Refused { kind, detail: "no".repeat(1_000) }
}

#[test]
fn a_refused_close_holds_up_no_other_and_waits_for_people() {
    let mut remote = fresh();
    let mut wanted = wanted();
    wanted.deals.push(deal("p3"));
    done(&wanted, &mut remote, None, now());
    wanted.state = WantedState::Canceled;
    wanted.deals.iter_mut().for_each(|deal| deal.is_open = false);
    let close = next_steps(&wanted, &remote).remove(0);
    assert_eq!(close.describe(), "close_deal p1");
    fail(&mut remote, &close, refused(ProblemKind::Refused), now());
    assert_eq!(done(&wanted, &mut remote, None, now()), ["close_deal p2", "close_deal p3"]);
    assert_eq!(remote.phase, RemotePhase::Stopped);
    assert_eq!(remote.problem.as_ref().unwrap().step, "close_deal");
    assert!(!remote.deals["p1"].closed);
    assert_eq!(remote.deals["p1"].refusal.as_ref().unwrap().len(), 500, "cut");
    assert!(!remote.has_steps(at("2026-09-01T00:00:00Z")), "it is not tried by itself");
    remote.retry(now());
    assert!(!remote.unverified, "there is nothing that could be verified");
    assert_eq!(done(&wanted, &mut remote, None, now()), ["close_deal p1"]);
    assert_eq!(remote.phase, RemotePhase::Settled);
    assert_eq!(remote.problem, None);
}

#[test]
fn deals_do_not_wait_for_the_order_of_the_same_buy() {
    let mut wanted = wanted();
    wanted.needs_order = true;
    let mut remote = fresh();
    let steps = next_steps(&wanted, &remote);
    let names: Vec<_> = steps.iter().map(RemoteStep::describe).collect();
    assert_eq!(names, ["put_deal p1", "put_deal p2", "create_order", "approve_order"]);
    for step in &steps[..2] {
        remote.finish(step, result(step, None), now());
    }
    // The order was refused, waits for a person, was undone, or could not be undone: a deal is paused.
    fail(&mut remote, &steps[2], refused(ProblemKind::Refused), now());
    let order = |state| RemoteOrderObject {
        id: RemoteId("o".to_owned()),
        state: Some(state),
        sent: wanted.order.clone(),
        approved: state == RemoteState::PendingApproval,
    };
    let mut pending = remote.clone();
    pending.order = Some(order(RemoteState::PendingApproval));
    let mut canceled = remote.clone();
    canceled.order = Some(order(RemoteState::Canceled));
    canceled.undoing = true;
    let mut draft = canceled.clone();
    draft.order = Some(order(RemoteState::Draft));
    wanted.deals[0].spec.is_paused = true;
    for mut remote in [remote, pending, canceled, draft] {
        remote.mark(now());
        assert!(remote.has_steps(now()), "{remote:#?}");
        assert_eq!(next_steps(&wanted, &remote)[0].describe(), "put_deal p1");
    }
}

#[test]
fn a_refusal_after_the_end_leaves_the_end_to_handle() {
    let mut remote = fresh();
    let mut wanted = wanted();
    done(&wanted, &mut remote, None, now());
    wanted.deals[1].spec.is_paused = true;
    let step = next_steps(&wanted, &remote).remove(0);
    assert!(remote.begin(&step, at("2026-07-31T23:59:59Z")));
    let later = at("2026-08-01T00:00:01Z");
    remote.fail(&step, refused(ProblemKind::Credential), |_| Duration::from_secs(1), later);
    assert_eq!(remote.phase, RemotePhase::Stopped);
    assert!(remote.has_steps(later), "the flight is over");
    // It was decided for a moment before the end that nothing is left.
    let mut remote = fresh();
    done(&wanted, &mut remote, None, at("2026-07-31T23:59:59Z"));
    assert!(remote.has_steps(later));
}

#[test]
fn an_end_that_an_earlier_version_has_handled_stays_so() {
    let later = at("2026-08-01T00:00:01Z");
    let mut remote = fresh();
    done(&wanted(), &mut remote, None, now());
    let mut stored = json!(remote);
    let members = stored.as_object_mut().unwrap();
    members.shift_remove("ends_handled_at").unwrap();
    let open: RemoteOrder = from_value(json!(members)).unwrap();
    assert!(open.has_steps(later));
    members.insert("rested_at".to_owned(), json!(later));
    members.insert("end_tried_at".to_owned(), json!(now()));
    let handled: RemoteOrder = from_value(stored).unwrap();
    assert!(!handled.has_steps(later));
}

#[test]
fn a_refused_change_that_is_taken_back_is_forgotten() {
    let mut remote = fresh();
    let mut wanted = wanted();
    done(&wanted, &mut remote, None, now());
    wanted.deals[0].spec.end_time = at("2026-09-01T00:00:00Z");
    let longer = next_steps(&wanted, &remote).remove(0);
    fail(&mut remote, &longer, refused(ProblemKind::Refused), now());
    assert_eq!(done(&wanted, &mut remote, None, now()), [""; 0]);
    assert_eq!(state(&remote, "p1"), DealState::Refused);
    wanted.deals[0].spec.end_time = end();
    remote.mark(now());
    assert_eq!(done(&wanted, &mut remote, None, now()), [""; 0]);
    assert_eq!(state(&remote, "p1"), DealState::Sent);
    assert_eq!(remote.deals["p1"].refusal, None);
    assert_eq!(remote.phase, RemotePhase::Settled);
    assert_eq!(remote.problem, None);
    assert_eq!(remote.next_at(), Some(end()));
}

#[test]
fn a_pending_deal_is_asked_about_beside_a_refused_one() {
    let mut remote = fresh();
    let wanted = wanted();
    let step = next_steps(&wanted, &remote).remove(0);
    fail(&mut remote, &step, refused(ProblemKind::Refused), now());
    let pending = Some(RemoteState::PendingApproval);
    assert_eq!(done(&wanted, &mut remote, pending, now()), ["put_deal p2"]);
    for asked in ["2026-06-01T00:05:00Z", "2026-06-01T00:10:00Z"] {
        assert_eq!(remote.phase, RemotePhase::Waits);
        assert!(remote.problem.is_some(), "people have to mend the other one");
        assert_eq!(remote.next_at(), Some(at(asked)));
        assert_eq!(done(&wanted, &mut remote, pending, at(asked)), ["put_deal p2"]);
    }
    assert_eq!(remote.done.len(), 1, "questions are not remembered");
    let asked = remote.due_at.unwrap();
    done(&wanted, &mut remote, Some(RemoteState::Ready), asked);
    assert_eq!(remote.done.len(), 2);
    assert_eq!(remote.phase, RemotePhase::Stopped);
    assert_eq!(state(&remote, "p2"), DealState::Ready);
}

#[test]
fn deals_are_closed_beside_what_cannot_be_described() {
    let mut remote = fresh();
    let mut wanted = wanted();
    done(&wanted, &mut remote, None, now());
    wanted.untranslatable = Some(Untranslatable("priced by the day".to_owned()));
    wanted.needs_order = true;
    wanted.deals[0].spec.is_paused = true;
    assert_eq!(next_steps(&wanted, &remote), []);
    wanted.deals[1].is_open = false;
    let steps: Vec<_> = next_steps(&wanted, &remote).iter().map(RemoteStep::describe).collect();
    assert_eq!(steps, ["close_deal p2"]);
}

#[test]
fn a_package_that_cannot_be_described_is_closed_nevertheless() {
    let table = [("active", now(), true), ("canceled", now(), false), ("active", end(), false)];
    for (status, now, is_open) in table {
        let package = json!({
            "package_id": "p1", "product_id": "dealt", "pricing_option_id": "click", "budget": 5,
            "price": {
                "pricing_option_id": "click", "pricing_model": "cpc", "currency": "EUR", "fixed_price": 1,
            },
            "ad_server": {"inventory": [], "is_guaranteed": false, "deal": {}},
        });
        let buy = json!({
            "media_buy_id": "mb", "status": status, "currency": "EUR", "total_budget": 5,
            "start_time": "2026-05-01T00:00:00Z", "end_time": end(), "confirmed_at": null,
            "packages": [package],
        });
        let buy = from_value(buy).unwrap();
        let terms = OrderTerms::default();
        let wanted = super::super::wanted::wanted(&buy, None, &[], &fresh(), &terms, now);
        assert_eq!(wanted.untranslatable.is_some(), is_open, "{status}");
        assert_eq!(wanted.deals.len(), 1);
        assert_eq!(wanted.deals[0].is_open, is_open, "{status}");
    }
}

#[test]
fn differences_are_those_from_what_was_confirmed() {
    let mut remote = fresh();
    let mut wanted = wanted();
    wanted.deals.truncate(1);
    done(&wanted, &mut remote, Some(RemoteState::Rejected), now());
    wanted.deals[0].spec.price = MoneyAmount::whole(15);
    wanted.deals[0].spec.end_time = at("2026-09-01T00:00:00Z");
    wanted.deals.push(deal("p2"));
    let found = differences(&wanted, &remote, &nothing_seen());
    let found: Vec<String> =
        found.iter().map(|one| format!("{} {} {}", one.object, one.id, one.kind)).collect();
    let expected =
        ["deal mb-p1 state", "deal mb-p1 dates", "deal mb-p1 price", "deal mb-p2 missing"];
    assert_eq!(found, expected);
}
