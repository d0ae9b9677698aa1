//! Conversations: the `contextId` that is assigned to a message without one. It cannot be guessed,
//! so a caller that sends it later is the one that received it. An id that the caller invented is
//! only echoed: it proves nothing, because others may invent the same.

use std::sync::Arc;

use tradepost_dealer::lead::Conversation;
use tradepost_server::fault::InternalError;
use tradepost_server::signed_text::Seal;
use tradepost_store::Store;

/// Starts conversations and recognises their ids.
#[derive(Debug)]
pub struct Conversations {
    seal: Arc<Seal>,
    dealer_id: String,
}

impl Conversations {
    /// Opens the key that signs the conversation ids of all dealers.
    ///
    /// # Errors
    /// Fails when the store fails.
    pub fn seal(store: &Store) -> Result<Arc<Seal>, InternalError> {
        Seal::open(store, "conversations").map(Arc::new)
    }

    /// Returns the conversations of a dealer; an id of one dealer is invalid for another.
    #[must_use]
    pub fn new(seal: &Arc<Seal>, dealer_id: &str) -> Self {
        Self { seal: Arc::clone(seal), dealer_id: dealer_id.to_owned() }
    }

    /// Returns the conversation that a message names, or a new one.
    #[must_use]
    pub fn named_or_new(&self, named: Option<&str>) -> Conversation {
        let purpose = [self.dealer_id.as_str()];
        match named {
            Some(id) => {
                let is_ours = self.seal.read(&purpose, id).is_some();
                Conversation { id: id.to_owned(), is_ours }
            }
            None => {
                // Half of a version 7 id is the time, and ids of one moment are consecutive: it
                // would be easier to guess.
                let fresh = uuid::Uuid::new_v4().simple().to_string();
                Conversation { id: self.seal.write(&purpose, &fresh), is_ours: true }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_given_to_callers_of_this_dealer_are_ours() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let open = |dealer| Conversations::new(&Conversations::seal(&store).unwrap(), dealer);
        let ours = open("one");
        let first = ours.named_or_new(None);
        let second = ours.named_or_new(None);
        assert!(first.is_ours && second.is_ours && first.id != second.id);
        assert_eq!(ours.named_or_new(Some(&first.id)), first);
        let again = open("one");
        assert!(again.named_or_new(Some(&first.id)).is_ours, "also after a restart");
        assert!(!open("two").named_or_new(Some(&first.id)).is_ours);
        let (signature, text) = first.id.split_once('.').unwrap();
        let (_, other) = second.id.split_once('.').unwrap();
        for made_up in ["c-1", "", ".", text, &format!("{signature}.{other}"), &format!(".{text}")]
        {
            let conversation = ours.named_or_new(Some(made_up));
            assert!(!conversation.is_ours, "{made_up}");
            assert_eq!(conversation.id, made_up, "A2A §3.4.1: what is accepted is kept");
        }
    }
}
