//! Questions to the persons behind clients of MCP that wait for an answer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;
use tradepost_a2a::jsonrpc::{Id, RpcReply};
use tradepost_document::json::Value;

use crate::limit::LimitKey;

/// Maximum number of open questions of a process. Each holds the body of its call.
const MAX_OPEN: usize = 200;

/// Maximum number of open questions of a session.
const MAX_OPEN_OF_SESSION: usize = 4;

/// Maximum number of open questions of a caller, who may begin any number of sessions. An assistant asks for many
/// people from one address, so it is no less than a quarter of all.
const MAX_OPEN_OF_CALLER: usize = MAX_OPEN / 4;

/// Questions that wait for the answer of a person.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions(Mutex<QuestionTable>);

#[derive(Debug, Default)]
struct QuestionTable {
    /// By their ids as JSON.
    open: HashMap<String, OpenQuestion>,
    /// True when the process stops and takes no further questions.
    is_closed: bool,
}

#[derive(Debug)]
struct OpenQuestion {
    session: String,
    caller: LimitKey,
    answer: oneshot::Sender<Value>,
}

/// A question that was opened.
pub(crate) struct AskedQuestion {
    /// Id of the question.
    pub(crate) id: String,
    /// The answer, when it comes.
    pub(crate) answer: oneshot::Receiver<Value>,
}

impl OpenQuestions {
    /// Opens a question. `None` when there are too many, or the process stops.
    pub(crate) fn open(&self, session: &str, caller: LimitKey) -> Option<AskedQuestion> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let QuestionTable { open, is_closed } = &mut *table;
        // Nobody waits any more for the questions of calls that have ended.
        open.retain(|_, question| !question.answer.is_closed());
        let of_session = open.values().filter(|question| question.session == session).count();
        let of_caller = open.values().filter(|question| question.caller == caller).count();
        if *is_closed
            || open.len() >= MAX_OPEN
            || of_session >= MAX_OPEN_OF_SESSION
            || of_caller >= MAX_OPEN_OF_CALLER
        {
            return None;
        }
        // Cannot be guessed, so that nobody else answers.
        let id = uuid::Uuid::new_v4().to_string();
        let (sender, answer) = oneshot::channel();
        let question = OpenQuestion { session: session.to_owned(), caller, answer: sender };
        open.insert(Id::text(&id).as_json().to_owned(), question);
        Some(AskedQuestion { id, answer })
    }

    /// Takes an answer. Returns false when no question of this session waits for it here: it comes late or twice, or
    /// another process has asked.
    pub(crate) fn answered(&self, session: &str, reply: RpcReply) -> bool {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let id = reply.id.as_json();
        if table.open.get(id).is_none_or(|question| question.session != session) {
            return false;
        }
        let question = table.open.remove(id);
        // An error in place of an answer is none.
        question
            .is_some_and(|question| question.answer.send(reply.outcome.unwrap_or_default()).is_ok())
    }

    /// Ends all questions, whose calls go on without an answer, and takes no further ones.
    pub(crate) fn close(&self) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.is_closed = true;
        table.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    fn caller(name: &str) -> LimitKey {
        LimitKey::Credential(name.to_owned())
    }

    #[test]
    fn a_question_is_answered_once_and_in_its_own_session() {
        let questions = OpenQuestions::default();
        let AskedQuestion { id, mut answer } = questions.open("ours", caller("a")).unwrap();
        let reply = |outcome| RpcReply { id: Id::text(&id), outcome };
        assert!(!questions.answered("theirs", reply(Ok(json!("no")))));
        assert!(answer.try_recv().is_err());
        assert!(questions.answered("ours", reply(Ok(json!("yes")))));
        assert!(!questions.answered("ours", reply(Ok(json!("no")))));
        assert_eq!(answer.try_recv(), Ok(json!("yes")));
    }

    #[test]
    fn a_session_has_few_questions_and_gets_their_places_back() {
        let questions = OpenQuestions::default();
        let open = || questions.open("one", caller("a"));
        let asked: Vec<_> = std::iter::from_fn(open).take(MAX_OPEN).collect();
        assert_eq!(asked.len(), MAX_OPEN_OF_SESSION);
        assert!(questions.open("other", caller("a")).is_some());
        drop(asked);
        assert!(questions.open("one", caller("a")).is_some());
    }

    #[test]
    fn a_caller_of_many_sessions_leaves_places_to_others() {
        let questions = OpenQuestions::default();
        let open = |session: usize| questions.open(&session.to_string(), caller("a"));
        let asked: Vec<_> = (0..MAX_OPEN).map_while(open).collect();
        assert_eq!(asked.len(), MAX_OPEN_OF_CALLER);
        assert!(questions.open("other", caller("b")).is_some());
    }

    #[test]
    fn a_process_that_stops_asks_nobody() {
        let questions = OpenQuestions::default();
        let mut asked = questions.open("one", caller("a")).unwrap();
        questions.close();
        assert_eq!(asked.answer.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        let reply = RpcReply { id: Id::text(&asked.id), outcome: Ok(json!("yes")) };
        assert!(!questions.answered("one", reply));
        assert!(questions.open("one", caller("a")).is_none());
    }
}
