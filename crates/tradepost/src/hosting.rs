//! Hosted dealers: dealers that are added and removed while the process runs, in addition to those of the
//! configuration file. Each is stored as the document that its `[[dealers]]` section would be, and is
//! parsed by the same code.
//!
//! This module has the operations that the command line and the operators' [`api`] share. [`dealer_set`]
//! applies them to a running process.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};
use tradepost_document::parse::reject;
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_keys::private::SigningKey;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::{
    HostedDealer, HostedState, HostingConflict, NewHosted, Store, TransactionError,
};

use crate::config::read::{self, ForAll};
use crate::config::{Config, DealerConfig};
use crate::delivery;
use crate::feeds::FeedSource;

pub mod api;
pub mod code;
pub mod dealer_set;
mod secrets;

pub use code::HostingErrorCode;

/// Members that name a file or a folder of the machine.
const PLACES: &[&str] = &[
    "key_file",
    "known_hosts",
    "jwks_file",
    "bearer_file",
    "hmac_key_file",
    "password_file",
    "ca_file",
    "folder",
    "mapping",
];

/// Facts of the configuration file with which hosted dealers must not conflict.
#[derive(Debug, Default)]
pub struct Fixed {
    /// Dealers of the file by id, each with its name and hosts.
    dealers: BTreeMap<String, (String, Vec<String>)>,
    /// Ids of the publishers.
    publishers: Vec<String>,
    /// All hosts that the file names.
    hosts: Vec<String>,
    /// Settings that apply to all dealers.
    process: ForAll,
}

impl Fixed {
    /// Reads the facts of a configuration.
    #[must_use]
    pub fn from_config(config: &Config) -> Self {
        let dealers = config.dealers.iter();
        let named = dealers.clone().flat_map(|dealer| dealer.hosts.iter());
        let publishers = config.publishers.iter();
        let named =
            named.chain(publishers.clone().flat_map(|publisher| publisher.front.hosts.iter()));
        let named = named.chain(config.server.directory_hosts.iter());
        let facts = |dealer: &DealerConfig| {
            (dealer.terms.id.clone(), (dealer.terms.name.clone(), dealer.hosts.clone()))
        };
        Self {
            dealers: dealers.map(facts).collect(),
            publishers: publishers.map(|publisher| publisher.profile.id.clone()).collect(),
            hosts: named.map(|host| host.to_ascii_lowercase()).collect(),
            process: ForAll {
                asks_for_certificates: (config.server.tls.as_ref())
                    .is_some_and(|files| files.client_ca.is_some()),
                retention: config.privacy.retention,
            },
        }
    }

    /// Returns true when the file has a dealer or publisher with this id.
    fn has(&self, id: &str) -> bool {
        self.dealers.contains_key(id) || self.publishers.iter().any(|known| known == id)
    }
}

/// Reason why a change is not made.
#[derive(Debug)]
pub enum HostingError {
    /// A refusal.
    Refused(HostingRefusal),
    /// An internal error.
    Broken(InternalError),
}

from!(HostingError { Broken(InternalError), Refused(HostingRefusal) });

impl From<TransactionError<HostingConflict>> for HostingError {
    fn from(error: TransactionError<HostingConflict>) -> Self {
        match error {
            TransactionError::Refused(conflict) => refused(&conflict),
            TransactionError::Broken(error) => Self::Broken(error),
        }
    }
}

/// A refusal, with all problems of the document.
#[derive(Debug)]
pub struct HostingRefusal {
    /// Error code.
    pub code: HostingErrorCode,
    /// Message for people: a fragment, without secrets.
    pub message: String,
    /// Problems of the document, each with its place.
    pub problems: Problems,
}

impl HostingRefusal {
    fn new(code: HostingErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), problems: Problems::new() }
    }

    fn of_document(problems: Problems) -> Self {
        let count = problems.total();
        let noun = if count == 1 { "mistake" } else { "mistakes" };
        let message = format!("the document has {count} {noun}");
        Self { code: HostingErrorCode::InvalidDealer, message, problems }
    }

    /// Returns the refusal as JSON.
    #[must_use]
    pub fn document(&self) -> Value {
        let listed = self.problems.listed();
        let problems = tradepost_document::json::to_value(listed).unwrap_or_default();
        let more = Some(self.problems.total() - listed.len()).filter(|more| *more > 0);
        object!({
            "code": self.code.name(), "message": self.message, "hint": self.code.hint(),
            "problems"?: (!listed.is_empty()).then_some(problems), "problems_not_listed"?: more,
        })
    }
}

/// Operations on hosted dealers.
#[derive(Debug, Clone)]
pub struct House {
    /// The store with the hosted dealers.
    pub store: Arc<Store>,
    /// Facts of the configuration file.
    pub fixed: Arc<Fixed>,
    /// The clock.
    pub clock: Clock,
    /// True when the caller is on this machine: only then may a document name its files.
    pub is_local: bool,
}

impl House {
    /// Reads a document and collects its problems. Only the part in `said` is checked for names of files:
    /// with a patch, the rest of the document was there before and may have them.
    fn read(&self, document: &Value, said: &Value) -> Result<Arc<DealerConfig>, HostingError> {
        let mut problems = Problems::new();
        look_for_markers(said, &DocumentPlace::Root, self.is_local, &mut problems);
        let read = read::dealer(document, self.fixed.process);
        let dealer = read.map_err(|found| problems.append(found)).ok();
        let dealer = problems.into_result(dealer).map_err(HostingRefusal::of_document)?;
        if self.fixed.has(&dealer.terms.id) {
            let message = format!("the configuration file has a seller {}", dealer.terms.id);
            return Err(HostingRefusal::new(HostingErrorCode::ReadOnly, message).into());
        }
        let places = dealer.hosts.iter().enumerate();
        let taken = places.filter(|(_, host)| self.fixed.hosts.contains(host));
        let taken: Vec<_> = taken.map(|(place, host)| (place, host.clone())).collect();
        if !taken.is_empty() {
            return Err(hosts_taken(&taken).into());
        }
        let dealer = Arc::new(dealer);
        usable(&dealer)?;
        Ok(dealer)
    }

    /// Adds dealers, all or none. With `again` the id of a removed dealer can be used again.
    ///
    /// # Errors
    /// The reason for the refusal: all problems of the first document that has one.
    pub fn add(&self, documents: &[Value], again: bool) -> Result<Vec<String>, HostingError> {
        // All are read before any is stored, so that a problem in the last one leaves nothing behind.
        let mut fresh: Vec<NewHosted> = Vec::with_capacity(documents.len());
        let mut seen = HashSet::with_capacity(documents.len());
        for document in documents {
            let read = self.read(document, document)?;
            let dealer = kept(&read, document);
            if !seen.insert(dealer.dealer_id.clone()) {
                return Err(refused(&HostingConflict::IdTaken(dealer.dealer_id)));
            }
            fresh.push(dealer);
        }
        let ids = fresh.iter().map(|dealer| dealer.dealer_id.clone()).collect();
        self.store.host_dealers(fresh, again, self.clock.now())?;
        Ok(ids)
    }

    /// Changes a dealer: replaces its document, or with `patch` merges changes into it (RFC 7396).
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn change(
        &self,
        id: &str,
        said: &Value,
        patch: bool,
        expected: Option<i64>,
    ) -> Result<(), HostingError> {
        let known = self.one(id)?;
        let before = parse(&known.document)?;
        // Documents are shown with marks in place of secrets; a mark that is sent back means the stored
        // secret.
        let mut said = said.clone();
        secrets::restore(&mut said, &before);
        let document = if patch { merged(&before, &said) } else { said.clone() };
        let named = document.get("id").and_then(Value::as_str);
        if named.is_some_and(|named| named != id) {
            let message = "must be the id of the dealer, which does not change";
            let mut problems = Problems::new();
            reject(&DocumentPlace::Root.key("id"), &mut problems, message);
            return Err(HostingRefusal::of_document(problems).into());
        }
        let dealer = self.read(&document, &said)?;
        // A patch is only valid for the revision that it was merged into.
        let expected = expected.or_else(|| patch.then_some(known.revision));
        let fresh = kept(&dealer, &document);
        self.store.change_hosted(fresh, expected, self.clock.now())?;
        Ok(())
    }

    /// Suspends, resumes or removes a dealer.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn set_state(
        &self,
        id: &str,
        state: HostedState,
        expected: Option<i64>,
    ) -> Result<(), HostingError> {
        self.check_fixed(id)?;
        self.store.set_hosted_state(id, state, expected, self.clock.now())?;
        Ok(())
    }

    /// Returns a hosted dealer that was not removed.
    fn one(&self, id: &str) -> Result<HostedDealer, HostingError> {
        self.check_fixed(id)?;
        let known = self.store.hosted(id)?;
        let known = known.filter(|known| known.state != HostedState::Removed);
        known.ok_or_else(|| refused(&HostingConflict::NoSuchDealer))
    }

    // A dealer of the file would be back as it was at the next start.
    fn check_fixed(&self, id: &str) -> Result<(), HostingError> {
        if self.fixed.has(id) {
            let message = format!("{id} is in the configuration file");
            return Err(HostingRefusal::new(HostingErrorCode::ReadOnly, message).into());
        }
        Ok(())
    }

    /// Returns a dealer as JSON, with its settings but without secrets.
    ///
    /// # Errors
    /// When there is no such dealer.
    pub fn show(&self, id: &str) -> Result<Value, HostingError> {
        if let Some((name, hosts)) = self.fixed.dealers.get(id) {
            return Ok(of_file(id, name, hosts));
        }
        let known = self.store.hosted(id)?;
        let known = known.ok_or_else(|| refused(&HostingConflict::NoSuchDealer))?;
        let mut document = parse(&known.document)?;
        let mut shown = summary(&known, &document);
        secrets::hide(&mut document);
        if let Some(members) = shown.as_object_mut() {
            members.insert("settings".into(), document);
        }
        Ok(shown)
    }

    /// Lists up to `limit` dealers of the file and of the store whose ids follow `after`, in the order of
    /// ids; with `all` also removed ones. Also returns the id after which to continue, if there may be
    /// more.
    ///
    /// # Errors
    /// When the store fails.
    pub fn list(
        &self,
        after: &str,
        limit: u32,
        all: bool,
    ) -> Result<(Vec<Value>, Option<String>), HostingError> {
        let mut found: BTreeMap<String, Value> = BTreeMap::new();
        for (id, (name, hosts)) in &self.fixed.dealers {
            if id.as_str() > after {
                found.insert(id.clone(), of_file(id, name, hosts));
            }
        }
        let mut place = after.to_owned();
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        // Dealers of the file may be among them, and removed dealers are skipped.
        let mut hosted = 0;
        loop {
            let page = self.store.hosted_page(&place, limit)?;
            let is_last = page.len() < wanted;
            for known in page {
                place.clone_from(&known.dealer_id);
                if all || known.state != HostedState::Removed {
                    let document = parse(&known.document)?;
                    found.insert(known.dealer_id.clone(), summary(&known, &document));
                    hosted += 1;
                }
            }
            if is_last || hosted >= wanted {
                break;
            }
        }
        let more = found.len() > wanted || hosted >= wanted;
        let page: Vec<_> = found.into_iter().take(wanted).collect();
        let next = page.last().filter(|_| more).map(|(id, _)| id.clone());
        Ok((page.into_iter().map(|(_, shown)| shown).collect(), next))
    }
}

/// Returns the hosted dealers that were not removed, for commands that also work with those of the file.
/// Dealers whose document this version cannot read are left out.
///
/// # Errors
/// When the store fails.
pub fn kept_dealers(store: &Store, fixed: &Fixed) -> Result<Vec<DealerConfig>, InternalError> {
    // Revisions begin at 1, so these are all dealers.
    let hosted = store.hosted_since(0)?;
    let there = hosted.iter().filter(|known| known.state != HostedState::Removed);
    Ok(there.filter_map(|known| read_kept(known, fixed.process).ok()).collect())
}

/// Parses the stored document of a dealer.
fn read_kept(known: &HostedDealer, process: ForAll) -> Result<DealerConfig, InternalError> {
    let document = parse(&known.document)?;
    let unread =
        |problems: Problems| InternalError::new("reading a hosted dealer", problems.to_string());
    read::dealer(&document, process).map_err(unread)
}

/// Builds the stored form of a document.
fn kept(dealer: &DealerConfig, document: &Value) -> NewHosted {
    NewHosted {
        dealer_id: dealer.terms.id.clone(),
        document: document.to_string(),
        hosts: dealer.hosts.clone(),
    }
}

fn parse(document: &str) -> Result<Value, InternalError> {
    tradepost_document::json::from_str(document)
        .map_err(InternalError::on("reading a hosted dealer"))
}

/// Checks that the files and destinations named by a dealer can be used.
fn usable(dealer: &Arc<DealerConfig>) -> Result<(), HostingRefusal> {
    let mut problems = Problems::new();
    if let Some(signing) = &dealer.card_signing
        && let Err(why) = SigningKey::load(&signing.key_file, signing.kid.as_deref())
    {
        reject(
            &DocumentPlace::Root.key("card_signing").key("key_file"),
            &mut problems,
            why.to_string(),
        );
    }
    let at = DocumentPlace::Root.key("deliveries");
    for (index, why) in delivery::unusable(dealer) {
        reject(&at.index(index), &mut problems, why);
    }
    if let Err(why) = FeedSource::open_all(dealer) {
        reject(&DocumentPlace::Root.key("feeds"), &mut problems, why);
    }
    if problems.is_empty() { Ok(()) } else { Err(HostingRefusal::of_document(problems)) }
}

/// Rejects the marks of hidden secrets, and for remote callers the names of files.
fn look_for_markers(
    value: &Value,
    at: &DocumentPlace<'_>,
    is_local: bool,
    problems: &mut Problems,
) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let at = at.key(name);
                if secrets::has_mark(name, value) {
                    let message = "is the mark of a secret, and none is kept for this place and \
                                   address; send the secret itself, or a PATCH without it";
                    reject(&at, problems, message);
                } else if !is_local && PLACES.contains(&name.as_str()) {
                    let message = "names a file of the server, which only `tradepost dealer` on \
                                   the server itself may do";
                    reject(&at, problems, message);
                } else {
                    look_for_markers(value, &at, is_local, problems);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look_for_markers(item, &at.index(index), is_local, problems);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Merges a patch into a document (RFC 7396 §2).
fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut members = target.as_object().cloned().unwrap_or_default();
    for (name, change) in changes {
        if change.is_null() {
            members.shift_remove(name);
        } else {
            let after = merged(members.get(name).unwrap_or(&Value::Null), change);
            members.insert(name.clone(), after);
        }
    }
    Value::Object(members)
}

fn summary(known: &HostedDealer, document: &Value) -> Value {
    json!({
        "id": known.dealer_id,
        "name": document.get("name"),
        "hosts": document.get("hosts"),
        "state": known.state,
        "source": "store",
        "revision": known.revision,
        "created_at": known.created_at.to_string(),
        "changed_at": known.changed_at.to_string(),
    })
}

fn of_file(id: &str, name: &str, hosts: &[String]) -> Value {
    json!({"id": id, "name": name, "hosts": hosts, "state": "serving", "source": "file"})
}

fn hosts_taken(taken: &[(usize, String)]) -> HostingRefusal {
    let hosts: Vec<_> = taken.iter().map(|(_, host)| host.as_str()).collect();
    let message = format!("another seller has {}", hosts.join(", "));
    let mut refusal = HostingRefusal::new(HostingErrorCode::HostTaken, message);
    let at = DocumentPlace::Root.key("hosts");
    for (place, _) in taken {
        reject(&at.index(*place), &mut refusal.problems, "another seller has this host");
    }
    refusal
}

fn refused(conflict: &HostingConflict) -> HostingError {
    let refusal = match conflict {
        HostingConflict::IdTaken(id) => {
            HostingRefusal::new(HostingErrorCode::IdTaken, format!("there is a dealer {id}"))
        }
        HostingConflict::IdRemoved(id) => {
            let message = format!("there was a dealer {id}, whose leads and consents are kept");
            HostingRefusal::new(HostingErrorCode::IdRemoved, message)
        }
        HostingConflict::NoSuchDealer => {
            HostingRefusal::new(HostingErrorCode::NotFound, "there is no such dealer")
        }
        HostingConflict::Changed(revision) => HostingRefusal::new(
            HostingErrorCode::RevisionConflict,
            format!("its revision is {revision} by now"),
        ),
        HostingConflict::HostsTaken(taken) => {
            let places = taken.iter().map(|(_, place, host)| (*place, host.clone()));
            hosts_taken(&places.collect::<Vec<_>>())
        }
    };
    HostingError::Refused(refusal)
}
