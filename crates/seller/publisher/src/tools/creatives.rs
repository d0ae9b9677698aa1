//! The creative library: `sync_creatives` and `list_creatives`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use crate::admit::Admitted;
use crate::buy::{MediaBuy, MediaBuyStatus, Package};
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

/// Media buys of the caller, with an index of their packages.
struct Buys {
    buys: Vec<Stored<MediaBuy>>,
    places: BTreeMap<String, (usize, usize)>,
}

impl Buys {
    /// Reads all media buys: for requests about every creative.
    fn all(admitted: &Admitted, reader: &dyn StoreRead) -> Result<Self, InternalError> {
        Ok(Self::new(admitted.reach.all(reader, &Query::default())?))
    }

    /// Reads only the media buys with one of these packages or creatives.
    fn naming<'a>(
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
        let mut places = BTreeMap::new();
        for (index, buy) in buys.iter().enumerate() {
            for (inner, package) in buy.thing.packages.iter().enumerate() {
                places.insert(package.package_id.clone(), (index, inner));
            }
        }
        Self { buys, places }
    }

    /// Returns all packages with their media buys.
    fn packages(&self) -> impl Iterator<Item = (&Stored<MediaBuy>, &Package)> + Clone {
        self.buys
            .iter()
            .flat_map(|buy| buy.thing.packages.iter().map(move |package| (buy, package)))
    }

    /// Returns the package with this id.
    fn package(&self, id: &str) -> Option<&Package> {
        let (outer, inner) = self.places.get(id)?;
        self.buys.get(*outer)?.thing.packages.get(*inner)
    }

    /// Returns the packages that a creative of an account is assigned to. `is_elsewhere` returns true
    /// when the account of a media buy has a creative of the caller with the same id.
    fn assigned<'a>(
        &'a self,
        account: Option<&'a str>,
        creative_id: &'a str,
        is_elsewhere: impl Fn(&EntityRecord) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a Stored<MediaBuy>, &'a Package)> {
        self.packages().filter(move |(buy, package)| {
            // Creative ids are unique only within an account: a media buy of another account means
            // that account's creative when it has one with this id.
            assigns(package, creative_id)
                && (buy.record.account.as_deref() == account || !is_elsewhere(&buy.record))
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
    Buys::naming(admitted, reader, packages, named(form).chain(known))
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
