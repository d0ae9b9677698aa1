//! One macro that turns a table into an error catalog: the enum, the list of all rows, both name
//! directions, one accessor for each column and the documentation of each row.

use std::fmt;

/// A closed vocabulary whose names travel on the wire.
pub trait Vocabulary: Copy + Sized + 'static {
    /// Every row, in table order.
    const ALL: &'static [Self];
    /// Every name, in table order.
    const NAMES: &'static [&'static str];
    /// The name on the wire.
    fn name(self) -> &'static str;
    /// The row's doc comment: its public documentation.
    fn docs(self) -> &'static str;
    /// The row with this name, compared exactly.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|row| row.name() == name)
    }
}

/// A name that a peer sent: known to this version of the catalog, or kept as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Open<T> {
    /// A row of the catalog.
    Known(T),
    /// A name that this version does not know.
    Other(Box<str>),
}

impl<T: Vocabulary> Open<T> {
    /// Looks the name up and keeps it when it is unknown.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        T::from_name(name).map_or_else(|| Self::Other(name.into()), Self::Known)
    }

    /// The name as it was sent.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(row) => row.name(),
            Self::Other(name) => name,
        }
    }

    /// The row, when the catalog has it.
    #[must_use]
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(row) => Some(*row),
            Self::Other(_) => None,
        }
    }
}

impl<T: Vocabulary> fmt::Display for Open<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Declares a catalog. The braces after the enum's name list the columns; each row gives its wire
/// name and a value for every column, and its doc comment is its documentation. A column behind a
/// semicolon has a value that most rows have, and a row gives another one behind a semicolon, too.
#[macro_export]
macro_rules! catalog {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[doc = $column_doc:literal])+ $column:ident : $ty:ty ),* $(,)?
            $(; $( $(#[doc = $most_doc:literal])+ $most:ident : $most_ty:ty = $usual:expr ),+ $(,)? )?
        }
        $(
            $(#[doc = $doc:literal])+
            $variant:ident = $wire:literal {
                $($field:ident : $value:expr),* $(,)?
                $(; $($other:ident : $unusual:expr),+ $(,)? )?
            }
        )*
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $name { $( $(#[doc = $doc])+ $variant, )* }

        const _: () = {
            struct Row { name: &'static str, besides: Besides, $($column: $ty,)* }

            // Not exhaustive, so that a row may give all of them.
            #[non_exhaustive]
            struct Besides { docs: &'static str, $($($most: $most_ty,)+)? }

            const USUAL: Besides = Besides { docs: "", $($($most: $usual,)+)? };

            impl $name {
                const fn row(self) -> &'static Row {
                    match self {
                        $( Self::$variant => &Row {
                            name: $wire,
                            besides: Besides {
                                docs: concat!($($doc, "\n"),+),
                                $($($other: $unusual,)+)?
                                ..USUAL
                            },
                            $($field: $value),*
                        }, )*
                    }
                }

                $($( $(#[doc = $most_doc])+ #[must_use] $vis const fn $most(self) -> $most_ty { self.row().besides.$most } )+)?
                $( $(#[doc = $column_doc])+ #[must_use] $vis const fn $column(self) -> $ty { self.row().$column } )*
            }

            impl $crate::catalog::Vocabulary for $name {
                const ALL: &'static [Self] = &[$(Self::$variant),*];
                const NAMES: &'static [&'static str] = &[$($wire),*];
                fn name(self) -> &'static str { self.row().name }
                fn docs(self) -> &'static str { self.row().besides.docs }
            }
        };

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str($crate::catalog::Vocabulary::name(*self))
            }
        }
    };
}
pub(crate) use catalog;

/// Declares closed vocabularies of plain words, without columns.
#[macro_export]
macro_rules! words {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $name:ident { $( $(#[doc = $doc:literal])+ $variant:ident = $wire:literal ),* $(,)? }
    )+) => {$(
        $crate::catalog! {
            $(#[$meta])*
            $vis enum $name {}
            $( $(#[doc = $doc])+ $variant = $wire {} )*
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str($crate::catalog::Vocabulary::name(*self))
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let name = <::std::borrow::Cow<'de, str>>::deserialize(d)?;
                $crate::catalog::Vocabulary::from_name(&name)
                    .ok_or_else(|| ::serde::de::Error::custom("not a word of the vocabulary"))
            }
        }
    )+};
}
pub(crate) use words;
