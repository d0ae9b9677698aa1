//! Our own buyer at the publisher, over both bindings.

use tradepost_adcp::error::AdcpCode;
use tradepost_client::transport::TransportLimits;
use tradepost_client::{AdcpClient, CallFailure, HttpTransport};
use tradepost_document::json::{Map, Value, json};

use crate::support::publisher::{self, token};

fn arguments(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

#[test]
fn our_own_buyer_gets_answers_and_refusals_over_mcp() {
    let publisher = publisher::start();
    let address = format!("http://{}/mcp", publisher.address);
    let ids = fastrand::Rng::with_seed(7);
    let client =
        AdcpClient::mcp(HttpTransport::new(TransportLimits::default()), &address, ids).unwrap();
    // The seller is to say no, and not the check before sending.
    let client = client.unchecked();
    let client = client.with_token(token("acme").unwrap()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = |tool: &'static str, value| runtime.block_on(client.call(tool, arguments(value)));
    let answered = call("get_adcp_capabilities", json!({})).unwrap();
    assert_eq!(answered.payload["status"], "completed");
    let failure = call("get_products", json!({"buying_mode": "barter"})).unwrap_err();
    let code = failure.adcp().and_then(|error| error.code.known());
    assert_eq!(code, Some(AdcpCode::ValidationError), "{failure:?}");
    assert!(matches!(failure, CallFailure::Refused(_)));
}
