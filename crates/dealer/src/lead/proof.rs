//! By what a caller is known again (C-17, C-19). An address or an agent's name alone proves
//! nothing, because millions share them; nor does a customer's e-mail address, which others know.

use tradepost_wire::aap::LeadSubmit;

use super::{Caller, Conversation};

/// Who sends a lead, as far as it can be known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sender {
    /// What shows that a later caller is the same; each is enough.
    pub(super) proofs: Vec<String>,
    /// By whom its idempotency key is known again; each is enough. Strangers' keys never meet.
    pub(super) key_scopes: Vec<String>,
    /// The customer's addresses in the form in which they are compared.
    pub(super) contacts: Vec<String>,
}

impl Sender {
    pub(super) fn of(caller: &Caller, conversation: &Conversation, lead: &LeadSubmit) -> Self {
        let contacts = contacts(lead);
        let agent = &lead.source_agent.name;
        let named = !caller.is_anonymous();
        let principal = named.then(|| format!("caller:{}", caller.name));
        let context = conversation.is_ours.then(|| format!("context:{}", conversation.id));
        // The contact is part of what a lead is known by in any case. Who has a name has keys of
        // its own, which are no other's.
        let key = lead.idempotency_key.as_ref().filter(|_| !named);
        // With its length: no key and agent together read as another key and agent.
        let key = key.map(|key| format!("key:{} {key} {agent}", key.len()));
        // Without a credential a retry may come from another network: that is enough, and so
        // is the agent with the customer.
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
