//! Panics of code that users of this library write. Each becomes a fault of the work that panicked; what else the
//! process does goes on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;

use crate::fault::Fault;

/// Runs asynchronous work, whose panic becomes a fault.
///
/// # Errors
/// That the work panicked.
pub(crate) async fn catch<T>(
    what: &'static str,
    work: impl Future<Output = T>,
) -> Result<T, Fault> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| fault(what, panic))
}

/// Runs work that waits for nothing, whose panic becomes a fault.
///
/// # Errors
/// That the work panicked.
pub(crate) fn catch_now<T>(what: &'static str, work: impl FnOnce() -> T) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| fault(what, panic))
}

/// The message of a panic may quote what a caller sent, so that it is dropped unread. The hook for panics has
/// reported its place.
fn fault(what: &'static str, panic: Box<dyn Any + Send>) -> Fault {
    drop(panic);
    Fault::new(what, "the agent's code panicked")
}
