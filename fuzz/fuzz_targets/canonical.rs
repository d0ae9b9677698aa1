//! Canonical text is JSON, and its own canonical text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_wire::canonical;
use tradepost_wire::json::Value;

fuzz_target!(|text: &str| {
    let Ok(value) = tradepost_wire::json::from_str::<Value>(text) else {
        return;
    };
    let first = canonical::to_string(&value);
    let again = tradepost_wire::json::from_str::<Value>(&first).expect("canonical text is JSON");
    assert_eq!(canonical::to_string(&again), first);
});
