use tradepost_document::json::json;

use super::*;

fn refused(error: Value) -> SellerRefusal {
    read(&error, Some(Duration::from_secs(7)), KeptResponse::default()).unwrap()
}

#[test]
fn the_aap_object_wins_and_its_word_on_retrying_counts() {
    let refused = refused(json!({"code": -32002, "message": "RATE_LIMITED: slow down", "data": {
        "type": "aap.error", "code": "RATE_LIMITED", "message": "slow down", "error_id": "e1",
        "retryable": false, "details": {"retry_after_ms": 1500.2}}}));
    assert_eq!(refused.to_string(), "RATE_LIMITED: slow down");
    assert_eq!(refused.retry_after, Some(Duration::from_secs(7)), "the header asks for more");
    assert_eq!(stated_by(&refused.by), Some(Duration::from_millis(1501)));
    assert!(!refused.is_retryable());
}

#[test]
fn codes_of_the_future_are_kept() {
    let refused = refused(json!({"code": -32000, "message": "x", "data": {
        "type": "aap.error", "code": "FINANCE_\u{1b}DECLINED", "message": "\u{202e}no"}}));
    assert_eq!(refused.to_string(), "FINANCE_DECLINED: no");
    let RefusalForm::Aap { error, .. } = &refused.by else { panic!("{refused:?}") };
    assert_eq!(error.code, WireName::Other("FINANCE_\u{1b}DECLINED".into()));
}

#[test]
fn the_details_of_a_protocol_error_are_read() {
    let refused = refused(json!({"code": -32602, "message": "Invalid parameters", "data": [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "INVALID_PARAMS",
         "domain": "a2a-protocol.org", "metadata": {"a": "b", "n": 1}},
        {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [
            {"field": "message.parts", "description": "must not be empty"}, 5]}]}));
    let RefusalForm::Protocol(error) = &refused.by else { panic!("{refused:?}") };
    assert_eq!(error.code, WireName::Known(A2aCode::InvalidParams));
    assert_eq!(error.metadata, [("a".to_owned(), "b".to_owned())]);
    assert_eq!(error.violations[0].field, "message.parts");
    assert_eq!(refused.retry_after, Some(Duration::from_secs(7)));
}

#[test]
fn a_wait_and_a_challenge_of_the_error_are_read() {
    let refused = refused(json!({"code": -32000, "message": "who are you?", "data": [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "UNAUTHENTICATED",
         "domain": "a2a-protocol.org", "metadata": {"challenge": "Bearer realm=\"larkspur\""}},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.500s"}]}));
    assert_eq!(refused.retry_after, Some(Duration::from_secs(7)), "the header asks for more");
    let RefusalForm::Protocol(error) = &refused.by else { panic!("{refused:?}") };
    assert_eq!(error.code, WireName::Known(A2aCode::Unauthenticated));
    assert_eq!(error.challenge(), Some("Bearer realm=\"larkspur\""));
}

#[test]
fn the_longest_of_all_waits_counts() {
    let header = Some(Duration::from_secs(7));
    for (details, header, expected) in [
        (json!({"retry_after_ms": 2_000}), None, Some(2_000)),
        (json!({"retry_after_ms": 2_000}), header, Some(7_000)),
        (json!({"retry_after_ms": 9_000}), header, Some(9_000)),
        (json!({"retry_after_ms": 2_000, "retry_after_seconds": 3}), None, Some(3_000)),
        (json!({}), header, Some(7_000)),
        (json!({}), None, None),
    ] {
        let data = json!({"type": "aap.error", "code": "RATE_LIMITED", "message": "m",
            "details": details});
        let error = json!({"code": -32002, "message": "m", "data": data});
        let refused = read(&error, header, KeptResponse::default()).unwrap();
        assert_eq!(refused.retry_after, expected.map(Duration::from_millis), "{details}");
    }
    let error = |seconds: u32| json!({"code": "RATE_LIMITED", "retry_after": seconds});
    for (envelope, listed, header, expected) in
        [(2, 30, None, 30), (30, 2, None, 30), (2, 3, header, 7)]
    {
        let data = json!({"adcp_error": error(envelope), "errors": [error(listed)]});
        let error = json!({"code": -32029, "message": "m", "data": data});
        let refused = read(&error, header, KeptResponse::default()).unwrap();
        assert_eq!(refused.retry_after, Some(Duration::from_secs(expected)));
    }
}

#[test]
fn a_sellers_fault_leaves_doubt_whatever_its_reason() {
    for reason in ["INTERNAL_ERROR", "UNAVAILABLE"] {
        let refused = refused(json!({"code": -32603, "message": "x", "data": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason,
             "domain": "a2a-protocol.org"}]}));
        assert!(refused.is_retryable(), "{reason}");
        assert!(crate::failure::CallFailure::Refused(Box::new(refused)).in_doubt(), "{reason}");
    }
}

#[test]
fn numbers_and_names_find_their_row_whichever_is_known() {
    let code = |error: Value| match refused(error).by {
        RefusalForm::Aap { error, .. } => format!("aap {}", error.code),
        RefusalForm::Protocol(error) => format!("a2a {}", error.code),
        by @ (RefusalForm::Adcp(_)
        | RefusalForm::Grpc { .. }
        | RefusalForm::Http(_)
        | RefusalForm::Words { .. }) => panic!("{by:?}"),
    };
    let info = |reason: &str| json!([{"@type": "google.rpc.ErrorInfo", "reason": reason, "domain": DOMAIN}]);
    for (error, expected) in [
        (json!({"code": -32601}), "a2a METHOD_NOT_FOUND"),
        (json!({"code": -32002, "message": "x"}), "a2a TASK_NOT_CANCELABLE"),
        (json!({"code": -32099, "data": info("TASK_NOT_FOUND")}), "a2a TASK_NOT_FOUND"),
        (json!({"code": -32099, "data": info("NEW")}), "a2a NEW"),
        (json!({"code": -32099.0, "data": {"x": 1}}), "a2a -32099"),
        (json!({"code": -32002, "message": "RATE_LIMITED: x"}), "aap RATE_LIMITED"),
        (json!({"code": -32000, "message": "Oops: x"}), "a2a -32000"),
        (json!({"code": -32000, "data": info("PERMISSION_DENIED")}), "a2a PERMISSION_DENIED"),
        (json!({"code": -32603}), "a2a INTERNAL_ERROR"),
        (json!({"code": -32603, "data": info("INTERNAL_ERROR")}), "a2a INTERNAL_ERROR"),
        (json!({"code": -32603, "data": info("UNAVAILABLE")}), "a2a UNAVAILABLE"),
        (json!({"code": -32002, "data": info("UNAVAILABLE")}), "a2a TASK_NOT_CANCELABLE"),
        (
            json!({"code": -32000, "data": [{"type": "aap.error", "code": "INVALID_CONSENT"}]}),
            "aap INVALID_CONSENT",
        ),
    ] {
        assert_eq!(code(error), expected);
    }
    for no_error in [json!(null), json!("x"), json!({"code": "x"}), json!({"code": 1.5})] {
        assert!(read(&no_error, None, KeptResponse::default()).is_none());
    }
}

#[test]
fn delays_are_read_in_both_forms_and_clamped() {
    let date = Some("Wed, 21 Oct 2026 07:28:00 GMT");
    for (header, date, expected) in [
        ("120", None, Some(120)),
        ("99999999999999999999999", None, Some(86_400)),
        ("Wed, 21 Oct 2026 07:28:30 GMT", date, Some(30)),
        ("Wed, 21 Oct 2026 07:27:30 GMT", date, Some(0)),
        // The two obsolete forms of dates, which a recipient has to accept (RFC 9110 §5.6.7).
        ("Wednesday, 21-Oct-26 07:28:30 GMT", date, Some(30)),
        ("Wed Oct 21 07:28:30 2026", date, Some(30)),
        ("Sun Nov  1 07:28:00 2026", Some("Sunday, 01-Nov-26 07:27:00 GMT"), Some(60)),
        ("Wed, 21 Oct 2026 07:28:30 +0000", date, None),
        ("Wed, 21 Oct 2026 07:28:30 GMT", None, None),
        ("-5", None, None),
        ("soon", date, None),
        ("", date, None),
    ] {
        let expected = expected.map(Duration::from_secs);
        let delay = header_delay(|name| match name {
            "retry-after" => Some(header.to_owned()),
            "date" => date.map(ToOwned::to_owned),
            _ => None,
        });
        assert_eq!(delay, expected, "{header}");
    }
    for (details, expected) in [
        (json!({"retry_after_seconds": 2}), Some(2_000)),
        (json!({"retry_after_ms": 1e300}), Some(86_400_000)),
        (json!({"retry_after_ms": -1}), None),
        (json!({"retry_after_ms": "5"}), None),
    ] {
        assert_eq!(stated_delay(&details), expected.map(Duration::from_millis), "{details}");
    }
}
