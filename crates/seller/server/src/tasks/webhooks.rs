//! Webhooks of tasks: checks of address and credentials, and storage (A2A 1.0 §3.1.7 to §3.1.10).
//! The outbox delivers to them.
//!
//! Credentials and tokens are stored and never returned: A2A 1.0 §13.2 calls them secrets, their
//! owner has them already, and a caller that may read a task need not be able to act as its agent.
//! Answers have the address and the scheme, which are the details that §3.1.8 requires.

use std::sync::Arc;

use jiff::Timestamp;
use tradepost_a2a::error::{A2aCode, A2aRefusal, FieldViolation};
use tradepost_a2a::request::{invalid_fields, invalid_param};
use tradepost_a2a::{AuthenticationInfo, PushConfig, SendMessage};
use tradepost_document::problem::clip;

use super::log::{self, LogWriter, PushPosition, PushStored, PushTarget, TaskOwner, TaskRow};
use super::{TaskError, Tasks, cursor, not_found};
use crate::egress::{CheckedAddress, Egress};
use crate::fault::InternalError;

/// Maximum number of webhooks of a task.
const MAX_WEBHOOKS: usize = 10;

/// Page size when the caller names none: all of them.
const PAGE_SIZE: u32 = 50;

/// Maximum length of a webhook's id in bytes.
const LONGEST_ID: usize = 128;

/// Maximum length of a token or credential in bytes, which has to fit into a request header.
const LONGEST_SECRET: usize = 4_096;

/// The webhooks of an agent's tasks.
#[derive(Debug)]
pub struct Webhooks {
    tasks: Arc<Tasks>,
    egress: Egress,
}

/// A webhook that passed the checks that need no name resolution.
#[derive(Debug, Clone)]
pub struct CheckedWebhook {
    target: PushTarget,
    destination: CheckedAddress,
    /// Path of the webhook in the request, for error messages.
    prefix: String,
}

impl CheckedWebhook {
    /// Stores the webhook with a task, beginning with its current last entry.
    pub(super) fn keep(
        &self,
        tx: &dyn LogWriter,
        owner: &TaskOwner,
        task_id: &str,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        match tx.put_push_config(owner, task_id, &self.target, MAX_WEBHOOKS, now)? {
            PushStored::Kept => Ok(()),
            // `admit` has checked this, and another request was faster.
            PushStored::NoTask | PushStored::TooMany => {
                Err(InternalError::new("keeping a webhook", "the task has no room for it any more"))
            }
        }
    }
}

/// A page of a task's webhooks.
#[derive(Debug)]
pub struct PushPage {
    /// Webhooks, ordered by id.
    pub configs: Vec<PushConfig>,
    /// Token of the next page; empty at the end.
    pub next_page_token: String,
}

impl Webhooks {
    /// Creates the webhooks of these tasks; only addresses that `egress` permits are stored.
    #[must_use]
    pub fn new(tasks: Arc<Tasks>, egress: Egress) -> Self {
        Self { tasks, egress }
    }

    /// Adds a webhook to a task, or replaces the one with its id. It gets the current task, and the
    /// events from then on.
    ///
    /// # Errors
    /// The reason why it cannot be added, or when the log fails.
    pub async fn create(
        &self,
        owner: &TaskOwner,
        config: PushConfig,
    ) -> Result<PushConfig, TaskError> {
        let task_id = config.task_id.clone().unwrap_or_default();
        let webhook = self.read(config, "")?;
        let row = self.tasks.found(owner, &task_id)?;
        self.admit(owner, Some(&row), &webhook).await?;
        let job_owner = owner.clone();
        let target = webhook.target.clone();
        let now = self.tasks.clock.now();
        let job_task = task_id.clone();
        let job = move |tx: &dyn LogWriter| {
            tx.put_push_config(&job_owner, &job_task, &target, MAX_WEBHOOKS, now)
        };
        match log::write(&*self.tasks.log, job).await? {
            PushStored::NoTask => Err(not_found(&task_id).into()),
            PushStored::TooMany => Err(too_many("taskId").into()),
            PushStored::Kept => {
                self.tasks.wake();
                Ok(without_secrets(&task_id, webhook.target))
            }
        }
    }

    /// Returns a webhook of a task.
    ///
    /// # Errors
    /// When it does not exist, or when the log fails.
    pub fn get(&self, owner: &TaskOwner, task_id: &str, id: &str) -> Result<PushConfig, TaskError> {
        let found = self.tasks.log.push_configs(owner, task_id, Some(id), "", 1)?;
        let found = found.into_iter().next().map(|place| without_secrets(task_id, place.target));
        // The same answer for a missing task, a missing webhook, and those of another caller.
        let none = A2aRefusal::new(A2aCode::TaskNotFound, "no task of yours has this webhook");
        Ok(found.ok_or_else(|| none.with("taskId", clip(task_id)))?)
    }

    /// Returns a page of a task's webhooks.
    ///
    /// # Errors
    /// When the task does not exist or the page token is not one of this list, or when the log
    /// fails.
    pub fn list(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        page_size: Option<u32>,
        page_token: Option<&str>,
    ) -> Result<PushPage, TaskError> {
        self.tasks.found(owner, task_id)?;
        let cursors = &self.tasks.cursors;
        let after = page_token.map(|token| cursors.read_push(owner, task_id, token));
        let after =
            after.unwrap_or_else(|| Some(String::new())).ok_or_else(cursor::foreign_token)?;
        let limit = page_size.unwrap_or(PAGE_SIZE) as usize;
        let mut found = self.tasks.log.push_configs(owner, task_id, None, &after, limit + 1)?;
        let token =
            |last: &PushPosition| cursors.write_push(owner, task_id, &last.target.config_id);
        let next_page_token = cursor::cut(&mut found, limit, token);
        let configs =
            found.into_iter().map(|place| without_secrets(task_id, place.target)).collect();
        Ok(PushPage { configs, next_page_token })
    }

    /// Deletes a webhook of a task. Repeating it changes nothing.
    ///
    /// # Errors
    /// When the task does not exist, or when the log fails.
    // Deleting a deleted webhook succeeds, and an unknown task is refused (A2A 1.0 §3.1.7 to
    // §3.1.10, E-23).
    pub async fn delete(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        id: &str,
    ) -> Result<(), TaskError> {
        self.tasks.found(owner, task_id)?;
        let owner = owner.clone();
        let task_id = task_id.to_owned();
        let id = id.to_owned();
        let job = move |tx: &dyn LogWriter| tx.delete_push_config(&owner, &task_id, &id);
        Ok(log::write(&*self.tasks.log, job).await?)
    }

    /// Reads the webhook of a message.
    ///
    /// # Errors
    /// Every wrong field of it.
    pub fn of_message(&self, send: &SendMessage) -> Result<Option<CheckedWebhook>, A2aRefusal> {
        const FIELD: &str = "configuration.taskPushNotificationConfig.";
        let Some(config) = &send.push_config else { return Ok(None) };
        if config.task_id.is_some() && config.task_id != send.message.task_id {
            let description = "must be absent, or the task that the message names";
            return Err(invalid_param(&format!("{FIELD}taskId"), description));
        }
        self.read(config.clone(), FIELD).map(Some)
    }

    /// Checks that a webhook may be stored with a task, or with a new one: its name resolves to
    /// permitted addresses, and the task has fewer than the maximum.
    ///
    /// # Errors
    /// The reason why not, or when the log fails.
    pub async fn admit(
        &self,
        owner: &TaskOwner,
        task: Option<&TaskRow>,
        webhook: &CheckedWebhook,
    ) -> Result<(), TaskError> {
        if let Some(task) = task {
            let stored =
                self.tasks.log.push_configs(owner, &task.task_id, None, "", MAX_WEBHOOKS)?;
            let is_same = |place: &PushPosition| place.target.config_id == webhook.target.config_id;
            if stored.len() >= MAX_WEBHOOKS && !stored.iter().any(is_same) {
                return Err(too_many(&format!("{}taskId", webhook.prefix)).into());
            }
        }
        let admitted = self.egress.admit(&webhook.destination).await;
        let field = format!("{}url", webhook.prefix);
        Ok(admitted.map_err(|refusal| invalid_param(&field, refusal.0))?)
    }

    /// Checks the fields of a webhook and reports every wrong one.
    fn read(&self, config: PushConfig, prefix: &str) -> Result<CheckedWebhook, A2aRefusal> {
        let mut violations = Vec::new();
        let mut add_violation = |field: &str, description: &str| {
            let field = format!("{prefix}{field}");
            violations.push(FieldViolation { field, description: description.to_owned() });
        };
        if config.id.as_deref().is_some_and(|id| !is_id(id)) {
            add_violation("id", "must have 1 to 128 bytes and no control characters");
        }
        let destination = self.egress.read(&config.url);
        if let Err(refusal) = destination {
            add_violation("url", refusal.0);
        }
        let secret = "must have at most 4096 visible ASCII characters, with spaces between them";
        if config.token.as_deref().is_some_and(|token| !is_secret(token)) {
            add_violation("token", secret);
        }
        let (scheme, credentials) = match config.authentication {
            Some(AuthenticationInfo { scheme, credentials }) => {
                (Some(scheme), credentials.filter(|text| !text.is_empty()))
            }
            None => (None, None),
        };
        if scheme.as_deref().is_some_and(|scheme| !is_scheme(scheme)) {
            add_violation(
                "authentication.scheme",
                "must be the name of an HTTP scheme, such as Bearer",
            );
        }
        if credentials.as_deref().is_some_and(|text| !is_secret(text)) {
            add_violation("authentication.credentials", secret);
        }
        match destination {
            Ok(destination) if violations.is_empty() => {
                let new_id = || uuid::Uuid::now_v7().to_string();
                let target = PushTarget {
                    config_id: config.id.unwrap_or_else(new_id),
                    url: config.url,
                    host: destination.host.clone(),
                    token: config.token,
                    scheme,
                    credentials,
                };
                Ok(CheckedWebhook { target, destination, prefix: prefix.to_owned() })
            }
            Ok(_) | Err(_) => Err(invalid_fields(violations)),
        }
    }
}

/// Returns a webhook without its secrets.
fn without_secrets(task_id: &str, target: PushTarget) -> PushConfig {
    PushConfig {
        id: Some(target.config_id),
        task_id: Some(task_id.to_owned()),
        url: target.url,
        token: None,
        authentication: target
            .scheme
            .map(|scheme| AuthenticationInfo { scheme, credentials: None }),
    }
}

fn too_many(field: &str) -> A2aRefusal {
    invalid_param(field, "has 10 webhooks already; delete one first, or replace one by its id")
}

fn is_id(text: &str) -> bool {
    (1..=LONGEST_ID).contains(&text.len()) && !text.contains(char::is_control)
}

/// Returns true when a header can contain the text unchanged.
fn is_secret(text: &str) -> bool {
    text.len() <= LONGEST_SECRET
        && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic())
        && text.trim() == text
}

/// Returns true for a token of RFC 9110 §5.6.2.
fn is_scheme(text: &str) -> bool {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    (1..=64).contains(&text.len()) && text.bytes().all(is_token)
}
