//! The buyer's client in front of a real publisher, on every binding: the same answers, the same
//! failures, and a signature that is believed.

use tradepost_client::adcp::{AdcpClient, RequestSigner};
use tradepost_client::agent::{AgentClient, Outgoing};
use tradepost_client::client::random_ids;
use tradepost_client::discover::{Discovered, discover};
use tradepost_client::failure::{CallFailure, Unsent};
use tradepost_client::retry::{Recoverer, RetryLimits as Budget, Sizes, SystemClock};
use tradepost_client::signed::signers::KeyLocation;
use tradepost_client::transport::{HttpTransport, TransportLimits};
use tradepost_client::{CardCache, SellerCard};
use tradepost_document::json::{Map, Value, json};
use tradepost_keys::Algorithm;
use tradepost_keys::private::{SigningKey, generate};

use super::signatures::knows;
use crate::support::publisher::{Publisher, start_here, token};
use crate::support::signer::Signer;
use crate::support::{NOW, at, stateless};

fn transport() -> HttpTransport {
    HttpTransport::new(TransportLimits::default())
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

/// A client for each binding; that of A2A 0.3 by a card of that time.
fn clients(publisher: &Publisher) -> Vec<AdcpClient> {
    let base = format!("http://{}", publisher.address);
    let found = run(discover(&transport(), &base, None)).unwrap();
    let older = json!({"name": "P", "protocolVersion": "0.3.0", "url": format!("{base}/a2a")});
    let older = Discovered { card: SellerCard::read(&older.to_string()).unwrap(), ..found.clone() };
    vec![
        AdcpClient::mcp(transport(), &format!("{base}/mcp"), random_ids()).unwrap(),
        AdcpClient::a2a(transport(), &found, random_ids()).unwrap(),
        AdcpClient::a2a(transport(), &older, random_ids()).unwrap(),
    ]
}

fn arguments(value: &Value) -> Map {
    value.as_object().unwrap().clone()
}

#[test]
fn a_seller_of_the_newest_mcp_alone_lists_its_tools() {
    let publisher = start_here(&|_| {});
    let address = format!("{}/mcp", stateless::start(publisher.address));
    let client = AdcpClient::mcp(transport(), &address, random_ids()).unwrap();
    let client = client.with_token(token("acme").unwrap()).unwrap();
    let can = run(client.call("get_adcp_capabilities", Map::new())).unwrap();
    assert!(can.payload["supported_protocols"].to_string().contains("media_buy"));
    assert!(run(client.offered()).unwrap().len() > 20);
    let refused = run(client.call("get_task_status", Map::new())).unwrap_err();
    assert!(matches!(refused, CallFailure::Unsent(_)), "{refused:?}");
}

#[test]
fn a_seller_says_the_same_on_every_binding() {
    let publisher = start_here(&|_| {});
    let token = token("acme").unwrap();
    let mut outcomes = Vec::new();
    for client in clients(&publisher) {
        let client = client.with_token(&token).unwrap();
        run(async {
            let can = client.call("get_adcp_capabilities", Map::new()).await.unwrap();
            let protocols = can.payload["supported_protocols"].to_string();
            assert!(protocols.contains("media_buy"), "{}", can.payload);
            let nothing = arguments(&json!({"task_id": "nobody-has-this", "account": {
                "brand": {"domain": "acme.example"}, "operator": "acme.example"}}));
            let failure = client.call("get_task_status", nothing).await.unwrap_err();
            let wrong = arguments(&json!({"buying_mode": "guess"}));
            let unsent = client.call("get_products", wrong).await.unwrap_err();
            assert!(matches!(unsent, CallFailure::Unsent(Unsent::Arguments(_))), "{unsent:?}");
            outcomes.push(format!("{protocols} {}", failure.sentence()));
        });
    }
    assert_eq!(outcomes[0], outcomes[1]);
    assert_eq!(outcomes[0], outcomes[2]);
}

#[test]
fn what_is_sent_unchecked_is_refused_in_the_checks_words() {
    let publisher = start_here(&|_| {});
    for client in clients(&publisher) {
        let client = client.with_token(token("acme").unwrap()).unwrap();
        let via = client.via();
        let wrong = arguments(&json!({"buying_mode": "guess", "brief": 5}));
        let Err(CallFailure::Unsent(Unsent::Arguments(unsent))) =
            run(client.call("get_products", wrong.clone()))
        else {
            panic!("{via}: it was sent");
        };
        let failure = run(client.unchecked().call("get_products", wrong)).unwrap_err();
        let refused = failure.adcp().unwrap();
        assert_eq!(refused.issues, unsent.issues, "{via}");
        assert_eq!(refused.code, unsent.code, "{via}");
    }
}

#[test]
fn a_signed_request_is_believed_and_needs_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jwks.json");
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
        let pem = generate(algorithm).unwrap();
        let key = || SigningKey::read(&pem, Some("k")).unwrap();
        let public = Signer::from_key(key()).public();
        std::fs::write(&path, json!({"keys": [public]}).to_string()).unwrap();
        let publisher = start_here(&|config| {
            knows(config, "acme", None, KeyLocation::File(path.clone()));
        });
        for client in clients(&publisher) {
            let via = client.via();
            let client = client.signing(RequestSigner::new(key(), || at(NOW)));
            let answered = run(client.call("list_accounts", Map::new()));
            assert!(answered.is_ok(), "{via}: {answered:?}");
        }
        for client in clients(&publisher) {
            let signer = RequestSigner::new(key(), || at(NOW)).without_digest();
            let failure = run(client.signing(signer).call("list_accounts", Map::new()));
            assert!(failure.is_err(), "this publisher wants the body covered");
        }
    }
}

#[test]
fn a_publisher_is_an_a2a_agent_whose_card_is_kept() {
    let publisher = start_here(&|_| {});
    let cache = CardCache::new(tradepost_client::cache::CacheBounds::default(), || at(NOW));
    let base = format!("http://{}", publisher.address);
    run(async {
        for _ in 0..2 {
            let found = cache.discover(&transport(), &base).await.unwrap();
            let client = AgentClient::new(transport(), &found.discovered, random_ids()).unwrap();
            let system_clock = SystemClock::new(random_ids());
            let recoverer = Recoverer::new(system_clock, Budget::default(), Sizes::default());
            let patience = std::time::Duration::from_secs(60);
            let follower = tradepost_client::agent::Follower { recoverer: &recoverer, patience };
            let failure = client.converse(&Outgoing::text("hello"), &follower, |_| {}).await;
            // It wants to know who calls, or which task: and it says so.
            let failure = failure.unwrap_err();
            assert!(matches!(failure.failure, CallFailure::Refused(_)), "{failure}");
        }
    });
}
