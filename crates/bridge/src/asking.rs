//! Asking the person behind a client, whom no model can answer for: the client shows a form. What is
//! asked waits here until the answer comes, the client says that it does not wait any longer, or
//! the time is up; whatever else comes in between is no answer.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tradepost_wire::json::{Value, json};
use tradepost_wire::jsonrpc::RpcReply;
use tradepost_wire::mcp::{self, AgreementForm, FormAnswer};

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
    Asked(&'c EventSender<'c>),
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
pub(super) enum NoAnswer {
    /// The time was up.
    Late,
    /// The client is gone, or does not wait for its call any longer.
    Gone,
    /// The client could not ask.
    Failed,
    /// There are too many open questions.
    Busy,
}

/// How many questions are remembered that nobody waits for any longer.
const MAX_LAPSED: usize = 1_000;

/// What a late no is a no to: the question in two calls that has taken the place of the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LateRefusal {
    pub(super) confirmation: String,
    pub(super) subject: String,
}

/// A form that was not answered in time. A no that comes late still counts.
struct LapsedQuestion {
    id: String,
    whose: String,
    form: AgreementForm,
    /// Whether the no has come.
    is_refused: bool,
    refusal: Option<LateRefusal>,
}

/// The questions that wait for an answer.
pub(super) struct Questions {
    open: Mutex<HashMap<String, OpenQuestion>>,
    lapsed: Mutex<VecDeque<LapsedQuestion>>,
    /// Whether nobody gives answers any more.
    closed: AtomicBool,
    count: AtomicU64,
    patience: Duration,
}

struct OpenQuestion {
    /// Whose question it is: nobody else's answer counts.
    whose: String,
    /// The id of the call that asks.
    call: String,
    answer: oneshot::Sender<Result<Value, NoAnswer>>,
}

impl Questions {
    /// None yet; a person has this long for each.
    pub(super) fn new(patience: Duration) -> Self {
        let closed = AtomicBool::new(false);
        let (open, lapsed) = (Mutex::default(), Mutex::default());
        Self { open, lapsed, closed, count: AtomicU64::new(0), patience }
    }

    /// Takes the answer of this client. A no that comes late is given back, with what it is a no to.
    pub(super) fn answered(&self, whose: &str, reply: RpcReply) -> Option<LateRefusal> {
        let id = tradepost_wire::json::from_str::<String>(reply.id.as_json()).ok()?;
        let mut open = self.lock();
        // Ids are easily guessed, and whose question it is is not (see `Sessions`).
        if open.get(&id).is_some_and(|question| question.whose == whose) {
            let question = open.remove(&id)?;
            // Who asked may have stopped to wait in this moment.
            let _ = question.answer.send(reply.outcome.map_err(|_| NoAnswer::Failed));
            return None;
        }
        drop(open);
        self.refused_late(whose, &id, &reply.outcome.ok()?)
    }

    fn refused_late(&self, whose: &str, id: &str, answer: &Value) -> Option<LateRefusal> {
        let mut lapsed = self.lock_lapsed();
        let question = lapsed.iter_mut().find(|one| one.id == id && one.whose == whose)?;
        // A client closes its form when it is told that nobody waits any longer: that is no answer of a person.
        if question.form.read(answer) != Some(FormAnswer::Declined) {
            return None;
        }
        question.is_refused = true;
        question.refusal.clone()
    }

    /// Remembers a form that was not answered in time.
    fn lapse(&self, id: &str, whose: &str, form: &AgreementForm) {
        let mut lapsed = self.lock_lapsed();
        if lapsed.len() >= MAX_LAPSED {
            lapsed.pop_front();
        }
        let (id, whose, form) = (id.to_owned(), whose.to_owned(), form.clone());
        lapsed.push_back(LapsedQuestion { id, whose, form, is_refused: false, refusal: None });
    }

    /// Has a late no to this form be one to the question that has taken its place. Gives the refusal back when the no
    /// has come already.
    pub(super) fn await_refusal(&self, id: &str, refusal: LateRefusal) -> Option<LateRefusal> {
        let mut lapsed = self.lock_lapsed();
        let question = lapsed.iter_mut().find(|one| one.id == id)?;
        question.refusal = Some(refusal);
        question.refusal.clone().filter(|_| question.is_refused)
    }

    /// Whether this call of a client waits for its person.
    pub(super) fn is_open(&self, whose: &str, call: &str) -> bool {
        self.lock().values().any(|question| question.whose == whose && question.call == call)
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
    ) -> Result<(String, oneshot::Receiver<Result<Value, NoAnswer>>), NoAnswer> {
        let mut open = self.lock();
        if self.closed.load(Ordering::Relaxed) {
            return Err(NoAnswer::Gone);
        }
        let of_client = open.values().filter(|question| question.whose == whose).count();
        if of_client >= MAX_OPEN || open.len() >= MAX_OPEN_IN_ALL {
            return Err(NoAnswer::Busy);
        }
        let id = format!("ask-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        open.insert(
            id.clone(),
            OpenQuestion { whose: whose.to_owned(), call: call.to_owned(), answer },
        );
        Ok((id, answered))
    }

    fn lock_lapsed(&self) -> MutexGuard<'_, VecDeque<LapsedQuestion>> {
        self.lapsed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, OpenQuestion>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way to the person during one call.
pub(super) struct EventSender<'q> {
    pub(super) questions: &'q Questions,
    /// Whose call it is.
    pub(super) whose: String,
    /// Its id, as JSON.
    pub(super) call: String,
    /// What is said to the client before the call is answered.
    pub(super) out: mpsc::Sender<String>,
}

/// A question that is forgotten when nobody waits for its answer any more.
struct QuestionGuard<'q> {
    questions: &'q Questions,
    id: String,
}

impl Drop for QuestionGuard<'_> {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.id);
    }
}

impl EventSender<'_> {
    /// Asks, and waits for what the client says that the person did.
    pub(super) async fn ask(&self, form: &AgreementForm) -> AskedForm {
        let (id, answered) = match self.questions.open(&self.whose, &self.call) {
            Ok(opened) => opened,
            Err(why) => return AskedForm { id: String::new(), outcome: Err(why) },
        };
        let asked = QuestionGuard { questions: self.questions, id };
        // Kept before it is asked, because an answer may come at once.
        if self.out.send(form.request(&asked.id)).await.is_err() {
            return AskedForm { id: asked.id.clone(), outcome: Err(NoAnswer::Gone) };
        }
        let outcome = match tokio::time::timeout(self.questions.patience, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(NoAnswer::Gone),
            Err(_) => {
                self.questions.lapse(&asked.id, &self.whose, form);
                // So that the form does not stay open for nothing.
                let params = json!({"requestId": asked.id, "reason": "the time was up"});
                let notice = json!({"jsonrpc": "2.0", "method": mcp::CANCELLED, "params": params});
                let _ = self.out.send(notice.to_string()).await;
                Err(NoAnswer::Late)
            }
        };
        AskedForm { id: asked.id.clone(), outcome }
    }
}

/// A form that was shown, or should have been.
pub(super) struct AskedForm {
    /// The id of the question; empty when it could not be asked.
    pub(super) id: String,
    /// What the client says that the person did.
    pub(super) outcome: Result<Value, NoAnswer>,
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
        let line = EventSender { questions: &questions, whose, call, out };
        let form = AgreementForm { message: "m".to_owned(), title: "t" };
        let close = async {
            said.recv().await.unwrap();
            questions.close();
        };
        assert_eq!(tokio::join!(line.ask(&form), close).0.outcome, Err(NoAnswer::Gone));
        assert_eq!(line.ask(&form).await.outcome, Err(NoAnswer::Gone));
        assert!(said.try_recv().is_err(), "nothing is said to a client that is gone");
    }
}
