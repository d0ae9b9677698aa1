//! `tradepost call --retry`: the loop, with a word to the person who waits.

use std::time::Duration;

use serde_json::{Map, Value};
use tradepost_buyer::Answer;
use tradepost_buyer::client::{Client, random_ids, uncorrected};
use tradepost_buyer::retry::{GaveUp, Limits, Machine, Recoverer, Sizes, World};
use tradepost_wire::aap::Skill;
use uuid::Uuid;

use super::super::output::{Failure, Output};

/// The member of a lead by which the dealer recognises it.
const KEY: &str = "idempotency_key";

/// Gives a lead an idempotency key, when it has none.
pub(super) fn give_key(skill: Skill, payload: &mut Value) {
    if skill == Skill::LeadSubmit
        && let Some(members) = payload.as_object_mut()
    {
        members.entry(KEY).or_insert_with(|| Uuid::new_v4().to_string().into());
    }
}

/// Calls a skill within the usual limits.
pub(super) async fn call(
    client: &Client,
    skill: Skill,
    payload: Value,
    output: Output,
) -> Result<Answer, Failure> {
    let key = payload.get(KEY).and_then(Value::as_str).map(ToOwned::to_owned);
    let world = Spoken { machine: Machine::new(random_ids()), output };
    let recoverer = Recoverer::new(world, Limits::default(), Sizes::default());
    let called = client.call_with_recovery(skill, payload, &recoverer, uncorrected).await;
    match called {
        Ok(recovered) => Ok(recovered.answer),
        Err(gave_up) => Err(of(skill, key.as_deref(), *gave_up)),
    }
}

/// The failure, with what is left to do as its hint.
fn of(skill: Skill, key: Option<&str>, gave_up: GaveUp) -> Failure {
    let GaveUp { failure, advice, spent, .. } = gave_up;
    let in_doubt = skill == Skill::LeadSubmit && failure.may_have_acted();
    let mut out = Failure::from(failure).hint(advice.to_string());
    if spent.attempts > 1 {
        let waited = spent.waited.as_secs_f64();
        out.lines.push(format!("sent {} times, with {waited:.1} s between", spent.attempts));
    }
    let mut facts = Map::new();
    facts.insert("advice".into(), advice.name().into());
    facts.insert("attempts".into(), spent.attempts.into());
    if let (true, Some(key)) = (in_doubt, key) {
        out.lines.push(format!(
            "the lead may have arrived; send it again only with the idempotency_key {key}"
        ));
        facts.insert(KEY.into(), key.into());
    }
    match &mut out.data {
        Some(Value::Object(data)) => data.extend(facts),
        Some(_) | None => out.data = Some(facts.into()),
    }
    out
}

/// The machine's world, which says when it waits.
struct Spoken {
    machine: Machine,
    output: Output,
}

impl World for Spoken {
    fn now(&self) -> Duration {
        self.machine.now()
    }

    async fn sleep(&self, time: Duration) {
        self.output.talk(format!("waiting {:.1} s to send again", time.as_secs_f64()));
        self.machine.sleep(time).await;
    }

    fn draw(&self) -> f64 {
        self.machine.draw()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tradepost_buyer::failure;
    use tradepost_buyer::recovery::{Advice, Why};
    use tradepost_buyer::retry::Spending;

    use super::*;

    #[test]
    fn a_lead_gets_a_key_and_keeps_its_own() {
        let mut lead = json!({});
        give_key(Skill::LeadSubmit, &mut lead);
        assert_eq!(lead[KEY].as_str().map(str::len), Some(36));
        let mut lead = json!({KEY: "mine"});
        give_key(Skill::LeadSubmit, &mut lead);
        assert_eq!(lead, json!({KEY: "mine"}));
        let mut search = json!({});
        give_key(Skill::InventorySearch, &mut search);
        assert_eq!(search, json!({}));
    }

    #[test]
    fn what_is_left_to_do_is_the_hint_and_a_lead_in_doubt_names_its_key() {
        let gave_up = || GaveUp {
            failure: failure::Failure::Unanswered(failure::Unanswered::Broken("x".into())),
            advice: Advice::Ask(Why::Throttled),
            spent: Spending { attempts: 3, waited: Duration::from_millis(6_200) },
            outage: false,
        };
        let failure = of(Skill::LeadSubmit, Some("k-1"), gave_up());
        assert!(failure.hint.unwrap().contains("limiting the rate"));
        assert_eq!(failure.lines[0], "sent 3 times, with 6.2 s between");
        assert!(failure.lines[1].contains("idempotency_key k-1"));
        let data = failure.data.unwrap();
        assert_eq!((&data["advice"], &data["attempts"]), (&json!("ask"), &json!(3)));
        assert_eq!(
            (&data["idempotency_key"], &data["kind"]),
            (&json!("k-1"), &json!("unanswered"))
        );
        let failure = of(Skill::InventorySearch, None, gave_up());
        assert_eq!(failure.lines.len(), 1);
    }
}
