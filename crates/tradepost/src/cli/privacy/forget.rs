//! `tradepost privacy forget-key`: makes a store usable after a key was lost.

use std::io::BufRead as _;

use tradepost_dealer::staff::{AuditAction, EVERYBODY, NewAuditEntry};
use tradepost_document::json::json;
use tradepost_store::Locked;
use tradepost_store::lost_key::OnlyBy;

use crate::cli::output::CommandFailure;
use crate::cli::serve::lock::lock;
use crate::cli::store_location::StoreOptions;
use crate::cli::{Context, Outcome};

/// Erases data that only lost keys can decrypt, after a typed confirmation.
pub(super) fn forget_keys(lost: &[String], place: &StoreOptions, context: &Context) -> Outcome {
    let keys = place.keys(None, context)?;
    if keys.is_empty() {
        return Err(CommandFailure::usage("there is no key to continue with").hint(
            "create a new one with `tradepost privacy keygen --out FILE`, and name it with --key-file",
        ));
    }
    if let Some(given) = lost.iter().find(|id| keys.ids().contains(&id.as_str())) {
        return Err(CommandFailure::usage(format!(
            "the key {given} was given to the command, so it is not lost"
        ))
        .hint("encrypt with another key by `tradepost privacy rekey`"));
    }
    // Opening would create the store, which would hide a mistyped folder.
    let is_folder = place.database(None, context)?.is_none();
    if is_folder {
        place.check_folder()?;
    }
    let _lock = is_folder.then(|| lock(place)).transpose()?;
    let store = place.connect(None, context)?;
    let known = store.privacy_keys()?;
    if let Some(unknown) = lost.iter().find(|id| !known.contains(id)) {
        let message = format!("no data is encrypted with a key {unknown}");
        return Err(CommandFailure::usage(message).hint(match known.is_empty() {
            true => "no data is encrypted".to_owned(),
            false => format!("the data is encrypted with {}", known.join(" and ")),
        }));
    }
    let found = store.only_by(lost, &keys)?;
    let names = lost.join(" and ");
    confirm(&names, &found, context)?;
    let OnlyBy { leads, notes, replies, second_factors: _, is_last } = &found;
    let detail = Some(format!("{} leads, {notes} notes, {replies} answers", leads.len()));
    let entry = NewAuditEntry {
        detail,
        ..context.entry(EVERYBODY, AuditAction::KeyForgotten, Some(&names))
    };
    let done = store.forget_keys(lost, &keys, entry).map_err(|locked| match locked {
        Locked::Broken(fault) => CommandFailure::fault(fault),
        Locked::NoKey(_) | Locked::OtherKey(_) => CommandFailure::usage(locked.to_string())
            .hint("give every other key, too, or name all lost keys in one call"),
    })?;
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
