//! An MCP client on the standard input and output of the real binary.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use tradepost_document::json::{Value, json};

pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    ids: u64,
}

impl Client {
    /// Starts the bridge to these dealers and shakes hands. It logs everything it may.
    pub fn start(dealers: &[&str]) -> Self {
        Self::start_with(dealers, "")
    }

    /// The same with a bearer token, which none is when empty.
    pub fn start_with(arguments: &[&str], token: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["mcp", "--log", "trace"])
            .args(arguments)
            .envs((!token.is_empty()).then_some(("TRADEPOST_TOKEN", token)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, input, output, ids: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let answer = client.rpc("initialize", Some(hello));
        assert_eq!(answer["result"]["serverInfo"]["name"], "tradepost", "{answer}");
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// Sends a request and reads its answer.
    pub fn rpc(&mut self, method: &str, params: Option<Value>) -> Value {
        self.ids += 1;
        let mut request = json!({"jsonrpc": "2.0", "id": self.ids, "method": method});
        if let Some(params) = params {
            request["params"] = params;
        }
        self.send(&request.to_string());
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = tradepost_document::json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.ids, "{answer}");
        answer
    }

    /// Calls a tool.
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.rpc("tools/call", Some(params))["result"].take()
    }

    /// Calls a tool that succeeds, and gives its structured content.
    pub fn ok(&mut self, name: &str, arguments: Value) -> Value {
        let mut result = self.tool(name, arguments);
        assert_eq!(result["isError"], false, "{result}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| !text.is_empty()));
        result["structuredContent"].take()
    }

    /// Leaves, and gives the exit status and the log.
    pub fn end(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        let mut log = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap(), log)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It has ended already when it was asked to.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
