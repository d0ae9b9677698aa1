//! Sellers of advertising behind the bridge: some tasks of AdCP as tools. Before a tool spends money or binds
//! someone, the person is asked and told the cost. A call in doubt names its idempotency key; with it the call can be
//! sent again for as long as the seller promises to recognise the key.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tradepost_adcp::AdcpTool as Task;
use tradepost_client::adcp::{AdcpClient, Idempotency, SellerAnswer};
use tradepost_client::client::random_ids;
use tradepost_client::discover::card_url;
use tradepost_client::failure::CallFailure;
use tradepost_client::retry::{GaveUp, Recovered};
use tradepost_client::text::{SENTENCE, WORD, plain};
use tradepost_client::{BearerToken, HttpTransport};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_mcp::outline::FORM_UNANSWERED;
use tradepost_mcp::{AgreementForm, outline};

use super::consent::{Agreement, ConsentSubject};
use super::dealers::place_of;
use super::failures::{BridgeError, BridgeErrorCode};
use super::fan_out::{Askable, SlowMark, ask_all};
use super::in_doubt::CallsInDoubt;
use super::person_form::Person;
use super::retries::Retries;
use super::sanitize::{Cleaner, quoted};
use super::{Bridge, BridgeOutcome, CallEnd, Now, documents, put, separate_outcomes, success};
use spend::Prices;
use tools::{ConsentQuestion, KEY, SellerTool};

mod arguments;
mod show;
mod spend;
mod tools;

pub(super) use arguments::lenient;
pub(super) use tools::{row, tools};

/// Lifetime of a cached agent card of a seller.
const CARD_LIFETIME: Duration = Duration::from_mins(5);

/// Seller of advertising, identified by its address.
pub(super) struct SellerAddress {
    /// Host, port and path of its address: its name in arguments and results.
    pub(super) id: String,
    address: String,
    token: Option<BearerToken>,
    transport: HttpTransport,
    known: Mutex<Option<(AdcpClient, Instant)>>,
    prices: Prices,
    now: Now,
    /// Moments at which calls in doubt were first sent, each keyed by the canonical text of the call with its key.
    calls_in_doubt: CallsInDoubt<Timestamp>,
    slow: SlowMark,
}

/// Checked request to one seller.
pub(super) struct SellerRequest {
    row: &'static SellerTool,
    /// Members of the request.
    payload: Map,
    confirmation: Option<String>,
}

impl SellerAddress {
    pub(super) fn new(
        address: &str,
        token: Option<BearerToken>,
        transport: &HttpTransport,
        now: &Now,
    ) -> Result<Self, CallFailure> {
        let address = address.trim();
        let id = place_of(card_url(address)?.as_str());
        let known = Mutex::new(None);
        let address = address.to_owned();
        let prices = Prices::default();
        let now = Arc::clone(now);
        let calls_in_doubt = CallsInDoubt::new();
        let transport = transport.clone();
        let slow = SlowMark::default();
        Ok(Self { id, address, token, transport, known, prices, now, calls_in_doubt, slow })
    }

    /// Returns the client of the seller; its card is looked up again after [`CARD_LIFETIME`].
    async fn client(&self) -> Result<AdcpClient, CallFailure> {
        // Held until the client exists, so that concurrent calls look for the seller only once.
        let mut known = self.known.lock().await;
        let now = Instant::now();
        if let Some((client, since)) = &*known
            && now.duration_since(*since) < CARD_LIFETIME
        {
            return Ok(client.clone());
        }
        let transport = self.transport.clone();
        let client = AdcpClient::connect(transport, &self.address, random_ids()).await?;
        let client = match &self.token {
            Some(token) => client.with_token(token)?,
            None => client,
        };
        *known = Some((client.clone(), now));
        Ok(client)
    }

    /// Returns the seller's promise about a repeated idempotency key; `Unpromised` for a task without a key.
    async fn promise(&self, retries: &Retries, task: Task) -> Result<Idempotency, BridgeError> {
        if !task.keyed() {
            return Ok(Idempotency::Unpromised);
        }
        let asked = async { self.client().await?.idempotency(retries.recoverer().clock()).await };
        asked.await.map_err(|failure| self.to_error(&failure))
    }

    /// Calls a task with retries. An error carries a hint about what to do next.
    async fn call(
        &self,
        retries: &Retries,
        row: &SellerTool,
        task: Task,
        payload: Map,
        promise: Idempotency,
    ) -> Result<Recovered<SellerAnswer>, BridgeError> {
        let client = self.client().await.map_err(|failure| self.to_error(&failure))?;
        // The person has agreed to exactly this request, so that failed rows of it must not be sent
        // again on their own.
        let client =
            if row.asks == ConsentQuestion::NotNeeded { client } else { client.without_rows() };
        // Measured before the first attempt, because the seller's promise counts from then.
        let sent = task.keyed().then(|| payload.clone());
        let begun = (self.now)();
        let called = client
            .call_with_recovery(task.name(), payload, retries.recoverer(), |_, _, _| false)
            .await;
        let recovered =
            called.map_err(|gave_up| self.gave_up(task, sent, begun, promise, &gave_up))?;
        if task == Task::GetProducts {
            self.prices.learn(&recovered.answer.payload);
        }
        Ok(recovered)
    }

    fn to_error(&self, failure: &CallFailure) -> BridgeError {
        BridgeError::from_seller_failure(failure).at_seller(&self.id)
    }

    /// Returns the error of a call that recovery has given up. A call in doubt is remembered; its error says with which
    /// key and for how long it may be repeated, if at all.
    fn gave_up(
        &self,
        task: Task,
        sent: Option<Map>,
        begun: Timestamp,
        promise: Idempotency,
        gave_up: &GaveUp,
    ) -> BridgeError {
        let error = self.to_error(&gave_up.failure);
        if !task.mutates() || !gave_up.doubt.in_doubt() {
            return error.hint(plain(&gave_up.advice.to_string(), SENTENCE));
        }
        let key = gave_up.doubt.keys().next().map(|key| plain(key, 2 * WORD));
        // The promise counts from the first time the call was sent, also for a repetition.
        let first = match (&key, sent) {
            (Some(key), Some(sent)) => {
                let call = repeated(task, sent, key);
                self.calls_in_doubt.remember(&call, begun);
                self.calls_in_doubt.recall(&call).unwrap_or(begun)
            }
            (Some(_), None) | (None, _) => begun,
        };
        match promise.left(self.age(first)) {
            Some(left) if gave_up.doubt.may_repeat() => error.in_doubt_within(left, key),
            Some(_) | None => error.in_doubt_for_good(key),
        }
    }

    /// Returns `Some` when the same call with the same key ended in doubt before; true when the seller still promises
    /// to recognise it.
    fn was_in_doubt(&self, task: Task, payload: &Map, promise: Idempotency) -> Option<bool> {
        let key = payload.get(KEY).and_then(Value::as_str)?;
        let first = self.calls_in_doubt.recall(&repeated(task, payload.clone(), key))?;
        Some(self.knows(promise, first))
    }

    /// Returns true when the seller still promises to recognise a request first sent at `first`.
    fn knows(&self, promise: Idempotency, first: Timestamp) -> bool {
        promise.left(self.age(first)).is_some()
    }

    fn age(&self, first: Timestamp) -> Duration {
        Duration::try_from((self.now)().duration_since(first)).unwrap_or_default()
    }
}

/// Returns a call with its key as one canonical text.
fn repeated(task: Task, mut payload: Map, key: &str) -> String {
    payload.insert(KEY.to_owned(), key.into());
    canonical::to_string(&json!({"task": task.name(), "payload": payload}))
}

impl Askable for SellerAddress {
    fn slow_mark(&self) -> &SlowMark {
        &self.slow
    }

    fn too_slow(&self, time: Duration) -> BridgeError {
        BridgeError::seller_too_slow(time).at_seller(&self.id)
    }

    fn not_asked(&self) -> BridgeError {
        BridgeError::new(
            BridgeErrorCode::SellerNotAsked,
            "the time of the call was up before its turn came",
        )
        .at_seller(&self.id)
    }
}

impl Bridge {
    /// Calls one of the seller tools.
    pub(super) async fn media(
        &self,
        row: &'static SellerTool,
        given: &Value,
        person: Person<'_>,
    ) -> Result<CallEnd, BridgeError> {
        let asked = arguments::read(row, given, &self.seller_names)?;
        let sellers: Vec<_> =
            asked.sellers.iter().filter_map(|place| self.sellers.get(*place)).cloned().collect();
        if row.several {
            return self.call_several(row, sellers, asked.payload).await.map(CallEnd::Said);
        }
        let seller =
            sellers.into_iter().next().ok_or_else(|| BridgeError::all_sellers(Vec::new()))?;
        let order = SellerRequest { row, payload: asked.payload, confirmation: asked.confirmation };
        self.call_one(&seller, order, person).await
    }

    /// Calls a read-only tool at several sellers at once, and joins their answers.
    async fn call_several(
        &self,
        row: &'static SellerTool,
        sellers: Vec<Arc<SellerAddress>>,
        payload: Map,
    ) -> Result<BridgeOutcome, BridgeError> {
        let count = sellers.len();
        let ask = |seller: Arc<SellerAddress>, _| {
            let payload = payload.clone();
            // These tools only read, so repeating them is harmless.
            let promise = Idempotency::Unpromised;
            async move { seller.call(&self.retries, row, row.task, payload, promise).await }
        };
        let outcomes = ask_all(sellers, self.options.patience, ask).await;
        let (found, errors) = separate_outcomes(outcomes, BridgeError::all_sellers)?;
        let mut cut = false;
        let mut results = Vec::new();
        for (seller, recovered) in found {
            let mut cleaner = Cleaner::share(count).of_seller();
            results.push(document(&seller, row, &recovered, &mut cleaner));
            cut |= cleaner.cut;
        }
        let text = show::results(&results, &errors);
        let errors = documents(&errors);
        let document = json!({"results": results, "errors": errors, "truncated": cut});
        Ok(success(document, text))
    }

    /// Calls a tool at one seller, or returns the question when the tool needs an agreement that is not given yet.
    async fn call_one(
        &self,
        seller: &SellerAddress,
        order: SellerRequest,
        person: Person<'_>,
    ) -> Result<CallEnd, BridgeError> {
        let SellerRequest { row, mut payload, confirmation } = order;
        // Determined before the person is asked: the question says whether a repetition may act twice.
        let promise = seller.promise(&self.retries, row.task).await?;
        let in_doubt_before = seller.was_in_doubt(row.task, &payload, promise);
        let mut agreed_to = None;
        if row.asks == ConsentQuestion::NotNeeded {
            if in_doubt_before == Some(false) {
                return Err(BridgeError::forgotten().at_seller(&seller.id));
            }
        } else {
            let question = self.question(seller, row, &payload, in_doubt_before).await;
            let question = question.map_err(|error| error.at_seller(&seller.id))?;
            let consent_subject = consent_subject(seller, row, &payload, &question);
            let agreed = self.agreement(consent_subject, person, confirmation.as_deref()).await;
            match agreed.map_err(|error| error.at_seller(&seller.id))? {
                Agreement::ByClient { form, state } => return Ok(CallEnd::Ask { form, state }),
                Agreement::ByModel { confirmation, until, is_form_unanswered } => {
                    let mut text = show::question(row.name, &question, &confirmation);
                    if is_form_unanswered {
                        text.insert_str(0, &format!("{FORM_UNANSWERED}\n\n"));
                    }
                    let document = object!({
                        "status": "confirmation_required", "seller": seller.id,
                        "question": question, "confirmation": confirmation,
                        "confirmation_expires_at": rfc3339(until),
                        "form_unanswered"?: is_form_unanswered.then_some(true),
                    });
                    return Ok(CallEnd::Said(success(document, text)));
                }
                Agreement::Given(confirmed) => {
                    // The same agreement came back, so the call was sent before.
                    if confirmed.is_repeated && !seller.knows(promise, confirmed.granted_at) {
                        return Err(BridgeError::forgotten().at_seller(&seller.id));
                    }
                    // A key that is already present comes from an earlier call in doubt.
                    if row.task.keyed() {
                        payload.entry(KEY).or_insert_with(|| confirmed.idempotency_key.into());
                    }
                    agreed_to = Some(question);
                }
            }
        }
        let recovered = seller.call(&self.retries, row, row.task, payload, promise).await?;
        let mut cleaner = Cleaner::full().of_seller();
        let mut document = document(seller, row, &recovered, &mut cleaner);
        put(&mut document, "truncated", cleaner.cut);
        if let Some(question) = agreed_to {
            put(&mut document, "agreed_to", question);
        }
        let text = show::result(&document);
        Ok(CallEnd::Said(success(document, text)))
    }

    /// Returns the question for the person: the cost, and everything that would be sent. `in_doubt_before` is `Some`
    /// for a repetition of a call in doubt; true when the seller still promises to recognise it.
    async fn question(
        &self,
        seller: &SellerAddress,
        row: &SellerTool,
        payload: &Map,
        in_doubt_before: Option<bool>,
    ) -> Result<String, BridgeError> {
        // A person cannot agree to text that cannot be shown.
        if !outline::is_whole(payload) {
            let message = "this is too much for a person to read in one question, or has characters \
                           that cannot be shown";
            return Err(BridgeError::new(BridgeErrorCode::InvalidArguments, message)
                .hint("send fewer at once: fewer packages or accounts, shorter lists and texts"));
        }
        let (begins, costs) = match row.asks {
            ConsentQuestion::Purchase => ("Buy media", seller.prices.of_new(payload)?),
            ConsentQuestion::Change => {
                let buy = self.buy(seller, row, payload).await?;
                ("Change a media buy", seller.prices.of_change(payload, &buy)?)
            }
            ConsentQuestion::Billing | ConsentQuestion::NotNeeded => {
                ("Open or change accounts, which somebody is billed for,", Vec::new())
            }
        };
        let mut out = format!("{begins} at {}?\n", seller.id);
        for line in costs {
            out.push_str(&format!("{line}\n"));
        }
        out.push_str(match in_doubt_before {
            None => "",
            Some(true) => "It repeats a call that ended unclear, and cannot be done twice.\n",
            Some(false) => {
                "It repeats a call that ended unclear. The seller does not promise to know it again: if it \
                 was done, it may be done TWICE.\n"
            }
        });
        out.push_str("\nThis would be sent:\n");
        out.push_str(&outline::lines(payload));
        Ok(out)
    }

    /// Reads the current state of the media buy that is to change.
    async fn buy(
        &self,
        seller: &SellerAddress,
        row: &SellerTool,
        payload: &Map,
    ) -> Result<Value, BridgeError> {
        let id = payload.get("media_buy_id").cloned().unwrap_or_default();
        let mut wanted = Map::from_iter([("media_buy_ids".to_owned(), json!([id]))]);
        wanted
            .extend(payload.get("account").map(|account| ("account".to_owned(), account.clone())));
        let task = Task::GetMediaBuys;
        let promise = Idempotency::Unpromised;
        let recovered = seller.call(&self.retries, row, task, wanted, promise).await?;
        let buys = recovered.answer.payload.get("media_buys").and_then(Value::as_array);
        let mut buys = buys.into_iter().flatten();
        let found = buys.find(|buy| buy.get("media_buy_id") == Some(&id)).cloned();
        found.ok_or_else(|| {
            let message = "the seller does not show this media buy, so that the person cannot be told \
                           what it costs";
            BridgeError::new(BridgeErrorCode::PriceUnknown, message)
        })
    }
}

/// Builds the question and everything that an agreement to it covers.
fn consent_subject(
    seller: &SellerAddress,
    row: &SellerTool,
    payload: &Map,
    question: &str,
) -> ConsentSubject {
    // The question is part of the subject, and with it the price: a later change of price voids the agreement.
    let subject = canonical::to_string(&json!({
        "seller": seller.address, "tool": row.name, "payload": payload, "question": question,
    }));
    let form = AgreementForm { message: question.to_owned(), title: "Yes, do this" };
    ConsentSubject { subject, form }
}

/// Returns a seller's answer as JSON.
fn document(
    seller: &SellerAddress,
    row: &SellerTool,
    recovered: &Recovered<SellerAnswer>,
    cleaner: &mut Cleaner,
) -> Value {
    let Recovered { answer, key, doubt, .. } = recovered;
    let standing = answer.outcome.standing.as_ref();
    let status = standing.map_or("completed".to_owned(), |standing| quoted(standing.name(), WORD));
    let data = cleaner.clean(&answer.payload);
    let again: Vec<_> = answer.again.iter().map(|again| cleaner.clean(&again.payload)).collect();
    object!({
        "seller": seller.id, "status": status, "data": data,
        "idempotency_key"?: key.as_ref().filter(|_| row.task.mutates()),
        "doubt"?: doubt.in_doubt().then(|| doubt.to_string()),
        "again"?: Some(again).filter(|again| !again.is_empty()),
    })
}
