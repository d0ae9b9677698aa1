//! Media buys: `create_media_buy`, `update_media_buy` and `get_media_buys`.

use super::{Prepared, Reply, Work, unsupported};
use crate::admit::Admitted;
use crate::ask::Ask;
use crate::publisher::Publisher;
use crate::refuse::Stop;

/// Does the work of these tools.
pub(super) fn perform(_work: &Work<'_>) -> Result<Reply, Stop> {
    Err(unsupported().into())
}

/// Finds out outside what these tools need before they can work.
pub(super) async fn prepare(
    _publisher: &Publisher,
    _ask: &Ask,
    _admitted: &Admitted,
) -> Result<Prepared, Stop> {
    Ok(Prepared::default())
}
