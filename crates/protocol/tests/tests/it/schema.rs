//! The schemas that we hand out see what our readers see.

use proptest::test_runner::{TestCaseError, TestRunner};
use tradepost_aap::{AapCode, AapRefusal, Skill, Version, schema};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::Value;

use crate::equivalence::{config, is_of_size, same_units};
use crate::mutate::{apply, mutations};
use crate::oracle::{self, Oracle};
use crate::seeds;

fn ours() -> Oracle {
    Oracle::from_schemas(Skill::ALL.iter().map(|skill| (*skill, schema::request(*skill).into())))
}

fn compare(ours: &Oracle, skill: Skill, data: &Value) -> Result<(), String> {
    let seen = ours.units(Version::V1_1, skill, data);
    match oracle::parse(Version::V1_1, skill, data) {
        Ok(()) if seen.is_empty() => Ok(()),
        Ok(()) => Err(format!("the reader accepts it, the schema says {seen:?}")),
        Err(refusal) if is_of_time_or_channel(&refusal) && seen.is_empty() => Ok(()),
        // Each dealer has limits of its own, so the schemas that are for all do not say them.
        Err(refusal) if seen.is_empty() && is_of_size(&refusal, data) => Ok(()),
        Err(refusal) => same_units(&refusal, &seen),
    }
}

/// What no schema can say: whether a grant is in force, and whether it covers a channel.
fn is_of_time_or_channel(refusal: &AapRefusal) -> bool {
    refusal.problems.is_empty()
        && matches!(refusal.code, AapCode::InvalidConsent | AapCode::ContactConsentRequired)
}

#[test]
fn damaged_requests_have_the_problems_that_our_schemas_find() {
    let ours = ours();
    let seeds: Vec<_> =
        seeds::all().into_iter().filter(|seed| seed.version == Version::V1_1).collect();
    for seed in &seeds {
        assert_eq!(compare(&ours, seed.skill, &seed.data), Ok(()), "{}", seed.name);
    }
    let strategy = (0..seeds.len(), mutations());
    let result = TestRunner::new(config(4_000)).run(&strategy, |(index, mutations)| {
        let skill = seeds[index].skill;
        let mut data = seeds[index].data.clone();
        mutations.iter().for_each(|mutation| apply(&mut data, mutation));
        compare(&ours, skill, &data)
            .map_err(|reason| TestCaseError::fail(format!("{reason}\n{data}")))
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn every_schema_stands_alone_and_explains_every_member() {
    fn walk(schema: &Value, place: &str) {
        assert_eq!(schema.get("$ref"), None, "{place}");
        if let Some(members) = schema.get("properties").and_then(Value::as_object) {
            for (name, member) in members {
                let place = format!("{place}/{name}");
                let about = member["description"].as_str().unwrap_or_default();
                assert!(about.ends_with('.'), "{place}: {about:?}");
                walk(member, &place);
            }
        }
    }
    for skill in Skill::ALL {
        let schema: Value = schema::request(*skill).into();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
        walk(&schema, skill.name());
    }
}
