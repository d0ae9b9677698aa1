//! Creative formats: `list_creative_formats`.

use serde_json::{Map, Value, json};

use super::{Reply, Work, page};
use crate::catalogue::{maps, number, same_format, text};
use crate::refuse::Stop;

/// The levels of `enums/wcag-level.json`, the least first.
const WCAG: [&str; 3] = ["A", "AA", "AAA"];

/// Does the work of these tools.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    let wanted = &work.ask.arguments;
    let mut formats = work.publisher.formats(work.shelf)?;
    formats.retain(|format| fits(format, wanted, &work.publisher.profile.domain));
    let total = formats.len();
    let page = page::of(formats, wanted, &page::scope(wanted, None))?;
    let message = match total {
        0 => "no format fits".to_owned(),
        1 => "1 format fits".to_owned(),
        _ => format!("{total} formats fit"),
    };
    let body = json!({"formats": page.items, "pagination": page.pagination});
    Ok(Reply::completed(message, body))
}

/// Whether a format passes every filter of a request.
fn fits(format: &Map<String, Value>, wanted: &Map<String, Value>, domain: &str) -> bool {
    let fits = |name: &str, check: &dyn Fn(&Value) -> bool| wanted.get(name).is_none_or(check);
    let id = format.get("format_id").and_then(Value::as_object);
    let any_id = |list: &Value, members: Option<&Value>| {
        maps(Some(list)).any(|wanted| maps(members).any(|known| same_format(known, wanted)))
    };
    fits("format_ids", &|list| {
        maps(Some(list)).any(|wanted| id.is_some_and(|id| same_format(id, wanted)))
    }) && fits("asset_types", &|list| words(Some(list)).any(|word| has_asset(format, word)))
        && fits("min_width", &|least| size(format, "width", |size| size >= bound(least)))
        && fits("max_width", &|most| size(format, "width", |size| size <= bound(most)))
        && fits("min_height", &|least| size(format, "height", |size| size >= bound(least)))
        && fits("max_height", &|most| size(format, "height", |size| size <= bound(most)))
        && fits("is_responsive", &|wanted| Some(is_responsive(format)) == wanted.as_bool())
        && fits("name_search", &|part| {
            let part = part.as_str().unwrap_or_default().to_lowercase();
            text(format, "name").to_lowercase().contains(&part)
        })
        && fits("publisher_domain", &|wanted| wanted.as_str() == Some(domain))
        && fits("property_id", &|wanted| match format.get("applies_to_property_ids") {
            // What says nothing about properties is accepted on all of them.
            None => true,
            known => words(known).any(|known| Some(known) == wanted.as_str()),
        })
        && fits("wcag_level", &|wanted| {
            let known = format.get("accessibility").and_then(|known| known.get("wcag_level"));
            let level = |level: Option<&str>| WCAG.iter().position(|known| Some(*known) == level);
            let known = level(known.and_then(Value::as_str));
            known.is_some() && known >= level(wanted.as_str())
        })
        && fits("disclosure_positions", &|wanted| {
            words(Some(wanted)).all(|wanted| positions(format).any(|known| known == wanted))
        })
        && fits("disclosure_persistence", &|wanted| {
            let modes = || {
                let capabilities = maps(format.get("disclosure_capabilities"));
                capabilities.flat_map(|position| words(position.get("persistence")))
            };
            words(Some(wanted)).all(|wanted| modes().any(|known| known == wanted))
        })
        && fits("output_format_ids", &|list| any_id(list, format.get("output_format_ids")))
        && fits("input_format_ids", &|list| any_id(list, format.get("input_format_ids")))
}

fn has_asset(format: &Map<String, Value>, kind: &str) -> bool {
    // A repeatable group has its assets one level down.
    let direct = maps(format.get("assets"));
    let mut all = direct.flat_map(|asset| std::iter::once(asset).chain(maps(asset.get("assets"))));
    all.any(|asset| text(asset, "asset_type") == kind)
}

fn bound(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}

/// The dimensions of the format's renders.
fn dimensions(format: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    maps(format.get("renders")).filter_map(|render| render.get("dimensions")?.as_object())
}

/// Whether any render has such a size.
fn size(format: &Map<String, Value>, name: &str, fits: impl Fn(f64) -> bool) -> bool {
    dimensions(format).filter_map(|dimensions| number(dimensions, name)).any(fits)
}

fn is_responsive(format: &Map<String, Value>) -> bool {
    dimensions(format).any(|d| number(d, "width").is_none() || number(d, "height").is_none())
}

/// The positions of disclosures: what the capabilities say, else the plain list.
fn positions(format: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let capabilities = maps(format.get("disclosure_capabilities"));
    let detailed = capabilities.map(|position| text(position, "position"));
    let plain = words(format.get("supported_disclosure_positions"));
    let plain = plain.filter(|_| !format.contains_key("disclosure_capabilities"));
    detailed.chain(plain)
}

fn words(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
