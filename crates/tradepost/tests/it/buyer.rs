//! The buyer's client in front of a real dealer: found, cached and called by type, in both
//! versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tradepost_aap::inventory::{Sort, SortField, SortOrder};
use tradepost_aap::lead::{Channel, SourceAgent};
use tradepost_aap::{AapCode, DealerTerms, Filters, Search, VehicleQuery, Version};
use tradepost_client::cache::{CacheBounds, CardSource};
use tradepost_client::failure::CallFailure;
use tradepost_client::replies::Facet;
use tradepost_client::transport::{HttpTransport, TransportLimits};
use tradepost_client::{CardCache, Lead, LeadConsent, SkillClient};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::json;

use crate::support::dealer::LISTED_VIN;
use crate::support::proxy;
use crate::support::{NOW, at, start};

#[test]
fn a_dealer_is_found_cached_and_called_in_both_versions() {
    let server = start();
    let named = &["https://demo-toyota.example.com"];
    let address = proxy::start(server.address, named, Arc::new(|_| {}), Arc::new(|_, _| {}));
    let passed = Arc::new(AtomicI64::new(0));
    let clock = Arc::clone(&passed);
    let cache =
        CardCache::new(CacheBounds::default(), move || later(clock.load(Ordering::Relaxed)));
    let transport = || HttpTransport::new(TransportLimits::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut answers = Vec::new();
        for seconds in [0, 1, 100_000] {
            passed.store(seconds, Ordering::Relaxed);
            answers.push(cache.discover(&transport(), &address).await.unwrap());
        }
        assert!(matches!(
            answers.iter().map(|found| &found.how).collect::<Vec<_>>()[..],
            [CardSource::Fetched, CardSource::Kept, CardSource::Confirmed]
        ));
        for (seed, version) in [(1, Version::V1_0), (2, Version::V1_1)] {
            let discovered = &answers[2].discovered;
            let choice = discovered.card.choose(Some(version)).unwrap();
            let ids = fastrand::Rng::with_seed(seed);
            let client = SkillClient::new(transport(), discovered, choice, ids).unwrap();
            all_five(&client.checking(|| terms(at(NOW))), version).await;
        }
    });
}

async fn all_five(client: &SkillClient, version: Version) {
    let dealer = client.dealer_information().await.unwrap();
    assert_eq!(dealer.information().unwrap().rooftops.len(), 2);
    let hondas = Filters { make: vec!["Honda".into()], ..Filters::default() };
    let counts = client.facets(&hondas).await.unwrap();
    let (make, honda) = counts.values(Facet::Makes)[0];
    assert_eq!(make, "Honda");
    let sort = Some(Sort { field: SortField::Price, order: SortOrder::Desc });
    let search = Search { filters: hondas, limit: Some(1), sort, ..Search::default() };
    let page = client.search(&search).await.unwrap();
    assert_eq!((page.total(), page.listings().len()), (Some(honda), 1));
    let query = VehicleQuery { vin: Some(LISTED_VIN.into()), ..VehicleQuery::default() };
    let vehicle = client.vehicle(&query).await.unwrap();
    assert_eq!(vehicle.listing().vin(), Some(LISTED_VIN));
    let nowhere = VehicleQuery { stock: Some("nowhere".into()), ..VehicleQuery::default() };
    match client.vehicle(&nowhere).await {
        Err(CallFailure::Refused(refused)) => {
            let code = AapCode::VehicleNotFound.name();
            assert!(refused.to_string().contains(code), "{refused}");
        }
        other => panic!("{other:?}"),
    }
    let agent = SourceAgent { name: "shop".to_owned(), url: None, agent_card_url: None };
    let consent = LeadConsent::new(at(NOW), "You may write to me.", [Channel::Email]);
    let email = format!("ada-{}@example.com", version.full());
    let lead = Lead::new(client.new_key(), agent, consent, at(NOW))
        .name("Ada", "Lovelace")
        .email(email)
        .unwrap()
        .about(json!({"vin": LISTED_VIN, "condition": "used"}));
    let first = client.submit_lead(&lead).await.unwrap();
    assert!(first.is_taken(), "{:?}", first.payload);
    let again = client.submit_lead(&lead).await.unwrap();
    assert_eq!((again.lead_id(), again.status()), (first.lead_id(), first.status()));
}

fn terms(now: Timestamp) -> DealerTerms {
    DealerTerms { now, clock_skew: SignedDuration::ZERO, consent_lifetime: None }
}

/// As many seconds after the clocks of the tests start.
fn later(seconds: i64) -> Timestamp {
    at(NOW) + SignedDuration::from_secs(seconds)
}
