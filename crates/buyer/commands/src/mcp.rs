//! `tradepost mcp`: offers dealers and AdCP sellers as tools for a language model.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tracing_subscriber::filter::{ParseError, Targets};
use tradepost_bridge::server::{HttpAccess, PATH, router, serve_stdio};
use tradepost_bridge::{AskMode, Bridge, BridgeOptions};
use tradepost_client::directory;
use tradepost_server::clock::Clock;
use tradepost_server::http::{self, HttpSettings};

use super::context::runtime;
use super::listening::{bind_by, start_log, stop_signal};
use super::network::NetworkArguments;
use super::output::CommandFailure;
use super::token::{TOKEN_VARIABLE, TokenFor};
use super::{Context, Outcome};

/// Default seconds for a person to answer a form that has no alternative.
const PERSON_TIMEOUT: u64 = 300;

/// Default seconds when there is an alternative: clients end a call after a minute unless
/// configured otherwise, and the alternative must come before.
const PERSON_TIMEOUT_AUTO: u64 = 50;

/// Default listen address.
const ADDRESS: &str = "127.0.0.1:8090";

/// Arguments of `tradepost mcp`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// URLs of dealers: base URLs or agent cards. The URL of a directory
    /// (https://HOST/.well-known/api-catalog) stands for all dealers that it lists.
    #[arg(required_unless_present = "adcp", value_name = "DEALER_URL")]
    dealers: Vec<String>,
    /// URL of a seller of advertising that supports AdCP: its base URL, its agent card or its MCP
    /// server. Repeatable.
    #[arg(long, value_name = "SELLER_URL")]
    adcp: Vec<String>,
    /// Serve streamable HTTP at this address instead of standard input and output; port 0 selects a
    /// free port.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = ADDRESS)]
    http: Option<SocketAddr>,
    /// Host name that clients may use, in addition to those of this machine. Repeatable.
    #[arg(long, value_name = "NAME", requires = "http")]
    allow_host: Vec<String>,
    /// Origin (scheme and host) of a web page that may call. Repeatable.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// Timeout of a tool call in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Method of asking the person before anything is sent.
    #[arg(long, value_name = "HOW", value_enum, default_value_t = AskHow::Auto)]
    ask: AskHow,
    /// The same as --ask form.
    #[arg(long, hide = true, conflicts_with = "ask")]
    require_elicitation: bool,
    /// Time limit in seconds for the answer to a form. The default is 50 with --ask auto, because
    /// clients end a call after one minute, and 300 otherwise. The limit must be below the 30
    /// minutes for which an answer is valid.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=1799))]
    person_timeout: Option<u64>,
    #[command(flatten)]
    token_for: TokenFor,
    /// Name of the sender of a lead, as dealers see it.
    #[arg(long, value_name = "NAME", default_value = "tradepost-mcp",
        value_parser = clap::builder::NonEmptyStringValueParser::new())]
    agent_name: String,
    /// Filter of the log on standard error, such as info or tradepost=debug.
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    log: String,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Method of asking the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum AskHow {
    /// By a form that the client shows (elicitation); nothing is sent for clients without forms
    Form,
    /// In two calls, with a text that the model shows
    Confirm,
    /// By a form; in two calls if the client has no forms or nobody answers the form
    Auto,
}

impl Arguments {
    fn ask_mode(&self) -> AskMode {
        if self.require_elicitation {
            return AskMode::Form;
        }
        match self.ask {
            AskHow::Form => AskMode::Form,
            AskHow::Confirm => AskMode::Confirm,
            AskHow::Auto => AskMode::Auto,
        }
    }

    fn person_timeout(&self) -> Duration {
        let usual = match self.ask_mode() {
            AskMode::Auto => PERSON_TIMEOUT_AUTO,
            AskMode::Form | AskMode::Confirm => PERSON_TIMEOUT,
        };
        Duration::from_secs(self.person_timeout.unwrap_or(usual))
    }
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub fn run(arguments: Arguments, context: &Context) -> Outcome {
    // Parsed here, where a mistake can still be reported as one of the command line.
    let looked_at: Result<Targets, ParseError> = arguments.log.parse();
    looked_at.map_err(|error| CommandFailure::usage(format!("--log: {error}")))?;
    let _log = start_log(&arguments.log, false)?;
    let bridge = Arc::new(bridge(&arguments, context)?);
    let runtime = runtime(Builder::new_multi_thread())?;
    // A directory that cannot be reached is read again later, and reported with the answers of the
    // other dealers.
    for trouble in runtime.block_on(bridge.read_directories()) {
        tracing::warn!("{}", trouble.text().replace('\n', "; "));
    }
    let outcome = match arguments.http {
        Some(address) => {
            let settings = HttpSettings::default();
            let access = HttpAccess {
                hosts: arguments.allow_host,
                origins: arguments.allow_origin,
                max_body: settings.max_body_bytes,
                patience: settings.read_timeout,
            };
            runtime.block_on(serve_http(bridge, access, address, &settings, context))
        }
        None => runtime.block_on(serve_stdio(bridge)).map_err(|error| {
            CommandFailure::new(1, format!("the client could not be served: {error}"))
        }),
    };
    // A thread may still wait for standard input that never comes.
    runtime.shutdown_background();
    outcome
}

fn bridge(arguments: &Arguments, context: &Context) -> Result<Bridge, CommandFailure> {
    let token = arguments.token_for.bearer(context);
    if token.is_some() && arguments.dealers.iter().any(|one| directory::is_directory(one)) {
        let message = format!("{} is set and there is a directory", TOKEN_VARIABLE);
        return Err(CommandFailure::usage(message).hint(
            "every dealer in the directory would get the token; unset it, or name the dealer",
        ));
    }
    // Each of them would receive a token that is for one of them only.
    if token.is_some() && arguments.dealers.len() + arguments.adcp.len() > 1 {
        let message = format!("{} is set and there are several dealers or sellers", TOKEN_VARIABLE);
        return Err(CommandFailure::usage(message)
            .hint("a token is for one of them; unset it, or run one MCP server for each"));
    }
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| {
        CommandFailure::new(1, format!("reading the operating system's randomness: {error}"))
    })?;
    let clock = Clock::system();
    let options = BridgeOptions {
        agent_name: arguments.agent_name.clone(),
        patience: Duration::from_secs(arguments.timeout),
        now: Arc::new(move || clock.now()),
        secret,
        ask: arguments.ask_mode(),
        person_patience: arguments.person_timeout(),
        network: arguments.network.network(context)?,
    };
    let (directories, dealers): (Vec<_>, Vec<_>) =
        arguments.dealers.iter().cloned().partition(|address| directory::is_directory(address));
    let dealers = dealers.into_iter().map(|address| (address, token.clone()));
    let sellers = arguments.adcp.iter().map(|address| (address.clone(), token.clone()));
    Ok(Bridge::new(dealers, options)?.with_directories(directories).with_sellers(sellers)?)
}

async fn serve_http(
    bridge: Arc<Bridge>,
    access: HttpAccess,
    wanted: SocketAddr,
    settings: &HttpSettings,
    context: &Context,
) -> Outcome {
    let (listener, address) = bind_by("--http", wanted).await?;
    let stop = stop_signal()?;
    // Scripts wait for this line.
    context.output.line(format!("listening on http://{address}{PATH}"));
    http::server::serve(listener, router(bridge, access), settings, stop).await;
    Ok(())
}
