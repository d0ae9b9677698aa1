//! Operations on hosted dealers: dealers that are added, changed, suspended and removed while a server
//! runs, in addition to those of its configuration file. Each is stored as the document that its section
//! of the configuration would be.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{self, Value};
use tradepost_document::parse::reject;
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_store::{
    Hosted, HostedDealer, HostedState, HostingConflict, NewHosted, TakenHost, TransactionError,
};

use crate::actor::Actor;
use crate::context::{AdminContext, AdminError, record_if};
use crate::operation::AdminOperation;

mod document;
mod secrets;

/// Refusal of an operation on hosted dealers.
#[derive(Debug)]
pub enum HostedRefusal {
    /// The document names the id of a seller of the configuration file.
    NamesFileSeller(String),
    /// The dealer of this id is in the configuration file, and can only be changed there.
    InFile(String),
    /// The document has problems.
    Invalid(Problems),
    /// Stored dealers, or hosts of the configuration file, prevent it.
    Conflict(HostingConflict),
}

impl From<HostedRefusal> for AdminError<HostedRefusal> {
    fn from(refusal: HostedRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<TransactionError<HostingConflict>> for AdminError<HostedRefusal> {
    fn from(error: TransactionError<HostingConflict>) -> Self {
        match error {
            TransactionError::Refused(conflict) => Self::Refused(HostedRefusal::Conflict(conflict)),
            TransactionError::Broken(fault) => Self::Broken(fault),
        }
    }
}

/// Result of an operation on hosted dealers.
pub type HostedResult<T> = Result<T, AdminError<HostedRefusal>>;

/// Sellers of the configuration file, with which hosted dealers must not conflict.
#[derive(Debug, Clone, Default)]
pub struct FileSellers {
    /// Dealers by id.
    pub dealers: BTreeMap<String, FileDealer>,
    /// Ids of publishers.
    pub publishers: Vec<String>,
    /// All hosts that the file names, in lower case.
    pub hosts: Vec<String>,
}

impl FileSellers {
    /// Returns true when the file has a dealer or publisher with this id.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.dealers.contains_key(id) || self.publishers.iter().any(|known| known == id)
    }

    /// Checks that a dealer is not in the file. It would be back as it was at the next start.
    fn check_absent(&self, id: &str) -> Result<(), HostedRefusal> {
        if self.has(id) { Err(HostedRefusal::InFile(id.to_owned())) } else { Ok(()) }
    }
}

/// A dealer of the configuration file.
#[derive(Debug, Clone)]
pub struct FileDealer {
    /// Its name.
    pub name: String,
    /// Its hosts.
    pub hosts: Vec<String>,
}

/// Reader of dealers' documents, which knows the settings of a dealer and the files of the machine.
pub trait DealerReader {
    /// A dealer as its document describes it.
    type Dealer;

    /// Reads a document.
    ///
    /// # Errors
    /// Fails with every problem of the document.
    fn read(&self, document: &Value) -> Result<Self::Dealer, Problems>;

    /// Returns the id of a dealer.
    fn id_of<'d>(&self, dealer: &'d Self::Dealer) -> &'d str;

    /// Returns the hosts of a dealer, in lower case.
    fn hosts_of<'d>(&self, dealer: &'d Self::Dealer) -> &'d [String];

    /// Checks that the files and destinations that a dealer names can be used.
    ///
    /// # Errors
    /// Fails with each that cannot.
    fn check_usable(&self, dealer: &Self::Dealer) -> Result<(), Problems>;
}

/// Rules for documents of hosted dealers.
#[derive(Debug)]
pub struct DocumentRules<'a, R> {
    /// Sellers of the configuration file.
    pub file: &'a FileSellers,
    /// Reader of the documents.
    pub reader: &'a R,
    /// True when the actor is on this machine: only then may a document name its files.
    pub may_name_files: bool,
}

impl<R: DealerReader> DocumentRules<'_, R> {
    /// Reads a document. Only the part in `sent` is checked for names of files: with a patch, the rest
    /// was there before and may have them.
    fn read(&self, document: &Value, sent: &Value) -> Result<NewHosted, HostedRefusal> {
        let mut problems = Problems::new();
        document::check_members(sent, &DocumentPlace::Root, self.may_name_files, &mut problems);
        let read = self.reader.read(document);
        let dealer = read.map_err(|found| problems.append(found)).ok();
        let dealer = problems.into_result(dealer).map_err(HostedRefusal::Invalid)?;
        let dealer_id = self.reader.id_of(&dealer).to_owned();
        if self.file.has(&dealer_id) {
            return Err(HostedRefusal::NamesFileSeller(dealer_id));
        }
        let hosts = self.reader.hosts_of(&dealer).to_vec();
        let taken = hosts.iter().enumerate().filter(|(_, host)| self.file.hosts.contains(host));
        let taken = taken.map(|(index, host)| TakenHost {
            dealer_id: dealer_id.clone(),
            index,
            host: host.clone(),
        });
        let taken: Vec<_> = taken.collect();
        if !taken.is_empty() {
            return Err(HostedRefusal::Conflict(HostingConflict::HostsTaken(taken)));
        }
        self.reader.check_usable(&dealer).map_err(HostedRefusal::Invalid)?;
        Ok(NewHosted { dealer_id, document: document.to_string(), hosts })
    }
}

/// Dealers to add.
#[derive(Debug)]
pub struct AddDealers<'a, R> {
    /// Rules for the documents.
    pub rules: DocumentRules<'a, R>,
    /// Documents of the dealers.
    pub documents: &'a [Value],
    /// True when the id of a removed dealer can be used again, with the data that is stored for it.
    pub may_reuse: bool,
}

/// Adds dealers, all or none. Returns their ids.
///
/// # Errors
/// Fails when the actor lacks the permission, a dealer is refused (with all problems of the first
/// document that has one), or the store fails.
pub fn add_dealers<R: DealerReader>(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: AddDealers<'_, R>,
) -> HostedResult<Vec<String>> {
    context.permit(actor, AdminOperation::AddDealers)?;
    let AddDealers { rules, documents, may_reuse } = input;
    // All are read before any is stored, so that a problem in the last one leaves nothing behind.
    let mut fresh: Vec<NewHosted> = Vec::with_capacity(documents.len());
    let mut seen = HashSet::with_capacity(documents.len());
    for document in documents {
        let dealer = rules.read(document, document)?;
        if !seen.insert(dealer.dealer_id.clone()) {
            let conflict = HostingConflict::IdTaken(dealer.dealer_id);
            return Err(HostedRefusal::Conflict(conflict).into());
        }
        fresh.push(dealer);
    }
    let ids: Vec<String> = fresh.iter().map(|dealer| dealer.dealer_id.clone()).collect();
    let entry = |dealer: &NewHosted| {
        let id = dealer.dealer_id.as_str();
        let detail = (!dealer.hosts.is_empty()).then(|| dealer.hosts.join(", "));
        NewAuditEntry { detail, ..context.entry(actor, id, AuditAction::DealerAdded, Some(id)) }
    };
    let entries: Vec<NewAuditEntry> = fresh.iter().map(entry).collect();
    let now = context.now;
    context.store.decide(move |tx| -> Hosted {
        let revision = tx.host_dealers(&fresh, may_reuse, now)?;
        tx.record_all(&entries)?;
        Ok(revision)
    })?;
    Ok(ids)
}

/// Maximum number of attempts to replace the settings of a dealer that others are changing.
const CHANGE_ATTEMPTS: u32 = 8;

/// Change of a dealer's settings.
#[derive(Debug)]
pub struct ChangeDealer<'a, R> {
    /// Rules for the document.
    pub rules: DocumentRules<'a, R>,
    /// Id of the dealer.
    pub dealer_id: &'a str,
    /// New document, or changes of the stored one.
    pub said: &'a Value,
    /// True when `said` is merged into the stored document (RFC 7396) instead of replacing it.
    pub is_patch: bool,
    /// Revision that the change applies to; any when `None`.
    pub expected: Option<i64>,
}

/// Changes the settings of a dealer. The audit entry names the members that have changed.
///
/// # Errors
/// Fails when the actor lacks the permission, the dealer or its document is refused, or the store
/// fails.
pub fn change_dealer<R: DealerReader>(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ChangeDealer<'_, R>,
) -> HostedResult<()> {
    context.permit(actor, AdminOperation::ChangeDealer)?;
    // Somebody else may change the dealer between reading and writing. Without a revision the caller replaces
    // whatever is there, so the change is worked out again from what is there now.
    let replaces_any = input.expected.is_none() && !input.is_patch;
    for _ in 1..CHANGE_ATTEMPTS {
        match change_read_dealer(context, actor, &input) {
            Err(AdminError::Refused(HostedRefusal::Conflict(HostingConflict::Changed(_))))
                if replaces_any => {}
            outcome => return outcome,
        }
    }
    change_read_dealer(context, actor, &input)
}

/// Reads the dealer, and changes it if nobody else has changed it meanwhile.
fn change_read_dealer<R: DealerReader>(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: &ChangeDealer<'_, R>,
) -> HostedResult<()> {
    let ChangeDealer { rules, dealer_id, said, is_patch, expected } = input;
    let dealer_id = *dealer_id;
    rules.file.check_absent(dealer_id)?;
    let known = find_hosted(context, dealer_id)?;
    if known.state == HostedState::Removed {
        return Err(HostedRefusal::Conflict(HostingConflict::NoSuchDealer).into());
    }
    let before = parse(&known.document)?;
    // Documents are shown with marks in place of secrets; a mark that is sent back means the stored
    // secret.
    let mut said = (*said).clone();
    secrets::restore(&mut said, &before);
    let document = if *is_patch { document::merged(&before, &said) } else { said.clone() };
    let named = document.get("id").and_then(Value::as_str);
    if named.is_some_and(|named| named != dealer_id) {
        let message = "must be the id of the dealer, which does not change";
        let mut problems = Problems::new();
        reject(&DocumentPlace::Root.key("id"), &mut problems, message);
        return Err(HostedRefusal::Invalid(problems).into());
    }
    let fresh = rules.read(&document, &said)?;
    // Secrets and the audit entry come of the revision that was read.
    let expected = expected.or(Some(known.revision));
    let mut entry = context.entry(actor, dealer_id, AuditAction::DealerChanged, Some(dealer_id));
    let changed = document::changed_members(&before, &document);
    entry.detail = (!changed.is_empty()).then(|| changed.join(", "));
    let now = context.now;
    context.store.decide(move |tx| -> Hosted {
        let revision = tx.change_hosted(&fresh, expected, now)?;
        tx.record(&entry)?;
        Ok(revision)
    })?;
    Ok(())
}

/// State for a dealer.
#[derive(Debug, Clone, Copy)]
pub struct SetDealerState<'a> {
    /// Sellers of the configuration file.
    pub file: &'a FileSellers,
    /// Id of the dealer.
    pub dealer_id: &'a str,
    /// State from now on.
    pub state: HostedState,
    /// Revision that the change applies to; any when `None`.
    pub expected: Option<i64>,
}

/// Suspends, resumes or removes a dealer. Returns false when it stood so already; nothing is recorded
/// then.
///
/// # Errors
/// Fails when the actor lacks the permission, the dealer is refused, or the store fails.
pub fn set_dealer_state(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: SetDealerState<'_>,
) -> HostedResult<bool> {
    context.permit(actor, AdminOperation::SetDealerState)?;
    let SetDealerState { file, dealer_id, state, expected } = input;
    file.check_absent(dealer_id)?;
    let action = match state {
        HostedState::Serving => AuditAction::DealerResumed,
        HostedState::Suspended => AuditAction::DealerSuspended,
        HostedState::Removed => AuditAction::DealerRemoved,
    };
    let entry = context.entry(actor, dealer_id, action, Some(dealer_id));
    let wanted = dealer_id.to_owned();
    let now = context.now;
    let is_changed =
        context.store.decide(move |tx| -> Result<bool, TransactionError<HostingConflict>> {
            let revision = tx.set_hosted_state(&wanted, state, expected, now)?;
            let is_changed = record_if(revision.is_some(), tx, &entry)?;
            Ok(is_changed)
        })?;
    Ok(is_changed)
}

/// A dealer in a list.
#[derive(Debug, Clone)]
pub enum ListedDealer {
    /// A dealer of the configuration file.
    File {
        /// Its id.
        dealer_id: String,
        /// Its name and hosts.
        dealer: FileDealer,
    },
    /// A hosted dealer.
    Hosted(HostedSummary),
}

/// Facts of a hosted dealer.
#[derive(Debug, Clone)]
pub struct HostedSummary {
    /// Its id.
    pub dealer_id: String,
    /// Its name, as its document has it.
    pub name: Option<Value>,
    /// Its hosts, as its document has them.
    pub hosts: Option<Value>,
    /// Its state.
    pub state: HostedState,
    /// Revision number of its last change.
    pub revision: i64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub changed_at: Timestamp,
}

impl HostedSummary {
    /// Returns the facts of a stored dealer with this document.
    fn from_document(known: HostedDealer, document: &Value) -> Self {
        Self {
            dealer_id: known.dealer_id,
            name: document.get("name").cloned(),
            hosts: document.get("hosts").cloned(),
            state: known.state,
            revision: known.revision,
            created_at: known.created_at,
            changed_at: known.changed_at,
        }
    }
}

/// Dealer to show.
#[derive(Debug, Clone, Copy)]
pub struct ShowDealer<'a> {
    /// Sellers of the configuration file.
    pub file: &'a FileSellers,
    /// Id of the dealer.
    pub dealer_id: &'a str,
}

/// A dealer with its settings.
#[derive(Debug, Clone)]
pub struct ShownDealer {
    /// The dealer.
    pub dealer: ListedDealer,
    /// Its document with marks in place of secrets; `None` for a dealer of the configuration file.
    pub settings: Option<Value>,
}

/// Returns a dealer with its settings, also one that was removed.
///
/// # Errors
/// Fails when the actor lacks the permission, there is no such dealer, or the store fails.
pub fn show_dealer(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ShowDealer<'_>,
) -> HostedResult<ShownDealer> {
    context.permit(actor, AdminOperation::ShowDealer)?;
    let ShowDealer { file, dealer_id } = input;
    if let Some(dealer) = file.dealers.get(dealer_id) {
        let dealer = ListedDealer::File { dealer_id: dealer_id.to_owned(), dealer: dealer.clone() };
        return Ok(ShownDealer { dealer, settings: None });
    }
    let known = find_hosted(context, dealer_id)?;
    let mut document = parse(&known.document)?;
    let dealer = ListedDealer::Hosted(HostedSummary::from_document(known, &document));
    secrets::hide(&mut document);
    Ok(ShownDealer { dealer, settings: Some(document) })
}

/// Page of a list of dealers.
#[derive(Debug, Clone, Copy)]
pub struct ListDealers<'a> {
    /// Sellers of the configuration file.
    pub file: &'a FileSellers,
    /// Id that all dealers of the page follow.
    pub after: &'a str,
    /// Maximum number of dealers.
    pub limit: u32,
    /// True to list removed dealers as well.
    pub with_removed: bool,
}

/// Dealers of a page.
#[derive(Debug, Clone)]
pub struct DealerPage {
    /// The dealers, in the order of their ids.
    pub dealers: Vec<ListedDealer>,
    /// Id after which the list continues, if there may be more.
    pub next: Option<String>,
}

/// Lists dealers of the file and of the store.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn list_dealers(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ListDealers<'_>,
) -> HostedResult<DealerPage> {
    context.permit(actor, AdminOperation::ListDealers)?;
    let ListDealers { file, after, limit, with_removed } = input;
    let mut found: BTreeMap<String, ListedDealer> = BTreeMap::new();
    for (id, dealer) in &file.dealers {
        if id.as_str() > after {
            let listed = ListedDealer::File { dealer_id: id.clone(), dealer: dealer.clone() };
            found.insert(id.clone(), listed);
        }
    }
    let mut place = after.to_owned();
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    // Dealers of the file may be among them, and removed dealers are skipped.
    let mut hosted = 0;
    loop {
        let page = context.store.hosted_page(&place, limit)?;
        let is_last = page.len() < wanted;
        for known in page {
            place.clone_from(&known.dealer_id);
            if with_removed || known.state != HostedState::Removed {
                let document = parse(&known.document)?;
                let summary = HostedSummary::from_document(known, &document);
                found.insert(place.clone(), ListedDealer::Hosted(summary));
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
    Ok(DealerPage { dealers: page.into_iter().map(|(_, listed)| listed).collect(), next })
}

/// Returns a hosted dealer, also one that was removed.
fn find_hosted(context: &AdminContext<'_>, dealer_id: &str) -> HostedResult<HostedDealer> {
    let known = context.store.hosted(dealer_id)?;
    known.ok_or_else(|| HostedRefusal::Conflict(HostingConflict::NoSuchDealer).into())
}

/// Parses a stored document.
fn parse(document: &str) -> Result<Value, InternalError> {
    json::from_str(document).map_err(InternalError::on("reading a hosted dealer"))
}
