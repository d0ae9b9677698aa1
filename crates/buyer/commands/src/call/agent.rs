//! `tradepost call URL --text "…"`: sends a message to an agent of any kind, follows the resulting
//! task, and shows what it needs next.

use std::io::Read as _;
use std::time::Duration;

use tradepost_a2a::TaskState;
use tradepost_client::agent::{
    AgentClient, AgentMessage, AgentReply, AgentTask, CardTransport, FollowEnd, Followed, Follower,
    Outgoing,
};
use tradepost_client::client::random_ids;
use tradepost_document::catalog::{Vocabulary as _, WireName};
use tradepost_document::json::{Value, json};

use super::super::attempts::{gave_up, recoverer};
use super::super::card::trust;
use super::super::discover::block_on;
use super::super::output::{CommandFailure, GOES_ON, INTERRUPTED, WAITS};
use super::super::{Context, Outcome};
use super::Arguments;

mod show;

/// Exit code for a task that ended without a result or a reason.
const OTHER: u8 = 9;

/// Message to an agent of any kind.
#[derive(Debug, Default, clap::Args)]
pub(super) struct MessageWords {
    /// Text to send to an agent of any kind, or - for standard input. --data is sent with it.
    #[arg(long, conflicts_with = "skill", allow_hyphen_values = true, help_heading = "Any agent")]
    text: Option<String>,
    /// Continue this task. With --text, send the input that the task asked for; without --text,
    /// follow the task.
    #[arg(long, value_name = "ID", conflicts_with = "skill", help_heading = "Any agent")]
    task: Option<String>,
    /// Ask the agent to cancel the task.
    #[arg(long, requires = "task", conflicts_with_all = ["text", "skill"],
        help_heading = "Any agent")]
    cancel: bool,
    /// Use only this binding: JSONRPC, HTTP+JSON or GRPC. The default is the first of them that the
    /// card lists.
    #[arg(long, value_name = "NAME", conflicts_with = "skill", help_heading = "Any agent",
        value_parser = parse_binding)]
    binding: Option<CardTransport>,
    /// Time limit in seconds for following a task.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, conflicts_with = "skill",
        help_heading = "Any agent", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    follow: u64,
    /// Poll the task, even if the agent supports streaming.
    #[arg(long, conflicts_with = "skill", help_heading = "Any agent")]
    poll: bool,
}

fn parse_binding(text: &str) -> Result<CardTransport, String> {
    let named = |binding: &CardTransport| binding.name().eq_ignore_ascii_case(text);
    let found = CardTransport::ALL.iter().copied().find(named);
    found.ok_or_else(|| format!("must be one of {}", CardTransport::NAMES.join(", ")))
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let message = outgoing(arguments)?;
    let output = context.output;
    let token = arguments.token.bearer(context);
    let overall = arguments.retry.then(|| Duration::from_secs(arguments.overall));
    let (agent, followed) = block_on(async {
        let transport = arguments.network.transport(context, arguments.timeout)?;
        let keys = arguments.keys.as_deref().map(trust::keys).transpose()?;
        let found = trust::discover(&transport, &arguments.url, keys.as_ref()).await?;
        let card = trust::reader(&transport, &found.url, keys.as_ref());
        let mut client = match arguments.words.binding {
            Some(binding) => {
                AgentClient::with_card_transport(binding, transport, &found, random_ids())?
            }
            None => AgentClient::new(transport, &found, random_ids())?,
        };
        client = client.rereading(card);
        if let Some(token) = token {
            client = client.with_token(token)?;
        }
        if arguments.words.poll {
            client = client.polling();
        }
        let recoverer = recoverer(overall, output, None)?;
        let patience = Duration::from_secs(arguments.words.follow);
        let follower = Follower { recoverer: &recoverer, patience };
        let mut last = String::new();
        let watch = |task: &AgentTask| {
            // The final state is printed at the end.
            let line = show::progress(task);
            if !task.is_settled() && line != last {
                output.talk(&line);
                last = line;
            }
        };
        if arguments.words.cancel
            && let Some(task) = &arguments.words.task
        {
            client.cancel(task).await?;
        }
        let followed = match (&message, &arguments.words.task) {
            (Some(message), _) => client.converse(message, &follower, watch).await,
            (None, Some(task)) => client.follow(task, &follower, watch).await,
            (None, None) => return Err(CommandFailure::usage("there is no message to send")),
        };
        let agent = json!({
            "name": found.card.name, "url": client.endpoint().to_string(),
            "binding": client.binding(), "a2a_version": client.release(),
        });
        Ok((agent, followed.map_err(|failed| gave_up(overall.is_some(), *failed))?))
    })?;
    print_reply(&arguments.url, agent, followed, overall.is_some(), context)
}

/// Returns the message to send, if there is one.
fn outgoing(arguments: &Arguments) -> Result<Option<Outgoing>, CommandFailure> {
    let mut stdin = std::io::stdin().lock();
    let text = match arguments.words.text.as_deref() {
        Some("-") => {
            let mut text = String::new();
            stdin.read_to_string(&mut text).map_err(|error| {
                CommandFailure::usage(format!("--text: cannot read standard input: {error}"))
            })?;
            Some(text)
        }
        text => text.map(ToOwned::to_owned),
    };
    if text.as_deref().is_some_and(|text| text.trim().is_empty()) {
        return Err(CommandFailure::usage("--text is empty"));
    }
    // Both options can name standard input; the second one finds it empty.
    let data = arguments.payload.data(&mut stdin)?;
    let message = match (text, data) {
        (Some(text), Some(data)) => Outgoing::text(text).with_data(data),
        (Some(text), None) => Outgoing::text(text),
        (None, Some(data)) => Outgoing::data(data),
        (None, None) => return Ok(None),
    };
    let message = match &arguments.conversation {
        Some(conversation) => message.within(conversation),
        None => message,
    };
    Ok(Some(match &arguments.words.task {
        Some(task) => message.answering(task),
        None => message,
    }))
}

/// Prints the reply and the next step; fails with an exit code when there is one.
fn print_reply(
    url: &str,
    agent: Value,
    followed: Followed,
    retries: bool,
    context: &Context,
) -> Outcome {
    let Followed { reply, end, .. } = followed;
    let next = next(url, &reply, &end);
    let failure = failure(&reply, end, retries, next.as_ref());
    let output = context.output;
    if !output.is_json() {
        let shown = show::reply(&reply);
        match (shown.is_empty(), &failure) {
            (false, _) => output.line(shown),
            (true, None) => output.talk("done; the answer of the agent is empty"),
            (true, Some(_)) => {}
        }
        return match failure {
            Some(failure) => Err(failure),
            None => {
                if let Some(id) = reply.context_id() {
                    output.talk(format!("to continue: --conversation {}", show::argument(id)));
                }
                Ok(())
            }
        };
    }
    let (name, content) = match &reply {
        AgentReply::Message(message) => ("message", message.document()),
        AgentReply::Task(task) => ("task", task.document()),
    };
    let document = json!({
        "agent": agent,
        name: content,
        "next": next.map(|next| json!({"action": next.action, "command": next.command})),
    });
    match failure {
        // Programs get the task in both cases.
        Some(failure) => Err(failure.with_facts(document)),
        None => {
            output.document(&document);
            Ok(())
        }
    }
}

/// Next call that is possible.
struct NextCall {
    action: &'static str,
    command: String,
}

fn next(url: &str, reply: &AgentReply, end: &FollowEnd) -> Option<NextCall> {
    let AgentReply::Task(task) = reply else { return None };
    let follow = |more: &str| {
        let url = show::argument(url);
        let id = show::argument(&task.id);
        // Following needs only the task; an answer is a message, which has a conversation.
        let conversation = task.context_id.as_deref().filter(|_| !more.is_empty());
        let conversation = conversation.map(|id| format!(" --conversation {}", show::argument(id)));
        format!("tradepost call {url} --task {id}{}{more}", conversation.unwrap_or_default())
    };
    let (action, command) = match (end, task.state.known()) {
        (FollowEnd::TimeUp | FollowEnd::Stopped | FollowEnd::Lost(_), _) => ("follow", follow("")),
        (FollowEnd::Settled, Some(TaskState::InputRequired)) => ("answer", follow(" --text \"…\"")),
        // The permission is given elsewhere, so no message to the agent is needed.
        (FollowEnd::Settled, Some(TaskState::AuthRequired)) => ("authorize", follow("")),
        (FollowEnd::Settled, _) => return None,
    };
    Some(NextCall { action, command })
}

/// Returns the failure of the command, if it does not end with 0.
fn failure(
    reply: &AgentReply,
    end: FollowEnd,
    retries: bool,
    next: Option<&NextCall>,
) -> Option<CommandFailure> {
    let AgentReply::Task(task) = reply else { return None };
    let command = next.map(|next| next.command.as_str()).unwrap_or_default();
    let waits = |exit, message: &str, hint: String| {
        Some(CommandFailure::new(exit, format!("{message}{}", show::said(task))).hint(hint))
    };
    match end {
        FollowEnd::Lost(failed) => {
            let failure = gave_up(retries, *failed);
            // The failure was one of polling the task, which has no effect.
            let failure = failure.without_effect();
            let hint = failure.hint.clone().map(|hint| format!("{hint}; ")).unwrap_or_default();
            Some(
                failure
                    .hint(format!("{hint}the task may still be running; follow it with {command}")),
            )
        }
        FollowEnd::TimeUp => {
            waits(GOES_ON, "the task is still running", format!("follow it with {command}"))
        }
        FollowEnd::Stopped => waits(
            INTERRUPTED,
            "stopped; the task is still running",
            format!("follow it with {command}"),
        ),
        FollowEnd::Settled => match task.state {
            WireName::Known(TaskState::Completed) => None,
            WireName::Known(TaskState::InputRequired) => {
                waits(WAITS, "the agent waits for an answer", format!("answer with {command}"))
            }
            WireName::Known(TaskState::AuthRequired) => {
                let hint = format!("provide it, then follow the task with {command}");
                waits(WAITS, "the agent waits for a credential or a permission", hint)
            }
            WireName::Known(
                TaskState::Failed
                | TaskState::Rejected
                | TaskState::Canceled
                | TaskState::Submitted
                | TaskState::Working,
            )
            | WireName::Other(_) => Some(ended(task)),
        },
    }
}

/// Returns the failure of a task that ended without a result.
fn ended(task: &AgentTask) -> CommandFailure {
    let failure = match task.failure() {
        Some(failure) => CommandFailure::from(failure),
        None => CommandFailure::new(OTHER, format!("the task is {}", show::state(task)))
            .hint("read the message of the agent"),
    };
    let mut lines = failure.lines.clone();
    lines.push(format!("task {}: {}", show::argument(&task.id), show::state(task)));
    CommandFailure { lines, ..failure }
}

/// Formats a message for people.
fn words(message: &AgentMessage) -> String {
    show::parts(&message.parts)
}
