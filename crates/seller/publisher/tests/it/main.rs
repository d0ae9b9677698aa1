//! The publisher without a network: requests go in, whole answers come out.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that meets what it does not expect has to fail"
)]

mod accounts;
mod announcements;
mod approvals;
mod audiences;
mod away;
#[path = "../../../../protocol/tests/tests/it/beside.rs"]
mod beside;
mod budgets;
mod buys;
mod capabilities;
mod catalogue;
mod controller;
mod creatives;
mod deals;
mod delivery;
mod events;
mod exclusive;
mod formats;
mod gates;
mod governance;
mod health;
mod history;
mod idempotency;
mod inventory;
mod leaks;
mod order_check;
mod plans;
mod products;
mod properties;
mod proposals;
mod purchases;
mod reported;
mod reporting;
mod response_cache;
mod sales;
mod searches;
mod sessions;
mod signals;
mod staff;
mod storyboards;
mod support;
mod tasks;
mod twins;
mod updates;
mod upstream;
mod versions;
