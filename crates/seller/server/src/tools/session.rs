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

/// Client that a session id stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSession {
    /// The client, as it describes itself.
    pub client: DeclaredClient,
    /// True when it can show a form.
    pub shows_forms: bool,
}

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
    pub fn issue(&self, session: &ClientSession) -> String {
        let DeclaredClient { name, version } = &session.client;
        let version = version.as_deref().unwrap_or_default();
        let nonce = uuid::Uuid::new_v4().to_string();
        let text = json::json!([name, version, session.shows_forms, nonce]).to_string();
        self.seal.write(&self.purpose(), &URL_SAFE_NO_PAD.encode(text))
    }

    /// Returns the client of a session id; `None` for an id that was not issued here.
    #[must_use]
    pub fn read(&self, id: &str) -> Option<ClientSession> {
        let text = URL_SAFE_NO_PAD.decode(self.seal.read(&self.purpose(), id)?).ok()?;
        let text: json::Value = json::from_slice(&text).ok()?;
        let member = |place: usize| text.get(place);
        let name = member(0)?.as_str()?.to_owned();
        let version = member(1)?.as_str().filter(|version| !version.is_empty());
        let client = DeclaredClient { name, version: version.map(str::to_owned) };
        Some(ClientSession { client, shows_forms: member(2)?.as_bool()? })
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
        let sessions = ClientSessions::new(&seal, "one");
        let client = DeclaredClient { name: "Clïent \"x\"".to_owned(), version: None };
        let client = ClientSession { client, shows_forms: true };
        let id = sessions.issue(&client);
        assert_ne!(sessions.issue(&client), id, "each client has a session of its own");
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert_eq!(sessions.read(&id), Some(client));
        assert_eq!(ClientSessions::new(&seal, "two").read(&id), None);
        for made_up in ["", ".", "x.e30", &id[1..], &format!("{id}A")] {
            assert_eq!(sessions.read(made_up), None, "{made_up}");
        }
    }
}
