//! Which release of AdCP a caller is answered in. The answers themselves know one release;
//! [`release`](tradepost_wire::adcp::release) has what others say otherwise.

use tradepost_wire::adcp::error::{AdcpCode, AdcpError, AdcpRelease};
use tradepost_wire::adcp::signing::DigestRule;
use tradepost_wire::json::{Map, Value, json};

use crate::profile::PublisherProfile;
use crate::refuse::{self, ToolError};

/// What this seller speaks; first that in which it answers whoever names none.
pub(crate) fn spoken(profile: &PublisherProfile) -> Vec<AdcpRelease> {
    let mut releases = vec![AdcpRelease::V3_1, AdcpRelease::V3_2, AdcpRelease::V3_0];
    // In 3.2 every signature covers the body (`covers_content_digest`, "MUST explicitly emit
    // 'required'"), and who verifies is set up by an operator and not by what a request says.
    let digest = profile.signing.requests.as_ref().map(|requests| requests.digest);
    if digest.is_some_and(|digest| digest != DigestRule::Required) {
        releases.retain(|release| *release != AdcpRelease::V3_2);
    }
    releases
}

/// The release that a request is answered in: the one that it names, or ours when it names none. One of
/// our own line that we do not speak is met with the highest that we do (`D-6`; `adcp_version`,
/// "downshifts to the highest supported release within the same major").
///
/// # Errors
/// `VERSION_UNSUPPORTED`.
pub(crate) fn of(profile: &PublisherProfile, arguments: &Map) -> Result<AdcpRelease, ToolError> {
    let spoken = spoken(profile);
    let highest = || spoken.iter().copied().max().unwrap_or(AdcpRelease::V3_1);
    match named(arguments) {
        NamedVersion::Nothing => Ok(AdcpRelease::V3_1),
        NamedVersion::Minor(0) => Ok(AdcpRelease::V3_0),
        NamedVersion::Minor(1) => Ok(AdcpRelease::V3_1),
        NamedVersion::Minor(_) => Ok(highest()),
        NamedVersion::Foreign => Err(unsupported(&spoken).into()),
    }
}

/// The release whose words a caller knows, where 3.1 and 3.2 say the same: those of refusals before
/// any publisher is reached, and those of the ends of tasks.
pub(crate) fn codes(arguments: &Map) -> AdcpRelease {
    match named(arguments) {
        NamedVersion::Minor(0) => AdcpRelease::V3_0,
        NamedVersion::Nothing | NamedVersion::Minor(_) | NamedVersion::Foreign => AdcpRelease::V3_1,
    }
}

/// What a request names.
enum NamedVersion {
    Nothing,
    /// A release of our own line.
    Minor(u64),
    /// One of another line.
    Foreign,
}

fn named(arguments: &Map) -> NamedVersion {
    let named = arguments.get("adcp_version").and_then(Value::as_str);
    let major = arguments.get("adcp_major_version").and_then(Value::as_u64);
    // What is no version at all is for the schema to refuse.
    let parts = named.and_then(|text| {
        // What comes before a release (`3.2-rc.1`) is met as the release itself.
        let (release, _) = text.split_once('-').unwrap_or((text, ""));
        let (major, minor) = release.split_once('.')?;
        Some((major.parse::<u64>().ok()?, minor.parse::<u64>().ok()?))
    });
    match (parts, major) {
        (Some((3, minor)), None | Some(3)) => NamedVersion::Minor(minor),
        (None, None | Some(3)) => NamedVersion::Nothing,
        // Two members that contradict each other are met like a line that is not spoken.
        (Some(_), _) | (None, Some(_)) => NamedVersion::Foreign,
    }
}

fn unsupported(spoken: &[AdcpRelease]) -> AdcpError {
    let message = "this seller does not speak that release of AdCP; name one of \
                   details.supported_versions in adcp_version";
    let error = refuse::error(AdcpCode::VersionUnsupported, message);
    error.with("supported_versions", names(spoken)).with("supported_majors", json!([3]))
}

/// The names of releases, as they are published.
pub(crate) fn names(releases: &[AdcpRelease]) -> Value {
    use tradepost_wire::catalog::Vocabulary as _;
    releases.iter().map(|release| Value::from(release.name())).collect()
}
