//! HTTP message signatures (RFC 9421): parameters, signature base, and the digest of the body (RFC
//! 9530). Requirements on a signature belong to a profile (module `adcp`, with the
//! feature of that name).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

mod target;

pub use target::{TargetUri, TargetUriError};

/// Maximum number of members of a header with several signatures or digests.
const MAX_MEMBERS: usize = 8;

/// Maximum number of covered components.
const MAX_COMPONENTS: usize = 32;

/// A malformed header or value; with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HttpSignatureError(pub &'static str);

/// The parts of a request that a signature can cover.
#[derive(Debug, Clone, Copy)]
pub struct SignableRequest<'m> {
    /// Method in capitals.
    pub method: &'m str,
    /// Address, as the sender wrote it.
    pub target: &'m TargetUri,
    /// Header lines in their order, with names in lower case.
    pub fields: &'m [(&'m str, &'m str)],
}

impl<'m> SignableRequest<'m> {
    /// Returns the lines of a header.
    pub fn lines(&self, name: &str) -> impl Iterator<Item = &'m str> {
        let fields = self.fields.iter().filter(move |(known, _)| *known == name);
        fields.map(|(_, value)| value.trim_matches([' ', '\t']))
    }

    /// Returns a header with its lines joined (RFC 9110 §5.3); `None` when it is absent.
    ///
    /// # Errors
    /// When it contains characters that are not ASCII.
    pub fn field(&self, name: &str) -> Result<Option<String>, HttpSignatureError> {
        let lines: Vec<&str> = self.lines(name).collect();
        let plain = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
        if !lines.iter().all(|line| line.bytes().all(plain)) {
            return Err(HttpSignatureError("a header has characters that are not ASCII"));
        }
        Ok((!lines.is_empty()).then(|| lines.join(", ")))
    }

    /// Builds the signature base for these parameters (RFC 9421 §2.5).
    ///
    /// # Errors
    /// When a covered component is missing or unknown.
    pub fn base(&self, input: &SignatureInput) -> Result<String, HttpSignatureError> {
        let mut base = String::new();
        for name in &input.components {
            let value = match name.strip_prefix('@') {
                Some(derived) => self.derived(derived),
                None => self.field(name)?,
            };
            let value = value.ok_or(HttpSignatureError("a signature covers what is not there"))?;
            base.push_str(&format!("\"{name}\": {value}\n"));
        }
        // The last line has no line break (RFC 9421 §2.5).
        base.push_str(&format!("\"@signature-params\": {}", input.text));
        Ok(base)
    }

    /// Returns a derived component (RFC 9421 §2.2).
    fn derived(&self, name: &str) -> Option<String> {
        Some(match name {
            "method" => self.method.to_owned(),
            "scheme" => self.target.scheme().to_owned(),
            "authority" => self.target.authority().to_owned(),
            "path" => self.target.path().to_owned(),
            // Without a query it is the question mark alone (RFC 9421 §2.2.7).
            "query" => format!("?{}", self.target.query().unwrap_or_default()),
            "target-uri" => self.target.uri(),
            _ => return None,
        })
    }
}

/// Covered components and parameters of a signature.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignatureInput {
    /// Text as sent, which is itself signed (RFC 9421 §2.3).
    pub text: String,
    /// Covered components in order.
    pub components: Vec<String>,
    /// Time of creation in seconds since 1970.
    pub created: Option<i64>,
    /// Time of expiry in seconds since 1970.
    pub expires: Option<i64>,
    /// Nonce.
    pub nonce: Option<String>,
    /// Key id.
    pub keyid: Option<String>,
    /// Name of the algorithm.
    pub alg: Option<String>,
    /// Purpose of the signature.
    pub tag: Option<String>,
}

impl SignatureInput {
    /// Reads `("a" "b");created=1;keyid="k"`. Components with parameters are refused, because no
    /// supported profile has any. So is a spelling that differs from the serialisation of RFC 8941,
    /// because the text itself is signed, and two readers must not read it differently.
    ///
    /// # Errors
    /// When it has another form.
    pub fn read(text: &str) -> Result<Self, HttpSignatureError> {
        Self::parse(text)
            .ok_or(HttpSignatureError("the terms of a signature are not in their form"))
    }

    fn parse(text: &str) -> Option<Self> {
        let (inside, mut rest) = text.strip_prefix('(')?.split_once(')')?;
        let mut input = Self { text: text.to_owned(), ..Self::default() };
        for item in inside.split(' ') {
            let name = item.strip_prefix('"')?.strip_suffix('"')?;
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"@-_".contains(&b);
            let repeated = input.components.iter().any(|known| known == name);
            if name.is_empty() || !name.bytes().all(plain) || repeated {
                return None;
            }
            input.components.push(name.to_owned());
        }
        if input.components.len() > MAX_COMPONENTS {
            return None;
        }
        let mut seen: Vec<&str> = Vec::new();
        while !rest.is_empty() {
            let (name, value) = rest.strip_prefix(';')?.split_once('=')?;
            let quoted = value.strip_prefix('"').map(|value| value.split_once('"'));
            let (value, after) = match quoted {
                // None of our parameters has escapes.
                Some(quoted) => quoted.filter(|(value, _)| !value.contains('\\'))?,
                None => value.split_at(value.find(';').unwrap_or(value.len())),
            };
            if seen.contains(&name) {
                return None;
            }
            seen.push(name);
            let text = quoted.is_some().then_some(value);
            // An integer has at most 15 digits (RFC 8941 §3.3.1).
            let digits = |text: &&str| (1..=15).contains(&text.len());
            let number = Some(value).filter(digits).filter(|_| text.is_none());
            let number = || number.and_then(|number| number.parse::<i64>().ok());
            let text = text.map(ToOwned::to_owned);
            match name {
                "created" => input.created = Some(number()?),
                "expires" => input.expires = Some(number()?),
                "nonce" => input.nonce = Some(text?),
                "keyid" => input.keyid = Some(text?),
                "alg" => input.alg = Some(text?),
                "tag" => input.tag = Some(text?),
                _ => return None,
            }
            rest = after;
        }
        Some(input)
    }

    /// Serialises parameters of our own, and sets their text.
    ///
    /// # Panics
    /// Never: our own names and values are plain.
    #[must_use]
    pub fn written(self) -> Self {
        let components: Vec<String> =
            self.components.iter().map(|name| format!("\"{name}\"")).collect();
        let mut text = format!("({})", components.join(" "));
        let number = |number: Option<i64>| number.map(|number| number.to_string());
        let quoted = |text: &Option<String>| text.as_ref().map(|text| format!("\"{text}\""));
        for (name, value) in [
            ("created", number(self.created)),
            ("expires", number(self.expires)),
            ("nonce", quoted(&self.nonce)),
            ("keyid", quoted(&self.keyid)),
            ("alg", quoted(&self.alg)),
            ("tag", quoted(&self.tag)),
        ] {
            text.extend(value.map(|value| format!(";{name}={value}")));
        }
        Self { text, ..self }
    }

    /// Returns true when a component is covered.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        self.components.iter().any(|known| known == name)
    }
}

/// Reads the members of a dictionary (RFC 8941 §3.2), each with the text of its value. A repeated
/// name is refused, because readers differ in which value they take.
///
/// # Errors
/// When it is not a dictionary, or has too many members.
pub fn dictionary(text: &str) -> Result<Vec<(&str, &str)>, HttpSignatureError> {
    const BAD: HttpSignatureError = HttpSignatureError("a header is no dictionary");
    let mut quoted = false;
    let ends = |letter: char| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    };
    let parts: Vec<&str> = text.split(ends).collect();
    if quoted || parts.len() > MAX_MEMBERS {
        return Err(BAD);
    }
    let mut members: Vec<(&str, &str)> = Vec::new();
    for part in parts {
        let (name, value) = part.trim_matches([' ', '\t']).split_once('=').ok_or(BAD)?;
        let mut letters = name.bytes();
        let begins = letters.next().is_some_and(|b| b.is_ascii_lowercase() || b == b'*');
        let goes_on = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-.*".contains(&b);
        if !begins || !letters.all(goes_on) || value.is_empty() {
            return Err(BAD);
        }
        if members.iter().any(|(known, _)| *known == name) {
            return Err(HttpSignatureError("a header names a member twice"));
        }
        members.push((name, value));
    }
    Ok(members)
}

/// Reads the bytes between colons (RFC 8941 §3.3.5). AdCP 3.0 and 3.1 write base64url without
/// padding, 3.2 and the RFC base64 with padding; both are accepted, and a mixture is refused.
///
/// # Errors
/// When they have neither form.
pub fn bytes(text: &str) -> Result<Vec<u8>, HttpSignatureError> {
    const BAD: HttpSignatureError = HttpSignatureError("a header's bytes are not in base64");
    let inside = text.strip_prefix(':').and_then(|text| text.strip_suffix(':')).ok_or(BAD)?;
    let read = if inside.contains(['+', '/', '=']) {
        STANDARD.decode(inside)
    } else {
        // Without those characters the two forms differ in the padding only, which some leave out.
        URL_SAFE_NO_PAD.decode(inside)
    };
    read.ok().filter(|bytes| !bytes.is_empty()).ok_or(BAD)
}

/// Returns the signature named `sig1`, or else the first. Others are ignored.
///
/// # Errors
/// When one of the two headers is missing, or one is malformed.
pub fn pick(
    message: &SignableRequest<'_>,
) -> Result<Option<(SignatureInput, Vec<u8>)>, HttpSignatureError> {
    let inputs = message.field("signature-input")?;
    let signatures = message.field("signature")?;
    let (inputs, signatures) = match (&inputs, &signatures) {
        (None, None) => return Ok(None),
        (Some(inputs), Some(signatures)) => (dictionary(inputs)?, dictionary(signatures)?),
        (Some(_), None) | (None, Some(_)) => {
            return Err(HttpSignatureError("Signature and Signature-Input belong together"));
        }
    };
    let named = inputs.iter().find(|(label, _)| *label == "sig1").or_else(|| inputs.first());
    let (label, input) = named.ok_or(HttpSignatureError("Signature-Input is empty"))?;
    let signature = signatures.iter().find(|(known, _)| known == label);
    let (_, signature) =
        signature.ok_or(HttpSignatureError("Signature lacks what Signature-Input names"))?;
    Ok(Some((SignatureInput::read(input)?, bytes(signature)?)))
}

/// Reads the digests of a `Content-Digest`, by algorithm.
///
/// # Errors
/// When it is malformed, or names an algorithm twice.
pub fn digests(text: &str) -> Result<Vec<(&str, Vec<u8>)>, HttpSignatureError> {
    let members = dictionary(text)?;
    members.into_iter().map(|(name, value)| Ok((name, bytes(value)?))).collect()
}

/// Formats a `Content-Digest` with SHA-256.
#[must_use]
pub fn content_digest(sha256: &[u8; 32]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(sha256))
}

#[cfg(test)]
mod tests;
