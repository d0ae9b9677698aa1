//! Interpretation of a row: cells become a listing, and oddities become warnings.

use jiff::Timestamp;
use tradepost_aap::Vehicle;
use tradepost_aap::vehicle::{AnyCondition, ListingStatus, VehicleCondition};
use tradepost_document::format;

use super::columns::{CellMeaning, RowCells, items};
use super::fields::{DOORS, SEATS};
use super::mapping::PriceRule;
use super::minivan::is_minivan;
use super::notation::Notation;
use super::numbers::{self, NumberCell};
use super::remembered::{MeaningCache, RowCaches};
use super::report::{FeedReport, RowWarning, SkipReason};
use super::text::{is_web_address, quote};
use super::words::{self, Availability, WordRules, WordValue};
use super::{FeedTarget, PricePolicy, dates, vin};

mod price;

/// Maximum length of names, colours and similar texts in characters.
const MAX_TEXT: usize = 200;

/// Maximum length of a description in characters.
const MAX_DESCRIPTION: usize = 10_000;

/// Maximum number of features and of photos.
const MAX_ITEMS: usize = 200;

/// Number of model years ahead of the calendar that are accepted: next year's model is sold this
/// year.
const YEARS_AHEAD: i16 = 2;

/// Maximum number of seats and of doors.
const MAX_SEATS: u32 = 100;
const MAX_DOORS: u32 = 9;

/// A row that is neither on offer nor sold.
#[derive(Debug)]
pub(super) struct SkippedRow {
    pub(super) reason: SkipReason,
    pub(super) message: String,
}

impl SkippedRow {
    fn new(reason: SkipReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// A row that is on offer or sold.
#[derive(Debug)]
pub(super) struct ListedRow {
    pub(super) vehicle: Vehicle,
    pub(super) sold: bool,
    /// True when its price is in another currency than US dollars and was left out.
    pub(super) is_in_other_currency: bool,
}

/// Interprets the cells of one row.
pub(super) struct RowMapper<'a> {
    pub(super) target: &'a FeedTarget,
    /// Index of the rooftop that the row names.
    pub(super) rooftop: Option<usize>,
    pub(super) now: Timestamp,
    pub(super) price: PriceRule,
    pub(super) notation: &'a Notation,
    /// True when units that are not built yet count as in transit.
    pub(super) offers_unbuilt: bool,
    pub(super) line: usize,
    pub(super) cells: &'a RowCells,
    pub(super) remembered: &'a mut RowCaches,
    pub(super) report: &'a mut FeedReport,
}

impl RowMapper<'_> {
    /// Interprets the row.
    ///
    /// # Errors
    /// The reason why the row is neither on offer nor sold.
    pub(super) fn map(mut self) -> Result<ListedRow, SkippedRow> {
        let word = self.cells.get(CellMeaning::Status);
        let (status, sold) = match self.remembered.availability.or_read(word, words::availability) {
            Availability::Offered(status) => (status, false),
            // `pending` is the nearest of AAP's values for a sold unit.
            Availability::Sold => (ListingStatus::Pending, true),
            Availability::InProduction if self.offers_unbuilt => (ListingStatus::InTransit, false),
            Availability::InProduction => {
                let message = format!(
                    "\"{}\" is not on its way to the dealer yet, so it may not be offered",
                    quote(word)
                );
                return Err(SkippedRow::new(SkipReason::InProduction, message));
            }
            Availability::NotForSale => {
                let message = format!("the status is \"{}\"", quote(word));
                return Err(SkippedRow::new(SkipReason::NotForSale, message));
            }
            Availability::Unknown => {
                let message = format!(
                    "the status \"{}\" is not understood; use In Stock, In Transit, Sale Pending \
                     or Sold",
                    quote(word)
                );
                return Err(SkippedRow::new(SkipReason::UnknownStatus, message));
            }
        };
        let vin = self.vin();
        let offer_id = self.text(CellMeaning::OfferId);
        let stock = self.text(CellMeaning::Stock);
        let stock =
            stock.or_else(|| offer_id.clone().filter(|id| is_stock_number(id, vin.as_ref())));
        let given = self.text(CellMeaning::VehicleId).or(offer_id);
        let (rooftop, fees) = self.place();
        let vehicle_id = match (given, &vin, &stock) {
            (Some(given), _, _) => given,
            (None, Some(vin), _) => id_from_vin(vin),
            (None, None, Some(stock)) => id_from_stock(&rooftop, stock),
            (None, None, None) => {
                let message = "a row needs a VIN of 17 characters, a stock number or a vehicle_id";
                return Err(SkippedRow::new(SkipReason::NoIdentifier, message));
            }
        };
        let mut vehicle = Vehicle {
            dealer_id: Some(self.target.dealer_id.clone()),
            vehicle_id: Some(vehicle_id),
            vin,
            stock,
            rooftop: Some(rooftop),
            status: Some(status),
            updated_at: Some(self.now),
            ..Vehicle::default()
        };
        // Condition and body come first, because prices are checked against the condition.
        self.map_identity(&mut vehicle);
        let other_price = match self.map_prices(&mut vehicle, fees, sold) {
            Err(message) if self.target.price_truth == PricePolicy::Block && !sold => {
                return Err(SkippedRow::new(SkipReason::PriceTruth, message));
            }
            Ok(other_price) => other_price,
            Err(_) => None,
        };
        self.map_presentation(&mut vehicle);
        let is_in_other_currency = other_price.is_some();
        self.report.other_currency = self.report.other_currency.take().or(other_price);
        Ok(ListedRow { vehicle, sold, is_in_other_currency })
    }

    fn map_identity(&mut self, vehicle: &mut Vehicle) {
        vehicle.year = self.year(vehicle.vin.as_deref());
        vehicle.make = self.text(CellMeaning::Make);
        vehicle.model = self.text(CellMeaning::Model);
        vehicle.trim = self.text(CellMeaning::Trim);
        match (&vehicle.make, &vehicle.model) {
            (Some(make), Some(_)) => {
                let family = self.remembered.family.or_read(make, vin::known_family);
                if let Some(vin) = &vehicle.vin
                    && vin::contradicts(vin, family)
                {
                    let message = format!("the VIN does not begin like one of {}", quote(make));
                    self.warn(RowWarning::WmiMismatch, message);
                }
            }
            (None, _) | (_, None) => {
                self.warn(RowWarning::NoMakeOrModel, "buyers search by make and model");
            }
        }
        vehicle.condition = self.condition();
        let transmission = [CellMeaning::Transmission, CellMeaning::TransmissionDescription];
        vehicle.transmission =
            self.word(&transmission, |r| &mut r.transmission, words::TRANSMISSION);
        vehicle.driveline =
            self.word(&[CellMeaning::Drivetrain], |r| &mut r.driveline, words::DRIVELINE);
        vehicle.fuel = self.word(&[CellMeaning::Fuel], |r| &mut r.fuel, words::FUEL);
        vehicle.body = self.body(vehicle);
        vehicle.engine = self.text(CellMeaning::Engine).or_else(|| self.engine());
        vehicle.mileage = self.mileage();
        vehicle.city_mpg = self.plain(CellMeaning::CityMpg, 1_000);
        vehicle.highway_mpg = self.plain(CellMeaning::HighwayMpg, 1_000);
        vehicle.electric_range_mi = self.electric_range().map(f64::from);
        for (column, member, most) in
            [(CellMeaning::Seats, SEATS, MAX_SEATS), (CellMeaning::Doors, DOORS, MAX_DOORS)]
        {
            if let Some(count) = self.count(column, most) {
                vehicle.others.insert(member.to_owned(), count.into());
            }
        }
    }

    /// Reads the body style. A van of a minivan model becomes a minivan.
    fn body(&mut self, vehicle: &Vehicle) -> Option<String> {
        let body = self.word(&[CellMeaning::Body], |r| &mut r.body, words::BODY)?;
        let is_minivan = body == "van"
            && !words::fold(self.cells.get(CellMeaning::Body)).contains("cargo")
            && vehicle
                .make
                .as_ref()
                .zip(vehicle.model.as_ref())
                .is_some_and(|(make, model)| is_minivan(make, model));
        Some(if is_minivan { "minivan".to_owned() } else { body })
    }

    /// Returns true when price and MSRP are so far apart that one of them is wrong, such as cents
    /// read as dollars. It cannot be told which, so neither is shown.
    fn prices_disagree(&mut self, vehicle: &Vehicle) -> bool {
        let Some(msrp) = vehicle.msrp.map(u64::from) else {
            return false;
        };
        // Collector's cars cost several times the MSRP; a used car may end at a small part of it.
        let least_share = if vehicle.condition == Some(AnyCondition::New) { 5 } else { 100 };
        for asked in [vehicle.list_price, vehicle.price].into_iter().flatten() {
            let asked = u64::from(asked);
            if asked > 10 * msrp || asked * least_share < msrp {
                let message = format!("a price of {asked} beside an MSRP of {msrp}");
                self.warn(RowWarning::FarOffPrice, message);
                return true;
            }
        }
        false
    }

    fn map_presentation(&mut self, vehicle: &mut Vehicle) {
        vehicle.exterior_color = self
            .text(CellMeaning::ExteriorColor)
            .or_else(|| self.text(CellMeaning::ExteriorGeneric));
        vehicle.interior_color = self
            .text(CellMeaning::InteriorColor)
            .or_else(|| self.text(CellMeaning::InteriorGeneric));
        vehicle.features = self.features();
        vehicle.photos = self.photos();
        vehicle.vdp_url = self.link();
        vehicle.description = self.long_text(CellMeaning::Description, MAX_DESCRIPTION);
        vehicle.notes = self.long_text(CellMeaning::Notes, MAX_DESCRIPTION);
        vehicle.inventory_date = self.in_stock_since();
    }

    fn warn(&mut self, kind: RowWarning, message: impl Into<String>) {
        self.report.warn(kind, Some(self.line), message.into());
    }

    fn unreadable(&mut self, kind: RowWarning, column: &str, text: &str) {
        self.warn(kind, format!("{column} \"{}\" is left out", quote(text)));
    }

    fn text(&mut self, column: CellMeaning) -> Option<String> {
        self.long_text(column, MAX_TEXT)
    }

    fn long_text(&mut self, column: CellMeaning, most: usize) -> Option<String> {
        let (text, shortened) = clean(self.cells.get(column), most);
        if shortened {
            let message = format!("a text has more than {most} characters");
            self.warn(RowWarning::Shortened, message);
        }
        // Dashes and dots stand for a missing value.
        text.chars().any(char::is_alphanumeric).then_some(text)
    }

    fn vin(&mut self) -> Option<String> {
        let text = self.cells.get(CellMeaning::Vin);
        // Nearly all VINs take this path, without a copy.
        if format::is_vin(text) && format::has_vin_check_digit(text) {
            return Some(text.to_owned());
        }
        let given: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if given.is_empty() {
            return None;
        }
        let vin = given.to_ascii_uppercase();
        if !format::is_vin(&vin) {
            self.warn(
                RowWarning::MalformedVin,
                "a VIN has 17 digits and letters, without I, O and Q",
            );
            return None;
        }
        if vin != given {
            self.warn(RowWarning::LowerCaseVin, "it is turned to upper case");
        }
        if !format::has_vin_check_digit(&vin) {
            self.warn(RowWarning::BadCheckDigit, format!("compare the VIN {vin} with the vehicle"));
        }
        Some(vin)
    }

    /// Returns the name of the unit's rooftop and the sum of its fees.
    fn place(&mut self) -> (String, u32) {
        let rooftops = &self.target.rooftops;
        if self.rooftop.is_none() && rooftops.len() > 1 {
            let message = "the row names none of the dealer's rooftops";
            self.warn(RowWarning::NoRooftop, message);
        }
        let rooftop = rooftops.get(self.rooftop.unwrap_or_default());
        rooftop.map(|rooftop| (rooftop.name.clone(), rooftop.fees)).unwrap_or_default()
    }

    /// Returns the model year: the feed's, or else the VIN's.
    fn year(&mut self, vin: Option<&str>) -> Option<u16> {
        let text = self.cells.get(CellMeaning::Year);
        let of_date = || self.date(text).and_then(|date| u16::try_from(date.year()).ok());
        let year = numbers::year(text, self.notation.sign()).or_else(of_date);
        if year.is_none() && !text.is_empty() {
            self.unreadable(RowWarning::UnreadableYear, "the model year", text);
            return None;
        }
        if year.is_some() {
            return year;
        }
        let this_year = self.now.to_zoned(jiff::tz::TimeZone::UTC).year();
        let latest = u16::try_from(this_year.saturating_add(YEARS_AHEAD)).ok()?;
        let year = vin::model_year(vin?, latest)?;
        self.warn(RowWarning::YearFromVin, format!("{year}, by the tenth character of the VIN"));
        Some(year)
    }

    fn condition(&mut self) -> Option<AnyCondition> {
        let kind = self.cells.get(CellMeaning::Type);
        let certified = self.cells.get(CellMeaning::Certified);
        let is_certified = self.remembered.certified.or_read(certified, words::certified);
        if is_certified.is_none() {
            self.unreadable(RowWarning::UnknownCondition, "\"certified\"", certified);
        }
        let condition = self.remembered.condition.or_read(kind, words::condition);
        let condition = condition.or_else(|| self.is_new());
        if condition.is_none() && !kind.is_empty() {
            self.unreadable(RowWarning::UnknownCondition, "the condition", kind);
        }
        if is_certified == Some(true) {
            if condition == Some(VehicleCondition::New) {
                self.warn(RowWarning::CertifiedNew, "the type is new and certified is set");
            }
            return Some(AnyCondition::Cpo);
        }
        condition.map(|condition| match condition {
            VehicleCondition::New => AnyCondition::New,
            VehicleCondition::Used => AnyCondition::Used,
            VehicleCondition::Cpo => AnyCondition::Cpo,
        })
    }

    fn is_new(&self) -> Option<VehicleCondition> {
        let is_new = words::truth(self.cells.get(CellMeaning::IsNew))?;
        Some(if is_new { VehicleCondition::New } else { VehicleCondition::Used })
    }

    fn word(
        &mut self,
        columns: &[CellMeaning],
        known: fn(&mut RowCaches) -> &mut MeaningCache<Option<WordValue>>,
        rules: WordRules,
    ) -> Option<String> {
        let text = self.cells.first(columns);
        let read = |text: &str| words::by_rules(&clean(text, MAX_TEXT).0, rules);
        let word = known(self.remembered).or_read(text, read)?;
        if !word.usual {
            let (text, _) = clean(text, MAX_TEXT);
            self.warn(RowWarning::UnusualWord, format!("\"{}\" is kept", quote(&text)));
        }
        Some(word.text)
    }

    /// Formats the engine as in the published examples: `1.5L Turbo I4`.
    fn engine(&mut self) -> Option<String> {
        let litres = self.cells.get(CellMeaning::Displacement);
        let litres = numbers::litres(litres, self.notation.sign());
        let cylinders = self.cells.get(CellMeaning::Cylinders);
        let cylinders = cylinders.parse::<u8>().ok().filter(|c| (1..=16).contains(c));
        let block = self.cells.get(CellMeaning::Block);
        // `I`, `V` and `H`. A whole word does not go before a number.
        let block = if block.len() == 1 { block } else { "" };
        let turbo = words::fold(self.cells.get(CellMeaning::Aspiration)).contains("turbo");
        let parts = [
            litres.map(|litres| format!("{litres:.1}L")),
            turbo.then(|| "Turbo".to_owned()),
            cylinders.map(|count| match block {
                "" => format!("{count}-cylinder"),
                block => format!("{block}{count}"),
            }),
        ];
        let engine = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        (litres.is_some() || cylinders.is_some()).then_some(engine)
    }

    fn mileage(&mut self) -> Option<u32> {
        let text = self.cells.get(CellMeaning::Mileage);
        let unit = match self.cells.get(CellMeaning::MileageUnit) {
            "" => self.notation.unit(),
            unit => unit,
        };
        let (amount, converted) = numbers::mileage(text, unit, self.notation.sign());
        if amount == NumberCell::Unreadable {
            self.unreadable(RowWarning::UnreadableMileage, "the mileage", text);
        } else if converted {
            let message = format!("\"{}\" is converted", quote(text));
            self.warn(RowWarning::Kilometres, message);
        }
        amount.number()
    }

    fn plain(&mut self, column: CellMeaning, greatest: u32) -> Option<u32> {
        let text = self.cells.get(column);
        let amount = numbers::plain(text, greatest, self.notation.sign());
        self.number(amount, text)
    }

    fn count(&mut self, column: CellMeaning, greatest: u32) -> Option<u32> {
        let text = self.cells.get(column);
        self.number(numbers::count(text, greatest), text)
    }

    fn electric_range(&mut self) -> Option<u32> {
        let text = self.cells.get(CellMeaning::ElectricRange);
        let (amount, converted) =
            numbers::mileage(text, self.notation.unit(), self.notation.sign());
        match converted {
            true => self.number(amount, text).filter(|range| (1..=2_000).contains(range)),
            false => self.plain(CellMeaning::ElectricRange, 2_000),
        }
    }

    fn number(&mut self, amount: NumberCell, text: &str) -> Option<u32> {
        if amount == NumberCell::Unreadable {
            self.unreadable(RowWarning::UnreadableNumber, "the number", text);
        }
        amount.number()
    }

    fn features(&mut self) -> Vec<String> {
        let text = self.cells.first(&[CellMeaning::Features, CellMeaning::CategorizedOptions]);
        let mut features = Vec::with_capacity(items(text).at_most().min(MAX_ITEMS));
        let mut shortened = false;
        for item in items(text) {
            let (feature, clipped) = clean(item, MAX_TEXT);
            if feature.is_empty() || features.contains(&feature) {
                continue;
            }
            if features.len() == MAX_ITEMS {
                shortened = true;
                break;
            }
            shortened |= clipped;
            features.push(feature);
        }
        if shortened {
            self.warn(RowWarning::Shortened, "the list of features is too long");
        }
        features
    }

    fn photos(&mut self) -> Vec<String> {
        let main = self.cells.get(CellMeaning::MainPhoto);
        let text = self.cells.get(CellMeaning::Photos);
        let most = items(text).at_most() + usize::from(!main.is_empty());
        let mut photos: Vec<String> = Vec::with_capacity(most.min(MAX_ITEMS));
        let mut bad = 0;
        for photo in items(main).chain(items(text)) {
            if !is_web_address(photo) {
                bad += 1;
            } else if photos.len() < MAX_ITEMS && !photos.iter().any(|other| other == photo) {
                photos.push(photo.to_owned());
            }
        }
        if bad > 0 {
            let message = format!("{bad} of the addresses do not start with https:// or http://");
            self.warn(RowWarning::BadPhoto, message);
        }
        photos
    }

    fn link(&mut self) -> Option<String> {
        let text = self.cells.get(CellMeaning::Link);
        if is_web_address(text) {
            return Some(text.to_owned());
        }
        if !text.is_empty() {
            self.unreadable(RowWarning::BadLink, "the address", text);
        }
        None
    }

    fn in_stock_since(&mut self) -> Option<String> {
        let text = self.cells.get(CellMeaning::InStockSince);
        let date = self.date(text);
        if date.is_none() && !text.is_empty() {
            self.unreadable(RowWarning::UnreadableDate, "the date", text);
        }
        date.map(|date| date.to_string())
    }

    /// Reads a date in the mapping's format, or else in a common one.
    fn date(&self, text: &str) -> Option<jiff::civil::Date> {
        let of_form = self.notation.date.as_ref().and_then(|form| form.read(text));
        of_form.or_else(|| dates::date(text))
    }
}

/// Returns true when an offer id can be the stock number: it is no VIN, and no id that was
/// generated here.
fn is_stock_number(id: &str, vin: Option<&String>) -> bool {
    let is_made_here = id.starts_with("veh_") || id.starts_with("stk_");
    !is_made_here && !format::is_vin(id) && vin.is_none_or(|vin| !vin.eq_ignore_ascii_case(id))
}

/// Generates the id of a unit that has none, from its VIN.
pub(super) fn id_from_vin(vin: &str) -> String {
    let mut id = ["veh_", vin].concat();
    id.make_ascii_lowercase();
    id
}

/// Generates the id of a unit without VIN. The rooftop is part of it, because stock numbers are
/// unique only within a rooftop.
fn id_from_stock(rooftop: &str, stock: &str) -> String {
    format!("stk_{}_{}", words::fold(rooftop), words::fold(stock))
}

/// Removes control characters and repeated spaces, and truncates to `most` characters. Also returns
/// true when the text was truncated.
fn clean(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most && is_clean(text) {
        return (text.to_owned(), false);
    }
    let mut out = String::with_capacity(text.len().min(most));
    let mut count = 0;
    let mut space = false;
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            space = !out.is_empty();
            continue;
        }
        let needed = 1 + usize::from(space);
        if count + needed > most {
            return (out, true);
        }
        if std::mem::take(&mut space) {
            out.push(' ');
        }
        out.push(character);
        count += needed;
    }
    (out, false)
}

/// Returns true for printable ASCII with single spaces, as nearly all texts are.
fn is_clean(text: &str) -> bool {
    // No early exit, so that the compiler can vectorise the loop.
    let is_plain = text.bytes().fold(true, |so_far, byte| so_far & (b' '..0x7f).contains(&byte));
    let pairs = text.bytes().zip(text.bytes().skip(1));
    let is_double = pairs.fold(false, |so_far, pair| so_far | (pair == (b' ', b' ')));
    is_plain && !is_double && !text.starts_with(' ') && !text.ends_with(' ')
}
