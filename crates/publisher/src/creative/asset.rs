//! A creative as it is given: its format, its assets and what is known of its making, as far as that is
//! read. Whatever else it has is kept with it.

use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::json::{Map, Value};
use tradepost_wire::{form, kept_whole};

use crate::catalogue::FormatId;
use crate::money::MoneyAmount;

form! {
    /// A creative as it is given (`core/creative-asset.json`). What was kept of it may lack anything.
    #[derive(Default)]
    pub struct GivenCreative {
        /// Its name for people.
        name: Option<String>,
        /// Its format.
        format_id: Option<FormatId>,
        /// Its format, when it is one of AdCP itself.
        format_kind: Option<String>,
        /// Its tags.
        tags: Option<Vec<Option<String>>>,
        /// Its assets, by the places that they fill.
        assets: Map,
        /// How it was made.
        provenance: Option<Declared>,
        /// The idea that it belongs to.
        concept_id: Option<String>,
        /// What varies in it.
        variables: Option<Vec<Value>>;
        /// As it was sent.
        whole sent
    }

    /// An asset of whatever type.
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

    /// What is said about how something was made (`core/provenance.json`).
    pub struct Declared {
        /// By what kind of source.
        digital_source_type: Option<String>,
        /// How far a person took part.
        human_oversight: Option<String>,
        /// What has to be said to whoever sees it.
        disclosure: Option<Disclosure>,
        /// Where the same is embedded.
        embedded_provenance: Option<Vec<Option<ContentMark>>>,
        /// How it is marked.
        watermarks: Option<Vec<Option<ContentMark>>>,
    }

    /// What has to be said to whoever sees it.
    pub struct Disclosure {
        /// Whether anything has.
        required: Option<bool>,
        /// Where.
        jurisdictions: Option<Vec<Option<Jurisdiction>>>,
    }

    /// Where something has to be said.
    pub struct Jurisdiction {
        /// How.
        render_guidance: Option<Guidance>,
    }

    /// How something has to be shown.
    pub struct Guidance {
        /// In one of these positions.
        positions: Option<Vec<String>>,
        /// For so long.
        persistence: Option<String>,
    }

    /// A mark in the content.
    pub struct ContentMark {
        /// Who can verify it.
        verify_agent: Option<CreativeVerifier>,
    }

    /// Who verifies.
    pub struct CreativeVerifier {
        /// Where.
        agent_url: Option<String>,
        /// By which of its features.
        feature_id: Option<String>,
    }

    /// What the law demands of an asset.
    pub(crate) struct Compliance {
        required_disclosures: Option<Vec<Option<Required>>>,
    }

    /// A disclosure that it demands.
    pub(crate) struct Required {
        position: Option<String>,
        persistence: Option<String>,
    }
}

kept_whole!(GivenCreative.sent);

/// An asset with its place in the request.
#[derive(Debug)]
pub(crate) struct Placed<'a> {
    /// The place in the format that it fills.
    pub slot: &'a str,
    /// Its path in the request.
    pub at: String,
    /// It.
    pub asset: Asset,
    /// The asset as it was sent.
    pub sent: &'a Value,
}

impl GivenCreative {
    /// Every asset; `at` is the creative's path in the request (`creatives[0]`).
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
    /// Its text, when it has one.
    pub(crate) fn text(&self) -> Option<&str> {
        self.content.as_ref().and_then(Value::as_str)
    }
}
