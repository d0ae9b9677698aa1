//! Step at the ad server, as it is stored before it is done.

use serde::{Deserialize, Serialize};

use crate::ad_server::{CreativeSpec, DealSpec, ExternalId, LineItemSpec, OrderSpec};

/// Step at the ad server. Each can be repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum RemoteStep {
    /// Make the order.
    CreateOrder {
        /// The order.
        order: OrderSpec,
    },
    /// Change dates and budget of the order.
    ChangeOrder {
        /// The order.
        order: OrderSpec,
    },
    /// Make a line item.
    CreateLineItem {
        /// The line item.
        line_item: LineItemSpec,
    },
    /// Change a line item.
    ChangeLineItem {
        /// The line item.
        line_item: LineItemSpec,
    },
    /// Make a creative.
    CreateCreative {
        /// The creative.
        creative: CreativeSpec,
    },
    /// Associate a creative with a line item.
    Associate {
        /// Package of the line item.
        package_id: String,
        /// The creative.
        creative: ExternalId,
    },
    /// End the association of a creative with a line item.
    Dissociate {
        /// Package of the line item.
        package_id: String,
        /// The creative.
        creative: ExternalId,
    },
    /// Approve the order with all of its line items.
    ApproveOrder,
    /// Approve a line item that was added to an approved order.
    ApproveLineItem {
        /// Package of the line item.
        package_id: String,
    },
    /// Pause a line item.
    PauseLineItem {
        /// Package of the line item.
        package_id: String,
    },
    /// Resume a line item.
    ResumeLineItem {
        /// Package of the line item.
        package_id: String,
    },
    /// Cancel a line item.
    CancelLineItem {
        /// Package of the line item.
        package_id: String,
    },
    /// Cancel the order with all of its line items.
    CancelOrder,
    /// Send a deal whole: make it, or change it.
    PutDeal {
        /// The package.
        package_id: String,
        /// The deal.
        deal: DealSpec,
    },
    /// Close a deal for good.
    CloseDeal {
        /// The package.
        package_id: String,
    },
    /// See whether the order was approved by a person at the ad server.
    ReadState,
    /// Compare what was confirmed with what there is.
    Verify,
}

impl RemoteStep {
    /// Returns its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CreateOrder { .. } => "create_order",
            Self::ChangeOrder { .. } => "change_order",
            Self::CreateLineItem { .. } => "create_line_item",
            Self::ChangeLineItem { .. } => "change_line_item",
            Self::CreateCreative { .. } => "create_creative",
            Self::Associate { .. } => "associate",
            Self::Dissociate { .. } => "dissociate",
            Self::ApproveOrder => "approve_order",
            Self::ApproveLineItem { .. } => "approve_line_item",
            Self::PauseLineItem { .. } => "pause_line_item",
            Self::ResumeLineItem { .. } => "resume_line_item",
            Self::CancelLineItem { .. } => "cancel_line_item",
            Self::CancelOrder => "cancel_order",
            Self::PutDeal { .. } => "put_deal",
            Self::CloseDeal { .. } => "close_deal",
            Self::ReadState => "read_state",
            Self::Verify => "verify",
        }
    }

    /// Returns the package of the line item that it is done to; `None` where it is done to the order, to a
    /// creative, or to a line item that it carries itself.
    #[must_use]
    pub fn package_id(&self) -> Option<&str> {
        match self {
            Self::Associate { package_id, .. }
            | Self::Dissociate { package_id, .. }
            | Self::ApproveLineItem { package_id }
            | Self::PauseLineItem { package_id }
            | Self::ResumeLineItem { package_id }
            | Self::CancelLineItem { package_id } => Some(package_id),
            Self::CreateOrder { .. }
            | Self::ChangeOrder { .. }
            | Self::CreateLineItem { .. }
            | Self::ChangeLineItem { .. }
            | Self::CreateCreative { .. }
            | Self::ApproveOrder
            | Self::CancelOrder
            | Self::PutDeal { .. }
            | Self::CloseDeal { .. }
            | Self::ReadState
            | Self::Verify => None,
        }
    }

    /// Returns its name, and what it is done to.
    #[must_use]
    pub fn describe(&self) -> String {
        let name = self.name();
        match self {
            Self::CreateLineItem { line_item } | Self::ChangeLineItem { line_item } => {
                format!("{name} {}", line_item.package_id)
            }
            Self::CreateCreative { creative } => format!("{name} {}", creative.external_id.0),
            Self::Associate { package_id, creative }
            | Self::Dissociate { package_id, creative } => {
                format!("{name} {package_id} {}", creative.0)
            }
            Self::ApproveLineItem { package_id }
            | Self::PauseLineItem { package_id }
            | Self::ResumeLineItem { package_id }
            | Self::CancelLineItem { package_id }
            | Self::PutDeal { package_id, .. }
            | Self::CloseDeal { package_id } => format!("{name} {package_id}"),
            Self::CreateOrder { .. }
            | Self::ChangeOrder { .. }
            | Self::ApproveOrder
            | Self::CancelOrder
            | Self::ReadState
            | Self::Verify => name.to_owned(),
        }
    }

    /// Returns true if it changes something at the ad server.
    #[must_use]
    pub const fn acts(&self) -> bool {
        !matches!(self, Self::ReadState | Self::Verify)
    }

    /// Returns true if it makes an object: where its outcome is in doubt, the object is looked up before
    /// another one is made.
    #[must_use]
    pub const fn makes(&self) -> bool {
        matches!(
            self,
            Self::CreateOrder { .. } | Self::CreateLineItem { .. } | Self::CreateCreative { .. }
        )
    }

    /// Returns true if it is done to a deal.
    #[must_use]
    pub const fn is_of_deal(&self) -> bool {
        matches!(self, Self::PutDeal { .. } | Self::CloseDeal { .. })
    }

    /// Returns true if a refusal of it concerns one creative, and not the order.
    #[must_use]
    pub const fn is_of_creative(&self) -> bool {
        matches!(
            self,
            Self::CreateCreative { .. } | Self::Associate { .. } | Self::Dissociate { .. }
        )
    }
}
