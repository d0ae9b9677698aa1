//! The bindings of A2A that can be probed, and their addresses on the card.

use reqwest::Url;
pub(crate) use tradepost_client::card::CardTransport as Binding;
use tradepost_client::card::SellerInterface;
use tradepost_client::discover::endpoint;
use tradepost_client::failure::CallFailure;

use super::grpc;

/// Interface of the card that can be probed.
#[derive(Debug, Clone)]
pub(crate) struct ProbedInterface {
    pub(crate) binding: Binding,
    pub(crate) url: Url,
    pub(crate) declared: SellerInterface,
}

/// Returns the address of an interface, when it may be used.
pub(super) fn address(
    card: &Url,
    binding: Binding,
    interface: &SellerInterface,
) -> Result<Url, CallFailure> {
    match binding {
        Binding::JsonRpc | Binding::HttpJson => endpoint(card, interface),
        Binding::Grpc => grpc::address(card, interface),
    }
}
