//! Binary of the buyer's half: passes the arguments, the environment and the terminal to the
//! command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let environment = std::env::vars().collect();
    tradepost_commands::program::run(std::env::args_os(), environment)
}
