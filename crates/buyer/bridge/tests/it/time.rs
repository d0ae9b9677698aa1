//! Time that moves only when a test says so, beside sockets that are real.

use std::sync::mpsc;
use std::time::Duration;

/// How much time passes at once for a call that is hurried.
const STEP: Duration = Duration::from_millis(250);

/// How long sockets have for each such step.
const SOCKET_PAUSE: Duration = Duration::from_millis(5);

/// Runs with time that stands still until it is advanced.
pub(crate) fn run_held<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().unwrap().block_on(async {
        let (release, held) = mpsc::channel::<()>();
        // While a thread is waited for, paused time does not move by itself.
        let waiting = tokio::task::spawn_blocking(move || held.recv());
        let out = work.await;
        drop(release);
        // The channel has no message: that it is closed is the end of the wait.
        assert!(waiting.await.unwrap().is_err());
        out
    })
}

/// Lets sockets do what they have to do, without any time passing.
pub(crate) async fn pause() {
    let (open, wait) = mpsc::channel::<()>();
    let waited =
        tokio::task::spawn_blocking(move || wait.recv_timeout(SOCKET_PAUSE)).await.unwrap();
    assert!(waited.is_err(), "nobody sends anything");
    drop(open);
}

/// Waits until something is so, without any time passing.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        pause().await;
    }
}

/// Does this while time passes faster than it does: pauses before a second attempt are over soon.
pub(crate) async fn hurried<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = pause() => tokio::time::advance(STEP).await,
        }
    }
}
