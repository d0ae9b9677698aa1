//! Binary: passes the arguments, the environment and the terminal to the command line.

use std::process::ExitCode;

/// Returns memory to the system soon after a burst, by a thread of its own. The system's allocator
/// keeps whatever lies below memory in use, and other allocators return it only when the thread
/// that allocated it allocates again.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    let environment = std::env::vars().collect();
    tradepost::cli::run(std::env::args_os(), environment)
}
