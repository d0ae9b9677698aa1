//! A closed-loop load generator for HTTP/1.1 on the loopback interface: every connection sends a
//! request, waits for the answer and sends the next. One thread, no HTTP library, so that it
//! costs little beside what it measures.
//!
//! `load ADDRESS once BODY` prints the answer to a request.
//! `load ADDRESS CONNECTIONS SECONDS REQUESTS BODY=ANSWER…` sends the bodies in turn until the
//! time is over or the number reached, and prints one line: requests, seconds, the 50th and 99th
//! percentile of the latency in microseconds, and the errors. An answer counts as an error unless
//! its status is 200 and it begins as the file `ANSWER` does. ADDRESS may have a path (`…:8080/mcp`),
//! which is `/a2a` otherwise; a bearer token comes from the environment (`LOAD_TOKEN`), and so do hosts that
//! are asked in turn (`LOAD_HOSTS`, `d{}.example:1..5000`: each number in the place of the brackets). Where a
//! body has `#########`, every request has a number of its own.

use std::borrow::Cow;
use std::cell::RefCell;
use std::error::Error;
use std::io::Write as _;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// Nothing on this machine takes longer to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Latencies are counted by the microsecond, up to here.
const SLOWEST_MICROS: usize = 200_000;

/// How much of an answer is compared: the envelope up to where `result` or `error` begins, before
/// the first identifier that is new in every answer.
const COMPARED: usize = 44;

/// Where requests go.
#[derive(Clone, Copy)]
struct Target<'a> {
    address: SocketAddr,
    path: &'a str,
}

/// What stands where every request has a number of its own.
const NUMBER: &[u8] = b"#########";

/// What is sent to which hosts, and how what comes back begins.
struct Exchange {
    requests: Vec<Vec<u8>>,
    /// Whether each is another.
    is_numbered: bool,
    beginning: Vec<u8>,
}

/// What all connections share.
struct Run {
    exchanges: Vec<Exchange>,
    end: Instant,
    state: RefCell<State>,
}

struct State {
    sent: usize,
    left: usize,
    answered: usize,
    errors: usize,
    micros: Vec<u32>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [named, rest @ ..] = arguments.as_slice() else {
        return Err("usage: load ADDRESS once BODY | \
                    load ADDRESS CONNECTIONS SECONDS REQUESTS BODY=ANSWER..."
            .into());
    };
    let (address, path) = named.split_once('/').unwrap_or((named, "a2a"));
    let address: SocketAddr = address.parse()?;
    let target = Target { address, path };
    if !address.ip().is_loopback() {
        return Err("only loopback addresses can be put under load".into());
    }
    match rest {
        [once, body] if once == "once" => print_answer(target, body).await,
        [connections, seconds, requests, files @ ..] if !files.is_empty() => {
            let run = Run {
                exchanges: files
                    .iter()
                    .map(|file| exchange(target, file))
                    .collect::<Result<_, _>>()?,
                end: Instant::now() + Duration::from_secs(seconds.parse()?),
                state: RefCell::new(State {
                    sent: 0,
                    left: requests.parse()?,
                    answered: 0,
                    errors: 0,
                    micros: vec![0; SLOWEST_MICROS],
                }),
            };
            measure(address, connections.parse()?, run).await
        }
        _ => Err("give once and a body, or connections, seconds, requests and bodies".into()),
    }
}

async fn print_answer(target: Target<'_>, body: &str) -> Result<(), Box<dyn Error>> {
    let mut stream = TcpStream::connect(target.address).await?;
    let mut buffer = Vec::new();
    let requests = requests(target, body)?;
    let request = requests.first().ok_or("no host is asked")?;
    let (_, body) = answer(&mut stream, &numbered(request, 0), &mut buffer).await?;
    std::io::stdout().write_all(body)?;
    Ok(())
}

fn exchange(target: Target<'_>, files: &str) -> Result<Exchange, Box<dyn Error>> {
    let (body, answer) = files.split_once('=').ok_or("write BODY=ANSWER")?;
    let mut beginning = std::fs::read(answer)?;
    beginning.truncate(COMPARED);
    let requests = requests(target, body)?;
    let is_numbered = requests.first().is_some_and(|request| numbered(request, 0) != *request);
    Ok(Exchange { requests, is_numbered, beginning })
}

/// A request with its number.
fn numbered(request: &[u8], number: usize) -> Vec<u8> {
    let digits = format!("{number:0width$}", width = NUMBER.len());
    let mut whole = Vec::with_capacity(request.len());
    let mut rest = request;
    while let Some((first, others)) = rest.split_first() {
        if let Some(others) = rest.strip_prefix(NUMBER) {
            whole.extend(digits.bytes());
            rest = others;
        } else {
            whole.push(*first);
            rest = others;
        }
    }
    whole
}

/// The hosts that are asked; the address itself when nothing else is said.
fn hosts(address: SocketAddr) -> Result<Vec<String>, Box<dyn Error>> {
    let Ok(said) = std::env::var("LOAD_HOSTS") else { return Ok(vec![address.to_string()]) };
    let (pattern, numbers) = said.rsplit_once(':').ok_or("LOAD_HOSTS is PATTERN:FIRST..LAST")?;
    let (first, last) = numbers.split_once("..").ok_or("LOAD_HOSTS is PATTERN:FIRST..LAST")?;
    let numbers = first.parse::<u32>()?..=last.parse()?;
    Ok(numbers.map(|number| pattern.replace("{}", &number.to_string())).collect())
}

fn requests(target: Target<'_>, body: &str) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let body = std::fs::read(body)?;
    let hosts = hosts(target.address)?;
    Ok(hosts.iter().map(|host| request(target, host, &body)).collect())
}

fn request(target: Target<'_>, host: &str, body: &[u8]) -> Vec<u8> {
    let path = target.path;
    let token = std::env::var("LOAD_TOKEN").ok();
    let credential = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let credential = credential.unwrap_or_default();
    let mut request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: tradepost-bench\r\nAccept: \
         application/json, text/event-stream, */*\r\n{credential}Content-Type: application/json\r\nA2A-Version: 1.0\r\nA2A-Extensions: \
         https://autoagentprotocol.org/extensions/aap/v1.1\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend(body);
    request
}

async fn measure(address: SocketAddr, connections: usize, run: Run) -> Result<(), Box<dyn Error>> {
    let run = Rc::new(run);
    let local = tokio::task::LocalSet::new();
    let started = Instant::now();
    let tasks: Vec<_> =
        (0..connections).map(|_| local.spawn_local(connection(address, Rc::clone(&run)))).collect();
    local
        .run_until(async {
            for task in tasks {
                task.await??;
            }
            Ok::<(), Box<dyn Error>>(())
        })
        .await?;
    let seconds = started.elapsed().as_secs_f64();
    let state = run.state.borrow();
    let median = percentile(&state.micros, 50);
    let slow = percentile(&state.micros, 99);
    let State { answered, errors, .. } = *state;
    writeln!(std::io::stdout(), "{answered} {seconds:.3} {median} {slow} {errors}")?;
    Ok(())
}

/// Sends and waits, until the run is over.
async fn connection(address: SocketAddr, run: Rc<Run>) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(64 * 1024);
    while let Some((exchange, request)) = next(&run) {
        let sent = Instant::now();
        let outcome = tokio::time::timeout(ANSWER_TIMEOUT, answer(&mut stream, &request, &mut buffer));
        let good = match outcome.await {
            Ok(Ok((status, body))) => status == 200 && body.starts_with(&exchange.beginning),
            Ok(Err(_)) | Err(_) => false,
        };
        let micros = usize::try_from(sent.elapsed().as_micros()).unwrap_or(usize::MAX);
        let mut state = run.state.borrow_mut();
        state.answered += 1;
        if let Some(count) = state.micros.get_mut(micros.min(SLOWEST_MICROS - 1)) {
            *count += 1;
        }
        if !good {
            state.errors += 1;
            drop(state);
            // What is left of a bad answer must not be taken for the next one.
            stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
        }
    }
    Ok(())
}

fn next(run: &Run) -> Option<(&Exchange, Cow<'_, [u8]>)> {
    let mut state = run.state.borrow_mut();
    if state.left == 0 || Instant::now() >= run.end {
        return None;
    }
    state.left -= 1;
    state.sent += 1;
    let round = state.sent / run.exchanges.len();
    let body = state.sent % run.exchanges.len();
    let exchange = run.exchanges.get(body)?;
    let request = exchange.requests.get(round % exchange.requests.len())?;
    let request = match exchange.is_numbered {
        true => Cow::Owned(numbered(request, state.sent)),
        false => Cow::Borrowed(request.as_slice()),
    };
    Some((exchange, request))
}

/// Sends a request and reads the whole answer: its status and body.
async fn answer<'b>(
    stream: &mut TcpStream,
    request: &[u8],
    buffer: &'b mut Vec<u8>,
) -> std::io::Result<(u16, &'b [u8])> {
    let bad = |what| std::io::Error::new(std::io::ErrorKind::InvalidData, what);
    stream.write_all(request).await?;
    buffer.clear();
    let (status, start, end) = loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err(bad("the connection ended within an answer"));
        }
        let Some(start) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            continue;
        };
        let head = buffer.get(..start).and_then(|head| std::str::from_utf8(head).ok());
        let head = head.ok_or_else(|| bad("the head is no text"))?;
        let (status, length) = read_head(head).ok_or_else(|| bad("the head is not readable"))?;
        break (status, start + 4, start + 4 + length);
    };
    while buffer.len() < end {
        if stream.read_buf(buffer).await? == 0 {
            return Err(bad("the connection ended within a body"));
        }
    }
    Ok((status, buffer.get(start..end).unwrap_or_default()))
}

fn read_head(head: &str) -> Option<(u16, usize)> {
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then_some(value.trim())
    });
    Some((status, length?.parse().ok()?))
}

/// The latency that so many percent of the answers did not exceed.
fn percentile(micros: &[u32], percent: u64) -> usize {
    let total: u64 = micros.iter().map(|count| u64::from(*count)).sum();
    let mut seen = 0;
    let reached = |count: &u32| {
        seen += u64::from(*count);
        seen * 100 >= total * percent
    };
    micros.iter().position(reached).unwrap_or_default()
}
