//! Targeting that a publisher applies. Capabilities are published from this list, and what is not in it is
//! refused: a buyer must never read back targeting that is not applied.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use tradepost_document::json::{Map, Value, json, object};

use super::CatalogueMistake;

/// The systems of `enums/metro-system.json`.
const METRO_SYSTEMS: &[&str] = &["nielsen_dma", "uk_itl1", "uk_itl2", "eurostat_nuts2"];

/// The ways of `enums/match-type.json`.
const MATCH_TYPES: &[&str] = &["broad", "phrase", "exact"];

/// The methods of `enums/age-verification-method.json`.
const AGE_CHECKS: &[&str] =
    &["facial_age_estimation", "id_document", "digital_id", "credit_card", "world_id"];

/// Targeting that a publisher applies beyond countries, audiences, signals and property lists, which are
/// checked against what it has. Member `targeting` of a catalogue; none when it is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TargetingSupport {
    /// Regions (`geo_regions`).
    pub geo_regions: bool,
    /// Metro areas, by these systems, such as `nielsen_dma`.
    pub geo_metros: Vec<String>,
    /// Postal areas: the systems of each country, such as `zip` of `US`.
    pub geo_postal_areas: BTreeMap<String, Vec<String>>,
    /// Hours of the day and days of the week (`daypart_targets`).
    pub dayparts: bool,
    /// Limit of how often one person sees a package (`frequency_cap`).
    pub frequency_cap: bool,
    /// Platforms of devices (`device_platform`).
    pub device_platforms: bool,
    /// Kinds of devices (`device_type`).
    pub device_types: bool,
    /// Languages of people.
    pub languages: bool,
    /// A minimum age (`age_restriction`).
    pub age_restriction: bool,
    /// Methods by which an age is verified; none if it is not.
    pub age_verification_methods: Vec<String>,
    /// Keywords that people search for, by these ways of matching, such as `exact`.
    pub keyword_match_types: Vec<String>,
    /// Keywords that exclude, by these ways of matching.
    pub negative_keyword_match_types: Vec<String>,
}

impl TargetingSupport {
    /// Returns the paths in a targeting overlay, from the overlay on, of what is not applied.
    #[must_use]
    pub fn unsupported(&self, overlay: &Map) -> Vec<String> {
        let mut paths = Vec::new();
        for (name, value) in overlay {
            match name.as_str() {
                // Checked against products, and against what the caller and the publisher have.
                "geo_countries"
                | "geo_countries_exclude"
                | "audience_include"
                | "audience_exclude"
                | "signal_targeting_groups"
                | "signal_targeting"
                | "property_list"
                | "ext" => {}
                "geo_regions" | "geo_regions_exclude" if self.geo_regions => {}
                "daypart_targets" if self.dayparts => {}
                "frequency_cap" if self.frequency_cap => {}
                "device_platform" if self.device_platforms => {}
                "device_type" | "device_type_exclude" if self.device_types => {}
                "language" if self.languages => {}
                "geo_metros" | "geo_metros_exclude" if !self.geo_metros.is_empty() => {
                    let is_known = |entry: &Value| has_word(&self.geo_metros, entry, "system");
                    paths.extend(unsupported_items(name, value, "system", is_known));
                }
                "geo_postal_areas" | "geo_postal_areas_exclude"
                    if !self.geo_postal_areas.is_empty() =>
                {
                    let is_known = |entry: &Value| self.has_postal_system(entry);
                    paths.extend(unsupported_items(name, value, "system", is_known));
                }
                "keyword_targets" if !self.keyword_match_types.is_empty() => {
                    let known = &self.keyword_match_types;
                    let is_known = |entry: &Value| has_word(known, entry, "match_type");
                    paths.extend(unsupported_items(name, value, "match_type", is_known));
                }
                "negative_keywords" if !self.negative_keyword_match_types.is_empty() => {
                    let known = &self.negative_keyword_match_types;
                    let is_known = |entry: &Value| has_word(known, entry, "match_type");
                    paths.extend(unsupported_items(name, value, "match_type", is_known));
                }
                "age_restriction" if self.age_restriction => {
                    paths.extend(self.unsupported_age_checks(value));
                }
                _ => paths.push(name.clone()),
            }
        }
        paths
    }

    /// Returns its section of `get_adcp_capabilities` (`media_buy.execution.targeting`).
    #[must_use]
    pub fn capabilities(&self) -> Value {
        let flags = |names: &[String]| -> Option<Value> {
            let flags: Map = names.iter().map(|name| (name.clone(), Value::Bool(true))).collect();
            (!flags.is_empty()).then_some(flags.into())
        };
        let matching =
            |types: &[String]| (!types.is_empty()).then(|| json!({"supported_match_types": types}));
        let methods = &self.age_verification_methods;
        object!({
            "geo_countries": true,
            "geo_regions"?: self.geo_regions.then_some(true),
            "geo_metros"?: flags(&self.geo_metros),
            "geo_postal_areas"?: (!self.geo_postal_areas.is_empty()).then_some(&self.geo_postal_areas),
            "age_restriction"?: self.age_restriction.then(|| object!({
                "supported": true,
                "verification_methods"?: (!methods.is_empty()).then_some(methods),
            })),
            "language"?: self.languages.then_some(true),
            "keyword_targets"?: matching(&self.keyword_match_types),
            "negative_keywords"?: matching(&self.negative_keyword_match_types),
        })
    }

    /// Returns the words in a catalogue that AdCP does not have.
    pub(super) fn mistakes(&self) -> Vec<CatalogueMistake> {
        let mut mistakes = Vec::new();
        for (member, words, known) in [
            ("geo_metros", &self.geo_metros, METRO_SYSTEMS),
            ("age_verification_methods", &self.age_verification_methods, AGE_CHECKS),
            ("keyword_match_types", &self.keyword_match_types, MATCH_TYPES),
            ("negative_keyword_match_types", &self.negative_keyword_match_types, MATCH_TYPES),
        ] {
            for (index, word) in words.iter().enumerate() {
                if !known.contains(&word.as_str()) {
                    let pointer = format!("/targeting/{member}/{index}");
                    let message = format!("must be one of {}", known.join(", "));
                    mistakes.push(CatalogueMistake { pointer, message });
                }
            }
        }
        for country in self.geo_postal_areas.keys() {
            let is_code =
                country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase());
            if !is_code {
                let pointer = format!("/targeting/geo_postal_areas/{country}");
                let message = "must be a country of two capital letters (ISO 3166-1), such as US";
                mistakes.push(CatalogueMistake { pointer, message: message.to_owned() });
            }
        }
        mistakes
    }

    fn has_postal_system(&self, entry: &Value) -> bool {
        let country = entry.get("country").and_then(Value::as_str);
        // The older form names country and system in one word, which no catalogue lists.
        let systems = country.and_then(|country| self.geo_postal_areas.get(country));
        systems.is_some_and(|systems| has_word(systems, entry, "system"))
    }

    fn unsupported_age_checks(&self, value: &Value) -> Vec<String> {
        let mut paths = Vec::new();
        let is_required = value.get("verification_required") == Some(&Value::Bool(true));
        if is_required && self.age_verification_methods.is_empty() {
            paths.push("age_restriction.verification_required".to_owned());
        }
        let methods = value.get("accepted_methods").and_then(Value::as_array);
        let is_known = |method: &Value| {
            method.as_str().is_some_and(|method| {
                self.age_verification_methods.iter().any(|known| known == method)
            })
        };
        if methods.is_some_and(|methods| !methods.iter().any(is_known)) {
            paths.push("age_restriction.accepted_methods".to_owned());
        }
        paths
    }
}

/// Returns true if a member of an entry is one of the known words.
fn has_word(known: &[String], entry: &Value, member: &str) -> bool {
    let word = entry.get(member).and_then(Value::as_str);
    word.is_some_and(|word| known.iter().any(|one| one == word))
}

/// Returns the paths of the unknown items of a list, down to the member that is not known.
fn unsupported_items(
    list: &str,
    value: &Value,
    member: &str,
    is_known: impl Fn(&Value) -> bool,
) -> Vec<String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let unknown = items.iter().enumerate().filter(|(_, item)| !is_known(item));
    let paths = unknown.map(|(index, _)| format!("{list}[{index}].{member}"));
    paths.take(MAX_LISTED).collect()
}

/// Pairs of lists in a targeting overlay that must not name the same, such as what is included and excluded.
const OPPOSITES: [(&str, &str); 7] = [
    ("geo_countries", "geo_countries_exclude"),
    ("geo_regions", "geo_regions_exclude"),
    ("geo_metros", "geo_metros_exclude"),
    ("geo_postal_areas", "geo_postal_areas_exclude"),
    ("device_type", "device_type_exclude"),
    ("audience_include", "audience_exclude"),
    ("keyword_targets", "negative_keywords"),
];

/// Maximum number of problems of one kind that are listed.
const MAX_LISTED: usize = 20;

/// Returns the paths in a targeting overlay, from the overlay on, of what contradicts something else in it;
/// the first 20.
#[must_use]
pub fn contradictions(overlay: &Map) -> Vec<String> {
    let mut paths = Vec::new();
    let items = |list: &str| -> &[Value] {
        overlay.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    };
    for (included, excluded) in OPPOSITES {
        if items(included).is_empty() || items(excluded).is_empty() {
            continue;
        }
        let named: HashSet<TargetKey<'_>> = items(included).iter().flat_map(target_keys).collect();
        for (index, item) in items(excluded).iter().enumerate() {
            if target_keys(item).iter().any(|key| named.contains(key)) {
                paths.push(format!("{excluded}[{index}]"));
            }
        }
    }
    let country_of = |region: &Value| region.as_str()?.split('-').next().map(str::to_owned);
    let countries: HashSet<&str> =
        items("geo_countries").iter().filter_map(Value::as_str).collect();
    let excluded = items("geo_countries_exclude").iter().filter_map(Value::as_str);
    let excluded: HashSet<&str> = excluded.collect();
    for (index, region) in items("geo_regions").iter().enumerate() {
        let Some(country) = country_of(region) else { continue };
        let is_outside = !countries.is_empty() && !countries.contains(country.as_str());
        if is_outside || excluded.contains(country.as_str()) {
            paths.push(format!("geo_regions[{index}]"));
        }
    }
    paths.truncate(MAX_LISTED);
    paths
}

/// Target of a list item, in a form by which it is compared with items of the opposite list. Areas are
/// compared within one system of one country, keywords within one way of matching.
#[derive(Debug, PartialEq, Eq, Hash)]
struct TargetKey<'a> {
    country: Option<&'a str>,
    system: Option<&'a str>,
    value: Option<&'a str>,
}

/// Returns the keys of an item: one for a word, and one for each value of an area.
fn target_keys(item: &Value) -> Vec<TargetKey<'_>> {
    let text = |name: &str| item.get(name).and_then(Value::as_str);
    if let Some(word) = item.as_str() {
        return vec![TargetKey { country: None, system: None, value: Some(word) }];
    }
    if let Some(keyword) = text("keyword") {
        let system = text("match_type");
        return vec![TargetKey { country: None, system, value: Some(keyword) }];
    }
    let values =
        item.get("values").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let keys = values.iter().map(|value| TargetKey {
        country: text("country"),
        system: text("system"),
        value: value.as_str(),
    });
    keys.collect()
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::from_value;

    use super::*;

    fn overlay(value: Value) -> Map {
        from_value(value).unwrap()
    }

    #[test]
    fn nothing_but_countries_and_own_lists_is_applied_unsaid() {
        let asked = overlay(json!({
            "geo_countries": ["US"], "geo_countries_exclude": ["CA"], "geo_regions": ["US-CA"],
            "geo_metros": [{"system": "nielsen_dma", "values": ["501"]}],
            "geo_postal_areas": [{"country": "US", "system": "zip", "values": ["10001"]}],
            "keyword_targets": [{"keyword": "boots", "match_type": "exact"}],
            "frequency_cap": {"max_impressions": 3}, "daypart_targets": [{}],
            "device_type": ["mobile"], "device_platform": ["ios"], "language": ["en"],
            "age_restriction": {"min": 21}, "audience_include": ["a"], "made_up": true,
        }));
        assert_eq!(
            TargetingSupport::default().unsupported(&asked),
            [
                "geo_regions",
                "geo_metros",
                "geo_postal_areas",
                "keyword_targets",
                "frequency_cap",
                "daypart_targets",
                "device_type",
                "device_platform",
                "language",
                "age_restriction",
                "made_up",
            ]
        );
    }

    #[test]
    fn systems_and_match_types_are_checked_one_by_one() {
        let support = TargetingSupport {
            geo_metros: vec!["nielsen_dma".into()],
            geo_postal_areas: BTreeMap::from([("US".into(), vec!["zip".into()])]),
            keyword_match_types: vec!["exact".into()],
            age_restriction: true,
            ..TargetingSupport::default()
        };
        let asked = overlay(json!({
            "geo_metros": [
                {"system": "nielsen_dma", "values": ["501"]}, {"system": "uk_itl1", "values": ["UKI"]},
            ],
            "geo_postal_areas": [
                {"country": "US", "system": "zip", "values": ["10001"]},
                {"country": "DE", "system": "plz", "values": ["10115"]},
                {"system": "us_zip", "values": ["10001"]},
            ],
            "keyword_targets": [{"keyword": "boots", "match_type": "broad"}],
            "age_restriction": {"min": 21, "verification_required": true},
        }));
        assert_eq!(
            support.unsupported(&asked),
            [
                "geo_metros[1].system",
                "geo_postal_areas[1].system",
                "geo_postal_areas[2].system",
                "keyword_targets[0].match_type",
                "age_restriction.verification_required",
            ]
        );
    }

    #[test]
    fn contradictions_are_named_where_they_stand() {
        let asked = overlay(json!({
            "geo_countries": ["US"], "geo_countries_exclude": ["CA", "US"],
            "geo_regions": ["US-CA", "GB-SCT"],
            "geo_metros": [{"system": "nielsen_dma", "values": ["501", "803"]}],
            "geo_metros_exclude": [
                {"system": "uk_itl1", "values": ["501"]}, {"system": "nielsen_dma", "values": ["803"]},
            ],
            "keyword_targets": [{"keyword": "boots", "match_type": "exact", "bid_price": 2}],
            "negative_keywords": [
                {"keyword": "boots", "match_type": "broad"}, {"keyword": "boots", "match_type": "exact"},
            ],
        }));
        assert_eq!(
            contradictions(&asked),
            [
                "geo_countries_exclude[1]",
                "geo_metros_exclude[1]",
                "negative_keywords[1]",
                "geo_regions[0]",
                "geo_regions[1]",
            ]
        );
    }

    #[test]
    fn words_that_adcp_lacks_are_mistakes_of_the_catalogue() {
        let support = TargetingSupport {
            geo_metros: vec!["nielsen_dma".into(), "dma".into()],
            geo_postal_areas: BTreeMap::from([("usa".into(), vec!["zip".into()])]),
            keyword_match_types: vec!["fuzzy".into()],
            ..TargetingSupport::default()
        };
        let pointers: Vec<String> = support.mistakes().into_iter().map(|one| one.pointer).collect();
        assert_eq!(
            pointers,
            [
                "/targeting/geo_metros/1",
                "/targeting/keyword_match_types/0",
                "/targeting/geo_postal_areas/usa",
            ]
        );
    }

    #[test]
    fn capabilities_say_what_is_applied() {
        assert_eq!(TargetingSupport::default().capabilities(), json!({"geo_countries": true}));
        let support = TargetingSupport {
            geo_regions: true,
            geo_metros: vec!["nielsen_dma".into()],
            keyword_match_types: vec!["exact".into()],
            ..TargetingSupport::default()
        };
        assert_eq!(
            support.capabilities(),
            json!({
                "geo_countries": true, "geo_regions": true, "geo_metros": {"nielsen_dma": true},
                "keyword_targets": {"supported_match_types": ["exact"]},
            })
        );
    }
}
