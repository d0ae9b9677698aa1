//! Several servers on one PostgreSQL: whatever is asked of two of them at once happens once, and what
//! was acknowledged is there, whatever becomes of the connections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tradepost_document::json::{Value, json};

use crate::support::dealer::{self, LISTED_VIN};
use crate::support::postgres::Scratch;
use crate::support::{TestServer, client, lead, start_on, with};

mod change_notices;
mod gone;
mod limits;
mod moving;
mod sessions;

/// How many callers each server has at once.
const CALLERS: usize = 4;

/// Two servers with the usual dealer on one database.
fn two(scratch: &Scratch) -> [TestServer; 2] {
    let config = dealer::config();
    let stores = [scratch.store(), scratch.store()];
    dealer::stock(&stores[0], &config);
    stores.map(|store| start_on(store, config.clone()))
}

fn customer(key: &str) -> Value {
    let email = format!("{key}@example.com");
    with(lead(), &[("/customer/email", json!(email)), ("/idempotency_key", json!(key))])
}

/// Has every caller of both servers do something, each with its number.
fn all_at_once<T: Send>(
    servers: &[TestServer; 2],
    act: impl Fn(&TestServer, usize) -> T + Sync,
) -> Vec<T> {
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..2 * CALLERS)
            .map(|caller| {
                let server = &servers[caller % 2];
                let act = &act;
                scope.spawn(move || act(server, caller))
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    })
}

fn lead_id(answer: &Value) -> Option<String> {
    let receipt = answer.pointer("/result/message/parts/0/data/data")?;
    assert_eq!(receipt["status"], "received", "{answer}");
    Some(receipt["lead_id"].as_str().unwrap().to_owned())
}

#[test]
fn a_key_is_used_once_by_many_at_two_servers() {
    const KEYS: usize = 60;
    const TIMES: usize = 3;
    let Some(scratch) = Scratch::new() else { return };
    let servers = two(&scratch);
    let answers = all_at_once(&servers, |server, _| {
        let keys = (0..KEYS).flat_map(|key| [key; TIMES]);
        keys.map(|key| (key, lead_id(&server.call(&customer(&format!("k-{key}"))).json()).unwrap()))
            .collect::<BTreeSet<_>>()
    });
    let ids: BTreeSet<_> = answers.into_iter().flatten().collect();
    assert_eq!(ids.len(), KEYS, "every caller was told the same");
    let [one, other] = servers.each_ref().map(|server| server.store.leads(None).unwrap());
    assert_eq!(one.len(), KEYS);
    assert_eq!(one, other, "both servers have the same list");
    let checks = servers[1].store.check_consents(None, None).unwrap();
    assert_eq!(checks.len(), 1);
    assert!(checks[0].faults.is_empty(), "the chain has no gap and no fork: {checks:?}");
    assert_eq!(scratch.say("SELECT max(seq)::text FROM consent_log"), [KEYS.to_string()]);
}

#[test]
fn a_lead_costs_the_same_however_many_there_are() {
    const LEADS: usize = 80;
    let Some(scratch) = Scratch::new() else { return };
    let store = scratch.store();
    dealer::stock(&store, &dealer::config());
    let server = start_on(store, dealer::config());
    for key in 0..LEADS {
        assert!(lead_id(&server.call(&customer(&format!("k-{key}"))).json()).is_some());
    }
    drop(server);
    // A session counts what it has read, and says so when it ends at the latest.
    let others = "SELECT pid::text FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()
                      AND backend_type = 'client backend'";
    gone::until("all sessions have ended", || scratch.say(others).is_empty());
    let read = "SELECT indexrelname || ' ' || idx_tup_read::text FROM pg_stat_user_indexes
                WHERE relname IN ('idempotency_keys', 'lead_contacts', 'lead_matches', 'leads')
                    AND idx_tup_read > 8 * (SELECT count(*) FROM leads)";
    assert_eq!(scratch.say(read), [""; 0], "each lead reads those before it");
    let counted = "SELECT (sum(idx_tup_read) > 0)::text FROM pg_stat_user_indexes";
    assert_eq!(scratch.say(counted), ["true"], "what is read is counted");
}

#[test]
fn a_slot_is_never_overbooked_at_two_servers() {
    let Some(scratch) = Scratch::new() else { return };
    let servers = two(&scratch);
    let capacity = dealer::config().dealers[0].terms.rooftops[0].appointments.capacity;
    for (slot, at) in ["2026-05-01T18:00:00Z", "2026-05-02T18:00:00Z"].into_iter().enumerate() {
        let states = all_at_once(&servers, |server, caller| {
            let appointment = json!({"appointment_type": "test_drive", "appointment_at": at});
            let submission = [
                ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
                ("/appointment", appointment),
            ];
            let submission = with(customer(&format!("s-{slot}-{caller}")), &submission);
            let answer = server.payload(&submission);
            answer["data"]["appointment"]["status"].as_str().unwrap().to_owned()
        });
        let confirmed = states.iter().filter(|state| *state == "confirmed").count();
        assert_eq!(confirmed, usize::try_from(capacity).unwrap(), "{at}: {states:?}");
    }
    let overlapping = scratch.say(
        "SELECT count(*)::text FROM appointments WHERE state = 'confirmed' GROUP BY starts_at",
    );
    assert_eq!(overlapping, vec![capacity.to_string(); 2]);
}

#[test]
fn what_was_acknowledged_is_there_once_despite_cut_connections() {
    const EACH: usize = 40;
    let Some(scratch) = Scratch::new() else { return };
    let servers = two(&scratch);
    let is_over = AtomicBool::new(false);
    let (answers, cuts) = std::thread::scope(|scope| {
        let cutter = scope.spawn(|| {
            let mut cuts = 0;
            while !is_over.load(Ordering::SeqCst) {
                cuts += scratch.cut();
            }
            cuts
        });
        let answers = all_at_once(&servers, |server, caller| {
            // Neighbours use the same keys, each at another server.
            let keys = (0..EACH).map(|number| format!("c-{}-{number}", caller / 2));
            let ask = |key: String| {
                let answer = server.call(&customer(&key)).json();
                if let Some(error) = answer.get("error") {
                    assert_eq!(error["data"]["retryable"], true, "{answer}");
                }
                (key, lead_id(&answer))
            };
            keys.map(ask).collect::<Vec<_>>()
        });
        is_over.store(true, Ordering::SeqCst);
        (answers, cutter.join().unwrap())
    });
    assert!(cuts > 10, "{cuts} connections were cut");
    let mut acknowledged = BTreeMap::new();
    for (key, id) in answers.into_iter().flatten() {
        let Some(id) = id else { continue };
        assert_eq!(acknowledged.entry(key).or_insert_with(|| id.clone()), &id);
    }
    // Whoever had no answer asks again, and gets the one that there is to get.
    for caller in 0..CALLERS {
        for number in 0..EACH {
            let key = format!("c-{caller}-{number}");
            let ask = || lead_id(&servers[number % 2].call(&customer(&key)).json());
            let id = (0..10_000).find_map(|_| ask()).unwrap();
            assert_eq!(acknowledged.entry(key).or_insert_with(|| id.clone()), &id);
        }
    }
    let leads = servers[0].store.leads(None).unwrap();
    assert_eq!(leads.len(), CALLERS * EACH);
    let stored: BTreeSet<_> = leads.iter().map(|lead| lead.lead_id.clone()).collect();
    assert_eq!(stored, acknowledged.into_values().collect());
    assert!(servers[1].store.check_consents(None, None).unwrap()[0].faults.is_empty());
    let ready = client::request(servers[0].address, "GET", "/readyz", &[], b"");
    assert_eq!(ready.status, 200, "{}", ready.json());
}

#[test]
fn a_key_revoked_at_one_server_fails_at_the_other() {
    let Some(scratch) = Scratch::new() else { return };
    let servers = two(&scratch);
    let now = crate::support::at(crate::support::NOW);
    let key = |id: &str| tradepost_store::ApiKey {
        id: id.to_owned(),
        agent_id: dealer::ID.to_owned(),
        name: "acme".to_owned(),
        hash: [7; 32],
        scopes: None,
        created_at: now,
        expires_at: None,
        revoked_at: None,
        last_used_on: None,
    };
    let added = all_at_once(&servers, |server, caller| {
        server.store.add_api_key(key(&format!("key{caller}")), false).unwrap()
    });
    assert_eq!(added.iter().filter(|added| **added).count(), 1, "a name is given once");
    let [known] = servers[1].store.api_keys(None).unwrap().try_into().unwrap();
    assert_eq!(servers[0].store.revoke_api_key(&known.id, now).unwrap(), Some(known));
    assert_eq!(servers[1].store.api_keys(None).unwrap()[0].revoked_at, Some(now));
    let secrets = all_at_once(&servers, |server, caller| {
        use tradepost_server::signed_text::Secrets as _;
        server.store.secret("test", vec![u8::try_from(caller).unwrap(); 4]).unwrap()
    });
    assert!(secrets.windows(2).all(|pair| pair[0] == pair[1]), "{secrets:?}");
}

#[test]
fn a_signature_is_used_once_at_two_servers() {
    let Some(scratch) = Scratch::new() else { return };
    let stores = [Arc::new(scratch.store()), Arc::new(scratch.store())];
    let at = |second| jiff::Timestamp::from_second(second).unwrap();
    for nonce in 0..20_u8 {
        let used = tradepost_keys::replay::UsedSignature {
            key: "k".to_owned(),
            nonce: [nonce; 16],
            until: at(100),
        };
        let are_new = std::thread::scope(|scope| {
            let callers: Vec<_> = (0..2 * CALLERS)
                .map(|caller| {
                    let store = &stores[caller % 2];
                    let used = used.clone();
                    let job = move |tx: &tradepost_store::StoreTransaction<'_>| {
                        tx.use_signature("p", &used, at(1))
                    };
                    scope.spawn(move || store.write_blocking(job).unwrap())
                })
                .collect();
            callers.into_iter().map(|c| c.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(are_new.iter().filter(|is_new| **is_new).count(), 1);
    }
    assert_eq!(stores[0].used_signatures("p", at(2)).unwrap().len(), 20);
}
