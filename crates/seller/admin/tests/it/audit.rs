//! The audit log as it is listed, verified and exported.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use tradepost_admin::audit::{
    ChainHead, ExportRecord, ListRecord, MissingHead, NotedHeads, PageRecord, RecordRefusal,
    RecordScope, VerifyRecord, export_heads, export_record, list_record, page_record,
    verify_record,
};
use tradepost_admin::people::{AddMember, StaffEmployer, add_member};
use tradepost_admin::{Actor, AdminContext, AdminError, AdminOperation, DealerScope};
use tradepost_dealer::import::PricePolicy;
use tradepost_dealer::settings::{DealerSettings, LeadPolicy, SearchPolicy};
use tradepost_dealer::staff::{AuditAction, StaffRole};
use tradepost_document::catalog::Vocabulary as _;

use crate::publisher::GAZETTE;
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

#[test]
fn every_operation_is_in_one_row_of_the_readme() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
    let text = std::fs::read_to_string(file).unwrap();
    let (_, table) = text.split_once("\n| front ends | operations |\n").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.split('|').nth(2));
    let mut named: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    named.sort_unstable();
    let mut all: Vec<String> =
        AdminOperation::ALL.iter().map(|operation| format!("{operation:?}")).collect();
    all.sort_unstable();
    assert_eq!(named, all);
}

/// A dealer as far as the audit log needs it.
fn settings(id: &str) -> DealerSettings {
    DealerSettings {
        id: id.to_owned(),
        name: id.to_owned(),
        welcome_message: None,
        versions: Vec::new(),
        skills: Vec::new(),
        rooftops: Vec::new(),
        search: SearchPolicy::default(),
        leads: LeadPolicy::default(),
        tombstone_lifetime: SignedDuration::ZERO,
        price_truth: PricePolicy::Warn,
    }
}

fn scopes(dealers: &[DealerSettings]) -> Vec<DealerScope<'_>> {
    let scope = |settings| DealerScope { settings, destinations: Vec::new() };
    dealers.iter().map(scope).collect()
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
    let configured = [SHOP, "other"].map(settings);
    let dealers = scopes(&configured);
    let context = AdminContext { dealers: &dealers, ..env.context() };
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

/// Returns an environment with an audit entry of the dealer, one of another dealer, and one of a publisher, which is
/// about amy.
fn env_with_a_publisher() -> TestEnv {
    let env = env_with_two_entries();
    let input = AddMember {
        name: "amy".to_owned(),
        employer: StaffEmployer::Publisher(GAZETTE.to_owned()),
        role: StaffRole::Approver,
        password: String::new(),
    };
    add_member(&env.context(), &Actor::operator("cli:egon"), input).unwrap();
    env
}

#[test]
fn staff_of_dealers_see_no_record_of_a_publisher() {
    let env = env_with_a_publisher();
    let configured = [settings(SHOP)];
    let dealers = scopes(&configured);
    let context = AdminContext { dealers: &dealers, ..env.context() };
    let seen_by = |actor: &Actor| {
        let sees = |chain: &&str| {
            let input = PageRecord { chain: (*chain).to_owned(), before: None, limit: 10 };
            let page = page_record(&context, actor, input);
            let scope = RecordScope::Chain((*chain).to_owned());
            let list = list_record(&context, actor, ListRecord { scope, limit: 10 });
            assert_eq!(page.is_ok(), list.is_ok(), "{chain}: {page:?}, {list:?}");
            page.is_ok()
        };
        ["*", SHOP, "other", GAZETTE].into_iter().filter(sees).collect::<Vec<_>>()
    };
    let actor = |role, employer| Actor::from_member(&member("mia", role, employer));
    assert_eq!(seen_by(&actor(StaffRole::Manager, None)), ["*", SHOP]);
    assert_eq!(seen_by(&actor(StaffRole::Manager, Some(SHOP))), [SHOP]);
    assert_eq!(seen_by(&actor(StaffRole::Manager, Some(GAZETTE))), [""; 0]);
    assert_eq!(seen_by(&actor(StaffRole::Approver, Some(GAZETTE))), [GAZETTE]);
    assert_eq!(seen_by(&Actor::operator("cli:egon")), ["*", SHOP, "other", GAZETTE]);
}

#[test]
fn entries_of_a_publisher_are_not_found_by_their_subject() {
    let env = env_with_a_publisher();
    let configured = [settings(SHOP)];
    let dealers = scopes(&configured);
    let context = AdminContext { dealers: &dealers, ..env.context() };
    let entries_about = |subject: &str, actor: &Actor| {
        let input = ListRecord { scope: RecordScope::Lead(subject.to_owned()), limit: 10 };
        list_record(&context, actor, input).unwrap().len()
    };
    let egon = Actor::operator("cli:egon");
    assert_eq!((entries_about("amy", &egon), entries_about("dora", &egon)), (1, 1));
    let group = Actor::from_member(&member("group", StaffRole::Manager, None));
    assert_eq!((entries_about("amy", &group), entries_about("dora", &group)), (0, 1));
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
