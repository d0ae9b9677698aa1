//! The card for callers who say who they are (A2A §3.1.11, §13.3): the public card, with what the
//! agent does besides and what this caller may do with it.

use tradepost_buyer::trust;
use tradepost_keys::{card as signed, private::SigningKey};
use tradepost_server::auth::Principal;
use tradepost_server::fault::Fault;
use tradepost_wire::a2a::card::{AgentCard, Extension, Skill};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use crate::gate::Scope;

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
) -> Result<Value, Fault> {
    let permitted =
        Scope::ALL.iter().filter(|scope| caller.scopes.permit(**scope)).map(|scope| scope.name());
    public.capabilities.extensions.push(Extension {
        uri: CALLER.to_owned(),
        description: "Who you are to this agent, and what you may do.".to_owned(),
        required: false,
        params: json!({"name": caller.name, "scopes": permitted.collect::<Vec<_>>()}),
    });
    // A skill that the caller cannot use would be a false promise.
    if caller.scopes.permit(Scope::TasksWrite) {
        public.skills.push(Skill {
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
    let mut card =
        tradepost_wire::json::to_value(public).map_err(Fault::on("writing the extended card"))?;
    if let Some(key) = key {
        let signature = signed::sign(&card, key, None)
            .map_err(|problems| trust::describe(&problems).join("; "))
            .map_err(Fault::on("signing the extended card"))?;
        if let Some(members) = card.as_object_mut() {
            members.insert("signatures".to_owned(), json!([signature]));
        }
    }
    Ok(card)
}
