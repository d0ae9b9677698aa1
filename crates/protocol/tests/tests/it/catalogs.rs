//! The catalogs against the tables that they are made from.

use tradepost_a2a::error::{A2aCode as A2a, DOMAIN};
use tradepost_a2a::status::RpcStatus;
use tradepost_aap::{AapCode, Skill, Version};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::Value;

use crate::published;

#[test]
fn aap_codes_are_those_of_both_error_schemas() {
    for version in Version::ALL {
        let path = format!("spec/aap/v{}/schemas/error.schema.json", version.name());
        let Some(schema) = published::json(&path) else {
            return;
        };
        let codes = schema.pointer("/properties/code/enum").and_then(Value::as_array).unwrap();
        let codes: Vec<_> = codes.iter().map(|code| code.as_str().unwrap()).collect();
        assert_eq!(codes, AapCode::NAMES, "{version}");
    }
}

#[test]
fn aap_codes_name_statuses_of_grpc_alone() {
    for code in AapCode::ALL.iter().copied() {
        assert!(RpcStatus::NAMES.contains(&code.grpc()), "{code}");
    }
}

#[test]
fn aap_numbers_and_retryability_are_those_of_the_published_table() {
    let Some(seed) = published::text("seeds/aap-v1.1-errors.txt") else {
        return;
    };
    let rows = published::rows(&seed, |cell| AapCode::from_name(cell).is_some());
    assert_eq!(rows.len(), AapCode::ALL.len());
    for row in rows {
        let code = AapCode::from_name(&row[0]).unwrap();
        // A meaning may hold pipes, so that the columns are counted from the end.
        let [.., number, retryable] = row.as_slice() else {
            panic!("{code} has too few columns");
        };
        let (number, _) = number.split_once(' ').unwrap();
        assert_eq!(number.parse(), Ok(code.jsonrpc()), "{code}");
        assert_eq!(retryable.parse(), Ok(code.retryable()), "{code}");
    }
}

#[test]
fn http_statuses_are_those_of_the_first_version() {
    let Some(requirements) = published::text("requirements/aap.md") else {
        return;
    };
    // The one row is prose: `422 schema/missing/condition; 404 …; 429; 500`.
    let rows = published::rows(&requirements, |cell| cell == "HTTP status");
    let groups: Vec<_> = rows[0][1].split("; ").collect();
    let words: &[(AapCode, &str)] = &[
        (AapCode::UnsupportedSkill, "unsupported skill"),
        (AapCode::SchemaValidationFailed, "schema"),
        (AapCode::MissingRequiredField, "missing"),
        (AapCode::InvalidCondition, "condition"),
        (AapCode::VehicleNotFound, "vehicle not found"),
        (AapCode::VehicleUnavailable, "unavailable"),
        (AapCode::ContactConsentRequired, "consent codes"),
        (AapCode::InvalidConsent, "consent codes"),
        (AapCode::AppointmentTimeUnavailable, "appointment"),
        (AapCode::IdempotencyConflict, "idempotency"),
        (AapCode::RateLimited, "429"),
        (AapCode::InternalError, "500"),
    ];
    assert_eq!(words.len(), AapCode::ALL.len());
    for (code, word) in words {
        let group = groups.iter().find(|group| group.contains(word)).unwrap();
        assert!(group.starts_with(&code.http().to_string()), "{code}: {group}");
    }
}

#[test]
fn a2a_errors_are_those_of_the_master_table() {
    let Some(requirements) = published::text("requirements/a2a.md") else {
        return;
    };
    assert!(requirements.contains(&format!("`ErrorInfo.domain` is always `{DOMAIN}`")));
    let (_, section) = requirements.split_once("## 1.1").unwrap();
    let (section, _) = section.split_once("## 1.2").unwrap();
    let rows = published::rows(section, |cell| cell.ends_with("Error") && cell != "Error");
    // Two rows have no name and no number there, and are compared below.
    let unnamed =
        [("unauthenticated", A2a::Unauthenticated), ("not permitted", A2a::PermissionDenied)];
    // And one is not there at all: §13.4 asks for limits and names no error.
    let ours = [A2a::ResourceExhausted];
    // The table has this one in words: "temporary overload / dependency down".
    let shared = [A2a::Unavailable];
    assert_eq!(rows.len() + unnamed.len() + ours.len() + shared.len(), A2a::ALL.len());
    for code in shared {
        let rows = published::rows(section, |cell| cell.starts_with("temporary overload"));
        assert_eq!(rows[0][1].parse(), Ok(code.jsonrpc()), "{code}");
        assert!(rows[0][3].starts_with(&code.http().to_string()), "{code}");
        assert_eq!((rows[0][4].as_str(), code.a2a()), (code.grpc(), false), "{code}");
    }
    for (name, code) in unnamed {
        let rows = published::rows(section, |cell| cell == name);
        assert!(rows[0][1].contains("no number given"), "{name}: the number is ours to choose");
        assert_eq!(rows[0][3].parse(), Ok(code.http()), "{code}");
        assert_eq!((rows[0][4].as_str(), code.a2a()), (code.grpc(), false), "{code}");
    }
    for row in rows {
        let number = row[1].parse().unwrap();
        let code = A2a::from_jsonrpc(number).unwrap();
        let own = row.len() == 6 && row[4].bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        assert_eq!(own, code.a2a(), "{code}");
        let (http, grpc) = if own { (&row[2], &row[3]) } else { (&row[3], &row[4]) };
        assert_eq!(http[..3].parse(), Ok(code.http()), "{code}");
        assert_eq!(grpc.split(' ').next(), Some(code.grpc()), "{code}");
        if own {
            assert_eq!((row[4].as_str(), row[0].as_str()), (code.name(), &*camel(code)));
        } else {
            assert_eq!(row[2], code.title(), "{code}");
        }
    }
}

/// `TASK_NOT_FOUND` by the name that the specification gives it: `TaskNotFoundError`.
fn camel(code: A2a) -> String {
    let capitalised = |word: &str| word[..1].to_owned() + &word[1..].to_lowercase();
    code.name().split('_').map(capitalised).collect::<String>() + "Error"
}

#[test]
fn a2a_has_the_nine_errors_that_its_specification_names() {
    let Some(seed) = published::text("seeds/a2a-section-3.3.2-error-handling.txt") else {
        return;
    };
    let rows = published::rows(&seed, |cell| cell.ends_with("Error"));
    let published: Vec<_> = rows.into_iter().map(|row| row[0].clone()).collect();
    let own = A2a::ALL.iter().filter(|code| code.a2a());
    assert_eq!(own.map(|code| camel(*code)).collect::<Vec<_>>(), published);
    assert_eq!(published.len(), 9);
}

#[test]
fn skills_and_media_types_are_those_of_the_published_list() {
    for version in Version::ALL {
        let Some(list) = published::text(&format!("spec/aap/v{}/skills.yaml", version.name()))
        else {
            return;
        };
        let (head, skills) = list.split_once("skills:\n").unwrap();
        assert_eq!(value(head, "version").trim_matches('"'), version.full());
        assert_eq!(value(head, "extension_uri"), version.uri());
        assert_eq!(value(head, "schema_base_url"), version.schema_base_url());
        let skills: Vec<_> = skills.split("  - id: ").skip(1).collect();
        assert_eq!(skills.len(), Skill::ALL.len());
        for (text, skill) in skills.into_iter().zip(Skill::ALL) {
            assert_eq!(text.lines().next(), Some(skill.name()));
            assert_eq!(value(text, "request_type"), skill.request_type());
            assert_eq!(value(text, "response_type"), skill.response_type());
            assert_eq!(value(text, "media_type_request"), skill.request_media_type());
            assert_eq!(value(text, "media_type_response"), skill.response_media_type());
            let stem = skill.stem();
            assert_eq!(value(text, "request_schema"), format!("{stem}-request.schema.json"));
            assert_eq!(value(text, "response_schema"), format!("{stem}-response.schema.json"));
            let tags = value(text, "tags").trim_matches(['[', ']']).split(", ");
            assert_eq!(tags.collect::<Vec<_>>(), skill.tags(), "{skill}");
        }
    }
}

/// The value of a key of the plain YAML that the list is written in.
fn value<'t>(text: &'t str, key: &str) -> &'t str {
    let mut lines = text.lines().map(str::trim);
    lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).unwrap_or_default()
}
