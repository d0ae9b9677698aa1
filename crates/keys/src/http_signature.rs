//! HTTP message signatures (RFC 9421), as far as both sides of a request must agree on them: what a
//! signature says of itself, the text that it covers, and the digest of the body (RFC 9530). What
//! is demanded of a signature is a profile's matter ([`crate::adcp`]).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

mod target;

pub use target::{BadTarget, Target};

/// How many members a header with several signatures or digests may have.
const MAX_MEMBERS: usize = 8;

/// How many components a signature may cover.
const MAX_COMPONENTS: usize = 32;

/// A header, or what it stands for, is not in the form that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

/// A request, as far as a signature can cover it.
#[derive(Debug, Clone, Copy)]
pub struct Message<'m> {
    /// The method, in capitals.
    pub method: &'m str,
    /// Where it goes, as the sender meant it.
    pub target: &'m Target,
    /// The header lines, with their names in lower case, in the order in which they came.
    pub fields: &'m [(&'m str, &'m str)],
}

impl<'m> Message<'m> {
    /// The lines of a header.
    pub fn lines(&self, name: &str) -> impl Iterator<Item = &'m str> {
        let fields = self.fields.iter().filter(move |(known, _)| *known == name);
        fields.map(|(_, value)| value.trim_matches([' ', '\t']))
    }

    /// A header, its lines joined (RFC 9110 §5.3); `None` when there is none.
    ///
    /// # Errors
    /// When it has something that is not ASCII.
    pub fn field(&self, name: &str) -> Result<Option<String>, Malformed> {
        let lines: Vec<&str> = self.lines(name).collect();
        let plain = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
        if !lines.iter().all(|line| line.bytes().all(plain)) {
            return Err(Malformed("a header has characters that are not ASCII"));
        }
        Ok((!lines.is_empty()).then(|| lines.join(", ")))
    }

    /// The text that a signature with these terms covers (RFC 9421 §2.5).
    ///
    /// # Errors
    /// When something that it covers is not there, or is nothing that we know.
    pub fn base(&self, input: &Input) -> Result<String, Malformed> {
        let mut base = String::new();
        for name in &input.components {
            let value = match name.strip_prefix('@') {
                Some(derived) => self.derived(derived),
                None => self.field(name)?,
            };
            let value = value.ok_or(Malformed("a signature covers what is not there"))?;
            base.push_str(&format!("\"{name}\": {value}\n"));
        }
        // The last line has no break behind it (RFC 9421 §2.5).
        base.push_str(&format!("\"@signature-params\": {}", input.text));
        Ok(base)
    }

    /// A derived component (RFC 9421 §2.2).
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

/// What a signature covers and on which terms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    /// As it was sent; it is signed like this (RFC 9421 §2.3).
    pub text: String,
    /// What is covered, in order.
    pub components: Vec<String>,
    /// When it was made, in seconds since 1970.
    pub created: Option<i64>,
    /// Until when it holds, in seconds since 1970.
    pub expires: Option<i64>,
    /// What makes it different from every other.
    pub nonce: Option<String>,
    /// The name of the key.
    pub keyid: Option<String>,
    /// The algorithm.
    pub alg: Option<String>,
    /// What it is for.
    pub tag: Option<String>,
}

impl Input {
    /// Reads `("a" "b");created=1;keyid="k"`. Components with parameters are not read, because no
    /// profile of ours has any. What is spelled in another way than RFC 8941 serialises it is
    /// refused: its text is what was signed, and two readers must not read it differently.
    ///
    /// # Errors
    /// When it is not of this form.
    pub fn read(text: &str) -> Result<Self, Malformed> {
        Self::parse(text).ok_or(Malformed("the terms of a signature are not in their form"))
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
                // None of ours has escapes.
                Some(quoted) => quoted.filter(|(value, _)| !value.contains('\\'))?,
                None => value.split_at(value.find(';').unwrap_or(value.len())),
            };
            if seen.contains(&name) {
                return None;
            }
            seen.push(name);
            let text = quoted.is_some().then_some(value);
            // An integer has at most so many (RFC 8941 §3.3.1).
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

    /// Writes terms of our own, with their text.
    ///
    /// # Panics
    /// Never: names and terms of ours are plain.
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

    /// Whether something is covered.
    #[must_use]
    pub fn covers(&self, name: &str) -> bool {
        self.components.iter().any(|known| known == name)
    }
}

/// The members of a dictionary (RFC 8941 §3.2), each with the text of its value. A name that is
/// there twice is refused: readers differ in which they take.
///
/// # Errors
/// When it is no dictionary, or a larger one than anybody needs.
pub fn dictionary(text: &str) -> Result<Vec<(&str, &str)>, Malformed> {
    const BAD: Malformed = Malformed("a header is no dictionary");
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
            return Err(Malformed("a header names a member twice"));
        }
        members.push((name, value));
    }
    Ok(members)
}

/// The bytes between colons (RFC 8941 §3.3.5). AdCP 3.0 and 3.1 write them in base64url without
/// padding, 3.2 and the RFC in base64 with padding; both say the same bytes, and a mixture is
/// refused.
///
/// # Errors
/// When they are in neither form.
pub fn bytes(text: &str) -> Result<Vec<u8>, Malformed> {
    const BAD: Malformed = Malformed("a header's bytes are not in base64");
    let inside = text.strip_prefix(':').and_then(|text| text.strip_suffix(':')).ok_or(BAD)?;
    let read = if inside.contains(['+', '/', '=']) {
        STANDARD.decode(inside)
    } else {
        // Without those letters the two differ in nothing but the padding, which some leave out.
        URL_SAFE_NO_PAD.decode(inside)
    };
    read.ok().filter(|bytes| !bytes.is_empty()).ok_or(BAD)
}

/// The signature that counts: the one that is named `sig1`, or else the first. Others are somebody
/// else's affair.
///
/// # Errors
/// When the headers are not a pair, or one is not in its form.
pub fn pick(message: &Message<'_>) -> Result<Option<(Input, Vec<u8>)>, Malformed> {
    let (inputs, signatures) = (message.field("signature-input")?, message.field("signature")?);
    let (inputs, signatures) = match (&inputs, &signatures) {
        (None, None) => return Ok(None),
        (Some(inputs), Some(signatures)) => (dictionary(inputs)?, dictionary(signatures)?),
        (Some(_), None) | (None, Some(_)) => {
            return Err(Malformed("Signature and Signature-Input belong together"));
        }
    };
    let named = inputs.iter().find(|(label, _)| *label == "sig1").or_else(|| inputs.first());
    let (label, input) = named.ok_or(Malformed("Signature-Input is empty"))?;
    let signature = signatures.iter().find(|(known, _)| known == label);
    let (_, signature) =
        signature.ok_or(Malformed("Signature lacks what Signature-Input names"))?;
    Ok(Some((Input::read(input)?, bytes(signature)?)))
}

/// The digests that a `Content-Digest` names, by algorithm.
///
/// # Errors
/// When it is not in its form; also when it names an algorithm twice.
pub fn digests(text: &str) -> Result<Vec<(&str, Vec<u8>)>, Malformed> {
    let members = dictionary(text)?;
    members.into_iter().map(|(name, value)| Ok((name, bytes(value)?))).collect()
}

/// A `Content-Digest` of a SHA-256.
#[must_use]
pub fn content_digest(sha256: &[u8; 32]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(sha256))
}

#[cfg(test)]
mod tests;
