//! The person asked by their client: over a line and over HTTP, by the official library and by clients
//! that answer whatever they like.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorData, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, RequestContext, serve_client_with_lifecycle};
use rmcp::{ClientHandler, RoleClient};
use tokio::io::{
    AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::net::{TcpListener, TcpStream};
use tradepost_bridge::server::{HttpAccess, converse, router};
use tradepost_bridge::{AskMode, BridgeOptions};
use tradepost_document::json::{Value, json};

use super::{bridge_where, confirmed, fake, lead, time, with};

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

/// A dealer that takes leads.
fn dealer() -> fake::Fake {
    fake::Fake::start(|_| Ok(json!({"lead_id": "L1", "status": "received"})))
}

/// A person who reads what they are shown, and answers the same each time.
#[derive(Clone)]
struct Reader {
    answer: ElicitResult,
    read: Arc<Mutex<Vec<ElicitRequestParams>>>,
}

impl Reader {
    fn new(action: ElicitationAction, content: Option<Value>) -> Self {
        let answer = ElicitResult::new(action);
        let answer = match content {
            Some(content) => answer
                .with_content(tradepost_document::json::from_str(&content.to_string()).unwrap()),
            None => answer,
        };
        Self { answer, read: Arc::default() }
    }
}

impl ClientHandler for Reader {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        ClientConfig::new(capabilities, Implementation::new("reader", "1"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.read.lock().unwrap().push(request);
        Ok(self.answer.clone())
    }
}

/// Submits a lead for this person over both MCP lifecycles and returns the results.
fn submitted(dealer: &fake::Fake, person: &Reader) -> Vec<Value> {
    let lifecycles = [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    ];
    let submit = async |lifecycle| {
        let (bridge, _) = bridge_where(&[&dealer.name], |_| {});
        let (ours, theirs) = tokio::io::duplex(1024);
        let (input, output) = tokio::io::split(ours);
        let serving = tokio::spawn(converse(Arc::new(bridge), input, output));
        let client = serve_client_with_lifecycle(person.clone(), theirs, lifecycle).await.unwrap();
        let arguments = tradepost_document::json::from_str(&lead().to_string()).unwrap();
        let call = CallToolRequestParams::new("aap_lead_submit").with_arguments(arguments);
        let result = client.call_tool(call).await.unwrap();
        client.cancel().await.unwrap();
        serving.await.unwrap().unwrap();
        let result = tradepost_document::json::to_string(&result).unwrap();
        tradepost_document::json::from_str::<Value>(&result).unwrap()
    };
    lifecycles.into_iter().map(|lifecycle| run(submit(lifecycle))).collect()
}

#[test]
fn an_agreed_lead_is_sent_with_the_words_as_shown() {
    let dealer = dealer();
    let person = Reader::new(ElicitationAction::Accept, Some(json!({"agree": true})));
    for result in submitted(&dealer, &person) {
        assert_eq!(result["isError"], false, "{result}");
        assert_eq!(result["structuredContent"]["status"], "sent");
    }
    let sent = dealer.payloads();
    let read = person.read.lock().unwrap();
    assert_eq!((sent.len(), read.len()), (2, 2));
    for (sent, read) in sent.iter().zip(&*read) {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = read
        else {
            panic!("{read:?}")
        };
        let (text, rest) = message.split_once("\n\n").unwrap();
        assert_eq!(sent["consent"]["consent_text"], text);
        assert_eq!(requested_schema.required.as_deref(), Some(&["agree".to_owned()][..]));
        expect![[r#"
            This would be sent to ADDRESS:
            - customer.email: "ada@buyer.example"
            - customer.first_name: "Ada"
            - customer.last_name: "Lovelace"
            - message: "Is it still there?"
        "#]]
        .assert_eq(&rest.replace(&dealer.name, "ADDRESS"));
    }
}

#[test]
fn whoever_does_not_agree_sends_nothing() {
    let dealer = dealer();
    for (action, content, code) in [
        (ElicitationAction::Decline, None, "DECLINED"),
        (ElicitationAction::Cancel, None, "DECLINED"),
        (ElicitationAction::Accept, Some(json!({"agree": false})), "DECLINED"),
        (ElicitationAction::Accept, None, "ANSWER_INVALID"),
        (ElicitationAction::Accept, Some(json!({"agree": "yes"})), "ANSWER_INVALID"),
        (ElicitationAction::Accept, Some(json!({"agreed": true})), "ANSWER_INVALID"),
    ] {
        let person = Reader::new(action, content);
        for result in submitted(&dealer, &person) {
            assert_eq!(result["isError"], true);
            assert_eq!(result["structuredContent"]["code"], code, "{result}");
        }
        assert_eq!(person.read.lock().unwrap().len(), 2, "each of them asks once");
    }
    assert_eq!(dealer.payloads().len(), 0);
}

/// Client that exchanges raw JSON-RPC messages with the bridge over a pipe.
pub(crate) struct RawClient {
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    output: tokio::io::WriteHalf<DuplexStream>,
}

impl RawClient {
    pub(crate) async fn start(addresses: &[&str], set: impl FnOnce(&mut BridgeOptions)) -> Self {
        let (bridge, _) = bridge_where(addresses, set);
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(ours);
        tokio::spawn(converse(Arc::new(bridge), input, output));
        let (input, output) = tokio::io::split(theirs);
        Self { lines: BufReader::new(input).lines(), output }
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Value {
        tradepost_document::json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    pub(crate) async fn hello(&mut self, version: &str, capabilities: Value) {
        let params = json!({"protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "hand", "version": "1"}});
        self.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
            .await;
        assert_eq!(self.next().await["result"]["protocolVersion"], version);
    }

    pub(crate) async fn submit(&mut self, id: u32, arguments: Value) {
        let params = json!({"name": "aap_lead_submit", "arguments": arguments});
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .await;
    }
}

pub(crate) fn answer(question: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result})
}

pub(crate) fn yes() -> Value {
    json!({"action": "accept", "content": {"agree": true}})
}

pub(crate) fn code(answer: &Value) -> &str {
    code_of(&answer["result"]["structuredContent"])
}

fn code_of(error: &Value) -> &str {
    error["code"].as_str().unwrap_or_else(|| panic!("{error}"))
}

#[test]
fn only_the_questions_own_answer_counts_and_only_once() {
    let dealer = dealer();
    run(async {
        let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
        client.hello("2025-06-18", json!({"elicitation": {}})).await;
        client.submit(1, lead()).await;
        let question = client.next().await;
        assert_eq!(question["method"], "elicitation/create");
        let id = &question["id"];
        for stray in [
            json!({"jsonrpc": "2.0", "id": "ask-99", "result": yes()}),
            json!({"jsonrpc": "2.0", "id": 1, "result": yes()}),
            json!({"jsonrpc": "2.0", "id": null, "result": yes()}),
            json!({"jsonrpc": "1.0", "id": id, "result": yes()}),
            json!({"jsonrpc": "2.0", "id": id, "result": yes(), "error": {}}),
        ] {
            client.send(stray).await;
        }
        // Those that are no answers at all are said to be none.
        assert_eq!(client.next().await["error"]["code"], -32600);
        assert_eq!(client.next().await["error"]["code"], -32600);
        client.send(answer(&question, json!({"action": "decline"}))).await;
        client.send(answer(&question, yes())).await;
        assert_eq!(code(&client.next().await), "DECLINED");
        // The same again is another question.
        client.submit(2, lead()).await;
        let question = client.next().await;
        assert_ne!(&question["id"], id);
        client.send(answer(&question, yes())).await;
        let sent = client.next().await;
        assert_eq!(sent["result"]["structuredContent"]["status"], "sent", "{sent}");
    });
    assert_eq!(dealer.payloads().len(), 1);
}

#[test]
fn doubtful_leads_keep_key_and_consent_whichever_form_is_agreed() {
    // The first answers make no sense, however often the bridge asks again, and the next is the receipt.
    let asked = std::sync::atomic::AtomicU32::new(0);
    let dealer =
        fake::Fake::start(move |_| match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0..3 => Err(json!("not an error object")),
            _ => Ok(json!({"lead_id": "L1", "status": "received"})),
        });
    time::run_held(time::hurried(async {
        let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
        client.hello("2025-06-18", json!({"elicitation": {}})).await;
        let mut ends = Vec::new();
        for id in 1..=3 {
            client.submit(id, lead()).await;
            let question = client.next().await;
            client.send(answer(&question, yes())).await;
            ends.push(client.next().await["result"].take());
        }
        let error = &ends[0]["structuredContent"];
        let key = error["idempotency_key"].as_str().unwrap();
        assert_eq!((code_of(error), &error["in_doubt"]), ("DEALER_GARBLED", &json!(true)));
        let text = ends[0]["content"].to_string();
        assert!(text.contains(&format!("idempotency_key {key}")), "{text}");
        assert_eq!(ends[1]["structuredContent"]["status"], "sent");
        let mut sent = dealer.payloads();
        for payload in &mut sent {
            payload.as_object_mut().unwrap().shift_remove("submitted_at");
        }
        assert!(
            sent[..4].iter().all(|one| *one == sent[0] && one["idempotency_key"] == key),
            "{sent:?}"
        );
        // What was received is no longer in doubt: the next yes is to another lead.
        assert_ne!(sent[3]["idempotency_key"], sent[4]["idempotency_key"]);
    }));
}

#[test]
fn an_abandoned_call_asks_nobody_any_more() {
    let dealer = dealer();
    run(async {
        let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
        client.hello("2025-11-25", json!({"elicitation": {"form": {}}})).await;
        client.submit(5, lead()).await;
        let question = client.next().await;
        let cancelled = |id: u32| {
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id, "reason": "closed"}})
        };
        client.send(cancelled(4)).await;
        client.send(cancelled(5)).await;
        client.send(answer(&question, yes())).await;
        assert_eq!(code(&client.next().await), "PERSON_SILENT");
        // A person is asked a few things at once, and no more.
        for id in 10..15 {
            client.submit(id, lead()).await;
        }
        let mut said = Vec::new();
        for _ in 0..5 {
            said.push(client.next().await);
        }
        let busy: Vec<_> = said.iter().filter(|said| said.get("result").is_some()).collect();
        assert_eq!(busy.len(), 1);
        assert_eq!(code(busy[0]), "PERSON_BUSY");
    });
    assert_eq!(dealer.payloads().len(), 0);
}

#[test]
fn a_person_who_never_answers_is_not_awaited_forever() {
    let dealer = dealer();
    run(async {
        let set = |options: &mut BridgeOptions| {
            options.person_patience = Duration::from_millis(1);
            options.ask = AskMode::Form;
        };
        let mut client = RawClient::start(&[&dealer.name], set).await;
        client.hello("2025-06-18", json!({"elicitation": {}})).await;
        client.submit(1, lead()).await;
        let question = client.next().await;
        let notice = client.next().await;
        assert_eq!(notice["method"], "notifications/cancelled");
        assert_eq!(notice["params"]["requestId"], question["id"]);
        assert_eq!(code(&client.next().await), "PERSON_SILENT");
        client.send(answer(&question, yes())).await;
        // Whoever says nothing more gives no answer either.
        let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
        client.hello("2025-06-18", json!({"elicitation": {}})).await;
        client.submit(1, lead()).await;
        client.next().await;
        client.output.shutdown().await.unwrap();
        assert_eq!(code(&client.next().await), "PERSON_SILENT");
    });
    assert_eq!(dealer.payloads().len(), 0);
}

#[test]
fn models_cannot_agree_for_a_person_who_can_be_asked() {
    let dealer = dealer();
    let strict = |options: &mut BridgeOptions| options.ask = AskMode::Form;
    run(async {
        let mut unable = RawClient::start(&[&dealer.name], |_| {}).await;
        unable.hello("2025-06-18", json!({})).await;
        unable.submit(1, lead()).await;
        let first = unable.next().await["result"]["structuredContent"].clone();
        assert_eq!(first["status"], "confirmation_required");
        // The secret is the same, so that the confirmation is one elsewhere, too.
        let mut able = RawClient::start(&[&dealer.name], |_| {}).await;
        able.hello("2025-06-18", json!({"elicitation": {}})).await;
        able.submit(1, confirmed(lead(), &first)).await;
        assert_eq!(code(&able.next().await), "CONFIRMATION_INVALID");
        let elsewhere = json!({"elicitation": {"url": {}}});
        for (version, capabilities) in [
            ("2025-06-18", json!({})),
            ("2025-03-26", json!({"elicitation": {}})),
            ("2025-11-25", elsewhere),
        ] {
            let mut refused = RawClient::start(&[&dealer.name], strict).await;
            refused.hello(version, capabilities).await;
            for arguments in [lead(), confirmed(lead(), &first)] {
                refused.submit(1, arguments).await;
                assert_eq!(code(&refused.next().await), "ELICITATION_REQUIRED");
            }
        }
    });
    assert_eq!(dealer.payloads().len(), 0);
}

#[test]
fn returned_state_is_good_for_this_lead_until_the_no() {
    let dealer = dealer();
    run(async {
        let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
        let call = |arguments: Value, more: Value| {
            let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
            let params = json!({"name": "aap_lead_submit", "arguments": arguments, "_meta": meta});
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": with(params, more)})
        };
        client.send(call(lead(), json!({}))).await;
        let asked = client.next().await["result"].clone();
        assert_eq!(asked["resultType"], "input_required");
        assert_eq!(asked["inputRequests"]["person"]["method"], "elicitation/create");
        let state = asked["requestState"].clone();
        let bare = state.as_str().unwrap().split_once('.').unwrap().1;
        let back =
            |answer: Value| json!({"requestState": state, "inputResponses": {"person": answer}});
        let other = with(lead(), json!({"message": "Something else."}));
        let no = json!({"action": "decline"});
        for (arguments, more, expected) in [
            (other, back(yes()), "CONFIRMATION_INVALID"),
            (
                lead(),
                json!({"requestState": "made up", "inputResponses": {"person": yes()}}),
                "CONFIRMATION_INVALID",
            ),
            (lead(), back(json!({"action": "accept", "content": {}})), "ANSWER_INVALID"),
            // Of two answers the no is the one that counts, from then on.
            (lead(), back(no), "DECLINED"),
            (lead(), back(yes()), "DECLINED"),
            (lead(), json!({"requestState": state}), "DECLINED"),
            (lead(), back(json!("yes")), "DECLINED"),
            // A model that gets hold of it has nothing in its hands.
            (confirmed(lead(), &json!({"confirmation": state})), json!({}), "CONFIRMATION_INVALID"),
            (confirmed(lead(), &json!({"confirmation": bare})), json!({}), "CONFIRMATION_INVALID"),
        ] {
            client.send(call(arguments, more)).await;
            assert_eq!(code(&client.next().await), expected);
        }
        // An answer without a question asks.
        client.send(call(lead(), json!({"inputResponses": {"person": yes()}}))).await;
        let asked = client.next().await["result"].clone();
        assert_eq!(asked["resultType"], "input_required");
        // A client that brings nothing back of its person is not asked for it again and again.
        client.send(call(lead(), json!({"requestState": asked["requestState"]}))).await;
        let first = client.next().await["result"]["structuredContent"].clone();
        assert_eq!(first["form_unanswered"], true, "{first}");
    });
    assert_eq!(dealer.payloads().len(), 0);
}

/// A request over HTTP on a connection of its own, and what of the answer has come.
pub(crate) struct Exchange(BufReader<TcpStream>);

impl Exchange {
    pub(crate) async fn send(address: &str, session: Option<&str>, body: &Value) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let body = body.to_string();
        let session = session.map(|name| format!("Mcp-Session-Id: {name}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{session}Connection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        Self(BufReader::new(stream))
    }

    /// The next line that says something, until the answer ends.
    pub(crate) async fn line(&mut self, prefix: &str) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).await.unwrap() == 0 {
                return None;
            }
            let line = line.trim_end();
            let head = line.get(..prefix.len()).unwrap_or_default();
            if head.eq_ignore_ascii_case(prefix) {
                return Some(line[prefix.len()..].trim().to_owned());
            }
        }
    }

    pub(crate) async fn event(&mut self) -> Value {
        tradepost_document::json::from_str(&self.line("data:").await.unwrap()).unwrap()
    }

    async fn read_to_end(mut self) -> String {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).await.unwrap();
        rest
    }
}

#[test]
fn over_http_questions_precede_answers_and_replies_come_separately() {
    let dealer = dealer();
    run(async {
        let (bridge, _) = bridge_where(&[&dealer.name], |_| {});
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let access = HttpAccess {
            hosts: Vec::new(),
            origins: Vec::new(),
            max_body: 1 << 20,
            patience: Duration::from_secs(600),
        };
        let served = axum::serve(listener, router(Arc::new(bridge), access));
        tokio::spawn(async move { served.await.unwrap() });
        let hello = |capabilities: Value| {
            let params = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities});
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        };
        let submit = |id: u32| {
            let params = json!({"name": "aap_lead_submit", "arguments": lead()});
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        };
        // Who cannot be asked has no session.
        let mut unable = Exchange::send(&address, None, &hello(json!({}))).await;
        assert_eq!(unable.line("mcp-session-id:").await, None);
        let mut names = Vec::new();
        for _ in 0..2 {
            let able = hello(json!({"elicitation": {}}));
            let mut able = Exchange::send(&address, None, &able).await;
            names.push(able.line("mcp-session-id:").await.unwrap());
        }
        let [mine, other] = names.as_slice() else { panic!("{names:?}") };
        assert_ne!(mine, other);
        let mut call = Exchange::send(&address, Some(mine), &submit(1)).await;
        assert_eq!(call.line("content-type:").await.unwrap(), "text/event-stream");
        let question = call.event().await;
        assert_eq!(question["method"], "elicitation/create");
        let status = async |session: Option<&str>, body: Value| {
            Exchange::send(&address, session, &body).await.line("HTTP/1.1 ").await.unwrap()
        };
        // Neither somebody else's answer counts nor one that says no name or a made-up one.
        assert_eq!(status(Some(other), answer(&question, yes())).await, "202 Accepted");
        assert_eq!(status(None, answer(&question, yes())).await, "400 Bad Request");
        assert_eq!(status(Some("AAAA"), answer(&question, yes())).await, "404 Not Found");
        let no = json!({"action": "decline"});
        assert_eq!(status(Some(mine), answer(&question, no)).await, "202 Accepted");
        assert_eq!(code(&call.event().await), "DECLINED");
        assert_eq!(dealer.payloads().len(), 0);
        let mut call = Exchange::send(&address, Some(mine), &submit(2)).await;
        let question = call.event().await;
        assert_eq!(status(Some(mine), answer(&question, yes())).await, "202 Accepted");
        assert_eq!(call.event().await["result"]["structuredContent"]["status"], "sent");
        assert_eq!(call.read_to_end().await.trim(), "0", "nothing follows the answer");
        assert_eq!(dealer.payloads().len(), 1);
        // A call that nobody reads the answer of: the question is over.
        let mut call = Exchange::send(&address, Some(mine), &submit(3)).await;
        call.event().await;
        drop(call);
        // What asks nobody is answered as ever.
        let list = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"});
        let mut list = Exchange::send(&address, Some(mine), &list).await;
        assert_eq!(list.line("content-type:").await.unwrap(), "application/json");
    });
    assert_eq!(dealer.payloads().len(), 1);
}

#[test]
fn a_dealer_cannot_write_the_question() {
    let name = "Ford\" agrees to everything.\n\n[x](http://evil.example) <b>total</b> \u{202e}0";
    let dealer = fake::Fake::named(name, |_| Ok(json!({"lead_id": "L1", "status": "received"})));
    let person = Reader::new(ElicitationAction::Decline, None);
    submitted(&dealer, &person);
    let read = person.read.lock().unwrap();
    let ElicitRequestParams::FormElicitationParams { message, .. } = &read[0] else {
        panic!("{read:?}")
    };
    let message = message.replace(&dealer.name, "ADDRESS");
    expect![[r#"
        I agree that the car dealer "Ford agrees to everything. (x)(http evil.example) ‹b›total‹/…" at ADDRESS receives my name, my e-mail address ada@buyer.example and my message and may contact me by e-mail about my request. I permit nothing else."#]]
    .assert_eq(message.lines().next().unwrap());
}
