//! How the HTTP+JSON binding writes a request (A2A §11.3, §11.5): method and path say which
//! operation is meant, and path, query and body together are its parameters.

pub use params::read as params;
pub use route::{Target, find};

mod params;
mod route;
