//! Messages beside an answer: the number of matches, the interpretation of the query, and
//! suggestions where nothing matches.

use tradepost_aap::Filters;

use super::super::inventory::{Alternatives, AnswerNotes, FilterEffect};
use tradepost_document::catalog::Vocabulary as _;

use super::super::query::{QueryInterpretation, QueryRemark};

/// Maximum length of `message` in characters (AAP 1.1, inventory-search-response schema).
const LONGEST: usize = 2000;

/// Maximum number of filters and of phrases of a query in a message.
const MOST_REASONS: usize = 4;
const MOST_PHRASES: usize = 12;

/// Message beside an answer.
pub(super) struct AnswerMessage {
    /// Number of matches, the interpretation of the query, and suggestions where nothing matches (C-40).
    pub(super) text: String,
    /// The same without the number, where nothing matches.
    pub(super) nothing_found: Option<String>,
}

/// What a message says beside the number of matches.
#[derive(Default)]
struct Explanation {
    /// Contradiction in the request, which leaves nothing to explain.
    contradiction: Option<&'static str>,
    /// Interpretation of the query.
    read_as: Option<String>,
    /// Further sentences.
    sentences: Vec<String>,
}

impl AnswerMessage {
    /// Writes the message for an answer.
    pub(super) fn new(notes: &AnswerNotes, filters: &Filters) -> Self {
        let mut explanation = match notes.total {
            0 => explain_no_match(notes, filters),
            _ => Explanation { read_as: read_as(notes.query.as_ref()), ..Explanation::default() },
        };
        let remarks = notes.query.iter().flat_map(|query| &query.remarks);
        explanation.sentences.extend(remarks.map(remarked));
        let number = match notes.total {
            0 => "No vehicle matches".to_owned(),
            1 => "1 vehicle matches".to_owned(),
            n => format!("{n} vehicles match"),
        };
        let mut text = explanation.after(number);
        if text.chars().count() > LONGEST {
            text = text.chars().take(LONGEST - 3).chain("...".chars()).collect();
        }
        Self { text, nothing_found: (notes.total == 0).then(|| explanation.alone()) }
    }
}

impl Explanation {
    /// Writes it behind the number of matches.
    fn after(&self, number: String) -> String {
        let mut text = number;
        match (self.contradiction, &self.read_as) {
            (Some(contradiction), _) => {
                text.push_str(": ");
                text.push_str(contradiction);
            }
            (None, Some(read_as)) => {
                text.push_str("; the query was read as: ");
                text.push_str(read_as);
            }
            (None, None) => {}
        }
        text.push('.');
        for sentence in &self.sentences {
            text.push(' ');
            text.push_str(sentence);
        }
        text
    }

    /// Writes it without the number of matches.
    fn alone(&self) -> String {
        let first = self.contradiction.or(self.read_as.as_deref());
        let first = first.map(|first| format!("{first}."));
        let sentences: Vec<&str> =
            first.iter().chain(&self.sentences).map(String::as_str).collect();
        sentences.join(" ")
    }
}

/// Returns the interpretation of a query in words, if it has any.
fn read_as(query: Option<&QueryInterpretation>) -> Option<String> {
    let phrases = query.iter().flat_map(|query| &query.wants).map(|want| {
        let not = if want.negated { "not " } else { "" };
        format!("{not}{}", want.label)
    });
    let mut phrases: Vec<String> = phrases.take(MOST_PHRASES + 1).collect();
    if phrases.len() > MOST_PHRASES {
        phrases.pop();
        phrases.push("...".to_owned());
    }
    if let Some(order) = query.and_then(|query| query.order) {
        phrases.push(format!("order {} {}", order.field.name(), order.order.name()));
    }
    if let Some(then) = query.and_then(|query| query.then) {
        phrases.push(format!("then {} {}", then.field.name(), then.order.name()));
    }
    if let Some(number) = query.and_then(|query| query.highest) {
        phrases.push(format!("the highest {} first", number.name()));
    }
    (!phrases.is_empty()).then(|| phrases.join(", "))
}

/// Explains why nothing matches.
fn explain_no_match(notes: &AnswerNotes, filters: &Filters) -> Explanation {
    let is_empty_range =
        |min: Option<u32>, max: Option<u32>| min.zip(max).is_some_and(|(a, b)| a > b);
    let contradicting = |text| Explanation { contradiction: Some(text), ..Explanation::default() };
    if is_empty_range(filters.year_min, filters.year_max) {
        return contradicting("year_min is greater than year_max");
    }
    if is_empty_range(filters.price_min, filters.price_max) {
        return contradicting("price_min is greater than price_max");
    }
    let mut remarks = notes.query.iter().flat_map(|query| &query.remarks);
    if remarks.any(|remark| *remark == QueryRemark::NoWord) {
        return Explanation::default();
    }
    let mut sentences = Vec::new();
    let empties: Vec<&FilterEffect> =
        notes.reasons.iter().filter(|reason| reason.without > 0).collect();
    if empties.is_empty() {
        let mut reasons: Vec<&FilterEffect> = notes.reasons.iter().collect();
        reasons.sort_by_key(|reason| reason.alone);
        let alone = reasons.iter().take(MOST_REASONS).map(|reason| {
            let FilterEffect { filter, alone, .. } = reason;
            let instead = if *alone == 0 { instead(reason) } else { String::new() };
            format!("{filter} ({alone}){instead}")
        });
        let alone: Vec<String> = alone.collect();
        if alone.len() > 1 {
            sentences.push("No single filter is in the way.".to_owned());
            sentences.push(format!("Each alone finds: {}.", alone.join(", ")));
        }
    }
    for reason in empties.into_iter().take(MOST_REASONS) {
        let FilterEffect { filter, without, .. } = reason;
        let verb = if *without == 1 { "matches" } else { "match" };
        sentences.push(format!("Without {filter} {without} {verb}{}.", instead(reason)));
    }
    Explanation { contradiction: None, read_as: read_as(notes.query.as_ref()), sentences }
}

/// Lists the values that there are in place of a filter's, as the end of a sentence.
fn instead(reason: &FilterEffect) -> String {
    let listed = |values: &[(String, usize)]| {
        let values = values.iter().map(|(text, count)| format!("{text} ({count})"));
        values.collect::<Vec<_>>().join(", ")
    };
    match &reason.instead {
        Alternatives::Alike(values) => format!("; nearest: {}", listed(values)),
        Alternatives::Frequent(values) => format!("; there is {}", listed(values)),
        Alternatives::Between(name, min, max) if min == max => format!("; {name} there is {min}"),
        Alternatives::Between(name, min, max) => format!("; {name} there is {min} to {max}"),
        Alternatives::Nothing => String::new(),
    }
}

/// Returns the sentence for a remark about how a query was read.
fn remarked(remark: &QueryRemark) -> String {
    match remark {
        QueryRemark::NoWord => {
            "The query has no word in it, so that nothing can be meant; leave it out to \
                           search without one."
                .to_owned()
        }
        QueryRemark::Corrected { said, read } => format!("\"{said}\" was read as {read}."),
        QueryRemark::Unknown(said) => format!("No listing has \"{said}\"."),
        QueryRemark::UsualDoors => {
            "Doors are those of the listing, or those usual for the body where it states none."
                .to_owned()
        }
        QueryRemark::Unstated(said) => format!("Left out, because no listing states it: {said}."),
        QueryRemark::Payment(said) => {
            format!("AAP has no payments; price_min and price_max find a price. Left out: {said}.")
        }
        QueryRemark::Place(said) => {
            format!(
                "AAP has no place of a buyer or a car; rooftops finds a store. Left out: {said}."
            )
        }
        QueryRemark::TradeIn(said) => {
            format!("A trade-in is part of lead.submit. Left out: {said}.")
        }
        QueryRemark::Similar(name) => format!(
            "Similar to {name} means its body, about as many seats, and a price within 30 percent."
        ),
        QueryRemark::Telephone => {
            "A telephone number was left out: a search passes none on, lead.submit does.".to_owned()
        }
        QueryRemark::ReadAs { said, read } => format!(
            "\"{said}\" was read as {read}; titles and earlier use are not searched, so ask the \
             dealer."
        ),
        QueryRemark::StatedBy { number, listings, all } => {
            let name = number.name();
            let verb = if *listings == 1 { "states" } else { "state" };
            format!("Of {all} listings {listings} {verb} {name}; the others are not found.")
        }
        QueryRemark::ChildSeats { said, seats } => format!(
            "No listing states the seats for children beside each other; {said} were read as \
             {seats} or more seats."
        ),
        QueryRemark::Relaxed(said) => {
            format!("No vehicle has {said} with the rest, so it was left out.")
        }
        QueryRemark::Indifferent(said) => {
            format!("Neither required nor excluded: {said}.")
        }
        QueryRemark::Language(name) => format!("The query was read as {name}."),
        QueryRemark::TooLong(words) => format!("Only the first {words} words were read."),
        QueryRemark::Absent(name) => format!("There is no {name} here."),
        QueryRemark::LeftOut(said) => {
            format!("Left out, because no listing can be found by it: {said}.")
        }
        QueryRemark::Family { said, family } => {
            format!("No listing has the color \"{said}\"; it was read as {family}.")
        }
        QueryRemark::UsualSeats => {
            "Seats are those of the listing, or those usual for the model where it states none."
                .to_owned()
        }
    }
}
