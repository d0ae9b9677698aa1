//! Macros that turn a table into an enum with wire names: [`Vocabulary`] with all rows, both name
//! directions and the documentation of each row, and one accessor for each column.

use std::fmt;

/// A closed vocabulary whose names appear on the wire.
pub trait Vocabulary: Copy + Sized + 'static {
    /// All rows, in table order.
    const ALL: &'static [Self];
    /// All names, in table order.
    const NAMES: &'static [&'static str];
    /// Returns the name on the wire.
    fn name(self) -> &'static str;
    /// Returns the row's doc comment, which is its public documentation.
    fn docs(self) -> &'static str;
    /// Returns the row with exactly this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|row| row.name() == name)
    }
}

/// A name from a peer: known to this version of the catalog, or kept as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireName<T> {
    /// A row of the catalog.
    Known(T),
    /// An unknown name.
    Other(Box<str>),
}

impl<T: Vocabulary> WireName<T> {
    /// Looks up `name`, and keeps it if it is unknown.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        T::from_name(name).map_or_else(|| Self::Other(name.into()), Self::Known)
    }

    /// The name as sent.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(row) => row.name(),
            Self::Other(name) => name,
        }
    }

    /// The row, if the name is known.
    #[must_use]
    pub fn known(&self) -> Option<T> {
        match self {
            Self::Known(row) => Some(*row),
            Self::Other(_) => None,
        }
    }
}

impl<T: Vocabulary> fmt::Display for WireName<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Declares a catalog: an enum with a wire name, columns and documentation for each row. The braces
/// after the enum's name list the columns; each row gives its wire name and a value for every
/// column, and its doc comment is its documentation. A column after the semicolon has a default
/// value; a row that differs gives its own value after a semicolon.
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
pub use catalog;

/// Declares closed vocabularies without columns.
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
pub use words;
