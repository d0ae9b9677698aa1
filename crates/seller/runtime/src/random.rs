//! Randomness of the operating system, for secrets.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tradepost_server::fault::InternalError;

/// Returns a random text of 256 bits.
///
/// # Errors
/// When the operating system has no randomness.
pub fn token() -> Result<String, InternalError> {
    Ok(URL_SAFE_NO_PAD.encode(bytes::<32>()?))
}

/// Returns random bytes.
///
/// # Errors
/// When the operating system has no randomness.
pub fn bytes<const N: usize>() -> Result<[u8; N], InternalError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        InternalError::new("reading the operating system's randomness", error.to_string())
    })?;
    Ok(bytes)
}
