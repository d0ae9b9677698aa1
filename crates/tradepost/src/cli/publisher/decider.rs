//! Person who decides for a publisher on the command line, and the reason.

use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_store::Store;

use crate::cli::Context;
use crate::cli::output::CommandFailure;
use crate::publisher_staff::{NotPermitted, PublisherOperation, check};

/// Person who decides, and the reason.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Decider {
    /// Name of the publisher's user who decides (`tradepost console user list`). The user's role
    /// must permit the decision. By default an operator of the server decides, under the name of
    /// the machine's user.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Reason for the publisher's audit log, which buyers do not read. The reason is never erased:
    /// do not name a customer.
    #[arg(long, value_name = "TEXT")]
    pub(super) why: Option<String>,
}

impl Decider {
    /// Returns the decider's name for the audit log, after checking their permission.
    ///
    /// # Errors
    /// Fails when the publisher has no such staff member, or the role does not permit it, which is
    /// recorded.
    pub(super) fn name(
        &self,
        store: &Store,
        publisher_id: &str,
        operation: PublisherOperation,
        context: &Context,
    ) -> Result<String, CommandFailure> {
        let operator = context.actor();
        let Some(by) = &self.by else { return Ok(operator) };
        let name = by.to_lowercase();
        // The named person did not sign in here, so the audit log also says who named them.
        let recorded = format!("{name} by {operator}");
        let member = store.member(&name)?;
        let checked = member
            .map_or(Err(NotPermitted::Stranger), |member| check(&member, publisher_id, operation));
        match checked {
            Ok(()) => Ok(recorded),
            Err(NotPermitted::Stranger) => {
                Err(CommandFailure::usage(format!("{publisher_id} has no user {name}"))
                    .hint("`tradepost console user list` lists all users")
                    .data(json!({"code": "unknown_member", "publisher": publisher_id})))
            }
            Err(NotPermitted::Role { role, needed }) => {
                let refused = NewAuditEntry {
                    actor: recorded,
                    detail: Some(format!("{} needs another role than {role}", operation.name())),
                    ..context.entry(publisher_id, AuditAction::AccessRefused, None)
                };
                store.record_all(vec![refused])?;
                let needed: Vec<_> = needed.into_iter().map(|role| role.name()).collect();
                let message = format!(
                    "{name} has the role {role}, which does not permit {}",
                    operation.name()
                );
                Err(CommandFailure::usage(message)
                    .hint(format!("roles that permit it: {}", needed.join(", ")))
                    .data(json!({"code": "not_permitted", "role": role, "needed": needed})))
            }
        }
    }
}
