//! The port to ad servers: what a publisher's server asks of one ([`AdServer`]), and how it can fail
//! ([`AdServerError`]). Each adapter is a module of its own, and [`connect`] makes the one that
//! [`AdServerSettings`] name. Requests are sent by the outbox of the publisher, never inside a buyer's
//! request.

mod connect;
mod settings;

pub mod deals;
mod google_ad_manager;
mod http_contract;
mod kevel;

mod check;
mod client;
mod naming;
mod pending_reports;
mod place_targeting;
mod port;

pub use connect::connect;
pub use port::{
    AdServer, AdServerError, AdServerResult, Availability, InventoryItem, PackageProblem,
    RefusalReason, RemoteStateChange,
};
pub use settings::{
    AdServerKind, AdServerSettings, ConnectError, GOOGLE_SOAP_URL, GOOGLE_URL, SettingProblem,
};
