//! Products of the rows of a table. Several rows with one id are one product with several prices.

use std::collections::BTreeMap;

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_publisher::catalogue::CHANNELS;
use tradepost_runtime::text_table::TextRow;
use tradepost_runtime::text_table::cells::{self, CellMistake, quoted};

use super::field::ProductField;
use super::sheet::Sheet;
use super::{
    MAPPING, ProductColumnUse, ProductTable, TableProblem, TableProduct, TableSettings, formats,
    words,
};

mod price;

/// Fields of a price, which each further row of a product has anew.
const PRICE_FIELDS: &[ProductField] = &[
    ProductField::Id,
    ProductField::Model,
    ProductField::Rate,
    ProductField::Floor,
    ProductField::Currency,
    ProductField::MinimumSpend,
    ProductField::PriceId,
];

/// Maximum number of prices of a product.
const MAX_PRICES: usize = 100;

/// Maximum characters of a name and of a description.
const MAX_NAME: usize = 200;
const MAX_DESCRIPTION: usize = 2_000;

/// Returns the products of a table, and every problem.
pub(super) fn products(sheet: &Sheet, settings: &TableSettings) -> ProductTable {
    let mut table = ProductTable {
        columns: columns(sheet),
        ignored_columns: sheet
            .columns
            .iter()
            .filter(|column| column.meaning.is_none() && !column.heading.is_empty())
            .map(|column| column.heading.clone())
            .collect(),
        rows: sheet.rows.len(),
        problems: sheet.problems.clone(),
        ..ProductTable::default()
    };
    let mut reader = TableReader {
        sheet,
        settings,
        table: &mut table,
        begun: Vec::new(),
        places: BTreeMap::new(),
    };
    reader.check_columns();
    for row in &sheet.rows {
        reader.read(row);
    }
    let TableReader { begun, .. } = reader;
    for product in begun {
        if product.is_sound {
            table.products.push(product.made);
        }
    }
    // A problem of a row as a whole comes before those of its cells.
    table.problems.sort_by_key(|problem| problem.row);
    if sheet.rows.is_empty() {
        table.problems.push(TableProblem {
            row: sheet.heading_row,
            column: None,
            message: "there is no row below the headings".to_owned(),
            hint: "write one row for each product".to_owned(),
        });
    }
    table
}

fn columns(sheet: &Sheet) -> Vec<ProductColumnUse> {
    let mut columns = Vec::new();
    for field in ProductField::ALL {
        for (index, column) in sheet.columns.iter().enumerate() {
            if column.meaning.as_ref().is_none_or(|meaning| meaning.field != *field) {
                continue;
            }
            let cells = sheet.rows.iter().filter_map(|row| row.cells.get(index));
            let mut filled = cells.filter(|cell| !cell.is_empty());
            let example = filled.next().cloned();
            columns.push(ProductColumnUse {
                field: field.name(),
                heading: column.heading.clone(),
                filled: usize::from(example.is_some()) + filled.count(),
                example: example.unwrap_or_default(),
            });
        }
    }
    columns
}

/// Product of which some rows were read.
struct BegunProduct<'s> {
    made: TableProduct,
    row: &'s TextRow,
    /// Number of its rows, each of which has a price.
    rows: usize,
    /// False when one of its rows has a problem.
    is_sound: bool,
}

/// Cell of a field.
#[derive(Clone, Copy)]
struct FieldCell<'s> {
    text: &'s str,
}

struct TableReader<'s, 't> {
    sheet: &'s Sheet,
    settings: &'s TableSettings,
    table: &'t mut ProductTable,
    begun: Vec<BegunProduct<'s>>,
    /// Places in `begun` by id.
    places: BTreeMap<String, usize>,
}

impl<'s> TableReader<'s, '_> {
    /// Reports columns without which there is no product.
    fn check_columns(&mut self) {
        let required = [
            (ProductField::Name, "a column such as \"Product name\""),
            (
                ProductField::Description,
                "a column such as \"Description\": buyers' agents find products by these words",
            ),
            (ProductField::Formats, "a column such as \"Formats\" with 300x250 or video 30s"),
        ];
        for (field, what) in required {
            if !self.has_column(field) {
                self.lacks(field.name(), what);
            }
        }
        if !self.has_column(ProductField::Rate) && !self.has_column(ProductField::Floor) {
            self.lacks("rate or floor", "a column such as \"Rate\" or \"Floor price\"");
        }
    }

    fn lacks(&mut self, field: &str, what: &str) {
        self.table.problems.push(TableProblem {
            row: self.sheet.heading_row,
            column: None,
            message: format!("no column holds {field}"),
            hint: format!("add {what}, or map one with {}", MAPPING.hint("FIELD", "HEADING")),
        });
    }

    fn has_column(&self, field: ProductField) -> bool {
        self.sheet
            .columns
            .iter()
            .any(|column| column.meaning.as_ref().is_some_and(|meaning| meaning.field == field))
    }

    /// Returns the cell of a field, when its column is there. It may be empty.
    fn cell(&self, row: &'s TextRow, field: ProductField) -> Option<FieldCell<'s>> {
        let index = self.sheet.columns.iter().position(|column| {
            column.meaning.as_ref().is_some_and(|meaning| meaning.field == field)
        })?;
        let text = row.cells.get(index).map(String::as_str).unwrap_or_default();
        Some(FieldCell { text })
    }

    /// Returns the text of a field, unless it is empty.
    fn text(&self, row: &'s TextRow, field: ProductField) -> Option<FieldCell<'s>> {
        self.cell(row, field).filter(|cell| !cell.text.is_empty())
    }

    fn problem(&mut self, row: &TextRow, field: ProductField, mistake: CellMistake) {
        let CellMistake { message, hint } = mistake;
        let is_it = |column: &&super::sheet::SheetColumn| {
            column.meaning.as_ref().is_some_and(|meaning| meaning.field == field)
        };
        let column = self.sheet.columns.iter().find(is_it).map(|column| column.heading.clone());
        self.table.problems.push(TableProblem { row: row.number, column, message, hint });
    }

    /// Reads the cell of a field, if there is something in it, and reports its mistake.
    fn parsed<T>(
        &mut self,
        row: &'s TextRow,
        field: ProductField,
        parse: impl Fn(&str) -> Result<T, CellMistake>,
    ) -> Option<T> {
        let cell = self.text(row, field)?;
        parse(cell.text).map_err(|mistake| self.problem(row, field, mistake)).ok()
    }

    /// Reads a row: a new product, or a further price of one.
    fn read(&mut self, row: &'s TextRow) {
        let before = self.table.problems.len();
        let id = self.id(row);
        let price = self.price(row);
        let earlier = id.as_ref().and_then(|id| self.places.get(id).copied());
        match earlier {
            Some(index) => self.add_price(index, row, price, before),
            None => {
                if let Some(id) = &id {
                    self.places.insert(id.clone(), self.begun.len());
                }
                let mut made = self.product(row, id.unwrap_or_default());
                if let Some(price) = price {
                    price::add(&mut made.published, price);
                }
                let is_sound = self.table.problems.len() == before;
                self.check_capacity(row, &made);
                let is_sound = is_sound && self.table.problems.len() == before;
                // Without an id it is not found again, but its problems are reported.
                self.begun.push(BegunProduct { made, row, rows: 1, is_sound });
            }
        }
    }

    fn add_price(&mut self, index: usize, row: &'s TextRow, price: Option<Map>, before: usize) {
        let Some(first) = self.begun.get(index).map(|begun| begun.row) else { return };
        for field in ProductField::ALL.iter().filter(|field| !PRICE_FIELDS.contains(field)) {
            let Some(cell) = self.text(row, *field) else { continue };
            let same = self.text(first, *field).is_some_and(|other| other.text == cell.text);
            if !same {
                let message = format!(
                    "differs from row {}, which begins the product with this id",
                    first.number
                );
                let hint = "give the product an id of its own, or leave the cell empty: a further row with an id adds \
                            a price";
                self.problem(row, *field, CellMistake::new(message, hint));
            }
        }
        let count = self.begun.get(index).map_or(0, |begun| begun.rows) + 1;
        if count > MAX_PRICES {
            let message = format!(
                "the product that row {} begins has {count} prices, and at most {MAX_PRICES} are taken",
                first.number
            );
            self.problem_of_row(row, &message, "remove the row, or give it an id of its own");
        }
        let is_sound = self.table.problems.len() == before;
        let Some(begun) = self.begun.get_mut(index) else { return };
        begun.rows = count;
        begun.is_sound &= is_sound;
        if let Some(price) = price.filter(|_| begun.is_sound) {
            price::add(&mut begun.made.published, price);
        }
    }

    /// Returns the id of a row, which may be made from its name.
    fn id(&mut self, row: &'s TextRow) -> Option<String> {
        let Some(cell) = self.text(row, ProductField::Id) else {
            if self.has_column(ProductField::Id) {
                let name = self.text(row, ProductField::Name).map(|cell| slug(cell.text));
                let hint = match name.filter(|name| !name.is_empty()) {
                    Some(name) => format!("write an id, such as {name}"),
                    None => "write an id, or remove the row".to_owned(),
                };
                self.problem(row, ProductField::Id, CellMistake::new("is empty", hint));
                return None;
            }
            let made = slug(self.text(row, ProductField::Name)?.text);
            return Some(made).filter(|made| !made.is_empty());
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        if cell.text.len() > 100 || !cell.text.chars().all(is_plain) {
            let message = format!("{} is no id", quoted(cell.text));
            let hint = format!(
                "write letters, digits, -, _ and . without spaces, such as {}",
                slug(cell.text)
            );
            self.problem(row, ProductField::Id, CellMistake::new(message, hint));
            return None;
        }
        Some(cell.text.to_owned())
    }

    /// Reads everything of a product but its price.
    fn product(&mut self, row: &'s TextRow, id: String) -> TableProduct {
        let mut made = TableProduct {
            row: row.number,
            id: id.clone(),
            published: Map::new(),
            terms: Map::new(),
            initial: Map::new(),
            cleared: Vec::new(),
        };
        made.published.insert("product_id".to_owned(), id.into());
        self.prose(row, ProductField::Name, MAX_NAME, &mut made);
        self.prose(row, ProductField::Description, MAX_DESCRIPTION, &mut made);
        self.properties(row, &mut made);
        self.channel_and_formats(row, &mut made);
        self.delivery(row, &mut made);
        if let Some(is_exclusive) = self.parsed(row, ProductField::Exclusive, cells::truth)
            && is_exclusive
        {
            made.published.insert("exclusivity".to_owned(), "exclusive".into());
        }
        if let Some(count) = self.parsed(row, ProductField::Available, cells::count) {
            let forecast = json!({
                "method": "estimate", "forecast_range_unit": "availability",
                "points": [{"metrics": {"impressions": {"mid": count}}}],
            });
            made.published.insert("forecast".to_owned(), forecast);
        }
        self.terms(row, &mut made);
        let optional = [
            ProductField::Exclusive,
            ProductField::Available,
            ProductField::PerDay,
            ProductField::Countries,
            ProductField::Keywords,
            ProductField::Approval,
            ProductField::SoldOut,
            ProductField::ExpiresAt,
            ProductField::AdServer,
        ];
        for field in optional {
            let member = super::merge::member(field);
            let is_set = member.is_some_and(|member| member.is_in(&made.published, &made.terms));
            if self.cell(row, field).is_some() && !is_set {
                made.cleared.push(field);
            }
        }
        made
    }

    fn prose(
        &mut self,
        row: &'s TextRow,
        field: ProductField,
        max: usize,
        made: &mut TableProduct,
    ) {
        let Some(cell) = self.cell(row, field) else { return };
        if cell.text.is_empty() {
            let mistake =
                CellMistake::new("is empty", "every product needs it; write it, or remove the row");
            return self.problem(row, field, mistake);
        }
        let length = cell.text.chars().count();
        if length > max {
            let message = format!("has {length} characters, and at most {max} are taken");
            return self.problem(row, field, CellMistake::new(message, "shorten it"));
        }
        made.published.insert(field.name().to_owned(), cell.text.into());
    }

    fn properties(&mut self, row: &'s TextRow, made: &mut TableProduct) {
        let domain = self.settings.domain.as_str();
        let whole = json!([{"publisher_domain": domain, "selection_type": "all"}]);
        let Some(cell) = self.text(row, ProductField::Property) else {
            let into = match self.has_column(ProductField::Property) {
                true => &mut made.published,
                false => &mut made.initial,
            };
            into.insert("publisher_properties".to_owned(), whole);
            return;
        };
        let mut selectors: Vec<Value> = Vec::new();
        let mut own_tags = Vec::new();
        for item in cells::items(cell.text) {
            let (named, tag) = match item.split_once(':') {
                Some((named, tag)) => (named.trim(), Some(tag.trim())),
                None if item.contains('.') => (item, None),
                None => (domain, Some(item)),
            };
            let tag = tag.map(tag_of);
            let named = named.to_lowercase();
            let is_host = named.contains('.')
                && named.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'));
            if !is_host || tag.as_ref().is_some_and(String::is_empty) {
                let message = format!("{} is no part of a publisher's media", quoted(item));
                let hint =
                    "write a tag such as sports, a domain such as gazette.example, or domain:tag";
                self.problem(row, ProductField::Property, CellMistake::new(message, hint));
                continue;
            }
            match tag {
                Some(tag) if named == domain => own_tags.push(tag),
                Some(tag) => selectors.push(json!({
                    "publisher_domain": named, "selection_type": "by_tag", "property_tags": [tag],
                })),
                None => selectors.push(json!({"publisher_domain": named, "selection_type": "all"})),
            }
        }
        if !own_tags.is_empty() {
            selectors.insert(
                0,
                json!({"publisher_domain": domain, "selection_type": "by_tag", "property_tags": own_tags}),
            );
        }
        made.published.insert("publisher_properties".to_owned(), selectors.into());
    }

    fn channel_and_formats(&mut self, row: &'s TextRow, made: &mut TableProduct) {
        let mut ids: Vec<Value> = Vec::new();
        if let Some(cell) = self.cell(row, ProductField::Formats) {
            if cell.text.is_empty() {
                let mistake = CellMistake::new(
                    "is empty",
                    "write a size such as 300x250, video 30s, audio 15s or native",
                );
                self.problem(row, ProductField::Formats, mistake);
            }
            for item in cells::items(cell.text) {
                if self.settings.known_formats.contains(item) {
                    ids.push(json!({"id": item}));
                    continue;
                }
                match formats::named(item) {
                    Err(mistake) => self.problem(row, ProductField::Formats, mistake),
                    Ok(format) => {
                        let id = json!({"id": format.id});
                        if !ids.contains(&id) {
                            ids.push(id);
                        }
                        let listed = self.table.formats.contains(&format.document);
                        if !listed && !self.settings.known_formats.contains(&format.id) {
                            self.table.formats.push(format.document);
                        }
                    }
                }
            }
        }
        let found = channel_of(&ids);
        made.published.insert("format_ids".to_owned(), ids.into());
        let channels = match self.text(row, ProductField::Channel) {
            None => {
                made.initial.insert("channels".to_owned(), json!([found]));
                vec![found.to_owned()]
            }
            Some(cell) => {
                let channels: Vec<String> =
                    cells::items(cell.text).into_iter().map(words::channel).collect();
                for channel in
                    channels.iter().filter(|channel| !CHANNELS.contains(&channel.as_str()))
                {
                    let message = format!("{} is no channel", quoted(channel));
                    let hint = format!("write one of {}", CHANNELS.join(", "));
                    self.problem(row, ProductField::Channel, CellMistake::new(message, hint));
                }
                made.published.insert("channels".to_owned(), json!(channels));
                channels
            }
        };
        made.initial.insert("reporting_capabilities".to_owned(), reporting(&channels));
    }

    fn delivery(&mut self, row: &'s TextRow, made: &mut TableProduct) {
        let read = |text: &str| {
            words::delivery_type(text).ok_or_else(|| {
                CellMistake::new(
                    format!("{} is no kind of delivery", quoted(text)),
                    "write guaranteed or non_guaranteed",
                )
            })
        };
        let has_rate = self.text(row, ProductField::Rate).is_some();
        let by_price = if has_rate { "guaranteed" } else { "non_guaranteed" };
        match self.text(row, ProductField::Delivery) {
            None => {
                made.initial.insert("delivery_type".to_owned(), by_price.into());
            }
            Some(_) => {
                if let Some(delivery) = self.parsed(row, ProductField::Delivery, read) {
                    made.published.insert("delivery_type".to_owned(), delivery.into());
                }
            }
        }
    }

    fn terms(&mut self, row: &'s TextRow, made: &mut TableProduct) {
        let terms = &mut made.terms;
        if let Some(per_day) = self.parsed(row, ProductField::PerDay, cells::count) {
            terms.insert("capacity".to_owned(), json!({"per_day": per_day}));
        }
        if let Some(countries) = self.parsed(row, ProductField::Countries, words::countries)
            && !countries.is_empty()
        {
            terms.insert("countries".to_owned(), json!(countries));
        }
        if let Some(cell) = self.text(row, ProductField::Keywords) {
            terms.insert("keywords".to_owned(), json!(cells::items(cell.text)));
        }
        for (field, name) in
            [(ProductField::Approval, "approval"), (ProductField::SoldOut, "sold_out")]
        {
            if self.parsed(row, field, cells::truth) == Some(true) {
                terms.insert(name.to_owned(), true.into());
            }
        }
        if let Some(end) = self.parsed(row, ProductField::ExpiresAt, words::end) {
            terms.insert("expires_at".to_owned(), end.into());
        }
        if let Some(cell) = self.text(row, ProductField::AdServer) {
            terms.insert("ad_server".to_owned(), json!({"inventory": cells::items(cell.text)}));
        }
    }

    /// Reports a count of impressions a day that no booking could be counted against.
    fn check_capacity(&mut self, row: &'s TextRow, made: &TableProduct) {
        if !made.terms.contains_key("capacity") || made.published.contains_key("exclusivity") {
            return;
        }
        let prices = made.published.get("pricing_options").and_then(Value::as_array);
        let Some(model) = prices.into_iter().flatten().find_map(|price| {
            let model = price.get("pricing_model")?.as_str()?;
            let is_uncounted =
                !matches!(model, "cpm" | "vcpm") && price.get("fixed_price").is_some();
            is_uncounted.then_some(model)
        }) else {
            return;
        };
        let message = format!("impressions cannot be counted against a price by {model}");
        let hint = "leave the cell empty, say yes to exclusive, or set units_per_day in the catalogue's terms";
        self.problem(row, ProductField::PerDay, CellMistake::new(message, hint));
    }
}

/// Returns the channel of formats.
fn channel_of(format_ids: &[Value]) -> &'static str {
    let first =
        format_ids.first().and_then(|id| id.get("id")).and_then(Value::as_str).unwrap_or_default();
    match first.split('_').next().unwrap_or_default() {
        "video" => "olv",
        "audio" => "streaming_audio",
        _ => "display",
    }
}

/// Returns what is reported of a product: what every ad server counts.
fn reporting(channels: &[String]) -> Value {
    let is = |names: &[&str]| channels.iter().any(|channel| names.contains(&channel.as_str()));
    let mut metrics = vec!["impressions", "spend"];
    if is(&["display", "email", "social", "search", "olv", "gaming", "retail_media"]) {
        metrics.push("clicks");
    }
    if is(&["olv", "ctv", "streaming_audio", "podcast"]) {
        metrics.extend(["completed_views", "completion_rate"]);
    }
    json!({
        "available_reporting_frequencies": ["daily"],
        "expected_delay_minutes": 240,
        "timezone": "UTC",
        "supports_webhooks": false,
        "available_metrics": metrics,
        "date_range_support": "date_range",
    })
}

/// Makes a tag from words.
fn tag_of(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let plain: String = text.chars().map(plain).collect();
    plain.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// Makes an id from a name.
fn slug(name: &str) -> String {
    tag_of(name).chars().take(64).collect()
}
