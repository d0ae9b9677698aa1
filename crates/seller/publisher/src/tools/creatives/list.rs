//! `list_creatives`: the creatives of the library that match the filters.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};
use tradepost_document::typed::Typed as _;

use super::Buys;
use crate::buy::{MediaBuy, Package};
use crate::creative::{Creative, CreativeStatus};
use crate::forms::Direction;
use crate::forms::creatives::{CreativeFilters, CreativeSort, CreativeSortField, ListCreatives};
use crate::notifications;
use crate::refusals::{self, ToolError};
use crate::reply::ToolReply;
use crate::resolve::Reference;
use crate::store::{EntityRecord, IndexField, Query, Stored, Tally, own_id};
use crate::tool_context::ToolContext;
use crate::tools::page::{self, ListPage, PageSize};

/// Creative with the related data that a row shows.
struct CreativeRow {
    stored: Stored<Creative>,
    status: CreativeStatus,
    account: Option<Value>,
    packages: Vec<RowAssignment>,
}

/// Assignment of a row's creative to a package.
struct RowAssignment {
    package_id: String,
    media_buy_id: String,
    assigned_at: Timestamp,
}

pub(in crate::tools) fn perform(
    work: &ToolContext<'_>,
    form: &ListCreatives,
) -> Result<ToolReply, ToolError> {
    let filters = form.filters.as_ref();
    if filters.is_some_and(|filters| filters.has_served.is_some()) {
        let message = "this seller does not count what each creative has served";
        return Err(
            refusals::at(AdcpCode::UnsupportedFeature, "filters.has_served", message).into()
        );
    }
    let Listed { items, pagination, tallies, field, direction } = match by_status(form) {
        Some(query) => listed_by_status(work, form, &query)?,
        None => listed_one_by_one(work, form)?,
    };
    let (statuses, formats) = summary(&tallies);
    let total: u64 = statuses.values().sum();
    let mut shown = Vec::new();
    for row in &items {
        let activity =
            || notifications::activity(work.reader, &row.stored, form.webhook_activity_limit);
        let activity = form.include_webhook_activity.then(activity).transpose()?;
        shown.push(form.show(row, activity));
    }
    let applied: Vec<_> = filters.iter().flat_map(|filters| filters.sent.keys()).collect();
    let body = json!({
        "query_summary": {
            "total_matching": total,
            "returned": items.len(),
            "filters_applied": applied,
            "sort_applied": {"field": field, "direction": direction},
        },
        "pagination": pagination,
        "creatives": shown,
        "status_summary": statuses,
        "format_summary": formats,
    });
    Ok(ToolReply::completed("the creatives that fit", body))
}

/// Page sizes of the creative list.
const SIZE: PageSize = PageSize { usual: 50, most: page::MOST };

/// Page of creatives with the totals of the whole list.
struct Listed {
    items: Vec<CreativeRow>,
    pagination: Value,
    tallies: Vec<Tally>,
    field: CreativeSortField,
    direction: Direction,
}

/// Reads a page that the store can select by itself.
fn listed_by_status(
    work: &ToolContext<'_>,
    form: &ListCreatives,
    query: &Query,
) -> Result<Listed, ToolError> {
    let account = work.admitted.account_id();
    let found =
        page::read_stored::<Creative>(work, account, query, form.pagination.as_ref(), SIZE)?;
    Ok(Listed {
        items: rows(work, found.page.items)?,
        pagination: found.page.pagination,
        tallies: found.tallies,
        field: CreativeSortField::CreatedDate,
        direction: Direction::from_order(query.order),
    })
}

/// Reads all candidates and filters them one by one.
fn listed_one_by_one(work: &ToolContext<'_>, form: &ListCreatives) -> Result<Listed, ToolError> {
    let filters = form.filters.as_ref();
    let mut rows = rows(work, candidates(work, filters)?)?;
    rows.retain(|row| row.passes(filters));
    let (field, direction) = sort(form.sort.as_ref(), &mut rows);
    let tallies = rows.iter().map(CreativeRow::tally).collect();
    let scope = page::scope(&work.call.arguments, work.admitted.account_id());
    let page = page::sized(rows, form.pagination.as_ref(), &scope, SIZE.usual, SIZE.most)?;
    let ListPage { items, pagination } = page;
    Ok(Listed { items, pagination, tallies, field, direction })
}

/// Returns a query when the store can page by itself: filtered by status at most, in order of creation.
/// `None` when each creative has to be examined.
fn by_status(form: &ListCreatives) -> Option<Query> {
    let sort = form.sort.as_ref();
    let field = sort.and_then(|sort| sort.field).unwrap_or(CreativeSortField::CreatedDate);
    if field != CreativeSortField::CreatedDate {
        return None;
    }
    let order = sort.and_then(|sort| sort.direction).unwrap_or(Direction::Desc).order();
    let filters = form.filters.as_ref();
    if filters.is_some_and(|filters| filters.sent.keys().any(|name| name != "statuses")) {
        return None;
    }
    // Archived creatives are listed only on request.
    let listed = |status: &&CreativeStatus| **status != CreativeStatus::Archived;
    let mut states: Vec<String> = match filters.and_then(|filters| filters.statuses.as_ref()) {
        Some(statuses) => statuses.iter().map(|status| status.name().to_owned()).collect(),
        None => CreativeStatus::ALL
            .iter()
            .filter(listed)
            .map(|status| status.name().to_owned())
            .collect(),
    };
    states.sort_unstable();
    states.dedup();
    // An empty list of statuses matches nothing, but an empty query would match everything.
    (!states.is_empty()).then(|| Query { states, order, ..Query::default() })
}

/// Reads the creatives that may match the filters: only those that the filters name, where they name any.
fn candidates(
    work: &ToolContext<'_>,
    filters: Option<&CreativeFilters>,
) -> Result<Vec<Stored<Creative>>, ToolError> {
    let Some(ids) = named_ids(work, filters)? else { return Ok(work.all_of_account()?) };
    let account = work.admitted.account_id();
    let ids = ids.iter().map(String::as_str);
    let query = Query::default().led_to_by_any(IndexField::ChosenId, ids);
    let mut found = work.admitted.reach.all::<Creative>(work.reader, &query)?;
    found.retain(|stored| account.is_none() || stored.record.account.as_deref() == account);
    Ok(found)
}

/// Returns the ids of the creatives that the filters name directly, by package or by media buy.
fn named_ids(
    work: &ToolContext<'_>,
    filters: Option<&CreativeFilters>,
) -> Result<Option<BTreeSet<String>>, ToolError> {
    let Some(filters) = filters else { return Ok(None) };
    if let Some(ids) = &filters.creative_ids {
        return Ok(Some(ids.iter().cloned().collect()));
    }
    let mut shown = BTreeSet::new();
    let mut show = |package: &Package| {
        let assigned = package.creative_assignments.iter();
        shown.extend(assigned.filter_map(|assigned| assigned.creative_id.clone()));
    };
    if let Some(ids) = &filters.assigned_to_packages {
        let ids = ids.iter().map(String::as_str);
        let buys = Buys::read_naming(&work.admitted, work.reader, ids, std::iter::empty())?;
        buys.packages().for_each(|(_, package)| show(package));
        return Ok(Some(shown));
    }
    if let Some(ids) = &filters.media_buy_ids {
        for id in ids {
            let buy = work.find::<MediaBuy>(id)?;
            buy.iter().flat_map(|buy| &buy.thing.packages).for_each(&mut show);
        }
        return Ok(Some(shown));
    }
    Ok(None)
}

/// Maximum number of creatives whose media buys are looked up one by one; above it, all media buys are
/// read.
const LOOKED_UP: usize = 200;

/// Adds the related data to creatives.
fn rows(
    work: &ToolContext<'_>,
    creatives: Vec<Stored<Creative>>,
) -> Result<Vec<CreativeRow>, ToolError> {
    let accounts = work.accounts_of(&creatives)?;
    let accounts: BTreeMap<String, Value> =
        accounts.into_iter().map(|(id, account)| (id, json!(account.published()))).collect();
    let ids = creatives.iter().map(|stored| stored.thing.creative_id.as_str());
    let buys = if creatives.len() > LOOKED_UP {
        Buys::all(&work.admitted, work.reader)?
    } else {
        Buys::read_naming(&work.admitted, work.reader, std::iter::empty(), ids)?
    };
    let namesakes = namesakes(work, &creatives, &buys)?;
    let row = |stored: Stored<Creative>| {
        let id = stored.thing.creative_id.as_str();
        let is_elsewhere = |buy: &EntityRecord| {
            buy.account
                .as_ref()
                .is_some_and(|account| namesakes.contains(&(account.clone(), id.to_owned())))
        };
        let packages = buys.assigned(stored.record.account.as_deref(), id, is_elsewhere);
        let packages = packages.map(|(buy, package)| {
            let assigned_at = stored.thing.assigned.get(&package.package_id).copied();
            // Creatives assigned at purchase have no assignment time of their own.
            let assigned_at = assigned_at.unwrap_or(buy.record.created_at);
            RowAssignment {
                package_id: package.package_id.clone(),
                media_buy_id: buy.thing.media_buy_id.clone(),
                assigned_at,
            }
        });
        let packages = packages.collect();
        let account = stored.record.account.as_ref().and_then(|id| accounts.get(id).cloned());
        CreativeRow { status: stored.thing.status_at(work.call.now), account, packages, stored }
    };
    Ok(creatives.into_iter().map(row).collect())
}

/// Returns the creatives, by account and id, that are meant by media buys of other accounts when they name
/// the id of a listed creative.
fn namesakes(
    work: &ToolContext<'_>,
    creatives: &[Stored<Creative>],
    buys: &Buys,
) -> Result<BTreeSet<(String, String)>, ToolError> {
    let listed: BTreeMap<&str, &Stored<Creative>> =
        creatives.iter().map(|stored| (stored.thing.creative_id.as_str(), stored)).collect();
    let mut asked: BTreeSet<(String, String, String)> = BTreeSet::new();
    for (buy, package) in buys.packages() {
        let Some(account) = &buy.record.account else { continue };
        let assigned = package.creative_assignments.iter();
        let ids = assigned.filter_map(|assigned| assigned.creative_id.as_ref());
        for id in ids.filter(|id| listed.contains_key(id.as_str())) {
            asked.insert((buy.record.owner.clone(), account.clone(), id.clone()));
        }
    }
    let mut found = BTreeSet::new();
    let mut unlisted: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (owner, account, id) in asked {
        let place = own_id(&owner, &account, &id);
        if listed.get(id.as_str()).is_some_and(|stored| stored.record.id == place) {
            found.insert((account, id));
        } else {
            unlisted.insert(place, (account, id));
        }
    }
    let places: BTreeSet<String> = unlisted.keys().cloned().collect();
    for stored in work.find_many::<Creative>(&places)? {
        found.extend(unlisted.remove(&stored.record.id));
    }
    Ok(found)
}

impl CreativeFilters {
    fn admit(&self, row: &CreativeRow) -> bool {
        let creative = &row.stored.thing;
        let record = &row.stored.record;
        let given = &creative.given;
        let tags: Vec<&str> = given.tags.iter().flatten().flatten().map(String::as_str).collect();
        let any = |list: &Option<Vec<String>>, ids: &[&str]| {
            list.as_ref().is_none_or(|list| list.iter().any(|id| ids.contains(&id.as_str())))
        };
        let packages = row.packages.iter().map(|assigned| assigned.package_id.as_str());
        let packages: Vec<&str> = packages.collect();
        let buys = row.packages.iter().map(|assigned| assigned.media_buy_id.as_str());
        let buys: Vec<&str> = buys.collect();
        let concept = given.concept_id.as_deref().unwrap_or_default();
        let varies = given.variables.as_ref().is_some_and(|variables| !variables.is_empty());
        let is_in = |ids: &Vec<_>| given.format_id.as_ref().is_some_and(|id| ids.contains(id));
        let part = self.name_contains.as_ref().map(|part| part.to_lowercase());
        self.accounts.as_ref().is_none_or(|refs| refs.iter().any(|reference| row.is_of(reference)))
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

impl CreativeRow {
    /// Returns true when the row matches. Archived creatives are listed only on request.
    fn passes(&self, filters: Option<&CreativeFilters>) -> bool {
        let status = match filters.and_then(|filters| filters.statuses.as_ref()) {
            Some(statuses) => statuses.contains(&self.status),
            None => self.status != CreativeStatus::Archived,
        };
        status && filters.is_none_or(|filters| filters.admit(self))
    }

    /// Returns the tally of this row.
    fn tally(&self) -> Tally {
        let class = self.stored.thing.format().to_owned();
        Tally { state: self.status.name().to_owned(), class, things: 1 }
    }

    /// Returns true when the creative belongs to the account that a reference means.
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

/// Sorts creatives as requested, newest first by default. Equal ones are in order of creation, so that
/// pages do not overlap.
fn sort(asked: Option<&CreativeSort>, rows: &mut [CreativeRow]) -> (CreativeSortField, Direction) {
    let field = asked.and_then(|asked| asked.field).unwrap_or(CreativeSortField::CreatedDate);
    let direction = asked.and_then(|asked| asked.direction).unwrap_or(Direction::Desc);
    rows.sort_by(|left, right| {
        let one = &left.stored;
        let other = &right.stored;
        let order = match field {
            CreativeSortField::CreatedDate => one.record.created_at.cmp(&other.record.created_at),
            CreativeSortField::UpdatedDate => one.record.updated_at.cmp(&other.record.updated_at),
            CreativeSortField::Name => one.thing.name().cmp(other.thing.name()),
            CreativeSortField::Status => left.status.cmp(&right.status),
            CreativeSortField::AssignmentCount => left.packages.len().cmp(&right.packages.len()),
        };
        order.then(one.record.place.cmp(&other.record.place))
    });
    if direction == Direction::Desc {
        rows.reverse();
    }
    (field, direction)
}

impl ListCreatives {
    fn show(&self, row: &CreativeRow, activity: Option<Vec<Value>>) -> Value {
        let creative = &row.stored.thing;
        let record = &row.stored.record;
        let fields = self.fields.as_ref();
        let whole = self.fields.is_none();
        let wanted =
            |name: &str| fields.is_none_or(|fields| fields.iter().any(|field| field == name));
        let given = |name: &str, shown: bool| creative.given.sent.get(name).filter(|_| shown);
        let reason = creative.rejection_reason.as_ref();
        let package = |assigned: &RowAssignment| json!({"package_id": assigned.package_id, "assigned_date": assigned.assigned_at});
        let packages: Vec<_> = row.packages.iter().map(package).collect();
        let assignments =
            json!({"assignment_count": packages.len(), "assigned_packages": packages});
        let has_assignments = self.include_assignments.unwrap_or(true) && wanted("assignments");
        let has_snapshot = self.include_snapshot && wanted("snapshot");
        object!({
            // The schema requires these whatever `fields` says.
            "creative_id": creative.creative_id,
            "name": creative.name(),
            "format_id"?: given("format_id", true),
            "format_kind"?: given("format_kind", true),
            "status": row.status,
            "created_date": record.created_at,
            "updated_date": record.updated_at,
            "rejection_reason"?: reason.filter(|_| row.status == CreativeStatus::Rejected),
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

/// Counts creatives by status and by format.
fn summary(tallies: &[Tally]) -> (BTreeMap<&str, u64>, BTreeMap<&str, u64>) {
    let mut statuses = BTreeMap::new();
    let mut formats = BTreeMap::new();
    for Tally { state, class, things } in tallies {
        *statuses.entry(state.as_str()).or_default() += things;
        if !class.is_empty() {
            *formats.entry(class.as_str()).or_default() += things;
        }
    }
    (statuses, formats)
}
