//! Bounds the calls of a directory that ask several dealers at the same time: each holds the answers of all of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tradepost_server::auth::AuthRefusal;
use tradepost_server::fault::{InternalError, LATE};

/// Maximum number of calls at the same time.
const MAX_CALLS: usize = 8;

/// Turns of calls that ask several dealers.
#[derive(Debug)]
pub(super) struct JointCalls(Arc<Semaphore>);

/// Turn of a call, until it is dropped.
#[derive(Debug)]
pub(super) struct JointTurn {
    _permit: OwnedSemaphorePermit,
}

impl Default for JointCalls {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_CALLS)))
    }
}

impl JointCalls {
    /// Waits for a turn.
    ///
    /// # Errors
    /// When there is none within the time.
    pub(super) async fn turn(&self, timeout: Duration) -> Result<JointTurn, AuthRefusal> {
        let permit = tokio::time::timeout(timeout, Arc::clone(&self.0).acquire_owned()).await;
        match permit {
            Ok(Ok(permit)) => Ok(JointTurn { _permit: permit }),
            Ok(Err(_)) => unreachable!("the semaphore is never closed"),
            Err(_) => Err(AuthRefusal::unavailable(InternalError::new(
                "waiting for other calls of the directory",
                LATE,
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_ninth_call_waits_until_another_ends() {
        let calls = JointCalls::default();
        let timeout = Duration::from_secs(30);
        let mut turns = Vec::new();
        for _ in 0..MAX_CALLS {
            turns.push(calls.turn(timeout).await.unwrap());
        }
        let refused = calls.turn(timeout).await;
        assert!(matches!(refused, Err(AuthRefusal::Unavailable(fault)) if fault.is_transient()));
        drop(turns.pop());
        assert!(calls.turn(timeout).await.is_ok());
    }
}
