use tradepost_document::json::json;

use super::*;

fn payload(card: &str) -> String {
    signing_payload(&tradepost_document::json::from_str(card).unwrap()).unwrap()
}

fn problems(card: &str) -> Vec<String> {
    let problems = signing_payload(&tradepost_document::json::from_str(card).unwrap()).unwrap_err();
    problems.into_iter().map(|problem| problem.pointer).collect()
}

#[test]
fn the_specifications_example_has_the_form_that_it_shows() {
    let card = json!({
        "name": "Example Agent",
        "description": "",
        "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []},
        "skills": [],
    });
    let expected = concat!(
        r#"{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","#,
        r#""name":"Example Agent","skills":[]}"#
    );
    assert_eq!(signing_payload(&card).unwrap(), expected);
}

#[test]
fn a_set_default_differs_from_an_optional_member_left_out() {
    let set = r#"{"name":"A","documentationUrl":"","iconUrl":"",
        "capabilities":{"streaming":false,"extendedAgentCard":false}}"#;
    assert_eq!(
        payload(set),
        r#"{"capabilities":{"extendedAgentCard":false,"streaming":false},"documentationUrl":"","iconUrl":"","name":"A"}"#
    );
    assert_eq!(payload(r#"{"name":"A","capabilities":{}}"#), r#"{"capabilities":{},"name":"A"}"#);
    assert_eq!(
        payload(r#"{"name":"A","iconUrl":null,"capabilities":{"streaming":null}}"#),
        r#"{"capabilities":{},"name":"A"}"#
    );
}

#[test]
fn defaults_are_left_out_at_every_depth_required_members_never() {
    for (member, expected) in [
        (
            r#""supportedInterfaces":[{"url":"","protocolBinding":"","protocolVersion":"","tenant":""}]"#,
            r#""supportedInterfaces":[{"protocolBinding":"","protocolVersion":"","url":""}]"#,
        ),
        (
            r#""provider":{"url":"","organization":""}"#,
            r#""provider":{"organization":"","url":""}"#,
        ),
        (r#""provider":{}"#, r#""provider":{}"#),
        (r#""provider":null"#, ""),
        (r#""securitySchemes":{},"securityRequirements":[]"#, ""),
        (
            r#""capabilities":{"extensions":[{"uri":"","description":"","required":false,"params":{}},
                {"required":true,"params":null}]}"#,
            r#""capabilities":{"extensions":[{"params":{}},{"required":true}]}"#,
        ),
        (
            r#""skills":[{"id":"","name":"","description":"","tags":[],"examples":[],"inputModes":[],
                "outputModes":[""],"securityRequirements":[{"schemes":{"a":{"list":[]}}}, {"schemes":{}}]}]"#,
            r#""skills":[{"description":"","id":"","name":"","outputModes":[""],"securityRequirements":[{"schemes":{"a":{}}},{}],"tags":[]}]"#,
        ),
        (
            r#""securitySchemes":{"k":{"mtlsSecurityScheme":{"description":""}},"o":{"oauth2SecurityScheme":
                {"description":"","flows":{"authorizationCode":{"authorizationUrl":"","tokenUrl":"",
                "refreshUrl":"","scopes":{},"pkceRequired":false},"implicit":{"scopes":{}}}}}}"#,
            r#""securitySchemes":{"k":{"mtlsSecurityScheme":{}},"o":{"oauth2SecurityScheme":{"flows":{"authorizationCode":{"authorizationUrl":"","scopes":{},"tokenUrl":""},"implicit":{}}}}}"#,
        ),
        // A Struct's members have no defaults to leave out.
        (
            r#""capabilities":{"extensions":[{"params":{"a":"","b":false,"c":[],"d":null,"signatures":[]}}]}"#,
            r#""capabilities":{"extensions":[{"params":{"a":"","b":false,"c":[],"d":null,"signatures":[]}}]}"#,
        ),
    ] {
        assert_eq!(payload(&format!("{{{member}}}")), format!("{{{expected}}}"), "{member}");
    }
}

#[test]
fn undeclared_members_and_other_types_are_signed_as_they_came() {
    let card = r#"{"x":"","y":null,"z":[],"name":5,"provider":"","skills":{"a":""},"iconUrl":[]}"#;
    let expected =
        r#"{"iconUrl":[],"name":5,"provider":"","skills":{"a":""},"x":"","y":null,"z":[]}"#;
    assert_eq!(payload(card), expected);
}

#[test]
fn signatures_are_left_out_and_only_those_of_the_card() {
    let card =
        r#"{"name":"A","signatures":[{"protected":"e30","signature":"AA"}],"x":{"signatures":1}}"#;
    assert_eq!(payload(card), r#"{"name":"A","x":{"signatures":1}}"#);
    assert_eq!(payload(r#"{"name":"A","signatures":null}"#), r#"{"name":"A"}"#);
}

#[test]
fn numbers_are_spelled_as_rfc_8785_spells_them() {
    // Each expected text is what ECMAScript's String(Number(text)) gives.
    for (text, expected) in [
        ("1.0", "1"),
        ("-0", "0"),
        ("1E2", "100"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("0.1", "0.1"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("9007199254740991", "9007199254740991"),
        ("9007199254740994", "9007199254740994"),
        ("123456789012345680000", "123456789012345680000"),
    ] {
        assert_eq!(
            payload(&format!("{{\"x\":{text}}}")),
            format!("{{\"x\":{expected}}}"),
            "{text}"
        );
    }
}

#[test]
fn numbers_beyond_a_double_have_no_signing_form() {
    // The sample of RFC 8785, which would be signed without its last digit.
    assert_eq!(problems(r#"{"x":333333333.33333329}"#), ["/x"]);
    let card = r#"{"a":9007199254740993,"b":[1e400,{"c":-1e-400}],"ok":1.5,
        "d":0.1000000000000000055511151231257827,"e":1e999999999999999999999999999999999999999999}"#;
    assert_eq!(problems(card), ["/a", "/b/0", "/b/1/c", "/d", "/e"]);
}

#[test]
fn a_required_member_that_is_null_has_no_signing_form() {
    let card = r#"{"name":null,"capabilities":null,"skills":[{"id":null}],"iconUrl":null}"#;
    assert_eq!(problems(card), ["/name", "/capabilities", "/skills/0/id"]);
    assert_eq!(problems("[]"), [""]);
}

#[test]
fn member_order_and_spelling_do_not_matter() {
    let one = r#"{"name":"\u00e9\/","version":"1","x":[10,{"b":1.50,"a":2}]}"#;
    let other = r#"{ "x" : [1e1, {"a": 2.0, "b": 15e-1}], "version":"\u0031", "name":"é/" }"#;
    assert_eq!(payload(one), payload(other));
    assert_eq!(payload("{\"\u{fb33}\":1,\"\u{1f600}\":2}"), "{\"\u{1f600}\":2,\"\u{fb33}\":1}");
}
