//! Submitted tasks and the notifications about them, as they are kept.

use jiff::Timestamp;
use tradepost_wire::adcp::error::AdcpRelease;
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::adcp::{AdcpTaskStatus, AdcpTool};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};
use tradepost_wire::{form, kept_whole};

use crate::ask::ToolCall;
use crate::buy::MediaBuy;
use crate::reply::scrubbed;
use crate::shelf::{FoundBy, IndexField, IndexTerm, kept};
use crate::version;

pub mod end;

kept! {
    /// A task that was submitted and is carried out later.
    pub struct SubmittedTask: Task by found_by {
        /// Its id.
        task_id: String,
        /// The tool that it came of (`create_media_buy`).
        task_type: String,
        /// How far it is.
        status: AdcpTaskStatus,
        /// What it is about, such as the id of the media buy that came of it.
        subject?: Option<String>,
        /// The tenant that asked, which may be another than the one that the account belongs to.
        asked_by?: Option<String>,
        /// The media buy that waits for approval. No buyer sees it before.
        draft?: Option<MediaBuy>,
        /// The media buy as it was asked for, once something was decided about it.
        asked?: Option<MediaBuy>,
        /// What was decided about it; nothing in tasks that were decided before this was kept.
        decided?: Option<Decided>,
        /// When the publisher decides about it by itself; `None` when it waits for a person.
        due_at?: Option<Timestamp>,
        /// When it ended.
        completed_at?: Option<Timestamp>,
        /// The payload of its end.
        result?: Option<Map>,
        /// The errors of its failure.
        errors?: Vec<Value>,
        /// Where to say that it ended.
        push?: Option<Push>,
        /// In which release it was submitted: its end is announced in that.
        #[serde(default = "usual_release")]
        release: AdcpRelease,
        /// The caller's `context` (`X-2`).
        context?: Option<Value>,
        /// What was asked and answered, the oldest first (`history` of `get_task_status`).
        history?: Vec<Value>,
    }

    /// What was decided about a task. For the publisher's people: no buyer is shown it.
    #[derive(Eq)]
    pub struct Decided {
        /// When.
        at: Timestamp,
        /// What.
        verdict: Verdict,
        /// What kind of decision it was.
        decider: Decider,
        /// The name of the person who decided, where it is known.
        by?: Option<String>,
        /// The reason that was given, or what spoke against the buy.
        reason?: Option<String>,
    }

    /// A notification that has to be delivered; the state of its record is `due`, `done` or `dead`.
    #[derive(Default)]
    pub struct QueuedNotification: Notice by told_of {
        /// Where to.
        url: String,
        /// How the receiver wants to be shown that it is us (`authentication`), as it was given.
        authentication?: Option<Value>,
        /// The body: the same bytes at every attempt (`W-4`).
        body: String,
        /// How often it was tried.
        attempts: u32,
        /// When it is tried next.
        due_at: Timestamp,
        /// What it tells of, where its buyer may look the attempts up.
        about?: Option<NotificationSubject>,
        /// The attempts of one that is about something, the oldest first.
        log?: Vec<NotificationAttempt>,
    }

    /// What a notification tells of.
    #[derive(Eq)]
    pub struct NotificationSubject {
        /// The id of its record.
        thing: String,
        /// The event (`creative.status_changed`).
        event: String,
        /// Whom it is for.
        subscriber_id: String,
        /// The `idempotency_key` in the body.
        key: String,
    }

    /// An attempt to deliver a notification.
    #[derive(Eq)]
    pub struct NotificationAttempt {
        /// When it began.
        fired_at: Timestamp,
        /// When it was over.
        completed_at: Timestamp,
        /// What came of it.
        outcome: AttemptOutcome,
        /// The status of HTTP, where there was one.
        http_status?: Option<u16>,
    }
}

/// That of tasks that were kept before releases were.
const fn usual_release() -> AdcpRelease {
    AdcpRelease::V3_1
}

form! {
    /// Where to say something (`core/push-notification-config.json`).
    pub struct Push {
        /// The address.
        url: Option<String>,
        /// What the receiver calls what it is about.
        operation_id: Option<String>,
        /// What it wants to see again.
        token: Option<Value>,
        /// How it wants to be shown that it is us.
        authentication: Option<Value>;
        /// As it was given.
        whole given
    }
}

kept_whole!(Push.given);

tradepost_wire::words! {
    /// What was decided.
    pub enum Verdict {
        /// The buy comes about.
        Approved = "approved",
        /// It does not.
        Declined = "declined",
    }

    /// Who or what decided.
    pub enum Decider {
        /// One of the publisher's people.
        Person = "person",
        /// The publisher by itself, at the time that the product sets for that.
        Publisher = "publisher",
        /// A test, by the test controller of a sandbox.
        Test = "test",
    }

    /// What came of an attempt (`core/webhook-activity-record.json`).
    pub enum AttemptOutcome {
        /// It was taken.
        Success = "success",
        /// The receiver answered, and did not take it.
        Failed = "failed",
        /// The receiver did not answer in time.
        Timeout = "timeout",
        /// There was no connection, or it broke.
        ConnectionError = "connection_error",
    }
}

/// By what a task is found: how far it is, its tool, and its id, which a test may choose.
fn found_by(task: &SubmittedTask, _: Timestamp) -> FoundBy {
    let waits = task.status == AdcpTaskStatus::Submitted && task.draft.is_some();
    FoundBy {
        state: Some(task.status.name()),
        class: task.task_type.clone(),
        // Also one that has come already: a task ends when somebody decides about it.
        changes_at: task.due_at.filter(|_| waits),
        terms: vec![IndexTerm::new(IndexField::ChosenId, &task.task_id)],
    }
}

/// By what a notification is found: what it tells of.
fn told_of(notice: &QueuedNotification, _: Timestamp) -> FoundBy {
    let about = notice.about.iter();
    let terms = about.map(|about| IndexTerm::new(IndexField::About, &about.thing)).collect();
    FoundBy { terms, ..FoundBy::default() }
}

/// The protocol of AdCP that a tool's tasks belong to.
pub(crate) fn protocol_of(task_type: &str) -> &'static str {
    AdcpTool::of_name(task_type).map_or("media-buy", AdcpTool::protocol)
}

impl SubmittedTask {
    /// The protocol of AdCP that it belongs to.
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        protocol_of(&self.task_type)
    }

    /// Whether it has not ended.
    pub(crate) fn is_open(&self) -> bool {
        matches!(
            self.status,
            AdcpTaskStatus::Submitted | AdcpTaskStatus::Working | AdcpTaskStatus::InputRequired
        )
    }

    /// A task that a request has become, which waits.
    pub(crate) fn submitted(task_id: &str, ask: &ToolCall) -> Self {
        let mut request = ask.arguments.clone();
        // Out of the request before it becomes history: a receiver's credentials are in it.
        let push = request.swap_remove("push_notification_config");
        let (now, context) = (ask.now, request.get("context").cloned());
        let said = json!({"status": AdcpTaskStatus::Submitted, "task_id": task_id});
        Self {
            task_id: task_id.to_owned(),
            task_type: ask.tool.to_string(),
            status: AdcpTaskStatus::Submitted,
            subject: None,
            asked_by: Some(ask.caller.tenant()),
            draft: None,
            asked: None,
            decided: None,
            due_at: None,
            completed_at: None,
            result: None,
            errors: Vec::new(),
            push: push.as_ref().and_then(Push::read),
            release: version::codes(&ask.arguments),
            context,
            history: vec![
                json!({"timestamp": now, "type": "request", "data": scrubbed(&request.into())}),
                json!({"timestamp": now, "type": "response", "data": said}),
            ],
        }
    }
}

impl QueuedNotification {
    /// The state of one that has to be delivered.
    pub const DUE: &'static str = "due";
    /// The state of one that was delivered.
    pub const DONE: &'static str = "done";
    /// The state of one that was given up.
    pub const DEAD: &'static str = "dead";

    /// How many attempts are remembered.
    pub const MOST_ATTEMPTS: usize = 24;

    /// One that is due now.
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
