//! Typed access to the answers of the five skills. Each type wraps the [`SkillAnswer`], which holds
//! everything as the seller sent it; a member without an accessor here is in [`SkillAnswer::data`]. A member
//! that is missing or of another type is `None`. Texts are untrusted and have to go through [`crate::text`]
//! before a person sees them.

use std::ops::Deref;

use jiff::Timestamp;
use serde::Deserialize;
use tradepost_aap::DealerInformation;
use tradepost_aap::lead::LeadReceipt;
use tradepost_aap::vehicle::{ListingStatus, VehicleCondition};
use tradepost_document::catalog::{Vocabulary as _, WireName};
use tradepost_document::json::Value;
use tradepost_document::parse::whole_number;
use tradepost_document::words;

use crate::answer::SkillAnswer;

/// The answer of `dealer.information`.
#[derive(Debug)]
pub struct Dealer(pub SkillAnswer);

/// The answer of `inventory.facets`.
#[derive(Debug)]
pub struct Counts(pub SkillAnswer);

/// The answer of `inventory.search`.
#[derive(Debug)]
pub struct Page(pub SkillAnswer);

/// The answer of `inventory.vehicle`.
#[derive(Debug)]
pub struct Vehicle(pub SkillAnswer);

/// The answer of `lead.submit`.
#[derive(Debug)]
pub struct Receipt(pub SkillAnswer);

impl Deref for Dealer {
    type Target = SkillAnswer;
    fn deref(&self) -> &SkillAnswer {
        &self.0
    }
}

impl Deref for Counts {
    type Target = SkillAnswer;
    fn deref(&self) -> &SkillAnswer {
        &self.0
    }
}

impl Deref for Page {
    type Target = SkillAnswer;
    fn deref(&self) -> &SkillAnswer {
        &self.0
    }
}

impl Deref for Vehicle {
    type Target = SkillAnswer;
    fn deref(&self) -> &SkillAnswer {
        &self.0
    }
}

impl Deref for Receipt {
    type Target = SkillAnswer;
    fn deref(&self) -> &SkillAnswer {
        &self.0
    }
}

impl Dealer {
    /// Returns the dealer and its rooftops, when the answer has the published shape. Unknown members are left out.
    #[must_use]
    pub fn information(&self) -> Option<DealerInformation> {
        DealerInformation::deserialize(self.data()).ok()
    }

    /// Returns the dealer's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        text(self.data(), "name")
    }
}

words! {
    /// Facet by which vehicles are counted, named after the member of the answer.
    pub enum Facet {
        /// Make.
        Makes = "makes",
        /// Model.
        Models = "models",
        /// Trim line.
        Trims = "trims",
        /// Model year.
        Years = "years",
        /// Condition.
        Conditions = "conditions",
        /// Transmission.
        Transmissions = "transmissions",
        /// Fuel.
        Fuels = "fuels",
        /// Driven wheels.
        Drivelines = "drivelines",
        /// Body style.
        Bodies = "bodies",
        /// Colour outside.
        ExteriorColors = "exterior_colors",
        /// Colour inside.
        InteriorColors = "interior_colors",
        /// Rooftop.
        Rooftops = "rooftops",
        /// Status.
        Statuses = "statuses",
    }
}

impl Facet {
    /// Returns the member of the answer.
    #[must_use]
    pub fn member(self) -> &'static str {
        self.name()
    }
}

impl Counts {
    /// Returns the values of a facet, each with its number of vehicles, in the seller's order. Years are
    /// numbers, everything else is text.
    #[must_use]
    pub fn values(&self, facet: Facet) -> Vec<(&Value, u64)> {
        let terms = self.data().get(facet.member()).and_then(Value::as_array);
        let term = |term| Some((Value::get(term, "value")?, count(term, "count")?));
        terms.into_iter().flatten().filter_map(term).collect()
    }

    /// Returns the lowest and the highest `price`, in whole US dollars.
    #[must_use]
    pub fn prices(&self) -> Option<(u64, u64)> {
        self.range("price_range")
    }

    /// Returns the lowest and the highest mileage.
    #[must_use]
    pub fn mileages(&self) -> Option<(u64, u64)> {
        self.range("mileage_range")
    }

    /// Returns the earliest and the latest model year.
    #[must_use]
    pub fn years(&self) -> Option<(u64, u64)> {
        self.range("year_range")
    }

    fn range(&self, name: &str) -> Option<(u64, u64)> {
        let range = self.data().get(name)?;
        Some((count(range, "min")?, count(range, "max")?))
    }
}

impl Page {
    /// Returns the number of matching vehicles on all pages.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        count(self.data(), "total")
    }

    /// Returns the number of matches before this page.
    #[must_use]
    pub fn skip(&self) -> Option<u64> {
        count(self.data(), "skip")
    }

    /// Returns the maximum number of vehicles on a page of this search.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        count(self.data(), "limit")
    }

    /// Returns the vehicles that can be bought. Those whose status is missing or none of the three are left
    /// out; [`SkillAnswer::vehicles`] counts them.
    // R-IS-14
    #[must_use]
    pub fn listings(&self) -> Vec<OfferedListing<'_>> {
        self.vehicles().0.into_iter().map(OfferedListing).collect()
    }
}

impl Vehicle {
    /// Returns the vehicle.
    #[must_use]
    pub fn listing(&self) -> OfferedListing<'_> {
        OfferedListing(self.data())
    }
}

/// Vehicle on offer; the object is as the seller sent it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfferedListing<'a>(pub &'a Value);

impl<'a> OfferedListing<'a> {
    /// Returns the dealer's id of the vehicle.
    #[must_use]
    pub fn vehicle_id(self) -> Option<&'a str> {
        text(self.0, "vehicle_id")
    }

    /// Returns the vehicle identification number.
    #[must_use]
    pub fn vin(self) -> Option<&'a str> {
        text(self.0, "vin")
    }

    /// Returns the stock number.
    #[must_use]
    pub fn stock(self) -> Option<&'a str> {
        text(self.0, "stock")
    }

    /// Returns the rooftop where the vehicle stands.
    #[must_use]
    pub fn rooftop(self) -> Option<&'a str> {
        text(self.0, "rooftop")
    }

    /// Returns the model year.
    #[must_use]
    pub fn year(self) -> Option<u64> {
        count(self.0, "year")
    }

    /// Returns the make.
    #[must_use]
    pub fn make(self) -> Option<&'a str> {
        text(self.0, "make")
    }

    /// Returns the model.
    #[must_use]
    pub fn model(self) -> Option<&'a str> {
        text(self.0, "model")
    }

    /// Returns the condition.
    #[must_use]
    pub fn condition(self) -> Option<WireName<VehicleCondition>> {
        text(self.0, "condition").map(WireName::parse)
    }

    /// Returns the listing status, which says if the vehicle can be bought.
    #[must_use]
    pub fn status(self) -> Option<WireName<ListingStatus>> {
        text(self.0, "status").map(WireName::parse)
    }

    /// Returns the out-the-door price, in whole US dollars.
    #[must_use]
    pub fn price(self) -> Option<u64> {
        count(self.0, "price")
    }

    /// Returns the advertised price, in whole US dollars.
    #[must_use]
    pub fn list_price(self) -> Option<u64> {
        count(self.0, "list_price")
    }

    /// Returns the mileage, in miles.
    #[must_use]
    pub fn mileage(self) -> Option<u64> {
        count(self.0, "mileage")
    }

    /// Returns any member.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }
}

impl Receipt {
    /// Returns the whole receipt, when it has the published shape.
    #[must_use]
    pub fn receipt(&self) -> Option<LeadReceipt> {
        LeadReceipt::deserialize(self.data()).ok()
    }

    /// Returns the dealer's id of the lead.
    #[must_use]
    pub fn lead_id(&self) -> Option<&str> {
        text(self.data(), "lead_id")
    }

    /// Returns `received`, `duplicate` or `rejected`.
    #[must_use]
    pub fn status(&self) -> Option<&str> {
        text(self.data(), "status")
    }

    /// Returns true when the dealer has the lead, from this request or an earlier one.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        matches!(self.status(), Some("received" | "duplicate"))
    }

    /// Returns `requested`, `proposed`, `confirmed` or `rejected`, when an appointment was asked for.
    #[must_use]
    pub fn appointment_status(&self) -> Option<&str> {
        text(self.data().get("appointment")?, "status")
    }

    /// Returns the time of a confirmed appointment.
    // R-LD-23
    #[must_use]
    pub fn confirmed_at(&self) -> Option<Timestamp> {
        text(self.data().get("appointment")?, "confirmed_at")?.parse().ok()
    }

    /// Returns the times to choose from, when the dealer proposes some.
    // R-LD-23
    #[must_use]
    pub fn proposed_times(&self) -> Vec<Timestamp> {
        let times = self.data().pointer("/appointment/proposed_times").and_then(Value::as_array);
        let moment = |time: &Value| time.as_str()?.parse().ok();
        times.into_iter().flatten().filter_map(moment).collect()
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// Returns a whole number that is not negative, also when it was sent as a float.
fn count(value: &Value, name: &str) -> Option<u64> {
    let number = value.get(name)?.as_number()?;
    whole_number(number).and_then(|number| u64::try_from(number).ok())
}
