//! Capacity of products that are counted here, as the catalogue declares it: units of a pool on each day.
//! Several products may share a pool.

use std::collections::BTreeMap;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize};

/// Unit that is counted where none is named.
const IMPRESSIONS: &str = "impressions";

/// Maximum number of units on a day.
pub(crate) const MAX_UNITS: u64 = 1_000_000_000_000;

/// Terms that hold for all inventory that is counted here.
#[derive(Debug, Clone, PartialEq)]
pub struct InventoryTerms {
    /// Time zone in which days begin.
    pub time_zone: TimeZone,
}

impl Default for InventoryTerms {
    fn default() -> Self {
        Self { time_zone: TimeZone::UTC }
    }
}

impl<'de> Deserialize<'de> for InventoryTerms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Named {
            time_zone: Option<String>,
        }
        let Named { time_zone } = Named::deserialize(deserializer)?;
        let Some(name) = time_zone else { return Ok(Self::default()) };
        let zone = TimeZone::get(&name).ok().filter(|zone| !zone.is_unknown());
        let message = "time_zone must be a time zone of the IANA database such as America/New_York";
        let time_zone = zone.ok_or_else(|| serde::de::Error::custom(message))?;
        Ok(Self { time_zone })
    }
}

/// Capacity of a product.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProductCapacity {
    /// Pool of units that it shares with other products; a pool of its own, with its id, when `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
    /// Unit that is counted, by the name of its metric; impressions when `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Units on a day. One product of a pool has to say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_day: Option<u64>,
    /// Units on some days of the week, in place of `per_day`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weekdays: BTreeMap<DayOfWeek, u64>,
    /// Units on some dates, in place of all others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub dates: BTreeMap<Date, u64>,
    /// Units that a package takes on each day of its flight where its price does not count the unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units_per_day: Option<u64>,
    /// True when packages at auction prices are counted, too: at their bid, or else at the floor.
    #[serde(skip_serializing_if = "is_false")]
    pub auctions: bool,
}

/// Returns true for false, which is not written.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

tradepost_document::words! {
    /// Day of the week (`enums/day-of-week.json`).
    pub enum DayOfWeek {
        /// Monday.
        Monday = "monday",
        /// Tuesday.
        Tuesday = "tuesday",
        /// Wednesday.
        Wednesday = "wednesday",
        /// Thursday.
        Thursday = "thursday",
        /// Friday.
        Friday = "friday",
        /// Saturday.
        Saturday = "saturday",
        /// Sunday.
        Sunday = "sunday",
    }
}

impl From<Weekday> for DayOfWeek {
    fn from(day: Weekday) -> Self {
        match day {
            Weekday::Monday => Self::Monday,
            Weekday::Tuesday => Self::Tuesday,
            Weekday::Wednesday => Self::Wednesday,
            Weekday::Thursday => Self::Thursday,
            Weekday::Friday => Self::Friday,
            Weekday::Saturday => Self::Saturday,
            Weekday::Sunday => Self::Sunday,
        }
    }
}

/// Unit of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedUnit {
    /// The unit, by the name of its metric.
    pub unit: &'static str,
    /// Number of units that the price is for.
    pub each: u32,
}

impl CountedUnit {
    /// Returns the unit that prices of a model (`enums/pricing-model.json`) count; `None` where they count none,
    /// such as flat rates.
    #[must_use]
    pub fn from_model(model: &str) -> Option<Self> {
        let counted = |unit, each| Some(Self { unit, each });
        match model {
            "cpm" | "vcpm" => counted(IMPRESSIONS, 1000),
            "cpc" => counted("clicks", 1),
            "cpcv" => counted("completed_views", 1),
            "cpv" => counted("views", 1),
            "cpp" => counted("grps", 1),
            "cpa" => counted("conversions", 1),
            _ => None,
        }
    }
}

/// Capacity that a product declares, and its pool.
#[derive(Debug, Clone, Copy)]
pub struct DeclaredCapacity<'a> {
    /// The pool.
    pub pool: &'a str,
    /// The capacity.
    pub capacity: &'a ProductCapacity,
}

/// Capacity of a pool, as one of its products declares it.
#[derive(Debug, Clone, Copy)]
pub struct PoolCapacity<'a>(&'a ProductCapacity);

impl<'a> PoolCapacity<'a> {
    /// Finds the capacity of a pool among those that products declare; `None` when none does.
    #[must_use]
    pub fn find(
        mut declared: impl Iterator<Item = DeclaredCapacity<'a>>,
        pool: &str,
    ) -> Option<Self> {
        let of_pool = declared.find(|one| one.pool == pool && one.capacity.per_day.is_some());
        of_pool.map(|one| Self(one.capacity))
    }

    /// Returns the unit that is counted.
    #[must_use]
    pub fn unit(self) -> &'a str {
        self.0.unit.as_deref().unwrap_or(IMPRESSIONS)
    }

    /// Returns the units on a day that nothing else is said about.
    #[must_use]
    pub fn per_day(self) -> u64 {
        self.0.per_day.unwrap_or_default()
    }

    /// Returns the units on a day.
    #[must_use]
    pub fn on(self, day: Date) -> u64 {
        let weekday = || self.0.weekdays.get(&DayOfWeek::from(day.weekday()));
        let special = self.0.dates.get(&day).or_else(weekday).copied();
        special.or(self.0.per_day).unwrap_or_default()
    }
}

impl PoolCapacity<'_> {
    /// Returns true if another product declares the same capacity.
    #[must_use]
    pub fn says_the_same(self, other: &ProductCapacity) -> bool {
        self.0.per_day == other.per_day
            && self.unit() == PoolCapacity(other).unit()
            && self.0.weekdays == other.weekdays
            && self.0.dates == other.dates
    }
}
