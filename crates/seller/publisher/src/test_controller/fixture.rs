//! Products, prices and formats that a sandbox stores beside the catalogue. Fixtures have only the members
//! that a test is about; others that a published product or format needs are filled in here.

use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::typed;

use crate::catalogue::{
    CHANNELS, Catalogue, CreativeFormat, PricingOption, Product, ProductPrice, ProductTerms, maps,
};
use crate::money::MoneyAmount;
use crate::profile::PublisherProfile;
use crate::reply::object;
use crate::store::{Entity, New, Stored};
use crate::task::finish::TaskFinisher;

/// Words for channels that test fixtures use and `enums/channels.json` does not have.
const LOOSE_CHANNELS: [(&str, &str); 4] =
    [("video", "olv"), ("audio", "streaming_audio"), ("native", "display"), ("tv", "linear_tv")];

impl Product {
    /// Creates a product of which only some members are given. Others that a published product needs are
    /// filled in, except prices: a product without prices is not on offer.
    #[must_use]
    pub fn from_partial(id: &str, partial: &Map, profile: &PublisherProfile) -> Self {
        let catalogue = &profile.catalogue;
        let name = title(id);
        let mut published = object([
            ("product_id", Some(id.into())),
            ("name", Some(json!(name))),
            ("description", Some(format!("{name}, for tests.").into())),
            ("publisher_properties", Some(json!([{}]))),
            ("delivery_type", Some("non_guaranteed".into())),
            ("pricing_options", Some(json!([]))),
            ("reporting_capabilities", Some(json!({}))),
        ]);
        let rest = partial.iter().filter(|(name, _)| *name != "product_id");
        published.extend(rest.map(|(name, value)| (name.clone(), value.clone())));
        if let Some(Value::Array(properties)) = published.get_mut("publisher_properties") {
            properties.iter_mut().for_each(|selector| selected(selector, &profile.domain));
        }
        if let Some(reported) = published.get_mut("reporting_capabilities") {
            complete(reported, reporting());
        }
        if let Some(Value::Array(channels)) = published.get_mut("channels") {
            *channels = channels.iter().filter_map(Value::as_str).filter_map(channel).collect();
        }
        let formats: Vec<_> = maps(published.get("format_ids")).cloned().collect();
        if !formats.is_empty() {
            let formats = formats.into_iter().map(|format| catalogue.addressed(format));
            published.insert("format_ids".to_owned(), formats.map(Value::Object).collect());
        } else if !published.contains_key("format_options") {
            published.insert("format_ids".to_owned(), json!([catalogue.any_format()]));
        }
        let prices: Vec<_> = maps(published.get("pricing_options")).cloned().collect();
        let prices = prices.into_iter().map(priced).map(Value::Object).collect();
        published.insert("pricing_options".to_owned(), prices);
        Self::new(published, ProductTerms::default())
    }
}

impl Catalogue {
    /// Adds the agent that defines it to a format id.
    fn addressed(&self, mut format: Map) -> Map {
        format.entry("agent_url").or_insert_with(|| self.agent_url.clone().into());
        format
    }

    fn any_format(&self) -> Value {
        let known = self.formats.first().and_then(|format| format.format_id.as_ref());
        known
            .map(|id| id.given.clone().into())
            .unwrap_or_else(|| json!({"agent_url": self.agent_url, "id": "display_300x250"}))
    }
}

/// Completes a price of which only some members are given. Auctions get a guidance: the floor and what is
/// usual above it.
fn priced(partial: Map) -> Map {
    let usual = [("pricing_option_id", "standard"), ("pricing_model", "cpm"), ("currency", "USD")];
    let mut price = object(usual.map(|(name, word)| (name, Some(word.into()))));
    price.extend(partial);
    let read: PricingOption = typed::read(price.clone()).unwrap_or_default();
    if let ProductPrice::Auction(Some(floor)) = read.price() {
        let guidance = json!({
            "p25": floor,
            "p50": floor.percent(MoneyAmount::whole(120)),
            "p75": floor.percent(MoneyAmount::whole(150)),
        });
        price.entry("price_guidance").or_insert(guidance);
    }
    price
}

/// Fills in which properties are meant, where a fixture says no more than whose they are.
fn selected(selector: &mut Value, domain: &str) {
    let names = |member| selector.get(member).is_some();
    let kind = match () {
        () if names("property_ids") => "by_id",
        () if names("property_tags") => "by_tag",
        () => "all",
    };
    complete(selector, json!({"publisher_domain": domain, "selection_type": kind}));
}

/// Fills in the members that an object lacks.
fn complete(partial: &mut Value, whole: Value) {
    if let Value::Object(partial) = partial
        && let Value::Object(whole) = whole
    {
        for (name, value) in whole {
            partial.entry(name).or_insert(value);
        }
    }
}

fn channel(word: &str) -> Option<Value> {
    let known = CHANNELS.iter().copied().find(|channel| *channel == word);
    let loose = LOOSE_CHANNELS.iter().find(|(loose, _)| *loose == word);
    known.or(loose.map(|(_, channel)| *channel)).map(Value::from)
}

fn reporting() -> Value {
    json!({
        "available_reporting_frequencies": ["daily"],
        "expected_delay_minutes": 60,
        "timezone": "UTC",
        "supports_webhooks": false,
        "available_metrics": ["impressions", "spend", "clicks"],
        "date_range_support": "date_range",
    })
}

/// Makes a name of an id: `sports_display-auction` is "Sports display auction".
fn title(id: &str) -> String {
    let spaced = id.replace(['_', '-'], " ");
    let mut letters = spaced.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => spaced,
    }
}

impl TaskFinisher<'_> {
    /// Completes a product and stores it beside the catalogue, along with unknown formats that it names.
    /// Stored again, it keeps the prices that it has, unless others are given.
    ///
    /// # Errors
    /// When the store fails.
    pub fn seed_product(&self, id: &str, partial: &Map) -> Result<(), InternalError> {
        let mut product = Product::from_partial(id, partial, &self.publisher.profile);
        // Stored once more without prices, it keeps those that it has.
        if !partial.contains_key("pricing_options")
            && let Some(known) = self.publisher.product(self.tx, id)?
        {
            product = product.at(&known.prices().iter().collect::<Vec<_>>());
        }
        // Creatives for the product need its formats, which a test may not have stored.
        for format in product.formats() {
            if self.publisher.format(self.tx, format)?.is_none() {
                let partial =
                    Map::from_iter([("format_id".to_owned(), format.given.clone().into())]);
                self.seed_format(format.id.as_deref().unwrap_or_default(), &partial)?;
            }
        }
        self.store(id, product)
    }

    /// Adds a price to a product, in place of the one with its id. Returns false if there is no such product.
    ///
    /// # Errors
    /// When the store fails.
    pub fn seed_price(
        &self,
        product: &str,
        option: &str,
        partial: &Map,
    ) -> Result<bool, InternalError> {
        let Some(known) = self.publisher.product(self.tx, product)? else {
            return Ok(false);
        };
        let mut price = partial.clone();
        price.insert("pricing_option_id".to_owned(), option.into());
        let price: PricingOption = typed::read(priced(price)).unwrap_or_default();
        let mut prices: Vec<_> = known.prices().iter().collect();
        match prices.iter_mut().find(|known| known.id() == option) {
            Some(known) => *known = &price,
            None => prices.push(&price),
        }
        let prices: Value = prices.into_iter().map(|price| price.given.clone()).collect();
        self.store(product, known.with("pricing_options", prices))?;
        Ok(true)
    }

    /// Completes a creative format and stores it beside the catalogue.
    ///
    /// # Errors
    /// When the store fails.
    pub fn seed_format(&self, id: &str, partial: &Map) -> Result<(), InternalError> {
        let given = partial.get("format_id").and_then(Value::as_object).cloned();
        let catalogue = &self.publisher.profile.catalogue;
        let mut format_id = catalogue.addressed(given.unwrap_or_default());
        format_id.insert("id".to_owned(), id.into());
        let named = [("format_id", Some(format_id.into())), ("name", Some(title(id).into()))];
        let mut format = object(named);
        let rest = partial.iter().filter(|(name, _)| *name != "format_id");
        format.extend(rest.map(|(name, value)| (name.clone(), value.clone())));
        let unread =
            || InternalError::new("putting a format there", "it is not in the form that it has");
        self.store(id, typed::read::<CreativeFormat>(format).ok_or_else(unread)?)
    }

    /// Stores an entity of the publisher, in place of the one with its id.
    fn store<T: Entity>(&self, id: &str, thing: T) -> Result<(), InternalError> {
        let tx = self.tx;
        let now = self.now;
        match tx.find::<T>(id)? {
            None => tx.add(New { id, owner: "", account: None, state: "", now }, &thing),
            Some(Stored { record, .. }) => tx.change(&mut Stored { thing, record }, now),
        }
    }
}
