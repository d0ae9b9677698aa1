//! Interpretation of questions: negations, units and common words. `readings.txt` has the exact
//! interpretation of each question; the properties hold for every known word.

use std::collections::BTreeSet;

use expect_test::expect_file;

use super::*;
use crate::query::{Attribute, QueryInterpretation, QueryRemark, uncorrected_words, vocabulary};

const READINGS: &str = include_str!("readings.txt");

#[test]
fn questions_are_read_as_the_table_says() {
    let questions = READINGS.lines().filter(|line| !line.is_empty() && !line.starts_with("  "));
    let mut asked = 0;
    let mut table = String::new();
    for line in questions {
        table.push_str(line);
        table.push('\n');
        // Comments divide the table.
        if !line.starts_with('#') {
            asked += 1;
            table.push_str(&format!("  {}\n", message_of(&json!({"query": line}))));
        }
    }
    assert!(asked >= 80, "{asked} questions");
    expect_file!["readings.txt"].assert_eq(&table);
}

/// Returns the rows that a question finds, and its interpretation.
fn rows(inventory: &Inventory, question: &str) -> (BTreeSet<u32>, QueryInterpretation) {
    let filters = Filters { query: Some(question.to_owned()), ..Filters::default() };
    let understood = inventory.index.understand(&filters, CurrentYear::TEST);
    let rows = match inventory.index.matches(&filters, understood.as_ref()) {
        matching::Matches::All(rows) => (0..rows).collect(),
        matching::Matches::Few(rows) => rows.into_iter().collect(),
        matching::Matches::Many(rows, _) => rows.rows().collect(),
    };
    (rows, understood.unwrap())
}

#[test]
fn no_negation_finds_what_it_excludes() {
    let inventory = inventory();
    let words: BTreeSet<String> = inventory
        .index
        .lexicon
        .words()
        .chain(vocabulary().phrases())
        .chain(vocabulary().names())
        .map(str::to_owned)
        .collect();
    let mut tried = 0;
    let mut failures = Vec::new();
    for word in words {
        let (positive, understood) = rows(&inventory, &word);
        if positive.is_empty() || understood.wants.is_empty() {
            continue;
        }
        let (plural, understood) = rows(&inventory, &format!("{word}s"));
        let (without_plural, _) = rows(&inventory, &format!("no {word}s"));
        let is_read = !understood.wants.is_empty();
        assert!(!is_read || plural.is_disjoint(&without_plural), "no {word}s");
        for question in [
            format!("not {word}"),
            format!("not a {word}"),
            format!("no {word}"),
            format!("isn't {word}"),
            format!("isn't a {word}"),
            format!("don't want a {word}"),
            format!("I do not want any {word}"),
            format!("without {word}"),
            format!("without a {word}"),
            format!("except {word}"),
            format!("except for the {word}"),
            format!("anything but {word}"),
            format!("anything but a {word}"),
            format!("everything except {word}"),
            format!("any car other than a {word}"),
            format!("excluding {word}"),
            format!("non-{word}"),
            format!("neither spaceship nor {word}"),
            format!("no spaceships or {word}"),
            format!("no ugly {word}"),
            format!("either spaceship or not {word}"),
            format!("not a ({word})"),
            format!("not a, {word}"),
            format!("not a fan of {word}"),
            format!("no thanks to {word}"),
            format!("{word}? no"),
            format!("{word}, no thanks"),
            format!("{word}: no"),
            format!("{word}? never"),
        ]
        .into_iter()
        // A hyphen before a number is not a negation.
        .chain(word.starts_with(char::is_alphabetic).then(|| format!("-{word}")))
        {
            tried += 1;
            let (found, understood) = rows(&inventory, &question);
            let says_so = understood.wants.iter().any(|want| want.negated)
                || understood
                    .remarks
                    .iter()
                    .any(|remark| matches!(remark, QueryRemark::LeftOut(_)));
            if !found.is_disjoint(&positive) || !says_so {
                failures.push(format!("{question}: {:?}", understood.wants));
            }
        }
    }
    assert!(tried > 5_000, "{tried} questions");
    failures.truncate(40);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn no_common_word_becomes_a_make_model_or_colour() {
    const NAMES: [Attribute; 4] =
        [Attribute::Make, Attribute::Model, Attribute::ExteriorColor, Attribute::InteriorColor];
    let inventory = inventory();
    let known: BTreeSet<&str> = inventory
        .index
        .lexicon
        .words()
        .chain(vocabulary().phrases())
        .chain(vocabulary().names())
        .collect();
    let mut failures = Vec::new();
    for word in uncorrected_words() {
        let (_, understood) = rows(&inventory, word);
        let corrected =
            understood.remarks.iter().any(|remark| matches!(remark, QueryRemark::Corrected { .. }));
        let is_colour = vocabulary().meaning_of("shadename", word.trim_end_matches('s')).is_some();
        let is_named = !is_colour
            && !known.contains(word)
            && vocabulary().group(word.trim_end_matches('s')).is_none()
            && !known.contains(word.trim_end_matches('s'))
            && understood
                .wants
                .iter()
                .any(|want| want.attribute.is_some_and(|attribute| NAMES.contains(&attribute)));
        if corrected || is_named {
            failures.push(format!("{word}: {understood:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
