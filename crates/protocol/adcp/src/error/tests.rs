use tradepost_document::json::json;

use super::*;
use tradepost_document::catalog::Vocabulary;

#[test]
fn an_error_that_is_written_is_read_as_it_was() {
    let error = AdcpError {
        field: Some("packages[0].targeting".into()),
        suggestion: Some("use DE".into()),
        retry_after: Some(5),
        issues: vec![Issue {
            pointer: "/packages/0/targeting".into(),
            message: "unknown".into(),
            keyword: "enum".into(),
            schema_id: Some("/schemas/3.1.0/core/targeting.json".into()),
            schema_path: Some("#/enum".into()),
            discriminator: vec![("type".into(), json!("geo"))],
        }],
        details: json!({"minimum_budget": 500.0}).as_object().cloned().unwrap(),
        source: Some(WireName::Known(ErrorSource::Sdk)),
        sdk_id: Some("x@1".into()),
        severity: Some("warning".into()),
        ..AdcpError::new(AdcpCode::ValidationError, "wrong")
    };
    assert_eq!(AdcpError::read(&tradepost_document::json::to_value(&error).unwrap()), Ok(error));
}

#[test]
fn o_4_field_is_the_first_issue_in_path_notation() {
    for (pointer, expected) in [
        ("/packages/0/targeting", "packages[0].targeting"),
        ("/packages/0/geo/12/x", "packages[0].geo[12].x"),
        ("/a~1b/c~0d/~01", "a/b.c~d.~1"),
        ("", ""),
        ("/0", "[0]"),
    ] {
        assert_eq!(path(pointer), expected);
    }
    let issue = Issue { pointer: "/budget".into(), ..Issue::default() };
    let error = AdcpError { issues: vec![issue], ..AdcpError::new(AdcpCode::ValidationError, "m") };
    assert_eq!(tradepost_document::json::to_value(error).unwrap()["field"], "budget");
}

#[test]
fn d_2_to_d_4_written_class_row_then_transient() {
    let class = |value: Value| AdcpError::read(&value).unwrap().class();
    for (recovery, known, unknown) in [
        (json!("transient"), Recovery::Transient, Recovery::Transient),
        (json!("correctable"), Recovery::Correctable, Recovery::Correctable),
        (json!("terminal"), Recovery::Terminal, Recovery::Terminal),
        (json!("deferred"), Recovery::Terminal, Recovery::Terminal),
        (json!("Transient"), Recovery::Terminal, Recovery::Terminal),
        (json!(""), Recovery::Terminal, Recovery::Terminal),
        (json!(5), Recovery::Terminal, Recovery::Terminal),
        (json!(null), Recovery::Correctable, Recovery::Transient),
    ] {
        let of = |code: &str| class(json!({"code": code, "recovery": recovery}));
        assert_eq!(of("BUDGET_TOO_LOW"), known, "{recovery}");
        assert_eq!(of("X_ACME_NEW"), unknown, "{recovery}");
    }
    for code in AdcpCode::ALL.iter().copied() {
        assert_eq!(class(json!({"code": code.name()})), code.recovery(), "{code}");
    }
    assert_eq!(class(json!({"code": "GO_FOREVER"})), Recovery::Transient);
}

#[test]
fn e_2_delays_are_rounded_up_and_brought_into_bounds() {
    for (written, expected) in [
        ("5", Some(5)),
        ("5.01", Some(6)),
        ("0", Some(1)),
        ("-7", Some(1)),
        ("0.2", Some(1)),
        ("3600.1", Some(3600)),
        ("86400", Some(3600)),
        ("1e308", Some(3600)),
        ("1e999", None),
        ("\"5\"", None),
        ("null", None),
        ("[5]", None),
    ] {
        let text = format!("{{\"code\":\"RATE_LIMITED\",\"retry_after\":{written}}}");
        let error = AdcpError::read(&tradepost_document::json::from_str(&text).unwrap()).unwrap();
        assert_eq!(error.retry_after, expected, "{written}");
    }
}

#[test]
fn t_6_what_is_no_error_object_is_none() {
    let of_size = |bytes: usize| {
        let frame = json!({"code": "A", "message": ""}).to_string().len();
        json!({"code": "A", "message": "x".repeat(bytes - frame)})
    };
    for (value, expected) in [
        (json!(null), ErrorFormatError::NotAnObject),
        (json!([]), ErrorFormatError::NotAnObject),
        (json!("RATE_LIMITED"), ErrorFormatError::NotAnObject),
        (json!({}), ErrorFormatError::NoCode),
        (json!({"code": 429}), ErrorFormatError::NoCode),
        (json!({"code": ""}), ErrorFormatError::CodeLength),
        (json!({"code": "X".repeat(65)}), ErrorFormatError::CodeLength),
        (of_size(MAX_BYTES + 1), ErrorFormatError::TooLarge),
    ] {
        assert_eq!(AdcpError::read(&value), Err(expected), "{}", expected.why());
    }
    assert!(AdcpError::read(&of_size(MAX_BYTES)).is_ok());
    assert!(AdcpError::read(&json!({"code": "X".repeat(64)})).is_ok());
}

#[test]
fn a_list_is_bounded_and_holds_errors_only() {
    let list = json!([{"code": "A", "message": "m"}, 5, {"code": ""}, {"code": "B"}]);
    let codes: Vec<_> =
        AdcpError::read_list(&list).iter().map(|e| e.code.name().to_owned()).collect();
    assert_eq!(codes, ["A", "B"]);
    assert_eq!(AdcpError::read_list(&json!(vec![json!({"code": "A"}); 500])).len(), MAX_LISTED);
    assert!(AdcpError::read_list(&json!({"code": "A"})).is_empty());
}

#[test]
fn fields_are_listed_once() {
    let error =
        AdcpError::read(&json!({"code": "FIELD_NOT_PERMITTED", "field": "packages[0].budget",
        "issues": [{"pointer": "/packages/0/budget"}, {"message": "no pointer"}],
        "details": {"fields": ["end_time", "packages[0].budget", 5, ""]}}));
    assert_eq!(error.unwrap().fields(), ["packages[0].budget", "end_time"]);
}
