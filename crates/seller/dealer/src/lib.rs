//! A car dealer on the Auto Agent Protocol (AAP): inventory, answers to the five skills, leads,
//! consent and appointments. The crate knows no transport, database or clock: the current time is
//! an argument.

// The dealer, and its terms of sale.
pub mod settings;

// Inventory, and answers about it.
pub mod compressed;
pub mod empty_search;
pub mod import;
pub mod inventory;
pub mod price;
pub mod skills;

mod query;

// Leads of customers.
pub mod adf;
pub mod appointment;
pub mod calendar;
pub mod consent;
pub mod delivery;
pub mod lead;
pub mod lead_store;
pub mod local_time;
pub mod record;
pub mod staff;
pub mod week;
