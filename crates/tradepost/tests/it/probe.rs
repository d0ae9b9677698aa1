//! The prober against our own agents, whole and broken. The broken ones are our own behind a
//! proxy that changes what they say: to a client that is the same, and the product needs no
//! switches for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::conformance::Profile;
use tradepost_aap::Version;
use tradepost_client::HttpTransport;
use tradepost_client::transport::TransportLimits;
use tradepost_document::json::{Value, json};
use tradepost_probe::check::{self, RequirementLevel};
use tradepost_probe::grade::Grade;
use tradepost_probe::report::AgentReport;
use tradepost_probe::{ProbeOptions, Waiver, checks, html, junit, probe};
use tradepost_runtime::config::AuthSettings;
use tradepost_server::auth::key::NewApiKey;
use tradepost_store::ApiKey;

use crate::support::proxy::{self, ChangeAnswer, ChangeRequest, Passing};
use crate::support::{NOW, TestServer, at, conformance, dealer, start_with};

mod adcp;
mod broken;
mod grpc;
mod publisher;
mod seen;

/// What the cards of the tests name in place of the server.
const NAMED: &[&str] = &["https://demo-toyota.example.com", "http://127.0.0.1:8080"];

fn options() -> ProbeOptions {
    let mut options = ProbeOptions::new(at(NOW), "0196865e7b0070008000000000000001");
    (options.allow_leads, options.allow_writes) = (true, true);
    (options.rate, options.budget) = (0, 2000);
    options
}

fn with(mut options: ProbeOptions, change: impl FnOnce(&mut ProbeOptions)) -> ProbeOptions {
    change(&mut options);
    options
}

/// The options with tokens that are for servers at these addresses: an agent's gRPC may be elsewhere.
fn tokens_for(options: ProbeOptions, addresses: [&str; 2]) -> ProbeOptions {
    let origin = |address: &str| {
        let host = address.trim_start_matches("http://");
        format!("http://{host}").parse().unwrap()
    };
    with(options, |options| options.token_for = addresses.map(origin).to_vec())
}

fn run(address: &str, options: ProbeOptions) -> AgentReport {
    run_while(address, options, &mut || {})
}

/// The same, which does something after each step of the run.
fn run_while(address: &str, options: ProbeOptions, step: &mut (dyn FnMut() + Send)) -> AgentReport {
    let limits = TransportLimits { timeout: Duration::from_secs(60), ..TransportLimits::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let transport = HttpTransport::new(limits);
    runtime.block_on(probe(transport, address, options, &mut |_| step())).unwrap()
}

/// A proxy that changes nothing but the addresses on the card.
fn in_front_of(server: std::net::SocketAddr) -> String {
    proxy::start(server, NAMED, Arc::new(|_| {}), Arc::new(|_, _| {}))
}

/// The checks that failed, each once.
fn failed(report: &AgentReport) -> Vec<&'static str> {
    let mut ids: Vec<_> = report.failures().iter().map(|finding| finding.check.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// That nothing failed, with what did where something did.
fn assert_a(report: &AgentReport) {
    let failures: Vec<_> = report
        .failures()
        .iter()
        .map(|finding| {
            format!("{} on {}: {}", finding.check.id, finding.on, finding.verdict.text())
        })
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(report.grade, Some(Grade::A));
}

/// A key for a caller of the dealer or of the conformance agent.
fn key(agent: &str, name: &str) -> (ApiKey, String) {
    let fresh = NewApiKey::generate().unwrap();
    let key = ApiKey {
        id: fresh.id,
        agent_id: agent.to_owned(),
        name: name.to_owned(),
        hash: fresh.hash,
        scopes: None,
        created_at: at(NOW),
        expires_at: None,
        revoked_at: None,
        last_used_on: None,
    };
    (key, fresh.text)
}

#[test]
fn our_dealer_has_grade_a_in_every_version_it_speaks() {
    for versions in [vec![Version::V1_0], vec![Version::V1_1], vec![Version::V1_0, Version::V1_1]] {
        let count = versions.len();
        let server = start_with(|config| config.dealers[0].terms.versions = versions);
        let report = run(&in_front_of(server.address), options());
        assert_a(&report);
        let on = |name: &str| {
            report.findings.iter().filter(|finding| finding.on.starts_with(name)).count()
        };
        assert!(on("AAP") >= 90 * count, "only {} checks of AAP were run", on("AAP"));
        let counts = report.counts(Some(RequirementLevel::Must));
        assert!(counts.pass > 120, "{counts:?}");
    }
}

#[test]
fn our_dealer_has_grade_a_over_http_json_and_secured() {
    let server = start_with(|config| {
        config.dealers[0].http_json = true;
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    });
    let (known, token) = key(dealer::ID, "prober");
    assert!(server.store.add_api_key(known, false).unwrap());
    let options = with(options(), |options| options.token = Some(token.clone()));
    let report = run(&in_front_of(server.address), options);
    assert_a(&report);
    assert!(report.findings.iter().any(|finding| finding.on == "HTTP+JSON"));
    let judged = |id: &str| {
        report
            .findings
            .iter()
            .any(|finding| finding.check.id == id && finding.verdict == check::CheckVerdict::Pass)
    };
    assert!(judged("a2a.auth.missing") && judged("a2a.auth.challenge"));
    let json = tradepost_document::json::to_string(&report).unwrap();
    assert!(!json.contains(&token) && !html::write(&report).contains(&token), "no credentials");
}

#[test]
fn our_conformance_agent_has_grade_a_for_two_callers() {
    for profile in [
        Profile::Streaming,
        Profile::Push,
        Profile::Plain,
        Profile::Strict,
        Profile::Secured,
        Profile::Unset,
    ] {
        let server = conformance::start_conformance(profile);
        let token = |name| Some(server.caller(name, None).trim_start_matches("Bearer ").to_owned());
        let options = with(options(), |options| {
            options.token = token("a");
            options.token_b = token("b");
        });
        let report = run(&format!("http://{}", server.address), options);
        assert_a(&report);
        let passed = |id: &str| {
            let found = report.findings.iter().filter(|finding| finding.check.id == id);
            found.filter(|finding| finding.verdict == check::CheckVerdict::Pass).count()
        };
        assert_eq!(passed("a2a.access.identical"), 3, "{profile:?}");
        assert_eq!(passed("a2a.kit.third-turn"), 3, "{profile:?}");
    }
}

#[test]
fn the_librarys_echo_has_grade_a_on_every_binding() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move { crate::echo::serve(listener).await.map_err(|why| why.to_string()) });
    let report = run(&format!("http://{address}"), options());
    assert_a(&report);
    let media_types =
        report.findings.iter().filter(|finding| finding.check.id == "a2a.input.media-type");
    let passed = media_types.filter(|finding| finding.verdict == check::CheckVerdict::Pass);
    assert_eq!(passed.count(), 3, "once on each binding");
}

#[test]
fn nothing_with_an_effect_is_sent_that_was_not_allowed() {
    let server = start_with(|_| {});
    let options = with(options(), |options| options.allow_leads = false);
    let report = run(&in_front_of(server.address), options);
    assert_a(&report);
    assert!(server.store.leads(None).unwrap().is_empty());
    assert!(report.counts(None).skipped > 0);
    // Not even a broken dealer could contact anybody.
    let mut sent = report.findings.iter().flat_map(|finding| &finding.exchanges);
    assert!(!sent.any(|exchange| exchange.request.body.contains("@tradepost-probe.example")));

    let server = conformance::start_conformance(Profile::Streaming);
    let options = with(self::options(), |options| options.allow_messages = false);
    let report = run(&format!("http://{}", server.address), options);
    assert_eq!(server.live(), 0);
    assert_eq!(server.result("ListTasks", &json!({}))["totalSize"], 0);
    assert!(failed(&report).is_empty());
}

#[test]
fn a_budget_is_kept_and_what_it_omitted_told() {
    let server = start_with(|_| {});
    let report = run(&in_front_of(server.address), with(options(), |options| options.budget = 5));
    assert_eq!(report.requests, 5);
    assert_eq!(report.grade, None, "more was skipped than judged");
    assert!(
        report
            .findings
            .iter()
            .any(|finding| finding.verdict.text().contains("budget of 5 requests"))
    );
}

#[test]
fn no_card_is_no_grade_and_nobody_there_no_report() {
    let server = start_with(|_| {});
    let address = proxy::start(
        server.address,
        NAMED,
        Arc::new(|_| {}),
        Arc::new(|_, reply: &mut Passing| reply.body = b"<html>".to_vec()),
    );
    let report = run(&address, options());
    assert_eq!(report.grade, None);
    assert!(report.breaks_a_must());
    assert_eq!(failed(&report), ["a2a.card.served"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let transport = HttpTransport::new(TransportLimits::default());
    let unreachable =
        async { probe(transport, "http://127.0.0.1:1", options(), &mut |_| {}).await };
    assert!(runtime.block_on(unreachable).is_err());
}

#[test]
fn a_waived_failure_is_told_and_does_not_count() {
    let server = start_with(|_| {});
    let change: ChangeAnswer =
        Arc::new(|_, reply: &mut Passing| reply.drop_header("cache-control"));
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), change);
    let report = run(&address, options());
    assert_eq!((report.grade, failed(&report)), (Some(Grade::B), vec!["a2a.card.cache-control"]));
    let reason = "our cache decides".to_owned();
    let waiver = Waiver { check: "a2a.card.cache-control".to_owned(), reason };
    let report = run(&address, with(options(), |options| options.waivers = vec![waiver]));
    assert_eq!((report.grade, report.counts(None).waived), (Some(Grade::A), 1));
    assert!(junit::write(&report).contains("<skipped message=\"waived: our cache decides\"/>"));
    assert!(html::write(&report).contains("waived: our cache decides"));
}

#[test]
fn every_check_is_documented_and_has_its_own_name() {
    let mut ids: Vec<_> = checks().map(|check| check.id).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for check in checks() {
        let texts = [check.title, check.why, check.fix, check.section];
        assert!(texts.iter().all(|text| !text.is_empty()), "{}", check.id);
        assert!(!check.requirements.is_empty(), "{}", check.id);
    }
    let of = |profile| checks().filter(|check| check.profile() == profile).count();
    assert!(of(check::CheckProfile::Aap) >= 90, "{}", of(check::CheckProfile::Aap));
    assert!(of(check::CheckProfile::Adcp) >= 70, "{}", of(check::CheckProfile::Adcp));
    assert!(of(check::CheckProfile::A2a) >= 90, "{}", of(check::CheckProfile::A2a));
}

#[test]
fn reports_escape_what_an_agent_wrote() {
    let server = start_with(|_| {});
    let change: ChangeAnswer = Arc::new(|_, reply: &mut Passing| {
        reply.json(|body| {
            if body.get("name").is_some() {
                body["name"] = json!("<script>alert(1)</script>\u{202e}");
            }
        });
    });
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), change);
    let report = run(&address, with(options(), |options| options.budget = 20));
    let page = html::write(&report);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;\\u202e"));
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'));
    // The badge refers to parts of itself.
    let elsewhere = page.replace("url(#", "");
    for resource in ["src=", "href=", "url(", "@import", "http-equiv=\"refresh"] {
        assert!(!elsewhere.contains(resource), "the page needs {resource}");
    }
}

#[test]
fn the_json_form_is_what_is_documented() {
    let server = start_with(|_| {});
    let report = run(&in_front_of(server.address), options());
    let json: Value = tradepost_document::json::to_value(&report).unwrap();
    let members: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        members,
        [
            "format",
            "address",
            "card_url",
            "agent",
            "probed_at",
            "grade",
            "ungraded",
            "meaning",
            "musts",
            "stopped",
            "breaks_a_must",
            "requests",
            "counts",
            "left_out",
            "findings"
        ]
    );
    assert_eq!((&json["format"], &json["grade"]), (&json!(3), &json!("A")));
    let finding = &json["findings"][0];
    let members: Vec<_> = finding.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        members,
        [
            "check",
            "on",
            "level",
            "verdict",
            "title",
            "requirements",
            "section",
            "why",
            "mend",
            "exchanges"
        ]
    );
    assert_eq!(finding["check"], "a2a.card.served");
    assert_eq!(finding["exchanges"][0]["request"]["method"], "GET");
    assert_eq!(finding["exchanges"][0]["answer"]["status"], 200);
}
