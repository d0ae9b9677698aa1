//! Dealers that came at run time, beside those of a configuration file: what was said of each, whether it
//! is served, and which hosts are whose.
//!
//! Every change takes the next number, and the changes are made one after another, so that whoever has
//! seen one number asks for what is above it and misses nothing.

use jiff::Timestamp;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::InternalError;
use tradepost_wire::words;

use super::{Database, StoreTransaction};
use crate::Store;
use crate::news::ChangeNotice;
use crate::sql::{Connection, RowResult, SqlRow, members, params};

/// Whose turn it is when several processes change something here. No dealer has such an id.
const EVERYBODY: &str = "*hosting";

words! {
    /// How a dealer stands.
    pub enum HostedState {
        /// It answers.
        Serving = "serving",
        /// It answers nobody, and keeps its hosts.
        Suspended = "suspended",
        /// It is gone but for what it has taken.
        Removed = "removed",
    }
}

/// A dealer that came at run time.
#[derive(Clone, PartialEq, Eq)]
pub struct HostedDealer {
    /// Its id.
    pub dealer_id: String,
    /// How it stands.
    pub state: HostedState,
    /// What a section of the configuration would say of it, as JSON. There may be secrets in it.
    pub document: String,
    /// Of all changes the number of its last one.
    pub revision: i64,
    /// When it came.
    pub created_at: Timestamp,
    /// When it last changed.
    pub changed_at: Timestamp,
}

impl std::fmt::Debug for HostedDealer {
    /// Without the document.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("HostedDealer");
        shown
            .field("dealer_id", &self.dealer_id)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// What is to be kept of a dealer.
#[derive(Clone, PartialEq, Eq)]
pub struct NewHosted {
    /// Its id.
    pub dealer_id: String,
    /// Its document.
    pub document: String,
    /// Its hosts, in lower case.
    pub hosts: Vec<String>,
}

impl std::fmt::Debug for NewHosted {
    /// Without the document.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewHosted").field("dealer_id", &self.dealer_id).finish_non_exhaustive()
    }
}

/// Why a change is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostingConflict {
    /// There is a dealer with this id.
    IdTaken(String),
    /// There was one, who has left leads and consents under it.
    IdRemoved(String),
    /// There is none, or it was removed.
    NoSuchDealer,
    /// It has changed since; this is its revision.
    Changed(i64),
    /// Others have these hosts: by the dealer that wants them, the place in its list and the host.
    HostsTaken(Vec<(String, usize, String)>),
}

const COLUMNS: &str = "dealer_id, state, document, revision, created_at, changed_at";

fn last_revision(connection: &Connection) -> Result<i64, InternalError> {
    let sql = "SELECT COALESCE(MAX(revision), 0) FROM hosted_dealers";
    connection.one("reading the last change of a dealer", sql, params![], |row| row.get(0))
}

impl Database {
    /// What has changed since a revision, in the order of the changes, removed dealers among them.
    pub(crate) fn hosted_since(&self, revision: i64) -> Result<Vec<HostedDealer>, InternalError> {
        let sql =
            format!("SELECT {COLUMNS} FROM hosted_dealers WHERE revision > $1 ORDER BY revision");
        self.0.all("reading the hosted dealers", &sql, params![revision], read)
    }

    /// The last revision; 0 when there was no change.
    pub(crate) fn hosted_revision(&self) -> Result<i64, InternalError> {
        last_revision(&self.0)
    }
}

impl Store {
    /// Returns the ids of everybody of whom something is kept: dealers and publishers that are hosted,
    /// have a lead, a listing, a key, a member of the staff, a consent or an entry in the record.
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
            self.read_all("reading whose data is kept", sql, params![], |row| row.get(0))?;
        // Chains and keys of all dealers have a name that no dealer can have.
        ids.retain(|id| !id.starts_with('*'));
        ids.sort_unstable();
        Ok(ids)
    }

    /// The hosted dealers behind an id, in the order of ids, at most so many; removed ones among them.
    ///
    /// # Errors
    /// When the database fails.
    pub fn hosted_page(&self, after: &str, limit: u32) -> Result<Vec<HostedDealer>, InternalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM hosted_dealers WHERE dealer_id > $1 ORDER BY dealer_id LIMIT $2"
        );
        self.read_all("listing the hosted dealers", &sql, params![after, limit], read)
    }

    /// A hosted dealer, also one that was removed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn hosted(&self, dealer_id: &str) -> Result<Option<HostedDealer>, InternalError> {
        let sql = format!("SELECT {COLUMNS} FROM hosted_dealers WHERE dealer_id = $1");
        self.read_first("reading a hosted dealer", &sql, params![dealer_id], read)
    }
}

impl StoreTransaction<'_> {
    /// Takes dealers in, all or none. With `again` the id may be one that was removed: what is kept
    /// under it is the new one's then.
    pub(crate) fn host_dealers(
        &self,
        dealers: &[NewHosted],
        again: bool,
        now: Timestamp,
    ) -> Result<Result<i64, HostingConflict>, InternalError> {
        self.0.lock(EVERYBODY)?;
        let mut taken = Vec::new();
        for dealer in dealers {
            match self.state_of(&dealer.dealer_id)? {
                None => {}
                Some((HostedState::Removed, _)) if again => {}
                Some((HostedState::Removed, _)) => {
                    return Ok(Err(HostingConflict::IdRemoved(dealer.dealer_id.clone())));
                }
                Some((HostedState::Serving | HostedState::Suspended, _)) => {
                    return Ok(Err(HostingConflict::IdTaken(dealer.dealer_id.clone())));
                }
            }
            taken.extend(self.claim(dealer)?);
        }
        if !taken.is_empty() {
            return Ok(Err(HostingConflict::HostsTaken(taken)));
        }
        // Under the lock, without which two processes would give the same number.
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
        self.0.tell(ChangeNotice::Changed);
        Ok(Ok(revision))
    }

    /// Says something else of a dealer. With `expected` it must not have changed since.
    pub(crate) fn change_hosted(
        &self,
        dealer: &NewHosted,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Result<i64, HostingConflict>, InternalError> {
        self.0.lock(EVERYBODY)?;
        if let Err(conflict) = self.is_there(&dealer.dealer_id, expected)? {
            return Ok(Err(conflict));
        }
        // Its own as well, so that a host which it keeps is not found taken.
        self.release(&dealer.dealer_id)?;
        // Where one is another's, whoever runs the job undoes the release as well.
        let taken = self.claim(dealer)?;
        if !taken.is_empty() {
            return Ok(Err(HostingConflict::HostsTaken(taken)));
        }
        let revision = self.last_revision()? + 1;
        self.0.execute(
            "changing a hosted dealer",
            "UPDATE hosted_dealers SET document = $2, revision = $3, changed_at = $4
             WHERE dealer_id = $1",
            params![dealer.dealer_id, dealer.document, revision, now],
        )?;
        self.0.tell(ChangeNotice::Changed);
        Ok(Ok(revision))
    }

    /// Has a dealer stand otherwise. One that is removed gives its hosts away, its keys are revoked,
    /// its people's sessions end, and it does not come back by this.
    pub(crate) fn set_hosted_state(
        &self,
        dealer_id: &str,
        state: HostedState,
        expected: Option<i64>,
        now: Timestamp,
    ) -> Result<Result<i64, HostingConflict>, InternalError> {
        self.0.lock(EVERYBODY)?;
        let known = match self.is_there(dealer_id, expected)? {
            Ok(known) => known,
            Err(conflict) => return Ok(Err(conflict)),
        };
        // Nothing changes, so that no process has to look because of a new number.
        if known.0 == state {
            return Ok(Ok(known.1));
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
        self.0.tell(ChangeNotice::Changed);
        Ok(Ok(revision))
    }

    /// Whether a dealer is one that was removed by a certain change. It stays so until the transaction
    /// ends.
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
            self.0.first("reading how a hosted dealer stands", &sql, values, |row| row.get(0));
        Ok(found?.unwrap_or(false))
    }

    fn last_revision(&self) -> Result<i64, InternalError> {
        last_revision(self.0)
    }

    fn state_of(&self, dealer_id: &str) -> Result<Option<(HostedState, i64)>, InternalError> {
        let sql = "SELECT state, revision FROM hosted_dealers WHERE dealer_id = $1";
        self.0.first("reading how a hosted dealer stands", sql, params![dealer_id], |row| {
            Ok((standing(row, 0)?, row.get(1)?))
        })
    }

    fn is_there(
        &self,
        dealer_id: &str,
        expected: Option<i64>,
    ) -> Result<Result<(HostedState, i64), HostingConflict>, InternalError> {
        Ok(match self.state_of(dealer_id)? {
            None | Some((HostedState::Removed, _)) => Err(HostingConflict::NoSuchDealer),
            Some((_, revision)) if expected.is_some_and(|wanted| wanted != revision) => {
                Err(HostingConflict::Changed(revision))
            }
            Some(known) => Ok(known),
        })
    }

    /// Makes hosts a dealer's; returns those that are another's.
    fn claim(&self, dealer: &NewHosted) -> Result<Vec<(String, usize, String)>, InternalError> {
        let mut taken = Vec::new();
        for (place, host) in dealer.hosts.iter().enumerate() {
            // The key of the table decides: between a look and a claim nobody can come.
            let rows = self.0.change(
                "claiming a host",
                "INSERT INTO hosted_hosts (host, dealer_id) VALUES ($1, $2)
                 ON CONFLICT (host) DO NOTHING",
                params![host, dealer.dealer_id],
            )?;
            if rows == 0 {
                taken.push((dealer.dealer_id.clone(), place, host.clone()));
            }
        }
        Ok(taken)
    }

    fn release(&self, dealer_id: &str) -> Result<(), InternalError> {
        let sql = "DELETE FROM hosted_hosts WHERE dealer_id = $1";
        self.0.execute("giving hosts away", sql, params![dealer_id])
    }
}

fn standing(row: &SqlRow<'_>, column: usize) -> RowResult<HostedState> {
    let name: String = row.get(column)?;
    HostedState::from_name(&name).ok_or_else(|| "a dealer stands in a way that is unknown".into())
}

fn read(row: &SqlRow<'_>) -> RowResult<HostedDealer> {
    Ok(members!(
        row,
        0,
        HostedDealer { dealer_id, state: standing, document, revision, created_at, changed_at }
    ))
}
