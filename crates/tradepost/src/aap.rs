//! The AAP dealer: what it answers to each skill, and what feeds and follows its leads.

pub mod adf;
pub mod appointment;
pub mod card;
pub mod demo;
pub mod import;
pub mod inventory;
pub mod lead;
pub mod seller;
pub mod skills;
