//! Creative formats: `list_creative_formats`.

use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};

use super::page;
use crate::catalogue::{maps, number, same_format, text};
use crate::forms::creatives::{ListCreativeFormats, WcagLevel};
use crate::money::Amount;
use crate::refuse::Stop;
use crate::reply::Reply;
use crate::work::Work;

/// Does the work of these tools.
pub(super) fn perform(work: &Work<'_>, wanted: &ListCreativeFormats) -> Result<Reply, Stop> {
    let mut formats = work.publisher.formats(work.shelf)?;
    formats.retain(|format| fits(format, wanted, &work.publisher.profile.domain));
    let total = formats.len();
    let scope = page::scope(&work.ask.arguments, None);
    let page = page::of(formats, wanted.pagination.as_ref(), &scope)?;
    let message = match total {
        0 => "no format fits".to_owned(),
        1 => "1 format fits".to_owned(),
        _ => format!("{total} formats fit"),
    };
    let body = json!({"formats": page.items, "pagination": page.pagination});
    Ok(Reply::completed(message, body))
}

/// Whether a format passes every filter of a request.
fn fits(format: &Map, wanted: &ListCreativeFormats, domain: &str) -> bool {
    let id = format.get("format_id").and_then(Value::as_object);
    let any_id = |wanted: &[Map], known: Option<&Value>| {
        wanted.iter().any(|wanted| maps(known).any(|known| same_format(known, wanted)))
    };
    let level = format.get("accessibility").and_then(|known| known.get("wcag_level"));
    let level = level.and_then(Value::as_str).and_then(WcagLevel::from_name);
    let modes = || {
        let capabilities = maps(format.get("disclosure_capabilities"));
        capabilities.flat_map(|position| words(position.get("persistence")))
    };
    let ids = |wanted: &Option<Vec<Map>>, known: &str| {
        wanted.as_ref().is_none_or(|wanted| any_id(wanted, format.get(known)))
    };
    wanted
        .format_ids
        .as_ref()
        .is_none_or(|list| list.iter().any(|one| id.is_some_and(|id| same_format(id, one))))
        && wanted
            .asset_types
            .as_ref()
            .is_none_or(|list| list.iter().any(|kind| has_asset(format, kind)))
        && wanted.min_width.is_none_or(|least| size(format, "width", |size| size >= least))
        && wanted.max_width.is_none_or(|most| size(format, "width", |size| size <= most))
        && wanted.min_height.is_none_or(|least| size(format, "height", |size| size >= least))
        && wanted.max_height.is_none_or(|most| size(format, "height", |size| size <= most))
        && wanted.is_responsive.is_none_or(|wanted| is_responsive(format) == wanted)
        && wanted
            .name_search
            .as_ref()
            .is_none_or(|part| text(format, "name").to_lowercase().contains(&part.to_lowercase()))
        && wanted.publisher_domain.as_ref().is_none_or(|wanted| wanted == domain)
        && wanted.property_id.as_ref().is_none_or(|wanted| {
            match format.get("applies_to_property_ids") {
                // What says nothing about properties is accepted on all of them.
                None => true,
                known => words(known).any(|known| known == wanted),
            }
        })
        && wanted.wcag_level.is_none_or(|wanted| level.is_some_and(|level| level >= wanted))
        && wanted.disclosure_positions.iter().all(|one| positions(format).any(|known| known == one))
        && wanted.disclosure_persistence.iter().all(|one| modes().any(|known| known == one))
        && ids(&wanted.output_format_ids, "output_format_ids")
        && ids(&wanted.input_format_ids, "input_format_ids")
}

fn has_asset(format: &Map, kind: &str) -> bool {
    // A repeatable group has its assets one level down.
    let direct = maps(format.get("assets"));
    let mut all = direct.flat_map(|asset| std::iter::once(asset).chain(maps(asset.get("assets"))));
    all.any(|asset| text(asset, "asset_type") == kind)
}

/// The dimensions of the format's renders.
fn dimensions(format: &Map) -> impl Iterator<Item = &Map> {
    maps(format.get("renders")).filter_map(|render| render.get("dimensions")?.as_object())
}

/// Whether any render has such a size.
fn size(format: &Map, name: &str, fits: impl Fn(Amount) -> bool) -> bool {
    dimensions(format).filter_map(|dimensions| number(dimensions, name)).any(fits)
}

fn is_responsive(format: &Map) -> bool {
    dimensions(format).any(|d| number(d, "width").is_none() || number(d, "height").is_none())
}

/// The positions of disclosures: what the capabilities say, else the plain list.
fn positions(format: &Map) -> impl Iterator<Item = &str> {
    let capabilities = maps(format.get("disclosure_capabilities"));
    let detailed = capabilities.map(|position| text(position, "position"));
    let plain = words(format.get("supported_disclosure_positions"));
    let plain = plain.filter(|_| !format.contains_key("disclosure_capabilities"));
    detailed.chain(plain)
}

fn words(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
