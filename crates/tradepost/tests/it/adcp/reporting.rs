//! Reports of delivery on both stores: two processes that look at the same moment queue each once.

use std::sync::Arc;

use tradepost_document::json::{Value, json};
use tradepost_publisher::ad_server::{RemoteDelivery, RemoteId};
use tradepost_publisher::buy::days::{DeliveryDays, PackageDay};
use tradepost_publisher::buy::report::BuyDelivery;
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::profile::PublisherProfile;
use tradepost_publisher::publisher::Publisher as Selling;
use tradepost_publisher::store::{New, PublisherStore, Query};
use tradepost_publisher::task::QueuedNotification;
use tradepost_runtime::adcp::offline::OfflineServices;
use tradepost_store::Store;

use crate::support::at;
use crate::support::postgres::Scratch;
use crate::support::publisher::{self, Binding, Publisher};

/// Number of media buys.
const BUYS: usize = 20;

const CATALOGUE: &str = r#"{
  "agent_url": "https://ads.gazette.example",
  "formats": [{"format_id": {"id": "banner"}, "name": "Banner"}],
  "products": [{
    "product_id": "news", "name": "News", "description": "Banners.",
    "publisher_properties": [{"publisher_domain": "gazette.example", "selection_type": "all"}],
    "channels": ["display"], "delivery_type": "non_guaranteed", "format_ids": [{"id": "banner"}],
    "pricing_options": [
      {"pricing_option_id": "cpm", "pricing_model": "cpm", "currency": "USD", "fixed_price": 8}
    ],
    "reporting_capabilities": {
      "available_reporting_frequencies": ["daily"], "expected_delay_minutes": 0, "timezone": "UTC",
      "supports_webhooks": true, "available_metrics": ["impressions", "spend"],
      "date_range_support": "date_range"
    }
  }]
}"#;

/// A publisher, and the buys whose reports its processes look at.
struct Reports {
    publisher: Publisher,
    profile: Arc<PublisherProfile>,
    buys: Vec<Value>,
    runtime: tokio::runtime::Runtime,
}

impl Reports {
    fn new(store: Store) -> Self {
        let catalogue = Catalogue::parse(CATALOGUE).unwrap();
        let publisher = publisher::start_selling(store, catalogue.clone());
        let mut profile =
            tradepost_runtime::config::read::demo_publisher().publishers.remove(0).profile;
        profile.catalogue = catalogue;
        let runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = { runtime }.worker_threads(2).enable_all().build().unwrap();
        let mut reports = Self { publisher, profile: Arc::new(profile), buys: Vec::new(), runtime };
        for number in 0..BUYS {
            let made = reports.buy(number);
            reports.buys.push(made);
        }
        reports
    }

    fn buy(&self, number: usize) -> Value {
        let order = json!({
            "account": {"brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example"},
            "idempotency_key": format!("buy-with-reports-{number:04}"),
            "brand": {"domain": "acmeoutdoor.example"},
            "start_time": "2031-07-01T00:00:00Z", "end_time": "2031-08-01T00:00:00Z",
            "packages": [{"product_id": "news", "pricing_option_id": "cpm", "budget": 1000}],
            "reporting_webhook": {
                "url": "https://buyer.example/reports", "reporting_frequency": "daily",
                "authentication": {"schemes": ["Bearer"], "credentials": "0123456789abcdef0123456789abcdef"},
            },
        });
        let response = self.publisher.call(Binding::Mcp, "acme", "create_media_buy", &order);
        let made = response.json()["result"]["structuredContent"].clone();
        assert_eq!(made["status"], "completed", "{made}");
        made
    }

    /// Stores what each buy has delivered on its first day.
    fn deliver(&self, impressions: u64) {
        let row = RemoteDelivery {
            line_item: RemoteId("l1".to_owned()),
            day: "2031-07-01".parse().unwrap(),
            impressions,
            clicks: 0,
            completed_views: None,
            spend: MoneyAmount::whole(1),
            is_final: false,
        };
        for made in &self.buys {
            let id = made["media_buy_id"].as_str().unwrap().to_owned();
            let package = made["packages"][0]["package_id"].as_str().unwrap().to_owned();
            let row = row.clone();
            let now = at("2031-07-02T00:00:00Z");
            let store: &dyn PublisherStore = self.publisher.publisher_store();
            let job = store.act::<(), tradepost_document::fault::InternalError>(move |tx| {
                let found = tx.find::<BuyDelivery>(&id)?;
                let known = found.as_ref().map(|known| known.thing.clone()).unwrap_or_default();
                let mut days = DeliveryDays::new(known);
                days.report(&PackageDay::from_remote(&package, &row), now);
                let delivery = BuyDelivery { media_buy_id: id.clone(), ..days.into_delivery() };
                let Some(mut known) = found else {
                    let record =
                        New { id: &id, owner: "agent:acme", account: None, state: "", now };
                    return tx.add(record, &delivery);
                };
                known.thing = delivery;
                tx.change(&mut known, now)
            });
            self.runtime.block_on(job).unwrap();
        }
    }

    /// Lets two processes look at one moment. Returns the number of reports that are queued by then, by kind.
    fn look(&self, moment: &str) -> Vec<String> {
        let process = || {
            let store = Arc::new(self.publisher.publisher_store().clone());
            let selling = Selling::new(Arc::clone(&self.profile), store, Arc::new(OfflineServices));
            let now = at(moment);
            self.runtime.spawn(async move { selling.tick(now).await })
        };
        let first = process();
        let second = process();
        self.runtime.block_on(async {
            first.await.unwrap();
            second.await.unwrap();
        });
        let store: &dyn PublisherStore = self.publisher.publisher_store();
        let all = store.look(|reader| reader.all::<QueuedNotification>(&Query::default())).unwrap();
        let kind = |body: &str| {
            let body: Value = tradepost_document::json::from_str(body).unwrap();
            body["result"]["notification_type"].as_str().unwrap().to_owned()
        };
        let mut kinds: Vec<String> = all.iter().map(|kept| kind(&kept.thing.body)).collect();
        kinds.sort();
        kinds
    }
}

fn is_reported_once(store: Store) {
    let reports = Reports::new(store);
    reports.deliver(100);
    assert_eq!(reports.look("2031-07-01T23:59:59Z"), Vec::<String>::new());
    let scheduled = vec!["scheduled".to_owned(); BUYS];
    assert_eq!(reports.look("2031-07-02T00:00:00Z"), scheduled);
    reports.deliver(100);
    assert_eq!(reports.look("2031-07-02T01:00:00Z"), scheduled);
    reports.deliver(90);
    let corrected = [vec!["adjusted".to_owned(); BUYS], scheduled].concat();
    assert_eq!(reports.look("2031-07-02T02:00:00Z"), corrected);
    assert_eq!(reports.look("2031-07-02T03:00:00Z"), corrected);
}

#[test]
fn two_processes_queue_each_report_once_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    is_reported_once(Store::open(folder.path()).unwrap());
}

#[test]
fn two_processes_queue_each_report_once_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    is_reported_once(scratch.store());
}
