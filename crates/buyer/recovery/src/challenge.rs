//! Authentication challenges of a server (`WWW-Authenticate`, RFC 9110 §11.6.1), sent with 401 and 403. They
//! tell the caller which credential it needs.

use std::fmt;

use tradepost_document::json::{Value, object};

use crate::text::{SENTENCE, WORD, plain};

/// Maximum number of challenges that are read of one answer.
const MAX_LISTED: usize = 8;

/// One challenge, as the server wrote it, made fit for display and bounded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Challenge {
    /// Authentication scheme, such as `Bearer`.
    pub scheme: String,
    /// Realm of the credential.
    pub realm: Option<String>,
    /// Scopes that the credential must have, separated by spaces (RFC 6750 §3).
    pub scope: Option<String>,
    /// Address of the metadata that names the server's token issuers (RFC 9728 §5.1).
    pub resource_metadata: Option<String>,
    /// Error of the credential that was sent, such as `invalid_token` (RFC 6750 §3.1).
    pub error: Option<String>,
    /// Error in words.
    pub error_description: Option<String>,
}

impl Challenge {
    /// Reads the challenges in these header values; of one that cannot be parsed, only the scheme.
    #[must_use]
    pub fn read_all<'h>(headers: impl IntoIterator<Item = &'h str>) -> Vec<Self> {
        let mut found = Vec::new();
        for header in headers {
            match http_auth::parse_challenges(header) {
                Ok(parsed) => found.extend(parsed.iter().map(Self::from_parsed)),
                Err(_) => {
                    let scheme = header.split_whitespace().next().unwrap_or_default();
                    found.push(Self { scheme: plain(scheme, WORD), ..Self::default() });
                }
            }
        }
        found.retain(|challenge| !challenge.scheme.is_empty());
        found.truncate(MAX_LISTED);
        found
    }

    fn from_parsed(parsed: &http_auth::ChallengeRef<'_>) -> Self {
        let text = |wanted: &str, max| {
            let mut params = parsed.params.iter();
            let found = params.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            let text = found.map(|(_, value)| plain(&value.to_unescaped(), max));
            text.filter(|text| !text.is_empty())
        };
        Self {
            scheme: plain(parsed.scheme, WORD),
            realm: text("realm", WORD),
            scope: text("scope", SENTENCE),
            resource_metadata: text("resource_metadata", SENTENCE),
            error: text("error", WORD),
            error_description: text("error_description", SENTENCE),
        }
    }

    /// Returns the challenge as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        object!({
            "scheme": self.scheme, "realm"?: self.realm, "scope"?: self.scope,
            "resource_metadata"?: self.resource_metadata, "error"?: self.error,
            "error_description"?: self.error_description,
        })
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        for (name, value) in [
            ("realm", &self.realm),
            ("scope", &self.scope),
            ("resource metadata", &self.resource_metadata),
            ("error", &self.error),
            ("because", &self.error_description),
        ] {
            if let Some(value) = value {
                write!(f, "; {name}: {value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_scope_and_resource_metadata_are_read() {
        let headers = [
            "Bearer realm=\"larkspur\", error=\"insufficient_scope\", scope=\"leads:write leads:read\", \
             resource_metadata=\"https://a.example/.well-known/oauth-protected-resource\", \
             error_description=\"the \\\"lead\\\" scope\"",
            "Basic realm=x, mTLS",
            "Negotiate YII=",
            "\u{1b}[2J",
            "",
        ];
        let challenges: Vec<_> =
            Challenge::read_all(headers).iter().map(ToString::to_string).collect();
        assert_eq!(
            challenges,
            [
                "Bearer; realm: larkspur; scope: leads:write leads:read; resource metadata: \
                 https://a.example/.well-known/oauth-protected-resource; error: insufficient_scope; \
                 because: the \"lead\" scope",
                "Basic; realm: x",
                "mTLS",
                "Negotiate",
                "[2J",
            ]
        );
    }

    #[test]
    fn a_server_cannot_flood_its_caller_with_challenges() {
        let long = format!("Bearer scope=\"{}\"", "s".repeat(10_000));
        let found = Challenge::read_all(std::iter::repeat_n(long.as_str(), 100));
        assert_eq!(found.len(), MAX_LISTED);
        assert!(found[0].to_string().chars().count() < SENTENCE + 50);
    }
}
