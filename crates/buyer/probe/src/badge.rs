//! Badge with the grade, for the page of a repository: as an SVG, and as the JSON that shields.io reads from an address
//! of yours (its endpoint badge).

use tradepost_document::json::json;

use super::grade::Grade;
use super::report::AgentReport;

/// Left half of the badge.
const LABEL: &str = "agent conformance";

/// Padding around each half's text in pixels.
const PADDING: u32 = 5;

/// Renders the document for shields.io's endpoint badge.
#[must_use]
pub fn endpoint(report: &AgentReport) -> String {
    let document = json!({
        "schemaVersion": 1,
        "label": LABEL,
        "message": report.verdict(),
        "color": color(report.grade).trim_start_matches('#'),
    });
    let text = tradepost_document::json::to_string_pretty(&document);
    text.expect("a document of texts can be written") + "\n"
}

/// Renders the badge as an SVG that needs no font file and loads nothing.
#[must_use]
pub fn svg(report: &AgentReport) -> String {
    let message = report.verdict();
    let color = color(report.grade);
    let label_text = width(LABEL);
    let message_text = width(&message);
    let label = label_text + 2 * PADDING;
    let total = label + message_text + 2 * PADDING;
    let label_middle = label / 2;
    let message_middle = label + (total - label) / 2;
    // `textLength` makes the text as wide as was reckoned, whatever font the reader has.
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total}\" height=\"20\" role=\"img\" \
         aria-label=\"{LABEL}: {message}\">\n\
         <title>{LABEL}: {message}</title>\n\
         <clipPath id=\"r\"><rect width=\"{total}\" height=\"20\" rx=\"3\" fill=\"#fff\"/></clipPath>\n\
         <g clip-path=\"url(#r)\">\n\
         <rect width=\"{label}\" height=\"20\" fill=\"#555\"/>\n\
         <rect x=\"{label}\" width=\"{}\" height=\"20\" fill=\"{color}\"/>\n\
         </g>\n\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,Geneva,DejaVu Sans,sans-serif\" \
         font-size=\"11\">\n\
         <text x=\"{label_middle}\" y=\"14\" textLength=\"{label_text}\">{LABEL}</text>\n\
         <text x=\"{message_middle}\" y=\"14\" textLength=\"{message_text}\">{message}</text>\n\
         </g>\n</svg>\n",
        total - label
    )
}

/// Returns a dark enough colour for white text.
fn color(grade: Option<Grade>) -> &'static str {
    match grade {
        Some(Grade::A) => "#2e7d32",
        Some(Grade::B) => "#558b2f",
        Some(Grade::C) => "#8a6d00",
        Some(Grade::D) => "#b35900",
        Some(Grade::E) => "#c0392b",
        Some(Grade::F) => "#8e1b1b",
        None => "#6b6b6b",
    }
}

/// Returns the approximate width of a text in pixels, at 11 pixels in Verdana.
fn width(text: &str) -> u32 {
    let tenths = |character: char| match character {
        'i' | 'l' | 'f' | 'j' | 't' | ' ' => 38,
        'm' | 'w' => 100,
        'A'..='Z' => 76,
        _ => 67,
    };
    text.chars().map(tenths).sum::<u32>().div_ceil(10)
}
