//! tantivy: one segment in memory, terms and fast fields, its own aggregations.

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use tantivy::aggregation::AggregationCollector;
use tantivy::aggregation::agg_req::Aggregations;
use tantivy::aggregation::agg_result::{AggregationResult, BucketResult, MetricResult};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{AllQuery, BooleanQuery, Occur, Query, RangeQuery, TermQuery, TermSetQuery};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TEXT, Value as _,
};
use tantivy::{DocAddress, Index, IndexWriter, Order, Searcher, TantivyDocument, Term};
use tradepost_aap::inventory::{self, FacetRange, TermValue};
use tradepost_aap::{Facets, Filters, Search};
use tradepost_document::catalog::Vocabulary as _;

use crate::vehicles::{BenchInventory, words};
use crate::{Engine, Fallible, PAGE, Page};

/// The facets that are texts, by the name of the member of a listing.
const TEXTS: [&str; 12] = [
    "make",
    "model",
    "trim",
    "condition",
    "transmission",
    "fuel",
    "driveline",
    "body",
    "exterior_color",
    "interior_color",
    "rooftop",
    "status",
];

const NUMBERS: [&str; 5] = ["year", "price", "list_price", "mileage", "updated_at"];

pub struct Tantivy {
    searcher: Searcher,
    schema: Schema,
    json: Field,
    facets: Aggregations,
}

impl Tantivy {
    pub fn from_inventory(inventory: &BenchInventory) -> Fallible<Self> {
        let mut schema = Schema::builder();
        let texts = TEXTS.map(|name| schema.add_text_field(name, STRING | FAST));
        let numbers = NUMBERS.map(|name| schema.add_u64_field(name, INDEXED | FAST));
        let vin = schema.add_text_field("vin", STRING);
        let in_words = schema.add_text_field("words", TEXT);
        let json = schema.add_text_field("json", STORED);
        let schema = schema.build();
        let index = Index::create_in_ram(schema.clone());
        // One thread: rows stay in the order of their ids.
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 1_000_000_000)?;
        for vehicle in &inventory.vehicles {
            let mut document = TantivyDocument::default();
            let condition = vehicle.condition.map(|condition| condition.name());
            let status = vehicle.status.map(|status| status.name());
            let values = [
                vehicle.make.as_deref(),
                vehicle.model.as_deref(),
                vehicle.trim.as_deref(),
                condition,
                vehicle.transmission.as_deref(),
                vehicle.fuel.as_deref(),
                vehicle.driveline.as_deref(),
                vehicle.body.as_deref(),
                vehicle.exterior_color.as_deref(),
                vehicle.interior_color.as_deref(),
                vehicle.rooftop.as_deref(),
                status,
            ];
            for (field, value) in texts.into_iter().zip(values) {
                value.into_iter().for_each(|value| document.add_text(field, value));
            }
            let updated =
                vehicle.updated_at.and_then(|moment| u64::try_from(moment.as_second()).ok());
            let values = [
                vehicle.year.map(u64::from),
                vehicle.price.map(u64::from),
                vehicle.list_price.map(u64::from),
                vehicle.mileage.map(u64::from),
                updated,
            ];
            for (field, value) in numbers.into_iter().zip(values) {
                value.into_iter().for_each(|value| document.add_u64(field, value));
            }
            document.add_text(vin, vehicle.vin.as_deref().unwrap_or_default());
            document.add_text(in_words, words(vehicle));
            document.add_text(json, tradepost_document::json::to_string(vehicle)?);
            writer.add_document(document)?;
        }
        writer.commit()?;
        let segments = index.searchable_segment_ids()?;
        if segments.len() > 1 {
            writer.merge(&segments).wait()?;
        }
        writer.wait_merging_threads()?;
        let searcher = index.reader()?.searcher();
        Ok(Self { searcher, schema, json, facets: facets()? })
    }

    fn field(&self, name: &str) -> Fallible<Field> {
        Ok(self.schema.get_field(name)?)
    }

    fn query(&self, filters: &Filters) -> Fallible<Box<dyn Query>> {
        let mut queries: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        if !filters.make.is_empty() {
            let make = self.field("make")?;
            let terms = filters.make.iter().map(|text| Term::from_field_text(make, text));
            queries.push((Occur::Must, Box::new(TermSetQuery::new(terms.collect::<Vec<_>>()))));
        }
        if let Some(bound) = filters.price_max {
            let term = Term::from_field_u64(self.field("price")?, bound.into());
            let range = RangeQuery::new(Bound::Unbounded, Bound::Included(term));
            queries.push((Occur::Must, Box::new(range)));
        }
        if let Some(bound) = filters.year_min {
            let term = Term::from_field_u64(self.field("year")?, bound.into());
            let range = RangeQuery::new(Bound::Included(term), Bound::Unbounded);
            queries.push((Occur::Must, Box::new(range)));
        }
        let words = self.field("words")?;
        for word in filters.query.iter().flat_map(|query| query.split(' ')) {
            let term = Term::from_field_text(words, word);
            queries.push((Occur::Must, Box::new(TermQuery::new(term, IndexRecordOption::Basic))));
        }
        if queries.is_empty() {
            return Ok(Box::new(AllQuery));
        }
        Ok(Box::new(BooleanQuery::new(queries)))
    }

    fn listing(&self, address: DocAddress) -> Fallible<String> {
        let document: TantivyDocument = self.searcher.doc(address)?;
        let json = document.get_first(self.json).and_then(|json| json.as_str());
        Ok(json.ok_or("a listing is missing")?.to_owned())
    }
}

/// All facets as one request.
fn facets() -> Fallible<Aggregations> {
    let mut request = serde_json::Map::new();
    for name in TEXTS.into_iter().chain(["year"]) {
        let terms =
            serde_json::json!({"terms": {"field": name, "size": 10_000, "segment_size": 10_000}});
        request.insert(name.to_owned(), terms);
    }
    for name in ["price", "mileage", "year"] {
        for end in ["min", "max"] {
            let metric = serde_json::json!({end: {"field": name}});
            request.insert(format!("{name} {end}"), metric);
        }
    }
    Ok(serde_json::from_value(request.into())?)
}

impl Engine for Tantivy {
    fn name(&self) -> &'static str {
        "tantivy"
    }

    fn page(&self, search: &Search) -> Fallible<Page> {
        let query = self.query(&search.filters)?;
        let (field, order) = match search.sort {
            Some(_) => ("list_price", Order::Asc),
            None => ("updated_at", Order::Desc),
        };
        let first = TopDocs::with_limit(PAGE as usize).order_by_fast_field::<u64>(field, order);
        let (total, found) = self.searcher.search(&query, &(Count, first))?;
        let listings = found.into_iter().map(|(_, address)| self.listing(address));
        Ok(Page { total, listings: listings.collect::<Fallible<_>>()? })
    }

    fn facets(&self, filters: &Filters) -> Fallible<Arc<Facets>> {
        let query = self.query(filters)?;
        let collector = AggregationCollector::from_aggs(self.facets.clone(), Default::default());
        let mut found: HashMap<String, AggregationResult> =
            self.searcher.search(&query, &collector)?.0.into_iter().collect();
        let mut terms = |name: &str| match found.remove(name) {
            Some(AggregationResult::BucketResult(BucketResult::Terms { buckets, .. })) => {
                let mut terms = Vec::with_capacity(buckets.len());
                for bucket in buckets {
                    let count = usize::try_from(bucket.doc_count)?;
                    terms.push(inventory::FacetTerm { value: value(&bucket.key), count });
                }
                Ok::<_, Box<dyn std::error::Error>>(terms)
            }
            _ => Err(format!("no facet of {name}").into()),
        };
        let mut texts = |name: &str| {
            let mut terms = terms(name)?;
            terms.sort_unstable_by(|one, other| {
                other.count.cmp(&one.count).then_with(|| one.value.cmp(&other.value))
            });
            Ok::<_, Box<dyn std::error::Error>>(terms)
        };
        let [makes, models, trims, conditions, transmissions, fuels] =
            ["make", "model", "trim", "condition", "transmission", "fuel"].map(&mut texts);
        let [drivelines, bodies, exterior_colors, interior_colors, rooftops, statuses] =
            ["driveline", "body", "exterior_color", "interior_color", "rooftop", "status"]
                .map(&mut texts);
        let mut years = texts("year")?;
        years.sort_unstable_by(|one, other| other.value.cmp(&one.value));
        let mut end = |name: &str, end: &str| match found.remove(&format!("{name} {end}")) {
            Some(AggregationResult::MetricResult(MetricResult::Min(value))) => value.value,
            Some(AggregationResult::MetricResult(MetricResult::Max(value))) => value.value,
            _ => None,
        };
        let mut range = |name: &str| {
            let min = end(name, "min")?;
            let max = end(name, "max")?;
            Some(FacetRange { min: min as u32, max: max as u32 })
        };
        let [price_range, mileage_range, year_range] = ["price", "mileage", "year"].map(&mut range);
        Ok(Arc::new(Facets {
            makes: makes?,
            models: models?,
            trims: trims?,
            years,
            conditions: conditions?,
            transmissions: transmissions?,
            fuels: fuels?,
            drivelines: drivelines?,
            bodies: bodies?,
            exterior_colors: exterior_colors?,
            interior_colors: interior_colors?,
            rooftops: rooftops?,
            statuses: statuses?,
            price_range,
            mileage_range,
            year_range,
        }))
    }

    fn vehicle(&self, vin: &str) -> Fallible<String> {
        let term = Term::from_field_text(self.field("vin")?, vin);
        let query = TermQuery::new(term, IndexRecordOption::Basic);
        let found = self.searcher.search(&query, &TopDocs::with_limit(1).order_by_score())?;
        let (_, address) = found.first().ok_or("it is not there")?;
        self.listing(*address)
    }
}

fn value(key: &tantivy::aggregation::Key) -> TermValue {
    match key {
        tantivy::aggregation::Key::Str(text) => TermValue::Text(text.clone()),
        tantivy::aggregation::Key::I64(number) => TermValue::Number(*number as u32),
        tantivy::aggregation::Key::U64(number) => TermValue::Number(*number as u32),
        tantivy::aggregation::Key::F64(number) => TermValue::Number(*number as u32),
    }
}
