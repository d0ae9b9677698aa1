//! Recovery loop: sends a request, waits and sends it again as the advice says, within three budgets. The
//! caller provides the time, the sleep and the random draw as a [`RetryClock`], and the way to send, correct
//! and authenticate as an [`IntentSender`].
//!
//! A seller never gets more than the budgets: the attempts and the time of one intent, and the tokens of one
//! seller over all intents, which refill with time. Answers of a hostile seller (`GO_FOREVER`, a delay of a
//! second each time, endless corrections) use up the budgets like any others.
//!
//! All requests of an intent decide whether the seller may have acted, not only the last one: a dealer that
//! stores a lead, drops the connection and goes down ends the loop with "cannot connect". [`RequestsInDoubt`]
//! is carried from one attempt to the next, with the keys.

use std::fmt;
use std::future::ready;
use std::time::Duration;

use crate::failure::{CallFailure, Unanswered};
use crate::record::FailureRecord;
use crate::recovery::{
    AskReason, CredentialStep, FailedAttempt, Fix, RecoveryAdvice, RequestChange, ResendEffect,
    Retry, RetryBudget, RetryWait, Tried, advise,
};

mod clock;
mod doubt;
mod sellers;

pub use clock::{RetryClock, SystemClock};
pub use doubt::RequestsInDoubt;
pub use sellers::{SellerMemory, Sizes};

/// Limits of one intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryLimits {
    /// Maximum number of requests, including the first.
    pub attempts: u32,
    /// Maximum time of all requests and the pauses between them. A request under way at the end is given up.
    pub elapsed: Duration,
}

/// Shortest time that must be left for a request to be started; a shorter one would most likely end in doubt.
pub const LEAST: Duration = Duration::from_secs(1);

impl Default for RetryLimits {
    /// Returns the default limits: three retries and five minutes.
    // E-1
    fn default() -> Self {
        Self { attempts: 4, elapsed: Duration::from_secs(300) }
    }
}

/// Idempotency key that a request has to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKey {
    /// The key of the intent's first request, whichever it is.
    First,
    /// The key of the previous request, because it is the same request.
    // E-4
    Same,
    /// A fresh key, because it is another request.
    Fresh,
}

/// Sends the requests of one intent.
pub trait IntentSender: Send {
    /// Answer of a seller.
    type Answer: Send;

    /// Sends the request with this key.
    ///
    /// # Errors
    /// The failure of the request.
    fn send(
        &mut self,
        key: RequestKey,
    ) -> impl Future<Output = Result<Self::Answer, CallFailure>> + Send;

    /// Returns true when the request may be sent again with its key, given the time since it was first sent
    /// with it: the seller promises not to carry it out twice.
    ///
    /// # Errors
    /// When the promise cannot be read at the moment.
    fn may_repeat(
        &mut self,
        _age: Duration,
    ) -> impl Future<Output = Result<bool, CallFailure>> + Send {
        ready(Ok(true))
    }

    /// Returns the idempotency key of the latest request, answered or not.
    fn key(&self) -> Option<&str> {
        None
    }

    /// Returns the texts of the request, which must not get into the log when a seller repeats them.
    fn private(&self) -> Vec<String> {
        Vec::new()
    }

    /// Changes the request as the advice says; `false` when it cannot, which ends the loop.
    fn correct(&mut self, _fix: &Fix, _failure: &CallFailure) -> impl Future<Output = bool> + Send {
        ready(false)
    }

    /// Reads the card with the seller's address again; `false` when it names no other address, which ends the loop.
    fn read_card(&mut self) -> impl Future<Output = bool> + Send {
        ready(false)
    }

    /// Supplies or renews the credential; `false` when it cannot, which ends the loop.
    fn authenticate(&mut self, _first: CredentialStep) -> impl Future<Output = bool> + Send {
        ready(false)
    }
}

/// Answer, and the cost of getting it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recovered<T> {
    /// Answer.
    pub answer: T,
    /// Requests and waiting time.
    pub spent: Spending,
    /// True when a missing scope came back on the way, so that the account's `authorization` has to be read
    /// again before the answer is relied on.
    //
    pub reread_authorization: bool,
    /// Idempotency key of the request that was answered.
    pub key: Option<String>,
    /// Earlier requests with other keys that may have acted; an answer settles only its own.
    pub doubt: RequestsInDoubt,
}

/// End of the loop without an answer.
#[derive(Debug)]
pub struct GaveUp {
    /// Last failure.
    pub failure: CallFailure,
    /// Advice that the loop could not follow.
    pub advice: RecoveryAdvice,
    /// Requests and waiting time.
    pub spent: Spending,
    /// True when the seller repeatedly says that it is misconfigured: an outage, not a problem of one
    /// request.
    // Y-4
    pub outage: bool,
    /// Idempotency key of the last request.
    pub key: Option<String>,
    /// Requests that may have acted, whatever became of the last.
    pub doubt: RequestsInDoubt,
    /// True when the caller stopped the loop, during a request or between two.
    pub stopped: bool,
}

impl GaveUp {
    /// Creates the result of an intent that was given up before anything was sent.
    pub(crate) fn from_failure(failure: CallFailure) -> Self {
        let budget = RetryBudget { attempts: 0, time: Duration::ZERO, tokens: 0 };
        Self {
            advice: advise(&FailedAttempt::default(), &failure, &budget),
            failure,
            spent: Spending::default(),
            outage: false,
            key: None,
            doubt: RequestsInDoubt::default(),
            stopped: false,
        }
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.failure, self.advice)?;
        if self.doubt.in_doubt() { write!(f, "; {}", self.doubt) } else { Ok(()) }
    }
}

impl std::error::Error for GaveUp {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The message begins with that of the failure, so the cause is its cause.
        std::error::Error::source(&self.failure)
    }
}

/// Cost of an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Spending {
    /// Number of requests that were sent or attempted.
    pub attempts: u32,
    /// Time spent waiting between requests.
    pub waited: Duration,
}

impl Spending {
    pub(crate) fn add(&mut self, more: Self) {
        self.attempts += more.attempts;
        self.waited += more.waited;
    }
}

/// Carries out all intents of a program with recovery.
#[derive(Debug)]
pub struct Recoverer<W> {
    clock: W,
    limits: RetryLimits,
    sellers: SellerMemory,
}

impl<W: RetryClock> Recoverer<W> {
    /// Creates a loop with this clock and these limits for each intent and each seller.
    #[must_use]
    pub fn new(clock: W, limits: RetryLimits, sizes: Sizes) -> Self {
        Self { clock, limits, sellers: SellerMemory::new(sizes) }
    }

    /// Returns the memory of sellers.
    #[must_use]
    pub fn sellers(&self) -> &SellerMemory {
        &self.sellers
    }

    /// Carries out one intent at a seller. `seller` is the name under which its retries are counted, such as
    /// host and port; `attempt` is what is known of the request before it was first sent.
    ///
    /// # Errors
    /// The last failure and the advice that the loop could not follow.
    pub async fn run<S: IntentSender>(
        &self,
        seller: &str,
        attempt: FailedAttempt,
        sender: &mut S,
    ) -> Result<Recovered<S::Answer>, Box<GaveUp>> {
        self.run_within(self.limits, seller, attempt, sender).await
    }

    /// Carries out one intent within other limits than those of the loop: what is left of a larger intent, or
    /// of a call with its own deadline.
    ///
    /// # Errors
    /// The last failure and the advice that the loop could not follow.
    pub async fn run_within<S: IntentSender>(
        &self,
        limits: RetryLimits,
        seller: &str,
        mut attempt: FailedAttempt,
        sender: &mut S,
    ) -> Result<Recovered<S::Answer>, Box<GaveUp>> {
        let left = |begun| self.left(limits, begun);
        let begun = self.clock.now();
        let mut spent = Spending::default();
        let mut key = RequestKey::First;
        let mut doubt = RequestsInDoubt::default();
        let mut scope_was_missing = false;
        // The moment at which the latest key was first sent, and the failure to read the seller's promise about it.
        let mut since = begun;
        let mut unasked = None;
        loop {
            spent.attempts += 1;
            if key != RequestKey::Same {
                since = self.clock.now();
            }
            let (sent, was_sent) = match unasked.take() {
                Some(failure) => (Err(failure), false),
                None => (self.within(left(begun), sender.send(key)).await, true),
            };
            let failure = match sent {
                Ok(answer) => {
                    let key = key_of(sender);
                    let reread_authorization = scope_was_missing;
                    doubt.settle(key.as_deref());
                    return Ok(Recovered { answer, spent, reread_authorization, key, doubt });
                }
                Err(failure) => failure,
            };
            self.clock.failed(&FailureRecord::new(&failure, &sender.private()));
            if was_sent && attempt.effect != ResendEffect::Read && failure.in_doubt() {
                doubt.cast(sender.key());
            }
            let now = self.clock.now();
            let outage = self.sellers.record_failure(seller, &failure, now);
            let budget = RetryBudget {
                attempts: limits.attempts.saturating_sub(spent.attempts),
                time: left(begun).saturating_sub(LEAST),
                tokens: self.sellers.tokens(seller, now),
            };
            let advice = advise(&attempt, &failure, &budget);
            let latest = key_of(sender);
            let gave_up = |failure, advice, spent, doubt, stopped| {
                let key = latest;
                Err(Box::new(GaveUp { failure, advice, spent, outage, key, doubt, stopped }))
            };
            let Some((wait, next)) =
                self.follow(&advice, &failure, &budget, sender, &mut attempt).await
            else {
                // After reading the card in vain, the advice is that for the failure itself.
                let has_read_card = matches!(
                    advice,
                    RecoveryAdvice::Retry(Retry { first: CredentialStep::ReadCard, .. })
                );
                let advice =
                    if has_read_card { advise(&attempt, &failure, &budget) } else { advice };
                let stopped = matches!(failure, CallFailure::Unanswered(Unanswered::Stopped));
                return gave_up(failure, advice, spent, doubt, stopped);
            };
            // Other intents may have taken the last token meanwhile.
            if !self.sellers.take(seller, now) {
                let advice = advise(&attempt, &failure, &RetryBudget { tokens: 0, ..budget });
                return gave_up(failure, advice, spent, doubt, false);
            }
            scope_was_missing |= is_scope_refusal(&failure);
            if !wait.is_zero() {
                let before = self.clock.now();
                self.clock.waiting(wait);
                let stopped = self.sleep(wait).await;
                spent.waited += self.clock.now().saturating_sub(before);
                if stopped {
                    return gave_up(failure, advice, spent, doubt, true);
                }
            }
            key = next;
            // A request that was not sent, or went to an address without an agent, cannot have an effect twice.
            let never_arrived = matches!(failure, CallFailure::Unsent(_))
                || matches!(
                    advice,
                    RecoveryAdvice::Retry(Retry { first: CredentialStep::ReadCard, .. })
                );
            let may_be_known = doubt.in_doubt() || !never_arrived;
            if key == RequestKey::Same && attempt.effect == ResendEffect::Keyed && may_be_known {
                let age = self.clock.now().saturating_sub(since);
                match self.within(left(begun), sender.may_repeat(age)).await {
                    Ok(true) => {}
                    Ok(false) => {
                        let advice = RecoveryAdvice::Ask(AskReason::Unpromised);
                        let doubt = doubt.unpromised();
                        return gave_up(failure, advice, spent, doubt, false);
                    }
                    // A seller that does not answer this question would not answer the request either.
                    Err(failure) => unasked = Some(failure),
                }
            }
        }
    }

    /// Returns the time that is left of an intent begun at this moment.
    pub(crate) fn left(&self, limits: RetryLimits, begun: Duration) -> Duration {
        limits.elapsed.saturating_sub(self.clock.now().saturating_sub(begun))
    }

    /// Waits for an answer within this time, unless the program is stopped.
    async fn within<T: Send>(
        &self,
        time: Duration,
        asking: impl Future<Output = Result<T, CallFailure>> + Send,
    ) -> Result<T, CallFailure> {
        tokio::select! {
            // An answer that has arrived is taken before a stop.
            biased;
            outcome = self.clock.within(time, asking) => {
                outcome.unwrap_or(Err(CallFailure::Unanswered(Unanswered::TimedOut(time))))
            }
            () = self.clock.stopped() => Err(CallFailure::Unanswered(Unanswered::Stopped)),
        }
    }

    /// Returns the limits of one intent.
    #[must_use]
    pub fn limits(&self) -> RetryLimits {
        self.limits
    }

    /// Takes one of a seller's tokens and waits. Returns true when there was no token, or the program was stopped.
    pub(crate) async fn take_token_and_wait(&self, seller: &str, wait: RetryWait) -> bool {
        if !self.sellers.take(seller, self.clock.now()) {
            return true;
        }
        let wait = wait.drawn(self.clock.draw());
        if wait.is_zero() {
            return false;
        }
        self.clock.waiting(wait);
        self.sleep(wait).await
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &W {
        &self.clock
    }

    /// Waits. Returns true when the program was stopped meanwhile.
    pub(crate) async fn sleep(&self, wait: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.clock.sleep(wait) => false,
            () = self.clock.stopped() => true,
        }
    }

    /// Prepares the next request and returns its pause and key; `None` when the loop cannot follow the advice.
    async fn follow<S: IntentSender>(
        &self,
        advice: &RecoveryAdvice,
        failure: &CallFailure,
        budget: &RetryBudget,
        sender: &mut S,
        attempt: &mut FailedAttempt,
    ) -> Option<(Duration, RequestKey)> {
        match advice {
            RecoveryAdvice::Retry(Retry { wait, first }) => {
                match first {
                    CredentialStep::Nothing => attempt.tried.retries += 1,
                    CredentialStep::ReadCard => {
                        attempt.tried.card = true;
                        let reading = async { Ok(sender.read_card().await) };
                        if !self.within(budget.time, reading).await.unwrap_or(false) {
                            return None;
                        }
                    }
                    CredentialStep::Supply | CredentialStep::Renew => {
                        if !sender.authenticate(*first).await {
                            return None;
                        }
                        // A later rejection is that of the new credential, which is not sent again.
                        attempt.had_credentials = true;
                        attempt.tried.credentials = true;
                    }
                }
                Some((wait.drawn(self.clock.draw()), RequestKey::Same))
            }
            RecoveryAdvice::Fix(fix) => {
                let in_time = !budget.time.is_zero() && fix.wait.at_least <= budget.time;
                let spent = budget.attempts == 0 || budget.tokens == 0 || !in_time;
                if spent || !sender.correct(fix, failure).await {
                    return None;
                }
                record_fix(&mut attempt.tried, fix);
                if fix.change == RequestChange::DropContext {
                    attempt.had_context = false;
                }
                Some((fix.wait.drawn(self.clock.draw()), RequestKey::Fresh))
            }
            RecoveryAdvice::Ask(_) | RecoveryAdvice::Stop(_) => None,
        }
    }
}

/// Records a correction that must not be advised again, and counts a reread as a retry.
fn record_fix(tried: &mut Tried, fix: &Fix) {
    match fix.change {
        RequestChange::DropContext => tried.context = true,
        RequestChange::Billing(_) => tried.billing = true,
        // The pauses between corrections of something transient grow, too.
        RequestChange::Reread => tried.retries += 1,
        RequestChange::Request
        | RequestChange::Strip
        | RequestChange::SearchAgain
        | RequestChange::Reconcile
        | RequestChange::NewKey
        | RequestChange::Token
        | RequestChange::OtherBilling
        | RequestChange::Versions(_)
        | RequestChange::Account(_) => {}
    }
}

fn key_of(sender: &impl IntentSender) -> Option<String> {
    sender.key().map(ToOwned::to_owned)
}

fn is_scope_refusal(failure: &CallFailure) -> bool {
    use tradepost_adcp::error::RecoveryRule;
    failure.adcp().is_some_and(|error| error.rule() == RecoveryRule::Scope)
}

#[cfg(test)]
mod tests;
