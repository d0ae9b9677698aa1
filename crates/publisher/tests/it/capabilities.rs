//! `get_adcp_capabilities`, and what holds for every tool.

use expect_test::expect;
use serde_json::json;
use tradepost_wire::adcp::Tool;

use crate::support::Desk;

#[test]
fn the_context_comes_back_with_every_answer() {
    let desk = Desk::new();
    desk.check(
        Tool::GetAdcpCapabilities,
        json!({"context": {"trace": 1}}),
        &expect![[r#"
        {
          "status": "completed",
          "message": "what this seller can do",
          "adcp": {
            "major_versions": [
              3
            ],
            "supported_versions": [
              "3.1",
              "3.0"
            ],
            "idempotency": {
              "supported": true,
              "replay_ttl_seconds": 86400
            }
          },
          "supported_protocols": [
            "media_buy"
          ],
          "account": {
            "supported_billing": [
              "operator",
              "agent"
            ]
          },
          "context": {
            "trace": 1
          },
          "adcp_version": "3.1"
        }"#]],
    );
    let unknown = json!({"context": {"trace": 2}, "adcp_version": "9.0"});
    desk.check(Tool::GetAdcpCapabilities, unknown, &expect![[r#"
        {
          "status": "failed",
          "message": "this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version",
          "adcp_error": {
            "code": "VERSION_UNSUPPORTED",
            "message": "this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version",
            "recovery": "correctable",
            "suggestion": "pin one of details.supported_versions",
            "details": {
              "supported_versions": [
                "3.1",
                "3.0"
              ],
              "supported_majors": [
                3
              ]
            }
          },
          "errors": [
            {
              "code": "VERSION_UNSUPPORTED",
              "message": "this seller does not speak that release of AdCP; name one of details.supported_versions in adcp_version",
              "recovery": "correctable",
              "suggestion": "pin one of details.supported_versions",
              "details": {
                "supported_versions": [
                  "3.1",
                  "3.0"
                ],
                "supported_majors": [
                  3
                ]
              }
            }
          ],
          "context": {
            "trace": 2
          },
          "adcp_version": "3.1"
        }"#]]);
}

#[test]
fn a_credential_in_the_arguments_is_named_by_its_place_and_never_repeated() {
    let smuggled = json!({"ext": {"deep": [{"api_key": "sk-hidden"}]}});
    Desk::new().check(Tool::GetAdcpCapabilities, smuggled, &expect![[r#"
        {
          "status": "failed",
          "message": "a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
          "adcp_error": {
            "code": "CREDENTIAL_IN_ARGS",
            "message": "a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
            "recovery": "terminal",
            "field": "ext.deep[0].api_key",
            "suggestion": "send it on the transport instead, and replace it: it may have been logged",
            "issues": [
              {
                "pointer": "/ext/deep/0/api_key",
                "message": "a member of this name holds a credential",
                "keyword": "not"
              }
            ]
          },
          "errors": [
            {
              "code": "CREDENTIAL_IN_ARGS",
              "message": "a credential stands in the arguments; send it in the Authorization header alone, and replace the one that was sent",
              "recovery": "terminal",
              "field": "ext.deep[0].api_key",
              "suggestion": "send it on the transport instead, and replace it: it may have been logged",
              "issues": [
                {
                  "pointer": "/ext/deep/0/api_key",
                  "message": "a member of this name holds a credential",
                  "keyword": "not"
                }
              ]
            }
          ],
          "adcp_version": "3.1"
        }"#]]);
}

#[test]
fn whoever_comes_too_often_is_told_when_to_come_back() {
    use tradepost_publisher::world::Lane;
    let desk = Desk::new();
    *desk.world.full.lock().unwrap() = Some(Lane::Read);
    desk.check(
        Tool::GetAdcpCapabilities,
        json!({}),
        &expect![[r#"
        {
          "status": "failed",
          "message": "too many requests; wait and send the same again",
          "adcp_error": {
            "code": "RATE_LIMITED",
            "message": "too many requests; wait and send the same again",
            "recovery": "transient",
            "suggestion": "wait for retry_after seconds and send the same request again",
            "retry_after": 7,
            "details": {
              "limit": 60,
              "remaining": 0,
              "window_seconds": 60,
              "scope": "account"
            }
          },
          "errors": [
            {
              "code": "RATE_LIMITED",
              "message": "too many requests; wait and send the same again",
              "recovery": "transient",
              "suggestion": "wait for retry_after seconds and send the same request again",
              "retry_after": 7,
              "details": {
                "limit": 60,
                "remaining": 0,
                "window_seconds": 60,
                "scope": "account"
              }
            }
          ],
          "adcp_version": "3.1"
        }"#]],
    );
}
