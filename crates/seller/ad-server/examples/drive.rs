//! Drives an ad server through an adapter: reads calls from standard input, a JSON document on each line, and
//! writes what each returned. It is what the scripts in `interop/ad-server` talk to.
//!
//! ```sh
//! cargo run -p tradepost-ad-server --example drive -- http http://127.0.0.1:4503 \
//!   --credential KEY --network net_premium_us --advertiser adv_1 <<< '{"call": "inventory"}'
//! ```
#![expect(clippy::print_stdout, reason = "standard output is its answer")]

use std::io::{BufRead, stdin};
use std::process::ExitCode;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use tradepost_ad_server::{
    AdServer, AdServerError, AdServerKind, AdServerSettings, RemoteStateChange, connect,
};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{self, Value, json};
use tradepost_publisher::ad_server::{
    CreativeSpec, DealSpec, ExternalId, LineItemSpec, OrderSpec, RemoteId, RemoteObject,
    RemoteState,
};

/// A call of the port.
#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
enum Call {
    Check,
    Validate { order: OrderSpec, line_items: Vec<LineItemSpec> },
    Availability { line_item: LineItemSpec },
    FindOrder { id: ExternalId },
    LineItems { order: RemoteId },
    FindCreative { id: ExternalId },
    CreateOrder { order: OrderSpec },
    ChangeOrder { order: RemoteId, spec: OrderSpec },
    Inspect { order: RemoteId },
    CreateLineItem { order: RemoteId, line_item: LineItemSpec },
    ChangeLineItem { order: RemoteId, id: RemoteId, line_item: LineItemSpec },
    CreateCreative { creative: CreativeSpec },
    AssociateCreative { order: RemoteId, line_item: RemoteId, creative: RemoteId },
    DissociateCreative { order: RemoteId, line_item: RemoteId, creative: RemoteId },
    ChangeOrderState { order: RemoteId, change: Change },
    ChangeLineItemState { order: RemoteId, line_item: RemoteId, change: Change },
    OrderState { order: RemoteId },
    Delivery { order: RemoteId, from: Date, to: Date },
    Inventory,
    PutDeal { deal: DealSpec },
    CloseDeal { deal: RemoteId },
}

/// A change of state.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    Approve,
    Pause,
    Resume,
    Cancel,
}

impl From<Change> for RemoteStateChange {
    fn from(change: Change) -> Self {
        match change {
            Change::Approve => Self::Approve,
            Change::Pause => Self::Pause,
            Change::Resume => Self::Resume,
            Change::Cancel => Self::Cancel,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let server = match open(&arguments) {
        Ok(server) => server,
        Err(message) => {
            println!("{}", json!({"error": "Settings", "detail": message}));
            return ExitCode::from(2);
        }
    };
    for line in stdin().lock().lines().map_while(Result::ok) {
        // By way of a value: how a tagged enum reads numbers from text depends on the features of serde_json, which are
        // those of everybody in a build.
        let call = json::from_str::<Value>(&line).and_then(json::from_value::<Call>);
        let answer = match call {
            Ok(call) => match carry_out(server.as_ref(), call).await {
                Ok(answer) => json!({"ok": answer}),
                Err(error) => error_document(&error),
            },
            Err(problem) => json!({"error": "Call", "detail": problem.to_string()}),
        };
        println!("{answer}");
    }
    ExitCode::SUCCESS
}

/// Makes the adapter that the arguments name.
fn open(arguments: &[String]) -> Result<Box<dyn AdServer>, String> {
    let [kind, url, options @ ..] = arguments else {
        return Err(
            "usage: drive KIND URL [--credential KEY] [--network N] [--advertiser A] …".to_owned()
        );
    };
    let kind =
        AdServerKind::from_name(kind).ok_or_else(|| format!("no adapter is called {kind}"))?;
    let mut settings = AdServerSettings::new(kind, url, "");
    for option in options.chunks(2) {
        let [name, value] = option else { return Err("an option has no value".to_owned()) };
        match name.as_str() {
            "--credential" => settings.credential = value.clone(),
            "--network" => settings.network = Some(value.clone()),
            "--advertiser" => settings.advertiser = Some(RemoteId(value.clone())),
            "--trafficker" => settings.trafficker = Some(RemoteId(value.clone())),
            "--soap-url" => settings.soap_url = value.clone(),
            "--timezone" => {
                let zone = TimeZone::get(value).map_err(|_| "a time zone is a name".to_owned())?;
                settings.time_zone = zone;
            }
            "--priority" => settings.priority = value.parse().ok(),
            "--timeout-ms" => {
                let timeout = value.parse().map_err(|_| "a timeout is a number".to_owned())?;
                settings.timeout = Duration::from_millis(timeout);
            }
            _ => return Err(format!("there is no option {name}")),
        }
    }
    connect(settings).map_err(|error| error.to_string())
}

async fn carry_out(server: &dyn AdServer, call: Call) -> Result<Value, AdServerError> {
    Ok(match call {
        Call::Check => json!(server.check().await?),
        Call::Validate { order, line_items } => {
            let problems = server.validate(&order, &line_items).await?;
            problems
                .iter()
                .map(|problem| {
                    json!({"package_id": &problem.package_id, "field": &problem.field, "message": &problem.message})
                })
                .collect::<Vec<_>>()
                .into()
        }
        Call::Availability { line_item } => {
            let availability = server.availability(&line_item).await?;
            json!({"matched": availability.matched, "available": availability.available})
        }
        Call::FindOrder { id } => optional(server.find_order(&id).await?),
        Call::LineItems { order } => json!(server.line_items(&order).await?),
        Call::FindCreative { id } => optional(server.find_creative(&id).await?),
        Call::CreateOrder { order } => json!(server.create_order(&order).await?),
        Call::ChangeOrder { order, spec } => {
            server.change_order(&order, &spec).await?;
            Value::Null
        }
        Call::Inspect { order } => json!(server.inspect(&order).await?),
        Call::CreateLineItem { order, line_item } => {
            json!(server.create_line_item(&order, &line_item).await?)
        }
        Call::ChangeLineItem { order, id, line_item } => {
            json!(server.change_line_item(&order, &id, &line_item).await?)
        }
        Call::CreateCreative { creative } => json!(server.create_creative(&creative).await?),
        Call::AssociateCreative { order, line_item, creative } => {
            server.associate_creative(&order, &line_item, &creative).await?;
            Value::Null
        }
        Call::DissociateCreative { order, line_item, creative } => {
            server.dissociate_creative(&order, &line_item, &creative).await?;
            Value::Null
        }
        Call::ChangeOrderState { order, change } => {
            state(server.change_order_state(&order, change.into()).await?)
        }
        Call::ChangeLineItemState { order, line_item, change } => {
            state(server.change_line_item_state(&order, &line_item, change.into()).await?)
        }
        Call::OrderState { order } => state(server.order_state(&order).await?),
        Call::Delivery { order, from, to } => json!(server.delivery(&order, from, to).await?),
        Call::Inventory => {
            let inventory = server.inventory().await?;
            inventory
                .iter()
                .map(|item| json!({"id": &item.id, "name": &item.name, "kind": &item.kind}))
                .collect::<Vec<_>>()
                .into()
        }
        Call::PutDeal { deal } => json!(server.put_deal(&deal).await?),
        Call::CloseDeal { deal } => {
            server.close_deal(&deal).await?;
            Value::Null
        }
    })
}

fn optional(object: Option<RemoteObject>) -> Value {
    object.map_or(Value::Null, |object| json!(object))
}

fn state(state: RemoteState) -> Value {
    json!(state.name())
}

fn error_document(error: &AdServerError) -> Value {
    match error {
        AdServerError::Unsent => json!({"error": "Unsent"}),
        AdServerError::Unanswered => json!({"error": "Unanswered"}),
        AdServerError::Garbled { detail } => json!({"error": "Garbled", "detail": detail}),
        AdServerError::NotYet { retry_after } => {
            json!({"error": "NotYet", "seconds": retry_after.map(|wait| wait.as_secs())})
        }
        AdServerError::Refused { reason, detail } => {
            json!({"error": "Refused", "reason": format!("{reason:?}"), "detail": detail})
        }
    }
}
