//! Builds the payload of a request from flags, a file or standard input.

use std::io::Read;

use tradepost_aap::Skill;
use tradepost_document::json::{Map, Value, json};

use super::super::output::CommandFailure;

/// Payload of a request, or the options that build it.
#[derive(Debug, Default, clap::Args)]
pub(super) struct PayloadRequest {
    /// Payload: JSON, @FILE, or - for standard input. `type` is optional.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true, help_heading = "Request")]
    data: Option<String>,
    /// Make. Repeatable, like all filters that take names.
    #[arg(long, help_heading = "Filters")]
    make: Vec<String>,
    /// Model.
    #[arg(long, help_heading = "Filters")]
    model: Vec<String>,
    /// Trim line.
    #[arg(long, help_heading = "Filters")]
    trim: Vec<String>,
    /// Condition: new, used or cpo.
    #[arg(long, help_heading = "Filters")]
    condition: Vec<String>,
    /// Transmission.
    #[arg(long, help_heading = "Filters")]
    transmission: Vec<String>,
    /// Fuel.
    #[arg(long, help_heading = "Filters")]
    fuel: Vec<String>,
    /// Driveline, that is the driven wheels.
    #[arg(long, help_heading = "Filters")]
    driveline: Vec<String>,
    /// Body style.
    #[arg(long, help_heading = "Filters")]
    body: Vec<String>,
    /// Exterior color.
    #[arg(long, value_name = "COLOR", help_heading = "Filters")]
    exterior_color: Vec<String>,
    /// Interior color.
    #[arg(long, value_name = "COLOR", help_heading = "Filters")]
    interior_color: Vec<String>,
    /// Name of a rooftop.
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    rooftop: Vec<String>,
    /// Earliest model year.
    #[arg(long, value_name = "YEAR", help_heading = "Filters")]
    year_min: Option<u32>,
    /// Latest model year.
    #[arg(long, value_name = "YEAR", help_heading = "Filters")]
    year_max: Option<u32>,
    /// Minimum price in whole US dollars.
    #[arg(long, value_name = "DOLLARS", help_heading = "Filters")]
    price_min: Option<u32>,
    /// Maximum price in whole US dollars.
    #[arg(long, value_name = "DOLLARS", help_heading = "Filters")]
    price_max: Option<u32>,
    /// Maximum mileage in miles.
    #[arg(long, value_name = "MILES", help_heading = "Filters")]
    mileage_max: Option<u32>,
    /// Search words, all of which must occur.
    #[arg(long, value_name = "WORDS", help_heading = "Filters")]
    query: Option<String>,
    /// VIN, as a filter or as the identifier of one vehicle.
    #[arg(long, help_heading = "Filters")]
    vin: Option<String>,
    /// Stock number, as a filter or as the identifier of one vehicle.
    #[arg(long, help_heading = "Filters")]
    stock: Option<String>,
    /// The dealer's id of the vehicle.
    #[arg(long, value_name = "ID", help_heading = "Request")]
    vehicle_id: Option<String>,
    /// Number of matches to skip at the start.
    #[arg(long, value_name = "COUNT", help_heading = "Page")]
    skip: Option<u32>,
    /// Maximum number of matches to show.
    #[arg(long, value_name = "COUNT", help_heading = "Page")]
    limit: Option<u32>,
    /// Sort order: price, list_price, msrp, mileage, year, make, model, stock or updated_at, with
    /// :asc or :desc.
    #[arg(long, value_name = "FIELD:asc|desc", help_heading = "Page")]
    sort: Option<String>,
}

/// Part of a payload to which a flag's value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PayloadPlace {
    /// Filter.
    Filter,
    /// Filter, or identifier of one vehicle.
    FilterOrIdentifier,
    /// Identifier of one vehicle.
    Identifier,
    /// Pagination.
    Page,
    /// Sort order.
    Sort,
}

impl PayloadPlace {
    fn belongs_to(self, skill: Skill) -> bool {
        match self {
            Self::Filter => skill.takes("filters"),
            Self::FilterOrIdentifier => skill.takes("filters") || skill.takes("vin"),
            Self::Identifier => skill.takes("vehicle_id"),
            Self::Page => skill.takes("pagination"),
            Self::Sort => skill.takes("sort"),
        }
    }
}

/// Flag that was given.
struct GivenFlag {
    flag: &'static str,
    place: PayloadPlace,
    key: &'static str,
    value: Value,
}

impl PayloadRequest {
    /// Returns the payload of a request to `skill`.
    ///
    /// # Errors
    /// Returns a usage mistake that names everything wrong.
    pub(super) fn build(
        &self,
        skill: Skill,
        stdin: &mut dyn Read,
    ) -> Result<Value, CommandFailure> {
        let given = self.given();
        // All mistakes are collected, so that they are reported together.
        let (fitting, strays): (Vec<_>, Vec<_>) =
            given.into_iter().partition(|given| given.place.belongs_to(skill));
        let flags =
            |given: &[GivenFlag]| given.iter().map(|g| g.flag).collect::<Vec<_>>().join(", ");
        let mut lines = Vec::new();
        if !strays.is_empty() {
            lines.push(format!("{skill} does not take {}", flags(&strays)));
        }
        let mut payload = None;
        if let Some(data) = &self.data {
            if !fitting.is_empty() {
                lines.push(format!("--data cannot be combined with {}", flags(&fitting)));
            }
            match read(data, stdin) {
                Ok(value) => payload = Some(value),
                Err(why) => lines.push(why),
            }
        }
        if let Some(sort) = fitting.iter().find(|given| given.place == PayloadPlace::Sort)
            && sort.value.is_null()
        {
            lines.push("--sort must be FIELD:asc or FIELD:desc, such as price:asc".to_owned());
        }
        if lines.is_empty() {
            return Ok(payload.unwrap_or_else(|| assemble(skill, fitting)));
        }
        let message = match lines.as_slice() {
            [only] => only.clone(),
            several => format!("the request has {} mistakes", several.len()),
        };
        let hint = if skill == Skill::LeadSubmit {
            "give the lead as --data @lead.json"
        } else if PayloadPlace::FilterOrIdentifier.belongs_to(skill) {
            "see tradepost call --help for the flags of each skill"
        } else {
            "call it without --data and without filters"
        };
        let lines = if lines.len() > 1 { lines } else { Vec::new() };
        Err(CommandFailure { lines, ..CommandFailure::usage(message).hint(hint) })
    }

    /// Returns the data that accompanies a message to an agent of any kind.
    ///
    /// # Errors
    /// Returns a usage mistake.
    pub(super) fn data(&self, stdin: &mut dyn Read) -> Result<Option<Value>, CommandFailure> {
        let given = self.given();
        if !given.is_empty() {
            let flags: Vec<_> = given.iter().map(|given| given.flag).collect();
            let message = format!("{} are options for AAP skills", flags.join(", "));
            return Err(
                CommandFailure::usage(message).hint("name the skill, or describe it in --text")
            );
        }
        self.data
            .as_deref()
            .map(|data| read(data, stdin).map_err(CommandFailure::usage))
            .transpose()
    }

    /// Returns the flags that were given, in the order of the schema.
    fn given(&self) -> Vec<GivenFlag> {
        let lists = [
            ("--make", "make", &self.make),
            ("--model", "model", &self.model),
            ("--trim", "trim", &self.trim),
            ("--condition", "condition", &self.condition),
            ("--transmission", "transmission", &self.transmission),
            ("--fuel", "fuel", &self.fuel),
            ("--driveline", "driveline", &self.driveline),
            ("--body", "body", &self.body),
            ("--exterior-color", "exterior_color", &self.exterior_color),
            ("--interior-color", "interior_color", &self.interior_color),
            ("--rooftop", "rooftops", &self.rooftop),
        ];
        let numbers = [
            ("--year-min", PayloadPlace::Filter, "year_min", self.year_min),
            ("--year-max", PayloadPlace::Filter, "year_max", self.year_max),
            ("--price-min", PayloadPlace::Filter, "price_min", self.price_min),
            ("--price-max", PayloadPlace::Filter, "price_max", self.price_max),
            ("--mileage-max", PayloadPlace::Filter, "mileage_max", self.mileage_max),
            ("--skip", PayloadPlace::Page, "skip", self.skip),
            ("--limit", PayloadPlace::Page, "limit", self.limit),
        ];
        let texts = [
            ("--query", PayloadPlace::Filter, "query", &self.query),
            ("--vin", PayloadPlace::FilterOrIdentifier, "vin", &self.vin),
            ("--stock", PayloadPlace::FilterOrIdentifier, "stock", &self.stock),
            ("--vehicle-id", PayloadPlace::Identifier, "vehicle_id", &self.vehicle_id),
        ];
        let lists = lists.into_iter().filter(|(_, _, values)| !values.is_empty());
        let lists =
            lists.map(|(flag, key, values)| (flag, PayloadPlace::Filter, key, json!(values)));
        let numbers = numbers
            .into_iter()
            .filter_map(|(flag, place, key, value)| Some((flag, place, key, json!(value?))));
        let texts = texts.into_iter().filter_map(|(flag, place, key, value)| {
            Some((flag, place, key, json!(value.as_ref()?)))
        });
        let sort =
            self.sort.iter().map(|sort| ("--sort", PayloadPlace::Sort, "sort", read_sort(sort)));
        let all = lists.chain(numbers).chain(texts).chain(sort);
        all.map(|(flag, place, key, value)| GivenFlag { flag, place, key, value }).collect()
    }
}

/// Returns `{"field", "order"}`, or null when the text has another form.
fn read_sort(text: &str) -> Value {
    match text.rsplit_once(':') {
        Some((field, order @ ("asc" | "desc"))) if !field.is_empty() => {
            json!({"field": field, "order": order})
        }
        Some(_) | None => Value::Null,
    }
}

fn assemble(skill: Skill, given: Vec<GivenFlag>) -> Value {
    let mut payload = Map::from([("type".to_owned(), skill.request_type().into())]);
    let mut filters = Map::new();
    let mut pagination = Map::new();
    let mut sort = Map::new();
    for GivenFlag { place, key, value, .. } in given {
        let members = match place {
            PayloadPlace::Page => &mut pagination,
            PayloadPlace::Sort => &mut sort,
            PayloadPlace::Filter | PayloadPlace::FilterOrIdentifier if skill.takes("filters") => {
                &mut filters
            }
            PayloadPlace::Filter | PayloadPlace::FilterOrIdentifier | PayloadPlace::Identifier => {
                &mut payload
            }
        };
        members.insert(key.into(), value);
    }
    let within = [("filters", filters), ("pagination", pagination)];
    let within = within.into_iter().filter(|(_, members)| !members.is_empty());
    payload.extend(within.map(|(name, members)| (name.to_owned(), members.into())));
    payload.extend(sort);
    if skill.takes("privacy") {
        // Buyers should search anonymously by default (AAP 1.1 `inventory.search`, R-IS-13).
        payload.insert("privacy".into(), json!({"anonymous": true}));
    }
    payload.into()
}

/// Reads `--data`. A mistake is described without any part of the input.
fn read(data: &str, stdin: &mut dyn Read) -> Result<Value, String> {
    let bytes = if data == "-" {
        let mut bytes = Vec::new();
        let read = stdin.read_to_end(&mut bytes);
        read.map_err(|error| format!("--data: cannot read standard input: {error}"))?;
        bytes
    } else if let Some(path) = data.strip_prefix('@') {
        std::fs::read(path).map_err(|error| format!("--data: cannot read {path}: {error}"))?
    } else {
        data.as_bytes().to_vec()
    };
    // Editors on Windows begin files with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let payload: Value = tradepost_document::json::from_slice(bytes)
        .map_err(|error| format!("--data is not valid JSON: {error}"))?;
    if payload.is_object() { Ok(payload) } else { Err("--data must be a JSON object".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::{Expect, expect};
    use jiff::{SignedDuration, Timestamp};
    use tradepost_aap::{self as aap, DealerTerms, Version};
    use tradepost_document::catalog::Vocabulary;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        payload: PayloadRequest,
    }

    fn build(skill: &str, arguments: &[&str], stdin: &str) -> Result<Value, CommandFailure> {
        let arguments = std::iter::once("call").chain(arguments.iter().copied());
        let payload = CommandLine::try_parse_from(arguments).unwrap().payload;
        payload.build(Skill::from_name(skill).unwrap(), &mut stdin.as_bytes())
    }

    fn check(skill: &str, arguments: &[&str], expected: &Expect) {
        let shown = match build(skill, arguments, "") {
            Ok(payload) => payload.to_string(),
            Err(failure) => {
                let hint = failure.hint.unwrap_or_default();
                let lines = failure.lines.iter().map(|line| format!("  {line}\n"));
                let lines = lines.collect::<String>();
                format!("{} {}\n{lines}hint: {hint}", failure.exit, failure.message)
            }
        };
        expected.assert_eq(&shown);
    }

    const EVERY_FILTER: &[&str] = &[
        "--make",
        "Honda",
        "--make=Kia",
        "--model=CR-V",
        "--trim=EX",
        "--condition=used",
        "--transmission=automatic",
        "--fuel=gas",
        "--driveline=awd",
        "--body=SUV",
        "--exterior-color=Red",
        "--interior-color=Black",
        "--rooftop=Main Street",
        "--year-min=2020",
        "--year-max=2024",
        "--price-min=1",
        "--price-max=30000",
        "--mileage-max=50000",
        "--query=heated seats",
        "--vin=1HGCY2F57RA000001",
        "--stock=A1",
    ];

    #[test]
    fn every_flag_finds_its_place_in_a_valid_request() {
        let page = ["--skip=20", "--limit=5", "--sort=price:desc"];
        let terms = DealerTerms {
            now: Timestamp::UNIX_EPOCH,
            clock_skew: SignedDuration::ZERO,
            consent_lifetime: None,
        };
        let search = [EVERY_FILTER, &page].concat();
        check(
            "inventory.search",
            &search,
            &expect![[
                r#"{"type":"inventory.search.request","filters":{"make":["Honda","Kia"],"model":["CR-V"],"trim":["EX"],"condition":["used"],"transmission":["automatic"],"fuel":["gas"],"driveline":["awd"],"body":["SUV"],"exterior_color":["Red"],"interior_color":["Black"],"rooftops":["Main Street"],"year_min":2020,"year_max":2024,"price_min":1,"price_max":30000,"mileage_max":50000,"query":"heated seats","vin":"1HGCY2F57RA000001","stock":"A1"},"pagination":{"skip":20,"limit":5},"sort":{"field":"price","order":"desc"},"privacy":{"anonymous":true}}"#
            ]],
        );
        check(
            "inventory.facets",
            EVERY_FILTER,
            &expect![[
                r#"{"type":"inventory.facets.request","filters":{"make":["Honda","Kia"],"model":["CR-V"],"trim":["EX"],"condition":["used"],"transmission":["automatic"],"fuel":["gas"],"driveline":["awd"],"body":["SUV"],"exterior_color":["Red"],"interior_color":["Black"],"rooftops":["Main Street"],"year_min":2020,"year_max":2024,"price_min":1,"price_max":30000,"mileage_max":50000,"query":"heated seats","vin":"1HGCY2F57RA000001","stock":"A1"}}"#
            ]],
        );
        let vehicle = ["--vin=1HGCY2F57RA000001", "--stock=A1", "--vehicle-id=v1"];
        check(
            "inventory.vehicle",
            &vehicle,
            &expect![[
                r#"{"type":"inventory.vehicle.request","vin":"1HGCY2F57RA000001","stock":"A1","vehicle_id":"v1"}"#
            ]],
        );
        check(
            "inventory.search",
            &[],
            &expect![[r#"{"type":"inventory.search.request","privacy":{"anonymous":true}}"#]],
        );
        check("dealer.information", &[], &expect![[r#"{"type":"dealer.information.request"}"#]]);
        for (skill, arguments) in [
            (Skill::InventorySearch, search.as_slice()),
            (Skill::InventoryFacets, EVERY_FILTER),
            (Skill::InventoryVehicle, &vehicle),
            (Skill::InventorySearch, &[]),
            (Skill::DealerInformation, &[]),
        ] {
            let payload = build(skill.name(), arguments, "").unwrap();
            for version in Version::ALL {
                aap::parse(skill, *version, &payload, &terms).unwrap();
            }
        }
    }

    #[test]
    fn flags_that_do_not_belong_are_all_named() {
        check(
            "inventory.facets",
            &["--make=Kia", "--skip=1", "--sort=price:asc", "--vehicle-id=x"],
            &expect![[r#"
                2 inventory.facets does not take --skip, --vehicle-id, --sort
                hint: see tradepost call --help for the flags of each skill"#]],
        );
        check(
            "lead.submit",
            &["--make=Kia", "--vin=x", "--limit=1"],
            &expect![[r#"
            2 lead.submit does not take --make, --limit, --vin
            hint: give the lead as --data @lead.json"#]],
        );
        check(
            "inventory.search",
            &["--data=[1]", "--make=Kia", "--limit=1", "--vehicle-id=x"],
            &expect![[r#"
                2 the request has 3 mistakes
                  inventory.search does not take --vehicle-id
                  --data cannot be combined with --make, --limit
                  --data must be a JSON object
                hint: see tradepost call --help for the flags of each skill"#]],
        );
        check(
            "inventory.search",
            &["--sort=price"],
            &expect![[r#"
            2 --sort must be FIELD:asc or FIELD:desc, such as price:asc
            hint: see tradepost call --help for the flags of each skill"#]],
        );
    }

    #[test]
    fn data_is_read_from_argument_file_or_standard_input() {
        let stdin = "\u{feff}{\"customer\": {\"n\": 1.0}}";
        let expected =
            json!({"customer": {"n": tradepost_document::json::from_str::<Value>("1.0").unwrap()}});
        assert_eq!(build("lead.submit", &["--data", "-"], stdin).unwrap(), expected);
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("lead.json");
        std::fs::write(&file, stdin).unwrap();
        let argument = format!("@{}", file.display());
        assert_eq!(build("lead.submit", &["--data", &argument], "").unwrap(), expected);
        assert_eq!(build("lead.submit", &["--data={}"], "").unwrap(), json!({}));
    }

    #[test]
    fn bad_data_is_described_without_showing_it() {
        for data in ["{\"email\": \"ada@example.com\" x}", "\"ada@example.com\"", "@/nowhere/file"]
        {
            let failure = build("lead.submit", &["--data", data], "").unwrap_err();
            assert_eq!(failure.exit, 2);
            assert!(failure.message.starts_with("--data"), "{}", failure.message);
            assert!(!failure.message.contains("ada@"), "{}", failure.message);
        }
        let deep = "[".repeat(100_000);
        assert!(build("lead.submit", &["--data=-"], &deep).is_err());
    }
}
