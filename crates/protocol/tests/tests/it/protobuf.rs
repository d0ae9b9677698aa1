//! Protocol buffers: our tables and the tests' types are what the definition says, and our reading
//! and writing is what the usual implementation does.

use tradepost_a2a::Operation;
use tradepost_a2a::protobuf::schema;
use tradepost_document::catalog::Vocabulary as _;

mod codec;
mod generate;
mod hostile;
#[rustfmt::skip]
#[expect(dead_code, clippy::enum_variant_names, reason = "generated; a test needs some of it")]
mod types;

#[test]
fn every_operation_is_a_method_of_the_service() {
    for operation in Operation::ALL.iter().copied() {
        let stream = schema::answer(operation).name == "lf.a2a.v1.StreamResponse";
        assert_eq!(stream, operation.streams(), "{operation}");
        assert!(schema::request(operation).fields.iter().any(|field| field.name == "tenant"));
    }
}
