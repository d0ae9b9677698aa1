//! Geography, places and frequency caps of a line item. Google's geography is a list of alternatives and a list of
//! exceptions, while the members of AdCP's targeting all have to hold; what cannot be said like that is refused.

use tradepost_document::json::{Value, json, object};
use tradepost_publisher::ad_server::LineItemSpec;

use super::geo::GeoPlace;
use super::soap::XmlElement;
use super::transport::GoogleClient;
use crate::check::PackageProblems;
use crate::client::refused;
use crate::place_targeting::{
    self, CapLength, CapMaximum, METRO_COUNTRY, MetroAreas, PlaceTargeting, TargetingGap,
    country_of, metro_numbers,
};
use crate::port::{AdServerError, RefusalReason};

/// Prefix of an ad unit in `terms.ad_server.inventory`.
pub(super) const AD_UNIT: &str = "ad_unit/";

/// Prefix of a placement.
pub(super) const PLACEMENT: &str = "placement/";

/// What is wrong with inventory.
const KNOWN_PLACES: &str = "The inventory is named as ad_unit/ID or placement/ID.";

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
    place_targeting::check(line_item, found, geo_gaps, caps);
    if line_item.inventory.iter().any(|entry| place(entry).is_none()) {
        found.report("product_id", KNOWN_PLACES);
    }
}

/// Returns the geography of a line item.
pub(super) fn geography(line_item: &LineItemSpec) -> Result<Geography, AdServerError> {
    let targeting = PlaceTargeting::read(&line_item.targeting)?;
    if let Some(gap) = geo_gaps(&targeting).into_iter().next() {
        return Err(gap.into());
    }
    Ok(reduced(&targeting))
}

/// Returns the frequency caps of a line item.
pub(super) fn frequency_caps(line_item: &LineItemSpec) -> Result<Vec<FrequencyCap>, AdServerError> {
    let targeting = PlaceTargeting::read(&line_item.targeting)?;
    Ok(caps(&targeting)?)
}

/// Returns the places of a line item.
pub(super) fn places(line_item: &LineItemSpec) -> Result<Vec<Place>, AdServerError> {
    place_targeting::inventory(line_item, place)
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

fn metros(areas: &[MetroAreas]) -> impl Iterator<Item = GeoPlace> {
    metro_numbers(areas).map(GeoPlace::Metro)
}

/// Returns what of the geography alternatives with exceptions cannot say.
fn geo_gaps(targeting: &PlaceTargeting) -> Vec<TargetingGap> {
    let mut gaps = targeting.geo_gaps();
    let mut require = |is_met: bool, member: &'static str| {
        if !is_met {
            gaps.push(TargetingGap::new(member, "A place is both targeted and excluded."));
        }
    };
    let is_free = |code: &str| !targeting.geo_countries_exclude.iter().any(|other| other == code);
    require(
        targeting.geo_countries.iter().all(|code| is_free(code))
            && targeting.geo_regions.iter().all(|region| is_free(country_of(region)))
            && (targeting.geo_metros.is_empty() || is_free(METRO_COUNTRY)),
        "geo_countries_exclude",
    );
    let both = |one: &[String], other: &[String]| one.iter().any(|code| other.contains(code));
    require(!both(&targeting.geo_regions, &targeting.geo_regions_exclude), "geo_regions_exclude");
    let targeted: Vec<u32> = metro_numbers(&targeting.geo_metros).collect();
    require(
        !metro_numbers(&targeting.geo_metros_exclude).any(|metro| targeted.contains(&metro)),
        "geo_metros_exclude",
    );
    gaps
}

/// Returns the geography without what the rest of it implies, which Google does not accept: a country of a
/// targeted region, and exceptions outside of what is targeted (`GeoTargeting` of v202511).
fn reduced(targeting: &PlaceTargeting) -> Geography {
    let mut included: Vec<GeoPlace> = Vec::new();
    // Regions and metro areas are inside of the countries, which they narrow.
    if targeting.geo_regions.is_empty() && targeting.geo_metros.is_empty() {
        included.extend(countries(&targeting.geo_countries));
    }
    included.extend(regions(&targeting.geo_regions));
    included.extend(metros(&targeting.geo_metros));
    let has_regions = !targeting.geo_regions.is_empty();
    let has_metros = !targeting.geo_metros.is_empty();
    let mut excluded: Vec<GeoPlace> = Vec::new();
    if included.is_empty() {
        excluded.extend(countries(&targeting.geo_countries_exclude));
    }
    let of_excluded = |region: &str| {
        targeting.geo_countries_exclude.iter().any(|code| code == country_of(region))
    };
    // Other regions are excluded by those that are targeted; a metro area may reach into one.
    if !has_regions {
        let inside = targeting.geo_regions_exclude.iter().filter(|region| {
            let country = country_of(region);
            let is_of_metros = !has_metros || country == METRO_COUNTRY;
            targeting.has_country(country) && is_of_metros && !of_excluded(region)
        });
        excluded.extend(inside.map(|region| GeoPlace::Region(region.clone())));
    }
    let is_us_excluded = targeting.geo_countries_exclude.iter().any(|code| code == METRO_COUNTRY);
    let is_abroad =
        has_regions && !targeting.geo_regions.iter().any(|region| region.starts_with("US-"));
    if !has_metros && targeting.has_country(METRO_COUNTRY) && !is_us_excluded && !is_abroad {
        excluded.extend(metros(&targeting.geo_metros_exclude));
    }
    Geography { included, excluded }
}

fn caps(targeting: &PlaceTargeting) -> Result<Vec<FrequencyCap>, TargetingGap> {
    let Some(limit) = &targeting.frequency_cap else { return Ok(Vec::new()) };
    limit.check_pause()?;
    let mut caps = Vec::new();
    if let Some(span) = &limit.suppress {
        caps.push(cap(CapMaximum { impressions: 1, length: span.length()? }));
    }
    if caps.is_empty() || limit.max_impressions.is_some() || limit.window.is_some() {
        caps.push(cap(limit.maximum()?));
    }
    Ok(caps)
}

/// Returns a cap in Google's units.
fn cap(maximum: CapMaximum) -> FrequencyCap {
    let CapMaximum { impressions, length } = maximum;
    let of = |amount, unit| FrequencyCap { impressions, amount, unit };
    match length {
        CapLength::Minutes(minutes) => of(minutes, "MINUTE"),
        CapLength::Hours(hours) => of(hours, "HOUR"),
        CapLength::Days(days) => of(days, "DAY"),
        CapLength::Flight => of(1, "LIFETIME"),
    }
}
