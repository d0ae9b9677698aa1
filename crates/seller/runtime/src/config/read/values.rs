//! Readers for kinds of values that only settings have.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;

use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tracing_subscriber::filter::Targets;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::format;
use tradepost_document::json::Value;
use tradepost_document::parse;
pub(super) use tradepost_document::parse::{of_text, reject};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_document::toml::parse_duration;

use crate::config::delivery::ConfigSecret;

/// Reads a table into a struct with `read_object!`, one member for each key. A required key must be
/// present; an optional one that is absent gets the default after its reader, or `None`.
///
/// A struct may have one part that is a struct of its own: its members have a leading dot. Code
/// after `then` runs when all keys are read and before defaults are filled in; members that it
/// computes are listed after the part.
macro_rules! read_table {
    ($value:expr, $at:expr, $problems:expr, $name:ident {
        $( $need:ident $key:literal => $member:ident : $reader:expr $(=> $usual:expr)?, )*
    }) => {{
        tradepost_document::read_object!($value, $at, $problems, closed { $( $need $key => $member: $reader, )* });
        $( read_table!(@settle $need $member $($usual)?); )*
        Some($name { $( $member, )* })
    }};
    ($value:expr, $at:expr, $problems:expr, $name:ident { $part:ident: $inner:ident $(, $more:ident)* } {
        $( $need:ident $key:literal => $($own:ident)? $(.$member:ident)? : $reader:expr $(=> $usual:expr)?, )*
    } then { $($then:tt)* }) => {{
        tradepost_document::read_object!($value, $at, $problems, closed {
            $( $need $key => $($own)? $($member)?: $reader, )*
        });
        $($then)*
        $( read_table!(@settle $need $($own)? $($member)? $($usual)?); )*
        Some($name { $part: $inner { $( $($member,)? )* }, $( $($own,)? )* $( $more, )* })
    }};
    (@settle required $member:ident) => { let $member = $member?; };
    (@settle optional $member:ident) => {};
    (@settle optional $member:ident $usual:expr) => { let $member = $member.unwrap_or($usual); };
}
pub(super) use read_table;

/// Reads a table over a struct of defaults: keys that are absent keep their default.
macro_rules! read_over {
    ($value:expr, $at:expr, $problems:expr, $usual:expr, {
        $( $key:literal => $member:ident : $reader:expr, )*
    }) => {{
        let mut table = $usual;
        tradepost_document::read_object!($value, $at, $problems, closed { $( optional $key => $member: $reader, )* });
        $( if let Some(read) = $member {
            table.$member = read;
        } )*
        table
    }};
}
pub(super) use read_over;

/// Name and time zone.
pub(super) type NamedZone = (String, TimeZone);

/// Wraps a reader for an optional value.
pub(super) fn some<T>(
    reader: impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<T>,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<Option<T>> {
    move |value, at, problems| reader(value, at, problems).map(Some)
}

/// Returns the items of a list, or none when it is not a list.
pub(super) fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Reads a list of `min` to `max` items, whose names must be unique after `shape` normalises them;
/// `another` is the message for a duplicate.
pub(super) fn named<T>(
    min: usize,
    max: Option<usize>,
    item: impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<T>,
    shape: impl Fn(&str) -> String,
    another: &'static str,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<Vec<T>> {
    move |value, at, problems| {
        let list = parse::list(value, at, problems, (min, max), &item);
        let mut names = BTreeSet::new();
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            let name = item.get("name").and_then(Value::as_str);
            if name.is_some_and(|name| !names.insert(shape(name))) {
                reject(&at.index(index).key("name"), problems, another);
            }
        }
        list
    }
}

/// Keys that belong to some channels only.
pub(super) struct ChannelKeys<W: 'static> {
    keys: &'static [&'static str],
    ways: &'static [W],
    /// True when each of these channels requires the keys.
    is_required: bool,
}

impl<W: 'static> ChannelKeys<W> {
    /// Creates keys that these channels require.
    pub(super) const fn required(keys: &'static [&'static str], ways: &'static [W]) -> Self {
        Self { keys, ways, is_required: true }
    }

    /// Creates keys that these channels may have.
    pub(super) const fn optional(keys: &'static [&'static str], ways: &'static [W]) -> Self {
        Self { keys, ways, is_required: false }
    }
}

/// Checks that each key belongs to the channel and that required keys are present. It looks at the
/// raw table: a key whose value is wrong has its own problem already and is not missing.
pub(super) fn check_keys<W: Vocabulary + PartialEq + Display>(
    table: &[ChannelKeys<W>],
    way: Option<W>,
    belongs: &str,
    by: &str,
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) {
    let Some(way) = way else { return };
    for ChannelKeys { keys, ways, is_required } in table {
        for key in keys.iter().copied() {
            let is_there = value.get(key).is_some();
            if is_there && !ways.contains(&way) {
                let names: Vec<_> = ways.iter().map(|way| way.name()).collect();
                let names = names.join(" or ");
                let message = format!("belongs to {belongs}s {by} {names}, not {by} {way}");
                reject(&at.key(key), problems, message);
            }
            if !is_there && *is_required && ways.contains(&way) {
                let message = format!("is missing; a {belongs} {by} {way} needs it");
                reject(&at.key(key), problems, message);
            }
        }
    }
}

/// Reads a secret that is given under its key or in a file.
pub(super) fn secret(
    value: &Value,
    key: &str,
    text: Option<String>,
    file: Option<String>,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<ConfigSecret> {
    let file_key = format!("{key}_file");
    if value.get(key).is_some() && value.get(&file_key).is_some() {
        reject(&at.key(key), problems, format!("is here twice; keep this or {file_key}"));
    }
    text.map(ConfigSecret::Text).or(file.map(|file| ConfigSecret::File(file.into())))
}

/// Reads words of a vocabulary, at least one and none twice, in the vocabulary's order.
pub(super) fn words<T: Vocabulary + PartialEq>(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<T>> {
    let chosen = parse::list(value, at, problems, (1, None), parse::word::<T>);
    parse::unique(value, at, problems);
    let chosen = chosen?;
    let in_order = T::ALL.iter().filter(|word| chosen.contains(word));
    Some(in_order.copied().collect())
}

/// Reads a text that `accept` converts; `hint` says what it must be.
pub(super) fn text_that<T>(
    hint: &'static str,
    accept: impl Fn(&str) -> Option<T>,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<T> {
    move |value, at, problems| of_text((value, at, problems), hint, &accept)
}

/// Reads a whole number from `min` to `max`.
pub(super) fn whole<N: TryFrom<i64>>(
    min: i64,
    max: i64,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<N> {
    move |value, at, problems| {
        let number = parse::integer(value, at, problems, min, Some(max))?;
        N::try_from(number).ok()
    }
}

/// Reads a text on one line, neither blank nor longer than `max` characters.
pub(super) fn line(
    max: usize,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<String> {
    move |value, at, problems| {
        let text = prose(max)(value, at, problems)?;
        if text.contains(char::is_control) {
            reject(at, problems, "must be on one line, without control characters");
            return None;
        }
        Some(text)
    }
}

/// Reads the path of a file or folder, of at most `max` characters.
pub(super) fn path(
    max: usize,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<PathBuf> {
    move |value, at, problems| line(max)(value, at, problems).map(Into::into)
}

/// Reads a text of one or more lines, neither blank nor longer than `max` characters.
pub(super) fn prose(
    max: usize,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<String> {
    move |value, at, problems| {
        let text = parse::text_of(value, at, problems, 1, Some(max))?;
        let text = text.trim();
        if text.is_empty() {
            reject(at, problems, "must not be blank");
            return None;
        }
        Some(text.to_owned())
    }
}

/// Reads an address and port to listen on.
pub(super) fn socket(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<SocketAddr> {
    const HINT: &str = "must be an IP address and a port such as 127.0.0.1:8080 or [::]:8080";
    of_text((value, at, problems), HINT, |text| text.parse().ok())
}

/// Reads a duration between two bounds, which are written as people write durations.
pub(super) fn duration(
    least: &'static str,
    most: &'static str,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<SignedDuration> {
    let bound = |text| parse_duration(text).unwrap_or_else(|| unreachable!("{text} is a duration"));
    let range = bound(least)..=bound(most);
    move |value, at, problems| {
        const HINT: &str = "must be a duration such as \"10s\", \"15m\", \"24h\" or \"90d\"";
        let duration = of_text((value, at, problems), HINT, parse_duration)?;
        if !range.contains(&duration) {
            reject(at, problems, format!("must be from {least} to {most}"));
            return None;
        }
        Some(duration)
    }
}

/// Reads a web page's address: absolute, `http` or `https`, with a host and without a password.
pub(super) fn web_page(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    const HINT: &str = "must be an absolute web address such as https://www.example.com/page";
    of_text((value, at, problems), HINT, |text| is_web_address(text).then(|| text.to_owned()))
}

/// Reads an address that is safe from eavesdropping: https, or this machine.
pub(super) fn secure_address(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    const HINT: &str = "must be an address with https, such as \
                        https://www.example.com/page; http only on 127.0.0.1 or [::1]";
    // Only by IP address: what a name such as `localhost` resolves to is up to the machine.
    let here = |text: &str| {
        let rest = text.strip_prefix("http://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        // The last colon may also be within an IPv6 address.
        let host = authority.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        let host = host.map_or(authority, |(host, _)| host);
        Some(matches!(host, "127.0.0.1" | "[::1]"))
    };
    let address = web_page(value, at, problems)?;
    of_text((value, at, problems), HINT, |text| {
        let secure = text.starts_with("https://") || here(text) == Some(true);
        secure.then_some(address)
    })
}

/// Reads a base address: as above, without query and fragment. Slashes at the end are removed.
pub(super) fn web_base(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    const HINT: &str =
        "must be an absolute web address without query, such as https://agents.example.com";
    of_text((value, at, problems), HINT, |text| {
        (is_web_address(text) && !text.contains(['?', '#']))
            .then(|| text.trim_end_matches('/').to_owned())
    })
}

fn is_web_address(text: &str) -> bool {
    let authority = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .unwrap_or_default();
    let host = authority
        .rsplit_once(':')
        .filter(|(_, port)| port.parse::<u16>().is_ok_and(|port| port > 0))
        .map_or(authority, |(host, _)| host);
    format::is_uri(text) && is_host(&host.to_ascii_lowercase())
}

/// Reads a host name in lower case.
pub(super) fn host(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    const HINT: &str = "must be a host name without scheme and port, such as cars.example.com";
    of_text((value, at, problems), HINT, |text| {
        Some(text.to_ascii_lowercase()).filter(|host| is_host(host))
    })
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.len() <= 253 && host.split('.').all(label)
}

/// Reads a dealer's id, which names files, database rows and command line arguments.
pub(super) fn id(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must have 1 to 64 characters a-z, 0-9, - and _, and start with a letter \
                        or digit";
    of_text((value, at, problems), HINT, |text| {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        ((1..=64).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with(['-', '_']))
            .then(|| text.to_owned())
    })
}

/// Reads a time zone of the IANA database by its own name.
pub(super) fn time_zone(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<NamedZone> {
    const HINT: &str = "must be a time zone of the IANA database such as America/Los_Angeles";
    of_text((value, at, problems), HINT, |text| {
        let zone = TimeZone::get(text).ok().filter(|zone| !zone.is_unknown())?;
        Some((zone.iana_name()?.to_owned(), zone))
    })
}

/// Reads a calendar date.
pub(super) fn date(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Date> {
    parse::date(value, at, problems)?.parse().ok()
}

/// Reads a list of `min` to `max` items.
pub(super) fn list<T>(
    min: usize,
    max: Option<usize>,
    item: impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<T>,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<Vec<T>> {
    move |value, at, problems| parse::list(value, at, problems, (min, max), &item)
}

/// Reads a list of `min` to `max` items into a set.
pub(super) fn set<T: Ord>(
    min: usize,
    max: Option<usize>,
    item: impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<T>,
) -> impl Fn(&Value, &DocumentPlace<'_>, &mut Problems) -> Option<BTreeSet<T>> {
    move |value, at, problems| {
        parse::list(value, at, problems, (min, max), &item).map(BTreeSet::from_iter)
    }
}

/// Reads a log filter.
pub(super) fn log_filter(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    const HINT: &str = "must be a log filter such as info or warn,tradepost=debug";
    of_text((value, at, problems), HINT, |text| {
        text.parse::<Targets>().is_ok().then(|| text.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_addresses_have_a_host_and_no_password() {
        for good in ["https://example.com", "http://127.0.0.1:8080/a", "https://[::1]/x"] {
            assert!(is_web_address(good), "{good}");
        }
        for bad in [
            "example.com",
            "/a",
            "ftp://example.com",
            "https://",
            "https:///a",
            "https://user:secret@example.com",
            "https://exa mple.com",
            "https://example.com:0",
            "https://example.com:99999",
        ] {
            assert!(!is_web_address(bad), "{bad}");
        }
    }
}
