//! Command line of the program. It depends on all other crates, and none depends on it.

pub mod cli;
pub mod demo;
pub mod doctor;
pub mod product_table;
pub mod test_sale;
