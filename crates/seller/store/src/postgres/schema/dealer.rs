//! Later steps of the schema for dealers.

/// Migration for the figures of a week: searches that found nothing, and indexes by time.
pub(super) const WEEK: &str = r#"
    CREATE TABLE empty_searches (
        dealer_id   TEXT COLLATE "C" NOT NULL,
        day         BIGINT NOT NULL,            -- when it began at the dealer's first rooftop
        text        TEXT COLLATE "C" NOT NULL,  -- without personal parts; empty: all beyond the limit of a day
        reading     TEXT NOT NULL,              -- the latest one
        asked       BIGINT NOT NULL,
        PRIMARY KEY (dealer_id, day, text)
    );
    CREATE INDEX empty_searches_by_age ON empty_searches (day);
    CREATE INDEX lead_events_by_time ON lead_events (dealer_id, at);
    CREATE INDEX lead_progress_by_change ON lead_progress (dealer_id, changed_at);
"#;

/// The last result of each test of a step that brings a dealer online.
pub(super) const STEP_RESULTS: &str = r#"
    CREATE TABLE step_results (
        dealer_id  TEXT COLLATE "C" NOT NULL,
        step       TEXT COLLATE "C" NOT NULL,
        at         BIGINT NOT NULL,
        wanted_by  TEXT NOT NULL,
        outcome    TEXT NOT NULL,           -- passed or failed
        says       TEXT NOT NULL,
        PRIMARY KEY (dealer_id, step)
    );
"#;

/// Work on leads: stage, owner and next step become columns of the lead.
pub(super) const LEAD_WORK: &str = r#"
    ALTER TABLE leads ADD COLUMN agent TEXT;            -- agent:..., in lower case; hashed where there is a key
    ALTER TABLE leads ADD COLUMN rooftop TEXT;          -- in lower case
    ALTER TABLE leads ADD COLUMN vehicle_id TEXT;       -- of the listing, if there was one
    ALTER TABLE leads ADD COLUMN stage TEXT NOT NULL DEFAULT 'new';
    ALTER TABLE leads ADD COLUMN lost_reason TEXT;
    ALTER TABLE leads ADD COLUMN owner TEXT;            -- the name of a member
    ALTER TABLE leads ADD COLUMN next_step TEXT;
    ALTER TABLE leads ADD COLUMN next_step_at BIGINT;
    ALTER TABLE leads ADD COLUMN handled_by TEXT;       -- the destination that handles it
    UPDATE leads SET
        rooftop = (SELECT lower(s.rooftop) FROM lead_submissions s WHERE s.seq = leads.submission),
        vehicle_id = (SELECT replace(s.listing, '\u0000', '\ufffd')::json ->> 'vehicle_id'
                      FROM lead_submissions s WHERE s.seq = leads.submission),
        stage = coalesce((SELECT p.stage FROM lead_progress p WHERE p.lead_id = leads.lead_id), 'new');
    ALTER TABLE lead_progress DROP COLUMN stage;
    CREATE TABLE lead_rotation (            -- whose turn it was last
        dealer_id TEXT NOT NULL,
        rooftop   TEXT NOT NULL,            -- in lower case; empty for leads without one
        member    TEXT NOT NULL,
        PRIMARY KEY (dealer_id, rooftop)
    );
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
"#;

/// Calendar feeds of rooftops. A rooftop has at most one that is not revoked.
pub(super) const CALENDAR_FEEDS: &str = r#"
    CREATE TABLE calendar_feeds (
        feed_id      TEXT COLLATE "C" PRIMARY KEY,
        dealer_id    TEXT NOT NULL,
        rooftop      TEXT NOT NULL,
        hash         BYTEA NOT NULL,        -- SHA-256 of the secret in the address
        created_at   BIGINT NOT NULL,
        created_by   TEXT NOT NULL,
        revoked_at   BIGINT,
        last_used_on TEXT                   -- a day
    );
    CREATE UNIQUE INDEX calendar_feeds_by_hash ON calendar_feeds (hash);
    CREATE UNIQUE INDEX calendar_feeds_by_rooftop ON calendar_feeds (dealer_id, lower(rooftop))
        WHERE revoked_at IS NULL;
"#;
