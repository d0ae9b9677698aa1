//! The [`json!`](crate::json::json) macro, for documents in source code.

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
/// members' values, items and names (in parentheses if they are more than one token). A member with
/// a question mark after its name is present if its value is `Some`.
///
/// ```
/// use tradepost_document::json::json;
/// let vin = "1HGCM82633A004352";
/// let document = json!({"vehicle": {"vin": vin, "year": 2000 + 3, "photos": [null, true]}});
/// assert_eq!(document["vehicle"]["year"], 2003);
/// assert_eq!(json!({"vin": vin, "trim"?: Some("EX"), "mileage"?: None::<u32>}).to_string(),
///     r#"{"vin":"1HGCM82633A004352","trim":"EX"}"#);
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __json {
    (null) => { $crate::json::Value::Null };
    ([ $($items:tt)* ]) => {
        $crate::json::Value::Array($crate::__json!(@items [] $($items)*))
    };
    ({}) => { $crate::json::Value::Object($crate::json::Map::new()) };
    ({ $($members:tt)+ }) => {{
        let mut members = $crate::json::Map::new();
        $crate::__json!(@members members () $($members)+);
        $crate::json::Value::Object(members)
    }};

    // Items: the finished ones in brackets, then the rest.
    (@items [$($done:expr),*]) => { ::std::vec![$($done),*] };
    (@items [$($done:expr),*] null $(, $($rest:tt)*)?) => {
        $crate::__json!(@items [$($done,)* $crate::__json!(null)] $($($rest)*)?)
    };
    (@items [$($done:expr),*] [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $crate::__json!(@items [$($done,)* $crate::__json!([$($inner)*])] $($($rest)*)?)
    };
    (@items [$($done:expr),*] {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $crate::__json!(@items [$($done,)* $crate::__json!({$($inner)*})] $($($rest)*)?)
    };
    (@items [$($done:expr),*] $item:expr $(, $($rest:tt)*)?) => {
        $crate::__json!(@items [$($done,)* $crate::json::literal(&$item)] $($($rest)*)?)
    };

    // Members: the tokens of a name are collected up to its colon.
    (@members $map:ident ()) => {};
    (@members $map:ident ($name:literal ?) : $value:expr $(, $($rest:tt)*)?) => {
        if let Some(value) = &$value {
            $map.insert($name.into(), $crate::json::literal(value));
        }
        $crate::__json!(@members $map () $($($rest)*)?);
    };
    (@members $map:ident ($($name:tt)+) : null $(, $($rest:tt)*)?) => {
        $map.insert(($($name)+).into(), $crate::__json!(null));
        $crate::__json!(@members $map () $($($rest)*)?);
    };
    (@members $map:ident ($($name:tt)+) : [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $map.insert(($($name)+).into(), $crate::__json!([$($inner)*]));
        $crate::__json!(@members $map () $($($rest)*)?);
    };
    (@members $map:ident ($($name:tt)+) : {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $map.insert(($($name)+).into(), $crate::__json!({$($inner)*}));
        $crate::__json!(@members $map () $($($rest)*)?);
    };
    (@members $map:ident ($($name:tt)+) : $value:expr $(, $($rest:tt)*)?) => {
        $map.insert(($($name)+).into(), $crate::json::literal(&$value));
        $crate::__json!(@members $map () $($($rest)*)?);
    };
    (@members $map:ident ($($name:tt)*) $word:tt $($rest:tt)*) => {
        $crate::__json!(@members $map ($($name)* $word) $($rest)*);
    };

    ($value:expr) => { $crate::json::literal(&$value) };
}
