//! The binary: hands the arguments, the environment and the terminal to the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    let environment = std::env::vars().collect();
    tradepost::cli::run(std::env::args_os(), environment)
}
