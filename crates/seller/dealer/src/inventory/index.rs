//! The search index: columns, orders and words.

use std::sync::OnceLock;

use jiff::Timestamp;
use tradepost_aap::Filters;
use tradepost_document::catalog::Vocabulary as _;

use super::codes::{Codes, at, index};
use super::column::{NumberColumn, TextColumn, encode};
use super::columns::{ByNumber, ByText};
use super::features::Features;
use super::gather::Gathered;
use super::groups::ColumnGroups;
use super::identifiers;
use super::texts::Texts;
use crate::query::{
    Attribute, AttributeValue, CurrentYear, Lexicon, Predicate, QueryInterpretation, QueryRemark,
    RequiredPhrase, understand,
};

/// The search index. Rows are numbered in the default order: `updated_at` descending, then vehicle
/// id (C-37).
#[derive(Debug, Default)]
pub(super) struct SearchIndex {
    /// Vehicle ids, ascending.
    pub(super) ids: Texts,
    /// Rows by vehicle id.
    pub(super) by_id: Vec<u32>,
    /// Position of each row in `by_id`.
    pub(super) id_ranks: Vec<u32>,
    pub(super) texts: ByText<TextColumn>,
    pub(super) vin: TextColumn,
    pub(super) stock: TextColumn,
    pub(super) numbers: ByNumber<NumberColumn>,
    pub(super) updated_at: Codes,
    pub(super) features: Features,
    pub(super) order: identifiers::IdentifierOrders,
    pub(super) lexicon: Lexicon,
    /// Column groups for facet counts, built on first use.
    pub(super) groups: OnceLock<ColumnGroups>,
}

impl SearchIndex {
    /// Indexes collected vehicles in the default order. Memory of a column's values is freed before
    /// the next column is built.
    pub(super) fn new(all: Gathered) -> Self {
        let mut by_id: Vec<u32> = (0..index(all.ids.len())).collect();
        let id = |row: u32| (all.ids.get(row as usize), row);
        by_id.sort_unstable_by(|one, other| id(*one).cmp(&id(*other)));
        let ids: Texts = by_id.iter().map(|row| all.ids.get(*row as usize)).collect();
        drop(all.ids);
        let features = Features::new(all.features, by_id.len());

        let texts = all
            .texts
            .map(|(field, prepared), words| prepared(TextColumn::new(field, &words, &by_id)));
        let numbers =
            all.numbers.map(|prepared, values| prepared(NumberColumn::new(&values, &by_id)));
        let mut distinct: Vec<Timestamp> = all.updated_at.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let updated_at = encode(&all.updated_at, &distinct, &by_id);
        drop((all.updated_at, distinct));
        let identifiers = |texts: Texts| TextColumn::identifiers(&texts, &by_id);
        let stock = identifiers(all.stock);
        let vin = identifiers(all.vin);
        let mut this = Self {
            texts,
            numbers,
            features,
            order: identifiers::IdentifierOrders::new(&stock, &vin),
            vin,
            stock,
            updated_at,
            lexicon: Lexicon::default(),
            groups: OnceLock::new(),
            id_ranks: ranks(&by_id),
            ids,
            by_id,
        };
        this.lexicon = this.words();
        this
    }

    /// Returns the row of a vehicle id.
    pub(super) fn row_of(&self, vehicle_id: &str) -> Option<u32> {
        self.by_id.get(self.ids.find(vehicle_id)? as usize).copied()
    }

    /// Returns the vehicle id of a row.
    pub(super) fn vehicle_id(&self, row: u32) -> &str {
        self.ids.get(at(&self.id_ranks, row) as usize)
    }

    /// Returns its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.texts.each().chain([&self.vin, &self.stock]);
        self.ids.bytes()
            + (self.by_id.capacity() + self.id_ranks.capacity()) * size_of::<u32>()
            + texts.map(TextColumn::bytes).sum::<usize>()
            + self.numbers.each().map(NumberColumn::bytes).sum::<usize>()
            + self.updated_at.bytes()
            + self.features.bytes()
            + self.order.bytes()
            + self.lexicon.bytes()
            + self.groups.get().map_or(0, ColumnGroups::bytes)
    }

    /// Returns the lexicon of the words in the columns.
    pub(super) fn words(&self) -> Lexicon {
        let mut lexicon = Lexicon::default();
        for attribute in Attribute::ALL.iter().copied() {
            if let Some(column) = self.text(attribute) {
                for id in 0..column.rows.distinct() {
                    lexicon.add(AttributeValue { attribute, id }, column.spelling(id));
                }
            }
        }
        for (id, name) in self.features.names() {
            lexicon.add(AttributeValue { attribute: Attribute::Feature, id }, name);
        }
        let all = 0..index(self.by_id.len());
        let pair = |row| (self.texts.make.rows.code(row), self.texts.model.rows.code(row));
        let mut pairs: Vec<(u32, u32)> = all.map(pair).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (make, model) in pairs {
            let makes = self.texts.make.spelling(make);
            let models = self.texts.model.spelling(model);
            // A row without a make or model forms a pair too; a missing value has the empty
            // spelling.
            if !makes.is_empty() {
                lexicon.add_pair(make, makes, model, models);
            }
        }
        lexicon.sort();
        lexicon
    }

    /// Interprets the query of some filters.
    pub(super) fn understand(
        &self,
        filters: &Filters,
        this_year: CurrentYear,
    ) -> Option<QueryInterpretation> {
        // An empty query is no query.
        let query = filters.query.as_deref().filter(|query| !query.is_empty())?;
        let mut query = understand(query, &self.lexicon, self, this_year);
        self.relax_trim(filters, &mut query);
        Some(query)
    }

    /// Leaves out the trim of a named model where no vehicle has it with everything else, and some
    /// have everything else: `Camry XSE in blue` finds a blue Camry of another trim.
    fn relax_trim(&self, filters: &Filters, query: &mut QueryInterpretation) {
        let names_model = |want: &RequiredPhrase| {
            !want.negated
                && (want.attribute == Some(Attribute::Model)
                    || matches!(want.any.as_slice(), [Predicate::Pair { .. }, ..]))
        };
        let is_trim = |want: &RequiredPhrase| {
            let has_trim = |predicate: &Predicate| {
                matches!(predicate, Predicate::Values(values)
                    if values.iter().any(|value| value.attribute == Attribute::Trim))
            };
            !want.negated && want.any.iter().all(has_trim) && !want.any.is_empty()
        };
        let has_both = query.wants.iter().any(names_model) && query.wants.iter().any(is_trim);
        if !has_both || self.matches(filters, Some(query)).len() > 0 {
            return;
        }
        let (trims, rest) = query.wants.iter().cloned().partition(is_trim);
        let trims: Vec<RequiredPhrase> = trims;
        let mut relaxed = QueryInterpretation { wants: rest, ..query.clone() };
        if self.matches(filters, Some(&relaxed)).len() == 0 {
            return;
        }
        let labels = trims.into_iter().map(|want| QueryRemark::Relaxed(want.label));
        relaxed.remarks.extend(labels);
        *query = relaxed;
    }
}

/// Returns the rank of each row in a list of all rows.
pub(super) fn ranks(rows: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; rows.len()];
    for (row, rank) in rows.iter().zip(0..) {
        if let Some(place) = ranks.get_mut(*row as usize) {
            *place = rank;
        }
    }
    ranks
}
