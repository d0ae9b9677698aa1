//! The store's PostgreSQL backend, which any number of processes share.
//!
//! Changes of one dealer, publisher or agent are made by one transaction at a time: before it reads anything that its
//! decision depends on, it takes the tenant's lock, and keeps it until it has ended. Every statement after that sees
//! what the transaction before has committed (READ COMMITTED takes a new snapshot for each), so it is as if there were
//! one writer.
//!
//! Round trips to the server cost the most time. Statements whose result is not needed are sent together with the next
//! one that is waited for, in their order (pipelining, PostgreSQL 15 §55.2.4).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::join;
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres_rustls::MakeRustlsConnect;
use tradepost_document::backoff::Backoff;
use tradepost_document::breaker::CircuitBreaker;
use tradepost_document::fault::InternalError;

use super::change_notice::ChangeNotice;
use super::sql::{SqlValue, params};
use super::tables::permits::{PermitsRow, lease};

mod address;
mod connection;
mod error;
mod notify;
mod prepare;
mod schema;
mod tx_state;
mod values;

pub use address::DatabaseUrl;
use connection::{PgCall, PgConnection};
use error::PgError;
use notify::{NotifyListener, NotifyTarget};
pub(crate) use prepare::{check_locks, prepare};
use tx_state::{TxStage, TxState};
pub(crate) use values::cell;

/// Time limit of a statement, including waiting for locks. Longer than the server's own limit (`SETUP`), so that the
/// server gives up first and the session stays usable.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(15);

/// Time limit for leasing permits, for which a request waits.
const LEASE_TIMEOUT: Duration = Duration::from_millis(250);

/// Time after a failed connection attempt during which no other is made.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

/// Maximum number of times that a transaction is begun, in all, when others or the network abort it. There is no pause
/// between: a lost connection is outlasted, and an outage is not.
const MAX_TRIES: u32 = 8;

/// Maximum number of statements that are deferred to be sent together.
const MAX_DEFERRED: usize = 16;

/// Statement that begins a transaction that writes.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// Statement that begins a transaction that reads one consistent snapshot.
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Settings of a session. The server gives up statements that take longer than their caller waits, and the locks of a
/// process that is stuck or cut off from the network. Commits wait for the disk even where the server's default is not
/// to.
const SETUP: &str = "
    SET statement_timeout = '12s';
    SET idle_in_transaction_session_timeout = '5s';
    SET tcp_keepalives_idle = 5;
    SET tcp_keepalives_interval = 2;
    SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = '10s';
    SET client_min_messages = warning;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'";

/// A database server, and the thread that listens to other processes of it.
pub(crate) struct PgServer {
    url: DatabaseUrl,
    tls: Option<MakeRustlsConnect>,
    runtime: Option<Runtime>,
    /// Holds back attempts to connect after one that failed.
    breaker: Mutex<CircuitBreaker<PgError>>,
    /// Start of the clock of `breaker`.
    started: Instant,
    /// Name of this process for the others.
    process: String,
    /// Exchanges notices with them, once this process has a listener.
    notify_listener: OnceLock<NotifyListener>,
}

impl PgServer {
    /// Creates the server of this address. Does not connect yet.
    pub(crate) fn from_url(url: DatabaseUrl) -> Result<Arc<Self>, InternalError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store-postgres")
            .enable_all()
            .build()
            .map_err(InternalError::on("starting the thread for the database"))?;
        let tls = url.tls()?;
        Ok(Arc::new(Self {
            url,
            tls,
            runtime: Some(runtime),
            breaker: Mutex::new(CircuitBreaker::new(Backoff::constant(RECONNECT_PAUSE))),
            started: Instant::now(),
            process: uuid::Uuid::new_v4().to_string(),
            notify_listener: OnceLock::new(),
        }))
    }

    /// Calls `callback` with changes made by other processes, and sends them those of this one, from now on.
    pub(crate) fn on_change(
        &self,
        callback: impl Fn(&ChangeNotice) + Send + Sync + 'static,
    ) -> Result<(), InternalError> {
        let notify_listener = match self.notify_listener.get() {
            Some(notify_listener) => notify_listener,
            None => {
                let config = self.url.config().clone();
                let tls = self.tls.clone();
                let target = NotifyTarget { config, tls, process: self.process.clone() };
                let ended =
                    || InternalError::new("listening to other processes", "its thread has ended");
                let runtime = self.runtime.as_ref().ok_or_else(ended)?;
                let new_listener = NotifyListener::start(target, runtime.handle())?;
                self.notify_listener.get_or_init(|| new_listener)
            }
        };
        notify_listener.add(Arc::new(callback));
        Ok(())
    }

    /// Returns a session that connects when it is first used.
    pub(crate) fn session(self: &Arc<Self>) -> PgSession {
        PgSession {
            server: Arc::clone(self),
            link: RefCell::default(),
            tx: RefCell::default(),
            is_chosen: Cell::default(),
        }
    }

    /// Takes permits of a bucket that holds `permits` of them and gets one in each `interval` (microseconds), quickly
    /// or not at all.
    pub(crate) fn lease_permits(
        &self,
        bucket: [u8; 32],
        permits: i64,
        interval: i64,
    ) -> Result<PermitsRow, InternalError> {
        let client = self.notify_listener.get().and_then(NotifyListener::client);
        let not_listening = || PgError::Gone("nobody listens".to_owned());
        let leased = client.ok_or_else(not_listening).and_then(|client| {
            self.run_with_timeout(LEASE_TIMEOUT, async move {
                let types = [Type::BYTEA, Type::INT8, Type::INT8];
                let bucket = bucket.as_slice();
                let values = [&bucket as &(dyn ToSql + Sync), &permits, &interval];
                let values: Vec<_> = values.into_iter().zip(types).collect();
                let row = client.query_typed(&lease(), &values).await?;
                let row = row.first().map(|row| PermitsRow {
                    permits: row.get("leased"),
                    full_in: row.get("full_in"),
                    processes: row.get("live"),
                });
                Ok(row.unwrap_or_default())
            })
        });
        leased.map_err(|broken| broken.while_doing("leasing permits"))
    }

    /// Runs `work` on the listener's thread and blocks until it is done or `limit` has passed, in any context.
    fn run_with_timeout<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    ) -> Result<T, PgError> {
        let thread_ended = || PgError::Gone("its thread has ended".to_owned());
        let runtime = self.runtime.as_ref().ok_or_else(thread_ended)?;
        let (sender, receiver) = sync_channel(1);
        runtime.spawn(async move {
            let done = match timeout(limit, work).await {
                Ok(done) => done.map_err(|error| PgError::from_driver(&error)),
                Err(_) => Err(PgError::NoAnswer),
            };
            // The caller is waiting below.
            let _ = sender.send(done);
        });
        let receive = || receiver.recv().unwrap_or_else(|_| Err(thread_ended()));
        // Other tasks of the caller's executor must not be blocked.
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(receive),
            Ok(_) | Err(_) => receive(),
        }
    }

    /// Opens a connection, unless an attempt has failed just now.
    fn connect(&self) -> Result<Arc<PgConnection>, PgError> {
        let breaker = || self.breaker.lock().unwrap_or_else(PoisonError::into_inner);
        // Not `try_ask`: a session has nothing to serve meanwhile, and the attempt of another may succeed at any moment.
        if let Some(why) = breaker().refusal(self.started.elapsed()) {
            return Err(why.clone());
        }
        let connected = PgConnection::open(self.url.config(), self.tls.clone(), STATEMENT_TIMEOUT);
        let connected = connected.map(Arc::new);
        match &connected {
            Ok(_) => breaker().succeeded(),
            Err(why) => {
                breaker().failed(self.started.elapsed(), why.clone());
            }
        }
        connected
    }
}

impl Drop for PgServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Blocking on the shutdown is not allowed everywhere, and there is nothing to wait for.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PgServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.url)
    }
}

/// A session on a server, used by one thread at a time. It connects when it is first used, and again after the
/// connection was lost.
pub(crate) struct PgSession {
    server: Arc<PgServer>,
    link: RefCell<Option<Arc<PgConnection>>>,
    tx: RefCell<TxState>,
    is_chosen: Cell<bool>,
}

impl fmt::Debug for PgSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:?})", self.server)
    }
}

impl PgSession {
    /// Returns true when this session is the one that delivers: it holds a lock that ends with its connection.
    pub(crate) fn is_chosen(&self) -> Result<bool, InternalError> {
        const SQL: &str = "SELECT pg_try_advisory_lock(hashtextextended('deliveries', 20260401))";
        if self.is_connected() && self.is_chosen.get() {
            return Ok(true);
        }
        let rows = self.query("asking who delivers", SQL, &[])?;
        self.is_chosen.set(rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false)));
        Ok(self.is_chosen.get())
    }

    fn is_connected(&self) -> bool {
        self.link.borrow().as_ref().is_some_and(|link| !link.is_closed())
    }

    /// Returns the connection of the session. Opens one when there is none or, outside a begun transaction, when it is
    /// closed.
    fn link(&self) -> Result<Arc<PgConnection>, PgError> {
        let known = self.link.borrow().clone();
        match known {
            // Its next statement notices that it was lost, and the work of the transaction with it.
            Some(link) if self.tx.borrow().stage == TxStage::Begun => Ok(link),
            Some(link) if !link.is_closed() => Ok(link),
            Some(_) | None => {
                let link = self.server.connect()?;
                *self.link.borrow_mut() = Some(Arc::clone(&link));
                // The lock ended with the connection that held it.
                self.is_chosen.set(false);
                Ok(link)
            }
        }
    }

    /// Remembers an error, and drops a connection that is no longer usable.
    fn note(&self, broken: &PgError) {
        if broken.is_gone() {
            self.link.borrow_mut().take();
        }
        let mut tx = self.tx.borrow_mut();
        if tx.stage != TxStage::None {
            tx.broken.get_or_insert_with(|| broken.clone());
        }
    }

    /// Sends the statements that were held back, then `work`. The first error is returned.
    fn run<T, F>(&self, work: impl FnOnce(Arc<PgConnection>) -> F) -> Result<T, PgError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        if let Some(broken) = &self.tx.borrow().broken {
            return Err(broken.clone());
        }
        let done = self.link().and_then(|link| {
            let mut tx = self.tx.borrow_mut();
            let stage = tx.stage;
            if stage != TxStage::None {
                tx.stage = TxStage::Begun;
            }
            let deferred = std::mem::take(&mut tx.deferred);
            drop(tx);
            let last = work(Arc::clone(&link));
            link.wait(STATEMENT_TIMEOUT, async {
                match stage {
                    // Waited for because without it each following statement would be a transaction of its own.
                    TxStage::Planned => link.batch(BEGIN).await?,
                    // Sent ahead, and not waited for: what was read without it is dropped.
                    TxStage::PlannedRead => {
                        let rest = link.send(&deferred, last);
                        let (begun, done) = join(link.batch(BEGIN_READ), rest).await;
                        return begun.and(done);
                    }
                    TxStage::None | TxStage::Begun => (),
                }
                link.send(&deferred, last).await
            })
        });
        done.inspect_err(|broken| self.note(broken))
    }

    /// Runs a statement whose result is not needed: in a transaction it is sent with the next one that is waited for,
    /// which then also returns its error.
    pub(crate) fn execute(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<(), InternalError> {
        let deferred_count = {
            let mut tx = self.tx.borrow_mut();
            if tx.stage == TxStage::None {
                drop(tx);
                return self.change(what, sql, values).map(drop);
            }
            tx.deferred.push(PgCall::new(sql, values));
            tx.deferred.len()
        };
        if deferred_count < MAX_DEFERRED {
            return Ok(());
        }
        self.run(|_| async { Ok(()) }).map_err(|broken| broken.while_doing(what))
    }

    /// Runs a statement and returns the number of rows it has changed.
    pub(crate) fn change(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<usize, InternalError> {
        let call = PgCall::new(sql, values);
        let changed = self.run(|link| async move { link.execute(&call).await });
        let changed = changed.map_err(|broken| broken.while_doing(what))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Returns the rows of a query.
    pub(crate) fn query(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<Row>, InternalError> {
        let call = Arc::new(PgCall::new(sql, values));
        let read = || {
            let call = Arc::clone(&call);
            self.run(|link| async move { link.query(&call).await })
        };
        let is_first_read = {
            let tx = self.tx.borrow();
            tx.stage == TxStage::PlannedRead && tx.deferred.is_empty()
        };
        let found = match read() {
            // A connection that was lost while idle is noticed by its next use.
            Err(broken) if is_first_read && broken.is_gone() => {
                self.plan(TxStage::PlannedRead);
                read()
            }
            found => found,
        };
        found.map_err(|broken| broken.while_doing(what))
    }

    fn batch(&self, sql: &'static str) -> Result<(), PgError> {
        self.run(|link| async move { link.batch(sql).await })
    }

    /// Takes a tenant's lock, which is released at the end of the transaction.
    pub(crate) fn lock(&self, tenant: &str) -> Result<(), InternalError> {
        const WHAT: &str = "waiting for a tenant's lock";
        const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 20260401)),
                                  CAST(pg_current_xact_id() AS TEXT) AS number";
        if self.tx.borrow().tenants.contains(tenant) {
            return Ok(());
        }
        let rows = self.query(WHAT, SQL, params![tenant])?;
        // Read now, because it is needed once the connection is lost.
        let number = rows.first().and_then(|row| row.try_get("number").ok());
        let mut tx = self.tx.borrow_mut();
        tx.tenants.insert(tenant.to_owned());
        tx.number = number;
        Ok(())
    }

    /// Runs `work` in a transaction, and again from the start when others or the network have aborted it. `work`
    /// returns true to commit.
    pub(crate) fn transaction(&self, mut work: impl FnMut() -> bool) -> Result<(), InternalError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.attempt(&mut work) {
                Err(broken) if tries < MAX_TRIES && broken.may_be_repeated() => {
                    tracing::debug!(cause = %broken, tries, "a transaction is done again");
                }
                ended => return ended.map_err(|broken| broken.while_doing("committing")),
            }
        }
    }

    /// Starts a transaction that begins with its first statement.
    fn plan(&self, stage: TxStage) {
        *self.tx.borrow_mut() = TxState { stage, ..TxState::default() };
    }

    /// Runs `work` once in a transaction; `work` returns true to commit.
    fn attempt(&self, work: &mut impl FnMut() -> bool) -> Result<(), PgError> {
        self.plan(TxStage::Planned);
        let is_kept = work();
        let broken = self.tx.borrow().broken.clone();
        if let Some(broken) = broken {
            // `work` may have ignored the error; COMMIT would roll everything back and report success.
            self.rollback();
            // Work that is to be rolled back loses nothing by an error.
            return if is_kept || broken.may_be_repeated() { Err(broken) } else { Ok(()) };
        }
        if !is_kept {
            self.rollback();
            return Ok(());
        }
        let is_untouched = {
            let tx = self.tx.borrow();
            tx.stage == TxStage::Planned && tx.deferred.is_empty()
        };
        let committed = if is_untouched { Ok(()) } else { self.batch("COMMIT") };
        let tx = self.tx.take();
        let ended = match committed {
            Err(PgError::Gone(_) | PgError::NoAnswer) => self.find_commit_outcome(&tx),
            ended => ended,
        };
        if ended.is_ok()
            && let Some(notify_listener) = self.server.notify_listener.get()
        {
            notify_listener.notify(tx.notices);
        }
        ended
    }

    /// Notifies other processes once the transaction is committed.
    pub(crate) fn notify(&self, notice: ChangeNotice) {
        let mut tx = self.tx.borrow_mut();
        // The last entry of a task says all about it.
        let is_later = |last: &ChangeNotice| match (last, &notice) {
            (
                ChangeNotice::Appended { task_id: last, ended: false, .. },
                ChangeNotice::Appended { task_id, .. },
            ) => last == task_id,
            (last, notice) => last == notice,
        };
        match tx.notices.last_mut().filter(|last| is_later(last)) {
            Some(last) => *last = notice,
            None => tx.notices.push(notice),
        }
    }

    /// Returns the name of this process for the others.
    pub(crate) fn process(&self) -> &str {
        &self.server.process
    }

    /// Begins a transaction, on a new connection when the current one is lost.
    fn begin(&self) -> Result<(), PgError> {
        self.tx.take();
        match self.batch("BEGIN") {
            // A connection that was lost while idle is noticed by its next use.
            Err(broken) if broken.is_gone() => self.batch("BEGIN")?,
            ended => ended?,
        }
        self.tx.borrow_mut().stage = TxStage::Begun;
        Ok(())
    }

    fn rollback(&self) {
        let is_begun = self.tx.take().stage == TxStage::Begun;
        if is_begun && self.is_connected() && self.batch("ROLLBACK").is_err() {
            // Without a connection there is nothing to roll back.
            self.link.borrow_mut().take();
        }
    }

    /// Ends a transaction that has only read, without waiting for the server: what follows on this connection is done
    /// after it.
    fn send_rollback(&self) {
        let link = self.link.borrow().clone();
        if link.is_some_and(|link| link.send_only("ROLLBACK").is_err()) {
            self.link.borrow_mut().take();
        }
    }

    /// Finds out the outcome of a transaction whose connection was lost during its commit. Takes its locks first: they
    /// are free only when it has ended.
    fn find_commit_outcome(&self, lost: &TxState) -> Result<(), PgError> {
        const WHAT: &str = "finding out what became of a transaction";
        let read_outcome = || -> Result<Option<String>, InternalError> {
            let Some(number) = &lost.number else { return Ok(None) };
            lost.tenants.iter().try_for_each(|tenant| self.lock(tenant))?;
            let sql = "SELECT pg_xact_status(CAST($1 AS xid8))";
            let rows = self.query(WHAT, sql, params![number])?;
            Ok(rows.first().and_then(|row| row.try_get(0).ok()))
        };
        self.begin().map_err(|_| PgError::InDoubt)?;
        let outcome = read_outcome();
        self.rollback();
        match outcome.ok().flatten().as_deref() {
            Some("committed") => Ok(()),
            Some("aborted") => Err(PgError::Gone("the connection was lost".to_owned())),
            Some(_) | None => Err(PgError::InDoubt),
        }
    }

    /// Runs `read` in one consistent snapshot.
    pub(crate) fn snapshot(&self, read: impl FnOnce()) -> Result<(), InternalError> {
        self.plan(TxStage::PlannedRead);
        read();
        let broken = self.tx.borrow().broken.clone();
        if let Some(broken) = broken {
            self.rollback();
            return Err(broken.while_doing("reading"));
        }
        if self.tx.take().stage == TxStage::Begun {
            self.send_rollback();
        }
        Ok(())
    }
}
