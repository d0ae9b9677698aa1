//! The loop that follows the advice: it sends, waits and sends again, within three budgets. What
//! it cannot know is handed to it: the time, the sleep and the draw that spreads callers out are a
//! [`World`]; how to send, correct and authenticate is a [`Sender`].
//!
//! A seller never gets more than the budgets: the attempts and the time of one intent, and the
//! tokens of one seller over all intents, which only time gives back. What a hostile seller says
//! (`GO_FOREVER`, a second on every answer, corrections without end) spends them like everything
//! else.

use std::time::Duration;

use crate::failure::Failure;
use crate::recovery::{Advice, Attempt, Budget, Change, First, Fix, Retry, Tried, advise};

mod sellers;
mod world;

pub use sellers::{Sellers, Sizes};
pub use world::{Machine, World};

/// What one intent may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many requests in all; the first is one of them.
    pub attempts: u32,
    /// How long from the first request to the last. It is not cut off: a request that has begun
    /// has its own time limit.
    pub elapsed: Duration,
}

impl Default for Limits {
    /// Three retries, five minutes (`E-1`).
    fn default() -> Self {
        Self { attempts: 4, elapsed: Duration::from_secs(300) }
    }
}

/// Whose idempotency key a request has to carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The intent's first request: whichever key it has.
    First,
    /// The key of the request before it: it is the same request (`E-4`).
    Same,
    /// A fresh one: it is another request.
    Fresh,
}

/// Sends the requests of one intent.
pub trait Sender: Send {
    /// What a seller answers.
    type Answer: Send;

    /// Sends the request with this key.
    ///
    /// # Errors
    /// What went wrong.
    fn send(&mut self, key: Key) -> impl Future<Output = Result<Self::Answer, Failure>> + Send;

    /// Changes the request as the advice says; `false` when it cannot, which ends the loop.
    fn correct(&mut self, fix: &Fix, failure: &Failure) -> impl Future<Output = bool> + Send;

    /// Supplies or renews the credential; `false` when it cannot, which ends the loop.
    fn authenticate(&mut self, first: First) -> impl Future<Output = bool> + Send;
}

/// An answer, and what it took.
#[derive(Debug)]
pub struct Recovered<T> {
    /// The answer.
    pub answer: T,
    /// What it took.
    pub spent: Spending,
    /// Whether a scope that was missing came back on the way: the account's `authorization` has to
    /// be read again before the answer is relied on (`R-10`).
    pub reread_authorization: bool,
}

/// The loop ended without an answer.
#[derive(Debug)]
pub struct GaveUp {
    /// The last failure.
    pub failure: Failure,
    /// What to do about it, which the loop could not.
    pub advice: Advice,
    /// What it took.
    pub spent: Spending,
    /// Whether the seller keeps saying that it is set up wrongly: an outage, as opposed to one
    /// request that went wrong (`Y-4`).
    pub outage: bool,
}

/// What an intent took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spending {
    /// How many requests were sent, or tried to be.
    pub attempts: u32,
    /// How long was waited between them.
    pub waited: Duration,
}

/// Follows the advice for all intents of a program.
#[derive(Debug)]
pub struct Recoverer<W> {
    world: W,
    limits: Limits,
    sellers: Sellers,
}

impl<W: World> Recoverer<W> {
    /// A loop in this world, with these limits for each intent and each seller.
    #[must_use]
    pub fn new(world: W, limits: Limits, sizes: Sizes) -> Self {
        Self { world, limits, sellers: Sellers::new(sizes) }
    }

    /// What is remembered of the sellers.
    #[must_use]
    pub fn sellers(&self) -> &Sellers {
        &self.sellers
    }

    /// Carries out one intent at a seller, who is known by this name (its host and port, say).
    /// `attempt` says what is known of the request before anything was tried.
    ///
    /// # Errors
    /// The last failure and the advice that the loop could not follow.
    pub async fn run<S: Sender>(
        &self,
        seller: &str,
        mut attempt: Attempt,
        sender: &mut S,
    ) -> Result<Recovered<S::Answer>, Box<GaveUp>> {
        let begun = self.world.now();
        let (mut spent, mut key) = (Spending::default(), Key::First);
        let mut scope_was_missing = false;
        loop {
            spent.attempts += 1;
            let failure = match sender.send(key).await {
                Ok(answer) => {
                    let reread_authorization = scope_was_missing;
                    return Ok(Recovered { answer, spent, reread_authorization });
                }
                Err(failure) => failure,
            };
            let now = self.world.now();
            let outage = self.sellers.note(seller, &failure, now);
            let budget = Budget {
                attempts: self.limits.attempts.saturating_sub(spent.attempts),
                time: self.limits.elapsed.saturating_sub(now.saturating_sub(begun)),
                tokens: self.sellers.tokens(seller, now),
            };
            let advice = advise(&attempt, &failure, &budget);
            let Some((wait, next)) =
                self.follow(&advice, &failure, &budget, sender, &mut attempt).await
            else {
                return Err(Box::new(GaveUp { failure, advice, spent, outage }));
            };
            // Other intents may have spent the last token meanwhile.
            if !self.sellers.take(seller, now) {
                let budget = Budget { tokens: 0, ..budget };
                let advice = advise(&attempt, &failure, &budget);
                return Err(Box::new(GaveUp { failure, advice, spent, outage }));
            }
            scope_was_missing |= is_scope(&failure);
            if !wait.is_zero() {
                spent.waited += wait;
                self.world.sleep(wait).await;
            }
            key = next;
        }
    }

    /// How long to wait and with which key to send; `None` when the advice is for somebody else.
    async fn follow<S: Sender>(
        &self,
        advice: &Advice,
        failure: &Failure,
        budget: &Budget,
        sender: &mut S,
        attempt: &mut Attempt,
    ) -> Option<(Duration, Key)> {
        match advice {
            Advice::Retry(Retry { wait, first }) => {
                match first {
                    First::Nothing => attempt.tried.retries += 1,
                    First::Supply | First::Renew => {
                        if !sender.authenticate(*first).await {
                            return None;
                        }
                        attempt.had_credentials = true;
                        attempt.tried.credentials = true;
                    }
                }
                Some((wait.drawn(self.world.draw()), Key::Same))
            }
            Advice::Fix(fix) => {
                let in_time = !budget.time.is_zero() && fix.wait.at_least <= budget.time;
                let spent = budget.attempts == 0 || budget.tokens == 0 || !in_time;
                if spent || !sender.correct(fix, failure).await {
                    return None;
                }
                note(&mut attempt.tried, fix);
                if fix.change == Change::DropContext {
                    attempt.had_context = false;
                }
                Some((fix.wait.drawn(self.world.draw()), Key::Fresh))
            }
            Advice::Ask(_) | Advice::Stop(_) => None,
        }
    }
}

fn note(tried: &mut Tried, fix: &Fix) {
    match fix.change {
        Change::DropContext => tried.context = true,
        Change::Billing(_) => tried.billing = true,
        // The pauses between corrections of something transient grow as well.
        Change::Reread => tried.retries += 1,
        Change::Request
        | Change::Strip
        | Change::SearchAgain
        | Change::Reconcile
        | Change::NewKey
        | Change::Token
        | Change::OtherBilling
        | Change::Versions(_)
        | Change::Account(_) => {}
    }
}

fn is_scope(failure: &Failure) -> bool {
    use tradepost_wire::adcp::error::Rule;
    failure.adcp().is_some_and(|error| error.rule() == Rule::Scope)
}

#[cfg(test)]
mod tests;
