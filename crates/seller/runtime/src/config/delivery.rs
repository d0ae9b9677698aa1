//! Destinations of a dealer's leads, and of messages to a publisher's staff.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_dealer::delivery::LeadDestination;
use tradepost_document::catalog;
use tradepost_publisher::staff_event::StaffEventKind;

/// Destination of leads, and the channel to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryConfig {
    /// Leads that it receives, and their format.
    pub destination: LeadDestination,
    /// Channel to the destination.
    pub by: DeliveryMethod,
    /// Maximum number of attempts for a delivery.
    pub attempts: u32,
    /// Time after which a delivery is given up.
    pub give_up_after: SignedDuration,
    /// Maximum time for an attempt.
    pub timeout: Duration,
}

/// Destination of messages to a publisher's staff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublisherDestination {
    /// Destination and the channel to it.
    pub delivery: DeliveryConfig,
    /// Events that it receives; all of them when empty.
    pub events: Vec<StaffEventKind>,
}

/// Destinations of messages to a publisher's staff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublisherDestinations {
    /// Id of the publisher.
    pub publisher_id: String,
    /// Destinations of the messages.
    pub destinations: Vec<PublisherDestination>,
}

/// Channel of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryMethod {
    /// Email.
    Smtp(Box<Smtp>),
    /// HTTP POST.
    Http(Http),
}

/// Web address that accepts leads.
#[derive(Clone, PartialEq, Eq)]
pub struct Http {
    /// Address with https, or on this machine.
    pub url: String,
    /// Media type of the body.
    pub media_type: &'static str,
    /// Bearer token.
    pub bearer: Option<ConfigSecret>,
    /// Key that signs the body (HMAC-SHA256).
    pub hmac_key: Option<ConfigSecret>,
}

impl fmt::Debug for Http {
    /// Leaves the address out, because the webhook addresses of chats are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http").field("media_type", &self.media_type).finish_non_exhaustive()
    }
}

/// Mail server that accepts leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Smtp {
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Protection of the connection.
    pub tls: SmtpTls,
    /// Additional root certificates beside those of the machine (PEM).
    pub ca_file: Option<PathBuf>,
    /// User name and password.
    pub login: Option<(String, ConfigSecret)>,
    /// Sender address.
    pub from: String,
    /// Recipients; at least one.
    pub to: Vec<String>,
}

catalog! {
    /// Protection of a connection to a mail server.
    pub enum SmtpTls {
        /// Default port (RFC 8314 §3.3, RFC 6409 §3.1, RFC 5321).
        port: u16,
    }
    /// From the first byte (RFC 8314 §3.3).
    Required = "required" { port: 465 }
    /// After `STARTTLS`; nothing is said to a server that does not offer it.
    StartTls = "starttls" { port: 587 }
    /// Not at all.
    None = "none" { port: 25 }
}

/// Secret that must not appear in a log.
#[derive(Clone, PartialEq, Eq)]
pub enum ConfigSecret {
    /// Value of the secret.
    Text(String),
    /// File that contains the secret.
    File(PathBuf),
}

opaque!(ConfigSecret);

impl ConfigSecret {
    /// Reads the secret.
    ///
    /// # Errors
    /// Says why it cannot be used, without any part of it.
    pub fn read(&self) -> Result<String, String> {
        let text = self.text()?;
        // Editors and `echo` end a file with a line break, which is not part of a secret.
        let text = text.trim();
        if text.is_empty() || text.contains(char::is_control) {
            return Err("must be one line that is not blank".to_owned());
        }
        Ok(text.to_owned())
    }

    /// Reads a secret of several lines, such as a key file in JSON.
    ///
    /// # Errors
    /// Says why it cannot be used, without any part of it.
    pub fn read_document(&self) -> Result<String, String> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return Err("must not be blank".to_owned());
        }
        Ok(text)
    }

    fn text(&self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::File(path) => fs::read_to_string(path)
                .map_err(|error| format!("cannot read {}: {}", path.display(), error.kind())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_a_line_and_a_document_may_have_several() {
        let line = ConfigSecret::Text(" a-secret\n".to_owned());
        let document = ConfigSecret::Text("{\n\"key\": 1}\n".to_owned());
        let blank = ConfigSecret::Text("\n".to_owned());
        assert_eq!(line.read().as_deref(), Ok("a-secret"));
        assert!(document.read().is_err() && blank.read().is_err());
        assert_eq!(document.read_document().as_deref(), Ok("{\n\"key\": 1}\n"));
        assert!(blank.read_document().is_err());
    }
}
