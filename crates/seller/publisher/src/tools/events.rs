//! Conversion events: `sync_event_sources` and `log_event`.

mod log;
mod sources;

pub(super) use log::perform as log;
pub(super) use sources::perform as sync_sources;
