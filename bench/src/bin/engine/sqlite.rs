//! SQLite with an index for everything that is filtered or sorted by, FTS5 for words, and GROUP BY.

use std::cell::Cell;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};
use tradepost_aap::inventory::{FacetRange, FacetTerm, TermValue};
use tradepost_aap::{Facets, Filters, Search};
use tradepost_document::catalog::Vocabulary as _;

use crate::vehicles::{BenchInventory, words};
use crate::{Engine, Fallible, PAGE, Page};

const SCHEMA: &str = "
    CREATE TABLE listings (
        row INTEGER PRIMARY KEY, vehicle_id TEXT, vin TEXT, year INTEGER, make TEXT, model TEXT,
        trim TEXT, condition TEXT, status TEXT, transmission TEXT, fuel TEXT, driveline TEXT,
        body TEXT, exterior_color TEXT, interior_color TEXT, rooftop TEXT, price INTEGER,
        list_price INTEGER, mileage INTEGER, updated_at INTEGER, json TEXT
    );
    CREATE VIRTUAL TABLE words USING fts5 (text, content='', detail=none);
";

const INDEXES: &str = "
    CREATE UNIQUE INDEX by_vin ON listings (vin);
    CREATE INDEX by_make ON listings (make, year, price);
    CREATE INDEX by_model ON listings (model);
    CREATE INDEX by_year ON listings (year);
    CREATE INDEX by_price ON listings (price);
    CREATE INDEX by_list_price ON listings (list_price, row);
    CREATE INDEX by_update ON listings (updated_at DESC, row);
    ANALYZE;
";

pub struct Sqlite {
    database: Connection,
    /// How many there are: to count them each time would be unfair.
    all: Cell<usize>,
}

impl Sqlite {
    pub fn from_inventory(inventory: &BenchInventory) -> Fallible<Self> {
        let mut database = Connection::open_in_memory()?;
        database.set_prepared_statement_cache_capacity(64);
        database.execute_batch(SCHEMA)?;
        let filling = database.transaction()?;
        {
            let places = vec!["?"; 21].join(", ");
            let mut listing =
                filling.prepare(&format!("INSERT INTO listings VALUES ({places})"))?;
            let mut in_words = filling.prepare("INSERT INTO words (rowid, text) VALUES (?, ?)")?;
            for (vehicle, row) in inventory.vehicles.iter().zip(0_i64..) {
                let text = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
                let number = |number: Option<u32>| {
                    number.map_or(Value::Null, |number| Value::Integer(number.into()))
                };
                let name = |name: Option<&'static str>| {
                    name.map_or(Value::Null, |name| Value::Text(name.to_owned()))
                };
                let updated = vehicle.updated_at.map(|moment| moment.as_second());
                listing.execute(params_from_iter([
                    Value::Integer(row),
                    text(&vehicle.vehicle_id),
                    text(&vehicle.vin),
                    number(vehicle.year.map(u32::from)),
                    text(&vehicle.make),
                    text(&vehicle.model),
                    text(&vehicle.trim),
                    name(vehicle.condition.map(|condition| condition.name())),
                    name(vehicle.status.map(|status| status.name())),
                    text(&vehicle.transmission),
                    text(&vehicle.fuel),
                    text(&vehicle.driveline),
                    text(&vehicle.body),
                    text(&vehicle.exterior_color),
                    text(&vehicle.interior_color),
                    text(&vehicle.rooftop),
                    number(vehicle.price),
                    number(vehicle.list_price),
                    number(vehicle.mileage),
                    updated.map_or(Value::Null, Value::Integer),
                    Value::Text(tradepost_document::json::to_string(vehicle)?),
                ]))?;
                in_words.execute((row, words(vehicle)))?;
            }
        }
        filling.commit()?;
        database.execute_batch(INDEXES)?;
        Ok(Self { database, all: Cell::new(inventory.vehicles.len()) })
    }

    fn terms(&self, column: &str, scope: &Scope, order: &str) -> Fallible<Vec<FacetTerm>> {
        let Scope { condition, values } = scope;
        let sql = format!(
            "SELECT {column}, count(*) FROM listings WHERE {condition} AND {column} IS NOT NULL \
             GROUP BY {column} ORDER BY {order}"
        );
        let mut statement = self.database.prepare_cached(&sql)?;
        let term = |row: &Row<'_>| {
            let value = match row.get(0)? {
                Value::Integer(number) => TermValue::Number(u32::try_from(number).unwrap_or(0)),
                Value::Text(text) => TermValue::Text(text),
                Value::Null | Value::Real(_) | Value::Blob(_) => TermValue::Number(0),
            };
            Ok(FacetTerm { value, count: count(row, 1)? })
        };
        let terms = statement.query_map(params_from_iter(values), term)?;
        Ok(terms.collect::<Result<_, _>>()?)
    }
}

fn count(row: &Row<'_>, at: usize) -> rusqlite::Result<usize> {
    row.get::<_, u32>(at).map(|count| count as usize)
}

/// A condition with its values.
struct Scope {
    condition: String,
    values: Vec<Value>,
}

fn scope(filters: &Filters) -> Scope {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    if !filters.make.is_empty() {
        conditions.push(format!("make IN ({})", vec!["?"; filters.make.len()].join(", ")));
        values.extend(filters.make.iter().cloned().map(Value::Text));
    }
    let ranges = [("price <= ?", filters.price_max), ("year >= ?", filters.year_min)];
    for (condition, bound) in ranges {
        if let Some(bound) = bound {
            conditions.push(condition.to_owned());
            values.push(Value::Integer(bound.into()));
        }
    }
    if let Some(query) = &filters.query {
        conditions.push("row IN (SELECT rowid FROM words WHERE words MATCH ?)".to_owned());
        values.push(Value::Text(query.clone()));
    }
    if conditions.is_empty() {
        conditions.push("1".to_owned());
    }
    Scope { condition: conditions.join(" AND "), values }
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn page(&self, search: &Search) -> Fallible<Page> {
        let Scope { condition, values } = scope(&search.filters);
        let total = if values.is_empty() {
            self.all.get()
        } else {
            let sql = format!("SELECT count(*) FROM listings WHERE {condition}");
            let mut total = self.database.prepare_cached(&sql)?;
            total.query_row(params_from_iter(&values), |row| count(row, 0))?
        };
        let order = if search.sort.is_some() { "list_price, row" } else { "updated_at DESC, row" };
        let sql =
            format!("SELECT json FROM listings WHERE {condition} ORDER BY {order} LIMIT {PAGE}");
        let mut page = self.database.prepare_cached(&sql)?;
        let listings = page.query_map(params_from_iter(&values), |row| row.get(0))?;
        Ok(Page { total, listings: listings.collect::<Result<_, _>>()? })
    }

    fn facets(&self, filters: &Filters) -> Fallible<Arc<Facets>> {
        let scope = scope(filters);
        let texts = |column| self.terms(column, &scope, &format!("count(*) DESC, {column}"));
        let sql = format!(
            "SELECT min(price), max(price), min(mileage), max(mileage), min(year), max(year) \
             FROM listings WHERE {}",
            scope.condition
        );
        let mut ends = self.database.prepare_cached(&sql)?;
        let range = |row: &Row<'_>, at: usize| {
            let min: Option<u32> = row.get(at)?;
            let max: Option<u32> = row.get(at + 1)?;
            Ok::<_, rusqlite::Error>(min.zip(max).map(|(min, max)| FacetRange { min, max }))
        };
        let [price_range, mileage_range, year_range] = ends
            .query_row(params_from_iter(&scope.values), |row| {
                Ok([range(row, 0)?, range(row, 2)?, range(row, 4)?])
            })?;
        Ok(Arc::new(Facets {
            makes: texts("make")?,
            models: texts("model")?,
            trims: texts("trim")?,
            years: self.terms("year", &scope, "year DESC")?,
            conditions: texts("condition")?,
            transmissions: texts("transmission")?,
            fuels: texts("fuel")?,
            drivelines: texts("driveline")?,
            bodies: texts("body")?,
            exterior_colors: texts("exterior_color")?,
            interior_colors: texts("interior_color")?,
            rooftops: texts("rooftop")?,
            statuses: texts("status")?,
            price_range,
            mileage_range,
            year_range,
        }))
    }

    fn vehicle(&self, vin: &str) -> Fallible<String> {
        let mut vehicle =
            self.database.prepare_cached("SELECT json FROM listings WHERE vin = ?")?;
        Ok(vehicle.query_row([vin], |row| row.get(0))?)
    }
}
