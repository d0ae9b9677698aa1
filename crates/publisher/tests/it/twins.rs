//! Twins: two requests that are the same but for one identifier, which names a thing of another tenant
//! in the one and nothing in the other. They must not differ: not in a byte of the answer, not in what
//! is read of the shelf, not in what is put there (`U-1`, `U-2`, `U-4`, `U-5`, `U-7`, `U-9`).
//!
//! Which identifiers there are is not written down here: the rules of the requests say so, and each
//! of their members is probed or is on the list of exceptions, with its reason.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use serde_json::{Value, json};
use tradepost_publisher::account::Account;
use tradepost_publisher::profile::{Billing, Profile};
use tradepost_publisher::refuse::Stop;
use tradepost_publisher::shelf::memory::MemoryVault;
use tradepost_publisher::shelf::{
    Broken, Job, KeyRow, Kind, Query, Record, Shelf, Vault, Whose, own_id,
};
use tradepost_publisher::tools::Reply;
use tradepost_publisher::world::Later;
use tradepost_wire::adcp::{Tool, rules};
use tradepost_wire::catalog::Vocabulary as _;

use crate::support::{Desk, profile, shop};

/// Stands for the identifier in a request.
const HERE: &str = "$HERE";

/// The id of a thing of every kind, all of which are `nova`'s.
const FOREIGN: &str = "71000000000000000001";

/// The id of nothing.
const NOTHING: &str = "72000000000000000002";

// ---- What a shelf was asked ----

/// What was asked of the shelf, in order: method, kind and id.
type Calls = Arc<Mutex<Vec<String>>>;

#[derive(Debug)]
struct Recorder {
    vault: MemoryVault,
    calls: Calls,
}

struct Recorded<'a> {
    shelf: &'a dyn Shelf,
    calls: &'a Calls,
}

impl Recorded<'_> {
    fn note(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }
}

impl Shelf for Recorded<'_> {
    fn whose(&self, kind: Kind, id: &str) -> Result<Option<Whose>, Broken> {
        self.note(format!("whose {} {id}", kind.name()));
        self.shelf.whose(kind, id)
    }

    fn get(&self, kind: Kind, id: &str) -> Result<Option<Record>, Broken> {
        self.note(format!("get {} {id}", kind.name()));
        self.shelf.get(kind, id)
    }

    fn list(&self, kind: Kind, query: &Query) -> Result<Vec<Record>, Broken> {
        self.note(format!("list {} {query:?}", kind.name()));
        self.shelf.list(kind, query)
    }

    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, Broken> {
        self.note(format!("key {scope} {key}"));
        self.shelf.key(scope, key)
    }

    fn put(&self, record: Record) -> Result<(), Broken> {
        self.note(format!("put {} {} {}", record.kind.name(), record.id, record.body));
        self.shelf.put(record)
    }

    fn remove(&self, kind: Kind, id: &str) -> Result<bool, Broken> {
        self.note(format!("remove {} {id}", kind.name()));
        self.shelf.remove(kind, id)
    }

    fn remember(&self, scope: &str, key: &str, row: KeyRow) -> Result<(), Broken> {
        self.note(format!("remember {scope} {key} {}", row.reply));
        self.shelf.remember(scope, key, row)
    }

    fn forget_keys(&self, before: Timestamp) -> Result<(), Broken> {
        self.note(format!("forget {before}"));
        self.shelf.forget_keys(before)
    }
}

impl Vault for Recorder {
    fn read(&self, job: &mut dyn FnMut(&dyn Shelf)) -> Result<(), Broken> {
        self.calls.lock().unwrap().push("read".to_owned());
        let calls = &self.calls;
        self.vault.read(&mut |shelf| job(&Recorded { shelf, calls }))
    }

    fn write(&self, job: Job) -> Later<'_, Result<Reply, Stop>> {
        self.calls.lock().unwrap().push("write".to_owned());
        let calls = Arc::clone(&self.calls);
        self.vault.write(Box::new(move |shelf| job(&Recorded { shelf, calls: &calls })))
    }
}

// ---- A publisher with things of two tenants ----

/// `acme` has an account with a media buy and a session; `nova` has one of everything by the same id.
fn furnished() -> (Desk, Calls) {
    let calls = Calls::default();
    let vault = Recorder { vault: MemoryVault::default(), calls: Arc::clone(&calls) };
    let profile = Profile { catalogue: shop::catalogue(), ..profile() };
    let desk = Desk::on(profile, Arc::new(vault));
    let now = desk.now;
    desk.put(move |shelf| {
        let account = |id: &str| {
            let brand = json!({"domain": "a.example"});
            let mut account = Account::new(id, brand, "a.example", Billing::Operator);
            account.sandbox = true;
            account
        };
        account("acc_own").open(shelf, "agent:acme", now)?;
        // What a sandbox puts beside the catalogue is the publisher's, and the same for everybody.
        let public = [Kind::Product, Kind::Format];
        for kind in Kind::ALL.iter().copied().filter(|kind| !public.contains(kind)) {
            // By its own id, and by one that its owner chose. What lies there is no such thing, so
            // that whoever reads it breaks.
            for id in [FOREIGN.to_owned(), own_id("agent:nova", FOREIGN, FOREIGN)] {
                shelf.put(Record {
                    kind,
                    id,
                    owner: "agent:nova".to_owned(),
                    account: Some(FOREIGN.to_owned()),
                    state: String::new(),
                    revision: 1,
                    body: json!("nothing of this kind"),
                    created_at: now,
                    updated_at: now,
                    place: 0,
                })?;
            }
        }
        account(FOREIGN).open(shelf, "agent:nova", now)?;
        let package = json!({
            "package_id": "pkg_own", "product_id": "p", "pricing_option_id": "o", "budget": 100.0,
        });
        shelf.put(Record {
            kind: Kind::MediaBuy,
            id: "mb_own".to_owned(),
            owner: "agent:acme".to_owned(),
            account: Some("acc_own".to_owned()),
            state: String::new(),
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
    (desk, calls)
}

// ---- The requests ----

const KEY: &str = "9c1c7e52-0000-4000-8000-000000000001";

/// Requests, each with one identifier left open.
fn probes() -> Vec<(Tool, Value)> {
    let own = json!({"account_id": "acc_own"});
    let there = json!({"account_id": HERE});
    let brand = json!({"domain": "a.example"});
    let agent = json!([{"url": "https://g.example", "authentication":
        {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"}}]);
    let mut package = shop::package(json!({}));
    package.as_object_mut().unwrap().remove("creative_assignments");
    let with = |base: &Value, members: Value| {
        let mut base = base.clone();
        for (name, value) in members.as_object().unwrap() {
            base[name] = value.clone();
        }
        base
    };
    let create = json!({"idempotency_key": KEY, "account": own, "brand": brand,
        "start_time": "asap", "end_time": "2026-12-01T00:00:00Z", "packages": [package]});
    let proposed = json!({"idempotency_key": KEY, "account": own, "brand": brand, "proposal_id": HERE,
        "total_budget": {"amount": 10, "currency": "USD"},
        "start_time": "asap", "end_time": "2026-12-01T00:00:00Z"});
    let buy = json!({"idempotency_key": KEY, "account": own, "media_buy_id": "mb_own"});
    let image = json!({"image": {"asset_type": "image", "url": "https://a.example/i.png", "width": 300,
        "height": 250}});
    let creative = json!({"creative_id": "c1", "name": "C",
        "format_id": {"agent_url": "https://gazette.example", "id": "display_300x250"}, "assets": image});
    let creatives = json!({"idempotency_key": KEY, "account": own, "creatives": [creative]});
    let assigned =
        |assignment: Value| json!([with(&package, json!({"creative_assignments": [assignment]}))]);
    let targeted = |overlay: Value| json!([with(&package, json!({"targeting_overlay": overlay}))]);
    let goal = json!({"optimization_goals": [{"kind": "event", "event_sources":
        [{"event_source_id": HERE, "event_type": "purchase"}]}]});
    let list = json!({"property_list": {"agent_url": "https://gazette.example", "list_id": HERE}});
    let changed = |members: Value| json!([with(&json!({"package_id": "pkg_own"}), members)]);
    let refine = |entry: Value| json!({"buying_mode": "refine", "refine": [entry], "account": own});
    let controller = |scenario: &str, params: Value| json!({"scenario": scenario, "account": {"brand": brand, "operator": "a.example", "sandbox": true}, "params": params});
    use Tool::*;
    let mut probes = vec![
        (GetProducts, json!({"buying_mode": "wholesale", "account": there})),
        (GetProducts, with(&json!({"buying_mode": "wholesale", "account": own}), list.clone())),
        (GetProducts, refine(json!({"scope": "product", "product_id": HERE, "action": "omit"}))),
        (
            GetProducts,
            refine(json!({"scope": "proposal", "proposal_id": HERE, "action": "finalize"})),
        ),
        (CreateMediaBuy, with(&create, json!({"account": there}))),
        (
            CreateMediaBuy,
            with(&create, json!({"packages": [with(&package, json!({"product_id": HERE}))]})),
        ),
        (
            CreateMediaBuy,
            with(&create, json!({"packages": assigned(json!({"creative_id": HERE}))})),
        ),
        (CreateMediaBuy, with(&create, json!({"packages": targeted(list.clone())}))),
        (
            CreateMediaBuy,
            with(&create, json!({"packages": targeted(json!({"audience_include": [HERE]}))})),
        ),
        (
            CreateMediaBuy,
            with(&create, json!({"packages": targeted(json!({"audience_exclude": [HERE]}))})),
        ),
        (CreateMediaBuy, with(&create, json!({"packages": [with(&package, goal.clone())]}))),
        (CreateMediaBuy, with(&create, json!({"plan_id": HERE}))),
        (CreateMediaBuy, proposed),
        (UpdateMediaBuy, with(&buy, json!({"account": there, "paused": true}))),
        (UpdateMediaBuy, with(&buy, json!({"media_buy_id": HERE, "paused": true}))),
        (UpdateMediaBuy, with(&buy, json!({"packages": [{"package_id": HERE, "paused": true}]}))),
        (
            UpdateMediaBuy,
            with(
                &buy,
                json!({"packages": changed(json!({"creative_assignments": [{"creative_id": HERE}]}))}),
            ),
        ),
        (
            UpdateMediaBuy,
            with(&buy, json!({"packages": changed(json!({"targeting_overlay": list}))})),
        ),
        (
            UpdateMediaBuy,
            with(
                &buy,
                json!({"packages": changed(json!({"targeting_overlay": {"audience_include": [HERE]}}))}),
            ),
        ),
        (
            UpdateMediaBuy,
            with(
                &buy,
                json!({"packages": changed(json!({"targeting_overlay": {"audience_exclude": [HERE]}}))}),
            ),
        ),
        (
            UpdateMediaBuy,
            with(&buy, json!({"new_packages": [with(&package, json!({"product_id": HERE}))]})),
        ),
        (
            UpdateMediaBuy,
            with(&buy, json!({"new_packages": assigned(json!({"creative_id": HERE}))})),
        ),
        (UpdateMediaBuy, with(&buy, json!({"new_packages": targeted(list)}))),
        (UpdateMediaBuy, with(&buy, json!({"packages": changed(goal.clone())}))),
        (UpdateMediaBuy, with(&buy, json!({"new_packages": [with(&package, goal)]}))),
        (GetMediaBuys, json!({"account": there})),
        (GetMediaBuys, json!({"media_buy_ids": [HERE]})),
        (GetMediaBuys, json!({"account": own, "media_buy_ids": ["mb_own", HERE]})),
        (GetMediaBuyDelivery, json!({"account": there})),
        (GetMediaBuyDelivery, json!({"media_buy_ids": [HERE]})),
        (GetMediaBuyDelivery, json!({"account": own, "media_buy_ids": ["mb_own", HERE]})),
        (SyncCreatives, with(&creatives, json!({"account": there}))),
        (
            SyncCreatives,
            with(&creatives, json!({"creatives": [with(&creative, json!({"creative_id": HERE}))]})),
        ),
        (SyncCreatives, with(&creatives, json!({"creative_ids": [HERE]}))),
        (
            SyncCreatives,
            with(
                &creatives,
                json!({"assignments": [{"creative_id": HERE, "package_id": "pkg_own"}]}),
            ),
        ),
        (
            SyncCreatives,
            with(&creatives, json!({"assignments": [{"creative_id": "c1", "package_id": HERE}]})),
        ),
        (ListCreatives, json!({"account": there})),
        (ListCreatives, json!({"filters": {"accounts": [there]}})),
        (ListCreatives, json!({"filters": {"creative_ids": [HERE]}})),
        (ListCreatives, json!({"account": own, "filters": {"media_buy_ids": ["mb_own", HERE]}})),
        (SyncAudiences, json!({"idempotency_key": KEY, "account": there})),
        (
            SyncAudiences,
            json!({"idempotency_key": KEY, "account": own, "audiences": [{"audience_id": HERE, "delete": true}]}),
        ),
        (SyncEventSources, json!({"idempotency_key": KEY, "account": there})),
        (
            SyncEventSources,
            json!({"idempotency_key": KEY, "account": own, "event_sources": [{"event_source_id": HERE}]}),
        ),
        (
            LogEvent,
            json!({"idempotency_key": KEY, "event_source_id": HERE, "events": [
            {"event_id": "e1", "event_type": "purchase", "event_time": "2026-06-01T10:00:00Z"}]}),
        ),
        (SyncAccounts, json!({"idempotency_key": KEY, "accounts": [{"account": there}]})),
        (ListAccounts, json!({"account": there})),
        (ListAccounts, json!({"pagination": {"cursor": HERE}})),
        (
            SyncGovernance,
            json!({"idempotency_key": KEY, "accounts": [{"account": there, "governance_agents": agent}]}),
        ),
        (
            CheckGovernance,
            json!({"plan_id": HERE, "caller": "https://buyer.example", "tool": "create_media_buy", "payload": {}}),
        ),
        (GetSignals, json!({"account": there, "signal_spec": "shoes"})),
        (
            ActivateSignal,
            json!({"idempotency_key": KEY, "account": there, "signal_agent_segment_id": "s",
            "destinations": [{"type": "agent", "agent_url": "https://gazette.example"}]}),
        ),
        (
            SiInitiateSession,
            json!({"idempotency_key": KEY, "intent": "shoes", "media_buy_id": HERE,
            "identity": {"consent_granted": false, "anonymous_session_id": "x"}}),
        ),
        (SiSendMessage, json!({"idempotency_key": KEY, "session_id": HERE, "message": "hello"})),
        (SiTerminateSession, json!({"session_id": HERE, "reason": "user_exit"})),
        (CreatePropertyList, json!({"idempotency_key": KEY, "account": there, "name": "n"})),
        (GetPropertyList, json!({"account": there, "list_id": "l"})),
        (GetPropertyList, json!({"list_id": HERE})),
        (ListPropertyLists, json!({"account": there})),
        (
            UpdatePropertyList,
            json!({"idempotency_key": KEY, "account": there, "list_id": "l", "name": "n"}),
        ),
        (UpdatePropertyList, json!({"idempotency_key": KEY, "list_id": HERE, "name": "n"})),
        (DeletePropertyList, json!({"idempotency_key": KEY, "account": there, "list_id": "l"})),
        (DeletePropertyList, json!({"idempotency_key": KEY, "list_id": HERE})),
        (GetTaskStatus, json!({"account": there, "task_id": "t"})),
        (GetTaskStatus, json!({"task_id": HERE})),
        (ListTasks, json!({"account": there})),
        (ListTasks, json!({"filters": {"task_ids": [HERE]}})),
    ];
    // A product, a media buy and an account are put there under an id of the test's own choice: that is
    // no look-up, and an id that is taken is refused, whoever has it. Only a sandbox does that.
    for (scenario, params) in [
        ("force_account_status", json!({"account_id": HERE, "status": "suspended"})),
        ("force_creative_status", json!({"creative_id": HERE, "status": "approved"})),
        ("force_media_buy_status", json!({"media_buy_id": HERE, "status": "paused"})),
        ("force_session_status", json!({"session_id": HERE, "status": "terminated"})),
        ("force_task_completion", json!({"task_id": HERE, "result": {}})),
        ("simulate_delivery", json!({"media_buy_id": HERE, "impressions": 1})),
        ("simulate_budget_spend", json!({"media_buy_id": HERE, "spend_percentage": 5})),
        (
            "seed_pricing_option",
            json!({"product_id": HERE, "pricing_option_id": "o", "fixture": {}}),
        ),
        ("seed_creative", json!({"creative_id": HERE, "fixture": {}})),
        ("seed_plan", json!({"plan_id": HERE, "fixture": {}})),
    ] {
        probes.push((ComplyTestController, controller(scenario, params)));
    }
    probes
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
fn identifiers(tool: Tool) -> BTreeSet<String> {
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
fn filled(value: &Value, id: &str) -> Value {
    match value {
        Value::String(text) if text == HERE => json!(id),
        Value::Array(items) => items.iter().map(|item| filled(item, id)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), filled(value, id))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// Everything that is `nova`'s, as it lies there.
fn foreign(desk: &Desk) -> Vec<Record> {
    let query = Query { owner: Some("agent:nova".to_owned()), ..Query::default() };
    let listed = desk.vault.look(|shelf| -> Result<Vec<Record>, Broken> {
        let lists = Kind::ALL.iter().map(|kind| shelf.list(*kind, &query));
        Ok(lists.collect::<Result<Vec<_>, _>>()?.concat())
    });
    listed.unwrap()
}

/// The answer to a request and what the shelf was asked, with the identifier taken out. What is
/// another's is as it was.
fn asked(tool: Tool, request: &Value, id: &str) -> (String, Vec<String>) {
    let (desk, calls) = furnished();
    let before = foreign(&desk);
    calls.lock().unwrap().clear();
    let answer = desk.ask(tool, filled(request, id)).document().to_string();
    let asked = std::mem::take(&mut *calls.lock().unwrap());
    assert_eq!(foreign(&desk), before, "{tool} {request} with {id}");
    let plain = |text: &str| text.replace(id, HERE);
    (plain(&answer), asked.iter().map(|call| plain(call)).collect())
}

#[test]
fn what_is_anothers_and_what_is_nowhere_do_not_differ() {
    let mut different = Vec::new();
    for (tool, request) in probes() {
        let at = place(&request, "").unwrap();
        let (foreign, nothing) = (asked(tool, &request, FOREIGN), asked(tool, &request, NOTHING));
        if foreign.0 != nothing.0 {
            let (one, other) = (&foreign.0, &nothing.0);
            different.push(format!("{tool} {at}: the answers\n  {one}\n  {other}"));
        }
        if foreign.1 != nothing.1 {
            let (one, other) = (&foreign.1, &nothing.1);
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
fn every_identifier_of_every_request_is_probed_or_has_a_reason() {
    let probed: BTreeSet<(&str, String)> =
        probes().iter().map(|(tool, request)| (tool.name(), place(request, "").unwrap())).collect();
    let mut used = BTreeSet::new();
    let mut missing = Vec::new();
    for tool in Tool::ALL.iter().copied() {
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
fn a_blocked_agent_and_a_credential_that_is_nobodys_cost_the_same() {
    let mut terms = profile();
    terms.onboarding.strangers = false;
    for (tool, request) in probes() {
        let work = |principal: &str| {
            let calls = Calls::default();
            let vault = Recorder { vault: MemoryVault::default(), calls: Arc::clone(&calls) };
            let desk = Desk::on(terms.clone(), Arc::new(vault));
            let request = filled(&request, NOTHING);
            let answer = desk.ask_as(&desk.caller(principal), tool, request).document();
            let members: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
            (members, std::mem::take(&mut *calls.lock().unwrap()))
        };
        assert_eq!(work("banned"), work("stranger"), "{tool}");
        assert_eq!(work("paused"), work("stranger"), "{tool}");
    }
}

/// Where an identifier is looked for in a list of the caller's own, so that the shelf is not asked for it.
const IN_OWN_LIST: &[(Tool, &str)] = &[
    (Tool::CreateMediaBuy, "packages[].product_id"),
    (Tool::UpdateMediaBuy, "packages[].package_id"),
    (Tool::UpdateMediaBuy, "new_packages[].product_id"),
    (Tool::SyncCreatives, "creative_ids"),
    (Tool::ListCreatives, "filters.accounts[].account_id"),
    (Tool::ListCreatives, "filters.creative_ids"),
    (Tool::ListCreatives, "filters.media_buy_ids"),
    (Tool::LogEvent, "event_source_id"),
    (Tool::ListAccounts, "account.account_id"),
    (Tool::ListAccounts, "pagination.cursor"),
    (Tool::ListTasks, "filters.task_ids"),
    (Tool::ComplyTestController, "params.creative_id"),
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
        let (answer, _) = asked(Tool::ComplyTestController, &seed, FOREIGN);
        assert!(answer.contains("\"success\":false"), "{answer}");
    }
}
