//! Dealers that answer whatever a test wants.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

/// A dealer with a proper card.
pub(crate) struct Fake {
    /// Its address.
    pub(crate) name: String,
    payloads: Arc<Mutex<Vec<Value>>>,
}

impl Fake {
    /// `answer` gives the data of an answer, or the error of JSON-RPC.
    pub(crate) fn start(answer: impl Fn(&Value) -> Result<Value, Value> + Send + 'static) -> Self {
        Self::named("Fake", answer)
    }

    /// One that calls itself this.
    pub(crate) fn named(
        called: &'static str,
        answer: impl Fn(&Value) -> Result<Value, Value> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = listener.local_addr().unwrap().to_string();
        let payloads = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&payloads);
        let url = format!("http://{name}/a2a");
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let body = read(&mut stream);
                let reply = match tradepost_document::json::from_str::<Value>(&body) {
                    Err(_) => card(called, &url),
                    Ok(request) => {
                        let payload = &request["params"]["message"]["parts"][0]["data"];
                        shared.lock().unwrap().push(payload.clone());
                        respond(&request["id"], payload, answer(payload))
                    }
                };
                write(&mut stream, "application/json", &reply.to_string());
            }
        });
        Self { name, payloads }
    }

    /// The payloads of the requests so far.
    pub(crate) fn payloads(&self) -> Vec<Value> {
        self.payloads.lock().unwrap().clone()
    }
}

/// A seller of AdCP over MCP.
pub(crate) struct Mcp {
    /// Its address.
    pub(crate) name: String,
    calls: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Mcp {
    /// `answer` gives what a tool answers to these arguments; without an answer the seller hangs up.
    pub(crate) fn start(answer: impl Fn(&str, &Value) -> Option<Value> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = listener.local_addr().unwrap().to_string();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&calls);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let body = read(&mut stream);
                let Ok(request) = tradepost_document::json::from_str::<Value>(&body) else {
                    continue;
                };
                let result = match request["method"].as_str() {
                    Some("initialize") => json!({"protocolVersion": "2025-06-18",
                        "capabilities": {"tools": {}}, "serverInfo": {"name": "f", "version": "1"}}),
                    Some("tools/call") => {
                        let tool = &request["params"]["name"];
                        let arguments = &request["params"]["arguments"];
                        let tool = tool.as_str().unwrap();
                        shared.lock().unwrap().push((tool.to_owned(), arguments.clone()));
                        let Some(payload) = answer(tool, arguments) else { continue };
                        json!({"content": [], "structuredContent": payload})
                    }
                    _ => json!({}),
                };
                let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
                write(&mut stream, "application/json", &reply.to_string());
            }
        });
        Self { name, calls }
    }

    /// The arguments with which a tool was called so far.
    pub(crate) fn calls(&self, tool: &str) -> Vec<Value> {
        let calls = self.calls.lock().unwrap();
        calls
            .iter()
            .filter(|(name, _)| name == tool)
            .map(|(_, arguments)| arguments.clone())
            .collect()
    }
}

/// A directory of dealers, which can change.
pub(crate) struct Directory {
    /// Its address.
    pub(crate) name: String,
    /// The dealers that it names; without any list it hangs up.
    listed: Arc<Mutex<Option<Vec<String>>>>,
}

impl Directory {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = listener.local_addr().unwrap().to_string();
        let listed: Arc<Mutex<Option<Vec<String>>>> = Arc::default();
        let shared = Arc::clone(&listed);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                read(&mut stream);
                let Some(names) = shared.lock().unwrap().clone() else { continue };
                let href = |name: &String| format!("http://{name}/.well-known/agent-card.json");
                let items: Vec<_> = names.iter().map(|name| json!({"href": href(name)})).collect();
                let body = json!({"linkset": [{"anchor": "/", "item": items}]});
                write(&mut stream, "application/linkset+json", &body.to_string());
            }
        });
        Self { name, listed }
    }

    /// Names these dealers from now on.
    pub(crate) fn lists(&self, names: &[&str]) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        *self.listed.lock().unwrap() = Some(names);
    }

    /// Hangs up from now on.
    pub(crate) fn close(&self) {
        *self.listed.lock().unwrap() = None;
    }
}

/// A dealer with a proper card that never answers a request.
pub(crate) struct SilentDealer {
    /// Its address.
    pub(crate) name: String,
    /// The connections of those who wait.
    waiting: Arc<Mutex<Vec<TcpStream>>>,
}

impl SilentDealer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let name = listener.local_addr().unwrap().to_string();
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&waiting);
        let url = format!("http://{name}/a2a");
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                if read(&mut stream).is_empty() {
                    write(&mut stream, "application/json", &card("Silent", &url).to_string());
                } else {
                    shared.lock().unwrap().push(stream);
                }
            }
        });
        Self { name, waiting }
    }

    /// How many requests wait for an answer.
    pub(crate) fn requests(&self) -> usize {
        self.waiting.lock().unwrap().len()
    }
}

/// A server that has nothing but the card of a dealer at another address, and its own address.
pub(crate) fn card_of(dealer: &Fake) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = listener.local_addr().unwrap().to_string();
    let card = card("Elsewhere", &format!("http://{}/a2a", dealer.name)).to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            read(&mut stream);
            write(&mut stream, "application/json", &card);
        }
    });
    name
}

/// Starts a dealer that moves after its card was read for the first time: its address.
pub(crate) fn moving() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = listener.local_addr().unwrap().to_string();
    let base = format!("http://{name}");
    std::thread::spawn(move || {
        let mut has_moved = false;
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let (target, body) = read_request(&mut stream);
            match tradepost_document::json::from_str::<Value>(&body) {
                Err(_) => {
                    let path = if has_moved { "new" } else { "old" };
                    has_moved = true;
                    let card = card("Moving", &format!("{base}/{path}"));
                    write(&mut stream, "application/json", &card.to_string());
                }
                Ok(request) if target == "/new" => {
                    let payload = &request["params"]["message"]["parts"][0]["data"];
                    let data = json!({"total": 0, "vehicles": []});
                    let reply = respond(&request["id"], payload, Ok(data));
                    write(&mut stream, "application/json", &reply.to_string());
                }
                Ok(_) => {
                    let not_found =
                        "HTTP/1.1 404 Gone\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                    let _ = stream.write_all(not_found.as_bytes());
                }
            }
        }
    });
    name
}

/// A server that answers everything with a web page, and its address.
pub(crate) fn garbage() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            read(&mut stream);
            write(&mut stream, "text/html", "<html>under construction</html>");
        }
    });
    name
}

fn card(name: &str, url: &str) -> Value {
    let skills = Skill::ALL
        .iter()
        .map(|skill| json!({"id": skill.name(), "name": "n", "description": "d", "tags": ["t"]}));
    json!({
        "name": name, "description": "d", "version": "1",
        "supportedInterfaces":
            [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"extensions": [{"uri": Version::V1_1.uri()}]},
        "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
        "skills": skills.collect::<Vec<_>>(),
    })
}

fn respond(id: &Value, payload: &Value, answer: Result<Value, Value>) -> Value {
    match answer {
        Ok(data) => {
            let kind = payload["type"].as_str().unwrap().replace("request", "response");
            let part = json!({"data": {"type": kind, "data": data}});
            let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [part]});
            json!({"jsonrpc": "2.0", "id": id, "result": {"message": message}})
        }
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
    }
}

/// Reads a request and gives its body.
fn read(stream: &mut TcpStream) -> String {
    read_request(stream).1
}

/// Reads a request and gives its target and its body.
fn read_request(stream: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                let target = head.split(' ').nth(1).unwrap_or_default();
                return (target.to_owned(), body.to_owned());
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => bytes.extend_from_slice(&buffer[..count]),
            Ok(0) | Err(_) => return (String::new(), String::new()),
        }
    }
}

fn write(stream: &mut TcpStream, kind: &str, body: &str) {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    // A client that has gone away is the test's affair.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body.as_bytes());
}
