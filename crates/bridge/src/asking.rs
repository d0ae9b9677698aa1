//! Asking the person behind a client, whom no model can answer for: the client shows a form. What is
//! asked waits here until the answer comes, the client says that it does not wait any longer, or
//! the time is up; whatever else comes in between is no answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tradepost_wire::json::{Value, json};
use tradepost_wire::jsonrpc::Reply;
use tradepost_wire::mcp::{self, Form};

/// How many questions one client may have open: a person reads one after the other, and a client
/// has to be heard while they do.
const MAX_OPEN: usize = 4;

/// How many there may be of all clients.
const MAX_OPEN_IN_ALL: usize = 1_000;

/// How the person behind a call can be asked.
#[derive(Clone, Copy)]
pub(super) enum Person<'c> {
    /// Only by the model, with a text that it shows.
    ByModel,
    /// By a request to the client, while the call waits.
    Asked(&'c Line<'c>),
    /// By the result of the call, after which it comes again.
    Returns {
        /// What it brings back of what it was given.
        state: Option<&'c str>,
        /// What the person answered.
        answer: Option<&'c Value>,
    },
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// The time was up.
    Late,
    /// The client is gone, or does not wait for its call any longer.
    Gone,
    /// The client could not ask.
    Failed,
    /// There are too many open questions.
    Busy,
}

/// The questions that wait for an answer.
pub(super) struct Questions {
    open: Mutex<HashMap<String, Open>>,
    /// Whether nobody gives answers any more.
    closed: AtomicBool,
    count: AtomicU64,
    patience: Duration,
}

struct Open {
    /// Whose question it is: nobody else's answer counts.
    whose: String,
    /// The id of the call that asks.
    call: String,
    answer: oneshot::Sender<Result<Value, Silence>>,
}

impl Questions {
    /// None yet; a person has this long for each.
    pub(super) fn new(patience: Duration) -> Self {
        let closed = AtomicBool::new(false);
        Self { open: Mutex::default(), closed, count: AtomicU64::new(0), patience }
    }

    /// Takes the answer of this client; whether there was such a question of it.
    pub(super) fn answered(&self, whose: &str, reply: Reply) -> bool {
        let Ok(id) = tradepost_wire::json::from_str::<String>(reply.id.as_json()) else {
            return false;
        };
        let mut open = self.lock();
        // Ids are easily guessed, and whose question it is is not (see `Sessions`).
        if open.get(&id).is_none_or(|question| question.whose != whose) {
            return false;
        }
        let Some(question) = open.remove(&id) else { return false };
        // Who asked may have stopped to wait in this moment.
        let _ = question.answer.send(reply.outcome.map_err(|_| Silence::Failed));
        true
    }

    /// Ends what a call of this client has asked: it is not waited for any longer.
    pub(super) fn cancelled(&self, whose: &str, call: &str) {
        self.lock().retain(|_, question| question.whose != whose || question.call != call);
    }

    /// Ends all that was asked: there are no answers any more, and nothing is asked after this.
    pub(super) fn close(&self) {
        let mut open = self.lock();
        // Under the lock, or a question could be opened right after the others have ended.
        self.closed.store(true, Ordering::Relaxed);
        open.clear();
    }

    fn open(
        &self,
        whose: &str,
        call: &str,
    ) -> Result<(String, oneshot::Receiver<Result<Value, Silence>>), Silence> {
        let mut open = self.lock();
        if self.closed.load(Ordering::Relaxed) {
            return Err(Silence::Gone);
        }
        let of_client = open.values().filter(|question| question.whose == whose).count();
        if of_client >= MAX_OPEN || open.len() >= MAX_OPEN_IN_ALL {
            return Err(Silence::Busy);
        }
        let id = format!("ask-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        open.insert(id.clone(), Open { whose: whose.to_owned(), call: call.to_owned(), answer });
        Ok((id, answered))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way to the person during one call.
pub(super) struct Line<'q> {
    pub(super) questions: &'q Questions,
    /// Whose call it is.
    pub(super) whose: String,
    /// Its id, as JSON.
    pub(super) call: String,
    /// What is said to the client before the call is answered.
    pub(super) out: mpsc::Sender<String>,
}

/// A question that is forgotten when nobody waits for its answer any more.
struct Asked<'q> {
    questions: &'q Questions,
    id: String,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.id);
    }
}

impl Line<'_> {
    /// What the client says that the person did.
    pub(super) async fn ask(&self, form: &Form) -> Result<Value, Silence> {
        let (id, answered) = self.questions.open(&self.whose, &self.call)?;
        let asked = Asked { questions: self.questions, id };
        // Kept before it is asked, because an answer may come at once.
        self.out.send(form.request(&asked.id)).await.map_err(|_| Silence::Gone)?;
        match tokio::time::timeout(self.questions.patience, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Silence::Gone),
            Err(_) => {
                // So that the form does not stay open for nothing.
                let params = json!({"requestId": asked.id, "reason": "the time was up"});
                let notice = json!({"jsonrpc": "2.0", "method": mcp::CANCELLED, "params": params});
                let _ = self.out.send(notice.to_string()).await;
                Err(Silence::Late)
            }
        }
    }
}

/// The names of the clients that can be asked: each is told one, and nobody can make one up.
pub(super) struct Sessions {
    secret: [u8; 32],
    count: AtomicU64,
}

impl Sessions {
    /// `secret` is random, and new in each process.
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self { secret, count: AtomicU64::new(0) }
    }

    /// A new name.
    pub(super) fn name(&self) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        super::confirmation::session(&self.secret, number)
    }

    /// Whether this process has given this name.
    pub(super) fn is_known(&self, name: &str) -> bool {
        let number = super::confirmation::session_number(&self.secret, name);
        number.is_some_and(|number| number < self.count.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_says_nothing_more_is_not_asked() {
        let questions = Questions::new(Duration::from_secs(600));
        let (out, mut said) = mpsc::channel(4);
        let (whose, call) = (String::new(), "1".to_owned());
        let line = Line { questions: &questions, whose, call, out };
        let form = Form { message: "m".to_owned(), title: "t" };
        let close = async {
            said.recv().await.unwrap();
            questions.close();
        };
        assert_eq!(tokio::join!(line.ask(&form), close).0, Err(Silence::Gone));
        assert_eq!(line.ask(&form).await, Err(Silence::Gone));
        assert!(said.try_recv().is_err(), "nothing is said to a client that is gone");
    }
}
