//! Dealers that come and go while the server runs: by the API on the operators' listener, by `tradepost
//! dealer`, on SQLite and PostgreSQL; what buyers see of it, and what those see who mean ill.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};

use tradepost_document::json::{Value, json};
use tradepost_runtime::hosting::api::OPENAPI;

use crate::process::{Process, data};
use crate::support::client::{self, Response};
use crate::support::postgres::Scratch;
use crate::support::{envelope, with};

mod commands;
mod directory;

/// A server whose file names one dealer and lets others come.
pub const HOSTING_CONFIG: &str = r#"
    [server]
    listen = "127.0.0.1:0"
    operator_listen = "127.0.0.1:0"
    log_filter = "info"
    hosting = true
    directory_hosts = ["all.example"]

    [[dealers]]
    id = "fixed"
    name = "Fixed Motors"
    hosts = ["fixed.example"]
    rate_limit = { requests = 0 }

    [[dealers.rooftops]]
    name = "Fixed Motors Downtown"
"#;

/// Server with hosted dealers, and the key of an administrator.
pub struct HostingFixture {
    pub folder: tempfile::TempDir,
    pub process: Process,
    pub operators: SocketAddr,
    pub key: String,
}

/// What a command says.
pub fn tradepost(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A key for administrators.
pub fn admin_key(folder: &Path, name: &str, more: &[&str]) -> String {
    let folder_of_data = data(folder);
    let base = ["keys", "create", "--admin", "--name", name, "--data"];
    let base = [&base[..], &[folder_of_data.to_str().unwrap()], more].concat();
    stdout(&tradepost(folder, &base)).trim().to_owned()
}

impl HostingFixture {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::configured(folder.path(), HOSTING_CONFIG);
        let operators = process.operators();
        let key = admin_key(folder.path(), "ops", &[]);
        Self { folder, process, operators, key }
    }

    /// Asks the API, whose document says what may come.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let bearer = format!("Bearer {}", self.key);
        let own = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        self.ask_as(method, path, &[&own, headers].concat(), body)
    }

    pub fn ask_as(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let target = format!("/admin/v1{path}");
        let answer = client::request(self.operators, method, &target, headers, body.as_bytes());
        check_answer(method, path, &answer);
        answer
    }

    /// What the server says on a host.
    pub fn on(&self, host: &str, method: &str, path: &str, body: &str) -> Response {
        let headers = [("Content-Type", "application/json")];
        let bytes = client::bytes(host, method, path, &headers, body.as_bytes());
        client::raw(self.process.address, &bytes).unwrap()
    }

    /// The name that a dealer gives itself on a host; `None` where there is none.
    pub fn name_on(&self, host: &str) -> Option<String> {
        let card = self.on(host, "GET", "/.well-known/agent-card.json", "");
        (card.status == 200).then(|| card.json()["name"].as_str().unwrap().to_owned())
    }
}

/// A dealer that can be taken in.
pub fn dealer(id: &str) -> Value {
    json!({
        "id": id, "name": format!("{id} Motors"), "hosts": [format!("{id}.example")],
        "rate_limit": {"requests": 0}, "rooftops": [{"name": "Downtown"}],
    })
}

/// Compares an answer with what the OpenAPI document promises.
pub fn check_answer(method: &str, path: &str, answer: &Response) {
    let document: serde_json::Value = serde_json::from_str(OPENAPI).unwrap();
    let path = path.split('?').next().unwrap();
    let parts: Vec<&str> = path.split('/').collect();
    let template = match parts.as_slice() {
        ["", "dealers"] => "/admin/v1/dealers".to_owned(),
        ["", "dealers", _] => "/admin/v1/dealers/{id}".to_owned(),
        ["", "dealers", _, operation @ ("suspend" | "resume")] => {
            format!("/admin/v1/dealers/{{id}}/{operation}")
        }
        ["", "publishers", _, "delivery"] => "/admin/v1/publishers/{id}/delivery".to_owned(),
        _ => return,
    };
    let operation = &document["paths"][&template][method.to_lowercase()];
    let responses = &operation["responses"];
    let status = answer.status.to_string();
    let promised =
        if responses[&status].is_null() { &responses["default"] } else { &responses[&status] };
    if operation.is_null() {
        assert!([401, 405].contains(&answer.status), "{method} {path}");
        return;
    }
    let resolve = |node: &serde_json::Value| match node["$ref"].as_str() {
        Some(place) => document.pointer(place.trim_start_matches('#')).unwrap().clone(),
        None => node.clone(),
    };
    let promised = resolve(promised);
    assert!(!promised.is_null(), "{method} {path} answers {status}, which is not promised");
    let Some(schema) = promised.pointer("/content/application~1json/schema") else {
        assert!(answer.body.is_empty(), "{method} {path}");
        return;
    };
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let validator = jsonschema::validator_for(&whole).unwrap();
    let problems: Vec<_> =
        validator.iter_errors(&body).map(|problem| problem.to_string()).collect();
    assert!(problems.is_empty(), "{method} {path}: {problems:?} in {body}");
    if promised["description"] == "Why not." {
        let code = body["error"]["code"].as_str().unwrap();
        use tradepost_document::catalog::Vocabulary as _;
        let code = tradepost_runtime::hosting::HostingErrorCode::from_name(code).unwrap();
        assert_eq!(code.http(), answer.status);
    }
}

#[test]
fn the_api_document_names_every_code_and_is_served() {
    use tradepost_document::catalog::Vocabulary as _;
    let fixture = HostingFixture::start();
    let served = client::request(fixture.operators, "GET", "/admin/v1/openapi.json", &[], b"");
    assert_eq!(served.body, OPENAPI.as_bytes());
    let document = served.json();
    let codes = document
        .pointer("/components/schemas/Refusal/properties/error/properties/code/enum")
        .unwrap();
    let codes: Vec<_> =
        codes.as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    assert_eq!(codes, tradepost_runtime::hosting::HostingErrorCode::NAMES);
}

#[test]
fn a_dealer_comes_changes_rests_and_goes_without_a_restart() {
    let fixture = HostingFixture::start();
    assert_eq!(fixture.name_on("new.example"), None);
    let added = fixture.ask("POST", "/dealers", &[], &dealer("new").to_string());
    assert_eq!(added.status, 201, "{}", added.snapshot());
    assert_eq!(added.header("location"), Some("/admin/v1/dealers/new"));
    assert_eq!(fixture.name_on("new.example").as_deref(), Some("new Motors"), "at once");
    assert_eq!(fixture.name_on("NEW.example:80").as_deref(), Some("new Motors"));
    let call = envelope(&json!({"type": "dealer.information.request"})).to_string();
    assert_eq!(fixture.on("new.example", "POST", "/a2a", &call).status, 200);

    let patch = r#"{"name": "Renamed", "hosts": ["new.example", "also.example"]}"#;
    let patched = fixture.ask("PATCH", "/dealers/new", &[], patch);
    assert_eq!((patched.status, patched.json()["revision"].as_i64()), (200, Some(2)));
    for host in ["new.example", "also.example"] {
        assert_eq!(fixture.name_on(host).as_deref(), Some("Renamed"));
    }
    let stale = fixture.ask("PATCH", "/dealers/new", &[("If-Match", "\"1\"")], r#"{"name": "x"}"#);
    assert_eq!(stale.json()["error"]["code"], "REVISION_CONFLICT");

    let other =
        with(dealer("other"), &[("/hosts", json!(["also.example", "o.example", "fixed.example"]))]);
    let taken = fixture.ask("POST", "/dealers", &[], &other.to_string());
    assert_eq!(taken.json()["error"]["code"], "HOST_TAKEN");
    assert_eq!(taken.json()["error"]["problems"][0]["instanceLocation"], "/hosts/2", "the file's");
    let other = with(dealer("other"), &[("/hosts", json!(["o.example", "also.example"]))]);
    let taken = fixture.ask("POST", "/dealers", &[], &other.to_string());
    assert_eq!(taken.json()["error"]["problems"][0]["instanceLocation"], "/hosts/1");
    assert_eq!(fixture.name_on("o.example"), None, "nothing of it is kept");

    assert_eq!(fixture.ask("POST", "/dealers/new/suspend", &[], "").json()["state"], "suspended");
    assert_eq!(fixture.name_on("new.example"), None);
    let taken = fixture.ask("POST", "/dealers", &[], &other.to_string());
    assert_eq!(taken.json()["error"]["code"], "HOST_TAKEN", "it keeps its hosts");
    assert_eq!(fixture.ask("POST", "/dealers/new/resume", &[], "").status, 200);
    assert_eq!(fixture.name_on("also.example").as_deref(), Some("Renamed"));

    assert_eq!(fixture.ask("DELETE", "/dealers/new", &[], "").status, 204);
    assert_eq!(fixture.name_on("new.example"), None);
    assert_eq!(fixture.ask("GET", "/dealers/new", &[], "").json()["state"], "removed");
    assert_eq!(fixture.ask("DELETE", "/dealers/new", &[], "").json()["error"]["code"], "NOT_FOUND");
    let again = dealer("new").to_string();
    let refused = fixture.ask("POST", "/dealers", &[], &again);
    assert_eq!(refused.json()["error"]["code"], "ID_REMOVED");
    assert_eq!(fixture.ask("POST", "/dealers?reuse=true", &[], &again).status, 201);
    assert_eq!(fixture.name_on("new.example").as_deref(), Some("new Motors"));
    assert_eq!(fixture.ask("POST", "/dealers", &[], &again).json()["error"]["code"], "ID_TAKEN");

    let listed = fixture.ask("GET", "/dealers?limit=1", &[], "").json();
    assert_eq!((&listed["dealers"][0]["id"], &listed["next"]), (&json!("fixed"), &json!("fixed")));
    let rest = fixture.ask("GET", "/dealers?after=fixed", &[], "").json();
    assert_eq!((&rest["dealers"][0]["id"], &rest["next"]), (&json!("new"), &Value::Null));
}

#[test]
fn unknown_suspended_and_removed_hosts_are_answered_alike() {
    let fixture = HostingFixture::start();
    for id in ["resting", "gone"] {
        assert_eq!(fixture.ask("POST", "/dealers", &[], &dealer(id).to_string()).status, 201);
    }
    assert_eq!(fixture.ask("POST", "/dealers/resting/suspend", &[], "").status, 200);
    assert_eq!(fixture.ask("DELETE", "/dealers/gone", &[], "").status, 204);
    let call = envelope(&json!({"type": "dealer.information.request"})).to_string();
    for (method, path, body) in [
        ("GET", "/", ""),
        ("GET", "/.well-known/agent-card.json", ""),
        ("GET", "/.well-known/api-catalog", ""),
        ("GET", "/a2a", ""),
        ("POST", "/a2a", call.as_str()),
        ("POST", "/a2a", "{"),
        ("POST", "/mcp", "{}"),
        ("PUT", "/feeds/daily", "x"),
        ("POST", "/rest/message:send", "{}"),
    ] {
        let unknown = fixture.on("unknown.example", method, path, body);
        assert_eq!(unknown.status, 404, "{path}");
        for host in ["resting.example", "gone.example"] {
            let answer = fixture.on(host, method, path, body);
            let of = |answer: &Response| (answer.status, answer.body.clone(), heads(answer));
            assert_eq!(of(&answer), of(&unknown), "{host} {path}");
        }
    }
}

/// The head, but for the moment.
fn heads(answer: &Response) -> BTreeMap<String, String> {
    let names = ["content-type", "content-length", "cache-control", "connection", "vary", "allow"];
    let head = |name: &&str| Some(((*name).to_owned(), answer.header(name)?.to_owned()));
    names.iter().filter_map(head).collect()
}

#[test]
fn a_documents_mistakes_have_places_and_nothing_is_kept() {
    let fixture = HostingFixture::start();
    let wrong = json!({
        "id": "Bad Id", "name": "", "hosts": [], "zz": 1, "rooftops": [{"name": "A", "timezone": "Mars"}],
        "auth": {"jwt": {"issuer": "i", "audience": "a", "jwks_file": "/etc/shadow"}},
        "feeds": [{"name": "f", "from": "folder", "folder": "/etc"}],
        "deliveries": [{"name": "d", "by": "https", "url": "https://crm.example", "bearer": "(kept)"}],
    });
    let refused = fixture.ask("POST", "/dealers", &[], &wrong.to_string());
    assert_eq!(refused.status, 422);
    let error = &refused.json()["error"];
    let places: Vec<_> = error["problems"].as_array().unwrap().iter().collect();
    let places: Vec<_> =
        places.iter().map(|problem| problem["instanceLocation"].as_str().unwrap()).collect();
    for place in [
        "/id",
        "/name",
        "/hosts",
        "/zz",
        "/rooftops/0/timezone",
        "/auth/jwt/jwks_file",
        "/feeds/0/folder",
        "/deliveries/0/bearer",
    ] {
        assert!(places.contains(&place), "{place}: {places:?}");
    }
    assert!(!refused.snapshot().contains("Bad Id") && !refused.snapshot().contains("shadow"));
    let twice = r#"{"id": "a", "id": "b"}"#;
    assert_eq!(fixture.ask("POST", "/dealers", &[], twice).json()["error"]["code"], "INVALID_JSON");
    for (method, path, body, code) in [
        ("POST", "/dealers", "{", "INVALID_JSON"),
        ("POST", "/dealers", "[]", "INVALID_DEALER"),
        ("PATCH", "/dealers/fixed", "{}", "READ_ONLY"),
        ("DELETE", "/dealers/fixed", "", "READ_ONLY"),
        ("POST", "/dealers/fixed/suspend", "", "READ_ONLY"),
        ("PATCH", "/dealers/nobody", "{}", "NOT_FOUND"),
        ("GET", "/dealers/nobody", "", "NOT_FOUND"),
        ("GET", "/dealers?limit=0", "", "INVALID_PARAMETER"),
        ("GET", "/dealers?pages=1", "", "INVALID_PARAMETER"),
        ("PUT", "/dealers", "{}", "METHOD_NOT_ALLOWED"),
        ("PATCH", "/dealers/%2e%2e", "{}", "NOT_FOUND"),
    ] {
        let answer = fixture.ask(method, path, &[], body);
        assert_eq!(answer.json()["error"]["code"], code, "{method} {path}");
    }
    let fixed = with(dealer("fixed"), &[("/hosts", json!(["x.example"]))]).to_string();
    assert_eq!(fixture.ask("POST", "/dealers", &[], &fixed).json()["error"]["code"], "READ_ONLY");
    let large = format!("{{\"id\": \"{}\"}}", "x".repeat(300 * 1024));
    assert_eq!(fixture.ask("POST", "/dealers", &[], &large).status, 413);
    let listed = fixture.ask("GET", "/dealers?all=true", &[], "").json();
    assert_eq!(listed["dealers"].as_array().unwrap().len(), 1);
}

#[test]
fn only_administrators_keys_open_and_only_what_they_permit() {
    let fixture = HostingFixture::start();
    let folder = fixture.folder.path();
    let folder_of_data = data(folder);
    let base = [
        "keys",
        "create",
        "--config",
        "tradepost.toml",
        "--data",
        folder_of_data.to_str().unwrap(),
    ];
    let of_dealer = [&base[..], &["--dealer", "fixed", "--name", "buyer"]].concat();
    let of_dealer = stdout(&tradepost(folder, &of_dealer)).trim().to_owned();
    let reader = admin_key(folder, "reader", &["--scope", "dealers:read"]);
    let ask = |key: &str, method: &str, path: &str, body: &str| {
        let bearer = format!("Bearer {key}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        fixture.ask_as(method, path, &headers, body)
    };
    assert_eq!(ask(&reader, "GET", "/dealers", "").status, 200);
    let lacking = ask(&reader, "POST", "/dealers", &dealer("a").to_string());
    assert_eq!(lacking.json()["error"]["code"], "PERMISSION_DENIED");
    assert!(lacking.header("www-authenticate").unwrap().contains("dealers:write"));
    let none = fixture.ask_as("GET", "/dealers", &[], "");
    assert_eq!((none.status, &none.json()["error"]["code"]), (401, &json!("UNAUTHENTICATED")));
    assert!(none.header("www-authenticate").unwrap().starts_with("Bearer realm="));
    assert_eq!(ask(&of_dealer, "GET", "/dealers", "").status, 401);
    assert_eq!(ask("tp_made_up", "GET", "/dealers", "").status, 401);
    // What is wrong with a request is told to nobody who may not make it.
    assert_eq!(fixture.ask_as("PUT", "/dealers", &[], "{").status, 401);
    let public = client::request(fixture.process.address, "GET", "/admin/v1/dealers", &[], b"");
    assert_eq!(public.status, 404, "callers find nothing");
    let many: Vec<u16> = (0..20).map(|_| ask("tp_x", "GET", "/dealers", "").status).collect();
    assert!(many.contains(&429), "{many:?}");
    assert_eq!(ask(&reader, "GET", "/dealers", "").status, 200, "good keys still pass");
}

#[test]
fn secrets_are_kept_and_shown_to_nobody() {
    let fixture = HostingFixture::start();
    let secret = "s3cret-of-the-crm";
    let deliveries = json!([{
        "name": "crm", "by": "https", "url": "https://crm.example/adf", "bearer": secret,
    }]);
    let mut document = dealer("keeps");
    document.as_object_mut().unwrap().insert("deliveries".into(), deliveries);
    let added = fixture.ask("POST", "/dealers", &[], &document.to_string());
    assert_eq!(added.status, 201, "{}", added.snapshot());
    let shown = fixture.ask("GET", "/dealers/keeps", &[], "");
    assert_eq!(shown.json()["settings"]["deliveries"][0]["bearer"], "(kept)");
    let patched = fixture.ask("PATCH", "/dealers/keeps", &[], r#"{"name": "Other"}"#);
    for answer in [&added, &shown, &patched] {
        assert!(!answer.snapshot().contains(secret));
    }
    let back = shown.json()["settings"].clone();
    let back = fixture.ask("PUT", "/dealers/keeps", &[], &back.to_string());
    assert_eq!(back.status, 200, "{}", back.snapshot());
    let mut elsewhere = shown.json()["settings"].clone();
    elsewhere["deliveries"][0]["url"] = "https://evil.example/adf".into();
    let elsewhere = fixture.ask("PUT", "/dealers/keeps", &[], &elsewhere.to_string());
    let place = &elsewhere.json()["error"]["problems"][0]["instanceLocation"];
    assert_eq!(place, "/deliveries/0/bearer", "a secret goes to no other address");
    assert!(!fixture.process.log().contains(secret));
}

#[test]
fn secrets_in_addresses_are_hidden_and_kept_when_sent_back() {
    let fixture = HostingFixture::start();
    let secret = "s3cret-in-an-address";
    let mut document = dealer("keeps");
    let members = document.as_object_mut().unwrap();
    members.insert(
        "feeds".into(),
        json!([{"name": "stock", "from": "pull",
                "url": format!("https://feeds.example/x.csv?token={secret}&page={secret}")}]),
    );
    members.insert(
        "deliveries".into(),
        json!([
            {"name": "crm", "by": "https", "url": format!("https://crm.example/adf?sig={secret}")},
            {"name": "hook", "by": "webhook", "hmac_key": format!("{secret}-of-thirty-two-bytes-and-more"),
             "url": format!("https://hook.example/?{secret}")},
            {"name": "team", "by": "chat", "style": "slack", "url": format!("https://chat.example/{secret}")},
        ]),
    );
    let added = fixture.ask("POST", "/dealers", &[], &document.to_string());
    assert_eq!(added.status, 201, "{}", added.snapshot());
    let shown = fixture.ask("GET", "/dealers/keeps", &[], "");
    let settings = shown.json()["settings"].clone();
    assert_eq!(settings["feeds"][0]["url"], "https://feeds.example/x.csv?token=(kept)&page=(kept)");
    assert_eq!(settings["deliveries"][0]["url"], "https://crm.example/adf?sig=(kept)");
    assert_eq!(settings["deliveries"][1]["url"], "https://hook.example/?(kept)");
    let replaced = fixture.ask("PUT", "/dealers/keeps", &[], &settings.to_string());
    assert_eq!(replaced.status, 200, "{}", replaced.snapshot());
    let patch = json!({"name": "Other", "feeds": settings["feeds"].clone()}).to_string();
    let patched = fixture.ask("PATCH", "/dealers/keeps", &[], &patch);
    assert_eq!(patched.status, 200, "{}", patched.snapshot());
    let folder = fixture.folder.path();
    let data = data(folder);
    let command = ["dealer", "show", "keeps", "--data", data.to_str().unwrap()];
    let by_command = stdout(&tradepost(folder, &command));
    for text in [added.snapshot(), shown.snapshot(), replaced.snapshot(), patched.snapshot()] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(!by_command.contains(secret), "{by_command}");
    let database = rusqlite::Connection::open(data.join("tradepost.sqlite")).unwrap();
    let kept: String = database
        .query_row("SELECT document FROM hosted_dealers WHERE dealer_id = 'keeps'", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(kept.matches(secret).count(), 6, "{kept}");
}

#[test]
fn a_restart_serves_the_same_and_no_contradicting_file() {
    let fixture = HostingFixture::start();
    assert_eq!(fixture.ask("POST", "/dealers", &[], &dealer("stays").to_string()).status, 201);
    let HostingFixture { folder, process, .. } = fixture;
    let contradicting = HOSTING_CONFIG.replace("fixed.example", "stays.example");
    std::fs::write(folder.path().join("tradepost.toml"), contradicting).unwrap();
    process.signal("HUP");
    process.until("it refuses", || process.log().contains("is that of the hosted dealer stays"));
    process.signal("TERM");
    assert!(process.end().success());
    let process = Process::configured(folder.path(), HOSTING_CONFIG);
    let bytes = client::bytes("stays.example", "GET", "/.well-known/agent-card.json", &[], b"");
    assert_eq!(client::raw(process.address, &bytes).unwrap().status, 200);
}

#[test]
fn on_postgresql_another_server_takes_changes_over() {
    let Some(database) = Scratch::new() else { return };
    let url = database.address();
    let one = tempfile::tempdir().unwrap();
    let two = tempfile::tempdir().unwrap();
    let config =
        HOSTING_CONFIG.replace("hosting = true", &format!("hosting = true\ndatabase = \"{url}\""));
    let first = Process::configured(one.path(), &config);
    let second = Process::configured(two.path(), &config);
    let file = one.path().join("dealers.json");
    std::fs::write(&file, json!([dealer("pg-a"), dealer("pg-b")]).to_string()).unwrap();
    let say = |arguments: &[&str]| {
        let base = [&["dealer"], arguments, &["--config", "tradepost.toml"]].concat();
        tradepost(one.path(), &base)
    };
    stdout(&say(&["add", "dealers.json"]));
    let on = |process: &Process, host: &str| {
        let bytes = client::bytes(host, "GET", "/.well-known/agent-card.json", &[], b"");
        client::raw(process.address, &bytes).unwrap().status
    };
    for process in [&first, &second] {
        process.until("it is there", || on(process, "pg-b.example") == 200);
    }
    stdout(&say(&["suspend", "pg-b"]));
    for process in [&first, &second] {
        process.until("it rests", || on(process, "pg-b.example") == 404);
        assert_eq!(on(process, "pg-a.example"), 200);
    }
    let refused = say(&["add", "dealers.json"]);
    assert_eq!(refused.status.code(), Some(6), "{}", String::from_utf8_lossy(&refused.stderr));
}
