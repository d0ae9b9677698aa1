//! Person who decides for a publisher on the command line, and the reason.

use tradepost_admin::Actor;
use tradepost_document::json::json;
use tradepost_store::Store;

use crate::cli::Context;
use crate::cli::operator::operator;
use crate::cli::output::CommandFailure;

/// Person who decides, and the reason.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Decider {
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
    /// Returns the person who decides: the named one, or the operator of the server.
    ///
    /// # Errors
    /// Fails when nobody has the name, or the store fails.
    pub(super) fn actor(
        &self,
        store: &Store,
        publisher_id: &str,
        context: &Context,
    ) -> Result<Actor, CommandFailure> {
        let Some(by) = &self.by else { return Ok(operator(context)) };
        let member = store.member(&by.to_lowercase())?;
        let member = member.ok_or_else(|| self.unknown_member(publisher_id))?;
        Ok(Actor::from_member_and_operator(&member, &context.actor()))
    }

    /// Returns the failure for somebody who is not on the publisher's staff, also for nobody.
    pub(super) fn unknown_member(&self, publisher_id: &str) -> CommandFailure {
        let name = self.by.as_deref().unwrap_or_default().to_lowercase();
        CommandFailure::usage(format!("{publisher_id} has no user {name}"))
            .hint("`tradepost console user list` lists all users")
            .data(json!({"code": "unknown_member", "publisher": publisher_id}))
    }
}
