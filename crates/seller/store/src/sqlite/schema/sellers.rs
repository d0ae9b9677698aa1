//! Migrations with the tables of dealers and publishers, which exist also where the crate is built without their queries:
//! there is one schema.

/// The tables, as a migration.
pub(crate) const PUBLISHER: &str = "
    CREATE TABLE publisher_things (
        place      INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order of making
        publisher  TEXT NOT NULL,
        kind       TEXT NOT NULL,
        id         TEXT NOT NULL,
        owner      TEXT NOT NULL,
        account    TEXT,
        state      TEXT NOT NULL,
        revision   INTEGER NOT NULL,
        created_at INTEGER NOT NULL,    -- microseconds since 1970
        updated_at INTEGER NOT NULL,
        body       TEXT NOT NULL        -- JSON
    );
    CREATE UNIQUE INDEX publisher_things_by_id ON publisher_things (publisher, kind, id);
    CREATE INDEX publisher_things_whose
        ON publisher_things (publisher, kind, id, owner, account);
    CREATE INDEX publisher_things_by_owner ON publisher_things (publisher, kind, owner, place);
    CREATE INDEX publisher_things_by_state ON publisher_things (publisher, kind, state, place);
    CREATE TABLE publisher_keys (
        publisher TEXT NOT NULL,
        scope     TEXT NOT NULL,        -- the tenant, and for messages the conversation
        key       TEXT NOT NULL,
        hash      BLOB NOT NULL,        -- SHA-256 of the canonical request
        reply     TEXT NOT NULL,        -- JSON
        used_at   INTEGER NOT NULL,     -- milliseconds since 1970
        PRIMARY KEY (publisher, scope, key)
    ) WITHOUT ROWID;
    CREATE INDEX publisher_keys_by_age ON publisher_keys (publisher, used_at);
";

/// Indexes by creation for all lists of a publisher, so that a page begins at a time and not at an offset. A migration of
/// both databases.
pub(crate) const PUBLISHER_ORDER: &str = "
    DROP INDEX publisher_things_by_owner;
    CREATE INDEX publisher_things_by_owner
        ON publisher_things (publisher, kind, owner, created_at, place, changes_at);
    DROP INDEX publisher_things_by_account;
    CREATE INDEX publisher_things_by_account
        ON publisher_things (publisher, kind, account, created_at, place, changes_at, owner);
    DROP INDEX publisher_things_by_state;
    CREATE INDEX publisher_things_by_state
        ON publisher_things (publisher, kind, state, created_at, place, changes_at);
    DROP INDEX publisher_things_by_place;
    CREATE INDEX publisher_things_by_creation
        ON publisher_things (publisher, kind, created_at, place);
";

pub(crate) const CONSENTS: &str = "
    CREATE TABLE consent_log (
        dealer_id    TEXT NOT NULL,
        seq          INTEGER NOT NULL,      -- from 1, without a gap
        lead_id      TEXT NOT NULL,
        kind         TEXT NOT NULL,
        at           INTEGER NOT NULL,
        consent_hash BLOB,
        body_hash    BLOB,
        caller_hash  BLOB,
        hash         BLOB NOT NULL,         -- of all this and the hash before it
        PRIMARY KEY (dealer_id, seq)
    ) WITHOUT ROWID;
    CREATE INDEX consent_log_by_lead ON consent_log (lead_id);
    CREATE TABLE consent_evidence (         -- goes when the customer is erased
        submission INTEGER PRIMARY KEY REFERENCES lead_submissions (seq),
        dealer_id  TEXT NOT NULL,
        seq        INTEGER NOT NULL,        -- of the record
        at         INTEGER NOT NULL,
        network    TEXT,                    -- of a caller without credentials, for its quota
        size       INTEGER NOT NULL,
        user_agent TEXT,
        salt       BLOB NOT NULL,
        body       BLOB NOT NULL
    );
    CREATE UNIQUE INDEX consent_evidence_by_record ON consent_evidence (dealer_id, seq);
    CREATE INDEX consent_evidence_by_network ON consent_evidence (dealer_id, network, at, size);
    CREATE INDEX leads_by_age ON leads (dealer_id, changed_at) WHERE state <> 'erased';
";

/// The table, as a migration.
pub(crate) const SIGNATURES: &str = "
    CREATE TABLE used_signatures (
        publisher TEXT NOT NULL,
        key       TEXT NOT NULL,        -- the agent and the name of its key
        nonce     BLOB NOT NULL,        -- a hash
        until     INTEGER NOT NULL,     -- milliseconds since 1970
        PRIMARY KEY (publisher, key, nonce)
    ) WITHOUT ROWID;
    CREATE INDEX used_signatures_by_end ON used_signatures (publisher, until);
";

/// The tables, as a migration.
pub(crate) const DELIVERIES: &str = "
    CREATE TABLE lead_deliveries (
        key         INTEGER PRIMARY KEY AUTOINCREMENT,  -- receivers know a delivery by it
        dealer_id   TEXT NOT NULL,
        lead_id     TEXT NOT NULL,
        destination TEXT NOT NULL,
        event       INTEGER NOT NULL,       -- of lead_events
        state       TEXT NOT NULL,
        attempts    INTEGER NOT NULL DEFAULT 0,
        doubtful    INTEGER NOT NULL DEFAULT 0,         -- an attempt may have arrived
        answer      TEXT,                   -- the last one, in short
        created_at  INTEGER NOT NULL,
        due_at      INTEGER,                -- while it is sent: when the attempt counts as lost
        ended_at    INTEGER
    );
    CREATE INDEX lead_deliveries_due ON lead_deliveries (due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX lead_deliveries_by_lead ON lead_deliveries (lead_id, destination, key);
    CREATE INDEX lead_deliveries_by_state ON lead_deliveries (state, key);
    CREATE TABLE lead_delivery_places (
        dealer_id   TEXT PRIMARY KEY,
        event       INTEGER NOT NULL        -- what came up to it has been looked at
    ) WITHOUT ROWID;
    CREATE INDEX lead_events_by_dealer ON lead_events (dealer_id, seq);
";

pub(crate) const PRIVACY: &str = "
    CREATE TABLE privacy_keys (
        key_id     TEXT PRIMARY KEY,    -- of a key that seals, or has sealed, what is here
        index_key  TEXT NOT NULL,       -- the key of what is looked up, sealed by it
        since      INTEGER NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE lead_submissions ADD COLUMN sealed_by TEXT;     -- NULL: not at all
    ALTER TABLE consent_evidence ADD COLUMN sealed_by TEXT;
    ALTER TABLE lead_notes ADD COLUMN sealed_by TEXT;
    ALTER TABLE idempotency_keys ADD COLUMN sealed_by TEXT;
    ALTER TABLE idempotency_keys ADD COLUMN lead_id TEXT;       -- NULL: it stands in the reply
    CREATE INDEX idempotency_keys_by_lead ON idempotency_keys (lead_id);
";

/// The table, as a migration.
pub(crate) const ALERTS: &str = "
    CREATE TABLE alerts (
        destination TEXT NOT NULL,
        key         TEXT NOT NULL,      -- what is amiss; empty: when it was last told anything
        what        TEXT NOT NULL,      -- in words
        level       INTEGER NOT NULL,   -- how much of it there was
        since       INTEGER NOT NULL,
        told_at     INTEGER NOT NULL,
        PRIMARY KEY (destination, key)
    ) WITHOUT ROWID;
";
