//! Console beside the server, on a listener of its own; for the demo with a demo user.

use std::net::SocketAddr;
use std::sync::Arc;

use jiff::SignedDuration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tradepost_dealer::demo::DEALER_ID;
use tradepost_dealer::staff::{AuditAction, NewAuditEntry, StaffRole, member_detail};
use tradepost_server::http::server::{Listener, serve};
use tradepost_server::tls::ServerIdentity;
use tradepost_store::staff::StaffMember;

use super::{CommandFailure, Context, ServerConfig, Wiring, bind, for_operators};
use crate::cli::console;
use crate::config::{ConsoleConfig as Settings, SecondFactorPolicy};
use crate::console::{Console, PATH, password};

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
    let text = password::token()?;
    let hashed = password::hash(&text)?;
    let again = hashed.clone();
    let now = wiring.clock.now();
    let entry = NewAuditEntry {
        chain: DEALER_ID.to_owned(),
        at: now,
        actor: "demo".to_owned(),
        action: AuditAction::PasswordSet,
        subject: Some(DEMO_USER.to_owned()),
        detail: Some(member_detail(None, &hashed)),
    };
    let is_known = wiring.store.write_blocking(move |tx| {
        let is_known = tx.set_password(DEMO_USER, &again)?;
        if is_known {
            tx.record(&entry)?;
        }
        Ok(is_known)
    })?;
    if !is_known {
        let member = StaffMember {
            name: DEMO_USER.to_owned(),
            dealer_id: Some(DEALER_ID.to_owned()),
            role: StaffRole::Manager,
            password: hashed,
            created_at: now,
        };
        console::add(&wiring.store, member, "demo", now)?;
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
            Some(identity) => Listener::over_tls(listener, identity),
            None => listener.into(),
        };
        let settings = for_operators(server).http();
        tokio::spawn(async move {
            serve(listener, console.router(), &settings, std::future::pending()).await;
        })
    }
}
