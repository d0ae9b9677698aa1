//! What commands that serve share: the listener, the signals that stop them, and their log.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::log::Log;
use super::output::CommandFailure;

/// Binds an address; with port 0 the returned address has the port that was assigned.
///
/// # Errors
/// Fails when the address cannot be bound.
pub async fn bind(wanted: SocketAddr) -> Result<(TcpListener, SocketAddr), CommandFailure> {
    bind_by("--listen", wanted).await
}

/// Does the same for an address of the named option.
///
/// # Errors
/// Fails when the address cannot be bound.
pub async fn bind_by(
    option: &str,
    wanted: SocketAddr,
) -> Result<(TcpListener, SocketAddr), CommandFailure> {
    let listener = TcpListener::bind(wanted).await.map_err(|error| {
        CommandFailure::new(1, format!("cannot listen on {wanted}: {error}"))
            .hint(format!("choose another address with {option}"))
    })?;
    let address = listener.local_addr().map_err(CommandFailure::fault)?;
    Ok((listener, address))
}

/// Makes SIGUSR1 and SIGUSR2, which have no meaning here and would end the process, only be logged.
///
/// # Errors
/// Fails when signals cannot be received on this machine.
pub fn ignore_user_signals() -> Result<(), CommandFailure> {
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    if IS_DONE.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    for (kind, name) in
        [(SignalKind::user_defined1(), "SIGUSR1"), (SignalKind::user_defined2(), "SIGUSR2")]
    {
        let mut signals = signal(kind).map_err(CommandFailure::fault)?;
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                tracing::info!(signal = name, "a signal without a meaning here was ignored");
            }
        });
    }
    Ok(())
}

/// Resolves when the process is asked to stop. Signals without a meaning are ignored from then on.
///
/// # Errors
/// Fails when signals cannot be received on this machine.
pub fn stop_signal() -> Result<impl Future<Output = ()>, CommandFailure> {
    ignore_user_signals()?;
    let mut terminate = signal(SignalKind::terminate()).map_err(CommandFailure::fault)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CommandFailure::fault)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    })
}

/// Starts the log on standard error, so that standard output stays data.
///
/// # Errors
/// Fails when the filter cannot be read, or there is a log already.
pub fn start_log(filter: &str, as_json: bool) -> Result<Log, CommandFailure> {
    Log::start(filter, as_json)
        .map_err(|error| CommandFailure::new(1, format!("starting the log: {error}")))
}
