//! A sale to oneself: the publisher's agent is opened beside an empty store, and a buyer with a key of its own looks at
//! the products, buys one over MCP, reads it back and cancels it. The store is removed with everything in it, and
//! neither the staff nor the ad server hears of it.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use jiff::ToSpan as _;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tradepost_admin::keys::{CreateKey, create_key};
use tradepost_admin::{Actor, AdminContext};
use tradepost_client::adcp::{AdcpClient, SellerAnswer};
use tradepost_client::{BearerToken, HttpTransport};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Map, Value, json};
use tradepost_publisher::agent::Billing;
use tradepost_runtime::config::{Config, PublisherConfig};
use tradepost_runtime::step_test::LIMITS;
use tradepost_runtime::wiring::Wiring;
use tradepost_server::auth::key::NewApiKey;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::http;
use tradepost_store::{ApiKey, Store};

/// Least budget of the test, when no price asks for more.
const LEAST_BUDGET: f64 = 100.0;

/// Domain of the brand and the operator of the test. It belongs to nobody.
const BRAND: &str = "example.com";

/// Name of the buyer when the configuration has no agent with a key.
const BUYER: &str = "test-sale";

/// A sale that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestSale {
    /// Number of products that the buyer was shown.
    pub products: usize,
    /// Name of the product that was sold.
    pub product: String,
    /// Budget with its currency.
    pub budget: String,
    /// True when a person would have to approve it first.
    pub waits: bool,
}

/// Reason why nothing was sold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaleFailure {
    /// Description: a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
}

impl SaleFailure {
    fn new(message: impl Into<String>, hint: &'static str) -> Self {
        Self { message: message.into(), hint }
    }

    fn from_machine_error(error: impl std::fmt::Display) -> Self {
        Self::new(
            format!("the test could not be set up: {error}"),
            "check that this machine has room for temporary files",
        )
    }
}

/// Sells a product of a publisher to oneself. `config` has its catalogue.
///
/// # Errors
/// Says which step of the sale failed.
pub async fn run(
    config: Config,
    publisher_id: &str,
    clock: &Clock,
) -> Result<TestSale, SaleFailure> {
    let config = apart(config, publisher_id);
    let publisher = config.publishers.first();
    let publisher = publisher.ok_or_else(|| {
        SaleFailure::new("there is no publisher", "name one of the configuration")
    })?;
    let billing = publisher.profile.billing.first().copied().unwrap_or(Billing::Operator);
    let buyer = key_names(publisher).next().unwrap_or(BUYER);
    // Removed with everything in it, also when a step fails.
    let folder = tempfile::tempdir().map_err(SaleFailure::from_machine_error)?;
    let store = Store::open(folder.path()).map_err(SaleFailure::from_machine_error)?;
    let key = keyed(&store, publisher_id, buyer, clock).map_err(SaleFailure::from_machine_error)?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await;
    let listener = listener.map_err(SaleFailure::from_machine_error)?;
    let address = listener.local_addr().map_err(SaleFailure::from_machine_error)?;
    let settings = config.server.http();
    let terms = least_budgets(&config);
    let wiring = Wiring::open(config, Arc::new(store), clock.clone(), address);
    let wiring = wiring.map_err(SaleFailure::from_machine_error)?;
    let (stop, stopped) = oneshot::channel::<()>();
    let site = wiring.site();
    let server = tokio::spawn(async move {
        let stopped = async move {
            let _ = stopped.await;
        };
        http::server::serve(listener, site, &settings, stopped).await;
    });
    let sale = Sale { address, key, billing, least: terms, now: clock.now() };
    let sold = sale.perform().await;
    let _ = stop.send(());
    server.abort();
    let _ = server.await;
    drop(wiring);
    sold
}

/// Returns the configuration of the test: one publisher, alone on this machine, that tells nobody.
fn apart(mut config: Config, publisher_id: &str) -> Config {
    config.dealers.clear();
    config.alerts = None;
    config.traces = None;
    config.server.tls = None;
    config.server.acme = None;
    config.server.console = None;
    config.server.hosting = false;
    config.publishers.retain(|publisher| publisher.profile.id == publisher_id);
    for publisher in &mut config.publishers {
        publisher.deliveries.clear();
        publisher.ad_server = None;
        publisher.upstream = None;
        publisher.public_url = None;
        publisher.front.hosts.clear();
        let has_buyer = key_names(publisher).next().is_some();
        // The buyer of the test is then none of the configuration.
        publisher.profile.onboarding.strangers |= !has_buyer;
    }
    config
}

/// Returns the names of keys that belong to agents of a publisher.
fn key_names(publisher: &PublisherConfig) -> impl Iterator<Item = &str> {
    let names = publisher.profile.agents.iter().flat_map(|agent| &agent.principals);
    names.filter(|name| !name.contains(':')).map(String::as_str)
}

/// Stores a key of a buyer, and returns it.
fn keyed(
    store: &Store,
    publisher_id: &str,
    buyer: &str,
    clock: &Clock,
) -> Result<String, InternalError> {
    let fresh = NewApiKey::generate()?;
    let now = clock.now();
    let key = ApiKey {
        id: fresh.id,
        agent_id: publisher_id.to_owned(),
        name: buyer.to_owned(),
        hash: fresh.hash,
        scopes: None::<BTreeSet<_>>,
        created_at: now,
        expires_at: None,
        revoked_at: None,
        last_used_on: None,
    };
    let context = AdminContext { store, dealers: &[], now };
    let input = CreateKey { key, same_caller: false };
    // The store is new, so that no name is taken.
    create_key(&context, &Actor::operator("test sale"), input)
        .map_err(|_| InternalError::new("creating a key", "the store refuses it"))?;
    Ok(fresh.text)
}

/// Least budget of a product, where its terms say it and its prices do not.
struct LeastBudget {
    product_id: String,
    amount: f64,
}

fn least_budgets(config: &Config) -> Vec<LeastBudget> {
    let products =
        config.publishers.iter().flat_map(|publisher| &publisher.profile.catalogue.products);
    let of = |product: &tradepost_publisher::catalogue::Product| {
        let amount = product.terms.minimum_budget?.to_string().parse().ok()?;
        Some(LeastBudget { product_id: product.id().to_owned(), amount })
    };
    products.filter_map(of).collect()
}

/// What a buyer orders.
#[derive(Debug, Clone)]
struct Choice {
    product_id: String,
    name: String,
    pricing_option_id: String,
    currency: String,
    bid: Option<Value>,
    budget: f64,
}

/// A sale to a buyer.
struct Sale {
    address: SocketAddr,
    key: String,
    billing: Billing,
    least: Vec<LeastBudget>,
    now: jiff::Timestamp,
}

impl Sale {
    async fn perform(&self) -> Result<TestSale, SaleFailure> {
        let transport = HttpTransport::new(LIMITS);
        let client = AdcpClient::mcp(
            transport,
            &format!("http://{}/mcp", self.address),
            fastrand::Rng::new(),
        );
        let client =
            client.and_then(|client| client.with_token(BearerToken::from(self.key.clone())));
        let client =
            client.map_err(|failure| SaleFailure::from_machine_error(failure.to_string()))?;
        let products = self.products(&client).await?;
        let choice = self.choose(&products).ok_or_else(|| {
            SaleFailure::new("no product has a price", "add one to the catalogue")
        })?;
        let account = json!({"brand": {"domain": BRAND}, "operator": BRAND});
        let opening = json!({"accounts": [{
            "brand": {"domain": BRAND}, "operator": BRAND, "billing": self.billing.name(),
        }]});
        const ACCOUNT: &str = "check billing and onboarding in [[publishers]]";
        let opened = call(&client, "sync_accounts", opening, ACCOUNT).await?;
        if let Some(row) = opened.failed_rows().next() {
            return Err(SaleFailure::new(
                format!(
                    "sync_accounts: {}",
                    row.errors.first().map(|error| error.message.clone()).unwrap_or_default()
                ),
                ACCOUNT,
            ));
        }
        let bought = self.buy(&client, &choice, &account).await?;
        let waits = !bought.is_complete();
        if let Some(id) = bought.payload.get("media_buy_id").and_then(Value::as_str) {
            self.cancel(&client, id, &account).await?;
        }
        Ok(TestSale {
            products: products.len(),
            product: choice.name,
            budget: format!("{} {}", choice.budget, choice.currency),
            waits,
        })
    }

    async fn products(&self, client: &AdcpClient) -> Result<Vec<Value>, SaleFailure> {
        const HINT: &str = "check the catalogue: sold_out, expires_at and prices of its products";
        let answer =
            call(client, "get_products", json!({"buying_mode": "wholesale"}), HINT).await?;
        let products = answer.payload.get("products").and_then(Value::as_array).cloned();
        let products = products.unwrap_or_default();
        if products.is_empty() {
            return Err(SaleFailure::new("get_products answers with no product", HINT));
        }
        Ok(products)
    }

    /// Chooses the product that takes the least budget.
    fn choose(&self, products: &[Value]) -> Option<Choice> {
        let choices = products.iter().flat_map(|product| {
            let prices = product.get("pricing_options").and_then(Value::as_array);
            prices.into_iter().flatten().filter_map(|price| self.choice(product, price))
        });
        choices.min_by(|one, other| one.budget.total_cmp(&other.budget))
    }

    fn choice(&self, product: &Value, price: &Value) -> Option<Choice> {
        let text = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
        let product_id = text(product, "product_id")?;
        let number =
            |name: &str| price.get(name).and_then(|amount| amount.to_string().parse().ok());
        let of_terms = self.least.iter().find(|least| least.product_id == product_id);
        let flat = number("fixed_price")
            .filter(|_| price.get("pricing_model").and_then(Value::as_str) == Some("flat_rate"));
        let asked = [number("min_spend_per_package"), flat, of_terms.map(|least| least.amount)];
        let budget = asked.into_iter().flatten().fold(LEAST_BUDGET, f64::max);
        Some(Choice {
            name: text(product, "name")?,
            pricing_option_id: text(price, "pricing_option_id")?,
            currency: text(price, "currency")?,
            bid: price.get("floor_price").cloned(),
            budget: budget.ceil(),
            product_id,
        })
    }

    async fn buy(
        &self,
        client: &AdcpClient,
        choice: &Choice,
        account: &Value,
    ) -> Result<SellerAnswer, SaleFailure> {
        let mut package = Map::new();
        package.insert("product_id".to_owned(), choice.product_id.as_str().into());
        package.insert("pricing_option_id".to_owned(), choice.pricing_option_id.as_str().into());
        package.insert("budget".to_owned(), json!(choice.budget));
        if let Some(bid) = &choice.bid {
            package.insert("bid_price".to_owned(), bid.clone());
        }
        let end = self.now.checked_add(168.hours()).unwrap_or(self.now);
        let order = json!({
            "account": account,
            "brand": {"domain": BRAND},
            "start_time": "asap",
            "end_time": rfc3339(end),
            "packages": [package],
        });
        const HINT: &str = "the catalogue or the limits of the publisher refuse it: correct them";
        call(client, "create_media_buy", order, HINT).await
    }

    async fn cancel(
        &self,
        client: &AdcpClient,
        id: &str,
        account: &Value,
    ) -> Result<(), SaleFailure> {
        const HINT: &str = "the sale was made and could not be followed up; report this";
        let read = json!({"account": account, "media_buy_ids": [id]});
        let read = call(client, "get_media_buys", read, HINT).await?;
        let is_there =
            read.payload.pointer("/media_buys/0/media_buy_id").and_then(Value::as_str) == Some(id);
        if !is_there {
            return Err(SaleFailure::new(format!("get_media_buys does not show {id}"), HINT));
        }
        let change = json!({"account": account, "media_buy_id": id, "canceled": true});
        call(client, "update_media_buy", change, HINT).await.map(|_| ())
    }
}

/// Calls a task, with an idempotency key where it needs one.
async fn call(
    client: &AdcpClient,
    task: &str,
    arguments: Value,
    hint: &'static str,
) -> Result<SellerAnswer, SaleFailure> {
    let Value::Object(mut arguments) = arguments else {
        unreachable!("arguments are written as objects");
    };
    if task != "get_products" && task != "get_media_buys" {
        arguments.insert("idempotency_key".to_owned(), client.new_key().into());
    }
    let answered = client.call(task, arguments).await;
    answered.map_err(|failure| SaleFailure::new(format!("{task}: {failure}"), hint))
}
