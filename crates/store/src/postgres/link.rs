//! A connection, and how statements go over it: each is prepared once, and some are sent together.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{join, join_all};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use crate::sql::SqlValue;

/// A connection with the statements that it knows.
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
    /// One that knows none yet.
    pub(super) fn new(client: Client) -> Self {
        Self { client, statements: Mutex::default() }
    }

    async fn prepared(&self, PgCall { sql, values }: &PgCall) -> Result<Statement, Error> {
        let known = || self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = known().get(sql) {
            return Ok(statement.clone());
        }
        // What a value is says its type, also where the statement does not.
        let types: Vec<Type> = values.iter().map(SqlValue::sql_type).collect();
        let statement = self.client.prepare_typed(sql, &types).await?;
        known().insert(sql.clone(), statement.clone());
        Ok(statement)
    }

    /// How many rows a statement has changed.
    pub(super) async fn execute(&self, call: &PgCall) -> Result<u64, Error> {
        let statement = self.prepared(call).await?;
        self.client.execute(&statement, &call.values()).await
    }

    /// The rows of a query.
    pub(super) async fn query(&self, call: &PgCall) -> Result<Vec<Row>, Error> {
        let statement = self.prepared(call).await?;
        self.client.query(&statement, &call.values()).await
    }

    /// Sends what was kept back in a transaction and `last`, in this order and without waiting in between: after
    /// the first that fails the server does none of them.
    pub(super) async fn send<T>(
        &self,
        earlier: &[PgCall],
        last: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        // All are known before the first is sent: those behind it would pass one that is still prepared.
        for call in earlier {
            self.prepared(call).await?;
        }
        // Each is sent when it is first looked at, and they are looked at in this order: `join_all` does so with
        // up to 30.
        let (earlier, last) =
            join(join_all(earlier.iter().map(|call| self.execute(call))), last).await;
        earlier.into_iter().try_for_each(|done| done.map(drop))?;
        last
    }
}
