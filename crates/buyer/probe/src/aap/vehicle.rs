//! Checks of `inventory.vehicle` (R-IV).

use tradepost_aap::Skill::InventoryVehicle as VEHICLE;
use tradepost_aap::Version;
use tradepost_aap::error::AapCode::{
    self, MissingRequiredField as MISSING, SchemaValidationFailed as SCHEMA,
    VehicleNotFound as NOT_FOUND,
};
use tradepost_document::json::{Value, json};

use super::ask::{first, number};
use super::input::check_refusal;
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable, not_looked_at,
    or_not_applicable, pass_if, verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::{self, ShapeProblems, text};

const WHY: &str = "It is the last look before somebody drives to the dealer.";
const WHY_FIND: &str = "A vehicle that was found must be found again by each of its names.";
const FIX: &str = "validate against the skill's schema, and name the place in details.errors";

pub(super) const CHECKS: &[Check] = checks![
    "aap.vehicle.by-vin", Version, Must, ["R-IV-02"], "AAP inventory-vehicle",
    "A vehicle is found by its VIN", WHY_FIND, "look up by vin" => found_by("vin");
    "aap.vehicle.by-stock", Version, Must, ["R-IV-02"], "AAP inventory-vehicle",
    "A vehicle is found by its stock number", WHY_FIND, "look up by stock" => found_by("stock");
    "aap.vehicle.by-id", Version, Must, ["R-IV-02"], "AAP inventory-vehicle",
    "A vehicle is found by its id", WHY_FIND, "look up by vehicle_id" => found_by("vehicle_id");
    "aap.vehicle.status", Version, Must, ["R-IV-05"], "AAP inventory-vehicle",
    "The vehicle has a status of vehicles on offer, and says when it was brought up to date", WHY,
    "write status and updated_at" => status();
    "aap.vehicle.identity", Version, Should, ["R-IV-04"], "AAP behavior rules",
    "The vehicle has a VIN or a stock number, or else an id", WHY,
    "write at least one of them" => identity();
    "aap.vehicle.price", Version, Should, ["R-IV-06"], "AAP inventory-vehicle",
    "The vehicle has the price of its listing", "Two prices for one car are one too many.",
    "serve both skills from one inventory" => price();
    "aap.vehicle.unknown-vin", Version, Must, ["R-IV-03", "E-062"], "AAP errors, VEHICLE_NOT_FOUND",
    "A VIN that the dealer never had is VEHICLE_NOT_FOUND", "A buyer searches again then, and gives up otherwise.",
    "answer VEHICLE_NOT_FOUND" => unknown(r#"{"vin": "1M8GDM9AXKP042788"}"#);
    "aap.vehicle.unknown-stock", Version, Must, ["R-IV-03", "E-062"], "AAP errors, VEHICLE_NOT_FOUND",
    "A stock number that the dealer never had is VEHICLE_NOT_FOUND", "A buyer searches again then, and gives up otherwise.",
    "answer VEHICLE_NOT_FOUND" => unknown(r#"{"stock": "TRADEPOST-PROBE"}"#);
    "aap.vehicle.no-name", Version, Must, ["R-IV-01", "E-059"], "AAP vehicle-detail schema",
    "A request that names no vehicle is refused", WHY, FIX => refused("{}", &[MISSING, SCHEMA], "");
    "aap.vehicle.vin-short", Version, Must, ["E-060"], "AAP vehicle-detail schema",
    "A VIN of 16 characters is refused", WHY, FIX => refused(r#"{"vin": "1M8GDM9AXKP04278"}"#, &[SCHEMA], "/vin");
    "aap.vehicle.vin-letters", Version, Must, ["E-060"], "AAP vehicle-detail schema",
    "A VIN with the letter O is refused", WHY, FIX => refused(r#"{"vin": "1M8GDM9AXKPO42788"}"#, &[SCHEMA], "/vin");
    "aap.vehicle.vin-null", Version, Must, ["E-060"], "AAP vehicle-detail schema",
    "A VIN that is null is refused", WHY, FIX => refused(r#"{"vin": null}"#, &[SCHEMA, MISSING], "/vin");
    "aap.vehicle.zip", Version, Must, ["E-061"], "AAP vehicle-detail schema",
    "zip is taken in v1.0 and refused in v1.1", "A buyer of another version means another price.",
    "follow the schema of the version that the request activates" => zip();
];

/// Returns the details of a vehicle on offer, requested by one of its identifiers, and its listing.
async fn look_up(run: &mut ProbeRun, name: &str) -> Result<(Value, Value), CheckVerdict> {
    run.offers(VEHICLE)?;
    let vehicles = run.vehicles().await?;
    let value = or_not_applicable(first(&vehicles, name), format!("no vehicle has a {name}"))?;
    let listing = vehicles.iter().find(|vehicle| vehicle.get(name) == Some(value));
    let listing = listing.cloned().unwrap_or_default();
    let data = run.data(VEHICLE, &json!({name: value}).to_string()).await?;
    Ok((data.get("vehicle").unwrap_or(&data).clone(), listing))
}

async fn found_by(run: &mut ProbeRun, name: &str) -> CheckResult {
    let (vehicle, listing) = look_up(run, name).await?;
    let holds = vehicle.get(name) == listing.get(name);
    pass_if(holds, format!("the vehicle has the {name} {:?}", vehicle.get(name)))
}

/// Returns the details of a vehicle by the first identifier that vehicles have.
async fn any(run: &mut ProbeRun) -> Result<(Value, Value), CheckVerdict> {
    let vehicles = run.vehicles().await?;
    let names = ["vehicle_id", "vin", "stock"];
    match names.into_iter().find(|name| first(&vehicles, name).is_some()) {
        Some(name) => match look_up(run, name).await {
            // A failing request is reported by another check, and counts once.
            Err(CheckVerdict::Fail(why)) => {
                not_looked_at(format!("there is no vehicle to look at: {why}"))
            }
            other => other,
        },
        None => not_applicable("no vehicle has a name"),
    }
}

async fn status(run: &mut ProbeRun) -> CheckResult {
    let (vehicle, _) = any(run).await?;
    let mut wrong = ShapeProblems::default();
    let status = text(&vehicle, "status").unwrap_or_default();
    wrong.unless(super::search::STATUSES.contains(&status), format!("the status is {status:?}"));
    let moment = text(&vehicle, "updated_at").unwrap_or_default();
    wrong.unless(shape::is_moment(moment), format!("updated_at is {moment:?}"));
    verdict_of(&wrong.0)
}

async fn identity(run: &mut ProbeRun) -> CheckResult {
    let (vehicle, _) = any(run).await?;
    let has = |name| vehicle.get(name).is_some();
    pass_if(has("vin") || has("stock") || has("vehicle_id"), "the vehicle has none of them")
}

async fn price(run: &mut ProbeRun) -> CheckResult {
    let (vehicle, listing) = any(run).await?;
    match (number(&vehicle, "price"), number(&listing, "price")) {
        (Some(one), Some(other)) if one == other => Ok(CheckVerdict::Pass),
        (None, None) => not_applicable("the vehicle has no price"),
        (one, other) => fail(format!("the price is {one:?} here and {other:?} in the search")),
    }
}

async fn unknown(run: &mut ProbeRun, members: &str) -> CheckResult {
    run.skill(VEHICLE, members).await?.refused(&[NOT_FOUND])
}

async fn refused(
    run: &mut ProbeRun,
    members: &str,
    codes: &[AapCode],
    pointer: &str,
) -> CheckResult {
    let answer = run.skill(VEHICLE, members).await?;
    check_refusal(run.version, &answer, codes, pointer)
}

async fn zip(run: &mut ProbeRun) -> CheckResult {
    // The VIN is valid, check digit included. In v1.0 the answer that there is no such vehicle shows that `zip` was
    // accepted.
    let answer = run.skill(VEHICLE, r#"{"vin": "1M8GDM9AXKP042788", "zip": "94105"}"#).await?;
    match run.version {
        Version::V1_0 => answer.refused(&[NOT_FOUND]),
        Version::V1_1 => check_refusal(run.version, &answer, &[SCHEMA], "/zip"),
    }
}
