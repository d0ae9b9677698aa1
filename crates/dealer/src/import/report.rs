//! What became of a feed's rows: every skipped row with its reason, and warnings counted by kind.
//! Memory is bounded whatever the feed holds; everything is counted, and the first are kept.

use std::fmt;

use serde::{Serialize, Serializer};
use tradepost_wire::catalog;
use tradepost_wire::catalog::Vocabulary;

use super::preset::Preset;
use super::text::quote;

/// How many skipped rows are kept.
pub const MAX_SKIPS: usize = 1_000;

/// How many examples of each kind of warning are kept.
pub const MAX_EXAMPLES: usize = 5;

/// How many names of columns that were not understood are kept.
pub const MAX_COLUMNS: usize = 100;

catalog! {
    /// Why a row is not on offer.
    pub enum Reason {
        /// A few words for people.
        summary: &'static str,
    }
    /// Neither VIN nor stock number nor id.
    NoIdentifier = "no_identifier" { summary: "no VIN, stock number or id" }
    /// Not yet on its way to the dealer (§3.4).
    InProduction = "in_production" { summary: "not built or not shipped yet" }
    /// The row names a dealer or a rooftop that is not the one configured.
    AnotherDealer = "another_dealer" { summary: "of a dealer or rooftop that is not configured" }
    /// The file is split among dealers, and the row names none.
    NoDealer = "no_dealer" { summary: "no dealer or rooftop is named" }
    /// The feed says that it cannot be bought.
    NotForSale = "not_for_sale" { summary: "marked as not for sale" }
    /// A status whose meaning is unknown: claiming that the unit can be bought is not ours.
    UnknownStatus = "unknown_status" { summary: "a status that is not understood" }
    /// A VIN that another row has, too.
    DuplicateVin = "duplicate_vin" { summary: "another row has the same VIN" }
    /// A stock number that another row of the rooftop has, too.
    DuplicateStock = "duplicate_stock" { summary: "another row has the same stock number" }
    /// An id that another row has, too.
    DuplicateId = "duplicate_id" { summary: "another row has the same id" }
    /// More cells than columns: the values are shifted.
    TooManyCells = "too_many_cells" { summary: "more cells than columns" }
    /// The file ends in the middle of it.
    Truncated = "truncated" { summary: "the file ends in the middle of the row" }
    /// The price breaks a rule of price truth, and the dealer has such units held back.
    PriceTruth = "price_truth" { summary: "its price is not the whole truth" }
    /// A quotation mark that opens and never closes.
    OpenQuote = "open_quote" { summary: "a quotation mark is not closed" }
    /// A cell that a spreadsheet would run, should it ever get there.
    Formula = "formula" { summary: "a cell is a formula" }
    /// A cell beyond all measure.
    OversizedCell = "oversized_cell" { summary: "a cell is too large" }
    /// Not even a row.
    Malformed = "malformed" { summary: "not a row that can be read" }
}

catalog! {
    /// What is odd about a row that is on offer nevertheless.
    pub enum Warning {
        /// A few words for people.
        summary: &'static str,
    }
    /// The ninth character of the VIN does not fit (C-44).
    BadCheckDigit = "bad_check_digit" { summary: "the VIN's check digit is wrong" }
    /// The VIN begins like another manufacturer's.
    WmiMismatch = "wmi_mismatch" { summary: "the VIN belongs to another manufacturer" }
    /// Not 17 characters of a VIN; it is left out.
    MalformedVin = "malformed_vin" { summary: "not a VIN, left out" }
    /// Upper-cased (C-43).
    LowerCaseVin = "lower_case_vin" { summary: "the VIN was in lower case" }
    /// No price, or a word instead of one: it is left out.
    NotPriced = "not_priced" { summary: "no price" }
    /// A price that is no sum of US dollars; it is left out.
    UnreadablePrice = "unreadable_price" { summary: "a price that cannot be read, left out" }
    /// A price that is in no US dollars; it is left out, because AAP's prices are.
    OtherCurrency = "other_currency" { summary: "a price in another currency, left out" }
    /// A price that cannot be meant; it is left out.
    FarOffPrice = "far_off_price" { summary: "a price far off, left out" }
    /// Out of the door, yet less than the advertised price and what must be paid besides (R-PR-01).
    PriceOmitsFees = "price_omits_fees" { summary: "a price that leaves mandatory amounts out" }
    /// An amount beside the price of which nobody says whether the price has it (R-PR-01).
    UnsaidAmount = "unsaid_amount" { summary: "an add-on or a rebate that may be missing from the price" }
    /// More is given back than is asked (R-PR-01).
    RebateTooLarge = "rebate_too_large" { summary: "rebates as large as the price, left out" }
    /// An amount that is no sum of US dollars.
    UnreadableAmount = "unreadable_amount" { summary: "a fee, add-on or rebate that cannot be read" }
    /// A mileage that is no number; it is left out.
    UnreadableMileage = "unreadable_mileage" { summary: "a mileage that cannot be read, left out" }
    /// Converted to miles.
    Kilometres = "kilometres" { summary: "kilometres, converted to miles" }
    /// A number that is none; it is left out.
    UnreadableNumber = "unreadable_number" { summary: "a number that cannot be read, left out" }
    /// No model year; it is left out.
    UnreadableYear = "unreadable_year" { summary: "a model year that cannot be read, left out" }
    /// The feed has no model year, and the tenth character of the VIN tells it.
    YearFromVin = "year_from_vin" { summary: "no model year, taken from the VIN" }
    /// No date; it is left out.
    UnreadableDate = "unreadable_date" { summary: "a date that cannot be read, left out" }
    /// A condition that is not understood; it is left out.
    UnknownCondition = "unknown_condition" { summary: "a condition that is not understood, left out" }
    /// New and certified at once; certified wins.
    CertifiedNew = "certified_new" { summary: "both new and certified, taken as certified" }
    /// A word that is not usual for its column; it is kept.
    UnusualWord = "unusual_word" { summary: "an unusual word, kept" }
    /// No rooftop is named, and the dealer has several; the first one is taken.
    NoRooftop = "no_rooftop" { summary: "no rooftop is named, taken for the first one" }
    /// A mapping gives somebody a name who is not here.
    UnknownName = "unknown_name" { summary: "the mapping names nobody that is configured" }
    /// Besides the rooftop something is named that the configuration does not have.
    AlsoAnother = "also_another" { summary: "another name of dealer or rooftop, which is not configured" }
    /// Make or model is missing.
    NoMakeOrModel = "no_make_or_model" { summary: "make or model is missing" }
    /// Model and trim stood in one cell.
    ModelAndTrim = "model_and_trim" { summary: "model and trim in one cell, separated" }
    /// Not an absolute http(s) address; it is left out.
    BadPhoto = "bad_photo" { summary: "a photo without an absolute web address, left out" }
    /// Not an absolute http(s) address; it is left out.
    BadLink = "bad_link" { summary: "a link without an absolute web address, left out" }
    /// A text that is too long; its beginning is kept.
    Shortened = "shortened" { summary: "a text was too long and is shortened" }
    /// Fewer cells than columns.
    FewCells = "few_cells" { summary: "fewer cells than columns" }
    /// The members of AAP's vehicles without AAP's type: `price` is taken for one before fees.
    UntypedAap = "untyped_aap" { summary: "vehicles of AAP without its type, prices taken before fees" }
    /// Bytes that are not in the file's encoding.
    ReplacedCharacters = "replaced_characters" { summary: "characters that cannot be read" }
}

/// A row that is not on offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skip {
    /// The line in a table where the row starts, or the number of the item in JSON or XML; from 1.
    pub line: usize,
    /// Why.
    #[serde(serialize_with = "name_of")]
    pub reason: Reason,
    /// Why, for people.
    pub message: String,
}

/// A kind and how often it occurred.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count<K> {
    /// The kind.
    #[serde(serialize_with = "name_of", bound = "K: Vocabulary")]
    pub kind: K,
    /// How often.
    pub count: usize,
    /// The first ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

/// One occurrence of a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// As in [`Skip`]; absent when it is about the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is odd, for people.
    pub message: String,
}

/// A column of the feed and how full it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnUse {
    /// Its heading, or the member's name.
    pub column: String,
    /// In how many rows it holds something.
    pub filled: usize,
}

/// A field of the listings and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldUse {
    /// Its name in AAP.
    pub field: &'static str,
    /// How many of the units on offer have it.
    pub has: usize,
    /// The columns that fed it.
    pub columns: Vec<ColumnUse>,
}

/// How a preset was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PresetUse {
    /// Which.
    #[serde(serialize_with = "name_of")]
    pub name: Preset,
    /// Whether it was guessed from the headings.
    pub guessed: bool,
    /// How many of the headings it knows.
    pub known: usize,
    /// How many there are.
    pub of: usize,
}

fn name_of<K: Vocabulary, S: Serializer>(kind: &K, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

impl fmt::Display for PresetUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, guessed, known, of } = self;
        let how = if *guessed { "by its headings this is" } else { "read as" };
        write!(f, "{how} {}, which knows {known} of {of}", name.name())
    }
}

/// A price in another currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherPrice {
    /// Which currency.
    pub currency: String,
    /// What the feed has.
    pub shown: String,
}

/// What became of a feed's rows: `rows` is the sum of `accepted`, `sold` and `skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// `aap-json`, `json`, `table` or `xml`.
    pub format: &'static str,
    /// The preset by which its columns are understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetUse>,
    /// Such as `UTF-8`.
    pub encoding: &'static str,
    /// What separates the cells of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<&'static str>,
    /// Rows read, without the heading and empty lines.
    pub rows: usize,
    /// Rows that are on offer.
    pub accepted: usize,
    /// Rows of sold units.
    pub sold: usize,
    /// Rows that are neither.
    pub skipped: usize,
    /// Skipped rows by reason.
    pub reasons: Vec<Count<Reason>>,
    /// The first skipped rows, by line.
    pub skips: Vec<Skip>,
    /// Warnings by kind.
    pub warnings: Vec<Count<Warning>>,
    /// Columns that were not understood and are ignored.
    pub ignored_columns: Vec<String>,
    /// What speaks against the file as a whole: that it is not complete, or that most rows lack
    /// what buyers search by.
    pub doubts: Vec<String>,
    /// That most of the prices are in another currency than US dollars, with one of them as the feed
    /// has it. Absent where the mapping has such units offered without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency_doubt: Option<String>,
    /// The one of the doubts that is about photos, which a part of an inventory may lack.
    #[serde(skip)]
    pub photo_doubt: Option<String>,
    /// The first price in another currency, and in which one it is.
    #[serde(skip)]
    pub other_currency: Option<OtherPrice>,
    /// Where each field of the listings came from.
    pub fields: Vec<FieldUse>,
    /// Columns that fed nothing.
    pub unused_columns: Vec<ColumnUse>,
}

impl Report {
    /// How many rows were skipped for a reason.
    #[must_use]
    pub fn skipped_for(&self, reason: Reason) -> usize {
        count(&self.reasons, reason)
    }

    /// How many warnings of a kind there are.
    #[must_use]
    pub fn warned_of(&self, kind: Warning) -> usize {
        count(&self.warnings, kind)
    }

    /// What [`Skip::line`] counts: `line` of a table, or `item` of JSON and XML.
    #[must_use]
    pub fn place(&self) -> &'static str {
        if self.format == super::table::FORMAT { "line" } else { "item" }
    }

    /// How many warnings there are in all.
    #[must_use]
    pub fn warned(&self) -> usize {
        self.warnings.iter().map(|entry| entry.count).sum()
    }

    pub(super) fn skip(&mut self, line: usize, reason: Reason, message: String) {
        self.skipped += 1;
        entry(&mut self.reasons, reason).count += 1;
        // The duplicates are found last, and all the rows are sorted then. Until that moment
        // twice as many are kept, so that the first lines are among them.
        if self.skips.len() < 2 * MAX_SKIPS {
            self.skips.push(Skip { line, reason, message });
        }
    }

    pub(super) fn warn(&mut self, kind: Warning, line: Option<usize>, message: String) {
        let entry = entry(&mut self.warnings, kind);
        entry.count += 1;
        if entry.examples.len() < MAX_EXAMPLES {
            entry.examples.push(Example { line, message });
        }
    }

    pub(super) fn ignore(&mut self, column: &str) {
        let column = quote(column);
        if self.ignored_columns.len() < MAX_COLUMNS && !self.ignored_columns.contains(&column) {
            self.ignored_columns.push(column);
        }
    }

    /// Takes what became of rows that come behind those of this report.
    pub(super) fn join(&mut self, behind: Self) {
        self.rows += behind.rows;
        self.skipped += behind.skipped;
        for of in behind.reasons {
            entry(&mut self.reasons, of.kind).count += of.count;
        }
        let room = (2 * MAX_SKIPS).saturating_sub(self.skips.len());
        self.skips.extend(behind.skips.into_iter().take(room));
        for of in behind.warnings {
            let entry = entry(&mut self.warnings, of.kind);
            entry.count += of.count;
            let room = MAX_EXAMPLES.saturating_sub(entry.examples.len());
            entry.examples.extend(of.examples.into_iter().take(room));
        }
        self.doubts.extend(behind.doubts);
        self.other_currency = self.other_currency.take().or(behind.other_currency);
    }

    /// The same of a part of an inventory, in which it is no wonder that no vehicle has a photo yet.
    #[must_use]
    pub fn of_a_part(mut self) -> Self {
        let of_photos = self.photo_doubt.take();
        self.doubts.retain(|doubt| Some(doubt) != of_photos.as_ref());
        self
    }

    pub(super) fn sort(&mut self) {
        self.skips.sort_by_key(|skip| skip.line);
        self.skips.truncate(MAX_SKIPS);
        self.reasons.sort_by_key(|entry| entry.kind);
        self.warnings.sort_by_key(|entry| entry.kind);
    }
}

fn entry<K: PartialEq>(counts: &mut Vec<Count<K>>, kind: K) -> &mut Count<K> {
    let position = counts.iter().position(|entry| entry.kind == kind);
    let position = position.unwrap_or_else(|| {
        counts.push(Count { kind, count: 0, examples: Vec::new() });
        counts.len() - 1
    });
    counts.get_mut(position).expect("the entry was found or has just been added")
}

fn count<K: PartialEq>(counts: &[Count<K>], kind: K) -> usize {
    counts.iter().find(|entry| entry.kind == kind).map_or(0, |entry| entry.count)
}
