//! The card for callers who say who they are (A2A §3.1.11, §13.3): the public card, with what the
//! agent does besides and what this caller may do with it.

use tradepost_document::json::{Value, json};
use tradepost_server::a2a::card::{AgentCard, AgentExtension, AgentSkill};
use tradepost_server::auth::Principal;
use tradepost_server::card::{self, SigningKey};
use tradepost_server::fault::InternalError;
use tradepost_server::permission::Permission;

/// What callers can be permitted to do here.
const PERMISSIONS: [Permission; 3] =
    [Permission::CARD_READ, Permission::TASKS_READ, Permission::TASKS_WRITE];

/// The extension in whose parameters a caller finds its name and its scopes.
const CALLER: &str = "urn:tradepost:caller";

/// The card for this caller, with a signature when there is a key.
///
/// # Errors
/// When it cannot be signed.
pub(super) fn card(
    mut public: AgentCard,
    caller: &Principal,
    key: Option<&SigningKey>,
) -> Result<Value, InternalError> {
    let permitted = PERMISSIONS.into_iter().filter(|one| caller.scopes.permit(one.clone()));
    let names: Vec<_> = permitted.map(|one| one.name().to_owned()).collect();
    public.capabilities.extensions.push(AgentExtension {
        uri: CALLER.to_owned(),
        description: "Who you are to this agent, and what you may do.".to_owned(),
        required: false,
        params: json!({"name": caller.name, "scopes": names}),
    });
    // A skill that the caller cannot use would be a false promise.
    if caller.scopes.permit(Permission::TASKS_WRITE) {
        public.skills.push(AgentSkill {
            id: "load".to_owned(),
            name: "Load".to_owned(),
            description: "A task with 500 or 40000 artifact chunks, for a message whose id begins \
                          with tradepost-flood-500 or tradepost-flood-40000."
                .to_owned(),
            tags: vec!["conformance".to_owned(), "load".to_owned()],
            input_modes: vec!["text/plain".to_owned()],
            output_modes: vec!["application/json".to_owned()],
        });
    }
    let mut card = tradepost_document::json::to_value(public)
        .map_err(InternalError::on("writing the extended card"))?;
    if let Some(key) = key {
        card::sign(&mut card, key, None).map_err(InternalError::on("signing the extended card"))?;
    }
    Ok(card)
}
