use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tradepost_aap::Version;
use tradepost_document::json::{Value, json};

use super::*;
use crate::card::SellerCard;
use crate::failure::{Defect, Unanswered, Unsent};
use crate::fake::{CannedReply, Fake, MAX_BODY, STALLED, transport};
use crate::refusal::RefusalForm;

fn terms() -> DealerTerms {
    DealerTerms {
        now: "2026-05-01T00:00:00Z".parse::<Timestamp>().unwrap(),
        clock_skew: SignedDuration::from_mins(5),
        consent_lifetime: None,
    }
}

pub(super) fn client(fake: &Fake) -> SkillClient {
    let card = json!({
        "name": "A",
        "supportedInterfaces": [{"url": format!("{}/a2a", fake.url), "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0", "tenant": "acme"}],
        "capabilities": {"extensions": [{"uri": Version::V1_1.uri()}]},
        "skills": [{"id": "inventory.search"}, {"id": "inventory.vehicle"}],
    });
    let card = SellerCard::read(&card.to_string()).unwrap();
    let choice = card.choose(None).unwrap();
    let url = Url::parse(&fake.url).unwrap();
    let discovered = Discovered { url, etag: None, card, is_signed: false };
    SkillClient::new(transport(), &discovered, choice, fastrand::Rng::with_seed(1)).unwrap()
}

fn ask(reply: CannedReply) -> Result<SkillAnswer, CallFailure> {
    let fake = Fake::start(vec![reply]);
    fake.run(client(&fake).call(Skill::InventorySearch, json!({})))
}

pub(super) fn result(part: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"{{id}}","result":{{"message":{{"parts":[{part}]}}}}}}"#)
}

/// Wraps a part in the artifact of a completed task.
fn completed(part: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":"{{id}}","result":{{"task":{{"id":"t","contextId":"c",
        "status":{{"state":"TASK_STATE_COMPLETED"}},
        "artifacts":[{{"artifactId":"a","parts":[{part}]}}]}}}}}}"#
    )
}

fn garbled(reply: CannedReply) -> Defect {
    match ask(reply) {
        Err(CallFailure::Garbled(garbled)) => garbled.defect,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_is_what_a2a_and_aap_ask_for() {
    let part = r#"{"data":{"type":"inventory.search.response","data":{"total":1.0}}}"#;
    let fake = Fake::start(vec![CannedReply::http(200, &[], result(part))]);
    let client = client(&fake).checking(terms).within("c-9").with_token("t0ken").unwrap();
    assert!(!format!("{client:?}").contains("t0ken"));
    let payload = json!({"filters": {"make": ["Honda"]}});
    let answer = fake.run(client.call(Skill::InventorySearch, payload)).unwrap();
    assert_eq!(answer.raw.get(), r#"{"type":"inventory.search.response","data":{"total":1.0}}"#);
    let requests = fake.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    for line in [
        "POST /a2a HTTP/1.1",
        "content-type: application/json",
        "a2a-version: 1.0",
        "a2a-extensions: https://autoagentprotocol.org/extensions/aap/v1.1",
        "authorization: Bearer t0ken",
    ] {
        assert!(head.lines().any(|found| found == line), "{line} is not in:\n{head}");
    }
    let mut body: Value = tradepost_document::json::from_str(body).unwrap();
    let id = body["id"].take();
    let message_id = body["params"]["message"]["messageId"].take();
    assert_ne!(id, message_id);
    assert!(Uuid::parse_str(message_id.as_str().unwrap()).is_ok());
    let expected = json!({
        "jsonrpc": "2.0", "id": null, "method": "SendMessage", "params": {
            "tenant": "acme",
            "message": {"messageId": null, "contextId": "c-9", "role": "ROLE_USER", "parts": [{
                "data": {"type": "inventory.search.request", "filters": {"make": ["Honda"]}},
                "mediaType": "application/vnd.autoagent.inventory-search-request+json"}]},
            "configuration": {"acceptedOutputModes":
                ["application/vnd.autoagent.inventory-search-response+json"]},
        }
    });
    assert_eq!(body, expected);
    tradepost_a2a::send_message(Some(&json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": body["params"]["message"]["parts"]}
    })))
    .unwrap();
}

#[test]
fn invalid_requests_are_not_sent_and_every_problem_is_listed() {
    let fake = Fake::start(vec![]);
    let client = client(&fake).checking(terms);
    let payload = json!({"filters": {"make": "Honda", "colour": []}, "limit": 5});
    match fake.run(client.call(Skill::InventorySearch, payload)) {
        Err(CallFailure::Unsent(Unsent::Invalid(refusal))) => {
            assert_eq!(refusal.problems.total(), 3, "{refusal:?}");
        }
        other => panic!("{other:?}"),
    }
    match fake.run(client.call(Skill::LeadSubmit, json!({}))) {
        Err(CallFailure::Unsent(Unsent::SkillNotOffered { offered, .. })) => {
            assert_eq!(offered, [Skill::InventorySearch, Skill::InventoryVehicle]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_token_is_sent_in_clear_over_a_public_network() {
    let fake = Fake::start(vec![]);
    let mut public = client(&fake);
    public.endpoint = Url::parse("http://dealer.example/a2a").unwrap();
    assert!(matches!(public.with_token("t"), Err(CallFailure::Unsent(Unsent::Address(_)))));
    assert!(client(&fake).with_token("a\nb").is_err());
}

#[test]
fn a_token_goes_to_the_card_s_own_origin_alone() {
    let fake = Fake::start(vec![]);
    let mut elsewhere = client(&fake);
    elsewhere.endpoint = Url::parse("https://other.example/a2a").unwrap();
    let refused = elsewhere.clone().with_token("t").unwrap_err();
    assert!(matches!(refused, CallFailure::Unsent(Unsent::TokenForOther { .. })), "{refused:?}");
    let origin = ["https://other.example".parse().unwrap()];
    assert!(elsewhere.with_token(BearerToken::new("t").only_for(origin)).is_ok());
    assert!(client(&fake).with_token("t").is_ok());
}

#[test]
fn hostile_answers_are_garbled_and_said_to_be_so() {
    let search = r#"{"data":{"type":"inventory.search.response","data":{}}}"#;
    let good = result(search);
    let completed = completed(search);
    let deep = format!(r#"{{"data":{}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    let rpc = |why| Defect::NotJsonRpc(why);
    let aap = |why| Defect::NotAap(why);
    assert!(ask(CannedReply::http(200, &[], &good)).is_ok());
    let cases: Vec<(Vec<u8>, Defect)> = vec![
        (b"".to_vec(), Defect::Empty),
        (b" \r\n ".to_vec(), Defect::Empty),
        (b"<html><body>hello</body></html>".to_vec(), Defect::NotJson),
        (good.as_bytes()[..good.len() - 1].to_vec(), Defect::NotJson),
        (b"{\"jsonrpc\":\"\xff\xfe\"}".to_vec(), Defect::NotUtf8),
        ("[".repeat(60_000).into(), Defect::NotJson),
        (format!("{}{}", "[".repeat(5_000), "]".repeat(5_000)).into(), rpc("it is not an object")),
        (result(&deep).into(), Defect::NotJson),
        (b"[]".to_vec(), rpc("it is not an object")),
        (b"{}".to_vec(), rpc("jsonrpc is not \"2.0\"")),
        (br#"{"jsonrpc":"2.0","id":"{id}"}"#.to_vec(), rpc("it has neither a result nor an error")),
        (
            br#"{"jsonrpc":"2.0","id":"{id}","result":{},"error":{"code":1}}"#.to_vec(),
            rpc("it has both a result and an error"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":"{id}","result":{},"result":{}}"#.to_vec(),
            rpc("a member is repeated"),
        ),
        (
            br#"{"jsonrpc":"2.0","id":"{id}","error":{"code":"x"}}"#.to_vec(),
            rpc("its error has no whole number as code"),
        ),
        (good.replace("{id}", "other").into(), Defect::WrongId),
        (good.replace("\"{id}\"", "1").into(), Defect::WrongId),
        (good.replace("\"{id}\"", "null").into(), Defect::WrongId),
        (
            result(search).replace("\"message\"", "\"task\":{},\"message\"").into(),
            aap("the result has both a message and a task"),
        ),
        (
            completed.replace("COMPLETED", "WORKING").into(),
            aap("the result has a task that is not completed; AAP has a message"),
        ),
        (
            completed.replace("\"status\"", "\"stand\"").into(),
            aap("the result has a task that is not completed; AAP has a message"),
        ),
        (completed.replace("\"parts\"", "\"pieces\"").into(), aap("the answer has no data part")),
        (
            result(search).replace("\"message\":", "\"reply\":").into(),
            aap("the result is not {\"message\": ...} with parts"),
        ),
        (result(r#"{"text":"hello"}"#).into(), aap("the answer has no data part")),
        (result("").into(), aap("the answer has no data part")),
        (result(r#"{"data":{},"text":"x"}"#).into(), aap("a part has several contents")),
        (
            result(&format!("{search},{search}")).into(),
            aap("several data parts are of the response type"),
        ),
        (
            result(r#"{"data":{"type":"inventory.vehicle.response","data":{}}}"#).into(),
            aap("no data part is of the skill's response type"),
        ),
        (
            result(r#"{"data":{"type":"inventory.search.response","data":[]}}"#).into(),
            aap("the payload has no data object"),
        ),
        (vec![b'x'; MAX_BODY + 1], Defect::TooLarge(MAX_BODY)),
    ];
    for (body, expected) in cases {
        let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        assert_eq!(garbled(CannedReply::http(200, &[], &body)), expected, "{shown}");
    }
}

#[test]
fn a_task_instead_of_a_message_is_taken_with_warning() {
    let payload = r#"{"data":{"type":"inventory.search.response","data":{"total":1}}}"#;
    let error = r#"{"data":{"type":"aap.error","code":"RATE_LIMITED","retryable":true}}"#;
    let in_its_words = completed(payload)
        .replace("\"artifacts\"", "\"notes\"")
        .replace("COMPLETED\"", &format!("COMPLETED\",\"message\":{{\"parts\":[{payload}]}}"));
    for body in [completed(payload), in_its_words] {
        let answer = ask(CannedReply::http(200, &[], &body)).unwrap();
        assert_eq!(answer.data(), &json!({"total": 1}));
        assert_eq!(answer.context_id.as_deref(), Some("c"));
        let warning = answer.departure.unwrap().to_string();
        assert_eq!(warning, "the dealer answers with a completed task where AAP has a message");
    }
    let usual = ask(CannedReply::http(200, &[], result(payload))).unwrap();
    assert_eq!((usual.departure, usual.data()), (None, &json!({"total": 1})));
    let refused = ask(CannedReply::http(200, &[], completed(error))).unwrap_err();
    assert!(matches!(refused, CallFailure::Refused(_)), "{refused:?}");
}

#[test]
fn a_byte_order_mark_before_json_is_passed_over() {
    let payload = r#"{"data":{"type":"inventory.search.response","data":{"total":1}}}"#;
    let marked = |text: String| ["\u{feff}".as_bytes(), text.as_bytes()].concat();
    let answer = ask(CannedReply::http(200, &[], marked(result(payload)))).unwrap();
    assert_eq!(answer.data(), &json!({"total": 1}));
    let error = r#"{"jsonrpc":"2.0","id":"{id}","error":{"code":-32601,"message":"m"}}"#;
    let failure = ask(CannedReply::http(200, &[], marked(error.into()))).unwrap_err();
    assert!(matches!(failure, CallFailure::Refused(_)), "{failure:?}");
    let only = garbled(CannedReply::http(200, &[], "\u{feff}"));
    assert_eq!(
        (only, garbled(CannedReply::http(200, &[], "{}\u{feff}"))),
        (Defect::Empty, Defect::NotJson)
    );
}

#[test]
fn answers_that_stop_or_stall_are_told_apart() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"json".to_vec();
    assert_eq!(garbled(CannedReply::Bytes(head.clone())), Defect::Truncated);
    assert_eq!(garbled(CannedReply::Stall(head)), Defect::Stalled(STALLED));
    let unanswered = |reply| match ask(reply) {
        Err(CallFailure::Unanswered(unanswered)) => unanswered,
        other => panic!("{other:?}"),
    };
    assert_eq!(unanswered(CannedReply::Stall(Vec::new())), Unanswered::TimedOut(STALLED));
    assert!(matches!(unanswered(CannedReply::Bytes(Vec::new())), Unanswered::Broken(_)));
    assert!(matches!(
        unanswered(CannedReply::Bytes(b"SSH-2.0-x\r\n".to_vec())),
        Unanswered::Broken(_)
    ));
    let elsewhere = CannedReply::http(307, &[("location", "http://169.254.169.254/")], "");
    assert!(matches!(garbled(elsewhere), Defect::Redirect { location: Some(_) }));
}

#[test]
fn errors_are_read_at_any_http_status() {
    let error = r#"{"jsonrpc":"2.0","id":"{id}","error":{"code":-32002,"message":"RATE_LIMITED: x",
        "data":{"type":"aap.error","code":"RATE_LIMITED","message":"x","retryable":true}}}"#;
    let unread = error.replace("\"{id}\"", "null");
    for (status, body) in [(200, error), (429, error), (500, error), (400, unread.as_str())] {
        let reply = CannedReply::http(status, &[("retry-after", "3")], body);
        let Err(CallFailure::Refused(refused)) = ask(reply) else { panic!("{status}") };
        assert!(matches!(refused.by, RefusalForm::Aap { jsonrpc: -32002, .. }), "{refused:?}");
        assert_eq!(refused.retry_after, Some(Duration::from_secs(3)));
        assert_eq!(refused.kept.status, status);
    }
    let in_a_result = result(r#"{"data":{"type":"aap.error","code":"VEHICLE_NOT_FOUND"}}"#);
    assert!(matches!(ask(CannedReply::http(200, &[], in_a_result)), Err(CallFailure::Refused(_))));
}

#[test]
fn a_refusal_without_json_rpc_is_one_by_status() {
    let good = result(r#"{"data":{"type":"inventory.search.response","data":{}}}"#);
    for (status, body) in [(401, ""), (502, "<html>"), (503, "{}"), (500, good.as_str())] {
        let Err(CallFailure::Refused(refused)) = ask(CannedReply::http(status, &[], body)) else {
            panic!("{status}")
        };
        assert!(matches!(refused.by, RefusalForm::Http(found) if found == status));
        assert_eq!(refused.is_retryable(), status != 401);
    }
}

#[test]
fn vehicles_without_a_usable_status_are_ignored() {
    let part = r#"{"data":{"type":"inventory.search.response","data":{"vehicles":[
        {"status":"available"},{"status":"sold"},{},5,{"status":"pending"}]}}}"#;
    let answer = ask(CannedReply::http(200, &[], result(part))).unwrap();
    let (listed, ignored) = answer.vehicles();
    assert_eq!((listed.len(), ignored), (2, 3));
}
