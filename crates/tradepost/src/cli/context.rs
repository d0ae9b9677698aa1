//! What every command is given, and what it returns.

use tokio::runtime::{Builder, Runtime};
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_server::auth::key::is_name;
use tradepost_server::clock::Clock;

use super::output::{CommandFailure, Output};

/// What commands get from outside.
#[derive(Debug)]
pub struct Context {
    /// The environment variables.
    pub environment: Vec<(String, String)>,
    /// Where output goes, and in which form.
    pub output: Output,
}

impl Context {
    /// An environment variable.
    #[must_use]
    pub fn variable(&self, wanted: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    }

    /// The same where it says something.
    #[must_use]
    pub fn filled(&self, wanted: &str) -> Option<&str> {
        self.variable(wanted).filter(|value| !value.is_empty())
    }

    /// Who runs the command, for the record: `cli:` and the user of the machine, as the environment
    /// has it.
    #[must_use]
    pub fn actor(&self) -> String {
        let named = |name: &str| self.variable(name).filter(|value| is_name(value));
        // Whoever has become root is meant, and not root.
        let user = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(named);
        format!("cli:{}", user.unwrap_or("unknown"))
    }

    /// An entry for the record of a dealer, or of everybody, about what they do now.
    #[must_use]
    pub fn entry(&self, chain: &str, action: AuditAction, subject: Option<&str>) -> NewAuditEntry {
        NewAuditEntry {
            chain: chain.to_owned(),
            at: Clock::system().now(),
            actor: self.actor(),
            action,
            subject: subject.map(ToOwned::to_owned),
            detail: None,
        }
    }
}

/// What runs the work of a command.
pub(super) fn runtime(mut builder: Builder) -> Result<Runtime, CommandFailure> {
    builder.enable_all().build().map_err(CommandFailure::fault)
}

/// What every command returns.
pub type Outcome = Result<(), CommandFailure>;
