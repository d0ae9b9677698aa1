//! What a client of the bridge says, line by line, in front of a dealer and a seller whom nobody reaches:
//! each answer is one of JSON-RPC, and nothing is said to have been sent.

#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};
use tradepost_bridge::server::converse;
use tradepost_bridge::{AskMode, Bridge, BridgeOptions};
use tradepost_client::transport::Network;
use tradepost_document::json::{Value, from_str};

/// Nobody listens at port 1.
const NOBODY: &str = "http://127.0.0.1:1";

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_current_thread().enable_all().build().expect("a runtime can be built")
});

static BRIDGE: LazyLock<Arc<Bridge>> = LazyLock::new(|| {
    let options = BridgeOptions {
        agent_name: "fuzz".into(),
        patience: Duration::from_millis(100),
        now: Arc::new(|| Timestamp::UNIX_EPOCH),
        secret: [7; 32],
        ask: AskMode::default(),
        person_patience: Duration::from_millis(100),
        network: Network::default(),
    };
    let bridge = Bridge::new([(NOBODY.to_owned(), None)], options).expect("an address");
    Arc::new(bridge.with_sellers([(format!("{NOBODY}/mcp"), None)]).expect("an address"))
});

fuzz_target!(|lines: &[u8]| {
    let mut said = Vec::new();
    let spoken = RUNTIME.block_on(converse(Arc::clone(&BRIDGE), lines, &mut said));
    assert!(spoken.is_ok());
    let said = String::from_utf8(said).expect("answers are text");
    for line in said.lines() {
        let answer: Value = from_str(line).expect("answers are JSON");
        assert_eq!(answer["jsonrpc"], "2.0");
        assert_ne!(answer["result"]["structuredContent"]["status"], "sent");
        assert_ne!(answer["result"]["structuredContent"]["may_have_acted"], true);
    }
});
