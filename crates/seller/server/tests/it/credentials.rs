//! Ways of authentication over the network: what each accepts, and how it refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hyper::Method;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tradepost_document::json::{Value, json};
use tradepost_server::a2a::card::OAuthFlow;
use tradepost_server::agent::AgentRequest;
use tradepost_server::auth::methods::{
    ApiKeyHeader, BasicPasswords, BearerTokens, OpenIdConnect, TokenIntrospection,
};
use tradepost_server::prelude::*;

use crate::client::Client;

/// Starts an agent that tells callers their name and whether they may write.
async fn start(auth: Authenticator) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let card = card::describe("Guarded", "Says who calls.", &format!("http://{address}"));
    let agent = AgentBuilder::new("guarded", card).with_auth(auth).build(|call| {
        let name = &call.context.caller.principal.name;
        Ok(MessagePlan::Answer(vec![Part::text(&**name)]))
    });
    let agents = AgentRegistry::from_agent(Arc::new(agent.unwrap()));
    tokio::spawn(http::serve(listener, agents, pending()));
    Client::connect(address).await
}

/// Asks with these headers: the status, and the caller's name or the challenge.
async fn ask(client: &Client, headers: &[(&str, &str)]) -> String {
    let params = json!({"message": {
        "messageId": "1", "role": "ROLE_USER", "parts": [{"text": "who?"}],
    }});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let headers: Vec<_> = headers.iter().copied().chain([("a2a-version", "1.0")]).collect();
    let (head, body, _) =
        client.send_as(&headers, Method::POST, "/a2a", "application/json", body.to_string()).await;
    let answer: Value = tradepost_document::json::from_slice(&body).unwrap();
    let status = head.status().as_u16();
    let name = answer.pointer("/result/message/parts/0/text").and_then(Value::as_str);
    let challenges = head.headers().get_all("www-authenticate").iter();
    let challenges: Vec<_> = challenges.map(|header| header.to_str().unwrap()).collect();
    format!("{status} {}", name.map_or(challenges.join(", "), str::to_owned))
}

fn principal(name: &str) -> Principal {
    Principal::new(name, Scopes::All)
}

#[tokio::test]
async fn several_ways_stand_side_by_side() {
    let key = ApiKeyHeader::new("x-api-key".parse().unwrap()).allow("k", principal("of key"));
    let basic = BasicPasswords::new().allow("p:w", principal("ada"));
    let tokens = BearerTokens::new().allow("t", principal("of token"));
    let more = BearerTokens::new().allow("u", principal("of another list"));
    let auth = Authenticator::with_required_method("guarded", key);
    let auth = auth.with_method(basic).with_method(tokens).with_method(more);
    let client = start(auth).await;
    let of_ada = format!("Basic {}", STANDARD.encode("ada:p:w"));
    assert_eq!(ask(&client, &[("x-api-key", "k")]).await, "200 of key");
    assert_eq!(ask(&client, &[("authorization", &of_ada)]).await, "200 ada");
    assert_eq!(ask(&client, &[("authorization", "bearer t")]).await, "200 of token");
    assert_eq!(ask(&client, &[("authorization", "Bearer u")]).await, "200 of another list");
    // A wrong credential beside a right one of another kind does not matter.
    assert_eq!(
        ask(&client, &[("x-api-key", "no"), ("authorization", "Bearer t")]).await,
        "200 of token"
    );
    let challenges = |error: &str| {
        format!(
            "401 ApiKey realm=\"guarded\", header=\"x-api-key\", Basic realm=\"guarded\", \
             charset=\"UTF-8\", Bearer realm=\"guarded\"{error}"
        )
    };
    assert_eq!(ask(&client, &[]).await, challenges(""));
    for wrong in [
        ("x-api-key", "no"),
        ("authorization", "Bearer no"),
        ("authorization", "Bearer"),
        ("authorization", "Basic !"),
    ] {
        assert_eq!(
            ask(&client, &[wrong]).await,
            challenges(", error=\"invalid_token\""),
            "{wrong:?}"
        );
    }
    let of_bob = format!("Basic {}", STANDARD.encode("bob:p:w"));
    let refused = ask(&client, &[("authorization", &of_bob)]).await;
    assert!(refused.starts_with("401 "), "{refused}");
}

#[tokio::test]
async fn where_nobody_has_to_authenticate_a_wrong_credential_is_refused() {
    let auth = Authenticator::open_to_all("guarded");
    let client = start(auth.with_method(BearerTokens::new())).await;
    assert_eq!(ask(&client, &[]).await, "200 anonymous");
    let refused = ask(&client, &[("authorization", "Bearer no")]).await;
    assert_eq!(refused, "401 Bearer realm=\"guarded\", error=\"invalid_token\"");
}

/// A server of one client after another, which answers each request by its path and body. Returns its address.
async fn web(
    answer: impl Fn(&str, &str) -> (u16, String) + Send + 'static,
) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = String::new();
            let mut bytes = [0; 4096];
            // A client sends the head and a short body at once, or a little later.
            while let Ok(read @ 1..) = stream.read(&mut bytes).await {
                request.push_str(&String::from_utf8_lossy(&bytes[..read]));
                let Some((head, body)) = request.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse().ok())?
                });
                if body.len() < length.unwrap_or(0_usize) {
                    continue;
                }
                count.fetch_add(1, Ordering::SeqCst);
                let path = head.split(' ').nth(1).unwrap_or_default();
                let (status, text) = answer(path, &format!("{head}\n{body}"));
                let length = text.len();
                let text = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
                );
                let _ = stream.write_all(text.as_bytes()).await;
                break;
            }
        }
    });
    (address, asked)
}

#[tokio::test]
async fn an_authorization_server_is_asked_about_each_token() {
    let (address, asked) = web(|path, sent| {
        // The client's id and secret, encoded as form values.
        let is_us = sent.contains(&STANDARD.encode("echo+agent:a%3Ab"));
        if path != "/introspect" || !is_us {
            return (401, String::new());
        }
        let has = |token: &str| sent.contains(&format!("token={token}&"));
        let answer = if has("good") {
            json!({"active": true, "sub": "ada", "scope": "tasks:write", "aud": ["x", "echo"]})
        } else if has("client") {
            json!({"active": true, "client_id": "robot", "scope": "tasks:write", "aud": "echo"})
        } else if has("reader") {
            json!({"active": true, "sub": "bob", "scope": "tasks:read", "aud": "echo"})
        } else if has("elsewhere") {
            json!({"active": true, "sub": "ada", "scope": "tasks:write", "aud": "x"})
        } else if has("old") {
            json!({"active": true, "sub": "ada", "exp": 1, "aud": "echo"})
        } else if has("nobody") {
            json!({"active": true, "aud": "echo"})
        } else if has("broken") {
            return (500, String::new());
        } else {
            json!({"active": false})
        };
        (200, answer.to_string())
    })
    .await;
    let flow = || OAuthFlow::ClientCredentials {
        token_url: "https://login.example/token".to_owned(),
        scopes: [("tasks:write".to_owned(), "Sending messages".to_owned())].into(),
    };
    let url = format!("{address}/introspect");
    let tokens = TokenIntrospection::new(&url, "echo agent", "a:b", flow()).unwrap();
    let client =
        start(Authenticator::with_required_method("guarded", tokens.for_audience("echo"))).await;
    let with =
        async |token: &str| ask(&client, &[("authorization", &format!("Bearer {token}"))]).await;
    assert_eq!(with("good").await, "200 oauth:ada");
    assert_eq!(with("good").await, "200 oauth:ada");
    assert_eq!(asked.load(Ordering::SeqCst), 2, "a revocation takes effect at once");
    assert_eq!(with("client").await, "200 oauth:robot");
    let lacks = "403 Bearer realm=\"guarded\", error=\"insufficient_scope\"";
    assert_eq!(with("reader").await, lacks);
    for wrong in ["elsewhere", "old", "nobody", "unknown"] {
        let refused = "401 Bearer realm=\"guarded\", error=\"invalid_token\"";
        assert_eq!(with(wrong).await, refused, "{wrong}");
    }
    assert!(with("broken").await.starts_with("200 "), "an error of JSON-RPC, without a challenge");
    let far = TokenIntrospection::new("http://login.example/introspect", "a", "b", flow());
    assert!(far.unwrap_err().chain().contains("https://"));
}

#[tokio::test]
async fn tokens_of_an_open_id_provider_are_verified_with_its_keys() {
    let random = ring::rand::SystemRandom::new();
    let pair = ring::signature::Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let pair = ring::signature::Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
    let public = URL_SAFE_NO_PAD.encode(ring::signature::KeyPair::public_key(&pair));
    let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": public}]});
    let own_address = Arc::new(std::sync::OnceLock::<String>::new());
    let known = Arc::clone(&own_address);
    let (address, asked) = web(move |path, _| {
        let issuer = known.get().unwrap();
        match path {
            "/.well-known/openid-configuration" => {
                let jwks_uri = format!("{issuer}/keys");
                (200, json!({"issuer": issuer, "jwks_uri": jwks_uri}).to_string())
            }
            "/keys" => (200, keys.to_string()),
            _ => (404, String::new()),
        }
    })
    .await;
    own_address.set(address.clone()).unwrap();
    let tokens = OpenIdConnect::open(&address, "echo", &Clock::system()).unwrap();
    let client = start(Authenticator::with_required_method("guarded", tokens)).await;
    let now = Clock::system().now().as_second();
    let token = |claims: Value| {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let head = part(&json!({"alg": "EdDSA", "kid": "1", "typ": "at+jwt"}));
        let signed = format!("{head}.{}", part(&claims));
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(signed.as_bytes()));
        format!("Bearer {signed}.{signature}")
    };
    let claims = |audience: &str, end: i64, scope: &str| json!({"iss": address, "aud": audience, "sub": "ada", "iat": now, "exp": end, "scope": scope});
    let good = token(claims("echo", now + 600, "tasks:read tasks:write"));
    assert_eq!(ask(&client, &[("authorization", &good)]).await, "200 jwt:ada");
    assert_eq!(ask(&client, &[("authorization", &good)]).await, "200 jwt:ada");
    assert_eq!(asked.load(Ordering::SeqCst), 2, "the metadata and the keys, once");
    let refused = "401 Bearer realm=\"guarded\", error=\"invalid_token\"";
    let forged = format!("{}AAAA", &good[..good.len() - 4]);
    for wrong in [
        token(claims("other", now + 600, "tasks:write")),
        token(claims("echo", now - 600, "tasks:write")),
        forged,
        "Bearer no.token.here".to_owned(),
    ] {
        assert_eq!(ask(&client, &[("authorization", &wrong)]).await, refused, "{wrong}");
    }
    let reads = token(claims("echo", now + 600, "tasks:read"));
    assert!(ask(&client, &[("authorization", &reads)]).await.starts_with("403 "));
}

#[tokio::test]
async fn a_server_does_not_start_with_a_card_that_says_otherwise() {
    #[derive(Debug)]
    struct MismatchedAgent(PublishedCard, Authenticator);

    impl Agent for MismatchedAgent {
        fn card(&self) -> &PublishedCard {
            &self.0
        }

        fn auth(&self) -> &Authenticator {
            &self.1
        }

        fn perform<'a>(&'a self, _: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
            unreachable!("it is not served")
        }
    }

    let card = card::describe("Wrong", "Is not served.", "http://127.0.0.1:1");
    let auth = Authenticator::with_required_method("wrong", BearerTokens::new());
    let agent = MismatchedAgent(PublishedCard::from_card(&card, Clock::system().now()), auth);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let agents = AgentRegistry::from_agent(Arc::new(agent));
    let refused = http::serve(listener, agents, pending()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the card of wrong disagrees with its authentication: the agent accepts a credential of \
         the HTTP scheme bearer, which securitySchemes does not declare; the agent requires a \
         credential, and securityRequirements is empty"
    );
}
