//! The profile of a business, at `/.well-known/ucp`.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};

use crate::{Capability, VERSION};

/// Path of the profile.
pub const PROFILE_PATH: &str = "/.well-known/ucp";

/// Name of the service that catalogs belong to.
const SHOPPING: &str = "dev.ucp.shopping";

/// Returns the profile of a business with a catalog and without a checkout: `endpoint` is the address of its REST
/// binding, and that of its MCP binding has `/mcp` after it. `further` are members of its own.
#[must_use]
pub fn business_profile(endpoint: &str, capabilities: &[Capability], further: Map) -> Value {
    let base = format!("https://ucp.dev/{VERSION}");
    let service = |transport: &str, schema: &str, endpoint: String| {
        json!({
            "version": VERSION,
            "spec": format!("{base}/specification/overview"),
            "transport": transport,
            "schema": format!("{base}/services/shopping/{schema}"),
            "endpoint": endpoint,
        })
    };
    let services = json!([
        service("rest", "rest.openapi.json", endpoint.to_owned()),
        service("mcp", "mcp.openrpc.json", format!("{endpoint}/mcp")),
    ]);
    let listed = |capability: &Capability| {
        let entry = json!([{
            "version": VERSION,
            "spec": format!("{base}/specification/{}", capability.specification()),
            "schema": format!("{base}/schemas/shopping/{}", capability.schema()),
        }]);
        (capability.name().to_owned(), entry)
    };
    let capabilities: Map = capabilities.iter().map(listed).collect();
    let ucp = json!({
        "version": VERSION,
        "services": {(SHOPPING): services},
        "capabilities": capabilities,
        "payment_handlers": {},
    });
    let profile: Map = std::iter::once(("ucp".to_owned(), ucp)).chain(further).collect();
    profile.into()
}
