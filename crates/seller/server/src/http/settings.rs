//! Limits and options for requests.

use std::time::Duration;

/// Limits and options for requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Maximum size of a request body in bytes.
    pub max_body_bytes: usize,
    /// Maximum time for receiving a request, for headers and body each.
    pub read_timeout: Duration,
    /// Maximum time for an answer, after the request was received.
    pub request_timeout: Duration,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Maximum number of connections per address, or per IPv6 network of 64 bits.
    pub connections_per_address: usize,
    /// Maximum number of bytes of pending requests.
    pub max_pending_bytes: usize,
    /// Maximum number of requests that run at once; beyond it, fair scheduling among agents and
    /// among the callers of each.
    pub max_running_requests: usize,
    /// Hosts (without port, in lower case) that serve only the directory of all agents.
    pub directory_hosts: Vec<String>,
    /// Maximum time for requests in progress when the server stops.
    pub shutdown_grace: Duration,
    /// True when the client's address is taken from the last entry of `X-Forwarded-For`.
    pub trust_forwarded_for: bool,
    /// Web pages that may call from a browser.
    pub web_origins: Vec<WebOrigin>,
}

impl Default for HttpSettings {
    /// Defaults for a small machine on the public Internet.
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
    /// Pages of this origin, such as `https://example.com`, have the same access as other callers.
    Named(String),
}
