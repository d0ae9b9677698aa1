//! The types of other people that `serde_json`'s features break when a library turns them on.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tradepost_document::json as ours;
// Linked, and with their features.
use {tradepost_probe as _, tradepost_server as _};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Tagged {
    Bid { amount: f64, share: f32, whole: i64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
enum Adjacent {
    Bid { amount: f64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Whole(u8),
    Float(f64),
    Text(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Flat {
    name: String,
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    rest: std::collections::BTreeMap<String, f64>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    latitude: f64,
    longitude: f32,
}

fn read<T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
    text: &str,
    expected: T,
) {
    assert_eq!(serde_json::from_str::<T>(text).unwrap(), expected, "{text}");
    assert_eq!(serde_json::from_value::<T>(serde_json::from_str(text).unwrap()).unwrap(), expected);
    // Out of our own documents, too.
    assert_eq!(ours::from_value::<T>(text.parse().unwrap()).unwrap(), expected);
    assert_eq!(ours::from_value::<T>(ours::to_value(&expected).unwrap()).unwrap(), expected);
}

#[test]
fn tagged_untagged_and_flattened_types_keep_their_floats() {
    let bid = Tagged::Bid { amount: 12.5, share: 0.25, whole: -3 };
    read(r#"{"kind":"bid","amount":12.5,"share":0.25,"whole":-3}"#, bid);
    read(r#"{"of":{"amount":12.5},"kind":"bid"}"#, Adjacent::Bid { amount: 12.5 });
    read("7", Untagged::Whole(7));
    read("1.10", Untagged::Float(1.1));
    read("1e3", Untagged::Float(1000.0));
    read("\"x\"", Untagged::Text("x".to_owned()));
    let place = Place { latitude: 51.5, longitude: -0.125 };
    let flat = Flat { name: "x".to_owned(), place, rest: [("height".to_owned(), 2.5)].into() };
    read(r#"{"name":"x","latitude":51.5,"longitude":-0.125,"height":2.5}"#, flat);
}

/// These tell the features apart: this is what serde_json does by itself.
#[test]
fn documents_are_those_of_plain_serde_json() {
    let document: Value = serde_json::from_str(r#"{"b":1.10,"a":1e2}"#).unwrap();
    assert_eq!(document.to_string(), r#"{"a":100.0,"b":1.1}"#);
    assert_eq!(document, json!({"a": 100.0, "b": 1.1}));
    assert!(serde_json::from_str::<Value>("1e400").is_err());
}

/// And beside them ours keep what was written.
#[test]
fn our_documents_keep_order_and_digits_in_the_same_program() {
    let text = r#"{"b":1.10,"a":[1e400,123456789012345678901234567890,-0],"c":{"$serde_json::private::Number":"1"}}"#;
    assert_eq!(text.parse::<ours::Value>().unwrap().to_string(), text);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Around {
        Lead { price: ours::Number, rest: ours::Value },
    }
    let text = r#"{"kind":"Lead","price":10,"rest":{"b":[true,"x"],"a":null}}"#;
    let read: Around = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

/// Each library is in the program, and reads by means of its own.
#[test]
fn every_library_is_here() {
    let request = br#"{"jsonrpc":"2.0","id":1.0,"method":"m","params":{"price":1.10}}"#;
    let read = tradepost_a2a::jsonrpc::read(request).unwrap();
    assert_eq!(
        (read.id.as_json(), read.params.unwrap().to_string()),
        ("1.0", r#"{"price":1.10}"#.to_owned())
    );
    let pem = tradepost_keys::generate(tradepost_keys::Algorithm::EdDsa).unwrap();
    let key = tradepost_keys::SigningKey::read(&pem, Some("k")).unwrap();
    let set = ours::json!({"keys": [key.public_jwk()]}).to_string();
    assert!(tradepost_keys::KeySet::read(&set).is_ok());
    assert!(tradepost_client::Url::parse("https://larkspur.example").is_ok());
    let _: fn(&Value) -> ours::Value = |value| value.clone().into();
}
