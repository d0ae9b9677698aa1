//! Readers for TLS: certificate files, or a certificate from an ACME authority.

use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};

use super::delivery::mailbox;
use super::values::{self, list, of_text, path, reject, secure_address};
use crate::config::Tls;
use crate::config::acme::{Acme, DIRECTORY};

/// Maximum number of names in a certificate of Let's Encrypt.
const MAX_NAMES: usize = 100;

/// Reads `[server.tls]`.
pub(super) fn tls(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<(Tls, Option<Acme>)> {
    let file = path(4_000);
    read_object!(value, at, problems, closed {
        optional "certificate" => certificate: &file,
        optional "key" => key: &file,
        optional "client_ca" => client_ca: &file,
        optional "acme" => acme: ordered,
    });
    let named = |key| value.get(key).is_some();
    for key in ["certificate", "key"] {
        match (named(key), named("acme")) {
            (true, true) => {
                let message = "is what [server.tls.acme] orders; keep one of the two";
                reject(&at.key(key), problems, message);
            }
            (false, false) => {
                let message = "is missing; name the file, or have the server order a certificate by \
                               [server.tls.acme]";
                reject(&at.key(key), problems, message);
            }
            (true, false) | (false, true) => {}
        }
    }
    if named("acme") {
        let acme = acme?;
        return Some((Tls { certificate: acme.file(), key: acme.file(), client_ca }, Some(acme)));
    }
    Some((Tls { certificate: certificate?, key: key?, client_ca }, None))
}

/// Reads `[server.tls.acme]`.
fn ordered(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Acme> {
    let file = path(4_000);
    read_object!(value, at, problems, closed {
        required "domains" => domains: list(1, Some(MAX_NAMES), domain),
        optional "contact" => contact: list(0, Some(10), mailbox),
        optional "directory" => directory: secure_address,
        required "terms_agreed" => terms_agreed: parse::boolean,
        required "folder" => folder: &file,
        optional "ca_file" => ca_file: &file,
    });
    if terms_agreed == Some(false) {
        let message = "must be true: read the terms of the authority, which orders a certificate for \
                       nobody who does not agree to them";
        reject(&at.key("terms_agreed"), problems, message);
    }
    let mut names = domains?;
    names.sort_unstable();
    names.dedup();
    Some(Acme {
        domains: names,
        contact: contact.unwrap_or_default(),
        directory: directory.unwrap_or_else(|| DIRECTORY.to_owned()),
        folder: folder?,
        ca_file,
    })
}

/// Reads a name that an authority can validate over TLS (RFC 8737): neither an address nor a
/// wildcard.
fn domain(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be one host name such as cars.example.com: an address, or a wildcard, cannot be \
                        shown to be ours in this way";
    let is_wildcard = value.as_str().is_some_and(|text| text.contains('*'));
    if is_wildcard {
        reject(at, problems, HINT);
        return None;
    }
    let host = values::host(value, at, problems)?;
    of_text((value, at, problems), HINT, |_| {
        let top = host.rsplit('.').next().unwrap_or_default();
        let is_name = !host.starts_with('[') && !top.bytes().all(|byte| byte.is_ascii_digit());
        is_name.then(|| host.clone())
    })
}
