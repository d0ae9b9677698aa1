//! `tradepost init`: writes a configuration file in which every key is explained, or with `--wizard` the one that
//! follows from the answers to some questions.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use tradepost_document::json::json;
use tradepost_runtime::config::TEMPLATE;

use super::output::{CommandFailure, unwritten};
use super::{Context, Outcome};

mod wizard;

/// Arguments of `tradepost init`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// File to write.
    #[arg(long, value_name = "FILE", default_value = "tradepost.toml")]
    path: PathBuf,
    /// Replace an existing file.
    #[arg(long)]
    force: bool,
    /// Ask on the terminal for what a dealer needs to be online, test each answer, and write the
    /// configuration that follows. Nothing is written before the last question.
    #[arg(long, conflicts_with = "path")]
    wizard: bool,
    /// With --wizard: ask for what a publisher of advertising needs, instead of a dealer.
    #[arg(long, requires = "wizard")]
    publisher: bool,
    /// With --wizard: folder for the configuration, the secrets and the data [default: the working
    /// directory]
    #[arg(value_name = "DIR", requires = "wizard", conflicts_with = "path")]
    folder: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Fails when the file exists already, or cannot be written; and when the input of the wizard ends.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let Arguments { path, force, wizard, publisher, folder } = arguments;
    if wizard && context.output.is_json() {
        return Err(CommandFailure::usage("--wizard asks people, and has no output for programs")
            .hint("leave out --json, or write a file with every key explained: tradepost init"));
    }
    if wizard {
        let folder = folder.unwrap_or_else(|| ".".into());
        return match publisher {
            true => wizard::publisher::run(&folder, force, context),
            false => wizard::run(&folder, force, context),
        };
    }
    let mut options = OpenOptions::new();
    // The check and the creation are one step, so that nothing is overwritten in between.
    options.write(true).create(force).truncate(force).create_new(!force);
    let hint = "name another file with --path, or replace it with --force";
    let written = options.open(&path).and_then(|mut file| file.write_all(TEMPLATE.as_bytes()));
    written.map_err(|error| unwritten(&path, &error, hint))?;
    let name = path.display();
    context.output.answer(&json!({"path": path}), format!("wrote {name}"));
    if !context.output.is_json() {
        context.output.talk(format!(
            "set the dealer's id, name and rooftops in it, then run: tradepost check-config {name}"
        ));
        context.output.talk("or let `tradepost init --wizard` ask for what is needed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::Output;

    #[test]
    fn a_file_is_replaced_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tradepost.toml");
        let context = Context { environment: Vec::new(), output: Output::new(false) };
        let init = |force| {
            let path = path.clone();
            let publisher = false;
            run(Arguments { path, force, wizard: false, publisher, folder: None }, &context)
        };
        init(false).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), TEMPLATE);

        std::fs::write(&path, "# mine, and longer than nothing").unwrap();
        let failure = init(false).unwrap_err();
        assert_eq!(failure.exit, 2);
        assert!(failure.message.ends_with("exists already"), "{}", failure.message);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "# mine, and longer than nothing");

        init(true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), TEMPLATE);
    }
}
