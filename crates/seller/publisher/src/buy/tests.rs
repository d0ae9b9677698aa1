use super::*;

fn buy() -> MediaBuy {
    let moment = |text: &str| text.parse::<Timestamp>().unwrap();
    MediaBuy {
        media_buy_id: "mb".to_owned(),
        status: MediaBuyStatus::PendingStart,
        paused: false,
        hold: None,
        currency: "USD".to_owned(),
        total_budget: MoneyAmount::ZERO,
        start_time: moment("2026-06-02T00:00:00Z"),
        end_time: moment("2026-06-03T00:00:00Z"),
        confirmed_at: None,
        proposal_id: None,
        task_id: None,
        envelope: None,
        cancellation: None,
        rejection_reason: None,
        plan_id: None,
        governance_context: None,
        packages: Vec::new(),
        shown: Map::new(),
        reporting: None,
        history: Vec::new(),
    }
}

#[test]
fn a_buy_stands_as_the_published_states_say() {
    use MediaBuyStatus::{
        Active, Canceled, Completed, Paused, PendingCreatives, PendingStart, Rejected,
    };
    let before = 1;
    let within = 2;
    let after = 3;
    // Stored status, paused by the buyer, day of June, and the expected status.
    let table = [
        (PendingCreatives, false, before, PendingCreatives),
        (PendingCreatives, true, within, PendingCreatives),
        (PendingCreatives, false, after, Completed),
        (PendingStart, false, before, PendingStart),
        (PendingStart, true, before, PendingStart),
        (PendingStart, false, within, Active),
        (PendingStart, true, within, Paused),
        (PendingStart, false, after, Completed),
        (Active, false, before, Active),
        (Active, true, within, Paused),
        (Active, false, after, Completed),
        (Completed, false, before, Completed),
        (Rejected, true, within, Rejected),
        (Canceled, false, after, Canceled),
    ];
    for (kept, paused, day, expected) in table {
        let buy = MediaBuy { status: kept, paused, ..buy() };
        let now = format!("2026-06-0{day}T00:00:00Z").parse().unwrap();
        assert_eq!(buy.status_at(now), expected, "{kept:?} {paused} {day}");
    }
}
