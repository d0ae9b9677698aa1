//! Submitted tasks and the notifications about them, as stored.

use jiff::Timestamp;
use tradepost_adcp::error::AdcpRelease;
use tradepost_adcp::{AdcpTaskStatus, AdcpTool};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::kept_whole;
use tradepost_document::typed::Typed as _;
use tradepost_document::typed_struct;

use crate::buy::MediaBuy;
use crate::decision::{DecisionStep, LastDecision};
use crate::reply::scrubbed;
use crate::store::{FoundBy, IndexField, IndexTerm, kept};
use crate::tool_call::AdcpToolCall;
use crate::version;

pub mod finish;

kept! {
    /// A task that was submitted and is carried out later.
    pub struct SubmittedTask: Task by found_by {
        /// Its id.
        task_id: String,
        /// The tool that it came of (`create_media_buy`).
        task_type: String,
        /// Status.
        status: AdcpTaskStatus,
        /// Subject, such as the id of the media buy that came of it.
        subject?: Option<String>,
        /// Tenant that asked, which may be another than the owner of the account.
        asked_by?: Option<String>,
        /// Media buy that waits for approval. Buyers do not see it before.
        draft?: Option<MediaBuy>,
        /// Media buy as it was asked for, once it was decided.
        asked?: Option<MediaBuy>,
        /// Decision about it; absent in tasks that were decided before decisions were stored.
        decided?: Option<Decided>,
        /// Approvals by persons, while another person has to approve it, too.
        approvals?: Vec<PersonApproval>,
        /// Time at which the publisher decides by itself; `None` when a person decides.
        due_at?: Option<Timestamp>,
        /// Time of its end.
        completed_at?: Option<Timestamp>,
        /// Payload of its end.
        result?: Option<Map>,
        /// The errors of its failure.
        errors?: Vec<Value>,
        /// Address for the notification of its end.
        push?: Option<Push>,
        /// Release in which it was submitted, and in which its end is announced.
        #[serde(default = "usual_release")]
        release: AdcpRelease,
        /// The caller's `context`, which answers and webhooks repeat (AdCP 3.1 `error-handling`,
        /// `X-2`).
        context?: Option<Value>,
        /// Requests and responses, the oldest first (`history` of `get_task_status`).
        history?: Vec<Value>,
    }

    /// Decision about a task, for the publisher's staff. Buyers do not see it.
    #[derive(Eq)]
    pub struct Decided {
        /// Time.
        at: Timestamp,
        /// Verdict.
        verdict: Verdict,
        /// Kind of decider.
        decider: Decider,
        /// Name of the person who decided, where known.
        by?: Option<String>,
        /// Reason that was given, or the objection to the buy.
        reason?: Option<String>,
    }

    /// Approval of one of two persons.
    #[derive(Eq)]
    pub struct PersonApproval {
        /// Time.
        at: Timestamp,
        /// Name with which the person signs in.
        person: String,
        /// Name in the record, which also says who has named the person.
        by: String,
    }

    /// A notification that has to be delivered; the state of its record is `due`, `done` or `dead`.
    #[derive(Default)]
    pub struct QueuedNotification: Notice by told_of {
        /// Address.
        url: String,
        /// Authentication that the receiver wants (`authentication`), as given.
        authentication?: Option<Value>,
        /// The body: the same bytes at every attempt (AdCP 3.1 `error-handling`, `W-4`).
        body: String,
        /// Number of attempts.
        attempts: u32,
        /// Time of the next attempt.
        due_at: Timestamp,
        /// Subject, where its buyer may look the attempts up.
        about?: Option<NotificationSubject>,
        /// Attempts, for a notification with a subject, the oldest first.
        log?: Vec<NotificationAttempt>,
    }

    /// Subject of a notification.
    #[derive(Eq)]
    pub struct NotificationSubject {
        /// The id of its record.
        thing: String,
        /// The event (`creative.status_changed`).
        event: String,
        /// Subscriber that it is for.
        subscriber_id: String,
        /// The `idempotency_key` in the body.
        key: String,
    }

    /// An attempt to deliver a notification.
    #[derive(Eq)]
    pub struct NotificationAttempt {
        /// Time at which it began.
        fired_at: Timestamp,
        /// Time at which it ended.
        completed_at: Timestamp,
        /// Outcome.
        outcome: AttemptOutcome,
        /// HTTP status, where there was one.
        http_status?: Option<u16>,
    }
}

/// Returns the release of tasks that were stored before releases were.
const fn usual_release() -> AdcpRelease {
    AdcpRelease::V3_1
}

typed_struct! {
    /// Address for notifications (`core/push-notification-config.json`).
    pub struct Push {
        /// The address.
        url: Option<String>,
        /// Id that the receiver has given to the operation.
        operation_id: Option<String>,
        /// Token that is sent back to the receiver.
        token: Option<Value>,
        /// Authentication that the receiver wants.
        authentication: Option<Value>;
        /// As it was given.
        whole given
    }
}

kept_whole!(Push.given);

tradepost_document::words! {
    /// Verdict on a media buy.
    pub enum Verdict {
        /// The buy is made.
        Approved = "approved",
        /// The buy is not made.
        Declined = "declined",
    }

    /// Kind of decider.
    pub enum Decider {
        /// A member of the publisher's staff.
        Person = "person",
        /// The publisher by itself, at the time that the product sets for that.
        Publisher = "publisher",
        /// A test, by the test controller of a sandbox.
        Test = "test",
    }

    /// Outcome of an attempt (`core/webhook-activity-record.json`).
    pub enum AttemptOutcome {
        /// Accepted by the receiver.
        Success = "success",
        /// Answered by the receiver, but not accepted.
        Failed = "failed",
        /// Not answered by the receiver in time.
        Timeout = "timeout",
        /// No connection, or one that broke.
        ConnectionError = "connection_error",
    }
}

/// Returns the index terms of a task: its status, its tool, and its id, which a test may choose.
fn found_by(task: &SubmittedTask, _: Timestamp) -> FoundBy {
    let waits = task.status == AdcpTaskStatus::Submitted && task.draft.is_some();
    FoundBy {
        state: Some(task.status.name()),
        class: task.task_type.clone(),
        // Also when it has passed: a task ends when it is decided.
        changes_at: task.due_at.filter(|_| waits),
        terms: vec![IndexTerm::new(IndexField::ChosenId, &task.task_id)],
    }
}

/// Returns the index terms of a notification: its subject.
fn told_of(notice: &QueuedNotification, _: Timestamp) -> FoundBy {
    let about = notice.about.iter();
    let terms = about.map(|about| IndexTerm::new(IndexField::About, &about.thing)).collect();
    FoundBy { terms, ..FoundBy::default() }
}

/// Returns the protocol of AdCP that a tool's tasks belong to.
pub(crate) fn protocol_of(task_type: &str) -> &'static str {
    AdcpTool::from_any_name(task_type).map_or("media-buy", AdcpTool::protocol)
}

impl SubmittedTask {
    /// Returns the protocol of AdCP that it belongs to.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        protocol_of(&self.task_type)
    }

    /// Returns true if it has not ended.
    pub(crate) fn is_open(&self) -> bool {
        matches!(
            self.status,
            AdcpTaskStatus::Submitted | AdcpTaskStatus::Working | AdcpTaskStatus::InputRequired
        )
    }

    /// Returns the latest decision about it: that which has ended it, or the approval of the first of two
    /// persons.
    #[must_use]
    pub fn last_decision(&self) -> Option<LastDecision> {
        if let Some(decided) = &self.decided {
            let step = match decided.verdict {
                Verdict::Approved => DecisionStep::Approve,
                Verdict::Declined => DecisionStep::Decline,
            };
            let by = decided.by.clone().unwrap_or_else(|| decided.decider.to_string());
            return Some(LastDecision { at: decided.at, by, step });
        }
        let first = self.approvals.last()?;
        Some(LastDecision { at: first.at, by: first.by.clone(), step: DecisionStep::Approve })
    }

    /// Creates the task that a request has become, which waits.
    pub(crate) fn from_call(task_id: &str, call: &AdcpToolCall) -> Self {
        let mut request = call.arguments.clone();
        // Removed before the request becomes history: a receiver's credentials are in it.
        let push = request.swap_remove("push_notification_config");
        request.swap_remove("reporting_webhook");
        let now = call.now;
        let context = request.get("context").cloned();
        let reply = json!({"status": AdcpTaskStatus::Submitted, "task_id": task_id});
        Self {
            task_id: task_id.to_owned(),
            task_type: call.tool.to_string(),
            status: AdcpTaskStatus::Submitted,
            subject: None,
            asked_by: Some(call.caller.tenant()),
            draft: None,
            asked: None,
            decided: None,
            approvals: Vec::new(),
            due_at: None,
            completed_at: None,
            result: None,
            errors: Vec::new(),
            push: push.as_ref().and_then(Push::read),
            release: version::codes(&call.arguments),
            context,
            history: vec![
                json!({"timestamp": now, "type": "request", "data": scrubbed(&request.into())}),
                json!({"timestamp": now, "type": "response", "data": reply}),
            ],
        }
    }
}

impl QueuedNotification {
    /// State of a notification that has to be delivered.
    pub const DUE: &'static str = "due";
    /// State of a notification that was delivered.
    pub const DONE: &'static str = "done";
    /// State of a notification that was given up.
    pub const DEAD: &'static str = "dead";

    /// Maximum number of attempts that are stored.
    pub const MOST_ATTEMPTS: usize = 24;

    /// Creates a notification that is due now.
    #[must_use]
    pub fn new(url: &str, authentication: Option<&Value>, body: Value, now: Timestamp) -> Self {
        Self {
            url: url.to_owned(),
            authentication: authentication.cloned(),
            body: body.to_string(),
            due_at: now,
            ..Self::default()
        }
    }
}
