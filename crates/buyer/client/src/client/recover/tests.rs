use tradepost_document::json::json;

use super::*;
use crate::client::tests::{client, result};
use crate::failure::Unsent;
use crate::fake::{CannedReply, Fake, Virtual};
use crate::recovery::{AskReason, RecoveryAdvice, RequestChange, StopReason};
use crate::retry::{RetryLimits, Sizes};

fn recoverer(clock: &Virtual) -> Recoverer<Virtual> {
    Recoverer::new(clock.clone(), RetryLimits::default(), Sizes::default())
}

fn refused(code: &str, details: &Value) -> CannedReply {
    let data = json!({"type": "aap.error", "code": code, "message": "m", "details": details});
    let error = json!({"code": -32000, "message": code, "data": data});
    let body = json!({"jsonrpc": "2.0", "id": "{id}", "error": error});
    CannedReply::http(200, &[], body.to_string())
}

fn accepted(kind: &str) -> CannedReply {
    CannedReply::http(200, &[], result(&format!(r#"{{"data":{{"type":"{kind}","data":{{}}}}}}"#)))
}

/// Returns the payloads that the seller received.
fn payloads(fake: &Fake) -> Vec<Value> {
    let bodies = fake.requests().into_iter().map(|request| {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        tradepost_document::json::from_str::<Value>(body).unwrap()
    });
    bodies.map(|mut body| body["params"]["message"]["parts"][0]["data"].take()).collect()
}

#[test]
fn a_lead_keeps_its_key_and_retries_are_not_early() {
    let replies = vec![
        refused("RATE_LIMITED", &json!({"retry_after_ms": 30_000})),
        CannedReply::http(503, &[("retry-after", "2")], ""),
        CannedReply::Bytes(Vec::new()),
        accepted("lead.submit.response"),
    ];
    let fake = Fake::start(replies);
    let clock = Virtual::new(0.0);
    let client = client(&fake);
    let recoverer = recoverer(&clock);
    let call = client.call_with_recovery(
        Skill::LeadSubmit,
        json!({"customer": {}}),
        &recoverer,
        uncorrected,
    );
    let recovered = fake.run(call).unwrap();
    assert_eq!(recovered.spent.attempts, 4);
    assert_eq!(clock.sleeps(), [30.0, 2.0, 6.0]);
    let sent = payloads(&fake);
    assert_eq!(sent.len(), 4);
    assert!(sent[0]["idempotency_key"].as_str().is_some_and(|key| key.len() == 36));
    assert!(sent.iter().all(|payload| payload == &sent[0]));
}

#[test]
fn an_error_in_a_result_says_how_long_to_wait() {
    let error = json!({"type": "aap.error", "code": "RATE_LIMITED", "message": "m",
        "details": {"retry_after_ms": 30_000}});
    let instead = CannedReply::http(200, &[], result(&json!({"data": error}).to_string()));
    let fake = Fake::start(vec![instead, accepted("lead.submit.response")]);
    let clock = Virtual::new(0.0);
    let client = client(&fake);
    let recoverer = recoverer(&clock);
    let payload = json!({"customer": {}});
    let call = client.call_with_recovery(Skill::LeadSubmit, payload, &recoverer, uncorrected);
    fake.run(call).unwrap();
    assert_eq!(clock.sleeps(), [30.0]);
}

#[test]
fn a_corrected_lead_has_a_fresh_key_unless_given_one() {
    for (own, conflict) in [(None, true), (Some("mine-2"), false)] {
        let fake = Fake::start(vec![
            refused("IDEMPOTENCY_CONFLICT", &json!({})),
            accepted("lead.submit.response"),
        ]);
        let clock = Virtual::new(0.0);
        let client = client(&fake);
        let recoverer = recoverer(&clock);
        let payload = json!({"customer": {}, "idempotency_key": "mine"});
        let mut changes = Vec::new();
        let correct = |fix: &Fix, _: &CallFailure, payload: &mut Value| {
            changes.push(fix.change.clone());
            if let Some(own) = own {
                payload["idempotency_key"] = json!(own);
            }
            true
        };
        let call = client.call_with_recovery(Skill::LeadSubmit, payload, &recoverer, correct);
        assert!(fake.run(call).is_ok());
        assert_eq!(changes, [RequestChange::NewKey]);
        let keys: Vec<_> =
            payloads(&fake).into_iter().map(|mut sent| sent["idempotency_key"].take()).collect();
        assert_eq!(keys[0], "mine");
        assert_eq!(keys[1] != "mine-2" && keys[1] != "mine", conflict);
    }
}

#[test]
fn what_the_loop_cannot_do_comes_back_as_advice() {
    let clock = Virtual::new(0.0);
    let advice = |reply: CannedReply, skill: Skill| {
        let fake = Fake::start(vec![reply]);
        let client = client(&fake);
        let recoverer = recoverer(&clock);
        let call = client.call_with_recovery(skill, json!({}), &recoverer, uncorrected);
        let gave_up = fake.run(call).unwrap_err();
        assert_eq!(gave_up.spent.attempts, 1);
        assert_eq!(fake.requests().len(), 1);
        gave_up.advice
    };
    let details = json!({"errors": [{"instanceLocation": "/filters/make"}]});
    let RecoveryAdvice::Fix(fix) =
        advice(refused("SCHEMA_VALIDATION_FAILED", &details), Skill::InventorySearch)
    else {
        panic!()
    };
    assert_eq!(fix.fields, ["/filters/make"]);
    let consent = advice(refused("CONTACT_CONSENT_REQUIRED", &json!({})), Skill::LeadSubmit);
    assert_eq!(consent, RecoveryAdvice::Ask(AskReason::Consent));
    let unauthorized = CannedReply::http(401, &[], "");
    let missing = RecoveryAdvice::Ask(AskReason::CredentialsMissing);
    assert_eq!(advice(unauthorized, Skill::InventorySearch), missing);
    let gone = advice(CannedReply::http(404, &[], ""), Skill::InventorySearch);
    assert_eq!(gone, RecoveryAdvice::Stop(StopReason::NoAgent));
    assert_eq!(clock.sleeps().len(), 0);
}

#[test]
fn a_rejected_token_is_not_presented_again() {
    let fake = Fake::start(vec![CannedReply::http(401, &[], "")]);
    let client = client(&fake).with_token("t0ken").unwrap();
    let clock = Virtual::new(0.0);
    let recoverer = recoverer(&clock);
    let call =
        client.call_with_recovery(Skill::InventorySearch, json!({}), &recoverer, uncorrected);
    let gave_up = fake.run(call).unwrap_err();
    assert_eq!(gave_up.advice, RecoveryAdvice::Ask(AskReason::CredentialsRejected));
    assert_eq!(fake.requests().len(), 1);
}

#[test]
fn in_doubt_payloads_without_a_key_are_not_sent_twice() {
    let fake = Fake::start(vec![CannedReply::Bytes(Vec::new())]);
    let clock = Virtual::new(0.0);
    let client = client(&fake);
    let recoverer = recoverer(&clock);
    let call = client.call_with_recovery(Skill::LeadSubmit, json!([]), &recoverer, uncorrected);
    assert_eq!(fake.run(call).unwrap_err().advice, RecoveryAdvice::Ask(AskReason::InDoubt));
}

#[test]
fn a_dealer_that_goes_down_leaves_doubt_and_the_key() {
    let clock = Virtual::new(0.0);
    for (skill, in_doubt) in [(Skill::LeadSubmit, true), (Skill::InventorySearch, false)] {
        let fake = Fake::start(vec![CannedReply::GoDown]);
        let client = client(&fake);
        let recoverer = recoverer(&clock);
        let call = client.call_with_recovery(skill, json!({}), &recoverer, uncorrected);
        let gave_up = fake.run(call).unwrap_err();
        assert!(
            matches!(gave_up.failure, CallFailure::Unsent(Unsent::Unreachable(_))),
            "{gave_up}"
        );
        assert_eq!((gave_up.spent.attempts, gave_up.stopped), (4, false));
        assert_eq!(gave_up.doubt.in_doubt(), in_doubt);
        // The buyer is told the key that the dealer has.
        let sent = payloads(&fake);
        let key = sent[0]["idempotency_key"].as_str();
        assert_eq!((sent.len(), gave_up.key.as_deref()), (1, key));
        assert_eq!(gave_up.doubt.keys().next(), key);
    }
}

#[test]
fn nobody_there_is_tried_four_times() {
    let fake = Fake::start(vec![]);
    let client = client(&fake);
    drop(fake);
    // Nothing listens on the address any more.
    let clock = Virtual::new(0.5);
    let recoverer = recoverer(&clock);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call =
        client.call_with_recovery(Skill::InventorySearch, json!({}), &recoverer, uncorrected);
    let gave_up = runtime.block_on(call).unwrap_err();
    assert!(matches!(gave_up.failure, CallFailure::Unsent(Unsent::Unreachable(_))));
    assert_eq!((gave_up.spent.attempts, clock.sleeps()), (4, vec![2.0, 4.0, 8.0]));
}

/// Builds the card of an agent at this address.
fn card_of(agent: &Fake) -> CannedReply {
    let card = json!({
        "name": "A",
        "supportedInterfaces": [{"url": format!("{}/new", agent.url), "protocolBinding": "JSONRPC",
            "protocolVersion": "1.0", "tenant": "acme"}],
        "capabilities": {"extensions": [{"uri": tradepost_aap::Version::V1_1.uri()}]},
        "skills": [{"id": "lead.submit"}],
    });
    CannedReply::http(200, &[("age", "200"), ("cache-control", "max-age=300")], card.to_string())
}

#[test]
fn an_agent_that_moved_is_found_by_its_card_once() {
    for status in [404, 405, 410] {
        let new = Fake::start(vec![accepted("lead.submit.response")]);
        let old = Fake::start(vec![CannedReply::http(status, &[], "gone"), card_of(&new)]);
        let clock = Virtual::new(0.0);
        // Without a budget for retries, because the first request was not processed.
        let limits = RetryLimits { attempts: 1, ..RetryLimits::default() };
        let recoverer = Recoverer::new(clock.clone(), limits, Sizes::default());
        let client = reading(&old, client(&old));
        let call = client.call_with_recovery(Skill::LeadSubmit, json!({}), &recoverer, uncorrected);
        let recovered = old.run(call).unwrap();
        assert!(!recovered.doubt.in_doubt(), "{status}");
        let before = old.requests();
        let after = new.requests();
        assert!(before[1].contains("cache-control: no-cache\r\n"), "{}", before[1]);
        assert!(after[0].starts_with("POST /new HTTP/1.1\r\n"), "{}", after[0]);
        let body = |request: &str| request.split_once("idempotency_key").unwrap().1.to_owned();
        assert_eq!(body(&before[0]), body(&after[0]), "{status}");
        assert_eq!(clock.sleeps(), [0.0; 0]);
    }
}

#[test]
fn a_card_that_leads_nowhere_else_is_not_read_twice() {
    let gone = || CannedReply::http(404, &[], "");
    // The new card leads to an address without an agent, there is no card, or it is no card.
    let other = Fake::start(vec![gone()]);
    let clock = Virtual::new(0.0);
    for (card, requests) in
        [(card_of(&other), 2), (gone(), 2), (CannedReply::http(200, &[], "{}"), 2)]
    {
        let old = Fake::start(vec![gone(), card, gone()]);
        let client = reading(&old, client(&old));
        let recoverer = recoverer(&clock);
        let call = client.call_with_recovery(Skill::LeadSubmit, json!({}), &recoverer, uncorrected);
        let gave_up = old.run(call).unwrap_err();
        assert_eq!(gave_up.advice, RecoveryAdvice::Stop(StopReason::NoAgent));
        assert!(!gave_up.doubt.in_doubt());
        assert_eq!(old.requests().len(), requests);
    }
}

#[test]
fn a_token_does_not_follow_a_card_to_another_origin() {
    let new = Fake::start(vec![accepted("lead.submit.response")]);
    let old = Fake::start(vec![CannedReply::http(404, &[], ""), card_of(&new)]);
    let clock = Virtual::new(0.0);
    let client = reading(&old, client(&old)).with_token("s3cret").unwrap();
    let recoverer = recoverer(&clock);
    let call = client.call_with_recovery(Skill::LeadSubmit, json!({}), &recoverer, uncorrected);
    let gave_up = old.run(call).unwrap_err();
    assert_eq!(gave_up.advice, RecoveryAdvice::Stop(StopReason::NoAgent));
    assert_eq!(new.requests().len(), 0);
}

/// Makes the client read the card at this address again.
fn reading(seller: &Fake, client: SkillClient) -> SkillClient {
    let card = crate::discover::card_url(&seller.url).unwrap();
    client.rereading(crate::CardReader::new_unverified(crate::fake::transport(), card))
}
