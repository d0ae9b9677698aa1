//! Sponsored conversations.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use crate::support::script::Script;

fn open(script: &mut Script) -> Value {
    let opened = script.ask(
        AdcpTool::SiInitiateSession,
        json!({
            "intent": "something to read", "identity": {"consent_granted": false},
        }),
    );
    opened["session_id"].clone()
}

#[test]
fn a_conversation_says_what_the_offering_says() {
    let mut script = Script::new();
    script.note(
        "the offering",
        AdcpTool::SiGetOffering,
        json!({
            "offering_id": "gazette_weekend", "include_products": true,
        }),
    );
    let opened = script.note(
        "opened",
        AdcpTool::SiInitiateSession,
        json!({
            "intent": "a magazine for the weekend",
            "identity": {"consent_granted": true, "user": {"email": "jane@example.com"}},
        }),
    );
    let id = opened["session_id"].clone();
    script.note(
        "said",
        AdcpTool::SiSendMessage,
        json!({"session_id": id, "message": "when is it brought?"}),
    );
    script.note(
        "ended",
        AdcpTool::SiTerminateSession,
        json!({"session_id": id, "reason": "user_exit"}),
    );
    script.note(
        "ended again",
        AdcpTool::SiTerminateSession,
        json!({
            "session_id": id, "reason": "handoff_complete",
        }),
    );
    script.check(&expect![[r##"
        # the offering
        {
          "status": "completed",
          "message": "what is known of the offering",
          "available": true,
          "ttl_seconds": 300,
          "checked_at": "2026-06-01T12:00:00Z",
          "offering": {
            "offering_id": "gazette_weekend",
            "availability_status": "available",
            "summary": "The printed weekend paper with the magazine, brought to the door.",
            "tagline": "Saturday, on paper.",
            "expires_at": "2030-12-31T23:59:59Z",
            "landing_url": "https://gazette.example/weekend"
          },
          "sponsored_context": {
            "paying_principal": {
              "brand": {
                "domain": "gazette.example"
              }
            },
            "context_use": "presentation_only",
            "disclosure_obligation": {
              "required": true,
              "label_text": "Sponsored",
              "timing": "at_first_influenced_output",
              "proximity": "near_rendered_unit"
            },
            "declared_at": "2026-06-01T12:00:00Z",
            "declared_by": {
              "role": "brand_agent"
            }
          },
          "total_matching": 0,
          "matching_products": [],
          "adcp_version": "3.1"
        }
        # opened
        {
          "status": "completed",
          "message": "the conversation is open",
          "session_id": "sis_1",
          "session_status": "active",
          "session_ttl_seconds": 1800,
          "response": {
            "message": "The Weekend Box: Saturday, on paper. The printed weekend paper with the magazine, brought to the door.",
            "ui_elements": [
              {
                "type": "link",
                "data": {
                  "url": "https://gazette.example/weekend",
                  "label": "The Weekend Box"
                }
              }
            ]
          },
          "negotiated_capabilities": {
            "modalities": {
              "conversational": true
            },
            "components": {
              "standard": [
                "text",
                "link"
              ]
            }
          },
          "sponsored_context": {
            "paying_principal": {
              "brand": {
                "domain": "gazette.example"
              }
            },
            "context_use": "presentation_only",
            "disclosure_obligation": {
              "required": true,
              "label_text": "Sponsored",
              "timing": "at_first_influenced_output",
              "proximity": "near_rendered_unit"
            },
            "declared_at": "2026-06-01T12:00:00Z",
            "declared_by": {
              "role": "brand_agent"
            }
          },
          "replayed": false,
          "adcp_version": "3.1"
        }
        # said
        {
          "status": "completed",
          "message": "the answer",
          "session_id": "sis_1",
          "session_status": "active",
          "response": {
            "message": "The Weekend Box: Saturday, on paper. The printed weekend paper with the magazine, brought to the door.",
            "ui_elements": [
              {
                "type": "link",
                "data": {
                  "url": "https://gazette.example/weekend",
                  "label": "The Weekend Box"
                }
              }
            ]
          },
          "sponsored_context": {
            "paying_principal": {
              "brand": {
                "domain": "gazette.example"
              }
            },
            "context_use": "presentation_only",
            "disclosure_obligation": {
              "required": true,
              "label_text": "Sponsored",
              "timing": "at_first_influenced_output",
              "proximity": "near_rendered_unit"
            },
            "declared_at": "2026-06-01T12:00:00Z",
            "declared_by": {
              "role": "brand_agent"
            }
          },
          "replayed": false,
          "adcp_version": "3.1"
        }
        # ended
        {
          "status": "completed",
          "message": "the conversation has ended",
          "session_id": "sis_1",
          "terminated": true,
          "session_status": "terminated",
          "adcp_version": "3.1"
        }
        # ended again
        {
          "status": "completed",
          "message": "the conversation has ended",
          "session_id": "sis_1",
          "terminated": true,
          "session_status": "terminated",
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn what_cannot_be_said_is_refused() {
    let mut script = Script::new();
    let ended = open(&mut script);
    script.ask(AdcpTool::SiTerminateSession, json!({"session_id": ended, "reason": "user_exit"}));
    let message = |id: &Value| json!({"session_id": id, "message": "hello?"});
    script.note(
        "an offering that is not there",
        AdcpTool::SiGetOffering,
        json!({"offering_id": "nothing"}),
    );
    script.note(
        "a person without consent",
        AdcpTool::SiInitiateSession,
        json!({
            "intent": "news", "identity": {"consent_granted": false, "user": {"name": "Jane"}},
        }),
    );
    script.note(
        "a buy that is not there",
        AdcpTool::SiInitiateSession,
        json!({
            "intent": "news", "identity": {"consent_granted": false}, "media_buy_id": "mb_nowhere",
        }),
    );
    script.note("a conversation that has ended", AdcpTool::SiSendMessage, message(&ended));
    let not_found =
        script.note("no conversation", AdcpTool::SiSendMessage, message(&json!("sis_nowhere")));
    let session_id = open(&mut script);
    assert_eq!(not_found, script.ask_as("nova", AdcpTool::SiSendMessage, message(&session_id)));
    script.harness.now += SignedDuration::from_mins(31);
    assert_eq!(not_found, script.ask(AdcpTool::SiSendMessage, message(&session_id)));
    let end = json!({"session_id": session_id, "reason": "session_timeout"});
    script.note("ending what has expired", AdcpTool::SiTerminateSession, end);
    script.check(&expect![[r##"
        # an offering that is not there
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "REFERENCE_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "suggestion": "check the identifier with the task that lists such entities"
          },
          "errors": [
            {
              "code": "REFERENCE_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "suggestion": "check the identifier with the task that lists such entities"
            }
          ],
          "adcp_version": "3.1"
        }
        # a person without consent
        {
          "status": "failed",
          "message": "nothing about a person is taken without consent; leave user out, or set consent_granted when consent was given",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "nothing about a person is taken without consent; leave user out, or set consent_granted when consent was given",
            "recovery": "correctable",
            "field": "identity.user",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "nothing about a person is taken without consent; leave user out, or set consent_granted when consent was given",
              "recovery": "correctable",
              "field": "identity.user",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
        # a buy that is not there
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "MEDIA_BUY_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "field": "media_buy_id",
            "suggestion": "check media_buy_id with get_media_buys"
          },
          "errors": [
            {
              "code": "MEDIA_BUY_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "media_buy_id",
              "suggestion": "check media_buy_id with get_media_buys"
            }
          ],
          "adcp_version": "3.1"
        }
        # a conversation that has ended
        {
          "status": "failed",
          "message": "the conversation has ended; open another with si_initiate_session",
          "adcp_error": {
            "code": "SESSION_TERMINATED",
            "message": "the conversation has ended; open another with si_initiate_session",
            "recovery": "correctable",
            "field": "session_id",
            "suggestion": "begin a session with si_initiate_session"
          },
          "errors": [
            {
              "code": "SESSION_TERMINATED",
              "message": "the conversation has ended; open another with si_initiate_session",
              "recovery": "correctable",
              "field": "session_id",
              "suggestion": "begin a session with si_initiate_session"
            }
          ],
          "adcp_version": "3.1"
        }
        # no conversation
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "SESSION_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "field": "session_id",
            "suggestion": "begin a session with si_initiate_session"
          },
          "errors": [
            {
              "code": "SESSION_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "session_id",
              "suggestion": "begin a session with si_initiate_session"
            }
          ],
          "adcp_version": "3.1"
        }
        # ending what has expired
        {
          "status": "failed",
          "message": "an identifier in the request does not resolve to anything of yours",
          "adcp_error": {
            "code": "SESSION_NOT_FOUND",
            "message": "an identifier in the request does not resolve to anything of yours",
            "recovery": "correctable",
            "field": "session_id",
            "suggestion": "begin a session with si_initiate_session"
          },
          "errors": [
            {
              "code": "SESSION_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "session_id",
              "suggestion": "begin a session with si_initiate_session"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn nothing_about_a_person_is_kept() {
    let mut script = Script::new();
    script.ask(
        AdcpTool::SiInitiateSession,
        json!({
            "intent": "call me at 555-0100",
            "identity": {"consent_granted": true, "user": {"email": "jane@example.com"}},
        }),
    );
    let mut stored = String::new();
    let mut read = |reader: &dyn tradepost_publisher::store::StoreRead| {
        for kind in tradepost_publisher::store::EntityKind::ALL {
            for record in reader.list(*kind, &Default::default()).unwrap() {
                stored.push_str(&record.body.to_string());
            }
        }
    };
    script.harness.store.read(tradepost_publisher::store::ReadExtent::Pages, &mut read).unwrap();
    assert!(stored.contains("session_id"), "{stored}");
    assert!(!stored.contains("jane") && !stored.contains("555"), "{stored}");
}
