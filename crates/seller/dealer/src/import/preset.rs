//! Presets for the feed formats of the field. Each is a mapping in its own file (`data/presets`),
//! without code.

use std::sync::LazyLock;

use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;

use super::mapping::Mapping;
use super::words::fold;

catalog! {
    /// Feed formats.
    pub enum Preset {
        /// The mapping as TOML.
        table: &'static str,
    }
    /// HomeNet IOL: a table.
    HomeNet = "homenet" { table: include_str!("../../data/presets/homenet.toml") }
    /// vAuto: a table.
    VAuto = "vauto" { table: include_str!("../../data/presets/vauto.toml") }
    /// Google vehicle listings: a table.
    GoogleListings = "google-listings" { table: include_str!("../../data/presets/google-listings.toml") }
    /// Google vehicle ads: a table, or RSS.
    GoogleAds = "google-ads" { table: include_str!("../../data/presets/google-ads.toml") }
    /// Meta's automotive catalogue: a table, or XML.
    Meta = "meta" { table: include_str!("../../data/presets/meta.toml") }
    /// AutoTrader: a table separated by bars, with or without a heading.
    AutoTrader = "autotrader" { table: include_str!("../../data/presets/autotrader.toml") }
    /// CarGurus: XML with a `listing` for each vehicle.
    CarGurus = "cargurus" { table: include_str!("../../data/presets/cargurus.toml") }
    /// MarketCheck: JSON whose vehicles have `build`, `media` and `dealer`.
    MarketCheck = "marketcheck" { table: include_str!("../../data/presets/marketcheck.toml") }
    /// schema.org's `Car`, as JSON-LD: an array, an `ItemList` or a `@graph`.
    SchemaOrg = "schema-org" { table: include_str!("../../data/presets/schema-org.toml") }
    /// A German export with the columns of mobile.de: a table separated by semicolons.
    MobileDe = "mobile-de" { table: include_str!("../../data/presets/mobile-de.toml") }
    /// The vehicles of AAP, as JSON.
    AapJson = "aap-json" { table: include_str!("../../data/presets/aap-json.toml") }
}

/// Parsed mappings of all presets, because a table is compared with them for every possible
/// delimiter.
static MAPPINGS: LazyLock<Vec<Mapping>> =
    LazyLock::new(|| Preset::ALL.iter().map(|preset| Mapping::from_preset(*preset)).collect());

/// Returns the mapping of the preset that matches the headings: one of its signatures is complete,
/// and of several matching presets it knows the most headings.
pub(super) fn guess<'h>(headings: impl Iterator<Item = &'h str> + Clone) -> Option<Mapping> {
    let folded: Vec<String> = headings.clone().map(fold).collect();
    let known = |mapping: &Mapping| {
        headings.clone().filter(|heading| mapping.rule(heading).is_some()).count()
    };
    MAPPINGS
        .iter()
        .filter(|mapping| {
            let has_all =
                |names: &Vec<String>| names.iter().all(|name| folded.contains(&fold(name)));
            mapping.signatures.iter().any(has_all)
        })
        .map(|mapping| (known(mapping), mapping))
        .max_by_key(|(known, _)| *known)
        .map(|(_, mapping)| mapping.clone())
}
