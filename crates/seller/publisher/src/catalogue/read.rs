//! Parser of catalogues: one JSON document, in which every mistake is found at once. Messages are for the
//! author of the file.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::DeserializeOwned;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::typed;

use super::{
    AdServerTerms, CHANNELS, Catalogue, CreativeFormat, DayOfWeek, DealTerms, FormatId, MAX_UNITS,
    Offering, PoolCapacity, PricingOption, Product, ProductCapacity, ProductPrice, ProductTerms,
    Signal, maps, text,
};
use crate::ad_server::{DealAuction, LineItemPricing};
use crate::money::MoneyAmount;

/// A mistake in a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueMistake {
    /// A JSON Pointer into the document.
    pub pointer: String,
    /// Description of the mistake, and of what would be right.
    pub message: String,
}

impl fmt::Display for CatalogueMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.message)
    }
}

/// Members that a document may have.
const MEMBERS: &[&str] = &[
    "agent_url",
    "portfolio",
    "inventory",
    "proposals",
    "policies",
    "products",
    "formats",
    "signals",
    "offerings",
    "creatives",
    "audiences",
    "targeting",
];

/// The pricing models of `enums/pricing-model.json`.
const MODELS: [&str; 9] = ["cpm", "vcpm", "cpc", "cpcv", "cpv", "cpp", "cpa", "flat_rate", "time"];

/// Members that `core/reporting-capabilities.json` requires.
const REPORTING: &[&str] = &[
    "available_reporting_frequencies",
    "expected_delay_minutes",
    "timezone",
    "supports_webhooks",
    "available_metrics",
    "date_range_support",
];

impl Catalogue {
    /// Reads a catalogue. Products, formats, signals and offerings are given as they are published; the terms
    /// of a product or a signal that only the publisher knows are its member `terms`. A format id without
    /// `agent_url` refers to a format of this catalogue.
    ///
    /// # Errors
    /// Every mistake, in the order of the document's parts.
    pub fn parse(document: &str) -> Result<Self, Vec<CatalogueMistake>> {
        let mut reader = CatalogueReader::default();
        let catalogue = reader.catalogue(document);
        if reader.0.is_empty() { Ok(catalogue) } else { Err(reader.0) }
    }
}

#[derive(Default)]
struct CatalogueReader(Vec<CatalogueMistake>);

impl CatalogueReader {
    fn mistake(&mut self, pointer: &str, message: impl Into<String>) {
        self.0.push(CatalogueMistake { pointer: pointer.to_owned(), message: message.into() });
    }

    fn catalogue(&mut self, document: &str) -> Catalogue {
        let members = match json::read(document) {
            Ok(Value::Object(members)) => members,
            Ok(_) => {
                self.mistake("", "must be an object");
                return Catalogue::default();
            }
            Err(problems) => {
                for problem in problems {
                    self.mistake(&problem.pointer, problem.message);
                }
                return Catalogue::default();
            }
        };
        for name in members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
            let message = format!("is not known; known are {}", MEMBERS.join(", "));
            self.mistake(&format!("/{name}"), message);
        }
        let agent_url = self.text(&members, "agent_url", "").to_owned();
        let has = |scheme| agent_url.starts_with(scheme);
        if !agent_url.is_empty() && !has("https://") && !has("http://") {
            self.mistake("/agent_url", "must be an address that begins with https://");
        }
        let mut catalogue = Catalogue {
            portfolio: self.typed(&members, "portfolio", "").unwrap_or_default(),
            inventory: self.typed(&members, "inventory", "").unwrap_or_default(),
            proposals: self.typed(&members, "proposals", ""),
            policies: self.typed(&members, "policies", "").unwrap_or_default(),
            creatives: self.typed(&members, "creatives", "").unwrap_or_default(),
            audiences: self.typed(&members, "audiences", "").unwrap_or_default(),
            targeting: self.typed(&members, "targeting", "").unwrap_or_default(),
            agent_url,
            ..Catalogue::default()
        };
        for (index, policy) in catalogue.policies.iter().enumerate() {
            if policy.words.is_empty() || policy.words.iter().any(String::is_empty) {
                let pointer = format!("/policies/{index}/words");
                self.mistake(&pointer, "must have at least one word, and none that is empty");
            }
        }
        self.0.extend(catalogue.targeting.mistakes());
        // Before the products, which name formats.
        catalogue.formats = self.formats(&members, &catalogue.agent_url);
        catalogue.products = self.products(&members, &catalogue);
        catalogue.signals = self.signals(&members, &catalogue.agent_url);
        catalogue.offerings = self.offerings(&members);
        catalogue
    }

    fn formats(&mut self, members: &Map, agent: &str) -> Vec<CreativeFormat> {
        let mut formats: Vec<CreativeFormat> = Vec::new();
        for (at, mut format) in self.items(members, "formats", "") {
            self.text(&format, "name", &at);
            let pointer = format!("{at}/format_id");
            if let Some(id) = self.format_id(format.get("format_id"), &pointer, agent) {
                if formats.iter().any(|known| known.format_id.as_ref() == Some(&id)) {
                    self.mistake(&pointer, "is the id of another format too");
                }
                format.insert("format_id".to_owned(), id.given.into());
            }
            formats.extend(typed::read::<CreativeFormat>(format));
        }
        formats
    }

    /// Reads a format id, and fills in its agent.
    fn format_id(&mut self, id: Option<&Value>, at: &str, agent: &str) -> Option<FormatId> {
        let Some(Value::Object(id)) = id else {
            self.mistake(at, "must be an object with an id");
            return None;
        };
        let mut id = id.clone();
        if self.text(&id, "id", at).is_empty() {
            return None;
        }
        id.entry("agent_url").or_insert_with(|| agent.into());
        typed::read(id)
    }

    fn products(&mut self, members: &Map, catalogue: &Catalogue) -> Vec<Product> {
        let mut ids = BTreeSet::new();
        let mut products = Vec::new();
        let mut places = Vec::new();
        for (at, mut published) in self.items(members, "products", "") {
            let capacity = self.capacity(&mut published, &at);
            let terms = self.typed(&published, "terms", &at).unwrap_or_default();
            let terms = ProductTerms { capacity, ..terms };
            published.swap_remove("terms");
            self.id(&mut ids, &published, "product_id", &at, "product");
            self.text(&published, "name", &at);
            self.text(&published, "description", &at);
            self.one_of(&published, "delivery_type", &at, &["guaranteed", "non_guaranteed"]);
            if maps(published.get("publisher_properties")).next().is_none() {
                self.mistake(&at, "must have at least one of publisher_properties");
            }
            let channels = published.get("channels").and_then(Value::as_array);
            for (index, channel) in channels.into_iter().flatten().enumerate() {
                if CHANNELS.iter().all(|known| channel != *known) {
                    let message = format!("must be one of {}", CHANNELS.join(", "));
                    self.mistake(&format!("{at}/channels/{index}"), message);
                }
            }
            self.reporting(&published, &at);
            self.product_formats(&mut published, &at, catalogue);
            let listed = self.items(&published, "pricing_options", &at);
            self.prices(listed, &at);
            let product = Product::new(published, terms);
            self.at_ad_server(&product, &at);
            let place = at.clone();
            for (index, rate) in product.terms.rates.iter().enumerate() {
                let at = format!("{at}/terms/rates/{index}");
                let prices = rate.pricing_options.iter().enumerate();
                let place = |index| format!("{at}/pricing_options/{index}");
                let prices = prices.map(|(index, price)| (place(index), price.given.clone()));
                self.prices(prices.collect(), &at);
            }
            products.push(product);
            places.push(place);
        }
        let placed = products.iter().zip(&places);
        let placed = placed.map(|(product, pointer)| PlacedProduct { product, pointer });
        self.0.extend(capacity_mistakes(&placed.collect::<Vec<_>>()));
        products
    }

    /// Takes the capacity out of a product's terms, so that a mistake in it names its own place.
    fn capacity(&mut self, published: &mut Map, at: &str) -> Option<ProductCapacity> {
        let terms = published.get_mut("terms")?.as_object_mut()?;
        let mut given = Map::new();
        given.insert("capacity".to_owned(), terms.swap_remove("capacity")?);
        let at = format!("{at}/terms");
        let weekdays = given.get_mut("capacity").and_then(|capacity| capacity.get_mut("weekdays"));
        if let Some(weekdays) = weekdays.and_then(Value::as_object_mut) {
            let unknown = weekdays.keys().filter(|day| DayOfWeek::from_name(day).is_none());
            for day in unknown.cloned().collect::<Vec<_>>() {
                let message = format!("is no day; days are {}", DayOfWeek::NAMES.join(", "));
                self.mistake(&format!("{at}/capacity/weekdays/{day}"), message);
                weekdays.swap_remove(&day);
            }
        }
        self.typed(&given, "capacity", &at)
    }

    /// Checks what a product is at the ad server.
    fn at_ad_server(&mut self, product: &Product, at: &str) {
        let Some(terms) = &product.terms.ad_server else { return };
        if let Some(deal) = &terms.deal {
            self.as_deal(product, terms, deal, at);
            return;
        }
        if terms.inventory.is_empty() || terms.inventory.iter().any(String::is_empty) {
            let message =
                "must have at least one id of the ad server's inventory, and none that is empty";
            self.mistake(&format!("{at}/terms/ad_server/inventory"), message);
        }
        let rates = product.terms.rates.iter().flat_map(|rate| rate.pricing_options.iter());
        for price in product.prices().iter().chain(rates) {
            let model = price.pricing_model.as_deref().unwrap_or_default();
            if LineItemPricing::from_name(model).is_none() {
                let known: Vec<_> = LineItemPricing::ALL.iter().map(|known| known.name()).collect();
                let message = format!(
                    "names an ad server, whose line items have no price by {model}; they have {}",
                    known.join(", ")
                );
                self.mistake(&format!("{at}/terms/ad_server"), message);
                break;
            }
        }
    }

    /// Checks a product that is sold as a deal.
    fn as_deal(&mut self, product: &Product, terms: &AdServerTerms, deal: &DealTerms, at: &str) {
        if terms.inventory.iter().any(String::is_empty) {
            self.mistake(&format!("{at}/terms/ad_server/inventory"), "has an id that is empty");
        }
        if deal.seats.iter().any(|seat| seat.trim().is_empty()) {
            self.mistake(&format!("{at}/terms/ad_server/deal/seats"), "has a seat that is empty");
        }
        if product.is_guaranteed() {
            let message = "must be non_guaranteed: a deal promises no impressions";
            self.mistake(&format!("{at}/delivery_type"), message);
        }
        let rates = product.terms.rates.iter().flat_map(|rate| rate.pricing_options.iter());
        let prices: Vec<&PricingOption> = product.prices().iter().chain(rates).collect();
        let models = prices.iter().map(|price| price.pricing_model.as_deref().unwrap_or_default());
        if let Some(other) = { models }.find(|model| *model != LineItemPricing::Cpm.name()) {
            let message = format!("is for prices by cpm alone, and not by {other}");
            self.mistake(&format!("{at}/terms/ad_server/deal"), message);
        }
        let is_auctioned =
            |price: &PricingOption| matches!(price.price(), ProductPrice::Auction(_));
        if deal.auction == Some(DealAuction::FixedPrice) && prices.iter().copied().any(is_auctioned)
        {
            let message = "must not be fixed_price where a price of the product is a floor";
            self.mistake(&format!("{at}/terms/ad_server/deal/auction"), message);
        }
    }

    fn reporting(&mut self, published: &Map, at: &str) {
        let at = format!("{at}/reporting_capabilities");
        match published.get("reporting_capabilities").and_then(Value::as_object) {
            None => self.mistake(&at, "must be an object"),
            Some(reporting) => {
                let required = REPORTING.iter().copied();
                for name in required.filter(|name| !reporting.contains_key(*name)) {
                    self.mistake(&at, format!("lacks {name}"));
                }
            }
        }
    }

    fn product_formats(&mut self, published: &mut Map, at: &str, catalogue: &Catalogue) {
        let listed = published.get("format_ids").and_then(Value::as_array).cloned();
        let Some(listed) = listed.filter(|listed| !listed.is_empty()) else {
            if !published.contains_key("format_options") {
                self.mistake(at, "must have format_ids");
            }
            return;
        };
        let mut formats = Vec::new();
        for (index, id) in listed.iter().enumerate() {
            let at = format!("{at}/format_ids/{index}");
            let Some(id) = self.format_id(Some(id), &at, &catalogue.agent_url) else {
                continue;
            };
            // Formats of other agents are defined elsewhere and cannot be checked here.
            let ours = id.agent_url.as_ref() == Some(&catalogue.agent_url);
            if ours && !catalogue.formats.iter().any(|known| known.is(&id)) {
                self.mistake(&at, "is no format of this catalogue");
            }
            formats.push(Value::Object(id.given));
        }
        published.insert("format_ids".to_owned(), formats.into());
    }

    fn prices(&mut self, prices: Vec<(String, Map)>, at: &str) {
        let mut ids = BTreeSet::new();
        if prices.is_empty() {
            self.mistake(&format!("{at}/pricing_options"), "must have at least one price");
        }
        for (at, price) in prices {
            self.id(&mut ids, &price, "pricing_option_id", &at, "price");
            self.one_of(&price, "pricing_model", &at, &MODELS);
            let currency = text(&price, "currency");
            if currency.len() != 3 || !currency.chars().all(|letter| letter.is_ascii_uppercase()) {
                let message = "must be a currency in three capital letters (ISO 4217)";
                self.mistake(&format!("{at}/currency"), message);
            }
            for name in ["fixed_price", "floor_price", "min_spend_per_package"] {
                let amount = price
                    .get(name)
                    .map(|amount| amount.as_number().and_then(MoneyAmount::from_number));
                if amount.is_some_and(|read| read.is_none_or(|amount| amount < MoneyAmount::ZERO)) {
                    self.mistake(&format!("{at}/{name}"), "must be an amount that is not negative");
                }
            }
            if price.contains_key("fixed_price") && price.contains_key("floor_price") {
                let message =
                    "has fixed_price and floor_price; a price is fixed or found by bidding";
                self.mistake(&at, message);
            }
        }
    }

    fn signals(&mut self, members: &Map, agent: &str) -> Vec<Signal> {
        let mut handles = BTreeSet::new();
        let mut signals = Vec::new();
        for (at, mut published) in self.items(members, "signals", "") {
            let terms = self.typed(&published, "terms", &at).unwrap_or_default();
            published.swap_remove("terms");
            let handle = self.text(&published, "signal_agent_segment_id", &at).to_owned();
            self.text(&published, "name", &at);
            self.text(&published, "description", &at);
            self.one_of(&published, "signal_type", &at, &["marketplace", "custom", "owned"]);
            // Older clients know signals by this member.
            published
                .entry("signal_id")
                .or_insert_with(|| json!({"source": "agent", "agent_url": agent, "id": handle}));
            published.entry("signal_ref").or_insert_with(|| {
                json!({"scope": "signal_source", "signal_source_url": agent, "signal_id": handle})
            });
            if !handle.is_empty() && !handles.insert(handle) {
                let at = format!("{at}/signal_agent_segment_id");
                self.mistake(&at, "is the handle of another signal too");
            }
            let published = typed::read(published);
            signals.extend(published.map(|published| Signal { published, terms }));
        }
        signals
    }

    fn offerings(&mut self, members: &Map) -> Vec<Offering> {
        let mut ids = BTreeSet::new();
        let mut offerings = Vec::new();
        for (at, offering) in self.items(members, "offerings", "") {
            self.text(&offering, "name", &at);
            self.id(&mut ids, &offering, "offering_id", &at, "offering");
            offerings.extend(typed::read::<Offering>(offering));
        }
        offerings
    }

    /// Reads a member that must be a text with something in it.
    fn text<'a>(&mut self, members: &'a Map, name: &str, at: &str) -> &'a str {
        let text = text(members, name);
        if text.is_empty() {
            self.mistake(&format!("{at}/{name}"), "must be a text that is not empty");
        }
        text
    }

    /// Reads an id that must be unique.
    fn id(&mut self, ids: &mut BTreeSet<String>, members: &Map, name: &str, at: &str, what: &str) {
        let id = self.text(members, name, at);
        if !id.is_empty() && !ids.insert(id.to_owned()) {
            self.mistake(&format!("{at}/{name}"), format!("is the id of another {what} too"));
        }
    }

    fn one_of(&mut self, members: &Map, name: &str, at: &str, known: &[&str]) {
        if !known.contains(&text(members, name)) {
            self.mistake(&format!("{at}/{name}"), format!("must be one of {}", known.join(", ")));
        }
    }

    /// Reads a member into a type.
    fn typed<T: DeserializeOwned>(&mut self, members: &Map, name: &str, at: &str) -> Option<T> {
        match T::deserialize(members.get(name)?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.mistake(&format!("{at}/{name}"), error.to_string());
                None
            }
        }
    }

    /// Returns the objects of a list, with their JSON Pointers.
    fn items(&mut self, members: &Map, name: &str, at: &str) -> Vec<(String, Map)> {
        let listed = match members.get(name) {
            None => return Vec::new(),
            Some(Value::Array(listed)) => listed,
            Some(_) => {
                self.mistake(&format!("{at}/{name}"), "must be a list");
                return Vec::new();
            }
        };
        let listed = listed.iter().enumerate();
        let objects = listed.filter_map(|(index, item)| {
            let at = format!("{at}/{name}/{index}");
            let members = item.as_object();
            if members.is_none() {
                self.mistake(&at, "must be an object");
            }
            Some((at, members?.clone()))
        });
        objects.collect()
    }
}

/// Product of a catalogue and its JSON Pointer.
#[derive(Debug, Clone, Copy)]
struct PlacedProduct<'a> {
    /// The product.
    product: &'a Product,
    /// Its JSON Pointer.
    pointer: &'a str,
}

/// Returns the mistakes in the capacities of a catalogue's products.
fn capacity_mistakes(placed: &[PlacedProduct<'_>]) -> Vec<CatalogueMistake> {
    let declared = placed.iter().filter_map(|one| one.product.declared_capacity());
    let mut mistakes = Vec::new();
    for PlacedProduct { product, pointer } in placed {
        let Some(capacity) = &product.terms.capacity else { continue };
        let mut mistake = |member: &str, message: String| {
            let pointer = format!("{pointer}/terms/capacity{member}");
            mistakes.push(CatalogueMistake { pointer, message });
        };
        let is_name = |text: &String| {
            !text.is_empty() && text.len() <= 64 && !text.chars().any(char::is_control)
        };
        if capacity.pool.as_ref().is_some_and(|pool| !is_name(pool)) {
            mistake("/pool", "must be a name of 1 to 64 characters".to_owned());
        }
        if capacity.unit.as_ref().is_some_and(|unit| !is_metric(unit)) {
            let message = "must be the name of a metric such as impressions, plays or spots";
            mistake("/unit", message.to_owned());
        }
        for (member, units) in units_of(capacity) {
            if units > MAX_UNITS {
                mistake(&member, format!("must be at most {MAX_UNITS}"));
            }
        }
        if capacity.per_day.is_none() {
            let other = |name: &str| format!("is for the product of the pool that has {name}");
            for (member, is_there) in [
                ("/unit", capacity.unit.is_some()),
                ("/weekdays", !capacity.weekdays.is_empty()),
                ("/dates", !capacity.dates.is_empty()),
            ] {
                if is_there {
                    mistake(member, other("per_day"));
                }
            }
        }
        let pool = product.pool().unwrap_or_default();
        let Some(of_pool) = PoolCapacity::find(declared.clone(), pool) else {
            let message = match &capacity.pool {
                None => "must have per_day: the units on a day".to_owned(),
                Some(_) => {
                    "must have per_day, because no other product of the pool has it".to_owned()
                }
            };
            mistake("", message);
            continue;
        };
        if capacity.per_day.is_some() && !of_pool.says_the_same(capacity) {
            let message =
                "is not what another product of the pool says; name the capacity of a pool once";
            mistake("", message.to_owned());
        }
        if let Some(units) = capacity.units_per_day
            && units > of_pool.per_day()
        {
            mistake("/units_per_day", "is more than the pool has on a day".to_owned());
        }
        if let Some(price) = uncounted_price(product, of_pool.unit()) {
            let unit = of_pool.unit();
            let message =
                format!("must have units_per_day, because price {price} counts no {unit}");
            mistake("", message);
        }
    }
    mistakes
}

/// Returns true if a text can be the name of a metric.
fn is_metric(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    (1..=64).contains(&text.len()) && text.chars().all(plain)
}

/// Returns the numbers of a capacity with their places in it.
fn units_of(capacity: &ProductCapacity) -> Vec<(String, u64)> {
    let mut units = Vec::new();
    units.extend(capacity.per_day.map(|per_day| ("/per_day".to_owned(), per_day)));
    units.extend(capacity.units_per_day.map(|each| ("/units_per_day".to_owned(), each)));
    units.extend(capacity.weekdays.iter().map(|(day, units)| (format!("/weekdays/{day}"), *units)));
    units.extend(capacity.dates.iter().map(|(day, units)| (format!("/dates/{day}"), *units)));
    units
}

/// Returns the first price of which it is not known how many units a package takes. An exclusive product
/// needs no number, because nobody else gets its days.
fn uncounted_price<'p>(product: &'p Product, unit: &str) -> Option<&'p str> {
    let capacity = product.terms.capacity.as_ref()?;
    if capacity.units_per_day.is_some() || product.is_exclusive() {
        return None;
    }
    let rates = product.terms.rates.iter().flat_map(|rate| &rate.pricing_options);
    let mut prices = product.prices().iter().chain(rates);
    let uncounted = prices.find(|price| {
        let is_counted = price.counted_unit().is_some_and(|counted| counted.unit == unit);
        match price.price() {
            ProductPrice::Fixed(amount) => !is_counted || amount <= MoneyAmount::ZERO,
            ProductPrice::Auction(_) => capacity.auctions && !is_counted,
        }
    });
    uncounted.map(PricingOption::id)
}
