//! Asks the ad server of a publisher about an order before it is sold. Whatever it does, the buyer has an
//! answer within a bounded time, and one that has failed is left alone for a while.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tradepost_ad_server::{AdServer, AdServerError, Availability, PackageProblem, RefusalReason};
use tradepost_document::backoff::Backoff;
use tradepost_document::breaker::CircuitBreaker;
use tradepost_publisher::ad_server::LineItemSpec;
use tradepost_publisher::services::{OrderAnswer, OrderQuestion, Unavailable};
use tradepost_server::clock::Clock;

/// Maximum time for all that is asked about one order.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which an ad server that has failed is not asked.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of forecasts that are asked for at once.
const MAX_CONCURRENT_FORECASTS: usize = 8;

/// Setting that the operator has to check when the ad server refuses to be asked.
const SETTING: &str = "publishers.ad_server";

/// Breaker of one kind of question. Adapters answer some of them without a request, which have to go on when
/// others fail.
type QuestionBreaker = Mutex<CircuitBreaker<Unavailable>>;

/// Asks an ad server about orders that are not sold yet.
#[derive(Debug)]
pub struct OrderChecker {
    publisher: String,
    ad_server: Arc<dyn AdServer>,
    clock: Clock,
    timeout: Duration,
    validation: QuestionBreaker,
    forecasts: QuestionBreaker,
}

/// Result for one package.
enum Forecast {
    /// So much is available.
    Known(Availability),
    /// It cannot be had like this.
    Problem(PackageProblem),
    /// The ad server makes no forecasts after all.
    Unknown,
}

impl OrderChecker {
    /// Creates the checker of a publisher, whose answers may take up to `timeout`.
    #[must_use]
    pub fn new(
        publisher: &str,
        ad_server: Arc<dyn AdServer>,
        clock: &Clock,
        timeout: Duration,
    ) -> Self {
        let breaker = || Mutex::new(CircuitBreaker::new(Backoff::constant(RETRY_INTERVAL)));
        Self {
            publisher: publisher.to_owned(),
            ad_server,
            clock: clock.clone(),
            // There are two questions, and the rest of the time is for what else the answer needs.
            timeout: CHECK_TIMEOUT.min(timeout / 4),
            validation: breaker(),
            forecasts: breaker(),
        }
    }

    /// Asks about an order.
    ///
    /// # Errors
    /// Fails when the ad server gives no usable answer in time, or its settings are wrong.
    pub async fn ask(&self, question: &OrderQuestion) -> Result<OrderAnswer, Unavailable> {
        let validated = self.ad_server.validate(&question.order, &question.line_items);
        let problems = self.guarded(&self.validation, validated).await?;
        let mut answer = OrderAnswer { problems, ..OrderAnswer::default() };
        // Also beside problems: those that a change has not caused do not hinder it.
        if !question.forecast.is_empty() {
            let more = self.guarded(&self.forecasts, self.forecast_all(question)).await?;
            answer.availability = more.availability;
            answer.problems.extend(more.problems);
        }
        self.log_problems(&answer.problems);
        Ok(answer)
    }

    /// Asks a question, unless the ad server has just failed to answer such a one.
    async fn guarded<T>(
        &self,
        breaker: &QuestionBreaker,
        question: impl Future<Output = Result<T, AdServerError>>,
    ) -> Result<T, Unavailable> {
        may_ask(&mut lock(breaker), self.clock.elapsed())?;
        let answer = tokio::time::timeout(self.timeout, question).await;
        let error = match answer.unwrap_or(Err(AdServerError::Unanswered)) {
            Ok(answer) => {
                lock(breaker).succeeded();
                return Ok(answer);
            }
            Err(error) => error,
        };
        let why = unavailable(&error);
        // One object that is not ready yet says nothing of others, unless the ad server asks to be left alone.
        let has_answered = matches!(error, AdServerError::NotYet { retry_after: None });
        if !has_answered && lock(breaker).failed(self.clock.elapsed(), why) {
            let publisher = &self.publisher;
            let cause = cause(&error);
            tracing::warn!(%publisher, cause, "the ad server could not be asked about a sale");
        }
        Err(why)
    }

    async fn forecast_all(&self, question: &OrderQuestion) -> Result<OrderAnswer, AdServerError> {
        let mut answer = OrderAnswer::default();
        let is_asked = |one: &&LineItemSpec| question.forecast.contains(&one.package_id);
        let asked: Vec<&LineItemSpec> = question.line_items.iter().filter(is_asked).collect();
        for some in asked.chunks(MAX_CONCURRENT_FORECASTS) {
            let forecasts = join_all(some.iter().map(|line_item| self.forecast(line_item))).await;
            for (line_item, forecast) in some.iter().zip(forecasts) {
                match forecast? {
                    Forecast::Known(availability) => {
                        answer.availability.insert(line_item.package_id.clone(), availability);
                    }
                    Forecast::Problem(problem) => answer.problems.push(problem),
                    Forecast::Unknown => {}
                }
            }
        }
        Ok(answer)
    }

    async fn forecast(&self, line_item: &LineItemSpec) -> Result<Forecast, AdServerError> {
        let error = match self.ad_server.availability(line_item).await {
            Ok(availability) => return Ok(Forecast::Known(availability)),
            Err(error) => error,
        };
        let AdServerError::Refused { reason, .. } = &error else { return Err(error) };
        match reason {
            RefusalReason::Unsupported => Ok(Forecast::Unknown),
            RefusalReason::NoInventory => {
                Ok(Forecast::Known(Availability { matched: 0, available: 0 }))
            }
            // The product names something that the ad server does not have.
            RefusalReason::Missing | RefusalReason::Conflict | RefusalReason::Invalid => {
                let message = "The ad server makes no forecast for this product.".to_owned();
                let field = "product_id".to_owned();
                let package_id = line_item.package_id.clone();
                Ok(Forecast::Problem(PackageProblem { package_id, field, message }))
            }
            RefusalReason::Credential | RefusalReason::Permission => Err(error),
        }
    }

    /// Logs problems of products and accounts, which the publisher's staff have to fix, not the buyer.
    fn log_problems(&self, problems: &[PackageProblem]) {
        let publisher = &self.publisher;
        for problem in problems {
            if matches!(problem.field.as_str(), "product_id" | "account") {
                let why = &problem.message;
                tracing::warn!(%publisher, why, "the ad server cannot deliver what is on sale");
            }
        }
    }
}

fn lock(breaker: &QuestionBreaker) -> MutexGuard<'_, CircuitBreaker<Unavailable>> {
    breaker.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses while the ad server is left alone.
fn may_ask(breaker: &mut CircuitBreaker<Unavailable>, now: Duration) -> Result<(), Unavailable> {
    if breaker.try_ask(now) {
        return Ok(());
    }
    Err(match breaker.error() {
        Some(misconfigured @ Unavailable::Misconfigured { .. }) => *misconfigured,
        Some(Unavailable::Down { .. }) | None => {
            Unavailable::Down { retry_after: breaker.wait(now) }
        }
    })
}

/// Returns what an error of the ad server means for a sale.
fn unavailable(error: &AdServerError) -> Unavailable {
    match error {
        AdServerError::NotYet { retry_after: Some(wait) } => {
            Unavailable::Down { retry_after: Some(*wait) }
        }
        AdServerError::Refused { .. } => Unavailable::Misconfigured { setting: SETTING },
        AdServerError::Unsent
        | AdServerError::Unanswered
        | AdServerError::Garbled { .. }
        | AdServerError::NotYet { retry_after: None } => {
            Unavailable::Down { retry_after: Some(RETRY_INTERVAL) }
        }
    }
}

/// Returns the cause for the log: the ad server's own text is not for it.
fn cause(error: &AdServerError) -> String {
    if let AdServerError::Refused { reason, .. } = error {
        return format!("refused ({reason:?})");
    }
    error.to_string()
}
