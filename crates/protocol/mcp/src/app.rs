//! MCP Apps (2026-01-26): pages that a host shows beside the results of tools. A page is one document with its program
//! and its style inside. Its own content security policy permits exactly these two, pictures over https, and nothing
//! else, whatever the host permits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use tradepost_document::json::{Value, json};

use crate::listing::Resource;

/// Media type of a page.
pub const MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// Source of a policy that stands for all hosts over https, because photos of listings come from any.
const PICTURES: &str = "https://*";

/// A page of a server.
#[derive(Debug, Clone, Copy)]
pub struct AppPage<'a> {
    /// Address, with the scheme `ui`.
    pub uri: &'a str,
    /// Name shown to people.
    pub title: &'a str,
    /// Description for hosts.
    pub description: &'a str,
    /// Style sheet.
    pub style: &'a str,
    /// Program.
    pub script: &'a str,
    /// Body of the document.
    pub body: &'a str,
    /// Names of the tools whose results it shows.
    pub tools: &'a [&'a str],
}

/// Page for vehicles and leads, for tools that are named as AAP's manifest names them: a gallery, a comparison, the
/// details of a vehicle, and the lead form, which a click of the person sends.
pub const SHOP: AppPage<'static> = AppPage {
    uri: "ui://tradepost/shop",
    title: "Vehicles",
    description: "Shows vehicles as a gallery, compares up to four, and sends a lead after the person has read its \
                  consent text and has clicked.",
    style: include_str!("app/shop.css"),
    script: include_str!("app/shop.js"),
    body: include_str!("app/shop.html"),
    tools: &["aap_inventory_search", "aap_inventory_vehicle", "aap_lead_submit"],
};

impl AppPage<'_> {
    /// Returns the page as a resource.
    #[must_use]
    pub fn resource(&self) -> Resource {
        let ui = json!({
            "ui": {"csp": {"connectDomains": [], "resourceDomains": [PICTURES]}, "prefersBorder": true},
        });
        Resource {
            uri: self.uri.to_owned(),
            name: self.uri.rsplit('/').next().unwrap_or_default().to_owned(),
            title: self.title.to_owned(),
            description: self.description.to_owned(),
            mime_type: MEDIA_TYPE,
            text: self.document(),
            meta: ui.as_object().cloned(),
        }
    }

    /// Returns the member of a tool's `_meta` that names this page, for tools whose results it shows.
    #[must_use]
    pub fn tool_meta(&self, tool: &str) -> Option<(String, Value)> {
        let is_shown = self.tools.contains(&tool);
        is_shown.then(|| ("ui".to_owned(), json!({"resourceUri": self.uri})))
    }

    /// Writes the document.
    #[must_use]
    pub fn document(&self) -> String {
        let Self { title, style, script, body, .. } = self;
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; img-src https:; base-uri 'none'; form-action 'none'",
            source(script),
            source(style),
        );
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n\
             <style>{style}</style>\n</head>\n<body>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
        )
    }
}

/// Returns the source of a policy that permits exactly this text.
fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_permits_its_own_program_and_pictures_alone() {
        let document = SHOP.document();
        let policy = document.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
        let policy = policy.split('"').next().unwrap();
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
        assert_eq!(
            policy,
            format!(
                "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src https:; base-uri 'none'; \
                 form-action 'none'",
                hash(SHOP.script),
                hash(SHOP.style)
            )
        );
        // What the policy is computed from is what a browser reads between the tags.
        assert_eq!(
            document.split("<script>").nth(1).unwrap().split("</script>").next().unwrap(),
            SHOP.script
        );
        assert_eq!(
            document.split("<style>").nth(1).unwrap().split("</style>").next().unwrap(),
            SHOP.style
        );
        for dangerous in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "eval(",
            "fetch(",
            "XMLHttp",
            "document.write",
        ] {
            assert!(!SHOP.script.contains(dangerous), "{dangerous}");
        }
    }
}
