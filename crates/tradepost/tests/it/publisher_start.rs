//! A publisher's first steps: the wizard, the import of a catalogue, and the file of its domain.

use std::path::Path;
use std::process::{Command, Output, Stdio};

mod adagents;
mod import;
mod table;
mod wizard;

/// A table of two products.
const TABLE: &str = "\
Product ID,Product name,Description,Sizes,CPM,Currency,Section
news,News display,Banners on the news pages.,300x250,12,USD,news
sports,Sports display,Banners on the sports pages.,728x90; native,15,USD,sports
";

/// A configuration without a catalogue, with a comment of its author's.
const CONFIG: &str = "\
[server]
listen = \"127.0.0.1:0\"

# Mine.
[[publishers]]
id = \"gazette\" # never change
name = \"The Gazette\"
domain = \"gazette.example\"
public_url = \"https://ads.gazette.example\"
";

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.current_dir(folder).env_remove("TRADEPOST_SERVER__DATABASE").args(arguments);
    command
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    command(folder, arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
