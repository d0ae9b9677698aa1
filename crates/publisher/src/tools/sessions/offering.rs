//! What a publisher says of an offering: the words of the offering itself, picked by the words of
//! whoever asks.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_wire::json::{Map, Value, json};

use crate::work::Work;

/// An offering of the catalogue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offering<'a>(&'a Map);

impl<'a> Offering<'a> {
    /// Every offering, in the catalogue's order.
    pub(super) fn all(work: &'a Work<'_>) -> impl Iterator<Item = Self> {
        work.publisher.profile.catalogue.offerings.iter().map(Self)
    }

    /// The one that is available and has the most words in common with an intent; the first of
    /// them.
    pub(super) fn best(work: &'a Work<'_>, intent: &str) -> Option<Self> {
        let wanted = words(intent);
        let open = Self::all(work).filter(|offering| offering.unavailable(work.ask.now).is_none());
        let found = open.enumerate().max_by_key(|(index, offering)| {
            (words(&offering.said()).intersection(&wanted).count(), std::cmp::Reverse(*index))
        });
        found.map(|(_, offering)| offering)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub(super) fn id(&self) -> &'a str {
        self.text("offering_id").unwrap_or_default()
    }

    fn name(&self) -> &'a str {
        self.text("name").unwrap_or("this offering")
    }

    /// All that is said of it.
    fn said(&self) -> String {
        let texts = ["name", "tagline", "description"].into_iter().filter_map(|it| self.text(it));
        let keywords = self.0.get("keywords").and_then(Value::as_array).into_iter().flatten();
        texts.chain(keywords.filter_map(Value::as_str)).collect::<Vec<_>>().join(" ")
    }

    /// Why it is not available, in the published word.
    pub(super) fn unavailable(&self, now: Timestamp) -> Option<&'static str> {
        let moment = |name: &str| self.text(name).and_then(|it| it.parse::<Timestamp>().ok());
        if moment("valid_to").is_some_and(|end| end <= now) {
            Some("expired")
        } else if moment("valid_from").is_some_and(|start| now < start) {
            Some("inactive")
        } else {
            None
        }
    }

    /// As `si_get_offering` shows it.
    pub(super) fn published(&self, now: Timestamp) -> Value {
        let mut shown = json!({
            "offering_id": self.id(),
            "availability_status": self.unavailable(now).unwrap_or("available"),
        });
        if let Some(members) = shown.as_object_mut() {
            let summary = self.text("description").or_else(|| self.text("name"));
            let more = [
                ("summary", summary),
                ("tagline", self.text("tagline")),
                ("expires_at", self.text("valid_to")),
                ("price_hint", self.text("price_hint")),
                ("image_url", self.text("image_url")),
                ("landing_url", self.text("landing_url")),
            ];
            for (name, value) in more {
                members.extend(value.map(|value| (name.to_owned(), json!(value))));
            }
        }
        shown
    }

    /// Its products that have a word of the intent, or all when none has.
    pub(super) fn products(&self, intent: &str) -> Vec<&'a Value> {
        let wanted = words(intent);
        let all = self.0.get("products").and_then(Value::as_array);
        let all: Vec<&Value> = all.into_iter().flatten().collect();
        let named = |product: &&Value| {
            let text = |name: &str| product.get(name).and_then(Value::as_str).unwrap_or_default();
            let said = format!("{} {}", text("name"), text("availability_summary"));
            words(&said).intersection(&wanted).next().is_some()
        };
        let fit: Vec<&Value> = all.iter().copied().filter(named).collect();
        if fit.is_empty() { all } else { fit }
    }

    /// Who pays for it, and what the host has to disclose.
    pub(super) fn sponsored(&self, work: &Work<'_>) -> Value {
        let profile = &work.publisher.profile;
        let brand =
            self.0.get("brand").cloned().unwrap_or_else(|| json!({"domain": profile.domain}));
        json!({
            "paying_principal": {"brand": brand},
            "context_use": "presentation_only",
            "disclosure_obligation": {
                "required": true,
                "label_text": "Sponsored",
                "timing": "at_first_influenced_output",
                "proximity": "near_rendered_unit",
            },
            "declared_at": work.ask.now,
            "declared_by": {"role": "seller"},
        })
    }
}

/// What is said first.
pub(super) fn greeting(offering: Option<&Offering<'_>>, intent: &str, now: Timestamp) -> Value {
    answer(offering, intent, now)
}

/// What is said to a message.
pub(super) fn answer(offering: Option<&Offering<'_>>, message: &str, now: Timestamp) -> Value {
    let Some(offering) = offering else {
        return json!({"message": "There is no offering at the moment."});
    };
    let mut said = offering.name().to_owned();
    if let Some(tagline) = offering.text("tagline") {
        said = format!("{said}: {tagline}");
    }
    let mut sentences = vec![said];
    sentences.extend(offering.text("description").map(ToOwned::to_owned));
    if offering.unavailable(now).is_some() {
        sentences.push("It is not available at the moment".to_owned());
    }
    let product = |product: &&Value| {
        let name = product.get("name").and_then(Value::as_str)?;
        let price = product.get("price").and_then(Value::as_str);
        Some(price.map_or(name.to_owned(), |price| format!("{name} ({price})")))
    };
    let products: Vec<String> =
        offering.products(message).iter().take(5).filter_map(product).collect();
    if !products.is_empty() {
        sentences.push(products.join(", "));
    }
    let ended =
        |text: String| if text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") };
    let text = sentences.into_iter().map(ended).collect::<Vec<_>>().join(" ");
    match offering.text("landing_url") {
        None => json!({"message": text}),
        Some(url) => json!({
            "message": text,
            "ui_elements": [{"type": "link", "data": {"url": url, "label": offering.name()}}],
        }),
    }
}

/// The words of a text, in small letters; short ones say nothing.
fn words(text: &str) -> BTreeSet<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric());
    parts.filter(|word| word.chars().count() > 2).map(str::to_lowercase).collect()
}
