//! `tradepost man` and `tradepost completions`: files that packages install beside the binary.

use std::path::PathBuf;

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
    use crate::cli::CommandLine;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let folder = tempfile::tempdir().unwrap();
        man(&Man { folder: folder.path().to_owned() }, CommandLine::command()).unwrap();
        for command in CommandLine::command().get_subcommands() {
            let name = command.get_name();
            let page = folder.path().join(format!("tradepost-{name}.1"));
            let page = std::fs::read_to_string(page).unwrap();
            assert!(page.contains(r"\-\-json"), "{name}");
        }
        let missing = Man { folder: folder.path().join("missing") };
        let failure = man(&missing, CommandLine::command()).unwrap_err();
        assert!(failure.message.starts_with("the pages cannot be written to "), "{failure:?}");
    }
}
