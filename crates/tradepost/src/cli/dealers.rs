//! Where commands get the dealers from: a configuration file or the demo.

use std::path::PathBuf;

use super::check_config;
use super::output::Failure;
use crate::config::{Config, read};

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
}
