use jiff::Timestamp;
use tradepost_document::json::json;
use tradepost_document::typed::OneOrMore;

use super::*;

tradepost_document::catalog::words! {
    /// The pacing of a budget.
    enum Pacing {
        /// Evenly.
        Even = "even",
        /// As fast as possible.
        Asap = "asap",
        /// More at the beginning of the flight.
        FrontLoaded = "front_loaded",
    }
}

tradepost_document::catalog::words! {
    /// A vocabulary with fewer words than the rules.
    enum Hasty {
        /// As fast as possible.
        Asap = "asap",
    }
}

tradepost_document::typed_struct! {
    /// A form that fits a package of a request.
    struct Fitting {
        product_id: String,
        budget: f64,
        kind: Option<String> = "format_kind",
        pacing: Option<Pacing>,
        paused: bool,
        start_time: Option<Timestamp>,
        targeting_overlay: Option<Targeting>,
        creative_assignments: Vec<Assigned>;
        keep
        /// Shown again.
        shown: ["context", "bid_price"];
        whole sent
    }

    struct Targeting {
        audience_include: Vec<String>,
    }

    struct Assigned {
        creative_id: String,
        weight: Option<f64>,
    }

    /// A form that does not fit.
    struct Misfitting {
        product_id: Option<f64>,
        pacing: Option<Hasty>,
        budget: u64,
        end_time: Timestamp,
        colour: Option<String>,
        creative_assignments: Vec<Twice>;
        keep shown: ["size"]
    }

    struct Twice {
        weight: f64,
    }

    struct Account {
        account_id: Option<String>,
        brand: Option<Value>,
    }

    struct Named {
        account_id: String,
    }

    struct Status {
        status_filter: Option<OneOrMore<String>>,
        include_history: Option<u64>,
    }
}

#[test]
fn a_form_takes_what_is_there_and_nothing_else() {
    let sent = json!({
        "product_id": "p", "budget": 1e3, "format_kind": "image", "pacing": "asap",
        "start_time": "2026-05-01T12:00:00Z", "targeting_overlay": {"audience_include": ["a"]},
        "creative_assignments": [{"creative_id": "c", "weight": 2.5}, {"creative_id": "d"}],
        "bid_price": 1.50, "context": {"a": 1}, "colour": "red",
    });
    let form = Fitting::read(&sent).unwrap();
    assert_eq!((form.product_id.as_str(), form.budget), ("p", 1000.0));
    assert_eq!((form.kind.as_deref(), form.pacing), (Some("image"), Some(Pacing::Asap)));
    assert_eq!(form.start_time, "2026-05-01T12:00:00Z".parse().ok());
    assert_eq!(form.targeting_overlay, Some(Targeting { audience_include: vec!["a".into()] }));
    let assigned = |id: &str, weight| Assigned { creative_id: id.to_owned(), weight };
    assert_eq!(form.creative_assignments, [assigned("c", Some(2.5)), assigned("d", None)]);
    // Members are in the order of the form, and as sent.
    assert_eq!(
        tradepost_document::json::to_string(&form.shown).unwrap(),
        r#"{"context":{"a":1},"bid_price":1.5}"#
    );
    assert_eq!(Value::Object(form.sent), sent);
    assert!(!form.paused);

    let least = Fitting::read(&json!({"product_id": "p", "budget": 0})).unwrap();
    assert_eq!((least.targeting_overlay, least.creative_assignments.len()), (None, 0));
    assert_eq!(Fitting::read(&json!({"product_id": "p"})), None);
    assert_eq!(Fitting::read(&json!([])), None);
}

#[test]
fn a_value_is_read_in_every_notation_the_rules_accept() {
    let value = |text: &str| tradepost_document::json::from_str::<Value>(text).unwrap();
    for (text, expected) in [
        ("2", Some(2)),
        ("2.0", Some(2)),
        ("2e1", Some(20)),
        ("1e30", Some(u64::MAX)),
        ("1e400", Some(u64::MAX)),
        ("\"2\"", None),
    ] {
        assert_eq!(u64::read(&value(text)), expected, "{text}");
    }
    for (text, expected) in [("1.5", Some(1.5)), ("1e400", Some(0.0)), ("true", None)] {
        assert_eq!(f64::read(&value(text)), expected, "{text}");
    }
    let many = |text: &str| OneOrMore::<String>::read(&value(text)).map(|words| words.0);
    assert_eq!(many("\"a\""), Some(vec!["a".to_owned()]));
    assert_eq!(many("[\"a\", \"b\"]"), Some(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(many("[1]"), None);
    assert_eq!(Timestamp::read(&value("\"9999-12-31T23:59:59-23:59\"")), Some(Timestamp::MAX));
    assert_eq!(Timestamp::read(&value("\"asap\"")), None);
    assert_eq!(Option::<bool>::read(&value("\"x\"")), Some(None));
}

/// The test of forms can fail.
#[test]
fn a_form_asking_more_than_the_rules_guarantee_is_found() {
    let package = "media-buy/package-request";
    assert_eq!(schema_gaps::<Fitting>(package), [""; 0]);
    assert_eq!(
        schema_gaps::<Misfitting>(package),
        [
            "media-buy/package-request.product_id: may be something else",
            "media-buy/package-request.pacing: may be something else",
            "media-buy/package-request.budget: may be something else",
            "media-buy/package-request.end_time: is not required",
            "media-buy/package-request.colour: is not in the rules",
            "media-buy/package-request.creative_assignments[].weight: is not required",
            "media-buy/package-request.size: is not in the rules",
        ],
    );
    // Members of a union's branches are present, but not always.
    assert_eq!(schema_gaps::<Account>("core/account-ref"), [""; 0]);
    assert_eq!(
        schema_gaps::<Named>("core/account-ref"),
        ["core/account-ref.account_id: is not required"],
    );
    assert_eq!(schema_gaps::<Status>("media-buy/get-media-buys-request"), [""; 0]);
}
