//! Limits that several processes hold together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jiff::SignedDuration;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::limit::{Lease, LimitKey, Limiter, Permits, RateLimit};

use tradepost_store::{DatabaseUrl, Store};

use super::gone::until;
use crate::support::postgres::Scratch;
use crate::support::{dealer, lead, start_on};

/// So long that nothing comes back during a test.
const LIMIT: RateLimit = RateLimit { requests: 600, window: SignedDuration::from_hours(24) };

/// Permits of a store, counted.
#[derive(Debug)]
struct Counted {
    permits: Arc<dyn Permits>,
    asked: AtomicU32,
}

impl Permits for Counted {
    fn lease(&self, bucket: &str, limit: RateLimit) -> Result<Lease, InternalError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.permits.lease(bucket, limit)
    }
}

/// A process with a limiter, as soon as it is heard of.
fn process(scratch: &Scratch) -> (Arc<Counted>, Limiter) {
    let store = Arc::new(scratch.store());
    store.on_change(|_| ()).unwrap();
    let permits = store.permits().unwrap();
    until("permits are leased", || permits.lease("another", LIMIT).is_ok());
    let counted = Arc::new(Counted { permits, asked: AtomicU32::default() });
    let limiter = Limiter::new(LIMIT, Clock::system()).among("seller", Some(counted.clone()));
    (counted, limiter)
}

fn caller(name: &str) -> LimitKey {
    LimitKey::Credential(name.to_owned())
}

#[test]
fn three_processes_let_pass_as_many_as_one_would() {
    let Some(scratch) = Scratch::new() else { return };
    let processes = [process(&scratch), process(&scratch), process(&scratch)];
    let passed = std::thread::scope(|scope| {
        let callers: Vec<_> = processes
            .iter()
            .map(|(_, limiter)| {
                let busy = move || (0..1_000).filter(|_| limiter.admit(&caller("a")).is_ok());
                scope.spawn(move || busy().count())
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).sum::<usize>()
    });
    assert!((540..=600).contains(&passed), "{passed} of 600 have passed");
    let asked: u32 =
        processes.iter().map(|(counted, _)| counted.asked.load(Ordering::SeqCst)).sum();
    assert!(asked < 600 / 2, "{asked} requests waited");
    let wait = processes[0].1.admit(&caller("a")).unwrap_err().wait;
    assert!(wait <= std::time::Duration::from_secs(24 * 3_600 / 600), "{wait:?}");
    assert!(processes[1].1.admit(&caller("b")).is_ok(), "others are not concerned");
}

#[test]
fn without_the_database_each_process_goes_on_with_its_share() {
    let Some(scratch) = Scratch::new() else { return };
    let processes = [process(&scratch), process(&scratch), process(&scratch)];
    for (_, limiter) in &processes {
        limiter.admit(&caller("a")).unwrap();
    }
    scratch.say("DROP TABLE permits");
    let passed: Vec<_> = processes
        .iter()
        .map(|(_, limiter)| (0..600).filter(|_| limiter.admit(&caller("a")).is_ok()).count())
        .collect();
    let all: usize = passed.iter().sum::<usize>() + processes.len();
    assert!((540..=660).contains(&all), "{passed:?}");
}

#[test]
fn a_role_that_may_create_nothing_serves_current_tables() {
    let Some(scratch) = Scratch::new() else { return };
    drop(scratch.store());
    let url: DatabaseUrl = scratch.address_without_create().parse().unwrap();
    let store = Store::connect(&url).unwrap();
    store.enter().unwrap();
    let config = dealer::config();
    dealer::stock(&store, &config);
    let server = start_on(store, config);
    let answer = server.payload(&lead());
    assert!(answer["data"]["lead_id"].is_string(), "{answer}");
    let joined = Store::join(&url).unwrap();
    assert_eq!(joined.leads(None).unwrap().len(), 1);
    // Without tables it says what it lacks, and makes none.
    drop((server, joined));
    scratch.say("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    scratch.say(&format!("GRANT USAGE ON SCHEMA public TO {}_limited", scratch.name));
    let refused = Store::connect(&url).unwrap_err().chain();
    assert!(refused.contains("permission denied"), "{refused}");
}
