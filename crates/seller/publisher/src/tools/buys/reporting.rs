//! Reports by webhook that a request asks for: whether every product of the media buy is reported like that.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::catalog::Vocabulary as _;

use super::BuyContext;
use crate::buy::MediaBuy;
use crate::catalogue::Product;
use crate::forms::buys::UpdateMediaBuy;
use crate::refusals::at;
use crate::reporting::send::ALWAYS;
use crate::reporting::{BuyReporting, ReportCadence, ReportingWebhook};

/// Member of a request with the webhook.
const WEBHOOK: &str = "reporting_webhook";

/// Returns the reports that a request asks for, and adds what its products cannot do of them.
pub(super) fn wanted(
    context: &BuyContext<'_>,
    webhook: &ReportingWebhook,
    products: &[&Product],
    problems: &mut Vec<AdcpError>,
) -> BuyReporting {
    let cadence = ReportCadence::from_name(&webhook.reporting_frequency);
    let lacks = |product: &&&Product| {
        cadence.is_none_or(|cadence| !product.webhook_cadences().contains(&cadence))
    };
    let mut without: Vec<&str> = products.iter().filter(lacks).map(|one| one.id()).collect();
    without.dedup();
    if cadence.is_none() || !without.is_empty() {
        let message = "not every product of the media buy is reported to webhooks at this frequency; \
                       details.product_ids names those that are not; choose another frequency, or \
                       leave reporting_webhook out and ask get_media_buy_delivery";
        let field = format!("{WEBHOOK}.reporting_frequency");
        let error = at(AdcpCode::UnsupportedFeature, &field, message);
        problems.push(error.with("product_ids", without));
    }
    for (index, metric) in webhook.requested_metrics.iter().flatten().enumerate() {
        let is_reported = |product: &&Product| {
            product.metrics().iter().any(|known| known.as_str() == Some(metric.as_str()))
        };
        if !ALWAYS.contains(&metric.as_str()) && !products.iter().all(is_reported) {
            let message = "not every product of the media buy reports this metric; leave it out";
            let field = format!("{WEBHOOK}.requested_metrics[{index}]");
            problems.push(at(AdcpCode::UnsupportedFeature, &field, message));
        }
    }
    BuyReporting {
        webhook: webhook.clone(),
        delay_minutes: products.iter().map(|one| one.report_delay_minutes()).max().unwrap_or(0),
        release: context.release,
        since: context.now,
    }
}

/// Changes the reports of a media buy: to those that the request asks for, or because of new packages, which have
/// to be reported like the others.
pub(super) fn change(
    context: &BuyContext<'_>,
    form: &UpdateMediaBuy,
    buy: &mut MediaBuy,
    problems: &mut Vec<AdcpError>,
) {
    let before = buy.reporting.clone();
    let asked = form.reporting_webhook.as_ref();
    let known = before.as_ref().filter(|_| form.new_packages.is_some());
    let Some(webhook) = asked.or(known.map(|known| &known.webhook)) else { return };
    let is_same = before.as_ref().is_some_and(|before| before.webhook == *webhook);
    let products = buy.products(context.offer);
    let products: Vec<&Product> = products.iter().collect();
    let mut found = Vec::new();
    let reporting = wanted(context, webhook, &products, &mut found);
    if asked.is_some() {
        problems.extend(found);
    } else {
        let at_packages = |error| AdcpError { field: Some("new_packages".to_owned()), ..error };
        problems.extend(found.into_iter().map(at_packages));
    }
    buy.reporting = Some(match before {
        // The same again goes on as it was.
        Some(before) if is_same => {
            BuyReporting { delay_minutes: reporting.delay_minutes, ..before }
        }
        Some(_) | None => reporting,
    });
}
