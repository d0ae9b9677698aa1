//! The conformance agent as a process that keeps its tasks in a store. The process is this test binary
//! once more: cargo builds examples only where somebody asks for them.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser as _;
use tradepost_store::Store;

use crate::conformance::{Arguments, Stores, run};
use crate::process::Process;
use crate::support::client;

/// By which the process learns where its store is.
const DATA: &str = "TRADEPOST_TEST_AGENT_DATA";

/// By which the process learns what else it is to be, separated by spaces.
const ARGUMENTS: &str = "TRADEPOST_TEST_AGENT_ARGUMENTS";

/// The command that starts it.
pub fn command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["agent::it_says_where_it_listens_and_stops_when_told", "--exact"]);
    command.arg("--nocapture").env(DATA, data).env(ARGUMENTS, arguments.join(" "));
    command
}

/// Runs it, if this is the process, and ends without a word from the harness of the tests.
fn run_if_agent_process() {
    let Some(data) = std::env::var_os(DATA).map(PathBuf::from) else {
        return;
    };
    let arguments = std::env::var_os(ARGUMENTS).unwrap().into_string().unwrap();
    let arguments = ["agent", "--listen", "127.0.0.1:0"].into_iter().chain(arguments.split(' '));
    std::fs::create_dir_all(&data).unwrap();
    let store = Store::open(&data).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(run(Arguments::parse_from(arguments), Stores::from_store(store))).unwrap();
    std::process::exit(0);
}

#[test]
fn it_says_where_it_listens_and_stops_when_told() {
    run_if_agent_process();
    let folder = tempfile::tempdir().unwrap();
    let process = Process::agent(folder.path(), &["plain"]);
    let target = "/.well-known/agent-card.json";
    let card = client::request(process.address, "GET", target, &[], b"").json();
    assert_eq!(card["name"], "Tradepost conformance agent");
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
}
