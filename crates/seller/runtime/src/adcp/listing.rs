//! MCP tool list of a publisher, and the full schema of each tool as a resource.
//!
//! Models read the list, so it is an outline of a few kilobytes in keywords that all providers
//! accept; the resource has everything that a tool takes.

use tradepost_adcp::{AdcpTool, rules};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_mcp::{self as mcp, Annotations, McpListing, Resource};

/// Prefix of the schemas' addresses; the name of the tool follows.
const SCHEMAS: &str = "tradepost://schemas/";

/// Returns the lists of these tools.
#[must_use]
pub fn of_tools(tools: &[AdcpTool]) -> McpListing {
    let listed: Vec<_> = tools.iter().copied().map(tool).collect();
    McpListing::new(&listed, tools.iter().copied().map(resource).collect())
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
            // A request with an idempotency key is executed once, however often it is sent.
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
        meta: None,
    }
}
