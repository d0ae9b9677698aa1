//! Dealers that are added, changed and removed, and what the audit log has of them.

use std::collections::BTreeMap;

use tradepost_admin::hosting::{
    AddDealers, ChangeDealer, DealerReader, DocumentRules, FileDealer, FileSellers, HostedRefusal,
    HostedResult, ListDealers, SetDealerState, ShowDealer, add_dealers, change_dealer,
    list_dealers, set_dealer_state, show_dealer,
};
use tradepost_admin::{Actor, AdminError};
use tradepost_document::json::{Value, json};
use tradepost_document::parse::reject;
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_store::{HostedState, HostingConflict};

use crate::TestEnv;

/// Reads the id and the host of a document, and nothing else.
#[derive(Debug)]
pub(crate) struct IdReader;

/// A dealer as far as it is read here.
#[derive(Debug)]
pub(crate) struct ReadDealer {
    id: String,
    hosts: Vec<String>,
}

impl DealerReader for IdReader {
    type Dealer = ReadDealer;

    fn read(&self, document: &Value) -> Result<ReadDealer, Problems> {
        let mut problems = Problems::new();
        let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        let Some(id) = text("id") else {
            reject(&DocumentPlace::Root.key("id"), &mut problems, "is required");
            return Err(problems);
        };
        Ok(ReadDealer { id, hosts: text("host").into_iter().collect() })
    }

    fn id_of<'d>(&self, dealer: &'d ReadDealer) -> &'d str {
        &dealer.id
    }

    fn hosts_of<'d>(&self, dealer: &'d ReadDealer) -> &'d [String] {
        &dealer.hosts
    }

    fn check_usable(&self, _: &ReadDealer) -> Result<(), Problems> {
        Ok(())
    }
}

/// Returns the rules for documents from another machine.
pub(crate) fn rules(file: &FileSellers) -> DocumentRules<'_, IdReader> {
    DocumentRules { file, reader: &IdReader, may_name_files: false }
}

/// A dealer of the configuration file.
fn file() -> FileSellers {
    let dealer = FileDealer { name: "Fixed".to_owned(), hosts: vec!["fixed.example".to_owned()] };
    FileSellers {
        dealers: BTreeMap::from([("fixed".to_owned(), dealer)]),
        publishers: vec!["gazette".to_owned()],
        hosts: vec!["fixed.example".to_owned()],
    }
}

fn refusal<T: std::fmt::Debug>(outcome: HostedResult<T>) -> HostedRefusal {
    match outcome {
        Err(AdminError::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_change_of_a_dealer_is_recorded_once() {
    let env = TestEnv::new();
    let context = env.context();
    let file = file();
    let ops = Actor::operator("key:ops");
    let documents = [
        json!({"id": "south", "host": "south.example", "password": "s3cret"}),
        json!({"id": "north"}),
    ];
    let add = |may_reuse: bool| {
        let input = AddDealers { rules: rules(&file), documents: &documents, may_reuse };
        add_dealers(&context, &ops, input)
    };
    assert_eq!(add(false).unwrap(), ["south", "north"]);
    let taken = refusal(add(false));
    assert!(matches!(taken, HostedRefusal::Conflict(HostingConflict::IdTaken(_))), "{taken:?}");

    let change = |said: Value| {
        let input = ChangeDealer {
            rules: rules(&file),
            dealer_id: "south",
            said: &said,
            is_patch: true,
            expected: None,
        };
        change_dealer(&context, &ops, input)
    };
    // The mark of a secret is the stored one, as long as it is sent to the same host.
    change(json!({"name": "South", "host": "south.example", "password": "(kept)"})).unwrap();
    let elsewhere = refusal(change(json!({"host": "evil.example", "password": "(kept)"})));
    assert!(matches!(elsewhere, HostedRefusal::Invalid(_)), "{elsewhere:?}");
    change(json!({"name": null, "host": "s.example"})).unwrap();
    let renamed = refusal(change(json!({"id": "other"})));
    assert!(matches!(renamed, HostedRefusal::Invalid(_)), "{renamed:?}");
    let names_file = refusal(change(json!({"feeds": [{"folder": "/etc"}]})));
    assert!(matches!(names_file, HostedRefusal::Invalid(_)), "{names_file:?}");
    let shown = show_dealer(&context, &ops, ShowDealer { file: &file, dealer_id: "south" });
    let settings = shown.unwrap().settings.unwrap();
    assert_eq!(settings, json!({"id": "south", "host": "s.example", "password": "(kept)"}));

    let set = |state: HostedState| {
        let input = SetDealerState { file: &file, dealer_id: "south", state, expected: None };
        set_dealer_state(&context, &ops, input)
    };
    assert!(set(HostedState::Suspended).unwrap());
    assert!(!set(HostedState::Suspended).unwrap(), "it is suspended already");
    assert!(set(HostedState::Serving).unwrap());
    assert!(set(HostedState::Removed).unwrap());
    let conflict = refusal(set(HostedState::Serving));
    assert!(
        matches!(conflict, HostedRefusal::Conflict(HostingConflict::NoSuchDealer)),
        "{conflict:?}"
    );
    assert_eq!(
        env.record("south"),
        [
            "key:ops dealer_added south south.example",
            "key:ops dealer_changed south name",
            "key:ops dealer_changed south host, name",
            "key:ops dealer_suspended south",
            "key:ops dealer_resumed south",
            "key:ops dealer_removed south",
        ]
    );
    assert_eq!(env.record("north"), ["key:ops dealer_added north"]);
}

#[test]
fn sellers_of_the_file_are_listed_and_not_changed() {
    let env = TestEnv::new();
    let context = env.context();
    let file = file();
    let egon = Actor::operator("cli:egon");
    let add = |document: Value| {
        let documents = [document];
        let input = AddDealers { rules: rules(&file), documents: &documents, may_reuse: false };
        add_dealers(&context, &egon, input)
    };
    for id in ["fixed", "gazette"] {
        let refused = refusal(add(json!({"id": id})));
        assert!(matches!(refused, HostedRefusal::NamesFileSeller(_)), "{id}: {refused:?}");
    }
    let refused = refusal(add(json!({"id": "thief", "host": "fixed.example"})));
    let is_taken = matches!(refused, HostedRefusal::Conflict(HostingConflict::HostsTaken(_)));
    assert!(is_taken, "{refused:?}");
    let state = HostedState::Removed;
    let input = SetDealerState { file: &file, dealer_id: "fixed", state, expected: None };
    let refused = refusal(set_dealer_state(&context, &egon, input));
    assert!(matches!(refused, HostedRefusal::InFile(_)), "{refused:?}");
    add(json!({"id": "north"})).unwrap();
    let list = |after: &str| {
        let input = ListDealers { file: &file, after, limit: 1, with_removed: false };
        list_dealers(&context, &egon, input).unwrap()
    };
    let first = list("");
    assert_eq!((first.dealers.len(), first.next.as_deref()), (1, Some("fixed")));
    let second = list("fixed");
    assert_eq!((second.dealers.len(), second.next.as_deref()), (1, Some("north")));
    let last = list("north");
    assert_eq!((last.dealers.len(), last.next.as_deref()), (0, None));
}
