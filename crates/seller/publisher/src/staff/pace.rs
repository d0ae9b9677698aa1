//! Pace of packages: what was to be delivered until the end of yesterday, and what was.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan as _};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, json};

use super::StaffView;
use crate::buy::report::{self, ADDITIVE, BuyDelivery, DeliveryReport, Period};
use crate::buy::{MediaBuy, Package};
use crate::inventory::{BookedPackage, InventoryBooking};
use crate::money::MoneyAmount;
use crate::reply::object;
use crate::store::Stored;

/// What was to be delivered and what was, of one package or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DeliveryPace {
    /// Units that are booked over the whole flight, where they are counted.
    units: Option<u64>,
    /// Units of them until the end of yesterday.
    expected_units: Option<u64>,
    /// Units that were delivered by then, where they are reported.
    delivered_units: Option<u64>,
    /// Part of the budget that was to be spent by then.
    expected_spend: MoneyAmount,
    /// Amount that was spent by then.
    spent: MoneyAmount,
}

impl DeliveryPace {
    /// Returns the members of a row: `pace` is the delivered part of what was expected, in percent.
    pub(super) fn members(self) -> Map {
        let hundred = MoneyAmount::whole(100);
        let percent = |done: MoneyAmount, expected: MoneyAmount| {
            (expected > MoneyAmount::ZERO)
                .then(|| hundred.portion(done, expected, MoneyAmount::whole(1)))
        };
        let units = |units: u64| MoneyAmount::from_count(units);
        let pace = match (self.delivered_units, self.expected_units) {
            (Some(done), Some(expected)) => percent(units(done), units(expected)),
            (Some(_) | None, Some(_) | None) => percent(self.spent, self.expected_spend),
        };
        object([
            ("units", Some(json!(self.units))),
            ("expected_units", Some(json!(self.expected_units))),
            ("delivered_units", Some(json!(self.delivered_units))),
            ("expected_spend", Some(json!(self.expected_spend))),
            ("pace", Some(json!(pace))),
        ])
    }

    /// Adds another package. Units add up only where every package has them.
    fn and(self, other: Self) -> Self {
        let both = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
        Self {
            units: both(self.units, other.units),
            expected_units: both(self.expected_units, other.expected_units),
            delivered_units: both(self.delivered_units, other.delivered_units),
            expected_spend: self.expected_spend + other.expected_spend,
            spent: self.spent + other.spent,
        }
    }
}

/// Returns the pace of a media buy: that of all packages.
pub(super) fn of_buy(
    view: &StaffView<'_>,
    stored: &Stored<MediaBuy>,
    delivery: &BuyDelivery,
) -> Result<DeliveryPace, InternalError> {
    let paces = of_packages(view, stored, delivery)?;
    Ok(paces.into_iter().reduce(DeliveryPace::and).unwrap_or_default())
}

/// Returns the paces of the packages of a media buy, in their order.
pub(super) fn of_packages(
    view: &StaffView<'_>,
    stored: &Stored<MediaBuy>,
    delivery: &BuyDelivery,
) -> Result<Vec<DeliveryPace>, InternalError> {
    let buy = &stored.thing;
    let zone = &view.publisher.profile.catalogue.inventory.time_zone;
    let day_of = |moment: Timestamp| moment.to_zoned(zone.clone()).date();
    let today = day_of(view.now);
    let begins = today.to_zoned(zone.clone()).map(|start| start.timestamp()).unwrap_or(view.now);
    let finished = Period { start: Timestamp::MIN, end: begins };
    let reports: Vec<&DeliveryReport> = delivery.within(finished).collect();
    let shares = report::shares(buy, &reports);
    let booking =
        view.reader.find::<InventoryBooking>(&stored.record.id)?.map(|stored| stored.thing);
    let mut paces = Vec::new();
    for (package, share) in buy.packages.iter().zip(&shares) {
        let booked = booking.iter().flat_map(|booking| &booking.packages);
        let booked: Vec<_> =
            booked.filter(|booked| booked.package_id == package.package_id).collect();
        let start = package.start_time.unwrap_or(buy.start_time);
        let end = package.end_time.unwrap_or(buy.end_time);
        let last = day_of(end.checked_sub(1.nanosecond()).unwrap_or(end).max(start));
        let flight = PackageFlight { package, first: day_of(start), last };
        paces.push(flight.pace(&booked, share, today));
    }
    Ok(paces)
}

/// Package with the days of its flight.
struct PackageFlight<'a> {
    package: &'a Package,
    first: Date,
    last: Date,
}

impl PackageFlight<'_> {
    fn pace(
        &self,
        booked: &[&BookedPackage],
        share: &[DeliveryReport],
        today: Date,
    ) -> DeliveryPace {
        let sum = |name: &str| share.iter().map(|part| part.figure(name)).sum::<MoneyAmount>();
        let days = |from: Date, to: Date| {
            let days = from.until(to).map_or(0, |span| span.get_days()).max(0);
            MoneyAmount::whole(days.unsigned_abs())
        };
        let behind = self.last.tomorrow().unwrap_or(self.last);
        let ended = days(self.first, today.min(behind));
        let expected_spend =
            self.package.budget.portion(ended, days(self.first, behind), MoneyAmount::CENT);
        let spent = sum("spend");
        let Some(first) = booked.first() else {
            return DeliveryPace { expected_spend, spent, ..DeliveryPace::default() };
        };
        let units = |until: Date| {
            let days = booked.iter().flat_map(|one| one.days());
            let days = days.filter(|(day, _)| *day < until);
            days.fold(0_u64, |sum, (_, units)| sum.saturating_add(units))
        };
        let is_reported = ADDITIVE.contains(&first.unit.as_str());
        DeliveryPace {
            units: Some(units(Date::MAX)),
            expected_units: Some(units(today)),
            delivered_units: is_reported.then(|| sum(&first.unit).to_count()),
            expected_spend,
            spent,
        }
    }
}
