//! Buckets of rate limits that processes share; each process takes some permits at a time. Only PostgreSQL has them, in
//! an unlogged table: after a crash all buckets are full again.

use super::processes::NOW;

/// Result of the statement that takes permits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PermitsRow {
    /// Number of permits taken.
    pub(crate) permits: i64,
    /// Time in microseconds until the bucket is full.
    pub(crate) full_in: i64,
    /// Number of processes that share the bucket.
    pub(crate) processes: i64,
}

/// Returns the statement that takes permits: of those left as many as a tenth of the share of a process, and at least
/// one. `$1` is the bucket, `$2` its number of permits, `$3` the time after which one is available again, in
/// microseconds. A bucket is stored as the time at which it will be full.
pub(crate) fn lease() -> String {
    format!(
        "WITH given AS MATERIALIZED (
        SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) AS now,
               (SELECT GREATEST(1, count(*)) FROM processes WHERE seen_at > {NOW} - 30000) AS live
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
    RETURNING leased, full_at - (SELECT now FROM given) AS full_in, (SELECT live FROM given) AS live"
    )
}

/// Deletes buckets that are full.
pub(crate) const DELETE_FULL_BUCKETS: &str = "
    DELETE FROM permits
    WHERE full_at < CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)";
