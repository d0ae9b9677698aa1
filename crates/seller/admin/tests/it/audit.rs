//! The audit log as it is listed, verified and exported.

use std::collections::BTreeMap;

use tradepost_admin::audit::{
    ChainHead, ExportRecord, ListRecord, MissingHead, NotedHeads, PageRecord, RecordRefusal,
    RecordScope, VerifyRecord, export_heads, export_record, list_record, page_record,
    verify_record,
};
use tradepost_admin::people::{AddMember, StaffEmployer, add_member};
use tradepost_admin::{Actor, AdminError};
use tradepost_dealer::staff::{AuditAction, StaffRole};
use tradepost_document::catalog::Vocabulary as _;

use crate::{SHOP, TestEnv, member};

#[test]
fn every_action_is_in_the_table_of_the_documentation() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/privacy.md");
    let text = std::fs::read_to_string(file).unwrap();
    let section = text.split("\n### ").find(|part| part.starts_with("What is recorded\n")).unwrap();
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).collect();
    for action in AuditAction::ALL {
        let name = format!("`{}`", action.name());
        assert!(rows.iter().any(|row| row.contains(&name)), "{name} is in no row");
    }
}

/// Returns an environment with an audit entry of the dealer and one of another dealer.
fn env_with_two_entries() -> TestEnv {
    let env = TestEnv::new();
    for (name, employer) in [("dora", SHOP), ("olga", "other")] {
        let input = AddMember {
            name: name.to_owned(),
            employer: StaffEmployer::Dealer(employer.to_owned()),
            role: StaffRole::Desk,
            password: String::new(),
        };
        add_member(&env.context(), &Actor::operator("cli:egon"), input).unwrap();
    }
    env
}

#[test]
fn staff_see_the_record_of_their_employer_alone() {
    let env = env_with_two_entries();
    let context = env.context();
    let maria = Actor::from_member(&member("maria", StaffRole::Manager, Some(SHOP)));
    let page = |chain: &str| {
        let input = PageRecord { chain: chain.to_owned(), before: None, limit: 10 };
        page_record(&context, &maria, input)
    };
    assert_eq!(page(SHOP).unwrap().len(), 1);
    for chain in ["other", "*"] {
        let refused = page(chain);
        let is_unknown =
            matches!(refused, Err(AdminError::Refused(RecordRefusal::UnknownChain(_))));
        assert!(is_unknown, "{chain}: {refused:?}");
    }
    let all = ListRecord { scope: RecordScope::All, limit: 10 };
    let own = list_record(&context, &maria, all.clone()).unwrap();
    assert!(own.iter().all(|entry| entry.said.chain == SHOP) && own.len() == 1, "{own:?}");
    let egon = Actor::operator("cli:egon");
    assert_eq!(list_record(&context, &egon, all).unwrap().len(), 2);
    let one = ListRecord { scope: RecordScope::All, limit: 1 };
    assert_eq!(list_record(&context, &egon, one).unwrap().len(), 1);
}

#[test]
fn an_export_is_recorded_and_missing_noted_heads_are_found() {
    let env = env_with_two_entries();
    let context = env.context();
    let egon = Actor::operator("cli:egon");
    let mut taken = Vec::new();
    let input = ExportRecord { chain: Some(SHOP.to_owned()) };
    export_record(&context, &egon, input, &mut |entry| taken.push(entry.seq)).unwrap();
    assert_eq!(taken, [1, 2], "the export itself is among them");
    let heads = export_heads(&context, &egon).unwrap();
    let records: BTreeMap<String, ChainHead> = heads
        .records
        .iter()
        .map(|check| {
            let seq = i64::try_from(check.entries).unwrap();
            (check.chain.clone(), ChainHead { seq, hash: check.head })
        })
        .collect();
    assert_eq!(records.len(), 2);
    let mut noted = NotedHeads { records, consents: BTreeMap::new() };
    let verify = |heads: &NotedHeads| {
        verify_record(&context, &egon, VerifyRecord { heads: Some(heads) }).unwrap()
    };
    let verdict = verify(&noted);
    assert!(verdict.missing_entries.is_empty(), "{verdict:?}");
    assert!(verdict.chains.records.iter().all(|check| check.faults.is_empty()), "{verdict:?}");
    let missing = MissingHead { chain: SHOP.to_owned(), seq: 7 };
    noted.records.insert(missing.chain.clone(), ChainHead { seq: missing.seq, hash: [0; 32] });
    assert_eq!(verify(&noted).missing_entries, [missing]);
}
