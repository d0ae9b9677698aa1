//! Units that packages want, and how they are spread over the days of a flight.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};

use super::InventoryContext;
use super::quantity::{PackageQuantity, pool_capacity};
use super::record::{BookedPackage, InventoryBooking, each_day, runs_of};
use crate::account::Account;
use crate::buy::{MediaBuy, Package};
use crate::catalogue::Product;
use crate::exclusive;
use crate::proposal::{Proposal, ProposalEnvelope};

/// Maximum number of days of a flight that are counted.
const MAX_COUNTED_DAYS: i64 = 3_660;

/// Units that a package wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedUnits {
    /// The package; empty for one that has no id yet.
    pub package_id: String,
    /// Its product.
    pub product_id: String,
    /// Pool of the product.
    pub pool: String,
    /// Unit of the pool.
    pub unit: String,
    /// Units.
    pub quantity: PackageQuantity,
    /// The first day of its flight.
    pub first_day: Date,
    /// The last day of its flight.
    pub last_day: Date,
    /// The place in the request that a refusal names.
    pub field: String,
}

impl WantedUnits {
    /// Returns what a buy's live packages want of counted products; nothing when it has ended or is not made.
    /// `field` names the place of a package in the request.
    pub(crate) fn from_buy(
        context: &InventoryContext<'_>,
        buy: &MediaBuy,
        field: impl Fn(usize) -> String,
    ) -> Vec<Self> {
        if exclusive::is_over(buy) {
            return Vec::new();
        }
        let mut wanted = Vec::new();
        for (index, package) in buy.packages.iter().enumerate().filter(|(_, one)| one.is_live()) {
            let start = package.start_time.unwrap_or(buy.start_time);
            let end = package.end_time.unwrap_or(buy.end_time);
            wanted.extend(Self::from_package(context, package, start, end, field(index)));
        }
        wanted
    }

    /// Returns what a package wants; `None` when it is not counted.
    pub(crate) fn from_package(
        context: &InventoryContext<'_>,
        package: &Package,
        start: Timestamp,
        end: Timestamp,
        field: String,
    ) -> Option<Self> {
        let product = context.product(&package.product_id)?;
        let pool = product.pool()?;
        let unit = pool_capacity(context.offer, pool)?.unit();
        let bid = package.shown.bid_price;
        let quantity = product.quantity(unit, &package.price, bid, package.budget);
        // The end of a flight is not part of it: midnight counts as the day before.
        let last = end.checked_sub(1.nanosecond()).unwrap_or(end).max(start);
        (quantity != PackageQuantity::Uncounted).then(|| Self {
            package_id: package.package_id.clone(),
            product_id: package.product_id.clone(),
            pool: pool.to_owned(),
            unit: unit.to_owned(),
            quantity,
            first_day: context.day_of(start),
            last_day: context.day_of(last),
            field,
        })
    }

    /// Returns what a proposal wants; nothing while its flight or its budget is not known.
    pub(crate) fn from_proposal(
        context: &InventoryContext<'_>,
        proposal: &Proposal,
        account: Option<&Account>,
        field: &str,
    ) -> Vec<Self> {
        let Some(budget) = proposal.envelope.budget else { return Vec::new() };
        let Some(days) = proposal_days(proposal) else { return Vec::new() };
        let mut wanted = Vec::new();
        for (part, share) in proposal.divide(budget) {
            let Some(product) = context.product(&part.product_id) else { continue };
            let Some(pool) = product.pool() else { continue };
            let Some(capacity) = pool_capacity(context.offer, pool) else { continue };
            let Some(price) = product.price_for(account, &part.pricing_option_id) else { continue };
            let quantity = product.quantity(capacity.unit(), price, None, share);
            if quantity != PackageQuantity::Uncounted {
                wanted.push(Self {
                    package_id: String::new(),
                    product_id: part.product_id.clone(),
                    pool: pool.to_owned(),
                    unit: capacity.unit().to_owned(),
                    quantity,
                    first_day: days.first,
                    last_day: days.last,
                    field: field.to_owned(),
                });
            }
        }
        wanted
    }

    /// Returns true if another wants the same units on the same days.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let Self { package_id, product_id, pool, unit: _, quantity, first_day, last_day, field: _ } =
            self;
        (package_id, product_id, pool) == (&other.package_id, &other.product_id, &other.pool)
            && quantity == &other.quantity
            && (first_day, last_day) == (&other.first_day, &other.last_day)
    }

    /// Spreads the units evenly over the days from `first` on on which the pool has any; `past` of them were
    /// spread over earlier days. The first days have one unit more where it does not come out even.
    pub(crate) fn spread(&self, offer: &[Product], first: Date, past: u64) -> BTreeMap<Date, u64> {
        let first = first.max(self.first_day);
        let most = self.first_day.checked_add(MAX_COUNTED_DAYS.days()).unwrap_or(Date::MAX);
        let last = self.last_day.min(most);
        let capacity = pool_capacity(offer, &self.pool);
        let runs = |day: &Date| capacity.is_none_or(|capacity| capacity.on(*day) > 0);
        let mut days: Vec<Date> = each_day(first, last).filter(runs).collect();
        if days.is_empty() {
            // There is nothing on any of them, which is for a refusal to say.
            days = each_day(first, last).collect();
        }
        match self.quantity {
            PackageQuantity::Uncounted => BTreeMap::new(),
            PackageQuantity::PerDay(units) => days.into_iter().map(|day| (day, units)).collect(),
            PackageQuantity::Total(total) => evenly(total.saturating_sub(past), &days),
        }
    }
}

/// Divides units over days.
fn evenly(total: u64, days: &[Date]) -> BTreeMap<Date, u64> {
    let count = u64::try_from(days.len()).unwrap_or(u64::MAX).max(1);
    let each = total / count;
    let rest = total % count;
    let units = (0_u64..).map(|index| each + u64::from(index < rest));
    days.iter().copied().zip(units).filter(|(_, units)| *units > 0).collect()
}

/// Days of a flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FlightDays {
    /// The first day.
    pub first: Date,
    /// The last day.
    pub last: Date,
}

/// Returns the days of a proposal's flight, when it is known.
pub(super) fn proposal_days(proposal: &Proposal) -> Option<FlightDays> {
    let ProposalEnvelope { start_date, end_date, .. } = &proposal.envelope;
    let first = start_date.as_ref()?.parse().ok()?;
    let last = end_date.as_ref()?.parse().ok()?;
    Some(FlightDays { first, last })
}

impl InventoryContext<'_> {
    /// Returns the product with this id.
    pub(super) fn product(&self, id: &str) -> Option<&Product> {
        self.offer.iter().find(|product| product.id() == id)
    }

    /// Returns true if a package of a buy is of a counted product.
    pub(super) fn counts_any(&self, buy: &MediaBuy) -> bool {
        let mut packages = buy.packages.iter();
        packages.any(|package| {
            self.product(&package.product_id).is_some_and(|product| product.pool().is_some())
        })
    }

    /// Returns what a buy's packages are to have booked. What ran stays as it was, and the rest of the units
    /// is spread over the days from today on. Packages of a product that has left the offer keep what they
    /// have while they are live.
    pub(super) fn packages_of(
        &self,
        buy: &MediaBuy,
        known: Option<&InventoryBooking>,
    ) -> Vec<BookedPackage> {
        let wanted = WantedUnits::from_buy(self, buy, |_| String::new());
        let mut packages = Vec::new();
        for package in &buy.packages {
            let own = known.into_iter().flat_map(|booking| &booking.packages);
            let own: Vec<&BookedPackage> =
                own.filter(|booked| booked.package_id == package.package_id).collect();
            let is_gone = self.product(&package.product_id).is_none();
            if is_gone && package.is_live() && !exclusive::is_over(buy) {
                packages.extend(own.into_iter().cloned());
                continue;
            }
            let wants = wanted.iter().find(|one| one.package_id == package.package_id);
            packages.extend(self.booked(buy, wants, &own));
        }
        packages.retain(|package| !package.runs.is_empty());
        packages
    }

    /// Returns what a package is to have booked in each pool.
    fn booked(
        &self,
        buy: &MediaBuy,
        wanted: Option<&WantedUnits>,
        own: &[&BookedPackage],
    ) -> Vec<BookedPackage> {
        let mut packages: Vec<BookedPackage> = Vec::new();
        let mut past = 0_u64;
        for booked in own {
            let ran = self.ran(buy, booked);
            past = ran.values().fold(past, |sum, units| sum.saturating_add(*units));
            packages.push(BookedPackage { runs: runs_of(&ran), ..(*booked).clone() });
        }
        let Some(wanted) = wanted else { return packages };
        // A package that has nothing yet has its whole flight before it, also where it was made before its
        // product was counted.
        let is_new = own.is_empty() || buy.confirmed_at.is_none();
        let first = if is_new { wanted.first_day } else { self.today() };
        let mut days = wanted.spread(self.offer, first, if is_new { 0 } else { past });
        match packages.iter_mut().find(|package| package.pool == wanted.pool) {
            Some(package) => {
                days.extend(package.days());
                package.runs = runs_of(&days);
                package.unit.clone_from(&wanted.unit);
            }
            None => packages.push(BookedPackage {
                package_id: wanted.package_id.clone(),
                product_id: wanted.product_id.clone(),
                pool: wanted.pool.clone(),
                unit: wanted.unit.clone(),
                runs: runs_of(&days),
            }),
        }
        packages
    }

    /// Returns the units of days before today on which a package ran.
    pub(super) fn ran(&self, buy: &MediaBuy, booked: &BookedPackage) -> BTreeMap<Date, u64> {
        let Some(confirmed_at) = buy.confirmed_at else { return BTreeMap::new() };
        let confirmed_on = self.day_of(confirmed_at);
        let today = self.today();
        let mut days = booked.days();
        days.retain(|day, _| confirmed_on <= *day && *day < today);
        days
    }
}
