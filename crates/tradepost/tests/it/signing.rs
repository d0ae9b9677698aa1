//! Signed cards: what is served, what the command line says of them, and what an independent
//! implementation thinks of our signatures.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tradepost_document::json::{Value, json};
use tradepost_keys::Algorithm;
use tradepost_keys::card::{CardVerdict, SignedCard};
use tradepost_keys::keyset::KeySet;
use tradepost_keys::private::{SigningKey, generate};
use tradepost_runtime::config::CardSigning;

use crate::beside::without;
use crate::support::{TestServer, at, client, start, start_with};

const CARD: &str = "/.well-known/agent-card.json";

fn tradepost(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let binary = env!("CARGO_BIN_EXE_tradepost");
    let run =
        Command::new(binary).current_dir(folder).args(arguments).stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = run.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

/// A server whose card is signed with this key.
fn signing(key: &Path, kid: Option<&str>) -> TestServer {
    start_with(|config| {
        config.dealers[0].card_signing = Some(CardSigning {
            key_file: key.to_owned(),
            kid: kid.map(str::to_owned),
            jku: Some("https://demo-toyota.example.com/jwks.json".to_owned()),
        });
    })
}

fn key_file(folder: &Path, algorithm: Algorithm) -> std::path::PathBuf {
    let path = folder.join("key.pem");
    std::fs::write(&path, generate(algorithm).unwrap()).unwrap();
    path
}

#[test]
fn a_served_card_is_signed_over_its_unsigned_form() {
    let folder = tempfile::tempdir().unwrap();
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let path = key_file(folder.path(), algorithm);
        let server = signing(&path, Some("2026-1"));
        let mut card = server.card().json();
        let key = SigningKey::load(&path, Some("2026-1")).unwrap();
        let keys = KeySet::read(&key.public_jwk().to_string()).unwrap();
        let signed = SignedCard::read(&card).unwrap();
        let verdict = signed.verdict(&signed.signatures[0], &keys, at("2026-04-30T12:00:00Z"));
        assert_eq!((signed.signatures.len(), verdict), (1, CardVerdict::Valid));
        let jku = signed.signatures[0].jku.as_deref();
        assert_eq!(jku, Some("https://demo-toyota.example.com/jwks.json"));
        assert!(card.as_object_mut().unwrap().shift_remove("signatures").is_some());
        let mut plain = start().card().json();
        for card in [&mut card, &mut plain] {
            for extension in card["capabilities"]["extensions"].as_array_mut().unwrap() {
                *extension.pointer_mut("/params/id").unwrap() = json!("<id>");
            }
        }
        assert_eq!(card, plain);
    }
}

#[test]
fn a_new_signature_keeps_the_tag_a_new_key_not() {
    let folder = tempfile::tempdir().unwrap();
    let key = key_file(folder.path(), Algorithm::Es256);
    let other = folder.path().join("other.pem");
    std::fs::write(&other, generate(Algorithm::Es256).unwrap()).unwrap();
    let data = folder.path().join("data");
    // Several starts on one data folder.
    let publish = |key: Option<&Path>, now: &str| {
        use tradepost_runtime::aap::card;
        let store = tradepost_store::Store::open(&data).unwrap();
        let dealer = &crate::support::dealer::config().dealers[0];
        let fresh = uuid::Uuid::now_v7().to_string();
        let published = card::publish(dealer, "https://a.example", |hash| {
            store.card_identity(&dealer.terms.id, hash, fresh, at(now))
        });
        let published = published.unwrap();
        match key {
            None => published,
            Some(path) => {
                published.sign(&SigningKey::load(path, None).unwrap(), None, at(now)).unwrap()
            }
        }
    };
    let plain = publish(None, "2026-04-30T12:00:00Z");
    let first = publish(Some(&key), "2026-04-30T13:00:00Z");
    let second = publish(Some(&key), "2026-04-30T14:00:00Z");
    let rotated = publish(Some(&other), "2026-04-30T15:00:00Z");
    for signed in [&first, &second, &rotated] {
        assert_eq!(signed.identity.id, plain.identity.id);
    }
    assert_ne!(first.body, second.body);
    assert_eq!(first.etag, second.etag);
    assert!(first.etag.starts_with("W/\"") && plain.etag.starts_with('"'));
    assert_ne!(first.etag, rotated.etag);
    assert_eq!(first.identity.modified_at, at("2026-04-30T13:00:00Z"));
    assert_eq!(plain.identity.modified_at, at("2026-04-30T12:00:00Z"));
}

#[test]
fn a_weak_tag_is_recognised_when_it_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = signing(&key_file(folder.path(), Algorithm::Es256), None);
    let tag = server.card().header("etag").unwrap().to_owned();
    assert!(tag.starts_with("W/\""), "{tag}");
    let status = |tag: &str| {
        client::request(server.address, "GET", CARD, &[("If-None-Match", tag)], b"").status
    };
    assert_eq!(status(&tag), 304);
    // What some caches make of it.
    assert_eq!(status(tag.trim_start_matches("W/")), 304);
    assert_eq!(status(&format!("\"x\", {tag}")), 304);
    assert_eq!(status("W/\"x\""), 200);
}

#[test]
fn keys_are_made_private_and_never_overwritten() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let make = |alg, out, kid: &[&str]| {
        tradepost(folder.path(), &[&["card", "keygen", "--alg", alg, "--out", out], kid].concat())
    };
    let (exit, stdout, stderr) = make("es256", "a.pem", &[]);
    assert_eq!(exit, 0, "{stderr}");
    let jwk: Value = tradepost_document::json::from_str(&stdout).unwrap();
    assert_eq!(
        (&jwk["kty"], &jwk["alg"], &jwk["use"]),
        (&json!("EC"), &json!("ES256"), &json!("sig"))
    );
    assert_eq!(jwk["kid"].as_str().unwrap().len(), 43);
    assert!(jwk.get("d").is_none() && stderr.contains("keep it secret"), "{stderr}");
    let mode = std::fs::metadata(folder.path().join("a.pem")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (exit, stdout, stderr) = make("eddsa", "b.pem", &["--kid", "mine", "--json"]);
    let jwk: Value = tradepost_document::json::from_str(&stdout).unwrap();
    assert_eq!((exit, &jwk["crv"], &jwk["kid"]), (0, &json!("Ed25519"), &json!("mine")));
    assert_eq!(stderr, "");
    let before = std::fs::read(folder.path().join("a.pem")).unwrap();
    let (exit, stdout, stderr) = make("es256", "a.pem", &[]);
    assert_eq!((exit, stdout.as_str()), (2, ""));
    assert!(stderr.contains("exists already") && stderr.contains("hint:"), "{stderr}");
    assert_eq!(std::fs::read(folder.path().join("a.pem")).unwrap(), before);
}

#[test]
fn a_card_is_signed_and_verified_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let run = |arguments: &[&str]| tradepost(folder.path(), arguments);
    let mut keys = Vec::new();
    for (alg, name) in [("es256", "one"), ("eddsa", "two")] {
        let out = format!("{name}.pem");
        let (_, jwk, _) = run(&["card", "keygen", "--alg", alg, "--out", &out, "--kid", name]);
        write(&format!("{name}.json"), &jwk);
        keys.push(tradepost_document::json::from_str::<Value>(&jwk).unwrap());
    }
    write("keys.json", &json!({"keys": keys}).to_string());
    write("card.json", &start().card().json().to_string());
    let (exit, signed, stderr) =
        run(&["card", "sign", "card.json", "--key", "one.pem", "--kid", "one"]);
    assert_eq!(exit, 0, "{stderr}");
    write("one.signed.json", &signed);
    let arguments =
        ["card", "sign", "one.signed.json", "--key", "two.pem", "--kid", "two", "--json"];
    let (_, both, _) = run(&arguments);
    write("both.signed.json", &both);

    let (exit, stdout, _) = run(&["card", "verify", "both.signed.json", "--keys", "keys.json"]);
    assert_eq!(exit, 0, "{stdout}");
    assert!(
        stdout.contains("one  ES256  valid") && stdout.contains("two  EdDSA  valid"),
        "{stdout}"
    );
    let (exit, stdout, _) =
        run(&["card", "verify", "both.signed.json", "--keys", "one.json", "--json"]);
    let json: Value = tradepost_document::json::from_str(&stdout).unwrap();
    assert_eq!((exit, &json["trusted"]), (0, &json!(true)));
    assert_eq!(json["signatures"][0]["verdict"], "valid");
    assert_eq!(json["signatures"][1]["verdict"], "unknown_key");

    // Not signed, signed by nobody we know, changed, and no card at all.
    let check = |arguments: &[&str], exit: i32, message: &str| {
        let (found, stdout, stderr) = run(arguments);
        assert_eq!((found, stdout.as_str()), (exit, ""), "{stderr}");
        assert!(stderr.contains(message) && stderr.contains("hint:"), "{stderr}");
        let (found, stdout, _) = run(&[arguments, &["--json"]].concat());
        let error: Value = tradepost_document::json::from_str(&stdout).unwrap();
        assert_eq!((found, &error["error"]["exit_code"]), (exit, &json!(exit)));
        error["error"].clone()
    };
    let verify = |file, keys| ["card", "verify", file, "--keys", keys];
    check(&verify("card.json", "keys.json"), 11, "the card is not signed");
    check(
        &verify("one.signed.json", "two.json"),
        11,
        "no signature of the card is by a trusted key",
    );
    check(&["card", "verify", "one.signed.json"], 11, "--keys FILE");
    write("changed.json", &both.replacen("A dealer group", "Another dealer group", 1));
    let error = check(&verify("changed.json", "one.json"), 11, "forged or damaged");
    assert_eq!(error["signatures"][0]["verdict"], "invalid");
    assert_eq!(error["signatures"][1]["verdict"], "unknown_key");
    write("twice.json", &signed.replacen('{', "{\"name\":\"Other\",", 1));
    check(&verify("twice.json", "keys.json"), 11, "/name: is there twice");
    check(&verify("absent.json", "keys.json"), 2, "cannot read absent.json");
    check(&verify("card.json", "card.json"), 2, "card.json is not a set of public keys");
    check(&["card", "sign", "card.json", "--key", "card.json"], 2, "the JWK must have kty");
    write("large.json", &" ".repeat(9_000_000));
    check(
        &verify("one.signed.json", "keys.json")
            .map(|a| a.replace("one.signed", "large"))
            .each_ref()
            .map(String::as_str),
        2,
        "is larger than 8388608 bytes",
    );
}

#[test]
fn discover_and_verify_judge_a_served_card() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| tradepost(folder.path(), arguments);
    let (_, jwk, _) = run(&["card", "keygen", "--alg", "es256", "--out", "key.pem"]);
    std::fs::write(folder.path().join("key.json"), jwk).unwrap();
    let (_, other, _) = run(&["card", "keygen", "--alg", "es256", "--out", "other.pem"]);
    std::fs::write(folder.path().join("other.json"), other).unwrap();
    let server = signing(&folder.path().join("key.pem"), None);
    let url = format!("http://{}", server.address);

    let (exit, stdout, _) = run(&["discover", &url]);
    assert!(exit == 0 && stdout.contains("with ES256: not checked; give keys"), "{stdout}");
    let (exit, stdout, _) = run(&["discover", &url, "--keys", "key.json"]);
    assert!(exit == 0 && stdout.contains("with ES256: valid; made by"), "{stdout}");
    let (exit, stdout, _) = run(&["--json", "discover", &url, "--keys", "key.json"]);
    let json: Value = tradepost_document::json::from_str(&stdout).unwrap();
    assert_eq!((exit, &json["signatures"][0]["verdict"]), (0, &json!("valid")));
    let (exit, stdout, stderr) = run(&["discover", &url, "--keys", "other.json"]);
    assert_eq!((exit, stdout.as_str()), (11, ""));
    assert!(stderr.contains("no signature of the card is by a trusted key"), "{stderr}");

    let (exit, stdout, _) = run(&["card", "verify", &url, "--keys", "key.json"]);
    assert!(exit == 0 && stdout.contains("the card is trusted"), "{stdout}");
    // The card's own word on its key is worth nothing.
    let (exit, _, stderr) = run(&["card", "verify", &url]);
    assert!(exit == 11 && stderr.contains("--allow-jku does not permit"), "{stderr}");
}

#[test]
fn a_jku_is_fetched_only_from_allowed_hosts() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| tradepost(folder.path(), arguments);
    let (_, jwk, _) = run(&["card", "keygen", "--alg", "eddsa", "--out", "key.pem"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let served = std::thread::spawn(move || {
        use std::io::{BufRead as _, BufReader, Write as _};
        let mut stream = listener.accept().unwrap().0;
        let mut request = String::new();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while reader.read_line(&mut request).unwrap() > 2 {}
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            jwk.len()
        );
        stream.write_all(format!("{head}{jwk}").as_bytes()).unwrap();
        request
    });
    std::fs::write(folder.path().join("card.json"), r#"{"name":"A","skills":[]}"#).unwrap();
    let jku = format!("http://{address}/jwks.json");
    let (_, signed, _) = run(&["card", "sign", "card.json", "--key", "key.pem", "--jku", &jku]);
    std::fs::write(folder.path().join("signed.json"), signed).unwrap();

    let (exit, _, _) = run(&["card", "verify", "signed.json", "--allow-jku", "127.0.0.1"]);
    assert_eq!(exit, 11);
    let host = address.to_string();
    let (exit, stdout, stderr) = run(&["card", "verify", "signed.json", "--allow-jku", &host]);
    assert_eq!(exit, 0, "{stderr}");
    assert!(stdout.contains("valid"), "{stdout}");
    assert!(served.join().unwrap().starts_with("GET /jwks.json HTTP/1.1\r\n"));
    // Nobody is there any more.
    let (exit, _, stderr) = run(&["card", "verify", "signed.json", "--allow-jku", &host]);
    assert!(exit == 11 && stderr.contains("its jku: cannot connect"), "{stderr}");
}

#[test]
fn an_unusable_key_is_told_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[[dealers]]\nid = \"a\"\nname = \"A\"\ncard_signing = { key_file = \"no.pem\" }\n\
                  [[dealers.rooftops]]\nname = \"A\"\n";
    std::fs::write(folder.path().join("tradepost.toml"), config).unwrap();
    for arguments in [["check-config"].as_slice(), &["serve", "--listen", "127.0.0.1:0"]] {
        let (exit, stdout, stderr) = tradepost(folder.path(), arguments);
        assert_eq!((exit, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains("dealer a: cannot read the key file no.pem"), "{stderr}");
        assert!(!folder.path().join("tradepost-data").exists());
    }
}

/// Python's `cryptography`, where it is installed, judges independently of our code.
#[test]
fn an_independent_implementation_verifies_our_signatures_and_reads_our_keys() {
    const SCRIPT: &str = r#"
import base64, json, sys
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key
decode = lambda text: base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
key = load_pem_private_key(open(sys.argv[1], "rb").read(), None).public_key()
card = json.load(open(sys.argv[2]))
entry = card.pop("signatures")[0]
payload = json.dumps(card, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
message = entry["protected"].encode() + b"." + base64.urlsafe_b64encode(payload).rstrip(b"=")
signature = decode(entry["signature"])
if isinstance(key, ed25519.Ed25519PublicKey):
    key.verify(signature, message)
else:
    parts = [int.from_bytes(part, "big") for part in (signature[:32], signature[32:])]
    key.verify(encode_dss_signature(*parts), message, ec.ECDSA(hashes.SHA256()))
print(json.loads(decode(entry["protected"]))["alg"])
"#;
    let python = |arguments: &[&str]| Command::new("python3").args(arguments).output();
    if !python(&["-c", "import cryptography"]).is_ok_and(|found| found.status.success()) {
        without("python3 with cryptography");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(
        path("card.json"),
        r#"{"version":"é","name":"A","skills":[{"tags":[],"id":"1"}]}"#,
    )
    .unwrap();
    for (alg, name) in [("es256", "ES256\n"), ("eddsa", "EdDSA\n")] {
        let key = path(alg);
        tradepost(folder.path(), &["card", "keygen", "--alg", alg, "--out", &key]);
        let (_, signed, _) =
            tradepost(folder.path(), &["card", "sign", "card.json", "--key", &key]);
        std::fs::write(path("signed.json"), signed).unwrap();
        let run = python(&["-c", SCRIPT, &key, &path("signed.json")]).unwrap();
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&run.stdout), name, "{stderr}");
    }
}
