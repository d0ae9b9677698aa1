//! What `tradepost import --dry-run --explain` says of small feeds in the structures of public exporters.

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};

/// The dealer of the feeds, with two rooftops.
const CONFIG: &str = r#"
[[dealers]]
id = "acme"
name = "Acme Group"
hosts = ["acme.example"]

[[dealers.rooftops]]
name = "Acme North"
feed_names = ["MP-1"]
fees = [{ name = "Documentation", amount = 500 }]

[[dealers.rooftops]]
name = "Acme South"
feed_names = ["MP-2"]
fees = [{ name = "Documentation", amount = 700 }]
"#;

/// The feeds lie beside the tests of the crate that reads them.
fn feed(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../seller/dealer/src/import/tests/shapes");
    folder.join(name)
}

/// What the command writes, and its exit code. Lines end without the space that fills a column.
fn import(file: &Path, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("tradepost.toml");
    std::fs::write(&config, CONFIG).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["import", "--dry-run", "--explain"])
        .arg(file)
        .args(arguments)
        .arg("--config")
        .arg(&config)
        .arg("--data")
        .arg(folder.path().join("data"))
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let mut out = String::new();
    for line in printed.concat().lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    format!("{out}exit {}\n", output.status.code().unwrap())
}

fn check(name: &str, arguments: &[&str], expected: &Expect) {
    expected.assert_eq(&import(&feed(name), arguments));
}

#[test]
fn nested_members_of_json_are_explained() {
    check(
        "marketcheck.json",
        &[],
        &expect![[r#"
        acme
        FIELD           FULL  UNITS  FROM COLUMN (ROWS)
        vin             100%      1  vin (1)
        stock           100%      1  stock_no (1)
        vehicle_id      100%      1
        rooftop         100%      1  dealer.name (1)
        year            100%      1  build.year (1)
        make            100%      1  build.make (1)
        model           100%      1  build.model (1)
        trim            100%      1  build.trim (1)
        body            100%      1  build.body_type (1)
        condition       100%      1  inventory_type (1), is_certified (1)
        status          100%      1
        price           100%      1  price (1)
        msrp            100%      1  msrp (1)
        mileage         100%      1  miles (1)
        transmission    100%      1  build.transmission (1)
        driveline       100%      1  build.drivetrain (1)
        engine          100%      1  build.engine (1)
        fuel            100%      1  build.fuel_type (1)
        city_mpg        100%      1  build.city_mpg (1)
        highway_mpg     100%      1  build.highway_mpg (1)
        exterior_color  100%      1  exterior_color (1)
        seats           100%      1  build.std_seating (1)
        doors           100%      1  build.doors (1)
        features        100%      1  extra.features (1)
        photos          100%      1  media.photo_links (1)
        vdp_url         100%      1  vdp_url (1)

        ROWS  COLUMN THAT FED NOTHING
           1  id
           1  heading
           1  dom
           1  dealer.id
           1  dealer.city

        ROWS  ON OFFER  SOLD  SKIPPED  WARNINGS
           1         1     0        0         0

        BEFORE  ADDED  CHANGED  UNCHANGED  REMOVED
             0      1        0          0        0
        by its headings this is marketcheck, which knows 30 of 30 of its headings; select another with --preset
        acme: nothing was changed: this was a dry run
        exit 0
    "#]],
    );
}

#[test]
fn a_list_of_schema_org_is_explained() {
    check(
        "schema_org.json",
        &[],
        &expect![[r#"
        acme
        FIELD           FULL  UNITS  FROM COLUMN (ROWS)
        vin             100%      1  vehicleIdentificationNumber (1)
        stock           100%      1  sku (1)
        vehicle_id      100%      1
        rooftop         100%      1  offers.seller.name (1)
        year            100%      1  vehicleModelDate (1)
        make            100%      1  brand.name (1)
        model           100%      1  model (1)
        trim            100%      1  vehicleConfiguration (1)
        body            100%      1  bodyType (1)
        condition       100%      1  itemCondition (1)
        status          100%      1  offers.availability (1)
        price           100%      1  offers.price (1), offers.priceCurrency (1)
        mileage         100%      1  mileageFromOdometer.value (1), mileageFromOdometer.unitCode (1)
        transmission    100%      1  vehicleTransmission (1)
        driveline       100%      1  driveWheelConfiguration (1)
        fuel            100%      1  fuelType (1)
        exterior_color  100%      1  color (1)
        seats           100%      1  vehicleSeatingCapacity (1)
        doors           100%      1  numberOfDoors (1)
        photos          100%      1  image.url (1)
        vdp_url         100%      1  url (1)

        ROWS  COLUMN THAT FED NOTHING
           1  @type
           1  name
           1  brand.@type
           1  mileageFromOdometer.@type
           1  image.@type
           1  offers.@type
           1  offers.seller.@type

        ROWS  ON OFFER  SOLD  SKIPPED  WARNINGS
           1         1     0        0         1

        BEFORE  ADDED  CHANGED  UNCHANGED  REMOVED
             0      1        0          0        0

        COUNT  WARNING                         FIRST EXAMPLE
            1  kilometres, converted to miles  item 1: "45786" is converted
        by its headings this is schema-org, which knows 29 of 29 of its headings; select another with --preset
        acme: nothing was changed: this was a dry run
        exit 0
    "#]],
    );
}

#[test]
fn nested_elements_and_an_unknown_store_are_explained() {
    check(
        "google_nested.xml",
        &[],
        &expect![[r#"
        acme
        FIELD           FULL  UNITS  FROM COLUMN (ROWS)
        vin             100%      1  vin (2)
        stock           100%      1  id (2)
        vehicle_id      100%      1  id (2)
        rooftop         100%      1  vehicle_fulfillment.store_code (2)
        year            100%      1  year (2)
        make            100%      1  brand (2)
        model           100%      1  model (2)
        trim            100%      1  trim (1)
        body            100%      1  body_style (1)
        condition       100%      1  condition (2)
        status          100%      1  availability (1)
        price           100%      1  price (2)
        mileage         100%      1  mileage (1)
        driveline       100%      1  drivetrain (1)
        fuel            100%      1  fuel_type (1)
        exterior_color  100%      1  color (1)
        features        100%      1  vehicle_option (1)
        photos          100%      1  image_link (1), additional_image_link (1)
        vdp_url         100%      1  link (1)

        ROWS  COLUMN THAT FED NOTHING
           1  title
           2  vehicle_fulfillment.option

        ROWS  ON OFFER  SOLD  SKIPPED  WARNINGS
           2         1     0        1         0

        BEFORE  ADDED  CHANGED  UNCHANGED  REMOVED
             0      1        0          0        0

        ITEM  SKIPPED BECAUSE  DETAILS
           2  another_dealer   "ELSEWHERE" is not a dealer or rooftop of ours; a rooftop's feed_names say what feeds call it
        by its headings this is google-ads, which knows 21 of 21 of its headings; select another with --preset
        acme: nothing was changed: this was a dry run
        exit 0
    "#]],
    );
}

#[test]
fn members_with_a_prefix_are_explained() {
    check(
        "google_vehicle.xml",
        &[],
        &expect![[r#"
        acme
        FIELD           FULL  UNITS  FROM COLUMN (ROWS)
        vin             100%      1  vehicle_vin (1)
        stock           100%      1  id (1)
        vehicle_id      100%      1  id (1)
        rooftop         100%      1  vehicle_fulfillment (1)
        year            100%      1  vehicle_year (1)
        make            100%      1  brand (1), vehicle_make (1)
        model           100%      1  vehicle_model (1)
        trim            100%      1  vehicle_trim (1)
        body            100%      1  vehicle_body_style (1)
        condition       100%      1  condition (1)
        status          100%      1  availability (1)
        price           100%      1  price (1)
        mileage         100%      1  vehicle_mileage (1)
        transmission    100%      1  vehicle_transmission (1)
        exterior_color  100%      1  vehicle_color (1)
        seats           100%      1  vehicle_seating_capacity (1)
        photos          100%      1  image_link (1)
        vdp_url         100%      1  link (1)

        ROWS  COLUMN THAT FED NOTHING
           1  mpn
           1  title

        ROWS  ON OFFER  SOLD  SKIPPED  WARNINGS
           1         1     0        0         0

        BEFORE  ADDED  CHANGED  UNCHANGED  REMOVED
             0      1        0          0        0
        by its headings this is google-ads, which knows 19 of 20 of its headings; select another with --preset
        acme: nothing was changed: this was a dry run
        exit 0
    "#]],
    );
}

#[test]
fn photos_with_numbers_are_explained() {
    check(
        "cargurus.xml",
        &[],
        &expect![[r#"
        acme
        FIELD           FULL  UNITS  FROM COLUMN (ROWS)
        vin             100%      1  vin (1)
        stock           100%      1  stock_number (1)
        vehicle_id      100%      1
        rooftop         100%      1  dealer_name (1)
        year            100%      1  year (1)
        make            100%      1  make (1)
        model           100%      1  model (1)
        trim            100%      1  trim (1)
        body            100%      1  body_type (1)
        condition       100%      1  condition (1)
        status          100%      1  status (1)
        price           100%      1  price (1)
        msrp            100%      1  msrp (1)
        mileage         100%      1  mileage (1)
        transmission    100%      1  transmission (1)
        driveline       100%      1  drivetrain (1)
        fuel            100%      1  fuel_type (1)
        city_mpg        100%      1  mpg_city (1)
        highway_mpg     100%      1  mpg_highway (1)
        exterior_color  100%      1  exterior_color (1)
        interior_color  100%      1  interior_color (1)
        doors           100%      1  doors (1)
        features        100%      1  features (1)
        photos          100%      1  image (1)
        vdp_url         100%      1  listing_url (1)
        description     100%      1  description (1)

        ROWS  COLUMN THAT FED NOTHING
           1  title_status
           1  previous_owners
           1  carfax_available

        ROWS  ON OFFER  SOLD  SKIPPED  WARNINGS
           1         1     0        0         0

        BEFORE  ADDED  CHANGED  UNCHANGED  REMOVED
             0      1        0          0        0
        by its headings this is cargurus, which knows 28 of 28 of its headings; select another with --preset
        acme: nothing was changed: this was a dry run
        exit 0
    "#]],
    );
}

#[test]
fn a_feed_of_another_currency_is_refused_with_a_price() {
    check(
        "meta_cad.xml",
        &[],
        &expect![[r#"
        acme
        FIELD           FULL  UNITS  FROM COLUMN (ROWS)
        vin             100%      1  vin (1)
        vehicle_id      100%      1  vehicle_id (1)
        rooftop         100%      1
        year            100%      1  year (1)
        make            100%      1  make (1)
        model           100%      1  model (1)
        body            100%      1  body_style (1)
        condition       100%      1  state_of_vehicle (1)
        status          100%      1  availability (1)
        price             0%      0  price (1)
        mileage         100%      1  mileage.value (1), mileage.unit (1)
        exterior_color  100%      1  exterior_color (1)
        photos          100%      1  image.url (1)
        vdp_url         100%      1  url (1)

        ROWS  COLUMN THAT FED NOTHING
           1  title

        error: 1 of 1 units have a price in CAD, such as "23995 CAD", and AAP's prices are US dollars; nothing was changed
        hint: map a column that has US dollars, or offer the units without prices: --without-prices, or without_prices = true in a mapping
        exit 2
    "#]],
    );
}

#[test]
fn a_feed_of_another_currency_is_taken_without_prices() {
    check(
        "meta_cad.xml",
        &["--without-prices"],
        &expect![[r#"
        acme
        FIELD           FULL  UNITS  FROM COLUMN (ROWS)
        vin             100%      1  vin (1)
        vehicle_id      100%      1  vehicle_id (1)
        rooftop         100%      1
        year            100%      1  year (1)
        make            100%      1  make (1)
        model           100%      1  model (1)
        body            100%      1  body_style (1)
        condition       100%      1  state_of_vehicle (1)
        status          100%      1  availability (1)
        price             0%      0  price (1)
        mileage         100%      1  mileage.value (1), mileage.unit (1)
        exterior_color  100%      1  exterior_color (1)
        photos          100%      1  image.url (1)
        vdp_url         100%      1  url (1)

        ROWS  COLUMN THAT FED NOTHING
           1  title

        ROWS  ON OFFER  SOLD  SKIPPED  WARNINGS
           1         1     0        0         3

        BEFORE  ADDED  CHANGED  UNCHANGED  REMOVED
             0      1        0          0        0

        COUNT  WARNING                                       FIRST EXAMPLE
            1  a price in another currency, left out         item 1: "23995 CAD" is in CAD
            1  kilometres, converted to miles                item 1: "45786" is converted
            1  no rooftop is named, taken for the first one  item 1: the row names none of the dealer's rooftops
        by its headings this is meta, which knows 15 of 15 of its headings; select another with --preset
        imported without prices: 1 of 1 units have a price in CAD, such as "23995 CAD", and AAP's prices are US dollars
        acme: nothing was changed: this was a dry run
        exit 0
    "#]],
    );
}

#[test]
fn a_constant_and_a_decimal_comma_are_explained() {
    check(
        "mobile_de.csv",
        &["--without-prices"],
        &expect![[r#"
        acme
        FIELD           FULL  UNITS  FROM COLUMN (ROWS)
        vin             100%      1  fahrgestellnummer (1)
        stock           100%      1  interne_nummer (1)
        vehicle_id      100%      1
        rooftop         100%      1
        year            100%      1  ez (1)
        make            100%      1  marke (1)
        model           100%      1  modell (1)
        trim            100%      1  variante (1)
        body            100%      1  kategorie (1)
        condition       100%      1  neufahrzeug (1)
        status          100%      1
        price             0%      0  preis (1), constant "EUR" (1)
        mileage         100%      1  kilometer (1)
        transmission    100%      1  getriebe (1)
        fuel            100%      1  kraftstoffart (1)
        exterior_color  100%      1  farbe (1)
        doors           100%      1  tueren (1)
        features        100%      1  ausstattung (1)
        photos          100%      1  bilder (1)

        ROWS  COLUMN THAT FED NOTHING
           1  mwst

        ROWS  ON OFFER  SOLD  SKIPPED  WARNINGS
           1         1     0        0         3

        BEFORE  ADDED  CHANGED  UNCHANGED  REMOVED
             0      1        0          0        0

        COUNT  WARNING                                       FIRST EXAMPLE
            1  a price in another currency, left out         line 2: "23.995,50" is in EUR
            1  kilometres, converted to miles                line 2: "45.786" is converted
            1  no rooftop is named, taken for the first one  line 2: the row names none of the dealer's rooftops
        by its headings this is mobile-de, which knows 17 of 17 of its headings; select another with --preset
        imported without prices: 1 of 1 units have a price in EUR, such as "23.995,50", and AAP's prices are US dollars
        acme: nothing was changed: this was a dry run
        exit 0
    "#]],
    );
}

#[test]
fn a_mapping_that_matches_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mapping = folder.path().join("mapping.toml");
    let lines =
        "preset = \"marketcheck\"\n[columns]\n\"build.maek\" = \"make\"\n\"Colour\" = \"notes\"\n";
    std::fs::write(&mapping, lines).unwrap();
    let arguments = ["--mapping", mapping.to_str().unwrap()];
    check(
        "marketcheck.json",
        &arguments,
        &expect![[r#"
        error: 2 lines of the mapping are about no column of the feed
          no column is called "build.maek"; the nearest is "build.make"
          no column is called "Colour"; the nearest is "exterior_color"
        hint: write the column as the feed has it, take the line out, or add optional = true to a line whose column is not in every feed
        exit 2
    "#]],
    );
}
