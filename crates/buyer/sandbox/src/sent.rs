//! Requests of a buyer, as far as they are graded. Personal data is checked and not stored.

use std::collections::BTreeSet;

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use tradepost_a2a::jsonrpc::{self, Id};
use tradepost_a2a::{self as a2a, A2aRequest, Content, Operation};
use tradepost_aap::error::Remedy;
use tradepost_aap::{self as aap, AapCode, DealerTerms, Skill, Version};
use tradepost_adcp::rules::{self, Internals};
use tradepost_adcp::{AdcpTool, credentials};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::Value;
use tradepost_document::problem;
use tradepost_mcp as mcp;
use tradepost_server::http::intake::activated_extensions;

use super::script::AskedFor;
use super::watch::FindingKind;

/// Tolerance for a consent that lies in the future.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// SHA-256 digest.
pub type Digest = [u8; 32];

/// Request to the endpoint, or for the card.
#[derive(Debug)]
pub struct SentRequest {
    /// Target, as far as it can be read.
    pub target: Option<AskedFor>,
    /// JSON-RPC id to answer.
    pub id: Id,
    /// AAP version of the request.
    pub version: Version,
    /// MCP lifecycle of the request.
    pub release: mcp::Lifecycle,
    /// Payload.
    pub data: Option<Value>,
    /// Digest of the intent: the payload without its idempotency key and time of sending.
    pub intent: Option<Digest>,
    /// Idempotency key.
    pub key: Option<String>,
    /// Id of the message.
    pub message_id: Option<String>,
    /// Digest of other facts that may change the answer: the caller's credential and the versions.
    pub circumstances: Digest,
    /// Consent of a lead.
    pub consent: Option<GradedConsent>,
    /// Mistakes in the request itself.
    pub findings: Vec<(FindingKind, String)>,
}

/// Consent, as far as it is graded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradedConsent {
    /// Digest of the grant's time and text.
    pub grant: Digest,
    /// Channels on which the dealer may answer.
    pub channels: BTreeSet<String>,
}

impl SentRequest {
    /// Reads a request for the agent card.
    #[must_use]
    pub fn card(parts: &Parts) -> Self {
        Self { target: Some(AskedFor::Card), ..Self::without_payload(parts) }
    }

    /// Reads the operation of a request and its parameters; `None` when it is no operation of A2A 1.0.
    fn open(&mut self, parts: &Parts, body: &[u8]) -> Option<(Operation, Option<Value>)> {
        if parts.headers.get(a2a::VERSION_HEADER).is_none() {
            self.find(FindingKind::VersionMissing, "the request names no protocol version");
        }
        let envelope = match jsonrpc::read(body) {
            Ok(envelope) => envelope,
            Err(reject) => {
                self.find(FindingKind::RequestInvalid, reject.message);
                return None;
            }
        };
        self.id = envelope.id;
        let operation = Operation::from_name(&envelope.method);
        if operation.is_none() {
            self.find(FindingKind::RequestInvalid, "the method is none of A2A 1.0");
        }
        Some((operation?, envelope.params))
    }

    /// Reads a request to a dealer.
    #[must_use]
    pub fn message(parts: &Parts, body: &[u8], now: Timestamp) -> Self {
        let mut sent = Self::without_payload(parts);
        let Some((operation, params)) = sent.open(parts, body) else { return sent };
        let activated = activated_extensions(&parts.headers);
        let message = match a2a::request::read(operation, params.as_ref()) {
            Ok(A2aRequest::SendMessage(send)) => send.message,
            Ok(_) => {
                sent.find(FindingKind::RequestInvalid, "AAP uses SendMessage alone");
                return sent;
            }
            Err(refusal) => {
                sent.find(FindingKind::RequestInvalid, refusal.message);
                return sent;
            }
        };
        let data: Vec<&Value> = message
            .parts
            .iter()
            .filter_map(|part| match &part.content {
                Content::Data(data) => Some(data),
                Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
            })
            .collect();
        let known = |uri: &String| Version::ALL.iter().any(|version| version.uri() == uri);
        if !activated.iter().chain(&message.extensions).any(known) {
            sent.find(FindingKind::ExtensionMissing, "the request names no version of AAP");
        }
        let named = [activated.as_slice(), message.extensions.as_slice()];
        sent.version = Version::choose(Version::ALL, named, data.first().copied());
        sent.message_id = Some(message.message_id.clone());
        match data.as_slice() {
            [data] => sent.payload(data, now),
            others => {
                let refusal = aap::data_part_problem(others.len());
                sent.find(FindingKind::RequestInvalid, refusal.message);
            }
        }
        sent
    }

    /// Reads a request to an agent without a profile: any operation of A2A. Attempts of one intent agree in
    /// everything but the message's id, by which an agent may recognise a message (A2A §3.3.1).
    #[must_use]
    pub fn call(parts: &Parts, body: &[u8]) -> Self {
        let mut sent = Self::without_payload(parts);
        let Some((operation, params)) = sent.open(parts, body) else { return sent };
        sent.target = Some(AskedFor::Operation(operation));
        match a2a::request::read(operation, params.as_ref()) {
            Ok(A2aRequest::SendMessage(send) | A2aRequest::SendStreamingMessage(send)) => {
                sent.message_id = Some(send.message.message_id.clone());
                sent.key.clone_from(&sent.message_id);
            }
            Ok(_) => {}
            Err(refusal) => sent.find(FindingKind::RequestInvalid, refusal.message),
        }
        let mut wanted = params.unwrap_or_default();
        sent.data = Some(wanted.clone());
        if let Some(message) = wanted.get_mut("message").and_then(Value::as_object_mut) {
            message.shift_remove("messageId");
        }
        // Includes the operation, because the same parameters mean something else in another one.
        let named = Value::Array(vec![operation.name().into(), wanted]);
        sent.intent = Some(Sha256::digest(canonical::to_string(&named)).into());
        sent
    }

    /// Reads a call of a publisher's tool over MCP; `None` for a message that calls no tool.
    #[must_use]
    pub fn tool(parts: &Parts, body: &[u8]) -> Option<Self> {
        let mut sent = Self::without_payload(parts);
        let header = |name: &str| parts.headers.get(name).map(|value| value.as_bytes());
        let read =
            jsonrpc::read_message(body).map_err(|reject| mcp::McpError::from_reject(&reject));
        let read = read.and_then(|message| mcp::request(message, header).map_err(|(_, fail)| fail));
        let mut request = match read {
            Ok(request) => request.filter(|request| request.method == mcp::CALL)?,
            Err(fail) => {
                sent.find(FindingKind::RequestInvalid, fail.message);
                return Some(sent);
            }
        };
        (sent.id, sent.release) = (request.id.clone(), request.lifecycle);
        let Some(tool) = request.tool(|_| true).ok().and_then(AdcpTool::from_any_name) else {
            sent.find(FindingKind::RequestInvalid, "the request calls no tool of AdCP");
            return Some(sent);
        };
        sent.target = Some(AskedFor::Tool(tool));
        sent.arguments(tool, request.take_arguments().into());
        Some(sent)
    }

    /// Grades the arguments of a tool. Attempts of one intent agree in everything but the key and the caller's own
    /// context.
    fn arguments(&mut self, tool: AdcpTool, arguments: Value) {
        for place in credentials::find(&arguments) {
            let message = format!("a credential at {}", problem::clip(&place));
            self.find(FindingKind::CredentialSent, message);
        }
        let issues = rules::check(tool, &arguments, Internals::Off).err();
        for issue in issues.into_iter().flat_map(|issues| issues.into_error().issues) {
            let message = format!("{} {}", problem::clip(&issue.pointer), issue.message);
            self.find(FindingKind::RequestInvalid, message);
        }
        let mut wanted = arguments.clone();
        self.data = Some(arguments);
        if let Some(members) = wanted.as_object_mut() {
            let key = members.shift_remove("idempotency_key");
            self.key = key.as_ref().and_then(Value::as_str).map(str::to_owned);
            members.shift_remove("context");
        }
        let named = Value::Array(vec![tool.name().into(), wanted]);
        self.intent = Some(Sha256::digest(canonical::to_string(&named)).into());
    }

    /// Returns true when the request may have an effect that must not happen twice: a lead, a message to an agent, or
    /// a task that changes something.
    #[must_use]
    pub fn has_effect(&self) -> bool {
        match self.target {
            Some(AskedFor::Skill(skill)) => skill == Skill::LeadSubmit,
            Some(AskedFor::Operation(operation)) => {
                matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage)
            }
            Some(AskedFor::Tool(tool)) => tool.mutates(),
            Some(AskedFor::Card) | None => false,
        }
    }

    /// Returns true when the request needs an idempotency key.
    #[must_use]
    pub fn wants_key(&self) -> bool {
        match self.target {
            Some(AskedFor::Skill(skill)) => skill == Skill::LeadSubmit,
            Some(AskedFor::Tool(tool)) => tool.keyed(),
            Some(AskedFor::Operation(_) | AskedFor::Card) | None => false,
        }
    }

    /// Returns the noun for a request with an effect.
    #[must_use]
    pub fn noun(&self) -> &'static str {
        match self.target {
            Some(AskedFor::Operation(_)) => "message",
            Some(AskedFor::Tool(_)) => "task",
            Some(AskedFor::Skill(_) | AskedFor::Card) | None => "lead",
        }
    }

    /// Creates a request without a payload; its circumstances are a digest of credential, version and extensions.
    fn without_payload(parts: &Parts) -> Self {
        let mut hash = Sha256::new();
        for name in [AUTHORIZATION.as_str(), a2a::VERSION_HEADER, a2a::EXTENSIONS_HEADER] {
            for value in parts.headers.get_all(name) {
                hash.update(value.as_bytes());
                hash.update(b"\n");
            }
            // The separator keeps the end of one header distinct from the beginning of the next.
            hash.update(b"\0");
        }
        Self {
            target: None,
            id: Id::null(),
            version: Version::V1_1,
            release: mcp::Lifecycle::Handshake,
            data: None,
            intent: None,
            key: None,
            message_id: None,
            circumstances: hash.finalize().into(),
            consent: None,
            findings: Vec::new(),
        }
    }

    fn find(&mut self, finding: FindingKind, message: impl Into<String>) {
        self.findings.push((finding, message.into()));
    }

    fn payload(&mut self, data: &Value, now: Timestamp) {
        self.data = Some(data.clone());
        self.intent = Some(intent(data));
        self.key = data.get("idempotency_key").and_then(Value::as_str).map(str::to_owned);
        let skill = match aap::identify(data, Skill::ALL) {
            Ok(skill) => skill,
            Err(refusal) => return self.find(FindingKind::RequestInvalid, refusal.message),
        };
        self.target = Some(AskedFor::Skill(skill));
        if skill == Skill::LeadSubmit {
            self.consent = data.get("consent").map(consent);
        }
        // The maximum age of a consent is each dealer's own rule, which a buyer need not know.
        let terms = DealerTerms { now, clock_skew: SKEW, consent_lifetime: None };
        let Err(refusal) = aap::parse(skill, self.version, data, &terms) else { return };
        let finding = match refusal.code.remedy() {
            Remedy::AskConsent if refusal.code == AapCode::InvalidConsent => {
                FindingKind::ConsentInvalid
            }
            Remedy::AskConsent => FindingKind::ConsentMissing,
            Remedy::NotOffered
            | Remedy::Correct
            | Remedy::SearchAgain
            | Remedy::AskTime
            | Remedy::NewKey
            | Remedy::SlowDown
            | Remedy::TryAgain => FindingKind::RequestInvalid,
        };
        self.find(finding, refusal.message);
    }

    /// Returns the skill that is called.
    #[must_use]
    pub fn skill(&self) -> Option<Skill> {
        match self.target? {
            AskedFor::Skill(skill) => Some(skill),
            AskedFor::Operation(_) | AskedFor::Tool(_) | AskedFor::Card => None,
        }
    }

    /// Returns all identifiers of the vehicle that is requested or that a lead is about.
    #[must_use]
    pub fn vehicle(&self) -> Vec<(&'static str, &str)> {
        let vehicle = match (self.skill(), &self.data) {
            (Some(Skill::InventoryVehicle), Some(data)) => data,
            (Some(Skill::LeadSubmit), Some(data)) => {
                data.get("vehicle_of_interest").unwrap_or(&Value::Null)
            }
            _ => &Value::Null,
        };
        let text = |name| Some((name, vehicle.get(name)?.as_str()?));
        ["vin", "stock", "vehicle_id"].into_iter().filter_map(text).collect()
    }

    /// Returns the names of the payload's members for the report; their values may be personal data.
    #[must_use]
    pub fn members(&self) -> Vec<String> {
        let members = self.data.as_ref().and_then(Value::as_object);
        let names = members.into_iter().flat_map(|members| members.keys());
        names.take(problem::MAX_LISTED).map(|name| problem::clip(name).to_owned()).collect()
    }
}

/// Returns the digest that a retry shares with the first attempt.
fn intent(data: &Value) -> Digest {
    let mut data = data.clone();
    if let Some(members) = data.as_object_mut() {
        members.shift_remove("idempotency_key");
        members.shift_remove("submitted_at");
    }
    Sha256::digest(canonical::to_string(&data)).into()
}

fn consent(consent: &Value) -> GradedConsent {
    let member = |name: &str| consent.get(name).cloned().unwrap_or(Value::Null);
    let grant = Value::Array(vec![member("granted_at"), member("consent_text")]);
    let channels = consent.get("allowed_channels").and_then(Value::as_array);
    let channels = channels.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    GradedConsent {
        grant: Sha256::digest(canonical::to_string(&grant)).into(),
        channels: channels.collect(),
    }
}
