//! Readers for how callers say who they are.

use serde_json::Value;
use tradepost_wire::parse::{self, read_object};
use tradepost_wire::problem::{At, Problems};

use super::values::{line, of_text, reject};
use crate::config::{Auth, Jwt, KeySource};

/// `[dealers.auth]`
pub(super) fn auth(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Auth> {
    read_object!(value, at, problems, closed {
        optional "required" => required: parse::boolean,
        optional "api_keys" => api_keys: parse::boolean,
        optional "jwt" => jwt: read_jwt,
    });
    let auth = Auth {
        required: required.unwrap_or_default(),
        api_keys: api_keys.unwrap_or_default(),
        jwt,
    };
    // Tokens that could not be read have their own mistakes.
    if auth.required && !auth.api_keys && value.get("jwt").is_none() {
        let message = "nobody could call: set api_keys = true, or describe tokens with jwt";
        reject(&at.key("required"), problems, message);
    }
    Some(auth)
}

fn read_jwt(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Jwt> {
    read_object!(value, at, problems, closed {
        required "issuer" => issuer: line(500),
        required "audience" => audience: line(500),
        optional "jwks_file" => jwks_file: line(4_000),
        optional "jwks_url" => jwks_url: secure_address,
        optional "scope_claim" => scope_claim: line(100),
    });
    let named = |key| value.get(key).is_some();
    if named("jwks_file") == named("jwks_url") {
        reject(at, problems, "needs the issuer's keys: either jwks_file or jwks_url");
        return None;
    }
    let keys = match (jwks_file, jwks_url) {
        (Some(file), _) => KeySource::File(file.into()),
        (None, url) => KeySource::Url(url?),
    };
    Some(Jwt { issuer: issuer?, audience: audience?, keys, scope_claim })
}

/// An address whose answer nobody on the way can forge: whoever chooses the keys chooses who is
/// let in.
fn secure_address(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be an address with https, such as \
                        https://login.example.com/jwks.json; http only on 127.0.0.1 or [::1]";
    let here = |text: &str| {
        let rest = text.strip_prefix("http://")?;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        let host = host.map_or(authority, |(host, _)| host);
        Some(matches!(host, "127.0.0.1" | "[::1]"))
    };
    let address = super::values::web_page(value, at, problems)?;
    of_text((value, at, problems), HINT, |text| {
        let secure = text.starts_with("https://") || here(text) == Some(true);
        secure.then_some(address)
    })
}
