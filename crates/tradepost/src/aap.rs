//! The AAP dealer: what it answers to each skill, and what feeds and follows its leads.

mod answer;
pub mod card;
pub mod conversation;
pub mod inventories;
pub mod seller;
