//! Skill calls with recovery: transient failures are retried after a pause, and a lead keeps its idempotency
//! key over all attempts, so that the dealer stores it once.

use std::borrow::Cow;

use jiff::Timestamp;
use tradepost_aap::Skill;
use tradepost_document::json::Value;

use super::{SkillClient, seller_of};
use crate::answer::SkillAnswer;
use crate::card_reader::follow_move;
use crate::failure::CallFailure;
use crate::recovery::{CredentialStep, FailedAttempt, Fix, ResendEffect};
use crate::retry::{GaveUp, IntentSender, Recovered, Recoverer, RequestKey, RetryClock};

/// Member of a lead by which a dealer recognises it.
// R-LD-14
const KEY: &str = "idempotency_key";

impl SkillClient {
    /// Calls a skill as [`SkillClient::call`] does and follows the advice within the limits of `recoverer`. A
    /// lead without an idempotency key gets one. `correct` changes the payload as an advice says and returns
    /// true when it did; [`uncorrected`] never does. A corrected lead gets a fresh key, unless the correction
    /// gave it one.
    ///
    /// # Errors
    /// The last failure, and the advice that is left to the caller.
    pub async fn call_with_recovery<W: RetryClock>(
        &self,
        skill: Skill,
        payload: Value,
        recoverer: &Recoverer<W>,
        correct: impl FnMut(&Fix, &CallFailure, &mut Value) -> bool + Send,
    ) -> Result<Recovered<SkillAnswer>, Box<GaveUp>> {
        self.call_with_retries(skill, payload, None, recoverer, correct).await
    }

    /// Calls a skill with recovery. With `moment`, checks every request as of that moment.
    pub(super) async fn call_with_retries<W: RetryClock>(
        &self,
        skill: Skill,
        payload: Value,
        moment: Option<Timestamp>,
        recoverer: &Recoverer<W>,
        correct: impl FnMut(&Fix, &CallFailure, &mut Value) -> bool + Send,
    ) -> Result<Recovered<SkillAnswer>, Box<GaveUp>> {
        let client = Cow::Borrowed(self);
        let mut calls = SkillCalls { client, skill, payload, moment, used: None, correct };
        let effect = if !skill.has_effect() {
            ResendEffect::Read
        } else if calls.has_key_or_gets_one() {
            ResendEffect::Keyed
        } else {
            ResendEffect::Unkeyed
        };
        let has_card = self.card.is_some();
        let attempt =
            FailedAttempt::with_host(self.endpoint.host_str(), effect, self.token.is_some());
        let attempt = FailedAttempt { has_card, ..attempt };
        recoverer.run(&seller_of(&self.endpoint), attempt, &mut calls).await
    }
}

/// Corrects nothing, so that the advice goes to the caller.
pub fn uncorrected(_: &Fix, _: &CallFailure, _: &mut Value) -> bool {
    false
}

struct SkillCalls<'c, C> {
    /// Replaced when the agent has moved.
    client: Cow<'c, SkillClient>,
    skill: Skill,
    payload: Value,
    /// Moment as of which a typed request is checked.
    moment: Option<Timestamp>,
    /// Key of the last request.
    used: Option<Value>,
    correct: C,
}

impl<C> SkillCalls<'_, C> {
    fn has_key_or_gets_one(&mut self) -> bool {
        let fresh = self.client.new_id();
        let Some(members) = self.payload.as_object_mut() else {
            return false;
        };
        members.entry(KEY).or_insert_with(|| fresh.into());
        true
    }
}

impl<C: FnMut(&Fix, &CallFailure, &mut Value) -> bool + Send> IntentSender for SkillCalls<'_, C> {
    type Answer = SkillAnswer;

    async fn send(&mut self, key: RequestKey) -> Result<SkillAnswer, CallFailure> {
        // A key that the correction set stays.
        if key == RequestKey::Fresh
            && self.skill == Skill::LeadSubmit
            && self.payload.get(KEY) == self.used.as_ref()
        {
            if let Some(members) = self.payload.as_object_mut() {
                members.shift_remove(KEY);
            }
            self.has_key_or_gets_one();
        }
        self.used = self.payload.get(KEY).cloned();
        let payload = self.payload.clone();
        match self.moment {
            Some(moment) => self.client.typed(self.skill, payload, moment).await,
            None => self.client.call(self.skill, payload).await,
        }
    }

    fn key(&self) -> Option<&str> {
        self.used.as_ref().and_then(Value::as_str)
    }

    async fn correct(&mut self, fix: &Fix, failure: &CallFailure) -> bool {
        (self.correct)(fix, failure, &mut self.payload)
    }

    async fn read_card(&mut self) -> bool {
        let moved = self.client.moved().await;
        follow_move(&mut self.client, moved)
    }

    async fn authenticate(&mut self, _: CredentialStep) -> bool {
        // The client's token cannot be changed.
        false
    }
}

#[cfg(test)]
mod tests;
