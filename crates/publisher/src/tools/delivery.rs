//! What was delivered: `get_media_buy_delivery`.

use super::{Reply, Work, unsupported};
use crate::refuse::Stop;

/// Does the work of these tools.
pub(super) fn perform(_work: &Work<'_>) -> Result<Reply, Stop> {
    Err(unsupported().into())
}
