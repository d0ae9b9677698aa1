//! Creative formats: what a creative has to be made of.

use tradepost_document::json::Value;
use tradepost_document::kept_whole;
use tradepost_document::typed::LenientList;
use tradepost_document::typed_struct;

use super::product::FormatId;
use crate::money::MoneyAmount;
use crate::store::{Entity, EntityKind};

typed_struct! {
    /// A creative format (`core/format.json`), as far as it is parsed. Every member is optional.
    pub struct CreativeFormat {
        /// Its id.
        format_id: Option<FormatId>,
        /// Its name for people.
        name: Option<String>,
        /// The format of AdCP that it is a case of.
        canonical: Option<Canonical>,
        /// Places for its assets.
        assets: LenientList<AssetPlace>,
        /// Renderings in which it is shown.
        renders: LenientList<Render>,
        /// Accessibility of its creatives.
        accessibility: Option<Accessibility>,
        /// Positions at which it shows disclosures, and for how long.
        disclosure_capabilities: Option<Vec<Option<Ability>>>,
        /// Positions at which it shows disclosures, when the capabilities say nothing.
        supported_disclosure_positions: LenientList<String>,
        /// Properties on which alone it is accepted.
        applies_to_property_ids: Option<Value>,
        /// Output formats of a format that makes creatives.
        output_format_ids: LenientList<FormatId>,
        /// Input formats of such a format.
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
        /// Type of the asset.
        asset_type: Option<String>,
        /// True when a creative needs it.
        required: Option<bool>,
        /// Measures and values that it takes.
        requirements: Option<Requirements>,
        /// The places in a group.
        assets: LenientList<GroupAssetPlace>,
    }

    /// A place in a group.
    pub struct GroupAssetPlace {
        /// Type of the asset.
        asset_type: Option<String>,
    }

    /// Measures and values that a place takes.
    pub struct Requirements {
        /// Width in pixels.
        width: Option<MoneyAmount>,
        /// Minimum width in pixels.
        min_width: Option<MoneyAmount>,
        /// Maximum width in pixels.
        max_width: Option<MoneyAmount>,
        /// Height in pixels.
        height: Option<MoneyAmount>,
        /// Minimum height in pixels.
        min_height: Option<MoneyAmount>,
        /// Maximum height in pixels.
        max_height: Option<MoneyAmount>,
        /// Duration in milliseconds.
        duration_ms: Option<MoneyAmount>,
        /// Minimum duration in milliseconds.
        min_duration_ms: Option<MoneyAmount>,
        /// Maximum duration in milliseconds.
        max_duration_ms: Option<MoneyAmount>,
        /// Minimum number of characters.
        min_length: Option<MoneyAmount>,
        /// Maximum number of characters.
        max_length: Option<MoneyAmount>,
        /// Permitted values.
        allowed_values: Option<Vec<Value>>,
        /// File types, for images and sounds.
        formats: LenientList<String>,
        /// File types, for videos.
        containers: LenientList<String>,
        /// Schemes of addresses, for links and trackers.
        protocols: LenientList<String>,
    }

    /// Rendering of a format.
    pub struct Render {
        /// Size in which it is shown.
        dimensions: Option<Dimensions>,
    }

    /// Size of a rendering; a dimension that is not given adapts itself.
    pub struct Dimensions {
        /// Width in pixels.
        width: Option<MoneyAmount>,
        /// Height in pixels.
        height: Option<MoneyAmount>,
    }

    /// Accessibility of a format.
    pub struct Accessibility {
        /// The level of WCAG.
        wcag_level: Option<String>,
    }

    /// Position at which a format shows disclosures.
    pub struct Ability {
        /// The position.
        position: Option<String>,
        /// Persistence: for how long.
        persistence: LenientList<String>,
    }
}

kept_whole!(CreativeFormat.published);

impl Entity for CreativeFormat {
    const KIND: EntityKind = EntityKind::Format;
}

impl Requirements {
    /// Returns the types of files that are accepted; all, if there are none.
    pub(crate) fn file_types(&self) -> impl Iterator<Item = &str> {
        self.formats.iter().chain(self.containers.iter()).map(String::as_str)
    }

    /// Returns true if addresses may be http.
    pub(crate) fn allows_http(&self) -> bool {
        self.protocols.iter().any(|protocol| protocol == "http")
    }
}

impl CreativeFormat {
    /// Returns true if a format id refers to it.
    #[must_use]
    pub fn is(&self, id: &FormatId) -> bool {
        self.format_id.as_ref().is_some_and(|own| own.means(id))
    }

    /// Returns the sizes in which it is shown.
    pub(crate) fn dimensions(&self) -> impl Iterator<Item = &Dimensions> {
        self.renders.iter().filter_map(|render| render.dimensions.as_ref())
    }

    /// Returns the positions and the persistence of its disclosures, when it states them.
    pub(crate) fn abilities(&self) -> Option<impl Iterator<Item = &Ability>> {
        self.disclosure_capabilities.as_ref().map(|all| all.iter().flatten())
    }
}
