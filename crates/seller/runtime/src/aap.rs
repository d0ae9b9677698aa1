//! AAP dealer: its responses to each skill, and its inventory and leads.

mod answer;
pub mod card;
pub mod conversation;
pub mod directory;
mod envelope;
pub mod inventories;
mod mcp;
pub mod seller;
mod sender;
pub mod ucp;
