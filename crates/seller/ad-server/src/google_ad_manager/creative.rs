//! Creatives and their associations, which only SOAP makes: images by their address and markup. The click address is
//! `destinationUrl`, the image's is `imageUrl`.

use tradepost_publisher::ad_server::{CreativeContent, CreativeSize, CreativeSpec};

use super::line_item::size_element;
use super::soap::XmlElement;
use crate::client::refused;
use crate::naming::{self, MAX_NAME};
use crate::port::{AdServerError, RefusalReason};

/// Maximum number of characters of a click address (`HasDestinationUrlCreative`).
const MAX_CLICK_URL: usize = 1024;

/// Returns the size of a creative.
pub(super) fn size(creative: &CreativeSpec) -> Result<CreativeSize, AdServerError> {
    creative.size.ok_or_else(|| {
        refused(RefusalReason::Invalid, "Google needs the width and height of a creative")
    })
}

/// Returns the call that makes a creative of an advertiser, with its members in the order of the schema.
pub(super) fn create(
    creative: &CreativeSpec,
    advertiser: u64,
) -> Result<XmlElement, AdServerError> {
    let size = size(creative)?;
    let name = naming::with_id(&creative.name, &creative.external_id, MAX_NAME);
    let base = XmlElement::new("creatives")
        .with(XmlElement::leaf("advertiserId", advertiser))
        .with(XmlElement::leaf("name", name))
        .with(size_element(size));
    let body = match &creative.content {
        CreativeContent::Image { url } => {
            let click_url = creative.click_url.as_deref().ok_or_else(|| {
                refused(RefusalReason::Invalid, "Google needs the click address of an image")
            })?;
            if click_url.chars().count() > MAX_CLICK_URL {
                let detail =
                    "the click address is longer than the 1024 characters that Google takes";
                return Err(refused(RefusalReason::Invalid, detail));
            }
            base.of_kind("ImageRedirectCreative")
                .with(XmlElement::leaf("destinationUrl", click_url))
                .with(XmlElement::leaf("destinationUrlType", "CLICK_TO_WEB"))
                .with(XmlElement::leaf("imageUrl", url))
        }
        // Its links are its own; SafeFrames keep it away from the page.
        CreativeContent::Markup { markup } => base
            .of_kind("ThirdPartyCreative")
            .with(XmlElement::leaf("snippet", markup))
            .with(XmlElement::leaf("isSafeFrameCompatible", true)),
        CreativeContent::Video { .. } | CreativeContent::Vast { .. } => {
            let detail = "Google needs the duration of a video, which a sale does not say";
            return Err(refused(RefusalReason::Unsupported, detail));
        }
    };
    Ok(XmlElement::new("createCreatives").with(body))
}

/// Returns the call that associates a creative with a line item.
pub(super) fn associate(line_item: u64, creative: u64) -> XmlElement {
    let body = XmlElement::new("lineItemCreativeAssociations")
        .with(XmlElement::leaf("lineItemId", line_item))
        .with(XmlElement::leaf("creativeId", creative));
    XmlElement::new("createLineItemCreativeAssociations").with(body)
}

/// Change of an association that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AssociationAction {
    /// It is shown again.
    Activate,
    /// It is not shown any more. What was shown stays in reports, so that it is not deleted.
    Deactivate,
}

/// Returns the call that changes an association.
pub(super) fn change(action: AssociationAction, line_item: u64, creative: u64) -> XmlElement {
    let kind = match action {
        AssociationAction::Activate => "ActivateLineItemCreativeAssociations",
        AssociationAction::Deactivate => "DeactivateLineItemCreativeAssociations",
    };
    let query = format!("WHERE lineItemId = {line_item} AND creativeId = {creative}");
    let statement = XmlElement::new("filterStatement").with(XmlElement::leaf("query", query));
    XmlElement::new("performLineItemCreativeAssociationAction")
        .with(XmlElement::new("lineItemCreativeAssociationAction").of_kind(kind))
        .with(statement)
}
