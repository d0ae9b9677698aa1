//! The public test vectors (`vectors/` of the workspace) against the engine: the answers come from the catalogs, the
//! expectations from the engine, and `UPDATE_EXPECT=1` writes the files. What a case must come to is stated beside
//! it, or follows from the columns of its code, so that a wrong engine does not only change the files.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has to fail"
)]

#[path = "../../../../protocol/tests/tests/it/beside.rs"]
mod beside;

mod a2a;
mod aap;
mod adcp;
mod hostile;
mod published;
mod vector;
