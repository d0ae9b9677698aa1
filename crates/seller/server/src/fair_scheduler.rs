//! Fair scheduling of requests when more arrive than may run at once: agents take turns, and so do
//! the callers of each agent. A caller with a hundred requests waits for its own ones and does not
//! delay others.
//!
//! The number of running requests is limited in total, and for one agent among several to a share,
//! so that an agent with slow answers (such as an unresponsive ad server) leaves places to the
//! others. While there are places, nothing waits.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::limit::LimitKey;

/// Divisor for the share of one agent among several.
const SHARES: usize = 4;

/// The places, and the requests that wait for one.
#[derive(Debug)]
pub struct FairScheduler(Mutex<State>);

#[derive(Debug)]
struct State {
    places: usize,
    /// Maximum number of places of one agent.
    share: usize,
    free: usize,
    /// Number of running requests by agent.
    running: HashMap<String, usize>,
    /// Agents with waiting requests, in the order of their turns.
    order: VecDeque<String>,
    queues: HashMap<String, AgentQueue>,
    /// Id of the request that began to wait last.
    last_request_id: u64,
}

/// Requests waiting for one agent.
#[derive(Debug, Default)]
struct AgentQueue {
    /// Callers with waiting requests, in the order of their turns.
    order: VecDeque<LimitKey>,
    waiting: HashMap<LimitKey, VecDeque<QueuedRequest>>,
}

#[derive(Debug)]
struct QueuedRequest {
    request_id: u64,
    called: oneshot::Sender<()>,
}

/// A place, which is free again when this is dropped.
#[derive(Debug)]
pub struct SchedulerPermit<'t> {
    scheduler: &'t FairScheduler,
    agent: &'t str,
}

impl Drop for SchedulerPermit<'_> {
    fn drop(&mut self) {
        self.scheduler.lock().leave(self.agent);
    }
}

/// A waiting request, which may be cancelled.
struct CancellableWait<'t> {
    scheduler: &'t FairScheduler,
    agent: &'t str,
    caller: LimitKey,
    request_id: u64,
    called: oneshot::Receiver<()>,
}

impl Drop for CancellableWait<'_> {
    fn drop(&mut self) {
        let mut state = self.scheduler.lock();
        // Under the lock, which every call takes, so it is either called or cancelled.
        self.called.close();
        if self.called.try_recv().is_ok() {
            // Called at the moment of the cancellation.
            state.leave(self.agent);
        } else {
            state.forget(self.agent, &self.caller, self.request_id);
        }
    }
}

impl FairScheduler {
    /// Creates this many places.
    #[must_use]
    pub fn new(places: usize) -> Self {
        // Without any place no request would ever run.
        let places = places.max(1);
        Self(Mutex::new(State {
            places,
            share: places,
            free: places,
            running: HashMap::new(),
            order: VecDeque::new(),
            queues: HashMap::new(),
            last_request_id: 0,
        }))
    }

    /// Creates a scheduler in which no caller has more than a share of the places, for callers that are
    /// not known before they come. Each of them stands in the place of an agent.
    #[must_use]
    pub fn with_share(places: usize, share: usize) -> Self {
        let scheduler = Self::new(places);
        scheduler.lock().share = share.max(1);
        scheduler
    }

    /// Sets the agents: a single one may use every place.
    pub(crate) fn set_agents<'a>(&self, agents: impl ExactSizeIterator<Item = &'a str>) {
        let mut state = self.lock();
        state.share = if agents.len() > 1 { (state.places / SHARES).max(1) } else { state.places };
        let known: std::collections::HashSet<&str> = agents.collect();
        // A removed agent is counted until its requests are finished.
        state.running.retain(|agent, running| *running > 0 || known.contains(agent.as_str()));
        // A larger share may have a place for a waiting request.
        state.call();
    }

    /// Waits for a place.
    pub async fn turn<'t>(&'t self, agent: &'t str, caller: LimitKey) -> SchedulerPermit<'t> {
        let place = || SchedulerPermit { scheduler: self, agent };
        let mut wait = {
            let mut state = self.lock();
            if state.enter(agent) {
                drop(state);
                return place();
            }
            let (sender, called) = oneshot::channel();
            let request_id = state.enqueue(agent, &caller, sender);
            CancellableWait { scheduler: self, agent, caller, request_id, called }
        };
        // The sender is kept until the request is called or cancelled.
        let called = (&mut wait.called).await;
        debug_assert!(called.is_ok(), "the sender goes with whoever waits");
        place()
    }

    /// Returns the number of waiting requests.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        let state = self.lock();
        state.queues.values().flat_map(|queue| queue.waiting.values()).map(VecDeque::len).sum()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes a place, if there is one: waiting requests of other agents are limited by their own
    /// shares.
    fn enter(&mut self, agent: &str) -> bool {
        if self.free == 0 || self.queues.contains_key(agent) {
            return false;
        }
        match self.running.get_mut(agent) {
            Some(running) if *running >= self.share => return false,
            Some(running) => *running += 1,
            None => {
                self.running.insert(agent.to_owned(), 1);
            }
        }
        self.free -= 1;
        true
    }

    /// Frees a place of an agent and calls the next requests that may have one.
    fn leave(&mut self, agent: &str) {
        if let Some(running) = self.running.get_mut(agent) {
            *running = running.saturating_sub(1);
            // Callers without running requests are removed: callers come and go.
            if *running == 0 {
                self.running.remove(agent);
            }
        }
        self.free += 1;
        self.call();
    }

    /// Adds a waiting request and returns its id.
    fn enqueue(&mut self, agent: &str, caller: &LimitKey, called: oneshot::Sender<()>) -> u64 {
        self.last_request_id = self.last_request_id.wrapping_add(1);
        let request_id = self.last_request_id;
        if !self.queues.contains_key(agent) {
            self.order.push_back(agent.to_owned());
        }
        let queue = self.queues.entry(agent.to_owned()).or_default();
        if !queue.waiting.contains_key(caller) {
            queue.order.push_back(caller.clone());
        }
        queue
            .waiting
            .entry(caller.clone())
            .or_default()
            .push_back(QueuedRequest { request_id, called });
        request_id
    }

    /// Calls the next requests, as long as there are places.
    fn call(&mut self) {
        let mut skipped = 0;
        while self.free > 0 && skipped < self.order.len() {
            let Some(agent) = self.order.pop_front() else { return };
            let running = self.running.get(&agent).copied().unwrap_or_default();
            if running >= self.share {
                self.order.push_back(agent);
                skipped += 1;
                continue;
            }
            let next = self.queues.get_mut(&agent).and_then(AgentQueue::next);
            if self.queues.get(&agent).is_some_and(AgentQueue::is_empty) {
                self.queues.remove(&agent);
            } else {
                self.order.push_back(agent.clone());
            }
            // A cancelled request has no receiver any more, and is about to remove itself.
            if next.is_some_and(|next| next.called.send(()).is_ok()) {
                *self.running.entry(agent).or_default() += 1;
                self.free -= 1;
            }
            skipped = 0;
        }
    }

    /// Removes a cancelled request.
    fn forget(&mut self, agent: &str, caller: &LimitKey, request_id: u64) {
        let Some(queue) = self.queues.get_mut(agent) else { return };
        if let Some(waiting) = queue.waiting.get_mut(caller) {
            waiting.retain(|other| other.request_id != request_id);
            if waiting.is_empty() {
                queue.waiting.remove(caller);
                queue.order.retain(|other| other != caller);
            }
        }
        if queue.is_empty() {
            self.queues.remove(agent);
            self.order.retain(|other| other != agent);
        }
    }
}

impl AgentQueue {
    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Returns the next request of the caller whose turn it is, and moves the caller to the end.
    fn next(&mut self) -> Option<QueuedRequest> {
        let caller = self.order.pop_front()?;
        let waiting = self.waiting.get_mut(&caller)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&caller);
        } else {
            self.order.push_back(caller);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn caller(last: u8) -> LimitKey {
        LimitKey::address([192, 0, 2, last].into())
    }

    type TurnFuture<'t> = Pin<Box<dyn Future<Output = SchedulerPermit<'t>> + 't>>;

    /// A request that waits for its turn.
    struct WaitingRequest<'t> {
        agent: &'static str,
        caller_number: u8,
        turn: TurnFuture<'t>,
    }

    /// Polls all requests in the order of arrival; each ends at once.
    fn drain(requests: &mut Vec<WaitingRequest<'_>>, order: &RefCell<Vec<(&'static str, u8)>>) {
        let mut context = Context::from_waker(Waker::noop());
        while let Some(at) = requests.iter_mut().position(|request| {
            let Poll::Ready(turn) = request.turn.as_mut().poll(&mut context) else { return false };
            order.borrow_mut().push((request.agent, request.caller_number));
            drop(turn);
            true
        }) {
            drop(requests.remove(at));
        }
    }

    fn ask<'t>(
        scheduler: &'t FairScheduler,
        agent: &'static str,
        caller_number: u8,
    ) -> WaitingRequest<'t> {
        let mut turn: TurnFuture<'t> = Box::pin(scheduler.turn(agent, caller(caller_number)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(turn.as_mut().poll(&mut context).is_pending());
        WaitingRequest { agent, caller_number, turn }
    }

    #[test]
    fn agents_take_turns_and_so_do_the_callers_of_each() {
        let scheduler = FairScheduler::new(1);
        scheduler.set_agents(["noisy", "quiet"].into_iter());
        let mut context = Context::from_waker(Waker::noop());
        let mut first: TurnFuture<'_> = Box::pin(scheduler.turn("noisy", caller(1)));
        let Poll::Ready(first) = first.as_mut().poll(&mut context) else {
            panic!("a place is free")
        };
        let mut requests: Vec<_> = (0..50).map(|_| ask(&scheduler, "noisy", 1)).collect();
        requests.push(ask(&scheduler, "noisy", 2));
        requests.push(ask(&scheduler, "quiet", 3));
        assert_eq!(scheduler.waiting(), 52);
        drop(first);
        let order = RefCell::default();
        drain(&mut requests, &order);
        let order = order.into_inner();
        assert_eq!(order.len(), 52, "everybody comes");
        let place = |who| order.iter().position(|turn| *turn == who).unwrap();
        assert!(place(("quiet", 3)) <= 1, "{order:?}");
        assert!(place(("noisy", 2)) <= 3, "{order:?}");
        assert_eq!(scheduler.waiting(), 0);
        let state = scheduler.lock();
        assert!(state.queues.is_empty() && state.order.is_empty() && state.free == 1);
    }

    #[test]
    fn agents_among_several_have_shares_one_alone_has_everything() {
        let scheduler = FairScheduler::new(8);
        scheduler.set_agents(["slow", "other"].into_iter());
        let mut context = Context::from_waker(Waker::noop());
        let mut now = |agent: &'static str| {
            let mut turn: TurnFuture<'_> = Box::pin(scheduler.turn(agent, caller(1)));
            match turn.as_mut().poll(&mut context) {
                Poll::Ready(turn) => Some(turn),
                Poll::Pending => None,
            }
        };
        let slow: Vec<_> = (0..8).filter_map(|_| now("slow")).collect();
        assert_eq!(slow.len(), 2, "a quarter");
        assert_eq!(scheduler.waiting(), 0, "who went away does not wait");
        let other = now("other");
        assert!(other.is_some(), "others have places");
        scheduler.set_agents(["slow"].into_iter());
        assert!(now("slow").is_some());
        drop((slow, other));
        let state = scheduler.lock();
        assert_eq!(state.free, 8);
        assert!(state.running.values().all(|running| *running == 0));
    }

    #[test]
    fn one_busy_caller_leaves_places_to_others() {
        let scheduler = FairScheduler::with_share(4, 2);
        let mut context = Context::from_waker(Waker::noop());
        let mut held = Vec::new();
        let mut waiting = Vec::new();
        for _ in 0..16 {
            let mut turn: TurnFuture<'_> = Box::pin(scheduler.turn("busy", caller(1)));
            match turn.as_mut().poll(&mut context) {
                Poll::Ready(turn) => held.push(turn),
                Poll::Pending => waiting.push(turn),
            }
        }
        assert_eq!((held.len(), waiting.len()), (2, 14), "no more than its share");
        let mut quiet: TurnFuture<'_> = Box::pin(scheduler.turn("quiet", caller(2)));
        let Poll::Ready(quiet) = quiet.as_mut().poll(&mut context) else {
            panic!("others find a place at once")
        };
        drop((held, waiting, quiet));
        let state = scheduler.lock();
        assert!(state.free == 4 && state.running.is_empty(), "nobody is remembered");
    }

    #[test]
    fn who_leaves_when_called_gives_the_place_to_the_next() {
        let scheduler = FairScheduler::new(1);
        let mut context = Context::from_waker(Waker::noop());
        let mut first: TurnFuture<'_> = Box::pin(scheduler.turn("a", caller(1)));
        let Poll::Ready(first) = first.as_mut().poll(&mut context) else {
            panic!("a place is free")
        };
        let second = ask(&scheduler, "a", 1).turn;
        let mut third = ask(&scheduler, "a", 2).turn;
        drop(first);
        drop(second);
        assert!(third.as_mut().poll(&mut context).is_ready());
    }
}
