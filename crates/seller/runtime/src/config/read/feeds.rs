//! Readers for inventory feeds.

use std::time::Duration;

use jiff::SignedDuration;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use tradepost_dealer::import::Preset;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_document::words;

use super::values::{
    self, ChannelKeys, duration, items, line, of_text, reject, secret, secure_address, whole,
};
use crate::config::feeds::{
    Extent, FeedAddress, FeedConfig, FeedFolder, FeedLocation, FeedOrigin, Guard, MappingSource,
    Pull, Sftp,
};

/// Maximum size of a feed, more than twice what a catalogue of 100,000 vehicles needs.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

words! {
    /// Kinds of sources.
    enum FeedWord {
        /// A folder.
        Folder = "folder",
        /// A web address.
        Pull = "pull",
        /// An upload.
        Upload = "upload",
    }
}

/// Keys that belong to some sources only.
const KEYS: &[ChannelKeys<FeedWord>] = &[
    ChannelKeys::required(&["folder"], &[FeedWord::Folder]),
    ChannelKeys::optional(&["files", "quiet"], &[FeedWord::Folder]),
    ChannelKeys::required(&["url"], &[FeedWord::Pull]),
    ChannelKeys::optional(
        &[
            "every",
            "timeout",
            "bearer",
            "bearer_file",
            "user",
            "password",
            "password_file",
            "key_file",
            "known_hosts",
        ],
        &[FeedWord::Pull],
    ),
    ChannelKeys::optional(&["max_bytes"], &[FeedWord::Pull, FeedWord::Upload]),
];

/// Keys for the credentials of a web address; those of SFTP are in the next line.
const WEB_CREDENTIAL_KEYS: &[&str] =
    &["bearer", "bearer_file", "user", "password", "password_file"];
const SFTP_CREDENTIAL_KEYS: &[&str] = &["key_file", "known_hosts"];

/// Checks that an upload has a credential that callers can obtain.
pub(super) fn check_uploads(dealer: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) {
    let auth = dealer.get("auth");
    let takes =
        |key: &str| auth.and_then(|auth| auth.get(key)).is_some_and(|v| v.as_bool() != Some(false));
    if takes("api_keys") || takes("jwt") {
        return;
    }
    for (index, feed) in items(dealer, "feeds").iter().enumerate() {
        if feed.get("from").and_then(Value::as_str) == Some("upload") {
            let message = "needs auth = { api_keys = true }, because whoever uploads shows a key";
            reject(&at.key("feeds").index(index).key("from"), problems, message);
        }
    }
}

/// Reads `[[dealers.feeds]]`.
pub(super) fn feed(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<FeedConfig> {
    let file = line(1_000);
    read_object!(value, at, problems, closed {
        required "name" => name: values::id,
        required "from" => way: parse::word::<FeedWord>,
        optional "preset" => preset: parse::word::<Preset>,
        optional "mapping" => mapping: &file,
        optional "mode" => extent: parse::word::<Extent>,
        optional "max_drop" => max_drop: whole::<u8>(0, 100),
        optional "stale_after" => stale_after: duration("1m", "365d"),
        optional "folder" => folder: &file,
        optional "files" => files: line(200),
        optional "quiet" => quiet: duration("100ms", "1m"),
        optional "url" => url: address,
        optional "every" => every: duration("10s", "7d"),
        optional "timeout" => timeout: duration("100ms", "7d"),
        optional "bearer" => bearer: &file,
        optional "bearer_file" => bearer_file: &file,
        optional "user" => user: line(300),
        optional "password" => password: &file,
        optional "password_file" => password_file: &file,
        optional "key_file" => key_file: ssh_file,
        optional "known_hosts" => known_hosts: ssh_file,
        optional "max_bytes" => max_bytes: whole::<u64>(1_024, 1 << 40),
    });
    values::check_keys(KEYS, way, "feed", "from", value, at, problems);
    if let Some(url) = &url {
        check_login(value, url, at, problems);
    }
    if value.get("preset").is_some() && value.get("mapping").is_some() {
        reject(&at.key("preset"), problems, "a mapping names its preset itself; keep one of them");
    }
    let named = |key| value.get(key).is_some();
    if named("user") != (named("password") || named("password_file")) {
        reject(at, problems, "user and password_file belong together");
    }
    let bearer = secret(value, "bearer", bearer, bearer_file, at, problems);
    let password = secret(value, "password", password, password_file, at, problems);
    let max_bytes = max_bytes.unwrap_or(MAX_BYTES);
    let std = |time: Option<SignedDuration>, default: Duration| {
        time.and_then(|time| Duration::try_from(time).ok()).unwrap_or(default)
    };
    let from = match way? {
        FeedWord::Folder => FeedOrigin::Folder(FeedFolder {
            path: folder?.into(),
            files: files.unwrap_or_else(|| "*".to_owned()),
            quiet: std(quiet, Duration::from_millis(500)),
        }),
        FeedWord::Pull => FeedOrigin::Pull(Pull {
            place: match url? {
                FeedUrl::Web(url) => {
                    FeedLocation::Web(FeedAddress { url, bearer, login: user.zip(password) })
                }
                FeedUrl::Sftp { user, host, port, path } => {
                    let key_file = key_file?.into();
                    let known_hosts = known_hosts?.into();
                    FeedLocation::Sftp(Sftp { user, host, port, path, key_file, known_hosts })
                }
            },
            every: every.unwrap_or(SignedDuration::from_mins(15)),
            timeout: std(timeout, Duration::from_mins(5)),
            max_bytes,
        }),
        FeedWord::Upload => FeedOrigin::Upload { max_bytes },
    };
    Some(FeedConfig {
        name: name?,
        from,
        mapping: match (preset, mapping) {
            (Some(preset), _) => Some(MappingSource::Preset(preset)),
            (None, file) => file.map(|file| MappingSource::File(file.into())),
        },
        extent: extent.unwrap_or(Extent::Full),
        // Feeds arrive unattended, so one that looks incomplete is held back.
        guard: Guard { max_drop: max_drop.unwrap_or(25), force: false },
        stale_after,
    })
}

/// Rejects credentials that belong to the other kind of address.
fn check_login(value: &Value, url: &FeedUrl, at: &DocumentPlace<'_>, problems: &mut Problems) {
    let (others, message) = match url {
        FeedUrl::Web(_) => (SFTP_CREDENTIAL_KEYS, "belongs to addresses with sftp"),
        FeedUrl::Sftp { .. } => {
            (WEB_CREDENTIAL_KEYS, "belongs to web addresses; SFTP has key_file")
        }
    };
    for key in others.iter().filter(|key| value.get(key).is_some()) {
        reject(&at.key(key), problems, message);
    }
    if matches!(url, FeedUrl::Sftp { .. }) {
        for key in SFTP_CREDENTIAL_KEYS.iter().filter(|key| value.get(key).is_none()) {
            reject(&at.key(key), problems, "is missing; a feed from a server of SFTP needs it");
        }
    }
}

/// Location of a feed without the credentials for a web address.
enum FeedUrl {
    Web(String),
    Sftp { user: String, host: String, port: u16, path: String },
}

fn address(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<FeedUrl> {
    const HINT: &str = "must be an address such as sftp://user@sftp.example.com:22/path/feed.csv, \
                        without a password and without * ? [ ] \" ' \\ in the path";
    if value.as_str().is_some_and(|text| text.starts_with("sftp://")) {
        return of_text((value, at, problems), HINT, sftp);
    }
    secure_address(value, at, problems).map(FeedUrl::Web)
}

/// Parses an SFTP address. Text that `sftp` or `ssh` could take for anything but a name is refused
/// and not quoted.
fn sftp(text: &str) -> Option<FeedUrl> {
    let url = Url::parse(text).ok()?;
    if url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    // Decoded before the checks: `%22` is a quote to the program.
    let decoded = |part| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned());
    let user = decoded(url.username())?;
    let path = decoded(url.path())?;
    let host = url.host_str()?.to_owned();
    // A leading hyphen could be an option to `sftp`, or to the `ssh` that it runs.
    let is_name = |text: &str, others: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
    };
    let is_path = path.len() > 1
        && !path.ends_with('/')
        && !path.chars().any(|c| c.is_control() || "*?[]\"'\\".contains(c));
    (is_name(&user, "._-+@") && is_name(&host, ".-[:]") && is_path).then(|| FeedUrl::Sftp {
        user,
        host,
        port: url.port().unwrap_or(22),
        path,
    })
}

/// Reads a path for an option of `ssh`, which expands some characters in such paths.
fn ssh_file(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    let path = line(1_000)(value, at, problems)?;
    if path.starts_with('~') || path.contains(['%', '$', '"', '\\']) {
        reject(at, problems, "must be a path without % $ \" \\ and without ~ at its beginning");
        return None;
    }
    Some(path)
}
