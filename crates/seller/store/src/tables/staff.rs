//! Staff members of dealers, their sessions in the console, and the audit log.

use std::collections::BTreeMap;

use jiff::Timestamp;
use tradepost_dealer::consent::{START, Sha256Hash};
use tradepost_dealer::staff::{AuditEntry, NewAuditEntry, RecordCheck};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::leads::word;
use super::{Database, StoreTransaction};
use crate::Store;
use crate::sql::{RowResult, SqlRow, params};
use crate::staff::{StaffMember, StaffSession};

const MEMBER: &str = "m.name AS member_name, m.dealer_id, m.role, m.password, m.created_at";
const SESSION: &str = "s.id, s.name, s.begun_at, s.seen_at, s.expires_at, s.browser, s.proven_at";
const ENTRY: &str = "chain, seq, at, actor, deed, subject, detail, hash";

impl StoreTransaction<'_> {
    /// Adds a member; returns `false` when the name is taken.
    ///
    /// # Errors
    /// When the database fails.
    pub fn add_member(&self, member: &StaffMember) -> Result<bool, InternalError> {
        let StaffMember { name, dealer_id, role, password, created_at } = member;
        self.0.changes(
            "writing a member of the staff",
            "INSERT INTO staff (name, dealer_id, role, password, created_at)
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
            params![name, dealer_id, role.name(), password, created_at],
        )
    }

    /// Stores a member whom a sign-in provider vouches for, with the dealer and role it gives; returns `false` when
    /// they are unchanged. Sessions that were begun with another dealer or role end.
    ///
    /// # Errors
    /// When the database fails.
    pub fn vouch_for_member(&self, member: &StaffMember) -> Result<bool, InternalError> {
        let StaffMember { name, dealer_id, role, password, created_at } = member;
        let is_new = self.0.changes(
            // An unchanged row is not written, so that not every sign-in counts as a change. The password is never
            // changed: members from a provider have none.
            "writing a member whom others vouch for",
            "INSERT INTO staff (name, dealer_id, role, password, created_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (name) DO UPDATE SET dealer_id = excluded.dealer_id, role = excluded.role
             WHERE staff.dealer_id IS DISTINCT FROM excluded.dealer_id
                OR staff.role <> excluded.role",
            params![name, dealer_id, role.name(), password, created_at],
        )?;
        if is_new {
            self.end_sessions_of(name)?;
        }
        Ok(is_new)
    }

    /// Sets the password of a member, and ends their sessions; returns `false` when there is no such member.
    ///
    /// # Errors
    /// When the database fails.
    pub fn set_password(&self, name: &str, password: &str) -> Result<bool, InternalError> {
        // The password first: a concurrent sign-in with the old one waits for this transaction and begins no session
        // afterwards.
        let is_changed = self.0.changes(
            "changing a password",
            "UPDATE staff SET password = $2 WHERE name = $1",
            params![name, password],
        )?;
        // A session may have been begun by a person who knew the old password.
        self.end_sessions_of(name)?;
        Ok(is_changed)
    }

    /// Returns true when the proofs of a sign-in are still valid: the password has the hash that was compared, and a
    /// second factor is confirmed exactly when a code of it was given. Both stay unchanged until the transaction ends.
    ///
    /// # Errors
    /// When the database fails.
    pub fn still_signs_in_with(
        &self,
        member: &StaffMember,
        has_code: bool,
    ) -> Result<bool, InternalError> {
        if self.lock_member(&member.name)?.as_ref() != Some(&member.password) {
            return Ok(false);
        }
        let confirmed: Option<i64> = self.0.first(
            "looking for a second factor at a sign-in",
            "SELECT 1 FROM second_factors WHERE name = $1 AND confirmed_at IS NOT NULL",
            params![member.name],
            |row: &SqlRow<'_>| row.only(),
        )?;
        Ok(confirmed.is_some() == has_code)
    }

    /// Locks a member, so that other sign-ins of the member, and changes of password or second factor, wait for the end
    /// of the transaction. Returns the hash of the password; `None` when there is no such member.
    pub(super) fn lock_member(&self, name: &str) -> Result<Option<String>, InternalError> {
        let sql = format!("SELECT password FROM staff WHERE name = $1{}", self.0.for_update());
        self.0.first("locking a member of the staff", &sql, params![name], |row: &SqlRow<'_>| {
            row.only()
        })
    }

    /// Removes a member; returns `false` when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn remove_member(&self, name: &str) -> Result<bool, InternalError> {
        self.lock_member(name)?;
        self.end_sessions_of(name)?;
        self.remove_second_factor(name)?;
        self.release_leads_of(name)?;
        self.0.changes(
            // Sessions refer to their member, so they are deleted first.
            "removing a member of the staff",
            "DELETE FROM staff WHERE name = $1",
            params![name],
        )
    }

    /// Sets the password that a member has chosen, and ends their sessions except one. Returns `false` and changes
    /// nothing when the present password no longer has this hash, or the session has ended.
    ///
    /// # Errors
    /// When the database fails.
    pub fn change_own_password(
        &self,
        name: &str,
        present: &str,
        password: &str,
        current_session: &str,
    ) -> Result<bool, InternalError> {
        let is_changed = self.0.changes(
            "changing one's own password",
            "UPDATE staff SET password = $2 WHERE name = $1 AND password = $3
                 AND EXISTS (SELECT 1 FROM staff_sessions WHERE id = $4 AND name = $1)",
            params![name, password, present, current_session],
        )?;
        if is_changed {
            self.end_other_sessions(name, current_session)?;
        }
        Ok(is_changed)
    }

    /// Ends every session of a member except one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn end_other_sessions(
        &self,
        name: &str,
        current_session: &str,
    ) -> Result<(), InternalError> {
        self.0.execute(
            "ending other sessions",
            "DELETE FROM staff_sessions WHERE name = $1 AND id <> $2",
            params![name, current_session],
        )
    }

    /// Ends every session of a member.
    ///
    /// # Errors
    /// When the database fails.
    pub fn end_sessions_of(&self, name: &str) -> Result<(), InternalError> {
        self.0.execute(
            "ending sessions",
            "DELETE FROM staff_sessions WHERE name = $1",
            params![name],
        )
    }

    /// Begins a session, and deletes expired ones.
    ///
    /// # Errors
    /// When the database fails.
    pub fn begin_session(
        &self,
        session: &StaffSession,
        hash: &Sha256Hash,
    ) -> Result<(), InternalError> {
        let StaffSession { id, name, begun_at, seen_at, expires_at, browser, proven_at } = session;
        self.0.execute(
            "forgetting sessions",
            "DELETE FROM staff_sessions WHERE expires_at <= $1",
            params![begun_at],
        )?;
        self.0.execute(
            "writing a session",
            "INSERT INTO staff_sessions
                 (id, hash, name, begun_at, seen_at, expires_at, browser, proven_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            params![id, hash, name, begun_at, seen_at, expires_at, browser, proven_at],
        )
    }

    /// Gives a session another id and another cookie, after the member has given the password again; returns `false`
    /// when it has ended meanwhile.
    ///
    /// # Errors
    /// When the database fails.
    pub fn renew_session(
        &self,
        id: &str,
        new_id: &str,
        new_hash: &Sha256Hash,
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        self.0.changes(
            "renewing a session",
            "UPDATE staff_sessions SET id = $2, hash = $3, proven_at = $4, seen_at = $4
             WHERE id = $1",
            params![id, new_id, new_hash, now],
        )
    }

    /// Ends one session of a member; does nothing when it belongs to another.
    ///
    /// # Errors
    /// When the database fails.
    pub fn end_session_of(&self, id: &str, name: &str) -> Result<(), InternalError> {
        let sql = "DELETE FROM staff_sessions WHERE id = $1 AND name = $2";
        self.0.execute("ending a session", sql, params![id, name])
    }

    /// Records that a session was used.
    ///
    /// # Errors
    /// When the database fails.
    pub fn touch_session(&self, id: &str, now: Timestamp) -> Result<(), InternalError> {
        self.0.execute(
            // Requests of one session may overtake each other, and the time must not go back.
            "noting the use of a session",
            "UPDATE staff_sessions SET seen_at = $2 WHERE id = $1 AND seen_at < $2",
            params![id, now],
        )
    }

    /// Ends a session; returns `false` when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn end_session(&self, id: &str) -> Result<bool, InternalError> {
        let sql = "DELETE FROM staff_sessions WHERE id = $1";
        self.0.changes("ending a session", sql, params![id])
    }

    /// Records an action in the audit log, in the transaction that performs it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn record(&self, entry: &NewAuditEntry) -> Result<(), InternalError> {
        self.record_all(std::slice::from_ref(entry))
    }

    /// Records several actions in their order.
    ///
    /// # Errors
    /// When the database fails.
    pub fn record_all(&self, entries: &[NewAuditEntry]) -> Result<(), InternalError> {
        // The last entry of a chain is read once for each call.
        let mut heads: BTreeMap<&str, (i64, Sha256Hash)> = BTreeMap::new();
        for entry in entries {
            let (seq, previous) = match heads.get(entry.chain.as_str()) {
                Some(head) => *head,
                None => {
                    // Numbers have no gap and every hash one predecessor, so a chain has one writer at a time.
                    self.0.lock(&entry.chain)?;
                    let last = self.0.first(
                        "reading the last entry of a record",
                        "SELECT seq, hash FROM audit_log WHERE chain = $1 ORDER BY seq DESC LIMIT 1",
                        params![entry.chain],
                        |row: &SqlRow<'_>| Ok((row.get::<i64>("seq")?, row.get::<Sha256Hash>("hash")?)),
                    )?;
                    last.unwrap_or((0, START))
                }
            };
            let seq = seq + 1;
            let hash = entry.hash(seq, &previous);
            self.0.execute(
                "writing an entry of a record",
                "INSERT INTO audit_log (chain, seq, at, actor, deed, subject, detail, hash)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                params![
                    entry.chain,
                    seq,
                    entry.at,
                    entry.actor,
                    entry.action.name(),
                    entry.subject,
                    entry.detail,
                    hash,
                ],
            )?;
            heads.insert(&entry.chain, (seq, hash));
        }
        Ok(())
    }
}

impl Database {
    /// Returns the names of the chains in the audit log.
    pub(crate) fn chains(&self) -> Result<Vec<String>, InternalError> {
        let sql = "SELECT DISTINCT chain FROM audit_log ORDER BY chain";
        self.0.all("reading whose records there are", sql, params![], |row| row.only())
    }

    /// Checks the hash chain of every audit log.
    pub(crate) fn check_records(&self) -> Result<Vec<RecordCheck>, InternalError> {
        let chains = self.chains()?;
        let sql = format!("SELECT {ENTRY} FROM audit_log WHERE chain = $1 ORDER BY seq");
        let mut checks = Vec::new();
        for chain in chains {
            let mut check = RecordCheck::new(chain.clone());
            self.0.each("checking a record", &sql, params![chain], |row| {
                match entry(row) {
                    Ok(entry) => check.take(&entry),
                    // An entry of a newer Tradepost cannot be checked, but the one after it can.
                    Err(_) => check.take_unread(row.get("seq")?, row.get("hash")?),
                }
                Ok(true)
            })?;
            checks.push(check);
        }
        Ok(checks)
    }
}

impl Store {
    /// Returns a member by name.
    ///
    /// # Errors
    /// When the database fails.
    pub fn member(&self, name: &str) -> Result<Option<StaffMember>, InternalError> {
        let sql = format!("SELECT {MEMBER} FROM staff m WHERE m.name = $1");
        self.read_first("reading a member of the staff", &sql, params![name], member)
    }

    /// Returns the members who see a dealer's leads, by name; all members when no dealer is given.
    ///
    /// # Errors
    /// When the database fails.
    pub fn members(&self, dealer_id: Option<&str>) -> Result<Vec<StaffMember>, InternalError> {
        let sql = format!(
            "SELECT {MEMBER} FROM staff m
             WHERE $1 IS NULL OR m.dealer_id IS NULL OR m.dealer_id = $1 ORDER BY m.name"
        );
        self.read_all("reading the staff", &sql, params![dealer_id], member)
    }

    /// Returns the session with a cookie of this hash, with its member.
    ///
    /// # Errors
    /// When the database fails.
    pub fn session(
        &self,
        hash: &Sha256Hash,
    ) -> Result<Option<(StaffSession, StaffMember)>, InternalError> {
        let sql = format!(
            "SELECT {SESSION}, {MEMBER} FROM staff_sessions s JOIN staff m ON m.name = s.name
             WHERE s.hash = $1"
        );
        self.read_first("reading a session", &sql, params![hash], |row| {
            Ok((session(row)?, member(row)?))
        })
    }

    /// Returns sessions that have not expired, the latest first: of the members of one dealer, or of all.
    ///
    /// # Errors
    /// When the database fails.
    pub fn sessions(
        &self,
        dealer_id: Option<&str>,
        now: Timestamp,
    ) -> Result<Vec<(StaffSession, StaffMember)>, InternalError> {
        let sql = format!(
            "SELECT {SESSION}, {MEMBER} FROM staff_sessions s JOIN staff m ON m.name = s.name
             WHERE s.expires_at > $2 AND ($1 IS NULL OR m.dealer_id = $1)
             ORDER BY s.seen_at DESC, s.id"
        );
        self.read_all("reading the sessions", &sql, params![dealer_id, now], |row| {
            Ok((session(row)?, member(row)?))
        })
    }

    /// Returns entries of a chain before a number, the latest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn entries(
        &self,
        chain: &str,
        before: i64,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, InternalError> {
        let sql = format!(
            "SELECT {ENTRY} FROM audit_log WHERE chain = $1 AND seq < $2
             ORDER BY seq DESC LIMIT $3"
        );
        self.read_all("reading a record", &sql, params![chain, before, limit], entry)
    }

    /// Returns entries of all chains about a lead, oldest first, each with the hash of the one before it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn entries_about(
        &self,
        lead_id: &str,
    ) -> Result<Vec<(AuditEntry, Sha256Hash)>, InternalError> {
        let sql = format!(
            "SELECT {ENTRY}, (SELECT p.hash FROM audit_log p
                              WHERE p.chain = audit_log.chain AND p.seq = audit_log.seq - 1) AS previous
             FROM audit_log WHERE subject = $1 ORDER BY chain, seq"
        );
        self.read_all("reading what was done with a lead", &sql, params![lead_id], |row| {
            Ok((entry(row)?, row.get::<Option<Sha256Hash>>("previous")?.unwrap_or(START)))
        })
    }

    /// Returns the hash of an entry of a chain by its number, if there is one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn entry_hash(&self, chain: &str, seq: i64) -> Result<Option<Sha256Hash>, InternalError> {
        let sql = "SELECT hash FROM audit_log WHERE chain = $1 AND seq = $2";
        self.read_first("reading an entry's hash", sql, params![chain, seq], |row| row.only())
    }

    /// Passes every entry of a chain, or of all, to `take` in their order.
    ///
    /// # Errors
    /// When the database fails.
    pub fn each_entry(
        &self,
        chain: Option<&str>,
        take: &mut dyn FnMut(&AuditEntry),
    ) -> Result<(), InternalError> {
        let sql = format!(
            "SELECT {ENTRY} FROM audit_log WHERE $1 IS NULL OR chain = $1 ORDER BY chain, seq"
        );
        self.read(|db| {
            db.0.each("reading a record", &sql, params![chain], |row| {
                take(&entry(row)?);
                Ok(true)
            })
        })
    }
}

fn member(row: &SqlRow<'_>) -> RowResult<StaffMember> {
    Ok(StaffMember {
        name: row.get("member_name")?,
        dealer_id: row.get("dealer_id")?,
        role: word(row, "role")?,
        password: row.get("password")?,
        created_at: row.get("created_at")?,
    })
}

/// Reads a session from a row.
fn session(row: &SqlRow<'_>) -> RowResult<StaffSession> {
    Ok(StaffSession {
        id: row.get("id")?,
        name: row.get("name")?,
        begun_at: row.get("begun_at")?,
        seen_at: row.get("seen_at")?,
        expires_at: row.get("expires_at")?,
        browser: row.get("browser")?,
        proven_at: row.get("proven_at")?,
    })
}

/// Reads an entry of the audit log from a row.
fn entry(row: &SqlRow<'_>) -> RowResult<AuditEntry> {
    let said = NewAuditEntry {
        chain: row.get("chain")?,
        at: row.get("at")?,
        actor: row.get("actor")?,
        action: word(row, "deed")?,
        subject: row.get("subject")?,
        detail: row.get("detail")?,
    };
    Ok(AuditEntry { seq: row.get("seq")?, said, hash: row.get("hash")? })
}
