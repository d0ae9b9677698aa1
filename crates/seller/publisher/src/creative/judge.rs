//! Validates creatives: format, assets, provenance, content and required disclosures. Reports every
//! problem, not only the first.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::json;
use tradepost_document::typed::Typed as _;

use super::address::{check_addresses, check_file_type};
use super::asset::{Asset, Declared, GivenCreative, Placed};
use super::policy::{Forbidden, Provenance};
use crate::catalogue::{AssetPlace, Catalogue, CreativeFormat, FormatId, Product, Requirements};
use crate::money::MoneyAmount;
use crate::publisher::Publisher;
use crate::refusals;
use crate::reply::object;
use crate::store::StoreRead;

/// Returns true when the canonical form of a format is this kind.
fn projects(format: &CreativeFormat, kind: &String) -> bool {
    format.canonical.as_ref().is_some_and(|own| own.kind.as_ref() == Some(kind))
}

/// Returns the problems of a creative with one format: missing assets and wrong dimensions.
fn unmet(format: &CreativeFormat, creative: &GivenCreative) -> Vec<AdcpError> {
    let mut errors = Vec::new();
    required(format, creative, "creative", &mut errors);
    fitting(format, &creative.placed("creative"), &mut errors);
    errors
}

/// Formats that a publisher accepts.
#[derive(Debug, Default)]
pub(crate) struct Formats {
    defined: Vec<CreativeFormat>,
    /// Formats that products name without a definition in the catalog.
    named: Vec<FormatId>,
    /// Kinds of canonical AdCP formats that products name.
    kinds: Vec<String>,
    by_id: bool,
}

impl Formats {
    /// Collects the formats of the catalog, of the store and of the products.
    pub(crate) fn new(
        publisher: &Publisher,
        products: &[Product],
        reader: &dyn StoreRead,
    ) -> Result<Self, InternalError> {
        let mut named = Vec::new();
        let mut kinds = Vec::new();
        for product in products {
            named.extend_from_slice(product.formats());
            let options = product.published.format_options.iter();
            kinds.extend(options.filter_map(|option| option.format_kind.clone()));
        }
        let by_id = publisher.profile.catalogue.creatives.formats_by_id;
        Ok(Self { defined: publisher.formats(reader)?, named, kinds, by_id })
    }

    /// Returns the format that a creative names: `None` when it is not accepted, and `Some(None)` when
    /// it is accepted without a known definition. Of several formats of one kind, returns the one with
    /// the fewest problems, because a kind does not say which size is meant.
    fn find(&self, creative: &GivenCreative) -> Option<Option<&CreativeFormat>> {
        if let Some(kind) = &creative.format_kind {
            let of_kind = self.defined.iter().filter(|format| projects(format, kind));
            let problem_counts = of_kind.map(|format| (format, unmet(format, creative).len()));
            let best = problem_counts.min_by_key(|(_, problems)| *problems);
            // A product may accept the kind in a size that no defined format has.
            if self.kinds.contains(kind) && best.is_none_or(|(_, problems)| problems > 0) {
                return Some(None);
            }
            return best.map(|(format, _)| Some(format));
        }
        let wanted = creative.format_id.as_ref()?;
        let is = |format: &&CreativeFormat| {
            format.format_id.as_ref().is_some_and(|id| self.same(id, wanted))
        };
        let known = self.defined.iter().find(is).map(Some);
        known.or_else(|| self.named.iter().any(|id| self.same(id, wanted)).then_some(None))
    }

    /// Returns true when a product accepts the format that a creative names.
    pub(crate) fn fits(&self, product: &Product, creative: &GivenCreative) -> bool {
        if let Some(kind) = &creative.format_kind {
            let options = &product.published.format_options;
            let named = |id: &FormatId| {
                let is = |known: &FormatId| self.same(known, id);
                let mut defined = self.defined.iter();
                defined.any(|format| {
                    format.format_id.as_ref().is_some_and(is)
                        && projects(format, kind)
                        && unmet(format, creative).is_empty()
                })
            };
            return options.iter().any(|option| option.format_kind.as_ref() == Some(kind))
                || product.formats().iter().any(named);
        }
        let wanted = creative.format_id.as_ref();
        wanted.is_some_and(|wanted| {
            let mut known = product.formats().iter().chain(product.older_formats());
            known.any(|id| self.same(id, wanted))
        })
    }

    fn same(&self, known: &FormatId, wanted: &FormatId) -> bool {
        let agent = |id: &FormatId| id.agent_url.as_deref().map(canonical);
        known.id.is_some()
            && known.id == wanted.id
            && (self.by_id || known.agent_url.is_none() || agent(known) == agent(wanted))
    }
}

/// Policies that a creative is validated against, in addition to its format.
#[derive(Debug)]
pub(crate) struct Policies<'a> {
    catalogue: &'a Catalogue,
    /// Required provenance: the demands of the publisher and of the products that the creative is
    /// to run in.
    provenance: Provenance,
}

impl<'a> Policies<'a> {
    /// Combines the publisher's policies with the demands of products.
    pub(crate) fn new(catalogue: &'a Catalogue, demanded: Provenance) -> Self {
        let provenance = catalogue.creatives.provenance.clone().and(demanded);
        Self { catalogue, provenance }
    }

    /// Returns the policies for one product.
    pub(crate) fn from_product(catalogue: &'a Catalogue, product: Option<&Product>) -> Self {
        let published = product.and_then(|product| product.published.creative_policy.as_ref());
        Self::new(catalogue, published.map(Provenance::from_policy).unwrap_or_default())
    }

    /// Returns all problems of a creative that is sent; `at` is its path in the request
    /// (`creatives[0]`).
    pub(crate) fn problems(
        &self,
        formats: &Formats,
        creative: &GivenCreative,
        at: &str,
    ) -> Vec<AdcpError> {
        let mut errors = Vec::new();
        let assets = creative.placed(at);
        let taken = formats.find(creative);
        if taken.is_none() {
            let named = creative.format_id.is_some();
            let member = if named { "format_id" } else { "format_kind" };
            errors.push(unsupported_format(&format!("{at}.{member}")));
        }
        let format = taken.flatten();
        if let Some(format) = format {
            required(format, creative, at, &mut errors);
            fitting(format, &assets, &mut errors);
        }
        self.check_links(format, &assets, &mut errors);
        self.look(creative, &assets, at, &mut errors);
        // A format that is not accepted is unknown, and its creative is refused anyway.
        if let Some(format) = taken {
            disclosures(format, creative, &assets, at, &mut errors);
        }
        errors
    }

    /// Returns the problems of assigning a stored creative to another product, or under newer policies.
    /// `field` is the member of the request that names it; the details contain the path in the creative.
    pub(crate) fn against(&self, creative: &GivenCreative, field: &str) -> Vec<AdcpError> {
        let mut errors = Vec::new();
        let assets = creative.placed("creative");
        self.look(creative, &assets, "creative", &mut errors);
        for placed in &assets {
            // Its format decided about http when the creative was sent.
            check_addresses(placed, true, &mut errors);
        }
        let assigned = |mut error: AdcpError| {
            let place = error.field.replace(field.to_owned());
            error.with("creative_field", place.unwrap_or_default())
        };
        errors.into_iter().map(assigned).collect()
    }

    /// Checks addresses and file types. `format` is `None` when its definition is unknown.
    fn check_links(
        &self,
        format: Option<&CreativeFormat>,
        assets: &[Placed<'_>],
        errors: &mut Vec<AdcpError>,
    ) {
        for placed in assets {
            let requirements = format.and_then(|format| requirements_of(format, placed.slot));
            let allow_http = self.catalogue.creatives.allow_http
                || requirements.is_some_and(Requirements::allows_http);
            check_addresses(placed, allow_http, errors);
            check_file_type(placed, requirements, errors);
        }
    }

    fn look(
        &self,
        creative: &GivenCreative,
        assets: &[Placed<'_>],
        at: &str,
        errors: &mut Vec<AdcpError>,
    ) {
        self.check_provenance(creative, assets, at, errors);
        self.check_texts(creative, assets, at, errors);
        for forbidden in &self.catalogue.creatives.forbidden {
            contains(forbidden, creative, assets, at, errors);
        }
    }

    /// Checks the texts for content that may not be advertised.
    fn check_texts(
        &self,
        creative: &GivenCreative,
        assets: &[Placed<'_>],
        at: &str,
        errors: &mut Vec<AdcpError>,
    ) {
        let name = creative.name.as_deref().map(|name| (format!("{at}.name"), name));
        let text_place = |placed: &'_ Placed<'_>| format!("{}.content", placed.at);
        let texts = assets
            .iter()
            .filter_map(|placed| placed.asset.text().map(|text| (text_place(placed), text)));
        for (place, text) in name.into_iter().chain(texts) {
            for policy in self.catalogue.forbids(text) {
                let url = policy.policy_url.as_deref();
                errors.push(rejected(&place, &policy.policy_id, url, &policy.rule));
            }
        }
    }

    /// Checks that the provenance is sufficient (`PROVENANCE_*`).
    fn check_provenance(
        &self,
        creative: &GivenCreative,
        assets: &[Placed<'_>],
        at: &str,
        errors: &mut Vec<AdcpError>,
    ) {
        let own = creative.provenance.iter().map(|own| (format!("{at}.provenance"), own));
        let of_assets = assets.iter().filter_map(|placed| {
            placed.asset.provenance.as_ref().map(|own| (format!("{}.provenance", placed.at), own))
        });
        let declared: Vec<(String, &Declared)> = own.chain(of_assets).collect();
        if declared.is_empty() && self.provenance.required {
            let message = "this seller takes no creative without a provenance object";
            errors.push(refusals::at(AdcpCode::ProvenanceRequired, at, message));
        }
        for (place, declaration) in declared {
            self.declared(&place, declaration, errors);
        }
    }

    /// Checks one provenance declaration against what is demanded.
    fn declared(&self, at: &str, declaration: &Declared, errors: &mut Vec<AdcpError>) {
        let demands = &self.provenance;
        let mut missing = |code: AdcpCode, member: &str, message: &str| {
            errors.push(refusals::at(code, &format!("{at}.{member}"), message));
        };
        if demands.digital_source_type && declaration.digital_source_type.is_none() {
            let message = "the provenance does not say by what kind of source the content was made";
            missing(AdcpCode::ProvenanceDigitalSourceTypeMissing, "digital_source_type", message);
        }
        let disclosure = declaration.disclosure.as_ref();
        let places = disclosure.and_then(|disclosure| disclosure.jurisdictions.as_ref());
        let says_whether_required = match disclosure.and_then(|disclosure| disclosure.required) {
            Some(true) => places.is_some_and(|places| !places.is_empty()),
            // An explicit statement that nothing has to be disclosed is sufficient.
            Some(false) => true,
            None => false,
        };
        if demands.disclosure && !says_whether_required {
            let message = "the provenance does not say whether a disclosure is required, and where";
            missing(AdcpCode::ProvenanceDisclosureMissing, "disclosure", message);
        }
        let embedded = &declaration.embedded_provenance;
        if demands.embedded && embedded.as_ref().is_none_or(Vec::is_empty) {
            let message = "the provenance has to be embedded in the content as well";
            missing(AdcpCode::ProvenanceEmbeddedMissing, "embedded_provenance", message);
        }
        let Some(verifiers) = &demands.verifiers else {
            return;
        };
        let layers = [("embedded_provenance", embedded), ("watermarks", &declaration.watermarks)];
        for (name, list) in layers {
            for (index, layer) in list.iter().flatten().enumerate() {
                let agent = layer.as_ref().and_then(|layer| layer.verify_agent.as_ref());
                let url = agent.and_then(|agent| agent.agent_url.as_deref()).map(canonical);
                if url.is_some_and(|url| verifiers.iter().all(|known| canonical(known) != url)) {
                    let message = "the seller does not ask this verifier; name one of \
                                   creative_policy.accepted_verifiers, or none";
                    let member = format!("{name}[{index}].verify_agent.agent_url");
                    missing(AdcpCode::ProvenanceVerifierNotAccepted, &member, message);
                }
            }
        }
    }
}

fn unsupported_format(field: &str) -> AdcpError {
    let message =
        "this seller does not take that format; list_creative_formats shows those it takes";
    let suggestion = Some("choose a format that list_creative_formats shows".to_owned());
    AdcpError { suggestion, ..refusals::at(AdcpCode::FormatNotSupported, field, message) }
}

/// Returns the error of an asset that does not fit its format.
fn unfit(field: &str, message: &str) -> AdcpError {
    let suggestion = Some("correct the asset by what list_creative_formats shows".to_owned());
    AdcpError { suggestion, ..refusals::at(AdcpCode::ValidationError, field, message) }
}

/// Returns the slots of a format with their names.
fn slots(format: &CreativeFormat) -> impl Iterator<Item = (&str, &AssetPlace)> {
    format.assets.iter().filter_map(|slot| {
        let name = slot.asset_id.as_ref().or(slot.asset_group_id.as_ref());
        name.map(|name| (name.as_str(), slot))
    })
}

/// Returns the requirements of a format for one of its slots, by asset id or group id.
fn requirements_of<'a>(format: &'a CreativeFormat, name: &str) -> Option<&'a Requirements> {
    let is = |slot: &AssetPlace| slot.asset_group_id.as_deref() == Some(name);
    let (_, slot) = slots(format).find(|(known, slot)| *known == name || is(slot))?;
    slot.requirements.as_ref()
}

/// Checks that all assets that the format requires are present and of the right type.
fn required(
    format: &CreativeFormat,
    creative: &GivenCreative,
    at: &str,
    errors: &mut Vec<AdcpError>,
) {
    for (name, slot) in slots(format) {
        let alias = slot.asset_group_id.as_deref().unwrap_or(name);
        let field = format!("{at}.assets.{name}");
        let Some(asset) = creative.assets.get(name).or_else(|| creative.assets.get(alias)) else {
            if slot.required == Some(true) {
                errors.push(unfit(&field, "the format requires this asset"));
            }
            continue;
        };
        let first = asset.as_array().and_then(|list| list.first()).unwrap_or(asset);
        let found = Asset::read(first).and_then(|asset| asset.asset_type);
        let kind = &slot.asset_type;
        if kind.is_some() && found.is_some() && *kind != found {
            let error = unfit(&field, "the format takes another type of asset here");
            errors.push(error.with("accepted_values", json!([kind])));
        }
    }
}

/// Dimension of an asset: name, actual value, and required, minimum and maximum values.
type Measure = (&'static str, Option<MoneyAmount>, [Option<MoneyAmount>; 3]);

fn measures(asset: &Asset, demands: &Requirements) -> [Measure; 4] {
    let length =
        |text: &str| MoneyAmount::whole(u32::try_from(text.chars().count()).unwrap_or(u32::MAX));
    let letters = asset.text().map(length);
    [
        ("width", asset.width, [demands.width, demands.min_width, demands.max_width]),
        ("height", asset.height, [demands.height, demands.min_height, demands.max_height]),
        (
            "duration_ms",
            asset.duration_ms,
            [demands.duration_ms, demands.min_duration_ms, demands.max_duration_ms],
        ),
        ("content", letters, [None, demands.min_length, demands.max_length]),
    ]
}

/// Checks that assets have the dimensions and values that the format requires.
fn fitting(format: &CreativeFormat, assets: &[Placed<'_>], errors: &mut Vec<AdcpError>) {
    for Placed { slot, at, asset, .. } in assets {
        let Some(demands) = requirements_of(format, slot) else {
            continue;
        };
        for (measure, value, [exact, least, most]) in measures(asset, demands) {
            let Some(value) = value else { continue };
            if exact.is_some_and(|exact| value != exact)
                || least.is_some_and(|least| value < least)
                || most.is_some_and(|most| value > most)
            {
                let message = "the format takes no asset of this size";
                errors.push(unfit(&format!("{at}.{measure}"), message));
            }
        }
        if let Some(allowed) = &demands.allowed_values
            && let Some(content) = &asset.content
            && !allowed.contains(content)
        {
            let message = "the format lists the values that this asset can have; see details";
            let error =
                refusals::at(AdcpCode::CreativeValueNotAllowed, &format!("{at}.content"), message);
            errors.push(error.with("allowed_values", json!(allowed)));
        }
    }
}

/// Checks a creative for forbidden categories and landing domains.
fn contains(
    forbidden: &Forbidden,
    creative: &GivenCreative,
    assets: &[Placed<'_>],
    at: &str,
    errors: &mut Vec<AdcpError>,
) {
    let mut places = Vec::new();
    for (index, tag) in creative.tags.iter().flatten().enumerate() {
        let tag = tag.as_deref().unwrap_or_default();
        if forbidden.categories.iter().any(|category| category.eq_ignore_ascii_case(tag)) {
            places.push(format!("{at}.tags[{index}]"));
        }
    }
    let links = assets.iter().filter(|placed| placed.asset.asset_type.as_deref() == Some("url"));
    for (at, host) in links.filter_map(|link| Some((&link.at, host(link.asset.url.as_deref()?)))) {
        if forbidden.landing_domains.iter().any(|domain| below(&host, domain)) {
            places.push(format!("{at}.url"));
        }
    }
    let url = forbidden.policy_url.as_deref();
    let error = |place: &String| rejected(place, &forbidden.policy_id, url, &forbidden.reason);
    errors.extend(places.iter().map(error));
}

fn rejected(field: &str, policy_id: &str, policy_url: Option<&str>, reason: &str) -> AdcpError {
    let message = "the creative goes against an advertising policy of the seller; see details";
    let details = object([
        ("policy_id", Some(policy_id.into())),
        ("policy_url", policy_url.map(Into::into)),
        ("reasons", Some(json!([reason]))),
    ]);
    AdcpError { details, ..refusals::at(AdcpCode::CreativeRejected, field, message) }
}

/// Checks that the format can show every disclosure that the creative requires. A format without a
/// declaration is taken to support none.
fn disclosures(
    format: Option<&CreativeFormat>,
    creative: &GivenCreative,
    assets: &[Placed<'_>],
    at: &str,
    errors: &mut Vec<AdcpError>,
) {
    let mut unmet = |field: String| {
        let message = "a disclosure that this creative requires cannot be shown by its format";
        errors.push(refusals::at(AdcpCode::ComplianceUnsatisfied, &field, message));
    };
    let disclosure = creative.provenance.as_ref().and_then(|made| made.disclosure.as_ref());
    let due = disclosure.is_some_and(|disclosure| disclosure.required == Some(true));
    let places = disclosure.and_then(|disclosure| disclosure.jurisdictions.as_ref());
    for (index, place) in places.into_iter().flatten().enumerate() {
        let guidance = place.as_ref().and_then(|place| place.render_guidance.as_ref());
        let lasting = guidance.and_then(|guidance| guidance.persistence.as_ref());
        let positions = guidance.and_then(|guidance| guidance.positions.as_ref());
        let shows =
            |positions: &Vec<_>| positions.iter().any(|position| shows(format, position, lasting));
        if due && positions.is_some_and(|positions| !shows(positions)) {
            unmet(format!("{at}.provenance.disclosure.jurisdictions[{index}].render_guidance"));
        }
    }
    for Placed { at, asset, .. } in assets {
        let rules = asset.compliance.as_ref();
        let wanted = rules.and_then(|rules| rules.required_disclosures.as_ref());
        for (index, wanted) in wanted.into_iter().flatten().enumerate() {
            let position = wanted.as_ref().and_then(|wanted| wanted.position.as_ref());
            let lasting = wanted.as_ref().and_then(|wanted| wanted.persistence.as_ref());
            if position.is_some_and(|position| !shows(format, position, lasting)) {
                unmet(format!("{at}.compliance.required_disclosures[{index}]"));
            }
        }
    }
}

/// Returns true when a format can show a disclosure in a position for the required duration.
fn shows(format: Option<&CreativeFormat>, position: &String, lasting: Option<&String>) -> bool {
    format.is_some_and(|format| match format.abilities() {
        None => format.supported_disclosure_positions.contains(position),
        Some(mut able) => {
            let held = able.find(|ability| ability.position.as_ref() == Some(position));
            held.is_some_and(|able| lasting.is_none_or(|wanted| able.persistence.contains(wanted)))
        }
    })
}

/// Returns the host of an address, in lower case, without user and port.
pub(crate) fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    // Browsers treat a backslash as a slash.
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    // Only the text after the last `@` is the host; the text before it may look like one.
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = host.split(':').next().unwrap_or_default();
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// Returns true when a host is a domain or a subdomain of it.
pub(crate) fn below(host: &str, domain: &str) -> bool {
    let domain = domain.to_ascii_lowercase();
    let parent = host.strip_suffix(&domain);
    !domain.is_empty() && parent.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns an address in the form used for comparison: scheme and host in lower case, without the
/// default port and trailing slashes.
pub(super) fn canonical(url: &str) -> String {
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
