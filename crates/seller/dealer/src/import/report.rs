//! Report about a feed's rows: every skipped row with its reason, and warnings counted by kind. Its
//! memory is bounded: everything is counted, and the first entries are kept.

use std::fmt;

use serde::{Serialize, Serializer};
use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary;

use super::preset::Preset;
use super::text::quote;

/// Maximum number of skipped rows that are kept.
pub const MAX_SKIPS: usize = 1_000;

/// Maximum number of examples for each kind of warning.
pub const MAX_EXAMPLES: usize = 5;

/// Maximum number of unknown column names that are kept.
pub const MAX_COLUMNS: usize = 100;

catalog! {
    /// Reasons why a row is not on offer.
    pub enum SkipReason {
        /// Short description for people.
        summary: &'static str;
        /// Advice for the dealer.
        hint: &'static str = "correct the row in the program that writes the feed",
    }
    /// Neither VIN nor stock number nor id.
    NoIdentifier = "no_identifier" { summary: "no VIN, stock number or id" }
    /// Not yet on its way to the dealer.
    InProduction = "in_production" {
        summary: "not built or not shipped yet";
        hint: "nothing to do: the unit is offered when its status says that it was shipped",
    }
    /// The row names a dealer or a rooftop that is not the one configured.
    AnotherDealer = "another_dealer" {
        summary: "of a dealer or rooftop that is not configured";
        hint: "list what the feed calls a rooftop in its feed_names, or in the [names] of a mapping",
    }
    /// The file is split among dealers, and the row names none.
    NoDealer = "no_dealer" {
        summary: "no dealer or rooftop is named";
        hint: "name the dealer or rooftop in each row, or import the file without --split",
    }
    /// The feed says that it cannot be bought.
    NotForSale = "not_for_sale" {
        summary: "marked as not for sale";
        hint: "nothing to do, unless the unit is for sale: then correct its status",
    }
    /// The status is unknown, so we do not claim that the unit can be bought.
    UnknownStatus = "unknown_status" {
        summary: "a status that is not understood";
        hint: "use a status such as available or sold, or translate it in a mapping",
    }
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
    /// The price breaks a rule for complete prices, and the dealer has configured that such units
    /// are not offered.
    PriceTruth = "price_truth" {
        summary: "its price is not the whole truth";
        hint: "say in the [price] of a mapping what the price includes; docs/feeds.md has the rules",
    }
    /// A quotation mark is not closed.
    OpenQuote = "open_quote" { summary: "a quotation mark is not closed" }
    /// A cell that a spreadsheet would run as a formula.
    Formula = "formula" { summary: "a cell is a formula" }
    /// A cell is larger than the maximum.
    OversizedCell = "oversized_cell" { summary: "a cell is too large" }
    /// The row cannot be parsed.
    Malformed = "malformed" { summary: "not a row that can be read" }
}

catalog! {
    /// Oddities of a row that is on offer nevertheless.
    pub enum RowWarning {
        /// Short description for people.
        summary: &'static str;
        /// Advice for the dealer.
        hint: &'static str = "correct the value in the program that writes the feed",
    }
    /// The ninth character of the VIN does not fit. Only a warning, because VINs from outside of
    /// North America have no check digit (docs/requirements, C-44).
    BadCheckDigit = "bad_check_digit" { summary: "the VIN's check digit is wrong" }
    /// The VIN begins like another manufacturer's.
    WmiMismatch = "wmi_mismatch" { summary: "the VIN belongs to another manufacturer" }
    /// Not 17 characters of a VIN; it is left out.
    MalformedVin = "malformed_vin" { summary: "not a VIN, left out" }
    /// A VIN in lower case, which AAP's schema forbids and the importer corrects
    /// (docs/requirements, C-43).
    LowerCaseVin = "lower_case_vin" {
        summary: "the VIN was in lower case";
        hint: "nothing to do",
    }
    /// No price, or a text in its place; it is left out.
    NotPriced = "not_priced" {
        summary: "no price";
        hint: "give the price in US dollars, or leave it out deliberately",
    }
    /// A price that cannot be read; it is left out.
    UnreadablePrice = "unreadable_price" { summary: "a price that cannot be read, left out" }
    /// A price that is not in US dollars, as AAP's are; it is left out.
    OtherCurrency = "other_currency" {
        summary: "a price in another currency, left out";
        hint: "map a column that has US dollars",
    }
    /// An implausible price; it is left out.
    FarOffPrice = "far_off_price" { summary: "a price far off, left out" }
    /// An out-the-door price below the advertised price plus mandatory amounts (AAP 1.1
    /// `pricing-and-ftc`, R-PR-01).
    PriceOmitsFees = "price_omits_fees" {
        summary: "a price that leaves mandatory amounts out";
        hint: "correct the out-the-door price, or the mandatory fees of the row or of the rooftop",
    }
    /// An amount that the price may or may not include (AAP 1.1 `pricing-and-ftc`, R-PR-01).
    UnsaidAmount = "unsaid_amount" {
        summary: "an add-on or a rebate that may be missing from the price";
        hint: "say in the [price] of a mapping whether the price includes the amount",
    }
    /// Rebates at least as large as the price (AAP 1.1 `pricing-and-ftc`, R-PR-01).
    RebateTooLarge = "rebate_too_large" { summary: "rebates as large as the price, left out" }
    /// An amount that cannot be read.
    UnreadableAmount = "unreadable_amount" { summary: "a fee, add-on or rebate that cannot be read" }
    /// A mileage that cannot be read; it is left out.
    UnreadableMileage = "unreadable_mileage" { summary: "a mileage that cannot be read, left out" }
    /// Converted to miles.
    Kilometres = "kilometres" {
        summary: "kilometres, converted to miles";
        hint: "nothing to do, if the column has kilometres",
    }
    /// A number that cannot be read; it is left out.
    UnreadableNumber = "unreadable_number" { summary: "a number that cannot be read, left out" }
    /// A model year that cannot be read; it is left out.
    UnreadableYear = "unreadable_year" { summary: "a model year that cannot be read, left out" }
    /// No model year in the feed; it is taken from the tenth character of the VIN.
    YearFromVin = "year_from_vin" {
        summary: "no model year, taken from the VIN";
        hint: "map the column of the model year, if there is one",
    }
    /// A date that cannot be read; it is left out.
    UnreadableDate = "unreadable_date" { summary: "a date that cannot be read, left out" }
    /// An unknown condition; it is left out.
    UnknownCondition = "unknown_condition" { summary: "a condition that is not understood, left out" }
    /// New and certified at once; certified wins.
    CertifiedNew = "certified_new" { summary: "both new and certified, taken as certified" }
    /// An uncommon value for its column; it is kept.
    UnusualWord = "unusual_word" {
        summary: "an unusual word, kept";
        hint: "nothing to do, if the word is right",
    }
    /// No rooftop is named, and the dealer has several; the first one is taken.
    NoRooftop = "no_rooftop" {
        summary: "no rooftop is named, taken for the first one";
        hint: "name the rooftop in each row, or in the [constants] of a mapping",
    }
    /// A name of the mapping refers to a dealer or rooftop that is not configured.
    UnknownName = "unknown_name" {
        summary: "the mapping names nobody that is configured";
        hint: "correct the [names] of the mapping, or add the rooftop to the configuration",
    }
    /// Beside the rooftop, the row names one that is not configured.
    AlsoAnother = "also_another" {
        summary: "another name of dealer or rooftop, which is not configured";
        hint: "list the name in feed_names of the rooftop, if it is the same one",
    }
    /// Make or model is missing.
    NoMakeOrModel = "no_make_or_model" { summary: "make or model is missing" }
    /// Model and trim stood in one cell.
    ModelAndTrim = "model_and_trim" {
        summary: "model and trim in one cell, separated";
        hint: "nothing to do, if both are right",
    }
    /// Not an absolute http(s) address; it is left out.
    BadPhoto = "bad_photo" { summary: "a photo without an absolute web address, left out" }
    /// Not an absolute http(s) address; it is left out.
    BadLink = "bad_link" { summary: "a link without an absolute web address, left out" }
    /// A text that is too long; its beginning is kept.
    Shortened = "shortened" { summary: "a text was too long and is shortened" }
    /// Fewer cells than columns.
    FewCells = "few_cells" { summary: "fewer cells than columns" }
    /// Vehicles with AAP's members and without AAP's type: `price` is read as a price before fees.
    UntypedAap = "untyped_aap" {
        summary: "vehicles of AAP without its type, prices taken before fees";
        hint: "add the type of AAP to the document, or import it with --preset aap-json",
    }
    /// Bytes that are not in the file's encoding.
    ReplacedCharacters = "replaced_characters" {
        summary: "characters that cannot be read";
        hint: "write the file as UTF-8",
    }
}

/// A row that is not on offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkipReport {
    /// Line of the row in a table, or number of the item in JSON or XML, from 1.
    pub line: usize,
    /// Reason.
    #[serde(serialize_with = "name_of")]
    pub reason: SkipReason,
    /// Message for people.
    pub message: String,
}

/// Number of occurrences of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindCount<K> {
    /// The kind.
    #[serde(serialize_with = "name_of", bound = "K: Vocabulary")]
    pub kind: K,
    /// Number of occurrences.
    pub count: usize,
    /// First occurrences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<WarningExample>,
}

/// One occurrence of a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WarningExample {
    /// Line as in [`SkipReport`]; `None` for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Message for people.
    pub message: String,
}

/// A column of the feed, with the number of rows that fill it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnUse {
    /// Heading, or path of the member.
    pub column: String,
    /// Number of rows in which it has content.
    pub filled: usize,
}

/// A field of the listings, with the columns that feed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldUse {
    /// Name of the field in AAP.
    pub field: &'static str,
    /// Number of units on offer that have it.
    pub has: usize,
    /// Columns that feed it.
    pub columns: Vec<ColumnUse>,
}

/// Preset of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PresetUse {
    /// The preset.
    #[serde(serialize_with = "name_of")]
    pub name: Preset,
    /// True when it was guessed from the headings.
    pub guessed: bool,
    /// Number of headings that it knows.
    pub known: usize,
    /// Number of headings.
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
    /// The currency.
    pub currency: String,
    /// The price as in the feed.
    pub shown: String,
}

/// Report about a feed: `rows` is the sum of `accepted`, `sold` and `skipped`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FeedReport {
    /// `aap-json`, `json`, `table` or `xml`.
    pub format: &'static str,
    /// The preset that interprets the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetUse>,
    /// Encoding, such as `UTF-8`.
    pub encoding: &'static str,
    /// Delimiter of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<&'static str>,
    /// Rows read, without the heading and empty lines.
    pub rows: usize,
    /// Rows that are on offer.
    pub accepted: usize,
    /// Rows of sold units.
    pub sold: usize,
    /// Rows that are neither on offer nor sold.
    pub skipped: usize,
    /// Skipped rows by reason.
    pub reasons: Vec<KindCount<SkipReason>>,
    /// The first skipped rows, by line.
    pub skips: Vec<SkipReport>,
    /// Warnings by kind.
    pub warnings: Vec<KindCount<RowWarning>>,
    /// Unknown columns, which are ignored.
    pub ignored_columns: Vec<String>,
    /// Doubts about the whole file: it is incomplete, or most rows lack a field that buyers search
    /// by.
    pub doubts: Vec<String>,
    /// Doubt that most prices are in another currency, with one of them as an example. Absent when
    /// the mapping offers such units without a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency_doubt: Option<String>,
    /// The doubt about photos, which a part of an inventory may lack.
    #[serde(skip)]
    pub photo_doubt: Option<String>,
    /// The first price in another currency.
    #[serde(skip)]
    pub other_currency: Option<OtherPrice>,
    /// Fields of the listings, with the columns that feed them.
    pub fields: Vec<FieldUse>,
    /// Columns that feed no field.
    pub unused_columns: Vec<ColumnUse>,
}

impl FeedReport {
    /// Returns the number of rows skipped for a reason.
    #[must_use]
    pub fn skipped_for(&self, reason: SkipReason) -> usize {
        count(&self.reasons, reason)
    }

    /// Returns the number of warnings of a kind.
    #[must_use]
    pub fn warned_of(&self, kind: RowWarning) -> usize {
        count(&self.warnings, kind)
    }

    /// Returns the unit of [`SkipReport::line`]: `line` in a table, `item` in JSON and XML.
    #[must_use]
    pub fn place(&self) -> &'static str {
        if self.format == super::table::FORMAT { "line" } else { "item" }
    }

    /// Returns the number of all warnings.
    #[must_use]
    pub fn warned(&self) -> usize {
        self.warnings.iter().map(|entry| entry.count).sum()
    }

    pub(super) fn skip(&mut self, line: usize, reason: SkipReason, message: String) {
        self.skipped += 1;
        entry(&mut self.reasons, reason).count += 1;
        // Duplicates are found last, and then all rows are sorted. Until then twice as many are
        // kept, so that the first lines are among them.
        if self.skips.len() < 2 * MAX_SKIPS {
            self.skips.push(SkipReport { line, reason, message });
        }
    }

    pub(super) fn warn(&mut self, kind: RowWarning, line: Option<usize>, message: String) {
        let entry = entry(&mut self.warnings, kind);
        entry.count += 1;
        if entry.examples.len() < MAX_EXAMPLES {
            entry.examples.push(WarningExample { line, message });
        }
    }

    pub(super) fn ignore(&mut self, column: &str) {
        let column = quote(column);
        if self.ignored_columns.len() < MAX_COLUMNS && !self.ignored_columns.contains(&column) {
            self.ignored_columns.push(column);
        }
    }

    /// Appends the report about the rows that follow.
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

    /// Returns the report for a part of an inventory, without the doubt about missing photos.
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

fn entry<K: PartialEq>(counts: &mut Vec<KindCount<K>>, kind: K) -> &mut KindCount<K> {
    let position = counts.iter().position(|entry| entry.kind == kind);
    let position = position.unwrap_or_else(|| {
        counts.push(KindCount { kind, count: 0, examples: Vec::new() });
        counts.len() - 1
    });
    counts.get_mut(position).expect("the entry was found or has just been added")
}

fn count<K: PartialEq>(counts: &[KindCount<K>], kind: K) -> usize {
    counts.iter().find(|entry| entry.kind == kind).map_or(0, |entry| entry.count)
}
