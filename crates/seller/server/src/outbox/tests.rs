//! The schedule in virtual time: sleeping moves the clock, and random numbers are constant.

use std::collections::HashMap;
use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};
use tradepost_a2a::{Artifact, Content, Message, Part, PushConfig, Role, TaskState, send_message};
use tradepost_document::json::{Value, json};

use super::sender::{AttemptError, FailureReason, Notification, SendFuture};
use super::*;
use crate::clock::{Clock, ManualClock};
use crate::egress::{Egress, Resolver};
use crate::memory::MemoryStore;
use crate::tasks::log::TaskOwner;
use crate::tasks::{Beginning, StartedTask, TaskEnded, TaskError, TaskProgress, Tasks, Webhooks};

const AGENT: &str = "agent";
const NOW: &str = "2026-04-30T12:00:00Z";

/// A receiver with scripted answers by path; it accepts everything else.
#[derive(Debug)]
struct ScriptedReceiver {
    clock: Clock,
    answers: Mutex<HashMap<String, Vec<Result<(), AttemptError>>>>,
    /// Paths that never answer, once their scripted answers are used up.
    silent_paths: Vec<&'static str>,
    seen: Mutex<Vec<ReceivedRequest>>,
    open: Mutex<HashMap<String, usize>>,
    most: Mutex<HashMap<String, usize>>,
}

#[derive(Debug, Clone)]
struct ReceivedRequest {
    path: String,
    at: Timestamp,
    id: String,
    body: String,
    headers: (Option<String>, Option<String>),
}

impl NotificationSender for ScriptedReceiver {
    fn send(&self, notification: Notification) -> SendFuture<'_> {
        let path = notification.url.rsplit('/').next().unwrap().to_owned();
        let at = self.clock.now();
        let body = notification.body;
        let headers = (notification.authorization, notification.token);
        let seen = ReceivedRequest { path: path.clone(), at, id: notification.id, body, headers };
        self.seen.lock().unwrap().push(seen);
        {
            let mut open = self.open.lock().unwrap();
            let now = open.entry(path.clone()).or_default();
            *now += 1;
            let mut most = self.most.lock().unwrap();
            let before = most.get(&path).copied().unwrap_or_default();
            most.insert(path.clone(), before.max(*now));
        }
        let (answer, is_silent) = {
            let mut answers = self.answers.lock().unwrap();
            let left = answers.entry(path.clone()).or_default();
            match left.is_empty() {
                true => (Ok(()), self.silent_paths.iter().any(|name| path == *name)),
                false => (left.remove(0), false),
            }
        };
        Box::pin(async move {
            if is_silent {
                std::future::pending::<()>().await;
            }
            *self.open.lock().unwrap().get_mut(&path).unwrap() -= 1;
            answer
        })
    }
}

impl ScriptedReceiver {
    fn seen(&self, path: &str) -> Vec<ReceivedRequest> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|seen| seen.path == path).cloned().collect()
    }

    /// Returns the notifications of a path: kind and number or state of each.
    fn received(&self, path: &str) -> Vec<String> {
        let kind = |body: &str| {
            let body: Value = tradepost_document::json::from_str(body).unwrap();
            let (kind, event) = body.as_object().unwrap().iter().next().unwrap();
            let state = event.pointer("/status/state").and_then(Value::as_str);
            let number = event.pointer("/artifact/parts/0/data");
            state.map_or_else(|| format!("{kind} {}", number.unwrap()), |s| format!("{kind} {s}"))
        };
        self.seen(path).iter().map(|seen| kind(&seen.body)).collect()
    }
}

/// Scripted answers by path.
type Answers<'a> = &'a [(&'a str, Vec<Result<(), AttemptError>>)];

/// A log with tasks, and an outbox in virtual time.
struct Fixture {
    log: Arc<MemoryStore>,
    clock: Clock,
    manual_clock: ManualClock,
    tasks: Arc<Tasks>,
    webhooks: Webhooks,
    receiver: Arc<ScriptedReceiver>,
    outbox: Arc<Outbox>,
    running: tokio::task::JoinHandle<()>,
    stop: tokio::sync::oneshot::Sender<()>,
}

impl Fixture {
    fn new(silent_paths: &[&'static str], answers: Answers<'_>) -> Self {
        let (clock, manual_clock) = Clock::manual(NOW.parse().unwrap());
        Self::on(Arc::default(), clock, manual_clock, silent_paths, Some(answers))
    }

    fn on(
        log: Arc<MemoryStore>,
        clock: Clock,
        manual_clock: ManualClock,
        silent_paths: &[&'static str],
        answers: Option<Answers<'_>>,
    ) -> Self {
        let tasks = Tasks::open(Arc::clone(&log) as _, clock.clone(), AGENT).unwrap();
        let resolver = Resolver::new(|_| Box::pin(async { Ok(vec!["8.8.8.8".parse().unwrap()]) }));
        let webhooks = Webhooks::new(Arc::clone(&tasks), Egress::new(resolver, false));
        let list = answers.unwrap_or_default().iter();
        let list = list.map(|(path, list)| ((*path).to_owned(), list.clone())).collect();
        let receiver = Arc::new(ScriptedReceiver {
            clock: clock.clone(),
            answers: Mutex::new(list),
            silent_paths: silent_paths.to_vec(),
            seen: Mutex::default(),
            open: Mutex::default(),
            most: Mutex::default(),
        });
        let timer = manual_clock.clone();
        let edge = ClockAndRandom {
            sleep: Arc::new(move |duration| {
                timer.advance(SignedDuration::try_from(duration).unwrap());
                Box::pin(tokio::task::yield_now())
            }),
            random: Arc::new(|| 1.0),
        };
        let schedule = RetrySchedule { attempts: 6, ..RetrySchedule::default() };
        let limits = OutboxLimits { all: 6, per_host: 2, per_owner: 4 };
        let sender = Arc::clone(&receiver) as Arc<dyn NotificationSender>;
        let settings = OutboxSettings { schedule, limits, ..OutboxSettings::default() };
        let outbox = Outbox::new(AGENT, Arc::clone(&tasks), sender, edge, settings);
        let outbox = Arc::new(outbox);
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        // Paths that never answer are not waited for.
        let grace = if silent_paths.is_empty() { Duration::from_secs(30) } else { Duration::ZERO };
        let run = Arc::clone(&outbox).run(stopped, grace);
        let running = match answers {
            Some(_) => tokio::spawn(run),
            None => tokio::spawn(async {}),
        };
        Self { log, clock, manual_clock, tasks, webhooks, receiver, outbox, running, stop }
    }

    /// Starts another process on the same log; without answers it delivers nothing.
    async fn restart(self, silent_paths: &[&'static str], answers: Option<Answers<'_>>) -> Self {
        drop(self.stop);
        self.running.await.unwrap();
        Self::on(self.log, self.clock, self.manual_clock, silent_paths, answers)
    }

    /// Creates a task that waits for input, with webhooks at these hosts and paths.
    async fn task(&self, owner: &str, hooks: &[&str]) -> String {
        let owner = self.owner(owner);
        let work: crate::tasks::TaskWork = Box::new(|progress| {
            Box::pin(async move {
                let _: Result<(), TaskEnded> =
                    progress.status(TaskState::InputRequired, None).await;
                Ok(())
            })
        });
        let sent = message(None);
        let begun = started(self.tasks.begin(&owner, None, (&sent).into(), work).await);
        self.tasks.settled(&owner, &begun, None).await.unwrap();
        for hook in hooks {
            let config = config(&begun.task_id, hook);
            self.webhooks.create(&owner, config).await.unwrap();
        }
        begun.task_id
    }

    /// Continues a task with this many artifacts, and ends it.
    async fn finish(&self, owner: &str, task_id: &str, artifacts: usize) {
        let owner = self.owner(owner);
        let sent = message(Some(task_id));
        let row = self.tasks.addressed(&owner, &sent).unwrap();
        let work: crate::tasks::TaskWork = Box::new(move |progress| {
            Box::pin(async move {
                let _: Result<(), TaskEnded> = produce(&progress, artifacts).await;
                Ok(())
            })
        });
        let begun = started(self.tasks.begin(&owner, row, (&sent).into(), work).await);
        self.tasks.settled(&owner, &begun, None).await.unwrap();
    }

    fn owner(&self, name: &str) -> TaskOwner {
        TaskOwner { agent_id: AGENT.to_owned(), principal: name.to_owned() }
    }

    fn seen(&self, path: &str) -> Vec<ReceivedRequest> {
        self.receiver.seen(path)
    }

    fn received(&self, path: &str) -> Vec<String> {
        self.receiver.received(path)
    }

    async fn until(&self, what: &str, is: impl Fn(&Self) -> bool) {
        for _ in 0..2_000 {
            if is(self) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("never {what}: {:?}", self.receiver.seen.lock().unwrap());
    }

    async fn until_received(&self, path: &str, count: usize) {
        self.until(path, |fixture| fixture.seen(path).len() >= count).await;
    }

    fn seconds(&self, path: &str) -> Vec<i64> {
        let start: Timestamp = NOW.parse().unwrap();
        self.seen(path).iter().map(|seen| seen.at.duration_since(start).as_secs()).collect()
    }
}

async fn produce(progress: &TaskProgress, artifacts: usize) -> Result<(), TaskEnded> {
    for number in 0..artifacts {
        let artifact = Artifact {
            artifact_id: "a".to_owned(),
            name: None,
            description: None,
            parts: vec![Part::from(Content::Data(json!(number)))],
            metadata: None,
            extensions: Vec::new(),
        };
        progress.artifact(artifact, number > 0, false).await?;
    }
    progress.status(TaskState::Completed, None).await
}

fn message(task_id: Option<&str>) -> Message {
    let params = json!({"message": {
        "messageId": "m", "taskId": task_id, "role": "ROLE_USER", "parts": [{"text": "x"}],
    }});
    let message = send_message(Some(&params)).unwrap().message;
    Message { role: Role::User, ..message }
}

/// Splits `host/path`; the path is also the id.
fn config(task_id: &str, hook: &str) -> PushConfig {
    let (_, path) = hook.split_once('/').unwrap();
    PushConfig {
        id: Some(path.to_owned()),
        task_id: Some(task_id.to_owned()),
        url: format!("https://{hook}"),
        token: None,
        authentication: None,
    }
}

fn failed(why: FailureReason) -> Result<(), AttemptError> {
    Err(AttemptError { why, retry_after: None })
}

const TASK: &str = "task TASK_STATE_INPUT_REQUIRED";
const WORKING: &str = "statusUpdate TASK_STATE_WORKING";
const DONE: &str = "statusUpdate TASK_STATE_COMPLETED";

#[tokio::test]
async fn p_03_a_failing_receiver_is_retried_then_given_up() {
    let fixture = Fixture::new(&[], &[("down", vec![failed(FailureReason::Status(503)); 6])]);
    let task_id = fixture.task("ada", &["a.example/down"]).await;
    fixture.until("given up", |fixture| fixture.outbox.counts().given_up() == 1).await;
    assert_eq!(fixture.seconds("down"), [0, 2, 6, 14, 30, 62], "2, 4, 8, 16 and 32 seconds apart");
    assert_eq!(fixture.outbox.counts().failed(), 6);
    let off = fixture.log.given_up();
    assert_eq!((off[0].failures, off[0].failure.as_deref()), (6, Some("HTTP 503")));
    // Entries in the meantime are not lost, and do not start a delivery.
    fixture.finish("ada", &task_id, 2).await;
    assert_eq!(fixture.seen("down").len(), 6);
    assert_eq!(fixture.log.revive(fixture.clock.now()), 1);
    fixture.tasks.wake();
    fixture.until_received("down", 11).await;
    let received = fixture.received("down");
    assert_eq!(received[6..], [TASK, WORKING, "artifactUpdate 0", "artifactUpdate 1", DONE]);
    let ids: Vec<_> = fixture.seen("down").into_iter().map(|seen| seen.id).collect();
    assert!(ids[..7].iter().all(|id| *id == ids[0]), "one entry has one id: {ids:?}");
}

#[tokio::test]
async fn p_03_pauses_are_granted_and_success_restarts_the_count() {
    let asks = |seconds| {
        let retry_after = Some(Duration::from_secs(seconds));
        Err(AttemptError { why: FailureReason::Status(429), retry_after })
    };
    let mut answers = vec![asks(100), failed(FailureReason::TimedOut), asks(1_000_000), Ok(())];
    answers.extend(vec![failed(FailureReason::Unreachable); 2]);
    let fixture = Fixture::new(&[], &[("busy", answers)]);
    let task_id = fixture.task("ada", &["a.example/busy"]).await;
    fixture.until_received("busy", 4).await;
    let before = [0, 100, 104, 3_704];
    assert_eq!(fixture.seconds("busy"), before, "100, then 4, then an hour and no longer");
    fixture.finish("ada", &task_id, 0).await;
    fixture.until_received("busy", 8).await;
    assert_eq!(fixture.seconds("busy")[4..], [3_704, 3_706, 3_710, 3_710], "2 and 4 again");
    assert_eq!(fixture.received("busy")[6..], [WORKING, DONE]);
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_given_up_at_once() {
    let answers = [("gone", vec![Ok(()), failed(FailureReason::Gone)])];
    let fixture = Fixture::new(&[], &answers);
    let task_id = fixture.task("ada", &["a.example/gone", "a.example/there"]).await;
    fixture.finish("ada", &task_id, 1).await;
    fixture.until_received("there", 4).await;
    fixture.until("given up", |fixture| fixture.outbox.counts().given_up() == 1).await;
    assert_eq!(fixture.received("gone"), [TASK, WORKING]);
    let off = fixture.log.given_up();
    assert_eq!((off.len(), off[0].failure.as_deref()), (1, Some("HTTP 410")));
}

#[tokio::test]
async fn another_process_goes_on_where_this_one_stopped() {
    let answers = [("hook", vec![Ok(()), Ok(()), Ok(()), failed(FailureReason::Broken)])];
    let fixture = Fixture::new(&[], &answers);
    let task_id = fixture.task("ada", &["a.example/hook"]).await;
    fixture.until_received("hook", 1).await;
    // The rest is recorded without an outbox, and delivered by two processes.
    let fixture = fixture.restart(&[], None).await;
    fixture.finish("ada", &task_id, 200).await;
    // It gets no further, however fast it is.
    let fixture = fixture.restart(&["hook"], Some(&answers)).await;
    fixture.until_received("hook", 4).await;
    let before = Arc::clone(&fixture.receiver);
    let fixture = fixture.restart(&[], Some(&[])).await;
    fixture
        .until("told all", |fixture| fixture.received("hook").last().is_some_and(|l| l == DONE))
        .await;
    let mut received = [before.received("hook"), fixture.received("hook")].concat();
    assert_eq!(
        received[..4],
        [WORKING, "artifactUpdate 0", "artifactUpdate 1", "artifactUpdate 2"]
    );
    assert_eq!(received[3], received[4], "it was not taken the first time");
    received.dedup();
    let artifacts = (0..200).map(|n| format!("artifactUpdate {n}"));
    let whole = [WORKING.to_owned()].into_iter().chain(artifacts).chain([DONE.to_owned()]);
    assert!(whole.eq(received), "in order, without a gap");
}

#[tokio::test]
async fn receivers_that_never_answer_delay_nobody_else() {
    let fixture = Fixture::new(&["mute"], &[]);
    // More webhooks than the limits of their host and their owner permit.
    for _ in 0..5 {
        fixture.task("mallory", &["slow.example/mute"]).await;
    }
    fixture.until_received("mute", 2).await;
    for number in 0..5 {
        let host = format!("slow{number}.example/mute");
        fixture.task("mallory", &[&host]).await;
    }
    fixture.until_received("mute", 4).await;
    let task_id = fixture.task("ada", &["quick.example/quick"]).await;
    fixture.finish("ada", &task_id, 100).await;
    fixture.until_received("quick", 103).await;
    assert_eq!(fixture.seen("mute").len(), 4, "two for the host, four for the owner");
    assert_eq!(fixture.receiver.most.lock().unwrap().get("quick"), Some(&1), "one at a time");
    let received = fixture.received("quick");
    let artifacts = (0..100).map(|n| format!("artifactUpdate {n}"));
    let begun = [TASK, WORKING].map(str::to_owned).into_iter();
    assert!(received.into_iter().eq(begun.chain(artifacts).chain([DONE.to_owned()])));
}

#[tokio::test]
async fn a_webhook_that_is_deleted_or_replaced_hears_nothing_more() {
    let fixture = Fixture::new(&[], &[("old", vec![Ok(()), failed(FailureReason::Status(500))])]);
    let owner = fixture.owner("ada");
    let task_id = fixture.task("ada", &["a.example/old", "a.example/kept"]).await;
    fixture.until_received("kept", 1).await;
    fixture.until_received("old", 1).await;
    fixture.webhooks.delete(&owner, &task_id, "old").await.unwrap();
    let other = PushConfig {
        url: "https://b.example/new".to_owned(),
        token: Some("t".to_owned()),
        ..config(&task_id, "a.example/kept")
    };
    fixture.webhooks.create(&owner, other).await.unwrap();
    fixture.finish("ada", &task_id, 0).await;
    fixture.until_received("new", 3).await;
    assert_eq!(fixture.received("new"), [TASK, WORKING, DONE], "it begins with the task as it is");
    assert_eq!(fixture.seen("new")[0].headers, (None, Some("t".to_owned())));
    assert_eq!((fixture.seen("old").len(), fixture.seen("kept").len()), (1, 1));
}

fn started(begun: Result<Beginning, TaskError>) -> StartedTask {
    match begun.unwrap() {
        Beginning::Started(begun) => begun,
        Beginning::Repeated => unreachable!("no message is recorded once"),
    }
}
