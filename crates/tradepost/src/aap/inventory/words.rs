//! The inverted index behind `filters.query`: which rows have which words.

use std::collections::{BTreeSet, HashMap};

use tradepost_wire::aap::Vehicle;

use super::column::{at, index, prefix_range};
use super::fold::{synonym, words};

/// How many neighbouring words are also found written as one: `cr v` and `crv` are the same.
const LONGEST_RUN: usize = 3;

/// Words and where they occur.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// Every word and run of words, ascending.
    terms: Vec<Box<str>>,
    /// By term: where its rows begin in `rows`. One more, for the end of the last.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Words {
    /// Indexes year, make, model, trim, body, colours, stock number and features (C-39). VINs are
    /// not here, because their column can be searched by prefix.
    pub(super) fn new(vehicles: &[Vehicle]) -> Self {
        // Most texts occur on many vehicles, so each is cut into words once.
        let mut known: HashMap<&str, Vec<u32>> = HashMap::new();
        let mut ids: HashMap<String, u32> = HashMap::new();
        let mut by_row: Vec<Vec<u32>> = Vec::with_capacity(vehicles.len());
        for vehicle in vehicles {
            let mut found: Vec<u32> = Vec::new();
            for text in texts(vehicle) {
                let terms = known.entry(text).or_insert_with(|| {
                    let terms = terms(text).into_iter();
                    terms
                        .map(|term| {
                            let next = index(ids.len());
                            *ids.entry(term).or_insert(next)
                        })
                        .collect()
                });
                found.extend_from_slice(terms);
            }
            if let Some(year) = vehicle.year {
                let next = index(ids.len());
                found.push(*ids.entry(year.to_string()).or_insert(next));
            }
            found.sort_unstable();
            found.dedup();
            by_row.push(found);
        }

        let mut sizes = vec![0; ids.len()];
        for id in by_row.iter().flatten() {
            if let Some(size) = sizes.get_mut(*id as usize) {
                *size += 1u32;
            }
        }
        let mut terms: Vec<(String, u32)> = ids.into_iter().collect();
        terms.sort_unstable();
        let mut free = vec![0; terms.len()];
        let mut starts = vec![0];
        let mut end = 0;
        for (_, id) in &terms {
            if let Some(free) = free.get_mut(*id as usize) {
                *free = end;
            }
            end += at(&sizes, *id);
            starts.push(end);
        }
        let mut rows = vec![0; end as usize];
        for (found, row) in by_row.iter().zip(0..) {
            for id in found {
                if let Some(free) = free.get_mut(*id as usize)
                    && let Some(place) = rows.get_mut(*free as usize)
                {
                    *place = row;
                    *free += 1;
                }
            }
        }
        Self { terms: terms.into_iter().map(|(term, _)| term.into()).collect(), starts, rows }
    }

    /// The rows that have a word beginning with `prefix`; some more than once.
    pub(super) fn starting_with(&self, prefix: &str) -> &[u32] {
        let terms = prefix_range(&self.terms, prefix);
        let (from, to) = (at(&self.starts, terms.start), at(&self.starts, terms.end));
        self.rows.get(from as usize..to as usize).unwrap_or_default()
    }
}

/// For each word of a query the prefixes of which a vehicle must have one: the word itself, what
/// it makes together with its neighbours, and what these also mean. Repetitions are left out.
pub(super) fn demands(query: &str) -> Vec<BTreeSet<String>> {
    let words = words(query);
    let mut demands: Vec<BTreeSet<String>> = vec![BTreeSet::new(); words.len()];
    for (first, last, run) in runs(&words) {
        for demand in demands.iter_mut().take(last + 1).skip(first) {
            demand.extend(synonym(&run).map(str::to_owned));
            demand.insert(run.clone());
        }
    }
    demands.sort_unstable();
    demands.dedup();
    demands
}

fn texts(vehicle: &Vehicle) -> impl Iterator<Item = &str> {
    let fields = [
        &vehicle.make,
        &vehicle.model,
        &vehicle.trim,
        &vehicle.body,
        &vehicle.exterior_color,
        &vehicle.interior_color,
        &vehicle.stock,
    ];
    let fields = fields.into_iter().filter_map(Option::as_deref);
    fields.chain(vehicle.features.iter().map(String::as_str))
}

/// What a text is found by.
fn terms(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    for (_, _, run) in runs(&words(text)) {
        terms.extend(synonym(&run).map(str::to_owned));
        terms.insert(run);
    }
    terms
}

/// Every run of up to [`LONGEST_RUN`] neighbouring words, written as one, with the positions of
/// its first and last word.
fn runs(words: &[String]) -> impl Iterator<Item = (usize, usize, String)> {
    (1..=LONGEST_RUN).flat_map(move |length| {
        let runs = words.windows(length).enumerate();
        runs.map(move |(first, run)| (first, first + length - 1, run.concat()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_by_its_words_runs_and_synonyms() {
        let found: Vec<String> = terms("F-150 4x4").into_iter().collect();
        assert_eq!(found, ["150", "1504x4", "4wd", "4x4", "f", "f150", "f1504x4"]);
    }

    #[test]
    fn every_word_of_a_query_is_demanded_alone_or_with_its_neighbours() {
        let demands = demands("grey cr v");
        let as_lists: Vec<Vec<&str>> =
            demands.iter().map(|demand| demand.iter().map(String::as_str).collect()).collect();
        assert_eq!(
            as_lists,
            [
                vec!["cr", "crv", "greycr", "greycrv"],
                vec!["crv", "greycrv", "v"],
                vec!["gray", "grey", "greycr", "greycrv"],
            ]
        );
    }

    #[test]
    fn a_repeated_word_is_demanded_once() {
        assert!(demands("a a a a a a a a a a a a").len() <= 5);
        assert!(demands("  - ").is_empty());
    }
}
