//! Watches tasks: when their webhooks do not come, the seller is polled.

use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use tokio::sync::Notify;
use tradepost_client::adcp::AdcpClient;
use tradepost_client::client::random_ids;
use tradepost_client::discover::{discover, is_this_machine};
use tradepost_client::receiver::Inbox;
use tradepost_client::receiver::metrics::ReceiverMetrics;
use tradepost_client::receiver::poll::{self, PollClock, PollEnd, PollPolicy};
use tradepost_client::text::{WORD, plain};
use tradepost_client::transport::HttpTransport;
use tradepost_client::{BearerToken, Url, failure as buyer};
use tradepost_server::clock::Clock;

use super::super::Context;
use super::super::network::NetworkArguments;
use super::super::output::{CommandFailure, Output};
use super::super::token::TokenFor;

/// Timeout of a poll in seconds.
const ANSWER_TIMEOUT: u64 = 30;

/// Options for tasks whose deliveries may be missed.
#[derive(Debug, clap::Args)]
pub(super) struct Missed {
    /// Task to watch until it ends. Repeatable. Requests to the agent carry the token of the
    /// environment variable TRADEPOST_TOKEN.
    #[arg(long, value_name = "ID", help_heading = "Missed deliveries")]
    task: Vec<String>,
    #[command(flatten)]
    token_for: TokenFor,
    /// URL of the agent that has the tasks; the default is the only seller.
    #[arg(long, value_name = "URL", requires = "task", help_heading = "Missed deliveries")]
    endpoint: Option<Url>,
    /// Request to the agent. The default is get_task_status over MCP with --seller, and GetTask of
    /// A2A otherwise.
    #[arg(long, value_name = "QUESTION", requires = "task", help_heading = "Missed deliveries")]
    ask: Option<WatchQuestion>,
    /// Time in seconds without a delivery before the agent is asked.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, help_heading = "Missed deliveries",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    patience: u64,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Request that asks an agent for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum WatchQuestion {
    /// GetTask of A2A, by JSON-RPC
    GetTask,
    /// get_task_status of AdCP, over MCP
    McpTaskStatus,
    /// get_task_status of AdCP, over A2A 1.0; the address is that of the agent's card
    A2aTaskStatus,
}

impl Missed {
    /// Builds the watched tasks from the options, the sellers whose webhooks are accepted, and the
    /// environment.
    pub(super) fn read(
        &self,
        sellers: &[String],
        context: &Context,
    ) -> Result<Watched, CommandFailure> {
        let endpoint = match (&self.endpoint, sellers) {
            (Some(endpoint), _) => Some(endpoint.clone()),
            (None, _) if self.task.is_empty() => None,
            (None, [seller]) => Url::parse(seller).ok(),
            (None, _) => {
                return Err(CommandFailure::usage("--task needs the address of its agent")
                    .hint("name it with --endpoint"));
            }
        };
        // Webhooks and poll results of one seller are about the same tasks.
        let sender = match sellers {
            [seller] => seller.clone(),
            sellers => {
                let is = |seller: &&String| Url::parse(seller).ok() == endpoint;
                sellers.iter().find(is).cloned().unwrap_or_default()
            }
        };
        let usual =
            if sellers.is_empty() { WatchQuestion::GetTask } else { WatchQuestion::McpTaskStatus };
        let question = self.ask.unwrap_or(usual);
        let mut authorization = None;
        if let Some(token) = self.token_for.bearer(context)
            && let Some(endpoint) = &endpoint
        {
            let local = endpoint.host_str().is_some_and(is_this_machine);
            if endpoint.scheme() != "https" && !local {
                return Err(CommandFailure::usage(
                    "--endpoint is not https, so the token is not sent",
                ));
            }
            let value = token.header_to(endpoint)?;
            authorization = Some((token, value));
        }
        let patience = Duration::from_secs(self.patience);
        let policy = match question {
            WatchQuestion::GetTask => PollPolicy { patience, ..PollPolicy::default() },
            // Every two minutes where webhooks are configured (AdCP 3.1 `webhooks`, W-1).
            WatchQuestion::McpTaskStatus | WatchQuestion::A2aTaskStatus => {
                let pause = patience.min(PollPolicy::default().patience);
                PollPolicy { patience, first: pause, longest: pause, ..PollPolicy::default() }
            }
        };
        let tasks = self.task.clone();
        let transport = self.network.transport(context, ANSWER_TIMEOUT)?;
        Ok(Watched { tasks, endpoint, sender, question, authorization, policy, transport })
    }
}

/// Tasks that are watched.
pub(super) struct Watched {
    tasks: Vec<String>,
    endpoint: Option<Url>,
    sender: String,
    question: WatchQuestion,
    authorization: Option<(BearerToken, HeaderValue)>,
    policy: PollPolicy,
    transport: HttpTransport,
}

impl Watched {
    /// Watches all of them at once; ends only when the inbox fails.
    pub(super) async fn run(
        &self,
        inbox: &Arc<dyn Inbox>,
        metrics: &ReceiverMetrics,
        clock: &Clock,
        new_deliveries: &Notify,
        output: Output,
    ) -> CommandFailure {
        let watching = self.tasks.iter().map(|task| async move {
            let endpoint = self.endpoint.as_ref()?;
            let mut random = random_ids();
            let poll_clock = PollClock {
                now: || clock.now(),
                sleep: async |wait| tokio::time::sleep(wait).await,
                random: || random.f64(),
            };
            let ask = async || {
                let answer = self.ask(endpoint, task).await;
                new_deliveries.notify_one();
                answer
            };
            let sender = self.sender.as_str();
            let ended =
                poll::watch(sender, task, inbox, metrics, self.policy, poll_clock, ask).await;
            let task = plain(task, WORD);
            match ended {
                Ok(PollEnd::Complete) => output.talk(format!("task {task} has ended")),
                Ok(PollEnd::TimeUp) => {
                    output.talk(format!("task {task} is not watched any longer"))
                }
                Ok(PollEnd::Refused(why)) => {
                    output.talk(format!("task {task} is not watched: {why}"))
                }
                Err(unkept) => return Some(CommandFailure::fault(unkept)),
            }
            None
        });
        let failures = futures_util::future::join_all(watching).await;
        // Webhooks of other tasks may still come when all of these have ended.
        match failures.into_iter().flatten().next() {
            Some(failure) => failure,
            None => std::future::pending().await,
        }
    }

    async fn ask(&self, endpoint: &Url, task: &str) -> Result<String, buyer::CallFailure> {
        let own = &self.transport;
        let ids = random_ids();
        let client = match self.question {
            WatchQuestion::GetTask => {
                let token = self.authorization.as_ref().map(|(_, value)| value);
                return poll::get_task(own, endpoint, token, task).await;
            }
            WatchQuestion::McpTaskStatus => AdcpClient::mcp(own.clone(), endpoint.as_str(), ids)?,
            WatchQuestion::A2aTaskStatus => {
                let found = discover(own, endpoint.as_str(), None).await?;
                AdcpClient::a2a(own.clone(), &found, ids)?
            }
        };
        let client = match &self.authorization {
            Some((token, _)) => client.with_token(token)?,
            None => client,
        };
        poll::get_task_status(&client, task).await
    }
}
