//! The publisher without a network: requests go in, whole answers come out.

mod capabilities;
mod formats;
mod products;
mod proposals;
mod signals;
mod support;
mod upstream;
