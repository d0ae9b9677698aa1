//! Documents by which assistants and registries find the endpoint of a directory.

use tradepost_aap::Skill;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, object};
use tradepost_document::text::SENTENCE;
use tradepost_mcp::sanitize::{dealer_text, quoted};
use tradepost_server::agent::Agent as _;

use super::{DirectoryAgent, PATH};
use crate::aap::mcp::discovery::RegistryEntry;
use crate::config::ListenOrigin;
use crate::gate::{self, KeyScope};

/// Maximum number of dealers that `llms.txt` names.
const MAX_NAMED: usize = 50;

/// Returns the address of a directory host: a proxy in front of the process speaks TLS on the default port, unless the
/// process does so itself, or the host is this machine.
pub(super) fn base_url(host: &str, origin: ListenOrigin) -> String {
    let port = origin.address.port();
    let is_here = host == "localhost" || host == "127.0.0.1";
    match (origin.secure, is_here) {
        (true, _) if port != 443 => format!("https://{host}:{port}"),
        (false, true) => format!("http://{host}:{port}"),
        (true | false, _) => format!("https://{host}"),
    }
}

/// Returns the name of a dealer in arguments and results: host, port and path of its address, as bridges name it.
pub(super) fn place_of(base_url: &str) -> String {
    base_url.split_once("://").map_or(base_url, |(_, place)| place).to_owned()
}

/// Returns `llms.txt`: what a model can do here.
pub(super) fn llms_text(directory: &DirectoryAgent) -> String {
    let DirectoryAgent { dealers, host, address, .. } = directory;
    let base = address.strip_suffix(PATH).unwrap_or(address);
    let tools: Vec<_> = Skill::ALL.iter().map(|skill| skill.tool_name()).collect();
    let access = match (directory.auth.is_required(), is_open_to_all(directory)) {
        (true, _) => "Callers need a credential of one of the dealers.",
        (false, true) => "Everybody may read. No key is needed.",
        (false, false) => {
            "Everybody may read at dealers that need no key; a key opens those it is for."
        }
    };
    let mut out = format!(
        "# Dealers at {host}\n\n> {count} car dealers, which are searched together.\n\n\
         This address is for AI agents and assistants that ask on behalf of people. {access} A contact request is \
         sent to one dealer, and only after the person has read a consent text and agreed.\n\n\
         - [MCP]({address}): streamable HTTP; the tools are {tools}\n\
         - [Agent cards]({base}/.well-known/api-catalog): A2A with the Auto Agent Protocol, each dealer by itself\n\n\
         ## Dealers\n\n",
        count = dealers.len(),
        tools = tools.join(", "),
    );
    for dealer in dealers.iter().take(MAX_NAMED) {
        // Without square brackets, which would end the text of the link.
        let name = quoted(&dealer_text(&dealer.dealer.terms.name, SENTENCE), SENTENCE);
        out.push_str(&format!("- [{name}]({}/)\n", dealer.base_url));
    }
    if dealers.len() > MAX_NAMED {
        out.push_str(&format!("- and {} more\n", dealers.len() - MAX_NAMED));
    }
    out
}

fn is_open_to_all(directory: &DirectoryAgent) -> bool {
    directory.dealers.iter().all(|dealer| !dealer.auth().is_required())
}

/// Returns the entry for the MCP registry. `None` for a directory without a domain.
pub(super) fn registry_entry(directory: &DirectoryAgent) -> Option<String> {
    let entry = RegistryEntry {
        kind: "dealers",
        title: &format!("Dealers at {}", directory.host),
        description: &format!(
            "{} car dealers: search all of them, and contact one.",
            directory.dealers.len()
        ),
        version: env!("CARGO_PKG_VERSION"),
        website: None,
        needs_bearer: needs_bearer(directory),
        address: &directory.address,
    };
    entry.write()
}

/// Returns true when every caller has to send a bearer credential.
fn needs_bearer(directory: &DirectoryAgent) -> bool {
    let takes = directory.dealers.iter().any(|dealer| dealer.dealer.auth.takes_bearer());
    directory.auth.is_required() && takes
}

/// Returns the metadata of the protected resource (RFC 9728). `None` where no bearer credential is demanded.
pub(super) fn protected_resource(directory: &DirectoryAgent) -> Option<String> {
    if !needs_bearer(directory) {
        return None;
    }
    let mut scopes: Vec<KeyScope> = Vec::new();
    let mut issuers: Vec<&str> = Vec::new();
    for dealer in &directory.dealers {
        for skill in &dealer.dealer.terms.skills {
            let scope = gate::of_skill(*skill);
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        // Issuers are named by an address in OAuth; another name would lead nowhere.
        let issuer = dealer.dealer.auth.jwt.as_ref().map(|jwt| jwt.issuer.as_str());
        let issuer = issuer.filter(|issuer| issuer.starts_with("https://"));
        issuers.extend(issuer.filter(|issuer| !issuers.contains(issuer)));
    }
    let scopes: Value = scopes.into_iter().map(|scope| Value::from(scope.name())).collect();
    let metadata = object!({
        "resource": directory.address,
        "resource_name": format!("Dealers at {}", directory.host),
        "authorization_servers"?: Some(issuers).filter(|issuers| !issuers.is_empty()),
        "scopes_supported": scopes,
        "bearer_methods_supported": ["header"],
    });
    Some(metadata.to_string())
}
