//! Our publisher's webhook on its way to our receiver, and either of them killed at each step of that way:
//! each webhook is kept, and kept once.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tradepost_document::json::{Value, json};

use super::adcp::{Receiving, Seller, free};
use super::receive;
use crate::support::proxy;

/// How far a webhook has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The publisher has sent it, and the receiver has nothing of it.
    Sent,
    /// The receiver has kept it, and the publisher has heard nothing.
    Kept,
    /// The receiver has shown it, and the publisher has its answer.
    Shown,
}

/// Who is killed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Publisher,
    Receiver,
}

/// Proxy between publisher and receiver, which holds a webhook at a step.
struct HoldingProxy {
    url: String,
    hold: Arc<Mutex<Option<Step>>>,
    reached: Receiver<()>,
    release: Sender<()>,
}

impl HoldingProxy {
    fn to(address: std::net::SocketAddr) -> Self {
        let hold = Arc::new(Mutex::new(None));
        let (reach, reached) = channel();
        let (release, released) = channel::<()>();
        let wanted = Arc::clone(&hold);
        let released = Mutex::new(released);
        let stop = Arc::new(move |step: Step| {
            let is_held = wanted.lock().unwrap().take_if(|held| *held == step).is_some();
            if is_held {
                reach.send(()).unwrap();
                released.lock().unwrap().recv().unwrap();
            }
        });
        let at = Arc::clone(&stop);
        let url = proxy::start(
            address,
            &[],
            Arc::new(move |_| at(Step::Sent)),
            Arc::new(move |_, _| stop(Step::Kept)),
        );
        Self { url, hold, reached, release }
    }
}

/// The tasks of what the receiver has, in order.
fn kept(folder: &Path) -> Vec<String> {
    let listed = receive(folder, &["list"]);
    let tasks = listed["deliveries"].as_array().unwrap().iter();
    let mut tasks: Vec<_> =
        tasks.map(|delivery| delivery["task_id"].as_str().unwrap().to_owned()).collect();
    tasks.sort();
    tasks
}

/// Waits until this task is handed on.
fn shown(receiving: &mut Receiving, task: &str) {
    let received: Value = receiving.next_of(task);
    assert_eq!(received["state"], "completed", "{received}");
}

#[test]
fn w_4_each_webhook_is_kept_once_whoever_is_killed() {
    let mut seller = Seller::start();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = free();
    let holding_proxy = HoldingProxy::to(address);
    let hook = format!("{}/webhook", holding_proxy.url);
    let url = seller.url();
    let arguments = ["--seller", &url, "--url", &hook];
    let push = json!({"url": hook, "operation_id": "op-1"});
    let mut receiving = Some(Receiving::start(folder, address, &arguments));
    let mut tasks = Vec::new();
    let steps = [Step::Sent, Step::Kept, Step::Shown];
    let both = [Victim::Publisher, Victim::Receiver];
    let rounds = steps.into_iter().flat_map(|step| both.map(|victim| (step, victim)));
    for (number, (step, victim)) in (1..).zip(rounds) {
        let is_held = step != Step::Shown;
        *holding_proxy.hold.lock().unwrap() = is_held.then_some(step);
        let task = seller.buy(number, &push);
        seller.approve(&task);
        if is_held {
            holding_proxy.reached.recv().unwrap();
        } else {
            shown(receiving.as_mut().unwrap(), &task);
        }
        let received = match victim {
            Victim::Publisher => {
                seller.kill();
                Vec::new()
            }
            Victim::Receiver => receiving.take().unwrap().kill(),
        };
        if is_held {
            holding_proxy.release.send(()).unwrap();
        }
        if victim == Victim::Publisher {
            seller.serve();
        }
        let running =
            receiving.get_or_insert_with(|| Receiving::start(folder, address, &arguments));
        // What was shown may be shown again, and what was not has to be.
        if is_held && !received.iter().any(|message| message["task_id"] == task.as_str()) {
            shown(running, &task);
        }
        tasks.push(task);
        tasks.sort();
        assert_eq!(kept(folder), tasks, "{step:?} {victim:?}");
    }
    // Nothing is left to come that would be new.
    seller.kill();
    seller.serve();
    let last = seller.buy(7, &push);
    seller.approve(&last);
    shown(receiving.as_mut().unwrap(), &last);
    tasks.push(last);
    tasks.sort();
    assert_eq!(kept(folder), tasks);
}
