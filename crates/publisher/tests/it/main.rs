//! The publisher without a network: requests go in, whole answers come out.

mod accounts;
mod audiences;
mod capabilities;
mod controller;
mod creatives;
mod events;
mod leaks;
mod plans;
mod properties;
mod sessions;
mod support;
