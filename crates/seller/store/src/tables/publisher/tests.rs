//! Indexes used by queries for entities, and the contents of an older file after the migration.

use rusqlite::Connection as File;
use tradepost_document::json::json;
use tradepost_publisher::store::{Changes, IndexField, Order};

use super::*;
use crate::sql::SqlBackend;
use crate::sqlite::Schema;
use crate::sqlite::schema::{self, MIGRATIONS, steps};

fn open(path: &std::path::Path) -> Database {
    let link = SqlBackend::Sqlite(schema::open(path, Schema::Migrate).unwrap());
    Database(Connection::new(link, std::sync::Arc::default()))
}

/// Returns SQLite's plan for a query.
fn plan(database: &Database, query: &Query) -> Vec<String> {
    let Listing { sql, values } = Listing::new(&database.0, "p", EntityKind::MediaBuy, query);
    let explained = format!("EXPLAIN QUERY PLAN {sql}");
    database
        .0
        .all("explaining a query", &explained, &values, |row| row.get::<String>("detail"))
        .unwrap()
}

#[test]
fn lists_are_read_on_an_index_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(&folder.path().join("database"));
    let states = |count: usize| -> Vec<String> {
        ["active", "paused", "completed"][..count].iter().map(|word| (*word).to_owned()).collect()
    };
    let owner = Query::with_owner("o");
    let account = Query::with_account("a");
    let after = Some(Changes::After(Timestamp::UNIX_EPOCH));
    let by = Some(Changes::By(Timestamp::UNIX_EPOCH));
    let of_owner = "publisher=? AND kind=? AND owner=?";
    let of_account = "publisher=? AND kind=? AND account=?";
    let one_of_account =
        Query { states: states(1), changes: after, owner: owner.owner.clone(), ..account.clone() };
    for (query, index, key) in [
        (owner.clone(), "by_owner", of_owner),
        (
            Query { states: states(2), ..owner.clone() },
            "by_owner_state",
            "publisher=? AND kind=? AND owner=? AND state=?",
        ),
        (account.clone(), "by_account", of_account),
        (
            Query { states: states(1), changes: after, ..owner.clone() },
            "by_owner_state",
            "publisher=? AND kind=? AND owner=? AND state=?",
        ),
        (
            Query { states: states(3), changes: after, ..owner.clone() },
            "by_owner_state",
            "publisher=? AND kind=? AND owner=? AND state=?",
        ),
        (one_of_account, "by_account_state", "publisher=? AND kind=? AND account=? AND state=?"),
        (Query { changes: by, ..owner }, "by_change", "publisher=? AND kind=? AND changes_at<?"),
        (Query::with_state("active"), "by_state", "publisher=? AND kind=? AND state=?"),
        (Query::default(), "by_creation", "publisher=? AND kind=?"),
    ] {
        for (order, beginning) in [(Order::Oldest, "created_at>?"), (Order::Newest, "created_at<?")]
        {
            for from in [None, Some(Timestamp::UNIX_EPOCH)] {
                let query = Query { order, from, skip: 100, limit: 50, ..query.clone() };
                let steps = plan(&database, &query);
                let mut searches = steps.iter().filter(|step| step.starts_with("SEARCH"));
                let expected = format!("INDEX publisher_things_{index} ({key}");
                assert!(searches.all(|search| search.contains(&expected)), "{query:?} {steps:#?}");
                assert!(steps.iter().any(|step| step.contains(&expected)), "{query:?} {steps:#?}");
                // A later page is found by the index, and not by reading what comes before it.
                let begins = steps.iter().any(|step| step.contains(beginning));
                let is_by_change = index == "by_change";
                assert!(is_by_change || begins == from.is_some(), "{query:?} {steps:#?}");
                let scans: Vec<_> = steps.iter().filter(|step| step.starts_with("SCAN")).collect();
                // The pages of several states are merged.
                let reads_all = scans.iter().any(|scan| scan.contains("publisher_things"));
                assert!(!reads_all, "{query:?} {steps:#?}");
                let sorts = steps.iter().any(|step| step.contains("TEMP B-TREE"));
                let is_joined = query.states.len() > 1;
                assert!(is_joined || !sorts, "{query:?} {steps:#?}");
            }
        }
    }
    let by_package = Query::with_owner("o").led_to_by(IndexField::Package, "pkg");
    let steps = plan(&database, &by_package);
    let expected = "PRIMARY KEY (publisher=? AND kind=? AND field=? AND value=? AND owner=?";
    assert!(steps.iter().any(|step| step.contains(expected)), "{steps:#?}");
    assert!(!steps.iter().any(|step| step.starts_with("SCAN")), "{steps:#?}");
    let values = ["pkg_1", "pkg_2"].into_iter();
    let led_to_any = Query::with_owner("o").led_to_by_any(IndexField::Package, values);
    let steps = plan(&database, &led_to_any);
    assert!(steps.iter().any(|step| step.contains(expected)), "{steps:#?}");
    assert!(!steps.iter().any(|step| step.starts_with("SCAN t")), "{steps:#?}");
}

/// Creates an older file with entities: one that runs, and one of each kind with an id chosen by its buyer.
fn old(path: &std::path::Path) {
    let file = File::open(path).unwrap();
    let before = MIGRATIONS.iter().position(|step| *step == steps::PUBLISHER_INDEX).unwrap();
    MIGRATIONS[..before].iter().for_each(|step| file.execute_batch(step).unwrap());
    file.pragma_update(None, "user_version", i64::try_from(before).unwrap()).unwrap();
    let buy = json!({"packages": [
        {"package_id": "pkg_1", "creative_assignments": [{"creative_id": "c"}, {"creative_id": "c"}]},
        {"package_id": "pkg_2"},
    ]});
    let account = json!({
        "status": "suspended", "sandbox": true, "operator": "o.example", "brand": {"domain": "b.example"},
    });
    for (kind, id, state, body) in [
        ("media_buy", "mb", "pending_start", buy),
        ("media_buy", "bare", "active", json!({"packages": []})),
        ("creative", "1:0:oc", "", json!({"creative_id": "c"})),
        ("task", "1:0:ot", "submitted", json!({"task_id": "t"})),
        ("account", "acc", "", account),
        ("notice", "n", "due", json!({"about": {"thing": "1:0:oc"}})),
        ("notice", "m", "done", json!({})),
    ] {
        let sql = "INSERT INTO publisher_things (publisher, kind, id, owner, account, state, revision, \
                   created_at, updated_at, body) VALUES ('p', ?1, ?2, 'o', 'acc', ?3, 1, 0, 0, ?4)";
        file.execute(sql, (kind, id, state, body.to_string())).unwrap();
    }
}

fn ids(records: &[EntityRecord]) -> Vec<&str> {
    records.iter().map(|record| record.id.as_str()).collect()
}

#[test]
fn what_was_there_before_is_found_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    old(&path);
    let database = open(&path);
    let check = |reader: &dyn StoreRead| {
        for (kind, field, value, id) in [
            (EntityKind::MediaBuy, IndexField::Package, "pkg_2", "mb"),
            (EntityKind::MediaBuy, IndexField::Creative, "c", "mb"),
            (EntityKind::Creative, IndexField::ChosenId, "c", "1:0:oc"),
            (EntityKind::Task, IndexField::ChosenId, "t", "1:0:ot"),
            (EntityKind::Account, IndexField::NaturalKey, "b.example o.example", "acc"),
            (EntityKind::Notice, IndexField::About, "1:0:oc", "n"),
        ] {
            let query = Query::with_owner("o").led_to_by(field, value);
            let found = reader.list(kind, &query).unwrap();
            assert_eq!(ids(&found), [id], "{field:?}");
        }
        // Found once, although it has both packages.
        let values = ["pkg_1", "pkg_2", "absent"].into_iter();
        let query = Query::with_owner("o").led_to_by_any(IndexField::Package, values);
        assert_eq!(ids(&reader.list(EntityKind::MediaBuy, &query).unwrap()), ["mb"]);
        let named = ["mb", "absent", "bare", "1:0:oc"].map(str::to_owned).into();
        let found = reader.get_many(EntityKind::MediaBuy, &named).unwrap();
        assert_eq!(ids(&found), ["mb", "bare"]);
        assert!(reader.get_many(EntityKind::MediaBuy, &BTreeSet::new()).unwrap().is_empty());
        // Their state has to be updated before it is used.
        let changed =
            Query { changes: Some(Changes::By(Timestamp::UNIX_EPOCH)), ..Query::default() };
        for (kind, count) in [
            (EntityKind::MediaBuy, 2),
            (EntityKind::Creative, 1),
            (EntityKind::Task, 1),
            (EntityKind::Account, 0),
        ] {
            assert_eq!(reader.list(kind, &changed).unwrap().len(), count, "{kind:?}");
        }
        let account = Tally { state: "suspended".into(), class: "sandbox".into(), things: 1 };
        assert_eq!(
            reader.count(EntityKind::Account, &Query::with_account("acc")).unwrap(),
            [account]
        );
        let notices = reader.count(EntityKind::Notice, &Query::default()).unwrap();
        assert_eq!(notices.iter().map(|tally| tally.things).sum::<u64>(), 2);
    };
    database.read_for_publisher("p", &mut |reader| check(reader)).unwrap();
}
