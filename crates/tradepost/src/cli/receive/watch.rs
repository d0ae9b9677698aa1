//! Watching over tasks: where their deliveries stay away, the seller is asked.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tradepost_buyer::Url;
use tradepost_buyer::receiver::Inbox;
use tradepost_buyer::receiver::metrics::Metrics;
use tradepost_buyer::receiver::poll::{self, Edge, Ended, Policy};
use tradepost_buyer::text::{WORD, plain};

use super::super::discover::transport;
use super::super::output::{Failure, Output};
use crate::clock::Clock;

/// The environment variable of the bearer token for questions.
const TOKEN_VARIABLE: &str = "TRADEPOST_TOKEN";

/// Which tasks.
#[derive(Debug, clap::Args)]
pub(super) struct Missed {
    /// A task whose end is awaited; may be repeated. Questions carry the token of TRADEPOST_TOKEN.
    #[arg(long, value_name = "ID", requires = "endpoint", help_heading = "Missed deliveries")]
    task: Vec<String>,
    /// The JSON-RPC address of the agent that has the tasks.
    #[arg(long, value_name = "URL", requires = "task", help_heading = "Missed deliveries")]
    endpoint: Option<Url>,
    /// How many seconds without a delivery pass before the agent is asked.
    #[arg(long, value_name = "SECONDS", default_value_t = 120, help_heading = "Missed deliveries",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    patience: u64,
}

impl Missed {
    /// Reads them together with the environment.
    pub(super) fn read(&self, environment: &[(String, String)]) -> Result<Watched, Failure> {
        let token =
            environment.iter().find(|(name, value)| name == TOKEN_VARIABLE && !value.is_empty());
        let mut authorization = None;
        if let (Some((_, token)), Some(endpoint)) = (token, &self.endpoint) {
            let local = endpoint.host_str().is_some_and(|host| {
                let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
                host == "localhost" || address.is_ok_and(|address| address.is_loopback())
            });
            if endpoint.scheme() != "https" && !local {
                return Err(Failure::usage("--endpoint is not https, so the token is not sent"));
            }
            let value = axum::http::HeaderValue::from_str(&format!("Bearer {token}"));
            let mut value = value
                .map_err(|_| Failure::usage("the token has characters that no header may have"))?;
            value.set_sensitive(true);
            authorization = Some(value);
        }
        let patience = Duration::from_secs(self.patience);
        let policy = Policy { patience, ..Policy::default() };
        let (tasks, endpoint) = (self.task.clone(), self.endpoint.clone());
        Ok(Watched { tasks, endpoint, authorization, policy })
    }
}

/// Tasks that are watched.
pub(super) struct Watched {
    tasks: Vec<String>,
    endpoint: Option<Url>,
    authorization: Option<axum::http::HeaderValue>,
    policy: Policy,
}

impl Watched {
    /// Watches over all of them at once; ends only when the inbox fails.
    pub(super) async fn run(
        &self,
        inbox: &Arc<dyn Inbox>,
        metrics: &Metrics,
        clock: &Clock,
        news: &Notify,
        output: Output,
    ) -> Failure {
        let watching = self.tasks.iter().map(|task| async move {
            let ended = self.one(task, inbox, metrics, clock, news).await;
            let task = plain(task, WORD);
            match ended? {
                Ended::Complete => output.talk(format!("task {task} has come to its end")),
                Ended::TimeUp => output.talk(format!("task {task} is not watched any longer")),
                Ended::Refused(why) => output.talk(format!("task {task} is not watched: {why}")),
                Ended::Unkept(unkept) => return Some(Failure::fault(&unkept)),
            }
            None
        });
        let failures = futures_util::future::join_all(watching).await;
        match failures.into_iter().flatten().next() {
            Some(failure) => failure,
            None => std::future::pending().await,
        }
    }

    async fn one(
        &self,
        task: &str,
        inbox: &Arc<dyn Inbox>,
        metrics: &Metrics,
        clock: &Clock,
        news: &Notify,
    ) -> Option<Ended> {
        let (transport, endpoint) = (transport(30), self.endpoint.as_ref()?);
        let mut chance = tradepost_buyer::client::random_ids();
        let edge = Edge {
            now: || clock.now(),
            sleep: async |wait| tokio::time::sleep(wait).await,
            chance: || chance.f64(),
        };
        let ask = async || {
            let token = self.authorization.as_ref();
            let task = poll::get_task(&transport, endpoint, token, task).await;
            news.notify_one();
            task
        };
        Some(poll::watch(task, inbox, metrics, self.policy, edge, ask).await)
    }
}
