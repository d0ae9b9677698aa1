//! `tradepost init --wizard`: the dialogue, what it writes, and the way from there to a test lead that arrives.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use expect_test::{Expect, expect};
use tradepost_document::json::{self, Value};

use crate::adf::{complaints, validator};
use crate::process::{Process, pause};
use crate::support::mail::{MailBehavior, MailServer, Secured};

/// A feed of two vehicles.
const FEED: &str = "\
vin,stock,year,make,model,condition,price,mileage,photo
1HGCM82633A004352,A100,2021,Honda,Accord,used,21500,30210,https://photos.example.com/a.jpg
2HGFC2F59KH512345,A101,2019,Honda,Civic,used,16900,41000,https://photos.example.com/b.jpg
";

const PASSWORD: &str = "seekrit-mail-password";

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.current_dir(folder).env_remove("TRADEPOST_SERVER__DATABASE");
    command.env("TZ", "America/Chicago").args(arguments);
    command
}

/// Answers the questions of the wizard, a line each, through a pipe.
fn wizard(folder: &Path, more: &[&str], answers: &[&str]) -> Output {
    let mut command = command(folder, &[&["init", "--wizard"], more].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = answers.join("\n");
    if !answers.is_empty() {
        lines.push('\n');
    }
    // A wizard that stops early closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

/// Compares what was said, without what differs from run to run.
fn said(output: &[u8], folder: &Path, mail: Option<SocketAddr>, expected: &Expect) {
    let folder = folder.canonicalize().unwrap().display().to_string();
    let mut text = String::from_utf8(output.to_vec()).unwrap().replace(&folder, "FOLDER");
    if let Some(mail) = mail {
        text = text.replace(&mail.port().to_string(), "MAILPORT");
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// Answers that lead to a dealer with a feed, a mail server without a login, and a manager.
fn answers(port: &str) -> Vec<&str> {
    let identity = ["Bare Motors", "", "www.bare.example"];
    let address = ["1 Main St", "Fairview", "CA", "94542", ""];
    let rooftop = ["Bare Downtown", "+1 (415) 555-0123"];
    let hours = ["America/Los_Angeles", "Mo-Fr 9am-6pm, Sa 10-16", "", "yes", "no"];
    let feed = ["feed.csv", "", "yes"];
    let mail = ["mail", "sales@bare.example", "127.0.0.1", "none", port, "", "", "yes"];
    let server = ["127.0.0.1:0", "", "127.0.0.1:0"];
    let member = ["maria", "correct horse battery", "correct horse battery", "yes"];
    let parts: [&[&str]; 8] =
        [&identity, &rooftop, &address, &hours, &feed, &mail, &server, &member];
    parts.concat()
}

fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("feed.csv"), FEED).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_dialogue_explains_checks_and_tries_each_answer() {
    let folder = folder_with_files();
    let mut mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let port = mail.address.port().to_string();
    let output = wizard(folder.path(), &[], &answers(&port));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    said(
        &output.stdout,
        folder.path(),
        Some(mail.address),
        &expect![[r#"
            This asks what a dealer needs to be online, and writes FOLDER/tradepost.toml.
            An empty line takes the answer in [brackets]. Ctrl-C stops, and leaves nothing behind.

            1 of 5: who you are
            Name of the dealership, as buyers read it: Bare Motors
            Id, for commands and addresses [bare-motors]: bare-motors
            Web site (empty: none): www.bare.example

            2 of 5: where you are, and when you are open
            Name of the rooftop, which is one physical store [Bare Motors]: Bare Downtown
            Telephone number, with + and country code (empty: none): +1 (415) 555-0123
            Street and number (empty: none): 1 Main St
            City (empty: none): Fairview
            State or region (empty: none): CA
            Postal code (empty: none): 94542
            Country, as its two letters [US]: US
            Time zone, by its IANA name [America/Chicago]: America/Los_Angeles
            Opening hours of sales, such as Mo-Fr 9-18, Sa 10-16 (empty: none): Mo-Fr 9am-6pm, Sa 10-16
            Opening hours of service (empty: none):
            Shall the server confirm visits and test drives within these hours by itself? [yes]: yes
            Is there another rooftop? [no]: no

            3 of 5: what you sell
            Feed: a file, a folder, or an address with https or sftp (empty: later): feed.csv
            Format: homenet, vauto, google-listings, google-ads, meta, autotrader, cargurus, marketcheck, schema-org, mobile-de, aap-json (empty: recognised by its headings):
              read 2 rows: 2 vehicles on offer, 0 sold, 0 refused
            FIELD       FULL  UNITS  FROM COLUMN (ROWS)
            vin         100%      2  vin (2)
            stock       100%      2  stock (2)
            vehicle_id  100%      2
            rooftop     100%      2
            year        100%      2  year (2)
            make        100%      2  make (2)
            model       100%      2  model (2)
            condition   100%      2  condition (2)
            status      100%      2
            price       100%      2  price (2)
            mileage     100%      2  mileage (2)
            photos      100%      2  photo (2)
              warning: 1 of 2: the VIN's check digit is wrong
            Use this feed? [yes]: yes

            4 of 5: where leads go
            Leads go by: mail, crm, webhook, slack, teams, none (mail and crm send ADF, which CRMs read) [mail]: mail
            Address that gets the leads, which your CRM shows in its settings: sales@bare.example
            Mail server that sends them, by its host name: 127.0.0.1
            Protection of the connection: starttls, required or none [starttls]: none
            Port of the mail server [25]: MAILPORT
            User name at the mail server (empty: none):
            Sender of these mails [sales@bare.example]: sales@bare.example
            Send a message there now that is marked as a test? [yes]: yes
              taken: SMTP 250

            5 of 5: how you are reached
            Where the server listens: address and port [127.0.0.1:8080]: 127.0.0.1:0
            Public address, at which agents reach it (empty: not yet):
            Where the console of your staff listens (none: no console) [127.0.0.1:8090]: 127.0.0.1:0
            Sign-in name of the first manager (none: later) [manager]: maria
            Password, of 12 characters or more (empty: one is made):
            The same password again:

            Write the configuration? [yes]: yes

            wrote FOLDER/tradepost.toml
            FOLDER/tradepost.toml is valid
            dealer bare-motors (Bare Motors): 1 rooftop: Bare Downtown
            dealer bare-motors: leads are delivered to mail
            listens on 127.0.0.1:0
            manager maria can sign in to the console

            next, start the server:
              cd FOLDER && tradepost serve
            sign in to the console at http://127.0.0.1:0/console
            then test every step from outside, in another terminal:
              cd FOLDER && tradepost doctor --test-lead you@example.com
            it sends a lead whose customer has this address, which is yours
            the lead arrives, marked as a test, at sales@bare.example
        "#]],
    );
    assert!(!String::from_utf8_lossy(&output.stdout).contains("horse"), "the password is shown");
    let config = folder.path().join("tradepost.toml");
    said(
        &fs::read(&config).unwrap(),
        folder.path(),
        Some(mail.address),
        &expect![[r##"
        # The configuration of Tradepost, written by `tradepost init --wizard`.
        # Change it as you like: `tradepost check-config` reports every mistake with its line, and a running server reads
        # it again on SIGHUP. `tradepost init --path all-keys.toml` writes a file that explains every key.

        [server]
        # Where the server listens.
        listen = "127.0.0.1:0"

        # The console of your people, at /console of this address.
        [server.console]
        listen = "127.0.0.1:0"

        # The dealer: one agent with one card.
        [[dealers]]
        # The name on the agent card.
        name = "Bare Motors"
        # Its id in the database and in commands. Do not change it later.
        id = "bare-motors"

        # Who operates the agent.
        [dealers.provider]
        organization = "Bare Motors"
        url = "https://www.bare.example"

        # A physical store.
        [[dealers.rooftops]]
        name = "Bare Downtown"
        website = "https://www.bare.example"
        # With + and the country code.
        phones = ["+14155550123"]
        # The time zone of the opening hours and of appointments.
        timezone = "America/Los_Angeles"

        [dealers.rooftops.address]
        address_line_1 = "1 Main St"
        city = "Fairview"
        state = "CA"
        zip = "94542"
        country = "US"

        # Opening hours by department. A day that is not named is closed.
        [dealers.rooftops.schedules]

        [dealers.rooftops.schedules.sales]
        monday = "09:00-18:00"
        tuesday = "09:00-18:00"
        wednesday = "09:00-18:00"
        thursday = "09:00-18:00"
        friday = "09:00-18:00"
        saturday = "10:00-16:00"

        # The appointments that the server confirms by itself, within the opening hours.
        [dealers.rooftops.appointments]
        types = ["sales", "test_drive", "trade_in"]

        # Where the inventory comes from (docs/feeds.md).
        [[dealers.feeds]]
        name = "inventory"
        from = "folder"
        folder = "FOLDER"
        files = "feed.csv"

        # Where leads are delivered to (docs/deliveries.md).
        [[dealers.deliveries]]
        name = "mail"
        by = "smtp"
        to = ["sales@bare.example"]
        host = "127.0.0.1"
        tls = "none"
        port = MAILPORT
        from = "sales@bare.example"
    "##]],
    );
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    let [sample] = mail.wait(1) else { panic!() };
    assert!(sample.data.contains("TEST, this is no lead"), "{}", sample.data);
    let listed = command(folder.path(), &["console", "user", "list", "--json"]).output().unwrap();
    let listed: Value = json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["name"], "maria");
    assert_eq!(listed[0]["role"], "manager");
    assert_eq!(listed[0]["dealer"], "bare-motors");
}

#[test]
fn a_wrong_answer_is_explained_and_asked_for_again() {
    let folder = folder_with_files();
    fs::write(folder.path().join("notes.txt"), "Call the provider on Monday.\n").unwrap();
    // No name, an id with capitals, words that are no address.
    let identity = ["", "Bare", "Bare Motors", "bare", "not a web site", ""];
    // A number without a country code, no time zone, hours that end before they begin, and none.
    let rooftop = ["", "555 0123", "", "", "", "", "", "", "Mars/Olympus", ""];
    let hours = ["Mo-Fr 18-9", "Mo-Fr", "", "", "maybe", "no"];
    // A feed that is not there, a preset that nobody knows, and a file that is no feed.
    let feed = ["nothing.csv", "notes.txt", "homnet", "", ""];
    // No channel, and a CRM without TLS.
    let leads =
        ["fax", "crm", "http://crm.example.com/leads", "https://crm.example.com/leads", "", "no"];
    let server = ["8080", "", "", "none", "yes"];
    let parts: [&[&str]; 6] = [&identity, &rooftop, &hours, &feed, &leads, &server];
    let output = wizard(folder.path(), &["shop"], &parts.concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    said(
        &output.stdout,
        folder.path(),
        None,
        &expect![[r#"
            This asks what a dealer needs to be online, and writes FOLDER/shop/tradepost.toml.
            An empty line takes the answer in [brackets]. Ctrl-C stops, and leaves nothing behind.

            1 of 5: who you are
            Name of the dealership, as buyers read it:
              not accepted: must not be empty
              hint: write up to 200 characters
            Name of the dealership, as buyers read it: Bare
            Id, for commands and addresses [bare]: Bare Motors
              not accepted: must have 1 to 64 characters a-z, 0-9, - and _, and start with a letter or digit
              hint: write small letters, digits and hyphens; it is hard to change later
            Id, for commands and addresses [bare]: bare
            Web site (empty: none): not a web site
              not accepted: must be an absolute web address such as https://www.example.com/page
              hint: write it with https://
            Web site (empty: none):

            2 of 5: where you are, and when you are open
            Name of the rooftop, which is one physical store [Bare]: Bare
            Telephone number, with + and country code (empty: none): 555 0123
              not accepted: must be E.164, e.g. +14155550123
              hint: begin with + and the country code, such as +1 415 555 0123
            Telephone number, with + and country code (empty: none):
            Street and number (empty: none):
            City (empty: none):
            State or region (empty: none):
            Postal code (empty: none):
            Country, as its two letters [US]: US
            Time zone, by its IANA name [America/Chicago]: Mars/Olympus
              not accepted: must be a time zone of the IANA database such as America/Los_Angeles
              hint: write a name such as America/Chicago
            Time zone, by its IANA name [America/Chicago]: America/Chicago
            Opening hours of sales, such as Mo-Fr 9-18, Sa 10-16 (empty: none): Mo-Fr 18-9
              not accepted: must open before it closes, on the same day
              hint: write days and hours, such as Mo-Fr 9-18, Sa 10:30am-4pm; days without hours are closed
            Opening hours of sales, such as Mo-Fr 9-18, Sa 10-16 (empty: none): Mo-Fr
              not accepted: "Mo-Fr" needs a day and its hours
              hint: write days and hours, such as Mo-Fr 9-18, Sa 10:30am-4pm; days without hours are closed
            Opening hours of sales, such as Mo-Fr 9-18, Sa 10-16 (empty: none):
            Opening hours of service (empty: none):
            Is there another rooftop? [no]: maybe
              not accepted: must be yes or no
            Is there another rooftop? [no]: no

            3 of 5: what you sell
            Feed: a file, a folder, or an address with https or sftp (empty: later): nothing.csv
              not accepted: FOLDER/nothing.csv does not exist
              hint: name a file or folder of this machine, or an address such as https://feeds.example.com/cars.csv
            Feed: a file, a folder, or an address with https or sftp (empty: later): notes.txt
            Format: homenet, vauto, google-listings, google-ads, meta, autotrader, cargurus, marketcheck, schema-org, mobile-de, aap-json (empty: recognised by its headings): homnet
              not accepted: must be one of homenet, vauto, google-listings, google-ads, meta, autotrader, cargurus, marketcheck, schema-org, mobile-de, aap-json
              hint: name one of them
            Format: homenet, vauto, google-listings, google-ads, meta, autotrader, cargurus, marketcheck, schema-org, mobile-de, aap-json (empty: recognised by its headings):
              not accepted: the heading has no column VIN, Stock or vehicle_id; it begins with: Call the provider on Monday.
              hint: start the table with a heading such as Type,Stock,VIN,Year,Make,Model, or name its columns in the headings of a mapping file
            Feed: a file, a folder, or an address with https or sftp (empty: later):
              no feed yet: `tradepost import FILE` reads one by hand

            4 of 5: where leads go
            Leads go by: mail, crm, webhook, slack, teams, none (mail and crm send ADF, which CRMs read) [mail]: fax
              not accepted: must be one of mail, crm, webhook, slack, teams, none
            Leads go by: mail, crm, webhook, slack, teams, none (mail and crm send ADF, which CRMs read) [mail]: crm
            Address of the CRM that takes ADF by POST: http://crm.example.com/leads
              not accepted: must be an address with https, such as https://www.example.com/page; http only on 127.0.0.1 or [::1]
              hint: write an address with https
            Address of the CRM that takes ADF by POST: https://crm.example.com/leads
            Bearer token of the CRM (empty: none):
            Send a message there now that is marked as a test? [yes]: no

            5 of 5: how you are reached
            Where the server listens: address and port [127.0.0.1:8080]: 8080
              not accepted: must be an IP address and a port such as 127.0.0.1:8080 or [::]:8080
              hint: 127.0.0.1 is for this machine and a proxy on it, 0.0.0.0 for every address
            Where the server listens: address and port [127.0.0.1:8080]: 127.0.0.1:8080
            Public address, at which agents reach it (empty: not yet):
            Where the console of your staff listens (none: no console) [127.0.0.1:8090]: none

            Write the configuration? [yes]: yes

            wrote FOLDER/shop/tradepost.toml
            FOLDER/shop/tradepost.toml is valid
            dealer bare (Bare): 1 rooftop: Bare
            dealer bare: leads are delivered to crm
            listens on 127.0.0.1:8080

            next, start the server:
              cd FOLDER/shop && tradepost serve
            then test every step from outside, in another terminal:
              cd FOLDER/shop && tradepost doctor --test-lead you@example.com
            it sends a lead whose customer has this address, which is yours
        "#]],
    );
    assert_eq!(names(folder.path()), ["feed.csv", "notes.txt", "shop"]);
    assert_eq!(names(&folder.path().join("shop")), ["tradepost.toml"]);
}

#[test]
fn input_that_ends_early_leaves_nothing_behind() {
    let folder = folder_with_files();
    let before = names(folder.path());
    let all = answers("25");
    for count in [0, 1, 7, 20, all.len() - 3, all.len() - 1] {
        // The mail is not sent: nobody listens there.
        let mut answers = all[..count].to_vec();
        if let Some(test) = answers.get_mut(22) {
            *test = "no";
        }
        let output = wizard(folder.path(), &["shop"], &answers);
        assert_eq!(output.status.code(), Some(2), "{count}: {output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("the input ended before the last question"), "{stderr}");
        assert!(stderr.contains("hint: run `tradepost init --wizard` again"), "{stderr}");
        assert_eq!(names(folder.path()), before, "{count}");
    }
}

#[test]
fn an_existing_file_is_replaced_only_when_wanted() {
    let folder = folder_with_files();
    let config = folder.path().join("tradepost.toml");
    fs::write(&config, "# mine").unwrap();
    let output = wizard(folder.path(), &[], &["no"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("nothing was written") && stderr.contains("hint: "), "{stderr}");
    let all = answers("25");
    let mut answers = all.clone();
    answers[25] = "no";
    let output =
        wizard(folder.path(), &[], &[&["yes"], &answers[..all.len() - 1], &["no"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine", "the last question decides");
    let output = wizard(folder.path(), &["--force"], &answers);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(fs::read_to_string(&config).unwrap().contains("Bare Motors"));
}

#[test]
fn the_wizard_has_no_output_for_programs() {
    let folder = folder_with_files();
    let output = command(folder.path(), &["init", "--wizard", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let document: Value = json::from_slice(&output.stdout).unwrap();
    let hint = document["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("leave out --json"), "{document}");
}

#[test]
fn a_secret_is_only_in_a_file_of_its_own() {
    let folder = folder_with_files();
    let mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let port = mail.address.port().to_string();
    let all = answers(&port);
    let user = all.iter().position(|answer| *answer == port).unwrap() + 1;
    let answers = [&all[..user], &["leads", PASSWORD], &all[user + 1..]].concat();
    let output = wizard(folder.path(), &["shop"], &answers);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("taken: SMTP 250") && !said.contains(PASSWORD), "{said}");
    let config = fs::read_to_string(folder.path().join("shop/tradepost.toml")).unwrap();
    assert!(config.contains("password_file = ") && !config.contains(PASSWORD), "{config}");
    let secret = folder.path().join("shop/secrets/mail-password");
    assert_eq!(fs::read_to_string(&secret).unwrap().trim(), PASSWORD);
    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Starts the server on what the wizard has written.
fn serve(folder: &Path) -> Process {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    Process::run(folder, command(folder, &["serve"]), log.into())
}

/// The findings about the steps, as `step: state: message`.
fn steps(folder: &Path, server: &Process) -> Vec<String> {
    let mut doctor = command(folder, &["doctor", "--test-lead", "me@bare.example", "--json"]);
    doctor.env("TRADEPOST_SERVER__LISTEN", server.address.to_string());
    let output = doctor.output().unwrap();
    let document: Value =
        json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let findings = document["findings"].as_array().unwrap();
    let of_steps = findings.iter().filter(|finding| finding["area"] == "steps");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let address = format!("http://{}", server.address);
    let line = |finding: &Value| {
        let [subject, state, says] = ["subject", "state", "message"].map(|key| text(finding, key));
        // The age of the feed depends on the machine.
        let says = says.split(", confirmed ").next().unwrap().replace(&address, "ADDRESS");
        format!("{subject}: {state}: {says}")
    };
    of_steps.map(line).collect()
}

/// Waits until the feed has been read.
fn stocked(folder: &Path) {
    for _ in 0..1_000 {
        let output = command(folder, &["feeds", "show", "inventory", "--json"]).output().unwrap();
        if String::from_utf8_lossy(&output.stdout).contains("\"taken\"") {
            return;
        }
        pause(std::time::Duration::from_millis(20));
    }
    panic!("the feed was not read within 20 seconds");
}

#[test]
fn from_nothing_to_a_test_lead_that_arrives() {
    let folder = folder_with_files();
    let mut mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let port = mail.address.port().to_string();
    let output = wizard(folder.path(), &[], &answers(&port));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let checked = command(folder.path(), &["check-config"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let server = serve(folder.path());
    stocked(folder.path());
    let expected = [
        "bare-motors: identity: ok: Bare Motors: Bare Downtown",
        "bare-motors: hours: ok: every rooftop has opening hours",
        "bare-motors: feed: ok: 2 vehicles",
        "bare-motors: delivery: ok: taken by mail (SMTP 250), and erased",
        "bare-motors: card: ok: the card is at ADDRESS, which only this machine reaches: set public_url",
        "bare-motors: test-lead: ok: taken by mail (SMTP 250), and erased",
    ];
    assert_eq!(steps(folder.path(), &server), expected);
    let [_, lead] = mail.wait(2) else { panic!() };
    assert!(lead.data.contains("Subject: TEST, this is no lead: inquiry"), "{}", lead.data);
    let document = lead.body();
    assert!(document.contains("me@bare.example") && document.contains("tradepost self-test"));
    if let Some(dtd) = validator() {
        assert_eq!(complaints(document, &dtd), "");
    }
    // It is nobody's, and counts nowhere.
    let leads = command(folder.path(), &["leads", "list", "--state", "all", "--json"]);
    let leads = String::from_utf8({ leads }.output().unwrap().stdout).unwrap();
    assert!(leads.contains("\"erased\"") && !leads.contains("me@bare.example"), "{leads}");
    let times = { command(folder.path(), &["leads", "times", "--json"]) }.output().unwrap();
    let times: Value = json::from_slice(&times.stdout).unwrap();
    let counted = times.as_array().unwrap().iter();
    assert!(counted.clone().all(|step| step["leads"] == 0 && step["waiting"] == 0), "{times}");
    assert!(counted.count() > 0);
}

#[test]
fn a_refused_test_lead_gives_a_hint_and_is_erased() {
    let folder = folder_with_files();
    // The sample of the wizard is taken, the lead is not.
    let mail = MailServer::start(Secured::No, |number| match number {
        0 => MailBehavior::Take,
        _ => MailBehavior::Say("RCPT TO", "550 no such mailbox"),
    });
    let port = mail.address.port().to_string();
    let output = wizard(folder.path(), &[], &answers(&port));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let server = serve(folder.path());
    let address = server.address.to_string();
    let mut doctor = command(folder.path(), &["doctor", "--test-lead", "me@bare.example"]);
    let output = doctor.env("TRADEPOST_SERVER__LISTEN", &address).output().unwrap();
    assert_eq!(output.status.code(), Some(15), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("mail did not take it: SMTP 550"), "{stdout}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("tradepost leads test-delivery NAME"), "{stderr}");
    let leads = { command(folder.path(), &["leads", "list", "--state", "all"]) }.output().unwrap();
    assert!(String::from_utf8(leads.stdout).unwrap().contains("erased"));
    drop(server);
    // Nobody answers any more.
    let mut doctor = command(folder.path(), &["doctor", "--test-lead", "me@bare.example"]);
    let output = doctor.env("TRADEPOST_SERVER__LISTEN", &address).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("the lead was not taken"), "{stdout}");
}

#[test]
fn a_test_lead_without_a_store_still_shows_what_is_amiss() {
    let folder = folder_with_files();
    let mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let output = wizard(folder.path(), &[], &answers(&mail.address.port().to_string()));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // A file stands where the data folder belongs.
    let data = folder.path().join("tradepost-data");
    fs::remove_dir_all(&data).ok();
    fs::write(&data, "no folder").unwrap();
    let mut doctor =
        command(folder.path(), &["doctor", "--test-lead", "me@bare.example", "--json"]);
    let output = doctor.output().unwrap();
    assert_eq!(output.status.code(), Some(15), "{output:?}");
    let document: Value =
        json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let findings = document["findings"].as_array().unwrap();
    let found = |area: &str, state: &str| {
        findings.iter().any(|finding| finding["area"] == area && finding["state"] == state)
    };
    // There is no store to open, and the destination was checked nevertheless.
    assert!(found("steps", "bad") && found("store", "warning"), "{document}");
    assert!(found("delivery", "ok"), "{document}");
}
