//! Features of vehicles, each with the rows that have it.

use std::collections::BTreeMap;

use super::bitmap::Bitmap;
use super::codes::{StoredRows, is_dense};
use super::texts::Texts;

/// Distinct features with their rows.
#[derive(Debug, Default)]
pub(super) struct Features {
    /// Each distinct feature, ascending.
    pub(super) names: Texts,
    /// Rows by feature.
    members: Vec<Members>,
}

/// Rows with a feature.
#[derive(Debug)]
enum Members {
    Few(Vec<u32>),
    Many(Bitmap, usize),
}

impl Features {
    /// Creates features with their rows among `all` rows.
    pub(super) fn new(found: BTreeMap<String, Vec<u32>>, all: usize) -> Self {
        let names = found.keys().collect();
        Self::from_rows(names, found.into_values(), all)
    }

    /// Creates features from names and rows among `all` rows.
    pub(super) fn from_rows(
        names: Texts,
        rows: impl Iterator<Item = Vec<u32>>,
        all: usize,
    ) -> Self {
        let members = rows.map(|mut rows| {
            if is_dense(rows.len(), all) {
                Members::Many(Bitmap::from_rows(&rows, all), rows.len())
            } else {
                rows.shrink_to_fit();
                Members::Few(rows)
            }
        });
        Self { names, members: members.collect() }
    }

    /// Iterates over the features with their ids.
    pub(super) fn names(&self) -> impl Iterator<Item = (u32, &str)> {
        (0..).zip(self.names.iter())
    }

    /// Returns the rows with a feature.
    pub(super) fn rows(&self, id: u32) -> StoredRows<'_> {
        match self.members.get(id as usize) {
            Some(Members::Few(rows)) => StoredRows::List(rows.into()),
            Some(Members::Many(set, count)) => StoredRows::Set(set, *count),
            None => StoredRows::List([].as_slice().into()),
        }
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let rows = self.members.iter().map(|members| match members {
            Members::Few(rows) => rows.capacity() * size_of::<u32>(),
            Members::Many(set, _) => set.bytes(),
        });
        self.names.bytes() + self.members.capacity() * size_of::<Members>() + rows.sum::<usize>()
    }
}
