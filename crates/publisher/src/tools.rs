//! The tools, each in a module of its own: what it reads, what it changes and what it replies.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tradepost_wire::adcp::error::{Code, Error};
use tradepost_wire::adcp::{Standing, Tool};
use tradepost_wire::catalog::Vocabulary as _;

use crate::account::Account;
use crate::admit::Admitted;
use crate::ask::Ask;
use crate::publisher::Publisher;
use crate::refuse::{self, Refusal, Stop};
use crate::shelf::{Broken, Kept, Shelf};
use crate::world::Supply;

mod accounts;
mod audiences;
mod buys;
mod capabilities;
mod controller;
mod creatives;
mod delivery;
mod events;
mod formats;
mod page;
mod plans;
mod products;
mod properties;
mod sessions;
mod signals;
mod tasks;

/// What a tool replies when it does not refuse.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// How far the task is: completed, or one of those that wait.
    pub standing: Standing,
    /// One sentence for people.
    pub message: String,
    /// The members of the payload.
    pub body: Map<String, Value>,
    /// What the caller should know besides (`T-2`).
    pub warnings: Vec<Error>,
    /// Whether an earlier reply is repeated.
    pub replayed: bool,
}

impl Reply {
    /// A completed task with a payload, which must be an object.
    #[must_use]
    pub fn completed(message: impl Into<String>, body: Value) -> Self {
        let Value::Object(body) = body else {
            unreachable!("the payload of every tool is an object");
        };
        let standing = Standing::Completed;
        Self { standing, message: message.into(), body, warnings: Vec::new(), replayed: false }
    }

    /// The reply as it is remembered under a key.
    pub(crate) fn store(&self) -> Value {
        json!({
            "standing": self.standing.name(),
            "message": self.message,
            "body": self.body,
            "warnings": self.warnings,
        })
    }

    /// The reply that was remembered.
    pub(crate) fn restore(stored: &Value) -> Result<Self, Broken> {
        let bad = || Broken::new("reading a remembered reply", "it is not in the form that it has");
        let standing = stored.get("standing").and_then(Value::as_str);
        let text = |name: &str| stored.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        Ok(Self {
            standing: standing.and_then(Standing::from_name).ok_or_else(bad)?,
            message: text("message").ok_or_else(bad)?,
            body: stored.get("body").and_then(Value::as_object).cloned().ok_or_else(bad)?,
            warnings: stored.get("warnings").map(Error::read_list).unwrap_or_default(),
            replayed: true,
        })
    }
}

/// A request at work.
pub(crate) struct Work<'a> {
    /// The publisher.
    pub publisher: &'a Publisher,
    /// The request; it fits the tool's schema.
    pub ask: &'a Ask,
    /// What was found out when it was admitted.
    pub admitted: Admitted,
    /// What was found out outside before.
    pub prepared: &'a Prepared,
    /// What is kept.
    pub shelf: &'a dyn Shelf,
}

impl Work<'_> {
    /// The account that the request is for.
    pub(crate) fn account(&self) -> Result<&Kept<Account>, Stop> {
        let message = "name the account that this is for";
        let absent = || refuse::at(Code::InvalidRequest, "account", message).into();
        self.admitted.account.as_ref().ok_or_else(absent)
    }

    /// The arguments as a type of the tool's. They fit its schema, so that a failure is ours.
    pub(crate) fn arguments<T: DeserializeOwned>(&self) -> Result<T, Broken> {
        T::deserialize(Value::Object(self.ask.arguments.clone()))
            // What serde says may quote a value, and a value has no place in the log.
            .map_err(|_| Broken::new("reading arguments that fit their schema", "they do not"))
    }
}

pub(crate) use buys::created;
pub(crate) use capabilities::whole as capabilities;

/// What a tool has to find out outside before it can work in a transaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    /// What the ad server has on offer.
    pub supply: Option<Supply>,
    /// What the account's governance agent decided.
    pub governance: Option<Map<String, Value>>,
}

/// Finds out outside what a tool needs. `admitted` is what held a moment ago.
pub(crate) async fn prepare(
    publisher: &Publisher,
    ask: &Ask,
    admitted: &Admitted,
) -> Result<Prepared, Stop> {
    match ask.tool {
        Tool::GetProducts => products::prepare(publisher, ask, admitted).await,
        Tool::CreateMediaBuy | Tool::UpdateMediaBuy => {
            buys::prepare(publisher, ask, admitted).await
        }
        Tool::GetAdcpCapabilities
        | Tool::ListCreativeFormats
        | Tool::GetMediaBuys
        | Tool::GetMediaBuyDelivery
        | Tool::SyncCreatives
        | Tool::ListCreatives
        | Tool::SyncAudiences
        | Tool::SyncEventSources
        | Tool::LogEvent
        | Tool::SyncAccounts
        | Tool::ListAccounts
        | Tool::SyncGovernance
        | Tool::SyncPlans
        | Tool::CheckGovernance
        | Tool::GetSignals
        | Tool::ActivateSignal
        | Tool::SiGetOffering
        | Tool::SiInitiateSession
        | Tool::SiSendMessage
        | Tool::SiTerminateSession
        | Tool::CreatePropertyList
        | Tool::GetPropertyList
        | Tool::ListPropertyLists
        | Tool::UpdatePropertyList
        | Tool::DeletePropertyList
        | Tool::GetTaskStatus
        | Tool::ListTasks
        | Tool::ComplyTestController => Ok(Prepared::default()),
    }
}

/// Whether a request keeps or changes something, so that it needs a transaction.
pub(crate) fn keeps(ask: &Ask) -> bool {
    ask.tool.mutates() || (ask.tool == Tool::GetProducts && products::keeps(ask))
}

/// The rules that name a code of their own for what the schema would refuse otherwise.
///
/// # Errors
/// The refusal.
pub(crate) fn before_schema(ask: &Ask) -> Result<(), Refusal> {
    if ask.tool == Tool::GetProducts { products::exclusive(ask) } else { Ok(()) }
}

/// Whether a publisher has a tool: the test controller is in sandboxes alone, and its absence
/// looks like that of a tool that nobody has.
pub(crate) fn has(publisher: &Publisher, tool: Tool) -> bool {
    let controller = tool == Tool::ComplyTestController;
    !controller || publisher.profile.sandbox
}

/// Does the work.
pub(crate) fn perform(work: Work<'_>) -> Result<Reply, Stop> {
    match work.ask.tool {
        Tool::GetAdcpCapabilities => capabilities::perform(&work),
        Tool::GetProducts => products::perform(&work),
        Tool::ListCreativeFormats => formats::perform(&work),
        Tool::CreateMediaBuy | Tool::UpdateMediaBuy | Tool::GetMediaBuys => buys::perform(&work),
        Tool::GetMediaBuyDelivery => delivery::perform(&work),
        Tool::SyncCreatives | Tool::ListCreatives => creatives::perform(&work),
        Tool::SyncAudiences => audiences::perform(&work),
        Tool::SyncEventSources | Tool::LogEvent => events::perform(&work),
        Tool::SyncAccounts => accounts::sync_accounts(&work),
        Tool::ListAccounts => accounts::list_accounts(&work),
        Tool::SyncGovernance => accounts::sync_governance(&work),
        Tool::SyncPlans | Tool::CheckGovernance => plans::perform(&work),
        Tool::GetSignals | Tool::ActivateSignal => signals::perform(&work),
        Tool::SiGetOffering => sessions::show(&work),
        Tool::SiInitiateSession => sessions::initiate(&work),
        Tool::SiSendMessage => sessions::send(&work),
        Tool::SiTerminateSession => sessions::terminate(&work),
        Tool::CreatePropertyList => properties::create(&work),
        Tool::GetPropertyList => properties::get(&work),
        Tool::ListPropertyLists => properties::list(&work),
        Tool::UpdatePropertyList => properties::update(&work),
        Tool::DeletePropertyList => properties::delete(&work),
        Tool::GetTaskStatus | Tool::ListTasks => tasks::perform(&work),
        Tool::ComplyTestController => controller::perform(&work),
    }
}

/// A tool that this publisher does not have.
pub(crate) fn unsupported() -> Error {
    let message = "this seller does not have that task; get_adcp_capabilities says what it has";
    refuse::error(Code::UnsupportedFeature, message)
}
