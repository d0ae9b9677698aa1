//! Whether a creative can be taken: its format, its assets, what is known of its making, what it
//! contains, and what has to be shown with it. Every problem is found, not the first.

use tradepost_wire::adcp::error::{Code, Error};
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value, json};

use super::policy::{Forbidden, Provenance};
use crate::catalogue::Catalogue;
use crate::publisher::Publisher;
use crate::refuse;
use crate::shelf::Shelf;

/// The formats that a publisher takes.
#[derive(Debug, Default)]
pub(crate) struct Formats {
    /// As they are published.
    defined: Vec<Map>,
    /// Those that products name without a definition here, with the declarations of
    /// `format_options`.
    named: Vec<Value>,
    by_id: bool,
}

impl Formats {
    /// Those of the catalogue, and those that were put beside it.
    pub(crate) fn of(publisher: &Publisher, shelf: &dyn Shelf) -> Result<Self, Fault> {
        let mut named = Vec::new();
        for product in publisher.products(shelf)? {
            for list in ["format_ids", "format_options"] {
                let list = product.published.get(list).and_then(Value::as_array);
                named.extend(list.cloned().unwrap_or_default());
            }
        }
        let by_id = publisher.profile.catalogue.creatives.formats_by_id;
        Ok(Self { defined: publisher.formats(shelf)?, named, by_id })
    }

    /// The format that a creative names: `None` when it is not taken, and `Some(None)` when it is
    /// taken and nothing more is known of it.
    fn find(&self, creative: &Map) -> Option<Option<&Map>> {
        if let Some(kind) = creative.get("format_kind") {
            let projects = |format: &&Map| {
                format.get("canonical").and_then(|canonical| canonical.get("kind")) == Some(kind)
            };
            let is = |option: &&Value| option.get("format_kind") == Some(kind);
            return match self.defined.iter().find(projects) {
                Some(format) => Some(Some(format)),
                None => self.named.iter().find(is).map(|_| None),
            };
        }
        let wanted = creative.get("format_id")?;
        let same = |id: &Value| self.same(id, wanted);
        let defined = |format: &&Map| format.get("format_id").is_some_and(same);
        match self.defined.iter().find(defined) {
            Some(format) => Some(Some(format)),
            None => self.named.iter().find(|id| same(id)).map(|_| None),
        }
    }

    fn same(&self, known: &Value, wanted: &Value) -> bool {
        let part = |id: &Value, name: &str| id.get(name).and_then(Value::as_str).map(str::to_owned);
        let agent = |id: &Value| part(id, "agent_url").map(|url| canonical(&url));
        part(known, "id").is_some()
            && part(known, "id") == part(wanted, "id")
            && (self.by_id || part(known, "agent_url").is_none() || agent(known) == agent(wanted))
    }
}

/// What a creative is judged by.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    /// The formats.
    pub formats: &'a Formats,
    /// The publisher's demands.
    pub catalogue: &'a Catalogue,
    /// What has to be known of the creative's making: the publisher's demands with those of the
    /// products that it is to run in.
    pub provenance: Provenance,
}

impl Judge<'_> {
    /// Every reason not to take a creative; `at` is its path in the request (`creatives[0]`).
    pub(crate) fn judge(&self, creative: &Map, at: &str) -> Vec<Error> {
        let mut errors = Vec::new();
        let assets = assets(creative, at);
        let taken = self.formats.find(creative);
        if taken.is_none() {
            let named = creative.contains_key("format_id");
            let member = if named { "format_id" } else { "format_kind" };
            errors.push(unsupported_format(&format!("{at}.{member}")));
        }
        if let Some(Some(format)) = taken {
            required(format, creative, at, &mut errors);
            fitting(format, &assets, &mut errors);
        }
        self.made(creative, &assets, at, &mut errors);
        self.said(creative, &assets, at, &mut errors);
        for forbidden in &self.catalogue.creatives.forbidden {
            contains(forbidden, creative, &assets, at, &mut errors);
        }
        // Of a format that is not taken nothing is known, and it is refused anyway.
        if let Some(format) = taken {
            disclosures(format, creative, &assets, at, &mut errors);
        }
        errors
    }

    /// Whether its texts say what may not be advertised.
    fn said(&self, creative: &Map, assets: &[Asset<'_>], at: &str, errors: &mut Vec<Error>) {
        let name = creative.get("name").and_then(Value::as_str);
        let name = name.map(|name| (format!("{at}.name"), name));
        let texts = assets.iter().filter_map(|asset| {
            asset.text("content").map(|text| (format!("{}.content", asset.at), text))
        });
        for (place, text) in name.into_iter().chain(texts) {
            for policy in self.catalogue.forbids(text) {
                let url = policy.policy_url.as_deref();
                errors.push(rejected(&place, &policy.policy_id, url, &policy.rule));
            }
        }
    }

    /// Whether what is known of its making is enough (`PROVENANCE_*`).
    fn made(&self, creative: &Map, assets: &[Asset<'_>], at: &str, errors: &mut Vec<Error>) {
        let own = creative.get("provenance").filter(|value| value.is_object());
        let mut declared: Vec<(String, &Value)> = Vec::new();
        declared.extend(own.map(|own| (format!("{at}.provenance"), own)));
        for asset in assets {
            let own = asset.value.get("provenance").filter(|value| value.is_object());
            declared.extend(own.map(|own| (format!("{}.provenance", asset.at), own)));
        }
        if declared.is_empty() && self.provenance.required {
            let message = "this seller takes no creative without a provenance object";
            errors.push(refuse::at(Code::ProvenanceRequired, at, message));
        }
        for (place, declaration) in declared {
            self.declared(&place, declaration, errors);
        }
    }

    fn declared(&self, at: &str, declaration: &Value, errors: &mut Vec<Error>) {
        let demands = &self.provenance;
        let mut missing = |code: Code, member: &str, message: &str| {
            errors.push(refuse::at(code, &format!("{at}.{member}"), message));
        };
        let source = declaration.get("digital_source_type").and_then(Value::as_str);
        if demands.digital_source_type && source.is_none() {
            let message = "the provenance does not say by what kind of source the content was made";
            missing(Code::ProvenanceDigitalSourceTypeMissing, "digital_source_type", message);
        }
        let disclosure = declaration.get("disclosure");
        let required = disclosure.and_then(|disclosure| disclosure.get("required"));
        let places = disclosure.and_then(|disclosure| disclosure.get("jurisdictions"));
        let said = match required.and_then(Value::as_bool) {
            Some(true) => places.and_then(Value::as_array).is_some_and(|list| !list.is_empty()),
            Some(false) => true,
            None => false,
        };
        if demands.disclosure && !said {
            let message = "the provenance does not say whether a disclosure is required, and where";
            missing(Code::ProvenanceDisclosureMissing, "disclosure", message);
        }
        let list = |name: &str| declaration.get(name).and_then(Value::as_array);
        if demands.embedded && list("embedded_provenance").is_none_or(Vec::is_empty) {
            let message = "the provenance has to be embedded in the content as well";
            missing(Code::ProvenanceEmbeddedMissing, "embedded_provenance", message);
        }
        let Some(verifiers) = &demands.verifiers else {
            return;
        };
        for name in ["embedded_provenance", "watermarks"] {
            for (index, layer) in list(name).into_iter().flatten().enumerate() {
                let url = layer.get("verify_agent").and_then(|agent| agent.get("agent_url"));
                let Some(url) = url.and_then(Value::as_str).map(canonical) else {
                    continue;
                };
                if !verifiers.iter().any(|known| canonical(known) == url) {
                    let message = "the seller does not ask this verifier; name one of \
                                   creative_policy.accepted_verifiers, or none";
                    let member = format!("{name}[{index}].verify_agent.agent_url");
                    missing(Code::ProvenanceVerifierNotAccepted, &member, message);
                }
            }
        }
    }
}

/// An asset with its place in the request.
#[derive(Debug)]
struct Asset<'a> {
    slot: &'a str,
    at: String,
    value: &'a Value,
}

impl Asset<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.value.get(name).and_then(Value::as_str)
    }
}

fn assets<'a>(creative: &'a Map, at: &str) -> Vec<Asset<'a>> {
    let mut found = Vec::new();
    let slots = creative.get("assets").and_then(Value::as_object);
    for (slot, value) in slots.into_iter().flatten() {
        let at = format!("{at}.assets.{slot}");
        match value.as_array() {
            None => found.push(Asset { slot, at, value }),
            Some(items) => found.extend(items.iter().enumerate().map(|(index, value)| Asset {
                slot,
                at: format!("{at}[{index}]"),
                value,
            })),
        }
    }
    found
}

fn unsupported_format(field: &str) -> Error {
    let message =
        "this seller does not take that format; list_creative_formats shows those it takes";
    let mut error = refuse::at(Code::FormatNotSupported, field, message);
    error.suggestion = Some("choose a format that list_creative_formats shows".to_owned());
    error
}

/// An asset that does not fit its format.
fn unfit(field: &str, message: &str) -> Error {
    let mut error = refuse::at(Code::ValidationError, field, message);
    error.suggestion = Some("correct the asset by what list_creative_formats shows".to_owned());
    error
}

/// The slots of a format that a single asset fills.
fn slots(format: &Map) -> impl Iterator<Item = (&str, &Value)> {
    let slots = format.get("assets").and_then(Value::as_array);
    slots.into_iter().flatten().filter_map(|slot| {
        let name = slot.get("asset_id").or_else(|| slot.get("asset_group_id"));
        name.and_then(Value::as_str).map(|name| (name, slot))
    })
}

/// Whether what the format requires is there, and of the right kind.
fn required(format: &Map, creative: &Map, at: &str, errors: &mut Vec<Error>) {
    let given = creative.get("assets").and_then(Value::as_object);
    for (name, slot) in slots(format) {
        let alias = slot.get("asset_group_id").and_then(Value::as_str).unwrap_or(name);
        let asset = given.and_then(|given| given.get(name).or_else(|| given.get(alias)));
        let field = format!("{at}.assets.{name}");
        let kind = slot.get("asset_type").and_then(Value::as_str);
        match asset {
            None if slot.get("required").and_then(Value::as_bool).unwrap_or(false) => {
                let message = "the format requires this asset";
                errors.push(unfit(&field, message));
            }
            None => {}
            Some(asset) => {
                let first = asset.as_array().and_then(|list| list.first()).unwrap_or(asset);
                let found = first.get("asset_type").and_then(Value::as_str);
                if kind.is_some() && found.is_some() && kind != found {
                    let message = "the format takes another type of asset here";
                    let error = unfit(&field, message);
                    errors.push(refuse::with(error, "accepted_values", json!([kind])));
                }
            }
        }
    }
}

/// Measures of an asset, with the names of the least and the most that a format can demand.
const MEASURES: [(&str, &str, &str); 4] = [
    ("width", "min_width", "max_width"),
    ("height", "min_height", "max_height"),
    ("duration_ms", "min_duration_ms", "max_duration_ms"),
    ("content", "min_length", "max_length"),
];

/// Whether assets have the measures and the values that the format demands.
fn fitting(format: &Map, assets: &[Asset<'_>], errors: &mut Vec<Error>) {
    for asset in assets {
        let slot = slots(format).find(|(name, _)| *name == asset.slot);
        let Some(requirements) = slot.and_then(|(_, slot)| slot.get("requirements")) else {
            continue;
        };
        for (measure, least, most) in MEASURES {
            let value = match asset.value.get(measure) {
                Some(Value::String(text)) => {
                    f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX))
                }
                Some(number) => number.as_f64().unwrap_or(f64::NAN),
                None => continue,
            };
            let bound = |name: &str| requirements.get(name).and_then(Value::as_f64);
            let other = bound(measure).is_some_and(|exact| (value - exact).abs() > f64::EPSILON);
            if other
                || bound(least).is_some_and(|least| value < least)
                || bound(most).is_some_and(|most| value > most)
            {
                let field = format!("{}.{measure}", asset.at);
                let message = "the format takes no asset of this size";
                errors.push(unfit(&field, message));
            }
        }
        let allowed = requirements.get("allowed_values").and_then(Value::as_array);
        if let (Some(allowed), Some(content)) = (allowed, asset.value.get("content"))
            && !allowed.contains(content)
        {
            let message = "the format lists the values that this asset can have; see details";
            let field = format!("{}.content", asset.at);
            let error = refuse::at(Code::CreativeValueNotAllowed, &field, message);
            errors.push(refuse::with(error, "allowed_values", json!(allowed)));
        }
    }
}

/// Whether a creative contains what is forbidden.
fn contains(
    forbidden: &Forbidden,
    creative: &Map,
    assets: &[Asset<'_>],
    at: &str,
    errors: &mut Vec<Error>,
) {
    let mut places = Vec::new();
    let tags = creative.get("tags").and_then(Value::as_array);
    for (index, tag) in tags.into_iter().flatten().enumerate() {
        let tag = tag.as_str().unwrap_or_default();
        if forbidden.categories.iter().any(|category| category.eq_ignore_ascii_case(tag)) {
            places.push(format!("{at}.tags[{index}]"));
        }
    }
    for asset in assets.iter().filter(|asset| asset.text("asset_type") == Some("url")) {
        let Some(host) = asset.text("url").map(host) else {
            continue;
        };
        if forbidden.landing_domains.iter().any(|domain| below(&host, domain)) {
            places.push(format!("{}.url", asset.at));
        }
    }
    let url = forbidden.policy_url.as_deref();
    let error = |place: &String| rejected(place, &forbidden.policy_id, url, &forbidden.reason);
    errors.extend(places.iter().map(error));
}

fn rejected(field: &str, policy_id: &str, policy_url: Option<&str>, reason: &str) -> Error {
    let message = "the creative goes against an advertising policy of the seller; see details";
    let error = refuse::at(Code::CreativeRejected, field, message);
    let mut error = refuse::with(error, "policy_id", policy_id);
    if let Some(url) = policy_url {
        error = refuse::with(error, "policy_url", url);
    }
    refuse::with(error, "reasons", json!([reason]))
}

/// Whether every disclosure that has to be shown with a creative can be shown by its format. A
/// format that says nothing promises nothing.
fn disclosures(
    format: Option<&Map>,
    creative: &Map,
    assets: &[Asset<'_>],
    at: &str,
    errors: &mut Vec<Error>,
) {
    let mut unmet = |field: String| {
        let message = "a disclosure that this creative requires cannot be shown by its format";
        errors.push(refuse::at(Code::ComplianceUnsatisfied, &field, message));
    };
    let disclosure = creative.get("provenance").and_then(|made| made.get("disclosure"));
    let due = disclosure.and_then(|it| it.get("required")).and_then(Value::as_bool) == Some(true);
    let places = disclosure.and_then(|disclosure| disclosure.get("jurisdictions"));
    for (index, place) in places.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let guidance = place.get("render_guidance");
        let positions = guidance.and_then(|guidance| guidance.get("positions"));
        let Some(positions) = positions.and_then(Value::as_array) else {
            continue;
        };
        let lasting = guidance.and_then(|guidance| guidance.get("persistence"));
        if due && !positions.iter().any(|position| shows(format, position, lasting)) {
            let field =
                format!("{at}.provenance.disclosure.jurisdictions[{index}].render_guidance");
            unmet(field);
        }
    }
    for asset in assets {
        let wanted =
            asset.value.get("compliance").and_then(|rules| rules.get("required_disclosures"));
        for (index, wanted) in wanted.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let (position, lasting) = (wanted.get("position"), wanted.get("persistence"));
            if position.is_some_and(|position| !shows(format, position, lasting)) {
                unmet(format!("{}.compliance.required_disclosures[{index}]", asset.at));
            }
        }
    }
}

/// Whether a format can show a disclosure in a position, for as long as it has to last.
fn shows(format: Option<&Map>, position: &Value, lasting: Option<&Value>) -> bool {
    let list = |name: &str| format.and_then(|it| it.get(name)).and_then(Value::as_array);
    if let Some(able) = list("disclosure_capabilities") {
        let held = able.iter().find(|ability| ability.get("position") == Some(position));
        let lasts = |modes: Option<&Value>| match lasting {
            None => true,
            Some(wanted) => modes.and_then(Value::as_array).is_some_and(|all| all.contains(wanted)),
        };
        return held.is_some_and(|ability| lasts(ability.get("persistence")));
    }
    list("supported_disclosure_positions").is_some_and(|all| all.contains(position))
}

/// The host of an address, in lower case, without user and port.
pub(crate) fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = host.split(':').next().unwrap_or_default();
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Whether a host is a domain or lies below it.
pub(crate) fn below(host: &str, domain: &str) -> bool {
    let domain = domain.to_ascii_lowercase();
    let parent = host.strip_suffix(&domain);
    !domain.is_empty() && parent.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// An address in the form in which two of them are compared: scheme and host in lower case, without
/// the usual port and the last slash.
fn canonical(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let authority = authority.to_ascii_lowercase();
    let port = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(port).unwrap_or(&authority);
    format!("{scheme}://{authority}{}", path.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::{below, canonical, host};

    #[test]
    fn a_host_is_read_as_a_browser_reads_it() {
        for (url, found) in [
            ("https://Shop.Example/x?y@z", "shop.example"),
            ("https://good.example@bad.example:8443/", "bad.example"),
            ("https://bad.example.\\@good.example", "bad.example"),
            ("bad.example", "bad.example"),
        ] {
            assert_eq!(host(url), found, "{url}");
        }
        assert!(below("a.bad.example", "Bad.example"));
        assert!(!below("notbad.example", "bad.example"));
    }

    #[test]
    fn addresses_are_compared_in_one_form() {
        assert_eq!(canonical("HTTPS://A.Example:443/v/"), canonical("https://a.example/v"));
        assert_ne!(canonical("https://a.example/V"), canonical("https://a.example/v"));
    }
}
