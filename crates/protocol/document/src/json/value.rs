//! The JSON value.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops;
use std::str::FromStr;

use serde::de::Unexpected;
use serde::ser::{Serialize, Serializer};

use super::{Map, Number};

/// A JSON document or a part of one.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number with its digits.
    Number(Number),
    /// A text.
    String(String),
    /// Items in their order.
    Array(Vec<Self>),
    /// Members in their order, which does not affect equality.
    Object(Map),
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Null => {}
            Self::Bool(truth) => truth.hash(state),
            Self::Number(number) => number.hash(state),
            Self::String(text) => text.hash(state),
            Self::Array(items) => items.hash(state),
            // Equal objects may differ in order, so only the number of members is hashed.
            Self::Object(members) => members.len().hash(state),
        }
    }
}

impl Value {
    /// Returns true if it is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// Returns the value, if it is a number.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(inner) = self { Some(inner) } else { None }
    }

    /// Returns true if it is a text.
    #[must_use]
    pub fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// Returns the value, if it is a text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(inner) = self { Some(inner) } else { None }
    }

    /// Returns true if it is an array.
    #[must_use]
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Returns the value, if it is an array.
    #[must_use]
    pub fn as_array(&self) -> Option<&Vec<Self>> {
        if let Self::Array(inner) = self { Some(inner) } else { None }
    }

    /// Returns the value to change it, if it is an array.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        if let Self::Array(inner) = self { Some(inner) } else { None }
    }

    /// Returns true if it is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// Returns the value, if it is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&Map> {
        if let Self::Object(inner) = self { Some(inner) } else { None }
    }

    /// Returns the value to change it, if it is an object.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        if let Self::Object(inner) = self { Some(inner) } else { None }
    }

    /// Returns true if it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns true if it is `true` or `false`.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    /// Returns the value, if it is `true` or `false`.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(truth) = self { Some(*truth) } else { None }
    }

    /// The number as in [`Number::as_i64`].
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number as in [`Number::as_u64`].
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number as in [`Number::as_f64`].
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// Returns true if [`as_i64`](Self::as_i64) returns a number.
    #[must_use]
    pub fn is_i64(&self) -> bool {
        self.as_i64().is_some()
    }

    /// Returns true if [`as_u64`](Self::as_u64) returns a number.
    #[must_use]
    pub fn is_u64(&self) -> bool {
        self.as_u64().is_some()
    }

    /// Returns a member by name, or an item by index.
    #[must_use]
    pub fn get<I: ValueIndex>(&self, index: I) -> Option<&Self> {
        match index.step() {
            ValueStep::Member(name) => self.as_object()?.get(name),
            ValueStep::Item(place) => self.as_array()?.get(place),
        }
    }

    /// Returns a member by name, or an item by index.
    pub fn get_mut<I: ValueIndex>(&mut self, index: I) -> Option<&mut Self> {
        match index.step() {
            ValueStep::Member(name) => self.as_object_mut()?.get_mut(name),
            ValueStep::Item(place) => self.as_array_mut()?.get_mut(place),
        }
    }

    /// Returns the value at a JSON Pointer (RFC 6901).
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        steps(pointer)?.try_fold(self, |at, step| {
            if at.is_array() { at.get(place(&step)?) } else { at.get(step) }
        })
    }

    /// Returns the value at a JSON Pointer (RFC 6901).
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        steps(pointer)?.try_fold(self, |at, step| {
            if at.is_array() { at.get_mut(place(&step)?) } else { at.get_mut(step) }
        })
    }

    /// Takes the value and leaves `null`.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Describes the value for serde's errors.
    pub(super) fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(truth) => Unexpected::Bool(*truth),
            Self::Number(_) => Unexpected::Other("a number"),
            Self::String(text) => Unexpected::Str(text),
            Self::Array(_) => Unexpected::Seq,
            Self::Object(_) => Unexpected::Map,
        }
    }
}

/// Returns the steps of a JSON Pointer, or `None` if it is not one.
fn steps(pointer: &str) -> Option<impl Iterator<Item = String>> {
    let mut steps = pointer.split('/');
    // Decode in this order (RFC 6901 §4); the other order would turn `~01` into a slash.
    steps.next()?.is_empty().then(|| steps.map(|step| step.replace("~1", "/").replace("~0", "~")))
}

/// Reads an array index of a pointer: no sign and no leading zero.
fn place(step: &str) -> Option<usize> {
    let plain = !step.starts_with('+') && (step == "0" || !step.starts_with('0'));
    step.parse().ok().filter(|_| plain)
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if f.alternate() {
            serde_json::to_string_pretty(self)
        } else {
            serde_json::to_string(self)
        };
        f.write_str(&text.map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bool(truth) => write!(f, "Bool({truth})"),
            Self::Number(number) => fmt::Debug::fmt(number, f),
            Self::String(text) => write!(f, "String({text:?})"),
            Self::Array(items) => {
                f.write_str("Array ")?;
                items.fmt(f)
            }
            Self::Object(members) => {
                f.write_str("Object ")?;
                members.fmt(f)
            }
        }
    }
}

impl FromStr for Value {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

/// A member name or an item index.
pub trait ValueIndex {
    /// Returns the step that it stands for.
    fn step(&self) -> ValueStep<'_>;
}

/// A step into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueStep<'s> {
    /// To the member with this name.
    Member(&'s str),
    /// To the item at this index.
    Item(usize),
}

impl ValueIndex for usize {
    fn step(&self) -> ValueStep<'_> {
        ValueStep::Item(*self)
    }
}

impl ValueIndex for str {
    fn step(&self) -> ValueStep<'_> {
        ValueStep::Member(self)
    }
}

impl ValueIndex for String {
    fn step(&self) -> ValueStep<'_> {
        ValueStep::Member(self)
    }
}

impl<I: ValueIndex + ?Sized> ValueIndex for &I {
    fn step(&self) -> ValueStep<'_> {
        (**self).step()
    }
}

/// Returns `null` for an absent member or item.
impl<I: ValueIndex> ops::Index<I> for Value {
    type Output = Self;

    fn index(&self, index: I) -> &Self {
        static NULL: Value = Value::Null;
        self.get(index).unwrap_or(&NULL)
    }
}

/// Adds an absent member as `null`; `null` itself becomes an object.
///
/// # Panics
///
/// If there is no such item, or if the value cannot have members.
impl<I: ValueIndex> ops::IndexMut<I> for Value {
    fn index_mut(&mut self, index: I) -> &mut Self {
        if let ValueStep::Member(name) = index.step() {
            if self.is_null() {
                *self = Self::Object(Map::new());
            }
            if let Some(members) = self.as_object_mut() {
                members.entry(name).or_default();
            }
        }
        match self.get_mut(index) {
            Some(found) => found,
            None => unreachable!("the value has no such place"),
        }
    }
}
