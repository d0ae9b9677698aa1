//! Products and proposals: `get_products`. A brief is answered with what fits it, the best first,
//! and with proposals; `wholesale` with everything; `refine` with the next draft of what was found
//! before, and `finalize` with firm prices.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::Error;
use tradepost_wire::canonical;

use super::{Prepared, Reply, Work, page};
use crate::admit::Admitted;
use crate::ask::Ask;
use crate::catalogue::{Product, words};
use crate::publisher::Publisher;
use crate::refuse::{self, Refusal, Stop};
use crate::supply::{self, Outage};

mod filters;
mod offer;
mod plan;
mod propose;
mod rank;
mod refine;

use offer::Offer;
pub(super) use rank::telling;
use refine::{Entry, Refined};

/// What is asked.
#[derive(Debug, Deserialize)]
struct Request {
    buying_mode: Mode,
    brief: Option<String>,
    #[serde(default)]
    refine: Vec<Entry>,
    brand: Option<Map<String, Value>>,
    #[serde(default)]
    filters: Map<String, Value>,
    #[serde(default)]
    preferred_delivery_types: Vec<String>,
    #[serde(default)]
    required_policies: Vec<String>,
    property_list: Option<Map<String, Value>>,
    fields: Option<Vec<String>>,
    if_wholesale_feed_version: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Brief,
    Wholesale,
    Refine,
}

/// What a product has to have to be one (`core/product.json`), whatever `fields` names.
const ALWAYS: [&str; 9] = [
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

/// Whether a request keeps something: proposals come of briefs, and change by refining.
pub(super) fn keeps(ask: &Ask) -> bool {
    ask.arguments.get("buying_mode").and_then(Value::as_str) != Some("wholesale")
}

/// The rule that finalizing stands alone (`refine` of `get-products-request.json`), which names
/// its own code and therefore goes before the schema.
///
/// # Errors
/// `INVALID_REQUEST` with the first entry that is not to be there.
pub(super) fn exclusive(ask: &Ask) -> Result<(), Refusal> {
    let entries = ask.arguments.get("refine").and_then(Value::as_array);
    let entries: Vec<&Value> = entries.into_iter().flatten().collect();
    let is = |entry: &Value, member: &str, word: &str| {
        entry.get(member).and_then(Value::as_str) == Some(word)
    };
    let finalizes = |entry: &&Value| is(entry, "action", "finalize");
    if !entries.iter().any(finalizes) {
        return Ok(());
    }
    let stray = |entry: &&Value| !is(entry, "scope", "proposal") || !finalizes(entry);
    match entries.iter().position(stray) {
        None => Ok(()),
        Some(index) => {
            let message = "finalize commits proposals and stands alone; send every other change \
                           in a request before it";
            Err(refuse::invalid(&format!("refine[{index}]"), message).into())
        }
    }
}

/// Does the work of these tools.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    let request: Request = work.arguments()?;
    Refusal::of_all(problems(work, &request))?;
    let offer = Offer::open(work, &request)?;
    let mut reply = match request.buying_mode {
        Mode::Brief => brief(work, &request, &offer)?,
        Mode::Wholesale => wholesale(work, &request, &offer)?,
        Mode::Refine => {
            let refined = refine::refine(work, &request, &offer)?;
            answer(work, &request, &offer, refined)?
        }
    };
    reply.warnings.extend(work.prepared.supply.as_ref().and_then(supply::warning));
    let tenant = &work.admitted.reach.tenant;
    let outage = Outage::of(work.shelf, tenant, "get_products", work.ask.now)?;
    reply.warnings.extend(outage.map(|outage| outage.warning(work.ask.now)));
    Ok(reply)
}

/// Finds out outside what these tools need before they can work.
pub(super) async fn prepare(
    publisher: &Publisher,
    _ask: &Ask,
    _admitted: &Admitted,
) -> Result<Prepared, Stop> {
    Ok(Prepared { supply: Some(supply::ask(publisher).await?), ..Prepared::default() })
}

/// The problems that a schema does not see.
fn problems(work: &Work<'_>, request: &Request) -> Vec<Error> {
    let catalogue = &work.publisher.profile.catalogue;
    let arguments = &work.ask.arguments;
    let mut problems = Vec::new();
    let brief = request.brief.as_deref().unwrap_or_default().trim();
    match request.buying_mode {
        Mode::Brief if brief.is_empty() => {
            let message = "buying_mode brief needs a brief: say what the campaign is about";
            problems.push(refuse::invalid("brief", message));
        }
        Mode::Wholesale | Mode::Refine if request.brief.is_some() => {
            let message = "a brief goes with buying_mode brief alone";
            problems.push(refuse::invalid("brief", message));
        }
        Mode::Brief | Mode::Wholesale | Mode::Refine => {}
    }
    if request.buying_mode == Mode::Wholesale && arguments.contains_key("push_notification_config")
    {
        let message = "buying_mode wholesale is answered at once, and nobody is notified; leave \
                       push_notification_config out";
        problems.push(refuse::invalid("push_notification_config", message));
    }
    match request.buying_mode {
        Mode::Refine if request.refine.is_empty() => {
            let message = "buying_mode refine needs refine: say what is to change";
            problems.push(refuse::invalid("refine", message));
        }
        Mode::Brief | Mode::Wholesale if arguments.contains_key("refine") => {
            let message = "refine goes with buying_mode refine alone";
            problems.push(refuse::invalid("refine", message));
        }
        Mode::Brief | Mode::Wholesale | Mode::Refine => {}
    }
    if arguments.contains_key("catalog") {
        let message = "this seller does not match catalogs; describe them in the brief";
        problems.push(refuse::at(
            tradepost_wire::adcp::error::Code::UnsupportedFeature,
            "catalog",
            message,
        ));
    }
    problems.extend(filters::problems(&request.filters));
    problems.extend(catalogue.violations("brief", brief));
    for (index, entry) in request.refine.iter().enumerate() {
        let ask = entry.ask().unwrap_or_default();
        problems.extend(catalogue.violations(&format!("refine[{index}].ask"), ask));
    }
    problems
}

fn brief(work: &Work<'_>, request: &Request, offer: &Offer) -> Result<Reply, Stop> {
    let wanted = rank::telling(request.brief.as_deref().unwrap_or_default());
    let brand = brand_words(request.brand.as_ref());
    let ranked = offer.ranked(&wanted, &brand).into_iter().map(|(mut product, fit)| {
        product.published.insert("brief_relevance".to_owned(), fit.relevance().into());
        product
    });
    let found = Refined {
        products: ranked.collect(),
        proposals: propose::for_brief(work, request, offer, &wanted)?,
        applied: Vec::new(),
    };
    answer(work, request, offer, found)
}

fn wholesale(work: &Work<'_>, request: &Request, offer: &Offer) -> Result<Reply, Stop> {
    let version = version(work, offer);
    if request.if_wholesale_feed_version.as_ref() == Some(&version) {
        let body = json!({
            "unchanged": true,
            "wholesale_feed_version": version,
            "cache_scope": cache_scope(offer),
        });
        return Ok(Reply::completed("nothing has changed since that version", body));
    }
    answer(work, request, offer, Refined { products: offer.fitting.clone(), ..Refined::default() })
}

/// The version of what fits, whatever its order and the page.
fn version(work: &Work<'_>, offer: &Offer) -> String {
    let shown: Vec<Value> = offer.fitting.iter().map(shown).collect();
    page::mark(&format!("{}\n{}", scope(work, offer), canonical::to_string(&shown.into())))
}

/// The answer with a page of products.
fn answer(
    work: &Work<'_>,
    request: &Request,
    offer: &Offer,
    found: Refined,
) -> Result<Reply, Stop> {
    let total = found.products.len();
    let page = page::of(found.products, &work.ask.arguments, &scope(work, offer))?;
    let products: Vec<Value> = page
        .items
        .iter()
        .map(|product| projected(shown(product), request.fields.as_deref()))
        .collect();
    let message = match total {
        0 => "no product fits".to_owned(),
        1 => "1 product fits".to_owned(),
        _ => format!("{total} products fit"),
    };
    let mut reply = Reply::completed(message, json!({"products": products}));
    let mut add = |name: &str, value: Value| reply.body.insert(name.to_owned(), value);
    if !found.proposals.is_empty() {
        add("proposals", found.proposals.into());
    }
    if request.buying_mode == Mode::Refine {
        add("refinement_applied", found.applied.into());
    }
    if let Some(diagnostics) = &offer.diagnostics {
        add("filter_diagnostics", diagnostics.clone());
    }
    if work.ask.arguments.contains_key("property_list") {
        // A list that is not found is refused.
        add("property_list_applied", true.into());
    }
    add("pagination", page.pagination);
    add("cache_scope", cache_scope(offer).into());
    add("wholesale_feed_version", version(work, offer).into());
    if work.admitted.account.as_ref().is_some_and(|account| account.thing.sandbox) {
        add("sandbox", true.into());
    }
    Ok(reply)
}

/// A product as it is shown: as it is published, and when it leaves the offer.
fn shown(product: &Product) -> Value {
    let mut shown = product.published.clone();
    if let Some(moment) = product.expires_at() {
        shown.insert("expires_at".to_owned(), moment.to_string().into());
    }
    shown.into()
}

/// Only the members that were asked for, and those without which it is no product.
fn projected(mut product: Value, fields: Option<&[String]>) -> Value {
    if let (Some(fields), Some(members)) = (fields, product.as_object_mut()) {
        members.retain(|name, _| {
            ALWAYS.contains(&name.as_str()) || fields.iter().any(|field| field == name)
        });
    }
    product
}

fn cache_scope(offer: &Offer) -> &'static str {
    if offer.own_prices { "account" } else { "public" }
}

/// What decides about the list of products. An account with the public prices sees the public
/// list.
fn scope(work: &Work<'_>, offer: &Offer) -> String {
    let account = work.admitted.account.as_ref().filter(|_| offer.own_prices);
    page::scope(&work.ask.arguments, account.map(|account| account.record.id.as_str()))
}

/// The words of a brand: of its domain without the ending, and of its id.
fn brand_words(brand: Option<&Map<String, Value>>) -> Vec<String> {
    let text = |name: &str| brand.and_then(|brand| brand.get(name)).and_then(Value::as_str);
    let domain = text("domain").and_then(|domain| domain.rsplit_once('.')).map(|(name, _)| name);
    domain.into_iter().chain(text("brand_id")).flat_map(words).collect()
}
