//! Answers against the published schemas of their tools, which lie beside the workspace; without
//! them nothing is judged, and a test says so.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use jsonschema::{Retrieve, Uri, Validator};
use tradepost_wire::adcp::Tool;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::Value;

use crate::beside::published;

const BASE: &str = "https://adcontextprotocol.org";
const RELEASE: &str = "/schemas/3.1.19/";

/// Where the published schemas are, if they are there.
pub(crate) fn folder() -> Option<PathBuf> {
    published("spec/adcp/3.1")
}

/// What the published schema of a tool's response has against an answer.
pub(crate) fn violations(tool: Tool, answer: &Value) -> Vec<String> {
    if folder().is_none() {
        return Vec::new();
    }
    static JUDGES: OnceLock<Mutex<HashMap<&'static str, Option<Validator>>>> = OnceLock::new();
    let mut judges = JUDGES.get_or_init(Mutex::default).lock().unwrap();
    let judge = judges.entry(tool.name()).or_insert_with(|| judge(tool));
    let Some(judge) = judge else {
        return Vec::new();
    };
    judge
        .iter_errors(&answer.into())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// What a published schema (`core/mcp-webhook-payload.json`) has against a document.
pub(crate) fn against(name: &str, document: &Value) -> Vec<String> {
    let Some(judge) = judge_by(name) else {
        return Vec::new();
    };
    judge
        .iter_errors(&document.into())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

fn judge(tool: Tool) -> Option<Validator> {
    judge_by(&format!("{}.json", tool.request().replace("-request", "-response")))
}

fn judge_by(name: &str) -> Option<Validator> {
    let folder = folder()?;
    let schema = read(&folder.join(name)).ok()?;
    let judge = jsonschema::options()
        .with_base_uri(format!("{BASE}{RELEASE}{name}"))
        .with_retriever(Folder(folder))
        .should_validate_formats(true)
        .build(&schema);
    Some(judge.unwrap())
}

struct Folder(PathBuf);

impl Retrieve for Folder {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<serde_json::Value, Box<dyn Error + Send + Sync>> {
        let place = uri.as_str().strip_prefix(BASE).and_then(|path| path.strip_prefix(RELEASE));
        let path = self.0.join(place.ok_or("a foreign schema")?);
        // Not every folder of the published tree is there; what is not permits everything.
        if path.exists() { read(&path) } else { Ok(true.into()) }
    }
}

fn read(path: &Path) -> Result<serde_json::Value, Box<dyn Error + Send + Sync>> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

#[test]
fn answers_are_judged_where_the_schemas_are() {
    if folder().is_none() {
        return;
    }
    let bad = tradepost_wire::json::json!({"status": "completed", "accounts": [{"name": 1}]});
    let found = violations(Tool::ListAccounts, &bad);
    assert!(found.iter().any(|line| line.contains("account_id")), "{found:?}");
    let good = tradepost_wire::json::json!({"status": "completed", "accounts": []});
    assert_eq!(violations(Tool::ListAccounts, &good), Vec::<String>::new());
}
