//! Asks the person behind a client with a form that the client shows, which a model cannot answer. A question waits
//! here until it is answered, the client cancels its call, or the time is up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tradepost_a2a::jsonrpc::RpcReply;
use tradepost_document::cache::BoundedCache;
use tradepost_document::json::{Value, json};
use tradepost_mcp::{self as mcp, AgreementForm, FormAnswer};

/// Maximum number of open questions of one client. A person reads one after the other, and the client must remain
/// able to send messages meanwhile.
const MAX_OPEN: usize = 4;

/// Maximum number of open questions of all clients.
const MAX_OPEN_IN_ALL: usize = 1_000;

/// Way to ask the person behind a call.
#[derive(Clone, Copy)]
pub(super) enum Person<'c> {
    /// Only through the model, with a text that it shows.
    ByModel,
    /// Through a request to the client while the call waits.
    Asked(&'c EventSender<'c>),
    /// Through the result of the call, after which the client calls again.
    Returns {
        /// State that the client returns from the earlier result.
        state: Option<&'c str>,
        /// Answer of the person.
        answer: Option<&'c Value>,
    },
}

/// Reason why a question has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The time was up.
    Late,
    /// The client has left or has cancelled its call.
    Gone,
    /// The client could not ask.
    Failed,
    /// There are too many open questions.
    Busy,
}

/// Maximum number of expired questions that are remembered.
const MAX_EXPIRED: usize = 1_000;

/// Refusal that came after the form expired. It applies to the question in two calls that replaced the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LateRefusal {
    pub(super) confirmation: String,
    pub(super) subject: String,
}

/// Form that was not answered in time. A refusal that arrives late still counts.
struct ExpiredQuestion {
    session: String,
    form: AgreementForm,
    /// True when the refusal has arrived.
    is_refused: bool,
    refusal: Option<LateRefusal>,
}

/// Questions that wait for an answer.
pub(super) struct Questions {
    open: Mutex<HashMap<String, OpenQuestion>>,
    expired: Mutex<BoundedCache<String, ExpiredQuestion>>,
    /// True when the client has left and cannot answer any more.
    closed: AtomicBool,
    count: AtomicU64,
    timeout: Duration,
}

struct OpenQuestion {
    /// Session that was asked; answers from other sessions are ignored.
    session: String,
    /// Id of the call that asks.
    call: String,
    answer: oneshot::Sender<Result<Value, NoAnswer>>,
}

impl Questions {
    /// Creates an empty set; `timeout` is the time a person has for each question.
    pub(super) fn new(timeout: Duration) -> Self {
        let closed = AtomicBool::new(false);
        let open = Mutex::default();
        let expired = Mutex::new(BoundedCache::new(MAX_EXPIRED));
        Self { open, expired, closed, count: AtomicU64::new(0), timeout }
    }

    /// Takes an answer from this client. Returns a refusal that came late, with the question it applies to.
    pub(super) fn answered(&self, session: &str, reply: RpcReply) -> Option<LateRefusal> {
        let id = tradepost_document::json::from_str::<String>(reply.id.as_json()).ok()?;
        let mut open = self.lock();
        // Question ids are easy to guess; session names are not (see `Sessions`).
        if open.get(&id).is_some_and(|question| question.session == session) {
            let question = open.remove(&id)?;
            // The caller may have stopped waiting at this moment.
            let _ = question.answer.send(reply.outcome.map_err(|_| NoAnswer::Failed));
            return None;
        }
        drop(open);
        self.refused_late(session, &id, &reply.outcome.ok()?)
    }

    fn refused_late(&self, session: &str, id: &str, answer: &Value) -> Option<LateRefusal> {
        let mut expired = self.lock_expired();
        let question = expired.get(id).filter(|question| question.session == session)?;
        // A client closes its form when it is told that the question expired: that is not the person's answer.
        if question.form.read(answer) != Some(FormAnswer::Declined) {
            return None;
        }
        question.is_refused = true;
        question.refusal.clone()
    }

    /// Remembers a form that was not answered in time.
    fn expire(&self, id: &str, session: &str, form: &AgreementForm) {
        let session = session.to_owned();
        let form = form.clone();
        let question = ExpiredQuestion { session, form, is_refused: false, refusal: None };
        self.lock_expired().insert(id.to_owned(), question);
    }

    /// Lets a late refusal of this form apply to the question that replaced it. Returns the refusal when it has
    /// already arrived.
    pub(super) fn await_refusal(&self, id: &str, refusal: LateRefusal) -> Option<LateRefusal> {
        let mut expired = self.lock_expired();
        let question = expired.get(id)?;
        question.refusal = Some(refusal);
        question.refusal.clone().filter(|_| question.is_refused)
    }

    /// Returns true when this call of a client waits for its person.
    pub(super) fn is_open(&self, session: &str, call: &str) -> bool {
        self.lock().values().any(|question| question.session == session && question.call == call)
    }

    /// Drops the questions of a call that this client has cancelled.
    pub(super) fn cancelled(&self, session: &str, call: &str) {
        self.lock().retain(|_, question| question.session != session || question.call != call);
    }

    /// Drops all questions; later ones fail at once.
    pub(super) fn close(&self) {
        let mut open = self.lock();
        // Set under the lock, or another question could be opened after these have ended.
        self.closed.store(true, Ordering::Relaxed);
        open.clear();
    }

    /// Opens a question and returns its id and the receiver of its answer. Fails when the client has left or has too many
    /// open questions.
    fn open(
        &self,
        session: &str,
        call: &str,
    ) -> Result<(String, oneshot::Receiver<Result<Value, NoAnswer>>), NoAnswer> {
        let mut open = self.lock();
        if self.closed.load(Ordering::Relaxed) {
            return Err(NoAnswer::Gone);
        }
        let of_client = open.values().filter(|question| question.session == session).count();
        if of_client >= MAX_OPEN || open.len() >= MAX_OPEN_IN_ALL {
            return Err(NoAnswer::Busy);
        }
        let id = format!("ask-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = oneshot::channel();
        open.insert(
            id.clone(),
            OpenQuestion { session: session.to_owned(), call: call.to_owned(), answer },
        );
        Ok((id, answered))
    }

    fn lock_expired(&self) -> MutexGuard<'_, BoundedCache<String, ExpiredQuestion>> {
        self.expired.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, OpenQuestion>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connection to the client, and through it to the person, during one call.
pub(super) struct EventSender<'q> {
    pub(super) questions: &'q Questions,
    /// Session that the call belongs to.
    pub(super) session: String,
    /// Id of the call, as JSON.
    pub(super) call: String,
    /// Channel for messages that precede the answer of the call.
    pub(super) out: mpsc::Sender<String>,
}

/// Guard that removes a question when its caller stops waiting.
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
    /// Sends the form and waits for the client's report of the person's answer.
    pub(super) async fn ask(&self, form: &AgreementForm) -> AskedForm {
        let (id, answered) = match self.questions.open(&self.session, &self.call) {
            Ok(opened) => opened,
            Err(why) => return AskedForm { id: String::new(), outcome: Err(why) },
        };
        let asked = QuestionGuard { questions: self.questions, id };
        // Registered before it is sent, because an answer may come at once.
        if self.out.send(form.request(&asked.id)).await.is_err() {
            return AskedForm { id: asked.id.clone(), outcome: Err(NoAnswer::Gone) };
        }
        let outcome = match tokio::time::timeout(self.questions.timeout, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(NoAnswer::Gone),
            Err(_) => {
                self.questions.expire(&asked.id, &self.session, form);
                // Tells the client to close the form.
                let params = json!({"requestId": asked.id, "reason": "the time was up"});
                let notice = json!({"jsonrpc": "2.0", "method": mcp::CANCELLED, "params": params});
                let _ = self.out.send(notice.to_string()).await;
                Err(NoAnswer::Late)
            }
        };
        AskedForm { id: asked.id.clone(), outcome }
    }
}

/// Outcome of a form that was shown, or that could not be.
pub(super) struct AskedForm {
    /// Id of the question; empty when it could not be asked.
    pub(super) id: String,
    /// Answer of the person as the client reports it.
    pub(super) outcome: Result<Value, NoAnswer>,
}

/// Session names of the clients that can be asked. Each client is given one, and none can be forged.
pub(super) struct Sessions {
    secret: [u8; 32],
    count: AtomicU64,
}

impl Sessions {
    /// Creates the generator; `secret` is random, and new in each process.
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self { secret, count: AtomicU64::new(0) }
    }

    /// Returns a new name.
    pub(super) fn name(&self) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        super::confirmation::session_name(&self.secret, number)
    }

    /// Returns true when this process has issued the name.
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
        let (out, mut sent) = mpsc::channel(4);
        let session = String::new();
        let call = "1".to_owned();
        let line = EventSender { questions: &questions, session, call, out };
        let form = AgreementForm { message: "m".to_owned(), title: "t" };
        let close = async {
            sent.recv().await.unwrap();
            questions.close();
        };
        assert_eq!(tokio::join!(line.ask(&form), close).0.outcome, Err(NoAnswer::Gone));
        assert_eq!(line.ask(&form).await.outcome, Err(NoAnswer::Gone));
        assert!(sent.try_recv().is_err(), "nothing is said to a client that is gone");
    }
}
