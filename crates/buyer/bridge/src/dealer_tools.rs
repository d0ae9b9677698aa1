//! The dealer tools: each chooses the dealers, calls them and combines their answers.

use std::sync::Arc;

use tokio::time::Instant;
use tradepost_aap::Skill;
use tradepost_client::text::SENTENCE;
use tradepost_dealer_tools::arguments::{self, generous_terms};
use tradepost_dealer_tools::join::{self, DealerDescription, DealerReply};
use tradepost_dealer_tools::search::{NamedMatches, merge};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::dealer_list::DealerList;
use super::dealers::DealerAddress;
use super::failures::BridgeError;
use super::fan_out::ask_all;
use super::person_form::Person;
use super::sanitize::{Cleaner, dealer_text};
use super::{
    Answered, Bridge, BridgeOutcome, CallEnd, failed_dealers, joined, put, search,
    separate_outcomes,
};

impl Bridge {
    pub(super) async fn information(
        &self,
        list: &DealerList,
        arguments: &Value,
    ) -> Result<BridgeOutcome, BridgeError> {
        let asked = arguments::read_dealers(arguments, &list.names);
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        if asked.what.names_only {
            return Ok(joined(join::names(&list.names, failed_dealers(&list.directory_errors))));
        }
        let count = asked.dealers.len();
        let ask = |dealer, end| introduce(dealer, Cleaner::share(count), end);
        let (found, errors) = self.ask(list, &asked.dealers, ask).await?;
        let about = found.into_iter().map(|(_, about)| about).collect();
        Ok(joined(join::descriptions(about, failed_dealers(&errors))))
    }

    pub(super) async fn facets(
        &self,
        list: &DealerList,
        arguments: &Value,
    ) -> Result<BridgeOutcome, BridgeError> {
        let asked = arguments::read_facets(arguments, &list.names, &generous_terms(self.now()));
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        let payload = asked.what;
        let ask = |dealer: Arc<DealerAddress>, end| {
            let payload = payload.clone().into();
            async move { dealer.call(Skill::InventoryFacets, payload, end).await }
        };
        let (found, errors) = self.ask(list, &asked.dealers, ask).await?;
        let replies: Vec<_> = found
            .iter()
            .map(|(dealer, answer)| DealerReply {
                dealer: &dealer.id,
                data: answer.data(),
                message: answer.message(),
            })
            .collect();
        Ok(joined(join::facets(&replies, &payload, failed_dealers(&errors))))
    }

    pub(super) async fn search(
        &self,
        list: &DealerList,
        arguments: &Value,
    ) -> Result<BridgeOutcome, BridgeError> {
        let asked = arguments::read_search(arguments, &list.names, &generous_terms(self.now()));
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        let what = asked.what;
        let ask = |dealer, end| search::gather(dealer, &what, end);
        let (found, errors) = self.ask(list, &asked.dealers, ask).await?;
        let found = found.into_iter();
        let found = found
            .map(|(dealer, matches)| NamedMatches { dealer: dealer.id.clone(), matches })
            .collect();
        Ok(joined(merge(found, &what, failed_dealers(&errors))))
    }

    pub(super) async fn vehicle(
        &self,
        list: &DealerList,
        arguments: &Value,
    ) -> Result<BridgeOutcome, BridgeError> {
        let asked = arguments::read_vehicle(arguments, &list.names, &generous_terms(self.now()));
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        let payload = asked.what;
        let ask = |dealer: Arc<DealerAddress>, end| {
            let payload = payload.clone().into();
            async move { dealer.call(Skill::InventoryVehicle, payload, end).await }
        };
        let found = self.ask(list, &asked.dealers, ask).await?.0.pop();
        let (dealer, answer) =
            found.ok_or_else(|| BridgeError::all(list.directory_errors.clone()))?;
        let message = answer.message();
        let reply = DealerReply { dealer: &dealer.id, data: answer.data(), message };
        Ok(joined(join::vehicle(&reply)))
    }

    pub(super) async fn submit(
        &self,
        list: &DealerList,
        arguments: &Value,
        person: Person<'_>,
    ) -> Result<CallEnd, BridgeError> {
        let asked = arguments::read_lead(arguments, &list.names, &generous_terms(self.now()));
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        // Has no timeout of its own: the request is limited, and its error tells whether the lead may have arrived.
        let dealer = list.chosen(&asked.dealers).pop();
        let dealer = dealer.ok_or_else(|| BridgeError::all(list.directory_errors.clone()))?;
        self.lead(dealer, asked.what, person).await
    }

    /// Calls these dealers concurrently. Returns their answers and the errors of the others, those of directories
    /// included.
    async fn ask<T, F>(
        &self,
        list: &DealerList,
        places: &[usize],
        ask: impl Fn(Arc<DealerAddress>, Instant) -> F,
    ) -> Result<Answered<DealerAddress, T>, BridgeError>
    where
        F: Future<Output = Result<T, BridgeError>>,
    {
        let dealers = list.chosen(places);
        if dealers.is_empty() {
            return Err(BridgeError::all(list.directory_errors.clone()));
        }
        let outcomes = ask_all(dealers, self.options.patience, ask).await;
        let (found, mut errors) = separate_outcomes(outcomes, BridgeError::all)?;
        errors.extend(list.directory_errors.iter().cloned());
        Ok((found, errors))
    }
}

/// Reads a dealer's card and information.
async fn introduce(
    dealer: Arc<DealerAddress>,
    mut cleaner: Cleaner,
    end: Instant,
) -> Result<DealerDescription, BridgeError> {
    let connection = dealer.connect(end).await.map_err(|failure| dealer.to_error(&failure))?;
    let card = &connection.found.card;
    let choice = connection.client.choice();
    let versions: Vec<_> = card.versions().iter().map(|version| version.name()).collect();
    let skills: Vec<_> = choice.skills.iter().map(|skill| skill.name()).collect();
    let mut about = json!({
        "dealer": dealer.id,
        "card_name": dealer_text(&card.name, SENTENCE),
        "card_url": dealer.address,
        "aap_version": choice.version.name(),
        "aap_versions": versions,
        "skills": skills,
    });
    if choice.skills.contains(&Skill::DealerInformation) {
        let answer = dealer.call(Skill::DealerInformation, json!({}), end).await?;
        put(&mut about, "data", cleaner.clean(answer.data()));
    }
    Ok(DealerDescription { document: about, cut: cleaner.cut })
}
