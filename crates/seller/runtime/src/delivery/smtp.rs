//! Delivery by mail: the document is the body, in plain text without attachments, as CRM systems read it.
//! The code sends the library's SMTP commands one by one, because an attempt can
//! only be in doubt once the message itself is being sent.

use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use lettre::Address;
use lettre::message::header::{ContentTransferEncoding, ContentType};
use lettre::message::{Body, Mailbox, Message};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{
    AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters,
};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{Error, response::Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::time::timeout;
use tradepost_server::clock::Clock;

use super::channel::{AttemptFailed, AttemptVerdict, DeliveryCarrier, OutgoingMessage};
use crate::config::delivery::{Smtp, SmtpTls};

/// Time in which a server may answer the end of the connection. The answer does not matter.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Delivers messages by mail.
pub(super) struct SmtpCarrier {
    host: String,
    port: u16,
    protection: Protection,
    credentials: Option<Credentials>,
    from: Address,
    to: Vec<Address>,
    hello: ClientId,
    step_timeout: Duration,
    clock: Clock,
}

/// Protection of the connection, with its TLS parameters.
enum Protection {
    FirstByte(TlsParameters),
    StartTls(TlsParameters),
    None,
}

opaque!(SmtpCarrier);

impl SmtpCarrier {
    /// Creates the carrier for a mail server, and reads its secrets.
    pub(super) fn open(smtp: &Smtp, step_timeout: Duration, clock: &Clock) -> Result<Self, String> {
        // The library takes an IPv6 address without brackets.
        let host = smtp.host.trim_matches(['[', ']']).to_owned();
        let protection = match smtp.tls {
            SmtpTls::None => Protection::None,
            SmtpTls::Required => Protection::FirstByte(tls(smtp, &host)?),
            SmtpTls::StartTls => Protection::StartTls(tls(smtp, &host)?),
        };
        let credentials = match &smtp.login {
            None => None,
            Some((user, password)) => {
                let password = password.read().map_err(|why| format!("password: {why}"))?;
                Some(Credentials::new(user.clone(), password))
            }
        };
        let address = |text: &String| text.parse::<Address>().map_err(|_| "from, to: no address");
        let from = address(&smtp.from)?;
        let to = smtp.to.iter().map(address).collect::<Result<_, _>>()?;
        let hello = ClientId::Domain(from.domain().to_owned());
        let port = smtp.port;
        let clock = clock.clone();
        Ok(Self { host, port, protection, credentials, from, to, hello, step_timeout, clock })
    }

    async fn send(&self, outgoing: OutgoingMessage) -> Result<String, AttemptFailed> {
        let message = self.message(&outgoing)?;
        let ready = timeout(self.step_timeout, self.prepare()).await;
        let mut connection =
            ready.map_err(|_| AttemptVerdict::Later.failure("no answer in time"))??;
        let taken = timeout(self.step_timeout, connection.message(&message)).await;
        let taken = taken
            .map_err(|_| AttemptVerdict::InDoubt.failure("no answer in time to the message"))?;
        let answer = taken.map_err(|error| answered(&error).unwrap_or_else(lost))?;
        let _ = timeout(QUIT_TIMEOUT, connection.abort()).await;
        Ok(said(&answer))
    }

    /// Sends all commands before the message itself. A failure here means that nothing has arrived.
    async fn prepare(&self) -> Result<AsyncSmtpConnection, AttemptFailed> {
        let early = |error: Error| answered(&error).unwrap_or_else(|| unanswered(&error));
        let mut connection = self.enter().await?;
        let mail = Mail::new(Some(self.from.clone()), Vec::new());
        connection.command(mail).await.map_err(early)?;
        // One refused recipient fails the attempt, and the next attempt addresses all recipients again.
        for to in &self.to {
            connection.command(Rcpt::new(to.clone(), Vec::new())).await.map_err(early)?;
        }
        connection.command(Data).await.map_err(early)?;
        Ok(connection)
    }

    /// Connects, and logs in when a login is configured.
    async fn enter(&self) -> Result<AsyncSmtpConnection, AttemptFailed> {
        let early = |error: Error| answered(&error).unwrap_or_else(|| unanswered(&error));
        let wrapper = match &self.protection {
            Protection::FirstByte(tls) => Some(tls.clone()),
            Protection::StartTls(_) | Protection::None => None,
        };
        let server = (self.host.as_str(), self.port);
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            server,
            Some(self.step_timeout),
            &self.hello,
            wrapper,
            None,
        )
        .await
        .map_err(early)?;
        if let Protection::StartTls(tls) = &self.protection {
            connection.starttls(tls.clone(), &self.hello).await.map_err(early)?;
        }
        if let Some(credentials) = &self.credentials {
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            connection.auth(&mechanisms, credentials).await.map_err(early)?;
        }
        Ok(connection)
    }

    async fn greet(&self) -> Result<&'static str, AttemptFailed> {
        let entered = timeout(self.step_timeout, self.enter()).await;
        let mut connection =
            entered.map_err(|_| AttemptVerdict::Later.failure("no answer in time"))??;
        let _ = timeout(QUIT_TIMEOUT, connection.abort()).await;
        Ok(match &self.credentials {
            Some(_) => "accepts the configured password",
            None => "accepts connections, without a password",
        })
    }

    /// Builds the message. A repeated delivery has the same `Message-ID`, by which mail systems recognise
    /// it.
    fn message(&self, outgoing: &OutgoingMessage) -> Result<Vec<u8>, AttemptFailed> {
        let id = format!("<{}@{}>", outgoing.id, self.from.domain());
        let mut builder = Message::builder()
            .from(Mailbox::new(None, self.from.clone()))
            .subject(outgoing.written.subject.clone())
            .date(SystemTime::from(self.clock.now()))
            .message_id(Some(id))
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            builder = builder.to(Mailbox::new(None, to.clone()));
        }
        let message = builder.body(body(&outgoing.written.body));
        Ok(message
            .map_err(|_| AttemptVerdict::Refused.failure("the mail could not be written"))?
            .formatted())
    }
}

impl DeliveryCarrier for SmtpCarrier {
    fn carry(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<String, AttemptFailed>> {
        Box::pin(self.send(outgoing))
    }

    fn test_connection(&self) -> BoxFuture<'_, Result<&'static str, AttemptFailed>> {
        Box::pin(self.greet())
    }
}

/// Encodes the text. ASCII in lines of at most 998 characters (RFC 5322 §2.1.1) is sent unencoded,
/// because not every CRM decodes mail.
fn body(text: &str) -> Body {
    const LONGEST: usize = 998;
    let is_plain = text.is_ascii() && text.lines().all(|line| line.len() <= LONGEST);
    if !is_plain {
        return Body::new(text.to_owned());
    }
    let lines: String = text.lines().flat_map(|line| [line, "\r\n"]).collect();
    Body::dangerous_pre_encoded(lines.into_bytes(), ContentTransferEncoding::SevenBit)
}

fn tls(smtp: &Smtp, host: &str) -> Result<TlsParameters, String> {
    let unusable = "ca_file: must be certificates in PEM";
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(path) = &smtp.ca_file {
        let pem = fs::read(path).map_err(|error| {
            format!("ca_file: cannot read {}: {}", path.display(), error.kind())
        })?;
        // A file without certificates would be no restriction.
        CertificateDer::from_pem_slice(&pem).map_err(|_| unusable)?;
        let certificate = Certificate::from_pem(&pem).map_err(|_| unusable)?;
        builder = builder.add_root_certificate(certificate);
    }
    let bundled = builder.clone().certificate_store(CertificateStore::WebpkiRoots);
    if let Ok(parameters) = builder.build_rustls() {
        return Ok(parameters);
    }
    // A machine without authorities trusts those of Mozilla, unless the operator has chosen some.
    tradepost_tls::check_bundled_apply().map_err(|error| error.to_string())?;
    let parameters = if smtp.ca_file.is_none() { bundled.build_rustls().ok() } else { None };
    parameters.ok_or_else(|| unusable.to_owned())
}

/// Chooses the verdict of a reply by its first digit (RFC 5321 §4.2.1), except replies about the login
/// (RFC 4954 §6), which the operator can correct while leads wait. Returns `None` when there was no
/// reply. The reply's text is dropped, because it may quote the customer.
fn answered(error: &Error) -> Option<AttemptFailed> {
    let code = error.status()?;
    let answer = format!("SMTP {code}");
    let is_of_login = matches!(u16::from(code), 530 | 534 | 535 | 538);
    Some(if error.is_permanent() && !is_of_login {
        AttemptVerdict::Refused.failure(answer)
    } else {
        AttemptVerdict::Later.failure(answer)
    })
}

fn unanswered(error: &Error) -> AttemptFailed {
    AttemptVerdict::Later.failure(if error.is_tls() || is_of_tls(error) {
        "no TLS that can be trusted"
    } else if error.is_client() {
        "the server does not offer what is needed (TLS or a way to log in)"
    } else {
        "no connection"
    })
}

/// Returns true when the TLS handshake failed, which the library reports as a failed connection.
fn is_of_tls(error: &Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>) {
            return true;
        }
        cause = error.source();
    }
    false
}

fn lost() -> AttemptFailed {
    AttemptVerdict::InDoubt.failure("the connection broke before the message was answered")
}

fn said(response: &Response) -> String {
    format!("SMTP {}", response.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mail_can_carry_as_it_is_is_not_encoded() {
        use ContentTransferEncoding::{QuotedPrintable, SevenBit};
        let long = "x".repeat(999);
        for (text, encoding, starts) in [
            ("<adf>\n  <a b=\"1\"/>\n</adf>\n", SevenBit, "<adf>\r\n  <a b=\"1\"/>\r\n</adf>\r\n"),
            ("<name>Zoë = Ana</name>\n", QuotedPrintable, "<name>Zo=C3=AB =3D Ana</name>"),
            (long.as_str(), QuotedPrintable, "xxx"),
        ] {
            let body = body(text);
            assert_eq!(body.encoding(), encoding, "{text}");
            let written = String::from_utf8(body.into_vec()).unwrap();
            assert!(written.starts_with(starts), "{written}");
        }
    }
}
