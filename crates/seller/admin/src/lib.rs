#![doc = include_str!("../README.md")]

pub mod actor;
pub mod appointments;
pub mod audit;
pub mod calendar_feeds;
pub mod context;
pub mod decisions;
pub mod delivery;
pub mod feeds;
pub mod hosting;
pub mod inventory;
pub mod keys;
pub mod leads;
pub mod operation;
pub mod people;
pub mod permission;
pub mod privacy;
pub mod probes;
pub mod remote_orders;
pub mod staff_messages;
pub mod steps;
pub mod webhooks;
pub mod week;

pub use actor::Actor;
pub use context::{AdminContext, AdminError, DealerScope, MissingPermission};
pub use operation::AdminOperation;
pub use permission::StaffPermission;
