//! What processes on one database agree on: the schema, who delivers, and what people are shown.

use std::process::{Command, Output};

use tradepost_admin::keys::{CreateKey, RevokeKey, create_key, revoke_key};
use tradepost_admin::{Actor, AdminContext};
use tradepost_dealer::delivery::NewDelivery;
use tradepost_document::json::Value;
use tradepost_store::{ApiKey, BlockedPushes, Store};

use super::lead_id;
use crate::process::{DEALER, Process, fresh_lead};
use crate::support::dealer;
use crate::support::postgres::Scratch;
use crate::support::{at, envelope, start_on};

#[test]
fn those_who_start_together_make_the_tables_once() {
    let Some(scratch) = Scratch::new() else { return };
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| scratch.store());
        }
    });
    assert_eq!(scratch.say("SELECT version::text FROM tradepost_schema"), ["21"]);
}

#[test]
fn newer_tables_are_refused_and_older_left_by_readers() {
    let Some(scratch) = Scratch::new() else { return };
    drop(scratch.store());
    scratch.say("INSERT INTO tradepost_schema VALUES (99)");
    let newer = Store::connect(&scratch.url()).unwrap_err().chain();
    assert!(newer.contains("newer version"), "{newer}");
    assert_eq!(Store::join(&scratch.url()).unwrap_err().chain(), newer);
}

/// Takes back what the migrations after the fourteenth have made.
const OLDER: &str = "
    DROP TABLE calendar_feeds;
    DROP TABLE step_results;
    DROP TABLE lead_rotation;
    DROP INDEX leads_by_time;
    DROP INDEX leads_by_state;
    ALTER TABLE lead_progress ADD COLUMN stage TEXT NOT NULL DEFAULT 'new';
    ALTER TABLE leads DROP COLUMN agent, DROP COLUMN rooftop, DROP COLUMN vehicle_id, DROP COLUMN stage,
        DROP COLUMN lost_reason, DROP COLUMN owner, DROP COLUMN next_step, DROP COLUMN next_step_at,
        DROP COLUMN handled_by;
    DROP TABLE publisher_terms;
    DROP TABLE publisher_counts;
    DROP TABLE staff_event_places;
    DROP INDEX publisher_things_by_creation;
    ALTER TABLE publisher_things DROP COLUMN class, DROP COLUMN changes_at;
    CREATE INDEX publisher_things_by_owner ON publisher_things (publisher, kind, owner, place);
    CREATE INDEX publisher_things_by_state ON publisher_things (publisher, kind, state, place);
    ALTER TABLE lead_deliveries DROP COLUMN source;
    DROP TABLE empty_searches;
    DROP INDEX lead_events_by_time;
    DROP INDEX lead_progress_by_change;
    DELETE FROM tradepost_schema;
    INSERT INTO tradepost_schema VALUES (14)";

#[test]
fn things_with_an_escaped_nul_are_migrated_and_keep_it() {
    let Some(scratch) = Scratch::new() else { return };
    drop(scratch.store());
    scratch.say(OLDER);
    let bodies = [
        (
            "account",
            r#"{"status":"active","sandbox":true,"brand":{"domain":"acme.example"},"operator":"acme.example","name":"A\u0000"}"#,
        ),
        (
            "media_buy",
            r#"{"packages":[{"package_id":"p1","creative_assignments":[{"creative_id":"c\u00001"}]}],"name":"\u0000"}"#,
        ),
        ("creative", r#"{"creative_id":"c\u00001"}"#),
        ("notice", r#"{"about":{"thing":"buy_1"},"text":"\\u0000 and \u0000"}"#),
    ];
    for (kind, body) in bodies {
        scratch.say(&format!(
            "INSERT INTO publisher_things
                 (publisher, kind, id, owner, state, revision, created_at, updated_at, body)
             VALUES ('gazette', '{kind}', '{kind}', 'agent:acme', '', 1, 1, 1, '{body}')"
        ));
    }
    scratch.say(
        r#"WITH sent AS (
               INSERT INTO lead_submissions (lead_id, dealer_id, received_at, duplicate, version, principal,
                                             payload, rooftop, listing)
               VALUES ('lead_1', 'd', 1, FALSE, '1.0', 'anonymous', '{}', 'Main Street',
                       '{"vehicle_id":"veh_1","trim":"\u0000"}')
               RETURNING seq)
           INSERT INTO leads (lead_id, dealer_id, received_at, changed_at, state, person, submission)
           SELECT 'lead_1', 'd', 1, 1, 'received', 'lead_1', seq FROM sent"#,
    );
    drop(scratch.store());
    let lead = "SELECT concat_ws(' ', vehicle_id, rooftop, stage) FROM leads";
    assert_eq!(scratch.say(lead), ["veh_1 main street new"]);
    let terms = "SELECT concat_ws(' ', kind, field, value) FROM publisher_terms ORDER BY 1";
    assert_eq!(
        scratch.say(terms),
        [
            "account natural_key acme.example acme.example",
            "creative chosen_id c\u{fffd}1",
            "media_buy creative c\u{fffd}1",
            "media_buy package p1",
            "notice about buy_1",
        ]
    );
    let account = "SELECT state || ' ' || class FROM publisher_things WHERE kind = 'account'";
    assert_eq!(scratch.say(account), ["active sandbox"]);
    let kept = scratch.say("SELECT body FROM publisher_things ORDER BY place");
    assert_eq!(kept, bodies.map(|(_, body)| body));
}

#[test]
fn one_delivers_and_the_other_when_that_is_cut() {
    let Some(scratch) = Scratch::new() else { return };
    let stores = [scratch.store(), scratch.store()];
    assert!(stores[0].is_courier().unwrap());
    assert!(!stores[1].is_courier().unwrap());
    assert!(stores[0].is_courier().unwrap(), "it stays the one");
    let now = at(crate::support::NOW);
    let planned = NewDelivery {
        dealer_id: "d".to_owned(),
        lead_id: "lead_1".to_owned(),
        destination: "crm".to_owned(),
        event: 1,
    };
    stores[1].deliver_again(vec![planned], now).unwrap();
    let due =
        |store: &Store| store.deliveries_due(now, &BlockedPushes::default(), 10).unwrap().len();
    assert_eq!((due(&stores[0]), due(&stores[1])), (1, 0));
    assert_eq!(stores[1].deliveries_next_due(at("2026-01-01T00:00:00Z")).unwrap(), None);

    // Whoever begins first has it until the attempt counts as lost.
    let later = at("2026-04-30T12:10:00Z");
    let begin = |store: &Store, now| {
        let job =
            move |tx: &tradepost_store::StoreTransaction<'_>| tx.begin_delivery(1, now, later);
        store.write_blocking(job).unwrap()
    };
    let began = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|n| {
                scope.spawn({
                    let store = &stores[n % 2];
                    move || begin(store, now).is_some()
                })
            })
            .collect();
        tries.into_iter().map(|begun| begun.join().unwrap()).filter(|begun| *begun).count()
    });
    assert_eq!(began, 1);
    let job = move |tx: &tradepost_store::StoreTransaction<'_>| tx.resume_deliveries(now);
    assert_eq!(stores[1].write_blocking(job).unwrap(), 0, "others may be sending");
    let lost = begin(&stores[1], later).unwrap();
    assert!(lost.may_have_arrived, "an attempt of which nothing was noted may have arrived");

    // While the one is cut off, the other is asked first.
    let much_later = at("2026-06-30T00:00:00Z");
    let finds = |store: &Store| {
        let found = store.deliveries_due(much_later, &BlockedPushes::default(), 10);
        found.is_ok_and(|found| !found.is_empty())
    };
    for _ in 0..1_000 {
        scratch.cut();
        if finds(&stores[1]) {
            break;
        }
    }
    assert!(finds(&stores[1]));
    // Whether it has noticed or not: what is due is read on the session that is gone.
    assert!(!finds(&stores[0]));
}

#[test]
fn a_replaced_inventory_is_seen_by_the_other_server() {
    let Some(scratch) = Scratch::new() else { return };
    let config = dealer::config();
    let stores = [scratch.store(), scratch.store()];
    dealer::stock(&stores[0], &config);
    let [one, other] = stores.map(|store| start_on(store, config.clone()));
    let generation = || other.store.inventory_generation(dealer::ID).unwrap();
    let before = generation();
    one.store.replace_inventory(dealer::ID, &[], at(crate::support::NOW), false).unwrap();
    assert_eq!(generation(), before + 1);
    let lifetime = jiff::SignedDuration::from_hours(24);
    let (listed, gone) =
        other.store.inventory(dealer::ID, at(crate::support::NOW), lifetime).unwrap();
    assert_eq!((listed.len(), gone.len()), (0, 4 + 1));
}

fn tradepost(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tradepost")).args(arguments).output().unwrap()
}

#[test]
fn two_processes_take_one_lead_and_people_see_it_once() {
    let Some(scratch) = Scratch::new() else { return };
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let address = scratch.address();
    let config = DEALER.replace("[server]", &format!("[server]\ndatabase = \"{address}\""));
    let config = if config.contains(&address) {
        config
    } else {
        format!("[server]\ndatabase = \"{address}\"\nlisten = \"127.0.0.1:0\"\n{DEALER}")
    };
    let [one, other] = folders.each_ref().map(|folder| {
        let path = folder.path().join("tradepost.toml");
        std::fs::write(&path, &config).unwrap();
        let file = std::fs::File::create(folder.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
        command.args(["serve", "--config"]).arg(&path);
        command.current_dir(folder.path());
        Process::run(folder.path(), command, file.into())
    });
    let lead = fresh_lead(&[("/idempotency_key", "k-1".into())]);
    let first = lead_id(&one.call(&lead)).unwrap();
    let again = lead_id(&other.post("/a2a", &[], &envelope(&lead).to_string())).unwrap();
    assert_eq!(first, again);
    let listed = tradepost(&["--json", "leads", "list", "--database", &address]);
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed: Value = tradepost_document::json::from_slice(&listed.stdout).unwrap();
    assert_eq!(
        listed.to_string().matches(&format!("\"lead_id\":\"{first}\"")).count(),
        1,
        "{listed}"
    );
    for process in [&one, &other] {
        process.signal("TERM");
    }
    assert_eq!((one.end().code(), other.end().code()), (Some(0), Some(0)));
    for folder in &folders {
        assert!(!folder.path().join("tradepost-data").exists(), "nothing is kept in a folder");
    }
}

#[test]
fn a_wrong_database_url_is_refused_without_an_echo() {
    let refused = tradepost(&["leads", "list", "--database", "mysql://u:s3cret@h/d"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("--database must be a URL such as") && !said.contains("s3cret"),
        "{said}"
    );
    let gone = tradepost(&["leads", "list", "--database", "postgres://u:s3cret@127.0.0.1:1/d"]);
    assert_eq!(gone.status.code(), Some(1));
    let said = String::from_utf8(gone.stderr).unwrap();
    assert!(said.contains("cannot use the database postgres://127.0.0.1/d"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn statements_sent_together_keep_order_and_fail_together() {
    let Some(scratch) = Scratch::new() else { return };
    let store = scratch.store();
    scratch.say("ALTER TABLE lead_deliveries ADD CONSTRAINT whole CHECK (destination <> 'broken')");
    let now = at(crate::support::NOW);
    let to = |destination: &str| NewDelivery {
        dealer_id: "d".to_owned(),
        lead_id: "lead_1".to_owned(),
        destination: destination.to_owned(),
        event: 1,
    };
    let kept = || -> Vec<String> {
        let all = store.deliveries(None, None, None).unwrap();
        all.into_iter().map(|kept| kept.destination).collect()
    };
    // More than are kept back at once; the one that fails is among the first, among the last, or alone.
    for (before, after) in [(0, 0), (3, 40), (40, 3), (15, 0), (16, 0)] {
        let mut wanted: Vec<_> = (0..before).map(|number| to(&number.to_string())).collect();
        wanted.push(to("broken"));
        wanted.extend((0..after).map(|number| to(&format!("after {number}"))));
        let refused = store.deliver_again(wanted, now).unwrap_err().chain();
        assert!(refused.contains("23514"), "{refused}");
        assert_eq!(kept(), [""; 0], "nothing of it is kept");
    }
    let many: Vec<_> = (0..50).map(|number| to(&number.to_string())).collect();
    let names: Vec<_> = many.iter().map(|wanted| wanted.destination.clone()).collect();
    store.deliver_again(many, now).unwrap();
    let mut found = kept();
    found.sort_by_key(|name| name.parse::<u32>().unwrap());
    assert_eq!(found, names);

    // Whoever goes on reads what it has written, and what it gives up is not kept.
    let read_and_undo = move |tx: &tradepost_store::StoreTransaction<'_>| {
        tx.deliver_again(&[to("own")], now)?;
        let begun: Result<Vec<_>, _> =
            (1..200).map(|key| tx.begin_delivery(key, now, now)).collect();
        let own = begun?.into_iter().flatten().filter(|begun| begun.destination == "own");
        assert_eq!(own.count(), 1);
        Err::<(), _>(tradepost_document::fault::InternalError::new("trying", "enough"))
    };
    let undone = store.write_blocking(read_and_undo).unwrap_err().chain();
    assert!(undone.contains("enough"), "{undone}");
    assert!(!kept().contains(&"own".to_owned()));
}

#[test]
fn a_key_revoked_by_several_at_once_is_recorded_once() {
    const ROUNDS: usize = 20;
    let Some(scratch) = Scratch::new() else { return };
    let stores: Vec<_> = (0..4).map(|_| scratch.store()).collect();
    let now = at("2026-05-01T10:00:00Z");
    let actor = Actor::operator("cli:egon");
    for round in 0..ROUNDS {
        let key = ApiKey {
            id: format!("key-{round}"),
            agent_id: DEALER.to_owned(),
            name: format!("agent-{round}"),
            hash: [u8::try_from(round).unwrap(); 32],
            scopes: None,
            created_at: now,
            expires_at: None,
            revoked_at: None,
            last_used_on: None,
        };
        let context = AdminContext { store: &stores[0], dealers: &[], now };
        create_key(&context, &actor, CreateKey { key, same_caller: false }).unwrap();
        let start = std::sync::Barrier::new(stores.len());
        let changed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = stores
                .iter()
                .map(|store| {
                    let start = &start;
                    let actor = &actor;
                    scope.spawn(move || {
                        let context = AdminContext { store, dealers: &[], now };
                        let input = RevokeKey { id: format!("key-{round}") };
                        start.wait();
                        usize::from(revoke_key(&context, actor, input).unwrap().is_changed)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(changed, 1, "round {round}");
    }
    let recorded = "SELECT count(*)::text FROM audit_log WHERE deed = 'api_key_revoked'";
    assert_eq!(scratch.say(recorded), [ROUNDS.to_string()]);
}
