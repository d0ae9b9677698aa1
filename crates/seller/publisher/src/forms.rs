//! Requests as types. A tool gets its form and never reads the raw arguments: each member that it
//! uses is declared in the form once, and a test compares the forms with the schemas. Only members
//! that are repeated in a reply or stored as sent stay JSON. The form of the test controller is with the
//! rest of it, in `test_controller/arguments.rs`.

use tradepost_document::typed_struct;

use crate::money::MoneyAmount;
use crate::store::Order;

pub(crate) mod accounts;
pub(crate) mod audiences;
pub(crate) mod buys;
pub(crate) mod creatives;
pub(crate) mod plans;
pub(crate) mod products;
pub(crate) mod properties;
pub(crate) mod sessions;
pub(crate) mod signals;
pub(crate) mod tasks;
pub(crate) mod vendors;

typed_struct! {
    /// Page of a list (`core/pagination-request.json`).
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

tradepost_document::words! {
    /// Sort direction of a list (`enums/sort-direction.json`).
    pub(crate) enum Direction {
        /// Lowest first.
        Asc = "asc",
        /// Highest first.
        Desc = "desc",
    }
}

impl Direction {
    /// Returns the direction of a list by creation time.
    pub(crate) const fn from_order(order: Order) -> Self {
        match order {
            Order::Oldest => Self::Asc,
            Order::Newest => Self::Desc,
        }
    }

    /// Returns the order of a list by creation time.
    pub(crate) const fn order(self) -> Order {
        match self {
            Self::Asc => Order::Oldest,
            Self::Desc => Order::Newest,
        }
    }
}
