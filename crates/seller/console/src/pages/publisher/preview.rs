//! Preview of a creative: a document of its own, with an origin of its own, for a frame of the console.
//!
//! The policy of the document contains `sandbox`, so that it has an opaque origin also when it is opened directly,
//! and the frame has the attribute besides. Pictures, sounds and films are loaded by the visitor's browser, never by
//! this server, and from the hosts alone that the creative names. Code is shown as text; it runs only once the
//! visitor has asked for it, and reaches neither the console nor its cookies.

use std::fmt::Write as _;

use tradepost_document::json::Value;
use tradepost_publisher::staff::list::Subject;

use super::super::super::reply::origin;
use super::super::{Answer, Console, ConsoleReply, PageError, Visitor, headed};
use super::Fields;

/// Directives that hold for every preview.
const BASE_DIRECTIVES: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-src 'none'; \
                      connect-src 'none'; frame-ancestors 'self'";

/// Style of the document with pictures, sounds and films.
const STYLE: &str = "body{margin:0;padding:8px;font:14px system-ui,sans-serif;background:#fff;color:#222}\
                     figure{margin:0 0 12px}img,video{max-width:100%;height:auto;display:block}\
                     figcaption{padding-top:4px}";

/// Kind of an asset, by what shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AssetKind {
    Image,
    Video,
    Audio,
    Html,
    Script,
    Style,
    Other,
}

/// An asset as the page shows it.
#[derive(Debug)]
pub(super) struct CreativeAsset {
    pub(super) slot: String,
    pub(super) kind_name: String,
    kind: AssetKind,
    pub(super) url: Option<String>,
    /// Size and length, as the buyer has said.
    pub(super) size: Option<String>,
    pub(super) content: Option<String>,
    /// True when the frame shows it.
    pub(super) is_shown: bool,
    /// True when it is code, which runs only when the visitor asks for it.
    pub(super) is_code: bool,
}

/// Returns the assets of a creative, as it was sent.
pub(super) fn assets(given: &Value) -> Vec<CreativeAsset> {
    let slots = given.get("assets").and_then(Value::as_object);
    let mut found = Vec::new();
    for (slot, value) in slots.into_iter().flatten() {
        let items = match value.as_array() {
            Some(items) => items.as_slice(),
            None => std::slice::from_ref(value),
        };
        found.extend(items.iter().map(|item| asset(slot, item)));
    }
    found
}

fn asset(slot: &str, value: &Value) -> CreativeAsset {
    let fields = Fields::new(value);
    let kind_name = fields.text("asset_type").unwrap_or_else(|| "asset".to_owned());
    let kind = match kind_name.as_str() {
        "image" => AssetKind::Image,
        "video" => AssetKind::Video,
        "audio" => AssetKind::Audio,
        "html" => AssetKind::Html,
        "javascript" => AssetKind::Script,
        "css" => AssetKind::Style,
        _ => AssetKind::Other,
    };
    let url = fields.text("url");
    let content = fields.text("content");
    let size = match (fields.text("width"), fields.text("height"), fields.text("duration_ms")) {
        (Some(width), Some(height), _) => Some(format!("{width} × {height}")),
        (_, _, Some(length)) => Some(format!("{length} ms")),
        _ => None,
    };
    let is_media = matches!(kind, AssetKind::Image | AssetKind::Video | AssetKind::Audio);
    let is_code = matches!(kind, AssetKind::Html | AssetKind::Script | AssetKind::Style);
    CreativeAsset {
        slot: headed(slot),
        kind_name,
        kind,
        is_shown: is_media && url.as_deref().and_then(origin).is_some(),
        is_code: is_code && (content.is_some() || url.is_some()),
        url,
        size,
        content,
    }
}

impl Console {
    /// Returns the document of a creative for a frame.
    pub(crate) fn preview_creative(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let document = self.record(visitor, &agent, Subject::Creatives)?;
        let given = document.get("given").ok_or(PageError::NotFound)?;
        let assets = assets(given);
        let runs = visitor.asked.asked_for("run") == Some("yes");
        Ok(if runs { running(&assets) } else { pictures(&assets) })
    }
}

/// Returns the document with pictures, sounds and films, which runs nothing.
fn pictures(assets: &[CreativeAsset]) -> ConsoleReply {
    let mut body = String::new();
    let mut origins: Vec<&str> = Vec::new();
    for asset in assets.iter().filter(|asset| asset.is_shown) {
        let Some(url) = asset.url.as_deref() else { continue };
        origins.extend(origin(url));
        let url = escaped(url);
        let name = escaped(&asset.slot);
        let element = match asset.kind {
            AssetKind::Video => {
                format!(
                    "<video src=\"{url}\" controls preload=\"metadata\" title=\"{name}\"></video>"
                )
            }
            AssetKind::Audio => {
                format!(
                    "<audio src=\"{url}\" controls preload=\"metadata\" title=\"{name}\"></audio>"
                )
            }
            AssetKind::Image
            | AssetKind::Html
            | AssetKind::Script
            | AssetKind::Style
            | AssetKind::Other => format!("<img src=\"{url}\" alt=\"{name}\">"),
        };
        let _ = write!(body, "<figure>{element}<figcaption>{name}</figcaption></figure>");
    }
    origins.sort_unstable();
    origins.dedup();
    let hosts = origins.join(" ");
    let policy = format!(
        "sandbox; {BASE_DIRECTIVES}; style-src 'unsafe-inline'; img-src {hosts}; media-src {hosts}"
    );
    ConsoleReply::framed(policy, document(&format!("<style>{STYLE}</style>"), &body))
}

/// Returns the document in which the code of a creative runs, with an origin of its own.
fn running(assets: &[CreativeAsset]) -> ConsoleReply {
    let mut head = String::new();
    let mut body = String::new();
    for asset in assets.iter().filter(|asset| asset.is_code) {
        let content = asset.content.as_deref().unwrap_or_default();
        let url = asset.url.as_deref().filter(|url| origin(url).is_some()).map(escaped);
        match (asset.kind, url) {
            (AssetKind::Script, Some(url)) if content.is_empty() => {
                let _ = write!(body, "<script src=\"{url}\"></script>");
            }
            (AssetKind::Script, _) => {
                let _ = write!(body, "<script>{content}</script>");
            }
            (AssetKind::Style, _) => {
                let _ = write!(head, "<style>{content}</style>");
            }
            (
                AssetKind::Html
                | AssetKind::Image
                | AssetKind::Video
                | AssetKind::Audio
                | AssetKind::Other,
                _,
            ) => body.push_str(content),
        }
    }
    let policy = format!(
        "sandbox allow-scripts; {BASE_DIRECTIVES}; style-src 'unsafe-inline' https:; \
         script-src 'unsafe-inline' https:; \
         img-src https: data:; media-src https: data:; font-src https: data:"
    );
    ConsoleReply::framed(policy, document(&head, &body))
}

fn document(head: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Preview</title>{head}\
         </head><body>{body}</body></html>\n"
    )
}

/// Escapes a text for an attribute or an element.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}
