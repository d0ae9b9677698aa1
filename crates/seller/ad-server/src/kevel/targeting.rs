//! Geography, places and frequency caps of a flight. Targets of a list are alternatives at Kevel, while the
//! members of AdCP's targeting all have to hold; what cannot be said with alternatives alone is refused.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_publisher::ad_server::LineItemSpec;

use crate::check::{PackageProblems, TARGETING};
use crate::client::{garbled, refused};
use crate::port::{AdServerError, RefusalReason};

/// Prefix of a site in `terms.ad_server.inventory`.
pub(super) const SITE: &str = "site/";

/// What stands between a site and its zone.
pub(super) const ZONE: &str = "/zone/";

/// System of metro areas that Kevel has.
pub(super) const METRO_SYSTEM: &str = "nielsen_dma";

/// Country of the metro areas.
const METRO_COUNTRY: &str = "US";

/// Metro areas that Kevel can target.
const KNOWN_METROS: &str = "The ad server has the metro areas of nielsen_dma, which are numbers.";

/// Members of the targeting that geography is read from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeoTargeting {
    geo_countries: Vec<String>,
    geo_countries_exclude: Vec<String>,
    geo_regions: Vec<String>,
    geo_regions_exclude: Vec<String>,
    geo_metros: Vec<MetroAreas>,
    geo_metros_exclude: Vec<MetroAreas>,
    frequency_cap: Option<FrequencyLimit>,
}

#[derive(Debug, Deserialize)]
struct MetroAreas {
    system: String,
    values: Vec<String>,
}

impl MetroAreas {
    fn is_known(&self) -> bool {
        self.system == METRO_SYSTEM && self.values.iter().all(|code| code.parse::<u32>().is_ok())
    }
}

#[derive(Debug, Deserialize)]
struct FrequencyLimit {
    suppress: Option<Span>,
    suppress_minutes: Option<Value>,
    max_impressions: Option<u32>,
    per: Option<String>,
    window: Option<Span>,
}

#[derive(Debug, Deserialize)]
struct Span {
    interval: u32,
    unit: String,
}

/// A frequency cap as Kevel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrequencyCap {
    /// `FreqCap`.
    pub(super) impressions: u32,
    /// `FreqCapDuration`, in the unit.
    pub(super) duration: u32,
    /// `FreqCapType`: 1 hours, 2 days, 3 minutes.
    pub(super) unit: u8,
}

/// Something that Kevel cannot do, with the member that asks for it.
#[derive(Debug)]
struct TargetingGap {
    member: &'static str,
    message: &'static str,
}

/// Finds what Kevel cannot do of a line item's targeting and inventory.
pub(super) fn check(line_item: &LineItemSpec, found: &mut PackageProblems<'_>) {
    match read(&line_item.targeting) {
        Ok(targeting) => {
            for gap in geo_gaps(&targeting) {
                found.report_targeting(gap.member, gap.message);
            }
            if let Err(gap) = cap(&targeting, line_item) {
                found.report_targeting(gap.member, gap.message);
            }
        }
        Err(gap) => found.report(gap.member, gap.message),
    }
    if line_item.inventory.iter().any(|entry| place(entry).is_none()) {
        found.report("product_id", "The inventory is named as site/ID or site/ID/zone/ID.");
    }
}

/// Returns the geography of a flight (`GeoTargeting`).
pub(super) fn geography(line_item: &LineItemSpec) -> Result<Vec<Value>, AdServerError> {
    let targeting = read(&line_item.targeting).map_err(refusal)?;
    if let Some(gap) = geo_gaps(&targeting).into_iter().next() {
        return Err(refusal(gap));
    }
    let mut targets = Vec::new();
    // Regions and metro areas are inside of the countries, which they narrow.
    if targeting.geo_regions.is_empty() && targeting.geo_metros.is_empty() {
        targets.extend(targeting.geo_countries.iter().map(|code| country(code, false)));
    }
    targets.extend(regions(&targeting.geo_regions, false));
    targets.extend(metros(&targeting.geo_metros, false));
    targets.extend(targeting.geo_countries_exclude.iter().map(|code| country(code, true)));
    targets.extend(regions(&targeting.geo_regions_exclude, true));
    targets.extend(metros(&targeting.geo_metros_exclude, true));
    Ok(targets)
}

/// Returns the sites and zones of a flight (`SiteZoneTargeting`).
pub(super) fn places(line_item: &LineItemSpec) -> Result<Vec<Value>, AdServerError> {
    let places: Option<Vec<Value>> = line_item.inventory.iter().map(|entry| place(entry)).collect();
    // Without any a flight would run everywhere.
    places.filter(|places| !places.is_empty()).ok_or_else(|| {
        let detail =
            "the product names its inventory as site/ID or site/ID/zone/ID, and at least one";
        refused(RefusalReason::Invalid, detail)
    })
}

/// Returns the frequency cap of a flight.
pub(super) fn frequency_cap(
    line_item: &LineItemSpec,
) -> Result<Option<FrequencyCap>, AdServerError> {
    let targeting = read(&line_item.targeting).map_err(refusal)?;
    cap(&targeting, line_item).map_err(refusal)
}

fn refusal(gap: TargetingGap) -> AdServerError {
    refused(RefusalReason::Invalid, format!("{}: {}", gap.member, gap.message))
}

fn read(targeting: &Map) -> Result<GeoTargeting, TargetingGap> {
    let targeting = Value::Object(targeting.clone());
    GeoTargeting::deserialize(&targeting).map_err(|_| TargetingGap {
        member: TARGETING,
        message: "The targeting is not in AdCP's form.",
    })
}

/// Returns what of the geography alternatives cannot say.
fn geo_gaps(targeting: &GeoTargeting) -> Vec<TargetingGap> {
    let mut gaps = Vec::new();
    let mut require = |is_met: bool, member: &'static str, message: &'static str| {
        if !is_met {
            gaps.push(TargetingGap { member, message });
        }
    };
    let countries = &targeting.geo_countries;
    let has_country = |code: &str| countries.is_empty() || countries.iter().any(|own| own == code);
    let in_countries = |region: &String| region.split('-').next().is_some_and(has_country);
    require(
        targeting.geo_regions.is_empty() || targeting.geo_metros.is_empty(),
        "geo_metros",
        "The ad server targets regions or metro areas, not both at once.",
    );
    require(
        targeting.geo_regions.iter().all(in_countries),
        "geo_regions",
        "A region is outside of the countries.",
    );
    require(
        targeting.geo_regions.iter().all(|region| is_region(region)),
        "geo_regions",
        "The ad server takes regions such as US-CA.",
    );
    require(
        targeting.geo_regions_exclude.iter().all(|region| is_region(region)),
        "geo_regions_exclude",
        "The ad server takes regions such as US-CA.",
    );
    require(
        targeting.geo_metros.is_empty() || has_country(METRO_COUNTRY),
        "geo_metros",
        "A metro area is outside of the countries.",
    );
    let is_known = |areas: &[MetroAreas]| areas.iter().all(MetroAreas::is_known);
    require(is_known(&targeting.geo_metros), "geo_metros", KNOWN_METROS);
    require(is_known(&targeting.geo_metros_exclude), "geo_metros_exclude", KNOWN_METROS);
    gaps
}

fn is_region(region: &str) -> bool {
    region.split_once('-').is_some_and(|(country, code)| country.len() == 2 && !code.is_empty())
}

fn country(code: &str, is_excluded: bool) -> Value {
    json!({"CountryCode": code, "IsExclude": is_excluded})
}

fn regions(regions: &[String], is_excluded: bool) -> impl Iterator<Item = Value> {
    regions.iter().filter_map(|region| region.split_once('-')).map(move |(country, code)| {
        json!({"CountryCode": country, "Region": code, "IsExclude": is_excluded})
    })
}

fn metros(areas: &[MetroAreas], is_excluded: bool) -> impl Iterator<Item = Value> {
    let codes = areas.iter().flat_map(|areas| &areas.values);
    codes.filter_map(|code| code.parse::<u32>().ok()).map(move |code| {
        json!({"CountryCode": METRO_COUNTRY, "MetroCode": code, "IsExclude": is_excluded})
    })
}

/// Reads an entry of a product's terms: `site/12` or `site/12/zone/34`.
fn place(entry: &str) -> Option<Value> {
    let rest = entry.strip_prefix(SITE)?;
    let (site, zone) =
        rest.split_once(ZONE).map_or((rest, None), |(site, zone)| (site, Some(zone)));
    let site: u32 = site.parse().ok()?;
    let zone: Option<u32> = zone.map(str::parse).transpose().ok()?;
    Some(object!({"SiteId": site, "ZoneId"?: zone, "IsExcluded": false}))
}

fn cap(
    targeting: &GeoTargeting,
    line_item: &LineItemSpec,
) -> Result<Option<FrequencyCap>, TargetingGap> {
    let gap = |message| TargetingGap { member: "frequency_cap", message };
    let Some(limit) = &targeting.frequency_cap else { return Ok(None) };
    if limit.suppress_minutes.is_some() && limit.suppress.is_none() {
        return Err(gap("Send suppress instead of suppress_minutes."));
    }
    match (&limit.suppress, limit.max_impressions, &limit.window) {
        (Some(span), None, _) => in_kevel_units(span, line_item, 1).map(Some).map_err(gap),
        (None, Some(impressions), Some(span)) => {
            // A cap of Kevel's is by the key of a user.
            if matches!(limit.per.as_deref(), Some("households" | "custom")) {
                return Err(gap("The ad server caps by person or device."));
            }
            in_kevel_units(span, line_item, impressions).map(Some).map_err(gap)
        }
        (Some(_), Some(_), _) => Err(gap("The ad server has one cap: a pause or a maximum.")),
        (None, _, _) => Err(gap("The cap has no maximum with a window.")),
    }
}

/// Returns a cap in minutes, hours or days. One for the whole flight lasts as many days as the flight touches.
fn in_kevel_units(
    span: &Span,
    line_item: &LineItemSpec,
    impressions: u32,
) -> Result<FrequencyCap, &'static str> {
    let of = |duration, unit| FrequencyCap { impressions, duration, unit };
    match span.unit.as_str() {
        "seconds" if span.interval.is_multiple_of(60) => Ok(of(span.interval / 60, 3)),
        "minutes" => Ok(of(span.interval, 3)),
        "hours" => Ok(of(span.interval, 1)),
        "days" => Ok(of(span.interval, 2)),
        "campaign" => Ok(of(days(line_item.start_time, line_item.end_time), 2)),
        "seconds" => Err("The ad server counts in whole minutes."),
        _ => Err("The ad server counts in minutes, hours or days."),
    }
}

fn days(start: Timestamp, end: Timestamp) -> u32 {
    const DAY: i64 = 24 * 60 * 60;
    let length: SignedDuration = end.duration_since(start);
    u32::try_from(length.as_secs().div_euclid(DAY) + 1).unwrap_or(1)
}

/// A list of targets of a flight, with an interface of its own.
#[derive(Debug, Clone, Copy)]
pub(super) enum TargetList {
    /// Countries, regions and metro areas.
    Geography,
    /// Sites and zones.
    Places,
}

/// A target that a flight has.
#[derive(Debug)]
pub(super) struct PresentTarget {
    /// Its id.
    pub(super) id: u64,
    target: Value,
}

impl PresentTarget {
    /// Returns true if it is the wanted one.
    pub(super) fn is(&self, wanted: &Value) -> bool {
        self.target == *wanted
    }
}

impl TargetList {
    /// Returns the last part of its path.
    pub(super) const fn path(self) -> &'static str {
        match self {
            Self::Geography => "geotargeting",
            Self::Places => "sitezonetargeting",
        }
    }

    /// Returns the targets that a flight has.
    pub(super) fn present(self, flight: &Value) -> Result<Vec<PresentTarget>, AdServerError> {
        let list = match self {
            Self::Geography => flight.get("GeoTargeting"),
            Self::Places => flight.get("SiteZoneTargeting"),
        };
        let targets = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        targets.iter().map(|target| self.read(target)).collect()
    }

    fn read(self, target: &Value) -> Result<PresentTarget, AdServerError> {
        let name = match self {
            Self::Geography => "LocationId",
            Self::Places => "Id",
        };
        let id = target.get(name).and_then(Value::as_u64);
        let id = id.ok_or_else(|| garbled("a target of the flight has no id"))?;
        let number = |name: &str| target.get(name).and_then(Value::as_u64).filter(|id| *id > 0);
        let text =
            |name: &str| target.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let is = |name: &str| target.get(name).and_then(Value::as_bool).unwrap_or_default();
        let target = match self {
            Self::Geography => object!({
                "CountryCode"?: text("CountryCode"),
                "Region"?: text("Region"),
                "MetroCode"?: number("MetroCode"),
                "IsExclude": is("IsExclude"),
            }),
            Self::Places => object!({
                "SiteId"?: number("SiteId"),
                "ZoneId"?: number("ZoneId"),
                "IsExcluded": is("IsExcluded"),
            }),
        };
        Ok(PresentTarget { id, target })
    }
}
