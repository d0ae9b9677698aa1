//! Where commands get the dealers from: a configuration file, or the demo.

use std::path::PathBuf;

use super::output::Failure;
use crate::config::{Config, read};

/// The folder that holds all state, when no other is named.
pub const DATA: &str = "tradepost-data";

/// The configuration file, when no other is named.
pub const CONFIG: &str = "tradepost.toml";

/// A configuration file or the demo.
#[derive(Debug, clap::Args)]
pub struct Source {
    /// The configuration file.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// A fictional dealer group instead of a configuration file.
    #[arg(long, conflicts_with = "config")]
    pub demo: bool,
}

impl Source {
    /// Reads the configuration.
    ///
    /// # Errors
    /// When the file cannot be read, or with every mistake in it.
    pub fn load(&self, environment: &[(String, String)]) -> Result<Config, Failure> {
        if self.demo {
            return Ok(read::demo());
        }
        let path = self.config.display();
        let text = std::fs::read_to_string(&self.config).map_err(|error| {
            Failure::usage(format!("cannot read {path}: {error}"))
                .hint("write one with `tradepost init`, or try `--demo`")
        })?;
        read::read(&text, environment).map_err(|mistakes| mistakes_failure(&self.config, &mistakes))
    }
}

/// Every mistake in a configuration file, as a command's failure.
#[must_use]
pub fn mistakes_failure(path: &std::path::Path, mistakes: &[read::Mistake]) -> Failure {
    let path = path.display();
    let count = match mistakes.len() {
        1 => "1 mistake".to_owned(),
        n => format!("{n} mistakes"),
    };
    let mut failure = Failure::usage(format!("{path} has {count}"))
        .hint("every key is explained in the file that `tradepost init` writes");
    failure.lines = mistakes
        .iter()
        .map(|mistake| {
            let line = mistake.line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{path}{line}: {}: {}", mistake.key, mistake.message)
        })
        .collect();
    let listed: Vec<_> = mistakes
        .iter()
        .map(|m| serde_json::json!({"line": m.line, "key": m.key, "message": m.message}))
        .collect();
    failure.data = Some(serde_json::json!({"mistakes": listed}));
    failure
}
