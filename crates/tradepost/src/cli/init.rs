//! `tradepost init`: writes a configuration file in which every key is explained.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

use tradepost_document::json::json;

use super::output::unwritten;
use super::{Context, Outcome};
use crate::config::TEMPLATE;

/// Arguments of `tradepost init`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// File to write.
    #[arg(long, value_name = "FILE", default_value = "tradepost.toml")]
    path: PathBuf,
    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
///
/// # Errors
/// Fails when the file exists already, or cannot be written.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let Arguments { path, force } = arguments;
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
        let init = |force| run(Arguments { path: path.clone(), force }, &context);
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
