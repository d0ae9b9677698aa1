//! Typed calls of the five skills. Requests are built from the types into which dealers read them, and are
//! checked by the same readers before sending: a request of the wrong shape is never sent.

use jiff::{SignedDuration, Timestamp};
use tradepost_aap::inventory::Sort;
use tradepost_aap::{self as aap, DealerTerms, Filters, Search, Skill, VehicleQuery};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json, object};

use super::SkillClient;
use crate::answer::SkillAnswer;
use crate::failure::{CallFailure, Unsent};
use crate::lead::Lead;
use crate::recovery::Fix;
use crate::replies::{Counts, Dealer, Page, Receipt, Vehicle};
use crate::retry::{GaveUp, Recovered, Recoverer, RetryClock};

impl SkillClient {
    /// Returns the dealer and its rooftops.
    ///
    /// # Errors
    /// The failure. As for the other four, `Unsent` when the card does not list the skill or the dealer would
    /// refuse the request.
    // R-CARD-12
    pub async fn dealer_information(&self) -> Result<Dealer, CallFailure> {
        let payload = json!({"type": Skill::DealerInformation.request_type()});
        // The time does not matter to this request.
        self.typed(Skill::DealerInformation, payload, Timestamp::UNIX_EPOCH).await.map(Dealer)
    }

    /// Returns the counts of the vehicles that match these filters.
    ///
    /// # Errors
    /// As [`Self::dealer_information`].
    pub async fn facets(&self, filters: &Filters) -> Result<Counts, CallFailure> {
        let payload = facets_payload(filters);
        self.typed(Skill::InventoryFacets, payload, Timestamp::UNIX_EPOCH).await.map(Counts)
    }

    /// Returns a page of vehicles.
    ///
    /// # Errors
    /// As [`Self::dealer_information`].
    pub async fn search(&self, search: &Search) -> Result<Page, CallFailure> {
        let payload = search_payload(search);
        self.typed(Skill::InventorySearch, payload, Timestamp::UNIX_EPOCH).await.map(Page)
    }

    /// Returns all details of one vehicle.
    ///
    /// # Errors
    /// As [`Self::dealer_information`].
    pub async fn vehicle(&self, query: &VehicleQuery) -> Result<Vehicle, CallFailure> {
        let payload = vehicle_payload(query);
        self.typed(Skill::InventoryVehicle, payload, Timestamp::UNIX_EPOCH).await.map(Vehicle)
    }

    /// Sends a lead. Sending the same lead again is safe, because it keeps its key. The consent is checked as
    /// of the moment given by [`SkillClient::checking`], else as of that of the lead.
    ///
    /// # Errors
    /// As [`Self::dealer_information`].
    pub async fn submit_lead(&self, lead: &Lead) -> Result<Receipt, CallFailure> {
        let payload = lead.payload(self.choice.version);
        self.typed(Skill::LeadSubmit, payload, lead.submitted_at()).await.map(Receipt)
    }

    /// Sends a lead with recovery; see [`Self::submit_lead`] and [`SkillClient::call_with_recovery`].
    ///
    /// # Errors
    /// The last failure, and the advice that is left to the caller.
    pub async fn submit_lead_with_recovery<W: RetryClock>(
        &self,
        lead: &Lead,
        recoverer: &Recoverer<W>,
        correct: impl FnMut(&Fix, &CallFailure, &mut Value) -> bool + Send,
    ) -> Result<Recovered<Receipt>, Box<GaveUp>> {
        let payload = lead.payload(self.choice.version);
        let now = lead.submitted_at();
        let recovered =
            self.call_with_retries(Skill::LeadSubmit, payload, Some(now), recoverer, correct);
        let Recovered { answer, spent, reread_authorization, key, doubt } = recovered.await?;
        Ok(Recovered { answer: Receipt(answer), spent, reread_authorization, key, doubt })
    }

    /// Returns a fresh random key for one intent, such as a lead.
    #[must_use]
    pub fn new_key(&self) -> String {
        self.new_id()
    }

    /// Checks the request as of this moment, unless the client has its own terms, and calls the skill.
    pub(super) async fn typed(
        &self,
        skill: Skill,
        payload: Value,
        now: Timestamp,
    ) -> Result<SkillAnswer, CallFailure> {
        // With its own terms, `call` checks.
        if self.terms.is_none() {
            // The dealer decides how long a consent without an expiry is valid.
            let terms =
                DealerTerms { now, clock_skew: SignedDuration::ZERO, consent_lifetime: None };
            self.check_on(&terms, skill, &payload)?;
        }
        self.call(skill, payload).await
    }

    /// Checks that the agent offers the skill and that the payload is valid on these terms.
    pub(super) fn check_on(
        &self,
        terms: &DealerTerms,
        skill: Skill,
        payload: &Value,
    ) -> Result<(), CallFailure> {
        if !self.choice.skills.contains(&skill) {
            let offered = self.choice.skills.clone();
            return Err(CallFailure::Unsent(Unsent::SkillNotOffered { skill, offered }));
        }
        match aap::parse(skill, self.choice.version, payload, terms) {
            Ok(_) => Ok(()),
            Err(refusal) => Err(CallFailure::Unsent(Unsent::Invalid(Box::new(refusal)))),
        }
    }
}

fn facets_payload(filters: &Filters) -> Value {
    let kind = Skill::InventoryFacets.request_type();
    object!({"type": kind, "filters"?: there(filters_of(filters))})
}

fn search_payload(search: &Search) -> Value {
    let skip = Some(search.skip).filter(|skip| *skip > 0);
    object!({
        "type": Skill::InventorySearch.request_type(),
        "filters"?: there(filters_of(&search.filters)),
        "pagination"?: there(object!({"skip"?: skip, "limit"?: search.limit})),
        "sort"?: search.sort.map(sort_of),
    })
}

fn vehicle_payload(query: &VehicleQuery) -> Value {
    let VehicleQuery { vin, stock, vehicle_id } = query;
    let kind = Skill::InventoryVehicle.request_type();
    object!({"type": kind, "vin"?: vin, "stock"?: stock, "vehicle_id"?: vehicle_id})
}

fn sort_of(sort: Sort) -> Value {
    json!({"field": sort.field.name(), "order": sort.order.name()})
}

/// Returns the filters that are set.
// R-IS-07
fn filters_of(filters: &Filters) -> Value {
    // Every member is named, so that a new one cannot be forgotten here.
    let Filters {
        make,
        model,
        trim,
        condition,
        transmission,
        fuel,
        driveline,
        body,
        exterior_color,
        interior_color,
        rooftops,
        year_min,
        year_max,
        price_min,
        price_max,
        mileage_max,
        vin,
        stock,
        query,
    } = filters;
    object!({
        "make"?: some(make), "model"?: some(model), "trim"?: some(trim),
        "condition"?: some(condition), "transmission"?: some(transmission), "fuel"?: some(fuel),
        "driveline"?: some(driveline), "body"?: some(body),
        "exterior_color"?: some(exterior_color), "interior_color"?: some(interior_color),
        "rooftops"?: some(rooftops), "year_min"?: year_min, "year_max"?: year_max,
        "price_min"?: price_min, "price_max"?: price_max, "mileage_max"?: mileage_max,
        "vin"?: vin, "stock"?: stock, "query"?: query,
    })
}

fn some<T>(list: &[T]) -> Option<&[T]> {
    Some(list).filter(|list| !list.is_empty())
}

/// Returns the object unless it is empty.
fn there(object: Value) -> Option<Value> {
    object.as_object().is_some_and(|members| !members.is_empty()).then_some(object)
}

#[cfg(test)]
mod tests;
