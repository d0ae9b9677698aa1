//! Answers as buyers' agents get them: to a question that staff types, and about a vehicle. They come from
//! the skills themselves, and do not count as questions of buyers.

use askama::Template;
use tradepost_a2a::DataPart;
use tradepost_aap::inventory::{Filters, ListedVehicle, Search};
use tradepost_aap::{AapReply, QUERY_READING, RawJson, ReplyData, Skill, VehicleQuery};
use tradepost_dealer::inventory::CurrentYear;
use tradepost_dealer::skills::{self, SkillError};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, to_string};
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_server::fault::InternalError;

use super::super::listing_warnings::Summary;
use super::agent::outline;
use super::inventory::{InventoryCar, car};
use super::{Answer, Console, ConsoleReply, PageError, PageFrame, Visitor, counted, link, plain};

/// Context of an internal error.
const CONTEXT: &str = "previewing an answer";

/// Maximum length of a question in characters (AAP 1.1, inventory-search-request schema).
const MAX_QUESTION_LENGTH: usize = 200;

/// Maximum number of vehicles that are shown as cards.
const MAX_SHOWN_VEHICLES: usize = 6;

#[derive(Debug, Template)]
#[template(path = "preview.html")]
struct PreviewPage {
    frame: PageFrame,
    heading: &'static str,
    back: String,
    dealer: String,
    question: String,
    skill: &'static str,
    /// False when the dealer's agent refuses the skill.
    is_offered: bool,
    /// `None` until a question is asked.
    answer: Option<PreviewedAnswer>,
}

#[derive(Debug)]
struct PreviewedAnswer {
    /// Filters and order, each with its name.
    reading: Vec<(String, String)>,
    message: Option<String>,
    total: String,
    /// True when the answer has more vehicles than are shown.
    is_cut: bool,
    cars: Vec<InventoryCar>,
    json: String,
}

impl Console {
    pub(crate) fn preview_search(&self, visitor: &Visitor<'_>) -> Answer {
        let seller = &*self.dealer(visitor, visitor.asked.asked_for("dealer"))?;
        let question = visitor.asked.asked_for("question").unwrap_or_default();
        let question: String = question.chars().take(MAX_QUESTION_LENGTH).collect();
        let terms = &seller.dealer.terms;
        let answer = if question.is_empty() {
            None
        } else {
            let filters = Filters { query: Some(question.clone()), ..Filters::default() };
            let search = Search { filters, ..Search::default() };
            let this_year = CurrentYear::from_timestamp(self.clock.now());
            let inventory = seller.inventory.load()?;
            let reply = skills::search(&inventory, &search, terms.search, this_year);
            let reply = reply.map_err(InternalError::on(CONTEXT))?;
            Some(self.previewed(seller, reply)?)
        };
        self.preview(visitor, seller, Skill::InventorySearch, question, answer)
    }

    pub(crate) fn preview_vehicle(&self, visitor: &Visitor<'_>) -> Answer {
        let seller = &*self.dealer(visitor, visitor.asked.asked_for("dealer"))?;
        let id = visitor.asked.asked_for("vehicle_id").ok_or(PageError::NotFound)?;
        let query = VehicleQuery { vehicle_id: Some(id.to_owned()), ..VehicleQuery::default() };
        let inventory = seller.inventory.load()?;
        let now = self.clock.now();
        let reply = match skills::vehicle(&seller.dealer.terms, &inventory, &query, now) {
            Ok(reply) => reply,
            // Agents get an error for a vehicle that is not on offer, and a person a page that says so.
            Err(SkillError::Refused(_)) => return Err(PageError::NotFound),
            Err(SkillError::Broken(fault)) => return Err(fault.into()),
        };
        let answer = self.previewed(seller, reply)?;
        self.preview(visitor, seller, Skill::InventoryVehicle, String::new(), Some(answer))
    }

    fn preview(
        &self,
        visitor: &Visitor<'_>,
        seller: &DealerAgent,
        skill: Skill,
        question: String,
        answer: Option<PreviewedAnswer>,
    ) -> Answer {
        let terms = &seller.dealer.terms;
        let cars = answer.iter().flat_map(|answer| &answer.cars);
        let photos: Vec<_> = cars.filter_map(|car| car.photo.clone()).collect();
        let page = PreviewPage {
            frame: self.frame(visitor, "Inventory")?,
            heading: match skill {
                Skill::InventorySearch => "Ask as an agent",
                Skill::InventoryVehicle
                | Skill::InventoryFacets
                | Skill::DealerInformation
                | Skill::LeadSubmit => "Vehicle as an agent gets it",
            },
            back: link("inventory", [("dealer", Some(terms.id.as_str()))]),
            dealer: terms.id.clone(),
            question,
            skill: skill.name(),
            is_offered: terms.skills.contains(&skill),
            answer,
        };
        Ok(ConsoleReply::page(&page).with_photos(photos.iter().map(String::as_str)))
    }

    /// Returns a reply as the page shows it.
    fn previewed(
        &self,
        seller: &DealerAgent,
        reply: AapReply,
    ) -> Result<PreviewedAnswer, PageError> {
        let terms = &seller.dealer.terms;
        let summary = self.offers.summary(&self.store, terms)?;
        let (total, vehicles) = vehicles(&reply.data);
        let cars = cars(&vehicles, &summary, &terms.id);
        let reading = reply.reading.as_ref().map(shown_reading).unwrap_or_default();
        Ok(PreviewedAnswer {
            reading,
            message: reply.message.clone(),
            total: counted(total, "vehicle", "vehicles"),
            is_cut: total > cars.len(),
            cars,
            json: part(reply)?,
        })
    }
}

/// Returns the number of matches, and the vehicles of an answer.
fn vehicles(data: &ReplyData) -> (usize, Vec<&RawJson>) {
    match data {
        ReplyData::Page(page) => {
            (page.total, page.vehicles.iter().map(ListedVehicle::json).collect())
        }
        ReplyData::Vehicle(vehicle) => (1, vec![vehicle]),
        ReplyData::Dealer(_)
        | ReplyData::Facets(_)
        | ReplyData::Lead(_)
        | ReplyData::Written(_) => (0, Vec::new()),
    }
}

fn cars(vehicles: &[&RawJson], summary: &Summary, dealer_id: &str) -> Vec<InventoryCar> {
    vehicles.iter().take(MAX_SHOWN_VEHICLES).map(|raw| car(raw, summary, dealer_id)).collect()
}

/// Returns the part of a message with a reply, as an agent receives it.
fn part(mut reply: AapReply) -> Result<String, InternalError> {
    let metadata = reply.reading.take();
    let metadata =
        metadata.map(|reading| Map::from([(QUERY_READING.to_owned(), Value::Object(reading))]));
    let media_type = reply.skill.response_media_type();
    let text = to_string(&DataPart { media_type, metadata, data: reply });
    let text = text.map_err(InternalError::on(CONTEXT))?;
    let value: Value =
        tradepost_document::json::from_str(&text).map_err(InternalError::on(CONTEXT))?;
    Ok(outline(&value))
}

/// Returns the filters of a reading, and its order.
fn shown_reading(reading: &Map) -> Vec<(String, String)> {
    let filters = reading.get("filters").and_then(Value::as_object);
    let filters = filters.into_iter().flatten();
    let mut shown: Vec<_> = filters
        .map(|(name, value)| match name.as_str() {
            "query" => ("words without a filter".to_owned(), in_words(value)),
            name => (plain(name), in_words(value)),
        })
        .collect();
    if let Some(sort) = reading.get("sort") {
        let member = |name: &str| sort.get(name).and_then(Value::as_str).unwrap_or_default();
        shown.push(("order".to_owned(), format!("{} {}", plain(member("field")), member("order"))));
    }
    shown
}

/// Writes the value of a filter.
fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
