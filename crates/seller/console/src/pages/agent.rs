//! Pages about the agent: its card, and a checklist of what hinders sales.

use askama::Template;
use tradepost_dealer::delivery::DeliveryState;
use tradepost_document::json::Value;
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_runtime::feeds::{FeedStatus, unconfirmed_for};

use super::super::listing_warnings::{ListingWarning, Summary};
use super::feeds::last_taken;
use super::steps::StepView;
use super::{Answer, Console, ConsoleReply, PageFrame, Visitor, ago, counted, duration_text};

#[derive(Debug, Template)]
#[template(path = "card.html")]
struct CardPage {
    frame: PageFrame,
    cards: Vec<AgentCardView>,
}

#[derive(Debug)]
struct AgentCardView {
    name: String,
    description: String,
    version: String,
    interfaces: Vec<(String, String)>,
    skills: Vec<(String, String)>,
    is_signed: bool,
    json: String,
}

#[derive(Debug, Template)]
#[template(path = "checklist.html")]
struct ChecklistPage {
    frame: PageFrame,
    /// True when a step of a dealer is being tested.
    is_testing: bool,
    dealers: Vec<AgentDealerView>,
}

#[derive(Debug)]
struct AgentDealerView {
    dealer_id: String,
    name: String,
    steps: Vec<StepView>,
    steps_done: usize,
    done: usize,
    points: Vec<SellingPoint>,
}

/// A point of the checklist.
#[derive(Debug)]
struct SellingPoint {
    is_good: bool,
    title: &'static str,
    text: String,
    place: &'static str,
}

impl Console {
    pub(crate) fn card(&self, visitor: &Visitor<'_>) -> Answer {
        let cards = self.dealers(visitor).iter().map(|seller| card(seller)).collect();
        Ok(ConsoleReply::page(&CardPage { frame: self.frame(visitor, "Card")?, cards }))
    }

    pub(crate) fn checklist(&self, visitor: &Visitor<'_>) -> Answer {
        let now = self.clock.now();
        let mut dealers = Vec::new();
        for seller in self.dealers(visitor) {
            let terms = &seller.dealer.terms;
            let summary = self.offers.summary(&self.store, terms)?;
            let dead = self.store.deliveries(Some(&terms.id), None, Some(DeliveryState::Dead))?;
            let mut points = reachable(&seller);
            let feeds = FeedStatus::read_all(&self.store, &seller.dealer)?;
            points.extend(offered(&summary, &feeds, now));
            points.push(informed(dead.len()));
            points.push(open(&seller));
            // Open points come first.
            points.sort_by_key(|point| point.is_good);
            let done = points.iter().filter(|point| point.is_good).count();
            let steps = self.steps(&seller, &summary, &feeds)?;
            let steps_done = steps.iter().filter(|step| step.is_good).count();
            let dealer_id = terms.id.clone();
            let name = terms.name.clone();
            dealers.push(AgentDealerView { dealer_id, name, steps, steps_done, done, points });
        }
        let frame = self.frame(visitor, "Checklist")?;
        let is_testing =
            dealers.iter().flat_map(|dealer| &dealer.steps).any(|step| step.is_running);
        Ok(ConsoleReply::page(&ChecklistPage { frame, is_testing, dealers }))
    }
}

fn card(seller: &DealerAgent) -> AgentCardView {
    let json: Value = tradepost_document::json::from_slice(&seller.card.body).unwrap_or_default();
    let text = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let list = |name: &str| json.get(name).and_then(Value::as_array).into_iter().flatten();
    AgentCardView {
        name: text(&json, "name"),
        description: text(&json, "description"),
        version: text(&json, "version"),
        interfaces: list("supportedInterfaces")
            .map(|one| (text(one, "protocolBinding"), text(one, "url")))
            .collect(),
        skills: list("skills").map(|one| (text(one, "id"), text(one, "description"))).collect(),
        is_signed: list("signatures").next().is_some(),
        json: outline(&json),
    }
}

/// Formats JSON with line breaks.
pub(super) fn outline(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out
}

fn write(out: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth + 1);
    let (entries, brackets): (Vec<(String, &Value)>, _) = match value {
        Value::Object(members) => {
            let entry = |(name, value)| (format!("{}: ", Value::String(name)), value);
            let members = members.iter().map(|(name, value)| (name.clone(), value));
            (members.map(entry).collect(), ["{", "}"])
        }
        Value::Array(items) => {
            (items.iter().map(|item| (String::new(), item)).collect(), ["[", "]"])
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
            return;
        }
    };
    let [open, close] = brackets;
    out.push_str(open);
    let count = entries.len();
    for (place, (label, value)) in entries.into_iter().enumerate() {
        out.push_str(&format!("\n{indent}{label}"));
        write(out, value, depth + 1);
        out.push_str(if place + 1 < count { "," } else { "\n" });
    }
    if count > 0 {
        out.push_str(&"  ".repeat(depth));
    }
    out.push_str(close);
}

fn point(
    is_good: bool,
    title: &'static str,
    text: impl Into<String>,
    place: &'static str,
) -> SellingPoint {
    SellingPoint { is_good, title, text: text.into(), place }
}

fn reachable(seller: &DealerAgent) -> Vec<SellingPoint> {
    let dealer = &seller.dealer;
    let url = dealer.public_url.as_deref();
    let is_public = url.is_some_and(|url| url.starts_with("https://")) || !dealer.hosts.is_empty();
    vec![
        point(
            is_public,
            "Buyers can reach you over TLS",
            if is_public {
                "The card names a public address."
            } else {
                "The card names this machine's own address, which no buyer can reach."
            },
            "public_url or hosts, in [[dealers]]",
        ),
        point(
            dealer.card_signing.is_some(),
            "Your card is signed",
            "Buyers that verify the identity of a dealer accept only signed cards.",
            "[dealers.card_signing], with tradepost card keygen",
        ),
    ]
}

fn offered(summary: &Summary, feeds: &[FeedStatus<'_>], now: jiff::Timestamp) -> Vec<SellingPoint> {
    let without = |what: ListingWarning, noun: &str| {
        let count = summary.count(|one| one == what);
        let vehicles = counted(count, "vehicle has", "vehicles have");
        (
            count == 0,
            if count == 0 {
                "All vehicles have one.".to_owned()
            } else {
                format!("{vehicles} {noun}.")
            },
        )
    };
    let (has_photos, photos) = without(ListingWarning::NoPhoto, "no photo");
    let (has_vins, vins) = without(ListingWarning::NoVin, "no VIN");
    let wrong = summary.count(ListingWarning::is_price);
    vec![
        freshness(summary, feeds, now),
        point(
            wrong == 0,
            "Prices are out-the-door prices",
            counted(wrong, "listing has a price warning.", "listings have a price warning."),
            "price in your feed, and fees in [[dealers.rooftops]]",
        ),
        point(has_photos, "Every vehicle has a photo", photos, "photos in your feed"),
        point(has_vins, "Every vehicle has a VIN", vins, "vin in your feed"),
    ]
}

/// Returns the point about the age of the inventory. It names the stale feed, and not the age of listings
/// that another feed has confirmed.
fn freshness(summary: &Summary, feeds: &[FeedStatus<'_>], now: jiff::Timestamp) -> SellingPoint {
    let place = "tradepost import, more often, or [[dealers.feeds]]";
    let todo = |text: String| point(false, "Your inventory is not up to date", text, place);
    if let Some(status) = feeds.iter().find(|status| status.standing.state.stale_since.is_some()) {
        let name = &status.feed.name;
        return todo(format!("The feed {name} {}", last_taken(status, now)));
    }
    if let Some(age) = unconfirmed_for(summary.latest, feeds, now) {
        return todo(format!("No listing was confirmed for {}.", duration_text(age)));
    }
    let Some(latest) = summary.latest.filter(|_| summary.listings > 0) else {
        return todo("Nothing has been imported.".to_owned());
    };
    let age = ago(latest, now);
    let text = format!("The last listing was confirmed {age}.");
    point(true, "Your inventory is up to date", text, place)
}

fn informed(dead: usize) -> SellingPoint {
    point(
        dead == 0,
        "Every lead was delivered",
        if dead == 0 {
            "No delivery was given up.".to_owned()
        } else {
            format!("{} given up.", counted(dead, "delivery was", "deliveries were"))
        },
        "tradepost leads deliveries --state dead",
    )
}

fn open(seller: &DealerAgent) -> SellingPoint {
    let rooftops = &seller.dealer.terms.rooftops;
    let unbooked = rooftops.iter().filter(|rooftop| rooftop.appointments.types.is_empty());
    let unbooked: Vec<_> = unbooked.map(|rooftop| rooftop.profile.name.as_str()).collect();
    point(
        unbooked.is_empty(),
        "Appointments are booked automatically",
        if unbooked.is_empty() {
            "Every rooftop offers appointments.".to_owned()
        } else {
            format!("Staff have to answer requests at: {}.", unbooked.join(", "))
        },
        "types in [dealers.rooftops.appointments]",
    )
}
