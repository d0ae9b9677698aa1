//! What is sent again after it was given up: webhooks of tasks, and messages to a publisher's staff.

use std::sync::mpsc::channel;

use jiff::SignedDuration;
use tradepost_admin::Actor;
use tradepost_admin::staff_messages::{ResendStaffMessages, resend_staff_messages};
use tradepost_admin::webhooks::{RetryWebhooks, retry_webhooks};
use tradepost_dealer::delivery::DeliveryState;
use tradepost_dealer::staff::{EVERYBODY, StaffRole};
use tradepost_document::catalog::Vocabulary;
use tradepost_store::staff_events::NewStaffDelivery;
use tradepost_store::{PushTarget, TaskLog, TaskOwner, TaskRow};

use crate::publisher::{GAZETTE, gazette};
use crate::{TestEnv, member, now};

/// Stores a task with two webhooks, which were given up.
fn give_up_webhooks(env: &TestEnv) {
    let owner = TaskOwner { agent_id: "echo".to_owned(), principal: "acme".to_owned() };
    let task = TaskRow {
        task_id: "task_1".to_owned(),
        context_id: "context_1".to_owned(),
        state: Vocabulary::from_name("TASK_STATE_WORKING").unwrap(),
        status_at: now(),
        last_seq: 0,
    };
    let webhook = |name: &str| PushTarget {
        config_id: name.to_owned(),
        url: format!("https://{name}.example/hook"),
        host: format!("{name}.example"),
        token: None,
        scheme: None,
        credentials: None,
    };
    let webhooks = [webhook("first"), webhook("second")];
    let (sender, receiver) = channel();
    let queued = TaskLog::submit(
        &env.store,
        Box::new(move |tx| {
            tx.create_task(&owner, &task)?;
            for (key, webhook) in (1..).zip(&webhooks) {
                tx.put_push_config(&owner, &task.task_id, webhook, webhooks.len(), now())?;
                tx.push_failed(key, "HTTP 503", Err(now()))?;
            }
            Ok(())
        }),
        Box::new(move |done| sender.send(done).unwrap()),
    );
    queued.unwrap();
    receiver.recv().unwrap().unwrap();
    assert_eq!(env.store.push_troubled(false).unwrap().len(), 2);
}

#[test]
fn retried_webhooks_are_recorded_with_their_task_and_number() {
    let env = TestEnv::new();
    let context = env.context();
    give_up_webhooks(&env);
    let egon = Actor::operator("cli:egon");
    let retry = |webhook_id: &str| {
        let webhook_id = Some(webhook_id.to_owned());
        let input = RetryWebhooks { task_id: Some("task_1".to_owned()), webhook_id };
        retry_webhooks(&context, &egon, input).unwrap()
    };
    assert_eq!(retry("third"), 0);
    assert_eq!(env.record(EVERYBODY), [""; 0], "nothing was retried");
    assert_eq!(retry("first"), 1);
    assert_eq!(retry("first"), 0, "it is not given up any more");
    assert_eq!(retry_webhooks(&context, &egon, RetryWebhooks::default()).unwrap(), 1);
    assert!(env.store.push_troubled(false).unwrap().is_empty());
    assert_eq!(
        env.record(EVERYBODY),
        ["cli:egon webhooks_retried task_1 1 webhooks", "cli:egon webhooks_retried - 1 webhooks"]
    );
}

/// Stores messages to the publisher's staff about these, which were given up.
fn give_up_messages(env: &TestEnv, subjects: [&'static str; 2]) {
    let planned = subjects.map(|subject| NewStaffDelivery {
        subject: subject.to_owned(),
        destination: "hub".to_owned(),
        place: 1,
    });
    let later = now() + SignedDuration::from_hours(1);
    let given_up = env.store.write_blocking(move |tx| {
        tx.place_staff_events(GAZETTE)?;
        assert!(tx.plan_staff_events(GAZETTE, 1, &planned, now())?);
        for key in [1, 2] {
            assert!(tx.begin_delivery(key, now(), later)?.is_some());
            tx.delivery_failed(key, "HTTP 400", false, Err(now()))?;
        }
        Ok(())
    });
    given_up.unwrap();
}

#[test]
fn resent_messages_are_recorded_with_their_subject_and_number() {
    let env = TestEnv::new();
    let context = env.context();
    give_up_messages(&env, ["acc_1", "mb_1"]);
    let publisher = gazette();
    let sam = Actor::from_member(&member("sam", StaffRole::Seller, Some(GAZETTE)));
    let resend = |subject: Option<&str>| {
        let subject = subject.map(str::to_owned);
        let input = ResendStaffMessages { publisher: &publisher, subject };
        resend_staff_messages(&context, &sam, input).unwrap()
    };
    assert_eq!(resend(Some("acc_2")), 0);
    assert_eq!(env.record(GAZETTE), [""; 0], "nothing was sent again");
    assert_eq!(resend(Some("acc_1")), 1);
    assert_eq!(resend(None), 1);
    assert_eq!(resend(None), 0, "none is given up any more");
    let dead = Some(DeliveryState::Dead);
    assert!(env.store.publisher_deliveries(Some(GAZETTE), None, dead).unwrap().is_empty());
    assert_eq!(
        env.record(GAZETTE),
        ["sam staff_messages_resent acc_1 1 messages", "sam staff_messages_resent - 1 messages"]
    );
}
