//! `list_creatives`: the library, as it is asked for.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_wire::adcp::error::Code;
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use super::Buys;
use crate::account::Account;
use crate::announce;
use crate::creative::{Creative, Status};
use crate::forms::Direction;
use crate::forms::creatives::{Filters, ListCreatives, Sort, SortField};
use crate::refuse::{self, Stop};
use crate::reply::Reply;
use crate::resolve::Reference;
use crate::shelf::Kept;
use crate::tools::page::{self, Page};
use crate::work::Work;

/// A creative with what is shown of it besides.
struct Row {
    kept: Kept<Creative>,
    status: Status,
    account: Option<Value>,
    /// Packages with the media buy and the moment.
    packages: Vec<(String, String, Timestamp)>,
}

pub(in crate::tools) fn perform(work: &Work<'_>, form: &ListCreatives) -> Result<Reply, Stop> {
    let filters = form.filters.as_ref();
    if filters.is_some_and(|filters| filters.has_served.is_some()) {
        let message = "this seller does not count what each creative has served";
        return Err(refuse::at(Code::UnsupportedFeature, "filters.has_served", message).into());
    }
    let mut rows = rows(work)?;
    rows.retain(|row| row.passes(filters));
    let (field, direction) = sort(form.sort.as_ref(), &mut rows);
    let (statuses, formats) = summary(&rows);
    let total = rows.len();
    let scope = page::scope(&work.ask.arguments, work.admitted.account_id());
    let Page { items, pagination } =
        page::sized(rows, form.pagination.as_ref(), &scope, 50, page::MOST)?;
    let mut shown = Vec::new();
    for row in &items {
        let activity = || announce::activity(work.shelf, &row.kept, form.webhook_activity_limit);
        let activity = form.include_webhook_activity.then(activity).transpose()?;
        shown.push(form.show(row, activity));
    }
    let body = json!({
        "query_summary": {
            "total_matching": total,
            "returned": items.len(),
            "filters_applied": filters.iter().flat_map(|it| it.sent.keys()).collect::<Vec<_>>(),
            "sort_applied": {"field": field, "direction": direction},
        },
        "pagination": pagination,
        "creatives": shown,
        "status_summary": statuses,
        "format_summary": formats,
    });
    Ok(Reply::completed("the creatives that fit", body))
}

/// The caller's creatives: of the account that is named, or of all.
fn rows(work: &Work<'_>) -> Result<Vec<Row>, Stop> {
    let creatives: Vec<Kept<Creative>> = work.all_of_account()?;
    let reach = &work.admitted.reach;
    let all = reach.rights().accounts(&reach.tenant, work.shelf)?;
    let accounts = all.iter().chain(&work.admitted.account);
    let shown = |it: &Kept<Account>| (it.record.id.clone(), json!(it.thing.published()));
    let accounts: BTreeMap<String, Value> = accounts.map(shown).collect();
    let named =
        |it: &Kept<Creative>| Some((it.record.account.clone()?, it.thing.creative_id.clone()));
    let ids: BTreeSet<(String, String)> = creatives.iter().filter_map(named).collect();
    let buys = Buys::of(&work.admitted, work.shelf)?;
    let row = |kept: Kept<Creative>| {
        let id = kept.thing.creative_id.as_str();
        let elsewhere = |account: &str| ids.contains(&(account.to_owned(), id.to_owned()));
        let packages = buys.assigned(kept.record.account.as_deref(), id, elsewhere);
        let packages = packages.map(|(buy, package)| {
            let moment = kept.thing.assigned.get(&package.package_id).copied();
            // What was assigned by the purchase itself has no moment of its own.
            let moment = moment.unwrap_or(buy.record.created_at);
            (package.package_id.clone(), buy.thing.media_buy_id.clone(), moment)
        });
        let packages = packages.collect();
        let account = kept.record.account.as_ref().and_then(|id| accounts.get(id).cloned());
        Row { status: kept.thing.status_at(work.ask.now), account, packages, kept }
    };
    Ok(creatives.into_iter().map(row).collect())
}

impl Filters {
    fn admit(&self, row: &Row) -> bool {
        let (creative, record) = (&row.kept.thing, &row.kept.record);
        let given = &creative.given;
        let tags: Vec<&str> = given.tags.iter().flatten().flatten().map(String::as_str).collect();
        let any = |list: &Option<Vec<String>>, ids: &[&str]| {
            list.as_ref().is_none_or(|list| list.iter().any(|id| ids.contains(&id.as_str())))
        };
        let packages: Vec<&str> = row.packages.iter().map(|(id, _, _)| id.as_str()).collect();
        let buys: Vec<&str> = row.packages.iter().map(|(_, id, _)| id.as_str()).collect();
        let concept = given.concept_id.as_deref().unwrap_or_default();
        let varies = given.variables.as_ref().is_some_and(|it| !it.is_empty());
        let is_in = |ids: &Vec<_>| given.format_id.as_ref().is_some_and(|id| ids.contains(id));
        let part = self.name_contains.as_ref().map(|part| part.to_lowercase());
        self.accounts.as_ref().is_none_or(|refs| refs.iter().any(|it| row.is_of(it)))
            && self.tags.iter().all(|tag| tags.contains(&tag.as_str()))
            && any(&self.tags_any, &tags)
            && part.is_none_or(|part| creative.name().to_lowercase().contains(&part))
            && any(&self.creative_ids, &[creative.creative_id.as_str()])
            && any(&self.concept_ids, &[concept])
            && self.created_after.is_none_or(|moment| record.created_at > moment)
            && self.created_before.is_none_or(|moment| record.created_at < moment)
            && self.updated_after.is_none_or(|moment| record.updated_at > moment)
            && self.updated_before.is_none_or(|moment| record.updated_at < moment)
            && any(&self.assigned_to_packages, &packages)
            && any(&self.media_buy_ids, &buys)
            && self.unassigned.is_none_or(|unassigned| unassigned == packages.is_empty())
            && self.has_variables.is_none_or(|wanted| wanted == varies)
            && self.format_ids.as_ref().is_none_or(is_in)
    }
}

impl Row {
    /// Whether it is listed. What is archived is listed when it is asked for alone.
    fn passes(&self, filters: Option<&Filters>) -> bool {
        let status = match filters.and_then(|filters| filters.statuses.as_ref()) {
            Some(statuses) => statuses.contains(&self.status),
            None => self.status != Status::Archived,
        };
        status && filters.is_none_or(|filters| filters.admit(self))
    }

    /// Whether it is of the account that a reference means.
    fn is_of(&self, wanted: &Reference) -> bool {
        let Some(own) = self.account.as_ref().and_then(Reference::read) else {
            return false;
        };
        let same = |name: &str| wanted.sent.get(name) == own.sent.get(name);
        let sandbox = |of: &Reference| of.sandbox.unwrap_or_default();
        match &wanted.account_id {
            Some(id) => own.account_id.as_ref() == Some(id),
            None => same("brand") && same("operator") && sandbox(wanted) == sandbox(&own),
        }
    }
}

/// Puts creatives in the order that is asked for: the newest first when none is. Whatever is equal stands
/// in the order of making, so that pages do not overlap.
fn sort(asked: Option<&Sort>, rows: &mut [Row]) -> (SortField, Direction) {
    let field = asked.and_then(|asked| asked.field).unwrap_or(SortField::CreatedDate);
    let direction = asked.and_then(|asked| asked.direction).unwrap_or(Direction::Desc);
    rows.sort_by(|left, right| {
        let (one, other) = (&left.kept, &right.kept);
        let order = match field {
            SortField::CreatedDate => one.record.created_at.cmp(&other.record.created_at),
            SortField::UpdatedDate => one.record.updated_at.cmp(&other.record.updated_at),
            SortField::Name => one.thing.name().cmp(other.thing.name()),
            SortField::Status => left.status.cmp(&right.status),
            SortField::AssignmentCount => left.packages.len().cmp(&right.packages.len()),
        };
        order.then(one.record.place.cmp(&other.record.place))
    });
    if direction == Direction::Desc {
        rows.reverse();
    }
    (field, direction)
}

impl ListCreatives {
    fn show(&self, row: &Row, activity: Option<Vec<Value>>) -> Value {
        let (creative, record) = (&row.kept.thing, &row.kept.record);
        let (fields, whole) = (self.fields.as_ref(), self.fields.is_none());
        let wanted = |name: &str| fields.is_none_or(|fields| fields.iter().any(|it| it == name));
        let given = |name: &str, shown: bool| creative.given.sent.get(name).filter(|_| shown);
        let reason = creative.rejection_reason.as_ref();
        let package = |(id, _, moment): &(String, String, Timestamp)| json!({"package_id": id, "assigned_date": moment});
        let packages: Vec<_> = row.packages.iter().map(package).collect();
        let assignments =
            json!({"assignment_count": packages.len(), "assigned_packages": packages});
        let has_assignments = self.include_assignments.unwrap_or(true) && wanted("assignments");
        let has_snapshot = self.include_snapshot && wanted("snapshot");
        json!({
            // The schema demands these, whatever fields are asked for.
            "creative_id": creative.creative_id,
            "name": creative.name(),
            "format_id"?: given("format_id", true),
            "format_kind"?: given("format_kind", true),
            "status": row.status,
            "created_date": record.created_at,
            "updated_date": record.updated_at,
            "rejection_reason"?: reason.filter(|_| row.status == Status::Rejected),
            "account"?: row.account.as_ref().filter(|_| whole),
            "assets"?: given("assets", whole),
            "format_option_ref"?: given("format_option_ref", whole),
            "provenance"?: given("provenance", whole),
            "tags"?: given("tags", wanted("tags")),
            "concept_id"?: given("concept_id", wanted("concept")),
            "concept_name"?: given("concept_name", wanted("concept")),
            "assignments"?: has_assignments.then_some(assignments),
            "snapshot_unavailable_reason"?: has_snapshot.then_some("SNAPSHOT_UNSUPPORTED"),
            "items"?: given("items", self.include_items && wanted("items")),
            "variables"?: given("variables", self.include_variables && wanted("variables")),
            "webhook_activity"?: activity,
        })
    }
}

/// How many there are of each status and of each format.
fn summary(rows: &[Row]) -> (Value, Value) {
    let (mut statuses, mut formats) = (BTreeMap::new(), BTreeMap::new());
    for row in rows {
        *statuses.entry(row.status.name()).or_insert(0_u32) += 1;
        let given = &row.kept.thing.given;
        let format = given.format_id.as_ref().and_then(|id| id.id.as_deref());
        if let Some(format) = format.or(given.format_kind.as_deref()) {
            *formats.entry(format).or_insert(0_u32) += 1;
        }
    }
    (json!(statuses), json!(formats))
}
