//! Later migrations of the publishers' tables.

/// Columns, tables and indexes by which a publisher's entities are found and counted. Existing rows get their terms
/// from their body, and count as changed by themselves, so that their state is updated as soon as the publisher runs.
pub(super) const INDEX: &str = r#"
    ALTER TABLE publisher_things ADD COLUMN class TEXT COLLATE "C" NOT NULL DEFAULT '';
    ALTER TABLE publisher_things ADD COLUMN changes_at BIGINT;  -- microseconds; NULL: never by itself
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
        thing     BIGINT NOT NULL,      -- its place
        PRIMARY KEY (publisher, kind, field, value, owner, thing)
    );
    CREATE INDEX publisher_terms_by_thing ON publisher_terms (thing, field, value, owner);
    CREATE TABLE publisher_counts (
        publisher TEXT NOT NULL,
        kind      TEXT NOT NULL,
        owner     TEXT NOT NULL,
        account   TEXT NOT NULL,        -- empty: none
        state     TEXT COLLATE "C" NOT NULL,
        class     TEXT COLLATE "C" NOT NULL,
        things    BIGINT NOT NULL,
        PRIMARY KEY (publisher, kind, owner, account, state, class)
    );
    CREATE INDEX publisher_counts_by_account
        ON publisher_counts (publisher, kind, account, state, class, things);
    UPDATE publisher_things SET state = COALESCE(replace(body, '\u0000', '\ufffd')::json ->> 'status', state),
            class = CASE WHEN replace(body, '\u0000', '\ufffd')::json ->> 'sandbox' = 'true' THEN 'sandbox' ELSE 'live' END
        WHERE kind = 'account';
    UPDATE publisher_things SET changes_at = 0
        WHERE kind IN ('media_buy', 'creative', 'task') OR kind = 'proposal' AND state = 'draft';
    INSERT INTO publisher_counts
        SELECT publisher, kind, owner, COALESCE(account, ''), state, class, COUNT(*)
        FROM publisher_things GROUP BY 1, 2, 3, 4, 5, 6;
    INSERT INTO publisher_terms
        SELECT DISTINCT publisher, kind, 'package', p ->> 'package_id', owner, place
        FROM publisher_things CROSS JOIN LATERAL json_array_elements(replace(body, '\u0000', '\ufffd')::json -> 'packages') p
        WHERE kind = 'media_buy' AND p ->> 'package_id' IS NOT NULL;
    INSERT INTO publisher_terms
        SELECT DISTINCT publisher, kind, 'creative', a ->> 'creative_id', owner, place
        FROM publisher_things
            CROSS JOIN LATERAL json_array_elements(replace(body, '\u0000', '\ufffd')::json -> 'packages') p
            CROSS JOIN LATERAL json_array_elements(p -> 'creative_assignments') a
        WHERE kind = 'media_buy' AND a ->> 'creative_id' IS NOT NULL;
    INSERT INTO publisher_terms
        SELECT publisher, kind, 'chosen_id', replace(body, '\u0000', '\ufffd')::json ->> (kind || '_id'), owner, place
        FROM publisher_things
        WHERE kind IN ('creative', 'audience', 'event_source', 'task')
            AND replace(body, '\u0000', '\ufffd')::json ->> (kind || '_id') IS NOT NULL;
    INSERT INTO publisher_terms
        SELECT publisher, kind, 'about', replace(body, '\u0000', '\ufffd')::json -> 'about' ->> 'thing', owner, place
        FROM publisher_things
        WHERE kind = 'notice' AND replace(body, '\u0000', '\ufffd')::json -> 'about' ->> 'thing' IS NOT NULL;
    INSERT INTO publisher_terms
        SELECT publisher, kind, 'natural_key',
               COALESCE(replace(body, '\u0000', '\ufffd')::json -> 'brand' ->> 'domain', '') || ' ' || (replace(body, '\u0000', '\ufffd')::json ->> 'operator'),
               owner, place
        FROM publisher_things
        WHERE kind = 'account' AND replace(body, '\u0000', '\ufffd')::json ->> 'operator' IS NOT NULL;
"#;
