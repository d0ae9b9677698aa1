//! Groups of columns for counting. Columns are correlated (the model implies the make) or have few
//! values, so a few groups can combine them: rows with equal values in all columns of a group have
//! one code there. Counting takes one step per row and group, then one per code that occurred,
//! instead of one per row and column.

use super::codes::{Codes, StoredRows, index};

/// Groups of columns.
#[derive(Debug)]
pub(super) struct ColumnGroups {
    /// Number of groups.
    width: usize,
    /// Codes of each row, one per group. The codes of all groups are numbered consecutively.
    codes: RowByRow,
    /// Number of codes and of columns of each group.
    shapes: Vec<(usize, usize)>,
    /// Values of each code, as indices into a list of the values of all columns.
    values: Vec<u32>,
    /// Number of values of each column.
    sizes: Vec<usize>,
}

/// Codes as narrow as their number permits.
#[derive(Debug)]
enum RowByRow {
    Two(Vec<u16>),
    Four(Vec<u32>),
}

/// Minimum and maximum number of codes of a group, and number of rows per code: visiting the codes
/// must be cheaper than visiting the rows, and the counts must fit into a fast cache.
const CODES: (usize, usize) = (64, 4096);
const ROWS_OF_CODE: usize = 32;

/// Number of entries at the end of the list of values for rows without a value, which are counted
/// and ignored.
const NOTHING: usize = 1;

impl ColumnGroups {
    /// Groups these columns, which have the same rows; neighbours are most likely to share a group.
    pub(super) fn new(columns: &[&Codes]) -> Self {
        let sizes: Vec<usize> = columns.iter().map(|column| column.distinct() as usize).collect();
        let nothing = index(sizes.iter().sum());
        let mut drafts: Vec<GroupDraft> = Vec::new();
        let mut begin: u32 = 0;
        for column in columns {
            let most = (column.codes.len() / ROWS_OF_CODE).clamp(CODES.0, CODES.1);
            let values = ValueSpan { begin, nothing };
            begin += column.distinct();
            if !drafts.iter_mut().any(|draft| draft.join(column, values, most)) {
                drafts.push(GroupDraft::new(column, values));
            }
        }
        Self::assemble(&drafts, sizes)
    }

    fn assemble(drafts: &[GroupDraft], sizes: Vec<usize>) -> Self {
        let shapes: Vec<_> =
            drafts.iter().map(|draft| (draft.values.len() / draft.width, draft.width)).collect();
        let mut firsts = Vec::with_capacity(drafts.len());
        let mut count = 0;
        for (codes, _) in &shapes {
            firsts.push(index(count));
            count += codes;
        }
        let rows = drafts.first().map_or(0, |draft| draft.codes.len());
        let of_row = |row: usize| {
            let codes = drafts.iter().map(move |draft| draft.codes.get(row));
            codes.zip(&firsts).map(|(code, first)| code.map_or(0, |code| first + code))
        };
        let codes = (0..rows).flat_map(of_row);
        let codes = if count <= usize::from(u16::MAX) {
            RowByRow::Two(codes.filter_map(|code| u16::try_from(code).ok()).collect())
        } else {
            RowByRow::Four(codes.collect())
        };
        let values = drafts.iter().flat_map(|draft| &draft.values).copied().collect();
        Self { width: drafts.len(), codes, shapes, values, sizes }
    }

    /// Counts some rows by code, for each column.
    pub(super) fn count(&self, rows: &StoredRows<'_>) -> Vec<Vec<u32>> {
        let mut met = vec![0_u32; self.shapes.iter().map(|(codes, _)| codes).sum()];
        match &self.codes {
            RowByRow::Two(codes) => meet(codes, self.width, rows, &mut met),
            RowByRow::Four(codes) => meet(codes, self.width, rows, &mut met),
        }
        let mut counts = vec![0_u32; self.sizes.iter().sum::<usize>() + NOTHING];
        let mut met = met.as_slice();
        let mut values = self.values.as_slice();
        for (codes, columns) in &self.shapes {
            let (met_here, met_behind) = met.split_at(*codes);
            let (here, behind) = values.split_at(codes * columns);
            for (times, values) in met_here.iter().zip(here.chunks_exact(*columns)) {
                if *times > 0 {
                    for value in values {
                        if let Some(count) = counts.get_mut(*value as usize) {
                            *count += times;
                        }
                    }
                }
            }
            met = met_behind;
            values = behind;
        }
        let mut rest = counts.into_iter();
        self.sizes.iter().map(|size| rest.by_ref().take(*size).collect()).collect()
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let codes = match &self.codes {
            RowByRow::Two(codes) => codes.capacity() * size_of::<u16>(),
            RowByRow::Four(codes) => codes.capacity() * size_of::<u32>(),
        };
        codes + self.values.capacity() * size_of::<u32>()
    }

    /// Returns the number of groups.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.width
    }
}

/// Counts the codes of rows with `width` codes each.
fn meet<E: Copy + Into<u32>>(codes: &[E], width: usize, rows: &StoredRows<'_>, met: &mut [u32]) {
    // Common widths are constants for the compiler, because loop overhead is as large as the work
    // on three codes.
    match width {
        1 => meet_in(|row| codes.as_chunks::<1>().0.get(row), rows, met),
        2 => meet_in(|row| codes.as_chunks::<2>().0.get(row), rows, met),
        3 => meet_in(|row| codes.as_chunks::<3>().0.get(row), rows, met),
        4 => meet_in(|row| codes.as_chunks::<4>().0.get(row), rows, met),
        _ => meet_in(|row| codes.get(row * width..(row + 1) * width), rows, met),
    }
}

fn meet_in<'c, E: Copy + Into<u32> + 'c, C: IntoIterator<Item = &'c E>>(
    codes: impl Fn(usize) -> Option<C>,
    rows: &StoredRows<'_>,
    met: &mut [u32],
) {
    let meet = |row: u32| {
        let Some(codes) = codes(row as usize) else { return };
        for code in codes {
            if let Some(times) = met.get_mut((*code).into() as usize) {
                *times += 1;
            }
        }
    };
    match rows {
        StoredRows::List(rows) => rows.iter().copied().for_each(meet),
        StoredRows::Set(set, _) => set.for_each(meet),
    }
}

/// Range of a column's values in the list of all values.
#[derive(Clone, Copy)]
struct ValueSpan {
    begin: u32,
    /// Index for rows without a value.
    nothing: u32,
}

/// A group while columns are added.
struct GroupDraft {
    /// Number of columns.
    width: usize,
    /// Code of each row.
    codes: Vec<u32>,
    /// Values of each code, one per column.
    values: Vec<u32>,
}

impl GroupDraft {
    /// Creates a group of a single column.
    fn new(column: &Codes, values: ValueSpan) -> Self {
        let rows = 0..index(column.codes.len());
        let distinct = column.distinct();
        let ValueSpan { begin, nothing } = values;
        Self {
            width: 1,
            // Rows without a value have a code of their own.
            codes: rows.map(|row| column.code(row).min(distinct)).collect(),
            values: (begin..begin + distinct).chain([nothing]).collect(),
        }
    }

    /// Adds a column, unless the group would exceed `most` codes.
    fn join(&mut self, column: &Codes, values: ValueSpan, most: usize) -> bool {
        let distinct = column.distinct();
        let width = distinct as usize + 1;
        let pairs = (self.values.len() / self.width).saturating_mul(width);
        // A table of pairs that is much longer than the rows would take more time than the rows.
        if pairs > self.codes.len().saturating_mul(ROWS_OF_CODE) {
            return false;
        }
        // New code of each pair of codes, plus one; 0 for none.
        let mut known = vec![0_u32; pairs];
        let mut joined = Vec::new();
        let mut codes = Vec::with_capacity(self.codes.len());
        let mut count = 0;
        for (code, row) in self.codes.iter().zip(0..) {
            let other = column.code(row).min(distinct);
            let pair = *code as usize * width + other as usize;
            let Some(known) = known.get_mut(pair) else { return false };
            if *known == 0 {
                if count == most {
                    return false;
                }
                count += 1;
                *known = index(count);
                let from = *code as usize * self.width;
                joined.extend(self.values.get(from..from + self.width).unwrap_or_default());
                joined.push(if other < distinct { values.begin + other } else { values.nothing });
            }
            codes.push(*known - 1);
        }
        self.codes = codes;
        self.values = joined;
        self.width += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::codes::ABSENT;
    use super::*;

    /// Builds a column, in which `None` is a row without a value.
    fn column(rows: u32, value: impl Fn(u32) -> Option<u32>) -> Codes {
        let codes: Vec<u32> = (0..rows).map(|row| value(row).unwrap_or(ABSENT)).collect();
        let distinct =
            codes.iter().filter(|code| **code != ABSENT).max().map_or(0, |most| most + 1);
        let by_id: Vec<u32> = (0..rows).collect();
        Codes::new(&codes, distinct as usize, &by_id)
    }

    #[test]
    fn dependent_columns_form_one_group_and_independent_ones_do_not() {
        let rows = 4000;
        let scattered = |row: u32, salt: u32| (row ^ salt).wrapping_mul(2_654_435_761) >> 16;
        let model = column(rows, |row| Some(scattered(row, 1) % 90));
        let make = column(rows, |row| Some(scattered(row, 1) % 90 % 9));
        let colour = column(rows, |row| Some(scattered(row, 2) % 40).filter(|code| *code > 0));
        let always = column(rows, |_| Some(0));
        let never = column(rows, |_| None);
        let own = column(rows, Some);
        let columns = [&model, &make, &colour, &always, &never, &own];
        let groups = ColumnGroups::new(&columns);
        // The colour and the unique column have groups of their own.
        assert_eq!(groups.len(), 3);
        let all: Vec<u32> = (0..rows).collect();
        let some: Vec<u32> = all.iter().copied().filter(|row| row % 7 == 3).collect();
        for rows in [&[][..], &[17], &some[..40], &some, &all] {
            let counts = groups.count(&StoredRows::List(rows.into()));
            for (column, counts) in columns.iter().zip(&counts) {
                let count = |code| rows.iter().filter(|row| column.code(**row) == code).count();
                let expected: Vec<u32> =
                    (0..column.distinct()).map(|code| index(count(code))).collect();
                assert_eq!(*counts, expected, "{} rows", rows.len());
            }
        }
        assert!(groups.bytes() > 0);
    }

    #[test]
    fn without_rows_there_is_nothing_to_count() {
        let nothing = column(0, Some);
        assert_eq!(
            ColumnGroups::new(&[&nothing, &nothing]).count(&StoredRows::List([][..].into())),
            [Vec::<u32>::new(), Vec::new()]
        );
    }
}
