//! `tradepost discover`: reads a seller's agent card.

use std::path::PathBuf;

use tokio::runtime::Builder;
use tradepost_aap::Skill;
use tradepost_client::Origin;
use tradepost_client::card::{AapChoice, CardTransport, ListedSkill, NotAap, SellerInterface};
use tradepost_client::directory::{self, AgentDirectory, DirectoryEntry};
use tradepost_client::discover::{Discovered, discover, endpoint};
use tradepost_client::failure::CallFailure as Failed;
use tradepost_client::grpc;
use tradepost_client::refusal::RefusalForm;
use tradepost_client::text::{SENTENCE, plain};
use tradepost_client::trust::judge;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json};
use tradepost_server::clock::Clock;

use super::card::trust::{self, TrustReport};
use super::context::runtime;
use super::network::NetworkArguments;
use super::output::CommandFailure;
use super::output::table::TableColumn::{self, Text};
use super::output::table::{self, Cells, TableWidth};
use super::{Context, Outcome};

/// Arguments of `tradepost discover`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// URL of the seller: its base URL or its agent card.
    url: String,
    /// Timeout of the answer in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Trusted public keys, a JWK set or one JWK. One of them must have signed the card.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// List all sellers in the host's directory (/.well-known/api-catalog).
    #[arg(long, conflicts_with = "keys")]
    all: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    let keys = arguments.keys.as_deref().map(trust::keys).transpose()?;
    let transport = arguments.network.transport(context, arguments.timeout)?;
    let found = block_on::<_, CommandFailure>(async {
        if arguments.all || directory::is_directory(&arguments.url) {
            return Ok(Err(directory::fetch(&transport, &arguments.url).await?));
        }
        let found = discover(&transport, &arguments.url, None).await;
        let Err(missing) = found else { return found.map(Ok).map_err(Into::into) };
        if keys.is_some() || !is_missing(&missing) {
            return Err(missing.into());
        }
        // A host may have a directory but no agent of its own. If both are missing, the missing
        // card is reported, because it was asked for.
        directory::fetch(&transport, &arguments.url).await.map(Err).map_err(|_| missing.into())
    })?;
    let mut found = match found {
        Ok(found) => found,
        Err(listed) => {
            list(&listed, context);
            return Ok(());
        }
    };
    let signed = trust::signed(found.card.raw.get());
    let report = match keys {
        // Without keys, a card with unreadable signatures is accepted like an unsigned one.
        None => signed.ok().map(|signed| TrustReport::from_unchecked(&signed)),
        Some(keys) => {
            let judged = judge(&signed?, &keys, Clock::system().now());
            let report = TrustReport::from_judged(&judged);
            report.judge()?;
            found = found.with_verdicts(&judged);
            Some(report)
        }
    };
    let summary = summary(&found, report.as_ref(), TableWidth::Terminal);
    context.output.answer(&document(&found, report.as_ref()), summary);
    Ok(())
}

/// Returns true when there is no agent card (HTTP 404).
fn is_missing(failure: &Failed) -> bool {
    matches!(failure, Failed::Refused(refused) if matches!(refused.by, RefusalForm::Http(404)))
}

/// Lists the sellers of a directory.
fn list(listed: &AgentDirectory, context: &Context) {
    if context.output.is_json() {
        let entry =
            |entry: &DirectoryEntry| json!({"url": entry.url.as_str(), "title": entry.title});
        context.output.document(&json!({
            "url": listed.url.as_str(),
            "sellers": listed.entries.iter().map(entry).collect::<Vec<_>>(),
            "left_out": listed.left_out,
        }));
        return;
    }
    let columns: [Cells<'_, DirectoryEntry>; 2] = [
        (Text("name"), &|entry| plain(entry.title.as_deref().unwrap_or_default(), SENTENCE)),
        (Text("card"), &|entry| entry.url.to_string()),
    ];
    if listed.entries.is_empty() {
        context.output.talk("the directory lists no sellers");
    } else {
        context.output.line(table::items(TableWidth::Terminal, &listed.entries, &columns));
    }
    if listed.left_out > 0 {
        let count = listed.left_out;
        context
            .output
            .talk(format!("{count} links were left out: their URLs are invalid or not permitted"));
    }
}

/// Runs a conversation with a seller to its end.
///
/// # Errors
/// Returns the failure of the seller or of this machine.
pub fn block_on<T, E: Into<CommandFailure>>(
    conversation: impl Future<Output = Result<T, E>>,
) -> Result<T, CommandFailure> {
    runtime(Builder::new_current_thread())?.block_on(conversation).map_err(Into::into)
}

/// Chooses the AAP version and binding, if the address is permitted.
fn choose(found: &Discovered) -> Result<AapChoice, String> {
    let choice = found.card.choose(None).map_err(|not_aap: NotAap| not_aap.to_string())?;
    endpoint(&found.url, &choice.interface).map_err(|failure| failure.to_string())?;
    Ok(choice)
}

fn document<'a>(
    found: &'a Discovered,
    report: Option<&TrustReport>,
) -> impl serde::Serialize + use<'a> {
    #[derive(serde::Serialize)]
    struct DiscoverDocument<'a> {
        url: &'a str,
        etag: Option<&'a str>,
        choice: Value,
        why_not: Option<String>,
        missing: &'a [String],
        /// Origins that get a token only when the user permits it.
        other_origins: Vec<String>,
        signatures: Option<Value>,
        card: &'a tradepost_document::json::RawValue,
    }
    let (choice, why_not) = match choose(found) {
        Ok(choice) => {
            let skills: Vec<_> = choice.skills.iter().map(|skill| skill.name()).collect();
            let choice = json!({
                "aap_version": choice.version.name(), "extension": choice.version.uri(),
                "url": choice.interface.url, "tenant": choice.interface.tenant, "skills": skills,
            });
            (choice, None)
        }
        Err(why_not) => (Value::Null, Some(why_not)),
    };
    DiscoverDocument {
        url: found.url.as_str(),
        etag: found.etag.as_deref(),
        choice,
        why_not,
        missing: found.card.missing(),
        other_origins: other_origins(found),
        signatures: report.map(TrustReport::document),
        card: &found.card.raw,
    }
}

/// Returns the other origins to which a card leads, each once.
fn other_origins(found: &Discovered) -> Vec<String> {
    let mut origins = Vec::new();
    for interface in &found.card.interfaces {
        if let Some(origin) = elsewhere(found, interface).map(|origin| origin.to_string())
            && !origins.contains(&origin)
        {
            origins.push(origin);
        }
    }
    origins
}

/// Returns the origin of an interface, if it differs from that of the card.
fn elsewhere(found: &Discovered, interface: &SellerInterface) -> Option<Origin> {
    let address = match interface.is_by(CardTransport::Grpc) {
        true => grpc::address(&found.url, interface),
        false => endpoint(&found.url, interface),
    };
    let origin = Origin::from_url(&address.ok()?);
    (origin != Origin::from_url(&found.url)).then_some(origin)
}

fn summary(found: &Discovered, report: Option<&TrustReport>, fit: TableWidth) -> String {
    let card = &found.card;
    let mut facts = Vec::new();
    let mut add = |name, value: String| facts.push((name, value));
    add("name", card.name.clone());
    add("description", card.description.clone());
    if let Some((organization, url)) = &card.provider {
        add("provider", format!("{organization} {url}"));
    }
    add("card", found.url.to_string());
    for interface in &card.interfaces {
        let tenant = interface.tenant.as_deref().map(|t| format!(", tenant {t}"));
        let binding = &interface.binding;
        let version = &interface.protocol_version;
        let tenant = tenant.unwrap_or_default();
        let mut value = format!("{binding} (A2A {version}{tenant}) {}", interface.url);
        if let Some(origin) = elsewhere(found, interface) {
            value.push_str(&match found.is_signed {
                true => " (another origin than the card's)".to_owned(),
                false => format!(
                    " (another origin than the card's; a token goes there only with --token-for {origin})"
                ),
            });
        }
        add("interface", value);
    }
    let versions: Vec<_> = card.versions().iter().map(|version| version.name()).collect();
    let versions = if versions.is_empty() { "none".to_owned() } else { versions.join(", ") };
    add("AAP versions", versions);
    let choice = match choose(found) {
        Ok(choice) => format!("AAP {} at {}", choice.version, choice.interface.url),
        Err(why_not) => format!("no: {why_not}"),
    };
    add("can be called", choice);
    signatures(report).into_iter().for_each(|text| add("signed", text));
    facts.retain(|(_, value)| !value.trim().is_empty());
    let mut out = table::pairs(fit, &facts);
    if !card.skills.is_empty() {
        let row = |skill: &ListedSkill| {
            let aap = if Skill::from_name(&skill.id).is_some() { "yes" } else { "no" };
            vec![skill.id.clone(), aap.to_owned(), skill.description.clone()]
        };
        let skills: Vec<_> = card.skills.iter().map(row).collect();
        let columns = ["skill", "AAP", "description"].map(TableColumn::Text);
        out.push_str("\n\n");
        out.push_str(&table::rows(fit, &columns, &skills));
    }
    if !card.missing().is_empty() {
        out.push_str("\n\nmissing for AAP:");
        for sentence in card.missing() {
            out.push_str(&format!("\n- {}", plain(sentence, SENTENCE)));
        }
    }
    out
}

/// Describes the signatures of a card.
fn signatures(report: Option<&TrustReport>) -> Vec<String> {
    let Some(report) = report else {
        return vec!["in a way that cannot be verified".to_owned()];
    };
    let said = report.lines();
    if said.is_empty() { vec!["no".to_owned()] } else { said }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tradepost_client::SellerCard;
    use tradepost_client::discover::card_url;

    use super::*;

    fn found(card: &str) -> Discovered {
        Discovered {
            url: card_url("https://dealer.example").unwrap(),
            etag: Some("\"1\"".to_owned()),
            card: SellerCard::read(card).unwrap(),
            is_signed: false,
        }
    }

    fn report(card: &str) -> Option<TrustReport> {
        trust::signed(card).ok().map(|signed| TrustReport::from_unchecked(&signed))
    }

    const CARD: &str = r#"{"name": "Demo \u001b[31mMotors", "description": "Sells cars.", "version": "1.0",
        "provider": {"organization": "Demo Inc", "url": "https://demo.example"},
        "supportedInterfaces": [
            {"url": "dealer.example:8443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
            {"url": "https://dealer.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
             "tenant": "t1"}],
        "capabilities": {"extensions": [
            {"uri": "https://autoagentprotocol.org/extensions/aap/v1.1"},
            {"uri": "https://autoagentprotocol.org/extensions/a2a-automotive-retail/v1.0"}]},
        "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
        "skills": [
            {"id": "inventory.search", "name": "Search", "description": "Finds cars.", "tags": ["x"]},
            {"id": "horoscope", "name": "H", "description": "Tells\nthe future.", "tags": []}]}"#;

    #[test]
    fn a_card_is_summed_up_for_people() {
        expect![[r#"
            name           Demo [31mMotors
            description    Sells cars.
            provider       Demo Inc https://demo.example
            card           https://dealer.example/.well-known/agent-card.json
            interface      GRPC (A2A 1.0) dealer.example:8443 (another origin than the card's; a token goes there only with --token-for https://dealer.example:8443)
            interface      JSONRPC (A2A 1.0, tenant t1) https://dealer.example/a2a
            AAP versions   1.1, 1.0
            can be called  AAP 1.1 at https://dealer.example/a2a
            signed         no

            SKILL             AAP  DESCRIPTION
            inventory.search  yes  Finds cars.
            horoscope         no   Tells the future.

            missing for AAP:
            - skills[1] has no tags"#]]
        .assert_eq(&summary(&found(CARD), report(CARD).as_ref(), TableWidth::Unbounded));
        let generic = r#"{"name": "G", "skills": []}"#;
        expect![[r#"
            name           G
            card           https://dealer.example/.well-known/agent-card.json
            AAP versions   none
            can be called  no: the card lists no AAP extension: a generic A2A agent
            signed         no

            missing for AAP:
            - description is missing or empty
            - version is missing or empty
            - defaultInputModes is missing or empty
            - defaultOutputModes is missing or empty
            - capabilities.extensions has no AAP entry such as https://autoagentprotocol.org/extensions/aap/v1.1
            - supportedInterfaces has no entry with an absolute http or https url, protocolBinding JSONRPC and protocolVersion 1.0
            - skills has no AAP skill such as inventory.search"#]].assert_eq(&summary(&found(generic), report(generic).as_ref(), TableWidth::Unbounded));
    }

    #[test]
    fn programs_get_the_card_as_received_and_the_choice() {
        let card = r#"{"name":"A",  "skills":[], "n":1.0}"#;
        let text =
            tradepost_document::json::to_string(&document(&found(card), report(card).as_ref()))
                .unwrap();
        assert!(text.ends_with(&format!("\"card\":{card}}}")), "{text}");
        let json: Value = tradepost_document::json::from_str(&text).unwrap();
        assert_eq!(json["choice"], Value::Null);
        assert!(json["why_not"].as_str().unwrap().contains("no AAP extension"));
        let json = tradepost_document::json::to_value(document(&found(CARD), None)).unwrap();
        assert_eq!(json["choice"]["aap_version"], "1.1");
        assert_eq!(json["choice"]["tenant"], "t1");
        assert_eq!(json["other_origins"], json!(["https://dealer.example:8443"]));
    }

    #[test]
    fn signatures_are_shown_and_not_taken_for_true() {
        // {"alg":"ES256","kid":"k"}
        let entry = r#"{"protected":"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ","signature":"AAAA"}"#;
        let card = CARD.replacen('{', &format!("{{\"signatures\":[{entry},5],"), 1);
        let text = summary(&found(&card), report(&card).as_ref(), TableWidth::Unbounded);
        assert!(text.contains("signed         by k with ES256: not checked; give keys"), "{text}");
        let json =
            tradepost_document::json::to_value(document(&found(&card), report(&card).as_ref()))
                .unwrap();
        assert_eq!(json["signatures"][0]["verdict"], "not_checked");
        assert_eq!(json["signatures"].as_array().unwrap().len(), 2);
        let twice = CARD.replacen('{', r#"{"name":"Other","#, 1);
        let text = summary(&found(&twice), report(&twice).as_ref(), TableWidth::Unbounded);
        assert!(text.contains("signed         in a way that cannot be verified"), "{text}");
    }

    #[test]
    fn a_card_leading_into_a_private_network_cannot_be_called() {
        let card = CARD.replace("https://dealer.example/a2a", "https://10.0.0.1/a2a");
        let why_not = choose(&found(&card)).unwrap_err();
        assert!(why_not.contains("private network"), "{why_not}");
    }
}
