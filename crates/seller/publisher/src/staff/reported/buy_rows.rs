//! Rows about one media buy: which of its packages a row means, and what the rows change.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;

use super::{MAX_BUDGETS, ReportField, ReportedBuy, ReportedDay, RowProblem, SILENT};
use crate::buy::days::{DeliveryDays, PackageDays};
use crate::buy::report::{BuyDelivery, DeliveryReport};
use crate::buy::{MediaBuy, Package};
use crate::money::MoneyAmount;
use crate::remote_order::RemoteOrder;
use crate::store::Stored;

/// Rows about one media buy.
pub(super) struct BuyRows {
    pub(super) buy: Stored<MediaBuy>,
    pub(super) order: Option<RemoteOrder>,
    pub(super) known: Option<Stored<BuyDelivery>>,
    pub(super) days: DeliveryDays,
    pub(super) count: usize,
    /// First row of each package and day.
    pub(super) seen: BTreeMap<SeenDay, usize>,
    /// Whether the figures of a package's flight were closed before the rows.
    pub(super) closed: BTreeMap<String, bool>,
    /// What the rows say of each package.
    pub(super) packages: BTreeMap<String, ReportedPackage>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SeenDay {
    pub(super) package_id: String,
    pub(super) day: Date,
}

/// Package that rows are about.
pub(super) struct ReportedPackage {
    pub(super) budget: MoneyAmount,
    pub(super) spent_before: MoneyAmount,
    /// Row with the highest spend.
    pub(super) costliest: usize,
    pub(super) highest: MoneyAmount,
}

impl BuyRows {
    /// Returns the package of a row.
    pub(super) fn package_of(
        &self,
        row: &ReportedDay,
        problems: &mut Vec<RowProblem>,
    ) -> Option<&Package> {
        let packages = &self.buy.thing.packages;
        let mut wrong = |field, message: &str, hint: &str| {
            problems.push(RowProblem::new(row.row, field, message, hint));
        };
        let by_id = |id: &String| packages.iter().find(|package| package.package_id == *id);
        let line_item = row.line_item_id.as_ref().filter(|_| self.has_line_items());
        let carried = line_item.and_then(|line_item| self.carried_by(line_item)).and_then(by_id);
        if line_item.is_some() && carried.is_none() {
            let hint = "check it, or leave it out for a line item that people have set up";
            wrong(ReportField::LineItem, "the media buy has no such line item", hint);
            return None;
        }
        if let Some(id) = &row.package_id {
            let found = by_id(id);
            if found.is_none() {
                let hint = "`tradepost publisher packages list` lists them";
                wrong(ReportField::Package, "the media buy has no such package", hint);
            } else if carried.is_some_and(|package| package.package_id != *id) {
                let hint = "check the ids: they have to name one package";
                wrong(ReportField::LineItem, "belongs to another package", hint);
                return None;
            }
            return found;
        }
        if carried.is_some() {
            return carried;
        }
        match packages.as_slice() {
            [package] => Some(package),
            [] | [_, _, ..] => {
                let hint = "give the package of each row";
                wrong(ReportField::Package, "the media buy has several packages", hint);
                None
            }
        }
    }

    fn has_line_items(&self) -> bool {
        self.order.as_ref().is_some_and(|order| !order.line_items.is_empty())
    }

    /// Returns the id of the package that a line item carries.
    fn carried_by(&self, line_item: &str) -> Option<&String> {
        let mut line_items = self.order.iter().flat_map(|order| &order.line_items);
        line_items.find(|(_, item)| item.id.0 == line_item).map(|(id, _)| id)
    }

    /// Refuses a row that would open again what is closed: one of a day without a report, when all days of the flight
    /// are final.
    pub(super) fn check_closed(
        &mut self,
        row: &ReportedDay,
        package_id: &str,
        flight: PackageDays,
        problems: &mut Vec<RowProblem>,
    ) {
        let days = &self.days;
        let closed = self.closed.entry(package_id.to_owned());
        let is_closed = *closed.or_insert_with(|| days.is_closed(package_id, flight));
        if !is_closed || days.has(package_id, row.day) {
            return;
        }
        let mut wrong = |field, hint: &str| {
            let message = "all days of the package's flight are final";
            problems.push(RowProblem::new(row.row, field, message, hint));
        };
        if !row.is_correction {
            wrong(ReportField::Correction, "leave the row out, or mark it as a correction");
        }
        if !row.is_final {
            wrong(ReportField::Final, "declare the row final, or leave it out");
        }
    }

    /// Returns true if the ad server is asked for the delivery of a package.
    pub(super) fn is_pulled(&self, package_id: &str, now: Timestamp) -> bool {
        self.order.as_ref().is_some_and(|order| {
            let is_asked = order.report_due_at.is_some_and(|due| now.duration_since(due) < SILENT);
            is_asked && order.line_items.contains_key(package_id)
        })
    }

    /// Notes what a row says of the spend of its package.
    pub(super) fn note_spend(&mut self, package_id: &str, budget: MoneyAmount, row: &ReportedDay) {
        let days = &self.days;
        let known = self.packages.entry(package_id.to_owned()).or_insert_with(|| ReportedPackage {
            budget,
            spent_before: days.total(package_id, "spend"),
            costliest: row.row,
            highest: row.spend,
        });
        if row.spend > known.highest {
            known.highest = row.spend;
            known.costliest = row.row;
        }
    }

    /// Refuses spend that is a multiple of the budget, at its costliest row. What lowers the spend is taken.
    pub(super) fn check_spend(&self, problems: &mut Vec<RowProblem>) {
        for (package_id, package) in &self.packages {
            let spent = self.days.total(package_id, "spend");
            let most: MoneyAmount = (0..MAX_BUDGETS).map(|_| package.budget).sum();
            if package.budget > MoneyAmount::ZERO && spent > most && spent > package.spent_before {
                let message = format!(
                    "with it the package has spent more than {MAX_BUDGETS} times its budget of {} {}",
                    package.budget, self.buy.thing.currency
                );
                let hint =
                    "check the unit: the spend is in the currency, and not in cents or millionths";
                problems.push(RowProblem::new(
                    package.costliest,
                    ReportField::Spend,
                    &message,
                    hint,
                ));
            }
        }
    }

    /// Says what the rows have changed.
    pub(super) fn summary(&self) -> ReportedBuy {
        let changes = self.days.changes();
        let was_final = |report: &Option<DeliveryReport>| {
            report.as_ref().is_some_and(|report| report.finalized_at.is_some())
        };
        let corrected = changes.iter().filter(|change| was_final(&change.replaced)).count();
        let final_now =
            changes.iter().filter(|change| change.report.finalized_at.is_some()).count();
        let total = |figure: &str| {
            self.packages.keys().map(|package_id| self.days.total(package_id, figure)).sum()
        };
        ReportedBuy {
            media_buy_id: self.buy.thing.media_buy_id.clone(),
            rows: self.count,
            changed: changes.len(),
            added: changes.iter().filter(|change| change.replaced.is_none()).count(),
            finalized: final_now - corrected,
            corrected,
            impressions: total("impressions"),
            spend: total("spend"),
            currency: self.buy.thing.currency.clone(),
        }
    }
}
