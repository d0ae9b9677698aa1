//! Reads all rows that can be compared with the audit log, or that are encrypted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use tradepost_dealer::consent::{ConsentKind, Sha256Hash};
use tradepost_dealer::staff::{
    AuditAction, EVERYBODY, LeadNote, MemberDetail, StaffRole, note_digest_of, password_print,
};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::leads::word;
use super::privacy::{ADDRESS, BODY, NOTE, NOTE_SALT, PAYLOAD, REPLY, SALT, USER_AGENT};
use super::{Database, second_factor};
use crate::privacy::{AadContext, Unopened, readable};
use crate::sql::{RowResult, SqlRow, params};
use crate::verification::{
    NoteCheck, NoteFault, NoteFaultKind, SealedCheck, StaffCheck, StaffFault, StaffFaultKind,
    Unreadable,
};

/// Number of rows read at once.
const PAGE: u32 = 500;

const NOTES: &str = "reading the notes of all leads";
const SEALED: &str = "opening what is sealed";
const STAFF: &str = "comparing the staff with the record";

/// Entry of the audit log about a note.
struct NoteEntry {
    chain: String,
    seq: i64,
    at: Timestamp,
    actor: String,
    digest: Option<Sha256Hash>,
}

/// Note as stored.
struct StoredNote {
    lead_id: String,
    dealer_id: String,
    note: LeadNote,
    salt: Option<String>,
    is_readable: bool,
}

/// Last state of a staff member in the audit log.
struct RecordedMember {
    chain: String,
    role: Option<StaffRole>,
    /// Fingerprint of the password, if entries name it.
    password_print: Option<String>,
}

impl Database {
    /// Checks the notes against the entries of the audit log that record them.
    pub(crate) fn check_notes(&self) -> Result<NoteCheck, InternalError> {
        let mut entries = self.note_entries()?;
        let erased = self.erased_leads()?;
        let forgotten_at: Option<Timestamp> = self
            .0
            .first(
                NOTES,
                "SELECT max(at) FROM audit_log WHERE deed = $1 AND chain = $2",
                params![AuditAction::KeyForgotten.name(), EVERYBODY],
                |row| row.only(),
            )?
            .flatten();
        let mut check = NoteCheck::default();
        for stored in self.stored_notes()? {
            let lead_id = stored.lead_id.clone();
            if !stored.is_readable {
                check.faults.push(NoteFault { lead_id, kind: NoteFaultKind::Unreadable });
                continue;
            }
            let salt = stored.salt.as_deref();
            let digest =
                salt.and_then(|salt| stored.note.digest(&stored.dealer_id, &lead_id, salt));
            // A note without a salt is as old as entries without a hash.
            let is_its_entry = |entry: &NoteEntry| {
                entry.chain == stored.dealer_id
                    && entry.digest == digest
                    && entry.at == stored.note.at
                    && entry.actor == stored.note.author
            };
            let of_lead = entries.entry(lead_id.clone()).or_default();
            match of_lead.iter().position(is_its_entry) {
                Some(index) => {
                    of_lead.remove(index);
                    let count =
                        if digest.is_some() { &mut check.verified } else { &mut check.unverified };
                    *count += 1;
                }
                None => {
                    let kind = NoteFaultKind::Unexplained { author: stored.note.author };
                    check.faults.push(NoteFault { lead_id, kind });
                }
            }
        }
        for (lead_id, left) in entries {
            for entry in left {
                // Erasure removes notes, and so does giving up their key.
                let is_forgotten = forgotten_at.is_some_and(|at| entry.at <= at);
                if !erased.contains(&lead_id) && !is_forgotten {
                    let NoteEntry { chain, seq, .. } = entry;
                    let kind = NoteFaultKind::Missing { chain, seq };
                    check.faults.push(NoteFault { lead_id: lead_id.clone(), kind });
                }
            }
        }
        check.faults.sort();
        Ok(check)
    }

    /// Returns the entries about notes, by their lead.
    fn note_entries(&self) -> Result<BTreeMap<String, Vec<NoteEntry>>, InternalError> {
        let mut entries: BTreeMap<String, Vec<NoteEntry>> = BTreeMap::new();
        self.0.each(
            NOTES,
            "SELECT chain, seq, at, actor, subject, detail FROM audit_log WHERE deed = $1
             ORDER BY chain, seq",
            params![AuditAction::NoteAdded.name()],
            |row| {
                let detail: Option<String> = row.get("detail")?;
                let entry = NoteEntry {
                    chain: row.get("chain")?,
                    seq: row.get("seq")?,
                    at: row.get("at")?,
                    actor: row.get("actor")?,
                    digest: note_digest_of(detail.as_deref()),
                };
                let lead_id: Option<String> = row.get("subject")?;
                entries.entry(lead_id.unwrap_or_default()).or_default().push(entry);
                Ok(true)
            },
        )?;
        Ok(entries)
    }

    /// Returns the leads that are erased by the chain of consents.
    fn erased_leads(&self) -> Result<BTreeSet<String>, InternalError> {
        let sql = "SELECT DISTINCT lead_id FROM consent_log WHERE kind = $1";
        let leads =
            self.0.all(NOTES, sql, params![ConsentKind::Erased.name()], |row| row.only())?;
        Ok(leads.into_iter().collect())
    }

    /// Returns all notes in the order of their leads, decrypted; those that cannot be decrypted are marked.
    fn stored_notes(&self) -> Result<Vec<StoredNote>, InternalError> {
        self.0.all(
            NOTES,
            "SELECT lead_id, dealer_id, at, author, text, salt, sealed_by FROM lead_notes
             ORDER BY lead_id, key",
            params![],
            |row| {
                let lead_id: String = row.get("lead_id")?;
                let dealer_id: String = row.get("dealer_id")?;
                let at: Timestamp = row.get("at")?;
                let key: Option<String> = row.get("sealed_by")?;
                let of = |column| AadContext::lead(column, &dealer_id, &lead_id, at);
                let text = row.opened("text", key.as_deref(), &of(NOTE));
                let salt = row.opened_if_any("salt", key.as_deref(), &of(NOTE_SALT));
                let author = row.written("author");
                let opened = readable(text.and_then(|text| Ok((text, salt?, author?))))?;
                let is_readable = opened.is_ok();
                let (text, salt, author) = match opened {
                    Ok((text, salt, author)) => (Some(text), salt, author),
                    Err(_) => (None, None, String::new()),
                };
                let note = LeadNote { at, author, text };
                Ok(StoredNote { lead_id, dealer_id, note, salt, is_readable })
            },
        )
    }

    /// Compares the staff table with the members that the audit log records.
    pub(crate) fn check_staff(&self) -> Result<StaffCheck, InternalError> {
        let mut recorded = self.recorded_members()?;
        let mut check = StaffCheck::default();
        let members = self.0.all(
            STAFF,
            "SELECT name, dealer_id, role, password FROM staff ORDER BY name",
            params![],
            |row| {
                let dealer_id: Option<String> = row.get("dealer_id")?;
                Ok((
                    row.get::<String>("name")?,
                    dealer_id,
                    word::<StaffRole>(row, "role")?,
                    row.get::<String>("password")?,
                ))
            },
        )?;
        for (name, dealer_id, role, password) in members {
            check.members += 1;
            let mut fault = |kind| check.faults.push(StaffFault { name: name.clone(), kind });
            let Some(recorded_member) = recorded.remove(&name) else {
                fault(StaffFaultKind::NotAdded);
                continue;
            };
            if recorded_member.chain != dealer_id.as_deref().unwrap_or(EVERYBODY) {
                fault(StaffFaultKind::OtherDealer);
            }
            if recorded_member.role != Some(role) {
                fault(StaffFaultKind::OtherRole);
            }
            match &recorded_member.password_print {
                Some(print) if *print != password_print(&password) => {
                    fault(StaffFaultKind::OtherPassword);
                }
                Some(_) => {}
                // An empty password cannot be used: a provider vouches for the member.
                None if password.is_empty() => {}
                None => check.unverified_passwords += 1,
            }
        }
        let not_removed = recorded.into_keys();
        let not_removed =
            not_removed.map(|name| StaffFault { name, kind: StaffFaultKind::NotRemoved });
        check.faults.extend(not_removed);
        check.faults.sort();
        Ok(check)
    }

    /// Returns the staff members that exist by the audit log.
    fn recorded_members(&self) -> Result<BTreeMap<String, RecordedMember>, InternalError> {
        let mut recorded: BTreeMap<String, RecordedMember> = BTreeMap::new();
        self.0.each(
            STAFF,
            "SELECT chain, deed, subject, detail FROM audit_log WHERE deed IN ($1, $2, $3)
             ORDER BY at, chain, seq",
            params![
                AuditAction::MemberAdded.name(),
                AuditAction::MemberRemoved.name(),
                AuditAction::PasswordSet.name()
            ],
            |row| {
                let chain: String = row.get("chain")?;
                let action: AuditAction = word(row, "deed")?;
                let name: String = row.get::<Option<String>>("subject")?.unwrap_or_default();
                let detail: Option<String> = row.get("detail")?;
                let detail = MemberDetail::parse(detail.as_deref());
                if action == AuditAction::MemberRemoved {
                    recorded.remove(&name);
                } else if action == AuditAction::PasswordSet {
                    if let Some(member) = recorded.get_mut(&name) {
                        member.password_print = detail.password_print;
                    }
                } else {
                    // A member whom a provider vouches for again keeps the password.
                    let before = recorded.remove(&name).and_then(|before| before.password_print);
                    let member = RecordedMember {
                        chain,
                        role: detail.role,
                        password_print: detail.password_print.or(before),
                    };
                    recorded.insert(name, member);
                }
                Ok(true)
            },
        )?;
        Ok(recorded)
    }

    pub(crate) fn check_sealed(&self) -> Result<SealedCheck, InternalError> {
        let mut check = SealedCheck::default();
        self.open_submissions(&mut check)?;
        self.open_evidence(&mut check)?;
        self.open_replies(&mut check)?;
        self.open_second_factors(&mut check)?;
        check.faults.sort();
        check.faults.dedup();
        Ok(check)
    }

    /// Decrypts the secrets of second factors: one for each member at most, so they are read at once.
    fn open_second_factors(&self, check: &mut SealedCheck) -> Result<(), InternalError> {
        self.0.each(
            SEALED,
            "SELECT name, sealed_by, secret FROM second_factors WHERE sealed_by IS NOT NULL",
            params![],
            |row| {
                let name: String = row.get("name")?;
                let key: Option<String> = row.get("sealed_by")?;
                let secret =
                    row.opened("secret", key.as_deref(), &second_factor::belongs_to(&name));
                let opened = readable(secret)?.map(drop);
                note_opened(check, Unreadable::from_second_factor(name), opened);
                Ok(true)
            },
        )
    }

    /// Decrypts every encrypted submission and counts those that cannot be read.
    fn open_submissions(&self, check: &mut SealedCheck) -> Result<(), InternalError> {
        let mut after = 0_i64;
        loop {
            let mut count = 0;
            let mut last = after;
            self.0.each(
                SEALED,
                "SELECT seq, dealer_id, lead_id, received_at, sealed_by, payload, address
                 FROM lead_submissions WHERE seq > $1 AND sealed_by IS NOT NULL
                 ORDER BY seq LIMIT $2",
                params![after, PAGE],
                |row| {
                    count += 1;
                    last = row.get("seq")?;
                    let dealer_id: String = row.get("dealer_id")?;
                    let lead_id: String = row.get("lead_id")?;
                    let at: Timestamp = row.get("received_at")?;
                    let key: Option<String> = row.get("sealed_by")?;
                    let of = |column| AadContext::lead(column, &dealer_id, &lead_id, at);
                    let payload = row.opened("payload", key.as_deref(), &of(PAYLOAD));
                    let address = row.opened_if_any("address", key.as_deref(), &of(ADDRESS));
                    let opened = readable(payload.and_then(|_| address.map(drop)))?;
                    note_opened(
                        check,
                        Unreadable::from_lead("lead_submissions", Some(lead_id)),
                        opened,
                    );
                    Ok(true)
                },
            )?;
            if count < PAGE {
                return Ok(());
            }
            after = last;
        }
    }

    /// Decrypts all encrypted consent evidence and counts the records that cannot be read.
    fn open_evidence(&self, check: &mut SealedCheck) -> Result<(), InternalError> {
        let mut after = 0_i64;
        loop {
            let mut count = 0;
            let mut last = after;
            self.0.each(
                SEALED,
                "SELECT submission, dealer_id, seq, sealed_by, user_agent, body, salt,
                     (SELECT lead_id FROM lead_submissions WHERE lead_submissions.seq = submission) AS lead_id
                 FROM consent_evidence WHERE submission > $1 AND sealed_by IS NOT NULL
                 ORDER BY submission LIMIT $2",
                params![after, PAGE],
                |row| {
                    count += 1;
                    last = row.get("submission")?;
                    let dealer_id: String = row.get("dealer_id")?;
                    let seq: i64 = row.get("seq")?;
                    let key: Option<String> = row.get("sealed_by")?;
                    let of = |column| AadContext::evidence(column, &dealer_id, seq);
                    let agent = row.opened_if_any("user_agent", key.as_deref(), &of(USER_AGENT));
                    let body = row.opened_bytes("body", key.as_deref(), &of(BODY));
                    let salt = row.opened_bytes("salt", key.as_deref(), &of(SALT));
                    let all = agent.and(body).and_then(|_| salt.map(drop));
                    let opened = readable(all)?;
                    let lead_id: Option<String> = row.get("lead_id")?;
                    note_opened(check, Unreadable::from_lead("consent_evidence", lead_id), opened);
                    Ok(true)
                },
            )?;
            if count < PAGE {
                return Ok(());
            }
            after = last;
        }
    }

    /// Decrypts every encrypted reply and counts those that cannot be read.
    fn open_replies(&self, check: &mut SealedCheck) -> Result<(), InternalError> {
        let mut after = [String::new(), String::new(), String::new()];
        loop {
            let mut count = 0;
            let mut last = None;
            let [dealer_id, scope, key] = &after;
            self.0.each(
                SEALED,
                "SELECT dealer_id, scope, key, sealed_by, lead_id, reply FROM idempotency_keys
                 WHERE sealed_by IS NOT NULL AND (dealer_id, scope, key) > ($1, $2, $3)
                 ORDER BY dealer_id, scope, key LIMIT $4",
                params![dealer_id, scope, key, PAGE],
                |row| {
                    count += 1;
                    let place = reply_place(row)?;
                    let [dealer_id, scope, key] = &place;
                    let by: Option<String> = row.get("sealed_by")?;
                    let of = AadContext::column(REPLY, &[dealer_id, scope, key]);
                    let opened = readable(row.opened("reply", by.as_deref(), &of).map(drop))?;
                    let lead_id: Option<String> = row.get("lead_id")?;
                    note_opened(check, Unreadable::from_lead("idempotency_keys", lead_id), opened);
                    last = Some(place);
                    Ok(true)
                },
            )?;
            match last {
                Some(place) if count == PAGE => after = place,
                Some(_) | None => return Ok(()),
            }
        }
    }
}

/// Reads the primary key of a stored reply.
fn reply_place(row: &SqlRow<'_>) -> RowResult<[String; 3]> {
    Ok([row.get("dealer_id")?, row.get("scope")?, row.get("key")?])
}

fn note_opened(check: &mut SealedCheck, row: Unreadable, opened: Result<(), Unopened>) {
    match opened {
        Ok(()) => check.opened += 1,
        Err(_) => check.faults.push(row),
    }
}
