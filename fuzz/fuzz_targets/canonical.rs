//! Canonical text is JSON, and its own canonical text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tradepost_wire::canonical;

fuzz_target!(|text: &str| {
    // These names are serde_json's own: the envelope refuses them before a value is made.
    if text.contains("serde_json") || text.contains("\\u") {
        return;
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let first = canonical::to_string(&value);
    let again = serde_json::from_str::<Value>(&first).expect("canonical text is JSON");
    assert_eq!(canonical::to_string(&again), first);
});
