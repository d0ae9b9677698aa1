//! Searching leads for a text. Personal data may be encrypted, so no database can search it: leads are read in batches,
//! decrypted, and compared here, with a key as without one.

use tradepost_dealer::record::LeadRecord;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{self, Value};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::super::Database;
use super::super::privacy::NOTE;
use crate::privacy::{AadContext, readable};
use crate::sql::params;
use crate::staff::{FoundLeads, LeadFilter};

/// Number of leads read at once.
const BATCH: u32 = 500;

/// Minimum number of digits of a search in telephone numbers: nearly every number contains any shorter part.
const MIN_DIGITS: usize = 3;

/// Minimum length in characters of a part of a lead's id that finds it. Ids are random, so that many of them contain
/// any few digits.
const SHORTEST_ID_PART: usize = 8;

/// Members of a lead that are not searched because nearly all leads share their values.
const NOT_SEARCHED: [&str; 2] = ["consent", "type"];

/// Members of the vehicle's listing that are searched. Features and descriptions do not identify a lead.
const LISTING: [&str; 7] = ["vehicle_id", "stock", "vin", "year", "make", "model", "trim"];

/// Search text, prepared once for many leads.
#[derive(Debug)]
struct LeadSearch {
    /// Folded words, each of which has to occur.
    words: Vec<String>,
    /// The digits, where the text may be a telephone number.
    phone: Option<String>,
}

/// Searchable text of a lead.
#[derive(Debug, Default)]
struct SearchableLead {
    /// The lead's id, folded.
    id: String,
    /// Folded texts, one on a line.
    text: String,
    /// The same with letters and digits only: `CR-V` is found by `crv`.
    alphanumeric_text: String,
    /// The digits of telephone numbers.
    phones: Vec<String>,
}

impl LeadSearch {
    /// Prepares a text. Returns `None` when it has no letter and no digit.
    fn new(text: &str) -> Option<Self> {
        let words = text
            .split_whitespace()
            .map(|word| fold(word.trim_matches(|c: char| ",;\"".contains(c))))
            .filter(|word| word.chars().any(char::is_alphanumeric));
        let words: Vec<String> = words.collect();
        let is_phone = |c: char| c.is_ascii_digit() || c.is_whitespace() || "+-()./".contains(c);
        let phone = text.chars().all(is_phone).then(|| digits(text));
        let phone = phone.filter(|phone| phone.len() >= MIN_DIGITS);
        (!words.is_empty()).then_some(Self { words, phone })
    }

    /// Returns true when a lead matches by a part of a telephone number, or by all words.
    fn matches(&self, lead: &SearchableLead) -> bool {
        let by_phone =
            |searched: &String| lead.phones.iter().any(|phone| is_part_of_phone(searched, phone));
        self.phone.as_ref().is_some_and(by_phone)
            || self.words.iter().all(|word| {
                lead.has_id_part(word) || lead.text.contains(word) || {
                    let alphanumeric_text = alphanumeric(word);
                    alphanumeric_text.len() > 1
                        && lead.alphanumeric_text.contains(&alphanumeric_text)
                }
            })
    }
}

impl SearchableLead {
    /// Prepares a lead with its notes.
    fn new(lead: &LeadRecord, notes: &[String]) -> Self {
        let mut this = Self { id: fold(&lead.lead_id), ..Self::default() };
        this.add_members(&lead.submission.payload);
        let listing = lead.submission.listing.as_ref();
        for member in LISTING.iter().filter_map(|name| listing?.get(name)) {
            this.add_members(member);
        }
        if let Some(rooftop) = &lead.submission.rooftop {
            this.add_text(rooftop);
        }
        for note in notes {
            this.add_text(note);
        }
        this
    }

    fn has_id_part(&self, word: &str) -> bool {
        word.len() >= SHORTEST_ID_PART && self.id.contains(word)
    }

    /// Adds the texts and numbers of a JSON value, except in [`NOT_SEARCHED`], and the digits of its telephone numbers.
    fn add_members(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.add_text(&number.to_string()),
            Value::String(text) => self.add_text(text),
            Value::Array(values) => values.iter().for_each(|value| self.add_members(value)),
            Value::Object(members) => {
                for (name, value) in members.iter() {
                    if name == "phone" {
                        self.phones.extend(value.as_str().map(digits));
                    }
                    if !NOT_SEARCHED.contains(&name.as_str()) {
                        self.add_members(value);
                    }
                }
            }
        }
    }

    fn add_text(&mut self, text: &str) {
        let folded = fold(text);
        self.alphanumeric_text.push_str(&alphanumeric(&folded));
        self.alphanumeric_text.push('\n');
        self.text.push_str(&folded);
        self.text.push('\n');
    }
}

/// Returns a text in lower case and without accents and apostrophes: `Zoë` is `zoe`, `O'Brien` is `obrien`.
fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let letters =
        text.nfkd().filter(|c| !is_combining_mark(*c) && !"'\u{2019}`\u{b4}".contains(*c));
    for letter in letters.flat_map(char::to_lowercase) {
        match letter {
            // Letters that Unicode does not decompose.
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' | 'ð' => folded.push('d'),
            'þ' => folded.push_str("th"),
            'ı' => folded.push('i'),
            // The dot that lower case leaves of İ.
            letter if is_combining_mark(letter) => {}
            letter => folded.push(letter),
        }
    }
    folded
}

fn alphanumeric(folded: &str) -> String {
    folded.chars().filter(|c| c.is_alphanumeric()).collect()
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

/// Returns true when the digits are a part of a telephone number, or the number as it is dialled from elsewhere: with a
/// country code that was not stored, or with the zeros that stand for it.
fn is_part_of_phone(searched: &str, phone: &str) -> bool {
    const SHORTEST_NUMBER: usize = 7;
    let without_zeros = searched.trim_start_matches('0');
    phone.contains(searched)
        || without_zeros.len() >= SHORTEST_NUMBER && phone.contains(without_zeros)
        || phone.len() >= SHORTEST_NUMBER && searched.ends_with(phone)
}

impl Database {
    /// Returns leads in which a text occurs, reading at most `most_searched` in the order of the filter.
    pub(crate) fn find_leads(
        &self,
        filter: &LeadFilter<'_>,
        text: &str,
        most_searched: usize,
    ) -> Result<FoundLeads, InternalError> {
        let mut result = FoundLeads::default();
        let Some(search) = LeadSearch::new(text) else { return Ok(result) };
        let mut searched = 0;
        let mut batch_filter = LeadFilter { limit: BATCH, ..*filter };
        loop {
            let batch = self.lead_list(&batch_filter)?;
            let ids: Vec<&str> = batch.iter().map(|one| one.lead.lead_id.as_str()).collect();
            let notes = self.notes_of(&ids)?;
            let is_last = batch.len() < BATCH as usize;
            for listed in batch {
                if searched == most_searched {
                    result.is_cut = true;
                    return Ok(result);
                }
                searched += 1;
                batch_filter.after = Some(listed.cursor());
                let own: Vec<String> = notes
                    .iter()
                    .filter(|note| note.lead_id == listed.lead.lead_id)
                    .map(|note| note.text.clone())
                    .collect();
                if !search.matches(&SearchableLead::new(&listed.lead, &own)) {
                    continue;
                }
                result.leads.push(listed);
                if result.leads.len() >= filter.limit as usize {
                    return Ok(result);
                }
            }
            if is_last {
                return Ok(result);
            }
        }
    }

    /// Returns the readable notes on these leads.
    fn notes_of(&self, lead_ids: &[&str]) -> Result<Vec<LeadNote>, InternalError> {
        let ids = json::to_string(&lead_ids).map_err(InternalError::on("naming leads"))?;
        self.0.all(
            "searching notes",
            &format!(
                "SELECT lead_id, dealer_id, at, text, sealed_by FROM lead_notes
                 WHERE lead_id IN ({}) ORDER BY key",
                self.0.elements(1, "TEXT")
            ),
            params![ids],
            |row| {
                let lead_id: String = row.get("lead_id")?;
                let dealer: String = row.get("dealer_id")?;
                let key: Option<String> = row.get("sealed_by")?;
                let of = AadContext::lead(NOTE, &dealer, &lead_id, row.get("at")?);
                let text = readable(row.opened("text", key.as_deref(), &of))?.unwrap_or_default();
                Ok(LeadNote { lead_id, text })
            },
        )
    }
}

/// Text of a note on a lead.
#[derive(Debug)]
struct LeadNote {
    lead_id: String,
    text: String,
}
