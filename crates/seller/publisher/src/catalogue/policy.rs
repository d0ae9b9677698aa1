//! Advertising policies: forbidden categories, with the words that give them away.

use serde::{Deserialize, Deserializer};
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::json;

use super::Catalogue;
use crate::refusals;
use crate::reply::object;

/// A rule on what may not be advertised.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdvertisingPolicy {
    /// Its id, for machines.
    pub policy_id: String,
    /// Address at which it can be read.
    #[serde(default)]
    pub policy_url: Option<String>,
    /// Rule, in a sentence.
    pub rule: String,
    /// Words and phrases that give a violation away, normalised like the texts: in lowercase, with one space
    /// between the words of a phrase.
    #[serde(deserialize_with = "phrases")]
    pub words: Vec<String>,
}

impl Catalogue {
    /// Returns the policies that a text violates. The check is deliberately simple: a word of the policy
    /// occurs in the text as a whole word.
    #[must_use]
    pub fn forbids(&self, text: &str) -> Vec<&AdvertisingPolicy> {
        // Only whole words match, and phrases match several in a row.
        let text: Vec<String> = words(text).collect();
        let has = |phrase: &String| {
            let mut rows = text.windows(phrase.split(' ').count());
            rows.any(|row| row.iter().zip(phrase.split(' ')).all(|(said, word)| said == word))
        };
        self.policies.iter().filter(|policy| policy.words.iter().any(has)).collect()
    }

    /// Returns the refusals of a text that violates policies, one for each policy. `field` is the member with
    /// the text.
    #[must_use]
    pub fn violations(&self, field: &str, text: &str) -> Vec<AdcpError> {
        let refusal = |policy: &AdvertisingPolicy| {
            let message = "what is to be advertised is against the seller's advertising policy; \
                           see details";
            let details = object([
                ("policy_id", Some(json!(policy.policy_id))),
                ("policy_url", policy.policy_url.as_ref().map(|url| json!(url))),
                ("violated_rules", Some(json!([policy.rule]))),
            ]);
            AdcpError { details, ..refusals::at(AdcpCode::PolicyViolation, field, message) }
        };
        self.forbids(text).into_iter().map(refusal).collect()
    }
}

/// Reads words and phrases and normalises their spelling: `E-Cigarettes` is `e cigarettes`.
fn phrases<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<String>, D::Error> {
    let written = Vec::<String>::deserialize(reader)?;
    let phrase = |text: &String| words(text).collect::<Vec<_>>().join(" ");
    Ok(written.iter().map(phrase).collect())
}

/// Returns the words of a text, in lowercase.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}
