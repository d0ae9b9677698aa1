//! Cache of serialised answers. An answer is cached when its question comes a second time, until
//! another one displaces it. A question that comes once costs only the lookup.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tradepost_aap::{AapReply, Filters, RawJson, ReplyData, Search, Skill};
use tradepost_document::json::Map;

use super::snapshot::SnapshotError;
use crate::query::CurrentYear;
use crate::settings::SearchPolicy;

/// A question about a whole inventory. Together with the inventory it determines the answer; the
/// year counts because queries name ages.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CacheKey {
    /// `inventory.facets`.
    Facets(Filters, CurrentYear),
    /// `inventory.search`, with a dealer's limits.
    Search(Search, SearchPolicy, CurrentYear),
}

/// Maximum number of cached answers over all inventories that share the cache, and maximum size of
/// one in bytes: 32 MB in all.
pub(super) const ANSWERS: usize = 512;
const LONGEST: usize = 64 * 1024;

/// Cached answers by inventory and question. Each has one slot, where it displaces the previous
/// answer.
#[derive(Debug)]
pub(super) struct AnswerCache {
    places: Vec<Mutex<CacheSlot>>,
    /// Hasher with random keys, so that callers cannot choose questions that displace those of others.
    hasher: RandomState,
}

#[derive(Debug, Default)]
enum CacheSlot {
    #[default]
    Empty,
    /// Hash of a question that came once.
    Asked(u64),
    Filled(Box<CachedAnswer>),
}

#[derive(Debug)]
struct CachedAnswer {
    inventory: u64,
    question: CacheKey,
    skill: Skill,
    data: RawJson,
    message: Option<String>,
    reading: Option<Map>,
    nothing_found: Option<String>,
    summary: Arc<OnceLock<String>>,
}

impl CachedAnswer {
    fn is(&self, inventory: u64, question: &CacheKey) -> bool {
        self.inventory == inventory && self.question == *question
    }

    fn reply(&self) -> AapReply {
        let data = ReplyData::Written(self.data.clone());
        AapReply {
            skill: self.skill,
            data,
            message: self.message.clone(),
            reading: self.reading.clone(),
            nothing_found: self.nothing_found.clone(),
            summary: Some(Arc::clone(&self.summary)),
        }
    }
}

impl AnswerCache {
    /// Creates a cache with this many slots.
    pub(super) fn new(places: usize) -> Self {
        let places = (0..places).map(|_| Mutex::default()).collect();
        Self { places, hasher: RandomState::new() }
    }

    /// Returns the cached answer, or the answer of `work`.
    pub(super) fn answer(
        &self,
        inventory: u64,
        question: &CacheKey,
        work: impl FnOnce() -> Result<AapReply, SnapshotError>,
    ) -> Result<AapReply, SnapshotError> {
        let hash = self.hasher.hash_one((inventory, question));
        let place = hash.checked_rem(self.places.len() as u64);
        let place = place.and_then(|place| self.places.get(usize::try_from(place).ok()?));
        let Some(place) = place else { return work() };
        let open = || place.lock().unwrap_or_else(PoisonError::into_inner);
        let is_again = match &mut *open() {
            CacheSlot::Filled(cached) if cached.is(inventory, question) => {
                return Ok(cached.reply());
            }
            CacheSlot::Asked(known) if *known == hash => true,
            other @ (CacheSlot::Empty | CacheSlot::Asked(_) | CacheSlot::Filled(_)) => {
                *other = CacheSlot::Asked(hash);
                false
            }
        };
        // The lock on the slot is not held while the answer is computed.
        let reply = work()?;
        if !is_again || reply.data.size_hint() > LONGEST {
            return Ok(reply);
        }
        let AapReply { skill, data, message, reading, nothing_found, summary: _ } = reply;
        let data = RawJson::new(&data).map_err(|_| SnapshotError("an answer cannot be written"))?;
        let cached = CachedAnswer {
            inventory,
            question: question.clone(),
            skill,
            data,
            message,
            reading,
            nothing_found,
            summary: Arc::default(),
        };
        let reply = cached.reply();
        if cached.data.as_json().len() <= LONGEST {
            *open() = CacheSlot::Filled(Box::new(cached));
        }
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use tradepost_aap::Vehicle;
    use tradepost_aap::vehicle::ListingStatus;

    use super::super::Inventory;
    use super::*;
    use crate::skills;

    const POLICY: SearchPolicy = SearchPolicy { default_limit: 20, max_limit: 100 };

    fn inventory(makes: &[&str]) -> Inventory {
        let car = |(number, make): (usize, &&str)| Vehicle {
            vehicle_id: Some(format!("v{number}")),
            make: Some((*make).to_owned()),
            updated_at: Some(jiff::Timestamp::UNIX_EPOCH),
            status: Some(ListingStatus::Available),
            ..Vehicle::default()
        };
        Inventory::build(makes.iter().enumerate().map(car).collect(), Vec::new()).unwrap()
    }

    fn search(make: &str, policy: SearchPolicy) -> CacheKey {
        let filters = Filters { make: vec![make.to_owned()], ..Filters::default() };
        CacheKey::Search(Search { filters, ..Search::default() }, policy, CurrentYear::TEST)
    }

    fn text(reply: &AapReply) -> String {
        tradepost_document::json::to_string(reply).unwrap()
    }

    #[test]
    fn a_repeated_question_gets_the_answer_of_the_first_time() {
        let makes = ["Honda", "Ford"];
        let facets = |make: &str| {
            CacheKey::Facets(
                Filters { make: vec![make.to_owned()], ..Filters::default() },
                CurrentYear::TEST,
            )
        };
        let small = SearchPolicy { default_limit: 1, max_limit: 1 };
        let questions = makes.map(|make| [search(make, POLICY), search(make, small), facets(make)]);
        // With one place everything displaces everything.
        for places in [0, 1, 4, 512] {
            let answers = AnswerCache::new(places);
            let inventories = [inventory(&["Honda", "Honda", "Ford"]), inventory(&["Ford"])];
            for question in questions.iter().flatten().cycle().take(60) {
                for (name, inventory) in inventories.iter().enumerate() {
                    let fresh = text(&skills::answer(inventory, question).unwrap());
                    for _ in 0..3 {
                        let again = answers
                            .answer(name as u64, question, || skills::answer(inventory, question));
                        assert_eq!(text(&again.unwrap()), fresh, "{places} {question:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn it_is_worked_out_twice_and_not_once_more() {
        let answers = AnswerCache::new(64);
        let inventory = inventory(&["Honda"]);
        let question = search("Honda", POLICY);
        let mut runs = 0;
        for _ in 0..5 {
            let work = || {
                runs += 1;
                skills::answer(&inventory, &question)
            };
            answers.answer(7, &question, work).unwrap();
        }
        assert_eq!(runs, 2);
    }

    #[test]
    fn what_is_very_long_is_not_kept() {
        let makes: Vec<String> =
            (0..100).map(|number| format!("{number}{}", "x".repeat(900))).collect();
        let inventory = inventory(&makes.iter().map(String::as_str).collect::<Vec<_>>());
        let limit = SearchPolicy { default_limit: 1000, max_limit: 1000 };
        let question = CacheKey::Search(Search::default(), limit, CurrentYear::TEST);
        let answers = AnswerCache::new(64);
        for _ in 0..3 {
            answers.answer(7, &question, || skills::answer(&inventory, &question)).unwrap();
        }
        let is_filled =
            |place: &Mutex<CacheSlot>| matches!(*place.lock().unwrap(), CacheSlot::Filled(_));
        assert!(!answers.places.iter().any(is_filled));
    }
}
