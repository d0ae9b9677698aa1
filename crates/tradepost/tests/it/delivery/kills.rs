//! A server that is killed over and over, at every step of a delivery by POST and by mail.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tradepost_store::Store;

use super::*;
use crate::process::{Process, data};

/// How often the server is killed at each step.
const ROUNDS: usize = 9;

/// Where a server is when it is killed: those of a way as its receiver sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The buyer has the receipt.
    Acknowledged,
    HttpConnected,
    HttpAsked,
    HttpAnswered,
    MailConnected,
    MailHello,
    MailFrom,
    MailTo,
    MailData,
    MailHanded,
    MailAnswered,
    /// It is on disk that all receivers have it.
    Noted,
}

const STEPS: [Step; 12] = [
    Step::Acknowledged,
    Step::HttpConnected,
    Step::HttpAsked,
    Step::HttpAnswered,
    Step::MailConnected,
    Step::MailHello,
    Step::MailFrom,
    Step::MailTo,
    Step::MailData,
    Step::MailHanded,
    Step::MailAnswered,
    Step::Noted,
];

/// A document that arrived.
struct Arrived {
    destination: &'static str,
    body: String,
    /// How many servers had been killed before.
    killed: usize,
}

/// What receivers share: at which step the server is to be killed, and what has arrived.
struct Gate {
    armed: Mutex<Option<Step>>,
    reached: Mutex<Sender<()>>,
    dead: Mutex<Receiver<()>>,
    killed: Mutex<usize>,
    connections: Mutex<usize>,
    arrived: Mutex<Vec<Arrived>>,
}

impl Gate {
    /// Waits, at the step at which the server is to be killed, until it is. Whether it was.
    fn pass(&self, step: Step) -> bool {
        let is_here = self.armed.lock().unwrap().take_if(|armed| *armed == step).is_some();
        if is_here {
            self.reached.lock().unwrap().send(()).unwrap();
            self.dead.lock().unwrap().recv().unwrap();
        }
        is_here
    }

    fn take(&self, destination: &'static str, body: String) {
        let killed = *self.killed.lock().unwrap();
        self.arrived.lock().unwrap().push(Arrived { destination, body, killed });
    }
}

/// Listens, and has every connection served by somebody of its own.
fn listen(gate: &Arc<Gate>, serve: fn(&Gate, TcpStream) -> std::io::Result<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let gate = Arc::clone(gate);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let gate = Arc::clone(&gate);
            *gate.connections.lock().unwrap() += 1;
            std::thread::spawn(move || {
                // That the server is gone is what this is about.
                let _ = serve(&gate, stream);
                *gate.connections.lock().unwrap() -= 1;
            });
        }
    });
    address
}

fn post(gate: &Gate, stream: TcpStream) -> std::io::Result<()> {
    // What the server may have written is not read: it has not arrived.
    if gate.pass(Step::HttpConnected) {
        return Ok(());
    }
    let mut wire = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        match wire.read_line(&mut line)? {
            0 => return Ok(()),
            1 | 2 => break,
            _ => {}
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    wire.read_exact(&mut body)?;
    gate.take("crm", String::from_utf8(body).unwrap());
    gate.pass(Step::HttpAsked);
    wire.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    gate.pass(Step::HttpAnswered);
    Ok(())
}

fn mail(gate: &Gate, stream: TcpStream) -> std::io::Result<()> {
    gate.pass(Step::MailConnected);
    let mut wire = BufReader::new(stream);
    wire.get_mut().write_all(b"220 ready\r\n")?;
    loop {
        let mut line = String::new();
        if wire.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let (step, answer) = match line.get(..4) {
            Some("EHLO") => (Some(Step::MailHello), "250 mail.example\r\n"),
            Some("MAIL") => (Some(Step::MailFrom), "250 ok\r\n"),
            Some("RCPT") => (Some(Step::MailTo), "250 ok\r\n"),
            Some("DATA") => (Some(Step::MailData), "354 go on\r\n"),
            _ => (None, "221 goodbye\r\n"),
        };
        if let Some(step) = step {
            gate.pass(step);
        }
        wire.get_mut().write_all(answer.as_bytes())?;
        if step == Some(Step::MailData) {
            let mut body = String::new();
            while !body.ends_with("\r\n.\r\n") {
                if wire.read_line(&mut body)? == 0 {
                    return Ok(());
                }
            }
            gate.take("mail", body);
            gate.pass(Step::MailHanded);
            wire.get_mut().write_all(b"250 taken\r\n")?;
            gate.pass(Step::MailAnswered);
        }
    }
}

fn config([http, mail]: [SocketAddr; 2]) -> String {
    let port = mail.port();
    format!(
        r#"
        [server]
        listen = "127.0.0.1:0"
        [[dealers]]
        id = "bare"
        name = "Bare Motors"
        rate_limit = {{ requests = 0 }}
        [dealers.leads.velocity]
        per_address = 100000
        all = 100000
        [[dealers.deliveries]]
        name = "crm"
        by = "https"
        url = "http://{http}/leads"
        [[dealers.deliveries]]
        name = "mail"
        by = "smtp"
        host = "127.0.0.1"
        port = {port}
        tls = "none"
        from = "leads@dealer.example"
        to = ["crm@vendor.example"]
        [[dealers.rooftops]]
        name = "Bare Motors Downtown"
        "#
    )
}

/// Waits until everything that a dead server has sent has arrived.
fn settle(gate: &Gate, receivers: [SocketAddr; 2]) {
    for receiver in receivers {
        // It is served after all that came before.
        let mut last = TcpStream::connect(receiver).unwrap();
        last.shutdown(Shutdown::Write).unwrap();
        let _ = last.read_to_end(&mut Vec::new());
    }
    while *gate.connections.lock().unwrap() > 0 {
        std::thread::yield_now();
    }
}

/// The lead of the nth customer. Returns its id.
fn send(process: &Process, number: usize) -> String {
    let granted_at = format!("{:.0}", Clock::system().now());
    let email = format!("ada{number}@example.com");
    let changes = [("/consent/granted_at", json!(granted_at)), ("/customer/email", json!(email))];
    let answer = process.call(&with(lead(), &changes));
    let id = answer.pointer("/result/message/parts/0/data/data/lead_id");
    id.and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// By destination and lead, which deliveries are on disk as taken.
fn noted(store: &Store) -> Vec<(String, String)> {
    let kept = store.deliveries(None, None, Some(DELIVERED)).unwrap();
    kept.into_iter().map(|record| (record.destination, record.lead_id)).collect()
}

#[test]
fn a_hundred_kills_lose_no_lead_and_repeats_are_marked() {
    let folder = tempfile::tempdir().unwrap();
    let (reached, has_reached) = channel();
    let (die, dead) = channel();
    let gate = Arc::new(Gate {
        armed: Mutex::default(),
        reached: Mutex::new(reached),
        dead: Mutex::new(dead),
        killed: Mutex::default(),
        connections: Mutex::default(),
        arrived: Mutex::default(),
    });
    let receivers = [listen(&gate, post), listen(&gate, mail)];
    let config = config(receivers);
    let mut leads = Vec::new();
    // How many servers had been killed when it was on disk that a destination has a lead.
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    let kills: Vec<Step> = STEPS.into_iter().cycle().take(ROUNDS * STEPS.len()).collect();
    assert!(kills.len() >= 100);
    for (number, step) in kills.iter().enumerate() {
        let process = Process::configured(folder.path(), &config);
        let is_at_receiver = !matches!(step, Step::Acknowledged | Step::Noted);
        *gate.armed.lock().unwrap() = is_at_receiver.then_some(*step);
        let lead_id = send(&process, number);
        leads.push(lead_id.clone());
        if is_at_receiver {
            has_reached.recv().unwrap();
        }
        if *step == Step::Noted {
            let store = Store::attach(&data(folder.path())).unwrap();
            let has_all = || noted(&store).iter().filter(|(_, id)| *id == lead_id).count() == 2;
            process.until("both receivers have it", has_all);
        }
        process.signal("KILL");
        process.end();
        if is_at_receiver {
            die.send(()).unwrap();
        }
        settle(&gate, receivers);
        *gate.killed.lock().unwrap() += 1;
        for delivery in noted(&Store::attach(&data(folder.path())).unwrap()) {
            known.entry(delivery).or_insert(number + 1);
        }
    }
    let process = Process::configured(folder.path(), &config);
    let store = Store::attach(&data(folder.path())).unwrap();
    process.until("everything is delivered", || noted(&store).len() == 2 * leads.len());

    let arrived = gate.arrived.lock().unwrap();
    for lead_id in &leads {
        for destination in ["crm", "mail"] {
            // Other documents name it as one of the same person.
            let id = format!(">{lead_id}</id>");
            let is = |one: &&Arrived| one.destination == destination && one.body.contains(&id);
            let copies: Vec<_> = arrived.iter().filter(is).collect();
            assert!(!copies.is_empty(), "{destination} never got {lead_id}");
            for pair in copies.windows(2) {
                let killed = [pair[0].killed, pair[1].killed];
                assert!(killed[0] < killed[1], "{destination} got {lead_id} twice: {killed:?}");
                assert!(pair[1].body.contains("<prospect status=\"resend\">"), "{}", pair[1].body);
            }
            let last = copies.last().map(|copy| copy.killed);
            let key = (destination.to_owned(), lead_id.clone());
            let is_late = known.get(&key).is_some_and(|killed| last >= Some(*killed));
            assert!(!is_late, "{destination} got {lead_id} again, which was known to be there");
        }
    }
}
