//! TLS handshakes.

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
use crate::tls::ServerIdentity;
use crate::tls::challenge::{self, Challenges};
use crate::tls::client::ClientCertificate;

/// First byte of a TLS client: a handshake record (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// Maximum number of bytes read from a client without TLS.
const MAX_IGNORED_BYTES: u64 = 64 * 1024;

/// Performs the handshake. `None` when it fails or takes longer than `timeout`; the log has the
/// reason.
pub(super) async fn negotiate(
    mut stream: TcpStream,
    peer: Peer,
    identity: &ServerIdentity,
    timeout: Duration,
) -> Option<(TlsStream<TcpStream>, Option<ClientCertificate>)> {
    let negotiated = tokio::time::timeout(timeout, async {
        let mut first = [0];
        // Peeked, because the handshake reads it again.
        if stream.peek(&mut first).await.is_ok_and(|read| read > 0) && first != [HANDSHAKE] {
            decline(&mut stream).await;
            return None;
        }
        let accepted = match identity.challenges() {
            None => TlsAcceptor::from(identity.current()).accept(stream).await.map(Some),
            Some(challenges) => handshake_or_challenge(stream, identity, challenges).await,
        };
        accepted.inspect_err(|error| report(error, peer, identity)).ok().flatten()
    });
    let Ok(negotiated) = negotiated.await else {
        tracing::debug!("a TLS handshake took too long");
        return None;
    };
    let stream = negotiated?;
    let chain = stream.get_ref().1.peer_certificates();
    // The first certificate of the chain is the client's own (RFC 8446 §4.4.2).
    let certificate = chain.and_then(<[_]>::first).map(ClientCertificate::read);
    Some((stream, certificate))
}

/// Performs the handshake where certificates are ordered automatically: an authority that validates
/// a name gets its challenge certificate, and nothing else (RFC 8737 §3).
async fn handshake_or_challenge(
    stream: TcpStream,
    identity: &ServerIdentity,
    challenges: &Challenges,
) -> std::io::Result<Option<TlsStream<TcpStream>>> {
    let started = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
    let Some(file) = challenges.asked_for(&started.client_hello()) else {
        return started.into_stream(identity.current()).await.map(Some);
    };
    let answer = tokio::task::spawn_blocking(move || challenge::answer(&file)).await;
    let Some(answer) = answer.ok().flatten() else {
        // A client without a challenge offers only unsupported protocols, and gets that alert.
        return started.into_stream(identity.current()).await.map(|_| None);
    };
    let mut challenge_stream = started.into_stream(answer).await?;
    tracing::info!("an authority has looked whether a name leads here");
    let _ = challenge_stream.shutdown().await;
    Ok(None)
}

/// Answers a client without TLS. Its data is discarded, because it was readable on the network.
async fn decline(stream: &mut TcpStream) {
    let status = StatusCode::BAD_REQUEST;
    let body = plain_error_body(status, "INVALID_ARGUMENT", "this port speaks TLS; use https");
    let answer = super::closing_answer(status, &[], &body);
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
    // Closing with unread data would discard the answer.
    let _ = tokio::io::copy(&mut stream.take(MAX_IGNORED_BYTES), &mut tokio::io::sink()).await;
}

/// Logs a failed handshake. A rejected client certificate is a failed authentication; other
/// failures are noise.
fn report(error: &std::io::Error, peer: Peer, identity: &ServerIdentity) {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    if let Some(rustls::Error::InvalidCertificate(problem)) = cause {
        let reason = if matches!(
            problem,
            CertificateError::Expired | CertificateError::ExpiredContext { .. }
        ) {
            "certificate expired"
        } else if matches!(
            problem,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }
        ) {
            "certificate not valid yet"
        } else if matches!(problem, CertificateError::UnknownIssuer) {
            "certificate of an unknown authority"
        } else {
            "certificate not accepted"
        };
        identity.record_failure(peer.0.ip(), reason);
    } else {
        tracing::debug!(%error, "a TLS handshake failed");
    }
}
