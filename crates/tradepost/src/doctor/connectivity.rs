//! Checks of connections to other servers: destinations, feed addresses, token issuers. A mail server is
//! logged in to; for other servers only a connection is made.

use jiff::Timestamp;
use reqwest::Url;
use tradepost_runtime::config::delivery::DeliveryConfig;
use tradepost_runtime::config::feeds::{FeedLocation, FeedOrigin, Sftp};
use tradepost_runtime::delivery::channel;
use tradepost_runtime::feeds::sftp;
use tradepost_server::auth::KeySource;
use tradepost_server::tls::peer::{self, PeerError};

use super::{Area, DoctorFinding, Examiner, FindingSubject, RunningChecks, judge_end};

impl Examiner {
    pub(super) fn check_connectivity(&self, checks: &mut RunningChecks) {
        for dealer in &self.config.dealers {
            let id = &dealer.terms.id;
            for delivery in &dealer.deliveries {
                let name = format!("{id}/{}", delivery.destination.name);
                self.check_destination(checks, name, delivery);
            }
            for feed in &dealer.feeds {
                if let FeedOrigin::Pull(pull) = &feed.from {
                    let about = FindingSubject::new(
                        Area::Feed,
                        format!("{id}/{} (its address)", feed.name),
                    );
                    match &pull.place {
                        FeedLocation::Web(web) => {
                            self.check_address(checks, about, web.url.clone())
                        }
                        FeedLocation::Sftp(place) => check_sftp(checks, about, place.clone()),
                    }
                }
            }
            if let Some(jwt) = &dealer.auth.jwt
                && let KeySource::Url(url) = &jwt.keys
            {
                let about = FindingSubject::new(Area::Issuer, format!("{id}: jwks_url"));
                self.check_address(checks, about, url.to_string());
            }
        }
        for delivery in self.config.alerts.iter().flat_map(|alerts| &alerts.destinations) {
            let name = format!("alerts/{}", delivery.destination.name);
            self.check_destination(checks, name, delivery);
        }
        if let Some(traces) = &self.config.traces {
            let about = FindingSubject::new(Area::Delivery, "traces.endpoint");
            self.check_address(checks, about, traces.endpoint.clone());
        }
        for publisher in &self.config.publishers {
            let id = &publisher.profile.id;
            for wanted in &publisher.deliveries {
                let name = format!("{id}/{}", wanted.delivery.destination.name);
                self.check_destination(checks, name, &wanted.delivery);
            }
            if let Some(ad_server) = &publisher.ad_server {
                let about = FindingSubject::new(Area::Delivery, format!("{id}: ad_server.url"));
                self.check_address(checks, about, ad_server.settings.url.clone());
            }
            if let Some(upstream) = &publisher.upstream {
                let about = FindingSubject::new(Area::Delivery, format!("{id}: upstream.url"));
                self.check_address(checks, about, upstream.url.clone());
            }
        }
    }

    pub(super) fn check_destination(
        &self,
        checks: &mut RunningChecks,
        name: String,
        delivery: &DeliveryConfig,
    ) {
        let about = FindingSubject::new(Area::Delivery, name);
        let carrier = channel::open(delivery, &self.clock);
        checks.begin(about.clone(), async move {
            let found = match carrier {
                Err(why) => about.bad(why, "correct the named setting in the configuration"),
                Ok(carrier) => match carrier.test_connection().await {
                    Ok(says) => about.ok(says),
                    Err(failed) => about.bad(failed.answer.clone(), hint_for(&failed.answer)),
                },
            };
            found.into()
        });
    }

    fn check_address(&self, checks: &mut RunningChecks, about: FindingSubject, url: String) {
        let now = self.now();
        checks.begin(about.clone(), async move { address(&about, &url, now).await.into() });
    }
}

/// Checks that an SFTP server has the expected host key and accepts our login.
fn check_sftp(checks: &mut RunningChecks, about: FindingSubject, place: Sftp) {
    checks.begin(about.clone(), async move {
        let hint = "check that `url`, `key_file` and `known_hosts` of the feed belong together, and that \
                    this machine may connect to the server";
        let tested = sftp::test_login(&place).await;
        let entered = tested.map(|()| about.ok("its host key is known, and the login succeeded"));
        entered.unwrap_or_else(|why| about.bad(why, hint)).into()
    });
}

/// Returns the action for an answer, which is one of our own texts.
fn hint_for(answer: &str) -> &'static str {
    // 530, 534 and 535 are about the login (RFC 4954 §6).
    if answer.starts_with("SMTP 53") {
        "correct `user` and `password_file` of the destination; the server rejects them"
    } else if answer.contains("TLS") {
        "check that `tls` and `port` match and that the certificate is valid; `ca_file` names your own \
         certificate authority"
    } else {
        "check the address, and that this machine may connect to it"
    }
}

/// Checks the connection to an address, which may contain a secret.
async fn address(about: &FindingSubject, url: &str, now: Timestamp) -> DoctorFinding {
    let unusable = || about.bad("is not an address", "correct it in the configuration");
    let Ok(url) = Url::parse(url) else { return unusable() };
    let Some(host) = url.host_str() else { return unusable() };
    let Some(port) = url.port_or_known_default() else { return unusable() };
    match peer::look(host, port, url.scheme() == "https").await {
        Ok(Some(shown)) => match judge_end(about, shown.expires_at, now) {
            // Only a certificate that ends soon replaces the finding below.
            finding if finding.hint.is_some() => finding,
            _ => about.ok("accepts connections, with a trusted certificate"),
        },
        Ok(None) => about.ok("accepts connections"),
        Err(PeerError::Unreachable(why)) => about.bad(
            format!("no connection: {why}"),
            "check the address, and that this machine may connect to it",
        ),
        Err(PeerError::Untrusted(why)) => about.bad(
            format!("no TLS that can be trusted: {why}"),
            "correct the certificate of the server",
        ),
    }
}
