//! Recognition of a caller (C-17, C-19). An address or an agent's name alone proves nothing,
//! because many share them; nor does a customer's e-mail address, which others know.

use tradepost_aap::LeadSubmit;

use super::{Conversation, LeadCaller};

/// Sender of a lead, as far as it can be recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SenderIdentity {
    /// Proofs that a later caller is the same; each is sufficient.
    pub(super) proofs: Vec<String>,
    /// Scopes of its idempotency key; each is sufficient. Keys of different callers never collide.
    pub(super) key_scopes: Vec<String>,
    /// Contact values of the customer, normalised for comparison.
    pub(super) contacts: Vec<String>,
}

impl SenderIdentity {
    pub(super) fn new(caller: &LeadCaller, conversation: &Conversation, lead: &LeadSubmit) -> Self {
        let contacts = contacts(lead);
        let agent = &lead.source_agent.name;
        let named = !caller.is_anonymous();
        let principal = named.then(|| format!("caller:{}", caller.name));
        let context = conversation.is_ours.then(|| format!("context:{}", conversation.id));
        // The contact is part of a lead's identity in any case. A caller with a credential has keys
        // of its own.
        let key = lead.idempotency_key.as_ref().filter(|_| !named);
        // The length prevents another key and agent from producing the same text.
        let key = key.map(|key| format!("key:{} {key} {agent}", key.len()));
        // A caller without credentials is recognised by its network, or by agent and customer
        // together, because a retry may come from another network.
        let key_scopes = match &principal {
            Some(principal) => vec![principal.clone()],
            None => {
                let address = format!("address:{}", caller.network.as_deref().unwrap_or_default());
                let of_agent = contacts.iter().map(|contact| format!("agent:{agent}\n{contact}"));
                std::iter::once(address).chain(of_agent).collect()
            }
        };
        let proofs = [principal, context, key].into_iter().flatten().collect();
        Self { proofs, key_scopes, contacts }
    }
}

fn contacts(lead: &LeadSubmit) -> Vec<String> {
    let customer = &lead.customer;
    let email = customer.email.as_ref().map(|email| format!("email:{}", email.to_lowercase()));
    let phone = customer.phone.as_ref().map(|phone| format!("phone:{phone}"));
    email.into_iter().chain(phone).collect()
}
