//! Which column means what. Headings are compared folded: lower case, and every run of other
//! characters than letters and digits is one `_`.

use super::words::fold;

macro_rules! columns {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $first:literal $(| $alias:literal)* ),* $(,)?) => {
        /// What a cell can be about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Column { $( $(#[doc = $doc])+ $variant, )* }

        impl Column {
            const COUNT: usize = [$($first),*].len();

            fn folded(name: &str) -> Option<Self> {
                match name {
                    $( $first $(| $alias)* => Some(Self::$variant), )*
                    _ => None,
                }
            }
        }
    };
}

columns! {
    /// The dealer's own id of the unit.
    VehicleId = "vehicle_id" | "unit_id" | "listing_id",
    /// The VIN.
    Vin = "vin" | "vin_number" | "vehicle_identification_number",
    /// The stock number.
    Stock = "stock" | "stock_number" | "stocknumber" | "stock_no" | "stock_num",
    /// The rooftop.
    Rooftop = "rooftop" | "dealer_name" | "dealername" | "dealership_name" | "location_name",
    /// The model year.
    Year = "year" | "model_year" | "modelyear",
    /// The make.
    Make = "make" | "brand",
    /// The model.
    Model = "model" | "model_name",
    /// The trim line.
    Trim = "trim" | "series" | "trim_level",
    /// The body style.
    Body = "body" | "body_style" | "bodystyle" | "body_type",
    /// New, used or certified.
    Type = "type" | "condition" | "new_used" | "newused" | "vehicle_condition" | "state_of_vehicle",
    /// Whether it is certified.
    Certified = "certified" | "certified_pre_owned" | "is_certified" | "cpo",
    /// Whether it can be bought.
    Status = "status" | "vehicle_status" | "inventory_status" | "stock_status" | "sale_status"
        | "availability",
    /// The manufacturer's suggested price.
    Msrp = "msrp" | "vehicle_msrp" | "sticker_price",
    /// The price advertised on the dealer's site.
    InternetPrice = "internet_price" | "internetprice" | "web_price",
    /// The price asked.
    SellingPrice = "sellingprice" | "selling_price" | "asking_price" | "asking",
    /// AAP's price out of the door; in a table just a price.
    Price = "price",
    /// AAP's advertised price.
    ListPrice = "list_price" | "listprice",
    /// The odometer.
    Mileage = "mileage" | "miles" | "odometer",
    /// Its unit, when the cell has none.
    MileageUnit = "mileage_unit" | "odometer_unit" | "odometer_units",
    /// The transmission.
    Transmission = "transmission" | "transmission_type",
    /// The transmission in more words.
    TransmissionDescription = "transmission_description",
    /// The driven wheels.
    Drivetrain = "drivetrain" | "driveline" | "drive_train" | "drive_type" | "drivetrain_desc",
    /// The engine.
    Engine = "engine" | "engine_description",
    /// Its cylinders.
    Cylinders = "enginecylinders" | "engine_cylinders" | "engine_cylinder_ct" | "cylinders",
    /// Its displacement in litres.
    Displacement = "enginedisplacement" | "engine_displacement",
    /// The arrangement of its cylinders.
    Block = "engine_block_type",
    /// How it breathes.
    Aspiration = "engine_aspiration_type",
    /// The fuel.
    Fuel = "fuel" | "fuel_type" | "fueltype",
    /// Miles per gallon in town.
    CityMpg = "citympg" | "city_mpg",
    /// Miles per gallon on the road.
    HighwayMpg = "highwaympg" | "highway_mpg" | "hwympg" | "hwy_mpg",
    /// Electric range in miles.
    ElectricRange = "electric_range_mi" | "electric_range" | "ev_range",
    /// The colour outside.
    ExteriorColor = "exterior_color" | "exteriorcolor" | "ext_color" | "color" | "colour",
    /// The colour outside in a plain word.
    ExteriorGeneric = "ext_color_generic" | "exterior_base_color",
    /// The colour inside.
    InteriorColor = "interior_color" | "interiorcolor" | "int_color",
    /// The colour inside in a plain word.
    InteriorGeneric = "int_color_generic",
    /// Equipment.
    Features = "features" | "options" | "equipment",
    /// Equipment by category.
    CategorizedOptions = "categorized_options",
    /// Pictures.
    Photos = "photos" | "imagelist" | "image_list" | "photo_url_list" | "photo_urls" | "images"
        | "image_link",
    /// The vehicle's page.
    Link = "vdp_url" | "vehicle_detail_link" | "listing_url" | "vehicle_url" | "url" | "link",
    /// Text for people.
    Description = "description" | "comments" | "autowriter_description" | "comment1",
    /// Remarks.
    Notes = "notes",
    /// Since when it is in stock.
    InStockSince = "inventory_date" | "dateinstock" | "date_in_stock" | "date_first_on_lot"
        | "stock_date",
}

/// Columns of the usual exports that no listing has a place for. They are ignored without a word;
/// any other column that is not understood is reported.
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
    "dealer_id",
    "dealer_phone",
    "dealer_state",
    "dealer_zip",
    "doors",
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
    "passengercapacity",
    "special_field1",
    "special_field2",
    "special_field3",
    "special_field4",
    "style_description",
    "transmission_speed",
    "updated_at",
    "wheelbase_code",
];

impl Column {
    /// The column with this heading.
    pub(super) fn named(heading: &str) -> Option<Self> {
        Self::folded(&fold(heading))
    }

    /// Whether a unit can be told by it.
    pub(super) fn identifies(self) -> bool {
        [Self::VehicleId, Self::Vin, Self::Stock].contains(&self)
    }
}

/// Whether a heading that is not understood is worth a word.
pub(super) fn is_silent(heading: &str) -> bool {
    let folded = fold(heading);
    folded.is_empty() || SILENT.contains(&folded.as_str())
}

/// Stands between the items of a list that came as a list. It is a control character, so that at
/// worst a strange text falls into two pieces.
pub(super) const ITEM: char = '\u{1e}';

/// The cells of a row by what they are about.
#[derive(Debug)]
pub(super) struct Cells(Vec<String>);

impl Cells {
    pub(super) fn new() -> Self {
        Self(vec![String::new(); Column::COUNT])
    }

    /// Empties every cell for the next row.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(String::clear);
    }

    /// Fills a cell, unless another column of the same meaning already has.
    pub(super) fn fill(&mut self, column: Column, text: &str) {
        if let Some(cell) = self.0.get_mut(column as usize)
            && cell.is_empty()
        {
            cell.push_str(text.trim());
        }
    }

    /// What stands in a cell, without surrounding space.
    pub(super) fn get(&self, column: Column) -> &str {
        self.0.get(column as usize).map_or("", String::as_str)
    }

    /// What stands in the first of some cells that is not empty.
    pub(super) fn first(&self, columns: &[Column]) -> &str {
        columns
            .iter()
            .map(|column| self.get(*column))
            .find(|text| !text.is_empty())
            .unwrap_or_default()
    }

    /// Whether nothing is known about the unit.
    pub(super) fn is_blank(&self) -> bool {
        self.0.iter().all(String::is_empty)
    }
}
