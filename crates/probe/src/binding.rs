//! The bindings of A2A that can be probed, and where the card says that they are.

use reqwest::Url;
use tradepost_buyer::card::Interface;
use tradepost_buyer::discover::endpoint;
use tradepost_buyer::failure::Failure;

use super::grpc;

/// A binding of A2A that can be probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

impl Binding {
    /// All of them, in the order in which they are probed.
    pub(crate) const ALL: [Self; 3] = [Self::JsonRpc, Self::Rest, Self::Grpc];

    /// As the card writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::Rest => "HTTP+JSON",
            Self::Grpc => "GRPC",
        }
    }

    /// The binding that the card calls so.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|binding| binding.name() == name)
    }
}

/// An interface of the card that can be probed.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) binding: Binding,
    pub(crate) url: Url,
    pub(crate) declared: Interface,
}

/// The address of an interface, when it may be used.
pub(super) fn address(card: &Url, binding: Binding, interface: &Interface) -> Result<Url, Failure> {
    match binding {
        Binding::JsonRpc | Binding::Rest => endpoint(card, interface),
        Binding::Grpc => grpc::address(card, interface),
    }
}
