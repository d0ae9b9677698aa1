//! Geography, places and frequency caps of a line item. Google's geography is a list of alternatives and a list of
//! exceptions, while the members of AdCP's targeting all have to hold; what cannot be said like that is refused.

use serde::Deserialize;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_publisher::ad_server::LineItemSpec;

use super::geo::GeoPlace;
use super::soap::XmlElement;
use super::transport::GoogleClient;
use crate::check::{PackageProblems, TARGETING};
use crate::client::refused;
use crate::port::AdServerError;
use crate::port::RefusalReason;

/// Prefix of an ad unit in `terms.ad_server.inventory`.
pub(super) const AD_UNIT: &str = "ad_unit/";

/// Prefix of a placement.
pub(super) const PLACEMENT: &str = "placement/";

/// System of metro areas that Google has.
pub(super) const METRO_SYSTEM: &str = "nielsen_dma";

/// Country of the metro areas.
const METRO_COUNTRY: &str = "US";

/// What is wrong with metro areas.
const KNOWN_METROS: &str = "The ad server has the metro areas of nielsen_dma, which are numbers.";

/// What is wrong with inventory.
const KNOWN_PLACES: &str = "The inventory is named as ad_unit/ID or placement/ID.";

/// Members of the targeting that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GoogleTargeting {
    geo_countries: Vec<String>,
    geo_countries_exclude: Vec<String>,
    geo_regions: Vec<String>,
    geo_regions_exclude: Vec<String>,
    geo_metros: Vec<MetroList>,
    geo_metros_exclude: Vec<MetroList>,
    frequency_cap: Option<CapLimit>,
}

#[derive(Debug, Deserialize)]
struct MetroList {
    system: String,
    values: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct CapLimit {
    suppress: Option<CapSpan>,
    suppress_minutes: Option<Value>,
    max_impressions: Option<u32>,
    per: Option<String>,
    window: Option<CapSpan>,
}

#[derive(Debug, Deserialize)]
struct CapSpan {
    interval: u32,
    unit: String,
}

/// Something that Google cannot do, with the member that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TargetingGap {
    pub(super) member: &'static str,
    pub(super) message: &'static str,
}

const fn gap(member: &'static str, message: &'static str) -> TargetingGap {
    TargetingGap { member, message }
}

/// Geography of a line item: where it runs, and the exceptions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Geography {
    pub(super) included: Vec<GeoPlace>,
    pub(super) excluded: Vec<GeoPlace>,
}

/// Geography by Google's ids.
#[derive(Debug, Default)]
pub(super) struct GeoIds {
    pub(super) included: Vec<String>,
    pub(super) excluded: Vec<String>,
}

/// An ad unit or a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// An ad unit with those below it.
    AdUnit(u64),
    /// A placement.
    Placement(u64),
}

/// A frequency cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrequencyCap {
    impressions: u32,
    amount: u32,
    unit: &'static str,
}

/// Finds what Google cannot do of a line item's targeting and inventory.
pub(super) fn check(line_item: &LineItemSpec, found: &mut PackageProblems<'_>) {
    match read(&line_item.targeting) {
        Ok(targeting) => {
            for gap in geo_gaps(&targeting) {
                found.report_targeting(gap.member, gap.message);
            }
            if let Err(gap) = caps(&targeting) {
                found.report_targeting(gap.member, gap.message);
            }
        }
        Err(gap) => found.report(gap.member, gap.message),
    }
    if line_item.inventory.iter().any(|entry| place(entry).is_none()) {
        found.report("product_id", KNOWN_PLACES);
    }
}

/// Returns the geography of a line item.
pub(super) fn geography(line_item: &LineItemSpec) -> Result<Geography, AdServerError> {
    let targeting = read(&line_item.targeting).map_err(refusal)?;
    if let Some(gap) = geo_gaps(&targeting).into_iter().next() {
        return Err(refusal(gap));
    }
    Ok(reduced(&targeting))
}

/// Returns the frequency caps of a line item.
pub(super) fn frequency_caps(line_item: &LineItemSpec) -> Result<Vec<FrequencyCap>, AdServerError> {
    let targeting = read(&line_item.targeting).map_err(refusal)?;
    caps(&targeting).map_err(refusal)
}

/// Returns the places of a line item; without any it would run everywhere.
pub(super) fn places(line_item: &LineItemSpec) -> Result<Vec<Place>, AdServerError> {
    let places: Option<Vec<Place>> = line_item.inventory.iter().map(|entry| place(entry)).collect();
    places
        .filter(|places| !places.is_empty())
        .ok_or_else(|| refused(RefusalReason::Invalid, KNOWN_PLACES))
}

/// Returns `targeting` of a line item of REST.
pub(super) fn document(client: &GoogleClient, places: &[Place], geo: &GeoIds) -> Value {
    let mut ad_units = Vec::new();
    let mut placements = Vec::new();
    for place in places {
        match place {
            Place::AdUnit(id) => {
                let name = client.name(&format!("adUnits/{id}"));
                ad_units.push(json!({"adUnit": name, "includeDescendants": true}));
            }
            Place::Placement(id) => {
                placements.push(Value::from(client.name(&format!("placements/{id}"))));
            }
        }
    }
    let inventory = object!({
        "targetedAdUnits"?: some(ad_units),
        "targetedPlacements"?: some(placements),
    });
    let names = |ids: &[String]| -> Vec<Value> {
        ids.iter().map(|id| client.name(&format!("geoTargets/{id}")).into()).collect()
    };
    let has_geo = !geo.included.is_empty() || !geo.excluded.is_empty();
    let geo = object!({
        "targetedGeos"?: some(names(&geo.included)),
        "excludedGeos"?: some(names(&geo.excluded)),
    });
    object!({"inventoryTargeting": inventory, "geoTargeting"?: has_geo.then_some(geo)})
}

/// Returns `targeting` of a line item of SOAP.
pub(super) fn element(places: &[Place], geo: &GeoIds) -> XmlElement {
    let location = |name: &'static str| {
        move |id: &String| XmlElement::new(name).with(XmlElement::leaf("id", id))
    };
    let mut inventory = XmlElement::new("inventoryTargeting");
    for place in places {
        if let Place::AdUnit(id) = place {
            let unit = XmlElement::new("targetedAdUnits")
                .with(XmlElement::leaf("adUnitId", id))
                .with(XmlElement::leaf("includeDescendants", true));
            inventory = inventory.with(unit);
        }
    }
    for place in places {
        if let Place::Placement(id) = place {
            inventory = inventory.with(XmlElement::leaf("targetedPlacementIds", id));
        }
    }
    let geo = XmlElement::new("geoTargeting")
        .with_all(geo.included.iter().map(location("targetedLocations")))
        .with_all(geo.excluded.iter().map(location("excludedLocations")));
    XmlElement::new("targeting").with(geo).with(inventory)
}

/// Returns `frequencyCaps` of a line item of REST, where 64-bit numbers are texts (ProtoJSON).
pub(super) fn cap_documents(caps: &[FrequencyCap]) -> Vec<Value> {
    let cap = |cap: &FrequencyCap| {
        json!({
            "maxImpressions": cap.impressions.to_string(),
            "timeAmount": cap.amount.to_string(),
            "timeUnit": cap.unit,
        })
    };
    caps.iter().map(cap).collect()
}

/// Returns the `frequencyCaps` of a line item of SOAP.
pub(super) fn cap_elements(caps: &[FrequencyCap]) -> Vec<XmlElement> {
    let cap = |cap: &FrequencyCap| {
        XmlElement::new("frequencyCaps")
            .with(XmlElement::leaf("maxImpressions", cap.impressions))
            .with(XmlElement::leaf("numTimeUnits", cap.amount))
            .with(XmlElement::leaf("timeUnit", cap.unit))
    };
    caps.iter().map(cap).collect()
}

fn some(list: Vec<Value>) -> Option<Vec<Value>> {
    (!list.is_empty()).then_some(list)
}

fn refusal(gap: TargetingGap) -> AdServerError {
    refused(RefusalReason::Invalid, format!("{}: {}", gap.member, gap.message))
}

fn read(targeting: &Map) -> Result<GoogleTargeting, TargetingGap> {
    let targeting = Value::Object(targeting.clone());
    GoogleTargeting::deserialize(&targeting)
        .map_err(|_| gap(TARGETING, "The targeting is not in AdCP's form."))
}

/// Reads an entry of a product's terms.
fn place(entry: &str) -> Option<Place> {
    let ad_unit = entry.strip_prefix(AD_UNIT).map(|id| id.parse().map(Place::AdUnit));
    let placement = || entry.strip_prefix(PLACEMENT).map(|id| id.parse().map(Place::Placement));
    ad_unit.or_else(placement)?.ok()
}

fn countries(codes: &[String]) -> impl Iterator<Item = GeoPlace> {
    codes.iter().map(|code| GeoPlace::Country(code.clone()))
}

fn regions(codes: &[String]) -> impl Iterator<Item = GeoPlace> {
    codes.iter().map(|code| GeoPlace::Region(code.clone()))
}

fn metros(lists: &[MetroList]) -> impl Iterator<Item = GeoPlace> {
    let codes = lists.iter().flat_map(|list| &list.values);
    codes.filter_map(|code| code.parse().ok().map(GeoPlace::Metro))
}

/// Returns what of the geography alternatives with exceptions cannot say.
fn geo_gaps(targeting: &GoogleTargeting) -> Vec<TargetingGap> {
    let mut gaps = Vec::new();
    let mut require = |is_met: bool, member: &'static str, message: &'static str| {
        if !is_met {
            gaps.push(gap(member, message));
        }
    };
    let wanted = &targeting.geo_countries;
    let has_country = |code: &str| wanted.is_empty() || wanted.iter().any(|own| own == code);
    let is_free = |code: &str| !targeting.geo_countries_exclude.iter().any(|other| other == code);
    let country = |region: &String| region.split('-').next().unwrap_or_default().to_owned();
    let form = "The ad server takes regions such as US-CA.";
    let is_region = |region: &String| {
        region.split_once('-').is_some_and(|(country, code)| country.len() == 2 && !code.is_empty())
    };
    require(targeting.geo_regions.iter().all(is_region), "geo_regions", form);
    require(targeting.geo_regions_exclude.iter().all(is_region), "geo_regions_exclude", form);
    require(
        targeting.geo_regions.iter().all(|region| has_country(&country(region))),
        "geo_regions",
        "A region is outside of the countries.",
    );
    require(
        targeting.geo_regions.is_empty() || targeting.geo_metros.is_empty(),
        "geo_metros",
        "The ad server targets regions or metro areas, not both at once.",
    );
    require(
        targeting.geo_metros.is_empty() || has_country(METRO_COUNTRY),
        "geo_metros",
        "A metro area is outside of the countries.",
    );
    let is_known = |lists: &[MetroList]| {
        let is_number = |code: &String| code.parse::<u32>().is_ok();
        lists.iter().all(|list| list.system == METRO_SYSTEM && list.values.iter().all(is_number))
    };
    require(is_known(&targeting.geo_metros), "geo_metros", KNOWN_METROS);
    require(is_known(&targeting.geo_metros_exclude), "geo_metros_exclude", KNOWN_METROS);
    require(
        wanted.iter().all(|code| is_free(code))
            && targeting.geo_regions.iter().all(|region| is_free(&country(region)))
            && (targeting.geo_metros.is_empty() || is_free(METRO_COUNTRY)),
        "geo_countries_exclude",
        "A place is both targeted and excluded.",
    );
    let both = |one: &[String], other: &[String]| one.iter().any(|code| other.contains(code));
    require(
        !both(&targeting.geo_regions, &targeting.geo_regions_exclude),
        "geo_regions_exclude",
        "A place is both targeted and excluded.",
    );
    let targeted: Vec<GeoPlace> = metros(&targeting.geo_metros).collect();
    require(
        !metros(&targeting.geo_metros_exclude).any(|metro| targeted.contains(&metro)),
        "geo_metros_exclude",
        "A place is both targeted and excluded.",
    );
    gaps
}

/// Returns the geography without what the rest of it implies, which Google does not accept: a country of a
/// targeted region, and exceptions outside of what is targeted (`GeoTargeting` of v202511).
fn reduced(targeting: &GoogleTargeting) -> Geography {
    let mut included: Vec<GeoPlace> = Vec::new();
    // Regions and metro areas are inside of the countries, which they narrow.
    if targeting.geo_regions.is_empty() && targeting.geo_metros.is_empty() {
        included.extend(countries(&targeting.geo_countries));
    }
    included.extend(regions(&targeting.geo_regions));
    included.extend(metros(&targeting.geo_metros));
    let is_inside = |country: &str| {
        targeting.geo_countries.is_empty()
            || targeting.geo_countries.iter().any(|own| own == country)
    };
    let has_regions = !targeting.geo_regions.is_empty();
    let has_metros = !targeting.geo_metros.is_empty();
    let mut excluded: Vec<GeoPlace> = Vec::new();
    if included.is_empty() {
        excluded.extend(countries(&targeting.geo_countries_exclude));
    }
    let of_excluded = |region: &str| {
        let country = region.split('-').next().unwrap_or_default();
        targeting.geo_countries_exclude.iter().any(|code| code == country)
    };
    // Other regions are excluded by those that are targeted; a metro area may reach into one.
    if !has_regions {
        let inside = targeting.geo_regions_exclude.iter().filter(|region| {
            let country = region.split('-').next().unwrap_or_default();
            let is_of_metros = !has_metros || country == METRO_COUNTRY;
            is_inside(country) && is_of_metros && !of_excluded(region)
        });
        excluded.extend(inside.map(|region| GeoPlace::Region(region.clone())));
    }
    let is_us_excluded = targeting.geo_countries_exclude.iter().any(|code| code == METRO_COUNTRY);
    let is_abroad =
        has_regions && !targeting.geo_regions.iter().any(|region| region.starts_with("US-"));
    if !has_metros && is_inside(METRO_COUNTRY) && !is_us_excluded && !is_abroad {
        excluded.extend(metros(&targeting.geo_metros_exclude));
    }
    Geography { included, excluded }
}

fn caps(targeting: &GoogleTargeting) -> Result<Vec<FrequencyCap>, TargetingGap> {
    let Some(limit) = &targeting.frequency_cap else { return Ok(Vec::new()) };
    let member = "frequency_cap";
    if limit.suppress_minutes.is_some() && limit.suppress.is_none() {
        return Err(gap(member, "Send suppress instead of suppress_minutes."));
    }
    let mut caps = Vec::new();
    if let Some(span) = &limit.suppress {
        caps.push(cap(1, span)?);
    }
    match (limit.max_impressions, &limit.window) {
        (Some(impressions), Some(span)) => {
            // Google caps by its own id of a user.
            if matches!(limit.per.as_deref(), Some("households" | "custom")) {
                return Err(gap(member, "The ad server caps by person or device."));
            }
            caps.push(cap(impressions, span)?);
        }
        (None, None) if !caps.is_empty() => {}
        (_, _) => return Err(gap(member, "The cap has no maximum with a window.")),
    }
    Ok(caps)
}

/// Returns a cap in Google's units.
fn cap(impressions: u32, span: &CapSpan) -> Result<FrequencyCap, TargetingGap> {
    let of = |amount, unit| FrequencyCap { impressions, amount, unit };
    match span.unit.as_str() {
        "seconds" if span.interval.is_multiple_of(60) => Ok(of(span.interval / 60, "MINUTE")),
        "minutes" => Ok(of(span.interval, "MINUTE")),
        "hours" => Ok(of(span.interval, "HOUR")),
        "days" => Ok(of(span.interval, "DAY")),
        "campaign" => Ok(of(1, "LIFETIME")),
        "seconds" => Err(gap("frequency_cap", "The ad server counts in whole minutes.")),
        _ => Err(gap("frequency_cap", "The ad server counts in minutes, hours or days.")),
    }
}
