//! Current offer to a caller.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::json::Value;
use tradepost_document::typed::Typed as _;

use super::filters;
use super::plan::PlanProduct;
use super::rank::{self, ProductFit};
use crate::account::Account;
use crate::catalogue::{Product, ProductPrice};
use crate::forms::products::GetProducts;
use crate::inventory::{AvailabilityDays, InventoryContext, PoolsLeft};
use crate::property::{Identifier, PropertyList};
use crate::refusals::ToolError;
use crate::store::Stored;
use crate::tool_context::ToolContext;

/// Current offer to a caller.
#[derive(Debug)]
pub(super) struct Offer<'a> {
    /// All products, also those that cannot be bought now.
    products: Vec<Product>,
    /// Products that can be bought now.
    pub available: Vec<Product>,
    /// Those that match the filters, with the caller's prices.
    pub fitting: Vec<Product>,
    /// `filter_diagnostics` of the filters.
    pub diagnostics: Option<Value>,
    /// True when prices are specific to the account.
    pub own_prices: bool,
    account: Option<&'a Account>,
    preferred: Option<&'a str>,
}

impl<'a> Offer<'a> {
    /// Reads the offer.
    pub(super) fn open(
        work: &'a ToolContext<'_>,
        form: &'a GetProducts,
    ) -> Result<Self, ToolError> {
        let account = work.admitted.account.as_ref().map(|stored| &stored.thing);
        let supply = work.prepared.supply.as_ref();
        let is_gone =
            |id: &str| supply.is_some_and(|supply| supply.sold_out.iter().any(|one| one == id));
        let products = work.publisher.products(work.reader)?;
        let is_for_tests = work.is_for_tests();
        let profile = &work.publisher.profile;
        let inventory = InventoryContext::new(profile, &products, is_for_tests, work.call.now);
        let days = AvailabilityDays::from_filters(form.filters.as_ref(), inventory.today());
        let has_come = |moment| work.expiry.has_come(moment);
        let left = PoolsLeft::read(&inventory, work.reader, days, &has_come)?;
        let mut available = products.clone();
        available.retain(|product| {
            !product.terms.sold_out
                && !left.is_sold_out(product, days)
                && !is_gone(product.id())
                && !product.expires_at().is_some_and(|moment| work.expiry.has_come(moment))
                && !product.prices_for(account).is_empty()
                && form.required_policies.iter().all(|id| enforces(product, id))
        });
        if let Some(domains) = listed(work, form)? {
            available.retain(|product| is_on(product, &domains));
        }
        let forecasted = |product| left.forecasted(&inventory, product, account, days);
        let available: Vec<Product> = available.into_iter().map(forecasted).collect();
        let own = |product: &Product| account.is_some_and(|account| product.has_rate(account));
        let own_prices = available.iter().any(own);
        let (fitting, diagnostics) =
            filters::apply(available.clone(), form.filters.as_ref(), account);
        let preferred = form.preferred_delivery_types.first().map(String::as_str);
        Ok(Self { products, available, fitting, diagnostics, own_prices, account, preferred })
    }

    /// Returns what inventory is counted by.
    pub(super) fn inventory<'i>(&'i self, work: &'i ToolContext<'_>) -> InventoryContext<'i> {
        let profile = &work.publisher.profile;
        InventoryContext::new(profile, &self.products, work.is_for_tests(), work.call.now)
    }

    /// Returns the product with this id, if it matches the filters.
    pub(super) fn find(&self, id: &str) -> Option<&Product> {
        self.fitting.iter().find(|product| product.id() == id)
    }

    /// Returns the product with this id, if it can be bought.
    pub(super) fn available(&self, id: &str) -> Option<&Product> {
        self.available.iter().find(|product| product.id() == id)
    }

    /// Returns the matching products, best first. Among equals, products without approval come
    /// first, then the catalog's order applies. Words in `brand` count half.
    pub(super) fn ranked(&self, words: &[String], brand: &[String]) -> Vec<(Product, ProductFit)> {
        let fitted = |product: &Product| {
            let mut fit = rank::fit(product, words);
            let mut of_brand = rank::fit(product, brand);
            // Doubled, so that words of the brand and the preference count half.
            fit.score = fit.score * 2 + of_brand.score + self.preference(product);
            of_brand.shared.retain(|word| !fit.shared.contains(word));
            fit.shared.extend(of_brand.shared);
            (product.clone(), fit)
        };
        let mut ranked: Vec<_> = self.fitting.iter().map(fitted).collect();
        ranked.sort_by_key(|(product, fit)| (std::cmp::Reverse(fit.score), product.terms.approval));
        ranked
    }

    /// Returns the score for the preferred delivery type; it only separates equal matches.
    fn preference(&self, product: &Product) -> u32 {
        let delivery = product.published.delivery_type.as_deref();
        u32::from(self.preferred == delivery && delivery.is_some())
    }

    /// Returns the default currency of proposals: that of the account's funds, otherwise that of the first
    /// product that a proposal can contain.
    pub(super) fn preferred_currency(&self) -> String {
        if let Some(funds) = self.account.and_then(|account| account.funds.as_ref()) {
            return funds.currency.clone();
        }
        let plannable = self.available.iter().filter(|product| !product.terms.approval);
        let mut prices = plannable.flat_map(|product| product.prices_for(self.account));
        let fixed = prices.find(|option| matches!(option.price(), ProductPrice::Fixed(_)));
        fixed.map(|option| option.currency().to_owned()).unwrap_or_default()
    }

    /// Returns the products that a plan in a currency can contain, best first.
    pub(super) fn choices(&self, words: &[String], currency: &str) -> Vec<PlanProduct> {
        let choice = |(product, fit)| PlanProduct::new(product, fit, self.account, currency);
        self.ranked(words, &[]).into_iter().filter_map(choice).collect()
    }
}

fn enforces(product: &Product, policy: &str) -> bool {
    product.published.enforced_policies.iter().any(|known| known == policy)
}

/// Returns the domains of the property list in a request; `None` when it names none. The error
/// omits the member's name, which would reveal the kind of record (AdCP 3.1 `error-handling`,
/// `U-3`).
fn listed(work: &ToolContext<'_>, form: &GetProducts) -> Result<Option<Vec<String>>, ToolError> {
    let Some(reference) = &form.property_list else {
        return Ok(None);
    };
    let id = reference.list_id.as_str();
    let list: Stored<PropertyList> = work.require(id, AdcpCode::ReferenceNotFound, None)?;
    let identifiers = list.thing.resolve();
    let domain = |identifier: &Value| {
        let Identifier { kind, value } = Identifier::read(identifier)?;
        value.filter(|_| kind.as_deref() == Some("domain"))
    };
    Ok(Some(identifiers.iter().filter_map(domain).collect()))
}

/// Returns true when a product runs on any of these domains.
fn is_on(product: &Product, domains: &[String]) -> bool {
    product.published.publisher_properties.iter().any(|properties| {
        let mut own = properties.publisher_domains.iter().chain(&properties.publisher_domain);
        own.any(|own| domains.contains(own))
    })
}
