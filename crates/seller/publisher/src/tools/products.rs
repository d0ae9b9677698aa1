//! `get_products`: products and proposals. A brief is answered with matching products, best first,
//! and with proposals; `wholesale` with all products; `refine` with the next draft of an earlier
//! result, and `finalize` with firm prices.

use tradepost_adcp::error::{AdcpCode, AdcpError, ErrorSource};
use tradepost_document::catalog::WireName;
use tradepost_document::json::{JsonPieces, Value, json};
use tradepost_document::typed::Typed as _;

use super::page;
use crate::admit::Admitted;
use crate::availability;
use crate::catalogue::{Product, words};
use crate::forms::products::{
    BrandRef, BuyingMode, GetProducts, RefineAction, RefineScope, UncheckedEntry, UncheckedRefine,
};
use crate::publisher::Publisher;
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::{ReplyLifetime, ToolReply, object};
use crate::tool_call::AdcpToolCall;
use crate::tool_context::{Prepared, SearchContext, ToolContext, WorkStop};

mod filters;
mod offer;
mod plan;
mod propose;
mod rank;
mod refine;

use offer::Offer;
pub(super) use rank::meaningful_words;
use refine::Refined;

/// Members that a product always has (`core/product.json`), whatever `fields` says.
const ALWAYS: &[&str] = &[
    "product_id",
    "name",
    "description",
    "publisher_properties",
    "format_ids",
    "format_options",
    "delivery_type",
    "pricing_options",
    "reporting_capabilities",
];

/// Checks that finalizing stands alone (`refine` of `get-products-request.json`). The rule has its
/// own error code and is therefore checked before the schema.
///
/// # Errors
/// `INVALID_REQUEST` for the first entry that must not be there.
pub(super) fn exclusive(arguments: &Value) -> Result<(), AdcpRefusal> {
    let entries = UncheckedRefine::read(arguments).map(|form| form.refine).unwrap_or_default();
    let finalizes = |entry: &UncheckedEntry| entry.action == Some(RefineAction::Finalize);
    let fits =
        |entry: &UncheckedEntry| finalizes(entry) && entry.scope == Some(RefineScope::Proposal);
    let other = entries.iter().position(|entry| !entry.as_ref().is_some_and(fits));
    if let Some(index) = other.filter(|_| entries.iter().flatten().any(finalizes)) {
        let message = "finalize commits proposals and stands alone; send every other change \
                       in a request before it";
        return Err(refusals::invalid(&format!("refine[{index}]"), message).into());
    }
    Ok(())
}

/// Handles `get_products`.
pub(super) fn perform(work: &SearchContext<'_>, form: &GetProducts) -> Result<ToolReply, WorkStop> {
    AdcpRefusal::of_all(problems(work, form))?;
    let offer = Offer::open(work, form)?;
    let mut reply = match form.buying_mode {
        BuyingMode::Brief => brief(work, form, &offer)?,
        BuyingMode::Wholesale => wholesale(work, form, &offer)?,
        BuyingMode::Refine => {
            let refined = refine::refine(work, form, &offer)?;
            answer(work, form, &offer, refined)?
        }
    };
    reply.warnings.extend(work.prepared.supply.as_ref().and_then(availability::warning));
    reply.warnings.extend(work.outage()?);
    if form.buying_mode != BuyingMode::Brief && form.brief.is_some() {
        let message = "a brief goes with buying_mode brief alone, and was not looked at";
        reply.warnings.push(refusals::warning(refusals::invalid("brief", message)));
    }
    reply.lifetime = lifetime(work, form);
    Ok(reply)
}

/// Returns how long the reply can be cached. Results of `refine`, and replies that state the age of
/// their data, are not cached.
fn lifetime(work: &ToolContext<'_>, form: &GetProducts) -> Option<ReplyLifetime> {
    let supply = work.prepared.supply.as_ref().filter(|supply| supply.stale.is_none())?;
    let lifetime =
        || ReplyLifetime { until: work.expiry.next(), sold_out: supply.sold_out.clone() };
    (form.buying_mode != BuyingMode::Refine).then(lifetime)
}

/// Asks the ad server for sold-out products.
pub(super) async fn prepare(
    publisher: &Publisher,
    _: &AdcpToolCall,
    _: &GetProducts,
    _: &Admitted,
) -> Result<Prepared, ToolError> {
    Ok(Prepared { supply: Some(availability::ask(publisher).await?), ..Prepared::default() })
}

/// Returns the problems beyond the schema.
fn problems(work: &ToolContext<'_>, form: &GetProducts) -> Vec<AdcpError> {
    let catalogue = &work.publisher.profile.catalogue;
    let mut problems = Vec::new();
    let brief = form.brief.as_deref().unwrap_or_default().trim();
    let mode = form.buying_mode;
    // Buyers send a brief in other modes too; it is ignored with a warning.
    if mode == BuyingMode::Brief && brief.is_empty() {
        let message = "buying_mode brief needs a brief: say what the campaign is about";
        problems.push(refusals::invalid("brief", message));
    }
    if mode == BuyingMode::Wholesale && form.push_notification_config.is_some() {
        let message = "buying_mode wholesale is answered at once, and nobody is notified; leave \
                       push_notification_config out";
        problems.push(refusals::invalid("push_notification_config", message));
    }
    if mode == BuyingMode::Refine && form.refine.is_none() {
        let message = "buying_mode refine needs refine: say what is to change";
        problems.push(refusals::invalid("refine", message));
    }
    if mode != BuyingMode::Refine && form.refine.is_some() {
        problems.push(refusals::invalid("refine", "refine goes with buying_mode refine alone"));
    }
    if form.catalog.is_some() {
        let message = "this seller does not match catalogs; describe them in the brief";
        problems.push(refusals::at(AdcpCode::UnsupportedFeature, "catalog", message));
    }
    problems.extend(form.filters.iter().flat_map(filters::problems));
    problems.extend(catalogue.violations("brief", brief));
    for (index, entry) in form.refine.iter().flatten().enumerate() {
        let ask = entry.ask().unwrap_or_default();
        problems.extend(catalogue.violations(&format!("refine[{index}].ask"), ask));
    }
    problems
}

fn brief(
    work: &SearchContext<'_>,
    form: &GetProducts,
    offer: &Offer<'_>,
) -> Result<ToolReply, WorkStop> {
    let wanted = rank::meaningful_words(form.brief.as_deref().unwrap_or_default());
    let brand = form.brand.as_ref().map(brand_words).unwrap_or_default();
    let ranked = offer.ranked(&wanted, &brand).into_iter();
    let found = Refined {
        products: ranked.map(|(product, fit)| (product, Some(fit.relevance()))).collect(),
        proposals: propose::for_brief(work, form, offer, &wanted)?,
        applied: Vec::new(),
    };
    Ok(answer(work, form, offer, found)?)
}

fn wholesale(
    work: &ToolContext<'_>,
    form: &GetProducts,
    offer: &Offer<'_>,
) -> Result<ToolReply, ToolError> {
    let version = version(&scope(work, offer), offer);
    if work.feed_version(form.if_wholesale_feed_version.as_ref()) == Some(&version) {
        return Ok(page::unchanged(&version, cache_scope(offer)));
    }
    let products = offer.fitting.iter().map(|product| (product.clone(), None)).collect();
    answer(work, form, offer, Refined { products, ..Refined::default() })
}

/// Returns the version of the matching products, independent of order and page.
fn version(scope: &str, offer: &Offer<'_>) -> String {
    let mut text = scope.as_bytes().to_vec();
    text.extend(offer.fitting.iter().flat_map(Product::digest));
    page::mark(text)
}

/// Returns the reply with a page of products.
fn answer(
    work: &ToolContext<'_>,
    form: &GetProducts,
    offer: &Offer<'_>,
    found: Refined,
) -> Result<ToolReply, ToolError> {
    let scope = scope(work, offer);
    let total = found.products.len();
    let page = page::requested(found.products, form.pagination.as_ref(), &scope)?;
    let mut reply = ToolReply::completed(page::fitting(total, "product"), json!({}));
    let divergent = page.items.iter().enumerate();
    let divergent = divergent.filter(|(_, (product, _))| product.is_divergent());
    reply.warnings = divergent.map(|(index, _)| divergence(index)).collect();
    reply.written.push(("products", listed(&page.items, form.fields.as_deref())));
    reply.body = object([
        ("proposals", (!found.proposals.is_empty()).then(|| found.proposals.into())),
        (
            "refinement_applied",
            (form.buying_mode == BuyingMode::Refine).then(|| found.applied.into()),
        ),
        ("filter_diagnostics", offer.diagnostics.clone()),
        // A list that is not found was refused before.
        ("property_list_applied", form.property_list.as_ref().map(|_| true.into())),
        ("pagination", Some(page.pagination)),
        ("cache_scope", Some(cache_scope(offer).into())),
        ("wholesale_feed_version", Some(version(&scope, offer).into())),
        ("sandbox", work.sandbox().map(Into::into)),
    ]);
    Ok(reply)
}

/// Writes the products with their relevance: whole, or only the requested members.
fn listed(products: &[(Product, Option<String>)], fields: Option<&[String]>) -> JsonPieces {
    let mut list = JsonPieces::from("[".to_owned());
    for (index, (product, relevance)) in products.iter().enumerate() {
        if index > 0 {
            list.push(",");
        }
        let relevance = relevance.as_deref();
        match fields {
            None => list.append(product.text(relevance)),
            Some(fields) => {
                let named = |name: &str| fields.iter().any(|field| field == name);
                let always = |name: &str| ALWAYS.contains(&name);
                list.write(&product.shown(relevance, |name| always(name) || named(name)));
            }
        }
    }
    list.push("]");
    list
}

/// Returns the warning that a product's `format_ids` and `format_options` name different formats.
fn divergence(index: usize) -> AdcpError {
    let message = "format_ids and v1_format_ref of format_options name different formats; trust \
                   format_options, and tell the seller";
    let field = format!("products[{index}].format_options");
    let error = refusals::at(AdcpCode::FormatDeclarationDivergent, &field, message);
    AdcpError { source: Some(WireName::Known(ErrorSource::Producer)), ..refusals::warning(error) }
}

fn cache_scope(offer: &Offer<'_>) -> &'static str {
    if offer.own_prices { "account" } else { "public" }
}

/// Returns the scope of the product list. Accounts with public prices share the public list.
fn scope(work: &ToolContext<'_>, offer: &Offer<'_>) -> String {
    let account = work.admitted.account.as_ref().filter(|_| offer.own_prices);
    page::scope(&work.call.arguments, account.map(|account| account.record.id.as_str()))
}

/// Returns the words of a brand's domain, without its ending, and of its id.
fn brand_words(brand: &BrandRef) -> Vec<String> {
    let domain = brand.domain.as_deref().and_then(|domain| domain.rsplit_once('.'));
    let name = domain.map(|(name, _)| name);
    name.into_iter().chain(brand.brand_id.as_deref()).flat_map(words).collect()
}
