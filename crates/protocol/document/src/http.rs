//! HTTP headers and web addresses, read alike by both sides.

pub mod address;
pub mod date;
mod media_type;
pub mod own_page;
mod retry_after;
pub mod trace;
pub mod web_address;

pub use media_type::MediaType;
pub use retry_after::RetryAfter;
