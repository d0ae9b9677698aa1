//! Twins over the network: two requests that are the same but for one identifier, which names a thing
//! of another tenant in the one and nothing in the other. Whole HTTP answers and what is left in the
//! store are compared (`U-1`, `U-2`, `U-5`, `U-7`, `U-9`). What is asked of the store, and that no
//! identifier is forgotten, is tested where the tools are, with the same requests.

use std::collections::BTreeMap;

use rusqlite::types::Value as Cell;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::Config;

use crate::support::Response;
use crate::support::publisher::{Binding, Outcome, Publisher, start_with};

/// The requests: each has `$HERE` where the identifier stands.
const PROBES: &str = include_str!("../../../../seller/publisher/tests/it/twins/probes.json");

/// What a tenant makes for itself, and by what word each of its things is called.
const THINGS: &str = include_str!("../../../../seller/publisher/tests/it/twins/things.json");

/// What the demo publisher offers.
const OFFERED: [(&str, &str); 3] = [
    ("$PRODUCT", "native_articles"),
    ("$PRICE", "cpc_fixed"),
    ("$AGENT", "https://ads.gazette.example"),
];

/// Identifiers by the placeholders of the requests.
type IdByPlaceholder = BTreeMap<String, String>;

/// A publisher of which two tenants have one of everything.
struct TwoTenants {
    publisher: Publisher,
    things: Value,
    acme: IdByPlaceholder,
    nova: IdByPlaceholder,
}

/// Gives the publisher something to sell.
fn sells(config: &mut Config) {
    config.publishers[0].profile.catalogue = tradepost_demo::publisher::catalogue();
}

/// An identifier that looks like others and is nobody's.
fn like(id: &str) -> String {
    let (prefix, _) = id.rsplit_once('_').expect("identifiers here have a prefix");
    format!("{prefix}_{}", uuid::Uuid::new_v4().simple())
}

/// A request with identifiers in place of the placeholders.
fn filled(value: &Value, ids: &IdByPlaceholder) -> Value {
    match value {
        Value::String(text) if text == "$KEY" => json!(uuid::Uuid::new_v4().to_string()),
        Value::String(text) => ids.get(text).map_or_else(|| value.clone(), |id| json!(id)),
        Value::Array(items) => items.iter().map(|item| filled(item, ids)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), filled(value, ids))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The member in which the identifier of a request stands.
fn member<'a>(value: &'a Value, within: &'a str) -> Option<&'a str> {
    match value {
        Value::String(text) => (text == "$HERE").then_some(within),
        Value::Array(items) => items.iter().find_map(|item| member(item, within)),
        Value::Object(members) => members.iter().find_map(|(name, value)| member(value, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Text without identifiers: every UUID and every 32 hex digits become as many signs.
fn plain(text: &str) -> String {
    let is_id = |run: &&str| {
        run.len() == 32 && run.bytes().all(|byte| byte.is_ascii_hexdigit())
            || run.len() == 36 && uuid::Uuid::parse_str(run).is_ok()
    };
    let mut found = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length =
            [36, 32].into_iter().find(|&length| rest.get(..length).is_some_and(|run| is_id(&run)));
        match length {
            Some(length) => found.push_str(&"#".repeat(length)),
            None => found.push(next),
        }
        rest = &rest[length.unwrap_or(next.len_utf8())..];
    }
    // The hashes of a plan's revisions differ where the identifiers in it do.
    match found.split_once("hashes") {
        Some((before, rest)) => {
            format!("{before}hashes{}", rest.trim_start_matches(|letter| letter != ']'))
        }
        None => found,
    }
}

impl TwoTenants {
    fn new() -> Self {
        let things: Value = tradepost_document::json::from_str(THINGS).unwrap();
        let acme = IdByPlaceholder::new();
        let nova = IdByPlaceholder::new();
        let mut tenants = Self { publisher: start_with(&sells), things, acme, nova };
        tenants.nova = tenants.create_things("nova", 0);
        tenants.acme = tenants.create_things("acme", 1);
        tenants
    }

    /// Creates one of everything as this caller. The product that waits for approval is exclusive, so that each takes
    /// one of its days.
    fn create_things(&self, who: &str, day: usize) -> IdByPlaceholder {
        let mut ids: IdByPlaceholder =
            OFFERED.iter().map(|(word, id)| ((*word).to_owned(), (*id).to_owned())).collect();
        for word in self.things["chosen"].as_array().unwrap() {
            ids.insert(word.as_str().unwrap().to_owned(), like("chosen_1"));
        }
        for (word, moment) in self.things["days"][day].as_object().unwrap() {
            ids.insert(word.clone(), moment.as_str().unwrap().to_owned());
        }
        for step in self.things["making"].as_array().unwrap() {
            let tool = step["tool"].as_str().unwrap();
            let request = filled(&step["request"], &ids);
            let answer = self.publisher.call(Binding::Mcp, who, tool, &request);
            let document = Outcome::raw(Binding::Mcp, &answer);
            let text = document.to_string();
            let failed = document.get("adcp_error").is_some()
                || document["success"] == false
                || text.contains(r#""action":"failed""#);
            assert!(!failed, "{tool}: {document}");
            for (word, path) in step["kept"].as_object().into_iter().flatten() {
                let id = document.pointer(path.as_str().unwrap()).and_then(Value::as_str);
                ids.insert(word.clone(), id.unwrap_or_else(|| panic!("{document}")).to_owned());
            }
        }
        ids
    }

    /// The word for what a member names.
    fn word(&self, probe: &Value) -> String {
        let member = member(&probe["request"], "").unwrap();
        self.things["names"][member].as_str().unwrap_or_else(|| panic!("{member}")).to_owned()
    }

    /// Sends a request of `acme`.
    fn send(&self, binding: Binding, probe: &Value, id: &str) -> Response {
        let mut ids = self.acme.clone();
        ids.insert("$HERE".to_owned(), id.to_owned());
        let request = filled(&probe["request"], &ids);
        self.publisher.call(binding, "acme", probe["tool"].as_str().unwrap(), &request)
    }

    /// Everything that the publisher keeps, whole.
    fn kept(&self) -> Vec<String> {
        let file = self.publisher.data().join("tradepost.sqlite");
        let store = rusqlite::Connection::open(file).unwrap();
        let mut rows = Vec::new();
        for table in ["publisher_things", "publisher_keys"] {
            let mut all = store.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns: Vec<String> = all.column_names().map(ToOwned::to_owned).collect();
            let mut found = all.query([]).unwrap();
            while let Some(row) = found.next().unwrap() {
                let cells = columns.iter().enumerate().map(|(at, name)| {
                    let cell: Cell = row.get(at).unwrap();
                    // The hash of a request differs as the request does.
                    let cell = if name == "hash" { Cell::Null } else { cell };
                    format!("{name}={cell:?}")
                });
                rows.push(format!("{table} {}", cells.collect::<Vec<_>>().join(" ")));
            }
        }
        rows.sort();
        rows
    }
}

/// What came back, and what it left behind.
#[derive(Debug, PartialEq)]
struct Observation {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    removed: Vec<String>,
    added: Vec<String>,
}

/// Publisher that is recreated after each request that changed its store.
struct PublisherUnderTest {
    binding: Binding,
    tenants: Option<TwoTenants>,
}

impl PublisherUnderTest {
    fn new(binding: Binding) -> Self {
        Self { binding, tenants: None }
    }

    /// What a request shows, with an identifier that is chosen by who has what.
    fn see(&mut self, probe: &Value, choose: impl Fn(&TwoTenants, &str) -> String) -> Observation {
        let tenants = self.tenants.get_or_insert_with(TwoTenants::new);
        let id = choose(tenants, &tenants.word(probe));
        let before = tenants.kept();
        let response = tenants.send(self.binding, probe, &id);
        let after = tenants.kept();
        let only = |rows: &[String], others: &[String]| -> Vec<String> {
            let rows = rows.iter().filter(|row| others.binary_search(row).is_err());
            rows.map(|row| plain(row)).collect()
        };
        let removed = only(&before, &after);
        let added = only(&after, &before);
        let foreign = |row: &String| row.contains("agent:nova");
        assert!(
            !removed.iter().chain(&added).any(foreign),
            "{probe}: what is another's was touched"
        );
        if before != after {
            self.tenants = None;
        }
        let headers = response.headers.iter().filter(|(name, _)| name != "date").cloned().collect();
        let body = plain(&String::from_utf8(response.body).unwrap());
        Observation { status: response.status, headers, body, removed, added }
    }

    fn foreign(&mut self, probe: &Value) -> Observation {
        self.see(probe, |tenants, word| tenants.nova[word].clone())
    }

    fn nothing(&mut self, probe: &Value) -> Observation {
        self.see(probe, |tenants, word| like(&tenants.nova[word]))
    }

    fn own(&mut self, probe: &Value) -> Observation {
        self.see(probe, |tenants, word| tenants.acme[word].clone())
    }
}

fn probes() -> Vec<Value> {
    tradepost_document::json::from_str(PROBES).unwrap()
}

fn compare(binding: Binding) {
    let mut fixture = PublisherUnderTest::new(binding);
    for probe in probes() {
        let foreign = fixture.foreign(&probe);
        let nothing = fixture.nothing(&probe);
        assert_eq!(foreign, nothing, "{probe}");
        // What is refused leaves nothing, not even its key.
        let refused = foreign.body.contains("adcp_error");
        assert!(!refused || foreign.added.is_empty() && foreign.removed.is_empty(), "{foreign:?}");
    }
}

#[test]
fn anothers_and_nothing_are_answered_alike_over_mcp() {
    compare(Binding::Mcp);
}

#[test]
fn anothers_and_nothing_are_answered_alike_over_a2a() {
    compare(Binding::A2a);
}

/// Where the caller's own is answered as nothing is, so that these requests find nothing out: products
/// and cursors are nobody's own, some identifiers are kept as they come, and a seed makes what is not
/// there.
const INDISTINGUISHABLE: &[(&str, &str)] = &[
    ("get_products", "product_id"),
    ("create_media_buy", "product_id"),
    ("create_media_buy", "event_source_id"),
    ("create_media_buy", "plan_id"),
    ("update_media_buy", "product_id"),
    ("update_media_buy", "event_source_id"),
    ("update_media_buy", "event_source_id"),
    ("sync_creatives", "creative_ids"),
    ("list_creatives", "media_buy_ids"),
    ("list_accounts", "cursor"),
    ("comply_test_controller", "product_id"),
    ("comply_test_controller", "plan_id"),
];

#[test]
fn the_same_requests_find_what_is_the_callers_own() {
    let mut fixture = PublisherUnderTest::new(Binding::Mcp);
    let mut indistinguishable = Vec::new();
    for probe in probes() {
        if fixture.own(&probe).body == fixture.nothing(&probe).body {
            let tool = probe["tool"].as_str().unwrap().to_owned();
            indistinguishable.push((tool, member(&probe["request"], "").unwrap().to_owned()));
        }
    }
    let indistinguishable: Vec<_> =
        indistinguishable.iter().map(|(tool, member)| (tool.as_str(), member.as_str())).collect();
    assert_eq!(indistinguishable, INDISTINGUISHABLE);
}

#[test]
fn requests_of_one_length_get_equally_long_refusals_with_gzip() {
    let publisher = start_with(&sells);
    let gzip = [("Accept-Encoding", "gzip")];
    let asked = |tool: &str, arguments: &Value, id: u64| {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let answer = publisher.post("acme", "/mcp", &gzip, &body.to_string());
        (answer.header("content-encoding").map(str::to_owned), answer.body.len())
    };
    // The harness of AdCP counts its requests, and compares lengths as they are sent.
    for (tool, arguments) in [
        (
            "get_signals",
            json!({"signal_ids": [
            {"source": "catalog", "data_provider_domain": "a.example", "id": "nowhere"}]}),
        ),
        ("get_creative_delivery", json!({"creative_ids": ["nowhere"]})),
    ] {
        let lengths: Vec<_> = (10..40).map(|id| asked(tool, &arguments, id)).collect();
        let first = lengths.first().unwrap();
        assert!(first.0.is_none() && first.1 > 1_024, "{tool}: {first:?}");
        assert!(lengths.iter().all(|other| other == first), "{tool}: {lengths:?}");
    }
    // What is found is packed as before.
    let found = asked("get_products", &json!({"buying_mode": "wholesale"}), 10);
    assert_eq!(found.0.as_deref(), Some("gzip"));
}
