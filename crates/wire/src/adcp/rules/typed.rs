//! From a value that the rules accepted to a type, without a second check.
//!
//! A [`form!`](crate::form) is a struct whose members are named once: their names, their types and
//! so what a value has to be. That the rules see to this is proven by a test for each form
//! ([`misfits`]), so that reading only takes what is there. What is to be kept or repeated as it was
//! sent is read as it is.

use jiff::Timestamp;

use super::shape::{Book, Bound, Limit, Node, Type};
use crate::catalog::Vocabulary;
use crate::format;
use crate::json::{Map, Value};

/// A type of values that the rules accepted.
pub trait Typed: Sized {
    /// What a value has to be.
    fn kind() -> Kind;

    /// Reads a value; `None` when it is nothing of this kind.
    fn read(value: &Value) -> Option<Self>;

    /// What it is where there is no such member; `None` when there has to be one.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

/// What a value has to be, so that a type can be read from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Whatever it is.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A whole number, not below zero.
    Count,
    /// A text.
    Text,
    /// A text that is a moment of RFC 3339.
    Moment,
    /// One of these words.
    Words(&'static [&'static str]),
    /// An object with whatever is in it.
    Object,
    /// An array of such.
    List(Box<Self>),
    /// One of these.
    Either(Vec<Self>),
    /// An object with these members, and others.
    Form(Vec<Slot>),
}

/// A member of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    name: &'static str,
    kind: Kind,
    required: bool,
}

impl Slot {
    /// A member that is read as a type.
    #[must_use]
    pub fn of<T: Typed>(name: &'static str) -> Self {
        Self { name, kind: T::kind(), required: T::absent().is_none() }
    }

    /// A member that is kept as it was sent.
    #[must_use]
    pub fn kept(name: &'static str) -> Self {
        Self { name, kind: Kind::Any, required: false }
    }
}

/// Declares a form: a struct that is read from an object that the rules accepted.
///
/// A member is named like its field, or after `=`. After `; keep` stand lists of members that are
/// kept as they were sent, in the order of the list; after `; whole`, a field for the whole object.
#[macro_export]
macro_rules! form {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $form:ident {
            $( $(#[doc = $doc:literal])* $field:ident : $ty:ty $(= $name:literal)? ),* $(,)?
            $(; keep $( $(#[doc = $kept_doc:literal])* $kept:ident : [$($member:literal),* $(,)?] ),+ $(,)? )?
            $(; $(#[doc = $whole_doc:literal])* whole $whole:ident )?
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $form {
            $( $(#[doc = $doc])* $vis $field: $ty, )*
            $($( $(#[doc = $kept_doc])* $vis $kept: $crate::json::Map, )+)?
            $( $(#[doc = $whole_doc])* $vis $whole: $crate::json::Map, )?
        }

        impl $crate::adcp::rules::typed::Typed for $form {
            fn kind() -> $crate::adcp::rules::typed::Kind {
                use $crate::adcp::rules::typed::{Kind, Slot};
                Kind::Form(vec![
                    $( Slot::of::<$ty>($crate::form!(@name $field $($name)?)), )*
                    $($($( Slot::kept($member), )*)+)?
                ])
            }

            fn read(value: &$crate::json::Value) -> Option<Self> {
                use $crate::adcp::rules::typed;
                let members = value.as_object()?;
                Some(Self {
                    $( $field: typed::member(members, $crate::form!(@name $field $($name)?))?, )*
                    $($( $kept: typed::kept(members, &[$($member),*]), )+)?
                    $( $whole: members.clone(), )?
                })
            }
        }
    )+};
}

/// Lets forms be kept: each is written as the whole object that it was read from, so that members
/// which it does not know stay.
#[macro_export]
macro_rules! kept_whole {
    ($($form:ident . $whole:ident),+ $(,)?) => {$(
        impl ::serde::Serialize for $form {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.$whole.serialize(serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $form {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let members = <$crate::json::Map as ::serde::Deserialize>::deserialize(deserializer)?;
                $crate::adcp::rules::typed::read(members)
                    .ok_or_else(|| ::serde::de::Error::custom("it lacks a member, or has another in its place"))
            }
        }
    )+};
}

/// Reads an object; `None` when it is nothing of this kind.
#[must_use]
pub fn read<T: Typed>(members: Map) -> Option<T> {
    T::read(&Value::Object(members))
}

/// A member of an object as a type; `None` when it is none of it.
#[must_use]
pub fn member<T: Typed>(members: &Map, name: &str) -> Option<T> {
    members.get(name).map_or_else(T::absent, T::read)
}

/// Members of an object as they were sent, in the order of the names.
#[must_use]
pub fn kept(members: &Map, names: &[&str]) -> Map {
    let member = |name: &&str| Some(((*name).to_owned(), members.get(*name)?.clone()));
    names.iter().filter_map(member).collect()
}

/// What may be left out. What cannot be read is as if it were: the rules of some tools leave open
/// what other members are.
impl<T: Typed> Typed for Option<T> {
    fn kind() -> Kind {
        T::kind()
    }

    fn read(value: &Value) -> Option<Self> {
        Some(T::read(value))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// A list that is not there is empty.
impl<T: Typed> Typed for Vec<T> {
    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }

    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

macro_rules! typed {
    ($(
        $(#[$about:meta])*
        $type:ty: $kind:expr, |$value:ident| $read:expr $(, or $absent:expr)?;
    )*) => { $(
        $(#[$about])*
        impl Typed for $type {
            fn kind() -> Kind {
                $kind
            }

            fn read($value: &Value) -> Option<Self> {
                $read
            }

            $( fn absent() -> Option<Self> {
                Some($absent)
            } )?
        }
    )* };
}

typed! {
    Value: Kind::Any, |value| Some(value.clone());

    /// An object that is not there has no members.
    Map: Kind::Object, |value| value.as_object().cloned(), or Self::new();

    String: Kind::Text, |value| value.as_str().map(ToOwned::to_owned);

    /// What is not there is not so.
    bool: Kind::Boolean, |value| value.as_bool(), or false;

    /// A number beyond what a double holds counts as nothing, so that it buys nothing.
    f64: Kind::Number, |value| value.is_number().then(|| value.as_f64().unwrap_or_default());

    /// A whole number in whatever notation (`2`, `2.0`, `2e0`); the largest stands for all beyond.
    u64: Kind::Count, |value| {
        // What is below zero becomes zero here, and what is too large the largest.
        let near = || value.as_f64().map_or(Self::MAX, |number| number as Self);
        value.is_number().then(|| value.as_u64().unwrap_or_else(near))
    };

    /// A moment; the last that can be told stands for those after it.
    Timestamp: Kind::Moment, |value| format::timestamp(value.as_str()?);
}

impl<T: Vocabulary> Typed for T {
    fn kind() -> Kind {
        Kind::Words(T::NAMES)
    }

    fn read(value: &Value) -> Option<Self> {
        Self::from_name(value.as_str()?)
    }
}

/// Several, or one that stands without a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMore<T>(pub Vec<T>);

impl<T: Typed> Typed for OneOrMore<T> {
    fn kind() -> Kind {
        Kind::Either(vec![T::kind(), Vec::<T>::kind()])
    }

    fn read(value: &Value) -> Option<Self> {
        let one = || T::read(value).map(|one| vec![one]);
        let read = if value.is_array() { Vec::read(value) } else { one() };
        read.map(Self)
    }
}

/// What of a list can be read, in documents that nobody has checked: what cannot is as if it were not
/// there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Each<T>(pub Vec<T>);

impl<T> Default for Each<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> std::ops::Deref for Each<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Typed> Typed for Each<T> {
    fn kind() -> Kind {
        Kind::Any
    }

    fn read(value: &Value) -> Option<Self> {
        Some(Self(value.as_array().into_iter().flatten().filter_map(T::read).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// Where a type asks more than a shape of the rules guarantees: a member that they do not know, that
/// they do not require, or that may be something else. Empty for every form that is read without a
/// check of its own; a test for each form sees to that.
///
/// # Panics
/// When there is no such shape: [`shapes`](super::shapes) lists them.
#[must_use]
pub fn misfits<T: Typed>(shape: &str) -> Vec<String> {
    let book = super::book();
    let node = &book.shape(shape).expect("callers name shapes that the rules have").node;
    let mut found = Vec::new();
    fit(book, node, &T::kind(), shape, &mut found);
    found
}

fn fit(book: &Book, node: &Node, kind: &Kind, at: &str, found: &mut Vec<String>) {
    if !book.guarantees(node, kind) {
        found.push(format!("{at}: may be something else"));
        return;
    }
    match kind {
        Kind::List(inner) => {
            for items in book.everywhere(node, &|node| node.list.as_ref()?.items.as_ref()) {
                fit(book, items, inner, &format!("{at}[]"), found);
            }
        }
        Kind::Form(slots) => {
            for slot in slots {
                let at = format!("{at}.{}", slot.name);
                let of = |node| Book::own(node, slot.name);
                let declared = book.everywhere(node, &of);
                if declared.is_empty() {
                    found.push(format!("{at}: is not in the rules"));
                }
                if slot.required && !book.requires(node, slot.name) {
                    found.push(format!("{at}: is not required"));
                }
                for node in declared {
                    fit(book, node, &slot.kind, &at, found);
                }
            }
        }
        // Each was tried on the whole value.
        Kind::Either(_)
        | Kind::Any
        | Kind::Boolean
        | Kind::Number
        | Kind::Count
        | Kind::Text
        | Kind::Moment
        | Kind::Words(_)
        | Kind::Object => {}
    }
}

impl Book {
    fn own<'b>(node: &'b Node, name: &str) -> Option<&'b Node> {
        Some(&node.object.as_ref()?.member(name)?.node)
    }

    /// What is found in a node itself and in every part and branch of it.
    fn everywhere<'b>(
        &'b self,
        node: &'b Node,
        find: &dyn Fn(&'b Node) -> Option<&'b Node>,
    ) -> Vec<&'b Node> {
        let node = self.resolved(node);
        let unions = node.any.iter().chain(&node.one).flat_map(|union| &union.branches);
        let inner = node.all.iter().chain(unions);
        find(node).into_iter().chain(inner.flat_map(|node| self.everywhere(node, find))).collect()
    }

    /// Whether a statement about a node follows from the node itself, from one of the parts that all
    /// hold, or from every branch of a union.
    fn holds<'b>(&'b self, node: &'b Node, is: &dyn Fn(&'b Node) -> bool) -> bool {
        let node = self.resolved(node);
        let mut unions = node.any.iter().chain(&node.one);
        is(node)
            || node.all.iter().any(|part| self.holds(part, is))
            || unions.any(|union| union.branches.iter().all(|branch| self.holds(branch, is)))
    }

    fn requires(&self, node: &Node, name: &str) -> bool {
        let is = |node: &Node| {
            node.object.as_ref().is_some_and(|object| object.required().any(|known| known == name))
        };
        self.holds(node, &is)
    }

    /// Whether whatever satisfies a node is of a kind; members and items are another question.
    fn guarantees(&self, node: &Node, kind: &Kind) -> bool {
        let only = |types: &'static [Type]| {
            move |node: &Node| {
                let Node { types: own, constant, words, .. } = node;
                let is = |value: &Value| types.iter().any(|kind| kind.has(value));
                !own.0.is_empty() && own.0.iter().all(|kind| types.contains(kind))
                    || constant.as_ref().is_some_and(is)
                    || !words.is_empty() && words.iter().all(is)
            }
        };
        match kind {
            Kind::Any => true,
            Kind::Boolean => self.holds(node, &only(&[Type::Boolean])),
            Kind::Number => self.holds(node, &only(&[Type::Number, Type::Integer])),
            Kind::Count => {
                let least = |bound: &Bound| match bound.kind {
                    Limit::Minimum | Limit::ExclusiveMinimum => bound.near >= 0,
                    Limit::Maximum | Limit::ExclusiveMaximum => false,
                };
                let bounded = |node: &Node| node.bounds.iter().any(least);
                self.holds(node, &only(&[Type::Integer])) && self.holds(node, &bounded)
            }
            Kind::Text => self.holds(node, &only(&[Type::String])),
            Kind::Moment => {
                let is = |node: &Node| {
                    let format = node.text.as_ref().and_then(|text| text.format);
                    format == Some(super::Format::DateTime)
                };
                self.holds(node, &only(&[Type::String])) && self.holds(node, &is)
            }
            Kind::Words(names) => {
                let known =
                    |value: &Value| value.as_str().is_some_and(|word| names.contains(&word));
                let is = |node: &Node| {
                    node.constant.as_ref().is_some_and(known)
                        || !node.words.is_empty() && node.words.iter().all(known)
                };
                self.holds(node, &is)
            }
            // Some lists may be `null`, which is none; that is for `Option` to read.
            Kind::List(_) => self.holds(node, &only(&[Type::Array, Type::Null])),
            Kind::Object | Kind::Form(_) => self.holds(node, &only(&[Type::Object])),
            Kind::Either(kinds) => {
                self.holds(node, &|node| kinds.iter().any(|kind| self.guarantees(node, kind)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
