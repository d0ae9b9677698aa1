//! Each fault is found by the check that is named for it, and by no other.

use super::*;

mod tasks;

/// Probes a dealer of v1.1 behind a proxy.
fn dealer_with(request: ChangeRequest, answer: ChangeAnswer) -> (TestServer, AgentReport) {
    let server = start_with(|config| {
        config.dealers[0].terms.versions = vec![Version::V1_1];
    });
    let address = proxy::start(server.address, NAMED, request, answer);
    let report = run(&address, options());
    (server, report)
}

/// That a change to what the dealer says is found by these checks alone.
#[track_caller]
fn answers(expected: &[&str], change: impl Fn(&Passing, &mut Passing) + Send + Sync + 'static) {
    let (_server, report) = dealer_with(Arc::new(|_| {}), Arc::new(change));
    found(&report, expected);
}

/// That a change to what the dealer hears is found by these checks alone.
#[track_caller]
fn requests(expected: &[&str], change: impl Fn(&mut Passing) + Send + Sync + 'static) {
    let (_server, report) = dealer_with(Arc::new(change), Arc::new(|_, _| {}));
    found(&report, expected);
}

#[track_caller]
fn found(report: &AgentReport, expected: &[&str]) {
    let details: Vec<_> = report
        .failures()
        .iter()
        .map(|finding| {
            format!("{} on {}: {}", finding.check.id, finding.on, finding.verdict.text())
        })
        .collect();
    assert_eq!(failed(report), expected, "{details:#?}");
    assert_ne!(report.grade, Some(Grade::A));
    let breaks =
        report.failures().iter().any(|finding| finding.check.level == RequirementLevel::Must);
    assert_eq!(report.breaks_a_must(), breaks);
}

/// That a change to what the conformance agent says, to two callers, is found by these alone.
#[track_caller]
fn conformance_answers(
    expected: &[&str],
    change: impl Fn(&Passing, &mut Passing) + Send + Sync + 'static,
) {
    let server = conformance::start_conformance(Profile::Streaming);
    let token = |name| Some(server.caller(name, None).trim_start_matches("Bearer ").to_owned());
    let options = with(options(), |options| {
        options.token = token("a");
        options.token_b = token("b");
    });
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), Arc::new(change));
    let options = tokens_for(options, [&address, &server.address.to_string()]);
    found(&run(&address, options), expected);
}

/// Changes the `aap.error` object of a refusal.
fn refusal(reply: &mut Passing, change: impl FnOnce(&mut Value)) {
    reply.json(|body| {
        if let Some(data) = body.pointer_mut("/error/data").filter(|data| data.is_object()) {
            change(data);
        }
    });
}

/// Changes the data of an answer.
fn data(reply: &mut Passing, change: impl FnOnce(&mut Value)) {
    reply.json(|body| {
        if let Some(data) = body.pointer_mut("/result/message/parts/0/data/data") {
            change(data);
        }
    });
}

#[test]
fn another_code_than_the_right_one() {
    let expected =
        ["aap.lead.test-drive-unknown", "aap.vehicle.unknown-stock", "aap.vehicle.unknown-vin"];
    answers(&expected, |_, reply| {
        refusal(reply, |error| {
            if error["code"] == "VEHICLE_NOT_FOUND" {
                error["code"] = json!("VEHICLE_UNAVAILABLE");
            }
        });
    });
}

#[test]
fn only_the_first_problem_of_a_search() {
    answers(&["aap.input.all-listed"], |asked, reply| {
        if asked.text().contains("inventory.search") {
            refusal(reply, |error| {
                if let Some(errors) =
                    error.pointer_mut("/details/errors").and_then(Value::as_array_mut)
                {
                    errors.truncate(1);
                }
            });
        }
    });
}

#[test]
fn http_200_in_place_of_401() {
    let server = start_with(|config| {
        config.dealers[0].terms.versions = vec![Version::V1_1];
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    });
    let (known, token) = key(dealer::ID, "prober");
    assert!(server.store.add_api_key(known, false).unwrap());
    let change: ChangeAnswer = Arc::new(|_, reply: &mut Passing| {
        if reply.status() == 401 {
            reply.set_status(200);
        }
    });
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), change);
    let report = run(&address, with(options(), |options| options.token = Some(token)));
    found(&report, &["a2a.auth.invalid", "a2a.auth.missing"]);
}

#[test]
fn details_without_their_type() {
    answers(&["a2a.error.info", "a2a.error.typed-details"], |_, reply| {
        reply.json(|body| {
            let details = body.pointer_mut("/error/data").and_then(Value::as_array_mut);
            for detail in details.into_iter().flatten() {
                detail.as_object_mut().unwrap().shift_remove("@type");
            }
        });
    });
}

#[test]
fn personal_data_in_a_refusal() {
    answers(&["aap.lead.no-echo"], |asked, reply| {
        let text = asked.text();
        let value = text.split("\"email\":\"").nth(1).and_then(|rest| rest.split('"').next());
        if let Some(value) = value.map(str::to_owned) {
            refusal(reply, |error| error["message"] = json!(format!("{value} is no address")));
        }
    });
}

#[test]
fn a_stack_trace() {
    answers(&["a2a.error.no-internals"], |_, reply| {
        reply.json(|body| {
            if body.pointer("/error/code") == Some(&json!(-32700)) {
                body["error"]["message"] =
                    json!("Traceback (most recent call last):\n  File \"x\"");
            }
        });
    });
}

#[test]
fn an_id_that_does_not_come_back() {
    answers(&["a2a.jsonrpc.id-number", "a2a.jsonrpc.id-text"], |_, reply| {
        reply.json(|body| {
            if body.get("jsonrpc").is_some() {
                body["id"] = json!(null);
            }
        });
    });
}

#[test]
fn a_card_without_an_entity_tag() {
    answers(&["a2a.card.etag"], |_, reply| reply.drop_header("etag"));
}

#[test]
fn a_card_that_is_sent_again_unchanged() {
    let expected = ["a2a.card.not-modified"];
    requests(&expected, |asked| asked.drop_header("if-none-match"));
}

#[test]
fn answers_of_another_media_type() {
    answers(&["a2a.jsonrpc.answer-type"], |asked, reply| {
        if asked.target() == "/a2a" {
            reply.set_header("content-type", "text/html");
        }
    });
}

#[test]
fn a_version_that_nobody_looks_at() {
    let expected = [
        "a2a.version.every-operation",
        "a2a.version.later-minor",
        "a2a.version.nonsense",
        "a2a.version.unsupported",
    ];
    requests(&expected, |asked| asked.drop_header("a2a-version"));
}

#[test]
fn one_unknown_version_that_is_accepted() {
    requests(&["a2a.version.later-minor"], |asked| {
        if asked.header("a2a-version") == Some("1.1") {
            asked.set_header("a2a-version", "1.0");
        }
    });
}

#[test]
fn a_patch_number_that_is_compared() {
    requests(&["a2a.version.patch"], |asked| {
        if asked.header("a2a-version") == Some("1.0.3") {
            asked.set_header("a2a-version", "3.1");
        }
    });
}

#[test]
fn more_members_than_the_error_object_has() {
    answers(&["aap.error.closed"], |_, reply| {
        refusal(reply, |error| error["hint"] = json!("try again"));
    });
}

#[test]
fn a_wrong_request_that_may_be_repeated() {
    answers(&["aap.error.retryable"], |_, reply| {
        refusal(reply, |error| {
            if error["code"] == "SCHEMA_VALIDATION_FAILED" {
                error["retryable"] = json!(true);
            }
        });
    });
}

#[test]
fn an_error_without_its_moment() {
    answers(&["aap.error.object"], |_, reply| {
        refusal(reply, |error| {
            error.as_object_mut().unwrap().shift_remove("created_at");
        });
    });
}

#[test]
fn a_filter_that_is_passed_over() {
    let expected = ["aap.input.all-listed", "aap.input.facets-filter", "aap.input.filter-unknown"];
    requests(&expected, |asked| {
        asked.json(|body| {
            let filters = body.pointer_mut("/params/message/parts/0/data/filters");
            if let Some(filters) = filters.and_then(Value::as_object_mut) {
                filters.shift_remove("maek");
            }
        });
    });
}

#[test]
fn a_vehicle_that_was_sold() {
    answers(&["aap.search.status"], |asked, reply| {
        if asked.text().contains("inventory.search") {
            data(reply, |page| {
                if let Some(vehicle) = page.pointer_mut("/vehicles/0") {
                    vehicle["status"] = json!("sold");
                }
            });
        }
    });
}

#[test]
fn a_price_with_cents() {
    answers(&["aap.search.money"], |_, reply| {
        data(reply, |page| {
            for vehicle in
                page.get_mut("vehicles").and_then(Value::as_array_mut).into_iter().flatten()
            {
                if vehicle.get("msrp").is_some() {
                    vehicle["msrp"] = json!(32450.5);
                }
            }
        });
    });
}

#[test]
fn a_role_of_a2a_0_3() {
    answers(&["a2a.send.message", "aap.answer.role"], |_, reply| {
        reply.json(|body| {
            if let Some(role) = body.pointer_mut("/result/message/role") {
                *role = json!("agent");
            }
        });
    });
}

#[test]
fn a_message_that_is_not_wrapped() {
    answers(&["a2a.send.result", "aap.answer.message"], |_, reply| {
        reply.json(|body| {
            if let Some(message) = body.pointer("/result/message").cloned() {
                body["result"] = message;
            }
        });
    });
}

#[test]
fn a_retry_that_makes_a_second_lead() {
    let count = AtomicU32::new(0);
    answers(&["aap.receipt.replay"], move |_, reply| {
        data(reply, |receipt| {
            if receipt.get("lead_id").is_some() {
                let number = count.fetch_add(1, Ordering::Relaxed);
                receipt["lead_id"] = json!(format!("lead-{number}"));
            }
        });
    });
}

#[test]
fn a_consent_that_has_expired_and_is_taken() {
    requests(&["aap.consent.expired"], |asked| {
        asked.json(|body| {
            let consent = body.pointer_mut("/params/message/parts/0/data/consent");
            if let Some(consent) = consent.and_then(Value::as_object_mut) {
                consent.shift_remove("expires_at");
            }
        });
    });
}

#[test]
fn another_error_for_webhooks_than_the_one_of_the_table() {
    let expected = [
        "a2a.capability.push-create",
        "a2a.capability.push-delete",
        "a2a.capability.push-get",
        "a2a.capability.push-list",
    ];
    answers(&expected, |_, reply| {
        reply.json(|body| {
            if body.pointer("/error/code") == Some(&json!(-32003)) {
                body["error"]["code"] = json!(-32601);
            }
        });
    });
}

#[test]
fn anothers_task_that_is_forbidden_and_not_missing() {
    let first = std::sync::Mutex::new(None::<String>);
    let expected = [
        "a2a.access.cancel",
        "a2a.access.get",
        "a2a.access.identical",
        "a2a.access.send",
        "a2a.access.subscribe",
    ];
    conformance_answers(&expected, move |asked, reply| {
        let Some(caller) = asked.header("authorization") else { return };
        let mut first = first.lock().unwrap();
        let owner = first.get_or_insert_with(|| caller.to_owned());
        let whole = format!("{} {}", asked.first, asked.text());
        // The tasks that nobody has are told by their ids.
        if caller != owner && !whole.contains("00000000-0000-4000-8000-") {
            let missing = reply.text().contains("TASK_NOT_FOUND");
            reply.json(|body| {
                if missing && body.get("error").is_some() {
                    let code = if body.get("jsonrpc").is_some() { -32000 } else { 403 };
                    body["error"] = json!({"code": code, "status": "PERMISSION_DENIED",
                        "message": "not yours"});
                }
            });
            if missing {
                reply.set_status(403);
            }
        }
    });
}

#[test]
fn a_list_that_is_upside_down() {
    conformance_answers(&["a2a.list.newest-first"], |_, reply| {
        reply.json(|body| {
            let tasks = if body.get("jsonrpc").is_some() { "/result/tasks" } else { "/tasks" };
            // The clock of the test stands still, so the order shows only so.
            if let Some(first) = body.pointer_mut(tasks).and_then(|tasks| tasks.get_mut(0)) {
                first["status"]["timestamp"] = json!("2020-01-01T00:00:00.000Z");
            }
        });
    });
}

#[test]
fn the_error_page_of_a_framework() {
    conformance_answers(&["a2a.rest.unknown-route"], |asked, reply| {
        if asked.target().contains("/tradepost/probe/unknown") {
            reply.body = b"<html>404 Not Found</html>".to_vec();
            reply.set_header("content-type", "text/html");
        }
    });
}

#[test]
fn a_status_name_that_is_not_the_tables() {
    let expected = ["a2a.error.status-name"];
    conformance_answers(&expected, |asked, reply| {
        if asked.target().starts_with("/rest/") && reply.text().contains("TASK_NOT_FOUND") {
            reply.json(|body| {
                body["error"]["code"] = json!(5);
            });
        }
    });
}

#[test]
fn a_credential_that_is_asked_for_and_not_declared() {
    answers(&["a2a.auth.declared"], |asked, reply| {
        if asked.target() == "/a2a" {
            reply.set_status(401);
            reply.body = Vec::new();
        }
    });
}

#[test]
fn a_message_in_a_task_without_its_id() {
    conformance_answers(&["a2a.send.message-ids"], |asked, reply| {
        let sends = asked.target().contains("message:send") || asked.text().contains("SendMessage");
        reply.json(|body| {
            for history in ["/result/task/history/0", "/task/history/0"] {
                let message = body.pointer_mut(history).and_then(Value::as_object_mut);
                if let Some(message) = message.filter(|_| sends) {
                    message.shift_remove("messageId");
                }
            }
        });
    });
}

#[test]
fn a_total_that_counts_the_page_alone() {
    conformance_answers(&["a2a.list.total"], |_, reply| {
        reply.json(|body| {
            let page =
                if body.get("jsonrpc").is_some() { body.get_mut("result") } else { Some(body) };
            let Some(page) = page.filter(|page| page.get("totalSize").is_some()) else { return };
            page["totalSize"] = json!(page["tasks"].as_array().unwrap().len());
        });
    });
}

#[test]
fn an_interface_on_the_card_that_nobody_serves() {
    answers(&["a2a.card.interfaces-alive"], |asked, reply| {
        let base = format!("http://{}", asked.header("host").unwrap());
        reply.json(|body| {
            let interfaces = body.get_mut("supportedInterfaces").and_then(Value::as_array_mut);
            if let Some(interfaces) = interfaces {
                interfaces.push(json!({"url": format!("{base}/old"),
                    "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}));
            }
        });
    });
}

#[test]
fn an_interface_where_a_framework_says_nothing_is_there() {
    answers(&["a2a.card.interfaces-alive"], |asked, reply| {
        if asked.target().starts_with("/gone") {
            reply.set_status(404);
            reply.body = b"{\"detail\":\"Not Found\"}".to_vec();
            return;
        }
        let base = format!("http://{}", asked.header("host").unwrap());
        reply.json(|body| {
            let interfaces = body.get_mut("supportedInterfaces").and_then(Value::as_array_mut);
            if let Some(interfaces) = interfaces {
                interfaces.push(json!({"url": format!("{base}/gone"),
                    "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"}));
            }
        });
    });
}

#[test]
fn an_unknown_state_ends_the_wait_for_a_task() {
    let server = conformance::start_conformance(Profile::Plain);
    let token = |name| Some(server.caller(name, None).trim_start_matches("Bearer ").to_owned());
    let polls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&polls);
    let change: ChangeAnswer = Arc::new(move |asked, reply: &mut Passing| {
        reply.body = reply.text().replace("TASK_STATE_COMPLETED", "TASK_STATE_PONDERING").into();
        if asked.text().contains("GetTask") && reply.text().contains("TASK_STATE_PONDERING") {
            seen.fetch_add(1, Ordering::Relaxed);
        }
    });
    let address = proxy::start(server.address, NAMED, Arc::new(|_| {}), change);
    let options = with(options(), |options| options.token = token("a"));
    let report = run(&address, tokens_for(options, [&address, &server.address.to_string()]));
    let ended = report
        .findings
        .iter()
        .find(|finding| finding.check.id == "a2a.task.history-limit")
        .unwrap();
    assert!(ended.verdict.text().contains("TASK_STATE_PONDERING"), "{}", ended.verdict.text());
    // Checks ask for the task to look at it, and none asks in a row until it ends.
    let polls = polls.load(Ordering::Relaxed);
    assert!(polls <= 5, "{polls}");
    assert!(failed(&report).contains(&"a2a.send.task"));
}
