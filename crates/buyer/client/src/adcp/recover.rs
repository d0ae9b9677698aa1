//! Calls with recovery: one idempotency key over all attempts of one intent, and another request for the rows
//! of the answer that failed.

use std::borrow::Cow;
use std::time::Duration;

use tradepost_adcp::task::{self, AdcpTask};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};

use super::{AdcpClient, KEY, SellerAnswer, rows};
use crate::card_reader::follow_move;
use crate::client::seller_of;
use crate::failure::{CallFailure, Unsent};
use crate::record::{self, FailureRecord};
use crate::recovery::{CredentialStep, FailedAttempt, Fix, ResendEffect, RetryBudget};
use crate::retry::{
    GaveUp, IntentSender, LEAST, Recovered, Recoverer, RequestKey, RetryClock, RetryLimits,
};

/// Returns true when a task is known to require an `idempotency_key`.
pub(super) fn is_keyed(task: &str) -> bool {
    AdcpTask::from_name(task).is_some_and(|task| task.effect() == task::TaskEffect::Keyed)
}

/// Returns the effect of sending a task twice. An unknown task without a key counts as unsafe to repeat.
fn effect(task: &str, has_key: bool) -> ResendEffect {
    match AdcpTask::from_name(task).map(AdcpTask::effect) {
        _ if has_key => ResendEffect::Keyed,
        Some(task::TaskEffect::Read) => ResendEffect::Read,
        Some(task::TaskEffect::Keyed | task::TaskEffect::Once) | None => ResendEffect::Unkeyed,
    }
}

impl AdcpClient {
    /// Calls a task as [`AdcpClient::call`] does and follows the advice within the limits of `recoverer`. A
    /// task that requires a key ([`AdcpTask::effect`]) keeps it over retries and gets a fresh one after a
    /// correction, unless the correction gave it one. It is sent again with its key only where the seller
    /// promises to recognise the key ([`AdcpClient::idempotency`]). A task without a key that is not known to
    /// be read-only is not sent again when in doubt. `correct` changes the arguments as an advice says, and
    /// returns true when it did.
    ///
    /// Rows that failed and may succeed on their own are sent again alone, within the same limits;
    /// `SellerAnswer::again` has the answers. [`AdcpClient::without_rows`] turns this off.
    ///
    /// # Errors
    /// The last failure, and the advice that is left to the caller.
    pub async fn call_with_recovery<W: RetryClock>(
        &self,
        task: &str,
        arguments: Map,
        recoverer: &Recoverer<W>,
        correct: impl FnMut(&Fix, &CallFailure, &mut Map) -> bool + Send,
    ) -> Result<Recovered<SellerAnswer>, Box<GaveUp>> {
        if self.checks_authorization
            && let Some(account) = arguments.get("account")
        {
            // A seller that sends no authorization, or cannot be asked, decides at the call.
            let read = self.authorization(account, recoverer).await.ok().flatten();
            if read.is_some_and(|authorization| !authorization.permits(task)) {
                let task = task.to_owned();
                let failure = CallFailure::Unsent(Unsent::NotPermitted { task });
                return Err(Box::new(GaveUp::from_failure(failure)));
            }
        }
        self.call_with_retries(task, arguments, recoverer, correct).await
    }

    /// Calls a task as [`Self::call_with_recovery`] does, without reading the authorization of its account.
    pub(super) async fn call_with_retries<W: RetryClock>(
        &self,
        task: &str,
        mut arguments: Map,
        recoverer: &Recoverer<W>,
        correct: impl FnMut(&Fix, &CallFailure, &mut Map) -> bool + Send,
    ) -> Result<Recovered<SellerAnswer>, Box<GaveUp>> {
        if is_keyed(task) {
            arguments.entry(KEY).or_insert_with(|| self.new_key().into());
        }
        let begun = recoverer.clock().now();
        let effect = effect(task, arguments.contains_key(KEY));
        let has_card = self.card.is_some();
        let attempt =
            FailedAttempt::with_host(self.endpoint.host_str(), effect, self.token.is_some());
        let attempt = FailedAttempt { has_card, ..attempt };
        let clock = recoverer.clock();
        let mut calls =
            AdcpCalls { client: Cow::Borrowed(self), clock, task, arguments, used: None, correct };
        let seller = seller_of(&self.endpoint);
        let mut recovered = recoverer.run(&seller, attempt.clone(), &mut calls).await?;
        let arguments = calls.arguments;
        if recovered.reread_authorization
            && let Some(account) = arguments.get("account")
        {
            self.authorizations.forget(account);
        }
        if let Some(task) = AdcpTask::from_name(task).filter(|_| self.retries_rows) {
            let intent = RowsIntent { task, attempt, seller: &seller, begun };
            self.recover_rows(intent, arguments, &mut recovered, recoverer).await;
        }
        Ok(recovered)
    }

    /// Sends failed rows again, as long as the advice for one of them allows it.
    async fn recover_rows<W: RetryClock>(
        &self,
        intent: RowsIntent<'_>,
        mut arguments: Map,
        recovered: &mut Recovered<SellerAnswer>,
        recoverer: &Recoverer<W>,
    ) {
        let RowsIntent { task, mut attempt, seller, begun } = intent;
        let whole = recoverer.limits();
        let Recovered { answer, spent, doubt, .. } = recovered;
        loop {
            let latest = answer.again.last().unwrap_or(answer);
            let private = self.private(&arguments);
            for error in latest.outcome.rows.iter().flat_map(|row| &row.errors) {
                recoverer.clock().failed(&FailureRecord::from_error(error, &private));
            }
            let now = recoverer.clock().now();
            let elapsed = recoverer.left(whole, begun);
            let attempts = whole.attempts.saturating_sub(spent.attempts);
            let tokens = recoverer.sellers().tokens(seller, now);
            let budget = RetryBudget { attempts, time: elapsed.saturating_sub(LEAST), tokens };
            let latest = match answer.again.last_mut() {
                Some(latest) => latest,
                None => &mut *answer,
            };
            let payload = &latest.payload;
            let rows = &mut latest.outcome.rows;
            let planned = rows::plan_retry(task, &arguments, payload, rows, &attempt, &budget);
            let Some(planned) = planned else { return };
            let stopped = recoverer.take_token_and_wait(seller, planned.wait).await;
            if stopped {
                // Marked before the pause, and not sent after all.
                rows.iter_mut().for_each(|row| row.again = false);
                return;
            }
            attempt.tried.retries += 1;
            attempt.tried.billing |= planned.billing;
            arguments = planned.arguments;
            // A request with other rows needs another key (`E-4`).
            arguments.insert(KEY.to_owned(), self.new_key().into());
            // Other corrections of a row are left to the caller, who finds the row in the answer.
            let correct = |_: &Fix, _: &CallFailure, _: &mut Map| false;
            let clock = recoverer.clock();
            let name = task.name();
            let mut calls = AdcpCalls {
                client: Cow::Borrowed(self),
                clock,
                task: name,
                arguments,
                used: None,
                correct,
            };
            let limits = RetryLimits { attempts, elapsed: recoverer.left(whole, begun) };
            let run = recoverer.run_within(limits, seller, attempt.clone(), &mut calls).await;
            arguments = calls.arguments;
            match run {
                Ok(more) => {
                    spent.add(more.spent);
                    doubt.add(&more.doubt);
                    answer.again.push(more.answer);
                }
                Err(gave_up) => {
                    spent.add(gave_up.spent);
                    doubt.add(&gave_up.doubt);
                    answer.gave_up = Some(gave_up);
                    return;
                }
            }
        }
    }

    /// Returns the texts of a request and its credential, which the log must not contain.
    fn private(&self, arguments: &Map) -> Vec<String> {
        let mut texts: Vec<_> = arguments.values().flat_map(record::texts).collect();
        let token = self.token.as_ref().and_then(|token| token.header().to_str().ok());
        texts.extend(token.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned));
        texts
    }
}

/// Intent whose rows are sent again.
struct RowsIntent<'s> {
    task: AdcpTask,
    attempt: FailedAttempt,
    seller: &'s str,
    begun: Duration,
}

struct AdcpCalls<'c, C, W> {
    /// Replaced when the seller has moved.
    client: Cow<'c, AdcpClient>,
    clock: &'c W,
    task: &'c str,
    arguments: Map,
    /// Key of the last request.
    used: Option<Value>,
    correct: C,
}

impl<C, W> IntentSender for AdcpCalls<'_, C, W>
where
    C: FnMut(&Fix, &CallFailure, &mut Map) -> bool + Send,
    W: RetryClock,
{
    type Answer = SellerAnswer;

    async fn send(&mut self, key: RequestKey) -> Result<SellerAnswer, CallFailure> {
        // A key that the correction set stays.
        if key == RequestKey::Fresh
            && self.used.is_some()
            && self.arguments.get(KEY) == self.used.as_ref()
        {
            self.arguments.insert(KEY.to_owned(), self.client.new_key().into());
        }
        self.used = self.arguments.get(KEY).cloned();
        self.client.send(self.task, self.arguments.clone()).await
    }

    async fn may_repeat(&mut self, age: Duration) -> Result<bool, CallFailure> {
        Ok(self.client.idempotency(self.clock).await?.permits(age))
    }

    fn key(&self) -> Option<&str> {
        self.used.as_ref().and_then(Value::as_str)
    }

    fn private(&self) -> Vec<String> {
        self.client.private(&self.arguments)
    }

    async fn correct(&mut self, fix: &Fix, failure: &CallFailure) -> bool {
        (self.correct)(fix, failure, &mut self.arguments)
    }

    async fn read_card(&mut self) -> bool {
        let moved = self.client.moved().await;
        follow_move(&mut self.client, moved)
    }

    async fn authenticate(&mut self, _: CredentialStep) -> bool {
        // The client's token cannot be changed.
        false
    }
}
