//! Which buyer a request is from: each has a base address of its own, below which everything is that a buyer
//! can ask. Whoever asks at the root is the buyer without a name.

use std::fmt;
use std::str::FromStr;

use tradepost_wire::format::hex;

/// Below which path buyers have their names.
const PREFIX: &str = "/buyers/";

/// The longest name of a buyer, in bytes.
const MAX_NAME: usize = 64;

/// The name of a buyer: letters, digits, `.`, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuyerName(String);

impl FromStr for BuyerName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        // A name of dots alone would mean another path to clients.
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

/// Where one buyer finds its seller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The buyer; `None` for the one without a name.
    pub buyer: Option<BuyerName>,
    /// The base address of its seller, without a slash at the end.
    pub base_url: String,
}

impl Place {
    /// The place of a buyer with a sandbox whose base address this is.
    #[must_use]
    pub fn of(buyer: Option<BuyerName>, root: &str) -> Self {
        let mut place = Self { buyer, base_url: String::new() };
        place.base_url = format!("{root}{}", place.path());
        place
    }

    /// The path of the base address; empty for the buyer without a name.
    #[must_use]
    pub fn path(&self) -> String {
        self.buyer.as_ref().map(|name| format!("{PREFIX}{name}")).unwrap_or_default()
    }

    /// A name for a folder that no other buyer has.
    #[must_use]
    pub fn folder(&self) -> String {
        match &self.buyer {
            // Some disks do not tell `Ada` from `ada`.
            Some(name) => format!("buyer-{}", hex(name.0.as_bytes())),
            None => "buyer".to_owned(),
        }
    }
}

/// What a path says of its buyer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OfBuyer {
    pub(super) buyer: Option<BuyerName>,
    /// The path below the buyer's base address, with a slash at the beginning.
    pub(super) rest: String,
}

impl OfBuyer {
    /// Reads a path.
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
            Ok(OfBuyer { buyer, rest: rest.to_owned() })
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
            assert_eq!(OfBuyer::read(path), expected, "{path}");
        }
        let long = format!("/buyers/{}/a2a", "x".repeat(65));
        for path in ["/buyers//a2a", "/buyers/../a2a", "/buyers/a%20b/a2a", &long] {
            assert!(OfBuyer::read(path).is_err(), "{path}");
        }
    }
}
