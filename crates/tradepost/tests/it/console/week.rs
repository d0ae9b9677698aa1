//! The page of a week, and the answers to agents that staff previews.

use expect_test::expect;
use tradepost_aap::Filters;
use tradepost_dealer::empty_search::EmptySearchText;
use tradepost_store::empty_searches::{EmptySearch, EmptySearchCount};
use tradepost_store::refusals::RefusalCount;

use super::*;

/// Midnight of the tests' day in Los Angeles.
const DAY: &str = "2026-04-30T07:00:00Z";

fn search(dealer: &str, question: &str, asked: i64) -> EmptySearchCount {
    let filters = Filters { query: Some(question.to_owned()), ..Filters::default() };
    let text = EmptySearchText::from_filters(&filters).unwrap();
    let reading = EmptySearchText::from_message(&format!("No listing has \"{question}\"."));
    EmptySearchCount {
        dealer_id: dealer.to_owned(),
        day: at(DAY),
        search: Some(EmptySearch { text, reading }),
        asked,
    }
}

/// A week in which agents sent leads, were refused and searched in vain, and staff worked.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let agent =
        |name: &str, of: &str| with(customer(of), &[("/source_agent", json!({"name": name}))]);
    let ada = fixture.lead("one.example", &agent("shopper", "Ada"));
    fixture.lead("one.example", &agent("shopper", "Grace"));
    let appointment =
        json!({"appointment_type": "sales", "appointment_at": "2026-05-01T18:00:00Z"});
    let booked = with(agent("planner", "Edsger"), &[("/appointment", appointment)]);
    fixture.lead("one.example", &booked);
    fixture.lead("two.example", &agent("elsewhere", "Alan"));
    fixture.hand.advance(SignedDuration::from_mins(12));
    let maria = fixture.enter("maria");
    maria.get(&format!("/console/leads/{ada}"));
    maria.do_it(&format!("/console/leads/{ada}/stage"), &[("stage", "sold")]);
    let searches = [
        search(ONE, "hover car", 3),
        search(ONE, "<script>alert(1)</script>", 1),
        search(TWO, "submarine", 9),
    ];
    let refusals = [("VEHICLE_NOT_FOUND", 1_200), ("INVALID_CONSENT", 4)].map(|(code, refused)| {
        let hour = at(NOW);
        RefusalCount { agent_id: ONE.to_owned(), hour, code: code.to_owned(), refused }
    });
    let job = move |tx: &tradepost_store::StoreTransaction<'_>| {
        tx.count_empty_searches(&searches)?;
        tx.keep_refusals(&[], &refusals)
    };
    fixture.server.store.write_blocking(job).unwrap();
    fixture
}

/// The page between its head and its end.
fn main_part(page: &str) -> &str {
    let (_, main) = page.split_once("<main id=\"main\" tabindex=\"-1\">").unwrap();
    main.split_once("</main>").unwrap().0.trim()
}

#[test]
fn a_week_is_shown_with_charts_and_tables() {
    let fixture = fixture();
    let page = text(&fixture.enter("maria").get("/console/week"));
    expect![[r#""#]].assert_eq(main_part(&page));
}

#[test]
fn a_week_names_no_customer_and_no_other_dealer() {
    let fixture = fixture();
    for name in ["dora", "maria", "egon", "group"] {
        let page = text(&fixture.enter(name).get("/console/week"));
        for theirs in ["Ada", "Lovelace", "example.com", "lead_", "submarine"] {
            assert!(!page.contains(theirs), "{name} sees {theirs}");
        }
        assert!(page.contains("hover car"), "{name}: {page}");
        // The desk may not see refusals one by one, nor the checklist.
        assert_eq!(page.contains("href=\"/console/refusals\""), name != "dora", "{name}");
    }
    let group = fixture.enter("group");
    let second = text(&group.get("/console/week?dealer=second"));
    assert!(second.contains("submarine") && !second.contains("hover car"), "{second}");
    assert!(second.contains("elsewhere") && !second.contains("shopper"), "{second}");
}

#[test]
fn weeks_lead_to_the_ones_beside_them() {
    let fixture = fixture();
    let maria = fixture.enter("maria");
    let present = text(&maria.get("/console/week"));
    let address = |week: &str| {
        format!("<a class=\"button plain\" href=\"/console/week?dealer={ONE}&#38;week={week}\"")
    };
    assert!(present.contains(&address("2026-W17")) && !present.contains(&address("2026-W19")));
    assert_eq!(main_part(&text(&maria.get("/console/week?week=2026-W18"))), main_part(&present));
    let before = text(&maria.get("/console/week?week=2026-W17"));
    assert!(before.contains("No agent has asked in this week"), "{before}");
    assert!(before.contains("<a href=\"/console/checklist\">"), "{before}");
    assert!(before.contains("Apr 20 to Apr 26, 2026"), "{before}");
    for week in ["2026-W16", "2026-W18"] {
        assert!(before.contains(&address(week)), "{week}: {before}");
    }
    let of_desk = text(&fixture.enter("dora").get("/console/week?week=2026-W17"));
    assert!(!of_desk.contains("/console/checklist"), "{of_desk}");
}
