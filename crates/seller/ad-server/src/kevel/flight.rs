//! Goals, prices and limits of a flight. A flight never delivers more than was sold: its lifetime cap is the
//! goal, or what the budget buys.

use tradepost_document::json::{Map, object};
use tradepost_publisher::ad_server::{GoalUnit, LineItemPricing, LineItemSpec};
use tradepost_publisher::money::MoneyAmount;

use super::targeting;
use crate::check::PackageProblems;
use crate::client::{object_members, refused};
use crate::naming;
use crate::port::{AdServerError, RefusalReason};

/// Maximum number of characters of a flight's name.
const MAX_FLIGHT_NAME: usize = 300;

/// Largest amount of a goal.
const MAX_GOAL: u64 = 2_147_483_647;

/// Goal of a flight that takes what its priority leaves it (`GoalType` 2, in percent).
const SHARE: FlightGoal = FlightGoal { kind: 2, amount: 100 };

/// What Kevel paces a flight by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FlightGoal {
    /// `GoalType`: 1 impressions, 2 percentage, 3 clicks.
    kind: u8,
    /// `Impressions`, which is the amount of every goal.
    amount: u64,
}

/// What ends a flight before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LifetimeCap {
    /// `CapType`: 1 impressions, 2 clicks.
    kind: u8,
    /// `LifetimeCapAmount`.
    amount: u64,
}

/// Goal, cap and rate of a line item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FlightTerms {
    goal: FlightGoal,
    cap: Option<LifetimeCap>,
    /// `RateType`: 1 flat, 2 CPM, 3 CPC.
    rate: u8,
}

/// Finds what Kevel cannot do of a line item's goal and price.
pub(super) fn check(line_item: &LineItemSpec, found: &mut PackageProblems<'_>) {
    if let Err(message) = terms(line_item) {
        found.report("budget", message);
    }
}

/// Returns the members of a flight, but for its campaign, geography and places.
pub(super) fn members(line_item: &LineItemSpec, priority: u32) -> Result<Map, AdServerError> {
    let terms = terms(line_item).map_err(|message| refused(RefusalReason::Invalid, message))?;
    let caps = targeting::frequency_cap(line_item)?;
    // What is absent is null, so that a change also ends what was there.
    let document = object!({
        "Name": naming::with_id(&line_item.name, &line_item.external_id, MAX_FLIGHT_NAME),
        "StartDateISO": line_item.start_time.to_string(),
        "EndDateISO": line_item.end_time.to_string(),
        "PriorityId": priority,
        "GoalType": terms.goal.kind,
        "Impressions": terms.goal.amount,
        "IsActive": !line_item.is_paused,
        "RateType": terms.rate,
        "Price": line_item.rate,
        "CapType": terms.cap.map(|cap| cap.kind),
        "LifetimeCapAmount": terms.cap.map(|cap| cap.amount),
        // Kevel keeps the amount twice; an update that leaves the other as it was contradicts itself.
        "LifetimeCapAmountDecimal": terms.cap.map(|cap| cap.amount),
        "IsFreqCap": caps.is_some(),
        "FreqCap": caps.map(|cap| cap.impressions),
        "FreqCapDuration": caps.map(|cap| cap.duration),
        "FreqCapType": caps.map(|cap| cap.unit),
    });
    Ok(object_members(document))
}

fn terms(line_item: &LineItemSpec) -> Result<FlightTerms, &'static str> {
    let rate = match line_item.pricing {
        LineItemPricing::FlatRate => 1,
        LineItemPricing::Cpm => 2,
        LineItemPricing::Cpc => 3,
        LineItemPricing::Vcpm | LineItemPricing::Cpcv => {
            return Err("The ad server bills by CPM, CPC or a flat rate.");
        }
    };
    let unit = match line_item.goal.map(|goal| goal.unit) {
        Some(GoalUnit::Impressions) => 1,
        Some(GoalUnit::Clicks) => 3,
        Some(GoalUnit::ViewableImpressions | GoalUnit::CompletedViews) => {
            return Err("The ad server paces by impressions or clicks.");
        }
        None => SHARE.kind,
    };
    let goal = match line_item.goal {
        Some(goal) => FlightGoal { kind: unit, amount: goal.amount },
        None => SHARE,
    };
    let cap = match goal.kind {
        1 => Some(LifetimeCap { kind: 1, amount: goal.amount }),
        3 => Some(LifetimeCap { kind: 2, amount: goal.amount }),
        _ => affordable(line_item),
    };
    if goal.amount == 0 || cap.is_some_and(|cap| cap.amount == 0) {
        return Err("The budget buys nothing.");
    }
    if goal.amount > MAX_GOAL || cap.is_some_and(|cap| cap.amount > MAX_GOAL) {
        return Err("A goal at the ad server is at most 2147483647.");
    }
    Ok(FlightTerms { goal, cap, rate })
}

/// Returns what the budget buys, rounded down; nothing limits a flight with one price for all of it.
fn affordable(line_item: &LineItemSpec) -> Option<LifetimeCap> {
    let (kind, lot) = match line_item.pricing {
        LineItemPricing::Cpm | LineItemPricing::Vcpm => (1, 1000),
        LineItemPricing::Cpc => (2, 1),
        LineItemPricing::Cpcv | LineItemPricing::FlatRate => return None,
    };
    let bought = MoneyAmount::whole(lot).share(line_item.budget, line_item.rate);
    Some(LifetimeCap { kind, amount: whole_units(bought, line_item, lot) })
}

/// Returns the whole units of an amount, so that their price is not above the budget.
fn whole_units(bought: MoneyAmount, line_item: &LineItemSpec, lot: u32) -> u64 {
    let text = bought.to_string();
    let units = text.split('.').next().and_then(|units| units.parse::<u64>().ok());
    let units = units.unwrap_or_default();
    // The share was rounded to a millionth, which may have been up to a whole unit.
    let price = |units: u64| {
        let counted = MoneyAmount::whole(u32::try_from(units).unwrap_or(u32::MAX));
        line_item.rate.share(counted, MoneyAmount::whole(lot))
    };
    if price(units) > line_item.budget { units.saturating_sub(1) } else { units }
}

#[cfg(test)]
mod tests;
