//! Log of a serving process: lines go to standard error through a bounded queue with a thread of
//! its own, so that logging never blocks on a slow or absent reader. Lines that cannot be written
//! are dropped and counted, and the count is logged once writing works again.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::time::Duration;

use tracing::Subscriber;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, reload};

/// Maximum number of queued lines.
const MAX_QUEUED_LINES: usize = 4_096;

/// Maximum time for the last lines when the process ends.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Number of attempts within that time to queue the end marker.
const TRIES: u32 = 100;

/// Error of any type.
type BoxError = Box<dyn Error + Send + Sync>;

/// Running log. When it is dropped, the queued lines are written if there is a reader.
pub struct Log {
    queue: LogQueue,
    set_filter: Box<dyn Fn(Targets) -> Result<(), BoxError> + Send + Sync>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl Log {
    /// Starts the log of this process, to standard error.
    ///
    /// # Errors
    /// Fails when the filter cannot be read, there is a log already, or no thread can be started.
    pub fn start(filter: &str, as_json: bool) -> Result<Self, BoxError> {
        let (filter, handle) = reload::Layer::new(filter.parse::<Targets>()?);
        let queue = LogQueue::start(io::stderr(), as_json)?;
        let lines = queue.clone();
        let form = form(as_json, move || lines.clone());
        tracing_subscriber::registry().with(filter).with(form).try_init()?;
        let set_filter = Box::new(move |filter| Ok(handle.reload(filter)?));
        // A panic's message may quote what a caller sent, so only its location is logged.
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(place, "panicked");
        }));
        Ok(Self { queue, set_filter })
    }

    /// Applies another filter.
    ///
    /// # Errors
    /// Fails when the filter cannot be read; then nothing changes.
    pub fn filter(&self, filter: &str) -> Result<(), BoxError> {
        (self.set_filter)(filter.parse()?)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let (done, written) = sync_channel(1);
        let mut end = LogLine::End(done);
        // If the queue stays full there is no reader, and these lines would not be read either.
        for _ in 0..TRIES {
            match self.queue.entries.try_send(end) {
                Ok(()) => {
                    let _ = written.recv_timeout(LAST_LINES);
                    return;
                }
                Err(TrySendError::Full(entry)) => end = entry,
                Err(TrySendError::Disconnected(_)) => return,
            }
            // Nothing answers yet because the marker is not queued; this only waits.
            let _ = written.recv_timeout(LAST_LINES / TRIES);
        }
    }
}

/// Returns the layer that formats lines as JSON or as text.
fn form<S, W>(json: bool, writer: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let form = tracing_subscriber::fmt::layer().with_writer(writer);
    // It would print to standard error, and abort the process when that is closed.
    let form = form.log_internal_errors(false);
    if json { form.json().flatten_event(true).boxed() } else { form.boxed() }
}

/// Item in the queue.
enum LogLine {
    Line(Vec<u8>),
    /// Marker that is answered when everything before it is written.
    End(SyncSender<()>),
}

/// Sender to the thread that writes.
#[derive(Clone)]
struct LogQueue {
    entries: SyncSender<LogLine>,
    dropped: Arc<AtomicU64>,
}

impl LogQueue {
    fn start(out: impl Write + Send + 'static, json: bool) -> io::Result<Self> {
        let (entries, waiting) = sync_channel(MAX_QUEUED_LINES);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut writer = LogThread { out, dropped: Arc::clone(&dropped), json };
        std::thread::Builder::new().name("log".to_owned()).spawn(move || writer.run(&waiting))?;
        Ok(Self { entries, dropped })
    }
}

impl Write for LogQueue {
    /// Queues a whole line, which the formatter writes in one call.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.entries.try_send(LogLine::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Thread that writes.
struct LogThread<W> {
    out: W,
    dropped: Arc<AtomicU64>,
    json: bool,
}

impl<W: Write> LogThread<W> {
    /// Writes lines until the queue is closed. Reports missing lines when the queue is empty, at an end marker, and after
    /// every [`MAX_QUEUED_LINES`] lines.
    fn run(&mut self, entries: &Receiver<LogLine>) {
        let mut lines_since_report = 0;
        loop {
            let entry = match entries.try_recv() {
                Ok(entry) => entry,
                Err(TryRecvError::Disconnected) => return self.report_dropped(),
                Err(TryRecvError::Empty) => {
                    self.report_dropped();
                    lines_since_report = 0;
                    let Ok(entry) = entries.recv() else { return };
                    entry
                }
            };
            match entry {
                LogLine::Line(line) => {
                    if self.out.write_all(&line).is_err() {
                        self.dropped.fetch_add(1, Ordering::Relaxed);
                    }
                    lines_since_report += 1;
                }
                LogLine::End(done) => {
                    self.report_dropped();
                    let _ = done.send(());
                }
            }
            // During a flood the queue is never empty.
            if lines_since_report == MAX_QUEUED_LINES {
                self.report_dropped();
                lines_since_report = 0;
            }
        }
    }

    /// Reports the number of dropped lines, if there are any.
    fn report_dropped(&mut self) {
        let lines = self.dropped.swap(0, Ordering::Relaxed);
        if lines > 0 && self.out.write_all(&dropped_lines_report(lines, self.json)).is_err() {
            self.dropped.fetch_add(lines, Ordering::Relaxed);
        }
    }
}

/// Returns a line with the number of dropped ones, in the format of the others.
fn dropped_lines_report(lines: u64, json: bool) -> Vec<u8> {
    let (entries, written) = sync_channel(1);
    let queue = LogQueue { entries, dropped: Arc::default() };
    let log = tracing_subscriber::registry().with(form(json, move || queue.clone()));
    tracing::subscriber::with_default(log, || {
        tracing::warn!(lines, "lines of the log could not be written and are missing");
    });
    match written.try_recv() {
        Ok(LogLine::Line(line)) => line,
        Ok(LogLine::End(_)) | Err(_) => unreachable!("the subscriber has just written the line"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc;

    use super::*;

    /// Reader that blocks until it is released, and that may be closed.
    struct Reader {
        gate: Receiver<()>,
        closed: Arc<AtomicBool>,
        written: mpsc::Sender<String>,
    }

    impl Write for Reader {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            // Fails when the sender is dropped: then nothing blocks any more.
            let _ = self.gate.recv();
            if self.closed.load(Ordering::SeqCst) {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let _ = self.written.send(String::from_utf8(line.to_vec()).unwrap());
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stalled_reader_stops_nobody_and_learns_what_it_missed() {
        let (gate_keeper, gate) = mpsc::channel();
        let (written, read) = mpsc::channel();
        let reader = Reader { gate, closed: Arc::default(), written };
        let mut queue = LogQueue::start(reader, false).unwrap();
        for number in 0..2 * MAX_QUEUED_LINES {
            queue.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        drop((gate_keeper, queue));
        let (warnings, lines): (Vec<_>, Vec<_>) =
            read.iter().partition(|line| line.contains("WARN"));
        // One line may have been with the thread already.
        assert!(
            (MAX_QUEUED_LINES..=MAX_QUEUED_LINES + 1).contains(&lines.len()),
            "{}",
            lines.len()
        );
        assert_eq!((lines[0].as_str(), warnings.len()), ("0\n", 1));
        let missing = format!("are missing lines={}\n", 2 * MAX_QUEUED_LINES - lines.len());
        assert!(warnings[0].ends_with(&missing), "{warnings:?}");
    }

    #[test]
    fn lines_for_a_closed_reader_are_counted_until_it_reads() {
        let (gate_keeper, gate) = mpsc::channel();
        let (written, read) = mpsc::channel();
        drop(gate_keeper);
        let closed = Arc::new(AtomicBool::new(true));
        let reader = Reader { gate, closed: Arc::clone(&closed), written };
        let mut queue = LogQueue::start(reader, true).unwrap();
        let entries = queue.entries.clone();
        let settle = || {
            let (done, written) = sync_channel(1);
            entries.send(LogLine::End(done)).unwrap();
            written.recv().unwrap();
        };
        queue.write_all(b"one\n").unwrap();
        queue.write_all(b"two\n").unwrap();
        settle();
        closed.store(false, Ordering::SeqCst);
        queue.write_all(b"three\n").unwrap();
        settle();
        let lines: Vec<String> = read.try_iter().collect();
        let about = lines.iter().find(|line| *line != "three\n").unwrap();
        let about: tradepost_document::json::Value =
            tradepost_document::json::from_str(about).unwrap();
        let message = "lines of the log could not be written and are missing";
        assert_eq!((&about["message"], &about["lines"]), (&message.into(), &2.into()));
        assert_eq!(lines.len(), 2, "{lines:?}");
    }
}
