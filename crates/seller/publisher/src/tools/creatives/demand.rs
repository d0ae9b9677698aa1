//! Provenance that products demand of creatives, and the verifiers that check it.

use std::collections::BTreeSet;

use tradepost_document::fault::InternalError;
use tradepost_document::json::Map;
use tradepost_document::typed;

use super::{Buys, assigns, buys_of, wanted};
use crate::admit::Admitted;
use crate::catalogue::Product;
use crate::creative::judge::Formats;
use crate::creative::policy::Provenance;
use crate::creative::verdict::{self, VerifierQuestion};
use crate::creative::{Creative, GivenCreative};
use crate::forms::creatives::{CreativeAsset, SyncCreatives};
use crate::publisher::Publisher;
use crate::refusals::ToolError;
use crate::store::{ReadExtent, StoreRead, Stored};
use crate::tool_call::AdcpToolCall;
use crate::tool_context::Prepared;
use crate::tools::buyer_records;

/// Products with a creative policy.
pub(super) struct Demands(Vec<Product>);

impl Demands {
    pub(super) fn from_products(products: &[Product]) -> Self {
        let demands = |product: &&Product| product.published.creative_policy.is_some();
        Self(products.iter().filter(demands).cloned().collect())
    }

    /// Returns the products whose demands apply to a creative: those that it runs in or is assigned
    /// to. An unassigned creative may run wherever its format is accepted, and a seller has to enforce
    /// published requirements when creatives are sent ("What sellers can require").
    fn on<'a>(
        &'a self,
        id: &'a str,
        creative: &'a GivenCreative,
        form: &'a SyncCreatives,
        buys: &'a Buys,
        formats: &'a Formats,
    ) -> (bool, Vec<&'a Product>) {
        let wanted = form.assignments.iter().filter(|assignment| assignment.creative_id == id);
        let wanted = wanted.filter_map(|assignment| buys.package(&assignment.package_id));
        let packages = buys.with_creative(id).map(|(_, package)| package).chain(wanted);
        let runs_in: BTreeSet<_> = packages.map(|package| package.product_id.as_str()).collect();
        let assigned = !runs_in.is_empty();
        let counts = |product: &&Product| match assigned {
            true => runs_in.contains(product.id()),
            false => formats.fits(product, creative),
        };
        (assigned, self.0.iter().filter(counts).collect())
    }

    /// Returns the provenance demanded of a creative.
    pub(super) fn provenance(
        &self,
        id: &str,
        creative: &GivenCreative,
        form: &SyncCreatives,
        buys: &Buys,
        formats: &Formats,
    ) -> Provenance {
        let (assigned, products) = self.on(id, creative, form, buys, formats);
        let products = products.into_iter();
        let policies = products.filter_map(|product| product.published.creative_policy.as_ref());
        policies.map(Provenance::from_policy).fold(Provenance::default(), |one, other| {
            if assigned { one.and(other) } else { one.either(other) }
        })
    }

    /// Returns the question for a verifier; `None` when the creative is unchanged.
    pub(super) fn question(
        &self,
        id: &str,
        creative: &GivenCreative,
        known: Option<&Stored<Creative>>,
        form: &SyncCreatives,
        buys: &Buys,
        formats: &Formats,
    ) -> Option<VerifierQuestion> {
        if known.is_some_and(|known| known.thing.given.sent == creative.sent) {
            return None;
        }
        let (_, products) = self.on(id, creative, form, buys, formats);
        let products = products.into_iter();
        let policies = products.filter_map(|product| product.published.creative_policy.as_ref());
        let accepted: Vec<_> = policies.flat_map(|policy| policy.verifiers()).collect();
        VerifierQuestion::from_creative(creative, &accepted)
    }
}

/// Merges a creative with the stored one: omitted members keep their values, except that a creative has
/// either `format_id` or `format_kind`.
pub(super) fn merged(
    known: Option<&Stored<Creative>>,
    given: &CreativeAsset,
) -> Result<GivenCreative, InternalError> {
    let mut whole: Map = known.map(|known| known.thing.given.sent.clone()).unwrap_or_default();
    whole.retain(|name, _| !given.replaces(name));
    whole.extend(given.sent.clone());
    // These members are instructions and not part of the creative.
    for member in ["status", "weight", "placement_ids", "placement_refs"] {
        whole.swap_remove(member);
    }
    let unread = || InternalError::new("reading a creative", "it is not in the form that it has");
    typed::read(whole).ok_or_else(unread)
}

/// Asks verifiers about changed and newly assigned creatives, before the transaction.
pub(in crate::tools) async fn prepare(
    publisher: &Publisher,
    call: &AdcpToolCall,
    form: &SyncCreatives,
    admitted: &Admitted,
) -> Result<Prepared, ToolError> {
    let look = |reader: &dyn StoreRead| questions(publisher, form, admitted, reader);
    let questions = publisher.look(call, ReadExtent::Pages, look).await?;
    let verifications = verdict::ask(publisher, questions).await;
    Ok(Prepared { verifications, ..Prepared::default() })
}

/// Returns the questions with the ids of their creatives.
fn questions(
    publisher: &Publisher,
    form: &SyncCreatives,
    admitted: &Admitted,
    reader: &dyn StoreRead,
) -> Result<Vec<(String, VerifierQuestion)>, ToolError> {
    let products = publisher.products(reader)?;
    let mut policies =
        products.iter().filter_map(|product| product.published.creative_policy.as_ref());
    // Without verifiers neither the library nor the media buys have to be read.
    let asks_anybody = policies.any(|policy| policy.verifiers().next().is_some());
    let Some(account) = admitted.account.as_ref().filter(|_| asks_anybody) else {
        return Ok(Vec::new());
    };
    let library = buyer_records::library(account, reader, wanted(form), |creative: &Creative| {
        &creative.creative_id
    })?;
    let buys = buys_of(admitted, reader, form, &library)?;
    let formats = Formats::new(publisher, &products, reader)?;
    let demands = Demands::from_products(&products);
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut changed = BTreeSet::new();
    for given in &form.creatives {
        let id = given.creative_id.as_str();
        // Only the first row of an id is used, so that the others need no question.
        let is_wanted =
            form.creative_ids.as_ref().is_none_or(|wanted| wanted.contains(&given.creative_id));
        if !seen.insert(id) || !is_wanted {
            continue;
        }
        let known = library.get(id);
        let whole = merged(known, given)?;
        if known.is_some_and(|known| known.thing.given.sent != whole.sent) {
            changed.insert(id);
        }
        let question = demands.question(id, &whole, known, form, &buys, &formats);
        found.extend(question.map(|question| (id.to_owned(), question)));
    }
    for assignment in &form.assignments {
        let creative = library.get(&assignment.creative_id).map(|known| &known.thing);
        let package = buys.package(&assignment.package_id);
        let Some(creative) = creative else { continue };
        let Some(package) = package else { continue };
        let product = products.iter().find(|product| product.id() == package.product_id);
        let id = &assignment.creative_id;
        // A creative that this request changes is asked about in its new version.
        let asked =
            Some(creative).filter(|_| !assigns(package, id) && !changed.contains(id.as_str()));
        let question = asked.and_then(|asked| verdict::on_assignment(&asked.given, product));
        let question = question.map(|question| (id.clone(), question));
        // Packages of the same product need the same question only once.
        found.extend(question.filter(|question| !found.contains(question)));
    }
    Ok(found)
}
