//! Second factors of staff members, and their recovery codes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_dealer::consent::Sha256Hash;
use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::Store;
use crate::privacy::AadContext;
use crate::sign_in::SecondFactor;
use crate::sql::params;

/// Encrypted column of second factors.
pub(super) const SECRET: &str = "second_factors.secret";

/// Returns the context that the secret of a member is bound to.
pub(super) fn belongs_to(name: &str) -> AadContext {
    AadContext::column(SECRET, &[name])
}

impl StoreTransaction<'_> {
    /// Stores the secret of a second factor that is to be confirmed, replacing an unconfirmed one. Returns `false` when
    /// the member already has a confirmed factor.
    ///
    /// # Errors
    /// When the database fails.
    pub fn begin_second_factor(
        &self,
        name: &str,
        secret: &str,
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        let key = self.sealing_key(now)?;
        let sealed = self.0.cipher().seal(&belongs_to(name), secret)?;
        self.0.changes(
            "keeping a second factor",
            "INSERT INTO second_factors (name, secret, sealed_by, confirmed_at, last_step)
             VALUES ($1, $2, $3, NULL, 0)
             ON CONFLICT (name) DO UPDATE SET secret = excluded.secret,
                 sealed_by = excluded.sealed_by, last_step = 0
             WHERE second_factors.confirmed_at IS NULL",
            params![name, sealed, key],
        )
    }

    /// Confirms a second factor by the code of a half minute, and stores the hashes of its recovery codes. Returns
    /// `false` when there is none to confirm.
    ///
    /// # Errors
    /// When the database fails.
    pub fn confirm_second_factor(
        &self,
        name: &str,
        step: i64,
        codes: &[Sha256Hash],
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        // A concurrent sign-in without a code ends before this, or begins no session.
        self.lock_member(name)?;
        let confirmed = self.0.changes(
            "confirming a second factor",
            "UPDATE second_factors SET confirmed_at = $2, last_step = $3
             WHERE name = $1 AND confirmed_at IS NULL",
            params![name, now, step],
        )?;
        if confirmed {
            self.replace_recovery_codes(name, codes)?;
        }
        Ok(confirmed)
    }

    /// Uses up the code of a half minute. Returns `false` when it, or a later one, was used before.
    ///
    /// # Errors
    /// When the database fails.
    pub fn use_factor_step(&self, name: &str, step: i64) -> Result<bool, InternalError> {
        self.0.changes(
            "using a code",
            "UPDATE second_factors SET last_step = $2
             WHERE name = $1 AND confirmed_at IS NOT NULL AND last_step < $2",
            params![name, step],
        )
    }

    /// Uses up a recovery code. Returns `false` when there is none with this hash.
    ///
    /// # Errors
    /// When the database fails.
    pub fn use_recovery_code(&self, name: &str, code: &Sha256Hash) -> Result<bool, InternalError> {
        let sql = "DELETE FROM recovery_codes WHERE name = $1 AND hash = $2";
        self.0.changes("using a recovery code", sql, params![name, code])
    }

    /// Replaces the recovery codes of a member.
    ///
    /// # Errors
    /// When the database fails.
    pub fn replace_recovery_codes(
        &self,
        name: &str,
        codes: &[Sha256Hash],
    ) -> Result<(), InternalError> {
        let sql = "DELETE FROM recovery_codes WHERE name = $1";
        self.0.execute("removing recovery codes", sql, params![name])?;
        for code in codes {
            let sql = "INSERT INTO recovery_codes (name, hash) VALUES ($1, $2)";
            self.0.execute("keeping a recovery code", sql, params![name, code])?;
        }
        Ok(())
    }

    /// Removes the second factor of a member and its recovery codes. Returns `false` when there was
    /// none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn remove_second_factor(&self, name: &str) -> Result<bool, InternalError> {
        self.lock_member(name)?;
        self.replace_recovery_codes(name, &[])?;
        let sql = "DELETE FROM second_factors WHERE name = $1";
        self.0.changes("removing a second factor", sql, params![name])
    }
}

impl Store {
    /// Returns the second factor of a member, also an unconfirmed one.
    ///
    /// # Errors
    /// When the database fails, or the key that has encrypted the secret is missing.
    pub fn second_factor(&self, name: &str) -> Result<Option<SecondFactor>, InternalError> {
        self.read_first(
            "reading a second factor",
            "SELECT secret, sealed_by, confirmed_at,
                 (SELECT count(*) FROM recovery_codes WHERE recovery_codes.name = second_factors.name) AS codes_left
             FROM second_factors WHERE name = $1",
            params![name],
            |row| {
                let sealed_by: Option<String> = row.get("sealed_by")?;
                Ok(SecondFactor {
                    secret: row.opened("secret", sealed_by.as_deref(), &belongs_to(name))?,
                    confirmed_at: row.get("confirmed_at")?,
                    codes_left: row.get("codes_left")?,
                })
            },
        )
    }

    /// Returns the names of the members that have a confirmed second factor.
    ///
    /// # Errors
    /// When the database fails.
    pub fn second_factor_names(&self) -> Result<BTreeSet<String>, InternalError> {
        let sql = "SELECT name FROM second_factors WHERE confirmed_at IS NOT NULL";
        let names = self.read_all("reading second factors", sql, params![], |row| row.only())?;
        Ok(names.into_iter().collect())
    }

    /// Returns true when a member has a confirmed second factor.
    ///
    /// # Errors
    /// When the database fails.
    pub fn has_second_factor(&self, name: &str) -> Result<bool, InternalError> {
        let sql = "SELECT 1 FROM second_factors WHERE name = $1 AND confirmed_at IS NOT NULL";
        let found: Option<i64> =
            self.read_first("looking for a second factor", sql, params![name], |row| row.only())?;
        Ok(found.is_some())
    }
}
