//! The prober on gRPC: our conformance agent, whole and broken in the ways that are gRPC's own. The
//! faults are made between the two, by a server of HTTP/2 that passes calls on.

use tradepost_a2a::protobuf::{self, schema};

use super::*;
use crate::support::grpc::{self, Called};

/// Probes the conformance agent for two callers; its gRPC goes through what `change` does.
fn report_with(
    profile: Profile,
    change: impl Fn(&str, &mut Called) + Send + Sync + 'static,
) -> AgentReport {
    let server = conformance::start_conformance(profile);
    let token = |name| Some(server.caller(name, None).trim_start_matches("Bearer ").to_owned());
    let options = with(options(), |options| {
        options.token = token("a");
        options.token_b = token("b");
    });
    let between = grpc::start(server.address, change);
    let grpc = between.to_string();
    let direct = format!("\"{}\"", server.address);
    let card: ChangeAnswer = Arc::new(move |asked, reply: &mut Passing| {
        if asked.target() == "/.well-known/agent-card.json" {
            reply.body = reply.text().replace(&direct, &format!("\"{between}\"")).into();
        }
    });
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), card);
    run(&address, tokens_for(options, [&address, &grpc]))
}

/// That a change to what the agent says by gRPC is found by these checks, on gRPC alone.
#[track_caller]
fn finds(expected: &[&str], change: impl Fn(&str, &mut Called) + Send + Sync + 'static) {
    let report = report_with(Profile::Streaming, change);
    let details: Vec<_> = report
        .failures()
        .iter()
        .map(|finding| {
            format!("{} on {}: {}", finding.check.id, finding.on, finding.verdict.text())
        })
        .collect();
    assert_eq!(failed(&report), expected, "{details:#?}");
    let alive = "a2a.card.interfaces-alive";
    assert!(
        report.failures().iter().all(|finding| finding.on == "GRPC" || finding.check.id == alive),
        "{details:#?}"
    );
}

/// Changes the google.rpc.Status of an answer.
fn status(called: &mut Called, change: impl FnOnce(&mut Value)) {
    let Some(bytes) = called.binary("grpc-status-details-bin") else { return };
    let mut status = protobuf::read(&schema::STATUS, &bytes).unwrap();
    change(&mut status);
    let bytes = protobuf::write(&schema::STATUS, &status).unwrap();
    called.set_binary("grpc-status-details-bin", &bytes);
}

#[test]
fn our_conformance_agent_has_grade_a_by_grpc() {
    let report = report_with(Profile::Streaming, |_, _| {});
    assert_a(&report);
    assert!(report.left_out.is_empty(), "{:?}", report.left_out);
    let on_grpc: Vec<_> = report.findings.iter().filter(|finding| finding.on == "GRPC").collect();
    let passed =
        on_grpc.iter().filter(|finding| finding.verdict == check::CheckVerdict::Pass).count();
    assert!(passed >= 50, "only {passed} checks passed");
    let verdict = |id: &str| {
        let found = on_grpc.iter().find(|finding| finding.check.id == id);
        found.unwrap_or_else(|| panic!("{id} was not run on gRPC")).verdict.clone()
    };
    // The five categories of A2A §3.3.2 that gRPC has a status for, and streams.
    for id in [
        "a2a.grpc.status",
        "a2a.grpc.details",
        "a2a.grpc.error-info",
        "a2a.grpc.bad-request",
        "a2a.grpc.garbled",
        "a2a.grpc.unknown-method",
        "a2a.error.get-unknown",
        "a2a.input.page-size-large",
        "a2a.access.get",
        "a2a.list.total",
        "a2a.list.pages",
        "a2a.stream.begins",
        "a2a.stream.ends",
        "a2a.version.unsupported",
    ] {
        assert_eq!(verdict(id), check::CheckVerdict::Pass, "{id}");
    }
    let sent = on_grpc.iter().flat_map(|finding| &finding.exchanges);
    let shown: Vec<_> = sent.filter_map(|exchange| exchange.answer.as_ref()).collect();
    assert!(shown.iter().any(|answer| answer.body.contains("\"reason\":\"TASK_NOT_FOUND\"")));
}

#[test]
fn a_secured_agent_is_asked_without_credentials_by_grpc() {
    let report = report_with(Profile::Secured, |_, _| {});
    assert_a(&report);
    for id in
        ["a2a.auth.missing", "a2a.auth.invalid", "a2a.auth.challenge", "a2a.grpc.challenge-info"]
    {
        let found = report
            .findings
            .iter()
            .find(|finding| finding.on == "GRPC" && finding.check.id == id)
            .unwrap();
        assert_eq!(found.verdict, check::CheckVerdict::Pass, "{id}");
    }
}

#[test]
fn errors_without_their_reason() {
    finds(&["a2a.grpc.error-info"], |_, called| {
        status(called, |status| {
            let details = status["details"].as_array_mut();
            for detail in details.into_iter().flatten() {
                if detail.get("domain").is_some() {
                    detail["domain"] = json!("example.com");
                }
            }
        });
    });
}

#[test]
fn refusals_that_do_not_name_the_field() {
    finds(&["a2a.grpc.bad-request"], |_, called| {
        status(called, |status| {
            if let Some(details) = status["details"].as_array_mut() {
                details.retain(|detail| detail.get("fieldViolations").is_none());
            }
        });
    });
}

#[test]
fn details_that_say_something_else_than_the_status() {
    finds(&["a2a.grpc.details"], |_, called| {
        status(called, |status| status["message"] = json!("another"));
    });
}

#[test]
fn answers_of_another_media_type() {
    finds(&["a2a.grpc.status"], |_, called| {
        called.headers.retain(|(name, _)| name != "content-type");
        called.headers.push(("content-type".to_owned(), "application/json".to_owned()));
    });
}

#[test]
fn errors_that_say_nothing() {
    finds(&["a2a.error.message", "a2a.grpc.details"], |_, called| {
        called.place().retain(|(name, _)| name != "grpc-message");
    });
}

#[test]
fn bytes_that_are_no_message_refused_as_something_else() {
    finds(&["a2a.grpc.garbled"], |_, called| {
        let mut is_garbled = false;
        status(called, |status| is_garbled = status["details"][0]["reason"] == "PARSE_ERROR");
        if is_garbled {
            called.set("grpc-status", "9");
        }
    });
}

#[test]
fn a_caller_not_told_why_it_is_turned_away() {
    let report = report_with(Profile::Secured, |_, called| {
        if called.metadata("grpc-status") == Some("16") {
            status(called, |status| status["details"] = json!([]));
        }
    });
    assert_eq!(failed(&report), ["a2a.grpc.challenge-info"]);
}

#[test]
fn a_missing_task_that_is_an_unknown_error() {
    let report = report_with(Profile::Streaming, |_, called| {
        if called.metadata("grpc-status") == Some("5") {
            called.set("grpc-status", "2");
        }
    });
    let failed = failed(&report);
    for id in
        ["a2a.error.get-unknown", "a2a.error.cancel-unknown", "a2a.access.get", "a2a.grpc.faults"]
    {
        assert!(failed.contains(&id), "{failed:?}");
    }
    assert!(report.failures().iter().all(|finding| finding.on == "GRPC"));
}

#[test]
fn an_unknown_method_that_goes_well() {
    finds(&["a2a.grpc.unknown-method"], |path, called| {
        if path.ends_with("/ProbeTask") {
            called.set("grpc-status", "0");
        }
    });
}

#[test]
fn a_service_that_is_not_there() {
    let report = report_with(Profile::Streaming, |_, called| {
        called.body.clear();
        called.trailers.clear();
        called.headers.retain(|(name, _)| !name.starts_with("grpc-"));
        called.set("grpc-status", "12");
    });
    let failed = failed(&report);
    assert!(failed.contains(&"a2a.card.interfaces-alive"), "{failed:?}");
    assert!(report.failures().iter().all(|finding| finding.on == "GRPC" || finding.on == "card"));
}
