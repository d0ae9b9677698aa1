//! The dealer tools: each chooses the dealers, calls them and combines their answers.

use std::sync::Arc;

use tokio::time::Instant;
use tradepost_aap::Skill;
use tradepost_client::text::SENTENCE;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};

use super::dealer_list::DealerList;
use super::dealers::{DealerAddress, terms};
use super::failures::BridgeError;
use super::fan_out::ask_all;
use super::person_form::Person;
use super::sanitize::{Cleaner, dealer_text};
use super::{
    Answered, Bridge, BridgeOutcome, CallEnd, arguments, documents, doubtful, put, said, search,
    show, sort_out,
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
            let names: Vec<_> = list.names.iter().map(|name| json!({"dealer": name})).collect();
            let errors = documents(&list.troubles);
            let document = json!({"dealers": names, "errors": errors, "truncated": false});
            return Ok(said(document, show::dealer_names(&list.names, &list.troubles)));
        }
        let count = asked.dealers.len();
        let ask = |dealer, end| introduce(dealer, Cleaner::share(count), end);
        let (found, errors) = self.ask(list, &asked.dealers, ask).await?;
        let about = found.into_iter().map(|(_, about)| about);
        let (dealers, cuts): (Vec<_>, Vec<bool>) = about.unzip();
        let cut = cuts.contains(&true);
        let document = json!({"dealers": dealers, "errors": documents(&errors), "truncated": cut});
        let text = show::dealers(&document, &errors);
        Ok(said(document, text))
    }

    pub(super) async fn facets(
        &self,
        list: &DealerList,
        arguments: &Value,
    ) -> Result<BridgeOutcome, BridgeError> {
        let asked = arguments::read_facets(arguments, &list.names, &terms(self.now()));
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        let payload = asked.what;
        let ask = |dealer: Arc<DealerAddress>, end| {
            let payload = payload.clone();
            async move { dealer.call(Skill::InventoryFacets, payload, end).await }
        };
        let (found, errors) = self.ask(list, &asked.dealers, ask).await?;
        let mut sum = Map::new();
        let mut cut = false;
        let mut dealers = Vec::new();
        let count = found.len();
        for (dealer, answer) in found {
            let mut cleaner = Cleaner::share(count);
            let facets = cleaner.clean(answer.data());
            cut |= cleaner.cut;
            let speaks = facets.as_object().is_none_or(Map::is_empty)
                || payload.as_object().is_some_and(search::asks_in_words);
            let message = search::said(answer.message()).filter(|_| speaks);
            search::add_facets(&mut sum, &facets);
            dealers.push(object!({"dealer": dealer.id, "message"?: message}));
        }
        let sum = Value::Object(sum);
        let text = show::facets(&sum, &dealers, &errors);
        let document = json!({
            "type": Skill::InventoryFacets.response_type(), "data": sum, "dealers": dealers,
            "errors": documents(&errors), "truncated": cut,
        });
        Ok(said(document, text))
    }

    pub(super) async fn search(
        &self,
        list: &DealerList,
        arguments: &Value,
    ) -> Result<BridgeOutcome, BridgeError> {
        let asked = arguments::read_search(arguments, &list.names, &terms(self.now()));
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        let what = asked.what;
        let wanted = what.skip + what.limit;
        let ask = |dealer, end| search::gather(dealer, what.payload.clone(), wanted, end);
        let (found, errors) = self.ask(list, &asked.dealers, ask).await?;
        let document = search::merge(found, &what, &errors);
        let text = show::page(&document, &errors);
        Ok(said(document, text))
    }

    pub(super) async fn vehicle(
        &self,
        list: &DealerList,
        arguments: &Value,
    ) -> Result<BridgeOutcome, BridgeError> {
        let asked = arguments::read_vehicle(arguments, &list.names, &terms(self.now()));
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        let payload = asked.what;
        let ask = |dealer: Arc<DealerAddress>, end| {
            let payload = payload.clone();
            async move { dealer.call(Skill::InventoryVehicle, payload, end).await }
        };
        let found = self.ask(list, &asked.dealers, ask).await?.0.pop();
        let (dealer, answer) = found.ok_or_else(|| BridgeError::all(list.troubles.clone()))?;
        let mut cleaner = Cleaner::full();
        let mut data = cleaner.clean(answer.data());
        doubtful::mark_one(&mut data);
        let message = search::said(answer.message());
        let document = object!({
            "type": Skill::InventoryVehicle.response_type(), "dealer": dealer.id, "data": data,
            "truncated": cleaner.cut, "message"?: message,
        });
        let text = show::vehicle(&dealer.id, &data, message.as_deref());
        Ok(said(document, text))
    }

    pub(super) async fn submit(
        &self,
        list: &DealerList,
        arguments: &Value,
        person: Person<'_>,
    ) -> Result<CallEnd, BridgeError> {
        let asked = arguments::read_lead(arguments, &list.names, &terms(self.now()));
        let asked = asked.map_err(|problems| BridgeError::arguments(&problems))?;
        // Has no timeout of its own: the request is limited, and its error tells whether the lead may have arrived.
        let dealer = list.chosen(&asked.dealers).pop();
        let dealer = dealer.ok_or_else(|| BridgeError::all(list.troubles.clone()))?;
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
            return Err(BridgeError::all(list.troubles.clone()));
        }
        let outcomes = ask_all(dealers, self.options.patience, ask).await;
        let (found, mut errors) = sort_out(outcomes, BridgeError::all)?;
        errors.extend(list.troubles.iter().cloned());
        Ok((found, errors))
    }
}

/// Reads a dealer's card and information; the second value is true when something was cut.
async fn introduce(
    dealer: Arc<DealerAddress>,
    mut cleaner: Cleaner,
    end: Instant,
) -> Result<(Value, bool), BridgeError> {
    let connection = dealer.connect(end).await.map_err(|failure| dealer.trouble(&failure))?;
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
    Ok((about, cleaner.cut))
}
