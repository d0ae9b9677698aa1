//! Settings that do not fit, and what is shown of them.

use expect_test::expect;
use tradepost_ad_server::{AdServerKind, AdServerSettings, connect};
use tradepost_document::catalog::Vocabulary;
use tradepost_publisher::ad_server::RemoteId;

use crate::server::CREDENTIAL;

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
        let full = AdServerSettings {
            network: Some("net.example".to_owned()),
            priority: Some(1),
            ..AdServerSettings::new(*kind, "https://ads.example/api/", CREDENTIAL)
        };
        table.push_str(&format!("{kind}: {}\n", problems(full)));
        let unsendable = AdServerSettings {
            network: Some("net.example".to_owned()),
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
        deals: url: give an address with http or https, without user, query and fragment; credential: give the credential of the ad server; network: give the domain of the system that receives bids for the deals
        deals: deals
        deals: credential: the credential has characters that no header can have
    "#]].assert_eq(&table);
}

#[test]
fn no_debug_output_shows_the_credential() {
    for kind in AdServerKind::ALL {
        let settings = AdServerSettings {
            network: Some("net.example".to_owned()),
            priority: Some(1),
            ..AdServerSettings::new(*kind, "https://ads.example", CREDENTIAL)
        };
        assert!(!format!("{settings:?}").contains(CREDENTIAL));
        let server = connect(settings).unwrap();
        assert!(!format!("{server:?}").contains(CREDENTIAL));
    }
}
