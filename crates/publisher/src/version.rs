//! Which release of AdCP a caller is pinned to.

use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::{Code, Error, Release};

use crate::refuse::{self, Stop};

/// What this seller speaks, the newest first.
pub(crate) const SUPPORTED: [&str; 2] = ["3.1", "3.0"];

/// The release in which a request is answered: the one that it names, or ours when it names none. A
/// later one of our own line is met with the last that we have (`D-6`; docs/reference/versioning);
/// what comes before a release is none that we have, unless it came before one of ours.
///
/// # Errors
/// `VERSION_UNSUPPORTED`.
pub(crate) fn of(arguments: &Map<String, Value>) -> Result<Release, Stop> {
    let named = arguments.get("adcp_version").and_then(Value::as_str);
    let major = arguments.get("adcp_major_version").and_then(Value::as_u64);
    // What is no version at all is for the schema to refuse.
    let parts = named.and_then(|text| {
        let (release, before) = text.split_once('-').unwrap_or((text, ""));
        let (major, minor) = release.split_once('.')?;
        Some((major.parse::<u64>().ok()?, minor.parse::<u64>().ok()?, before.is_empty()))
    });
    let release = match (parts, major) {
        (Some((3, 0, _)), None | Some(3)) => Some(Release::V3_0),
        (Some((3, 1, _) | (3, _, true)), None | Some(3)) | (None, None | Some(3)) => {
            Some(Release::V3_1)
        }
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
