#![doc = include_str!("../README.md")]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use adcp::{Retries, Seller};
use asking::Person;
use clean::Cleaner;
use confirmation::{Confirmations, Confirmed};
use dealers::{Dealer, ask_all, terms};
use jiff::Timestamp;
use tradepost_buyer::failure::Failure;
use tradepost_buyer::text::{SENTENCE, plain};
use tradepost_buyer::transport::Limits;
use tradepost_wire::aap::Skill;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};
use tradepost_wire::mcp::{Form, Tool};
use trouble::Trouble;
use unclear::Unclear;

pub mod server;
pub mod trouble;

mod adcp;
mod arguments;
mod asking;
mod clean;
mod confirmation;
mod consent;
mod dealers;
mod door;
mod lead;
mod search;
mod show;
mod tools;
mod unclear;

/// Tells the time.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What a bridge is made of.
pub struct Options {
    /// How the bridge names itself to dealers.
    pub agent_name: String,
    /// How long one tool call may take.
    pub patience: Duration,
    /// Tells the time, for consents and confirmations.
    pub now: Now,
    /// Random, and new in each process: confirmations are made with it.
    pub secret: [u8; 32],
    /// Whether nothing is sent for clients that cannot ask the person by a form of their own
    /// (elicitation): a text that the model shows is not enough.
    pub requires_elicitation: bool,
    /// How long a person may take to answer such a form.
    pub person_patience: Duration,
}

/// Dealers and sellers of advertising, as tools.
pub struct Bridge {
    sellers: Vec<Arc<Seller>>,
    seller_names: Vec<String>,
    retries: Retries,
    dealers: Vec<Arc<Dealer>>,
    names: Vec<String>,
    options: Options,
    confirmations: Confirmations,
    /// The leads that may have arrived, with the consent and the key that they were sent with.
    unclear: Unclear<Confirmed>,
    /// How many forms were made.
    forms: AtomicU64,
}

/// What a tool answers.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// For programs: always an object.
    pub document: Value,
    /// For models and people.
    pub text: String,
    /// Whether the call failed; then the document is that of a [`Trouble`].
    pub is_error: bool,
}

/// How a call ends.
enum Reply {
    Said(Outcome),
    /// The client has to ask the person and to call again with the state.
    Ask {
        form: Form,
        state: String,
    },
}

/// What a tool says when all is well.
fn said(document: Value, text: String) -> Outcome {
    Outcome { document, text, is_error: false }
}

impl Bridge {
    /// A bridge to the dealers at these addresses; with each goes the bearer token for it, if it
    /// wants one. An address that is there twice counts once.
    ///
    /// # Errors
    /// The first address that cannot be used.
    pub fn new(
        addresses: impl IntoIterator<Item = (String, Option<String>)>,
        options: Options,
    ) -> Result<Self, Failure> {
        let limits = Limits { timeout: options.patience, ..Limits::default() };
        let mut dealers: Vec<Arc<Dealer>> = Vec::new();
        for (address, token) in addresses {
            let dealer = Dealer::new(&address, token, limits, &options.now)?;
            if !dealers.iter().any(|known| known.id == dealer.id) {
                dealers.push(Arc::new(dealer));
            }
        }
        let names = dealers.iter().map(|dealer| dealer.id.clone()).collect();
        Ok(Self {
            sellers: Vec::new(),
            seller_names: Vec::new(),
            retries: Retries::new(options.patience),
            dealers,
            names,
            confirmations: Confirmations::new(options.secret),
            options,
            unclear: Unclear::new(),
            forms: AtomicU64::new(0),
        })
    }

    /// With sellers of AdCP at these addresses, as with those of dealers.
    ///
    /// # Errors
    /// The first address that cannot be used.
    pub fn with_sellers(
        mut self,
        addresses: impl IntoIterator<Item = (String, Option<String>)>,
    ) -> Result<Self, Failure> {
        let limits = Limits { timeout: self.options.patience, ..Limits::default() };
        for (address, token) in addresses {
            let seller = Seller::new(&address, token, limits, &self.options.now)?;
            if !self.seller_names.contains(&seller.id) {
                self.seller_names.push(seller.id.clone());
                self.sellers.push(Arc::new(seller));
            }
        }
        Ok(self)
    }

    /// The names of the dealers.
    #[must_use]
    pub fn dealers(&self) -> &[String] {
        &self.names
    }

    /// The tools: those of the dealers in the order of the skills, and those of the sellers.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        let skills = Skill::ALL.iter().filter(|_| !self.dealers.is_empty());
        let tools = skills.map(|skill| tools::tool(*skill, &self.names));
        tools.chain(adcp::tools(&self.seller_names)).collect()
    }

    /// What a model is told before it sees the tools.
    fn instructions(&self) -> &'static str {
        match (self.dealers.is_empty(), self.sellers.is_empty()) {
            (_, true) => tools::INSTRUCTIONS,
            (true, false) => tools::OF_SELLERS,
            (false, false) => tools::OF_BOTH,
        }
    }

    /// Calls a tool for a person who is not asked but by the model; `None` when there is none of
    /// this name.
    pub async fn call(&self, name: &str, arguments: &Value) -> Option<Outcome> {
        match self.call_for(Person::ByModel, name, arguments).await? {
            Reply::Said(outcome) => Some(outcome),
            Reply::Ask { .. } => unreachable!("only a client that returns is asked by the result"),
        }
    }

    /// Calls a tool for this person.
    async fn call_for(&self, person: Person<'_>, name: &str, arguments: &Value) -> Option<Reply> {
        if let Some(row) = adcp::row(name).filter(|_| !self.sellers.is_empty()) {
            return Some(ended(self.media(row, arguments, person).await));
        }
        let is_it = |skill: &&Skill| !self.dealers.is_empty() && tools::name(**skill) == name;
        let skill = Skill::ALL.iter().find(is_it)?;
        Some(ended(tools::perform(self, *skill, arguments, person).await))
    }

    async fn information(&self, arguments: &Value) -> Result<Outcome, Trouble> {
        let asked = arguments::read_dealers(arguments, &self.names);
        let asked = asked.map_err(|problems| Trouble::arguments(&problems))?;
        let count = asked.dealers.len();
        let ask = |dealer| introduce(dealer, Cleaner::share(count));
        let (found, errors) = self.ask(&asked.dealers, ask).await?;
        let about = found.into_iter().map(|(_, about)| about);
        let (dealers, cuts): (Vec<_>, Vec<bool>) = about.unzip();
        let cut = cuts.contains(&true);
        let document = json!({"dealers": dealers, "errors": documents(&errors), "truncated": cut});
        let text = show::dealers(&document, &errors);
        Ok(said(document, text))
    }

    async fn facets(&self, arguments: &Value) -> Result<Outcome, Trouble> {
        let asked = arguments::read_facets(arguments, &self.names, &terms(self.now()));
        let asked = asked.map_err(|problems| Trouble::arguments(&problems))?;
        let payload = asked.what;
        let ask = |dealer: Arc<Dealer>| {
            let payload = payload.clone();
            async move { dealer.call(Skill::InventoryFacets, payload).await }
        };
        let (found, errors) = self.ask(&asked.dealers, ask).await?;
        let (mut sum, mut cut, mut dealers) = (Map::new(), false, Vec::new());
        let count = found.len();
        for (dealer, answer) in found {
            let mut cleaner = Cleaner::share(count);
            let facets = cleaner.clean(answer.data());
            cut |= cleaner.cut;
            let speaks = facets.as_object().is_none_or(Map::is_empty)
                || payload.as_object().is_some_and(search::asks_in_words);
            let message = search::said(answer.message()).filter(|_| speaks);
            search::add_facets(&mut sum, &facets);
            dealers.push(json!({"dealer": dealer.id, "message"?: message}));
        }
        let sum = Value::Object(sum);
        let text = show::facets(&sum, &dealers, &errors);
        let document = json!({
            "type": Skill::InventoryFacets.response_type(), "data": sum, "dealers": dealers,
            "errors": documents(&errors), "truncated": cut,
        });
        Ok(said(document, text))
    }

    async fn search(&self, arguments: &Value) -> Result<Outcome, Trouble> {
        let asked = arguments::read_search(arguments, &self.names, &terms(self.now()));
        let asked = asked.map_err(|problems| Trouble::arguments(&problems))?;
        let what = asked.what;
        let wanted = what.skip + what.limit;
        let ask = |dealer| search::gather(dealer, what.payload.clone(), wanted);
        let (found, errors) = self.ask(&asked.dealers, ask).await?;
        let document = search::merge(found, &what, &errors);
        let text = show::page(&document, &errors);
        Ok(said(document, text))
    }

    async fn vehicle(&self, arguments: &Value) -> Result<Outcome, Trouble> {
        let asked = arguments::read_vehicle(arguments, &self.names, &terms(self.now()));
        let asked = asked.map_err(|problems| Trouble::arguments(&problems))?;
        let payload = asked.what;
        let ask = |dealer: Arc<Dealer>| {
            let payload = payload.clone();
            async move { dealer.call(Skill::InventoryVehicle, payload).await }
        };
        let (dealer, answer) = the_only(self.ask(&asked.dealers, ask).await?.0)?;
        let mut cleaner = Cleaner::full();
        let data = cleaner.clean(answer.data());
        let message = answer.message().map(|message| plain(message, 4 * SENTENCE));
        let document = json!({
            "type": Skill::InventoryVehicle.response_type(), "dealer": dealer.id, "data": data,
            "truncated": cleaner.cut, "message"?: message,
        });
        let text = show::vehicle(&dealer.id, &data, message.as_deref());
        Ok(said(document, text))
    }

    async fn submit(&self, arguments: &Value, person: Person<'_>) -> Result<Reply, Trouble> {
        let asked = arguments::read_lead(arguments, &self.names, &terms(self.now()));
        let asked = asked.map_err(|problems| Trouble::arguments(&problems))?;
        // Not abandoned when time is up: the transport has a limit of its own, and tells whether
        // the lead may have arrived.
        let dealer = self.chosen(&asked.dealers).into_iter().map(|dealer| (dealer, ()));
        let (dealer, ()) = the_only(dealer.collect())?;
        self.lead(dealer, asked.what, person).await
    }

    /// Asks these dealers at once: what they answered, and how others failed.
    async fn ask<T, F>(
        &self,
        places: &[usize],
        ask: impl Fn(Arc<Dealer>) -> F,
    ) -> Result<Answered<Dealer, T>, Trouble>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let patience = self.options.patience;
        let late = |dealer: &Dealer| Trouble::too_slow(patience).at(&dealer.id);
        sort_out(ask_all(self.chosen(places), patience, ask, late).await, Trouble::all)
    }

    fn now(&self) -> Timestamp {
        (self.options.now)()
    }

    fn chosen(&self, places: &[usize]) -> Vec<Arc<Dealer>> {
        places.iter().filter_map(|place| self.dealers.get(*place)).cloned().collect()
    }
}

fn ended(reply: Result<Reply, Trouble>) -> Reply {
    reply.unwrap_or_else(|trouble| {
        let (document, text) = (trouble.document(), trouble.text());
        Reply::Said(Outcome { document, text, is_error: true })
    })
}

/// Adds a member to a document.
fn put(document: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = document.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}

/// What a dealer says of itself, and whether something of it was cut.
async fn introduce(dealer: Arc<Dealer>, mut cleaner: Cleaner) -> Result<(Value, bool), Trouble> {
    let connection = dealer.connect().await.map_err(|failure| dealer.trouble(&failure))?;
    let card = &connection.found.card;
    let choice = connection.client.choice();
    let versions: Vec<_> = card.versions().iter().map(|version| version.name()).collect();
    let skills: Vec<_> = choice.skills.iter().map(|skill| skill.name()).collect();
    let mut about = json!({
        "dealer": dealer.id,
        "card_name": plain(&card.name, SENTENCE),
        "card_url": dealer.address,
        "aap_version": choice.version.name(),
        "aap_versions": versions,
        "skills": skills,
    });
    if choice.skills.contains(&Skill::DealerInformation) {
        let answer = dealer.call(Skill::DealerInformation, json!({})).await?;
        put(&mut about, "data", cleaner.clean(answer.data()));
    }
    Ok((about, cleaner.cut))
}

type Answered<W, T> = (Vec<(Arc<W>, T)>, Vec<Trouble>);

/// Answers and failures apart. Some success is success; `none` says that there is none.
fn sort_out<W, T>(
    outcomes: Vec<(Arc<W>, Result<T, Trouble>)>,
    none: impl FnOnce(Vec<Trouble>) -> Trouble,
) -> Result<Answered<W, T>, Trouble> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for (dealer, outcome) in outcomes {
        match outcome {
            Ok(answer) => found.push((dealer, answer)),
            Err(trouble) => errors.push(trouble),
        }
    }
    if found.is_empty() { Err(none(errors)) } else { Ok((found, errors)) }
}

fn the_only<T>(mut found: Vec<(Arc<Dealer>, T)>) -> Result<(Arc<Dealer>, T), Trouble> {
    found.pop().ok_or_else(|| Trouble::all(Vec::new()))
}

fn documents(errors: &[Trouble]) -> Vec<Value> {
    errors.iter().map(Trouble::document).collect()
}
