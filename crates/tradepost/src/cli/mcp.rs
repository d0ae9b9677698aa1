//! `tradepost mcp`: dealers and sellers of advertising as tools for a language model.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tracing_subscriber::filter::{ParseError, Targets};
use tradepost_bridge::server::{Door, PATH, router, serve_stdio};
use tradepost_bridge::{Bridge, Options};
use tradepost_buyer::directory;
use tradepost_server::clock::Clock;
use tradepost_server::http;

use super::context::runtime;
use super::discover::{block_on, transport};
use super::output::Failure;
use super::serve::{bind_by, start_log, stop_signal};
use super::{Context, Outcome, call};
use crate::config::Server;

/// How many dealers of a directory a model gets: it reads all their names.
const MOST: usize = 200;

/// Where it listens when nothing else is said.
const ADDRESS: &str = "127.0.0.1:8090";

/// Its arguments.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The base addresses of dealers, or the addresses of their cards; one of a directory
    /// (https://HOST/.well-known/api-catalog) stands for all dealers that it names.
    #[arg(required_unless_present = "adcp", value_name = "DEALER_URL")]
    dealers: Vec<String>,
    /// A seller of advertising that speaks AdCP: its base address, that of its card, or that of its MCP
    /// server; may be repeated.
    #[arg(long, value_name = "SELLER_URL")]
    adcp: Vec<String>,
    /// Speak streamable HTTP here instead of standard input and output; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = ADDRESS)]
    http: Option<SocketAddr>,
    /// A host name under which clients may call, besides that of this machine; may be repeated.
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// The origin of a web page that may call, scheme and host; may be repeated.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// How many seconds one tool call may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Refuse to send anything for a client that cannot ask its person by a form (elicitation): a text
    /// that the model shows is not enough.
    #[arg(long)]
    require_elicitation: bool,
    /// How many seconds a person may take to answer such a form: less than the half hour for which an
    /// answer counts.
    #[arg(long, value_name = "SECONDS", default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=1799))]
    person_timeout: u64,
    /// What dealers are told who sends a lead.
    #[arg(long, value_name = "NAME", default_value = "tradepost-mcp",
        value_parser = clap::builder::NonEmptyStringValueParser::new())]
    agent_name: String,
    /// What to log on standard error: a filter such as info or tradepost=debug.
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    log: String,
}

/// Runs it.
///
/// # Errors
/// What went wrong, with the exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    // Looked at here, where a mistake in it can still be called one of the command line.
    let looked_at: Result<Targets, ParseError> = arguments.log.parse();
    looked_at.map_err(|error| Failure::usage(format!("--log: {error}")))?;
    let log_filter = arguments.log.clone();
    let server = Server { log_filter, log_json: false, ..Server::default() };
    let _log = start_log(&server)?;
    let bridge = Arc::new(bridge(&arguments, context)?);
    let runtime = runtime(Builder::new_multi_thread())?;
    let outcome = match arguments.http {
        Some(address) => {
            let door = Door {
                hosts: arguments.allow_host,
                origins: arguments.allow_origin,
                max_body: server.max_body_bytes,
                patience: Duration::try_from(server.read_timeout).unwrap_or(Duration::MAX),
            };
            let server = Server { listen: address, ..server };
            runtime.block_on(serve_http(bridge, door, &server, context))
        }
        None => runtime
            .block_on(serve_stdio(bridge))
            .map_err(|error| Failure::new(1, format!("the client could not be served: {error}"))),
    };
    // A thread may still wait for standard input, which nobody will write to any more.
    runtime.shutdown_background();
    outcome
}

fn bridge(arguments: &Arguments, context: &Context) -> Result<Bridge, Failure> {
    let token = call::token_variable(context);
    if token.is_some() && arguments.dealers.iter().any(|one| directory::is_directory(one)) {
        let message = format!("{} is set and there is a directory", call::TOKEN_VARIABLE);
        return Err(Failure::usage(message).hint(
            "whoever the directory names would get the token; unset it, or name the dealer",
        ));
    }
    let addresses = addresses(arguments)?;
    // Each of them would be sent what only one of them should see.
    if token.is_some() && addresses.len() + arguments.adcp.len() > 1 {
        let message =
            format!("{} is set and there are several dealers or sellers", call::TOKEN_VARIABLE);
        return Err(Failure::usage(message)
            .hint("a token is for one of them; unset it, or run a bridge for each"));
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| {
        Failure::new(1, format!("reading the operating system's randomness: {error}"))
    })?;
    let clock = Clock::system();
    let options = Options {
        agent_name: arguments.agent_name.clone(),
        patience: Duration::from_secs(arguments.timeout),
        now: Arc::new(move || clock.now()),
        secret,
        requires_elicitation: arguments.require_elicitation,
        person_patience: Duration::from_secs(arguments.person_timeout),
    };
    let dealers = addresses.into_iter().map(|address| (address, token.clone()));
    let sellers = arguments.adcp.iter().map(|address| (address.clone(), token.clone()));
    Ok(Bridge::new(dealers, options)?.with_sellers(sellers)?)
}

/// The addresses of dealers, with those of directories.
fn addresses(arguments: &Arguments) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for address in &arguments.dealers {
        if !directory::is_directory(address) {
            all.push(address.clone());
            continue;
        }
        let listed = block_on(directory::fetch(&transport(arguments.timeout), address))?;
        let count = listed.entries.len();
        if count == 0 || count > MOST {
            let message = format!("the directory names {count} sellers");
            return Err(Failure::usage(message).hint(format!(
                "a model can choose among 1 to {MOST}; name the dealers themselves"
            )));
        }
        all.extend(listed.entries.iter().map(|entry| entry.url.to_string()));
    }
    Ok(all)
}

async fn serve_http(
    bridge: Arc<Bridge>,
    door: Door,
    server: &Server,
    context: &Context,
) -> Outcome {
    let (listener, address) = bind_by("--http", server.listen).await?;
    let stop = stop_signal()?;
    // Scripts wait for this line.
    context.output.line(format!("listening on http://{address}{PATH}"));
    http::server::serve(listener, router(bridge, door), &server.http(), stop).await;
    Ok(())
}
