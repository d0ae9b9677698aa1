//! Bearer tokens, and the origins that each may be sent to. An agent's server writes its own card, so that
//! a card alone must not decide where a token is sent: a token is sent to the origin that it was given for,
//! or to a host in a card signed by a trusted key.

use std::fmt;
use std::str::FromStr;

use reqwest::Url;
use reqwest::header::HeaderValue;

use crate::discover::{Discovered, is_local, usable};
use crate::failure::{BadAddress, CallFailure, Unsent};

/// Origin: scheme, host and port.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin(String);

impl Origin {
    /// Returns the origin of an address.
    #[must_use]
    pub fn from_url(url: &Url) -> Self {
        Self(url.origin().ascii_serialization())
    }
}

impl FromStr for Origin {
    type Err = &'static str;

    /// Reads `https://host` or `https://host:port`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = usable(text.trim())?;
        if url.path() != "/" || url.query().is_some() {
            return Err("is more than an origin; give scheme, host and port, as https://a.example");
        }
        Ok(Self::from_url(&url))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Bearer token, and the origins that it may be sent to.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    token: String,
    origins: Vec<Origin>,
}

impl BearerToken {
    /// Creates a token for the origin of the address that the caller gives, and for the hosts that the card
    /// there names if a trusted key signed it.
    #[must_use]
    pub fn new(token: impl Into<String>) -> Self {
        Self { token: token.into(), origins: Vec::new() }
    }

    /// Restricts the token to these origins, whatever address is given; without any, as in [`Self::new`].
    #[must_use]
    pub fn only_for(self, origins: impl IntoIterator<Item = Origin>) -> Self {
        Self { origins: origins.into_iter().collect(), ..self }
    }

    /// Returns the header with the token for an endpoint that the caller names, never in clear text over a
    /// public network.
    ///
    /// # Errors
    /// `Unsent`, when the token is for other origins, could be read on the way or cannot be sent in a header.
    pub fn header_to(&self, endpoint: &Url) -> Result<HeaderValue, CallFailure> {
        self.header(endpoint, &EndpointSource::caller(endpoint))
    }

    /// Returns the header with the token for an endpoint, never in clear text over a public network.
    pub(crate) fn header(
        &self,
        endpoint: &Url,
        source: &EndpointSource,
    ) -> Result<HeaderValue, CallFailure> {
        if endpoint.scheme() != "https" && !is_local(endpoint) {
            return Err(CallFailure::Unsent(Unsent::Address(BadAddress {
                url: endpoint.to_string(),
                from_card: source.is_card,
                why: "is not https, so the token is not sent",
            })));
        }
        let given = std::slice::from_ref(&source.given);
        let is_signed = source.is_signed && self.origins.is_empty();
        let origins = if self.origins.is_empty() { given } else { &self.origins };
        check_origin(endpoint, origins, is_signed)?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.token)).map_err(|_| {
            let why = "the token has characters that no header may have";
            CallFailure::Unsent(Unsent::Setup(why.to_owned()))
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// Bearer token that a client sends, with the header for its endpoint.
#[derive(Debug, Clone)]
pub(crate) struct SentToken {
    token: BearerToken,
    header: HeaderValue,
}

impl SentToken {
    /// Creates the header for an endpoint.
    ///
    /// # Errors
    /// `Unsent`, when the token may not be sent there or cannot be sent in a header.
    pub(crate) fn new(
        token: impl Into<BearerToken>,
        endpoint: &Url,
        source: &EndpointSource,
    ) -> Result<Self, CallFailure> {
        let token = token.into();
        let header = token.header(endpoint, source)?;
        Ok(Self { token, header })
    }

    /// Returns the header.
    pub(crate) const fn header(&self) -> &HeaderValue {
        &self.header
    }

    /// Returns true when the token may also be sent to another endpoint.
    pub(crate) fn may_go_to(&self, endpoint: &Url, source: &EndpointSource) -> bool {
        self.token.header(endpoint, source).is_ok()
    }
}

/// Checks that a token for these origins may be sent to an endpoint; it may be sent anywhere if a trusted key
/// signed the card.
///
/// # Errors
/// `Unsent`, when it may not.
pub fn check_origin(
    endpoint: &Url,
    origins: &[Origin],
    is_signed: bool,
) -> Result<(), CallFailure> {
    let endpoint = Origin::from_url(endpoint);
    if is_signed || origins.contains(&endpoint) {
        return Ok(());
    }
    let endpoint = endpoint.to_string();
    let origins = origins.iter().map(Origin::to_string).collect();
    Err(CallFailure::Unsent(Unsent::TokenForOther { endpoint, origins }))
}

// A token has no place in a log.
impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerToken").field("origins", &self.origins).finish_non_exhaustive()
    }
}

impl From<&str> for BearerToken {
    fn from(token: &str) -> Self {
        Self::new(token)
    }
}

impl From<String> for BearerToken {
    fn from(token: String) -> Self {
        Self::new(token)
    }
}

impl From<&String> for BearerToken {
    fn from(token: &String) -> Self {
        Self::new(token)
    }
}

impl From<&Self> for BearerToken {
    fn from(token: &Self) -> Self {
        token.clone()
    }
}

/// Source of a client's endpoint.
#[derive(Debug, Clone)]
pub(crate) struct EndpointSource {
    /// Origin of the address that the caller gave.
    given: Origin,
    /// True when a card at that address named the endpoint.
    is_card: bool,
    /// True when a trusted key signed the card.
    is_signed: bool,
}

impl EndpointSource {
    /// Creates the source of an endpoint that the caller named.
    pub(crate) fn caller(endpoint: &Url) -> Self {
        Self { given: Origin::from_url(endpoint), is_card: false, is_signed: false }
    }

    /// Creates the source of an endpoint that a card named.
    pub(crate) fn card(discovered: &Discovered) -> Self {
        let given = Origin::from_url(&discovered.url);
        let is_signed = discovered.is_signed;
        Self { given, is_card: true, is_signed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_to_their_origin_or_where_signatures_lead() {
        let given = "https://a.example/.well-known/agent-card.json";
        for (endpoint, is_signed, token_for, sent) in [
            ("https://a.example/a2a", false, None, true),
            ("https://A.example:443/a2a", false, None, true),
            ("https://a.example:8443/a2a", false, None, false),
            ("https://b.example/a2a", false, None, false),
            ("https://a.example.b.example/a2a", false, None, false),
            ("https://b.example/a2a", true, None, true),
            ("https://b.example/a2a", false, Some("https://b.example"), true),
            ("https://a.example/a2a", false, Some("https://b.example"), false),
            ("https://c.example/a2a", true, Some("https://b.example"), false),
        ] {
            let source = EndpointSource {
                given: Origin::from_url(&Url::parse(given).unwrap()),
                is_card: true,
                is_signed,
            };
            let token = BearerToken::new("s3cret");
            let token = token.only_for(token_for.map(|origin| origin.parse().unwrap()));
            let header = token.header(&Url::parse(endpoint).unwrap(), &source);
            let case = format!("{endpoint} {is_signed} {token_for:?}");
            assert_eq!(header.is_ok(), sent, "{case}");
            if let Err(failure) = header {
                let is_other = matches!(failure, CallFailure::Unsent(Unsent::TokenForOther { .. }));
                assert!(is_other && !failure.to_string().contains("s3cret"), "{case}: {failure}");
            }
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port_alone() {
        for (text, expected) in [
            ("https://a.example", "https://a.example"),
            (" https://A.example:443/ ", "https://a.example"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ] {
            assert_eq!(text.parse::<Origin>().unwrap().to_string(), expected);
        }
        for text in
            ["a.example", "ftp://a.example", "https://a.example/a2a", "https://u@a.example", ""]
        {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
        assert!(!format!("{:?}", BearerToken::new("s3cret")).contains("s3cret"));
    }
}
