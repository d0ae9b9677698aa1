//! A publisher with something to sell, for everything about media buys.

use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::{Account, AccountGovernance, Funds};
use tradepost_publisher::agent::Billing;
use tradepost_publisher::buy::MediaBuy;
use tradepost_publisher::catalogue::{Catalogue, Product, ProductTerms, TargetingSupport};
use tradepost_publisher::creative::{Creative, CreativeStatus, GivenCreative};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::profile::{Onboarding, PublisherProfile};
use tradepost_publisher::store::{EntityKind, New, Query, Stored, own_id};

use super::{Harness, profile};

/// The account that requests are for.
pub(crate) const ACCOUNT: &str = "acc_acme";

/// A publisher that sells, in a harness with accounts and creatives.
pub(crate) struct Shop {
    /// The harness.
    pub(crate) harness: Harness,
    keys: std::cell::Cell<u32>,
}

/// A product with a price; what `published` has wins.
pub(crate) fn product(id: &str, price: Value, published: Value, terms: ProductTerms) -> Product {
    let mut all = json!({
        "product_id": id,
        "name": id,
        "description": "a product",
        "publisher_properties": [{"publisher_domain": "gazette.example", "selection_type": "all"}],
        "channels": ["display"],
        "format_ids": [{"agent_url": "https://ads.gazette.example", "id": "display_300x250"}],
        "delivery_type": "non_guaranteed",
        "pricing_options": [price],
        "reporting_capabilities": {
            "available_reporting_frequencies": ["daily"],
            "expected_delay_minutes": 60,
            "timezone": "UTC",
            "supports_webhooks": false,
            "available_metrics": ["impressions", "spend", "clicks"],
            "date_range_support": "date_range",
        },
    });
    let members = all.as_object_mut().unwrap();
    members.extend(published.as_object().unwrap().clone());
    Product::new(members.clone(), terms)
}

/// A fixed price per thousand impressions.
pub(crate) fn fixed(price: f64, currency: &str) -> Value {
    json!({
        "pricing_option_id": "cpm", "pricing_model": "cpm", "currency": currency,
        "fixed_price": price, "min_spend_per_package": 500,
    })
}

/// What the shop sells.
pub(crate) fn catalogue() -> Catalogue {
    let auction = json!({
        "pricing_option_id": "auction", "pricing_model": "cpm", "currency": "USD", "floor_price": 5,
    });
    let usd = || fixed(8.0, "USD");
    let none = || json!({});
    let standard = json!({
        "measurement_terms": {
            "billing_measurement": {
                "vendor": {"domain": "counts.example"}, "max_variance_percent": 8,
            },
            "makegood_policy": {"available_remedies": ["credit"]},
        },
        "performance_standards": [
            {"metric": "viewability", "threshold": 0.7, "standard": "mrc", "vendor": {"domain": "counts.example"}},
            {"metric": "ivt", "threshold": 0.05, "vendor": {"domain": "counts.example"}},
        ],
        "metric_optimization": {"supported_metrics": ["clicks"]},
    });
    let strict = json!({"allowed_actions": [
        {"action": "pause", "modes": ["self_serve"]},
        {"action": "increase_budget", "modes": ["self_serve"], "allowed_statuses": ["active"]},
        {"action": "update_targeting", "modes": ["requires_approval"]},
    ]});
    let default = ProductTerms::default;
    let past = Some("2026-05-01T00:00:00Z".parse().unwrap());
    let products = vec![
        product("display", usd(), standard, default()),
        product("auction", auction, none(), default()),
        product("euro", fixed(7.0, "EUR"), none(), default()),
        product("gone", usd(), none(), ProductTerms { sold_out: true, ..default() }),
        product("over", usd(), none(), ProductTerms { expires_at: past, ..default() }),
        product("strict", usd(), strict, default()),
        product(
            "early",
            usd(),
            none(),
            ProductTerms { creative_lead_hours: Some(48), ..default() },
        ),
        product(
            "dry",
            usd(),
            none(),
            ProductTerms {
                refused_industries: vec!["food_beverage.alcohol".to_owned()],
                ..default()
            },
        ),
        product(
            "soon",
            usd(),
            none(),
            ProductTerms { approval: true, approval_seconds: Some(60), ..default() },
        ),
        product("person", usd(), none(), ProductTerms { approval: true, ..default() }),
        product(
            "never",
            usd(),
            none(),
            ProductTerms {
                approval: true,
                approval_seconds: Some(60),
                declines: true,
                ..default()
            },
        ),
        product(
            "local",
            usd(),
            none(),
            ProductTerms { countries: vec!["DE".to_owned()], ..default() },
        ),
    ];
    let targeting = TargetingSupport {
        frequency_cap: true,
        keyword_match_types: vec!["exact".into()],
        ..TargetingSupport::default()
    };
    Catalogue { products, targeting, ..Catalogue::default() }
}

impl Shop {
    /// The usual one.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// One whose account of `acme` is like this.
    pub(crate) fn with(change: impl FnOnce(&mut Account)) -> Self {
        Self::from_profile(profile(), change)
    }

    /// One of a publisher with this profile, whose account of `acme` is like this.
    pub(crate) fn from_profile(
        profile: PublisherProfile,
        change: impl FnOnce(&mut Account),
    ) -> Self {
        Self::selling(PublisherProfile { catalogue: catalogue(), ..profile }, change)
    }

    /// One that sells the catalogue of this profile, whose account of `acme` is like this.
    pub(crate) fn selling(profile: PublisherProfile, change: impl FnOnce(&mut Account)) -> Self {
        let onboarding = Onboarding { implicit: true, ..Onboarding::default() };
        let harness = Harness::from_profile(PublisherProfile { onboarding, ..profile });
        let brand = json!({"domain": "acmeoutdoor.example"});
        let mut account = Account::new(ACCOUNT, brand, "pinnacle.example", Billing::Operator);
        change(&mut account);
        let now = harness.now;
        harness.put(move |tx| {
            let owner = "agent:acme";
            let id = ACCOUNT;
            tx.add(New { id, owner, account: Some(id), state: "", now }, &account)?;
            let other = Account::new(
                "acc_nova",
                json!({"domain": "novamotors.example"}),
                "pinnacle.example",
                Billing::Operator,
            );
            let id = "acc_nova";
            tx.add(New { id, owner: "agent:nova", account: Some(id), state: "", now }, &other)?;
            for (id, status) in [
                ("banner", CreativeStatus::Approved),
                ("banner-2", CreativeStatus::PendingReview),
                ("ugly", CreativeStatus::Rejected),
                ("old", CreativeStatus::Archived),
            ] {
                let reason =
                    (status == CreativeStatus::Rejected).then(|| "the image is blurred".to_owned());
                let creative = Creative {
                    asked: Vec::new(),
                    decision: None,
                    creative_id: id.to_owned(),
                    status,
                    rejection_reason: reason,
                    offline: None,
                    review_ends_at: None,
                    given: GivenCreative::default(),
                    assigned: Default::default(),
                    observations: Vec::new(),
                };
                let record = own_id(owner, ACCOUNT, id);
                let new = New { id: &record, owner, account: Some(ACCOUNT), state: "", now };
                tx.add(new, &creative)?;
            }
            Ok(())
        });
        Self { harness, keys: std::cell::Cell::new(0) }
    }

    /// One whose account has so much to spend.
    pub(crate) fn funded(limit: u32, committed: u32) -> Self {
        let limit = MoneyAmount::whole(limit);
        let committed = MoneyAmount::whole(committed);
        let currency = "USD".to_owned();
        Self::with(|account| account.funds = Some(Funds { limit, committed, currency }))
    }

    /// One whose account has a governance agent.
    pub(crate) fn governed() -> Self {
        let url = "https://governance.example".to_owned();
        Self::with(|account| account.governance = Some(AccountGovernance { url, credential: None }))
    }

    /// The whole answer to a request of `acme`; a key and the account are filled in.
    pub(crate) fn ask(&self, tool: AdcpTool, arguments: Value) -> Value {
        self.ask_as("acme", tool, arguments)
    }

    /// The whole answer to a request of somebody.
    pub(crate) fn ask_as(&self, principal: &str, tool: AdcpTool, arguments: Value) -> Value {
        let mut arguments = arguments;
        let members = arguments.as_object_mut().unwrap();
        if tool.keyed() {
            self.keys.set(self.keys.get() + 1);
            let key = format!("shop-key-{:08}", self.keys.get());
            members.entry("idempotency_key").or_insert(key.into());
        }
        if tool.mutates() {
            let account = if principal == "nova" { "acc_nova" } else { ACCOUNT };
            members.entry("account").or_insert(json!({"account_id": account}));
        }
        self.harness.ask_as(&self.harness.caller(principal), tool, arguments).document()
    }

    /// The request for a buy of one package of `display` for 1000 dollars in July; what `changes` has
    /// wins.
    pub(crate) fn order(changes: Value) -> Value {
        let mut order = json!({
            "brand": {"domain": "acmeoutdoor.example"},
            "start_time": "2026-07-01T00:00:00Z",
            "end_time": "2026-08-01T00:00:00Z",
            "packages": [package(json!({}))],
        });
        let members = order.as_object_mut().unwrap();
        members.extend(changes.as_object().unwrap().clone());
        members.retain(|_, value| !value.is_null());
        order
    }

    /// The answer to such a request.
    pub(crate) fn create(&self, changes: Value) -> Value {
        self.ask(AdcpTool::CreateMediaBuy, Self::order(changes))
    }

    /// The answer to an update of a buy.
    pub(crate) fn update(&self, id: &str, changes: Value) -> Value {
        let mut update = changes;
        update.as_object_mut().unwrap().insert("media_buy_id".to_owned(), id.into());
        self.ask(AdcpTool::UpdateMediaBuy, update)
    }

    /// Returns the bodies of all stored records of a kind.
    pub(crate) fn stored(&self, kind: EntityKind) -> Vec<Value> {
        let listed = self.harness.store.look(|reader| reader.list(kind, &Query::default()));
        let records: Result<_, tradepost_document::fault::InternalError> = listed;
        records.unwrap().into_iter().map(|record| record.body).collect()
    }

    /// Returns a stored media buy.
    pub(crate) fn buy(&self, id: &str) -> Stored<MediaBuy> {
        let found = self.harness.store.look(|reader| reader.find::<MediaBuy>(id));
        let found: Result<_, tradepost_document::fault::InternalError> = found;
        found.unwrap().unwrap()
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, hours: i64) {
        self.harness.now += jiff::SignedDuration::from_hours(hours);
    }

    /// Lets the publisher do what has come due; how many tasks ended.
    pub(crate) fn tick(&self) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.harness.publisher.tick(self.harness.now))
    }
}

/// A package of `display` for 1000 dollars with a creative; what `changes` has wins, and what is null
/// there is left out.
pub(crate) fn package(changes: Value) -> Value {
    let mut package = json!({
        "product_id": "display", "pricing_option_id": "cpm", "budget": 1000,
        "creative_assignments": [{"creative_id": "banner"}],
    });
    let members = package.as_object_mut().unwrap();
    members.extend(changes.as_object().unwrap().clone());
    members.retain(|_, value| !value.is_null());
    package
}

/// The errors of an answer, one on each line; the standing of one that is no failure.
pub(crate) fn errors(answer: &Value) -> String {
    let errors = answer["errors"].as_array().cloned().unwrap_or_default();
    if answer["status"] != "failed" {
        return format!("{}\n", answer["status"]);
    }
    errors.iter().map(|error| format!("{error}\n")).collect()
}
