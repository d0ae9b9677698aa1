//! Input and result of every command.

use tokio::runtime::{Builder, Runtime};
use tradepost_server::auth::key::is_name;

use super::output::{CommandFailure, Output};

/// Environment and output of a command.
#[derive(Debug)]
pub struct Context {
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// Format of the output.
    pub output: Output,
}

impl Context {
    /// Returns an environment variable.
    #[must_use]
    pub fn variable(&self, wanted: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns an environment variable that is not empty.
    #[must_use]
    pub fn filled(&self, wanted: &str) -> Option<&str> {
        self.variable(wanted).filter(|value| !value.is_empty())
    }

    /// Returns the user of the command for the audit log: `cli:` and the system user according to
    /// the environment.
    #[must_use]
    pub fn actor(&self) -> String {
        let named = |name: &str| self.variable(name).filter(|value| is_name(value));
        // With sudo, the original user is recorded and not root.
        let user = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(named);
        format!("cli:{}", user.unwrap_or("unknown"))
    }
}

/// Builds the async runtime of a command.
pub fn runtime(mut builder: Builder) -> Result<Runtime, CommandFailure> {
    builder.enable_all().build().map_err(CommandFailure::fault)
}

/// Result of every command.
pub type Outcome = Result<(), CommandFailure>;
