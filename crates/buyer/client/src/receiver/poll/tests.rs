use std::cell::{Cell, RefCell};
use std::sync::Mutex;

use super::*;
use crate::failure::Unanswered;
use crate::receiver::delivery::ReceivedDelivery;
use crate::refusal::{RefusalForm, SellerRefusal};

/// Inbox in memory.
#[derive(Debug, Default)]
struct Memory(Mutex<Vec<PushDelivery>>);

impl Inbox for Memory {
    fn put(&self, delivery: &PushDelivery) -> Result<Put, DeliveryNotKept> {
        let known = self.known("", delivery.task_id.as_deref().unwrap_or_default())?;
        let mut kept = self.0.lock().unwrap();
        if known.covers(delivery) || kept.iter().any(|other| other.id == delivery.id) {
            return Ok(Put::Duplicate);
        }
        kept.push(delivery.clone());
        Ok(Put::New)
    }

    fn known(&self, _: &str, task_id: &str) -> Result<KnownTask, DeliveryNotKept> {
        let mut known = KnownTask::default();
        let kept = self.0.lock().unwrap();
        kept.iter().filter(|d| d.task_id.as_deref() == Some(task_id)).for_each(|d| known.add(d));
        Ok(known)
    }
}

fn task(state: &str, second: u32) -> String {
    format!(
        r#"{{"id":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}","timestamp":"2026-04-30T12:00:0{second}.000Z"}}}}"#
    )
}

fn update(state: &str, second: u32) -> PushDelivery {
    let task: Value = tradepost_document::json::from_str(&task(state, second)).unwrap();
    let update =
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": task["status"]}});
    let read =
        ReceivedDelivery::read(update.to_string().as_bytes(), "", Timestamp::UNIX_EPOCH).unwrap();
    let ReceivedDelivery::Delivery(delivery) = read else { panic!("{read:?}") };
    *delivery
}

fn refused(status: u16, retry_after: Option<u64>) -> CallFailure {
    CallFailure::Refused(Box::new(SellerRefusal {
        by: RefusalForm::Http(status),
        retry_after: retry_after.map(Duration::from_secs),
        kept: crate::failure::KeptResponse::default(),
    }))
}

/// Answer of a seller to one poll.
enum Reply {
    Task(&'static str, u32),
    No(u16, Option<u64>),
    Nothing,
}
use Reply::{No, Nothing, Task};

/// Watches in virtual time; returns its end, the times of the polls, and the stored deliveries.
fn run(
    policy: PollPolicy,
    random: f64,
    pushed: &[(u64, &'static str, u32)],
    replies: Vec<Reply>,
) -> (String, Vec<u64>, Vec<String>) {
    let inbox: Arc<dyn Inbox> = Arc::new(Memory::default());
    let metrics = ReceiverMetrics::default();
    let clock = Cell::new(Duration::ZERO);
    let asked = RefCell::new(Vec::new());
    let mut replies = replies.into_iter();
    let poll_clock = PollClock {
        now: || Timestamp::from_millisecond(clock.get().as_millis() as i64).unwrap(),
        sleep: async |wait: Duration| {
            let from = clock.get();
            let to = clock.get() + wait;
            for (at, state, second) in pushed {
                let at = Duration::from_secs(*at);
                if from < at && at <= to {
                    inbox.put(&update(state, *second)).unwrap();
                }
            }
            clock.set(to);
        },
        random: || random,
    };
    let ask = async || {
        asked.borrow_mut().push(clock.get().as_secs());
        match replies.next().expect("no more questions are asked than are answered") {
            Task(state, second) => Ok(format!(r#"{{"task":{}}}"#, task(state, second))),
            No(status, retry_after) => Err(refused(status, retry_after)),
            Nothing => Err(CallFailure::Unanswered(Unanswered::TimedOut(Duration::from_secs(30)))),
        }
    };
    let watching = watch("", "t", &inbox, &metrics, policy, poll_clock, ask);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let ended = match runtime.block_on(watching) {
        Ok(PollEnd::Complete) => "complete".to_owned(),
        Ok(PollEnd::TimeUp) => "time up".to_owned(),
        Ok(PollEnd::Refused(failure)) => failure.to_string(),
        Err(unkept) => unkept.to_string(),
    };
    let known = inbox.known("", "t").unwrap();
    let states = known.statuses.iter().map(|s| s.trim().replace("TASK_STATE_", "")).collect();
    assert_eq!(metrics.snapshot().polls, asked.borrow().len() as u64);
    (ended, asked.into_inner(), states)
}

#[test]
fn nobody_is_asked_while_deliveries_come() {
    let pushed = [(60, "WORKING", 1), (179, "WORKING", 2), (290, "COMPLETED", 3)];
    let (ended, asked, kept) = run(PollPolicy::default(), 1.0, &pushed, Vec::new());
    assert_eq!((ended.as_str(), asked.as_slice(), kept.len()), ("complete", &[][..], 3));
}

#[test]
fn without_deliveries_a_task_is_polled_with_growing_pauses() {
    let replies = vec![
        Task("SUBMITTED", 0),
        Task("SUBMITTED", 0),
        Nothing,
        No(503, None),
        Task("WORKING", 1),
        Task("COMPLETED", 2),
    ];
    let (ended, asked, kept) = run(PollPolicy::default(), 1.0, &[], replies);
    assert_eq!(ended, "complete");
    assert_eq!(asked, [120, 125, 135, 155, 185, 215]);
    assert_eq!(kept.len(), 3, "{kept:?}");
}

#[test]
fn jitter_halves_pauses_at_most_and_never_the_sellers() {
    let replies = vec![Nothing, No(429, Some(60)), Task("COMPLETED", 2)];
    let (_, asked, _) = run(PollPolicy::default(), 0.0, &[], replies);
    assert_eq!(asked, [120, 122, 182]);
}

#[test]
fn returning_deliveries_end_the_polling_and_nothing_is_kept_twice() {
    let replies = vec![Task("WORKING", 1), Task("WORKING", 1)];
    let pushed = [(121, "WORKING", 1), (130, "WORKING", 2), (200, "COMPLETED", 3)];
    let (ended, asked, kept) = run(PollPolicy::default(), 1.0, &pushed, replies);
    assert_eq!((ended.as_str(), asked.as_slice()), ("complete", &[120, 125][..]));
    assert_eq!(kept.len(), 3, "{kept:?}");
}

#[test]
fn watching_ends_with_a_final_refusal_or_the_time() {
    let (ended, asked, _) = run(PollPolicy::default(), 1.0, &[], vec![No(404, None)]);
    assert_eq!(
        (ended.as_str(), asked.as_slice()),
        ("the server answers with HTTP 404", &[120][..])
    );
    let policy = PollPolicy { limit: Duration::from_secs(130), ..PollPolicy::default() };
    let replies = vec![Nothing, Nothing, Nothing];
    let (ended, asked, _) = run(policy, 1.0, &[], replies);
    assert_eq!((ended.as_str(), asked.as_slice()), ("time up", &[120, 125, 130][..]));
}
