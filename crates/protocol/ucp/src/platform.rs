//! The platform that calls: the address of its profile and the version that it speaks, by the header `UCP-Agent` or the
//! metadata of an MCP request.
//!
//! The profile is not fetched here.

use tradepost_document::json::{Map, Value};

use crate::VERSION;
use crate::error::{UcpCode, UcpRefusal};

/// Name of the header.
pub const HEADER: &str = "ucp-agent";

/// Maximum length of the address of a profile, in bytes.
const MAX_ADDRESS: usize = 2048;

/// Checks the values of the header `UCP-Agent`, a dictionary of RFC 8941 with the member `profile`. A `version` beside it,
/// as a member or as a parameter, has to be ours.
///
/// # Errors
/// `invalid_profile_url`, or `version_unsupported`.
pub fn check_header<'h>(values: impl IntoIterator<Item = &'h [u8]>) -> Result<(), UcpRefusal> {
    let values: Option<Vec<_>> =
        values.into_iter().map(|value| std::str::from_utf8(value).ok()).collect();
    let values = values.unwrap_or_default();
    if values.is_empty() {
        return Err(invalid("name your profile in the header UCP-Agent: profile=\"https://…\""));
    }
    // A repeated header is one list (RFC 8941 §4.2).
    let Some(entries) = read_dictionary(&values.join(", ")) else {
        return Err(invalid(
            "the header UCP-Agent must be a dictionary (RFC 8941) such as profile=\"https://…\"",
        ));
    };
    let find = |name: &str| entries.iter().rev().find(|entry| entry.name == name);
    let Some(profile) = find("profile").and_then(|entry| entry.value.as_deref()) else {
        return Err(invalid("the header UCP-Agent must have profile, a text in quotation marks"));
    };
    check_address(profile)?;
    check_version(find("version").and_then(|entry| entry.value.as_deref()))
}

/// Checks the metadata of an MCP request, `meta["ucp-agent"]`.
///
/// # Errors
/// `invalid_profile_url`, or `version_unsupported`.
pub fn check_metadata(arguments: &Map) -> Result<(), UcpRefusal> {
    let agent = arguments.get("meta").and_then(|meta| meta.get("ucp-agent"));
    let member = |name: &str| agent.and_then(|agent| agent.get(name)).and_then(Value::as_str);
    let Some(profile) = member("profile") else {
        return Err(invalid("name your profile in meta[\"ucp-agent\"].profile, an https address"));
    };
    check_address(profile)?;
    check_version(member("version"))
}

fn invalid(content: &str) -> UcpRefusal {
    UcpRefusal::new(UcpCode::InvalidProfileUrl, content)
}

fn check_address(profile: &str) -> Result<(), UcpRefusal> {
    // Profiles are served over HTTPS (UCP overview, "Profile Requirements").
    let host = profile.strip_prefix("https://").unwrap_or_default();
    let is_host = host.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '[');
    if is_host && profile.len() <= MAX_ADDRESS && tradepost_document::format::is_uri(profile) {
        return Ok(());
    }
    Err(invalid("the profile must be an https address, of at most 2048 characters"))
}

fn check_version(version: Option<&str>) -> Result<(), UcpRefusal> {
    match version {
        None => Ok(()),
        Some(version) if version == VERSION => Ok(()),
        Some(_) => {
            let content =
                format!("this version is not spoken here; this business speaks {VERSION}");
            Err(UcpRefusal::new(UcpCode::VersionUnsupported, content))
        }
    }
}

/// A member or a parameter of a dictionary. Only texts keep their value.
#[derive(Debug, PartialEq)]
struct DictionaryEntry {
    name: String,
    value: Option<String>,
}

/// Reads a dictionary of RFC 8941 §3.2, members and their parameters in one list; `None` where it is malformed.
fn read_dictionary(text: &str) -> Option<Vec<DictionaryEntry>> {
    let mut entries = Vec::new();
    let mut rest = text.trim();
    loop {
        rest = read_entry(rest, &mut entries)?;
        while let Some(parameter) = rest.strip_prefix(';') {
            rest = read_entry(parameter.trim_start_matches(' '), &mut entries)?;
        }
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(entries);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// Reads `name`, `name=value` or `name="text"`, and returns the rest.
fn read_entry<'t>(text: &'t str, entries: &mut Vec<DictionaryEntry>) -> Option<&'t str> {
    let is_name = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-.*".contains(letter)
    };
    let length = text.find(|letter| !is_name(letter)).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(length)?;
    let is_key = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '*');
    if !is_key {
        return None;
    }
    let name = name.to_owned();
    let Some(value) = rest.strip_prefix('=') else {
        entries.push(DictionaryEntry { name, value: None });
        return Some(rest);
    };
    let Some(quoted) = value.strip_prefix('"') else {
        // A number, a token, a flag or bytes, none of which is read here.
        let length = value.find([',', ';', ' ', '\t']).unwrap_or(value.len());
        entries.push(DictionaryEntry { name, value: None });
        return value.get(length..).filter(|_| length > 0);
    };
    let mut content = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => {
                entries.push(DictionaryEntry { name, value: Some(content) });
                return quoted.get(at + 1..);
            }
            '\\' => content.push(letters.next().map(|(_, escaped)| escaped)?),
            ' '..='~' => content.push(letter),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    fn code(header: &str) -> Option<UcpCode> {
        check_header([header.as_bytes()]).err().map(|refusal| refusal.code)
    }

    #[test]
    fn the_header_names_a_profile_and_perhaps_our_version() {
        const INVALID: Option<UcpCode> = Some(UcpCode::InvalidProfileUrl);
        const OTHER: Option<UcpCode> = Some(UcpCode::VersionUnsupported);
        for (header, expected) in [
            (r#"profile="https://agent.example/profile""#, None),
            (r#"  profile="https://agent.example/p"; v=1 , other=?1, flag"#, None),
            (r#"version="2026-04-08", profile="https://agent.example/p""#, None),
            (r#"profile="https://agent.example/p"; version="2026-04-08""#, None),
            (r#"profile="https://agent.example/p";version="2026-01-11""#, OTHER),
            (r#"profile="https://agent.example/p", version="2099-01-01""#, OTHER),
            (r#"profile="http://agent.example/p""#, INVALID),
            (r#"profile="https://""#, INVALID),
            (r#"profile="https:///etc/passwd""#, INVALID),
            (r#"profile="https://a.example/a b""#, INVALID),
            (r#"profile="not an address""#, INVALID),
            (r#"profile="""#, INVALID),
            (r#"profile="https://agent.example"#, INVALID),
            ("profile=https://agent.example", INVALID),
            (r#"Profile="https://agent.example""#, INVALID),
            (r#"profile="https://agent.example" profile"#, INVALID),
            ("profile", INVALID),
            (",", INVALID),
            ("", INVALID),
        ] {
            assert_eq!(code(header), expected, "{header}");
        }
        assert_eq!(check_header([]).unwrap_err().code, UcpCode::InvalidProfileUrl);
        let long = format!("profile=\"https://a.example/{}\"", "a".repeat(3000));
        assert_eq!(code(&long), INVALID);
        assert_eq!(check_header([&b"\xff"[..]]).unwrap_err().code, UcpCode::InvalidProfileUrl);
    }

    #[test]
    fn a_repeated_header_is_one_list() {
        let values = [&br#"profile="https://a.example/p""#[..], br#"version="2025-01-01""#];
        assert_eq!(check_header(values).unwrap_err().code, UcpCode::VersionUnsupported);
    }

    #[test]
    fn the_metadata_names_the_same() {
        const INVALID: Option<UcpCode> = Some(UcpCode::InvalidProfileUrl);
        for (meta, expected) in [
            (json!({"ucp-agent": {"profile": "https://agent.example/p"}}), None),
            (
                json!({"ucp-agent": {"profile": "https://agent.example/p", "version": "2026-01-11"}}),
                Some(UcpCode::VersionUnsupported),
            ),
            (json!({"ucp-agent": {"profile": "ftp://agent.example/p"}}), INVALID),
            (json!({"ucp-agent": {"profile": 7}}), INVALID),
            (json!({"ucp-agent": "https://agent.example/p"}), INVALID),
            (json!({}), INVALID),
            (Value::Null, INVALID),
        ] {
            let arguments = Map::from_iter([("meta".to_owned(), meta)]);
            let found = check_metadata(&arguments).err().map(|refusal| refusal.code);
            assert_eq!(found, expected, "{arguments:?}");
        }
    }
}
