//! Which column means what. Headings are compared folded: lower case, and every run of other
//! characters than letters and digits is one `_`.

use std::sync::Arc;

use memchr::{memchr, memchr_iter};
use tradepost_wire::catalog;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::Value;

use super::mapping::Transform;
use super::words::fold;

catalog! {
    /// What a cell can be about, by what mapping files call it.
    pub(super) enum Column {
        /// What exports call it besides, with spaces between.
        aliases: &'static str,
    }
    /// The dealer's own id of the unit.
    VehicleId = "vehicle_id" { aliases: "unit_id listing_id auto_listing_id" }
    /// The VIN.
    Vin = "vin" { aliases: "vin_number vehicle_identification_number vin_no vehicle_vin" }
    /// The stock number.
    Stock = "stock" { aliases: "stock_number stocknumber stock_no stock_num stock_id stockno" }
    /// The rooftop.
    Rooftop = "rooftop" { aliases: "rooftop_name location_name" }
    /// The dealer's name, or the rooftop's: exports do not tell them apart.
    DealerName = "dealer_name" { aliases: "dealername dealership_name dealership store_name" }
    /// The id under which whoever writes the feed keeps the dealer or the rooftop.
    DealerId = "dealer_id" { aliases: "dealerid dealer dealer_code store_code store_id rooftop_id \
        location_id" }
    /// The model year.
    Year = "year" { aliases: "model_year modelyear" }
    /// The make.
    Make = "make" { aliases: "brand make_name manufacturer vehicle_make" }
    /// The model.
    Model = "model" { aliases: "model_name vehicle_model" }
    /// The trim line.
    Trim = "trim" { aliases: "series trim_level trim_name vehicle_trim" }
    /// The body style.
    Body = "body" { aliases: "body_style bodystyle body_type bodytype" }
    /// New, used or certified.
    Type = "condition" { aliases: "type new_used newused vehicle_condition state_of_vehicle \
        new_or_used inventory_type stock_type" }
    /// Whether it is new, as yes or no.
    IsNew = "is_new" { aliases: "isnew" }
    /// Whether it is certified.
    Certified = "certified" { aliases: "certified_pre_owned is_certified cpo is_cpo" }
    /// Whether it can be bought.
    Status = "status" { aliases: "vehicle_status inventory_status stock_status sale_status \
        availability" }
    /// The manufacturer's suggested price.
    Msrp = "msrp" { aliases: "vehicle_msrp sticker_price total_msrp" }
    /// The price advertised on the dealer's site.
    InternetPrice = "internet_price" { aliases: "internetprice web_price online_price sale_price \
        saleprice special_price final_price" }
    /// The price asked.
    SellingPrice = "selling_price" { aliases: "sellingprice asking_price asking" }
    /// AAP's price out of the door; in a table just a price.
    Price = "price" { aliases: "vehicle_price current_price price_current" }
    /// AAP's advertised price.
    ListPrice = "list_price" { aliases: "listprice" }
    /// AAP's price where the feed has it: out of the door, with every mandatory amount.
    OutTheDoor = "out_the_door_price" { aliases: "out_the_door otd_price vehicle_all_in_price \
        all_in_price" }
    /// The unit's own mandatory fees.
    Fees = "fees" { aliases: "mandatory_fees" }
    /// What the dealer has added to the unit and cannot be left out.
    AddOns = "add_ons" { aliases: "required_add_ons" }
    /// What every buyer gets off the price.
    Rebates = "rebates" { aliases: "total_rebates" }
    /// The currency of the prices, when it has a column of its own.
    Currency = "currency" { aliases: "price_currency currency_code" }
    /// The odometer.
    Mileage = "mileage" { aliases: "miles odometer mileage_value odometer_value odometer_reading \
        vehicle_mileage" }
    /// Its unit, when the cell has none.
    MileageUnit = "mileage_unit" { aliases: "odometer_unit odometer_units" }
    /// The transmission.
    Transmission = "transmission" { aliases: "transmission_type trans" }
    /// The transmission in more words.
    TransmissionDescription = "transmission_description" { aliases: "transmission_desc \
        transmissiondescription" }
    /// The driven wheels.
    Drivetrain = "driveline" { aliases: "drivetrain drive_train drive_type drivetrain_desc drive \
        drivetype wheel_drive" }
    /// The engine.
    Engine = "engine" { aliases: "engine_description enginedescription engine_type engine_desc" }
    /// Its cylinders.
    Cylinders = "cylinders" { aliases: "enginecylinders engine_cylinders engine_cylinder_ct" }
    /// Its displacement in litres.
    Displacement = "displacement" { aliases: "enginedisplacement engine_displacement" }
    /// The arrangement of its cylinders.
    Block = "engine_block_type" { aliases: "" }
    /// How it breathes.
    Aspiration = "engine_aspiration_type" { aliases: "" }
    /// The fuel.
    Fuel = "fuel" { aliases: "fuel_type fueltype" }
    /// Miles per gallon in town.
    CityMpg = "city_mpg" { aliases: "citympg mpg_city epacity epa_city" }
    /// Miles per gallon on the road.
    HighwayMpg = "highway_mpg" { aliases: "highwaympg hwympg hwy_mpg mpg_highway mpg_hwy \
        epahighway epa_highway" }
    /// Electric range in miles.
    ElectricRange = "electric_range_mi" { aliases: "electric_range ev_range" }
    /// The colour outside.
    ExteriorColor = "exterior_color" { aliases: "exteriorcolor ext_color color colour exterior \
        exterior_colour ext_colour" }
    /// The colour outside in a plain word.
    ExteriorGeneric = "exterior_color_generic" { aliases: "ext_color_generic exterior_base_color" }
    /// The colour inside.
    InteriorColor = "interior_color" { aliases: "interiorcolor int_color interior interior_colour \
        int_colour" }
    /// The colour inside in a plain word.
    InteriorGeneric = "interior_color_generic" { aliases: "int_color_generic" }
    /// Equipment.
    Features = "features" { aliases: "options equipment packages car_features vehicle_features \
        installed_options option_descriptions" }
    /// Equipment by category.
    CategorizedOptions = "categorized_options" { aliases: "" }
    /// Pictures.
    Photos = "photos" { aliases: "imagelist image_list photo_url_list photo_urls images image_link \
        image_url photo_url picture_url additional_image_link image_urls imageurls photourls \
        pictures gallery" }
    /// The vehicle's page.
    Link = "vdp_url" { aliases: "vehicle_detail_link listing_url vehicle_url url link vdp_link \
        detail_url car_details_link shorten_vdp_url" }
    /// Text for people.
    Description = "description" { aliases: "comments autowriter_description comment1 \
        vehicle_description vehicledescription dealer_comments seller_notes" }
    /// Remarks.
    Notes = "notes" { aliases: "" }
    /// Since when it is in stock.
    InStockSince = "inventory_date" { aliases: "dateinstock date_in_stock date_first_on_lot \
        stock_date stocked_date received_date in_stock_date" }
}

/// Columns of the usual exports that no listing has a place for. They are ignored without a word;
/// any other column that is not understood is reported.
const SILENT: &str = "\
    bookvalue book_value city classification comment2 comment3 comment4 dealer_address \
    dealer_city dealer_fax dealer_phone dealer_state dealer_zip doors \
    enginedisplacementcubicinches epaclassification ext_color_code extcolorhexcode factory_codes \
    int_color_code int_upholstery intcolorhexcode invoice marketclass misc_price1 misc_price2 \
    misc_price3 model_number modelnumber passengercapacity special_field1 special_field2 \
    special_field3 special_field4 style_description transmission_speed updated_at wheelbase_code";

impl Column {
    /// Where prices stand in tables, the one that counts first.
    pub(super) const PRICES: &'static [Self] =
        &[Self::InternetPrice, Self::SellingPrice, Self::Price, Self::ListPrice];

    /// The column with this heading.
    pub(super) fn named(heading: &str) -> Option<Self> {
        let folded = fold(heading);
        let is_one = |aliases: &str| aliases.split_ascii_whitespace().any(|alias| alias == folded);
        let is = |column: &&Self| column.name() == folded || is_one(column.aliases());
        let found = Self::ALL.iter().find(is).copied();
        found.or_else(|| is_numbered_photo(&folded).then_some(Self::Photos))
    }

    /// Whether several columns of it make one list.
    const fn is_list(self) -> bool {
        matches!(self, Self::Photos | Self::Features)
    }

    /// Whether the amounts of several columns of it are added up.
    const fn is_sum(self) -> bool {
        matches!(self, Self::Fees | Self::AddOns | Self::Rebates)
    }

    /// Whether a unit can be told by it.
    pub(super) fn identifies(self) -> bool {
        [Self::VehicleId, Self::Vin, Self::Stock].contains(&self)
    }
}

/// Whether it is one of many columns with a photo each: `image[3].url`, `Photo 4`, `photo_url_5`.
fn is_numbered_photo(folded: &str) -> bool {
    let numbered = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    ["image", "photo", "picture", "img"].iter().any(|word| {
        folded.strip_prefix(word).is_some_and(|rest| {
            let rest = rest.trim_start_matches('_');
            let rest =
                rest.strip_prefix("url_").or_else(|| rest.strip_suffix("_url")).unwrap_or(rest);
            numbered(rest)
        })
    })
}

/// Whether a heading that is not understood is worth a word.
pub(super) fn is_silent(heading: &str) -> bool {
    let folded = fold(heading);
    folded.is_empty() || SILENT.split(' ').any(|silent| silent == folded)
}

/// Stands between the items of a list that came as a list. It is a control character, so that at
/// worst a strange text falls into two pieces.
pub(super) const ITEM: char = '\u{1e}';
const ITEM_BYTE: u8 = 0x1e;

/// The items of a list: between bars when there is one, otherwise between commas.
pub(super) fn items(text: &str) -> Items<'_> {
    let bytes = text.as_bytes();
    // What came as a list is not cut at signs within its items.
    let separator = [ITEM_BYTE, b'|'].into_iter().find(|one| memchr(*one, bytes).is_some());
    Items { rest: Some(text), separator: separator.unwrap_or(b',') }
}

/// The items of a list that are not empty, without space around them.
#[derive(Debug)]
pub(super) struct Items<'t> {
    rest: Option<&'t str>,
    separator: u8,
}

impl Items<'_> {
    /// How many there are, counting those that are empty, but for what ends the last one.
    pub(super) fn at_most(&self) -> usize {
        let text = self.rest.unwrap_or_default();
        let ends = memchr_iter(self.separator, text.as_bytes()).count();
        ends + usize::from(!text.is_empty() && !text.as_bytes().ends_with(&[self.separator]))
    }
}

impl<'t> Iterator for Items<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            let rest = self.rest?;
            let (item, rest) = match memchr(self.separator, rest.as_bytes()) {
                Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at + 1..)),
                None => (rest, None),
            };
            self.rest = rest;
            let item = trim(item);
            if !item.is_empty() {
                return Some(item);
            }
        }
    }
}

/// Without space around it. Most texts have none, which their first and last bytes tell.
fn trim(text: &str) -> &str {
    let is_word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_graphic);
    if is_word(text.as_bytes().first()) && is_word(text.as_bytes().last()) {
        text
    } else {
        text.trim()
    }
}

/// How databases write that there is nothing.
const NOTHING: &[&str] = &["null", "(null)", "nan", "n/a", "#n/a", "nil", "undefined", "\\n"];

/// How long the longest of them is, in bytes.
const LONGEST_NOTHING: usize = "undefined".len();

/// `="0123"` is how spreadsheets are kept from taking a text for a number.
fn shielded(text: &str) -> &str {
    let inner = text.strip_prefix("=\"").and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(text)
}

/// How formulas begin.
const FORMULA: [char; 4] = ['=', '+', '-', '@'];

/// What is taken away from the front of a text before anybody sees it.
fn is_removed(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

/// Whether a spreadsheet would run it: whatever begins with `=`, and calls behind the other signs that
/// begin formulas. A dash in front of words is none.
fn is_formula(text: &str) -> bool {
    let mut characters = text.trim_start_matches(is_removed).chars();
    match characters.next() {
        Some('=') => characters.any(|c| !matches!(c, '=' | ' ')),
        Some('+' | '-' | '@') => {
            let rest = characters.as_str();
            let name = rest.chars().take_while(char::is_ascii_alphabetic).count();
            let calls = name > 0 && rest.get(name..).is_some_and(|rest| rest.starts_with('('));
            calls || rest.contains("|'") || rest.contains("cmd|")
        }
        Some(_) | None => false,
    }
}

fn is_nothing(text: &str) -> bool {
    text.is_empty()
        || (text.len() <= LONGEST_NOTHING
            && NOTHING.iter().any(|nothing| text.eq_ignore_ascii_case(nothing)))
}

/// The items of a list that is JSON: texts, or objects with a `url` or a `value`. So some catalogues put
/// many photos or features into one cell. `None` is a text that is no JSON.
fn items_of_json(text: &str) -> Option<Vec<String>> {
    let whole = tradepost_wire::json::read(text).ok()?;
    let items = whole.as_array().map_or(std::slice::from_ref(&whole), Vec::as_slice);
    let text = |item: &Value| {
        let inner = || item.get("url").or_else(|| item.get("value"))?.as_str();
        item.as_str().or_else(inner).map(str::to_owned)
    };
    Some(items.iter().filter_map(text).collect())
}

/// An amount and its unit, where a cell has both as JSON: `{"value": 19880, "unit": "MI"}`.
fn amount_of_json(text: &str) -> Option<(String, String)> {
    let amount = tradepost_wire::json::read(text).ok()?;
    let member = |name: &str| match amount.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Some((member("value")?, member("unit").unwrap_or_default()))
}

/// A heading as it is understood.
#[derive(Debug, Clone)]
pub(super) struct Heading {
    /// Its place among all that the file has.
    pub(super) place: usize,
    /// What its column is about.
    pub(super) column: Option<Column>,
    /// What is done to its cells first.
    pub(super) transform: Option<Arc<Transform>>,
}

impl Heading {
    /// Whether several values of it make one list.
    pub(super) fn is_list(&self) -> bool {
        self.column.is_some_and(|column| column.is_list() || column.is_sum())
    }
}

/// The cells of a row by what they are about.
#[derive(Debug)]
pub(super) struct Cells {
    texts: Vec<String>,
    /// The places of the headings whose column has something in this row.
    pub(super) filled: Vec<usize>,
    /// Whether something in it begins as formulas do.
    is_suspect: bool,
}

impl Cells {
    pub(super) fn new() -> Self {
        let texts = vec![String::new(); Column::ALL.len()];
        Self { texts, filled: Vec::new(), is_suspect: false }
    }

    /// Empties every cell for the next row.
    pub(super) fn clear(&mut self) {
        self.texts.iter_mut().for_each(String::clear);
        self.filled.clear();
        self.is_suspect = false;
    }

    /// Fills a cell from the column of a heading, unless another one of the same meaning already
    /// has; lists and sums of several columns come together.
    pub(super) fn fill(&mut self, heading: &Heading, text: &str) {
        let text = shielded(trim(text));
        if is_nothing(text) {
            return;
        }
        // Also where nobody understands the column: the report says how full it is.
        self.filled.push(heading.place);
        let Some(column) = heading.column else {
            return;
        };
        match &heading.transform {
            Some(transform) => self.put(column, trim(&transform.apply(text))),
            None => self.put(column, text),
        }
    }

    /// Fills a cell that no column of the row has filled.
    pub(super) fn fill_constant(&mut self, column: Column, text: &str) {
        if self.get(column).is_empty() {
            self.put(column, text);
        }
    }

    fn put(&mut self, column: Column, text: &str) {
        if is_nothing(text) {
            return;
        }
        if column == Column::Mileage
            && text.starts_with('{')
            && let Some((value, unit)) = amount_of_json(text)
        {
            // The unit is that of the amount that is kept.
            if self.get(Column::Mileage).is_empty() {
                self.put(Column::MileageUnit, &unit);
            }
            return self.put(Column::Mileage, &value);
        }
        let Some(cell) = self.texts.get_mut(column as usize) else {
            return;
        };
        // What has several parts may have one that is a formula.
        self.is_suspect |= text.trim_start_matches(is_removed).starts_with(FORMULA)
            || text.starts_with('[')
            || memchr(ITEM_BYTE, text.as_bytes()).is_some();
        let nested = match text.starts_with(['[', '{']) && column.is_list() {
            true => items_of_json(text),
            false => None,
        };
        let is_suspect = &mut self.is_suspect;
        let mut add = |item: &str| {
            *is_suspect |= item.trim_start_matches(is_removed).starts_with(FORMULA);
            cell.push_str(item);
            cell.push(ITEM);
        };
        if let Some(nested) = nested {
            // An item of JSON may have anything in it, also what parts items.
            let parts = nested.iter().flat_map(|item| item.split(ITEM)).map(trim);
            parts.filter(|item| !item.is_empty()).for_each(add);
        } else if column.is_list() {
            items(text).for_each(add);
        } else if column.is_sum() {
            add(text);
        } else if cell.is_empty() {
            cell.push_str(text);
        }
    }

    /// What stands in a cell, without surrounding space.
    pub(super) fn get(&self, column: Column) -> &str {
        self.texts.get(column as usize).map_or("", String::as_str)
    }

    /// What stands in the first of some cells that is not empty.
    pub(super) fn first(&self, columns: &[Column]) -> &str {
        columns
            .iter()
            .map(|column| self.get(*column))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// What a cell is about that a spreadsheet would take for a formula.
    pub(super) fn formula(&self) -> Option<&'static str> {
        if !self.is_suspect {
            return None;
        }
        let cells = self.texts.iter().zip(Column::NAMES);
        let is_one = |text: &str| match memchr(ITEM_BYTE, text.as_bytes()).is_some() {
            true => text.split(ITEM).any(is_formula),
            false => is_formula(text),
        };
        cells.filter(|(text, _)| !text.is_empty()).find(|(text, _)| is_one(text)).map(|(_, n)| *n)
    }

    /// Whether nothing is known about the unit.
    pub(super) fn is_blank(&self) -> bool {
        self.texts.iter().all(String::is_empty)
    }
}
