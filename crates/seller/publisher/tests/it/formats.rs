//! `list_creative_formats`.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::products::{fitting, gazette};
use crate::support::compare;

fn ids(arguments: Value) -> String {
    let document = fitting(&gazette(), AdcpTool::ListCreativeFormats, arguments);
    let formats = document["formats"].as_array().cloned().unwrap_or_default();
    let id = |format: &Value| format["format_id"]["id"].as_str().unwrap().to_owned();
    formats.iter().map(id).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_format_says_what_its_creatives_have_to_have() {
    let asked = json!({"name_search": "native"});
    compare(
        &gazette().ask(AdcpTool::ListCreativeFormats, asked),
        &expect![[r#"
            {
              "status": "completed",
              "message": "1 format fits",
              "formats": [
                {
                  "format_id": {
                    "id": "native_teaser",
                    "agent_url": "https://ads.gazette.example"
                  },
                  "name": "Native teaser",
                  "description": "A headline, a picture and a link in the look of the page.",
                  "renders": [
                    {
                      "role": "primary",
                      "dimensions": {
                        "min_width": 280,
                        "max_width": 640,
                        "unit": "px",
                        "responsive": {
                          "width": true,
                          "height": true
                        }
                      }
                    }
                  ],
                  "assets": [
                    {
                      "item_type": "individual",
                      "asset_id": "headline",
                      "asset_type": "text",
                      "required": true,
                      "requirements": {
                        "max_length": 80
                      }
                    },
                    {
                      "item_type": "individual",
                      "asset_id": "image",
                      "asset_type": "image",
                      "required": true,
                      "requirements": {
                        "formats": [
                          "jpg",
                          "png"
                        ]
                      }
                    },
                    {
                      "item_type": "individual",
                      "asset_id": "click_url",
                      "asset_type": "url",
                      "required": false
                    }
                  ],
                  "supported_disclosure_positions": [
                    "prominent"
                  ]
                }
              ],
              "pagination": {
                "has_more": false,
                "total_count": 1
              },
              "adcp_version": "3.1"
            }"#]],
    );
}

#[test]
fn filters_leave_out_formats_that_do_not_fit() {
    let agent = "https://ads.gazette.example";
    let all = "display_300x250 display_728x90 display_970x250 video_15s video_30s audio_30s \
               native_teaser";
    let table = [
        (json!({}), all),
        (json!({"type": "display"}), all),
        (json!({"format_ids": [{"agent_url": agent, "id": "video_15s"}]}), "video_15s"),
        (json!({"format_ids": [{"agent_url": "https://other.example", "id": "video_15s"}]}), ""),
        (json!({"asset_types": ["audio", "text"]}), "audio_30s native_teaser"),
        (json!({"max_width": 300}), "display_300x250"),
        (json!({"min_width": 900, "max_height": 250}), "display_970x250"),
        (json!({"is_responsive": true}), "native_teaser"),
        (json!({"name_search": "VIDEO"}), "video_15s video_30s"),
        (json!({"publisher_domain": "other.example"}), ""),
        (json!({"publisher_domain": "gazette.example", "is_responsive": true}), "native_teaser"),
        (json!({"disclosure_positions": ["overlay", "end_card"]}), "video_15s video_30s"),
        (json!({"wcag_level": "A"}), ""),
    ];
    for (arguments, expected) in table {
        assert_eq!(ids(arguments.clone()), expected, "{arguments}");
    }
}

#[test]
fn every_format_that_a_product_names_is_listed() {
    let harness = gazette();
    let products = fitting(&harness, AdcpTool::GetProducts, json!({"buying_mode": "wholesale"}));
    for product in products["products"].as_array().unwrap() {
        for id in product["format_ids"].as_array().unwrap() {
            let asked = json!({"format_ids": [id], "pagination": {"max_results": 1}});
            let document = fitting(&harness, AdcpTool::ListCreativeFormats, asked);
            assert_eq!(document["formats"][0]["format_id"], *id);
        }
    }
}

#[test]
fn formats_come_page_by_page() {
    let harness = gazette();
    let asked = json!({"pagination": {"max_results": 5}});
    let first = fitting(&harness, AdcpTool::ListCreativeFormats, asked);
    let cursor = &first["pagination"]["cursor"];
    let asked = json!({"pagination": {"max_results": 5, "cursor": cursor}});
    let second = fitting(&harness, AdcpTool::ListCreativeFormats, asked);
    assert_eq!(second["formats"].as_array().unwrap().len(), 2);
    assert_eq!(second["pagination"], json!({"has_more": false, "total_count": 7}));
}
