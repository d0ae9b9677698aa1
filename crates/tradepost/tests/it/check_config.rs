//! `tradepost check-config`: what is permitted and will be regretted is named at once, with its line.

use std::process::Command;

use expect_test::expect;
use tradepost_document::json::Value;

const CONFIG: &str = r#"[server]
listen = "0.0.0.0:8080"
operator_listen = "0.0.0.0:9080"

[server.console]
listen = "127.0.0.1:8090"
public_url = "http://desk.example"

[[dealers]]
id = "bare"
name = "Bare Motors"
public_url = "https://bare.example"

[[dealers.rooftops]]
name = "Bare Motors Downtown"
timezone = "America/Los_Angeles"
phones = ["+14155550123"]
address = { address_line_1 = "1 Main Street", city = "Springfield", state = "CA", zip = "90001", country = "US" }

[dealers.leads]
answer_within = "15m"
"#;

#[test]
fn warnings_come_at_once_with_lines_and_exit_zero() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.toml"), CONFIG).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
        command.current_dir(folder.path()).args(arguments).output().unwrap()
    };
    let output = run(&["check-config", "shop.toml"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    expect![[r#"
        warning: shop.toml:3: server.operator_listen 0.0.0.0:9080 is on all interfaces, in clear text: everyone who can connect can read the metrics and try administrator keys; listen on 127.0.0.1 or on an address of a private network
        warning: shop.toml:7: server.console.public_url is http: passwords, sessions and customer data can be read in transit; set up TLS on the proxy and write https, or set server.tls
        warning: shop.toml:12: public_url is https, but server.listen 0.0.0.0:8080 answers in clear text: set server.tls, or permit connections only from a TLS proxy on this machine, with listen on 127.0.0.1 and trust_forwarded_for = true
        warning: shop.toml:14: dealer bare, rooftop Bare Motors Downtown has no appointments.types: the server confirms no test drives and visits, and staff must arrange each
        warning: shop.toml:21: dealer bare has leads.answer_within, and nobody is told of leads that wait longer: name somebody in [[alerts.destinations]]
    "#]]
    .assert_eq(&String::from_utf8(output.stderr).unwrap());

    let output = run(&["check-config", "--config", "shop.toml", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = tradepost_document::json::from_slice(&output.stdout).unwrap();
    let places = document["warning_details"].as_array().unwrap().iter();
    let places: Vec<_> =
        places.map(|warning| format!("{} {}", warning["line"], warning["key"])).collect();
    assert_eq!(
        places,
        [
            "3 \"server.operator_listen\"",
            "7 \"server.console.public_url\"",
            "12 \"dealers[0].public_url\"",
            "14 \"dealers[0].rooftops[0]\"",
            "21 \"dealers[0].leads.answer_within\"",
        ]
    );
}
