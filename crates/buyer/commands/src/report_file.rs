//! Reports that a command writes to files, in formats of its own.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum;

use super::Outcome;
use super::output::CommandFailure;

/// Additional report: its format and its file.
#[derive(Debug, Clone)]
pub struct ReportFile<F> {
    /// Format of the report.
    pub format: F,
    /// Path of the file.
    pub path: PathBuf,
}

impl<F: ValueEnum> FromStr for ReportFile<F> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (format, path) =
            text.split_once('=').ok_or("write FORMAT=FILE, such as junit=report.xml")?;
        if path.is_empty() {
            return Err("the name of the file is missing after the =".to_owned());
        }
        Ok(Self { format: F::from_str(format, false)?, path: path.into() })
    }
}

/// Writes a report to a file, and overwrites an existing one.
///
/// # Errors
/// Fails when the file cannot be written.
pub fn save(path: &Path, document: &str) -> Outcome {
    let written = std::fs::write(path, document.as_bytes());
    written.map_err(|error| {
        CommandFailure::new(1, format!("cannot write {}: {error}", path.display()))
    })
}
