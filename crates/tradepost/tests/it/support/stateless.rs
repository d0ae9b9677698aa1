//! A seller of MCP 2026-07-28 alone, as the official SDK builds them: our publisher behind a proxy that refuses
//! everything else as that SDK does.

use std::net::SocketAddr;
use std::sync::Arc;

use tradepost_document::json::{Value, json};

use super::proxy::{self, ChangeAnswer, Passing};

const VERSION: &str = "2026-07-28";

/// Starts it in front of a publisher; its address.
pub fn start(publisher: SocketAddr) -> String {
    let refuse: ChangeAnswer = Arc::new(|asked, reply: &mut Passing| {
        if asked.target() == "/mcp" && asked.header("mcp-protocol-version") != Some(VERSION) {
            let request = tradepost_document::json::from_slice::<Value>(&asked.body);
            let id = request.map(|mut request| request["id"].take()).unwrap_or_default();
            let data = json!({"supported": [VERSION], "requested": "2025-11-25"});
            let error =
                json!({"code": -32022, "message": "Unsupported protocol version", "data": data});
            let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
            *reply = Passing { body: body.to_string().into_bytes(), ..Passing::default() };
            reply.set_status(400);
            reply.set_header("content-type", "application/json");
        }
    });
    proxy::start(publisher, &[], Arc::new(|_| {}), refuse)
}
