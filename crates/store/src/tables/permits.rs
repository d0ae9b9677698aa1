//! The buckets of limits that processes share: each takes some permits at a time. PostgreSQL alone has
//! them, in a table that is not logged: what a crash forgets is full again.

/// Takes permits: of what is left as many as a tenth of the share of a process, and one at least. `$1` is
/// the bucket, `$2` how many permits it holds, `$3` how long one takes to come back, in microseconds.
/// A bucket is the moment at which it will be full.
pub(crate) const LEASE: &str = concat!(
    "WITH given AS MATERIALIZED (
        SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) AS now,
               (SELECT GREATEST(1, count(*)) FROM processes WHERE seen_at > ",
    now!(),
    " - 30000) AS live
    )
    INSERT INTO permits (bucket, full_at, leased)
    SELECT $1, now + first * $3, first
    FROM given, LATERAL (SELECT GREATEST(1, $2 / (10 * live)) AS first) AS lease
    ON CONFLICT (bucket) DO UPDATE SET (full_at, leased) = (
        SELECT base + part * $3, part
        FROM (SELECT GREATEST(permits.full_at, now) AS base, now, live FROM given) AS bucket,
             LATERAL (SELECT GREATEST(0, (now + $2 * $3 - base) / $3) AS rest) AS rest,
             LATERAL (SELECT LEAST(rest, GREATEST(1, rest / (10 * live))) AS part) AS part
    )
    RETURNING leased, full_at - (SELECT now FROM given), (SELECT live FROM given)"
);

/// Forgets buckets that are full.
pub(crate) const TIDY: &str = "
    DELETE FROM permits
    WHERE full_at < CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)";
