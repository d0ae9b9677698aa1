//! Readers for sign-in to the console with an OpenID provider.

use tradepost_dealer::staff::StaffRole;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};

use super::values::{line, list, of_text, path, read_table, reject, secure_address, text_that};
use crate::config::delivery::ConfigSecret;
use crate::config::oidc::{Oidc, RoleGrant};

const ROLES: &str =
    "must be desk, manager or engineer, or at a publisher seller, approver or viewer";

/// Reads `[server.console.oidc]`.
pub(super) fn oidc(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Oidc> {
    read_table!(value, at, problems, Oidc {
        required "issuer" => issuer: secure_address,
        required "client_id" => client_id: line(200),
        required "client_secret_file" => secret: |v: &Value, at: &DocumentPlace<'_>, p: &mut Problems| {
            path(4_000)(v, at, p).map(ConfigSecret::File)
        },
        required "role_claim" => role_claim: line(100),
        required "roles" => grants: list(1, None, grant),
        // The only claim about a person that every id token has (OpenID Connect Core §2).
        optional "name_claim" => name_claim: line(100) => "sub".to_owned(),
        optional "scope" => scope: read_scope => "openid profile email".to_owned(),
        optional "label" => label: line(60) => "your organisation".to_owned(),
    })
}

fn read_scope(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    // A provider gives no id token without it (OpenID Connect Core §3.1.2.1).
    const HINT: &str = "must have openid among its words";
    let text = line(500)(value, at, problems)?;
    of_text((value, at, problems), HINT, |_| {
        text.split(' ').any(|word| word == "openid").then(|| text.clone())
    })
}

fn grant(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<RoleGrant> {
    read_object!(value, at, problems, closed {
        required "value" => claimed: line(200),
        required "role" => role: text_that(ROLES, StaffRole::from_name),
        optional "dealer" => dealer: line(100),
        optional "publisher" => publisher: line(100),
        optional "all_dealers" => all_dealers: parse::boolean,
    });
    let named = |key| usize::from(value.get(key).is_some());
    let whose = named("dealer") + named("publisher") + usize::from(all_dealers.unwrap_or_default());
    // All dealers is not the default: a forgotten line would grant access to every dealer.
    if whose != 1 {
        let message = "needs either the id of a dealer or of a publisher, or all_dealers = true";
        reject(at, problems, message);
        return None;
    }
    let role = role?;
    if role.is_of_publisher() != value.get("publisher").is_some() {
        let message = "desk, manager and engineer are roles at a dealer; seller, approver and viewer \
                       at a publisher";
        reject(&at.key("role"), problems, message);
        return None;
    }
    Some(RoleGrant { value: claimed?, role, dealer_id: publisher.or(dealer) })
}
