//! Bytes that nobody should send: nothing panics, nothing is too deep or too much, and what the
//! usual implementation reads we read as the same.

use proptest::prelude::*;
use prost::Message as _;
use prost_types::value::Kind;
use prost_types::{Struct, Value as Proto};
use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_a2a::protobuf::{read, schema, write};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use super::types::a2a::{self, part::Content};
use crate::equivalence::config;

fn message(of: &str) -> String {
    match read(&schema::PART, &hex(of)) {
        Ok(value) => value.to_string(),
        Err(reject) => format!("{}: {}", reject.code, reject.message),
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|digit| !digit.is_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap())
        .collect()
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    const GARBLED: &str = "PARSE_ERROR: the message is not valid protocol buffers";
    for (bytes, why) in [
        ("0a", "a field without a length"),
        ("0a 05 61", "a text that ends early"),
        ("0a ff ff ff ff ff ff ff ff ff 01", "a length beyond all memory"),
        ("0a ff ff ff ff ff ff ff ff ff 02 61", "a number of more than 64 bits"),
        ("00 00", "a field without a number"),
        ("08 01", "a number in place of a text"),
        ("0b", "a group in place of a text"),
        ("ff ff ff ff 7f 00", "a field whose number is too big"),
        ("7b", "an unknown group without an end"),
        ("7b 84 01", "an unknown group with another's end"),
        ("7c", "the end of no group"),
        ("7e", "a layout that there is not"),
        ("79 00 00", "an unknown double that ends early"),
        ("22 02 10 01", "a number of JSON that is no double"),
    ] {
        assert_eq!(message(bytes), GARBLED, "{why}");
    }
    assert_eq!(message("0a 01 ff"), "PARSE_ERROR: the message has a text that is not valid UTF-8");
    for infinite in ["00 00 00 00 00 00 f8 7f", "00 00 00 00 00 00 f0 7f"] {
        assert_eq!(
            message(&format!("22 09 11 {infinite}")),
            "PARSE_ERROR: the message has a number that is not finite, which JSON cannot say"
        );
    }
}

#[test]
fn unknown_fields_are_passed_over_and_pieces_are_one_message() {
    assert_eq!(message("7b 78 01 7b 7c 7c 79 0000000000000000 7d 00000000 7a 01 61"), "{}");
    assert_eq!(message("0a 01 61 1a 01 62"), r#"{"url":"b"}"#, "the last of a oneof wins");
    assert_eq!(message("32 01 61 32 00"), "{}", "the last one is the default, which is nothing");
    // Two halves of a structure under `metadata`: {"a": null} and {"b": null}.
    assert_eq!(
        message("2a 05 0a 03 0a 01 61 2a 05 0a 03 0a 01 62"),
        r#"{"metadata":{"a":null,"b":null}}"#
    );
    // The same key twice.
    assert_eq!(
        message("2a 0e 0a 07 0a 01 61 12 02 20 01 0a 03 0a 01 61"),
        r#"{"metadata":{"a":null}}"#
    );
}

/// `{"data": {"a": {"a": … }}}` with so many objects.
fn nested(depth: usize) -> Vec<u8> {
    let mut value = Proto { kind: None };
    for _ in 0..depth {
        let fields = [("a".to_owned(), value)].into();
        value = Proto { kind: Some(Kind::StructValue(Struct { fields })) };
    }
    a2a::Part { content: Some(Content::Data(value)), ..Default::default() }.encode_to_vec()
}

#[test]
fn depth_is_limited_as_in_json_without_costing_stack() {
    let rejected = |bytes: &[u8]| read(&schema::PART, bytes).unwrap_err();
    assert!(read(&schema::PART, &nested(63)).is_ok());
    assert_eq!(rejected(&nested(64)).message, "the message nests deeper than 64 levels");
    // Lists in lists, written from the inside out, as no honest writer could.
    let mut bytes = Vec::new();
    for _ in 0..20_000 {
        for key in [0x0a, 0x32] {
            let mut length = bytes.len();
            let mut outer = vec![key];
            while length > 0x7f {
                outer.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
                length >>= 7;
            }
            outer.push(u8::try_from(length).unwrap());
            bytes.splice(0..0, outer);
        }
    }
    bytes.splice(0..0, [0x22, 0x80, 0x80, 0x80, 0x80, 0x00]);
    assert!(read(&schema::PART, &bytes).is_err());
    let groups = vec![0x7b; 1_000_000];
    assert_eq!(rejected(&groups).message, "the message nests deeper than 64 levels");
}

#[test]
fn containers_are_counted_before_they_are_made() {
    let parts = |count: usize| [0x2a, 0x00].repeat(count);
    // The message, the array and every part.
    assert!(read(&schema::MESSAGE, &parts(4_094)).is_ok());
    let reject = read(&schema::MESSAGE, &parts(4_095)).unwrap_err();
    assert_eq!(reject.code, A2aCode::InvalidRequest);
    assert_eq!(reject.message, "the message has more than 4096 arrays and objects");
}

#[test]
fn names_that_the_store_reserves_are_refused() {
    let value = Proto { kind: Some(Kind::StringValue("[1]".to_owned())) };
    let fields = [("$serde_json::private::RawValue".to_owned(), value)].into();
    let part = a2a::Part { metadata: Some(Struct { fields }), ..Default::default() };
    let reject = read(&schema::PART, &part.encode_to_vec()).unwrap_err();
    assert_eq!(reject.code, A2aCode::InvalidRequest);
    assert!(reject.message.contains("reserved"));
}

/// A value without a kind is null.
fn normal(value: &mut Proto) {
    match &mut value.kind {
        None => value.kind = Some(Kind::NullValue(0)),
        Some(Kind::NullValue(number)) => *number = 0,
        Some(Kind::StructValue(object)) => object.fields.values_mut().for_each(normal),
        Some(Kind::ListValue(list)) => list.values.iter_mut().for_each(normal),
        // It has no sign in JSON.
        Some(Kind::NumberValue(number)) => *number += 0.0,
        Some(Kind::StringValue(_) | Kind::BoolValue(_)) => {}
    }
}

fn normalise(message: &mut a2a::Message) {
    for part in &mut message.parts {
        if let Some(Content::Data(data)) = &mut part.content {
            normal(data);
        }
        part.metadata.iter_mut().flat_map(|object| object.fields.values_mut()).for_each(normal);
    }
    message.metadata.iter_mut().flat_map(|object| object.fields.values_mut()).for_each(normal);
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        "[a-z\u{e9}]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,2}", inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn sample() -> impl Strategy<Value = Vec<u8>> {
    (json(), any::<bool>(), "[a-z]{0,3}").prop_map(|(data, structured, text)| {
        let content = if structured { "data" } else { "text" };
        let data = if structured { data } else { text.as_str().into() };
        let message = tradepost_document::json::json!({
            "messageId": text, "role": "ROLE_USER", "extensions": [text],
            "parts": [{content: data, "metadata": {"a": data, "b": {"c": [data]}}}, {"raw": "AAE="}],
        });
        write(&schema::MESSAGE, &message).unwrap()
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn damaged_messages_are_read_as_the_usual_implementation_does(
        bytes in sample(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let whole = bytes.clone();
        let mut bytes = bytes;
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let theirs = a2a::Message::decode(bytes.as_slice());
        match (read(&schema::MESSAGE, &bytes), theirs) {
            (Ok(ours), Ok(mut theirs)) => {
                normalise(&mut theirs);
                let written = write(&schema::MESSAGE, &ours).unwrap();
                let mut again = a2a::Message::decode(written.as_slice()).unwrap();
                normalise(&mut again);
                prop_assert_eq!(again, theirs);
            }
            (Ok(ours), Err(error)) => prop_assert!(false, "we read {ours}, they {error}"),
            // We may be stricter: it takes a map's entry in another layout for one, too.
            (Err(reject), Ok(_)) => prop_assert!(bytes != whole, "{reject:?}"),
            (Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for operation in Operation::ALL.iter().copied() {
            let message = schema::request(operation);
            if let Ok(value) = read(message, &bytes) {
                prop_assert!(value.is_object());
            }
        }
    }
}
