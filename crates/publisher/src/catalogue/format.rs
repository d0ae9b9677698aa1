//! Creative formats: what a creative has to be made of.

use tradepost_wire::adcp::rules::typed::LenientList;
use tradepost_wire::json::Value;
use tradepost_wire::{form, kept_whole};

use super::product::FormatId;
use crate::money::MoneyAmount;
use crate::shelf::{Entity, EntityKind};

form! {
    /// A creative format (`core/format.json`), as far as it is read. Nothing of it has to be there.
    pub struct CreativeFormat {
        /// Its id.
        format_id: Option<FormatId>,
        /// Its name for people.
        name: Option<String>,
        /// The format of AdCP that it is a case of.
        canonical: Option<Canonical>,
        /// What it is made of.
        assets: LenientList<AssetPlace>,
        /// What it is shown as.
        renders: LenientList<Render>,
        /// How accessible it is.
        accessibility: Option<Accessibility>,
        /// Where it shows disclosures, and for how long.
        disclosure_capabilities: Option<Vec<Option<Ability>>>,
        /// Where it shows them, when the capabilities say nothing.
        supported_disclosure_positions: LenientList<String>,
        /// On which properties alone it is accepted.
        applies_to_property_ids: Option<Value>,
        /// What comes out of a format that makes creatives.
        output_format_ids: LenientList<FormatId>,
        /// And what goes in.
        input_format_ids: LenientList<FormatId>;
        /// As it is published.
        whole published
    }

    /// A format of AdCP itself.
    pub struct Canonical {
        /// Its kind.
        kind: Option<String>,
    }

    /// A place in a format for an asset, or for a group of them.
    pub struct AssetPlace {
        /// Its name.
        asset_id: Option<String>,
        /// Its name, when it is for a group.
        asset_group_id: Option<String>,
        /// What it takes.
        asset_type: Option<String>,
        /// Whether there is no creative without it.
        required: Option<bool>,
        /// Which measures and values it takes.
        requirements: Option<Requirements>,
        /// The places in a group.
        assets: LenientList<GroupAssetPlace>,
    }

    /// A place in a group.
    pub struct GroupAssetPlace {
        /// What it takes.
        asset_type: Option<String>,
    }

    /// Which measures and values a place takes.
    pub struct Requirements {
        /// In pixels.
        width: Option<MoneyAmount>,
        /// The least.
        min_width: Option<MoneyAmount>,
        /// The most.
        max_width: Option<MoneyAmount>,
        /// In pixels.
        height: Option<MoneyAmount>,
        /// The least.
        min_height: Option<MoneyAmount>,
        /// The most.
        max_height: Option<MoneyAmount>,
        /// In milliseconds.
        duration_ms: Option<MoneyAmount>,
        /// The least.
        min_duration_ms: Option<MoneyAmount>,
        /// The most.
        max_duration_ms: Option<MoneyAmount>,
        /// The fewest letters.
        min_length: Option<MoneyAmount>,
        /// The most letters.
        max_length: Option<MoneyAmount>,
        /// The values that it can have.
        allowed_values: Option<Vec<Value>>,
        /// Types of files, for images and sounds.
        formats: LenientList<String>,
        /// Types of files, for videos.
        containers: LenientList<String>,
        /// Schemes that addresses may have, for links and trackers.
        protocols: LenientList<String>,
    }

    /// What a format is shown as.
    pub struct Render {
        /// How large.
        dimensions: Option<Dimensions>,
    }

    /// How large; what is not said adapts itself.
    pub struct Dimensions {
        /// In pixels.
        width: Option<MoneyAmount>,
        /// In pixels.
        height: Option<MoneyAmount>,
    }

    /// How accessible a format is.
    pub struct Accessibility {
        /// The level of WCAG.
        wcag_level: Option<String>,
    }

    /// Where a format shows disclosures.
    pub struct Ability {
        /// The position.
        position: Option<String>,
        /// For how long.
        persistence: LenientList<String>,
    }
}

kept_whole!(CreativeFormat.published);

impl Entity for CreativeFormat {
    const KIND: EntityKind = EntityKind::Format;
}

impl Requirements {
    /// The types of files that are accepted; all, if there are none.
    pub(crate) fn file_types(&self) -> impl Iterator<Item = &str> {
        self.formats.iter().chain(self.containers.iter()).map(String::as_str)
    }

    /// Whether addresses may be http.
    pub(crate) fn allows_http(&self) -> bool {
        self.protocols.iter().any(|protocol| protocol == "http")
    }
}

impl CreativeFormat {
    /// Whether a format id means it.
    #[must_use]
    pub fn is(&self, id: &FormatId) -> bool {
        self.format_id.as_ref().is_some_and(|own| own.means(id))
    }

    /// How large it is shown.
    pub(crate) fn dimensions(&self) -> impl Iterator<Item = &Dimensions> {
        self.renders.iter().filter_map(|render| render.dimensions.as_ref())
    }

    /// Where it shows disclosures and for how long, when it says so.
    pub(crate) fn abilities(&self) -> Option<impl Iterator<Item = &Ability>> {
        self.disclosure_capabilities.as_ref().map(|all| all.iter().flatten())
    }
}
