//! Rows of one attribute by the rank of their value among the distinct values (the code), and the
//! rows listed in the order of these codes. That list serves as sort order, posting lists and range
//! index at once. Values of many rows have a bitmap in addition.

use std::borrow::Cow;
use std::ops::Range;

use super::bitmap::Bitmap;

/// Code of a row without a value. It is in no range of codes.
pub(super) const ABSENT: u32 = u32::MAX;

/// Converts an index into rows, codes or postings.
pub(super) fn index(position: usize) -> u32 {
    u32::try_from(position).expect("an inventory has fewer than four billion listings and words")
}

/// Returns the entry at a position that the index itself has written.
pub(super) fn at(entries: &[u32], position: u32) -> u32 {
    entries.get(position as usize).copied().unwrap_or(ABSENT)
}

/// One code per row, as narrow as the number of distinct values permits. The highest number is a
/// row without a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowCodes {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
}

/// A code of one width.
pub(super) trait CodeWidth: Copy {
    /// Returns the code.
    fn code(self) -> u32;
}

impl CodeWidth for u8 {
    #[inline]
    fn code(self) -> u32 {
        if self == Self::MAX { ABSENT } else { u32::from(self) }
    }
}

impl CodeWidth for u16 {
    #[inline]
    fn code(self) -> u32 {
        if self == Self::MAX { ABSENT } else { u32::from(self) }
    }
}

impl CodeWidth for u32 {
    #[inline]
    fn code(self) -> u32 {
        self
    }
}

/// Evaluates an expression with the codes of any width.
macro_rules! each_width {
    ($codes:expr, $entries:ident => $work:expr) => {
        match $codes {
            $crate::inventory::codes::RowCodes::One($entries) => $work,
            $crate::inventory::codes::RowCodes::Two($entries) => $work,
            $crate::inventory::codes::RowCodes::Four($entries) => $work,
        }
    };
}
pub(super) use each_width;

impl Default for RowCodes {
    fn default() -> Self {
        Self::One(Vec::new())
    }
}

impl RowCodes {
    /// Stores codes below `distinct`, or [`ABSENT`].
    fn new(codes: &[u32], distinct: usize) -> Self {
        // 255 values have the codes 0 to 254, which leaves one for rows without a value: `ABSENT`
        // is the only code that does not fit, and becomes the highest number of its width.
        if distinct <= usize::from(u8::MAX) {
            Self::One(codes.iter().map(|code| u8::try_from(*code).unwrap_or(u8::MAX)).collect())
        } else if distinct <= usize::from(u16::MAX) {
            Self::Two(codes.iter().map(|code| u16::try_from(*code).unwrap_or(u16::MAX)).collect())
        } else {
            Self::Four(codes.to_vec())
        }
    }

    #[inline]
    fn get(&self, row: u32) -> u32 {
        each_width!(self, codes => codes.get(row as usize).map_or(ABSENT, |code| code.code()))
    }

    pub(super) fn len(&self) -> usize {
        each_width!(self, codes => codes.len())
    }

    /// Returns true when each code is below `distinct`, or absent.
    pub(super) fn are_below(&self, distinct: usize) -> bool {
        let is = |code: u32| code == ABSENT || (code as usize) < distinct;
        each_width!(self, codes => codes.iter().all(|code| is(code.code())))
    }

    fn bytes(&self) -> usize {
        match self {
            Self::One(codes) => codes.capacity(),
            Self::Two(codes) => codes.capacity() * 2,
            Self::Four(codes) => codes.capacity() * 4,
        }
    }
}

/// Rows in their stored form.
#[derive(Debug)]
pub(super) enum StoredRows<'a> {
    /// A list.
    List(Cow<'a, [u32]>),
    /// A set with the number of its members.
    Set(&'a Bitmap, usize),
}

impl StoredRows<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::List(rows) => rows.len(),
            Self::Set(_, count) => *count,
        }
    }

    /// Appends the rows to a list.
    pub(super) fn append_to(&self, rows: &mut Vec<u32>) {
        match self {
            Self::List(list) => rows.extend_from_slice(list),
            Self::Set(set, _) => rows.extend(set.rows()),
        }
    }

    /// Adds the rows to a set.
    pub(super) fn add_to(&self, set: &mut Bitmap) {
        match self {
            Self::List(rows) => set.extend(rows),
            Self::Set(members, _) => set.union(members),
        }
    }
}

/// The coded rows of an attribute.
#[derive(Debug, Default)]
pub(super) struct Codes {
    /// Codes by row.
    pub(super) codes: RowCodes,
    /// Start of each code's rows in `order`, and the end of the last one's.
    starts: Vec<u32>,
    /// Rows by code and within a code by vehicle id; rows without a value at the end.
    order: Vec<u32>,
    /// For attributes that are not sorted by: start of each code's rows in `order`, which then
    /// lists only codes without a bitmap.
    sparse: Option<Vec<u32>>,
    /// Bitmaps of the codes for which a bitmap is smaller than a list of rows, by code.
    dense: Vec<(u32, Bitmap)>,
    /// For attributes with range filters: the rows of `order` up to some positions as bitmaps, so
    /// that a long range is the difference of two bitmaps and the rows at its ends.
    strides: Vec<(usize, Bitmap)>,
}

/// Maximum number of strides of a column. Their bitmaps take eight bytes per row, as its code and
/// its place in the order do.
const STRIDES: usize = 64;

/// A range of codes as a difference of strides.
struct StrideRange<'a> {
    without: &'a Bitmap,
    with: &'a Bitmap,
    /// The rows of the range before and after its whole strides.
    ends: [&'a [u32]; 2],
}

impl Codes {
    pub(super) fn new(codes: &[u32], distinct: usize, by_id: &[u32]) -> Self {
        Self::from_row_codes(RowCodes::new(codes, distinct), distinct, by_id)
    }

    /// Lists the rows in the order of their codes; `by_id` lists them by vehicle id.
    pub(super) fn from_row_codes(codes: RowCodes, distinct: usize, by_id: &[u32]) -> Self {
        let mut sizes = vec![0; distinct];
        each_width!(&codes, entries => for entry in entries {
            if let Some(size) = sizes.get_mut(entry.code() as usize) {
                *size += 1;
            }
        });
        let mut starts = Vec::with_capacity(distinct + 1);
        starts.push(0);
        let mut end = 0;
        starts.extend(sizes.iter().map(|size: &u32| {
            end += size;
            end
        }));
        // A counting sort: it takes one pass, and rows of one code stay in the order of their ids
        // (C-37).
        let mut free = starts.clone();
        let mut order = vec![0; codes.len()];
        for row in by_id {
            // Rows without a value begin at the end of the last code.
            let code = codes.get(*row).min(index(distinct));
            if let Some(free) = free.get_mut(code as usize)
                && let Some(place) = order.get_mut(*free as usize)
            {
                *place = *row;
                *free += 1;
            }
        }
        let mut this = Self { codes, starts, order, ..Self::default() };
        let rows = this.codes.len();
        for code in 0..index(distinct) {
            let members = this.span(code..code + 1);
            if is_dense(members.len(), rows) {
                let set = Bitmap::from_rows(members, rows);
                this.dense.push((code, set));
            }
        }
        this
    }

    /// Drops what only sorting needs: the positions of rows whose code has a bitmap.
    pub(super) fn for_filters(mut self) -> Self {
        let mut order = Vec::new();
        let mut sparse = Vec::with_capacity(self.starts.len());
        for code in 0..self.distinct() {
            sparse.push(index(order.len()));
            if self.bitmap(code).is_none() {
                order.extend_from_slice(self.span(code..code + 1));
            }
        }
        sparse.push(index(order.len()));
        order.shrink_to_fit();
        self.order = order;
        self.sparse = Some(sparse);
        self
    }

    /// Returns the bitmap of a code, when it has one.
    fn bitmap(&self, code: u32) -> Option<&Bitmap> {
        let place = self.dense.binary_search_by_key(&code, |(code, _)| *code).ok()?;
        self.dense.get(place).map(|(_, set)| set)
    }

    /// Returns the rows of a code.
    pub(super) fn rows(&self, code: u32) -> StoredRows<'_> {
        match self.bitmap(code) {
            Some(set) => StoredRows::Set(set, self.count(code..code.saturating_add(1))),
            None => StoredRows::List(self.list(code..code.saturating_add(1)).into()),
        }
    }

    /// Returns the rows of codes of which none has a bitmap.
    fn list(&self, codes: Range<u32>) -> &[u32] {
        let starts = self.sparse.as_ref().unwrap_or(&self.starts);
        let from = at(starts, codes.start);
        let to = at(starts, codes.end);
        self.order.get(from as usize..to as usize).unwrap_or_default()
    }

    /// Returns the number of rows with one of these codes.
    pub(super) fn count(&self, codes: Range<u32>) -> usize {
        let from = at(&self.starts, codes.start);
        let to = at(&self.starts, codes.end);
        to.saturating_sub(from) as usize
    }

    /// Returns the number of rows of each code.
    pub(super) fn counts(&self) -> Vec<u32> {
        let ends = self.starts.iter().skip(1);
        self.starts.iter().zip(ends).map(|(start, end)| end - start).collect()
    }

    /// Builds the bitmaps for long ranges.
    pub(super) fn add_strides(&mut self) {
        let rows = self.codes.len();
        let present = rows - self.absent().len();
        // With few values each is a stride, and ranges have no ends.
        let places: Vec<usize> = if self.starts.len() <= STRIDES {
            self.starts.iter().map(|start| *start as usize).collect()
        } else {
            // The last stride ends with the last row that has a value.
            (0..present).step_by(rows.div_ceil(STRIDES).max(1)).chain([present]).collect()
        };
        let mut set = Bitmap::empty(rows);
        let mut from = 0;
        for to in places {
            set.extend(self.order.get(from..to).unwrap_or_default());
            self.strides.push((to, set.clone()));
            from = to;
        }
    }

    /// Returns a range in strides, when it contains at least one whole stride.
    fn long(&self, codes: &Range<u32>) -> Option<StrideRange<'_>> {
        let from = at(&self.starts, codes.start);
        let to = at(&self.starts, codes.end);
        let from = from as usize;
        let to = to as usize;
        let first = self.strides.partition_point(|(place, _)| *place < from);
        let end = self.strides.partition_point(|(place, _)| *place <= to).checked_sub(1)?;
        if first >= end {
            return None;
        }
        let (after, without) = self.strides.get(first)?;
        let (before, with) = self.strides.get(end)?;
        let ends = [self.order.get(from..*after)?, self.order.get(*before..to)?];
        Some(StrideRange { without, with, ends })
    }

    /// Returns the code of a row.
    pub(super) fn code(&self, row: u32) -> u32 {
        self.codes.get(row)
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let dense = self.dense.iter().map(|(_, set)| set.bytes() + size_of::<(u32, Bitmap)>());
        let strides =
            self.strides.iter().map(|(_, set)| set.bytes() + size_of::<(usize, Bitmap)>());
        let lists = self.starts.capacity()
            + self.order.capacity()
            + self.sparse.as_ref().map_or(0, Vec::capacity);
        self.codes.bytes()
            + lists * size_of::<u32>()
            + dense.sum::<usize>()
            + strides.sum::<usize>()
    }

    /// Returns the number of distinct values.
    pub(super) fn distinct(&self) -> u32 {
        index(self.starts.len().saturating_sub(1))
    }

    /// Returns the rows of some codes in ascending order. Only for attributes that are sorted by.
    pub(super) fn span(&self, codes: Range<u32>) -> &[u32] {
        let from = at(&self.starts, codes.start);
        let to = at(&self.starts, codes.end);
        self.order.get(from as usize..to as usize).unwrap_or_default()
    }

    /// Returns all rows in ascending order, those without a value at the end.
    pub(super) fn ascending(&self) -> &[u32] {
        &self.order
    }

    /// Returns the lowest and the highest code among the rows of a set. Only for attributes with
    /// strides, which narrow the search.
    pub(super) fn ends_in(&self, set: &Bitmap) -> Option<(u32, u32)> {
        let (_, present) = self.strides.last()?;
        let mut valued = set.clone();
        valued.intersect(present);
        let is_before = |(_, with): &(usize, Bitmap)| !valued.meets(with);
        let is_not_behind = |(_, with): &(usize, Bitmap)| !valued.is_within(with);
        let first = self.stride(self.strides.partition_point(is_before))?;
        let last = self.stride(self.strides.partition_point(is_not_behind))?;
        let first = first.iter().find(|row| set.contains(**row))?;
        let last = last.iter().rev().find(|row| set.contains(**row))?;
        Some((self.code(*first), self.code(*last)))
    }

    /// Returns the rows of a stride.
    fn stride(&self, number: usize) -> Option<&[u32]> {
        let (from, _) = self.strides.get(number.checked_sub(1)?)?;
        let (to, _) = self.strides.get(number)?;
        self.order.get(*from..*to)
    }

    /// Returns the rows without a value.
    pub(super) fn absent(&self) -> &[u32] {
        let from = at(&self.starts, self.distinct());
        self.order.get(from as usize..).unwrap_or_default()
    }

    /// Returns the rows of some codes as a set, copying an existing bitmap where there is one.
    pub(super) fn set(&self, codes: Range<u32>) -> Bitmap {
        if let Some(long) = self.cheap_long(&codes) {
            let mut set = Bitmap::difference(long.with, long.without);
            long.ends.into_iter().for_each(|rows| set.extend(rows));
            return set;
        }
        let Some((code, members)) = self.dense_in(&codes).first() else {
            return Bitmap::from_rows(self.list(codes), self.codes.len());
        };
        let mut set = members.clone();
        set.extend(self.list(codes.start..*code));
        self.add_short(&mut set, code + 1..codes.end);
        set
    }

    /// Removes from a set the rows that have none of some codes.
    pub(super) fn narrow(&self, set: &mut Bitmap, codes: Range<u32>) {
        let Some(long) = self.cheap_long(&codes) else {
            set.intersect(&self.set(codes));
            return;
        };
        let mut kept = Vec::new();
        for rows in long.ends {
            kept.extend(rows.iter().filter(|row| set.contains(**row)));
        }
        set.intersect_difference(long.with, long.without);
        set.extend(&kept);
    }

    /// Returns a range in strides, when that is less work than going code by code.
    fn cheap_long(&self, codes: &Range<u32>) -> Option<StrideRange<'_>> {
        self.long(codes).filter(|long| self.long_cost(long) < self.short_cost(codes))
    }

    /// Adds the rows of some codes to a set.
    pub(super) fn add_to(&self, set: &mut Bitmap, codes: Range<u32>) {
        if let Some(long) = self.cheap_long(&codes) {
            set.add_difference(long.with, long.without);
            long.ends.into_iter().for_each(|rows| set.extend(rows));
            return;
        }
        self.add_short(set, codes);
    }

    /// Adds the rows code by code.
    fn add_short(&self, set: &mut Bitmap, codes: Range<u32>) {
        let mut next = codes.start;
        for (code, members) in self.dense_in(&codes) {
            set.extend(self.list(next..*code));
            set.union(members);
            next = code + 1;
        }
        set.extend(self.list(next..codes.end));
    }

    /// Returns the number of values with a bitmap.
    #[cfg(test)]
    pub(super) fn bitmaps(&self) -> usize {
        self.dense.len()
    }

    /// Estimates the cost of [`Codes::add_to`].
    pub(super) fn add_cost(&self, codes: Range<u32>) -> usize {
        let short = self.short_cost(&codes);
        self.long(&codes).map_or(short, |long| short.min(self.long_cost(&long)))
    }

    fn long_cost(&self, long: &StrideRange<'_>) -> usize {
        let ends: usize = long.ends.iter().map(|rows| rows.len()).sum();
        ends + 2 * Bitmap::combine_cost(self.codes.len())
    }

    fn short_cost(&self, codes: &Range<u32>) -> usize {
        let dense = self.dense_in(codes);
        let in_bitmaps: usize = dense.iter().map(|(code, _)| self.count(*code..code + 1)).sum();
        self.count(codes.clone()) - in_bitmaps
            + dense.len() * Bitmap::combine_cost(self.codes.len())
    }

    fn dense_in(&self, codes: &Range<u32>) -> &[(u32, Bitmap)] {
        let position = |bound: u32| self.dense.partition_point(|(code, _)| *code < bound);
        self.dense.get(position(codes.start)..position(codes.end)).unwrap_or_default()
    }
}

/// Returns true when a bitmap over `rows` rows is smaller than a list of `members` of them.
pub(super) fn is_dense(members: usize, rows: usize) -> bool {
    members * 32 > rows
}
