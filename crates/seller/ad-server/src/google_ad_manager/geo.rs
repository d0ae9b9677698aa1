//! Google's ids of countries, regions and metro areas, looked up in its list of geographical targets and cached.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tradepost_document::cache::BoundedCache;
use tradepost_publisher::ad_server::{LineItemSpec, PackageProblem};

use super::GoogleAdManager;
use super::answers::{last_part, quoted};
use super::regions;
use super::targeting::{self, GeoIds};
use crate::check::{TARGETING, problem};
use crate::client::{AdServerRequest, refused, typed};
use crate::port::{AdServerError, RefusalReason};

/// Maximum number of cached places, misses included. There are fewer countries, regions and metro areas.
const MAX_CACHED: usize = 2_000;

/// Maximum number of places that one call looks up: one order must not use up the time and the quota of all. The call is
/// repeated, and finds those that the earlier ones have looked up.
const MAX_LOOKED_UP: usize = 50;

/// Time for the look-ups of one call. A question before a sale has five seconds, and counts as a failure of the ad server
/// when they are over.
const LOOK_UP_TIME: Duration = Duration::from_secs(2);

/// Time after which a place that is not there is looked up again.
const MISS_LIFETIME: Duration = Duration::from_hours(1);

/// What is added to the number of a metro area of Nielsen's for Google's id; the type of the target that has it
/// is looked at all the same.
const METRO_BASE: u32 = 200_000;

/// A place that a targeting names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum GeoPlace {
    /// A country (ISO 3166-1).
    Country(String),
    /// A region (ISO 3166-2).
    Region(String),
    /// A metro area of Nielsen's.
    Metro(u32),
}

impl GeoPlace {
    /// Returns the end of the members of a targeting that name it.
    const fn member(&self) -> &'static str {
        match self {
            Self::Country(_) => "geo_countries",
            Self::Region(_) => "geo_regions",
            Self::Metro(_) => "geo_metros",
        }
    }

    /// Returns its name in the words of the targeting.
    fn named(&self) -> String {
        match self {
            Self::Country(code) | Self::Region(code) => code.clone(),
            Self::Metro(number) => number.to_string(),
        }
    }
}

/// What a look-up has found.
#[derive(Debug, Clone)]
struct CachedPlace {
    /// Google's id; `None` if it has none that can be targeted.
    id: Option<String>,
    /// End of its use, by the clock's elapsed time. Ids are cached for good.
    ends: Option<Duration>,
}

/// Places that were looked up. Those that are not there are looked up again after an hour.
#[derive(Debug)]
pub(super) struct GeoCache(Mutex<BoundedCache<GeoPlace, CachedPlace>>);

impl Default for GeoCache {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(MAX_CACHED)))
    }
}

impl GeoCache {
    fn get(&self, place: &GeoPlace, now: Duration) -> Option<CachedPlace> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cached.get(place).filter(|found| found.ends.is_none_or(|ends| now < ends));
        found.cloned()
    }

    fn insert(&self, place: &GeoPlace, id: Option<String>, now: Duration) {
        let ends = id.is_none().then(|| now.saturating_add(MISS_LIFETIME));
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached.insert(place.clone(), CachedPlace { id, ends });
    }
}

/// Places that a call may still look up.
#[derive(Debug)]
pub(super) struct LookUpBudget {
    left: usize,
    /// Time of the clock at which no further look-up begins.
    end: Duration,
}

impl LookUpBudget {
    pub(super) fn new(now: Duration) -> Self {
        Self { left: MAX_LOOKED_UP, end: now + LOOK_UP_TIME }
    }

    /// Counts a look-up. Fails when there were as many as a call may have, or its time is over: the call has to be repeated.
    fn take(&mut self, now: Duration) -> Result<(), AdServerError> {
        match self.left.checked_sub(1) {
            Some(left) if now < self.end => {
                self.left = left;
                Ok(())
            }
            Some(_) | None => Err(AdServerError::NotYet { retry_after: None }),
        }
    }
}

/// A geographical target of Google's.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeoTarget {
    name: String,
    canonical_parent: Option<String>,
    region_code: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    targetable: bool,
}

impl GeoTarget {
    /// Returns true if it is of a type (`Country`, `DMA Region`), whatever its spelling.
    fn is_of(&self, kind: &str) -> bool {
        let letters = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase()
        };
        self.kind.as_deref().is_some_and(|own| letters(own) == letters(kind))
    }

    fn is_in(&self, country: &str) -> bool {
        self.region_code.as_deref() == Some(country)
    }
}

impl GoogleAdManager {
    /// Returns the geography of a line item by Google's ids. Fails with [`AdServerError::NotYet`] as long as there is more to
    /// look up than one call does.
    pub(super) async fn geo_ids(&self, line_item: &LineItemSpec) -> Result<GeoIds, AdServerError> {
        let geography = targeting::geography(line_item)?;
        let mut budget = LookUpBudget::new(self.clock.elapsed());
        let mut ids = GeoIds::default();
        for place in &geography.included {
            ids.included.push(self.known_geo_id(place, &mut budget).await?);
        }
        for place in &geography.excluded {
            ids.excluded.push(self.known_geo_id(place, &mut budget).await?);
        }
        Ok(ids)
    }

    /// Adds the problems of the places that a targeting names and Google does not have.
    pub(super) async fn geo_problems(
        &self,
        line_item: &LineItemSpec,
        budget: &mut LookUpBudget,
        problems: &mut Vec<PackageProblem>,
    ) -> Result<(), AdServerError> {
        let geography = targeting::geography(line_item)?;
        let included = geography.included.iter().map(|place| (place, ""));
        let excluded = geography.excluded.iter().map(|place| (place, "_exclude"));
        for (place, ending) in included.chain(excluded) {
            if self.geo_id(place, budget).await?.is_none() {
                let field = format!("{TARGETING}.{}{ending}", place.member());
                let message = format!("The ad server cannot target {}.", place.named());
                problems.push(problem(line_item, &field, message));
            }
        }
        Ok(())
    }

    async fn known_geo_id(
        &self,
        place: &GeoPlace,
        budget: &mut LookUpBudget,
    ) -> Result<String, AdServerError> {
        self.geo_id(place, budget).await?.ok_or_else(|| {
            let detail = format!("{}: it cannot target {}", place.member(), place.named());
            refused(RefusalReason::Invalid, detail)
        })
    }

    /// Returns Google's id of a place; `None` where it has none that can be targeted.
    async fn geo_id(
        &self,
        place: &GeoPlace,
        budget: &mut LookUpBudget,
    ) -> Result<Option<String>, AdServerError> {
        if let Some(cached) = self.geo.get(place, self.clock.elapsed()) {
            return Ok(cached.id);
        }
        budget.take(self.clock.elapsed())?;
        match place {
            GeoPlace::Country(code) => self.country_id(code).await,
            GeoPlace::Region(code) => self.kept_or(place, self.region(code)).await,
            GeoPlace::Metro(number) => self.kept_or(place, self.metro(*number)).await,
        }
    }

    async fn country_id(&self, code: &str) -> Result<Option<String>, AdServerError> {
        self.kept_or(&GeoPlace::Country(code.to_owned()), self.country(code)).await
    }

    /// Returns the cached id of a place, or looks it up.
    async fn kept_or(
        &self,
        place: &GeoPlace,
        look_up: impl Future<Output = Result<Option<String>, AdServerError>>,
    ) -> Result<Option<String>, AdServerError> {
        if let Some(cached) = self.geo.get(place, self.clock.elapsed()) {
            return Ok(cached.id);
        }
        let found = look_up.await?;
        self.geo.insert(place, found.clone(), self.clock.elapsed());
        Ok(found)
    }

    async fn country(&self, code: &str) -> Result<Option<String>, AdServerError> {
        let code = quoted(code);
        let filter = format!(r#"regionCode = {code} AND (type = "Country" OR type = "COUNTRY")"#);
        let found = self.geo_targets(filter).await?;
        Ok(only(found.iter().filter(|target| target.is_of("country"))))
    }

    /// Looks a region up by its English name: Google's list has no codes of ISO 3166-2. What is directly below the
    /// country is neither a city nor a county of the same name.
    async fn region(&self, code: &str) -> Result<Option<String>, AdServerError> {
        let Some(region) = regions::find(code) else { return Ok(None) };
        let Some(country) = self.country_id(region.country).await? else { return Ok(None) };
        let name = quoted(region.name);
        let filter = format!("regionCode = {} AND displayName = {name}", quoted(region.country));
        let found = self.geo_targets(filter).await?;
        let is_below = |target: &&GeoTarget| {
            let parent = target.canonical_parent.as_deref().map(last_part);
            parent == Some(country.as_str()) && !target.is_of("city") && !target.is_of("dma region")
        };
        Ok(only(found.iter().filter(is_below)))
    }

    async fn metro(&self, number: u32) -> Result<Option<String>, AdServerError> {
        let Some(id) = number.checked_add(METRO_BASE).filter(|_| number < 1_000) else {
            return Ok(None);
        };
        let path = self.client.path(&format!("geoTargets/{id}"));
        match self.client.rest(AdServerRequest::get(path)).await {
            Ok(answer) => {
                let target: GeoTarget = typed(&answer, "geographical target")?;
                let is_metro = target.is_of("dma region") && target.is_in("US");
                Ok((is_metro && target.targetable).then(|| last_part(&target.name).to_owned()))
            }
            Err(AdServerError::Refused { reason: RefusalReason::Missing, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn geo_targets(&self, filter: String) -> Result<Vec<GeoTarget>, AdServerError> {
        self.list("geoTargets", Some(filter)).await
    }
}

/// Returns the id of the only target that can be targeted; of several none is meant.
fn only<'t>(targets: impl Iterator<Item = &'t GeoTarget>) -> Option<String> {
    let mut targets = targets.filter(|target| target.targetable);
    let first = targets.next()?;
    targets.next().is_none().then(|| last_part(&first.name).to_owned())
}

#[cfg(test)]
mod tests;
