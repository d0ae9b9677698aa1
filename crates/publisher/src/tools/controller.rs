//! The test controller of a sandbox: `comply_test_controller`.

use super::{Reply, Work, unsupported};
use crate::refuse::Stop;

/// Does the work of these tools.
pub(super) fn perform(_work: &Work<'_>) -> Result<Reply, Stop> {
    Err(unsupported().into())
}
