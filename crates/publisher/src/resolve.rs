//! Resolve, then authorize: the only way to a thing by its id. What is not there and what is
//! another's are the same value, the same bytes and the same work (`U-1` to `U-10`).

use tradepost_wire::adcp::error::Code;

use crate::refuse::{self, Stop};
use crate::shelf::{Broken, Kept, Shelf, Thing, Whose};

/// What a caller can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The tenant.
    pub tenant: String,
    /// Accounts of others that it may use.
    pub accounts: Vec<String>,
}

impl Reach {
    /// Whether a thing is the caller's. Asked for nothing at all too, so that an absent thing
    /// costs a decision.
    fn permits(&self, whose: &Whose) -> bool {
        let account = whose.account.as_ref();
        let mine = whose.owner == self.tenant;
        let shared = account.is_some_and(|id| self.accounts.iter().any(|known| known == id));
        // Both are worked out before either decides.
        mine | shared
    }

    /// The caller's thing with this id.
    pub(crate) fn find<T: Thing>(
        &self,
        shelf: &dyn Shelf,
        id: &str,
    ) -> Result<Option<Kept<T>>, Broken> {
        let found = shelf.whose(T::KIND, id)?;
        let permitted = self.permits(&found.clone().unwrap_or_default());
        if found.is_some() && permitted { shelf.find(id) } else { Ok(None) }
    }

    /// The caller's thing with this id, or the code for what is not there. `field` is the member
    /// that named it; see [`refuse::not_found`].
    pub(crate) fn require<T: Thing>(
        &self,
        shelf: &dyn Shelf,
        id: &str,
        code: Code,
        field: Option<&str>,
    ) -> Result<Kept<T>, Stop> {
        self.find(shelf, id)?.ok_or_else(|| refuse::not_found(code, field).into())
    }
}
