//! Match between products and a text, by shared words: simple, deterministic, and explained in
//! `brief_relevance`.

use std::collections::BTreeMap;

use crate::catalogue::{Product, words};

/// Words without meaning for a search.
const EMPTY: &[&str] = &[
    "a",
    "about",
    "across",
    "adults",
    "advertising",
    "all",
    "an",
    "and",
    "any",
    "are",
    "at",
    "available",
    "be",
    "budget",
    "by",
    "campaign",
    "flight",
    "for",
    "from",
    "has",
    "in",
    "inventory",
    "is",
    "it",
    "looking",
    "more",
    "must",
    "no",
    "not",
    "of",
    "on",
    "one",
    "or",
    "people",
    "per",
    "product",
    "products",
    "q1",
    "q2",
    "q3",
    "q4",
    "show",
    "that",
    "the",
    "their",
    "to",
    "us",
    "we",
    "who",
    "with",
];

/// Words that people use for channels.
const CHANNEL_WORDS: [(&str, &[&str]); 8] = [
    ("display", &["display", "banner", "banners"]),
    ("olv", &["video", "olv", "preroll", "instream"]),
    ("ctv", &["ctv", "tv", "television", "video"]),
    ("linear_tv", &["tv", "television", "linear"]),
    ("podcast", &["podcast", "podcasts", "audio"]),
    ("streaming_audio", &["audio", "streaming"]),
    ("email", &["email", "newsletter", "newsletters"]),
    ("dooh", &["dooh", "outdoor", "billboard"]),
];

/// Match of a product with a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProductFit {
    /// Score; higher is better, 0 without shared words.
    pub score: u32,
    /// Shared words in the order of the text.
    pub shared: Vec<String>,
}

impl ProductFit {
    /// Returns the explanation for `brief_relevance`.
    pub(super) fn relevance(&self) -> String {
        let unrelated = "It shares no word with the brief; it is shown because it is on offer.";
        self.shared_or(unrelated)
    }

    /// Returns the rationale for a proposal.
    pub(super) fn rationale(&self) -> String {
        self.shared_or("It was asked for.")
    }

    fn shared_or(&self, otherwise: &str) -> String {
        match self.shared.as_slice() {
            [] => otherwise.to_owned(),
            shared => format!("It shares with the brief: {}.", shared.join(", ")),
        }
    }
}

/// Returns the meaningful words of a text, each once.
pub(in crate::tools) fn meaningful_words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words(text) {
        // Bare numbers are amounts or years and describe no product.
        let short = word.len() < 2 || word.chars().all(|letter| letter.is_ascii_digit());
        if !short && !EMPTY.contains(&word.as_str()) && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// Returns the match of a product with words.
pub(super) fn fit(product: &Product, wanted: &[String]) -> ProductFit {
    let weights = product.weights(weights);
    let mut fit = ProductFit::default();
    for word in wanted {
        if let Some(weight) = weights.get(word) {
            fit.score += weight;
            fit.shared.push(word.clone());
        }
    }
    fit
}

/// Returns the words of a product with their weights.
fn weights(product: &Product) -> BTreeMap<String, u32> {
    let mut weights = BTreeMap::new();
    let mut add = |word: String, weight: u32| {
        // A word has its highest weight only.
        let known = weights.entry(word).or_insert(0);
        *known = weight.max(*known);
    };
    words(product.published.name.as_deref().unwrap_or_default()).for_each(|word| add(word, 3));
    for channel in product.channels() {
        words(channel).for_each(|word| add(word, 3));
        channel_words(channel).iter().for_each(|word| add((*word).to_owned(), 3));
    }
    let properties = product.published.publisher_properties.iter();
    let tags = properties.flat_map(|properties| properties.property_tags.iter());
    tags.flat_map(|tag| words(tag)).for_each(|word| add(word, 2));
    product.terms.keywords.iter().flat_map(|word| words(word)).for_each(|word| add(word, 2));
    let delivery: &[&str] =
        if product.is_guaranteed() { &["guaranteed"] } else { &["auction", "auctions"] };
    delivery.iter().for_each(|word| add((*word).to_owned(), 2));
    let description = product.published.description.as_deref().unwrap_or_default();
    words(description).for_each(|word| add(word, 1));
    weights
}

/// Returns the words that people use for a channel.
fn channel_words(channel: &str) -> &'static [&'static str] {
    let row = CHANNEL_WORDS.iter().find(|(name, _)| *name == channel);
    row.map_or(&[], |(_, words)| words)
}

/// Returns true when a word names one of a product's channels.
pub(super) fn names_channel(word: &str, product: &Product) -> bool {
    let names = |channel: &String| channel == word || channel_words(channel).contains(&word);
    product.channels().iter().any(names)
}

/// Returns true when a word names any channel.
pub(super) fn is_channel(word: &str) -> bool {
    CHANNEL_WORDS.iter().any(|(channel, words)| *channel == word || words.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::meaningful_words;

    #[test]
    fn only_words_that_say_something_count() {
        assert_eq!(
            meaningful_words("Display and video inventory, adults 25-54, US. Display!"),
            ["display", "video"],
        );
    }
}
