//! Searches while what is kept cannot be asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::services::BoxFuture;
use tradepost_publisher::store::memory::MemoryPublisherStore;
use tradepost_publisher::store::{Job, PublisherStore, ReadExtent, StoreRead};

use crate::products::fitting;
use crate::support::{Harness, profile};

/// A store that can be made unavailable, and counts the requests to it.
#[derive(Debug, Default)]
struct UnreliableStore {
    store: MemoryPublisherStore,
    is_unavailable: AtomicBool,
    requests: AtomicUsize,
}

impl UnreliableStore {
    fn check(&self) -> Result<(), InternalError> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        match self.is_unavailable.load(Ordering::SeqCst) {
            true => Err(InternalError::new("asking the store", "nobody answers").transient()),
            false => Ok(()),
        }
    }
}

impl PublisherStore for UnreliableStore {
    fn read(
        &self,
        extent: ReadExtent,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        self.check().and_then(|()| self.store.read(extent, job))
    }

    fn write(&self, job: Job) -> BoxFuture<'_, Result<(), InternalError>> {
        match self.check() {
            Ok(()) => self.store.write(job),
            Err(fault) => Box::pin(std::future::ready(Err(fault))),
        }
    }

    fn may_be_unavailable(&self) -> bool {
        true
    }
}

fn gazette(catalogue: Catalogue) -> (Harness, Arc<UnreliableStore>) {
    let store = Arc::new(UnreliableStore::default());
    (Harness::on(PublisherProfile { catalogue, ..profile() }, Arc::clone(&store) as _), store)
}

fn wholesale(harness: &Harness) -> Value {
    fitting(harness, AdcpTool::GetProducts, json!({"buying_mode": "wholesale"}))
}

#[test]
fn a_search_goes_on_from_memory_and_says_its_age() {
    let (mut harness, store) = gazette(demo::catalogue());
    let set_unavailable =
        |is_unavailable| store.is_unavailable.store(is_unavailable, Ordering::SeqCst);
    let requests = || store.requests.swap(0, Ordering::SeqCst);
    let before = wholesale(&harness);
    assert!(before.get("errors").is_none(), "{before}");

    set_unavailable(true);
    harness.now += SignedDuration::from_secs(42);
    let _ = requests();
    let mut meanwhile = wholesale(&harness);
    assert_eq!(requests(), 1);
    let warning = meanwhile["errors"][0].clone();
    assert_eq!(warning["code"], "STALE_RESPONSE");
    assert_eq!(
        warning["details"],
        json!({"served_from_cache": true, "cache_age_seconds": 42, "upstream": {"name": "store"}}),
    );
    meanwhile.as_object_mut().unwrap().shift_remove("errors");
    assert_eq!(meanwhile, before);
    assert_eq!(wholesale(&harness)["errors"][0]["code"], "STALE_RESPONSE");
    assert_eq!(requests(), 0, "nobody waits for it again within a second");

    // What nobody has read, and what would be kept, is not made up.
    let brief = json!({"buying_mode": "brief", "brief": "display beside hiking stories"});
    for refused in [
        harness.ask_as(
            &harness.caller("nova"),
            AdcpTool::GetProducts,
            json!({"buying_mode": "wholesale"}),
        ),
        harness.ask(AdcpTool::GetProducts, brief),
        harness.ask(AdcpTool::GetMediaBuys, json!({})),
    ] {
        let document = refused.document();
        assert_eq!(document["adcp_error"]["code"], "SERVICE_UNAVAILABLE", "{document}");
        assert_eq!(document["adcp_error"]["recovery"], "transient");
    }
    harness.now += SignedDuration::from_mins(5);
    let document =
        harness.ask(AdcpTool::GetProducts, json!({"buying_mode": "wholesale"})).document();
    assert_eq!(document["adcp_error"]["code"], "SERVICE_UNAVAILABLE", "it was read too long ago");

    set_unavailable(false);
    harness.now += SignedDuration::from_secs(1);
    assert_eq!(wholesale(&harness), before);
}

#[test]
fn a_brief_whose_proposals_are_there_is_answered_with_them() {
    let (mut harness, store) = gazette(demo::catalogue());
    let brief = json!({"buying_mode": "brief", "brief": "display beside hiking stories"});
    let ask = |harness: &Harness| fitting(harness, AdcpTool::GetProducts, brief.clone());
    ask(&harness);
    let proposed = ask(&harness);
    store.is_unavailable.store(true, Ordering::SeqCst);
    harness.now += SignedDuration::from_secs(3);
    let meanwhile = ask(&harness);
    assert_eq!(meanwhile["proposals"], proposed["proposals"]);
    assert!(proposed["proposals"].as_array().is_some_and(|proposals| !proposals.is_empty()));
    assert_eq!(meanwhile["errors"][0]["details"]["cache_age_seconds"], 3);
}
