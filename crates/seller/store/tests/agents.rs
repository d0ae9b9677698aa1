//! The store as agents use it that are neither dealers nor publishers: with and without the feature `sellers`.

#![expect(clippy::unwrap_used, reason = "a test that meets what it does not expect has to fail")]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio_postgres::NoTls;
use tradepost_server::store_tests::{StoreUnderTest, assert_conforms};
use tradepost_server::tasks::log::TaskLog;
use tradepost_store::{DatabaseUrl, Store};

#[expect(dead_code, reason = "other tests look for published files, too")]
#[path = "../../../protocol/tests/tests/it/beside.rs"]
mod beside;

/// Address of an object, which tells stores apart.
fn place(log: &Arc<dyn TaskLog>) -> usize {
    Arc::as_ptr(log).cast::<()>().addr()
}

/// Stores in files, each in a folder of its own.
#[derive(Default)]
struct Files {
    folders: Mutex<Vec<TempDir>>,
    opened: Mutex<HashMap<usize, PathBuf>>,
}

impl Files {
    fn open_in(&self, folder: PathBuf) -> Arc<dyn TaskLog> {
        let store: Arc<dyn TaskLog> = Arc::new(Store::open(&folder).unwrap());
        self.opened.lock().unwrap().insert(place(&store), folder);
        store
    }
}

impl StoreUnderTest for Files {
    fn open(&self) -> Arc<dyn TaskLog> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        self.folders.lock().unwrap().push(folder);
        self.open_in(path)
    }

    fn reopen(&self, store: Arc<dyn TaskLog>) -> Option<Arc<dyn TaskLog>> {
        let folder = self.opened.lock().unwrap().remove(&place(&store)).unwrap();
        drop(store);
        Some(self.open_in(folder))
    }
}

/// Stores on a server, one after another in one database.
struct OneDatabase {
    name: String,
}

/// Says something to the server. Where there is none, the test has said that it does without.
fn execute(database: &str, sql: &str) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let result = runtime.block_on(async {
        let config = format!("postgres://postgres@127.0.0.1:5432/{database}?connect_timeout=5");
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
        let connection = tokio::spawn(connection);
        let result = client.simple_query(sql).await;
        drop(client);
        let _ = connection.await;
        result.map(drop)
    });
    if result.is_err() {
        beside::without("a PostgreSQL on this machine");
    }
    result.is_ok()
}

impl OneDatabase {
    /// Creates the database; `None` without a server.
    fn create() -> Option<Self> {
        let name = format!("tradepost_agents_{}", std::process::id());
        let is_made = execute("postgres", &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
            && execute("postgres", &format!("CREATE DATABASE {name}"));
        is_made.then_some(Self { name })
    }

    fn connect(&self) -> Arc<dyn TaskLog> {
        let url = format!("postgres://postgres@127.0.0.1:5432/{}", self.name);
        Arc::new(Store::connect(&url.parse::<DatabaseUrl>().unwrap()).unwrap())
    }
}

impl StoreUnderTest for OneDatabase {
    fn open(&self) -> Arc<dyn TaskLog> {
        let store = self.connect();
        // Checks follow each other, and each store that they ask for is dropped before the next.
        assert!(execute(&self.name, "TRUNCATE tasks, secrets CASCADE"));
        store
    }

    fn reopen(&self, store: Arc<dyn TaskLog>) -> Option<Arc<dyn TaskLog>> {
        drop(store);
        Some(self.connect())
    }
}

impl Drop for OneDatabase {
    fn drop(&mut self) {
        execute("postgres", &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

#[test]
fn a_file_conforms() {
    assert_conforms(&Files::default());
}

#[test]
fn a_server_conforms() {
    if let Some(database) = OneDatabase::create() {
        assert_conforms(&database);
    }
}
