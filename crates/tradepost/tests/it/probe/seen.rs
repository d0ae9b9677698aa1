//! What could be seen of an agent, and what is said when it was little: because the agent lets nobody
//! in, because the run was stopped, or because nothing was to be sent.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;

use tradepost_probe::check::CheckVerdict;
use tradepost_probe::grade::Ungraded;
use tradepost_probe::{markdown, probe_until, rehearse};

use super::*;

/// A dealer who wants a credential, behind a proxy that notes what is asked.
fn locked(asked: &Arc<Mutex<Vec<Passing>>>) -> (TestServer, String) {
    let server = start_with(|config| {
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    });
    let asked = Arc::clone(asked);
    let note: ChangeRequest = Arc::new(move |passing| asked.lock().unwrap().push(passing.clone()));
    // The dealer itself would count wrong credentials, and ask to wait.
    let refuse: ChangeAnswer = Arc::new(|asked, reply: &mut Passing| {
        if asked.target().split('?').next() == Some("/a2a") {
            *reply = Passing::default();
            reply.set_status(401);
            reply.set_header("www-authenticate", "Bearer");
        }
    });
    let address = proxy::start(server.address, NAMED, note, refuse);
    (server, address)
}

/// A server that takes connections and never answers; told of each.
fn silent() -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (tell, reply) = mpsc::channel();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for client in listener.incoming().flatten() {
            held.push(client);
            let _ = tell.send(());
        }
    });
    (address, reply)
}

fn tradepost(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn an_agent_that_lets_nobody_in_gets_no_grade() {
    let (_server, address) = locked(&Arc::default());
    let report = run(&address, options());
    assert_eq!((failed(&report), report.grade), (Vec::new(), None));
    let coverage = report.coverage();
    assert!(coverage.looked_at * 2 < coverage.of, "{coverage:?}");
    assert_eq!(report.ungraded(), Some(Ungraded::NotLookedAt));
    let meaning = format!("only {} of {} MUSTs", coverage.looked_at, coverage.of);
    assert!(report.meaning().starts_with(&meaning), "{}", report.meaning());
    assert!(junit::write(&report).contains("<error type=\"no grade\""));
    assert!(html::write(&report).contains("aria-label=\"no grade\""));
    assert!(markdown::write(&report).contains(": no grade\n"));

    let output = tradepost(&["probe", &address, "--rate", "0"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(14), "{said}");
    assert!(shown.contains(": no grade\n"), "{shown}");
    assert!(said.contains("MUSTs were looked at"), "{said}");
}

#[test]
fn a_run_that_is_stopped_reports_what_was_seen() {
    let server = start_with(|_| {});
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let stop = Mutex::new(Some(stop));
    let count = AtomicU32::new(0);
    let request: ChangeRequest = Arc::new(move |_| {
        if count.fetch_add(1, Ordering::Relaxed) == 20 {
            let _ = stop.lock().unwrap().take().unwrap().send(());
        }
    });
    let address = proxy::start(server.address, NAMED, request, Arc::new(|_, _| {}));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut seen = Vec::new();
    let report = runtime.block_on(async {
        let stop = async {
            let _ = stopped.await;
        };
        let mut progress = |step: &tradepost_probe::RunProgress<'_>| {
            seen.push((step.done, step.finding.is_some()));
        };
        let transport = HttpTransport::new(TransportLimits::default());
        probe_until(transport, &address, options(), &mut progress, stop).await.unwrap()
    });
    assert_eq!(report.stopped.as_deref(), Some("the run was stopped"));
    assert_eq!(report.grade, None);
    assert!((15..=25).contains(&report.requests), "{}", report.requests);
    let counts = report.counts(None);
    assert!(counts.pass > 10 && counts.skipped > 100, "{counts:?}");
    let why = report.findings.last().unwrap().verdict.text();
    assert_eq!(why, "the run was stopped");
    // Each check is told when it begins and when it is done.
    assert_eq!(seen[..3], [(0, false), (1, true), (1, false)]);
    assert_eq!(seen.last(), Some(&(report.findings.len(), true)));
    assert!(html::write(&report).contains("ended early: the run was stopped"));
}

#[test]
fn a_deadline_ends_a_run_that_would_wait() {
    let (address, _connections) = silent();
    let report = run(
        &address,
        with(options(), |options| options.deadline = Some(Duration::from_millis(50))),
    );
    assert_eq!(report.stopped.as_deref(), Some("the deadline of 0.05 s has passed"));
    assert_eq!((report.grade, report.requests), (None, 1));
    assert!(!report.breaks_a_must());
    let counts = report.counts(None);
    assert_eq!(counts.skipped, report.findings.len());
}

#[test]
fn a_signal_ends_a_probe_with_its_report() {
    let (address, connections) = silent();
    let child = tradepost(&["probe", &address, "--format", "json"]).spawn().unwrap();
    connections.recv_timeout(Duration::from_secs(60)).unwrap();
    let script = ["-c", "kill -s INT \"$1\"", "sh", &child.id().to_string()];
    assert!(Command::new("sh").args(script).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let report: Value = tradepost_document::json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["stopped"], &report["grade"]),
        (&json!("the run was stopped"), &json!(null))
    );
}

#[test]
fn every_request_says_who_sends_it_and_from_where() {
    let asked = Arc::<Mutex<Vec<Passing>>>::default();
    let (_server, address) = locked(&asked);
    run(&address, options());
    let contact = Some("https://buyer.example/probes".to_owned());
    let report = run(&address, with(options(), |options| options.contact = contact));
    let own = concat!("tradepost-probe/", env!("CARGO_PKG_VERSION"));
    let whole = format!("{own} (+https://buyer.example/probes)");
    let asked = asked.lock().unwrap();
    let named: Vec<_> = asked.iter().map(|passing| passing.header("user-agent").unwrap()).collect();
    let (first, second) = named.split_at(named.len() - report.requests as usize);
    assert!(first.len() > 20 && first.iter().all(|name| *name == own), "{first:?}");
    assert!(second.len() > 20 && second.iter().all(|name| *name == whole), "{second:?}");
    let shown = &report.findings[0].exchanges[0].request.headers;
    assert!(shown.contains(&("user-agent".to_owned(), whole)), "{shown:?}");
}

#[test]
fn a_dry_run_says_what_would_be_sent() {
    let asked = Arc::<Mutex<Vec<Passing>>>::default();
    let (_server, address) = locked(&asked);
    let options = with(options(), |options| options.token = Some("s3cret-token".to_owned()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let transport = HttpTransport::new(TransportLimits::default());
    let rehearsal = runtime.block_on(rehearse(transport, &address, options)).unwrap();
    let lines =
        |asked: &[Passing]| asked.iter().map(|passing| passing.first.clone()).collect::<Vec<_>>();
    let card = "GET /.well-known/agent-card.json HTTP/1.1";
    assert_eq!(lines(&asked.lock().unwrap()), [card]);
    let step = |id: &str| rehearsal.steps.iter().find(|step| step.check.id == id).unwrap();
    let sent = &step("a2a.send.result").requests[0];
    assert!(sent.body.contains("\"method\":\"SendMessage\""), "{}", sent.body);
    assert!(step("aap.lead.nobody").requests[0].body.contains("lead.submit"));
    assert!(step("a2a.send.task").nothing.is_some());
    let text = tradepost_document::json::to_string(&rehearsal).unwrap();
    assert!(text.contains("Bearer ***") && !text.contains("s3cret-token"));

    let output = tradepost(&["probe", &address, "--dry-run"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(shown.contains("only a GET of the card was sent"), "{shown}");
    // Leads would be sent that nobody could answer; the valid ones are not allowed.
    assert!(shown.contains("nothing: ") && shown.contains("\"method\":\"SendMessage\""), "{shown}");
    assert_eq!(lines(&asked.lock().unwrap()), [card, card]);
    let output = tradepost(&["probe", &address, "--dry-run", "--format", "html"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_sellers_dry_run_shows_what_would_be_asked() {
    let seller = crate::support::adcp::Seller::start(crate::support::adcp::SellerBehavior {
        streams: false,
        has_card: false,
    });
    let options = with(options(), |options| options.profile = Some(check::CheckProfile::Adcp));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = format!("http://{}", seller.address);
    let transport = HttpTransport::new(TransportLimits::default());
    let rehearsal = runtime.block_on(rehearse(transport, &address, options)).unwrap();
    assert!(!seller.was_asked("get_products"));
    let bodies = rehearsal.steps.iter().flat_map(|step| &step.requests).map(|sent| &sent.body);
    assert!(bodies.into_iter().any(|body| body.contains("\"name\":\"get_products\"")));
}

#[test]
fn further_reports_are_written_beside_the_first() {
    let server = start_with(|_| {});
    let change: ChangeAnswer =
        Arc::new(|_, reply: &mut Passing| reply.drop_header("cache-control"));
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), change);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let junit = format!("junit={}", file("a.xml"));
    let markdown = format!("markdown={}", file("b.md"));
    let arguments = ["probe", &address, "--rate", "0", "--profile", "a2a", "--format", "github"];
    let sarif = format!("sarif={}", file("d.sarif"));
    let badge = file("e.svg");
    let more = ["--also", &junit, "--also", &markdown, "--also", &sarif, "--badge", &badge];
    let output = tradepost(&[arguments.as_slice(), &more].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8(output.stdout).unwrap();
    let warning = "::warning title=SHOULD is not kept%3A a2a.card.cache-control on card::The card";
    assert!(shown.starts_with(warning), "{shown}");
    assert!(shown.contains("\n::notice title=tradepost probe::"), "{shown}");
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    assert!(
        read("a.xml").contains("failures=\"0\"") && read("a.xml").contains("SHOULD not kept: ")
    );
    assert!(read("b.md").contains("| **SHOULD** | The card says how long it may be kept"));
    assert!(read("d.sarif").contains("\"ruleId\": \"a2a.card.cache-control\""));
    assert!(read("e.svg").contains("agent conformance: grade B"));
    // The grade is a B, so whoever wants an A is not content.
    let output = tradepost(&[arguments.as_slice(), &["--worst-grade", "a"]].concat()).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(10));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("grade B, and --worst-grade is A"), "{said}");
}

/// The beginning of the sentence that is said to agents.
const FIXED: &str = "This is an automated conformance probe.";

/// The conformance agent over JSON-RPC, which refuses the fixed sentence; its card has this as an example.
/// What it is told is noted.
fn picky(example: Option<&'static str>) -> (conformance::ConformanceServer, String, ReceivedTexts) {
    let server = conformance::start_conformance(Profile::Streaming);
    let received = ReceivedTexts::default();
    let note = Arc::clone(&received);
    let change: ChangeAnswer = Arc::new(move |asked, reply: &mut Passing| {
        if asked.text().contains("SendMessage") {
            note.lock().unwrap().push(asked.text());
        }
        // Who asks about a task that nobody has hears that first.
        let is_fixed = asked.text().contains(FIXED) && !asked.text().contains("taskId");
        reply.json(|body| {
            if let Some(Value::Array(interfaces)) = body.get_mut("supportedInterfaces") {
                interfaces.retain(|interface| interface["protocolBinding"] == "JSONRPC");
                body["skills"][0]["examples"] = json!(example.into_iter().collect::<Vec<_>>());
            } else if is_fixed {
                let error = json!({"code": -32602, "message": "I only talk about cars."});
                *body = json!({"jsonrpc": "2.0", "id": body["id"], "error": error});
            }
        });
        if is_fixed {
            reply.set_header("content-type", "application/json");
        }
    });
    // Streams are read whole, so that they can be refused, too.
    let events: proxy::ChangeEvents = Arc::new(|_: &mut Vec<Value>| {});
    let same: ChangeRequest = Arc::new(|_: &mut Passing| {});
    let address = proxy::start_with_events(server.address, NAMED, same, change, Some(events));
    (server, address, received)
}

type ReceivedTexts = Arc<Mutex<Vec<String>>>;

#[test]
fn an_agent_that_refuses_every_sentence_is_not_looked_at() {
    let (server, address, _) = picky(None);
    let token = server.caller("a", None).trim_start_matches("Bearer ").to_owned();
    let report = run(&address, with(options(), |options| options.token = Some(token)));
    assert_eq!(failed(&report), Vec::<&str>::new());
    assert_ne!(report.grade, Some(Grade::A), "{}", report.meaning());
    let coverage = report.coverage();
    assert!(coverage.not_looked_at > 30, "{coverage:?}");
    let reason = "the agent takes none of the prober's messages (HTTP 200 with error -32602 \"I only \
                  talk about cars.\"); give a sentence that it takes with --text";
    let of_task =
        report.findings.iter().find(|finding| finding.check.id == "a2a.send.task").unwrap();
    assert_eq!(of_task.verdict, CheckVerdict::NotLookedAt(reason.to_owned()));
    assert!(
        report.unjudged().iter().any(|unjudged| unjudged.reason == reason && unjudged.by_agent)
    );
    let json: Value = tradepost_document::json::to_value(&report).unwrap();
    assert_eq!(json["musts"]["not_looked_at"], coverage.not_looked_at);
    assert!(
        html::write(&report).contains("<span class=\"word not_looked_at\">not looked at</span>")
    );
    assert!(markdown::write(&report).contains("give a sentence that it takes with --text"));
}

#[test]
fn the_cards_examples_replace_a_fixed_sentence_that_is_refused() {
    let (server, address, received) = picky(Some("Which cars are red?"));
    let token = server.caller("a", None).trim_start_matches("Bearer ").to_owned();
    let report = run(&address, with(options(), |options| options.token = Some(token)));
    assert_a(&report);
    assert_eq!(report.coverage().not_looked_at, 0, "{:?}", report.unjudged());
    let received = received.lock().unwrap();
    // What was refused once is not said again.
    let refused = received.iter().filter(|text| text.contains(FIXED) && !text.contains("taskId"));
    assert_eq!(refused.count(), 1, "{received:#?}");
    assert!(received.iter().any(|text| text.contains("Which cars are red?")));
}

#[test]
fn a_given_sentence_is_said_in_place_of_all_others() {
    let (server, address, received) = picky(Some("Which cars are red?"));
    let token = server.caller("a", None).trim_start_matches("Bearer ").to_owned();
    let text = Some("How do I reach you?".to_owned());
    let report = run(
        &address,
        with(options(), |options| {
            options.token = Some(token);
            options.text = text;
        }),
    );
    assert_a(&report);
    let received = received.lock().unwrap();
    assert!(received.iter().any(|text| text.contains("How do I reach you?")));
    let others = [FIXED, "Which cars are red?"];
    assert!(!received.iter().any(|text| others.iter().any(|other| text.contains(other))));
    let long = "x".repeat(tradepost_probe::MAX_TEXT + 1);
    for sentence in ["", " ", &long] {
        let output = tradepost(&["probe", &address, "--text", sentence]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{sentence:?}");
    }
}

#[test]
fn a_web_server_that_is_no_agent_gets_no_grade() {
    let server = start_with(|_| {});
    let page: ChangeAnswer = Arc::new(|_, reply: &mut Passing| {
        *reply = Passing { first: "HTTP/1.1 200 OK".to_owned(), ..Passing::default() };
        reply.set_header("content-type", "text/html");
        reply.body = b"<html>welcome</html>".to_vec();
    });
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), page);
    let report = run(&address, options());
    assert_eq!((report.grade, report.ungraded()), (None, Some(Ungraded::NoAgent)));
    let meaning = "there is no agent at the address: /.well-known/agent-card.json gives HTTP 200 with \
                   text/html and no agent card, and nothing there answers MCP";
    assert_eq!(report.meaning(), meaning);
    assert_eq!(failed(&report), ["a2a.card.served"]);
    let json: Value = tradepost_document::json::to_value(&report).unwrap();
    assert_eq!((&json["grade"], &json["ungraded"]), (&json!(null), &json!("no_agent")));
    assert!(junit::write(&report).contains("<error type=\"no grade\" message=\"there is no agent"));

    let output = tradepost(&["probe", &address, "--rate", "0"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(10), "{said}");
    assert!(said.contains("there is no agent at the address") && said.contains("hint: "), "{said}");
}

#[test]
fn a_card_behind_a_token_is_read_with_it() {
    let server = conformance::start_conformance(Profile::Streaming);
    let token = server.caller("a", None).trim_start_matches("Bearer ").to_owned();
    let expected = format!("Bearer {token}");
    let guard: ChangeAnswer = Arc::new(move |asked, reply: &mut Passing| {
        let is_card = asked.target() == "/.well-known/agent-card.json";
        if is_card && asked.header("authorization") != Some(expected.as_str()) {
            *reply = Passing::default();
            reply.set_status(401);
            reply.set_header("www-authenticate", "Bearer");
        }
    });
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), guard);
    let with_token = with(options(), |options| options.token = Some(token.clone()));
    let own = server.address.to_string();
    let report = run(&address, tokens_for(with_token, [&address, &own]));
    assert_a(&report);
    assert!(!report.agent.is_empty());
    let json = tradepost_document::json::to_string(&report).unwrap();
    assert!(!json.contains(&token), "no credentials");
    // Without one it cannot be said whether there is an agent.
    let report = run(&address, options());
    assert_eq!((report.grade, report.ungraded()), (None, Some(Ungraded::NotLookedAt)));
    assert_eq!(failed(&report), Vec::<&str>::new());
    let why = "the card wants a credential; give one with --token";
    assert_eq!(report.findings[0].verdict, CheckVerdict::Skipped(why.to_owned()));
}

#[test]
fn tenants_are_asked_for_where_the_card_has_one_alone() {
    let of = |report: &AgentReport, id: &str| {
        let found = report.findings.iter().find(|finding| finding.check.id == id);
        found.map(|finding| finding.verdict.clone()).unwrap()
    };
    let checks = ["a2a.rest.tenant", "a2a.jsonrpc.tenant"];
    let server = conformance::start_conformance(Profile::Streaming);
    let token = server.caller("a", None).trim_start_matches("Bearer ").to_owned();
    let own = server.address.to_string();
    let options_for = |address: &str| {
        let with_token = with(options(), |options| options.token = Some(token.clone()));
        tokens_for(with_token, [address, &own])
    };
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let note = Arc::clone(&asked);
    let whole: ChangeRequest = Arc::new(move |passing| {
        note.lock().unwrap().push(format!("{} {}", passing.first, passing.text()));
    });
    let address = proxy::start(server.address, NAMED, whole, Arc::new(|_, _| {}));
    let report = run(&address, options_for(&address));
    assert_a(&report);
    let none = CheckVerdict::NotApplicable("the card declares no tenant".to_owned());
    assert!(checks.iter().all(|id| of(&report, id) == none));
    assert!(!asked.lock().unwrap().iter().any(|text| text.contains("tenant")));

    let declare: ChangeAnswer = Arc::new(|_, reply: &mut Passing| {
        reply.json(|body| {
            let interfaces = body.get_mut("supportedInterfaces").and_then(Value::as_array_mut);
            for interface in interfaces.into_iter().flatten() {
                if interface["protocolBinding"] != "GRPC" {
                    interface["tenant"] = json!("larkspur");
                }
            }
        });
    });
    // The agent has no tenants: the proxy stands for one that has this one.
    let serve: ChangeRequest = Arc::new(|asked: &mut Passing| {
        asked.first = asked.first.replace("/larkspur/", "/");
        asked.json(|body| {
            if let Some(params) = body.get_mut("params").and_then(Value::as_object_mut) {
                params.shift_remove("tenant");
            }
        });
    });
    let address = proxy::start(server.address, NAMED, serve, declare.clone());
    let report = run(&address, options_for(&address));
    assert_a(&report);
    assert!(checks.iter().all(|id| of(&report, id) == CheckVerdict::Pass));

    // Without it the card promises what nobody serves.
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), declare);
    let report = run(&address, options_for(&address));
    assert!(checks.iter().all(|id| failed(&report).contains(id)));
}
