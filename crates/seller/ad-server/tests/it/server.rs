//! A server that answers every request with one prepared answer, and the adapters in front of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Method, Response, Uri};
use tokio::net::TcpListener;
use tradepost_ad_server::{AdServer, AdServerKind, AdServerSettings, connect};
use tradepost_publisher::ad_server::RemoteId;

/// Credential of all adapters here.
pub(crate) const CREDENTIAL: &str = "a-credential-of-the-test";

/// Path at which the server gives out Google's tokens, which are the credential.
const TOKEN_PATH: &str = "/token";

/// Answer to every request.
#[derive(Debug, Clone, Default)]
pub(crate) struct PreparedAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: Vec<u8>,
    /// True if it never comes.
    pub(crate) is_slow: bool,
    /// True if the connection ends in the middle of the body.
    pub(crate) breaks_off: bool,
}

impl PreparedAnswer {
    /// Creates an answer with a status and a body.
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// A running server.
pub(crate) struct PreparedServer {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

/// Answer to the requests whose method and address have a part in them.
#[derive(Debug, Clone)]
pub(crate) struct PreparedRoute {
    pub(crate) part: &'static str,
    pub(crate) answer: PreparedAnswer,
}

#[derive(Clone)]
struct Shared {
    routes: Vec<PreparedRoute>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl PreparedServer {
    /// Starts a server with one answer.
    pub(crate) async fn start(answer: PreparedAnswer) -> Self {
        Self::with_routes(vec![PreparedRoute { part: "", answer }]).await
    }

    /// Starts a server; of the routes that fit, the first counts. Google's tokens it gives out in any case.
    pub(crate) async fn with_routes(routes: Vec<PreparedRoute>) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Shared { routes, seen: Arc::clone(&seen) };
        let router = Router::new().fallback(respond).with_state(shared);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, seen }
    }

    /// Returns the requests so far: method, path and body.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn respond(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    body: Bytes,
) -> Response<Body> {
    if uri.path() == TOKEN_PATH {
        let token = format!(r#"{{"access_token": "{CREDENTIAL}", "expires_in": 3599}}"#);
        return Response::builder().status(200).body(Body::from(token)).unwrap();
    }
    let body = String::from_utf8_lossy(&body);
    shared.seen.lock().unwrap().push(format!("{method} {uri} {body}").trim_end().to_owned());
    let asked = format!("{method} {uri}");
    let route = shared.routes.into_iter().find(|route| asked.contains(route.part));
    let answer = route.map_or_else(|| PreparedAnswer::new(404, ""), |route| route.answer);
    if answer.is_slow {
        std::future::pending::<()>().await;
    }
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers {
        response = response.header(name, value);
    }
    if answer.breaks_off {
        // The length promises more than is sent.
        response = response.header("content-length", answer.body.len() + 1);
    }
    response.body(Body::from(answer.body)).unwrap()
}

/// Returns a credential of an adapter: Google's is a key file, whose tokens the server here gives out.
pub(crate) fn credential(kind: AdServerKind, url: &str) -> String {
    match kind {
        AdServerKind::GoogleAdManager => {
            let file = include_str!("../service-account.json");
            file.replace("TOKEN_URI", &format!("{url}{TOKEN_PATH}"))
        }
        AdServerKind::Http | AdServerKind::Kevel | AdServerKind::Deals => CREDENTIAL.to_owned(),
    }
}

/// Returns the network that an adapter is set up for.
pub(crate) fn network(kind: AdServerKind) -> Option<String> {
    let name = match kind {
        AdServerKind::GoogleAdManager => "12345",
        AdServerKind::Http | AdServerKind::Kevel | AdServerKind::Deals => "net.example",
    };
    Some(name.to_owned())
}

/// Makes an adapter for an address.
pub(crate) fn adapter(kind: AdServerKind, url: &str) -> Box<dyn AdServer> {
    let settings = AdServerSettings {
        network: network(kind),
        advertiser: Some(RemoteId("3".to_owned())),
        trafficker: Some(RemoteId("5".to_owned())),
        priority: Some(7),
        soap_url: format!("{url}/soap/v202511"),
        timeout: Duration::from_millis(500),
        ..AdServerSettings::new(kind, url, credential(kind, url))
    };
    connect(settings).unwrap()
}
