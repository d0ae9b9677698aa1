//! Person who acts for a publisher on the command line, and the reason for a decision.

use tradepost_admin::Actor;
use tradepost_admin::people::stored_name;
use tradepost_document::json::json;
use tradepost_store::Store;

use crate::cli::Context;
use crate::cli::operator::operator;
use crate::cli::output::CommandFailure;

/// Person who acts.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct Decider {
    /// Name of the publisher's staff member who does this (`tradepost console user list`). The
    /// member's role must permit it. By default an operator of the server does it, under the name
    /// of the machine's user.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Reason for a decision, in the audit log alone.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct DecisionReason {
    /// Reason for the publisher's audit log, which buyers do not read. The reason is never erased:
    /// do not name a customer.
    #[arg(long, value_name = "TEXT")]
    pub(super) why: Option<String>,
}

impl Decider {
    /// Returns the person who acts: the named one, or the operator of the server.
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
        let member = store.member(&stored_name(by))?;
        let member = member.ok_or_else(|| self.unknown_member(publisher_id))?;
        Ok(Actor::from_member_and_operator(&member, &context.actor()))
    }

    /// Returns the failure for somebody who is not on the publisher's staff, also for nobody.
    pub(super) fn unknown_member(&self, publisher_id: &str) -> CommandFailure {
        let name = self.by.as_deref().map(stored_name).unwrap_or_default();
        CommandFailure::usage(format!("{publisher_id} has no user {name}"))
            .hint("`tradepost console user list` lists all users")
            .data(json!({"code": "unknown_member", "publisher": publisher_id}))
    }
}
