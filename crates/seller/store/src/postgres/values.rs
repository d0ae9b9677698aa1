//! Conversion of values and columns to and from PostgreSQL.

use std::borrow::Cow;
use std::error::Error;

use tokio_postgres::Row;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::sql::{RowResult, SqlCell, SqlValue};

/// Escape character for itself and for U+0000, which PostgreSQL stores in no text. Unicode never assigns a character to
/// it.
const ESCAPE: char = '\u{FFFF}';

impl SqlValue<'_> {
    /// Returns owned copies of the values, for another thread.
    pub(super) fn owned(values: &[Self]) -> Vec<SqlValue<'static>> {
        let own = |value: &Self| match value {
            Self::Integer(number) => SqlValue::Integer(*number),
            Self::Text(text) => {
                SqlValue::Text(text.as_ref().map(|text| Cow::Owned(escaped(text).into_owned())))
            }
            Self::Blob(bytes) => {
                SqlValue::Blob(bytes.as_ref().map(|bytes| Cow::Owned(bytes.to_vec())))
            }
            Self::Bool(flag) => SqlValue::Bool(*flag),
        };
        values.iter().map(own).collect()
    }

    pub(super) const fn sql_type(&self) -> Type {
        match self {
            Self::Integer(_) => Type::INT8,
            Self::Text(_) => Type::TEXT,
            Self::Blob(_) => Type::BYTEA,
            Self::Bool(_) => Type::BOOL,
        }
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Integer(number) => number.to_sql(kind, out),
            Self::Text(text) => text.as_deref().to_sql(kind, out),
            Self::Blob(bytes) => bytes.as_deref().to_sql(kind, out),
            Self::Bool(flag) => flag.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::BYTEA, Type::BOOL].contains(kind)
    }

    to_sql_checked!();
}

/// Returns the value of a column.
pub(crate) fn cell(row: &Row, column: usize) -> RowResult<SqlCell<'_>> {
    let Some(kind) = row.columns().get(column).map(|column| column.type_().clone()) else {
        return Err("the row has fewer columns".into());
    };
    Ok(match kind {
        Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map(SqlCell::Integer),
        Type::INT4 => row.try_get::<_, Option<i32>>(column)?.map(|n| SqlCell::Integer(n.into())),
        Type::BOOL => row.try_get::<_, Option<bool>>(column)?.map(|is| SqlCell::Integer(is.into())),
        Type::BYTEA => row.try_get::<_, Option<&[u8]>>(column)?.map(SqlCell::Blob),
        _ => row.try_get::<_, Option<&str>>(column)?.map(|text| SqlCell::Text(unescaped(text))),
    }
    .unwrap_or(SqlCell::Empty))
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return text.into();
    }
    // The escape itself first, or the one that stands for U+0000 would be escaped as well.
    text.replace(ESCAPE, "\u{FFFF}1").replace('\0', "\u{FFFF}0").into()
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return text.into();
    }
    text.replace("\u{FFFF}0", "\0").replace("\u{FFFF}1", "\u{FFFF}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_has_what_postgres_refuses() {
        for text in
            ["", "plain", "\0", "\u{FFFF}", "\u{FFFF}0", "\0\u{FFFF}1\0", "0\u{FFFF}\u{FFFF}1"]
        {
            let stored = escaped(text);
            assert!(!stored.contains('\0'), "{text:?}");
            assert_eq!(unescaped(&stored), text);
        }
        assert_ne!(escaped("\0"), escaped("\u{FFFF}0"));
    }
}
