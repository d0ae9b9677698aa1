//! Catalogue of the publisher: products with their prices, creative formats, signals and sponsored offerings.
//! It is read from a file when the publisher opens; a sandbox can store more beside it.
//!
//! A product is looked up with [`Publisher::product`](crate::publisher::Publisher::product) or
//! [`products`](crate::publisher::Publisher::products), which know both places.

use serde::Deserialize;
use tradepost_document::json::{Map, Value};
use tradepost_document::kept_whole;
use tradepost_document::typed::{LenientList, Typed as _};
use tradepost_document::typed_struct;

use crate::audience;
use crate::creative::policy::CreativePolicy;
use crate::forms::buys::SignalName;
use crate::money::MoneyAmount;

mod ad_server_terms;
mod capacity;
mod format;
mod offer;
mod policy;
mod price;
mod product;
mod read;
mod reporting;
pub mod targeting;

pub use ad_server_terms::{AdServerTerms, DealTerms};
pub(crate) use capacity::MAX_UNITS;
pub use capacity::{
    CountedUnit, DayOfWeek, DeclaredCapacity, InventoryTerms, PoolCapacity, ProductCapacity,
};
pub use format::CreativeFormat;
pub(crate) use format::{AssetPlace, Requirements};
pub use policy::AdvertisingPolicy;
pub(crate) use policy::words;
pub use price::ProductPrice;
pub(crate) use product::{AllowedAction, Optimization, ProductFormatOption};
pub use product::{FormatId, PricingOption, Product, ProductTerms, ProposalObstacle, Rate};
pub use read::CatalogueMistake;
pub use targeting::TargetingSupport;

/// The channels of `enums/channels.json`.
pub const CHANNELS: &[&str] = &[
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

/// Everything that the publisher sells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// Address of the agent that defines the formats and sells the signals (`agent_url`); empty when it is
    /// not set.
    pub agent_url: String,
    /// Self-description of the publisher (`media_buy.portfolio`).
    pub portfolio: PublisherPortfolio,
    /// Terms of the inventory that is counted here.
    pub inventory: InventoryTerms,
    /// Terms of proposals; none are made when `None`.
    pub proposals: Option<ProposalTerms>,
    /// Rules on what may not be advertised.
    pub policies: Vec<AdvertisingPolicy>,
    /// The products; ids are unique.
    pub products: Vec<Product>,
    /// The creative formats (`core/format.json`).
    pub formats: Vec<CreativeFormat>,
    /// The signals; handles are unique.
    pub signals: Vec<Signal>,
    /// The sponsored offerings.
    pub offerings: Vec<Offering>,
    /// Requirements on creatives.
    pub creatives: CreativePolicy,
    /// Terms on which audiences are taken.
    pub audiences: audience::AudienceTerms,
    /// Targeting that is applied.
    pub targeting: TargetingSupport,
}

impl Catalogue {
    /// Returns true if a proposal can be made of any product here.
    #[must_use]
    pub fn makes_proposals(&self) -> bool {
        self.proposals.is_some()
            && self.products.iter().any(|product| product.proposal_obstacle().is_none())
    }
}

/// Self-description of the publisher.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PublisherPortfolio {
    /// Description in a few sentences.
    pub description: String,
    /// Advertising policies in a few sentences.
    pub advertising_policies: String,
    /// Countries where most of the audience is (ISO 3166-1 alpha-2).
    pub primary_countries: Vec<String>,
}

/// Terms of proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposalTerms {
    /// Hours for which the prices of a draft are good.
    pub draft_hours: u32,
    /// Hours for which the inventory of a committed proposal is held.
    pub hold_hours: u32,
}

/// A signal.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    /// As it is published (a member of `signals` of `get_signals`), without its deployments.
    pub(crate) published: PublishedSignal,
    /// Terms that only the publisher knows.
    pub terms: SignalTerms,
}

typed_struct! {
    /// A signal as it is published, as far as it is parsed.
    pub(crate) struct PublishedSignal {
        signal_agent_segment_id: Option<String>,
        signal_ref: Option<Value>,
        signal_id: Option<SignalName>,
        name: Option<String>,
        description: Option<String>,
        signal_type: Option<String>,
        data_provider: Option<String>,
        coverage_percentage: Option<MoneyAmount>,
        pricing_options: LenientList<SignalPrice>;
        whole document
    }

    /// Price for the use of a signal.
    pub(crate) struct SignalPrice {
        pricing_option_id: Option<String>,
        model: Option<String>,
        cpm: Option<MoneyAmount>,
        percent: Option<MoneyAmount>,
    }
}

typed_struct! {
    /// A sponsored offering (`core/offering.json`), as far as it is parsed.
    pub struct Offering {
        /// Its id.
        offering_id: Option<String>,
        /// Its name for people.
        name: Option<String>,
        /// Description in a line.
        tagline: Option<String>,
        /// Description in a few lines.
        description: Option<String>,
        /// Words by which an intent finds it.
        keywords: LenientList<String>,
        /// Start of its validity (RFC 3339).
        valid_from: Option<String>,
        /// End of its validity (RFC 3339).
        valid_to: Option<String>,
        /// Price in words.
        price_hint: Option<String>,
        /// Address of an image.
        image_url: Option<String>,
        /// Page with more about it.
        landing_url: Option<String>,
        /// Page where it is bought.
        checkout_url: Option<String>,
        /// Brand that pays for it, when it is not the publisher.
        brand: Option<Value>,
        /// Products that it consists of.
        products: LenientList<OfferedProduct>,
    }

    /// A product of an offering.
    pub struct OfferedProduct {
        /// Its name for people.
        name: Option<String>,
        /// Price in words.
        price: Option<String>,
        /// Availability in words.
        availability_summary: Option<String>;
        /// As it is published.
        whole given
    }
}

kept_whole!(OfferedProduct.given);

/// Terms of a signal that only the publisher knows.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SignalTerms {
    /// The key by which the ad server targets it (`activation_key.key`).
    pub key: String,
    /// The value of that key.
    pub value: String,
    /// Countries where it can be used (ISO 3166-1 alpha-2); all when empty.
    pub countries: Vec<String>,
    /// Words by which a description finds it.
    pub keywords: Vec<String>,
}

impl Signal {
    /// Returns the handle by which it is activated.
    #[must_use]
    pub fn handle(&self) -> &str {
        self.published.signal_agent_segment_id.as_deref().unwrap_or_default()
    }

    /// Returns true if it is the publisher's own, and not resold (`enums/signal-catalog-type.json`).
    pub(crate) fn is_owned(&self) -> bool {
        self.published.signal_type.as_deref() == Some("owned")
    }

    /// Returns the name by which references identify it.
    pub(crate) fn name(&self) -> Option<String> {
        let of = |reference: &Value| SignalName::read(reference)?.name;
        let older = || self.published.signal_id.as_ref()?.name.clone();
        self.published.signal_ref.as_ref().map_or_else(older, of)
    }
}

pub(crate) fn text<'a>(members: &'a Map, name: &str) -> &'a str {
    members.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn maps(list: Option<&Value>) -> impl Iterator<Item = &Map> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}
