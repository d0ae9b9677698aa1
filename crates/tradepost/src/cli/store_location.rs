//! Resolves the location of a server's store for every command alike: a folder, or a PostgreSQL
//! database.
//!
//! The database is the one that `--database` names, else the environment variable
//! `TRADEPOST_SERVER__DATABASE`, else `server.database` of the configuration; without any of them the
//! folder of `--data` is used. The configuration is the file of `--config`, else `tradepost.toml` of the
//! working directory where there is one.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use tradepost_document::json::json;
use tradepost_runtime::config::Config;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::privacy::OperatorKeys;
use tradepost_store::{DatabaseUrl, Locked, Store};

use super::output::CommandFailure;
use super::{Context, check_config, data_folder, dealers};

/// Environment variable with the database, for all commands.
pub(super) const VARIABLE: &str = "TRADEPOST_SERVER__DATABASE";

/// Environment variable with the key of personal data.
const KEY_VARIABLE: &str = "TRADEPOST_PRIVACY_KEY";

/// Environment variable with the file of that key, for all commands.
const KEY_FILE_VARIABLE: &str = "TRADEPOST_PRIVACY__KEY_FILE";

const KEYGEN: &str = "create a key with `tradepost privacy keygen --out FILE`";

/// Options with the location of the store, and of the configuration that names it.
#[derive(Debug, Clone, clap::Args)]
pub struct StoreOptions {
    /// Data folder of `serve`. It is used only if no database is named by --database, by the
    /// environment variable TRADEPOST_SERVER__DATABASE or by server.database of the configuration,
    /// which are checked in this order.
    #[arg(long, value_name = "DIR", default_value = data_folder::DATA)]
    pub data: PathBuf,
    /// PostgreSQL database to use instead of a folder or of the configured database. Other users of
    /// the machine can read this option, but not the environment variable
    /// TRADEPOST_SERVER__DATABASE.
    #[arg(long, value_name = "URL", conflicts_with = "data")]
    database: Option<String>,
    /// File with the key that decrypts personal data; overrides privacy.key_file and the environment
    /// variable TRADEPOST_PRIVACY_KEY, which can contain the key itself.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Configuration file, which names the database and the key file among others [default:
    /// tradepost.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl StoreOptions {
    /// Creates the location of a folder, whatever the configuration says.
    #[must_use]
    pub fn folder(data: &Path) -> Self {
        Self { data: data.to_owned(), database: None, key_file: None, config: None }
    }

    /// Returns the path of the configuration file: that of `--config`, else `tradepost.toml`.
    #[must_use]
    pub fn config_path(&self) -> &Path {
        self.config.as_deref().unwrap_or(Path::new(dealers::CONFIG))
    }

    /// Reads the configuration, for commands that need one.
    ///
    /// # Errors
    /// Fails when the file cannot be read, or with every mistake in it.
    pub fn load_config(&self, context: &Context) -> Result<Config, CommandFailure> {
        check_config::load(self.config_path(), &context.environment)
    }

    /// Reads the configuration if there is one, for commands that can do without. A file that
    /// `--config` names must exist.
    ///
    /// # Errors
    /// Fails when the file cannot be read, or with every mistake in it.
    pub fn load_config_if_there(
        &self,
        context: &Context,
    ) -> Result<Option<Config>, CommandFailure> {
        if self.config.is_none() && !self.config_path().exists() {
            return Ok(None);
        }
        self.load_config(context).map(Some)
    }

    /// Returns the configuration that the command has read already, or reads it.
    fn resolve_config<'c>(
        &self,
        config: Option<&'c Config>,
        context: &Context,
    ) -> Result<Option<Cow<'c, Config>>, CommandFailure> {
        match config {
            Some(config) => Ok(Some(Cow::Borrowed(config))),
            None => Ok(self.load_config_if_there(context)?.map(Cow::Owned)),
        }
    }

    /// Returns the database of the store, or `None` when it is in a folder. `config` is the
    /// configuration if the command has read it; otherwise it is read here, if there is one.
    ///
    /// # Errors
    /// Fails when the configuration cannot be used, or the database is not a valid URL.
    pub fn database(
        &self,
        config: Option<&Config>,
        context: &Context,
    ) -> Result<Option<DatabaseUrl>, CommandFailure> {
        self.database_of(self.resolve_config(config, context)?.as_deref(), context)
    }

    fn database_of(
        &self,
        config: Option<&Config>,
        context: &Context,
    ) -> Result<Option<DatabaseUrl>, CommandFailure> {
        let read = |name: &str, text: &str| {
            let parsed = text.parse::<DatabaseUrl>();
            parsed.map_err(|why| CommandFailure::usage(format!("{name} {why}")))
        };
        if let Some(text) = &self.database {
            return read("--database", text).map(Some);
        }
        if let Some(config) = config {
            // The configuration already includes the variable, which overrides the file.
            return Ok(config.server.database.clone());
        }
        context.variable(VARIABLE).map(|text| read(VARIABLE, text)).transpose()
    }

    /// Sets the value of `--config`.
    #[must_use]
    pub fn with_config(self, config: Option<PathBuf>) -> Self {
        Self { config, ..self }
    }

    /// Opens an existing store, which a running server may be using.
    ///
    /// # Errors
    /// Fails when there is none, or it cannot be used.
    pub fn open(
        &self,
        config: Option<&Config>,
        context: &Context,
    ) -> Result<Store, CommandFailure> {
        let config = self.resolve_config(config, context)?;
        let config = config.as_deref();
        let database = self.database_of(config, context)?;
        // Opening would create the store, which would hide a mistyped folder.
        if database.is_none() {
            let hint = "name the folder of `serve` with --data, its database with --database, or its \
                        configuration with --config";
            self.check_folder().map_err(|failure| failure.hint(hint))?;
        }
        self.note_unused_folder(database.as_ref(), context);
        self.open_with_keys(database.as_ref(), &self.keys_of(config, context)?)
    }

    /// Checks that there is data in the folder.
    ///
    /// # Errors
    /// Fails when there is none.
    pub fn check_folder(&self) -> Result<(), CommandFailure> {
        if Store::exists(&self.data) {
            return Ok(());
        }
        let message = format!("the folder {} contains no data of tradepost", self.data.display());
        Err(CommandFailure::usage(message)
            .hint("name the folder of `serve` with --data")
            .data(json!({"code": "store_missing"})))
    }

    /// Opens the store and creates what is missing, because the server may never have run.
    ///
    /// # Errors
    /// Fails when it cannot be used.
    pub fn create(
        &self,
        config: Option<&Config>,
        context: &Context,
    ) -> Result<Store, CommandFailure> {
        let config = self.resolve_config(config, context)?;
        let database = self.database_of(config.as_deref(), context)?;
        self.note_unused_folder(database.as_ref(), context);
        self.open_with_keys(database.as_ref(), &self.keys_of(config.as_deref(), context)?)
    }

    /// Warns that a folder was named but is unused, because a database is configured.
    fn note_unused_folder(&self, database: Option<&DatabaseUrl>, context: &Context) {
        if let Some(url) = database.filter(|_| self.data != Path::new(data_folder::DATA)) {
            context.output.talk(format!(
                "note: --data is not used: {VARIABLE} or the configuration names the database {url}"
            ));
        }
    }

    fn open_with_keys(
        &self,
        database: Option<&DatabaseUrl>,
        keys: &OperatorKeys,
    ) -> Result<Store, CommandFailure> {
        let store = self.open_locked(database)?;
        // Commands that need no key work without one.
        if !keys.is_empty() {
            unlock(&store, keys, false)?;
        }
        Ok(store)
    }

    /// Opens the store without any key, for a command that is about to encrypt it.
    ///
    /// # Errors
    /// Fails when it cannot be used.
    pub fn connect(
        &self,
        config: Option<&Config>,
        context: &Context,
    ) -> Result<Store, CommandFailure> {
        self.open_locked(self.database(config, context)?.as_ref())
    }

    fn open_locked(&self, database: Option<&DatabaseUrl>) -> Result<Store, CommandFailure> {
        match database {
            Some(url) => Store::join(url).map_err(|fault| no_database(url, &fault)),
            None => Store::attach(&self.data).map_err(|fault| self.unusable(&fault)),
        }
    }

    /// Reads the keys of personal data, if there are any: from the command line, the environment,
    /// or the configuration, which is read here unless the command has read it.
    ///
    /// # Errors
    /// Fails when a file cannot be read, or has no valid key.
    pub fn keys(
        &self,
        config: Option<&Config>,
        context: &Context,
    ) -> Result<OperatorKeys, CommandFailure> {
        self.keys_of(self.resolve_config(config, context)?.as_deref(), context)
    }

    fn keys_of(
        &self,
        config: Option<&Config>,
        context: &Context,
    ) -> Result<OperatorKeys, CommandFailure> {
        let configured = match config {
            Some(config) => config.privacy.key_file.clone(),
            None => context.variable(KEY_FILE_VARIABLE).map(PathBuf::from),
        };
        match (&self.key_file, context.variable(KEY_VARIABLE), configured) {
            (Some(file), _, _) => load_keys(file),
            (None, Some(text), _) => {
                let unusable =
                    |why| CommandFailure::usage(format!("{KEY_VARIABLE} {why}")).hint(KEYGEN);
                OperatorKeys::read(text).map_err(unusable)
            }
            (None, None, Some(file)) => load_keys(&file),
            (None, None, None) => Ok(OperatorKeys::default()),
        }
    }

    /// Opens the store and migrates its schema. For a folder the caller must hold its lock.
    ///
    /// # Errors
    /// Fails when it cannot be used.
    pub fn migrate(&self, database: Option<&DatabaseUrl>) -> Result<Store, CommandFailure> {
        match database {
            Some(url) => Store::connect(url).map_err(|fault| no_database(url, &fault)),
            None => Store::open(&self.data).map_err(|fault| self.unusable(&fault)),
        }
    }

    /// Returns the failure of an unusable folder.
    pub(super) fn unusable(&self, fault: &InternalError) -> CommandFailure {
        data_folder::unusable(&self.data, fault)
    }
}

/// Unlocks a store with the keys of personal data. With `begin` it is encrypted from now on.
///
/// # Errors
/// Fails when other keys are needed.
pub fn unlock(store: &Store, keys: &OperatorKeys, begin: bool) -> Result<bool, CommandFailure> {
    let now = Clock::system().now();
    store.unlock(keys, begin, now).map_err(|locked| still_locked(&locked))
}

/// Returns the failure for a store that other keys encrypt.
pub fn still_locked(locked: &Locked) -> CommandFailure {
    let hint = match locked {
        Locked::NoKey(_) => {
            "name its file with --key-file or privacy.key_file, or set TRADEPOST_PRIVACY_KEY"
        }
        Locked::OtherKey(_) => {
            "also give the key that encrypted it, in the line after the new one, until \
             `tradepost privacy rekey` is done; if that key is lost, `tradepost privacy \
             forget-key` erases the data that only it can decrypt"
        }
        Locked::Broken(_) => return CommandFailure::new(1, locked.to_string()),
    };
    CommandFailure::usage(locked.to_string()).hint(hint)
}

/// Reads the keys in a file.
///
/// # Errors
/// Fails when it cannot be read, or has no valid key.
pub fn load_keys(file: &Path) -> Result<OperatorKeys, CommandFailure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| {
        CommandFailure::usage(format!("cannot read the key file {name}: {}", error.kind()))
            .hint(KEYGEN)
    })?;
    let unusable = |why| CommandFailure::usage(format!("the key file {name} {why}")).hint(KEYGEN);
    OperatorKeys::read(&text).map_err(unusable)
}

fn no_database(url: &DatabaseUrl, fault: &InternalError) -> CommandFailure {
    CommandFailure::new(1, format!("cannot use the database {url}: {}", fault.chain()))
        .hint("check that it answers, and that server.database names it and its user")
        .data(json!({"code": "store_unusable"}))
}
