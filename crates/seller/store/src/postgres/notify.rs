//! The session by which processes on one database notify each other. Changes of a transaction are sent after its
//! commit, and not in it: transactions that notify cannot commit at the same time. Notices that are lost, with this
//! process or with the connection, are made up for by listeners that look every few seconds anyway.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc as threads};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{interval, sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Notification};
use tokio_postgres_rustls::MakeRustlsConnect;
use tradepost_document::fault::{InternalError, chain};

pub(super) use super::SETUP;
use super::STATEMENT_TIMEOUT;
use crate::change_notice::ChangeNotice;
use crate::tables::permits;
use crate::tables::processes;

/// Interval at which a process registers itself again and looks for changes that it has missed.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Delay before connecting again.
const RECONNECT_DELAY: Duration = Duration::from_millis(250);

/// Maximum number of notices that wait, in each direction. A listener that is further behind is told that something was
/// missed, and looks.
const QUEUE: usize = 1_024;

/// Sends the notices of a JSON list.
const NOTIFY: &str = "
    SELECT pg_notify('tradepost', line)
    FROM json_array_elements_text(CAST(CAST($1 AS TEXT) AS JSON)) AS line";

/// Callback for change notices.
type ChangeCallback = Arc<dyn Fn(&ChangeNotice) + Send + Sync>;

/// Connection of the listener, while there is one.
type SharedClient = Arc<Mutex<Option<Arc<Client>>>>;

/// Sends notices to other processes, and passes theirs to the listeners of this one.
pub(super) struct NotifyListener {
    sender: mpsc::Sender<ChangeNotice>,
    /// True when others are to be told that a notice was not sent.
    has_dropped: Arc<AtomicBool>,
    callbacks: Arc<Mutex<Vec<ChangeCallback>>>,
    shared_client: SharedClient,
}

/// Notices that were received and wait for the listeners, on a thread that may block.
#[derive(Clone)]
struct IncomingNotices {
    queue: threads::SyncSender<ChangeNotice>,
    /// True when a notice found no room.
    has_missed: Arc<AtomicBool>,
}

impl IncomingNotices {
    /// Starts the thread.
    fn start(callbacks: Arc<Mutex<Vec<ChangeCallback>>>) -> Result<Self, InternalError> {
        let (queue, received) = threads::sync_channel(QUEUE);
        let has_missed: Arc<AtomicBool> = Arc::default();
        let incoming = Self { queue, has_missed: Arc::clone(&has_missed) };
        // A listener may read the database, and wait for it.
        std::thread::Builder::new()
            .name("store-notices".to_owned())
            .spawn(move || {
                while let Ok(notice) = received.recv() {
                    let notice = if has_missed.swap(false, Ordering::AcqRel) {
                        // One look finds everything that waits as well: logs are read from the position of each reader.
                        received.try_iter().for_each(drop);
                        ChangeNotice::Any
                    } else {
                        notice
                    };
                    // Copied so that adding a listener does not wait for those that are being called.
                    let callbacks =
                        callbacks.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    callbacks.iter().for_each(|callback| callback(&notice));
                }
            })
            .map_err(InternalError::on("starting the thread for change notices"))?;
        Ok(incoming)
    }

    /// Queues a notice. It never blocks, because the caller is reading the connection.
    fn take(&self, notice: ChangeNotice) {
        if let Err(threads::TrySendError::Full(_)) = self.queue.try_send(notice) {
            self.has_missed.store(true, Ordering::Release);
        }
    }
}

/// Connection settings of a listener, and the name of its process.
pub(super) struct NotifyTarget {
    pub(super) config: Config,
    pub(super) tls: Option<MakeRustlsConnect>,
    pub(super) process: String,
}

impl NotifyListener {
    /// Starts the listener. It ends with the runtime that it is started on.
    pub(super) fn start(
        target: NotifyTarget,
        runtime: &tokio::runtime::Handle,
    ) -> Result<Self, InternalError> {
        let (sender, queue) = mpsc::channel(QUEUE);
        let callbacks: Arc<Mutex<Vec<ChangeCallback>>> = Arc::default();
        let shared_client = SharedClient::default();
        let has_dropped: Arc<AtomicBool> = Arc::default();
        let incoming = IncomingNotices::start(Arc::clone(&callbacks))?;
        let outgoing = OutgoingNotices { queue, has_dropped: Arc::clone(&has_dropped) };
        runtime.spawn(run(target, outgoing, incoming, Arc::clone(&shared_client)));
        Ok(Self { sender, has_dropped, callbacks, shared_client })
    }

    /// Returns its connection, while there is one, for calls that are skipped without one.
    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.shared_client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a listener.
    pub(super) fn add(&self, callback: ChangeCallback) {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).push(callback);
    }

    /// Queues notices for the other processes.
    pub(super) fn notify(&self, notices: Vec<ChangeNotice>) {
        for notice in notices {
            // A full queue loses nothing: the others look by themselves, too.
            if let Err(mpsc::error::TrySendError::Full(_)) = self.sender.try_send(notice) {
                self.has_dropped.store(true, Ordering::Release);
            }
        }
    }
}

/// A connection that was opened: its client, and the future that moves its bytes until it ends.
pub(super) struct OpenedConnection {
    pub(super) client: Client,
    pub(super) transfer: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Opens a connection. `on_notification` is called with the server's notifications.
pub(super) async fn open(
    config: &Config,
    tls: Option<MakeRustlsConnect>,
    on_notification: impl Fn(Notification) + Send + 'static,
) -> Result<OpenedConnection, Error> {
    match tls {
        Some(tls) => {
            let (client, connection) = config.connect(tls).await?;
            Ok(OpenedConnection {
                client,
                transfer: Box::pin(read_messages(connection, on_notification)),
            })
        }
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            Ok(OpenedConnection {
                client,
                transfer: Box::pin(read_messages(connection, on_notification)),
            })
        }
    }
}

/// Connects, and moves the bytes in a task of the current runtime. `on_notification` is called with the server's
/// notifications.
async fn connect(
    config: &Config,
    tls: Option<MakeRustlsConnect>,
    on_notification: impl Fn(Notification) + Send + 'static,
) -> Result<Client, Error> {
    let OpenedConnection { client, transfer } = open(config, tls, on_notification).await?;
    tokio::spawn(transfer);
    client.batch_execute(SETUP).await?;
    Ok(client)
}

/// Moves the bytes of a connection until it ends.
async fn read_messages<S, T>(
    mut connection: Connection<S, T>,
    on_notification: impl Fn(Notification),
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if let AsyncMessage::Notification(notification) = message {
            on_notification(notification);
        }
    }
}

/// Notices that wait to be sent to other processes.
struct OutgoingNotices {
    queue: mpsc::Receiver<ChangeNotice>,
    has_dropped: Arc<AtomicBool>,
}

impl OutgoingNotices {
    /// Returns all waiting notices, beginning with `first`; only [`ChangeNotice::Any`] when one found no room.
    fn all(&mut self, first: ChangeNotice) -> Vec<ChangeNotice> {
        let mut all = vec![first];
        while let Ok(notice) = self.queue.try_recv() {
            all.push(notice);
        }
        if self.has_dropped.swap(false, Ordering::AcqRel) { vec![ChangeNotice::Any] } else { all }
    }
}

/// Connects again whenever the connection is lost.
async fn run(
    target: NotifyTarget,
    mut outgoing: OutgoingNotices,
    incoming: IncomingNotices,
    shared_client: SharedClient,
) {
    loop {
        let ended = exchange_notices(&target, &mut outgoing, &incoming, &shared_client).await;
        let was_connected =
            shared_client.lock().unwrap_or_else(PoisonError::into_inner).take().is_some();
        // Logged once for each lost connection.
        if was_connected && let Err(why) = ended {
            tracing::warn!(cause = %why, "other processes are not heard for a while");
        }
        sleep(RECONNECT_DELAY).await;
    }
}

/// Sends and receives until the connection is lost.
async fn exchange_notices(
    target: &NotifyTarget,
    outgoing: &mut OutgoingNotices,
    incoming: &IncomingNotices,
    shared_client: &SharedClient,
) -> Result<(), String> {
    // Notifications arrive only after LISTEN, and by then the session's own process id is known.
    let own = Arc::new(AtomicI32::new(0));
    // Dropped with the connection, which closes the channel.
    let (open, mut closed) = oneshot::channel::<()>();
    let incoming_here = incoming.clone();
    let self_here = Arc::clone(&own);
    let on_notification = move |by: Notification| {
        let _open = &open;
        // The server also sends back the notifications of this connection.
        if by.process_id() != self_here.load(Ordering::Acquire) {
            incoming_here.take(ChangeNotice::read(by.payload()));
        }
    };
    let client = Arc::new(
        within_timeout(connect(&target.config, target.tls.clone(), on_notification)).await?,
    );
    let row = within_timeout(client.query_one("SELECT pg_backend_pid()", &[])).await?;
    own.store(row.try_get(0).map_err(|error| chain(&error))?, Ordering::Release);
    within_timeout(client.batch_execute("LISTEN tradepost")).await?;
    *shared_client.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&client));
    let mut heartbeat = interval(HEARTBEAT);
    loop {
        tokio::select! {
            _ = &mut closed => return Err("the connection was lost".to_owned()),
            Some(first) = outgoing.queue.recv() => {
                let all = outgoing.all(first);
                send(&client, &all).await?;
            }
            _ = heartbeat.tick() => {
                within_timeout(client.execute(&processes::beat(), &[&target.process])).await?;
                within_timeout(client.execute(permits::DELETE_FULL_BUCKETS, &[])).await?;
                // Finds everything that was missed. The first tick comes at once, so that this covers the time without
                // a connection, too.
                incoming.take(ChangeNotice::Any);
            }
        }
    }
}

/// Sends all notices in one statement.
async fn send(client: &Client, all: &[ChangeNotice]) -> Result<(), String> {
    let lines: Vec<_> = all.iter().map(ChangeNotice::line).collect();
    let lines = tradepost_document::json::to_string(&lines).map_err(|error| chain(&error))?;
    within_timeout(client.execute(NOTIFY, &[&lines])).await.map(|_| ())
}

/// Waits at most the time that a statement may take.
async fn within_timeout<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    let done = timeout(STATEMENT_TIMEOUT, work).await;
    done.map_err(|_| "the database does not answer".to_owned())?.map_err(|error| chain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(seq: i64) -> ChangeNotice {
        ChangeNotice::Appended { task_id: "a task".to_owned(), seq, ended: false }
    }

    #[test]
    fn slow_listeners_are_told_to_look_and_nothing_piles_up() {
        let (sender, called_with) = threads::channel();
        let (release, wait) = threads::channel::<()>();
        let wait = Mutex::new(wait);
        let callback = move |notice: &ChangeNotice| {
            sender.send(notice.clone()).unwrap();
            wait.lock().unwrap().recv().unwrap();
        };
        let callbacks: Arc<Mutex<Vec<ChangeCallback>>> =
            Arc::new(Mutex::new(vec![Arc::new(callback)]));
        let incoming = IncomingNotices::start(callbacks).unwrap();
        incoming.take(appended(0));
        assert_eq!(called_with.recv().unwrap(), appended(0));
        // It is being delivered, and the queue has room for this many again.
        (1..=QUEUE).for_each(|seq| incoming.take(appended(seq.try_into().unwrap())));
        assert!(!incoming.has_missed.load(Ordering::Acquire));
        (0..3 * QUEUE).for_each(|_| incoming.take(ChangeNotice::Due));
        release.send(()).unwrap();
        assert_eq!(
            called_with.recv().unwrap(),
            ChangeNotice::Any,
            "one look in the place of all of them"
        );
        incoming.take(ChangeNotice::Changed);
        release.send(()).unwrap();
        assert_eq!(called_with.recv().unwrap(), ChangeNotice::Changed);
        release.send(()).unwrap();
    }

    #[test]
    fn notices_that_find_no_room_become_one_notice() {
        let (sender, queue) = mpsc::channel(2);
        let mut outgoing = OutgoingNotices { queue, has_dropped: Arc::default() };
        let notify_listener = NotifyListener {
            sender,
            has_dropped: Arc::clone(&outgoing.has_dropped),
            callbacks: Arc::default(),
            shared_client: SharedClient::default(),
        };
        notify_listener.notify(vec![ChangeNotice::Due, appended(1)]);
        let first = outgoing.queue.try_recv().unwrap();
        assert_eq!(outgoing.all(first), [ChangeNotice::Due, appended(1)]);
        notify_listener.notify(vec![
            ChangeNotice::Due,
            appended(2),
            appended(3),
            ChangeNotice::Changed,
        ]);
        let first = outgoing.queue.try_recv().unwrap();
        assert_eq!(outgoing.all(first), [ChangeNotice::Any]);
    }
}
