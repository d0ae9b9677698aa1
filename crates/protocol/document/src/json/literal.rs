//! The macros [`json!`](crate::json::json) and [`object!`](crate::json::object), for documents in source code.

use serde::Serialize;

use super::{Value, to_value};

#[doc(hidden)]
/// Converts a Rust value inside [`json!`](crate::json::json).
pub fn literal<T: Serialize + ?Sized>(value: &T) -> Value {
    match to_value(value) {
        Ok(value) => value,
        Err(_) => unreachable!("a literal is made of what can be written as JSON"),
    }
}

/// Builds a [`Value`](crate::json::Value) from a document in source code, with Rust expressions as
/// members' values, items and names (in parentheses if they are more than one token).
///
/// ```
/// use tradepost_document::json::json;
/// let vin = "1HGCM82633A004352";
/// let document = json!({"vehicle": {"vin": vin, "year": 2000 + 3, "photos": [null, true]}});
/// assert_eq!(document["vehicle"]["year"], 2003);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    ($($document:tt)+) => { $crate::__document!(@value plain $($document)+) };
}

/// Builds a [`Value`](crate::json::Value) as [`json!`](crate::json::json) does. A member with a question mark
/// after its name is present if its value is `Some`.
///
/// ```
/// use tradepost_document::json::object;
/// let vin = "1HGCM82633A004352";
/// let listing = object!({"vin": vin, "trim"?: Some("EX"), "mileage"?: None::<u32>});
/// assert_eq!(listing.to_string(), r#"{"vin":"1HGCM82633A004352","trim":"EX"}"#);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __object {
    ($($document:tt)+) => { $crate::__document!(@value optional $($document)+) };
}

/// Carries out both macros. After what a rule is for (`@value`, `@items`, `@members`) comes the mode:
/// `plain`, or `optional` where members may have question marks.
#[doc(hidden)]
#[macro_export]
macro_rules! __document {
    (@value $mode:ident null) => { $crate::json::Value::Null };
    (@value $mode:ident [ $($items:tt)* ]) => {
        $crate::json::Value::Array($crate::__document!(@items $mode [] $($items)*))
    };
    (@value $mode:ident {}) => { $crate::json::Value::Object($crate::json::Map::new()) };
    (@value $mode:ident { $($members:tt)+ }) => {{
        let mut members = $crate::json::Map::new();
        $crate::__document!(@members $mode members () $($members)+);
        $crate::json::Value::Object(members)
    }};
    (@value $mode:ident $value:expr) => { $crate::json::literal(&$value) };

    // Items: the finished ones in brackets, then the rest.
    (@items $mode:ident [$($done:expr),*]) => { ::std::vec![$($done),*] };
    (@items $mode:ident [$($done:expr),*] null $(, $($rest:tt)*)?) => {
        $crate::__document!(@items $mode [$($done,)* $crate::json::Value::Null] $($($rest)*)?)
    };
    (@items $mode:ident [$($done:expr),*] [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $crate::__document!(@items $mode
            [$($done,)* $crate::__document!(@value $mode [$($inner)*])] $($($rest)*)?)
    };
    (@items $mode:ident [$($done:expr),*] {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $crate::__document!(@items $mode
            [$($done,)* $crate::__document!(@value $mode {$($inner)*})] $($($rest)*)?)
    };
    (@items $mode:ident [$($done:expr),*] $item:expr $(, $($rest:tt)*)?) => {
        $crate::__document!(@items $mode [$($done,)* $crate::json::literal(&$item)] $($($rest)*)?)
    };

    // Members: the tokens of a name are collected up to its colon.
    (@members $mode:ident $map:ident ()) => {};
    (@members optional $map:ident ($name:literal ?) : $value:expr $(, $($rest:tt)*)?) => {
        if let Some(value) = &$value {
            $map.insert($name.into(), $crate::json::literal(value));
        }
        $crate::__document!(@members optional $map () $($($rest)*)?);
    };
    (@members $mode:ident $map:ident ($($name:tt)+) : null $(, $($rest:tt)*)?) => {
        $map.insert(($($name)+).into(), $crate::json::Value::Null);
        $crate::__document!(@members $mode $map () $($($rest)*)?);
    };
    (@members $mode:ident $map:ident ($($name:tt)+) : [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $map.insert(($($name)+).into(), $crate::__document!(@value $mode [$($inner)*]));
        $crate::__document!(@members $mode $map () $($($rest)*)?);
    };
    (@members $mode:ident $map:ident ($($name:tt)+) : {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $map.insert(($($name)+).into(), $crate::__document!(@value $mode {$($inner)*}));
        $crate::__document!(@members $mode $map () $($($rest)*)?);
    };
    (@members $mode:ident $map:ident ($($name:tt)+) : $value:expr $(, $($rest:tt)*)?) => {
        $map.insert(($($name)+).into(), $crate::json::literal(&$value));
        $crate::__document!(@members $mode $map () $($($rest)*)?);
    };
    (@members $mode:ident $map:ident ($($name:tt)*) $word:tt $($rest:tt)*) => {
        $crate::__document!(@members $mode $map ($($name)* $word) $($rest)*);
    };
}
