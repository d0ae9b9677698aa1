//! A PostgreSQL of this machine, for tests that need one.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{NoTls, SimpleQueryMessage};
use tradepost_store::{DatabaseUrl, Store};

use crate::beside;

/// Where it is looked for.
pub const SERVER: &str = "127.0.0.1:5432";

/// Says something to a database and returns the first column of each row.
fn say(database: &str, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let config = format!("postgres://postgres@{SERVER}/{database}?connect_timeout=5");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
        let connection = tokio::spawn(connection);
        let said = client.simple_query(sql).await?;
        drop(client);
        let _ = connection.await;
        let first = |message: &SimpleQueryMessage| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            row.get(0).map(ToOwned::to_owned)
        };
        Ok(said.iter().filter_map(first).collect())
    })
}

/// A database of its own, until the test has ended.
pub struct Scratch {
    pub name: String,
}

impl Scratch {
    /// One without tables. Where no server answers, the test has said that it does without.
    pub fn new() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tradepost_{}_{number}", std::process::id());
        let made = say("postgres", &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
            .and_then(|_| say("postgres", &format!("CREATE DATABASE {name}")));
        if made.is_err() {
            beside::without("a PostgreSQL on this machine");
            return None;
        }
        Some(Self { name })
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("postgres://postgres@{SERVER}/{}", self.name)
    }

    pub fn url(&self) -> DatabaseUrl {
        self.address().parse().unwrap()
    }

    /// The address for a role that may read and write every table that is there, and create none.
    pub fn address_without_create(&self) -> String {
        let role = format!("{}_limited", self.name);
        self.say(&format!("DROP ROLE IF EXISTS {role}"));
        self.say(&format!("CREATE ROLE {role} LOGIN"));
        self.say("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
        self.say(&format!("REVOKE CREATE, TEMPORARY ON DATABASE {} FROM PUBLIC", self.name));
        let rights = "SELECT, INSERT, UPDATE, DELETE";
        self.say(&format!("GRANT {rights} ON ALL TABLES IN SCHEMA public TO {role}"));
        format!("postgres://{role}@{SERVER}/{}", self.name)
    }

    /// A store in it.
    pub fn store(&self) -> Store {
        Store::connect(&self.url()).unwrap()
    }

    /// Has something else say something to it.
    pub fn say(&self, sql: &str) -> Vec<String> {
        say(&self.name, sql).unwrap()
    }

    /// A store in it whose sessions can be refused.
    pub fn store_of_a_role(&self) -> Store {
        let Self { name } = self;
        self.say(&format!("DROP ROLE IF EXISTS {name}"));
        self.say(&format!(
            "CREATE ROLE {name} LOGIN PASSWORD 'few'; ALTER DATABASE {name} OWNER TO {name};
             GRANT ALL ON SCHEMA public TO {name}"
        ));
        let url = format!("postgres://{name}:few@{SERVER}/{name}");
        Store::connect(&url.parse::<DatabaseUrl>().unwrap()).unwrap()
    }

    /// Ends the sessions of that store, and refuses new ones with 53300, as a server does that has as
    /// many as it may have; or permits them again.
    pub fn refuse_sessions(&self, are_refused: bool) {
        let limit = if are_refused { 0 } else { -1 };
        self.say(&format!("ALTER ROLE {} CONNECTION LIMIT {limit}", self.name));
        if are_refused {
            self.cut();
        }
    }

    /// Ends every connection of a store.
    pub fn cut(&self) -> usize {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'tradepost'";
        self.say(sql).len()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = say("postgres", &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
        let _ = say("postgres", &format!("DROP ROLE IF EXISTS {}", self.name));
        let _ = say("postgres", &format!("DROP ROLE IF EXISTS {}_limited", self.name));
    }
}
