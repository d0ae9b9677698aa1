//! Decision tables of the steps, the faults and the differences.

use std::time::Duration;

use jiff::Timestamp;
use tradepost_document::json::from_value;
use tradepost_document::json::json;

use super::progress::{RemoteStepResult, StepError};
use super::reconcile::differences;
use super::seen::SeenOrder;
use super::steps::next_steps;
use super::wanted::{Untranslatable, WantedLineItem, WantedOrder, WantedState};
use super::{ProblemKind, RemoteOrder, RemotePhase, RemoteStep};
use crate::ad_server::{
    CreativeContent, CreativeSpec, ExternalId, LineItemPricing, LineItemSpec, OrderSpec, RemoteId,
    RemoteLineItemView, RemoteObject, RemoteState,
};
use crate::money::MoneyAmount;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-06-01T00:00:00Z")
}

fn line_item(package_id: &str) -> LineItemSpec {
    LineItemSpec {
        external_id: ExternalId::from_line_item("mb", package_id),
        name: package_id.to_owned(),
        package_id: package_id.to_owned(),
        inventory: vec!["unit".to_owned()],
        is_guaranteed: true,
        pricing: LineItemPricing::Cpm,
        rate: MoneyAmount::whole(10),
        currency: "USD".to_owned(),
        budget: MoneyAmount::whole(1_000),
        goal: None,
        start_time: at("2026-07-01T00:00:00Z"),
        end_time: at("2026-08-01T00:00:00Z"),
        targeting: tradepost_document::json::Map::new(),
        sizes: Vec::new(),
        is_paused: false,
    }
}

fn creative() -> CreativeSpec {
    CreativeSpec {
        external_id: ExternalId("c@1".to_owned()),
        name: "banner".to_owned(),
        advertiser: None,
        format_id: "display".to_owned(),
        size: None,
        content: CreativeContent::Image { url: "https://cdn.example/a.png".to_owned() },
        click_url: None,
    }
}

/// Two packages, one of which shows a creative.
fn wanted() -> WantedOrder {
    let item = |package: &str, shown: &[ExternalId]| WantedLineItem {
        spec: line_item(package),
        is_canceled: false,
        creatives: shown.iter().cloned().collect(),
    };
    WantedOrder {
        state: WantedState::Live,
        order: OrderSpec {
            external_id: ExternalId::from_order("mb"),
            name: "order".to_owned(),
            advertiser: None,
            advertiser_name: "acme".to_owned(),
            budget: MoneyAmount::whole(2_000),
            currency: "USD".to_owned(),
            start_time: at("2026-07-01T00:00:00Z"),
            end_time: at("2026-08-01T00:00:00Z"),
        },
        needs_order: true,
        deals: Vec::new(),
        line_items: vec![item("p1", &[creative().external_id]), item("p2", &[])],
        creatives: [(creative().external_id, creative())].into(),
        unusable: Vec::new(),
        untranslatable: None,
    }
}

fn fresh() -> RemoteOrder {
    let stored = json!({
        "media_buy_id": "mb", "phase": "due", "marks": 0, "due_at": now(),
        "ends_at": "2026-08-01T00:00:00Z", "generation": 1,
    });
    from_value(stored).unwrap()
}

fn object(id: &str) -> RemoteStepResult {
    RemoteStepResult::Object(RemoteObject {
        id: RemoteId(id.to_owned()),
        external_id: None,
        state: None,
    })
}

/// The result that an ad server gives to a step that it does.
fn result(step: &RemoteStep) -> RemoteStepResult {
    match step {
        RemoteStep::CreateOrder { .. } => object("o"),
        RemoteStep::CreateLineItem { line_item } | RemoteStep::ChangeLineItem { line_item } => {
            object(&format!("l-{}", line_item.package_id))
        }
        RemoteStep::CreateCreative { .. } => object("c"),
        RemoteStep::ApproveOrder => RemoteStepResult::State(RemoteState::Ready),
        RemoteStep::Verify => RemoteStepResult::Seen(Box::new(seen())),
        RemoteStep::ChangeOrder { .. }
        | RemoteStep::Associate { .. }
        | RemoteStep::Dissociate { .. }
        | RemoteStep::ApproveLineItem { .. }
        | RemoteStep::PauseLineItem { .. }
        | RemoteStep::ResumeLineItem { .. }
        | RemoteStep::CancelLineItem { .. }
        | RemoteStep::CancelOrder
        | RemoteStep::PutDeal { .. }
        | RemoteStep::CloseDeal { .. }
        | RemoteStep::ReadState => RemoteStepResult::Done,
    }
}

fn seen() -> SeenOrder {
    let view = |package: &str| RemoteLineItemView {
        object: RemoteObject {
            id: RemoteId(format!("l-{package}")),
            external_id: Some(ExternalId::from_line_item("mb", package)),
            state: None,
        },
        start_time: None,
        end_time: None,
        budget: None,
        creatives: None,
    };
    SeenOrder {
        order: Some(RemoteObject {
            id: RemoteId("o".to_owned()),
            external_id: None,
            state: Some(RemoteState::Ready),
        }),
        state: Some(RemoteState::Ready),
        line_items: vec![view("p1"), view("p2")],
        missing_creatives: std::collections::BTreeSet::new(),
    }
}

/// Does every step, and returns their names.
fn carried(wanted: &WantedOrder, remote: &mut RemoteOrder) -> Vec<String> {
    let mut done = Vec::new();
    while let Some(step) = next_steps(wanted, remote).into_iter().next() {
        assert!(done.len() < 50, "{done:?}");
        remote.finish(&step, result(&step), now());
        done.push(step.describe());
    }
    done
}

#[test]
fn steps_come_in_order_and_none_is_left() {
    let mut remote = fresh();
    let done = carried(&wanted(), &mut remote);
    let expected = [
        "create_order",
        "create_line_item p1",
        "create_line_item p2",
        "create_creative c@1",
        "associate p1 c@1",
        "approve_order",
        "verify",
    ];
    assert_eq!(done, expected);
    assert!(remote.rest(0, Some(&wanted()), now()));
    assert_eq!(remote.phase, RemotePhase::Settled);
}

#[test]
fn what_cannot_be_described_stops_when_no_step_is_left() {
    let mut remote = fresh();
    let why = Untranslatable("package p1 is priced by \"cpa\"".to_owned());
    let wanted = WantedOrder { untranslatable: Some(why.clone()), ..wanted() };
    assert_eq!(next_steps(&wanted, &remote), []);
    assert!(!remote.rest(1, Some(&wanted), now()));
    assert_eq!((remote.phase, &remote.problem), (RemotePhase::Due, &None));
    assert!(remote.rest(0, Some(&wanted), now()));
    assert_eq!((remote.phase, remote.due_at), (RemotePhase::Stopped, None));
    let problem = remote.problem.unwrap();
    assert_eq!((problem.kind, problem.detail), (ProblemKind::Untranslatable, why.0));
}

#[test]
fn each_change_of_a_buy_is_its_own_steps() {
    type Change = fn(&mut WantedOrder);
    let table: [(Change, &[&str]); 8] = [
        (
            |wanted| wanted.line_items[0].spec.budget = MoneyAmount::whole(9),
            &["change_line_item p1", "verify"],
        ),
        (|wanted| wanted.line_items[1].spec.is_paused = true, &["pause_line_item p2", "verify"]),
        (|wanted| wanted.line_items[1].is_canceled = true, &["cancel_line_item p2", "verify"]),
        (|wanted| wanted.line_items[0].creatives.clear(), &["dissociate p1 c@1", "verify"]),
        (
            |wanted| wanted.line_items[1].creatives = [creative().external_id].into(),
            &["associate p2 c@1", "verify"],
        ),
        (
            |wanted| {
                let mut added = wanted.line_items[1].clone();
                added.spec = line_item("p3");
                wanted.line_items.push(added);
            },
            &["create_line_item p3", "approve_line_item p3"],
        ),
        (|wanted| wanted.state = WantedState::Canceled, &["cancel_order"]),
        (|wanted| wanted.state = WantedState::Over, &[]),
    ];
    for (change, expected) in table {
        let mut remote = fresh();
        let mut wanted = wanted();
        carried(&wanted, &mut remote);
        change(&mut wanted);
        let mut done = Vec::new();
        for _ in 0..expected.len() {
            let step = next_steps(&wanted, &remote).into_iter().next().unwrap();
            remote.finish(&step, result(&step), now());
            done.push(step.describe());
        }
        assert_eq!(done, expected);
    }
}

#[test]
fn each_refusal_is_stopped_undone_or_left_to_a_creative() {
    let refused = |kind| StepError::Refused { kind, detail: "no".to_owned() };
    let table = [
        (0, ProblemKind::Credential, RemotePhase::Stopped, false),
        (0, ProblemKind::Refused, RemotePhase::Stopped, false),
        (2, ProblemKind::Refused, RemotePhase::Due, true),
        (2, ProblemKind::Permission, RemotePhase::Stopped, false),
        (3, ProblemKind::Refused, RemotePhase::Due, false),
        (4, ProblemKind::Permission, RemotePhase::Due, false),
        (5, ProblemKind::Permission, RemotePhase::Stopped, false),
    ];
    for (place, kind, phase, undoing) in table {
        let mut remote = fresh();
        let wanted = wanted();
        for _ in 0..place {
            let step = next_steps(&wanted, &remote).into_iter().next().unwrap();
            remote.finish(&step, result(&step), now());
        }
        let step = next_steps(&wanted, &remote).into_iter().next().unwrap();
        remote.fail(&step, refused(kind), |_| Duration::from_secs(1), now());
        let found = (remote.phase, remote.undoing);
        assert_eq!(found, (phase, undoing), "{} {kind}", step.describe());
        assert_eq!(remote.problem.as_ref().map(|problem| problem.kind), Some(kind));
        if undoing {
            let next = next_steps(&wanted, &remote);
            assert_eq!(next, [RemoteStep::CancelOrder]);
        }
    }
}

#[test]
fn a_refused_cancellation_of_a_draft_is_not_sent_again() {
    let mut remote = fresh();
    let made = next_steps(&wanted(), &remote).into_iter().next().unwrap();
    remote.finish(&made, result(&made), now());
    let canceled = WantedOrder { state: WantedState::Canceled, ..wanted() };
    assert_eq!(next_steps(&canceled, &remote), [RemoteStep::CancelOrder]);
    let refused = StepError::Refused { kind: ProblemKind::Refused, detail: "no".to_owned() };
    remote.fail(&RemoteStep::CancelOrder, refused, |_| Duration::from_secs(1), now());
    assert_eq!((remote.phase, remote.undoing), (RemotePhase::Stopped, false));
}

#[test]
fn every_difference_from_what_was_sold_is_named() {
    let mut remote = fresh();
    let wanted = wanted();
    carried(&wanted, &mut remote);
    assert_eq!(differences(&wanted, &remote, &seen()), []);
    let mut other = seen();
    other.order.as_mut().unwrap().id = RemoteId("o9".to_owned());
    other.state = Some(RemoteState::Draft);
    other.line_items.remove(1);
    other.line_items[0].object.id = RemoteId("l9".to_owned());
    other.line_items[0].object.state = Some(RemoteState::Paused);
    other.line_items[0].end_time = Some(at("2026-09-01T00:00:00Z"));
    other.line_items[0].budget = Some(MoneyAmount::whole(5));
    let mut extra = other.line_items[0].clone();
    extra.object.id = RemoteId("l-by-hand".to_owned());
    extra.object.external_id = None;
    other.line_items.push(extra);
    other.missing_creatives.insert("c@1".to_owned());
    let found: Vec<String> = differences(&wanted, &remote, &other)
        .into_iter()
        .map(|one| format!("{} {} {}", one.object, one.id, one.kind))
        .collect();
    let expected = [
        "order mb changed_id",
        "order mb state",
        "line_item mb/p1 changed_id",
        "line_item mb/p1 state",
        "line_item mb/p1 dates",
        "line_item mb/p1 budget",
        "line_item mb/p2 missing",
        "line_item l-by-hand extra",
        "creative c@1 missing",
    ];
    assert_eq!(found, expected);
}
