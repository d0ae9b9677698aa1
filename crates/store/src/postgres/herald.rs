//! The session by which processes on one database hear of each other. Whatever a transaction of this
//! process has changed is told after it was committed, and not in it: a transaction that notifies keeps
//! every other one that does so from committing at the same time. What is lost on the way, with this
//! process or with the connection, is found by those who look every few seconds anyway.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc as threads};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{interval, sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Notification};
use tokio_postgres_rustls::MakeRustlsConnect;
use tradepost_wire::fault::{InternalError, chain};

use super::{PATIENCE, SETUP};
use crate::news::ChangeNotice;
use crate::tables::permits;
use crate::tables::processes::BEAT as PRESENT;

/// How often a process says that it is there, and looks whether it has missed anything.
const BEAT: Duration = Duration::from_secs(5);

/// How long to wait before connecting again.
const AGAIN: Duration = Duration::from_millis(250);

/// How much may wait to be told, here and to others. Who is behind by more is told that something was
/// missed, and looks.
const QUEUE: usize = 1_024;

const TELL: &str = "
    SELECT pg_notify('tradepost', line)
    FROM json_array_elements_text(CAST(CAST($1 AS TEXT) AS JSON)) AS line";

/// Who is told of news.
type Ear = Arc<dyn Fn(&ChangeNotice) + Send + Sync>;

/// Its connection, while there is one.
type Line = Arc<Mutex<Option<Arc<Client>>>>;

/// Tells other processes of news, and this one of theirs.
pub(super) struct NotifyListener {
    said: mpsc::Sender<ChangeNotice>,
    /// Whether others are to be told that something was not said.
    unsaid: Arc<AtomicBool>,
    ears: Arc<Mutex<Vec<Ear>>>,
    line: Line,
}

/// What was heard and is to be told here, on a thread that may wait.
#[derive(Clone)]
struct HeardNotice {
    news: threads::SyncSender<ChangeNotice>,
    /// Whether there was no room for something.
    missed: Arc<AtomicBool>,
}

impl HeardNotice {
    /// Starts the thread.
    fn start(ears: Arc<Mutex<Vec<Ear>>>) -> Result<Self, InternalError> {
        let (news, to_tell) = threads::sync_channel(QUEUE);
        let missed: Arc<AtomicBool> = Arc::default();
        let heard = Self { news, missed: Arc::clone(&missed) };
        // Whoever is told may read the database, and wait for it.
        std::thread::Builder::new()
            .name("store-news".to_owned())
            .spawn(move || {
                while let Ok(news) = to_tell.recv() {
                    let news = if missed.swap(false, Ordering::AcqRel) {
                        // One look finds all that waits as well: logs are read from where each
                        // reader is.
                        to_tell.try_iter().for_each(drop);
                        ChangeNotice::Any
                    } else {
                        news
                    };
                    // Copied, so that nobody who wants to be told waits for those who are being
                    // told.
                    let ears = ears.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    ears.iter().for_each(|ear| ear(&news));
                }
            })
            .map_err(InternalError::on("starting the thread for news"))?;
        Ok(heard)
    }

    /// Takes news. It never waits: the connection is read by whoever calls.
    fn take(&self, news: ChangeNotice) {
        if let Err(threads::TrySendError::Full(_)) = self.news.try_send(news) {
            self.missed.store(true, Ordering::Release);
        }
    }
}

/// With whom a herald speaks, and as whom.
pub(super) struct NotifyTarget {
    pub(super) config: Config,
    pub(super) tls: Option<MakeRustlsConnect>,
    pub(super) process: String,
}

impl NotifyListener {
    /// Starts one. It ends with the runtime that it is started on.
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

    /// Its connection, while there is one: for what has to be quick, or else is left.
    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has somebody told of news.
    pub(super) fn add(&self, ear: Ear) {
        self.ears.lock().unwrap_or_else(PoisonError::into_inner).push(ear);
    }

    /// Tells the others.
    pub(super) fn tell(&self, news: Vec<ChangeNotice>) {
        for news in news {
            // They look by themselves, too.
            if let Err(mpsc::error::TrySendError::Full(_)) = self.said.try_send(news) {
                self.unsaid.store(true, Ordering::Release);
            }
        }
    }
}

/// Connects. `heard` is told what the server says without being asked.
pub(super) async fn connect(
    config: &Config,
    tls: Option<MakeRustlsConnect>,
    heard: impl Fn(Notification) + Send + 'static,
) -> Result<Client, Error> {
    let client = match tls {
        Some(tls) => {
            let (client, connection) = config.connect(tls).await?;
            tokio::spawn(attend(connection, heard));
            client
        }
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(attend(connection, heard));
            client
        }
    };
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

/// What is to be said to others.
struct Lips {
    to_say: mpsc::Receiver<ChangeNotice>,
    unsaid: Arc<AtomicBool>,
}

impl Lips {
    /// Everything that waits, beginning with this: for what found no room, that something was missed.
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
        // Once for each time that it is lost.
        if was_heard && let Err(why) = ended {
            tracing::warn!(cause = %why, "other processes are not heard for a while");
        }
        sleep(AGAIN).await;
    }
}

/// Tells and hears until the connection is lost.
async fn converse(
    way: &NotifyTarget,
    lips: &mut Lips,
    heard: &HeardNotice,
    line: &Line,
) -> Result<(), String> {
    // Nobody is told before it listens, and by then it knows who it is.
    let own = Arc::new(AtomicI32::new(0));
    // Dropped with the connection.
    let (open, mut closed) = oneshot::channel::<()>();
    let (heard_here, self_here) = (heard.clone(), Arc::clone(&own));
    let hear = move |by: Notification| {
        let _open = &open;
        // The server sends what this connection has said back to it as well.
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
                soon(client.execute(PRESENT, &[&way.process])).await?;
                soon(client.execute(permits::TIDY, &[])).await?;
                // Whatever was missed is found now. The first tick comes at once, so that this
                // holds for the time without a connection, too.
                heard.take(ChangeNotice::Any);
            }
        }
    }
}

/// Says everything at once.
async fn say(client: &Client, all: &[ChangeNotice]) -> Result<(), String> {
    let lines: Vec<_> = all.iter().map(ChangeNotice::line).collect();
    let lines = tradepost_wire::json::to_string(&lines).map_err(|error| chain(&error))?;
    soon(client.execute(TELL, &[&lines])).await.map(|_| ())
}

async fn soon<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    let done = timeout(PATIENCE, work).await;
    done.map_err(|_| "the database does not answer".to_owned())?.map_err(|error| chain(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(seq: i64) -> ChangeNotice {
        ChangeNotice::Appended { task_id: "a task".to_owned(), seq, ended: false }
    }

    #[test]
    fn whoever_is_slow_to_hear_is_told_to_look_and_nothing_piles_up() {
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
        // It is being told, and there is room for as many again.
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
        let herald = NotifyListener {
            said,
            unsaid: Arc::clone(&lips.unsaid),
            ears: Arc::default(),
            line: Line::default(),
        };
        herald.tell(vec![ChangeNotice::Due, appended(1)]);
        let first = lips.to_say.try_recv().unwrap();
        assert_eq!(lips.all(first), [ChangeNotice::Due, appended(1)]);
        herald.tell(vec![ChangeNotice::Due, appended(2), appended(3), ChangeNotice::Changed]);
        let first = lips.to_say.try_recv().unwrap();
        assert_eq!(lips.all(first), [ChangeNotice::Any]);
    }
}
