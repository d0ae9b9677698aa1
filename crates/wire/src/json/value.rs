//! What a JSON text says.

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
    /// A number, with its digits.
    Number(Number),
    /// A text.
    String(String),
    /// Items in their order.
    Array(Vec<Self>),
    /// Members in their order; two objects are equal whatever the order is.
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
            // Equal objects may have another order.
            Self::Object(members) => members.len().hash(state),
        }
    }
}

macro_rules! forms {
    ($($is:ident $as:ident $(, $as_mut:ident)?: $form:ident($type:ty), $what:literal;)*) => { $(
        #[doc = concat!("Whether it is ", $what, ".")]
        #[must_use]
        pub fn $is(&self) -> bool {
            matches!(self, Self::$form(_))
        }

        #[doc = concat!("It, when it is ", $what, ".")]
        #[must_use]
        pub fn $as(&self) -> Option<&$type> {
            match self {
                Self::$form(inner) => Some(inner),
                _ => None,
            }
        }

        $(
            #[doc = concat!("It, when it is ", $what, ".")]
            pub fn $as_mut(&mut self) -> Option<&mut $type> {
                match self {
                    Self::$form(inner) => Some(inner),
                    _ => None,
                }
            }
        )?
    )* };
}

impl Value {
    forms! {
        is_number as_number: Number(Number), "a number";
        is_string as_str: String(str), "a text";
        is_array as_array, as_array_mut: Array(Vec<Self>), "an array";
        is_object as_object, as_object_mut: Object(Map), "an object";
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is `true` or `false`.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    /// It, when it is `true` or `false`.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            Self::Null | Self::Number(_) | Self::String(_) | Self::Array(_) | Self::Object(_) => {
                None
            }
        }
    }

    /// See [`Number::as_i64`].
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// See [`Number::as_u64`].
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// See [`Number::as_f64`].
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// See [`Number::is_i64`].
    #[must_use]
    pub fn is_i64(&self) -> bool {
        self.as_number().is_some_and(Number::is_i64)
    }

    /// See [`Number::is_u64`].
    #[must_use]
    pub fn is_u64(&self) -> bool {
        self.as_number().is_some_and(Number::is_u64)
    }

    /// See [`Number::is_f64`].
    #[must_use]
    pub fn is_f64(&self) -> bool {
        self.as_number().is_some_and(Number::is_f64)
    }

    /// The member of this name, or the item at this place.
    #[must_use]
    pub fn get<I: Index>(&self, index: I) -> Option<&Self> {
        index.of(self)
    }

    /// The member of this name, or the item at this place.
    pub fn get_mut<I: Index>(&mut self, index: I) -> Option<&mut Self> {
        index.of_mut(self)
    }

    /// What a JSON Pointer (RFC 6901) leads to.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        steps(pointer)?.try_fold(self, |at, step| match at {
            Self::Object(members) => members.get(&step),
            Self::Array(items) => items.get(place(&step)?),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => None,
        })
    }

    /// What a JSON Pointer (RFC 6901) leads to.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        steps(pointer)?.try_fold(self, |at, step| match at {
            Self::Object(members) => members.get_mut(&step),
            Self::Array(items) => items.get_mut(place(&step)?),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => None,
        })
    }

    /// It, and `null` in its place.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// What it is, for an error of serde.
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

/// The steps of a JSON Pointer; `None` when it is none.
fn steps(pointer: &str) -> Option<impl Iterator<Item = String>> {
    let mut steps = pointer.split('/');
    // In this order (RFC 6901 §4): the other way round `~01` would become a slash.
    steps.next()?.is_empty().then(|| steps.map(|step| step.replace("~1", "/").replace("~0", "~")))
}

/// The place that a step of a pointer names: no sign and no leading zero.
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
                fmt::Debug::fmt(items, f)
            }
            Self::Object(members) => {
                f.write_str("Object ")?;
                fmt::Debug::fmt(members, f)
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

/// What finds a member or an item: a name or a place.
pub trait Index {
    /// It, when it is there.
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value>;

    /// It, when it is there.
    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value>;

    /// It; a member that is not there becomes `null`, and `null` an object.
    fn of_new<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.of_mut(value)
    }
}

impl Index for usize {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_array()?.get(*self)
    }

    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_array_mut()?.get_mut(*self)
    }
}

impl Index for str {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.as_object()?.get(self)
    }

    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        value.as_object_mut()?.get_mut(self)
    }

    fn of_new<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        Some(value.as_object_mut()?.entry(self.to_owned()).or_default())
    }
}

impl Index for String {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.as_str().of(value)
    }

    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.as_str().of_mut(value)
    }

    fn of_new<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.as_str().of_new(value)
    }
}

impl<I: Index + ?Sized> Index for &I {
    fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        (**self).of(value)
    }

    fn of_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).of_mut(value)
    }

    fn of_new<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        (**self).of_new(value)
    }
}

/// `null` where there is nothing.
impl<I: Index> ops::Index<I> for Value {
    type Output = Self;

    fn index(&self, index: I) -> &Self {
        static NULL: Value = Value::Null;
        index.of(self).unwrap_or(&NULL)
    }
}

/// # Panics
/// There is no such item, or the value can have no such member.
impl<I: Index> ops::IndexMut<I> for Value {
    fn index_mut(&mut self, index: I) -> &mut Self {
        match index.of_new(self) {
            Some(found) => found,
            None => unreachable!("the value has no such place"),
        }
    }
}
