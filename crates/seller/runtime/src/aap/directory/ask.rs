//! Asks dealers of a directory in this process: each authenticates the caller, limits and answers as it does at its own
//! endpoint. A slow dealer delays no other, because each has a share of the time of the call.

use std::sync::Arc;

use futures_util::StreamExt as _;
use tokio::time::Instant;
use tradepost_a2a::card::WELL_KNOWN_PATH;
use tradepost_a2a::error::A2aRefusal;
use tradepost_aap::{AapRefusal, AapReply, Skill};
use tradepost_dealer_tools::arguments::SearchArguments;
use tradepost_dealer_tools::join::{DealerDescription, DealerReply, FailedDealers};
use tradepost_dealer_tools::search::{DealerMatches, DealerPage, NamedMatches};
use tradepost_dealer_tools::time::{CONCURRENT_CALLS, share_of};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{self, Map, Value, json};
use tradepost_document::problem::Problems;
use tradepost_document::text::SENTENCE;
use tradepost_mcp::sanitize::{Cleaner, dealer_text};
use tradepost_server::agent::{
    Agent as _, Binding, Caller, EarlyError, INTERNAL_ERROR_RETRY_AFTER, ProfileRefusal,
    ResponsibleParty, SharedAgent,
};
use tradepost_server::auth::AuthRefusal;
use tradepost_server::fault::{InternalError, LATE};
use tradepost_server::http::{LogFields, PassedCall, intake, record_passed};
use tradepost_server::registry::AgentRegistry;
use tradepost_server::tools::{ToolAnswer, ToolCall, ToolOutcome, ToolResult};

use super::DirectoryAgent;
use super::joint_calls::JointTurn;
use crate::aap::mcp::text;
use crate::aap::seller::{DealerAgent, MessageRefused, within};

/// Failure of a call.
#[derive(Debug)]
pub(super) enum CallFailed {
    /// The arguments have problems.
    Arguments(Problems),
    /// Every dealer that was asked refuses the caller.
    Denied(AuthRefusal),
    /// Every dealer that was asked has failed.
    Dealers(Vec<DealerFailure>),
    /// The directory itself has failed.
    Broken(InternalError),
}

impl From<Problems> for CallFailed {
    fn from(problems: Problems) -> Self {
        Self::Arguments(problems)
    }
}

/// Failure of one dealer, or of the directory itself.
#[derive(Debug)]
pub(super) struct DealerFailure {
    /// Error object, with the dealer's name.
    document: Value,
    text: String,
    is_retryable: bool,
    fields: LogFields,
}

impl DealerFailure {
    /// Converts a refusal, of this dealer where there is one.
    pub(super) fn new(dealer: Option<&str>, refusal: ProfileRefusal, text: &str) -> Self {
        let ProfileRefusal { row, document, error_id, blame, misfits, .. } = refusal;
        let mut members = Map::new();
        members.extend(dealer.map(|dealer| ("dealer".to_owned(), Value::from(dealer))));
        if let Ok(Value::Object(known)) = json::from_str(document.get()) {
            members.extend(known);
        }
        let retryable = members.get("retryable").and_then(Value::as_bool);
        let mut text = dealer.map_or_else(|| text.to_owned(), |name| format!("{name}: {text}"));
        if let Some(error_id) = &error_id {
            text.push_str(&format!("\nerror_id: {error_id}"));
        }
        Self {
            document: members.into(),
            text,
            is_retryable: retryable.unwrap_or_default(),
            fields: LogFields {
                code: row.name,
                error_id,
                too_often: blame == ResponsibleParty::TooOften,
                misfits,
                ..LogFields::default()
            },
        }
    }
}

/// Returns the outcome of a call that failed: the error object of the dealer that may answer later, or of the first,
/// and with several dealers those of all.
pub(super) fn outcome_of(failures: Vec<DealerFailure>, skill: Skill) -> ToolOutcome {
    let best = failures.iter().position(|failure| failure.is_retryable).unwrap_or_default();
    let Some(shown) = failures.get(best) else { unreachable!("a call that failed has a failure") };
    let mut document = shown.document.clone();
    let mut text = shown.text.clone();
    if failures.len() > 1 {
        let all: Vec<_> = failures.iter().map(|failure| failure.document.clone()).collect();
        if let Some(members) = document.as_object_mut() {
            members.insert("errors".to_owned(), all.into());
        }
        text = format!("none of {} dealers gave an answer", failures.len());
        for failure in &failures {
            text.push_str(&format!("\n- {}", failure.text.replace('\n', "\n  ")));
        }
    }
    let LogFields { code, error_id, too_often, misfits, .. } = shown.fields.clone();
    let document = document.to_string().into();
    ToolOutcome::Answer(Box::new(ToolAnswer {
        result: ToolResult { document, is_shown: false, text, is_error: true },
        code,
        tool: Some(skill.name()),
        too_often,
        error_id,
        misfits,
    }))
}

/// Reason why a dealer gives no answer.
enum DealerRefused {
    /// It does not take the caller.
    Denied(AuthRefusal),
    /// It has failed, or refused the request.
    Failed(Box<DealerFailure>),
}

/// Answers of the dealers that answered, in the order in which they are listed.
pub(super) struct FoundAnswers<T> {
    pub(super) answers: Vec<T>,
    pub(super) failed: FailedDealers,
    /// Turn of the call, which ends when the answers have been joined.
    pub(super) turn: Option<JointTurn>,
}

/// Answer of a dealer, with its name.
pub(super) struct NamedReply {
    dealer: String,
    data: Value,
    message: Option<String>,
}

impl NamedReply {
    /// Returns the answer as it is joined with others.
    pub(super) fn as_reply(&self) -> DealerReply<'_> {
        let message = self.message.as_deref();
        DealerReply { dealer: &self.dealer, data: &self.data, message }
    }
}

/// Dealers that a call asks.
#[derive(Clone, Copy)]
pub(super) struct AskedDealers<'a> {
    pub(super) directory: &'a DirectoryAgent,
    pub(super) call: &'a ToolCall<'a>,
}

impl<'a> AskedDealers<'a> {
    /// Asks dealers for a skill with the same payload.
    pub(super) async fn ask(
        self,
        skill: Skill,
        payload: &Map,
        places: &[usize],
    ) -> Result<FoundAnswers<NamedReply>, CallFailed> {
        let ask = |one: OneDealer<'a>| async move {
            let reply = one.ask(skill, payload).await?;
            let data = text::data(&reply);
            tokio::task::yield_now().await;
            Ok(NamedReply { dealer: one.name.to_owned(), data, message: reply.message })
        };
        self.all(places, ask).await
    }

    /// Requests the first matches of dealers.
    pub(super) async fn gather(
        self,
        arguments: &SearchArguments,
        places: &[usize],
    ) -> Result<FoundAnswers<NamedMatches>, CallFailed> {
        let ask = |one: OneDealer<'a>| async move {
            let mut matches = DealerMatches::new(arguments);
            while let Some(payload) = matches.next_request() {
                let reply = one.ask(Skill::InventorySearch, &payload).await?;
                let data = text::data(&reply);
                let reading = reply.reading.map(Value::Object);
                let message = reply.message.as_deref();
                matches.add(DealerPage { data: &data, message, reading: reading.as_ref() });
                // Other requests get their turn between two long answers.
                tokio::task::yield_now().await;
            }
            Ok(NamedMatches { dealer: one.name.to_owned(), matches })
        };
        self.all(places, ask).await
    }

    /// Asks dealers what they say of themselves.
    pub(super) async fn describe(
        self,
        places: &[usize],
    ) -> Result<FoundAnswers<DealerDescription>, CallFailed> {
        let count = places.len();
        let ask = |one: OneDealer<'a>| async move {
            let terms = &one.dealer.dealer.terms;
            let versions: Vec<_> = terms.versions.iter().rev().map(|one| one.name()).collect();
            let skills: Vec<_> = terms.skills.iter().map(|skill| skill.name()).collect();
            let mut about = json!({
                "dealer": one.name,
                "card_name": dealer_text(&terms.name, SENTENCE),
                "card_url": format!("{}{WELL_KNOWN_PATH}", one.dealer.base_url),
                "aap_version": versions.first(),
                "aap_versions": versions,
                "skills": skills,
            });
            let mut cleaner = Cleaner::share(count);
            if terms.skills.contains(&Skill::DealerInformation) {
                let reply = one.ask(Skill::DealerInformation, &Map::new()).await?;
                let data = cleaner.clean(&text::data(&reply));
                if let Some(members) = about.as_object_mut() {
                    members.insert("data".to_owned(), data);
                }
            }
            Ok(DealerDescription { document: about, cut: cleaner.cut })
        };
        self.all(places, ask).await
    }

    /// Asks dealers at the same time. One answer is enough.
    async fn all<T, F>(
        self,
        places: &[usize],
        ask: impl Fn(OneDealer<'a>) -> F,
    ) -> Result<FoundAnswers<T>, CallFailed>
    where
        F: Future<Output = Result<T, DealerRefused>>,
    {
        let patience = self.call.patience;
        let share = share_of(patience, places.len());
        let end = Instant::now() + patience;
        // A call for one dealer takes a turn of that dealer alone.
        let turn = match places {
            [_] => None,
            _ => Some(self.directory.joint_calls.turn(patience).await.map_err(CallFailed::Denied)?),
        };
        let ask = &ask;
        let dealers: Vec<OneDealer<'a>> =
            places.iter().filter_map(|place| self.one(*place)).collect();
        let calls = dealers.into_iter().enumerate().map(|(place, one)| async move {
            let left = end.saturating_duration_since(Instant::now());
            let outcome = if left.is_zero() {
                Err(one.not_asked())
            } else {
                let answered = tokio::time::timeout(share.min(left), ask(one)).await;
                answered.unwrap_or_else(|_| Err(one.too_slow()))
            };
            (place, one, outcome)
        });
        // Collected, because the compiler does not find out that the closure takes every lifetime.
        let calls: Vec<_> = calls.collect();
        let calls = futures_util::stream::iter(calls).buffer_unordered(CONCURRENT_CALLS);
        let mut outcomes: Vec<_> = calls.collect().await;
        outcomes.sort_by_key(|(place, ..)| *place);
        let mut answers = Vec::new();
        let mut refused = Vec::new();
        for (_, one, outcome) in outcomes {
            match outcome {
                Ok(answer) => answers.push(answer),
                Err(failure) => refused.push((one, failure)),
            }
        }
        let is_denied =
            |(_, refused): &(_, DealerRefused)| matches!(refused, DealerRefused::Denied(_));
        if answers.is_empty() && refused.iter().all(is_denied) {
            let denied = refused.into_iter().find_map(|(_, refused)| match refused {
                DealerRefused::Denied(denied) => Some(denied),
                DealerRefused::Failed(_) => None,
            });
            return Err(CallFailed::Denied(denied.unwrap_or(AuthRefusal::Missing)));
        }
        let failures: Vec<_> =
            refused.into_iter().map(|(one, refused)| one.failure(refused)).collect();
        if answers.is_empty() {
            return Err(CallFailed::Dealers(failures));
        }
        let documents = failures.iter().map(|failure| failure.document.clone()).collect();
        let texts = failures.into_iter().map(|failure| failure.text).collect();
        Ok(FoundAnswers { answers, failed: FailedDealers { documents, texts }, turn })
    }

    fn one(self, place: usize) -> Option<OneDealer<'a>> {
        let dealer = self.directory.dealers.get(place)?;
        let name = self.directory.names.get(place)?;
        Some(OneDealer { dealer, name, call: self.call })
    }
}

/// A dealer that a call asks.
#[derive(Clone, Copy)]
struct OneDealer<'a> {
    dealer: &'a Arc<DealerAgent>,
    name: &'a str,
    call: &'a ToolCall<'a>,
}

impl OneDealer<'_> {
    /// Asks the dealer as the caller that it takes the request's for, and records the call as one of its own.
    async fn ask(self, skill: Skill, payload: &Map) -> Result<AapReply, DealerRefused> {
        let origin = self.call.origin;
        let begun = Instant::now();
        let caller = intake::passed_caller(origin.registry, &**self.dealer, origin.parts).await;
        let caller = caller.map_err(|denied| self.denied(denied))?;
        let mut data = payload.clone();
        data.insert("type".to_owned(), skill.request_type().into());
        let outcome = self.answer(&caller, &Value::Object(data)).await;
        let fields = match &outcome {
            Ok(_) => LogFields::default(),
            Err(DealerRefused::Failed(failure)) => failure.fields.clone(),
            Err(DealerRefused::Denied(denied)) => {
                LogFields { code: self.denial(denied).code.name(), ..LogFields::default() }
            }
        };
        let fields = LogFields { skill: Some(skill.name()), ..fields }.by(&caller);
        record(origin.registry, self.dealer, PassedCall { took: begun.elapsed(), fields });
        outcome
    }

    async fn answer(self, caller: &Caller, data: &Value) -> Result<AapReply, DealerRefused> {
        let Self { dealer, call, .. } = self;
        let version = dealer.version_of(data);
        let work = within(call.patience, dealer.answer_passed(caller, call.sent, data));
        let agent = shared(dealer);
        let answered = call.origin.registry.pass_on(&agent, caller, work).await;
        match answered.map_err(|denied| self.denied(denied))? {
            Ok(reply) => Ok(reply),
            Err(MessageRefused::Profile(refusal)) => {
                let text = text::refusal(&refusal);
                Err(self.failed(dealer.refuse(version, refusal, ResponsibleParty::Caller), &text))
            }
            Err(MessageRefused::Denied(denied)) => Err(self.denied(denied)),
            Err(MessageRefused::Broken(fault)) => Err(self.internal_error(&fault)),
        }
    }

    fn failed(self, refusal: ProfileRefusal, text: &str) -> DealerRefused {
        DealerRefused::Failed(Box::new(DealerFailure::new(Some(self.name), refusal, text)))
    }

    fn internal_error(self, fault: &InternalError) -> DealerRefused {
        let version = self.dealer.version_of(&Value::Null);
        let text = text::refusal(&AapRefusal::internal_error(INTERNAL_ERROR_RETRY_AFTER));
        self.failed(self.dealer.internal_error(version, fault), &text)
    }

    /// Converts a refusal of the caller. A rate limit and an internal error are those of the dealer's catalog.
    fn denied(self, denied: AuthRefusal) -> DealerRefused {
        let early = match &denied {
            AuthRefusal::Limited(exceeded) => EarlyError::TooOften(*exceeded),
            AuthRefusal::Unavailable(fault) => EarlyError::Broken(fault),
            AuthRefusal::Missing
            | AuthRefusal::Invalid { .. }
            | AuthRefusal::Expired
            | AuthRefusal::Scope { .. }
            | AuthRefusal::Page => return DealerRefused::Denied(denied),
        };
        match self.dealer.refusal(Binding::JsonRpc, &early) {
            Some(refusal) => {
                let text = format!("{}: {}", refusal.row.name, refusal.message);
                self.failed(refusal, &text)
            }
            None => unreachable!("a dealer speaks a version, and so has words for it"),
        }
    }

    fn too_slow(self) -> DealerRefused {
        self.internal_error(
            &InternalError::new("answering a call of a directory", LATE).transient(),
        )
    }

    fn not_asked(self) -> DealerRefused {
        let mut refusal = AapRefusal::internal_error(INTERNAL_ERROR_RETRY_AFTER);
        refusal.message =
            "the time of the call was up before this dealer was asked; name it in dealers"
                .to_owned();
        let text = text::refusal(&refusal);
        let version = self.dealer.version_of(&Value::Null);
        self.failed(
            self.dealer.refuse(version, refusal, ResponsibleParty::ServerTemporarily),
            &text,
        )
    }

    /// Returns the protocol's error for a caller that the dealer does not take.
    fn denial(self, denied: &AuthRefusal) -> A2aRefusal {
        let known = self.dealer.auth().refusal(denied);
        known
            .unwrap_or_else(|| unreachable!("what has no row in the protocol's catalog has failed"))
    }

    /// Returns what is listed of a dealer that gave no answer.
    fn failure(self, refused: DealerRefused) -> DealerFailure {
        let denied = match refused {
            DealerRefused::Failed(failure) => return *failure,
            DealerRefused::Denied(denied) => denied,
        };
        let A2aRefusal { code, message, .. } = self.denial(&denied);
        let code = code.name();
        DealerFailure {
            document: json!({
                "dealer": self.name, "code": code, "message": message, "retryable": false,
            }),
            text: format!("{}: {code}: {message}", self.name),
            is_retryable: false,
            fields: LogFields { code, ..LogFields::default() },
        }
    }
}

/// Passes a call on to the dealer's own endpoint, as the caller that the dealer takes the request's for.
pub(super) async fn pass(dealer: &Arc<DealerAgent>, mut call: ToolCall<'_>) -> ToolOutcome {
    let origin = call.origin;
    let begun = Instant::now();
    let caller = match intake::passed_caller(origin.registry, &**dealer, origin.parts).await {
        Ok(caller) => caller,
        Err(denied) => return ToolOutcome::Denied(denied),
    };
    call.caller = &caller;
    let Some(tools) = dealer.tools() else {
        unreachable!("only dealers with tools are in a directory")
    };
    let outcome = origin.registry.call(&shared(dealer), tools, call).await;
    if let ToolOutcome::Answer(answer) = &outcome {
        let ToolAnswer { code, tool, too_often, error_id, misfits, .. } = &**answer;
        let fields = LogFields {
            code,
            skill: *tool,
            too_often: *too_often,
            error_id: error_id.clone(),
            misfits: misfits.clone(),
            ..LogFields::default()
        };
        let took = begun.elapsed();
        record(origin.registry, dealer, PassedCall { took, fields: fields.by(&caller) });
    }
    outcome
}

fn record(registry: &AgentRegistry, dealer: &Arc<DealerAgent>, call: PassedCall) {
    record_passed(registry, &shared(dealer), call);
}

fn shared(dealer: &Arc<DealerAgent>) -> SharedAgent {
    Arc::clone(dealer) as SharedAgent
}
