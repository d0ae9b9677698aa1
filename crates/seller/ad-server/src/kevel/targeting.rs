//! Geography, places and frequency caps of a flight. Targets of a list are alternatives at Kevel, while the
//! members of AdCP's targeting all have to hold; what cannot be said with alternatives alone is refused.

use jiff::{SignedDuration, Timestamp};
use tradepost_document::json::{Value, json, object};
use tradepost_publisher::ad_server::LineItemSpec;

use crate::check::PackageProblems;
use crate::client::{garbled, refused};
use crate::place_targeting::{
    self, CapLength, CapMaximum, METRO_COUNTRY, MetroAreas, PlaceTargeting, TargetingGap,
    metro_numbers,
};
use crate::port::{AdServerError, RefusalReason};

/// Prefix of a site in `terms.ad_server.inventory`.
pub(super) const SITE: &str = "site/";

/// What stands between a site and its zone.
pub(super) const ZONE: &str = "/zone/";

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

/// Finds what Kevel cannot do of a line item's targeting and inventory.
pub(super) fn check(line_item: &LineItemSpec, found: &mut PackageProblems<'_>) {
    place_targeting::check(line_item, found, PlaceTargeting::geo_gaps, |targeting| {
        cap(targeting, line_item)
    });
    if line_item.inventory.iter().any(|entry| place(entry).is_none()) {
        found.report("product_id", "The inventory is named as site/ID or site/ID/zone/ID.");
    }
}

/// Returns the geography of a flight (`GeoTargeting`).
pub(super) fn geography(line_item: &LineItemSpec) -> Result<Vec<Value>, AdServerError> {
    let targeting = PlaceTargeting::read(&line_item.targeting)?;
    if let Some(gap) = targeting.geo_gaps().into_iter().next() {
        return Err(gap.into());
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
    place_targeting::inventory(line_item, place).ok_or_else(|| {
        let detail =
            "the product names its inventory as site/ID or site/ID/zone/ID, and at least one";
        refused(RefusalReason::Invalid, detail)
    })
}

/// Returns the frequency cap of a flight.
pub(super) fn frequency_cap(
    line_item: &LineItemSpec,
) -> Result<Option<FrequencyCap>, AdServerError> {
    let targeting = PlaceTargeting::read(&line_item.targeting)?;
    Ok(cap(&targeting, line_item)?)
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
    metro_numbers(areas).map(move |code| {
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
    targeting: &PlaceTargeting,
    line_item: &LineItemSpec,
) -> Result<Option<FrequencyCap>, TargetingGap> {
    let Some(limit) = &targeting.frequency_cap else { return Ok(None) };
    limit.check_pause()?;
    let CapMaximum { impressions, length } = match (&limit.suppress, limit.max_impressions) {
        (Some(span), None) => CapMaximum { impressions: 1, length: span.length()? },
        (None, _) => limit.maximum()?,
        (Some(_), Some(_)) => {
            let message = "The ad server has one cap: a pause or a maximum.";
            return Err(TargetingGap::from_frequency_cap(message));
        }
    };
    let of = |duration, unit| FrequencyCap { impressions, duration, unit };
    Ok(Some(match length {
        CapLength::Minutes(minutes) => of(minutes, 3),
        CapLength::Hours(hours) => of(hours, 1),
        CapLength::Days(days) => of(days, 2),
        // One for the whole flight lasts as many days as the flight touches.
        CapLength::Flight => of(days(line_item.start_time, line_item.end_time), 2),
    }))
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
