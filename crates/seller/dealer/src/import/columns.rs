//! Columns of a feed and the headings that name them. Headings are compared folded: in lower case,
//! with every run of characters other than letters and digits as one `_`.

use std::sync::Arc;

use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;

use super::mapping::Transform;
use super::words::fold;

mod cells;

pub(super) use cells::{ITEM, ITEM_TEXT, RowCells, items};

catalog! {
    /// Meanings of a cell, by the name that mapping files use.
    pub(super) enum CellMeaning {
        /// Other headings in exports.
        aliases: &'static [&'static str],
    }
    /// The dealer's own id of the unit.
    VehicleId = "vehicle_id" { aliases: &["unit_id", "listing_id", "auto_listing_id"] }
    /// The exporter's id of the offer. It becomes the vehicle's id, and its stock number when the
    /// row has none; an id that is the VIN or was generated here is no stock number.
    OfferId = "offer_id" { aliases: &[] }
    /// The VIN.
    Vin = "vin" { aliases: &["vin_number", "vehicle_identification_number", "vin_no"] }
    /// The stock number.
    Stock = "stock" { aliases: &[
        "stock_number", "stocknumber", "stock_no", "stock_num", "stock_id", "stockno", "sku",
    ] }
    /// The rooftop.
    Rooftop = "rooftop" { aliases: &["rooftop_name", "location_name"] }
    /// The name of the dealer or rooftop: exports do not distinguish them.
    DealerName = "dealer_name" { aliases: &[
        "dealername", "dealership_name", "dealership", "store_name",
    ] }
    /// The exporter's id of the dealer or rooftop.
    DealerId = "dealer_id" { aliases: &[
        "dealerid", "dealer", "dealer_code", "store_code", "store_id", "rooftop_id", "location_id",
    ] }
    /// The model year.
    Year = "year" { aliases: &["model_year", "modelyear"] }
    /// The make.
    Make = "make" { aliases: &["brand", "make_name", "manufacturer"] }
    /// The model.
    Model = "model" { aliases: &["model_name"] }
    /// The trim line.
    Trim = "trim" { aliases: &["series", "trim_level", "trim_name"] }
    /// The body style.
    Body = "body" { aliases: &["body_style", "bodystyle", "body_type", "bodytype"] }
    /// New, used or certified.
    Type = "condition" { aliases: &[
        "type", "new_used", "state_of_vehicle", "new_or_used", "inventory_type", "stock_type",
    ] }
    /// New or not, as yes or no.
    IsNew = "is_new" { aliases: &["isnew"] }
    /// Certified or not.
    Certified = "certified" { aliases: &["certified_pre_owned", "is_certified", "cpo", "is_cpo"] }
    /// Availability for sale.
    Status = "status" { aliases: &[
        "inventory_status", "stock_status", "sale_status", "availability",
    ] }
    /// The manufacturer's suggested price.
    Msrp = "msrp" { aliases: &["sticker_price", "total_msrp"] }
    /// The price advertised on the dealer's site.
    InternetPrice = "internet_price" { aliases: &[
        "internetprice", "web_price", "online_price", "sale_price", "saleprice", "special_price",
        "final_price",
    ] }
    /// The price asked.
    SellingPrice = "selling_price" { aliases: &["sellingprice", "asking_price", "asking"] }
    /// AAP's out-the-door price; in a table, any price.
    Price = "price" { aliases: &["current_price", "price_current", "price_amount", "price_value"] }
    /// AAP's advertised price.
    ListPrice = "list_price" { aliases: &["listprice"] }
    /// AAP's out-the-door price under an unambiguous name, with every mandatory amount.
    OutTheDoor = "out_the_door_price" { aliases: &[
        "out_the_door", "otd_price", "vehicle_all_in_price", "all_in_price",
    ] }
    /// The unit's own mandatory fees.
    Fees = "fees" { aliases: &["mandatory_fees"] }
    /// Dealer-installed add-ons that the buyer cannot decline.
    AddOns = "add_ons" { aliases: &["required_add_ons"] }
    /// Rebates that every buyer gets.
    Rebates = "rebates" { aliases: &["total_rebates"] }
    /// Currency of the prices, when it has its own column.
    Currency = "currency" { aliases: &["price_currency", "currency_code"] }
    /// The odometer.
    Mileage = "mileage" { aliases: &[
        "miles", "odometer", "mileage_value", "odometer_value", "odometer_reading",
    ] }
    /// Unit of the odometer, when the cell has none.
    MileageUnit = "mileage_unit" { aliases: &["odometer_unit", "odometer_units"] }
    /// The transmission.
    Transmission = "transmission" { aliases: &["transmission_type", "trans"] }
    /// A longer description of the transmission.
    TransmissionDescription = "transmission_description" { aliases: &[
        "transmission_desc", "transmissiondescription",
    ] }
    /// The driven wheels.
    Drivetrain = "driveline" { aliases: &[
        "drivetrain", "drive_train", "drive_type", "drivetrain_desc", "drive", "drivetype",
        "wheel_drive",
    ] }
    /// The engine.
    Engine = "engine" { aliases: &[
        "engine_description", "enginedescription", "engine_type", "engine_desc",
    ] }
    /// Number of cylinders.
    Cylinders = "cylinders" { aliases: &[
        "enginecylinders", "engine_cylinders", "engine_cylinder_ct",
    ] }
    /// Engine displacement in litres.
    Displacement = "displacement" { aliases: &["enginedisplacement", "engine_displacement"] }
    /// Arrangement of the cylinders.
    Block = "engine_block_type" { aliases: &[] }
    /// Aspiration of the engine.
    Aspiration = "engine_aspiration_type" { aliases: &[] }
    /// The fuel.
    Fuel = "fuel" { aliases: &["fuel_type", "fueltype"] }
    /// Miles per gallon in the city.
    CityMpg = "city_mpg" { aliases: &["citympg", "mpg_city", "epacity", "epa_city"] }
    /// Miles per gallon on the highway.
    HighwayMpg = "highway_mpg" { aliases: &[
        "highwaympg", "hwympg", "hwy_mpg", "mpg_highway", "mpg_hwy", "epahighway", "epa_highway",
    ] }
    /// Electric range in miles.
    ElectricRange = "electric_range_mi" { aliases: &["electric_range", "ev_range"] }
    /// Exterior colour.
    ExteriorColor = "exterior_color" { aliases: &[
        "exteriorcolor", "ext_color", "color", "colour", "exterior", "exterior_colour",
        "ext_colour",
    ] }
    /// Basic exterior colour.
    ExteriorGeneric = "exterior_color_generic" { aliases: &[
        "ext_color_generic", "exterior_base_color",
    ] }
    /// Interior colour.
    InteriorColor = "interior_color" { aliases: &[
        "interiorcolor", "int_color", "interior", "interior_colour", "int_colour",
    ] }
    /// Basic interior colour.
    InteriorGeneric = "interior_color_generic" { aliases: &["int_color_generic"] }
    /// Number of seats. AAP has no member for it; the listing has `seats`.
    Seats = "seats" { aliases: &[
        "passenger_capacity", "seating_capacity", "maximum_seating", "max_seating",
        "number_of_seats", "passengers", "std_seating", "vehicle_seating_capacity",
    ] }
    /// Number of doors. AAP has no member for it; the listing has `doors`.
    Doors = "doors" { aliases: &["number_of_doors", "door_count", "body_door_ct"] }
    /// Equipment.
    Features = "features" { aliases: &[
        "options", "option", "equipment", "packages", "car_features", "feature",
        "installed_options", "option_descriptions", "option_list", "options_list", "feature_list",
        "features_list", "installed_features", "standard_features", "optional_equipment",
        "standard_equipment",
    ] }
    /// Equipment by category.
    CategorizedOptions = "categorized_options" { aliases: &[] }
    /// The first picture.
    MainPhoto = "main_photo" { aliases: &[
        "main_picture_url", "main_picture", "main_image", "main_image_url", "main_photo_url",
        "primary_photo", "primary_image", "primary_photo_url", "primary_image_url",
    ] }
    /// Pictures.
    Photos = "photos" { aliases: &[
        "image_list", "photo_url_list", "photo_urls", "images", "image", "image_link", "image_url",
        "photo", "photo_url", "picture", "picture_url", "picture_urls", "additional_image_link",
        "image_urls", "photo_links", "pictures", "gallery",
    ] }
    /// The vehicle's page.
    Link = "vdp_url" { aliases: &[
        "vehicle_detail_link", "listing_url", "url", "link", "vdp_link", "detail_url",
        "car_details_link", "shorten_vdp_url",
    ] }
    /// Description for people.
    Description = "description" { aliases: &[
        "comments", "autowriter_description", "comment1", "dealer_comments", "seller_notes",
    ] }
    /// Remarks.
    Notes = "notes" { aliases: &[] }
    /// Date since which it is in stock.
    InStockSince = "inventory_date" { aliases: &[
        "dateinstock", "date_in_stock", "date_first_on_lot", "stock_date", "stocked_date",
        "received_date", "in_stock_date",
    ] }
}

/// Common export columns without a place in a listing. They are ignored silently; any other unknown
/// column is reported.
const SILENT: &[&str] = &[
    "bookvalue",
    "book_value",
    "city",
    "classification",
    "comment2",
    "comment3",
    "comment4",
    "dealer_address",
    "dealer_city",
    "dealer_fax",
    "dealer_phone",
    "dealer_state",
    "dealer_zip",
    "enginedisplacementcubicinches",
    "epaclassification",
    "ext_color_code",
    "extcolorhexcode",
    "factory_codes",
    "int_color_code",
    "int_upholstery",
    "intcolorhexcode",
    "invoice",
    "marketclass",
    "misc_price1",
    "misc_price2",
    "misc_price3",
    "model_number",
    "modelnumber",
    "special_field1",
    "special_field2",
    "special_field3",
    "special_field4",
    "style_description",
    "transmission_speed",
    "updated_at",
    "wheelbase_code",
];

impl CellMeaning {
    /// Price columns of tables, by precedence.
    pub(super) const PRICES: &'static [Self] =
        &[Self::InternetPrice, Self::SellingPrice, Self::Price, Self::ListPrice];

    /// Returns the column with this heading. `exteriorColor` equals `exterior_color`, a member of a
    /// list such as `photos.url` belongs to the list, and a prefix `vehicle_` is ignored.
    pub(super) fn from_heading(heading: &str) -> Option<Self> {
        let folded = fold(heading);
        Self::with_name(&folded)
            .or_else(|| is_numbered_photo(&folded).then_some(Self::Photos))
            .or_else(|| Self::from_list_member(heading))
            .or_else(|| {
                let bare = folded.strip_prefix("vehicle_")?;
                // `vehicle_type` says that it is a car, not whether it is new.
                Self::with_name(bare).filter(|column| *column != Self::Type || bare == "condition")
            })
    }

    /// Returns the column with a folded name.
    fn with_name(folded: &str) -> Option<Self> {
        let is_same = |name: &str| {
            name == folded || (!folded.contains('_') && name.replace('_', "") == folded)
        };
        let is = |column: &&Self| {
            is_same(column.name()) || column.aliases().iter().any(|alias| is_same(alias))
        };
        Self::ALL.iter().find(is).copied()
    }

    /// Returns the list column of which a heading is an item's member: `features.value`,
    /// `photos.photo`.
    fn from_list_member(heading: &str) -> Option<Self> {
        const ADDRESSES: &[&str] = &[
            "content_url",
            "href",
            "image",
            "item",
            "link",
            "photo",
            "picture",
            "src",
            "url",
            "value",
        ];
        const NAMES: &[&str] = &["feature", "item", "name", "option", "text", "value"];
        let (list, member) = heading.rsplit_once('.')?;
        let column = Self::with_name(&fold(list)).filter(|column| column.is_list())?;
        let members = if column == Self::Features { NAMES } else { ADDRESSES };
        members.contains(&fold(member).as_str()).then_some(column)
    }

    /// Returns true when several columns with this meaning form one list.
    const fn is_list(self) -> bool {
        matches!(self, Self::MainPhoto | Self::Photos | Self::Features)
    }

    /// Returns true when the amounts of several columns are added up.
    const fn is_sum(self) -> bool {
        matches!(self, Self::Fees | Self::AddOns | Self::Rebates)
    }

    /// Returns true when the column identifies a unit.
    pub(super) fn identifies(self) -> bool {
        [Self::VehicleId, Self::OfferId, Self::Vin, Self::Stock].contains(&self)
    }
}

/// Returns true for one of many columns with a photo each: `image[3].url`, `Photo 4`,
/// `photo_url_5`.
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

/// Returns true for an unknown heading that is not worth reporting.
pub(super) fn is_silent(heading: &str) -> bool {
    let folded = fold(heading);
    folded.is_empty() || SILENT.contains(&folded.as_str())
}

/// A heading with its meaning.
#[derive(Debug, Clone)]
pub(super) struct ColumnHeading {
    /// Index among all headings of the file.
    pub(super) place: usize,
    /// Meaning of the column.
    pub(super) column: Option<CellMeaning>,
    /// Transform that is applied to its cells.
    pub(super) transform: Option<Arc<Transform>>,
}

impl ColumnHeading {
    /// Returns true when all values of a row under this heading count, not only the first.
    pub(super) fn keeps_all_values(&self) -> bool {
        self.column.is_some_and(|column| {
            column.is_list() || column.is_sum() || column == CellMeaning::DealerId
        })
    }
}
