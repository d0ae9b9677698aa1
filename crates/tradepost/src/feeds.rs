//! Inventories that arrive by themselves.

pub mod guard;
