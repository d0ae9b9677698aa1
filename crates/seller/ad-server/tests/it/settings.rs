//! Settings that do not fit, and what is shown of them.

use expect_test::expect;
use tradepost_ad_server::{AdServerKind, AdServerSettings, connect};
use tradepost_document::catalog::Vocabulary;
use tradepost_publisher::ad_server::RemoteId;

use crate::server::{credential, network};

fn problems(settings: AdServerSettings) -> String {
    connect(settings).map_or_else(|error| error.to_string(), |server| server.name().to_owned())
}

#[test]
fn every_setting_that_does_not_fit_is_named() {
    let mut table = String::new();
    for kind in AdServerKind::ALL {
        let bare = AdServerSettings {
            advertiser: Some(RemoteId("Acme".to_owned())),
            ..AdServerSettings::new(*kind, "ftp://ads.example/?a=b", "")
        };
        table.push_str(&format!("{kind}: {}\n", problems(bare)));
        let url = "https://ads.example/api/";
        let full = AdServerSettings {
            network: network(*kind),
            trafficker: Some(RemoteId("5".to_owned())),
            priority: Some(1),
            ..AdServerSettings::new(*kind, url, credential(*kind, url))
        };
        table.push_str(&format!("{kind}: {}\n", problems(full)));
        let unsendable = AdServerSettings {
            network: network(*kind),
            trafficker: Some(RemoteId("5".to_owned())),
            priority: Some(1),
            ..AdServerSettings::new(*kind, "https://ads.example", "a\nb")
        };
        table.push_str(&format!("{kind}: {}\n", problems(unsendable)));
    }
    expect![[r#"
        http: url: give an address with http or https, without user, query and fragment; credential: give the credential of the ad server; network: name the network at the ad server
        http: http
        http: credential: the credential has characters that no header can have
        kevel: url: give an address with http or https, without user, query and fragment; credential: give the credential of the ad server; advertiser: give the number of an advertiser at Kevel; priority: give the number of a priority at Kevel
        kevel: kevel
        kevel: credential: the credential has characters that no header can have
        google_ad_manager: url: give an address with http or https, without user, query and fragment; credential: give the credential of the ad server; network: give the code of the network at Google, which is a number; trafficker: give the number of the user at Google who is responsible for orders; advertiser: give the number of an advertiser at Google; url: tokens of Google's are sent to addresses with https alone
        google_ad_manager: google_ad_manager
        google_ad_manager: credential: give the JSON key file of a service account of Google's
        deals: url: give an address with http or https, without user, query and fragment; credential: give the credential of the ad server; network: give the domain of the system that receives bids for the deals
        deals: deals
        deals: credential: the credential has characters that no header can have
    "#]].assert_eq(&table);
}

#[test]
fn no_debug_output_shows_the_credential() {
    for kind in AdServerKind::ALL {
        let url = "https://ads.example";
        let secret = credential(*kind, url);
        let settings = AdServerSettings {
            network: network(*kind),
            trafficker: Some(RemoteId("5".to_owned())),
            priority: Some(1),
            ..AdServerSettings::new(*kind, url, &*secret)
        };
        let secret = format!("{secret:?}");
        let secret = secret.trim_matches('"');
        assert!(!format!("{settings:?}").contains(secret));
        let server = connect(settings).unwrap();
        assert!(!format!("{server:?}").contains(secret));
    }
}

#[test]
fn a_key_file_that_cannot_be_used_is_no_credential() {
    let url = "https://ads.example";
    let file = credential(AdServerKind::GoogleAdManager, url);
    let mut table = String::new();
    for (from, to) in [
        ("service_account", "authorized_user"),
        ("https://ads.example/token", "http://ads.example/token"),
        ("MII", "MIJ"),
        ("https://ads.example/token", "http://127.0.0.1/token"),
        ("client_email", "email"),
        ("{", ""),
    ] {
        let settings = AdServerSettings {
            network: network(AdServerKind::GoogleAdManager),
            trafficker: Some(RemoteId("5".to_owned())),
            ..AdServerSettings::new(AdServerKind::GoogleAdManager, url, file.replacen(from, to, 1))
        };
        table.push_str(&format!("{from}: {}\n", problems(settings)));
    }
    let settings = AdServerSettings {
        network: Some("gazette".to_owned()),
        soap_url: "http://ads.example/publisher".to_owned(),
        ..AdServerSettings::new(AdServerKind::GoogleAdManager, url, file)
    };
    table.push_str(&format!("others: {}\n", problems(settings)));
    expect![[r#"
        service_account: credential: the key file is of another kind than service_account
        https://ads.example/token: credential: the token_uri of the key file is no address with https
        MII: credential: the private_key of the key file is no RSA key in PKCS#8
        https://ads.example/token: url: give url, soap_url and the token_uri of the key file one scheme: https, or http for all on this machine
        client_email: credential: give the JSON key file of a service account of Google's
        {: credential: give the JSON key file of a service account of Google's
        others: network: give the code of the network at Google, which is a number; trafficker: give the number of the user at Google who is responsible for orders; soap_url: give an address that ends with a version, such as /v202511; url: tokens of Google's are sent to addresses with https alone
    "#]].assert_eq(&table);
}
