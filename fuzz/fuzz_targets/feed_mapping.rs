//! A mapping file is a mapping, which is written as a text that is the same mapping, or has mistakes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_dealer::import::Mapping;

fuzz_target!(|text: &str| {
    if let Ok(mapping) = Mapping::parse(text) {
        let written = mapping.to_toml();
        let again = Mapping::parse(&written).expect("what is written can be read");
        assert_eq!(again.to_toml(), written);
    }
});
