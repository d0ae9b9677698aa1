//! Patterns of texts. Every request has texts that have to match one, and to ask the engine for regular
//! expressions is the dearest question of a check: what is a row of letters, as nearly all of them are,
//! is looked at letter by letter, and the two that most requests meet by a function each.

use regex_lite::Regex;

/// A regular expression.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// As published.
    pub(super) source: &'static str,
    how: How,
}

/// How a text is matched.
#[derive(Debug, Clone)]
enum How {
    Domain,
    Release,
    /// These one after the other, and nothing after them where it `ends`.
    Row {
        runs: Vec<Run>,
        ends: bool,
    },
    /// All of these have to match.
    Engine(Vec<Regex>),
}

/// So many letters out of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// A bit for each letter of ASCII.
    letters: u128,
    least: usize,
    most: usize,
}

/// The pattern of domains.
const DOMAIN: &str = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$";

/// That of a release of AdCP.
const RELEASE: &str = r"^\d+\.\d+(-[a-zA-Z0-9.-]+)?$";

impl Pattern {
    /// Reads a pattern as it is published.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn read(source: &'static str) -> Result<Self, regex_lite::Error> {
        let how = match source {
            DOMAIN => How::Domain,
            RELEASE => How::Release,
            _ => match row(source) {
                Some((runs, ends)) => How::Row { runs, ends },
                None => How::Engine(engine(source)?),
            },
        };
        Ok(Self { source, how })
    }

    /// Whether a text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        match &self.how {
            How::Domain => is_domain(text),
            How::Release => is_release(text),
            How::Row { runs, ends } => is_row(runs, *ends, text.as_bytes()),
            How::Engine(parts) => parts.iter().all(|part| part.is_match(text)),
        }
    }
}

/// The engine has no lookahead. The only one in use says that something has to follow.
fn engine(source: &str) -> Result<Vec<Regex>, regex_lite::Error> {
    let sources = match source.split_once("(?!$)") {
        Some((before, after)) => vec![format!("{before}{after}"), format!("{before}(?s:.)")],
        None => vec![source.to_owned()],
    };
    sources.iter().map(|source| Regex::new(source)).collect()
}

/// Whether a text matches [`DOMAIN`].
fn is_domain(text: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    text.split('.').all(|label| {
        let ends = [label.bytes().next(), label.bytes().next_back()];
        ends.iter().all(|end| end.is_some_and(plain))
            && label.bytes().all(|letter| plain(letter) || letter == b'-')
    })
}

/// Whether a text matches [`RELEASE`].
fn is_release(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let is_part = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'-');
    let (numbers, early) = text.split_once('-').map_or((text, None), |(one, two)| (one, Some(two)));
    let early_is_right = early.is_none_or(|it| !it.is_empty() && it.bytes().all(is_part));
    let mut numbers = numbers.splitn(2, '.');
    early_is_right && [numbers.next(), numbers.next()].iter().all(|it| it.is_some_and(is_number))
}

fn is_row(runs: &[Run], ends: bool, mut text: &[u8]) -> bool {
    for Run { letters, least, most } in runs {
        let is_one = |it: &&u8| it.is_ascii() && letters >> **it & 1 == 1;
        let found = text.iter().take(*most).take_while(is_one).count();
        if found < *least {
            return false;
        }
        text = text.get(found..).unwrap_or_default();
    }
    text.is_empty() || !ends
}

/// A pattern as a row of runs, with whether the text ends with them. `None` when it is something else, or
/// when a run could take what belongs to the next.
fn row(source: &str) -> Option<(Vec<Run>, bool)> {
    let source = source.strip_prefix('^')?;
    let (mut rest, ends) = match source.strip_suffix('$') {
        Some(inner) => (inner, true),
        None => (source, false),
    };
    let mut runs: Vec<Run> = Vec::new();
    while let Some(next) = rest.chars().next() {
        let letters;
        (letters, rest) = match next {
            '[' => {
                let (inside, after) = rest.get(1..)?.split_once(']')?;
                (class(inside)?, after)
            }
            _ => match rest.strip_prefix(r"\d") {
                Some(after) => (class("0-9")?, after),
                None => (class(rest.get(..1).filter(|it| is_plain(it))?)?, rest.get(1..)?),
            },
        };
        let (least, most);
        (least, most, rest) = count(rest)?;
        let before = runs.last();
        // Of letters that both may have the first would take too many.
        if before.is_some_and(|it| it.least != it.most && it.letters & letters != 0) {
            return None;
        }
        runs.push(Run { letters, least, most });
    }
    // What may go on behind an open end could have been the run's.
    (!runs.is_empty()).then_some((runs, ends))
}

/// Whether a letter stands for itself.
fn is_plain(letter: &str) -> bool {
    letter
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || matches!(it, b'-' | b':' | b'/' | b'#' | b'_'))
}

/// The letters of a class, as they stand between its brackets.
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
        // A class of its own kind, such as what it is not.
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

/// How often, and what comes after that.
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

    /// Every pattern of the rules.
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
            if matches!(pattern.how, How::Engine(_)) {
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
                    let longer = |text: &String| letters.map(|it| format!("{text}{it}"));
                    let short = texts.iter().filter(|text| round < 2 || text.len() < 3);
                    texts = short.flat_map(longer).collect();
                }
            }
            // And of the lengths at which runs end.
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
