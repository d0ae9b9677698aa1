//! Tests with verifiers of creatives that are real servers: their answers and failures, and the
//! credentials they receive.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, from_slice, json};
use tradepost_mcp::Version;
use tradepost_publisher::services::{CallError, NamedGovernanceAgent, Services as _};
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, Resolver};

use super::{Credentials, PublisherServices};
use crate::config::Rates;

/// Maximum time for an agent.
const AGENT_TIMEOUT: Duration = Duration::from_secs(2);

/// Behaviour of a verifier when it is called.
#[derive(Clone)]
enum VerifierBehavior {
    /// Closes the connection.
    Hangs,
    /// Never answers.
    Waits,
    /// Answers with this status and body.
    Says(u16, String),
    /// Returns this tool result.
    Finds(Value),
    /// Wants a handshake first, delays each response, and answers the last request with this.
    Dawdles(Value),
}

/// `Authorization` of each request.
type Shown = Arc<Mutex<Vec<String>>>;

async fn verifier(behavior: VerifierBehavior) -> (String, Shown) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let shown = Shown::default();
    let note = Arc::clone(&shown);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(stream, behavior.clone(), Arc::clone(&note)));
        }
    });
    (url, shown)
}

async fn serve(mut stream: TcpStream, behavior: VerifierBehavior, shown: Shown) {
    let mut length = 0;
    let mut credential = String::new();
    let mut is_of_newest = false;
    let mut reader = BufReader::new(&mut stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).await.unwrap_or_default() <= 2 {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => value.trim().clone_into(&mut credential),
            "mcp-protocol-version" => is_of_newest = value.trim() == Version::NEWEST.name(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body).await;
    shown.lock().unwrap().push(credential);
    let (status, body) = match behavior {
        VerifierBehavior::Hangs => return,
        VerifierBehavior::Waits => return std::future::pending().await,
        VerifierBehavior::Says(status, body) => (status, body),
        VerifierBehavior::Finds(found) => answered(&from_slice(&body).unwrap_or_default(), &found),
        VerifierBehavior::Dawdles(found) => {
            tokio::time::sleep(AGENT_TIMEOUT / 2).await;
            match is_of_newest {
                true => (400, String::new()),
                false => answered(&from_slice(&body).unwrap_or_default(), &found),
            }
        }
    };
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
}

/// Tools of these agents.
const KNOWN: [&str; 2] = ["get_creative_features", "check_governance"];

/// Answers MCP, as far as a client that calls a tool needs it.
fn answered(message: &Value, found: &Value) -> (u16, String) {
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "Verifier", "version": "1"}}),
        "tools/call" if KNOWN.iter().any(|task| message["params"]["name"] == *task) => {
            let content = json!([{"type": "text", "text": found.to_string()}]);
            json!({"content": content, "structuredContent": found,
                "isError": found.get("adcp_error").is_some()})
        }
        _ => return (202, String::new()),
    };
    (200, json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
}

/// Creates a publisher's services with a short timeout and these credentials for verifiers.
fn services(credentials: Vec<(String, String)>) -> PublisherServices {
    let (clock, _) = Clock::manual("2026-06-01T12:00:00Z".parse().unwrap());
    let egress = Egress::new(Resolver::system(), true);
    let services = PublisherServices::new("gazette", Rates::default(), None, &clock, egress);
    let verifiers = Credentials(credentials);
    PublisherServices { verifiers, ..services }.answering_within(AGENT_TIMEOUT)
}

async fn asked(services: &PublisherServices, url: &str) -> Result<Map, CallError> {
    services.creative_features(vec![(url.to_owned(), Map::new())]).await.remove(0)
}

fn finding() -> Value {
    json!({"status": "completed", "results": [{"feature_id": "ai_generated", "value": true}]})
}

#[tokio::test]
async fn a_verifier_that_fails_in_any_way_has_said_nothing() {
    let refused = json!({"code": "RATE_LIMITED", "message": "later", "recovery": "transient"});
    let refused = json!({"status": "failed", "adcp_error": refused, "errors": [refused]});
    let of_code = CallError::Refused("RATE_LIMITED".to_owned());
    for (behavior, expected) in [
        (VerifierBehavior::Hangs, CallError::NoAnswer),
        (VerifierBehavior::Waits, CallError::NoAnswer),
        (
            VerifierBehavior::Says(401, r#"{"error":"who are you?"}"#.to_owned()),
            CallError::NoAnswer,
        ),
        (VerifierBehavior::Says(500, String::new()), CallError::NoAnswer),
        (VerifierBehavior::Says(200, "no JSON".to_owned()), CallError::NoAnswer),
        (
            VerifierBehavior::Says(200, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#.to_owned()),
            CallError::NoAnswer,
        ),
        (VerifierBehavior::Finds(refused), of_code),
        (VerifierBehavior::Dawdles(finding()), CallError::NoAnswer),
    ] {
        let (url, shown) = verifier(behavior).await;
        assert_eq!(asked(&services(Vec::new()), &url).await, Err(expected));
        assert!(!shown.lock().unwrap().is_empty(), "it was asked");
    }
}

#[tokio::test]
async fn a_slow_verifier_keeps_no_other_from_being_heard() {
    let (slow, _) = verifier(VerifierBehavior::Waits).await;
    let (quick, _) = verifier(VerifierBehavior::Finds(finding())).await;
    let questions = vec![(slow, Map::new()), (quick, Map::new())];
    let answers = services(Vec::new()).creative_features(questions).await;
    assert_eq!(answers[0], Err(CallError::NoAnswer));
    let heard = answers[1].as_ref().map(|answer| answer["results"].clone());
    assert_eq!(heard, Ok(finding()["results"].clone()));
}

#[tokio::test]
async fn only_its_own_verifier_is_shown_a_credential() {
    let (known, to_known) = verifier(VerifierBehavior::Finds(finding())).await;
    let (other, to_other) = verifier(VerifierBehavior::Finds(finding())).await;
    let services = services(vec![(format!("{known}/"), "ours-at-known".to_owned())]);
    for url in [&known, &other] {
        assert!(asked(&services, url).await.is_ok());
    }
    let shown = |shown: &Shown| shown.lock().unwrap().clone();
    let is_ours = |credential: &String| credential == "Bearer ours-at-known";
    assert!(shown(&to_known).iter().all(is_ours), "{to_known:?}");
    assert!(shown(&to_other).iter().all(String::is_empty), "{to_other:?}");
}

#[tokio::test]
async fn a_governance_agents_time_is_for_all_requests_together() {
    let decided = json!({"status": "completed", "verdict": "approved"});
    let question = json!({"plan_id": "p-1", "caller": "https://ads.gazette.example/mcp"});
    for (behavior, expected) in [
        (VerifierBehavior::Finds(decided.clone()), Ok(decided["verdict"].clone())),
        (VerifierBehavior::Dawdles(decided.clone()), Err(CallError::NoAnswer)),
    ] {
        let (url, shown) = verifier(behavior).await;
        let agent = NamedGovernanceAgent { url, credential: None };
        let request = question.as_object().unwrap().clone();
        let answer = services(Vec::new()).check_governance(&agent, request).await;
        assert_eq!(answer.map(|answer| answer["verdict"].clone()), expected);
        assert!(!shown.lock().unwrap().is_empty(), "it was asked");
    }
}
