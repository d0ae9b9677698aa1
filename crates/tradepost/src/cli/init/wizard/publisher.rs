//! `tradepost init --publisher --wizard`: asks for what a publisher needs to sell to agents, tests each answer, sells a
//! product to itself, and writes one configuration file with its catalogue. Nothing is written before the last question.

use std::path::{Path, PathBuf};

use tokio::runtime::Builder;
use tradepost_document::json::{self, json};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_runtime::adagents::{self, AdagentsInput};
use tradepost_runtime::config::read;
use tradepost_server::clock::Clock;
use tradepost_server::private_file::write_new;

use super::draft::{Draft, WrittenDraft};
use super::prompt::{Dialogue, Question};
use super::{AnswerNeed, DraftField, NONE, ask_checked, ask_optional, ask_with, slug};
use crate::cli::context::runtime;
use crate::cli::output::CommandFailure;
use crate::cli::publisher::adagents::public_address;
use crate::cli::publisher::catalogue::CATALOGUE;
use crate::cli::{Context, Outcome, check_config, dealers};
use crate::product_table::{self, AmountMistake};
use crate::test_sale::{self, TestSale};

mod ad_server;
mod catalogue;
mod notices;
mod people;

/// The publisher of the draft.
const PUBLISHER: &str = "/publishers/0";

/// File of the publisher's domain, beside the configuration.
const ADAGENTS: &str = "adagents.json";

/// Answers that are not in the configuration.
struct PublisherAnswers {
    draft: Draft,
    /// Currency of prices and limits.
    currency: String,
    /// Text of the catalogue; there is none when it is left for later.
    catalogue: Option<String>,
    /// E-mail address in `adagents.json`.
    contact: Option<String>,
}

/// Runs the wizard for a folder.
///
/// # Errors
/// Fails when the input ends, or a file or the store cannot be written.
pub(in crate::cli::init) fn run(folder: &Path, force: bool, context: &Context) -> Outcome {
    let folder = std::path::absolute(folder).map_err(CommandFailure::fault)?;
    let config = folder.join(dealers::CONFIG);
    let mut dialogue = Dialogue::new(context.output);
    let shown = config.display();
    dialogue
        .say(format!("This asks what a publisher needs to sell to agents, and writes {shown}."));
    dialogue.say(
        "An empty line takes the answer in [brackets]. Ctrl-C stops, and leaves nothing behind.",
    );
    if !may_replace(&mut dialogue, &folder, force)? {
        return Err(CommandFailure::usage("nothing was written")
            .hint("name another folder: tradepost init --publisher --wizard DIR"));
    }
    let mut answers = PublisherAnswers {
        draft: Draft::new_publisher(),
        currency: String::new(),
        catalogue: None,
        contact: None,
    };
    dialogue.say("\n1 of 7: who you are");
    ask_identity(&mut dialogue, &mut answers)?;
    dialogue.say("\n2 of 7: how you are reached");
    ask_addresses(&mut dialogue, &mut answers.draft)?;
    dialogue.say("\n3 of 7: what you sell");
    catalogue::ask(&mut dialogue, &mut answers, &folder)?;
    dialogue.say("\n4 of 7: what needs your approval");
    ask_policies(&mut dialogue, &mut answers)?;
    dialogue.say("\n5 of 7: your ad server");
    ad_server::ask(&mut dialogue, &mut answers.draft)?;
    dialogue.say("\n6 of 7: who is told");
    notices::ask(&mut dialogue, &mut answers.draft)?;
    dialogue.say("\n7 of 7: who buys, and who approves");
    let agent = people::ask_agent(&mut dialogue, &mut answers.draft)?;
    let has_console = answers.draft.text_at("/server/console", "listen").is_some();
    let approver = if has_console { people::ask_approver(&mut dialogue)? } else { None };
    let is_sold = sell(&mut dialogue, &answers)?;
    if !dialogue.confirm("\nWrite the configuration?", is_sold)? {
        return Err(CommandFailure::usage("nothing was written"));
    }
    let publisher_id = answers.draft.text_at(PUBLISHER, "id").unwrap_or_default().to_owned();
    let has_adagents = write(&dialogue, answers, &folder, &config)?;
    check_config::run(check_config::Arguments::from_path(config.clone()), context)?;
    let place =
        people::StaffPlace { folder: &folder, config: &config, publisher_id: &publisher_id };
    // The configuration is in force: whatever fails now, the rest is done, and the person reads what comes next.
    let key = agent.as_deref().map_or(Ok(()), |agent| place.add_key(agent, context));
    let person = approver.map_or(Ok(()), |approver| place.add_approver(approver, context));
    tell_next(&dialogue, &folder, has_adagents, agent.as_deref().filter(|_| key.is_ok()));
    match (key, person) {
        (Err(first), Err(second)) => {
            let hint = second.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            Err(first.lines(vec![format!("{}{hint}", second.message)]))
        }
        (key, person) => key.and(person),
    }
}

/// Asks before files are replaced. Returns false when they must not be.
fn may_replace(
    dialogue: &mut Dialogue,
    folder: &Path,
    force: bool,
) -> Result<bool, CommandFailure> {
    let all = [dealers::CONFIG, CATALOGUE, ADAGENTS];
    let there: Vec<&str> = all.into_iter().filter(|name| folder.join(name).exists()).collect();
    if there.is_empty() || force {
        return Ok(true);
    }
    dialogue.confirm(&format!("{} exists. Replace it in the end?", there.join(" and ")), false)
}

fn ask_identity(
    dialogue: &mut Dialogue,
    answers: &mut PublisherAnswers,
) -> Result<(), CommandFailure> {
    let draft = &mut answers.draft;
    let name =
        Question::new("Name of the publisher, as buyers read it", "write up to 200 characters");
    ask_checked(dialogue, draft, PUBLISHER, "name", &name)?;
    let name = draft.text_at(PUBLISHER, "name").unwrap_or_default().to_owned();
    let id = Question::new(
        "Id, for commands and addresses",
        "write small letters, digits and hyphens; it is hard to change later",
    );
    ask_checked(dialogue, draft, PUBLISHER, "id", &id.with_default(slug(&name)))?;
    let domain = Question::new(
        "Domain whose advertising space you sell",
        "write a host name without https://, such as gazette.example",
    );
    ask_checked(dialogue, draft, PUBLISHER, "domain", &domain)?;
    let site = Question::new("Web site of your company (empty: none)", "write it with https://");
    let convert = |answer: &str| Ok(json!({"organization": name, "url": answer}));
    let field = DraftField { table: PUBLISHER, key: "provider" };
    ask_with(dialogue, draft, field, &site, AnswerNeed::Optional, convert)?;
    let contact = Question::new(
        "E-mail address for questions of buyers, which is public (empty: none)",
        "write one address, such as ads@gazette.example",
    );
    loop {
        let answer = dialogue.ask(&contact)?;
        if answer.is_empty() {
            return Ok(());
        }
        let parts = answer.split_once('@');
        if parts.is_some_and(|(user, host)| !user.is_empty() && host.contains('.')) {
            answers.contact = Some(answer);
            return Ok(());
        }
        dialogue.reject(&["must be an e-mail address".to_owned()], contact.hint);
    }
}

fn ask_addresses(dialogue: &mut Dialogue, draft: &mut Draft) -> Result<(), CommandFailure> {
    let listen = Question::new(
        "Where the server listens: address and port",
        "127.0.0.1 is for this machine and a proxy on it, 0.0.0.0 for every address",
    );
    ask_checked(dialogue, draft, "/server", "listen", &listen.with_default("127.0.0.1:8080"))?;
    let public = Question::new(
        "Public address, at which buyers reach it (empty: not yet)",
        "write it with https://, such as https://ads.gazette.example",
    );
    ask_optional(dialogue, draft, PUBLISHER, "public_url", &public)?;
    let is_https =
        draft.text_at(PUBLISHER, "public_url").is_some_and(|url| url.starts_with("https://"));
    if is_https
        && dialogue.confirm("Does a proxy with TLS on this machine pass requests on?", true)?
    {
        draft.set("/server", "trust_forwarded_for", json!(true));
    }
    let console = Question::new(
        "Where the console of your people listens (none: no console)",
        "127.0.0.1 is for this machine; another address needs TLS (docs/console.md)",
    );
    let console = console.with_default("127.0.0.1:8090");
    dialogue.until_accepted(console.hint, |dialogue| {
        let answer = dialogue.ask(&console)?;
        if answer.eq_ignore_ascii_case(NONE) {
            return Ok(());
        }
        Ok(draft.set_accepted("/server", "console", json!({"listen": answer}))?)
    })
}

fn ask_policies(
    dialogue: &mut Dialogue,
    answers: &mut PublisherAnswers,
) -> Result<(), CommandFailure> {
    let currency = answers.currency.clone();
    // As prices are read, so that 50.000 is not taken for 50.
    let number = |answer: &str| {
        let read = product_table::amount(answer, &currency);
        read.map_err(|AmountMistake { message, hint }| format!("{message}; {hint}"))
    };
    let draft = &mut answers.draft;
    let hint = "write a number such as 50000";
    let text =
        format!("Amount in {currency} above which two people approve a media buy (empty: none)");
    let convert = |answer: &str| {
        Ok(json!({"four_eyes_above": [{"currency": currency, "amount": number(answer)?}]}))
    };
    let field = DraftField { table: PUBLISHER, key: "approvals" };
    ask_with(dialogue, draft, field, &Question::new(&text, hint), AnswerNeed::Optional, convert)?;
    let text = format!(
        "Most in {currency} that may be committed on one account in a day (empty: no limit)"
    );
    let convert = |answer: &str| Ok(json!([{"currency": currency, "per_day": number(answer)?}]));
    let field = DraftField { table: PUBLISHER, key: "spend_limits" };
    ask_with(dialogue, draft, field, &Question::new(&text, hint), AnswerNeed::Optional, convert)?;
    let text = "May agents buy that you have not listed, if they have a key?";
    let may = dialogue.confirm(text, false)?;
    draft.set(PUBLISHER, "onboarding", json!({"strangers": may}));
    Ok(())
}

/// Sells a product to oneself, without a trace. Returns true when it was sold, or there is nothing to sell.
fn sell(dialogue: &mut Dialogue, answers: &PublisherAnswers) -> Result<bool, CommandFailure> {
    let Some(catalogue) = &answers.catalogue else { return Ok(true) };
    dialogue.say("\na test: a buyer looks at your products, buys one over MCP, and cancels it");
    match sold(answers, catalogue) {
        Ok(TestSale { products, product, budget, waits }) => {
            let noun = if products == 1 { "product" } else { "products" };
            let waits = if waits { "; it would wait for a person's approval" } else { "" };
            dialogue.say(format!("  the buyer was shown {products} {noun}"));
            dialogue.say(format!("  sold: {product}, for {budget}{waits}"));
            dialogue.say("  canceled and removed: nothing of it is left");
            Ok(true)
        }
        Err(failure) => {
            let reasons = [vec![failure.message], failure.lines].concat();
            for reason in reasons {
                dialogue.say(format!("  not sold: {reason}"));
            }
            if let Some(hint) = failure.hint {
                dialogue.say(format!("  hint: {hint}"));
            }
            Ok(false)
        }
    }
}

fn sold(answers: &PublisherAnswers, catalogue: &str) -> Result<TestSale, CommandFailure> {
    let mut config = read::read(&answers.draft.text(), &[]).map_err(|mistakes| {
        CommandFailure::usage("the configuration has mistakes")
            .lines(mistakes.iter().map(ToString::to_string).collect())
    })?;
    let catalogue = Catalogue::parse(catalogue).map_err(|mistakes| {
        CommandFailure::usage("the catalogue has mistakes")
            .lines(mistakes.iter().map(ToString::to_string).collect())
    })?;
    let id = answers.draft.text_at(PUBLISHER, "id").unwrap_or_default();
    for publisher in &mut config.publishers {
        publisher.profile.catalogue = catalogue.clone();
    }
    let runtime = runtime(Builder::new_multi_thread())?;
    let sold = runtime.block_on(test_sale::run(config, id, &Clock::system()));
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    sold.map_err(|failure| CommandFailure::usage(failure.message).hint(failure.hint))
}

/// Writes the configuration with its secrets, the catalogue, and the file of the domain. Returns false when the address
/// for that file is not known yet.
fn write(
    dialogue: &Dialogue,
    answers: PublisherAnswers,
    folder: &Path,
    config: &Path,
) -> Result<bool, CommandFailure> {
    let unwritten = |error: std::io::Error| {
        CommandFailure::usage(format!("cannot write into {}: {}", folder.display(), error.kind()))
            .hint("name a folder that you may write to: tradepost init --publisher --wizard DIR")
    };
    let PublisherAnswers { draft, catalogue, contact, .. } = answers;
    std::fs::create_dir_all(folder).map_err(unwritten)?;
    // Before the configuration, which names it.
    if let Some(catalogue) = &catalogue {
        let path = folder.join(CATALOGUE);
        replace(&path, catalogue).map_err(unwritten)?;
        dialogue.say(format!("\nwrote {}", path.display()));
    }
    let text = draft.text();
    let WrittenDraft { config, secrets } = draft.write(folder, config).map_err(unwritten)?;
    dialogue.say(format!("wrote {}", config.display()));
    for secret in &secrets {
        dialogue.say(format!("wrote {}, which only you can read", secret.display()));
    }
    let Some(path) = write_adagents(&text, catalogue.as_deref(), contact.as_deref(), folder)?
    else {
        return Ok(false);
    };
    dialogue.say(format!("wrote {}, for your domain", path.display()));
    Ok(true)
}

/// Writes the file of the domain, when the address of the agent is known.
fn write_adagents(
    config: &str,
    catalogue: Option<&str>,
    contact: Option<&str>,
    folder: &Path,
) -> Result<Option<PathBuf>, CommandFailure> {
    let Ok(mut read) = read::read(config, &[]) else { return Ok(None) };
    let Some(mut publisher) = read.publishers.pop() else { return Ok(None) };
    let Some(agent_url) = public_address(&publisher) else { return Ok(None) };
    if let Some(Ok(catalogue)) = catalogue.map(Catalogue::parse) {
        publisher.profile.catalogue = catalogue;
    }
    let file = adagents::document(&AdagentsInput {
        profile: &publisher.profile,
        agent_url: &agent_url,
        domain: &publisher.profile.domain,
        contact_email: contact,
        now: Clock::system().now(),
    });
    let text = json::to_string_pretty(&file).map_err(CommandFailure::fault)?;
    let path = folder.join(ADAGENTS);
    replace(&path, &format!("{text}\n")).map_err(CommandFailure::fault)?;
    Ok(Some(path))
}

/// Writes a file, in place of one that is there.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let next = path.with_extension("json.new");
    let _ = std::fs::remove_file(&next);
    write_new(&next, text.as_bytes())?;
    // A web server may have to read it.
    std::fs::set_permissions(&next, std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    std::fs::rename(&next, path)
}

/// Tells what comes next. `has_adagents` is false when a file of the domain, if there is one, is an earlier one.
fn tell_next(dialogue: &Dialogue, folder: &Path, has_adagents: bool, agent: Option<&str>) {
    let shown = folder.display();
    dialogue.say(format!("\nnext, start the server:\n  cd {shown} && tradepost serve"));
    if has_adagents {
        dialogue.say(
            "publish adagents.json on your domain, at /.well-known/adagents.json, and check it:",
        );
        dialogue.say(format!("  cd {shown} && tradepost publisher adagents check"));
    } else {
        dialogue.say(
            "when you have a public address, set public_url, and write the file of your domain:",
        );
        dialogue.say(format!("  cd {shown} && tradepost publisher adagents write"));
    }
    if let Some(agent) = agent {
        dialogue.say(format!("give {agent} its key and your address; over MCP it ends with /mcp"));
    }
}
