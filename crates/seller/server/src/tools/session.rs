//! Session ids of MCP clients. An id is a signed text with what the client said of itself in its handshake, so
//! nothing is stored for it, and every process with the same store knows it. It proves nothing: a client may say
//! anything of itself.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tradepost_document::json;
use tradepost_mcp::DeclaredClient;

use crate::signed_text::Seal;

/// Purpose of the signature.
const PURPOSE: &str = "mcp session";

/// Issues the session ids of an agent and recognises them.
#[derive(Debug)]
pub struct ClientSessions {
    seal: Arc<Seal>,
    agent_id: String,
}

impl ClientSessions {
    /// Creates the sessions of an agent; an id of one agent is invalid for another.
    #[must_use]
    pub fn new(seal: &Arc<Seal>, agent_id: &str) -> Self {
        Self { seal: Arc::clone(seal), agent_id: agent_id.to_owned() }
    }

    /// Returns a session id for a client.
    #[must_use]
    pub fn issue(&self, client: &DeclaredClient) -> String {
        let version = client.version.as_deref().unwrap_or_default();
        let text = json::json!([client.name, version]).to_string();
        self.seal.write(&self.purpose(), &URL_SAFE_NO_PAD.encode(text))
    }

    /// Returns the client of a session; `None` for an id that was not issued here.
    #[must_use]
    pub fn client(&self, id: &str) -> Option<DeclaredClient> {
        let text = URL_SAFE_NO_PAD.decode(self.seal.read(&self.purpose(), id)?).ok()?;
        let [name, version]: [String; 2] = json::from_slice(&text).ok()?;
        Some(DeclaredClient { name, version: Some(version).filter(|version| !version.is_empty()) })
    }

    fn purpose(&self) -> [&str; 2] {
        [PURPOSE, &self.agent_id]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;

    #[test]
    fn a_session_is_known_to_its_agent_alone() {
        let seal = Arc::new(Seal::open(&MemoryStore::default(), "sessions").unwrap());
        let ours = ClientSessions::new(&seal, "one");
        let client = DeclaredClient { name: "Clïent \"x\"".to_owned(), version: None };
        let id = ours.issue(&client);
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert_eq!(ours.client(&id), Some(client));
        assert_eq!(ClientSessions::new(&seal, "two").client(&id), None);
        for made_up in ["", ".", "x.e30", &id[1..], &format!("{id}A")] {
            assert_eq!(ours.client(made_up), None, "{made_up}");
        }
    }
}
