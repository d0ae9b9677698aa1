//! Requests of the HTTP+JSON binding (A2A 1.0 §11.3, §11.5): method and path determine the
//! operation, and path, query and body together its parameters.

pub use params::read as params;
pub use route::{MatchedRoute, find};

mod params;
mod route;
