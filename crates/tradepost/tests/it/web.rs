//! What browsers see: web pages of other origins (CORS), answers in gzip, and the page for people.

use std::io::Read as _;

use crate::conformance::Profile;
use expect_test::{Expect, expect};
use flate2::read::GzDecoder;
use tradepost_document::json::json;
use tradepost_runtime::config::WebOrigin;

use crate::support::client::{self, Response};
use crate::support::{TestServer, compare, envelope, lead, start, start_conformance, start_with};

const CARD: &str = "/.well-known/agent-card.json";
const JSON: (&str, &str) = ("Content-Type", "application/json");
const PAGE: (&str, &str) = ("Origin", "https://page.example");

fn send(server: &TestServer, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    client::request(server.address, method, path, headers, b"")
}

/// The status and what concerns web pages.
fn for_pages(response: &Response) -> String {
    let named = |(name, _): &&(String, String)| {
        name.starts_with("access-control-") || name == "vary" || name == "allow"
    };
    let headers = response.headers.iter().filter(named);
    let headers: String = headers.map(|(name, value)| format!("{name}: {value}\n")).collect();
    format!("{}\n{headers}", response.status)
}

#[track_caller]
fn check_for_pages(response: &Response, expected: &Expect) {
    expected.assert_eq(&for_pages(response));
}

const PREFLIGHT: [(&str, &str); 3] = [
    PAGE,
    ("Access-Control-Request-Method", "POST"),
    ("Access-Control-Request-Headers", "content-type,a2a-version"),
];

#[test]
fn every_origin_may_read_and_call_without_credentials() {
    let server = start();
    check_for_pages(
        &send(&server, "GET", CARD, &[PAGE]),
        &expect![[r#"
        200
        access-control-allow-origin: *
        access-control-expose-headers: a2a-extensions, etag, retry-after, www-authenticate
        vary: accept-encoding
    "#]],
    );
    check_for_pages(
        &send(&server, "OPTIONS", "/a2a", &PREFLIGHT),
        &expect![[r#"
        204
        access-control-allow-origin: *
        access-control-expose-headers: a2a-extensions, etag, retry-after, www-authenticate
        access-control-allow-methods: POST
        access-control-allow-headers: content-type, authorization, a2a-version, a2a-extensions, last-event-id
        access-control-max-age: 7200
        allow: POST
    "#]],
    );
    check_for_pages(
        &send(&server, "OPTIONS", CARD, &PREFLIGHT),
        &expect![[r#"
        204
        access-control-allow-origin: *
        access-control-expose-headers: a2a-extensions, etag, retry-after, www-authenticate
        access-control-allow-methods: GET
        access-control-allow-headers: content-type, authorization, a2a-version, a2a-extensions, last-event-id
        access-control-max-age: 7200
        allow: GET,HEAD
    "#]],
    );
    // A refusal can be read, too.
    check_for_pages(
        &send(&server, "POST", "/a2a", &[PAGE]),
        &expect![[r#"
        415
        access-control-allow-origin: *
        access-control-expose-headers: a2a-extensions, etag, retry-after, www-authenticate
    "#]],
    );
    // Nobody else's browser is told anything.
    check_for_pages(
        &send(&server, "OPTIONS", "/healthz", &PREFLIGHT),
        &expect![[r#"
        405
        allow: GET,HEAD
    "#]],
    );
    let plain = [("Access-Control-Request-Method", "POST")];
    check_for_pages(
        &send(&server, "OPTIONS", "/a2a", &plain),
        &expect![[r#"
        405
        allow: POST
    "#]],
    );
}

#[test]
fn any_page_may_search_but_leads_need_named_pages() {
    let search = envelope(&json!({"type": "inventory.search.request"})).to_string();
    let lead = envelope(&lead()).to_string();
    let server = start();
    assert_eq!(
        server.post_with(&[JSON, PAGE], &search).json()["result"]["message"]["role"],
        "ROLE_AGENT"
    );
    let refused = server.post_with(&[JSON, PAGE], &lead);
    compare(
        "web pages",
        &refused,
        &expect![[r#"
            403
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32000,
                "message":"web pages of other origins may only read here; send a credential, or ask the agent's operator to let yours do more",
                "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED","domain":"a2a-protocol.org","metadata":{}}]}}
        "#]],
    );
    check_for_pages(
        &refused,
        &expect![[r#"
        403
        access-control-allow-origin: *
        access-control-expose-headers: a2a-extensions, etag, retry-after, www-authenticate
    "#]],
    );
    assert!(server.store.leads(None).unwrap().is_empty());
    let server = start_with(|config| {
        let named = WebOrigin::Named("https://page.example".to_owned());
        config.server.web_origins = vec![WebOrigin::Any, named];
    });
    let taken = server.post_with(&[JSON, PAGE], &lead);
    check_for_pages(
        &taken,
        &expect![[r#"
        200
        vary: origin
        access-control-allow-origin: https://page.example
        access-control-expose-headers: a2a-extensions, etag, retry-after, www-authenticate
    "#]],
    );
    assert_eq!(server.store.leads(None).unwrap().len(), 1);
    let other = server.post_with(&[JSON, ("Origin", "https://other.example")], &lead);
    assert_eq!(other.status, 403);
    let several = server.post_with(&[JSON, PAGE, ("Origin", "https://other.example")], &lead);
    assert_eq!(several.status, 403, "of two origins neither counts");
}

#[test]
fn a_configuration_can_shut_pages_out() {
    let server = start_with(|config| config.server.web_origins = Vec::new());
    check_for_pages(
        &send(&server, "GET", CARD, &[PAGE]),
        &expect![[r#"
        200
        vary: origin
        vary: accept-encoding
    "#]],
    );
    let refused = send(&server, "OPTIONS", "/a2a", &PREFLIGHT);
    compare(
        "web pages",
        &refused,
        &expect![[r#"
        403
        {"error":{"code":403,"status":"PERMISSION_DENIED","message":"web pages of this origin may not call here"}}
    "#]],
    );
    check_for_pages(
        &refused,
        &expect![[r#"
        403
        allow: POST
    "#]],
    );
}

fn unpacked(response: &Response) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(response.body.as_slice()).read_to_end(&mut plain).unwrap();
    plain
}

#[test]
fn compressed_answers_are_for_askers_and_mean_the_same() {
    let server = start();
    let gzip = ("Accept-Encoding", "br;q=1.0, gzip;q=0.8");
    let plain = server.card();
    let packed = send(&server, "GET", CARD, &[gzip]);
    let head = |response: &Response| {
        ["content-encoding", "etag", "vary"].map(|name| response.header(name).map(str::to_owned))
    };
    let some = |text: &str| Some(text.to_owned());
    let etag = plain.header("etag").unwrap();
    assert_eq!(head(&plain), [None, some(etag), some("accept-encoding")]);
    let weak = format!("W/{etag}");
    assert_eq!(head(&packed), [some("gzip"), some(&weak), some("accept-encoding")]);
    assert!(packed.body.len() < plain.body.len() / 2);
    assert_eq!(unpacked(&packed), plain.body);
    let length = packed.header("content-length").unwrap();
    assert_eq!(length, packed.body.len().to_string());
    let unchanged = send(&server, "GET", CARD, &[gzip, ("If-None-Match", &weak)]);
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    assert_eq!(unchanged.header("vary"), Some("accept-encoding"));
    let search = envelope(&json!({"type": "inventory.search.request"})).to_string();
    let packed = client::request(server.address, "POST", "/a2a", &[JSON, gzip], search.as_bytes());
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    let text = String::from_utf8(unpacked(&packed)).unwrap();
    assert!(text.contains("inventory.search.response") && text.ends_with('}'), "{text}");
    let small = send(&server, "GET", "/healthz", &[gzip]);
    assert_eq!((small.header("content-encoding"), small.header("vary")), (None, None));
    let refused = send(&server, "GET", CARD, &[("Accept-Encoding", "gzip;q=0")]);
    assert_eq!(refused.header("content-encoding"), None);
}

#[test]
fn streams_are_never_compressed() {
    let server = start_conformance(Profile::Streaming);
    let message = json!({"messageId": "tck-stream-001", "role": "ROLE_USER",
        "parts": [{"text": "go"}]});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage",
        "params": {"message": message}});
    let headers = [JSON, ("A2A-Version", "1.0"), ("Accept-Encoding", "gzip")];
    let body = body.to_string();
    let answer = client::request(server.address, "POST", "/a2a", &headers, body.as_bytes());
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("content-encoding"), None);
}

#[test]
fn an_encoded_body_is_refused_and_not_misread() {
    let server = start_with(|config| config.dealers[0].http_json = true);
    let body = envelope(&json!({"type": "dealer.information.request"})).to_string();
    let gzip = ("Content-Encoding", "gzip");
    let refused = server.post_with(&[JSON, gzip], &body);
    compare(
        "encodings",
        &refused,
        &expect![[r#"
        415
        {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"encoded bodies are not read here; leave Content-Encoding out"}}
    "#]],
    );
    assert_eq!(refused.header("accept-encoding"), Some("identity"));
    let rest = client::request(server.address, "POST", "/rest/message:send", &[JSON, gzip], b"{}");
    compare(
        "encodings",
        &rest,
        &expect![[r#"
        415
        {"error":{"code":415,"status":"INVALID_ARGUMENT","message":"encoded bodies are not read here; leave Content-Encoding out",
            "details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    for (encoding, status) in [("identity", 200), ("", 200), ("identity, br", 415), ("x", 415)] {
        let answer = server.post_with(&[JSON, ("Content-Encoding", encoding)], &body);
        assert_eq!(answer.status, status, "{encoding}");
    }
    let twice = br#"{"message":{"messageId":"1","messageId":"2"}}"#;
    let twice = client::request(server.address, "POST", "/rest/message:send", &[JSON], twice);
    compare(
        "E-014",
        &twice,
        &expect![[r#"
        400
        {"error":{"code":400,"status":"INVALID_ARGUMENT","message":"the body has members twice; send each once: message.messageId",
            "details":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST","domain":"a2a-protocol.org","metadata":{}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[{"field":"message.messageId","description":"is there twice; readers differ in which they take"}]}]}}
    "#]],
    );
}

const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");

#[test]
fn a_program_learns_where_the_card_is() {
    let server = start();
    let expected = expect![[r#"
        200
        {"name":"Demo Auto Group","card":"https://demo-toyota.example.com/.well-known/agent-card.json","mcp":"https://demo-toyota.example.com/mcp"}
    "#]];
    for accept in ["application/json", "*/*"] {
        let home = send(&server, "GET", "/", &[("Accept", accept)]);
        compare("web pages", &home, &expected);
        assert_eq!(home.header("vary"), Some("accept"));
    }
}

#[test]
fn a_persons_page_needs_no_script_and_escapes_everything() {
    let server = start_with(|config| {
        let dealer = &mut config.dealers[0];
        dealer.terms.name = "<script>alert('1')</script> & Sons".to_owned();
        dealer.documentation_url = Some("https://docs.example/?a=1&b=\"2".to_owned());
    });
    let home = send(&server, "GET", "/", &[BROWSER]);
    assert_eq!(home.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = home.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    let text = String::from_utf8(home.body.clone()).unwrap();
    assert!(!text.contains("<script"), "{text}");
    let (_, body) = text.split_once("<body>").unwrap();
    expect![[r#"

        <header>
        <h1>&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62; &#38; Sons</h1>
        <p>A dealer group that exists only in tests.</p>
        <p class="quiet">This address is for AI agents: they ask here on behalf of people, in the protocols below. There is nothing to log in to.</p>
        </header>
        <main>
        <h2>The agent card</h2>
        <p>It says everything that an agent needs to know to begin: <a href="https://demo-toyota.example.com/.well-known/agent-card.json">https://demo-toyota.example.com/.well-known/agent-card.json</a></p>
        <h2>What can be asked</h2>
        <dl>
        <dt><code>dealer.information</code></dt>
        <dd>Tells who the dealer is: rooftops with address, opening hours, contacts and services.</dd>
        <dt><code>inventory.facets</code></dt>
        <dd>Counts the inventory, or a filtered part of it, by make, model, year, price and more.</dd>
        <dt><code>inventory.search</code></dt>
        <dd>Finds vehicles on offer by make, model, year, condition, price, mileage, words and more.</dd>
        <dt><code>inventory.vehicle</code></dt>
        <dd>Gives everything known about one vehicle, by VIN, stock number or vehicle id.</dd>
        <dt><code>lead.submit</code></dt>
        <dd>Takes a consented lead with vehicle of interest, trade-in and appointment.</dd>
        </dl>
        <h2>Where</h2>
        <dl>
        <dt>JSONRPC, A2A 1.0</dt>
        <dd><code>https://demo-toyota.example.com/a2a</code></dd>
        <dt>MCP, for assistants</dt>
        <dd><a href="https://demo-toyota.example.com/mcp"><code>https://demo-toyota.example.com/mcp</code></a></dd>
        </dl>
        <h2>How to try it</h2>
        <pre>curl 'https://demo-toyota.example.com/.well-known/agent-card.json'</pre>
        <pre>curl 'https://demo-toyota.example.com/a2a' -H 'Content-Type: application/json' -d '{&#34;jsonrpc&#34;:&#34;2.0&#34;,&#34;id&#34;:1,&#34;method&#34;:&#34;SendMessage&#34;,&#34;params&#34;:{&#34;message&#34;:{&#34;messageId&#34;:&#34;1&#34;,&#34;role&#34;:&#34;ROLE_USER&#34;,&#34;parts&#34;:[{&#34;data&#34;:{&#34;type&#34;:&#34;dealer.information.request&#34;}}]}}}'</pre>
        </main>
        <footer class="quiet">
        <p>Operated by <a href="https://tests.example">Tests</a>.</p>
        <p><a href="https://docs.example/?a=1&#38;b=&#34;2">Documentation</a></p>
        <p>Served by Tradepost.</p>
        </footer>
        </body>
        </html>"#]].assert_eq(body);
    for needed in ["prefers-color-scheme: dark", "width=device-width"] {
        assert!(text.contains(needed), "{needed}");
    }
}

#[test]
fn an_unknown_host_has_no_page() {
    let server = start_with(|config| config.dealers[0].hosts = vec!["cars.example".to_owned()]);
    assert_eq!(send(&server, "GET", "/", &[BROWSER]).status, 404);
    assert_eq!(send(&server, "GET", "/", &[BROWSER, ("Host", "cars.example")]).status, 200);
}

#[test]
fn a_publishers_page_says_how_its_capabilities_are_asked_for() {
    let publisher = crate::support::publisher::start();
    let home = client::request(publisher.address, "GET", "/", &[BROWSER], b"");
    let text = String::from_utf8(home.body).unwrap();
    assert!(text.contains("get_adcp_capabilities") && text.contains("/mcp"), "{text}");
}
