//! What is probed, and how gently; what is known already, and accepted.

use std::time::Duration;

use jiff::Timestamp;
use tradepost_buyer::{Origin, Url};

use super::check::CheckProfile;

/// What this prober calls itself in `User-Agent`, before the address of whoever uses it.
pub const NAME: &str = concat!("tradepost-probe/", env!("CARGO_PKG_VERSION"));

/// The longest text that is said to an agent, in bytes: reports show whole requests up to 4 KiB.
pub const MAX_TEXT: usize = 2_000;

/// What to probe, and how gently.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProbeOptions {
    /// The specifications to judge by; `None` judges by those that the card names.
    pub profile: Option<CheckProfile>,
    /// A bearer token.
    pub token: Option<String>,
    /// The bearer token of somebody else, to see whether callers are kept apart.
    pub token_b: Option<String>,
    /// The origins that the tokens are for; without any, that of the address.
    pub token_for: Vec<Origin>,
    /// Whether leads may be sent with which somebody could be contacted, and valid ones.
    pub allow_leads: bool,
    /// Whether messages may be sent that a generic agent works on.
    pub allow_messages: bool,
    /// What is said to a generic agent, at most [`MAX_TEXT`] bytes; `None` says a fixed sentence that asks
    /// for nothing and, where that is refused, what the card gives as examples.
    pub text: Option<String>,
    /// Whether an AdCP seller may be asked to change something: an account in its sandbox.
    pub allow_writes: bool,
    /// Requests in a second at most; 0 is as many as can be.
    pub rate: u32,
    /// Requests in all at most.
    pub budget: u32,
    /// How long the run may take; then what was seen is reported, and the rest as skipped.
    pub deadline: Option<Duration>,
    /// Where whoever runs the agent finds whoever runs the prober: a URL or an e-mail address, which
    /// `User-Agent` names. Visible ASCII; what no header can hold is left out.
    pub contact: Option<String>,
    /// The moment from which consents are dated.
    pub now: Timestamp,
    /// Makes ids that no other run has; letters and digits.
    pub run_id: String,
    /// What is known, and why it is accepted.
    pub waivers: Vec<Waiver>,
}

impl ProbeOptions {
    /// Ten requests in a second and a thousand in all, by nobody in particular, and nothing that
    /// stays with a seller. `run_id` has letters and digits and is new for each run.
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

    /// The origins that the tokens are for, where the agent's card is at this address.
    pub(crate) fn token_origins(&self, card: &Url) -> Vec<Origin> {
        match self.token_for.is_empty() {
            true => vec![Origin::of(card)],
            false => self.token_for.clone(),
        }
    }

    /// What requests say in `User-Agent`.
    #[must_use]
    pub fn user_agent(&self) -> String {
        let shown = |text: &&String| text.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        match self.contact.as_ref().filter(shown) {
            Some(contact) => format!("{NAME} (+{contact})"),
            None => NAME.to_owned(),
        }
    }
}

/// A failure that is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// The check.
    pub check: String,
    /// Why it is accepted; never empty.
    pub reason: String,
}
