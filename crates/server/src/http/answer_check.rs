//! Validation of agents' answers before a binding writes them. Clients cannot read an answer that
//! violates the data model, and the log tells the agent's developer what is wrong.

use tradepost_wire::a2a::error::FieldViolation;
use tradepost_wire::a2a::response_check::{in_one_line, message_problems, task_problems};

use crate::agent::{Agent, Answer};
use crate::fault::InternalError;

/// Returns an answer that conforms to the data model. Invalid tasks of a list are left out and
/// logged, so that one of them does not hide the others.
///
/// Answers that the agent has serialised itself are not checked, nor are events of a stream, which
/// are checked when they are reported.
///
/// # Errors
/// What is wrong with the answer, for the log.
pub(super) fn checked(agent: &dyn Agent, answer: Answer) -> Result<Answer, InternalError> {
    let problems = match &answer {
        Answer::Message(message) | Answer::MessageStream(message) => message_problems(message),
        Answer::Begun(task) | Answer::Task(task) => task_problems(task),
        Answer::Tasks(_)
        | Answer::Written(_)
        | Answer::PushConfig(_)
        | Answer::PushConfigs(_)
        | Answer::Done
        | Answer::ExtendedCard(_)
        | Answer::Stream(_) => Vec::new(),
    };
    if !problems.is_empty() {
        return Err(invalid(&problems));
    }
    let Answer::Tasks(mut page) = answer else { return Ok(answer) };
    page.tasks.retain(|task| {
        let problems = task_problems(task);
        if !problems.is_empty() {
            let cause = in_one_line(&problems);
            tracing::error!(agent = %agent.id(), task = %task.id, cause, "an invalid task is not listed");
        }
        problems.is_empty()
    });
    Ok(Answer::Tasks(page))
}

fn invalid(problems: &[FieldViolation]) -> InternalError {
    let cause = format!("the answer is not valid in A2A: {}", in_one_line(problems));
    InternalError::new("checking what the agent answers", cause)
}
