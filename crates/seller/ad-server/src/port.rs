//! The trait of an ad server, what it is asked, and how a call can fail.

use std::fmt;
use std::time::Duration;

use jiff::civil::Date;
use tradepost_publisher::ad_server::{
    AdServerCapabilities, CreativeSpec, DealSpec, ExternalId, LineItemSpec, OrderSpec,
    RemoteDelivery, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
};
use tradepost_publisher::services::BoxFuture;

pub use tradepost_publisher::ad_server::{Availability, PackageProblem};

/// Future of a call to an ad server.
pub type AdServerResult<'a, T> = BoxFuture<'a, Result<T, AdServerError>>;

/// Error of a call to an ad server. Texts are for the publisher's people and the log; buyers get a code of
/// AdCP instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdServerError {
    /// The request did not leave this machine, or the ad server said that it did nothing: it can be repeated.
    #[error("the ad server could not be reached")]
    Unsent,
    /// No answer, none in time, or 5xx: the request may have had its effect. What it was to make is looked up
    /// by its external id before it is repeated.
    #[error("the ad server did not answer, and may have acted")]
    Unanswered,
    /// An answer that cannot be read. It may have had its effect, like one without an answer.
    #[error("the ad server's answer could not be read: {detail}")]
    Garbled {
        /// What is wrong with it, without its content.
        detail: String,
    },
    /// Not now: a rate limit, or an object that is not ready (`NO_FORECAST_YET`). It did nothing.
    #[error("the ad server asks to wait")]
    NotYet {
        /// Time to wait, where it said one.
        retry_after: Option<Duration>,
    },
    /// Refused; repeating it unchanged does not help, and a person of the publisher has to act.
    #[error("the ad server has refused: {detail}")]
    Refused {
        /// Reason.
        reason: RefusalReason,
        /// Text of the ad server, shortened and without control characters.
        detail: String,
    },
}

/// Reason for which an ad server has refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// The credential is not accepted.
    Credential,
    /// The credential may not do this, such as approve an order.
    Permission,
    /// An object that the request names is not there: an ad unit, an advertiser, or what was made before.
    Missing,
    /// The external id belongs to another object.
    Conflict,
    /// Too little inventory.
    NoInventory,
    /// The request has a value that the ad server does not accept.
    Invalid,
    /// The adapter or the ad server has no such operation.
    Unsupported,
}

/// An item of the ad server's inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryItem {
    /// Its id, as products name it in `terms.ad_server.inventory`.
    pub id: RemoteId,
    /// Name for people.
    pub name: String,
    /// Kind in the words of the ad server (`ad_unit`, `site`, `zone`).
    pub kind: String,
}

/// Change of state that is asked of an ad server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteStateChange {
    /// Approve a draft so that it delivers.
    Approve,
    /// Pause.
    Pause,
    /// Resume.
    Resume,
    /// Cancel or archive for good.
    Cancel,
}

/// An ad server. Creation is by external id: a second creation with the same id returns the first object, and
/// where the ad server does not do that itself, the adapter looks for the object first.
pub trait AdServer: Send + Sync + fmt::Debug {
    /// Returns the name of the adapter (`kevel`).
    fn name(&self) -> &'static str;

    /// Returns what it can do.
    fn capabilities(&self) -> &AdServerCapabilities;

    /// Checks that it can be reached and accepts the credential; returns a text for people, such as the name
    /// of the network.
    fn check(&self) -> AdServerResult<'_, String>;

    /// Returns what it cannot do of an order. Without a request where its capabilities suffice.
    fn validate<'a>(
        &'a self,
        order: &'a OrderSpec,
        line_items: &'a [LineItemSpec],
    ) -> AdServerResult<'a, Vec<PackageProblem>>;

    /// Returns the availability for a line item.
    fn availability<'a>(&'a self, line_item: &'a LineItemSpec) -> AdServerResult<'a, Availability>;

    /// Returns the order with an external id, if it was made.
    fn find_order<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>>;

    /// Returns the line items of an order.
    fn line_items<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteObject>>;

    /// Returns the creative with an external id, if it was made.
    fn find_creative<'a>(&'a self, id: &'a ExternalId) -> AdServerResult<'a, Option<RemoteObject>>;

    /// Makes an order, as a draft where the ad server has drafts.
    fn create_order<'a>(&'a self, order: &'a OrderSpec) -> AdServerResult<'a, RemoteObject>;

    /// Changes dates and budget of an order, where the ad server has them. By default it has none.
    fn change_order<'a>(
        &'a self,
        _order: &'a RemoteId,
        _spec: &'a OrderSpec,
    ) -> AdServerResult<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Returns the line items of an order with as much as the ad server shows of them. By default they have
    /// ids and states alone.
    fn inspect<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, Vec<RemoteLineItemView>> {
        Box::pin(async move {
            let found = self.line_items(order).await?;
            let bare = |object| RemoteLineItemView {
                object,
                start_time: None,
                end_time: None,
                budget: None,
                creatives: None,
            };
            Ok(found.into_iter().map(bare).collect())
        })
    }

    /// Makes a line item of an order.
    fn create_line_item<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject>;

    /// Changes dates, budget, goal, price and targeting of a line item to those of its specification.
    fn change_line_item<'a>(
        &'a self,
        order: &'a RemoteId,
        id: &'a RemoteId,
        line_item: &'a LineItemSpec,
    ) -> AdServerResult<'a, RemoteObject>;

    /// Makes a creative.
    fn create_creative<'a>(
        &'a self,
        creative: &'a CreativeSpec,
    ) -> AdServerResult<'a, RemoteObject>;

    /// Associates a creative with a line item. Repeating it changes nothing.
    fn associate_creative<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()>;

    /// Ends the association of a creative with a line item. Repeating it changes nothing.
    fn dissociate_creative<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a RemoteId,
        creative: &'a RemoteId,
    ) -> AdServerResult<'a, ()>;

    /// Changes the state of an order and of all its line items. Returns the state that follows; with
    /// [`RemoteStateChange::Approve`] it may be [`RemoteState::PendingApproval`].
    fn change_order_state<'a>(
        &'a self,
        order: &'a RemoteId,
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState>;

    /// Changes the state of one line item.
    fn change_line_item_state<'a>(
        &'a self,
        order: &'a RemoteId,
        line_item: &'a RemoteId,
        change: RemoteStateChange,
    ) -> AdServerResult<'a, RemoteState>;

    /// Returns the state of an order now.
    fn order_state<'a>(&'a self, order: &'a RemoteId) -> AdServerResult<'a, RemoteState>;

    /// Returns the delivery of an order by line item and day, from the first day to the last, both included.
    fn delivery<'a>(
        &'a self,
        order: &'a RemoteId,
        from: Date,
        to: Date,
    ) -> AdServerResult<'a, Vec<RemoteDelivery>>;

    /// Returns the inventory that products can name.
    fn inventory(&self) -> AdServerResult<'_, Vec<InventoryItem>>;

    /// Makes a deal, or changes the one with its external id.
    fn put_deal<'a>(&'a self, deal: &'a DealSpec) -> AdServerResult<'a, RemoteObject>;

    /// Closes a deal. Repeating it changes nothing.
    fn close_deal<'a>(&'a self, deal: &'a RemoteId) -> AdServerResult<'a, ()>;
}
