//! The reader for where traces go.

use tradepost_wire::json::Value;
use tradepost_wire::parse::read_object;
use tradepost_wire::problem::{At, Problems};

use super::delivery::one;
use super::values::{line, web_page, whole};
use crate::config::Traces;

/// `[traces]`
pub(super) fn traces(value: &Value, at: &At<'_>, problems: &mut Problems) -> Option<Traces> {
    let text = line(1_000);
    read_object!(value, at, problems, closed {
        required "endpoint" => endpoint: web_page,
        optional "percent" => percent: whole::<u8>(0, 100),
        optional "service" => service: line(200),
        optional "bearer" => bearer: &text,
        optional "bearer_file" => bearer_file: &text,
    });
    let bearer = one(value, ("bearer", bearer), ("bearer_file", bearer_file), at, problems);
    Some(Traces {
        endpoint: endpoint?,
        percent: percent.unwrap_or(100),
        service: service.unwrap_or_else(|| "tradepost".to_owned()),
        bearer,
    })
}
