//! The beginning of a connection over TLS.

use std::time::Duration;

use axum::http::StatusCode;
use rustls::CertificateError;
use rustls::server::Acceptor;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, TlsAcceptor};

use crate::http::head::Peer;
use crate::http::plain::plain_error_body;
use crate::tls::Identity;
use crate::tls::challenge::{self, Challenges};
use crate::tls::client::ClientCertificate;

/// The first byte of a client that speaks TLS: a handshake record (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// How much is read from somebody who will not be answered.
const MOST_IGNORED: u64 = 64 * 1024;

/// Agrees with a client on keys. `None` when that fails or takes longer than `patience`; what
/// there is to say about it is in the log.
pub(super) async fn shake(
    mut stream: TcpStream,
    peer: Peer,
    identity: &Identity,
    patience: Duration,
) -> Option<(TlsStream<TcpStream>, Option<ClientCertificate>)> {
    let shaken = tokio::time::timeout(patience, async {
        let mut first = [0];
        // Looked at and left where it is: the handshake reads it again.
        if stream.peek(&mut first).await.is_ok_and(|read| read > 0) && first != [HANDSHAKE] {
            decline(&mut stream).await;
            return None;
        }
        let accepted = match identity.challenges() {
            None => TlsAcceptor::from(identity.current()).accept(stream).await.map(Some),
            Some(challenges) => unless_asked(stream, identity, challenges).await,
        };
        accepted.inspect_err(|error| report(error, peer, identity)).ok().flatten()
    });
    let Ok(shaken) = shaken.await else {
        tracing::debug!("a TLS handshake took too long");
        return None;
    };
    let stream = shaken?;
    let chain = stream.get_ref().1.peer_certificates();
    // The client's own is the first (RFC 8446 §4.4.2).
    let certificate = chain.and_then(<[_]>::first).map(ClientCertificate::read);
    Some((stream, certificate))
}

/// The same where certificates are ordered: an authority that looks whether a name leads here is shown
/// what it asked for, and that is all (RFC 8737 §3).
async fn unless_asked(
    stream: TcpStream,
    identity: &Identity,
    challenges: &Challenges,
) -> std::io::Result<Option<TlsStream<TcpStream>>> {
    let begun = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
    let Some(file) = challenges.asked_for(&begun.client_hello()) else {
        return begun.into_stream(identity.current()).await.map(Some);
    };
    let answer = tokio::task::spawn_blocking(move || challenge::answer(&file)).await;
    let Some(answer) = answer.ok().flatten() else {
        // Without a challenge it is a client that speaks nothing we do, and hears that.
        return begun.into_stream(identity.current()).await.map(|_| None);
    };
    let mut shown = begun.into_stream(answer).await?;
    tracing::info!("an authority has looked whether a name leads here");
    let _ = shown.shutdown().await;
    Ok(None)
}

/// Tells somebody who speaks clear text why that does not work here. What was sent is not looked
/// at, and everybody on the way may have read it.
async fn decline(stream: &mut TcpStream) {
    let status = StatusCode::BAD_REQUEST;
    let body = plain_error_body(status, "INVALID_ARGUMENT", "this port speaks TLS; use https");
    let answer = super::closing_answer(status, &[], &body);
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    // Closing with something unread would take the answer back.
    let _ = tokio::io::copy(&mut stream.take(MOST_IGNORED), &mut tokio::io::sink()).await;
}

/// A client that shows a certificate which is not accepted has failed to authenticate; everything
/// else that goes wrong here is noise.
fn report(error: &std::io::Error, peer: Peer, identity: &Identity) {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    if let Some(rustls::Error::InvalidCertificate(wrong)) = cause {
        use CertificateError as Wrong;
        let reason = if matches!(wrong, Wrong::Expired | Wrong::ExpiredContext { .. }) {
            "certificate expired"
        } else if matches!(wrong, Wrong::NotValidYet | Wrong::NotValidYetContext { .. }) {
            "certificate not valid yet"
        } else if matches!(wrong, Wrong::UnknownIssuer) {
            "certificate of an unknown authority"
        } else {
            "certificate not accepted"
        };
        identity.record_failure(peer.0.ip(), reason);
    } else {
        tracing::debug!(%error, "a TLS handshake failed");
    }
}
