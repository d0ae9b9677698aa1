//! The wire crate against what is published: schemas, tables, catalogs. What is published lies
//! beside the workspace; where it is absent, the tests that need it say so and pass.

mod cases;
mod catalogs;
mod dependencies;
mod docs;
mod equivalence;
mod hostile;
mod mutate;
mod oracle;
mod published;
mod secrets;
mod seeds;
