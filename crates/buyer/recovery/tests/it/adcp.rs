//! Vectors of AdCP: every code over MCP and A2A as a seller sends it, and without its recovery class.

use std::time::Duration;

use expect_test::expect_file;
use tradepost_adcp::answer::AdcpAnswer;
use tradepost_adcp::error::{AdcpCode as Adcp, AdcpError, Recovery, RecoveryRule};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, to_value};

use crate::hostile;
use crate::vector::{Vector, file};

/// Returns the error of a code, with the details that its rule reads.
fn error(code: Adcp) -> AdcpError {
    let error = AdcpError::new(code, code.hint());
    match code.rule() {
        RecoveryRule::Throttled | RecoveryRule::InFlight => error.with_wait(Duration::from_secs(7)),
        RecoveryRule::Permission => error.with("scope", "agent"),
        RecoveryRule::AgentBilling => error.with("suggested_billing", "operator"),
        RecoveryRule::Billing => {
            error.with("scope", "capability").with("supported_billing", json!(["operator"]))
        }
        RecoveryRule::Setup => error.with("setup_url", "https://seller.example/setup"),
        RecoveryRule::Action => error.with("reason", "not_supported_on_buy"),
        RecoveryRule::Moved => error.with("current_account", json!({"account_id": "a2"})),
        RecoveryRule::Strip => error.with("fields", json!(["packages[0].budget"])),
        RecoveryRule::Class
        | RecoveryRule::Advisory
        | RecoveryRule::Credentials
        | RecoveryRule::Renewal
        | RecoveryRule::Context
        | RecoveryRule::Reread
        | RecoveryRule::NewKey
        | RecoveryRule::Reconcile
        | RecoveryRule::Scope
        | RecoveryRule::Gate
        | RecoveryRule::Misconfigured
        | RecoveryRule::Leak
        | RecoveryRule::Person
        | RecoveryRule::Seller
        | RecoveryRule::Never
        | RecoveryRule::Final => error,
    }
}

/// Returns the next step that the columns of a code leave.
fn expected(code: Adcp) -> &'static str {
    let by_class = match code.recovery() {
        Recovery::Transient => "retry",
        Recovery::Correctable => "fix:request",
        Recovery::Terminal => "ask:terminal",
    };
    match code.rule() {
        RecoveryRule::Class | RecoveryRule::Context | RecoveryRule::Throttled => by_class,
        RecoveryRule::InFlight | RecoveryRule::Scope => "retry",
        RecoveryRule::Advisory => "ask:advisory",
        RecoveryRule::Credentials => "ask:credentials_missing",
        RecoveryRule::Renewal => "ask:credentials_rejected",
        RecoveryRule::Reread => "fix:reread",
        RecoveryRule::NewKey => "fix:new_key",
        RecoveryRule::Reconcile => "fix:reconcile",
        RecoveryRule::Strip => "fix:strip",
        RecoveryRule::Permission | RecoveryRule::Gate => "ask:agent_gate",
        RecoveryRule::Misconfigured => "ask:seller_misconfigured",
        RecoveryRule::Leak => "ask:credential_in_arguments",
        RecoveryRule::Billing | RecoveryRule::AgentBilling => "fix:billing",
        RecoveryRule::Setup => "ask:setup",
        RecoveryRule::Person => "ask:agreement",
        RecoveryRule::Action => "stop:not_offered",
        RecoveryRule::Moved => "fix:account",
        RecoveryRule::Seller => "ask:seller_defect",
        RecoveryRule::Never => "ask:done",
        RecoveryRule::Final => "stop:final",
    }
}

/// Wraps a payload in a failed tool result.
pub(crate) fn tool(payload: &Value) -> Value {
    json!({"content": [{"type": "text", "text": "failed"}], "structuredContent": payload,
        "isError": true})
}

/// Wraps a payload in a failed task.
pub(crate) fn task(payload: &Value) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_FAILED"}, "artifacts": [
        {"artifactId": "error-result", "parts": [{"text": "failed"}, {"data": payload}]}]})
}

fn codes() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for code in Adcp::ALL.iter().copied() {
        let name = code.name();
        let source = format!("AdCP {}, enums/error-code.json", code.since());
        let mut push = |vector: Vector| {
            let vector = vector.requires(expected(code)).requires_failure("code", name);
            vectors.push(vector.requires_failure("class", code.recovery().name()));
        };
        let attempt = json!({"seller": "seller.example"});
        let document = AdcpAnswer::failed(error(code), Vec::new()).document();
        let input = json!({"binding": "mcp_tool", "body": tool(&document), "attempt": attempt});
        push(Vector::new(format!("adcp/mcp/{name}"), source.clone(), input));

        let result = json!({"task": task(&document)});
        let input = json!({"binding": "jsonrpc", "request_id": "1", "status": 200,
            "attempt": attempt, "body": {"jsonrpc": "2.0", "id": "1", "result": result}});
        push(Vector::new(format!("adcp/a2a/{name}"), source.clone(), input));

        let mut object = to_value(error(code)).unwrap();
        object.as_object_mut().unwrap().shift_remove("recovery");
        let input = json!({"binding": "mcp_tool", "body": tool(&json!({"adcp_error": object})),
            "attempt": attempt});
        let vector = Vector::new(format!("adcp/mcp/unclassed/{name}"), source.clone(), input);
        push(vector.about("Without `recovery`, the row of the code counts."));

        if let Some(number) = code.jsonrpc() {
            let object = to_value(error(code)).unwrap();
            let error = json!({"code": number, "message": code.hint(),
                "data": {"adcp_error": object}});
            let input = json!({"binding": "jsonrpc", "request_id": "1", "status": 200,
                "attempt": attempt, "body": {"jsonrpc": "2.0", "id": "1", "error": error}});
            let vector = Vector::new(format!("adcp/jsonrpc/{name}"), source, input);
            push(vector.about("A refusal before the task was dispatched."));
        }
    }
    vectors
}

#[test]
fn adcp_vectors_are_written() {
    let mut vectors = codes();
    vectors.extend(hostile::adcp());
    let about = "Errors of AdCP 3.0, 3.1 and 3.2 over MCP and A2A.";
    expect_file!["../../../../../vectors/adcp.json"].assert_eq(&file("adcp", about, &vectors));
}
