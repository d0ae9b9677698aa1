//! Access tokens of a service account: a signed assertion is exchanged for one (RFC 7523 §2.1), which is kept
//! until shortly before it ends.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::SignedDuration;
use reqwest::Client;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;
use tradepost_document::json::{self, Value, object};
use tradepost_document::text;
use tradepost_server::clock::Clock;

use crate::client::{MAX_DETAIL, RawAnswer, exchange, refused};
use crate::port::{AdServerError, RefusalReason};

/// Permissions that the token is requested with: for the REST interface and for the SOAP interface.
const SCOPES: &str =
    "https://www.googleapis.com/auth/admanager https://www.googleapis.com/auth/dfp";

/// Value of `grant_type` in the request for a token (RFC 7523 §8.1).
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// Time for which an assertion is valid; Google accepts no more.
const ASSERTION_LIFE: SignedDuration = SignedDuration::from_hours(1);

/// Time before the end of a token in which it is not used any more.
const MARGIN: Duration = Duration::from_mins(1);

/// Maximum time for which a token is cached, whatever it says.
const MAX_LIFETIME: Duration = Duration::from_hours(1);

/// Time for which a token that replaces a refused one counts as new. A refused token that is not new may have
/// expired, so that the operation is retried with another one. Without this time, an operation of several requests
/// whose last one is always refused would be retried for ever.
const NEW_TOKEN_PERIOD: Duration = Duration::from_mins(1);

/// Maximum size of an answer with a token in bytes.
const MAX_TOKEN_ANSWER: usize = 64 * 1024;

/// Members of a key file that are read.
#[derive(Deserialize)]
struct KeyFile {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    private_key: String,
    private_key_id: Option<String>,
    token_uri: String,
}

/// A service account with its private key.
pub(crate) struct ServiceAccount {
    email: String,
    key_id: Option<String>,
    token_uri: String,
    key: RsaKeyPair,
}

/// An access token.
#[derive(Clone)]
pub(super) struct AccessToken {
    /// The token. It is sent to the ad server alone.
    pub(super) text: String,
    /// True if it was made for this very request, or within the last minute in place of one that was refused.
    pub(super) is_new: bool,
}

/// Access token, with the times between which it is used.
struct CachedToken {
    text: String,
    /// Time at which it was made, by the clock's elapsed time.
    made: Duration,
    /// End of its use, by the clock's elapsed time.
    ends: Duration,
    /// True if it was made in place of one that was refused.
    replaces_refused: bool,
}

/// What is known about tokens.
#[derive(Default)]
struct TokenState {
    cached: Option<CachedToken>,
    /// True if the last token was refused, and none was made since.
    was_refused: bool,
}

/// Makes access tokens.
pub(super) struct TokenSource {
    account: ServiceAccount,
    clock: Clock,
    state: Mutex<TokenState>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: String,
    expires_in: u64,
}

impl ServiceAccount {
    /// Reads the key file of a service account, as Google issues it. Problems quote nothing of it,
    /// because it holds a secret.
    pub(crate) fn read(text: &str) -> Result<Self, &'static str> {
        let file: KeyFile = json::from_str(text)
            .map_err(|_| "give the JSON key file of a service account of Google's")?;
        if file.kind != "service_account" {
            return Err("the key file is of another kind than service_account");
        }
        if !is_secure(&file.token_uri) {
            return Err("the token_uri of the key file is no address with https");
        }
        let lines = file.private_key.lines().filter(|line| !line.starts_with("-----"));
        let encoded: String = lines.flat_map(str::chars).filter(|c| !c.is_whitespace()).collect();
        let unusable = "the private_key of the key file is no RSA key in PKCS#8";
        let key = STANDARD.decode(encoded).map_err(|_| unusable)?;
        let key = RsaKeyPair::from_pkcs8(&key).map_err(|_| unusable)?;
        Ok(Self {
            email: file.client_email,
            key_id: file.private_key_id,
            token_uri: file.token_uri,
            key,
        })
    }

    /// Returns the address that gives out its tokens.
    pub(crate) fn token_uri(&self) -> &str {
        &self.token_uri
    }

    /// Returns an assertion that is valid from a time (RFC 7519).
    fn assertion(&self, clock: &Clock) -> Result<String, AdServerError> {
        let now = clock.now();
        let ends = now.checked_add(ASSERTION_LIFE).unwrap_or(now);
        let header = object!({"alg": "RS256", "typ": "JWT", "kid"?: self.key_id.as_deref()});
        let claims = object!({
            "iss": self.email.as_str(),
            "scope": SCOPES,
            "aud": self.token_uri.as_str(),
            "iat": now.as_second(),
            "exp": ends.as_second(),
        });
        let encode = |document: Value| URL_SAFE_NO_PAD.encode(document.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| AdServerError::Unsent)?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// Returns true for an address to which nobody on the way can read requests: https, or this machine
/// by its IP address.
pub(crate) fn is_secure(url: &str) -> bool {
    reqwest::Url::parse(url).is_ok_and(|url| {
        let is_here = matches!(url.host_str(), Some("127.0.0.1" | "[::1]"));
        url.scheme() == "https" || (url.scheme() == "http" && is_here)
    })
}

impl TokenSource {
    /// Creates a source without a token.
    pub(super) fn new(account: ServiceAccount, clock: Clock) -> Self {
        Self { account, clock, state: Mutex::default() }
    }

    /// Returns a token. Nothing has reached the ad server when this fails, so that the request for which it was
    /// wanted is unsent.
    pub(super) async fn token(
        &self,
        client: &Client,
        timeout: Duration,
    ) -> Result<AccessToken, AdServerError> {
        if let Some(cached) = self.cached() {
            return Ok(cached);
        }
        let body = exchange_form(&self.account.assertion(&self.clock)?);
        let request = client
            .post(&self.account.token_uri)
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body)
            .timeout(timeout);
        let answer =
            exchange(request, MAX_TOKEN_ANSWER).await.map_err(|_| AdServerError::Unsent)?;
        if !answer.status.is_success() {
            return Err(failure(&answer));
        }
        let found = answer.success().map_err(|_| AdServerError::Unsent)?;
        let found = TokenAnswer::deserialize(&found).map_err(|_| AdServerError::Unsent)?;
        let life = Duration::from_secs(found.expires_in).min(MAX_LIFETIME).saturating_sub(MARGIN);
        let made = self.clock.elapsed();
        let ends = made.saturating_add(life);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let replaces_refused = std::mem::take(&mut state.was_refused);
        let text = found.access_token.clone();
        state.cached = Some(CachedToken { text, made, ends, replaces_refused });
        Ok(AccessToken { text: found.access_token, is_new: true })
    }

    /// Forgets a token that the ad server does not accept any more.
    pub(super) fn forget(&self, token: &AccessToken) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.cached.as_ref().is_some_and(|cached| cached.text == token.text) {
            *state = TokenState { cached: None, was_refused: true };
        }
    }

    fn cached(&self) -> Option<AccessToken> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.elapsed();
        let cached = state.cached.as_ref().filter(|cached| now < cached.ends)?;
        let is_new = cached.replaces_refused && now.saturating_sub(cached.made) < NEW_TOKEN_PERIOD;
        Some(AccessToken { text: cached.text.clone(), is_new })
    }
}

/// Returns the form that exchanges an assertion for a token.
fn exchange_form(assertion: &str) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", GRANT);
    form.append_pair("assertion", assertion);
    form.finish()
}

/// Returns what a refusal of the assertion means.
fn failure(answer: &RawAnswer) -> AdServerError {
    match answer.status.as_u16() {
        408 => AdServerError::Unsent,
        429 => AdServerError::NotYet { retry_after: answer.retry_after },
        400..500 => {
            let body = answer.document().unwrap_or_default();
            let member = |name: &str| body.get(name).and_then(Value::as_str);
            let explanation =
                member("error_description").or_else(|| member("error")).unwrap_or_default();
            let explanation = text::plain(explanation, MAX_DETAIL);
            refused(
                RefusalReason::Credential,
                format!("no token for the service account: {explanation}"),
            )
        }
        _ => AdServerError::Unsent,
    }
}

#[cfg(test)]
mod tests;
