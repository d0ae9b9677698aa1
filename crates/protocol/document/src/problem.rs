//! Describes what is wrong with a document: one [`Problem`] for each violated constraint, as an
//! output unit of JSON Schema 2020-12. Problems never repeat a caller's value.
// Validation answers list all problems (AAP 1.1 errors, R-ER-02).

use std::error::Error;
use std::fmt::{self, Write as _};

use serde::ser::{Serialize, SerializeMap, Serializer};

/// The largest number of problems that an answer lists before it says `truncated`.
pub const MAX_LISTED: usize = 50;

/// The largest number of characters of a caller's key that are repeated.
pub const MAX_KEY: usize = 64;

crate::catalog::words! {
    /// The violated constraint, by its JSON Schema name.
    pub enum Keyword {
        /// The value has another JSON type.
        Type = "type",
        /// A required property is absent.
        Required = "required",
        /// The object does not know this property.
        AdditionalProperties = "additionalProperties",
        /// The value is not one of the listed ones.
        Enum = "enum",
        /// The value is not the only permitted one.
        Const = "const",
        /// The text does not match the pattern.
        Pattern = "pattern",
        /// The text is not in the named format.
        Format = "format",
        /// The number is too small.
        Minimum = "minimum",
        /// The number is too large.
        Maximum = "maximum",
        /// The text is too short, in code points.
        MinLength = "minLength",
        /// The text is too long, in code points.
        MaxLength = "maxLength",
        /// The array has too few items.
        MinItems = "minItems",
        /// The array has too many items.
        MaxItems = "maxItems",
        /// The array repeats an item.
        UniqueItems = "uniqueItems",
        /// None of several alternatives is present.
        AnyOf = "anyOf",
    }
}

/// An extra member of the output unit that helps to correct a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemDetail {
    /// No member.
    None,
    /// `property`: the absent name.
    Property(&'static str),
    /// `allowed`: the permitted values or names.
    Allowed(&'static [&'static str]),
    /// `allowed`: the only permitted value.
    Only(&'static str),
    /// `allowed`, for a value of the other condition vocabulary.
    // Such a value has an error code of its own (C-07).
    OtherVocabulary(&'static [&'static str]),
    /// `expected`: the JSON type.
    Expected(&'static str),
    /// `limit`: the bound.
    Limit(i64),
    /// `pattern`: the regular expression.
    Pattern(&'static str),
    /// `format`: the format's name.
    Format(&'static str),
    /// `anyOf`: the names of which one must be present.
    AnyOf(&'static [&'static str]),
}

/// A violated constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// JSON Pointer (RFC 6901) to the value; for `required` and `anyOf` to its parent.
    pub pointer: String,
    /// The constraint.
    pub keyword: Keyword,
    /// The correction, for people. Contains no value that the caller sent.
    pub message: String,
    /// The extra member.
    pub extra: ProblemDetail,
}

impl Problem {
    /// Returns true if something is absent and not wrong.
    // Absences alone have an error code of their own (C-06).
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self.keyword, Keyword::Required | Keyword::AnyOf)
    }

    /// Returns true if a condition came from the other vocabulary.
    // Such a value has an error code of its own (C-07).
    #[must_use]
    pub fn is_other_vocabulary(&self) -> bool {
        matches!(self.extra, ProblemDetail::OtherVocabulary(_))
    }
}

impl fmt::Display for Problem {
    /// Writes the place and the message. The place is escaped, because callers choose member names
    /// and could put terminal control characters into them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            write!(f, "the document: {}", self.message)
        } else {
            write!(f, "{}: {}", self.pointer.escape_debug(), self.message)
        }
    }
}

impl Error for Problem {}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut unit = serializer.serialize_map(None)?;
        unit.serialize_entry("instanceLocation", &self.pointer)?;
        unit.serialize_entry("keyword", &self.keyword)?;
        unit.serialize_entry("error", &self.message)?;
        match &self.extra {
            ProblemDetail::None => {}
            ProblemDetail::Property(name) => unit.serialize_entry("property", name)?,
            ProblemDetail::Allowed(names) | ProblemDetail::OtherVocabulary(names) => {
                unit.serialize_entry("allowed", names)?;
            }
            ProblemDetail::Only(name) => unit.serialize_entry("allowed", &[name])?,
            ProblemDetail::Expected(name) => unit.serialize_entry("expected", name)?,
            ProblemDetail::Limit(limit) => unit.serialize_entry("limit", limit)?,
            ProblemDetail::Pattern(pattern) => unit.serialize_entry("pattern", pattern)?,
            ProblemDetail::Format(name) => unit.serialize_entry("format", name)?,
            ProblemDetail::AnyOf(names) => unit.serialize_entry("anyOf", names)?,
        }
        unit.end()
    }
}

/// All problems, in document order. Memory is limited: beyond [`MAX_LISTED`], problems are counted
/// and not kept.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Problems {
    kept: Vec<Problem>,
    total: usize,
    absences: usize,
    other_vocabulary: usize,
}

impl Problems {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a problem, unless an equal one is listed: clipped keys can coincide.
    pub fn push(&mut self, problem: Problem) {
        if !self.is_full() && self.kept.contains(&problem) {
            return;
        }
        self.total += 1;
        self.absences += usize::from(problem.is_absence());
        self.other_vocabulary += usize::from(problem.is_other_vocabulary());
        if self.kept.len() < MAX_LISTED {
            self.kept.push(problem);
        }
    }

    /// Returns true if further problems are only counted.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.kept.len() >= MAX_LISTED
    }

    /// Replaces the message of a listed problem, where more is known than the schema says.
    pub fn reword(&mut self, pointer: &str, keyword: Keyword, message: &str) {
        for problem in &mut self.kept {
            if problem.pointer == pointer && problem.keyword == keyword {
                message.clone_into(&mut problem.message);
            }
        }
    }

    /// Appends all problems of `other`.
    pub fn append(&mut self, other: Self) {
        self.total += other.total;
        self.absences += other.absences;
        self.other_vocabulary += other.other_vocabulary;
        let room = MAX_LISTED - self.kept.len();
        self.kept.extend(other.kept.into_iter().take(room));
    }

    /// The listed problems, at most [`MAX_LISTED`].
    #[must_use]
    pub fn listed(&self) -> &[Problem] {
        &self.kept
    }

    /// The number of all problems.
    #[must_use]
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns true if there is no problem.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns true if every problem is an absence.
    // Absences alone have an error code of their own (C-06).
    #[must_use]
    pub fn all_absences(&self) -> bool {
        self.total > 0 && self.absences == self.total
    }

    /// Returns true if every problem is a condition from the other vocabulary.
    // Such values alone have an error code of their own (C-07).
    #[must_use]
    pub fn all_other_vocabulary(&self) -> bool {
        self.total > 0 && self.other_vocabulary == self.total
    }

    /// The problems as the cause of an error, if there are any.
    #[must_use]
    pub fn as_cause(&self) -> Option<&(dyn Error + 'static)> {
        (!self.is_empty()).then_some(self)
    }

    /// Returns `value` if there is no problem.
    ///
    /// # Errors
    ///
    /// The problems, if there are any or if there is no value.
    pub fn into_result<T>(self, value: Option<T>) -> Result<T, Self> {
        match value {
            Some(value) if self.is_empty() => Ok(value),
            Some(_) | None => Err(self),
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.kept.iter().enumerate() {
            let separator = if number == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        match self.total - self.kept.len() {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl Error for Problems {}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.into_iter()
    }
}

/// A place in a document: a linked list on the stack that is written out only when there is a
/// problem.
#[derive(Debug, Clone, Copy)]
pub enum DocumentPlace<'a> {
    /// The document itself.
    Root,
    /// A member of an object.
    Key(&'a Self, &'a str),
    /// An item of an array.
    Index(&'a Self, usize),
}

impl<'a> DocumentPlace<'a> {
    /// The member `key` of this object.
    #[must_use]
    pub fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// The item `index` of this array.
    #[must_use]
    pub fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }

    /// The JSON Pointer, with keys of at most [`MAX_KEY`] characters. The root is `""`.
    #[must_use]
    pub fn pointer(&self) -> String {
        // Longer than the pointers into AAP payloads, so that the text need not grow.
        const INITIAL_CAPACITY: usize = 64;
        if matches!(self, Self::Root) {
            return String::new();
        }
        let mut out = String::with_capacity(INITIAL_CAPACITY);
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Root => {}
            Self::Key(parent, key) => {
                parent.write(out);
                out.push('/');
                let key = clip(key);
                // Names in the schemas need no escape; a caller's own may.
                if key.contains(['~', '/']) {
                    out.push_str(&key.replace('~', "~0").replace('/', "~1"));
                } else {
                    out.push_str(key);
                }
            }
            Self::Index(parent, index) => {
                parent.write(out);
                let _ = write!(out, "/{index}");
            }
        }
    }
}

/// Returns the first [`MAX_KEY`] characters of a caller's key.
#[must_use]
pub fn clip(key: &str) -> &str {
    // The number of characters is never more than the number of bytes.
    if key.len() <= MAX_KEY {
        return key;
    }
    key.char_indices().nth(MAX_KEY).map_or(key, |(end, _)| key.get(..end).unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_escape_and_clip_keys() {
        let filters = DocumentPlace::Root.key("filters");
        assert_eq!(DocumentPlace::Root.pointer(), "");
        assert_eq!(filters.key("a/b~c").index(3).pointer(), "/filters/a~1b~0c/3");
        assert_eq!(filters.key(&"é".repeat(70)).pointer(), format!("/filters/{}", "é".repeat(64)));
    }

    #[test]
    fn problems_beyond_the_limit_are_counted_and_not_kept() {
        let mut problems = Problems::new();
        for index in 0..120 {
            problems.push(Problem {
                pointer: DocumentPlace::Root.index(index).pointer(),
                keyword: Keyword::Required,
                message: String::new(),
                extra: ProblemDetail::None,
            });
        }
        assert_eq!((problems.listed().len(), problems.total()), (MAX_LISTED, 120));
        assert!(problems.all_absences());
    }

    #[test]
    fn keys_clipped_to_the_same_text_are_one_problem() {
        let mut problems = Problems::new();
        for end in ["a", "b"] {
            let key = "k".repeat(MAX_KEY) + end;
            crate::parse::unknown(&DocumentPlace::Root, &mut problems, &key, &["make"]);
        }
        assert_eq!((problems.listed().len(), problems.total()), (1, 1));
    }
}
