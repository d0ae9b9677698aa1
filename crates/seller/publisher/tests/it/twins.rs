//! Twins: two requests that are the same but for one identifier, which names a thing of another tenant
//! in the one and nothing in the other. They must not differ: not in a byte of the answer, not in what
//! is read of the store, not in what is put there (`U-1`, `U-2`, `U-4`, `U-5`, `U-7`, `U-9`).
//!
//! Which identifiers there are is not written down here: the rules of the requests say so, and each
//! of their members is probed or is on the list of exceptions, with its reason.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use tradepost_adcp::{AdcpTool, rules};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::Account;
use tradepost_publisher::agent::Billing;
use tradepost_publisher::decision::DecisionEntry;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::services::BoxFuture;
use tradepost_publisher::store::memory::MemoryPublisherStore;
use tradepost_publisher::store::{
    EntityKind, EntityOwner, EntityRecord, IndexField, IndexTerm, Job, KeyRow, PublisherStore,
    Query, ReadExtent, StoreRead, StoreTx, Tally, own_id,
};

use crate::support::{Harness, profile, shop};

/// Stands for the identifier in a request.
const HERE: &str = "$HERE";

/// The id of a thing of every kind, all of which are `nova`'s.
const FOREIGN: &str = "71000000000000000001";

/// The id of nothing.
const NOTHING: &str = "72000000000000000002";

// ---- What a store was asked ----

/// What was asked of the store, in order: method, kind and id.
type Calls = Arc<Mutex<Vec<String>>>;

#[derive(Debug)]
struct Recorder {
    store: MemoryPublisherStore,
    calls: Calls,
}

struct Recorded<'a, S: ?Sized> {
    inner: &'a S,
    calls: &'a Calls,
}

impl<S: ?Sized> Recorded<'_, S> {
    fn note(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }
}

impl<S: StoreRead + ?Sized> StoreRead for Recorded<'_, S> {
    fn owner_of(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError> {
        self.note(format!("whose {} {id}", kind.name()));
        self.inner.owner_of(kind, id)
    }

    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError> {
        self.note(format!("get {} {id}", kind.name()));
        self.inner.get(kind, id)
    }

    fn get_many(
        &self,
        kind: EntityKind,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<EntityRecord>, InternalError> {
        self.note(format!("get many {} {ids:?}", kind.name()));
        self.inner.get_many(kind, ids)
    }

    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError> {
        self.note(format!("list {} {query:?}", kind.name()));
        self.inner.list(kind, query)
    }

    fn count(&self, kind: EntityKind, query: &Query) -> Result<Vec<Tally>, InternalError> {
        self.note(format!("count {} {query:?}", kind.name()));
        self.inner.count(kind, query)
    }

    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, InternalError> {
        self.note(format!("key {scope} {key}"));
        self.inner.key(scope, key)
    }
}

impl<S: StoreTx + ?Sized> StoreTx for Recorded<'_, S> {
    fn put(&self, record: EntityRecord) -> Result<(), InternalError> {
        self.note(format!("put {} {} {}", record.kind.name(), record.id, record.body));
        self.inner.put(record)
    }

    fn remove(&self, kind: EntityKind, id: &str) -> Result<bool, InternalError> {
        self.note(format!("remove {} {id}", kind.name()));
        self.inner.remove(kind, id)
    }

    fn remember(&self, scope: &str, key: &str, row: KeyRow) -> Result<(), InternalError> {
        self.note(format!("remember {scope} {key} {}", row.reply));
        self.inner.remember(scope, key, row)
    }

    fn record(&self, entry: DecisionEntry) -> Result<(), InternalError> {
        self.note(format!("record {entry:?}"));
        self.inner.record(entry)
    }

    fn forget_keys(&self, before: Timestamp) -> Result<(), InternalError> {
        self.note(format!("forget {before}"));
        self.inner.forget_keys(before)
    }
}

impl PublisherStore for Recorder {
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        self.calls.lock().unwrap().push("read".to_owned());
        let calls = &self.calls;
        self.store.read(extent, &mut |inner| job(&Recorded { inner, calls }))
    }

    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        self.calls.lock().unwrap().push("write".to_owned());
        let calls = Arc::clone(&self.calls);
        self.store.write(Box::new(move |inner| job(&Recorded { inner, calls: &calls })))
    }

    fn version(&self) -> Option<u64> {
        self.store.version()
    }
}

// ---- A publisher with things of two tenants ----

/// `acme` has an account with a media buy and a session; `nova` has one of everything by the same id.
fn furnished() -> (Harness, Calls) {
    let calls = Calls::default();
    let store = Recorder { store: MemoryPublisherStore::default(), calls: Arc::clone(&calls) };
    let profile = PublisherProfile { catalogue: shop::catalogue(), ..profile() };
    let harness = Harness::on(profile, Arc::new(store));
    let now = harness.now;
    harness.put(move |tx| {
        let account = |id: &str| {
            let brand = json!({"domain": "a.example"});
            let mut account = Account::new(id, brand, "a.example", Billing::Operator);
            account.sandbox = true;
            account
        };
        account("acc_own").open(tx, "agent:acme", now)?;
        // What a sandbox puts beside the catalogue is the publisher's, and the same for everybody.
        let public = [EntityKind::Product, EntityKind::Format];
        for kind in EntityKind::ALL.iter().copied().filter(|kind| !public.contains(kind)) {
            // By its own id, and by one that its owner chose. What lies there is no such thing, so
            // that whoever reads it breaks.
            for id in [FOREIGN.to_owned(), own_id("agent:nova", FOREIGN, FOREIGN)] {
                let terms = IndexField::ALL.iter();
                let terms = terms.map(|field| IndexTerm::new(*field, FOREIGN));
                tx.put(EntityRecord {
                    kind,
                    id,
                    owner: "agent:nova".to_owned(),
                    account: Some(FOREIGN.to_owned()),
                    state: String::new(),
                    class: String::new(),
                    changes_at: None,
                    terms: terms.collect(),
                    revision: 1,
                    body: json!("nothing of this kind"),
                    created_at: now,
                    updated_at: now,
                    place: 0,
                })?;
            }
        }
        account(FOREIGN).open(tx, "agent:nova", now)?;
        let package = json!({
            "package_id": "pkg_own", "product_id": "p", "pricing_option_id": "o", "budget": 100.0,
        });
        tx.put(EntityRecord {
            kind: EntityKind::MediaBuy,
            id: "mb_own".to_owned(),
            owner: "agent:acme".to_owned(),
            account: Some("acc_own".to_owned()),
            state: "active".to_owned(),
            class: String::new(),
            changes_at: None,
            terms: vec![IndexTerm::new(IndexField::Package, "pkg_own")],
            revision: 1,
            body: json!({
                "media_buy_id": "mb_own", "status": "active", "currency": "USD",
                "total_budget": 100.0, "start_time": "2026-05-01T00:00:00Z",
                "end_time": "2026-09-01T00:00:00Z", "confirmed_at": "2026-04-01T00:00:00Z",
                "packages": [package],
            }),
            created_at: now,
            updated_at: now,
            place: 0,
        })
    });
    calls.lock().unwrap().clear();
    (harness, calls)
}

// ---- The requests ----

/// Requests, each with one identifier left open. They are sent over the network as well.
///
/// A product, a media buy and an account are seeded by a test controller under an id of the test's own
/// choice: that is no look-up, and an id that is taken is refused, whoever has it. Only a sandbox does
/// that, and those seeds are not among these.
fn probes() -> Vec<(AdcpTool, Value)> {
    let probes: Vec<Value> =
        tradepost_document::json::from_str(include_str!("twins/probes.json")).unwrap();
    let tool = |probe: &Value| AdcpTool::from_any_name(probe["tool"].as_str().unwrap()).unwrap();
    probes.iter().map(|probe| (tool(probe), with_own(&probe["request"]))).collect()
}

/// What stands for the things that `acme` has, and for what the publisher offers.
const OWN: [(&str, &str); 7] = [
    ("$ACCOUNT", "acc_own"),
    ("$BUY", "mb_own"),
    ("$PACKAGE", "pkg_own"),
    ("$PRODUCT", "display"),
    ("$PRICE", "cpm"),
    ("$AGENT", "https://gazette.example"),
    ("$KEY", "9c1c7e52-0000-4000-8000-000000000001"),
];

/// A request with the names of what there is.
fn with_own(request: &Value) -> Value {
    OWN.iter().fold(request.clone(), |request, (word, own)| put(&request, word, own))
}

/// Members that name nothing which anybody owns; by the end of their path, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "brand.brand_id",
        "a brand within its house: a part of a natural key, which is looked for in the caller's own list",
    ),
    ("vendor.brand_id", "a vendor of measurements, whom nobody owns"),
    ("tax_id", "a number of a tax office"),
    ("vat_id", "a number of a tax office"),
    ("metric_id", "a metric of a published list"),
    ("feature_id", "a feature of a published list"),
    ("policy_id", "a policy of the caller's own"),
    ("policy_ids", "a policy of the caller's own"),
    ("shared_policy_ids", "a policy of the caller's own"),
    ("operation_id", "a word that is repeated in webhooks"),
    ("subscriber_id", "a name within the row's own list"),
    ("asset_group_id", "a name within the request's own catalogue"),
    ("catalog_id", "catalogues of buyers are not kept"),
    ("store_ids", "catalogues of buyers are not kept"),
    ("content_ids", "catalogues of buyers are not kept"),
    ("contents[].id", "catalogues of buyers are not kept"),
    ("collection_list.list_id", "lists of collections are not kept"),
    ("collection_list_exclude.list_id", "lists of collections are not kept"),
    ("format_id", "formats are the publisher's, and the same for everybody"),
    ("format_ids", "formats are the publisher's, and the same for everybody"),
    ("format_ids[].id", "formats are the publisher's, and the same for everybody"),
    ("input_format_ids", "formats are the publisher's, and the same for everybody"),
    ("input_format_ids[].id", "formats are the publisher's, and the same for everybody"),
    ("output_format_ids", "formats are the publisher's, and the same for everybody"),
    ("output_format_ids[].id", "formats are the publisher's, and the same for everybody"),
    ("concept_ids", "concepts are words in the caller's own creatives"),
    ("catchment_ids", "catalogues of buyers are not kept"),
    ("segment_id", "what another platform gave out, handed on as it came"),
    ("paying_principal.account.account_id", "a receipt, which is kept as it came"),
    ("format_id.id", "formats are the publisher's, and the same for everybody"),
    ("format_option_id", "formats are the publisher's, and the same for everybody"),
    ("placement_id", "placements are the publisher's, and the same for everybody"),
    ("placement_ids", "placements are the publisher's, and the same for everybody"),
    ("pricing_option_id", "an option within a product, which is looked up before"),
    ("signal_id", "signals are the publisher's, and the same for everybody"),
    ("signal_id.id", "signals are the publisher's, and the same for everybody"),
    ("signal_ids", "signals are the publisher's, and the same for everybody"),
    ("signal_ids[].id", "signals are the publisher's, and the same for everybody"),
    ("signal_agent_segment_id", "signals are the publisher's, and the same for everybody"),
    ("offering_id", "offerings are the publisher's, and the same for everybody"),
    ("property_id", "properties are the publisher's, and the same for everybody"),
    ("property_ids", "properties are the publisher's, and the same for everybody"),
    ("avatar_id", "a name within the caller's own capabilities"),
    ("voice_id", "a name within the caller's own capabilities"),
    ("anonymous_session_id", "the caller's own word for its user"),
    ("click_id", "the caller's own word for its user"),
    ("external_id", "the caller's own word for its user"),
    ("event_id", "the caller's own word for an event, within its source"),
    ("order_id", "the caller's own word for an order"),
    ("io_id", "an insertion order within a proposal, which is looked up before"),
    ("signature_id", "the caller's own word for its signature"),
    (
        "creatives[].creative_id",
        "a new creative, under the caller's own id; probed in sync_creatives",
    ),
    ("plans[].plan_id", "a plan is put under the caller's own id"),
    ("record_id", "the caller's own word for a row, which is repeated"),
    ("member_plan_ids", "plans are looked for in the caller's own list"),
];

/// Where an open identifier stands, as the rules name the place.
fn place(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::String(text) => (text == HERE).then(|| path.trim_end_matches("[]").to_owned()),
        Value::Array(items) => items.iter().find_map(|item| place(item, &format!("{path}[]"))),
        Value::Object(members) => members.iter().find_map(|(name, value)| {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            place(value, &path)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Every member of a request whose name is that of an identifier.
fn identifiers(tool: AdcpTool) -> BTreeSet<String> {
    let whole = rules::json_schema(tool);
    let mut found = BTreeSet::new();
    walk(&whole, &whole, "", &mut Vec::new(), &mut found);
    found
}

fn walk<'a>(
    whole: &'a Value,
    node: &'a Value,
    path: &str,
    within: &mut Vec<&'a str>,
    found: &mut BTreeSet<String>,
) {
    if let Some(reference) = node["$ref"].as_str() {
        if within.contains(&reference) {
            return;
        }
        within.push(reference);
        let pointer = reference.trim_start_matches('#').replace("%23", "#");
        let target = whole.pointer(&pointer);
        walk(whole, target.unwrap_or_else(|| panic!("{reference}")), path, within, found);
        within.pop();
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        for part in node[keyword].as_array().into_iter().flatten() {
            walk(whole, part, path, within, found);
        }
    }
    for keyword in ["if", "then", "else"] {
        walk_if_object(whole, &node[keyword], path, within, found);
    }
    walk_if_object(whole, &node["items"], &format!("{path}[]"), within, found);
    for (name, member) in node["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if name.ends_with("_id") || name.ends_with("_ids") || name == "id" {
            found.insert(path.clone());
        }
        walk_if_object(whole, member, &path, within, found);
    }
}

fn walk_if_object<'a>(
    whole: &'a Value,
    node: &'a Value,
    path: &str,
    within: &mut Vec<&'a str>,
    found: &mut BTreeSet<String>,
) {
    if node.is_object() {
        walk(whole, node, path, within, found);
    }
}

// ---- The tests ----

/// A request with an identifier in the place that is open.
fn filled(request: &Value, id: &str) -> Value {
    put(request, HERE, id)
}

/// A request with a word replaced, wherever it stands.
fn put(value: &Value, word: &str, by: &str) -> Value {
    match value {
        Value::String(text) if text == word => json!(by),
        Value::Array(items) => items.iter().map(|item| put(item, word, by)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), put(value, word, by))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Everything that is `nova`'s, as it lies there.
fn foreign(harness: &Harness) -> Vec<EntityRecord> {
    let query = Query { owner: Some("agent:nova".to_owned()), ..Query::default() };
    let listed = harness.store.look(|reader| -> Result<Vec<EntityRecord>, InternalError> {
        let lists = EntityKind::ALL.iter().map(|kind| reader.list(*kind, &query));
        Ok(lists.collect::<Result<Vec<_>, _>>()?.concat())
    });
    listed.unwrap()
}

/// The answer to a request and what the store was asked, with the identifier taken out. What is
/// another's is as it was.
fn asked(tool: AdcpTool, request: &Value, id: &str) -> (String, Vec<String>) {
    let (harness, calls) = furnished();
    let before = foreign(&harness);
    calls.lock().unwrap().clear();
    let answer = harness.ask(tool, filled(request, id)).document().to_string();
    let asked = std::mem::take(&mut *calls.lock().unwrap());
    assert_eq!(foreign(&harness), before, "{tool} {request} with {id}");
    let plain = |text: &str| unhashed(&text.replace(id, HERE));
    (plain(&answer), asked.iter().map(|call| plain(call)).collect())
}

/// A text without the hashes of what is kept, which differ where identifiers do.
fn unhashed(text: &str) -> String {
    const BEGIN: &str = "\"hashes\":[";
    let Some((before, rest)) = text.split_once(BEGIN) else { return text.to_owned() };
    format!("{before}{BEGIN}{}", rest.trim_start_matches(|letter| letter != ']'))
}

#[test]
fn what_is_anothers_and_what_is_nowhere_do_not_differ() {
    let mut different = Vec::new();
    for (tool, request) in probes() {
        let at = place(&request, "").unwrap();
        let foreign = asked(tool, &request, FOREIGN);
        let nothing = asked(tool, &request, NOTHING);
        if foreign.0 != nothing.0 {
            let one = &foreign.0;
            let other = &nothing.0;
            different.push(format!("{tool} {at}: the answers\n  {one}\n  {other}"));
        }
        if foreign.1 != nothing.1 {
            let one = &foreign.1;
            let other = &nothing.1;
            different.push(format!("{tool} {at}: the work\n  {one:#?}\n  {other:#?}"));
        }
        if foreign.0.contains("SERVICE_UNAVAILABLE") {
            different.push(format!("{tool} {at}: something broke\n  {}", foreign.0));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn every_probe_is_a_request_that_its_schema_permits() {
    let wrong: Vec<_> = probes()
        .into_iter()
        .filter_map(|(tool, request)| {
            let request = filled(&request, NOTHING);
            let issues = rules::check(tool, &request, rules::Internals::Off).err()?;
            Some(format!("{tool} {request}: {:?}", issues.listed()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_identifier_of_a_request_is_probed_or_excepted() {
    let probed: BTreeSet<(&str, String)> =
        probes().iter().map(|(tool, request)| (tool.name(), place(request, "").unwrap())).collect();
    let mut used = BTreeSet::new();
    let mut missing = Vec::new();
    for tool in AdcpTool::ALL.iter().copied() {
        for path in identifiers(tool) {
            if probed.contains(&(tool.name(), path.clone())) {
                continue;
            }
            let excepted = |(end, _): &&(&'static str, &str)| {
                path == *end
                    || path.ends_with(&format!(".{end}"))
                    || path.ends_with(&format!("]{end}"))
            };
            match EXCEPTIONS.iter().find(excepted) {
                Some((end, _)) => drop(used.insert(*end)),
                None => missing.push(format!("{tool} {path}")),
            }
        }
    }
    assert!(missing.is_empty(), "neither probed nor excepted: {missing:#?}");
    let unused: Vec<_> = EXCEPTIONS.iter().filter(|(end, _)| !used.contains(end)).collect();
    assert!(unused.is_empty(), "exceptions for nothing: {unused:#?}");
}

#[test]
fn a_blocked_agent_and_an_unknown_credential_cost_the_same() {
    let mut terms = profile();
    terms.onboarding.strangers = false;
    for (tool, request) in probes() {
        let work = |principal: &str| {
            let calls = Calls::default();
            let store =
                Recorder { store: MemoryPublisherStore::default(), calls: Arc::clone(&calls) };
            let harness = Harness::on(terms.clone(), Arc::new(store));
            let request = filled(&request, NOTHING);
            let answer = harness.ask_as(&harness.caller(principal), tool, request).document();
            let members: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
            (members, std::mem::take(&mut *calls.lock().unwrap()))
        };
        assert_eq!(work("banned"), work("stranger"), "{tool}");
        assert_eq!(work("paused"), work("stranger"), "{tool}");
    }
}

/// Where an identifier is looked for in a list of the caller's own, so that the store is not asked for it.
const IN_OWN_LIST: &[(AdcpTool, &str)] = &[
    (AdcpTool::CreateMediaBuy, "packages[].product_id"),
    (AdcpTool::UpdateMediaBuy, "packages[].package_id"),
    (AdcpTool::UpdateMediaBuy, "new_packages[].product_id"),
    (AdcpTool::SyncCreatives, "creative_ids"),
    (AdcpTool::ListCreatives, "filters.accounts[].account_id"),
    (AdcpTool::ListCreatives, "filters.creative_ids"),
    (AdcpTool::ListCreatives, "filters.media_buy_ids"),
    (AdcpTool::LogEvent, "event_source_id"),
    (AdcpTool::ListAccounts, "account.account_id"),
    (AdcpTool::ListAccounts, "pagination.cursor"),
    (AdcpTool::ListTasks, "filters.task_ids"),
    (AdcpTool::ComplyTestController, "params.creative_id"),
];

#[test]
fn every_probe_gets_as_far_as_its_lookup() {
    let mut short = Vec::new();
    for (tool, request) in probes() {
        let at = place(&request, "").unwrap();
        let (answer, calls) = asked(tool, &request, NOTHING);
        let absent = answer.contains("does not have that task");
        let reached = calls.iter().any(|call| call.contains(HERE));
        let listed = calls.iter().any(|call| call.starts_with("list"))
            && IN_OWN_LIST.iter().any(|(known, path)| *known == tool && *path == at);
        if !(absent || reached || listed) {
            short.push(format!("{tool} {at}: {answer}"));
        }
    }
    assert!(short.is_empty(), "{}", short.join("\n"));
}

/// A seed chooses an id that nobody may have yet, so that here alone a taken one has to show. Only a
/// sandbox has it, and it changes nothing of anybody's.
#[test]
fn a_seed_cannot_take_what_is_anothers() {
    let account =
        json!({"brand": {"domain": "a.example"}, "operator": "a.example", "sandbox": true});
    for (scenario, member) in [("seed_account", "account_id"), ("seed_media_buy", "media_buy_id")] {
        let seed = json!({"scenario": scenario, "account": account,
            "params": {member: HERE, "fixture": {}}});
        let (answer, _) = asked(AdcpTool::ComplyTestController, &seed, FOREIGN);
        assert!(answer.contains("\"success\":false"), "{answer}");
    }
}
