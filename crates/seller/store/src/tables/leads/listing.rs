//! Builds the queries for lists of leads: only the conditions that are asked for, so that each list is read from an
//! index, in its order, and no further than its last row.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::super::Database;
use super::staff::{PROGRESS, progress};
use super::{LEAD_COLUMNS, LEAD_JOINS, lead_record};
use crate::privacy::ColumnCipher;
use crate::sql::{Bind as _, RowResult, SqlRow, SqlValue};
use crate::staff::{LeadFilter, ListedLead, OwnerFilter, WaitingFor};

/// Leads that wait for a release or an answer, in the words of the index that has them.
const TO_DO: &str =
    "(l.state = 'held' OR l.state = 'received' AND l.stage = 'new' AND l.handled_by IS NULL)";

/// Leads that wait for an answer: a part of the same index.
pub(super) const WAITING: &str =
    "(l.state = 'held' OR l.state = 'received' AND l.stage = 'new' AND l.handled_by IS NULL)
     AND l.state = 'received'";

/// Maximum length in characters of the name of an agent that is stored for look-ups.
const AGENT_NAME: usize = 200;

/// Returns the form in which an agent's name is looked up, before it is hashed.
pub(super) fn agent_term(name: &str) -> String {
    // The prefix keeps a name from looking like a hash.
    let name: String = name.trim().to_lowercase().chars().take(AGENT_NAME).collect();
    format!("agent:{name}")
}

/// Conditions of a list of leads, with their values.
pub(super) struct LeadConditions<'v> {
    /// Conditions on the lead `l`.
    pub(super) sql: String,
    /// Their values.
    pub(super) values: Vec<SqlValue<'v>>,
}

impl<'v> LeadConditions<'v> {
    /// Builds the conditions of a filter, without its cursor.
    pub(super) fn new(filter: &LeadFilter<'v>, cipher: &ColumnCipher) -> Self {
        let mut this = Self { sql: "1 = 1".to_owned(), values: Vec::new() };
        this.text("l.dealer_id =", filter.dealer_id);
        this.text("l.state =", filter.state.map(|state| state.name()));
        this.text("l.stage =", filter.stage.map(|stage| stage.name()));
        this.text("l.vehicle_id =", filter.vehicle_id);
        match filter.owner {
            None => {}
            Some(OwnerFilter::Nobody) => this.sql.push_str(" AND l.owner IS NULL"),
            Some(OwnerFilter::Member(name)) => this.text("l.owner =", Some(name)),
        }
        if let Some(rooftop) = filter.rooftop {
            this.owned("l.rooftop =", rooftop.to_lowercase());
        }
        if let Some(agent) = filter.agent {
            this.agent(agent, cipher);
        }
        this.time("l.received_at >=", filter.received_since);
        this.time("l.received_at <", filter.received_before);
        this.time("l.changed_at >=", filter.changed_since);
        this.time("l.next_step_at <", filter.due_before);
        match filter.waiting {
            None => {}
            Some(WaitingFor::Answer) => this.sql.push_str(&format!(" AND {WAITING}")),
            Some(WaitingFor::Anything) => this.sql.push_str(&format!(" AND {TO_DO}")),
        }
        this
    }

    /// Adds the condition that leads come after the filter's cursor, in its order.
    fn after_cursor(&mut self, filter: &LeadFilter<'_>) {
        let Some(cursor) = filter.after else { return };
        let behind = if filter.oldest_first { ">" } else { "<" };
        self.values.push(SqlValue::Integer(Some(cursor.received_at.as_millisecond())));
        self.values.push(SqlValue::Integer(Some(cursor.seq)));
        let last = self.values.len();
        let first = last - 1;
        self.sql.push_str(&format!(" AND (l.received_at, l.seq) {behind} (${first}, ${last})"));
    }

    /// Adds the condition that leads come from an agent, whose name may be stored hashed or in clear.
    fn agent(&mut self, agent: &str, cipher: &ColumnCipher) {
        let [hashed, plain] = cipher.forms(&agent_term(agent));
        if hashed == plain {
            return self.owned("l.agent =", plain);
        }
        // A lead from before there was a key stays in clear until it is encrypted.
        for form in [hashed, plain] {
            self.values.push(SqlValue::Text(Some(form.into())));
        }
        let last = self.values.len();
        let first = last - 1;
        self.sql.push_str(&format!(" AND l.agent IN (${first}, ${last})"));
    }

    fn text(&mut self, condition: &str, value: Option<&'v str>) {
        if let Some(value) = value {
            self.values.push(value.bind());
            self.sql.push_str(&format!(" AND {condition} ${}", self.values.len()));
        }
    }

    fn owned(&mut self, condition: &str, value: String) {
        self.values.push(SqlValue::Text(Some(value.into())));
        self.sql.push_str(&format!(" AND {condition} ${}", self.values.len()));
    }

    fn time(&mut self, condition: &str, value: Option<jiff::Timestamp>) {
        if let Some(value) = value {
            self.values.push(SqlValue::Integer(Some(value.as_millisecond())));
            self.sql.push_str(&format!(" AND {condition} ${}", self.values.len()));
        }
    }
}

/// Returns the clauses that order and limit leads; the value with this number is the limit.
fn ordered(filter: &LeadFilter<'_>, limit: usize) -> String {
    let order = order(filter);
    // The planner reads a bare parameter after LIMIT, and would plan the statement again for each value.
    format!("ORDER BY l.received_at {order}, l.seq {order} LIMIT ${limit} + 0")
}

const fn order(filter: &LeadFilter<'_>) -> &'static str {
    if filter.oldest_first { "ASC" } else { "DESC" }
}

/// Builds the query for a page of leads, which are chosen before anything else is read of them.
pub(super) fn page<'v>(filter: &LeadFilter<'v>, cipher: &ColumnCipher) -> LeadConditions<'v> {
    let mut conditions = LeadConditions::new(filter, cipher);
    conditions.after_cursor(filter);
    conditions.values.push(SqlValue::Integer(Some(filter.limit.into())));
    let LeadConditions { sql, values } = conditions;
    let chosen = ordered(filter, values.len());
    let order = order(filter);
    let sql = format!(
        "SELECT {}, {PROGRESS}, l.seq
         FROM (SELECT * FROM leads l WHERE {sql} {chosen}) l{LEAD_JOINS}
         LEFT JOIN lead_progress p ON p.lead_id = l.lead_id
         ORDER BY l.received_at {order}, l.seq {order}",
        *LEAD_COLUMNS
    );
    LeadConditions { sql, values }
}

impl Database {
    /// Returns a page of leads, each with its staff progress: those of a filter after its cursor.
    pub(crate) fn lead_list(
        &self,
        filter: &LeadFilter<'_>,
    ) -> Result<Vec<ListedLead>, InternalError> {
        let LeadConditions { sql, values } = page(filter, self.0.cipher());
        self.0.all("reading a list of leads", &sql, &values, listed)
    }

    /// Returns the ids of the leads of such a page.
    pub(crate) fn lead_ids(&self, filter: &LeadFilter<'_>) -> Result<Vec<String>, InternalError> {
        let mut conditions = LeadConditions::new(filter, self.0.cipher());
        conditions.after_cursor(filter);
        conditions.values.push(SqlValue::Integer(Some(filter.limit.into())));
        let LeadConditions { sql, values } = conditions;
        let ordered = ordered(filter, values.len());
        let sql = format!("SELECT l.lead_id FROM leads l WHERE {sql} {ordered}");
        self.0.all("reading ids of leads", &sql, &values, |row| row.only())
    }

    /// Counts the leads of a filter, without its cursor and limit.
    pub(crate) fn count_leads(&self, filter: &LeadFilter<'_>) -> Result<u32, InternalError> {
        let LeadConditions { sql, values } = LeadConditions::new(filter, self.0.cipher());
        let sql = format!("SELECT count(*) FROM leads l WHERE {sql}");
        self.0.one("counting leads", &sql, &values, |row| row.only())
    }
}

fn listed(row: &SqlRow<'_>) -> RowResult<ListedLead> {
    Ok(ListedLead { seq: row.get("seq")?, lead: lead_record(row)?, progress: progress(row)? })
}
