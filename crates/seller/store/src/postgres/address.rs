//! Address of a PostgreSQL server and its TLS settings.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;
use tradepost_document::fault::InternalError;

/// Time limit for opening a connection.
const CONNECTING: Duration = Duration::from_secs(5);

/// Time without an answer after which TCP treats a connection as lost.
const UNANSWERED: Duration = Duration::from_secs(15);

/// URL of a PostgreSQL database, as `libpq` reads it. It may hold a password, which is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    config: Config,
    /// True when the connection uses TLS.
    is_encrypted: bool,
    /// File of root certificates that are trusted in addition to the system's.
    roots: Option<PathBuf>,
}

impl FromStr for DatabaseUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const SHAPE: &str = "must be a URL such as postgres://user:password@host:5432/database";
        if !["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return Err(SHAPE);
        }
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        // These two are removed: the library supports neither `verify-full` nor `sslrootcert`, and rejects unknown
        // settings.
        let mut mode = None;
        let mut roots = None;
        let mut rest = Vec::new();
        for setting in query.split('&').filter(|setting| !setting.is_empty()) {
            match setting.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(value)),
                _ => rest.push(setting),
            }
        }
        let mut config: Config =
            format!("{address}?{}", rest.join("&")).parse().map_err(|_| SHAPE)?;
        if config.get_dbname().is_none() {
            return Err("must name a database: postgres://user@host:5432/database");
        }
        let is_encrypted = match mode {
            Some("disable") => false,
            // All three mean the strictest: an unchecked certificate does not stop a machine in the middle.
            Some("require" | "verify-ca" | "verify-full") => true,
            Some(_) => return Err("has an sslmode that is none of disable, require, verify-full"),
            // By default a password must not travel unencrypted.
            None => !config.get_hosts().iter().all(is_here),
        };
        config
            .ssl_mode(if is_encrypted { SslMode::Require } else { SslMode::Disable })
            .connect_timeout(CONNECTING)
            .tcp_user_timeout(UNANSWERED)
            .keepalives_idle(UNANSWERED);
        if config.get_application_name().is_none() {
            config.application_name("tradepost");
        }
        Ok(Self { config, is_encrypted, roots })
    }
}

/// Returns true when a connection to this host stays on this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

impl DatabaseUrl {
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the TLS settings, if TLS is used; the server needs a certificate for the host's name.
    pub(super) fn tls(&self) -> Result<Option<MakeRustlsConnect>, InternalError> {
        const WHAT: &str = "setting up TLS to the database";
        if !self.is_encrypted {
            return Ok(None);
        }
        let roots = match &self.roots {
            Some(file) => CertificateDer::pem_file_iter(file)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(InternalError::on("reading the certificates of sslrootcert"))?,
            None => Vec::new(),
        };
        let config = tradepost_tls::client_config(&roots).map_err(InternalError::on(WHAT))?;
        Ok(Some(MakeRustlsConnect::new(config)))
    }
}

impl fmt::Display for DatabaseUrl {
    /// Shows neither user nor password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        for (number, host) in self.config.get_hosts().iter().enumerate() {
            let separator = if number == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{separator}{name}")?,
                Host::Unix(path) => write!(f, "{separator}{}", path.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_used_unless_local_and_no_password_is_shown() {
        for (text, is_encrypted) in [
            ("postgres://u:s3cret@db.example.com/shop", true),
            ("postgres://u:s3cret@10.0.0.7:6432/shop?sslmode=disable", false),
            ("postgresql://u:s3cret@127.0.0.1/shop", false),
            ("postgres://u:s3cret@localhost/shop?sslmode=verify-full", true),
            ("postgres://u:s3cret@[::1]/shop?application_name=x&sslmode=require", true),
            ("postgres://u:s3cret@%2Frun%2Fpostgresql/shop", false),
        ] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(url.is_encrypted, is_encrypted, "{text}");
            assert_eq!(url.tls().unwrap().is_some(), is_encrypted, "{text}");
            let shown = format!("{url} {url:?}");
            assert!(shown.contains("/shop") && !shown.contains("s3cret"), "{shown}");
        }
    }

    #[test]
    fn what_is_no_such_url_is_refused_without_an_echo() {
        for text in [
            "",
            "mysql://u:s3cret@h/d",
            "postgres://u:s3cret@h",
            "postgres://u:s3cret@h/d?sslmode=prefer",
            "postgres://u:s3cret@h/d?nonsense=s3cret",
            "postgres://u:s3cret@h:port/d",
        ] {
            let why = text.parse::<DatabaseUrl>().unwrap_err();
            assert!(!why.contains("s3cret"), "{why}");
        }
        let missing = "postgres://u@h/d?sslmode=require&sslrootcert=/nowhere/root.pem";
        let fault = missing.parse::<DatabaseUrl>().unwrap().tls().err().unwrap();
        assert_eq!(fault.to_string(), "reading the certificates of sslrootcert");
    }
}
