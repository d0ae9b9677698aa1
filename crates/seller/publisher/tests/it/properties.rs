//! Property lists.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::support::script::Script;

#[test]
fn a_property_list_is_made_read_changed_and_deleted() {
    let mut script = Script::new();
    let made = script.note("made", AdcpTool::CreatePropertyList, json!({
        "name": "Quality news",
        "base_properties": [
            {"selection_type": "identifiers", "identifiers": [
                {"type": "domain", "value": "a.example"},
                {"type": "domain", "value": "b.example"},
                {"type": "domain", "value": "a.example"},
            ]},
            {"selection_type": "publisher_tags", "publisher_domain": "gazette.example", "tags": ["news"]},
        ],
        "filters": {"exclude_identifiers": [{"type": "domain", "value": "b.example"}]},
    }));
    let id = made["list"]["list_id"].clone();
    script.note(
        "read",
        AdcpTool::GetPropertyList,
        json!({"list_id": id, "pagination": {"max_results": 1}}),
    );
    script.note(
        "not resolved",
        AdcpTool::GetPropertyList,
        json!({"list_id": id, "resolve": false}),
    );
    script.note(
        "changed",
        AdcpTool::UpdatePropertyList,
        json!({
            "list_id": id, "name": "All news", "filters": {}, "webhook_url": "",
        }),
    );
    script.note("found by its name", AdcpTool::ListPropertyLists, json!({"name_contains": "ALL"}));
    script.note(
        "a filter that cannot be applied",
        AdcpTool::UpdatePropertyList,
        json!({
            "list_id": id, "filters": {"countries_all": ["US"], "channels_any": ["display"]},
        "webhook_url": "https://acme.example/hook",
        }),
    );
    script.note_as("nova", "another's lists", AdcpTool::ListPropertyLists, json!({}));
    script.note("deleted", AdcpTool::DeletePropertyList, json!({"list_id": id}));
    script.check(&expect![[r##"
        # made
        {
          "status": "completed",
          "message": "the property list is there",
          "list": {
            "name": "Quality news",
            "base_properties": [
              {
                "selection_type": "identifiers",
                "identifiers": [
                  {
                    "type": "domain",
                    "value": "a.example"
                  },
                  {
                    "type": "domain",
                    "value": "b.example"
                  },
                  {
                    "type": "domain",
                    "value": "a.example"
                  }
                ]
              },
              {
                "selection_type": "publisher_tags",
                "publisher_domain": "gazette.example",
                "tags": [
                  "news"
                ]
              }
            ],
            "filters": {
              "exclude_identifiers": [
                {
                  "type": "domain",
                  "value": "b.example"
                }
              ]
            },
            "list_id": "pl_2",
            "property_count": 2,
            "created_at": "2026-06-01T12:00:00Z",
            "updated_at": "2026-06-01T12:00:00Z",
            "account": {
              "account_id": "acc_1"
            }
          },
          "auth_token": "plt_3",
          "replayed": false,
          "adcp_version": "3.1"
        }
        # read
        {
          "status": "completed",
          "message": "the property list",
          "list": {
            "name": "Quality news",
            "base_properties": [
              {
                "selection_type": "identifiers",
                "identifiers": [
                  {
                    "type": "domain",
                    "value": "a.example"
                  },
                  {
                    "type": "domain",
                    "value": "b.example"
                  },
                  {
                    "type": "domain",
                    "value": "a.example"
                  }
                ]
              },
              {
                "selection_type": "publisher_tags",
                "publisher_domain": "gazette.example",
                "tags": [
                  "news"
                ]
              }
            ],
            "filters": {
              "exclude_identifiers": [
                {
                  "type": "domain",
                  "value": "b.example"
                }
              ]
            },
            "list_id": "pl_2",
            "property_count": 2,
            "created_at": "2026-06-01T12:00:00Z",
            "updated_at": "2026-06-01T12:00:00Z",
            "account": {
              "account_id": "acc_1"
            }
          },
          "identifiers": [
            {
              "type": "domain",
              "value": "a.example"
            }
          ],
          "pagination": {
            "has_more": true,
            "total_count": 2,
            "cursor": "5ca137b6d8804a55.1"
          },
          "resolved_at": "2026-06-01T12:00:00Z",
          "cache_valid_until": "2026-06-02T12:00:00Z",
          "adcp_version": "3.1"
        }
        # not resolved
        {
          "status": "completed",
          "message": "the property list",
          "list": {
            "name": "Quality news",
            "base_properties": [
              {
                "selection_type": "identifiers",
                "identifiers": [
                  {
                    "type": "domain",
                    "value": "a.example"
                  },
                  {
                    "type": "domain",
                    "value": "b.example"
                  },
                  {
                    "type": "domain",
                    "value": "a.example"
                  }
                ]
              },
              {
                "selection_type": "publisher_tags",
                "publisher_domain": "gazette.example",
                "tags": [
                  "news"
                ]
              }
            ],
            "filters": {
              "exclude_identifiers": [
                {
                  "type": "domain",
                  "value": "b.example"
                }
              ]
            },
            "list_id": "pl_2",
            "property_count": 2,
            "created_at": "2026-06-01T12:00:00Z",
            "updated_at": "2026-06-01T12:00:00Z",
            "account": {
              "account_id": "acc_1"
            }
          },
          "adcp_version": "3.1"
        }
        # changed
        {
          "status": "failed",
          "message": "The arguments have 1 problem; correct it and send the request again.",
          "adcp_error": {
            "code": "VALIDATION_ERROR",
            "message": "The arguments have 1 problem; correct it and send the request again.",
            "recovery": "correctable",
            "field": "webhook_url",
            "suggestion": "correct every entry of issues and send again",
            "issues": [
              {
                "pointer": "/webhook_url",
                "message": "must be an absolute URI, such as https://example.com/",
                "keyword": "format"
              }
            ]
          },
          "errors": [
            {
              "code": "VALIDATION_ERROR",
              "message": "The arguments have 1 problem; correct it and send the request again.",
              "recovery": "correctable",
              "field": "webhook_url",
              "suggestion": "correct every entry of issues and send again",
              "issues": [
                {
                  "pointer": "/webhook_url",
                  "message": "must be an absolute URI, such as https://example.com/",
                  "keyword": "format"
                }
              ]
            }
          ],
          "adcp_version": "3.1"
        }
        # found by its name
        {
          "status": "completed",
          "message": "the property lists",
          "lists": [],
          "pagination": {
            "has_more": false,
            "total_count": 0
          },
          "adcp_version": "3.1"
        }
        # a filter that cannot be applied
        {
          "status": "failed",
          "message": "this seller knows properties by their identifiers alone and cannot apply this filter; exclude_identifiers it can",
          "adcp_error": {
            "code": "UNSUPPORTED_FEATURE",
            "message": "this seller knows properties by their identifiers alone and cannot apply this filter; exclude_identifiers it can",
            "recovery": "correctable",
            "field": "filters.countries_all",
            "suggestion": "leave this filter out"
          },
          "errors": [
            {
              "code": "UNSUPPORTED_FEATURE",
              "message": "this seller knows properties by their identifiers alone and cannot apply this filter; exclude_identifiers it can",
              "recovery": "correctable",
              "field": "filters.countries_all",
              "suggestion": "leave this filter out"
            },
            {
              "code": "UNSUPPORTED_FEATURE",
              "message": "this seller knows properties by their identifiers alone and cannot apply this filter; exclude_identifiers it can",
              "recovery": "correctable",
              "field": "filters.channels_any",
              "suggestion": "leave this filter out"
            },
            {
              "code": "UNSUPPORTED_FEATURE",
              "message": "this seller does not announce changes of property lists",
              "recovery": "correctable",
              "field": "webhook_url",
              "suggestion": "leave it out, and read the list again when it is needed"
            }
          ],
          "adcp_version": "3.1"
        }
        # another's lists
        {
          "status": "completed",
          "message": "the property lists",
          "lists": [],
          "pagination": {
            "has_more": false,
            "total_count": 0
          },
          "adcp_version": "3.1"
        }
        # deleted
        {
          "status": "completed",
          "message": "the property list is gone",
          "deleted": true,
          "list_id": "pl_2",
          "replayed": false,
          "adcp_version": "3.1"
        }
    "##]]);
}

#[test]
fn an_absent_list_and_anothers_list_are_one_answer() {
    let mut script = Script::new();
    let made = script.ask(AdcpTool::CreatePropertyList, json!({"name": "Mine"}));
    let id = made["list"]["list_id"].clone();
    let tools = [
        (AdcpTool::GetPropertyList, json!({})),
        (AdcpTool::UpdatePropertyList, json!({"name": "Theirs"})),
        (AdcpTool::DeletePropertyList, json!({})),
    ];
    for (tool, mut arguments) in tools {
        arguments["list_id"] = id.clone();
        let of_other_caller = script.ask_as("nova", tool, arguments.clone());
        arguments["list_id"] = json!("pl_nowhere");
        let not_found = script.note_as("nova", &tool.to_string(), tool, arguments);
        assert_eq!(of_other_caller, not_found);
    }
    script.check(&expect![[r##"
        # get_property_list
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
        # update_property_list
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
        # delete_property_list
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
    "##]]);
}

#[test]
fn delivery_is_held_against_a_list() {
    let mut script = Script::new();
    let script = &mut script;
    let identifier = |value: &str| json!({"type": "domain", "value": value});
    let made = script.ask(
        AdcpTool::CreatePropertyList,
        json!({"name": "Good ones", "filters": {"exclude_identifiers": [identifier("bad.example")]},
            "base_properties": [{"selection_type": "identifiers", "identifiers":
                [identifier("trails.example"), identifier("bad.example"), {"type": "android_package", "value": "app.trails"}]}]}),
    );
    let all = script.ask(AdcpTool::CreatePropertyList, json!({"name": "All"}));
    let record =
        |value: Value, impressions: u64| json!({"identifier": value, "impressions": impressions});
    let mut sold = record(identifier("elsewhere.example"), 7);
    sold["record_id"] = json!("row-3");
    sold["sales_agent_url"] = json!("https://seller.example");
    let records = json!([
        record(identifier("WWW.Trails.example"), 5),
        record(json!({"type": "android_package", "value": "app.trails"}), 6),
        sold,
        record(identifier("m.bad.example"), 8),
    ]);
    let validate = AdcpTool::ValidatePropertyDelivery;
    script.note(
        "some outside",
        validate,
        json!({"list_id": made["list"]["list_id"], "records": records}),
    );
    script.note(
        "all inside",
        validate,
        json!({"list_id": made["list"]["list_id"], "include_compliant": true,
            "records": [record(identifier("trails.example"), 5)]}),
    );
    let unknown =
        json!({"list_id": all["list"]["list_id"], "records": [record(identifier("a.example"), 1)]});
    script.note("a list of everything", validate, unknown);
    script.check(&expect![[r##"
        # some outside
        {
          "status": "completed",
          "message": "how the delivery stands to the list",
          "compliant": false,
          "list_id": "pl_2",
          "summary": {
            "total_records": 4,
            "total_impressions": 26,
            "compliant_records": 2,
            "compliant_impressions": 11,
            "non_compliant_records": 2,
            "non_compliant_impressions": 15,
            "not_covered_records": 0,
            "not_covered_impressions": 0,
            "unidentified_records": 0,
            "unidentified_impressions": 0
          },
          "authorization_summary": {
            "records_checked": 1,
            "impressions_checked": 7,
            "authorized_records": 0,
            "authorized_impressions": 0,
            "unauthorized_records": 0,
            "unauthorized_impressions": 0,
            "unknown_records": 1,
            "unknown_impressions": 7
          },
          "results": [
            {
              "identifier": {
                "type": "domain",
                "value": "elsewhere.example"
              },
              "record_id": "row-3",
              "status": "non_compliant",
              "impressions": 7,
              "features": [
                {
                  "feature_id": "record:list_membership",
                  "status": "failed",
                  "explanation": "the identifier is not in the list"
                }
              ],
              "authorization": {
                "status": "unknown",
                "sales_agent_url": "https://seller.example"
              }
            },
            {
              "identifier": {
                "type": "domain",
                "value": "m.bad.example"
              },
              "status": "non_compliant",
              "impressions": 8,
              "features": [
                {
                  "feature_id": "record:excluded",
                  "status": "failed",
                  "explanation": "the list excludes the identifier"
                }
              ]
            }
          ],
          "validated_at": "2026-06-01T12:00:00Z",
          "list_resolved_at": "2026-06-01T12:00:00Z",
          "adcp_version": "3.1"
        }
        # all inside
        {
          "status": "completed",
          "message": "how the delivery stands to the list",
          "compliant": true,
          "list_id": "pl_2",
          "summary": {
            "total_records": 1,
            "total_impressions": 5,
            "compliant_records": 1,
            "compliant_impressions": 5,
            "non_compliant_records": 0,
            "non_compliant_impressions": 0,
            "not_covered_records": 0,
            "not_covered_impressions": 0,
            "unidentified_records": 0,
            "unidentified_impressions": 0
          },
          "results": [
            {
              "identifier": {
                "type": "domain",
                "value": "trails.example"
              },
              "status": "compliant",
              "impressions": 5
            }
          ],
          "validated_at": "2026-06-01T12:00:00Z",
          "list_resolved_at": "2026-06-01T12:00:00Z",
          "adcp_version": "3.1"
        }
        # a list of everything
        {
          "status": "completed",
          "message": "how the delivery stands to the list",
          "compliant": true,
          "list_id": "pl_4",
          "summary": {
            "total_records": 1,
            "total_impressions": 1,
            "compliant_records": 0,
            "compliant_impressions": 0,
            "non_compliant_records": 0,
            "non_compliant_impressions": 0,
            "not_covered_records": 1,
            "not_covered_impressions": 1,
            "unidentified_records": 0,
            "unidentified_impressions": 0
          },
          "results": [
            {
              "identifier": {
                "type": "domain",
                "value": "a.example"
              },
              "status": "not_covered",
              "impressions": 1
            }
          ],
          "validated_at": "2026-06-01T12:00:00Z",
          "list_resolved_at": "2026-06-01T12:00:00Z",
          "adcp_version": "3.1"
        }
    "##]]);
}
