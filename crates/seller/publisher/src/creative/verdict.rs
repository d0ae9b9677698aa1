//! Verification of provenance: a verifier's answer (`get_creative_features`) is compared with the buyer's
//! claims. Only agents among the publisher's own `accepted_verifiers` are asked.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::{Map, Value, json};
use tradepost_document::typed::Typed as _;
use tradepost_document::typed_struct;

use super::Creative;
use super::asset::{Asset, CreativeVerifier, Declared, GivenCreative};
use super::judge::canonical;
use super::policy::CreativeReview;
use crate::catalogue::Product;
use crate::money::MoneyAmount;
use crate::publisher::Publisher;
use crate::refusals;
use crate::reply::object;

/// Feature by which a verifier says whether content was machine-made. Only this feature can
/// contradict a `digital_source_type`.
const MADE_BY_MACHINE: &str = "ai_generated";

/// Source types of content that was, or may have been, made by a machine.
const MACHINE_SOURCE_TYPES: [&str; 4] = [
    "trained_algorithmic_media",
    "composite_with_trained_algorithmic_media",
    "composite_synthetic",
    "algorithmic_media",
];

/// Audit observation that contradicts nothing but may need a later audit
/// (`creative/audit-observation.json`).
const CARVED_OUT: &str = "OVERSIGHT_DISCLOSURE_CARVEOUT_CLAIMED";

/// Maximum number of creatives verified for one request; the others are treated as if their verifier
/// gave no answer.
const MOST: usize = 20;

/// Minimum confidence in percent for a verifier's answer to outweigh the buyer's claim.
const SURE: u32 = 90;

/// Question to a verifier about one creative.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VerifierQuestion {
    /// URL of the verifier, as the publisher has published it.
    pub agent_url: String,
    /// Feature of the verifier that is asked for.
    feature_id: String,
    manifest: Map,
    claimed: Option<String>,
    /// True when the creative and its assets make different claims, so that one answer cannot
    /// contradict all of them.
    is_mixed: bool,
    /// Human oversight that the buyer claims as the reason for not requiring a disclosure.
    carved_out: Option<String>,
}

/// Result of a verification.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CreativeVerdict {
    /// Nothing contradicts the claim; the observations to keep for an audit.
    Holds(Vec<Value>),
    /// The claim is false; the details for the buyer.
    Contradicted(Map),
    /// The verifier gave no answer, so that a person has to review.
    NoAnswer,
}

/// Question to a verifier with its result.
#[derive(Debug, Clone)]
pub(crate) struct Verification {
    /// Id of the creative, chosen by its buyer.
    pub creative_id: String,
    /// Question that was asked.
    pub question: VerifierQuestion,
    /// Result.
    pub verdict: CreativeVerdict,
}

/// Asks verifiers about creatives, which are named by the ids that their buyer chose. A sandbox makes no
/// calls.
pub(crate) async fn ask(
    publisher: &Publisher,
    questions: Vec<(String, VerifierQuestion)>,
) -> Vec<Verification> {
    if questions.is_empty() {
        return Vec::new();
    }
    let mut answers = if publisher.profile.sandbox {
        questions.iter().map(|(_, question)| Ok(question.tried_out())).collect()
    } else {
        let asked = questions.iter().take(MOST);
        let asked =
            asked.map(|(_, question)| (question.agent_url.clone(), question.arguments())).collect();
        publisher.services.creative_features(asked).await
    }
    .into_iter();
    let results = questions.into_iter().map(|(creative_id, question)| {
        let answer = answers.next().and_then(Result::ok);
        let verdict = answer.map_or(CreativeVerdict::NoAnswer, |answer| question.verdict(&answer));
        Verification { creative_id, question, verdict }
    });
    results.collect()
}

/// Returns the result of a question about a creative. `None` when this question was not asked, because
/// the creative or the demands on it have changed since.
pub(crate) fn known<'a>(
    verifications: &'a [Verification],
    creative_id: &str,
    question: &VerifierQuestion,
) -> Option<&'a CreativeVerdict> {
    let mut about = verifications.iter().filter(|result| result.creative_id == creative_id);
    about.find(|result| result.question == *question).map(|result| &result.verdict)
}

/// Returns the question about a library creative that is assigned to a product. It is asked again because
/// the verifier may know more today, and another product has other verifiers.
pub(crate) fn on_assignment(
    creative: &GivenCreative,
    product: Option<&Product>,
) -> Option<VerifierQuestion> {
    let policy = product?.published.creative_policy.as_ref()?;
    let accepted: Vec<_> = policy.verifiers().collect();
    VerifierQuestion::from_creative(creative, &accepted)
}

/// Returns the error of an assignment that needs this question. `field` is its path in the request.
pub(crate) fn against(
    verifications: &[Verification],
    creative: &Creative,
    question: &VerifierQuestion,
    review: CreativeReview,
    field: &str,
) -> Option<AdcpError> {
    match known(verifications, &creative.creative_id, question) {
        None => Some(changed(field)),
        Some(CreativeVerdict::Holds(_)) => None,
        Some(CreativeVerdict::Contradicted(details)) => Some(contradicted(field, details)),
        // Without a new answer the earlier result stands: that of this verifier, or of the person who
        // reviewed the creative.
        Some(CreativeVerdict::NoAnswer)
            if review == CreativeReview::Person || creative.asked.contains(&question.agent_url) =>
        {
            None
        }
        Some(CreativeVerdict::NoAnswer) => {
            let message = "the product's verifier did not say how the content was made, and nobody has \
                           looked at it for this product; send it under an id of its own with this \
                           assignment, so that a person does";
            Some(refusals::at(AdcpCode::InvalidState, field, message))
        }
    }
}

typed_struct! {
    /// Verifier's answer (`creative/get-creative-features-response.json`). It comes from another party:
    /// members that do not fit the schema are treated as absent.
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
    /// Creates the question about a creative for one of the accepted verifiers: the first that the
    /// buyer names, otherwise the first accepted one. `None` when there is no verifier or no
    /// declaration.
    pub(crate) fn from_creative(
        creative: &GivenCreative,
        accepted: &[&CreativeVerifier],
    ) -> Option<Self> {
        let of_assets: Vec<Declared> =
            creative.placed("").into_iter().filter_map(|placed| placed.asset.provenance).collect();
        let all = || creative.provenance.iter().chain(&of_assets);
        let declared: &Declared = all().next()?;
        let mut claims: Vec<&String> =
            all().filter_map(|provenance| provenance.digital_source_type.as_ref()).collect();
        claims.sort_unstable();
        claims.dedup();
        let url = |known: &CreativeVerifier| known.agent_url.as_deref().map(canonical);
        let layers = declared.embedded_provenance.iter().chain(&declared.watermarks);
        let mut named =
            layers.flatten().filter_map(|layer| url(layer.as_ref()?.verify_agent.as_ref()?));
        let is = |wanted: &String| {
            accepted.iter().find(|verifier| url(verifier).as_ref() == Some(wanted))
        };
        let chosen = named.find_map(|wanted| is(&wanted)).or_else(|| accepted.first())?;
        let disclosed = declared.disclosure.as_ref().and_then(|disclosure| disclosure.required);
        let oversight = declared.human_oversight.clone();
        let carved_out = oversight.filter(|how| {
            matches!(how.as_str(), "edited" | "directed") && disclosed == Some(false)
        });
        let mut manifest = creative.sent.clone();
        // Other members, such as names and tags, are not disclosed to the verifier.
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

    /// Returns the arguments of `get_creative_features`.
    pub(crate) fn arguments(&self) -> Map {
        object([
            ("creative_manifest", Some(self.manifest.clone().into())),
            ("feature_ids", Some(json!([self.feature_id]))),
        ])
    }

    /// Evaluates the answer.
    pub(crate) fn verdict(&self, answer: &Map) -> CreativeVerdict {
        let answer = VerifierAnswer::read(&Value::Object(answer.clone()));
        let Some(VerifierAnswer { results: Some(results), audit_observations }) = answer else {
            return CreativeVerdict::NoAnswer;
        };
        let mut results = results.iter().filter_map(VerifierOutcome::read);
        let about =
            |outcome: &VerifierOutcome| outcome.feature_id.as_ref() == Some(&self.feature_id);
        let Some(outcome) = results.find(about) else {
            return CreativeVerdict::NoAnswer;
        };
        // Text is dropped: it is the verifier's wording and would be passed on to the buyer.
        let observed = outcome.value.filter(|value| value.is_boolean() || value.is_number());
        let sure = outcome.confidence.is_some_and(|confidence| {
            confidence >= MoneyAmount::whole(1).percent(MoneyAmount::whole(SURE))
                && confidence <= MoneyAmount::whole(1)
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
            return CreativeVerdict::NoAnswer;
        }
        let denied =
            self.claimed.as_ref().filter(|kind| !MACHINE_SOURCE_TYPES.contains(&kind.as_str()));
        if machine
            && sure
            && let Some(claimed) = denied
        {
            return CreativeVerdict::Contradicted(details(claimed.clone().into()));
        }
        let mut noted = audit_observations.iter().flatten().filter_map(Observation::read);
        let is_noted = noted.any(|observation| observation.code.as_deref() == Some(CARVED_OUT));
        // Our own wording: the verifier's text is neither stored nor shown.
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

    /// Returns the answer that a sandbox uses instead of calling a verifier: the URL of an asset says
    /// whether a machine made it (`ai-generated-true`, `ai-generated-false`), as in the storyboards of
    /// AdCP.
    pub(crate) fn tried_out(&self) -> Map {
        let assets = self.manifest.get("assets").and_then(Value::as_object);
        let urls = assets.into_iter().flatten().filter_map(|(_, asset)| Asset::read(asset)?.url);
        let urls: Vec<String> = urls.collect();
        let any = |mark: &str| urls.iter().any(|url| url.contains(mark));
        let claims_machine =
            self.claimed.as_ref().is_some_and(|kind| MACHINE_SOURCE_TYPES.contains(&kind.as_str()));
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

/// Returns the refusal of a creative that changed, or whose demands changed, while a verifier was
/// asked.
pub(crate) fn changed(field: &str) -> AdcpError {
    let message = "the creative, or what is demanded of it, changed while a verifier looked at it; send \
                   it again";
    refusals::at(AdcpCode::Conflict, field, message)
}

/// Returns the refusal of a creative whose provenance claim is contradicted; `field` is the member of the
/// request that names the creative or the claim.
pub(crate) fn contradicted(field: &str, details: &Map) -> AdcpError {
    let message = "a verifier that this seller trusts says otherwise about how the content was made; \
                   details says what it was asked and what it found";
    let details = details.clone();
    AdcpError { details, ..refusals::at(AdcpCode::ProvenanceClaimContradicted, field, message) }
}
