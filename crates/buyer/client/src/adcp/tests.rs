use tradepost_adcp::AdcpTaskStatus;
use tradepost_document::json::json;

use super::*;
use crate::card::SellerCard;
use crate::failure::Defect;
use crate::fake::{CannedReply, Fake, MAX_BODY, transport};
use crate::recovery::{AskReason, FailedAttempt, RecoveryAdvice, RetryBudget, advise};

mod recovery;

fn ids() -> fastrand::Rng {
    fastrand::Rng::with_seed(1)
}

/// Creates a client that asks a server for its versions first.
fn asking_first(fake: &Fake) -> AdcpClient {
    AdcpClient::mcp(transport(), &format!("{}/mcp", fake.url), ids()).unwrap()
}

fn strict(fake: &Fake) -> AdcpClient {
    asking_first(fake).at_once()
}

/// Creates a client that sends the arguments of these tests unchecked.
fn mcp(fake: &Fake) -> AdcpClient {
    strict(fake).unchecked()
}

fn a2a(fake: &Fake) -> AdcpClient {
    a2a_of(
        fake,
        &json!({"name": "A", "supportedInterfaces": [{"url": format!("{}/a2a", fake.url),
        "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "t"}],
        "capabilities": {"extensions": [{"uri": EXTENSION}]}}),
    )
}

fn a2a_of(fake: &Fake, card: &Value) -> AdcpClient {
    let card = SellerCard::read(&card.to_string()).unwrap();
    assert!(declares_adcp(&card));
    let discovered =
        Discovered { url: Url::parse(&fake.url).unwrap(), etag: None, card, is_signed: false };
    AdcpClient::a2a(transport(), &discovered, ids()).unwrap().unchecked()
}

fn arguments(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

fn rpc(result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": "{id}", "result": result}).to_string()
}

fn json_reply(result: &Value) -> CannedReply {
    CannedReply::http(200, &[("content-type", "application/json")], rpc(result))
}

fn tool(payload: &Value) -> Value {
    json!({"content": [{"type": "text", "text": "done"}], "structuredContent": payload})
}

fn task(state: &str, more: &Value) -> Value {
    let mut task = json!({"id": "t1", "contextId": "c1", "status": {"state": state}});
    task.as_object_mut().unwrap().extend(arguments(more.clone()));
    json!({"task": task})
}

fn failed(code: &str) -> Value {
    json!({"status": "failed", "adcp_error": {"code": code, "message": "m"}})
}

/// Returns the head and the body of each request.
fn sent(fake: &Fake) -> Vec<(String, Value)> {
    let split = |request: String| {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), tradepost_document::json::from_str(body).unwrap())
    };
    fake.requests().into_iter().map(split).collect()
}

fn code(failure: &CallFailure) -> String {
    failure.adcp().unwrap_or_else(|| panic!("{failure:?}")).code.to_string()
}

#[test]
fn over_mcp_a_server_without_sessions_is_asked_at_once() {
    let fake = Fake::start(vec![json_reply(&tool(&json!({"products": [], "x-own": 1})))]);
    let client = mcp(&fake).with_token("t0ken").unwrap();
    let call = client.call("get_products", arguments(json!({"buying_mode": "brief"})));
    let answered = fake.run(call).unwrap();
    assert_eq!(answered.payload, json!({"products": [], "x-own": 1}));
    assert!(answered.is_complete());
    let sent = sent(&fake);
    let (head, body) = &sent[0];
    for line in [
        "POST /mcp HTTP/1.1",
        "accept: application/json, text/event-stream",
        "authorization: Bearer t0ken",
        "mcp-protocol-version: 2026-07-28",
        "mcp-method: tools/call",
        "mcp-name: get_products",
    ] {
        assert!(head.lines().any(|found| found == line), "{line} is not in:\n{head}");
    }
    assert_eq!(body["method"], "tools/call");
    let version = env!("CARGO_PKG_VERSION");
    let params = json!({"name": "get_products", "arguments": {"buying_mode": "brief"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tradepost", "version": version},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    assert_eq!(body["params"], params);
    assert!(!format!("{client:?}").contains("t0ken"));
}

#[test]
fn over_mcp_an_answer_is_taken_before_its_stream_ends() {
    let stream = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n\
         data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}}\n\n\
         event: message\ndata: {}\n\n",
        rpc(&tool(&json!({"status": "submitted", "task_id": "a1"})))
    );
    let fake = Fake::start(vec![CannedReply::Stall(stream.into_bytes())]);
    let answered = fake.run(mcp(&fake).call("create_media_buy", Map::new())).unwrap();
    assert_eq!((answered.is_complete(), answered.task_id()), (false, Some("a1")));
    assert_eq!(answered.outcome.standing, Some(WireName::Known(AdcpTaskStatus::Submitted)));
    let cut = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {}\n\n";
    let fake = Fake::start(vec![CannedReply::Bytes(cut.into())]);
    match fake.run(mcp(&fake).call("get_products", Map::new())) {
        Err(CallFailure::Garbled(garbled)) => {
            let why = "no event is the answer to the request";
            assert_eq!(garbled.defect, Defect::NotJsonRpc(why));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn over_mcp_a_forgotten_session_is_opened_again() {
    let greeting = |session| {
        let result = json!({"protocolVersion": "2025-03-26", "capabilities": {}});
        let headers = [("content-type", "application/json"), ("mcp-session-id", session)];
        CannedReply::http(200, &headers, rpc(&result))
    };
    let done = || json_reply(&tool(&json!({"media_buy_id": "m"})));
    let refused = |status| CannedReply::http(status, &[], "Bad Request: Missing session ID");
    let accepted = || CannedReply::http(202, &[], "");
    let fake = Fake::start(vec![
        refused(400),
        greeting("s1"),
        accepted(),
        done(),
        done(),
        refused(404),
        greeting("s2"),
        accepted(),
        done(),
    ]);
    fake.run(async {
        let client = mcp(&fake);
        for _ in 0..3 {
            let answered = client.call("create_media_buy", Map::new()).await.unwrap();
            assert_eq!(answered.payload["media_buy_id"], "m");
        }
    });
    let sent = sent(&fake);
    let header = |head: &str, name: &str| {
        let value = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        value.map(str::to_owned).unwrap_or_default()
    };
    let lines: Vec<_> = sent
        .iter()
        .map(|(head, body)| {
            let session = header(head, "mcp-session-id");
            let version = header(head, "mcp-protocol-version");
            format!("{} {session} {version}", body["method"].as_str().unwrap())
        })
        .collect();
    expect_test::expect![[r#"
        tools/call  2026-07-28
        initialize  
        notifications/initialized s1 2025-03-26
        tools/call s1 2025-03-26
        tools/call s1 2025-03-26
        tools/call s1 2025-03-26
        initialize  
        notifications/initialized s2 2025-03-26
        tools/call s2 2025-03-26
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
    // The same request with the same key before and after the handshake; another key for another call.
    let key = |index: usize| sent[index].1["params"]["arguments"]["idempotency_key"].clone();
    assert_eq!((key(0), key(5)), (key(3), key(8)));
    assert!(key(0).as_str().is_some_and(|key| key.len() == 36));
    assert_ne!(key(3), key(4));
}

#[test]
fn a_client_with_another_token_has_its_own_session() {
    let greeting = |session| {
        let result = json!({"protocolVersion": "2025-03-26", "capabilities": {}});
        let headers = [("content-type", "application/json"), ("mcp-session-id", session)];
        CannedReply::http(200, &headers, rpc(&result))
    };
    let opened = |session| {
        let refused = CannedReply::http(400, &[], "Bad Request: Missing session ID");
        [refused, greeting(session), CannedReply::http(202, &[], "")]
    };
    let done = || json_reply(&tool(&json!({"media_buy_id": "m"})));
    let mut replies: Vec<_> = opened("s1").into_iter().chain([done()]).collect();
    replies.extend(opened("s2").into_iter().chain([done(), done()]));
    let fake = Fake::start(replies);
    fake.run(async {
        let first = mcp(&fake).with_token("first-token").unwrap();
        first.call("create_media_buy", Map::new()).await.unwrap();
        let second = first.clone().with_token("second-token").unwrap();
        second.call("create_media_buy", Map::new()).await.unwrap();
        first.call("create_media_buy", Map::new()).await.unwrap();
    });
    let line = |(head, body): (String, Value)| {
        let header = |name: &str| {
            let value = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
            value.unwrap_or("none").to_owned()
        };
        let method = body["method"].as_str().unwrap();
        format!("{method} {} {}", header("authorization"), header("mcp-session-id"))
    };
    let lines: Vec<_> = sent(&fake).into_iter().map(line).collect();
    expect_test::expect![[r#"
        tools/call Bearer first-token none
        initialize Bearer first-token none
        notifications/initialized Bearer first-token s1
        tools/call Bearer first-token s1
        tools/call Bearer second-token none
        initialize Bearer second-token none
        notifications/initialized Bearer second-token s2
        tools/call Bearer second-token s2
        tools/call Bearer first-token s1
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn over_mcp_a_sellers_own_error_asks_for_no_handshake() {
    let error = json!({"code": -32029, "message": "m", "data": failed("RATE_LIMITED")});
    let pre = json!({"jsonrpc": "2.0", "id": "{id}", "error": error}).to_string();
    let tool = json!({"isError": true, "structuredContent": failed("RATE_LIMITED")});
    for reply in [CannedReply::http(400, &[], pre), json_reply(&tool)] {
        let fake = Fake::start(vec![reply]);
        let failure = fake.run(mcp(&fake).call("get_products", Map::new())).unwrap_err();
        assert_eq!((code(&failure).as_str(), fake.requests().len()), ("RATE_LIMITED", 1));
    }
    let old = json!({"protocolVersion": "1999-01-01"});
    let fake = Fake::start(vec![CannedReply::http(400, &[], ""), json_reply(&old)]);
    let failure = fake.run(mcp(&fake).call("get_products", Map::new())).unwrap_err();
    let why = "the answer is not AdCP: the server speaks no version of MCP that we know";
    assert_eq!(failure.to_string(), why);
}

/// Returns the method and the version of each request, and its session if it has one.
fn methods(fake: &Fake) -> Vec<String> {
    let line = |(head, body): (String, Value)| {
        let version = head.lines().find_map(|line| line.strip_prefix("mcp-protocol-version: "));
        format!("{} {}", body["method"].as_str().unwrap(), version.unwrap_or("none"))
    };
    sent(fake).into_iter().map(line).collect()
}

fn refusal(status: u16, code: i32, data: Value) -> CannedReply {
    let error = json!({"code": code, "message": "m", "data": data});
    let body = json!({"jsonrpc": "2.0", "id": "{id}", "error": error}).to_string();
    CannedReply::http(status, &[("content-type", "application/json")], body)
}

#[test]
fn over_mcp_a_server_that_names_older_versions_is_greeted() {
    let greeting = json_reply(&json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    let fake = Fake::start(vec![
        refusal(400, -32022, json!({"supported": ["2025-06-18", "2025-11-25"]})),
        greeting,
        CannedReply::http(202, &[], ""),
        json_reply(&tool(&json!({"products": []}))),
        json_reply(&tool(&json!({"products": []}))),
    ]);
    let client = mcp(&fake);
    for _ in 0..2 {
        fake.run(client.call("get_products", Map::new())).unwrap();
    }
    assert_eq!(
        methods(&fake),
        [
            "tools/call 2026-07-28",
            "initialize none",
            "notifications/initialized 2025-11-25",
            "tools/call 2025-11-25",
            "tools/call 2025-11-25",
        ]
    );
}

#[test]
fn over_mcp_servers_without_a_handshake_have_the_last_word() {
    let unknown = || refusal(400, -32602, json!(null));
    // The first request of a client that has not asked for the server's versions.
    let fake =
        Fake::start(vec![unknown(), refusal(400, -32022, json!({"supported": ["2026-07-28"]}))]);
    let failure = fake.run(mcp(&fake).call("get_products", Map::new())).unwrap_err();
    assert!(matches!(failure, CallFailure::Refused(_)), "{failure:?}");
    assert_eq!(methods(&fake), ["tools/call 2026-07-28", "initialize none"]);
    // A server that has answered before.
    let fake = Fake::start(vec![json_reply(&tool(&json!({"products": []}))), unknown()]);
    let client = mcp(&fake);
    fake.run(client.call("get_products", Map::new())).unwrap();
    fake.run(client.call("get_products", Map::new())).unwrap_err();
    assert_eq!(methods(&fake), ["tools/call 2026-07-28"; 2]);
    // A server with a version that is not known here.
    let fake = Fake::start(vec![refusal(400, -32022, json!({"supported": ["2099-01-01"]}))]);
    let failure = fake.run(mcp(&fake).call("create_media_buy", Map::new())).unwrap_err();
    assert!(!failure.in_doubt(), "{failure:?}");
    assert_eq!(methods(&fake), ["tools/call 2026-07-28"]);
}

#[test]
fn over_mcp_a_server_is_first_asked_for_its_versions() {
    let greeting = || json_reply(&json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    let noted = || CannedReply::http(202, &[], "");
    let done = || json_reply(&tool(&json!({"products": []})));
    let older = [
        "server/discover 2026-07-28",
        "initialize none",
        "notifications/initialized 2025-11-25",
        "tools/call 2025-11-25",
        "tools/call 2025-11-25",
    ];
    let versions = json!({"supportedVersions": ["2025-11-25", "2026-07-28"]});
    let fake = Fake::start(vec![json_reply(&versions), done(), done()]);
    let client = asking_first(&fake).unchecked();
    for _ in 0..2 {
        fake.run(client.call("get_products", Map::new())).unwrap();
    }
    let expected = ["server/discover 2026-07-28", "tools/call 2026-07-28", "tools/call 2026-07-28"];
    assert_eq!(methods(&fake), expected);
    // Whatever an older server answers to the question, the handshake follows.
    for said in [
        json_reply(&json!({})),
        json_reply(&json!({"supportedVersions": ["2025-11-25"]})),
        CannedReply::http(400, &[], "Bad Request: Unsupported protocol version"),
        CannedReply::http(404, &[], "Invalid session ID"),
        refusal(200, -32601, json!(null)),
        refusal(200, -32602, json!(null)),
        refusal(500, -32603, json!(null)),
        refusal(400, -32022, json!({"supported": ["2025-11-25"]})),
    ] {
        let fake = Fake::start(vec![said, greeting(), noted(), done(), done()]);
        let client = asking_first(&fake).unchecked();
        for _ in 0..2 {
            fake.run(client.call("get_products", Map::new())).unwrap();
        }
        assert_eq!(methods(&fake), older);
    }
    // Nothing is sent to a server that refuses the caller, or that has no version known here.
    for said in [
        CannedReply::http(401, &[], ""),
        CannedReply::http(429, &[], ""),
        CannedReply::http(503, &[], ""),
        refusal(400, -32022, json!({"supported": ["2099-01-01"]})),
        CannedReply::Bytes(Vec::new()),
    ] {
        let fake = Fake::start(vec![said]);
        let call = asking_first(&fake).unchecked();
        let failure = fake.run(call.call("create_media_buy", Map::new())).unwrap_err();
        let is_known = matches!(failure, CallFailure::Unsent(_) | CallFailure::Refused(_));
        assert!(is_known, "{failure:?}");
        assert!(!failure.in_doubt(), "nothing was bought: {failure:?}");
        assert_eq!(methods(&fake), ["server/discover 2026-07-28"], "{failure:?}");
    }
}

#[test]
fn over_mcp_arguments_go_into_headers_that_tools_want() {
    let schema = json!({"type": "object", "properties": {
        "brief": {"type": "string", "x-mcp-header": "Brief"}}});
    let tools = json!({"tools": [{"name": "get_products", "inputSchema": schema}], "resultType": "complete"});
    let fake = Fake::start(vec![
        refusal(400, -32020, json!(null)),
        json_reply(&tools),
        json_reply(&tool(&json!({"products": []}))),
    ]);
    let call = mcp(&fake);
    let call = call.call("get_products", arguments(json!({"brief": "K\u{f6}ln"})));
    fake.run(call).unwrap();
    let sent = sent(&fake);
    let methods: Vec<_> = sent.iter().map(|(_, body)| body["method"].as_str().unwrap()).collect();
    assert_eq!(methods, ["tools/call", "tools/list", "tools/call"]);
    assert!(!sent[0].0.contains("mcp-param-"), "{}", sent[0].0);
    assert!(sent[2].0.contains("mcp-param-brief: =?base64?S8O2bG4=?=\r\n"), "{}", sent[2].0);
}

#[test]
fn over_mcp_a_question_to_the_person_is_no_result() {
    let asks = json!({"resultType": "input_required", "inputRequests": {}});
    let fake = Fake::start(vec![json_reply(&asks)]);
    let failure = fake.run(mcp(&fake).call("get_products", Map::new())).unwrap_err();
    assert!(failure.to_string().contains("wants to ask the person"), "{failure}");
}

#[test]
fn a_token_goes_nowhere_but_to_its_origin() {
    let fake = Fake::start(vec![]);
    let elsewhere = json!({"name": "A", "supportedInterfaces": [{"url": "http://127.0.0.2:1/a2a",
        "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"extensions": [{"uri": EXTENSION}]}});
    let client = || a2a_of(&fake, &elsewhere);
    let refused = client().with_token("s3cret").unwrap_err();
    let expected = format!(
        "not sent: the token is for {}, and the request would go to http://127.0.0.2:1",
        fake.url
    );
    assert_eq!(refused.to_string(), expected);
    let token = BearerToken::new("s3cret").only_for(["http://127.0.0.2:1".parse().unwrap()]);
    assert!(client().with_token(&token).is_ok());
    assert!(mcp(&fake).with_token(token).is_err());
    assert!(a2a(&fake).with_token("s3cret").is_ok());
}

#[test]
fn a_redirect_takes_no_token_along() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Fake::start(vec![json_reply(&tool(&json!({})))]);
        let location = format!("{}/mcp", elsewhere.url);
        let redirect = || CannedReply::http(status, &[("location", location.as_str())], "");
        for is_mcp in [true, false] {
            let fake = Fake::start(vec![redirect()]);
            let client = if is_mcp { mcp(&fake) } else { a2a(&fake) };
            let client = client.with_token("s3cret").unwrap();
            let failure = fake.run(client.call("get_products", Map::new())).unwrap_err();
            let CallFailure::Garbled(garbled) = &failure else { panic!("{failure:?}") };
            assert!(matches!(garbled.defect, Defect::Redirect { .. }), "{failure:?}");
        }
        assert_eq!(elsewhere.requests(), Vec::<String>::new());
    }
}

#[test]
fn over_a2a_a_task_is_one_data_part() {
    let artifacts = json!({"artifacts": [{"parts": [{"data": {"old": 1}}, {"text": "x"},
        {"data": {"status": "completed", "products": []}}]}, {"parts": [{"data": {"more": 1}}]}]});
    let fake = Fake::start(vec![json_reply(&task("TASK_STATE_COMPLETED", &artifacts))]);
    let client = a2a(&fake);
    let call = client.call("get_products", arguments(json!({"buying_mode": "brief"})));
    let answered = fake.run(call).unwrap();
    assert_eq!(answered.payload, json!({"status": "completed", "products": []}));
    let names = (answered.context_id.as_deref(), answered.a2a_task_id.as_deref());
    assert_eq!(names, (Some("c1"), Some("t1")));
    let mut sent = sent(&fake);
    let (head, mut body) = sent.remove(0);
    assert!(head.contains("a2a-version: 1.0\r\n"), "{head}");
    assert!(head.contains(&format!("a2a-extensions: {EXTENSION}\r\n")), "{head}");
    body["id"].take();
    body["params"]["message"]["messageId"].take();
    let expected = json!({
        "jsonrpc": "2.0", "id": null, "method": "SendMessage", "params": {
            "tenant": "t",
            "message": {"messageId": null, "role": "ROLE_USER", "parts": [
                {"data": {"skill": "get_products", "input": {"buying_mode": "brief"}}}]},
            "configuration": {"acceptedOutputModes": ["application/json"]},
        }
    });
    assert_eq!(body, expected);
}

#[test]
fn over_a2a_every_standing_of_a_task_is_told_apart() {
    let part = |data: Value| json!({"parts": [{"data": data}]});
    let said = |state: &str, data: Value| json!({"task": {"id": "t1", "status": {"state": state, "message": part(data)}}});
    let ask = |result: &Value| {
        let fake = Fake::start(vec![json_reply(result)]);
        fake.run(a2a(&fake).call("get_products", Map::new()))
    };
    let standing = |result: &Value| ask(result).unwrap().outcome.standing;
    assert_eq!(standing(&json!({"message": part(json!({"products": []}))})), None);
    let working = Some(WireName::Known(AdcpTaskStatus::Working));
    assert_eq!(standing(&task("TASK_STATE_WORKING", &json!({}))), working);
    let input = said("TASK_STATE_INPUT_REQUIRED", json!({"question": "?"}));
    assert_eq!(standing(&input), Some(WireName::Known(AdcpTaskStatus::InputRequired)));
    assert_eq!(ask(&input).unwrap().payload, json!({"question": "?"}));
    let own = said("TASK_STATE_COMPLETED", json!({"status": "submitted", "task_id": "a1"}));
    assert_eq!(standing(&own), Some(WireName::Known(AdcpTaskStatus::Submitted)));
    let artifacts = json!({"artifacts": [part(failed("PRODUCT_NOT_FOUND"))]});
    let failure = ask(&task("TASK_STATE_FAILED", &artifacts)).unwrap_err();
    assert_eq!(code(&failure), "PRODUCT_NOT_FOUND");
    for (result, expected) in [
        (task("TASK_STATE_COMPLETED", &json!({})), "the task has no data part with an object"),
        (json!({"message": {"parts": [{"text": "hi"}]}}), "the message has no data part"),
        (json!({}), "the result has neither a task nor a message"),
        (json!([]), "the result has neither a task nor a message"),
    ] {
        let failure = ask(&result).unwrap_err();
        assert_eq!(failure.to_string(), format!("the answer is not AdCP: {expected}"));
    }
}

#[test]
fn a_9_a_credential_among_the_arguments_never_leaves() {
    let fake = Fake::start(vec![]);
    for client in [mcp(&fake), a2a(&fake)] {
        let call = client.call("get_products", arguments(json!({"ext": {"api_key": "s3cret"}})));
        let failure = fake.run(call).unwrap_err();
        assert_eq!(failure.to_string(), "not sent: a credential stands at /ext/api_key");
        let budget = RetryBudget { attempts: 3, time: std::time::Duration::MAX, tokens: 3 };
        let advice = advise(&FailedAttempt::default(), &failure, &budget);
        let places = vec!["/ext/api_key".to_owned()];
        assert_eq!(advice, RecoveryAdvice::Ask(AskReason::CredentialInArguments(places)));
    }
    // The client's own token is recognised by its value, wherever it stands.
    let client = mcp(&fake).with_token("t0ken-of-acme").unwrap();
    let call = client.call("get_products", arguments(json!({"brief": "I am t0ken-of-acme"})));
    let failure = fake.run(call).unwrap_err();
    assert_eq!(failure.to_string(), "not sent: a credential stands at /brief");
    let public = AdcpClient::mcp(transport(), "http://seller.example/mcp", ids()).unwrap();
    assert!(matches!(public.with_token("t"), Err(CallFailure::Unsent(Unsent::Address(_)))));
    for address in ["", "seller.example/mcp", "ftp://a.example", "https://u:s3cret@a.example/"] {
        let failure = AdcpClient::mcp(transport(), address, ids()).unwrap_err();
        assert!(!failure.to_string().contains("s3cret"), "{failure}");
    }
}

#[test]
fn hostile_answers_are_bounded_and_not_followed() {
    let large = vec![b'x'; MAX_BODY + 1];
    let events = [("content-type", "text/event-stream")];
    for (reply, expected) in [
        (
            CannedReply::http(307, &[("location", "http://169.254.169.254/")], ""),
            "the answer is a redirect",
        ),
        (CannedReply::http(200, &[], &large), "the answer is larger than 65536 bytes"),
        (CannedReply::http(200, &events, &large), "the answer is larger than 65536 bytes"),
        (CannedReply::http(200, &[], "[".repeat(60_000)), "the answer is not valid JSON"),
        (
            CannedReply::http(200, &[], rpc(&json!({"content": 5}))),
            "the answer is not AdCP: the tool result",
        ),
        (CannedReply::http(200, &[], ""), "the answer is empty"),
        (CannedReply::http(401, &[], ""), "the server answers with HTTP 401"),
    ] {
        let fake = Fake::start(vec![reply]);
        let failure = fake.run(mcp(&fake).call("get_products", Map::new())).unwrap_err();
        assert!(failure.to_string().starts_with(expected), "{failure}");
    }
}

#[test]
fn arguments_that_a_seller_would_refuse_never_leave() {
    let fake = Fake::start(vec![]);
    let client = strict(&fake);
    let wrong = json!({"buying_mode": "guess", "brief": 5});
    let failure = fake.run(client.call("get_products", arguments(wrong))).unwrap_err();
    let CallFailure::Unsent(Unsent::Arguments(error)) = &failure else { panic!("{failure:?}") };
    let pointers: Vec<_> = error.issues.iter().map(|issue| issue.pointer.as_str()).collect();
    assert_eq!(pointers, ["/buying_mode", "/brief"]);
    let text = "not sent: VALIDATION_ERROR: The arguments have 2 problems; correct them and send \
                the request again.";
    assert_eq!(failure.to_string(), text);
    let budget = RetryBudget { attempts: 3, time: std::time::Duration::MAX, tokens: 3 };
    let RecoveryAdvice::Fix(fix) = advise(&FailedAttempt::default(), &failure, &budget) else {
        panic!()
    };
    assert_eq!(fix.fields, pointers);
    // Valid arguments, and those of a task without rules, are sent.
    let done = || json_reply(&tool(&json!({"x": 1})));
    let fake = Fake::start(vec![done(), done()]);
    let client = strict(&fake);
    fake.run(client.call("get_products", arguments(json!({"buying_mode": "wholesale"})))).unwrap();
    fake.run(client.call("x_of_their_own", arguments(json!({"buying_mode": 5})))).unwrap();
}

#[test]
fn a_bare_error_is_a_failure_on_every_binding() {
    let alone = json!({"adcp_error": {"code": "PRODUCT_NOT_FOUND", "message": "m"}});
    let artifacts = json!({"artifacts": [{"parts": [{"data": alone}]}]});
    let message = json!({"message": {"messageId": "m", "parts": [{"data": alone}]}});
    for result in [task("TASK_STATE_COMPLETED", &artifacts), message] {
        let fake = Fake::start(vec![json_reply(&result)]);
        let failure = fake.run(a2a(&fake).call("get_products", Map::new())).unwrap_err();
        assert_eq!(code(&failure), "PRODUCT_NOT_FOUND", "{result}");
    }
    // The code of a tool result without `isError` is not relied on.
    let fake = Fake::start(vec![json_reply(&tool(&alone))]);
    let failure = fake.run(mcp(&fake).call("get_products", Map::new())).unwrap_err();
    assert!(matches!(failure, CallFailure::Refused(_)) && failure.adcp().is_none(), "{failure:?}");
}

#[test]
fn over_a2a_0_3_a_task_has_the_older_form() {
    let artifacts = json!([{"artifactId": "a", "parts": [{"kind": "data", "data":
        {"products": []}}]}]);
    let done = json!({"kind": "task", "id": "t1", "contextId": "c1",
        "status": {"state": "completed"}, "artifacts": artifacts});
    let failing = json!({"kind": "task", "id": "t2", "status": {"state": "failed", "message":
        {"parts": [{"kind": "data", "data": failed("RATE_LIMITED")}]}}});
    let fake = Fake::start(vec![json_reply(&done), json_reply(&failing)]);
    let card = json!({"name": "A", "protocolVersion": "0.3.0", "url": format!("{}/a2a", fake.url),
        "capabilities": {"extensions": [{"uri": EXTENSION}]},
        "skills": [{"id": "get_products", "description": "d"}]});
    let client = a2a_of(&fake, &card);
    assert_eq!(client.via(), "A2A 0.3");
    let call = client.call("get_products", arguments(json!({"buying_mode": "wholesale"})));
    let answered = fake.run(call).unwrap();
    assert_eq!(answered.payload, json!({"products": []}));
    assert_eq!(answered.a2a_task_id.as_deref(), Some("t1"));
    let failure = fake.run(client.call("get_products", Map::new())).unwrap_err();
    assert_eq!(code(&failure), "RATE_LIMITED");
    let offered = OfferedTask { name: "get_products".into(), description: "d".into() };
    assert_eq!(fake.run(client.offered()).unwrap(), [offered]);
    let (head, mut body) = sent(&fake).remove(0);
    assert!(!head.contains("a2a-version"), "{head}");
    body["id"].take();
    body["params"]["message"]["messageId"].take();
    let expected = json!({
        "jsonrpc": "2.0", "id": null, "method": "message/send", "params": {
            "message": {"kind": "message", "messageId": null, "role": "user", "parts": [
                {"data": {"skill": "get_products", "parameters": {"buying_mode": "wholesale"}},
                    "kind": "data"}]},
            "configuration": {"acceptedOutputModes": ["application/json"]},
        }
    });
    assert_eq!(body, expected);
}

#[test]
fn a_signed_request_has_three_lines_and_a_fresh_nonce() {
    let done = || json_reply(&tool(&json!({"x": 1})));
    let fake = Fake::start(vec![done(), done()]);
    let pem = tradepost_keys::generate(tradepost_keys::Algorithm::EdDsa).unwrap();
    let key = tradepost_keys::SigningKey::read(&pem, Some("buyer-1")).unwrap();
    let signer = RequestSigner::new(key, || "2026-08-01T12:00:00Z".parse().unwrap());
    let client = mcp(&fake).signing(signer);
    for _ in 0..2 {
        fake.run(client.call("get_products", Map::new())).unwrap();
    }
    let lines: Vec<_> = sent(&fake)
        .into_iter()
        .map(|(head, _)| {
            let line = |name: &str| {
                let found = head.lines().find(|line| line.starts_with(name));
                found.unwrap_or_else(|| panic!("no {name} in {head}")).to_owned()
            };
            assert!(line("content-digest: ").contains("sha-256=:"));
            line("signature: ");
            line("signature-input: ")
        })
        .collect();
    assert!(lines[0].contains("keyid=\"buyer-1\"") && lines[0].contains("created=1785585600"));
    assert_ne!(lines[0], lines[1]);
}

#[test]
fn the_tools_of_mcp_servers_are_read_page_by_page() {
    let page = |name: &str, next: Option<&str>| {
        json_reply(&json!({"tools": [{"name": name, "description": "d"}, 5], "nextCursor": next}))
    };
    let fake = Fake::start(vec![page("a", Some("2")), page("b", None)]);
    let offered = fake.run(mcp(&fake).offered()).unwrap();
    let names: Vec<_> = offered.iter().map(|offered| offered.name.as_str()).collect();
    assert_eq!(names, ["a", "", "b", ""]);
    let asked = sent(&fake);
    let cursors = asked.iter().map(|(_, body)| body["params"]["cursor"].as_str());
    assert_eq!(cursors.collect::<Vec<_>>(), [None, Some("2")]);
    let fake = Fake::start(vec![json_reply(&json!({"x": 1}))]);
    let failure = fake.run(mcp(&fake).offered()).unwrap_err();
    assert_eq!(failure.to_string(), "the answer is not AdCP: the list of tools is none");
}
