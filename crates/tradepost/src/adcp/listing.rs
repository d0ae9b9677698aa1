//! The tools of a publisher as MCP lists them, and the whole schema of each as a resource.
//!
//! A model reads the list, so that it is an outline of a few kilobytes in words that all providers
//! take; who wants to know everything that a tool takes reads the resource.

use tradepost_wire::adcp::{AdcpTool, rules};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::mcp::{self, Annotations, McpListing, Resource};

/// What the addresses of the schemas begin with; the name of the tool follows.
const SCHEMAS: &str = "tradepost://schemas/";

/// The lists of these tools.
#[must_use]
pub fn of(tools: &[AdcpTool]) -> McpListing {
    let listed: Vec<_> = tools.iter().copied().map(tool).collect();
    McpListing::of(&listed, tools.iter().copied().map(resource).collect())
}

fn tool(tool: AdcpTool) -> mcp::ListedTool {
    let mutates = tool.mutates();
    mcp::ListedTool {
        name: tool.name().into(),
        title: tool.title().to_owned(),
        description: tool.docs().split_whitespace().collect::<Vec<_>>().join(" "),
        input_schema: rules::outline(tool),
        output_schema: None,
        annotations: Annotations {
            read_only: Some(!mutates),
            // What has a key is done once, however often it is sent.
            idempotent: mutates.then_some(tool.keyed()),
            ..Annotations::default()
        },
        meta: None,
    }
}

fn resource(tool: AdcpTool) -> Resource {
    Resource {
        uri: format!("{SCHEMAS}{}", tool.name()),
        name: tool.name().to_owned(),
        title: format!("{}: what it takes", tool.title()),
        description: format!("The JSON Schema of everything that {} takes.", tool.name()),
        mime_type: "application/schema+json",
        text: rules::json_schema(tool).to_string(),
    }
}
