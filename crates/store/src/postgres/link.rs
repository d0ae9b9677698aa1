//! A connection, and how statements go over it: each is prepared once, and some are sent together.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{join, join_all};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Statement};

use crate::sql::Value;

/// A connection with the statements that it knows.
pub(super) struct Link {
    pub(super) client: Client,
    statements: Mutex<HashMap<String, Statement>>,
}

impl Link {
    /// One that knows none yet.
    pub(super) fn new(client: Client) -> Self {
        Self { client, statements: Mutex::default() }
    }

    /// A statement that the server knows from now on.
    pub(super) async fn prepared(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Statement, tokio_postgres::Error> {
        let known = || self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(statement) = known().get(sql) {
            return Ok(statement.clone());
        }
        // What a value is says its type, also where the statement does not.
        let types: Vec<Type> = values.iter().map(Value::sql_type).collect();
        let statement = self.client.prepare_typed(sql, &types).await?;
        known().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Sends what was kept back and `last`, in this order and without waiting in between: in a transaction
    /// nothing is done after the first that fails. So the beginning alone is waited for.
    pub(super) async fn send<T>(
        &self,
        beginning: Option<&'static str>,
        later: &[Later],
        last: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, tokio_postgres::Error> {
        if let Some(how) = beginning {
            self.client.batch_execute(how).await?;
        }
        let mut statements = Vec::with_capacity(later.len());
        for Later { sql, values } in later {
            statements.push(self.prepared(sql, values).await?);
        }
        let earlier = statements.iter().zip(later).map(|(statement, Later { values, .. })| async {
            self.client.execute(statement, &borrowed(values)).await
        });
        // Each is sent when it is first looked at, and they are looked at in this order: `join_all` does so
        // with as few as these.
        let (earlier, last) = join(join_all(earlier), last).await;
        earlier.into_iter().try_for_each(|done| done.map(drop))?;
        last
    }
}

/// A statement that is sent with the next one.
#[derive(Debug)]
pub(super) struct Later {
    pub(super) sql: String,
    pub(super) values: Vec<Value<'static>>,
}

pub(super) fn borrowed<'v>(values: &'v [Value<'static>]) -> Vec<&'v (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}
