//! A small AdCP seller that does everything right, over MCP and A2A. We have no seller of our own
//! yet; this one is made for the prober, and what is broken about it a proxy breaks.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use tradepost_adcp::credentials;
use tradepost_adcp::error::{AdcpCode, AdcpError, Issue};
use tradepost_document::json::{Map, Value, json};

use super::proxy::Passing;

/// The tokens of its two callers.
pub const TOKEN_A: &str = "seller-token-of-the-first";
pub const TOKEN_B: &str = "seller-token-of-the-second";

/// A running seller.
pub struct Seller {
    pub address: SocketAddr,
    /// The names of the tools that were called.
    calls: Arc<Mutex<Vec<String>>>,
}

/// Behaviour of the seller when it is called.
#[derive(Debug, Clone, Copy, Default)]
pub struct SellerBehavior {
    /// As a stream of events.
    pub streams: bool,
    /// Also over A2A, with a card.
    pub has_card: bool,
}

impl Seller {
    pub fn start(behavior: SellerBehavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let shop = Arc::new(Shop {
            behavior,
            address,
            calls: Arc::clone(&calls),
            kept: Mutex::new(BTreeMap::new()),
        });
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shop = Arc::clone(&shop);
                std::thread::spawn(move || shop.serve(stream));
            }
        });
        Self { address, calls }
    }

    /// Whether a tool was called.
    pub fn was_asked(&self, tool: &str) -> bool {
        self.calls.lock().unwrap().iter().any(|name| name == tool)
    }
}

struct Shop {
    behavior: SellerBehavior,
    address: SocketAddr,
    calls: Arc<Mutex<Vec<String>>>,
    /// By idempotency key: what was sent, and the answer.
    kept: Mutex<BTreeMap<String, (Value, Value)>>,
}

/// A tool, and what it can be asked.
struct Tool {
    name: &'static str,
    members: &'static [(&'static str, Kind)],
    required: &'static [&'static str],
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Flag,
    Object,
    List,
    Number(i64),
    Words(&'static [&'static str]),
}

use Kind::{Flag, List, Number, Object, Text, Words};

const TOOLS: &[Tool] = &[
    Tool { name: "get_adcp_capabilities", members: &[("protocols", List)], required: &[] },
    Tool {
        name: "get_products",
        members: &[
            ("buying_mode", Words(&["brief", "wholesale", "refine"])),
            ("fields", List),
            ("account", Object),
        ],
        required: &["buying_mode"],
    },
    Tool {
        name: "get_media_buys",
        members: &[
            ("media_buy_ids", List),
            ("include_snapshot", Flag),
            ("include_history", Number(1000)),
        ],
        required: &[],
    },
    Tool {
        name: "get_media_buy_delivery",
        members: &[
            ("media_buy_ids", List),
            ("start_date", Text),
            ("time_granularity", Words(&["hourly", "daily"])),
        ],
        required: &[],
    },
    Tool {
        name: "list_creatives",
        members: &[("fields", List), ("include_items", Flag), ("account", Object)],
        required: &[],
    },
    Tool { name: "get_creative_delivery", members: &[("creative_ids", List)], required: &[] },
    Tool {
        name: "list_accounts",
        members: &[("status", Words(&["active", "closed"])), ("sandbox", Flag)],
        required: &[],
    },
    Tool { name: "get_task_status", members: &[("task_id", Text)], required: &["task_id"] },
    Tool { name: "list_tasks", members: &[], required: &[] },
    Tool { name: "get_property_list", members: &[("list_id", Text)], required: &["list_id"] },
    Tool {
        name: "update_media_buy",
        members: &[("idempotency_key", Text), ("media_buy_id", Text), ("account", Object)],
        required: &["idempotency_key", "media_buy_id"],
    },
    Tool {
        name: "sync_accounts",
        members: &[("idempotency_key", Text), ("accounts", List)],
        required: &["idempotency_key", "accounts"],
    },
];

fn problem(kind: Kind, value: &Value) -> Option<&'static str> {
    let fits = |fits: bool, keyword| (!fits).then_some(keyword);
    match kind {
        Text => fits(value.is_string(), "type"),
        Flag => fits(value.is_boolean(), "type"),
        Object => fits(value.is_object(), "type"),
        List => match value.as_array() {
            None => Some("type"),
            Some(items) => fits(!items.is_empty(), "minItems"),
        },
        Number(most) => match value.as_i64() {
            None => Some("type"),
            Some(number) => fits(number <= most, "maximum"),
        },
        Words(words) => match value.as_str() {
            None => Some("type"),
            Some(word) => fits(words.contains(&word), "enum"),
        },
    }
}

fn issues(tool: &Tool, arguments: &Value) -> Vec<Issue> {
    let issue = |name: &str, keyword: &str| Issue {
        pointer: format!("/{name}"),
        message: "does not fit the schema".to_owned(),
        keyword: keyword.to_owned(),
        ..Issue::default()
    };
    let missing = tool.required.iter().filter(|name| arguments.get(**name).is_none());
    let mut issues: Vec<_> = missing.map(|name| issue(name, "required")).collect();
    for (name, kind) in tool.members {
        let keyword = arguments.get(*name).and_then(|value| problem(*kind, value));
        issues.extend(keyword.map(|keyword| issue(name, keyword)));
    }
    let key = arguments.get("idempotency_key").and_then(Value::as_str);
    if key.is_some_and(|key| key.len() < 16) {
        issues.push(issue("idempotency_key", "pattern"));
    }
    issues
}

fn not_found(code: AdcpCode, message: &str, field: Option<&str>) -> Box<AdcpError> {
    let mut error = Box::new(AdcpError::new(code, message));
    error.field = field.map(str::to_owned);
    error
}

impl Shop {
    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut asked = Passing::read(&mut reader)?;
        asked.read_body(&mut reader)?;
        let message: Value = tradepost_document::json::from_slice(&asked.body).unwrap_or_default();
        let mut reply = Passing { first: "HTTP/1.1 200 OK".to_owned(), ..Passing::default() };
        reply.set_header("content-type", "application/json");
        reply.set_header("cache-control", "no-store");
        let body = match asked.target() {
            "/.well-known/agent-card.json" if self.behavior.has_card => self.card(),
            "/mcp" | "/a2a" => match caller(&asked) {
                Ok(caller) if asked.target() == "/mcp" => self.mcp(caller, &message, &mut reply),
                Ok(caller) => self.a2a(caller, &message),
                Err(error) => {
                    reply.set_status(401);
                    reply.set_header("www-authenticate", "Bearer");
                    let number = if error.code.name() == "AUTH_MISSING" { -32028 } else { -32000 };
                    json!({"jsonrpc": "2.0", "id": message["id"], "error": {
                        "code": number, "message": error.message, "data": {"adcp_error": error}}})
                }
            },
            _ => {
                reply.set_status(404);
                Value::Null
            }
        };
        if !body.is_null() {
            reply.body = body.to_string().into_bytes();
        }
        if self.behavior.streams && reply.status() == 200 && asked.target() == "/mcp" {
            reply.set_header("content-type", "text/event-stream");
            let text = reply.text();
            reply.body = format!(": hello\n\nevent: message\ndata: {text}\n\n").into_bytes();
        }
        reply.write(&mut stream).ok()
    }

    fn card(&self) -> Value {
        let skills = TOOLS.iter().map(|tool| {
            json!({"id": tool.name, "name": tool.name, "description": tool.name,
                "tags": ["adcp"]})
        });
        json!({
            "name": "Ad seller", "description": "d", "version": "1",
            "supportedInterfaces": [{
                "url": format!("http://{}/a2a", self.address),
                "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "capabilities": {"extensions": [{
                "uri": "https://adcontextprotocol.org/extensions/adcp/v3", "required": true}]},
            "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
            "skills": skills.collect::<Vec<_>>(),
        })
    }

    fn mcp(&self, caller: char, message: &Value, reply: &mut Passing) -> Value {
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                reply.set_header("mcp-session-id", &format!("session-{caller}"));
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "Ad seller", "version": "1"}})
            }
            "notifications/initialized" => {
                reply.set_status(202);
                return Value::Null;
            }
            "tools/list" => {
                let tools = TOOLS
                    .iter()
                    .map(|tool| json!({"name": tool.name, "inputSchema": {"type": "object"}}));
                json!({"tools": tools.collect::<Vec<_>>()})
            }
            "tools/call" => {
                let name = message["params"]["name"].as_str().unwrap_or_default();
                let Some(payload) = self.call(caller, name, &message["params"]["arguments"]) else {
                    let error = json!({"code": -32602, "message": "no such tool"});
                    return json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
                };
                let content = json!([{"type": "text", "text": payload.to_string()}]);
                let is_error = payload.get("adcp_error").is_some();
                json!({"content": content, "structuredContent": payload, "isError": is_error})
            }
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                return json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            }
        };
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
    }

    fn a2a(&self, caller: char, message: &Value) -> Value {
        let data = &message["params"]["message"]["parts"][0]["data"];
        let name = data["skill"].as_str().unwrap_or_default();
        let Some(payload) = self.call(caller, name, &data["input"]) else {
            let error = json!({"code": -32602, "message": "no such skill"});
            return json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
        };
        let failed = payload.get("adcp_error").is_some();
        let state = if failed { "TASK_STATE_FAILED" } else { "TASK_STATE_COMPLETED" };
        let task = json!({
            "id": "t", "contextId": "c", "status": {"state": state},
            "artifacts": [{"artifactId": "result", "parts": [{"text": "Done."}, {"data": payload}]}],
        });
        json!({"jsonrpc": "2.0", "id": message["id"], "result": {"task": task}})
    }

    /// The payload with its envelope; `None` for an unknown tool.
    fn call(&self, caller: char, name: &str, arguments: &Value) -> Option<Value> {
        self.calls.lock().unwrap().push(name.to_owned());
        let tool = TOOLS.iter().find(|known| known.name == name)?;
        let mut payload = match self.perform(caller, tool, arguments) {
            Ok(payload) => payload,
            Err(error) => {
                let mut payload = Map::new();
                payload.insert("status".to_owned(), "failed".into());
                payload.insert("message".to_owned(), error.message.clone().into());
                payload.insert("errors".to_owned(), json!([error]));
                payload.insert("adcp_error".to_owned(), json!(error));
                if error.code.name() == "CREDENTIAL_IN_ARGS" {
                    return Some(payload.into());
                }
                payload.into()
            }
        };
        if let Some(context) = arguments.get("context") {
            payload["context"] = context.clone();
        }
        Some(payload)
    }

    fn perform(
        &self,
        caller: char,
        tool: &Tool,
        arguments: &Value,
    ) -> Result<Value, Box<AdcpError>> {
        if !credentials::find(arguments).is_empty() {
            return Err(Box::new(AdcpError::new(
                AdcpCode::CredentialInArgs,
                "a credential stands in the arguments",
            )));
        }
        let release = arguments["adcp_version"].as_str().unwrap_or("3.1");
        if !release.starts_with("3.") {
            let mut error =
                AdcpError::new(AdcpCode::VersionUnsupported, "this release is not spoken");
            error.details.insert("supported_versions".to_owned(), json!(["3.1"]));
            return Err(error.into());
        }
        let issues = issues(tool, arguments);
        if !issues.is_empty() {
            let mut error =
                AdcpError::new(AdcpCode::InvalidRequest, "the request does not fit its schema");
            error.issues = issues;
            return Err(error.into());
        }
        // The first caller has one of each, and the second nothing.
        let owns = |id: &Value, own: &str| caller == 'a' && id == own;
        let account = &arguments["account"]["account_id"];
        if matches!(tool.name, "list_creatives" | "get_products")
            && !account.is_null()
            && !owns(account, "acc_77")
        {
            let field = Some("account.account_id");
            return Err(not_found(AdcpCode::AccountNotFound, "the account is not known", field));
        }
        for (list, own, code) in [
            ("media_buy_ids", "mb_4711", AdcpCode::MediaBuyNotFound),
            ("creative_ids", "cr-0815-b", AdcpCode::CreativeNotFound),
        ] {
            let mut ids = arguments[list].as_array().into_iter().flatten();
            if ids.any(|id| !owns(id, own)) {
                return Err(not_found(code, "not all ids are known", Some(list)));
            }
        }
        let listed = |value: Value| if caller == 'a' { json!([value]) } else { json!([]) };
        Ok(match tool.name {
            "get_adcp_capabilities" => json!({"status": "completed", "adcp": {
                "major_versions": [3], "supported_versions": ["3.1"],
                "idempotency": {"supported": true, "replay_ttl_seconds": 86400}},
                "supported_protocols": ["media_buy"]}),
            "get_media_buys" => {
                json!({"status": "completed", "media_buys": listed(json!({"media_buy_id": "mb_4711"}))})
            }
            "list_creatives" => {
                json!({"status": "completed", "creatives": listed(json!({"creative_id": "cr-0815-b"}))})
            }
            "list_accounts" => {
                json!({"status": "completed", "accounts": listed(json!({"account_id": "acc_77"}))})
            }
            "list_tasks" => {
                json!({"status": "completed", "tasks": listed(json!({"task_id": "task-1"}))})
            }
            "get_task_status" if owns(&arguments["task_id"], "task-1") => {
                json!({"status": "completed", "task_id": "task-1"})
            }
            "get_task_status" | "get_property_list" => {
                return Err(not_found(AdcpCode::ReferenceNotFound, "there is no such thing", None));
            }
            "update_media_buy" => {
                let field = Some("media_buy_id");
                return Err(not_found(AdcpCode::MediaBuyNotFound, "not known", field));
            }
            "sync_accounts" => return self.sync(arguments),
            _ => json!({"status": "completed"}),
        })
    }

    fn sync(&self, arguments: &Value) -> Result<Value, Box<AdcpError>> {
        let key = arguments["idempotency_key"].as_str().unwrap_or_default().to_owned();
        let mut kept = self.kept.lock().unwrap();
        if let Some((sent, answer)) = kept.get(&key) {
            if *sent != arguments["accounts"] {
                return Err(Box::new(AdcpError::new(
                    AdcpCode::IdempotencyConflict,
                    "the key was used before",
                )));
            }
            let mut answer = answer.clone();
            answer["replayed"] = json!(true);
            return Ok(answer);
        }
        let made = json!([{"account_id": "acc_new", "action": "created", "status": "active"}]);
        let answer = json!({"status": "completed", "accounts": made});
        kept.insert(key, (arguments["accounts"].clone(), answer.clone()));
        Ok(answer)
    }
}

fn caller(asked: &Passing) -> Result<char, Box<AdcpError>> {
    match asked.header("authorization").and_then(|value| value.strip_prefix("Bearer ")) {
        None => Err(Box::new(AdcpError::new(AdcpCode::AuthMissing, "a credential is needed"))),
        Some(TOKEN_A) => Ok('a'),
        Some(TOKEN_B) => Ok('b'),
        Some(_) => {
            Err(Box::new(AdcpError::new(AdcpCode::AuthInvalid, "the credential is not accepted")))
        }
    }
}
