//! Where commands get the dealers from: a configuration file or the demo.

use std::path::{Path, PathBuf};

use tradepost_store::Store;

use super::output::Failure;
use super::place::Place;
use super::{Context, check_config};
use crate::config::{Config, read};
use crate::hosting::{self, Fixed};

/// The folder that holds all state, when no other is named.
pub const DATA: &str = "tradepost-data";

/// The configuration file, when no other is named.
pub const CONFIG: &str = "tradepost.toml";

/// A configuration file or the demo.
#[derive(Debug, Clone, clap::Args)]
pub struct Source {
    /// The configuration file.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// A fictional dealer group instead of a configuration file.
    #[arg(long, conflicts_with = "config")]
    pub demo: bool,
}

impl Source {
    /// Reads the configuration.
    ///
    /// # Errors
    /// When the file cannot be read, or with every mistake in it.
    pub fn load(&self, environment: &[(String, String)]) -> Result<Config, Failure> {
        if self.demo {
            return Ok(read::demo());
        }
        check_config::load(&self.config, environment)
    }

    /// The same where there is a file; one that is named has to be there.
    ///
    /// # Errors
    /// When the file cannot be read, or with every mistake in it.
    pub fn load_if_there(
        &self,
        environment: &[(String, String)],
    ) -> Result<Option<Config>, Failure> {
        let is_missing = self.config == Path::new(CONFIG) && !self.config.exists();
        if is_missing && !self.demo {
            return Ok(None);
        }
        self.load(environment).map(Some)
    }

    /// The configuration with the dealers that are hosted beside it.
    ///
    /// # Errors
    /// When the file cannot be read, or what is kept.
    pub fn load_with_hosted(&self, place: &Place, context: &Context) -> Result<Config, Failure> {
        let mut config = self.load(&context.environment)?;
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
