//! A connection, and the way statements are sent over it: each is prepared once, and some are sent together.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{join, join_all};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use crate::sql::SqlValue;

/// A connection with its prepared statements.
pub(super) struct PgConnection {
    pub(super) client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

/// A statement with its values.
#[derive(Debug)]
pub(super) struct PgCall {
    sql: String,
    values: Vec<SqlValue<'static>>,
}

impl PgCall {
    pub(super) fn new(sql: &str, values: &[SqlValue<'_>]) -> Self {
        Self { sql: sql.to_owned(), values: SqlValue::owned(values) }
    }

    fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
    }
}

impl PgConnection {
    /// Creates a connection without prepared statements.
    pub(super) fn new(client: Client) -> Self {
        Self { client, statements: Mutex::default() }
    }

    async fn prepared(&self, PgCall { sql, values }: &PgCall) -> Result<Statement, Error> {
        let known = || self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = known().get(sql) {
            return Ok(statement.clone());
        }
        // The type comes from the value, also where the statement does not fix it.
        let types: Vec<Type> = values.iter().map(SqlValue::sql_type).collect();
        let statement = self.client.prepare_typed(sql, &types).await?;
        known().insert(sql.clone(), statement.clone());
        Ok(statement)
    }

    /// Runs a statement and returns the number of rows it has changed.
    pub(super) async fn execute(&self, call: &PgCall) -> Result<u64, Error> {
        let statement = self.prepared(call).await?;
        self.client.execute(&statement, &call.values()).await
    }

    /// Returns the rows of a query.
    pub(super) async fn query(&self, call: &PgCall) -> Result<Vec<Row>, Error> {
        let statement = self.prepared(call).await?;
        self.client.query(&statement, &call.values()).await
    }

    /// Sends the statements that were held back in a transaction, then `last`, in this order and without waiting in
    /// between: after the first that fails the server runs none of them.
    pub(super) async fn send<T>(
        &self,
        earlier: &[PgCall],
        last: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        // All are prepared before the first is sent: later ones would overtake a statement that is still being
        // prepared.
        for call in earlier {
            self.prepared(call).await?;
        }
        // Each is sent when it is first polled, and they are polled in this order: `join_all` does so with up to 30.
        let (earlier, last) =
            join(join_all(earlier.iter().map(|call| self.execute(call))), last).await;
        earlier.into_iter().try_for_each(|done| done.map(drop))?;
        last
    }
}
