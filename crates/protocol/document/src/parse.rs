//! Reads a JSON value into a typed one in a single walk that records every problem.
//!
//! A reader is a function `(&Value, &DocumentPlace, &mut Problems) -> Option<T>`: it returns the typed value,
//! or records at least one problem and returns `None`. [`read_object!`](crate::parse::read_object)
//! reads an object member by member in document order, so that a schema reads as a table:
//!
//! ```text
//! read_object!(value, at, problems, closed {
//!     required "field" => field: parse::word::<SortField>,
//!     optional "limit" => limit: |v, at, p| parse::integer(v, at, p, 1, Some(1000)),
//! });
//! ```

use jiff::Timestamp;

use crate::catalog::Vocabulary;
use crate::decimal::Decimal;
use crate::format;
use crate::json::{Number, Value};
use crate::problem::{DocumentPlace, Keyword, Problem, ProblemDetail, Problems, clip};

/// Records that the value has another JSON type.
pub fn wrong_type(at: &DocumentPlace<'_>, problems: &mut Problems, expected: &'static str) {
    push(
        at,
        problems,
        Keyword::Type,
        format!("must be {expected}"),
        ProblemDetail::Expected(expected),
    );
}

/// Records a problem of the value.
pub fn push(
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    keyword: Keyword,
    message: impl Into<String>,
    extra: ProblemDetail,
) {
    problems.push(Problem {
        // A problem that is only counted needs no address.
        pointer: if problems.is_full() { String::new() } else { at.pointer() },
        keyword,
        message: message.into(),
        extra,
    });
}

/// Records that the object lacks a required property.
pub fn missing(at: &DocumentPlace<'_>, problems: &mut Problems, name: &'static str) {
    let message = format!("missing required property \"{name}\"");
    push(at, problems, Keyword::Required, message, ProblemDetail::Property(name));
}

/// Records an unknown property of the object, and suggests the property that was probably meant.
pub fn unknown(
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    key: &str,
    known: &'static [&'static str],
) {
    // A suggestion compares the name with every known one, and a hostile body can have tens of
    // thousands of names, so only listed problems get one.
    let guess = if problems.is_full() { None } else { did_you_mean(clip(key), known) };
    let message = match guess {
        Some(name) => format!("unknown property \"{}\"; did you mean \"{name}\"?", clip(key)),
        None => format!("unknown property \"{}\"", clip(key)),
    };
    push(
        &at.key(key),
        problems,
        Keyword::AdditionalProperties,
        message,
        ProblemDetail::Allowed(known),
    );
}

/// Returns the known name that differs from `key` by at most two edits and by at most one edit in
/// three characters: `maek` is `make`, but `zip` is not `vin`.
#[must_use]
pub fn did_you_mean<'k>(key: &str, known: &[&'k str]) -> Option<&'k str> {
    let length = key.chars().count();
    known
        .iter()
        .filter(|name| name.len().abs_diff(length) <= 2)
        .map(|name| (strsim::damerau_levenshtein(name, key), *name))
        .min()
        .filter(|(slips, name)| *slips <= 2 && slips * 3 <= name.len().max(length))
        .map(|(_, name)| name)
}

/// Records that the object has none of `names`.
pub fn none_of(at: &DocumentPlace<'_>, problems: &mut Problems, names: &'static [&'static str]) {
    let message = format!("at least one of {} is required", names.join(", "));
    push(at, problems, Keyword::AnyOf, message, ProblemDetail::AnyOf(names));
}

/// Reads an object. The members are visited once, in document order; absent required members are
/// recorded and, for a `closed` object, unknown ones. Each name becomes a local `Option`.
///
/// Other members of an `open` object are ignored, or put into the map `others` with `open(others)`.
/// A field may have a second accepted spelling: `required "messageId" | "message_id" => id: …`.
/// Evaluates to whether the value is an object.
#[macro_export]
macro_rules! read_object {
    ($value:expr, $at:expr, $problems:expr, $openness:ident $(($others:ident))? {
        $( $need:ident $name:literal $(| $alias:literal)? => $slot:ident : $reader:expr ),* $(,)?
    }) => {
        $( let mut $slot = None; )*
        {
            let at: &$crate::problem::DocumentPlace<'_> = $at;
            let problems: &mut $crate::problem::Problems = $problems;
            match $value {
                $crate::json::Value::Object(members) => {
                    for (key, value) in members {
                        match key.as_str() {
                            $( $name $(| $alias)? => {
                                $slot = $crate::parse::apply($reader, value, &at.key(key), problems);
                            } )*
                            other => $crate::read_object!(
                                @unknown $openness $($others)? at problems other value [$($name),*]
                            ),
                        }
                    }
                    $( $crate::read_object!(
                        @absent $need $slot at problems members $name $($alias)?
                    ); )*
                }
                _ => $crate::parse::wrong_type(at, problems, "object"),
            }
        }
    };
    (@unknown closed $at:ident $problems:ident $key:ident $value:ident [$($name:literal),*]) => {
        $crate::parse::unknown($at, $problems, $key, &[$($name),*])
    };
    (@unknown open $at:ident $problems:ident $key:ident $value:ident [$($name:literal),*]) => {
        { let _ = $key; }
    };
    (@unknown open $others:ident $at:ident $problems:ident $key:ident $value:ident
        [$($name:literal),*]) => {
        { $others.insert($key.to_owned(), $value.clone()); }
    };
    (@absent optional $($rest:tt)*) => {};
    (@absent required $slot:ident $at:ident $problems:ident $members:ident $name:literal
        $($alias:literal)?) => {
        // A member that was read is present; only the others are looked up.
        if $slot.is_none() && !$members.contains_key($name) $(&& !$members.contains_key($alias))? {
            $crate::parse::missing($at, $problems, $name);
        }
    };
}
pub use read_object;

/// Calls a reader, so that the types of closures in [`read_object!`](crate::parse::read_object) are
/// inferred.
pub fn apply<'v, T>(
    reader: impl FnOnce(&'v Value, &DocumentPlace<'_>, &mut Problems) -> Option<T>,
    value: &'v Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<T> {
    reader(value, at, problems)
}

/// Reads a text.
pub fn text(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    let text = str(value, at, problems)?;
    Some(text.to_owned())
}

/// Reads a text, borrowed.
pub fn str<'v>(
    value: &'v Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<&'v str> {
    let text = value.as_str();
    if text.is_none() {
        wrong_type(at, problems, "string");
    }
    text
}

/// Reads a text of `min` to `max` code points.
pub fn text_of(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    min: usize,
    max: Option<usize>,
) -> Option<String> {
    let text = str(value, at, problems)?;
    // Stop counting once the answer is known.
    let length = text.chars().take(max.unwrap_or(min).saturating_add(1)).count();
    if length < min {
        let message = if min == 1 {
            "must not be empty".to_owned()
        } else {
            format!("must have at least {min} characters")
        };
        push(at, problems, Keyword::MinLength, message, limit(min));
        return None;
    }
    if let Some(max) = max.filter(|max| length > *max) {
        let message = format!("must have at most {max} characters");
        push(at, problems, Keyword::MaxLength, message, limit(max));
        return None;
    }
    Some(text.to_owned())
}

/// Returns the detail of a problem that names a limit.
#[must_use]
pub fn limit(bound: usize) -> ProblemDetail {
    ProblemDetail::Limit(i64::try_from(bound).unwrap_or(i64::MAX))
}

/// Reads a boolean.
pub fn boolean(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<bool> {
    let boolean = value.as_bool();
    if boolean.is_none() {
        wrong_type(at, problems, "boolean");
    }
    boolean
}

/// Reads a whole number from `min` to `max`, also as `2020.0` or `2e3`, because clients that pass
/// numbers through protobuf send floats. Beyond `i64` it saturates. The bounds also apply to
/// fractions: `0.5` is not an integer and, as a year, too small.
pub fn integer(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    min: i64,
    max: Option<i64>,
) -> Option<i64> {
    let Some(number) = value.as_number() else {
        wrong_type(at, problems, "integer");
        return None;
    };
    let (whole, neighbours) = match number.as_i64() {
        Some(whole) => (Some(whole), (whole, whole)),
        None => {
            let decimal = Decimal::from_text(&number.text());
            (decimal.to_i64(), decimal.neighbours())
        }
    };
    if whole.is_none() {
        wrong_type(at, problems, "integer");
    }
    let (below, above) = neighbours;
    let within = within(below, above, at, problems, min, max);
    whole.filter(|_| within)
}

/// Records a number that is not from `min` to `max`; of a fraction, the integers around it are
/// compared.
fn within(
    below: i64,
    above: i64,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    min: i64,
    max: Option<i64>,
) -> bool {
    if below < min {
        let message = format!("must be >= {min}");
        push(at, problems, Keyword::Minimum, message, ProblemDetail::Limit(min));
        return false;
    }
    if let Some(max) = max.filter(|max| above > *max) {
        let message = format!("must be <= {max}");
        push(at, problems, Keyword::Maximum, message, ProblemDetail::Limit(max));
        return false;
    }
    true
}

/// Reads a whole number >= 0, saturating at `u32::MAX`.
pub fn count(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<u32> {
    let number = integer(value, at, problems, 0, None)?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Reads a number from `min` to `max`. A number beyond `f64` becomes the largest one.
pub fn number(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    min: i64,
    max: Option<i64>,
) -> Option<f64> {
    let Some(number) = value.as_number().map(Number::text) else {
        wrong_type(at, problems, "number");
        return None;
    };
    let (below, above) = Decimal::from_text(&number).neighbours();
    if !within(below, above, at, problems, min, max) {
        return None;
    }
    let float = number.parse::<f64>().unwrap_or_default();
    Some(float.clamp(f64::MIN, f64::MAX))
}

/// Returns the whole number that a JSON number denotes, saturating at the bounds of `i64`; `None`
/// if it has a fraction. It works on the text, so that no digit is lost.
#[must_use]
pub fn whole_number(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| Decimal::from_text(&number.text()).to_i64())
}

/// Reads a text that `accept` converts to a value; otherwise records `hint`.
pub fn of_text<T>(
    (value, at, problems): (&Value, &DocumentPlace<'_>, &mut Problems),
    hint: &str,
    accept: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    let accepted = accept(str(value, at, problems)?);
    if accepted.is_none() {
        reject(at, problems, hint);
    }
    accepted
}

/// Reads a word of a closed vocabulary. A value that is not a text violates `type` and `enum`, as
/// in the schemas, so the buyer gets the permitted words in either case.
pub fn word<T: Vocabulary>(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<T> {
    let word = str(value, at, problems).and_then(T::from_name);
    if word.is_none() {
        not_one_of(at, problems, T::NAMES);
    }
    word
}

/// Records that the value is not as expected.
pub fn reject(at: &DocumentPlace<'_>, problems: &mut Problems, message: impl Into<String>) {
    push(at, problems, Keyword::Format, message, ProblemDetail::None);
}

/// Records that the value is not one of `names`.
pub fn not_one_of(at: &DocumentPlace<'_>, problems: &mut Problems, names: &'static [&'static str]) {
    let message = format!("must be one of {}", names.join(", "));
    push(at, problems, Keyword::Enum, message, ProblemDetail::Allowed(names));
}

/// Reads the only permitted text.
pub fn constant(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    expected: &'static str,
) -> Option<()> {
    if value.as_str() == Some(expected) {
        return Some(());
    }
    push(
        at,
        problems,
        Keyword::Const,
        format!("must be \"{expected}\""),
        ProblemDetail::Only(expected),
    );
    None
}

/// Reads an array of `min` to `max` items, each with `item`. All items are read, so that every
/// problem is reported.
pub fn list<'v, T>(
    value: &'v Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    (min, max): (usize, Option<usize>),
    mut item: impl FnMut(&'v Value, &DocumentPlace<'_>, &mut Problems) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(items) = value.as_array() else {
        wrong_type(at, problems, "array");
        return None;
    };
    // An item with unknown members is read and still has a problem.
    let before = problems.total();
    if items.len() < min {
        let noun = if min == 1 { "item" } else { "items" };
        let message = format!("must have at least {min} {noun}");
        push(at, problems, Keyword::MinItems, message, limit(min));
    }
    if let Some(max) = max.filter(|max| items.len() > *max) {
        let noun = if max == 1 { "item" } else { "items" };
        let message = format!("must have at most {max} {noun}");
        push(at, problems, Keyword::MaxItems, message, limit(max));
    }
    let read: Vec<T> = items
        .iter()
        .enumerate()
        .filter_map(|(index, value)| item(value, &at.index(index), problems))
        .collect();
    (problems.total() == before).then_some(read)
}

/// Records repeated items of the array.
pub fn unique(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    // A set of canonical texts takes linear time, also for a hostile array.
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    if !items.iter().all(|item| seen.insert(crate::canonical::to_string(item))) {
        push(at, problems, Keyword::UniqueItems, "must not repeat an item", ProblemDetail::None);
    }
}

/// Reads a list of texts.
pub fn texts(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<String>> {
    list(value, at, problems, (0, None), text)
}

/// Reads a 17-character VIN: upper case, without I, O and Q.
pub fn vin(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const PATTERN: &str = "^[A-HJ-NPR-Z0-9]{17}$";
    const HINT: &str = "must be 17 characters A-Z and 0-9 without I, O and Q; use upper case";
    matching(value, at, problems, format::is_vin, PATTERN, HINT)
}

/// Reads a telephone number in E.164.
pub fn phone(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be E.164, e.g. +14155550123";
    matching(value, at, problems, format::is_e164, r"^\+[1-9]\d{1,14}$", HINT)
}

/// Reads a text that matches a pattern.
pub fn matching(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    accepts: fn(&str) -> bool,
    pattern: &'static str,
    hint: &str,
) -> Option<String> {
    let text = str(value, at, problems)?;
    if accepts(text) {
        return Some(text.to_owned());
    }
    push(at, problems, Keyword::Pattern, hint, ProblemDetail::Pattern(pattern));
    None
}

/// Reads an e-mail address.
pub fn email(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be an e-mail address such as name@example.com";
    formatted(value, at, problems, |t| format::is_email(t).then(|| t.to_owned()), "email", HINT)
}

/// Reads an absolute URI (RFC 3986).
pub fn uri(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be an absolute URI such as https://example.com/page";
    formatted(value, at, problems, |t| format::is_uri(t).then(|| t.to_owned()), "uri", HINT)
}

/// Reads base64, and returns the text.
pub fn base64(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be base64 (RFC 4648)";
    formatted(value, at, problems, |t| format::base64(t).map(|_| t.to_owned()), "base64", HINT)
}

/// Reads a calendar date, `YYYY-MM-DD`.
pub fn date(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be a calendar date, YYYY-MM-DD";
    formatted(value, at, problems, |t| format::is_date(t).then(|| t.to_owned()), "date", HINT)
}

/// Reads a date and time with offset (RFC 3339).
pub fn timestamp(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Timestamp> {
    const HINT: &str =
        "must be an RFC 3339 date and time; it needs an offset, e.g. 2026-05-03T11:00:00-07:00";
    formatted(value, at, problems, format::timestamp, "date-time", HINT)
}

fn formatted<T>(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    read: impl FnOnce(&str) -> Option<T>,
    name: &'static str,
    hint: &str,
) -> Option<T> {
    let read = read(str(value, at, problems)?);
    if read.is_none() {
        push(at, problems, Keyword::Format, hint, ProblemDetail::Format(name));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_recognised_in_every_notation() {
        for (text, expected) in [
            ("2020", Some(2020)),
            ("2020.0", Some(2020)),
            ("2.02e3", Some(2020)),
            ("202000e-2", Some(2020)),
            ("-0.0", Some(0)),
            ("0e999999999999999999999", Some(0)),
            ("2020.5", None),
            ("1e-400", None),
            ("9223372036854775808", Some(i64::MAX)),
            ("-1e400", Some(i64::MIN)),
            ("1e99999999999999999999", Some(i64::MAX)),
        ] {
            let number: Number = crate::json::from_str(text).unwrap();
            assert_eq!(whole_number(&number), expected, "{text}");
        }
    }

    #[test]
    fn guesses_are_close_and_never_another_word() {
        let known: &'static [&'static str] = &["make", "model", "vin", "exterior_color", "zip"];
        for (key, expected) in [
            ("maek", Some("make")),
            ("Make", Some("make")),
            ("exteriorcolour", Some("exterior_color")),
            ("vim", Some("vin")),
            ("id", None),
            ("page", None),
            ("zap_it", None),
            ("", None),
        ] {
            assert_eq!(did_you_mean(key, known), expected, "{key}");
        }
    }

    #[test]
    fn numbers_beyond_a_float_keep_their_sign() {
        for (text, least) in [("-1e400", true), ("-1e-400", true), ("1e400", false), ("0", false)] {
            let value: Value = crate::json::from_str(text).unwrap();
            let mut problems = Problems::new();
            let read = number(&value, &DocumentPlace::Root, &mut problems, 0, None);
            assert_eq!(read.is_none(), least, "{text}");
        }
    }
}
