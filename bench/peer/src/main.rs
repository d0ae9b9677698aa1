//! A message-only agent on the official Rust server crate of A2A, as its own example sets one up:
//! every message is answered with a message, and no task is asked for.
//!
//! Listens on a free loopback port and says which.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use a2a::{A2AError, Message, Part, Role, StreamResponse};
use a2a_server::{AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore};
use axum::serve::ListenerExt as _;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};

/// Says one sentence.
struct Agent;

impl AgentExecutor for Agent {
    fn execute(
        &self,
        context: ExecutorContext,
    ) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        let mut message = Message::new(Role::Agent, vec![Part::text("Direct message response")]);
        message.context_id = Some(context.context_id);
        stream::iter([Ok(StreamResponse::Message(message))]).boxed()
    }

    fn cancel(&self, _: ExecutorContext) -> BoxStream<'static, Result<StreamResponse, A2AError>> {
        stream::empty().boxed()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let handler = Arc::new(DefaultRequestHandler::new(Agent, InMemoryTaskStore::new()));
    let router = axum::Router::new().nest("/a2a", a2a_server::jsonrpc::jsonrpc_router(handler));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "listening on http://{}", listener.local_addr()?)?;
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}
