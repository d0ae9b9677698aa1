//! Validation of agents' answers before a binding writes them. Clients cannot read an answer that
//! violates the data model, and the log tells the agent's developer what is wrong.

use tradepost_a2a::error::FieldViolation;
use tradepost_a2a::response_check::{in_one_line, message_problems, task_problems};

use crate::agent::{Agent, AgentAnswer};
use crate::fault::InternalError;

/// Returns an answer that conforms to the data model. Invalid tasks of a list are left out and
/// logged, so that one of them does not hide the others.
///
/// Answers that the agent has serialised itself are not checked, nor are events of a stream, which
/// are checked when they are reported.
///
/// # Errors
/// What is wrong with the answer, for the log.
pub(super) fn checked(
    agent: &dyn Agent,
    answer: AgentAnswer,
) -> Result<AgentAnswer, InternalError> {
    let problems = match &answer {
        AgentAnswer::Message(message) | AgentAnswer::MessageStream(message) => {
            message_problems(message)
        }
        AgentAnswer::Begun(task) | AgentAnswer::Task(task) => task_problems(task),
        AgentAnswer::Tasks(_)
        | AgentAnswer::Written(_)
        | AgentAnswer::PushConfig(_)
        | AgentAnswer::PushConfigs(_)
        | AgentAnswer::Done
        | AgentAnswer::ExtendedCard(_)
        | AgentAnswer::Stream(_) => Vec::new(),
    };
    if !problems.is_empty() {
        return Err(invalid(&problems));
    }
    let AgentAnswer::Tasks(mut page) = answer else { return Ok(answer) };
    page.tasks.retain(|task| {
        let problems = task_problems(task);
        if !problems.is_empty() {
            let cause = in_one_line(&problems);
            tracing::error!(agent = %agent.id(), task = %task.id, cause, "an invalid task is not listed");
        }
        problems.is_empty()
    });
    Ok(AgentAnswer::Tasks(page))
}

fn invalid(problems: &[FieldViolation]) -> InternalError {
    let cause = format!("the answer is not valid in A2A: {}", in_one_line(problems));
    InternalError::new("checking what the agent answers", cause)
}
