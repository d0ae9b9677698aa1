//! What a request costs does not grow with what its buyer has bought before, and statuses that change with the
//! time are found by how they stand now.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::Account;
use tradepost_publisher::agent::Billing;
use tradepost_publisher::catalogue::{AdServerTerms, ProductTerms};
use tradepost_publisher::decision::DecisionEntry;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::remote_order::RemoteOrder;
use tradepost_publisher::services::BoxFuture;
use tradepost_publisher::store::memory::MemoryPublisherStore;
use tradepost_publisher::store::{
    EntityKind, EntityOwner, EntityRecord, IndexField, IndexTerm, Job, KeyRow, PublisherStore,
    Query, ReadExtent, StoreRead, StoreTx, Tally,
};
use tradepost_publisher::test_controller::forced_buy;

use crate::support::{Harness, profile};

const ACCOUNT: &str = "acc_1";

/// A store in memory that counts the records that are read, and the statements that read them.
#[derive(Debug, Default)]
struct CountingStore {
    store: MemoryPublisherStore,
    counts: Arc<ReadCounts>,
}

#[derive(Debug, Default)]
struct ReadCounts {
    records: AtomicUsize,
    statements: AtomicUsize,
    /// Statements about orders at the ad server.
    orders: AtomicUsize,
    /// Largest number of records in one read that announced no more than records.
    largest_short_read: AtomicUsize,
    reads: AtomicUsize,
    /// Reads that announced pages.
    page_reads: AtomicUsize,
    /// Lists that were read, each with its query.
    lists: Mutex<Vec<String>>,
}

impl ReadCounts {
    fn add_of(&self, kind: EntityKind, records: usize) {
        if kind == EntityKind::RemoteOrder {
            self.orders.fetch_add(1, Ordering::Relaxed);
        }
        self.add(records);
    }

    fn add(&self, records: usize) {
        self.records.fetch_add(records, Ordering::Relaxed);
        self.statements.fetch_add(1, Ordering::Relaxed);
    }
}

struct CountingTx<'a, S: ?Sized> {
    inner: &'a S,
    counts: &'a ReadCounts,
}

impl<S: StoreRead + ?Sized> StoreRead for CountingTx<'_, S> {
    fn owner_of(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError> {
        self.counts.add_of(kind, 0);
        self.inner.owner_of(kind, id)
    }

    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError> {
        self.counts.add_of(kind, 1);
        self.inner.get(kind, id)
    }

    fn get_many(
        &self,
        kind: EntityKind,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<EntityRecord>, InternalError> {
        let found = self.inner.get_many(kind, ids)?;
        self.counts.add_of(kind, found.len());
        Ok(found)
    }

    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError> {
        let found = self.inner.list(kind, query)?;
        self.counts.add_of(kind, found.len());
        self.counts.lists.lock().unwrap().push(format!("{kind:?} {query:?}"));
        Ok(found)
    }

    fn count(&self, kind: EntityKind, query: &Query) -> Result<Vec<Tally>, InternalError> {
        self.counts.add_of(kind, 0);
        self.inner.count(kind, query)
    }

    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, InternalError> {
        self.inner.key(scope, key)
    }
}

impl<S: StoreTx + ?Sized> StoreTx for CountingTx<'_, S> {
    fn put(&self, record: EntityRecord) -> Result<(), InternalError> {
        self.inner.put(record)
    }

    fn remove(&self, kind: EntityKind, id: &str) -> Result<bool, InternalError> {
        self.inner.remove(kind, id)
    }

    fn remember(&self, scope: &str, key: &str, row: KeyRow) -> Result<(), InternalError> {
        self.inner.remember(scope, key, row)
    }

    fn record(&self, entry: DecisionEntry) -> Result<(), InternalError> {
        self.inner.record(entry)
    }

    fn forget_keys(&self, before: Timestamp) -> Result<(), InternalError> {
        self.inner.forget_keys(before)
    }
}

impl PublisherStore for CountingStore {
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        let counts = &self.counts;
        counts.reads.fetch_add(1, Ordering::Relaxed);
        let before = counts.records.load(Ordering::Relaxed);
        let read = self.store.read(extent, &mut |inner| job(&CountingTx { inner, counts }));
        let records = counts.records.load(Ordering::Relaxed) - before;
        match extent {
            ReadExtent::Records => counts.largest_short_read.fetch_max(records, Ordering::Relaxed),
            ReadExtent::Pages => counts.page_reads.fetch_add(1, Ordering::Relaxed),
        };
        read
    }

    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        let counts = Arc::clone(&self.counts);
        self.store.write(Box::new(move |inner| job(&CountingTx { inner, counts: &counts })))
    }
}

fn creative(number: usize) -> Value {
    json!({
        "creative_id": format!("creative_{number}"), "name": "A banner",
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://cdn.example/a.png", "width": 300, "height": 250,
        }},
    })
}

/// A publisher, and what was read of its store.
struct CountedPublisher {
    harness: Harness,
    counts: Arc<ReadCounts>,
}

/// A publisher whose one buyer has so many media buys, and a creative, a list and a task for every ten of them.
fn with_buys(buys: usize) -> CountedPublisher {
    let store = CountingStore::default();
    let counts = Arc::clone(&store.counts);
    let harness = Harness::on(
        PublisherProfile { catalogue: demo::catalogue(), ..profile() },
        Arc::new(store),
    );
    let now = harness.now;
    harness.put(move |tx| {
        let brand = json!({"domain": "a.example"});
        let account = Account::new(ACCOUNT, brand, "a.example", Billing::Operator);
        account.open(tx, "agent:acme", now)?;
        for number in 0..buys {
            let package = json!({
                "package_id": format!("pkg_{number}"), "product_id": "outdoor_display",
                "pricing_option_id": "cpm_auction", "budget": 100,
                "creative_assignments": [{"creative_id": format!("creative_{}", number / 10)}],
            });
            let fixture = json!({"packages": [package]});
            let fixture = fixture.as_object().unwrap();
            forced_buy::seed(tx, "agent:acme", ACCOUNT, &format!("mb_{number}"), fixture, now)?;
        }
        for number in 0..buys / 10 {
            let task = json!({
                "task_id": format!("task_{number}"), "task_type": "create_media_buy", "status": "submitted",
            });
            let id = format!("10:0:agent:acmetask_{number}");
            put(tx, EntityKind::Task, &id, "submitted", "create_media_buy", task, now)?;
            let list = json!({
                "list_id": format!("pl_{number}"), "given": {"name": "Sites"}, "property_count": 0,
            });
            put(tx, EntityKind::PropertyList, &format!("pl_{number}"), "", "", list, now)?;
        }
        Ok(())
    });
    for number in 0..buys / 10 {
        let sync = json!({"account": {"account_id": ACCOUNT}, "creatives": [creative(number)]});
        ask(&harness, AdcpTool::SyncCreatives, sync);
    }
    CountedPublisher { harness, counts }
}

fn put(
    tx: &dyn StoreTx,
    kind: EntityKind,
    id: &str,
    state: &str,
    class: &str,
    body: Value,
    now: Timestamp,
) -> Result<(), InternalError> {
    let chosen = body["task_id"].as_str().unwrap_or(id);
    tx.put(EntityRecord {
        kind,
        id: id.to_owned(),
        owner: "agent:acme".to_owned(),
        account: Some(ACCOUNT.to_owned()),
        state: state.to_owned(),
        class: class.to_owned(),
        changes_at: None,
        terms: vec![IndexTerm::new(IndexField::ChosenId, chosen)],
        revision: 1,
        body,
        created_at: now,
        updated_at: now,
        place: 0,
    })
}

/// The answer to a request of the buyer, with a key of its own.
fn ask(harness: &Harness, tool: AdcpTool, mut arguments: Value) -> Value {
    static KEYS: AtomicUsize = AtomicUsize::new(0);
    if tool.keyed() {
        let key = format!("history-key-{:08}", KEYS.fetch_add(1, Ordering::Relaxed));
        arguments["idempotency_key"] = key.into();
    }
    let document = harness.ask_as(&harness.caller("acme"), tool, arguments).document();
    assert_ne!(document["status"], "failed", "{tool:?} {document}");
    document
}

#[test]
fn no_request_reads_more_for_a_buyer_with_more_history() {
    let on_account = json!({"account_id": ACCOUNT});
    let page = json!({"max_results": 5});
    let package = json!({
        "product_id": "outdoor_display", "pricing_option_id": "cpm_auction", "bid_price": 5, "budget": 1000,
        "creative_assignments": [{"creative_id": "creative_1"}],
    });
    let table = [
        (AdcpTool::GetMediaBuys, json!({"pagination": page})),
        (AdcpTool::GetMediaBuys, json!({"account": on_account, "pagination": page})),
        (AdcpTool::GetMediaBuys, json!({"status_filter": "rejected"})),
        (AdcpTool::GetMediaBuys, json!({"media_buy_ids": ["mb_7"]})),
        (AdcpTool::GetMediaBuyDelivery, json!({"media_buy_ids": ["mb_7"]})),
        (
            AdcpTool::GetProducts,
            json!({"buying_mode": "brief", "brief": "outdoor", "account": on_account}),
        ),
        (AdcpTool::ListCreatives, json!({"pagination": page})),
        (AdcpTool::ListCreatives, json!({"filters": {"creative_ids": ["creative_1"]}})),
        (AdcpTool::ListCreatives, json!({"filters": {"media_buy_ids": ["mb_17"]}})),
        (AdcpTool::ListCreatives, json!({"filters": {"assigned_to_packages": ["pkg_17"]}})),
        (AdcpTool::ListTasks, json!({"pagination": page})),
        (AdcpTool::GetTaskStatus, json!({"task_id": "task_1"})),
        (AdcpTool::ListPropertyLists, json!({"pagination": page})),
        (AdcpTool::ListAccounts, json!({})),
        (AdcpTool::SyncCreatives, json!({"account": on_account, "creatives": [creative(1)]})),
        (
            AdcpTool::SyncCreatives,
            json!({
                "account": on_account, "creatives": [creative(1)],
                "assignments": [{"creative_id": "creative_1", "package_id": "pkg_17"}],
            }),
        ),
        (
            AdcpTool::CreateMediaBuy,
            json!({
                "account": on_account, "brand": {"domain": "a.example"},
                "start_time": "2026-07-01T00:00:00Z", "end_time": "2026-08-01T00:00:00Z",
                "packages": [package],
            }),
        ),
        (
            AdcpTool::UpdateMediaBuy,
            json!({"account": on_account, "media_buy_id": "mb_7", "paused": true}),
        ),
    ];
    let few = with_buys(60);
    let many = with_buys(240);
    for (tool, arguments) in table {
        let [of_few, of_many] = [&few, &many].map(|CountedPublisher { harness, counts }| {
            let before = counts.records.load(Ordering::Relaxed);
            ask(harness, tool, arguments.clone());
            counts.records.load(Ordering::Relaxed) - before
        });
        assert_eq!(of_few, of_many, "{tool:?} {arguments}");
    }
    // Such a read keeps the other requests of its thread waiting.
    let largest = many.counts.largest_short_read.load(Ordering::Relaxed);
    assert!(largest <= 3, "{largest} records in one short read");
}

#[test]
fn a_call_that_only_reads_is_one_read_of_its_extent() {
    let CountedPublisher { harness, counts } = with_buys(60);
    for (tool, arguments, pages) in [
        (AdcpTool::GetAdcpCapabilities, json!({}), 0),
        (AdcpTool::GetTaskStatus, json!({"task_id": "task_1"}), 0),
        (AdcpTool::GetMediaBuys, json!({}), 1),
        (AdcpTool::ListCreatives, json!({}), 1),
    ] {
        let counted = || [&counts.reads, &counts.page_reads].map(|c| c.load(Ordering::Relaxed));
        let [reads, page_reads] = counted();
        ask(&harness, tool, arguments);
        assert_eq!(counted(), [reads + 1, page_reads + pages], "{tool:?}");
    }
}

#[test]
fn a_longer_page_needs_no_more_statements() {
    let ids = |count: usize| (0..count).map(|number| format!("creative_{number}"));
    let CountedPublisher { harness, counts } = with_buys(240);
    let statements = |tool, arguments: Value| {
        let before = counts.statements.load(Ordering::Relaxed);
        ask(&harness, tool, arguments);
        counts.statements.load(Ordering::Relaxed) - before
    };
    for (tool, arguments) in [
        (AdcpTool::GetMediaBuys, json!({})),
        (AdcpTool::GetMediaBuys, json!({"include_snapshot": true})),
        (AdcpTool::ListCreatives, json!({})),
        (AdcpTool::ListTasks, json!({})),
        (AdcpTool::ListPropertyLists, json!({})),
    ] {
        let [short, long] = [2, 20].map(|rows| {
            let mut arguments = arguments.clone();
            arguments["pagination"] = json!({"max_results": rows});
            statements(tool, arguments)
        });
        assert_eq!(short, long, "{tool:?} {arguments}");
    }
    let [few, many] = [2, 20].map(|count| {
        let creatives: Vec<Value> = (0..count).map(creative).collect();
        let account = json!({"account_id": ACCOUNT});
        statements(AdcpTool::SyncCreatives, json!({"account": account, "creatives": creatives}))
    });
    // Each creative is written for itself.
    assert!(many - few <= 20 - 2, "{few} {many}");
    let [few, many] = [2, 20].map(|count| {
        let filters = json!({"creative_ids": ids(count).collect::<Vec<_>>()});
        statements(AdcpTool::ListCreatives, json!({"filters": filters}))
    });
    assert_eq!(few, many);
}

#[test]
fn a_buy_that_no_ad_server_delivers_asks_for_no_order() {
    let mut catalogue = demo::catalogue();
    let product = catalogue.products.iter_mut().find(|one| one.id() == "outdoor_display").unwrap();
    let by_hand = product.with("product_id", "by_hand");
    let ad_server = Some(AdServerTerms { inventory: vec!["unit-1".to_owned()], deal: None });
    product.terms = Arc::new(ProductTerms { ad_server, ..ProductTerms::clone(&product.terms) });
    catalogue.products.push(by_hand);
    let store = CountingStore::default();
    let counts = Arc::clone(&store.counts);
    // There is no ad server yet.
    let harness =
        Harness::on(PublisherProfile { catalogue, ad_server: None, ..profile() }, Arc::new(store));
    let now = harness.now;
    harness.put(move |tx| {
        let brand = json!({"domain": "a.example"});
        Account::new(ACCOUNT, brand, "a.example", Billing::Operator).open(tx, "agent:acme", now)?;
        Ok(())
    });
    let on_account = json!({"account_id": ACCOUNT});
    let marks = |id: &str| {
        let found = harness.store.look(|reader| reader.find::<RemoteOrder>(id));
        let found: Result<_, InternalError> = found;
        found.unwrap().map(|order| order.thing.marks)
    };
    // What is asked to make, to change and to pause a buy of a product.
    let asked = |product: &str| {
        let before = counts.orders.load(Ordering::Relaxed);
        let package = json!({
            "product_id": product, "pricing_option_id": "cpm_auction", "bid_price": 5, "budget": 1000,
        });
        let made = ask(
            &harness,
            AdcpTool::CreateMediaBuy,
            json!({
                "account": on_account, "brand": {"domain": "a.example"},
                "start_time": "2026-07-01T00:00:00Z", "end_time": "2026-08-01T00:00:00Z",
                "packages": [package],
            }),
        );
        let id = made["media_buy_id"].as_str().unwrap().to_owned();
        for change in [json!({"end_time": "2026-09-01T00:00:00Z"}), json!({"paused": true})] {
            let mut change = change;
            change["account"] = on_account.clone();
            change["media_buy_id"] = json!(id);
            ask(&harness, AdcpTool::UpdateMediaBuy, change);
        }
        (counts.orders.load(Ordering::Relaxed) - before, marks(&id))
    };
    assert_eq!(asked("by_hand"), (0, None));
    // A product that names inventory is followed, so that an ad server that is configured later makes what was
    // sold before; only a new buy needs no look.
    assert_eq!(asked("outdoor_display"), (2, Some(2)));
}

#[test]
fn a_list_reads_no_list_of_the_store_twice() {
    let CountedPublisher { harness, counts } = with_buys(4);
    for (tool, arguments) in [
        (AdcpTool::GetMediaBuys, json!({})),
        (AdcpTool::GetMediaBuys, json!({"status_filter": ["canceled"]})),
        (AdcpTool::ListCreatives, json!({})),
        (AdcpTool::ListTasks, json!({})),
        (AdcpTool::ListPropertyLists, json!({})),
        (AdcpTool::ListAccounts, json!({})),
    ] {
        counts.lists.lock().unwrap().clear();
        ask(&harness, tool, arguments.clone());
        let mut lists = std::mem::take(&mut *counts.lists.lock().unwrap());
        assert!(!lists.is_empty(), "{tool:?} {arguments}");
        lists.sort();
        let twice: Vec<_> = lists.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{tool:?} {arguments}: {twice:?}");
    }
}

#[test]
fn statuses_follow_the_clock_whether_written_anew_or_not() {
    let mut harness =
        Harness::from_profile(PublisherProfile { catalogue: demo::catalogue(), ..profile() });
    let now = harness.now;
    let at = move |hours: i64| (now + SignedDuration::from_hours(hours)).to_string();
    harness.put(move |tx| {
        let brand = json!({"domain": "a.example"});
        let account = Account::new(ACCOUNT, brand, "a.example", Billing::Operator);
        account.open(tx, "agent:acme", now)?;
        for number in 0..12_i64 {
            let statuses = ["pending_start", "active", "paused", "canceled"];
            let status = statuses[usize::try_from(number % 4).unwrap()];
            let fixture = json!({
                "status": status, "start_time": at(number % 5), "end_time": at(number % 5 + 3),
                "total_budget": 10,
            });
            let fixture = fixture.as_object().unwrap();
            forced_buy::seed(tx, "agent:acme", ACCOUNT, &format!("mb_{number:02}"), fixture, now)?;
        }
        Ok(())
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for hour in 0..10 {
        harness.now = now + SignedDuration::from_hours(hour);
        let everything = ask(&harness, AdcpTool::GetMediaBuys, json!({"media_buy_ids": all_ids()}));
        let before = listed(&harness);
        for (status, ids, total) in &before {
            let expected: Vec<_> = rows(&everything, |row| row["status"] == status.as_str());
            assert_eq!((ids, *total), (&expected, expected.len() as u64), "{status} at {hour}");
        }
        runtime.block_on(harness.publisher.tick(harness.now));
        assert_eq!(listed(&harness), before, "at {hour}");
    }
}

fn all_ids() -> Vec<String> {
    (0..12).map(|number| format!("mb_{number:02}")).collect()
}

fn rows(answer: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let rows = answer["media_buys"].as_array().unwrap().iter().filter(|row| wanted(row));
    rows.map(|row| row["media_buy_id"].as_str().unwrap().to_owned()).collect()
}

/// For each status the buys that are listed, page by page, and how many there are said to be.
fn listed(harness: &Harness) -> Vec<(String, Vec<String>, u64)> {
    let mut listed = Vec::new();
    for status in ["pending_start", "active", "paused", "completed", "canceled"] {
        let mut ids = Vec::new();
        let mut cursor = Value::Null;
        let mut total = 0;
        loop {
            let mut request = json!({"status_filter": status, "pagination": {"max_results": 2}});
            if !cursor.is_null() {
                request["pagination"]["cursor"] = cursor;
            }
            let page = ask(harness, AdcpTool::GetMediaBuys, request);
            ids.extend(rows(&page, |_| true));
            total = page["pagination"]["total_count"].as_u64().unwrap().max(total);
            cursor = page["pagination"]["cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        listed.push((status.to_owned(), ids, total));
    }
    listed
}
