//! The AdCP tools: some of AdCP's tasks, each described for a model, with the request members that a model needs and
//! none by which a seller could be made to call another party.

use tradepost_adcp::{AdcpTool as Task, rules};
use tradepost_document::json::{Map, Value, json};
use tradepost_mcp::{Annotations, ListedTool};

use crate::schema;
use tradepost_dealer_tools::arguments::MAX_NAMES;

/// Member by which a seller recognises a repeated request.
pub(crate) const KEY: &str = "idempotency_key";

/// Question that a tool asks before it acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConsentQuestion {
    /// None: it only reads, or it costs nothing.
    NotNeeded,
    /// Question that shows who is billed.
    Billing,
    /// Question that shows the cost.
    Purchase,
    /// Question that shows the changes.
    Change,
}

/// Tool of the sellers: its name, its task, whether it calls several sellers at once, the question before it, and its
/// description.
#[derive(Debug)]
pub(crate) struct SellerTool {
    pub(crate) name: &'static str,
    pub(crate) task: Task,
    pub(crate) several: bool,
    pub(crate) asks: ConsentQuestion,
    says: &'static str,
}

/// All tools, in the order in which a buyer needs them.
pub(crate) const ROWS: &[SellerTool] = &[
    SellerTool {
        name: "adcp_capabilities",
        task: Task::GetAdcpCapabilities,
        several: true,
        asks: ConsentQuestion::NotNeeded,
        says: "Lists the sellers of advertising and what each can do. Use it to learn which sellers there are, or after a \
         call that a seller does not support. Do not use it to look for products. Returns for each seller its \
         capabilities; those that cannot be reached are in errors, with the reason.",
    },
    SellerTool {
        name: "adcp_get_products",
        task: Task::GetProducts,
        several: true,
        asks: ConsentQuestion::NotNeeded,
        says: "Finds advertising products at all sellers at once, with their prices: in mode brief by a text that says what \
         is advertised, to whom, where and when. Use it before every purchase: what is bought has to be looked up here \
         first, so that the person can be told what it costs. Do not use it for media that are bought already: that \
         is adcp_get_media_buys. Returns products with product_id and pricing options, and proposals.",
    },
    SellerTool {
        name: "adcp_list_accounts",
        task: Task::ListAccounts,
        several: false,
        asks: ConsentQuestion::NotNeeded,
        says: "Lists the accounts at a seller on which one may buy. Use it before a purchase, to find the account. Do not \
         use it to open one: that is adcp_sync_accounts. Returns the accounts with their ids and status.",
    },
    SellerTool {
        name: "adcp_sync_accounts",
        task: Task::SyncAccounts,
        several: false,
        asks: ConsentQuestion::Billing,
        says: "Opens accounts at a seller, or changes who is billed. Use it when the seller has no account for this buyer. \
         Do not use it to look accounts up. The person is asked first. Returns what became of each account.",
    },
    SellerTool {
        name: "adcp_create_media_buy",
        task: Task::CreateMediaBuy,
        several: false,
        asks: ConsentQuestion::Purchase,
        says: "Buys media: spends money. Use it when the person wants to buy packages of products, or a proposal for a total \
         budget, as adcp_get_products shows them. Do not use it to change what was bought: that is \
         adcp_update_media_buy. The person is shown what it costs and asked first. Returns the media buy's id and \
         status.",
    },
    SellerTool {
        name: "adcp_update_media_buy",
        task: Task::UpdateMediaBuy,
        several: false,
        asks: ConsentQuestion::Change,
        says: "Changes, pauses, resumes or cancels a media buy; may spend money. Use it for a media buy that exists. Do not \
         use it to buy something new. The person is shown what changes and asked first. Returns its new state.",
    },
    SellerTool {
        name: "adcp_get_media_buys",
        task: Task::GetMediaBuys,
        several: false,
        asks: ConsentQuestion::NotNeeded,
        says: "Lists the media buys at a seller: how each stands, its packages and budgets. Use it before a change, or to \
         see whether a purchase was done. Do not use it for what was delivered: that is adcp_get_media_buy_delivery. \
         Returns the active ones, unless media_buy_ids or status_filter ask for others.",
    },
    SellerTool {
        name: "adcp_get_media_buy_delivery",
        task: Task::GetMediaBuyDelivery,
        several: false,
        asks: ConsentQuestion::NotNeeded,
        says: "Reports what media buys have delivered and what was spent. Use it for results of a campaign. Do not use it \
         for budgets and states: those are in adcp_get_media_buys. Returns totals and figures for each media buy.",
    },
    SellerTool {
        name: "adcp_list_creative_formats",
        task: Task::ListCreativeFormats,
        several: false,
        asks: ConsentQuestion::NotNeeded,
        says: "Lists the creative formats that a seller takes. Use it before adcp_sync_creatives, to learn which assets a \
         creative needs. Do not use it for creatives that exist: that is adcp_list_creatives. Returns formats with \
         their ids and assets.",
    },
    SellerTool {
        name: "adcp_sync_creatives",
        task: Task::SyncCreatives,
        several: false,
        asks: ConsentQuestion::NotNeeded,
        says: "Puts creatives into the library of an account, changes them, and assigns them to packages that have been \
         bought. Use it when the person has given the creatives. Do not use it to buy: it spends nothing. Returns what \
         became of each creative.",
    },
    SellerTool {
        name: "adcp_list_creatives",
        task: Task::ListCreatives,
        several: false,
        asks: ConsentQuestion::NotNeeded,
        says: "Lists the creatives in the library of an account, and how each was judged. Use it to see whether creatives \
         were approved. Do not use it to send any. Returns the creatives with their ids and status.",
    },
    SellerTool {
        name: "adcp_get_task_status",
        task: Task::GetTaskStatus,
        several: false,
        asks: ConsentQuestion::NotNeeded,
        says: "Tells how far something is that a seller has not finished. Use it with the task_id of an answer whose status \
         is not completed. Do not use it to repeat a call. Returns the state, and the result when there is one.",
    },
];

/// Members that are left out of schemas. A list then only adds: nothing is closed or archived because it is absent.
const LEFT_OUT: [&str; 2] = ["delete_missing", "plan_id"];

/// Members of the bridge itself.
pub(crate) const OWN: [&str; 4] = ["seller", "sellers", "confirmation", "user_has_agreed"];

/// Objects that may have more members than the outline of a request lists; the published rules check those.
const OPEN: [&str; 6] = ["account", "assets", "brand", "filters", "format_id", "targeting_overlay"];

/// Returns the tools for these sellers.
pub(crate) fn tools(sellers: &[String]) -> Vec<ListedTool> {
    if sellers.is_empty() {
        return Vec::new();
    }
    ROWS.iter().map(|row| tool(row, sellers)).collect()
}

fn tool(row: &SellerTool, sellers: &[String]) -> ListedTool {
    let mut says = row.says.to_owned();
    if row.asks != ConsentQuestion::NotNeeded {
        says.push_str(
            " Where the client can ask the person itself, it does; otherwise call twice: the first \
             call, without confirmation, sends nothing and returns a question. Show it to the person \
             word for word; when they agree, call again with exactly the same arguments, the \
             confirmation and user_has_agreed true. Never agree for the person.",
        );
    }
    ListedTool {
        name: row.name.into(),
        title: row.task.title().to_owned(),
        description: says,
        input_schema: schema::portable(&input_schema(row, sellers)).into(),
        output_schema: None,
        annotations: Annotations {
            title: Some(row.task.title().to_owned()),
            read_only: Some(!row.task.mutates()),
            destructive: Some(row.task == Task::UpdateMediaBuy),
            // Without the key of an earlier call, a second call is a second order.
            idempotent: Some(!row.task.mutates()),
            open_world: Some(true),
        },
        meta: None,
    }
}

/// Returns the whole input schema of a tool. Models are shown a part of it; see [`portable`](schema::portable).
pub(crate) fn input_schema(row: &SellerTool, sellers: &[String]) -> Map {
    let Value::Object(mut schema) = rules::outline(row.task) else { return Map::new() };
    let mut required: Vec<Value> = match schema.shift_remove("required") {
        Some(Value::Array(names)) => names,
        Some(_) | None => Vec::new(),
    };
    required.retain(|name| name != KEY);
    let seller = seller_name(sellers);
    if let Some(Value::Object(members)) = schema.get_mut("properties") {
        for name in LEFT_OUT {
            members.shift_remove(name);
        }
        if let Some(key) = members.get_mut(KEY) {
            let says = "Only from the answer to the same call that ended unclear: with it, the seller \
                        cannot do the same twice.";
            *key = json!({"type": "string", "description": says});
        }
        if row.several {
            members.shift_insert(
                0,
                "sellers".into(),
                json!({
                    "type": "array", "items": seller,
                    "description": "Which sellers to ask; all of them when left out or empty.",
                }),
            );
        } else {
            // With a single seller there is no choice to make.
            if sellers.len() > 1 {
                required.insert(0, "seller".into());
            }
            members.shift_insert(0, "seller".into(), seller);
        }
        if row.asks != ConsentQuestion::NotNeeded {
            let first = "From the first call; leave it out there.";
            members.insert("confirmation".into(), json!({"type": "string", "description": first}));
            let agreed = "True when the person has seen the question of the first call, word for word, \
                          and has agreed.";
            members.insert(
                "user_has_agreed".into(),
                json!({"type": "boolean", "description": agreed}),
            );
        }
    }
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    schema
}

/// Returns the schema of a seller's name.
fn seller_name(sellers: &[String]) -> Value {
    if sellers.len() > MAX_NAMES {
        let says = "The seller, as results name it. Call adcp_capabilities for all that there are.";
        return json!({"type": "string", "description": says});
    }
    json!({"type": "string", "enum": sellers, "description": "The seller, as results name it."})
}

/// Returns the paths of arguments that the tool's schema does not have.
pub(crate) fn strangers(schema: &Value, arguments: &Value) -> Vec<String> {
    fn walk(schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                let Some(known) = schema.get("properties") else { return };
                for (name, value) in members {
                    let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                    match known.get(name) {
                        Some(_) if OPEN.contains(&name.as_str()) => {}
                        Some(schema) => walk(schema, value, &at, found),
                        None => found.push(at),
                    }
                }
            }
            Value::Array(items) => {
                let schema = schema.get("items").unwrap_or(&Value::Null);
                for (place, item) in items.iter().enumerate() {
                    walk(schema, item, &format!("{at}/{place}"), found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    walk(schema, arguments, "", &mut found);
    found
}

/// Returns the tool of this name.
pub(crate) fn row(name: &str) -> Option<&'static SellerTool> {
    ROWS.iter().find(|row| row.name == name)
}
