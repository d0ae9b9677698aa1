//! Schema of leads: one row for the current state of a lead, with its submissions and events in other tables.

/// Before this migration a lead was the list of its submissions, and all anonymous callers were the same. Existing data
/// stays: the lead's current appointment is the booked one, or else the latest; idempotency keys and equivalent leads
/// stay known for callers that can still be distinguished.
pub(crate) const SCHEMA: &str = "
    ALTER TABLE leads RENAME TO lead_submissions;
    DROP INDEX leads_by_id;
    DROP INDEX leads_by_dealer;
    ALTER TABLE lead_submissions ADD COLUMN address TEXT;   -- of the caller, in the network
    CREATE INDEX lead_submissions_by_lead ON lead_submissions (lead_id);
    ALTER TABLE appointments RENAME COLUMN lead_seq TO submission;
    ALTER TABLE appointments RENAME COLUMN status TO state;

    CREATE TABLE leads (
        seq            INTEGER PRIMARY KEY,
        lead_id        TEXT NOT NULL UNIQUE,
        dealer_id      TEXT NOT NULL,
        received_at    INTEGER NOT NULL,
        changed_at     INTEGER NOT NULL,
        state          TEXT NOT NULL,
        held_for       TEXT,
        person         TEXT NOT NULL,       -- shared by leads with a common contact
        time_zone      TEXT,
        submission     INTEGER NOT NULL REFERENCES lead_submissions (seq),    -- the latest
        appointment_id TEXT REFERENCES appointments (appointment_id)          -- the current one
    );
    CREATE INDEX leads_by_dealer ON leads (dealer_id, received_at);
    CREATE INDEX leads_by_person ON leads (dealer_id, person);
    INSERT INTO leads (lead_id, dealer_id, received_at, changed_at, state, person, submission,
                       appointment_id)
        SELECT s.lead_id, s.dealer_id, min(s.received_at), max(s.received_at), 'received',
               s.lead_id, max(s.seq),
               (SELECT a.appointment_id FROM appointments a
                JOIN lead_submissions own ON own.seq = a.submission
                WHERE own.lead_id = s.lead_id
                ORDER BY a.state = 'confirmed' DESC, a.submission DESC LIMIT 1)
        FROM lead_submissions s GROUP BY s.lead_id ORDER BY min(s.seq);

    -- Numbers are never given twice: whoever follows the events remembers the last one.
    CREATE TABLE lead_events (
        seq               INTEGER PRIMARY KEY AUTOINCREMENT,
        lead_id           TEXT NOT NULL,
        dealer_id         TEXT NOT NULL,
        at                INTEGER NOT NULL,
        kind              TEXT NOT NULL,
        state             TEXT NOT NULL,        -- of the lead, after it
        submission        INTEGER NOT NULL REFERENCES lead_submissions (seq),
        appointment_id    TEXT,                 -- the current one, after it
        appointment_state TEXT
    );
    CREATE INDEX lead_events_by_lead ON lead_events (lead_id, seq);
    INSERT INTO lead_events (lead_id, dealer_id, at, kind, state, submission, appointment_id,
                             appointment_state)
        SELECT s.lead_id, s.dealer_id, s.received_at,
               CASE WHEN s.duplicate THEN 'resubmitted' ELSE 'received' END, 'received', s.seq,
               a.appointment_id, a.state
        FROM lead_submissions s LEFT JOIN appointments a ON a.submission = s.seq ORDER BY s.seq;

    CREATE TABLE lead_contacts (
        dealer_id   TEXT NOT NULL,
        contact     TEXT NOT NULL,      -- email:... or phone:...
        person      TEXT NOT NULL,
        PRIMARY KEY (dealer_id, contact)
    ) WITHOUT ROWID;
    INSERT INTO lead_contacts (dealer_id, contact, person)
        SELECT dealer_id, contact, lead_id FROM
            (SELECT t.dealer_id, t.contact, l.lead_id, min(l.seq) FROM lead_subjects t
             JOIN leads l ON l.lead_id = t.lead_id GROUP BY t.dealer_id, t.contact);
    UPDATE leads SET person = coalesce(
        (SELECT c.person FROM lead_subjects t
         JOIN lead_contacts c ON c.dealer_id = t.dealer_id AND c.contact = t.contact
         JOIN leads first ON first.lead_id = c.person
         WHERE t.lead_id = leads.lead_id ORDER BY first.seq LIMIT 1), person);

    -- By what a lead is known again: a proof that it is the same caller, with the customer and
    -- what the lead is about.
    CREATE TABLE lead_matches (
        dealer_id   TEXT NOT NULL,
        proof       TEXT NOT NULL,      -- caller:..., context:... or key:...
        contact     TEXT NOT NULL,
        subject     TEXT NOT NULL,      -- vehicle and appointment type
        received_at INTEGER NOT NULL,
        lead_id     TEXT NOT NULL,
        PRIMARY KEY (dealer_id, proof, contact, subject, received_at, lead_id)
    ) WITHOUT ROWID;
    INSERT OR IGNORE INTO lead_matches
        SELECT dealer_id, 'caller:' || substr(subject, 1, instr(subject, char(10)) - 1), contact,
               substr(subject, instr(subject, char(10)) + 1), received_at, lead_id
        FROM lead_subjects WHERE subject NOT LIKE 'anonymous' || char(10) || '%';
    DROP TABLE lead_subjects;

    -- What counts for limits, for a day.
    CREATE TABLE lead_tallies (
        dealer_id   TEXT NOT NULL,
        subject     TEXT NOT NULL,
        at          INTEGER NOT NULL,
        submission  INTEGER NOT NULL,
        PRIMARY KEY (dealer_id, subject, at, submission)
    ) WITHOUT ROWID;
    CREATE INDEX lead_tallies_by_age ON lead_tallies (dealer_id, at);

    ALTER TABLE idempotency_keys RENAME COLUMN principal TO scope;
    UPDATE idempotency_keys SET scope = 'caller:' || scope WHERE scope <> 'anonymous';
    INSERT OR IGNORE INTO idempotency_keys
            (dealer_id, scope, key, payload_hash, reply, first_seen_at)
        SELECT k.dealer_id,
               'agent:' || coalesce(json_extract(s.payload, '$.source_agent.name'),
                                    json_extract(s.payload, '$.source_agent'))
                   || char(10) || contact.value,
               k.key, k.payload_hash, k.reply, k.first_seen_at
        FROM idempotency_keys k
        JOIN lead_submissions s ON s.lead_id = json_extract(k.reply, '$[0].lead_id')
            AND s.received_at = k.first_seen_at
            AND json_extract(s.payload, '$.idempotency_key') = k.key
        JOIN json_each(json_array(
            'email:' || lower(json_extract(s.payload, '$.customer.email')),
            'phone:' || json_extract(s.payload, '$.customer.phone'))) contact
        WHERE k.scope = 'anonymous' AND contact.value IS NOT NULL;
    DELETE FROM idempotency_keys WHERE scope = 'anonymous';
";
