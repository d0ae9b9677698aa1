//! Background work that runs as long as the process.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;

/// Pause before work is restarted after a panic.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// Runs work until it ends by itself, and restarts it after a panic. The panic is logged with the
/// name of the task.
pub async fn keep_going<F: Future<Output = ()>>(task: &'static str, mut begin: impl FnMut() -> F) {
    while let Err(panic) = AssertUnwindSafe(begin()).catch_unwind().await {
        log_panic(task, panic);
        // Without a pause, work that panics immediately would fill the log.
        tokio::time::sleep(RESTART_PAUSE).await;
    }
}

/// Runs blocking work on a separate thread. Returns `None` after a panic.
pub async fn piece<T: Send + 'static>(
    task: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let done = tokio::task::spawn_blocking(work).await;
    match done.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => Some(done),
        Err(Ok(panic)) => {
            log_panic(task, panic);
            None
        }
        // The runtime is shutting down.
        Err(Err(_)) => None,
    }
}

/// Logs a panic without its message, which may quote a caller's data.
fn log_panic(task: &'static str, panic: Box<dyn Any + Send>) {
    drop(panic);
    tracing::error!(task, "a background task panicked and goes on");
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_panics_begins_again_until_it_ends_by_itself() {
        let begun = Cell::new(0);
        keep_going("a test", || {
            begun.set(begun.get() + 1);
            let count = begun.get();
            async move { assert!(count == 3, "expected by the test") }
        })
        .await;
        assert_eq!(begun.get(), 3);
    }

    #[tokio::test]
    async fn a_piece_that_panics_does_not_stop_the_next() {
        let panics: Option<()> = piece("a test", || panic!("expected by the test")).await;
        assert_eq!(panics, None);
        assert_eq!(piece("a test", || 1).await, Some(1));
    }
}
