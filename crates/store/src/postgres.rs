//! The database on a server: PostgreSQL, which any number of processes share.
//!
//! What belongs to one dealer, publisher or agent is decided by one transaction at a time: before it
//! reads anything by which it decides, it takes the tenant's lock, and keeps it until it has ended.
//! Every statement after that sees what the transaction before has committed (READ COMMITTED takes a
//! new snapshot for each), so it is as if there were one writer.
//!
//! What takes time is going to the server and back. Statements of which only the effect counts are sent
//! together with what is waited for next, in their order (pipelining, PostgreSQL 15 §55.2.4).

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres_rustls::MakeRustlsConnect;
use tradepost_wire::fault::InternalError;

use super::news::ChangeNotice;
use super::sql::{SqlValue, params};
use super::sqlite::Schema;
use super::tables::permits::LEASE;

mod address;
mod broken;
mod herald;
mod link;
mod schema;
mod turn;
mod values;

pub use address::DatabaseUrl;
use broken::PgError;
use herald::{NotifyListener, NotifyTarget};
use link::{PgCall, PgConnection};
use turn::{TxStage, TxState};
pub(crate) use values::cell;

/// How long a statement may take, with waiting for others.
/// More than the server allows a statement (`SETUP`): it gives up
/// first, and the session stays of use.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long what has to be quick may take.
const QUICK: Duration = Duration::from_millis(250);

/// For how long nobody tries to connect again after it went wrong.
const REFUSED: Duration = Duration::from_millis(500);

/// How often a transaction is begun at most that others or the network have undone.
const TRIES: u32 = 8;

/// How many statements are kept back at most, to be sent together.
const KEPT_BACK: usize = 16;

/// How a transaction that writes begins.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// What a session agrees on. The server gives up what takes longer than whoever waits for it, and the
/// locks of a process that is stuck, or that the network has cut off.
/// And where commits were told not to wait for the disk, these do.
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

/// A database on a server, and the thread that speaks to it.
pub(crate) struct PgServer {
    url: DatabaseUrl,
    tls: Option<MakeRustlsConnect>,
    runtime: Option<Runtime>,
    /// When connecting went wrong, and why.
    refused: Mutex<Option<(Instant, PgError)>>,
    /// Under which name others know this process.
    process: String,
    /// Speaks with them, once somebody here listens.
    herald: OnceLock<NotifyListener>,
}

impl PgServer {
    /// The one at this address. Nothing is said to it yet.
    pub(crate) fn at(url: DatabaseUrl) -> Result<Arc<Self>, InternalError> {
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
            refused: Mutex::default(),
            process: uuid::Uuid::new_v4().to_string(),
            herald: OnceLock::new(),
        }))
    }

    /// Has `ear` told of what other processes do, and them of what this one does, from now on.
    pub(crate) fn hear(
        &self,
        ear: impl Fn(&ChangeNotice) + Send + Sync + 'static,
    ) -> Result<(), InternalError> {
        let herald = match self.herald.get() {
            Some(herald) => herald,
            None => {
                let (config, tls) = (self.url.config().clone(), self.tls.clone());
                let way = NotifyTarget { config, tls, process: self.process.clone() };
                let ended =
                    || InternalError::new("listening to other processes", "its thread has ended");
                let runtime = self.runtime.as_ref().ok_or_else(ended)?;
                let fresh = NotifyListener::start(way, runtime.handle())?;
                self.herald.get_or_init(|| fresh)
            }
        };
        herald.add(Arc::new(ear));
        Ok(())
    }

    /// A session, which is connected when it is used.
    pub(crate) fn session(self: &Arc<Self>) -> PgSession {
        PgSession {
            server: Arc::clone(self),
            link: RefCell::default(),
            turn: RefCell::default(),
            is_chosen: Cell::default(),
        }
    }

    /// Takes permits of a bucket, quickly or not at all: how many, when it will be full, in
    /// microseconds from now, and how many processes there are.
    pub(crate) fn lease(
        &self,
        bucket: [u8; 32],
        permits: i64,
        each: i64,
    ) -> Result<(i64, i64, i64), InternalError> {
        let client = self.herald.get().and_then(NotifyListener::client);
        let gone = || PgError::Gone("nobody listens".to_owned());
        let leased = client.ok_or_else(gone).and_then(|client| {
            self.wait_at_most(QUICK, async move {
                let types = [Type::BYTEA, Type::INT8, Type::INT8];
                let bucket = bucket.as_slice();
                let values = [&bucket as &(dyn ToSql + Sync), &permits, &each];
                let values: Vec<_> = values.into_iter().zip(types).collect();
                let row = client.query_typed(LEASE, &values).await?;
                let row = row.first().map(|row| (row.get(0), row.get(1), row.get(2)));
                Ok(row.unwrap_or_default())
            })
        });
        leased.map_err(|broken| broken.while_doing("leasing permits"))
    }

    /// Has something done on the database's thread, and waits for it wherever that is called.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    ) -> Result<T, PgError> {
        self.wait_at_most(PATIENCE, work)
    }

    fn wait_at_most<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    ) -> Result<T, PgError> {
        let gone = || PgError::Gone("its thread has ended".to_owned());
        let runtime = self.runtime.as_ref().ok_or_else(gone)?;
        let (sender, receiver) = sync_channel(1);
        runtime.spawn(async move {
            let done = match timeout(patience, work).await {
                Ok(done) => done.map_err(|error| PgError::of(&error)),
                Err(_) => Err(PgError::Silent),
            };
            // Whoever asked waits below.
            let _ = sender.send(done);
        });
        let receive = || receiver.recv().unwrap_or_else(|_| Err(gone()));
        // Others of the caller's executor must not wait with it.
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(receive),
            Ok(_) | Err(_) => receive(),
        }
    }

    fn connect(&self) -> Result<Arc<PgConnection>, PgError> {
        let lock = || self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, why)) = lock().as_ref()
            && at.elapsed() < REFUSED
        {
            return Err(why.clone());
        }
        let (config, tls) = (self.url.config().clone(), self.tls.clone());
        let connected = self.wait(async move {
            let client = herald::connect(&config, tls, |_| ()).await?;
            Ok(Arc::new(PgConnection::new(client)))
        });
        *lock() = connected.as_ref().err().map(|why| (Instant::now(), why.clone()));
        connected
    }
}

impl Drop for PgServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting for it is not allowed everywhere, and there is nothing to wait for.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PgServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.url)
    }
}

/// A session of a server, which is one thread's at a time. It is connected when it is used, and again
/// when the connection was lost.
pub(crate) struct PgSession {
    server: Arc<PgServer>,
    link: RefCell<Option<Arc<PgConnection>>>,
    turn: RefCell<TxState>,
    is_chosen: Cell<bool>,
}

impl fmt::Debug for PgSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({:?})", self.server)
    }
}

impl PgSession {
    /// Whether this session is the one of all that delivers: it has a lock that ends with its
    /// connection.
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
        self.link.borrow().as_ref().is_some_and(|link| !link.client.is_closed())
    }

    fn link(&self) -> Result<Arc<PgConnection>, PgError> {
        let known = self.link.borrow().clone();
        match known {
            Some(link) if !link.client.is_closed() => Ok(link),
            // What the transaction has done so far is lost.
            Some(_) if self.turn.borrow().stage == TxStage::Begun => {
                Err(PgError::Gone("the connection was lost".to_owned()))
            }
            Some(_) | None => {
                let link = self.server.connect()?;
                *self.link.borrow_mut() = Some(Arc::clone(&link));
                // The lock went with the connection that had it.
                self.is_chosen.set(false);
                Ok(link)
            }
        }
    }

    /// Notes what went wrong, and gives up a connection that is of no use.
    fn note(&self, broken: &PgError) {
        if broken.is_gone() {
            self.link.borrow_mut().take();
        }
        let mut turn = self.turn.borrow_mut();
        if turn.stage != TxStage::None {
            turn.broken.get_or_insert_with(|| broken.clone());
        }
    }

    /// Has something done once everything is done that was kept back. What goes wrong first is what went
    /// wrong.
    fn run<T, F>(&self, work: impl FnOnce(Arc<PgConnection>) -> F) -> Result<T, PgError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, tokio_postgres::Error>> + Send + 'static,
    {
        if let Some(broken) = &self.turn.borrow().broken {
            return Err(broken.clone());
        }
        let done = self.link().and_then(|link| {
            let (is_first, kept_back) = {
                let mut turn = self.turn.borrow_mut();
                let is_first = turn.stage == TxStage::Planned;
                if is_first {
                    turn.stage = TxStage::Begun;
                }
                (is_first, std::mem::take(&mut turn.kept_back))
            };
            let last = work(Arc::clone(&link));
            self.server.wait(async move {
                // Waited for: without it what follows would be done, each by itself.
                if is_first {
                    link.client.batch_execute(BEGIN).await?;
                }
                link.send(&kept_back, last).await
            })
        });
        done.inspect_err(|broken| self.note(broken))
    }

    /// Runs a statement of which nothing but its effect counts: in a transaction it is sent with the next
    /// one that is waited for, which is where it fails, too.
    pub(crate) fn execute(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<(), InternalError> {
        let kept_back = {
            let mut turn = self.turn.borrow_mut();
            if turn.stage == TxStage::None {
                drop(turn);
                return self.change(what, sql, values).map(drop);
            }
            turn.kept_back.push(PgCall::new(sql, values));
            turn.kept_back.len()
        };
        if kept_back < KEPT_BACK {
            return Ok(());
        }
        self.run(|_| async { Ok(()) }).map_err(|broken| broken.while_doing(what))
    }

    /// Runs a statement; how many rows it has changed.
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

    /// The rows of a query.
    pub(crate) fn query(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<Vec<Row>, InternalError> {
        let call = PgCall::new(sql, values);
        let found = self.run(|link| async move { link.query(&call).await });
        found.map_err(|broken| broken.while_doing(what))
    }

    fn batch(&self, sql: &'static str) -> Result<(), PgError> {
        self.run(|link| async move { link.client.batch_execute(sql).await })
    }

    /// Takes a tenant's lock, which ends with the transaction.
    pub(crate) fn lock(&self, tenant: &str) -> Result<(), InternalError> {
        const WHAT: &str = "waiting for a tenant's turn";
        const SQL: &str = "SELECT pg_advisory_xact_lock(hashtextextended($1, 20260401)),
                                  CAST(pg_current_xact_id() AS TEXT)";
        if self.turn.borrow().tenants.contains(tenant) {
            return Ok(());
        }
        let rows = self.query(WHAT, SQL, params![tenant])?;
        // Read while there still is an answer: it is needed when there is none any more.
        let number = rows.first().and_then(|row| row.try_get(1).ok());
        let mut turn = self.turn.borrow_mut();
        turn.tenants.insert(tenant.to_owned());
        turn.number = number;
        Ok(())
    }

    /// Runs `work` in a transaction, and again from the start when others or the network have undone
    /// it. `work` says whether to keep what it did.
    pub(crate) fn transaction(&self, mut work: impl FnMut() -> bool) -> Result<(), InternalError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.attempt(&mut work) {
                Err(broken) if tries < TRIES && broken.may_be_repeated() => {
                    tracing::debug!(cause = %broken, tries, "a transaction is done again");
                }
                ended => return ended.map_err(|broken| broken.while_doing("committing")),
            }
        }
    }

    fn attempt(&self, work: &mut impl FnMut() -> bool) -> Result<(), PgError> {
        *self.turn.borrow_mut() = TxState { stage: TxStage::Planned, ..TxState::default() };
        let is_kept = work();
        let broken = self.turn.borrow().broken.clone();
        if let Some(broken) = broken {
            // Whoever works may have overlooked it; COMMIT would undo all of it and be called well.
            self.undo();
            // Whoever wants nothing kept has lost nothing.
            return if is_kept || broken.may_be_repeated() { Err(broken) } else { Ok(()) };
        }
        if !is_kept {
            self.undo();
            return Ok(());
        }
        let is_untouched = {
            let turn = self.turn.borrow();
            turn.stage == TxStage::Planned && turn.kept_back.is_empty()
        };
        let committed = if is_untouched { Ok(()) } else { self.batch("COMMIT") };
        let turn = self.turn.take();
        let ended = match committed {
            Err(PgError::Gone(_) | PgError::Silent) => self.find_out(&turn),
            ended => ended,
        };
        if ended.is_ok()
            && let Some(herald) = self.server.herald.get()
        {
            herald.tell(turn.news);
        }
        ended
    }

    /// Has other processes told once the transaction is committed.
    pub(crate) fn tell(&self, news: ChangeNotice) {
        let mut turn = self.turn.borrow_mut();
        // Of one task the last entry says all.
        let is_later = |last: &ChangeNotice| match (last, &news) {
            (
                ChangeNotice::Appended { task_id: last, ended: false, .. },
                ChangeNotice::Appended { task_id, .. },
            ) => last == task_id,
            (last, news) => last == news,
        };
        match turn.news.last_mut().filter(|last| is_later(last)) {
            Some(last) => *last = news,
            None => turn.news.push(news),
        }
    }

    /// Under which name others know this process.
    pub(crate) fn process(&self) -> &str {
        &self.server.process
    }

    /// Begins a transaction; on a new connection when the one that there was is lost.
    fn begin(&self, how: &'static str) -> Result<(), PgError> {
        self.turn.take();
        match self.batch(how) {
            // A connection that was lost while nobody used it is found out by its next use.
            Err(broken) if broken.is_gone() => self.batch(how)?,
            ended => ended?,
        }
        self.turn.borrow_mut().stage = TxStage::Begun;
        Ok(())
    }

    fn undo(&self) {
        let is_begun = self.turn.take().stage == TxStage::Begun;
        if is_begun && self.is_connected() && self.batch("ROLLBACK").is_err() {
            // Without a connection there is nothing to undo.
            self.link.borrow_mut().take();
        }
    }

    /// Ends a transaction that has only read, without waiting for the server: what follows on this connection is done
    /// after it.
    fn send_rollback(&self) {
        let link = self.link.borrow().clone().filter(|link| !link.client.is_closed());
        let Some(link) = link else { return };
        // The first poll sends the statement; nobody needs its answer.
        let sent = link.client.batch_execute("ROLLBACK").now_or_never();
        if sent.is_some_and(|answered| answered.is_err()) {
            self.link.borrow_mut().take();
        }
    }

    /// Finds out what became of a transaction whose connection was lost while it was committed. Its
    /// locks are waited for first: whoever gets them knows that it has ended.
    fn find_out(&self, lost: &TxState) -> Result<(), PgError> {
        const WHAT: &str = "finding out what became of a transaction";
        let look = || -> Result<Option<String>, InternalError> {
            let Some(number) = &lost.number else { return Ok(None) };
            lost.tenants.iter().try_for_each(|tenant| self.lock(tenant))?;
            let sql = "SELECT pg_xact_status(CAST($1 AS xid8))";
            let rows = self.query(WHAT, sql, params![number])?;
            Ok(rows.first().and_then(|row| row.try_get(0).ok()))
        };
        self.begin("BEGIN").map_err(|_| PgError::Doubtful)?;
        let state = look();
        self.undo();
        match state.ok().flatten().as_deref() {
            Some("committed") => Ok(()),
            Some("aborted") => Err(PgError::Gone("the connection was lost".to_owned())),
            Some(_) | None => Err(PgError::Doubtful),
        }
    }

    /// Has something read in one consistent state.
    pub(crate) fn snapshot(&self, read: impl FnOnce()) -> Result<(), InternalError> {
        let begun = self.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        begun.map_err(|broken| broken.while_doing("beginning to read"))?;
        read();
        let broken = self.turn.borrow().broken.clone();
        if let Some(broken) = broken {
            self.undo();
            return Err(broken.while_doing("reading"));
        }
        self.turn.take();
        self.send_rollback();
        Ok(())
    }
}

/// Whether a lock of one session keeps another out. Some databases that speak PostgreSQL's protocol have
/// the functions, and all of them say yes; poolers that share sessions lend both the same one.
pub(crate) fn check_locks(one: &PgSession, other: &PgSession) -> Result<(), InternalError> {
    const WHAT: &str = "trying the database's locks";
    const TAKE: &str = "SELECT pg_try_advisory_lock(hashtextextended($1, 20260401))";
    const GIVE: &str = "SELECT pg_advisory_unlock(hashtextextended($1, 20260401))";
    // Of this process alone: others may be trying theirs.
    let name = one.process().to_owned();
    let ask = |session: &PgSession, sql| {
        let rows = session.query(WHAT, sql, params![name])?;
        Ok::<bool, InternalError>(rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false)))
    };
    let (first, second) = (ask(one, TAKE)?, ask(other, TAKE)?);
    // A pooler of transactions may have given it to another session than it was taken by.
    let given = ask(one, GIVE)?;
    if first && !second && given {
        return Ok(());
    }
    let cause = "its advisory locks keep nobody out, so that one thing could happen twice: connect to a \
                 PostgreSQL, and to it or a pooler that keeps sessions";
    Err(InternalError::new("opening the database", cause))
}

/// Brings the schema up to date, or says why it is not used. Processes that start together do so one
/// after the other.
pub(crate) fn prepare(session: &PgSession, schema: Schema) -> Result<(), InternalError> {
    let mut outcome = Ok(());
    session.transaction(|| {
        outcome = migrate(session, schema);
        outcome.is_ok()
    })?;
    outcome
}

fn migrate(session: &PgSession, schema: Schema) -> Result<(), InternalError> {
    const WHAT: &str = "opening the database";
    session.lock("the schema of tradepost")?;
    // Asked before it is made: a role that may create nothing can use tables that are up to date.
    let found = session.query(WHAT, "SELECT to_regclass('tradepost_schema') IS NOT NULL", &[])?;
    if !found.first().is_some_and(|row| row.try_get(0).unwrap_or(false)) {
        session.execute(WHAT, schema::VERSIONS, &[])?;
    }
    let known = session.query(WHAT, "SELECT max(version) FROM tradepost_schema", &[])?;
    let done: Option<i64> = known.first().and_then(|row| row.try_get(0).ok()).flatten();
    let done = usize::try_from(done.unwrap_or_default()).unwrap_or(usize::MAX);
    if done > schema::MIGRATIONS.len() {
        return Err(InternalError::new(WHAT, "it was written by a newer version of tradepost"));
    }
    if done == schema::MIGRATIONS.len() {
        return Ok(());
    }
    if schema == Schema::Keep && done > 0 {
        let cause = "it is of an older version of tradepost; `tradepost serve` or `tradepost migrate` \
                     brings it up to date";
        return Err(InternalError::new(WHAT, cause));
    }
    for step in schema::MIGRATIONS.iter().skip(done) {
        session.batch(step).map_err(|broken| broken.while_doing("migrating the database"))?;
    }
    let version = schema::MIGRATIONS.len();
    session.execute(
        WHAT,
        "INSERT INTO tradepost_schema (version) VALUES ($1)",
        params![version],
    )?;
    Ok(())
}
