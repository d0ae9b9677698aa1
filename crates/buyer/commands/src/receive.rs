//! `tradepost receive`: accepts the push deliveries of sellers, stores each once, and passes them
//! on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::get;
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tradepost_adcp::signing::SignedKind;
use tradepost_client::Url;
use tradepost_client::discover::is_this_machine;
use tradepost_client::receiver::authentic::{
    Authenticity, Signatures, TrustedWebhooks, WebhookKeys,
};
use tradepost_client::receiver::metrics::ReceiverMetrics;
use tradepost_client::receiver::webhooks::PER_KEY;
use tradepost_client::receiver::{self, MAX_BODY, Receiver};
use tradepost_client::signed::signers::{self, KeyLocation, Signers, SigningAgent};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_keys::http_signature::TargetUri;
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::http::{self, HttpSettings, Peer};

use super::context::runtime;
use super::listening::{bind, stop_signal};
use super::output::table::TableColumn::{Number, Text};
use super::output::table::{self, Cells, TableWidth};
use super::output::{CommandFailure, read_text};
use super::published::GuardedWeb;
use super::{Context, Outcome, data_folder};

mod handle;
pub mod inbox;
mod watch;

use inbox::{DurableInbox, Fate, StoredDelivery};

/// Maximum time for a request to arrive, for its head and its body each.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Arguments of `tradepost receive`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Address to listen on; port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8091")]
    listen: SocketAddr,
    /// Path of the webhook.
    #[arg(long, value_name = "PATH", default_value = "/webhook", value_parser = path)]
    path: String,
    /// File of tokens, one on each line. A sender must have one of them. If only one seller has a
    /// token, or a key of --hmac-key-file, the seller's URL may precede it on the line.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File of keys, one on each line. Deliveries must have an HMAC with one of them.
    #[arg(long, value_name = "FILE")]
    hmac_key_file: Option<PathBuf>,
    /// URL of an AdCP seller whose signed webhooks are accepted. Repeatable. The seller's keys are
    /// found through its brand.json.
    #[arg(long, value_name = "URL", help_heading = "AdCP")]
    seller: Vec<String>,
    /// URL of the sellers' brand.json, if it is not on each seller's own host.
    #[arg(long, value_name = "URL", requires = "seller", help_heading = "AdCP")]
    brand_json: Option<String>,
    /// Id of a seller's key that must not be used any more. Repeatable.
    #[arg(long, value_name = "KEY", requires = "seller", help_heading = "AdCP")]
    revoked: Vec<String>,
    /// File of public keys (a JWK set). Deliveries must be signed by one of them (RFC 9421).
    #[arg(long, value_name = "FILE", conflicts_with = "seller")]
    jwks: Option<PathBuf>,
    /// URL of the webhook as senders know it. The URL that they sign is compared with it.
    #[arg(long, value_name = "URL")]
    url: Option<Uri>,
    /// Tag that signatures must have, such as adcp/webhook-signing/v1.
    #[arg(long, value_name = "TAG", requires = "jwks")]
    tag: Option<String>,
    /// Program that handles each delivery. It reads the delivery from standard input and must exit
    /// with 0.
    #[arg(long, value_name = "PROGRAM")]
    handler: Option<PathBuf>,
    #[command(flatten)]
    watch: watch::Missed,
    /// Folder for all state.
    #[arg(long, value_name = "DIR", default_value = data_folder::DATA)]
    data: PathBuf,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the latest deliveries.
    List(ReceiveListing),
    /// List the deliveries that could not be handled.
    Dead(ReceiveListing),
    /// Handle dead deliveries again, by the running receiver or the next one.
    Replay(ReplayOptions),
}

#[derive(Debug, clap::Args)]
struct ReceiveListing {
    /// Maximum number of deliveries.
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Folder for all state.
    #[arg(long, value_name = "DIR", default_value = data_folder::DATA)]
    data: PathBuf,
}

#[derive(Debug, clap::Args)]
struct ReplayOptions {
    /// Numbers of the deliveries, as `dead` lists them; the default is all dead deliveries.
    numbers: Vec<i64>,
    /// Folder for all state.
    #[arg(long, value_name = "DIR", default_value = data_folder::DATA)]
    data: PathBuf,
}

fn path(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-_.~".contains(&b);
    if text.starts_with('/') && text.bytes().all(plain) && text != METRICS_PATH {
        return Ok(text.to_owned());
    }
    Err("must begin with a slash and have letters, digits and -_.~ only".to_owned())
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    match &arguments.command {
        None => listen(&arguments, context),
        Some(Command::List(listing)) => list(listing, None, context),
        Some(Command::Dead(listing)) => list(listing, Some(Fate::Dead), context),
        Some(Command::Replay(replay)) => {
            let inbox = open(&replay.data, &Clock::system())?;
            let count = inbox.replay(&replay.numbers)?;
            let line = format!("{count} deliveries will be handled again");
            context.output.answer(&json!({"replayed": count}), line);
            Ok(())
        }
    }
}

fn open(data: &Path, clock: &Clock) -> Result<DurableInbox, CommandFailure> {
    let unusable = |fault| data_folder::unusable(data, &fault);
    DurableInbox::open(data, clock.now()).map_err(unusable)
}

fn list(listing: &ReceiveListing, fate: Option<Fate>, context: &Context) -> Outcome {
    let inbox = open(&listing.data, &Clock::system())?;
    let deliveries = inbox.list(fate, listing.limit)?;
    let columns: [Cells<'_, StoredDelivery>; 10] = [
        (Number("no"), &|delivery| delivery.seq.to_string()),
        (Text("received"), &|delivery| format!("{:.0}", delivery.received_at)),
        (Text("came by"), &|delivery| delivery.source.clone()),
        (Text("sender"), &|delivery| delivery.sender.clone()),
        (Text("what"), &|delivery| delivery.kind.clone()),
        (Text("task"), &|delivery| delivery.task_id.clone().unwrap_or_default()),
        (Text("state"), &|delivery| delivery.state.clone().unwrap_or_default()),
        (Text("fate"), &|delivery| delivery.fate.name().to_owned()),
        (Number("attempts"), &|delivery| delivery.attempts.to_string()),
        (Text("problem"), &|delivery| delivery.problem.clone().unwrap_or_default()),
    ];
    let documents: Vec<_> = deliveries.iter().map(handle::document).collect();
    let table = table::items(TableWidth::Terminal, &deliveries, &columns);
    context.output.answer(&json!({"deliveries": documents}), table);
    Ok(())
}

/// Returns the lines of a file of secrets, which are never shown.
fn secrets(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

fn authenticity(arguments: &Arguments, clock: &Clock) -> Result<Authenticity, CommandFailure> {
    let wrong =
        |path: &Path, why: &str| CommandFailure::usage(format!("{}: {why}", path.display()));
    let mut required = Authenticity::default();
    if let Some(path) = &arguments.token_file {
        let text = read_text(path)?;
        required = required.with_tokens(&secrets(&text)).map_err(|why| wrong(path, why))?;
    }
    if let Some(path) = &arguments.hmac_key_file {
        let text = read_text(path)?;
        required = required.with_hmac(&secrets(&text)).map_err(|why| wrong(path, why))?;
    }
    let target = |url: &Uri| {
        let read = url.scheme().and_then(|_| TargetUri::read(&url.to_string()).ok());
        let wrong = "--url must be an address with scheme, host and path";
        read.ok_or_else(|| CommandFailure::usage(wrong))
    };
    let url = arguments.url.as_ref().map(target).transpose()?;
    let is_adcp = arguments.tag.as_deref() == Some(SignedKind::Webhook.tag());
    if !arguments.seller.is_empty() || is_adcp {
        required = required.with_webhooks(TrustedWebhooks::new(sellers(arguments, clock)?, url));
    } else if let Some(path) = &arguments.jwks {
        let text = secrets(&read_text(path)?).join("\n");
        let document =
            tradepost_document::json::from_str(&text).map_err(|_| wrong(path, "is not JSON"))?;
        let keys = WebhookKeys::read(&document).map_err(|why| wrong(path, why))?;
        let url = arguments.url.clone();
        let tag = arguments.tag.clone();
        required = required.with_signatures(Signatures { keys, url, tag });
    }
    if required.is_empty() {
        let hint = "give --seller, --token-file, --hmac-key-file or --jwks; deliveries must meet all \
                    that are given";
        return Err(
            CommandFailure::usage("the receiver would accept deliveries from everyone").hint(hint)
        );
    }
    Ok(required)
}

/// Returns the AdCP sellers whose webhooks are accepted.
fn sellers(arguments: &Arguments, clock: &Clock) -> Result<Signers<Arc<str>>, CommandFailure> {
    let keys =
        |source| signers::AgentKeys { source, revoked: arguments.revoked.clone(), cap: PER_KEY };
    let agents: Vec<_> = match &arguments.jwks {
        // Keys from a file belong to a single seller, which needs no name.
        Some(path) => {
            let keys = keys(KeyLocation::File(path.clone()));
            vec![SigningAgent { whose: Arc::default(), id: "jwks".to_owned(), url: None, keys }]
        }
        None => {
            let agent = |url: &String| SigningAgent {
                whose: url.as_str().into(),
                id: url.clone(),
                url: Some(url.clone()),
                keys: keys(KeyLocation::Published(arguments.brand_json.clone())),
            };
            arguments.seller.iter().map(agent).collect()
        }
    };
    // Addresses that a seller publishes must not lead into our network; only those of a seller on
    // this machine may lead to this machine.
    let local = |url: &String| {
        let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| is_this_machine(&host))
    };
    let egress = Egress::new(Resolver::system(), arguments.seller.iter().all(local));
    for url in arguments.seller.iter().chain(&arguments.brand_json) {
        egress
            .read(url)
            .map_err(|why| CommandFailure::usage(format!("the address of a seller {why}")))?;
    }
    Signers::open(Arc::new(GuardedWeb::new(egress, clock.clone())), agents, |path| {
        std::fs::read_to_string(path)
    })
    .map_err(|why| CommandFailure::usage(format!("the file with the keys: {why}")))
}

fn listen(arguments: &Arguments, context: &Context) -> Outcome {
    let clock = Clock::system();
    let authenticity = authenticity(arguments, &clock)?;
    let watched = arguments.watch.read(&arguments.seller, context)?;
    let inbox = Arc::new(open(&arguments.data, &clock)?);
    let runtime = runtime(Builder::new_multi_thread())?;
    runtime.block_on(async {
        let (listener, address) = bind(arguments.listen).await?;
        let metrics = Arc::new(ReceiverMetrics::default());
        let new_deliveries = Arc::new(Notify::new());
        let time = clock.clone();
        let notifier = Arc::clone(&new_deliveries);
        let output = context.output;
        let receiver = Receiver {
            inbox: Arc::clone(&inbox) as Arc<dyn receiver::Inbox>,
            authenticity,
            max_body: MAX_BODY,
            patience: READ_TIMEOUT,
            now: Box::new(move || time.now()),
            metrics: Arc::clone(&metrics),
            kept: Box::new(move || notifier.notify_one()),
            refused: Box::new(move |why| output.talk(format!("a delivery was refused: {why}"))),
        };
        let router = Router::new()
            .route(METRICS_PATH, get(show_metrics))
            .with_state(Arc::clone(&metrics))
            .merge(receiver::router(&arguments.path, Arc::new(receiver)));
        let stop = stop_signal()?;
        // With --json standard output is one document for each delivery.
        context.output.say(format!("listening on http://{address}{}", arguments.path));
        let handler = handle::DeliveryHandler {
            inbox: Arc::clone(&inbox),
            clock: clock.clone(),
            metrics: Arc::clone(&metrics),
            new_deliveries: Arc::clone(&new_deliveries),
            program: arguments.handler.clone(),
            output: context.output,
        };
        let inbox = Arc::clone(&inbox) as Arc<dyn receiver::Inbox>;
        let settings = settings();
        tokio::select! {
            () = http::server::serve(listener, router, &settings, stop) => Ok(()),
            // When deliveries cannot be passed on any more, no more are accepted.
            failure = handler.run() => Err(failure),
            failure = watched.run(&inbox, &metrics, &clock, &new_deliveries, context.output) => {
                Err(failure)
            }
        }
    })
}

/// Returns the settings of the HTTP server.
fn settings() -> HttpSettings {
    HttpSettings {
        max_body_bytes: MAX_BODY,
        read_timeout: READ_TIMEOUT,
        max_connections: 1_024,
        shutdown_grace: Duration::from_secs(5),
        ..HttpSettings::default()
    }
}

/// Path of the metrics.
const METRICS_PATH: &str = "/metrics";

/// Returns the metrics to this machine only; a request by a proxy does not count as local.
async fn show_metrics(State(metrics): State<Arc<ReceiverMetrics>>, request: Request) -> Response {
    let local = request.extensions().get::<Peer>().is_some_and(|peer| peer.0.ip().is_loopback());
    let forwarded = ["forwarded", "x-forwarded-for", "via"];
    let mut response = Response::default();
    if !local || forwarded.iter().any(|name| request.headers().contains_key(*name)) {
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    let text = header::HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(header::CONTENT_TYPE, text);
    *response.body_mut() = metrics.snapshot().text().into();
    response
}
