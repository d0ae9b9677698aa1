//! Where a dealer's leads are delivered to, and where a publisher's people are told of events.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_dealer::delivery::LeadDestination;
use tradepost_publisher::staff_event::StaffEventKind;
use tradepost_wire::catalog;

/// A destination of leads and the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryConfig {
    /// Which leads it is told of, and what it reads.
    pub destination: LeadDestination,
    /// The way to it.
    pub by: DeliveryMethod,
    /// How often a delivery is tried at most.
    pub attempts: u32,
    /// After how long a delivery is given up.
    pub give_up_after: SignedDuration,
    /// How long an attempt may take.
    pub timeout: Duration,
}

/// A destination of what a publisher's people are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublisherDestination {
    /// The destination and the way to it.
    pub delivery: DeliveryConfig,
    /// What it is told of; everything when empty.
    pub events: Vec<StaffEventKind>,
}

/// The destinations of a publisher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublisherDestinations {
    /// The publisher.
    pub publisher_id: String,
    /// Where its people are told of events.
    pub destinations: Vec<PublisherDestination>,
}

/// A way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryMethod {
    /// Mail.
    Smtp(Box<Smtp>),
    /// A POST.
    Http(Http),
}

/// A web address that takes leads.
#[derive(Clone, PartialEq, Eq)]
pub struct Http {
    /// The address: with https, or on this machine.
    pub url: String,
    /// What the body is.
    pub media_type: &'static str,
    /// The bearer token.
    pub bearer: Option<ConfigSecret>,
    /// The key with which the body is signed (HMAC-SHA256).
    pub hmac_key: Option<ConfigSecret>,
}

impl fmt::Debug for Http {
    /// The addresses of chats are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("media_type", &self.media_type).finish_non_exhaustive()
    }
}

/// A mail server that takes leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smtp {
    /// Its name or address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How the connection is protected.
    pub tls: SmtpTls,
    /// Whom its certificate may come from besides those whom the machine trusts (PEM).
    pub ca_file: Option<PathBuf>,
    /// Who we are to it.
    pub login: Option<(String, ConfigSecret)>,
    /// The sender.
    pub from: String,
    /// The recipients; at least one.
    pub to: Vec<String>,
}

catalog! {
    /// How a connection to a mail server is protected.
    pub enum SmtpTls {
        /// The port on which it is usual (RFC 8314 §3.3, RFC 6409 §3.1, RFC 5321).
        port: u16,
    }
    /// From the first byte (RFC 8314 §3.3).
    Required = "required" { port: 465 }
    /// After `STARTTLS`; nothing is said to a server that does not offer it.
    StartTls = "starttls" { port: 587 }
    /// Not at all.
    None = "none" { port: 25 }
}

/// Something that nobody may read in a log.
#[derive(Clone, PartialEq, Eq)]
pub enum ConfigSecret {
    /// The text itself.
    Text(String),
    /// The file that holds it.
    File(PathBuf),
}

opaque!(ConfigSecret);

impl ConfigSecret {
    /// Reads it.
    ///
    /// # Errors
    /// Why it cannot be used, without anything of it.
    pub fn read(&self) -> Result<String, String> {
        let text = match self {
            Self::Text(text) => text.clone(),
            Self::File(path) => fs::read_to_string(path)
                .map_err(|error| format!("cannot read {}: {}", path.display(), error.kind()))?,
        };
        // Editors and `echo` end a file with a line break, which is no part of a secret.
        let text = text.trim();
        if text.is_empty() || text.contains(char::is_control) {
            return Err("must be one line that is not blank".to_owned());
        }
        Ok(text.to_owned())
    }
}
