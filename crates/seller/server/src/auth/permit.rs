//! Authorization: permissions of an authenticated caller.

use tradepost_a2a::Operation;

use super::{AuthRefusal, Principal};
use crate::permission::Permission;

/// Checks that a caller has the permission for an operation, before anything is looked up (A2A 1.0
/// §13.1).
///
/// # Errors
/// [`AuthRefusal::Scope`], without a credential [`AuthRefusal::Page`], and for the extended card without one
/// [`AuthRefusal::Missing`].
pub fn check(
    principal: &Principal,
    operation: Operation,
    needed: Option<Permission>,
) -> Result<(), AuthRefusal> {
    // The extended card always requires authentication (A2A 1.0 §13.3).
    if operation == Operation::GetExtendedAgentCard && principal.is_anonymous() {
        return Err(AuthRefusal::Missing);
    }
    permit(principal, needed)
}

/// Checks that a caller has a permission.
///
/// # Errors
/// [`AuthRefusal::Scope`], and without a credential [`AuthRefusal::Page`].
pub fn permit(principal: &Principal, needed: Option<Permission>) -> Result<(), AuthRefusal> {
    match needed {
        Some(missing) if !principal.scopes.permit(missing.clone()) => {
            // A caller without a credential lacks a permission only when it comes from a web page
            // (see `http::cors`).
            Err(match principal.is_anonymous() {
                true => AuthRefusal::Page,
                false => AuthRefusal::Scope { missing },
            })
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tradepost_document::catalog::Vocabulary as _;

    use super::*;
    use crate::permission::{Scopes, required};

    #[test]
    fn whoever_has_one_permission_passes_only_where_it_is_required() {
        let all = [Permission::CARD_READ, Permission::TASKS_READ, Permission::TASKS_WRITE];
        for held in &all {
            let principal =
                Principal { name: "k".to_owned(), scopes: Scopes::only([held.clone()]) };
            for operation in Operation::ALL {
                let needed = required(*operation);
                let passes = check(&principal, *operation, Some(needed.clone())).is_ok();
                assert_eq!(passes, needed == *held, "{held} {operation}");
                assert!(check(&principal, *operation, None).is_ok());
                let anybody = check(&Principal::anonymous(), *operation, Some(needed));
                let closed = *operation == Operation::GetExtendedAgentCard;
                assert_eq!(anybody.is_err(), closed, "A-08: {operation}");
            }
        }
    }
}
