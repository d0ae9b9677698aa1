//! Rules of RFC 9111 for a cached answer, as a pure function of its headers and of the moments at which it
//! was requested, received and used. The cache is a private one (§1), so `private` and `s-maxage` do not apply to it.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{
    AGE, CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderMap, HeaderName, LAST_MODIFIED, VARY,
};
use tradepost_document::http::date::read as http_date;

/// Longest lifetime assumed for an answer that states none, which is a tenth of the time since its last
/// change (§4.2.2).
const MAX_GUESS: Duration = Duration::from_secs(24 * 3_600);

/// Largest number of seconds that is distinguished (§1.2.2).
const MAX_SECONDS: u64 = 1 << 31;

/// Headers of an answer that govern its caching, with the moments of request and receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheTerms {
    control: Control,
    age: Duration,
    date: Option<Timestamp>,
    /// `Some(None)` is a time that cannot be read and counts as past (§5.3).
    expires: Option<Option<Timestamp>>,
    etag: Option<String>,
    last_modified: Option<String>,
    varies_without_end: bool,
    asked: Timestamp,
    received: Timestamp,
}

/// Directives of `Cache-Control`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Control {
    is_there: bool,
    no_store: bool,
    no_cache: bool,
    must_revalidate: bool,
    max_age: Option<Duration>,
    stale_if_error: Option<Duration>,
}

/// Permitted use of a cached answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheUse {
    /// Fresh: it can be used without asking.
    Fresh,
    /// The seller has to be asked whether the answer still holds.
    Check {
        /// True when the stale answer may be used if the seller cannot be asked.
        usable: bool,
    },
}

impl CacheTerms {
    /// Reads the headers of an answer requested and received at these moments.
    #[must_use]
    pub fn read(headers: &HeaderMap, asked: Timestamp, received: Timestamp) -> Self {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let owned = |name| text(name).map(str::to_owned);
        let seconds = |text: &str| digits(text.split(',').next().unwrap_or_default());
        let varies = headers.get_all(VARY).iter().filter_map(|value| value.to_str().ok());
        Self {
            control: Control::read(headers),
            age: text(AGE).and_then(seconds).unwrap_or_default(),
            date: text(DATE).and_then(http_date),
            expires: headers.get(EXPIRES).map(|value| value.to_str().ok().and_then(http_date)),
            etag: owned(ETAG),
            last_modified: owned(LAST_MODIFIED),
            varies_without_end: varies
                .flat_map(|names| names.split(','))
                .any(|name| name.trim() == "*"),
            asked,
            received,
        }
    }

    /// Returns the terms after a 304 with these headers, which replace those they name (§4.3.4).
    #[must_use]
    pub fn renewed(&self, headers: &HeaderMap, asked: Timestamp, received: Timestamp) -> Self {
        let new = Self::read(headers, asked, received);
        Self {
            control: if new.control.is_there { new.control } else { self.control },
            expires: new.expires.or(self.expires),
            etag: new.etag.or_else(|| self.etag.clone()),
            last_modified: new.last_modified.or_else(|| self.last_modified.clone()),
            varies_without_end: new.varies_without_end || self.varies_without_end,
            ..new
        }
    }

    /// Returns true when a 304 with these headers is about this answer, as far as entity tags tell.
    #[must_use]
    pub fn is_confirmed_by(&self, headers: &HeaderMap) -> bool {
        let weak = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
        let new = headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        match (&self.etag, new) {
            (Some(kept), Some(new)) => weak(kept) == weak(new),
            (Some(_) | None, None) => true,
            // An answer without a tag was not compared by tag.
            (None, Some(_)) => self.last_modified.is_some(),
        }
    }

    /// Returns true when the answer may be cached.
    #[must_use]
    pub fn may_be_kept(&self) -> bool {
        !self.control.no_store && !self.varies_without_end
    }

    /// Returns the entity tag and the time of last change, as sent, for a conditional request.
    #[must_use]
    pub fn validators(&self) -> (Option<&str>, Option<&str>) {
        (self.etag.as_deref(), self.last_modified.as_deref())
    }

    /// Returns the permitted use at this moment. `patience` is the longest time for which the caller uses a
    /// stale answer when there is no other.
    #[must_use]
    pub fn at(&self, now: Timestamp, patience: Duration) -> CacheUse {
        let age = self.age_at(now);
        let lifetime = self.lifetime();
        // After the clock was set back the age is unknown.
        let is_later = now >= self.received;
        if is_later && age < lifetime && !self.control.no_cache {
            return CacheUse::Fresh;
        }
        // A seller can extend the caller's patience; it can only shorten it by forbidding stale use.
        let patience = self.control.stale_if_error.unwrap_or_default().max(patience);
        let stale_for = age.saturating_sub(lifetime);
        let forbidden = self.control.no_cache || self.control.must_revalidate;
        CacheUse::Check { usable: is_later && !forbidden && stale_for <= patience }
    }

    /// Returns the age (§4.2.3): the larger of the age by the dates and by the header, plus the time since receipt.
    fn age_at(&self, now: Timestamp) -> Duration {
        let apparent = self.date.map(|date| between(date, self.received)).unwrap_or_default();
        let stated = self.age.saturating_add(between(self.asked, self.received));
        apparent.max(stated).saturating_add(between(self.received, now))
    }

    /// Returns the freshness lifetime (§4.2.1).
    fn lifetime(&self) -> Duration {
        let date = self.date.unwrap_or(self.received);
        // `max-age` takes precedence over `Expires` (§5.3).
        if let Some(max_age) = self.control.max_age {
            return max_age;
        }
        if let Some(expires) = self.expires {
            return expires.map(|expires| between(date, expires)).unwrap_or_default();
        }
        let changed = self.last_modified.as_deref().and_then(http_date);
        changed.map(|changed| (between(changed, date) / 10).min(MAX_GUESS)).unwrap_or_default()
    }
}

impl Control {
    /// Reads all lines as one list. Of two values of a directive the shorter counts; a value that cannot be
    /// read counts as zero, so that the answer is stale (§4.2.1).
    fn read(headers: &HeaderMap) -> Self {
        let mut control = Self::default();
        for line in headers.get_all(CACHE_CONTROL) {
            control.is_there = true;
            // A line that cannot be read may forbid anything.
            let Ok(line) = line.to_str() else {
                control.no_cache = true;
                continue;
            };
            for directive in directives(line) {
                let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
                let value = value.trim().trim_matches('"');
                let shorter = |known: Option<Duration>| {
                    let value = digits(value).unwrap_or_default();
                    Some(known.map_or(value, |known| known.min(value)))
                };
                match name.trim().to_ascii_lowercase().as_str() {
                    "no-store" => control.no_store = true,
                    "no-cache" => control.no_cache = true,
                    "must-revalidate" => control.must_revalidate = true,
                    "max-age" => control.max_age = shorter(control.max_age),
                    "stale-if-error" => control.stale_if_error = shorter(control.stale_if_error),
                    _ => {}
                }
            }
        }
        control
    }
}

/// Splits a list at its commas, except those within quotes.
fn directives(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |character| {
        quoted ^= character == '"';
        character == ',' && !quoted
    })
}

fn digits(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Duration::from_secs(text.parse().unwrap_or(MAX_SECONDS).min(MAX_SECONDS)))
}

/// Returns the time from one moment to a later one; zero when it is not later.
fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(from.duration_until(to)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
