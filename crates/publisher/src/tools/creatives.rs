//! The creative library: `sync_creatives` and `list_creatives`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tradepost_wire::fault::Fault;

use crate::admit::Admitted;
use crate::buy::{MediaBuy, Package, Status};
use crate::shelf::{Kept, Query, Shelf};

mod demand;
mod list;
mod sync;

pub(super) use demand::prepare;
pub(super) use list::perform as list;
pub(super) use sync::perform as sync;

/// The caller's media buys, and where in them a package stands.
struct Buys {
    buys: Vec<Kept<MediaBuy>>,
    places: BTreeMap<String, (usize, usize)>,
}

impl Buys {
    fn of(admitted: &Admitted, shelf: &dyn Shelf) -> Result<Self, Fault> {
        let buys: Vec<Kept<MediaBuy>> = admitted.reach.all(shelf, &Query::default())?;
        let mut places = BTreeMap::new();
        for (index, buy) in buys.iter().enumerate() {
            for (inner, package) in buy.thing.packages.iter().enumerate() {
                places.insert(package.package_id.clone(), (index, inner));
            }
        }
        Ok(Self { buys, places })
    }

    /// Every package with its buy.
    fn packages(&self) -> impl Iterator<Item = (&Kept<MediaBuy>, &Package)> + Clone {
        self.buys
            .iter()
            .flat_map(|buy| buy.thing.packages.iter().map(move |package| (buy, package)))
    }

    /// The package of this id.
    fn package(&self, id: &str) -> Option<&Package> {
        let (outer, inner) = self.places.get(id)?;
        self.buys.get(*outer)?.thing.packages.get(*inner)
    }

    /// The packages that a creative of an account is assigned to. `elsewhere` says whether another
    /// creative of the caller has the same id in the account with this id.
    fn assigned<'a>(
        &'a self,
        account: Option<&'a str>,
        creative_id: &'a str,
        elsewhere: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a Kept<MediaBuy>, &'a Package)> {
        self.packages().filter(move |(buy, package)| {
            // Ids of creatives are the buyer's and unique to an account; a buy on another account
            // means the creative of that account, where it has one of this id.
            let other = buy.record.account.as_deref();
            assigns(package, creative_id) && (other == account || !other.is_some_and(&elsewhere))
        })
    }
}

/// Whether a creative is assigned to a package.
fn assigns(package: &Package, creative_id: &str) -> bool {
    package.creative_assignments.iter().any(|assigned| assigned.is(creative_id))
}

/// Whether a package is being delivered now.
fn runs(buy: &MediaBuy, package: &Package, now: Timestamp) -> bool {
    let start = package.start_time.unwrap_or(buy.start_time);
    let end = package.end_time.unwrap_or(buy.end_time);
    let time = start <= now && now < end;
    buy.status_at(now) == Status::Active && time && !package.paused && package.is_live()
}
