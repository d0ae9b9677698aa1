//! Whatever is sent: no panic, bounded answers, and work in proportion to the bytes.

use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use tradepost_a2a as a2a;
use tradepost_a2a::jsonrpc;
use tradepost_aap::{self as aap, Skill, Version};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Map, Number, Value, json};

use crate::equivalence::config;
use crate::mutate::{apply, mutations};
use crate::oracle;
use crate::seeds::{self, Seed};

/// Maximum body size that the server reads, in bytes (E-004).
const MAX_BODY: usize = 256 * 1024;

/// Processes a body as far as the server does before it reads the dealer's data. Returns the size of the
/// refusal; at most 1 when nothing is refused.
fn refusal_size(body: &[u8]) -> usize {
    let request = match jsonrpc::read(body) {
        Ok(request) => request,
        Err(reject) => return reject.message.len(),
    };
    let send = match a2a::send_message(request.params.as_ref()) {
        Ok(send) => send,
        Err(refusal) => return tradepost_document::json::to_string(&refusal).unwrap().len(),
    };
    let data = send.message.parts.iter().find_map(|part| match &part.content {
        a2a::Content::Data(data) => Some(data),
        _ => None,
    });
    data.map_or(0, largest_refusal)
}

/// Parses data as every skill in every version, and returns the size of the largest refusal; 1 when there is none.
fn largest_refusal(data: &Value) -> usize {
    let mut largest = canonical::to_string(data).len().min(1);
    let _ = (aap::has_v1_0_shape(data), aap::identify(data, Skill::ALL).is_ok());
    for version in Version::ALL {
        for skill in Skill::ALL {
            let Err(refusal) = aap::parse(*skill, *version, data, &oracle::terms()) else {
                continue;
            };
            let object = refusal.stamp(*version, "e".into(), oracle::terms().now);
            largest = largest.max(tradepost_document::json::to_string(&object).unwrap().len());
        }
    }
    largest
}

fn request(data: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{
        "messageId":"m","role":"ROLE_USER","parts":[{{"data":{data}}}]}}}}}}"#
    )
}

/// Any JSON value; numbers in every notation.
fn json_value() -> impl Strategy<Value = Value> {
    let number = "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,36})?".prop_map(|text| {
        Value::Number(tradepost_document::json::from_str::<Number>(&text).unwrap())
    });
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number,
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let key = prop_oneof!["[a-z_]{1,8}", any::<String>(), Just("type".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map>())),
        ]
    })
}

fn holds<S: Strategy>(cases: u32, strategy: &S, check: impl Fn(S::Value) -> Result<(), String>) {
    let mut runner = TestRunner::new(config(cases));
    let result = runner.run(strategy, |value| check(value).map_err(TestCaseError::fail));
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn no_bytes_cause_a_panic() {
    holds(2_000, &prop::collection::vec(any::<u8>(), 0..200), |bytes| {
        refusal_size(&bytes);
        Ok(())
    });
    // Damaged requests come further than noise.
    let valid = seeds::rich();
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6);
    holds(1_000, &(0..valid.len(), damage), |(index, damage)| {
        let mut bytes = request(&valid[index].data.to_string()).into_bytes();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        refusal_size(&bytes);
        Ok(())
    });
}

#[test]
fn no_json_causes_a_panic() {
    holds(1_000, &json_value(), |value| {
        largest_refusal(&value);
        let _ = a2a::send_message(Some(&value)).is_ok();
        refusal_size(request(&value.to_string()).as_bytes());
        Ok(())
    });
}

#[test]
fn canonical_text_ignores_order_and_spelling_and_is_its_own() {
    holds(1_000, &(json_value(), any::<u64>()), |(value, seed)| {
        let text = canonical::to_string(&value);
        let again: Value =
            tradepost_document::json::from_str(&text).map_err(|e| format!("{e}: {text}"))?;
        if canonical::to_string(&again) != text {
            return Err(format!("{text} became {}", canonical::to_string(&again)));
        }
        let mut other = String::new();
        write_differently(&value, seed, &mut other);
        let respelled: Value =
            tradepost_document::json::from_str(&other).map_err(|e| format!("{e}: {other}"))?;
        let respelled = canonical::to_string(&respelled);
        if respelled != text {
            return Err(format!("{text} was respelled {other} and became {respelled}"));
        }
        Ok(())
    });
}

/// Writes the same value differently: members backwards, white space, escapes, and numbers with
/// a shifted decimal point.
fn write_differently(value: &Value, seed: u64, out: &mut String) {
    let items = |out: &mut String, parts: Vec<String>, open, close| {
        out.push(open);
        out.push_str(&parts.join(" ,\n"));
        out.push(close);
    };
    let deeper = |value: &Value| {
        let mut out = String::new();
        write_differently(value, seed.rotate_left(3), &mut out);
        out
    };
    match value {
        Value::Null | Value::Bool(_) => out.push_str(&value.to_string()),
        Value::String(text) => out.push_str(&escaped(text)),
        Value::Number(number) => out.push_str(&shifted(&number.text(), seed)),
        Value::Array(list) => items(out, list.iter().map(deeper).collect(), '[', ']'),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| escaped(key) + "\t:" + &deeper(value);
            items(out, members.iter().rev().map(member).collect(), '{', '}');
        }
    }
}

fn escaped(text: &str) -> String {
    let units: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{units}\"")
}

/// The same number: its digits without a point and an exponent that makes up for it, with up to
/// three zeros behind.
fn shifted(text: &str, seed: u64) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let zeros = usize::try_from(seed % 4).unwrap();
    let exponent =
        exponent.parse::<i128>().unwrap() - i128::try_from(fraction.len() + zeros).unwrap();
    let digits = format!("{whole}{fraction}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", &*digits), |rest| ("-", rest));
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return "-0.00e5".to_owned();
    }
    format!("{sign}{digits}{}E{exponent:+}", "0".repeat(zeros))
}

/// Found by fuzzing.
#[test]
fn exponents_without_measure_are_their_own_canonical_text() {
    let text = format!("[11111e{}0555, -10.50e-{}]", "1".repeat(110), "9".repeat(60));
    let value: Value = tradepost_document::json::from_str(&text).unwrap();
    let first = canonical::to_string(&value);
    let again: Value = tradepost_document::json::from_str(&first).unwrap();
    assert_eq!(canonical::to_string(&again), first);
}

#[test]
fn accepted_damaged_requests_have_stable_canonical_text() {
    let seeds = seeds::rich();
    holds(500, &(0..seeds.len(), mutations()), |(index, mutations)| {
        let Seed { version, skill, mut data, .. } = seeds[index].clone();
        mutations.iter().for_each(|mutation| apply(&mut data, mutation));
        let terms = oracle::terms();
        let Ok(aap::AapRequest::LeadSubmit(lead)) = aap::parse(skill, version, &data, &terms)
        else {
            return Ok(());
        };
        // A retry restamps, renames its key and passes its numbers through floats (C-17).
        data["submitted_at"] = json!("2026-05-01T11:59:00Z");
        data["idempotency_key"] = json!("another");
        let mut text = String::new();
        write_differently(&data, 1, &mut text);
        let again: Value = tradepost_document::json::from_str(&text).unwrap();
        match aap::parse(skill, version, &again, &terms) {
            Ok(aap::AapRequest::LeadSubmit(again))
                if again.canonical_payload() == lead.canonical_payload() =>
            {
                Ok(())
            }
            other => Err(format!("{other:?}")),
        }
    });
}

/// Bodies of the largest size, each built to make some step expensive.
fn hostile_bodies() -> Vec<(&'static str, String)> {
    let many = |item: &dyn Fn(usize) -> String| {
        let mut out = String::new();
        for n in 0.. {
            let item = item(n);
            if out.len() + item.len() + 1_000 > MAX_BODY {
                break;
            }
            if n > 0 {
                out.push(',');
            }
            out.push_str(&item);
        }
        out
    };
    let lead = |member: &str| format!(r#"{{"type":"lead.submit.request",{member}}}"#);
    let search = |member: &str| format!(r#"{{"type":"inventory.search.request",{member}}}"#);
    let keys = many(&|n| format!(r#""mak{n:x}":0"#));
    let long_keys = many(&|n| format!(r#""exterior_colou{n:x}{}":0"#, "r".repeat(60)));
    let items = many(&|n| format!("{n}"));
    let words = many(&|n| format!(r#""{n:x}""#));
    let nines = "9".repeat(MAX_BODY - 1_000);
    vec![
        ("unknown filters", search(&format!(r#""filters":{{{keys}}}"#))),
        ("unknown members", search(&keys)),
        ("long unknown members", lead(&long_keys)),
        ("distinct channels", lead(&format!(r#""consent":{{"allowed_channels":[{words}]}}"#))),
        ("wrong makes", search(&format!(r#""filters":{{"make":[{items}]}}"#))),
        ("one long number", search(&format!(r#""filters":{{"year_min":{nines}}}"#))),
        ("one long fraction", search(&format!(r#""filters":{{"year_min":0.{nines}}}"#))),
        ("one long exponent", search(&format!(r#""filters":{{"year_min":1e{nines}}}"#))),
        (
            "one long address",
            lead(&format!(r#""customer":{{"email":"{}@a"}}"#, "a.".repeat(MAX_BODY / 2 - 600))),
        ),
        ("one long moment", lead(&format!(r#""submitted_at":"2026-04-30T11:05:00.{nines}Z""#))),
        (
            "one long page",
            lead(&format!(
                r#""source_agent":{{"name":"a","url":"a:{}"}}"#,
                "%20".repeat(MAX_BODY / 3 - 600)
            )),
        ),
        ("one long type", format!(r#"{{"type":"{}request"}}"#, "a.".repeat(MAX_BODY / 2 - 600))),
        ("escapes", lead(&format!(r#""message":"{}""#, "\\\"".repeat(MAX_BODY / 2 - 600)))),
    ]
}

#[test]
fn the_largest_bodies_get_small_answers() {
    for (name, data) in hostile_bodies() {
        let body = request(&data);
        assert!((MAX_BODY - 6_000..=MAX_BODY).contains(&body.len()), "{name}: {}", body.len());
        let size = refusal_size(body.as_bytes());
        assert!(size < 32 * 1024, "{name}: {size} bytes");
    }
    let parts = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"parts":[{}]}}}}}}"#,
        vec!["{}"; 80_000].join(",")
    );
    let size = refusal_size(parts.as_bytes());
    assert!(size < 32 * 1024, "parts: {size}");
}

#[test]
fn exponents_at_the_edge_of_an_integer_are_read() {
    for text in ["1.5e-9223372036854775808", "10e9223372036854775807", "-10E+9223372036854775807"] {
        let data =
            format!(r#"{{"type":"inventory.search.request","filters":{{"year_min":{text}}}}}"#);
        let data: Value = tradepost_document::json::from_str(&data).unwrap();
        let skill = Skill::InventorySearch;
        let refusal = oracle::parse(Version::V1_1, skill, &data).unwrap_err();
        assert_eq!(refusal.problems.listed()[0].pointer, "/filters/year_min", "{text}");
        assert!(!canonical::to_string(&data).is_empty());
    }
}
