//! Migrations of the schema. Some others are beside the queries of their tables.

/// The table, as a migration.
pub(crate) const KEYS: &str = "
    CREATE TABLE api_keys (
        id           TEXT PRIMARY KEY,
        dealer_id    TEXT NOT NULL,
        name         TEXT NOT NULL,
        hash         BLOB NOT NULL,     -- SHA-256 of the whole key
        scopes       TEXT,              -- with spaces between; NULL: all
        created_at   INTEGER NOT NULL,
        expires_at   INTEGER,
        revoked_at   INTEGER,
        last_used_on TEXT               -- a day, UTC
    ) WITHOUT ROWID;
    CREATE INDEX api_keys_by_name ON api_keys (dealer_id, name);
";

pub(crate) const DESK: &str = "
    CREATE TABLE lead_progress (
        lead_id     TEXT PRIMARY KEY,
        dealer_id   TEXT NOT NULL,
        stage       TEXT NOT NULL,
        changed_at  INTEGER,
        changed_by  TEXT,
        seen_at     INTEGER,
        answered_at INTEGER
    ) WITHOUT ROWID;
    CREATE TABLE lead_notes (               -- go when the customer is erased
        key       INTEGER PRIMARY KEY AUTOINCREMENT,
        lead_id   TEXT NOT NULL,
        dealer_id TEXT NOT NULL,
        at        INTEGER NOT NULL,
        author    TEXT NOT NULL,
        text      TEXT NOT NULL
    );
    CREATE INDEX lead_notes_by_lead ON lead_notes (lead_id, key);
";

pub(crate) const STAFF: &str = "
    CREATE TABLE staff (
        name       TEXT PRIMARY KEY,
        dealer_id  TEXT,                    -- NULL: every dealer's
        role       TEXT NOT NULL,
        password   TEXT NOT NULL,           -- hashed, a PHC string
        created_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE staff_sessions (
        id         TEXT PRIMARY KEY,
        hash       BLOB NOT NULL UNIQUE,    -- SHA-256 of the cookie
        name       TEXT NOT NULL REFERENCES staff (name),
        begun_at   INTEGER NOT NULL,
        seen_at    INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        browser    TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX staff_sessions_by_name ON staff_sessions (name);
    CREATE TABLE audit_log (
        chain     TEXT NOT NULL,            -- a dealer's id, or * for what concerns all of them
        seq       INTEGER NOT NULL,         -- from 1, without a gap
        at        INTEGER NOT NULL,
        actor     TEXT NOT NULL,
        deed      TEXT NOT NULL,
        subject   TEXT,
        detail    TEXT,
        hash      BLOB NOT NULL,            -- of all this and the hash before it
        PRIMARY KEY (chain, seq)
    ) WITHOUT ROWID;
";

/// The tables, as a migration.
pub(crate) const FEEDS: &str = "
    CREATE TABLE feeds (
        dealer_id   TEXT NOT NULL,
        feed        TEXT NOT NULL,
        mark        TEXT,               -- what was looked at last, in the words of its source
        looked_at   INTEGER,
        taken_at    INTEGER,            -- when it last was the inventory
        stale_since INTEGER,
        PRIMARY KEY (dealer_id, feed)
    ) WITHOUT ROWID;
    CREATE TABLE feed_runs (
        run_id      TEXT PRIMARY KEY,
        dealer_id   TEXT NOT NULL,
        feed        TEXT NOT NULL,
        began_at    INTEGER NOT NULL,
        ended_at    INTEGER NOT NULL,
        source      TEXT NOT NULL,      -- a file's name, or where it came from
        outcome     TEXT NOT NULL,
        message     TEXT,
        report      TEXT NOT NULL       -- JSON
    ) WITHOUT ROWID;
    CREATE INDEX feed_runs_by_feed ON feed_runs (dealer_id, feed, began_at);
    CREATE TABLE feed_leases (
        dealer_id   TEXT PRIMARY KEY,
        holder      TEXT NOT NULL,
        until       INTEGER NOT NULL
    ) WITHOUT ROWID;
";

/// The tables, as a migration.
pub(crate) const REFUSALS: &str = "
    CREATE TABLE refusals (
        error_id    TEXT PRIMARY KEY,
        agent_id    TEXT NOT NULL,
        at          INTEGER NOT NULL,
        code        TEXT NOT NULL,
        operation   TEXT,
        caller      TEXT NOT NULL,
        misfits     TEXT NOT NULL       -- JSON: pairs of a pointer and a keyword
    ) WITHOUT ROWID;
    CREATE INDEX refusals_by_agent ON refusals (agent_id, at);
    CREATE INDEX refusals_by_age ON refusals (at);
    CREATE TABLE refusal_counts (
        agent_id    TEXT NOT NULL,
        hour        INTEGER NOT NULL,   -- when it began
        code        TEXT NOT NULL,
        refused     INTEGER NOT NULL,
        PRIMARY KEY (agent_id, hour, code)
    ) WITHOUT ROWID;
    CREATE INDEX refusal_counts_by_age ON refusal_counts (hour);
";

/// The table, as a migration.
pub(crate) const PROBES: &str = "
    CREATE TABLE probe_reports (
        dealer_id   TEXT PRIMARY KEY,
        at          INTEGER NOT NULL,
        wanted_by   TEXT NOT NULL,
        document    TEXT NOT NULL,      -- JSON
        page        TEXT                -- the report with what was sent, as HTML
    ) WITHOUT ROWID;
";

/// The tables, as a migration.
pub(crate) const HOSTING: &str = "
    CREATE TABLE hosted_dealers (
        dealer_id  TEXT PRIMARY KEY,
        state      TEXT NOT NULL,       -- serving, suspended, or removed
        document   TEXT NOT NULL,       -- what a section of the configuration would say, as JSON
        revision   INTEGER NOT NULL,    -- of all changes the number of the last one here
        created_at INTEGER NOT NULL,
        changed_at INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX hosted_dealers_by_revision ON hosted_dealers (revision);
    CREATE TABLE hosted_hosts (
        host       TEXT PRIMARY KEY,    -- in lower case
        dealer_id  TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX hosted_hosts_by_dealer ON hosted_hosts (dealer_id);
";

/// Adds the salt by which a note is compared with its entry in the audit log. Older notes have none.
pub(crate) const NOTE_SALTS: &str = "
    ALTER TABLE lead_notes ADD COLUMN salt TEXT;
";

/// Budgets of sign-ins, and counts of failures.
pub(crate) const SIGN_IN: &str = "
    CREATE TABLE sign_in_budgets (
        bucket     BLOB PRIMARY KEY,    -- 2 bytes of a name's hash, or more of a browser's id
        full_at    INTEGER NOT NULL     -- when every attempt of the budget is available again
    ) WITHOUT ROWID;
    CREATE INDEX sign_in_budgets_by_end ON sign_in_budgets (full_at);
    CREATE TABLE access_counts (
        chain      TEXT NOT NULL,       -- in whose record it belongs
        actor      TEXT NOT NULL,
        deed       TEXT NOT NULL,       -- sign_in_failed, sign_in_locked or access_refused
        subject    TEXT NOT NULL,       -- a member's name; empty where nobody has the name
        hour       INTEGER NOT NULL,    -- when it began
        happened   INTEGER NOT NULL,
        recorded   INTEGER NOT NULL,    -- how many of these are in the record
        PRIMARY KEY (chain, actor, deed, subject, hour)
    ) WITHOUT ROWID;
    CREATE INDEX access_counts_by_age ON access_counts (hour);
";

/// Second factors and recovery codes of the console.
pub(crate) const SECOND_FACTORS: &str = "
    CREATE TABLE second_factors (
        name         TEXT PRIMARY KEY,  -- of a member
        secret       TEXT NOT NULL,     -- in base32
        sealed_by    TEXT,              -- NULL: in clear
        confirmed_at INTEGER,           -- NULL: no code has confirmed it yet
        last_step    INTEGER NOT NULL   -- the half minute of the last code; none is used twice
    ) WITHOUT ROWID;
    CREATE TABLE recovery_codes (
        name         TEXT NOT NULL,     -- of a member
        hash         BLOB NOT NULL,     -- SHA-256 of the code
        PRIMARY KEY (name, hash)
    ) WITHOUT ROWID;
    ALTER TABLE staff_sessions ADD COLUMN proven_at INTEGER;    -- when the password was asked last
";

/// Migration for appointments that can be changed, and for blocked times. Future times that erased or lost leads still
/// occupied become free.
pub(crate) const CALENDAR: &str = "
    ALTER TABLE appointments ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE lead_events ADD COLUMN appointment_starts_at INTEGER;   -- NULL: as it is now
    ALTER TABLE lead_events ADD COLUMN appointment_ends_at INTEGER;
    CREATE TABLE blocked_times (
        block_id    TEXT PRIMARY KEY,
        dealer_id   TEXT NOT NULL,
        rooftop     TEXT NOT NULL,
        department  TEXT NOT NULL,
        starts_at   INTEGER NOT NULL,
        ends_at     INTEGER NOT NULL,
        places      INTEGER,                -- NULL: all of them
        time_zone   TEXT,
        reason      TEXT NOT NULL,
        created_at  INTEGER NOT NULL,
        created_by  TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX blocked_times_by_time ON blocked_times (dealer_id, rooftop, department, ends_at);
    UPDATE appointments SET state = 'cancelled', version = 2
    WHERE (state IN ('requested', 'proposed') OR state = 'confirmed'
               AND ends_at > CAST(strftime('%s', 'now') AS INTEGER) * 1000)
        AND submission IN (SELECT s.seq FROM lead_submissions s JOIN leads l ON l.lead_id = s.lead_id
                           LEFT JOIN lead_progress p ON p.lead_id = l.lead_id
                           WHERE l.state = 'erased' OR p.stage = 'lost');
";

/// Indexes for finding times by rooftop regardless of the case of its name.
pub(crate) const ROOFTOP_CASE: &str = "
    DROP INDEX appointments_by_time;
    CREATE INDEX appointments_by_time ON appointments
        (dealer_id, lower(rooftop), department, ends_at) WHERE state = 'confirmed';
    DROP INDEX blocked_times_by_time;
    CREATE INDEX blocked_times_by_time ON blocked_times
        (dealer_id, lower(rooftop), department, ends_at);
";

/// Migration that adds the terms by which an entity is found and counted. Existing rows get their terms from their
/// body, and count as changed by themselves, so that their state is updated as soon as the publisher runs.
pub(crate) const PUBLISHER_INDEX: &str = "
    ALTER TABLE publisher_things ADD COLUMN class TEXT NOT NULL DEFAULT '';
    ALTER TABLE publisher_things ADD COLUMN changes_at INTEGER;     -- microseconds; NULL: never by itself
    DROP INDEX publisher_things_by_owner;
    CREATE INDEX publisher_things_by_owner
        ON publisher_things (publisher, kind, owner, place, changes_at);
    CREATE INDEX publisher_things_by_owner_state
        ON publisher_things (publisher, kind, owner, state, created_at, place, changes_at);
    CREATE INDEX publisher_things_by_account
        ON publisher_things (publisher, kind, account, place, changes_at, owner);
    CREATE INDEX publisher_things_by_account_state
        ON publisher_things (publisher, kind, account, state, created_at, place, changes_at, owner);
    CREATE INDEX publisher_things_by_place ON publisher_things (publisher, kind, place);
    CREATE INDEX publisher_things_by_change
        ON publisher_things (publisher, kind, changes_at, place, owner, account)
        WHERE changes_at IS NOT NULL;
    CREATE TABLE publisher_terms (
        publisher TEXT NOT NULL,
        kind      TEXT NOT NULL,
        field     TEXT NOT NULL,        -- what the value is, such as package or creative
        value     TEXT NOT NULL,
        owner     TEXT NOT NULL,        -- whose the thing is: nobody else's look-up reads anything of it
        thing     INTEGER NOT NULL,     -- its place
        PRIMARY KEY (publisher, kind, field, value, owner, thing)
    ) WITHOUT ROWID;
    CREATE INDEX publisher_terms_by_thing ON publisher_terms (thing, field, value, owner);
    CREATE TABLE publisher_counts (
        publisher TEXT NOT NULL,
        kind      TEXT NOT NULL,
        owner     TEXT NOT NULL,
        account   TEXT NOT NULL,        -- empty: none
        state     TEXT NOT NULL,
        class     TEXT NOT NULL,
        things    INTEGER NOT NULL,
        PRIMARY KEY (publisher, kind, owner, account, state, class)
    ) WITHOUT ROWID;
    CREATE INDEX publisher_counts_by_account
        ON publisher_counts (publisher, kind, account, state, class, things);
    UPDATE publisher_things SET state = COALESCE(json_extract(body, '$.status'), state),
            class = CASE WHEN json_extract(body, '$.sandbox') THEN 'sandbox' ELSE 'live' END
        WHERE kind = 'account';
    UPDATE publisher_things SET changes_at = 0
        WHERE kind IN ('media_buy', 'creative', 'task') OR kind = 'proposal' AND state = 'draft';
    INSERT INTO publisher_counts
        SELECT publisher, kind, owner, COALESCE(account, ''), state, class, COUNT(*)
        FROM publisher_things GROUP BY 1, 2, 3, 4, 5, 6;
    INSERT INTO publisher_terms
        SELECT DISTINCT publisher, kind, 'package', json_extract(p.value, '$.package_id'), owner, place
        FROM publisher_things, json_each(body, '$.packages') p
        WHERE kind = 'media_buy' AND json_extract(p.value, '$.package_id') IS NOT NULL;
    INSERT INTO publisher_terms
        SELECT DISTINCT publisher, kind, 'creative', json_extract(a.value, '$.creative_id'), owner, place
        FROM publisher_things, json_each(body, '$.packages') p,
             json_each(p.value, '$.creative_assignments') a
        WHERE kind = 'media_buy' AND json_extract(a.value, '$.creative_id') IS NOT NULL;
    INSERT INTO publisher_terms
        SELECT publisher, kind, 'chosen_id', json_extract(body, '$.' || kind || '_id'), owner, place
        FROM publisher_things
        WHERE kind IN ('creative', 'audience', 'event_source', 'task')
            AND json_extract(body, '$.' || kind || '_id') IS NOT NULL;
    INSERT INTO publisher_terms
        SELECT publisher, kind, 'about', json_extract(body, '$.about.thing'), owner, place
        FROM publisher_things
        WHERE kind = 'notice' AND json_extract(body, '$.about.thing') IS NOT NULL;
    INSERT INTO publisher_terms
        SELECT publisher, kind, 'natural_key',
               COALESCE(json_extract(body, '$.brand.domain'), '') || ' '
                   || json_extract(body, '$.operator'), owner, place
        FROM publisher_things
        WHERE kind = 'account' AND json_extract(body, '$.operator') IS NOT NULL;
";

/// Deliveries to a publisher's staff in addition to those of leads, and the position up to which each publisher's
/// events have been turned into deliveries.
pub(crate) const STAFF_EVENTS: &str = "
    ALTER TABLE lead_deliveries ADD COLUMN source TEXT NOT NULL DEFAULT 'lead';     -- or publisher
    CREATE TABLE staff_event_places (
        publisher  TEXT PRIMARY KEY,
        place      INTEGER NOT NULL     -- of publisher_things: what came up to it has been looked at
    ) WITHOUT ROWID;
";

/// Migration for the figures of a week: searches that found nothing, and indexes by time.
pub(crate) const WEEK: &str = "
    CREATE TABLE empty_searches (
        dealer_id   TEXT NOT NULL,
        day         INTEGER NOT NULL,   -- when it began at the dealer's first rooftop
        text        TEXT NOT NULL,      -- without personal parts; empty: all beyond the limit of a day
        reading     TEXT NOT NULL,      -- the latest one
        asked       INTEGER NOT NULL,
        PRIMARY KEY (dealer_id, day, text)
    ) WITHOUT ROWID;
    CREATE INDEX empty_searches_by_age ON empty_searches (day);
    CREATE INDEX lead_events_by_time ON lead_events (dealer_id, at);
    CREATE INDEX lead_progress_by_change ON lead_progress (dealer_id, changed_at);
";

/// The last result of each test of a step that brings a dealer online.
pub(crate) const STEP_RESULTS: &str = "
    CREATE TABLE step_results (
        dealer_id  TEXT NOT NULL,
        step       TEXT NOT NULL,
        at         INTEGER NOT NULL,
        wanted_by  TEXT NOT NULL,
        outcome    TEXT NOT NULL,       -- passed or failed
        says       TEXT NOT NULL,
        PRIMARY KEY (dealer_id, step)
    ) WITHOUT ROWID;
";

/// Work on leads: stage, owner and next step become columns of the lead, by which lists are filtered and paged.
/// Leads from before have no agent here, because the name is in what is encrypted.
pub(crate) const LEAD_WORK: &str = "
    ALTER TABLE leads ADD COLUMN agent TEXT;            -- agent:..., in lower case; hashed where there is a key
    ALTER TABLE leads ADD COLUMN rooftop TEXT;          -- in lower case
    ALTER TABLE leads ADD COLUMN vehicle_id TEXT;       -- of the listing, if there was one
    ALTER TABLE leads ADD COLUMN stage TEXT NOT NULL DEFAULT 'new';
    ALTER TABLE leads ADD COLUMN lost_reason TEXT;
    ALTER TABLE leads ADD COLUMN owner TEXT;            -- the name of a member
    ALTER TABLE leads ADD COLUMN next_step TEXT;
    ALTER TABLE leads ADD COLUMN next_step_at INTEGER;
    ALTER TABLE leads ADD COLUMN handled_by TEXT;       -- the destination that handles it
    UPDATE leads SET
        rooftop = (SELECT lower(s.rooftop) FROM lead_submissions s WHERE s.seq = leads.submission),
        vehicle_id = (SELECT CASE WHEN json_valid(s.listing) THEN json_extract(s.listing, '$.vehicle_id') END
                      FROM lead_submissions s WHERE s.seq = leads.submission),
        stage = coalesce((SELECT p.stage FROM lead_progress p WHERE p.lead_id = leads.lead_id), 'new');
    ALTER TABLE lead_progress DROP COLUMN stage;
    CREATE TABLE lead_rotation (            -- whose turn it was last
        dealer_id TEXT NOT NULL,
        rooftop   TEXT NOT NULL,            -- in lower case; empty for leads without one
        member    TEXT NOT NULL,
        PRIMARY KEY (dealer_id, rooftop)
    ) WITHOUT ROWID;
    DROP INDEX leads_by_dealer;
    CREATE INDEX leads_by_dealer ON leads (dealer_id, received_at, seq);
    CREATE INDEX leads_by_time ON leads (received_at, seq);
    CREATE INDEX leads_by_stage ON leads (dealer_id, stage, received_at, seq);
    CREATE INDEX leads_by_owner ON leads (dealer_id, owner, received_at, seq);
    CREATE INDEX leads_by_rooftop ON leads (dealer_id, rooftop, received_at, seq);
    CREATE INDEX leads_by_agent ON leads (dealer_id, agent, received_at, seq)
        WHERE agent IS NOT NULL;
    CREATE INDEX leads_by_vehicle ON leads (dealer_id, vehicle_id, received_at, seq)
        WHERE vehicle_id IS NOT NULL;
    CREATE INDEX leads_by_state ON leads (dealer_id, state, received_at, seq)
        WHERE state <> 'received';
    CREATE INDEX leads_by_next_step ON leads (dealer_id, next_step_at, seq)
        WHERE next_step_at IS NOT NULL;
    CREATE INDEX leads_to_do ON leads (dealer_id, received_at, seq)
        WHERE (state = 'held' OR state = 'received' AND stage = 'new' AND handled_by IS NULL);
";

/// Calendar feeds of rooftops. A rooftop has at most one that is not revoked.
pub(crate) const CALENDAR_FEEDS: &str = "
    CREATE TABLE calendar_feeds (
        feed_id      TEXT PRIMARY KEY,
        dealer_id    TEXT NOT NULL,
        rooftop      TEXT NOT NULL,
        hash         BLOB NOT NULL,         -- SHA-256 of the secret in the address
        created_at   INTEGER NOT NULL,
        created_by   TEXT NOT NULL,
        revoked_at   INTEGER,
        last_used_on TEXT                   -- a day
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX calendar_feeds_by_hash ON calendar_feeds (hash);
    CREATE UNIQUE INDEX calendar_feeds_by_rooftop ON calendar_feeds (dealer_id, lower(rooftop))
        WHERE revoked_at IS NULL;
";

/// Rooftops of leads from before [`LEAD_WORK`], whose names it has put into lower case from A to Z only, because
/// SQLite knows no other letters. The names are changed by [`super::migrate`].
pub(crate) const ROOFTOP_LETTERS: &str = "
    -- No change of the schema.
";
