//! What a publisher demands of creatives: who reviews them, what they may not contain, and what has
//! to be known about how they were made.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tradepost_wire::form;

use super::asset::CreativeVerifier;

/// The demands of a publisher; of a catalogue that says nothing, none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CreativePolicy {
    /// Who looks at a creative before it runs.
    pub review: CreativeReview,
    /// Whether a format is known by its id alone, whichever agent has defined it. Otherwise
    /// `format_id.agent_url` has to be that of a known format.
    pub formats_by_id: bool,
    /// Whether addresses in creatives may be http. Otherwise they have to be https, except where a format
    /// lists `http` among the `protocols` of a place.
    pub allow_http: bool,
    /// What is forbidden.
    pub forbidden: Vec<Forbidden>,
    /// What has to be known of every creative; products may demand more.
    pub provenance: Provenance,
    /// Ids that every caller of a sandbox can assign to packages without having sent a creative, to try
    /// media buys out. A creative of the caller's own comes first.
    pub samples: Vec<String>,
}

/// Who looks at a creative before it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreativeReview {
    /// Nobody: what the rules let pass is approved at once.
    #[default]
    None,
    /// A machine, which approves after so many seconds.
    After(u32),
    /// A person.
    Person,
}

/// Something that creatives may not contain, besides the words of the catalogue's policies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Forbidden {
    /// The id of the policy.
    pub policy_id: String,
    /// Where the policy can be read.
    pub policy_url: Option<String>,
    /// What the caller is told about it, such as `tobacco is not advertised here`.
    pub reason: String,
    /// Tags.
    pub categories: Vec<String>,
    /// Domains of links, with everything below them.
    pub landing_domains: Vec<String>,
}

/// What has to be known about how a creative was made (`creative_policy` of a product).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Provenance {
    /// Anything at all.
    pub required: bool,
    /// Whether a machine has made it.
    pub digital_source_type: bool,
    /// Whether that has to be disclosed, and where.
    pub disclosure: bool,
    /// That the declaration is embedded in the content itself.
    pub embedded: bool,
    /// The agents that may be named as verifiers; any when `None`.
    pub verifiers: Option<Vec<String>>,
}

form! {
    /// The `creative_policy` of a product, as far as it is read.
    pub(crate) struct ProductCreativePolicy {
        provenance_required: Option<bool>,
        provenance_requirements: Option<Finer>,
        accepted_verifiers: Option<Vec<Option<CreativeVerifier>>>,
    }

    /// What has to be known in particular.
    pub(crate) struct Finer {
        require_digital_source_type: Option<bool>,
        require_disclosure_metadata: Option<bool>,
        require_embedded_provenance: Option<bool>,
    }
}

impl CreativeReview {
    /// How long the review takes; `None` when there is none, or when a person decides.
    #[must_use]
    pub const fn takes(self) -> Option<Duration> {
        match self {
            Self::None | Self::Person => None,
            Self::After(seconds) => Some(Duration::from_secs(seconds as u64)),
        }
    }
}

impl ProductCreativePolicy {
    /// The agents that are asked whether a provenance is true.
    pub(crate) fn verifiers(&self) -> impl Iterator<Item = &CreativeVerifier> {
        self.accepted_verifiers.iter().flatten().flatten().filter(|it| it.agent_url.is_some())
    }
}

impl Provenance {
    /// What a product's published `creative_policy` demands.
    #[must_use]
    pub(crate) fn of(published: &ProductCreativePolicy) -> Self {
        let required = published.provenance_required == Some(true);
        // Finer demands count only where provenance is demanded at all.
        let finer = published.provenance_requirements.as_ref().filter(|_| required);
        let fine = |of: fn(&Finer) -> Option<bool>| finer.and_then(of) == Some(true);
        let verifiers = published.accepted_verifiers.as_ref();
        let url = |known: &Option<CreativeVerifier>| known.as_ref()?.agent_url.clone();
        Self {
            required,
            digital_source_type: fine(|finer| finer.require_digital_source_type),
            disclosure: fine(|finer| finer.require_disclosure_metadata),
            embedded: fine(|finer| finer.require_embedded_provenance),
            verifiers: verifiers.map(|all| all.iter().filter_map(url).collect()),
        }
    }

    /// What is demanded of something that may come to run in either: each demand of both, and the
    /// verifiers of both, as what one of them accepts is accepted.
    #[must_use]
    pub(crate) fn either(self, other: Self) -> Self {
        self.with(other, |mine, theirs| [mine, theirs].concat())
    }

    /// What both demand.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.with(other, |mine, theirs| {
            mine.into_iter().filter(|url| theirs.contains(url)).collect()
        })
    }

    /// Each demand of both, with these verifiers where both name some.
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
