//! Documents of hosted dealers: members that a sender may not use, patches, and what a change touches.

use tradepost_document::json::Value;
use tradepost_document::parse::reject;
use tradepost_document::problem::{DocumentPlace, Problems};

use super::secrets;

/// Members that name a file or a folder of the machine.
const FILE_MEMBERS: &[&str] = &[
    "key_file",
    "known_hosts",
    "jwks_file",
    "bearer_file",
    "hmac_key_file",
    "password_file",
    "ca_file",
    "folder",
    "mapping",
];

/// Rejects the marks of hidden secrets, and names of files where the sender may not name them.
pub(super) fn check_members(
    value: &Value,
    at: &DocumentPlace<'_>,
    may_name_files: bool,
    problems: &mut Problems,
) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let at = at.key(name);
                if secrets::has_mark(name, value) {
                    let message = "is the mark of a secret, and none is kept for this place and \
                                   address; send the secret itself, or a PATCH without it";
                    reject(&at, problems, message);
                } else if !may_name_files && FILE_MEMBERS.contains(&name.as_str()) {
                    let message = "names a file of the server, which only `tradepost dealer` on \
                                   the server itself may do";
                    reject(&at, problems, message);
                } else {
                    check_members(value, &at, may_name_files, problems);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_members(item, &at.index(index), may_name_files, problems);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Merges a patch into a document (RFC 7396 §2).
pub(super) fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut members = target.as_object().cloned().unwrap_or_default();
    for (name, change) in changes {
        if change.is_null() {
            members.shift_remove(name);
        } else {
            let after = merged(members.get(name).unwrap_or(&Value::Null), change);
            members.insert(name.clone(), after);
        }
    }
    Value::Object(members)
}

/// Returns the names of the document's own members that differ. Their values may be secrets.
pub(super) fn changed_members<'v>(before: &'v Value, after: &'v Value) -> Vec<&'v str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, value) in after.as_object().into_iter().flatten() {
        if before.get(name.as_str()) != Some(value) {
            names.push(name.as_str());
        }
    }
    for (name, _) in before.as_object().into_iter().flatten() {
        if after.get(name.as_str()).is_none() {
            names.push(name.as_str());
        }
    }
    names
}
