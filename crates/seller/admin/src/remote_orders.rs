//! Media buys at a publisher's ad server: which of them wait for a person, what differs from what was sold, and
//! another attempt.

use tradepost_dealer::staff::AuditAction;
use tradepost_document::fault::InternalError;
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::remote_order::wanted::{OrderTerms, WantedOrder, read_wanted};
use tradepost_publisher::remote_order::{RemoteOrder, RemotePhase};
use tradepost_publisher::store::{Entity as _, Query, StoreRead, StoreTx, Stored};
use tradepost_store::TransactionError;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::decisions::permit;
use crate::operation::AdminOperation;

/// Refusal of an operation on an order.
#[derive(Debug)]
pub enum OrderRefusal {
    /// The actor is not on the publisher's staff.
    Stranger,
    /// No media buy of this id is carried into the ad server.
    Unknown,
}

/// Result of an operation on orders.
pub type OrderResult<T> = Result<T, AdminError<OrderRefusal>>;

/// Selection of orders.
#[derive(Debug, Clone, Copy)]
pub struct ListOrders<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Only orders in this phase.
    pub phase: Option<RemotePhase>,
    /// Maximum number; 0 for all.
    pub limit: usize,
}

/// Returns the media buys at the ad server, the oldest first.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, or the store fails.
pub fn list_orders(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ListOrders<'_>,
) -> OrderResult<Vec<Stored<RemoteOrder>>> {
    permit(context, actor, input.publisher, AdminOperation::ListOrders, OrderRefusal::Stranger)?;
    let states = input.phase.map(|phase| phase.to_string()).into_iter().collect();
    let query = Query { states, limit: input.limit, ..Query::default() };
    Ok(read(context, input.publisher, |reader| reader.all::<RemoteOrder>(&query))?)
}

/// Returns the number of media buys at the ad server in a phase, without reading them.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, or the store fails.
pub fn count_orders(
    context: &AdminContext<'_>,
    actor: &Actor,
    publisher: &Publisher,
    phase: RemotePhase,
) -> OrderResult<u64> {
    permit(context, actor, publisher, AdminOperation::ListOrders, OrderRefusal::Stranger)?;
    let query = Query { states: vec![phase.to_string()], ..Query::default() };
    let tallies = read(context, publisher, |reader| reader.count(RemoteOrder::KIND, &query))?;
    Ok(tallies.iter().map(|tally| tally.things).sum())
}

/// Returns what there is of a media buy at the ad server; `None` for one that is not carried into it.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, or the store fails.
pub fn find_order(
    context: &AdminContext<'_>,
    actor: &Actor,
    publisher: &Publisher,
    media_buy_id: &str,
) -> OrderResult<Option<RemoteOrder>> {
    permit(context, actor, publisher, AdminOperation::ListOrders, OrderRefusal::Stranger)?;
    let found = read(context, publisher, |reader| reader.find::<RemoteOrder>(media_buy_id))?;
    Ok(found.map(|order| order.thing))
}

/// Orders to be compared with the ad server.
#[derive(Debug, Clone, Copy)]
pub struct ReconcileOrders<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Terms on which its orders are made.
    pub terms: &'a OrderTerms,
    /// Only this media buy.
    pub media_buy_id: Option<&'a str>,
}

/// A media buy to be compared: what there was last, and what was sold.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderComparison {
    /// What the ad server had last.
    pub remote: RemoteOrder,
    /// What was sold.
    pub wanted: WantedOrder,
}

/// Returns the media buys to be compared with the ad server. Those that cannot be described to it are left
/// out; a list of orders shows them as stopped.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, there is no such buy, or the store fails.
pub fn orders_to_compare(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ReconcileOrders<'_>,
) -> OrderResult<Vec<OrderComparison>> {
    let ReconcileOrders { publisher, terms, media_buy_id } = input;
    permit(context, actor, publisher, AdminOperation::ReconcileOrders, OrderRefusal::Stranger)?;
    let now = context.now;
    let found = read(context, publisher, |reader| {
        let orders = match media_buy_id {
            Some(id) => reader.find::<RemoteOrder>(id)?.into_iter().collect(),
            None => reader.all::<RemoteOrder>(&Query::default())?,
        };
        let mut found = Vec::new();
        for order in orders {
            let wanted = read_wanted(reader, &order.thing, terms, now)?;
            if let Some(wanted) = wanted.filter(|wanted| wanted.untranslatable.is_none()) {
                found.push(OrderComparison { remote: order.thing, wanted });
            }
        }
        Ok(found)
    })?;
    if media_buy_id.is_some() && found.is_empty() {
        return Err(AdminError::Refused(OrderRefusal::Unknown));
    }
    Ok(found)
}

/// A media buy that is to be carried into the ad server again.
#[derive(Debug, Clone)]
pub struct RetryOrder<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// The media buy.
    pub media_buy_id: String,
}

/// Has a media buy carried into the ad server again: what was refused is asked for again, and an order that
/// was undone is made anew. Returns the phase before.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, there is no such buy, or the store fails.
pub fn retry_order(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: RetryOrder<'_>,
) -> OrderResult<RemotePhase> {
    let RetryOrder { publisher, media_buy_id } = input;
    permit(context, actor, publisher, AdminOperation::RetryOrder, OrderRefusal::Stranger)?;
    let publisher_id = publisher.profile.id.clone();
    let action = AuditAction::OrderRetried;
    let entry = context.entry(actor, &publisher_id, action, Some(&media_buy_id));
    let now = context.now;
    let before = context.store.decide::<_, OrderRefusal>(move |tx| {
        let retry = |tx: &dyn StoreTx| {
            let Some(mut order) = tx.find::<RemoteOrder>(&media_buy_id)? else { return Ok(None) };
            let before = order.thing.phase;
            order.thing.retry(now);
            tx.change(&mut order, now)?;
            Ok::<_, InternalError>(Some(before))
        };
        let before = tx.with_publisher(&publisher_id, retry)??;
        let before = before.ok_or(TransactionError::Refused(OrderRefusal::Unknown))?;
        tx.record(&entry)?;
        Ok(before)
    })?;
    Ok(before)
}

/// Reads a publisher's data.
fn read<T>(
    context: &AdminContext<'_>,
    publisher: &Publisher,
    job: impl Fn(&dyn StoreRead) -> Result<T, InternalError>,
) -> Result<T, InternalError> {
    let mut found = None;
    context
        .store
        .read_for_publisher(&publisher.profile.id, &mut |reader| found = Some(job(reader)))?;
    found.unwrap_or_else(|| Err(InternalError::new("reading orders", "the store ran no job")))
}
