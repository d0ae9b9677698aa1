//! A connection, and the way statements are sent over it: each is prepared once, and some are sent together. The thread
//! that waits for an answer reads it from the socket itself: a thread that reads for others would have to be woken for
//! each statement, and would have to wake the one that waits.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{join, join_all, pending, poll_immediate};
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, Error, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::PgError;
use super::notify;
use crate::sql::SqlValue;

/// A connection with its prepared statements, used by one thread at a time.
pub(super) struct PgConnection {
    client: Client,
    statements: Mutex<HashMap<String, Statement>>,
    io: Mutex<PgIo>,
}

/// Sends and receives the bytes of one connection, while a thread waits for it.
struct PgIo {
    /// Runtime of the thread that waits; `None` once it is shut down.
    runtime: Option<Runtime>,
    /// Moves the bytes; `None` once the connection has ended.
    transfer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl PgIo {
    /// Creates the runtime, without a connection.
    fn new() -> Result<Self, PgError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| PgError::Gone(error.to_string()))?;
        Ok(Self { runtime: Some(runtime), transfer: None })
    }

    /// Does some work on the connection, and blocks until it is done. Works in any context.
    fn block_on<T: Send>(
        &mut self,
        work: impl Future<Output = Result<T, PgError>> + Send,
    ) -> Result<T, PgError> {
        let Self { runtime: Some(runtime), transfer } = self else {
            return Err(PgError::Gone("the connection is closed".to_owned()));
        };
        let all = async {
            let moving = async {
                if let Some(bytes) = transfer {
                    bytes.await;
                    *transfer = None;
                }
                // What waits for an answer has learned by now that none will come.
                pending::<()>().await
            };
            tokio::select! {
                // Polled in this order: what the work sends leaves with the same poll.
                biased;
                done = work => done,
                () = moving => Err(PgError::Gone("the connection was lost".to_owned())),
            }
        };
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            // Other tasks of the caller's executor must not be blocked.
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| runtime.block_on(all)),
            // A runtime cannot wait inside of another one on the same thread.
            Ok(_) => std::thread::scope(|scope| {
                let done = scope.spawn(|| runtime.block_on(all)).join();
                done.unwrap_or_else(|_| Err(PgError::Gone("its thread has ended".to_owned())))
            }),
            Err(_) => runtime.block_on(all),
        }
    }
}

impl Drop for PgIo {
    fn drop(&mut self) {
        self.transfer = None;
        if let Some(runtime) = self.runtime.take() {
            // Blocking on the shutdown is not allowed everywhere, and there is nothing to wait for.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgConnection").finish_non_exhaustive()
    }
}

/// A statement with its values.
#[derive(Debug)]
pub(super) struct PgCall {
    sql: String,
    values: Vec<SqlValue<'static>>,
}

impl PgCall {
    pub(super) fn new(sql: &str, values: &[SqlValue<'_>]) -> Self {
        Self { sql: sql.to_owned(), values: SqlValue::owned(values) }
    }

    fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
    }
}

impl PgConnection {
    /// Connects, within a time limit.
    pub(super) fn open(
        config: &Config,
        tls: Option<MakeRustlsConnect>,
        limit: Duration,
    ) -> Result<Self, PgError> {
        let mut io = PgIo::new()?;
        let opened = io.block_on(within(limit, notify::open(config, tls, |_| ())))?;
        io.transfer = Some(opened.transfer);
        let client = opened.client;
        let connection = Self { client, statements: Mutex::default(), io: Mutex::new(io) };
        connection.wait(limit, connection.batch(notify::SETUP))?;
        Ok(connection)
    }

    /// Does some work on this connection, and blocks until it is done or the time is up. Works in any context.
    pub(super) fn wait<T: Send>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, PgError> {
        self.io().block_on(within(limit, work))
    }

    /// Returns true when the connection was closed, by whatever side.
    pub(super) fn is_closed(&self) -> bool {
        // The socket is read only while a call waits. The runtime polls it after the first yield, and what has
        // arrived is read after the second.
        let read = async {
            yield_now().await;
            yield_now().await;
            Ok(())
        };
        let mut io = self.io();
        let is_read = io.block_on(read).is_ok();
        drop(io);
        !is_read || self.client.is_closed()
    }

    /// Sends a statement whose answer nobody needs, and returns without waiting. What follows on this connection is
    /// done after it.
    pub(super) fn send_only(&self, sql: &str) -> Result<(), PgError> {
        self.io().block_on(async {
            // The first poll queues the statement, and the transfer sends it before this is polled again.
            let sent = poll_immediate(self.client.batch_execute(sql)).await;
            yield_now().await;
            match sent {
                Some(Err(error)) => Err(PgError::from_driver(&error)),
                Some(Ok(())) | None => Ok(()),
            }
        })
    }

    fn io(&self) -> std::sync::MutexGuard<'_, PgIo> {
        self.io.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs statements without values.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// Prepares a statement, once for each connection.
    async fn prepared(&self, PgCall { sql, values }: &PgCall) -> Result<Statement, Error> {
        let known = || self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = known().get(sql) {
            return Ok(statement.clone());
        }
        // The type comes from the value, also where the statement does not fix it.
        let types: Vec<Type> = values.iter().map(SqlValue::sql_type).collect();
        let statement = self.client.prepare_typed(sql, &types).await?;
        known().insert(sql.clone(), statement.clone());
        Ok(statement)
    }

    /// Runs a statement and returns the number of rows it has changed.
    pub(super) async fn execute(&self, call: &PgCall) -> Result<u64, Error> {
        let statement = self.prepared(call).await?;
        self.client.execute(&statement, &call.values()).await
    }

    /// Returns the rows of a query.
    pub(super) async fn query(&self, call: &PgCall) -> Result<Vec<Row>, Error> {
        let statement = self.prepared(call).await?;
        self.client.query(&statement, &call.values()).await
    }

    /// Sends the statements that were held back in a transaction, then `last`, in this order and without waiting in
    /// between: after the first that fails the server runs none of them.
    pub(super) async fn send<T>(
        &self,
        earlier: &[PgCall],
        last: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        // All are prepared before the first is sent: later ones would overtake a statement that is still being
        // prepared.
        for call in earlier {
            self.prepared(call).await?;
        }
        // Each is sent when it is first polled, and they are polled in this order: `join_all` does so with up to 30.
        let (earlier, last) =
            join(join_all(earlier.iter().map(|call| self.execute(call))), last).await;
        earlier.into_iter().try_for_each(|done| done.map(drop))?;
        last
    }
}

/// Does some work within a time limit.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, PgError> {
    match timeout(limit, work).await {
        Ok(done) => done.map_err(|error| PgError::from_driver(&error)),
        Err(_) => Err(PgError::NoAnswer),
    }
}
