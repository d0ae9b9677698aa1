//! The bindings of A2A that can be probed, and where the card says that they are.

use reqwest::Url;
pub(crate) use tradepost_buyer::card::Carrier as Binding;
use tradepost_buyer::card::Interface;
use tradepost_buyer::discover::endpoint;
use tradepost_buyer::failure::Failure;

use super::grpc;

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
        Binding::JsonRpc | Binding::HttpJson => endpoint(card, interface),
        Binding::Grpc => grpc::address(card, interface),
    }
}
