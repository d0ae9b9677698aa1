//! Credentials in the wrong place: AdCP takes them on the transport alone. A seller refuses them
//! with `CREDENTIAL_IN_ARGS`; a buyer looks before it sends, because whatever was
//! sent once may have been logged.
//

use crate::json::Value;

use crate::problem::At;

/// How many places are listed.
const MAX_LISTED: usize = 50;

/// Names of members that hold a credential or key material (L2 authentication, "Credential
/// placement"). A name that ends in `_` and one of these counts too: `meta_access_token`.
const NAMES: &[&str] = &[
    "access_token",
    "api_key",
    "authorization",
    "bearer",
    "client_secret",
    "jwk",
    "jwks",
    "jwks_uri",
];

/// JSON Pointers to every member of `arguments`, at any depth, whose name is that of a credential;
/// at most fifty. `push_notification_config.authentication.credentials` is legal and has another
/// name. No value is looked at.
//
#[must_use]
pub fn find(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(arguments, &At::Root, 0, &mut found);
    found
}

/// What is nested deeper is refused by every reader of JSON.
const MAX_DEPTH: usize = 128;

fn walk(value: &Value, at: &At<'_>, depth: usize, found: &mut Vec<String>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let at = at.key(name);
                if is_credential(name) && found.len() < MAX_LISTED {
                    found.push(at.pointer());
                }
                walk(member, &at, depth + 1, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &at.index(index), depth + 1, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_credential(name: &str) -> bool {
    // Nearly every name is told apart without being taken apart.
    may_be_credential(name) && is_spelled_as_credential(name)
}

/// Whether the letters of a name end with those of a credential's.
fn may_be_credential(name: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = u8> {
        let bytes = text.bytes().rev().filter(|byte| !matches!(byte, b'_' | b'-'));
        bytes.map(|byte| byte.to_ascii_lowercase())
    }
    NAMES.iter().any(|known| {
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
    use crate::json::json;

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
    fn what_is_legal_is_left_alone() {
        let legal = json!({
            "push_notification_config": {"url": "https://b.example", "authentication":
                {"schemes": ["Bearer"], "credentials": "legal here"}},
            "access_tokens_per_day": 5, "forbearer": 1, "tokens": [], "myjwks": 1,
        });
        assert_eq!(find(&legal), Vec::<String>::new());
        assert_eq!(find(&json!(vec![json!({"jwk": 1}); 200])).len(), MAX_LISTED);
    }
}
