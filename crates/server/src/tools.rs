//! An agent's tools, for clients of MCP. What they are asked is said in the terms of [`mcp`], and knows
//! nothing of HTTP but who sends it.

use std::fmt;
use std::time::Duration;

use axum::http::request::Parts;
use futures_util::future::BoxFuture;
use tradepost_wire::json::Map;
use tradepost_wire::mcp;
pub use tradepost_wire::mcp::{Annotations, Introduction, Listing, Resource, Tool, ToolResult};

use crate::agent::{Caller, ProfileRefusal, Sent};
use crate::auth::Denied;
use crate::desk::Desk;
use crate::fault::Fault;
use crate::permission::Permission;

/// Tools, as an agent has them.
pub trait Tools: fmt::Debug + Send + Sync {
    /// Who answers.
    fn introduction(&self) -> Introduction;

    /// The tools and resources that there are; the same for every caller.
    fn listing(&self) -> &Listing;

    /// Performs a call of a tool that there is.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Called>;

    /// Whether there is a tool of this name, be it one that is not listed.
    fn has(&self, name: &str) -> bool {
        self.listing().names().any(|known| known == name)
    }

    /// What a tool requires of whoever calls it. Arguments may require more, which the agent knows when
    /// it has read them.
    fn required(&self, tool: &str) -> Option<Permission> {
        let _ = tool;
        None
    }

    /// The origins of web pages that may call, such as `https://example.com`: browsers send theirs with
    /// every request, also to a name that somebody makes lead here (DNS rebinding).
    fn origins(&self) -> &[String] {
        &[]
    }

    /// Finds out in a way of its own who sends a request, and whether it may come in. Where this is not
    /// done, every request has to show what the agent demands of any.
    fn admit<'a>(&'a self, knock: Knock<'a>) -> Option<BoxFuture<'a, Result<Caller, Turned>>> {
        let _ = knock;
        None
    }
}

/// A request before anything of it is performed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Knock<'a> {
    /// Where it came.
    pub desk: &'a Desk,
    /// Its head.
    pub parts: &'a Parts,
    /// Its body.
    pub bytes: &'a [u8],
    /// What is asked; `None` for a body that is no message or could be read in two ways. Who is let in
    /// then is told what is wrong with it.
    pub request: Option<&'a mcp::Request>,
}

/// The answer to a request that is not let in.
pub type Turned = Box<ProfileRefusal>;

/// A call of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, which nobody has checked.
    pub arguments: Map,
    /// Who calls.
    pub caller: &'a Caller,
    /// How it was sent.
    pub sent: Sent<'a>,
    /// How long an answer may take.
    pub patience: Duration,
}

/// What a call came to.
#[derive(Debug)]
pub enum Called {
    /// An answer; a call that failed has one, too.
    Answer(Box<Answer>),
    /// The caller is turned away before the tool is reached.
    Profile(Box<ProfileRefusal>),
    /// The caller may not.
    Denied(Denied),
    /// We broke.
    Broken(Fault),
}

/// An answer of a tool, with what the log says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What the caller gets.
    pub result: ToolResult,
    /// The code of the agent's catalog, or `OK`.
    pub code: &'static str,
    /// The tool, as numbers name it.
    pub tool: Option<&'static str>,
    /// Whether its sender comes too often.
    pub too_often: bool,
}

impl From<ToolResult> for Called {
    fn from(result: ToolResult) -> Self {
        let code = if result.is_error { "FAILED" } else { "OK" };
        Self::Answer(Box::new(Answer { result, code, tool: None, too_often: false }))
    }
}
