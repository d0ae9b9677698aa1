//! What is derived for a type, and the standard library has no derive for.

/// `Debug` for types whose members nobody may see, or cannot: a type's name and nothing else.
///
/// ```text
/// opaque!(Secret, Queue);
/// ```
macro_rules! opaque {
    ($( $name:ident ),+) => { $(
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(stringify!($name))
            }
        }
    )+ };
}

/// `From` for what variants hold, so that a question mark passes it on.
///
/// ```text
/// from!(Trouble { Refused(Refusal), Broken(Fault) });
/// ```
macro_rules! from {
    ($name:ident { $( $variant:ident($held:ty) ),+ }) => { $(
        impl std::convert::From<$held> for $name {
            fn from(held: $held) -> Self {
                Self::$variant(held)
            }
        }
    )+ };
}
