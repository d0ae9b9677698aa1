//! What tasks are kept in: the store and the memory do the same, whatever is asked of them.

use std::sync::mpsc::sync_channel;

use jiff::Timestamp;
use proptest::prelude::*;
use tradepost_a2a::TaskState;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_server::fault::InternalError;
use tradepost_server::memory::MemoryStore;
use tradepost_server::tasks::log::{
    BlockedPushes, EntryKind, LogWriter, PushTarget, TaskFilter, TaskLog, TaskOwner, TaskRow,
};
use tradepost_store::Store;

use crate::support::postgres::Scratch;

/// Something that somebody does: `task`, `owner` and `config` are small numbers, so that they meet.
#[derive(Debug, Clone)]
pub enum Step {
    Create { task: u8, owner: u8, state: usize, at: i64 },
    Append { task: u8, status: Option<(usize, i64)>, artifact: bool },
    Put { task: u8, owner: u8, config: u8, at: i64 },
    Delete { task: u8, owner: u8, config: u8 },
    Delivered { key: i64, seq: i64 },
    Rested { key: i64, at: i64 },
    Failed { key: i64, next: Result<i64, i64> },
}

fn moment(at: i64) -> Timestamp {
    Timestamp::from_millisecond(at).unwrap()
}

fn owner(number: u8) -> TaskOwner {
    TaskOwner {
        agent_id: format!("agent-{}", number % 2),
        principal: format!("caller-{}", number / 2),
    }
}

fn state(number: usize) -> TaskState {
    TaskState::ALL[number % TaskState::ALL.len()]
}

fn target(config: u8) -> PushTarget {
    PushTarget {
        config_id: format!("config-{config}"),
        url: "https://buyer.example/notify".to_owned(),
        host: format!("host-{}", config % 2),
        token: None,
        scheme: None,
        credentials: None,
    }
}

impl Step {
    /// Does it, and says what came of it.
    fn act(&self, tx: &dyn LogWriter) -> Result<String, InternalError> {
        Ok(match self {
            Self::Create { task, owner: of, state: number, at } => {
                let row = TaskRow {
                    task_id: format!("task-{task}"),
                    context_id: format!("context-{}", task % 2),
                    state: state(*number),
                    status_at: moment(*at),
                    last_seq: 0,
                };
                format!("{:?}", tx.create_task(&owner(*of), &row)?)
            }
            Self::Append { task, status, artifact } => {
                let kind = match (status, artifact) {
                    (Some(_), _) => EntryKind::Status,
                    (None, true) => EntryKind::Artifact,
                    (None, false) => EntryKind::Message,
                };
                let status = status.map(|(number, at)| (state(number), moment(at)));
                format!("{:?}", tx.append(&format!("task-{task}"), kind, "{}", status)?)
            }
            Self::Put { task, owner: of, config, at } => {
                let task = format!("task-{task}");
                let kept = tx.put_push_config(&owner(*of), &task, &target(*config), 2, moment(*at));
                format!("{:?}", kept?)
            }
            Self::Delete { task, owner: of, config } => {
                let task = format!("task-{task}");
                let config = format!("config-{config}");
                format!("{:?}", tx.delete_push_config(&owner(*of), &task, &config)?)
            }
            Self::Delivered { key, seq } => format!("{:?}", tx.push_delivered(*key, *seq)?),
            Self::Rested { key, at } => format!("{:?}", tx.push_rested(*key, moment(*at))?),
            Self::Failed { key, next } => {
                let next = next.map(moment).map_err(moment);
                format!("{:?}", tx.push_failed(*key, "status 500", next)?)
            }
        })
    }
}

/// Does steps in one transaction, which fails at the end when it is to.
pub fn perform(log: &dyn TaskLog, steps: &[Step], fails: bool) -> Result<Vec<String>, ()> {
    let (answers, outcome) = sync_channel(1);
    let (ended, end) = sync_channel(1);
    let steps = steps.to_vec();
    let job = move |tx: &dyn LogWriter| {
        let done = steps.iter().map(|step| step.act(tx)).collect::<Result<Vec<_>, _>>()?;
        if fails {
            return Err(InternalError::new("playing", "it is to fail"));
        }
        answers.send(done).map_err(InternalError::on("telling"))
    };
    log.submit(Box::new(job), Box::new(move |outcome| ended.send(outcome).unwrap())).unwrap();
    end.recv().unwrap().map(|()| outcome.recv().unwrap()).map_err(|_| ())
}

/// Everything that can be read.
pub fn everything(log: &dyn TaskLog) -> Vec<String> {
    let mut lines = Vec::new();
    for number in 0..4 {
        let of = owner(number);
        for since in [None, Some(moment(500))] {
            let filter = TaskFilter { since, ..TaskFilter::default() };
            let (rows, total) = log.tasks(&of, &filter, None, 2).unwrap();
            let after = rows.last().map(|row| (row.status_at, row.task_id.clone()));
            lines.push(format!("{:?} {total}", rows));
            lines.push(format!("{:?}", log.tasks(&of, &filter, after, 100).unwrap()));
        }
        let context_id = Some("context-1".to_owned());
        let filter = TaskFilter { context_id, state: Some(state(1)), since: None };
        lines.push(format!("{:?}", log.tasks(&of, &filter, None, 100).unwrap()));
        for task in 0..4 {
            let task = format!("task-{task}");
            lines.push(format!("{:?}", log.task(&of, &task).unwrap()));
            lines.push(format!("{:?}", log.push_configs(&of, &task, None, "", 100).unwrap()));
            let one = log.push_configs(&of, &task, Some("config-1"), "config-0", 1);
            lines.push(format!("{:?}", one.unwrap()));
        }
        let mut left = log.unfinished_tasks(&of.agent_id).unwrap();
        left.sort_by(|a, b| a.task_id.cmp(&b.task_id));
        lines.push(format!("{left:?}"));
        for busy in [
            BlockedPushes::default(),
            BlockedPushes { hosts: vec!["host-0".to_owned()], ..BlockedPushes::default() },
            BlockedPushes {
                keys: vec![1],
                owners: vec!["caller-1".to_owned()],
                ..BlockedPushes::default()
            },
        ] {
            // Those that are due at one moment have no order.
            let mut due = log.push_due(&of.agent_id, moment(700), &busy, 100).unwrap();
            due.sort_by_key(|place| place.key);
            lines.push(format!("{due:?}"));
        }
        lines.push(format!("{:?}", log.push_next_due(&of.agent_id, moment(300)).unwrap()));
    }
    for task in 0..4 {
        for (after, until, artifacts, limit) in
            [(0, 100, true, 100), (1, 3, true, 100), (0, 100, false, 2)]
        {
            let task = format!("task-{task}");
            let entries = log.task_entries(&task, after, until, artifacts, limit).unwrap();
            lines.push(format!("{entries:?}"));
        }
    }
    lines.extend((0..8).map(|key| format!("{:?}", log.push_place(key).unwrap())));
    lines
}

pub fn steps() -> impl Strategy<Value = Step> {
    let at = || 0..1_000_i64;
    prop_oneof![
        (0..4_u8, 0..4_u8, 0..8_usize, at()).prop_map(|(task, owner, state, at)| Step::Create {
            task,
            owner,
            state,
            at
        }),
        (0..4_u8, proptest::option::of((0..8_usize, at())), any::<bool>())
            .prop_map(|(task, status, artifact)| Step::Append { task, status, artifact }),
        (0..4_u8, 0..4_u8, 0..3_u8, at()).prop_map(|(task, owner, config, at)| Step::Put {
            task,
            owner,
            config,
            at
        }),
        (0..4_u8, 0..4_u8, 0..3_u8).prop_map(|(task, owner, config)| Step::Delete {
            task,
            owner,
            config
        }),
        (1..8_i64, 0..6_i64).prop_map(|(key, seq)| Step::Delivered { key, seq }),
        (1..8_i64, at()).prop_map(|(key, at)| Step::Rested { key, at }),
        (1..8_i64, at(), any::<bool>()).prop_map(|(key, at, again)| {
            Step::Failed { key, next: if again { Ok(at) } else { Err(at) } }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_store_and_the_memory_do_the_same(
        turns in proptest::collection::vec(
            (proptest::collection::vec(steps(), 1..5), proptest::bool::weighted(0.15)), 1..16,
        ),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let memory = MemoryStore::default();
        for (steps, fails) in turns {
            let kept = perform(&store, &steps, fails);
            let remembered = perform(&memory, &steps, fails);
            prop_assert_eq!(kept, remembered, "{:?}", steps);
            prop_assert_eq!(everything(&store), everything(&memory), "after {:?}", steps);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn two_stores_on_a_server_do_it_too(
        turns in proptest::collection::vec(
            (proptest::collection::vec(steps(), 1..5), proptest::bool::weighted(0.15)), 1..12,
        ),
    ) {
        const NUMBER: &str = "SELECT last_value || ', ' || is_called FROM push_configs_key_seq";
        let Some(scratch) = Scratch::new() else { return Ok(()) };
        let stores = [scratch.store(), scratch.store()];
        let memory = MemoryStore::default();
        for (turn, (steps, fails)) in turns.into_iter().enumerate() {
            let number = scratch.say(NUMBER).remove(0);
            let kept = perform(&stores[turn % 2], &steps, fails);
            prop_assert_eq!(&kept, &perform(&memory, &steps, fails), "{:?}", steps);
            if kept.is_err() {
                // A server gives no number twice, also when nothing came of the first time.
                scratch.say(&format!("SELECT setval('push_configs_key_seq', {number})"));
            }
            // The first delivers; the other sees all the rest alike.
            prop_assert_eq!(everything(&stores[0]), everything(&memory), "after {:?}", steps);
        }
    }
}
