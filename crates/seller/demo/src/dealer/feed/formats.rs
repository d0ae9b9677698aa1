//! Writers for the feed formats of the field, as their exporters write them.

use std::fmt::Write as _;
use std::io;

use quick_xml::escape::escape;
use tradepost_aap::Vehicle;
use tradepost_aap::vehicle::{AnyCondition, ListingStatus};
use tradepost_document::catalog;

use super::aap_json;
use tradepost_dealer::import::{FeedListing, Preset};

catalog! {
    /// Feed formats that the demo can write.
    pub enum DemoFormat {
        /// Preset that reads the format.
        preset: Preset,
    }
    /// HomeNet's table, between commas.
    HomeNet = "homenet" { preset: Preset::HomeNet }
    /// vAuto's table, between commas.
    VAuto = "vauto" { preset: Preset::VAuto }
    /// Google vehicle listings between commas.
    GoogleListings = "google-listings" { preset: Preset::GoogleListings }
    /// Google vehicle listings between tabs.
    GoogleListingsTsv = "google-listings-tsv" { preset: Preset::GoogleListings }
    /// Google vehicle ads between tabs.
    GoogleAds = "google-ads" { preset: Preset::GoogleAds }
    /// Google vehicle ads as RSS.
    GoogleAdsXml = "google-ads-xml" { preset: Preset::GoogleAds }
    /// Meta's catalogue between commas.
    Meta = "meta" { preset: Preset::Meta }
    /// Meta's catalogue between tabs.
    MetaTsv = "meta-tsv" { preset: Preset::Meta }
    /// Meta's catalogue as XML.
    MetaXml = "meta-xml" { preset: Preset::Meta }
    /// AutoTrader's table between bars, without a heading.
    AutoTrader = "autotrader" { preset: Preset::AutoTrader }
    /// The vehicles of AAP.
    AapJson = "aap-json" { preset: Preset::AapJson }
}

impl DemoFormat {
    /// Writes the listings. Sold ones are left out where the format has no value for them.
    ///
    /// # Errors
    /// Never in practice: writing to memory does not fail.
    pub fn write(self, listings: &[FeedListing]) -> io::Result<Vec<u8>> {
        match self {
            Self::HomeNet => table(listings, HOMENET, b',', true),
            Self::AapJson => Ok(aap_json(listings)?),
            Self::VAuto => table(listings, VAUTO, b',', true),
            Self::GoogleListings => table(&on_offer(listings), GOOGLE_LISTINGS, b',', true),
            Self::GoogleListingsTsv => table(&on_offer(listings), GOOGLE_LISTINGS, b'\t', true),
            Self::GoogleAds => table(&on_offer(listings), GOOGLE_ADS, b'\t', true),
            Self::GoogleAdsXml => Ok(rss(&on_offer(listings))),
            Self::Meta => table(&on_offer(listings), META, b',', true),
            Self::MetaTsv => table(&on_offer(listings), META, b'\t', true),
            Self::MetaXml => Ok(listings_xml(&on_offer(listings))),
            Self::AutoTrader => table(&on_offer(listings), AUTOTRADER, b'|', false),
        }
    }
}

fn on_offer(listings: &[FeedListing]) -> Vec<FeedListing> {
    listings.iter().filter(|listing| !listing.sold).cloned().collect()
}

/// A column: its heading and its content.
pub(super) type DemoColumn = (&'static str, DemoCell);

/// Content of a column.
#[derive(Clone, Copy)]
pub(super) enum DemoCell {
    /// Text computed from the listing.
    Of(fn(&FeedListing) -> String),
    /// Photo with this number, from 0.
    Photo(usize),
    /// Nothing, because the demo has no such data.
    Nothing,
}

impl DemoCell {
    fn text(self, listing: &FeedListing) -> String {
        match self {
            Self::Of(write) => write(listing),
            Self::Photo(place) => listing.vehicle.photos.get(place).cloned().unwrap_or_default(),
            Self::Nothing => String::new(),
        }
    }
}

pub(super) fn table(
    listings: &[FeedListing],
    columns: &[DemoColumn],
    delimiter: u8,
    has_heading: bool,
) -> io::Result<Vec<u8>> {
    let rows = listings.iter().map(|listing| row(listing, columns));
    written(if has_heading { columns } else { &[] }, rows, delimiter)
}

/// Returns the cells of a listing.
pub(super) fn row(listing: &FeedListing, columns: &[DemoColumn]) -> Vec<String> {
    columns.iter().map(|(_, cell)| cell.text(listing)).collect()
}

/// Writes rows below a heading, unless `heading` is empty.
pub(super) fn written(
    heading: &[DemoColumn],
    rows: impl IntoIterator<Item = Vec<String>>,
    delimiter: u8,
) -> io::Result<Vec<u8>> {
    // A row with a defect may have one cell more than the others.
    let mut writer =
        csv::WriterBuilder::new().delimiter(delimiter).flexible(true).from_writer(Vec::new());
    if !heading.is_empty() {
        writer.write_record(heading.iter().map(|(name, _)| name))?;
    }
    for row in rows {
        writer.write_record(row)?;
    }
    writer.into_inner().map_err(|error| error.into_error())
}

fn rss(listings: &[FeedListing]) -> Vec<u8> {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <rss version=\"2.0\" xmlns:g=\"http://base.google.com/ns/1.0\">\n<channel>\n\
         <title>Larkspur Motors</title>\n<link>https://www.larkspur-motors.example/</link>\n",
    );
    for listing in listings {
        out.push_str("<item>\n");
        for (name, cell) in GOOGLE_ADS {
            match *name {
                "additional_image_link" => {
                    for photo in listing.vehicle.photos.iter().skip(1) {
                        element(&mut out, "g:additional_image_link", photo);
                    }
                }
                "vehicle_option" => {
                    for feature in &listing.vehicle.features {
                        element(&mut out, "g:vehicle_option", feature);
                    }
                }
                "description" | "title" | "link" => element(&mut out, name, &cell.text(listing)),
                _ => element(&mut out, &format!("g:{name}"), &cell.text(listing)),
            }
        }
        out.push_str("</item>\n");
    }
    out.push_str("</channel>\n</rss>\n");
    out.into_bytes()
}

fn listings_xml(listings: &[FeedListing]) -> Vec<u8> {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<listings>\n<title>Larkspur Motors</title>\n",
    );
    for listing in listings {
        out.push_str("<listing>\n");
        for (name, cell) in META {
            let text = cell.text(listing);
            match name.split_once('.') {
                Some((around, inner)) if !text.is_empty() => {
                    let bare = |name: &'static str| name.split('[').next().unwrap_or_default();
                    let around = bare(around);
                    let inner = bare(inner);
                    let _ = write!(out, "<{around}>");
                    element(&mut out, inner, &text);
                    let _ = writeln!(out, "</{around}>");
                }
                Some(_) => {}
                None => element(&mut out, name, &text),
            }
        }
        out.push_str("</listing>\n");
    }
    out.push_str("</listings>\n");
    out.into_bytes()
}

fn element(out: &mut String, name: &str, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "<{name}>{}</{name}>", escape(text));
    }
}

fn text(value: Option<&String>) -> String {
    value.cloned().unwrap_or_default()
}

fn shown(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn dollars(value: Option<u32>) -> String {
    value.map(|number| format!("{number} USD")).unwrap_or_default()
}

fn is_new(v: &Vehicle) -> bool {
    v.condition == Some(AnyCondition::New)
}

fn is_certified(v: &Vehicle) -> bool {
    v.condition == Some(AnyCondition::Cpo)
}

fn either(truth: bool, yes: &str, no: &str) -> String {
    if truth { yes } else { no }.to_owned()
}

/// Returns one of two texts by a test of the vehicle; empty when the condition is unknown.
fn stated(listing: &FeedListing, is: fn(&Vehicle) -> bool, yes: &str, no: &str) -> String {
    let known = listing.vehicle.condition.is_some();
    if known { either(is(&listing.vehicle), yes, no) } else { String::new() }
}

fn upper(value: Option<&String>) -> String {
    text(value).to_uppercase()
}

/// HomeNet's own columns, and common additions of dealers.
pub(super) const HOMENET: &[DemoColumn] = &[
    ("Type", DemoCell::Of(|u| stated(u, is_new, "New", "Used"))),
    ("Stock", DemoCell::Of(|u| text(u.vehicle.stock.as_ref()))),
    ("VIN", DemoCell::Of(|u| text(u.vehicle.vin.as_ref()))),
    ("Year", DemoCell::Of(|u| shown(u.vehicle.year))),
    ("Make", DemoCell::Of(|u| text(u.vehicle.make.as_ref()))),
    ("Model", DemoCell::Of(|u| text(u.vehicle.model.as_ref()))),
    ("Body", DemoCell::Of(body_in_words)),
    ("Trim", DemoCell::Of(|u| text(u.vehicle.trim.as_ref()))),
    ("ExteriorColor", DemoCell::Of(|u| text(u.vehicle.exterior_color.as_ref()))),
    ("InteriorColor", DemoCell::Of(|u| text(u.vehicle.interior_color.as_ref()))),
    ("Transmission", DemoCell::Of(|u| text(u.vehicle.transmission.as_ref()))),
    ("Miles", DemoCell::Of(|u| shown(u.vehicle.mileage))),
    ("MSRP", DemoCell::Of(|u| shown(u.vehicle.msrp))),
    ("Certified", DemoCell::Of(|u| stated(u, is_certified, "True", "False"))),
    ("DateInStock", DemoCell::Of(|u| text(u.vehicle.inventory_date.as_ref()))),
    ("Description", DemoCell::Of(|u| text(u.vehicle.description.as_ref()))),
    ("Options", DemoCell::Of(|u| u.vehicle.features.join("|"))),
    ("Dealer Name", DemoCell::Of(|u| text(u.vehicle.rooftop.as_ref()))),
    ("Engine_Description", DemoCell::Of(|u| text(u.vehicle.engine.as_ref()))),
    ("Drivetrain", DemoCell::Of(|u| upper(u.vehicle.driveline.as_ref()))),
    ("Fuel_Type", DemoCell::Of(fuel_in_words)),
    ("CityMPG", DemoCell::Of(|u| shown(u.vehicle.city_mpg))),
    ("HighwayMPG", DemoCell::Of(|u| shown(u.vehicle.highway_mpg))),
    ("Internet_Price", DemoCell::Of(|u| shown(u.vehicle.list_price))),
    ("ImageList", DemoCell::Of(|u| u.vehicle.photos.join("|"))),
    ("Status", DemoCell::Of(|u| status(u).replace("Pending", "Pending - Deposit"))),
    ("Electric Range", DemoCell::Of(|u| shown(u.vehicle.electric_range_mi))),
    ("VDP_URL", DemoCell::Of(|u| text(u.vehicle.vdp_url.as_ref()))),
];

const VAUTO: &[DemoColumn] = &[
    ("DealerId", DemoCell::Nothing),
    ("VIN", DemoCell::Of(|u| text(u.vehicle.vin.as_ref()))),
    ("Stock #", DemoCell::Of(|u| text(u.vehicle.stock.as_ref()))),
    ("New/Used", DemoCell::Of(|u| either(is_new(&u.vehicle), "N", "U"))),
    ("Year", DemoCell::Of(|u| shown(u.vehicle.year))),
    ("Make", DemoCell::Of(|u| text(u.vehicle.make.as_ref()))),
    ("Model", DemoCell::Of(|u| text(u.vehicle.model.as_ref()))),
    ("Model Number", DemoCell::Nothing),
    ("Series", DemoCell::Of(|u| text(u.vehicle.trim.as_ref()))),
    ("Body", DemoCell::Of(|u| text(u.vehicle.body.as_ref()))),
    ("Transmission", DemoCell::Of(|u| text(u.vehicle.transmission.as_ref()))),
    ("Odometer", DemoCell::Of(|u| shown(u.vehicle.mileage))),
    ("Engine", DemoCell::Of(|u| text(u.vehicle.engine.as_ref()))),
    ("Engine Displacement", DemoCell::Nothing),
    ("Engine Cylinder Ct", DemoCell::Nothing),
    ("Drivetrain Desc", DemoCell::Of(|u| upper(u.vehicle.driveline.as_ref()))),
    ("Fuel", DemoCell::Of(|u| text(u.vehicle.fuel.as_ref()))),
    ("City MPG", DemoCell::Of(|u| shown(u.vehicle.city_mpg))),
    ("Highway MPG", DemoCell::Of(|u| shown(u.vehicle.highway_mpg))),
    ("Color", DemoCell::Of(|u| text(u.vehicle.exterior_color.as_ref()))),
    ("Interior Color", DemoCell::Of(|u| text(u.vehicle.interior_color.as_ref()))),
    ("Invoice", DemoCell::Nothing),
    ("MSRP", DemoCell::Of(|u| shown(u.vehicle.msrp))),
    ("Book Value", DemoCell::Nothing),
    ("Price", DemoCell::Of(|u| shown(u.vehicle.list_price))),
    ("Other Price", DemoCell::Nothing),
    ("Internet Price", DemoCell::Nothing),
    ("Inventory Date", DemoCell::Of(|u| text(u.vehicle.inventory_date.as_ref()))),
    ("Certified", DemoCell::Of(|u| either(is_certified(&u.vehicle), "True", "False"))),
    ("Certification", DemoCell::Nothing),
    ("Status", DemoCell::Of(status)),
    ("Description", DemoCell::Of(|u| text(u.vehicle.description.as_ref()))),
    ("Features", DemoCell::Of(|u| u.vehicle.features.join("|"))),
    ("Photo Url List", DemoCell::Of(|u| u.vehicle.photos.join("|"))),
    ("Vehicle Detail Link", DemoCell::Of(|u| text(u.vehicle.vdp_url.as_ref()))),
    ("Dealer Name", DemoCell::Of(|u| text(u.vehicle.rooftop.as_ref()))),
];

const GOOGLE_LISTINGS: &[DemoColumn] = &[
    ("vin", DemoCell::Of(|u| text(u.vehicle.vin.as_ref()))),
    ("id", DemoCell::Of(|u| text(u.vehicle.stock.as_ref()))),
    ("store_code", DemoCell::Of(|u| text(u.vehicle.dealer_id.as_ref()))),
    ("dealership_name", DemoCell::Of(|u| text(u.vehicle.rooftop.as_ref()))),
    ("dealership_address", DemoCell::Of(|_| "1 Main Street, Fairview, CA 94000, US".to_owned())),
    ("image_link", DemoCell::Photo(0)),
    ("additional_image_link", DemoCell::Of(more_photos)),
    ("link", DemoCell::Of(|u| text(u.vehicle.vdp_url.as_ref()))),
    ("date_in_stock", DemoCell::Of(|u| text(u.vehicle.inventory_date.as_ref()))),
    ("price", DemoCell::Of(|u| dollars(u.vehicle.list_price))),
    ("vehicle_msrp", DemoCell::Of(|u| dollars(u.vehicle.msrp))),
    ("condition", DemoCell::Of(|u| either(is_new(&u.vehicle), "new", "used"))),
    ("certified_pre_owned", DemoCell::Of(|u| either(is_certified(&u.vehicle), "yes", "no"))),
    ("make", DemoCell::Of(|u| text(u.vehicle.make.as_ref()))),
    ("model", DemoCell::Of(|u| text(u.vehicle.model.as_ref()))),
    ("trim", DemoCell::Of(|u| text(u.vehicle.trim.as_ref()))),
    ("year", DemoCell::Of(|u| shown(u.vehicle.year))),
    ("mileage", DemoCell::Of(miles)),
    ("exterior_color", DemoCell::Of(|u| text(u.vehicle.exterior_color.as_ref()))),
    ("interior_color", DemoCell::Of(|u| text(u.vehicle.interior_color.as_ref()))),
    ("body_style", DemoCell::Of(|u| text(u.vehicle.body.as_ref()))),
    ("engine", DemoCell::Of(|u| text(u.vehicle.engine.as_ref()))),
    ("transmission", DemoCell::Of(|u| text(u.vehicle.transmission.as_ref()))),
    ("drivetrain", DemoCell::Of(|u| upper(u.vehicle.driveline.as_ref()))),
    ("fuel_type", DemoCell::Of(|u| text(u.vehicle.fuel.as_ref()))),
    ("options", DemoCell::Of(|u| u.vehicle.features.join(","))),
    ("description", DemoCell::Of(|u| text(u.vehicle.description.as_ref()))),
];

const GOOGLE_ADS: &[DemoColumn] = &[
    ("id", DemoCell::Of(|u| text(u.vehicle.vehicle_id.as_ref()))),
    ("title", DemoCell::Of(|u| u.vehicle.title())),
    ("description", DemoCell::Of(|u| text(u.vehicle.description.as_ref()))),
    ("google_product_category", DemoCell::Of(|_| "916".to_owned())),
    ("vin", DemoCell::Of(|u| text(u.vehicle.vin.as_ref()))),
    ("condition", DemoCell::Of(|u| either(is_new(&u.vehicle), "new", "used"))),
    ("certified_pre-owned", DemoCell::Of(|u| either(is_certified(&u.vehicle), "yes", "no"))),
    // In a feed of several stores, the code identifies a rooftop by one of its `feed_names`.
    ("store_code", DemoCell::Of(|u| text(u.vehicle.rooftop.as_ref()))),
    (
        "vehicle_fulfillment",
        DemoCell::Of(|u| format!("in_store:{}", text(u.vehicle.rooftop.as_ref()))),
    ),
    ("brand", DemoCell::Of(|u| text(u.vehicle.make.as_ref()))),
    ("model", DemoCell::Of(|u| text(u.vehicle.model.as_ref()))),
    ("trim", DemoCell::Of(|u| text(u.vehicle.trim.as_ref()))),
    ("year", DemoCell::Of(|u| shown(u.vehicle.year))),
    ("color", DemoCell::Of(|u| text(u.vehicle.exterior_color.as_ref()))),
    ("mileage", DemoCell::Of(miles)),
    ("body_style", DemoCell::Of(|u| text(u.vehicle.body.as_ref()))),
    ("engine", DemoCell::Of(fuel)),
    ("vehicle_option", DemoCell::Of(|u| u.vehicle.features.join(","))),
    ("price", DemoCell::Of(|u| dollars(u.vehicle.list_price))),
    ("vehicle_msrp", DemoCell::Of(|u| dollars(u.vehicle.msrp))),
    ("vehicle_all_in_price", DemoCell::Of(|u| dollars(u.vehicle.price))),
    ("image_link", DemoCell::Photo(0)),
    ("additional_image_link", DemoCell::Of(more_photos)),
    ("link", DemoCell::Of(|u| text(u.vehicle.vdp_url.as_ref()))),
    (
        "link_template",
        DemoCell::Of(|u| format!("{}?store={{store_code}}", text(u.vehicle.vdp_url.as_ref()))),
    ),
];

const META: &[DemoColumn] = &[
    ("vehicle_id", DemoCell::Of(|u| text(u.vehicle.vehicle_id.as_ref()))),
    ("title", DemoCell::Of(|u| u.vehicle.title())),
    ("description", DemoCell::Of(|u| text(u.vehicle.description.as_ref()))),
    ("url", DemoCell::Of(|u| text(u.vehicle.vdp_url.as_ref()))),
    ("make", DemoCell::Of(|u| text(u.vehicle.make.as_ref()))),
    ("model", DemoCell::Of(|u| text(u.vehicle.model.as_ref()))),
    ("year", DemoCell::Of(|u| shown(u.vehicle.year))),
    ("trim", DemoCell::Of(|u| text(u.vehicle.trim.as_ref()))),
    ("mileage.value", DemoCell::Of(|u| shown(u.vehicle.mileage))),
    ("mileage.unit", DemoCell::Of(|_| "MI".to_owned())),
    ("image[0].url", DemoCell::Photo(0)),
    ("image[0].tag[0]", DemoCell::Of(|_| "Exterior".to_owned())),
    ("image[1].url", DemoCell::Photo(1)),
    ("image[2].url", DemoCell::Photo(2)),
    ("image[3].url", DemoCell::Photo(3)),
    ("image[4].url", DemoCell::Photo(4)),
    ("image[5].url", DemoCell::Photo(5)),
    ("image[6].url", DemoCell::Photo(6)),
    ("image[7].url", DemoCell::Photo(7)),
    ("transmission", DemoCell::Of(|u| upper(u.vehicle.transmission.as_ref()))),
    ("fuel_type", DemoCell::Of(fuel)),
    ("body_style", DemoCell::Of(|u| upper(u.vehicle.body.as_ref()))),
    ("drivetrain", DemoCell::Of(|u| upper(u.vehicle.driveline.as_ref()))),
    ("vin", DemoCell::Of(|u| text(u.vehicle.vin.as_ref()))),
    ("stock_number", DemoCell::Of(|u| text(u.vehicle.stock.as_ref()))),
    ("condition", DemoCell::Of(|_| "EXCELLENT".to_owned())),
    ("price", DemoCell::Of(|u| dollars(u.vehicle.list_price))),
    ("exterior_color", DemoCell::Of(|u| text(u.vehicle.exterior_color.as_ref()))),
    ("interior_color", DemoCell::Of(|u| text(u.vehicle.interior_color.as_ref()))),
    ("availability", DemoCell::Of(availability)),
    ("date_first_on_lot", DemoCell::Of(|u| text(u.vehicle.inventory_date.as_ref()))),
    (
        "state_of_vehicle",
        DemoCell::Of(|u| {
            u.vehicle.condition.map(|c| c.to_string().to_uppercase()).unwrap_or_default()
        }),
    ),
    ("dealer_name", DemoCell::Of(|u| text(u.vehicle.rooftop.as_ref()))),
    (
        "address",
        DemoCell::Of(|_| {
            "{addr1: '1 Main Street', city: 'Fairview', region: 'CA', postal_code: '94000', country: 'US'}".to_owned()
        }),
    ),
];

const AUTOTRADER: &[DemoColumn] = &[
    // AutoTrader's own id, which a rooftop lists in its `feed_names`.
    ("DealerId", DemoCell::Of(|u| text(u.vehicle.rooftop.as_ref()))),
    ("StockNumber", DemoCell::Of(|u| text(u.vehicle.stock.as_ref()))),
    ("Year", DemoCell::Of(|u| shown(u.vehicle.year))),
    ("Make", DemoCell::Of(|u| text(u.vehicle.make.as_ref()))),
    ("Model", DemoCell::Of(|u| text(u.vehicle.model.as_ref()))),
    ("Trim", DemoCell::Of(|u| text(u.vehicle.trim.as_ref()))),
    ("VIN", DemoCell::Of(|u| text(u.vehicle.vin.as_ref()))),
    ("Mileage", DemoCell::Of(|u| shown(u.vehicle.mileage))),
    ("Price", DemoCell::Of(|u| shown(u.vehicle.list_price))),
    ("ExteriorColor", DemoCell::Of(|u| text(u.vehicle.exterior_color.as_ref()))),
    ("InteriorColor", DemoCell::Of(|u| text(u.vehicle.interior_color.as_ref()))),
    ("Transmission", DemoCell::Of(|u| text(u.vehicle.transmission.as_ref()))),
    ("PhysicalImages", DemoCell::Nothing),
    ("Descriptions", DemoCell::Of(|u| text(u.vehicle.description.as_ref()))),
    ("BodyType", DemoCell::Of(|u| text(u.vehicle.body.as_ref()))),
    ("EngineType", DemoCell::Of(|u| text(u.vehicle.engine.as_ref()))),
    ("DriveType", DemoCell::Of(|u| upper(u.vehicle.driveline.as_ref()))),
    ("FuelType", DemoCell::Of(|u| text(u.vehicle.fuel.as_ref()))),
    ("Options", DemoCell::Of(|u| u.vehicle.features.join(","))),
    ("ImageURL", DemoCell::Of(|u| u.vehicle.photos.join(","))),
    ("VideoURL", DemoCell::Nothing),
    ("VideoSource", DemoCell::Nothing),
    ("NewUsed", DemoCell::Of(|u| either(is_new(&u.vehicle), "New", "Used"))),
    ("Certified", DemoCell::Of(|u| either(is_certified(&u.vehicle), "Yes", "No"))),
    ("MSRP", DemoCell::Of(|u| shown(u.vehicle.msrp))),
];

fn more_photos(listing: &FeedListing) -> String {
    listing.vehicle.photos.iter().skip(1).map(String::as_str).collect::<Vec<_>>().join(",")
}

fn miles(listing: &FeedListing) -> String {
    listing
        .vehicle
        .mileage
        .map(|miles| format!("{} miles", super::with_commas(miles)))
        .unwrap_or_default()
}

fn fuel_in_words(listing: &FeedListing) -> String {
    match listing.vehicle.fuel.as_deref() {
        Some("gas") => "Gasoline Fuel",
        Some("diesel") => "Diesel Fuel",
        Some("hybrid") => "Gas/Electric Hybrid",
        Some("phev") => "Plug-In Hybrid",
        Some("bev") => "Electric Fuel System",
        other => other.unwrap_or_default(),
    }
    .to_owned()
}

fn body_in_words(listing: &FeedListing) -> String {
    match listing.vehicle.body.as_deref() {
        Some("suv") => "Sport Utility",
        Some("sedan") => "4dr Car",
        Some("coupe") => "2dr Car",
        Some("truck") => "Crew Cab Pickup",
        Some("minivan") => "Mini-van, Passenger",
        other => other.unwrap_or_default(),
    }
    .to_owned()
}

fn fuel(listing: &FeedListing) -> String {
    match listing.vehicle.fuel.as_deref() {
        Some("gas") => "GASOLINE",
        Some("bev") => "ELECTRIC",
        Some("phev") => "PLUGIN_HYBRID",
        Some(other) => return other.to_uppercase(),
        None => "",
    }
    .to_owned()
}

fn status(listing: &FeedListing) -> String {
    match (listing.sold, listing.vehicle.status) {
        (true, _) => "Sold",
        (false, Some(ListingStatus::Available) | None) => "In Stock",
        (false, Some(ListingStatus::InTransit)) => "In Transit",
        (false, Some(ListingStatus::Pending)) => "Sale Pending",
    }
    .to_owned()
}

fn availability(listing: &FeedListing) -> String {
    match listing.vehicle.status {
        Some(ListingStatus::Available) | None => "AVAILABLE",
        Some(ListingStatus::InTransit) => "IN_TRANSIT",
        Some(ListingStatus::Pending) => "PENDING",
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
