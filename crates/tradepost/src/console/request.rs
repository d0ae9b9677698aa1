//! What a browser asks: a path, a form, and the cookies that say who it is.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tradepost_dealer::consent::Sha256Hash;
use tradepost_server::http::intake;

/// The member of every form that proves that the form is one of ours.
pub const PROOF: &str = "proof";

/// The header of what the script asks by itself: nobody is at the keyboard.
const BY_ITSELF: &str = "x-tradepost-by-itself";

/// How much of what a browser says that it is, is kept.
const BROWSER: usize = 200;

/// A request, read.
#[derive(Debug, Clone)]
pub struct ConsoleRequest {
    /// The method.
    pub method: Method,
    /// The path, below that of the console, without slashes at its ends.
    pub path: String,
    /// What stands behind the question mark.
    query: Vec<(String, String)>,
    /// What was filled in.
    form: Vec<(String, String)>,
    /// From where it comes.
    pub address: IpAddr,
    /// What the browser says that it is, shortened.
    pub browser: String,
    /// Whether the page asks by itself, to see whether there is something new.
    pub is_by_itself: bool,
    /// Whether another site's page had the browser ask.
    is_foreign: bool,
    cookies: Vec<(String, String)>,
}

impl ConsoleRequest {
    /// Reads the head of a request for this path, which [`route::path`](super::route::path) found
    /// to be one of the console's. Nothing is filled in yet.
    #[must_use]
    pub fn of_head(parts: &Parts, path: &str, trust_forwarded_for: bool) -> Self {
        let headers = &parts.headers;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let browser = text("user-agent").unwrap_or_default();
        Self {
            method: parts.method.clone(),
            path: path.to_owned(),
            query: pairs(parts.uri.query().unwrap_or_default().as_bytes()),
            form: Vec::new(),
            address: intake::address_of(trust_forwarded_for, headers, &parts.extensions),
            browser: browser.chars().filter(|c| !c.is_control()).take(BROWSER).collect(),
            is_by_itself: headers.contains_key(BY_ITSELF),
            // Browsers say so since 2023; the proof and the cookie's SameSite hold without it.
            is_foreign: matches!(text("sec-fetch-site"), Some("cross-site" | "same-site")),
            cookies: cookies(headers),
        }
    }

    /// The same with what a form says.
    #[must_use]
    pub fn with_form(&self, body: &[u8]) -> Self {
        Self { form: pairs(body), ..self.clone() }
    }

    /// Whether it is a form with a password or a code of somebody who wants to come in.
    #[must_use]
    pub fn is_sign_in_form(&self) -> bool {
        self.method == Method::POST && matches!(self.path.as_str(), "sign-in" | "sign-in/code")
    }

    /// Whether the browser shows any cookie. Every form of ours was handed out with one.
    #[must_use]
    pub fn has_cookies(&self) -> bool {
        !self.cookies.is_empty()
    }

    /// What a member behind the question mark says; nothing when it is empty.
    #[must_use]
    pub fn asked_for(&self, name: &str) -> Option<&str> {
        value(&self.query, name)
    }

    /// What was filled in somewhere; nothing when it is empty.
    #[must_use]
    pub fn filled_in(&self, name: &str) -> Option<&str> {
        value(&self.form, name)
    }

    /// A cookie.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        value(&self.cookies, name)
    }

    /// The fields that were filled in, but for these.
    #[must_use]
    pub fn fields_without(&self, left_out: &[&str]) -> Vec<(String, String)> {
        let kept = self.form.iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
        kept.cloned().collect()
    }

    /// Whether the form is one that we gave to whoever has this secret.
    #[must_use]
    pub fn proves(&self, secret: &str) -> bool {
        // Nothing filled in proves nothing: the proof of a secret is never empty.
        let shown = self.filled_in(PROOF).unwrap_or_default();
        let right: bool = shown.as_bytes().ct_eq(proof(secret).as_bytes()).into();
        right && !self.is_foreign
    }
}

/// What stands in the forms of whoever has a secret. It is of no use for coming in.
#[must_use]
pub fn proof(secret: &str) -> String {
    tradepost_dealer::consent::hex(&digest("form", secret))
}

/// The hash under which a session is kept.
#[must_use]
pub fn session_hash(secret: &str) -> Sha256Hash {
    digest("session", secret)
}

pub(super) fn digest(purpose: &str, secret: &str) -> Sha256Hash {
    let mut hasher = Sha256::new();
    hasher.update(format!("tradepost console {purpose}\n"));
    hasher.update(secret);
    hasher.finalize().into()
}

fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

/// Reads what a query or a form says.
fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(bytes).into_owned().collect()
}

fn cookies(headers: &HeaderMap) -> Vec<(String, String)> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}
