//! What the five skills answer, with names for what the protocol defines. Each type wraps the
//! [`SkillAnswer`]: a member that has no accessor here is in [`SkillAnswer::data`], and everything is as the
//! seller sent it. A member that is missing or of another type is `None`; texts are the seller's
//! and go through [`crate::text`] before a person sees them.

use std::ops::Deref;

use jiff::Timestamp;
use serde::Deserialize;
use tradepost_wire::aap::DealerInformation;
use tradepost_wire::aap::lead::LeadReceipt;
use tradepost_wire::aap::vehicle::{ListingStatus, VehicleCondition};
use tradepost_wire::catalog::{Open, Vocabulary as _};
use tradepost_wire::json::Value;
use tradepost_wire::parse::whole;
use tradepost_wire::words;

use crate::answer::SkillAnswer;

macro_rules! answers {
    ($($(#[$docs:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$docs])*
        #[derive(Debug)]
        pub struct $name(pub SkillAnswer);

        impl Deref for $name {
            type Target = SkillAnswer;
            fn deref(&self) -> &SkillAnswer {
                &self.0
            }
        }
    )+};
}

answers! {
    /// The answer of `dealer.information`.
    Dealer,
    /// The answer of `inventory.facets`.
    Counts,
    /// The answer of `inventory.search`.
    Page,
    /// The answer of `inventory.vehicle`.
    Vehicle,
    /// The answer of `lead.submit`.
    Receipt,
}

impl Dealer {
    /// The dealer and its rooftops, when the answer has the published shape; members that it does
    /// not know are left out of it.
    #[must_use]
    pub fn information(&self) -> Option<DealerInformation> {
        DealerInformation::deserialize(self.data()).ok()
    }

    /// The dealer's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        text(self.data(), "name")
    }
}

words! {
    /// What vehicles are counted by, by the member of the answer.
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
    /// The member of the answer.
    #[must_use]
    pub fn member(self) -> &'static str {
        self.name()
    }
}

impl Counts {
    /// The values of a facet, each with the number of vehicles that have it, in the seller's
    /// order. Years come as numbers, everything else as text.
    #[must_use]
    pub fn of(&self, facet: Facet) -> Vec<(&Value, u64)> {
        let terms = self.data().get(facet.member()).and_then(Value::as_array);
        let term = |term| Some((Value::get(term, "value")?, count(term, "count")?));
        terms.into_iter().flatten().filter_map(term).collect()
    }

    /// The lowest and the highest `price`, in whole US dollars.
    #[must_use]
    pub fn prices(&self) -> Option<(u64, u64)> {
        self.range("price_range")
    }

    /// The lowest and the highest mileage.
    #[must_use]
    pub fn mileages(&self) -> Option<(u64, u64)> {
        self.range("mileage_range")
    }

    /// The earliest and the latest model year.
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
    /// How many vehicles match, on all pages.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        count(self.data(), "total")
    }

    /// How many matches come before this page.
    #[must_use]
    pub fn skip(&self) -> Option<u64> {
        count(self.data(), "skip")
    }

    /// How many vehicles a page of this search can hold.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        count(self.data(), "limit")
    }

    /// The vehicles that can be bought. Those whose status is missing or none of the three are
    /// left out; [`SkillAnswer::vehicles`] counts them.
    // R-IS-14
    #[must_use]
    pub fn listings(&self) -> Vec<OfferedListing<'_>> {
        self.vehicles().0.into_iter().map(OfferedListing).collect()
    }
}

impl Vehicle {
    /// The vehicle.
    #[must_use]
    pub fn listing(&self) -> OfferedListing<'_> {
        OfferedListing(self.data())
    }
}

/// A vehicle on offer; the object is as the seller sent it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfferedListing<'a>(pub &'a Value);

impl<'a> OfferedListing<'a> {
    /// The dealer's id.
    #[must_use]
    pub fn vehicle_id(self) -> Option<&'a str> {
        text(self.0, "vehicle_id")
    }

    /// The vehicle identification number.
    #[must_use]
    pub fn vin(self) -> Option<&'a str> {
        text(self.0, "vin")
    }

    /// The stock number.
    #[must_use]
    pub fn stock(self) -> Option<&'a str> {
        text(self.0, "stock")
    }

    /// The rooftop where it stands.
    #[must_use]
    pub fn rooftop(self) -> Option<&'a str> {
        text(self.0, "rooftop")
    }

    /// The model year.
    #[must_use]
    pub fn year(self) -> Option<u64> {
        count(self.0, "year")
    }

    /// The make.
    #[must_use]
    pub fn make(self) -> Option<&'a str> {
        text(self.0, "make")
    }

    /// The model.
    #[must_use]
    pub fn model(self) -> Option<&'a str> {
        text(self.0, "model")
    }

    /// The condition.
    #[must_use]
    pub fn condition(self) -> Option<Open<VehicleCondition>> {
        text(self.0, "condition").map(Open::parse)
    }

    /// Whether it can be bought.
    #[must_use]
    pub fn status(self) -> Option<Open<ListingStatus>> {
        text(self.0, "status").map(Open::parse)
    }

    /// The price out of the door, in whole US dollars.
    #[must_use]
    pub fn price(self) -> Option<u64> {
        count(self.0, "price")
    }

    /// The advertised price, in whole US dollars.
    #[must_use]
    pub fn list_price(self) -> Option<u64> {
        count(self.0, "list_price")
    }

    /// Miles driven.
    #[must_use]
    pub fn mileage(self) -> Option<u64> {
        count(self.0, "mileage")
    }

    /// Any member at all.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }
}

impl Receipt {
    /// The whole receipt, when it has the published shape.
    #[must_use]
    pub fn receipt(&self) -> Option<LeadReceipt> {
        LeadReceipt::deserialize(self.data()).ok()
    }

    /// The dealer's id of the lead.
    #[must_use]
    pub fn lead_id(&self) -> Option<&str> {
        text(self.data(), "lead_id")
    }

    /// `received`, `duplicate` or `rejected`.
    #[must_use]
    pub fn status(&self) -> Option<&str> {
        text(self.data(), "status")
    }

    /// Whether the dealer has the lead, from this request or one before it.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        matches!(self.status(), Some("received" | "duplicate"))
    }

    /// `requested`, `proposed`, `confirmed` or `rejected`, when an appointment was asked for.
    #[must_use]
    pub fn appointment_status(&self) -> Option<&str> {
        text(self.data().get("appointment")?, "status")
    }

    /// When the appointment is, once it is confirmed.
    // R-LD-23
    #[must_use]
    pub fn confirmed_at(&self) -> Option<Timestamp> {
        text(self.data().get("appointment")?, "confirmed_at")?.parse().ok()
    }

    /// The times to choose from, when the dealer proposes some.
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

/// A whole number that is not negative, also when it was sent as a float.
fn count(value: &Value, name: &str) -> Option<u64> {
    let number = value.get(name)?.as_number()?;
    whole(number).and_then(|number| u64::try_from(number).ok())
}
