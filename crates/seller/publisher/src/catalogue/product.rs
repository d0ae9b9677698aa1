//! Products and their prices. A product is parsed once: the members that the seller uses are typed, the
//! document is sent as it was given, and what is derived from both is cached beside them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};
use tradepost_document::canonical;
use tradepost_document::json::{JsonPieces, Map, SharedJson, Value};
use tradepost_document::kept_whole;
use tradepost_document::typed::{self, LenientList};
use tradepost_document::typed_struct;

use super::ad_server_terms::AdServerTerms;
use super::capacity::{CountedUnit, DeclaredCapacity, ProductCapacity};
use super::price::ProductPrice;
use super::reporting::Reporting;
use crate::account::Account;
use crate::creative::policy::ProductCreativePolicy as CreativePolicy;
use crate::forms::buys::MeasurementTerms;
use crate::forms::products::RequiredStandard;
use crate::money::MoneyAmount;
use crate::store::{Entity, EntityKind};

/// Member that says why a product fits a brief.
const RELEVANCE: &str = "brief_relevance";

/// A product. Copies share its data.
#[derive(Debug, Clone, Serialize)]
pub struct Product {
    pub(crate) published: Arc<PublishedProduct>,
    /// Terms that only the publisher knows.
    pub terms: Arc<ProductTerms>,
    #[serde(skip)]
    worked_out: Arc<WorkedOut>,
}

/// Values derived from a product, each computed at first use.
#[derive(Debug, Default)]
struct WorkedOut {
    digest: OnceLock<[u8; 32]>,
    written: OnceLock<ProductText>,
    is_divergent: OnceLock<bool>,
    weights: OnceLock<BTreeMap<String, u32>>,
}

/// Text of a product as it is shown to all, around the place for its relevance to a brief.
#[derive(Debug)]
struct ProductText {
    before: Arc<SharedJson>,
    after: Arc<SharedJson>,
}

/// Terms of a product that only the publisher knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProductTerms {
    /// True when it is sold out.
    pub sold_out: bool,
    /// Time at which it leaves the offer.
    pub expires_at: Option<Timestamp>,
    /// True when each buy of it has to be approved.
    pub approval: bool,
    /// Seconds after which the publisher approves by itself, if there are no objections by then; a person
    /// approves when `None`.
    pub approval_seconds: Option<u32>,
    /// True when such an approval is always denied.
    pub declines: bool,
    /// Industries of advertisers that it is not sold to, with all their subcategories (`alcohol`).
    pub refused_industries: Vec<String>,
    /// Hours before a flight by which its creatives have to be there.
    pub creative_lead_hours: Option<u32>,
    /// Minimum cost of a package of it, where its prices do not say.
    pub minimum_budget: Option<MoneyAmount>,
    /// Countries where it can run (ISO 3166-1 alpha-2); all when empty.
    pub countries: Vec<String>,
    /// Words by which a brief finds it, in addition to those of its name and description.
    pub keywords: Vec<String>,
    /// Prices for some accounts, in place of the published ones; the first that fits holds.
    pub rates: Vec<Rate>,
    /// Units that there are of it on each day; they are not counted when `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<ProductCapacity>,
    /// What it is at the ad server; its buys are set up by hand when `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ad_server: Option<AdServerTerms>,
}

/// Prices for some accounts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rate {
    /// Domain of the operator; any when `None`.
    pub operator: Option<String>,
    /// Domain of the brand; any when `None`.
    pub brand: Option<String>,
    /// The prices (`core/pricing-option.json`).
    pub pricing_options: Vec<PricingOption>,
}

typed_struct! {
    /// A product as it is published (`core/product.json`), as far as it is parsed. Every member is optional,
    /// because test fixtures have whatever they have.
    pub(crate) struct PublishedProduct {
        product_id: Option<String>,
        name: Option<String>,
        description: Option<String>,
        delivery_type: Option<String>,
        exclusivity: Option<String>,
        expires_at: Option<Timestamp>,
        channels: LenientList<String>,
        format_ids: LenientList<FormatId>,
        format_options: LenientList<ProductFormatOption>,
        pricing_options: LenientList<PricingOption>,
        publisher_properties: LenientList<Properties>,
        enforced_policies: LenientList<String>,
        video_placement_types: LenientList<String>,
        audio_distribution_types: LenientList<String>,
        sponsored_placement_types: LenientList<String>,
        social_placement_surfaces: LenientList<String>,
        reporting_capabilities: Option<Reporting>,
        performance_standards: LenientList<RequiredStandard>,
        measurement_terms: Option<MeasurementTerms>,
        metric_optimization: Option<Optimization>,
        forecast: Option<Forecast>,
        allowed_actions: Option<Vec<Option<AllowedAction>>>,
        signal_targeting_rules: Option<SignalRules>,
        signal_targeting_options: LenientList<SignalOption>,
        creative_policy: Option<CreativePolicy>;
        whole document
    }

    /// Properties on which a product runs.
    pub(crate) struct Properties {
        publisher_domain: Option<String>,
        publisher_domains: LenientList<String>,
        property_tags: LenientList<String>,
    }

    /// A format with its parameters, and the older formats that are the same.
    pub(crate) struct ProductFormatOption {
        format_option_id: Option<String>,
        format_kind: Option<String>,
        v1_format_ref: LenientList<FormatId>,
        params: Option<Map>,
    }

    /// Rules for the choice of signals.
    pub(crate) struct SignalRules {
        selection_mode: Option<String>,
    }

    /// A signal that can be chosen, with its prices.
    pub(crate) struct SignalOption {
        default_selected: Option<bool>,
        pricing_options: LenientList<PricingOption>,
    }

    /// Goals that a product can be optimized for, as they were given.
    pub(crate) struct Optimization {
        supported_metrics: Option<Vec<Value>>,
        supported_view_durations: Option<Vec<Value>>,
        supported_reach_units: Option<Vec<Value>>,
        supported_targets: Option<Vec<Value>>,
    }

    /// Expected delivery of a product.
    pub(crate) struct Forecast {
        points: LenientList<ForecastPoint>,
    }

    /// Expected delivery at one budget.
    pub(crate) struct ForecastPoint {
        metrics: Option<Forecasts>,
    }

    /// Expected figures.
    pub(crate) struct Forecasts {
        impressions: Option<ForecastRange>,
    }

    /// Range of an expected figure.
    pub(crate) struct ForecastRange {
        mid: Option<MoneyAmount>,
    }

    /// Action that is permitted on a buy of it, with its modes and statuses.
    pub(crate) struct AllowedAction {
        action: Option<String>,
        modes: Option<Vec<Value>>,
        allowed_statuses: Option<Vec<Value>>,
        sla: Option<Value>,
        terms_ref: Option<Value>,
    }

    /// A price (`core/pricing-option.json`), as far as it is parsed.
    #[derive(Default)]
    pub struct PricingOption {
        /// Its id, unique in the product.
        pricing_option_id: Option<String>,
        /// Pricing model (`enums/pricing-model.json`).
        pricing_model: Option<String>,
        /// Currency (ISO 4217).
        currency: Option<String>,
        /// The price, when it is fixed.
        fixed_price: Option<MoneyAmount>,
        /// Minimum bid.
        floor_price: Option<MoneyAmount>,
        /// Minimum cost of a package.
        min_spend_per_package: Option<MoneyAmount>;
        /// As it is published.
        whole given
    }

    /// Reference to a format (`core/format-id.json`).
    pub struct FormatId {
        /// The agent that defines it.
        agent_url: Option<String>,
        /// Its id there.
        id: Option<String>,
        /// Width in pixels.
        width: Option<MoneyAmount>,
        /// Height in pixels.
        height: Option<MoneyAmount>,
        /// Duration in milliseconds.
        duration_ms: Option<MoneyAmount>;
        /// As it was given.
        whole given
    }
}

kept_whole!(PublishedProduct.document, PricingOption.given, FormatId.given);

impl Entity for Product {
    const KIND: EntityKind = EntityKind::Product;
}

impl PartialEq for Product {
    fn eq(&self, other: &Self) -> bool {
        self.published == other.published && self.terms == other.terms
    }
}

impl<'de> Deserialize<'de> for Product {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Both {
            published: Map,
            #[serde(default)]
            terms: ProductTerms,
        }
        let Both { published, terms } = Both::deserialize(deserializer)?;
        Ok(Self::new(published, terms))
    }
}

impl Product {
    /// Creates a product from its published document (`core/product.json`) and the terms that only the
    /// publisher knows.
    #[must_use]
    pub fn new(published: Map, terms: ProductTerms) -> Self {
        let Some(published) = typed::read(published) else {
            unreachable!("whatever a product lacks, it can be read");
        };
        Self { published: Arc::new(published), terms: Arc::new(terms), worked_out: Arc::default() }
    }

    /// Returns a copy with this member, in place of one with the same name.
    #[must_use]
    pub fn with(&self, name: &str, value: impl Into<Value>) -> Self {
        let mut document = self.published.document.clone();
        document.insert(name.to_owned(), value.into());
        Self::new(document, ProductTerms::clone(&self.terms))
    }

    /// Returns a copy at these prices, which hold for every buyer.
    #[must_use]
    pub(crate) fn at(&self, prices: &[&PricingOption]) -> Self {
        let prices: Value = prices.iter().map(|price| price.given.clone()).collect();
        let mut product = self.with("pricing_options", prices);
        // The prices of this copy are the account's already: a rate would be applied to them once more.
        Arc::make_mut(&mut product.terms).rates.clear();
        product
    }

    /// Returns what is shown of it: the wanted members of the published document, its relevance to a brief,
    /// and the time at which it leaves the offer.
    #[must_use]
    pub(crate) fn shown(&self, relevance: Option<&str>, wanted: impl Fn(&str) -> bool) -> Map {
        let document = self.published.document.iter().filter(|(name, _)| wanted(name));
        let mut shown: Map = document.map(|(name, value)| (name.clone(), value.clone())).collect();
        let expires_at = self.expires_at().map(|moment| moment.to_string());
        for (name, value) in [(RELEVANCE, relevance), ("expires_at", expires_at.as_deref())] {
            if let Some(value) = value.filter(|_| wanted(name)) {
                shown.insert(name.to_owned(), value.into());
            }
        }
        shown
    }

    /// Returns the text of all that is shown, most of which is serialised only once.
    pub(crate) fn text(&self, relevance: Option<&str>) -> JsonPieces {
        let document = &self.published.document;
        let mut text = JsonPieces::new();
        if document.is_empty() || document.contains_key(RELEVANCE) {
            text.write(&self.shown(relevance, |_| true));
            return text;
        }
        let ProductText { before, after } = self.worked_out.written.get_or_init(|| self.written());
        text.keep(before);
        if let Some(relevance) = relevance {
            text.push(&format!(",\"{RELEVANCE}\":"));
            text.write(relevance);
        }
        text.keep(after);
        text
    }

    /// Serialises what does not depend on a brief: the published document, and the time at which it leaves
    /// the offer.
    fn written(&self) -> ProductText {
        let mut before = self.shown(None, |_| true);
        let after: Map = before.split_off(self.published.document.len()).into_iter().collect();
        let inside = |members: Map| {
            let mut text = Value::Object(members).to_string();
            text.pop();
            text.remove(0);
            text
        };
        let after = if after.is_empty() { String::new() } else { format!(",{}", inside(after)) };
        let before = format!("{{{}", inside(before));
        ProductText {
            before: SharedJson::new(before),
            after: SharedJson::new(format!("{after}}}")),
        }
    }

    /// Returns the SHA-256 of what is shown to all, in its canonical form.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        // Without the relevance, which belongs to a brief and not to the product.
        let text = || canonical::to_string(&self.shown(None, |_| true).into());
        self.worked_out.digest.get_or_init(|| Sha256::digest(text()).into())
    }

    /// Returns the weights of its words, which `of` computes at first use.
    pub(crate) fn weights(
        &self,
        of: impl FnOnce(&Self) -> BTreeMap<String, u32>,
    ) -> &BTreeMap<String, u32> {
        self.worked_out.weights.get_or_init(|| of(self))
    }

    /// Returns its name for people.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.published.name.as_deref()
    }

    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.published.product_id.as_deref().unwrap_or_default()
    }

    /// Returns the published prices.
    #[must_use]
    pub fn prices(&self) -> &[PricingOption] {
        &self.published.pricing_options
    }

    /// Returns the published price with this id.
    #[must_use]
    pub fn pricing(&self, id: &str) -> Option<&PricingOption> {
        self.prices().iter().find(|option| option.id() == id)
    }

    /// Returns the prices that hold for an account: its own, or the published ones.
    #[must_use]
    pub fn prices_for(&self, account: Option<&Account>) -> &[PricingOption] {
        match account.and_then(|account| self.rate(account)) {
            Some(rate) => &rate.pricing_options,
            None => self.prices(),
        }
    }

    /// Returns the price with this id that holds for an account.
    #[must_use]
    pub fn price_for(&self, account: Option<&Account>, id: &str) -> Option<&PricingOption> {
        self.prices_for(account).iter().find(|option| option.id() == id)
    }

    /// Returns true if an account has prices of its own.
    #[must_use]
    pub fn has_rate(&self, account: &Account) -> bool {
        self.rate(account).is_some()
    }

    fn rate(&self, account: &Account) -> Option<&Rate> {
        let brand = account.brand_domain();
        // The first that fits, so that the order of the file decides between
        // a rate for all and one for few.
        self.terms.rates.iter().find(|rate| {
            rate.operator.as_ref().is_none_or(|operator| *operator == account.operator)
                && rate.brand.as_deref().is_none_or(|domain| Some(domain) == brand)
        })
    }

    /// Returns true if one buyer has it alone on the days of its flight.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.published.exclusivity.as_deref() == Some("exclusive")
    }

    /// Returns the capacity that it declares, with its pool; `None` when it is not counted.
    #[must_use]
    pub fn declared_capacity(&self) -> Option<DeclaredCapacity<'_>> {
        let capacity = self.terms.capacity.as_ref()?;
        let pool = capacity.pool.as_deref().unwrap_or_else(|| self.id());
        Some(DeclaredCapacity { pool, capacity })
    }

    /// Returns the pool of which its packages take units; `None` when it is not counted.
    #[must_use]
    pub fn pool(&self) -> Option<&str> {
        self.declared_capacity().map(|declared| declared.pool)
    }

    /// Returns the reason for which it cannot be part of a proposal; `None` if it can.
    #[must_use]
    pub fn proposal_obstacle(&self) -> Option<ProposalObstacle> {
        let mut prices = self.published.pricing_options.iter();
        let mut rates = self.terms.rates.iter();
        let is_fixed = |option: &PricingOption| matches!(option.price(), ProductPrice::Fixed(_));
        if self.terms.approval {
            Some(ProposalObstacle::Approval)
        } else if prices.any(is_fixed)
            || rates.any(|rate| rate.pricing_options.iter().any(is_fixed))
        {
            None
        } else {
            Some(ProposalObstacle::NoFixedPrice)
        }
    }

    /// Returns the minimum cost of a package of it at a price, in the price's currency.
    #[must_use]
    pub fn minimum(&self, price: &PricingOption) -> Option<MoneyAmount> {
        price.min_spend_per_package.or(self.terms.minimum_budget)
    }

    /// Returns true if delivery is guaranteed.
    #[must_use]
    pub fn is_guaranteed(&self) -> bool {
        self.published.delivery_type.as_deref() == Some("guaranteed")
    }

    /// Returns the time at which it leaves the offer.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.terms.expires_at.or(self.published.expires_at)
    }

    /// Returns true if it has left the offer.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|moment| moment <= now)
    }

    /// Returns the formats that it accepts.
    #[must_use]
    pub fn formats(&self) -> &[FormatId] {
        &self.published.format_ids
    }

    /// Returns the older formats that its newer ones refer to.
    pub(crate) fn older_formats(&self) -> impl Iterator<Item = &FormatId> {
        self.published.format_options.iter().flat_map(|option| option.v1_format_ref.iter())
    }

    /// Returns true if it names other formats in the older way than in the newer one: readers of either way
    /// see another product.
    pub(crate) fn is_divergent(&self) -> bool {
        *self.worked_out.is_divergent.get_or_init(|| {
            let older = self.formats();
            let newer: Vec<_> = self.older_formats().collect();
            let agrees = newer.iter().all(|one| older.iter().any(|other| one.means(other)))
                && older.iter().all(|one| newer.iter().any(|other| one.means(other)));
            !agrees && !older.is_empty() && !newer.is_empty()
        })
    }

    /// Returns true if every signal that is bought with it has a price in one of these currencies.
    pub(crate) fn signals_cost(&self, currencies: &[String]) -> bool {
        let rules = self.published.signal_targeting_rules.as_ref();
        let is_fixed = rules.and_then(|rules| rules.selection_mode.as_deref()) == Some("fixed");
        let bought = self.published.signal_targeting_options.iter();
        let mut bought = bought.filter(|signal| is_fixed && signal.default_selected != Some(false));
        bought.all(|signal| {
            let mut prices = signal.pricing_options.iter();
            signal.pricing_options.is_empty()
                || prices.any(|price| currencies.iter().any(|known| known == price.currency()))
        })
    }

    /// Returns its channels (`enums/channels.json`).
    #[must_use]
    pub fn channels(&self) -> &[String] {
        &self.published.channels
    }

    /// Returns the metrics that are reported of it, as they were given.
    pub(crate) fn metrics(&self) -> &[Value] {
        let reporting = self.published.reporting_capabilities.as_ref();
        reporting.map(|reporting| &*reporting.available_metrics).unwrap_or_default()
    }
}

impl PricingOption {
    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> &str {
        self.pricing_option_id.as_deref().unwrap_or_default()
    }

    /// Returns its currency (ISO 4217).
    #[must_use]
    pub fn currency(&self) -> &str {
        self.currency.as_deref().unwrap_or_default()
    }

    /// Returns the unit that the price counts; `None` where it counts none.
    #[must_use]
    pub fn counted_unit(&self) -> Option<CountedUnit> {
        CountedUnit::from_model(self.pricing_model.as_deref()?)
    }

    /// Returns the price: fixed, or the floor of an auction.
    #[must_use]
    pub fn price(&self) -> ProductPrice {
        match self.fixed_price {
            Some(price) => ProductPrice::Fixed(price),
            None => ProductPrice::Auction(self.floor_price),
        }
    }
}

/// Reason for which a product cannot be part of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalObstacle {
    /// Approval of each purchase by a person, so that its price cannot be promised.
    Approval,
    /// Sale at auctions only.
    NoFixedPrice,
}

impl ProductFormatOption {
    /// Returns true if the choice names every parameter that the product fixes.
    pub(crate) fn is_met_by(&self, chosen: Option<&Map>) -> bool {
        const FIXED: [&str; 3] = ["width", "height", "duration_ms_exact"];
        let fixed = |name: &&str| self.params.as_ref().and_then(|params| params.get(*name));
        let named = |name: &str| chosen.and_then(|params| params.get(name));
        FIXED.iter().all(|name| fixed(name).is_none_or(|value| named(name) == Some(value)))
    }
}

impl FormatId {
    /// Returns true if two refer to the same format: agent, id and all parameters that both name. A trailing
    /// slash of the agent's address is ignored.
    #[must_use]
    pub fn means(&self, other: &Self) -> bool {
        let agent = |format: &Self| {
            let address = format.agent_url.as_deref().unwrap_or_default();
            address.trim_end_matches('/').to_ascii_lowercase()
        };
        let parameters = |format: &Self| [format.width, format.height, format.duration_ms];
        let mut both = parameters(self).into_iter().zip(parameters(other));
        agent(self) == agent(other)
            && self.id.as_deref().unwrap_or_default() == other.id.as_deref().unwrap_or_default()
            && both.all(|(one, other)| one.zip(other).is_none_or(|(one, other)| one == other))
    }
}

#[cfg(test)]
mod tests;
