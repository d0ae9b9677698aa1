//! Delivery of media buys that people or programs of a publisher report, in place of an ad server that is asked.

use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::staff::reported::{
    ReportRefused, ReportedBuy, ReportedDay, RowProblem, report_days,
};
use tradepost_store::TransactionError;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::decisions::permit;
use crate::operation::AdminOperation;

/// Refusal of reported delivery.
#[derive(Debug)]
pub enum DeliveryRefusal {
    /// The actor is not on the publisher's staff.
    Stranger,
    /// Every problem of every row; nothing was stored.
    Problems(Vec<RowProblem>),
}

/// Days to be reported.
#[derive(Debug, Clone)]
pub struct ReportDelivery<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// Rows that were read.
    pub days: Vec<ReportedDay>,
    /// Problems of the rows that could not be read; with any, nothing is stored.
    pub problems: Vec<RowProblem>,
}

/// Stores reported days, all or none. Returns what was reported of each media buy; one that nothing has changed of
/// gets no entry in the audit log.
///
/// # Errors
/// Fails when the actor lacks the permission or is a stranger, a row has a problem, or the store fails.
pub fn report_delivery(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ReportDelivery<'_>,
) -> Result<Vec<ReportedBuy>, AdminError<DeliveryRefusal>> {
    let ReportDelivery { publisher, days, problems } = input;
    let check = |operation| permit(context, actor, publisher, operation, DeliveryRefusal::Stranger);
    check(AdminOperation::ReportDelivery)?;
    if days.iter().any(|day| day.is_correction) {
        check(AdminOperation::CorrectDelivery)?;
    }
    let id = publisher.profile.id.clone();
    let publisher = publisher.clone();
    let now = context.now;
    let entry = context.entry(actor, &id, AuditAction::DeliveryReported, None);
    let reported = context.store.decide::<_, DeliveryRefusal>(move |tx| {
        let done =
            tx.with_publisher(&id, |tx| report_days(&publisher, tx, &days, &problems, now))?;
        let reported = done.map_err(|refused| match refused {
            ReportRefused::Problems(problems) => {
                TransactionError::Refused(DeliveryRefusal::Problems(problems))
            }
            ReportRefused::Broken(fault) => TransactionError::Broken(fault),
        })?;
        for buy in reported.iter().filter(|buy| buy.changed > 0) {
            let subject = Some(buy.media_buy_id.clone());
            tx.record(&NewAuditEntry { subject, detail: Some(detail(buy)), ..entry.clone() })?;
        }
        Ok(reported)
    })?;
    Ok(reported)
}

fn detail(buy: &ReportedBuy) -> String {
    let ReportedBuy { changed, finalized, corrected, .. } = buy;
    format!("{changed} days changed, {finalized} made final, {corrected} final ones corrected")
}
