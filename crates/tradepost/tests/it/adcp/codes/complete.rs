//! No code is forgotten: each of AdCP's has a row here, or a reason why this seller never says it;
//! and the page's own have a row, without exception.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpCode;
use tradepost_adcp::tool::is_unsupported_task;
use tradepost_document::catalog::Vocabulary as _;

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

/// Codes that need more outside than the rows have, such as a verifier of creatives, with the publisher's own test that
/// brings them about.
const IN_PUBLISHER: [(&str, &str); 1] = [(
    "PROVENANCE_CLAIM_CONTRADICTED",
    include_str!("../../../../../seller/publisher/tests/it/creatives/provenance.rs"),
)];

/// A code that the publisher's sources name and that cannot occur all the same: behind `proposal::SIGNED`, which says that
/// no order needs a signature.
const BEHIND_A_CONSTANT: &str = "IO_REQUIRED";

/// The sources that choose codes.
const SOURCES: [&str; 2] = ["../seller/publisher/src", "../seller/runtime/src/adcp"];

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
    for (code, test) in IN_PUBLISHER {
        assert!(test.contains(&format!("\"code\": \"{code}\"")), "{code} is in no snapshot");
        codes.insert(code);
    }
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
    AdcpCode::ALL.iter().any(|known| known.name() == code)
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
fn each_code_is_brought_about_or_has_a_reason() {
    let rows = rows();
    let never = entries(NEVER);
    let mut wrong = Vec::new();
    for code in AdcpCode::ALL {
        let name = code.name();
        match (rows.contains(name), never.contains_key(name)) {
            (true, false) | (false, true) => {}
            (true, true) => wrong.push(format!("{name} is brought about, and cannot occur")),
            (false, false) => wrong.push(format!("{name} has no row, and no reason")),
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(rows.len() + never.len(), AdcpCode::ALL.len());
}

/// The text of every source below a folder.
fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

#[test]
fn no_source_names_a_code_that_cannot_occur() {
    let mut text = String::new();
    for folder in SOURCES {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut text);
    }
    let names: BTreeSet<&str> = text
        .split("Code::")
        .skip(1)
        .map(|rest| {
            rest.split(|character: char| !character.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default()
        })
        .collect();
    assert!(names.contains("ProvenanceClaimContradicted"), "the sources were read");
    let never = entries(NEVER);
    let never = AdcpCode::ALL.iter().filter(|code| never.contains_key(code.name()));
    let named: Vec<_> = never.filter(|code| names.contains(format!("{code:?}").as_str())).collect();
    assert_eq!(named.iter().map(|code| code.name()).collect::<Vec<_>>(), [BEHIND_A_CONSTANT]);
}

/// What is said of a release there, or of a tool, is what this seller says of itself.
#[test]
fn the_reasons_name_what_this_seller_has_not() {
    for (code, why) in entries(NEVER) {
        assert!(!why.contains("answered in 3.1"), "{code}: 3.2 is spoken");
        let task = why.strip_prefix("A code of ").and_then(|rest| rest.split([',', ' ']).next());
        if let Some(task) = task {
            assert!(
                AdcpTool::from_any_name(task).is_none() && is_unsupported_task(task),
                "{code}: {task}"
            );
        }
    }
}

#[test]
fn each_code_of_the_page_has_a_row() {
    let rows = rows();
    let missing: Vec<_> = PAGE.into_iter().filter(|code| !rows.contains(code)).collect();
    assert_eq!(missing, Vec::<&str>::new());
    assert_eq!(PAGE.into_iter().collect::<BTreeSet<_>>().len(), PAGE.len());
}
