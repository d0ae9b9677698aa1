use std::time::Duration;

use tradepost_a2a::TaskState;
use tradepost_document::catalog::WireName;

use super::*;
use crate::card::SellerCard;
use crate::fake::{CannedReply as Canned, Fake, MAX_BODY, Virtual, transport};
use crate::recovery::{AskReason, RecoveryAdvice};
use crate::retry::{Recoverer, RetryLimits, Sizes};

fn client(fake: &Fake, release: &str, streaming: bool) -> AgentClient {
    let capabilities = json!({"streaming": streaming});
    let url = format!("{}/rpc", fake.url);
    let card = if release == "1.0" {
        json!({"name": "A", "capabilities": capabilities, "supportedInterfaces": [
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "x"}]})
    } else {
        json!({"name": "A", "capabilities": capabilities, "url": url, "protocolVersion": "0.3.0"})
    };
    let card = SellerCard::read(&card.to_string()).unwrap();
    let discovered =
        Discovered { url: Url::parse(&fake.url).unwrap(), etag: None, card, is_signed: false };
    AgentClient::new(transport(), &discovered, fastrand::Rng::with_seed(1)).unwrap()
}

fn rpc(result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": "{id}", "result": result}).to_string()
}

fn answer(result: &Value) -> Canned {
    Canned::http(200, &[("content-type", "application/json")], rpc(result))
}

fn refusal(code: i64) -> Canned {
    let error = json!({"code": code, "message": "no"});
    let body = json!({"jsonrpc": "2.0", "id": "{id}", "error": error}).to_string();
    Canned::http(200, &[("content-type", "application/json")], body)
}

/// Builds a stream of these events, which ends after them.
fn stream(events: &[Value]) -> Canned {
    let events: String = events.iter().map(|event| format!("data: {}\n\n", rpc(event))).collect();
    Canned::http(200, &[("content-type", "text/event-stream")], events)
}

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": state}})
}

fn status(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}})
}

fn artifact(text: &str, append: bool) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "append": append,
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

/// Result of a conversation, the states shown on the way, and the requests.
struct Conversation {
    ended: Result<Followed, Box<crate::retry::GaveUp>>,
    shown: Vec<String>,
    sent_requests: Vec<Value>,
}

fn run_conversation(client: &AgentClient, fake: &Fake, clock: Virtual) -> Conversation {
    let recoverer = Recoverer::new(clock, RetryLimits::default(), Sizes::default());
    let follower = Follower { recoverer: &recoverer, patience: Duration::from_secs(60) };
    let mut shown = Vec::new();
    let watch = |task: &AgentTask| shown.push(task.state.name().replace("TASK_STATE_", ""));
    let ended = fake.run(client.converse(&Outgoing::text("hello"), &follower, watch));
    Conversation { ended, shown, sent_requests: sent_requests(fake) }
}

fn sent_requests(fake: &Fake) -> Vec<Value> {
    let body = |request: String| {
        tradepost_document::json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    fake.requests().into_iter().map(body).collect()
}

fn methods(sent_requests: &[Value]) -> Vec<&str> {
    sent_requests.iter().map(|request| request["method"].as_str().unwrap()).collect()
}

fn settled_task(conversation: &Conversation) -> &AgentTask {
    match conversation.ended.as_ref().unwrap() {
        Followed { reply: AgentReply::Task(task), end: FollowEnd::Settled, .. } => task,
        other => panic!("{other:?}"),
    }
}

fn text(task: &AgentTask) -> &str {
    task.artifacts[0].parts[0].text().unwrap()
}

#[test]
fn words_are_sent_in_the_form_of_the_cards_release() {
    let message = json!({"messageId": "m", "contextId": "c", "role": "ROLE_AGENT",
        "parts": [{"text": "hi"}]});
    let older = json!({"kind": "message", "messageId": "m", "contextId": "c", "role": "agent",
        "parts": [{"kind": "text", "text": "hi"}]});
    let newer = json!({"message": message});
    let mut forms = Vec::new();
    for (release, result) in [("1.0", &newer), ("0.3", &older)] {
        let fake = Fake::start(vec![answer(result)]);
        let client = client(&fake, release, false);
        assert_eq!(client.release(), release);
        let said = Outgoing::text("hello").with_data(json!({"a": 1.0})).within("c").answering("t");
        let reply = fake.run(client.send(&said)).unwrap();
        let AgentReply::Message(message) = reply else { panic!("{reply:?}") };
        assert_eq!(message.parts[0].text(), Some("hi"));
        let request = fake.requests().remove(0);
        assert_eq!(request.contains("\r\na2a-version: 1.0\r\n"), release == "1.0");
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        let mut body: Value = tradepost_document::json::from_str(body).unwrap();
        body["id"].take();
        body["params"]["message"]["messageId"].take();
        forms.push(body.to_string());
    }
    expect_test::expect![[r#"
        {"jsonrpc":"2.0","id":null,"method":"SendMessage","params":{"tenant":"x","message":{"messageId":null,"role":"ROLE_USER","parts":[{"text":"hello"},{"data":{"a":1.0}}],"contextId":"c","taskId":"t"},"configuration":{"returnImmediately":true}}}
        {"jsonrpc":"2.0","id":null,"method":"message/send","params":{"message":{"kind":"message","messageId":null,"role":"user","parts":[{"text":"hello","kind":"text"},{"data":{"a":1.0},"kind":"data"}],"contextId":"c","taskId":"t"},"configuration":{"blocking":false}}}
    "#]]
    .assert_eq(&(forms.join("\n") + "\n"));
}

#[test]
fn a_task_is_followed_by_its_stream() {
    let fake = Fake::start(vec![stream(&[
        json!({"task": task("TASK_STATE_SUBMITTED")}),
        status("TASK_STATE_WORKING"),
        artifact("Hel", false),
        artifact("lo", true),
        status("TASK_STATE_COMPLETED"),
    ])]);
    let conversation = run_conversation(&client(&fake, "1.0", true), &fake, Virtual::new(0.0));
    assert_eq!(text(settled_task(&conversation)), "Hello");
    assert_eq!(conversation.shown, ["SUBMITTED", "WORKING", "WORKING", "WORKING", "COMPLETED"]);
    assert_eq!(methods(&conversation.sent_requests), ["SendStreamingMessage"]);
}

#[test]
fn a_broken_stream_is_continued_and_nothing_is_said_twice() {
    let done = json!({"kind": "task", "id": "t", "status": {"state": "completed"}});
    let older = |state| json!({"kind": "status-update", "taskId": "t", "status": {"state": state}});
    let fake = Fake::start(vec![
        stream(&[older("submitted"), older("working")]),
        answer(&json!({"kind": "task", "id": "t", "status": {"state": "working"}})),
        stream(&[older("working")]),
        answer(&json!({"kind": "task", "id": "t", "status": {"state": "working"}})),
        refusal(-32004),
        answer(&done),
    ]);
    let clock = Virtual::new(0.0);
    let conversation = run_conversation(&client(&fake, "0.3", true), &fake, clock.clone());
    assert_eq!(settled_task(&conversation).state, WireName::Known(TaskState::Completed));
    assert_eq!(
        methods(&conversation.sent_requests),
        [
            "message/stream",
            "tasks/get",
            "tasks/resubscribe",
            "tasks/get",
            "tasks/resubscribe",
            "tasks/get"
        ]
    );
    assert_eq!(clock.sleeps(), [0.5, 1.0, 2.0]);
}

#[test]
fn without_a_stream_the_task_is_polled_with_growing_pauses() {
    let fake = Fake::start(vec![
        answer(&json!({"task": task("TASK_STATE_SUBMITTED")})),
        answer(&task("TASK_STATE_WORKING")),
        Canned::http(503, &[], ""),
        answer(&task("TASK_STATE_WORKING")),
        answer(&json!({"id": "t", "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message":
            {"parts": [{"text": "which?"}]}}})),
    ]);
    let clock = Virtual::new(0.0);
    let conversation = run_conversation(&client(&fake, "1.0", false), &fake, clock.clone());
    let task = settled_task(&conversation);
    assert_eq!(task.state, WireName::Known(TaskState::InputRequired));
    assert_eq!(task.said.as_ref().unwrap().parts[0].text(), Some("which?"));
    // The third pause is that of the recovery.
    assert_eq!(clock.sleeps(), [0.5, 1.0, 1.5, 2.0]);
    assert!(conversation.sent_requests[1..].iter().all(|request| request["params"]["id"] == "t"));
}

#[test]
fn a_card_that_promises_an_absent_stream_is_forgiven() {
    let message = json!({"message": {"messageId": "m", "parts": [{"text": "hi"}]}});
    let fake = Fake::start(vec![refusal(-32601), answer(&message)]);
    let conversation = run_conversation(&client(&fake, "1.0", true), &fake, Virtual::new(0.0));
    assert!(matches!(conversation.ended.as_ref().unwrap().reply, AgentReply::Message(_)));
    assert_eq!(methods(&conversation.sent_requests), ["SendStreamingMessage", "SendMessage"]);
    let id =
        |index: usize| conversation.sent_requests[index]["params"]["message"]["messageId"].clone();
    assert_eq!(id(0), id(1));
}

#[test]
fn words_that_may_have_arrived_are_not_said_again() {
    for streaming in [true, false] {
        let fake = Fake::start(vec![Canned::Bytes(Vec::new())]);
        let conversation =
            run_conversation(&client(&fake, "1.0", streaming), &fake, Virtual::new(0.0));
        let gave_up = conversation.ended.unwrap_err();
        assert_eq!(gave_up.advice, RecoveryAdvice::Ask(AskReason::InDoubt));
        assert!(gave_up.doubt.in_doubt());
        assert_eq!(gave_up.spent.attempts, 1);
    }
    // A message that was refused for a while is sent again as it was.
    let message = json!({"message": {"messageId": "m", "parts": []}});
    let fake = Fake::start(vec![Canned::http(429, &[], ""), answer(&message)]);
    let conversation = run_conversation(&client(&fake, "1.0", false), &fake, Virtual::new(0.0));
    assert_eq!(conversation.ended.unwrap().spent.attempts, 2);
    assert_eq!(conversation.sent_requests[0]["params"], conversation.sent_requests[1]["params"]);
}

#[test]
fn what_is_known_of_a_task_outlives_failure_and_patience() {
    let begun = || answer(&json!({"task": task("TASK_STATE_WORKING")}));
    let fake = Fake::start(vec![begun(), Canned::http(403, &[], "")]);
    let conversation = run_conversation(&client(&fake, "1.0", false), &fake, Virtual::new(0.0));
    let followed = conversation.ended.unwrap();
    assert!(matches!(&followed.reply, AgentReply::Task(task) if task.id == "t"));
    let FollowEnd::Lost(gave_up) = followed.end else { panic!("{:?}", followed.end) };
    assert_eq!(gave_up.advice, RecoveryAdvice::Ask(AskReason::Permission));

    let busy = || answer(&task("TASK_STATE_WORKING"));
    let replies = std::iter::once(begun()).chain(std::iter::repeat_with(busy).take(20));
    let fake = Fake::start(replies.collect());
    let clock = Virtual::new(0.0);
    let conversation = run_conversation(&client(&fake, "1.0", false), &fake, clock.clone());
    assert!(matches!(conversation.ended.unwrap().end, FollowEnd::TimeUp));
    assert_eq!(clock.sleeps().iter().sum::<f64>(), 60.0);
}

#[test]
fn a_hostile_stream_ends_without_an_effect_on_us() {
    let begun = rpc(&json!({"task": task("TASK_STATE_WORKING")}));
    let flood = "x".repeat(MAX_BODY);
    let deep = "[".repeat(10_000);
    for more in [
        format!("data: {flood}\n\n"),
        format!("data: {deep}\n\n"),
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"other\",\"result\":{}}\n\n".to_owned(),
        "\u{0}\u{0}".to_owned(),
    ] {
        let body = format!("data: {begun}\n\n{more}");
        let fake = Fake::start(vec![
            Canned::http(200, &[("content-type", "text/event-stream")], body),
            answer(&task("TASK_STATE_COMPLETED")),
        ]);
        let conversation = run_conversation(&client(&fake, "1.0", true), &fake, Virtual::new(0.0));
        assert_eq!(settled_task(&conversation).state, WireName::Known(TaskState::Completed));
    }
    for (result, expected) in [
        (json!({}), "the answer is not A2A: the result has neither a task nor a message"),
        (json!({"task": {"status": {}}}), "the answer is not A2A: the task has no id"),
    ] {
        let fake = Fake::start(vec![answer(&result)]);
        let failure = fake.run(client(&fake, "1.0", false).send(&Outgoing::text("x"))).unwrap_err();
        assert_eq!(failure.to_string(), expected);
    }
}

#[test]
fn tokens_are_not_shown_and_agents_need_a_known_binding() {
    let fake = Fake::start(vec![answer(&task("TASK_STATE_COMPLETED"))]);
    let client = client(&fake, "1.0", false).with_token("s3cret").unwrap();
    assert!(!format!("{client:?}").contains("s3cret"));
    fake.run(client.task("t")).unwrap();
    assert!(fake.requests()[0].contains("authorization: Bearer s3cret\r\n"));
    let card = SellerCard::read(
        r#"{"name": "A", "supportedInterfaces": [{"url": "https://a/g",
        "protocolBinding": "GRPC", "protocolVersion": "0.3"}]}"#,
    );
    let url = Url::parse("https://a.example/card.json").unwrap();
    let discovered = Discovered { url, etag: None, card: card.unwrap(), is_signed: false };
    let failure = AgentClient::new(transport(), &discovered, fastrand::Rng::with_seed(1));
    let expected = "the card has no interface that we speak: JSONRPC of A2A 1.0 or 0.3, HTTP+JSON \
                    or GRPC of 1.0";
    assert_eq!(failure.unwrap_err().to_string(), expected);
}

#[test]
fn over_http_with_json_everything_is_the_same() {
    let begun = json!({"task": task("TASK_STATE_SUBMITTED")});
    let events = [&begun, &status("TASK_STATE_WORKING"), &artifact("hi", false)];
    let events: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let json_of = |body: &Value| {
        Canned::http(200, &[("content-type", "application/a2a+json")], body.to_string())
    };
    let missing = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "gone",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"}]}});
    let fake = Fake::start(vec![
        Canned::http(200, &[("content-type", "text/event-stream")], events),
        json_of(&task("TASK_STATE_WORKING")),
        Canned::http(
            200,
            &[("content-type", "text/event-stream")],
            format!(
                "data: {}\n\n",
                json!({
            "task": task("TASK_STATE_COMPLETED")})
            ),
        ),
        Canned::http(404, &[("content-type", "application/a2a+json")], missing.to_string()),
    ]);
    let card = json!({"name": "A", "capabilities": {"streaming": true}, "supportedInterfaces": [
        {"url": format!("{}/rest", fake.url), "protocolBinding": "HTTP+JSON",
            "protocolVersion": "1.0", "tenant": "x"}]});
    let card = SellerCard::read(&card.to_string()).unwrap();
    let discovered =
        Discovered { url: Url::parse(&fake.url).unwrap(), etag: None, card, is_signed: false };
    let client = AgentClient::new(transport(), &discovered, fastrand::Rng::with_seed(1)).unwrap();
    assert_eq!(client.binding(), CardTransport::HttpJson);
    let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
    let follower = Follower { recoverer: &recoverer, patience: Duration::from_secs(60) };
    let said = Outgoing::text("hello");
    let followed = fake.run(client.converse(&said, &follower, |_| {})).unwrap();
    let AgentReply::Task(done) = followed.reply else { panic!("{followed:?}") };
    assert_eq!((done.state.name(), text(&done)), ("TASK_STATE_COMPLETED", "hi"));
    let failure = fake.run(client.task("gone")).unwrap_err();
    assert_eq!(failure.to_string(), "TASK_NOT_FOUND: gone");
    let firsts: Vec<_> =
        fake.requests().iter().map(|request| request.lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        firsts,
        [
            "POST /rest/x/message:stream HTTP/1.1",
            "GET /rest/x/tasks/t HTTP/1.1",
            "POST /rest/x/tasks/t:subscribe HTTP/1.1",
            "GET /rest/x/tasks/gone HTTP/1.1",
        ]
    );
}

#[test]
fn a_token_stays_with_the_cards_origin_on_every_binding() {
    for (binding, address) in [
        ("JSONRPC", "https://b.example/a2a"),
        ("HTTP+JSON", "https://b.example/rest"),
        ("GRPC", "b.example:443"),
    ] {
        let card = json!({"name": "A", "supportedInterfaces": [
            {"url": address, "protocolBinding": binding, "protocolVersion": "1.0"}]});
        let card = SellerCard::read(&card.to_string()).unwrap();
        let url = Url::parse("https://a.example/card.json").unwrap();
        let unsigned = Discovered { url, etag: None, card, is_signed: false };
        let signed = Discovered { is_signed: true, ..unsigned.clone() };
        let client = |discovered: &Discovered| {
            AgentClient::new(transport(), discovered, fastrand::Rng::with_seed(1)).unwrap()
        };
        let refused = client(&unsigned).with_token("s3cret").unwrap_err();
        let expected = "not sent: the token is for https://a.example, and the request would go to \
                        https://b.example";
        assert_eq!(refused.to_string(), expected, "{binding}");
        assert!(client(&signed).with_token("s3cret").is_ok(), "{binding}");
        let origin = ["https://b.example".parse().unwrap()];
        let token = BearerToken::new("s3cret").only_for(origin);
        assert!(client(&unsigned).with_token(token).is_ok(), "{binding}");
    }
}

#[test]
fn an_agent_that_moved_is_found_by_its_card() {
    let new = Fake::start(vec![
        answer(&json!({"task": task("TASK_STATE_WORKING")})),
        answer(&task("TASK_STATE_COMPLETED")),
    ]);
    let card = json!({"name": "A", "capabilities": {"streaming": false}, "supportedInterfaces": [
        {"url": format!("{}/new", new.url), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let gone = Canned::http(405, &[], "");
    let old = Fake::start(vec![gone, Canned::http(200, &[], card.to_string())]);
    let url = crate::discover::card_url(&old.url).unwrap();
    let client = client(&old, "1.0", false).rereading(CardReader::new_unverified(transport(), url));
    let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
    let follower = Follower { recoverer: &recoverer, patience: Duration::from_secs(60) };
    let ended = old.run(client.converse(&Outgoing::text("hello"), &follower, |_| {}));
    assert!(matches!(ended.unwrap().end, FollowEnd::Settled));
    let requests = new.requests();
    assert!(
        requests.len() == 2 && requests.iter().all(|request| request.starts_with("POST /new ")),
        "{requests:?}"
    );
}
