//! A media buyer: asks a publisher what fits a brief, and buys the product whose lowest price is the
//! lowest. The buy has one idempotency key over all attempts, so that nothing is bought twice.
//!
//! `cargo run -p tradepost-client --example media_buyer -- http://127.0.0.1:8080/mcp TOKEN "hiking stories"`

use std::error::Error;
use std::io::{self, Write};

use tradepost_client::AdcpClient;
use tradepost_client::HttpTransport;
use tradepost_client::adcp::SellerAnswer;
use tradepost_client::client::random_ids;
use tradepost_client::retry::{GaveUp, Recoverer, RetryLimits, Sizes, SystemClock};
use tradepost_document::json::{Map, Value, json, object};

/// The advertiser.
const DOMAIN: &str = "acmeoutdoor.example";

/// What may be spent, in the currency of the price.
const BUDGET: u32 = 2_000;

/// How a product is paid for, at least this much for a thousand.
struct Price {
    product: String,
    option: String,
    amount: f64,
    is_floor: bool,
}

impl Price {
    /// The prices in an answer to `get_products`.
    fn read(payload: &Value) -> Vec<Self> {
        let list = |of: &Value, name: &str| {
            of.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let text = |of: &Value, name: &str| Some(of.get(name)?.as_str()?.to_owned());
        let mut prices = Vec::new();
        for product in list(payload, "products") {
            for option in list(&product, "pricing_options") {
                let number = |name: &str| option.get(name).and_then(Value::as_f64);
                let fixed = number("fixed_price");
                let floor = number("floor_price");
                let Some(product) = text(&product, "product_id") else {
                    continue;
                };
                let Some(amount) = fixed.or(floor) else {
                    continue;
                };
                let option = text(&option, "pricing_option_id").unwrap_or_default();
                prices.push(Self { product, option, amount, is_floor: fixed.is_none() });
            }
        }
        prices.sort_by(|one, other| one.amount.total_cmp(&other.amount));
        prices
    }

    /// The package that buys it.
    fn package(&self) -> Value {
        object!({
            "product_id": self.product, "pricing_option_id": self.option, "budget": BUDGET,
            "bid_price"?: self.is_floor.then_some(self.amount),
        })
    }
}

/// A client with what it needs to send again.
struct Buyer {
    client: AdcpClient,
    recoverer: Recoverer<SystemClock>,
}

impl Buyer {
    async fn call(&self, task: &str, arguments: Value) -> Result<SellerAnswer, Box<GaveUp>> {
        let Value::Object(arguments) = arguments else {
            unreachable!("the arguments of a task are an object");
        };
        let uncorrected = |_: &_, _: &_, _: &mut Map| false;
        let recovered =
            self.client.call_with_recovery(task, arguments, &self.recoverer, uncorrected).await?;
        Ok(recovered.answer)
    }
}

/// Buys what fits the brief from the seller at this address of MCP, and tells about it.
pub(crate) async fn buy(
    address: &str,
    token: &str,
    brief: &str,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let transport = HttpTransport::new(Default::default());
    let client = AdcpClient::mcp(transport, address, random_ids())?.with_token(token)?;
    let recoverer =
        Recoverer::new(SystemClock::new(random_ids()), RetryLimits::default(), Sizes::default());
    let buyer = Buyer { client, recoverer };
    let wanted = json!({"buying_mode": "brief", "brief": brief});
    let prices = Price::read(&buyer.call("get_products", wanted).await?.payload);
    for price in &prices {
        writeln!(out, "{}: from {}", price.product, price.amount)?;
    }
    let Some(best) = prices.first() else {
        return Ok(writeln!(out, "nothing fits")?);
    };
    let brand = json!({"domain": DOMAIN});
    let order = json!({
        "account": {"brand": brand, "operator": DOMAIN}, "brand": brand,
        "start_time": "asap", "end_time": "2035-01-31T00:00:00Z", "packages": [best.package()],
    });
    let bought = buyer.call("create_media_buy", order).await?;
    let id = bought.payload.get("media_buy_id").and_then(Value::as_str);
    match (id, bought.task_id()) {
        (Some(id), _) => writeln!(out, "bought {}: {id}", best.product)?,
        (None, Some(task)) => writeln!(out, "{} is being decided: task {task}", best.product)?,
        (None, None) => writeln!(out, "{} was not bought", best.product)?,
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(token), Some(brief)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("name the address of a publisher's MCP, a token and a brief".into());
    };
    buy(&address, &token, &brief, &mut io::stdout()).await
}
