//! Detection of credentials in arguments: AdCP permits them on the transport only. They are found by
//! the names of members, and the caller's own by its value. A seller refuses them with
//! `CREDENTIAL_IN_ARGS`; a buyer checks before it sends, because sent data may have been logged.
// Sellers refuse them, and buyers check their own arguments (AdCP 3.1, "Authentication" and "Error
// handling"; A-7, A-9).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use tradepost_document::json::Value;
use tradepost_document::problem::DocumentPlace;

/// Maximum number of listed members.
const MAX_LISTED: usize = 50;

/// Names of members that contain a credential or key material (AdCP 3.1 L2 authentication,
/// "Credential placement"; further names are those of common providers). A name that ends in `_`
/// and one of these counts too: `meta_access_token`.
const NAMES: &[&str] = &[
    "access_key",
    "access_key_id",
    "access_token",
    "adcp_auth",
    "api_key",
    "api_token",
    "auth_header",
    "auth_token",
    "authorization",
    "authorization_header",
    "basic_auth",
    "bearer",
    "bearer_token",
    "client_assertion",
    "client_secret",
    "cookie",
    "credentials",
    "id_token",
    "jwk",
    "jwks",
    "jwks_uri",
    "jwt",
    "oauth_token",
    "passphrase",
    "passwd",
    "password",
    "private_key",
    "refresh_token",
    "sas_token",
    "secret",
    "secret_key",
    "security_token",
    "service_account_key",
    "session_token",
    "signing_key",
    "subscription_key",
];

/// Members of AdCP's own requests that contain what another party needs to call back, with the
/// members in which they are legal.
const LEGAL: &[(&str, &[&str])] = &[
    ("credentials", &["authentication", "access"]),
    (
        "auth_token",
        &["property_list", "property_list_exclude", "collection_list", "collection_list_exclude"],
    ),
];

/// Member of published posts that describes an authorization without containing it
/// (`published-post-asset.json`).
const DESCRIPTION: &str = "reference_authorization";

/// Members with arbitrary content, in which no credential is legal.
const OPEN: [&str; 2] = ["ext", "context"];

/// Returns JSON Pointers to every member of `arguments`, at any depth, with the name of a
/// credential; at most fifty. `push_notification_config.authentication.credentials` is legal.
/// Values are not examined.
// The receiver's credentials are an exception (AdCP 3.1, "Error handling"; A-8).
#[must_use]
pub fn find(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(arguments, &DocumentPlace::Root, Some(""), 0, &mut found);
    found
}

/// Minimum length in bytes of a credential that is looked for inside other texts; a shorter one may
/// stand there by chance.
const MIN_PART: usize = 8;

/// Returns JSON Pointers to every text of `arguments`, at any depth, that contains this credential; at
/// most fifty. Where a member's name contains it, the pointer is that of the object, because a pointer
/// must not repeat a secret.
#[must_use]
pub fn find_value(arguments: &Value, credential: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !credential.is_empty() {
        walk_texts(arguments, &DocumentPlace::Root, credential, 0, &mut found);
    }
    found.truncate(MAX_LISTED);
    found
}

fn walk_texts(
    value: &Value,
    at: &DocumentPlace<'_>,
    credential: &str,
    depth: usize,
    found: &mut Vec<String>,
) {
    if depth > MAX_DEPTH || found.len() >= MAX_LISTED {
        return;
    }
    match value {
        Value::Object(members) => {
            if members.keys().any(|name| contains(name, credential)) {
                found.push(at.pointer());
                return;
            }
            for (name, member) in members {
                walk_texts(member, &at.key(name), credential, depth + 1, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk_texts(item, &at.index(index), credential, depth + 1, found);
            }
        }
        Value::String(text) if contains(text, credential) => found.push(at.pointer()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns true when a text contains or equals a credential.
fn contains(text: &str, credential: &str) -> bool {
    text == credential || (credential.len() >= MIN_PART && text.contains(credential))
}

/// Maximum depth; every JSON parser refuses deeper nesting.
const MAX_DEPTH: usize = 128;

/// Collects the credentials in `value`. `parent` is the name of the member that contains it; `None`
/// within members with arbitrary content.
fn walk(
    value: &Value,
    at: &DocumentPlace<'_>,
    parent: Option<&str>,
    depth: usize,
    found: &mut Vec<String>,
) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let at = at.key(name);
                let is_found = is_credential(name) && !is_legal(name, parent);
                if is_found && found.len() < MAX_LISTED {
                    found.push(at.pointer());
                }
                let inside =
                    parent.filter(|_| !OPEN.contains(&name.as_str())).map(|_| name.as_str());
                walk(member, &at, inside, depth + 1, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &at.index(index), parent, depth + 1, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_legal(name: &str, parent: Option<&str>) -> bool {
    let Some(parent) = parent else { return false };
    let is_listed = |row: &&(&str, &[&str])| row.0 == name && row.1.contains(&parent);
    name == DESCRIPTION || LEGAL.iter().any(|row| is_listed(&row))
}

/// Returns true if a member, a parameter or a header of this name holds a credential or key material.
#[must_use]
pub fn is_credential(name: &str) -> bool {
    // A cheap test rules out nearly every name.
    may_be_credential(name) && is_spelled_as_credential(name)
}

/// Number of letters that tell most names from those of credentials.
const END: usize = 3;

/// Returns the last letters of a name in lower case, the last one first; zeros when it has fewer.
fn end(name: &str) -> [u8; END] {
    let mut end = [0; END];
    end.iter_mut().zip(letters(name)).for_each(|(place, letter)| *place = letter);
    end
}

/// Returns the letters of a name in lower case from the last to the first.
fn letters(name: &str) -> impl Iterator<Item = u8> {
    let bytes = name.bytes().rev().filter(|byte| !matches!(byte, b'_' | b'-'));
    bytes.map(|byte| byte.to_ascii_lowercase())
}

/// Returns true when the letters of a name end with those of a credential's name.
fn may_be_credential(name: &str) -> bool {
    /// Ends of the credentials' names: one look-up instead of a comparison with each name.
    static ENDS: LazyLock<BTreeSet<[u8; END]>> =
        LazyLock::new(|| NAMES.iter().map(|known| end(known)).collect());
    ENDS.contains(&end(name))
        && NAMES.iter().any(|known| {
            let mut letters_of_name = letters(name);
            letters(known).all(|letter| letters_of_name.next() == Some(letter))
        })
}

fn is_spelled_as_credential(name: &str) -> bool {
    let mut plain = String::with_capacity(name.len());
    let mut lower = false;
    for character in name.chars() {
        if character.is_ascii_uppercase() && lower {
            plain.push('_');
        }
        lower = character.is_ascii_lowercase();
        plain.push(if character == '-' { '_' } else { character.to_ascii_lowercase() });
    }
    let joined = plain.replace('_', "");
    NAMES.iter().any(|known| {
        plain.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
            || joined == known.replace('_', "")
    })
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn credentials_are_found_at_any_depth_under_any_spelling() {
        let arguments = json!({
            "brand": {"domain": "a.example"},
            "context": {"meta_access_token": "s"},
            "ext": {"a/b": [{"apiKey": "s"}, {"x-api-key": null}], "Authorization": "Bearer s"},
            "clientSecret": "s", "APIKey": "s", "jwks_uri": "https://x", "bearer": "s",
        });
        assert_eq!(
            find(&arguments),
            [
                "/context/meta_access_token",
                "/ext/a~1b/0/apiKey",
                "/ext/a~1b/1/x-api-key",
                "/ext/Authorization",
                "/clientSecret",
                "/APIKey",
                "/jwks_uri",
                "/bearer",
            ]
        );
    }

    #[test]
    fn nothing_is_legal_in_open_members() {
        let arguments = json!({"ext": {"authentication": {"credentials": "s"}},
            "context": {"property_list": {"auth_token": "s"}}});
        let places = ["/ext/authentication/credentials", "/context/property_list/auth_token"];
        assert_eq!(find(&arguments), places);
    }

    #[test]
    fn names_of_widespread_providers_are_found() {
        for name in [
            "password",
            "db_password",
            "passphrase",
            "secret",
            "app_secret",
            "webhookSecret",
            "private_key",
            "privateKey",
            "refresh_token",
            "idToken",
            "bearer_token",
            "session-token",
            "aws_access_key_id",
            "aws_secret_access_key",
            "x-adcp-auth",
            "Cookie",
            "set-cookie",
            "jwt",
            "credentials",
            "google_credentials",
            "auth_token",
            "api_token",
            "basicAuth",
            "signing_key",
            "Ocp-Apim-Subscription-Key",
        ] {
            let arguments: Value = [(name, "s")].into_iter().collect();
            assert_eq!(find(&arguments).len(), 1, "{name}");
            let nested = json!({"ext": {"vendor": [arguments]}});
            assert_eq!(find(&nested).len(), 1, "{name}");
        }
    }

    #[test]
    fn the_credential_itself_is_found_wherever_it_stands() {
        let own = "key-of-acme-7";
        let arguments = json!({
            "brief": "as key-of-acme-7 said", "ext": {"note": ["Bearer key-of-acme-7", "key-of-acme"]},
            "context": {"a": {"key-of-acme-7": {"b": "key-of-acme-7"}}},
            "push_notification_config": {"authentication": {"credentials": "key-of-acme-7"}},
        });
        let places = [
            "/brief",
            "/ext/note/0",
            "/context/a",
            "/push_notification_config/authentication/credentials",
        ];
        assert_eq!(find_value(&arguments, own), places);
        assert_eq!(find_value(&arguments, ""), Vec::<String>::new());
        // A short one is no part of other texts.
        assert_eq!(find_value(&json!({"a": "abc", "b": "ab"}), "ab"), ["/b"]);
        assert_eq!(find_value(&json!(vec![own; 200]), own).len(), MAX_LISTED);
    }

    #[test]
    fn what_is_legal_is_left_alone() {
        let legal = json!({
            "push_notification_config": {"url": "https://b.example", "authentication":
                {"schemes": ["Bearer"], "credentials": "legal here"}},
            "targeting_overlay": {"property_list": {"list_id": "l", "auth_token": "legal here"}},
            "assets": {"post": {"reference_authorization": {"status": "granted"}}},
            "rights_key": "r", "offering_token": "o", "pixel_key": 1, "session_id": "s",
            "access_tokens_per_day": 5, "forbearer": 1, "tokens": [], "myjwks": 1,
        });
        assert_eq!(find(&legal), Vec::<String>::new());
        assert_eq!(find(&json!(vec![json!({"jwk": 1}); 200])).len(), MAX_LISTED);
    }
}
