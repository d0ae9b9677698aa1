//! Figures of a dealer's week: what agents sent and asked, and what became of it. They name no customer.

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::week::DAYS;
use tradepost_document::fault::InternalError;

use super::Store;

/// Numbers of the days of a week, Monday first.
pub type DayCounts = [u64; DAYS];

/// Figures of a week of a dealer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WeekFigures {
    /// Leads by agent, the agent with the most first.
    pub leads: Vec<AgentWeek>,
    /// Leads of the week that are not held back, by the day of their arrival.
    pub unheld: DayCounts,
    /// Time until staff first looked at these leads.
    pub first_look: WaitingTimes,
    /// Time until staff first answered them: took them on, or ended them.
    pub first_answer: WaitingTimes,
    /// Appointments that were booked, each on the day on which it first had a time.
    pub booked: DayCounts,
    /// Appointments that staff moved.
    pub moved: DayCounts,
    /// Appointments that were cancelled.
    pub cancelled: DayCounts,
    /// Customers who did not come, on the day on which staff recorded it.
    pub no_shows: DayCounts,
    /// Leads that were marked sold in the week, whenever they arrived.
    pub sold: DayCounts,
    /// Leads that were marked lost.
    pub lost: DayCounts,
    /// Refused requests by code, the most frequent first.
    pub refusals: Vec<CodeWeek>,
    /// Searches that found nothing.
    pub empty_searches: EmptySearchWeek,
}

/// Leads of an agent in a week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentWeek {
    /// Name that the agent gives itself; `None` when it gives none, or the lead is erased.
    pub agent: Option<String>,
    /// Name of its credential, or `anonymous`.
    pub principal: String,
    /// Leads by the day of their arrival.
    pub leads: DayCounts,
    /// How many of these leads are held back.
    pub held: u64,
    /// How many of these leads are sold by now.
    pub sold: u64,
}

/// Refusals with one code in a week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeWeek {
    /// The code.
    pub code: String,
    /// Refusals by day.
    pub refused: DayCounts,
}

/// Waiting times of leads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitingTimes {
    /// Times of all leads of the week.
    pub week: WaitingTime,
    /// Times of the leads that arrived on each day.
    pub days: [WaitingTime; DAYS],
}

/// Percentiles of a waiting time, by the nearest rank, over the leads whose waiting is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WaitingTime {
    /// Number of these leads.
    pub leads: u64,
    /// Half of them waited no longer; `None` when there are none.
    pub median: Option<SignedDuration>,
    /// 90 of 100 waited no longer.
    pub of_90_percent: Option<SignedDuration>,
}

/// Searches of a week that found nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmptySearchWeek {
    /// All of them by day.
    pub asked: DayCounts,
    /// The most frequent texts, the most frequent first.
    pub texts: Vec<EmptySearchRow>,
    /// Searches whose text is not kept, because there were too many on one day.
    pub others: u64,
}

/// Searches of a week with one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmptySearchRow {
    /// Text without personal parts.
    pub text: String,
    /// How it was read.
    pub reading: String,
    /// Number of searches.
    pub asked: u64,
}

/// Sums the numbers of the days.
#[must_use]
pub fn total(days: &DayCounts) -> u64 {
    days.iter().sum()
}

impl Store {
    /// Returns the figures of a dealer's week. `days` are the moments at which its days and the week after it begin.
    /// Reads the rows of this week alone, by indexes on time.
    ///
    /// # Errors
    /// When the database fails, or data is encrypted and the key was not given.
    pub fn week_figures(
        &self,
        dealer_id: &str,
        days: &[Timestamp; DAYS + 1],
    ) -> Result<WeekFigures, InternalError> {
        self.read(|db| db.week_figures(dealer_id, days))
    }
}
