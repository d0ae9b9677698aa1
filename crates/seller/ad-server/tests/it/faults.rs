//! What each way to fail becomes at each adapter.

use expect_test::expect;
use tradepost_ad_server::{AdServer, AdServerError, AdServerKind};
use tradepost_document::catalog::Vocabulary;

use crate::server::{CREDENTIAL, PreparedAnswer, PreparedServer, adapter};
use crate::specs;

/// Calls what makes something first at an adapter.
async fn create(server: &dyn AdServer) -> Result<(), AdServerError> {
    if server.capabilities().line_items {
        server.create_order(&specs::order()).await.map(drop)
    } else {
        server.put_deal(&specs::deal()).await.map(drop)
    }
}

fn word(result: &Result<(), AdServerError>) -> String {
    match result {
        Ok(()) => "made".to_owned(),
        Err(AdServerError::Refused { reason, .. }) => format!("{reason:?}"),
        Err(AdServerError::NotYet { retry_after }) => format!("NotYet {retry_after:?}"),
        Err(AdServerError::Garbled { detail }) => format!("Garbled ({detail})"),
        Err(error @ (AdServerError::Unsent | AdServerError::Unanswered)) => format!("{error:?}"),
    }
}

fn answers() -> Vec<(&'static str, PreparedAnswer)> {
    let document = |status| PreparedAnswer::new(status, r#"{"message": "No."}"#);
    let slow = PreparedAnswer { is_slow: true, ..PreparedAnswer::new(200, "") };
    let broken = PreparedAnswer { breaks_off: true, ..PreparedAnswer::new(200, "{}") };
    let mut answers: Vec<(&'static str, PreparedAnswer)> = vec![
        ("slow", slow),
        ("200, breaks off", broken),
        ("200, nothing", PreparedAnswer::new(200, "")),
        ("200, {}", PreparedAnswer::new(200, "{}")),
        ("200, a page", PreparedAnswer::new(200, "<html>")),
        ("200, no UTF-8", PreparedAnswer::new(200, [0xff, 0xfe])),
        ("200, too large", PreparedAnswer::new(200, vec![b' '; 1024 * 1024 + 1])),
        ("200, too deep", PreparedAnswer::new(200, "[".repeat(100_000))),
        ("307", PreparedAnswer::new(307, "").with("location", "http://127.0.0.1:1/")),
        ("429", document(429)),
        ("429, 7 s", document(429).with("retry-after", "7")),
        ("503, 7 s", document(503).with("retry-after", "7")),
        ("404, a page", PreparedAnswer::new(404, "<html>")),
    ];
    let statuses: [(&'static str, u16); 16] = [
        ("400", 400),
        ("401", 401),
        ("403", 403),
        ("404", 404),
        ("405", 405),
        ("408", 408),
        ("409", 409),
        ("410", 410),
        ("422", 422),
        ("423", 423),
        ("425", 425),
        ("451", 451),
        ("500", 500),
        ("501", 501),
        ("502", 502),
        ("504", 504),
    ];
    answers.extend(statuses.map(|(name, status)| (name, document(status))));
    answers
}

#[tokio::test]
async fn every_fault_says_if_the_request_may_have_acted() {
    let mut table = String::new();
    for (name, answer) in answers() {
        let server = PreparedServer::start(answer).await;
        for kind in AdServerKind::ALL {
            let result = create(adapter(*kind, &server.url).as_ref()).await;
            table.push_str(&format!("{name:16} {kind:17} {}\n", word(&result)));
        }
    }
    for kind in AdServerKind::ALL {
        let result = create(adapter(*kind, "http://127.0.0.1:1").as_ref()).await;
        table.push_str(&format!("{:16} {kind:17} {}\n", "nobody there", word(&result)));
    }
    expect![[r#"
        slow             http Unanswered
        slow             kevel Unanswered
        slow             google_ad_manager Unanswered
        slow             deals Unanswered
        200, breaks off  http Unanswered
        200, breaks off  kevel Unanswered
        200, breaks off  google_ad_manager Unanswered
        200, breaks off  deals Unanswered
        200, nothing     http Garbled (it is no order)
        200, nothing     kevel Garbled (it is no page of a list)
        200, nothing     google_ad_manager Garbled (it is no page of a list)
        200, nothing     deals made
        200, {}          http Garbled (it is no order)
        200, {}          kevel Garbled (it is no page of a list)
        200, {}          google_ad_manager Garbled (it is no order)
        200, {}          deals made
        200, a page      http Garbled (it is not JSON)
        200, a page      kevel Garbled (it is not JSON)
        200, a page      google_ad_manager Garbled (it is not JSON)
        200, a page      deals Garbled (it is not JSON)
        200, no UTF-8    http Garbled (it is not UTF-8)
        200, no UTF-8    kevel Garbled (it is not UTF-8)
        200, no UTF-8    google_ad_manager Garbled (it is not UTF-8)
        200, no UTF-8    deals Garbled (it is not UTF-8)
        200, too large   http Garbled (it is larger than 1048576 bytes)
        200, too large   kevel Garbled (it is larger than 1048576 bytes)
        200, too large   google_ad_manager Garbled (it is larger than 1048576 bytes)
        200, too large   deals Garbled (it is larger than 1048576 bytes)
        200, too deep    http Garbled (it is not JSON)
        200, too deep    kevel Garbled (it is not JSON)
        200, too deep    google_ad_manager Garbled (it is not JSON)
        200, too deep    deals Garbled (it is not JSON)
        307              http Invalid
        307              kevel Invalid
        307              google_ad_manager Invalid
        307              deals Invalid
        429              http NotYet None
        429              kevel NotYet None
        429              google_ad_manager NotYet None
        429              deals NotYet None
        429, 7 s         http NotYet Some(7s)
        429, 7 s         kevel NotYet Some(7s)
        429, 7 s         google_ad_manager NotYet Some(7s)
        429, 7 s         deals NotYet Some(7s)
        503, 7 s         http Unanswered
        503, 7 s         kevel Unanswered
        503, 7 s         google_ad_manager Unanswered
        503, 7 s         deals Unanswered
        404, a page      http Missing
        404, a page      kevel Missing
        404, a page      google_ad_manager Missing
        404, a page      deals Missing
        400              http Invalid
        400              kevel Invalid
        400              google_ad_manager Invalid
        400              deals Invalid
        401              http Credential
        401              kevel Credential
        401              google_ad_manager Credential
        401              deals Credential
        403              http Permission
        403              kevel Credential
        403              google_ad_manager Permission
        403              deals Permission
        404              http Missing
        404              kevel Missing
        404              google_ad_manager Missing
        404              deals Missing
        405              http Unsupported
        405              kevel Unsupported
        405              google_ad_manager Unsupported
        405              deals Unsupported
        408              http Unanswered
        408              kevel Unanswered
        408              google_ad_manager Unanswered
        408              deals Unanswered
        409              http Conflict
        409              kevel Conflict
        409              google_ad_manager Conflict
        409              deals Conflict
        410              http Missing
        410              kevel Missing
        410              google_ad_manager Missing
        410              deals Missing
        422              http Invalid
        422              kevel Invalid
        422              google_ad_manager Invalid
        422              deals Invalid
        423              http NotYet None
        423              kevel NotYet None
        423              google_ad_manager NotYet None
        423              deals NotYet None
        425              http NotYet None
        425              kevel NotYet None
        425              google_ad_manager NotYet None
        425              deals NotYet None
        451              http Invalid
        451              kevel Invalid
        451              google_ad_manager Invalid
        451              deals Invalid
        500              http Unanswered
        500              kevel Unanswered
        500              google_ad_manager Unanswered
        500              deals Unanswered
        501              http Unsupported
        501              kevel Unsupported
        501              google_ad_manager Unsupported
        501              deals Unsupported
        502              http Unanswered
        502              kevel Unanswered
        502              google_ad_manager Unanswered
        502              deals Unanswered
        504              http Unanswered
        504              kevel Unanswered
        504              google_ad_manager Unanswered
        504              deals Unanswered
        nobody there     http Unsent
        nobody there     kevel Unsent
        nobody there     google_ad_manager Unsent
        nobody there     deals Unsent
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn codes_of_the_contract_count_before_the_status() {
    let mut table = String::new();
    for (status, code) in [
        (401, "unauthorized"),
        (403, "approval_forbidden"),
        (403, "unknown_network"),
        (409, "idempotency_conflict"),
        (409, "not_ready"),
        (409, "no_inventory"),
        (422, "invalid_state_transition"),
        (400, "a_code_of_its_own"),
        // Whatever it says, a server that broke may have acted.
        (500, "not_ready"),
    ] {
        let body = format!(r#"{{"code": "{code}", "message": "No."}}"#);
        let server = PreparedServer::start(PreparedAnswer::new(status, body)).await;
        let result = create(adapter(AdServerKind::Http, &server.url).as_ref()).await;
        table.push_str(&format!("{status} {code:26} {}\n", word(&result)));
    }
    expect![[r#"
        401 unauthorized               Credential
        403 approval_forbidden         Permission
        403 unknown_network            Missing
        409 idempotency_conflict       Conflict
        409 not_ready                  NotYet None
        409 no_inventory               NoInventory
        422 invalid_state_transition   Invalid
        400 a_code_of_its_own          Invalid
        500 not_ready                  Unanswered
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn texts_are_short_and_without_the_credential() {
    let long = "x".repeat(5000);
    let body = format!(
        r#"{{"message": "Key {CREDENTIAL}\u001b[31m\n\n\u202e is wrong {long}", "code": "other"}}"#
    );
    let server = PreparedServer::start(PreparedAnswer::new(400, body)).await;
    for kind in AdServerKind::ALL {
        let error = create(adapter(*kind, &server.url).as_ref()).await.unwrap_err();
        let AdServerError::Refused { detail, .. } = &error else { panic!("{error:?}") };
        assert!(detail.starts_with("Key …[31m is wrong xxx"), "{detail}");
        assert!(detail.chars().count() <= 201, "{}", detail.chars().count());
        assert!(!format!("{error} {error:?}").contains(CREDENTIAL));
    }
}

#[tokio::test]
async fn nothing_is_sent_twice() {
    let server = PreparedServer::start(PreparedAnswer::new(500, "")).await;
    for kind in AdServerKind::ALL {
        let before = server.seen().len();
        create(adapter(*kind, &server.url).as_ref()).await.unwrap_err();
        // Google's token is asked for besides, and is none of the ad server's.
        assert_eq!(server.seen().len(), before + 1, "{kind}");
    }
}
