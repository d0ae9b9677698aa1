//! A TOML document as a JSON value that remembers the origin of each part: a line of the file or a
//! variable.

use std::collections::HashMap;

use ::toml::de::{DeTable, DeValue};

use super::{TomlMistake, Variables};
use crate::json::{Map, Number, Value};
use crate::problem::{DocumentPlace, Keyword, ProblemDetail, Problems, clip};

/// The origin of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// A line of the file, from 1.
    Line(usize),
    /// A variable, by its name.
    Variable(String),
}

/// A document.
#[derive(Debug)]
pub(super) struct Document {
    /// The value, with tables as objects and dates as texts.
    pub(super) value: Value,
    /// The origins by JSON Pointer.
    origins: HashMap<String, Origin>,
    /// The literal values of variables, by the JSON Pointer that they set.
    literals: HashMap<String, String>,
}

impl Document {
    /// Parses TOML.
    ///
    /// # Errors
    ///
    /// All syntax mistakes.
    pub(super) fn parse(text: &str) -> Result<Self, Vec<TomlMistake>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let mut mistakes: Vec<TomlMistake> = errors
            .iter()
            .map(|error| TomlMistake {
                line: error.span().map(|span| line(text, span.start)),
                key: String::new(),
                message: format!("not TOML: {}", error.message().replace('\n', "; ")),
            })
            .collect();
        let mut walk = TomlWalk { text, origins: HashMap::new(), mistakes: Vec::new() };
        let value = walk.table(table.get_ref(), &DocumentPlace::Root);
        mistakes.append(&mut walk.mistakes);
        if !mistakes.is_empty() {
            mistakes.sort_by_key(|mistake| mistake.line.unwrap_or(usize::MAX));
            mistakes.dedup();
            return Err(mistakes);
        }
        Ok(Self { value, origins: walk.origins, literals: HashMap::new() })
    }

    /// Returns the origin of the value at a pointer, or of the nearest table around it.
    pub(super) fn origin(&self, pointer: &str) -> Option<&Origin> {
        let mut pointer = pointer;
        loop {
            if let Some(origin) = self.origins.get(pointer) {
                return Some(origin);
            }
            (pointer, _) = pointer.rsplit_once('/')?;
        }
    }

    /// Applies variables, and returns the mistakes in their names.
    pub(super) fn apply(&mut self, variables: Variables<'_>) -> Vec<TomlMistake> {
        let mut settings: Vec<(Vec<Segment>, &str, &str)> = variables
            .all
            .iter()
            .filter_map(|(name, value)| {
                let path = name.strip_prefix(variables.prefix).filter(|p| p.contains("__"))?;
                let path = path.split("__").map(Segment::parse).collect();
                Some((path, name.as_str(), value.as_str()))
            })
            .collect();
        // Apply tables before their parts, and index 2 before 10, so that lists grow in order.
        settings.sort();
        let mut mistakes = Vec::new();
        for (path, name, text) in settings {
            if let Err(message) = self.set(&path, name, text) {
                let key = path.iter().fold(String::new(), |key, part| join(&key, &part.text()));
                let message = format!("{message} (set by {name})");
                mistakes.push(TomlMistake { line: None, key, message });
            }
        }
        mistakes
    }

    fn set(&mut self, path: &[Segment], name: &str, text: &str) -> Result<(), String> {
        // Work on a copy, so that an invalid name leaves no partial change.
        let mut changed = self.value.clone();
        let mut pointers = Vec::new();
        let mut slot = &mut changed;
        for segment in path {
            slot = segment.enter(slot)?;
            let parent = pointers.last().map_or("", String::as_str);
            let key = segment.text();
            pointers.push(format!("{parent}{}", DocumentPlace::Root.key(&key).pointer()));
        }
        // A value that is not TOML is a text, because values of environment variables are usually not quoted.
        *slot = DeValue::parse(text)
            .ok()
            .and_then(|value| {
                let mut walk = TomlWalk { text, origins: HashMap::new(), mistakes: Vec::new() };
                let value = walk.value(value.get_ref(), 0, &DocumentPlace::Root);
                walk.mistakes.is_empty().then_some(value)
            })
            .unwrap_or_else(|| text.into());
        self.value = changed;
        let origin = Origin::Variable(name.to_owned());
        if let Some(leaf) = pointers.pop() {
            let inside = format!("{leaf}/");
            // The old value's parts are gone.
            self.origins.retain(|key, _| !key.starts_with(&inside));
            self.literals.insert(leaf.clone(), text.to_owned());
            self.origins.insert(leaf, origin.clone());
        }
        for pointer in pointers {
            self.origins.entry(pointer).or_insert_with(|| origin.clone());
        }
        Ok(())
    }

    /// Uses the literal values of variables where readers expected a text. Returns whether there
    /// were any.
    pub(super) fn restore_texts(&mut self, problems: &Problems) -> bool {
        let mut restored = false;
        for problem in problems.listed() {
            let wanted = (problem.keyword, &problem.extra);
            if !matches!(wanted, (Keyword::Type, ProblemDetail::Expected("string"))) {
                continue;
            }
            if let Some(text) = self.literals.get(&problem.pointer)
                && let Some(slot) = self.value.pointer_mut(&problem.pointer)
            {
                *slot = text.as_str().into();
                restored = true;
            }
        }
        restored
    }
}

/// A step of a variable's path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Index(usize),
    Key(String),
}

impl Segment {
    fn parse(text: &str) -> Self {
        match text.parse() {
            Ok(index) => Self::Index(index),
            Err(_) => Self::Key(text.to_ascii_lowercase()),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Index(index) => index.to_string(),
            Self::Key(key) => key.clone(),
        }
    }

    /// Returns the value one level down; created if it is absent.
    fn enter<'v>(&self, value: &'v mut Value) -> Result<&'v mut Value, String> {
        if value.is_null() {
            *value = match self {
                Self::Index(_) => Value::Array(Vec::new()),
                Self::Key(_) => Value::Object(Map::new()),
            };
        }
        match (value, self) {
            (Value::Object(members), segment) => {
                Ok(members.entry(segment.text()).or_insert(Value::Null))
            }
            (Value::Array(items), Self::Index(index)) => {
                let count = items.len();
                if *index == count {
                    items.push(Value::Null);
                }
                items
                    .get_mut(*index)
                    .ok_or_else(|| format!("the next free place in this list is {count}"))
            }
            (Value::Array(_), Self::Key(_)) => {
                Err("this is a list; name a place in it, from 0".to_owned())
            }
            _ => Err("there is nothing below this setting, since it is no table".to_owned()),
        }
    }
}

struct TomlWalk<'t> {
    text: &'t str,
    origins: HashMap<String, Origin>,
    mistakes: Vec<TomlMistake>,
}

impl TomlWalk<'_> {
    fn table(&mut self, table: &DeTable<'_>, at: &DocumentPlace<'_>) -> Value {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let members = entries.into_iter().map(|(key, value)| {
            let start = key.span().start;
            let name = key.get_ref().as_ref();
            let value = self.value(value.get_ref(), start, &at.key(name));
            (name.to_owned(), value)
        });
        Value::Object(members.collect())
    }

    fn value(&mut self, value: &DeValue<'_>, start: usize, at: &DocumentPlace<'_>) -> Value {
        let line = line(self.text, start);
        self.origins.insert(at.pointer(), Origin::Line(line));
        let number = match value {
            DeValue::String(text) => return text.as_ref().into(),
            DeValue::Boolean(boolean) => return (*boolean).into(),
            DeValue::Datetime(datetime) => return datetime.to_string().into(),
            DeValue::Table(table) => return self.table(table, at),
            DeValue::Array(items) => {
                let items = items.iter().enumerate().map(|(index, item)| {
                    self.value(item.get_ref(), item.span().start, &at.index(index))
                });
                return Value::Array(items.collect());
            }
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(Number::from)
            }
            DeValue::Float(number) => number.as_str().parse().ok().and_then(Number::from_f64),
        };
        number.map_or_else(
            || {
                self.mistakes.push(TomlMistake {
                    line: Some(line),
                    key: dotted(&at.pointer()),
                    message: "must be a number of ordinary size".to_owned(),
                });
                Value::Null
            },
            Value::Number,
        )
    }
}

fn line(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Writes `/dealers/0/name` as `dealers[0].name`.
pub(super) fn dotted(pointer: &str) -> String {
    pointer
        .split('/')
        .skip(1)
        .fold(String::new(), |key, part| join(&key, &part.replace("~1", "/").replace("~0", "~")))
}

/// Appends a part to a dotted key.
pub(super) fn join(key: &str, part: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !key.is_empty() && !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
        return format!("{key}[{part}]");
    }
    let dot = if key.is_empty() { "" } else { "." };
    if !part.is_empty() && part.bytes().all(bare) {
        format!("{key}{dot}{part}")
    } else {
        format!("{key}{dot}{:?}", clip(part))
    }
}
