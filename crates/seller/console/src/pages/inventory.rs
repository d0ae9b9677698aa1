//! Page of the listings, with a buyer's search and with warnings.

use askama::Template;
use tradepost_aap::inventory::{Filters, Search};
use tradepost_aap::{RawJson, ReplyData, VehicleQuery};
use tradepost_dealer::inventory::{CurrentYear, VehicleLookup};
use tradepost_dealer::settings::SearchPolicy;
use tradepost_dealer::skills;
use tradepost_document::json::Value;
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_server::fault::InternalError;

use super::super::listing_warnings::{ListingWarning, Summary};
use super::super::reply::origin;
use super::{Answer, Console, ConsoleReply, PageFrame, Visitor, counted, link, plain, thousands};

/// Context of an internal error.
const CONTEXT: &str = "reading an inventory";

/// Number of listings on a page.
const PAGE_SIZE: u32 = 24;

#[derive(Debug, Template)]
#[template(path = "inventory.html")]
struct InventoryPage {
    frame: PageFrame,
    dealers: Vec<FilterChoice>,
    dealer: String,
    query: String,
    amiss: &'static str,
    said: Option<String>,
    total: String,
    figures: Vec<InventoryFigure>,
    cars: Vec<InventoryCar>,
    earlier: Option<String>,
    later: Option<String>,
    is_empty: bool,
}

#[derive(Debug)]
struct FilterChoice {
    href: String,
    name: String,
    is_here: bool,
}

/// A number at the top, with a link to what it counts.
#[derive(Debug)]
struct InventoryFigure {
    number: String,
    label: &'static str,
    href: String,
}

/// A vehicle as a card.
#[derive(Debug)]
pub(super) struct InventoryCar {
    pub(super) title: String,
    /// Page with the answer about it; `None` for a vehicle without an id.
    pub(super) href: Option<String>,
    pub(super) photo: Option<String>,
    pub(super) price: Option<String>,
    pub(super) list_price: Option<String>,
    pub(super) facts: String,
    pub(super) rooftop: String,
    pub(super) status: String,
    pub(super) warnings: Vec<&'static str>,
}

/// Filter of the page.
struct WantedListings<'a> {
    query: Option<&'a str>,
    amiss: Option<bool>,
    skip: u32,
    /// Year from which ages in the query are counted back.
    this_year: CurrentYear,
}

/// Listings that match the filter of the page.
struct MatchingListings {
    /// Number of all of them.
    total: usize,
    /// Those of this page.
    shown: Vec<RawJson>,
    /// Message that a buyer's agent would get.
    said: Option<String>,
}

impl Console {
    pub(crate) fn inventory(&self, visitor: &Visitor<'_>) -> Answer {
        let seller = &*self.dealer(visitor, visitor.asked.asked_for("dealer"))?;
        let summary = self.offers.summary(&self.store, &seller.dealer.terms)?;
        let wanted = WantedListings {
            query: visitor.asked.asked_for("q"),
            amiss: visitor.asked.asked_for("amiss").map(|what| what == "price"),
            skip: visitor.asked.asked_for("skip").and_then(|skip| skip.parse().ok()).unwrap_or(0),
            this_year: CurrentYear::from_timestamp(self.clock.now()),
        };
        let found = find(seller, &summary, &wanted)?;
        let dealer_id = &seller.dealer.terms.id;
        let cars = found.shown.iter().map(|raw| car(raw, &summary, dealer_id));
        let cars: Vec<InventoryCar> = cars.collect();
        let photos: Vec<_> = cars.iter().filter_map(|car| car.photo.clone()).collect();
        let later = wanted.skip.saturating_add(PAGE_SIZE);
        let choice = |other: &std::sync::Arc<DealerAgent>| FilterChoice {
            href: link_to(other, None),
            name: other.dealer.terms.name.clone(),
            is_here: other.dealer.terms.id == seller.dealer.terms.id,
        };
        let page = InventoryPage {
            frame: self.frame(visitor, "Inventory")?,
            dealers: self.dealers(visitor).iter().map(choice).collect(),
            dealer: seller.dealer.terms.id.clone(),
            query: wanted.query.unwrap_or_default().to_owned(),
            amiss: wanted.amiss.map(amiss).unwrap_or_default(),
            said: found.said,
            total: counted(found.total, "vehicle", "vehicles"),
            figures: figures(seller, &summary),
            earlier: (wanted.skip > 0)
                .then(|| address(seller, &wanted, wanted.skip.saturating_sub(PAGE_SIZE))),
            later: (later as usize).lt(&found.total).then(|| address(seller, &wanted, later)),
            is_empty: summary.listings == 0,
            cars,
        };
        Ok(ConsoleReply::page(&page).with_photos(photos.iter().map(String::as_str)))
    }
}

/// Finds the listings that match a filter.
fn find(
    seller: &DealerAgent,
    summary: &Summary,
    wanted: &WantedListings<'_>,
) -> Result<MatchingListings, InternalError> {
    let inventory = seller.inventory.load()?;
    if let Some(only_prices) = wanted.amiss {
        let is_meant =
            |all: &Vec<ListingWarning>| all.iter().any(|one| !only_prices || one.is_price());
        let mut ids: Vec<_> = summary
            .warnings_by_vehicle
            .iter()
            .filter(|(_, all)| is_meant(all))
            .map(|(id, _)| id)
            .collect();
        ids.sort_unstable();
        // At this time every removed unit is forgotten, so only listings are found.
        let oldest = jiff::Timestamp::MAX;
        let listed = |id: &&String| {
            let query = VehicleQuery { vehicle_id: Some((*id).clone()), ..VehicleQuery::default() };
            match inventory.find(&query, oldest).map_err(InternalError::on(CONTEXT)) {
                Ok(VehicleLookup::Listed(found)) => Some(Ok(found.json)),
                Ok(VehicleLookup::Gone(_) | VehicleLookup::Unknown) => None,
                Err(fault) => Some(Err(fault)),
            }
        };
        let page = ids.iter().skip(wanted.skip as usize).take(PAGE_SIZE as usize);
        let shown = page.filter_map(listed).collect::<Result<_, InternalError>>()?;
        return Ok(MatchingListings { total: ids.len(), shown, said: None });
    }
    let filters = Filters { query: wanted.query.map(str::to_owned), ..Filters::default() };
    let search = Search { filters, skip: wanted.skip, limit: Some(PAGE_SIZE), sort: None };
    let policy = SearchPolicy { default_limit: PAGE_SIZE, max_limit: PAGE_SIZE };
    let reply = skills::search(&inventory, &search, policy, wanted.this_year)
        .map_err(InternalError::on(CONTEXT))?;
    // A search has no other kind of reply.
    let ReplyData::Page(page) = reply.data else {
        return Ok(MatchingListings { total: 0, shown: Vec::new(), said: None });
    };
    let shown = page.vehicles.iter().map(|vehicle| vehicle.json().clone()).collect();
    let said = reply.message.filter(|_| wanted.query.is_some());
    Ok(MatchingListings { total: page.total, shown, said })
}

fn address(seller: &DealerAgent, wanted: &WantedListings<'_>, skip: u32) -> String {
    let dealer = Some(seller.dealer.terms.id.as_str());
    let amiss = wanted.amiss.map(amiss);
    let skip = skip.to_string();
    let query = [("dealer", dealer), ("q", wanted.query), ("amiss", amiss), ("skip", Some(&skip))];
    link("inventory", query)
}

/// Returns the name of a filter in URLs: price warnings only, or any warning.
const fn amiss(only_prices: bool) -> &'static str {
    if only_prices { "price" } else { "any" }
}

/// Returns the numbers at the top.
fn figures(seller: &DealerAgent, summary: &Summary) -> Vec<InventoryFigure> {
    let figure = |count: usize, label, only_prices| InventoryFigure {
        number: thousands(count as u64),
        label,
        href: link_to(seller, only_prices),
    };
    vec![
        figure(summary.listings, "on offer", None),
        figure(summary.count(|one| one.is_price()), "with a price warning", Some(true)),
        figure(summary.count(|_| true), "with any warning", Some(false)),
    ]
}

/// Returns the link to a dealer's listings, with a filter.
fn link_to(seller: &DealerAgent, only_prices: Option<bool>) -> String {
    let dealer = Some(seller.dealer.terms.id.as_str());
    link("inventory", [("dealer", dealer), ("amiss", only_prices.map(amiss))])
}

/// Returns a vehicle of a dealer as a card, with its warnings.
pub(super) fn car(raw: &RawJson, summary: &Summary, dealer_id: &str) -> InventoryCar {
    let json: Value = tradepost_document::json::from_str(raw.as_json()).unwrap_or_default();
    let text = |name: &str| json.get(name).and_then(Value::as_str);
    let number = |name: &str| json.get(name).and_then(Value::as_u64);
    let amount = |name: &str| number(name).map(|number| format!("${}", thousands(number)));
    let title = [
        number("year").map(|year| year.to_string()),
        text("make").map(str::to_owned),
        text("model").map(str::to_owned),
        text("trim").map(str::to_owned),
    ];
    let photos = json.get("photos").and_then(Value::as_array).into_iter().flatten();
    // A page allows photos by origin, so one without an origin cannot be shown.
    let mut photos = photos.filter_map(Value::as_str).filter(|photo| origin(photo).is_some());
    let facts = [
        text("condition").map(plain),
        number("mileage").map(|miles| format!("{} mi", thousands(miles))),
        text("exterior_color").map(str::to_owned),
        text("stock").map(|stock| format!("stock {stock}")),
    ];
    let join = |parts: &[Option<String>], between: &str| {
        parts.iter().flatten().cloned().collect::<Vec<_>>().join(between)
    };
    let warnings = text("vehicle_id").and_then(|id| summary.warnings_by_vehicle.get(id));
    let page =
        |id| link("inventory/vehicle", [("dealer", Some(dealer_id)), ("vehicle_id", Some(id))]);
    InventoryCar {
        title: join(&title, " "),
        href: text("vehicle_id").map(page),
        photo: photos.next().map(str::to_owned),
        price: amount("price"),
        list_price: amount("list_price"),
        facts: join(&facts, " · "),
        rooftop: text("rooftop").unwrap_or_default().to_owned(),
        status: plain(text("status").unwrap_or_default()),
        warnings: warnings.into_iter().flatten().map(|one| one.summary()).collect(),
    }
}
