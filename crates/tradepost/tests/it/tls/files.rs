//! The files of TLS: what is wrong with them is said by name, and what changes is taken over.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use rustls::pki_types::CertificateDer;
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::Tls;
use tradepost_server::tls::load;

use crate::process::Process;
use crate::support::client::bytes;
use crate::support::tls::{self, Authority, NAME, Stream, connect, request};
use crate::support::{client, envelope};

/// What is wrong, without the folder's name.
fn mistakes(folder: &Path, files: &Tls) -> Vec<String> {
    let folder = format!("{}/", folder.display());
    let mistakes = load(files).map(|_| ()).unwrap_err();
    mistakes.iter().map(|mistake| mistake.to_string().replace(&folder, "")).collect()
}

#[test]
fn what_is_wrong_with_files_is_said_without_content() {
    let authority = Authority::new("an authority");
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let good = authority.server();
    let other_pair = authority.server();
    let files = good.write(folder);
    assert!(load(&files).is_ok());
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nc2VjcmV0\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let no_der = "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n";
    let no_key = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
    let no_base64 = "-----BEGIN PRIVATE KEY-----\n!secret!\n-----END PRIVATE KEY-----\n";
    let with = |change: &dyn Fn(&mut Tls)| {
        let mut files = files.clone();
        change(&mut files);
        mistakes(folder, &files)
    };
    let kinds = "must be an RSA key of 2048 bits or more, or of P-256, P-384 or Ed25519";
    assert_eq!(
        with(&|files| {
            files.certificate = write("empty", "");
            files.key = folder.join("absent");
            files.client_ca = Some(write("der", no_der));
        }),
        [
            "server.tls.certificate: empty has no CERTIFICATE in PEM",
            "server.tls.key: absent cannot be read: No such file or directory (os error 2)",
            "server.tls.client_ca: der is damaged: its certificate 1 cannot be read",
        ],
        "all at once"
    );
    assert_eq!(
        with(&|files| files.key = write("stranger", &other_pair.key)),
        ["server.tls.key: stranger is not the key of the certificate in certificate.pem"]
    );
    assert_eq!(
        with(&|files| files.certificate = files.key.clone()),
        ["server.tls.certificate: key.pem has no CERTIFICATE in PEM"]
    );
    for (content, why) in [
        (encrypted, "is encrypted; the server needs it unencrypted"),
        (&good.certificate, "has no PRIVATE KEY in PEM"),
        (no_base64, "is not PEM"),
        (no_key, kinds),
    ] {
        assert_eq!(
            with(&|files| files.key = write("k", content)),
            [format!("server.tls.key: k {why}")]
        );
    }
    let twice = format!("{}{no_der}", good.certificate);
    assert_eq!(
        with(&|files| files.certificate = write("chain", &twice)),
        ["server.tls.certificate: chain is damaged: its certificate 2 cannot be read"]
    );
    // One file with everything is as good as two.
    let both = write("both", &format!("{}{}", good.key, good.certificate));
    assert!(load(&Tls { certificate: both.clone(), key: both, client_ca: None }).is_ok());
}

/// The configuration of a dealer over TLS.
pub fn configure(folder: &Path, files: &Tls, auth: &str) -> String {
    let client_ca = files
        .client_ca
        .as_ref()
        .map_or_else(String::new, |path| format!("client_ca = \"{}\"\n", path.display()));
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nread_timeout = \"5m\"\nlog_filter = \"trace\"\n\
         [server.tls]\ncertificate = \"{}\"\nkey = \"{}\"\n{client_ca}\
         [[dealers]]\nid = \"bare\"\nname = \"Bare Motors\"\n\
         [dealers.auth]\n{auth}\n\
         [[dealers.rooftops]]\nname = \"Bare Motors Downtown\"\n",
        files.certificate.display(),
        files.key.display(),
    );
    let path = folder.join("tradepost.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

fn tradepost(arguments: &[&str]) -> (Option<i32>, Value) {
    let run = Command::new(env!("CARGO_BIN_EXE_tradepost")).args(arguments).output().unwrap();
    (run.status.code(), tradepost_document::json::from_slice(&run.stdout).unwrap())
}

#[test]
fn check_config_and_serve_refuse_a_key_of_another_certificate() {
    let directory = tempfile::tempdir().unwrap();
    let authority = Authority::new("an authority");
    let files = authority.server().write(directory.path());
    let config = configure(directory.path(), &files, "");
    let (code, document) = tradepost(&["check-config", "--json", &config]);
    assert_eq!((code, &document["tls"]), (Some(0), &json!(true)), "{document}");
    std::fs::write(&files.key, authority.server().key).unwrap();
    let data = directory.path().join("data");
    for arguments in [
        &["check-config", "--json", &config][..],
        &["serve", "--json", "--config", &config, "--data", data.to_str().unwrap()],
    ] {
        let (code, document) = tradepost(arguments);
        assert_eq!(code, Some(2));
        assert_eq!(document["error"]["message"], "server.tls cannot be used");
        let text = document.to_string();
        assert!(text.contains("server.tls.key: ") && text.contains("is not the key"), "{text}");
    }
}

/// The certificate that the server shows on a connection.
fn shown(stream: &mut Stream) -> CertificateDer<'static> {
    stream.flush().unwrap();
    stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
}

#[test]
fn a_new_certificate_is_taken_over_and_open_connections_stay() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let authority = Authority::new("an authority");
    let first = authority.server();
    let files = first.write(folder);
    let process = Process::start(folder, &["--config", &configure(folder, &files, "")]);
    let config = tls::config(&authority, None, &[]);
    let card = request(process.address, &config, "GET", "/.well-known/agent-card.json", &[], b"");
    let endpoint = format!("https://{}/a2a", process.address);
    assert_eq!(card.unwrap().json()["supportedInterfaces"][0]["url"], json!(endpoint));
    let mut open = connect(process.address, &config);
    assert_eq!(shown(&mut open), first.der());
    let until = |condition: &dyn Fn() -> bool| {
        for _ in 0..1_000 {
            if condition() {
                return;
            }
            std::sync::mpsc::channel::<()>().1.recv_timeout(tls::MOMENT).unwrap_err();
        }
        panic!("it did not happen within 20 seconds; {}", process.log());
    };
    let now_shown = || shown(&mut connect(process.address, &config));

    // A broken file changes nothing, and the log says so.
    std::fs::write(&files.certificate, "broken").unwrap();
    until(&|| process.log().contains("the certificate stays as it was"));
    assert!(process.log().contains("certificate.pem has no CERTIFICATE in PEM"));
    assert_eq!(now_shown(), first.der());

    // Another certificate whose key has not been written yet is no better.
    let second = authority.server();
    std::fs::write(&files.certificate, &second.certificate).unwrap();
    until(&|| process.log().contains("is not the key of the certificate"));
    assert_eq!(now_shown(), first.der());

    std::fs::write(&files.key, &second.key).unwrap();
    until(&|| now_shown() == second.der());
    assert!(process.log().contains("certificate replaced"));

    // The connection from before is as good as it was.
    let body = envelope(&json!({"type": "dealer.information.request"})).to_string();
    let json = [("Content-Type", "application/json")];
    let answer = client::exchange(&mut open, &bytes(NAME, "POST", "/a2a", &json, body.as_bytes()));
    assert_eq!(answer.unwrap().status, 200);
    assert_eq!(open.read(&mut [0]).unwrap(), 0);
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
}
