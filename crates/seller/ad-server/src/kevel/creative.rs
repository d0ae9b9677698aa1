//! Creatives of Kevel: images by address and markup. The click address is `Url`, the image's is `ImageLink`.

use tradepost_document::json::{Map, object};
use tradepost_publisher::ad_server::{CreativeContent, CreativeSize, CreativeSpec};

use crate::client::{object_members, refused};
use crate::naming::{self, MAX_NAME};
use crate::port::{AdServerError, RefusalReason};

/// Maximum number of characters of a click address.
const MAX_CLICK_URL: usize = 2000;

/// Returns the size of a creative, by which Kevel names its type.
pub(super) fn size(creative: &CreativeSpec) -> Result<CreativeSize, AdServerError> {
    creative.size.ok_or_else(|| {
        refused(RefusalReason::Invalid, "Kevel needs the width and height of a creative")
    })
}

/// Returns the members of a creative, but for advertiser and type.
pub(super) fn members(creative: &CreativeSpec) -> Result<Map, AdServerError> {
    let click_url = creative.click_url.as_deref();
    if click_url.is_some_and(|url| url.chars().count() > MAX_CLICK_URL) {
        let detail = "the click address is longer than the 2000 characters that Kevel takes";
        return Err(refused(RefusalReason::Invalid, detail));
    }
    let title = naming::with_id(&creative.name, &creative.external_id, MAX_NAME);
    let document = match &creative.content {
        CreativeContent::Image { url } => {
            let click_url = click_url.ok_or_else(|| {
                refused(RefusalReason::Invalid, "Kevel needs the click address of an image")
            })?;
            object!({"Title": title, "IsActive": true, "ImageLink": url, "Url": click_url})
        }
        CreativeContent::Markup { markup } => object!({
            "Title": title,
            "IsActive": true,
            "IsHTMLJS": true,
            "ScriptBody": markup,
            "Url"?: click_url,
        }),
        CreativeContent::Video { .. } | CreativeContent::Vast { .. } => {
            let detail = "videos need a template of Kevel's, which this adapter does not fill in";
            return Err(refused(RefusalReason::Unsupported, detail));
        }
    };
    Ok(object_members(document))
}
