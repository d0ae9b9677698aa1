//! Vectors of what goes wrong beside the published errors: unknown codes, layers that disagree, members that are absent
//! or of the wrong type, delays that compete, and what a request permits. Each states its next step by hand.

use tradepost_a2a::status::RpcStatus;
use tradepost_document::json::{Value, json};

use crate::a2a::grpc_answer;
use crate::adcp::{task, tool};
use crate::vector::Vector;

/// Returns an answer over JSON-RPC with this error.
fn rpc(error: Value) -> Value {
    json!({"binding": "jsonrpc", "request_id": "1", "status": 200,
        "body": {"jsonrpc": "2.0", "id": "1", "error": error}})
}

/// Adds members to an input.
fn with(mut input: Value, members: Value) -> Value {
    let added = members.as_object().unwrap().clone();
    input.as_object_mut().unwrap().extend(added);
    input
}

fn info(reason: &str, domain: &str) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason,
        "domain": domain, "metadata": {}})
}

fn retry_info(delay: Value) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
}

const A2A: &str = "a2a-protocol.org";
const A2A_SOURCE: &str = "A2A 1.0 §3.3.2 and §5.4";
const RPC_SOURCE: &str = "JSON-RPC 2.0 §5";
const RETRY_SOURCE: &str = "RFC 9110 §10.2.3";

/// Vectors of unknown and malformed errors of A2A.
pub(crate) fn a2a() -> Vec<Vector> {
    let mut vectors = unknown_errors();
    vectors.extend(envelopes());
    vectors.extend(delays());
    vectors.extend(calls());
    vectors.extend(tasks());
    vectors
}

fn unknown_errors() -> Vec<Vector> {
    let error = |data: Value| rpc(json!({"code": -32050, "message": "m", "data": data}));
    let vector = |name: &str, input| Vector::new(format!("a2a/hostile/{name}"), A2A_SOURCE, input);
    let status = |status: u16, details: Value| {
        json!({"binding": "http_json", "status": status, "body": {"error": {"code": status,
            "status": "X", "message": "m", "details": details}}})
    };
    vec![
        vector("unknown-number", error(Value::Null))
            .about("An unknown number without a delay decides nothing.")
            .requires("ask:unclear").requires_failure("is_known", false),
        vector("unknown-number-with-delay", error(json!([retry_info(json!("3s"))])))
            .about("A seller that names a delay expects a retry.")
            .requires("retry").requires_wait(3_000),
        vector("unknown-number-of-another-domain", error(json!([info("TASK_NOT_FOUND", "evil.example")])))
            .about("A reason of another domain is not one of A2A.")
            .requires("ask:unclear"),
        vector("reason-of-another-number", rpc(json!({"code": -32603, "message": "m",
            "data": [info("TASK_NOT_FOUND", A2A)]})))
            .about("A reason that belongs to another number is ignored.")
            .requires("retry").requires_failure("code", "INTERNAL_ERROR"),
        vector("reason-selects-the-row", rpc(json!({"code": -32603, "message": "m",
            "data": [info("UNAVAILABLE", A2A)]})))
            .requires("retry").requires_failure("code", "UNAVAILABLE"),
        vector("unknown-reason-and-503", status(503, json!([info("NEW_REASON", A2A)])))
            .about("For an unknown reason the HTTP status counts.")
            .requires("retry").requires_failure("code", "NEW_REASON"),
        vector("unknown-reason-and-400", status(400, json!([info("NEW_REASON", A2A)])))
            .requires("ask:unclear"),
        vector("details-of-the-wrong-type", status(404, json!({"reason": "TASK_NOT_FOUND"})))
            .about("Details that are no list say nothing; the status counts.")
            .requires("stop:no_agent"),
        vector("details-without-type", status(404, json!([{"reason": "TASK_NOT_FOUND", "domain": A2A}])))
            .requires("stop:no_agent"),
        vector("field-violations-of-wrong-types", rpc(json!({"code": -32602, "message": 7, "data": [
            {"@type": "google.rpc.BadRequest", "fieldViolations": [{"field": 1}, "x", {"field": "a"}]}]})))
            .requires("fix:request"),
        vector("challenge-in-the-details", rpc(json!({"code": -32000, "message": "m", "data": [
            {"@type": "google.rpc.ErrorInfo", "reason": "UNAUTHENTICATED", "domain": A2A,
             "metadata": {"challenge": "Bearer scope=\"a b\""}}]})))
            .about("The challenge of a binding without headers.")
            .requires("ask:credentials_missing"),
        vector("control-characters", rpc(json!({"code": -32001,
            "message": "\u{1b}[2J\u{202e}gone\n\n"})))
            .about("Texts of a seller are made safe to show.")
            .requires("fix:request"),
    ]
}

fn envelopes() -> Vec<Vector> {
    let raw =
        |body: &str| json!({"binding": "jsonrpc", "request_id": "1", "status": 200, "body": body});
    let vector = |name: &str, input| Vector::new(format!("a2a/envelope/{name}"), RPC_SOURCE, input);
    let garbled = |name: &str, body: &str, next: &str| {
        let vector = vector(name, raw(body)).requires(next);
        vector.requires_failure("kind", "garbled").requires_failure("in_doubt", true)
    };
    vec![
        garbled("empty", "", "retry"),
        garbled("not-json", "<html></html>", "retry"),
        garbled("cut", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"res", "retry"),
        garbled("a-list", "[]", "retry"),
        garbled("result-and-error", r#"{"jsonrpc":"2.0","id":"1","result":{},"error":{"code":-32603,"message":"m"}}"#, "retry"),
        garbled("neither", r#"{"jsonrpc":"2.0","id":"1"}"#, "retry"),
        garbled("another-version", r#"{"jsonrpc":"1.0","id":"1","result":{}}"#, "retry"),
        garbled("another-id", r#"{"jsonrpc":"2.0","id":"2","result":{}}"#, "retry"),
        garbled("repeated-member", r#"{"jsonrpc":"2.0","id":"1","id":"1","result":{}}"#, "retry"),
        garbled("code-is-text", r#"{"jsonrpc":"2.0","id":"1","error":{"code":"-32001","message":"m"}}"#, "retry"),
        garbled("code-is-a-fraction", r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32001.5,"message":"m"}}"#, "retry"),
        garbled("error-is-text", r#"{"jsonrpc":"2.0","id":"1","error":"TASK_NOT_FOUND"}"#, "retry"),
        vector("code-with-a-zero-fraction", raw(r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32001.0,"message":"m"}}"#))
            .about("A whole number in the form of a float, as some libraries write it.")
            .requires("fix:request").requires_failure("code", "TASK_NOT_FOUND"),
        vector("error-without-id", raw(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#))
            .about("An error about a request whose id could not be read has none.")
            .requires("ask:seller_defect"),
        vector("id-is-a-number", json!({"binding": "jsonrpc", "request_id": 1, "status": 200,
            "body": {"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "m"}}}))
            .requires("fix:request"),
        vector("id-not-given", json!({"binding": "jsonrpc", "status": 200,
            "body": {"jsonrpc": "2.0", "id": "x", "error": {"code": -32001, "message": "m"}}}))
            .about("A caller that has already matched the answer leaves `request_id` out.")
            .requires("fix:request"),
        vector("result", raw(r#"{"jsonrpc":"2.0","id":"1","result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"UNAVAILABLE"}]}}}"#))
            .about("A result is never taken for a failure by its text.")
            .requires("none"),
        vector("result-with-status-500", json!({"binding": "jsonrpc", "request_id": "1", "status": 500,
            "body": {"jsonrpc": "2.0", "id": "1", "result": {}}}))
            .requires("retry").requires_failure("protocol", "http"),
        vector("redirect", json!({"binding": "jsonrpc", "request_id": "1", "status": 307,
            "headers": {"Location": "https://evil.example/"}, "body": ""}))
            .about("A redirect is not followed: the request may hold personal data.")
            .requires("ask:seller_defect"),
        Vector::new("a2a/envelope/no-content", A2A_SOURCE, json!({"binding": "http_json", "status": 204}))
            .requires("none"),
    ]
}

fn delays() -> Vec<Vector> {
    let limited = |delay: Value, headers: Value| {
        let data = json!([info("RESOURCE_EXHAUSTED", A2A), retry_info(delay)]);
        let error = json!({"code": -32000, "message": "m", "data": data});
        with(rpc(error), json!({"status": 429, "headers": headers}))
    };
    let page = |headers: Value| json!({"binding": "http_json", "status": 503, "headers": headers, "body": "<html>"});
    let vector = |name: &str, input, wait| {
        let vector = Vector::new(format!("a2a/delay/{name}"), RETRY_SOURCE, input);
        vector.requires("retry").requires_wait(wait)
    };
    let date = "Mon, 04 May 2026 10:00:00 GMT";
    vec![
        vector("header-longer", limited(json!("3s"), json!({"Retry-After": "9"})), 9_000)
            .about("The longest of all delays counts."),
        vector("body-longer", limited(json!("12.5s"), json!({"Retry-After": "2"})), 12_500),
        vector("body-is-a-number", limited(json!(12), json!({"Retry-After": "2"})), 2_000)
            .about("A delay of the wrong type says nothing."),
        vector("body-is-negative", limited(json!("-5s"), json!({"Retry-After": "2"})), 2_000),
        vector("zero", page(json!({"Retry-After": "0"})), 1_000)
            .about("At least a second, so that nobody is asked in a loop."),
        vector(
            "date",
            page(json!({"Retry-After": "Mon, 04 May 2026 10:00:20 GMT", "Date": date})),
            20_000,
        )
        .about("A date is compared with the `Date` of the answer, not with a clock."),
        vector(
            "date-past",
            page(json!({"Retry-After": "Mon, 04 May 2026 09:00:00 GMT", "Date": date})),
            1_000,
        ),
        vector(
            "date-without-date",
            page(json!({"Retry-After": "Mon, 04 May 2026 10:00:20 GMT"})),
            1_500,
        )
        .about("A date without a `Date` says nothing; the backoff counts."),
        vector("age", page(json!({"Retry-After": "30", "Age": "12"})), 18_000)
            .about("What has passed in a cache is subtracted."),
        vector("nonsense", page(json!({"Retry-After": "soon"})), 1_500),
        vector("list", page(json!({"retry-after": ["5", "9"]})), 5_000)
            .about("Names of headers in any case; of several values the first."),
        vector(
            "third-retry",
            with(page(json!({})), json!({"attempt": {"tried": {"retries": 2}}})),
            6_000,
        )
        .about("Without a delay the pause doubles."),
        Vector::new("a2a/delay/a-year", RETRY_SOURCE, page(json!({"Retry-After": "31536000"})))
            .about("No delay is longer than a day, and one longer than the budget is for a person.")
            .requires("ask:spent")
            .requires_failure("retry_after_ms", 86_400_000),
    ]
}

fn calls() -> Vec<Vector> {
    let vector =
        |name: &str, input| Vector::new(format!("a2a/grpc/hostile/{name}"), "A2A 1.0 §10", input);
    let ended = |headers: Value| json!({"binding": "grpc", "status": 200, "headers": headers});
    let longer = grpc_answer(RpcStatus::Unavailable, "m", json!([retry_info(json!("4s"))]));
    vec![
        vector(
            "details-unreadable",
            ended(json!({"grpc-status": "14", "grpc-details": "x",
            "grpc-status-details-bin": "!!!"})),
        )
        .about("Details that cannot be read are left out; the status counts.")
        .requires("retry")
        .requires_failure("code", "14"),
        vector("delay", longer.input)
            .decoded(longer.decoded)
            .requires("retry")
            .requires_wait(4_000),
        vector("unknown-status", ended(json!({"grpc-status": "99"})))
            .requires("ask:unclear")
            .requires_failure("is_known", false),
        vector("status-is-no-number", ended(json!({"grpc-status": "UNAVAILABLE"})))
            .requires("retry")
            .requires_failure("kind", "garbled"),
        vector("no-status", ended(json!({})))
            .about("The call ended early.")
            .requires("retry")
            .requires_failure("in_doubt", true),
        vector(
            "gateway",
            json!({"binding": "grpc", "status": 502, "headers": {}, "body": "<html>"}),
        )
        .requires("retry")
        .requires_failure("protocol", "http"),
        vector("ok", ended(json!({"grpc-status": "0"}))).requires("none"),
    ]
}

fn tasks() -> Vec<Vector> {
    let task = |state: &str, text: &str| {
        json!({"binding": "task", "body": {"id": "t", "status": {"state": state, "message":
            {"role": "ROLE_AGENT", "parts": [{"text": text}]}}}})
    };
    let vector = |name: &str, input| Vector::new(format!("a2a/task/{name}"), "A2A 1.0 §4.1", input);
    vec![
        vector("failed", task("TASK_STATE_FAILED", "RATE_LIMITED, retry at once"))
            .about("A text decides nothing.")
            .requires("ask:unclear")
            .requires_failure("protocol", "text"),
        vector("rejected", task("TASK_STATE_REJECTED", "no")).requires("ask:unclear"),
        vector("failed-in-0.3", task("failed", "no")).requires("ask:unclear"),
        vector("completed", task("TASK_STATE_COMPLETED", "done")).requires("none"),
        vector("canceled", task("TASK_STATE_CANCELED", "done")).requires("none"),
        Vector::new(
            "a2a/text/plain",
            "A2A 1.0 §3.3.2",
            json!({"binding": "text", "body": "out of order"}),
        )
        .requires("ask:unclear"),
    ]
}

/// Vectors of requests: what the same answer comes to for another request or another budget.
pub(crate) fn requests() -> Vec<Vector> {
    let page = |status: u16| json!({"binding": "http_json", "status": status, "body": ""});
    let of = |name: &str, input: Value, attempt: Value| {
        let input = with(input, json!({"attempt": attempt}));
        Vector::new(format!("a2a/request/{name}"), "A2A 1.0 §3.3.2; RFC 9110 §9.2.2", input)
    };
    let spent = |name: &str, input: Value, budget: Value| {
        let input = with(input, json!({"budget": budget}));
        Vector::new(format!("a2a/budget/{name}"), "RFC 9110 §10.2.3", input)
    };
    let without_answer = |error: &str| json!({"transport_error": error});
    let garbled = json!({"binding": "jsonrpc", "request_id": "1", "status": 200, "body": "<html>"});
    let supply = json!({"has_supply": true});
    let renewable = json!({"has_supply": true, "had_credentials": true});
    let renewed =
        json!({"has_supply": true, "had_credentials": true, "tried": {"credentials": true}});
    let reread = json!({"has_card": true, "tried": {"card": true}});
    let keyed = json!({"effect": "keyed"});
    let unkeyed = json!({"effect": "unkeyed"});
    vec![
        of("401-with-a-supply", page(401), supply).requires("retry:supply_credential"),
        of(
            "401-with-two-challenges",
            with(
                page(401),
                json!({"headers": {"WWW-Authenticate": [
                    "Bearer realm=\"dealer\", scope=\"leads:write\", \
                     resource_metadata=\"https://dealer.example/.well-known/oauth-protected-resource\"",
                    "Basic realm=\"dealer\""]}}),
            ),
            json!({}),
        )
        .about("How the server wants its callers to authenticate.")
        .requires("ask:credentials_missing"),
        of(
            "401-with-a-broken-challenge",
            with(page(401), json!({"headers": {"WWW-Authenticate": "Bearer realm=\"open"}})),
            json!({}),
        )
        .about("Of a challenge that cannot be read, the scheme is left.")
        .requires("ask:credentials_missing"),
        of("401-rejected", page(401), renewable)
            .about("A rejected credential is not sent again.")
            .requires("ask:credentials_rejected"),
        of("401-after-a-new-one", page(401), renewed).requires("ask:credentials_rejected"),
        of("404-by-a-card", page(404), json!({"has_card": true})).requires("retry:read_card"),
        of("404-by-a-card-read-again", page(404), reread).requires("stop:no_agent"),
        of("unanswered-read", without_answer("unanswered"), json!({})).requires("retry"),
        of("unanswered-keyed", without_answer("unanswered"), keyed.clone())
            .requires("retry")
            .requires_failure("in_doubt", true),
        of("unanswered-unkeyed", without_answer("unanswered"), unkeyed.clone())
            .about("It may have had its effect: look it up, or ask a person.")
            .requires("ask:in_doubt")
            .requires_failure("in_doubt", true),
        of("unreachable-unkeyed", without_answer("unreachable"), unkeyed.clone())
            .about("Nothing was sent, so that nothing is in doubt.")
            .requires("retry")
            .requires_failure("in_doubt", false),
        of("truncated-unkeyed", without_answer("truncated"), unkeyed.clone())
            .requires("ask:in_doubt"),
        of("certificate", without_answer("certificate"), json!({})).requires("stop:certificate"),
        of("proxy", without_answer("proxy"), json!({})).requires("stop:proxy"),
        of("502-unkeyed", page(502), unkeyed.clone()).requires("ask:in_doubt"),
        of("502-keyed", page(502), keyed).requires("retry"),
        of("429-unkeyed", page(429), unkeyed.clone())
            .about("A limit is refused before the work begins.")
            .requires("retry"),
        of("garbled-unkeyed", garbled, unkeyed).requires("ask:in_doubt"),
        spent("no-attempts", page(503), json!({"attempts": 0})).requires("ask:spent"),
        spent("no-tokens", page(503), json!({"tokens": 0})).requires("ask:spent"),
        spent("no-time", page(503), json!({"seconds": 0})).requires("ask:spent"),
        spent(
            "less-time-than-asked-for",
            with(page(503), json!({"headers": {"Retry-After": "60"}})),
            json!({"seconds": 59.5}),
        )
        .requires("ask:spent"),
        spent(
            "just-enough-time",
            with(page(503), json!({"headers": {"Retry-After": "60"}})),
            json!({"seconds": 60}),
        )
        .requires("retry")
        .requires_wait(60_000),
        spent("throttled", page(429), json!({"attempts": 0}))
            .about("A limit that stays is for the operator.")
            .requires("ask:throttled"),
        spent(
            "a-correction-needs-none",
            rpc(json!({"code": -32602, "message": "m"})),
            json!({"attempts": 0, "tokens": 0}),
        )
        .requires("fix:request"),
    ]
}

/// Vectors of AAP beside its codes.
pub(crate) fn aap() -> Vec<Vector> {
    let refused = |object: Value| {
        let mut data = json!({"type": "aap.error", "message": "m", "error_id": "err_1"});
        data.as_object_mut().unwrap().extend(object.as_object().unwrap().clone());
        rpc(json!({"code": -32000, "message": "m", "data": data}))
    };
    let vector =
        |name: &str, input| Vector::new(format!("aap/hostile/{name}"), "AAP 1.1, Errors", input);
    let limited = |details: Value| {
        refused(json!({"code": "RATE_LIMITED", "retryable": true, "details": details}))
    };
    let header = json!({"headers": {"Retry-After": "5"}});
    vec![
        vector("retryable-although-not-in-the-table", refused(json!({"code": "VEHICLE_NOT_FOUND", "retryable": true})))
            .about("`retryable` of the error counts before the table.").requires("retry"),
        vector("not-retryable-although-in-the-table", refused(json!({"code": "INTERNAL_ERROR", "retryable": false})))
            .requires("ask:not_retryable"),
        vector("retryable-is-text", refused(json!({"code": "RATE_LIMITED", "retryable": "false"})))
            .about("A value of the wrong type is none; the table counts.").requires("retry"),
        vector("retryable-absent", refused(json!({"code": "SCHEMA_VALIDATION_FAILED"}))).requires("fix:request"),
        vector("unknown-code", refused(json!({"code": "FINANCE_DECLINED"})))
            .about("An unknown code is not retryable unless it says so.")
            .requires("ask:unclear").requires_failure("is_known", false),
        vector("unknown-code-retryable", refused(json!({"code": "DEALER_CLOSED", "retryable": true,
            "details": {"retry_after_seconds": 60}}))).requires("retry").requires_wait(60_000),
        vector("unknown-code-not-retryable-503", with(refused(json!({"code": "DEALER_CLOSED", "retryable": false})),
            json!({"status": 503}))).about("The dealer's word counts before the status.")
            .requires("ask:not_retryable"),
        vector("code-in-lower-case", refused(json!({"code": "rate_limited"})))
            .requires("ask:unclear").requires_failure("is_known", false),
        vector("code-absent", refused(json!({}))).about("Without a code it is no error object of AAP.")
            .requires("ask:unclear"),
        vector("code-is-a-number", refused(json!({"code": 7}))).requires("ask:unclear"),
        vector("type-absent", rpc(json!({"code": -32000, "message": "m",
            "data": {"code": "RATE_LIMITED", "retryable": true}}))).requires("ask:unclear"),
        vector("milliseconds", limited(json!({"retry_after_ms": 2500}))).requires("retry").requires_wait(2_500),
        vector("seconds-and-milliseconds", limited(json!({"retry_after_ms": 2500, "retry_after_seconds": 4})))
            .about("The longer counts.").requires("retry").requires_wait(4_000),
        vector("fraction-of-a-millisecond", limited(json!({"retry_after_ms": 1500.2})))
            .about("Delays are rounded up.").requires("retry").requires_wait(1_501),
        vector("header-longer", with(limited(json!({"retry_after_ms": 2500})), header.clone()))
            .requires("retry").requires_wait(5_000),
        vector("body-longer", with(limited(json!({"retry_after_ms": 9000})), header.clone()))
            .requires("retry").requires_wait(9_000),
        vector("delay-is-text", with(limited(json!({"retry_after_ms": "9000"})), header))
            .requires("retry").requires_wait(5_000),
        vector("delay-is-negative", limited(json!({"retry_after_ms": -1}))).requires("retry").requires_wait(1_500),
        vector("problems-of-wrong-types", refused(json!({"code": "SCHEMA_VALIDATION_FAILED",
            "details": {"errors": [{"pointer": 1}, "x", {"pointer": "/filters/x", "keyword": "new", "message": "m"}]}})))
            .requires("fix:request"),
        vector("details-is-text", refused(json!({"code": "SCHEMA_VALIDATION_FAILED", "details": "all of it"})))
            .requires("fix:request"),
        vector("appointment-unkeyed", with(refused(json!({"code": "APPOINTMENT_TIME_UNAVAILABLE"})),
            json!({"attempt": {"effect": "unkeyed"}})))
            .about("The lead itself may have been received.")
            .requires("ask:other_time").requires_failure("in_doubt", true),
        vector("number-and-object-disagree", rpc(json!({"code": -32001, "message": "m", "data":
            {"type": "aap.error", "code": "RATE_LIMITED", "message": "m", "retryable": true}})))
            .about("The error object counts before the number.")
            .requires("retry").requires_failure("protocol", "aap"),
        vector("unknown-code-in-words", rpc(json!({"code": -32000, "message": "NEW_CODE: no"})))
            .about("Only a known code is read from a message.").requires("ask:unclear"),
        vector("text", json!({"binding": "text", "body": "VEHICLE_UNAVAILABLE: sold"}))
            .requires("fix:search_again"),
    ]
}

const ADCP_SOURCE: &str = "AdCP 3.1, Error handling";
const LAYERS: &str = "AdCP 3.1, Transport errors";

/// Vectors of AdCP beside its codes.
pub(crate) fn adcp() -> Vec<Vector> {
    let mut vectors = classes();
    vectors.extend(layers());
    vectors.extend(members());
    vectors.extend(adcp_requests());
    vectors
}

fn mcp(payload: Value) -> Value {
    json!({"binding": "mcp_tool", "body": tool(&payload)})
}

fn only(error: Value) -> Value {
    mcp(json!({"adcp_error": error}))
}

fn classes() -> Vec<Vector> {
    let vector = |code: &str, class: Value, next: &str| {
        let name = class.as_str().map_or_else(|| "null".to_owned(), ToOwned::to_owned);
        let input = only(json!({"code": code, "message": "m", "recovery": class}));
        Vector::new(format!("adcp/class/{code}/{name}"), ADCP_SOURCE, input).requires(next)
    };
    vec![
        vector("SERVICE_UNAVAILABLE", json!("terminal"), "ask:terminal")
            .about("The class of the error counts before the table."),
        vector("BUDGET_TOO_LOW", json!("transient"), "retry"),
        vector("SERVICE_UNAVAILABLE", json!("deferred"), "ask:terminal")
            .about("An unknown class counts as terminal."),
        vector("SERVICE_UNAVAILABLE", json!(null), "retry").about("Null is no class."),
        vector("GO_FOREVER", json!("transient"), "retry")
            .about("An unknown code with a class: only the budgets end it."),
        vector("GO_FOREVER", json!("correctable"), "fix:request"),
        vector("GO_FOREVER", json!("terminal"), "ask:terminal"),
        vector("GO_FOREVER", json!(null), "retry")
            .about("An unknown code without a class is transient."),
        vector("AGENT_BLOCKED", json!("transient"), "ask:agent_gate")
            .about("What a rule forbids stays forbidden, whatever the class."),
        vector("CREDENTIAL_IN_ARGS", json!("transient"), "ask:credential_in_arguments"),
        vector("CONFIGURATION_ERROR", json!("transient"), "ask:seller_misconfigured"),
        vector("FIELD_NOT_PERMITTED", json!("transient"), "fix:strip"),
        vector("CONFLICT", json!("transient"), "fix:reread"),
        vector("IDEMPOTENCY_IN_FLIGHT", json!("correctable"), "ask:in_flight")
            .about("Never a fresh key: it might happen twice."),
        vector("COMMITTED_RESOURCE_PURGED", json!("transient"), "ask:done"),
        vector("RATE_LIMITED", json!("terminal"), "ask:terminal"),
    ]
}

fn layers() -> Vec<Vector> {
    let vector = |name: &str, input| Vector::new(format!("adcp/layers/{name}"), LAYERS, input);
    let of =
        |code: &str, recovery: &str| json!({"code": code, "message": "m", "recovery": recovery});
    let limited = of("RATE_LIMITED", "transient");
    let low = of("BUDGET_TOO_LOW", "correctable");
    let suspended = of("ACCOUNT_SUSPENDED", "terminal");
    let warning = json!({"code": "ACCOUNT_SUSPENDED", "message": "m", "severity": "warning"});
    let text = |text: &str, is_error: bool| json!({"binding": "mcp_tool", "body": {"content": [{"type": "text", "text": text}], "isError": is_error}});
    let result = |payload: Value| json!({"binding": "mcp_tool", "body": {"content": [], "structuredContent": payload, "isError": false}});
    vec![
        vector("payload-stricter", mcp(json!({"adcp_error": limited, "errors": [suspended]})))
            .about("Where the layers disagree, the strictest counts.")
            .requires("ask:terminal").requires_failure("code", "ACCOUNT_SUSPENDED"),
        vector("envelope-stricter", mcp(json!({"adcp_error": low, "errors": [limited]})))
            .requires("fix:request").requires_failure("code", "BUDGET_TOO_LOW"),
        vector("forbidden-is-strictest", mcp(json!({"adcp_error": suspended,
            "errors": [of("AGENT_BLOCKED", "transient")]})))
            .requires("ask:agent_gate").requires_failure("code", "AGENT_BLOCKED"),
        vector("equally-strict", mcp(json!({"adcp_error": low, "errors": [of("PRODUCT_NOT_FOUND", "correctable")]})))
            .about("Of equally strict ones, the envelope's.").requires_failure("code", "BUDGET_TOO_LOW"),
        vector("warnings-decide-nothing", mcp(json!({"adcp_error": limited, "errors": [warning]})))
            .requires("retry").requires_failure("code", "RATE_LIMITED"),
        vector("longest-delay", mcp(json!({"adcp_error": {"code": "RATE_LIMITED", "retry_after": 3},
            "errors": [{"code": "RATE_LIMITED", "retry_after": 8}]}))).requires("retry").requires_wait(8_000),
        vector("malformed-envelope", mcp(json!({"adcp_error": {"message": "m"}, "errors": [limited]})))
            .about("A malformed error object ends the search.")
            .requires("ask:unclear").requires_failure("protocol", "text"),
        vector("null-envelope", mcp(json!({"adcp_error": null, "errors": [limited]}))).requires("retry"),
        vector("errors-alone", mcp(json!({"status": "failed", "errors": [low]}))).requires("fix:request"),
        vector("json-in-text", text(r#"{"adcp_error":{"code":"RATE_LIMITED","retry_after":4}}"#, true))
            .requires("retry").requires_wait(4_000),
        vector("prose", text("RATE_LIMITED: come back later", true))
            .about("Prose decides nothing.").requires("ask:unclear"),
        vector("json-in-the-text-of-a-result", text(r#"{"adcp_error":{"code":"RATE_LIMITED"}}"#, false))
            .about("A result that looks like an error is a result.").requires("none"),
        vector("error-without-is-error", result(json!({"adcp_error": limited})))
            .about("An error object alone is no result, but its code is not relied on.").requires("ask:unclear"),
        vector("result-with-an-error-beside", result(json!({"adcp_error": limited, "products": []}))).requires("none"),
        vector("failed-without-is-error", result(json!({"status": "failed", "adcp_error": limited, "products": []})))
            .about("The payload says that it failed.").requires("retry"),
        vector("completed-with-warnings", result(json!({"status": "completed", "errors": [warning]}))).requires("none"),
        vector("artifact-before-status-message", json!({"binding": "task", "body": {"id": "t",
            "status": {"state": "TASK_STATE_FAILED", "message": {"parts": [{"data": {"adcp_error": limited}}]}},
            "artifacts": [{"parts": [{"data": {"adcp_error": low}}]}]}}))
            .requires("fix:request").requires_failure("code", "BUDGET_TOO_LOW"),
        vector("status-message", json!({"binding": "task", "body": {"id": "t", "status": {"state": "failed",
            "message": {"parts": [{"data": {"adcp_error": low}}]}}}})).requires("fix:request"),
        vector("http", json!({"binding": "http_json", "status": 429, "headers": {"Retry-After": "9"},
            "body": {"adcp_error": {"code": "RATE_LIMITED", "retry_after": 3}}}))
            .about("The header asks for more than the body.").requires("retry").requires_wait(9_000),
        vector(
            "tool-in-an-envelope",
            json!({"binding": "jsonrpc", "request_id": 7, "status": 200, "body":
                {"jsonrpc": "2.0", "id": 7, "result": tool(&json!({"adcp_error": limited}))}}),
        )
        .about("A tool result with the envelope of MCP.")
        .requires("retry"),
        vector(
            "protocol-error-of-mcp",
            json!({"binding": "jsonrpc", "request_id": 7, "status": 200, "body":
                {"jsonrpc": "2.0", "id": 7, "error": {"code": -32602, "message": "Unknown tool: buy"}}}),
        )
        .about("An error of MCP itself is one of JSON-RPC.")
        .requires("fix:request")
        .requires_failure("protocol", "a2a"),
        vector(
            "tool-that-goes-on",
            result(json!({"status": "submitted", "task_id": "t"})),
        )
        .about("A task that goes on has not failed.")
        .requires("none"),
        vector("code-against-status", json!({"binding": "http_json", "status": 503,
            "body": {"adcp_error": suspended}})).about("The code counts before the status.").requires("ask:terminal"),
        vector("task-in-an-envelope", json!({"binding": "jsonrpc", "request_id": "1", "status": 200, "body":
            {"jsonrpc": "2.0", "id": "1", "result": task(&json!({"adcp_error": low}))}})).requires("fix:request"),
    ]
}

fn members() -> Vec<Vector> {
    let vector =
        |name: &str, error: Value| Vector::new(format!("adcp/members/{name}"), LAYERS, only(error));
    let limited =
        |delay: Value| json!({"code": "RATE_LIMITED", "message": "m", "retry_after": delay});
    let long = "X".repeat(65);
    vec![
        vector("delay-fraction", limited(json!(7.2))).about("Rounded up.").requires_wait(8_000),
        vector("delay-zero", limited(json!(0))).requires_wait(1_000),
        vector("delay-too-long", limited(json!(99_999))).about("An hour at most, which is more than the budget.")
            .requires("ask:throttled").requires_failure("retry_after_ms", 3_600_000),
        vector("delay-is-text", limited(json!("7"))).requires("retry").requires_wait(1_500),
        vector("delay-of-a-correctable", json!({"code": "BUDGET_TOO_LOW", "retry_after": 1}))
            .about("A delay permits no retry.").requires("fix:request"),
        vector("code-absent", json!({"message": "m", "recovery": "transient"})).requires("ask:unclear"),
        vector("code-is-a-number", json!({"code": 7, "recovery": "transient"})).requires("ask:unclear"),
        vector("code-empty", json!({"code": "", "recovery": "transient"})).requires("ask:unclear"),
        vector("code-too-long", json!({"code": long, "recovery": "transient"})).requires("ask:unclear"),
        vector("too-large", json!({"code": "RATE_LIMITED", "message": "m".repeat(4_100)}))
            .about("More than 4,096 bytes are no error object.").requires("ask:unclear"),
        vector("not-an-object", json!("RATE_LIMITED")).requires("ask:unclear"),
        vector("class-is-a-number", json!({"code": "RATE_LIMITED", "recovery": 1})).requires("ask:terminal"),
        vector("fields-of-all-places", json!({"code": "VALIDATION_ERROR", "message": "m", "field": "budget",
            "issues": [{"pointer": "/packages/0/budget", "message": "m", "keyword": "minimum"}],
            "details": {"fields": ["start_time", "budget"]}, "suggestion": "Use 500.\u{7}\u{202e}"}))
            .requires("fix:request"),
        vector("versions", json!({"code": "VERSION_UNSUPPORTED", "details": {"supported_versions": ["3.0", "3.1", 4]}}))
            .requires("fix:versions"),
        vector("versions-absent", json!({"code": "VERSION_UNSUPPORTED"})).requires("fix:request"),
        vector("permission-without-scope", json!({"code": "PERMISSION_DENIED"}))
            .about("Without a scope, a governance token is missing.").requires("fix:token"),
        vector("permission-of-an-account", json!({"code": "PERMISSION_DENIED", "details": {"scope": "account"}}))
            .requires("ask:permission"),
        vector("billing-of-an-account", json!({"code": "BILLING_NOT_SUPPORTED", "details": {"scope": "account"}}))
            .requires("fix:other_billing"),
        vector("billing-of-nobody", json!({"code": "BILLING_NOT_SUPPORTED",
            "details": {"scope": "capability", "supported_billing": []}})).requires("ask:billing"),
        vector("account-moved-nowhere", json!({"code": "ACCOUNT_MOVED"})).requires("ask:seller_defect"),
        vector("action-of-a-state", json!({"code": "ACTION_NOT_ALLOWED", "details": {"reason": "wrong_status"}}))
            .requires("fix:request"),
    ]
}

fn adcp_requests() -> Vec<Vector> {
    let of = |name: &str, error: Value, attempt: Value| {
        let input = with(only(error), json!({"attempt": attempt}));
        Vector::new(format!("adcp/request/{name}"), ADCP_SOURCE, input)
    };
    let at_home = json!({"seller": "seller.example"});
    let setup = |name: &str, url: &str| {
        let error = json!({"code": "ACCOUNT_SETUP_REQUIRED", "details": {"setup_url": url}});
        of(&format!("setup/{name}"), error, at_home.clone()).requires("ask:setup")
    };
    let code = |code: &str| json!({"code": code, "message": "m"});
    let renewable = json!({"had_credentials": true, "has_supply": true});
    let renewed =
        json!({"had_credentials": true, "has_supply": true, "tried": {"credentials": true}});
    let forgotten = json!({"code": "INVALID_REQUEST", "message": "Context not found: c1"});
    let suggested = json!({"code": "BILLING_NOT_PERMITTED_FOR_AGENT", "details": {"suggested_billing": "operator"}});
    let tried_thrice = json!({"tried": {"retries": 3}});
    let mut vectors = vec![
        of("auth-required-with-a-supply", code("AUTH_REQUIRED"), json!({"has_supply": true}))
            .requires("retry:supply_credential"),
        of("auth-required-rejected", code("AUTH_REQUIRED"), json!({"had_credentials": true}))
            .requires("ask:credentials_rejected"),
        of("auth-invalid-renewable", code("AUTH_INVALID"), renewable)
            .requires("retry:renew_credential"),
        of("auth-invalid-renewed", code("AUTH_INVALID"), renewed)
            .requires("ask:credentials_rejected"),
        of("context-forgotten", forgotten.clone(), json!({"had_context": true}))
            .about("The only text that decides something, because the specification requires it.")
            .requires("fix:drop_context"),
        of(
            "context-forgotten-again",
            forgotten.clone(),
            json!({"had_context": true, "tried": {"context": true}}),
        )
        .requires("fix:request"),
        of("context-never-sent", forgotten, json!({})).requires("fix:request"),
        of("billing-suggested-twice", suggested, json!({"tried": {"billing": true}}))
            .requires("ask:billing"),
        of("scope-after-three-retries", code("SCOPE_INSUFFICIENT"), tried_thrice)
            .requires("ask:scope"),
        of("scope-first", code("SCOPE_INSUFFICIENT"), json!({}))
            .requires("retry")
            .requires_wait(1_000),
        of(
            "scope-with-a-long-delay",
            json!({"code": "SCOPE_INSUFFICIENT", "retry_after": 6}),
            json!({}),
        )
        .about("More than five seconds are no lag of a replica.")
        .requires("ask:scope"),
        of("unkeyed-transient", code("SERVICE_UNAVAILABLE"), json!({"effect": "unkeyed"}))
            .about("A refusal with a code of AdCP leaves nothing in doubt.")
            .requires("retry")
            .requires_failure("in_doubt", false),
        setup("at-home", "https://seller.example/setup?a=1"),
        setup("below", "https://pay.seller.example/"),
    ];
    for (name, url) in [
        ("clear-text", "http://seller.example/"),
        ("elsewhere", "https://evil.example/"),
        ("similar", "https://evilseller.example/"),
        ("user", "https://seller.example@evil.example/"),
        ("password", "https://u:p@seller.example/"),
        ("script", "javascript:alert(1)"),
        ("backslash", "https://evil.example\\@seller.example/"),
        ("no-address", "setup"),
    ] {
        let vector = setup(name, url);
        let named = vector.shows_address();
        assert!(!named, "{name}: {url} is shown");
        vectors.push(vector.about("Only a safe address of the seller's own is shown."));
    }
    vectors
}
