//! How requests are taken.

use std::time::Duration;

/// How requests are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The largest request body in bytes.
    pub max_body_bytes: usize,
    /// How long a request may take to arrive, headers and body each.
    pub read_timeout: Duration,
    /// How long an answer may take, once the request has arrived.
    pub request_timeout: Duration,
    /// How many connections may be open at once.
    pub max_connections: usize,
    /// How many of them one address may have, or one IPv6 network of 64 bits.
    pub connections_per_address: usize,
    /// How many bytes of unanswered requests are kept at once.
    pub max_pending_bytes: usize,
    /// How many requests may be at work at once; beyond it agents, and the callers of each, take turns.
    pub max_running_requests: usize,
    /// The hosts (without port, in lower case) on which the directory of all agents is, and nothing else.
    pub directory_hosts: Vec<String>,
    /// How long requests in progress may take to finish when the server stops.
    pub shutdown_grace: Duration,
    /// Whether the client's address is taken from the last entry of `X-Forwarded-For`.
    pub trust_forwarded_for: bool,
    /// The web pages whose visitors' browsers may call.
    pub web_origins: Vec<WebOrigin>,
}

impl Default for Settings {
    /// What suits a small machine that everybody can reach.
    fn default() -> Self {
        Self {
            max_body_bytes: 256 * 1024,
            read_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(5),
            max_connections: 4096,
            connections_per_address: 256,
            max_pending_bytes: 64 * 1024 * 1024,
            max_running_requests: 512,
            directory_hosts: Vec::new(),
            shutdown_grace: Duration::from_secs(20),
            trust_forwarded_for: false,
            web_origins: vec![WebOrigin::Any],
        }
    }
}

/// Web pages that may call from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebOrigin {
    /// Every page may read.
    Any,
    /// The pages of this origin, such as `https://example.com`, may do what everybody may.
    Named(String),
}
