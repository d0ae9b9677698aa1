//! `sync_event_sources` and `log_event`.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::support::script::Script;

fn purchase(id: &str) -> Value {
    json!({
        "event_id": id, "event_type": "purchase", "event_time": "2026-06-01T11:00:00Z",
        "user_match": {"hashed_email": "a".repeat(64)},
        "custom_data": {"value": 199.99, "currency": "USD"},
    })
}

#[test]
fn events_are_counted_once_for_each_source() {
    let mut script = Script::new();
    let sources = AdcpTool::SyncEventSources;
    let pixel = json!({
        "event_source_id": "pixel", "name": "Pixel", "event_types": ["purchase"],
        "allowed_domains": ["acmeoutdoor.example"],
    });
    script.note("made", sources, json!({"event_sources": [pixel, {"event_source_id": "server"}]}));
    script.note(
        "the same, another, twice",
        sources,
        json!({"event_sources": [
            pixel, {"event_source_id": "server", "name": "Server"}, {"event_source_id": "server"},
        ]}),
    );
    script.note("what is there", sources, json!({}));
    let log = |source: &str, events: Value| json!({"event_source_id": source, "events": events});
    script.note("taken", AdcpTool::LogEvent, log("pixel", json!([purchase("e1"), purchase("e2")])));
    script.note(
        "known, and new",
        AdcpTool::LogEvent,
        log("pixel", json!([purchase("e1"), purchase("e3")])),
    );
    script.note(
        "the same of another source",
        AdcpTool::LogEvent,
        log("server", json!([purchase("e1")])),
    );
    let mut lead = purchase("e4");
    lead["event_type"] = json!("lead");
    let mut foreign = purchase("e5");
    foreign["event_source_url"] = json!("https://elsewhere.example/thanks");
    script.note(
        "what the source cannot have",
        AdcpTool::LogEvent,
        log("pixel", json!([lead, foreign])),
    );
    let mut test_event = log("pixel", json!([purchase("e6")]));
    test_event["test_event_code"] = json!("TEST1");
    script.ask(AdcpTool::LogEvent, test_event);
    script.note(
        "after a rehearsal it is new",
        AdcpTool::LogEvent,
        log("pixel", json!([purchase("e6")])),
    );
    let not_found =
        script.note("no such source", AdcpTool::LogEvent, log("nobody", json!([purchase("e1")])));
    // Another's is nobody's (`U-1`).
    let of_other_caller =
        script.ask_as("nova", AdcpTool::LogEvent, log("pixel", json!([purchase("e1")])));
    assert_eq!(not_found, of_other_caller);
    script.note("no list", sources, json!({"delete_missing": true}));
    script.note("one away", sources, json!({"event_sources": [pixel], "delete_missing": true}));
    script.check(&expect![[r##"
        # made
        {
          "status": "completed",
          "message": "each event source has its own result",
          "event_sources": [
            {
              "event_source_id": "pixel",
              "action": "created",
              "managed_by": "buyer",
              "setup": {
                "snippet_type": "server_only",
                "instructions": "send its events from your server with log_event"
              },
              "name": "Pixel",
              "event_types": [
                "purchase"
              ]
            },
            {
              "event_source_id": "server",
              "action": "created",
              "managed_by": "buyer",
              "setup": {
                "snippet_type": "server_only",
                "instructions": "send its events from your server with log_event"
              }
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # the same, another, twice
        {
          "status": "completed",
          "message": "each event source has its own result",
          "event_sources": [
            {
              "event_source_id": "pixel",
              "action": "unchanged",
              "managed_by": "buyer",
              "setup": {
                "snippet_type": "server_only",
                "instructions": "send its events from your server with log_event"
              },
              "name": "Pixel",
              "event_types": [
                "purchase"
              ]
            },
            {
              "event_source_id": "server",
              "action": "updated",
              "managed_by": "buyer",
              "setup": {
                "snippet_type": "server_only",
                "instructions": "send its events from your server with log_event"
              },
              "name": "Server"
            },
            {
              "event_source_id": "server",
              "action": "failed",
              "errors": [
                {
                  "code": "INVALID_REQUEST",
                  "message": "the same source stands in the request twice",
                  "recovery": "correctable",
                  "field": "event_sources[2].event_source_id",
                  "suggestion": "correct what field and issues name and send again"
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # what is there
        {
          "status": "completed",
          "message": "each event source has its own result",
          "event_sources": [
            {
              "event_source_id": "pixel",
              "action": "unchanged",
              "managed_by": "buyer",
              "setup": {
                "snippet_type": "server_only",
                "instructions": "send its events from your server with log_event"
              },
              "name": "Pixel",
              "event_types": [
                "purchase"
              ]
            },
            {
              "event_source_id": "server",
              "action": "unchanged",
              "managed_by": "buyer",
              "setup": {
                "snippet_type": "server_only",
                "instructions": "send its events from your server with log_event"
              },
              "name": "Server"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # taken
        {
          "status": "completed",
          "message": "the events were taken",
          "events_received": 2,
          "events_processed": 2,
          "replayed": false,
          "adcp_version": "3.1"
        }
        # known, and new
        {
          "status": "completed",
          "message": "the events were taken",
          "events_received": 2,
          "events_processed": 1,
          "warnings": [
            "1 of the events were known already, and count once"
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # the same of another source
        {
          "status": "completed",
          "message": "the events were taken",
          "events_received": 1,
          "events_processed": 1,
          "replayed": false,
          "adcp_version": "3.1"
        }
        # what the source cannot have
        {
          "status": "completed",
          "message": "the events were taken",
          "events_received": 2,
          "events_processed": 0,
          "partial_failures": [
            {
              "event_id": "e4",
              "code": "INVALID_REQUEST",
              "message": "the source has no events of this type; sync_event_sources says which"
            },
            {
              "event_id": "e5",
              "code": "INVALID_REQUEST",
              "message": "event_source_url is on none of the source's allowed_domains"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # after a rehearsal it is new
        {
          "status": "completed",
          "message": "the events were taken",
          "events_received": 1,
          "events_processed": 1,
          "replayed": false,
          "adcp_version": "3.1"
        }
        # no such source
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
        # no list
        {
          "status": "failed",
          "message": "delete_missing without event_sources would remove every source; name those that stay",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "delete_missing without event_sources would remove every source; name those that stay",
            "recovery": "correctable",
            "field": "delete_missing",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "delete_missing without event_sources would remove every source; name those that stay",
              "recovery": "correctable",
              "field": "delete_missing",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
        # one away
        {
          "status": "completed",
          "message": "each event source has its own result",
          "event_sources": [
            {
              "event_source_id": "pixel",
              "action": "unchanged",
              "managed_by": "buyer",
              "setup": {
                "snippet_type": "server_only",
                "instructions": "send its events from your server with log_event"
              },
              "name": "Pixel",
              "event_types": [
                "purchase"
              ]
            },
            {
              "event_source_id": "server",
              "action": "deleted"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
    "##]]);
}
