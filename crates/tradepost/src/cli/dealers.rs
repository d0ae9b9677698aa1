//! Source of the dealers for commands: a configuration file or the demo.

use std::collections::BTreeSet;

use tradepost_document::json::json;
use tradepost_runtime::config::{Config, read};
use tradepost_runtime::hosting::{self, Fixed};
use tradepost_store::Store;

use super::Context;
use super::nearest::nearest;
use super::output::CommandFailure;
use super::store_location::StoreOptions;

/// Default configuration file.
pub const CONFIG: &str = "tradepost.toml";

/// Option that selects the demo instead of a configuration file; [`StoreOptions`] has the file.
#[derive(Debug, Clone, clap::Args)]
pub struct ConfigSource {
    /// Use a fictional dealer group instead of a configuration file.
    #[arg(long, conflicts_with = "config")]
    pub demo: bool,
}

impl ConfigSource {
    /// Reads the configuration.
    ///
    /// # Errors
    /// Fails when the file cannot be read, or with every mistake in it.
    pub fn load(&self, place: &StoreOptions, context: &Context) -> Result<Config, CommandFailure> {
        if self.demo {
            return Ok(read::demo());
        }
        place.load_config(context)
    }

    /// Reads the configuration if there is one; a file that is named must exist.
    ///
    /// # Errors
    /// Fails when the file cannot be read, or with every mistake in it.
    pub fn load_if_there(
        &self,
        place: &StoreOptions,
        context: &Context,
    ) -> Result<Option<Config>, CommandFailure> {
        if self.demo {
            return Ok(Some(read::demo()));
        }
        place.load_config_if_there(context)
    }

    /// Reads the configuration together with the hosted dealers in the store.
    ///
    /// # Errors
    /// Fails when the file or the stored dealers cannot be read.
    pub fn load_with_hosted(
        &self,
        place: &StoreOptions,
        context: &Context,
    ) -> Result<Config, CommandFailure> {
        let mut config = self.load(place, context)?;
        let has_store =
            place.database(Some(&config), context)?.is_some() || Store::exists(&place.data);
        if config.server.hosting && has_store {
            let store = place.open(Some(&config), context)?;
            let hosted = hosting::kept_dealers(&store, &Fixed::from_config(&config));
            config.dealers.extend(hosted?);
        }
        Ok(config)
    }
}

/// Maximum number of known dealers that a hint lists.
const MAX_LISTED: usize = 10;

/// Checks that the dealer of `--dealer` is known: configured, hosted, or with data in the store.
///
/// # Errors
/// Fails when it is not, with the nearest known one or all of them in the hint; also when the store
/// or the configuration cannot be read.
pub fn check_known(
    dealer: Option<&str>,
    store: &Store,
    place: &StoreOptions,
    context: &Context,
) -> Result<(), CommandFailure> {
    let Some(wanted) = dealer else { return Ok(()) };
    let mut known: BTreeSet<String> = store.known_agents()?.into_iter().collect();
    if known.contains(wanted) {
        return Ok(());
    }
    if let Some(config) = place.load_config_if_there(context)? {
        known.extend(config.dealers.into_iter().map(|dealer| dealer.terms.id));
        known.extend(config.publishers.into_iter().map(|publisher| publisher.profile.id));
    }
    if known.contains(wanted) { Ok(()) } else { Err(unknown_dealer(wanted, &known)) }
}

/// Checks the same against the dealers of a configuration only.
///
/// # Errors
/// Fails when it has no such dealer.
pub fn check_configured(dealer: Option<&str>, config: &Config) -> Result<(), CommandFailure> {
    let known = ids_of(config);
    match dealer.filter(|id| !known.contains(*id)) {
        Some(id) => Err(unknown_dealer(id, &known)),
        None => Ok(()),
    }
}

/// Returns the ids of a configuration's dealers.
#[must_use]
pub fn ids_of(config: &Config) -> BTreeSet<String> {
    config.dealers.iter().map(|dealer| dealer.terms.id.clone()).collect()
}

/// Returns the failure for an unknown dealer, with the known ones in its hint.
#[must_use]
pub fn unknown_dealer(wanted: &str, known: &BTreeSet<String>) -> CommandFailure {
    let hint = match nearest(wanted, known.iter().map(String::as_str)) {
        Some(id) => format!("did you mean {id}?"),
        None if known.is_empty() => {
            "no dealer is known here; name the configuration with --config".to_owned()
        }
        None => {
            let listed: Vec<&str> = known.iter().take(MAX_LISTED).map(String::as_str).collect();
            let more = if known.len() > MAX_LISTED { " and others" } else { "" };
            format!(
                "the known dealers are {}{more}; name the configuration with --config",
                listed.join(", ")
            )
        }
    };
    let listed: Vec<&String> = known.iter().collect();
    CommandFailure::usage(format!("there is no dealer {wanted:?}"))
        .hint(hint)
        .data(json!({"code": "unknown_dealer", "dealers": listed}))
}
