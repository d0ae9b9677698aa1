//! Demo data for `tradepost serve --demo`, the sandbox, tests and benchmarks: a dealer with an inventory and feeds
//! ([`dealer`]), and a publisher with a catalogue ([`publisher`]). All of it is fictional.

pub mod dealer;
pub mod publisher;
