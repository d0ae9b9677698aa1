//! `tradepost adcp`: lists and calls the tasks of an AdCP seller, over A2A 1.0 or 0.3 or over MCP.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use clap::Subcommand;
use tradepost_adcp::task::{AdcpTask, TaskEffect};
use tradepost_client::HttpTransport;
use tradepost_client::adcp::{AdcpClient, OfferedTask, RequestSigner};
use tradepost_client::client::random_ids;
use tradepost_client::text::{WORD, plain};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_keys::SigningKey;
use tradepost_server::clock::Clock;

use super::attempts::{Log, gave_up, recoverer};
use super::card::trust;
use super::discover::block_on;
use super::nearest;
use super::network::NetworkArguments;
use super::output::CommandFailure;
use super::output::table::TableColumn::Text;
use super::output::table::{self, Cells, TableWidth};
use super::token::TokenArguments;
use super::{Context, Outcome};

mod show;

/// Subcommands of `tradepost adcp`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the tasks that a seller offers.
    Tools(SellerOptions),
    /// Call a task of a seller.
    Call(Box<AdcpCallOptions>),
}

/// Seller and how to connect to it.
#[derive(Debug, clap::Args)]
pub struct SellerOptions {
    /// URL of the seller: its base URL, its agent card or its MCP server.
    url: String,
    /// Use the URL as that of an MCP server. By default this applies to a URL that ends in /mcp and
    /// to one that has no agent card.
    #[arg(long)]
    mcp: bool,
    #[command(flatten)]
    token: TokenArguments,
    /// Private key that signs the requests (RFC 9421): PKCS#8 in PEM, or a JWK.
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,
    /// Key id that the seller uses for the key, if the file does not contain it.
    #[arg(long, value_name = "NAME", requires = "sign_key")]
    sign_key_id: Option<String>,
    /// Exclude the body from the signature, for sellers that forbid it (covers_content_digest).
    #[arg(long, requires = "sign_key")]
    sign_without_digest: bool,
    /// Trusted public keys, a JWK set or one JWK. One of them must have signed the card.
    #[arg(long, value_name = "FILE", conflicts_with = "mcp")]
    keys: Option<PathBuf>,
    /// Timeout of an answer in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Arguments of `tradepost adcp call`.
#[derive(Debug, clap::Args)]
pub struct AdcpCallOptions {
    #[command(flatten)]
    seller: SellerOptions,
    /// Task name, such as get_products.
    tool: String,
    /// Task arguments: JSON, @FILE, or - for standard input. If the task requires an
    /// idempotency_key and the arguments have none, the command generates one.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true, default_value = "{}")]
    args: String,
    /// Send the arguments even if they do not match the published schema.
    #[arg(long)]
    no_check: bool,
    /// Retry the same request after a temporary failure: at most four requests within the time of
    /// --overall, none earlier than the seller permits. Failed rows that may succeed are sent again
    /// without the other rows.
    #[arg(long)]
    retry: bool,
    /// With --retry: time limit in seconds for all requests and the pauses between them.
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "retry",
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    overall: u64,
    /// Append one line of JSON to this file for each failed request and each failed row.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Tools(seller) => tools(&seller, context),
        Command::Call(arguments) => call(*arguments, context),
    }
}

fn tools(seller: &SellerOptions, context: &Context) -> Outcome {
    let (offered, via) = block_on(async {
        let client = seller.client(context).await?;
        // A list request has no effect, so it is never in doubt.
        let offered = client.offered().await;
        let offered = offered.map_err(|failure| CommandFailure::from(failure).without_effect())?;
        Ok::<_, CommandFailure>((offered, client.via()))
    })?;
    let tools: Vec<_> = offered.iter().map(document).collect();
    let document = json!({"via": via, "tools": tools});
    context.output.answer(&document, shown(&offered, TableWidth::Terminal));
    Ok(())
}

/// Returns the effect of sending a task twice, by the table of tasks.
fn effect(name: &str) -> Option<&'static str> {
    Some(match AdcpTask::from_name(name)?.effect() {
        TaskEffect::Read => "reads",
        TaskEffect::Keyed => "changes",
        TaskEffect::Once => "changes, without a key",
    })
}

fn document(offered: &OfferedTask) -> Value {
    json!({"name": offered.name, "effect": effect(&offered.name),
        "description": offered.description})
}

fn shown(offered: &[OfferedTask], fit: TableWidth) -> String {
    if offered.is_empty() {
        return "the seller lists no tasks".to_owned();
    }
    let columns: [Cells<'_, OfferedTask>; 3] = [
        (Text("task"), &|task| task.name.clone()),
        (Text("effect"), &|task| effect(&task.name).unwrap_or("not in AdCP 3.1").to_owned()),
        (Text("description"), &|task| task.description.clone()),
    ];
    table::items(fit, offered, &columns)
}

fn call(arguments: AdcpCallOptions, context: &Context) -> Outcome {
    let args = read(&arguments.args)?;
    let overall = arguments.retry.then(|| Duration::from_secs(arguments.overall));
    let log = arguments.log.as_deref().map(open_log).transpose()?;
    let recovered = block_on(async {
        let mut client = arguments.seller.client(context).await?;
        if arguments.no_check {
            client = client.unchecked();
        }
        let recoverer = recoverer(overall, context.output, log)?;
        let called = client.call_with_recovery(&arguments.tool, args, &recoverer, |_, _, _| false);
        called.await.map_err(|failed| {
            let failure = gave_up(overall.is_some(), *failed);
            with_meant(failure, &arguments.tool, &client)
        })
    })?;
    show::answered(recovered, overall.is_some(), context.output)
}

/// Adds the nearest name to the failure of an unknown task: one of AdCP's, or one that the seller's
/// card lists.
fn with_meant(failure: CommandFailure, task: &str, client: &AdcpClient) -> CommandFailure {
    let listed = client.listed().iter().map(|offered| offered.name.as_str());
    let names: Vec<&str> = AdcpTask::NAMES.iter().copied().chain(listed).collect();
    if names.contains(&task) {
        return failure;
    }
    match nearest::nearest(task, names) {
        Some(name) => {
            let hint = failure.hint.clone().unwrap_or_default();
            failure.hint(format!("did you mean {}? {hint}", plain(name, WORD)).trim_end())
        }
        None => failure,
    }
}

/// Opens a file to which each failure is appended as a line.
fn open_log(path: &Path) -> Result<Log, CommandFailure> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|error| {
        CommandFailure::usage(format!("cannot write the log {}: {error}", path.display()))
    })?;
    let file = Mutex::new(file);
    let clock = Clock::system();
    Ok(Box::new(move |record| {
        let line = record.line(clock.now()) + "\n";
        // The call continues without its log: a request that was sent cannot be undone.
        if let Ok(mut file) = file.lock() {
            let _ = file.write_all(line.as_bytes());
        }
    }))
}

/// Reads `--args`. A mistake is described without any part of the input.
fn read(args: &str) -> Result<Map, CommandFailure> {
    let text = if args == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map_err(|error| {
            CommandFailure::usage(format!("--args: cannot read standard input: {error}"))
        })?;
        text
    } else if let Some(path) = args.strip_prefix('@') {
        std::fs::read_to_string(path).map_err(|error| {
            CommandFailure::usage(format!("--args: cannot read {path}: {error}"))
        })?
    } else {
        args.to_owned()
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match tradepost_document::json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(CommandFailure::usage("--args must be a JSON object")),
        Err(error) => Err(CommandFailure::usage(format!("--args is not valid JSON: {error}"))),
    }
}

impl SellerOptions {
    async fn client(&self, context: &Context) -> Result<AdcpClient, CommandFailure> {
        let mut client = self.reached(self.network.transport(context, self.timeout)?).await?;
        if let Some(token) = self.token.bearer(context) {
            client = client.with_token(token)?;
        }
        if let Some(path) = &self.sign_key {
            let key = SigningKey::load(path, self.sign_key_id.as_deref())
                .map_err(|why| CommandFailure::usage(why.to_string()))?;
            let clock = Clock::system();
            let signer = RequestSigner::new(key, move || clock.now());
            client = client.signing(match self.sign_without_digest {
                true => signer.without_digest(),
                false => signer,
            });
        }
        Ok(client)
    }

    /// Connects by the agent card, or to an MCP server.
    async fn reached(&self, transport: HttpTransport) -> Result<AdcpClient, CommandFailure> {
        if self.mcp {
            return Ok(AdcpClient::mcp(transport, &self.url, random_ids())?);
        }
        // With keys a card is needed, because only a card is signed; an MCP server has none.
        let Some(keys) = &self.keys else {
            let found = AdcpClient::connect(transport, &self.url, random_ids()).await;
            // Only the card was requested.
            return found.map_err(|failure| CommandFailure::from(failure).without_effect());
        };
        let keys = trust::keys(keys)?;
        let found = trust::discover(&transport, &self.url, Some(&keys)).await?;
        let card = trust::reader(&transport, &found.url, Some(&keys));
        Ok(AdcpClient::a2a(transport, &found, random_ids())?.rereading(card))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct CommandLine {
        #[command(subcommand)]
        command: Command,
    }

    #[test]
    fn the_arguments_are_well_formed() {
        use clap::{CommandFactory as _, Parser as _};
        CommandLine::command().debug_assert();
        for wrong in [&["--overall", "60"][..], &["--sign-key-id", "k"], &["--timeout", "0"]] {
            let line = ["adcp", "call", "localhost:1", "get_products"];
            assert!(CommandLine::try_parse_from(line.iter().chain(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn arguments_are_an_object() {
        assert_eq!(read("{\"a\":1.0}").unwrap()["a"].to_string(), "1.0");
        for wrong in ["[]", "s3cret", "@/nowhere/at/all"] {
            let failure = read(wrong).unwrap_err();
            assert_eq!(failure.exit, 2);
            assert!(!failure.message.contains("s3cret"), "{}", failure.message);
        }
    }

    #[test]
    fn what_is_offered_is_listed_with_what_it_changes() {
        let offered =
            |name: &str| OfferedTask { name: name.into(), description: "Does\nit.".into() };
        let offered = ["get_products", "create_media_buy", "horo\u{1b}scope"].map(offered);
        expect![[r#"
            TASK              EFFECT           DESCRIPTION
            get_products      reads            Does it.
            create_media_buy  changes          Does it.
            horoscope         not in AdCP 3.1  Does it."#]]
        .assert_eq(&shown(&offered, TableWidth::Unbounded));
    }
}
