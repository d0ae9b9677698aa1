//! `tradepost privacy forget-key`: makes a store usable after a key was lost.

use std::io::BufRead as _;

use tradepost_admin::privacy::{ForgetKeys, LostKeys, PrivacyRefusal, find_lost_data, forget_keys};
use tradepost_document::json::json;
use tradepost_store::lost_key::OnlyBy;

use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::CommandFailure;
use crate::cli::serve::lock::lock;
use crate::cli::store_location::StoreOptions;
use crate::cli::{Context, Outcome};

/// Erases data that only lost keys can decrypt, after a typed confirmation.
pub(super) fn run(lost: &[String], place: &StoreOptions, context: &Context) -> Outcome {
    let keys = place.keys(None, context)?;
    let input = LostKeys { lost, keys: &keys };
    input.check().map_err(refused)?;
    // Opening would create the store, which would hide a mistyped folder.
    let is_folder = place.database(None, context)?.is_none();
    if is_folder {
        place.check_folder()?;
    }
    let _lock = is_folder.then(|| lock(place)).transpose()?;
    let store = place.connect(None, context)?;
    let actor = operator(context);
    let found = find_lost_data(&admin(&store, &[]), &actor, input);
    let found = found.map_err(|error| failure(error, refused))?;
    let names = lost.join(" and ");
    confirm(&names, &found, context)?;
    // The time of the answer, and not that of the question.
    let forget = ForgetKeys { keys: input, agreed: &found };
    let done = forget_keys(&admin(&store, &[]), &actor, forget);
    let done = done.map_err(|error| failure(error, refused))?;
    let OnlyBy { notes, replies, is_last, leads: _, second_factors: _ } = &found;
    if context.output.is_json() {
        context.output.document(&json!({
            "forgotten": lost, "key": keys.ids().first(), "leads": done.leads, "notes": notes,
            "replies": replies, "index_lost": is_last,
        }));
    } else {
        let leads = done.leads.len();
        context.output.line(format!("forgotten: {names}; {leads} leads were erased"));
        context.output.talk("the server starts again with the keys that you have given");
    }
    Ok(())
}

/// Returns the failure of a refusal; keys that are missing are named as this command takes them.
fn refused(refusal: PrivacyRefusal) -> CommandFailure {
    match refusal {
        PrivacyRefusal::NoKey => CommandFailure::usage("there is no key to continue with").hint(
            "create a new one with `tradepost privacy keygen --out FILE`, and name it with --key-file",
        ),
        PrivacyRefusal::Locked(locked) => CommandFailure::usage(locked.to_string())
            .hint("give every other key, too, or name all lost keys in one call"),
        other @ (PrivacyRefusal::KeyGiven(_)
        | PrivacyRefusal::UnknownKey { .. }
        | PrivacyRefusal::UnknownDealer(_)) => super::refused(other),
    }
}

/// Asks the user to type what is about to happen. Nothing else counts as consent.
fn confirm(names: &str, found: &OnlyBy, context: &Context) -> Outcome {
    let words = format!("erase {} leads", found.leads.len());
    context.output.talk(format!(
        "data that only {names} can decrypt will be erased permanently: {} leads, {} notes, {} stored answers",
        found.leads.len(),
        found.notes,
        found.replies
    ));
    if found.second_factors > 0 {
        context.output.talk(format!(
            "{} second factors of the console will be erased, too: these users sign in with only \
             their passwords until they set up new ones",
            found.second_factors
        ));
    }
    if found.is_last {
        context.output.talk(
            "no remaining key can search the index: known customers and repeated requests are no \
             longer recognized",
        );
    }
    context.output.talk("the hashes of the consents and the audit log stay");
    context.output.talk(format!("type \"{words}\" to continue:"));
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed).map_err(CommandFailure::fault)?;
    if typed.trim() == words {
        return Ok(());
    }
    Err(CommandFailure::new(1, "nothing was erased").hint(format!("type exactly: {words}")))
}
