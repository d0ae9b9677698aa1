//! Choice of the AdCP release in which a caller is answered. Answers are made in one release;
//! [`release`](tradepost_adcp::release) has the differences of the others.

use tradepost_adcp::error::{AdcpCode, AdcpError, AdcpRelease};
use tradepost_adcp::signing::DigestRule;
use tradepost_document::json::{Map, Value, json};

use crate::profile::PublisherProfile;
use crate::refusals::{self, ToolError};

/// Returns the releases that this seller speaks; first the one for callers that name none.
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

/// Returns the release in which a request is answered: the one that it names, or 3.1 when it names none. A
/// release of our major version that we do not speak is answered in the highest that we do (`D-6`;
/// `adcp_version`, "downshifts to the highest supported release within the same major").
///
/// # Errors
/// `VERSION_UNSUPPORTED`.
pub(crate) fn choose(
    profile: &PublisherProfile,
    arguments: &Map,
) -> Result<AdcpRelease, ToolError> {
    match named(arguments) {
        NamedVersion::Nothing => Ok(AdcpRelease::V3_1),
        NamedVersion::Minor(0) => Ok(AdcpRelease::V3_0),
        NamedVersion::Minor(1) => Ok(AdcpRelease::V3_1),
        NamedVersion::Minor(_) => {
            Ok(spoken(profile).into_iter().max().unwrap_or(AdcpRelease::V3_1))
        }
        NamedVersion::Foreign => Err(unsupported(&spoken(profile)).into()),
    }
}

/// Returns the release whose words a caller knows, where 3.1 and 3.2 say the same: for refusals before any
/// publisher is reached, and for the ends of tasks.
pub(crate) fn codes(arguments: &Map) -> AdcpRelease {
    match named(arguments) {
        NamedVersion::Minor(0) => AdcpRelease::V3_0,
        NamedVersion::Nothing | NamedVersion::Minor(_) | NamedVersion::Foreign => AdcpRelease::V3_1,
    }
}

/// Version that a request names.
enum NamedVersion {
    Nothing,
    /// A release of our major version, by its minor version.
    Minor(u64),
    /// Another major version, or two members that contradict each other.
    Foreign,
}

fn named(arguments: &Map) -> NamedVersion {
    let named = arguments.get("adcp_version").and_then(Value::as_str);
    let major = arguments.get("adcp_major_version").and_then(Value::as_u64);
    // Text that is not a version is refused by the schema.
    let parts = named.and_then(|text| {
        // A pre-release (`3.2-rc.1`) counts as its release.
        let (release, _) = text.split_once('-').unwrap_or((text, ""));
        let (major, minor) = release.split_once('.')?;
        Some((major.parse::<u64>().ok()?, minor.parse::<u64>().ok()?))
    });
    match (parts, major) {
        (Some((3, minor)), None | Some(3)) => NamedVersion::Minor(minor),
        (None, None | Some(3)) => NamedVersion::Nothing,
        // Two members that contradict each other count as a version that is not spoken.
        (Some(_), _) | (None, Some(_)) => NamedVersion::Foreign,
    }
}

fn unsupported(spoken: &[AdcpRelease]) -> AdcpError {
    let message = "this seller does not speak that release of AdCP; name one of \
                   details.supported_versions in adcp_version";
    let error = refusals::error(AdcpCode::VersionUnsupported, message);
    error.with("supported_versions", names(spoken)).with("supported_majors", json!([3]))
}

/// Returns the names of releases, as published.
pub(crate) fn names(releases: &[AdcpRelease]) -> Value {
    use tradepost_document::catalog::Vocabulary as _;
    releases.iter().map(|release| Value::from(release.name())).collect()
}
