//! `tradepost check-config`: reads a configuration file and reports every mistake in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json};
use tradepost_document::toml;
use tradepost_keys::private::SigningKey;
use tradepost_publisher::catalogue::Catalogue;
use tradepost_runtime::acme;
use tradepost_runtime::adcp::ad_server;
use tradepost_runtime::config::delivery::DeliveryConfig;
use tradepost_runtime::config::{Config, DealerConfig, PublisherConfig, Tls, read};
use tradepost_runtime::delivery::channel;
use tradepost_runtime::feeds::FeedSource;
use tradepost_server::clock::Clock;
use tradepost_server::tls::{self, ServerIdentity};

use super::output::CommandFailure;
use super::store_location::load_keys;
use super::{Context, Outcome, toml_file};

mod warnings;

pub(crate) use warnings::{ConfigWarning, warnings};

/// Hint for files that cannot be used.
const CORRECT: &str = "correct the listed settings; paths are relative to the working directory";

/// Arguments of `tradepost check-config`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Configuration file.
    #[arg(value_name = "FILE", default_value = super::dealers::CONFIG)]
    path: PathBuf,
    /// Configuration file, as an option like in other commands.
    #[arg(long, value_name = "FILE", conflicts_with = "path")]
    config: Option<PathBuf>,
}

impl Arguments {
    /// Creates the arguments for a file.
    pub(super) fn from_path(path: PathBuf) -> Self {
        Self { path, config: None }
    }
}

/// Runs the command.
///
/// # Errors
/// Fails when the file cannot be read or has mistakes.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let path = arguments.config.unwrap_or(arguments.path);
    let mut config = load(&path, &context.environment)?;
    check_keys(&config)?;
    load_catalogues(&mut config)?;
    if context.output.is_json() {
        let warnings = located_warnings(&path, &config, context);
        context.output.document(&summary(&config, &warnings));
        return Ok(());
    }
    context.output.line(format!("{} is valid", path.display()));
    for dealer in &config.dealers {
        let rooftops: Vec<_> =
            dealer.terms.rooftops.iter().map(|rooftop| rooftop.profile.name.as_str()).collect();
        let id = &dealer.terms.id;
        let name = &dealer.terms.name;
        let count = rooftops.len();
        let noun = if count == 1 { "rooftop" } else { "rooftops" };
        let names = rooftops.join(", ");
        context.output.line(format!("dealer {id} ({name}): {count} {noun}: {names}"));
        if !dealer.deliveries.is_empty() {
            let names = destinations(dealer).join(", ");
            context.output.line(format!("dealer {id}: leads are delivered to {names}"));
        }
    }
    for PublisherConfig { profile, .. } in &config.publishers {
        let products = profile.catalogue.products.len();
        let noun = if products == 1 { "product" } else { "products" };
        let id = &profile.id;
        let name = &profile.name;
        context.output.line(format!("publisher {id} ({name}): {products} {noun}"));
    }
    context.output.line(match &config.server.tls {
        None => format!("listens on {}", config.server.listen),
        Some(files) => {
            let acme = config.server.acme.as_ref();
            let ordered = acme.map(|acme| format!(", ordered for {}", acme.domains.join(", ")));
            let end = end_of(files);
            let ordered = ordered.unwrap_or_default();
            format!("listens on {}, over TLS{end}{ordered}", config.server.listen)
        }
    });
    for located in located_warnings(&path, &config, context) {
        let LocatedWarning { line, warning } = located;
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let name = path.display();
        context.output.talk(format!("warning: {name}{line}: {}", warning.message));
    }
    Ok(())
}

fn destinations(dealer: &DealerConfig) -> Vec<&str> {
    dealer.deliveries.iter().map(|delivery| delivery.destination.name.as_str()).collect()
}

/// Describes for people when our certificate expires.
fn end_of(files: &Tls) -> String {
    let expires_at = tls::load(files).ok().and_then(|loaded| loaded.expires_at);
    expires_at.map_or_else(String::new, |end| format!(", with a certificate until {end}"))
}

/// Reads a configuration file for a command.
///
/// # Errors
/// Fails when the file cannot be read, or has mistakes: all of them, each with its line.
pub fn load(path: &Path, environment: &[(String, String)]) -> Result<Config, CommandFailure> {
    let name = path.display();
    let unreadable = |why: String| {
        CommandFailure::usage(why)
            .hint("write one with `tradepost init`, or name another file")
            .data(json!({"code": "config_unreadable", "path": path}))
    };
    let bytes =
        std::fs::read(path).map_err(|error| unreadable(format!("cannot read {name}: {error}")))?;
    let text =
        String::from_utf8(bytes).map_err(|_| unreadable(format!("{name} is not UTF-8 text")))?;
    read::read(&text, environment).map_err(|mistakes| toml_file::failure(path, &mistakes))
}

/// Checks the mapping files of feeds.
fn check_feeds(config: &Config) -> Result<(), CommandFailure> {
    let why_not = |dealer: &DealerConfig| {
        let why = FeedSource::open_all(&Arc::new(dealer.clone())).err()?;
        Some(format!("dealer {}: {why}", dealer.terms.id))
    };
    let lines: Vec<String> = config.dealers.iter().filter_map(why_not).collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(CommandFailure::usage("the mapping of a feed cannot be used").hint(CORRECT).lines(lines))
}

/// Checks that the files of TLS, the keys that sign agent cards, and the settings of delivery
/// channels can be used.
///
/// # Errors
/// Lists every file that cannot be used.
pub fn check_keys(config: &Config) -> Result<(), CommandFailure> {
    check_feeds(config)?;
    config.privacy.key_file.as_deref().map(load_keys).transpose()?;
    let why_not = |dealer: &DealerConfig| {
        let signing = dealer.card_signing.as_ref()?;
        let why = SigningKey::load(&signing.key_file, signing.kid.as_deref()).err()?;
        Some(format!("dealer {}: {why}", dealer.terms.id))
    };
    let tls = config.server.tls.as_ref().and_then(|files| match &config.server.acme {
        // A certificate that is ordered may not exist yet.
        Some(acme) => {
            ServerIdentity::open_ordered(files.clone(), acme::challenges(acme), &Clock::system())
                .err()
        }
        None => tls::load(files).err(),
    });
    let tls = tls.as_deref().map(unusable_tls);
    let mut keys: Vec<_> = config.dealers.iter().filter_map(why_not).collect();
    let of_cards = !keys.is_empty();
    keys.extend(config.publishers.iter().flat_map(publisher_keys));
    let of_anybody = !keys.is_empty();
    for dealer in &config.dealers {
        keys.extend(unusable_destinations(
            &format!("dealer {}", dealer.terms.id),
            &dealer.deliveries,
        ));
    }
    for publisher in &config.publishers {
        let configs = publisher.deliveries.iter().map(|wanted| wanted.delivery.clone());
        let whose = format!("publisher {}", publisher.profile.id);
        keys.extend(unusable_destinations(&whose, &configs.collect::<Vec<_>>()));
    }
    if let Some(alerts) = &config.alerts {
        keys.extend(unusable_destinations("alerts", &alerts.destinations));
    }
    let oidc = config.server.console.iter().find_map(|console| console.oidc.as_ref());
    let unusable = oidc.and_then(|oidc| oidc.secret.read().err());
    keys.extend(unusable.map(|why| format!("server.console.oidc.client_secret_file: {why}")));
    let unusable = config.server.acme.as_ref().and_then(|acme| acme::check(acme).err());
    keys.extend(unusable.map(|error| error.to_string()));
    if keys.is_empty() {
        // A failure of TLS alone keeps its own hint.
        return tls.map_or(Ok(()), Err);
    }
    const KEYGEN: &str =
        "create a key with `tradepost card keygen`; paths are relative to the working directory";
    let (what, hint) = match (of_cards, of_anybody) {
        (true, _) => ("card_signing.key_file cannot be used", KEYGEN),
        (false, true) => ("a publisher's key file cannot be used", KEYGEN),
        (false, false) => (
            "a secret, or a destination of leads, staff messages or alerts, cannot be used",
            CORRECT,
        ),
    };
    let failure = CommandFailure::usage(what).hint(hint).data(json!({"keys": keys})).lines(keys);
    Err(match tls {
        None => failure,
        Some(tls) => CommandFailure {
            message: format!("{}; {}", tls.message, failure.message),
            data: Some(json!({"tls": tls.lines, "keys": failure.lines})),
            lines: [tls.lines, failure.lines].concat(),
            ..failure
        },
    })
}

/// Returns the reasons why destinations cannot be used.
fn unusable_destinations(whose: &str, deliveries: &[DeliveryConfig]) -> Vec<String> {
    let clock = Clock::system();
    let why_not = |delivery: &DeliveryConfig| {
        let why = channel::open(delivery, &clock).err()?;
        Some(format!("{whose}, destination {}: {why}", delivery.destination.name))
    };
    deliveries.iter().filter_map(why_not).collect()
}

/// Returns the reasons why keys and credentials of a publisher cannot be used.
fn publisher_keys(publisher: &PublisherConfig) -> Vec<String> {
    let id = &publisher.profile.id;
    let own = [&publisher.webhook_key, &publisher.governance_key].into_iter().flatten();
    let own = own.filter_map(|file| SigningKey::load(&file.key_file, file.kid.as_deref()).err());
    let own = own.map(|why| format!("publisher {id}: {why}"));
    let of_agents = publisher.signers.iter().filter_map(|(agent, keys)| {
        let why = keys.source.check(|path| std::fs::read_to_string(path)).err()?;
        Some(format!("publisher {id}, agent {agent}: the file with its keys: {why}"))
    });
    let of_verifiers = publisher.verifiers.iter().filter_map(|(url, secret)| {
        let why = secret.read().err()?;
        Some(format!("publisher {id}, verifier {url}: the credential {why}"))
    });
    let of_ad_server = publisher.ad_server.as_ref().and_then(|wanted| {
        let why = ad_server::connect(wanted).err()?;
        Some(format!("publisher {id}, ad_server: {why}"))
    });
    own.chain(of_agents).chain(of_verifiers).chain(of_ad_server).collect()
}

/// Reads the catalogues of the publishers.
///
/// # Errors
/// Lists every mistake in the catalogues, and every file that cannot be read.
pub fn load_catalogues(config: &mut Config) -> Result<(), CommandFailure> {
    let mut lines = Vec::new();
    for publisher in &mut config.publishers {
        let Some(path) = &publisher.catalogue else { continue };
        let id = &publisher.profile.id;
        let name = path.display();
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) => {
                lines.push(format!("publisher {id}: cannot read {name}: {error}"));
                continue;
            }
        };
        match Catalogue::parse(&text) {
            Ok(catalogue) => publisher.profile.catalogue = catalogue,
            Err(mistakes) => lines.extend(mistakes.iter().map(|mistake| {
                let place = if mistake.pointer.is_empty() { "/" } else { &mistake.pointer };
                format!("{name}: {place}: {}", mistake.message)
            })),
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let failure = CommandFailure::usage("publishers.catalogue cannot be used").hint(CORRECT);
    Err(failure.data(json!({"catalogues": lines})).lines(lines))
}

/// Describes the mistakes in the files of TLS.
#[must_use]
pub fn unusable_tls(mistakes: &[tls::TlsFileError]) -> CommandFailure {
    let lines: Vec<_> = mistakes.iter().map(ToString::to_string).collect();
    CommandFailure::usage("server.tls cannot be used")
        .hint("the files must be PEM; paths are relative to the working directory")
        .data(json!({"tls": lines}))
        .lines(lines)
}

/// Warning with its line in the file, unless it is about a variable or a default.
struct LocatedWarning {
    line: Option<usize>,
    warning: ConfigWarning,
}

impl LocatedWarning {
    fn document(&self) -> Value {
        let ConfigWarning { pointer, message } = &self.warning;
        json!({"line": self.line, "key": toml::dotted_key(pointer), "message": message})
    }
}

/// Finds the lines of all warnings.
fn located_warnings(path: &Path, config: &Config, context: &Context) -> Vec<LocatedWarning> {
    let warnings = warnings(config);
    // Read again only for the lines: the configuration does not keep them.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let pointers: Vec<&str> = warnings.iter().map(|warning| warning.pointer.as_str()).collect();
    let lines = toml::lines_of(&text, read::variables(&context.environment), &pointers);
    let located = |(line, warning)| LocatedWarning { line, warning };
    let mut located: Vec<_> = lines.into_iter().zip(warnings).map(located).collect();
    // In the order of the file; warnings without a line come last.
    located.sort_by_key(|located| located.line.unwrap_or(usize::MAX));
    located
}

fn summary(config: &Config, warnings: &[LocatedWarning]) -> Value {
    let dealers = config.dealers.iter().map(|dealer| {
        let rooftops = dealer.terms.rooftops.iter().map(|rooftop| &rooftop.profile.name);
        json!({
            "id": dealer.terms.id,
            "name": dealer.terms.name,
            "hosts": dealer.hosts,
            "versions": dealer.terms.versions.iter().map(|v| v.name()).collect::<Vec<_>>(),
            "skills": dealer.terms.skills.iter().map(|s| s.name()).collect::<Vec<_>>(),
            "rooftops": rooftops.collect::<Vec<_>>(),
            "deliveries": destinations(dealer),
        })
    });
    let messages = warnings.iter().map(|located| located.warning.message.as_str());
    json!({
        "valid": true,
        "listen": config.server.listen.to_string(),
        "tls": config.server.tls.is_some(),
        "dealers": dealers.collect::<Vec<_>>(),
        "warnings": messages.collect::<Vec<_>>(),
        "warning_details": warnings.iter().map(LocatedWarning::document).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(bytes: &[u8]) -> Result<Config, CommandFailure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tradepost.toml");
        std::fs::write(&path, bytes).unwrap();
        let mut outcome = load(&path, &[]);
        if let Err(failure) = &mut outcome {
            let folder = format!("{}/", folder.path().display());
            failure.message = failure.message.replace(&folder, "");
            for line in &mut failure.lines {
                *line = line.replace(&folder, "");
            }
        }
        outcome
    }

    #[test]
    fn every_mistake_has_its_file_and_line() {
        let failure = load_text(b"[server]\nlisten = 1\nlog_json = 2\n").unwrap_err();
        assert_eq!((failure.exit, failure.message.as_str()), (2, "tradepost.toml has 3 mistakes"));
        assert_eq!(
            failure.lines,
            [
                "tradepost.toml:2: server.listen: must be a text in \"quotes\"",
                "tradepost.toml:3: server.log_json: must be true or false",
                "tradepost.toml: dealers: is missing; there has to be a dealer or a publisher",
            ]
        );
        let mistakes = failure.data.unwrap();
        assert_eq!(mistakes.pointer("/mistakes/1/line"), Some(&json!(3)));
        assert_eq!(mistakes.pointer("/mistakes/1/key"), Some(&json!("server.log_json")));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_usage_mistake() {
        assert_eq!(load_text(b"name = \"\xff\"").unwrap_err().exit, 2);
        let failure = load(Path::new("no/such/file.toml"), &[]).unwrap_err();
        assert_eq!(failure.exit, 2);
        assert!(failure.hint.unwrap().contains("tradepost init"));
    }

    #[test]
    fn the_summary_names_dealers_and_rooftops() {
        let summary = summary(&read::demo(), &[]);
        let rooftop = summary.pointer("/dealers/0/rooftops/1");
        assert_eq!(rooftop, Some(&json!("Larkspur Motors Ridgemont")));
        assert_eq!(summary.pointer("/valid"), Some(&json!(true)));
        assert_eq!(summary.pointer("/warnings"), Some(&json!([])));
    }
}
