//! Readers for the authentication of callers.

use tradepost_document::format;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_server::auth::key;
use tradepost_server::tls::client::{CertificateSubject, Fingerprint};

use super::values::{host, line, of_text, path, read_over, reject, secure_address, some, words};
use crate::config::{AuthSettings, JwtSettings, KeySource, KnownCertificate};
use crate::gate::{KeyScope, Scopes};

/// Reads `[dealers.auth]`.
pub(super) fn auth(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AuthSettings> {
    let auth = read_over!(value, at, problems, AuthSettings::default(), {
        "required" => required: parse::boolean,
        "api_keys" => api_keys: parse::boolean,
        "jwt" => jwt: some(read_jwt),
        "certificates" => certificates: read_certificates,
    });
    // A value that could not be read has its own mistake.
    let named = ["jwt", "certificates"].iter().any(|key| value.get(key).is_some());
    if auth.required && !auth.api_keys && !named {
        let message = "nobody could call: set api_keys = true, describe tokens with jwt, or list \
                       certificates";
        reject(&at.key("required"), problems, message);
    }
    Some(auth)
}

fn read_certificates(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<KnownCertificate>> {
    let known = parse::list(value, at, problems, (1, None), read_certificate)?;
    for (index, certificate) in known.iter().enumerate() {
        if known.iter().take(index).any(|other| other.subject == certificate.subject) {
            reject(&at.index(index), problems, "the same certificate is listed before");
        }
    }
    Some(known)
}

fn read_certificate(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<KnownCertificate> {
    read_object!(value, at, problems, closed {
        required "name" => name: caller_name,
        optional "fingerprint" => fingerprint: sha256,
        optional "dns" => dns: host,
        optional "uri" => uri: identifier,
        optional "scopes" => scopes: words::<KeyScope>,
    });
    let named = ["fingerprint", "dns", "uri"].iter().filter(|key| value.get(key).is_some());
    if named.count() != 1 {
        reject(at, problems, "needs one of fingerprint, dns and uri, and only one");
        return None;
    }
    let subject = fingerprint.map(CertificateSubject::Fingerprint);
    let subject =
        subject.or(dns.map(CertificateSubject::Dns)).or(uri.map(CertificateSubject::Uri))?;
    let scopes = match value.get("scopes") {
        None => Scopes::All,
        Some(_) => Scopes::only(scopes?),
    };
    Some(KnownCertificate { name: name?, subject, scopes })
}

/// Reads a caller name by the rule for names of API keys, because both name callers.
fn caller_name(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must have 1 to 64 characters A-Z, a-z, 0-9, -, _ and ., and start with a \
                        letter or digit";
    of_text((value, at, problems), HINT, |text| key::is_name(text).then(|| text.to_owned()))
}

fn sha256(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Fingerprint> {
    const HINT: &str = "must be the SHA-256 of the certificate: sha256: and 64 hexadecimal digits";
    of_text((value, at, problems), HINT, |text| text.parse().ok())
}

fn identifier(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be an absolute URI such as spiffe://example.com/agent";
    of_text((value, at, problems), HINT, |text| format::is_uri(text).then(|| text.to_owned()))
}

fn read_jwt(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<JwtSettings> {
    read_object!(value, at, problems, closed {
        required "issuer" => issuer: line(500),
        required "audience" => audience: line(500),
        optional "jwks_file" => jwks_file: path(4_000),
        optional "jwks_url" => jwks_url: secure_address,
        optional "scope_claim" => scope_claim: line(100),
    });
    let named = |key| value.get(key).is_some();
    if named("jwks_file") == named("jwks_url") {
        reject(at, problems, "needs the issuer's keys: either jwks_file or jwks_url");
        return None;
    }
    let keys = match (jwks_file, jwks_url) {
        (Some(file), _) => KeySource::File(file),
        (None, url) => KeySource::Url(url?),
    };
    Some(JwtSettings { issuer: issuer?, audience: audience?, keys, scope_claim })
}
