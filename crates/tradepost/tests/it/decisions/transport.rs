//! What HTTP refuses, and what is no JSON-RPC request: rows E-001 to E-014, E-111.

use expect_test::expect;

use crate::support::{client, compare, envelope, lead, start, start_with, two_dealers};

#[test]
fn bytes_that_are_no_json_are_a_parse_error() {
    let server = start();
    let parse_error = expect![[r#"
        200
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not valid JSON"}}
    "#]];
    server.check_body("E-001", r#"{"jsonrpc": "2.0", "id": 1,"#, &parse_error);
    server.check_body(
        "E-001",
        b"\xff\xfe{}",
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is not valid UTF-8"}}
    "#]],
    );
    server.check_body("E-002", "", &expect![[r#"
        200
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body is empty; send a JSON-RPC request"}}
    "#]]);
    server.check_body("E-003", "[".repeat(65), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the body nests deeper than 64 levels"}}
    "#]]);
}

#[test]
fn transport_limits_have_their_http_status() {
    let server = start();
    let json = ("Content-Type", "application/json");
    let large = vec![b' '; 256 * 1024 + 1];
    compare(
        "E-004",
        &server.post_with(&[json], large),
        &expect![[r#"
            413
            {"jsonrpc":"2.0","id":null,
              "error":{"code":-32600,"message":"the body is larger than the 262144 bytes that this agent accepts",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org","metadata":{"maxBytes":"262144"}}]}}
        "#]],
    );
    let text = server.post_with(&[("Content-Type", "text/plain")], "{}");
    compare(
        "E-005",
        &text,
        &expect![[r#"
        415
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Content-Type must be application/json"}}
    "#]],
    );
    compare(
        "E-005",
        &server.post_with(&[], "{}"),
        &expect![[r#"
        415
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the Content-Type must be application/json"}}
    "#]],
    );
    for accepted in ["application/json; charset=utf-8", "application/a2a+json", "APPLICATION/JSON"]
    {
        let response = server.post_with(&[("Content-Type", accepted)], "[]");
        assert_eq!(response.status, 200, "E-005 {accepted}");
    }
    let ask = |method| client::request(server.address, method, "/a2a", &[], b"");
    for method in ["GET", "PUT", "DELETE"] {
        let response = ask(method);
        assert_eq!((response.status, response.header("allow")), (405, Some("POST")), "E-006");
    }
    compare(
        "E-006",
        &ask("GET"),
        &expect![[r#"
        405
        {"error":{"code":405,"status":"UNIMPLEMENTED","message":"send JSON-RPC requests with POST"}}
    "#]],
    );
    let response = client::request(server.address, "POST", "/a2a/", &[json], b"[]");
    assert_eq!(response.status, 200, "both spellings of the path are served");
}

#[test]
fn json_that_is_no_request_is_invalid() {
    let server = start();
    server.check_body("E-007", "[]", &expect![[r#"
        200
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send one JSON-RPC request object"}}
    "#]]);
    server.check_body(
        "E-007",
        r#"[{"jsonrpc":"2.0","id":1,"method":"SendMessage"}]"#,
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send one JSON-RPC request object"}}
        "#]],
    );
    server.check_body("E-008", "42", &expect![[r#"
        200
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the body must be a JSON-RPC request object"}}
    "#]]);
    server.check_body(
        "E-009",
        r#"{"id":"a","method":"SendMessage"}"#,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}
    "#]],
    );
    server.check_body(
        "E-009",
        r#"{"jsonrpc":2.0,"id":7,"method":"SendMessage"}"#,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\""}}
    "#]],
    );
    server.check_body("E-010", r#"{"jsonrpc":"2.0","method":"SendMessage"}"#, &expect![[r#"
        200
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id is missing; notifications are not supported and not processed"}}
    "#]]);
    server.check_body(
        "E-011",
        r#"{"jsonrpc":"2.0","id":{},"method":"SendMessage"}"#,
        &expect![[r#"
            200
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"id must be a string, a number or null"}}
        "#]],
    );
    server.check_body(
        "E-013",
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"method must be a string"}}
    "#]],
    );
}

#[test]
fn ids_come_back_as_they_were_written() {
    let server = start();
    for id in ["1", "1.0", "\"req-3\"", "null", "18446744073709551616", "-0", "\"\\u00e9\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"foo"}}"#);
        let response = server.post(body);
        let answer = String::from_utf8(response.body).unwrap();
        assert!(answer.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)), "E-012 {answer}");
        let row = "E-012";
        assert_eq!(response.status, 200, "{row}");
    }
}

#[test]
fn members_that_are_there_twice_are_refused_with_their_place() {
    let server = start();
    let body = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x","method":"GetTask"}"#;
    server.check_body("E-014", body, &expect![[r#"
        200
        {"jsonrpc":"2.0","id":null,
          "error":{"code":-32600,"message":"the body has members twice; send each once: id",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[
                  {"field":"id","description":"is there twice; readers differ in which they take"},
                  {"field":"method","description":"is there twice; readers differ in which they take"}]}]}}
    "#]]);
    let lead = envelope(&lead()).to_string();
    let twice = lead.replacen(r#""email":"#, r#""email":"mallory@example.com","\u0065mail":"#, 1);
    server.check_body("E-014", twice, &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32600,"message":"the body has members twice; send each once: message.parts[0].data.customer.email",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[{"field":"message.parts[0].data.customer.email","description":"is there twice; readers differ in which they take"}]}]}}
    "#]]);
    assert!(server.store.leads(None).unwrap().is_empty());
}

#[test]
fn an_unknown_host_looks_like_an_unknown_path() {
    let server = start_with(|config| {
        two_dealers(config);
        config.dealers[1].terms.name = "Second".to_owned();
    });
    let ask = |host: &str, path: &str| {
        client::request(server.address, "GET", path, &[("Host", host)], b"")
    };
    let card = "/.well-known/agent-card.json";
    assert_eq!(ask("one.example", card).json()["name"], "Demo Auto Group");
    assert_eq!(ask("TWO.example.:443", card).json()["name"], "Second");
    let unknown = ask("three.example", card);
    compare(
        "E-111",
        &unknown,
        &expect![[r#"
        404
        {"error":{"code":404,"status":"NOT_FOUND","message":"nothing is here"}}
    "#]],
    );
    assert_eq!(unknown.body, ask("one.example", "/nothing").body);
    let json = ("Content-Type", "application/json");
    let post = client::request(server.address, "POST", "/a2a", &[("Host", "x"), json], b"{}");
    assert_eq!(unknown.body, post.body);
}
