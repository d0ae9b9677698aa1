//! `sync_audiences`.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::audience::AudienceTerms;
use tradepost_publisher::catalogue::Catalogue;

use crate::support::script::Script;

fn members(ids: &[u32]) -> Value {
    ids.iter()
        .map(|id| json!({"external_id": format!("crm-{id}"), "hashed_email": format!("{id:064}")}))
        .collect()
}

#[test]
fn an_audience_grows_shrinks_and_goes() {
    let audiences = AudienceTerms { minimum_size: 2, processing_seconds: 60 };
    let mut script = Script::from_catalogue(Catalogue { audiences, ..Catalogue::default() });
    let sync = AdcpTool::SyncAudiences;
    let one = |members: Value| {
        let mut audience = json!({"audience_id": "loyal", "name": "Loyal"});
        audience.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        json!({"audiences": [audience]})
    };
    script.note("made", sync, one(json!({"add": members(&[1, 2, 3])})));
    script.harness.now += SignedDuration::from_secs(60);
    script.note("what is there", sync, json!({}));
    script.note("known members", sync, one(json!({"add": members(&[1])})));
    script.note(
        "in both lists",
        sync,
        one(json!({"add": members(&[4]), "remove": members(&[2, 3, 4])})),
    );
    script.harness.now += SignedDuration::from_secs(60);
    script.note("too small", sync, json!({}));
    script.note(
        "what cannot be",
        sync,
        json!({"audiences": [
            {"audience_id": "nobody", "delete": true},
            {"audience_id": "loyal", "name": "Loyal"},
            {"audience_id": "loyal"},
        ]}),
    );
    script.note_as("nova", "another's", sync, json!({}));
    script.note(
        "all others away",
        sync,
        json!({
            "audiences": [{"audience_id": "new"}], "delete_missing": true,
        }),
    );
    script.check(&expect![[r##"
        # made
        {
          "status": "completed",
          "message": "each audience has its own result",
          "audiences": [
            {
              "audience_id": "loyal",
              "action": "created",
              "status": "processing",
              "uploaded_count": 3,
              "total_uploaded_count": 3,
              "last_synced_at": "2026-06-01T12:00:00Z",
              "name": "Loyal"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # what is there
        {
          "status": "completed",
          "message": "each audience has its own result",
          "audiences": [
            {
              "audience_id": "loyal",
              "action": "unchanged",
              "status": "ready",
              "uploaded_count": 0,
              "total_uploaded_count": 3,
              "last_synced_at": "2026-06-01T12:00:00Z",
              "name": "Loyal",
              "matched_count": 3
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # known members
        {
          "status": "completed",
          "message": "each audience has its own result",
          "audiences": [
            {
              "audience_id": "loyal",
              "action": "unchanged",
              "status": "ready",
              "uploaded_count": 1,
              "total_uploaded_count": 4,
              "last_synced_at": "2026-06-01T12:01:00Z",
              "name": "Loyal",
              "matched_count": 3
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # in both lists
        {
          "status": "completed",
          "message": "each audience has its own result",
          "audiences": [
            {
              "audience_id": "loyal",
              "action": "updated",
              "status": "processing",
              "uploaded_count": 1,
              "total_uploaded_count": 5,
              "last_synced_at": "2026-06-01T12:01:00Z",
              "name": "Loyal"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # too small
        {
          "status": "completed",
          "message": "each audience has its own result",
          "audiences": [
            {
              "audience_id": "loyal",
              "action": "unchanged",
              "status": "too_small",
              "uploaded_count": 0,
              "total_uploaded_count": 5,
              "last_synced_at": "2026-06-01T12:01:00Z",
              "name": "Loyal",
              "minimum_size": 2
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # what cannot be
        {
          "status": "completed",
          "message": "each audience has its own result",
          "audiences": [
            {
              "audience_id": "nobody",
              "action": "failed",
              "errors": [
                {
                  "code": "REFERENCE_NOT_FOUND",
                  "message": "an identifier in the request does not resolve to anything of yours",
                  "recovery": "correctable",
                  "suggestion": "check the identifier with the task that lists such entities"
                }
              ]
            },
            {
              "audience_id": "loyal",
              "action": "unchanged",
              "status": "too_small",
              "uploaded_count": 0,
              "total_uploaded_count": 5,
              "last_synced_at": "2026-06-01T12:02:00Z",
              "name": "Loyal",
              "minimum_size": 2
            },
            {
              "audience_id": "loyal",
              "action": "failed",
              "errors": [
                {
                  "code": "INVALID_REQUEST",
                  "message": "the same audience stands in the request twice",
                  "recovery": "correctable",
                  "field": "audiences[2].audience_id",
                  "suggestion": "correct what field and issues name and send again"
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # another's
        {
          "status": "completed",
          "message": "each audience has its own result",
          "audiences": [],
          "replayed": false,
          "adcp_version": "3.1"
        }
        # all others away
        {
          "status": "completed",
          "message": "each audience has its own result",
          "audiences": [
            {
              "audience_id": "new",
              "action": "created",
              "status": "processing",
              "uploaded_count": 0,
              "total_uploaded_count": 0,
              "last_synced_at": "2026-06-01T12:02:00Z"
            },
            {
              "audience_id": "loyal",
              "action": "deleted"
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
    "##]]);
}
