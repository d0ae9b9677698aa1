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

/// Interval at which a process registers itself again and looks for changes it has missed.
const BEAT: Duration = Duration::from_secs(5);

/// Delay before connecting again.
const AGAIN: Duration = Duration::from_millis(250);

/// Maximum number of notices that wait, in each direction. A listener that is further behind is told that something was
/// missed, and looks.
const QUEUE: usize = 1_024;

const TELL: &str = "
    SELECT pg_notify('tradepost', line)
    FROM json_array_elements_text(CAST(CAST($1 AS TEXT) AS JSON)) AS line";

/// Callback for change notices.
type Ear = Arc<dyn Fn(&ChangeNotice) + Send + Sync>;

/// Connection of the listener, while there is one.
type Line = Arc<Mutex<Option<Arc<Client>>>>;

/// Sends notices to other processes, and passes theirs to the listeners of this one.
pub(super) struct NotifyListener {
    said: mpsc::Sender<ChangeNotice>,
    /// True when others are to be told that a notice was not sent.
    unsaid: Arc<AtomicBool>,
    ears: Arc<Mutex<Vec<Ear>>>,
    line: Line,
}

/// Notices that were received and wait for the listeners, on a thread that may block.
#[derive(Clone)]
struct HeardNotice {
    news: threads::SyncSender<ChangeNotice>,
    /// True when a notice found no room.
    missed: Arc<AtomicBool>,
}

impl HeardNotice {
    /// Starts the thread.
    fn start(ears: Arc<Mutex<Vec<Ear>>>) -> Result<Self, InternalError> {
        let (news, to_tell) = threads::sync_channel(QUEUE);
        let missed: Arc<AtomicBool> = Arc::default();
        let heard = Self { news, missed: Arc::clone(&missed) };
        // A listener may read the database, and wait for it.
        std::thread::Builder::new()
            .name("store-news".to_owned())
            .spawn(move || {
                while let Ok(news) = to_tell.recv() {
                    let news = if missed.swap(false, Ordering::AcqRel) {
                        // One look finds everything that waits as well: logs are read from the position of each reader.
                        to_tell.try_iter().for_each(drop);
                        ChangeNotice::Any
                    } else {
                        news
                    };
                    // Copied so that adding a listener does not wait for those that are being called.
                    let ears = ears.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    ears.iter().for_each(|ear| ear(&news));
                }
            })
            .map_err(InternalError::on("starting the thread for news"))?;
        Ok(heard)
    }

    /// Queues a notice. It never blocks, because the caller is reading the connection.
    fn take(&self, news: ChangeNotice) {
        if let Err(threads::TrySendError::Full(_)) = self.news.try_send(news) {
            self.missed.store(true, Ordering::Release);
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
        way: NotifyTarget,
        runtime: &tokio::runtime::Handle,
    ) -> Result<Self, InternalError> {
        let (said, to_say) = mpsc::channel(QUEUE);
        let (ears, line): (Arc<Mutex<Vec<Ear>>>, Line) = Default::default();
        let unsaid: Arc<AtomicBool> = Arc::default();
        let heard = HeardNotice::start(Arc::clone(&ears))?;
        let lips = Lips { to_say, unsaid: Arc::clone(&unsaid) };
        runtime.spawn(speak(way, lips, heard, Arc::clone(&line)));
        Ok(Self { said, unsaid, ears, line })
    }

    /// Returns its connection, while there is one, for calls that are skipped without one.
    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a listener.
    pub(super) fn add(&self, ear: Ear) {
        self.ears.lock().unwrap_or_else(PoisonError::into_inner).push(ear);
    }

    /// Queues notices for the other processes.
    pub(super) fn tell(&self, news: Vec<ChangeNotice>) {
        for news in news {
            // A full queue loses nothing: the others look by themselves, too.
            if let Err(mpsc::error::TrySendError::Full(_)) = self.said.try_send(news) {
                self.unsaid.store(true, Ordering::Release);
            }
        }
    }
}

/// A connection that was opened: its client, and the future that moves its bytes until it ends.
pub(super) struct OpenedConnection {
    pub(super) client: Client,
    pub(super) transfer: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Opens a connection. `heard` is called with the server's notifications.
pub(super) async fn open(
    config: &Config,
    tls: Option<MakeRustlsConnect>,
    heard: impl Fn(Notification) + Send + 'static,
) -> Result<OpenedConnection, Error> {
    match tls {
        Some(tls) => {
            let (client, connection) = config.connect(tls).await?;
            Ok(OpenedConnection { client, transfer: Box::pin(attend(connection, heard)) })
        }
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            Ok(OpenedConnection { client, transfer: Box::pin(attend(connection, heard)) })
        }
    }
}

/// Connects, and moves the bytes in a task of the current runtime. `heard` is called with the server's notifications.
async fn connect(
    config: &Config,
    tls: Option<MakeRustlsConnect>,
    heard: impl Fn(Notification) + Send + 'static,
) -> Result<Client, Error> {
    let OpenedConnection { client, transfer } = open(config, tls, heard).await?;
    tokio::spawn(transfer);
    client.batch_execute(SETUP).await?;
    Ok(client)
}

async fn attend<S, T>(mut connection: Connection<S, T>, heard: impl Fn(Notification))
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if let AsyncMessage::Notification(notification) = message {
            heard(notification);
        }
    }
}

/// Notices that wait to be sent to other processes.
struct Lips {
    to_say: mpsc::Receiver<ChangeNotice>,
    unsaid: Arc<AtomicBool>,
}

impl Lips {
    /// Returns all waiting notices, beginning with `first`; only [`ChangeNotice::Any`] when one found no room.
    fn all(&mut self, first: ChangeNotice) -> Vec<ChangeNotice> {
        let mut all = vec![first];
        while let Ok(news) = self.to_say.try_recv() {
            all.push(news);
        }
        if self.unsaid.swap(false, Ordering::AcqRel) { vec![ChangeNotice::Any] } else { all }
    }
}

async fn speak(way: NotifyTarget, mut lips: Lips, heard: HeardNotice, line: Line) {
    loop {
        let ended = converse(&way, &mut lips, &heard, &line).await;
        let was_heard = line.lock().unwrap_or_else(PoisonError::into_inner).take().is_some();
        // Logged once for each lost connection.
        if was_heard && let Err(why) = ended {
            tracing::warn!(cause = %why, "other processes are not heard for a while");
        }
        sleep(AGAIN).await;
    }
}

/// Sends and receives until the connection is lost.
async fn converse(
    way: &NotifyTarget,
    lips: &mut Lips,
    heard: &HeardNotice,
    line: &Line,
) -> Result<(), String> {
    // Notifications arrive only after LISTEN, and by then the session's own process id is known.
    let own = Arc::new(AtomicI32::new(0));
    // Dropped with the connection, which closes the channel.
    let (open, mut closed) = oneshot::channel::<()>();
    let heard_here = heard.clone();
    let self_here = Arc::clone(&own);
    let hear = move |by: Notification| {
        let _open = &open;
        // The server also sends back the notifications of this connection.
        if by.process_id() != self_here.load(Ordering::Acquire) {
            heard_here.take(ChangeNotice::read(by.payload()));
        }
    };
    let client = Arc::new(soon(connect(&way.config, way.tls.clone(), hear)).await?);
    let row = soon(client.query_one("SELECT pg_backend_pid()", &[])).await?;
    own.store(row.try_get(0).map_err(|error| chain(&error))?, Ordering::Release);
    soon(client.batch_execute("LISTEN tradepost")).await?;
    *line.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&client));
    let mut beat = interval(BEAT);
    loop {
        tokio::select! {
            _ = &mut closed => return Err("the connection was lost".to_owned()),
            Some(first) = lips.to_say.recv() => {
                let all = lips.all(first);
                say(&client, &all).await?;
            }
            _ = beat.tick() => {
                soon(client.execute(&processes::beat(), &[&way.process])).await?;
                soon(client.execute(permits::TIDY, &[])).await?;
                // Finds everything that was missed. The first tick comes at once, so that this covers the time without
                // a connection, too.
                heard.take(ChangeNotice::Any);
            }
        }
    }
}

/// Sends all notices in one statement.
async fn say(client: &Client, all: &[ChangeNotice]) -> Result<(), String> {
    let lines: Vec<_> = all.iter().map(ChangeNotice::line).collect();
    let lines = tradepost_document::json::to_string(&lines).map_err(|error| chain(&error))?;
    soon(client.execute(TELL, &[&lines])).await.map(|_| ())
}

async fn soon<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
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
        let (tell, news) = threads::channel();
        let (let_go, wait) = threads::channel::<()>();
        let wait = Mutex::new(wait);
        let ear = move |news: &ChangeNotice| {
            tell.send(news.clone()).unwrap();
            wait.lock().unwrap().recv().unwrap();
        };
        let ears: Arc<Mutex<Vec<Ear>>> = Arc::new(Mutex::new(vec![Arc::new(ear)]));
        let heard = HeardNotice::start(ears).unwrap();
        heard.take(appended(0));
        assert_eq!(news.recv().unwrap(), appended(0));
        // It is being delivered, and the queue has room for this many again.
        (1..=QUEUE).for_each(|seq| heard.take(appended(seq.try_into().unwrap())));
        assert!(!heard.missed.load(Ordering::Acquire));
        (0..3 * QUEUE).for_each(|_| heard.take(ChangeNotice::Due));
        let_go.send(()).unwrap();
        assert_eq!(news.recv().unwrap(), ChangeNotice::Any, "one look in the place of all of them");
        heard.take(ChangeNotice::Changed);
        let_go.send(()).unwrap();
        assert_eq!(news.recv().unwrap(), ChangeNotice::Changed);
        let_go.send(()).unwrap();
    }

    #[test]
    fn what_cannot_be_said_in_time_becomes_one_line() {
        let (said, to_say) = mpsc::channel(2);
        let mut lips = Lips { to_say, unsaid: Arc::default() };
        let notify_listener = NotifyListener {
            said,
            unsaid: Arc::clone(&lips.unsaid),
            ears: Arc::default(),
            line: Line::default(),
        };
        notify_listener.tell(vec![ChangeNotice::Due, appended(1)]);
        let first = lips.to_say.try_recv().unwrap();
        assert_eq!(lips.all(first), [ChangeNotice::Due, appended(1)]);
        notify_listener.tell(vec![
            ChangeNotice::Due,
            appended(2),
            appended(3),
            ChangeNotice::Changed,
        ]);
        let first = lips.to_say.try_recv().unwrap();
        assert_eq!(lips.all(first), [ChangeNotice::Any]);
    }
}
