//! No code is forgotten: each of AdCP's has a row here, or a reason why this seller never says it;
//! and the page's own have a row, without exception.

use std::collections::{BTreeMap, BTreeSet};

use tradepost_wire::adcp::error::Code;
use tradepost_wire::catalog::Vocabulary as _;

/// The files with the rows.
const ROWS: [&str; 9] = [
    include_str!("../codes.rs"),
    include_str!("accounts.rs"),
    include_str!("behind.rs"),
    include_str!("buys.rs"),
    include_str!("creatives.rs"),
    include_str!("lookups.rs"),
    include_str!("proposals.rs"),
    include_str!("scopes.rs"),
    include_str!("shop.rs"),
];

/// What this seller never says: the code, a tab, and why.
const NEVER: &str = include_str!("cannot-occur.txt");

/// The codes of the page "Error Handling", in its tables and in its text.
const PAGE: [&str; 47] = [
    "AUTH_REQUIRED",
    "AUTH_MISSING",
    "AUTH_INVALID",
    "CREDENTIAL_IN_ARGS",
    "ACCOUNT_NOT_FOUND",
    "ACCOUNT_SETUP_REQUIRED",
    "ACCOUNT_AMBIGUOUS",
    "ACCOUNT_PAYMENT_REQUIRED",
    "ACCOUNT_SUSPENDED",
    "BILLING_NOT_SUPPORTED",
    "BILLING_NOT_PERMITTED_FOR_AGENT",
    "PAYMENT_TERMS_NOT_SUPPORTED",
    "BRAND_REQUIRED",
    "PERMISSION_DENIED",
    "SCOPE_INSUFFICIENT",
    "READ_ONLY_SCOPE",
    "FIELD_NOT_PERMITTED",
    "AGENT_SUSPENDED",
    "AGENT_BLOCKED",
    "INVALID_REQUEST",
    "VALIDATION_ERROR",
    "UNSUPPORTED_FEATURE",
    "POLICY_VIOLATION",
    "COMPLIANCE_UNSATISFIED",
    "GOVERNANCE_DENIED",
    "PRODUCT_NOT_FOUND",
    "PRODUCT_UNAVAILABLE",
    "PROPOSAL_EXPIRED",
    "PROPOSAL_NOT_FOUND",
    "MULTI_FINALIZE_UNSUPPORTED",
    "REQUOTE_REQUIRED",
    "SIGNAL_NOT_FOUND",
    "AUDIENCE_TOO_SMALL",
    "BUDGET_TOO_LOW",
    "BUDGET_EXHAUSTED",
    "CREATIVE_NOT_FOUND",
    "CREATIVE_REJECTED",
    "RATE_LIMITED",
    "SERVICE_UNAVAILABLE",
    "STALE_RESPONSE",
    "CONFIGURATION_ERROR",
    "CONFLICT",
    "REFERENCE_NOT_FOUND",
    "MEDIA_BUY_NOT_FOUND",
    "PACKAGE_NOT_FOUND",
    "SESSION_NOT_FOUND",
    "PLAN_NOT_FOUND",
];

/// The codes of the rows. In a row the code stands before what is expected, and the row fails when
/// its answer has another one.
fn rows() -> BTreeSet<&'static str> {
    let mut codes = BTreeSet::new();
    for text in ROWS {
        for (at, _) in text.match_indices("expect![[") {
            let before = text[..at].trim_end().strip_suffix(',').unwrap_or_default();
            let Some(quoted) = before.strip_suffix('"') else { continue };
            let code = quoted.rsplit('"').next().unwrap();
            if !code.is_empty() {
                assert!(known(code), "{code} is no code");
                codes.insert(code);
            }
        }
    }
    codes
}

fn known(code: &str) -> bool {
    Code::ALL.iter().any(|known| known.name() == code)
}

/// The lines of a file, by code.
fn entries(file: &'static str) -> BTreeMap<&'static str, &'static str> {
    let mut entries = BTreeMap::new();
    for line in file.lines() {
        let (code, rest) = line.split_once('\t').unwrap_or_else(|| panic!("no tab: {line}"));
        assert!(known(code), "{code} is no code");
        assert!(rest.len() > 10, "{code} says too little");
        assert!(entries.insert(code, rest).is_none(), "{code} is there twice");
    }
    entries
}

#[test]
fn each_code_is_brought_about_or_it_is_said_why_not() {
    let (rows, never) = (rows(), entries(NEVER));
    let mut wrong = Vec::new();
    for code in Code::ALL {
        let name = code.name();
        match (rows.contains(name), never.contains_key(name)) {
            (true, false) | (false, true) => {}
            (true, true) => wrong.push(format!("{name} is brought about, and cannot occur")),
            (false, false) => wrong.push(format!("{name} has no row, and no reason")),
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(rows.len() + never.len(), Code::ALL.len());
}

#[test]
fn each_code_of_the_page_has_a_row() {
    let rows = rows();
    let missing: Vec<_> = PAGE.into_iter().filter(|code| !rows.contains(code)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert_eq!(PAGE.into_iter().collect::<BTreeSet<_>>().len(), PAGE.len());
}
