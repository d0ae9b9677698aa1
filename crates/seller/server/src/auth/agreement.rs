//! Agreement of a card with the authentication of its agent: a card that names other schemes, or other requirements,
//! sends callers to an agent that then refuses them.

use std::collections::BTreeSet;
use std::fmt;

use tradepost_document::json::{self, Value};

use super::Authenticator;
use crate::card::PublishedCard;

/// Difference between a card and the authentication of its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardDisagreement {
    /// The agent accepts a scheme that the card does not declare.
    Undeclared {
        /// Description of the scheme.
        scheme: String,
    },
    /// The card declares a scheme that the agent does not accept.
    Unaccepted {
        /// Name of the scheme on the card.
        name: String,
        /// Description of the scheme.
        scheme: String,
    },
    /// The agent requires a credential, and the card lists no requirement.
    RequirementMissing,
    /// The card lists requirements, and the agent accepts callers without a credential.
    RequirementUnenforced,
    /// A requirement of the card names a scheme that the card does not declare.
    UnknownScheme {
        /// The name.
        name: String,
    },
    /// A requirement of the card has no scheme, or several together; the agent requires exactly one of them.
    Combined {
        /// Names of the schemes.
        names: Vec<String>,
    },
    /// The card is not a JSON object.
    Unreadable,
}

impl fmt::Display for CardDisagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undeclared { scheme } => {
                write!(f, "the agent accepts {scheme}, which securitySchemes does not declare")
            }
            Self::Unaccepted { name, scheme } => {
                write!(f, "securitySchemes.{name} declares {scheme}, which the agent does not accept")
            }
            Self::RequirementMissing => {
                f.write_str("the agent requires a credential, and securityRequirements is empty")
            }
            Self::RequirementUnenforced => f.write_str(
                "securityRequirements is not empty, and the agent accepts callers without a credential",
            ),
            Self::UnknownScheme { name } => {
                write!(f, "securityRequirements names {name}, which securitySchemes does not declare")
            }
            Self::Combined { names } if names.is_empty() => {
                f.write_str("securityRequirements has a requirement without a scheme")
            }
            Self::Combined { names } => {
                let names = names.join(" and ");
                write!(f, "securityRequirements asks for {names} together, and the agent for one of them")
            }
            Self::Unreadable => f.write_str("the card is not a JSON object"),
        }
    }
}

/// A card that disagrees with the authentication of its agent: every difference, at least one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct CardDisagreements {
    /// Id of the agent.
    pub agent_id: String,
    /// The differences.
    pub differences: Vec<CardDisagreement>,
}

impl fmt::Display for CardDisagreements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let differences: Vec<_> = self.differences.iter().map(ToString::to_string).collect();
        let differences = differences.join("; ");
        write!(f, "the card of {} disagrees with its authentication: {differences}", self.agent_id)
    }
}

/// Checks that a card declares the schemes that its agent accepts, no others, and the requirement that it enforces.
/// [`Authenticator::schemes`] and [`Authenticator::requirements`] are what a card has to have.
///
/// # Errors
/// Every difference.
///
/// ```
/// use tradepost_server::auth::agreement::{CardDisagreement, check_card};
/// use tradepost_server::auth::methods::BearerTokens;
/// use tradepost_server::prelude::*;
///
/// let auth = Authenticator::with_required_method("echo", BearerTokens::new());
/// let mut card = card::describe("Echo", "Says it.", "http://127.0.0.1:8080");
/// let published = |card| PublishedCard::from_card(&card, Clock::system().now());
/// let disagreements = check_card(&published(card.clone()), &auth).unwrap_err();
/// assert_eq!(disagreements.differences.len(), 2);
/// assert_eq!(disagreements.differences[1], CardDisagreement::RequirementMissing);
///
/// card.security_schemes = auth.schemes();
/// card.security_requirements = auth.requirements();
/// assert!(check_card(&published(card.clone()), &auth).is_ok());
/// ```
pub fn check_card(card: &PublishedCard, auth: &Authenticator) -> Result<(), CardDisagreements> {
    let differences = match json::from_slice::<Value>(&card.body) {
        Ok(Value::Object(card)) => differences(&Value::Object(card), auth),
        Ok(_) | Err(_) => vec![CardDisagreement::Unreadable],
    };
    if differences.is_empty() {
        return Ok(());
    }
    Err(CardDisagreements { agent_id: auth.agent_id().to_owned(), differences })
}

/// Lists the differences between a card's security and an authenticator.
fn differences(card: &Value, auth: &Authenticator) -> Vec<CardDisagreement> {
    let accepted: BTreeSet<String> = auth
        .schemes()
        .into_values()
        .map(|scheme| json::to_value(scheme).unwrap_or_default())
        .map(|scheme| description_of(&scheme))
        .collect();
    let on_card = card.get("securitySchemes").and_then(Value::as_object);
    let declared: Vec<NamedDescription> = on_card
        .into_iter()
        .flatten()
        .map(|(name, scheme)| NamedDescription { name, scheme: description_of(scheme) })
        .collect();
    let undeclared = accepted
        .iter()
        .filter(|scheme| !declared.iter().any(|named| named.scheme == **scheme))
        .map(|scheme| CardDisagreement::Undeclared { scheme: scheme.clone() });
    let unaccepted =
        declared.iter().filter(|named| !accepted.contains(&named.scheme)).map(|named| {
            let scheme = named.scheme.clone();
            CardDisagreement::Unaccepted { name: named.name.to_owned(), scheme }
        });
    let mut found: Vec<_> = undeclared.chain(unaccepted).collect();
    let requirements = card.get("securityRequirements").and_then(Value::as_array);
    let requirements: Vec<Vec<&str>> = requirements.into_iter().flatten().map(names_of).collect();
    match (auth.is_required(), requirements.is_empty()) {
        (true, true) => found.push(CardDisagreement::RequirementMissing),
        (false, false) => found.push(CardDisagreement::RequirementUnenforced),
        (true, false) | (false, true) => {}
    }
    for names in requirements {
        let is_known = |name: &str| declared.iter().any(|named| named.name == name);
        let unknown = names.iter().filter(|name| !is_known(name));
        found.extend(
            unknown.map(|name| CardDisagreement::UnknownScheme { name: (*name).to_owned() }),
        );
        if names.len() != 1 {
            let names = names.into_iter().map(str::to_owned).collect();
            found.push(CardDisagreement::Combined { names });
        }
    }
    found
}

/// A scheme of a card.
struct NamedDescription<'c> {
    name: &'c str,
    scheme: String,
}

/// Returns the names of the schemes in a requirement.
fn names_of(requirement: &Value) -> Vec<&str> {
    let schemes = requirement.get("schemes").and_then(Value::as_object);
    schemes.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// Describes what a caller has to send by a scheme, without what is for people, and without how tokens are obtained,
/// which the agent does not see.
fn description_of(scheme: &Value) -> String {
    let members = scheme.as_object().into_iter().flatten();
    for (kind, members) in members {
        let text = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
        return match kind.as_str() {
            "apiKeySecurityScheme" => {
                format!("an API key in the {} {}", text("location"), text("name").to_lowercase())
            }
            "httpAuthSecurityScheme" => {
                format!("a credential of the HTTP scheme {}", text("scheme").to_lowercase())
            }
            "oauth2SecurityScheme" => "an access token of OAuth 2.0".to_owned(),
            "openIdConnectSecurityScheme" => {
                format!("an access token of the provider {}", text("openIdConnectUrl"))
            }
            "mtlsSecurityScheme" => "a client certificate".to_owned(),
            // The members of 0.3 stand beside that of 1.0.
            _ => continue,
        };
    }
    "a scheme of an unknown kind".to_owned()
}

#[cfg(test)]
mod tests {
    use tradepost_a2a::card::{SecurityRequirement, StringList};

    use super::*;
    use crate::auth::Principal;
    use crate::auth::methods::{ApiKeyHeader, BasicPasswords, BearerTokens};
    use crate::card;
    use crate::clock::Clock;
    use crate::permission::Scopes;

    fn differences(
        auth: &Authenticator,
        change: impl FnOnce(&mut tradepost_a2a::card::AgentCard),
    ) -> Vec<String> {
        let mut card = card::describe("Echo", "Says it.", "http://127.0.0.1:8080");
        card.security_schemes = auth.schemes();
        card.security_requirements = auth.requirements();
        change(&mut card);
        let now = Clock::system().now();
        for published in [
            PublishedCard::from_card(&card, now),
            PublishedCard::from_card(&card::for_both_releases(card.clone()), now),
        ] {
            let checked = check_card(&published, auth);
            let found = checked.map_or_else(|found| found.differences, |()| Vec::new());
            if !found.is_empty() {
                return found.iter().map(ToString::to_string).collect();
            }
        }
        Vec::new()
    }

    #[test]
    fn what_the_authenticator_says_of_itself_agrees() {
        let key = ApiKeyHeader::new("x-api-key".parse().unwrap());
        let auth = Authenticator::with_required_method("echo", key)
            .with_method(BearerTokens::new())
            .with_method(BearerTokens::new())
            .with_method(BasicPasswords::new().allow("x", Principal::new("ada", Scopes::All)));
        assert_eq!(differences(&auth, |_| {}), Vec::<String>::new());
        let names: Vec<_> = auth.schemes().into_keys().collect();
        assert_eq!(names, ["basic", "bearer", "bearer2", "key"]);
        let open = Authenticator::open_to_all("echo").with_method(BearerTokens::new());
        assert_eq!(differences(&open, |_| {}), Vec::<String>::new());
    }

    #[test]
    fn every_difference_is_listed() {
        let auth = Authenticator::with_required_method("echo", BearerTokens::new());
        let found = differences(&auth, |card| {
            let key = ApiKeyHeader::new("x-api-key".parse().unwrap());
            card.security_schemes = Authenticator::with_required_method("echo", key).schemes();
            let both = ["key", "basic"].map(|name| (name.into(), StringList::default()));
            card.security_requirements = vec![SecurityRequirement { schemes: both.into() }];
        });
        assert_eq!(
            found,
            [
                "the agent accepts a credential of the HTTP scheme bearer, which securitySchemes does not declare",
                "securitySchemes.key declares an API key in the header x-api-key, which the agent does not accept",
                "securityRequirements names basic, which securitySchemes does not declare",
                "securityRequirements asks for basic and key together, and the agent for one of them",
            ]
        );
        let missing = differences(&auth, |card| card.security_requirements.clear());
        assert_eq!(missing, ["the agent requires a credential, and securityRequirements is empty"]);
        let open = Authenticator::open_to_all("echo").with_method(BearerTokens::new());
        let unenforced = differences(&open, |card| {
            card.security_requirements = auth.requirements();
        });
        assert_eq!(
            unenforced,
            [
                "securityRequirements is not empty, and the agent accepts callers without a credential"
            ]
        );
    }
}
