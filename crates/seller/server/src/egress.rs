//! Guard for requests to addresses that a caller chooses (A2A 1.0 §13.2): they may go to public
//! addresses of the Internet, and not into the network of this process.
//!
//! An address is checked twice: by [`Egress::admit`] when the caller names it, so that the caller
//! gets an immediate answer, and by [`Egress::resolve`] for every connection, which then goes to
//! the checked address only. A name that resolves differently later (DNS rebinding) is therefore
//! refused.
// Protection against SSRF, with the check at creation and at connection (A2A 1.0 §13.2, P-04).

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::Url;
use tokio::sync::Semaphore;
use tradepost_document::http::address;
use tradepost_document::http::web_address::{self, AddressProblem, HostReach, WebAddress};

pub mod client;
#[cfg(test)]
mod tests;

/// Maximum length of an address in bytes.
pub const LONGEST: usize = 2_048;

/// Maximum time for resolving a name.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of names resolved at once. Each lookup occupies one of the blocking threads that the store uses too,
/// even after its caller has stopped waiting.
const LOOKUPS: usize = 32;

/// Future of the addresses of a name.
pub type ResolveFuture = BoxFuture<'static, io::Result<Vec<IpAddr>>>;

/// Resolver of host names.
#[derive(Clone)]
pub struct Resolver(Arc<dyn Fn(String) -> ResolveFuture + Send + Sync>);

impl Resolver {
    /// Creates the machine's resolver.
    #[must_use]
    pub fn system() -> Self {
        Self::new(|host| {
            Box::pin(async move {
                let found = tokio::net::lookup_host((host, 0)).await?;
                Ok(found.map(|address| address.ip()).collect())
            })
        })
    }

    /// Creates a resolver from a function.
    pub fn new(resolve: impl Fn(String) -> ResolveFuture + Send + Sync + 'static) -> Self {
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
    /// Development switch: permits calls to this machine, also without TLS.
    loopback: bool,
    room: Arc<Semaphore>,
}

/// A web address that passed the checks that need no name resolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedAddress {
    /// The address, as the client will read it.
    pub url: Url,
    /// Name or address of the host in lower case, without port.
    pub host: String,
}

/// Reason why an address may not be called: what it must be, without naming what it resolves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressRefusal(pub &'static str);

const SHAPE: AddressRefusal = AddressRefusal(
    "must be an absolute web address of at most 2048 characters, such as \
     https://buyer.example.com/notify",
);
const SCHEME: AddressRefusal = AddressRefusal("must begin with https://");
const USER: AddressRefusal =
    AddressRefusal("must hold no user name and no password; use authentication for credentials");
const HOST: AddressRefusal = AddressRefusal(
    "must name its host in the usual form: a name with a dot and no dot at the end, or an address \
     as it is usually written",
);
const PORT: AddressRefusal = AddressRefusal("must have a port from 1 to 65535, or none");
const LITERAL: AddressRefusal = AddressRefusal("must be an address on the public Internet");
/// One message whether the name resolves to our network or not at all, so that the caller cannot
/// find out which.
const NAME: AddressRefusal =
    AddressRefusal("must name a host that resolves, and to addresses on the public Internet only");

impl From<AddressProblem> for AddressRefusal {
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
    /// Creates a guard that permits public addresses, and with `loopback` also this machine.
    #[must_use]
    pub fn new(resolver: Resolver, loopback: bool) -> Self {
        Self { resolver, loopback, room: Arc::new(Semaphore::new(LOOKUPS)) }
    }

    /// Returns a guard with its own limit of lookups, so that it does not wait for those of this
    /// one.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self::new(self.resolver.clone(), self.loopback)
    }

    /// Returns true for an address of this machine that may be called, by its host alone, without
    /// resolving.
    #[must_use]
    pub fn is_own_machine(&self, text: &str) -> bool {
        self.loopback && self.read(text).is_ok_and(|destination| is_here(&destination.host))
    }

    /// Reads an address that a caller chose. An address that two parsers could read as different
    /// hosts is refused.
    ///
    /// # Errors
    /// What the address must be.
    pub fn read(&self, text: &str) -> Result<CheckedAddress, AddressRefusal> {
        if text.len() > LONGEST {
            return Err(SHAPE);
        }
        let address = WebAddress::read(text).map_err(AddressRefusal::from)?;
        let url = Url::parse(text).map_err(|_| HOST)?;
        // The client connects to the host that its own parser reads, so both parsers have to agree.
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
        // Unencrypted requests are permitted only within this machine.
        if !address.is_https && address.reach != HostReach::ThisMachine {
            return Err(SCHEME);
        }
        Ok(CheckedAddress { url, host })
    }

    /// Checks an address, resolving its name.
    ///
    /// # Errors
    /// What the address must be.
    pub async fn admit(&self, destination: &CheckedAddress) -> Result<(), AddressRefusal> {
        if web_address::literal(&destination.host).is_some() {
            // `read` has checked it, and there is no name to resolve.
            return Ok(());
        }
        match self.resolve(&destination.host).await {
            Ok(_) => Ok(()),
            // Test kits use host names that a machine without the Internet cannot resolve, and the
            // development switch is for such machines. Requests still need a resolved address.
            Err(ResolveError::Failed(_)) if self.loopback => Ok(()),
            Err(ResolveError::Failed(_) | ResolveError::Forbidden) => Err(NAME),
        }
    }

    /// Resolves a name to addresses, all of which may be called.
    ///
    /// # Errors
    /// When the name does not resolve, or any of its addresses may not be called, because the
    /// client could connect to that one.
    pub async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let resolved = tokio::time::timeout(RESOLVE_TIMEOUT, self.look_up(host.to_owned())).await;
        let found = resolved
            .map_err(|_| ResolveError::Failed(io::ErrorKind::TimedOut.into()))?
            .map_err(ResolveError::Failed)?;
        // An empty list would pass the check below.
        if found.is_empty() {
            return Err(ResolveError::Failed(io::ErrorKind::NotFound.into()));
        }
        let local = self.loopback && host == "localhost";
        let may = |ip: &IpAddr| if local { ip.is_loopback() } else { address::is_public(*ip) };
        if found.iter().all(may) { Ok(found) } else { Err(ResolveError::Forbidden) }
    }

    async fn look_up(&self, host: String) -> io::Result<Vec<IpAddr>> {
        let place = Arc::clone(&self.room).acquire_owned().await.map_err(io::Error::other)?;
        let resolving = (self.resolver.0)(host);
        // The permit is held until the lookup ends, because a lookup whose caller gave up still
        // occupies a thread.
        let looking = tokio::spawn(async move {
            let found = resolving.await;
            drop(place);
            found
        });
        looking.await.map_err(io::Error::other)?
    }
}

/// Reason why a name cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The name could not be resolved.
    #[error("the name could not be resolved")]
    Failed(#[source] io::Error),
    /// The name resolves to a forbidden address.
    #[error("the name leads to an address that may not be called")]
    Forbidden,
}

/// Returns true when a host is this machine by its name or address.
fn is_here(host: &str) -> bool {
    web_address::literal(host).map_or(host == "localhost", |ip| ip.is_loopback())
}
