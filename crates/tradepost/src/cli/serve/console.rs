//! Console beside the server, on a listener of its own; for the demo with a demo user.

use std::net::SocketAddr;
use std::sync::Arc;

use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tradepost_admin::people::{
    AddMember, SetPassword, StaffEmployer, StaffRefusal, add_member, set_password,
};
use tradepost_admin::{Actor, AdminContext, AdminError};
use tradepost_console::{Console, PATH, name_bucket, password};
use tradepost_dealer::staff::StaffRole;
use tradepost_demo::dealer::DEALER_ID;
use tradepost_runtime::config::{ConsoleConfig as Settings, SecondFactorPolicy};
use tradepost_runtime::random;
use tradepost_server::http::server::{Listener, serve};
use tradepost_server::tls::ServerIdentity;

use super::{CommandFailure, Context, ServerConfig, Wiring, bind, for_operators};
use crate::cli::console::refused;
use crate::cli::operator::failure;

/// Name of the demo user.
const DEMO_USER: &str = "demo";

/// Console that is about to be served.
pub(super) struct ServedConsole {
    listener: TcpListener,
    address: SocketAddr,
    console: Console,
    /// Password of the demo user.
    password: Option<String>,
}

/// Creates the console if the configuration has one, or for a demo on a loopback address.
///
/// # Errors
/// Fails when its address cannot be bound, or the store fails.
pub(super) async fn open(
    wiring: &Wiring,
    server: &ServerConfig,
    is_demo: bool,
    address: SocketAddr,
) -> Result<Option<ServedConsole>, CommandFailure> {
    let (settings, listener, password) = match &server.console {
        Some(settings) => (settings.clone(), bind(settings.listen).await?, None),
        // Other machines could reach it and guess passwords.
        None if is_demo && address.ip().is_loopback() => {
            // Port 0 is any free one: the demo needs no second address.
            let listener = bind(SocketAddr::new(address.ip(), 0)).await?;
            (demo_settings(listener.1), listener, Some(try_out(wiring)?))
        }
        None => return Ok(None),
    };
    let console = Console::open(wiring, &settings, server)?;
    let (listener, address) = listener;
    Ok(Some(ServedConsole { listener, address, console, password }))
}

fn demo_settings(listen: SocketAddr) -> Settings {
    Settings {
        listen,
        public_url: None,
        session_lifetime: SignedDuration::from_hours(12),
        session_idle: SignedDuration::from_hours(12),
        oidc: None,
        second_factor: SecondFactorPolicy::Optional,
    }
}

/// Creates the demo user, or replaces its password, with a random one that is only printed.
fn try_out(wiring: &Wiring) -> Result<String, CommandFailure> {
    let text = random::token()?;
    let password = password::hash(&text)?;
    let admin = AdminContext { store: &wiring.store, dealers: &[], now: wiring.clock.now() };
    let actor = Actor::operator("demo");
    let name = DEMO_USER.to_owned();
    let sign_in_budget = name_bucket(DEMO_USER);
    let again = SetPassword { name: name.clone(), password: password.clone(), sign_in_budget };
    match set_password(&admin, &actor, again) {
        Err(AdminError::Refused(StaffRefusal::UnknownMember(_))) => {
            let employer = StaffEmployer::Dealer(DEALER_ID.to_owned());
            let input = AddMember { name, employer, role: StaffRole::Manager, password };
            add_member(&admin, &actor, input).map_err(|error| failure(error, refused))?;
        }
        outcome => outcome.map_err(|error| failure(error, refused))?,
    }
    Ok(text)
}

impl ServedConsole {
    /// Serves the console until the process ends.
    pub(super) fn serve(
        self,
        server: &ServerConfig,
        identity: Option<Arc<ServerIdentity>>,
        context: &Context,
    ) -> JoinHandle<()> {
        let Self { listener, address, console, password } = self;
        tracing::info!(%address, "listening for the console");
        if let Some(password) = password {
            let url = server.origin(address);
            context
                .output
                .talk(format!("console: {url}{PATH} (name {DEMO_USER}, password {password})"));
        }
        let listener = match identity {
            Some(identity) => Listener::with_tls(listener, identity),
            None => listener.into(),
        };
        let settings = for_operators(server).http();
        tokio::spawn(async move {
            serve(listener, console.router(), &settings, std::future::pending()).await;
        })
    }
}
