//! Media buys: `create_media_buy`, `update_media_buy` and `get_media_buys`.

use jiff::Timestamp;
use serde_json::{Map, Value};
use tradepost_wire::adcp::Tool;

use super::{Prepared, Reply, Work};
use crate::account::Account;
use crate::admit::Admitted;
use crate::ask::Ask;
use crate::buy::{self, Action, MediaBuy};
use crate::catalogue::Product;
use crate::profile::Profile;
use crate::publisher::Publisher;
use crate::refuse::Stop;
use crate::resolve::Reach;
use crate::shelf::{Broken, Kept, Shelf};
use crate::world::Supply;

mod aim;
mod amend;
mod create;
mod draft;
mod governance;
pub(super) mod list;
mod package;
mod terms;
mod update;

/// Does the work of these tools.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    if work.ask.tool == Tool::CreateMediaBuy {
        create::perform(work)
    } else if work.ask.tool == Tool::UpdateMediaBuy {
        update::perform(work)
    } else {
        list::perform(work)
    }
}

/// Finds out outside what these tools need before they can work. What would be refused anyway is
/// refused here, before anybody else is asked.
pub(super) async fn prepare(
    publisher: &Publisher,
    ask: &Ask,
    admitted: &Admitted,
) -> Result<Prepared, Stop> {
    let create = ask.tool == Tool::CreateMediaBuy;
    let supply = if create { Some(create::supply(publisher).await?) } else { None };
    let question = publisher.look(|shelf| {
        let desk = Desk {
            publisher,
            shelf,
            reach: &admitted.reach,
            account: admitted.account.as_ref(),
            supply: supply.as_ref(),
            now: ask.now,
        };
        if create { create::question(&desk, ask) } else { update::question(&desk, ask) }
    })?;
    let governance = match question {
        Some(question) => Some(governance::ask(publisher, question).await?),
        None => None,
    };
    Ok(Prepared { supply, governance })
}

/// What a request about a media buy is looked at with.
#[derive(Clone, Copy)]
pub(super) struct Desk<'a> {
    publisher: &'a Publisher,
    shelf: &'a dyn Shelf,
    reach: &'a Reach,
    account: Option<&'a Kept<Account>>,
    supply: Option<&'a Supply>,
    now: Timestamp,
}

impl<'a> Desk<'a> {
    fn profile(&self) -> &'a Profile {
        &self.publisher.profile
    }

    /// Everything that is sold.
    fn offer(&self) -> Result<Vec<Product>, Broken> {
        self.publisher.products(self.shelf)
    }

    fn of(work: &'a Work<'_>) -> Self {
        Self {
            publisher: work.publisher,
            shelf: work.shelf,
            reach: &work.admitted.reach,
            account: work.admitted.account.as_ref(),
            supply: work.prepared.supply.as_ref(),
            now: work.ask.now,
        }
    }
}

/// The payload about a media buy that has come about.
pub(crate) fn created(
    kept: &Kept<MediaBuy>,
    actions: &[Action],
    account: Option<&Account>,
    now: Timestamp,
) -> Map<String, Value> {
    let mut body = buy::summary(kept, actions, now);
    let confirmed = kept.thing.confirmed_at.map(|at| at.to_string());
    body.insert("confirmed_at".to_owned(), confirmed.into());
    body.insert("packages".to_owned(), kept.thing.published_packages().into());
    if let Some(proposal) = &kept.thing.proposal_id {
        body.insert("proposal_id".to_owned(), proposal.clone().into());
    }
    if let Some(account) = account {
        body.insert("account".to_owned(), account.published().into());
        if account.sandbox {
            body.insert("sandbox".to_owned(), true.into());
        }
    }
    body
}

/// A member that is a text.
fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    members.get(name).and_then(Value::as_str)
}

/// A member that is a number.
fn number(members: &Map<String, Value>, name: &str) -> Option<f64> {
    members.get(name).and_then(Value::as_f64)
}

/// A member that is a moment. One that is none does not get past the schema.
fn moment(members: &Map<String, Value>, name: &str) -> Option<Timestamp> {
    text(members, name).and_then(|text| text.parse().ok())
}

/// The objects of a member that is a list, with their places.
fn objects<'a>(
    members: &'a Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = (usize, &'a Map<String, Value>)> {
    let list = members.get(name).and_then(Value::as_array);
    let object = |(place, value): (usize, &'a Value)| Some((place, value.as_object()?));
    list.into_iter().flatten().enumerate().filter_map(object)
}

/// A value without what must not be shown again: tokens of lists, and bank accounts.
fn scrubbed(value: &Value) -> Value {
    const HIDDEN: [&str; 3] = ["auth_token", "bank", "credentials"];
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !HIDDEN.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name.clone(), scrubbed(value))).collect())
        }
        Value::Array(items) => items.iter().map(scrubbed).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
