//! What a verifier says of how a creative was made (`get_creative_features`), held against what its buyer
//! claims. The publisher decides whom it asks: the agents of its own `accepted_verifiers`, and no other.

use tradepost_wire::adcp::error::{AdcpCode, AdcpError};
use tradepost_wire::adcp::rules::typed::Typed as _;
use tradepost_wire::form;
use tradepost_wire::json::{Map, Value, json};

use super::Creative;
use super::asset::{Asset, CreativeVerifier, Declared, GivenCreative};
use super::judge::canonical;
use super::policy::CreativeReview;
use crate::catalogue::Product;
use crate::money::MoneyAmount;
use crate::publisher::Publisher;
use crate::refuse;
use crate::reply::object;

/// The feature by which a verifier says whether a machine has made something. Only what it says there
/// can contradict a `digital_source_type`.
const MADE_BY_MACHINE: &str = "ai_generated";

/// The kinds of source that say that a machine has, or may have, made something.
const MACHINES: [&str; 4] = [
    "trained_algorithmic_media",
    "composite_with_trained_algorithmic_media",
    "composite_synthetic",
    "algorithmic_media",
];

/// The observation that is no contradiction, and that somebody may want to look into later
/// (`creative/audit-observation.json`).
const CARVED_OUT: &str = "OVERSIGHT_DISCLOSURE_CARVEOUT_CLAIMED";

/// About how many creatives verifiers are asked for one request, at most; the others are as those whose
/// verifier is silent.
const MOST: usize = 20;

/// How sure a verifier has to be in percent before its word counts against the buyer's.
const SURE: u32 = 90;

/// What a verifier is asked about one creative.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VerifierQuestion {
    /// Whom: its address, as the publisher has published it.
    pub agent_url: String,
    /// About which of its features.
    feature_id: String,
    manifest: Map,
    claimed: Option<String>,
    /// Whether the creative and its assets claim different things, so that one answer cannot be held
    /// against all of them.
    is_mixed: bool,
    /// How far a person took part, where the buyer says that nothing has to be disclosed for it.
    carved_out: Option<String>,
}

/// What follows from what a verifier said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CreativeVerdict {
    /// Nothing speaks against the claim; with what is to be kept for an audit.
    Holds(Vec<Value>),
    /// The claim is not true; with what the buyer may know of it.
    Contradicted(Map),
    /// It did not say, so that a person has to look.
    Silent,
}

/// What a verifier was asked, and what follows from what it said.
#[derive(Debug, Clone)]
pub(crate) struct Looked {
    /// About which creative, by the id that its buyer chose.
    pub creative_id: String,
    /// What it was asked.
    pub question: VerifierQuestion,
    /// What follows.
    pub verdict: CreativeVerdict,
}

/// Has verifiers say what they know of creatives, which are named by the ids that their buyer chose. From a
/// sandbox nobody is asked.
pub(crate) async fn ask(
    publisher: &Publisher,
    questions: Vec<(String, VerifierQuestion)>,
) -> Vec<Looked> {
    if questions.is_empty() {
        return Vec::new();
    }
    let mut answers = if publisher.profile.sandbox {
        questions.iter().map(|(_, question)| Ok(question.tried_out())).collect()
    } else {
        let asked = questions.iter().take(MOST);
        let asked = asked.map(|(_, it)| (it.agent_url.clone(), it.arguments())).collect();
        publisher.world.creative_features(asked).await
    }
    .into_iter();
    let judged = questions.into_iter().map(|(creative_id, question)| {
        let answer = answers.next().and_then(Result::ok);
        let verdict = answer.map_or(CreativeVerdict::Silent, |answer| question.judge(&answer));
        Looked { creative_id, question, verdict }
    });
    judged.collect()
}

/// What follows from a question about a creative. `None` when it was not asked: since verifiers looked,
/// the creative has changed, or what is demanded of it.
pub(crate) fn known<'a>(
    looked: &'a [Looked],
    creative_id: &str,
    question: &VerifierQuestion,
) -> Option<&'a CreativeVerdict> {
    let mut about = looked.iter().filter(|it| it.creative_id == creative_id);
    about.find(|it| it.question == *question).map(|it| &it.verdict)
}

/// What is to be asked about a creative of the library that comes to run in a product: what was true of it
/// when it was sent may not be what its verifier knows today, and another product has other verifiers.
pub(crate) fn on_assignment(
    creative: &GivenCreative,
    product: Option<&Product>,
) -> Option<VerifierQuestion> {
    let policy = product?.published.creative_policy.as_ref()?;
    let accepted: Vec<_> = policy.verifiers().collect();
    VerifierQuestion::about(creative, &accepted)
}

/// What speaks against an assignment for which this was to be asked. `field` is its place in the request.
pub(crate) fn against(
    looked: &[Looked],
    creative: &Creative,
    question: &VerifierQuestion,
    review: CreativeReview,
    field: &str,
) -> Option<AdcpError> {
    match known(looked, &creative.creative_id, question) {
        None => Some(changed(field)),
        Some(CreativeVerdict::Holds(_)) => None,
        Some(CreativeVerdict::Contradicted(details)) => Some(contradicted(field, details)),
        // Where nothing is said anew, what was found when the creative was sent stands: by this verifier,
        // or by the person who looked for it.
        Some(CreativeVerdict::Silent)
            if review == CreativeReview::Person || creative.asked.contains(&question.agent_url) =>
        {
            None
        }
        Some(CreativeVerdict::Silent) => {
            let message = "the product's verifier did not say how the content was made, and nobody has \
                           looked at it for this product; send it under an id of its own with this \
                           assignment, so that a person does";
            Some(refuse::at(AdcpCode::InvalidState, field, message))
        }
    }
}

form! {
    /// What a verifier answers (`creative/get-creative-features-response.json`). Verifiers are others':
    /// what is not as it should be is as if it were not there.
    struct VerifierAnswer {
        results: Option<Vec<Value>>,
        audit_observations: Option<Vec<Value>>,
    }

    struct VerifierOutcome {
        feature_id: Option<String>,
        value: Option<Value>,
        confidence: Option<MoneyAmount>,
    }

    struct Observation {
        code: Option<String>,
    }
}

impl VerifierQuestion {
    /// What to ask about a creative, and which of the accepted verifiers: the first that its buyer has
    /// named, or else the first of all. `None` when there is nobody to ask, or nothing is claimed.
    pub(crate) fn about(creative: &GivenCreative, accepted: &[&CreativeVerifier]) -> Option<Self> {
        let of_assets: Vec<Declared> =
            creative.placed("").into_iter().filter_map(|placed| placed.asset.provenance).collect();
        let all = || creative.provenance.iter().chain(&of_assets);
        let declared: &Declared = all().next()?;
        let mut claims: Vec<&String> =
            all().filter_map(|it| it.digital_source_type.as_ref()).collect();
        claims.sort_unstable();
        claims.dedup();
        let url = |known: &CreativeVerifier| known.agent_url.as_deref().map(canonical);
        let layers = declared.embedded_provenance.iter().chain(&declared.watermarks);
        let mut named =
            layers.flatten().filter_map(|layer| url(layer.as_ref()?.verify_agent.as_ref()?));
        let is = |wanted: &String| accepted.iter().find(|it| url(it).as_ref() == Some(wanted));
        let chosen = named.find_map(|wanted| is(&wanted)).or_else(|| accepted.first())?;
        let disclosed = declared.disclosure.as_ref().and_then(|disclosure| disclosure.required);
        let oversight = declared.human_oversight.clone();
        let carved_out = oversight.filter(|how| {
            matches!(how.as_str(), "edited" | "directed") && disclosed == Some(false)
        });
        let mut manifest = creative.sent.clone();
        // The rest, such as names and tags, is no concern of a verifier's.
        manifest.retain(|name, _| {
            matches!(name.as_str(), "format_id" | "format_kind" | "assets" | "provenance")
        });
        Some(Self {
            agent_url: chosen.agent_url.clone()?,
            feature_id: chosen.feature_id.clone().unwrap_or_else(|| MADE_BY_MACHINE.to_owned()),
            manifest,
            claimed: claims.first().map(ToString::to_string),
            is_mixed: claims.len() > 1,
            carved_out,
        })
    }

    /// The arguments of `get_creative_features`.
    pub(crate) fn arguments(&self) -> Map {
        object([
            ("creative_manifest", Some(self.manifest.clone().into())),
            ("feature_ids", Some(json!([self.feature_id]))),
        ])
    }

    /// What follows from the answer.
    pub(crate) fn judge(&self, answer: &Map) -> CreativeVerdict {
        let answer = VerifierAnswer::read(&Value::Object(answer.clone()));
        let Some(VerifierAnswer { results: Some(results), audit_observations }) = answer else {
            return CreativeVerdict::Silent;
        };
        let mut results = results.iter().filter_map(VerifierOutcome::read);
        let about = |it: &VerifierOutcome| it.feature_id.as_ref() == Some(&self.feature_id);
        let Some(outcome) = results.find(about) else {
            return CreativeVerdict::Silent;
        };
        // A text would be another's words, and goes on to the buyer.
        let observed = outcome.value.filter(|value| value.is_boolean() || value.is_number());
        let sure = outcome.confidence.is_some_and(|it| {
            it >= MoneyAmount::whole(1).percent(MoneyAmount::whole(SURE))
                && it <= MoneyAmount::whole(1)
        });
        let machine = self.feature_id == MADE_BY_MACHINE && observed == Some(Value::Bool(true));
        let details = |claimed: Value| {
            object([
                ("agent_url", Some(json!(self.agent_url))),
                ("feature_id", Some(json!(self.feature_id))),
                ("claimed_value", Some(claimed)),
                ("observed_value", Some(json!(observed))),
                ("confidence", outcome.confidence.map(Into::into)),
            ])
        };
        if machine && self.is_mixed {
            return CreativeVerdict::Silent;
        }
        let denied = self.claimed.as_ref().filter(|kind| !MACHINES.contains(&kind.as_str()));
        if let (true, true, Some(claimed)) = (machine, sure, denied) {
            return CreativeVerdict::Contradicted(details(claimed.clone().into()));
        }
        let mut noted = audit_observations.iter().flatten().filter_map(Observation::read);
        let is_noted = noted.any(|observation| observation.code.as_deref() == Some(CARVED_OUT));
        // In our own words: those of a verifier are not ours to keep or to show.
        let observation = self.carved_out.as_ref().filter(|_| is_noted).map(|oversight| {
            json!({
                "code": CARVED_OUT,
                "severity": "audit-worthy",
                "recovery": "informational",
                "field": "creative_manifest.provenance.disclosure.required",
                "message": "a person is said to have directed or edited it, and no disclosure to be \
                            required; keep the claim for an audit",
                "details": details(json!({
                    "human_oversight": oversight, "disclosure_required": false,
                })),
            })
        });
        CreativeVerdict::Holds(observation.into_iter().collect())
    }

    /// What a sandbox takes for the verifier's answer, as nobody is asked from there: the address of an
    /// asset says whether a machine made it (`ai-generated-true`, `ai-generated-false`), as the
    /// storyboards of AdCP have it.
    pub(crate) fn tried_out(&self) -> Map {
        let assets = self.manifest.get("assets").and_then(Value::as_object);
        let urls = assets.into_iter().flatten().filter_map(|(_, asset)| Asset::read(asset)?.url);
        let urls: Vec<String> = urls.collect();
        let any = |mark: &str| urls.iter().any(|url| url.contains(mark));
        let claims_machine =
            self.claimed.as_ref().is_some_and(|kind| MACHINES.contains(&kind.as_str()));
        let (value, confidence) = match (any("ai-generated-true"), any("ai-generated-false")) {
            (true, _) => (true, 0.95),
            (false, true) => (false, 0.95),
            (false, false) => (claims_machine, 0.5),
        };
        let noted = self.carved_out.iter().map(|_| json!({"code": CARVED_OUT})).collect();
        let result =
            json!({"feature_id": self.feature_id, "value": value, "confidence": confidence});
        object([("results", Some(json!([result]))), ("audit_observations", Some(noted))])
    }
}

/// A verifier was asked about something else than what would be taken now.
pub(crate) fn changed(field: &str) -> AdcpError {
    let message = "the creative, or what is demanded of it, changed while a verifier looked at it; send \
                   it again";
    refuse::at(AdcpCode::Conflict, field, message)
}

/// The refusal of a creative whose provenance is not what it claims; `field` is what names it, or the claim,
/// in the request.
pub(crate) fn contradicted(field: &str, details: &Map) -> AdcpError {
    let message = "a verifier that this seller trusts says otherwise about how the content was made; \
                   details says what it was asked and what it found";
    let details = details.clone();
    AdcpError { details, ..refuse::at(AdcpCode::ProvenanceClaimContradicted, field, message) }
}
