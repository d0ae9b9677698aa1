#![doc = include_str!("../README.md")]

#[macro_use]
mod derive;

pub mod aap;
pub mod acme;
pub mod adagents;
pub mod adcp;
pub mod alerts;
pub mod backup;
pub mod calendar_feed;
pub mod config;
pub mod console_metrics;
pub mod delivery;
pub mod delivery_table;
pub mod empty_searches;
pub mod evidence;
pub mod feeds;
pub mod first_steps;
pub mod gate;
pub mod hosting;
pub mod icalendar;
pub mod lead_export;
pub mod publisher_steps;
pub mod random;
pub mod recorder;
pub mod refusals;
pub mod spreadsheet;
pub mod step_test;
pub mod text_table;
pub mod traces;
pub mod wiring;
