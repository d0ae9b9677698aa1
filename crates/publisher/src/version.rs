//! Which release of AdCP a caller is pinned to.

use tradepost_wire::adcp::error::{Code, Error, Release};
use tradepost_wire::json::{Map, Value, json};

use crate::refuse::{self, Stop};

/// What this seller speaks, the newest first.
pub(crate) const SUPPORTED: [&str; 2] = ["3.1", "3.0"];

/// The release that a request names; ours when it names none. A release of our own line that we do
/// not know by its minor number is met with what we have (`D-6`).
///
/// # Errors
/// `VERSION_UNSUPPORTED`.
pub(crate) fn of(arguments: &Map) -> Result<Release, Stop> {
    let named = arguments.get("adcp_version").and_then(Value::as_str);
    let major = arguments.get("adcp_major_version").and_then(Value::as_u64);
    // What is no version at all is for the schema to refuse.
    let parts = named.and_then(|text| {
        let (release, _) = text.split_once('-').unwrap_or((text, ""));
        let (major, minor) = release.split_once('.')?;
        Some((major.parse::<u64>().ok()?, minor.parse::<u64>().ok()?))
    });
    let release = match (parts, major) {
        (Some((3, 0)), None | Some(3)) => Some(Release::V3_0),
        (Some((3, _)) | None, None | Some(3)) => Some(Release::V3_1),
        (Some(_), _) | (None, Some(_)) => None,
    };
    release.ok_or_else(|| unsupported().into())
}

fn unsupported() -> Error {
    let message = "this seller does not speak that release of AdCP; name one of \
                   details.supported_versions in adcp_version";
    let error = refuse::error(Code::VersionUnsupported, message);
    let error = refuse::with(error, "supported_versions", json!(SUPPORTED));
    refuse::with(error, "supported_majors", json!([3]))
}
