//! Daily limits (UTC) of what may be committed on an account, in each currency. Commitments are noted by buy:
//! what is given back on the same day can be committed again, and what was committed on another day gives no
//! room on this one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use tradepost_adcp::error::{AdcpCode, AdcpError};

use crate::account::Account;
use crate::agent::BuyerAgent;
use crate::money::MoneyAmount;
use crate::profile::PublisherProfile;
use crate::refusals::at;

/// A daily spend limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendLimit {
    /// Currency (ISO 4217).
    pub currency: String,
    /// Amount that may be committed on an account from midnight to midnight UTC.
    pub per_day: MoneyAmount,
}

/// Commitments of one day, by currency and media buy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DaySpending {
    date: Date,
    committed: BTreeMap<String, BTreeMap<String, MoneyAmount>>,
}

/// Returns the limit that holds for an agent: its own or the publisher's, whichever is lower.
fn limit(
    profile: &PublisherProfile,
    agent: Option<&BuyerAgent>,
    currency: &str,
) -> Option<MoneyAmount> {
    let own = agent.into_iter().flat_map(|agent| &agent.spend_limits);
    let all = own.chain(&profile.spend_limits);
    all.filter(|limit| limit.currency == currency).map(|limit| limit.per_day).min()
}

fn date(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}

/// Returns a refusal if an account may not commit this much more today.
pub(crate) fn beyond(
    profile: &PublisherProfile,
    agent: Option<&BuyerAgent>,
    account: &Account,
    more: MoneyAmount,
    currency: &str,
    field: &str,
    now: Timestamp,
) -> Option<AdcpError> {
    let limit = limit(profile, agent, currency)?;
    let today = account.day.as_ref().filter(|day| day.date == date(now));
    let buys = today.and_then(|day| day.committed.get(currency));
    let committed: MoneyAmount = buys.into_iter().flat_map(BTreeMap::values).copied().sum();
    let left = (limit - committed).max(MoneyAmount::ZERO);
    if more <= left {
        return None;
    }
    let message = "this is more than may be committed on the account today (UTC); see details";
    let error = at(AdcpCode::BudgetExceeded, field, message).with("requested", more);
    let error = error.with("available", left).with("limit", limit);
    Some(error.with("currency", currency).with("window", "day"))
}

/// Notes that a buy commits more on an account or, when the amount is negative, gives something back: at most
/// what it committed on this day.
pub(crate) fn note(
    account: &mut Account,
    buy: &str,
    more: MoneyAmount,
    currency: &str,
    now: Timestamp,
) {
    let date = date(now);
    let kept = account.day.take().filter(|day| day.date == date);
    let mut day = kept.unwrap_or(DaySpending { date, committed: BTreeMap::new() });
    let buys = day.committed.entry(currency.to_owned()).or_default();
    let amount = buys.entry(buy.to_owned()).or_default();
    *amount = (*amount + more).max(MoneyAmount::ZERO);
    buys.retain(|_, amount| *amount > MoneyAmount::ZERO);
    account.day = Some(day);
}

/// Returns true if anything is limited in a currency, so that commitments have to be noted.
pub(crate) fn is_limited(profile: &PublisherProfile, currency: &str) -> bool {
    let agents = profile.agents.iter().flat_map(|agent| &agent.spend_limits);
    agents.chain(&profile.spend_limits).any(|limit| limit.currency == currency)
}
