//! Requests as types. A tool is handed its form and never looks into the arguments: what it reads of
//! them stands in the form once, and a test proves that the rules see to it. Only what is repeated
//! or kept as it was sent is JSON.

use tradepost_wire::form;

use crate::money::MoneyAmount;

pub(crate) mod accounts;
pub(crate) mod audiences;
pub(crate) mod buys;
pub(crate) mod controller;
pub(crate) mod creatives;
pub(crate) mod plans;
pub(crate) mod products;
pub(crate) mod properties;
pub(crate) mod sessions;
pub(crate) mod signals;
pub(crate) mod tasks;

form! {
    /// Which page of a list (`core/pagination-request.json`).
    pub(crate) struct Pagination {
        max_results: Option<u64>,
        cursor: Option<String>,
    }

    /// An amount with its currency (ISO 4217).
    pub(crate) struct Money {
        amount: MoneyAmount,
        currency: String,
    }
}

tradepost_wire::words! {
    /// In which direction a list is sorted (`enums/sort-direction.json`).
    pub(crate) enum Direction {
        /// The least first.
        Asc = "asc",
        /// The most first.
        Desc = "desc",
    }
}
