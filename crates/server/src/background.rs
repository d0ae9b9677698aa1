//! Work that goes on beside the requests for as long as the process lives.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;

/// How long work that panicked waits before it begins again.
const PAUSE: Duration = Duration::from_secs(1);

/// Does work until it ends by itself. A panic does not end it: the work begins again after a pause.
/// The panic has been logged by its place, and here is said whose it was.
pub async fn keep_going<F: Future<Output = ()>>(task: &'static str, mut begin: impl FnMut() -> F) {
    while let Err(panic) = AssertUnwindSafe(begin()).catch_unwind().await {
        tell(task, panic);
        // Work that panics as soon as it begins would fill the log otherwise.
        tokio::time::sleep(PAUSE).await;
    }
}

/// Does one piece of work on a thread where waiting disturbs nobody. A panic is the end of this
/// piece alone; `None` then.
pub async fn piece<T: Send + 'static>(
    task: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let done = tokio::task::spawn_blocking(work).await;
    match done.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(done) => Some(done),
        Err(Ok(panic)) => {
            tell(task, panic);
            None
        }
        // The runtime is ending.
        Err(Err(_)) => None,
    }
}

/// What the panic says may quote what a caller sent, and is not looked at.
fn tell(task: &'static str, panic: Box<dyn Any + Send>) {
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
    async fn a_piece_that_panics_is_nothing_and_the_next_one_is_done() {
        let panics: Option<()> = piece("a test", || panic!("expected by the test")).await;
        assert_eq!(panics, None);
        assert_eq!(piece("a test", || 1).await, Some(1));
    }
}
