//! Creative policy of a publisher: review, forbidden content and required provenance.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tradepost_document::typed_struct;

use super::asset::CreativeVerifier;

/// Creative policy of a publisher; the default demands nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CreativePolicy {
    /// Review of a creative before it runs.
    pub review: CreativeReview,
    /// True when the id alone identifies a format. Otherwise `format_id.agent_url` has to match a
    /// known format as well.
    pub formats_by_id: bool,
    /// True when addresses in creatives may be http. Otherwise they must be https, except where a format
    /// lists `http` among the `protocols` of a slot.
    pub allow_http: bool,
    /// Forbidden content.
    pub forbidden: Vec<Forbidden>,
    /// Provenance required of every creative; products may demand more.
    pub provenance: Provenance,
    /// Ids that every caller of a sandbox can assign to packages without sending a creative, to try out
    /// media buys. A creative of the caller with the same id takes precedence.
    pub samples: Vec<String>,
}

/// Review of a creative before it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreativeReview {
    /// No review: a valid creative is approved at once.
    #[default]
    None,
    /// Automatic approval after this many seconds.
    After(u32),
    /// Review by a person.
    Person,
}

/// Content that creatives may not have, in addition to the terms of the catalog's policies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Forbidden {
    /// Id of the policy.
    pub policy_id: String,
    /// URL of the policy text.
    pub policy_url: Option<String>,
    /// Reason told to the caller, such as `tobacco is not advertised here`.
    pub reason: String,
    /// Forbidden tags.
    pub categories: Vec<String>,
    /// Forbidden domains of landing pages, including their subdomains.
    pub landing_domains: Vec<String>,
}

/// Provenance that creatives must declare (`creative_policy` of a product).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// True when a provenance declaration is required.
    pub required: bool,
    /// True when the type of source is required.
    pub digital_source_type: bool,
    /// True when the disclosure metadata is required.
    pub disclosure: bool,
    /// True when the declaration must also be embedded in the content.
    pub embedded: bool,
    /// Agents that may be named as verifiers; `None` for any.
    pub verifiers: Option<Vec<String>>,
}

typed_struct! {
    /// Members of a product's `creative_policy` that are read.
    pub(crate) struct ProductCreativePolicy {
        provenance_required: Option<bool>,
        provenance_requirements: Option<ProvenanceRequirements>,
        accepted_verifiers: Option<Vec<Option<CreativeVerifier>>>,
    }

    /// Detailed provenance requirements.
    pub(crate) struct ProvenanceRequirements {
        require_digital_source_type: Option<bool>,
        require_disclosure_metadata: Option<bool>,
        require_embedded_provenance: Option<bool>,
    }
}

impl CreativeReview {
    /// Returns the duration of the review; `None` without a review or when a person decides.
    #[must_use]
    pub const fn takes(self) -> Option<Duration> {
        match self {
            Self::None | Self::Person => None,
            Self::After(seconds) => Some(Duration::from_secs(seconds as u64)),
        }
    }
}

impl ProductCreativePolicy {
    /// Returns the agents that are asked to verify a provenance.
    pub(crate) fn verifiers(&self) -> impl Iterator<Item = &CreativeVerifier> {
        let verifiers = self.accepted_verifiers.iter().flatten().flatten();
        verifiers.filter(|verifier| verifier.agent_url.is_some())
    }
}

impl Provenance {
    /// Returns the provenance that a product's published `creative_policy` demands.
    #[must_use]
    pub(crate) fn from_policy(published: &ProductCreativePolicy) -> Self {
        let required = published.provenance_required == Some(true);
        // Detailed requirements apply only when provenance is required at all.
        let requirements = published.provenance_requirements.as_ref().filter(|_| required);
        let requires = |of: fn(&ProvenanceRequirements) -> Option<bool>| {
            requirements.and_then(of) == Some(true)
        };
        let verifiers = published.accepted_verifiers.as_ref();
        let url = |known: &Option<CreativeVerifier>| known.as_ref()?.agent_url.clone();
        Self {
            required,
            digital_source_type: requires(|requirements| requirements.require_digital_source_type),
            disclosure: requires(|requirements| requirements.require_disclosure_metadata),
            embedded: requires(|requirements| requirements.require_embedded_provenance),
            verifiers: verifiers.map(|all| all.iter().filter_map(url).collect()),
        }
    }

    /// Combines the demands on a creative that may run in either of two products: all demands of
    /// both, and the verifiers of both, because each accepts its own.
    #[must_use]
    pub(crate) fn either(self, other: Self) -> Self {
        self.with(other, |mine, theirs| [mine, theirs].concat())
    }

    /// Combines the demands on a creative that runs in both: only common verifiers are accepted.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.with(other, |mine, theirs| {
            mine.into_iter().filter(|url| theirs.contains(url)).collect()
        })
    }

    /// Combines the demands; `of` combines the verifiers when both name some.
    fn with(self, other: Self, of: fn(Vec<String>, Vec<String>) -> Vec<String>) -> Self {
        let verifiers = match (self.verifiers, other.verifiers) {
            (Some(mine), Some(theirs)) => Some(of(mine, theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        Self {
            required: self.required || other.required,
            digital_source_type: self.digital_source_type || other.digital_source_type,
            disclosure: self.disclosure || other.disclosure,
            embedded: self.embedded || other.embedded,
            verifiers,
        }
    }
}
