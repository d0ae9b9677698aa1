//! A task that follows the advice, with one idempotency key over all attempts of one intent.

use serde_json::{Map, Value};

use super::{AdcpClient, Answered, KEY};
use crate::failure::Failure;
use crate::recovery::{Attempt, Effect, First, Fix};
use crate::retry::{GaveUp, Key, Recovered, Recoverer, Sender, World};

/// The tasks of AdCP 3.1 that change something, and therefore have to have an `idempotency_key`.
pub const KEYED: &[&str] = &[
    "activate_signal",
    "build_creative",
    "create_media_buy",
    "log_event",
    "provide_performance_feedback",
    "report_plan_outcome",
    "report_usage",
    "sync_accounts",
    "sync_audiences",
    "sync_catalogs",
    "sync_creatives",
    "sync_event_sources",
    "sync_governance",
    "sync_plans",
    "update_media_buy",
];

impl AdcpClient {
    /// As [`AdcpClient::call`], again and again within the limits of `recoverer`. A task of
    /// [`KEYED`] keeps its key over retries and has a fresh one when it was corrected, unless the
    /// correction gave it one. A task that is not known to read (`get_`, `list_`, `preview_`,
    /// `check_`, `validate_`) and has no key is not sent again when in doubt. `correct` changes the
    /// arguments as an advice says, and tells whether it did.
    ///
    /// # Errors
    /// The last failure, and the advice that is left to the caller.
    pub async fn call_with_recovery<W: World>(
        &self,
        task: &str,
        mut arguments: Map<String, Value>,
        recoverer: &Recoverer<W>,
        correct: impl FnMut(&Fix, &Failure, &mut Map<String, Value>) -> bool + Send,
    ) -> Result<Recovered<Answered>, Box<GaveUp>> {
        if KEYED.contains(&task) {
            arguments.entry(KEY).or_insert_with(|| self.new_key().into());
        }
        let reads = ["get_", "list_", "preview_", "check_", "validate_"];
        let effect = if arguments.contains_key(KEY) {
            Effect::Keyed
        } else if reads.iter().any(|prefix| task.starts_with(prefix)) {
            Effect::Read
        } else {
            Effect::Unkeyed
        };
        let host = self.endpoint.host_str().unwrap_or_default();
        let seller = match self.endpoint.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let attempt = Attempt {
            effect,
            had_credentials: self.authorization.is_some(),
            seller: Some(host.to_owned()),
            ..Attempt::default()
        };
        let mut calls = Calls { client: self, task, arguments, used: None, correct };
        recoverer.run(&seller, attempt, &mut calls).await
    }
}

struct Calls<'c, C> {
    client: &'c AdcpClient,
    task: &'c str,
    arguments: Map<String, Value>,
    /// The key of the last request.
    used: Option<Value>,
    correct: C,
}

impl<C> Sender for Calls<'_, C>
where
    C: FnMut(&Fix, &Failure, &mut Map<String, Value>) -> bool + Send,
{
    type Answer = Answered;

    async fn send(&mut self, key: Key) -> Result<Answered, Failure> {
        if key == Key::Fresh && self.used.is_some() && self.arguments.get(KEY) == self.used.as_ref()
        {
            self.arguments.insert(KEY.to_owned(), self.client.new_key().into());
        }
        self.used = self.arguments.get(KEY).cloned();
        self.client.send(self.task, self.arguments.clone()).await
    }

    async fn correct(&mut self, fix: &Fix, failure: &Failure) -> bool {
        (self.correct)(fix, failure, &mut self.arguments)
    }

    async fn authenticate(&mut self, _: First) -> bool {
        // The token is the client's for good.
        false
    }
}
