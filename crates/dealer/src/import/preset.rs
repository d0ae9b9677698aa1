//! The formats of the field. Each is a mapping in a file of its own (`data/presets`): what its
//! columns are called and what they hold are facts, and none of them is code.

use tradepost_wire::catalog;

use super::mapping::Mapping;
use super::words::fold;

catalog! {
    /// A format that feeds come in.
    pub enum Preset {
        /// Its table, as a mapping is written.
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
    /// What AutoTrader takes: a table between bars, with a heading or without.
    AutoTrader = "autotrader" { table: include_str!("../../data/presets/autotrader.toml") }
    /// The vehicles of AAP, as JSON.
    AapJson = "aap-json" { table: include_str!("../../data/presets/aap-json.toml") }
}

/// The mapping of the format that a heading looks like: it has all by which the format is known, and
/// of several it has the most of its columns.
pub(super) fn guess<'h>(headings: impl Iterator<Item = &'h str> + Clone) -> Option<Mapping> {
    use tradepost_wire::catalog::Vocabulary as _;
    let folded: Vec<String> = headings.clone().map(fold).collect();
    let known = |mapping: &Mapping| {
        headings.clone().filter(|heading| mapping.rule(heading).is_some()).count()
    };
    Preset::ALL
        .iter()
        .map(|preset| Mapping::of(*preset))
        .filter(|mapping| {
            let signature = &mapping.signature;
            !signature.is_empty() && signature.iter().all(|name| folded.contains(&fold(name)))
        })
        .map(|mapping| (known(&mapping), mapping))
        .max_by_key(|(known, _)| *known)
        .map(|(_, mapping)| mapping)
}
