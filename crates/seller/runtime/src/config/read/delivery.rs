//! Readers for the destinations of leads.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_client::receiver::authentic::MIN_KEY;
use tradepost_dealer::adf;
use tradepost_dealer::delivery::{ChatStyle, LeadDestination, LeadKind, MessageFormat};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_document::words;

use super::values::{
    self, ChannelKeys, duration, host, items, line, list, of_text, reject, secret, secure_address,
    web_page, whole,
};
use crate::config::delivery::{ConfigSecret, DeliveryConfig, DeliveryMethod, Http, Smtp, SmtpTls};

/// Covers a dealer that is closed over a holiday.
const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_hours(3 * 24);
const ATTEMPTS: u32 = 100;
const TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

words! {
    /// Channels of a delivery.
    enum DeliveryWord {
        /// ADF as mail.
        Smtp = "smtp",
        /// ADF by POST.
        Https = "https",
        /// Signed events as JSON.
        Webhook = "webhook",
        /// Messages to people.
        Chat = "chat",
    }
}

words! {
    enum WebhookMediaType {
        /// RFC 7303.
        Application = "application/xml",
        /// The older name, which some receivers insist on.
        Text = "text/xml",
        /// A name of its own.
        Adf = "application/x-adf+xml",
    }
}

words! {
    enum ProviderWord {
        /// The agent.
        Direct = "direct",
        /// A network, of which the agent is a service.
        Network = "network",
    }
}

/// Keys that belong to some channels only.
const KEYS: &[ChannelKeys<DeliveryWord>] = &[
    ChannelKeys::required(
        &["url"],
        &[DeliveryWord::Https, DeliveryWord::Webhook, DeliveryWord::Chat],
    ),
    ChannelKeys::optional(&["media_type"], &[DeliveryWord::Https]),
    ChannelKeys::optional(
        &["bearer", "bearer_file"],
        &[DeliveryWord::Https, DeliveryWord::Webhook],
    ),
    ChannelKeys::optional(&["hmac_key", "hmac_key_file"], &[DeliveryWord::Webhook]),
    ChannelKeys::required(&["style"], &[DeliveryWord::Chat]),
    ChannelKeys::optional(&["contact"], &[DeliveryWord::Chat]),
    ChannelKeys::optional(
        &["handles_leads"],
        &[DeliveryWord::Smtp, DeliveryWord::Https, DeliveryWord::Webhook],
    ),
    ChannelKeys::optional(&["adf"], &[DeliveryWord::Smtp, DeliveryWord::Https]),
    ChannelKeys::required(&["host"], &[DeliveryWord::Smtp]),
    ChannelKeys::optional(
        &["port", "tls", "allow_plain", "ca_file", "user", "password", "password_file"],
        &[DeliveryWord::Smtp],
    ),
    ChannelKeys::required(&["from", "to"], &[DeliveryWord::Smtp]),
];

/// Checks that every rooftop of a destination is one of the dealer's.
pub(super) fn check_rooftops(dealer: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) {
    let name = |rooftop: &Value| Some(rooftop.get("name")?.as_str()?.trim().to_lowercase());
    // Read from the raw table: a mistake elsewhere in the dealer must not hide one here.
    let known: BTreeSet<_> = items(dealer, "rooftops").iter().filter_map(name).collect();
    for (index, delivery) in items(dealer, "deliveries").iter().enumerate() {
        for (number, rooftop) in items(delivery, "rooftops").iter().enumerate() {
            let Some(text) = rooftop.as_str() else { continue };
            if !known.contains(&text.trim().to_lowercase()) {
                let message = "no rooftop of this dealer has this name";
                let at = at.key("deliveries");
                reject(&at.index(index).key("rooftops").index(number), problems, message);
            }
        }
    }
}

/// Reads a destination of leads or of alerts.
pub(super) fn delivery(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<DeliveryConfig> {
    let file = line(1_000);
    read_object!(value, at, problems, closed {
        required "name" => name: values::id,
        required "by" => way: parse::word::<DeliveryWord>,
        optional "rooftops" => rooftops: list(0, None, line(200)),
        optional "kinds" => kinds: values::words::<LeadKind>,
        optional "attempts" => attempts: whole(1, 1_000),
        optional "give_up_after" => give_up_after: duration("1m", "30d"),
        optional "timeout" => timeout: duration("1s", "5m"),
        optional "url" => url: secure_address,
        optional "media_type" => media_type: parse::word::<WebhookMediaType>,
        optional "bearer" => bearer: &file,
        optional "bearer_file" => bearer_file: &file,
        optional "hmac_key" => hmac_key: &file,
        optional "hmac_key_file" => hmac_key_file: &file,
        optional "style" => style: parse::word::<ChatStyle>,
        optional "contact" => contact: parse::boolean,
        optional "handles_leads" => handles_leads: parse::boolean,
        optional "adf" => adf: read_adf,
        optional "host" => server: host,
        optional "port" => port: whole::<u16>(1, 65_535),
        optional "tls" => tls: parse::word::<SmtpTls>,
        optional "allow_plain" => allow_plain: parse::boolean,
        optional "ca_file" => ca_file: &file,
        optional "user" => user: line(300),
        optional "password" => password: &file,
        optional "password_file" => password_file: &file,
        optional "from" => from: mailbox,
        optional "to" => to: list(1, Some(20), mailbox),
    });
    values::check_keys(KEYS, way, "destination", "by", value, at, problems);
    let bearer = secret(value, "bearer", bearer, bearer_file, at, problems);
    let hmac_key = secret(value, "hmac_key", hmac_key, hmac_key_file, at, problems);
    let password = secret(value, "password", password, password_file, at, problems);
    check_key(way, value, hmac_key.as_ref(), at, problems);
    // Returned only now, so that mistakes in other keys are reported too.
    let way = way?;
    let adf = MessageFormat::Adf(adf.unwrap_or_default());
    let media_type = media_type.unwrap_or(WebhookMediaType::Application).name();
    let (form, by) = match way {
        DeliveryWord::Smtp => {
            let tls = tls.unwrap_or(SmtpTls::StartTls);
            let smtp = Smtp {
                host: server.unwrap_or_default(),
                port: port.unwrap_or(tls.port()),
                tls,
                ca_file: ca_file.map(PathBuf::from),
                login: user.zip(password),
                from: from.unwrap_or_default(),
                to: to.unwrap_or_default(),
            };
            check_smtp(value, &smtp, allow_plain.unwrap_or_default(), at, problems);
            (adf, DeliveryMethod::Smtp(Box::new(smtp)))
        }
        DeliveryWord::Https => {
            (adf, DeliveryMethod::Http(Http { url: url?, media_type, bearer, hmac_key: None }))
        }
        DeliveryWord::Webhook => {
            let media_type = "application/json";
            (
                MessageFormat::Event,
                DeliveryMethod::Http(Http { url: url?, media_type, bearer, hmac_key }),
            )
        }
        DeliveryWord::Chat => {
            let form = MessageFormat::Chat { style: style?, contact: contact.unwrap_or_default() };
            let media_type = "application/json";
            (
                form,
                DeliveryMethod::Http(Http { url: url?, media_type, bearer: None, hmac_key: None }),
            )
        }
    };
    let destination = LeadDestination {
        name: name?,
        rooftops: rooftops.unwrap_or_default(),
        kinds: kinds.unwrap_or_default(),
        form,
        handles_leads: handles_leads.unwrap_or_default(),
    };
    Some(DeliveryConfig {
        destination,
        by,
        attempts: attempts.unwrap_or(ATTEMPTS),
        give_up_after: give_up_after.unwrap_or(GIVE_UP_AFTER),
        timeout: Duration::try_from(timeout.unwrap_or(TIMEOUT)).unwrap_or_default(),
    })
}

/// Checks that a webhook has a key, and that a key in the configuration is long enough; a key file
/// is checked when it is read.
fn check_key(
    way: Option<DeliveryWord>,
    value: &Value,
    key: Option<&ConfigSecret>,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) {
    // A key that is present but unusable has been reported already.
    let named = ["hmac_key", "hmac_key_file"].iter().any(|key| value.get(key).is_some());
    if way == Some(DeliveryWord::Webhook) && !named {
        let message = "is missing; a destination by webhook needs a key with which it can tell who \
                       sends";
        reject(&at.key("hmac_key_file"), problems, message);
    }
    if let Some(ConfigSecret::Text(key)) = key
        && key.chars().count() < MIN_KEY
    {
        reject(&at.key("hmac_key"), problems, "must have 32 characters or more");
    }
}

fn check_smtp(
    value: &Value,
    smtp: &Smtp,
    allow_plain: bool,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) {
    let is_here = matches!(smtp.host.as_str(), "localhost" | "127.0.0.1" | "[::1]");
    if smtp.tls == SmtpTls::None && !is_here && !allow_plain && value.get("host").is_some() {
        let message = "none is for this machine: leads would cross the network in the clear; with \
                       allow_plain = true they do";
        reject(&at.key("tls"), problems, message);
    }
    let named = |key| value.get(key).is_some();
    let has_password = named("password") || named("password_file");
    if named("user") != has_password {
        let (key, other) =
            if has_password { ("user", "password") } else { ("password_file", "user") };
        reject(&at.key(key), problems, format!("is missing beside {other}"));
    }
    if smtp.tls == SmtpTls::None && smtp.login.is_some() && !is_here {
        reject(&at.key("user"), problems, "a password needs TLS");
    }
}

/// Reads an address that the mail library can send from and to unchanged.
pub(super) fn mailbox(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    const HINT: &str = "must be an e-mail address such as leads@crm.example.com";
    of_text((value, at, problems), HINT, |text| {
        let is_mailbox = text.is_ascii() && text.parse::<lettre::Address>().is_ok();
        is_mailbox.then(|| text.to_owned())
    })
}

fn read_adf(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<adf::AdfOptions> {
    read_object!(value, at, problems, closed {
        optional "prolog" => prolog: parse::word,
        optional "names" => names: parse::word,
        optional "no_vehicle" => no_vehicle: parse::word,
        optional "timeframe" => timeframe: parse::word,
        optional "provider" => provider: parse::word::<ProviderWord>,
        optional "network" => network: line(200),
        optional "network_url" => network_url: web_page,
    });
    let provider = match (provider, network) {
        (Some(ProviderWord::Network), Some(name)) => {
            adf::LeadProvider::Network(adf::LeadNetwork { name, url: network_url })
        }
        (Some(ProviderWord::Network), None) => {
            if value.get("network").is_none() {
                let message = "is missing; a provider that is a network has a name";
                reject(&at.key("network"), problems, message);
            }
            adf::LeadProvider::Direct
        }
        (Some(ProviderWord::Direct) | None, _) => {
            // A provider that cannot be read may have been meant to be a network.
            let is_direct = provider.is_some() || value.get("provider").is_none();
            for key in ["network", "network_url"] {
                if is_direct && value.get(key).is_some() {
                    reject(&at.key(key), problems, "belongs to provider = \"network\"");
                }
            }
            adf::LeadProvider::Direct
        }
    };
    let usual = adf::AdfOptions::default();
    Some(adf::AdfOptions {
        provider,
        prolog: prolog.unwrap_or(usual.prolog),
        names: names.unwrap_or(usual.names),
        no_vehicle: no_vehicle.unwrap_or(usual.no_vehicle),
        contacts: usual.contacts,
        timeframe: timeframe.unwrap_or(usual.timeframe),
    })
}
