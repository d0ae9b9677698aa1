//! Where a server's state is kept: in a folder, or by a PostgreSQL.

use std::path::{Path, PathBuf};

use tradepost_server::clock::Clock;
use tradepost_server::fault::Fault;
use tradepost_store::privacy::Keys;
use tradepost_store::{DatabaseUrl, Locked, Store};

use super::output::Failure;
use super::{Context, dealers};
use crate::config::Config;

/// What names the database for commands that read no configuration, as for those that do.
pub(super) const VARIABLE: &str = "TRADEPOST_SERVER__DATABASE";

/// What holds the key of personal data.
const KEY: &str = "TRADEPOST_PRIVACY_KEY";

/// What names the file with it for commands that read no configuration, as for those that do.
const KEY_FILE: &str = "TRADEPOST_PRIVACY__KEY_FILE";

const KEYGEN: &str = "make a key with `tradepost privacy keygen --out FILE`";

/// A folder or a database.
#[derive(Debug, Clone, clap::Args)]
pub struct Place {
    /// The folder in which `serve` keeps its data, unless the configuration or the environment variable
    /// TRADEPOST_SERVER__DATABASE names a database.
    #[arg(long, value_name = "DIR", default_value = dealers::DATA)]
    pub data: PathBuf,
    /// The PostgreSQL that keeps them instead, instead of the configured one. Other users of the
    /// machine see it; the environment variable TRADEPOST_SERVER__DATABASE they do not.
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    database: Option<String>,
    /// The file with the key of personal data, where it is encrypted. The environment variable
    /// TRADEPOST_PRIVACY_KEY can hold the key itself.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl Place {
    /// A folder, whatever the configuration says.
    #[must_use]
    pub fn folder(data: &Path) -> Self {
        Self { data: data.to_owned(), database: None, key_file: None }
    }

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
        match (&self.database, config, context.variable(VARIABLE)) {
            (Some(text), _, _) => read("--database", text).map(Some),
            // The configuration has read the variable itself.
            (None, Some(config), _) => Ok(config.server.database.clone()),
            (None, None, Some(text)) => read(VARIABLE, text).map(Some),
            (None, None, None) => Ok(None),
        }
    }

    /// Opens the store that is there, in which a server may be running.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn open(&self, config: Option<&Config>, context: &Context) -> Result<Store, Failure> {
        // Opening creates, which would hide a mistyped folder.
        if self.database(config, context)?.is_none() {
            let hint = "name the folder of `serve` with --data, or its database with --database";
            self.check_folder().map_err(|failure| failure.hint(hint))?;
        }
        self.create(config, context)
    }

    /// That there is data in the folder.
    ///
    /// # Errors
    /// When there is none.
    pub fn check_folder(&self) -> Result<(), Failure> {
        if Store::exists(&self.data) {
            return Ok(());
        }
        let message = format!("there is no data of tradepost in {}", self.data.display());
        Err(Failure::usage(message).hint("name the folder of `serve` with --data"))
    }

    /// The same, and creates what is missing: the server may never have run.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn create(&self, config: Option<&Config>, context: &Context) -> Result<Store, Failure> {
        let store = self.connect(config, context)?;
        // Whoever has no key can do what needs none.
        let keys = self.keys(config, context)?;
        if !keys.is_empty() {
            unlock(&store, &keys, false)?;
        }
        Ok(store)
    }

    /// The same without any key, for whoever is to encrypt it from now on.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn connect(&self, config: Option<&Config>, context: &Context) -> Result<Store, Failure> {
        match self.database(config, context)? {
            Some(url) => Store::join(&url).map_err(|fault| no_database(&url, &fault)),
            None => Store::attach(&self.data).map_err(|fault| self.unusable(&fault)),
        }
    }

    /// The keys of personal data, if there are any: those of the command line, of the environment, or
    /// of the configuration.
    ///
    /// # Errors
    /// When there is a file that cannot be read, or what is no key.
    pub fn keys(&self, config: Option<&Config>, context: &Context) -> Result<Keys, Failure> {
        let configured = match config {
            Some(config) => config.privacy.key_file.clone(),
            None => context.variable(KEY_FILE).map(PathBuf::from),
        };
        match (&self.key_file, context.variable(KEY), configured) {
            (Some(file), _, _) => load_keys(file),
            (None, Some(text), _) => {
                let unusable = |why| Failure::usage(format!("{KEY} {why}")).hint(KEYGEN);
                Keys::read(text).map_err(unusable)
            }
            (None, None, Some(file)) => load_keys(&file),
            (None, None, None) => Ok(Keys::default()),
        }
    }

    /// The same for commands that read a configuration for the keys alone, where one is there; a file
    /// that is named has to be there.
    ///
    /// # Errors
    /// The same, and when the configuration is needed and cannot be used.
    pub fn keys_by(&self, source: &dealers::Source, context: &Context) -> Result<Keys, Failure> {
        let is_said = [KEY, KEY_FILE].iter().any(|name| context.variable(name).is_some());
        if self.key_file.is_some() || is_said {
            return self.keys(None, context);
        }
        self.keys(source.load_if_there(&context.environment)?.as_ref(), context)
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

/// Takes the keys of personal data for a store. With `begin` it is encrypted from now on.
///
/// # Errors
/// That other keys are needed.
pub fn unlock(store: &Store, keys: &Keys, begin: bool) -> Result<bool, Failure> {
    store.unlock(keys, begin, Clock::system().now()).map_err(|locked| {
        let hint = match &locked {
            Locked::NoKey(_) => {
                "name its file with --key-file or privacy.key_file, or set TRADEPOST_PRIVACY_KEY"
            }
            Locked::OtherKey(_) => {
                "give the key that it was encrypted with, too, in the line after the new one, until \
                 `tradepost privacy rekey` is done; if it is lost for good, `tradepost privacy \
                 forget-key` goes on without what it alone can read"
            }
            Locked::Broken(_) => return Failure::new(1, locked.to_string()),
        };
        Failure::usage(locked.to_string()).hint(hint)
    })
}

/// The keys in a file.
///
/// # Errors
/// When it cannot be read, or holds something else.
pub fn load_keys(file: &Path) -> Result<Keys, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(format!("cannot read the key file {name}: {}", error.kind())).hint(KEYGEN)
    })?;
    let unusable = |why| Failure::usage(format!("the key file {name} {why}")).hint(KEYGEN);
    Keys::read(&text).map_err(unusable)
}

fn no_database(url: &DatabaseUrl, fault: &Fault) -> Failure {
    Failure::new(1, format!("cannot use the database {url}: {}", fault.chain()))
        .hint("see that it answers, and that server.database names it and its user")
}
