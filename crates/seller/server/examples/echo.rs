//! An agent that says what it hears: at once, or as a task when the text begins with `task`.

use std::sync::Arc;

use tokio::net::TcpListener;
use tradepost_server::prelude::*;

#[derive(Debug)]
struct Echo(PublishedCard, Authenticator, TaskService);

impl Agent for Echo {
    fn card(&self) -> &PublishedCard {
        &self.0
    }

    fn auth(&self) -> &Authenticator {
        &self.1
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        self.2.perform(incoming, |message, _| Ok(plan(message)))
    }

    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        Some(&self.2)
    }
}

fn plan(message: &Message) -> MessagePlan {
    let said = message.text().unwrap_or_default().to_owned();
    if !said.starts_with("task") {
        return MessagePlan::Answer(vec![Part::text(said)]);
    }
    let ends = if said.ends_with('?') { TaskState::InputRequired } else { TaskState::Completed };
    MessagePlan::work(async move |progress| {
        progress.status(TaskState::Working, None).await?;
        progress.artifact(Artifact::new("echo", vec![Part::text(said)]), false, true).await?;
        progress.status(ends, None).await
    })
}

pub(crate) async fn serve(listener: TcpListener) -> Result<(), Box<dyn std::error::Error>> {
    let card = card::describe("Echo", "Says it.", &format!("http://{}", listener.local_addr()?));
    let card = PublishedCard::from_card(&card, Clock::system().now());
    let auth = Authenticator::open_to_all("echo");
    let echo = Echo(card, auth, TaskService::new_in_memory("echo")?);
    http::serve(listener, AgentRegistry::from_agent(Arc::new(echo)), pending()).await?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".to_owned());
    serve(TcpListener::bind(address).await?).await
}
