//! Creative formats: `list_creative_formats`.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;
use tradepost_document::typed::{LenientList, Typed as _};

use super::page;
use crate::catalogue::{CreativeFormat, FormatId};
use crate::forms::creatives::{ListCreativeFormats, WcagLevel};
use crate::money::MoneyAmount;
use crate::refusals::ToolError;
use crate::reply::ToolReply;
use crate::tool_context::ToolContext;

/// Handles `list_creative_formats`.
pub(super) fn perform(
    work: &ToolContext<'_>,
    wanted: &ListCreativeFormats,
) -> Result<ToolReply, ToolError> {
    let mut formats = work.publisher.formats(work.reader)?;
    formats.retain(|format| fits(format, wanted, &work.publisher.profile.domain));
    let total = formats.len();
    let scope = page::scope(&work.call.arguments, None);
    let page = page::requested(formats, wanted.pagination.as_ref(), &scope)?;
    let body = json!({"formats": page.items, "pagination": page.pagination});
    Ok(ToolReply::completed(page::fitting(total, "format"), body))
}

/// Returns true when a format passes every filter.
fn fits(format: &CreativeFormat, wanted: &ListCreativeFormats, domain: &str) -> bool {
    let any_id = |wanted: &Option<Vec<FormatId>>, known: &[FormatId]| {
        wanted.as_ref().is_none_or(|wanted| {
            wanted.iter().any(|wanted| known.iter().any(|known| known.means(wanted)))
        })
    };
    let level = format.accessibility.as_ref().and_then(|known| known.wcag_level.as_deref());
    let level = level.and_then(WcagLevel::from_name);
    let modes = || {
        let abilities = format.abilities().into_iter().flatten();
        abilities.flat_map(|ability| ability.persistence.iter())
    };
    let has_any = |kinds: &Vec<String>| kinds.iter().any(|kind| has_asset(format, kind));
    let widths = |fits: &dyn Fn(MoneyAmount) -> bool| {
        format.dimensions().filter_map(|size| size.width).any(fits)
    };
    let heights = |fits: &dyn Fn(MoneyAmount) -> bool| {
        format.dimensions().filter_map(|size| size.height).any(fits)
    };
    wanted.format_ids.as_ref().is_none_or(|list| list.iter().any(|one| format.is(one)))
        && wanted.asset_types.as_ref().is_none_or(has_any)
        && wanted.min_width.is_none_or(|least| widths(&|size| size >= least))
        && wanted.max_width.is_none_or(|most| widths(&|size| size <= most))
        && wanted.min_height.is_none_or(|least| heights(&|size| size >= least))
        && wanted.max_height.is_none_or(|most| heights(&|size| size <= most))
        && wanted.is_responsive.is_none_or(|wanted| is_responsive(format) == wanted)
        && wanted.name_search.as_ref().is_none_or(|part| {
            let name = format.name.as_deref().unwrap_or_default();
            name.to_lowercase().contains(&part.to_lowercase())
        })
        && wanted.publisher_domain.as_ref().is_none_or(|wanted| wanted == domain)
        && wanted.property_id.as_ref().is_none_or(|wanted| {
            // A format without property ids is accepted on all properties.
            format.applies_to_property_ids.as_ref().is_none_or(|known| {
                LenientList::<String>::read(known).is_some_and(|known| known.contains(wanted))
            })
        })
        && wanted.wcag_level.is_none_or(|wanted| level.is_some_and(|level| level >= wanted))
        && wanted.disclosure_positions.iter().all(|one| positions(format).any(|known| known == one))
        && wanted.disclosure_persistence.iter().all(|one| modes().any(|known| known == one))
        && any_id(&wanted.output_format_ids, &format.output_format_ids)
        && any_id(&wanted.input_format_ids, &format.input_format_ids)
}

fn has_asset(format: &CreativeFormat, kind: &String) -> bool {
    format.assets.iter().any(|slot| {
        // The assets of a repeatable group are one level down.
        let inner = slot.assets.iter().map(|inner| &inner.asset_type);
        std::iter::once(&slot.asset_type).chain(inner).any(|known| known.as_ref() == Some(kind))
    })
}

fn is_responsive(format: &CreativeFormat) -> bool {
    format.dimensions().any(|size| size.width.is_none() || size.height.is_none())
}

/// Returns the positions of disclosures: from the capabilities, otherwise from the plain list.
fn positions(format: &CreativeFormat) -> impl Iterator<Item = &String> {
    let detailed = format.abilities();
    let plain = if detailed.is_none() { &*format.supported_disclosure_positions } else { &[] };
    detailed.into_iter().flatten().filter_map(|ability| ability.position.as_ref()).chain(plain)
}
