//! What an agent can know of a call beside its message.

use std::fmt;
use std::ops::Deref;

use axum::http::HeaderMap;
use tokio_util::sync::CancellationToken;
use tradepost_a2a::{A2aRelease, A2aRequest};
use tradepost_document::json::Map;

use super::{AgentRequest, Caller};
use crate::card::Binding;

/// Headers of a request. Their debug form has the names only, because values may be credentials.
#[derive(Clone, Copy)]
pub struct RequestHeaders<'a>(&'a HeaderMap);

impl<'a> RequestHeaders<'a> {
    pub(crate) const fn new(headers: &'a HeaderMap) -> Self {
        Self(headers)
    }
}

impl Deref for RequestHeaders<'_> {
    type Target = HeaderMap;

    fn deref(&self) -> &HeaderMap {
        self.0
    }
}

impl fmt::Debug for RequestHeaders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// A call without its message, which work on a task can keep.
#[derive(Clone)]
pub struct CallContext {
    /// Caller, with its authenticated identity and permissions.
    pub caller: Caller,
    /// Binding of the request.
    pub binding: Binding,
    /// Protocol release of the request.
    pub release: A2aRelease,
    /// Extensions that the caller activates.
    pub activated: Vec<String>,
    /// Headers of the request, or the metadata of a gRPC call.
    pub headers: HeaderMap,
    /// Metadata of the request, beside that of its message.
    pub metadata: Option<Map>,
    /// Signal that the caller has gone, or that the task was canceled; see
    /// [`TaskProgress::cancellation`](crate::tasks::TaskProgress::cancellation).
    pub cancellation: CancellationToken,
}

impl fmt::Debug for CallContext {
    /// Leaves out the values of headers, which may be credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext")
            .field("caller", &self.caller)
            .field("binding", &self.binding)
            .field("headers", &RequestHeaders(&self.headers))
            .finish_non_exhaustive()
    }
}

impl AgentRequest<'_> {
    /// Returns what can be known of the call beside its message.
    #[must_use]
    pub fn context(&self) -> CallContext {
        let metadata = match &self.request {
            A2aRequest::SendMessage(send) | A2aRequest::SendStreamingMessage(send) => {
                send.metadata.clone()
            }
            A2aRequest::GetTask { .. }
            | A2aRequest::ListTasks(_)
            | A2aRequest::CancelTask { .. }
            | A2aRequest::SubscribeToTask { .. }
            | A2aRequest::CreatePushConfig(_)
            | A2aRequest::GetPushConfig { .. }
            | A2aRequest::ListPushConfigs { .. }
            | A2aRequest::DeletePushConfig { .. }
            | A2aRequest::GetExtendedAgentCard => None,
        };
        CallContext {
            caller: self.caller.clone(),
            binding: self.binding,
            release: self.release,
            activated: self.activated.to_vec(),
            headers: HeaderMap::clone(&self.headers),
            metadata,
            cancellation: self.cancellation.clone(),
        }
    }
}
