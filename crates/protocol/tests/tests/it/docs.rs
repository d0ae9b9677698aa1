//! `docs/errors.md` is written from the catalogs; a stale one fails. `UPDATE_DOCS=1` writes it.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use tradepost_a2a as a2a;
use tradepost_a2a::error::A2aCode as A2a;
use tradepost_aap::error::RemovedUnit;
use tradepost_aap::{self as aap, AapCode, AapRefusal, Skill, Version};
use tradepost_adcp::error::{AdcpCode as Adcp, AdcpRelease};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json};
use tradepost_document::problem::{Keyword, MAX_KEY, MAX_LISTED};

use crate::{oracle, published, seeds};

const ERROR_ID: &str = "0196865e-7b00-7000-8000-000000000001";
const MOMENT: &str = "2026-04-30T10:15:30Z";

/// A refusal with this code, made as the dealer's agent makes it.
fn example(code: AapCode) -> AapRefusal {
    let moment = MOMENT.parse().unwrap();
    let vin = "1HGCV1F30NA123456";
    let stock = "DT-2611";
    match code {
        AapCode::UnsupportedSkill => {
            aap::identify(&json!({"type": "vehicle.reserve.request"}), Skill::ALL).unwrap_err()
        }
        AapCode::SchemaValidationFailed => refused(json!({"type": "inventory.search.request",
            "filters": {"maek": ["Honda"], "year_min": "2020"}, "pagination": {"limit": 5000}})),
        AapCode::MissingRequiredField => refused(json!({"type": "inventory.vehicle.request"})),
        AapCode::InvalidCondition => {
            refused(lead("/vehicle_of_interest", json!({"condition": "good"})))
        }
        AapCode::ContactConsentRequired => refused(lead("/consent", Value::Null)),
        AapCode::InvalidConsent => {
            refused(lead("/consent/expires_at", json!("2026-05-01T00:00:00Z")))
        }
        AapCode::VehicleNotFound => AapRefusal::vehicle_not_found(&[("vin", vin)], "demo-motors"),
        AapCode::VehicleUnavailable => {
            let last_status = "pending";
            let removed_unit =
                RemovedUnit { vin: Some(vin), stock: Some(stock), last_status, since: moment };
            AapRefusal::vehicle_unavailable(
                &removed_unit,
                &["v-1042".to_owned(), "v-1077".to_owned()],
            )
        }
        AapCode::AppointmentTimeUnavailable => {
            let at = "2026-05-03T18:00:00Z".parse().unwrap();
            AapRefusal::appointment_time_unavailable("lead-0196865e", Some(at))
        }
        AapCode::IdempotencyConflict => AapRefusal::idempotency_conflict("order-17", moment),
        AapCode::RateLimited => {
            AapRefusal::rate_limited(Duration::from_secs(30), 60, Duration::from_mins(1))
        }
        AapCode::InternalError => AapRefusal::internal_error(Duration::from_secs(5)),
    }
}

fn refused(data: Value) -> AapRefusal {
    let skill = aap::identify(&data, Skill::ALL).unwrap();
    oracle::parse(Version::V1_1, skill, &data).unwrap_err()
}

/// A valid lead with one member set, or taken away where the value is null.
fn lead(pointer: &str, value: Value) -> Value {
    let is_lead =
        |seed: &seeds::Seed| (seed.version, seed.skill) == (Version::V1_1, Skill::LeadSubmit);
    let mut lead = seeds::rich().into_iter().find(is_lead).unwrap().data;
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let members = lead.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    members.shift_remove(name);
    if !value.is_null() {
        members.insert(name.to_owned(), value);
    }
    lead
}

/// The answer as it is on the wire.
fn answer(refusal: AapRefusal) -> Value {
    let number = refusal.code.jsonrpc();
    let object = refusal.stamp(Version::V1_1, ERROR_ID.to_owned(), MOMENT.parse().unwrap());
    json!({"jsonrpc": "2.0", "id": 1, "error": {
        "code": number, "message": object.jsonrpc_message(), "data": object}})
}

/// A protocol error, where its shape can be shown without a server.
fn protocol_example(code: A2a) -> Option<a2a::error::A2aRefusal> {
    match code {
        A2a::InvalidParams => {
            let params = json!({"message": {"messageId": "", "role": "user", "parts": [{}]}});
            a2a::send_message(Some(&params)).err()
        }
        A2a::VersionNotSupported => a2a::check_version("0.3").err(),
        A2a::Unauthenticated => {
            let refusal = a2a::error::A2aRefusal::new(code, code.title()).with("scheme", "Bearer");
            Some(refusal.with_challenge("Bearer realm=\"larkspur\", error=\"invalid_token\""))
        }
        A2a::PermissionDenied => {
            Some(a2a::error::A2aRefusal::new(code, code.title()).with("scope", "lead:write"))
        }
        A2a::ResourceExhausted => {
            let refusal = a2a::error::A2aRefusal::new(code, code.title());
            Some(refusal.with_wait(Duration::from_secs(6)))
        }
        A2a::Unavailable => {
            let refusal = a2a::error::A2aRefusal::new(code, code.title());
            let refusal = refusal.with_wait(Duration::from_secs(5));
            Some(refusal.with("errorId", format!("err_{}", ERROR_ID.replace('-', ""))))
        }
        A2a::ParseError
        | A2a::InvalidRequest
        | A2a::MethodNotFound
        | A2a::InternalError
        | A2a::TaskNotFound
        | A2a::TaskNotCancelable
        | A2a::PushNotificationNotSupported
        | A2a::UnsupportedOperation
        | A2a::ContentTypeNotSupported
        | A2a::InvalidAgentResponse
        | A2a::ExtendedAgentCardNotConfigured
        | A2a::ExtensionSupportRequired => None,
    }
}

/// The text of a doc comment, in one line.
fn docs<T: Vocabulary>(row: T) -> String {
    row.docs().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A hint as a sentence.
fn sentence(hint: &str) -> String {
    let (first, rest) = hint.split_at(1);
    format!("{}{rest}.", first.to_uppercase())
}

fn fence(out: &mut String, value: &Value) {
    let _ = write!(out, "\n```json\n{}\n```\n", pretty(value, 0));
}

/// Indented JSON in which lists and objects that fit a line and hold no others stay on it.
fn pretty(value: &Value, depth: usize) -> String {
    let inner = "  ".repeat(depth + 1);
    let (open, close, parts): (_, _, Vec<String>) = match value {
        Value::Array(items) => {
            ('[', ']', items.iter().map(|item| pretty(item, depth + 1)).collect())
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), pretty(value, depth + 1))
            };
            ('{', '}', members.iter().map(member).collect())
        }
        scalar => return scalar.to_string(),
    };
    let line = format!("{open}{}{close}", parts.join(", "));
    let flat = parts.iter().all(|part| !part.contains(['{', '\n']));
    if flat && inner.len() + line.len() <= 90 {
        return line;
    }
    let of_scalars = value.as_array().is_some_and(|_| flat);
    let parts = if of_scalars {
        // As many to a line as fit.
        let mut lines = vec![String::new()];
        for (n, part) in parts.iter().enumerate() {
            let comma = if n + 1 < parts.len() { "," } else { "" };
            let last = lines.last_mut().unwrap();
            if !last.is_empty() && inner.len() + last.len() + part.len() > 88 {
                lines.push(format!("{part}{comma}"));
            } else {
                let space = if last.is_empty() { "" } else { " " };
                last.push_str(&format!("{space}{part}{comma}"));
            }
        }
        lines.join(&format!("\n{inner}"))
    } else {
        parts.join(&format!(",\n{inner}"))
    };
    format!("{open}\n{inner}{parts}\n{}{close}", "  ".repeat(depth))
}

fn page() -> String {
    let mut out = format!(
        r#"<!-- Written from the catalogs of crates/protocol. Do not edit:
     UPDATE_DOCS=1 cargo test -p tradepost-protocol-tests --test it docs -->

# Errors

Every answer that is not a result is a JSON-RPC error. Read `error.data` first:

1. **An object with `"type": "aap.error"`**: the dealer read the request and refused it. `data.code`
   is one of the [{aap} codes of AAP](#refusals-of-the-dealer). `error.message` starts with the same
   code, for clients that discard the data.
2. **An array, or nothing**: the request did not reach the dealer. `error.code` is one of the
   [{protocol} codes of the protocol](#errors-of-the-protocol).

`data.retryable` says whether the same request may be sent again, and takes precedence over the
table. `data.error_id` is also in the dealer's log: quote it when you ask for help. No answer repeats
a value that you sent, except identifiers, idempotency keys, the payload type and member names.

## Refusals of the dealer

| code | JSON-RPC | HTTP of v1.0 | retry | what to do |
|---|---|---|---|---|
"#,
        aap = AapCode::ALL.len(),
        protocol = A2a::ALL.len(),
    );
    for code in AapCode::ALL.iter().copied() {
        let number = code.jsonrpc();
        let http = code.http();
        let hint = code.hint();
        let retry = if code.retryable() { "yes" } else { "no" };
        let anchor = code.name().to_lowercase();
        let _ = writeln!(out, "| [{code}](#{anchor}) | {number} | {http} | {retry} | {hint} |");
    }
    for code in AapCode::ALL.iter().copied() {
        let _ = write!(out, "\n### {code}\n\n{}\n", docs(code));
        let _ = writeln!(out, "\n**What to do:** {}", sentence(code.hint()));
        fence(&mut out, &answer(example(code)));
    }
    write_problems(&mut out);
    write_protocol(&mut out);
    write_adcp(&mut out);
    out
}

fn write_problems(out: &mut String) {
    let _ = write!(
        out,
        r#"
## The list of problems

`details.errors` has one entry for each violated constraint of the published schema, all of them
at once: `instanceLocation` (a JSON Pointer into the payload), `keyword`, `error` (what to do) and
one member that helps a program: `property`, `allowed`, `expected`, `limit`, `pattern`, `format`
or `anyOf`. The location of a missing property is the object that lacks it; the location of an
unknown property is the property. The list has at most {MAX_LISTED} entries. If there are more,
`details.truncated` is true and `details.total` is their number. Member names are cut after {MAX_KEY}
characters. In v1.0, `details.instancePath` repeats the first location.

| keyword | meaning |
|---|---|
"#
    );
    for keyword in Keyword::ALL.iter().copied() {
        let _ = writeln!(out, "| `{keyword}` | {} |", docs(keyword));
    }
}

fn write_protocol(out: &mut String) {
    out.push_str(
        "\n## Errors of the protocol\n\n\
         | code | JSON-RPC | HTTP | gRPC | what to do |\n|---|---|---|---|---|\n",
    );
    for code in A2a::ALL.iter().copied() {
        let number = code.jsonrpc();
        let http = code.http();
        let grpc = code.grpc();
        let hint = code.hint();
        let anchor = format!("{number}-{}", code.name().to_lowercase());
        let _ = writeln!(out, "| [{code}](#{anchor}) | {number} | {http} | {grpc} | {hint} |");
    }
    for code in A2a::ALL.iter().copied() {
        let _ = write!(out, "\n### {} {code}\n\n{}\n", code.jsonrpc(), docs(code));
        let _ = writeln!(out, "\n**What to do:** {}", sentence(code.hint()));
        if let Some(refusal) = protocol_example(code) {
            fence(
                out,
                &json!({"jsonrpc": "2.0", "id": 1, "error": {
                    "code": code.jsonrpc(), "message": refusal.message, "data": refusal}}),
            );
        }
    }
}

fn write_adcp(out: &mut String) {
    let of = |release| Adcp::ALL.iter().filter(|code| code.since() == release).count();
    let _ = write!(
        out,
        r#"
## Errors of a seller of advertising

The codes of AdCP: {} of 3.0, {} of 3.1 and {} of 3.2. They come as `adcp_error` (one object) of a
failed task, and in `errors[]` of its payload. `recovery` in the error takes precedence over the
table. A buyer keeps an unknown code as it was sent, and treats it as transient if it has no
`recovery`. [recovery.md](recovery.md) describes a buyer's reaction to each code, and
`tradepost explain CODE` the reaction to one.

| code | since | recovery | meaning | what to do |
|---|---|---|---|---|
"#,
        of(AdcpRelease::V3_0),
        of(AdcpRelease::V3_1),
        of(AdcpRelease::V3_2),
    );
    for code in Adcp::ALL.iter().copied() {
        let since = code.since();
        let recovery = code.recovery();
        let hint = code.hint();
        let mut meaning = docs(code);
        if let Some(instead) = code.retired() {
            let _ = write!(meaning, " Deprecated: {instead} instead.");
        }
        let _ = writeln!(out, "| {code} | {since} | {recovery} | {meaning} | {hint} |");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the person at the keyboard chooses")]
fn the_page_of_errors_is_written_from_the_catalogs() {
    let path = published::workspace().join("docs/errors.md");
    let page = page();
    if std::env::var("UPDATE_DOCS").is_ok_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/errors.md is stale; UPDATE_DOCS=1 cargo test -p tradepost-protocol-tests --test it docs"
    );
}

#[test]
fn every_example_has_its_code_and_satisfies_both_error_schemas() {
    for code in AapCode::ALL.iter().copied() {
        assert_eq!(example(code).code, code);
        for version in Version::ALL.iter().copied() {
            let path = format!("spec/aap/v{version}/schemas/error.schema.json");
            let Some(schema) = published::json(&path) else {
                continue;
            };
            let object = example(code).stamp(version, ERROR_ID.into(), MOMENT.parse().unwrap());
            let object = tradepost_document::json::to_value(object).unwrap();
            let options = jsonschema::options().should_validate_formats(true);
            let validator = options.build(&(&schema).into()).unwrap();
            let foreign = (&object).into();
            let errors: Vec<_> = validator.iter_errors(&foreign).map(|e| e.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new(), "{code} {version}");
        }
    }
    for code in A2a::ALL.iter().copied() {
        assert!(protocol_example(code).is_none_or(|refusal| refusal.code == code), "{code}");
    }
}
