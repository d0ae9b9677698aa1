#![doc = include_str!("../README.md")]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use adcp::SellerAddress;
use confirmation::{ConfirmationTokens, Confirmed};
use dealer_list::DealerSources;
use dealers::DealerSetup;
use failures::BridgeError;
use in_doubt::CallsInDoubt;
use jiff::Timestamp;
use lenient::LenientReading;
use person_form::Person;
use retries::Retries;
use tokio::time::Instant;
use tradepost_aap::Skill;
use tradepost_client::BearerToken;
use tradepost_client::failure::CallFailure;
use tradepost_client::transport::{HttpTransport, Network, TransportLimits};
use tradepost_dealer_tools::arguments::{self, DealerChoice};
use tradepost_dealer_tools::join::{FailedDealers, JoinedAnswer};
use tradepost_dealer_tools::{listing, show};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_mcp::{
    AgreementForm, ListedTool, Resource, app, confirmation, lenient, sanitize, schema,
};

pub mod failures;
pub mod server;

mod access;
mod adcp;
mod consent;
mod dealer_list;
mod dealer_tools;
mod dealers;
mod fan_out;
mod in_doubt;
mod lead;
mod person_form;
mod progress;
mod retries;
mod search;
mod tools;

/// Clock.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Way in which the person is asked before anything is sent for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AskMode {
    /// Only by a form of the client (elicitation); a text that the model shows is not enough.
    Form,
    /// In two calls, with a text that the model shows, whatever the client can do.
    Confirm,
    /// Form where the client can show one; two calls when the form gets no answer, and for other clients.
    #[default]
    Auto,
}

/// Settings of a bridge.
pub struct BridgeOptions {
    /// Name under which the bridge introduces itself to dealers.
    pub agent_name: String,
    /// Maximum duration of one tool call.
    pub patience: Duration,
    /// Clock, for consents and confirmations.
    pub now: Now,
    /// Random key of confirmations, new in each process.
    pub secret: [u8; 32],
    /// Way in which the person is asked.
    pub ask: AskMode,
    /// Maximum time for a person to answer a form.
    pub person_patience: Duration,
    /// Network for requests to dealers and sellers.
    pub network: Network,
}

/// Bridge that offers dealers and sellers of advertising as MCP tools.
pub struct Bridge {
    sellers: Vec<Arc<SellerAddress>>,
    seller_names: Vec<String>,
    retries: Arc<Retries>,
    dealers: DealerSources,
    options: BridgeOptions,
    confirmations: ConfirmationTokens,
    /// Leads in doubt, with the consent and the key with which they were sent.
    calls_in_doubt: CallsInDoubt<Confirmed>,
    /// Number of questions so far, for unique subjects.
    question_count: AtomicU64,
}

/// Result of a tool call.
#[derive(Debug, Clone)]
pub struct BridgeOutcome {
    /// Result for programs; always an object.
    pub document: Value,
    /// Result for models and people.
    pub text: String,
    /// True when the call failed; then the document is that of a [`BridgeError`].
    pub is_error: bool,
}

/// End of a tool call.
enum CallEnd {
    Said(BridgeOutcome),
    /// The client has to ask the person and to call again with the state.
    Ask {
        form: AgreementForm,
        state: String,
    },
}

/// Builds the result of a successful call.
fn success(document: Value, text: String) -> BridgeOutcome {
    BridgeOutcome { document, text, is_error: false }
}

/// Builds the result of a call that dealers have answered.
fn joined(answer: JoinedAnswer) -> BridgeOutcome {
    success(answer.document, answer.text)
}

impl Bridge {
    /// Creates a bridge to the dealers at these addresses, each with its bearer token if it needs one. A repeated
    /// address counts once.
    ///
    /// # Errors
    /// The first address that cannot be used.
    pub fn new(
        addresses: impl IntoIterator<Item = (String, Option<BearerToken>)>,
        options: BridgeOptions,
    ) -> Result<Self, CallFailure> {
        let retries = Arc::new(Retries::new(options.patience));
        let setup = DealerSetup {
            transport: transport(&options),
            now: Arc::clone(&options.now),
            retries: Arc::clone(&retries),
        };
        Ok(Self {
            sellers: Vec::new(),
            seller_names: Vec::new(),
            retries,
            dealers: DealerSources::new(addresses, setup)?,
            confirmations: ConfirmationTokens::new(options.secret),
            options,
            calls_in_doubt: CallsInDoubt::new(),
            question_count: AtomicU64::new(0),
        })
    }

    /// Adds AdCP sellers at these addresses, each with its bearer token if it needs one.
    ///
    /// # Errors
    /// The first address that cannot be used.
    pub fn with_sellers(
        mut self,
        addresses: impl IntoIterator<Item = (String, Option<BearerToken>)>,
    ) -> Result<Self, CallFailure> {
        let transport = transport(&self.options);
        for (address, token) in addresses {
            let seller = SellerAddress::new(&address, token, &transport, &self.options.now)?;
            if !self.seller_names.contains(&seller.id) {
                self.seller_names.push(seller.id.clone());
                self.sellers.push(Arc::new(seller));
            }
        }
        Ok(self)
    }

    /// Adds directories of dealers at these addresses. They are read when a tool is called, and again every five
    /// minutes. One that cannot be read is reported in results.
    #[must_use]
    pub fn with_directories(mut self, addresses: impl IntoIterator<Item = String>) -> Self {
        self.dealers.add_directories(addresses);
        self
    }

    /// Reads the directories that are due and returns their errors.
    pub async fn read_directories(&self) -> Vec<BridgeError> {
        self.dealers.current().await.directory_errors.clone()
    }

    /// Returns the names of the dealers, as far as they are known.
    #[must_use]
    pub fn dealers(&self) -> Vec<String> {
        self.dealers.last_known().names.clone()
    }

    /// Returns the tools: those of the dealers in the order of the skills, then those of the sellers.
    #[must_use]
    pub fn tools(&self) -> Vec<ListedTool> {
        let skills = Skill::ALL.iter().filter(|_| !self.dealers.is_empty());
        let names = self.dealers.last_known();
        let choice = DealerChoice::new(&names.names, self.dealers.has_directories());
        let tools = skills.map(|skill| listing::tool(*skill, choice));
        tools.chain(adcp::tools(&self.seller_names)).collect()
    }

    /// Returns the page that shows results of dealers, where there are dealers.
    fn resources(&self) -> Vec<Resource> {
        (!self.dealers.is_empty()).then(|| app::SHOP.resource()).into_iter().collect()
    }

    /// Returns the instructions for a model.
    fn instructions(&self) -> &'static str {
        match (self.dealers.is_empty(), self.sellers.is_empty()) {
            (_, true) => tools::INSTRUCTIONS,
            (true, false) => tools::OF_SELLERS,
            (false, false) => tools::OF_BOTH,
        }
    }

    /// Calls a tool for a person who can be asked only through the model. Returns `None` when there is no tool of
    /// this name.
    pub async fn call(&self, name: &str, arguments: &Value) -> Option<BridgeOutcome> {
        match self.call_for(Person::ByModel, name, arguments).await? {
            CallEnd::Said(outcome) => Some(outcome),
            CallEnd::Ask { .. } => {
                unreachable!("only a client that returns is asked by the result")
            }
        }
    }

    /// Calls a tool; `person` is the way to ask its person.
    async fn call_for(&self, person: Person<'_>, name: &str, arguments: &Value) -> Option<CallEnd> {
        if let Some(row) = adcp::row(name).filter(|_| !self.sellers.is_empty()) {
            let LenientReading { arguments, notes } =
                adcp::lenient(row, &self.seller_names, arguments);
            return Some(ended(self.media(row, &arguments, person).await, notes));
        }
        let is_it = |skill: &&Skill| !self.dealers.is_empty() && skill.tool_name() == name;
        let skill = *Skill::ALL.iter().find(is_it)?;
        let list = self.dealers.current().await;
        let schema = arguments::input_schema(skill, DealerChoice::new(&list.names, false));
        let LenientReading { arguments, notes } =
            lenient::read(&schema.into(), arguments, |_| true);
        Some(ended(tools::perform(self, &list, skill, &arguments, person).await, notes))
    }

    fn now(&self) -> Timestamp {
        (self.options.now)()
    }

    /// Returns the deadline of a request that is sent now.
    fn call_end(&self) -> Instant {
        Instant::now() + self.options.patience
    }
}

/// Creates the transport for requests to dealers or sellers; all of them share its connections.
fn transport(options: &BridgeOptions) -> HttpTransport {
    let limits = TransportLimits { timeout: options.patience, ..TransportLimits::default() };
    HttpTransport::with_network(options.network.clone(), limits)
}

/// Completes the result of a call with the notes about its arguments.
fn ended(reply: Result<CallEnd, BridgeError>, notes: Vec<String>) -> CallEnd {
    let (mut outcome, has_words_of_others) = match reply {
        Ok(CallEnd::Said(outcome)) => (outcome, true),
        Ok(reply @ CallEnd::Ask { .. }) => return reply,
        Err(error) => {
            let outcome =
                BridgeOutcome { document: error.document(), text: error.text(), is_error: true };
            (outcome, error.has_words_of_others())
        }
    };
    for note in &notes {
        outcome.text.push_str(&format!("\nnote: {note}"));
    }
    if !notes.is_empty() {
        put(&mut outcome.document, "notes", notes);
    }
    if has_words_of_others {
        outcome.text.push_str(&format!("\n\n{}", show::CLOSING_NOTE));
        put(&mut outcome.document, "about_quotations", show::CLOSING_NOTE);
    }
    CallEnd::Said(outcome)
}

/// Adds a member to a document.
fn put(document: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = document.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}

type Answered<W, T> = (Vec<(Arc<W>, T)>, Vec<BridgeError>);

/// Separates answers from errors. One answer is enough for success; without any, `none` builds the error.
fn separate_outcomes<W, T>(
    outcomes: Vec<(Arc<W>, Result<T, BridgeError>)>,
    none: impl FnOnce(Vec<BridgeError>) -> BridgeError,
) -> Result<Answered<W, T>, BridgeError> {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for (dealer, outcome) in outcomes {
        match outcome {
            Ok(answer) => found.push((dealer, answer)),
            Err(error) => errors.push(error),
        }
    }
    if found.is_empty() { Err(none(errors)) } else { Ok((found, errors)) }
}

/// Returns the failures of dealers as a joined answer lists them.
fn failed_dealers(errors: &[BridgeError]) -> FailedDealers {
    FailedDealers { documents: documents(errors), texts: texts(errors) }
}

fn documents(errors: &[BridgeError]) -> Vec<Value> {
    errors.iter().map(BridgeError::document).collect()
}

fn texts(errors: &[BridgeError]) -> Vec<String> {
    errors.iter().map(BridgeError::text).collect()
}
