//! Figures of a dealer's week, which name no customer.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::week::{CalendarWeek, DAYS};
use tradepost_store::week::WeekFigures;

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Refusal to show a week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WeekRefusal {
    /// The actor may not see the dealer of this id.
    UnknownDealer(String),
}

impl From<WeekRefusal> for AdminError<WeekRefusal> {
    fn from(refusal: WeekRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of showing a week.
pub type WeekResult<T> = Result<T, AdminError<WeekRefusal>>;

/// Week to show.
#[derive(Debug, Clone)]
pub struct ShowWeek {
    /// Id of the dealer.
    pub dealer_id: String,
    /// The week; the present one when `None`.
    pub week: Option<CalendarWeek>,
}

/// A week of a dealer.
#[derive(Debug, Clone)]
pub struct WeekReport {
    /// The week.
    pub week: CalendarWeek,
    /// Time zone of its days: that of the first rooftop, or UTC for a dealer that is not configured.
    pub zone: TimeZone,
    /// Moments at which its days and the next week begin.
    pub days: [Timestamp; DAYS + 1],
    /// Its figures.
    pub figures: WeekFigures,
}

/// Returns the figures of a week of a dealer.
///
/// # Errors
/// Fails when the actor lacks the permission or may not see the dealer, or the store fails.
pub fn show_week(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ShowWeek,
) -> WeekResult<WeekReport> {
    context.permit(actor, AdminOperation::ShowWeek)?;
    let ShowWeek { dealer_id, week } = input;
    if !actor.sees_dealer(&dealer_id) {
        return Err(WeekRefusal::UnknownDealer(dealer_id).into());
    }
    let mut settings = context.dealers.iter().map(|dealer| dealer.settings);
    let settings = settings.find(|settings| settings.id == dealer_id);
    let zone = settings.map_or(TimeZone::UTC, |settings| settings.time_zone());
    let today = context.now.to_zoned(zone.clone()).date();
    let week = week.unwrap_or_else(|| CalendarWeek::from_date(today));
    let days = week.moments(&zone);
    let figures = context.store.week_figures(&dealer_id, &days)?;
    Ok(WeekReport { week, zone, days, figures })
}
