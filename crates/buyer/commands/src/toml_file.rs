//! Mistakes in TOML files that people write: configurations, scripts and waivers.

use std::path::Path;

use tradepost_document::json::{Value, json};
use tradepost_document::toml::TomlMistake;

use super::output::CommandFailure;

/// Returns the failure with every mistake in a file, each with its line.
pub fn failure(path: &Path, mistakes: &[TomlMistake]) -> CommandFailure {
    let noun = if mistakes.len() == 1 { "mistake" } else { "mistakes" };
    let listed = mistakes.iter().map(
        |mistake| json!({"line": mistake.line, "key": mistake.key, "message": mistake.message}),
    );
    let listed: Vec<Value> = listed.collect();
    CommandFailure::usage(format!("{} has {} {noun}", path.display(), mistakes.len()))
        .lines(lines(path, mistakes))
        .hint("correct each line; `tradepost init` writes a file that explains every key")
        .data(json!({"code": "config_invalid", "path": path, "mistakes": listed}))
}

/// Formats mistakes in a file for people.
pub fn lines(path: &Path, mistakes: &[TomlMistake]) -> Vec<String> {
    let name = path.display();
    let line = |mistake: &TomlMistake| match mistake.line {
        Some(line) => format!("{name}:{line}: {mistake}"),
        None => format!("{name}: {mistake}"),
    };
    mistakes.iter().map(line).collect()
}
