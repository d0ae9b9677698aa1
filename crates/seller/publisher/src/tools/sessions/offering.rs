//! Presentation of offerings: their own texts, selected by the words of the person who asks.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_document::json::{Value, json, object};

use crate::catalogue::{OfferedProduct, Offering};
use crate::tool_context::ToolContext;

impl Offering {
    /// Returns all offerings in the catalog's order.
    pub(super) fn all<'a>(work: &'a ToolContext<'_>) -> impl Iterator<Item = &'a Self> {
        work.publisher.profile.catalogue.offerings.iter()
    }

    /// Returns the available offering with the most words in common with an intent; the first among
    /// equals.
    pub(super) fn best<'a>(work: &'a ToolContext<'_>, intent: &str) -> Option<&'a Self> {
        let wanted = words(intent);
        let open = Self::all(work).filter(|offering| offering.unavailable(work.call.now).is_none());
        let found = open.enumerate().max_by_key(|(index, offering)| {
            // `max_by_key` returns the last among equals, so that the index counts backwards.
            (words(&offering.text()).intersection(&wanted).count(), std::cmp::Reverse(*index))
        });
        found.map(|(_, offering)| offering)
    }

    pub(super) fn id(&self) -> &str {
        self.offering_id.as_deref().unwrap_or_default()
    }

    /// Returns all texts of the offering.
    fn text(&self) -> String {
        let texts = [&self.name, &self.tagline, &self.description].into_iter().flatten();
        texts.chain(self.keywords.iter()).cloned().collect::<Vec<_>>().join(" ")
    }

    /// Returns the published reason for being unavailable.
    pub(super) fn unavailable(&self, now: Timestamp) -> Option<&'static str> {
        let moment = |text: &Option<String>| text.as_ref()?.parse::<Timestamp>().ok();
        if moment(&self.valid_to).is_some_and(|end| end <= now) {
            Some("expired")
        } else if moment(&self.valid_from).is_some_and(|start| now < start) {
            Some("inactive")
        } else {
            None
        }
    }

    /// Returns the offering as `si_get_offering` shows it.
    pub(super) fn published(&self, now: Timestamp) -> Value {
        object!({
            "offering_id": self.id(),
            "availability_status": self.unavailable(now).unwrap_or("available"),
            "summary"?: self.description.as_ref().or(self.name.as_ref()),
            "tagline"?: self.tagline,
            "expires_at"?: self.valid_to,
            "price_hint"?: self.price_hint,
            "image_url"?: self.image_url,
            "landing_url"?: self.landing_url,
        })
    }

    /// Returns the products with a word of the intent, or all when none has one.
    pub(super) fn products(&self, intent: &str) -> Vec<&OfferedProduct> {
        let wanted = words(intent);
        let all: Vec<_> = self.products.iter().collect();
        let named = |product: &&OfferedProduct| {
            let texts = [&product.name, &product.availability_summary].into_iter().flatten();
            let text = texts.cloned().collect::<Vec<_>>().join(" ");
            words(&text).intersection(&wanted).next().is_some()
        };
        let fit: Vec<_> = all.iter().copied().filter(named).collect();
        if fit.is_empty() { all } else { fit }
    }

    /// Returns the paying brand and the disclosure duties of the host. The answering party always
    /// acts as the brand's agent.
    pub(super) fn sponsored(&self, work: &ToolContext<'_>) -> Value {
        let profile = &work.publisher.profile;
        let brand = self.brand.clone().unwrap_or_else(|| json!({"domain": profile.domain}));
        json!({
            "paying_principal": {"brand": brand},
            "context_use": "presentation_only",
            "disclosure_obligation": {
                "required": true,
                "label_text": "Sponsored",
                "timing": "at_first_influenced_output",
                "proximity": "near_rendered_unit",
            },
            "declared_at": work.call.now,
            "declared_by": {"role": "brand_agent"},
        })
    }
}

/// Returns the answer to an intent or a message.
pub(super) fn answer(offering: Option<&Offering>, message: &str, now: Timestamp) -> Value {
    let Some(offering) = offering else {
        return json!({"message": "There is no offering at the moment."});
    };
    let name = offering.name.as_deref().unwrap_or("this offering");
    let tagline = offering.tagline.as_ref();
    let first = tagline.map_or(name.to_owned(), |tagline| format!("{name}: {tagline}"));
    let mut sentences = vec![first];
    sentences.extend(offering.description.clone());
    if offering.unavailable(now).is_some() {
        sentences.push("It is not available at the moment".to_owned());
    }
    let product = |product: &&OfferedProduct| {
        let name = product.name.clone()?;
        Some(product.price.as_ref().map_or(name.clone(), |price| format!("{name} ({price})")))
    };
    let products: Vec<String> =
        offering.products(message).iter().take(5).filter_map(product).collect();
    if !products.is_empty() {
        sentences.push(products.join(", "));
    }
    let ended =
        |text: String| if text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") };
    let text = sentences.into_iter().map(ended).collect::<Vec<_>>().join(" ");
    let link = |url| json!([{"type": "link", "data": {"url": url, "label": name}}]);
    object!({"message": text, "ui_elements"?: offering.landing_url.as_ref().map(link)})
}

/// Returns the words of a text in lower case, without short ones.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
}
