//! Operations of [`tradepost_admin`] on the command line: who acts, and the failure when one is not
//! done.

use tradepost_admin::{Actor, AdminContext, AdminError, DealerScope, MissingPermission};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_server::clock::Clock;
use tradepost_store::Store;

use super::Context;
use super::output::CommandFailure;

/// Returns the operator of the server, who may do everything.
pub(super) fn operator(context: &Context) -> Actor {
    Actor::operator(context.actor())
}

/// Returns the surroundings of an operation now.
pub(super) fn admin<'a>(store: &'a Store, dealers: &'a [DealerScope<'a>]) -> AdminContext<'a> {
    AdminContext { store, dealers, now: Clock::system().now() }
}

/// Returns the failure of an operation that was not done. `refused` has the failures of its refusals.
pub(super) fn failure<R>(
    error: AdminError<R>,
    refused: impl FnOnce(R) -> CommandFailure,
) -> CommandFailure {
    match error {
        AdminError::Forbidden(missing) => {
            let MissingPermission { operation, member, role } = missing;
            let needed: Vec<_> =
                operation.permission().roles().iter().map(|role| role.name()).collect();
            let message =
                format!("{member} has the role {role}, which does not permit {operation}");
            CommandFailure::usage(message)
                .hint(format!("roles that permit it: {}", needed.join(", ")))
                .data(json!({"code": "not_permitted", "role": role, "needed": needed}))
        }
        AdminError::Refused(refusal) => refused(refusal),
        AdminError::Broken(fault) => CommandFailure::fault(fault),
    }
}
