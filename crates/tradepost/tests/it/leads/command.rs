//! `tradepost leads` on what a server has taken: one state everywhere, each change exported.

use std::fs::File;
use std::process::{Command, Output, Stdio};

use jiff::SignedDuration;
use tradepost_dealer::settings::LeadRateLimit;
use tradepost_document::json::{Value, json};

use crate::support::dealer::LISTED_VIN;
use crate::support::{TestServer, lead, start_with, with};

/// `tradepost leads` on the server's folder.
fn command(server: &TestServer, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.arg("leads").args(arguments).arg("--data").arg(server.directory.path());
    command
}

fn leads(server: &TestServer, arguments: &[&str]) -> Output {
    command(server, arguments).output().unwrap()
}

/// What it writes to standard output.
fn said(server: &TestServer, arguments: &[&str]) -> String {
    let output = leads(server, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json_of(server: &TestServer, arguments: &[&str]) -> Value {
    tradepost_document::json::from_str(&said(server, arguments)).unwrap()
}

fn drive(customer: &str, at: &str) -> Value {
    let appointment = json!({"appointment_type": "test_drive", "appointment_at": at});
    let changes = [
        ("/customer/email", json!(customer)),
        ("/customer/phone", json!("+14155550123")),
        ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
        ("/appointment", appointment),
    ];
    with(lead(), &changes)
}

#[test]
fn a_booked_proposal_is_booked_everywhere_and_changes_are_exported() {
    let server = start_with(|_| {});
    let conversation = server.conversation();
    // Eight in the morning is before opening.
    let proposed =
        server.payload_in(&conversation, &drive("ada@example.com", "2026-05-01T15:00:00Z"));
    assert_eq!(proposed["data"]["appointment"]["status"], "proposed");
    let id = proposed["data"]["lead_id"].as_str().unwrap();
    server.advance(SignedDuration::from_mins(5));
    let time = proposed["data"]["appointment"]["proposed_times"][0].as_str().unwrap();
    let chosen = server.payload_in(&conversation, &drive("ada@example.com", time));
    assert_eq!(chosen["data"]["appointment"]["status"], "confirmed");

    let list = said(&server, &["list"]);
    assert!(list.contains("test_drive confirmed May 1"), "{list}");
    assert!(list.contains("9:00 AM PDT") && !list.contains("proposed"), "{list}");
    for shown in ["received", "+14155550123", "ada@example.com"] {
        assert!(list.contains(shown), "{shown}: {list}");
    }
    let show = said(&server, &["show", id]);
    let history =
        ["received; test_drive proposed May 1", "resubmitted; test_drive confirmed May 1"];
    for line in history {
        assert!(show.contains(line), "{line}: {show}");
    }
    for command in [["export", id], ["show", id], ["list", "--since=2026-04-30"]] {
        let mut arguments = command.to_vec();
        if command[0] != "export" {
            arguments.push("--json");
        }
        let exported = json_of(&server, &arguments);
        let lead = &exported[0];
        assert_eq!(lead["appointment"]["status"], "confirmed", "{command:?}");
        assert_eq!(lead["appointment"]["starts_at"], "2026-05-01T16:00:00Z", "UTC for programs");
        let of = |event: &Value| (event["event"].clone(), event["appointment_status"].clone());
        let history: Vec<_> = lead["history"].as_array().unwrap().iter().map(of).collect();
        let expected = [("received", "proposed"), ("resubmitted", "confirmed")]
            .map(|(a, b)| (json!(a), json!(b)));
        assert_eq!(history, expected, "{command:?}");
    }
    let csv = said(&server, &["export", "--format=csv"]);
    assert!(csv.contains(",confirmed,") && !csv.contains(",proposed,"), "{csv}");
    let adf = |arguments: &[&str]| {
        let adf = said(&server, &[&["export", "--format=adf"], arguments].concat());
        let statuses = |text: &str| {
            adf.match_indices(text)
                .map(|(at, _)| {
                    adf[at + text.len()..].split(['"', ',', '<']).next().unwrap().to_owned()
                })
                .collect::<Vec<_>>()
        };
        (
            statuses("<prospect status=\""),
            statuses("<timeframe>test drive, requested for 2026-05-01T15:00:00+00:00; status "),
            statuses("; status "),
        )
    };
    let changes = adf(&["--changes"]);
    assert_eq!(changes.0, ["new", "resend"]);
    assert!(changes.2[0] == "proposed" && changes.2.last().unwrap() == "confirmed", "{changes:?}");
    for (since, status) in
        [("2026-04-30T12:00:00Z", "new"), ("2026-04-30T12:01:00Z", "resend"), ("", "resend")]
    {
        let since = format!("--since={since}");
        let arguments = if since.ends_with('=') { vec![] } else { vec![since.as_str()] };
        let (prospects, _, appointments) = adf(&arguments);
        assert_eq!(prospects, [status], "{since}");
        assert!(appointments.iter().all(|state| state == "confirmed"), "{since}");
    }
    assert!(said(&server, &["list", "--since=2026-04-30T12:06:00Z"]).is_empty());
}

#[test]
fn leads_are_filtered_linked_counted_and_released() {
    let server = start_with(|config| {
        let window = SignedDuration::from_hours(1);
        let velocity = LeadRateLimit { window, per_address: 2, per_contact: 10, all: 10 };
        config.dealers[0].terms.leads.velocity = velocity;
    });
    let elsewhere = ("/vehicle_of_interest", json!({"vehicle_id": "veh_ho_1001"}));
    let first = server.payload(&lead());
    let second = server.payload(&with(lead(), &[elsewhere]));
    let third = server.payload(&lead());
    let id = |answer: &Value| answer["data"]["lead_id"].as_str().unwrap().to_owned();
    let first = id(&first);
    let second = id(&second);
    let third = id(&third);
    let ids = |arguments: &[&str]| {
        let found = json_of(&server, &[&["list", "--json"], arguments].concat());
        let ids = found.as_array().unwrap().iter();
        ids.map(|lead| lead["lead_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), [second.clone(), first.clone()]);
    assert_eq!(ids(&["--state=held"]), std::slice::from_ref(&third));
    assert_eq!(ids(&["--state=all"]).len(), 3);
    assert_eq!(ids(&["--rooftop=demo honda oakland"]), std::slice::from_ref(&second));
    assert!(ids(&["--since=2026-05-01"]).is_empty());
    let listed = leads(&server, &["list"]);
    let shown = String::from_utf8_lossy(&listed.stdout);
    let talk = String::from_utf8_lossy(&listed.stderr);
    assert!(shown.contains("SAME PERSON") && shown.matches(&first).count() == 3, "{shown}");
    assert!(talk.contains("1 more lead is held back: add --state held"), "{talk}");
    assert!(said(&server, &["list", "--state=held"]).contains("held: velocity"));
    let show = said(&server, &["show", &third]);
    assert!(show.contains(&format!("probably the same person as in: {first}, {second}")), "{show}");
    // Exports leave it out, unless it is named.
    assert_eq!(json_of(&server, &["export"]).as_array().unwrap().len(), 2);
    let named = json_of(&server, &["export", &third]);
    assert_eq!((&named[0]["held_for"], &named[0]["state"]), (&json!("velocity"), &json!("held")));
    assert_eq!(named[0]["probably_same_person"], json!([first, second]));
    assert!(said(&server, &["export", &third, "--format=adf"]).contains("HELD BACK FOR: velocity"));
    assert_eq!(leads(&server, &["export", "lead_0"]).status.code(), Some(2));

    assert_eq!(said(&server, &["release", &third]), format!("released {third}\n"));
    let again = leads(&server, &["release", &third, "--json"]);
    assert_eq!(again.status.code(), Some(2));
    let document: Value = tradepost_document::json::from_slice(&again.stdout).unwrap();
    assert_eq!(document["error"]["not_held"], json!([third]), "{document}");
    assert_eq!(ids(&[]).len(), 3);
}

#[test]
fn an_export_that_was_not_written_is_no_success() {
    let server = start_with(|_| {});
    let id = server.payload(&lead())["data"]["lead_id"].as_str().unwrap().to_owned();
    let ends = |arguments: &[&str], out: Stdio| {
        let output = command(&server, arguments).stdout(out).stderr(Stdio::piped()).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let unread = || Stdio::from(std::io::pipe().unwrap().1);
    for arguments in [
        &["export"][..],
        &["export", "--format=csv"],
        &["export", "--format=adf"],
        &["evidence", &id],
        &["evidence", &id, "--json"],
    ] {
        for out in [full(), unread()] {
            let (code, said) = ends(arguments, out);
            assert_eq!(code, Some(1), "{arguments:?} {said}");
            assert!(said.contains("error: cannot write to standard output: "), "{said}");
        }
    }
    // Whoever looks at a list may have seen enough.
    assert_eq!(ends(&["list"], unread()).0, Some(0));
}
