//! Clients that declare forms and give no answer to one, and the ways of asking that an operator can choose.

use std::time::Duration;

use tradepost_bridge::{AskMode, BridgeOptions};
use tradepost_document::json::{Value, json};

use super::asked::{RawClient, answer, code, yes};
use super::{confirmed, fake, lead, time};

fn dealer() -> fake::Fake {
    fake::Fake::start(|_| Ok(json!({"lead_id": "L1", "status": "received"})))
}

/// Kinds of missing answers to a form.
#[derive(Debug, Clone, Copy)]
enum MissingAnswer {
    /// No answer before the time is up.
    Silence,
    /// JSON-RPC error.
    Error,
    /// Object that is no answer to a form.
    Nonsense,
}

/// Submits a lead without answering its form. Returns the question and the result of the call.
async fn submit_unanswered(client: &mut RawClient, missing: MissingAnswer) -> (Value, Value) {
    client.submit(1, lead()).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    match missing {
        MissingAnswer::Silence => {
            tokio::time::advance(Duration::from_secs(601)).await;
            assert_eq!(client.next().await["method"], "notifications/cancelled");
        }
        MissingAnswer::Error => {
            let failed = json!({"code": -32603, "message": "no window"});
            client.send(json!({"jsonrpc": "2.0", "id": question["id"], "error": failed})).await;
        }
        MissingAnswer::Nonsense => client.send(answer(&question, json!({}))).await,
    }
    let result = client.next().await["result"].clone();
    (question, result)
}

#[test]
fn an_unanswered_form_becomes_a_question_in_two_calls() {
    for missing in [MissingAnswer::Silence, MissingAnswer::Error, MissingAnswer::Nonsense] {
        let dealer = dealer();
        time::run_held(async {
            let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
            client.hello("2025-06-18", json!({"elicitation": {}})).await;
            let (_, result) = submit_unanswered(&mut client, missing).await;
            let first = &result["structuredContent"];
            assert_eq!(first["status"], "confirmation_required", "{missing:?}: {result}");
            assert_eq!(first["form_unanswered"], true);
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.starts_with("The client said that it can show a form"), "{text}");
            assert_eq!(dealer.payloads().len(), 0, "nothing is sent before the second call");
            let changed = super::with(confirmed(lead(), first), json!({"message": "Other."}));
            client.submit(2, changed).await;
            assert_eq!(code(&client.next().await), "CONFIRMATION_INVALID");
            client.submit(3, confirmed(lead(), first)).await;
            let sent = client.next().await;
            assert_eq!(sent["result"]["structuredContent"]["status"], "sent", "{sent}");
        });
        assert_eq!(dealer.payloads().len(), 1);
    }
}

#[test]
fn a_no_that_comes_late_is_final() {
    let dealer = dealer();
    time::run_held(async {
        let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
        client.hello("2025-06-18", json!({"elicitation": {}})).await;
        for (late, expected) in [
            (json!({"action": "decline"}), "DECLINED"),
            (json!({"action": "accept", "content": {"agree": false}}), "DECLINED"),
            // The client closes its form because nobody waits any longer.
            (json!({"action": "cancel"}), "sent"),
            (yes(), "sent"),
        ] {
            let (question, result) = submit_unanswered(&mut client, MissingAnswer::Silence).await;
            client.send(answer(&question, late.clone())).await;
            client.submit(2, confirmed(lead(), &result["structuredContent"])).await;
            let document = client.next().await["result"]["structuredContent"].clone();
            let end = document["code"].as_str().or_else(|| document["status"].as_str());
            assert_eq!(end, Some(expected), "{late}: {document}");
        }
    });
    assert_eq!(dealer.payloads().len(), 2);
}

#[test]
fn by_form_alone_nothing_takes_the_place_of_an_answer() {
    let dealer = dealer();
    let form = |options: &mut BridgeOptions| options.ask = AskMode::Form;
    time::run_held(async {
        for (missing, expected) in [
            (MissingAnswer::Silence, "PERSON_SILENT"),
            (MissingAnswer::Error, "ANSWER_INVALID"),
            (MissingAnswer::Nonsense, "ANSWER_INVALID"),
        ] {
            let mut client = RawClient::start(&[&dealer.name], form).await;
            client.hello("2025-06-18", json!({"elicitation": {}})).await;
            let (_, result) = submit_unanswered(&mut client, missing).await;
            assert_eq!(result["structuredContent"]["code"], expected);
        }
    });
    assert_eq!(dealer.payloads().len(), 0);
}

#[test]
fn in_two_calls_nobody_is_shown_a_form() {
    let dealer = dealer();
    time::run_held(async {
        let confirm = |options: &mut BridgeOptions| options.ask = AskMode::Confirm;
        let mut client = RawClient::start(&[&dealer.name], confirm).await;
        client.hello("2025-06-18", json!({"elicitation": {}})).await;
        client.submit(1, lead()).await;
        let first = client.next().await["result"]["structuredContent"].clone();
        assert_eq!(first["status"], "confirmation_required");
        assert_eq!(first.get("form_unanswered"), None);
        client.submit(2, confirmed(lead(), &first)).await;
        let sent = client.next().await;
        assert_eq!(sent["result"]["structuredContent"]["status"], "sent", "{sent}");
    });
    assert_eq!(dealer.payloads().len(), 1);
}
