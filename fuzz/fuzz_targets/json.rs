//! The ways to read a document agree, and what is written is what was read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_document::json::{self, MAX_DEPTH, RawValue, ReadLimits, Value};

const BOUNDS: ReadLimits = ReadLimits { depth: MAX_DEPTH, containers: 1_000, reserved: true };

fuzz_target!(|text: &str| {
    let is_json = json::from_str::<&RawValue>(text).is_ok();
    let Ok(value) = json::from_str::<Value>(text) else {
        assert!(json::read(text).is_err());
        return;
    };
    assert!(is_json);
    let again: Value = value.to_string().parse().expect("what is written is JSON");
    assert_eq!(again, value);
    if let Ok(read) = json::read(text) {
        assert_eq!(read, value);
    }
    if let Ok((read, twice)) = json::document(text, BOUNDS) {
        assert_eq!(read, value);
        assert_eq!(twice.is_empty(), json::read(text).is_ok());
    }
});
