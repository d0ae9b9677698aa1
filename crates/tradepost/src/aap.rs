//! The AAP dealer: inventory, leads, appointments and what feeds and follows them.

pub mod adf;
pub mod demo;
pub mod import;
pub mod inventory;
