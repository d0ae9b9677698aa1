//! Creatives that name one of AdCP's own kinds of formats (`format_kind`) in place of a format of the seller.

use expect_test::expect;
use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};

use crate::support::script::Script;

/// A picture of a size, in a place of that name.
fn picture(id: &str, place: &str, width: u32, height: u32) -> Value {
    json!({
        "creative_id": id,
        "name": format!("Picture {id}"),
        "format_kind": "image",
        "assets": {place: {
            "asset_type": "image", "url": "https://cdn.acmeoutdoor.example/a.png", "width": width,
            "height": height,
        }},
    })
}

#[test]
fn a_kind_stands_for_whichever_format_fits() {
    let mut script = Script::new();
    let creatives = json!([
        picture("first size", "image", 300, 250),
        picture("another size", "image", 728, 90),
        picture("the name of the kind", "image_main", 970, 250),
        picture("no such size", "image_main", 500, 500),
    ]);
    let lenient = json!({"creatives": creatives, "validation_mode": "lenient"});
    script.note("sent", AdcpTool::SyncCreatives, lenient);
    script.check(&expect![[r##"
        # sent
        {
          "status": "completed",
          "message": "each creative has its own result",
          "creatives": [
            {
              "creative_id": "first size",
              "action": "created",
              "status": "approved"
            },
            {
              "creative_id": "another size",
              "action": "created",
              "status": "approved"
            },
            {
              "creative_id": "the name of the kind",
              "action": "created",
              "status": "approved"
            },
            {
              "creative_id": "no such size",
              "action": "failed",
              "errors": [
                {
                  "code": "VALIDATION_ERROR",
                  "message": "the format takes no asset of this size",
                  "recovery": "correctable",
                  "field": "creatives[3].assets.image_main.width",
                  "suggestion": "correct the asset by what list_creative_formats shows"
                },
                {
                  "code": "VALIDATION_ERROR",
                  "message": "the format takes no asset of this size",
                  "recovery": "correctable",
                  "field": "creatives[3].assets.image_main.height",
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
fn a_product_demands_nothing_of_pictures_of_another_size() {
    let mut script = Script::new();
    let wide = json!({"agent_url": "https://ads.gazette.example", "id": "display_970x250"});
    let fixture = json!({
        "delivery_type": "guaranteed", "format_ids": [wide],
        "creative_policy": {"provenance_required": true},
    });
    script.seed_product("billboard", fixture);
    let creatives = [picture("small", "image", 300, 250), picture("wide", "image", 970, 250)];
    let lenient = json!({"creatives": creatives, "validation_mode": "lenient"});
    let answer = script.ask(AdcpTool::SyncCreatives, lenient);
    assert_eq!(answer["creatives"][0]["action"], "created", "{answer}");
    assert_eq!(answer["creatives"][1]["errors"][0]["code"], "PROVENANCE_REQUIRED", "{answer}");
}

#[test]
fn a_product_takes_a_kind_in_its_own_size() {
    let mut script = Script::new();
    let option = json!({
        "format_option_id": "half_page", "format_kind": "image",
        "params": {"width": 300, "height": 600},
    });
    let fixture = json!({"delivery_type": "guaranteed", "format_options": [option]});
    script.seed_product("half_page", fixture);
    let creatives = json!({"creatives": [picture("tall", "image_main", 300, 600)]});
    let answer = script.ask(AdcpTool::SyncCreatives, creatives);
    assert_eq!(answer["creatives"][0]["action"], "created", "{answer}");
}
