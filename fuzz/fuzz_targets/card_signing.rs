//! A card's signing form is JSON, and its own signing form; a strict reader agrees with itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_a2a::card::signing_payload;
use tradepost_document::json;

fuzz_target!(|text: &str| {
    let Ok(card) = json::read(text) else {
        return;
    };
    let Ok(first) = signing_payload(&card) else {
        return;
    };
    let again = json::read(&first).expect("a signing form is strict JSON");
    assert_eq!(signing_payload(&again).as_ref(), Ok(&first));
});
