//! Answers that a sandbox was told to give to the next request for a tool (`force_create_media_buy_arm` and
//! its like), and the task that comes of it.

use jiff::Timestamp;
use tradepost_adcp::AdcpTool;
use tradepost_document::fault::InternalError;

use crate::refusals::ToolError;
use crate::reply::ToolReply;
use crate::store::{EntityKind, New, StoreRead, StoreTx, kept, own_id};
use crate::tool_context::WriteContext;

kept! {
    /// Prepared answer to the next request of a tenant for a tool.
    pub struct Arm: Directive {
        /// Kind of answer.
        arm: PreparedAnswer,
        /// Id that the task has to have.
        task_id?: Option<String>,
        /// Message of the answer.
        message?: Option<String>,
    }
}

tradepost_document::words! {
    /// Kind of answer that a sandbox was prepared to give.
    pub enum PreparedAnswer {
        /// A task that is carried out later.
        Submitted = "submitted",
        /// A question for the missing input.
        InputRequired = "input-required",
    }
}

fn id(tenant: &str, tool: AdcpTool) -> String {
    own_id(tenant, "", &format!("{tool}_arm"))
}

impl Arm {
    /// Prepares the answer to the next request of a tenant, in place of an earlier one.
    ///
    /// # Errors
    /// When the store fails.
    pub fn set(
        &self,
        tx: &dyn StoreTx,
        tenant: &str,
        tool: AdcpTool,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        Self::remove(tx, tenant, tool)?;
        let id = id(tenant, tool);
        tx.add(New { id: &id, owner: tenant, account: None, state: "", now }, self)
    }

    /// Finds the prepared answer.
    pub(crate) fn find(
        reader: &dyn StoreRead,
        tenant: &str,
        tool: AdcpTool,
    ) -> Result<Option<Self>, InternalError> {
        Ok(reader.find::<Self>(&id(tenant, tool))?.map(|stored| stored.thing))
    }

    /// Takes the prepared answer, which is given once.
    pub(crate) fn take(
        tx: &dyn StoreTx,
        tenant: &str,
        tool: AdcpTool,
    ) -> Result<Option<Self>, InternalError> {
        let found = Self::find(tx, tenant, tool)?;
        if found.is_some() {
            Self::remove(tx, tenant, tool)?;
        }
        Ok(found)
    }

    /// Removes the prepared answer.
    pub(crate) fn remove(
        tx: &dyn StoreTx,
        tenant: &str,
        tool: AdcpTool,
    ) -> Result<(), InternalError> {
        tx.remove(EntityKind::Directive, &id(tenant, tool)).map(drop)
    }

    /// Answers with a task that only a test ends.
    pub(crate) fn submit(self, work: &WriteContext<'_>) -> Result<ToolReply, ToolError> {
        let message = self.message.as_deref().unwrap_or("the seller is looking for it");
        Ok(work.submit(self.task_id, message, |task| task)?)
    }
}
