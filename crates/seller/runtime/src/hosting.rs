//! Hosted dealers: dealers that are added and removed while the process runs, in addition to those of the
//! configuration file. Each is stored as the document that its `[[dealers]]` section would be, and is
//! parsed by the same code.
//!
//! This module translates the operations of [`tradepost_admin::hosting`] for the command line and the
//! operators' [`api`]. [`dealer_set`] applies the changes to a running process.

use std::collections::BTreeMap;
use std::sync::Arc;

use tradepost_admin::hosting::{
    AddDealers, ChangeDealer, DealerPage, DealerReader, DocumentRules, FileDealer, FileSellers,
    HostedRefusal, HostedSummary, ListDealers, ListedDealer, SetDealerState, ShowDealer,
    ShownDealer, add_dealers, change_dealer, list_dealers, set_dealer_state, show_dealer,
};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};
use tradepost_document::parse::reject;
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_keys::private::SigningKey;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::{HostedDealer, HostedState, HostingConflict, Store, TakenHost};

use crate::config::read::{self, ForAll};
use crate::config::{Config, DealerConfig};
use crate::delivery;
use crate::feeds::FeedSource;

pub mod api;
pub mod code;
pub mod dealer_set;

pub use code::HostingErrorCode;

/// Facts of the configuration file with which hosted dealers must not conflict.
#[derive(Debug, Default)]
pub struct Fixed {
    /// Sellers of the file.
    sellers: FileSellers,
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
            let name = dealer.terms.name.clone();
            (dealer.terms.id.clone(), FileDealer { name, hosts: dealer.hosts.clone() })
        };
        let dealers: BTreeMap<String, FileDealer> = dealers.map(facts).collect();
        Self {
            sellers: FileSellers {
                dealers,
                publishers: publishers.map(|publisher| publisher.profile.id.clone()).collect(),
                hosts: named.map(|host| host.to_ascii_lowercase()).collect(),
            },
            process: ForAll {
                asks_for_certificates: (config.server.tls.as_ref())
                    .is_some_and(|files| files.client_ca.is_some()),
                retention: config.privacy.retention,
            },
        }
    }

    /// Returns true when the file has a dealer or publisher with this id.
    fn has(&self, id: &str) -> bool {
        self.sellers.has(id)
    }
}

impl DealerReader for Fixed {
    type Dealer = Arc<DealerConfig>;

    fn read(&self, document: &Value) -> Result<Arc<DealerConfig>, Problems> {
        read::dealer(document, self.process).map(Arc::new)
    }

    fn id_of<'d>(&self, dealer: &'d Arc<DealerConfig>) -> &'d str {
        &dealer.terms.id
    }

    fn hosts_of<'d>(&self, dealer: &'d Arc<DealerConfig>) -> &'d [String] {
        &dealer.hosts
    }

    fn check_usable(&self, dealer: &Arc<DealerConfig>) -> Result<(), Problems> {
        usable(dealer)
    }
}

/// Reason why a change is not made.
#[derive(Debug)]
pub enum HostingError {
    /// A refusal.
    Refused(HostingApiRefusal),
    /// An internal error.
    Broken(InternalError),
}

impl From<InternalError> for HostingError {
    fn from(error: InternalError) -> Self {
        Self::Broken(error)
    }
}

impl From<HostingApiRefusal> for HostingError {
    fn from(refusal: HostingApiRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<AdminError<HostedRefusal>> for HostingError {
    fn from(error: AdminError<HostedRefusal>) -> Self {
        match error {
            AdminError::Forbidden(missing) => {
                let message =
                    format!("the role {} does not permit {}", missing.role, missing.operation);
                Self::Refused(HostingApiRefusal::new(HostingErrorCode::PermissionDenied, message))
            }
            AdminError::Refused(refusal) => Self::Refused(refusal.into()),
            AdminError::Broken(fault) => Self::Broken(fault),
        }
    }
}

/// A refusal, with all problems of the document.
#[derive(Debug)]
pub struct HostingApiRefusal {
    /// Error code.
    pub code: HostingErrorCode,
    /// Message for people: a fragment, without secrets.
    pub message: String,
    /// Problems of the document, each with its place.
    pub problems: Problems,
}

impl HostingApiRefusal {
    fn new(code: HostingErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), problems: Problems::new() }
    }

    fn from_problems(problems: Problems) -> Self {
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

impl From<HostedRefusal> for HostingApiRefusal {
    fn from(refusal: HostedRefusal) -> Self {
        match refusal {
            HostedRefusal::NamesFileSeller(id) => {
                let message = format!("the configuration file has a seller {id}");
                Self::new(HostingErrorCode::ReadOnly, message)
            }
            HostedRefusal::InFile(id) => {
                let message = format!("{id} is in the configuration file");
                Self::new(HostingErrorCode::ReadOnly, message)
            }
            HostedRefusal::Invalid(problems) => Self::from_problems(problems),
            HostedRefusal::Conflict(conflict) => refused(&conflict),
        }
    }
}

/// Operations on hosted dealers, as one person performs them. The operations themselves are in
/// [`tradepost_admin::hosting`]; here their results become JSON, and their refusals get codes.
#[derive(Debug, Clone)]
pub struct HostedDealers {
    /// The store with the hosted dealers.
    pub store: Arc<Store>,
    /// Facts of the configuration file.
    pub fixed: Arc<Fixed>,
    /// The clock.
    pub clock: Clock,
    /// The person.
    pub actor: Actor,
    /// True when the person is on this machine: only then may a document name its files.
    pub is_local: bool,
}

impl HostedDealers {
    /// Returns the surroundings of an operation now.
    fn admin(&self) -> AdminContext<'_> {
        AdminContext { store: &self.store, dealers: &[], now: self.clock.now() }
    }

    /// Returns the rules for documents.
    fn rules(&self) -> DocumentRules<'_, Fixed> {
        DocumentRules {
            file: &self.fixed.sellers,
            reader: self.fixed.as_ref(),
            may_name_files: self.is_local,
        }
    }

    /// Adds dealers, all or none. With `again` the id of a removed dealer can be used again.
    ///
    /// # Errors
    /// The reason for the refusal: all problems of the first document that has one.
    pub fn add(&self, documents: &[Value], again: bool) -> Result<Vec<String>, HostingError> {
        let input = AddDealers { rules: self.rules(), documents, may_reuse: again };
        Ok(add_dealers(&self.admin(), &self.actor, input)?)
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
        let rules = self.rules();
        let input = ChangeDealer { rules, dealer_id: id, said, is_patch: patch, expected };
        Ok(change_dealer(&self.admin(), &self.actor, input)?)
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
        let file = &self.fixed.sellers;
        let input = SetDealerState { file, dealer_id: id, state, expected };
        set_dealer_state(&self.admin(), &self.actor, input)?;
        Ok(())
    }

    /// Returns a dealer as JSON, with its settings but without secrets.
    ///
    /// # Errors
    /// When there is no such dealer.
    pub fn show(&self, id: &str) -> Result<Value, HostingError> {
        let input = ShowDealer { file: &self.fixed.sellers, dealer_id: id };
        let found = show_dealer(&self.admin(), &self.actor, input)?;
        let ShownDealer { dealer, settings } = found;
        let mut shown = listed(&dealer);
        if let Some(settings) = settings
            && let Some(members) = shown.as_object_mut()
        {
            members.insert("settings".into(), settings);
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
        let file = &self.fixed.sellers;
        let input = ListDealers { file, after, limit, with_removed: all };
        let page = list_dealers(&self.admin(), &self.actor, input)?;
        let DealerPage { dealers, next } = page;
        Ok((dealers.iter().map(listed).collect(), next))
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

fn parse(document: &str) -> Result<Value, InternalError> {
    tradepost_document::json::from_str(document)
        .map_err(InternalError::on("reading a hosted dealer"))
}

/// Checks that the files and destinations named by a dealer can be used.
fn usable(dealer: &Arc<DealerConfig>) -> Result<(), Problems> {
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
    problems.into_result(Some(()))
}

/// Returns a dealer of a list as JSON.
fn listed(dealer: &ListedDealer) -> Value {
    match dealer {
        ListedDealer::File { dealer_id, dealer } => json!({
            "id": dealer_id, "name": dealer.name, "hosts": dealer.hosts, "state": "serving",
            "source": "file",
        }),
        ListedDealer::Hosted(known) => summary(known),
    }
}

fn summary(known: &HostedSummary) -> Value {
    json!({
        "id": known.dealer_id,
        "name": known.name,
        "hosts": known.hosts,
        "state": known.state,
        "source": "store",
        "revision": known.revision,
        "created_at": known.created_at.to_string(),
        "changed_at": known.changed_at.to_string(),
    })
}

fn hosts_taken(taken: &[TakenHost]) -> HostingApiRefusal {
    let hosts: Vec<_> = taken.iter().map(|one| one.host.as_str()).collect();
    let message = format!("another seller has {}", hosts.join(", "));
    let mut refusal = HostingApiRefusal::new(HostingErrorCode::HostTaken, message);
    let at = DocumentPlace::Root.key("hosts");
    for one in taken {
        reject(&at.index(one.index), &mut refusal.problems, "another seller has this host");
    }
    refusal
}

fn refused(conflict: &HostingConflict) -> HostingApiRefusal {
    match conflict {
        HostingConflict::IdTaken(id) => {
            HostingApiRefusal::new(HostingErrorCode::IdTaken, format!("there is a dealer {id}"))
        }
        HostingConflict::IdRemoved(id) => {
            let message = format!("there was a dealer {id}, whose leads and consents are kept");
            HostingApiRefusal::new(HostingErrorCode::IdRemoved, message)
        }
        HostingConflict::NoSuchDealer => {
            HostingApiRefusal::new(HostingErrorCode::NotFound, "there is no such dealer")
        }
        HostingConflict::Changed(revision) => HostingApiRefusal::new(
            HostingErrorCode::RevisionConflict,
            format!("its revision is {revision} by now"),
        ),
        HostingConflict::HostsTaken(taken) => hosts_taken(taken),
    }
}
