//! Clients that say who they are with a certificate (A-01, A-02, A-03, A-12).

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use expect_test::{Expect, expect};
use jiff::SignedDuration;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, SanType, date_time_ymd};
use rustls::ClientConfig;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::{AuthSettings, KnownCertificate};
use tradepost_runtime::gate::{KeyScope, Scopes};
use tradepost_server::auth::key::NewApiKey;
use tradepost_server::tls::client::{CertificateSubject, Fingerprint};
use tradepost_store::ApiKey;

use super::files::configure;
use super::{CARD, JSON, secure};
use crate::process::Process;
use crate::support::client::{self, Response, bytes};
use crate::support::schemas::check;
use crate::support::tls::{self, Authority, NAME, Pair, connect, request};
use crate::support::{NOW, TestServer, at, dealer, envelope, lead};

/// A dealer over TLS, and two authorities: one for it and one for its clients.
struct Parties {
    server: TestServer,
    authority: Authority,
    clients: Authority,
}

/// A dealer that knows some certificates; those that are made here are named by their key.
fn parties(auth: AuthSettings) -> Parties {
    let clients = Authority::new("the clients' authority");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clients.pem");
    std::fs::write(&path, &clients.pem).unwrap();
    let (server, authority) = secure(|config| {
        config.server.tls.as_mut().unwrap().client_ca = Some(path);
        config.dealers[0].auth = auth;
    });
    Parties { server, authority, clients }
}

fn known(name: &str, subject: CertificateSubject) -> KnownCertificate {
    KnownCertificate { name: name.to_owned(), subject, scopes: Scopes::All }
}

/// A dealer that knows `agent.acme.example` and the agent of bolt, which may read only.
fn auth(required: bool, api_keys: bool) -> AuthSettings {
    let scopes = Scopes::only([KeyScope::DealerRead]);
    let bolt = known("bolt", CertificateSubject::Uri("spiffe://bolt.example/agent".to_owned()));
    let certificates = vec![
        known("acme", CertificateSubject::Dns("agent.acme.example".to_owned())),
        KnownCertificate { scopes, ..bolt },
    ];
    AuthSettings { required, api_keys, certificates, ..AuthSettings::default() }
}

fn dns(name: &str) -> impl FnOnce(&mut CertificateParams) {
    let name = SanType::DnsName(name.try_into().unwrap());
    move |params| params.subject_alt_names = vec![name]
}

fn uri(name: &str) -> impl FnOnce(&mut CertificateParams) {
    let name = SanType::URI(name.try_into().unwrap());
    move |params| params.subject_alt_names = vec![name]
}

fn question() -> Value {
    json!({"type": "dealer.information.request"})
}

impl Parties {
    fn config(&self, shown: Option<&Pair>) -> Arc<ClientConfig> {
        tls::config(&self.authority, shown, &[])
    }

    /// Asks something with this certificate, or without one.
    fn ask(&self, shown: Option<&Pair>, headers: &[(&str, &str)], payload: &Value) -> Response {
        let body = envelope(payload).to_string();
        let headers = [&JSON, headers].concat();
        let config = self.config(shown);
        let body = body.as_bytes();
        request(self.server.address, &config, "POST", "/a2a", &headers, body).unwrap()
    }

    /// Gives a caller a key.
    fn issue(&self) -> String {
        let fresh = NewApiKey::generate().unwrap();
        let key = ApiKey {
            id: fresh.id,
            agent_id: dealer::ID.to_owned(),
            name: "keyholder".to_owned(),
            hash: fresh.hash,
            scopes: None,
            created_at: at(NOW),
            expires_at: None,
            revoked_at: None,
            last_used_on: None,
        };
        assert!(self.server.store.add_api_key(key, false).unwrap());
        format!("Bearer {}", fresh.text)
    }
}

/// Compares status, challenge and body.
fn compare(response: &Response, expected: &Expect) {
    let challenge = response.header("www-authenticate").unwrap_or("(no challenge)");
    expected.assert_eq(&format!("{challenge}\n{}", response.snapshot()));
}

#[test]
fn a_known_certificate_is_its_client() {
    let parties = parties(auth(true, false));
    let acme = parties.clients.client(dns("agent.acme.example"));
    let bolt = parties.clients.client(uri("spiffe://bolt.example/agent"));
    assert_eq!(parties.ask(Some(&acme), &[], &question()).status, 200);
    assert_eq!(parties.ask(Some(&acme), &[], &lead()).status, 200);
    assert_eq!(parties.server.store.leads(None).unwrap()[0].submission.principal, "mtls:acme");
    assert_eq!(parties.ask(Some(&bolt), &[], &question()).status, 200);
    compare(
        &parties.ask(Some(&bolt), &[], &lead()),
        &expect![[r#"
        (no challenge)
        403
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32000,"message":"the credential lacks the scope lead:write",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PERMISSION_DENIED","domain":"a2a-protocol.org","metadata":{"scope":"lead:write"}}]}}
    "#]],
    );
}

#[test]
fn without_a_certificate_only_the_card_can_be_read() {
    let parties = parties(auth(true, false));
    compare(
        &parties.ask(None, &[], &question()),
        &expect![[r#"
            ClientCertificate realm="demo-auto-group"
            401
            {"jsonrpc":"2.0","id":null,
              "error":{"code":-32000,"message":"this agent requires a client certificate; show one in the TLS handshake",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                    "metadata":{"scheme":"ClientCertificate","challenge":"ClientCertificate realm=\"demo-auto-group\""}}]}}
        "#]],
    );
    let to_nobody = [("Authorization", "Bearer tp_0123")];
    let answer = parties.ask(None, &to_nobody, &question());
    assert_eq!(answer.snapshot(), parties.ask(None, &[], &question()).snapshot());
    let card =
        request(parties.server.address, &parties.config(None), "GET", CARD, &[], b"").unwrap();
    let card = card.json();
    check("1.1", "card", &card);
    check("1.0", "card", &card);
    expect![[r#"
        {"mtls":{"mtlsSecurityScheme":{"description":"A client certificate that the seller knows, in the TLS handshake."}}}
        [{"schemes":{"mtls":{"list":[]}}}]
    "#]]
        .assert_eq(&format!("{}\n{}\n", card["securitySchemes"], card["securityRequirements"]));
}

#[test]
fn a_verified_certificate_of_somebody_unknown_is_a_wrong_credential() {
    let expected = expect![[r#"
        ClientCertificate realm="demo-auto-group"
        401
        {"jsonrpc":"2.0","id":null,
          "error":{"code":-32000,"message":"the credential is not valid",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                "metadata":{"scheme":"ClientCertificate","challenge":"ClientCertificate realm=\"demo-auto-group\""}}]}}
    "#]];
    for required in [true, false] {
        let parties = parties(auth(required, false));
        let names =
            ["agent.acme.example.evil.example", "acme.example", "*.acme.example", "bolt.example"];
        let answers = names
            .map(|name| parties.ask(Some(&parties.clients.client(dns(name))), &[], &question()));
        let unknown_client = parties.clients.client(uri("spiffe://bolt.example/agent/2"));
        let answer = parties.ask(Some(&unknown_client), &[], &question());
        compare(&answer, &expected);
        let nameless = parties.clients.client(|_| {});
        assert_eq!(parties.ask(Some(&nameless), &[], &question()).snapshot(), answer.snapshot());
        for other in answers {
            assert_eq!(other.snapshot(), answer.snapshot());
        }
        let status = if required { 401 } else { 200 };
        assert_eq!(parties.ask(None, &[], &question()).status, status);
    }
}

#[test]
fn a_fingerprint_means_one_certificate() {
    let clients = Authority::new("the clients' authority");
    let one = clients.client(|_| {});
    let two = clients.client(|_| {});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clients.pem");
    std::fs::write(&path, &clients.pem).unwrap();
    // As `openssl x509 -fingerprint -sha256` writes it.
    let digest = ring::digest::digest(&ring::digest::SHA256, &one.der());
    let pairs: Vec<_> = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    let fingerprint: Fingerprint = pairs.join(":").parse().unwrap();
    let (server, authority) = secure(|config| {
        config.server.tls.as_mut().unwrap().client_ca = Some(path);
        let certificates = vec![known("one", CertificateSubject::Fingerprint(fingerprint))];
        config.dealers[0].auth =
            AuthSettings { required: true, certificates, ..AuthSettings::default() };
    });
    let parties = Parties { server, authority, clients };
    assert_eq!(parties.ask(Some(&one), &[], &question()).status, 200);
    assert_eq!(parties.ask(Some(&two), &[], &question()).status, 401);
}

#[test]
fn a_credential_in_the_header_counts_before_the_certificate() {
    let parties = parties(auth(true, true));
    let acme = parties.clients.client(dns("agent.acme.example"));
    let unknown_client = parties.clients.client(dns("agent.stranger.example"));
    let key = parties.issue();
    let wrong = format!("Bearer {}", NewApiKey::generate().unwrap().text);
    let none: &[(&str, &str)] = &[];
    for (shown, headers, status) in [
        (Some(&acme), none, 200),
        (Some(&unknown_client), none, 401),
        (None, none, 401),
        (None, &[("Authorization", key.as_str())], 200),
        (Some(&unknown_client), &[("Authorization", key.as_str())], 200),
        (Some(&acme), &[("Authorization", wrong.as_str())], 401),
        (Some(&acme), &[("Authorization", "Basic Zm9vOmJhcg==")], 401),
    ] {
        assert_eq!(parties.ask(shown, headers, &question()).status, status, "{headers:?}");
    }
    let by_key = [("Authorization", key.as_str())];
    assert_eq!(parties.ask(Some(&acme), &by_key, &lead()).status, 200);
    assert_eq!(parties.server.store.leads(None).unwrap()[0].submission.principal, "keyholder");
    compare(
        &parties.ask(None, &[], &question()),
        &expect![[r#"
            Bearer realm="demo-auto-group", ClientCertificate realm="demo-auto-group"
            401
            {"jsonrpc":"2.0","id":null,
              "error":{"code":-32000,
                "message":"this agent requires a credential of a scheme that its card declares; send one in the header Authorization, or show a client certificate",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                    "metadata":{"scheme":"Bearer","challenge":"Bearer realm=\"demo-auto-group\", ClientCertificate realm=\"demo-auto-group\""}}]}}
        "#]],
    );
}

#[test]
fn a_certificate_that_cannot_be_verified_gets_no_connection() {
    let parties = parties(auth(false, false));
    let name = || dns("agent.acme.example");
    let expired = parties.clients.client(|params| {
        name()(params);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    });
    let future = parties.clients.client(|params| {
        name()(params);
        params.not_before = date_time_ymd(4000, 1, 1);
    });
    let for_servers = parties.clients.client(|params| {
        name()(params);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    let impostor = Authority::new("the clients' authority").client(name());
    let of_another = Authority::new("another authority").client(name());
    for (wrong, alert) in [
        (&expired, "CertificateExpired"),
        (&future, "CertificateExpired"),
        (&for_servers, "UnsupportedCertificate"),
        (&impostor, "DecryptError"),
        (&of_another, "UnknownCA"),
    ] {
        let config = parties.config(Some(wrong));
        let mut stream = connect(parties.server.address, &config);
        // In TLS 1.3 the client is done before the server has looked at its certificate, so that
        // the alert is the first thing to read.
        let refused = stream.read(&mut [0]).unwrap_err();
        assert_eq!(refused.to_string(), format!("received fatal alert: {alert}"));
    }
    let acme = parties.clients.client(name());
    assert_eq!(parties.ask(Some(&acme), &[], &question()).status, 200);
}

#[test]
fn a_certificate_that_ends_meanwhile_is_good_no_more() {
    let parties = parties(auth(false, false));
    let acme = parties.clients.client(|params| {
        dns("agent.acme.example")(params);
        params.not_after = date_time_ymd(2090, 1, 1);
    });
    let config = parties.config(Some(&acme));
    let body = envelope(&question()).to_string();
    let ask = bytes(NAME, "POST", "/a2a", &JSON, body.as_bytes());
    let mut open = connect(parties.server.address, &config);
    open.flush().unwrap();
    parties.server.advance(SignedDuration::from_hours(24 * 365 * 64));
    compare(
        &client::exchange(&mut open, &ask).unwrap(),
        &expect![[r#"
            ClientCertificate realm="demo-auto-group"
            401
            {"jsonrpc":"2.0","id":null,
              "error":{"code":-32000,"message":"the credential has expired; get a new one",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org",
                    "metadata":{"scheme":"ClientCertificate","challenge":"ClientCertificate realm=\"demo-auto-group\""}}]}}
        "#]],
    );
}

#[test]
fn whoever_shows_wrong_certificates_too_often_is_put_off() {
    let parties = parties(auth(false, false));
    let unknown_client = parties.clients.client(dns("agent.stranger.example"));
    for _ in 0..10 {
        assert_eq!(parties.ask(Some(&unknown_client), &[], &question()).status, 401);
    }
    assert_eq!(parties.ask(Some(&unknown_client), &[], &question()).status, 429, "A-12");
    let acme = parties.clients.client(dns("agent.acme.example"));
    assert_eq!(parties.ask(Some(&acme), &[], &question()).status, 200);
}

#[test]
fn a_dealer_that_knows_no_certificates_ignores_them() {
    let parties = parties(AuthSettings::default());
    let anybody = parties.clients.client(|_| {});
    assert_eq!(parties.ask(Some(&anybody), &[], &lead()).status, 200);
    assert_eq!(parties.server.store.leads(None).unwrap()[0].submission.principal, "anonymous");
}

#[test]
fn the_log_has_each_failure_ten_times_without_names() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let authority = Authority::new("a");
    let clients = Authority::new("b");
    let mut files = authority.server().write(folder);
    let path = folder.join("clients.pem");
    std::fs::write(&path, &clients.pem).unwrap();
    files.client_ca = Some(path);
    let auth = "certificates = [{ name = \"acme\", dns = \"agent.acme.example\" }]";
    let process = Process::start(folder, &["--config", &configure(folder, &files, auth)]);
    let expired = clients.client(|params| {
        dns("planted.example")(params);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    });
    let unknown = clients.client(dns("planted.example"));
    for _ in 0..12 {
        let config = tls::config(&authority, Some(&expired), &[]);
        connect(process.address, &config).read(&mut [0]).unwrap_err();
        let config = tls::config(&authority, Some(&unknown), &[]);
        let body = envelope(&question()).to_string();
        let body = body.as_bytes();
        let answer = request(process.address, &config, "POST", "/a2a", &JSON, body).unwrap();
        assert!(matches!(answer.status, 401 | 429), "{}", answer.status);
    }
    process.signal("TERM");
    let log = process.log();
    for reason in ["certificate expired", "unknown certificate"] {
        let lines = log
            .lines()
            .filter(|line| line.contains("authentication failed") && line.contains(reason));
        assert_eq!(lines.count(), 10, "A-12: {reason}: {log}");
    }
    assert!(!log.contains("planted"), "{log}");
    assert_eq!(process.end().code(), Some(0));
}
