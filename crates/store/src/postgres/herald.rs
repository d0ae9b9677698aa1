//! The session by which processes on one database hear of each other. Whatever a transaction of this
//! process has changed is told after it was committed, and not in it: a transaction that notifies keeps
//! every other one that does so from committing at the same time. What is lost on the way, with this
//! process or with the connection, is found by those who look every few seconds anyway.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError, mpsc as threads};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{interval, sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Notification};
use tokio_postgres_rustls::MakeRustlsConnect;
use tradepost_wire::fault::{Fault, chain};

use super::{PATIENCE, SETUP};
use crate::news::News;
use crate::tables::permits;
use crate::tables::processes::BEAT as PRESENT;

/// How often a process says that it is there, and looks whether it has missed anything.
const BEAT: Duration = Duration::from_secs(5);

/// How long to wait before connecting again.
const AGAIN: Duration = Duration::from_millis(250);

/// How much may wait to be told. What comes then is found by looking.
const QUEUE: usize = 1_024;

const TELL: &str = "
    SELECT pg_notify('tradepost', line)
    FROM json_array_elements_text(CAST(CAST($1 AS TEXT) AS JSON)) AS line";

/// Who is told of news.
type Ear = Arc<dyn Fn(&News) + Send + Sync>;

/// Its connection, while there is one.
type Line = Arc<Mutex<Option<Arc<Client>>>>;

/// Tells other processes of news, and this one of theirs.
pub(super) struct Herald {
    said: mpsc::Sender<News>,
    ears: Arc<Mutex<Vec<Ear>>>,
    line: Line,
}

/// With whom a herald speaks, and as whom.
pub(super) struct Way {
    pub(super) config: Config,
    pub(super) tls: Option<MakeRustlsConnect>,
    pub(super) process: String,
}

impl Herald {
    /// Starts one. It ends with the runtime that it is started on.
    pub(super) fn start(way: Way, runtime: &tokio::runtime::Handle) -> Result<Self, Fault> {
        let (said, to_say) = mpsc::channel(QUEUE);
        let (heard, to_tell) = threads::channel();
        let ears: Arc<Mutex<Vec<Ear>>> = Arc::default();
        let told = Arc::clone(&ears);
        // Whoever is told may read the database, and wait for it.
        std::thread::Builder::new()
            .name("store-news".to_owned())
            .spawn(move || {
                while let Ok(news) = to_tell.recv() {
                    // Copied, so that nobody who wants to be told waits for those who are being
                    // told.
                    let ears = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    ears.iter().for_each(|ear| ear(&news));
                }
            })
            .map_err(Fault::on("starting the thread for news"))?;
        let line = Line::default();
        runtime.spawn(speak(way, to_say, heard, Arc::clone(&line)));
        Ok(Self { said, ears, line })
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
    pub(super) fn tell(&self, news: Vec<News>) {
        for news in news {
            // They look by themselves, too.
            let _ = self.said.try_send(news);
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

async fn speak(
    way: Way,
    mut to_say: mpsc::Receiver<News>,
    heard: threads::Sender<News>,
    line: Line,
) {
    loop {
        let ended = converse(&way, &mut to_say, &heard, &line).await;
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
    way: &Way,
    to_say: &mut mpsc::Receiver<News>,
    heard: &threads::Sender<News>,
    line: &Line,
) -> Result<(), String> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let hear = move |notification| {
        // Nobody listens any more when the conversation has ended.
        let _ = tell.send(notification);
    };
    let client = Arc::new(soon(connect(&way.config, way.tls.clone(), hear)).await?);
    let own = soon(client.query_one("SELECT pg_backend_pid()", &[])).await?;
    let own: i32 = own.try_get(0).map_err(|error| chain(&error))?;
    soon(client.batch_execute("LISTEN tradepost")).await?;
    *line.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&client));
    let mut beat = interval(BEAT);
    loop {
        tokio::select! {
            notification = told.recv() => match notification {
                None => return Err("the connection was lost".to_owned()),
                // The server sends what this connection has said back to it as well.
                Some(by) if by.process_id() == own => {}
                Some(by) => drop(heard.send(News::read(by.payload()))),
            },
            Some(first) = to_say.recv() => say(&client, first, to_say).await?,
            _ = beat.tick() => {
                soon(client.execute(PRESENT, &[&way.process])).await?;
                soon(client.execute(permits::TIDY, &[])).await?;
                // Whatever was missed is found now. The first tick comes at once, so that this
                // holds for the time without a connection, too.
                drop(heard.send(News::Any));
            }
        }
    }
}

/// Says everything that waits at once.
async fn say(
    client: &Client,
    first: News,
    to_say: &mut mpsc::Receiver<News>,
) -> Result<(), String> {
    let mut lines = vec![first.line()];
    while let Ok(news) = to_say.try_recv() {
        lines.push(news.line());
    }
    let lines = tradepost_wire::json::to_string(&lines).map_err(|error| chain(&error))?;
    soon(client.execute(TELL, &[&lines])).await.map(|_| ())
}

async fn soon<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, String> {
    let done = timeout(PATIENCE, work).await;
    done.map_err(|_| "the database does not answer".to_owned())?.map_err(|error| chain(&error))
}
