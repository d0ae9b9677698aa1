//! How commands of a buyer reach the other side, as processes: through a proxy that really tunnels, with
//! certificates of a private authority, and with everything shown that travels.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use expect_test::expect;
use rcgen::{CertificateParams, date_time_ymd};
use tradepost_client::agent::{AgentClient, Outgoing};
use tradepost_client::failure::{CallFailure, ProxyProblem, Unsent};
use tradepost_client::transport::{Network, TransportLimits};
use tradepost_client::{Discovered, HttpTransport, SellerCard, Url};
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::{AuthSettings, Config};

use super::ended;
use crate::support::connect_proxy::ConnectProxy;
use crate::support::tls::{Authority, Pair};
use crate::support::{TestServer, start_with};

/// A name that no name service knows: only the proxy leads to it.
const NAME: &str = "dealer.example";

const ADDRESS: &str = "https://dealer.example";

/// `Proxy-Authorization` for the user and the password in the variable.
const CREDENTIALS: &str = "Basic dTpzM2NyZXQ=";

const VARIABLES: [&str; 8] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// A dealer with TLS, and a file with the certificate of whoever vouches for it.
struct SecureDealer {
    server: TestServer,
    ca: String,
    folder: tempfile::TempDir,
}

fn secure_dealer(
    pair: impl FnOnce(&Authority) -> Pair,
    change: impl FnOnce(&mut Config),
) -> SecureDealer {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("a private authority");
    let tls = pair(&authority).write(folder.path());
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &authority.pem).unwrap();
    let server = start_with(|config| {
        config.server.tls = Some(tls);
        config.dealers[0].public_url = Some(ADDRESS.to_owned());
        config.dealers[0].hosts.clear();
        change(config);
    });
    SecureDealer { server, ca: ca.to_str().unwrap().to_owned(), folder }
}

fn named(names: &[&str]) -> CertificateParams {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    CertificateParams::new(names).unwrap()
}

/// A certificate for the dealer.
fn usual(authority: &Authority) -> Pair {
    authority.issue(|params| *params = named(&[NAME, "127.0.0.1"]))
}

/// The program without whatever proxies the tests run behind.
fn tradepost(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command
}

fn run(command: &mut Command) -> (i32, String, String) {
    ended(command.spawn().unwrap())
}

#[test]
fn a_dealer_behind_a_proxy_is_reached_through_a_tunnel() {
    let dealer = secure_dealer(usual, |_| {});
    let proxy = ConnectProxy::start(dealer.server.address, Some(CREDENTIALS));
    let call = ["call", ADDRESS, "dealer.information", "--ca", &dealer.ca];
    let with = format!("http://u:s3cret@{}", proxy.address);
    let (exit, shown, said) = run(tradepost(&call).env("HTTPS_PROXY", &with));
    assert_eq!(exit, 0, "{said}");
    assert!(shown.contains("Toyota"), "{shown}");
    let asked = proxy.asked();
    assert!(
        !asked.is_empty() && asked.iter().all(|line| line == "CONNECT dealer.example:443 HTTP/1.1"),
        "{asked:?}"
    );

    let wrong = format!("http://u:s3cret-too@{}", proxy.address);
    let (exit, _, said) =
        run(tradepost(&call).env("https_proxy", &wrong).env("HTTPS_PROXY", &with));
    let expected = format!(
        "error: cannot connect through the proxy {}: it wants a user and a password\nhint: put its user and \
         password into the variable that names it: http://USER:PASSWORD@HOST:PORT\n",
        proxy.address
    );
    assert_eq!((exit, said.as_str()), (10, expected.as_str()));

    // Past the proxy nobody knows the name.
    proxy.asked();
    let (exit, _, said) = run(tradepost(&call).env("HTTPS_PROXY", &with).env("NO_PROXY", NAME));
    assert!(exit == 10 && said.starts_with("error: cannot connect: "), "{said}");
    assert_eq!(proxy.asked(), [""; 0]);
    // Nor is there a way into this machine through it.
    let here = format!("https://{}", dealer.server.address);
    let (exit, _, said) =
        run(tradepost(&["discover", &here, "--ca", &dealer.ca]).env("HTTPS_PROXY", &with));
    assert_eq!((exit, proxy.asked().len()), (0, 0), "{said}");

    let (exit, _, said) = run(tradepost(&call).env("HTTPS_PROXY", "socks5://u:s3cret@127.0.0.1:1"));
    assert!(
        exit == 2 && said.starts_with("error: HTTPS_PROXY is neither http nor https\nhint: write "),
        "{said}"
    );
    assert!(!said.contains("s3cret"), "{said}");
    let (exit, _, said) = run(tradepost(&call).env("HTTPS_PROXY", "127.0.0.1:1"));
    assert!(
        exit == 10 && said.contains("cannot connect through the proxy 127.0.0.1:1: "),
        "{said}"
    );
}

#[test]
fn every_command_of_a_buyer_goes_through_the_proxy() {
    let dealer = secure_dealer(usual, |_| {});
    let proxy = ConnectProxy::start(dealer.server.address, None);
    let by = format!("http://{}", proxy.address);
    let verify = format!("{ADDRESS}/.well-known/agent-card.json");
    for (arguments, exits) in [
        (&["discover", ADDRESS][..], &[0][..]),
        (&["call", ADDRESS, "dealer.information"], &[0]),
        (&["call", ADDRESS, "--text", "hello"], &[0, 3, 9]),
        (&["adcp", "tools", ADDRESS], &[0]),
        (&["probe", ADDRESS, "--dry-run"], &[0]),
        (&["card", "verify", &verify], &[11]),
    ] {
        let (exit, _, said) =
            run(tradepost(arguments).args(["--ca", &dealer.ca]).env("HTTPS_PROXY", &by));
        assert!(exits.contains(&exit), "{arguments:?} {exit} {said}");
        let asked = proxy.asked();
        assert!(
            asked.iter().all(|line| line.starts_with("CONNECT dealer.example:443 ")),
            "{arguments:?}"
        );
        assert!(!asked.is_empty(), "{arguments:?}");
    }
}

#[test]
fn the_bridge_for_models_goes_through_the_proxy() {
    let dealer = secure_dealer(usual, |_| {});
    let proxy = ConnectProxy::start(dealer.server.address, None);
    let mut bridge = tradepost(&["mcp", ADDRESS, "--ca", &dealer.ca, "--verbose"])
        .env("HTTPS_PROXY", format!("http://{}", proxy.address))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = bridge.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "aap_dealer_information", "arguments": {}}}),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let lines = BufReader::new(bridge.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut answers = lines.map(|line| tradepost_document::json::from_str::<Value>(&line).unwrap());
    let answer = answers.find(|answer| answer["id"] == 2).unwrap();
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    drop(input);
    // Standard output is the client's, and what travels is shown beside it.
    let (exit, _, said) = ended(bridge);
    assert_eq!(exit, 0, "{said}");
    assert!(
        said.contains("> #1 GET https://dealer.example/.well-known/agent-card.json by the proxy "),
        "{said}"
    );
    assert!(!proxy.asked().is_empty());
}

#[test]
fn a_dealer_without_tls_is_reached_through_a_proxy_too() {
    let server = start_with(|config| {
        config.dealers[0].public_url = Some("http://dealer.example".to_owned());
        config.dealers[0].hosts.clear();
    });
    let proxy = ConnectProxy::start(server.address, Some(CREDENTIALS));
    let by = format!("http://u:s3cret@{}", proxy.address);
    let call = ["call", "http://dealer.example", "dealer.information"];
    let (exit, _, said) = run(tradepost(&call).env("HTTP_PROXY", &by));
    assert_eq!(exit, 0, "{said}");
    let first = "GET http://dealer.example/.well-known/agent-card.json HTTP/1.1";
    assert_eq!(proxy.asked()[0], first);
    let (exit, shown, _) =
        run(tradepost(&call).arg("--json").env("http_proxy", proxy.address.to_string()));
    let error = &tradepost_document::json::from_str::<Value>(&shown).unwrap()["error"];
    assert_eq!(
        (exit, &error["kind"], &error["may_have_acted"]),
        (10, &json!("unsent"), &json!(false))
    );
}

/// An agent with this interface of gRPC and a card of this scheme, by this proxy.
fn grpc_agent(scheme: &str, dealer: &SecureDealer, proxy: &ConnectProxy) -> AgentClient {
    let by = proxy.address.to_string();
    let network = Network::default()
        .with_proxies(|name| ["https_proxy", "http_proxy"].contains(&name).then_some(by.as_str()));
    let network = network.unwrap().with_authorities(&std::fs::read(&dealer.ca).unwrap()).unwrap();
    let card = json!({"name": "A", "supportedInterfaces": [
        {"url": "dealer.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]});
    let url = Url::parse(&format!("{scheme}://{NAME}")).unwrap();
    let card = SellerCard::read(&card.to_string()).unwrap();
    let discovered = Discovered { url, etag: None, card, is_signed: false };
    let transport = HttpTransport::with_network(network, TransportLimits::default());
    AgentClient::new(transport, &discovered, fastrand::Rng::with_seed(1)).unwrap()
}

#[test]
fn grpc_goes_through_a_tunnel_and_not_in_clear_text() {
    let dealer = secure_dealer(usual, |_| {});
    let proxy = ConnectProxy::start(dealer.server.address, None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let said = |scheme: &str| {
        let agent = grpc_agent(scheme, &dealer, &proxy);
        runtime.block_on(agent.send(&Outgoing::text("hello"))).unwrap_err()
    };
    // A dealer has no gRPC: it is its server that says so, in HTTP/2 through the tunnel.
    let refused = said("https");
    assert!(matches!(&refused, CallFailure::Refused(_)), "{refused}");
    assert!(refused.to_string().contains("nothing is here"), "{refused}");
    assert_eq!(proxy.asked(), ["CONNECT dealer.example:443 HTTP/1.1"]);
    // Proxies for clear text do not speak HTTP/2.
    let unsent = said("http");
    let CallFailure::Unsent(Unsent::Proxy { why, .. }) = &unsent else { panic!("{unsent}") };
    assert_eq!(*why, ProxyProblem::NoHttp2);
    assert_eq!(proxy.asked(), [""; 0]);
}

#[test]
fn an_untrusted_certificate_has_a_hint_of_its_own() {
    let expired = |authority: &Authority| {
        authority.issue(|params| {
            *params = named(&["127.0.0.1"]);
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        })
    };
    let future = |authority: &Authority| {
        authority.issue(|params| {
            *params = named(&["127.0.0.1"]);
            params.not_before = date_time_ymd(2100, 1, 1);
            params.not_after = date_time_ymd(2101, 1, 1);
        })
    };
    let other =
        |authority: &Authority| authority.issue(|params| *params = named(&["other.example"]));
    type Issue<'a> = &'a dyn Fn(&Authority) -> Pair;
    let issue: [(Issue<'_>, bool, &str, &str); 4] = [
        (&usual, false, "nobody that is trusted here has issued it", "if you trust its issuer"),
        (&expired, true, "it has expired", "tell the seller to renew it"),
        (&future, true, "it is not valid yet", "check that the clock of this machine is right"),
        (&other, true, "it is for another host", "check that the address is right"),
    ];
    for (pair, trusts, why, hint) in issue {
        let dealer = secure_dealer(pair, |_| {});
        let url = format!("https://{}", dealer.server.address);
        let ca = ["--ca", dealer.ca.as_str()];
        let more = if trusts { &ca[..] } else { &[] };
        for command in [&["discover", &url][..], &["call", &url, "dealer.information"]] {
            let (exit, _, said) = run(tradepost(command).args(more));
            let expected = format!(
                "error: cannot connect: the certificate of 127.0.0.1 is not trusted: {why}\nhint: {hint}"
            );
            assert!(exit == 10 && said.starts_with(&expected), "{said}");
        }
    }
}

#[test]
fn authorities_that_are_named_and_missing_are_not_replaced() {
    let dealer = secure_dealer(usual, |config| config.dealers[0].public_url = None);
    let url = format!("https://{}", dealer.server.address);
    let nothing = dealer.folder.path().join("nothing");
    let bare = |arguments: &[&str]| {
        run(tradepost(arguments).env("SSL_CERT_FILE", &nothing).env("SSL_CERT_DIR", &nothing))
    };
    // Mozilla's in their place would be more than somebody wants.
    for more in [&["discover", &url][..], &["discover", &url, "--ca", &dealer.ca]] {
        let (exit, _, said) = bare(more);
        let why = "SSL_CERT_FILE names no certificate that can be read";
        assert!(exit == 1 && said.contains(why), "{exit} {said}");
    }
    for (file, why) in [("key.pem", "has no certificate "), ("nothing", "")] {
        let path = dealer.folder.path().join(file);
        let (exit, _, said) = bare(&["discover", &url, "--ca", path.to_str().unwrap()]);
        assert!(exit == 2 && said.contains(why), "{said}");
    }
}

/// A dealer who wants to know who calls.
fn closed_dealer() -> SecureDealer {
    secure_dealer(usual, |config| {
        config.dealers[0].auth =
            AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    })
}

#[test]
fn what_travels_is_shown_without_secrets_beside_the_data() {
    let dealer = closed_dealer();
    let proxy = ConnectProxy::start(dealer.server.address, None);
    let by = proxy.address.to_string();
    let token = ["--token", "s3cret-of-mine"];
    let call = [&["call", ADDRESS, "dealer.information", "--ca", &dealer.ca], &token[..]].concat();
    let (exit, shown, said) = run(tradepost(&call).arg("--verbose").env("HTTPS_PROXY", &by));
    assert_eq!((exit, shown.as_str()), (9, ""), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    for line in [
        format!("> #1 GET {ADDRESS}/.well-known/agent-card.json by the proxy {by}"),
        format!("> #2 POST {ADDRESS}/a2a by the proxy {by}"),
        "> authorization: Bearer (hidden)".to_owned(),
        "< #2 HTTP 401".to_owned(),
    ] {
        assert!(said.lines().any(|found| found == line), "{line}\n{said}");
    }
    assert!(said.contains("\n< www-authenticate: Bearer realm=\"demo-auto-group\""), "{said}");
    assert!(said.contains("\"type\":\"dealer.information.request\""), "{said}");
    // With --json standard output stays one document, and without --verbose nothing is shown.
    let both = ["--verbose", "--json"];
    let (_, shown, _) = run(tradepost(&call).args(both).env("HTTPS_PROXY", &by));
    let error = &tradepost_document::json::from_str::<Value>(&shown).unwrap()["error"];
    assert_eq!(error["challenges"][0]["scheme"], "Bearer");
    assert_eq!(error["challenges"][0]["error"], "invalid_token");
    let (_, _, said) = run(tradepost(&call).env("HTTPS_PROXY", &by));
    assert!(!said.contains("> #1"), "{said}");
}

#[test]
fn the_challenge_of_a_refusal_is_shown() {
    let dealer = closed_dealer();
    let proxy = ConnectProxy::start(dealer.server.address, None);
    for what in [&["dealer.information"][..], &["--text", "hello"]] {
        let call = [&["call", ADDRESS, "--ca", &dealer.ca][..], what].concat();
        let (exit, _, said) = run(tradepost(&call).env("HTTPS_PROXY", proxy.address.to_string()));
        assert_eq!(exit, 9, "{said}");
        let line = "\n  required authentication: Bearer; realm: demo-auto-group";
        assert!(said.contains(line), "{what:?} {said}");
    }
}

#[test]
fn help_is_a_command_as_well() {
    for (arguments, expected) in [
        (&["help"][..], "Usage: tradepost "),
        (&["help", "call"], "Usage: tradepost call "),
        (&["help", "adcp", "call"], "Usage: tradepost adcp call "),
        (&["adcp", "help", "call"], "Usage: tradepost adcp call "),
    ] {
        let (exit, shown, said) = run(&mut tradepost(arguments));
        assert_eq!((exit, said.as_str()), (0, ""), "{arguments:?}");
        assert!(shown.contains(expected), "{arguments:?} {shown}");
    }
    let (exit, _, said) = run(&mut tradepost(&["help", "cal"]));
    assert!(exit == 2 && said.contains("unrecognized subcommand 'cal'"), "{said}");
}

#[test]
fn a_slip_in_a_name_is_answered_with_the_name() {
    let scenario = run(&mut tradepost(&["sandbox", "--scenario", "flakey"]));
    let skill = run(&mut tradepost(&["call", "http://127.0.0.1:1", "inventory.serch"]));
    let word = run(&mut tradepost(&["call", "http://127.0.0.1:1", "vehcile"]));
    let hint = |(exit, _, said): (i32, String, String)| {
        let line = said.lines().find(|line| line.starts_with("hint: ")).unwrap_or_default();
        format!("{exit} {}", line.split('?').next().unwrap_or_default())
    };
    let hints = [scenario, skill, word].map(hint).join("\n");
    expect![[r#"
        2 hint: did you mean flaky
        2 hint: did you mean inventory.search
        2 hint: did you mean vehicle"#]]
    .assert_eq(&hints);
}
