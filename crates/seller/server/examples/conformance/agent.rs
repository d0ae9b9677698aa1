//! The agent itself, on the public trait of the library: what it lets through, and who may what.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use tradepost_document::http::MediaType;
use tradepost_document::json::json;
use tradepost_server::a2a::card::{AgentCapabilities, AgentCard, AgentExtension, AgentSkill};
use tradepost_server::a2a::error::{A2aCode, A2aRefusal};
use tradepost_server::a2a::{A2aRequest, Capability, SendMessage};
use tradepost_server::agent::{
    self, Agent, AgentAnswer, AgentRequest, Binding, BoxFuture, PageTokens,
};
use tradepost_server::auth::{AuthDeps, AuthSettings, Authenticator, Principal};
use tradepost_server::card::{self, CardIdentity, PublishedCard, SigningKey};
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::fault::InternalError;
use tradepost_server::outbox::sender::HttpSender;
use tradepost_server::outbox::{ClockAndRandom, Outbox, OutboxSettings};
use tradepost_server::permission::Scopes;
use tradepost_server::tasks::log::TaskLog;
use tradepost_server::tasks::{TaskError, TaskService};

use super::profile::{ExtendedCard, Profile};
use super::{extended, scenario};

/// What the agent reads and writes.
const MEDIA_TYPES: [&str; 2] = ["text/plain", "application/json"];

/// The agent.
#[derive(Debug)]
pub(crate) struct Conformance {
    card: PublishedCard,
    profile: Profile,
    base_url: String,
    key: Option<SigningKey>,
    lenient: bool,
    /// Its tasks.
    pub(crate) service: TaskService,
    egress: Egress,
    /// Accepts callers with an API key or a token of the kit, and anonymous ones where the profile
    /// permits it.
    auth: Authenticator,
}

impl Conformance {
    /// Under which name its tasks and keys are kept.
    pub(crate) const ID: &'static str = "conformance";

    /// Sets the agent up, as reached under `base_url`.
    ///
    /// # Errors
    /// When what is kept cannot be read or written.
    pub(crate) fn open(
        profile: Profile,
        log: Arc<dyn TaskLog>,
        deps: &AuthDeps,
        base_url: &str,
    ) -> Result<Self, InternalError> {
        let clock = deps.clock.clone();
        let card = publish(profile, base_url, &clock);
        let auth = Authenticator::open(Self::ID, policy(profile), deps)?.with_tokens(tokens());
        let base_url = base_url.to_owned();
        let egress = Egress::new(Resolver::system(), false);
        let service = TaskService::open(log, clock, Self::ID)?.calling(egress.clone());
        let key = None;
        let lenient = false;
        Ok(Self { card, profile, base_url, key, lenient, service, egress, auth })
    }

    /// The same agent, with webhooks that go where `egress` permits.
    #[must_use]
    pub(crate) fn calling(self, egress: Egress) -> Self {
        let service = self.service.calling(egress.clone());
        Self { service, egress, ..self }
    }

    /// What delivers to its webhooks, if it has any. One of it is to run.
    #[must_use]
    pub(crate) fn outbox(
        &self,
        settings: OutboxSettings,
        edge: ClockAndRandom,
    ) -> Option<Arc<Outbox>> {
        if !self.profile.has(Capability::Push) {
            return None;
        }
        let sender = Arc::new(HttpSender::new(self.egress.apart(), settings.timeout));
        let tasks = Arc::clone(self.service.tasks());
        Some(Arc::new(Outbox::new(Self::ID, tasks, sender, edge, settings)))
    }

    /// The same agent, with its cards signed.
    ///
    /// # Errors
    /// When the card cannot be signed.
    pub(crate) fn signed(
        self,
        key: SigningKey,
        signed_at: jiff::Timestamp,
    ) -> Result<Self, InternalError> {
        let card = self.card.sign(&key, None, signed_at);
        let card = card.map_err(InternalError::on("signing the agent card"))?;
        Ok(Self { card, key: Some(key), ..self })
    }

    /// The same agent, for clients that name no version of the protocol.
    #[must_use]
    pub(crate) fn lenient(self) -> Self {
        Self { lenient: true, ..self }
    }

    async fn answer(&self, incoming: AgentRequest<'_>) -> Result<AgentAnswer, TaskError> {
        match &incoming.request {
            A2aRequest::GetExtendedAgentCard => {
                return self.extended_card(&incoming.caller.principal);
            }
            A2aRequest::SendMessage(send) | A2aRequest::SendStreamingMessage(send) => {
                check_output_modes(send)?;
            }
            A2aRequest::GetTask { .. }
            | A2aRequest::ListTasks(_)
            | A2aRequest::CancelTask { .. }
            | A2aRequest::SubscribeToTask { .. }
            | A2aRequest::CreatePushConfig(_)
            | A2aRequest::GetPushConfig { .. }
            | A2aRequest::ListPushConfigs { .. }
            | A2aRequest::DeletePushConfig { .. } => {}
        }
        self.service.answer(incoming, |message, task| Ok(scenario::plan(message, task))).await
    }

    /// Returns the card for an authenticated caller; the authenticator has refused others.
    fn extended_card(&self, caller: &Principal) -> Result<AgentAnswer, TaskError> {
        let missing = |code: A2aCode| Err(A2aRefusal::new(code, code.title()).into());
        match self.profile.extended_card() {
            ExtendedCard::Off => missing(A2aCode::UnsupportedOperation),
            ExtendedCard::Unset => missing(A2aCode::ExtendedAgentCardNotConfigured),
            ExtendedCard::Set => {
                let public = describe(self.profile, &self.base_url, &self.card.identity.id);
                let card = extended::card(public, caller, self.key.as_ref())?;
                Ok(AgentAnswer::ExtendedCard(card))
            }
        }
    }
}

impl Agent for Conformance {
    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, agent::AgentOutcome> {
        Box::pin(async move { self.answer(incoming).await.into() })
    }

    fn requires_version(&self) -> bool {
        !self.lenient
    }

    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        Some(&self.service)
    }

    fn refresh(&self) -> Result<(), InternalError> {
        self.auth.tidy();
        // Somebody may have taken a webhook on again.
        self.service.tasks().wake();
        Ok(())
    }

    fn close_streams(&self) {
        self.service.tasks().close_streams();
    }
}

/// Whether the caller reads what it would get, by the card's word.
fn check_output_modes(send: &SendMessage) -> Result<(), A2aRefusal> {
    let taken = |mode: &String| MEDIA_TYPES.iter().any(|kind| MediaType::new(mode).covers(kind));
    let modes = &send.accepted_output_modes;
    if !modes.is_empty() && !modes.iter().any(taken) {
        let message = "acceptedOutputModes has no media type that this agent writes";
        return Err(A2aRefusal::new(A2aCode::ContentTypeNotSupported, message)
            .with("supportedMediaTypes", MEDIA_TYPES.join(", ")));
    }
    Ok(())
}

/// Returns the settings: API keys identify callers, and a profile may require a credential.
fn policy(profile: Profile) -> AuthSettings {
    AuthSettings {
        required: profile.requires_credential(),
        api_keys: true,
        ..AuthSettings::default()
    }
}

/// Returns the tokens that the kit's successor sends. They are public, and valid for this agent alone.
fn tokens() -> Vec<(&'static str, Principal)> {
    let caller = |name: &str, scopes| Principal { name: name.to_owned(), scopes };
    vec![
        ("itk-valid-token", caller("itk", Scopes::All)),
        ("itk-insufficient-token", caller("itk-insufficient", Scopes::Only(BTreeSet::new()))),
    ]
}

fn media_types() -> Vec<String> {
    MEDIA_TYPES.map(ToOwned::to_owned).into()
}

/// The card under an id that is the same whenever its content is.
fn publish(profile: Profile, base_url: &str, clock: &Clock) -> PublishedCard {
    let describe = |id: &str| describe(profile, base_url, id);
    let identify = |hash: &str| {
        Ok::<_, Infallible>(CardIdentity { id: hash.to_owned(), modified_at: clock.now() })
    };
    let Ok(card) = PublishedCard::new(describe, identify);
    card
}

fn describe(profile: Profile, base_url: &str, id: &str) -> AgentCard {
    let (uri, required) = profile.extension();
    let extension = AgentExtension {
        uri: uri.to_owned(),
        description: "Lets the kit see how extensions are handled.".to_owned(),
        required,
        params: json!({"id": id}),
    };
    AgentCard {
        name: "Tradepost conformance agent".to_owned(),
        description: "Answers the official conformance kits of A2A.".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: None,
        supported_interfaces: card::interfaces(
            base_url,
            &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc],
        ),
        capabilities: AgentCapabilities {
            streaming: profile.has(Capability::Streaming),
            push_notifications: profile.has(Capability::Push),
            extended_agent_card: profile.has(Capability::ExtendedCard),
            extensions: vec![extension],
        },
        default_input_modes: media_types(),
        default_output_modes: media_types(),
        skills: vec![AgentSkill {
            id: "conformance".to_owned(),
            name: "Conformance".to_owned(),
            description: "Does what the prefix of the message's id asks for.".to_owned(),
            tags: vec!["conformance".to_owned(), "test".to_owned()],
            input_modes: media_types(),
            output_modes: media_types(),
        }],
        documentation_url: None,
        security_requirements: card::requirements(&policy(profile)),
        security_schemes: card::schemes(&policy(profile)),
    }
}
