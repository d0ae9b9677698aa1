//! Address of a request in the canonical form that both sides sign (RFC 3986 §6.2.2 and §6.2.3, and
//! AdCP's rules for comparing URLs).

/// A canonical address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetUri {
    scheme: String,
    authority: String,
    path: String,
    query: Option<String>,
}

/// Reason why an address cannot be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetUriError {
    /// Characters that are not ASCII: international names are written as `xn--…`.
    #[error("the address has characters that are not ASCII")]
    Characters,
    /// No host, or one that two readers could read differently.
    #[error("the address does not name one host")]
    Authority,
    /// Not an absolute web address.
    #[error("the address is not an absolute web address")]
    Shape,
}

impl TargetUri {
    /// Reads an address. User name, password and fragment are left out.
    ///
    /// # Errors
    /// The reason why it cannot be signed.
    pub fn read(url: &str) -> Result<Self, TargetUriError> {
        if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TargetUriError::Characters);
        }
        let (scheme, rest) = url.split_once("://").ok_or(TargetUriError::Shape)?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "https" && scheme != "http" {
            return Err(TargetUriError::Shape);
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let split = rest.split_once('?');
        let (path, query) =
            split.map_or((rest, None), |(path, query)| (path, Some(query.to_owned())));
        let authority = authority_of(&scheme, authority)?;
        Ok(Self { scheme, authority, path: path_of(path), query })
    }

    /// Returns `https` or `http`.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Returns the host, with the port when it is not the scheme's default.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the path, which is never empty.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the query, byte for byte.
    #[must_use]
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// Returns the whole address (`@target-uri`).
    #[must_use]
    pub fn uri(&self) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}://{}{}{query}", self.scheme, self.authority, self.path)
    }
}

fn authority_of(scheme: &str, authority: &str) -> Result<String, TargetUriError> {
    const BAD: TargetUriError = TargetUriError::Authority;
    // The last `@`, because a password may contain one.
    let named = authority.rsplit_once('@').map_or(authority, |(_, named)| named);
    let (host, port) = match named.strip_prefix('[') {
        Some(rest) => {
            let (inside, after) = rest.split_once(']').ok_or(BAD)?;
            // Kept as written except for the case, because an address has many spellings.
            inside.parse::<std::net::Ipv6Addr>().map_err(|_| BAD)?;
            let port = match after {
                "" => None,
                after => Some(after.strip_prefix(':').ok_or(BAD)?),
            };
            (format!("[{}]", inside.to_ascii_lowercase()), port)
        }
        None => {
            let split = named.split_once(':');
            let (host, port) = split.map_or((named, None), |(host, port)| (host, Some(port)));
            // A host with the final dot of the root is the same host.
            let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
            let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&b);
            if host.is_empty() || host.ends_with('.') || !host.bytes().all(plain) {
                return Err(BAD);
            }
            (host, port)
        }
    };
    let port = port.filter(|port| !port.is_empty());
    // Rust parses a number with a sign; a port may not have one.
    if port.is_some_and(|port| port.parse::<u16>().is_err() || port.starts_with('+')) {
        return Err(BAD);
    }
    Ok(match (scheme, port) {
        (_, None) | ("https", Some("443")) | ("http", Some("80")) => host,
        (_, Some(port)) => format!("{host}:{port}"),
    })
}

fn path_of(path: &str) -> String {
    let path = escapes(&without_dots(path));
    if path.is_empty() { "/".to_owned() } else { path }
}

/// Resolves `.` and `..` (RFC 3986 §5.2.4). Empty segments stay: `//` is not `/`.
fn without_dots(path: &str) -> String {
    let mut resolved: Vec<&str> = Vec::new();
    let Some(inside) = path.strip_prefix('/') else { return path.to_owned() };
    let mut segments = inside.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    resolved.pop();
                }
                // At the end of a path it stands for a directory.
                if last {
                    resolved.push("");
                }
            }
            _ => resolved.push(segment),
        }
    }
    format!("/{}", resolved.join("/"))
}

/// Decodes escapes of unreserved characters, and writes the others in capitals.
fn escapes(path: &str) -> String {
    let mut out = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let digits = after.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some((digits, byte)) =
            digits.and_then(|two| Some((two, u8::from_str_radix(two, 16).ok()?)))
        else {
            out.push('%');
            rest = after;
            continue;
        };
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push_str(&digits.to_ascii_uppercase());
        }
        rest = after.get(2..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
