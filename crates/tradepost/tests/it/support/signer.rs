//! Somebody who signs requests as AdCP wants it, and a site that publishes keys.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use tradepost_adcp::signing::SignedKind;
use tradepost_document::json::{Value, json};
use tradepost_keys::Algorithm;
use tradepost_keys::adcp::PostToSign;
use tradepost_keys::private::{SigningKey, generate};

use super::{NOW, at};

/// A buyer agent with a key.
pub struct Signer {
    key: SigningKey,
}

impl Signer {
    pub fn new(kid: &str) -> Self {
        let pem = generate(Algorithm::EdDsa).unwrap();
        Self { key: SigningKey::read(&pem, Some(kid)).unwrap() }
    }

    /// The same with a key of one's own.
    pub fn from_key(key: SigningKey) -> Self {
        Self { key }
    }

    /// Its key as others see it.
    pub fn public(&self) -> Value {
        let mut public = self.key.public_jwk();
        public["key_ops"] = json!(["verify"]);
        public["adcp_use"] = json!("request-signing");
        public
    }

    /// The headers that sign a POST of a body to an address.
    pub fn sign(&self, url: &str, body: &str, nonce: u8) -> Vec<(&'static str, String)> {
        let post = PostToSign {
            surface: SignedKind::Request,
            url,
            content_type: "application/json",
            body: body.as_bytes(),
            covers_body: true,
        };
        post.sign(&self.key, &[nonce; 16], at(NOW)).unwrap()
    }
}

/// A site on a loopback address.
#[derive(Clone, Default)]
pub struct Site {
    pages: Arc<Mutex<HashMap<String, Value>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Publishes a document.
    pub fn put(&self, path: &str, document: Value) {
        self.pages.lock().unwrap().insert(path.to_owned(), document);
    }

    /// What was asked for since the last time.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// Goes online for as long as the runtime lives.
    pub fn serve(&self, runtime: &tokio::runtime::Runtime) -> SocketAddr {
        async fn page(State(site): State<Site>, request: Request) -> axum::response::Response {
            let path = request.uri().path().to_owned();
            site.asked.lock().unwrap().push(path.clone());
            match site.pages.lock().unwrap().get(&path) {
                Some(document) => document.to_string().into_response(),
                None => StatusCode::NOT_FOUND.into_response(),
            }
        }
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(page).with_state(self.clone());
        runtime.spawn(async move { axum::serve(listener, router).await });
        address
    }
}
