//! Log lines about attempts, without data of customers and names from buyers.

use tradepost_dealer::delivery::{DeliveryRecord, DeliverySource};

/// Logs that a destination has accepted a delivery.
pub(super) fn log_success(record: &DeliveryRecord) {
    let destination = &record.destination;
    let attempts = record.attempts;
    match record.source {
        DeliverySource::Lead => {
            let lead = &record.lead_id;
            tracing::debug!(%lead, %destination, attempts, "a lead was delivered");
        }
        DeliverySource::Publisher => {
            let publisher = &record.dealer_id;
            tracing::debug!(%publisher, delivery = record.key, %destination, attempts, "told people");
        }
    }
}

/// Logs the result of an attempt, without data of the customer.
pub(super) fn log_failure(record: &DeliveryRecord, answer: &str, is_dead: bool) {
    let lead = &record.lead_id;
    let destination = &record.destination;
    let attempts = record.attempts;
    let dealer = &record.dealer_id;
    if record.source == DeliverySource::Publisher {
        return log_staff_failure(record, answer, is_dead);
    }
    if is_dead {
        tracing::warn!(
            %dealer, %lead, %destination, attempts, answer,
            "a lead was not delivered and is given up; tradepost leads resend sends it again"
        );
    } else {
        tracing::info!(%dealer, %lead, %destination, attempts, answer, "a lead was not taken");
    }
}

/// Logs the result of an attempt at a publisher's message, without names from buyers.
fn log_staff_failure(record: &DeliveryRecord, answer: &str, is_dead: bool) {
    let delivery = record.key;
    let destination = &record.destination;
    let attempts = record.attempts;
    let publisher = &record.dealer_id;
    if is_dead {
        tracing::warn!(
            %publisher, delivery, %destination, attempts, answer,
            "a message to people was given up; tradepost publisher resend sends it again"
        );
    } else {
        tracing::info!(
            %publisher, delivery, %destination, attempts, answer,
            "a message to people was not taken"
        );
    }
}
