//! Matches the `pattern` rules of texts. Every request has texts with a pattern, and the regular
//! expression engine is the slowest part of a check. Patterns that are a row of character classes
//! (nearly all) are therefore matched byte by byte, and the two most frequent others by a function
//! each.

use regex_lite::Regex;

/// A regular expression with the way to match it.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// The expression as published.
    pub(super) source: &'static str,
    how: PatternMatcher,
}

/// The way a text is matched.
#[derive(Debug, Clone)]
enum PatternMatcher {
    Domain,
    Release,
    /// Runs of characters in this order, with nothing after them if `ends`.
    Row {
        runs: Vec<CharRun>,
        ends: bool,
    },
    /// Regular expressions that must all match.
    Engine(Vec<Regex>),
}

/// A run of `least` to `most` characters out of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CharRun {
    /// The set: one bit for each ASCII character.
    letters: u128,
    least: usize,
    most: usize,
}

/// The published pattern of domains.
const DOMAIN: &str = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$";

/// The published pattern of AdCP releases.
const RELEASE: &str = r"^\d+\.\d+(-[a-zA-Z0-9.-]+)?$";

impl Pattern {
    /// Compiles a pattern as it is published.
    ///
    /// # Errors
    ///
    /// If it is not a regular expression.
    pub(super) fn read(source: &'static str) -> Result<Self, regex_lite::Error> {
        let how = match source {
            DOMAIN => PatternMatcher::Domain,
            RELEASE => PatternMatcher::Release,
            _ => match row(source) {
                Some((runs, ends)) => PatternMatcher::Row { runs, ends },
                None => PatternMatcher::Engine(engine(source)?),
            },
        };
        Ok(Self { source, how })
    }

    /// Returns true if `text` matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        match &self.how {
            PatternMatcher::Domain => is_domain(text),
            PatternMatcher::Release => is_release(text),
            PatternMatcher::Row { runs, ends } => is_row(runs, *ends, text.as_bytes()),
            PatternMatcher::Engine(parts) => parts.iter().all(|part| part.is_match(text)),
        }
    }
}

/// Compiles a pattern for the engine, which has no lookahead. The only lookahead in use, `(?!$)`,
/// demands that something follows, and becomes an expression of its own.
fn engine(source: &str) -> Result<Vec<Regex>, regex_lite::Error> {
    let sources = match source.split_once("(?!$)") {
        Some((before, after)) => vec![format!("{before}{after}"), format!("{before}(?s:.)")],
        None => vec![source.to_owned()],
    };
    sources.iter().map(|source| Regex::new(source)).collect()
}

/// Returns true if a text matches [`DOMAIN`].
fn is_domain(text: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    text.split('.').all(|label| {
        let ends = [label.bytes().next(), label.bytes().next_back()];
        ends.iter().all(|end| end.is_some_and(plain))
            && label.bytes().all(|letter| plain(letter) || letter == b'-')
    })
}

/// Returns true if a text matches [`RELEASE`].
fn is_release(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let (numbers, early) = text.split_once('-').map_or((text, None), |(one, two)| (one, Some(two)));
    let early_is_right = early.is_none_or(|tag| !tag.is_empty() && tag.bytes().all(is_part));
    let mut numbers = numbers.splitn(2, '.');
    early_is_right
        && [numbers.next(), numbers.next()].iter().all(|number| number.is_some_and(is_number))
}

fn is_row(runs: &[CharRun], ends: bool, mut text: &[u8]) -> bool {
    for CharRun { letters, least, most } in runs {
        let is_one = |byte: &&u8| byte.is_ascii() && letters >> **byte & 1 == 1;
        let found = text.iter().take(*most).take_while(is_one).count();
        if found < *least {
            return false;
        }
        text = text.get(found..).unwrap_or_default();
    }
    text.is_empty() || !ends
}

/// Reads a pattern as a row of runs, and whether the text ends with them. `None` if it is anything
/// else, or if a run could consume characters of the next one.
fn row(source: &str) -> Option<(Vec<CharRun>, bool)> {
    let source = source.strip_prefix('^')?;
    let (mut rest, ends) = match source.strip_suffix('$') {
        Some(inner) => (inner, true),
        None => (source, false),
    };
    let mut runs: Vec<CharRun> = Vec::new();
    while let Some(next) = rest.chars().next() {
        let letters;
        (letters, rest) = match next {
            '[' => {
                let (inside, after) = rest.get(1..)?.split_once(']')?;
                (class(inside)?, after)
            }
            _ => match rest.strip_prefix(r"\d") {
                Some(after) => (class("0-9")?, after),
                None => (class(rest.get(..1).filter(|letter| is_plain(letter))?)?, rest.get(1..)?),
            },
        };
        let (least, most);
        (least, most, rest) = count(rest)?;
        let before = runs.last();
        // With characters in common, the first run would consume those of the second.
        if before.is_some_and(|run| run.least != run.most && run.letters & letters != 0) {
            return None;
        }
        runs.push(CharRun { letters, least, most });
    }
    // After an open end, further characters could have belonged to the last run.
    (!runs.is_empty()).then_some((runs, ends))
}

/// Returns true if a character of a pattern stands for itself.
fn is_plain(letter: &str) -> bool {
    letter.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'/' | b'#' | b'_')
    })
}

/// Reads the content of a character class (between the brackets) as a set, or `None` if it uses
/// anything but ASCII characters and ranges.
fn class(inside: &str) -> Option<u128> {
    let mut letters = 0;
    let mut rest = inside.as_bytes();
    while let [first, after @ ..] = rest {
        let last = match after {
            [b'-', last, after @ ..] => {
                rest = after;
                last
            }
            _ => {
                rest = after;
                first
            }
        };
        // Reject negated classes, escapes and non-ASCII characters.
        if !first.is_ascii()
            || !last.is_ascii()
            || matches!(first, b'\\' | b'^' | b'[')
            || *last == b'\\'
        {
            return None;
        }
        for letter in *first..=*last {
            letters |= 1_u128 << letter;
        }
    }
    Some(letters)
}

/// Reads a quantifier: the least and the greatest count, and the rest of the pattern. `None` for a
/// quantifier or operator that is not supported.
fn count(rest: &str) -> Option<(usize, usize, &str)> {
    if let Some(after) = rest.strip_prefix('+') {
        return Some((1, usize::MAX, after));
    }
    let Some(inside) = rest.strip_prefix('{') else {
        let is_other = rest.starts_with(['*', '?', '|', '(', ')']);
        return (!is_other).then_some((1, 1, rest));
    };
    let (inside, after) = inside.split_once('}')?;
    let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
    Some((least.parse().ok()?, most.parse().ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every pattern of the rules.
    fn patterns() -> Vec<&'static str> {
        let files = super::super::FILES.iter();
        files.flat_map(|source| source.split('`').skip(1).step_by(2)).collect()
    }

    #[test]
    fn what_is_matched_without_the_engine_is_what_it_matches() {
        let letters = ['a', 'F', '7', '-', '.', ':', '/', '#', '_', 'é', '\n', ' '];
        let words =
            ["", "https://x", "http", "sha256:", "US", "USD", "2026-01-31", "3.1", "3.1-beta.1"];
        let mut found = 0;
        for source in patterns() {
            let pattern = Pattern::read(source).unwrap();
            if matches!(pattern.how, PatternMatcher::Engine(_)) {
                continue;
            }
            found += 1;
            let engine = engine(source).unwrap();
            let is_match = |text: &str| engine.iter().all(|part| part.is_match(text));
            let mut texts: Vec<String> = words.map(str::to_owned).to_vec();
            for round in 0..4 {
                for text in &texts {
                    assert_eq!(pattern.matches(text), is_match(text), "{source} {text:?}");
                }
                if round < 3 {
                    let longer = |text: &String| letters.map(|letter| format!("{text}{letter}"));
                    let short = texts.iter().filter(|text| round < 2 || text.len() < 3);
                    texts = short.flat_map(longer).collect();
                }
            }
            // Also try the lengths at which runs end.
            for letter in ['a', 'A', '7'] {
                for count in [1, 2, 3, 5, 6, 7, 8, 13, 14, 15, 16, 17, 63, 64, 65, 254, 255, 256] {
                    let run = letter.to_string().repeat(count);
                    for text in [run.clone(), format!("sha256:{run}"), format!("{run}\n")] {
                        assert_eq!(pattern.matches(&text), is_match(&text), "{source} {text:?}");
                    }
                }
            }
        }
        assert!(found > 80, "{found} of {} patterns", patterns().len());
    }

    #[test]
    fn what_is_no_row_is_left_to_the_engine() {
        for source in [
            "^[a-z]+[a-z0-9]$",
            r"^[\x20-\x7E]+$",
            "^[^a]{2}$",
            "^(a|b)$",
            "^a|b$",
            "a+",
            "^a?$",
            "^[a-z]*$",
            "^.+$",
            "^[a-f0-9]{2,}$",
        ] {
            assert_eq!(row(source), None, "{source}");
        }
    }
}
