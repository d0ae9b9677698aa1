//! Order of the checks of a request: release, misplaced credentials, schema, rate, standing, account, scope,
//! idempotency key, status of the account, work. Nothing is stored of a request that is refused.

use std::mem;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tradepost_adcp::credentials;
use tradepost_adcp::error::{AdcpCode, AdcpError, AdcpRelease, Issue};
use tradepost_adcp::release::added;
use tradepost_adcp::rules::{self, Internals, Issues};
use tradepost_adcp::{AdcpAnswer, AdcpTool};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value};

use crate::admit::{self, Admitted, StorePhase};
use crate::availability;
use crate::buy::MediaBuy;
use crate::creative::Creative;
use crate::idempotency::IdempotencyKey;
use crate::proposal::Proposal;
use crate::publisher::Publisher;
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::reporting::{self, send::ReportSender};
use crate::response_cache::{self, CacheDeps};
use crate::services::RateClass;
use crate::store::stale_reads::{RecordingReader, StaleReader};
use crate::store::{Changes, Entity, EntityKind, Query, ReadExtent, StoreRead, StoreTx, StoreWork};
use crate::task::finish::{self, TaskFinisher};
use crate::task::{QueuedNotification, SubmittedTask};
use crate::tool_call::{AdcpToolCall, BuyerCaller, Credential, may_be_repeated};
use crate::tool_context::{Expiry, Prepared, ToolContext, WorkStop};
use crate::tools;
use crate::tools::ToolRequest;
use crate::version;

/// Returns the release whose codes a caller knows that was refused before it reached a publisher: the one
/// that its request names, or else ours.
#[must_use]
pub fn release(arguments: &Map) -> AdcpRelease {
    version::codes(arguments)
}

/// Members of requests with an address of the caller's, and what is sent there.
const ADDRESSES: [(&str, &str); 2] =
    [("push_notification_config", "notifications"), ("reporting_webhook", "reports")];

/// Time for which notifications are kept that are delivered or given up.
const NOTICES_KEPT: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Time for which events for the staff are kept: longer than a destination is tried.
const EVENTS_KEPT: SignedDuration = SignedDuration::from_hours(35 * 24);

/// Maximum number of events that are looked at in one round of tidying, the oldest first.
const TIDIED_EVENTS: usize = 10_000;
/// Number of notifications on a page when old ones are removed; one transaction reads all pages.
const NOTICE_PAGE_SIZE: usize = 500;

/// Maximum number of entities that have changed by themselves and are updated in one transaction.
const MAX_SETTLED_PER_TRANSACTION: usize = 500;

/// Maximum number of such transactions for one type in each tick.
const MAX_SETTLE_TRANSACTIONS: usize = 20;

impl Publisher {
    /// Answers a task of AdCP that this seller does not have. A caller without permission for it is told so
    /// instead, because a permission can be granted and a missing task cannot (AdCP 3.1 `error-handling`,
    /// `R-5`).
    #[must_use]
    pub fn lacking(&self, task: &str, caller: &BuyerCaller, arguments: &Map) -> AdcpAnswer {
        let denied =
            self.store.look(|reader| admit::foreign(self, task, caller, arguments, reader));
        let mut answer = match denied {
            Ok(()) => AdcpAnswer::failed(refusals::unsupported(), Vec::new()),
            Err(ToolError::Refused(refusal)) => AdcpAnswer::failed(*refusal.first, refusal.others),
            Err(ToolError::Broken(broken)) => self.internal_error(&broken),
        };
        let context = arguments.get("context");
        answer.context = context.filter(|context| may_be_repeated(context)).cloned();
        answer.pinned(self.release(arguments))
    }

    /// Returns the release in which a request is answered.
    pub(crate) fn release(&self, arguments: &Map) -> AdcpRelease {
        version::choose(&self.profile, arguments).unwrap_or(AdcpRelease::V3_1)
    }

    /// Answers a request.
    pub async fn answer(&self, mut call: AdcpToolCall) -> AdcpAnswer {
        let is_cacheable = response_cache::is_for(&call);
        if is_cacheable && let Some(cached) = self.cached_answer(&call).await {
            let mut arguments = call.arguments;
            return AdcpAnswer { context: arguments.swap_remove("context"), ..cached };
        }
        // Taken before the checks, because every answer, also a refusal, repeats the caller's
        // `context` (AdCP 3.1 `error-handling`, `X-2`).
        let context = call.arguments.get("context").cloned();
        let keyed = call.tool.keyed() || IdempotencyKey::is_taken(&call);
        // Before all checks, because the release decides the words of every refusal.
        let chosen = version::choose(&self.profile, &call.arguments);
        let release = chosen.as_ref().copied().unwrap_or(AdcpRelease::V3_1);
        let mut cache_deps = None;
        let mut lifetime = None;
        let done = match chosen.and_then(|release| self.check(&mut call, release)) {
            Ok(request) => {
                // The version has to be from before the first read.
                cache_deps = if is_cacheable { self.cache_deps() } else { None };
                self.perform(&call, &request).await
            }
            Err(stop) => Err(stop),
        };
        let answer = match done {
            Ok(reply) => {
                lifetime = reply.lifetime;
                AdcpAnswer {
                    standing: reply.standing,
                    message: reply.message,
                    written: reply.written,
                    body: reply.body,
                    errors: reply.warnings,
                    context: None,
                    replayed: keyed.then_some(reply.replayed),
                    release,
                    beginning: None,
                }
            }
            Err(ToolError::Refused(refusal)) => AdcpAnswer::failed(*refusal.first, refusal.others),
            Err(ToolError::Broken(broken)) => self.internal_error(&broken),
        };
        let mut answer = answer.spoken(call.tool, release);
        let repeated = context.filter(|context| call.may_repeat(context));
        if let Some(cache_deps) = cache_deps
            && let Some(lifetime) = lifetime
        {
            // No credential is kept in the cache.
            self.response_cache.keep(
                AdcpToolCall { credential: None, ..call },
                cache_deps,
                lifetime,
                &answer,
            );
        }
        answer.context = repeated;
        answer
    }

    /// Returns the dependencies of an answer that is computed now.
    fn cache_deps(&self) -> Option<CacheDeps> {
        Some(CacheDeps { version: self.store.version()?, profile: Arc::downgrade(&self.profile) })
    }

    /// Returns the cached answer to the same request, when it would be the same now.
    async fn cached_answer(&self, call: &AdcpToolCall) -> Option<AdcpAnswer> {
        let cached = self.response_cache.find(call)?;
        if !cached.holds(&self.cache_deps()?, call.now) {
            return None;
        }
        let supply = self.services.inventory().await.ok()?;
        // When the ad server cannot be asked, an answer has to say how old it is.
        if supply.stale.is_some() || !cached.is_of(&supply.sold_out) {
            return None;
        }
        // It counts like any other request. One beyond the limit has used nothing up, and is refused in the
        // usual way.
        self.services.admit(&call.caller.principal, RateClass::Read).ok()?;
        Some(cached.answer.clone())
    }

    /// Does what is due without a request: decides about submitted tasks, ends reviews of creatives, and
    /// queues reports.
    /// Returns the number of tasks that ended. To be called every second or so.
    pub async fn tick(&self, now: Timestamp) -> usize {
        self.settle::<MediaBuy>(now, finish::settle::<MediaBuy>).await;
        self.settle::<Creative>(now, finish::settle::<Creative>).await;
        self.settle::<SubmittedTask>(now, finish::settle::<SubmittedTask>).await;
        self.settle::<Proposal>(now, finish::forget_drafts).await;
        // Only ids: each task is read again in its own transaction, because a person may have decided about
        // it meanwhile.
        let due = self.reported(self.store.look(|reader| finish::due(reader, now)));
        let mut ended = 0;
        for record in due {
            let this = self.clone();
            // Each in a transaction of its own, so that one that fails holds up no other.
            let job =
                move |tx: &dyn StoreTx| TaskFinisher { publisher: &this, tx, now }.decide(&record);
            ended += usize::from(self.reported(self.store.act::<bool, InternalError>(job).await));
        }
        // Reviews of creatives that have ended by themselves.
        for record in self.reported(self.store.look(|reader| finish::reviewed(reader, now))) {
            let this = self.clone();
            let job =
                move |tx: &dyn StoreTx| TaskFinisher { publisher: &this, tx, now }.settle(&record);
            self.reported(self.store.act::<(), InternalError>(job).await);
        }
        for id in self.reported(self.store.look(|reader| reporting::send::due(reader, now))) {
            let this = self.clone();
            let job = move |tx: &dyn StoreTx| {
                ReportSender { publisher: &this, tx, now }.queue_reports(&id)
            };
            self.reported(self.store.act::<(), InternalError>(job).await);
        }
        ended
    }

    /// Stores the current status of entities of a type that have changed by themselves, so that they are
    /// found by it.
    async fn settle<T: Entity>(
        &self,
        now: Timestamp,
        work: fn(&dyn StoreTx, Timestamp, usize) -> Result<bool, InternalError>,
    ) {
        let due = |reader: &dyn StoreRead| {
            let by_now = Some(Changes::By(now));
            let first = Query { changes: by_now, limit: 1, ..Query::default() };
            Ok::<_, InternalError>(!reader.list(T::KIND, &first)?.is_empty())
        };
        let mut has_more = self.reported(self.store.look(due));
        let mut rounds = 0;
        while has_more && rounds < MAX_SETTLE_TRANSACTIONS {
            let job = move |tx: &dyn StoreTx| work(tx, now, MAX_SETTLED_PER_TRANSACTION);
            has_more = self.reported(self.store.act::<bool, InternalError>(job).await);
            rounds += 1;
        }
    }

    /// Returns the result of background work; an internal error is logged, and gives the default value.
    fn reported<T: Default>(&self, done: Result<T, InternalError>) -> T {
        done.unwrap_or_else(|broken| {
            self.services.report(&broken);
            T::default()
        })
    }

    /// Checks that notifications may be sent where the request says.
    fn may_notify(&self, call: &AdcpToolCall) -> Result<(), ToolError> {
        let mut problems = Vec::new();
        for (member, what) in ADDRESSES {
            let config = call.arguments.get(member);
            let url = config.and_then(|config| config.get("url")).and_then(Value::as_str);
            if let Some(Err(why)) = url.map(|url| self.services.may_call(url)) {
                let message = format!("the address of {what} {why}");
                problems.push(refusals::invalid(&format!("{member}.url"), &message));
            }
        }
        Ok(AdcpRefusal::of_all(problems)?)
    }

    /// Removes what is no longer needed: idempotency keys beyond their life, notifications that were
    /// delivered or given up a week ago, and old events for the staff. To be called every hour or so.
    pub async fn tidy(&self, now: Timestamp) {
        let keys = IdempotencyKey::forgotten_before(&self.profile, now);
        let notices = now.checked_sub(NOTICES_KEPT).unwrap_or(Timestamp::MIN);
        let events = now.checked_sub(EVENTS_KEPT).unwrap_or(Timestamp::MIN);
        let job = move |tx: &dyn StoreTx| {
            tx.forget_keys(keys)?;
            // Due notifications stay, however old: giving one up is the queue's decision.
            for state in [QueuedNotification::DONE, QueuedNotification::DEAD] {
                let mut query = Query { limit: NOTICE_PAGE_SIZE, ..Query::with_state(state) };
                loop {
                    let mut page = tx.list(EntityKind::Notice, &query)?;
                    let has_more = page.last().is_some_and(|last| last.created_at < notices);
                    for record in page.extract_if(.., |record| record.updated_at < notices) {
                        tx.remove(EntityKind::Notice, &record.id)?;
                    }
                    if !has_more {
                        break;
                    }
                    query.continue_behind(page.iter());
                }
            }
            // Events that old are no longer delivered.
            let query = Query { limit: TIDIED_EVENTS, ..Query::default() };
            for record in tx.list(EntityKind::StaffEvent, &query)? {
                if record.created_at < events {
                    tx.remove(EntityKind::StaffEvent, &record.id)?;
                }
            }
            Ok(())
        };
        self.reported(self.store.act::<(), InternalError>(job).await);
        self.services.tidy();
    }

    fn internal_error(&self, broken: &InternalError) -> AdcpAnswer {
        // The caller gets the id of the log entry, and nothing of the cause (AdCP 3.1
        // `error-handling`, `Y-5`; `transport-errors`, `Z-4`).
        let error_id = self.services.report(broken);
        AdcpAnswer::failed(refusals::internal_error().with("error_id", error_id), Vec::new())
    }

    /// Checks a request as far as the store is not needed for that, and counts it. The call has the same arguments
    /// afterwards.
    fn check(
        &self,
        call: &mut AdcpToolCall,
        release: AdcpRelease,
    ) -> Result<Arc<ToolRequest>, ToolError> {
        // The rules check a `Value`, so that the members are lent to one: a copy would cost a third of the check.
        let sent = Value::Object(mem::take(&mut call.arguments));
        let read = self.read_arguments(call.tool, call.credential.as_ref(), &sent, release);
        if let Value::Object(members) = sent {
            call.arguments = members;
        }
        let request = Arc::new(read?);
        let rate_class = if call.tool.mutates() { RateClass::Write } else { RateClass::Read };
        self.services
            .admit(&call.caller.principal, rate_class)
            .map_err(|wait| refusals::rate_limited(wait, "account"))?;
        self.may_notify(call)?;
        Ok(request)
    }

    /// Checks the arguments of a call for credentials, and by their schema, and reads them.
    fn read_arguments(
        &self,
        tool: AdcpTool,
        credential: Option<&Credential>,
        sent: &Value,
        release: AdcpRelease,
    ) -> Result<ToolRequest, ToolError> {
        // The schema leaves `context` and `ext` open, so that a credential there passes it; it is
        // looked for by name, and the caller's own by its value, at every depth (AdCP 3.1
        // `authentication`, `A-7`).
        let by_name = credentials::find(sent);
        let by_value = credential.map(|own| own.find_in(sent)).unwrap_or_default();
        if !by_name.is_empty() || !by_value.is_empty() {
            return Err(credential_in_arguments(&by_name, &by_value).into());
        }
        tools::before_schema(tool, sent)?;
        let settled = added::remove_defaults(tool, release, sent);
        let unsupported = settled.unsupported.iter();
        AdcpRefusal::of_all(unsupported.map(|pointer| unsupported_member(pointer)).collect())?;
        let arguments = settled.request;
        let internals = if self.profile.internals { Internals::On } else { Internals::Off };
        // The test controller has an error vocabulary of its own, for this as well.
        if tool != AdcpTool::ComplyTestController || !self.profile.sandbox {
            rules::check(tool, &arguments, internals).map_err(violations)?;
        }
        let unread =
            || InternalError::new("reading arguments that fit their schema", "they do not");
        ToolRequest::read(tool, &arguments).ok_or_else(unread).map_err(ToolError::from)
    }

    /// Does a request, or what can be done of it while the store is unavailable.
    async fn perform(
        &self,
        call: &AdcpToolCall,
        request: &Arc<ToolRequest>,
    ) -> Result<ToolReply, ToolError> {
        if call.tool != AdcpTool::GetProducts || !self.store.may_be_unavailable() {
            return self.carry_out(call, request).await;
        }
        if self.recent.must_not_ask(call.elapsed)
            && let Some(stale_reply) = self.answer_from_recent_reads(call, request).await
        {
            return Ok(stale_reply);
        }
        let done = self.carry_out(call, request).await;
        let is_unavailable =
            matches!(&done, Err(ToolError::Broken(broken)) if broken.is_transient());
        self.recent.answered(!is_unavailable, call.elapsed);
        if is_unavailable
            && let Some(stale_reply) = self.answer_from_recent_reads(call, request).await
        {
            return Ok(stale_reply);
        }
        done
    }

    /// Answers a search from recent reads, and says how old they are; `None` when it needs anything else, or
    /// would store something.
    async fn answer_from_recent_reads(
        &self,
        call: &AdcpToolCall,
        request: &ToolRequest,
    ) -> Option<ToolReply> {
        // One reader for all, so that the age covers what the admission reads, too.
        let reader = StaleReader::new(&self.recent, call.elapsed);
        let admission = self.check_admission(call, StorePhase::Look(&reader));
        let Ok(AdmissionResult::New { admitted, key: None }) = admission else { return None };
        // An account that is not open yet would be opened.
        if admitted.account.as_ref().is_some_and(|account| admit::known_id(account).is_none()) {
            return None;
        }
        // A refusal may be outdated: only the store can decide on it.
        let prepared = request.prepare(self, call, &admitted).await.ok()?;
        let work = self.work(call, request, *admitted, &prepared, StorePhase::Look(&reader));
        let mut reply = work.ok()?;
        reply.warnings.push(availability::stale_store(reader.age()?));
        Some(reply)
    }

    /// Reads in the caller's turn.
    pub(crate) async fn look<T, E: From<InternalError>>(
        &self,
        call: &AdcpToolCall,
        extent: ReadExtent,
        job: impl FnOnce(&dyn StoreRead) -> Result<T, E>,
    ) -> Result<T, E> {
        let tenant = call.caller.tenant();
        let _turn = self.store.turn(&tenant, StoreWork::Read).await;
        self.store.look_within(extent, job)
    }

    /// Reads likewise, and notes what is read where that may be needed again.
    async fn read<T, E: From<InternalError>>(
        &self,
        call: &AdcpToolCall,
        extent: ReadExtent,
        job: impl FnOnce(&dyn StoreRead) -> Result<T, E>,
    ) -> Result<T, E> {
        if call.tool != AdcpTool::GetProducts || !self.store.may_be_unavailable() {
            return self.look(call, extent, job).await;
        }
        let noting = |reader: &dyn StoreRead| {
            job(&RecordingReader { reader, recent: &self.recent, now: call.elapsed })
        };
        self.look(call, extent, noting).await
    }

    /// Does a request that has been checked: standing, account, key and work.
    async fn carry_out(
        &self,
        call: &AdcpToolCall,
        request: &Arc<ToolRequest>,
    ) -> Result<ToolReply, ToolError> {
        if call.needs_one_read(self.profile.sandbox) {
            return self.read_at_once(call, request).await;
        }
        // A moment-old state is good enough for a refusal, and for calls outside.
        let check = |reader: &dyn StoreRead| self.check_admission(call, StorePhase::Look(reader));
        let seen = self.read(call, ReadExtent::Records, check).await?;
        let (admitted, key) = match seen {
            AdmissionResult::Replay(reply) => return Ok(reply),
            AdmissionResult::New { admitted, key } => (admitted, key),
        };
        // Two requests with one key that have both found nothing meet here, so that the ad server and the
        // governance agent are asked for one of them only.
        let flight = key.as_ref().map(|key| self.flights.claim(key)).transpose()?;
        // Counted after replays have returned: sending a request again never costs a new key (SEC, rule 8).
        if key.is_some() {
            self.services
                .admit(&call.caller.tenant(), RateClass::Insert)
                .map_err(|wait| refusals::rate_limited(wait, "account"))?;
        }
        // Outside of any transaction: a writer of the store does not wait for a foreign server.
        let prepared = request.prepare(self, call, &admitted).await?;
        // Most searches come to what was found before, and store nothing.
        let account = admitted.account.as_ref();
        let is_open = account.is_none_or(|account| admit::known_id(account).is_some());
        let may_only_read = call.searches() && key.is_none() && is_open;
        if may_only_read || !call.keeps(self.profile.sandbox) {
            let work = |reader: &dyn StoreRead| {
                let done = self.work(call, request, *admitted, &prepared, StorePhase::Look(reader));
                match done {
                    Err(WorkStop::NeedsTransaction) => Ok(None),
                    Err(WorkStop::Failed(stop)) => Err(stop),
                    Ok(reply) => Ok(Some(reply)),
                }
            };
            if let Some(reply) = self.read(call, call.read_extent(), work).await? {
                return Ok(reply);
            }
        }
        let tenant = call.caller.tenant();
        let this = self.clone();
        let call = call.clone();
        let request = Arc::clone(request);
        // Checked again: the account may have changed by now, and a claim is local to this process, so that
        // another one may have done the same request meanwhile.
        let job = move |tx: &dyn StoreTx| match this.check_admission(&call, StorePhase::Act(tx))? {
            AdmissionResult::Replay(reply) => Ok(reply),
            AdmissionResult::New { admitted, key } => {
                let done = this.work(&call, &request, *admitted, &prepared, StorePhase::Act(tx));
                let reply = done.map_err(WorkStop::in_transaction)?;
                if let Some(key) = key {
                    key.remember(&call, tx, &reply)?;
                }
                Ok(reply)
            }
        };
        let turn = self.store.turn(&tenant, StoreWork::Write).await;
        let mut done = self.store.act(job).await;
        drop(turn);
        // This write has made another version already.
        done.iter_mut().for_each(|reply: &mut ToolReply| reply.lifetime = None);
        // Only after the commit: the next claim of the key has to find the reply.
        drop(flight);
        done
    }

    /// Does a request that only reads: all of it in one turn and in one consistent state.
    async fn read_at_once(
        &self,
        call: &AdcpToolCall,
        request: &ToolRequest,
    ) -> Result<ToolReply, ToolError> {
        let work = |reader: &dyn StoreRead| {
            let admitted = match self.check_admission(call, StorePhase::Look(reader))? {
                AdmissionResult::Replay(reply) => return Ok(reply),
                AdmissionResult::New { admitted, .. } => *admitted,
            };
            let nothing = Prepared::default();
            let done = self.work(call, request, admitted, &nothing, StorePhase::Look(reader));
            done.map_err(WorkStop::in_transaction)
        };
        self.look(call, call.read_extent(), work).await
    }

    /// Checks standing, account and scope; then the key; then the status of the account.
    fn check_admission(
        &self,
        call: &AdcpToolCall,
        phase: StorePhase<'_>,
    ) -> Result<AdmissionResult, ToolError> {
        let admitted = admit::admit(self, call, phase)?;
        let key =
            if IdempotencyKey::is_taken(call) { IdempotencyKey::from_call(call) } else { None };
        if let Some(key) = &key
            && let Some(reply) = key.earlier(&self.profile, call, phase.reader())?
        {
            return Ok(AdmissionResult::Replay(reply));
        }
        admitted.usable(&self.profile, call)?;
        Ok(AdmissionResult::New { admitted: Box::new(admitted), key })
    }

    fn work(
        &self,
        call: &AdcpToolCall,
        request: &ToolRequest,
        admitted: Admitted,
        prepared: &Prepared,
        phase: StorePhase<'_>,
    ) -> Result<ToolReply, WorkStop> {
        let expiry = Expiry::new(call.now);
        let reader = phase.reader();
        let tx = match phase {
            StorePhase::Look(_) => None,
            StorePhase::Act(tx) => Some(tx),
        };
        let work = ToolContext { publisher: self, call, admitted, prepared, reader, expiry };
        tools::perform(&work, tx, request)
    }
}

/// Result of the admission of a request that is not refused.
enum AdmissionResult {
    /// The request was done before, with this reply.
    Replay(ToolReply),
    /// The request is new.
    New { admitted: Box<Admitted>, key: Option<IdempotencyKey> },
}

/// Returns the refusal of a feature of the caller's release that this seller does not support, by the JSON
/// Pointer to its member.
fn unsupported_member(pointer: &str) -> AdcpError {
    let message = "this seller does not do this yet; leave it out";
    refusals::at(AdcpCode::UnsupportedFeature, &tradepost_adcp::error::path(pointer), message)
}

/// Returns the error of a request that violates its schema, with a suggestion.
fn violations(issues: Issues) -> AdcpError {
    AdcpError {
        suggestion: Some(AdcpCode::ValidationError.hint().to_owned()),
        ..issues.into_error()
    }
}

/// Refuses a credential in the arguments. Names the members, never what is in them (AdCP 3.1
/// `authentication`, `A-7`; `error-handling`, `A-10`).
fn credential_in_arguments(by_name: &[String], by_value: &[String]) -> AdcpError {
    let message = "a credential stands in the arguments; send it in the Authorization header alone, \
                   and replace the one that was sent";
    let issue = |pointer: &String, message: &str| Issue {
        pointer: pointer.clone(),
        message: message.to_owned(),
        keyword: "not".to_owned(),
        ..Issue::default()
    };
    let named =
        by_name.iter().map(|pointer| issue(pointer, "a member of this name holds a credential"));
    let others = by_value.iter().filter(|pointer| !by_name.contains(pointer));
    let shown = others
        .map(|pointer| issue(pointer, "the credential with which this request came stands here"));
    let issues = named.chain(shown).collect();
    AdcpError { issues, ..refusals::error(AdcpCode::CredentialInArgs, message) }
}
