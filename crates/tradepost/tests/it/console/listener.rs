//! The console's listener: which paths are its own, what is said before a form arrives, and how large a
//! form may be.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use expect_test::expect;

use super::*;
use crate::support::postgres::Scratch;

/// Sends a request line and headers as they are, and a body; the status of the answer.
fn status_of(fixture: &Fixture, method: &str, target: &str, cookie: &str, body: &str) -> u16 {
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: {cookie}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    client::raw(fixture.address, head.as_bytes()).unwrap().status
}

#[test]
fn only_plain_paths_below_console_are_the_consoles() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    let mut table = String::new();
    for path in [
        "/console",
        "/console/",
        "/console?done=note",
        "/console/leads",
        "/console/leads?q=ada",
        "/console/console.css",
        // Every other path is nobody's, so that a proxy's rules cannot be walked around.
        "/",
        "/foo",
        "/leads",
        "/console.css",
        "/consoleaudit",
        "/consoleleads",
        "/console-audit",
        "/console.leads",
        "//console",
        "//console/leads",
        "/console//",
        "/console//leads",
        "/console/leads/",
        "/console/leads//",
        "/console/./leads",
        "/console/../console/leads",
        "/console/leads/..",
        "/./console",
        "/x/../console",
        "/CONSOLE",
        "/Console/leads",
        "/console/Leads",
        "/console/LEADS",
        "/%63onsole",
        "/console%2Fleads",
        "/console%2fleads",
        "/console/%6ceads",
        "/console/leads%2F",
        "/console/leads%00",
        "/console/%2e%2e/console",
        "/console;a=b",
        "/console;/leads",
        "/console/leads;a=b",
        "/console/leads/%2e",
        "/console\\leads",
        "/console/\\leads",
        "*",
    ] {
        table += &format!("{} {path}\n", status_of(&fixture, "GET", path, &maria.cookie, ""));
    }
    expect![[r#"
        200 /console
        200 /console/
        200 /console?done=note
        200 /console/leads
        200 /console/leads?q=ada
        200 /console/console.css
        404 /
        404 /foo
        404 /leads
        404 /console.css
        404 /consoleaudit
        404 /consoleleads
        404 /console-audit
        404 /console.leads
        404 //console
        404 //console/leads
        404 /console//
        404 /console//leads
        404 /console/leads/
        404 /console/leads//
        404 /console/./leads
        404 /console/../console/leads
        404 /console/leads/..
        404 /./console
        404 /x/../console
        404 /CONSOLE
        404 /Console/leads
        404 /console/Leads
        404 /console/LEADS
        404 /%63onsole
        404 /console%2Fleads
        404 /console%2fleads
        404 /console/%6ceads
        404 /console/leads%2F
        404 /console/leads%00
        404 /console/%2e%2e/console
        404 /console;a=b
        404 /console;/leads
        404 /console/leads;a=b
        404 /console/leads/%2e
        404 /console\leads
        404 /console/\leads
        404 *
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_form_for_a_lookalike_path_changes_nothing() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let maria = fixture.enter("maria");
    let before = fixture.record(ONE).len();
    let fields = [("text", "Called.")];
    for path in [
        format!("/consoleleads/{lead}/notes"),
        format!("/leads/{lead}/notes"),
        format!("/console//leads/{lead}/notes"),
        format!("/console/leads/{lead}/notes/"),
        format!("/console/leads/{lead}/%6eotes"),
        format!("/console/leads/{}/notes", lead.replacen('_', "%5f", 1)),
    ] {
        assert_eq!(maria.post(&path, &fields).status, 404, "{path}");
    }
    assert_eq!(fixture.record(ONE).len(), before);
    assert_eq!(maria.do_it(&format!("/console/leads/{lead}/notes"), &fields), "note");
}

/// Sends the head of a form that never comes, and reads the answer.
fn without_its_body(fixture: &Fixture, path: &str, cookie: &str) -> Response {
    let mut stream = TcpStream::connect(fixture.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nCookie: {cookie}\r\nExpect: 100-continue\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    client::parse(&answer).unwrap()
}

#[test]
fn a_request_is_judged_before_its_form_arrives() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let dora = fixture.enter("dora");
    let over = "tradepost-console=over";
    let mut table = String::new();
    for (what, path, cookie) in [
        ("a path that is not ours", "/nowhere".to_owned(), ""),
        ("no such page", "/console/nowhere".to_owned(), dora.cookie.as_str()),
        ("a page that takes no form", "/console/leads".to_owned(), &dora.cookie),
        ("no session", format!("/console/leads/{lead}/notes"), ""),
        ("a session that is over", format!("/console/leads/{lead}/notes"), over),
        ("another role's", format!("/console/leads/{lead}/release"), &dora.cookie),
        ("no cookie of the form", "/console/sign-in".to_owned(), ""),
    ] {
        let answer = without_its_body(&fixture, &path, cookie);
        let leads_to = answer.header("location").unwrap_or_default();
        table += format!("{} {what} {leads_to}", answer.status).trim_end();
        table += "\n";
    }
    expect![[r#"
        404 a path that is not ours
        404 no such page
        404 a page that takes no form
        303 no session /console/sign-in
        303 a session that is over /console/sign-in
        403 another role's
        401 no cookie of the form
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_form_is_no_larger_than_it_needs_to_be() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &customer("Ada"));
    let dora = fixture.enter("dora");
    let note = format!("/console/leads/{lead}/notes");
    let stage = format!("/console/leads/{lead}/stage");
    for (path, bytes, is_taken) in [
        ("/console/sign-in", 3_000, true),
        ("/console/sign-in", 5_000, false),
        (&stage, 3_000, true),
        (&stage, 5_000, false),
        (&note, 60_000, true),
        (&note, 70_000, false),
    ] {
        let body = format!("text={}", "x".repeat(bytes));
        let status = status_of(&fixture, "POST", path, &dora.cookie, &body);
        assert_eq!(status != 413, is_taken, "{path} {bytes}: {status}");
    }
    // The longest note, of characters that are longest in a form.
    let text = "\u{1f697}".repeat(4_000);
    assert_eq!(dora.do_it(&note, &[("text", &text)]), "note");
}

#[test]
fn pages_name_https_for_good_where_browsers_reach_them_so() {
    let hsts = |fixture: &Fixture, path: &str| {
        fixture.get(path).header("strict-transport-security").map(str::to_owned)
    };
    let plain = Fixture::new();
    let proxied = Fixture::with(|config| {
        let console = config.server.console.as_mut().unwrap();
        console.public_url = Some("https://desk.example.com".to_owned());
    });
    for path in ["/console", "/console/sign-in", "/console/console.css", "/nowhere"] {
        assert_eq!(hsts(&plain, path), None, "{path}");
        assert_eq!(hsts(&proxied, path).as_deref(), Some("max-age=31536000"), "{path}");
    }
}

#[test]
fn a_store_without_sessions_signs_nobody_out() {
    let Some(scratch) = Scratch::new() else { return };
    let fixture = Fixture::on(scratch.store_of_a_role());
    let lead = fixture.lead("one.example", &customer("Ada"));
    let maria = fixture.enter("maria");
    let note = || maria.post(&format!("/console/leads/{lead}/notes"), &[("text", "Called.")]);
    scratch.refuse_sessions(true);
    for answer in [maria.get("/console/leads"), note(), fixture.try_to_enter("dora", PASSWORD).0] {
        assert_eq!((answer.status, answer.header("location")), (503, None), "{}", text(&answer));
        assert!(cookie(&answer, "tradepost-console").is_none());
    }
    scratch.refuse_sessions(false);
    let began = tokio::time::Instant::now();
    while maria.get("/console/leads").status != 200 {
        assert!(began.elapsed() < Duration::from_secs(60), "the session holds");
    }
}
