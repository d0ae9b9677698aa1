//! Where requests of ours may go when a caller chooses the address (A2A §13.2): to public
//! addresses of the Internet, and nowhere into the network that this process stands in.
//!
//! An address is judged twice. [`Egress::admit`] judges it when a caller names it, so that the
//! caller hears at once; [`Egress::resolve`] resolves the name again for every connection, judges
//! what comes back, and the connection goes to that and to nothing else, so that a name that leads
//! elsewhere by then (DNS rebinding) leads nowhere.
// P-04

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::Url;
use tokio::sync::Semaphore;
use tradepost_wire::http::address;
use tradepost_wire::http::web_address::{self, AddressProblem, HostReach, WebAddress};

pub mod client;
#[cfg(test)]
mod tests;

/// The longest address that is read, in bytes.
pub const LONGEST: usize = 2_048;

/// How long a name may take to resolve.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many names are resolved at once. Each lookup has one of the threads on which the store is
/// read, too, and keeps it when nobody waits for it any more.
const LOOKUPS: usize = 32;

/// The addresses of a name, as they come.
pub type Resolving = BoxFuture<'static, io::Result<Vec<IpAddr>>>;

/// Finds the addresses of a name.
#[derive(Clone)]
pub struct Resolver(Arc<dyn Fn(String) -> Resolving + Send + Sync>);

impl Resolver {
    /// The machine's own.
    #[must_use]
    pub fn system() -> Self {
        Self::new(|host| {
            Box::pin(async move {
                let found = tokio::net::lookup_host((host, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            })
        })
    }

    /// One that answers as it is told.
    pub fn new(resolve: impl Fn(String) -> Resolving + Send + Sync + 'static) -> Self {
        Self(Arc::new(resolve))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// The guard.
#[derive(Debug, Clone)]
pub struct Egress {
    resolver: Resolver,
    /// For development: this machine may be called, also without TLS.
    loopback: bool,
    room: Arc<Semaphore>,
}

/// A web address that may be called, as far as that shows without resolving its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The address, as the client is going to read it.
    pub url: Url,
    /// The name or address of the host in lower case, without port.
    pub host: String,
}

/// Why an address may not be called: what it must be, without naming what it resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Objection(pub &'static str);

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Objection {}

const SHAPE: Objection = Objection(
    "must be an absolute web address of at most 2048 characters, such as \
     https://buyer.example.com/notify",
);
const SCHEME: Objection = Objection("must begin with https://");
const USER: Objection =
    Objection("must hold no user name and no password; use authentication for credentials");
const HOST: Objection = Objection(
    "must name its host in the usual form: a name with a dot and no dot at the end, or an address \
     as it is usually written",
);
const PORT: Objection = Objection("must have a port from 1 to 65535, or none");
const LITERAL: Objection = Objection("must be an address on the public Internet");
/// The same whether the name leads into our network or nowhere, so that nobody learns which.
const NAME: Objection =
    Objection("must name a host that resolves, and to addresses on the public Internet only");

impl From<AddressProblem> for Objection {
    fn from(problem: AddressProblem) -> Self {
        match problem {
            AddressProblem::Form => SHAPE,
            AddressProblem::Scheme => SCHEME,
            AddressProblem::UserInfo => USER,
            AddressProblem::Host => HOST,
            AddressProblem::Port => PORT,
        }
    }
}

impl Egress {
    /// Lets requests out to public addresses; with `loopback` also to this machine.
    #[must_use]
    pub fn new(resolver: Resolver, loopback: bool) -> Self {
        Self { resolver, loopback, room: Arc::new(Semaphore::new(LOOKUPS)) }
    }

    /// The same guard with lookups of its own: it does not wait for those of this one.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self::new(self.resolver.clone(), self.loopback)
    }

    /// Whether an address may be called and is on this very machine, by what its host says; nothing is
    /// resolved.
    #[must_use]
    pub fn is_own_machine(&self, text: &str) -> bool {
        self.loopback && self.read(text).is_ok_and(|destination| is_here(&destination.host))
    }

    /// Reads an address that a caller chose. The text must say what the client will do: whatever
    /// two readers could read as two hosts is refused.
    ///
    /// # Errors
    /// What it must be instead.
    pub fn read(&self, text: &str) -> Result<Destination, Objection> {
        if text.len() > LONGEST {
            return Err(SHAPE);
        }
        let address = WebAddress::read(text).map_err(Objection::from)?;
        let url = Url::parse(text).map_err(|_| HOST)?;
        // The client connects to what its own parser reads, so both have to read the same host.
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let is_same_host = match address.ip {
            Some(ip) => web_address::literal(&host) == Some(ip),
            None => host == address.host,
        };
        if !is_same_host {
            return Err(HOST);
        }
        match address.reach {
            HostReach::Public => {}
            HostReach::ThisMachine if self.loopback => {}
            HostReach::ThisMachine | HostReach::Private => return Err(LITERAL),
        }
        // Clear text is for this machine alone, where nobody is on the way.
        if !address.is_https && address.reach != HostReach::ThisMachine {
            return Err(SCHEME);
        }
        Ok(Destination { url, host })
    }

    /// Reads an address and resolves its name.
    ///
    /// # Errors
    /// What it must be instead.
    pub async fn admit(&self, destination: &Destination) -> Result<(), Objection> {
        if web_address::literal(&destination.host).is_some() {
            // `read` has judged it, and there is nothing to resolve.
            return Ok(());
        }
        match self.resolve(&destination.host).await {
            Ok(_) => Ok(()),
            // The kits name hosts that a machine without the Internet cannot resolve, and the
            // development switch is for such machines. Nothing is called before it resolves.
            Err(Unresolved::Failed(_)) if self.loopback => Ok(()),
            Err(Unresolved::Failed(_) | Unresolved::Forbidden) => Err(NAME),
        }
    }

    /// The addresses of a name, every one of which may be called.
    ///
    /// # Errors
    /// When the name does not resolve, or any of its addresses may not be called: a name that
    /// leads to several places may lead to the worst of them.
    pub async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, Unresolved> {
        let resolved = tokio::time::timeout(PATIENCE, self.look_up(host.to_owned())).await;
        let found = resolved
            .map_err(|_| Unresolved::Failed(io::ErrorKind::TimedOut.into()))?
            .map_err(Unresolved::Failed)?;
        // None at all would pass for addresses of which every one is good.
        if found.is_empty() {
            return Err(Unresolved::Failed(io::ErrorKind::NotFound.into()));
        }
        let local = self.loopback && host == "localhost";
        let may = |ip: &IpAddr| if local { ip.is_loopback() } else { address::is_public(*ip) };
        if found.iter().all(may) { Ok(found) } else { Err(Unresolved::Forbidden) }
    }

    async fn look_up(&self, host: String) -> io::Result<Vec<IpAddr>> {
        let place = Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other)?;
        let resolving = (self.resolver.0)(host);
        // The place is kept until the lookup has ended: whoever gives up waiting would otherwise
        // make room for one more thread.
        let looking = tokio::spawn(async move {
            let found = resolving.await;
            drop(place);
            found
        });
        looking.await.map_err(io::Error::other)?
    }
}

/// Why a name leads nowhere.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unresolved {
    /// It could not be resolved.
    Failed(io::Error),
    /// It leads where nothing of ours may go.
    Forbidden,
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed(_) => "the name could not be resolved",
            Self::Forbidden => "the name leads to an address that may not be called",
        })
    }
}

impl std::error::Error for Unresolved {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Forbidden => None,
        }
    }
}

/// Whether a host is this machine by its name or address.
fn is_here(host: &str) -> bool {
    web_address::literal(host).map_or(host == "localhost", |ip| ip.is_loopback())
}
