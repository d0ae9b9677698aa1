//! The extended agent card (A2A §3.1.11, §13.3; A-08, D-12) and the credentials of the kit's
//! successor (requirements a2a.md §2.4), on every binding.

use crate::conformance::Profile;
use clap::ValueEnum as _;
use expect_test::expect;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};
use tradepost_keys::Algorithm;
use tradepost_keys::card::{CardVerdict, SignedCard};
use tradepost_keys::keyset::KeySet;
use tradepost_keys::private::{SigningKey, generate};
use tradepost_server::permission::Permission;

use crate::support::bindings::Binding;
use crate::support::conformance::{ConformanceServer, message, start_conformance, start_signed};
use crate::support::{NOW, Response, at, layout};

const OPERATION: &str = "GetExtendedAgentCard";

fn fetch(server: &ConformanceServer, binding: Binding, credential: &str) -> Response {
    let all = [("Authorization", credential)];
    let headers = if credential.is_empty() { &[][..] } else { &all[..] };
    binding.ask(server.address, headers, OPERATION, &json!({}))
}

#[test]
fn a_08_the_extended_card_is_about_its_caller() {
    let server = start_conformance(Profile::Push);
    let reader = server.caller("ada", Some(&[Permission::CARD_READ, Permission::TASKS_READ]));
    for binding in Binding::ALL {
        let answer = fetch(&server, binding, &reader);
        assert_eq!(answer.header("cache-control"), Some("private, no-store"), "A-08");
        let card = binding.result(&answer);
        let public = server.card();
        for member in ["name", "version", "supportedInterfaces", "securitySchemes"] {
            assert_eq!(card[member], public[member], "{member}");
        }
        assert_eq!(card["skills"], public["skills"], "nothing that she may not use");
        expect![[r#"
            {"uri":"urn:tradepost:caller","description":"Who you are to this agent, and what you may do.","required":false,
              "params":{"name":"ada","scopes":["card:read","tasks:read"]}}"#]]
        .assert_eq(&layout::lay_out(&card["capabilities"]["extensions"][1]));
        let all = binding.result(&fetch(&server, binding, "Bearer itk-valid-token"));
        let ids: Vec<_> = all["skills"].as_array().unwrap().iter().map(|s| &s["id"]).collect();
        assert_eq!(ids, ["conformance", "load"], "more for whom may do more");
    }
}

#[test]
fn a_08_no_credential_is_401_and_no_scope_403() {
    let server = start_conformance(Profile::Push);
    let writer = server.caller("bob", Some(&[Permission::TASKS_WRITE]));
    for binding in Binding::ALL {
        for (credential, status, code, challenge) in [
            ("", 401, A2aCode::Unauthenticated, "Bearer realm=\"conformance\""),
            (
                "Bearer nonsense",
                401,
                A2aCode::Unauthenticated,
                "Bearer realm=\"conformance\", error=\"invalid_token\"",
            ),
            (
                "Bearer itk-insufficient-token",
                403,
                A2aCode::PermissionDenied,
                "Bearer realm=\"conformance\", error=\"insufficient_scope\", scope=\"card:read\"",
            ),
            (
                writer.as_str(),
                403,
                A2aCode::PermissionDenied,
                "Bearer realm=\"conformance\", error=\"insufficient_scope\", scope=\"card:read\"",
            ),
        ] {
            let answer = fetch(&server, binding, credential);
            assert_eq!((answer.status, binding.refusal(&answer)), (status, code));
            assert_eq!(answer.header("www-authenticate"), Some(challenge), "A-02");
        }
        // Elsewhere nobody is asked.
        binding.result(&binding.ask(server.address, &[], "ListTasks", &json!({})));
    }
}

#[test]
fn d_12_a_card_off_and_one_never_set_up() {
    for profile in Profile::value_variants() {
        let server = start_conformance(*profile);
        let declared = server.card()["capabilities"]["extendedAgentCard"] == true;
        let extension = ("A2A-Extensions", "urn:a2a:tck:required-extension");
        let headers = [extension, ("Authorization", "Bearer itk-valid-token")];
        for binding in Binding::ALL {
            let answer = binding.ask(server.address, &headers, OPERATION, &json!({}));
            if *profile == Profile::Unset {
                assert!(declared);
                assert_eq!(binding.refusal(&answer), A2aCode::ExtendedAgentCardNotConfigured);
                assert_eq!(fetch(&server, binding, "").status, 401, "A-08: even then");
            } else if declared {
                binding.result(&answer);
            } else {
                assert_eq!(binding.refusal(&answer), A2aCode::UnsupportedOperation);
                let anybody = binding.ask(server.address, &headers[..1], OPERATION, &json!({}));
                assert_eq!(binding.refusal(&anybody), A2aCode::UnsupportedOperation, "E-16");
            }
        }
    }
}

#[test]
fn d_08_both_cards_are_signed_with_the_key() {
    let text = generate(Algorithm::EdDsa).unwrap();
    let key = SigningKey::read(&text, Some("k-1")).unwrap();
    let keys = KeySet::read(&key.public_jwk().to_string()).unwrap();
    let server = start_signed(Profile::Push, key);
    let believed = |card: &Value| {
        let signed = SignedCard::read(card).unwrap();
        signed.verdict(&signed.signatures[0], &keys, at(NOW)) == CardVerdict::Valid
    };
    assert!(believed(&server.card()));
    for binding in Binding::ALL {
        let mut card = binding.result(&fetch(&server, binding, "Bearer itk-valid-token"));
        assert!(believed(&card), "{card}");
        card["skills"][1]["name"] = json!("Other");
        assert!(!believed(&card));
    }
}

#[test]
fn a_01_a_secured_agent_leaves_only_its_card_open() {
    let server = start_conformance(Profile::Secured);
    let card = server.card();
    assert!(card["securitySchemes"].is_object() && card["securityRequirements"].is_array());
    for binding in Binding::ALL {
        for (operation, params) in [
            ("SendMessage", message("m")),
            ("SendStreamingMessage", message("m")),
            ("GetTask", json!({"id": "t"})),
            ("ListTasks", json!({})),
            ("CancelTask", json!({"id": "t"})),
            ("SubscribeToTask", json!({"id": "t"})),
            (OPERATION, json!({})),
        ] {
            let ask = |credential: &str| {
                let headers = [("Authorization", credential)];
                binding.ask(server.address, &headers, operation, &params)
            };
            let anybody = binding.ask(server.address, &[], operation, &params);
            // Whoever fails often is put off, which is told apart from being let in.
            assert!([401, 429].contains(&anybody.status), "{operation}");
            let lacking = ask("Bearer itk-insufficient-token");
            assert_eq!(lacking.status, 403, "{operation}");
            assert_eq!(binding.refusal(&lacking), A2aCode::PermissionDenied);
            assert!([200, 404].contains(&ask("Bearer itk-valid-token").status), "{operation}");
        }
    }
}
