//! The prober against an AdCP seller that does everything right, and against the same one broken:
//! each fault is found by the check that is named for it, and by no other.

use super::*;
use crate::support::adcp::{Seller, SellerBehavior, TOKEN_A, TOKEN_B};

const ALL: SellerBehavior = SellerBehavior { streams: false, has_card: true };
const MCP: SellerBehavior = SellerBehavior { streams: false, has_card: false };

fn options_of_two() -> ProbeOptions {
    with(options(), |options| {
        options.profile = Some(check::CheckProfile::Adcp);
        options.token = Some(TOKEN_A.to_owned());
        options.token_b = Some(TOKEN_B.to_owned());
    })
}

fn base(seller: &Seller) -> String {
    format!("http://{}", seller.address)
}

#[test]
fn a_right_seller_has_grade_a_by_mcp_and_a2a() {
    let seller = Seller::start(ALL);
    let report = run(&base(&seller), options_of_two());
    assert_a(&report);
    let undecided: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.verdict, check::CheckVerdict::Skipped(_) | check::CheckVerdict::Warn(_)))
        .map(|finding| (finding.check.id, finding.verdict.text()))
        // A busy machine can make one of two answers slow.
        .filter(|(id, _)| *id != "adcp.uniform.latency")
        .collect();
    assert!(undecided.is_empty(), "{undecided:?}");
    for on in ["MCP", "AdCP over A2A"] {
        let passed = report.findings.iter().filter(|finding| finding.on == on);
        let passed = passed.filter(|finding| finding.verdict == check::CheckVerdict::Pass).count();
        assert!(passed >= 38, "only {passed} checks passed on {on}");
    }
    for measured in &report.measured {
        // The seller lists no property lists, so that there is no id to ask for.
        let callers = if measured.tool == "get_property_list" { 1 } else { 2 };
        assert_eq!((measured.callers, measured.pairs), (callers, 16), "{measured}");
        assert_eq!((measured.same_error, measured.same_body), (16, 16), "{measured}");
        assert_eq!((measured.same_status, measured.same_headers), (16, 16), "{measured}");
    }
    assert_eq!(report.measured.len(), 14);
}

#[test]
fn a_seller_that_answers_in_streams_has_grade_a_too() {
    let seller = Seller::start(SellerBehavior { streams: true, has_card: false });
    assert_a(&run(&format!("{}/mcp", base(&seller)), options_of_two()));
}

#[test]
fn mcp_without_a_card_is_found_by_itself() {
    let seller = Seller::start(MCP);
    let report = run(&base(&seller), with(options_of_two(), |options| options.profile = None));
    assert_a(&report);
    assert!(
        report.findings.iter().all(|finding| finding.check.profile() == check::CheckProfile::Adcp)
    );
}

#[test]
fn nothing_is_changed_at_a_seller_that_was_not_allowed() {
    let seller = Seller::start(ALL);
    let report =
        run(&base(&seller), with(options_of_two(), |options| options.allow_writes = false));
    assert_a(&report);
    assert!(!seller.was_asked("sync_accounts") && !seller.was_asked("update_media_buy"));
    let skipped: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.verdict.text().contains("--allow-writes"))
        .map(|finding| finding.check.id)
        .collect();
    assert_eq!(skipped.len(), 8, "{skipped:?}");
}

#[test]
fn one_caller_makes_a_baseline_and_none_skips_all() {
    let seller = Seller::start(MCP);
    let report = run(&base(&seller), with(options_of_two(), |options| options.token_b = None));
    assert_a(&report);
    assert!(report.measured.iter().all(|measured| measured.callers == 1 && measured.pairs == 16));
    assert!(report.measured[0].to_string().contains("1 caller (baseline only)"));
    let report = run(
        &base(&seller),
        with(options_of_two(), |options| {
            options.token = None;
            options.token_b = None;
        }),
    );
    assert!(report.findings.iter().any(|finding| finding.verdict.text().contains("--token")));
    assert_eq!((failed(&report), report.grade), (Vec::new(), None));
}

#[test]
fn what_is_no_seller_has_no_grade_nor_shown_token() {
    let server = start_with(|_| {});
    let report = run(&in_front_of(server.address), options_of_two());
    assert_eq!((failed(&report), report.grade), (vec!["adcp.served"], None));
    let seller = Seller::start(MCP);
    let report = run(&base(&seller), options_of_two());
    let texts = [tradepost_document::json::to_string(&report).unwrap(), html::write(&report)];
    assert!(texts.iter().all(|text| !text.contains(TOKEN_A) && !text.contains(TOKEN_B)));
    assert!(texts.iter().all(|text| text.contains("SERVICE_UNAVAILABLE")), "codes left out");
}

#[test]
fn an_mcp_server_without_adcp_tools_is_no_seller() {
    let seller = Seller::start(MCP);
    let change: ChangeAnswer = Arc::new(|_, reply: &mut Passing| {
        reply.json(|body| {
            let tools = body.pointer_mut("/result/tools").and_then(Value::as_array_mut);
            for (index, tool) in tools.into_iter().flatten().enumerate() {
                tool["name"] = json!(format!("read_file_{index}"));
            }
        });
    });
    let address = proxy::start(seller.address, &[], Arc::new(|_| {}), change);
    let report = run(&address, options_of_two());
    assert_eq!((failed(&report), report.grade), (vec!["adcp.served"], None));
    let said = report.failures()[0].verdict.text();
    assert!(said.contains("none of AdCP's tools"), "{said}");
    let report = run(&address, with(options_of_two(), |options| options.profile = None));
    assert_eq!((failed(&report), report.grade), (vec!["a2a.card.served"], None));
    assert!(report.left_out.iter().any(|text| text.contains("is no AdCP seller")));
    assert!(
        report.findings.iter().all(|finding| finding.check.profile() == check::CheckProfile::A2a)
    );
}

/// Changes the envelope of whatever is refused, in every layer that has it.
fn refusals(reply: &mut Passing, change: impl Fn(&mut Value)) {
    reply.json(|body| {
        let Some(payload) = body.pointer_mut("/result/structuredContent") else { return };
        if payload.get("adcp_error").is_some() {
            change(payload);
            let text = payload.to_string();
            body["result"]["content"][0]["text"] = text.into();
        }
    });
}

/// Changes every error object of this code, or of all for an empty one, in all layers.
fn errors(reply: &mut Passing, code: &str, change: impl Fn(&mut Value)) {
    let fits = |error: &Value| code.is_empty() || error["code"] == code;
    refusals(reply, |payload| {
        for pointer in ["/adcp_error", "/errors/0"] {
            if let Some(error) = payload.pointer_mut(pointer).filter(|error| fits(error)) {
                change(error);
            }
        }
    });
    reply.json(|body| {
        let pointer = "/error/data/adcp_error";
        if let Some(error) = body.pointer_mut(pointer).filter(|error| fits(error)) {
            change(error);
        }
    });
}

/// Removes a member.
fn remove(value: &mut Value, name: &str) {
    if let Some(members) = value.as_object_mut() {
        members.shift_remove(name);
    }
}

/// That the fault is found by these checks and by no other.
#[track_caller]
fn finds(expected: &[&str], change: impl Fn(&Passing, &mut Passing) + Send + Sync + 'static) {
    let seller = Seller::start(MCP);
    let address = proxy::start(seller.address, &[], Arc::new(|_| {}), Arc::new(change));
    let report = run(&address, options_of_two());
    let mut failed = failed(&report);
    let details: Vec<_> = report
        .failures()
        .iter()
        .map(|finding| format!("{}: {}", finding.check.id, finding.verdict.text()))
        .collect();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    failed.sort_unstable();
    assert_eq!(failed, expected, "{details:#?}");
}

/// A fault of every error object of a code, and the checks that find it.
type Fault = (&'static str, fn(&mut Value), &'static [&'static str]);

#[test]
fn faults_of_error_objects_are_found() {
    let faults: &[Fault] = &[
        ("", |error| remove(error, "message"), &["adcp.error.object"]),
        (
            "",
            |error| remove(error, "recovery"),
            &["adcp.auth.invalid-recovery", "adcp.credential.terminal", "adcp.error.recovery"],
        ),
        ("INVALID_REQUEST", |error| error["recovery"] = json!("later"), &["adcp.error.recovery"]),
        (
            "INVALID_REQUEST",
            |error| error["recovery"] = json!("terminal"),
            &["adcp.error.recovery-agrees"],
        ),
        ("INVALID_REQUEST", |error| error["retry_after"] = json!(0), &["adcp.error.retry-after"]),
        (
            "INVALID_REQUEST",
            |error| error["field"] = error["issues"][0]["pointer"].clone(),
            &["adcp.field.format", "adcp.field.issues"],
        ),
        ("INVALID_REQUEST", |error| error["field"] = json!("elsewhere"), &["adcp.field.issues"]),
        (
            "INVALID_REQUEST",
            |error| {
                remove(error, "field");
                remove(error, "issues");
            },
            &["adcp.input.field"],
        ),
        (
            "INVALID_REQUEST",
            |error| error["issues"].as_array_mut().unwrap().truncate(1),
            &["adcp.input.issues"],
        ),
        (
            "INVALID_REQUEST",
            |error| remove(&mut error["issues"][0], "message"),
            &["adcp.issues.members"],
        ),
        (
            "INVALID_REQUEST",
            |error| error["issues"][0]["keyword"] = json!("bad"),
            &["adcp.issues.keyword"],
        ),
        (
            "INVALID_REQUEST",
            |error| error["issues"][0]["schema_id"] = json!("/schemas/3.2.0/a.json"),
            &["adcp.issues.schema-id"],
        ),
        (
            "INVALID_REQUEST",
            |error| error["issues"][0]["discriminator"] = json!([]),
            &["adcp.issues.discriminator"],
        ),
        (
            "ACCOUNT_NOT_FOUND",
            |error| error["details"] = json!({"issues": []}),
            &["adcp.issues.details"],
        ),
        ("ACCOUNT_NOT_FOUND", |error| error["details"] = json!("x"), &["adcp.details.object"]),
        (
            "ACCOUNT_NOT_FOUND",
            |error| error["message"] = json!("x".repeat(300)),
            &["adcp.error.lengths"],
        ),
        (
            "ACCOUNT_NOT_FOUND",
            |error| error["details"] = json!({"x": "y".repeat(4100)}),
            &["adcp.error.bytes"],
        ),
        ("ACCOUNT_NOT_FOUND", |error| error["sdk_id"] = json!("x"), &["adcp.error.source"]),
        (
            "ACCOUNT_NOT_FOUND",
            |error| error["message"] = json!("SELECT * FROM accounts"),
            &["adcp.error.leak"],
        ),
        (
            "ACCOUNT_NOT_FOUND",
            |error| error["code"] = json!("account_not_found"),
            &["adcp.error.code", "adcp.error.published", "adcp.not-found.code"],
        ),
        (
            "ACCOUNT_NOT_FOUND",
            |error| error["code"] = json!("ADVERTISER_NOT_FOUND"),
            &["adcp.error.published", "adcp.not-found.code", "adcp.not-found.minted"],
        ),
        (
            "ACCOUNT_NOT_FOUND",
            |error| error["code"] = json!("AGENT_BLOCKED"),
            &["adcp.not-found.code"],
        ),
        (
            "ACCOUNT_NOT_FOUND",
            |error| {
                error["code"] = json!("AGENT_BLOCKED");
                error["details"] = json!({"since": 1});
            },
            &["adcp.details.none", "adcp.not-found.code"],
        ),
        (
            "REFERENCE_NOT_FOUND",
            |error| error["message"] = json!("There is no such task or list"),
            &["adcp.not-found.generic"],
        ),
        (
            "REFERENCE_NOT_FOUND",
            |error| error["field"] = json!("task_id"),
            &["adcp.not-found.field"],
        ),
        (
            "REFERENCE_NOT_FOUND",
            |error| error["code"] = json!("INVALID_REQUEST"),
            &["adcp.not-found.reference"],
        ),
        (
            "MEDIA_BUY_NOT_FOUND",
            |error| error["field"] = json!("media_buy_ids[0]"),
            &["adcp.not-found.list"],
        ),
        (
            "VERSION_UNSUPPORTED",
            |error| error["details"] = json!({"supported_versions": ["3"]}),
            &["adcp.details.shape", "adcp.version.details"],
        ),
        (
            "VERSION_UNSUPPORTED",
            |error| {
                error["code"] = json!("INVALID_REQUEST");
                remove(error, "details");
            },
            &["adcp.version.unsupported"],
        ),
        (
            "IDEMPOTENCY_CONFLICT",
            |error| error["details"] = json!({"first": {}}),
            &["adcp.details.conflict"],
        ),
        (
            "IDEMPOTENCY_CONFLICT",
            |error| error["code"] = json!("CONFLICT"),
            &["adcp.error.recovery-agrees", "adcp.idempotency.conflict"],
        ),
        (
            "CREDENTIAL_IN_ARGS",
            |error| error["recovery"] = json!("correctable"),
            &["adcp.credential.terminal", "adcp.error.recovery-agrees"],
        ),
        (
            "CREDENTIAL_IN_ARGS",
            |error| error["message"] = json!("tradepost-probe-planted-4f7a1c"),
            &["adcp.credential.echo"],
        ),
        (
            "AUTH_MISSING",
            |error| error["code"] = json!("INVALID_REQUEST"),
            &["adcp.auth.missing", "adcp.error.pre-dispatch"],
        ),
        (
            "AUTH_INVALID",
            |error| error["code"] = json!("AUTH_REQUIRED"),
            &["adcp.auth.invalid", "adcp.error.recovery-agrees"],
        ),
        (
            "AUTH_MISSING",
            |error| error["message"] = json!("seller-token-of-the-first"),
            &["adcp.error.credential"],
        ),
    ];
    for (code, change, expected) in faults {
        let code = *code;
        let change = *change;
        finds(expected, move |_, reply| errors(reply, code, change));
    }
}

/// A change to an answer, and the checks that find it.
type Change = (fn(&mut Value), &'static [&'static str]);

#[test]
fn faults_of_layers_are_found() {
    let faults: &[Change] = &[
        (|document| remove(document, "errors"), &["adcp.error.layers"]),
        (
            |document| document["errors"][0]["message"] = json!("another"),
            &["adcp.error.layers-agree"],
        ),
        (
            |document| document["errors"] = document["errors"][0].clone(),
            &["adcp.error.layer-kinds", "adcp.error.layers"],
        ),
        (|document| document["status"] = json!("completed"), &["adcp.error.marker"]),
        (|document| remove(document, "context"), &["adcp.context.error"]),
    ];
    for (change, expected) in faults {
        let change = *change;
        finds(expected, move |_, reply| refusals(reply, change));
    }
    finds(&["adcp.error.marker"], |_, reply| {
        reply.json(|body| {
            if body.pointer("/result/isError").is_some() {
                body["result"]["isError"] = json!(false);
            }
        });
    });
    finds(&["adcp.error.text"], |_, reply| {
        reply.json(|body| {
            if body.pointer("/result/isError") == Some(&json!(true)) {
                body["result"]["content"][0]["text"] = json!("It failed.");
            }
        });
    });
    finds(&["adcp.error.text-agrees"], |_, reply| {
        reply.json(|body| {
            if body.pointer("/result/isError") == Some(&json!(true)) {
                body["result"]["content"][0]["text"] = json!("{\"adcp_error\":{}}");
            }
        });
    });
}

/// Changes the result of a tool that answers.
fn result_of(asked: &Passing, reply: &mut Passing, tool: &str, change: impl Fn(&mut Value)) {
    if asked.text().contains(&format!("\"name\":\"{tool}\"")) {
        reply.json(|body| {
            if body.pointer("/result/isError") == Some(&json!(false)) {
                change(&mut body["result"]);
            }
        });
    }
}

#[test]
fn faults_of_results_are_found() {
    let faults: &[Change] = &[
        (|result| remove(&mut result["structuredContent"], "status"), &["adcp.envelope.status"]),
        (|result| remove(result, "structuredContent"), &["adcp.envelope.structured"]),
        (|result| result["structuredContent"]["payload"] = json!({}), &["adcp.envelope.flat"]),
        (|result| result["structuredContent"]["context"] = json!({}), &["adcp.context.result"]),
        (
            |result| {
                result["structuredContent"]["adcp"]["supported_versions"] = json!(["3.1", "3.1.0"])
            },
            &["adcp.capabilities.versions"],
        ),
        (
            |result| {
                result["structuredContent"]["adcp"]["idempotency"]["replay_ttl_seconds"] = json!(5)
            },
            &["adcp.capabilities.idempotency"],
        ),
    ];
    for (change, expected) in faults {
        let change = *change;
        finds(expected, move |asked, reply| {
            result_of(asked, reply, "get_adcp_capabilities", change);
        });
    }
    finds(&["adcp.idempotency.replay"], |asked, reply| {
        result_of(asked, reply, "sync_accounts", |result| {
            remove(&mut result["structuredContent"], "replayed");
        });
    });
    finds(&["adcp.auth.challenge"], |_, reply| reply.drop_header("www-authenticate"));
    finds(&["adcp.mcp.initialize"], |_, reply| {
        reply.json(|body| {
            if body.pointer("/result/serverInfo").is_some() {
                remove(&mut body["result"], "serverInfo");
            }
        });
    });
    finds(&["adcp.mcp.tools"], |_, reply| {
        reply.json(|body| {
            if let Some(tool) = body.pointer_mut("/result/tools/0") {
                remove(tool, "inputSchema");
            }
        });
    });
    finds(&["adcp.tools.identical"], |asked, reply| {
        if asked.header("authorization").is_some_and(|header| header.ends_with(TOKEN_B)) {
            reply.json(|body| {
                if let Some(tools) = body.pointer_mut("/result/tools") {
                    tools.as_array_mut().unwrap().pop();
                }
            });
        }
    });
    finds(&["adcp.input.unknown-tool"], |asked, reply| {
        if asked.text().contains("no_such_tool") {
            reply.json(|body| {
                remove(body, "error");
                body["result"] =
                    json!({"content": [], "structuredContent": {"status": "completed"}});
            });
        }
    });
}

#[test]
fn what_tells_a_foreign_id_from_none_is_found() {
    let foreign = |asked: &Passing| {
        asked.header("authorization").is_some_and(|header| header.ends_with(TOKEN_B))
            && asked.text().contains("mb_4711")
    };
    finds(&["adcp.uniform.body", "adcp.uniform.error"], move |asked, reply| {
        if foreign(asked) {
            errors(reply, "", |error| error["message"] = json!("not yours"));
        }
    });
    finds(&["adcp.uniform.body"], move |asked, reply| {
        if foreign(asked) {
            refusals(reply, |payload| payload["owner"] = json!("a"));
        }
    });
    finds(&["adcp.uniform.status"], move |asked, reply| {
        if foreign(asked) {
            reply.set_status(207);
        }
    });
    finds(&["adcp.uniform.headers"], move |asked, reply| {
        if foreign(asked) {
            reply.set_header("etag", "\"1\"");
        }
    });
}

#[test]
fn faults_over_a2a_are_found_too() {
    let seller = Seller::start(ALL);
    let change: ChangeAnswer = Arc::new(|_, reply: &mut Passing| {
        reply.json(|body| {
            if let Some(state) = body.pointer_mut("/result/task/status/state") {
                *state = json!("TASK_STATE_COMPLETED");
            }
        });
    });
    let address = proxy::start(seller.address, &[], Arc::new(|_| {}), change);
    let report = run(&address, options_of_two());
    assert_eq!(failed(&report), ["adcp.error.marker"]);
    assert!(report.failures()[0].verdict.text().contains("a task that did not fail"));
}

#[test]
fn a_seller_that_asks_to_wait_is_waited_for() {
    let seller = Seller::start(MCP);
    let calls = AtomicU32::new(0);
    let change: ChangeAnswer = Arc::new(move |asked: &Passing, reply: &mut Passing| {
        if asked.text().contains("tools/call") && calls.fetch_add(1, Ordering::Relaxed) == 0 {
            let error = json!({"code": "RATE_LIMITED", "recovery": "transient", "retry_after": 1});
            reply.json(|body| {
                body["result"] = json!({"structuredContent": {"adcp_error": error}});
            });
        }
    });
    let address = proxy::start(seller.address, &[], Arc::new(|_| {}), change);
    // Had it been taken for the answer, it would lack its message, its status and isError.
    assert_a(&run(&address, options_of_two()));
}

#[test]
fn a_seller_that_shows_what_is_anothers_is_found() {
    let seller = Seller::start(MCP);
    let change: ChangeRequest = Arc::new(|asked: &mut Passing| {
        if asked.text().contains("mb_4711") {
            asked.set_header("authorization", &format!("Bearer {TOKEN_A}"));
        }
    });
    let address = proxy::start(seller.address, &[], change, Arc::new(|_, _| {}));
    let report = run(&address, options_of_two());
    let expected = ["adcp.uniform.body", "adcp.uniform.error", "adcp.uniform.status"];
    assert_eq!(failed(&report), expected);
}

#[test]
fn requests_that_should_be_refused_and_are_not_are_found() {
    // What is asked with one of these is answered as if it were something harmless.
    for (marks, expected) in [
        (&["\"buying_mode\":7}", "\"buying_mode\":7,\"adcp"][..], &["adcp.input.type"][..]),
        (&["\"buying_mode\":\"tradepost-probe\""], &["adcp.input.word"]),
        (&["\"include_history\":100000"], &["adcp.input.bound"]),
        (&["\"api_key\""], &["adcp.credential.ext"]),
        (&["\"meta_access_token\""], &["adcp.credential.context"]),
        (&["\"client_secret\""], &["adcp.credential.depth"]),
        (&["\"idempotency_key\":\"short\""], &["adcp.idempotency.format"]),
    ] {
        let seller = Seller::start(MCP);
        let change: ChangeRequest = Arc::new(move |asked: &mut Passing| {
            if marks.iter().any(|mark| asked.text().contains(mark)) {
                asked.json(|body| {
                    let harmless = json!({"context": body["params"]["arguments"]["ext"]["none"]});
                    body["params"] =
                        json!({"name": "get_adcp_capabilities", "arguments": harmless});
                });
                let length = asked.body.len().to_string();
                asked.set_header("content-length", &length);
            }
        });
        let address = proxy::start(seller.address, &[], change, Arc::new(|_, _| {}));
        let report = run(&address, options_of_two());
        assert_eq!(failed(&report), expected);
    }
}
