//! Handling of panics in code of this library's users. A panic becomes a fault of its own work; the
//! rest of the process continues.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;

use crate::fault::InternalError;

/// Runs asynchronous work and converts a panic to a fault.
///
/// This is no `async fn`, like others that wrap the work of a request: such a function keeps what it is given twice, as
/// its argument and as what it waits for, and each request copies all of it.
///
/// # Errors
/// When the work panicked.
pub(crate) fn catch<T>(
    what: &'static str,
    work: impl Future<Output = T>,
) -> impl Future<Output = Result<T, InternalError>> {
    let caught = AssertUnwindSafe(work).catch_unwind();
    caught.map(move |done| done.map_err(|panic| fault(what, panic)))
}

/// Runs synchronous work and converts a panic to a fault.
///
/// # Errors
/// When the work panicked.
pub(crate) fn catch_now<T>(
    what: &'static str,
    work: impl FnOnce() -> T,
) -> Result<T, InternalError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| fault(what, panic))
}

/// Creates the fault for a panic. Its message may quote a caller's data, so it is dropped; the
/// panic hook has logged its place.
fn fault(what: &'static str, panic: Box<dyn Any + Send>) -> InternalError {
    drop(panic);
    InternalError::new(what, "the agent's code panicked")
}
