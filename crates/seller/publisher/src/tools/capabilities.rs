//! `get_adcp_capabilities`: the capabilities of this seller. All claims are derived from the
//! profile, the catalog and the table of tools; unsupported features are omitted, because buyers
//! and test harnesses rely on every claim.

use std::collections::BTreeSet;

use tradepost_adcp::AdcpTool;
use tradepost_document::json::{JsonPieces, SharedJson, Value, json, object};

use crate::catalogue::{Catalogue, Product};
use crate::creative::policy::CreativeReview;
use crate::forms::products::GetCapabilities;
use crate::plan;
use crate::profile::PublisherProfile;
use crate::publisher::{Publisher, Sections};
use crate::refusals::ToolError;
use crate::reply::ToolReply;
use crate::test_controller;
use crate::tool_context::ToolContext;
use crate::version;

mod roles;
mod signing;

/// Features of `core/media-buy-features.json`, true when this seller supports them. Property lists
/// of other agents, inline creatives and catalogs are not supported.
const FEATURES: [(&str, bool); 4] = [
    ("inline_creative_management", false),
    ("property_list_filtering", false),
    ("catalog_management", false),
    ("committed_metrics_supported", false),
];

/// Handles `get_adcp_capabilities`.
pub(super) fn perform(
    work: &ToolContext<'_>,
    form: &GetCapabilities,
) -> Result<ToolReply, ToolError> {
    // Only sections of protocols can be left out by the request.
    let shown = |name: &str| {
        let asked = form.protocols.as_ref().is_none_or(|all| all.iter().any(|one| one == name));
        asked || !roles::SECTIONS.contains(&name)
    };
    let publisher = work.publisher;
    let capabilities = publisher.capabilities.get_or_init(|| whole(publisher));
    let mut reply = ToolReply::completed("what this seller can do", json!({}));
    for (name, section) in capabilities.iter().filter(|(name, _)| shown(name)) {
        let mut pieces = JsonPieces::new();
        pieces.keep(section);
        reply.written.push((name, pieces));
    }
    Ok(reply)
}

/// Returns all capabilities of a publisher.
fn whole(publisher: &Publisher) -> Sections {
    let profile = &publisher.profile;
    let spoken = roles::protocols(profile);
    let has = |protocol: &str| spoken.contains(&protocol);
    let creative = json!({
        "has_creative_library": true,
        "supports_generation": false,
        "supports_transformation": false,
        "supports_evaluator": false,
        "bills_through_adcp": false,
    });
    let scenarios = || json!({"scenarios": test_controller::scenarios()});
    let sections = [
        ("adcp", Some(adcp(profile))),
        ("supported_protocols", Some(json!(spoken))),
        ("account", Some(account(profile))),
        ("media_buy", Some(media_buy(profile))),
        ("signals", has("signals").then(|| json!({"discovery_modes": ["brief", "wholesale"]}))),
        ("creative", has("creative").then_some(creative)),
        ("governance", Some(json!({"aggregation_window_days": plan::WINDOW_DAYS}))),
        ("sponsored_intelligence", has(roles::SPONSORED).then(|| roles::conversations(profile))),
        ("specialisms", Some(json!(roles::specialisms(profile, &spoken)))),
        ("experimental_features", Some(json!(roles::experimental(&spoken)))),
        ("compliance_testing", publisher.has(AdcpTool::ComplyTestController).then(scenarios)),
        ("wholesale_feed_versioning", Some(versioning(profile))),
    ];
    let present = sections.into_iter().filter_map(|(name, section)| Some((name, section?)));
    let signing = signing::sections(&profile.signing, &publisher.tools());
    present.chain(signing).map(|(name, section)| (name, SharedJson::from_value(&section))).collect()
}

/// Returns true when this seller supports a feature of `core/media-buy-features.json`.
pub(super) fn has_feature(name: &str) -> bool {
    FEATURES.iter().any(|(known, has)| *known == name && *has)
}

fn adcp(profile: &PublisherProfile) -> Value {
    json!({
        "major_versions": [3],
        "supported_versions": version::names(&version::spoken(profile)),
        "idempotency": {"supported": true, "replay_ttl_seconds": profile.replay_ttl.as_secs()},
    })
}

fn versioning(profile: &PublisherProfile) -> Value {
    let Catalogue { products, signals, .. } = &profile.catalogue;
    let own_prices = products.iter().any(|product| !product.terms.rates.is_empty());
    json!({
        "supported": true,
        "pricing_version_separate": false,
        // Activations are visible only to their account.
        "cache_scope_account": own_prices || !signals.is_empty(),
    })
}

fn account(profile: &PublisherProfile) -> Value {
    json!({
        "supported_billing": profile.billing,
        "require_operator_auth": false,
        "required_for_products": false,
        "account_financials": false,
        "sandbox": profile.sandbox,
    })
}

/// Returns the `media_buy` section of the capabilities.
fn media_buy(profile: &PublisherProfile) -> Value {
    let catalogue = &profile.catalogue;
    let products = &catalogue.products;
    let applied = profile.targeting();
    let ad_server = profile.ad_server_capabilities();
    let models = rolled(products, |product| {
        let models = product.prices().iter().filter_map(|price| price.pricing_model.clone());
        // What the ad server is to deliver it also has to bill.
        let there = ad_server.zip(product.terms.ad_server.as_ref());
        let is_billed = |model: &String| {
            there.is_none_or(|(server, terms)| match terms.deal {
                Some(_) => server.deals_by(model),
                None => server.bills_by(model),
            })
        };
        models.filter(is_billed).collect()
    });
    let is_pushed = products.iter().any(|product| !product.webhook_cadences().is_empty());
    let approval = match catalogue.creatives.review {
        CreativeReview::None | CreativeReview::After(_) => "auto_approve",
        CreativeReview::Person => "require_human",
    };
    let metrics = rolled(products, |product| {
        let metrics = product.published.metric_optimization.iter();
        let metrics = metrics.flat_map(|metrics| metrics.supported_metrics.iter().flatten());
        metrics.filter_map(Value::as_str).map(ToOwned::to_owned).collect()
    });
    object!({
        "supported_pricing_models"?: (!models.is_empty()).then_some(models),
        "buying_modes": ["brief", "wholesale", "refine"],
        "reporting_delivery_methods"?: is_pushed.then_some(["webhook"]),
        "supports_proposals": catalogue.makes_proposals(),
        "governance_aware": true,
        "creative_approval_mode": approval,
        "features": FEATURES.into_iter().collect::<Value>(),
        "execution": {"targeting": applied.capabilities()},
        "frequency_capping"?: applied.has_frequency_cap().then(|| json!({})),
        "supported_optimization_metrics"?: (!metrics.is_empty()).then_some(metrics),
        "portfolio": portfolio(profile),
    })
}

/// Returns the `portfolio` member of the `media_buy` section.
fn portfolio(profile: &PublisherProfile) -> Value {
    let catalogue = &profile.catalogue;
    let declared = &catalogue.portfolio;
    let channels = rolled(&catalogue.products, |product| product.channels().to_vec());
    let countries = Some(&declared.primary_countries).filter(|countries| !countries.is_empty());
    let text = |text: &String| Some(json!(text)).filter(|_| !text.is_empty());
    // Empty members are omitted.
    object!({
        "publisher_domains": [profile.domain],
        "primary_channels"?: (!channels.is_empty()).then_some(channels),
        "primary_countries"?: countries,
        "description"?: text(&declared.description),
        "advertising_policies"?: text(&declared.advertising_policies),
    })
}

/// Collects values of all products, each once, in alphabetical order.
fn rolled(products: &[Product], of: impl Fn(&Product) -> Vec<String>) -> BTreeSet<String> {
    products.iter().flat_map(of).collect()
}
