//! Renders sellers' answers as text.

use tradepost_client::display::{MAX_ITEMS, member, text};
use tradepost_dealer_tools::show::{MAX_MESSAGE, failures};
use tradepost_document::json::Value;
use tradepost_mcp::outline::{self, line, said, table};
use tradepost_mcp::summary::items;

use crate::failures::BridgeError;
use crate::sanitize::quoted;
use crate::texts;

/// Maximum number of members of an answer that are listed.
const MAX_LINES: usize = 120;

/// Renders the answers of several sellers.
pub(super) fn results(results: &[Value], errors: &[BridgeError]) -> String {
    let mut out = String::new();
    for result in results {
        out.push_str(&format!("## {}\n", member(result, "seller")));
        body(&mut out, result);
        out.push('\n');
    }
    failures(&mut out, &texts(errors));
    out.trim_end().to_owned()
}

/// Renders the answer of one seller.
pub(super) fn result(document: &Value) -> String {
    let mut out = format!("{}: {}\n", member(document, "seller"), member(document, "status"));
    body(&mut out, document);
    if let Some(task) = document.get("data").and_then(|data| data.get("task_id")) {
        let task = text(Some(task));
        out.push_str(&format!(
            "\nnot finished yet: ask adcp_get_task_status with task_id {task}\n"
        ));
    }
    for name in ["idempotency_key", "doubt"] {
        let value = member(document, name);
        if !value.is_empty() {
            out.push_str(&format!("\n{name}: {value}\n"));
        }
    }
    out.trim_end().to_owned()
}

/// Renders the question for the person.
pub(super) fn question(tool: &str, question: &str, confirmation: &str) -> String {
    let mut out = "Nothing has been sent yet. Show the person this, word for word:\n\n".to_owned();
    for line in question.lines() {
        out.push_str(&format!("> {line}\n"));
    }
    out.push_str(&format!(
        "\nThen ask whether they agree. Only when they do, call {tool} again with exactly the same \
         arguments and, in addition, user_has_agreed true and confirmation {confirmation}"
    ));
    out
}

fn body(out: &mut String, result: &Value) {
    let data = result.get("data").unwrap_or(&Value::Null);
    if data.get("products").is_some() {
        products(out, data);
        return;
    }
    let Some(members) = data.as_object() else { return };
    let lines = outline::members(members);
    for (name, value) in lines.iter().take(MAX_LINES) {
        line(out, name, &said(Some(&Value::from(value.as_str()))));
    }
    if lines.len() > MAX_LINES {
        out.push_str("- and more, in the structured content\n");
    }
}

/// Renders products, one line for each price.
fn products(out: &mut String, data: &Value) {
    let mut rows = Vec::new();
    for product in items(data, "products").take(MAX_ITEMS) {
        for option in items(product, "pricing_options") {
            let price = ["fixed_price", "floor_price"].map(|name| member(option, name));
            let from = if option.get("fixed_price").is_some() { "" } else { "from " };
            let price = price.into_iter().find(|price| !price.is_empty()).unwrap_or_default();
            rows.push(vec![
                member(product, "product_id"),
                said(product.get("name")),
                member(product, "delivery_type"),
                member(option, "pricing_option_id"),
                member(option, "pricing_model"),
                format!("{from}{price} {}", member(option, "currency")),
            ]);
        }
    }
    if rows.is_empty() {
        out.push_str("no product\n");
    } else {
        let header = ["product_id", "name", "delivery", "pricing_option_id", "model", "price"];
        out.push_str(&table(&header, &rows));
    }
    for proposal in items(data, "proposals").take(MAX_ITEMS) {
        let id = member(proposal, "proposal_id");
        let name = said(proposal.get("name"));
        out.push_str(&format!("- proposal {id}: {name}\n"));
    }
    let message = member(data, "message");
    if !message.is_empty() {
        out.push_str(&format!("The seller says: \"{}\"\n", quoted(&message, MAX_MESSAGE)));
    }
}
