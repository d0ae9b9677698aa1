//! Builds the statement of a query for a publisher's entities: index, order and limit.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_publisher::store::{Changes, EntityKind, IndexTerms, Order, Query};

use crate::sql::{Bind as _, Connection, SqlValue};

/// Columns that are read of an entity.
pub(super) const COLUMNS: &str = "t.place, t.id, t.owner, t.account, t.state, t.revision, t.created_at, \
                       t.updated_at, t.body, t.class, t.changes_at";

/// Adds a condition to a query, where there is one.
pub(super) fn narrow<'v>(
    sql: &mut String,
    values: &mut Vec<SqlValue<'v>>,
    column: &str,
    value: Option<&'v String>,
) {
    if let Some(value) = value {
        values.push(value.bind());
        sql.push_str(&format!(" AND {column} = ${}", values.len()));
    }
}

/// Adds the condition that a column has one of these values, where there are any.
pub(super) fn any_of<'v>(
    sql: &mut String,
    values: &mut Vec<SqlValue<'v>>,
    column: &str,
    accepted: &'v [String],
) {
    if accepted.is_empty() {
        return;
    }
    let mut places = Vec::new();
    for value in accepted {
        values.push(value.bind());
        places.push(format!("${}", values.len()));
    }
    sql.push_str(&format!(" AND {column} IN ({})", places.join(", ")));
}

/// Query for entities as a statement with its values.
pub(crate) struct Listing<'v> {
    pub(crate) sql: String,
    pub(crate) values: Vec<SqlValue<'v>>,
}

impl<'v> Listing<'v> {
    /// Builds a statement that reads entities from an index in the requested order, and no more than requested. Several
    /// states are read separately, because an index has only the entities of one state in order.
    pub(crate) fn new(
        connection: &Connection,
        publisher: &'v str,
        kind: EntityKind,
        query: &'v Query,
    ) -> Self {
        // Without a limit, the largest number.
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let number =
            |count: usize| SqlValue::Integer(Some(i64::try_from(count).unwrap_or(i64::MAX)));
        let mut values = vec![publisher.bind(), kind.name().bind()];
        values.extend([number(limit), number(query.skip)]);
        let mut common = String::new();
        if let Some(from) = query.from {
            values.push(SqlValue::Integer(Some(from.as_microsecond())));
            let is_reached = match query.order {
                Order::Oldest => ">=",
                Order::Newest => "<=",
            };
            common.push_str(&format!(" AND t.created_at {is_reached} ${}", values.len()));
        }
        narrow(&mut common, &mut values, "t.owner", query.owner.as_ref());
        narrow(&mut common, &mut values, "t.account", query.account.as_ref());
        narrow(&mut common, &mut values, "t.class", query.class.as_ref());
        for account in &query.except_accounts {
            values.push(account.bind());
            common.push_str(&format!(" AND t.account IS DISTINCT FROM ${}", values.len()));
        }
        let mut is_change = false;
        match query.changes {
            None => {}
            Some(Changes::By(now)) => {
                is_change = true;
                values.push(SqlValue::Integer(Some(now.as_microsecond())));
                common.push_str(&format!(" AND t.changes_at <= ${}", values.len()));
            }
            Some(Changes::After(now)) => {
                values.push(SqlValue::Integer(Some(now.as_microsecond())));
                let place = values.len();
                common.push_str(&format!(" AND (t.changes_at IS NULL OR t.changes_at > ${place})"));
            }
        }
        let from = match &query.terms {
            Some(terms) => with_term(connection, &mut values, terms, query.owner.as_ref()),
            None => {
                let index = connection.indexed_by(index_of(query, is_change));
                format!("publisher_things t {index} WHERE t.publisher = $1 AND t.kind = $2")
            }
        };
        let ordered = match query.order {
            // A planner that does not know how few have changed takes the index with this order.
            _ if is_change => "ORDER BY t.changes_at, t.place",
            Order::Oldest => "ORDER BY t.created_at, t.place",
            Order::Newest => "ORDER BY t.created_at DESC, t.place DESC",
        };
        // The planner reads a bare parameter after LIMIT, and would plan the statement again for each value.
        let order = format!("{ordered} LIMIT $3 + 0 OFFSET $4 + 0");
        let by_state = query.terms.is_none() && !is_change && query.states.len() > 1;
        if !by_state {
            any_of(&mut common, &mut values, "t.state", &query.states);
            return Self { sql: format!("SELECT {COLUMNS} FROM {from}{common} {order}"), values };
        }
        values.push(number(limit.saturating_add(query.skip)));
        let beginning = format!("{ordered} LIMIT ${} + 0", values.len());
        let mut parts = Vec::new();
        for state in &query.states {
            values.push(state.bind());
            let place = values.len();
            parts.push(format!(
                "SELECT * FROM (SELECT {COLUMNS} FROM {from}{common} AND t.state = ${place}
                                {beginning}) s{place}"
            ));
        }
        let sql = format!("SELECT * FROM ({}) t {order}", parts.join(" UNION ALL "));
        Self { sql, values }
    }
}

/// Returns the part of a statement that finds entities by their terms. Few entities have a value: they are looked up
/// one by one.
fn with_term<'v>(
    connection: &Connection,
    values: &mut Vec<SqlValue<'v>>,
    terms: &'v IndexTerms,
    owner: Option<&'v String>,
) -> String {
    values.push(terms.field.name().bind());
    let field = values.len();
    let mut found = format!("w.publisher = $1 AND w.kind = $2 AND w.field = ${field}");
    let mut only = terms.values.iter();
    let (Some(value), None) = (only.next(), only.next()) else {
        let list = Value::from_iter(terms.values.iter().map(String::as_str)).to_string();
        values.push(SqlValue::Text(Some(list.into())));
        let listed = connection.elements(values.len(), "TEXT");
        found.push_str(&format!(" AND w.value IN ({listed})"));
        narrow(&mut found, values, "w.owner", owner);
        // An entity may have several of the values.
        return format!(
            "(SELECT DISTINCT w.thing FROM publisher_terms w WHERE {found}) w
             CROSS JOIN publisher_things t
             WHERE t.place = w.thing AND t.publisher = $1 AND t.kind = $2"
        );
    };
    values.push(value.bind());
    found.push_str(&format!(" AND w.value = ${}", values.len()));
    // Nothing is read of another owner's rows: that takes as long as a missing one.
    narrow(&mut found, values, "w.owner", owner);
    format!(
        "publisher_terms w CROSS JOIN publisher_things t
         WHERE {found} AND t.place = w.thing AND t.publisher = $1 AND t.kind = $2"
    )
}

/// Returns the index that has the entities of a query in its order.
fn index_of(query: &Query, is_change: bool) -> &'static str {
    if is_change {
        return "publisher_things_by_change";
    }
    let has_states = !query.states.is_empty();
    match (&query.account, &query.owner) {
        (Some(_), _) if has_states => "publisher_things_by_account_state",
        (Some(_), _) => "publisher_things_by_account",
        (None, Some(_)) if has_states => "publisher_things_by_owner_state",
        (None, Some(_)) => "publisher_things_by_owner",
        (None, None) if has_states => "publisher_things_by_state",
        (None, None) => "publisher_things_by_creation",
    }
}
