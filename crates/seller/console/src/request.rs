//! Requests of browsers: path, form, and the cookies of the session.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tradepost_dealer::consent::Sha256Hash;
use tradepost_server::http::intake;

use super::file_form::{self, FormFile};
use super::route::LARGE_FORM;

/// Form field with the proof that the console issued the form.
pub const PROOF: &str = "proof";

/// Header of automatic requests of the script, which are no activity of a person.
const AUTOMATIC_HEADER: &str = "x-tradepost-by-itself";

/// Maximum length of the stored user agent, in characters.
const MAX_USER_AGENT: usize = 200;

/// A parsed request.
#[derive(Debug, Clone)]
pub struct ConsoleRequest {
    /// The method.
    pub method: Method,
    /// Path below the console's, without slashes at its ends.
    pub path: String,
    /// Query parameters.
    query: Vec<(String, String)>,
    /// Form fields.
    form: Vec<(String, String)>,
    /// File of the form.
    file: Option<FormFile>,
    /// Media type of the body, as sent.
    content_type: String,
    /// Address of the client.
    pub address: IpAddr,
    /// User agent, shortened.
    pub browser: String,
    /// True when the page checks for news automatically.
    pub is_automatic: bool,
    /// Entity tags of the copies that the client has, as sent.
    pub if_none_match: Option<String>,
    /// True when another site's page caused the request.
    is_foreign: bool,
    cookies: Vec<(String, String)>,
}

impl ConsoleRequest {
    /// Reads the head of a request for this path, which [`route::path`](super::route::path) has accepted.
    /// The form is empty.
    #[must_use]
    pub fn from_head(parts: &Parts, path: &str, trust_forwarded_for: bool) -> Self {
        let headers = &parts.headers;
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let browser = text("user-agent").unwrap_or_default();
        Self {
            method: parts.method.clone(),
            path: path.to_owned(),
            query: pairs(parts.uri.query().unwrap_or_default().as_bytes()),
            form: Vec::new(),
            file: None,
            content_type: text("content-type").unwrap_or_default().to_owned(),
            address: intake::address_of(trust_forwarded_for, headers, &parts.extensions),
            browser: browser.chars().filter(|c| !c.is_control()).take(MAX_USER_AGENT).collect(),
            is_automatic: headers.contains_key(AUTOMATIC_HEADER),
            if_none_match: text("if-none-match").map(str::to_owned),
            // Browsers send this header since 2023; the proof and the cookie's SameSite protect without it.
            is_foreign: matches!(text("sec-fetch-site"), Some("cross-site" | "same-site")),
            cookies: cookies(headers),
        }
    }

    /// Returns the request with the fields of a form.
    #[must_use]
    pub fn with_form(&self, body: &[u8]) -> Self {
        Self { form: pairs(body), ..self.clone() }
    }

    /// Returns the request with the fields and the file of a form that has one. A body that is cut off has neither, and so
    /// no proof.
    #[must_use]
    pub fn with_file_form(&self, body: &[u8]) -> Self {
        if !file_form::is_one(&self.content_type) {
            // Only a file makes a form large.
            return self.with_form(if body.len() > LARGE_FORM { &[] } else { body });
        }
        let read = file_form::read(&self.content_type, body).unwrap_or_default();
        Self { form: read.fields, file: read.file, ..self.clone() }
    }

    /// Returns the file of the form.
    pub(super) fn file(&self) -> Option<&FormFile> {
        self.file.as_ref()
    }

    /// Returns true when the request is a sign-in form with a password or a code.
    #[must_use]
    pub fn is_sign_in_form(&self) -> bool {
        self.method == Method::POST && matches!(self.path.as_str(), "sign-in" | "sign-in/code")
    }

    /// Returns true when the request has any cookie. Each form of the console is issued with one.
    #[must_use]
    pub fn has_cookies(&self) -> bool {
        !self.cookies.is_empty()
    }

    /// Returns a query parameter; `None` when it is empty.
    #[must_use]
    pub fn asked_for(&self, name: &str) -> Option<&str> {
        value(&self.query, name)
    }

    /// Returns a form field; `None` when it is empty.
    #[must_use]
    pub fn filled_in(&self, name: &str) -> Option<&str> {
        value(&self.form, name)
    }

    /// Returns all values of a form field that occurs several times.
    pub fn all_filled_in<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.form.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.trim())
    }

    /// Returns a cookie.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        value(&self.cookies, name)
    }

    /// Returns the form fields except these.
    #[must_use]
    pub fn fields_without(&self, left_out: &[&str]) -> Vec<(String, String)> {
        let kept = self.form.iter().filter(|(name, _)| !left_out.contains(&name.as_str()));
        kept.cloned().collect()
    }

    /// Returns true when the console issued the form to the holder of this secret.
    #[must_use]
    pub fn proves(&self, secret: &str) -> bool {
        // An empty proof is never valid, because the proof of a secret is not empty.
        let shown = self.filled_in(PROOF).unwrap_or_default();
        let right: bool = shown.as_bytes().ct_eq(proof(secret).as_bytes()).into();
        right && !self.is_foreign
    }
}

/// Returns the proof for the forms of a session. It does not give access.
#[must_use]
pub fn proof(secret: &str) -> String {
    tradepost_dealer::consent::hex(&digest("form", secret))
}

/// Returns the hash by which the store knows a session.
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

/// Parses a query or a form.
fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(bytes).into_owned().collect()
}

fn cookies(headers: &HeaderMap) -> Vec<(String, String)> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect()
}
