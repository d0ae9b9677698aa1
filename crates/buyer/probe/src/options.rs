//! Options of a probe: its target, its limits, and accepted failures.

use std::time::Duration;

use jiff::Timestamp;
use tradepost_client::{Origin, Url};

use super::check::CheckProfile;

/// Name of the prober in `User-Agent`, which the operator's contact follows.
pub const NAME: &str = concat!("tradepost-probe/", env!("CARGO_PKG_VERSION"));

/// Maximum length of a text sent to an agent, in bytes: reports show whole requests up to 4 KiB.
pub const MAX_TEXT: usize = 2_000;

/// Options of a probe.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProbeOptions {
    /// Specification to check against; `None` checks against those that the card names.
    pub profile: Option<CheckProfile>,
    /// Bearer token.
    pub token: Option<String>,
    /// Bearer token of a second caller, for checks that callers are isolated from each other.
    pub token_b: Option<String>,
    /// Origins that the tokens are for; when empty, the origin of the card.
    pub token_for: Vec<Origin>,
    /// True when leads with contact data, and valid leads, may be sent.
    pub allow_leads: bool,
    /// True when messages that a generic agent acts on may be sent.
    pub allow_messages: bool,
    /// Text for a generic agent, at most [`MAX_TEXT`] bytes. `None` sends a fixed sentence that requests nothing and,
    /// if that is refused, the examples of the card.
    pub text: Option<String>,
    /// True when an AdCP seller may be asked for a change: an account in its sandbox.
    pub allow_writes: bool,
    /// Maximum number of requests per second; 0 means no limit.
    pub rate: u32,
    /// Maximum number of requests in all.
    pub budget: u32,
    /// Maximum duration of the run; the checks that remain are then reported as skipped.
    pub deadline: Option<Duration>,
    /// Contact of the prober's operator for the agent's operator: a URL or an e-mail address that is sent in
    /// `User-Agent`. Only visible ASCII; any other value is left out.
    pub contact: Option<String>,
    /// Time of the run, from which consents are dated.
    pub now: Timestamp,
    /// Letters and digits that are unique to this run, for unique ids.
    pub run_id: String,
    /// Accepted failures, with reasons.
    pub waivers: Vec<Waiver>,
}

impl ProbeOptions {
    /// Creates the default options: ten requests per second and a thousand in all, without a contact, and nothing
    /// that a seller stores. `run_id` has letters and digits and is new for each run.
    #[must_use]
    pub fn new(now: Timestamp, run_id: impl Into<String>) -> Self {
        Self {
            profile: None,
            token: None,
            token_b: None,
            token_for: Vec::new(),
            allow_leads: false,
            allow_messages: true,
            text: None,
            allow_writes: false,
            rate: 10,
            budget: 1000,
            deadline: None,
            contact: None,
            now,
            run_id: run_id.into(),
            waivers: Vec::new(),
        }
    }

    /// Returns the origins that the tokens are for, for an agent whose card is at this address.
    pub(crate) fn token_origins(&self, card: &Url) -> Vec<Origin> {
        match self.token_for.is_empty() {
            true => vec![Origin::from_url(card)],
            false => self.token_for.clone(),
        }
    }

    /// Returns the value of `User-Agent`.
    #[must_use]
    pub fn user_agent(&self) -> String {
        let shown = |text: &&String| text.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        match self.contact.as_ref().filter(shown) {
            Some(contact) => format!("{NAME} (+{contact})"),
            None => NAME.to_owned(),
        }
    }
}

/// Accepted failure of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// Name of the check.
    pub check: String,
    /// Reason for accepting it; never empty.
    pub reason: String,
}
