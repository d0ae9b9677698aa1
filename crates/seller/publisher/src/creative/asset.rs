//! Creatives as buyers send them: format, assets and provenance. Members that are not read are kept.

use tradepost_document::json::{Map, Value};
use tradepost_document::kept_whole;
use tradepost_document::typed::Typed as _;
use tradepost_document::typed_struct;

use crate::catalogue::FormatId;
use crate::money::MoneyAmount;

typed_struct! {
    /// Creative as it was sent (`core/creative-asset.json`). A stored one may lack any member.
    #[derive(Default)]
    pub struct GivenCreative {
        /// Display name.
        name: Option<String>,
        /// Format.
        format_id: Option<FormatId>,
        /// Kind of an AdCP canonical format.
        format_kind: Option<String>,
        /// Tags.
        tags: Option<Vec<Option<String>>>,
        /// Assets by the slots that they fill.
        assets: Map,
        /// Provenance of the creative.
        provenance: Option<Declared>,
        /// Concept that the creative belongs to.
        concept_id: Option<String>,
        /// Variables of the creative.
        variables: Option<Vec<Value>>;
        /// The whole creative as it was sent.
        whole sent
    }

    /// Asset of any type.
    pub(crate) struct Asset {
        asset_type: Option<String>,
        content: Option<Value>,
        url: Option<String>,
        format: Option<String>,
        container_format: Option<String>,
        width: Option<MoneyAmount>,
        height: Option<MoneyAmount>,
        duration_ms: Option<MoneyAmount>,
        provenance: Option<Declared>,
        compliance: Option<Compliance>,
    }

    /// Provenance declaration (`core/provenance.json`).
    pub struct Declared {
        /// Type of source, such as `trained_algorithmic_media`.
        digital_source_type: Option<String>,
        /// Extent of human involvement.
        human_oversight: Option<String>,
        /// Disclosure that viewers must see.
        disclosure: Option<Disclosure>,
        /// Provenance data embedded in the content.
        embedded_provenance: Option<Vec<Option<ContentMark>>>,
        /// Watermarks in the content.
        watermarks: Option<Vec<Option<ContentMark>>>,
    }

    /// Disclosure to viewers.
    pub struct Disclosure {
        /// True when a disclosure is required.
        required: Option<bool>,
        /// Jurisdictions that require it.
        jurisdictions: Option<Vec<Option<Jurisdiction>>>,
    }

    /// Jurisdiction that requires a disclosure.
    pub struct Jurisdiction {
        /// Guidance for showing it.
        render_guidance: Option<Guidance>,
    }

    /// Guidance for showing a disclosure.
    pub struct Guidance {
        /// Accepted positions.
        positions: Option<Vec<String>>,
        /// Required duration.
        persistence: Option<String>,
    }

    /// Provenance mark in the content.
    pub struct ContentMark {
        /// Agent that can verify the mark.
        verify_agent: Option<CreativeVerifier>,
    }

    /// Verifier of provenance.
    pub struct CreativeVerifier {
        /// URL of the agent.
        agent_url: Option<String>,
        /// Feature of the agent that verifies.
        feature_id: Option<String>,
    }

    /// Legal requirements of an asset.
    pub(crate) struct Compliance {
        required_disclosures: Option<Vec<Option<Required>>>,
    }

    /// Disclosure that the law requires.
    pub(crate) struct Required {
        position: Option<String>,
        persistence: Option<String>,
    }
}

kept_whole!(GivenCreative.sent);

/// Asset with its position in the request.
#[derive(Debug)]
pub(crate) struct Placed<'a> {
    /// Slot of the format that the asset fills.
    pub slot: &'a str,
    /// Path in the request.
    pub at: String,
    /// The asset.
    pub asset: Asset,
    /// The asset as it was sent.
    pub sent: &'a Value,
}

impl GivenCreative {
    /// Returns all assets with their paths; `at` is the creative's path in the request
    /// (`creatives[0]`).
    pub(crate) fn placed(&self, at: &str) -> Vec<Placed<'_>> {
        let mut found = Vec::new();
        for (slot, value) in &self.assets {
            let at = format!("{at}.assets.{slot}");
            let (items, several) = match value.as_array() {
                Some(items) => (items.as_slice(), true),
                None => (std::slice::from_ref(value), false),
            };
            for (index, value) in items.iter().enumerate() {
                let at = if several { format!("{at}[{index}]") } else { at.clone() };
                found.extend(Asset::read(value).map(|asset| Placed {
                    slot,
                    at,
                    asset,
                    sent: value,
                }));
            }
        }
        found
    }
}

impl Asset {
    /// Returns the text of a text asset.
    pub(crate) fn text(&self) -> Option<&str> {
        self.content.as_ref().and_then(Value::as_str)
    }
}
