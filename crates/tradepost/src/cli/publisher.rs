//! `tradepost publisher`: records decisions of a publisher's staff beside a running server, which
//! applies them at its next request and sends the resulting notifications within a second.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tradepost_adcp::error::AdcpError;
use tradepost_admin::decisions::{
    DecideMatter, DecisionRefusal, GrantRights, decide_matter, grant_rights,
};
use tradepost_demo::publisher as demo;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{json, object};
use tradepost_publisher::agent::AccountRights;
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::staff::list::Subject;
use tradepost_publisher::staff::{
    CreativeChangeReason, DecisionError, DecisionStep, DecisionSubject, LastDecision, StateChange,
};
use tradepost_runtime::adcp::offline::OfflineServices;
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_runtime::config::{self, Config, read};

use self::decider::{Decider, DecisionReason};
use super::operator::{admin, failure};
use super::output::{CommandFailure, one_of};
use super::store_location::StoreOptions;
use super::{Context, Outcome, check_config};

mod ad_server;
pub(super) mod adagents;
pub(super) mod catalogue;
mod decider;
mod deliveries;
mod delivery;
mod details;
mod inventory;
mod list;
mod sales;

/// Subcommands of `tradepost publisher`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List, show and export media buys.
    #[command(subcommand)]
    Buys(sales::Command),
    /// List, show and export the packages of media buys.
    #[command(subcommand)]
    Packages(sales::Command),
    /// List, show and export creatives.
    #[command(subcommand)]
    Creatives(sales::Command),
    /// List, show and export proposals of media plans.
    #[command(subcommand)]
    Proposals(sales::Command),
    /// List, show and export accounts.
    #[command(subcommand)]
    Accounts(sales::Command),
    /// List, show and export tasks, with pending decisions, and with the decisions made and who
    /// made them.
    #[command(subcommand)]
    Tasks(sales::Command),
    /// List, show and export the delivery of media buys, and import it.
    #[command(subcommand)]
    Delivery(delivery::Command),
    /// List and export counted inventory by product and day, and check its books.
    #[command(subcommand)]
    Inventory(inventory::Command),
    /// Put the products of a spreadsheet into the catalogue.
    #[command(subcommand)]
    Catalogue(catalogue::Command),
    /// Write and check the file in which the publisher's domain names its agent, adagents.json.
    #[command(subcommand)]
    Adagents(adagents::Command),
    /// List all accounts, creatives, tasks or grants at once, oldest first.
    List {
        /// Kind of records to list.
        #[arg(value_parser = one_of::<list::What>())]
        what: list::What,
        /// Only records in this state, such as `pending_approval`.
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// Approve an account, a creative, or the media buy of a task.
    Approve(DecidedItem),
    /// Decline an account, a creative, or the media buy of a task. An approved creative can be
    /// declined, too.
    Decline {
        #[command(flatten)]
        item: DecidedItem,
        /// Reason for the buyer. A creative requires one; an account has none.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Code of the reason, of a creative that was approved before, such as takedown_request.
        #[arg(long, value_parser = one_of::<CreativeChangeReason>())]
        code: Option<CreativeChangeReason>,
    },
    /// Suspend an account or an approved creative.
    Suspend(DecidedItem),
    /// Resume a suspended account or creative, or a paused media buy.
    Resume(DecidedItem),
    /// Pause a media buy. Its buyer cannot resume it.
    Pause {
        #[command(flatten)]
        item: DecidedItem,
        /// Reason for the buyer.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Cancel a media buy permanently. The rest of its budget is no longer committed.
    Cancel {
        #[command(flatten)]
        item: DecidedItem,
        /// Reason for the buyer.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Close an account permanently.
    Close(DecidedAccount),
    /// Block the spending of an account until it has paid.
    PaymentDue(DecidedAccount),
    /// Permit an account to spend again.
    PaymentSettled(DecidedAccount),
    /// Set the rights of an agent on an account, its own or another agent's.
    Grant(GrantOptions),
    /// Show the media buys at the ad server, compare them, and retry them.
    #[command(subcommand)]
    AdServer(ad_server::Command),
    /// List the messages to the publisher's staff about media buys that were sold and about
    /// decisions that wait for them.
    Deliveries(deliveries::Listing),
    /// Send messages again whose delivery was given up.
    Resend(deliveries::Resend),
    /// Send a test message to a destination of such messages.
    TestDelivery(deliveries::Test),
}

/// Record to decide on.
#[derive(Debug, clap::Args)]
pub(super) struct DecidedItem {
    /// Kind of the record.
    #[arg(value_parser = one_of::<DecisionSubject>())]
    kind: DecisionSubject,
    #[command(flatten)]
    record: DecidedRecord,
}

/// Account to decide on.
#[derive(Debug, clap::Args)]
pub(super) struct DecidedAccount {
    /// Kind of the record.
    #[arg(value_parser = account_only())]
    kind: DecisionSubject,
    #[command(flatten)]
    record: DecidedRecord,
}

/// Record to decide on, apart from its kind.
#[derive(Debug, clap::Args)]
pub(super) struct DecidedRecord {
    /// Id of the record.
    id: String,
    /// Account of the record, if several accounts have one with this id.
    #[arg(long, value_name = "ID")]
    account: Option<String>,
    #[command(flatten)]
    decider: Decider,
    #[command(flatten)]
    own_reason: DecisionReason,
    #[command(flatten)]
    place: PublisherOptions,
}

impl From<DecidedAccount> for DecidedItem {
    fn from(DecidedAccount { kind, record }: DecidedAccount) -> Self {
        Self { kind, record }
    }
}

/// Returns the parser of the kind for decisions that only accounts have.
fn account_only() -> impl TypedValueParser<Value = DecisionSubject> {
    PossibleValuesParser::new([DecisionSubject::Account.name()]).map(|_| DecisionSubject::Account)
}

#[derive(Debug, clap::Args)]
pub(super) struct GrantOptions {
    /// Account id.
    account: String,
    /// Id of the agent in the configuration.
    agent: String,
    /// The only tasks that the agent may call for the account; the default is all tasks.
    #[arg(long, value_name = "TASK,…", value_delimiter = ',')]
    tasks: Vec<String>,
    /// The only fields that the agent may set with a task. Repeatable for further tasks.
    #[arg(long, value_name = "TASK=FIELD,…", value_parser = fields)]
    fields: Vec<(String, BTreeSet<String>)>,
    /// Permit the agent no changes.
    #[arg(long)]
    read_only: bool,
    /// Remove the earlier grant.
    #[arg(long, conflicts_with_all = ["tasks", "fields", "read_only"])]
    revoke: bool,
    #[command(flatten)]
    decider: Decider,
    #[command(flatten)]
    own_reason: DecisionReason,
    #[command(flatten)]
    place: PublisherOptions,
}

#[derive(Debug, clap::Args)]
pub(super) struct PublisherOptions {
    /// Publisher id; not needed if the configuration has one publisher.
    #[arg(long, value_name = "ID")]
    publisher: Option<String>,
    /// Use the demo's publisher instead of a configuration file.
    #[arg(long, conflicts_with = "config")]
    demo_publisher: bool,
    #[command(flatten)]
    place: StoreOptions,
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be used, there is no such record, or the decision is not possible.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    let mut declined_because = None;
    let (step, item, reason) = match command {
        Command::Buys(command) => return sales::run(Subject::Buys, command, context),
        Command::Packages(command) => return sales::run(Subject::Packages, command, context),
        Command::Creatives(command) => return sales::run(Subject::Creatives, command, context),
        Command::Proposals(command) => return sales::run(Subject::Proposals, command, context),
        Command::Accounts(command) => return sales::run(Subject::Accounts, command, context),
        Command::Tasks(command) => return sales::run(Subject::Tasks, command, context),
        Command::Delivery(command) => return delivery::run(command, context),
        Command::Inventory(command) => return inventory::run(command, context),
        Command::Catalogue(command) => return catalogue::run(command, context),
        Command::Adagents(command) => return adagents::run(command, context),
        Command::List { what, state, place } => {
            return list::run(what, state.as_deref(), &place, context);
        }
        Command::AdServer(command) => return ad_server::run(command, context),
        Command::Grant(arguments) => return grant(arguments, context),
        Command::Deliveries(listing) => return deliveries::list(&listing, context),
        Command::Resend(arguments) => return deliveries::resend(&arguments, context),
        Command::TestDelivery(arguments) => return deliveries::test(&arguments, context),
        Command::Approve(item) => (DecisionStep::Approve, item, None),
        Command::Decline { item, reason, code } => {
            declined_because = code;
            (DecisionStep::Decline, item, reason)
        }
        Command::Pause { item, reason } => (DecisionStep::Pause, item, reason),
        Command::Cancel { item, reason } => (DecisionStep::Cancel, item, reason),
        Command::Suspend(item) => (DecisionStep::Suspend, item, None),
        Command::Resume(item) => (DecisionStep::Resume, item, None),
        Command::Close(item) => (DecisionStep::Close, item.into(), None),
        Command::PaymentDue(item) => (DecisionStep::PaymentDue, item.into(), None),
        Command::PaymentSettled(item) => (DecisionStep::PaymentSettled, item.into(), None),
    };
    decide(step, item, reason, declined_because, context)
}

fn decide(
    step: DecisionStep,
    item: DecidedItem,
    reason: Option<String>,
    code: Option<CreativeChangeReason>,
    context: &Context,
) -> Outcome {
    let DecidedItem { kind: matter, record } = item;
    let DecidedRecord { id, account, decider, own_reason, place } = record;
    let (publisher_store, publisher) = place.only(context)?;
    let publisher_id = publisher.profile.id.as_str();
    let actor = decider.actor(publisher_store.store(), publisher_id, context)?;
    let input = DecideMatter {
        publisher: &publisher,
        matter,
        id: id.clone(),
        account,
        step,
        reason,
        why: own_reason.why,
        code,
        seen: None,
    };
    let done = decide_matter(&admin(publisher_store.store(), &[]), &actor, input);
    let StateChange { before, after, is_changed, awaits_second, decided } =
        done.map_err(|error| {
            failure(error, |refusal| match refusal {
                DecisionRefusal::Stranger => decider.unknown_member(publisher_id),
                DecisionRefusal::Undecided(denied) => refused(denied, matter, step.name()),
            })
        })?;
    let kind = matter.name();
    let summary = match (awaits_second, is_changed) {
        (true, _) => format!("the {kind} {id} is approved by one person, and awaits another one"),
        (false, true) if before == after => {
            format!("the {kind} {id} is {after}; the {} is noted", step.name())
        }
        (false, false) => {
            let decided = decided.as_ref().map(decided_text).unwrap_or_default();
            format!("the {kind} {id} was {after} already{decided}")
        }
        (false, true) => format!("the {kind} {id} was {before} and is {after} now"),
    };
    let document = object!({
        "kind": kind, "id": id, "before": before, "after": after,
        "awaits_second"?: awaits_second.then_some(true),
        "decided_by"?: decided.map(|decided| decided.by),
    });
    context.output.note(&document, summary);
    Ok(())
}

/// Says who made a decision before, and when.
fn decided_text(decided: &LastDecision) -> String {
    format!(": {} by {} at {}", decided.step, decided.by, rfc3339(decided.at))
}

/// Returns the failure of a decision.
fn refused(denied: DecisionError, matter: DecisionSubject, step: &str) -> CommandFailure {
    let kind = matter.name();
    match denied {
        DecisionError::Absent => CommandFailure::usage(format!("there is no such {kind}"))
            .hint(format!("`tradepost publisher {kind}s list` lists them")),
        DecisionError::Ambiguous(accounts) => {
            let message = format!("several accounts have a {kind} with this id");
            let failure = CommandFailure::usage(message).hint("name one of them with --account");
            failure.data(json!({"accounts": accounts})).lines(accounts)
        }
        DecisionError::Impossible { from, possible, decided } => {
            let decided = decided.as_ref().map(decided_text).unwrap_or_default();
            let message = format!("{step} is not possible: the {kind} is {from}{decided}");
            let possible: Vec<_> = possible.into_iter().map(DecisionStep::name).collect();
            let hint = match possible.is_empty() {
                true => "no further decision is possible".to_owned(),
                false => format!("possible are: {}", possible.join(", ")),
            };
            CommandFailure::usage(message)
                .hint(hint)
                .data(json!({"state": from, "possible": possible}))
        }
        DecisionError::Changed { from, decided } => {
            let decided = decided.as_ref().map(decided_text).unwrap_or_default();
            CommandFailure::usage(format!("the {kind} has changed: it is {from}{decided}"))
        }
        DecisionError::SamePerson(first) => {
            let message = format!("{} has approved it already", first.by);
            CommandFailure::usage(message)
                .hint("another person has to approve it: name one with --by")
                .data(json!({"code": "same_person", "decided_by": first.by}))
        }
        DecisionError::Objections(errors) => {
            let line = |error: &AdcpError| {
                let field = error.field.as_ref().map(|field| format!("{field}: "));
                format!("{}{} ({})", field.unwrap_or_default(), error.message, error.code.name())
            };
            CommandFailure::usage("the media buy could not be created; its task still waits")
                .hint("correct the problems and approve it again, or decline it")
                .data(json!({"objections": errors}))
                .lines(errors.iter().map(line).collect())
        }
        DecisionError::Invalid(wrong) => CommandFailure::usage("this cannot be decided")
            .data(json!({"problems": wrong}))
            .lines(wrong),
        DecisionError::Broken(broken) => CommandFailure::fault(broken),
    }
}

fn grant(arguments: GrantOptions, context: &Context) -> Outcome {
    let GrantOptions {
        account,
        agent,
        tasks,
        fields,
        read_only,
        revoke,
        decider,
        own_reason,
        place,
    } = arguments;
    let mut field_scopes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (task, fields) in fields {
        field_scopes.entry(task).or_default().extend(fields);
    }
    let rights = (!revoke).then(|| AccountRights {
        allowed_tasks: (!tasks.is_empty()).then(|| tasks.into_iter().collect()),
        field_scopes,
        scope_name: None,
        read_only,
    });
    let (publisher_store, publisher) = place.only(context)?;
    let publisher_id = publisher.profile.id.as_str();
    let actor = decider.actor(publisher_store.store(), publisher_id, context)?;
    let input = GrantRights {
        publisher: &publisher,
        account: account.clone(),
        agent: agent.clone(),
        rights: rights.clone(),
        why: own_reason.why,
    };
    let done = grant_rights(&admin(publisher_store.store(), &[]), &actor, input);
    let before = done.map_err(|error| {
        failure(error, |refusal| match refusal {
            DecisionRefusal::Stranger => decider.unknown_member(publisher_id),
            DecisionRefusal::Undecided(DecisionError::Impossible { from, .. }) => {
                let message = format!("the account is {from} and cannot be used any more");
                CommandFailure::usage(message)
            }
            DecisionRefusal::Undecided(denied) => {
                refused(denied, DecisionSubject::Account, "grant")
            }
        })
    })?;
    let summary = match (&rights, before) {
        (Some(_), false) => format!("granted to {agent}"),
        (Some(_), true) => format!("granted to {agent}; this replaces the earlier grant"),
        (None, true) => format!("the grant to {agent} was removed"),
        (None, false) => format!("{agent} had no grant"),
    };
    let rights = rights.as_ref().map(list::rights);
    context.output.note(&json!({"account": account, "agent": agent, "grant": rights}), summary);
    Ok(())
}

impl PublisherOptions {
    fn config(&self, context: &Context) -> Result<Config, CommandFailure> {
        if self.demo_publisher {
            let mut config = read::demo_publisher();
            for publisher in &mut config.publishers {
                publisher.profile.catalogue = demo::catalogue();
                publisher.profile.catalogue.products.push(demo::trial());
            }
            return Ok(config);
        }
        let mut config = self.place.load_config(context)?;
        check_config::load_catalogues(&mut config)?;
        Ok(config)
    }

    /// Returns the publishers of the configuration, or the named one.
    fn publishers(&self, context: &Context) -> Result<Vec<Publishing>, CommandFailure> {
        let mut config = self.config(context)?;
        let found = take_publishers(&mut config, self.publisher.as_deref())?;
        let store = Arc::new(self.place.open(Some(&config), context)?);
        let open = |config: config::PublisherConfig| {
            let publisher_store = SqlPublisherStore::new(Arc::clone(&store), &config.profile.id);
            let profile = Arc::new(config.profile);
            let publisher = Publisher::new(
                profile,
                Arc::new(publisher_store.clone()),
                Arc::new(OfflineServices),
            );
            (publisher_store, publisher)
        };
        Ok(found.into_iter().map(open).collect())
    }

    /// Returns the named publisher, or the only one.
    fn only(&self, context: &Context) -> Result<Publishing, CommandFailure> {
        only(self.publishers(context)?)
    }
}

/// Takes the publishers out of a configuration, or the named one.
///
/// # Errors
/// Fails when there is none, or none of that id.
fn take_publishers(
    config: &mut config::Config,
    id: Option<&str>,
) -> Result<Vec<config::PublisherConfig>, CommandFailure> {
    let mut found = std::mem::take(&mut config.publishers);
    if found.is_empty() {
        return Err(CommandFailure::usage("the configuration has no publisher"));
    }
    if let Some(id) = id {
        let absent = unknown(&found);
        found.retain(|publisher| publisher.profile.id == id);
        if found.is_empty() {
            return Err(absent);
        }
    }
    Ok(found)
}

/// Returns the only one of the publishers that were found.
///
/// # Errors
/// Fails when there are several.
fn only<T>(mut found: Vec<T>) -> Result<T, CommandFailure> {
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_) | None, _) => Err(several()),
    }
}

/// Returns the failure for an unknown publisher.
pub(super) fn unknown(publishers: &[config::PublisherConfig]) -> CommandFailure {
    let ids: Vec<_> = publishers.iter().map(|known| known.profile.id.as_str()).collect();
    CommandFailure::usage("the configuration has no such publisher")
        .hint(format!("its publishers are: {}", ids.join(", ")))
}

/// Returns the failure when one of several publishers has to be named.
pub(super) fn several() -> CommandFailure {
    CommandFailure::usage("the configuration has several publishers")
        .hint("name one with --publisher")
}

/// Publisher with its store.
type Publishing = (SqlPublisherStore, Publisher);

fn fields(text: &str) -> Result<(String, BTreeSet<String>), String> {
    let pair = text.split_once('=').filter(|(task, fields)| !task.is_empty() && !fields.is_empty());
    let (task, fields) =
        pair.ok_or("write a task and its fields, such as update_media_buy=paused,end_time")?;
    Ok((task.to_owned(), fields.split(',').map(ToOwned::to_owned).collect()))
}
