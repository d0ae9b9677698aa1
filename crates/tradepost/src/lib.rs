//! Configuration, wiring and command line of the program. It depends on all other crates, and none
//! depends on it.

#[macro_use]
mod derive;

pub mod aap;
pub mod acme;
pub mod adagents;
pub mod adcp;
pub mod alerts;
pub mod backup;
pub mod calendar_feed;
pub mod cli;
pub mod config;
pub mod console;
pub mod delivery;
pub mod delivery_table;
pub mod doctor;
pub mod empty_searches;
pub mod evidence;
pub mod feeds;
pub mod first_steps;
pub mod gate;
pub mod hosting;
pub mod icalendar;
pub mod lead_export;
pub mod product_table;
pub mod publisher_steps;
pub mod recorder;
pub mod refusals;
pub mod spreadsheet;
pub mod step_test;
pub mod test_sale;
pub mod text_table;
pub mod traces;
pub mod wiring;
