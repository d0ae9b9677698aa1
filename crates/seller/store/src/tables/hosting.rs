//! Dealers that are hosted at run time, in addition to those of a configuration file: settings, state and host names.
//!
//! Every change takes the next revision number, and changes are made one after another, so that a reader of one
//! revision can ask for later ones and miss nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::words;

use super::{Database, StoreTransaction};
use crate::change_notice::ChangeNotice;
use crate::sql::{Connection, RowResult, SqlRow, params};
use crate::transaction_error::TransactionError;
use crate::{Hosted, Store};

/// Name of the lock that all processes take to change hosted dealers. No dealer has such an id.
const HOSTING_LOCK: &str = "*hosting";

words! {
    /// State of a hosted dealer.
    pub enum HostedState {
        /// Requests are answered.
        Serving = "serving",
        /// No request is answered, and host names are kept.
        Suspended = "suspended",
        /// Removed; its stored data stays.
        Removed = "removed",
    }
}

/// Dealer that is hosted at run time.
#[derive(Clone, PartialEq, Eq)]
pub struct HostedDealer {
    /// Its id.
    pub dealer_id: String,
    /// Its state.
    pub state: HostedState,
    /// Its settings as a section of the configuration, as JSON. They may contain secrets.
    pub document: String,
    /// Revision number of its last change.
    pub revision: i64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub changed_at: Timestamp,
}

impl std::fmt::Debug for HostedDealer {
    /// Leaves the document out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("HostedDealer");
        shown
            .field("dealer_id", &self.dealer_id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Settings of a hosted dealer to be stored.
#[derive(Clone, PartialEq, Eq)]
pub struct NewHosted {
    /// Its id.
    pub dealer_id: String,
    /// Its document.
    pub document: String,
    /// Its host names, in lower case.
    pub hosts: Vec<String>,
}

impl std::fmt::Debug for NewHosted {
    /// Leaves the document out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewHosted").field("dealer_id", &self.dealer_id).finish_non_exhaustive()
    }
}

/// Host name that cannot be assigned, because another dealer has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenHost {
    /// Id of the dealer that wants it.
    pub dealer_id: String,
    /// Index in that dealer's list of hosts, from 0.
    pub index: usize,
    /// The host name, in lower case.
    pub host: String,
}

/// Reason why a change is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostingConflict {
    /// There is a dealer with this id.
    IdTaken(String),
    /// A removed dealer had this id, and has left leads and consents under it.
    IdRemoved(String),
    /// There is no such dealer, or it was removed.
    NoSuchDealer,
    /// The dealer has changed since; this is its revision.
    Changed(i64),
    /// Others have these hosts.
    HostsTaken(Vec<TakenHost>),
}

const COLUMNS: &str = "dealer_id, state, document, revision, created_at, changed_at";

fn last_revision(connection: &Connection) -> Result<i64, InternalError> {
    let sql = "SELECT COALESCE(MAX(revision), 0) FROM hosted_dealers";
    connection.one("reading the last change of a dealer", sql, params![], |row| row.only())
}

impl Database {
    /// Returns the dealers that have changed since a revision, in the order of the changes, removed dealers included.
    pub(crate) fn hosted_since(&self, revision: i64) -> Result<Vec<HostedDealer>, InternalError> {
        let sql =
            format!("SELECT {COLUMNS} FROM hosted_dealers WHERE revision > $1 ORDER BY revision");
        self.0.all("reading the hosted dealers", &sql, params![revision], read)
    }

    /// Returns the last revision; 0 when there was no change.
    pub(crate) fn hosted_revision(&self) -> Result<i64, InternalError> {
        last_revision(&self.0)
    }
}

impl Store {
    /// Returns the ids of all dealers and publishers with stored data: those that are hosted, or have a lead, a
    /// listing, a key, a staff member, a consent or an entry in the audit log.
    ///
    /// # Errors
    /// When the database fails.
    pub fn known_agents(&self) -> Result<Vec<String>, InternalError> {
        let sql = "SELECT dealer_id FROM hosted_dealers
                   UNION SELECT dealer_id FROM leads
                   UNION SELECT dealer_id FROM inventories
                   UNION SELECT dealer_id FROM api_keys
                   UNION SELECT dealer_id FROM consent_log
                   UNION SELECT dealer_id FROM feeds
                   UNION SELECT dealer_id FROM staff WHERE dealer_id IS NOT NULL
                   UNION SELECT chain FROM audit_log";
        let mut ids: Vec<String> =
            self.read_all("reading whose data is kept", sql, params![], |row| row.only())?;
        // Chains and keys of all dealers have a name that no dealer can have.
        ids.retain(|id| !id.starts_with('*'));
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns up to `limit` hosted dealers after an id, in the order of ids; removed ones included.
    ///
    /// # Errors
    /// When the database fails.
    pub fn hosted_page(&self, after: &str, limit: u32) -> Result<Vec<HostedDealer>, InternalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM hosted_dealers WHERE dealer_id > $1 ORDER BY dealer_id LIMIT $2"
        );
        self.read_all("listing the hosted dealers", &sql, params![after, limit], read)
    }

    /// Returns a hosted dealer, also one that was removed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn hosted(&self, dealer_id: &str) -> Result<Option<HostedDealer>, InternalError> {
        let sql = format!("SELECT {COLUMNS} FROM hosted_dealers WHERE dealer_id = $1");
        self.read_first("reading a hosted dealer", &sql, params![dealer_id], read)
    }
}

impl StoreTransaction<'_> {
    /// Adds dealers, all or none. With `again` an id may be that of a removed dealer: the data kept under it then
    /// belongs to the new one. Returns the last revision.
    ///
    /// # Errors
    /// The conflict, or when the database fails.
    pub fn host_dealers(&self, dealers: &[NewHosted], again: bool, now: Timestamp) -> Hosted {
        // The dealers' own locks first: their audit logs need them, and an import may hold one for seconds, during
        // which no change of another dealer may wait.
        let ids: BTreeSet<&str> = dealers.iter().map(|dealer| dealer.dealer_id.as_str()).collect();
        for dealer_id in ids {
            self.0.lock(dealer_id)?;
        }
        self.0.lock(HOSTING_LOCK)?;
        let mut taken = Vec::new();
        for dealer in dealers {
            match self.state_of(&dealer.dealer_id)? {
                None => {}
                Some((HostedState::Removed, _)) if again => {}
                Some((HostedState::Removed, _)) => {
                    return Err(TransactionError::Refused(HostingConflict::IdRemoved(
                        dealer.dealer_id.clone(),
                    )));
                }
                Some((HostedState::Serving | HostedState::Suspended, _)) => {
                    return Err(TransactionError::Refused(HostingConflict::IdTaken(
                        dealer.dealer_id.clone(),
                    )));
                }
            }
            taken.extend(self.claim(dealer)?);
        }
        if !taken.is_empty() {
            return Err(TransactionError::Refused(HostingConflict::HostsTaken(taken)));
        }
        // Read under the lock, without which two processes would give the same number.
        let mut revision = self.last_revision()?;
        for dealer in dealers {
            revision += 1;
            self.0.execute(
                "writing a hosted dealer",
                "INSERT INTO hosted_dealers
                     (dealer_id, state, document, revision, created_at, changed_at)
                 VALUES ($1, $2, $3, $4, $5, $5)
                 ON CONFLICT (dealer_id) DO UPDATE SET state = excluded.state,
                     document = excluded.document, revision = excluded.revision,
                     created_at = excluded.created_at, changed_at = excluded.changed_at",
                params![
                    dealer.dealer_id,
                    HostedState::Serving.name(),
                    dealer.document,
                    revision,
                    now
                ],
            )?;
        }
        self.0.notify(ChangeNotice::Changed);
        Ok(revision)
    }

    /// Changes the settings of a dealer. With `expected` the dealer must not have changed since that revision.
    ///
    /// # Errors
    /// The conflict, or when the database fails.
    pub fn change_hosted(
        &self,
        dealer: &NewHosted,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Hosted {
        self.0.lock(&dealer.dealer_id)?;
        self.0.lock(HOSTING_LOCK)?;
        self.require_dealer(&dealer.dealer_id, expected)?;
        // Its own hosts too, so that a host which it keeps is not found taken.
        self.release(&dealer.dealer_id)?;
        // When a host belongs to another dealer, the caller rolls back the release as well.
        let taken = self.claim(dealer)?;
        if !taken.is_empty() {
            return Err(TransactionError::Refused(HostingConflict::HostsTaken(taken)));
        }
        let revision = self.last_revision()? + 1;
        self.0.execute(
            "changing a hosted dealer",
            "UPDATE hosted_dealers SET document = $2, revision = $3, changed_at = $4
             WHERE dealer_id = $1",
            params![dealer.dealer_id, dealer.document, revision, now],
        )?;
        self.0.notify(ChangeNotice::Changed);
        Ok(revision)
    }

    /// Changes the state of a dealer. Removing a dealer frees its host names, revokes its keys and ends its staff's
    /// sessions; it cannot be undone by this call. Returns the new revision; `None` when the dealer stood so already.
    ///
    /// # Errors
    /// The conflict, or when the database fails.
    pub fn set_hosted_state(
        &self,
        dealer_id: &str,
        state: HostedState,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Option<i64>, TransactionError<HostingConflict>> {
        self.0.lock(dealer_id)?;
        self.0.lock(HOSTING_LOCK)?;
        let known = self.require_dealer(dealer_id, expected)?;
        // Nothing changes, and without a new revision no process has to look.
        if known.0 == state {
            return Ok(None);
        }
        if state == HostedState::Removed {
            self.release(dealer_id)?;
            self.0.execute(
                "revoking the keys of a removed dealer",
                "UPDATE api_keys SET revoked_at = $2 WHERE dealer_id = $1 AND revoked_at IS NULL",
                params![dealer_id, now],
            )?;
            self.0.execute(
                "ending the sessions of a removed dealer",
                "DELETE FROM staff_sessions
                 WHERE name IN (SELECT name FROM staff WHERE dealer_id = $1)",
                params![dealer_id],
            )?;
        }
        let revision = self.last_revision()? + 1;
        self.0.execute(
            "changing how a hosted dealer stands",
            "UPDATE hosted_dealers SET state = $2, revision = $3, changed_at = $4
             WHERE dealer_id = $1",
            params![dealer_id, state.name(), revision, now],
        )?;
        self.0.notify(ChangeNotice::Changed);
        Ok(Some(revision))
    }

    /// Returns true when a dealer was removed by this change. It stays so until the transaction ends.
    pub(crate) fn was_removed_by(
        &self,
        dealer_id: &str,
        revision: i64,
    ) -> Result<bool, InternalError> {
        let sql = format!(
            "SELECT state = $3 FROM hosted_dealers WHERE dealer_id = $1 AND revision = $2{}",
            self.0.for_update()
        );
        let removed = HostedState::Removed.name();
        let values = params![dealer_id, revision, removed];
        let found =
            self.0.first("reading how a hosted dealer stands", &sql, values, |row| row.only());
        Ok(found?.unwrap_or(false))
    }

    fn last_revision(&self) -> Result<i64, InternalError> {
        last_revision(self.0)
    }

    fn state_of(&self, dealer_id: &str) -> Result<Option<(HostedState, i64)>, InternalError> {
        let sql = "SELECT state, revision FROM hosted_dealers WHERE dealer_id = $1";
        self.0.first("reading how a hosted dealer stands", sql, params![dealer_id], |row| {
            Ok((hosted_state(row)?, row.get("revision")?))
        })
    }

    /// Returns the state and revision of a dealer, or the conflict when it is absent, was removed, or has another revision
    /// than `expected`.
    fn require_dealer(
        &self,
        dealer_id: &str,
        expected: Option<i64>,
    ) -> Result<(HostedState, i64), TransactionError<HostingConflict>> {
        let conflict = match self.state_of(dealer_id)? {
            None | Some((HostedState::Removed, _)) => HostingConflict::NoSuchDealer,
            Some((_, revision)) if expected.is_some_and(|wanted| wanted != revision) => {
                HostingConflict::Changed(revision)
            }
            Some(known) => return Ok(known),
        };
        Err(TransactionError::Refused(conflict))
    }

    /// Assigns hosts to a dealer; returns those that belong to another.
    fn claim(&self, dealer: &NewHosted) -> Result<Vec<TakenHost>, InternalError> {
        let mut taken = Vec::new();
        for (index, host) in dealer.hosts.iter().enumerate() {
            // The table's primary key decides, so that no other process can come in between.
            let rows = self.0.change(
                "claiming a host",
                "INSERT INTO hosted_hosts (host, dealer_id) VALUES ($1, $2)
                 ON CONFLICT (host) DO NOTHING",
                params![host, dealer.dealer_id],
            )?;
            if rows == 0 {
                let dealer_id = dealer.dealer_id.clone();
                taken.push(TakenHost { dealer_id, index, host: host.clone() });
            }
        }
        Ok(taken)
    }

    fn release(&self, dealer_id: &str) -> Result<(), InternalError> {
        let sql = "DELETE FROM hosted_hosts WHERE dealer_id = $1";
        self.0.execute("giving hosts away", sql, params![dealer_id])
    }
}

fn hosted_state(row: &SqlRow<'_>) -> RowResult<HostedState> {
    let name: String = row.get("state")?;
    HostedState::from_name(&name).ok_or_else(|| "a dealer stands in a way that is unknown".into())
}

fn read(row: &SqlRow<'_>) -> RowResult<HostedDealer> {
    Ok(HostedDealer {
        dealer_id: row.get("dealer_id")?,
        state: hosted_state(row)?,
        document: row.get("document")?,
        revision: row.get("revision")?,
        created_at: row.get("created_at")?,
        changed_at: row.get("changed_at")?,
    })
}
