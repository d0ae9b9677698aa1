//! Identifies the buyer of a request. Each named buyer has its own base address, below which is everything that it
//! can request. A request at the root is from the buyer without a name.

use std::fmt;
use std::str::FromStr;

use tradepost_document::format::hex;

/// Path prefix of the named buyers.
const PREFIX: &str = "/buyers/";

/// Maximum length of a buyer's name, in bytes.
const MAX_NAME: usize = 64;

/// Name of a buyer: letters, digits, `.`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuyerName(String);

impl FromStr for BuyerName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        // Clients would resolve a name of dots alone to another path.
        let is_dots = text.bytes().all(|byte| byte == b'.');
        if text.len() > MAX_NAME || is_dots || !text.bytes().all(fits) {
            return Err("the name of a buyer is 1 to 64 letters, digits, dots, hyphens and \
                        underscores");
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for BuyerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Base address of one buyer's seller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Buyer; `None` for the one without a name.
    pub buyer: Option<BuyerName>,
    /// Base address of its seller, without a trailing slash.
    pub base_url: String,
}

impl Place {
    /// Returns the place of a buyer in the sandbox with the base address `root`.
    #[must_use]
    pub fn new(buyer: Option<BuyerName>, root: &str) -> Self {
        let mut place = Self { buyer, base_url: String::new() };
        place.base_url = format!("{root}{}", place.path());
        place
    }

    /// Returns the path of the base address; empty for the buyer without a name.
    #[must_use]
    pub fn path(&self) -> String {
        self.buyer.as_ref().map(|name| format!("{PREFIX}{name}")).unwrap_or_default()
    }

    /// Returns a folder name that is unique to this buyer.
    #[must_use]
    pub fn folder(&self) -> String {
        match &self.buyer {
            // Hex, because some file systems do not distinguish `Ada` from `ada`.
            Some(name) => format!("buyer-{}", hex(name.0.as_bytes())),
            None => "buyer".to_owned(),
        }
    }
}

/// Buyer and remaining path of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BuyerPath {
    pub(super) buyer: Option<BuyerName>,
    /// Path below the buyer's base address, with a leading slash.
    pub(super) rest: String,
}

impl BuyerPath {
    /// Reads the buyer from a path.
    ///
    /// # Errors
    /// When the name cannot be one.
    pub(super) fn read(path: &str) -> Result<Self, &'static str> {
        let Some(named) = path.strip_prefix(PREFIX) else {
            return Ok(Self { buyer: None, rest: path.to_owned() });
        };
        let (name, rest) = named.split_once('/').unwrap_or((named, ""));
        Ok(Self { buyer: Some(name.parse()?), rest: format!("/{rest}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_buyer_or_none() {
        let of = |buyer: Option<&str>, rest: &str| {
            let buyer = buyer.map(|name| name.parse().unwrap());
            Ok(BuyerPath { buyer, rest: rest.to_owned() })
        };
        for (path, expected) in [
            ("/a2a", of(None, "/a2a")),
            ("/", of(None, "/")),
            ("/buyers", of(None, "/buyers")),
            ("/buyers/ada/a2a", of(Some("ada"), "/a2a")),
            ("/buyers/build-7.x", of(Some("build-7.x"), "/")),
            ("/buyers/ada/.well-known/agent-card.json", {
                of(Some("ada"), "/.well-known/agent-card.json")
            }),
        ] {
            assert_eq!(BuyerPath::read(path), expected, "{path}");
        }
        let long = format!("/buyers/{}/a2a", "x".repeat(65));
        for path in ["/buyers//a2a", "/buyers/../a2a", "/buyers/a%20b/a2a", &long] {
            assert!(BuyerPath::read(path).is_err(), "{path}");
        }
    }
}
