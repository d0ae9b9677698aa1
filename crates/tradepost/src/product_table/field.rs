//! Fields of a product that a column can hold, and the headings by which they are recognised.

use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_runtime::text_table::normalised;

use super::words;

catalog! {
    /// Field of a product that a column can hold.
    pub enum ProductField {
        /// Headings by which it is recognised, beside its name: small letters and digits, with single spaces.
        headings: &'static [&'static str],
        /// Cell of a product that is sold by auction, in the template.
        auction: &'static str,
        /// Cell of a product with a fixed price, in the template.
        fixed: &'static str,
    }
    /// Id in requests and reports; made from the name when no column has it.
    Id = "product_id" {
        headings: &["id", "product code", "code", "sku", "placement id", "package id", "line item code"],
        auction: "news_display", fixed: "sports_video",
    }
    /// Name for people.
    Name = "name" {
        headings: &["product", "product name", "title", "package", "package name", "placement name"],
        auction: "News display", fixed: "Sports video, guaranteed",
    }
    /// What it is, in a sentence or two. Briefs of buyers find it by these words.
    Description = "description" {
        headings: &["desc", "details", "product description", "about"],
        auction: "Banners on every page of the news sections, sold by auction.",
        fixed: "Video before the films of the sports section at a fixed price.",
    }
    /// Creative formats, separated by semicolons: 300x250; video 30s; audio 15s; native.
    Formats = "formats" {
        headings: &[
            "format", "sizes", "size", "ad size", "ad sizes", "creative size", "creative sizes", "creative format",
            "creative formats", "dimensions", "ad format", "ad formats",
        ],
        auction: "300x250; 728x90", fixed: "video 15s; video 30s",
    }
    /// Part of the media: a tag such as sports, another domain, or domain:tag; the whole domain when empty.
    Property = "property" {
        headings: &[
            "properties", "section", "sections", "site", "site section", "placement", "placements", "tag", "tags",
            "property tags", "property tag", "position",
        ],
        auction: "news", fixed: "sports",
    }
    /// Channel of AdCP, such as display, olv, ctv, podcast, email, print; found by the formats when empty.
    Channel = "channel" {
        headings: &["channels", "media", "media type", "medium", "media channel", "inventory type"],
        auction: "display", fixed: "olv",
    }
    /// guaranteed or non_guaranteed; by the price when empty: guaranteed for a rate, not for a floor.
    Delivery = "delivery_type" {
        headings: &[
            "delivery", "guaranteed", "deal type", "buying type", "booking type", "sales type", "transaction type",
        ],
        auction: "non_guaranteed", fixed: "guaranteed",
    }
    /// cpm, vcpm, cpc, cpcv or flat_rate. A heading such as CPM says it for its whole column.
    Model = "pricing_model" {
        headings: &[
            "pricing", "rate type", "cost type", "cost model", "cost method", "price type", "price model", "pricing type",
            "buy type", "unit of sale",
        ],
        auction: "cpm", fixed: "cpm",
    }
    /// Fixed price.
    Rate = "rate" {
        headings: &[
            "price", "fixed price", "rate card", "rate card price", "unit price", "cost", "net rate", "fixed rate",
            "list price", "net price",
        ],
        auction: "", fixed: "24.00",
    }
    /// Minimum bid of an auction.
    Floor = "floor" {
        headings: &["floor price", "bid floor", "minimum bid", "min bid", "floor rate", "minimum price", "min price"],
        auction: "2.50", fixed: "",
    }
    /// Currency of the price, in three letters.
    Currency = "currency" { headings: &["ccy", "currency code"], auction: "USD", fixed: "USD" }
    /// Minimum cost of a booking.
    MinimumSpend = "minimum_spend" {
        headings: &[
            "min spend", "minimum budget", "min budget", "minimum order", "minimum booking", "min booking", "minimum",
            "min order value",
        ],
        auction: "", fixed: "2500",
    }
    /// Impressions that there are on each day; nobody can book more.
    PerDay = "impressions_per_day" {
        headings: &[
            "daily impressions", "impressions day", "imps per day", "imps day", "impressions a day", "daily capacity",
            "capacity", "daily avails", "avg daily impressions", "capacity per day",
        ],
        auction: "", fixed: "200000",
    }
    /// Impressions that there are in all, as a forecast for buyers. Nothing is counted against them.
    Available = "available_impressions" {
        headings: &[
            "avails", "available", "forecast", "impressions", "monthly impressions", "est impressions",
            "estimated impressions", "forecast impressions",
        ],
        auction: "12000000", fixed: "",
    }
    /// Countries in which it can run, in two letters each; all when empty.
    Countries = "countries" {
        headings: &["country", "geo", "geos", "market", "markets", "territory", "territories", "geography"],
        auction: "", fixed: "US; CA",
    }
    /// Further words by which briefs find it.
    Keywords = "keywords" {
        headings: &["keyword", "search words", "topics", "themes"],
        auction: "banner; lifestyle", fixed: "preroll; instream",
    }
    /// yes when each booking has to be approved by a person.
    Approval = "approval" {
        headings: &["needs approval", "approve", "requires approval", "approval required", "manual approval"],
        auction: "no", fixed: "no",
    }
    /// yes when a booking gets all of it and shuts out others on its days.
    Exclusive = "exclusive" {
        headings: &["exclusivity", "sponsorship", "share of voice 100", "sole advertiser"],
        auction: "no", fixed: "no",
    }
    /// yes when nothing is left.
    SoldOut = "sold_out" { headings: &["soldout", "unavailable"], auction: "no", fixed: "no" }
    /// Last day of the offer, such as 2027-12-31, or a time in RFC 3339.
    ExpiresAt = "expires_at" {
        headings: &["expires", "expiry", "available until", "valid until", "offer ends", "valid to"],
        auction: "", fixed: "",
    }
    /// Id of the price, where it matters; made from the pricing model when empty.
    PriceId = "price_id" {
        headings: &["pricing option id", "pricing option", "rate id", "price code", "rate code"],
        auction: "", fixed: "",
    }
    /// Ids of the inventory at the ad server, which bookings are carried into.
    AdServer = "ad_server_inventory" {
        headings: &[
            "ad server id", "ad server ids", "ad unit", "ad units", "ad unit id", "ad unit code", "zone", "zone id",
            "site id", "inventory id",
        ],
        auction: "", fixed: "",
    }
}

/// Meaning of a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeadingMeaning {
    /// Field of the column.
    pub(super) field: ProductField,
    /// Pricing model of the whole column, as in "CPM".
    pub(super) model: Option<&'static str>,
    /// Currency of the whole column, as in "Rate (EUR)".
    pub(super) currency: Option<String>,
}

/// Currencies that are recognised in a heading. Cells may have any.
const CURRENCIES: &[&str] = &[
    "usd", "eur", "gbp", "cad", "aud", "nzd", "chf", "jpy", "sek", "nok", "dkk", "pln", "czk",
    "inr", "brl", "mxn", "zar", "sgd", "hkd",
];

/// Words of a heading that do not change its meaning.
const FILLER_WORDS: &[&str] = &["in", "the", "net", "gross"];

/// Words of a heading that make a price of a model a minimum bid.
const FLOOR_WORDS: &[&str] = &["floor", "min", "minimum"];

/// Returns the meaning of a heading, if it is recognised.
pub(super) fn meaning(heading: &str) -> Option<HeadingMeaning> {
    let words = normalised(heading);
    if let Some(field) = by_heading(&words) {
        return Some(HeadingMeaning { field, model: None, currency: None });
    }
    let is_currency = |word: &&&str| CURRENCIES.contains(*word);
    let all: Vec<&str> = words.split(' ').collect();
    let currency = all.iter().rev().find(is_currency).map(|word| word.to_uppercase());
    let is_kept = |word: &&str| !CURRENCIES.contains(word) && !FILLER_WORDS.contains(word);
    let kept: Vec<&str> = all.into_iter().filter(is_kept).collect();
    if let Some(field) = by_heading(&kept.join(" ")) {
        return Some(HeadingMeaning { field, model: None, currency });
    }
    let is_floor = kept.iter().any(|word| FLOOR_WORDS.contains(word));
    let of_model: Vec<&str> = kept
        .into_iter()
        .filter(|word| !FLOOR_WORDS.contains(word) && !["rate", "price", "fixed"].contains(word))
        .collect();
    let model = words::pricing_model(&of_model.join(" "))?;
    let field = if is_floor { ProductField::Floor } else { ProductField::Rate };
    Some(HeadingMeaning { field, model: Some(model), currency })
}

fn by_heading(words: &str) -> Option<ProductField> {
    ProductField::ALL
        .iter()
        .copied()
        .find(|field| normalised(field.name()) == words || field.headings().contains(&words))
}

/// Returns a table with every column and two examples.
pub(super) fn template() -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let fields = ProductField::ALL.iter();
    let rows: [Vec<&str>; 3] = [
        fields.clone().map(|field| field.name()).collect(),
        fields.clone().map(|field| field.auction()).collect(),
        fields.map(|field| field.fixed()).collect(),
    ];
    for row in rows {
        // Writing to memory cannot fail, and all rows have the same length.
        let _ = writer.write_record(row);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
