//! Targeting of a line item, as adapters with lists of places read it, and what none of them can say of it.

use serde::Deserialize;
use tradepost_document::json::{Map, Value};
use tradepost_publisher::ad_server::LineItemSpec;

use crate::check::{PackageProblems, TARGETING};
use crate::client::refused;
use crate::port::{AdServerError, RefusalReason};

/// System of metro areas that the adapters have.
pub(crate) const METRO_SYSTEM: &str = "nielsen_dma";

/// Country of the metro areas.
pub(crate) const METRO_COUNTRY: &str = "US";

/// What is wrong with metro areas.
const KNOWN_METROS: &str = "The ad server has the metro areas of nielsen_dma, which are numbers.";

/// What is wrong with regions.
const KNOWN_REGIONS: &str = "The ad server takes regions such as US-CA.";

/// Member of a targeting with its frequency cap.
const FREQUENCY_CAP: &str = "frequency_cap";

/// Members of a targeting that are read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PlaceTargeting {
    pub(crate) geo_countries: Vec<String>,
    pub(crate) geo_countries_exclude: Vec<String>,
    pub(crate) geo_regions: Vec<String>,
    pub(crate) geo_regions_exclude: Vec<String>,
    pub(crate) geo_metros: Vec<MetroAreas>,
    pub(crate) geo_metros_exclude: Vec<MetroAreas>,
    pub(crate) frequency_cap: Option<FrequencyLimit>,
}

/// Metro areas of a system.
#[derive(Debug, Deserialize)]
pub(crate) struct MetroAreas {
    system: String,
    values: Vec<String>,
}

/// A frequency cap, as a buyer sends it.
#[derive(Debug, Deserialize)]
pub(crate) struct FrequencyLimit {
    /// Pause between two impressions.
    pub(crate) suppress: Option<CapSpan>,
    suppress_minutes: Option<Value>,
    pub(crate) max_impressions: Option<u32>,
    per: Option<String>,
    pub(crate) window: Option<CapSpan>,
}

/// A time of a frequency cap.
#[derive(Debug, Deserialize)]
pub(crate) struct CapSpan {
    interval: u32,
    unit: String,
}

/// A time of a frequency cap in the units of the adapters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CapLength {
    /// Minutes.
    Minutes(u32),
    /// Hours.
    Hours(u32),
    /// Days.
    Days(u32),
    /// The whole flight.
    Flight,
}

/// Maximum number of impressions within a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CapMaximum {
    pub(crate) impressions: u32,
    pub(crate) length: CapLength,
}

/// Something that an ad server cannot do, with the member that asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TargetingGap {
    member: &'static str,
    message: &'static str,
}

impl TargetingGap {
    /// Creates the gap of a member.
    pub(crate) const fn new(member: &'static str, message: &'static str) -> Self {
        Self { member, message }
    }

    /// Creates the gap of the frequency cap.
    pub(crate) const fn from_frequency_cap(message: &'static str) -> Self {
        Self::new(FREQUENCY_CAP, message)
    }
}

impl From<TargetingGap> for AdServerError {
    fn from(gap: TargetingGap) -> Self {
        refused(RefusalReason::Invalid, format!("{}: {}", gap.member, gap.message))
    }
}

/// Reports what an ad server cannot do of a line item's targeting: its geography by `geo_gaps`, its frequency cap by
/// `cap`.
pub(crate) fn check<C>(
    line_item: &LineItemSpec,
    found: &mut PackageProblems<'_>,
    geo_gaps: impl Fn(&PlaceTargeting) -> Vec<TargetingGap>,
    cap: impl Fn(&PlaceTargeting) -> Result<C, TargetingGap>,
) {
    match PlaceTargeting::read(&line_item.targeting) {
        Ok(targeting) => {
            for gap in geo_gaps(&targeting).into_iter().chain(cap(&targeting).err()) {
                found.report_targeting(gap.member, gap.message);
            }
        }
        Err(gap) => found.report(gap.member, gap.message),
    }
}

/// Reads the places of a line item's inventory with `place`; `None` when one cannot be read, or there are none: a line
/// item without any would run everywhere.
pub(crate) fn inventory<T>(
    line_item: &LineItemSpec,
    place: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    let places: Option<Vec<T>> = line_item.inventory.iter().map(|entry| place(entry)).collect();
    places.filter(|places| !places.is_empty())
}

/// Returns the numbers of metro areas.
pub(crate) fn metro_numbers(areas: &[MetroAreas]) -> impl Iterator<Item = u32> {
    areas.iter().flat_map(|areas| &areas.values).filter_map(|code| code.parse().ok())
}

/// Returns the country of a region such as US-CA.
pub(crate) fn country_of(region: &str) -> &str {
    region.split_once('-').map_or(region, |(country, _)| country)
}

impl PlaceTargeting {
    /// Reads a targeting.
    pub(crate) fn read(targeting: &Map) -> Result<Self, TargetingGap> {
        let targeting = Value::Object(targeting.clone());
        Self::deserialize(&targeting)
            .map_err(|_| TargetingGap::new(TARGETING, "The targeting is not in AdCP's form."))
    }

    /// Returns true if a country is one of those that are targeted, or none is.
    pub(crate) fn has_country(&self, code: &str) -> bool {
        self.geo_countries.is_empty() || self.geo_countries.iter().any(|own| own == code)
    }

    /// Returns what of the geography lists of alternatives cannot say.
    pub(crate) fn geo_gaps(&self) -> Vec<TargetingGap> {
        let mut gaps = Vec::new();
        let mut require = |is_met: bool, member: &'static str, message: &'static str| {
            if !is_met {
                gaps.push(TargetingGap::new(member, message));
            }
        };
        let are_regions = |regions: &[String]| regions.iter().all(|region| is_region(region));
        let are_known = |areas: &[MetroAreas]| areas.iter().all(MetroAreas::is_known);
        require(
            self.geo_regions.is_empty() || self.geo_metros.is_empty(),
            "geo_metros",
            "The ad server targets regions or metro areas, not both at once.",
        );
        require(
            self.geo_regions.iter().all(|region| self.has_country(country_of(region))),
            "geo_regions",
            "A region is outside of the countries.",
        );
        require(are_regions(&self.geo_regions), "geo_regions", KNOWN_REGIONS);
        require(are_regions(&self.geo_regions_exclude), "geo_regions_exclude", KNOWN_REGIONS);
        require(
            self.geo_metros.is_empty() || self.has_country(METRO_COUNTRY),
            "geo_metros",
            "A metro area is outside of the countries.",
        );
        require(are_known(&self.geo_metros), "geo_metros", KNOWN_METROS);
        require(are_known(&self.geo_metros_exclude), "geo_metros_exclude", KNOWN_METROS);
        gaps
    }
}

impl MetroAreas {
    fn is_known(&self) -> bool {
        self.system == METRO_SYSTEM && self.values.iter().all(|code| code.parse::<u32>().is_ok())
    }
}

fn is_region(region: &str) -> bool {
    region.split_once('-').is_some_and(|(country, code)| country.len() == 2 && !code.is_empty())
}

impl FrequencyLimit {
    /// Checks that a pause is one that the adapters read.
    pub(crate) fn check_pause(&self) -> Result<(), TargetingGap> {
        if self.suppress_minutes.is_some() && self.suppress.is_none() {
            return Err(TargetingGap::from_frequency_cap(
                "Send suppress instead of suppress_minutes.",
            ));
        }
        Ok(())
    }

    /// Returns the maximum with its window. The adapters cap by a person or device.
    pub(crate) fn maximum(&self) -> Result<CapMaximum, TargetingGap> {
        let (Some(impressions), Some(span)) = (self.max_impressions, &self.window) else {
            return Err(TargetingGap::from_frequency_cap("The cap has no maximum with a window."));
        };
        if matches!(self.per.as_deref(), Some("households" | "custom")) {
            return Err(TargetingGap::from_frequency_cap(
                "The ad server caps by person or device.",
            ));
        }
        Ok(CapMaximum { impressions, length: span.length()? })
    }
}

impl CapSpan {
    /// Returns it in a unit that the adapters have.
    pub(crate) fn length(&self) -> Result<CapLength, TargetingGap> {
        match self.unit.as_str() {
            "seconds" if self.interval.is_multiple_of(60) => {
                Ok(CapLength::Minutes(self.interval / 60))
            }
            "seconds" => {
                Err(TargetingGap::from_frequency_cap("The ad server counts in whole minutes."))
            }
            "minutes" => Ok(CapLength::Minutes(self.interval)),
            "hours" => Ok(CapLength::Hours(self.interval)),
            "days" => Ok(CapLength::Days(self.interval)),
            "campaign" => Ok(CapLength::Flight),
            _ => Err(TargetingGap::from_frequency_cap(
                "The ad server counts in minutes, hours or days.",
            )),
        }
    }
}
