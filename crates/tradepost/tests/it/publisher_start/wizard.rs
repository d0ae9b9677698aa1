//! `tradepost init --publisher --wizard`: the dialogue, what it writes, and a server that sells by it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Output, Stdio};

use expect_test::{Expect, expect};
use tradepost_document::json::{self, Value, json};

use super::{TABLE, command, run, text};
use crate::process::Process;
use crate::support::mail::{MailBehavior, MailServer, Secured};

fn wizard(folder: &Path, more: &[&str], answers: &[&str]) -> Output {
    let mut command = command(folder, &[&["init", "--publisher", "--wizard"], more].concat());
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
fn said(output: &[u8], folder: &Path, port: &str, expected: &Expect) {
    let folder = folder.canonicalize().unwrap().display().to_string();
    let text = text(output).replace(&folder, "FOLDER").replace(port, "MAILPORT");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const IDENTITY: &[&str] =
    &["The Gazette", "", "gazette.example", "https://www.gazette.example", "ads@gazette.example"];
const SERVER: &[&str] = &["127.0.0.1:0", "https://ads.gazette.example", "yes", "127.0.0.1:0"];
const POLICIES: &[&str] = &["50000", "10000", "no"];
const PEOPLE: &[&str] = &["acme", "ada", "correct horse battery", "correct horse battery"];

/// Answers that lead to a publisher with a catalogue, a mail server without a login, an agent and an approver.
fn answers(port: &str) -> Vec<&str> {
    let catalogue = ["", "products.csv", "yes"];
    let mail = ["mail", "adops@gazette.example", "127.0.0.1", "none", port, "", "", "yes"];
    [IDENTITY, SERVER, &catalogue, POLICIES, &["none"], &mail, PEOPLE, &["yes"]].concat()
}

fn folder_with_files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("products.csv"), TABLE).unwrap();
    folder
}

#[test]
fn the_dialogue_ends_with_a_sale_and_leaves_none() {
    let folder = folder_with_files();
    let mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let port = mail.address.port().to_string();
    let output = wizard(folder.path(), &[], &answers(&port));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    said(
        &output.stdout,
        folder.path(),
        &port,
        &expect![[r#"
        This asks what a publisher needs to sell to agents, and writes FOLDER/tradepost.toml.
        An empty line takes the answer in [brackets]. Ctrl-C stops, and leaves nothing behind.

        1 of 7: who you are
        Name of the publisher, as buyers read it: The Gazette
        Id, for commands and addresses [the-gazette]: the-gazette
        Domain whose advertising space you sell: gazette.example
        Web site of your company (empty: none): https://www.gazette.example
        E-mail address for questions of buyers, which is public (empty: none): ads@gazette.example

        2 of 7: how you are reached
        Where the server listens: address and port [127.0.0.1:8080]: 127.0.0.1:0
        Public address, at which buyers reach it (empty: not yet): https://ads.gazette.example
        Does a proxy with TLS on this machine pass requests on? [yes]: yes
        Where the console of your people listens (none: no console) [127.0.0.1:8090]: 127.0.0.1:0

        3 of 7: what you sell
        Currency of your prices, in three letters [USD]: USD
        CSV file with your products (empty: answer questions about the first one, none: later): products.csv
        FIELD        FROM COLUMN   FILLED  FIRST
        product_id   Product ID    2 of 2  news
        name         Product name  2 of 2  News display
        description  Description   2 of 2  Banners on the news pages.
        formats      Sizes         2 of 2  300x250
        property     Section       2 of 2  news
        rate         CPM           2 of 2  12
        currency     Currency      2 of 2  USD
        no column: channel, delivery_type, pricing_model, floor, minimum_spend, impressions_per_day, available_impressions, countries, keywords, approval, exclusive, sold_out, expires_at, price_id, ad_server_inventory

        ROW  PRODUCT  FORMATS                        CHANNEL  DELIVERY    PRICES
        2    news     display_300x250                display  guaranteed  12 USD cpm
        3    sports   display_728x90, native_teaser  display  guaranteed  15 USD cpm

        Sell this? [yes]: yes

        4 of 7: what needs your approval
        Amount in USD above which two people approve a media buy (empty: none): 50000
        Most in USD that may be committed on one account in a day (empty: no limit): 10000
        May agents buy that you have not listed, if they have a key? [no]: no

        5 of 7: your ad server
        Ad server: none, upstream, kevel, google_ad_manager, http (upstream only says what is sold out) [none]: none
          your people set up what was sold; the console and the messages say what

        6 of 7: who is told
        Messages about sales and approvals go by: mail, webhook, slack, teams, none [mail]: mail
        Address that gets the messages: adops@gazette.example
        Mail server that sends them, by its host name: 127.0.0.1
        Protection of the connection: starttls, required or none [starttls]: none
        Port of the mail server [25]: MAILPORT
        User name at the mail server (empty: none):
        Sender of these mails [adops@gazette.example]: adops@gazette.example
        Send a message there now that is marked as a test? [yes]: yes
          taken: SMTP 250

        7 of 7: who buys, and who approves
        Id of the first buyer agent, which gets a key (none: later) [first-buyer]: acme
        Sign-in name of the first approver (none: later) [approver]: ada
        Password, of 12 characters or more (empty: one is made):
        The same password again:

        a test: a buyer looks at your products, buys one over MCP, and cancels it
          the buyer was shown 2 products
          sold: News display, for 100 USD
          canceled and removed: nothing of it is left

        Write the configuration? [yes]: yes

        wrote FOLDER/catalogue.json
        wrote FOLDER/tradepost.toml
        wrote FOLDER/adagents.json, for your domain
        FOLDER/tradepost.toml is valid
        publisher the-gazette (The Gazette): 2 products
        listens on 127.0.0.1:0
        the key of acme is in FOLDER/secrets/acme-key, which only you can read
        approver ada can sign in to the console

        next, start the server:
          cd FOLDER && tradepost serve
        publish adagents.json on your domain, at /.well-known/adagents.json, and check it:
          cd FOLDER && tradepost publisher adagents check
        give acme its key and your address; over MCP it ends with /mcp
    "#]],
    );
    assert!(!text(&output.stdout).contains("horse"), "the password is shown");
    said(
        &fs::read(folder.path().join("tradepost.toml")).unwrap(),
        folder.path(),
        &port,
        &expect![[r##"
            # The configuration of Tradepost, written by `tradepost init --wizard`.
            # Change it as you like: `tradepost check-config` reports every mistake with its line, and a running server reads
            # it again on SIGHUP. `tradepost init --path all-keys.toml` writes a file that explains every key.

            [server]
            # Where the server listens.
            listen = "127.0.0.1:0"
            # A proxy with TLS stands before the server and says who the client is.
            trust_forwarded_for = true

            # The console of your people, at /console of this address.
            [server.console]
            listen = "127.0.0.1:0"

            # The publisher: one agent with one card (docs/publisher.md).
            [[publishers]]
            # The name on the agent card.
            name = "The Gazette"
            # Its id in the database and in commands. Do not change it later.
            id = "the-gazette"
            # The domain whose advertising space it sells.
            domain = "gazette.example"
            # Where buyers reach it.
            public_url = "https://ads.gazette.example"
            # What it sells: `tradepost publisher catalogue import` puts a spreadsheet into it.
            catalogue = "FOLDER/catalogue.json"

            # Who operates the agent.
            [publishers.provider]
            organization = "The Gazette"
            url = "https://www.gazette.example"

            [publishers.approvals]

            # The amount above which two people approve a media buy.
            [[publishers.approvals.four_eyes_above]]
            currency = "USD"
            amount = 50000

            # The most that may be committed on one account in a day.
            [[publishers.spend_limits]]
            currency = "USD"
            per_day = 10000

            # Whether agents may buy that are not listed below.
            [publishers.onboarding]
            strangers = false

            # Where your people are told what was sold and what waits.
            [[publishers.deliveries]]
            name = "mail"
            by = "smtp"
            to = ["adops@gazette.example"]
            host = "127.0.0.1"
            tls = "none"
            port = MAILPORT
            from = "adops@gazette.example"

            # A buyer agent, with the names of its keys (`tradepost keys create`).
            [[publishers.agents]]
            id = "acme"
            credentials = ["acme"]
        "##]],
    );
    let mode =
        |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("tradepost.toml"), mode("secrets/acme-key")), (0o600, 0o600));
    assert_eq!(
        names(folder.path()),
        [
            "adagents.json",
            "catalogue.json",
            "products.csv",
            "secrets",
            "tradepost-data",
            "tradepost.toml"
        ]
    );
    let buys = run(folder.path(), &["publisher", "buys", "list", "--json"]);
    assert_eq!(text(&buys.stdout).trim(), "[]", "the test sale left nothing: {buys:?}");
    let checked = run(folder.path(), &["publisher", "adagents", "check", "adagents.json"]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
}

#[test]
fn the_key_of_the_first_agent_buys_from_the_server() {
    let folder = folder_with_files();
    let output = wizard(folder.path(), &[], &{
        let catalogue = ["", "products.csv", "yes"];
        [IDENTITY, SERVER, &catalogue, POLICIES, &["none", "none"], PEOPLE, &["yes"]].concat()
    });
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let key = fs::read_to_string(folder.path().join("secrets/acme-key")).unwrap();
    let server = Process::run(folder.path(), command(folder.path(), &["serve"]), Stdio::null());
    let call = |task: &str, arguments: &Value| {
        let address = format!("http://{}/mcp", server.address);
        let mut command = command(folder.path(), &["adcp", "call", &address, task, "--json"]);
        command.args(["--args", &arguments.to_string()]).env("TRADEPOST_TOKEN", key.trim());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let brand = json!({"domain": "acmeoutdoor.example"});
    call("get_products", &json!({"buying_mode": "wholesale"}));
    call(
        "sync_accounts",
        &json!({"accounts": [{
            "brand": brand, "operator": "acmeoutdoor.example", "billing": "operator",
        }]}),
    );
    call(
        "create_media_buy",
        &json!({
            "account": {"brand": brand, "operator": "acmeoutdoor.example"}, "brand": brand,
            "start_time": "asap", "end_time": "2100-01-31T00:00:00Z",
            "packages": [{"product_id": "news", "pricing_option_id": "cpm_fixed", "budget": 500}],
        }),
    );
    let buys = run(folder.path(), &["publisher", "buys", "list", "--json"]);
    let buys: Value = json::from_slice(&buys.stdout).unwrap();
    assert_eq!(buys.as_array().map(Vec::len), Some(1), "{buys}");
}

#[test]
fn a_wrong_answer_is_explained_and_asked_again() {
    let folder = folder_with_files();
    fs::write(folder.path().join("bad.csv"), TABLE.replace("12", "twelve")).unwrap();
    let identity =
        ["Gazette", "Not An Id", "gazette", "https://gazette.example", "gazette.example", ""];
    let contact = ["nobody", ""];
    let server = ["8080", "127.0.0.1:0", "gazette", "", "none"];
    let first = ["dollars", "usd", "nothing.csv", "bad.csv", ""];
    let product = ["News", "Banners.", "hologram", "300x250", "news", "cpp", "cpm"];
    let price = ["maybe", "yes", "twelve", "", "12", "yes", "100", "many", "100000", "yes"];
    let policies = ["a lot", "50.000", "5 EUR", "", "-1", "", "no"];
    // A key file that is not there, and an address where nobody answers.
    let google = ["gam", "google_ad_manager", "/nowhere/key.json", "12345", "7", "", "yes"];
    let upstream = ["upstream", "http://127.0.0.1:1/sold-out", "yes", "none"];
    let ad_server = [&google[..], &upstream[..]].concat();
    let messages =
        ["fax", "webhook", "http://hooks.example/x", "https://hooks.example/x", "short", "", "no"];
    let people = ["No Id", "none", "yes"];
    let parts: [&[&str]; 9] =
        [&identity, &contact, &server, &first, &product, &price, &policies, &ad_server, &messages];
    let output = wizard(folder.path(), &["site"], &[&parts.concat(), &people[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    said(
        &output.stdout,
        folder.path(),
        "\0",
        &expect![[r#"
        This asks what a publisher needs to sell to agents, and writes FOLDER/site/tradepost.toml.
        An empty line takes the answer in [brackets]. Ctrl-C stops, and leaves nothing behind.

        1 of 7: who you are
        Name of the publisher, as buyers read it: Gazette
        Id, for commands and addresses [gazette]: Not An Id
          not accepted: must have 1 to 64 characters a-z, 0-9, - and _, and start with a letter or digit
          hint: write small letters, digits and hyphens; it is hard to change later
        Id, for commands and addresses [gazette]: gazette
        Domain whose advertising space you sell: https://gazette.example
          not accepted: must be a host name without scheme and port, such as cars.example.com
          hint: write a host name without https://, such as gazette.example
        Domain whose advertising space you sell: gazette.example
        Web site of your company (empty: none):
        E-mail address for questions of buyers, which is public (empty: none): nobody
          not accepted: must be an e-mail address
          hint: write one address, such as ads@gazette.example
        E-mail address for questions of buyers, which is public (empty: none):

        2 of 7: how you are reached
        Where the server listens: address and port [127.0.0.1:8080]: 8080
          not accepted: must be an IP address and a port such as 127.0.0.1:8080 or [::]:8080
          hint: 127.0.0.1 is for this machine and a proxy on it, 0.0.0.0 for every address
        Where the server listens: address and port [127.0.0.1:8080]: 127.0.0.1:0
        Public address, at which buyers reach it (empty: not yet): gazette
          not accepted: must be an absolute web address without query, such as https://agents.example.com
          hint: write it with https://, such as https://ads.gazette.example
        Public address, at which buyers reach it (empty: not yet):
        Where the console of your people listens (none: no console) [127.0.0.1:8090]: none

        3 of 7: what you sell
        Currency of your prices, in three letters [USD]: dollars
          not accepted: must be the three letters of a currency in ISO 4217
          hint: such as USD or EUR
        Currency of your prices, in three letters [USD]: usd
        CSV file with your products (empty: answer questions about the first one, none: later): nothing.csv
          not accepted: cannot read nothing.csv: entity not found
          hint: `tradepost publisher catalogue import --template` prints a file to begin with
        CSV file with your products (empty: answer questions about the first one, none: later): bad.csv
          not accepted: row 2, column "CPM": "twelve" is no amount; write a number such as 12.50
          hint: correct these cells, and name the file again
        CSV file with your products (empty: answer questions about the first one, none: later):
        Name of the product: News
        What it is, in a sentence: buyers' agents find it by these words: Banners.
        Formats, such as 300x250; 728x90 or video 30s or native [300x250]: hologram
          not accepted: the format "hologram" is not known; write a size such as 300x250, video 30s, audio 15s, native, or the id of a format of the catalogue
        Formats, such as 300x250; 728x90 or video 30s or native [300x250]: 300x250
        Section of your site, such as news (empty: all of it): news
        What is paid for: cpm, vcpm, cpc, cpcv or flat_rate [cpm]: cpp
          not accepted: "cpp" is no pricing model; write cpm, vcpm, cpc, cpcv or flat_rate; other models need more than one number, and are written into the catalogue by hand
        What is paid for: cpm, vcpm, cpc, cpcv or flat_rate [cpm]: cpm
        Is the price fixed? (no: buyers bid) [yes]: maybe
          not accepted: must be yes or no
        Is the price fixed? (no: buyers bid) [yes]: yes
        Price in USD: twelve
          not accepted: "twelve" is no amount; write a number such as 12.50
        Price in USD:
          not accepted: is needed; write a number such as 12.50
        Price in USD: 12
        Is the delivery guaranteed? [yes]: yes
        Lowest budget of a booking (empty: none): 100
        Impressions that there are on a day (empty: not counted): many
          not accepted: "many" is no whole number; write a number such as 200000
        Impressions that there are on a day (empty: not counted): 100000
        Sell this? [yes]: yes

        4 of 7: what needs your approval
        Amount in USD above which two people approve a media buy (empty: none): a lot
          not accepted: "a lot" is no amount; write a number such as 12.50
          hint: write a number such as 50000
        Amount in USD above which two people approve a media buy (empty: none): 50.000
          not accepted: "50.000" can be read in two ways; write it without separators of thousands, and with two decimals: 1200.00 or 1.20
          hint: write a number such as 50000
        Amount in USD above which two people approve a media buy (empty: none): 5 EUR
          not accepted: is in EUR, and has to be in USD; write the number alone
          hint: write a number such as 50000
        Amount in USD above which two people approve a media buy (empty: none):
        Most in USD that may be committed on one account in a day (empty: no limit): -1
          not accepted: "-1" is below zero; write an amount that is not negative
          hint: write a number such as 50000
        Most in USD that may be committed on one account in a day (empty: no limit):
        May agents buy that you have not listed, if they have a key? [no]: no

        5 of 7: your ad server
        Ad server: none, upstream, kevel, google_ad_manager, http (upstream only says what is sold out) [none]: gam
          not accepted: must be one of none, upstream, kevel, google_ad_manager, http
        Ad server: none, upstream, kevel, google_ad_manager, http (upstream only says what is sold out) [none]: google_ad_manager
        Key file of the service account (JSON), with its whole path: /nowhere/key.json
        Code of the network at Google: 12345
        User at Google who is responsible for orders, by its number: 7
        Advertiser there for accounts that name none, by its id (empty: none):
          not accepted: the credential cannot read /nowhere/key.json: entity not found
          hint: correct the answers, or keep them and correct the ad server
        Answer these questions again? [yes]: yes
        Ad server: none, upstream, kevel, google_ad_manager, http (upstream only says what is sold out) [none]: upstream
        Address that answers with the products that are sold out: http://127.0.0.1:1/sold-out
          not accepted: it does not answer as it should
          hint: correct the answers, or keep them and correct the ad server
        Answer these questions again? [yes]: yes
        Ad server: none, upstream, kevel, google_ad_manager, http (upstream only says what is sold out) [none]: none
          your people set up what was sold; the console and the messages say what

        6 of 7: who is told
        Messages about sales and approvals go by: mail, webhook, slack, teams, none [mail]: fax
          not accepted: must be one of mail, webhook, slack, teams, none
        Messages about sales and approvals go by: mail, webhook, slack, teams, none [mail]: webhook
        Address of your program that takes messages as JSON: http://hooks.example/x
          not accepted: must be an address with https, such as https://www.example.com/page; http only on 127.0.0.1 or [::1]
          hint: write an address with https
        Address of your program that takes messages as JSON: https://hooks.example/x
        Key that signs them, of 32 characters or more (empty: one is made):
          not accepted: must have 32 characters or more
          hint: an empty line makes one, which you find in a file afterwards
        Key that signs them, of 32 characters or more (empty: one is made):
        Send a message there now that is marked as a test? [yes]: no

        7 of 7: who buys, and who approves
        Id of the first buyer agent, which gets a key (none: later) [first-buyer]: No Id
          not accepted: must have 1 to 64 characters a-z, 0-9, - and _, and start with a letter or digit
          hint: write small letters, digits and hyphens, such as the agency's name
        Id of the first buyer agent, which gets a key (none: later) [first-buyer]: none

        a test: a buyer looks at your products, buys one over MCP, and cancels it
          the buyer was shown 1 product
          sold: News, for 100 USD
          canceled and removed: nothing of it is left

        Write the configuration? [yes]: yes

        wrote FOLDER/site/catalogue.json
        wrote FOLDER/site/tradepost.toml
        wrote FOLDER/site/secrets/webhook-hmac-key, which only you can read
        FOLDER/site/tradepost.toml is valid
        publisher gazette (Gazette): 1 product
        listens on 127.0.0.1:0

        next, start the server:
          cd FOLDER/site && tradepost serve
        when you have a public address, set public_url, and write the file of your domain:
          cd FOLDER/site && tradepost publisher adagents write
    "#]],
    );
    assert_eq!(names(&folder.path().join("site")), ["catalogue.json", "secrets", "tradepost.toml"]);
}

#[test]
fn input_that_ends_early_leaves_nothing_behind() {
    let folder = folder_with_files();
    let before = names(folder.path());
    let catalogue = ["", "products.csv", "yes"];
    let all = [IDENTITY, SERVER, &catalogue, POLICIES, &["none", "none"], PEOPLE].concat();
    for count in [0, 1, 6, 12, all.len() - 2, all.len()] {
        let output = wizard(folder.path(), &["site"], &all[..count]);
        assert_eq!(output.status.code(), Some(2), "{count}: {output:?}");
        assert!(
            text(&output.stderr).contains("the input ended before the last question"),
            "{output:?}"
        );
        assert_eq!(names(folder.path()), before, "{count}");
    }
}

#[test]
fn existing_files_are_replaced_only_when_wanted() {
    let folder = folder_with_files();
    fs::write(folder.path().join("catalogue.json"), "mine").unwrap();
    let output = wizard(folder.path(), &[], &["no"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stdout).contains("catalogue.json exists."), "{output:?}");
    assert_eq!(fs::read_to_string(folder.path().join("catalogue.json")).unwrap(), "mine");
}

#[test]
fn limits_are_read_as_prices_are() {
    let folder = folder_with_files();
    let catalogue = ["", "products.csv", "yes"];
    let policies = ["50.000,00", "$10,000.00", "no"];
    let all =
        [IDENTITY, SERVER, &catalogue, &policies, &["none", "none"], PEOPLE, &["yes"]].concat();
    let output = wizard(folder.path(), &[], &all);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let config = fs::read_to_string(folder.path().join("tradepost.toml")).unwrap();
    assert!(
        config.contains("amount = 50000\n") && config.contains("per_day = 10000\n"),
        "{config}"
    );
}

/// The folder's store has the approver already, and `adagents.json` is that of another publisher.
#[test]
fn a_used_folder_gets_all_but_what_fails() {
    let folder = folder_with_files();
    let catalogue = ["", "products.csv", "yes"];
    let hidden = ["127.0.0.1:0", "", "127.0.0.1:0"];
    let all = |server: &[&'static str]| {
        [IDENTITY, server, &catalogue, POLICIES, &["none", "none"], PEOPLE, &["yes"]].concat()
    };
    let output = wizard(folder.path(), &[], &all(SERVER));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let output = wizard(folder.path(), &["--force"], &all(&hidden));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("another user has this name"), "{output:?}");
    let said = text(&output.stdout);
    for expected in ["secrets/acme-key-2", "next, start the server", "give acme its key"] {
        assert!(said.contains(expected), "{said}");
    }
    assert!(said.contains("when you have a public address"), "{said}");
    assert!(!said.contains("publish adagents.json"), "an earlier file is on offer: {said}");
}

#[test]
fn a_table_is_read_no_further_than_the_limit() {
    let folder = folder_with_files();
    // More than memory has, and nothing of it on the disk.
    let large = fs::File::create(folder.path().join("large.csv")).unwrap();
    large.set_len(64 << 30).unwrap();
    let output = wizard(folder.path(), &[], &[IDENTITY, SERVER, &["", "large.csv"]].concat());
    let said = text(&output.stdout);
    assert!(said.contains("not accepted: the file has more than 16 MiB"), "{said}");
}

#[test]
fn a_sale_that_fails_is_said_before_anything_is_written() {
    let folder = folder_with_files();
    let catalogue = ["", "products.csv", "yes"];
    // A limit below the least budget of a test.
    let policies = ["", "5", "no"];
    let all = [IDENTITY, SERVER, &catalogue, &policies, &["none", "none"], PEOPLE, &[""]].concat();
    let output = wizard(folder.path(), &["site"], &all);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stdout);
    assert!(said.contains("not sold: create_media_buy") && said.contains("hint: "), "{said}");
    assert!(!folder.path().join("site").exists());
}
