//! How much is left for a line item that is not made yet. REST forecasts line items that exist (`existing_line_item` is
//! the only choice of `RunAvailabilityForecastRequest`), so that SOAP is asked.

use tradepost_publisher::ad_server::LineItemSpec;

use super::GoogleAdManager;
use super::soap::XmlElement;
use crate::client::{garbled, refused};
use crate::port::{AdServerError, Availability, RefusalReason};

/// Service of SOAP for forecasts.
const FORECASTS: &str = "ForecastService";

impl GoogleAdManager {
    /// Returns the availability for a line item, in the unit of its goal.
    pub(super) async fn forecast(
        &self,
        spec: &LineItemSpec,
    ) -> Result<Availability, AdServerError> {
        if spec.goal.is_none() {
            let detail = "what is sold without a number of units has no forecast";
            return Err(refused(RefusalReason::Unsupported, detail));
        }
        let line_item = self.plan(spec).await?.element()?;
        let advertiser = self.settings.advertiser.as_ref().map(|id| id.0.as_str());
        let prospective = XmlElement::new("lineItem")
            .with(line_item)
            .with_all(advertiser.map(|id| XmlElement::leaf("advertiserId", id)));
        let options = XmlElement::new("forecastOptions")
            .with(XmlElement::leaf("includeTargetingCriteriaBreakdown", false))
            .with(XmlElement::leaf("includeContendingLineItems", false));
        let call = XmlElement::new("getAvailabilityForecast").with(prospective).with(options);
        let answer = self.client.soap(FORECASTS, call).await?;
        let found = answer.child("rval").ok_or_else(|| garbled("it is no forecast"))?;
        let count = |name: &str| {
            let text = found.text_of(name).and_then(|text| text.parse().ok());
            text.ok_or_else(|| garbled("a forecast has no number of units"))
        };
        Ok(Availability { matched: count("matchedUnits")?, available: count("availableUnits")? })
    }
}
