//! The loop that follows the advice: it sends, waits and sends again, within three budgets. What
//! it cannot know is handed to it: the time, the sleep and the draw that spreads callers out are a
//! [`RetryClock`]; how to send, correct and authenticate is a [`IntentSender`].
//!
//! A seller never gets more than the budgets: the attempts and the time of one intent, and the
//! tokens of one seller over all intents, which only time gives back. What a hostile seller says
//! (`GO_FOREVER`, a second on every answer, corrections without end) spends them like everything
//! else.
//!
//! Whether the seller may have acted is a question about all requests of an intent and not about
//! the last: a dealer who takes a lead, drops the connection and goes down ends the loop with
//! "cannot connect". [`RequestsInDoubt`] is carried from one attempt to the next, with the keys.

use std::fmt;
use std::future::ready;
use std::time::Duration;

use crate::failure::{CallFailure, Unanswered};
use crate::record::FailureRecord;
use crate::recovery::{
    AskReason, CredentialStep, FailedAttempt, Fix, RecoveryAdvice, RequestChange, ResendEffect,
    Retry, RetryBudget, RetryWait, Tried, advise,
};

mod doubt;
mod sellers;
mod world;

pub use doubt::RequestsInDoubt;
pub use sellers::{SellerMemory, Sizes};
pub use world::{Machine, RetryClock};

/// What one intent may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryLimits {
    /// How many requests in all; the first is one of them.
    pub attempts: u32,
    /// How long all requests together, with the pauses between them. A request that is on its way
    /// at the end is given up.
    pub elapsed: Duration,
}

/// A request that would be given up sooner than this is not begun: most likely it would only be
/// in doubt.
pub const LEAST: Duration = Duration::from_secs(1);

impl Default for RetryLimits {
    /// Three retries, five minutes.
    // E-1
    fn default() -> Self {
        Self { attempts: 4, elapsed: Duration::from_secs(300) }
    }
}

/// Whose idempotency key a request has to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKey {
    /// The intent's first request: whichever key it has.
    First,
    /// The key of the request before it: it is the same request.
    // E-4
    Same,
    /// A fresh one: it is another request.
    Fresh,
}

/// Sends the requests of one intent.
pub trait IntentSender: Send {
    /// What a seller answers.
    type Answer: Send;

    /// Sends the request with this key.
    ///
    /// # Errors
    /// What went wrong.
    fn send(
        &mut self,
        key: RequestKey,
    ) -> impl Future<Output = Result<Self::Answer, CallFailure>> + Send;

    /// Whether the request may be sent again with its key, so long after it was first sent with it: the
    /// seller promises not to carry it out twice.
    ///
    /// # Errors
    /// When nobody can say so at the moment.
    fn may_repeat(
        &mut self,
        _age: Duration,
    ) -> impl Future<Output = Result<bool, CallFailure>> + Send {
        ready(Ok(true))
    }

    /// The idempotency key of the latest request, whether or not it was answered.
    fn key(&self) -> Option<&str> {
        None
    }

    /// The texts of the request, which a log must not repeat after the seller.
    fn private(&self) -> Vec<String> {
        Vec::new()
    }

    /// Changes the request as the advice says; `false` when it cannot, which ends the loop.
    fn correct(&mut self, _fix: &Fix, _failure: &CallFailure) -> impl Future<Output = bool> + Send {
        ready(false)
    }

    /// Reads the card again that the address came from; `false` when it leads nowhere else, which ends
    /// the loop.
    fn read_card(&mut self) -> impl Future<Output = bool> + Send {
        ready(false)
    }

    /// Supplies or renews the credential; `false` when it cannot, which ends the loop.
    fn authenticate(&mut self, _first: CredentialStep) -> impl Future<Output = bool> + Send {
        ready(false)
    }
}

/// An answer, and what it took.
#[derive(Debug)]
#[non_exhaustive]
pub struct Recovered<T> {
    /// The answer.
    pub answer: T,
    /// What it took.
    pub spent: Spending,
    /// Whether a scope that was missing came back on the way: the account's `authorization` has to
    /// be read again before the answer is relied on.
    //
    pub reread_authorization: bool,
    /// The idempotency key of the request that was answered.
    pub key: Option<String>,
    /// What earlier requests with other keys may have done: an answer settles only its own.
    pub doubt: RequestsInDoubt,
}

/// The loop ended without an answer.
#[derive(Debug)]
pub struct GaveUp {
    /// The last failure.
    pub failure: CallFailure,
    /// What to do about it, which the loop could not.
    pub advice: RecoveryAdvice,
    /// What it took.
    pub spent: Spending,
    /// Whether the seller keeps saying that it is set up wrongly: an outage, as opposed to one
    /// request that went wrong.
    // Y-4
    pub outage: bool,
    /// The idempotency key of the last request.
    pub key: Option<String>,
    /// What any of the requests may have done, whatever became of the last.
    pub doubt: RequestsInDoubt,
    /// Whether the caller stopped it, during a request or between two.
    pub stopped: bool,
}

impl GaveUp {
    /// Of an intent that was given up before anything was sent.
    pub(crate) fn before(failure: CallFailure) -> Self {
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
        // Its words begin with those of the failure.
        std::error::Error::source(&self.failure)
    }
}

/// What an intent took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Spending {
    /// How many requests were sent, or tried to be.
    pub attempts: u32,
    /// How long was waited between them.
    pub waited: Duration,
}

impl Spending {
    pub(crate) fn add(&mut self, more: Self) {
        self.attempts += more.attempts;
        self.waited += more.waited;
    }
}

/// Follows the advice for all intents of a program.
#[derive(Debug)]
pub struct Recoverer<W> {
    world: W,
    limits: RetryLimits,
    sellers: SellerMemory,
}

impl<W: RetryClock> Recoverer<W> {
    /// A loop in this world, with these limits for each intent and each seller.
    #[must_use]
    pub fn new(world: W, limits: RetryLimits, sizes: Sizes) -> Self {
        Self { world, limits, sellers: SellerMemory::new(sizes) }
    }

    /// What is remembered of the sellers.
    #[must_use]
    pub fn sellers(&self) -> &SellerMemory {
        &self.sellers
    }

    /// Carries out one intent at a seller, who is known by this name (its host and port, say).
    /// `attempt` says what is known of the request before anything was tried.
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

    /// The same within other limits than those of the loop: what is left of a larger intent, or of a call that
    /// has a deadline of its own.
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
        let begun = self.world.now();
        let (mut spent, mut key, mut doubt) =
            (Spending::default(), RequestKey::First, RequestsInDoubt::default());
        let mut scope_was_missing = false;
        // When the latest key was first sent, and why it could not be found out whether it may be again.
        let (mut since, mut unasked) = (begun, None);
        loop {
            spent.attempts += 1;
            if key != RequestKey::Same {
                since = self.world.now();
            }
            let (sent, was_sent) = match unasked.take() {
                Some(failure) => (Err(failure), false),
                None => (self.within(left(begun), sender.send(key)).await, true),
            };
            let failure = match sent {
                Ok(answer) => {
                    let (key, reread_authorization) = (key_of(sender), scope_was_missing);
                    doubt.settle(key.as_deref());
                    return Ok(Recovered { answer, spent, reread_authorization, key, doubt });
                }
                Err(failure) => failure,
            };
            self.world.failed(&FailureRecord::of(&failure, &sender.private()));
            if was_sent && attempt.effect != ResendEffect::Read && failure.in_doubt() {
                doubt.cast(sender.key());
            }
            let now = self.world.now();
            let outage = self.sellers.note(seller, &failure, now);
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
                // Of a card that was read in vain there is nothing left to say.
                let has_read_card = matches!(
                    advice,
                    RecoveryAdvice::Retry(Retry { first: CredentialStep::ReadCard, .. })
                );
                let advice =
                    if has_read_card { advise(&attempt, &failure, &budget) } else { advice };
                let stopped = matches!(failure, CallFailure::Unanswered(Unanswered::Stopped));
                return gave_up(failure, advice, spent, doubt, stopped);
            };
            // Other intents may have spent the last token meanwhile.
            if !self.sellers.take(seller, now) {
                let advice = advise(&attempt, &failure, &RetryBudget { tokens: 0, ..budget });
                return gave_up(failure, advice, spent, doubt, false);
            }
            scope_was_missing |= is_scope(&failure);
            if !wait.is_zero() {
                let before = self.world.now();
                self.world.resting(wait);
                let stopped = self.sleep(wait).await;
                spent.waited += self.world.now().saturating_sub(before);
                if stopped {
                    return gave_up(failure, advice, spent, doubt, true);
                }
            }
            key = next;
            // What never left cannot be done twice, nor what came to an address where nobody is.
            let came_to_nobody = matches!(failure, CallFailure::Unsent(_))
                || matches!(
                    advice,
                    RecoveryAdvice::Retry(Retry { first: CredentialStep::ReadCard, .. })
                );
            let may_be_known = doubt.in_doubt() || !came_to_nobody;
            if key == RequestKey::Same && attempt.effect == ResendEffect::Keyed && may_be_known {
                let age = self.world.now().saturating_sub(since);
                match self.within(left(begun), sender.may_repeat(age)).await {
                    Ok(true) => {}
                    Ok(false) => {
                        let (advice, doubt) =
                            (RecoveryAdvice::Ask(AskReason::Unpromised), doubt.unpromised());
                        return gave_up(failure, advice, spent, doubt, false);
                    }
                    // The seller does not answer this, and so would not answer the request.
                    Err(failure) => unasked = Some(failure),
                }
            }
        }
    }

    /// How much of the time of an intent that began then is left.
    pub(crate) fn left(&self, limits: RetryLimits, begun: Duration) -> Duration {
        limits.elapsed.saturating_sub(self.world.now().saturating_sub(begun))
    }

    /// Asks a seller within this time, unless the program is to stop meanwhile.
    async fn within<T: Send>(
        &self,
        time: Duration,
        asking: impl Future<Output = Result<T, CallFailure>> + Send,
    ) -> Result<T, CallFailure> {
        tokio::select! {
            // What has come is taken.
            biased;
            outcome = self.world.within(time, asking) => {
                outcome.unwrap_or(Err(CallFailure::Unanswered(Unanswered::TimedOut(time))))
            }
            () = self.world.stopped() => Err(CallFailure::Unanswered(Unanswered::Stopped)),
        }
    }

    /// What one intent may cost.
    #[must_use]
    pub fn limits(&self) -> RetryLimits {
        self.limits
    }

    /// Takes one of a seller's tokens and lets time pass; whether there was none, or the program
    /// was stopped meanwhile.
    pub(crate) async fn rest(&self, seller: &str, wait: RetryWait) -> bool {
        if !self.sellers.take(seller, self.world.now()) {
            return true;
        }
        let wait = wait.drawn(self.world.draw());
        if wait.is_zero() {
            return false;
        }
        self.world.resting(wait);
        self.sleep(wait).await
    }

    /// The time, the sleep and the draw.
    #[must_use]
    pub fn world(&self) -> &W {
        &self.world
    }

    /// Lets time pass; whether the program was stopped meanwhile.
    pub(crate) async fn sleep(&self, wait: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.world.sleep(wait) => false,
            () = self.world.stopped() => true,
        }
    }

    /// How long to wait and with which key to send; `None` when the advice is for somebody else.
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
                        // From here on a rejection is one of this credential, which is not shown
                        // again.
                        attempt.had_credentials = true;
                        attempt.tried.credentials = true;
                    }
                }
                Some((wait.drawn(self.world.draw()), RequestKey::Same))
            }
            RecoveryAdvice::Fix(fix) => {
                let in_time = !budget.time.is_zero() && fix.wait.at_least <= budget.time;
                let spent = budget.attempts == 0 || budget.tokens == 0 || !in_time;
                if spent || !sender.correct(fix, failure).await {
                    return None;
                }
                note(&mut attempt.tried, fix);
                if fix.change == RequestChange::DropContext {
                    attempt.had_context = false;
                }
                Some((fix.wait.drawn(self.world.draw()), RequestKey::Fresh))
            }
            RecoveryAdvice::Ask(_) | RecoveryAdvice::Stop(_) => None,
        }
    }
}

fn note(tried: &mut Tried, fix: &Fix) {
    match fix.change {
        RequestChange::DropContext => tried.context = true,
        RequestChange::Billing(_) => tried.billing = true,
        // The pauses between corrections of something transient grow as well.
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

fn is_scope(failure: &CallFailure) -> bool {
    use tradepost_wire::adcp::error::RecoveryRule;
    failure.adcp().is_some_and(|error| error.rule() == RecoveryRule::Scope)
}

#[cfg(test)]
mod tests;
