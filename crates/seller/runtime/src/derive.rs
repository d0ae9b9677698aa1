//! Macro for an implementation that the standard library cannot derive.

/// Implements `Debug` with only the type's name, for types whose members are secret or have no
/// `Debug`.
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
