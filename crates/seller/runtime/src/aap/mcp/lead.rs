//! `aap_lead_submit`: a lead is sent only when the person has agreed to a text of ours (`R-LD-04`), in a form of their
//! client, or in two calls, between which the model shows the text. A token connects both calls. It fits only the same
//! lead of the same caller, and the idempotency key is derived from it, so that it sends one lead, however often and
//! to whichever process it comes back.

use jiff::Timestamp;
use tradepost_aap::consent_text::consent_text;
use tradepost_aap::{
    AapCode, AapRefusal, AapRequest, DealerTerms, LeadSubmit, Skill, Version,
    parse as parse_request, schema,
};
use tradepost_dealer::lead::PersonAgreement;
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_mcp::confirmation::VerifiedToken;
use tradepost_mcp::sanitize::quoted;
use tradepost_mcp::{AgreementForm, FormAnswer, is_answer, outline};
use tradepost_server::agent::RequestMeta;
use tradepost_server::tools::{DeclaredClient, FormSupport, ToolCall, ToolOutcome, ToolResult};

use super::{LenientRequest, McpEndpoint, answered, payload, succeeded, text};
use crate::aap::seller::{DealerAgent, MessageRefused, SkillCall};

/// Maximum length of the dealer's name in the consent text, in characters.
const MAX_NAME: usize = 60;

/// Maximum length of a confirmation and of a conversation id.
const MAX_TOKEN: usize = 200;

/// Consent text of a lead that is only read so far.
const NO_TEXT_YET: &str = "-";

/// Members of a request that are not the lead's own, and are filled in for the model.
const FILLED_IN: [&str; 5] = ["type", "consent", "source_agent", "submitted_at", "idempotency_key"];

/// Arguments that the tool has beside those of AAP.
#[derive(Debug, Default)]
struct OwnArguments {
    /// Token from the first call.
    confirmation: Option<String>,
    /// Conversation of an earlier lead.
    conversation: Option<String>,
    /// True when the model says that the user has read the text and agreed.
    shown: Option<bool>,
}

/// Way in which the person was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConsentWay {
    /// In a form of the client.
    Form,
    /// In two calls.
    TwoCalls,
    /// In two calls, because a form had no answer.
    AfterForm,
}

impl ConsentWay {
    /// Selects the way. Some clients declare forms and never show one: their model asks in two calls, with a
    /// confirmation that only a form without an answer gives.
    fn new(form: FormSupport<'_>, own: &OwnArguments) -> Self {
        match form {
            FormSupport::Absent => Self::TwoCalls,
            FormSupport::Unanswered => Self::AfterForm,
            FormSupport::Returned { .. } if own.confirmation.is_some() => Self::AfterForm,
            FormSupport::Returned { state: Some(_), answer } if !answer.is_some_and(is_answer) => {
                Self::AfterForm
            }
            FormSupport::Returned { .. } => Self::Form,
        }
    }

    /// Returns a description for the evidence.
    const fn description(self) -> &'static str {
        match self {
            Self::Form => "asked by a form of the client",
            Self::TwoCalls => "asked in two calls",
            Self::AfterForm => "asked in two calls after a form without an answer",
        }
    }
}

/// What the person is asked.
struct ConsentQuestion {
    consent_text: String,
    /// The lead as it would be sent, without what is filled in.
    parts: Map,
    /// Canonical text of everything asked about: an agreement covers exactly this.
    subject: String,
}

/// State of a person's agreement.
enum LeadAgreement {
    /// The person has agreed, as far as the call says. The store knows whether the token still counts.
    Given(VerifiedToken),
    /// The person has refused.
    Refused(VerifiedToken),
    /// The person has to be asked first.
    Asked(ToolOutcome),
}

/// Members of a lead that the model may send, and that the person is not shown. They are part of what a confirmation is
/// for, so that they cannot change after the person has agreed.
struct UnshownMembers {
    idempotency_key: Option<Value>,
    source_agent: Option<Value>,
    /// The consent, without what the dealer writes into it.
    consent: Option<Value>,
}

impl UnshownMembers {
    fn from_arguments(arguments: &Map) -> Self {
        let member = |name: &str| arguments.get(name).cloned();
        let mut consent = member("consent");
        if let Some(Value::Object(consent)) = &mut consent {
            for written in ["granted_at", "consent_text"] {
                consent.shift_remove(written);
            }
        }
        Self {
            idempotency_key: member("idempotency_key"),
            source_agent: member("source_agent"),
            consent,
        }
    }
}

impl DealerAgent {
    /// Answers a call of the tool.
    pub(super) async fn submit_lead(
        &self,
        mcp: &McpEndpoint,
        version: Version,
        call: ToolCall<'_>,
    ) -> Result<ToolOutcome, MessageRefused> {
        let ToolCall { caller, sent, mut arguments, client, form, .. } = call;
        self.admit(caller)?;
        let mut problems = Problems::new();
        let own = take_own(&mut arguments, &mut problems);
        let unshown = UnshownMembers::from_arguments(&arguments);
        let payload = payload(Skill::LeadSubmit, arguments)?;
        let now = self.clock.now();
        let conversation = self.conversations.named_or_new(own.conversation.as_deref());
        let of_lead = Some(&conversation);
        let mut call = SkillCall { caller, sent, conversation: of_lead, version, agreed: None };
        let source = source_agent(client.as_ref());
        let draft = draft(payload, version, &source, now);
        // The lead is read before anybody is asked, so that nobody agrees to what cannot be sent.
        let LenientRequest { request, data: draft, notes } =
            self.read_leniently(Skill::LeadSubmit, &call, draft, now)?;
        let AapRequest::LeadSubmit(lead) = request else {
            unreachable!("the type of the payload is that of a lead")
        };
        let way = ConsentWay::new(form, &own);
        check_own(&own, way, &mut problems);
        if !problems.is_empty() {
            return Err(AapRefusal::schema_validation_failed(problems).into());
        }
        let question = self.question(&call, way, &lead, &own, &unshown);
        let agreed = |token: VerifiedToken| PersonAgreement {
            subject: question.subject.clone(),
            is_expired: token.is_expired(now),
            token_key: token.idempotency_key,
        };
        let agreement = match self.agreement(mcp, &question, &own, way, form, now)? {
            LeadAgreement::Given(token) => agreed(token),
            LeadAgreement::Refused(token) => {
                self.refuse_agreement(agreed(token), now).await?;
                return Err(PersonAgreement::declined().into());
            }
            LeadAgreement::Asked(outcome) => return Ok(outcome),
        };
        let remark = evidence_remark(way, client.as_ref(), sent.user_agent);
        call.sent = RequestMeta { user_agent: Some(&remark), body: sent.body };
        let data = agreed_payload(draft, &question.consent_text, &agreement.token_key, now);
        call.agreed = Some(agreement);
        let request = self.read(&call, &data, now)?;
        let reply = self.act(&call, request, now).await?;
        let text = text::receipt(&self.dealer.terms.name, &reply, &conversation.id);
        Ok(succeeded(&reply, text::with_notes(text, &notes)))
    }

    /// Adds the problems of a lead that is not sent, because its call has others.
    pub(in crate::aap) fn check_lead(&self, mut arguments: Map, problems: &mut Problems) {
        take_own(&mut arguments, problems);
        let data = Value::Object(arguments.clone());
        let version = self.version_of(&data);
        let now = self.clock.now();
        let read = payload(Skill::LeadSubmit, arguments).and_then(|payload| {
            let draft = draft(payload, version, NO_TEXT_YET, now);
            let leads = &self.dealer.terms.leads;
            let clock_skew = leads.clock_skew;
            let consent_lifetime = leads.consent_lifetime;
            let terms = DealerTerms { now, clock_skew, consent_lifetime };
            parse_request(Skill::LeadSubmit, version, &draft, &terms)
        });
        for problem in read.err().iter().flat_map(|refusal| refusal.problems.listed()) {
            problems.push(problem.clone());
        }
    }

    fn question(
        &self,
        call: &SkillCall<'_>,
        way: ConsentWay,
        lead: &LeadSubmit,
        own: &OwnArguments,
        unshown: &UnshownMembers,
    ) -> ConsentQuestion {
        let consent_text = consent_text(&self.recipient(), lead);
        let mut parts = lead.payload.as_object().cloned().unwrap_or_default();
        for name in FILLED_IN {
            parts.shift_remove(name);
        }
        let subject = canonical::to_string(&object!({
            "asked": way.description(),
            // Callers without a credential share a name: a token does not need their address to be
            // worth nothing to others, because it fits only the same customer's lead.
            "caller": call.caller.principal.name,
            "version": call.version.name(),
            "lead": parts,
            "allowed_channels": lead.consent.allowed_channels,
            "expires_at"?: lead.consent.expires_at.map(rfc3339),
            "consent"?: unshown.consent,
            "source_agent"?: unshown.source_agent,
            "idempotency_key"?: unshown.idempotency_key,
            "conversation"?: own.conversation,
            "consent_text": consent_text,
        }));
        ConsentQuestion { consent_text, parts, subject }
    }

    /// Returns the dealer's name in the consent text, with its host.
    fn recipient(&self) -> String {
        let name = quoted(&self.dealer.terms.name.replace("://", " "), MAX_NAME);
        let place = self.base_url.split_once("://").map_or(&*self.base_url, |(_, host)| host);
        format!("the car dealer \"{name}\" at {place}")
    }

    /// Asks the person, or evaluates the answer.
    fn agreement(
        &self,
        mcp: &McpEndpoint,
        question: &ConsentQuestion,
        own: &OwnArguments,
        way: ConsentWay,
        form: FormSupport<'_>,
        now: Timestamp,
    ) -> Result<LeadAgreement, AapRefusal> {
        let tokens = &mcp.confirmations;
        let subject = &question.subject;
        let verify = |token: &str| tokens.verify(token, subject).map_err(|_| misplaced());
        let (state, answer) = match (way, form) {
            (ConsentWay::Form, FormSupport::Returned { state, answer }) => (state, answer),
            (ConsentWay::Form | ConsentWay::TwoCalls | ConsentWay::AfterForm, _) => {
                if let Some(token) = &own.confirmation {
                    return verify(token).map(LeadAgreement::Given);
                }
                let (token, until) = tokens.issue(subject, now);
                return Ok(LeadAgreement::Asked(self.asked_by_model(question, way, &token, until)));
            }
        };
        let Some(token) = state else {
            let (state, _) = tokens.issue(subject, now);
            let form = self.form(question);
            let tool = Skill::LeadSubmit.name();
            return Ok(LeadAgreement::Asked(ToolOutcome::Form { form, state, tool }));
        };
        match answer.and_then(|answer| self.form(question).read(answer)) {
            Some(FormAnswer::Agreed) => verify(token).map(LeadAgreement::Given),
            // Closing the form is no agreement either: this token is rejected from now on.
            Some(FormAnswer::Declined | FormAnswer::Cancelled) => {
                verify(token).map(LeadAgreement::Refused)
            }
            None => Err(AapRefusal::from_reason(
                AapCode::ContactConsentRequired,
                "what the client says that the person answered does not fit the form",
                "answer_invalid",
            )),
        }
    }

    fn form(&self, question: &ConsentQuestion) -> AgreementForm {
        let sent = outline::lines(&question.parts);
        let dealer = quoted(&self.dealer.terms.name, MAX_NAME);
        AgreementForm {
            message: format!(
                "{}\n\nThis would be sent to \"{dealer}\":\n{sent}",
                question.consent_text
            ),
            title: "I agree",
        }
    }

    /// Returns the result of the first of two calls, which sends nothing.
    fn asked_by_model(
        &self,
        question: &ConsentQuestion,
        way: ConsentWay,
        token: &str,
        until: Timestamp,
    ) -> ToolOutcome {
        let ConsentQuestion { consent_text, parts, .. } = question;
        let tool = Skill::LeadSubmit.tool_name();
        let is_form_unanswered = way == ConsentWay::AfterForm;
        let mut text = outline::question(&tool, consent_text, parts, token);
        if is_form_unanswered {
            text.insert_str(0, &format!("{}\n\n", outline::FORM_UNANSWERED));
        }
        let document = object!({
            "status": "confirmation_required",
            "dealer": self.dealer.terms.name,
            "consent_text": consent_text,
            "lead": parts,
            "confirmation": token,
            "confirmation_expires_at": rfc3339(until),
            "form_unanswered"?: is_form_unanswered.then_some(true),
        });
        let result = ToolResult {
            document: document.to_string().into(),
            is_shown: false,
            text,
            is_error: false,
        };
        answered(result, Skill::LeadSubmit)
    }
}

/// Takes the tool's own arguments out of those of AAP.
fn take_own(arguments: &mut Map, problems: &mut Problems) -> OwnArguments {
    let mut text = |name: &str| {
        let value = arguments.shift_remove(name)?;
        parse::text_of(&value, &DocumentPlace::Root.key(name), problems, 1, Some(MAX_TOKEN))
    };
    let confirmation = text("confirmation");
    let conversation = text("conversation");
    let shown = arguments.shift_remove("consent_shown_to_user").and_then(|value| {
        parse::boolean(&value, &DocumentPlace::Root.key("consent_shown_to_user"), problems)
    });
    OwnArguments { confirmation, conversation, shown }
}

fn check_own(own: &OwnArguments, way: ConsentWay, problems: &mut Problems) {
    match way {
        ConsentWay::TwoCalls | ConsentWay::AfterForm => {
            schema::check_two_calls(own.confirmation.is_some(), own.shown, problems);
        }
        ConsentWay::Form => {}
    }
}

/// Fills in what a model need not say, so that the lead can be read. A consent that is missing altogether stays
/// missing, and is refused as AAP says.
fn draft(payload: Value, version: Version, source: &str, now: Timestamp) -> Value {
    let Value::Object(mut payload) = payload else { return payload };
    if let Some(Value::Object(consent)) = payload.get_mut("consent") {
        consent.entry("granted_at").or_insert_with(|| rfc3339(now).into());
        consent.entry("consent_text").or_insert_with(|| NO_TEXT_YET.into());
        consent.entry("scope").or_insert_with(|| json!(["lead_submission"]));
        if version == Version::V1_0 {
            consent.entry("source_agent").or_insert_with(|| source.into());
        }
    }
    let agent = match version {
        Version::V1_1 => json!({"name": source}),
        // In 1.0 the source agent is a text.
        Version::V1_0 => source.into(),
    };
    payload.entry("source_agent").or_insert(agent);
    Value::Object(payload)
}

/// Returns the lead with the consent that was given. What the call itself claims of the consent's time and text does
/// not count.
fn agreed_payload(draft: Value, text: &str, token_key: &str, now: Timestamp) -> Value {
    let Value::Object(mut payload) = draft else { return draft };
    if let Some(Value::Object(consent)) = payload.get_mut("consent") {
        consent.insert("granted_at".to_owned(), rfc3339(now).into());
        consent.insert("consent_text".to_owned(), text.into());
    }
    payload.insert("submitted_at".to_owned(), rfc3339(now).into());
    let key = payload.entry("idempotency_key");
    key.or_insert_with(|| token_key.into());
    Value::Object(payload)
}

/// Returns the name of the source agent: the client's, with the way that the lead came.
fn source_agent(client: Option<&DeclaredClient>) -> String {
    client.map_or_else(|| "MCP client".to_owned(), |client| format!("{client} (MCP)"))
}

/// Returns what the evidence of the consent has as the user agent of the caller.
fn evidence_remark(
    way: ConsentWay,
    client: Option<&DeclaredClient>,
    user_agent: Option<&str>,
) -> String {
    let client = client.map(|client| format!("; client {client}")).unwrap_or_default();
    let user_agent = user_agent.map(|agent| format!("; {agent}")).unwrap_or_default();
    format!("MCP, {}{client}{user_agent}", way.description())
}

/// Returns the refusal of a confirmation that is not for this lead and caller.
fn misplaced() -> AapRefusal {
    AapRefusal::from_reason(
        AapCode::InvalidConsent,
        "the confirmation does not belong to this call: something has changed since the user was asked; call again \
         without it, and ask the user again",
        "confirmation_invalid",
    )
}
