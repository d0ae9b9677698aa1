//! `tradepost leads assign`, `stage` and `next`, and lists by what they have set.

use std::process::{Command, Output};

use tradepost_dealer::staff::StaffRole;
use tradepost_document::json::{Value, json};
use tradepost_store::staff::StaffMember;

use crate::support::{NOW, TestServer, at, lead, start_with, with};

fn leads(server: &TestServer, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(["--json", "leads"]).args(arguments).arg("--data").arg(server.directory.path());
    command.output().unwrap()
}

fn done(server: &TestServer, arguments: &[&str]) -> Value {
    let output = leads(server, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    tradepost_document::json::from_slice(&output.stdout).unwrap()
}

/// Returns the error of a command that fails.
fn refused(server: &TestServer, arguments: &[&str]) -> Value {
    let output = leads(server, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    let error: Value = tradepost_document::json::from_str(said.trim()).unwrap();
    error["error"].clone()
}

/// A dealer with a desk, and leads of these customers.
fn desk(customers: &[&str]) -> (TestServer, Vec<String>) {
    let server = start_with(|_| {});
    for (name, role) in [("dora", StaffRole::Desk), ("egon", StaffRole::Engineer)] {
        let member = StaffMember {
            name: name.to_owned(),
            dealer_id: None,
            role,
            password: String::new(),
            created_at: at(NOW),
        };
        assert!(server.store.write_blocking(move |tx| tx.add_member(&member)).unwrap());
    }
    let send = |customer: &&str| {
        let email = json!(format!("{customer}@example.com"));
        let agent = json!({"name": format!("Agent of {customer}")});
        let lead = with(lead(), &[("/customer/email", email), ("/source_agent", agent)]);
        let answer = server.payload_in(&server.conversation(), &lead);
        answer["data"]["lead_id"].as_str().unwrap().to_owned()
    };
    let ids = customers.iter().map(send).collect();
    (server, ids)
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|lead| lead["lead_id"].as_str().unwrap()).collect()
}

#[test]
fn leads_are_assigned_and_listed_by_owner() {
    let (server, all) = desk(&["ada", "bob"]);
    let [ada, bob] = [all[0].as_str(), all[1].as_str()];
    let unknown_id = "00000000000000000000000000000000";
    let result = done(&server, &["assign", ada, "--to", "Dora"]);
    assert_eq!(result["changed"], json!([ada]));
    let again = done(&server, &["assign", ada, "--to", "dora"]);
    assert_eq!((&again["changed"], &again["unchanged"]), (&json!([]), &json!([ada])));
    assert_eq!(ids(&done(&server, &["list", "--owner", "dora"])), [ada]);
    assert_eq!(ids(&done(&server, &["list", "--unassigned"])), [bob]);
    assert_eq!(ids(&done(&server, &["list", "--agent", "agent OF bob"])), [bob]);
    assert_eq!(ids(&done(&server, &["list", "--older-than", "3650d"])), [""; 0]);
    assert_eq!(done(&server, &["export", "--owner", "dora"])[0]["owner"], "dora");
    let error = refused(&server, &["assign", ada, "--nobody", "--if-unassigned"]);
    assert_eq!(error["refused"][0]["reason"], "owned_by_another", "{error}");
    assert_eq!(error["refused"][0]["owner"], "dora");
    let error = refused(&server, &["assign", ada, bob, unknown_id, "--to", "egon"]);
    let reasons: Vec<_> =
        error["refused"].as_array().unwrap().iter().map(|one| one["reason"].clone()).collect();
    assert_eq!(reasons, ["unknown_owner", "unknown_owner", "not_found"].map(|text| json!(text)));
}

#[test]
fn leads_are_listed_by_owner_in_any_case() {
    let (server, all) = desk(&["ada", "bob"]);
    let ada = all[0].as_str();
    done(&server, &["assign", ada, "--to", "dora"]);
    assert_eq!(ids(&done(&server, &["list", "--owner", "Dora"])), [ada]);
}

#[test]
fn a_lead_is_assigned_to_a_member_of_a_provider() {
    let (server, all) = desk(&["ada"]);
    let ada = all[0].as_str();
    let member = StaffMember {
        name: "oidc:Ada".to_owned(),
        dealer_id: None,
        role: StaffRole::Desk,
        password: String::new(),
        created_at: at(NOW),
    };
    assert!(server.store.write_blocking(move |tx| tx.add_member(&member)).unwrap());
    assert_eq!(done(&server, &["assign", ada, "--to", "oidc:Ada"])["changed"], json!([ada]));
    assert_eq!(ids(&done(&server, &["list", "--owner", "oidc:Ada"])), [ada]);
    let back = ["assign", ada, "--to", "dora", "--if-owner", "oidc:Ada"];
    assert_eq!(done(&server, &back)["changed"], json!([ada]));
}

#[test]
fn a_lost_lead_needs_a_reason_on_the_command_line() {
    let (server, all) = desk(&["ada", "bob"]);
    let ada = all[0].as_str();
    refused(&server, &["stage", ada, "--stage", "lost"]);
    refused(&server, &["stage", ada, "--stage", "sold", "--reason", "price"]);
    done(&server, &["stage", ada, "--stage", "lost", "--reason", "price"]);
    let shown = done(&server, &["list", "--at-stage", "lost"]);
    assert_eq!((ids(&shown), &shown[0]["lost_reason"]), (vec![ada], &json!("price")));
    // All that are selected, once the number is known.
    let error = refused(&server, &["stage", "--all", "--waiting", "--stage", "working"]);
    assert_eq!(error["leads"], 1, "{error}");
    refused(&server, &["stage", ada, "--waiting", "--stage", "working"]);
    refused(&server, &["stage", ada, "--state", "held", "--stage", "working"]);
    let all = &["stage", "--all", "--yes", "--waiting", "--stage", "working"];
    assert_eq!(done(&server, all)["changed"].as_array().unwrap().len(), 1);
    assert_eq!(done(&server, all)["changed"].as_array().unwrap().len(), 0);
}

#[test]
fn a_next_step_is_set_listed_when_due_and_done() {
    let (server, all) = desk(&["ada"]);
    let ada = all[0].as_str();
    let set = ["next", ada, "--step", "send_offer", "--at", "2100-05-01"];
    let result = done(&server, &set);
    assert_eq!(result["next_step"], json!({"kind": "send_offer", "at": "2100-05-01T07:00:00Z"}));
    assert_eq!(done(&server, &set)["changed"], false);
    refused(&server, &["next", ada, "--step", "call", "--at", "2020-05-01"]);
    assert_eq!(ids(&done(&server, &["list", "--due"])), [""; 0]);
    let past = "UPDATE leads SET next_step_at = 1";
    let database = rusqlite::Connection::open(server.directory.path().join("tradepost.sqlite"));
    assert_eq!(database.unwrap().execute(past, []).unwrap(), 1);
    assert_eq!(ids(&done(&server, &["list", "--due"])), [ada]);
    assert_eq!(done(&server, &["next", ada, "--done"])["changed"], true);
    assert_eq!(done(&server, &["next", ada, "--remove"])["changed"], false);
    assert_eq!(done(&server, &["show", ada])[0]["next_step"], Value::Null);
}

#[test]
fn a_next_step_is_due_in_the_time_of_the_rooftop() {
    let (server, all) = desk(&["ada"]);
    let ada = all[0].as_str();
    let due = |time: &str| {
        let set = done(&server, &["next", ada, "--step", "call", "--at", time]);
        set["next_step"]["at"].as_str().unwrap().to_owned()
    };
    assert_eq!(due("2100-05-02T10:00"), "2100-05-02T17:00:00Z");
    assert_eq!(due("2100-05-02"), "2100-05-02T07:00:00Z");
    assert_eq!(due("2100-05-02T10:00:00+02:00"), "2100-05-02T08:00:00Z");
    assert_eq!(due("2100-05-02T10:00:00Z"), "2100-05-02T10:00:00Z");
    for unclear in [
        "2100-05-02T10:00Z",
        "2100-05-02T10:00-05:00",
        "2100-02-30",
        "2100-5-2",
        "9999-12-31T23:59",
        "tomorrow",
    ] {
        refused(&server, &["next", ada, "--step", "call", "--at", unclear]);
    }
    refused(&server, &["next", "lead_of_nobody", "--step", "call", "--at", "2100-05-02"]);
    // The zone of a rooftop that names none is not known.
    let unknown = "UPDATE leads SET time_zone = NULL";
    let database = rusqlite::Connection::open(server.directory.path().join("tradepost.sqlite"));
    assert_eq!(database.unwrap().execute(unknown, []).unwrap(), 1);
    assert_eq!(due("2100-05-02T10:00"), "2100-05-02T10:00:00Z");
    assert_eq!(due("2100-05-02"), "2100-05-02T00:00:00Z");
}
