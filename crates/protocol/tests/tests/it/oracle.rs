//! The published schemas as a judge: the `jsonschema` crate's verdict in units of
//! pointer, keyword and member, and ours beside it.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use jiff::{SignedDuration, Timestamp};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Retrieve, Uri, Validator};
use tradepost_aap::{self as aap, AapRefusal, DealerTerms, Skill, Version};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json};
use tradepost_document::problem::{ProblemDetail, clip};

use crate::published;

/// Where, which keyword, and for `required` which property.
pub(crate) type Unit = (String, String, Option<String>);

/// The moment at which every request of these tests is made.
pub(crate) const NOW: &str = "2026-05-01T12:00:00Z";

/// The dealer's terms, with every rule in force.
pub(crate) fn terms() -> DealerTerms {
    DealerTerms {
        now: NOW.parse().unwrap(),
        clock_skew: SignedDuration::from_mins(5),
        consent_lifetime: Some(SignedDuration::from_hours(24 * 365)),
    }
}

/// Our verdict.
pub(crate) fn parse(version: Version, skill: Skill, data: &Value) -> Result<(), AapRefusal> {
    aap::parse(skill, version, data, &terms()).map(|_| ())
}

/// The units that a refusal lists.
pub(crate) fn listed(refusal: &AapRefusal) -> BTreeSet<Unit> {
    let unit = |problem: &tradepost_document::problem::Problem| {
        let property = match problem.extra {
            ProblemDetail::Property(name) => Some(name.to_owned()),
            _ => None,
        };
        (problem.pointer.clone(), problem.keyword.name().to_owned(), property)
    };
    refusal.problems.listed().iter().map(unit).collect()
}

/// The schemas of both versions' requests, compiled.
pub(crate) struct Oracle(Vec<(Version, Skill, Validator)>);

/// Compiles the published schemas once; `None` where they are absent.
pub(crate) fn oracle() -> Option<&'static Oracle> {
    static ORACLE: OnceLock<Option<Oracle>> = OnceLock::new();
    ORACLE.get_or_init(Oracle::compile).as_ref()
}

impl Oracle {
    fn compile() -> Option<Self> {
        let mut validators = Vec::new();
        for version in Version::ALL.iter().copied() {
            let folder = published::path(&format!("spec/aap/v{}/schemas", version.name()))?;
            for skill in Skill::ALL.iter().copied() {
                let name = format!("{}-request.schema.json", skill.stem());
                let schema = read(&folder.join(name)).unwrap();
                let base = version.schema_base_url();
                let folder = Folder { base, folder: folder.clone() };
                let validator = jsonschema::options()
                    .with_retriever(folder)
                    .should_validate_formats(true)
                    .with_format("email", email())
                    .build(&schema)
                    .unwrap();
                validators.push((version, skill, validator));
            }
        }
        Some(Self(validators))
    }

    /// A judge of v1.1 by our own schemas.
    pub(crate) fn from_schemas(schemas: impl Iterator<Item = (Skill, Value)>) -> Self {
        let compile = |(skill, schema): (Skill, Value)| {
            let options = jsonschema::options().should_validate_formats(true);
            (
                Version::V1_1,
                skill,
                options.with_format("email", email()).build(&(&schema).into()).unwrap(),
            )
        };
        Self(schemas.map(compile).collect())
    }

    /// The units of a request, by the rules of §2.2: one for each extra key, at the key; `anyOf`
    /// without its branches; no `if`; none twice.
    pub(crate) fn units(&self, version: Version, skill: Skill, data: &Value) -> BTreeSet<Unit> {
        let entry = self.0.iter().find(|(v, s, _)| (*v, *s) == (version, skill));
        let mut units = BTreeSet::new();
        for error in entry.unwrap().2.iter_errors(&data.into()) {
            let at = error.instance_path().as_str().to_owned();
            let keyword = error.kind().keyword().to_owned();
            match error.kind() {
                ValidationErrorKind::AdditionalProperties { unexpected } => {
                    for key in unexpected {
                        let key = clip(key).replace('~', "~0").replace('/', "~1");
                        units.insert((format!("{at}/{key}"), keyword.clone(), None));
                    }
                }
                ValidationErrorKind::Required { property } => {
                    let property = property.as_str().unwrap().to_owned();
                    units.insert((at, keyword, Some(property)));
                }
                _ => {
                    units.insert((at, keyword, None));
                }
            }
        }
        units
    }
}

/// E-mail addresses as C-14 resolves them: the pattern of ajv-formats, written as the regular
/// expression that it is, with the length limits of RFC 5321. The other formats of the schemas
/// (`date-time`, `date`, `uri`) are the crate's own, which are as strict as C-14 asks.
pub(crate) fn email() -> impl Fn(&str) -> bool {
    const ATOM: &str = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
    const LABEL: &str = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
    let pattern = format!(r"^{ATOM}(?:\.{ATOM})*@(?:{LABEL}\.)+{LABEL}$");
    let schema =
        json!({"maxLength": 254, "allOf": [{"pattern": pattern}, {"pattern": "^.{1,64}@"}]});
    let validator = jsonschema::validator_for(&(&schema).into()).unwrap();
    move |text| validator.is_valid(&text.into())
}

/// Resolves references to a version's schemas from its folder.
struct Folder {
    base: &'static str,
    folder: PathBuf,
}

impl Retrieve for Folder {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<serde_json::Value, Box<dyn Error + Send + Sync>> {
        let name = uri.as_str().strip_prefix(self.base).ok_or("a foreign schema")?;
        read(&self.folder.join(name))
    }
}

fn read(path: &std::path::Path) -> Result<serde_json::Value, Box<dyn Error + Send + Sync>> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

/// A moment, where a text is one. The calendar of jiff ends before the year 9999 does, and its
/// fractions after nine digits.
pub(crate) fn moment(value: Option<&Value>) -> Option<Timestamp> {
    let text = value?.as_str()?;
    let text = text.replace(".1234567890123", ".123456789");
    let beyond = || text.starts_with("9999-12-3").then_some(Timestamp::MAX);
    text.parse().ok().or_else(beyond)
}
