//! Where commands get the dealers from: a configuration file or the demo.

use std::collections::BTreeSet;

use tradepost_store::Store;
use tradepost_wire::json::json;

use super::Context;
use super::nearest::nearest;
use super::output::CommandFailure;
use super::place::StoreOptions;
use crate::config::{Config, read};
use crate::hosting::{self, Fixed};

/// The folder that holds all state, when no other is named.
pub const DATA: &str = "tradepost-data";

/// The configuration file, when no other is named.
pub const CONFIG: &str = "tradepost.toml";

/// The option that takes the demo instead of a configuration file; [`StoreOptions`] has the file.
#[derive(Debug, Clone, clap::Args)]
pub struct ConfigSource {
    /// A fictional dealer group instead of a configuration file.
    #[arg(long, conflicts_with = "config")]
    pub demo: bool,
}

impl ConfigSource {
    /// Reads the configuration.
    ///
    /// # Errors
    /// When the file cannot be read, or with every mistake in it.
    pub fn load(&self, place: &StoreOptions, context: &Context) -> Result<Config, CommandFailure> {
        if self.demo {
            return Ok(read::demo());
        }
        place.load_config(context)
    }

    /// Reads the configuration where there is one; a file that is named has to be there.
    ///
    /// # Errors
    /// When the file cannot be read, or with every mistake in it.
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

    /// Reads the configuration with the dealers that are hosted beside it.
    ///
    /// # Errors
    /// When the file cannot be read, or what is kept.
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
            let hosted = hosting::kept_dealers(&store, &Fixed::of(&config));
            config.dealers.extend(hosted?);
        }
        Ok(config)
    }
}

/// Maximum number of known dealers that a hint lists.
const MAX_LISTED: usize = 10;

/// Checks that the dealer that `--dealer` names is known: configured, hosted, or one of whom the store
/// has kept something.
///
/// # Errors
/// When it is not, with the nearest known one or all of them in the hint; when the store or the
/// configuration cannot be read.
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

/// Checks the same against the dealers of a configuration alone.
///
/// # Errors
/// When it has no such dealer.
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

/// Says that no dealer has an id, and which ones there are.
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
            format!("known are {}{more}; --config names the configuration", listed.join(", "))
        }
    };
    let listed: Vec<&String> = known.iter().collect();
    CommandFailure::usage(format!("there is no dealer {wanted:?}"))
        .hint(hint)
        .data(json!({"code": "unknown_dealer", "dealers": listed}))
}
