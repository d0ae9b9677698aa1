//! `tradepost keys`: creates, lists and revokes the API keys of a dealer. A running server applies
//! changes at its next request.

use std::collections::BTreeSet;

use clap::Subcommand;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, civil};
use tradepost_admin::keys::{
    ADMINISTRATORS, CreateKey, KeyRefusal, ListKeys, RevokeKey, RevokedKey, create_key, list_keys,
    revoke_key,
};
use tradepost_client::text::escape_json;
use tradepost_document::catalog::Vocabulary;
use tradepost_document::format;
use tradepost_document::json::{Value, object};
use tradepost_document::toml::parse_duration;
use tradepost_runtime::config::Config;
use tradepost_runtime::gate::KeyScope;
use tradepost_runtime::hosting::api::AdminScope;
use tradepost_server::auth::key::{NewApiKey, is_name};
use tradepost_server::clock::Clock;
use tradepost_server::permission::Permission;
use tradepost_store::{ApiKey, Store};

use super::operator::{admin, failure, operator};
use super::output::CommandFailure;
use super::output::table::Cells;
use super::output::table::TableColumn::Text;
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers, import, publisher};

/// Subcommands of `tradepost keys`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create a key and show it once.
    Create(Create),
    /// List the keys, without their secrets.
    List {
        /// Only keys of this dealer.
        #[arg(long, value_name = "ID")]
        dealer: Option<String>,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Revoke a key immediately.
    Revoke {
        /// Key id: the part between the underscores of the key.
        id: String,
        #[command(flatten)]
        place: StoreOptions,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Create {
    /// Dealer of the key; not needed if the configuration has one dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Publisher of the key, instead of a dealer.
    #[arg(long, value_name = "ID", conflicts_with = "dealer")]
    publisher: Option<String>,
    /// Create an administrator key, which is valid only for `tradepost dealer --admin`, the API that
    /// it calls, and the delivery that a publisher's programs report.
    #[arg(long, conflicts_with_all = ["dealer", "publisher"])]
    admin: bool,
    /// Name of the caller. Its limits, leads and idempotency keys are stored under this name.
    #[arg(long, value_parser = name)]
    name: String,
    /// Scope of the key: dealer:read, inventory:read, lead:write, feed:write, tasks:read,
    /// tasks:write; with --admin dealers:read, dealers:write, delivery:write. Repeatable; the
    /// default is all scopes except feed:write, which has to be named.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Expiry of the key: after a duration such as 90d, or at the end of a day (UTC) such as
    /// 2027-01-31.
    #[arg(long, value_name = "DURATION|DATE")]
    expires: Option<String>,
    /// Create the key for the existing caller with this name, to replace its key.
    #[arg(long)]
    same_caller: bool,
    #[command(flatten)]
    dealers: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be used, the name is taken, or there is no such key.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Create(arguments) => create(&arguments, context, Clock::system().now()),
        Command::List { dealer, place } => {
            let store = place.open(None, context)?;
            dealers::check_known(dealer.as_deref(), &store, &place, context)?;
            let input = ListKeys { seller_id: dealer };
            let keys = list_keys(&admin(&store, &[]), &operator(context), input);
            let keys = keys.map_err(|error| failure(error, refused))?;
            list(&keys, context, Clock::system().now());
            Ok(())
        }
        Command::Revoke { id, place } => revoke(&id, &place, context, Clock::system().now()),
    }
}

fn create(arguments: &Create, context: &Context, now: Timestamp) -> Outcome {
    let scopes = scopes(arguments)?;
    let (config, (seller_id, takes_keys)) = if arguments.admin {
        // An administrators' key belongs to no dealer, so a configuration is optional.
        let config = arguments.dealers.load_if_there(&arguments.place, context)?;
        (config, (ADMINISTRATORS.to_owned(), true))
    } else {
        let config = arguments.dealers.load_with_hosted(&arguments.place, context)?;
        let seller = seller(&config, arguments)?;
        (Some(config), seller)
    };
    let expires_at = arguments.expires.as_deref().map(|text| end(text, now)).transpose()?;
    // The server may never have run: then its folder is created here.
    let store = arguments.place.create(config.as_ref(), context)?;
    let fresh = NewApiKey::generate()?;
    let key = ApiKey {
        id: fresh.id,
        agent_id: seller_id.clone(),
        name: arguments.name.clone(),
        hash: fresh.hash,
        scopes: Some(scopes).filter(|scopes| !scopes.is_empty()),
        created_at: now,
        expires_at,
        revoked_at: None,
        last_used_on: None,
    };
    let input = CreateKey { key: key.clone(), same_caller: arguments.same_caller };
    let created = create_key(&admin(&store, &[]), &operator(context), input);
    created.map_err(|error| failure(error, refused))?;
    if context.output.is_json() {
        let document = document(&key, Some(fresh.text), now);
        let text = format!("{}\n", escape_json(&format!("{document:#}")));
        hand_over(&text, &key.id, &store, context)?;
    } else {
        hand_over(&format!("{}\n", fresh.text), &key.id, &store, context)?;
        context.output.talk("the key is shown only this time; the store has only its hash");
    }
    if !takes_keys {
        context.output.talk(format!(
            "note: the configuration of {seller_id} does not accept keys yet; set api_keys = true in \
             its auth",
        ));
    }
    Ok(())
}

/// Returns the failure for a refused operation on keys.
pub(super) fn refused(refusal: KeyRefusal) -> CommandFailure {
    match refusal {
        // A name stays taken when its keys have expired: its next owner would get the data that is
        // stored under it.
        KeyRefusal::NameTaken => CommandFailure::usage("a key of this dealer has or had this name")
            .hint(
                "choose another name, or create a further key of the same caller with \
                 --same-caller",
            ),
        KeyRefusal::Expired => CommandFailure::usage("the key would have expired already")
            .hint("name a date from today on, or a duration that is not zero"),
        KeyRefusal::UnknownKey => CommandFailure::usage("there is no such key")
            .hint("`tradepost keys list` lists the keys"),
    }
}

/// Shows a new key. If it cannot be printed no one has seen it, and it is revoked.
fn hand_over(text: &str, id: &str, store: &Store, context: &Context) -> Outcome {
    context.output.hand_over(text.as_bytes()).inspect_err(|_| {
        let input = RevokeKey { id: id.to_owned() };
        context.output.talk(match revoke_key(&admin(store, &[]), &operator(context), input) {
            Ok(_) => {
                format!("the key {id} could not be shown, so it was revoked; create another one")
            }
            Err(_) => format!("the key {id} could not be shown: revoke it, and create another one"),
        });
    })
}

/// Returns the permissions of the key: those of buyers, or of administrators.
fn scopes(arguments: &Create) -> Result<BTreeSet<Permission>, CommandFailure> {
    fn read<T: Vocabulary + Into<Permission>>(name: &str) -> Result<Permission, CommandFailure> {
        T::from_name(name).map(Into::into).ok_or_else(|| {
            let hint = format!("use one of: {}", T::NAMES.join(", "));
            CommandFailure::usage(format!("{name:?} is not a scope")).hint(hint)
        })
    }
    let scope = if arguments.admin { read::<AdminScope> } else { read::<KeyScope> };
    arguments.scopes.iter().map(|name| scope(name)).collect()
}

/// Returns the seller that the key is for, and true when it accepts API keys. A single publisher
/// need not be named.
fn seller(config: &Config, arguments: &Create) -> Result<(String, bool), CommandFailure> {
    let publishers = &config.publishers;
    let alone = config.dealers.is_empty() && arguments.dealer.is_none();
    let publisher = match (arguments.publisher.as_deref(), publishers.as_slice()) {
        (Some(id), _) => {
            let found = publishers.iter().find(|publisher| publisher.profile.id == id);
            Some(found.ok_or_else(|| publisher::unknown(publishers))?)
        }
        (None, [only]) if alone => Some(only),
        (None, [_, ..]) if alone => return Err(publisher::several()),
        (None, _) => None,
    };
    match publisher {
        Some(known) => Ok((known.profile.id.clone(), known.front.auth.api_keys)),
        None => {
            let dealer = import::pick(config, arguments.dealer.as_deref())?;
            Ok((dealer.terms.id.clone(), dealer.auth.api_keys))
        }
    }
}

fn list(keys: &[ApiKey], context: &Context, now: Timestamp) {
    let day = |moment: Timestamp| moment.to_zoned(TimeZone::UTC).date();
    let or_never = |day: Option<civil::Date>| day.map_or("never".to_owned(), |day| day.to_string());
    let columns: [Cells<'_, ApiKey>; 8] = [
        (Text("id"), &|key| key.id.clone()),
        (Text("dealer"), &|key| key.agent_id.clone()),
        (Text("name"), &|key| key.name.clone()),
        (Text("scopes"), &|key| names(key).map_or("all".to_owned(), |names| names.join(" "))),
        (Text("state"), &|key| state(key, now).to_owned()),
        (Text("created"), &|key| day(key.created_at).to_string()),
        (Text("expires"), &|key| or_never(key.expires_at.map(day))),
        (Text("last used"), &|key| or_never(key.last_used_on)),
    ];
    context.output.list(keys, |key| document(key, None, now), "no keys", &columns);
}

fn revoke(id: &str, place: &StoreOptions, context: &Context, now: Timestamp) -> Outcome {
    let store = place.open(None, context)?;
    let input = RevokeKey { id: id.to_owned() };
    let revoked = revoke_key(&admin(&store, &[]), &operator(context), input);
    let RevokedKey { key, is_changed } = revoked.map_err(|error| failure(error, refused))?;
    let summary = match is_changed {
        true => format!("the key {} of {} is revoked", key.id, key.name),
        false => "the key was already revoked".to_owned(),
    };
    context.output.note(&document(&key, None, now), summary);
    Ok(())
}

/// Returns a key as JSON; `text` is the key itself, which is shown only once.
fn document(key: &ApiKey, text: Option<String>, now: Timestamp) -> Value {
    object!({
        "id": key.id,
        "dealer": key.agent_id,
        "name": key.name,
        "scopes": names(key),
        "state": state(key, now),
        "created_at": key.created_at.to_string(),
        "expires_at": key.expires_at.map(|end| end.to_string()),
        "revoked_at": key.revoked_at.map(|end| end.to_string()),
        "last_used_on": key.last_used_on.map(|day| day.to_string()),
        "key"?: text,
    })
}

fn names(key: &ApiKey) -> Option<Vec<&str>> {
    Some(key.scopes.as_ref()?.iter().map(|scope| scope.name()).collect())
}

fn state(key: &ApiKey, now: Timestamp) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|end| end <= now) {
        "expired"
    } else {
        "valid"
    }
}

/// Returns the expiry of a key: after a duration, or at the end of a day.
fn end(text: &str, now: Timestamp) -> Result<Timestamp, CommandFailure> {
    let after = || now.checked_add(parse_duration(text)?).ok();
    let midnight = || {
        let date: civil::Date = text.parse().ok().filter(|_| format::is_date(text))?;
        // The named day is the last one on which the key is valid.
        let next = date.checked_add(1.day()).ok()?;
        Some(next.to_zoned(TimeZone::UTC).ok()?.timestamp())
    };
    let end = after().or_else(midnight).ok_or_else(|| {
        CommandFailure::usage("--expires is neither a duration nor a date")
            .hint("write a duration such as 90d or 12h, or a date such as 2027-01-31")
    })?;
    if end <= now {
        return Err(refused(KeyRefusal::Expired));
    }
    Ok(end)
}

fn name(text: &str) -> Result<String, String> {
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err("a name has 1 to 64 letters, digits, - _ and ., begins with a letter or digit, and is not \
         anonymous"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_ends_after_a_duration_or_with_a_day() {
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let read = |text: &str| end(text, now).map(|end| end.to_string()).map_err(|f| f.message);
        assert_eq!(read("36h").unwrap(), "2026-05-02T00:00:00Z");
        assert_eq!(read("2026-04-30").unwrap(), "2026-05-01T00:00:00Z");
        assert_eq!(read("2026-04-29").unwrap_err(), "the key would have expired already");
        assert_eq!(read("0s").unwrap_err(), "the key would have expired already");
        for text in ["", "soon", "2026-4-30", "2026-02-30", "999999999999w"] {
            assert_eq!(
                read(text).unwrap_err(),
                "--expires is neither a duration nor a date",
                "{text}"
            );
        }
    }
}
