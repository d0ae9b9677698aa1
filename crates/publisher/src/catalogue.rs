//! What the publisher has to sell: products with their prices, creative formats, signals and
//! sponsored offerings. The catalogue is read from a file when the publisher opens; a sandbox can
//! put more beside it.
//!
//! Whoever needs a product asks [`Publisher::product`](crate::publisher::Publisher::product) or
//! [`products`](crate::publisher::Publisher::products), which know both places.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::json::{Map, Value};

use crate::account::Account;
use crate::audience;
use crate::creative::policy::Policy as CreativePolicy;
use crate::money::Amount;
use crate::shelf::{Kind, Thing};

mod offer;
mod policy;
mod read;

pub use policy::Policy;
pub(crate) use policy::words;
pub use read::Mistake;

/// The channels of `enums/channels.json`.
pub(crate) const CHANNELS: [&str; 20] = [
    "display",
    "olv",
    "social",
    "search",
    "ctv",
    "linear_tv",
    "radio",
    "streaming_audio",
    "podcast",
    "dooh",
    "ooh",
    "print",
    "cinema",
    "email",
    "gaming",
    "retail_media",
    "influencer",
    "affiliate",
    "product_placement",
    "sponsored_intelligence",
];

/// What is sold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// The address of the agent that defines the formats and sells the signals (`agent_url`);
    /// empty when nobody has said it.
    pub agent_url: String,
    /// What the publisher says about itself (`media_buy.portfolio`).
    pub portfolio: Portfolio,
    /// How proposals are made; none are when `None`.
    pub proposals: Option<ProposalTerms>,
    /// What may not be advertised.
    pub policies: Vec<Policy>,
    /// The products; ids are unique.
    pub products: Vec<Product>,
    /// The creative formats (`core/format.json`), as they are published.
    pub formats: Vec<Map>,
    /// The signals; handles are unique.
    pub signals: Vec<Signal>,
    /// The sponsored offerings (`core/offering.json`), as they are published.
    pub offerings: Vec<Map>,
    /// What is demanded of creatives.
    pub creatives: CreativePolicy,
    /// On which terms audiences are taken.
    pub audiences: audience::Terms,
}

/// What the publisher says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Portfolio {
    /// In a few sentences.
    pub description: String,
    /// What may not be advertised, in a few sentences.
    pub advertising_policies: String,
    /// Countries where most of the audience is (ISO 3166-1 alpha-2).
    pub primary_countries: Vec<String>,
}

/// How proposals are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalTerms {
    /// For how many hours the prices of a draft are good.
    pub draft_hours: u32,
    /// For how many hours the inventory of a committed proposal is held.
    pub hold_hours: u32,
}

/// A product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Product {
    /// As it is published (`core/product.json`).
    pub published: Map,
    /// What only the publisher knows.
    #[serde(default)]
    pub terms: Terms,
}

/// What only the publisher knows of a product.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Terms {
    /// Whether nothing is left of it.
    pub sold_out: bool,
    /// When it leaves the offer.
    pub expires_at: Option<Timestamp>,
    /// Whether each buy of it has to be approved.
    pub approval: bool,
    /// After how many seconds the publisher approves by itself, if nothing speaks against it by then; a
    /// person does when `None`.
    pub approval_seconds: Option<u32>,
    /// Whether such an approval is always denied.
    pub declines: bool,
    /// Industries of advertisers that it is not sold to, with all that is below them (`alcohol`).
    pub refused_industries: Vec<String>,
    /// How many hours before a flight its creatives have to be there.
    pub creative_lead_hours: Option<u32>,
    /// The least that a package of it may cost, where its prices do not say.
    pub minimum_budget: Option<Amount>,
    /// Where it can run (ISO 3166-1 alpha-2); everywhere when empty.
    pub countries: Vec<String>,
    /// Words by which a brief finds it, besides those of its name and description.
    pub keywords: Vec<String>,
    /// Prices for some accounts, in place of the published ones; the first that fits holds.
    pub rates: Vec<Rate>,
}

/// Prices for some accounts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rate {
    /// The domain of who buys; anybody when `None`.
    pub operator: Option<String>,
    /// The domain of the brand; any when `None`.
    pub brand: Option<String>,
    /// The prices (`core/pricing-option.json`).
    pub pricing_options: Vec<Value>,
}

/// A signal.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// As it is published (a member of `signals` of `get_signals`), without its deployments.
    pub published: Map,
    /// What only the publisher knows.
    pub terms: SignalTerms,
}

/// What only the publisher knows of a signal.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignalTerms {
    /// The key by which the ad server targets it (`activation_key.key`).
    pub key: String,
    /// The value of that key.
    pub value: String,
    /// Where it can be used (ISO 3166-1 alpha-2); everywhere when empty.
    pub countries: Vec<String>,
    /// Words by which a description finds it.
    pub keywords: Vec<String>,
}

impl Signal {
    /// The handle by which it is activated.
    #[must_use]
    pub fn handle(&self) -> &str {
        text(&self.published, "signal_agent_segment_id")
    }
}

impl Thing for Product {
    const KIND: Kind = Kind::Product;
}

/// A creative format that a sandbox has put beside the catalogue (`core/format.json`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Format(pub Map);

impl Thing for Format {
    const KIND: Kind = Kind::Format;
}

impl Product {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        text(&self.published, "product_id")
    }

    /// The published prices (`core/pricing-option.json`).
    pub fn prices(&self) -> impl Iterator<Item = &Map> {
        maps(self.published.get("pricing_options"))
    }

    /// The published price with this id.
    #[must_use]
    pub fn pricing(&self, id: &str) -> Option<&Map> {
        self.prices().find(|option| text(option, "pricing_option_id") == id)
    }

    /// The prices that hold for an account: its own, or the published ones.
    #[must_use]
    pub fn prices_for(&self, account: Option<&Account>) -> Vec<&Map> {
        match account.and_then(|account| self.rate(account)) {
            Some(rate) => rate.pricing_options.iter().filter_map(Value::as_object).collect(),
            None => self.prices().collect(),
        }
    }

    /// The price with this id that holds for an account.
    #[must_use]
    pub fn price_for(&self, account: Option<&Account>, id: &str) -> Option<&Map> {
        let mut options = self.prices_for(account).into_iter();
        options.find(|option| text(option, "pricing_option_id") == id)
    }

    /// Whether an account has prices of its own.
    #[must_use]
    pub fn has_rate(&self, account: &Account) -> bool {
        self.rate(account).is_some()
    }

    fn rate(&self, account: &Account) -> Option<&Rate> {
        let brand = account.brand.get("domain").and_then(Value::as_str);
        self.terms.rates.iter().find(|rate| {
            rate.operator.as_ref().is_none_or(|operator| *operator == account.operator)
                && rate.brand.as_deref().is_none_or(|domain| Some(domain) == brand)
        })
    }

    /// The least that a package of it may cost at a price, in the price's currency.
    #[must_use]
    pub fn minimum(&self, price: &Map) -> Option<Amount> {
        number(price, "min_spend_per_package").or(self.terms.minimum_budget)
    }

    /// Whether delivery is guaranteed.
    #[must_use]
    pub fn is_guaranteed(&self) -> bool {
        text(&self.published, "delivery_type") == "guaranteed"
    }

    /// When it leaves the offer.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        let published = self.published.get("expires_at").and_then(Value::as_str);
        self.terms.expires_at.or_else(|| published.and_then(|moment| moment.parse().ok()))
    }

    /// Whether it has left the offer.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|moment| moment <= now)
    }

    /// The formats that it accepts (`core/format-id.json`).
    pub fn formats(&self) -> impl Iterator<Item = &Map> {
        maps(self.published.get("format_ids"))
    }

    /// Its channels (`enums/channels.json`).
    pub fn channels(&self) -> impl Iterator<Item = &str> {
        let channels = self.published.get("channels").and_then(Value::as_array);
        channels.into_iter().flatten().filter_map(Value::as_str)
    }
}

/// What a price says: fixed, or the floor of an auction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Price {
    /// It is this.
    Fixed(Amount),
    /// It is found by bidding, from this up when there is a floor.
    Auction(Option<Amount>),
}

impl Price {
    /// Of a pricing option.
    #[must_use]
    pub fn of(option: &Map) -> Self {
        match number(option, "fixed_price") {
            Some(price) => Self::Fixed(price),
            None => Self::Auction(number(option, "floor_price")),
        }
    }
}

/// The currency of a pricing option (ISO 4217).
#[must_use]
pub fn currency(option: &Map) -> &str {
    text(option, "currency")
}

/// Whether two format ids mean the same: agent, id and whatever parameters both name. A trailing
/// slash of the agent's address means nothing.
#[must_use]
pub fn same_format(one: &Map, other: &Map) -> bool {
    let agent = |format: &Map| text(format, "agent_url").trim_end_matches('/').to_ascii_lowercase();
    let agrees = |name: &str| match (one.get(name), other.get(name)) {
        (Some(one), Some(other)) => one.as_f64() == other.as_f64(),
        (None, _) | (_, None) => true,
    };
    agent(one) == agent(other)
        && text(one, "id") == text(other, "id")
        && ["width", "height", "duration_ms"].into_iter().all(agrees)
}

pub(crate) fn text<'a>(members: &'a Map, name: &str) -> &'a str {
    members.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn number(members: &Map, name: &str) -> Option<Amount> {
    members.get(name).and_then(Amount::read)
}

pub(crate) fn maps(list: Option<&Value>) -> impl Iterator<Item = &Map> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}
