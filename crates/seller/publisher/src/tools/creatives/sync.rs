//! `sync_creatives`: creates, updates and archives creatives, with a result for each. Everything is
//! validated before anything is stored, so that a strict sync is all or nothing and a dry run
//! changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json, object};

use super::demand::{self, Demands};
use super::{Buys, assigns, buys_of, runs, wanted};
use crate::account::Account;
use crate::buy::{self, save::save_buy};
use crate::catalogue::Product;
use crate::creative::judge::{Formats, Policies};
use crate::creative::policy::{CreativePolicy, CreativeReview};
use crate::creative::verdict::{self, CreativeVerdict};
use crate::creative::{Creative, CreativeStatus};
use crate::forms::creatives::{CreativeAsset, CreativeAssignment, SyncCreatives, ValidationMode};
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::{ToolReply, object};
use crate::store::{New, Stored, own_id};
use crate::tool_context::WriteContext;
use crate::tools::buyer_records;

/// Change of one creative.
enum SyncAction {
    Create(Creative),
    Update(Stored<Creative>, Vec<String>),
    Keep(Stored<Creative>),
    Archive(Stored<Creative>),
    Remove(Stored<Creative>),
    Fail(Vec<AdcpError>),
}

impl SyncAction {
    /// Returns the resulting creative, if it remains in use.
    fn creative(&self) -> Option<&Creative> {
        match self {
            Self::Create(new) => Some(new),
            Self::Update(known, _) | Self::Keep(known) => Some(&known.thing),
            Self::Archive(_) | Self::Remove(_) | Self::Fail(_) => None,
        }
    }
}

/// Result of one creative.
struct SyncResult {
    creative_id: String,
    action: SyncAction,
    /// Packages that it is now assigned to.
    assigned: Vec<String>,
    /// Reasons for failed assignments, by package id.
    refused: BTreeMap<String, String>,
}

impl SyncResult {
    fn new(creative_id: &str, action: SyncAction) -> Self {
        let assigned = Vec::new();
        let refused = BTreeMap::new();
        Self { creative_id: creative_id.to_owned(), action, assigned, refused }
    }

    fn failed(&self) -> bool {
        matches!(self.action, SyncAction::Fail(_))
    }
}

/// State of one sync.
struct Sync<'a> {
    work: &'a WriteContext<'a>,
    account: &'a Stored<Account>,
    policy: &'a CreativePolicy,
    formats: Formats,
    demands: Demands,
    products: Vec<Product>,
    library: BTreeMap<String, Stored<Creative>>,
    buys: Buys,
    items: Vec<SyncResult>,
}

pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &SyncCreatives,
) -> Result<ToolReply, ToolError> {
    let account = work.account()?;
    if form.delete_missing && form.creative_ids.is_some() {
        let message = "delete_missing is about the whole library; leave creative_ids out";
        return Err(refusals::invalid("delete_missing", message).into());
    }
    let catalogue = &work.publisher.profile.catalogue;
    let products = work.publisher.products(work.reader)?;
    let library =
        buyer_records::library(account, work.reader, wanted(form), |creative: &Creative| {
            &creative.creative_id
        })?;
    let mut sync = Sync {
        work,
        account,
        policy: &catalogue.creatives,
        formats: Formats::new(work.publisher, &products, work.reader)?,
        demands: Demands::from_products(&products),
        products,
        buys: buys_of(&work.admitted, work.reader, form, &library)?,
        library,
        items: Vec::new(),
    };
    sync.plan_actions(form)?;
    // Assigned last, because an assignment may name a creative of this request.
    let unassigned = sync.assign(form);
    let strict = form.validation_mode != Some(ValidationMode::Lenient);
    let failed = sync.items.iter().any(SyncResult::failed);
    // An assignment has no row of its own. In a strict sync its errors refuse the request, unless
    // creatives failed, whose rows say more.
    if strict && !failed {
        AdcpRefusal::of_all(unassigned)?;
    }
    if strict && failed {
        sync.undo();
    }
    // Built before the changes from the same items, so that a dry run returns what a sync would.
    let body = sync.body(form.dry_run);
    let changes_nothing = form.dry_run || strict && failed;
    if !changes_nothing {
        sync.apply()?;
    }
    Ok(ToolReply::completed("each creative has its own result", body))
}

impl Sync<'_> {
    fn now(&self) -> Timestamp {
        self.work.call.now
    }

    /// Plans an action for each creative of the request that `creative_ids` permits. With `delete_missing`, also for
    /// those of the library that the request does not have.
    fn plan_actions(&mut self, form: &SyncCreatives) -> Result<(), InternalError> {
        let mut seen = BTreeSet::new();
        for (index, given) in form.creatives.iter().enumerate() {
            let id = &given.creative_id;
            if form.creative_ids.as_ref().is_some_and(|wanted| !wanted.contains(id)) {
                continue;
            }
            let at = format!("creatives[{index}]");
            let action = if seen.insert(id.as_str()) {
                self.action(given, &at, form)?
            } else {
                let message = "the same creative stands in the request twice";
                SyncAction::Fail(vec![refusals::invalid(&format!("{at}.creative_id"), message)])
            };
            self.items.push(SyncResult::new(id, action));
        }
        if form.delete_missing {
            let missing = self.library.iter().filter(|(id, _)| !seen.contains(id.as_str()));
            for (id, known) in
                missing.filter(|(_, known)| known.thing.status != CreativeStatus::Archived)
            {
                let action = self.archive_or_remove(known.clone());
                self.items.push(SyncResult::new(id, action));
            }
        }
        Ok(())
    }

    fn action(
        &self,
        given: &CreativeAsset,
        at: &str,
        form: &SyncCreatives,
    ) -> Result<SyncAction, InternalError> {
        let id = given.creative_id.as_str();
        let known = self.library.get(id);
        let whole = demand::merged(known, given)?;
        let demanded = self.demands.provenance(id, &whole, form, &self.buys, &self.formats);
        let policies = Policies::new(&self.work.publisher.profile.catalogue, demanded);
        // The merged creative is validated, because old and new members have to fit together.
        let mut errors = policies.problems(&self.formats, &whole, at);
        // Unchanged creatives were not verified.
        let question = self.demands.question(id, &whole, known, form, &self.buys, &self.formats);
        let verifications = &self.work.prepared.verifications;
        let verdict =
            question.as_ref().and_then(|question| verdict::known(verifications, id, question));
        if question.is_some() && verdict.is_none() {
            return Ok(SyncAction::Fail(vec![verdict::changed(at)]));
        }
        if let Some(CreativeVerdict::Contradicted(details)) = verdict
            && errors.is_empty()
        {
            let claim = format!("{at}.provenance.digital_source_type");
            errors.push(verdict::contradicted(&claim, details));
        }
        let asked: Vec<String> = question.into_iter().map(|question| question.agent_url).collect();
        let Some(known) = known else {
            if !errors.is_empty() {
                return Ok(SyncAction::Fail(errors));
            }
            let (status, review_ends_at) = self.review(verdict);
            let observations = observed(verdict);
            let new = Creative::new(id, whole, status);
            return Ok(SyncAction::Create(Creative { review_ends_at, observations, asked, ..new }));
        };
        let before = &known.thing.given.sent;
        let changes = whole.sent.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        let mut changes: Vec<String> = changes.map(|(name, _)| name.clone()).collect();
        let now = self.now();
        let status = known.thing.status_at(now);
        let is_archiving = given.status == Some(CreativeStatus::Archived);
        // A changed creative has to be reviewed and cannot be archived in the same request.
        if is_archiving && changes.is_empty() && status != CreativeStatus::Archived {
            return Ok(self.archive_or_remove(known.clone()));
        }
        let mut assigned = self.buys.with_creative(id);
        if !changes.is_empty() {
            // A running creative keeps the version that was reviewed.
            if assigned.clone().any(|(_, package)| over(package, now)) {
                errors.push(too_late(at));
            } else if assigned.any(|(buy, package)| runs(&buy.thing, package, now)) {
                errors.push(in_delivery(at));
            }
        }
        if !errors.is_empty() {
            return Ok(SyncAction::Fail(errors));
        }
        // Sending an archived creative again restores it, even unchanged.
        let is_restoring = status == CreativeStatus::Archived && !is_archiving;
        if changes.is_empty() && !is_restoring {
            return Ok(SyncAction::Keep(known.clone()));
        }
        if is_restoring {
            changes.push("status".to_owned());
        }
        let mut next = known.clone();
        let (status, review_ends_at) = self.review(verdict);
        if verdict.is_some() {
            next.thing.observations = observed(verdict);
        }
        // Verifiers have not been asked about the changed version before.
        if known.thing.given.sent != whole.sent {
            next.thing.asked = asked;
        }
        next.thing.given = whole;
        next.thing.status = status;
        next.thing.review_ends_at = review_ends_at;
        // A changed creative is reviewed again, and earlier results no longer apply.
        next.thing.rejection_reason = None;
        // It was about the earlier content.
        next.thing.decision = None;
        next.thing.offline = None;
        Ok(SyncAction::Update(next, changes))
    }

    /// Archives an approved creative and removes one that is not approved; fails while it is in
    /// use.
    fn archive_or_remove(&self, known: Stored<Creative>) -> SyncAction {
        let id = known.thing.creative_id.as_str();
        let now = self.now();
        let mut assigned = self.buys.with_creative(id);
        let is_assigned = assigned.clone().next().is_some();
        let running = assigned.any(|(buy, package)| runs(&buy.thing, package, now));
        let stays = match known.thing.status_at(now) {
            CreativeStatus::Approved | CreativeStatus::Archived => running,
            CreativeStatus::Processing
            | CreativeStatus::PendingReview
            | CreativeStatus::Rejected => is_assigned,
            CreativeStatus::Suspended => true,
        };
        match known.thing.status_at(now) {
            _ if stays => SyncAction::Fail(vec![in_delivery("creatives")]),
            CreativeStatus::Approved => SyncAction::Archive(known),
            CreativeStatus::Archived => SyncAction::Keep(known),
            CreativeStatus::Suspended
            | CreativeStatus::Processing
            | CreativeStatus::PendingReview
            | CreativeStatus::Rejected => SyncAction::Remove(known),
        }
    }

    /// Returns the status of an accepted creative and the end of its review. A person reviews it when a
    /// verifier gave no answer.
    fn review(&self, verdict: Option<&CreativeVerdict>) -> (CreativeStatus, Option<Timestamp>) {
        let review = self.policy.review;
        if verdict == Some(&CreativeVerdict::NoAnswer) || review == CreativeReview::Person {
            return (CreativeStatus::PendingReview, None);
        }
        let Some(duration) = review.takes() else {
            return (CreativeStatus::Approved, None);
        };
        let end = self.now().checked_add(duration).unwrap_or(Timestamp::MAX);
        (CreativeStatus::PendingReview, Some(end))
    }

    /// Assigns creatives to packages and returns the errors. Named records belong to the caller or
    /// are treated as absent (AdCP 3.1 `error-handling`; `U-1`, `U-4`).
    fn assign(&mut self, form: &SyncCreatives) -> Vec<AdcpError> {
        let mut errors = Vec::new();
        for assignment in &form.assignments {
            let id = assignment.creative_id.as_str();
            let index = match self.items.iter().position(|item| item.creative_id == id) {
                Some(index) => index,
                // A creative that is only assigned needs a result too, to carry its errors.
                None => {
                    let field = Some("assignments");
                    let missing = || vec![refusals::not_found(AdcpCode::CreativeNotFound, field)];
                    let known = self.library.get(id).cloned();
                    let action =
                        known.map_or_else(|| SyncAction::Fail(missing()), SyncAction::Keep);
                    self.items.push(SyncResult::new(id, action));
                    self.items.len() - 1
                }
            };
            let done = self.assign_one(index, assignment);
            let Some(item) = self.items.get_mut(index) else {
                continue;
            };
            match done {
                Ok(()) => item.assigned.push(assignment.package_id.clone()),
                Err(reasons) => {
                    let messages: Vec<_> =
                        reasons.iter().map(|error| error.message.as_str()).collect();
                    item.refused.insert(assignment.package_id.clone(), messages.join("; "));
                    for error in reasons {
                        // An error names the whole list and not the item (AdCP 3.1
                        // `error-handling`, `U-4`), so that several may be equal: each is reported
                        // once.
                        if !errors.contains(&error) {
                            errors.push(error);
                        }
                    }
                }
            }
        }
        errors
    }

    /// Assigns a creative to a package, or returns the reasons why it cannot be assigned.
    fn assign_one(
        &mut self,
        index: usize,
        assignment: &CreativeAssignment,
    ) -> Result<(), Vec<AdcpError>> {
        let id = &assignment.creative_id;
        let now = self.now();
        let refused = |code, message| Err(vec![refusals::at(code, "assignments", message)]);
        let creative = self.items.get(index).and_then(|item| item.action.creative());
        let Some(package) = self.buys.package(&assignment.package_id) else {
            return Err(vec![refusals::not_found(AdcpCode::PackageNotFound, Some("assignments"))]);
        };
        let Some(creative) = creative else {
            let message = "the creative was not taken, so that it is assigned to nothing";
            return refused(AdcpCode::InvalidState, message);
        };
        match creative.status_at(now) {
            CreativeStatus::Rejected => {
                let message = "a creative that was rejected cannot be assigned; revise it first";
                let error = refusals::at(AdcpCode::CreativeRejected, "assignments", message);
                return Err(vec![match &creative.rejection_reason {
                    Some(reason) => error.with("reasons", [reason.as_str()]),
                    None => error,
                }]);
            }
            CreativeStatus::Archived => {
                let message = "an archived creative cannot be assigned; sync it again first";
                return refused(AdcpCode::InvalidState, message);
            }
            CreativeStatus::Processing
            | CreativeStatus::PendingReview
            | CreativeStatus::Approved
            | CreativeStatus::Suspended => {}
        }
        if !package.is_live() {
            return refused(AdcpCode::InvalidState, "the package is canceled");
        }
        if package.is_deal() {
            let message = "the package is sold as a deal, whose creatives your bidder serves";
            return refused(AdcpCode::UnsupportedFeature, message);
        }
        if over(package, now) {
            return Err(vec![too_late("assignments")]);
        }
        // Creatives of this request were validated with the products that they are assigned to.
        let earlier = self.library.get(id).map(|known| &known.thing);
        let earlier = earlier.filter(|earlier| earlier.given.sent == creative.given.sent);
        if let Some(earlier) = earlier.filter(|_| !assigns(package, id)) {
            let product = self.products.iter().find(|product| product.id() == package.product_id);
            let policies = Policies::from_product(&self.work.publisher.profile.catalogue, product);
            let mut against = policies.against(&earlier.given, "assignments");
            if let Some(question) = verdict::on_assignment(&earlier.given, product) {
                let verifications = &self.work.prepared.verifications;
                let review = self.policy.review;
                let error =
                    verdict::against(verifications, earlier, &question, review, "assignments");
                against.extend(error);
            }
            if !against.is_empty() {
                return Err(against);
            }
        }
        let mut given = object([("creative_id", Some(json!(id)))]);
        given.extend(assignment.terms.clone());
        self.buys.assign(&assignment.package_id, id, given);
        Ok(())
    }

    /// Marks every creative as failed, because a strict sync with an error changes nothing.
    fn undo(&mut self) {
        for item in &mut self.items {
            item.assigned.clear();
            if !item.failed() {
                let message = "nothing of this sync was done, because other creatives in it failed; \
                               correct them, or send validation_mode lenient";
                let error = refusals::error(AdcpCode::ValidationError, message);
                let suggestion = Some("correct the creatives that failed for other reasons".into());
                item.action = SyncAction::Fail(vec![AdcpError { suggestion, ..error }]);
            }
        }
    }

    /// Returns the reply with a row for each creative.
    fn body(&self, dry_run: bool) -> Value {
        let now = self.now();
        let shown = |item: &SyncResult| {
            let (action, changes, errors) = match &item.action {
                SyncAction::Create(_) => ("created", None, None),
                SyncAction::Update(_, changes) => ("updated", Some(changes), None),
                SyncAction::Keep(_) => ("unchanged", None, None),
                SyncAction::Archive(_) | SyncAction::Remove(_) => ("deleted", None, None),
                SyncAction::Fail(errors) => ("failed", None, Some(errors)),
            };
            object!({
                "creative_id": item.creative_id,
                "action": action,
                "status"?: item.action.creative().map(|creative| creative.status_at(now)),
                "changes"?: changes,
                "errors"?: errors,
                "assigned_to"?: (!item.assigned.is_empty()).then_some(&item.assigned),
                "assignment_errors"?: (!item.refused.is_empty()).then_some(&item.refused),
            })
        };
        object!({
            "creatives": self.items.iter().map(shown).collect::<Vec<_>>(),
            "dry_run"?: dry_run.then_some(true),
            "sandbox"?: self.work.sandbox(),
        })
    }

    /// Stores the planned changes and the media buys that they touch, and tells the staff about creatives to be reviewed.
    fn apply(mut self) -> Result<(), InternalError> {
        let tx = self.work.tx;
        let now = self.now();
        let owner = self.account.record.owner.as_str();
        let account = self.account.record.id.as_str();
        let mut touched = BTreeSet::new();
        // Creatives to be reviewed again, as stored.
        let mut reviewed: Vec<Stored<Creative>> = Vec::new();
        for item in self.items {
            let places = item.assigned.iter().filter_map(|id| self.buys.by_package.get(id));
            touched.extend(places.map(|place| place.buy));
            let mut fresh = None;
            match item.action {
                SyncAction::Create(mut new) => {
                    new.assign(item.assigned, now);
                    let id = own_id(owner, account, &item.creative_id);
                    let account = Some(account);
                    let new_record = New { id: &id, owner, account, state: "", now };
                    let record = new_record.record(&new)?;
                    tx.add(new_record, &new)?;
                    reviewed.push(Stored { thing: new, record });
                }
                SyncAction::Update(mut known, _) => {
                    known.thing.assign(item.assigned, now);
                    tx.change(&mut known, now)?;
                    reviewed.push(known);
                }
                SyncAction::Keep(mut known) => {
                    // An unchanged creative keeps its revision.
                    fresh = known.thing.assign(item.assigned, now).then_some(known);
                }
                SyncAction::Archive(mut known) => {
                    known.thing.status = CreativeStatus::Archived;
                    known.thing.review_ends_at = None;
                    fresh = Some(known);
                }
                SyncAction::Remove(known) => {
                    tx.remove(known.record.kind, &known.record.id)?;
                }
                SyncAction::Fail(_) => {}
            }
            if let Some(mut known) = fresh {
                tx.change(&mut known, now)?;
            }
        }
        let tenant = self.work.call.caller.tenant();
        let events = self.work.staff_events();
        events.note_waiting_creatives(&self.account.thing, &reviewed, &tenant)?;
        for (index, buy) in self.buys.buys.iter_mut().enumerate() {
            // One new revision per media buy, however many creatives were assigned.
            if touched.contains(&index) {
                buy.thing.settle();
                let revision = buy.record.revision + 1;
                let by = self.work.call.caller.tenant();
                let note = "creatives were assigned";
                buy.thing.note(revision, now, "creatives_assigned", note, Some(&by));
                save_buy(tx, buy, now)?;
            }
        }
        Ok(())
    }
}

/// Returns the observations to store.
fn observed(verdict: Option<&CreativeVerdict>) -> Vec<Value> {
    match verdict {
        Some(CreativeVerdict::Holds(observations)) => observations.clone(),
        Some(CreativeVerdict::Contradicted(_) | CreativeVerdict::NoAnswer) | None => Vec::new(),
    }
}

/// Returns true when the deadline for a package's creatives has passed.
fn over(package: &buy::Package, now: Timestamp) -> bool {
    package.creative_deadline().is_some_and(|deadline| deadline < now)
}

fn too_late(field: &str) -> AdcpError {
    let message = "the deadline for creatives of a package has passed; get_media_buys shows it as \
                   creative_deadline";
    refusals::at(AdcpCode::CreativeDeadlineExceeded, field, message)
}

fn in_delivery(field: &str) -> AdcpError {
    let message = "the creative is in delivery; pause its packages first, or send a new creative";
    refusals::at(AdcpCode::InvalidState, field, message)
}
