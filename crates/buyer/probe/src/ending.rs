//! Early end of a run: it is stopped, or its deadline passes.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

/// Future of the early end, awaited together with other work.
pub(super) struct Ending<'s> {
    end: Pin<Box<dyn Future<Output = String> + Send + 's>>,
    reached: Option<String>,
}

impl<'s> Ending<'s> {
    /// Creates the end: when `stop` resolves, or after `deadline` from now.
    pub(super) fn new(
        deadline: Option<Duration>,
        stop: impl Future<Output = ()> + Send + 's,
    ) -> Self {
        let end = async move {
            let late = async {
                match deadline {
                    Some(time) => tokio::time::sleep(time).await,
                    None => std::future::pending().await,
                }
            };
            let mut stop = pin!(stop);
            let mut late = pin!(late);
            poll_fn(|context| {
                if stop.as_mut().poll(context).is_ready() {
                    return Poll::Ready("the run was stopped".to_owned());
                }
                let seconds = deadline.unwrap_or_default().as_secs_f64();
                let why = || format!("the deadline of {seconds} s has passed");
                late.as_mut().poll(context).map(|()| why())
            })
            .await
        };
        Self { end: Box::pin(end), reached: None }
    }

    /// Returns the result of `work`; `None` when the end comes first, and for every later call.
    pub(super) async fn unless<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        if self.reached.is_some() {
            return None;
        }
        let mut work = pin!(work);
        // Polled first, because work that is always ready could delay it.
        let ended = poll_fn(|context| match self.end.as_mut().poll(context) {
            Poll::Ready(why) => Poll::Ready(Err(why)),
            Poll::Pending => work.as_mut().poll(context).map(Ok),
        })
        .await;
        match ended {
            Ok(outcome) => Some(outcome),
            Err(why) => {
                self.reached = Some(why);
                None
            }
        }
    }

    /// Returns the reason for the end, once it is reached.
    pub(super) fn reached(&self) -> Option<&str> {
        self.reached.as_deref()
    }
}
