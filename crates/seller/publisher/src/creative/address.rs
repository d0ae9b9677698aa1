//! Checks the web addresses in a creative's assets before review: an address has to be https on a public
//! host, and its file has to be of the asset's declared type.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::http::web_address::{AddressProblem, HostReach, WebAddress};
use tradepost_document::json::Value;

use super::asset::Placed;
use crate::catalogue::Requirements;
use crate::refusals;

/// File name extensions of images, in lower case.
const IMAGE_EXTENSIONS: &[&str] = &[
    "jpg", "jpeg", "jpe", "jfif", "png", "apng", "gif", "webp", "avif", "svg", "tif", "tiff",
    "bmp", "heic", "pdf", "eps",
];

/// File name extensions of videos and video playlists.
const VIDEO_EXTENSIONS: &[&str] = &[
    "mp4", "m4v", "webm", "mov", "avi", "mkv", "mpg", "mpeg", "ts", "m3u8", "mpd", "ogv", "3gp",
    "flv", "wmv",
];

/// File name extensions of audio files. Some containers hold both audio and video.
const AUDIO_EXTENSIONS: &[&str] = &[
    "mp3", "m4a", "aac", "wav", "ogg", "oga", "opus", "flac", "aif", "aiff", "wma", "mp4", "webm",
];

/// File name extensions of other files. An unknown extension proves nothing: many servers generate images
/// in programs with names of their own.
const OTHER_EXTENSIONS: &[&str] = &[
    // documents and code
    "html", "htm", "xhtml", "js", "mjs", "css", "xml", "json", "txt", "doc", "docx", "xls", "xlsx",
    "swf", "wasm", // archives
    "zip", "gz", "tgz", "bz2", "xz", "tar", "7z", "rar", "iso", // programs
    "exe", "msi", "dll", "scr", "bat", "cmd", "ps1", "sh", "jar", "apk", "ipa", "dmg", "pkg",
    "deb", "rpm", "vbs", "lnk", "hta",
];

/// Names of members that describe an asset and are not shown.
const SKIPPED_MEMBERS: [&str; 2] = ["provenance", "compliance"];

/// Adds a problem for each unusable address of an asset. `allow_http` is true when clear text is accepted in
/// this place.
pub(super) fn check_addresses(placed: &Placed<'_>, allow_http: bool, errors: &mut Vec<AdcpError>) {
    visit_addresses(placed.sent, &placed.at, &mut |field, text| {
        if let Some(message) = address_problem(text, allow_http) {
            errors.push(unsafe_address(field, message));
        }
    });
}

/// Adds a problem when the address or declared format of a media file does not match the asset's type, or the
/// creative format does not list it.
pub(super) fn check_file_type(
    placed: &Placed<'_>,
    requirements: Option<&Requirements>,
    errors: &mut Vec<AdcpError>,
) {
    let asset = &placed.asset;
    let Some(kind) = asset.asset_type.as_deref().and_then(media_extensions) else {
        return;
    };
    let extension = asset.url.as_deref().and_then(|url| WebAddress::read(url).ok()?.extension());
    let named = extension.filter(|extension| is_known_extension(extension));
    let declared = asset.format.as_ref().or(asset.container_format.as_ref());
    let declared = declared.map(|format| format.to_ascii_lowercase());
    let listed: Vec<&str> = requirements.into_iter().flat_map(Requirements::file_types).collect();
    let declared_member = if asset.format.is_some() { "format" } else { "container_format" };
    for (member, file_type) in [("url", named), (declared_member, declared)] {
        let Some(file_type) = file_type else { continue };
        let field = format!("{}.{member}", placed.at);
        if member == "url" && !kind.contains(&file_type.as_str()) {
            let message = "the address names a file of another kind than the asset's type";
            errors.push(refusals::at(AdcpCode::ValidationError, &field, message));
        } else if !listed.is_empty() && !listed.iter().any(|one| is_same_type(one, &file_type)) {
            let message = "the format does not list this type of file";
            let error = refusals::at(AdcpCode::ValidationError, &field, message);
            errors.push(error.with("accepted_values", listed.clone()));
        }
    }
}

/// Calls `visit` with each member that holds an address, and its path.
fn visit_addresses<'a>(value: &'a Value, at: &str, visit: &mut impl FnMut(&str, &'a str)) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if SKIPPED_MEMBERS.contains(&name.as_str()) {
                    continue;
                }
                let field = format!("{at}.{name}");
                match member.as_str() {
                    Some(text) if name == "url" || name.ends_with("_url") => visit(&field, text),
                    _ => visit_addresses(member, &field, visit),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit_addresses(item, &format!("{at}[{index}]"), visit);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the problem of an address as a sentence for the buyer; `None` when it is usable.
fn address_problem(text: &str, allow_http: bool) -> Option<&'static str> {
    let address = match WebAddress::read(text) {
        Ok(address) => address,
        Err(AddressProblem::Form | AddressProblem::Scheme) => {
            return Some("must be an absolute https address without spaces and backslashes");
        }
        Err(AddressProblem::UserInfo) => return Some("must have no user name and no password"),
        Err(AddressProblem::Host) => {
            return Some(
                "must name its host in full; macros may stand in the path and the query only",
            );
        }
        Err(AddressProblem::Port) => return Some("must have a port from 1 to 65535, or none"),
    };
    if address.reach != HostReach::Public {
        return Some("must be on a host of the public Internet");
    }
    let is_clear_text = !address.is_https && !allow_http;
    is_clear_text.then_some("must begin with https://; this seller does not take http here")
}

fn unsafe_address(field: &str, message: &str) -> AdcpError {
    let suggestion = Some("send an https address on a public host".to_owned());
    AdcpError { suggestion, ..refusals::at(AdcpCode::ValidationError, field, message) }
}

/// Returns the file name extensions that fit a type of media asset.
fn media_extensions(asset_type: &str) -> Option<&'static [&'static str]> {
    match asset_type {
        "image" => Some(IMAGE_EXTENSIONS),
        "video" => Some(VIDEO_EXTENSIONS),
        "audio" => Some(AUDIO_EXTENSIONS),
        _ => None,
    }
}

fn is_known_extension(extension: &str) -> bool {
    [IMAGE_EXTENSIONS, VIDEO_EXTENSIONS, AUDIO_EXTENSIONS, OTHER_EXTENSIONS]
        .iter()
        .any(|known| known.contains(&extension))
}

/// Returns true when two names mean the same file type.
fn is_same_type(listed: &str, named: &str) -> bool {
    fn usual(name: &str) -> &str {
        match name {
            "jpeg" | "jpe" | "jfif" => "jpg",
            "tif" => "tiff",
            "m4v" => "mp4",
            "oga" => "ogg",
            "m4a" => "aac",
            other => other,
        }
    }
    usual(&listed.to_ascii_lowercase()) == usual(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_on_public_hosts_is_accepted() {
        for text in [
            "https://cdn.acme.example/a.png",
            "https://t.acme.example/click?cb={CACHEBUSTER}&u=[TIMESTAMP]",
            "https://8.8.8.8/a.png",
        ] {
            assert_eq!(address_problem(text, false), None, "{text}");
        }
        for text in [
            "javascript:alert(1)",
            "javascript://acme.example/%0aalert(1)",
            "data:text/html,<script>alert(1)</script>",
            "file:///etc/passwd",
            "//acme.example/a.png",
            "https://user:secret@acme.example/",
            "https://169.254.169.254/latest/meta-data",
            "https://[fe80::1]/",
            "https://10.0.0.7/a.png",
            "https://localhost/a.png",
            "https://printer.local/a.png",
            "https://intranet/a.png",
            "https://2130706433/",
            "https://{HOST}/a.png",
            "https://acme.example\\@evil.example/",
        ] {
            assert!(address_problem(text, true).is_some(), "{text}");
        }
        let clear_text = "http://cdn.acme.example/a.png";
        assert!(address_problem(clear_text, false).is_some());
        assert_eq!(address_problem(clear_text, true), None);
    }

    #[test]
    fn names_of_one_file_type_are_equal() {
        assert!(is_same_type("jpg", "jpeg"));
        assert!(is_same_type("JPEG", "jpg"));
        assert!(!is_same_type("png", "gif"));
    }
}
