//! Reads typed structs from values that rules have already accepted, without a second check.
//!
//! A [`typed_struct!`](crate::typed_struct) is a struct that names each member once, with its type. Members that are to be
//! stored or returned unchanged are kept as sent.

use jiff::Timestamp;

use crate::catalog::Vocabulary;
use crate::format;
use crate::json::{Map, Value};

/// A type that is read from accepted values.
pub trait Typed: Sized {
    /// The kind of value that the type is read from.
    fn kind() -> ValueKind;

    /// Reads a value, or `None` if it is of another kind.
    fn read(value: &Value) -> Option<Self>;

    /// The value for an absent member, or `None` if the member is required.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

/// The kind of value that a type needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueKind {
    /// Any value.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A whole number of 0 or more.
    Count,
    /// A text.
    Text,
    /// A text with an RFC 3339 date and time.
    Moment,
    /// One of these words.
    Words(&'static [&'static str]),
    /// An object with any members.
    Object,
    /// An array of this kind.
    List(Box<Self>),
    /// One of these kinds.
    Either(Vec<Self>),
    /// An object with these members, and possibly others.
    Struct(Vec<StructMember>),
}

/// A member of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructMember {
    /// Its name in the object.
    pub name: &'static str,
    /// The kind of value that is read.
    pub kind: ValueKind,
    /// True when an object without it is not read.
    pub required: bool,
}

impl StructMember {
    /// A member that is read as `T`.
    #[must_use]
    pub fn new<T: Typed>(name: &'static str) -> Self {
        Self { name, kind: T::kind(), required: T::absent().is_none() }
    }

    /// A member that is kept as sent.
    #[must_use]
    pub fn new_kept(name: &'static str) -> Self {
        Self { name, kind: ValueKind::Any, required: false }
    }
}

/// Declares a struct that is read from an object that the rules have accepted.
///
/// A member has the name of its field, or the one after `=`. After `; keep` come lists of members
/// that are kept as sent, in the order of the list; after `; whole`, a field for the whole object.
#[macro_export]
macro_rules! typed_struct {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $typed:ident {
            $( $(#[doc = $doc:literal])* $field:ident : $ty:ty $(= $name:literal)? ),* $(,)?
            $(; keep $( $(#[doc = $kept_doc:literal])* $kept:ident : [$($member:literal),* $(,)?] ),+ $(,)? )?
            $(; $(#[doc = $whole_doc:literal])* whole $whole:ident )?
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $typed {
            $( $(#[doc = $doc])* $vis $field: $ty, )*
            $($( $(#[doc = $kept_doc])* $vis $kept: $crate::json::Map, )+)?
            $( $(#[doc = $whole_doc])* $vis $whole: $crate::json::Map, )?
        }

        impl $crate::typed::Typed for $typed {
            fn kind() -> $crate::typed::ValueKind {
                use $crate::typed::{ValueKind, StructMember};
                ValueKind::Struct(vec![
                    $( StructMember::new::<$ty>($crate::typed_struct!(@name $field $($name)?)), )*
                    $($($( StructMember::new_kept($member), )*)+)?
                ])
            }

            fn read(value: &$crate::json::Value) -> Option<Self> {
                use $crate::typed;
                let members = value.as_object()?;
                Some(Self {
                    $( $field: typed::member(members, $crate::typed_struct!(@name $field $($name)?))?, )*
                    $($( $kept: typed::kept(members, &[$($member),*]), )+)?
                    $( $whole: members.clone(), )?
                })
            }
        }
    )+};
}

/// Implements storage for such structs: each is serialised as the whole object that it was read from, so
/// that unknown members are kept.
#[macro_export]
macro_rules! kept_whole {
    ($($typed:ident . $whole:ident),+ $(,)?) => {$(
        impl ::serde::Serialize for $typed {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.$whole.serialize(serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $typed {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let members = <$crate::json::Map as ::serde::Deserialize>::deserialize(deserializer)?;
                $crate::typed::read(members)
                    .ok_or_else(|| ::serde::de::Error::custom("it lacks a member, or has another in its place"))
            }
        }
    )+};
}

/// Reads an object as `T`, or `None` if it is of another kind.
#[must_use]
pub fn read<T: Typed>(members: Map) -> Option<T> {
    T::read(&Value::Object(members))
}

/// Reads a member of an object as `T`, or `None` if it is of another kind.
#[must_use]
pub fn member<T: Typed>(members: &Map, name: &str) -> Option<T> {
    members.get(name).map_or_else(T::absent, T::read)
}

/// Returns members of an object as sent, in the order of `names`.
#[must_use]
pub fn kept(members: &Map, names: &[&str]) -> Map {
    let member = |name: &&str| Some(((*name).to_owned(), members.get(*name)?.clone()));
    names.iter().filter_map(member).collect()
}

/// Reads an optional member. A value of another kind counts as absent, because the rules of some
/// tools leave members unconstrained.
impl<T: Typed> Typed for Option<T> {
    fn kind() -> ValueKind {
        T::kind()
    }

    fn read(value: &Value) -> Option<Self> {
        Some(T::read(value))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// Reads a list; an absent list is empty.
impl<T: Typed> Typed for Vec<T> {
    fn kind() -> ValueKind {
        ValueKind::List(Box::new(T::kind()))
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
            fn kind() -> ValueKind {
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
    Value: ValueKind::Any, |value| Some(value.clone());

    /// An absent object has no members.
    Map: ValueKind::Object, |value| value.as_object().cloned(), or Self::new();

    String: ValueKind::Text, |value| value.as_str().map(ToOwned::to_owned);

    /// An absent flag is `false`.
    bool: ValueKind::Boolean, |value| value.as_bool(), or false;

    /// A number beyond `f64` becomes 0, so that it cannot buy anything.
    f64: ValueKind::Number, |value| value.is_number().then(|| value.as_f64().unwrap_or_default());

    /// A whole number in any notation (`2`, `2.0`, `2e0`); a larger one becomes `u64::MAX`.
    u64: ValueKind::Count, |value| {
        // The cast turns a negative number into 0 and too large a one into the maximum.
        let near = || value.as_f64().map_or(Self::MAX, |number| number as Self);
        value.is_number().then(|| value.as_u64().unwrap_or_else(near))
    };

    /// A date and time; one beyond the calendar becomes the last representable.
    Timestamp: ValueKind::Moment, |value| format::timestamp(value.as_str()?);
}

impl<T: Vocabulary> Typed for T {
    fn kind() -> ValueKind {
        ValueKind::Words(T::NAMES)
    }

    fn read(value: &Value) -> Option<Self> {
        Self::from_name(value.as_str()?)
    }
}

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrMore<T>(pub Vec<T>);

impl<T: Typed> Typed for OneOrMore<T> {
    fn kind() -> ValueKind {
        ValueKind::Either(vec![T::kind(), Vec::<T>::kind()])
    }

    fn read(value: &Value) -> Option<Self> {
        let one = || T::read(value).map(|one| vec![one]);
        let read = if value.is_array() { Vec::read(value) } else { one() };
        read.map(Self)
    }
}

/// The readable items of a list in a document that was not checked; other items are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LenientList<T>(pub Vec<T>);

impl<T> Default for LenientList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> std::ops::Deref for LenientList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Typed> Typed for LenientList<T> {
    fn kind() -> ValueKind {
        ValueKind::Any
    }

    fn read(value: &Value) -> Option<Self> {
        Some(Self(value.as_array().into_iter().flatten().filter_map(T::read).collect()))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}
