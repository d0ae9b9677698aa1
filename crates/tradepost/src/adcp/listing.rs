//! The tools of a publisher as MCP lists them. The list is written once: it is the same for every
//! caller, to the byte (`N-4`).

use tradepost_wire::adcp::{Tool, rules};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::RawValue;
use tradepost_wire::json::{Value, json};

/// For how long a client need not ask again, in milliseconds.
const FRESH: u64 = 300_000;

/// The result of `tools/list`, written.
#[derive(Debug)]
pub struct Listing {
    /// As clients that say hello get it.
    pub plain: Box<RawValue>,
    /// As those of later releases of MCP get it, who do not (2026-07-28).
    pub later: Box<RawValue>,
}

impl Listing {
    /// The list of these tools.
    #[must_use]
    pub fn of(tools: &[Tool]) -> Self {
        let tools: Vec<_> = tools.iter().copied().map(listed).collect();
        let plain = json!({"tools": tools});
        let later = json!({
            "tools": tools, "resultType": "complete", "ttlMs": FRESH, "cacheScope": "public",
        });
        Self { plain: written(&plain), later: written(&later) }
    }
}

fn listed(tool: Tool) -> Value {
    json!({
        "name": tool.name(),
        "title": tool.title(),
        "description": tool.docs().split_whitespace().collect::<Vec<_>>().join(" "),
        "inputSchema": rules::json_schema(tool),
        "annotations": {
            "title": tool.title(),
            "readOnlyHint": !tool.mutates(),
            // What has a key is done once, however often it is sent.
            "idempotentHint": !tool.mutates() || tool.keyed(),
        },
    })
}

fn written(value: &Value) -> Box<RawValue> {
    tradepost_wire::json::to_raw_value(value)
        .unwrap_or_else(|_| unreachable!("our own documents have text keys and finite numbers"))
}
