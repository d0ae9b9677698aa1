//! Targeting that a publisher applies. Capabilities are published from this list, and what is not in it is
//! refused: a buyer must never read back targeting that is not applied.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use tradepost_document::json::{Map, Value, json, object};

use super::CatalogueMistake;
use crate::ad_server::{AdServerCapabilities, TargetingKind};

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
    /// Returns the targeting that is applied: all of this, and where there is an ad server, of it what that can
    /// apply, too.
    #[must_use]
    pub fn within(&self, ad_server: Option<&AdServerCapabilities>) -> AppliedTargeting {
        let Some(ad_server) = ad_server else {
            let support = self.clone();
            return AppliedTargeting {
                support,
                countries: true,
                audiences: true,
                property_lists: true,
            };
        };
        let has = |kind: TargetingKind| ad_server.targeting.contains(&kind);
        let mut geo_metros = self.geo_metros.clone();
        geo_metros
            .retain(|system| has(TargetingKind::Metros) && ad_server.has_metro_system(system));
        let mut geo_postal_areas = self.geo_postal_areas.clone();
        geo_postal_areas.retain(|_, _| has(TargetingKind::PostalAreas));
        let support = Self {
            geo_regions: self.geo_regions && has(TargetingKind::Regions),
            geo_metros,
            geo_postal_areas,
            dayparts: self.dayparts && has(TargetingKind::Dayparts),
            frequency_cap: self.frequency_cap && has(TargetingKind::FrequencyCap),
            device_platforms: self.device_platforms && has(TargetingKind::Devices),
            device_types: self.device_types && has(TargetingKind::Devices),
            // No ad server is asked to apply the rest.
            languages: false,
            age_restriction: false,
            age_verification_methods: Vec::new(),
            keyword_match_types: Vec::new(),
            negative_keyword_match_types: Vec::new(),
        };
        AppliedTargeting {
            support,
            countries: has(TargetingKind::Countries),
            audiences: has(TargetingKind::Audiences),
            property_lists: false,
        }
    }

    /// Returns the keys of a catalogue's `targeting` of which an ad server cannot apply everything.
    #[must_use]
    pub fn beyond(&self, ad_server: &AdServerCapabilities) -> Vec<&'static str> {
        let applied = self.within(Some(ad_server)).support;
        let keys = [
            ("geo_regions", self.geo_regions == applied.geo_regions),
            ("geo_metros", self.geo_metros == applied.geo_metros),
            ("geo_postal_areas", self.geo_postal_areas == applied.geo_postal_areas),
            ("dayparts", self.dayparts == applied.dayparts),
            ("frequency_cap", self.frequency_cap == applied.frequency_cap),
            ("device_platforms", self.device_platforms == applied.device_platforms),
            ("device_types", self.device_types == applied.device_types),
            ("languages", self.languages == applied.languages),
            ("age_restriction", self.age_restriction == applied.age_restriction),
            ("keyword_match_types", self.keyword_match_types == applied.keyword_match_types),
            (
                "negative_keyword_match_types",
                self.negative_keyword_match_types == applied.negative_keyword_match_types,
            ),
        ];
        keys.into_iter().filter(|(_, is_whole)| !is_whole).map(|(key, _)| key).collect()
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

/// Targeting that is applied to what is sold: the one list by which capabilities are published and requests
/// are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedTargeting {
    support: TargetingSupport,
    countries: bool,
    audiences: bool,
    property_lists: bool,
}

impl AppliedTargeting {
    /// Returns true if the frequency of impressions can be limited.
    #[must_use]
    pub const fn has_frequency_cap(&self) -> bool {
        self.support.frequency_cap
    }

    /// Returns the paths in a targeting overlay, from the overlay on, of what is not applied.
    #[must_use]
    pub fn unsupported(&self, overlay: &Map) -> Vec<String> {
        let support = &self.support;
        let mut paths = Vec::new();
        for (name, value) in overlay {
            match name.as_str() {
                "ext" => {}
                // Checked against products, and against what the caller and the publisher have.
                "geo_countries" | "geo_countries_exclude" if self.countries => {}
                "audience_include"
                | "audience_exclude"
                | "signal_targeting_groups"
                | "signal_targeting"
                    if self.audiences => {}
                "property_list" if self.property_lists => {}
                "geo_regions" | "geo_regions_exclude" if support.geo_regions => {}
                "daypart_targets" if support.dayparts => {}
                "frequency_cap" if support.frequency_cap => {}
                "device_platform" if support.device_platforms => {}
                "device_type" | "device_type_exclude" if support.device_types => {}
                "language" if support.languages => {}
                "geo_metros" | "geo_metros_exclude" if !support.geo_metros.is_empty() => {
                    let is_known = |entry: &Value| has_word(&support.geo_metros, entry, "system");
                    paths.extend(unsupported_items(name, value, "system", is_known));
                }
                "geo_postal_areas" | "geo_postal_areas_exclude"
                    if !support.geo_postal_areas.is_empty() =>
                {
                    let is_known = |entry: &Value| support.has_postal_system(entry);
                    paths.extend(unsupported_items(name, value, "system", is_known));
                }
                "keyword_targets" if !support.keyword_match_types.is_empty() => {
                    let known = &support.keyword_match_types;
                    let is_known = |entry: &Value| has_word(known, entry, "match_type");
                    paths.extend(unsupported_items(name, value, "match_type", is_known));
                }
                "negative_keywords" if !support.negative_keyword_match_types.is_empty() => {
                    let known = &support.negative_keyword_match_types;
                    let is_known = |entry: &Value| has_word(known, entry, "match_type");
                    paths.extend(unsupported_items(name, value, "match_type", is_known));
                }
                "age_restriction" if support.age_restriction => {
                    paths.extend(support.unsupported_age_checks(value));
                }
                _ => paths.push(name.clone()),
            }
        }
        paths
    }

    /// Returns its section of `get_adcp_capabilities` (`media_buy.execution.targeting`).
    #[must_use]
    pub fn capabilities(&self) -> Value {
        let support = &self.support;
        let flags = |names: &[String]| -> Option<Value> {
            let flags: Map = names.iter().map(|name| (name.clone(), Value::Bool(true))).collect();
            (!flags.is_empty()).then_some(flags.into())
        };
        let matching =
            |types: &[String]| (!types.is_empty()).then(|| json!({"supported_match_types": types}));
        let methods = &support.age_verification_methods;
        object!({
            "geo_countries"?: self.countries.then_some(true),
            "geo_regions"?: support.geo_regions.then_some(true),
            "geo_metros"?: flags(&support.geo_metros),
            "geo_postal_areas"?: (!support.geo_postal_areas.is_empty()).then_some(&support.geo_postal_areas),
            "age_restriction"?: support.age_restriction.then(|| object!({
                "supported": true,
                "verification_methods"?: (!methods.is_empty()).then_some(methods),
            })),
            "language"?: support.languages.then_some(true),
            "keyword_targets"?: matching(&support.keyword_match_types),
            "negative_keywords"?: matching(&support.negative_keyword_match_types),
        })
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
            TargetingSupport::default().within(None).unsupported(&asked),
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
            support.within(None).unsupported(&asked),
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
    fn an_ad_server_leaves_of_the_list_what_it_applies() {
        let support = TargetingSupport {
            geo_regions: true,
            geo_metros: vec!["nielsen_dma".into(), "uk_itl1".into()],
            geo_postal_areas: BTreeMap::from([("US".into(), vec!["zip".into()])]),
            dayparts: true,
            frequency_cap: true,
            device_types: true,
            languages: true,
            keyword_match_types: vec!["exact".into()],
            ..TargetingSupport::default()
        };
        let metro_systems = Some(["nielsen_dma".to_owned()].into());
        let metros = AdServerCapabilities {
            targeting: [TargetingKind::Countries, TargetingKind::Metros].into(),
            metro_systems,
            ..AdServerCapabilities::default()
        };
        let asked = overlay(json!({
            "geo_countries": ["US"], "geo_regions": ["US-CA"],
            "geo_metros": [
                {"system": "nielsen_dma", "values": ["501"]}, {"system": "uk_itl1", "values": ["UKI"]},
            ],
            "geo_postal_areas": [{"country": "US", "system": "zip", "values": ["10001"]}],
            "daypart_targets": [{}], "frequency_cap": {"max_impressions": 3},
            "device_type": ["mobile"], "language": ["en"],
            "keyword_targets": [{"keyword": "boots", "match_type": "exact"}],
            "audience_include": ["a"], "property_list": {"list_id": "l"}, "ext": {},
        }));
        let applied = support.within(Some(&metros));
        assert_eq!(
            applied.unsupported(&asked),
            [
                "geo_regions",
                "geo_metros[1].system",
                "geo_postal_areas",
                "daypart_targets",
                "frequency_cap",
                "device_type",
                "language",
                "keyword_targets",
                "audience_include",
                "property_list",
            ]
        );
        assert_eq!(
            applied.capabilities(),
            json!({"geo_countries": true, "geo_metros": {"nielsen_dma": true}})
        );
        assert_eq!(
            support.beyond(&metros),
            [
                "geo_regions",
                "geo_metros",
                "geo_postal_areas",
                "dayparts",
                "frequency_cap",
                "device_types",
                "languages",
                "keyword_match_types",
            ]
        );
        let nothing = support.within(Some(&AdServerCapabilities::default()));
        assert_eq!(nothing.capabilities(), json!({}));
        assert_eq!(
            nothing.unsupported(&overlay(json!({"geo_countries": ["US"]}))),
            ["geo_countries"]
        );
    }

    #[test]
    fn capabilities_say_what_is_applied() {
        let nothing = TargetingSupport::default().within(None);
        assert_eq!(nothing.capabilities(), json!({"geo_countries": true}));
        let support = TargetingSupport {
            geo_regions: true,
            geo_metros: vec!["nielsen_dma".into()],
            keyword_match_types: vec!["exact".into()],
            ..TargetingSupport::default()
        };
        assert_eq!(
            support.within(None).capabilities(),
            json!({
                "geo_countries": true, "geo_regions": true, "geo_metros": {"nielsen_dma": true},
                "keyword_targets": {"supported_match_types": ["exact"]},
            })
        );
    }
}
