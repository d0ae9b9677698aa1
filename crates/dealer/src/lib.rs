//! A car dealer on the Auto Agent Protocol: what it offers, what it answers, which leads it has taken and
//! when it has time for whom. It has never heard of a transport, of a database or of a clock: whoever
//! asks says what time it is.

// Who the dealer is, and on which terms it sells.
pub mod demo;
pub mod settings;

// What it offers, and what it answers about it.
pub mod import;
pub mod inventory;
pub mod packed;
pub mod price;
pub mod skills;

mod query;

// What customers send.
pub mod adf;
pub mod appointment;
pub mod calendar;
pub mod consent;
pub mod delivery;
pub mod lead;
pub mod local_time;
pub mod lot;
pub mod record;
pub mod staff;
