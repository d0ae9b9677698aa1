//! The rows of docs/requirements/aap.md, with its contradictions, by adversarial requests: what collides,
//! what repeats, what breaks, and what HTTP permits. Each test names the ids that it is about, and the
//! tables here say of every id which test of this binary exercises it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::beside;

mod appointments;
mod http;
mod leads;
mod precedence;
mod repeats;
mod skills;
mod store;
mod versions;

/// Which test exercises which ids; there may be more.
const TESTED: &[(&[&str], &str)] = &[
    (&["R-CARD-01", "R-CARD-06"], "the_card_satisfies_the_schemas_of_both_versions"),
    (
        &["R-CARD-02", "R-CARD-05", "R-CARD-07", "R-CARD-09"],
        "the_card_satisfies_the_schemas_of_both_versions",
    ),
    (&["R-CARD-03", "R-CARD-10"], "a_skill_switched_off_is_unsupported_and_off_the_card"),
    (&["R-CARD-15"], "the_card_declares_what_is_accepted_and_what_is_required"),
    (&["R-CARD-08"], "the_cards_id_changes_exactly_when_the_card_does"),
    (&["R-ENV-01"], "r_env_01_envelopes_may_be_written_for_protobuf_parsers"),
    (&["R-ENV-02", "C-31"], "lacking_operations_are_refused_by_the_capability_table"),
    (&["R-ENV-03"], "c_17_what_a_retry_may_change_and_what_not"),
    (
        &["R-ENV-04", "R-ENV-08", "R-ENV-10"],
        "r_env_08_skills_and_refusals_satisfy_both_versions_schemas",
    ),
    (&["R-ENV-05", "R-ENV-06", "C-27"], "r_env_05_other_parts_say_nothing"),
    (&["R-ENV-09"], "r_env_09_all_ids_come_back_as_they_were"),
    (&["R-ENV-11"], "r_env_11_a_request_names_one_host"),
    (&["R-DI-01"], "unknown_and_wrong_members_are_all_reported"),
    (
        &["R-DI-02", "R-DI-03", "R-DI-04", "R-DI-06"],
        "r_di_01_the_dealer_is_who_the_configuration_says",
    ),
    (&["R-FA-01"], "unknown_and_wrong_members_are_all_reported"),
    (
        &["R-FA-02", "R-FA-03", "R-FA-04", "R-FA-05", "R-FA-06"],
        "r_fa_02_facets_count_what_a_search_finds",
    ),
    (
        &["R-IS-01", "R-IS-02", "R-IS-03", "R-IS-11"],
        "r_is_01_everybody_sees_listings_with_status_and_date",
    ),
    (
        &["R-IS-05", "R-IS-07", "R-IS-12", "R-IS-17", "R-PR-01", "C-38", "C-39", "C-40"],
        "r_is_05_price_is_the_price_with_inclusive_bounds",
    ),
    (&["R-IS-06", "R-IS-16"], "unknown_and_wrong_members_are_all_reported"),
    (&["R-IS-08", "R-IS-09", "R-IS-10", "C-08", "C-37"], "r_is_08_pages_say_what_they_are"),
    (&["R-IV-01", "C-12", "C-43"], "a_vehicle_is_found_or_the_reason_is_told"),
    (&["R-IV-02", "R-IV-03", "C-23"], "r_iv_02_a_unit_that_left_is_remembered_awhile"),
    (
        &["R-IV-04", "R-IV-05", "R-IV-06", "R-PR-02", "R-PR-03", "R-EX-01"],
        "inventory_examples_find_the_vehicles_of_their_responses",
    ),
    (&["R-LD-01", "R-LD-09", "C-42"], "customers_are_complete_and_reachable"),
    (&["R-LD-02", "C-01"], "without_consent_nothing_else_decides"),
    (&["R-LD-03", "C-05"], "the_channel_is_one_that_the_consent_permits"),
    (
        &["R-LD-05", "R-LD-08", "C-02", "C-03", "C-04"],
        "a_malformed_consent_is_invalid_whatever_else_is_wrong",
    ),
    (&["R-LD-06", "R-LD-07"], "a_consent_holds_up_to_its_last_second"),
    (&["R-LD-10", "C-07", "C-13"], "conditions_come_from_the_vocabulary_of_their_place"),
    (&["R-LD-11"], "the_source_agent_has_a_name"),
    (&["R-LD-12", "R-LD-18", "C-15", "C-41"], "c_15_what_was_not_said_costs_no_lead"),
    (&["R-LD-14"], "r_ld_14_keys_hold_anything_and_make_nothing_new"),
    (&["R-LD-15", "R-LD-16", "C-16"], "c_16_a_key_is_remembered_by_the_next_process"),
    (&["R-LD-17", "R-LD-19", "C-19"], "c_19_equal_leads_at_once_are_one_lead"),
    (&["R-LD-20", "R-LD-23", "C-20"], "c_20_every_status_has_its_members_in_both_versions"),
    (&["R-LD-21", "R-LD-26"], "r_ld_21_twenty_at_once_never_overbook_two_places"),
    (&["R-LD-22", "R-LD-24"], "r_ld_22_what_cannot_be_booked_is_no_error"),
    (&["R-LD-25", "R-LD-27", "C-22"], "a_test_drive_needs_a_vehicle_that_is_there"),
    (&["R-LD-28"], "a_strict_dealer_refuses_what_cannot_be_booked_or_proposed"),
    (&["R-LD-29"], "a_chosen_proposal_is_booked_and_a_move_frees_time"),
    (&["R-LD-30", "C-06", "C-14"], "everything_else_is_checked_too"),
    (&["R-ER-01"], "r_env_08_skills_and_refusals_satisfy_both_versions_schemas"),
    (&["R-ER-02"], "a_refusal_lists_fifty_problems_and_their_number"),
    (&["R-ER-03", "R-ER-04", "R-ER-06"], "a_commit_that_fails_acknowledges_nothing"),
    (&["R-ER-07", "C-29", "C-30"], "a_caller_over_its_rate_hears_when_to_return"),
    (&["R-ER-09", "C-11"], "without_consent_nothing_else_decides"),
    (&["R-ER-10", "C-50"], "rows_4_and_5_skill_before_consent_before_schema"),
    (&["C-09"], "unknown_and_wrong_members_are_all_reported"),
    (&["C-17"], "c_17_what_a_retry_may_change_and_what_not"),
    (&["C-18"], "a_refused_lead_does_not_use_its_key_up"),
    (&["C-24"], "a_payload_says_what_it_is"),
    (&["C-25"], "data_parts_are_json_whatever_else_their_media_type_says"),
    (&["C-26"], "output_modes_matter_only_to_a_strict_dealer"),
    (&["C-28"], "parameters_of_the_wrong_shape_are_refused_with_every_field"),
    (&["C-32"], "the_card_satisfies_the_schemas_of_both_versions"),
    (&["C-33"], "c_33_every_version_that_is_named_is_looked_at"),
    (&["C-34"], "c_34_what_is_named_decides_transport_before_message"),
    (&["C-35"], "c_35_a_v1_1_consents_old_member_is_named"),
    (&["C-36"], "r_is_01_everybody_sees_listings_with_status_and_date"),
    (&["C-48"], "c_48_our_sentence_has_room_for_proposals_and_names"),
    (&["R-ADF-01"], "a_full_lead_drops_only_contact_values_without_consent"),
    (&["R-ADF-02"], "sent_bytes_and_sender_are_kept_and_changes_found"),
    (&["R-MCP-01", "C-46"], "schemas_use_what_all_model_providers_take"),
    (&["C-47"], "every_code_is_the_same_object_over_both_bindings"),
    (&["C-51"], "texts_without_a_schema_limit_have_a_stated_one"),
];

/// Which ids no test of this binary can exercise, and why. May only shrink.
const WAIVED: &[(&str, &str)] = &[
    ("R-CARD-04", "a recommendation to dealers; by default every skill is offered"),
    ("R-CARD-11", "the buyer's"),
    ("R-CARD-12", "the buyer's"),
    ("R-CARD-13", "the buyer's"),
    ("R-CARD-14", "the buyer's"),
    ("R-ENV-07", "the buyer's; what we do about it is C-26"),
    ("R-DI-05", "the reader of the address applies the default"),
    ("R-IS-04", "the import confirms listings; how often it runs is the dealer's"),
    ("R-IS-13", "the buyer's"),
    ("R-IS-14", "the buyer's"),
    ("R-IS-15", "the buyer's"),
    ("R-PR-04", "the feed's"),
    ("R-LD-04", "no machine can check it"),
    ("R-LD-13", "the buyer's"),
    ("R-ER-05", "the buyer's"),
    ("R-ER-08", "the buyer's"),
    ("C-10", "a slip in the specification"),
    ("C-21", "no policy of ours rejects a lead"),
    ("C-44", "a warning of the import"),
    ("C-45", "an editorial remark"),
    ("C-49", "ADF, tested in adf.rs"),
];

/// The names of the tests of this binary.
fn tests_in(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_in(&path, names);
        } else {
            let source = std::fs::read_to_string(path).unwrap();
            let found = source.split("#[test]\nfn ").skip(1);
            names.extend(found.filter_map(|rest| Some(rest.split_once('(')?.0.to_owned())));
        }
    }
}

#[test]
fn every_requirement_has_a_test_or_a_reason() {
    let page = std::fs::read_to_string(beside::workspace().join("docs/requirements/aap.md"));
    let all: BTreeSet<String> = page
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("| R-") || line.starts_with("| C-"))
        .filter_map(|line| Some(line.split_once("| ")?.1.split_once(" |")?.0.to_owned()))
        .collect();
    assert!(all.len() > 100, "the tables were not found");
    let tested: Vec<String> =
        TESTED.iter().flat_map(|(ids, _)| ids.iter()).map(|id| (*id).to_owned()).collect();
    let waived: Vec<String> = WAIVED.iter().map(|(id, _)| (*id).to_owned()).collect();
    let accounted: BTreeSet<String> = tested.iter().chain(&waived).cloned().collect();
    assert_eq!(accounted.len(), tested.len() + waived.len(), "an id stands here twice");
    assert_eq!(accounted, all);
    let mut tests = BTreeSet::new();
    tests_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"), &mut tests);
    let lost: Vec<_> = TESTED.iter().filter(|(_, test)| !tests.contains(*test)).collect();
    assert!(lost.is_empty(), "no such test: {lost:?}");
}
