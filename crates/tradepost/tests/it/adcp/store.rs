//! One story on both stores: whatever is done to the store in memory and to that in the database,
//! both then say the same.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use proptest::prelude::*;
use tradepost_document::json::json;
use tradepost_publisher::refusals::{ToolError, invalid};
use tradepost_publisher::store::memory::MemoryPublisherStore;
use tradepost_publisher::store::{
    Changes, EntityKind, EntityRecord, IndexField, IndexTerm, KeyRow, Order, PublisherStore, Query,
    ReadExtent, StoreRead, StoreTx,
};
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_store::Store;

use crate::support::postgres::Scratch;

/// Something that is done.
#[derive(Debug, Clone)]
pub enum Step {
    Put {
        kind: usize,
        id: usize,
        owner: usize,
        account: Option<usize>,
        state: usize,
        found: Found,
        word: u8,
    },
    Remove {
        kind: usize,
        id: usize,
    },
    Remember {
        scope: usize,
        key: usize,
        word: u8,
    },
}

/// By what a thing is found.
#[derive(Debug, Clone)]
pub struct Found {
    class: usize,
    changes_at: Option<usize>,
    terms: BTreeSet<(usize, usize)>,
}

fn found() -> impl Strategy<Value = Found> {
    let small = 0..3_usize;
    let terms = prop::collection::btree_set((0..2_usize, small.clone()), 0..3);
    (small.clone(), prop::option::of(small), terms).prop_map(|(class, changes_at, terms)| Found {
        class,
        changes_at,
        terms,
    })
}

pub fn step() -> impl Strategy<Value = Step> {
    let small = 0..3_usize;
    let put = (small.clone(), 0..6_usize, small.clone(), prop::option::of(small.clone()));
    let how = (small.clone(), found(), any::<u8>());
    prop_oneof![
        4 => (put, how).prop_map(|((kind, id, owner, account), (state, found, word))| {
            Step::Put { kind, id, owner, account, state, found, word }
        }),
        1 => (small.clone(), small.clone()).prop_map(|(kind, id)| Step::Remove { kind, id }),
        1 => (small.clone(), small, any::<u8>())
            .prop_map(|(scope, key, word)| Step::Remember { scope, key, word }),
    ]
}

const KINDS: [EntityKind; 3] = [EntityKind::Account, EntityKind::MediaBuy, EntityKind::Task];

fn moment(seconds: usize) -> Timestamp {
    Timestamp::from_second(i64::try_from(seconds).unwrap()).unwrap()
}

/// The term with these numbers.
fn term(field: usize, value: usize) -> IndexTerm {
    let field = [IndexField::Package, IndexField::Creative][field];
    IndexTerm::new(field, &format!("value {value}"))
}

fn carry_out(tx: &dyn StoreTx, step: &Step) {
    match step.clone() {
        Step::Put { kind, id, owner, account, state, found, word } => tx
            .put(EntityRecord {
                kind: KINDS[kind],
                id: format!("thing {id}"),
                owner: format!("tenant {owner}"),
                account: account.map(|account| format!("account {account}")),
                state: format!("state {state}"),
                class: format!("class {}", found.class),
                changes_at: found.changes_at.map(moment),
                terms: found.terms.iter().map(|(field, value)| term(*field, *value)).collect(),
                revision: u64::from(word),
                body: json!({"word": word, "text": "é\u{0}\"'", "number": 1e300}),
                // Several are created at the same moment.
                created_at: moment((9 - id) / 2),
                updated_at: moment(usize::from(word)),
                place: 0,
            })
            .unwrap(),
        Step::Remove { kind, id } => {
            tx.remove(KINDS[kind], &format!("thing {id}")).unwrap();
        }
        Step::Remember { scope, key, word } => {
            let row = KeyRow { hash: [word; 32], reply: json!([word]), used_at: moment(key) };
            tx.remember(&format!("scope {scope}"), &format!("key {key}"), row).unwrap();
        }
    }
}

/// A query of some form, and its text.
type Asked = (Query, String);

/// Queries of every form, each alone and together with others. Those that are the same but for what they look
/// for follow each other: a store keeps the statement of the one before.
fn queries() -> &'static [Asked] {
    static QUERIES: LazyLock<Vec<Asked>> = LazyLock::new(|| {
        let of_numbers = [0, 1, 2].map(queries_with);
        let of_form = |form: usize| of_numbers.iter().map(move |queries| queries[form].clone());
        each_once((0..of_numbers[0].len()).flat_map(of_form))
    });
    &QUERIES
}

/// Those that are walked, without the places at which a page begins and ends.
fn walks() -> &'static [Asked] {
    static WALKS: LazyLock<Vec<Asked>> = LazyLock::new(|| {
        let is_by_creation = |query: &Query| !matches!(query.changes, Some(Changes::By(_)));
        let queries = queries_with(1).into_iter().filter(is_by_creation);
        each_once(queries.map(|query| Query { from: None, skip: 0, limit: 0, ..query }))
    });
    &WALKS
}

/// Those with which things are counted: all that narrow, and some with pages and moments, on which a count does
/// not depend.
fn counts() -> &'static [Asked] {
    static COUNTS: LazyLock<Vec<Asked>> = LazyLock::new(|| {
        let narrows = |query: &Query| Query {
            changes: None,
            order: Order::default(),
            from: None,
            skip: 0,
            limit: 0,
            ..query.clone()
        };
        let asked = queries().iter().enumerate();
        // One in eleven, so that every page and moment stands beside several of those that narrow.
        each_once(asked.flat_map(|(place, (query, _))| {
            let is_chosen = place % 11 == 0;
            [Some(narrows(query)), is_chosen.then(|| query.clone())].into_iter().flatten()
        }))
    });
    &COUNTS
}

fn each_once(queries: impl Iterator<Item = Query>) -> Vec<Asked> {
    let mut known = HashSet::new();
    let fresh = queries.filter(|query| known.insert(query.clone()));
    fresh.map(|query| (query.clone(), format!("{query:?}"))).collect()
}

fn queries_with(number: usize) -> Vec<Query> {
    let owner = format!("tenant {number}");
    let account = format!("account {number}");
    let states = |count: usize| (0..count).map(|state| format!("state {state}")).collect();
    let of_owner = Query::with_owner(&owner);
    let of_account = Query::with_account(&account);
    let except_accounts = vec![account.clone(), format!("account {}", (number + 1) % 3)];
    let led_to_by = Query { terms: Some(term(number % 2, number).into()), ..Query::default() };
    let narrowed = vec![
        Query::default(),
        of_owner.clone(),
        of_account.clone(),
        Query { states: states(number), ..of_owner.clone() },
        Query { states: states(2), ..of_account.clone() },
        Query { states: states(1), ..of_owner.clone() },
        Query { account: Some(account), states: states(3), ..of_owner.clone() },
        Query { except_accounts: except_accounts.clone(), ..of_owner.clone() },
        Query { except_accounts, states: states(2), ..Query::default() },
        Query { class: Some(format!("class {number}")), states: states(2), ..of_owner.clone() },
        Query::with_state(&format!("state {number}")),
        led_to_by.clone(),
        Query { states: states(2), owner: Some(owner), ..led_to_by },
    ];
    let changes = [None, Some(Changes::By(moment(1))), Some(Changes::After(moment(1)))];
    let from = Some(moment(3));
    let parts = [
        Query::default(),
        Query { order: Order::Newest, limit: 2, ..Query::default() },
        Query { order: Order::Oldest, from, skip: 1, limit: 1, ..Query::default() },
        Query { order: Order::Newest, from, skip: 2, limit: 3, ..Query::default() },
    ];
    let mut queries = Vec::new();
    for query in narrowed {
        for changes in changes {
            for Query { order, from, skip, limit, .. } in parts.clone() {
                queries.push(Query { changes, order, from, skip, limit, ..query.clone() });
            }
        }
    }
    queries
}

/// How many things of each state and class there are.
fn counted(reader: &dyn StoreRead, kind: EntityKind, query: &Query) -> Vec<(String, String, u64)> {
    let tallies = reader.count(kind, query).unwrap();
    let mut counted: Vec<_> =
        tallies.into_iter().map(|tally| (tally.state, tally.class, tally.things)).collect();
    counted.sort_unstable();
    counted
}

/// What a query finds page by page, each page going on behind the one before.
fn walked(reader: &dyn StoreRead, kind: EntityKind, query: &Query) -> Vec<String> {
    let whole = reader.list(kind, query).unwrap();
    let whole: Vec<_> = whole.into_iter().map(|record| record.id).collect();
    for size in 1..=3 {
        let mut query = Query { limit: size, ..query.clone() };
        let mut walked = Vec::new();
        loop {
            let page = reader.list(kind, &query).unwrap();
            if page.is_empty() {
                break;
            }
            query.continue_behind(page.iter());
            walked.extend(page.into_iter().map(|record| record.id));
        }
        assert_eq!(whole, walked, "each once and in the same order");
    }
    whole
}

/// Everything that can be asked. Places differ where things were removed, so only their order is
/// told.
pub fn everything(publisher_store: &dyn PublisherStore) -> Vec<String> {
    let mut lines = Vec::new();
    let mut tell = |reader: &dyn StoreRead| {
        for kind in KINDS {
            for id in 0..6 {
                let id = format!("thing {id}");
                lines.push(format!("{:?}", reader.owner_of(kind, &id).unwrap()));
                let record = reader.get(kind, &id).unwrap();
                lines.push(format!(
                    "{:?}",
                    record.map(|record| EntityRecord { place: 0, ..record })
                ));
            }
        }
        for (query, text) in queries() {
            for kind in KINDS {
                let ids: Vec<_> = reader.list(kind, query).unwrap();
                let ids: Vec<_> = ids.into_iter().map(|record| record.id).collect();
                lines.push(format!("{text} {ids:?}"));
            }
        }
        for (query, text) in counts() {
            for kind in KINDS {
                lines.push(format!("{text} {:?}", counted(reader, kind, query)));
            }
        }
        for (query, text) in walks() {
            for kind in KINDS {
                lines.push(format!("{text} {:?}", walked(reader, kind, query)));
            }
        }
        for scope in 0..3 {
            for key in 0..3 {
                let row = reader.key(&format!("scope {scope}"), &format!("key {key}")).unwrap();
                lines.push(format!("{row:?}"));
            }
        }
    };
    publisher_store.read(ReadExtent::Pages, &mut tell).unwrap();
    lines
}

pub fn write(publisher_store: &dyn PublisherStore, steps: Vec<Step>, refuse: bool) {
    let job = move |tx: &dyn StoreTx| {
        for step in &steps {
            carry_out(tx, step);
        }
        if refuse {
            return Err(ToolError::from(invalid("x", "no")));
        }
        Ok(())
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let done = runtime.block_on(publisher_store.act(job));
    assert_eq!(matches!(done, Err(ToolError::Refused(_))), refuse);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_store_and_the_memory_tell_the_same_story(
        chapters in prop::collection::vec((prop::collection::vec(step(), 1..6), any::<bool>()), 1..6)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let kept = SqlPublisherStore::new(Arc::clone(&store), "one");
        let other = SqlPublisherStore::new(store, "another");
        let memory = MemoryPublisherStore::default();
        let untouched = everything(&other);
        for (steps, refuse) in chapters {
            write(&kept, steps.clone(), refuse);
            write(&memory, steps, refuse);
            prop_assert_eq!(everything(&kept), everything(&memory));
        }
        prop_assert_eq!(everything(&other), untouched);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn a_server_tells_it_too(
        chapters in prop::collection::vec((prop::collection::vec(step(), 1..6), any::<bool>()), 1..4)
    ) {
        let Some(scratch) = Scratch::new() else { return Ok(()) };
        let stores = [Arc::new(scratch.store()), Arc::new(scratch.store())];
        let publisher_stores = stores.map(|store| SqlPublisherStore::new(store, "one"));
        let memory = MemoryPublisherStore::default();
        for (number, (steps, refuse)) in chapters.into_iter().enumerate() {
            write(&publisher_stores[number % 2], steps.clone(), refuse);
            write(&memory, steps, refuse);
            let expected = everything(&memory);
            // At once, because most of the time is spent on waiting for the server.
            let [first, second] = &publisher_stores;
            let answers = std::thread::scope(|scope| {
                let first = scope.spawn(|| everything(first));
                let second = everything(second);
                [first.join().unwrap(), second]
            });
            prop_assert_eq!(&answers[0], &expected);
            prop_assert_eq!(&answers[1], &expected);
        }
    }
}

#[test]
fn a_budget_is_spent_once_by_many_at_two_servers() {
    const BUDGET: u64 = 150;
    let Some(scratch) = Scratch::new() else { return };
    let stores = [Arc::new(scratch.store()), Arc::new(scratch.store())];
    let publisher_stores = stores.map(|store| SqlPublisherStore::new(store, "one"));
    let put = |tx: &dyn StoreTx, left: u64| {
        tx.put(EntityRecord {
            kind: EntityKind::MediaBuy,
            id: "buy".to_owned(),
            owner: "tenant".to_owned(),
            account: None,
            state: String::new(),
            class: String::new(),
            changes_at: None,
            terms: Vec::new(),
            revision: 1,
            body: json!({"left": left}),
            created_at: moment(0),
            updated_at: moment(0),
            place: 0,
        })
    };
    let store = |number: usize| Arc::clone(publisher_stores[number].store());
    store(0).write_for_publisher("one", move |tx| put(tx, BUDGET)).unwrap();
    let spend = move |tx: &dyn StoreTx| {
        let kept = tx.get(EntityKind::MediaBuy, "buy")?.unwrap();
        let left = kept.body["left"].as_u64().unwrap();
        if left > 0 {
            put(tx, left - 1)?;
        }
        Ok::<_, tradepost_server::fault::InternalError>(left > 0)
    };
    let spent: u64 = std::thread::scope(|scope| {
        let spenders: Vec<_> = (0..8)
            .map(|spender| {
                let store = store(spender % 2);
                let spends = move || store.write_for_publisher("one", spend).unwrap();
                scope.spawn(move || (0..25).filter(|_| spends()).count() as u64)
            })
            .collect();
        spenders.into_iter().map(|spender| spender.join().unwrap()).sum()
    });
    assert_eq!(spent, BUDGET);
    let left =
        store(1).write_for_publisher("one", |tx| tx.get(EntityKind::MediaBuy, "buy")).unwrap();
    assert_eq!(left.unwrap().body["left"], 0);
}
