//! The protocol crates against what is published: schemas, tables, catalogs. What is published lies
//! beside the workspace; where it is absent, the tests that need it say so and pass.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "all of this crate is tests, whose helpers the exceptions of clippy.toml do not reach"
)]

mod adcp;
mod adcp_rules;
mod beside;
mod cases;
mod catalogs;
mod circles;
mod dependencies;
mod docs;
mod documentation;
mod equivalence;
mod hostile;
mod layers;
mod mutate;
mod oracle;
mod protobuf;
mod published;
mod requirements;
mod schema;
mod secrets;
mod seeds;
mod vehicles;
