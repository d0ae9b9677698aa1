//! The creative library: `sync_creatives` and `list_creatives`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Map;

use crate::admit::Admitted;
use crate::buy::{Assigned, MediaBuy, MediaBuyStatus, Package};
use crate::creative::Creative;
use crate::forms::creatives::SyncCreatives;
use crate::store::{EntityRecord, IndexField, Query, StoreRead, Stored};
use crate::tools::buyer_records::Wanted;

mod demand;
mod list;
mod sync;

pub(super) use demand::prepare;
pub(super) use list::perform as list;
pub(super) use sync::perform as sync;

/// Media buys of the caller, with indexes of their packages.
struct Buys {
    buys: Vec<Stored<MediaBuy>>,
    by_package: BTreeMap<String, PackagePlace>,
    /// Packages that a creative is assigned to, by the buyer's id of the creative.
    by_creative: BTreeMap<String, BTreeSet<PackagePlace>>,
}

/// Place of a package among media buys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PackagePlace {
    buy: usize,
    package: usize,
}

impl Buys {
    /// Reads all media buys: for requests about every creative.
    fn all(admitted: &Admitted, reader: &dyn StoreRead) -> Result<Self, InternalError> {
        Ok(Self::new(admitted.reach.all(reader, &Query::default())?))
    }

    /// Reads only the media buys with one of these packages or creatives.
    fn read_naming<'a>(
        admitted: &Admitted,
        reader: &dyn StoreRead,
        packages: impl Iterator<Item = &'a str>,
        creatives: impl Iterator<Item = &'a str>,
    ) -> Result<Self, InternalError> {
        let with_package = Query::default().led_to_by_any(IndexField::Package, packages);
        let with_creative = Query::default().led_to_by_any(IndexField::Creative, creatives);
        let mut found: BTreeMap<u64, Stored<MediaBuy>> = BTreeMap::new();
        for query in [with_package, with_creative] {
            if query.terms.as_ref().is_none_or(|terms| terms.values.is_empty()) {
                continue;
            }
            for buy in admitted.reach.all::<MediaBuy>(reader, &query)? {
                found.insert(buy.record.place, buy);
            }
        }
        Ok(Self::new(found.into_values().collect()))
    }

    fn new(buys: Vec<Stored<MediaBuy>>) -> Self {
        let mut by_package = BTreeMap::new();
        let mut by_creative: BTreeMap<String, BTreeSet<PackagePlace>> = BTreeMap::new();
        for (outer, buy) in buys.iter().enumerate() {
            for (inner, package) in buy.thing.packages.iter().enumerate() {
                let place = PackagePlace { buy: outer, package: inner };
                by_package.insert(package.package_id.clone(), place);
                let assigned = package.creative_assignments.iter();
                for id in assigned.filter_map(|assigned| assigned.creative_id.as_ref()) {
                    by_creative.entry(id.clone()).or_default().insert(place);
                }
            }
        }
        Self { buys, by_package, by_creative }
    }

    /// Returns all packages with their media buys.
    fn packages(&self) -> impl Iterator<Item = (&Stored<MediaBuy>, &Package)> + Clone {
        self.buys
            .iter()
            .flat_map(|buy| buy.thing.packages.iter().map(move |package| (buy, package)))
    }

    /// Returns the package with this id.
    fn package(&self, id: &str) -> Option<&Package> {
        self.at(*self.by_package.get(id)?).map(|(_, package)| package)
    }

    fn at(&self, place: PackagePlace) -> Option<(&Stored<MediaBuy>, &Package)> {
        let buy = self.buys.get(place.buy)?;
        Some((buy, buy.thing.packages.get(place.package)?))
    }

    /// Assigns a creative to a package with these terms, in memory. A repeated assignment replaces the earlier
    /// terms.
    fn assign(&mut self, package_id: &str, creative_id: &str, given: Map) {
        let Some(place) = self.by_package.get(package_id) else { return };
        let buy = self.buys.get_mut(place.buy);
        let Some(package) = buy.and_then(|buy| buy.thing.packages.get_mut(place.package)) else {
            return;
        };
        package.creative_assignments.retain(|known| !known.is(creative_id));
        let creative_id = creative_id.to_owned();
        self.by_creative.entry(creative_id.clone()).or_default().insert(*place);
        package.creative_assignments.push(Assigned { creative_id: Some(creative_id), given });
    }

    /// Returns the packages that name a creative by this id, with their media buys.
    fn with_creative<'a>(
        &'a self,
        creative_id: &str,
    ) -> impl Iterator<Item = (&'a Stored<MediaBuy>, &'a Package)> + Clone + use<'a> {
        let places = self.by_creative.get(creative_id);
        places.into_iter().flatten().filter_map(|place| self.at(*place))
    }

    /// Returns the packages that a creative of an account is assigned to. `is_elsewhere` returns true
    /// when the account of a media buy has a creative of the caller with the same id.
    fn assigned<'a>(
        &'a self,
        account: Option<&'a str>,
        creative_id: &str,
        is_elsewhere: impl Fn(&EntityRecord) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a Stored<MediaBuy>, &'a Package)> {
        // Creative ids are unique only within an account: a media buy of another account means
        // that account's creative when it has one with this id.
        self.with_creative(creative_id).filter(move |(buy, _)| {
            buy.record.account.as_deref() == account || !is_elsewhere(&buy.record)
        })
    }
}

/// Returns the selection of library creatives that a sync may affect.
fn wanted(form: &SyncCreatives) -> Wanted<'_> {
    if form.delete_missing {
        return Wanted::All;
    }
    Wanted::Named(named(form).collect())
}

/// Returns the ids of the creatives that a sync sends or assigns.
fn named(form: &SyncCreatives) -> impl Iterator<Item = &str> {
    let sent = form.creatives.iter().map(|given| given.creative_id.as_str());
    sent.chain(form.assignments.iter().map(|assignment| assignment.creative_id.as_str()))
}

/// Returns the media buys that a sync may affect: those with a package that it names or a creative that it
/// sends, assigns or may remove.
fn buys_of(
    admitted: &Admitted,
    reader: &dyn StoreRead,
    form: &SyncCreatives,
    library: &BTreeMap<String, Stored<Creative>>,
) -> Result<Buys, InternalError> {
    if form.delete_missing {
        return Buys::all(admitted, reader);
    }
    let packages = form.assignments.iter().map(|assignment| assignment.package_id.as_str());
    let known = library.keys().map(String::as_str);
    Buys::read_naming(admitted, reader, packages, named(form).chain(known))
}

/// Returns true when a creative is assigned to a package.
fn assigns(package: &Package, creative_id: &str) -> bool {
    package.creative_assignments.iter().any(|assigned| assigned.is(creative_id))
}

/// Returns true when a package is being delivered now.
fn runs(buy: &MediaBuy, package: &Package, now: Timestamp) -> bool {
    let start = package.start_time.unwrap_or(buy.start_time);
    let end = package.end_time.unwrap_or(buy.end_time);
    let time = start <= now && now < end;
    buy.status_at(now) == MediaBuyStatus::Active && time && !package.paused && package.is_live()
}
