use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

fn problems(text: &str) -> Vec<String> {
    let problems = read(text).unwrap_err();
    problems.into_iter().map(|p| format!("{}: {}", p.pointer, p.message)).collect()
}

/// Reads a text by `from_str`, by `document` and by `read`, and returns what each of them writes again.
fn read_in_each_way(text: &str) -> [Option<String>; 3] {
    let bounds = ReadLimits { depth: MAX_DEPTH, containers: usize::MAX, reserved: true };
    [
        from_str::<Value>(text).ok().map(|value| value.to_string()),
        document(text, bounds)
            .ok()
            .filter(|(_, twice)| twice.is_empty())
            .map(|(v, _)| v.to_string()),
        read(text).ok().map(|value| value.to_string()),
    ]
}

const TEXTS: &[&str] = &[
    r#"{"b":[1.0,-0,1e400,1E+5,{"a":null}],"a":"é\n","":{},"x":[],"y":[true,false]}"#,
    r#"[0,-1,9223372036854775807,9223372036854775808,18446744073709551615,18446744073709551616]"#,
    r#"[-9223372036854775808,-9223372036854775809,0.10,1e-7,123456789012345678901234567890]"#,
    r#"{"$serde_json::private::Number":"5","b":{"$serde_json::private::RawValue":"[1]"}}"#,
    r#"["\"\\/\u0008\f\r\t","\u0000","😀"]"#,
    "5",
    "\"x\"",
    "null",
];

#[test]
fn a_document_is_written_as_it_was_read() {
    for text in TEXTS {
        let plain = text.replace("\\u0008", "\\b");
        assert_eq!(read_in_each_way(text), [0; 3].map(|_| Some(plain.clone())), "{text}");
        let value: Value = text.parse().unwrap();
        // Through serde and back, and as part of a typed document.
        assert_eq!(to_value(&value).unwrap(), value);
        assert_eq!(from_value::<Value>(value.clone()).unwrap(), value);
        #[derive(Serialize, Deserialize, PartialEq, Debug)]
        struct Typed {
            inner: Option<Value>,
            list: Vec<Value>,
        }
        let typed = Typed {
            inner: Some(value.clone()).filter(|inner| !inner.is_null()),
            list: vec![value],
        };
        let text = to_string(&typed).unwrap();
        assert_eq!(from_str::<Typed>(&text).unwrap(), typed);
        assert_eq!(from_value::<Typed>(to_value(&typed).unwrap()).unwrap(), typed);
        assert_eq!(to_value(&typed).unwrap().to_string(), text);
        assert_eq!(from_reader::<_, Typed>(text.as_bytes()).unwrap(), typed);
    }
    let escaped = from_str::<Value>(r#""\ud83d\ude00 \u00e9\u0041""#).unwrap();
    assert_eq!(escaped, "😀 éA");
}

#[test]
fn what_readers_would_read_differently_is_told() {
    let text = r#"{"a":1,"b":[{"x":1,"\u0078":2}],"a":1}"#;
    assert_eq!(
        problems(text),
        [
            "/b/0/x: is there twice; readers differ in which they take",
            "/a: is there twice; readers differ in which they take"
        ]
    );
    assert_eq!(problems(r#"{"a":"\ud800"}"#), ["/a: holds text that is not Unicode"]);
    assert_eq!(problems(r#"{"a":"\ud800\u0041"}"#), ["/a: holds text that is not Unicode"]);
    assert_eq!(problems(r#"{"\ud800":1}"#), [": holds text that is not Unicode"]);
    // Readers that do not ask for problems get the last value in the first one's place.
    assert_eq!(
        from_str::<Value>(r#"{"a":1,"b":2,"a":3}"#).unwrap().to_string(),
        r#"{"a":3,"b":2}"#
    );
}

#[test]
fn what_is_no_json_is_refused_at_its_place() {
    for text in [
        "",
        "{",
        "{} x",
        "\u{feff}{}",
        "NaN",
        "[1,]",
        "'x'",
        "01",
        "-",
        "1.",
        "1e",
        "+1",
        ".5",
        "[1 2]",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":1,}",
        "\"\t\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "tru",
        "nulll",
        "\"abc",
        "[",
        "1 1",
        "\"\\u+123\"",
    ] {
        assert!(problems(text)[0].starts_with(": is not JSON at line 1"), "{text}");
        assert_eq!(read_in_each_way(text), [None, None, None], "{text}");
    }
}

#[test]
fn depth_and_count_are_bounded_without_overflowing_the_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(problems(&nested(MAX_DEPTH + 1)).len(), 1);
    assert_eq!(problems(&nested(200_000)).len(), 1);
    assert!(from_str::<Value>(&nested(127)).is_ok());
    assert!(from_str::<Value>(&nested(128)).is_err());
    assert!(from_str::<Value>(&nested(200_000)).is_err());
    let bounds = ReadLimits { depth: 3, containers: 4, reserved: false };
    for (text, why) in [
        ("[[[1]],[]]", None),
        ("[[[[1]]]]", Some(ReadError::Deep)),
        ("[[],[],[],[]]", Some(ReadError::Many)),
        (r#"{"\u0024serde_json::private::Number":"1"}"#, Some(ReadError::Reserved)),
        (r#"["$serde_json::private::Number"]"#, None),
        ("[[[[1", Some(ReadError::Deep)),
        ("[[1", Some(ReadError::Syntax)),
    ] {
        assert_eq!(document(text, bounds).err(), why, "{text}");
    }
}

#[test]
fn numbers_are_what_was_written() {
    for (text, i64, u64, f64) in [
        ("0", Some(0), Some(0), Some(0.0)),
        ("-0", Some(0), None, Some(-0.0)),
        ("-7", Some(-7), None, Some(-7.0)),
        ("1.0", None, None, Some(1.0)),
        ("1e3", None, None, Some(1000.0)),
        ("18446744073709551615", None, Some(u64::MAX), Some(18446744073709551615.0)),
        ("18446744073709551616", None, None, Some(18446744073709551616.0)),
        ("1e400", None, None, None),
    ] {
        let value: Value = text.parse().unwrap();
        assert_eq!((value.as_i64(), value.as_f64()), (i64, f64), "{text}");
        if text != "-0" {
            assert_eq!(value.as_u64(), u64, "{text}");
        }
        assert_eq!(
            (value.to_string().as_str(), format!("{value:?}")),
            (text, format!("Number({text})"))
        );
    }
    assert_ne!("1".parse::<Value>().unwrap(), "1.0".parse::<Value>().unwrap());
    assert_eq!(Value::from(2.5).to_string(), "2.5");
    assert_eq!(Value::from(f64::NAN), Value::Null);
    assert_eq!(to_value(0.1_f32).unwrap().to_string(), "0.1");
    assert_eq!(to_value(u128::MAX).unwrap().to_string(), u128::MAX.to_string());
}

#[test]
fn a_literal_says_what_is_written() {
    let name = "vin";
    let list = ["x", "y"];
    let document = json!({
        "a": null, name: [1, -2.5, [], {}, [null], list], (name.to_owned() + "s"): {"b": true},
        "c": if list.is_empty() { 1 } else { 2 }, "d": Some("e"), "f": list.len(),
    });
    let text =
        r#"{"a":null,"vin":[1,-2.5,[],{},[null],["x","y"]],"vins":{"b":true},"c":2,"d":"e","f":2}"#;
    assert_eq!(document.to_string(), text);
    assert_eq!(json!({}), Value::Object(Map::new()));
    assert_eq!(json!("x"), "x");
}

#[test]
fn places_are_found_and_made() {
    let mut document = json!({"a": [{"b/c": 1, "": {"~": 2}}]});
    for (pointer, found) in [
        ("", Some(document.clone())),
        ("/a/0/b~1c", Some(json!(1))),
        ("/a/0//~0", Some(json!(2))),
        ("/a/00", None),
        ("/a/+0", None),
        ("/a/1", None),
        ("a", None),
    ] {
        assert_eq!(document.pointer(pointer).cloned(), found, "{pointer}");
        assert_eq!(document.pointer_mut(pointer).cloned(), found, "{pointer}");
    }
    assert_eq!(document["x"]["y"][3], Value::Null);
    document["x"]["y"] = json!(5);
    assert_eq!(document["x"].take(), json!({"y": 5}));
    assert_eq!(document["x"], Value::Null);
}

#[test]
fn every_shape_of_serde_has_its_document() {
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    enum Shape {
        Unit,
        One(u8),
        Two(u8, char),
        Named { a: Option<bool>, raw: Box<RawValue2> },
    }
    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct RawValue2(Number);
    let number = |text: &str| Box::new(RawValue2(text.parse().unwrap()));
    for (shape, text) in [
        (Shape::Unit, r#""Unit""#),
        (Shape::One(1), r#"{"One":1}"#),
        (Shape::Two(1, 'é'), r#"{"Two":[1,"é"]}"#),
        (Shape::Named { a: None, raw: number("1.10") }, r#"{"Named":{"a":null,"raw":1.10}}"#),
    ] {
        let value = to_value(&shape).unwrap();
        assert_eq!(value.to_string(), text);
        assert_eq!(from_value::<Shape>(value).unwrap(), shape);
        assert_eq!(from_str::<Shape>(text).unwrap(), shape);
    }
    for text in [r#""None""#, r#"{"One":1,"Unit":2}"#, r#"{"One":"x"}"#, r#""One""#, "5"] {
        assert!(from_value::<Shape>(text.parse().unwrap()).is_err(), "{text}");
    }
    let map = std::collections::BTreeMap::from([(1, "a"), (2, "b")]);
    assert_eq!(to_value(map).unwrap().to_string(), r#"{"1":"a","2":"b"}"#);
    let raw = RawValue::from_string("[1.50]".to_owned()).unwrap();
    assert_eq!(to_value([&raw]).unwrap().to_string(), "[[1.50]]");
    assert!(to_value(std::collections::BTreeMap::from([(vec![1], 1)])).is_err());
}

#[test]
fn serde_jsons_own_is_converted_both_ways() {
    let text = r#"{"b":[1,-2.5,"x",null,true],"c":{}}"#;
    let ours: Value = text.parse().unwrap();
    let theirs = serde_json::Value::from(&ours);
    assert_eq!(theirs, text.parse::<serde_json::Value>().unwrap());
    assert_eq!(Value::from(theirs), ours);
}

/// Texts that are almost JSON.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u00e9", "\\ud83d", "\\ude00", "1", "-", "0",
        ".5", "e3", "null", "true", "a", " ", "\n", "\u{1}", "é", "\"k\":", "\"v\"",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn the_reader_accepts_what_serde_json_accepts(text in texts()) {
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        let ours = from_str::<Value>(&text);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok());
        if let Ok(ours) = ours && let Ok(theirs) = theirs {
            prop_assert_eq!(serde_json::Value::from(&ours), theirs);
        }
    }
}
