//! Faults of tasks, of lists of them, and of streams about them.

use super::*;

/// That a change to the events of streams that answer messages is found by these checks alone.
#[track_caller]
fn events(expected: &[&str], change: impl Fn(&mut Vec<Value>) + Send + Sync + 'static) {
    let server = conformance::start_conformance(Profile::Streaming);
    let address = proxy::start_with_events(
        server.address,
        NAMED,
        Arc::new(|_| {}),
        Arc::new(|_, _| {}),
        Some(Arc::new(change)),
    );
    let callers = tokens_for(two_callers(&server), [&address, &server.address.to_string()]);
    found(&run(&address, callers), expected);
}

fn two_callers(server: &conformance::ConformanceServer) -> ProbeOptions {
    let token = |name| Some(server.caller(name, None).trim_start_matches("Bearer ").to_owned());
    with(options(), |options| {
        options.token = token("a");
        options.token_b = token("b");
    })
}

/// An event without the envelope of JSON-RPC.
fn inner(event: &mut Value) -> &mut Value {
    if event.get("jsonrpc").is_some() { &mut event["result"] } else { event }
}

fn is_artifact(event: &Value) -> bool {
    ["/artifactUpdate", "/result/artifactUpdate"].iter().any(|at| event.pointer(at).is_some())
}

/// The state that an event tells in an update.
fn updated_state(event: &Value) -> Option<&str> {
    let places = ["/statusUpdate/status/state", "/result/statusUpdate/status/state"];
    places.iter().find_map(|at| event.pointer(at)?.as_str())
}

/// Where an event tells this state.
fn position(events: &[Value], state: &str) -> Option<usize> {
    events.iter().position(|event| updated_state(event) == Some(state))
}

/// Changes a task that was asked for by its id.
fn read_task(asked: &Passing, reply: &mut Passing, change: impl FnOnce(&mut Value)) {
    let over_http = asked.first.starts_with("GET ") && asked.target().contains("/tasks/");
    if over_http || asked.text().contains("\"GetTask\"") {
        reply.json(|body| {
            let task =
                if body.get("jsonrpc").is_some() { body.get_mut("result") } else { Some(body) };
            if let Some(task) = task.filter(|task| task.get("status").is_some()) {
                change(task);
            }
        });
    }
}

#[test]
fn whole_streams_pass_the_proxy_of_these_tests() {
    let server = conformance::start_conformance(Profile::Streaming);
    let change: proxy::ChangeEvents = Arc::new(|_: &mut Vec<Value>| {});
    let request: ChangeRequest = Arc::new(|_| {});
    let answer: ChangeAnswer = Arc::new(|_, _| {});
    let address = proxy::start_with_events(server.address, NAMED, request, answer, Some(change));
    let report =
        run(&address, tokens_for(two_callers(&server), [&address, &server.address.to_string()]));
    assert_a(&report);
    for id in [
        "a2a.stream.same-task",
        "a2a.stream.final-last",
        "a2a.stream.order",
        "a2a.stream.adds-up",
        "a2a.kit.stream-order",
        "a2a.task.whole",
        "a2a.task.artifacts",
        "a2a.send.roles",
        "a2a.list.page",
    ] {
        let of_check = report.findings.iter().filter(|finding| finding.check.id == id);
        let verdicts: Vec<_> = of_check.map(|finding| (&finding.on, &finding.verdict)).collect();
        assert!(verdicts.len() >= 2, "{id}: {verdicts:?}");
        assert!(
            verdicts.iter().all(|(_, verdict)| **verdict == check::CheckVerdict::Pass),
            "{id}: {verdicts:?}"
        );
    }
}

#[test]
fn an_event_of_another_task() {
    events(&["a2a.stream.same-task"], |events| {
        if let Some(last) = events.last_mut() {
            inner(last)["statusUpdate"]["taskId"] = json!("somebody-elses");
        }
    });
}

#[test]
fn a_last_page_without_its_token() {
    conformance_answers(&["a2a.list.page"], |_, reply| {
        reply.json(|body| {
            let page =
                if body.get("jsonrpc").is_some() { body.get_mut("result") } else { Some(body) };
            let is_last = |page: &Value| page.get("nextPageToken") == Some(&json!(""));
            if let Some(members) = page.filter(|page| is_last(page)).and_then(Value::as_object_mut)
            {
                members.shift_remove("nextPageToken");
            }
        });
    });
}

#[test]
fn an_agent_that_speaks_as_the_user() {
    conformance_answers(&["a2a.send.roles"], |asked, reply| {
        let sends = asked.target().contains("message:send") || asked.text().contains("SendMessage");
        reply.json(|body| {
            for place in ["/result/task/status/message/role", "/task/status/message/role"] {
                if let Some(role) = body.pointer_mut(place).filter(|_| sends) {
                    *role = json!("ROLE_USER");
                }
            }
        });
    });
}

#[test]
fn an_agent_that_speaks_as_the_user_in_an_event() {
    events(&["a2a.stream.events"], |events| {
        for event in events {
            if let Some(role) = inner(event).pointer_mut("/statusUpdate/status/message/role") {
                *role = json!("ROLE_USER");
            }
        }
    });
}

#[test]
fn a_task_that_is_read_in_the_unspecified_state() {
    conformance_answers(&["a2a.stream.adds-up", "a2a.task.whole"], |asked, reply| {
        read_task(asked, reply, |task| {
            task["status"]["state"] = json!("TASK_STATE_UNSPECIFIED");
        });
    });
}

#[test]
fn an_event_that_tells_the_unspecified_state() {
    events(&["a2a.stream.events"], |events| {
        let Some(first) = events.first_mut() else { return };
        if inner(first).get("task").is_some() {
            let mut broken_task = inner(first)["task"].clone();
            broken_task["status"]["state"] = json!("TASK_STATE_UNSPECIFIED");
            let update = json!({"taskId": broken_task["id"], "contextId": broken_task["contextId"],
                "status": broken_task["status"]});
            let mut event = first.clone();
            *inner(&mut event) = json!({"statusUpdate": update});
            events.insert(1, event);
        }
    });
}

#[test]
fn artifacts_that_are_gone_when_the_task_is_read() {
    conformance_answers(&["a2a.stream.adds-up", "a2a.task.artifacts"], |asked, reply| {
        read_task(asked, reply, |task| {
            task.as_object_mut().unwrap().shift_remove("artifacts");
        });
    });
}

#[test]
fn an_artifact_before_the_work_on_it() {
    events(&["a2a.kit.stream-order"], |events| {
        let working = position(events, "TASK_STATE_WORKING");
        let artifact = events.iter().position(is_artifact);
        if let Some(working) = working
            && let Some(artifact) = artifact
        {
            events.swap(working, artifact);
        }
    });
}

#[test]
fn chunks_of_an_artifact_in_the_wrong_order() {
    events(&["a2a.stream.adds-up", "a2a.stream.order"], |events| {
        let places: Vec<_> = (0..events.len()).filter(|at| is_artifact(&events[*at])).collect();
        if let [first, second] = places[..] {
            events.swap(first, second);
        }
    });
}

#[test]
fn a_later_event_with_an_earlier_moment() {
    events(&["a2a.stream.order"], |events| {
        if let Some(working) = position(events, "TASK_STATE_WORKING") {
            let status = &mut inner(&mut events[working])["statusUpdate"]["status"];
            status["timestamp"] = json!("2090-01-01T00:00:00.000Z");
        }
    });
}

#[test]
fn a_final_state_before_the_artifact() {
    events(&["a2a.kit.stream-order", "a2a.stream.final-last"], |events| {
        let completed = position(events, "TASK_STATE_COMPLETED");
        let artifact = events.iter().rposition(is_artifact);
        if let Some(completed) = completed
            && let Some(artifact) = artifact
        {
            events.swap(completed, artifact);
        }
    });
}

#[test]
fn a_final_state_twice() {
    events(&["a2a.stream.final-last"], |events| {
        if let Some(completed) = position(events, "TASK_STATE_COMPLETED") {
            events.insert(completed, events[completed].clone());
        }
    });
}
