//! What headers of HTTP say, read alike on both sides.

pub mod date;
mod media_type;
pub mod trace;

pub use media_type::MediaType;
