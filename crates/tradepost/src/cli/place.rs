//! Where a server's state is kept: in a folder, or by a PostgreSQL.

use std::path::PathBuf;

use tradepost_server::fault::Fault;
use tradepost_store::{DatabaseUrl, Store};

use super::output::Failure;
use super::{Context, dealers};
use crate::config::Config;

/// What names the database for commands that read no configuration, as for those that do.
const VARIABLE: &str = "TRADEPOST_SERVER__DATABASE";

/// A folder or a database.
#[derive(Debug, Clone, clap::Args)]
pub struct Place {
    /// The folder in which `serve` keeps its data.
    #[arg(long, value_name = "DIR", default_value = dealers::DATA)]
    pub data: PathBuf,
    /// The PostgreSQL that keeps them instead, instead of the configured one. Other users of the
    /// machine see it; the environment variable TRADEPOST_SERVER__DATABASE they do not.
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    database: Option<String>,
}

impl Place {
    /// The database, if it is one: that of the command line, of the configuration or of the
    /// environment.
    ///
    /// # Errors
    /// When what is said there is no URL of a database.
    pub fn database(
        &self,
        config: Option<&Config>,
        context: &Context,
    ) -> Result<Option<DatabaseUrl>, Failure> {
        let read = |name: &str, text: &str| {
            text.parse().map_err(|why| Failure::usage(format!("{name} {why}")))
        };
        let variable = context.environment.iter().find(|(name, _)| name == VARIABLE);
        match (&self.database, config, variable) {
            (Some(text), _, _) => read("--database", text).map(Some),
            (None, Some(config), _) => Ok(config.server.database.clone()),
            (None, None, Some((name, text))) => read(name, text).map(Some),
            (None, None, None) => Ok(None),
        }
    }

    /// Opens the store that is there, in which a server may be running.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn open(&self, config: Option<&Config>, context: &Context) -> Result<Store, Failure> {
        // Opening creates, which would hide a mistyped folder.
        if self.database(config, context)?.is_none() && !Store::exists(&self.data) {
            let message = format!("there is no data of tradepost in {}", self.data.display());
            return Err(Failure::usage(message)
                .hint("name the folder of `serve` with --data, or its database with --database"));
        }
        self.create(config, context)
    }

    /// The same, and creates what is missing: the server may never have run.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn create(&self, config: Option<&Config>, context: &Context) -> Result<Store, Failure> {
        match self.database(config, context)? {
            Some(url) => Store::join(&url).map_err(|fault| no_database(&url, &fault)),
            None => Store::attach(&self.data).map_err(|fault| self.unusable(&fault)),
        }
    }

    /// Opens it and brings its schema up to date. Whoever does so in a folder has its lock.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn migrate(&self, database: Option<&DatabaseUrl>) -> Result<Store, Failure> {
        match database {
            Some(url) => Store::connect(url).map_err(|fault| no_database(url, &fault)),
            None => Store::open(&self.data).map_err(|fault| self.unusable(&fault)),
        }
    }

    /// That the folder is of no use.
    pub(super) fn unusable(&self, fault: &Fault) -> Failure {
        let message =
            format!("cannot use the data folder {}: {}", self.data.display(), fault.chain());
        Failure::new(1, message).hint("name a folder that you may write with --data")
    }
}

fn no_database(url: &DatabaseUrl, fault: &Fault) -> Failure {
    Failure::new(1, format!("cannot use the database {url}: {}", fault.chain()))
        .hint("see that it answers, and that server.database names it and its user")
}
