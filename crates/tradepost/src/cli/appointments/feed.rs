//! `tradepost appointments feed`: creates, lists and revokes calendar feeds. A running server applies
//! changes at its next request.

use clap::Subcommand;
use tradepost_admin::DealerScope;
use tradepost_admin::calendar_feeds::{
    CalendarFeedRefusal, CreateCalendarFeed, ListCalendarFeeds, RevokeCalendarFeed,
    create_calendar_feed, list_calendar_feeds, revoke_calendar_feed,
};
use tradepost_client::text::escape_json;
use tradepost_dealer::calendar::CalendarFeed;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, object};
use tradepost_runtime::calendar_feed::FeedSecret;
use tradepost_runtime::config::{Config, DealerConfig};
use tradepost_store::Store;

use super::rooftop_hint;
use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::CommandFailure;
use crate::cli::output::table::Cells;
use crate::cli::output::table::TableColumn::Text;
use crate::cli::store_location::StoreOptions;
use crate::cli::{Context, Outcome, dealers, import, nearest};

/// Subcommands of `tradepost appointments feed`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// Create the calendar feed of a rooftop, and show its secret address once.
    Create(Create),
    /// List calendar feeds, without their addresses.
    List(List),
    /// Revoke the calendar feed of a rooftop: its address no longer works.
    Revoke(Revoke),
}

/// Arguments of `tradepost appointments feed create`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Create {
    /// Dealer id; not needed if the configuration has one dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Name of the rooftop.
    #[arg(long, value_name = "NAME")]
    rooftop: String,
    /// Replace the address of an existing feed. The earlier address no longer works.
    #[arg(long)]
    renew: bool,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost appointments feed list`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct List {
    /// Only feeds of this dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Only feeds of this rooftop.
    #[arg(long, value_name = "NAME")]
    rooftop: Option<String>,
    #[command(flatten)]
    place: StoreOptions,
}

/// Arguments of `tradepost appointments feed revoke`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Revoke {
    /// Dealer id; not needed if only one dealer has a feed of this rooftop.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Name of the rooftop.
    #[arg(long, value_name = "NAME")]
    rooftop: String,
    #[command(flatten)]
    place: StoreOptions,
}

/// Runs the command.
///
/// # Errors
/// Fails when the store or the configuration cannot be read, or the operation is refused.
pub(in crate::cli) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Create(arguments) => create(arguments, context),
        Command::List(arguments) => list(&arguments, context),
        Command::Revoke(arguments) => revoke(arguments, context),
    }
}

fn create(arguments: Create, context: &Context) -> Outcome {
    let Create { dealer, rooftop, renew, source, place } = arguments;
    let config = source.load_with_hosted(&place, context)?;
    let dealer = import::pick(&config, dealer.as_deref())?;
    let store = place.open(Some(&config), context)?;
    let dealers: Vec<DealerScope<'_>> = config.dealers.iter().map(DealerConfig::scope).collect();
    let fresh = FeedSecret::generate()?;
    let hint = rooftop_hint(&rooftop, Some(&dealer.terms));
    let dealer_id = dealer.terms.id.clone();
    let input = CreateCalendarFeed { dealer_id, rooftop, hash: fresh.hash, renew };
    let created = create_calendar_feed(&admin(&store, &dealers), &operator(context), input);
    let created = created.map_err(|error| failure(error, |refusal| refused(refusal, &hint)))?;
    let address = address(&config, &fresh);
    let document = document(&created.feed, Some(&address));
    let text = match context.output.is_json() {
        true => escape_json(&format!("{document:#}")),
        false => address,
    };
    hand_over(&format!("{text}\n"), &created.feed, &store, context)?;
    if !context.output.is_json() {
        context.output.talk("the address is shown only this time; the store has only its hash");
    }
    if config.server.console.is_none() {
        context.output.talk(
            "note: the configuration has no console, which answers calendar programs; add \
             [server.console]",
        );
    }
    if created.is_renewed {
        context.output.talk("the earlier address no longer works");
    }
    Ok(())
}

/// Returns the address of a feed; its path alone when there is no console.
fn address(config: &Config, fresh: &FeedSecret) -> String {
    let base = config.server.console.as_ref().map(|settings| settings.base(&config.server));
    format!("{}{}/{}", base.unwrap_or_default(), tradepost_console::PATH, fresh.path)
}

/// Shows a new address. If it cannot be printed no one has seen it, and the feed is revoked.
fn hand_over(text: &str, feed: &CalendarFeed, store: &Store, context: &Context) -> Outcome {
    context.output.hand_over(text.as_bytes()).inspect_err(|_| {
        let dealer_id = feed.dealer_id.clone();
        let input = RevokeCalendarFeed { dealer_id, rooftop: feed.rooftop.clone() };
        let revoked = revoke_calendar_feed(&admin(store, &[]), &operator(context), input);
        context.output.talk(match revoked {
            Ok(_) => "the address could not be shown, so the feed was revoked; create another one",
            Err(_) => "the address could not be shown: revoke the feed, and create another one",
        });
    })
}

fn list(arguments: &List, context: &Context) -> Outcome {
    let store = arguments.place.open(None, context)?;
    dealers::check_known(arguments.dealer.as_deref(), &store, &arguments.place, context)?;
    let input = ListCalendarFeeds { dealer_id: arguments.dealer.clone() };
    let feeds = list_calendar_feeds(&admin(&store, &[]), &operator(context), input);
    let mut feeds = feeds.map_err(|error| failure(error, |refusal| refused(refusal, "")))?;
    if let Some(name) = &arguments.rooftop {
        feeds.retain(|feed| is_named(feed, name));
    }
    let columns: [Cells<'_, CalendarFeed>; 7] = [
        (Text("id"), &|feed| feed.feed_id.clone()),
        (Text("dealer"), &|feed| feed.dealer_id.clone()),
        (Text("rooftop"), &|feed| feed.rooftop.clone()),
        (Text("state"), &|feed| state(feed).to_owned()),
        (Text("created"), &|feed| rfc3339(feed.created_at)),
        (Text("by"), &|feed| feed.created_by.clone()),
        (Text("last used"), &|feed| {
            feed.last_used_on.map_or("never".to_owned(), |day| day.to_string())
        }),
    ];
    context.output.list(&feeds, |feed| document(feed, None), "no calendar feeds", &columns);
    Ok(())
}

fn revoke(arguments: Revoke, context: &Context) -> Outcome {
    let Revoke { dealer, rooftop, place } = arguments;
    let store = place.open(None, context)?;
    dealers::check_known(dealer.as_deref(), &store, &place, context)?;
    let input = ListCalendarFeeds { dealer_id: dealer.clone() };
    let feeds = list_calendar_feeds(&admin(&store, &[]), &operator(context), input);
    let mut feeds = feeds.map_err(|error| failure(error, |refusal| refused(refusal, "")))?;
    feeds.retain(|feed| feed.revoked_at.is_none());
    let names: Vec<String> = feeds.iter().map(|feed| feed.rooftop.clone()).collect();
    let listed = format!("rooftops with a calendar feed: {}", names.join(", "));
    let hint = nearest::hint(&rooftop, names.iter().map(String::as_str), listed);
    feeds.retain(|feed| is_named(feed, &rooftop));
    let dealer_id = match (dealer, feeds.as_slice()) {
        (Some(id), _) => id,
        (None, [only]) => only.dealer_id.clone(),
        (None, []) => return Err(refused(CalendarFeedRefusal::NoFeed, &hint)),
        (None, several) => {
            let ids: Vec<&str> = several.iter().map(|feed| feed.dealer_id.as_str()).collect();
            return Err(CommandFailure::usage("several dealers have a feed of such a rooftop")
                .hint(format!("use --dealer with one of: {}", ids.join(", "))));
        }
    };
    let input = RevokeCalendarFeed { dealer_id, rooftop };
    let revoked = revoke_calendar_feed(&admin(&store, &[]), &operator(context), input);
    let revoked = revoked.map_err(|error| failure(error, |refusal| refused(refusal, &hint)))?;
    let line = format!("the calendar feed of {} is revoked", revoked.rooftop);
    context.output.answer(&document(&revoked, None), line);
    Ok(())
}

fn is_named(feed: &CalendarFeed, name: &str) -> bool {
    feed.rooftop.to_lowercase() == name.to_lowercase()
}

/// Returns the failure for a refused operation on calendar feeds. `rooftops` is the hint for a wrong name.
fn refused(refusal: CalendarFeedRefusal, rooftops: &str) -> CommandFailure {
    match refusal {
        CalendarFeedRefusal::UnknownRooftop => {
            CommandFailure::usage("the configuration has no rooftop of this name").hint(rooftops)
        }
        CalendarFeedRefusal::Exists => {
            CommandFailure::usage("the rooftop has a calendar feed already")
                .hint("replace its address with --renew, or revoke it first")
        }
        CalendarFeedRefusal::NoFeed => {
            CommandFailure::usage("the rooftop has no calendar feed").hint(rooftops)
        }
    }
}

fn state(feed: &CalendarFeed) -> &'static str {
    if feed.revoked_at.is_some() { "revoked" } else { "active" }
}

/// Returns a feed as JSON; `address` is shown only once.
fn document(feed: &CalendarFeed, address: Option<&str>) -> Value {
    object!({
        "feed_id": feed.feed_id,
        "dealer_id": feed.dealer_id,
        "rooftop": feed.rooftop,
        "state": state(feed),
        "created_at": rfc3339(feed.created_at),
        "created_by": feed.created_by,
        "revoked_at": feed.revoked_at.map(rfc3339),
        "last_used_on": feed.last_used_on.map(|day| day.to_string()),
        "address"?: address,
    })
}
