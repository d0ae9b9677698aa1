//! Reader for the destination of traces.

use tradepost_document::json::Value;
use tradepost_document::parse::read_object;
use tradepost_document::problem::{DocumentPlace, Problems};

use super::values::{line, secret, web_page, whole};
use crate::config::Traces;

/// Reads `[traces]`.
pub(super) fn traces(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Traces> {
    let text = line(1_000);
    read_object!(value, at, problems, closed {
        required "endpoint" => endpoint: web_page,
        optional "percent" => percent: whole::<u8>(0, 100),
        optional "service" => service: line(200),
        optional "bearer" => bearer: &text,
        optional "bearer_file" => bearer_file: &text,
    });
    let bearer = secret(value, "bearer", bearer, bearer_file, at, problems);
    let percent = percent.unwrap_or(100);
    let service = service.unwrap_or("tradepost".to_owned());
    Some(Traces { endpoint: endpoint?, percent, service, bearer })
}
