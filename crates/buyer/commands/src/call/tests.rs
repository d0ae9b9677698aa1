use super::*;

#[test]
fn skills_are_also_found_by_a_unique_word() {
    assert_eq!(skill("inventory.search").unwrap(), Skill::InventorySearch);
    for (word, expected) in [
        ("information", Skill::DealerInformation),
        ("Facets", Skill::InventoryFacets),
        ("search", Skill::InventorySearch),
        ("vehicle", Skill::InventoryVehicle),
        ("submit", Skill::LeadSubmit),
        ("dealer", Skill::DealerInformation),
        ("lead", Skill::LeadSubmit),
    ] {
        assert_eq!(skill(word).unwrap(), expected);
    }
    let failure = skill("inventory").unwrap_err();
    assert_eq!(failure.exit, 2);
    assert!(failure.hint.unwrap().contains("lead.submit"));
}

#[derive(Debug, clap::Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: Arguments,
}

#[test]
fn the_arguments_are_well_formed() {
    use clap::{CommandFactory as _, Parser as _};
    CommandLine::command().debug_assert();
    let line =
        ["call", "localhost:1", "search", "--aap-version", "1.0", "--timeout=5", "--no-check"];
    let arguments = CommandLine::try_parse_from(line).unwrap().arguments;
    assert_eq!(arguments.aap_version, Some(Version::V1_0));
    for wrong in [
        ["--aap-version", "2.0"],
        ["--timeout", "0"],
        ["--price-max", "-5"],
        // Nothing is retried, so there is nothing to limit.
        ["--overall", "60"],
    ] {
        let line = ["call", "localhost:1", "search"].into_iter().chain(wrong);
        assert!(CommandLine::try_parse_from(line).is_err(), "{wrong:?}");
    }
}
