//! Creatives of which more is said than that they are there: assignments, deadlines and reviews.

use super::*;

#[test]
fn what_cannot_be_assigned_is_told_why() {
    let mut script = Script::new();
    buy(&mut script);
    script.ask(AdcpTool::SyncCreatives, json!({"creatives": [banner("bad")]}));
    let force = json!({"creative_id": "bad", "status": "rejected", "rejection_reason": "Blurred."});
    let forced = json!({"scenario": "force_creative_status", "params": force});
    assert_eq!(script.ask(AdcpTool::ComplyTestController, forced)["success"], true);
    let assign = |creative: &str, package: &str| {
        json!({
            "creatives": [banner("good")],
            "assignments": [{"creative_id": creative, "package_id": package}],
        })
    };
    script.note("rejected", AdcpTool::SyncCreatives, assign("bad", "held"));
    script.note("too late", AdcpTool::SyncCreatives, assign("good", "late"));
    let both = json!({"creatives": [banner("good")], "assignments": [
        {"creative_id": "good", "package_id": "late"},
        {"creative_id": "good", "package_id": "nowhere"},
        {"creative_id": "good", "package_id": "held"},
    ]});
    script.note("every reason at once", AdcpTool::SyncCreatives, both);
    // A refusal has changed nothing: not even the creative is there.
    let left = script.ask(AdcpTool::ListCreatives, json!({"filters": {"creative_ids": ["good"]}}));
    assert_eq!(left["creatives"], json!([]));
    script.check(&expect![[r##"
        # rejected
        {
          "status": "failed",
          "message": "a creative that was rejected cannot be assigned; revise it first",
          "adcp_error": {
            "code": "CREATIVE_REJECTED",
            "message": "a creative that was rejected cannot be assigned; revise it first",
            "recovery": "correctable",
            "field": "assignments",
            "suggestion": "revise the creative according to the seller's advertising policies",
            "details": {
              "reasons": [
                "Blurred."
              ]
            }
          },
          "errors": [
            {
              "code": "CREATIVE_REJECTED",
              "message": "a creative that was rejected cannot be assigned; revise it first",
              "recovery": "correctable",
              "field": "assignments",
              "suggestion": "revise the creative according to the seller's advertising policies",
              "details": {
                "reasons": [
                  "Blurred."
                ]
              }
            }
          ],
          "adcp_version": "3.1"
        }
        # too late
        {
          "status": "failed",
          "message": "the deadline for creatives of a package has passed; get_media_buys shows it as creative_deadline",
          "adcp_error": {
            "code": "CREATIVE_DEADLINE_EXCEEDED",
            "message": "the deadline for creatives of a package has passed; get_media_buys shows it as creative_deadline",
            "recovery": "correctable",
            "field": "assignments",
            "suggestion": "negotiate a later deadline with the seller"
          },
          "errors": [
            {
              "code": "CREATIVE_DEADLINE_EXCEEDED",
              "message": "the deadline for creatives of a package has passed; get_media_buys shows it as creative_deadline",
              "recovery": "correctable",
              "field": "assignments",
              "suggestion": "negotiate a later deadline with the seller"
            }
          ],
          "adcp_version": "3.1"
        }
        # every reason at once
        {
          "status": "failed",
          "message": "the deadline for creatives of a package has passed; get_media_buys shows it as creative_deadline",
          "adcp_error": {
            "code": "CREATIVE_DEADLINE_EXCEEDED",
            "message": "the deadline for creatives of a package has passed; get_media_buys shows it as creative_deadline",
            "recovery": "correctable",
            "field": "assignments",
            "suggestion": "negotiate a later deadline with the seller"
          },
          "errors": [
            {
              "code": "CREATIVE_DEADLINE_EXCEEDED",
              "message": "the deadline for creatives of a package has passed; get_media_buys shows it as creative_deadline",
              "recovery": "correctable",
              "field": "assignments",
              "suggestion": "negotiate a later deadline with the seller"
            },
            {
              "code": "PACKAGE_NOT_FOUND",
              "message": "an identifier in the request does not resolve to anything of yours",
              "recovery": "correctable",
              "field": "assignments",
              "suggestion": "check package_id with get_media_buys"
            }
          ],
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn an_unlisted_text_is_told_what_the_format_lists() {
    let mut catalogue = demo::catalogue();
    let format = json!({
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "classified"},
        "name": "Classified",
        "assets": [
            {"item_type": "individual", "asset_id": "section", "asset_type": "text", "required": true,
             "requirements": {"allowed_values": ["cars", "homes"]}},
            {"item_type": "individual", "asset_id": "line", "asset_type": "text", "required": true,
             "requirements": {"max_length": 10}},
        ],
    });
    catalogue.formats.push(tradepost_document::json::from_value(format.clone()).unwrap());
    let mut script = Script::from_catalogue(catalogue);
    let text = |text: &str| json!({"asset_type": "text", "content": text});
    let ad = json!({
        "creative_id": "ad", "name": "An ad", "format_id": format["format_id"],
        "assets": {"section": text("pets"), "line": text("much too long a line")},
    });
    script.note("both", AdcpTool::SyncCreatives, json!({"creatives": [ad]}));
    script.check(&expect![[r##"
        # both
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "ad",
              "action": "failed",
              "errors": [
                {
                  "code": "CREATIVE_VALUE_NOT_ALLOWED",
                  "message": "the format lists the values that this asset can have; see details",
                  "recovery": "correctable",
                  "field": "creatives[0].assets.section.content",
                  "suggestion": "pick a value that the format lists",
                  "details": {
                    "allowed_values": [
                      "cars",
                      "homes"
                    ]
                  }
                },
                {
                  "code": "VALIDATION_ERROR",
                  "message": "the format takes no asset of this size",
                  "recovery": "correctable",
                  "field": "creatives[0].assets.line.content",
                  "suggestion": "correct the asset by what list_creative_formats shows"
                }
              ]
            }
          ],
          "replayed": false,
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn where_a_person_reviews_nothing_is_approved_by_itself() {
    let review = CreativePolicy { review: CreativeReview::Person, ..demo::catalogue().creatives };
    let mut script = Script::from_catalogue(demanding(review));
    script.ask(AdcpTool::SyncCreatives, json!({"creatives": [banner("one")]}));
    script.harness.now += SignedDuration::from_hours(24 * 365);
    let seen = script.ask(AdcpTool::ListCreatives, json!({}));
    assert_eq!(seen["creatives"][0]["status"], "pending_review");
}

#[test]
fn a_review_ends_when_its_time_has_come() {
    let review =
        CreativePolicy { review: CreativeReview::After(60), ..demo::catalogue().creatives };
    let mut script = Script::from_catalogue(demanding(review));
    let made = script.ask(AdcpTool::SyncCreatives, json!({"creatives": [banner("one")]}));
    assert_eq!(made["creatives"][0]["status"], "pending_review");
    let filter = json!({"filters": {"statuses": ["approved"]}});
    assert_eq!(script.ask(AdcpTool::ListCreatives, filter.clone())["creatives"], json!([]));
    script.harness.now += SignedDuration::from_secs(60);
    let seen = script.ask(AdcpTool::ListCreatives, filter);
    assert_eq!(seen["creatives"][0]["status"], "approved");
}

#[test]
fn a_library_is_searched_sorted_and_read_page_by_page() {
    let mut script = Script::new();
    for (id, tags) in [("a", vec!["x"]), ("b", vec!["x", "y"]), ("c", vec!["y"])] {
        script.ask(AdcpTool::SyncCreatives, json!({"creatives": [but(id, json!({"tags": tags}))]}));
        script.harness.now += SignedDuration::from_hours(1);
    }
    let table = [
        ("all", json!({}), "c b a"),
        ("the first made first", json!({"sort": {"direction": "asc"}}), "a b c"),
        ("by name", json!({"sort": {"field": "name"}}), "c b a"),
        ("all tags", json!({"filters": {"tags": ["x", "y"]}}), "b"),
        ("any tag", json!({"filters": {"tags_any": ["x"]}}), "b a"),
        ("part of the name", json!({"filters": {"name_contains": "BANNER C"}}), "c"),
        ("ids", json!({"filters": {"creative_ids": ["a", "nobody"]}}), "a"),
        ("later", json!({"filters": {"created_after": "2026-06-01T12:30:00Z"}}), "c b"),
        ("earlier", json!({"filters": {"updated_before": "2026-06-01T12:30:00Z"}}), "a"),
        ("assigned", json!({"filters": {"unassigned": false}}), ""),
        ("unassigned", json!({"filters": {"unassigned": true}}), "c b a"),
        ("rejected", json!({"filters": {"statuses": ["rejected"]}}), ""),
        ("another's account", json!({"filters": {"accounts": [{"account_id": "acc_9"}]}}), ""),
        ("varying", json!({"filters": {"has_variables": true}}), ""),
        ("a page", json!({"pagination": {"max_results": 2}}), "c b"),
    ];
    for (title, request, expected) in table {
        let answer = script.ask(AdcpTool::ListCreatives, request);
        let ids: Vec<&str> = answer["creatives"]
            .as_array()
            .unwrap_or_else(|| panic!("{title}: {answer}"))
            .iter()
            .map(|creative| creative["creative_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids.join(" "), expected, "{title}");
    }
    let page = script.ask(AdcpTool::ListCreatives, json!({"pagination": {"max_results": 2}}));
    let cursor = page["pagination"]["cursor"].clone();
    script.note(
        "the rest",
        AdcpTool::ListCreatives,
        json!({
            "pagination": {"max_results": 2, "cursor": cursor}, "fields": ["creative_id"],
        }),
    );
    script.note(
        "a cursor of nobody's",
        AdcpTool::ListCreatives,
        json!({
            "pagination": {"cursor": "elsewhere"},
        }),
    );
    script.note(
        "what nobody counts",
        AdcpTool::ListCreatives,
        json!({"filters": {"has_served": true}}),
    );
    script.note_as("nova", "another's library", AdcpTool::ListCreatives, json!({}));
    script.check(&expect![[r##"
        # the rest
        {
          "status": "completed",
          "message": "the creatives that fit",
          "query_summary": {
            "total_matching": 3,
            "returned": 1,
            "filters_applied": [],
            "sort_applied": {
              "field": "created_date",
              "direction": "desc"
            }
          },
          "pagination": {
            "has_more": false,
            "total_count": 3
          },
          "creatives": [
            {
              "creative_id": "a",
              "name": "Banner a",
              "format_id": {
                "agent_url": "https://ads.gazette.example",
                "id": "display_300x250"
              },
              "status": "approved",
              "created_date": "2026-06-01T12:00:00Z",
              "updated_date": "2026-06-01T12:00:00Z"
            }
          ],
          "status_summary": {
            "approved": 3
          },
          "format_summary": {
            "display_300x250": 3
          },
          "adcp_version": "3.1"
        }
        # a cursor of nobody's
        {
          "status": "failed",
          "message": "this cursor is none of this list; begin without one",
          "adcp_error": {
            "code": "INVALID_REQUEST",
            "message": "this cursor is none of this list; begin without one",
            "recovery": "correctable",
            "field": "pagination.cursor",
            "suggestion": "correct what field and issues name and send again"
          },
          "errors": [
            {
              "code": "INVALID_REQUEST",
              "message": "this cursor is none of this list; begin without one",
              "recovery": "correctable",
              "field": "pagination.cursor",
              "suggestion": "correct what field and issues name and send again"
            }
          ],
          "adcp_version": "3.1"
        }
        # what nobody counts
        {
          "status": "failed",
          "message": "this seller does not count what each creative has served",
          "adcp_error": {
            "code": "UNSUPPORTED_FEATURE",
            "message": "this seller does not count what each creative has served",
            "recovery": "correctable",
            "field": "filters.has_served",
            "suggestion": "read get_adcp_capabilities and leave out what is not supported"
          },
          "errors": [
            {
              "code": "UNSUPPORTED_FEATURE",
              "message": "this seller does not count what each creative has served",
              "recovery": "correctable",
              "field": "filters.has_served",
              "suggestion": "read get_adcp_capabilities and leave out what is not supported"
            }
          ],
          "adcp_version": "3.1"
        }
        # another's library
        {
          "status": "completed",
          "message": "the creatives that fit",
          "query_summary": {
            "total_matching": 0,
            "returned": 0,
            "filters_applied": [],
            "sort_applied": {
              "field": "created_date",
              "direction": "desc"
            }
          },
          "pagination": {
            "has_more": false,
            "total_count": 0
          },
          "creatives": [],
          "status_summary": {},
          "format_summary": {},
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn an_assignment_has_the_moment_at_which_it_was_made() {
    let mut script = Script::new();
    buy(&mut script);
    let mut sync = |creative: Value| {
        let assignments = json!([{"creative_id": "new", "package_id": "held"}]);
        let request = json!({"creatives": [creative], "assignments": assignments});
        let answer = script.ask(AdcpTool::SyncCreatives, request);
        let listed =
            script.ask(AdcpTool::ListCreatives, json!({"filters": {"creative_ids": ["new"]}}));
        script.harness.now += SignedDuration::from_hours(1);
        let moment = &listed["creatives"][0]["assignments"]["assigned_packages"][0];
        format!("{} {}", answer["creatives"][0]["action"], moment["assigned_date"])
    };
    let renamed = but("new", json!({"name": "New name"}));
    assert_eq!(sync(banner("new")), r#""created" "2026-06-01T12:00:00Z""#);
    assert_eq!(sync(banner("new")), r#""unchanged" "2026-06-01T12:00:00Z""#);
    assert_eq!(sync(renamed), r#""updated" "2026-06-01T12:00:00Z""#);
}
