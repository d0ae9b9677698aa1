//! The publisher without a network: requests go in, whole answers come out.

mod capabilities;
mod support;
