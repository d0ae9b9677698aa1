//! Canonical text is JSON, and its own canonical text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_document::canonical;
use tradepost_document::json::Value;

fuzz_target!(|text: &str| {
    let Ok(value) = tradepost_document::json::from_str::<Value>(text) else {
        return;
    };
    let first = canonical::to_string(&value);
    let again =
        tradepost_document::json::from_str::<Value>(&first).expect("canonical text is JSON");
    assert_eq!(canonical::to_string(&again), first);
});
