//! The tables in PostgreSQL. They equal those that SQLite has after its migrations; text columns by which rows are
//! ordered are compared byte by byte, as there.

mod dealer;
mod publisher;

/// Table of schema versions: a row for each migration of the database.
pub(super) const VERSIONS: &str = "CREATE TABLE tradepost_schema (version BIGINT PRIMARY KEY)";

/// One step for each version, applied in order.
pub(super) const MIGRATIONS: &[&str] = &[
    FIRST,
    STAFF,
    FEEDS,
    PRIVACY,
    ALERTS,
    HOSTING,
    PROCESSES,
    REFUSALS,
    PROBES,
    MOVES,
    NOTE_SALTS,
    SIGN_IN,
    CALENDAR,
    ROOFTOP_CASE,
    publisher::INDEX,
    STAFF_EVENTS,
    crate::sqlite::schema::sellers::PUBLISHER_ORDER,
    dealer::WEEK,
    dealer::STEP_RESULTS,
    dealer::LEAD_WORK,
    dealer::CALENDAR_FEEDS,
];

const FIRST: &str = r#"
    CREATE TABLE listings (
        dealer_id   TEXT NOT NULL,
        vehicle_id  TEXT NOT NULL,
        vin         TEXT,
        stock       TEXT,
        make        TEXT,
        model       TEXT,
        status      TEXT NOT NULL,      -- available, intransit, pending, or sold
        body        TEXT NOT NULL,      -- the vehicle as JSON, without updated_at
        updated_at  BIGINT NOT NULL,    -- milliseconds since 1970, as all moments here
        removed_at  BIGINT,             -- set: a tombstone
        PRIMARY KEY (dealer_id, vehicle_id)
    );
    CREATE TABLE inventories (
        dealer_id   TEXT PRIMARY KEY,
        generation  BIGINT NOT NULL
    );
    CREATE TABLE cards (
        dealer_id    TEXT PRIMARY KEY,
        content_hash TEXT NOT NULL,
        id           TEXT NOT NULL,
        modified_at  BIGINT NOT NULL
    );
    CREATE TABLE secrets (
        name        TEXT PRIMARY KEY,
        value       BYTEA NOT NULL
    );
    CREATE TABLE health (
        one         BIGINT PRIMARY KEY CHECK (one = 1),
        checks      BIGINT NOT NULL,
        room        BYTEA NOT NULL
    );

    CREATE TABLE api_keys (
        id           TEXT COLLATE "C" PRIMARY KEY,
        dealer_id    TEXT NOT NULL,
        name         TEXT NOT NULL,
        hash         BYTEA NOT NULL,    -- SHA-256 of the whole key
        scopes       TEXT,              -- with spaces between; NULL: all
        created_at   BIGINT NOT NULL,
        expires_at   BIGINT,
        revoked_at   BIGINT,
        last_used_on TEXT COLLATE "C"   -- a day, UTC
    );
    CREATE INDEX api_keys_by_name ON api_keys (dealer_id, name);

    CREATE TABLE lead_submissions (
        seq         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        lead_id     TEXT NOT NULL,
        dealer_id   TEXT NOT NULL,
        received_at BIGINT NOT NULL,
        duplicate   BOOLEAN NOT NULL,
        version     TEXT NOT NULL,
        principal   TEXT NOT NULL,
        address     TEXT,               -- of the caller, in the network
        payload     TEXT NOT NULL,
        rooftop     TEXT,
        listing     TEXT
    );
    CREATE INDEX lead_submissions_by_lead ON lead_submissions (lead_id);
    CREATE TABLE appointments (
        appointment_id TEXT PRIMARY KEY,
        submission   BIGINT NOT NULL REFERENCES lead_submissions (seq),
        dealer_id    TEXT NOT NULL,
        rooftop      TEXT,
        department   TEXT NOT NULL,
        kind         TEXT NOT NULL,
        state        TEXT NOT NULL,
        requested_at BIGINT,
        starts_at    BIGINT,
        ends_at      BIGINT,
        proposed     TEXT NOT NULL      -- JSON array of milliseconds
    );
    CREATE INDEX appointments_by_submission ON appointments (submission);
    CREATE INDEX appointments_by_time ON appointments (dealer_id, rooftop, department, ends_at)
        WHERE state = 'confirmed';
    CREATE TABLE leads (
        seq            BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        lead_id        TEXT NOT NULL UNIQUE,
        dealer_id      TEXT COLLATE "C" NOT NULL,
        received_at    BIGINT NOT NULL,
        changed_at     BIGINT NOT NULL,
        state          TEXT NOT NULL,
        held_for       TEXT,
        person         TEXT NOT NULL,   -- shared by leads with a common contact
        time_zone      TEXT,
        submission     BIGINT NOT NULL REFERENCES lead_submissions (seq),   -- the latest
        appointment_id TEXT REFERENCES appointments (appointment_id)        -- the current one
    );
    CREATE INDEX leads_by_dealer ON leads (dealer_id, received_at);
    CREATE INDEX leads_by_person ON leads (dealer_id, person);
    CREATE INDEX leads_by_age ON leads (dealer_id, changed_at) WHERE state <> 'erased';
    CREATE TABLE lead_events (
        seq               BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        lead_id           TEXT NOT NULL,
        dealer_id         TEXT NOT NULL,
        at                BIGINT NOT NULL,
        kind              TEXT NOT NULL,
        state             TEXT NOT NULL,        -- of the lead, after it
        submission        BIGINT NOT NULL REFERENCES lead_submissions (seq),
        appointment_id    TEXT,                 -- the current one, after it
        appointment_state TEXT
    );
    CREATE INDEX lead_events_by_lead ON lead_events (lead_id, seq);
    CREATE INDEX lead_events_by_dealer ON lead_events (dealer_id, seq);
    CREATE TABLE lead_contacts (
        dealer_id   TEXT NOT NULL,
        contact     TEXT NOT NULL,      -- email:... or phone:...
        person      TEXT NOT NULL,
        PRIMARY KEY (dealer_id, contact)
    );
    CREATE TABLE lead_matches (
        dealer_id   TEXT NOT NULL,
        proof       TEXT NOT NULL,      -- caller:..., context:... or key:...
        contact     TEXT NOT NULL,
        subject     TEXT NOT NULL,      -- vehicle and appointment type
        received_at BIGINT NOT NULL,
        lead_id     TEXT NOT NULL,
        PRIMARY KEY (dealer_id, proof, contact, subject, received_at, lead_id)
    );
    CREATE INDEX lead_matches_by_lead ON lead_matches (lead_id);
    CREATE TABLE lead_tallies (
        dealer_id   TEXT NOT NULL,
        subject     TEXT NOT NULL,
        at          BIGINT NOT NULL,
        submission  BIGINT NOT NULL,
        PRIMARY KEY (dealer_id, subject, at, submission)
    );
    CREATE INDEX lead_tallies_by_age ON lead_tallies (dealer_id, at);
    CREATE TABLE idempotency_keys (
        dealer_id     TEXT NOT NULL,
        scope         TEXT NOT NULL,
        key           TEXT NOT NULL,
        payload_hash  BYTEA NOT NULL,
        reply         TEXT NOT NULL,    -- the answer's receipt and message as JSON
        first_seen_at BIGINT NOT NULL,
        PRIMARY KEY (dealer_id, scope, key)
    );
    CREATE INDEX idempotency_keys_by_age ON idempotency_keys (dealer_id, first_seen_at);
    CREATE TABLE consent_log (
        dealer_id    TEXT NOT NULL,
        seq          BIGINT NOT NULL,   -- from 1, without a gap
        lead_id      TEXT NOT NULL,
        kind         TEXT NOT NULL,
        at           BIGINT NOT NULL,
        consent_hash BYTEA,
        body_hash    BYTEA,
        caller_hash  BYTEA,
        hash         BYTEA NOT NULL,    -- of all this and the hash before it
        PRIMARY KEY (dealer_id, seq)
    );
    CREATE INDEX consent_log_by_lead ON consent_log (lead_id);
    CREATE TABLE consent_evidence (     -- goes when the customer is erased
        submission BIGINT PRIMARY KEY REFERENCES lead_submissions (seq),
        dealer_id  TEXT NOT NULL,
        seq        BIGINT NOT NULL,     -- of the record
        at         BIGINT NOT NULL,
        network    TEXT,                -- of a caller without credentials, for its quota
        size       BIGINT NOT NULL,
        user_agent TEXT,
        salt       BYTEA NOT NULL,
        body       BYTEA NOT NULL
    );
    CREATE UNIQUE INDEX consent_evidence_by_record ON consent_evidence (dealer_id, seq);
    CREATE INDEX consent_evidence_by_network ON consent_evidence (dealer_id, network, at, size);
    CREATE TABLE lead_deliveries (
        key         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,    -- receivers know a delivery by it
        dealer_id   TEXT NOT NULL,
        lead_id     TEXT NOT NULL,
        destination TEXT NOT NULL,
        event       BIGINT NOT NULL,    -- of lead_events
        state       TEXT NOT NULL,
        attempts    BIGINT NOT NULL DEFAULT 0,
        doubtful    BOOLEAN NOT NULL DEFAULT FALSE,     -- an attempt may have arrived
        answer      TEXT,               -- the last one, in short
        created_at  BIGINT NOT NULL,
        due_at      BIGINT,             -- while it is sent: when the attempt counts as lost
        ended_at    BIGINT
    );
    CREATE INDEX lead_deliveries_due ON lead_deliveries (due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX lead_deliveries_by_lead ON lead_deliveries (lead_id, destination, key);
    CREATE INDEX lead_deliveries_by_state ON lead_deliveries (state, key);
    CREATE TABLE lead_delivery_places (
        dealer_id   TEXT PRIMARY KEY,
        event       BIGINT NOT NULL     -- what came up to it has been looked at
    );

    CREATE TABLE tasks (
        task_id     TEXT COLLATE "C" PRIMARY KEY,
        agent_id    TEXT NOT NULL,
        owner       TEXT NOT NULL,
        context_id  TEXT NOT NULL,
        state       TEXT COLLATE "C" NOT NULL,
        status_at   BIGINT NOT NULL,
        last_seq    BIGINT NOT NULL
    );
    CREATE INDEX tasks_by_age ON tasks (agent_id, owner, status_at DESC, task_id DESC);
    CREATE TABLE task_events (
        task_id     TEXT COLLATE "C" NOT NULL REFERENCES tasks (task_id),
        seq         BIGINT NOT NULL,
        kind        BIGINT NOT NULL,    -- 0 message, 1 status, 2 artifact
        body        TEXT NOT NULL,      -- a message, or an event as it is streamed
        PRIMARY KEY (task_id, seq)
    );
    CREATE TABLE push_configs (
        key         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        task_id     TEXT COLLATE "C" NOT NULL REFERENCES tasks (task_id),
        config_id   TEXT COLLATE "C" NOT NULL,
        agent_id    TEXT NOT NULL,
        owner       TEXT NOT NULL,
        url         TEXT NOT NULL,
        host        TEXT NOT NULL,
        token       TEXT,
        scheme      TEXT,
        credentials TEXT,
        from_seq    BIGINT NOT NULL,    -- the task as it was after this entry is told first
        sent_seq    BIGINT,             -- the last entry that was delivered, from_seq for the task
        failures    BIGINT NOT NULL DEFAULT 0,          -- in a row
        failure     TEXT,               -- the last one
        due_at      BIGINT,             -- when to deliver; NULL when nothing waits
        off_at      BIGINT,             -- set: given up
        UNIQUE (task_id, config_id)
    );
    CREATE INDEX push_configs_due ON push_configs (agent_id, due_at) WHERE due_at IS NOT NULL;
    CREATE INDEX push_configs_off ON push_configs (off_at) WHERE off_at IS NOT NULL;

    CREATE TABLE publisher_things (
        place      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,     -- the order of making
        publisher  TEXT NOT NULL,
        kind       TEXT NOT NULL,
        id         TEXT NOT NULL,
        owner      TEXT NOT NULL,
        account    TEXT,
        state      TEXT COLLATE "C" NOT NULL,
        revision   BIGINT NOT NULL,
        created_at BIGINT NOT NULL,     -- microseconds since 1970
        updated_at BIGINT NOT NULL,
        body       TEXT NOT NULL        -- JSON
    );
    CREATE UNIQUE INDEX publisher_things_by_id ON publisher_things (publisher, kind, id)
        INCLUDE (owner, account);
    CREATE INDEX publisher_things_by_owner ON publisher_things (publisher, kind, owner, place);
    CREATE INDEX publisher_things_by_state ON publisher_things (publisher, kind, state, place);
    CREATE TABLE publisher_keys (
        publisher TEXT NOT NULL,
        scope     TEXT NOT NULL,        -- the tenant, and for messages the conversation
        key       TEXT NOT NULL,
        hash      BYTEA NOT NULL,       -- SHA-256 of the canonical request
        reply     TEXT NOT NULL,        -- JSON
        used_at   BIGINT NOT NULL,
        PRIMARY KEY (publisher, scope, key)
    );
    CREATE INDEX publisher_keys_by_age ON publisher_keys (publisher, used_at);
    CREATE TABLE used_signatures (
        publisher TEXT NOT NULL,
        key       TEXT NOT NULL,        -- the agent and the name of its key
        nonce     BYTEA NOT NULL,       -- a hash
        until     BIGINT NOT NULL,
        PRIMARY KEY (publisher, key, nonce)
    );
    CREATE INDEX used_signatures_by_end ON used_signatures (publisher, until);
"#;

const STAFF: &str = r#"
    CREATE TABLE lead_progress (
        lead_id     TEXT PRIMARY KEY,
        dealer_id   TEXT NOT NULL,
        stage       TEXT NOT NULL,
        changed_at  BIGINT,
        changed_by  TEXT,
        seen_at     BIGINT,
        answered_at BIGINT
    );
    CREATE TABLE lead_notes (               -- go when the customer is erased
        key       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        lead_id   TEXT NOT NULL,
        dealer_id TEXT NOT NULL,
        at        BIGINT NOT NULL,
        author    TEXT NOT NULL,
        text      TEXT NOT NULL
    );
    CREATE INDEX lead_notes_by_lead ON lead_notes (lead_id, key);
    CREATE TABLE staff (
        name       TEXT COLLATE "C" PRIMARY KEY,
        dealer_id  TEXT,                    -- NULL: every dealer's
        role       TEXT NOT NULL,
        password   TEXT NOT NULL,           -- hashed, a PHC string
        created_at BIGINT NOT NULL
    );
    CREATE TABLE staff_sessions (
        id         TEXT COLLATE "C" PRIMARY KEY,
        hash       BYTEA NOT NULL UNIQUE,   -- SHA-256 of the cookie
        name       TEXT COLLATE "C" NOT NULL REFERENCES staff (name),
        begun_at   BIGINT NOT NULL,
        seen_at    BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        browser    TEXT NOT NULL
    );
    CREATE INDEX staff_sessions_by_name ON staff_sessions (name);
    CREATE TABLE audit_log (
        chain     TEXT COLLATE "C" NOT NULL,    -- a dealer's id, or * for what concerns all of them
        seq       BIGINT NOT NULL,          -- from 1, without a gap
        at        BIGINT NOT NULL,
        actor     TEXT NOT NULL,
        deed      TEXT NOT NULL,
        subject   TEXT,
        detail    TEXT,
        hash      BYTEA NOT NULL,           -- of all this and the hash before it
        PRIMARY KEY (chain, seq)
    );
"#;

const FEEDS: &str = r#"
    CREATE TABLE feeds (
        dealer_id   TEXT NOT NULL,
        feed        TEXT COLLATE "C" NOT NULL,
        mark        TEXT,               -- what was looked at last, in the words of its source
        looked_at   BIGINT,
        taken_at    BIGINT,             -- when it last was the inventory
        stale_since BIGINT,
        PRIMARY KEY (dealer_id, feed)
    );
    CREATE TABLE feed_runs (
        run_id      TEXT COLLATE "C" PRIMARY KEY,
        dealer_id   TEXT NOT NULL,
        feed        TEXT NOT NULL,
        began_at    BIGINT NOT NULL,
        ended_at    BIGINT NOT NULL,
        source      TEXT NOT NULL,      -- a file's name, or where it came from
        outcome     TEXT NOT NULL,
        message     TEXT,
        report      TEXT NOT NULL       -- JSON
    );
    CREATE INDEX feed_runs_by_feed ON feed_runs (dealer_id, feed, began_at);
    CREATE TABLE feed_leases (
        dealer_id   TEXT PRIMARY KEY,
        holder      TEXT NOT NULL,
        until       BIGINT NOT NULL
    );
"#;

const PRIVACY: &str = r#"
    CREATE TABLE privacy_keys (
        key_id     TEXT COLLATE "C" PRIMARY KEY,    -- of a key that seals, or has sealed, what is here
        index_key  TEXT NOT NULL,       -- the key of what is looked up, sealed by it
        since      BIGINT NOT NULL
    );
    ALTER TABLE lead_submissions ADD COLUMN sealed_by TEXT;     -- NULL: not at all
    ALTER TABLE consent_evidence ADD COLUMN sealed_by TEXT;
    ALTER TABLE lead_notes ADD COLUMN sealed_by TEXT;
    ALTER TABLE idempotency_keys ADD COLUMN sealed_by TEXT;
    ALTER TABLE idempotency_keys ADD COLUMN lead_id TEXT;       -- NULL: it stands in the reply
    CREATE INDEX idempotency_keys_by_lead ON idempotency_keys (lead_id);
"#;

const ALERTS: &str = r#"
    CREATE TABLE alerts (
        destination TEXT NOT NULL,
        key         TEXT COLLATE "C" NOT NULL,  -- what is amiss; empty: when it was last told anything
        what        TEXT NOT NULL,      -- in words
        level       BIGINT NOT NULL,    -- how much of it there was
        since       BIGINT NOT NULL,
        told_at     BIGINT NOT NULL,
        PRIMARY KEY (destination, key)
    );
"#;

const HOSTING: &str = r#"
    CREATE TABLE hosted_dealers (
        dealer_id  TEXT COLLATE "C" PRIMARY KEY,
        state      TEXT NOT NULL,       -- serving, suspended, or removed
        document   TEXT NOT NULL,       -- what a section of the configuration would say, as JSON
        revision   BIGINT NOT NULL,     -- of all changes the number of the last one here
        created_at BIGINT NOT NULL,
        changed_at BIGINT NOT NULL
    );
    CREATE UNIQUE INDEX hosted_dealers_by_revision ON hosted_dealers (revision);
    CREATE TABLE hosted_hosts (
        host       TEXT COLLATE "C" PRIMARY KEY,    -- in lower case
        dealer_id  TEXT NOT NULL
    );
    CREATE INDEX hosted_hosts_by_dealer ON hosted_hosts (dealer_id);
"#;

const PROCESSES: &str = r#"
    CREATE TABLE processes (
        process_id TEXT COLLATE "C" PRIMARY KEY,
        seen_at    BIGINT NOT NULL
    );
    ALTER TABLE tasks ADD COLUMN worker TEXT;   -- the process that appended last
    ALTER TABLE inventories ADD COLUMN snapshot TEXT;       -- the name of one
    ALTER TABLE inventories ADD COLUMN snapshot_of BIGINT;  -- the generation that is in it
    CREATE TABLE snapshots (
        dealer_id  TEXT NOT NULL,
        name       TEXT NOT NULL,
        part       BIGINT NOT NULL,     -- from 0
        bytes      BYTEA NOT NULL,
        PRIMARY KEY (dealer_id, name, part)
    );
    ALTER TABLE snapshots ALTER COLUMN bytes SET STORAGE EXTERNAL;  -- they are packed
    CREATE TABLE moved_from (
        one        BIGINT PRIMARY KEY CHECK (one = 1),
        digest     BYTEA NOT NULL      -- of all that was in the folder
    );
    CREATE UNLOGGED TABLE permits (
        bucket     BYTEA PRIMARY KEY,   -- SHA-256 of whose it is
        full_at    BIGINT NOT NULL,     -- microseconds since 1970
        leased     BIGINT NOT NULL      -- the last time
    );
"#;

const REFUSALS: &str = r#"
    CREATE TABLE refusals (
        error_id    TEXT COLLATE "C" PRIMARY KEY,
        agent_id    TEXT NOT NULL,
        at          BIGINT NOT NULL,
        code        TEXT NOT NULL,
        operation   TEXT,
        caller      TEXT NOT NULL,
        misfits     TEXT NOT NULL       -- JSON: pairs of a pointer and a keyword
    );
    CREATE INDEX refusals_by_agent ON refusals (agent_id, at);
    CREATE INDEX refusals_by_age ON refusals (at);
    CREATE TABLE refusal_counts (
        agent_id    TEXT COLLATE "C" NOT NULL,
        hour        BIGINT NOT NULL,    -- when it began
        code        TEXT COLLATE "C" NOT NULL,
        refused     BIGINT NOT NULL,
        PRIMARY KEY (agent_id, hour, code)
    );
    CREATE INDEX refusal_counts_by_age ON refusal_counts (hour);
"#;

const PROBES: &str = r#"
    CREATE TABLE probe_reports (
        dealer_id   TEXT PRIMARY KEY,
        at          BIGINT NOT NULL,
        wanted_by   TEXT NOT NULL,
        document    TEXT NOT NULL,      -- JSON
        page        TEXT                -- the report with what was sent, as HTML
    );
"#;

// Before this, a finished move was not recorded: one that was begun then counts as finished.
const MOVES: &str = r#"
    ALTER TABLE moved_from ADD COLUMN is_whole BOOLEAN NOT NULL DEFAULT TRUE;
"#;

// The salt lets a note be compared with its entry in the audit log. Older notes have none.
const NOTE_SALTS: &str = "ALTER TABLE lead_notes ADD COLUMN salt TEXT";

const SIGN_IN: &str = r#"
    CREATE TABLE sign_in_budgets (
        bucket     BYTEA PRIMARY KEY,   -- 2 bytes of a name's hash, or more of a browser's id
        full_at    BIGINT NOT NULL      -- when every attempt of the budget is available again
    );
    CREATE INDEX sign_in_budgets_by_end ON sign_in_budgets (full_at);
    CREATE TABLE access_counts (
        chain      TEXT COLLATE "C" NOT NULL,   -- in whose record it belongs
        actor      TEXT COLLATE "C" NOT NULL,
        deed       TEXT COLLATE "C" NOT NULL,   -- sign_in_failed, sign_in_locked or access_refused
        subject    TEXT COLLATE "C" NOT NULL,   -- a member's name; empty where nobody has the name
        hour       BIGINT NOT NULL,     -- when it began
        happened   BIGINT NOT NULL,
        recorded   BIGINT NOT NULL,     -- how many of these are in the record
        PRIMARY KEY (chain, actor, deed, subject, hour)
    );
    CREATE INDEX access_counts_by_age ON access_counts (hour);
    CREATE TABLE second_factors (
        name         TEXT COLLATE "C" PRIMARY KEY,  -- of a member
        secret       TEXT NOT NULL,     -- in base32
        sealed_by    TEXT,              -- NULL: in clear
        confirmed_at BIGINT,            -- NULL: no code has confirmed it yet
        last_step    BIGINT NOT NULL    -- the half minute of the last code; none is used twice
    );
    CREATE TABLE recovery_codes (
        name         TEXT COLLATE "C" NOT NULL,     -- of a member
        hash         BYTEA NOT NULL,    -- SHA-256 of the code
        PRIMARY KEY (name, hash)
    );
    ALTER TABLE staff_sessions ADD COLUMN proven_at BIGINT;     -- when the password was asked last
"#;

const CALENDAR: &str = r#"
    ALTER TABLE appointments ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
    ALTER TABLE lead_events ADD COLUMN appointment_starts_at BIGINT;    -- NULL: as it is now
    ALTER TABLE lead_events ADD COLUMN appointment_ends_at BIGINT;
    CREATE TABLE blocked_times (
        block_id    TEXT COLLATE "C" PRIMARY KEY,
        dealer_id   TEXT NOT NULL,
        rooftop     TEXT NOT NULL,
        department  TEXT NOT NULL,
        starts_at   BIGINT NOT NULL,
        ends_at     BIGINT NOT NULL,
        places      BIGINT,                 -- NULL: all of them
        time_zone   TEXT,
        reason      TEXT NOT NULL,
        created_at  BIGINT NOT NULL,
        created_by  TEXT NOT NULL
    );
    CREATE INDEX blocked_times_by_time ON blocked_times (dealer_id, rooftop, department, ends_at);
    UPDATE appointments SET state = 'cancelled', version = 2
    WHERE (state IN ('requested', 'proposed') OR state = 'confirmed'
               AND ends_at > CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT))
        AND submission IN (SELECT s.seq FROM lead_submissions s JOIN leads l ON l.lead_id = s.lead_id
                           LEFT JOIN lead_progress p ON p.lead_id = l.lead_id
                           WHERE l.state = 'erased' OR p.stage = 'lost');
"#;

const ROOFTOP_CASE: &str = r#"
    DROP INDEX appointments_by_time;
    CREATE INDEX appointments_by_time ON appointments
        (dealer_id, lower(rooftop), department, ends_at) WHERE state = 'confirmed';
    DROP INDEX blocked_times_by_time;
    CREATE INDEX blocked_times_by_time ON blocked_times
        (dealer_id, lower(rooftop), department, ends_at);
"#;

const STAFF_EVENTS: &str = r#"
    ALTER TABLE lead_deliveries ADD COLUMN source TEXT NOT NULL DEFAULT 'lead';     -- or publisher
    CREATE TABLE staff_event_places (
        publisher  TEXT COLLATE "C" PRIMARY KEY,
        place      BIGINT NOT NULL      -- of publisher_things: what came up to it has been looked at
    );
"#;
