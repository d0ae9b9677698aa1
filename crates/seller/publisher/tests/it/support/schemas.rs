//! Answers against the published schemas of their tools, each release's own, which lie beside the
//! workspace; without them nothing is judged, and a test says so.

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use jsonschema::{Retrieve, Uri, Validator};
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpRelease;
use tradepost_document::json::Value;

use crate::beside::published;

const BASE: &str = "https://adcontextprotocol.org";

/// The releases that answers are judged in: all that are spoken.
pub(crate) const RELEASES: [AdcpRelease; 3] =
    [AdcpRelease::V3_0, AdcpRelease::V3_1, AdcpRelease::V3_2];

/// Where the published schemas of a release are, if they are there.
pub(crate) fn folder(release: AdcpRelease) -> Option<PathBuf> {
    published(&format!("spec/adcp/{release}"))
}

/// What stands before the names of a release's schemas.
fn prefix(release: AdcpRelease) -> &'static str {
    match release {
        AdcpRelease::V3_0 => "/schemas/3.0.18/",
        AdcpRelease::V3_1 => "/schemas/3.1.19/",
        AdcpRelease::V3_2 => "/schemas/3.2.4/",
    }
}

/// What a release's published schema of a tool's response has against an answer.
pub(crate) fn violations(release: AdcpRelease, tool: AdcpTool, answer: &Value) -> Vec<String> {
    against(release, &response(release, tool), answer)
}

/// Whether a release publishes a tool's responses in several arms, one of which is for failures.
pub(crate) fn has_arms(release: AdcpRelease, tool: AdcpTool) -> bool {
    let path = folder(release).map(|folder| folder.join(response(release, tool)));
    path.and_then(|path| read(&path).ok()).is_some_and(|schema| schema.get("oneOf").is_some())
}

fn response(release: AdcpRelease, tool: AdcpTool) -> String {
    match (release, tool) {
        // There the tools have a slash in their names, and their schemas lie elsewhere.
        (AdcpRelease::V3_0, AdcpTool::GetTaskStatus) => "core/tasks-get-response.json".to_owned(),
        (AdcpRelease::V3_0, AdcpTool::ListTasks) => "core/tasks-list-response.json".to_owned(),
        _ => format!("{}.json", tool.request().replace("-request", "-response")),
    }
}

/// What a release's published schema (`core/mcp-webhook-payload.json`) has against a document.
pub(crate) fn against(release: AdcpRelease, name: &str, document: &Value) -> Vec<String> {
    type Validators = HashMap<(AdcpRelease, String), Option<Validator>>;
    static VALIDATORS: OnceLock<Mutex<Validators>> = OnceLock::new();
    let mut validators = VALIDATORS.get_or_init(Mutex::default).lock().unwrap();
    let key = (release, name.to_owned());
    let Some(validator) = validators.entry(key).or_insert_with(|| build_validator(release, name))
    else {
        return Vec::new();
    };
    validator
        .iter_errors(&document.into())
        .map(|error| format!("{release} {}: {error}", error.instance_path()))
        .collect()
}

fn build_validator(release: AdcpRelease, name: &str) -> Option<Validator> {
    let folder = folder(release)?;
    let schema = read(&folder.join(name)).ok()?;
    let prefix = prefix(release);
    let validator = jsonschema::options()
        .with_base_uri(format!("{BASE}{prefix}{name}"))
        .with_retriever(Folder(folder, prefix))
        .should_validate_formats(true)
        .build(&schema);
    Some(validator.unwrap())
}

struct Folder(PathBuf, &'static str);

impl Retrieve for Folder {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<serde_json::Value, Box<dyn Error + Send + Sync>> {
        let place = uri.as_str().strip_prefix(BASE).and_then(|path| path.strip_prefix(self.1));
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
    let there: Vec<_> = RELEASES.into_iter().filter(|release| folder(*release).is_some()).collect();
    for release in there {
        check_release(release);
    }
}

fn check_release(release: AdcpRelease) {
    let bad = tradepost_document::json::json!({"status": "completed", "accounts": [{"name": 1}]});
    let found = violations(release, AdcpTool::ListAccounts, &bad);
    assert!(found.iter().any(|line| line.contains("account_id")), "{found:?}");
    let good = tradepost_document::json::json!({"status": "completed", "accounts": []});
    assert_eq!(violations(release, AdcpTool::ListAccounts, &good), Vec::<String>::new());
}
