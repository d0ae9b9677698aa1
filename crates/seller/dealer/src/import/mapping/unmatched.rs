//! Detection of mapping lines that match no column of the feed, which are usually typing errors.

use super::{Mapping, MappingLine, general};
use crate::import::FeedError;
use crate::import::text::quote;
use crate::import::words::fold;

/// Maximum number of lines that are reported.
const MOST: usize = 20;

const HINT: &str = "write the column as the feed has it, take the line out, or add optional = true to a \
                    line whose column is not in every feed";

impl Mapping {
    /// Returns an error when lines of this mapping match none of the headings of a feed.
    pub(in crate::import) fn unmatched<'h>(
        &self,
        headings: impl Iterator<Item = &'h str> + Clone,
    ) -> Option<FeedError> {
        let folded: Vec<String> = headings.clone().map(fold).collect();
        let generals: Vec<String> = folded.iter().filter_map(|heading| general(heading)).collect();
        let is_there = |key: &String| folded.contains(key) || generals.contains(key);
        let unmatched = self
            .columns
            .iter()
            .filter(|(key, line)| line.is_own && !line.is_optional && !is_there(key));
        let unmatched: Vec<(&String, &MappingLine)> = unmatched.collect();
        if unmatched.is_empty() {
            return None;
        }
        let lines = unmatched.iter().take(MOST).map(|(key, line)| {
            let heading = quote(&line.heading);
            match nearest(key, headings.clone()) {
                Some(near) => {
                    format!("no column is called \"{heading}\"; the nearest is \"{}\"", quote(near))
                }
                None => format!("no column is called \"{heading}\""),
            }
        });
        let message = match unmatched.len() {
            1 => "a line of the mapping is about no column of the feed".to_owned(),
            count => format!("{count} lines of the mapping are about no column of the feed"),
        };
        Some(FeedError { lines: lines.collect(), ..FeedError::new(message, HINT) })
    }
}

/// Returns the heading most similar to a key, in which `#` stands for any number.
fn nearest<'h>(key: &str, headings: impl Iterator<Item = &'h str>) -> Option<&'h str> {
    let spelled = |heading: &str| {
        let folded = fold(heading);
        general(&folded).filter(|_| key.contains('#')).unwrap_or(folded)
    };
    // Compared by common pairs of letters first, so that `Colour` is near `Exterior Color`, then by
    // edit distance.
    let headings = headings.filter(|heading| !heading.trim().is_empty());
    let common_pairs = |heading: &str| strsim::sorensen_dice(&spelled(heading), key);
    let similarity = |heading: &str| strsim::normalized_damerau_levenshtein(&spelled(heading), key);
    // The minimum of the reversed order is the first of equally similar headings.
    headings.min_by(|one, other| {
        common_pairs(other)
            .total_cmp(&common_pairs(one))
            .then_with(|| similarity(other).total_cmp(&similarity(one)))
    })
}
