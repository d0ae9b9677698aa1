//! `tradepost sandbox`: runs a scripted seller that grades its buyer.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Builder;
use tradepost_document::json::json;
use tradepost_sandbox::report::overview::{Form, Overview};
use tradepost_sandbox::script::{self, Script, SellerKind};
use tradepost_sandbox::watch::FindingLevel;
use tradepost_sandbox::{REPORT_PATH, Sandbox, server};
use tradepost_server::clock::Clock;
use tradepost_server::http::mcp::PATH;

use super::context::runtime;
use super::listening::{bind, stop_signal};
use super::nearest;
use super::output::table::TableColumn::Text;
use super::output::table::{self, Cells, TableWidth};
use super::output::{CommandFailure, Output, unreadable};
use super::report_file::{ReportFile, save};
use super::{Context, Outcome, toml_file};
use crate::demo::{DemoSellerFactory, TOKENS};

/// Exit code when the buyer made a mistake.
const BUYER_MISTAKE_EXIT_CODE: u8 = 3;

/// Value that lists the names of all scenarios.
const LIST_VALUE: &str = "list";

/// Format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people, in a terminal.
    Text,
    /// For programs.
    Json,
    /// For continuous integration.
    Junit,
    /// For people, as the summary of a job or as a comment.
    Markdown,
    /// Annotations of GitHub Actions: an error for each wrong request, a warning for each unwise
    /// one.
    Github,
}

impl From<Format> for Form {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Self::Text,
            Format::Json => Self::Json,
            Format::Junit => Self::Junit,
            Format::Markdown => Self::Markdown,
            Format::Github => Self::Github,
        }
    }
}

/// Arguments of `tradepost sandbox`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Name of the scenario that the seller follows, or `list` to list all scenarios.
    #[arg(long, value_name = "NAME", default_value = "calm")]
    scenario: String,
    /// Your own script instead of a scenario; docs/sandbox.md explains the file.
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    script: Option<PathBuf>,
    /// Address to listen on; port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Format of the report.
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Write the report to a file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write an additional report, such as junit=sandbox.xml. Repeatable.
    #[arg(long, value_name = "FORMAT=FILE")]
    also: Vec<ReportFile<Format>>,
    /// Stop after this number of requests from all buyers, instead of on Ctrl-C.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    until: Option<u64>,
    /// Number of vehicles that a dealer offers.
    #[arg(long, value_name = "N", default_value_t = 60)]
    size: usize,
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code; also when the buyer made a mistake.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let script = match &arguments.script {
        Some(path) => read(path)?,
        None if arguments.scenario == LIST_VALUE => {
            list(context);
            return Ok(());
        }
        None => built_in(&arguments.scenario)?,
    };
    let runtime = runtime(Builder::new_multi_thread())?;
    let folder = SandboxFolder::create()?;
    let report = runtime.block_on(play(script, &arguments, &folder.0, context))?;
    write(&report, &arguments, context.output)?;
    if report.is_well_behaved() {
        return Ok(());
    }
    let wrong = report.count(FindingLevel::Wrong);
    let failure = CommandFailure::new(
        BUYER_MISTAKE_EXIT_CODE,
        format!("a buyer made mistakes, findings: {wrong}"),
    );
    if !context.output.is_json() {
        Err(failure)
    } else if arguments.is_usual() {
        // One document: mistakes make it a failure that includes the report.
        Err(failure.data(json!({"report": report.document()})))
    } else {
        // The report has been printed already, with the mistakes.
        Err(CommandFailure { already_shown: true, ..failure })
    }
}

impl Arguments {
    /// Returns true when the report goes to standard output in the default format.
    fn is_usual(&self) -> bool {
        self.format.is_none() && self.out.is_none()
    }

    /// Returns true when standard output is lines for people, and not a document.
    fn speaks_on_standard_output(&self) -> bool {
        self.out.is_some() || matches!(self.format, None | Some(Format::Text))
    }
}

fn write(report: &Overview, arguments: &Arguments, output: Output) -> Outcome {
    // First, so that nothing is on standard output yet when one of them cannot be written.
    for also in &arguments.also {
        save(&also.path, &report.write(also.format.into()))?;
    }
    if output.is_json() && arguments.is_usual() {
        if report.is_well_behaved() {
            output.document(&json!({"report": report.document()}));
        }
        return Ok(());
    }
    let usual = if output.is_json() { Format::Json } else { Format::Text };
    let document = report.write(arguments.format.unwrap_or(usual).into());
    match &arguments.out {
        Some(path) => {
            save(path, &document)?;
            output.talk(format!("the report is in {}", path.display()));
        }
        None => output.line(document.trim_end()),
    }
    Ok(())
}

async fn play(
    script: Script,
    arguments: &Arguments,
    folder: &Path,
    context: &Context,
) -> Result<Overview, CommandFailure> {
    let (listener, address) = bind(arguments.listen).await?;
    let name = script.name.clone();
    let clock = Clock::system();
    let seller = script.seller;
    let factory = DemoSellerFactory { folder: folder.to_owned(), clock: clock.clone(), address };
    let sandbox = Sandbox::open(script, Arc::new(factory), arguments.size, clock, address)?;
    let sandbox = Arc::new(sandbox);
    let stopped = stop_signal()?;
    let mut finished = sandbox.finished();
    let until = arguments.until;
    let enough = async move {
        let enough = |count: &u64| until.is_some_and(|until| *count >= until);
        if finished.wait_for(enough).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    // Scripts wait for this line; it is on standard error when standard output is a document.
    let line = format!("listening on http://{address}");
    if arguments.speaks_on_standard_output() {
        context.output.say(line);
    } else {
        context.output.talk(line);
    }
    context.output.talk(format!("URL for one buyer alone: http://{address}/buyers/NAME"));
    context.output.talk(format!("scenario {name}; the report is at http://{address}{REPORT_PATH}"));
    if seller == SellerKind::Publisher {
        let [(token, _), ..] = TOKENS;
        let line = format!("AdCP over MCP at http://{address}{PATH}, with the token {token}");
        context.output.talk(line);
    }
    let stop = async {
        tokio::select! {
            () = stopped => {}
            () = enough => {}
        }
    };
    server::serve(listener, Arc::clone(&sandbox), stop).await;
    Ok(sandbox.report())
}

fn read(path: &Path) -> Result<Script, CommandFailure> {
    let hint = "docs/sandbox.md explains the file; `--scenario list` lists the built-in scenarios";
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| unreadable(path)(error).hint(hint))?;
    script::read(&text).map_err(|mistakes| toml_file::failure(path, &mistakes))
}

fn built_in(name: &str) -> Result<Script, CommandFailure> {
    let mut scripts = Script::built_in();
    let Some(found) = scripts.iter().position(|script| script.name == name) else {
        let names: Vec<_> = scripts.iter().map(|script| script.name.as_str()).collect();
        let all = format!("the scenarios are {}", names.join(", "));
        let hint = nearest::hint(name, names, all);
        return Err(CommandFailure::usage("no scenario has this name").hint(hint));
    };
    Ok(scripts.swap_remove(found))
}

fn list(context: &Context) {
    let scripts = Script::built_in();
    let scenario = |script: &Script| {
        let Script { name, description, rules, .. } = script;
        json!({"name": name, "description": description, "rules": rules.len()})
    };
    let columns: [Cells<'_, Script>; 2] = [
        (Text("scenario"), &|script| script.name.clone()),
        (Text("what the seller does"), &|script| script.description.clone()),
    ];
    let document = json!({"scenarios": scripts.iter().map(scenario).collect::<Vec<_>>()});
    context.output.answer(&document, table::items(TableWidth::Terminal, &scripts, &columns));
}

/// Temporary folder, deleted when the sandbox ends.
struct SandboxFolder(PathBuf);

impl SandboxFolder {
    fn create() -> Result<Self, CommandFailure> {
        let name = format!("tradepost-sandbox-{}", uuid::Uuid::now_v7());
        let path = std::env::temp_dir().join(name);
        let created = std::fs::create_dir(&path);
        created.map(|()| Self(path)).map_err(CommandFailure::fault)
    }
}

impl Drop for SandboxFolder {
    fn drop(&mut self) {
        // Anything left behind is only fictional data.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
