//! Figures of a week. Every query is bounded by the moments of the week, for which there is an index, so that its cost
//! does not grow with the history.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::adf::view::agent_name;
use tradepost_dealer::record::{LeadEventKind, LeadState};
use tradepost_dealer::staff::StaffStage;
use tradepost_dealer::week::DAYS;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::Database;
use super::leads::word_if_any;
use super::privacy::{PAYLOAD, payload};
use crate::privacy::AadContext;
use crate::sql::{Bind as _, RowResult, SqlRow, SqlValue};
use crate::week::{
    AgentWeek, CodeWeek, DayCounts, EmptySearchRow, EmptySearchWeek, WaitingTime, WaitingTimes,
    WeekFigures,
};

/// Number of texts of searches in the figures.
const TEXTS: usize = 50;

/// A number of a day.
struct DayNumber {
    day: usize,
    number: u64,
}

/// A number of a day with its kind.
struct KindNumber {
    kind: String,
    on: DayNumber,
}

/// A week of a dealer, as values of statements: `$1` is the dealer, `$2` to `$9` are the moments at which the days and
/// the next week begin.
struct WeekValues<'a>(Vec<SqlValue<'a>>);

impl<'a> WeekValues<'a> {
    fn new(dealer_id: &'a str, days: &'a [Timestamp; DAYS + 1]) -> Self {
        let days = days.iter().map(|day| day.bind());
        Self([dealer_id.bind()].into_iter().chain(days).collect())
    }
}

/// Returns the expression for the number of the day of a moment in the week.
fn day_of(moment: &str) -> String {
    format!(
        "CAST(CASE WHEN {moment} < $3 THEN 0 WHEN {moment} < $4 THEN 1 WHEN {moment} < $5 THEN 2
                   WHEN {moment} < $6 THEN 3 WHEN {moment} < $7 THEN 4 WHEN {moment} < $8 THEN 5
                   ELSE 6 END AS BIGINT)"
    )
}

/// Returns the condition that a moment is in the week.
fn is_in_week(moment: &str) -> String {
    format!("{moment} >= $2 AND {moment} < $9")
}

/// Adds a number to those of its day.
fn add(days: &mut DayCounts, on: &DayNumber) {
    if let Some(sum) = days.get_mut(on.day) {
        *sum = sum.saturating_add(on.number);
    }
}

fn day_number(row: &SqlRow<'_>) -> RowResult<DayNumber> {
    Ok(DayNumber { day: row.get("day")?, number: row.get("number")? })
}

impl Database {
    /// Returns the figures of a week.
    pub(crate) fn week_figures(
        &self,
        dealer_id: &str,
        days: &[Timestamp; DAYS + 1],
    ) -> Result<WeekFigures, InternalError> {
        let week = WeekValues::new(dealer_id, days);
        let mut figures = WeekFigures {
            leads: self.leads_by_agent(&week)?,
            first_look: self.waiting_times(&week, "seen_at")?,
            first_answer: self.waiting_times(&week, "answered_at")?,
            booked: self.booked(&week)?,
            refusals: self.refusals_of_week(&week)?,
            empty_searches: self.empty_searches_of_week(&week)?,
            ..WeekFigures::default()
        };
        for on in self.unheld_leads(&week)? {
            add(&mut figures.unheld, &on);
        }
        for KindNumber { kind, on } in self.appointment_events(&week)? {
            match LeadEventKind::from_name(&kind) {
                Some(LeadEventKind::AppointmentMoved) => add(&mut figures.moved, &on),
                Some(LeadEventKind::AppointmentCancelled) => add(&mut figures.cancelled, &on),
                Some(LeadEventKind::AppointmentNoShow) => add(&mut figures.no_shows, &on),
                Some(
                    LeadEventKind::Received
                    | LeadEventKind::Resubmitted
                    | LeadEventKind::Released
                    | LeadEventKind::ConsentRevoked
                    | LeadEventKind::Erased
                    | LeadEventKind::AppointmentConfirmed,
                )
                | None => {}
            }
        }
        for KindNumber { kind, on } in self.ended_leads(&week)? {
            match StaffStage::from_name(&kind) {
                Some(StaffStage::Sold) => add(&mut figures.sold, &on),
                Some(StaffStage::Lost) => add(&mut figures.lost, &on),
                Some(StaffStage::New | StaffStage::Working) | None => {}
            }
        }
        Ok(figures)
    }

    /// Returns the leads of the week by the agent that sent each last.
    fn leads_by_agent(&self, week: &WeekValues<'_>) -> Result<Vec<AgentWeek>, InternalError> {
        let sql = format!(
            "SELECT {} AS day, l.state, l.stage, s.principal, s.payload, s.received_at, s.dealer_id,
                    s.lead_id, s.sealed_by
             FROM leads l JOIN lead_submissions s ON s.seq = l.submission
             WHERE l.dealer_id = $1 AND {}",
            day_of("l.received_at"),
            is_in_week("l.received_at"),
        );
        let mut agents: BTreeMap<(Option<String>, String), AgentWeek> = BTreeMap::new();
        self.0.each("reading which agents sent leads", &sql, &week.0, |row| {
            let agent = agent_of_submission(row)?;
            let principal: String = row.get("principal")?;
            let known = agents.entry((agent.clone(), principal.clone()));
            let known = known.or_insert_with(|| AgentWeek {
                agent,
                principal,
                leads: DayCounts::default(),
                held: 0,
                sold: 0,
            });
            add(&mut known.leads, &DayNumber { day: row.get("day")?, number: 1 });
            let state: Option<LeadState> = word_if_any(row, "state")?;
            let stage: Option<StaffStage> = word_if_any(row, "stage")?;
            known.held += u64::from(state == Some(LeadState::Held));
            known.sold += u64::from(stage == Some(StaffStage::Sold));
            Ok(true)
        })?;
        let mut agents: Vec<_> = agents.into_values().collect();
        // Stable: agents with as many leads stay in the order of their names.
        agents.sort_by_key(|agent| Reverse(agent.leads.iter().sum::<u64>()));
        Ok(agents)
    }

    /// Returns the numbers of leads that are not held back.
    fn unheld_leads(&self, week: &WeekValues<'_>) -> Result<Vec<DayNumber>, InternalError> {
        let sql = format!(
            "SELECT {} AS day, count(*) AS number FROM leads l
             WHERE l.dealer_id = $1 AND {} AND l.state <> 'held' GROUP BY 1",
            day_of("l.received_at"),
            is_in_week("l.received_at"),
        );
        self.0.all("counting the leads of a week", &sql, &week.0, day_number)
    }

    /// Returns the times from the arrival of the leads to a moment of their progress. Held leads wait only for the
    /// dealer, and are left out.
    fn waiting_times(
        &self,
        week: &WeekValues<'_>,
        moment: &'static str,
    ) -> Result<WaitingTimes, InternalError> {
        let day = day_of("l.received_at");
        let is_in_week = is_in_week("l.received_at");
        // The nearest rank, as in `tradepost leads times`. The row of the day 7 is that of the whole week.
        let percentile = |percent: u32| {
            format!("max(CASE WHEN place = (leads * {percent} + 99) / 100 THEN took END)")
        };
        let ranked = |day: &str| {
            format!(
                "SELECT {day} AS day, took,
                        row_number() OVER (PARTITION BY {day} ORDER BY took) AS place,
                        count(*) OVER (PARTITION BY {day}) AS leads
                 FROM waited"
            )
        };
        let sql = format!(
            "WITH waited AS (
                 SELECT {day} AS arrived_on, p.{moment} - l.received_at AS took
                 FROM leads l JOIN lead_progress p ON p.lead_id = l.lead_id
                 WHERE l.dealer_id = $1 AND {is_in_week} AND l.state <> 'held'
                     AND p.{moment} IS NOT NULL),
             ranked AS ({} UNION ALL {})
             SELECT day, leads AS number, {} AS median, {} AS of_90_percent
             FROM ranked GROUP BY day, leads",
            ranked("arrived_on"),
            ranked("CAST(7 AS BIGINT)"),
            percentile(50),
            percentile(90),
        );
        let mut times = WaitingTimes::default();
        self.0.each("reading how long leads waited", &sql, &week.0, |row| {
            let on = day_number(row)?;
            let took = |column: &str| {
                let took: Option<i64> = row.get(column)?;
                RowResult::Ok(took.map(SignedDuration::from_millis))
            };
            let time = WaitingTime {
                leads: on.number,
                median: took("median")?,
                of_90_percent: took("of_90_percent")?,
            };
            match times.days.get_mut(on.day) {
                Some(day) => *day = time,
                None => times.week = time,
            }
            Ok(true)
        })?;
        Ok(times)
    }

    /// Returns the numbers of appointments that first had a time. The events of a lead are few, so that looking at its
    /// earlier ones costs little.
    fn booked(&self, week: &WeekValues<'_>) -> Result<DayCounts, InternalError> {
        let sql = format!(
            "SELECT {} AS day, count(*) AS number FROM lead_events e
             WHERE e.dealer_id = $1 AND {} AND e.appointment_state = 'confirmed'
                 AND NOT EXISTS (SELECT 1 FROM lead_events b
                                 WHERE b.lead_id = e.lead_id AND b.seq < e.seq
                                     AND b.appointment_id = e.appointment_id
                                     AND b.appointment_state = 'confirmed')
             GROUP BY 1",
            day_of("e.at"),
            is_in_week("e.at"),
        );
        let mut days = DayCounts::default();
        for on in self.0.all("counting booked appointments", &sql, &week.0, day_number)? {
            add(&mut days, &on);
        }
        Ok(days)
    }

    /// Returns the numbers of changes of appointments by kind.
    fn appointment_events(&self, week: &WeekValues<'_>) -> Result<Vec<KindNumber>, InternalError> {
        let sql = format!(
            "SELECT {} AS day, e.kind, count(*) AS number FROM lead_events e
             WHERE e.dealer_id = $1 AND {} GROUP BY 1, e.kind",
            day_of("e.at"),
            is_in_week("e.at"),
        );
        self.0.all("counting changes of appointments", &sql, &week.0, |row| {
            Ok(KindNumber { kind: row.get("kind")?, on: day_number(row)? })
        })
    }

    /// Returns the numbers of leads by the stage that they came to in the week, and still have.
    fn ended_leads(&self, week: &WeekValues<'_>) -> Result<Vec<KindNumber>, InternalError> {
        let sql = format!(
            "SELECT {} AS day, l.stage AS kind, count(*) AS number
             FROM lead_progress p JOIN leads l ON l.lead_id = p.lead_id
             WHERE p.dealer_id = $1 AND {} GROUP BY 1, l.stage",
            day_of("p.changed_at"),
            is_in_week("p.changed_at"),
        );
        self.0.all("counting sold and lost leads", &sql, &week.0, |row| {
            Ok(KindNumber { kind: row.get("kind")?, on: day_number(row)? })
        })
    }

    /// Returns the refusals by code.
    fn refusals_of_week(&self, week: &WeekValues<'_>) -> Result<Vec<CodeWeek>, InternalError> {
        let sql = format!(
            "SELECT {} AS day, r.code AS kind, CAST(sum(r.refused) AS BIGINT) AS number
             FROM refusal_counts r WHERE r.agent_id = $1 AND {} GROUP BY 1, r.code",
            day_of("r.hour"),
            is_in_week("r.hour"),
        );
        let mut codes: BTreeMap<String, DayCounts> = BTreeMap::new();
        self.0.each("counting the refusals of a week", &sql, &week.0, |row| {
            let refused = codes.entry(row.get("kind")?).or_default();
            add(refused, &day_number(row)?);
            Ok(true)
        })?;
        let codes = codes.into_iter().map(|(code, refused)| CodeWeek { code, refused });
        let mut codes: Vec<_> = codes.collect();
        codes.sort_by_key(|code| Reverse(code.refused.iter().sum::<u64>()));
        Ok(codes)
    }

    /// Returns the searches that found nothing.
    fn empty_searches_of_week(
        &self,
        week: &WeekValues<'_>,
    ) -> Result<EmptySearchWeek, InternalError> {
        let sql = format!(
            "SELECT {} AS day, q.text, q.reading, q.asked AS number FROM empty_searches q
             WHERE q.dealer_id = $1 AND {} ORDER BY q.day, q.text",
            day_of("q.day"),
            is_in_week("q.day"),
        );
        let mut found = EmptySearchWeek::default();
        let mut texts: BTreeMap<String, EmptySearchRow> = BTreeMap::new();
        self.0.each("reading searches that found nothing", &sql, &week.0, |row| {
            let on = day_number(row)?;
            add(&mut found.asked, &on);
            let text: String = row.get("text")?;
            if text == super::empty_searches::OTHER_SEARCHES {
                found.others += on.number;
                return Ok(true);
            }
            // The last one stays: days come in their order.
            let reading = row.get("reading")?;
            let known = texts.entry(text.clone());
            let known =
                known.or_insert_with(|| EmptySearchRow { text, reading: String::new(), asked: 0 });
            known.reading = reading;
            known.asked += on.number;
            Ok(true)
        })?;
        found.texts = texts.into_values().collect();
        found.texts.sort_by_key(|row| Reverse(row.asked));
        found.texts.truncate(TEXTS);
        Ok(found)
    }
}

/// Returns the name that the agent of a submission gives itself, from the payload. `None` when it gives none, or the
/// payload is erased or cannot be read any more.
fn agent_of_submission(row: &SqlRow<'_>) -> RowResult<Option<String>> {
    let dealer: String = row.get("dealer_id")?;
    let lead: String = row.get("lead_id")?;
    let key: Option<String> = row.get("sealed_by")?;
    let of = AadContext::lead(PAYLOAD, &dealer, &lead, row.get("received_at")?);
    let payload = payload(row, "payload", key.as_deref(), &of)?.unwrap_or(Value::Null);
    Ok(agent_name(&payload).map(str::to_owned))
}
