//! Reports that a command writes into files, in forms of which each command has its own.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::ValueEnum;

use super::Outcome;
use super::output::CommandFailure;

/// A further report: its form and its file.
#[derive(Debug, Clone)]
pub struct Also<F> {
    /// The form.
    pub format: F,
    /// The file.
    pub path: PathBuf,
}

impl<F: ValueEnum> FromStr for Also<F> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (format, path) =
            text.split_once('=').ok_or("write FORMAT=FILE, as junit=report.xml")?;
        if path.is_empty() {
            return Err("the name of the file is missing behind the =".to_owned());
        }
        Ok(Self { format: F::from_str(format, false)?, path: path.into() })
    }
}

/// Writes a report into a file, in place of what was there.
///
/// # Errors
/// When the file cannot be written.
pub fn save(path: &Path, document: &str) -> Outcome {
    let written = std::fs::write(path, document.as_bytes());
    written.map_err(|error| {
        CommandFailure::new(1, format!("cannot write {}: {error}", path.display()))
    })
}
