//! Writes the messages of problems: they say what to do and never repeat a value that was sent.
//! Member names are repeated, clipped; everything else comes from the rules.

use tradepost_document::json::Value;

use super::shape::{Format, Node, ObjectRules, RuleBook, Type, Union};
use tradepost_document::format;
use tradepost_document::parse::did_you_mean;
use tradepost_document::problem::clip;

/// The largest number of accepted values that a message lists.
const MAX_WORDS: usize = 12;

/// The largest number of alternatives that a message describes.
const MAX_ALTERNATIVES: usize = 6;

/// Returns true if a text has a format.
pub(super) fn has_format(format: Format, text: &str) -> bool {
    match format {
        Format::DateTime => format::timestamp(text).is_some(),
        Format::Date => format::is_date(text),
        Format::Uri => format::is_uri(text),
        Format::UriTemplate => is_uri_template(text),
        Format::Email => format::is_email(text),
    }
}

/// Returns true if a text is a URI template (RFC 6570 §2): literals, and expressions in braces. The
/// apostrophe is permitted as a literal (erratum 6937).
fn is_uri_template(text: &str) -> bool {
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else { return false };
        if !is_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = after;
    }
    is_literal(rest)
}

fn is_literal(text: &str) -> bool {
    let excluded = |c: char| c <= ' ' || c == '\u{7f}' || "\"<>\\^`{|}".contains(c);
    !text.chars().any(excluded) && escapes_are_whole(text)
}

fn escapes_are_whole(text: &str) -> bool {
    let is_hex = |part: &str| {
        part.get(..2).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    text.split('%').skip(1).all(is_hex)
}

fn is_expression(text: &str) -> bool {
    let text = text.strip_prefix(|c| "+#./;?&=,!@|".contains(c)).unwrap_or(text);
    text.split(',').all(|variable| {
        let name = variable.strip_suffix('*').unwrap_or(variable);
        let (name, length) = name.split_once(':').map_or((name, "1"), |(name, n)| (name, n));
        let is_length = (1..=4).contains(&length.len())
            && length.bytes().all(|b| b.is_ascii_digit())
            && !length.starts_with('0');
        let in_name = |c: char| c.is_ascii_alphanumeric() || "_%".contains(c);
        is_length
            && name.split('.').all(|part| !part.is_empty() && part.chars().all(in_name))
            && escapes_are_whole(name)
    })
}

/// Writes the message for a value of another type.
pub(super) fn types(types: &[Type]) -> String {
    let words = types.iter().map(|kind| match kind {
        Type::Null => "null",
        Type::Boolean => "true or false",
        Type::Integer => "a whole number",
        Type::Number => "a number",
        Type::String => "a string",
        Type::Array => "an array",
        Type::Object => "an object",
    });
    format!("must be {}", words.collect::<Vec<_>>().join(" or "))
}

/// Writes the message for a value that differs from the only one accepted.
pub(super) fn constant(expected: &Value) -> String {
    format!("must be {expected}")
}

/// Writes the message for a value that is not one of the accepted ones. The nearest accepted word
/// is suggested; like all words, it comes from the rules.
pub(super) fn words(words: &[Value], sent: &Value) -> String {
    if let [only] = words {
        return constant(only);
    }
    let texts: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let guess = sent.as_str().and_then(|sent| did_you_mean(clip(sent), &texts));
    let guess = guess.map(|word| format!("; did you mean \"{word}\"?")).unwrap_or_default();
    let listed = words.iter().take(MAX_WORDS);
    let listed = listed.map(|word| word.as_str().map_or_else(|| word.to_string(), Into::into));
    let listed = listed.collect::<Vec<String>>().join(", ");
    match words.len().checked_sub(MAX_WORDS).filter(|more| *more > 0) {
        Some(more) => format!("must be one of {listed} or {more} others{guess}"),
        None => format!("must be one of {listed}{guess}"),
    }
}

/// Writes the message for too few or too many characters, items or members.
pub(super) fn count(side: &str, bound: usize, noun: &str) -> String {
    let plural = if bound == 1 { "" } else { "s" };
    format!("must have {side} {bound} {noun}{plural}")
}

/// Writes the message for a member that the object does not accept.
pub(super) fn surplus(name: &str, rules: &ObjectRules) -> String {
    let known: Vec<&str> = rules.members.iter().map(|member| member.name).collect();
    let name = clip(name);
    match did_you_mean(name, &known) {
        Some(guess) => format!("\"{name}\" is not accepted here; did you mean \"{guess}\"?"),
        None => format!("\"{name}\" is not accepted here; leave it out"),
    }
}

/// Writes the message for a member name that is not accepted.
pub(super) fn name(book: &RuleBook, rules: &Node) -> String {
    let rules = book.resolved(rules);
    let pattern = rules.text.as_ref().and_then(|text| text.pattern.as_ref());
    match pattern {
        _ if !rules.words.is_empty() => format!("its name {}", words(&rules.words, &Value::Null)),
        Some(pattern) => format!("its name must match the pattern {}", pattern.source),
        None => "has a name that is not accepted here".to_owned(),
    }
}

/// Writes the message for a value of an excluded form (`not`).
pub(super) fn not(book: &RuleBook, inner: &Node) -> String {
    let inner = book.resolved(inner);
    let branches = inner.any.as_ref().map(|union| &union.branches);
    if let Some(names) = branches.and_then(|branches| single_needs(branches)) {
        return format!("must not have {}", quoted(&names, "or"));
    }
    match book.required(inner).as_slice() {
        [] => "has a form that is excluded".to_owned(),
        [name] => format!("must not have \"{name}\""),
        names => format!("must not have {} together", quoted(names, "and")),
    }
}

/// Writes the condition under which a conditional rule applies, to be appended to its message.
pub(super) fn when(condition: &Node) -> String {
    let branches = condition.any.as_ref().map(|union| &union.branches);
    if let Some(names) = branches.and_then(|branches| single_needs(branches)) {
        return format!(" when {} is sent", quoted(&names, "or"));
    }
    let Some(object) = &condition.object else {
        return String::new();
    };
    for member in &object.members {
        if let Some(constant) = &member.node.constant {
            return format!(" when \"{}\" is {constant}", member.name);
        }
    }
    match object.needs.as_slice() {
        [] => String::new(),
        names => format!(" when {} is sent", quoted(names, "and")),
    }
}

/// Returns the member names, if each branch only requires one member.
fn single_needs(branches: &[Node]) -> Option<Vec<&'static str>> {
    let single = |node: &Node| match node.object.as_ref()?.needs.as_slice() {
        [name] => Some(*name),
        _ => None,
    };
    branches.iter().map(single).collect()
}

/// Writes the message for a value that satisfies several branches of a `oneOf`.
pub(super) fn several(book: &RuleBook, union: &Union) -> String {
    match alternatives(book, union.branches.iter()) {
        Some(text) => format!("fits several alternatives; send the members of one only: {text}"),
        None => format!("must fit exactly one of {} alternatives", union.branches.len()),
    }
}

/// Writes the message for a value that lacks the members of every branch.
pub(super) fn choose<'b>(
    book: &'b RuleBook,
    branches: impl Iterator<Item = &'b Node>,
) -> Option<String> {
    alternatives(book, branches).map(|text| format!("must have {text}"))
}

fn alternatives<'b>(
    book: &'b RuleBook,
    branches: impl Iterator<Item = &'b Node>,
) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    for branch in branches {
        let names = book.required(branch);
        let text = quoted(&names, "and");
        if !names.is_empty() && !texts.contains(&text) {
            texts.push(text);
        } else if names.is_empty() {
            return None;
        }
    }
    (2..=MAX_ALTERNATIVES).contains(&texts.len()).then(|| texts.join("; or "))
}

/// Writes the message for a value whose type or constant is accepted by none of the branches.
pub(super) fn kinds(book: &RuleBook, union: &Union) -> Option<String> {
    let branches = || union.branches.iter().map(|branch| book.resolved(branch));
    if branches().all(|node| node.constant.is_some() || !node.words.is_empty()) {
        let all = branches().flat_map(|node| node.constant.iter().chain(&node.words));
        return Some(words(&all.cloned().collect::<Vec<_>>(), &Value::Null));
    }
    let mut found: Vec<Type> = Vec::new();
    for node in branches() {
        if node.types.0.is_empty() || node.constant.is_some() || !node.words.is_empty() {
            return None;
        }
        found.extend(node.types.0.iter().filter(|kind| !found.contains(kind)).collect::<Vec<_>>());
    }
    Some(types(&found))
}

/// Writes what is accepted, if every branch is about texts.
pub(super) fn texts(book: &RuleBook, union: &Union) -> Option<String> {
    let accepted = |branch: &Node| {
        let node = book.resolved(branch);
        if let Some(constant) = &node.constant {
            return constant.is_string().then(|| constant.to_string());
        }
        let text = node.text.as_ref().filter(|_| node.types.0 == [Type::String])?;
        match (text.format, &text.pattern) {
            (Some(format), None) => Some(format.words().to_owned()),
            (None, Some(pattern)) => Some(format!("a text of the pattern {}", pattern.source)),
            (Some(_), Some(_)) | (None, None) => None,
        }
    };
    let all: Option<Vec<_>> = union.branches.iter().map(accepted).collect();
    Some(format!("must be {}", all?.join(", or ")))
}

/// Joins quoted names: `"a"`, `"a" and "b"`, `"a", "b" and "c"`.
fn quoted(names: &[&str], word: &str) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {word} {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}
