//! A message of gRPC as every operation's request: bytes become JSON or are refused, and what
//! became JSON is written and read again as the same, and read as parameters like any other.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::{self as a2a, Operation};
use tradepost_document::catalog::Vocabulary;

fuzz_target!(|bytes: &[u8]| {
    for operation in Operation::ALL.iter().copied() {
        let message = schema::request(operation);
        let Ok(params) = protobuf::read(message, bytes) else {
            continue;
        };
        // A moment that no calendar has is a text that is none, and cannot be written.
        if let Ok(written) = protobuf::write(message, &params) {
            assert_eq!(protobuf::read(message, &written).as_ref(), Ok(&params));
        }
        if let Err(refusal) = a2a::request::read(operation, Some(&params)) {
            assert!(refusal.has_details());
            tradepost_document::json::to_string(&refusal).expect("a refusal serialises");
        }
    }
});
