//! `tradepost publisher catalogue import`.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;

use expect_test::expect;
use tradepost_document::json::{self, Value};

use super::{CONFIG, TABLE, command, run, text};

const IMPORT: &[&str] = &["publisher", "catalogue", "import"];

fn imported(more: &[&str]) -> Vec<String> {
    IMPORT.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn with(folder: &std::path::Path, more: &[&str]) -> std::process::Output {
    let words = imported(more);
    run(folder, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tradepost.toml"), CONFIG).unwrap();
    fs::write(folder.path().join("products.csv"), TABLE).unwrap();
    folder
}

#[test]
fn a_table_becomes_a_catalogue_that_the_configuration_names() {
    let folder = folder_with_files();
    let place = folder.path().canonicalize().unwrap().display().to_string();
    let output = with(folder.path(), &["products.csv", "--explain", "--into", "tradepost.toml"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    expect![[r#"
        FIELD        FROM COLUMN   FILLED  FIRST
        product_id   Product ID    2 of 2  news
        name         Product name  2 of 2  News display
        description  Description   2 of 2  Banners on the news pages.
        formats      Sizes         2 of 2  300x250
        property     Section       2 of 2  news
        rate         CPM           2 of 2  12
        currency     Currency      2 of 2  USD
        no column: channel, delivery_type, pricing_model, floor, minimum_spend, impressions_per_day, available_impressions, countries, keywords, approval, exclusive, sold_out, expires_at, price_id, ad_server_inventory

        ROW  PRODUCT  FORMATS                        CHANNEL  DELIVERY    PRICES
        2    news     display_300x250                display  guaranteed  12 USD cpm
        3    sports   display_728x90, native_teaser  display  guaranteed  15 USD cpm

        added: news, sports
        new formats: display_300x250, display_728x90, native_teaser
        wrote FOLDER/catalogue.json
        wrote tradepost.toml: catalogue = "FOLDER/catalogue.json"
    "#]].assert_eq(&text(&output.stdout).replace(&place, "FOLDER"));
    let config = fs::read_to_string(folder.path().join("tradepost.toml")).unwrap();
    let key = format!("# never change\ncatalogue = \"{place}/catalogue.json\"\n");
    let named = CONFIG.replace("# never change\n", &key);
    assert_eq!(config, named, "one line more, and nothing else is touched");
    let checked = run(folder.path(), &["check-config"]);
    assert!(
        text(&checked.stdout).contains("publisher gazette (The Gazette): 2 products"),
        "{checked:?}"
    );
    let catalogue = fs::read(folder.path().join("catalogue.json")).unwrap();
    let catalogue: Value = json::from_slice(&catalogue).unwrap();
    assert_eq!(catalogue["agent_url"], "https://ads.gazette.example");
    expect![[r#"
        {
          "product_id": "news",
          "name": "News display",
          "description": "Banners on the news pages.",
          "publisher_properties": [
            {
              "publisher_domain": "gazette.example",
              "selection_type": "by_tag",
              "property_tags": [
                "news"
              ]
            }
          ],
          "format_ids": [
            {
              "id": "display_300x250"
            }
          ],
          "pricing_options": [
            {
              "pricing_option_id": "cpm_fixed",
              "pricing_model": "cpm",
              "currency": "USD",
              "fixed_price": 12
            }
          ],
          "channels": [
            "display"
          ],
          "reporting_capabilities": {
            "available_reporting_frequencies": [
              "daily"
            ],
            "expected_delay_minutes": 240,
            "timezone": "UTC",
            "supports_webhooks": false,
            "available_metrics": [
              "impressions",
              "spend",
              "clicks"
            ],
            "date_range_support": "date_range"
          },
          "delivery_type": "guaranteed"
        }
    "#]]
    .assert_eq(&format!("{:#}\n", catalogue["products"][0]));

    let again = with(folder.path(), &["products.csv", "--into", "tradepost.toml", "--json"]);
    let again: Value = json::from_slice(&again.stdout).unwrap();
    expect![[r#"
        {
          "catalogue": "FOLDER/catalogue.json",
          "written": true,
          "added": [],
          "changed": [],
          "unchanged": [
            "news",
            "sports"
          ],
          "kept": [],
          "removed": [],
          "formats": [],
          "config": null
        }
    "#]]
    .assert_eq(&format!("{again:#}\n").replace(&place, "FOLDER"));
}

#[test]
fn the_catalogue_is_found_from_every_folder() {
    let folder = folder_with_files();
    let elsewhere = tempfile::tempdir().unwrap();
    let config = folder.path().join("tradepost.toml").display().to_string();
    let table = folder.path().join("products.csv").display().to_string();
    let output = with(elsewhere.path(), &[&table, "--into", &config]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let checked = run(folder.path(), &["check-config"]);
    assert!(text(&checked.stdout).contains("2 products"), "{checked:?}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);

    // A relative path of the author's begins at the working directory.
    let relative = CONFIG.replace("# never change\n", "\ncatalogue = \"catalogue.json\"\n");
    fs::write(&config, relative).unwrap();
    let output = with(elsewhere.path(), &[&table, "--into", &config]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("beside the configuration") && said.contains("hint: "), "{said}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    let output = with(folder.path(), &[&table, "--into", &config]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Only the administrator can give a file away; without that there is nothing to test.
#[test]
fn a_replaced_file_keeps_its_owner_or_stays() {
    const SOMEBODY: u32 = 12_345;
    let folder = folder_with_files();
    let path = |name: &str| folder.path().join(name);
    let own = |name: &str, id: u32| chown(path(name), Some(id), Some(id));
    if own("tradepost.toml", SOMEBODY).is_err() {
        return;
    }
    let output = with(folder.path(), &["products.csv", "--into", "tradepost.toml"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let owner = fs::metadata(path("tradepost.toml")).unwrap();
    assert_eq!((owner.uid(), owner.gid()), (SOMEBODY, SOMEBODY));

    // Somebody else cannot, and nothing is left of the attempt.
    fs::write(path("tradepost.toml"), CONFIG).unwrap();
    fs::remove_file(path("catalogue.json")).unwrap();
    own("tradepost.toml", 0).unwrap();
    own("", SOMEBODY).unwrap();
    let words = imported(&["products.csv", "--into", "tradepost.toml"]);
    let mut other = command(folder.path(), &words.iter().map(String::as_str).collect::<Vec<_>>());
    let output = other.uid(SOMEBODY).gid(SOMEBODY).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("for its owner and group"), "{output:?}");
    assert_eq!(fs::read_to_string(path("tradepost.toml")).unwrap(), CONFIG);
    assert!(!path("catalogue.json").exists(), "a catalogue that nothing names");
}

#[test]
fn bad_input_changes_nothing_and_lists_every_problem() {
    let folder = folder_with_files();
    fs::write(
        folder.path().join("bad.csv"),
        TABLE.replace("12", "twelve").replace("native", "hologram"),
    )
    .unwrap();
    let names = ["bad.csv", "products.csv", "tradepost.toml"];
    for more in [&["--json"][..], &[]] {
        let arguments = [&["bad.csv", "--into", "tradepost.toml"], more].concat();
        let output = with(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        if more.is_empty() {
            expect![[r#"
                error: the table has 2 problems; nothing was changed
                  row 2, column "CPM": "twelve" is no amount; write a number such as 12.50
                  row 3, column "Sizes": the format "hologram" is not known; write a size such as 300x250, video 30s, audio 15s, native, or the id of a format of the catalogue
                hint: correct the cells and import the file again; --explain shows what each column was taken for
            "#]].assert_eq(&text(&output.stderr));
        } else {
            let said: Value = json::from_slice(&output.stdout).unwrap();
            assert_eq!(said["error"]["code"], "table_mistakes");
            assert_eq!(said["error"]["problems"].as_array().map(Vec::len), Some(2), "{said}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("tradepost.toml")).unwrap(), CONFIG);
        let mut found: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        found.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
        let found: Vec<_> = found.into_iter().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(found, names);
    }
}

#[test]
fn a_table_is_tried_without_a_configuration() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("products.csv"), TABLE).unwrap();
    let output = with(folder.path(), &["products.csv"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stdout), "2 products without a problem: news, sports\n");
    assert!(text(&output.stderr).contains("nothing was written"), "{output:?}");
    let template = with(folder.path(), &["--template"]);
    fs::write(folder.path().join("template.csv"), &template.stdout).unwrap();
    let output = with(folder.path(), &["template.csv"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_configuration_that_cannot_be_changed_is_left_to_its_author() {
    let folder = folder_with_files();
    for (config, expected) in [
        (CONFIG.replace("[[publishers]]", "[[dealers]]"), "tradepost.toml has"),
        (CONFIG.replace("id = \"gazette\"", "id = \"gazette\"\nsandbox = 1"), "tradepost.toml has 1 mistake"),
        (
            "publishers = [\n{ id = \"gazette\", name = \"The Gazette\", domain = \"gazette.example\" }]\n"
                .to_owned(),
            "publisher gazette names no catalogue",
        ),
    ] {
        fs::write(folder.path().join("tradepost.toml"), &config).unwrap();
        let output = with(folder.path(), &["products.csv", "--into", "tradepost.toml"]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = text(&output.stderr);
        assert!(said.contains(expected) && said.contains("hint: "), "{said}");
        assert_eq!(fs::read_to_string(folder.path().join("tradepost.toml")).unwrap(), config);
        assert!(!folder.path().join("catalogue.json").exists());
    }
}
