//! `tradepost man` and `tradepost completions`: files that packages install beside the binary.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::Shell;

use super::Outcome;
use super::output::{CommandFailure, Output};

/// Arguments of `tradepost man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Folder for the pages, which must exist.
    folder: PathBuf,
}

/// Arguments of `tradepost completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// Shell of the script.
    shell: Shell,
}

impl Man {
    /// Returns the arguments for pages in a folder.
    #[must_use]
    pub fn into_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }
}

/// Writes a manual page for the program and one for each command.
///
/// # Errors
/// Fails when the folder cannot be written to.
pub fn man(arguments: &Man, program: clap::Command) -> Outcome {
    clap_mangen::generate_to(program, &arguments.folder).map_err(|error| {
        let folder = arguments.folder.display();
        CommandFailure::usage(format!("the pages cannot be written to {folder}: {error}"))
    })
}

/// Writes the completions of a shell to standard output.
///
/// # Errors
/// Fails when they cannot be written.
pub fn completions(arguments: &Completions, mut program: clap::Command, output: Output) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "tradepost", &mut script);
    output.hand_over(&script)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::program::BuyerCommandLine;

    #[test]
    fn pages_for_a_missing_folder_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        man(&Man::into_folder(folder.path()), BuyerCommandLine::command()).unwrap();
        assert!(folder.path().join("tradepost-probe.1").is_file());
        let missing = Man::into_folder(&folder.path().join("missing"));
        let failure = man(&missing, BuyerCommandLine::command()).unwrap_err();
        assert!(failure.message.starts_with("the pages cannot be written to "), "{failure:?}");
    }
}
