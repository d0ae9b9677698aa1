//! References of a package: audiences, signals and property lists of its targeting, and its creatives.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::Map;

use super::{BuyContext, Verifiers, all_not_done, not_done};
use crate::audience::{AudienceStatus, StoredAudience};
use crate::buy::Assigned;
use crate::catalogue::{Product, Signal, targeting};
use crate::creative::judge::Policies;
use crate::creative::{Creative, CreativeStatus, verdict};
use crate::forms::buys::{AimedSignal, PackageCreative, Targeting};
use crate::property::PropertyList;
use crate::refusals::{self, at, invalid};
use crate::store::Entity;

/// Checks the targeting of a package: the publisher supports it, it contradicts neither itself nor the product,
/// and its references resolve to the caller's records. `product` is `None` when it is no longer on sale.
pub(super) fn check_targeting(
    context: &BuyContext<'_>,
    product: Option<&Product>,
    overlay: Option<&Targeting>,
    place: &str,
    problems: &mut Vec<AdcpError>,
) -> Result<(), InternalError> {
    let Some(overlay) = overlay else {
        return Ok(());
    };
    let place = format!("{place}.targeting_overlay");
    problems.extend(all_not_done(&overlay.not_done, &place));
    let unsupported = context.profile().targeting().unsupported(&overlay.sent);
    let others = unsupported.iter().filter(|path| !overlay.not_done.contains_key(path.as_str()));
    problems.extend(others.map(|path| not_done(&format!("{place}.{path}"))));
    problems.extend(contradicted(&overlay.sent, &place));
    if let Some(product) = product {
        countries(product, overlay, &place, problems);
    }
    for (index, id) in overlay.audience_include.iter().enumerate() {
        let field = format!("{place}.audience_include[{index}]");
        problems.extend(audience(context, id, &field, true)?);
    }
    for (index, id) in overlay.audience_exclude.iter().enumerate() {
        let field = format!("{place}.audience_exclude[{index}]");
        problems.extend(audience(context, id, &field, false)?);
    }
    signals(context, overlay, &place, problems);
    if let Some(list) = &overlay.property_list
        && context.reach.find::<PropertyList>(context.reader, &list.list_id)?.is_none()
    {
        // The member's name would reveal the kind of record, so that it is omitted (AdCP 3.1
        // `error-handling`, `U-3`).
        problems.push(refusals::not_found(AdcpCode::ReferenceNotFound, None));
    }
    Ok(())
}

/// Returns an error for each contradiction within an overlay.
pub(super) fn contradicted(overlay: &Map, place: &str) -> impl Iterator<Item = AdcpError> {
    let message = "this contradicts something else in the targeting; leave out one of both";
    let paths = targeting::contradictions(overlay);
    paths.into_iter().map(move |path| invalid(&format!("{place}.{path}"), message))
}

/// Maximum number of countries refused one by one.
const MAX_COUNTRIES: usize = 20;

/// Checks that a product runs in all requested countries and in at least one that is not excluded. A product
/// without countries runs everywhere.
fn countries(product: &Product, overlay: &Targeting, place: &str, problems: &mut Vec<AdcpError>) {
    let known = &product.terms.countries;
    if known.is_empty() {
        return;
    }
    let asked = overlay.geo_countries.iter().flatten().enumerate();
    let outside = asked.filter(|(_, country)| !known.contains(country));
    for (index, _) in outside.take(MAX_COUNTRIES) {
        let message =
            "the product does not run in this country; details.accepted_values has its own";
        let error = invalid(&format!("{place}.geo_countries[{index}]"), message);
        problems.push(error.with("accepted_values", known.clone()));
    }
    if let Some(excluded) = &overlay.geo_countries_exclude
        && known.iter().all(|country| excluded.contains(country))
    {
        let message = "this excludes every country in which the product runs";
        problems.push(invalid(&format!("{place}.geo_countries_exclude"), message));
    }
}

/// Finds an entity by the id that the caller chose: first in the request's account, then in every
/// other that the caller can access.
fn chosen<T: Entity>(context: &BuyContext<'_>, id: &str) -> Result<Option<T>, InternalError> {
    let near = context.account.map(|account| &account.record);
    Ok(context.reach.chosen::<T>(context.reader, near, id)?.map(|stored| stored.thing))
}

/// Checks that an audience exists and, when it is included, is large enough.
fn audience(
    context: &BuyContext<'_>,
    id: &str,
    field: &str,
    included: bool,
) -> Result<Option<AdcpError>, InternalError> {
    let Some(audience) = chosen::<StoredAudience>(context, id)? else {
        let message = "an audience in the request does not resolve to one of yours";
        return Ok(Some(invalid(field, message)));
    };
    if !included || audience.status_at(context.now) != AudienceStatus::TooSmall {
        return Ok(None);
    }
    let message = "the audience is smaller than what can be aimed at; add to it";
    let error = at(AdcpCode::AudienceTooSmall, field, message);
    let error = error.with("minimum_size", audience.minimum_size);
    Ok(Some(error.with("current_size", audience.size())))
}

/// Checks that signals are on offer.
fn signals(
    context: &BuyContext<'_>,
    overlay: &Targeting,
    place: &str,
    problems: &mut Vec<AdcpError>,
) {
    let known = &context.profile().catalogue.signals;
    let mut look = |signals: &[AimedSignal], list: String| {
        for (index, signal) in signals.iter().enumerate() {
            if !known.iter().any(|one| is_signal(one, signal)) {
                problems.push(absent(signal, &format!("{place}.{list}[{index}]")));
            }
        }
    };
    let groups = overlay.signal_targeting_groups.iter().flat_map(|groups| &groups.groups);
    for (index, group) in groups.enumerate() {
        look(&group.signals, format!("signal_targeting_groups.groups[{index}].signals"));
    }
    look(&overlay.signal_targeting, "signal_targeting".to_owned());
}

/// Returns the error of a signal that is not on offer. A signal that is only an option of the
/// product is no record of its own.
fn absent(signal: &AimedSignal, place: &str) -> AdcpError {
    if signal.signal_ref.as_ref().is_some_and(|name| name.of_product) {
        let message = "the product does not offer this signal; its signal_targeting_options lists \
                       those that it does";
        return invalid(&format!("{place}.signal_ref"), message);
    }
    refusals::not_found(AdcpCode::SignalNotFound, Some(place))
}

/// Returns true when a signal is meant by its segment handle or its reference.
fn is_signal(known: &Signal, asked: &AimedSignal) -> bool {
    if let Some(handle) = &asked.signal_agent_segment_id {
        return known.handle() == handle;
    }
    let own = known.name();
    asked.name().is_some_and(|asked| own.as_deref() == Some(asked) || known.handle() == asked)
}

/// Checks the creatives that are assigned by id to a package of a product. Those in `before` are already
/// assigned and are not checked against its policies again.
pub(super) fn assignments(
    context: &BuyContext<'_>,
    product: Option<&Product>,
    before: &[Assigned],
    given: &[PackageCreative],
    place: &str,
    problems: &mut Vec<AdcpError>,
) -> Result<Vec<Assigned>, InternalError> {
    let policies = Policies::from_product(&context.profile().catalogue, product);
    let mut assigned = Vec::new();
    for (index, assignment) in given.iter().enumerate() {
        let id = assignment.creative_id.as_str();
        let field = format!("{place}.creative_assignments[{index}].creative_id");
        match chosen::<Creative>(context, id)? {
            None if is_sample(context, id) => {}
            None => problems.push(refusals::not_found(AdcpCode::CreativeNotFound, Some(&field))),
            Some(creative) => {
                problems.extend(usable(context, &creative, &field));
                if !before.iter().any(|known| known.is(id)) {
                    problems.extend(policies.against(&creative.given, &field));
                    problems.extend(verified(context, &creative, product, &field));
                }
            }
        }
        let creative_id = Some(id.to_owned());
        let given = assignment.sent.clone();
        assigned.push(Assigned { creative_id, given });
    }
    Ok(assigned)
}

/// Returns the error that the product's verifier gives for a creative.
fn verified(
    context: &BuyContext<'_>,
    creative: &Creative,
    product: Option<&Product>,
    field: &str,
) -> Option<AdcpError> {
    let question = verdict::on_assignment(&creative.given, product)?;
    match context.verifiers {
        Verifiers::Answered(verifications) => {
            let review = context.profile().catalogue.creatives.review;
            verdict::against(verifications, creative, &question, review, field)
        }
        Verifiers::Asked(list) => {
            let asked = (creative.creative_id.clone(), question);
            let mut list = list.borrow_mut();
            // Packages of the same product need the same question only once.
            if !list.contains(&asked) {
                list.push(asked);
            }
            None
        }
    }
}

/// Returns true when the id is a sample creative of a sandbox.
fn is_sample(context: &BuyContext<'_>, id: &str) -> bool {
    let profile = context.profile();
    profile.sandbox && profile.catalogue.creatives.samples.iter().any(|sample| sample == id)
}

/// Returns an error for a rejected or archived creative; one under review can be assigned.
fn usable(context: &BuyContext<'_>, creative: &Creative, field: &str) -> Option<AdcpError> {
    match creative.status_at(context.now) {
        CreativeStatus::Processing
        | CreativeStatus::PendingReview
        | CreativeStatus::Approved
        | CreativeStatus::Suspended => None,
        CreativeStatus::Rejected => {
            let message = "the creative was rejected; details.reasons says why; send another one";
            let reasons: Vec<_> = creative.rejection_reason.iter().cloned().collect();
            Some(at(AdcpCode::CreativeRejected, field, message).with("reasons", reasons))
        }
        CreativeStatus::Archived => {
            let message = "the creative was put away; bring it back with sync_creatives";
            Some(at(AdcpCode::InvalidState, field, message))
        }
    }
}
