//! Folder in which a command keeps its state.

use std::path::Path;

use tradepost_document::json::json;
use tradepost_server::fault::InternalError;

use super::output::CommandFailure;

/// Default folder, in the current folder.
pub const DATA: &str = "tradepost-data";

/// Returns the failure of an unusable folder.
#[must_use]
pub fn unusable(folder: &Path, fault: &InternalError) -> CommandFailure {
    let message = format!("cannot use the data folder {}: {}", folder.display(), fault.chain());
    CommandFailure::new(1, message)
        .hint("name a writable folder with --data")
        .data(json!({"code": "store_unusable"}))
}
