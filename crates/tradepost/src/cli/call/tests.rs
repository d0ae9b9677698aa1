use std::time::Duration;

use tradepost_buyer::failure::Unanswered;

use super::*;

#[test]
fn skills_are_found_by_their_last_word_too() {
    assert_eq!(skill("inventory.search").unwrap(), Skill::InventorySearch);
    for (word, expected) in [
        ("information", Skill::DealerInformation),
        ("Facets", Skill::InventoryFacets),
        ("search", Skill::InventorySearch),
        ("vehicle", Skill::InventoryVehicle),
        ("submit", Skill::LeadSubmit),
    ] {
        assert_eq!(skill(word).unwrap(), expected);
    }
    let failure = skill("inventory").unwrap_err();
    assert_eq!(failure.exit, 2);
    assert!(failure.hint.unwrap().contains("lead.submit"));
}

#[test]
fn a_lead_in_doubt_is_not_simply_sent_again() {
    let unanswered = || failure::Failure::Unanswered(Unanswered::TimedOut(Duration::from_secs(1)));
    let hint = |skill| of_call(skill, unanswered()).hint.unwrap();
    assert!(hint(Skill::LeadSubmit).contains("idempotency_key"));
    assert!(!hint(Skill::InventorySearch).contains("idempotency_key"));
}
