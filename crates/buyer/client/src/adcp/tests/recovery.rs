//! Tasks that are sent again, and what the seller is asked before.

use super::*;
use crate::fake::Virtual;
use crate::retry::{GaveUp, Recovered, Recoverer, RetryLimits, Sizes};

/// Builds an answer with these idempotency terms.
fn promising(terms: &Value) -> CannedReply {
    json_reply(&tool(&json!({"adcp": {"idempotency": terms}})))
}

fn a_day() -> CannedReply {
    promising(&json!({"supported": true, "replay_ttl_seconds": 86400}))
}

fn buy(fake: &Fake, clock: Virtual) -> Result<Recovered<SellerAnswer>, Box<GaveUp>> {
    let recoverer = Recoverer::new(clock, RetryLimits::default(), Sizes::default());
    let client = mcp(fake);
    fake.run(client.call_with_recovery("create_media_buy", Map::new(), &recoverer, |_, _, _| false))
}

#[test]
fn a_purchase_is_repeated_only_where_its_key_is_known() {
    let lost = || CannedReply::Bytes(Vec::new());
    let bought = || json_reply(&tool(&json!({"media_buy_id": "m"})));
    let busy = || {
        json_reply(&json!({"isError": true, "structuredContent": failed("SERVICE_UNAVAILABLE")}))
    };
    let unknown = || json_reply(&json!({"isError": true, "content": []}));
    let names = |fake: &Fake| -> Vec<String> {
        let name =
            |(_, body): &(String, Value)| body["params"]["name"].as_str().unwrap().to_owned();
        sent(fake).iter().map(name).collect()
    };
    // Asked once, whatever is lost afterwards.
    let fake = Fake::start(vec![lost(), a_day(), lost(), bought()]);
    let recovered = buy(&fake, Virtual::new(0.0)).unwrap();
    assert_eq!((recovered.spent.attempts, recovered.doubt.in_doubt()), (3, false));
    let asked =
        ["create_media_buy", "get_adcp_capabilities", "create_media_buy", "create_media_buy"];
    assert_eq!(names(&fake), asked);
    // A seller that cannot be asked is asked again, and then gets the purchase.
    let fake = Fake::start(vec![lost(), lost(), a_day(), bought()]);
    assert_eq!(buy(&fake, Virtual::new(0.0)).unwrap().spent.attempts, 3);
    // Nothing is promised, or not for so long.
    for (first, terms, in_doubt) in [
        (lost(), promising(&json!({"supported": false})), true),
        (lost(), promising(&json!({"supported": true, "replay_ttl_seconds": 60})), true),
        (lost(), promising(&json!(null)), true),
        (lost(), unknown(), true),
        (busy(), promising(&json!({"supported": false})), false),
    ] {
        let fake = Fake::start(vec![first, terms, bought()]);
        let gave_up = buy(&fake, Virtual::new(0.0)).unwrap_err();
        assert_eq!(names(&fake), ["create_media_buy", "get_adcp_capabilities"]);
        assert_eq!(gave_up.advice, RecoveryAdvice::Ask(AskReason::Unpromised));
        assert_eq!((gave_up.spent.attempts, gave_up.doubt.in_doubt()), (1, in_doubt));
        assert!(!gave_up.doubt.may_repeat());
        let text = gave_up.to_string();
        assert!(!text.contains("send it again only"), "{text}");
        assert_eq!(text.contains(gave_up.key.as_deref().unwrap()), in_doubt, "{text}");
    }
    // A failed question about the promise puts no doubt on the purchase, which the seller refused.
    let fake = Fake::start(std::iter::once(busy()).chain((0..20).map(|_| lost())).collect());
    let gave_up = buy(&fake, Virtual::new(0.0)).unwrap_err();
    assert!(!gave_up.doubt.in_doubt(), "{gave_up}");
    assert_eq!(names(&fake).iter().filter(|name| *name == "create_media_buy").count(), 1);
}

#[test]
fn e_4_retries_keep_the_key_and_corrections_change_it() {
    let tool_error =
        |code| json_reply(&json!({"isError": true, "structuredContent": failed(code)}));
    let fake = Fake::start(vec![
        tool_error("SERVICE_UNAVAILABLE"),
        a_day(),
        CannedReply::Bytes(Vec::new()),
        tool_error("BUDGET_TOO_LOW"),
        json_reply(&tool(&json!({"media_buy_id": "m"}))),
    ]);
    let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
    let client = mcp(&fake);
    let call = client.call_with_recovery(
        "create_media_buy",
        arguments(json!({"total_budget": 1})),
        &recoverer,
        |_, _, arguments| arguments.insert("total_budget".into(), 2.into()).is_some(),
    );
    let recovered = fake.run(call).unwrap();
    assert_eq!(recovered.spent.attempts, 4);
    let sent = sent(&fake);
    let argument = |index: usize, name: &str| sent[index].1["params"]["arguments"][name].clone();
    // The second request asks for the promise.
    assert_eq!(argument(0, KEY), argument(2, KEY));
    assert_eq!(argument(0, KEY), argument(3, KEY));
    assert_ne!(argument(3, KEY), argument(4, KEY));
    assert_eq!((argument(3, "total_budget"), argument(4, "total_budget")), (json!(1), json!(2)));
}

#[test]
fn in_doubt_acting_tasks_without_a_key_are_not_repeated() {
    let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
    for (name, attempts) in [
        ("x_buy_everything", 1),
        ("get_everything", 1),
        ("si_terminate_session", 1),
        ("si_get_offering", 2),
        ("get_products", 2),
    ] {
        let replies = vec![CannedReply::Bytes(Vec::new()), json_reply(&tool(&json!({})))];
        let fake = Fake::start(replies);
        let client = mcp(&fake);
        let call = client.call_with_recovery(name, Map::new(), &recoverer, |_, _, _| false);
        let spent = match fake.run(call) {
            Ok(recovered) => recovered.spent,
            Err(gave_up) => {
                assert_eq!(gave_up.advice, RecoveryAdvice::Ask(AskReason::InDoubt));
                gave_up.spent
            }
        };
        assert_eq!(spent.attempts, attempts, "{name}");
    }
}
fn account(billing: &str) -> Value {
    json!({"brand": {"domain": "b.example"}, "operator": "o.example", "billing": billing})
}

fn rejected(suggested: Option<&str>) -> CannedReply {
    let mut details = json!({"rejected_billing": "agent"});
    if let Some(billing) = suggested {
        details["suggested_billing"] = billing.into();
    }
    let error = json!({"code": "BILLING_NOT_PERMITTED_FOR_AGENT", "message": "m",
        "recovery": "correctable", "details": details});
    json_reply(&tool(
        &json!({"status": "completed", "accounts": [{"brand": {"domain": "b.example"},
        "operator": "o.example", "action": "failed", "status": "rejected", "errors": [error]}]}),
    ))
}

#[test]
fn b_5_the_loop_takes_the_suggested_billing_once() {
    let created = json_reply(&tool(&json!({"accounts": [{"brand": {"domain": "b.example"},
        "operator": "o.example", "action": "created", "status": "active"}]})));
    for (second, left, asked) in [(created, 0, 2), (rejected(Some("advertiser")), 1, 2)] {
        let fake = Fake::start(vec![rejected(Some("operator")), second]);
        let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
        let client = strict(&fake);
        let accounts = arguments(json!({"accounts": [account("agent")]}));
        let call =
            client.call_with_recovery("sync_accounts", accounts, &recoverer, |_, _, _| false);
        let recovered = fake.run(call).unwrap();
        assert_eq!((recovered.answer.again.len(), recovered.spent.attempts), (1, 2));
        assert_eq!(recovered.answer.failed_rows().count(), left);
        let sent = sent(&fake);
        assert_eq!(sent.len(), asked);
        let argument =
            |index: usize, name: &str| sent[index].1["params"]["arguments"][name].clone();
        assert_eq!(argument(1, "accounts"), json!([account("operator")]));
        assert_ne!(argument(0, KEY), argument(1, KEY));
    }
    // Without a suggestion, a person has to decide.
    let fake = Fake::start(vec![rejected(None)]);
    let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
    let client = strict(&fake);
    let accounts = arguments(json!({"accounts": [account("agent")]}));
    let call = client.call_with_recovery("sync_accounts", accounts, &recoverer, |_, _, _| false);
    let recovered = fake.run(call).unwrap();
    assert_eq!((recovered.answer.failed_rows().count(), recovered.spent.attempts), (1, 1));
    // The same when a person has agreed to one way of billing.
    let fake = Fake::start(vec![rejected(Some("operator"))]);
    let client = strict(&fake).without_rows();
    let accounts = arguments(json!({"accounts": [account("agent")]}));
    let call = client.call_with_recovery("sync_accounts", accounts, &recoverer, |_, _, _| false);
    let recovered = fake.run(call).unwrap();
    assert_eq!((recovered.answer.failed_rows().count(), recovered.spent.attempts), (1, 1));
    assert!(recovered.answer.again.is_empty());
}

#[test]
fn transient_rows_are_sent_again_within_limits_keeping_doubt() {
    let busy = || {
        let error = json!({"code": "SERVICE_UNAVAILABLE", "message": "m"});
        json_reply(&tool(&json!({"accounts": [{"brand": {"domain": "b.example"},
            "operator": "o.example", "action": "failed", "errors": [error]}]})))
    };
    let run = |replies: Vec<CannedReply>| {
        let fake = Fake::start(replies);
        let clock = Virtual::new(0.0);
        let recoverer = Recoverer::new(clock.clone(), RetryLimits::default(), Sizes::default());
        let client = strict(&fake);
        let accounts = arguments(json!({"accounts": [account("agent")]}));
        let call =
            client.call_with_recovery("sync_accounts", accounts, &recoverer, |_, _, _| false);
        (fake.run(call).unwrap(), clock.sleeps())
    };
    let (recovered, sleeps) = run(vec![busy(), busy(), busy(), busy()]);
    assert_eq!((recovered.spent.attempts, recovered.answer.again.len()), (4, 3));
    assert_eq!((recovered.answer.failed_rows().count(), sleeps), (1, vec![1.5, 3.0, 6.0]));
    let (recovered, _) = run(vec![busy(), CannedReply::GoDown]);
    let gave_up = recovered.answer.gave_up.unwrap();
    assert!(gave_up.doubt.in_doubt() && recovered.doubt.in_doubt());
}

#[test]
fn r_12_permissions_are_read_again_after_300_seconds() {
    let listed = |tasks: &Value| {
        let account = json!({"account_id": "a1", "authorization": {"allowed_tasks": tasks}});
        json_reply(&tool(&json!({"accounts": [{"account_id": "a0"}, account]})))
    };
    let fake = Fake::start(vec![
        listed(&json!(["get_media_buys", "create_media_buy"])),
        listed(&json!(["get_media_buys"])),
    ]);
    let clock = Virtual::new(0.0);
    let recoverer = Recoverer::new(clock.clone(), RetryLimits::default(), Sizes::default());
    let client = strict(&fake);
    let account = json!({"account_id": "a1"});
    let permits = || {
        let read = fake.run(client.authorization(&account, &recoverer)).unwrap();
        read.unwrap().permits("create_media_buy")
    };
    assert!(permits());
    clock.pass(REFRESH - std::time::Duration::from_secs(1));
    assert!(permits());
    assert_eq!(sent(&fake).len(), 1);
    clock.pass(std::time::Duration::from_secs(1));
    assert!(!permits());
    let asked = sent(&fake);
    assert_eq!(asked.len(), 1);
    let params = &asked[0].1["params"];
    assert_eq!(params["name"], "list_accounts");
    assert_eq!(params["arguments"], json!({"account": account}));
}

#[test]
fn what_a_seller_permits_is_not_known_of_another_token() {
    let listed = |tasks: &Value| {
        let account = json!({"account_id": "a1", "authorization": {"allowed_tasks": tasks}});
        json_reply(&tool(&json!({"accounts": [account]})))
    };
    let fake = Fake::start(vec![listed(&json!(["create_media_buy"])), listed(&json!([]))]);
    let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
    let account = json!({"account_id": "a1"});
    let permits = |client: &AdcpClient| {
        let read = fake.run(client.authorization(&account, &recoverer)).unwrap();
        read.unwrap().permits("create_media_buy")
    };
    let first = strict(&fake).with_token("first-token").unwrap();
    assert!(permits(&first));
    assert!(!permits(&first.clone().with_token("second-token").unwrap()));
    assert!(permits(&first.clone()));
    assert_eq!(sent(&fake).len(), 2);
}

#[test]
fn r_12_tasks_are_not_sent_until_they_are_permitted() {
    let listed = |tasks: &Value| {
        let account = json!({"account_id": "a1", "authorization": {"allowed_tasks": tasks}});
        json_reply(&tool(&json!({"accounts": [account]})))
    };
    let fake = Fake::start(vec![
        listed(&json!(["get_media_buys"])),
        listed(&json!(["get_media_buys", "sync_creatives"])),
        json_reply(&tool(&json!({"creatives": []}))),
        json_reply(&tool(&json!({"accounts": []}))),
        json_reply(&tool(&json!({"creatives": []}))),
    ]);
    let clock = Virtual::new(0.0);
    let recoverer = Recoverer::new(clock.clone(), RetryLimits::default(), Sizes::default());
    let client = mcp(&fake).heeding();
    let call = || {
        let account = arguments(json!({"account": {"account_id": "a1"}}));
        let call =
            client.call_with_recovery("sync_creatives", account, &recoverer, |_, _, _| false);
        fake.run(call)
    };
    let gave_up = call().unwrap_err();
    let text = "not sent: the seller does not permit sync_creatives on the account: ask the \
                seller's operator for the scope";
    assert_eq!(gave_up.to_string(), text);
    assert_eq!(call().unwrap_err().spent.attempts, 0);
    clock.pass(REFRESH);
    call().unwrap();
    clock.pass(REFRESH);
    // A seller without `authorization` decides at the call.
    call().unwrap();
    let names: Vec<_> =
        sent(&fake).iter().map(|(_, body)| body["params"]["name"].to_string()).collect();
    let expected =
        ["list_accounts", "list_accounts", "sync_creatives", "list_accounts", "sync_creatives"];
    assert_eq!(names, expected.map(|name| format!("\"{name}\"")));
}

#[test]
fn a_seller_that_has_moved_is_found_by_its_card() {
    let bought = task(
        "TASK_STATE_COMPLETED",
        &json!({"artifacts": [
        {"artifactId": "a", "parts": [{"data": {"media_buy_id": "m"}}]}]}),
    );
    let new = Fake::start(vec![json_reply(&bought)]);
    let card = json!({"name": "A", "supportedInterfaces": [{"url": format!("{}/new", new.url),
        "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"extensions": [{"uri": EXTENSION}]}});
    let card = CannedReply::http(200, &[], card.to_string());
    let old = Fake::start(vec![CannedReply::http(410, &[], ""), card]);
    let url = crate::discover::card_url(&old.url).unwrap();
    let client = a2a(&old).rereading(CardReader::new_unverified(transport(), url));
    let recoverer = Recoverer::new(Virtual::new(0.0), RetryLimits::default(), Sizes::default());
    let call =
        client.call_with_recovery("create_media_buy", Map::new(), &recoverer, |_, _, _| false);
    let recovered = old.run(call).unwrap();
    assert_eq!(recovered.answer.payload["media_buy_id"], "m");
    // The key has never reached the seller, so its promise is not asked for.
    let keys = |fake: &Fake| -> Vec<Value> {
        let data =
            |(_, body): (String, Value)| body["params"]["message"]["parts"][0]["data"].clone();
        sent(fake).into_iter().map(|sent| data(sent)["input"]["idempotency_key"].clone()).collect()
    };
    assert_eq!(keys(&new), [json!(recovered.key.unwrap())]);
}
